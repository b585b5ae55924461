//! What other threads may read of a run at any time: counts, levels, changes of rules.
//!
//! Only the gate writes the counts, so adding is a plain load and store, and nobody waits for anybody. Levels are stored
//! once per batch. Nothing here is allocated or locked per record.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError};

use crate::formats::FORMATS_MAX;
use crate::state::State;
use crate::verdict::{FormatId, Reason, Verdict};

use super::batch::Partition;
use super::sample::Sampler;
use super::shadow::ShadowSender;
use super::trace::Spans;

/// LIMIT: changes of the rule set that are kept, the newest ones.
const CHANGES_MAX: usize = 1024;

/// A change of rules in one partition.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RuleChange {
    /// The edition that holds from there on.
    pub edition: u64,
    /// Its hash.
    pub hash: String,
    /// The partition, as the source numbers it.
    pub partition: Partition,
    /// The offset, or the line of a file, of the first record that it decided.
    pub place: u64,
}

/// Progress that other threads may read at any time.
#[derive(Debug)]
pub struct Meters {
    /// Records that passed the gate.
    pub records: AtomicU64,
    /// Their payload bytes.
    pub bytes: AtomicU64,
    /// Those of them that were rejected.
    pub rejected: AtomicU64,
    /// Those of them that were accepted, and to which a rule applied that could not be checked.
    pub unchecked: AtomicU64,
    /// Accepted records that broke a rule which only warns, with or without regard to what was seen before.
    pub warned: AtomicU64,
    /// By format (the last row: none) and reason (the first column: accepted).
    verdicts: Box<[AtomicU64]>,
    /// Nanoseconds that the gate worked.
    pub gate_busy_ns: AtomicU64,
    /// Records between reader and commit.
    pub inflight_records: AtomicU64,
    /// Bytes between reader and commit.
    pub inflight_bytes: AtomicU64,
    /// What the window and the ledger hold, and have to tell.
    pub state: StateMeters,
    /// Records that candidate rules judged.
    pub shadow_records: AtomicU64,
    changes: Mutex<Vec<RuleChange>>,
    /// Copies records for whoever watches; not there unless somebody does.
    pub sampler: Option<Sampler>,
    /// Gathers what candidate rules would change.
    pub shadow: Option<ShadowSender>,
    /// Gathers spans of batches.
    pub spans: Spans,
}

/// Levels of the window and the ledger.
#[derive(Debug, Default)]
pub struct StateMeters {
    /// Identities in the window.
    pub window_ids: AtomicU64,
    /// Memory of the window.
    pub window_bytes: AtomicU64,
    /// Entries of the ledger.
    pub ledger_entries: AtomicU64,
    /// Records that were accepted and changed nothing.
    pub ignored: AtomicU64,
    /// Records that asked to be remembered for longer than anything is.
    pub capped: AtomicU64,
    /// Ids that the full window gave up.
    pub ids_evicted: AtomicU64,
    /// Entries that the full ledger gave up.
    pub entries_evicted: AtomicU64,
}

const COLUMNS: usize = Reason::ALL.len() + 1;

impl Default for Meters {
    fn default() -> Self {
        Self {
            records: AtomicU64::default(),
            bytes: AtomicU64::default(),
            rejected: AtomicU64::default(),
            unchecked: AtomicU64::default(),
            warned: AtomicU64::default(),
            verdicts: (0..(FORMATS_MAX + 1) * COLUMNS).map(|_| AtomicU64::default()).collect(),
            gate_busy_ns: AtomicU64::default(),
            inflight_records: AtomicU64::default(),
            inflight_bytes: AtomicU64::default(),
            state: StateMeters::default(),
            shadow_records: AtomicU64::default(),
            changes: Mutex::default(),
            sampler: None,
            shadow: None,
            spans: Spans::default(),
        }
    }
}

impl Meters {
    /// Adds a batch.
    pub fn add(&self, records: u64, bytes: u64, rejected: u64) {
        self.records.fetch_add(records, Ordering::Relaxed);
        self.bytes.fetch_add(bytes, Ordering::Relaxed);
        self.rejected.fetch_add(rejected, Ordering::Relaxed);
    }

    /// Counts one verdict; only the gate may.
    pub(super) fn count(&self, verdict: Verdict) {
        let row = verdict.format.map_or(FORMATS_MAX, |format| usize::from(format.0));
        let column = verdict.reason.map_or(0, |reason| reason as usize);
        if let Some(cell) = self.verdicts.get(row * COLUMNS + column) {
            // PERF: one writer, so no locked instruction is needed.
            cell.store(cell.load(Ordering::Relaxed) + 1, Ordering::Relaxed);
        }
    }

    /// Counts by format and reason (`None`: accepted), where there are any.
    #[must_use]
    pub fn verdicts(&self) -> Vec<(Option<FormatId>, Option<Reason>, u64)> {
        let mut found = Vec::new();
        for (row, cells) in self.verdicts.chunks(COLUMNS).enumerate() {
            let format = (row < FORMATS_MAX).then_some(FormatId(row as u8));
            let counts = cells.iter().map(|cell| cell.load(Ordering::Relaxed));
            let columns = std::iter::once(None).chain(Reason::ALL.iter().copied().map(Some));
            found.extend(
                columns.zip(counts).filter(|(_, n)| *n > 0).map(|(reason, count)| (format, reason, count)),
            );
        }
        found
    }

    /// Notes the levels of window and ledger, once per batch.
    pub(super) fn note_state(&self, state: &State) {
        let notes = state.notes();
        let put = |cell: &AtomicU64, value: u64| cell.store(value, Ordering::Relaxed);
        put(&self.state.window_ids, state.window().table().len() as u64);
        put(&self.state.window_bytes, state.window().table().bytes() as u64);
        put(&self.state.ledger_entries, state.ledger().shelf().len() as u64);
        put(&self.state.ignored, notes.ignored);
        put(&self.state.capped, notes.capped);
        put(&self.state.ids_evicted, notes.ids_evicted);
        put(&self.state.entries_evicted, notes.entries_evicted);
    }

    /// Notes what is between reader and commit.
    pub(super) fn note_inflight(&self, (records, bytes): (u64, u64)) {
        self.inflight_records.store(records, Ordering::Relaxed);
        self.inflight_bytes.store(bytes, Ordering::Relaxed);
    }

    /// Notes where a partition's rules changed. The last note on the same edition and partition counts.
    pub(super) fn note_change(&self, change: RuleChange) {
        let mut changes = self.changes.lock().unwrap_or_else(PoisonError::into_inner);
        changes.retain(|known| (known.edition, known.partition) != (change.edition, change.partition));
        if changes.len() == CHANGES_MAX {
            changes.remove(0);
        }
        changes.push(change);
    }

    /// Where the rules of partitions changed, oldest first.
    #[must_use]
    pub fn changes(&self) -> Vec<RuleChange> {
        self.changes.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tape::NodeIndex;

    #[test]
    fn a_change_that_moves_back_is_noted_once() {
        let meters = Meters::default();
        let change = |edition, partition, place| RuleChange {
            edition,
            hash: "h".into(),
            partition: Partition(partition),
            place,
        };
        for (edition, partition, place) in [(1, 0, 50), (1, 1, 60), (1, 0, 40), (2, 0, 90)] {
            meters.note_change(change(edition, partition, place));
        }
        assert_eq!(meters.changes(), [change(1, 1, 60), change(1, 0, 40), change(2, 0, 90)]);
    }

    #[test]
    fn verdicts_are_counted_by_format_and_reason() {
        let meters = Meters::default();
        meters.count(Verdict::accept(FormatId(2)));
        meters.count(Verdict::accept(FormatId(2)));
        meters.count(Verdict::reject(Reason::Stale, Some(FormatId(2)), NodeIndex(0)));
        let last = *Reason::ALL.last().unwrap();
        meters.count(Verdict::reject(last, None, NodeIndex(0)));
        let expected = [
            (Some(FormatId(2)), None, 2),
            (Some(FormatId(2)), Some(Reason::Stale), 1),
            (None, Some(last), 1),
        ];
        assert_eq!(meters.verdicts(), expected);
    }
}
