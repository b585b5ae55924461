//! A bucket of the table: eight slots in three cache lines, one for each part of an entry.
//!
//! The first halves of the keys share a line, so a look at that one line tells whether a key is there. Slots are taken
//! from the first to the last without a gap in between. A first half of 0 marks a free slot, so keys that begin with 0
//! have no place here; the table keeps them aside.

/// Slots of a bucket.
pub(super) const SLOTS: usize = 8;

/// A key: compared as a whole, its first half says where it belongs.
pub type Key = (u64, u64);

/// What is kept of an id.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Kept {
    /// Tells contents apart.
    pub tag: u32,
    /// The second from which on it may be forgotten; never 0.
    pub expiry: u32,
}

/// An entry on its way from one bucket to another.
pub(super) type Entry = (Key, Kept);

/// Eight slots.
#[derive(Clone, Copy)]
#[repr(align(64))]
pub(super) struct Bucket {
    firsts: [u64; SLOTS],
    seconds: [u64; SLOTS],
    kept: [u64; SLOTS],
}

/// A bucket without entries.
pub(super) const EMPTY: Bucket = Bucket { firsts: [0; SLOTS], seconds: [0; SLOTS], kept: [0; SLOTS] };

impl Bucket {
    /// The slot of a key.
    ///
    /// PERF: all slots are compared, without a branch for each: which one it is cannot be predicted.
    pub(super) fn find(&self, key: Key) -> Option<usize> {
        let both = self.firsts.iter().zip(&self.seconds).enumerate();
        let hits = both.fold(0_u32, |hits, (slot, (first, second))| {
            hits | u32::from(*first == key.0 && *second == key.1) << slot
        });
        (hits != 0).then(|| hits.trailing_zeros() as usize)
    }

    /// Whether no slot is free.
    pub(super) fn is_full(&self) -> bool {
        self.firsts.last().is_some_and(|first| *first != 0)
    }

    /// How many slots are taken.
    pub(super) fn taken(&self) -> usize {
        self.firsts.iter().map(|first| usize::from(*first != 0)).sum()
    }

    /// What stands in a slot.
    pub(super) fn entry(&self, slot: usize) -> Option<Entry> {
        let (first, second) = (*self.firsts.get(slot)?, *self.seconds.get(slot)?);
        (first != 0).then(|| ((first, second), self.kept(slot)))
    }

    /// What is kept in a slot.
    pub(super) fn kept(&self, slot: usize) -> Kept {
        kept_of(self.kept.get(slot).copied().unwrap_or_default())
    }

    /// Everything in it.
    pub(super) fn entries(&self) -> impl Iterator<Item = Entry> + '_ {
        let words = self.firsts.iter().zip(&self.seconds).zip(&self.kept);
        let taken = words.take_while(|((first, _), _)| **first != 0);
        taken.map(|((first, second), kept)| ((*first, *second), kept_of(*kept)))
    }

    /// Writes an entry into a slot.
    pub(super) fn set(&mut self, slot: usize, ((first, second), kept): Entry) {
        let word = u64::from(kept.expiry.max(1)) << 32 | u64::from(kept.tag);
        let places = (self.firsts.get_mut(slot), self.seconds.get_mut(slot), self.kept.get_mut(slot));
        if let (Some(at_first), Some(at_second), Some(at_kept)) = places {
            (*at_first, *at_second, *at_kept) = (first, second, word);
        }
    }

    /// Frees a slot; the last one taken moves there.
    pub(super) fn free(&mut self, slot: usize) {
        let last = self.taken().saturating_sub(1);
        if let Some(entry) = self.entry(last) {
            self.set(slot, entry);
        }
        for part in [&mut self.firsts, &mut self.seconds, &mut self.kept] {
            if let Some(word) = part.get_mut(last) {
                *word = 0;
            }
        }
    }

    /// A word of each of its lines, read for nothing but to have them near.
    pub(super) fn touch(&self) -> u64 {
        let ([first, ..], [second, ..], [kept, ..]) = (self.firsts, self.seconds, self.kept);
        first ^ second ^ kept
    }
}

fn kept_of(word: u64) -> Kept {
    Kept { tag: word as u32, expiry: (word >> 32) as u32 }
}
