//! Secrets, key rings for rotation, and the keys that are derived from them.
//!
//! A [`Secret`] is wiped when it is dropped and never shown. A [`KeyRing`] holds the secrets that are good for one
//! purpose, each for a period; signatures are tried against all that are good at the time. Per record nothing is derived:
//! a cache keeps the derived keys that have verified something. (Those are ring's own type, which is not wiped.)

mod cache;
mod secret;

use std::sync::atomic::{AtomicU64, Ordering};

pub(crate) use cache::Cache;
pub(crate) use secret::SECRET_BYTES_MAX;
pub use secret::{Encoding, KeyError, Secret};

use crate::clock::Timestamp;
use ring::{hkdf, hmac};

/// When a key is good; a border that is absent is no border, and both belong to the period.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Period {
    /// The first instant.
    pub not_before: Option<Timestamp>,
    /// The last instant.
    pub not_after: Option<Timestamp>,
}

impl Period {
    /// Whether a key with this period is good at `now`.
    #[must_use]
    pub fn contains(self, now: Timestamp) -> bool {
        self.not_before.is_none_or(|first| first <= now) && self.not_after.is_none_or(|last| now <= last)
    }
}

/// The secrets that are good for one purpose, for example all master keys between two rotations.
#[derive(Debug)]
pub struct KeyRing {
    /// Unique in the process, so that keys derived from an older ring are never taken for this one's.
    id: u64,
    keys: Vec<(Secret, Period)>,
}

impl Default for KeyRing {
    fn default() -> Self {
        Self { id: unique(), keys: Vec::new() }
    }
}

impl KeyRing {
    /// A record's signature is tried against so many keys at most.
    pub const KEYS_MAX: usize = 8;

    /// A ring of one key that is always good.
    #[must_use]
    pub fn of(secret: Secret) -> Self {
        Self { id: unique(), keys: vec![(secret, Period::default())] }
    }

    /// Adds a key; the first that is good is the one to sign with.
    pub fn add(&mut self, secret: Secret, period: Period) -> Result<(), KeyError> {
        if self.keys.len() == Self::KEYS_MAX {
            return Err(KeyError::TooMany);
        }
        self.id = unique();
        self.keys.push((secret, period));
        Ok(())
    }

    /// Whether the ring has no key at all.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.keys.is_empty()
    }

    /// The keys that are good at `now`, with their numbers.
    fn good(&self, now: Timestamp) -> impl Iterator<Item = (usize, &Secret)> {
        let numbered = self.keys.iter().enumerate();
        numbered
            .filter(move |(_, (_, period))| period.contains(now))
            .map(|(number, (secret, _))| (number, secret))
    }

    /// The key to sign with at `now`.
    pub(super) fn signing_key(&self, now: Timestamp, derivation: Derivation<'_>) -> Option<hmac::Key> {
        self.good(now).next().and_then(|(_, secret)| derivation.derive(secret))
    }
}

/// How the key of a MAC comes from a secret.
#[derive(Clone, Copy, Debug)]
pub(super) enum Derivation<'a> {
    /// The secret itself.
    Plain,
    /// HMAC-SHA256 of a text under the secret.
    Hmac(&'a [u8]),
    /// HKDF-SHA256 with this salt and the joined info.
    Hkdf { salt: &'a [u8], info: [&'a [u8]; 4] },
}

impl Derivation<'_> {
    /// The key; `None` never happens, since 32 bytes are far below HKDF's limit, but no key is the safe answer.
    pub(super) fn derive(self, secret: &Secret) -> Option<hmac::Key> {
        let plain = || hmac::Key::new(hmac::HMAC_SHA256, secret.bytes());
        match self {
            Self::Plain => Some(plain()),
            Self::Hmac(text) => Some(hmac::Key::new(hmac::HMAC_SHA256, hmac::sign(&plain(), text).as_ref())),
            Self::Hkdf { salt, info } => {
                let extracted = hkdf::Salt::new(hkdf::HKDF_SHA256, salt).extract(secret.bytes());
                extracted.expand(&info, hmac::HMAC_SHA256).map(hmac::Key::from).ok()
            }
        }
    }

    /// What tells this derivation from others of its kind.
    fn parts(&self) -> [Option<&[u8]>; 5] {
        match *self {
            Self::Plain => [None; 5],
            Self::Hmac(text) => [Some(text), None, None, None, None],
            Self::Hkdf { salt, info: [one, two, three, four] } => {
                [Some(salt), Some(one), Some(two), Some(three), Some(four)]
            }
        }
    }

    /// The parts that differ between records; the first info is the scheme's name.
    fn varying(&self) -> [&[u8]; 4] {
        match *self {
            Self::Plain => [&[]; 4],
            Self::Hmac(text) => [text, &[], &[], &[]],
            Self::Hkdf { salt, info: [_, two, three, four] } => [salt, two, three, four],
        }
    }

    /// Writes what tells this derivation from others: each part with its length.
    fn write_identity(self, identity: &mut Vec<u8>) {
        for part in self.parts().into_iter().flatten() {
            identity.extend_from_slice(&(part.len() as u32).to_le_bytes());
            identity.extend_from_slice(part);
        }
    }
}

/// A number that no other ring or verifier of the process has.
pub(super) fn unique() -> u64 {
    static NEXT: AtomicU64 = AtomicU64::new(1);
    NEXT.fetch_add(1, Ordering::Relaxed)
}
