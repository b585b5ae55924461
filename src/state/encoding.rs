//! The state as bytes: everything at once, a snapshot. What one batch changed is `changes.rs`.
//!
//! ```text
//! "TGST" · version · kind · latest time · window's time · { entry } · SHA-256 of all before
//! entry: 1 identity tag expiry | 2 identity | 3 kind identity expiry value | 4 kind identity
//! ```
//!
//! Numbers are little-endian and every entry has a fixed length. Bytes that were cut, changed or made by another version
//! are an error before anything of them is used; they never make a wrong state.

use super::State;
use super::bytes::Bytes;
use super::ledger::{Entry, EntryKey, Kind};
use super::window::{NoMemory, Second};
use crate::credentials::digest::{Identity, sha256};
use crate::credentials::names::Names;
use crate::formats::OlympusMessage;

const MAGIC: &[u8; 4] = b"TGST";
const VERSION: u8 = 2;
const VERSION_MIN: u8 = 1;
/// A kind of entry that version 1 had: a message of olympus by its id alone, with its work beside it.
const MESSAGE_OF_ANY_WORK: u8 = 2;
const SNAPSHOT: u8 = 1;
const CHECKSUM_BYTES: usize = 32;

/// Bytes that are no state.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum StateError {
    /// Cut short, changed, or something else altogether.
    #[error("not a whole, unchanged state of Tollgate (its checksum does not match)")]
    Damaged,
    /// Written by another version.
    #[error("a state of version {found}, allowed: {VERSION_MIN} to {VERSION}")]
    Version {
        /// Its version.
        found: u8,
    },
    /// More ids than the window may hold.
    #[error("more ids than fit into the window; raise `window.memory_bytes_max`")]
    NoRoom,
    /// The system gives no memory for it.
    #[error(transparent)]
    NoMemory(#[from] NoMemory),
}

/// One entry, as it is told.
pub(super) enum Told {
    Id(Identity, Option<(u32, Second)>),
    Entry(EntryKey, Option<(Entry, Second)>),
}

impl State {
    /// Everything that is remembered.
    #[must_use]
    pub fn snapshot(&self) -> Vec<u8> {
        let mut out = self.header();
        for (identity, tag, expiry) in self.window.iter() {
            write(&mut out, &Told::Id(identity, Some((tag, expiry))));
        }
        for (key, entry) in self.ledger.shelf().iter() {
            write(&mut out, &Told::Entry(key, Some(entry)));
        }
        sealed(out)
    }

    /// Adds what a snapshot tells to what is remembered.
    pub fn restore(&mut self, bytes: &[u8]) -> Result<(), StateError> {
        let (body, checksum) = bytes.split_last_chunk::<CHECKSUM_BYTES>().ok_or(StateError::Damaged)?;
        if sha256(&[body]) != *checksum {
            return Err(StateError::Damaged);
        }
        let mut bytes = Bytes(body);
        let magic: [u8; 4] = bytes.take().ok_or(StateError::Damaged)?;
        let [found, kind] = bytes.take().ok_or(StateError::Damaged)?;
        if magic != *MAGIC || kind != SNAPSHOT {
            return Err(StateError::Damaged);
        }
        if !(VERSION_MIN..=VERSION).contains(&found) {
            return Err(StateError::Version { found });
        }
        let latest = bytes.second().ok_or(StateError::Damaged)?;
        let time = bytes.second().ok_or(StateError::Damaged)?;
        // A first pass, so that nothing is used of bytes that do not make sense to their end.
        let mut ahead = Bytes(bytes.0);
        while !ahead.0.is_empty() {
            ahead.told().ok_or(StateError::Damaged)?;
        }
        self.latest = self.latest.max(latest);
        while let Some(told) = bytes.told() {
            match told {
                Told::Id(identity, entry) if !self.window.restore(identity, entry) => {
                    return Err(StateError::NoRoom);
                }
                Told::Id(..) => {}
                Told::Entry(key, entry) => self.ledger.restore(key, entry),
            }
        }
        if time > 0 {
            self.window.resume(time);
        }
        Ok(())
    }

    fn header(&self) -> Vec<u8> {
        let mut out = MAGIC.to_vec();
        out.extend_from_slice(&[VERSION, SNAPSHOT]);
        out.extend_from_slice(&self.latest.to_le_bytes());
        out.extend_from_slice(&self.window.time().to_le_bytes());
        out
    }
}

fn sealed(mut out: Vec<u8>) -> Vec<u8> {
    let checksum = sha256(&[&out]);
    out.extend_from_slice(&checksum);
    out
}

pub(super) fn write(out: &mut Vec<u8>, told: &Told) {
    match told {
        Told::Id(identity, Some((tag, expiry))) => {
            out.push(1);
            out.extend_from_slice(identity);
            out.extend_from_slice(&tag.to_le_bytes());
            out.extend_from_slice(&expiry.to_le_bytes());
        }
        Told::Id(identity, None) => {
            out.push(2);
            out.extend_from_slice(identity);
        }
        Told::Entry((kind, identity), Some((entry, expiry))) => {
            out.extend_from_slice(&[3, *kind as u8]);
            out.extend_from_slice(identity);
            out.extend_from_slice(&expiry.to_le_bytes());
            entry.write(out);
        }
        Told::Entry((kind, identity), None) => {
            out.extend_from_slice(&[4, *kind as u8]);
            out.extend_from_slice(identity);
        }
    }
}

impl Bytes<'_> {
    pub(super) fn told(&mut self) -> Option<Told> {
        Some(match self.byte()? {
            1 => Told::Id(self.take()?, Some((self.second()?, self.second()?))),
            2 => Told::Id(self.take()?, None),
            3 => self.entry()?,
            4 => self.removal()?,
            _ => return None,
        })
    }

    fn entry(&mut self) -> Option<Told> {
        let (kind, identity, expiry) = (self.byte()?, self.take()?, self.second()?);
        if kind == MESSAGE_OF_ANY_WORK {
            let work = self.take()?;
            let entry = Entry::read(Kind::OlympusMessage, self)?;
            let name = OlympusMessage::name(&Names::Lasting, work, identity);
            return Some(Told::Entry((Kind::OlympusMessage, name), Some((entry, expiry))));
        }
        let kind = kind_of(kind)?;
        Some(Told::Entry((kind, identity), Some((Entry::read(kind, self)?, expiry))))
    }

    fn removal(&mut self) -> Option<Told> {
        // Of a message of any work the new name is unknown; what has the old one is nothing.
        let kind = match self.byte()? {
            MESSAGE_OF_ANY_WORK => Kind::OlympusMessage,
            kind => kind_of(kind)?,
        };
        Some(Told::Entry((kind, self.take()?), None))
    }
}

fn kind_of(number: u8) -> Option<Kind> {
    Kind::ALL.into_iter().find(|kind| *kind as u8 == number)
}
