//! Where an identity was seen first, so that a repetition is shown with both places.
//!
//! The replay window keeps no coordinates. This table does, in fourteen bytes for each identity, up to a fixed number of
//! slots; a full part of it gives a slot to the newcomer and counts that something was forgotten. It only serves to
//! show places: whether a message is a repetition is the window's word.

use crate::credentials::digest::Identity;

/// Parts that grow by themselves, so that growth moves a small part at a time.
const SHARDS: usize = 256;
/// LIMIT: slots of one part; 112 MiB for all.
const SHARD_SLOTS_MAX: usize = 32 * 1024;
const SHARD_SLOTS_MIN: usize = 64;
/// LIMIT: slots that one look-up passes.
const PROBES_MAX: usize = 256;
/// Places that are fetched from memory at once.
const TOUCHED: usize = 64;

/// LIMIT: identities whose first place is known.
pub const PLACES_MAX: usize = SHARDS * SHARD_SLOTS_MAX / 4 * 3;

/// A record's place: its input, by its number in the report, and line or offset there.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Place {
    /// The input.
    pub input: u32,
    /// Line of a file, or offset of a partition.
    pub position: u64,
}

const POSITION_BITS: u32 = 40;

impl Place {
    /// In one word that is not 0: 2^24 inputs, 2^40 positions.
    fn pack(self) -> u64 {
        let position = self.position.min((1 << POSITION_BITS) - 2);
        (u64::from(self.input) << POSITION_BITS | position) + 1
    }

    fn unpack(word: u64) -> Self {
        let word = word - 1;
        Self { input: (word >> POSITION_BITS) as u32, position: word & ((1 << POSITION_BITS) - 1) }
    }
}

/// One identity: 48 bits of it beside those that chose the shard, and its place, in 14 bytes without padding.
#[derive(Clone, Copy, Default)]
struct Slot {
    tag: [u16; 3],
    place: [u16; 4],
}

impl Slot {
    fn new(tag: [u16; 3], place: Place) -> Self {
        let word = place.pack();
        let halves = (word as u32, (word >> 32) as u32);
        let place = [halves.0 as u16, (halves.0 >> 16) as u16, halves.1 as u16, (halves.1 >> 16) as u16];
        Self { tag, place }
    }

    fn is_empty(&self) -> bool {
        self.place == [0; 4]
    }

    fn place(&self) -> Place {
        let word = self.place.iter().rev().fold(0, |word, part| word << 16 | u64::from(*part));
        Place::unpack(word)
    }
}

#[derive(Default)]
struct Shard {
    slots: Vec<Slot>,
    used: usize,
}

/// An identity that waits for [`Places::settle`].
struct Waiting {
    identity: Identity,
    place: Place,
    /// Whether it takes the place of an earlier one.
    renews: bool,
}

/// First places by identity.
pub struct Places {
    shards: Vec<Shard>,
    waiting: Vec<Waiting>,
    forgotten: u64,
}

impl Default for Places {
    fn default() -> Self {
        let shards = (0..SHARDS).map(|_| Shard::default()).collect();
        Self { shards, waiting: Vec::new(), forgotten: 0 }
    }
}

impl Places {
    /// Makes room for the identities of about so many records; only at the start.
    ///
    /// PERF: room that is there from the start is never moved, and the system gives its memory once instead of with each
    /// of a dozen growths.
    pub fn reserve(&mut self, records: u64) {
        // Some records have two. Shards are not filled alike, and a quarter of each stays empty.
        let identities = records.saturating_add(records / 4).min(PLACES_MAX as u64) as usize;
        let slots = (identities / SHARDS * 3 / 2).clamp(SHARD_SLOTS_MIN, SHARD_SLOTS_MAX);
        for shard in &mut self.shards {
            shard.grow_to(slots);
        }
    }

    /// How many places were given up for newer ones.
    #[must_use]
    pub fn forgotten(&self) -> u64 {
        self.forgotten
    }

    /// Where the identity was seen first.
    #[must_use]
    pub fn find(&self, identity: Identity) -> Option<Place> {
        let (shard, tag) = parts(identity);
        let shard = self.shards.get(shard)?;
        let slot = shard.slots.get(shard.slot_of(tag)?)?;
        (!slot.is_empty()).then(|| slot.place())
    }

    /// Remembers where an identity is; the first place stays. It is found after [`Self::settle`].
    pub fn insert(&mut self, identity: Identity, place: Place) {
        self.waiting.push(Waiting { identity, place, renews: false });
    }

    /// The same, but an earlier place does not count any longer.
    pub fn renew(&mut self, identity: Identity, place: Place) {
        self.waiting.push(Waiting { identity, place, renews: true });
    }

    /// Takes in what waits.
    ///
    /// PERF: every insert misses the cache. To look at the places of many before the first is put lets them miss it at
    /// the same time.
    pub fn settle(&mut self) {
        let waiting = std::mem::take(&mut self.waiting);
        for some in waiting.chunks(TOUCHED) {
            std::hint::black_box(some.iter().fold(0, |sum: u16, waiting| sum ^ self.touch(waiting.identity)));
            for waiting in some {
                self.put(waiting);
            }
        }
        self.waiting = waiting;
        self.waiting.clear();
    }

    /// Something of the slot where the way of an identity begins.
    fn touch(&self, identity: Identity) -> u16 {
        let (shard, tag) = parts(identity);
        let slot = self.shards.get(shard).and_then(|shard| shard.slots.get(shard.home_of(tag)));
        slot.map_or(0, |slot| slot.tag[0])
    }

    fn put(&mut self, waiting: &Waiting) {
        let Waiting { identity, place, renews } = *waiting;
        let (shard, tag) = parts(identity);
        let Some(shard) = self.shards.get_mut(shard) else { return };
        let mut found = shard.slot_of(tag);
        // PERF: nearly every identity is new and finds an empty slot in a shard with room.
        if !shard.is_full()
            && let Some(slot) = found.and_then(|at| shard.slots.get_mut(at))
        {
            if slot.is_empty() || renews {
                shard.used += usize::from(slot.is_empty());
                *slot = Slot::new(tag, place);
            }
            return;
        }
        while (shard.is_full() || found.is_none()) && shard.slots.len() < SHARD_SLOTS_MAX {
            shard.grow();
            found = shard.slot_of(tag);
        }
        let full = shard.is_full();
        let home = shard.home_of(tag);
        let at = found.unwrap_or(home);
        let Some(slot) = shard.slots.get_mut(at) else { return };
        if slot.is_empty() && !full {
            shard.used += 1;
            *slot = Slot::new(tag, place);
        } else if slot.is_empty() || slot.tag != tag {
            // The one at home goes, whichever it is.
            self.forgotten += 1;
            if let Some(slot) = shard.slots.get_mut(home) {
                shard.used += usize::from(slot.is_empty());
                *slot = Slot::new(tag, place);
            }
        } else if renews {
            *slot = Slot::new(tag, place);
        }
    }
}

impl Shard {
    /// Linear probing needs a quarter of the slots empty, or ways get long.
    fn is_full(&self) -> bool {
        self.used * 4 >= self.slots.len() * 3
    }

    /// The slot of a tag, or the first empty one on its way.
    fn slot_of(&self, tag: [u16; 3]) -> Option<usize> {
        let home = self.home_of(tag);
        let (before, behind) = self.slots.split_at_checked(home)?;
        let fits = |slot: &Slot| slot.is_empty() || slot.tag == tag;
        if behind.first().is_some_and(fits) {
            return Some(home);
        }
        let ahead = behind.iter().take(PROBES_MAX).position(fits);
        ahead.map(|at| home + at).or_else(|| {
            let left = PROBES_MAX.saturating_sub(behind.len());
            before.iter().take(left).position(fits)
        })
    }

    /// Where the way of a tag begins.
    fn home_of(&self, [a, b, _]: [u16; 3]) -> usize {
        let part = u64::from(a) | u64::from(b) << 16;
        ((part * self.slots.len() as u64) >> 32) as usize
    }

    /// By a quarter, so that little stands empty.
    fn grow(&mut self) {
        self.grow_to((self.slots.len() + self.slots.len() / 4).clamp(SHARD_SLOTS_MIN, SHARD_SLOTS_MAX));
    }

    fn grow_to(&mut self, slots: usize) {
        let old = std::mem::replace(&mut self.slots, vec![Slot::default(); slots]);
        for slot in old.into_iter().filter(|slot| !slot.is_empty()) {
            if let Some(at) = self.slot_of(slot.tag)
                && let Some(new) = self.slots.get_mut(at)
            {
                *new = slot;
            }
        }
        self.used = self.slots.iter().filter(|slot| !slot.is_empty()).count();
    }
}

/// Shard and tag. Identities are parts of SHA-256, so any of their bits will do.
fn parts(identity: Identity) -> (usize, [u16; 3]) {
    let word = identity.first_chunk().map_or(0, |head| u64::from_le_bytes(*head));
    (usize::from(word as u8), [(word >> 16) as u16, (word >> 32) as u16, (word >> 48) as u16])
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::credentials::digest::identity;

    #[test]
    fn first_places_stay_and_are_found() {
        for reserved in [0, 50_000] {
            check_first_places(reserved);
        }
    }

    fn check_first_places(reserved: u64) {
        let mut places = Places::default();
        places.reserve(reserved);
        let place = |number: u64| Place { input: (number % 7) as u32, position: number * 3 };
        for number in 0..200_000_u64 {
            places.insert(identity(&[&number.to_le_bytes()]), place(number));
            places.insert(identity(&[&number.to_le_bytes()]), place(number + 1));
        }
        places.settle();
        let wrong = (0..200_000_u64)
            .filter(|number| places.find(identity(&[&number.to_le_bytes()])) != Some(place(*number)))
            .count();
        assert_eq!(wrong, 0, "of 200,000 got another's place");
        assert_eq!(places.find(identity(&[b"unknown"])), None);
        assert_eq!(places.forgotten(), 0);
    }

    #[test]
    fn a_renewed_place_takes_the_first_ones() {
        let mut places = Places::default();
        let place = |position: u64| Place { input: 0, position };
        for number in 0..20_000_u64 {
            let identity = identity(&[&number.to_le_bytes()]);
            places.renew(identity, place(number));
            places.renew(identity, place(number + 100_000));
            places.insert(identity, place(number + 200_000));
        }
        places.settle();
        let found = |number: u64| places.find(identity(&[&number.to_le_bytes()]));
        assert!((0..20_000).all(|number| found(number) == Some(place(number + 100_000))));
        assert_eq!(places.forgotten(), 0);
    }

    #[test]
    fn a_full_table_forgets_and_says_so() {
        let mut places = Places::default();
        // All in one shard.
        for number in 0..100_000_u32 {
            let mut identity = [0; 16];
            identity[2..6].copy_from_slice(&number.wrapping_mul(0x9E37_79B9).to_le_bytes());
            places.insert(identity, Place { input: 0, position: u64::from(number) });
        }
        places.settle();
        assert!(places.forgotten() > 60_000, "{}", places.forgotten());
        let shard = &places.shards[0];
        assert!(shard.slots.len() == SHARD_SLOTS_MAX);
    }
}
