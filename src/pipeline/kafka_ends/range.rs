//! Reads ranges of topics: every record once, no group, nothing committed.
//!
//! The reader outlives the source, since it cannot end while one of its messages is held: [`RangeConnection`] closes it
//! when the run has ended.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use crate::clock::{Clock, Timestamp};
use crate::config::Config;
use crate::formats::Binding;
use crate::judge::Rules;
use crate::kafka::{ConsumerSettings, KafkaError, PartitionBatch, Range, RangeReader, Stretch};

use super::super::batch::{Partition, Payloads};
use super::super::{Intake, Read, Source, SourceError};

/// How long a read waits for the first record.
const READ_WAIT: Duration = Duration::from_millis(100);
/// LIMIT: bytes that one read gathers.
const READ_BYTES_MAX: usize = 4 << 20;

type SharedReader = Arc<Mutex<Option<RangeReader>>>;

/// The source.
pub struct RangeSource {
    reader: SharedReader,
    pending: VecDeque<PartitionBatch>,
    scratch: Vec<PartitionBatch>,
    /// One per range.
    bindings: Vec<Binding>,
    records_max: usize,
    clock: Clock,
    has_more: bool,
}

/// The connection to the brokers; closed when everything else has ended.
pub struct RangeConnection {
    reader: SharedReader,
    stretches: Vec<Stretch>,
}

impl RangeConnection {
    /// What is read of each partition.
    #[must_use]
    pub fn stretches(&self) -> &[Stretch] {
        &self.stretches
    }

    /// Ends the client; every message must have been released.
    pub fn close(self) -> Result<(), KafkaError> {
        let reader = self.reader.lock().unwrap_or_else(PoisonError::into_inner).take();
        reader.map_or(Ok(()), RangeReader::close)
    }
}

impl RangeSource {
    /// Finds the ends of the ranges and starts to fetch; `now` fixes the clock, else each record has its own time.
    pub fn open(
        config: &Config,
        rules: &Rules,
        ranges: &[Range],
        now: Option<Timestamp>,
    ) -> Result<(Self, RangeConnection), anyhow::Error> {
        let reader = RangeReader::open(ConsumerSettings::from_config(config)?, ranges)?;
        let stretches = reader.stretches().to_vec();
        let reader = Arc::new(Mutex::new(Some(reader)));
        let source = Self {
            reader: Arc::clone(&reader),
            pending: VecDeque::new(),
            scratch: Vec::new(),
            bindings: ranges.iter().map(|range| rules.topic_binding(&range.topic)).collect(),
            records_max: config.pipeline.batch_records_max as usize,
            clock: now.map_or(Clock::Record, Clock::Fixed),
            has_more: true,
        };
        Ok((source, RangeConnection { reader, stretches }))
    }

    fn fill(&mut self) -> Result<(), KafkaError> {
        let mut reader = self.reader.lock().unwrap_or_else(PoisonError::into_inner);
        let Some(reader) = reader.as_mut() else { return Err(KafkaError::Closed) };
        self.has_more = reader.read(self.records_max, READ_BYTES_MAX, READ_WAIT, &mut self.scratch)?;
        self.pending.extend(self.scratch.drain(..));
        Ok(())
    }
}

impl Source for RangeSource {
    fn read(&mut self) -> Result<Read, SourceError> {
        if self.pending.is_empty() && self.has_more {
            self.fill()?;
        }
        let Some(batch) = self.pending.pop_front() else {
            return Ok(if self.has_more { Read::Idle } else { Read::End });
        };
        let PartitionBatch { topic, partition, messages, bytes, .. } = batch;
        Ok(Read::Intake(Intake {
            partition: Partition(u64::from(topic.0) << 32 | u64::from(partition.cast_unsigned())),
            epoch: 0,
            binding: self.bindings.get(usize::from(topic.0)).copied().unwrap_or(Binding::Auto),
            key: None,
            bytes: bytes as u64,
            payloads: Payloads::Range(messages),
            clock: self.clock,
        }))
    }
}
