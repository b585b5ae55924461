//! What an output topic takes: record size, time, key, partitions. Read once at the start, checked for every record.
//!
//! A record that a topic refuses fails its whole batch, and with it the transaction; so it is better not to send it.
//! The check is arithmetic on what is at hand and allocates nothing. It can't know everything (a broker's clock,
//! compression), so a refusal by the broker must still be dealt with.

use std::time::Duration;

use super::faults::{Code, Fault, KafkaError};
use super::raw::answers::{Settings, TopicDescription};
use super::raw::handle::Handle;

/// Bytes of a batch around its records, of a record around its parts, and of a header around its own, at most.
const BATCH_BYTES: u64 = 61;
const RECORD_BYTES_MAX: u64 = 1 + 5 + 10 + 5 + 5 + 5 + 5;
const HEADER_BYTES_MAX: u64 = 10;

/// The limits of one output topic.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TopicLimits {
    /// The topic.
    pub topic: String,
    /// How many partitions it has.
    pub partitions: i32,
    /// Most bytes of a batch, and so of a record with all that belongs to it.
    pub batch_bytes_max: u64,
    /// Which times it takes; `None` where the broker sets them itself.
    pub times: Option<Times>,
    /// Whether every record needs a key, since it is compacted.
    pub needs_key: bool,
    /// Copies that must have a record before it counts as written.
    pub in_sync_min: u32,
    /// Copies that there are, in the partition with the fewest.
    pub replicas: usize,
    /// Copies in step now, in the partition with the fewest.
    pub in_sync: usize,
}

/// How far a record's time may be from the broker's.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Times {
    /// Milliseconds into the past.
    pub before_max_ms: i64,
    /// Milliseconds into the future.
    pub after_max_ms: i64,
}

/// What counts of a record.
#[derive(Clone, Copy, Debug, Default)]
pub struct Measure {
    /// Bytes of its payload.
    pub payload_bytes: usize,
    /// Bytes of its key, if it has one.
    pub key_bytes: Option<usize>,
    /// How many headers it has, with those that are added.
    pub headers: usize,
    /// Bytes of their names and values.
    pub header_bytes: usize,
    /// Its time, if it has one.
    pub time_ms: Option<i64>,
}

/// Why a topic does not take a record.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Refusal {
    /// It is too large.
    Size,
    /// Its time is too far in the past or in the future.
    Time,
    /// It has no key.
    NoKey,
}

impl Refusal {
    /// For people; a clause.
    #[must_use]
    pub const fn text(self) -> &'static str {
        match self {
            Self::Size => "the record is larger than the topic's `max.message.bytes`",
            Self::Time => "the record's time is outside of the topic's `message.timestamp.*.max.ms`",
            Self::NoKey => "the topic is compacted and the record has no key",
        }
    }
}

impl TopicLimits {
    /// Asks the brokers for the limits of these topics, in their order.
    pub(super) fn look_up(handle: &Handle, topics: &[&str], wait: Duration) -> Result<Vec<Self>, KafkaError> {
        let described = handle.describe_topics(topics, wait)?;
        let settings = handle.topic_settings(topics, wait)?;
        let each = topics.iter().zip(described).zip(settings);
        each.map(|((topic, described), settings)| {
            let described = described.map_err(|fault| missing(topic, fault))?;
            Ok(Self::new(&described, &settings?))
        })
        .collect()
    }

    pub(super) fn new(topic: &TopicDescription, settings: &Settings) -> Self {
        let text = |key: &str| settings.get(key).map(String::as_str);
        let number = |key: &str| text(key).and_then(|value| value.parse::<i64>().ok());
        let times = Times {
            before_max_ms: number("message.timestamp.before.max.ms").unwrap_or(i64::MAX),
            after_max_ms: number("message.timestamp.after.max.ms").unwrap_or(i64::MAX),
        };
        let policy = text("cleanup.policy").unwrap_or_default();
        Self {
            topic: topic.name.clone(),
            partitions: i32::try_from(topic.partitions).unwrap_or(i32::MAX),
            batch_bytes_max: number("max.message.bytes").map_or(u64::MAX, i64::unsigned_abs),
            times: (text("message.timestamp.type") != Some("LogAppendTime")).then_some(times),
            needs_key: policy.split(',').any(|policy| policy.trim() == "compact"),
            in_sync_min: number("min.insync.replicas").map_or(1, |copies| copies.unsigned_abs() as u32),
            replicas: topic.replicas,
            in_sync: topic.in_sync,
        }
    }

    /// Why this topic would not take the record; `None` where nothing speaks against it. `now_ms` is wall-clock time.
    #[must_use]
    pub fn refusal(&self, record: &Measure, now_ms: i64) -> Option<Refusal> {
        if self.needs_key && record.key_bytes.is_none() {
            return Some(Refusal::NoKey);
        }
        let parts = record.payload_bytes as u64
            + record.key_bytes.unwrap_or(0) as u64
            + record.header_bytes as u64
            + record.headers as u64 * HEADER_BYTES_MAX;
        if BATCH_BYTES + RECORD_BYTES_MAX + parts > self.batch_bytes_max {
            return Some(Refusal::Size);
        }
        let (Some(times), Some(time_ms)) = (self.times, record.time_ms) else { return None };
        let age_ms = now_ms.saturating_sub(time_ms);
        (age_ms > times.before_max_ms || age_ms.saturating_neg() > times.after_max_ms)
            .then_some(Refusal::Time)
    }
}

/// The largest batch that all these topics take: what `batch.size` of a producer may be. librdkafka fills batches up to
/// it and never splits one that is refused.
#[must_use]
pub fn batch_bytes_max(topics: &[TopicLimits]) -> u64 {
    topics.iter().map(|topic| topic.batch_bytes_max).min().unwrap_or(u64::MAX)
}

fn missing(topic: &str, fault: Fault) -> KafkaError {
    if fault.code == Code::UNKNOWN_TOPIC {
        return KafkaError::NoTopic { topic: topic.to_owned() };
    }
    fault.at(topic, None, None).into()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn limits(settings: &[(&str, &str)]) -> TopicLimits {
        let topic =
            TopicDescription { name: "out".into(), partitions: 3, replicas: 1, in_sync: 1, rights: None };
        let settings = settings.iter().map(|(key, value)| ((*key).to_owned(), (*value).to_owned())).collect();
        TopicLimits::new(&topic, &settings)
    }

    #[test]
    fn size_time_and_key_are_checked() {
        let now = 1_700_000_000_000;
        let record = Measure { payload_bytes: 900, time_ms: Some(now), ..Measure::default() };
        let small = limits(&[("max.message.bytes", "1000")]);
        assert_eq!(small.refusal(&record, now), None);
        assert_eq!(small.refusal(&Measure { payload_bytes: 960, ..record }, now), Some(Refusal::Size));
        let noted = Measure { headers: 1, header_bytes: 80, ..record };
        assert_eq!(small.refusal(&noted, now), Some(Refusal::Size), "the reject's header counts");
        let compact = limits(&[("cleanup.policy", "delete,compact")]);
        assert_eq!(compact.refusal(&record, now), Some(Refusal::NoKey));
        assert_eq!(compact.refusal(&Measure { key_bytes: Some(0), ..record }, now), None);
        let bounds = [("message.timestamp.before.max.ms", "1000"), ("message.timestamp.after.max.ms", "500")];
        let timed = limits(&bounds);
        for (time_ms, refusal) in [
            (Some(now - 1000), None),
            (Some(now - 1001), Some(Refusal::Time)),
            (Some(now + 500), None),
            (Some(now + 501), Some(Refusal::Time)),
            (None, None),
        ] {
            assert_eq!(timed.refusal(&Measure { time_ms, ..record }, now), refusal);
        }
        let stamped = limits(&[bounds[0], ("message.timestamp.type", "LogAppendTime")]);
        assert_eq!(stamped.refusal(&Measure { time_ms: Some(0), ..record }, now), None);
        assert_eq!(batch_bytes_max(&[small, compact]), 1000);
        assert_eq!(limits(&[("min.insync.replicas", "2")]).in_sync_min, 2);
    }
}
