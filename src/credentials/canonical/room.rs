//! The bytes that are written, and room behind them.
//!
//! PERF: the room is there before it is asked for and is never given back, so nothing fills it with zeros for every form,
//! and a copy can take a fixed number of bytes, of which the next one overwrites what was too many. This file must not know
//! what is written.

use std::ops::Deref;

/// So many bytes are copied at once; most members have no more.
pub(super) const CHUNK_BYTES: usize = 64;

/// What was written so far.
#[derive(Debug, Default)]
pub(in crate::credentials) struct Room {
    /// All room.
    bytes: Vec<u8>,
    /// How much of it is written.
    len: usize,
}

impl Deref for Room {
    type Target = [u8];

    #[inline]
    fn deref(&self) -> &[u8] {
        self.bytes.get(..self.len).unwrap_or_default()
    }
}

impl Room {
    /// Forgets what was written.
    #[inline]
    pub(in crate::credentials) fn clear(&mut self) {
        self.len = 0;
    }

    /// Makes room up to a place.
    #[inline]
    pub(super) fn reach(&mut self, end: usize) {
        if self.bytes.len() < end {
            self.grow(end);
        }
    }

    #[cold]
    fn grow(&mut self, end: usize) {
        self.bytes.resize(end.max(2 * self.bytes.len()), 0);
    }

    /// Says that all up to a place is written; it was reached before.
    #[inline]
    pub(super) fn end_at(&mut self, end: usize) {
        self.len = end;
    }

    /// Writes a byte.
    #[inline]
    pub(in crate::credentials) fn push(&mut self, byte: u8) {
        self.reach(self.len + 1);
        if let Some(place) = self.bytes.get_mut(self.len) {
            *place = byte;
            self.len += 1;
        }
    }

    /// Writes some bytes.
    #[inline]
    pub(in crate::credentials) fn extend_from_slice(&mut self, bytes: &[u8]) {
        self.reach(self.len + bytes.len());
        if self.copy_to(self.len, bytes, bytes.len()) {
            self.len += bytes.len();
        }
    }

    /// Writes the first bytes of some; short ones as a chunk.
    #[inline]
    pub(super) fn extend_from_first(&mut self, bytes: &[u8], len: usize) {
        self.reach(self.len + len + CHUNK_BYTES);
        if self.copy_to(self.len, bytes, len) {
            self.len += len;
        }
    }

    /// Sets the byte at a place; `false` if there is no room.
    #[inline(always)]
    #[expect(clippy::inline_always, reason = "less than a call")]
    pub(super) fn set(&mut self, at: usize, byte: u8) -> bool {
        let place = self.bytes.get_mut(at);
        let has_room = place.is_some();
        if let Some(place) = place {
            *place = byte;
        }
        has_room
    }

    /// Copies the first bytes of some to a place, and more than that many where they are few; `false` if there is no room,
    /// or there are not so many.
    #[inline(always)]
    #[expect(clippy::inline_always, reason = "less than a call")]
    pub(super) fn copy_to(&mut self, to: usize, bytes: &[u8], len: usize) -> bool {
        let room = self.bytes.get_mut(to..).unwrap_or_default();
        match (bytes.first_chunk::<CHUNK_BYTES>(), room.first_chunk_mut()) {
            (Some(chunk), Some(place)) if len <= CHUNK_BYTES => *place = *chunk,
            _ => match (bytes.get(..len), room.get_mut(..len)) {
                (Some(bytes), Some(room)) => room.copy_from_slice(bytes),
                _ => return false,
            },
        }
        true
    }

    /// Copies an array to a place; `false` if there is no room.
    #[inline(always)]
    #[expect(clippy::inline_always, reason = "less than a call")]
    pub(super) fn copy_array_to<const N: usize>(&mut self, to: usize, array: &[u8; N]) -> bool {
        let place = self.bytes.get_mut(to..).and_then(<[u8]>::first_chunk_mut);
        let has_room = place.is_some();
        if let Some(place) = place {
            *place = *array;
        }
        has_room
    }
}
