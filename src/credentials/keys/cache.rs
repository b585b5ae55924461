//! Derived keys that have verified a signature, so that a record costs one look-up instead of a derivation.
//!
//! Records are hostile: anybody can name a new session or tenant in each. So a key is kept only after it has verified,
//! the table has a fixed size, and its buckets are chosen by a hash with a random key.

use std::hash::{BuildHasher as _, RandomState};

use ring::hmac;

use super::{Derivation, KeyRing, Secret};
use crate::clock::Timestamp;

/// So many keys share a bucket.
const WAYS: usize = 4;
/// A derivation whose texts are longer than this is made anew each time; it would be a strange session id.
const IDENTITY_BYTES_MAX: usize = 1024;

/// Derived keys, in buckets.
pub(crate) struct Cache {
    slots: Vec<Option<Slot>>,
    /// Of a key that is remembered.
    identity: Vec<u8>,
    /// Random in each process: whoever makes records cannot know which of them share a bucket.
    random: [u64; 2],
    /// Which way of a full bucket goes next.
    hand: usize,
}

struct Slot {
    identity: Box<[u8]>,
    key: hmac::Key,
}

impl std::fmt::Debug for Cache {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Cache").field("slots", &self.slots.len()).finish_non_exhaustive()
    }
}

impl Default for Cache {
    fn default() -> Self {
        Self::new(crate::credentials::Limits::default().keys_max)
    }
}

impl Cache {
    pub(crate) fn new(keys_max: usize) -> Self {
        let mut slots = Vec::new();
        slots.resize_with(keys_max.next_power_of_two().max(WAYS), || None);
        let random = RandomState::new();
        let random = [random.hash_one(1), random.hash_one(2) | 1];
        Self { slots, identity: Vec::with_capacity(IDENTITY_BYTES_MAX), random, hand: 0 }
    }

    /// How many keys it can hold.
    #[cfg(test)]
    pub(in crate::credentials) fn slots(&self) -> usize {
        self.slots.len()
    }

    /// Whether one of the ring's keys that are good at `now`, derived like this, passes `verifies`; `None` if none is
    /// good. The key that passes is remembered.
    pub(in crate::credentials) fn any_verifies(
        &mut self,
        ring: &KeyRing,
        now: Timestamp,
        derivation: Derivation<'_>,
        mut verifies: impl FnMut(&hmac::Key) -> bool,
    ) -> Option<bool> {
        let mut outcome = None;
        for (number, secret) in ring.good(now) {
            if self.verifies(ring, number, secret, derivation, &mut verifies) {
                return Some(true);
            }
            outcome = Some(false);
        }
        outcome
    }

    fn verifies(
        &mut self,
        ring: &KeyRing,
        number: usize,
        secret: &Secret,
        derivation: Derivation<'_>,
        verifies: &mut impl FnMut(&hmac::Key) -> bool,
    ) -> bool {
        let hash = hash(self.random, ring, number, derivation);
        let bucket = (hash % (self.slots.len() / WAYS)) * WAYS;
        let ways = self.slots.get_mut(bucket..bucket + WAYS).unwrap_or_default();
        let found = ways.iter().flatten().find(|slot| slot.is_of(ring, number, derivation));
        if let Some(slot) = found {
            return verifies(&slot.key);
        }
        let Some(key) = derivation.derive(secret) else { return false };
        if !verifies(&key) {
            return false;
        }
        self.identity.clear();
        self.identity.extend_from_slice(&ring.id.to_le_bytes());
        self.identity.push(number as u8);
        derivation.write_identity(&mut self.identity);
        if self.identity.len() <= IDENTITY_BYTES_MAX {
            let way = ways.iter().position(Option::is_none).unwrap_or_else(|| {
                self.hand = (self.hand + 1) % WAYS;
                self.hand
            });
            if let Some(slot) = ways.get_mut(way) {
                *slot = Some(Slot { identity: self.identity.as_slice().into(), key });
            }
        } else {
            // A strange record must not leave a large buffer behind.
            self.identity.shrink_to(IDENTITY_BYTES_MAX);
        }
        true
    }
}

impl Slot {
    /// Whether this is the key of a ring's secret, derived like this.
    fn is_of(&self, ring: &KeyRing, number: usize, derivation: Derivation<'_>) -> bool {
        let rest = self.identity.strip_prefix(&ring.id.to_le_bytes()).and_then(|rest| rest.split_first());
        let Some((_, rest)) = rest.filter(|(of, _)| usize::from(**of) == number) else { return false };
        let rest = derivation.parts().into_iter().flatten().try_fold(rest, |rest, part| {
            let rest = rest.strip_prefix(&(part.len() as u32).to_le_bytes())?;
            let (known, rest) = rest.split_at_checked(part.len())?;
            is_same(known, part).then_some(rest)
        });
        rest.is_some_and(<[u8]>::is_empty)
    }
}

/// Whether two texts of the same length are equal. PERF: most have up to sixteen bytes, which are two words.
#[inline]
fn is_same(known: &[u8], part: &[u8]) -> bool {
    let words = |bytes: &[u8]| Some((*bytes.first_chunk::<8>()?, *bytes.last_chunk::<8>()?));
    match part.len() {
        0 => true,
        8..=16 => words(known) == words(part),
        _ => known == part,
    }
}

/// A keyed hash of a derivation, folded by wide multiplications.
fn hash(random: [u64; 2], ring: &KeyRing, number: usize, derivation: Derivation<'_>) -> usize {
    let [first, second] = random;
    let fold = |left: u64, right: u64| {
        let product = u128::from(left) * u128::from(right);
        (product as u64) ^ (product >> 64) as u64
    };
    let mut hash = fold(ring.id ^ first, second ^ number as u64);
    for part in derivation.varying().into_iter().filter(|part| !part.is_empty()) {
        // PERF: most parts have eight to sixteen bytes, which are two words.
        let mut words = part;
        while let Some((word, rest)) = words.split_first_chunk().filter(|_| words.len() > 16) {
            hash = fold(hash ^ u64::from_le_bytes(*word), second);
            words = rest;
        }
        let (head, tail) = match (words.first_chunk(), words.last_chunk()) {
            (Some(head), Some(tail)) => (u64::from_le_bytes(*head), u64::from_le_bytes(*tail)),
            _ => (words.iter().fold(0, |word, byte| word << 8 | u64::from(*byte)), 0),
        };
        hash = fold(hash ^ head ^ (part.len() as u64) << 56, second ^ tail);
    }
    hash as usize
}
