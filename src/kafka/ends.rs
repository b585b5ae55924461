//! Where bounded reading stops in each partition: fixed once at the start, the same whoever reads.
//!
//! Bookkeeping, and one look at the brokers at the start. An end is an offset that no record before the stop reaches
//! (see `scout.rs`), so a partition is done when its next offset is there; events for the end of a partition are not needed.

use std::collections::HashMap;
use std::time::Duration;

use super::faults::KafkaError;
use super::positions::{Owned, PartitionBatch, TopicIndex};
use super::raw::partitions::PartitionOffset;
use super::scout::Scout;
use super::settings::ConsumerSettings;
use crate::config::Bound;

/// How long the scout may take to close.
const CLOSE_WAIT: Duration = Duration::from_secs(10);

/// The end of every partition of the topics that are read.
#[derive(Debug, Default)]
pub struct Ends {
    topics: Vec<String>,
    until: HashMap<(TopicIndex, i32), i64>,
}

impl Ends {
    /// Finds the ends of all partitions of the settings' topics, for a stop that holds for all of them.
    pub fn find(settings: &ConsumerSettings, stop: Bound) -> Result<Self, KafkaError> {
        let mut scout = Scout::open(settings)?;
        let mut stops = Vec::new();
        for topic in &settings.topics {
            stops.append(&mut scout.resolve(topic, stop)?);
        }
        scout.settle(&mut stops)?;
        scout.close(CLOSE_WAIT)?;
        Ok(Self::new(&settings.topics, &stops))
    }

    /// Ends that are known; topics in the order in which the consumer has them.
    pub(super) fn new(topics: &[String], ends: &[PartitionOffset]) -> Self {
        let key = |at: &PartitionOffset| (topic_index(topics, &at.topic), at.partition);
        Self { topics: topics.to_vec(), until: ends.iter().map(|at| (key(at), at.offset)).collect() }
    }

    /// Takes out of a batch what lies behind the end; says whether its partition is done with it.
    pub fn cut(&self, batch: &mut PartitionBatch) -> bool {
        let Some(until) = self.until.get(&(batch.topic, batch.partition)) else { return false };
        let next = batch.messages.last().map_or(0, |message| message.offset() + 1);
        let within = batch.messages.partition_point(|message| message.offset() < *until);
        for message in batch.messages.drain(within..) {
            batch.bytes -= message.bytes();
        }
        next >= *until
    }

    /// Whether everything before the end of these partitions was read.
    #[must_use]
    pub fn are_reached(&self, owned: &[Owned]) -> bool {
        let reached =
            |at: &Owned| self.until.get(&(at.topic, at.partition)).is_none_or(|end| at.next >= *end);
        owned.iter().all(reached)
    }

    /// The ends of the partitions that are not among these, where there is anything to read: other members of the group
    /// read them, and have reached them when so much is committed.
    #[must_use]
    pub fn of_others(&self, owned: &[Owned]) -> Vec<PartitionOffset> {
        let ours = |key: &(TopicIndex, i32)| owned.iter().any(|at| (at.topic, at.partition) == *key);
        let others = self.until.iter().filter(|(key, until)| **until > 0 && !ours(key));
        others.map(|(key, until)| PartitionOffset::new(self.topic_name(key.0), key.1, *until)).collect()
    }

    /// Every partition with its end.
    pub(super) fn all(&self) -> impl Iterator<Item = ((TopicIndex, i32), i64)> + '_ {
        self.until.iter().map(|(key, until)| (*key, *until))
    }

    fn topic_name(&self, topic: TopicIndex) -> &str {
        self.topics.get(usize::from(topic.0)).map_or("", String::as_str)
    }
}

/// A topic's place in a list.
pub(super) fn topic_index(topics: &[String], name: &str) -> TopicIndex {
    let place = topics.iter().position(|topic| topic == name);
    TopicIndex(place.and_then(|place| u16::try_from(place).ok()).unwrap_or(u16::MAX))
}
