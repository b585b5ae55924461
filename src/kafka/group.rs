//! The consumer's side of its group: partitions that come and go, where to start in them, and trouble while reading.
//!
//! It decides what happens on a rebalance, inside the poll, and keeps the rule that librdkafka's position is corrected
//! by a seek to our own after every event. It never polls and never commits by itself.

use std::sync::Arc;
use std::time::{Duration, Instant};

use super::committer::Line;
use super::faults::{Class, Fault, KafkaError};
use super::positions::{Owned, Positions, TopicIndex};
use super::raw::handle::Handle;
use super::raw::partitions::PartitionOffset;
use super::raw::rebalance::Rebalance;
use crate::config::Bound;

/// How long a seek may take; it only has to reach librdkafka's own threads.
const SEEK_WAIT: Duration = Duration::from_secs(2);
/// One attempt at reading offsets from the brokers, and the pause before the next.
const ATTEMPT_WAIT: Duration = Duration::from_secs(5);
const ATTEMPT_PAUSE: Duration = Duration::from_millis(100);

/// Is told about partitions, inside `read` and `close`, on the reader's thread. It may wait for other threads and
/// commit; the group waits for it meanwhile, so it needs a deadline below the session's.
pub trait Listener: Send {
    /// Whether partitions that come are not read before they are released.
    fn holds(&self) -> bool {
        false
    }
    /// These are ours now, and will be read from `next`.
    fn assigned(&mut self, partitions: &[Owned]);
    /// The committed offsets of partitions that came could not be read in time: they come again, to a new member.
    fn unread(&mut self) {}
    /// These are given back when this returns. Where `lost`, another process may own them already: commit nothing.
    fn revoked(&mut self, partitions: &[Owned], lost: bool);
}

/// A listener that does nothing.
impl Listener for () {
    fn assigned(&mut self, _partitions: &[Owned]) {}
    fn revoked(&mut self, _partitions: &[Owned], _lost: bool) {}
}

/// What the rebalance needs; apart from `raw`, which is busy polling while the group changes.
pub(super) struct Group {
    pub(super) name: String,
    pub(super) start: Bound,
    pub(super) assign_wait: Duration,
    pub(super) positions: Positions,
    pub(super) line: Line,
    pub(super) listener: Box<dyn Listener>,
    /// The first error after which reading makes no sense, until it was returned.
    pub(super) failure: Option<KafkaError>,
    /// What `read` answers from then on.
    pub(super) failed: Option<(String, Class)>,
    /// Error events so far.
    pub(super) events: u64,
}

impl Group {
    /// Fails if reading makes no sense any more: with the error itself at first, with a reminder later.
    pub(super) fn check(&mut self) -> Result<(), KafkaError> {
        if let Some(failure) = self.failure.take() {
            return Err(failure);
        }
        if let Some((first, class)) = &self.failed {
            return Err(KafkaError::Failed { first: first.clone(), class: *class });
        }
        let handle = self.line.reach().ok_or(KafkaError::Closed)?;
        match handle.fatal() {
            Some(fatal) => Err(fatal.into()),
            None => Ok(()),
        }
    }

    /// A new client takes the place of the one that failed.
    pub(super) fn begin_anew(&mut self, handle: &Arc<Handle>) {
        self.line.lead_to(handle);
        self.failure = None;
        self.failed = None;
    }

    /// Everything that is ours is given up. Where `lost`, others may have it already.
    pub(super) fn give_up(&mut self, lost: bool) {
        let owned = self.positions.owned();
        if !owned.is_empty() {
            self.listener.revoked(&owned, lost);
        }
        for at in &owned {
            self.positions.release(&at.name, at.partition);
        }
    }

    fn fail(&mut self, error: KafkaError) {
        // Whatever could not be done now can be done by a new consumer.
        let class = if error.is_retriable() { Class::Rebuild } else { error.class() };
        if self.failed.is_none() {
            self.failed = Some((error.to_string(), class));
            self.failure = Some(error);
        }
    }

    /// An event in place of a record. Passing trouble is followed by a seek to where we are, since the event itself
    /// may have moved librdkafka's position.
    pub(super) fn event(&mut self, fault: &Fault) {
        self.events += 1;
        if !fault.is_retriable() {
            return self.fail(fault.clone().into());
        }
        tracing::warn!(target: "tollgate::kafka", "{fault}");
        if let Some(place) = &fault.place
            && let Some(partition) = place.partition
        {
            let topic = self.positions.topic_index(&place.topic);
            self.positions.want_seek(topic, partition);
        }
    }

    /// Does the seeks that are due; what can't be done yet stays due for the next read.
    pub(super) fn seek_due(&mut self) {
        let due = self.positions.seeks_due();
        if due.is_empty() {
            return;
        }
        let Some(handle) = self.line.reach() else { return };
        for (at, code) in handle.seek(&due, SEEK_WAIT) {
            if code.is_none() {
                self.positions.seek_done(&at.topic, at.partition);
                continue;
            }
            let fault = Fault::new("seek", code).at(&at.topic, Some(at.partition), Some(at.offset));
            if fault.is_retriable() {
                tracing::debug!(target: "tollgate::kafka", "{fault}; tried again soon");
            } else {
                self.fail(fault.into());
            }
        }
    }

    /// Those of these partitions that are ours, for C.
    pub(super) fn listed(&self, partitions: &[(TopicIndex, i32)]) -> Vec<PartitionOffset> {
        let ours = partitions.iter().filter_map(|(topic, partition)| self.positions.find(*topic, *partition));
        ours.map(|owned| PartitionOffset::new(&owned.name, owned.partition, owned.next)).collect()
    }

    /// Where to read each partition from: its committed offset, else by `start`.
    fn starts(&mut self, partitions: &mut [PartitionOffset]) -> Result<(), KafkaError> {
        let handle = self.line.reach().ok_or(KafkaError::Closed)?;
        let deadline = Instant::now() + self.assign_wait;
        let committed = patiently(deadline, |wait| handle.committed(partitions, wait));
        if committed.as_ref().is_err_and(KafkaError::is_retriable) {
            self.listener.unread();
        }
        let committed = committed?;
        let mut without = Vec::new();
        for (partition, committed) in partitions.iter_mut().zip(committed) {
            match committed {
                Some(committed) => *partition = committed,
                None => without.push(partition),
            }
        }
        if without.is_empty() {
            return Ok(());
        }
        let mut resolved: Vec<_> = without.iter().map(|partition| (**partition).clone()).collect();
        patiently(deadline, |wait| self.start.resolve(&handle, &self.name, &mut resolved, wait))?;
        without.into_iter().zip(resolved).for_each(|(partition, resolved)| *partition = resolved);
        Ok(())
    }
}

impl Rebalance for Group {
    fn assigned(&mut self, partitions: &mut [PartitionOffset]) {
        if let Err(error) = self.starts(partitions) {
            // The group must get its answer; but as these partitions are not in our account, nothing of them is read.
            self.fail(error);
            return;
        }
        let owned: Vec<_> = partitions.iter().map(|partition| self.positions.assign(partition)).collect();
        if self.listener.holds() {
            for at in &owned {
                self.positions.hold(at.topic, at.partition);
            }
        }
        for at in &owned {
            tracing::info!(target: "tollgate::kafka", topic = at.name, partition = at.partition, from = at.next, "assigned");
        }
        self.listener.assigned(&owned);
    }

    fn revoked(&mut self, partitions: &[PartitionOffset], lost: bool) {
        let mut owned = Vec::new();
        for partition in partitions {
            let topic = self.positions.topic_index(&partition.topic);
            owned.extend(self.positions.find(topic, partition.partition));
        }
        if !owned.is_empty() {
            self.listener.revoked(&owned, lost);
        }
        for at in &owned {
            tracing::info!(target: "tollgate::kafka", topic = at.name, partition = at.partition, lost, "revoked");
            self.positions.release(&at.name, at.partition);
        }
    }
}

/// Tries until it works, fails for good, or the deadline is over.
pub(super) fn patiently<T>(
    deadline: Instant,
    mut attempt: impl FnMut(Duration) -> Result<T, KafkaError>,
) -> Result<T, KafkaError> {
    loop {
        let left = deadline.saturating_duration_since(Instant::now());
        match attempt(left.min(ATTEMPT_WAIT)) {
            Err(error) if error.is_retriable() && left > ATTEMPT_PAUSE => {
                tracing::debug!(target: "tollgate::kafka", "{error}; tried again");
                std::thread::sleep(ATTEMPT_PAUSE);
            }
            result => return result,
        }
    }
}
