//! Reads ranges of topics: all partitions at once, once, and without any trace in a consumer group.
//!
//! The ends are fixed when the reader is opened; what is written later is not read. Nothing is committed, and no
//! partition is taken from a member of the group, whose name is only used for the bound `stored`.

use std::collections::HashMap;
use std::time::Duration;

use super::consumer::Consumer;
use super::ends::Ends;
use super::faults::KafkaError;
use super::positions::{PartitionBatch, TopicIndex};
use super::range::Range;
use super::raw::partitions::PartitionOffset;
use super::scout::Scout;
use super::settings::ConsumerSettings;
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
        let ends = Ends::new(&topics, &ends);
        settings.topics.clone_from(&topics);
        let consumer = (!starts.is_empty()).then(|| Consumer::assign(settings, &starts)).transpose()?;
        let left = ends.all().collect();
        Ok(Self { consumer, ends, topics, stretches, left })
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

    /// Waits at most `wait` for a first record, then appends what is there to `into`, within the limits, as batches of
    /// one partition each; says whether there is more. Batches of different partitions come in no certain order.
    pub fn read(
        &mut self,
        records_max: usize,
        bytes_max: usize,
        wait: Duration,
        into: &mut Vec<PartitionBatch>,
    ) -> Result<bool, KafkaError> {
        let Some(consumer) = self.consumer.as_mut().filter(|_| !self.left.is_empty()) else {
            return Ok(false);
        };
        let before = into.len();
        consumer.read(records_max, bytes_max, wait, into)?;
        let mut done = Vec::new();
        for batch in into.iter_mut().skip(before) {
            let key = (batch.topic, batch.partition);
            if self.ends.cut(batch) && self.left.remove(&key).is_some() {
                done.push(key);
            }
        }
        into.retain(|batch| !batch.messages.is_empty());
        // Otherwise records behind the end would be fetched until the other partitions are done.
        consumer.pause(&done)?;
        Ok(!self.left.is_empty())
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
