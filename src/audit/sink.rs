//! Where an audit's batches end: in the tallies, and in files if the user wants the split.

use std::hash::{BuildHasher as _, RandomState};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use super::tally::Tallies;
use crate::pipeline::batch::Batch;
use crate::pipeline::file_ends::FileSink;
use crate::pipeline::stop::Stop;
use crate::pipeline::{Receipt, Sink, SinkError};

/// The tallies, shared with whoever reports in the end; the lock is taken once per batch.
pub type SharedTallies = Arc<Mutex<Tallies>>;

/// The sink.
pub struct AuditSink {
    tallies: SharedTallies,
    split: Option<FileSink>,
}

impl AuditSink {
    /// Counts into the tallies, and writes the split if there is one.
    #[must_use]
    pub fn new(tallies: SharedTallies, split: Option<FileSink>) -> Self {
        Self { tallies, split }
    }
}

impl Sink for AuditSink {
    /// Random, so that nobody can aim at a key.
    fn label_seed(&self) -> Option<u64> {
        Some(RandomState::new().hash_one(0_u64))
    }

    fn write(&mut self, batch: Batch, stop: &Stop, receipts: &mut Vec<Receipt>) -> Result<(), SinkError> {
        self.tallies.lock().unwrap_or_else(PoisonError::into_inner).add(&batch);
        if let Some(split) = &mut self.split {
            return split.write(batch, stop, receipts);
        }
        receipts.push(Receipt::of(&batch));
        batch.end();
        Ok(())
    }

    fn tend(&mut self, stop: &Stop, receipts: &mut Vec<Receipt>) -> Result<(), SinkError> {
        self.split.as_mut().map_or(Ok(()), |split| split.tend(stop, receipts))
    }

    fn tend_every(&self) -> Duration {
        self.split.as_ref().map_or(Duration::from_secs(1), FileSink::tend_every)
    }

    fn finish(&mut self, stop: &Stop, receipts: &mut Vec<Receipt>) -> Result<(), SinkError> {
        self.tallies.lock().unwrap_or_else(PoisonError::into_inner).end();
        self.split.as_mut().map_or(Ok(()), |split| split.finish(stop, receipts))
    }
}
