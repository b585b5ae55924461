//! The reader: takes batches from the source, within the budget, and numbers them.

use std::sync::Arc;
use std::time::{Duration, Instant};

use crossbeam::channel::{SendTimeoutError, Sender};

use crate::clock::{self, Clock};
use crate::formats::Binding;

use super::batch::{Batch, Partition, Payloads};
use super::budget::{Budget, Lists, Permit};
use super::edition::Editions;
use super::news::Restored;
use super::stop::Stop;
use super::trace::Trace;

/// How long the reader waits for room before it lets the source know.
const STALL_CHECK: Duration = Duration::from_secs(1);

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

    /// Gets the way by which restored state reaches the gate, before the first read.
    fn attach(&mut self, _restored: &Sender<Restored>) {}

    /// Nothing can be passed on since then: does what must not wait for that.
    fn stalled(&mut self, _since: Instant) -> Result<(), SourceError> {
        Ok(())
    }
}

/// Reads until the source ends or a stop is asked for.
pub(super) fn run<S: Source>(
    mut source: S,
    rules: &Editions,
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
        let share = (records as u64, intake.bytes);
        let Some(permit) = acquire(&mut source, budget, share, stop)? else { break };
        let Lists { mut outcomes, mut facts, labels, pointers, body } = budget.lists();
        outcomes.reserve(records);
        facts.reserve(records);
        let batch = Batch {
            number,
            partition: intake.partition,
            epoch: intake.epoch,
            binding: intake.binding,
            rules: rules.current(),
            now: match intake.clock {
                Clock::Wall => Some(clock::wall()),
                Clock::Fixed(now) => Some(now),
                Clock::Record => None,
            },
            read_at,
            since: Instant::now(),
            payloads: intake.payloads,
            payload_bytes: 0,
            key: intake.key,
            outcomes,
            facts,
            labels,
            pointers,
            body,
            told: None,
            judged: None,
            trace: Trace::begin(read_at),
            permit,
        };
        number += 1;
        if !send(&mut source, to_workers, batch, stop)? {
            break;
        }
    }
    Ok(())
}

/// Waits for room; `None` if the run is abandoned.
fn acquire<S: Source>(
    source: &mut S,
    budget: &Arc<Budget>,
    share: (u64, u64),
    stop: &Stop,
) -> Result<Option<Permit>, SourceError> {
    let since = Instant::now();
    loop {
        match budget.acquire(share, STALL_CHECK, stop) {
            None if !stop.is_abandoned() => source.stalled(since)?,
            permit => return Ok(permit),
        }
    }
}

/// Waits until a worker takes the batch; `false` if none will.
fn send<S: Source>(
    source: &mut S,
    to_workers: &Sender<Batch>,
    mut batch: Batch,
    stop: &Stop,
) -> Result<bool, SourceError> {
    let since = Instant::now();
    loop {
        match to_workers.send_timeout(batch, STALL_CHECK) {
            Ok(()) => return Ok(true),
            Err(SendTimeoutError::Timeout(back)) if !stop.is_abandoned() => {
                batch = back;
                source.stalled(since)?;
            }
            Err(_) => return Ok(false),
        }
    }
}
