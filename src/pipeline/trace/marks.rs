//! Traces where the feature `otlp` is on: a few times and counts per batch, and a queue that drops.

use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Instant;

use crossbeam::channel::{Receiver, Sender, bounded};

use crate::judge::Payload;

use super::super::batch::{Batch, Partition};
use super::super::writer::Receipt;

/// LIMIT: spans that wait to be gathered; further ones are dropped and counted.
const WAITING_MAX: usize = 4096;

/// What a batch's span says besides what its receipt does.
#[derive(Clone, Copy, Debug)]
pub struct Trace {
    /// When a worker took it.
    pub judging_at: Instant,
    /// When the worker was done.
    pub judged_at: Instant,
    /// Its partition.
    pub partition: Partition,
    /// Its first record: offset, or line of a file.
    pub first: u64,
    /// Its last record.
    pub last: u64,
    /// Payload bytes.
    pub bytes: u64,
    /// Records that were accepted.
    pub accepted: u64,
    /// The edition of the rules that judged it.
    pub edition: u64,
}

impl Trace {
    /// A batch that was read.
    #[must_use]
    pub fn begin(at: Instant) -> Self {
        Self {
            judging_at: at,
            judged_at: at,
            partition: Partition(0),
            first: 0,
            last: 0,
            bytes: 0,
            accepted: 0,
            edition: 0,
        }
    }

    /// A worker had it from then to then.
    pub(in super::super) fn judged(&mut self, from: Instant, to: Instant) {
        (self.judging_at, self.judged_at) = (from, to);
    }
}

/// A batch that is committed.
#[derive(Clone, Copy, Debug)]
pub struct BatchSpan {
    /// What the sink says of it, and its trace.
    pub receipt: Receipt,
    /// When it was committed.
    pub done_at: Instant,
}

/// The way to whoever gathers spans, if somebody does.
#[derive(Debug, Default)]
pub struct Spans {
    to: Option<Sender<BatchSpan>>,
    dropped: AtomicU64,
}

impl Spans {
    /// Somebody gathers spans.
    #[must_use]
    pub fn gathered() -> (Self, Receiver<BatchSpan>) {
        let (to, spans) = bounded(WAITING_MAX);
        (Self { to: Some(to), dropped: AtomicU64::new(0) }, spans)
    }

    /// How many spans found the queue full.
    #[must_use]
    pub fn dropped(&self) -> u64 {
        self.dropped.load(Ordering::Relaxed)
    }

    /// The gate has decided about it.
    pub(in super::super) fn note(&self, batch: &mut Batch) {
        if self.to.is_none() {
            return;
        }
        let records = batch.payloads.len();
        let bytes = (0..records).map(|index| match batch.payloads.payload(index) {
            Payload::Bytes(bytes) => bytes.len() as u64,
            Payload::Tombstone | Payload::Oversized => 0,
        });
        batch.trace = Trace {
            partition: batch.partition,
            first: batch.payloads.place(0),
            last: batch.payloads.place(records.saturating_sub(1)),
            bytes: bytes.sum(),
            accepted: batch.outcomes.iter().filter(|outcome| outcome.verdict.is_accept()).count() as u64,
            edition: batch.rules.number,
            ..batch.trace
        };
    }

    /// A batch is committed.
    pub(in super::super) fn tell(&self, receipt: &Receipt, done_at: Instant) {
        if let Some(to) = &self.to
            && to.try_send(BatchSpan { receipt: *receipt, done_at }).is_err()
        {
            self.dropped.fetch_add(1, Ordering::Relaxed);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_full_queue_drops_and_never_waits() {
        let (spans, gathered) = Spans::gathered();
        let at = Instant::now();
        let receipt = |batch| Receipt {
            batch,
            records: 1,
            read_at: at,
            gated_at: at,
            written_at: at,
            trace: Trace::begin(at),
        };
        for batch in 0..WAITING_MAX as u64 + 10 {
            spans.tell(&receipt(batch), at);
        }
        assert_eq!((spans.dropped(), gathered.len()), (10, WAITING_MAX));
        assert_eq!(gathered.recv().map(|span| span.receipt.batch), Ok(0), "what waits is kept");
    }
}
