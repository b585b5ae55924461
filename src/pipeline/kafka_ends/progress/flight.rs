//! One batch in flight, from the reader to the writer: counted while it lasts, and what is known about all its records.
//!
//! It decides nothing about records; it only knows what the output topics would not take.

use std::sync::Arc;

use crate::kafka::Message;

use super::super::limits::Extent;
use super::{Key, Progress};

/// One batch in flight; it has landed when this is dropped.
pub struct Flight {
    progress: Arc<Progress>,
    key: Key,
    epoch: u32,
    turn: u32,
    undeliverable: Vec<u32>,
    /// Known once its records were measured.
    extent: Option<Extent>,
}

impl Flight {
    pub(super) fn new(
        progress: Arc<Progress>,
        key: Key,
        (epoch, turn): (u32, u32),
        undeliverable: Vec<u32>,
    ) -> Self {
        Self { progress, key, epoch, turn, undeliverable, extent: None }
    }

    /// How often everything had to be read again before this batch was read.
    #[must_use]
    pub fn turn(&self) -> u32 {
        self.turn
    }

    /// Measures its records, while they are at hand.
    pub(in super::super) fn measure(&mut self, messages: &[Message]) {
        self.extent = Some(Extent::of(messages));
    }

    /// Whether the output topics take all its records, as far as can be told from their measure.
    #[must_use]
    pub fn takes_all(&self, now_ms: i64) -> bool {
        let takes = |extent: &Extent| self.progress.limits.take_all(self.key.0, extent, now_ms);
        self.extent.as_ref().is_some_and(takes)
    }

    /// Whether the output topic would not take this record.
    #[must_use]
    pub fn refuses(&self, message: &Message, is_accept: bool, now_ms: i64) -> bool {
        self.progress.limits.refuse(self.key.0, message, is_accept, now_ms)
    }

    /// Records that an output topic refuses, by their place in the batch.
    #[must_use]
    pub fn undeliverable(&self) -> &[u32] {
        &self.undeliverable
    }

    pub(in super::super) fn key(&self) -> Key {
        self.key
    }

    pub(in super::super) fn epoch(&self) -> u32 {
        self.epoch
    }
}

impl Drop for Flight {
    fn drop(&mut self) {
        let mut shared = self.progress.lock();
        if let Some(state) = shared.partitions.get_mut(&self.key).filter(|state| state.epoch == self.epoch) {
            state.in_flight = state.in_flight.saturating_sub(1);
        }
        drop(shared);
        self.progress.changed.notify_all();
    }
}
