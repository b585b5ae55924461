//! What Kafka's side tells about itself: partitions and their state, rebalances, transactions, restores.
//!
//! Whoever moves a partition says so here, at most once per batch; whoever watches reads it at any time. This is a
//! leaf of plain values: it must not call Kafka itself, but for the look-up of a partition's end that it is given.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::sync::{Mutex, MutexGuard, OnceLock, PoisonError};
use std::time::Duration;

/// How an assigned partition stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PartitionState {
    /// Its window and ledger are read back from the journal.
    Restoring,
    /// It is read.
    Reading,
}

impl PartitionState {
    /// As pages and reports show it.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Restoring => "restoring",
            Self::Reading => "reading",
        }
    }
}

/// One assigned partition.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PartitionStatus {
    /// Where it stands.
    pub state: PartitionState,
    /// The offset that is read next.
    pub next: i64,
    /// Everything below was committed.
    pub committed: i64,
    /// The offset behind its last record, as far as it is known.
    pub end: Option<i64>,
    /// The time of the newest record that was read, in milliseconds since 1970.
    pub record_ms: Option<i64>,
}

/// Changes of the assignment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Rebalance {
    /// Partitions came.
    Assigned,
    /// Partitions went, in order.
    Revoked,
    /// Partitions are gone already.
    Lost,
}

impl Rebalance {
    /// Every kind, with the name that metrics carry.
    pub const ALL: [(Self, &'static str); 3] =
        [(Self::Assigned, "assigned"), (Self::Revoked, "revoked"), (Self::Lost, "lost")];
}

/// Asks for the offset behind a partition's last record: the brokers, if there is time to wait for them, else what the
/// newest fetch said.
pub type EndOf = dyn Fn(&str, i32, Option<Duration>) -> Option<i64> + Send + Sync;

/// The shared account.
#[derive(Default)]
pub struct Status {
    partitions: Mutex<BTreeMap<(String, i32), PartitionStatus>>,
    /// Whether the group has answered with an assignment, which may be empty.
    joined: AtomicBool,
    rebalances: [AtomicU64; 3],
    /// Transactions that were committed.
    pub transactions_committed: AtomicU64,
    /// Transactions that were aborted.
    pub transactions_aborted: AtomicU64,
    /// Commits that failed and were tried again.
    pub commit_failures: AtomicU64,
    /// Producers that took the place of a broken one.
    pub rebuilds: AtomicU64,
    /// Consumers that took the place of one that failed or left.
    pub rejoins: AtomicU64,
    /// Partitions that make no progress while their lag grows, at this moment.
    pub partitions_stuck: AtomicU64,
    /// Records of the journal that were read back.
    pub journal_restored: AtomicU64,
    /// How long the last restore took.
    pub journal_restore_ms: AtomicU64,
    end_of: OnceLock<Box<EndOf>>,
    /// Ends that were asked for so far.
    asked: AtomicUsize,
}

impl Status {
    /// Partitions came: a topic, its partition, and the offset to read from.
    pub fn assigned<'a>(
        &self,
        state: PartitionState,
        partitions: impl IntoIterator<Item = (&'a str, i32, i64)>,
    ) {
        self.count(Rebalance::Assigned);
        let mut known = self.lock();
        for (topic, partition, next) in partitions {
            let status = PartitionStatus { state, next, committed: next, end: None, record_ms: None };
            known.insert((topic.to_owned(), partition), status);
        }
        drop(known);
        self.joined.store(true, Ordering::Release);
    }

    /// Partitions went.
    pub fn revoked<'a>(&self, lost: bool, partitions: impl IntoIterator<Item = (&'a str, i32)>) {
        self.count(if lost { Rebalance::Lost } else { Rebalance::Revoked });
        let mut known = self.lock();
        for (topic, partition) in partitions {
            known.remove(&(topic.to_owned(), partition));
        }
    }

    /// The group was left, and is joined anew.
    pub fn left(&self) {
        self.joined.store(false, Ordering::Release);
    }

    /// Others moved a partition on: it goes on there once it is restored again.
    pub fn outdated(&self, topic: &str, partition: i32, offset: i64) {
        self.update(topic, partition, |status| {
            (status.state, status.next, status.committed) = (PartitionState::Restoring, offset, offset);
        });
    }

    /// A partition is restored: it is read from now on.
    pub fn restored(&self, topic: &str, partition: i32) {
        self.update(topic, partition, |status| status.state = PartitionState::Reading);
    }

    /// Records up to `next` were read, the newest of this time.
    pub fn read(&self, topic: &str, partition: i32, next: i64, record_ms: Option<i64>) {
        self.update(topic, partition, |status| {
            status.next = next;
            status.record_ms = record_ms.or(status.record_ms);
        });
    }

    /// Everything below `offset` is committed.
    pub fn committed(&self, topic: &str, partition: i32, offset: i64) {
        self.update(topic, partition, |status| status.committed = status.committed.max(offset));
    }

    /// From now on, ends of partitions are asked for here.
    pub fn set_end_of(&self, end_of: Box<EndOf>) {
        let _ = self.end_of.set(end_of);
    }

    /// All assigned partitions, with the ends that are known now.
    #[must_use]
    pub fn partitions(&self) -> Vec<(String, i32, PartitionStatus)> {
        let known = self.lock().clone();
        let end_of = self.end_of.get();
        let with_end = |((topic, partition), status): ((String, i32), PartitionStatus)| {
            let end = end_of.and_then(|end_of| end_of(&topic, partition, None)).max(status.end);
            (topic, partition, PartitionStatus { end, ..status })
        };
        known.into_iter().map(with_end).collect()
    }

    /// Asks the brokers for the ends of at most `most` partitions, all of them in turn: while reading is stuck, no fetch tells
    /// them.
    pub fn ask_ends(&self, most: usize, wait: Duration) {
        let Some(end_of) = self.end_of.get() else { return };
        let keys: Vec<_> = self.lock().keys().cloned().collect();
        let most = most.min(keys.len());
        let from = self.asked.fetch_add(most, Ordering::Relaxed) % keys.len().max(1);
        for (topic, partition) in keys.into_iter().cycle().skip(from).take(most) {
            if let Some(end) = end_of(&topic, partition, Some(wait)) {
                self.update(&topic, partition, |status| status.end = Some(end));
            }
        }
    }

    /// Whether the group has assigned partitions (perhaps none), and all of them are restored.
    #[must_use]
    pub fn is_ready(&self) -> bool {
        let all_read = |known: &BTreeMap<_, PartitionStatus>| {
            known.values().all(|status| status.state == PartitionState::Reading)
        };
        self.joined.load(Ordering::Acquire) && all_read(&self.lock())
    }

    /// How often the assignment changed in this way.
    #[must_use]
    pub fn rebalances(&self, kind: Rebalance) -> u64 {
        self.rebalances.get(kind as usize).map_or(0, |count| count.load(Ordering::Relaxed))
    }

    fn count(&self, kind: Rebalance) {
        if let Some(count) = self.rebalances.get(kind as usize) {
            count.fetch_add(1, Ordering::Relaxed);
        }
    }

    fn update(&self, topic: &str, partition: i32, change: impl FnOnce(&mut PartitionStatus)) {
        // PERF: a name is copied per batch, not per record.
        if let Some(status) = self.lock().get_mut(&(topic.to_owned(), partition)) {
            change(status);
        }
    }

    fn lock(&self) -> MutexGuard<'_, BTreeMap<(String, i32), PartitionStatus>> {
        self.partitions.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl PartitionStatus {
    /// Records that are not committed, as far as the partition's end is known.
    #[must_use]
    pub fn lag_records(&self) -> Option<u64> {
        self.end.map(|end| u64::try_from(end - self.committed).unwrap_or(0))
    }

    /// The age of the newest record that was read, if more are waiting.
    #[must_use]
    pub fn lag_seconds(&self, now_ms: i64) -> Option<f64> {
        let waiting = self.end.is_some_and(|end| end > self.next);
        let age = |ms: i64| (now_ms - ms).max(0) as f64 / 1e3;
        if waiting { self.record_ms.map(age) } else { self.end.map(|_| 0.0) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ready_means_assigned_and_restored() {
        let status = Status::default();
        assert!(!status.is_ready(), "the group has not answered");
        status.assigned(PartitionState::Restoring, [("in", 0, 5), ("in", 1, 7)]);
        assert!(!status.is_ready(), "nothing is restored");
        status.restored("in", 0);
        assert!(!status.is_ready());
        status.restored("in", 1);
        assert!(status.is_ready());
        status.revoked(false, [("in", 0), ("in", 1)]);
        assert!(status.is_ready(), "a member without partitions waits for nothing");
        assert!(status.partitions().is_empty(), "series of revoked partitions disappear");
        status.left();
        assert!(!status.is_ready(), "not a member at all");
    }

    #[test]
    fn ends_are_asked_for_in_turn() {
        let status = Status::default();
        status.set_end_of(Box::new(|_, partition, wait| wait.map(|_| i64::from(partition) + 100)));
        status.ask_ends(2, Duration::ZERO);
        status.assigned(PartitionState::Reading, (0..5).map(|partition| ("in", partition, 0)));
        let known = || status.partitions().iter().filter(|(.., at)| at.end.is_some()).count();
        for expected in [2, 4, 5] {
            status.ask_ends(2, Duration::ZERO);
            assert_eq!(known(), expected);
        }
    }

    #[test]
    fn lag_is_counted_from_what_is_committed_and_timed_from_what_is_read() {
        let status = Status::default();
        status.set_end_of(Box::new(|_, _, _| Some(110)));
        status.assigned(PartitionState::Reading, [("in", 0, 90)]);
        status.read("in", 0, 100, Some(1_000));
        status.committed("in", 0, 95);
        let (_, _, partition) = status.partitions().remove(0);
        assert_eq!(partition.lag_records(), Some(15));
        assert_eq!(partition.lag_seconds(3_500), Some(2.5));
        status.read("in", 0, 110, Some(3_000));
        assert_eq!(status.partitions()[0].2.lag_seconds(9_000), Some(0.0), "nothing is waiting");
    }
}
