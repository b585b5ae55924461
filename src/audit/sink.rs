//! Where an audit's batches end: in the tallies, and in files if the user wants the split.

use std::hash::{BuildHasher as _, RandomState};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use super::tally::Tallies;
use crate::credentials::names::Names;
use crate::pipeline::batch::Batch;
use crate::pipeline::file_ends::FileSink;
use crate::pipeline::stop::Stop;
use crate::pipeline::{Receipt, Sink, SinkError, Wants};

/// The tallies, shared with whoever reports in the end; the lock is taken once per batch.
pub type SharedTallies = Arc<Mutex<Tallies>>;

/// The sink.
pub struct AuditSink {
    tallies: SharedTallies,
    split: Option<FileSink>,
    outlives_run: bool,
}

impl AuditSink {
    /// Counts into the tallies, and writes the split if there is one. `outlives_run`: what is remembered
    /// is compared with what an earlier audit remembered, or by a later one.
    #[must_use]
    pub fn new(tallies: SharedTallies, split: Option<FileSink>, outlives_run: bool) -> Self {
        Self { tallies, split, outlives_run }
    }
}

impl Sink for AuditSink {
    fn wants(&self) -> Wants {
        Wants {
            // Random, so that nobody can aim at a key.
            label_seed: Some(RandomState::new().hash_one(0_u64)),
            names: if self.outlives_run { Names::Lasting } else { Names::of_new_run() },
        }
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
