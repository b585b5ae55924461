//! Copies of a few records for whoever watches: rejects at a bounded rate, and any verdict while somebody taps.
//!
//! The gate looks once per batch whether more are wanted. What is copied goes into a bounded channel; when that is
//! full, copies are dropped, never records. Nobody is waited for.

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::{Duration, Instant};

use crossbeam::channel::{Receiver, Sender, bounded};

use crate::clock::Timestamp;
use crate::formats::Binding;
use crate::judge::Payload;
use crate::verdict::Verdict;

use super::batch::{Batch, Partition};
use super::edition::Edition;

/// LIMIT: samples that wait for the watcher.
const WAITING_MAX: usize = 1024;
/// LIMIT: bytes of a payload that is copied; larger ones are told without it.
const PAYLOAD_BYTES_MAX: usize = 64 * 1024;
/// How often the allowance is filled up.
const REFILL: Duration = Duration::from_millis(100);

/// A record's verdict, with what it takes to explain it.
pub struct Sample {
    /// What it was judged by.
    pub rules: Arc<Edition>,
    /// How its format was found.
    pub binding: Binding,
    /// Its partition, as the source numbers it.
    pub partition: Partition,
    /// Its offset, or its line in a file.
    pub place: u64,
    /// Its key.
    pub key: Option<Vec<u8>>,
    /// The time that it was judged at.
    pub now: Option<Timestamp>,
    /// The verdict.
    pub verdict: Verdict,
    /// Where it failed.
    pub pointer: String,
    /// The payload of a reject; `None` where it is too long, absent, or not needed.
    pub payload: Option<Vec<u8>>,
}

/// The gate's end.
#[derive(Debug)]
pub struct Sampler {
    to: Sender<Sample>,
    rejects_per_s: u32,
    /// How many verdicts a second are wanted by those who tap; 0 while nobody does.
    tapped_per_s: Arc<AtomicU32>,
}

/// What may be copied at this moment; the gate's own.
#[derive(Debug)]
pub(super) struct Allowance {
    rejects: u32,
    tapped: u32,
    refill_at: Instant,
}

impl Sampler {
    /// A sampler, and where its samples come out.
    #[must_use]
    pub fn new(rejects_per_s: u32, tapped_per_s: Arc<AtomicU32>) -> (Self, Receiver<Sample>) {
        let (to, from) = bounded(WAITING_MAX);
        (Self { to, rejects_per_s, tapped_per_s }, from)
    }

    /// Copies some of a batch's records.
    pub(super) fn take(&self, batch: &Batch, allowance: &mut Allowance, now: Instant) {
        if now >= allowance.refill_at {
            let share = |per_s: u32| per_s.div_ceil((1000 / REFILL.as_millis()) as u32);
            allowance.refill_at = now + REFILL;
            allowance.rejects = share(self.rejects_per_s);
            allowance.tapped = share(self.tapped_per_s.load(Ordering::Relaxed));
        }
        if allowance.rejects == 0 && allowance.tapped == 0 {
            return;
        }
        // Accepted ones evenly over the batch, so that no position is favoured.
        let step = batch.outcomes.len().div_ceil(allowance.tapped.max(1) as usize).max(1);
        for (index, outcome) in batch.outcomes.iter().enumerate() {
            let is_reject = !outcome.verdict.is_accept();
            if is_reject && allowance.rejects > 0 {
                self.send(batch, index, true);
                allowance.rejects -= 1;
            } else if !is_reject && allowance.tapped > 0 && index % step == batch.number as usize % step {
                self.send(batch, index, false);
                allowance.tapped -= 1;
            }
        }
    }

    fn send(&self, batch: &Batch, index: usize, with_payload: bool) {
        let Some(outcome) = batch.outcomes.get(index) else { return };
        let payload = match batch.payloads.payload(index) {
            Payload::Bytes(bytes) if with_payload && bytes.len() <= PAYLOAD_BYTES_MAX => Some(bytes.to_vec()),
            _ => None,
        };
        // A watcher that does not keep up misses some.
        let _ = self.to.try_send(Sample {
            rules: Arc::clone(&batch.rules),
            binding: batch.binding,
            partition: batch.partition,
            place: batch.payloads.place(index),
            key: batch.payloads.key(index).or(batch.key.as_deref()).map(<[u8]>::to_vec),
            now: batch.now,
            verdict: outcome.verdict,
            pointer: String::from_utf8_lossy(batch.pointer(*outcome)).into_owned(),
            payload,
        });
    }
}

impl Default for Allowance {
    fn default() -> Self {
        Self { rejects: 0, tapped: 0, refill_at: Instant::now() }
    }
}
