//! What one batch changed, as the body of a journal record, and the way back.
//!
//! ```text
//! latest time · window's time · { distance of the source offset · entry }
//! ```
//!
//! Each entry has the offset of the record that made it, as its distance from the batch's first, so that a restore can
//! leave out what belongs to records that will come again. Version 1 had no distances: there the whole batch counts or
//! does not. Entries are those of `encoding.rs`.

use super::bytes::Bytes;
use super::encoding::{Told, write};
use super::window::Second;
use super::{State, StateError};
use crate::config::OnFull;

/// The version of the body that has no source offsets.
const WITHOUT_OFFSETS: u8 = 1;

/// Bytes before the entries, and of an entry with its distance, at most.
const HEAD_BYTES: usize = 8;
const ENTRY_BYTES: usize = 64;

/// What a batch changed.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Body {
    /// The bytes; empty if nothing changed.
    pub bytes: Vec<u8>,
    /// When the last of the entries may be forgotten.
    pub expiry_max: Second,
}

impl State {
    /// What an open batch changed so far; `None` if it is not open.
    #[must_use]
    pub fn body_of(&self, batch: u64) -> Option<Body> {
        self.body_into(Vec::new(), batch)
    }

    /// The same, in a list that is empty and may have room.
    #[must_use]
    pub fn body_into(&self, bytes: Vec<u8>, batch: u64) -> Option<Body> {
        let changes = self.open.iter().rev().find(|changes| changes.batch == batch)?;
        let mut body = Body { bytes, expiry_max: 0 };
        if changes.window.is_empty() && changes.ledger.is_empty() {
            return Some(body);
        }
        // PERF: a list that grows is copied again and again.
        body.bytes.reserve(HEAD_BYTES + (changes.window.len() + changes.ledger.len()) * ENTRY_BYTES);
        body.bytes.extend_from_slice(&self.latest.to_le_bytes());
        body.bytes.extend_from_slice(&self.window.time().to_le_bytes());
        for (change, distance) in changes.window.iter().zip(&changes.window_at) {
            let (identity, entry) = self.window.told(change);
            body.expiry_max = body.expiry_max.max(entry.map_or(0, |(_, expiry)| expiry));
            body.bytes.extend_from_slice(&distance.to_le_bytes());
            write(&mut body.bytes, &Told::Id(identity, entry));
        }
        for (change, distance) in changes.ledger.iter().zip(&changes.ledger_at) {
            body.expiry_max = body.expiry_max.max(change.after.map_or(0, |(_, expiry)| expiry));
            body.bytes.extend_from_slice(&distance.to_le_bytes());
            write(&mut body.bytes, &Told::Entry(change.key, change.after));
        }
        Some(body)
    }

    /// Adds what the journal of a partition tells: entries of records from source offset `first` on, but none at or past
    /// `before`. The partition is active from then on, at the time that it had: what is restored is not dropped before
    /// its records are read.
    pub fn restore_body(
        &mut self,
        partition: u64,
        version: u8,
        body: &[u8],
        (first, before): (i64, i64),
    ) -> Result<(), StateError> {
        let mut bytes = Bytes(body);
        let latest = bytes.second().ok_or(StateError::Damaged)?;
        let time = bytes.second().ok_or(StateError::Damaged)?;
        let next = |bytes: &mut Bytes<'_>| -> Result<(i64, Told), StateError> {
            let distance = match version {
                WITHOUT_OFFSETS => 0,
                _ => bytes.second().ok_or(StateError::Damaged)?,
            };
            Ok((first.saturating_add(i64::from(distance)), bytes.told().ok_or(StateError::Damaged)?))
        };
        // A first pass, so that nothing is used of bytes that do not make sense to their end.
        let mut ahead = Bytes(bytes.0);
        while !ahead.0.is_empty() {
            next(&mut ahead)?;
        }
        self.latest = self.latest.max(latest);
        if time > 0 {
            self.window.advance(partition, time);
        }
        while !bytes.0.is_empty() {
            match next(&mut bytes)? {
                (offset, _) if offset >= before => {}
                (_, Told::Id(identity, entry)) => {
                    let is_kept = self.window.restore(identity, entry);
                    // A window that may forget when it is full may also forget what does not fit any more.
                    if !is_kept && self.settings.window.on_full == OnFull::Stop {
                        return Err(StateError::NoRoom);
                    }
                    self.notes.unrestored += u64::from(!is_kept);
                }
                (_, Told::Entry(key, entry)) => self.ledger.restore(key, entry),
            }
        }
        Ok(())
    }
}
