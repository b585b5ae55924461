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
