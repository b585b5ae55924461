//! What was seen before: the replay window and the ledger, and what a batch changed in both.
//!
//! ```text
//! facts ─► window: seen before? ─► ledger: in sequence? ─► remembered, tentatively ─► commit | undo
//! ```
//!
//! [`State::decide`] gets the facts of records that hold, in the reader's order. What it remembers counts at once, so
//! that a copy in the same batch or in the next one is caught, and is tentative until the batch is committed: until
//! then [`State::undo`] takes it back. State does no I/O and reads no clock; time comes with the records.

mod bytes;
mod changes;
mod encoding;
pub mod ledger;
mod order;
pub mod settings;
pub mod table;
mod times;
pub mod window;

use std::collections::VecDeque;
use std::ops::Range;

pub use changes::Body;
pub use encoding::StateError;
pub use settings::{Mode, Settings};
pub use window::NoMemory;

use crate::clock::Timestamp;
use crate::config::OnFull;
use crate::formats::{Facts, Lifecycle};
use crate::verdict::Reason;
use ledger::{Ledger, LedgerChange, WorkState};
use window::{Full, Second, Seen, Window, WindowChange, expiry_of, second_of};

/// LIMIT: emptied change lists that are kept for the next batches.
const SPARE_MAX: usize = 64;

/// What was decided about a record by what was seen before.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Ruling {
    /// Why it is refused.
    pub reason: Option<Reason>,
    /// A rule that is broken and only warns.
    pub warned: Option<Reason>,
    /// Whether it is accepted and changes nothing.
    pub ignored: bool,
}

/// Counts of what deserves to be told.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Notes {
    /// Records that broke a rule which only warns.
    pub warned: u64,
    /// Records that were accepted and changed nothing.
    pub ignored: u64,
    /// Records that asked to be remembered for longer than anything is.
    pub capped: u64,
    /// Ids that the full window gave up.
    pub ids_evicted: u64,
    /// Entries that the full ledger gave up.
    pub entries_evicted: u64,
    /// Ids of a journal that the full window could not take back.
    pub unrestored: u64,
}

/// Where a batch comes from.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Origin {
    /// Its partition.
    pub partition: u64,
    /// The partition's epoch, which rises whenever it is read anew.
    pub epoch: u32,
    /// Its records' places in the partition.
    pub offsets: Range<i64>,
}

/// What one batch changed.
#[derive(Default)]
struct Changes {
    batch: u64,
    origin: Origin,
    /// The latest time of its records.
    time: Second,
    window: Vec<WindowChange>,
    ledger: Vec<LedgerChange>,
    /// Where the record stands that is decided about: its distance from the batch's first.
    at: u32,
    /// The same, for each change of the window and of the ledger.
    window_at: Vec<u32>,
    ledger_at: Vec<u32>,
}

/// Window and ledger of one process.
pub struct State {
    settings: Settings,
    window: Window,
    ledger: Ledger,
    /// Batches that are not committed, oldest first.
    open: VecDeque<Changes>,
    spare: Vec<Changes>,
    /// The latest time that any record had: the time of those that have none.
    latest: Second,
    notes: Notes,
}

impl State {
    /// Nothing was seen yet.
    pub fn new(settings: Settings) -> Result<Self, NoMemory> {
        Ok(Self {
            window: Window::new(&settings.window)?,
            ledger: Ledger::new(settings.ledger_entries_max),
            settings,
            open: VecDeque::new(),
            spare: Vec::new(),
            latest: 1,
            notes: Notes::default(),
        })
    }

    /// Records come in an order that is always the same: no verdict shall depend on when a batch is committed.
    #[must_use]
    pub fn following_order(mut self) -> Self {
        self.window.follow_order();
        self
    }

    /// About so many records will come: makes room for them at once.
    pub fn reserve(&mut self, records: u64) {
        if self.settings.replay != Mode::Off {
            self.window.reserve(records);
        }
    }

    /// A copy of what was seen, with settings of its own.
    pub fn copy(&self, settings: Settings) -> Result<Self, StateError> {
        let mut copy = Self::new(settings)?;
        if self.window.follows_order() {
            copy.window.follow_order();
        }
        copy.restore(&self.snapshot())?;
        Ok(copy)
    }

    /// Begins a batch; what is decided from now on belongs to it. Numbers of batches are never used twice.
    pub fn begin(&mut self, batch: u64, origin: Origin) {
        let mut changes = self.spare.pop().unwrap_or_default();
        (changes.batch, changes.origin, changes.time) = (batch, origin, 0);
        self.open.push_back(changes);
    }

    /// What is decided next is about the record at this distance from the batch's first.
    pub fn at(&mut self, distance: u32) {
        if let Some(changes) = self.open.back_mut() {
            changes.at = distance;
        }
    }

    /// These records are decided about next: has what is known of them fetched from memory, all at once. They should be
    /// few enough for what is fetched to stay near.
    pub fn expect(&self, facts: &[Facts]) {
        let Settings { replay, olympus_mac, .. } = self.settings;
        let identities = facts.iter().filter_map(|facts| facts.identity).filter(|_| replay != Mode::Off);
        let macs = facts.iter().filter_map(|facts| guarded_mac(facts, olympus_mac));
        self.window.expect(identities.chain(macs));
        self.ledger.expect(facts);
    }

    /// Goes by other settings from now on; what was seen stays, and so do the sizes of window and ledger.
    pub fn adopt(&mut self, settings: Settings) {
        self.settings = settings;
    }

    /// Decides about a record that holds, and remembers it in the batch that was begun last. `Full` only where the
    /// window is set to stop the run.
    pub fn decide(&mut self, facts: &Facts) -> Result<Ruling, Full> {
        let time = facts.now.map_or(self.latest, second_of);
        self.latest = self.latest.max(time);
        let now = self.window.see(time);
        self.notes.capped += u64::from(facts.capped);
        if self.open.is_empty() {
            self.begin(0, Origin::default());
        }
        let ruling =
            self.rule(facts, now, expiry(facts, time).saturating_add(now - time).min(Second::MAX - 1))?;
        if let Some(changes) = self.open.back_mut() {
            if self.window.follows_order() {
                // Where the order is fixed nothing comes again, so nothing is taken back.
                changes.window.clear();
            } else {
                changes.window_at.resize(changes.window.len(), changes.at);
                changes.ledger_at.resize(changes.ledger.len(), changes.at);
            }
        }
        self.notes.warned += u64::from(ruling.warned.is_some());
        self.notes.ignored += u64::from(ruling.ignored && ruling.reason.is_none());
        Ok(ruling)
    }

    /// The rules in their order: window, ledger, room. What is remembered is kept until `until`.
    fn rule(&mut self, facts: &Facts, now: Second, until: Second) -> Result<Ruling, Full> {
        let Self { settings, window, ledger, open, .. } = self;
        let Some(changes) = open.back_mut() else { return Ok(Ruling::default()) };
        changes.time = changes.time.max(now);
        let refuse = |reason| Ok(Ruling { reason: Some(reason), ..Ruling::default() });
        let identity = facts.identity.filter(|_| settings.replay != Mode::Off);
        let seen = match identity.map(|identity| window.look_up(identity, facts.content, now)) {
            None | Some(Seen::New) => None,
            Some(Seen::Duplicate) => Some(Reason::Duplicate),
            Some(Seen::Conflict) => Some(Reason::IdConflict),
        };
        if let (Some(reason), Mode::Enforce) = (seen, settings.replay) {
            return refuse(reason);
        }
        let mut step = ledger.judge(facts, settings, now);
        step.warned = seen.or(step.warned);
        let mac = guarded_mac(facts, settings.olympus_mac);
        let replayed = mac.is_some_and(|mac| window.look_up(mac, 0, now) != Seen::New);
        if replayed && settings.olympus_mac == Mode::Enforce {
            return refuse(Reason::Duplicate);
        }
        if replayed {
            step.warned = step.warned.or(Some(Reason::Duplicate));
        }
        if step.reason.is_none() || facts.burns {
            let kept = identity.filter(|_| seen.is_none()).map_or(Ok(()), |identity| {
                window.insert(identity, facts.content, until, &mut changes.window)
            });
            // The guard's own entry is a bonus: without room for it, the record still passes.
            let guarded = mac
                .filter(|_| !replayed && kept.is_ok())
                .map_or(Ok(()), |mac| window.insert(mac, 0, until, &mut changes.window));
            if settings.window.on_full == OnFull::Stop {
                kept.and(guarded)?;
            } else if kept.is_err() {
                return refuse(Reason::WindowFull);
            }
        }
        // PERF: a change is a copy of what was just written, which has to wait for memory: where nothing is ever taken
        // back, it took 0.1 of the gate's 0.8 µs for a record (perf).
        let told = Some(&mut changes.ledger).filter(|_| !window.follows_order());
        ledger.apply(&step, settings, (now, until, window.dead()), told);
        Ok(Ruling { reason: step.reason, warned: step.warned, ignored: step.ignored })
    }

    /// The batch's output is acknowledged: what it remembered stays, and its time moves the window's.
    pub fn commit(&mut self, batch: u64) {
        let Some(at) = self.open.iter().position(|changes| changes.batch == batch) else { return };
        let Some(changes) = self.open.remove(at) else { return };
        if changes.time > 0 {
            self.window.advance(changes.origin.partition, changes.time);
        }
        self.put_by(changes);
    }

    /// The batch will come again: takes back what it remembered. Where several are undone, the newest goes first.
    pub fn undo(&mut self, batch: u64) {
        let Some(at) = self.open.iter().position(|changes| changes.batch == batch) else { return };
        let Some(changes) = self.open.remove(at) else { return };
        for change in changes.window.iter().rev() {
            self.window.undo(change);
        }
        for change in changes.ledger.iter().rev() {
            self.ledger.undo(change);
        }
        self.put_by(changes);
    }

    /// A partition is read anew, in a new epoch, from `offset` on. What its batches of earlier epochs remembered of
    /// records from there on is taken back: those come again. Batches that end before are committed, or reading would
    /// have begun at them; word of that may be late, since a partition can be lost and regained between two commits.
    pub fn reread(&mut self, partition: u64, epoch: u32, offset: i64) {
        let earlier = |origin: &Origin| origin.partition == partition && origin.epoch < epoch;
        let done = |changes: &Changes| earlier(&changes.origin) && changes.origin.offsets.end <= offset;
        while let Some(batch) = self.open.iter().find(|changes| done(changes)).map(|changes| changes.batch) {
            self.commit(batch);
        }
        let again = |changes: &&Changes| earlier(&changes.origin);
        while let Some(batch) = self.open.iter().rev().find(again).map(|changes| changes.batch) {
            self.undo(batch);
        }
    }

    /// Everything that is not committed will come again.
    pub fn undo_all(&mut self) {
        while let Some(changes) = self.open.back() {
            let batch = changes.batch;
            self.undo(batch);
        }
    }

    /// A partition was given away, or has ended: it holds the window's time no longer. What it remembered stays.
    pub fn leave(&mut self, partition: u64) {
        self.window.leave(partition);
    }

    fn put_by(&mut self, mut changes: Changes) {
        changes.window.clear();
        changes.ledger.clear();
        changes.window_at.clear();
        changes.ledger_at.clear();
        if self.spare.len() < SPARE_MAX {
            self.spare.push(changes);
        }
    }

    /// Counts of what deserves to be told.
    #[must_use]
    pub fn notes(&self) -> Notes {
        let (ids_evicted, entries_evicted) = (self.window.evicted(), self.ledger.shelf().evicted());
        Notes { ids_evicted, entries_evicted, ..self.notes }
    }

    /// The window.
    #[must_use]
    pub fn window(&self) -> &Window {
        &self.window
    }

    /// The ledger.
    #[must_use]
    pub fn ledger(&self) -> &Ledger {
        &self.ledger
    }

    /// The state of the work that a record of agh names.
    #[must_use]
    pub fn work_state(&self, facts: &Facts) -> Option<WorkState> {
        self.ledger.work_state(facts, facts.now.unwrap_or(Timestamp::from_secs(i64::from(self.latest))))
    }
}

/// The second identity of a message that is signed by a scheme which covers little of it.
fn guarded_mac(facts: &Facts, mode: Mode) -> Option<crate::credentials::digest::Identity> {
    match &facts.lifecycle {
        Lifecycle::Olympus(message) if mode != Mode::Off => message.mac,
        _ => None,
    }
}

/// When a record may be forgotten.
fn expiry(facts: &Facts, now: Second) -> Second {
    match facts.now {
        Some(_) => expiry_of(facts.keep_until),
        None => now.saturating_add(expiry_of(facts.keep_until)).min(Second::MAX - 1),
    }
}

#[cfg(test)]
mod tests;
