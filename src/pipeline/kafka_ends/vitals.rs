//! Counters that tell how a filter on Kafka fares, for whoever watches.

use std::sync::atomic::{AtomicU64, Ordering};

/// All of one run; written by reader and writer, read by anybody.
#[derive(Debug, Default)]
pub struct Vitals {
    /// Times that what was not committed had to be read again.
    pub aborts: AtomicU64,
    /// Producers that took the place of a broken one.
    pub rebuilds: AtomicU64,
    /// Consumers that took the place of one that failed or left.
    pub rejoins: AtomicU64,
    /// Restores of state from the journal.
    pub restores: AtomicU64,
    /// What the last one took, in milliseconds.
    pub restore_ms: AtomicU64,
    /// Records that an output topic refused.
    pub undeliverable: AtomicU64,
    /// Partitions that make no progress while their lag grows, at this moment.
    pub stuck_partitions: AtomicU64,
}

impl Vitals {
    pub(super) fn count(counter: &AtomicU64) {
        counter.fetch_add(1, Ordering::Relaxed);
    }
}
