//! The reader: takes batches from the source, within the budget, and numbers them.

use std::sync::Arc;
use std::time::Instant;

use crossbeam::channel::Sender;

use crate::clock::{self, Clock};
use crate::formats::Binding;
use crate::judge::Rules;

use super::batch::{Batch, Partition, Payloads};
use super::budget::Budget;
use super::stop::Stop;

/// A source that failed; what was committed before stays.
#[derive(Debug, thiserror::Error)]
pub enum SourceError {
    /// A file that cannot be read on.
    #[error(transparent)]
    Files(#[from] crate::files::FileError),
    /// The broker refuses, or is gone for good.
    #[error(transparent)]
    Kafka(#[from] crate::kafka::KafkaError),
}

/// Records as they come from a source: of one partition, in order.
pub struct Intake {
    /// Whose records.
    pub partition: Partition,
    /// The partition's epoch.
    pub epoch: u32,
    /// How their format is found.
    pub binding: Binding,
    /// The records.
    pub payloads: Payloads,
    /// The key of records that have none of their own: with files, the file's path.
    pub key: Option<Arc<[u8]>>,
    /// The memory that they hold.
    pub bytes: u64,
    /// Where the time to judge them at comes from.
    pub clock: Clock,
}

/// What a source gives.
pub enum Read {
    /// Records.
    Intake(Intake),
    /// Nothing right now; ask again.
    Idle,
    /// Nothing ever again.
    End,
}

/// Where records come from.
pub trait Source: Send {
    /// The next records; waits a short while if there are none.
    fn read(&mut self) -> Result<Read, SourceError>;
}

/// Reads until the source ends or a stop is asked for.
pub(super) fn run<S: Source>(
    mut source: S,
    rules: &Arc<Rules>,
    budget: &Arc<Budget>,
    stop: &Stop,
    to_workers: &Sender<Batch>,
) -> Result<(), SourceError> {
    let mut number = 0;
    while !stop.is_asked() {
        let intake = match source.read()? {
            Read::Intake(intake) => intake,
            Read::Idle => continue,
            Read::End => break,
        };
        let read_at = Instant::now();
        let records = intake.payloads.len();
        let Some(permit) = budget.acquire(records as u64, intake.bytes, stop) else { break };
        let batch = Batch {
            number,
            partition: intake.partition,
            epoch: intake.epoch,
            binding: intake.binding,
            rules: Arc::clone(rules),
            now: match intake.clock {
                Clock::Wall => Some(clock::wall()),
                Clock::Fixed(now) => Some(now),
                Clock::Record => None,
            },
            read_at,
            since: Instant::now(),
            payloads: intake.payloads,
            key: intake.key,
            outcomes: Vec::with_capacity(records),
            facts: Vec::with_capacity(records),
            pointers: Vec::new(),
            permit,
        };
        number += 1;
        if to_workers.send(batch).is_err() {
            break;
        }
    }
    Ok(())
}
