//! Where an identity was seen first, so that a repetition is shown with both places.
//!
//! The replay window keeps no coordinates. This table does, in fifteen bytes for each identity, for a fixed number of them
//! that were put down last. What was put down longest ago is forgotten, and counted: what is known then follows from the
//! order of records alone, not from how identities are named. It only serves to show places: whether a message is a
//! repetition is the window's word.

use std::hash::{BuildHasher as _, RandomState};

use foldhash::fast::FixedState;

use crate::credentials::digest::Identity;

/// Parts that grow by themselves, so that growth moves a small part at a time.
const SHARDS: usize = 256;
const SHARD_SLOTS_MIN: usize = 64;
/// Places that are fetched from memory at once.
const TOUCHED: usize = 64;

/// Identities that are put down until the next generation begins.
const GENERATION_MAX: u32 = 96 * 1024;
/// Generations that are known; what is older is forgotten, a generation at once.
const GENERATIONS: u8 = 64;
/// LIMIT: identities whose first place is known, of those that were put down last.
pub const PLACES_MAX: usize = GENERATION_MAX as usize * GENERATIONS as usize;
// Numbers come round without a gap, every shard is swept once in so many, and nothing is as old as a number that is known.
const _: () = assert!(256 % GENERATIONS as usize == 0 && SHARDS.is_multiple_of(GENERATIONS as usize));
const _: () = assert!(2 * GENERATIONS as usize <= 256);

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

/// One identity: 48 bits of it beside those that chose the shard, its place, and its generation, in 15 bytes.
#[derive(Clone, Copy, Default)]
struct Slot {
    tag: [u8; 6],
    place: [u8; 8],
    generation: u8,
}

impl Slot {
    fn is_empty(&self) -> bool {
        self.place == [0; 8]
    }

    /// Whether it counts in this generation.
    fn is_known(&self, generation: u8) -> bool {
        !self.is_empty() && generation.wrapping_sub(self.generation) < GENERATIONS
    }

    fn place(&self) -> Place {
        Place::unpack(u64::from_le_bytes(self.place))
    }
}

#[derive(Default)]
struct Shard {
    slots: Vec<Slot>,
    /// Those that are not empty.
    used: usize,
    /// In which generation the forgotten ones were last dropped.
    swept: u8,
}

/// Where an identity stands: its shard, and its tag there. 56 bits tell identities apart.
#[derive(Clone, Copy)]
struct Stand {
    shard: u8,
    tag: [u8; 6],
}

/// An identity that waits for [`Places::settle`].
struct Waiting {
    at: Stand,
    place: Place,
    /// Whether it takes the place of an earlier one.
    renews: bool,
}

/// First places by identity.
pub struct Places {
    shards: Vec<Shard>,
    /// Nobody knows where an identity stands, so nobody can fill one part.
    keys: FixedState,
    waiting: Vec<Waiting>,
    /// Counts round.
    generation: u8,
    /// Identities that are put down until the next one begins.
    generation_max: u32,
    /// Identities of each generation that is known.
    held: [u32; GENERATIONS as usize],
    forgotten: u64,
}

impl Default for Places {
    fn default() -> Self {
        Self::with_generations_of(GENERATION_MAX)
    }
}

impl Places {
    fn with_generations_of(generation_max: u32) -> Self {
        let shards = (0..SHARDS).map(|_| Shard::default()).collect();
        let keys = FixedState::with_seed(RandomState::new().hash_one(0_u64));
        let held = [0; GENERATIONS as usize];
        Self { shards, keys, waiting: Vec::new(), generation: 0, generation_max, held, forgotten: 0 }
    }

    /// LIMIT: slots of one part; 135 MiB for all. A quarter stays empty, and a twelfth is for identities that are
    /// forgotten and not yet dropped.
    fn shard_slots_max(&self) -> usize {
        self.generation_max as usize * usize::from(GENERATIONS) / SHARDS * 3 / 2
    }

    /// Makes room for the identities of about so many records; only at the start.
    ///
    /// PERF: what has room from the start is moved once or not at all, and the system gives its memory once instead of with
    /// each of a dozen growths.
    pub fn reserve(&mut self, records: u64) {
        debug_assert!(self.shards.iter().all(|shard| shard.used == 0), "only at the start");
        // Some records have two, others none. Shards are not filled alike, and a quarter of each stays empty.
        let identities = records.min(PLACES_MAX as u64) as usize;
        let slots = (identities / SHARDS * 7 / 5).clamp(SHARD_SLOTS_MIN, self.shard_slots_max());
        for shard in &mut self.shards {
            shard.rebuild(slots, self.generation);
        }
    }

    /// How many places are not known any longer.
    #[must_use]
    pub fn forgotten(&self) -> u64 {
        self.forgotten
    }

    /// Where the identity was seen first.
    #[must_use]
    pub fn find(&self, identity: Identity) -> Option<Place> {
        let Stand { shard, tag } = self.stand(identity);
        let shard = self.shards.get(usize::from(shard))?;
        let slot = shard.slots.get(shard.slot_of(tag)?)?;
        slot.is_known(self.generation).then(|| slot.place())
    }

    /// Remembers where an identity is; the first place stays. It is found after [`Self::settle`].
    pub fn insert(&mut self, identity: Identity, place: Place) {
        self.waiting.push(Waiting { at: self.stand(identity), place, renews: false });
    }

    /// The same, but an earlier place does not count any longer.
    pub fn renew(&mut self, identity: Identity, place: Place) {
        self.waiting.push(Waiting { at: self.stand(identity), place, renews: true });
    }

    /// Takes in what waits.
    ///
    /// PERF: every insert misses the cache. To look at the places of many before the first is put lets them miss it at
    /// the same time.
    pub fn settle(&mut self) {
        let waiting = std::mem::take(&mut self.waiting);
        for some in waiting.chunks(TOUCHED) {
            std::hint::black_box(some.iter().fold(0, |sum: u8, waiting| sum ^ self.touch(waiting.at)));
            for waiting in some {
                self.put(waiting);
            }
        }
        self.waiting = waiting;
        self.waiting.clear();
    }

    fn stand(&self, identity: Identity) -> Stand {
        let [shard, tag @ .., _] = self.keys.hash_one(u128::from_le_bytes(identity)).to_le_bytes();
        Stand { shard, tag }
    }

    /// Something of the slot where the way of an identity begins.
    fn touch(&self, Stand { shard, tag }: Stand) -> u8 {
        let slot = self.shards.get(usize::from(shard)).and_then(|shard| shard.slots.get(shard.home_of(tag)));
        slot.map_or(0, |slot| slot.tag[0])
    }

    fn put(&mut self, waiting: &Waiting) {
        let Waiting { at: Stand { shard, tag }, place, renews } = *waiting;
        let (generation, slots_max) = (self.generation, self.shard_slots_max());
        let Some(shard) = self.shards.get_mut(usize::from(shard)) else { return };
        if shard.is_full() {
            shard.make_room(slots_max, generation);
        }
        let has_room = !shard.is_full();
        let Some(slot) = shard.slot_of(tag).and_then(|at| shard.slots.get_mut(at)) else { return };
        if slot.is_known(generation) {
            if !renews {
                return;
            }
            if let Some(held) = self.held.get_mut(usize::from(slot.generation % GENERATIONS)) {
                *held -= 1;
            }
        } else if slot.is_empty() {
            if !has_room {
                self.forgotten += 1;
                return;
            }
            shard.used += 1;
        }
        *slot = Slot { tag, place: place.pack().to_le_bytes(), generation };
        let Some(held) = self.held.get_mut(usize::from(generation % GENERATIONS)) else { return };
        *held += 1;
        if *held == self.generation_max {
            self.begin_generation();
        }
    }

    /// The next generation begins, and the oldest is forgotten.
    #[cold]
    fn begin_generation(&mut self) {
        self.generation = self.generation.wrapping_add(1);
        let oldest = usize::from(self.generation % GENERATIONS);
        if let Some(held) = self.held.get_mut(oldest) {
            self.forgotten += u64::from(std::mem::take(held));
        }
        if self.forgotten > 0 {
            // So none of them is still there when its number comes round.
            let shards = self.shards.chunks_mut(SHARDS / usize::from(GENERATIONS)).nth(oldest);
            for shard in shards.into_iter().flatten() {
                shard.rebuild(shard.slots.len(), self.generation);
            }
        }
    }
}

impl Shard {
    /// Linear probing needs a quarter of the slots empty, or ways get long.
    fn is_full(&self) -> bool {
        self.used * 4 >= self.slots.len() * 3
    }

    /// The slot of a tag, or the first empty one on its way.
    fn slot_of(&self, tag: [u8; 6]) -> Option<usize> {
        let home = self.home_of(tag);
        let (before, behind) = self.slots.split_at_checked(home)?;
        let fits = |slot: &Slot| slot.is_empty() || slot.tag == tag;
        if behind.first().is_some_and(fits) {
            return Some(home);
        }
        let ahead = behind.iter().position(fits);
        ahead.map(|at| home + at).or_else(|| before.iter().position(fits))
    }

    /// Where the way of a tag begins.
    fn home_of(&self, [a, b, c, d, ..]: [u8; 6]) -> usize {
        let part = u64::from(u32::from_le_bytes([a, b, c, d]));
        ((part * self.slots.len() as u64) >> 32) as usize
    }

    /// Grows by a quarter, so that little stands empty; at the limit, drops what is forgotten.
    #[cold]
    fn make_room(&mut self, slots_max: usize, generation: u8) {
        let slots = self.slots.len();
        if slots < slots_max {
            self.rebuild((slots + slots / 4).clamp(SHARD_SLOTS_MIN, slots_max), generation);
        } else if self.swept != generation {
            self.rebuild(slots, generation);
        }
    }

    /// So many slots, with what is known.
    fn rebuild(&mut self, slots: usize, generation: u8) {
        let old = std::mem::replace(&mut self.slots, vec![Slot::default(); slots]);
        (self.used, self.swept) = (0, generation);
        for slot in old.into_iter().filter(|slot| slot.is_known(generation)) {
            if let Some(at) = self.slot_of(slot.tag)
                && let Some(new) = self.slots.get_mut(at)
            {
                *new = slot;
                self.used += 1;
            }
        }
    }
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

    /// An identity of a number, in a family of names.
    fn named(family: u64, number: u64) -> Identity {
        let mix = |seed| foldhash::fast::FixedState::with_seed(family ^ seed).hash_one(number);
        (u128::from(mix(1)) << 64 | u128::from(mix(2))).to_le_bytes()
    }

    #[test]
    fn what_was_put_down_longest_ago_is_forgotten_however_it_is_named() {
        const GENERATION: u64 = 8192;
        const KNOWN_MAX: u64 = GENERATION * GENERATIONS as u64;
        const MORE: u64 = KNOWN_MAX + 10 * GENERATION + 1234;
        let run = |family: u64| {
            let mut places = Places::with_generations_of(GENERATION as u32);
            for number in 0..MORE {
                places.insert(named(family, number), Place { input: 1, position: number });
                if number % 4096 == 4095 {
                    // The first ones are seen again and again, and stay.
                    for first in 0..10 {
                        places.renew(named(family, first), Place { input: 1, position: number });
                    }
                    places.settle();
                }
            }
            places.settle();
            let found = (0..MORE).map(|number| places.find(named(family, number)));
            let known: Vec<_> = found.map(|place| place.map(|place| place.position)).collect();
            (places.forgotten(), known)
        };
        let (forgotten, known) = run(3);
        assert!((forgotten, known.clone()) == run(4), "the same are known");
        assert!(known[..10].iter().all(|place| *place == Some(MORE / 4096 * 4096 - 1)));
        let begin = known[10..].iter().position(Option::is_some).unwrap() + 10;
        assert!(known[begin..].iter().zip(begin as u64..).all(|(place, number)| *place == Some(number)));
        assert_eq!(forgotten, begin as u64 - 10);
        let left = MORE - forgotten;
        assert!((KNOWN_MAX - 2 * GENERATION..=KNOWN_MAX).contains(&left), "{left}");
    }

    #[test]
    fn numbers_of_generations_come_round() {
        const GENERATION: u32 = 512;
        let mut places = Places::with_generations_of(GENERATION);
        let place = |position| Place { input: 0, position };
        places.insert(named(1, u64::MAX), place(7));
        for round in 0..600 {
            for number in 0..u64::from(GENERATION) {
                places.renew(named(1, number), place(round));
            }
            places.settle();
            let first = places.find(named(1, u64::MAX));
            assert_eq!(first, (places.forgotten() == 0).then(|| place(7)), "{round}");
        }
        assert_eq!(places.forgotten(), 1);
    }

    #[test]
    fn a_full_part_takes_nothing_more_and_says_so() {
        let mut places = Places::with_generations_of(4096);
        let slots_max = places.shard_slots_max();
        // All in one shard.
        let in_one = (0..).map(|number| named(1, number)).filter(|name| places.stand(*name).shard == 0);
        let names: Vec<_> = in_one.take(slots_max).collect();
        for (position, name) in (0..).zip(&names) {
            places.insert(*name, Place { input: 0, position });
        }
        places.settle();
        assert_eq!(places.forgotten(), names.len() as u64 - slots_max as u64 / 4 * 3);
        assert_eq!(places.shards[0].slots.len(), slots_max);
    }
}
