//! The way a run is asked to stop: orderly at the first word, at once at the second.

use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Instant;

/// Shared by the signal handler, the run's threads and its owner.
#[derive(Debug, Default)]
pub struct Stop {
    asked: OnceLock<Instant>,
    abandoned: AtomicBool,
}

impl Stop {
    /// Asks for an orderly stop: no further reads; what is in flight is finished and committed.
    pub fn ask(&self) {
        let _ = self.asked.set(Instant::now());
    }

    /// When a stop was asked for.
    #[must_use]
    pub fn asked_at(&self) -> Option<Instant> {
        self.asked.get().copied()
    }

    /// Gives up what is in flight: nothing more is committed.
    pub fn abandon(&self) {
        self.ask();
        self.abandoned.store(true, Ordering::Release);
    }

    /// Whether the reader should end.
    #[must_use]
    pub fn is_asked(&self) -> bool {
        self.asked.get().is_some()
    }

    /// Whether in-flight records are given up.
    #[must_use]
    pub fn is_abandoned(&self) -> bool {
        self.abandoned.load(Ordering::Acquire)
    }
}
