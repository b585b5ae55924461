//! Writing: records go out by reference, and every one of them is accounted for by its delivery report.
//!
//! One thread writes. A record that can't be queued comes back to the caller; one that was queued is reported exactly
//! once, with the tag it was given. What to do about a failed report is the caller's decision, never this module's.

use std::time::Duration;

use super::committer::{Cluster, Line};
use super::faults::{Fault, KafkaError};
use super::raw;
use super::raw::in_flight::Delivery;
use super::raw::message::Message;
use super::raw::partitions::PartitionOffset;
use super::raw::producer::{Record, TopicHandle};
use super::raw::transactions::GroupMetadata;
use super::settings::ProducerSettings;

/// A producer.
pub struct Producer {
    raw: raw::producer::Producer,
}

impl Producer {
    /// An idempotent producer, transactional if the settings name an id.
    pub fn new(mut settings: ProducerSettings) -> Result<Self, KafkaError> {
        let tokens = settings.client.tokens.take();
        Ok(Self { raw: raw::producer::Producer::new(settings.conf()?, tokens)? })
    }

    /// The topic with this name; asks no broker.
    pub fn topic(&mut self, name: &str) -> Result<TopicHandle, KafkaError> {
        self.raw.topic(name)
    }

    /// Sends a consumed record on, without copying it: same payload, key, time and headers, plus `extra` as further
    /// headers (`None`, `Some`, a list). Without a partition it goes by its key. If it can't be queued (`Code::QUEUE_FULL`: poll and try again)
    /// the message comes back as it was.
    ///
    /// The message stays alive, and counted as held, until its delivery report.
    pub fn produce<'a>(
        &mut self,
        topic: TopicHandle,
        partition: Option<i32>,
        message: Message,
        extra: impl IntoIterator<Item = (&'a str, &'a [u8])>,
        tag: u64,
    ) -> Result<(), (Fault, Message)> {
        self.raw.produce(topic, partition, message, extra, tag)
    }

    /// Sends a record of our own making; its payload is kept, not copied, until its delivery report.
    pub fn produce_bytes(
        &mut self,
        topic: TopicHandle,
        partition: Option<i32>,
        record: &Record<'_>,
        tag: u64,
    ) -> Result<(), Fault> {
        self.raw.produce_bytes(topic, partition, record, tag)
    }

    /// Waits at most `wait` for something to happen, and appends all delivery reports to `into`.
    ///
    /// Fails once the producer is broken for good; the reports are in `into` all the same.
    pub fn poll(&mut self, wait: Duration, into: &mut Vec<Delivery>) -> Result<(), KafkaError> {
        self.raw.poll(wait, into)?;
        match self.raw.handle()?.fatal() {
            Some(fatal) => Err(fatal.into()),
            None => Ok(()),
        }
    }

    /// Sends everything now and waits for its delivery, at most `wait`; appends the reports to `into`.
    pub fn flush(&mut self, wait: Duration, into: &mut Vec<Delivery>) -> Result<(), KafkaError> {
        let flushed = self.raw.flush(wait);
        self.raw.poll(Duration::ZERO, into)?;
        flushed
    }

    /// Gives up all records that wait, and with `in_flight_too` also those under way, which may have been written.
    /// Each still gets its report, by `poll` or `flush`.
    pub fn purge(&mut self, in_flight_too: bool) -> Result<(), KafkaError> {
        self.raw.purge(in_flight_too)
    }

    /// Records given and not yet reported.
    #[must_use]
    pub fn outstanding(&self) -> usize {
        self.raw.outstanding()
    }

    /// For questions to the cluster, from any thread.
    pub fn cluster(&self) -> Result<Cluster, KafkaError> {
        Ok(Cluster { line: Line::to(self.raw.handle()?) })
    }

    /// librdkafka's newest statistics as JSON, if they are on and new ones came.
    #[must_use]
    pub fn statistics(&self) -> Option<String> {
        self.raw.handle().ok().and_then(|handle| handle.context().take_statistics())
    }

    /// Ends the producer: what was not delivered by now is purged and reported into `into`, and everything held for
    /// it is released. Flush before, to deliver it.
    pub fn close(self, deadline: Duration, into: &mut Vec<Delivery>) -> Result<(), KafkaError> {
        self.raw.close(deadline, into)
    }

    /// Registers the transactional id, fences older producers with it, and waits for their transactions to end.
    pub fn init_transactions(&mut self, wait: Duration) -> Result<(), KafkaError> {
        self.raw.init_transactions(wait)
    }

    /// Begins a transaction.
    pub fn begin_transaction(&mut self) -> Result<(), KafkaError> {
        self.raw.begin_transaction()
    }

    /// Makes these consumer offsets part of the transaction. Refused while we are no member of the group, which the
    /// broker does not check.
    pub fn send_offsets(
        &mut self,
        offsets: &[PartitionOffset],
        group: &GroupMetadata,
        wait: Duration,
    ) -> Result<(), KafkaError> {
        if !group.is_member() {
            let code = super::faults::Code::STATE;
            let text = "this process is no member of the consumer group at this moment".to_owned();
            let fault =
                Fault { text, requires_abort: true, ..Fault::new("send offsets to the transaction", code) };
            return Err(fault.into());
        }
        self.raw.send_offsets(offsets, group, wait)
    }

    /// The same as no member, which the brokers take from any producer: only for offsets that no member reads by.
    pub fn send_offsets_as_stranger(
        &mut self,
        offsets: &[PartitionOffset],
        group: &str,
        wait: Duration,
    ) -> Result<(), KafkaError> {
        self.raw.send_offsets(offsets, &GroupMetadata::of_name(group)?, wait)
    }

    /// Commits the transaction; reports arrive by the next `poll`. After a timeout call it again: the outcome is open,
    /// and aborting is not allowed.
    pub fn commit_transaction(&mut self, wait: Duration) -> Result<(), KafkaError> {
        self.raw.commit_transaction(wait)
    }

    /// Aborts the transaction; what waits is purged, what is under way is waited for.
    pub fn abort_transaction(&mut self, wait: Duration) -> Result<(), KafkaError> {
        self.raw.abort_transaction(wait)
    }
}
