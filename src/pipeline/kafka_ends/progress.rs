//! How far each partition is: what is in flight, what was delivered, what was committed.
//!
//! Reader and writer meet here. The writer raises a partition's delivered offset; whoever commits takes the offsets
//! that are not committed yet. A partition that is revoked is waited for, committed, and forgotten; a forgotten
//! partition is never committed again, whatever arrives late.

use std::collections::BTreeMap;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, OnceLock, PoisonError};
use std::time::{Duration, Instant};

use crate::kafka::{Committer, KafkaError, Listener, Owned, PartitionOffset, TopicIndex};

/// How long one commit may take.
const COMMIT_WAIT: Duration = Duration::from_secs(10);

/// A topic's partition.
pub(super) type Key = (TopicIndex, i32);

/// The shared state.
#[derive(Default)]
pub(super) struct Progress {
    partitions: Mutex<BTreeMap<Key, State>>,
    landed: Condvar,
    /// One commit at a time: a late one must not follow the commit that gave its partition away.
    committing: Mutex<()>,
    committer: OnceLock<Committer>,
}

struct State {
    topic: String,
    epoch: u32,
    /// Batches that were read and not delivered.
    in_flight: usize,
    /// Everything below was delivered.
    delivered: i64,
    /// Everything below was committed.
    committed: i64,
}

/// One batch in flight; it has landed when this is dropped.
pub struct Flight {
    progress: Arc<Progress>,
    key: Key,
    epoch: u32,
}

impl Progress {
    pub(super) fn set_committer(&self, committer: Committer) {
        let _ = self.committer.set(committer);
    }

    /// Counts a batch that was read; `None` if its partition was given away since, or is of a newer epoch. Such
    /// records are read again, by whoever has the partition now.
    pub(super) fn take_off(self: &Arc<Self>, key: Key, epoch: u32) -> Option<Flight> {
        let mut partitions = self.lock();
        let state = partitions.get_mut(&key).filter(|state| state.epoch <= epoch)?;
        // A rewind makes a new epoch without a new assignment.
        if state.epoch != epoch {
            state.epoch = epoch;
            state.in_flight = 0;
        }
        state.in_flight += 1;
        drop(partitions);
        Some(Flight { progress: Arc::clone(self), key, epoch })
    }

    /// Everything of this epoch below `next` was delivered.
    pub(super) fn delivered(&self, flight: &Flight, next: i64) {
        if let Some(state) = self.lock().get_mut(&flight.key).filter(|state| state.epoch == flight.epoch) {
            state.delivered = state.delivered.max(next);
        }
    }

    /// Commits what was delivered and not committed, of the given partitions or of all.
    pub(super) fn commit(&self, only: Option<&[Key]>) -> Result<(), KafkaError> {
        let _one_at_a_time = self.committing.lock().unwrap_or_else(PoisonError::into_inner);
        let due: Vec<(Key, PartitionOffset)> = (self.lock().iter())
            .filter(|(key, state)| {
                state.delivered > state.committed && only.is_none_or(|only| only.contains(key))
            })
            .map(|(key, state)| (*key, PartitionOffset::new(&state.topic, key.1, state.delivered)))
            .collect();
        let Some(committer) = self.committer.get().filter(|_| !due.is_empty()) else { return Ok(()) };
        let offsets: Vec<_> = due.iter().map(|(_, offset)| offset.clone()).collect();
        committer.commit(&offsets, COMMIT_WAIT)?;
        let mut partitions = self.lock();
        for (key, offset) in due {
            if let Some(state) = partitions.get_mut(&key) {
                state.committed = state.committed.max(offset.offset);
            }
        }
        Ok(())
    }

    /// Whether everything that was delivered is committed.
    pub(super) fn is_committed(&self) -> bool {
        self.lock().values().all(|state| state.delivered <= state.committed)
    }

    /// Waits until no batch of these partitions is in flight.
    fn wait_landed(&self, keys: &[Key], deadline: Instant) -> bool {
        let mut partitions = self.lock();
        loop {
            let busy = keys.iter().any(|key| partitions.get(key).is_some_and(|state| state.in_flight > 0));
            let left = deadline.saturating_duration_since(Instant::now());
            if !busy || left.is_zero() {
                return !busy;
            }
            partitions = self.landed.wait_timeout(partitions, left).unwrap_or_else(PoisonError::into_inner).0;
        }
    }

    fn lock(&self) -> MutexGuard<'_, BTreeMap<Key, State>> {
        self.partitions.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for Flight {
    fn drop(&mut self) {
        let mut partitions = self.progress.lock();
        if let Some(state) = partitions.get_mut(&self.key).filter(|state| state.epoch == self.epoch) {
            state.in_flight = state.in_flight.saturating_sub(1);
        }
        drop(partitions);
        self.progress.landed.notify_all();
    }
}

/// Answers rebalances: a revoked partition is drained and committed within the deadline before it is given away.
pub(super) struct DrainOnRevoke {
    pub(super) progress: Arc<Progress>,
    pub(super) deadline: Duration,
}

impl Listener for DrainOnRevoke {
    fn assigned(&mut self, owned: &[Owned]) {
        let mut partitions = self.progress.lock();
        for at in owned {
            let (topic, epoch) = (at.name.clone(), at.epoch);
            let state = State { topic, epoch, in_flight: 0, delivered: at.next, committed: at.next };
            partitions.insert((at.topic, at.partition), state);
        }
    }

    fn revoked(&mut self, owned: &[Owned], lost: bool) {
        let keys: Vec<_> = owned.iter().map(|at| (at.topic, at.partition)).collect();
        if !lost {
            if !self.progress.wait_landed(&keys, Instant::now() + self.deadline) {
                tracing::warn!(
                    "revoked partitions were not drained within {} ms; their last records will be written twice",
                    self.deadline.as_millis()
                );
            }
            if let Err(error) = self.progress.commit(Some(&keys)) {
                tracing::warn!("offsets of revoked partitions were not committed: {error}");
            }
        }
        let mut partitions = self.progress.lock();
        for key in &keys {
            partitions.remove(key);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const KEY: Key = (TopicIndex(0), 3);

    fn owned(epoch: u32, next: i64) -> Owned {
        let (name, metadata) = ("in".to_owned(), String::new());
        Owned { topic: KEY.0, name, partition: KEY.1, epoch, next, metadata }
    }

    fn progress_with(epoch: u32, next: i64) -> (Arc<Progress>, DrainOnRevoke) {
        let progress = Arc::new(Progress::default());
        let mut listener =
            DrainOnRevoke { progress: Arc::clone(&progress), deadline: Duration::from_millis(1) };
        listener.assigned(&[owned(epoch, next)]);
        (progress, listener)
    }

    /// A rebalance in the middle of a read leaves records in the reader's hands that are not its own any more.
    #[test]
    fn records_of_a_partition_that_was_given_away_are_not_written() {
        let (progress, mut listener) = progress_with(1, 100);
        assert!(progress.take_off(KEY, 1).is_some());
        listener.revoked(&[owned(1, 150)], false);
        assert!(progress.take_off(KEY, 1).is_none());
        listener.assigned(&[owned(2, 100)]);
        assert!(progress.take_off(KEY, 1).is_none(), "of the earlier ownership");
        let flight = progress.take_off(KEY, 2).unwrap();
        progress.delivered(&flight, 120);
        assert!(!progress.is_committed());
    }

    #[test]
    fn what_lands_late_does_not_move_a_newer_epoch() {
        let (progress, mut listener) = progress_with(1, 100);
        let late = progress.take_off(KEY, 1).unwrap();
        listener.revoked(&[owned(1, 150)], true);
        listener.assigned(&[owned(2, 100)]);
        let now = progress.take_off(KEY, 2).unwrap();
        progress.delivered(&late, 150);
        drop(late);
        assert!(progress.is_committed(), "nothing of this epoch was delivered");
        assert!(!progress.wait_landed(&[KEY], Instant::now()), "the batch of this epoch is still under way");
        drop(now);
        assert!(progress.wait_landed(&[KEY], Instant::now()));
    }
}
