//! Traces where the feature `otlp` is off: the same calls, and nothing behind them.

use std::time::Instant;

use super::super::batch::Batch;
use super::super::writer::Receipt;

/// Nothing.
#[derive(Clone, Copy, Debug)]
pub struct Trace;

// What is not there costs nothing.
const _: () = assert!(size_of::<Trace>() == 0 && size_of::<Spans>() == 0);

#[expect(clippy::unused_self, reason = "the same calls as with the feature")]
impl Trace {
    /// A batch that was read.
    #[must_use]
    pub fn begin(_: Instant) -> Self {
        Self
    }

    /// A worker had it from then to then.
    pub(in super::super) fn judged(&mut self, _: Instant, _: Instant) {}
}

/// Nobody.
#[derive(Debug, Default)]
pub struct Spans {}

#[expect(clippy::unused_self, reason = "the same calls as with the feature")]
impl Spans {
    /// The gate has decided about it.
    pub(in super::super) fn note(&self, _: &mut Batch) {}

    /// A batch is committed.
    pub(in super::super) fn tell(&self, _: &Receipt, _: Instant) {}
}
