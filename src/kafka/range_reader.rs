//! Reads ranges of topics: all partitions at once, once, and without any trace in a consumer group.
//!
//! The ends are fixed when the reader is opened; what is written later is not read. The order is fixed as well
//! (`turns.rs`). Nothing is committed, and no partition is taken from a member of the group, whose name is only used for
//! the bound `stored`.

use std::collections::HashMap;
use std::time::Duration;

use super::consumer::Consumer;
use super::ends::{Ends, topic_index};
use super::faults::KafkaError;
use super::positions::{PartitionBatch, TopicIndex};
use super::range::Range;
use super::raw::message::Message;
use super::raw::partitions::PartitionOffset;
use super::scout::Scout;
use super::settings::ConsumerSettings;
use super::turns::{Piece, Turns};
use crate::config::Bound;

/// How long a client may take to close.
const CLOSE_WAIT: Duration = Duration::from_secs(10);

/// What is read of one partition.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Stretch {
    /// The topic.
    pub topic: String,
    /// The partition.
    pub partition: i32,
    /// The first offset.
    pub from: i64,
    /// Behind the last record; `from` where there is nothing to read.
    pub until: i64,
}

/// The reader.
pub struct RangeReader {
    /// `None` where all ranges are empty.
    consumer: Option<Consumer>,
    ends: Ends,
    topics: Vec<String>,
    stretches: Vec<Stretch>,
    /// Partitions that are not done.
    left: HashMap<(TopicIndex, i32), i64>,
    turns: Turns<(TopicIndex, i32), PartitionBatch>,
    /// What has arrived and was not looked at.
    arrived: Vec<PartitionBatch>,
}

impl RangeReader {
    /// Finds both ends of every partition and starts to fetch; `settings.topics` and `settings.start` are not used.
    ///
    /// An offset before the first record, or behind the end, means the first record, or the end.
    pub fn open(mut settings: ConsumerSettings, ranges: &[Range]) -> Result<Self, KafkaError> {
        let mut scout = Scout::open(&settings)?;
        let (mut topics, mut stretches): (Vec<String>, Vec<Stretch>) = (Vec::new(), Vec::new());
        for range in ranges {
            if topics.contains(&range.topic) {
                return Err(KafkaError::TopicTwice { topic: range.topic.clone() });
            }
            topics.push(range.topic.clone());
            stretches.append(&mut scout.stretches(range)?);
        }
        scout.close(CLOSE_WAIT)?;
        let full: Vec<_> = stretches.iter().filter(|stretch| stretch.from < stretch.until).collect();
        let at = |stretch: &&Stretch, offset| PartitionOffset::new(&stretch.topic, stretch.partition, offset);
        let starts: Vec<_> = full.iter().map(|stretch| at(stretch, stretch.from)).collect();
        let ends: Vec<_> = full.iter().map(|stretch| at(stretch, stretch.until)).collect();
        let key_of = |at: &PartitionOffset| (topic_index(&topics, &at.topic), at.partition);
        let turns = Turns::new(starts.iter().map(|at| (key_of(at), at.offset)));
        let ends = Ends::new(&topics, &ends);
        settings.topics.clone_from(&topics);
        let consumer = (!starts.is_empty()).then(|| Consumer::assign(settings, &starts)).transpose()?;
        let left = ends.all().collect();
        Ok(Self { consumer, ends, topics, stretches, left, turns, arrived: Vec::new() })
    }

    /// What is read, partition by partition.
    #[must_use]
    pub fn stretches(&self) -> &[Stretch] {
        &self.stretches
    }

    /// The name of a topic.
    #[must_use]
    pub fn topic_name(&self, topic: TopicIndex) -> &str {
        self.topics.get(usize::from(topic.0)).map_or("", String::as_str)
    }

    /// Appends the next records to `into`, as batches of one partition each, always in the same order; says whether there
    /// are more. Where none have arrived it waits for them, at most `wait`, and takes what is there within the limits.
    pub fn read(
        &mut self,
        records_max: usize,
        bytes_max: usize,
        wait: Duration,
        into: &mut Vec<PartitionBatch>,
    ) -> Result<bool, KafkaError> {
        if !self.left.is_empty() {
            self.fetch(records_max, bytes_max, wait)?;
        }
        while let Some(batch) = self.turns.next() {
            into.push(batch);
        }
        let flow = self.turns.flow();
        if let Some(consumer) = &mut self.consumer {
            consumer.pause(&flow.pause)?;
            consumer.resume(&flow.resume)?;
        }
        Ok(self.turns.has_more())
    }

    fn fetch(&mut self, records_max: usize, bytes_max: usize, wait: Duration) -> Result<(), KafkaError> {
        let Some(consumer) = &mut self.consumer else { return Ok(()) };
        consumer.read(records_max, bytes_max, wait, &mut self.arrived)?;
        let mut done = Vec::new();
        for mut batch in self.arrived.drain(..) {
            let key = (batch.topic, batch.partition);
            let is_last = self.ends.cut(&mut batch);
            if !batch.messages.is_empty() {
                self.turns.push(key, batch);
            }
            if is_last && self.left.remove(&key).is_some() {
                self.turns.finish(key);
                done.push(key);
            }
        }
        // Otherwise records behind the end would be fetched until the other partitions are done.
        consumer.pause(&done)
    }

    /// Messages that were read and not yet dropped.
    #[must_use]
    pub fn held(&self) -> u64 {
        self.consumer.as_ref().map_or(0, Consumer::held)
    }

    /// Ends the client; every message must have been dropped.
    pub fn close(self) -> Result<(), KafkaError> {
        self.consumer.map_or(Ok(()), |consumer| consumer.close(CLOSE_WAIT))
    }
}

impl Piece for PartitionBatch {
    fn ends(&self) -> (i64, i64) {
        let offset = |message: Option<&Message>| message.map_or(0, Message::offset);
        (offset(self.messages.first()), offset(self.messages.last()))
    }

    fn time(&self) -> i64 {
        self.messages.first().and_then(|message| message.time().millis()).unwrap_or(0)
    }

    fn bytes(&self) -> usize {
        self.bytes
    }

    fn take_before(&mut self, offset: i64) -> Self {
        let rest =
            self.messages.split_off(self.messages.partition_point(|message| message.offset() < offset));
        let messages = std::mem::replace(&mut self.messages, rest);
        let bytes = messages.iter().map(Message::bytes).sum();
        self.bytes -= bytes;
        Self { messages, bytes, ..*self }
    }
}

impl Scout {
    /// Both ends of a range in every partition.
    fn stretches(&mut self, range: &Range) -> Result<Vec<Stretch>, KafkaError> {
        let firsts = self.resolve(&range.topic, Bound::Beginning)?;
        let ends = self.resolve(&range.topic, Bound::End)?;
        let starts = self.resolve(&range.topic, range.from)?;
        let mut stops = self.resolve(&range.topic, range.to)?;
        stops.iter_mut().zip(&ends).for_each(|(stop, end)| stop.offset = stop.offset.min(end.offset));
        self.settle(&mut stops)?;
        let mut stretches = Vec::new();
        for (((start, stop), first), end) in starts.into_iter().zip(stops).zip(firsts).zip(ends) {
            let from = start.offset.clamp(first.offset, end.offset.max(first.offset));
            if from > start.offset {
                tracing::warn!(target: "tollgate::kafka", topic = start.topic, partition = start.partition,
                    wanted = start.offset, first = from, "records before the first one are gone");
            }
            let until = stop.offset.max(from);
            stretches.push(Stretch { topic: start.topic, partition: start.partition, from, until });
        }
        Ok(stretches)
    }
}
