//! Tokens whose signature held, by their digest.
//!
//! Only what has verified gets in, so the digest's own bytes choose the bucket. A full bucket gives up the token that
//! expires first.

use super::claims::StoredClaims;
use super::{CACHED_CLAIMS_BYTES_MAX, Workshop};

/// So many tokens share a bucket.
const WAYS: usize = 4;

/// What the verifier keeps between records.
#[derive(Default)]
pub(crate) struct Cache {
    pub(super) slots: Slots,
    pub(super) workshop: Workshop,
}

impl Cache {
    pub(crate) fn new(tokens_max: usize) -> Self {
        Self { slots: Slots::new(tokens_max), workshop: Workshop::default() }
    }
}

impl std::fmt::Debug for Cache {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Cache").field("slots", &self.slots.slots.len()).finish_non_exhaustive()
    }
}

pub(super) struct Slots {
    slots: Vec<Slot>,
}

/// A remembered token; an empty slot belongs to no verifier.
#[derive(Default)]
pub(super) struct Slot {
    digest: [u8; 32],
    verifier: u64,
    claims: StoredClaims,
}

impl Default for Slots {
    fn default() -> Self {
        Self::new(crate::credentials::Limits::default().tokens_max)
    }
}

impl Slots {
    fn new(tokens_max: usize) -> Self {
        let mut slots = Vec::new();
        slots.resize_with(tokens_max.next_power_of_two().max(WAYS), Slot::default);
        Self { slots }
    }

    /// The slot that holds this token, or the one to put it into.
    pub(super) fn find_or_victim(&mut self, digest: &[u8; 32], verifier: u64) -> &mut Slot {
        let hash = digest.first_chunk().map_or(0, |head| u64::from_le_bytes(*head));
        let buckets = self.slots.len() / WAYS;
        let bucket = (hash as usize % buckets) * WAYS;
        let ways = self.slots.get(bucket..bucket + WAYS).unwrap_or_default();
        let way = ways.iter().position(|slot| slot.holds(digest, verifier)).unwrap_or_else(|| {
            let expiry = |slot: &Slot| if slot.verifier == verifier { slot.claims.expires() } else { None };
            let first = ways.iter().enumerate().min_by_key(|(_, slot)| expiry(slot));
            first.map_or(0, |(way, _)| way)
        });
        #[expect(
            clippy::indexing_slicing,
            reason = "bucket + way is below the length, which is a multiple of WAYS"
        )]
        &mut self.slots[bucket + way]
    }
}

impl Slot {
    pub(super) fn holds(&self, digest: &[u8; 32], verifier: u64) -> bool {
        self.verifier == verifier && self.digest == *digest
    }

    /// Keeps the claims; large ones only until the next token.
    pub(super) fn store(&mut self, digest: [u8; 32], verifier: u64, claims: StoredClaims) {
        let keep = claims.bytes() <= CACHED_CLAIMS_BYTES_MAX;
        *self = Self { digest, verifier: if keep { verifier } else { 0 }, claims };
    }

    pub(super) fn claims(&self) -> &StoredClaims {
        &self.claims
    }
}
