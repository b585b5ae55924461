//! The ledger: where the work stands that several messages belong to. One file for each format's rules.
//!
//! A rule looks at what is written down ([`Ledger::entry`]) and says what a record means: refused, or accepted with
//! entries to write. Nothing is written before the whole record is decided. Entries expire, and their number is limited:
//! past the limit those that were not written for longest are given up, which is counted. Entries are small values, so a change carries what was
//! there before and can be taken back.

mod agh;
mod alfred;
mod bluelabel;
mod form;
mod humaninloop;
mod olympus;
mod rack;
mod shelf;

pub use agh::{Work as AghWork, WorkState};
pub use alfred::Request;
pub use olympus::Work as OlympusWork;
pub use shelf::Shelf;

use super::settings::{Mode, Settings};
use super::window::Second;
use crate::clock::Timestamp;
use crate::credentials::digest::Identity;
use crate::formats::{Facts, Lifecycle, WRITTEN_FILES_MAX};
use crate::verdict::Reason;

/// LIMIT: work that is idle for so long is forgotten.
pub const IDLE_S_MAX: u32 = 7 * 86_400;
/// LIMIT: entries that one record writes.
const WRITES_MAX: usize = WRITTEN_FILES_MAX;

/// What an entry is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
#[repr(u8)]
pub enum Kind {
    /// Work of olympus: session and correlation.
    OlympusWork = 1,
    /// A message of olympus that others of the same work may name as their parent. (2 was one of any work.)
    OlympusMessage = 6,
    /// Work of agh.
    AghWork = 3,
    /// A request of alfred.
    AlfredRequest = 4,
    /// A logical message of bluelabel.
    BluelabelMessage = 5,
    /// Iterations of humaninloop: record key, feature and workflow.
    HumaninloopRun = 7,
    /// A file of humaninloop: record key and path.
    HumaninloopFile = 8,
}

/// The name of an entry.
pub type EntryKey = (Kind, Identity);

/// What is written down.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Entry {
    /// Work of olympus.
    OlympusWork(OlympusWork),
    /// A message of olympus.
    OlympusMessage {
        /// How many parents lie between it and an assignment; `None`: it comes from none.
        hops: Option<u8>,
    },
    /// Work of agh.
    AghWork(AghWork),
    /// A request of alfred.
    AlfredRequest(Request),
    /// The highest retry count.
    BluelabelMessage(u64),
    /// The last iteration.
    HumaninloopRun(u32),
    /// The last contents, the newest first; 0 where there was none.
    HumaninloopFile([u32; humaninloop::CONTENTS]),
}

/// One change, with what is needed to take it back.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LedgerChange {
    /// Which entry.
    pub key: EntryKey,
    /// What was there.
    pub before: Option<(Entry, Second)>,
    /// What is there now.
    pub after: Option<(Entry, Second)>,
}

/// What the sequence rules say of a record.
#[derive(Clone, Copy, Debug, Default)]
pub struct Step {
    /// Why it is refused.
    pub reason: Option<Reason>,
    /// A rule that is broken and only warns.
    pub warned: Option<Reason>,
    /// Whether it is accepted and changes nothing.
    pub ignored: bool,
    writes: [Option<(EntryKey, Entry)>; WRITES_MAX],
}

impl Step {
    fn refuse(reason: Reason) -> Self {
        Self { reason: Some(reason), ..Self::default() }
    }

    fn ignore() -> Self {
        Self { ignored: true, ..Self::default() }
    }

    fn write(key: EntryKey, entry: Entry) -> Self {
        Self { writes: [Some((key, entry)), None, None, None], ..Self::default() }
    }

    /// A rule is broken: it decides, or is told, or is not looked at.
    fn broken(&mut self, mode: Mode, reason: Reason) {
        match mode {
            Mode::Off => {}
            Mode::Warn => self.warned = self.warned.or(Some(reason)),
            Mode::Enforce => {
                self.reason = self.reason.or(Some(reason));
                self.writes = [None; WRITES_MAX];
            }
        }
    }
}

/// How much was begun and ended, since the ledger was made.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Progress {
    /// Work of agh that was opened.
    pub work_opened: u64,
    /// Of it ended.
    pub work_closed: u64,
    /// Requests of alfred.
    pub requests: u64,
    /// Of them answered.
    pub answered: u64,
    /// Work that was not ended, whenever it was opened; what was forgotten since among it.
    pub work_open: u64,
    /// Requests that were not answered, whenever they were made; what was forgotten since among them.
    pub unanswered: u64,
}

impl Progress {
    /// An entry of an earlier run is there again, or no longer.
    fn restore(&mut self, before: Option<Entry>, after: Option<Entry>) {
        self.count_open(after, 1);
        self.count_open(before, 1_u64.wrapping_neg());
    }

    fn count_open(&mut self, entry: Option<Entry>, by: u64) {
        let counter = match entry {
            Some(Entry::AghWork(work)) if !work.state.is_terminal() => &mut self.work_open,
            Some(Entry::AlfredRequest(request)) if !request.answered => &mut self.unanswered,
            _ => return,
        };
        *counter = counter.wrapping_add(by);
    }

    /// Counts an entry that was written, or taken back.
    fn count(&mut self, before: Option<Entry>, after: Option<Entry>, by: u64) {
        let mut add = |counter: fn(&mut Self) -> &mut u64, holds: bool| {
            let counter = counter(self);
            *counter = counter.wrapping_add(if holds { by } else { 0 });
        };
        match after {
            Some(Entry::AghWork(work)) => {
                let was_closed = matches!(before, Some(Entry::AghWork(work)) if work.state.is_terminal());
                add(|progress| &mut progress.work_opened, before.is_none());
                add(|progress| &mut progress.work_closed, work.state.is_terminal() && !was_closed);
            }
            Some(Entry::AlfredRequest(request)) => {
                let was_answered = matches!(before, Some(Entry::AlfredRequest(request)) if request.answered);
                add(|progress| &mut progress.requests, before.is_none());
                add(|progress| &mut progress.answered, request.answered && !was_answered);
            }
            _ => {}
        }
        self.count_open(after, by);
        self.count_open(before, by.wrapping_neg());
    }
}

/// The ledger.
pub struct Ledger {
    shelf: Shelf,
    progress: Progress,
}

impl Ledger {
    /// An empty ledger.
    #[must_use]
    pub fn new(entries_max: usize) -> Self {
        Self { shelf: Shelf::new(entries_max), progress: Progress::default() }
    }

    /// How much was begun and ended.
    #[must_use]
    pub fn progress(&self) -> Progress {
        self.progress
    }

    /// All entries.
    #[must_use]
    pub fn shelf(&self) -> &Shelf {
        &self.shelf
    }

    /// An entry that has not expired.
    #[must_use]
    pub fn entry(&self, key: EntryKey, now: Second) -> Option<Entry> {
        self.shelf.find(key).filter(|(_, expiry)| *expiry > now).map(|(entry, _)| entry)
    }

    /// These records are decided about next: has the entries that they go on with fetched from memory, many at once.
    ///
    /// PERF: what look-ups wait for went from 0.13 to 0.04 µs for a record of an audit (perf).
    pub fn expect(&self, facts: &[Facts]) {
        let messages = facts.iter().filter_map(|facts| match &facts.lifecycle {
            Lifecycle::Olympus(message) => message.lineage.map(|of| [of.parent, Some(of.message)]),
            _ => None,
        });
        let files = facts.iter().filter_map(|facts| match &facts.lifecycle {
            Lifecycle::HumaninloopFiles(files) => Some(files.iter().flatten()),
            _ => None,
        });
        let keys = (facts.iter().filter_map(|facts| key_of(&facts.lifecycle)))
            .chain(messages.flatten().flatten().map(|message| (Kind::OlympusMessage, message)))
            .chain(files.flatten().map(|file| (Kind::HumaninloopFile, file.file)));
        self.shelf.expect(keys);
    }

    /// What the rules say of a record; changes nothing.
    #[must_use]
    pub fn judge(&self, facts: &Facts, settings: &Settings, now: Second) -> Step {
        match &facts.lifecycle {
            Lifecycle::None => Step::default(),
            Lifecycle::Ignored => Step::ignore(),
            Lifecycle::Olympus(message) => olympus::judge(self, message, settings, now),
            Lifecycle::Agh(message) => agh::judge(self, message, settings, now),
            Lifecycle::Alfred(message) => alfred::judge(self, message, settings, now),
            Lifecycle::Bluelabel { logical, retry_count } => {
                bluelabel::judge(self, *logical, *retry_count, settings, now)
            }
            Lifecycle::Humaninloop { run, iteration } => {
                humaninloop::judge(self, *run, *iteration, settings, now)
            }
            Lifecycle::HumaninloopFiles(files) => humaninloop::judge_files(self, files, settings, now),
        }
    }

    /// Writes what a step says. `until` is how long the record itself is remembered, `dead` the time up to which entries
    /// may be dropped. Changes are told where somebody may take them back.
    pub fn apply(
        &mut self,
        step: &Step,
        settings: &Settings,
        (now, until, dead): (Second, Second, Second),
        mut changes: Option<&mut Vec<LedgerChange>>,
    ) {
        for (key, entry) in step.writes.iter().flatten() {
            let expiry = match key.0 {
                Kind::OlympusWork | Kind::AghWork | Kind::HumaninloopRun | Kind::HumaninloopFile => {
                    now.saturating_add(IDLE_S_MAX)
                }
                Kind::AlfredRequest => now.saturating_add(settings.alfred_keep_s),
                Kind::OlympusMessage | Kind::BluelabelMessage => until,
            };
            let before = self.shelf.set(*key, Some((*entry, expiry)), dead, changes.as_deref_mut());
            let before = before.filter(|(_, expiry)| *expiry > now).map(|(entry, _)| entry);
            self.progress.count(before, Some(*entry), 1);
        }
    }

    /// Takes a change back, unless a later one has replaced it.
    pub fn undo(&mut self, change: &LedgerChange) {
        if self.shelf.find(change.key) == change.after {
            let entry = |side: Option<(Entry, Second)>| side.map(|(entry, _)| entry);
            self.progress.count(entry(change.before), entry(change.after), 1_u64.wrapping_neg());
            self.shelf.put(change.key, change.before);
        }
    }

    /// Puts an entry in place that was told before.
    pub fn restore(&mut self, key: EntryKey, entry: Option<(Entry, Second)>) {
        let before = self.shelf.put(key, entry);
        self.progress.restore(before.map(|(entry, _)| entry), entry.map(|(entry, _)| entry));
    }

    /// The state of the work that a record of agh names.
    #[must_use]
    pub fn work_state(&self, facts: &Facts, now: Timestamp) -> Option<WorkState> {
        let Lifecycle::Agh(message) = &facts.lifecycle else { return None };
        match self.entry((Kind::AghWork, message.work), super::window::second_of(now)) {
            Some(Entry::AghWork(work)) => Some(work.state),
            _ => None,
        }
    }
}

/// The entry that a record goes on with, as far as its facts tell without more work.
fn key_of(lifecycle: &Lifecycle) -> Option<EntryKey> {
    Some(match lifecycle {
        Lifecycle::Olympus(message) => (Kind::OlympusWork, message.work),
        Lifecycle::Agh(message) => (Kind::AghWork, message.work),
        Lifecycle::Alfred(message) => (Kind::AlfredRequest, message.request),
        Lifecycle::Bluelabel { logical, .. } => (Kind::BluelabelMessage, *logical),
        Lifecycle::Humaninloop { run, .. } => (Kind::HumaninloopRun, *run),
        Lifecycle::HumaninloopFiles(_) | Lifecycle::None | Lifecycle::Ignored => return None,
    })
}

#[cfg(test)]
mod tests;
