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
use super::ledger::{AghWork, Entry, EntryKey, Kind, OlympusWork, Request, WorkState};
use super::window::{NoMemory, Second};
use crate::clock::Timestamp;
use crate::credentials::digest::{Identity, sha256};

const MAGIC: &[u8; 4] = b"TGST";
const VERSION: u8 = 1;
const SNAPSHOT: u8 = 1;
const CHECKSUM_BYTES: usize = 32;

/// Bytes that are no state.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum StateError {
    /// Cut short, changed, or something else altogether.
    #[error("not a whole, unchanged state of Tollgate (its checksum does not match)")]
    Damaged,
    /// Written by another version.
    #[error("a state of version {found}, allowed: {VERSION}")]
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
        if found != VERSION {
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
            write_entry(out, entry);
        }
        Told::Entry((kind, identity), None) => {
            out.extend_from_slice(&[4, *kind as u8]);
            out.extend_from_slice(identity);
        }
    }
}

fn write_entry(out: &mut Vec<u8>, entry: &Entry) {
    match entry {
        Entry::OlympusWork(work) => {
            let OlympusWork { assigned, cancelled, feedback, rounds, returned, tripped } = work;
            out.extend_from_slice(&assigned.to_le_bytes());
            out.extend_from_slice(&cancelled.to_le_bytes());
            out.extend_from_slice(feedback);
            out.extend_from_slice(&[*rounds, u8::from(*returned), u8::from(*tripped)]);
        }
        Entry::OlympusMessage { work, hops } => {
            out.extend_from_slice(work);
            out.push(hops.unwrap_or(u8::MAX));
        }
        Entry::AghWork(AghWork { container, initiator, target, state }) => {
            out.extend([container, initiator, target].into_iter().flatten());
            out.push(*state as u8);
        }
        Entry::AlfredRequest(request) => {
            let Request { source, destination, intent, trace, sent, answered } = request;
            out.extend([source, destination, intent].into_iter().flatten());
            out.push(u8::from(trace.is_some()));
            out.extend_from_slice(&trace.unwrap_or_default());
            out.extend_from_slice(&sent.micros().to_le_bytes());
            out.push(u8::from(*answered));
        }
        Entry::BluelabelMessage(retries) => out.extend_from_slice(&retries.to_le_bytes()),
    }
}

/// Bytes that are read from the front; `None` wherever they do not make sense.
pub(super) struct Bytes<'a>(pub(super) &'a [u8]);

impl Bytes<'_> {
    fn take<const N: usize>(&mut self) -> Option<[u8; N]> {
        let (head, rest) = self.0.split_first_chunk::<N>()?;
        self.0 = rest;
        Some(*head)
    }

    fn byte(&mut self) -> Option<u8> {
        self.take::<1>().map(|[byte]| byte)
    }

    fn flag(&mut self) -> Option<bool> {
        match self.byte()? {
            0 => Some(false),
            1 => Some(true),
            _ => None,
        }
    }

    pub(super) fn second(&mut self) -> Option<Second> {
        self.take().map(u32::from_le_bytes)
    }

    pub(super) fn told(&mut self) -> Option<Told> {
        Some(match self.byte()? {
            1 => Told::Id(self.take()?, Some((self.second()?, self.second()?))),
            2 => Told::Id(self.take()?, None),
            3 => {
                let key = (self.kind()?, self.take()?);
                let expiry = self.second()?;
                Told::Entry(key, Some((self.entry(key.0)?, expiry)))
            }
            4 => Told::Entry((self.kind()?, self.take()?), None),
            _ => return None,
        })
    }

    fn kind(&mut self) -> Option<Kind> {
        Some(match self.byte()? {
            1 => Kind::OlympusWork,
            2 => Kind::OlympusMessage,
            3 => Kind::AghWork,
            4 => Kind::AlfredRequest,
            5 => Kind::BluelabelMessage,
            _ => return None,
        })
    }

    fn entry(&mut self, kind: Kind) -> Option<Entry> {
        Some(match kind {
            Kind::OlympusWork => Entry::OlympusWork(OlympusWork {
                assigned: self.take().map(u16::from_le_bytes)?,
                cancelled: self.take().map(u16::from_le_bytes)?,
                feedback: self.take()?,
                rounds: self.byte()?,
                returned: self.flag()?,
                tripped: self.flag()?,
            }),
            Kind::OlympusMessage => Entry::OlympusMessage {
                work: self.take()?,
                hops: Some(self.byte()?).filter(|hops| *hops != u8::MAX),
            },
            Kind::AghWork => Entry::AghWork(AghWork {
                container: self.take()?,
                initiator: self.take()?,
                target: self.take()?,
                state: *WorkState::ALL.get(usize::from(self.byte()?))?,
            }),
            Kind::AlfredRequest => {
                let (source, destination, intent) = (self.take()?, self.take()?, self.take()?);
                let (has_trace, trace) = (self.flag()?, self.take()?);
                Entry::AlfredRequest(Request {
                    source,
                    destination,
                    intent,
                    trace: has_trace.then_some(trace),
                    sent: Timestamp::from_micros(self.take().map(i64::from_le_bytes)?),
                    answered: self.flag()?,
                })
            }
            Kind::BluelabelMessage => Entry::BluelabelMessage(self.take().map(u64::from_le_bytes)?),
        })
    }
}
