//! Reading: a member of a consumer group that hands out batches per partition, from positions that are our own.
//!
//! One thread reads. Partitions come and go inside [`Consumer::read`], where the [`Listener`] is told; commits may come
//! from other threads through a [`Committer`]. Nothing is ever committed, skipped or reset by itself.

use std::sync::{Arc, Weak};
use std::time::{Duration, Instant};

use super::faults::{Class, Fault, KafkaError};
use super::positions::{Owned, PartitionBatch, Positions, TopicIndex};
use super::raw;
use super::raw::cluster::Watermarks;
use super::raw::handle::Handle;
use super::raw::message::Message;
use super::raw::partitions::PartitionOffset;
use super::raw::rebalance::Rebalance;
use super::raw::transactions::GroupMetadata;
use super::settings::ConsumerSettings;
use super::start::Start;

/// LIMIT: messages taken in one call to librdkafka, so that `bytes_max` is not overshot by more than these.
const TAKE_MAX: usize = 512;
/// How long a seek may take; it only has to reach librdkafka's own threads.
const SEEK_WAIT: Duration = Duration::from_secs(2);
/// One attempt at reading offsets from the brokers, and the pause before the next.
const ATTEMPT_WAIT: Duration = Duration::from_secs(5);
const ATTEMPT_PAUSE: Duration = Duration::from_millis(100);

/// Is told about partitions, inside `read`, on the reader's thread. It must not call the consumer, but may commit.
pub trait Listener: Send {
    /// These are ours now, and will be read from `next`.
    fn assigned(&mut self, partitions: &[Owned]);
    /// These are given back when this returns. Where `lost`, another process may own them already: commit nothing.
    fn revoked(&mut self, partitions: &[Owned], lost: bool);
}

/// A listener that does nothing.
impl Listener for () {
    fn assigned(&mut self, _partitions: &[Owned]) {}
    fn revoked(&mut self, _partitions: &[Owned], _lost: bool) {}
}

/// A consumer.
pub struct Consumer {
    raw: raw::consumer::Consumer,
    group: Group,
    /// Messages between librdkafka and their batches; empty between calls.
    scratch: Vec<Message>,
}

/// What the rebalance needs; apart from `raw`, which is busy polling while the group changes.
struct Group {
    name: String,
    start: Start,
    assign_wait: Duration,
    positions: Positions,
    handle: Weak<Handle>,
    listener: Box<dyn Listener>,
    /// The first error after which reading makes no sense, until it was returned.
    failure: Option<KafkaError>,
    /// What `read` answers from then on.
    failed: Option<(String, Class)>,
}

impl Consumer {
    /// Joins the group; partitions come during the first reads.
    pub fn subscribe(
        mut settings: ConsumerSettings,
        listener: Box<dyn Listener>,
    ) -> Result<Self, KafkaError> {
        let consumer = Self::new(&mut settings, listener)?;
        consumer.raw.subscribe(&settings.topics)?;
        Ok(consumer)
    }

    /// Reads these partitions from these offsets, without being a member of the group.
    pub fn assign(
        mut settings: ConsumerSettings,
        partitions: &[PartitionOffset],
    ) -> Result<Self, KafkaError> {
        let mut consumer = Self::new(&mut settings, Box::new(()))?;
        if partitions.is_empty() {
            return Err(KafkaError::EmptyList { doing: "assign partitions" });
        }
        consumer.raw.assign(partitions)?;
        for partition in partitions {
            consumer.group.positions.assign(partition);
        }
        consumer.group.positions.settle();
        Ok(consumer)
    }

    fn new(settings: &mut ConsumerSettings, listener: Box<dyn Listener>) -> Result<Self, KafkaError> {
        let raw = raw::consumer::Consumer::new(settings.conf()?, settings.client.tokens.take())?;
        let group = Group {
            name: settings.group.clone(),
            start: settings.start,
            assign_wait: settings.assign_wait,
            positions: Positions::new(&settings.topics),
            handle: Arc::downgrade(raw.handle()?),
            listener,
            failure: None,
            failed: None,
        };
        Ok(Self { raw, group, scratch: Vec::new() })
    }

    /// Waits at most `wait` for a first record, then takes what is there, and appends it to `into` as batches of one
    /// partition each. Reads until one of the limits is reached; the last call to librdkafka may overshoot bytes.
    ///
    /// An error says what to do ([`KafkaError::class`]); records that came before it are in `into` all the same.
    pub fn read(
        &mut self,
        records_max: usize,
        bytes_max: usize,
        wait: Duration,
        into: &mut Vec<PartitionBatch>,
    ) -> Result<(), KafkaError> {
        self.group.check()?;
        self.group.seek_due();
        self.raw.poll(wait, &mut self.group, &mut self.scratch)?;
        let (mut records, mut bytes) = self.settle(false, into);
        while records > 0 && records < records_max && bytes < bytes_max {
            let count = self.take_count(records, records_max, bytes, bytes_max);
            self.raw.take(count, &mut self.group, &mut self.scratch)?;
            let taken = self.scratch.len();
            let (more_records, more_bytes) = self.settle(true, into);
            records += more_records;
            bytes += more_bytes;
            if taken < count {
                break;
            }
        }
        self.group.seek_due();
        if into.is_empty() { self.group.check() } else { Ok(()) }
    }

    /// How many messages to ask for next: as many as fit by the mean size so far.
    fn take_count(&self, records: usize, records_max: usize, bytes: usize, bytes_max: usize) -> usize {
        let mean = (bytes / records.max(1)).max(1);
        (records_max - records).min(((bytes_max - bytes) / mean).max(1)).min(TAKE_MAX)
    }

    /// Sorts what a call brought: events to their handling, records into batches.
    fn settle(&mut self, in_batch: bool, into: &mut Vec<PartitionBatch>) -> (usize, usize) {
        // Events are rare: look for them first, and sort plain messages in one pass.
        if self.scratch.iter().any(|message| !message.code().is_none()) {
            let events: Vec<_> = self.scratch.extract_if(.., |message| !message.code().is_none()).collect();
            for event in events {
                self.group.event(&event.fault("read"));
            }
        }
        let sorted = self.group.positions.sort(self.scratch.drain(..), in_batch, into);
        self.group.positions.settle();
        if sorted.dropped > 0 {
            tracing::debug!(target: "kafka", dropped = sorted.dropped, "fetched records were not ours to read");
        }
        (sorted.records, sorted.bytes)
    }

    /// The name of a topic.
    #[must_use]
    pub fn topic_name(&self, topic: TopicIndex) -> &str {
        self.group.positions.topic_name(topic)
    }

    /// All partitions that are ours at this moment.
    #[must_use]
    pub fn owned(&self) -> Vec<Owned> {
        self.group.positions.owned()
    }

    /// Reads on from `offset`; the epoch rises, so what was read before can be told. Used to start again after an
    /// abort.
    pub fn seek(&mut self, topic: TopicIndex, partition: i32, offset: i64) -> Result<(), KafkaError> {
        if !self.group.positions.rewind(topic, partition, offset) {
            let topic = self.topic_name(topic).to_owned();
            return Err(KafkaError::NotAssigned { topic, partition });
        }
        self.group.seek_due();
        Ok(())
    }

    /// Stops fetching from these partitions, which throws away what was fetched ahead: only for long pauses.
    pub fn pause(&mut self, partitions: &[(TopicIndex, i32)]) -> Result<(), KafkaError> {
        let list = self.group.listed(partitions);
        if list.is_empty() { Ok(()) } else { self.raw.handle()?.pause(&list) }
    }

    /// Fetches again, from our own position.
    pub fn resume(&mut self, partitions: &[(TopicIndex, i32)]) -> Result<(), KafkaError> {
        let list = self.group.listed(partitions);
        if list.is_empty() {
            return Ok(());
        }
        self.raw.handle()?.resume(&list)?;
        for (topic, partition) in partitions {
            self.group.positions.want_seek(*topic, *partition);
        }
        self.group.seek_due();
        Ok(())
    }

    /// For commits, from any thread.
    #[must_use]
    pub fn committer(&self) -> Committer {
        Committer { handle: self.group.handle.clone() }
    }

    /// For questions to the cluster, from any thread.
    #[must_use]
    pub fn cluster(&self) -> Cluster {
        Cluster { handle: self.group.handle.clone() }
    }

    /// Messages that were read and not yet dropped.
    #[must_use]
    pub fn held(&self) -> u64 {
        self.group.handle.upgrade().map_or(0, |handle| handle.context().held.count())
    }

    /// librdkafka's newest statistics as JSON, if they are on and new ones came.
    #[must_use]
    pub fn statistics(&self) -> Option<String> {
        self.group.handle.upgrade().and_then(|handle| handle.context().take_statistics())
    }

    /// Leaves the group and ends the client. All its messages must be dropped before, or it can't end: then this
    /// fails at the deadline, and a thread stays behind until they are.
    pub fn close(mut self, deadline: Duration) -> Result<(), KafkaError> {
        let owned = self.owned();
        if !owned.is_empty() {
            self.group.listener.revoked(&owned, false);
        }
        self.scratch.clear();
        self.raw.close(deadline)
    }
}

impl Group {
    /// Fails if reading makes no sense any more: with the error itself at first, with a reminder later.
    fn check(&mut self) -> Result<(), KafkaError> {
        if let Some(failure) = self.failure.take() {
            return Err(failure);
        }
        if let Some((first, class)) = &self.failed {
            return Err(KafkaError::Failed { first: first.clone(), class: *class });
        }
        let handle = self.handle.upgrade().ok_or(KafkaError::Closed)?;
        match handle.fatal() {
            Some(fatal) => Err(fatal.into()),
            None => Ok(()),
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
    fn event(&mut self, fault: &Fault) {
        if fault.class() != Class::Retry {
            return self.fail(fault.clone().into());
        }
        tracing::warn!(target: "kafka", "{fault}");
        if let Some(place) = &fault.place
            && let Some(partition) = place.partition
        {
            let topic = self.positions.topic_index(&place.topic);
            self.positions.want_seek(topic, partition);
        }
    }

    /// Does the seeks that are due; what can't be done yet stays due for the next read.
    fn seek_due(&mut self) {
        let due = self.positions.seeks_due();
        if due.is_empty() {
            return;
        }
        let Some(handle) = self.handle.upgrade() else { return };
        match handle.seek(&due, SEEK_WAIT) {
            Ok(()) => self.positions.seeks_done(),
            Err(error) if error.is_retriable() => {
                tracing::debug!(target: "kafka", "{error}; tried again soon")
            }
            Err(error) => self.fail(error),
        }
    }

    /// Those of these partitions that are ours, for C.
    fn listed(&self, partitions: &[(TopicIndex, i32)]) -> Vec<PartitionOffset> {
        let ours = partitions.iter().filter_map(|(topic, partition)| self.positions.find(*topic, *partition));
        ours.map(|owned| PartitionOffset::new(&owned.name, owned.partition, owned.next)).collect()
    }

    /// Where to read each partition from: its committed offset, else by `start`.
    fn starts(&self, partitions: &mut [PartitionOffset]) -> Result<(), KafkaError> {
        let handle = self.handle.upgrade().ok_or(KafkaError::Closed)?;
        let deadline = Instant::now() + self.assign_wait;
        let committed = patiently(deadline, |wait| handle.committed(partitions, wait))?;
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
        for at in &owned {
            tracing::info!(target: "kafka", topic = at.name, partition = at.partition, from = at.next, "assigned");
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
            tracing::info!(target: "kafka", topic = at.name, partition = at.partition, lost, "revoked");
            self.positions.release(&at.name, at.partition);
        }
    }
}

/// Tries until it works, fails for good, or the deadline is over.
fn patiently<T>(
    deadline: Instant,
    mut attempt: impl FnMut(Duration) -> Result<T, KafkaError>,
) -> Result<T, KafkaError> {
    loop {
        let left = deadline.saturating_duration_since(Instant::now());
        match attempt(left.min(ATTEMPT_WAIT)) {
            Err(error) if error.is_retriable() && left > ATTEMPT_PAUSE => {
                tracing::debug!(target: "kafka", "{error}; tried again");
                std::thread::sleep(ATTEMPT_PAUSE);
            }
            result => return result,
        }
    }
}

/// Commits offsets of a consumer, from any thread; useless once the consumer is closed.
#[derive(Clone)]
pub struct Committer {
    handle: Weak<Handle>,
}

impl Committer {
    fn handle(&self) -> Result<Arc<Handle>, KafkaError> {
        self.handle.upgrade().ok_or(KafkaError::Closed)
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
        self.handle.upgrade().and_then(|handle| handle.context().take_commit_fault())
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
    pub(super) handle: Weak<Handle>,
}

impl Cluster {
    fn handle(&self) -> Result<Arc<Handle>, KafkaError> {
        self.handle.upgrade().ok_or(KafkaError::Closed)
    }

    /// How many partitions a topic has; an error where it does not exist.
    pub fn partition_count(&self, topic: &str, wait: Duration) -> Result<i32, KafkaError> {
        self.handle()?.partition_count(topic, wait)
    }

    /// The first and the last offset of a partition.
    pub fn watermarks(&self, topic: &str, partition: i32, wait: Duration) -> Result<Watermarks, KafkaError> {
        self.handle()?.watermarks(topic, partition, wait)
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
