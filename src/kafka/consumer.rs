//! Reading: a member of a consumer group that hands out batches per partition, from positions that are our own.
//!
//! One thread reads. Partitions come and go inside [`Consumer::read`], where the [`Listener`] is told; commits may come
//! from other threads through a [`Committer`]. Nothing is ever committed, skipped or reset by itself.

use std::time::Duration;

use super::committer::{Cluster, Committer, Line};
use super::faults::{Code, KafkaError};
use super::group::{Group, Listener};
use super::positions::{Owned, PartitionBatch, Positions, TopicIndex};
use super::raw;
use super::raw::message::Message;
use super::raw::partitions::PartitionOffset;
use super::settings::ConsumerSettings;

/// LIMIT: messages taken in one call to librdkafka, so that `bytes_max` is not overshot by more than these.
const TAKE_MAX: usize = 512;

/// A consumer.
pub struct Consumer {
    raw: raw::consumer::Consumer,
    group: Group,
    /// Messages between librdkafka and their batches; empty between calls.
    scratch: Vec<Message>,
    /// Clients that were given up, and could not end since their messages were held.
    left: Vec<raw::consumer::Consumer>,
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
            line: Line::to(raw.handle()?),
            listener,
            failure: None,
            failed: None,
            events: 0,
        };
        Ok(Self { raw, group, scratch: Vec::new(), left: Vec::new() })
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
        let mut more = !self.scratch.is_empty();
        let (mut records, mut bytes) = self.settle(false, into);
        while more && records < records_max && bytes < bytes_max {
            let count = Self::take_count(records, records_max, bytes, bytes_max);
            self.raw.take(count, &mut self.group, &mut self.scratch)?;
            more = self.scratch.len() == count;
            let (more_records, more_bytes) = self.settle(true, into);
            records += more_records;
            bytes += more_bytes;
        }
        self.pause_held()?;
        self.group.seek_due();
        if into.is_empty() { self.group.check() } else { Ok(()) }
    }

    /// Whether there are lists for the next batches.
    #[must_use]
    pub fn has_spare(&self) -> bool {
        self.group.positions.has_spare()
    }

    /// Uses these emptied lists for the next batches.
    pub fn reuse(&mut self, lists: Vec<Vec<Message>>) {
        self.group.positions.reuse(lists);
    }

    /// How many messages to ask for next: as many as fit by the mean size so far.
    fn take_count(records: usize, records_max: usize, bytes: usize, bytes_max: usize) -> usize {
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
            tracing::debug!(target: "tollgate::kafka", dropped = sorted.dropped, "fetched records were not ours to read");
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
        let is_held = |at: &&(TopicIndex, i32)| self.group.positions.is_held(at.0, at.1);
        let partitions: Vec<_> = partitions.iter().filter(|at| !is_held(at)).copied().collect();
        let list = self.group.listed(&partitions);
        if list.is_empty() {
            return Ok(());
        }
        self.raw.handle()?.resume(&list)?;
        for (topic, partition) in partitions {
            self.group.positions.want_seek(topic, partition);
        }
        self.group.seek_due();
        Ok(())
    }

    /// Does not read this partition until it is released; `None` if it is not ours.
    pub fn hold(&mut self, topic: TopicIndex, partition: i32) -> Option<Owned> {
        self.group.positions.hold(topic, partition);
        self.group.positions.find(topic, partition)
    }

    /// Reads a partition that was held, from our own position.
    pub fn release(&mut self, topic: TopicIndex, partition: i32) -> Result<(), KafkaError> {
        if self.group.positions.let_go(topic, partition) {
            self.raw.handle()?.resume(&self.group.listed(&[(topic, partition)]))?;
            self.group.seek_due();
        }
        Ok(())
    }

    /// What is held is not fetched either.
    fn pause_held(&mut self) -> Result<(), KafkaError> {
        let due = self.group.positions.pauses_due();
        self.pause(&due)
    }

    /// For commits, from any thread.
    #[must_use]
    pub fn committer(&self) -> Committer {
        Committer { line: self.group.line.clone() }
    }

    /// For questions to the cluster, from any thread.
    #[must_use]
    pub fn cluster(&self) -> Cluster {
        Cluster { line: self.group.line.clone() }
    }

    /// Messages that were read and not yet dropped.
    #[must_use]
    pub fn held(&self) -> u64 {
        self.group.line.reach().map_or(0, |handle| handle.context().held.count())
    }

    /// Error events that came in place of records so far.
    #[must_use]
    pub fn events(&self) -> u64 {
        self.group.events
    }

    /// librdkafka's newest statistics as JSON, if they are on and new ones came.
    #[must_use]
    pub fn statistics(&self) -> Option<String> {
        self.group.line.reach().and_then(|handle| handle.context().take_statistics())
    }

    /// What was said when the group gave our name to another member, if it did.
    #[must_use]
    pub fn fenced(&self) -> Option<String> {
        let fatal = self.group.line.reach().and_then(|handle| handle.look_for_fatal());
        fatal.filter(|fault| fault.code == Code::FENCED_INSTANCE_ID).map(|fault| fault.code.text())
    }

    /// Gives up what is ours, and ends a client that has failed; waits for that at most until `deadline`. If messages of
    /// it are still held then, it ends by itself with the last of them.
    pub fn give_up(&mut self, deadline: Duration) {
        let lost = self.group.line.reach().is_none_or(|handle| handle.look_for_fatal().is_some());
        self.group.give_up(lost);
        self.scratch.clear();
        self.raw.leave();
        if let Err(error) = self.raw.wait_gone(deadline) {
            tracing::info!(target: "tollgate::kafka", "{error}; it ends when they are given back");
        }
    }

    /// Joins the group anew, with a new client in the place of one that was given up. Epochs go on, so that what the old
    /// one read can be told; committers lead to the new one.
    pub fn rejoin(&mut self, mut settings: ConsumerSettings) -> Result<(), KafkaError> {
        let raw = raw::consumer::Consumer::new(settings.conf()?, settings.client.tokens.take())?;
        self.group.begin_anew(raw.handle()?);
        self.left.retain(|left| left.wait_gone(Duration::ZERO).is_err());
        self.left.push(std::mem::replace(&mut self.raw, raw));
        self.raw.subscribe(&settings.topics)
    }

    /// Leaves the group and ends the client. All its messages must be dropped before, or it can't end: then this
    /// fails at the deadline, and a thread stays behind until they are.
    pub fn close(mut self, deadline: Duration) -> Result<(), KafkaError> {
        self.group.give_up(false);
        self.scratch.clear();
        self.raw.leave();
        self.left.push(self.raw);
        self.left.iter().try_for_each(|left| left.wait_gone(deadline))
    }
}
