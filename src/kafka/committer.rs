//! What other threads may do with a living client: commit offsets, and ask the cluster.
//!
//! Both hold the client weakly: they never keep it alive, and fail with `Closed` while there is none. A consumer that is made
//! anew leads its own to the new client. Nothing here may be called on the way of a record, since all but `commit_async` wait
//! for a broker.

use std::sync::{Arc, Mutex, PoisonError, Weak};
use std::time::Duration;

use super::faults::{Fault, KafkaError};
use super::raw::cluster::Watermarks;
use super::raw::handle::Handle;
use super::raw::partitions::PartitionOffset;
use super::raw::transactions::GroupMetadata;

/// The way to the client that there is at this moment.
#[derive(Clone)]
pub(super) struct Line(Arc<Mutex<Weak<Handle>>>);

impl Line {
    pub(super) fn to(handle: &Arc<Handle>) -> Self {
        Self(Arc::new(Mutex::new(Arc::downgrade(handle))))
    }

    /// From now on it leads to this client, for everybody who has it.
    pub(super) fn lead_to(&self, handle: &Arc<Handle>) {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = Arc::downgrade(handle);
    }

    pub(super) fn reach(&self) -> Option<Arc<Handle>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).upgrade()
    }
}

/// Commits offsets of a consumer, from any thread; useless once the consumer is closed.
#[derive(Clone)]
pub struct Committer {
    pub(super) line: Line,
}

impl Committer {
    fn handle(&self) -> Result<Arc<Handle>, KafkaError> {
        self.line.reach().ok_or(KafkaError::Closed)
    }

    /// Commits, and waits for the brokers' word. After a timeout the outcome is unknown.
    pub fn commit(&self, offsets: &[PartitionOffset], wait: Duration) -> Result<(), KafkaError> {
        self.handle()?.commit(offsets, wait)
    }

    /// Commits without waiting; see [`Committer::failure`].
    pub fn commit_async(&self, offsets: &[PartitionOffset]) -> Result<(), KafkaError> {
        self.handle()?.commit_async(offsets)
    }

    /// The newest failure of a commit without waiting, once; it shows up while the consumer reads.
    #[must_use]
    pub fn failure(&self) -> Option<Fault> {
        self.line.reach().and_then(|handle| handle.context().take_commit_fault())
    }

    /// What is committed for these partitions, with its text; `None` where nothing is.
    pub fn committed(
        &self,
        partitions: &[PartitionOffset],
        wait: Duration,
    ) -> Result<Vec<Option<PartitionOffset>>, KafkaError> {
        if partitions.is_empty() {
            return Ok(Vec::new());
        }
        self.handle()?.committed(partitions, wait)
    }

    /// Who we are in the group at this moment, for a transaction.
    pub fn group_metadata(&self) -> Result<GroupMetadata, KafkaError> {
        self.handle()?.group_metadata()
    }
}

/// Questions to the cluster, through a client that lives elsewhere.
#[derive(Clone)]
pub struct Cluster {
    pub(super) line: Line,
}

impl Cluster {
    fn handle(&self) -> Result<Arc<Handle>, KafkaError> {
        self.line.reach().ok_or(KafkaError::Closed)
    }

    /// How many partitions a topic has; an error where it does not exist.
    pub fn partition_count(&self, topic: &str, wait: Duration) -> Result<i32, KafkaError> {
        self.handle()?.partition_count(topic, wait)
    }

    /// The first and the last offset of a partition.
    pub fn watermarks(&self, topic: &str, partition: i32, wait: Duration) -> Result<Watermarks, KafkaError> {
        self.handle()?.watermarks(topic, partition, wait)
    }

    /// What the newest fetch said about a partition, at once: `high` minus our next offset is the lag. `None` before
    /// the first fetch; `low` is 0 where it is not known.
    #[must_use]
    pub fn watermarks_seen(&self, topic: &str, partition: i32) -> Option<Watermarks> {
        self.line.reach()?.watermarks_seen(topic, partition)
    }

    /// For each entry, whose `offset` is a time in milliseconds, the offset of the first record at or after it; −1
    /// where there is none.
    pub fn offsets_for_times(
        &self,
        times: &[PartitionOffset],
        wait: Duration,
    ) -> Result<Vec<PartitionOffset>, KafkaError> {
        self.handle()?.offsets_for_times(times, wait)
    }
}
