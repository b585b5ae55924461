//! Reads batches from the consumer group.

use std::collections::VecDeque;
use std::sync::{Arc, PoisonError};
use std::time::Duration;

use crate::clock::{Clock, Timestamp};
use crate::config::{ClockChoice, Config};
use crate::formats::Binding;
use crate::judge::Rules;
use crate::kafka::{KafkaError, PartitionBatch, RecordTime};

use super::super::batch::{Partition, Payloads};
use super::super::{Intake, Read, Source, SourceError};
use super::SharedConsumer;
use super::progress::Progress;

/// How long a read waits for the first record.
const READ_WAIT: Duration = Duration::from_millis(100);
/// LIMIT: bytes that one read gathers; a batch is cut there.
const READ_BYTES_MAX: usize = 4 << 20;

/// The source.
pub struct KafkaSource {
    consumer: SharedConsumer,
    progress: Arc<Progress>,
    /// Read, and not handed out yet: one entry per partition.
    pending: VecDeque<PartitionBatch>,
    scratch: Vec<PartitionBatch>,
    /// One per topic, in the order of the configuration.
    bindings: Vec<Binding>,
    records_max: usize,
    clock: ClockChoice,
}

impl KafkaSource {
    pub(super) fn new(
        consumer: SharedConsumer,
        progress: Arc<Progress>,
        config: &Config,
        rules: &Rules,
    ) -> Self {
        Self {
            consumer,
            progress,
            pending: VecDeque::new(),
            scratch: Vec::new(),
            bindings: config.kafka.topics.iter().map(|topic| rules.topic_binding(topic)).collect(),
            records_max: config.pipeline.batch_records_max as usize,
            clock: config.rules.clock,
        }
    }

    fn fill(&mut self) -> Result<(), KafkaError> {
        let mut consumer = self.consumer.lock().unwrap_or_else(PoisonError::into_inner);
        let Some(consumer) = consumer.as_mut() else { return Err(KafkaError::Closed) };
        consumer.read(self.records_max, READ_BYTES_MAX, READ_WAIT, &mut self.scratch)?;
        self.pending.extend(self.scratch.drain(..));
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
    fn read(&mut self) -> Result<Read, SourceError> {
        if self.pending.is_empty() {
            self.fill()?;
        }
        let Some(batch) = self.pending.pop_front() else { return Ok(Read::Idle) };
        let now = self.now(&batch);
        let PartitionBatch { topic, partition, epoch, messages, bytes } = batch;
        let Some(flight) = self.progress.take_off((topic, partition), epoch) else { return Ok(Read::Idle) };
        Ok(Read::Intake(Intake {
            partition: Partition(u64::from(topic.0) << 32 | u64::from(partition.cast_unsigned())),
            epoch,
            binding: self.bindings.get(usize::from(topic.0)).copied().unwrap_or(Binding::Auto),
            key: None,
            bytes: bytes as u64,
            payloads: Payloads::Messages { messages, flight },
            clock: now.map_or(Clock::Wall, Clock::Fixed),
        }))
    }
}
