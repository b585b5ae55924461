//! The gate: the one thread that decides in order.
//!
//! It takes batches back in the reader's order, drops those of an older epoch, asks the replay window and the ledger
//! about every record that holds, and counts. Both must see records in order, so this is one thread; what they remember
//! of a batch is tentative until the writer says that the batch is committed.

use std::collections::{BTreeMap, HashMap};
use std::time::Instant;

use crossbeam::channel::{Receiver, Sender};

use crate::histograms::{Recorder, Stage};
use crate::judge::Payload;
use crate::state::State;
use crate::tape::NodeIndex;
use crate::verdict::Verdict;

use super::PipelineError;
use super::batch::{Batch, Partition};
use super::tally::{Meters, Tally};

/// Passes batches on in order until the workers have ended.
pub(super) fn run(
    from_workers: &Receiver<Batch>,
    to_writer: &Sender<Batch>,
    committed: &Receiver<u64>,
    state: &mut State,
    mut recorder: Recorder,
    meters: &Meters,
) -> Result<Tally, PipelineError> {
    let mut tally = Tally::default();
    let mut epochs = HashMap::new();
    // LIMIT: as many batches as the budget lets be in flight.
    let mut early = BTreeMap::new();
    let mut next = 0;
    for batch in from_workers {
        early.insert(batch.number, batch);
        while let Some(mut batch) = early.remove(&next) {
            next += 1;
            for number in committed.try_iter() {
                state.commit(number);
            }
            match epoch_of(&mut epochs, batch.partition, batch.epoch) {
                Epoch::Older => continue,
                // What the partition had in flight is read again.
                Epoch::Newer => state.undo_partition(batch.partition.0),
                Epoch::Same => {}
            }
            decide(&mut batch, state)?;
            count(&batch, &mut tally, meters);
            let now = Instant::now();
            recorder.record(Stage::Gate, now - batch.since, batch.payloads.len() as u64);
            batch.since = now;
            recorder.tick(now);
            if to_writer.send(batch).is_err() {
                return Ok(tally);
            }
        }
    }
    Ok(tally)
}

/// A batch's epoch, compared with the newest of its partition.
enum Epoch {
    Older,
    Same,
    Newer,
}

/// Batches arrive here in the order in which they were read.
fn epoch_of(epochs: &mut HashMap<Partition, u32>, partition: Partition, epoch: u32) -> Epoch {
    let newest = epochs.entry(partition).or_insert(epoch);
    let known = std::mem::replace(newest, epoch.max(*newest));
    match epoch.cmp(&known) {
        std::cmp::Ordering::Less => Epoch::Older,
        std::cmp::Ordering::Equal => Epoch::Same,
        std::cmp::Ordering::Greater => Epoch::Newer,
    }
}

/// Asks what was seen before about every record that holds: window, then ledger.
fn decide(batch: &mut Batch, state: &mut State) -> Result<(), PipelineError> {
    state.begin(batch.number, batch.partition.0);
    let mut facts = batch.facts.iter();
    for outcome in batch.outcomes.iter_mut().filter(|outcome| outcome.verdict.is_accept()) {
        let Some(facts) = facts.next() else { break };
        let ruling = state.decide(facts).map_err(|_| PipelineError::WindowFull)?;
        let verdict = &mut outcome.verdict;
        *verdict = match ruling.reason {
            Some(reason) => Verdict::reject(reason, verdict.format, NodeIndex(0)),
            None => Verdict { ignored: ruling.ignored, warned: ruling.warned, ..*verdict },
        };
    }
    Ok(())
}

fn count(batch: &Batch, tally: &mut Tally, meters: &Meters) {
    let (bytes, rejected) = (tally.bytes, tally.rejected());
    for (index, outcome) in batch.outcomes.iter().enumerate() {
        let bytes = match batch.payloads.payload(index) {
            Payload::Bytes(bytes) => bytes.len(),
            Payload::Tombstone | Payload::Oversized => 0,
        };
        tally.count(outcome.verdict, bytes);
    }
    meters.add(batch.outcomes.len() as u64, tally.bytes - bytes, tally.rejected() - rejected);
}
