//! What the output topics of each input take, looked up at the start and asked at the gate.
//!
//! A record that its topic would refuse becomes a stub at once, before it can cost a transaction. What cannot be known
//! here (a broker's clock, headers of an unusual size) is found when the broker refuses it.

use std::time::Duration;

use crate::config::Config;
use crate::kafka::{Admin, KafkaError, Measure, Message, TopicIndex, TopicLimits};

/// LIMIT: headers that a reject gets, and their bytes, as they are reckoned here.
const NOTE_HEADERS: usize = 6;
const NOTE_BYTES: usize = 1536;

/// The limits by input topic, in the order of the configuration.
#[derive(Debug, Default)]
pub(super) struct Limits {
    by_topic: Vec<Pair>,
}

#[derive(Debug)]
struct Pair {
    accepted: TopicLimits,
    rejected: TopicLimits,
}

/// What the records of a batch have at most.
#[derive(Clone, Copy, Debug)]
pub(super) struct Extent {
    /// Bytes of key and payload.
    bytes_max: usize,
    /// The earliest and the latest time.
    times: Option<(i64, i64)>,
    have_keys: bool,
}

impl Extent {
    pub(super) fn of(messages: &[Message]) -> Self {
        let mut extent = Self { bytes_max: 0, times: None, have_keys: true };
        for message in messages {
            extent.bytes_max = extent.bytes_max.max(message.bytes());
            extent.have_keys &= message.key().is_some();
            if let Some(time) = message.time().millis() {
                let (first, last) = extent.times.unwrap_or((time, time));
                extent.times = Some((first.min(time), last.max(time)));
            }
        }
        extent
    }
}

impl Limits {
    /// Asks the brokers. Without the right to see a topic's settings there are no limits to check.
    pub(super) fn look_up(admin: &Admin, config: &Config, wait: Duration) -> Self {
        let mut by_topic = Vec::new();
        for input in &config.kafka.topics {
            let (accepted, rejected) =
                (config.kafka.accepted_topic(input), config.kafka.rejected_topic(input));
            let found = match admin.limits(&[&accepted, &rejected], wait) {
                Ok(found) => found,
                // Whoever makes the producer says it.
                Err(KafkaError::NoTopic { .. }) => return Self::default(),
                Err(error) => {
                    tracing::warn!("the limits of the output topics are not known: {error}");
                    return Self::default();
                }
            };
            if let Ok([accepted, rejected]) = <[TopicLimits; 2]>::try_from(found) {
                by_topic.push(Pair { accepted, rejected });
            }
        }
        Self { by_topic }
    }

    /// The largest batch that all outputs take.
    pub(super) fn batch_bytes_max(&self) -> u64 {
        let all = self.by_topic.iter().flat_map(|pair| [&pair.accepted, &pair.rejected]);
        all.map(|topic| topic.batch_bytes_max).min().unwrap_or(u64::MAX)
    }

    /// Whether both topics take all records of a batch, whichever they go to.
    pub(super) fn take_all(&self, topic: TopicIndex, extent: &Extent, now_ms: i64) -> bool {
        let Some(pair) = self.by_topic.get(usize::from(topic.0)) else { return true };
        [&pair.accepted, &pair.rejected].into_iter().all(|limits| {
            let takes = |time_ms| {
                let record = Measure {
                    payload_bytes: extent.bytes_max,
                    key_bytes: extent.have_keys.then_some(0),
                    headers: NOTE_HEADERS,
                    header_bytes: NOTE_BYTES,
                    time_ms,
                };
                limits.refusal(&record, now_ms).is_none()
            };
            let (first, last) = extent.times.unzip();
            // Beyond half of the limit a record's own headers may matter.
            extent.bytes_max as u64 <= limits.batch_bytes_max / 2 && takes(first) && takes(last)
        })
    }

    /// Whether the topic that the record goes to would not take it.
    pub(super) fn refuse(&self, topic: TopicIndex, message: &Message, is_accept: bool, now_ms: i64) -> bool {
        let Some(pair) = self.by_topic.get(usize::from(topic.0)) else { return false };
        let limits = if is_accept { &pair.accepted } else { &pair.rejected };
        let mut record = Measure {
            payload_bytes: message.payload().map_or(0, <[u8]>::len),
            key_bytes: message.key().map(<[u8]>::len),
            headers: if is_accept { 0 } else { NOTE_HEADERS },
            header_bytes: if is_accept { 0 } else { NOTE_BYTES },
            time_ms: limits.times.and_then(|_| message.time().millis()),
        };
        // PERF: headers are parsed on first use, so they are only looked at where they may matter.
        if message.bytes() as u64 > limits.batch_bytes_max / 2 {
            message.headers(|name, value| {
                record.headers += 1;
                record.header_bytes += name.len() + value.map_or(0, <[u8]>::len);
            });
        }
        limits.refusal(&record, now_ms).is_some()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::kafka::Times;

    const NOW: i64 = 1_700_000_000_000;

    fn takes(change: impl FnOnce(&mut TopicLimits), extent: Extent) -> bool {
        let accepted = TopicLimits {
            topic: "out".into(),
            partitions: 1,
            batch_bytes_max: 100_000,
            times: Some(Times { before_max_ms: 1000, after_max_ms: 500 }),
            needs_key: false,
            in_sync_min: 1,
            replicas: 1,
            in_sync: 1,
        };
        let mut rejected = accepted.clone();
        change(&mut rejected);
        let limits = Limits { by_topic: vec![Pair { accepted, rejected }] };
        limits.take_all(TopicIndex(0), &extent, NOW)
    }

    #[test]
    fn a_batch_passes_whole_only_where_no_record_can_be_refused() {
        let fine = Extent { bytes_max: 50_000, times: Some((NOW - 1000, NOW + 500)), have_keys: false };
        assert!(takes(|_| {}, fine));
        assert!(takes(|_| {}, Extent { times: None, ..fine }));
        assert!(!takes(|_| {}, Extent { bytes_max: 50_001, ..fine }), "its own headers may matter");
        assert!(!takes(|_| {}, Extent { times: Some((NOW - 1001, NOW)), ..fine }));
        assert!(!takes(|_| {}, Extent { times: Some((NOW, NOW + 501)), ..fine }));
        let small = |limits: &mut TopicLimits| limits.batch_bytes_max = 1600;
        assert!(!takes(small, Extent { bytes_max: 100, ..fine }), "a reject gains a header");
        let compacted = |limits: &mut TopicLimits| limits.needs_key = true;
        assert!(!takes(compacted, fine));
        assert!(takes(compacted, Extent { have_keys: true, ..fine }));
    }
}
