//! Reads batches from the consumer group, and follows what the writer and the group decide.

use std::collections::VecDeque;
use std::sync::{Arc, PoisonError};
use std::time::{Duration, Instant};

use crossbeam::channel::Sender;

use crate::clock::{Clock, Timestamp};
use crate::config::{ClockChoice, Config};
use crate::formats::Binding;
use crate::judge::Rules;
use crate::kafka::{Consumer, KafkaError, Message, PartitionBatch, RecordTime};

use super::super::batch::Payloads;
use super::super::news::Restored;
use super::super::{Intake, Read, Source, SourceError};
use super::SharedConsumer;
use super::bounded::Bounded;
use super::progress::{Follow, Progress, partition_of};
use super::rebalance::Restorer;
use super::renewal::Renewal;
use super::watchdog::Watchdog;

/// How long a read waits for the first record.
const READ_WAIT: Duration = Duration::from_millis(100);
/// LIMIT: bytes that one read gathers; a batch is cut there.
const READ_BYTES_MAX: usize = 4 << 20;
/// A stall that lasts so long is no short one: partitions are paused, which throws away what was fetched ahead, so that
/// the consumer can go on polling and keeps them. Far below `max.poll.interval.ms`, also where that was set.
const PAUSE_AFTER: Duration = Duration::from_secs(10);
/// The part of a `max.poll.interval.ms` after which partitions are paused at the latest.
const PAUSE_PART: u32 = 3;

/// The source.
pub struct KafkaSource {
    consumer: SharedConsumer,
    progress: Arc<Progress>,
    restorer: Restorer,
    renewal: Renewal,
    watchdog: Watchdog,
    /// Read, and not handed out yet: one entry per partition.
    pending: VecDeque<PartitionBatch>,
    scratch: Vec<PartitionBatch>,
    /// One per topic, in the order of the configuration.
    bindings: Vec<Binding>,
    topics: Vec<String>,
    records_max: usize,
    clock: ClockChoice,
    /// What was followed so far.
    version: u64,
    turn: u32,
    is_paused: bool,
    pause_after: Duration,
    /// Where the run ends, if it does.
    bounded: Option<Bounded>,
    is_over: bool,
}

impl KafkaSource {
    pub(super) fn new(
        consumer: SharedConsumer,
        (restorer, renewal): (Restorer, Renewal),
        config: &Config,
        rules: &Rules,
        bounded: Option<Bounded>,
    ) -> Self {
        Self {
            consumer,
            progress: Arc::clone(&restorer.progress),
            watchdog: Watchdog::default(),
            restorer,
            renewal,
            pending: VecDeque::new(),
            scratch: Vec::new(),
            bindings: config.kafka.topics.iter().map(|topic| rules.topic_binding(topic)).collect(),
            topics: config.kafka.topics.clone(),
            records_max: config.pipeline.batch_records_max as usize,
            clock: config.rules.clock,
            version: 0,
            turn: 0,
            is_paused: false,
            pause_after: pause_after(config),
            bounded,
            is_over: false,
        }
    }

    fn fill(&mut self, wait: Duration) -> Result<(), KafkaError> {
        let shared = Arc::clone(&self.consumer);
        let mut consumer = shared.lock().unwrap_or_else(PoisonError::into_inner);
        let Some(consumer) = consumer.as_mut() else { return Err(KafkaError::Closed) };
        if self.renewal.is_under_way() {
            return self.renewal.go_on(consumer);
        }
        let outcome = self.read_on(consumer, wait);
        if outcome.is_ok() && !self.progress.is_leaving() {
            return Ok(());
        }
        // What was read and not handed out is read again, and would keep the client from its end.
        self.pending.clear();
        self.scratch.clear();
        self.is_paused = false;
        match outcome {
            Ok(()) => self.renewal.leave(consumer),
            Err(error) => self.renewal.begin(consumer, error),
        }
    }

    fn read_on(&mut self, consumer: &mut Consumer, wait: Duration) -> Result<(), KafkaError> {
        if let Some(follow) = self.progress.follow(self.version, self.turn)? {
            self.follow(consumer, follow)?;
        }
        if self.is_paused && !wait.is_zero() {
            let owned: Vec<_> = consumer.owned().iter().map(|at| (at.topic, at.partition)).collect();
            consumer.resume(&owned)?;
            self.is_paused = false;
        }
        if !consumer.has_spare() {
            consumer.reuse(self.progress.spare());
        }
        consumer.read(self.records_max, READ_BYTES_MAX, wait, &mut self.scratch)?;
        if let Some(bounded) = &mut self.bounded {
            bounded.cut(&mut self.scratch);
            self.is_over = self.scratch.is_empty() && bounded.is_over(consumer)?;
        }
        self.pending.extend(self.scratch.drain(..));
        self.watchdog.look(&self.progress);
        Ok(())
    }

    /// Rewinds after an abort, and reads partitions whose state is there.
    fn follow(&mut self, consumer: &mut Consumer, follow: Follow) -> Result<(), KafkaError> {
        self.version = follow.version;
        if follow.turn != self.turn {
            self.turn = follow.turn;
            self.pending.clear();
            for ((topic, partition), offset) in &follow.committed {
                match consumer.seek(*topic, *partition, *offset) {
                    // Given away meanwhile.
                    Err(KafkaError::NotAssigned { .. }) => {}
                    outcome => outcome?,
                }
            }
        }
        if !follow.outdated.is_empty() {
            let mut again = Vec::new();
            for (key, at) in follow.outdated {
                if let Some(owned) = consumer.hold(key.0, key.1) {
                    again.push((key, owned.epoch, at));
                }
            }
            self.restorer.start(again);
        }
        for (topic, partition) in follow.restored {
            consumer.release(topic, partition)?;
        }
        Ok(())
    }

    /// The broker's append time where the topic stamps it, or the record's time if the configuration wants it.
    fn now(&self, batch: &PartitionBatch) -> Option<Timestamp> {
        let millis = match (batch.messages.last()?.time(), self.clock) {
            (RecordTime::Append(millis), ClockChoice::Auto | ClockChoice::Record)
            | (RecordTime::Create(millis), ClockChoice::Record) => Some(millis),
            _ => None,
        };
        millis.map(Timestamp::from_millis)
    }
}

impl Source for KafkaSource {
    fn attach(&mut self, restored: &Sender<Restored>) {
        self.restorer.attach(restored);
    }

    fn read(&mut self) -> Result<Read, SourceError> {
        if self.pending.is_empty() {
            self.fill(READ_WAIT)?;
        }
        let Some(batch) = self.pending.pop_front() else {
            return Ok(if self.is_over { Read::End } else { Read::Idle });
        };
        let now = self.now(&batch);
        let PartitionBatch { topic, partition, epoch, messages, bytes } = batch;
        let offsets = messages.iter().map(Message::offset);
        let Some(mut flight) = self.progress.take_off((topic, partition), (epoch, self.turn), offsets) else {
            return Ok(Read::Idle);
        };
        flight.measure(&messages);
        if let (Some(last), Some(name)) = (messages.last(), self.topics.get(usize::from(topic.0))) {
            self.progress.status.read(name, partition, last.offset() + 1, last.time().millis());
        }
        Ok(Read::Intake(Intake {
            partition: partition_of((topic, partition)),
            epoch,
            binding: self.bindings.get(usize::from(topic.0)).copied().unwrap_or(Binding::Auto),
            key: None,
            bytes: bytes as u64,
            payloads: Payloads::Messages { messages, flight },
            clock: now.map_or(Clock::Wall, Clock::Fixed),
        }))
    }

    fn stalled(&mut self, since: Instant) -> Result<(), SourceError> {
        if since.elapsed() < self.pause_after {
            return Ok(());
        }
        if !self.is_paused {
            tracing::warn!("the outputs take nothing for {} s; reading is paused", since.elapsed().as_secs());
        }
        // Also what was assigned meanwhile, or records would pile up here.
        if !self.renewal.is_under_way() && (!self.is_paused || !self.pending.is_empty()) {
            let shared = Arc::clone(&self.consumer);
            let mut consumer = shared.lock().unwrap_or_else(PoisonError::into_inner);
            let Some(consumer) = consumer.as_mut() else { return Err(KafkaError::Closed.into()) };
            let owned: Vec<_> = consumer.owned().iter().map(|at| (at.topic, at.partition)).collect();
            consumer.pause(&owned)?;
            self.is_paused = true;
        }
        Ok(self.fill(Duration::ZERO)?)
    }
}

/// When a stall is a long one.
fn pause_after(config: &Config) -> Duration {
    let interval_ms = config.librdkafka.get("max.poll.interval.ms").and_then(|ms| ms.parse().ok());
    interval_ms.map_or(PAUSE_AFTER, |ms| PAUSE_AFTER.min(Duration::from_millis(ms) / PAUSE_PART))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_long_stall_is_shorter_than_what_the_group_allows() {
        let mut config = Config::default();
        assert_eq!(pause_after(&config), PAUSE_AFTER);
        for (ms, expected) in [("6000", Duration::from_secs(2)), ("300000", PAUSE_AFTER)] {
            config.librdkafka.insert("max.poll.interval.ms".into(), ms.into());
            assert_eq!(pause_after(&config), expected);
        }
    }
}
