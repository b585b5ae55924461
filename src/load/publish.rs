//! A stream straight into a topic, as fast as the brokers take it.
//!
//! Each record carries its key, its own time, and a header that names run and number, by which whoever reads the
//! filter's outputs can account for it. Which partition a key belongs to follows from its number alone, so a mix can say
//! how much each partition gets, and the records of a conversation stay together.

use std::time::Duration;

use bytes::Bytes;

use super::{Block, Generator};
use crate::clock::Timestamp;
use crate::kafka::{Code, Delivery, KafkaError, Producer, ProducerSettings, Record, TopicHandle};

/// The header that names run and record; a filter must keep it.
pub const HEADER: &str = "tollgate.load";
/// How long brokers may take to answer.
const ANSWER_MAX: Duration = Duration::from_secs(20);
/// How long everything that is queued may take at the end.
const FLUSH_MAX: Duration = Duration::from_mins(5);
/// How long a full queue is waited for at a time.
const FULL_WAIT: Duration = Duration::from_millis(10);

/// A topic that could not be written.
#[derive(Debug, thiserror::Error)]
pub enum PublishError {
    /// Kafka.
    #[error(transparent)]
    Kafka(#[from] KafkaError),
    /// The topic has other partitions than the mix has weights for.
    #[error(
        "mix: `keys.partitions`: found {found} weights, allowed: as many as topic `{topic}` has partitions, {allowed}"
    )]
    Partitions {
        /// The topic.
        topic: String,
        /// Weights of the mix.
        found: usize,
        /// Partitions of the topic.
        allowed: i32,
    },
    /// A record that the topic refuses.
    #[error("topic `{topic}` refuses a record: {cause}")]
    Refused {
        /// The topic.
        topic: String,
        /// Why.
        cause: String,
    },
}

/// The mark of a record in its header.
#[must_use]
pub fn mark(run: u64, number: u64) -> String {
    format!("{run:016x}-{number}")
}

/// The run and the number that a header names.
#[must_use]
pub fn read_mark(value: &[u8]) -> Option<(u64, u64)> {
    let (run, number) = std::str::from_utf8(value).ok()?.split_once('-')?;
    Some((u64::from_str_radix(run, 16).ok()?, number.parse().ok()?))
}

/// The partition that a key belongs to.
#[must_use]
pub fn partition_of(key: u32, partitions: i32) -> i32 {
    (key % partitions.max(1).unsigned_abs()) as i32
}

/// Writes blocks to a topic.
pub struct Publisher {
    producer: Producer,
    name: String,
    topic: TopicHandle,
    partitions: i32,
    run: u64,
    reports: Vec<Delivery>,
}

impl Publisher {
    /// Opens a topic, which must exist. `weights` says how many partitions the mix expects; 0 is any number.
    pub fn open(brokers: &str, topic: &str, run: u64, weights: usize) -> Result<Self, PublishError> {
        let mut producer = Producer::new(ProducerSettings::new(brokers))?;
        let partitions = producer.cluster()?.partition_count(topic, ANSWER_MAX)?;
        if weights > 0 && weights != partitions as usize {
            return Err(PublishError::Partitions {
                topic: topic.to_owned(),
                found: weights,
                allowed: partitions,
            });
        }
        let handle = producer.topic(topic)?;
        Ok(Self { producer, name: topic.to_owned(), topic: handle, partitions, run, reports: Vec::new() })
    }

    /// Queues the records of a block; waits while the queue is full.
    pub fn write(&mut self, block: &mut Block, start: Timestamp) -> Result<(), PublishError> {
        let bytes = Bytes::from(std::mem::take(&mut block.bytes));
        let mut from = 0;
        for (number, (end, made)) in (block.first..).zip(&block.records) {
            let payload = (!made.tombstone).then(|| bytes.slice(from..*end as usize));
            from = *end as usize + 1;
            let (key, mark) = (format!("k{}", made.key), mark(self.run, number));
            let record = Record {
                payload,
                key: Some(key.as_bytes()),
                time_ms: Some(Generator::time_of(start, number) / 1000),
                headers: &[(HEADER, mark.as_bytes())],
            };
            let partition = Some(partition_of(made.key, self.partitions));
            while let Err(fault) = self.producer.produce_bytes(self.topic, partition, &record, 0) {
                if fault.code != Code::QUEUE_FULL {
                    return Err(self.refused(fault.to_string()));
                }
                self.producer.poll(FULL_WAIT, &mut self.reports)?;
                self.check()?;
            }
        }
        self.producer.poll(Duration::ZERO, &mut self.reports)?;
        self.check()
    }

    /// Waits until everything is delivered.
    pub fn finish(mut self) -> Result<(), PublishError> {
        self.producer.flush(FLUSH_MAX, &mut self.reports)?;
        self.check()?;
        Ok(self.producer.close(ANSWER_MAX, &mut self.reports)?)
    }

    fn check(&mut self) -> Result<(), PublishError> {
        let refused = self.reports.iter().find_map(|report| report.outcome.as_ref().err());
        let refused = refused.map(|cause| format!("{cause:?}"));
        self.reports.clear();
        refused.map_or(Ok(()), |cause| Err(self.refused(cause)))
    }

    fn refused(&self, cause: String) -> PublishError {
        PublishError::Refused { topic: self.name.clone(), cause }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_mark_is_read_as_it_was_written() {
        for (run, number) in [(0, 0), (u64::MAX, 7), (0xABCD, u64::MAX)] {
            assert_eq!(read_mark(mark(run, number).as_bytes()), Some((run, number)));
        }
        for wrong in [&b""[..], b"12", b"zz-1", b"1-x", b"\xFF-1"] {
            assert_eq!(read_mark(wrong), None);
        }
    }
}
