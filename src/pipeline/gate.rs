//! The gate: the one thread that decides in order.
//!
//! It takes batches back in the reader's order, drops those of an older epoch, and counts. The replay window and the
//! ledger stand here, because they must see records in order.

use std::collections::{BTreeMap, HashMap};
use std::time::Instant;

use crossbeam::channel::{Receiver, Sender};

use crate::histograms::{Recorder, Stage};
use crate::judge::Payload;

use super::batch::{Batch, Partition};
use super::tally::{Meters, Tally};

/// Passes batches on in order until the workers have ended.
pub(super) fn run(
    from_workers: &Receiver<Batch>,
    to_writer: &Sender<Batch>,
    mut recorder: Recorder,
    meters: &Meters,
) -> Tally {
    let mut tally = Tally::default();
    let mut epochs = HashMap::new();
    // LIMIT: as many batches as the budget lets be in flight.
    let mut early = BTreeMap::new();
    let mut next = 0;
    for batch in from_workers {
        early.insert(batch.number, batch);
        while let Some(mut batch) = early.remove(&next) {
            next += 1;
            if !is_current(&mut epochs, batch.partition, batch.epoch) {
                continue;
            }
            count(&batch, &mut tally, meters);
            let now = Instant::now();
            recorder.record(Stage::Gate, now - batch.since, batch.payloads.len() as u64);
            batch.since = now;
            recorder.tick(now);
            if to_writer.send(batch).is_err() {
                return tally;
            }
        }
    }
    tally
}

/// Whether no newer epoch of the partition was seen; batches arrive here in the order in which they were read.
fn is_current(epochs: &mut HashMap<Partition, u32>, partition: Partition, epoch: u32) -> bool {
    let newest = epochs.entry(partition).or_insert(epoch);
    *newest = epoch.max(*newest);
    *newest == epoch
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
