//! The entries of one kind: slots of one length in chunks that never move, and an index over them.
//!
//! ```text
//! identity ─► shard of the index ─► number of a slot ─► expiry · chance · identity · value
//!
//! slots   [ . . x . . . . . x . . ]      the broom frees what is dead, a few slots with each write
//!             ▲hand                      at the limit the hand gives up what it meets first
//! ```
//!
//! An entry costs 21 bytes and its value, and 5 to 10 in the index. New entries go to the end, or to a slot that was
//! freed, so the hand meets them in the order in which they came; one that was written again since it passed has
//! another chance. What is given up depends on the order of writes alone: the index has a random key of the process,
//! but its order is never asked for. Growing moves nothing but one of [`SHARDS`] parts of the index.

use std::cell::Cell;
use std::hash::{BuildHasher as _, RandomState};

use foldhash::fast::FixedState;
use hashbrown::HashTable;

use super::{Entry, Kind};
use crate::credentials::digest::Identity;
use crate::state::bytes::Bytes;
use crate::state::window::Second;

/// Parts of the index.
const SHARDS: usize = 256;
/// Slots of a chunk.
const CHUNK: usize = 1024;
/// Bytes of a slot before its value: expiry (0: free), chance, identity.
const HEAD: usize = 4 + 1 + 16;
/// Slots that the broom passes with each write.
const SWEPT: u32 = 8;
/// LIMIT: slots that the hand passes for one entry that is given up.
const PASSED_MAX: usize = 64;

/// All entries of one kind.
pub(super) struct Rack {
    kind: Kind,
    chunks: Vec<Box<[u8]>>,
    /// Slots that were ever used.
    end: u32,
    free: Vec<u32>,
    index: Vec<HashTable<u32>>,
    /// PERF: identities are hashes already; with a key that nobody knows, one multiplication spreads them.
    keys: FixedState,
    len: usize,
    broom: u32,
    /// Nothing expires before this second; and so of what the broom has passed in this round.
    soonest: Second,
    soonest_passed: Second,
    hand: u32,
    scratch: Vec<u8>,
    /// The last identity that was looked up, and its number if it has one.
    ///
    /// PERF: a record's entry is looked up to judge it, and once more to write it.
    last: Cell<Option<(Identity, Option<u32>)>>,
}

/// A slot as it stands.
struct Slot<'a> {
    expiry: Second,
    chance: bool,
    identity: &'a Identity,
    value: &'a [u8],
}

impl Rack {
    pub(super) fn new(kind: Kind) -> Self {
        Self {
            kind,
            chunks: Vec::new(),
            end: 0,
            free: Vec::new(),
            index: (0..SHARDS).map(|_| HashTable::new()).collect(),
            keys: FixedState::with_seed(RandomState::new().hash_one(0_u64)),
            len: 0,
            broom: 0,
            soonest: Second::MAX,
            soonest_passed: Second::MAX,
            hand: 0,
            scratch: Vec::new(),
            last: Cell::new(None),
        }
    }

    pub(super) fn kind(&self) -> Kind {
        self.kind
    }

    pub(super) fn len(&self) -> usize {
        self.len
    }

    /// Bytes that it holds.
    pub(super) fn bytes(&self) -> usize {
        let chunks: usize = self.chunks.iter().map(|chunk| chunk.len()).sum();
        chunks + self.index.iter().map(HashTable::allocation_size).sum::<usize>() + self.free.capacity() * 4
    }

    pub(super) fn find(&self, identity: Identity) -> Option<(Entry, Second)> {
        let number = self.number(identity)?;
        self.entry(&self.slot(number)?)
    }

    /// Every entry, in the order of the slots.
    pub(super) fn iter(&self) -> impl Iterator<Item = (Identity, (Entry, Second))> + '_ {
        (0..self.end).filter_map(|number| {
            let slot = self.slot(number).filter(|slot| slot.expiry > 0)?;
            Some((*slot.identity, self.entry(&slot)?))
        })
    }

    /// Puts an entry, or nothing, in place; says what was there.
    pub(super) fn put(
        &mut self,
        identity: Identity,
        entry: Option<(Entry, Second)>,
    ) -> Option<(Entry, Second)> {
        let number = self.number(identity);
        let before = number.and_then(|number| self.entry(&self.slot(number)?));
        match (number, entry) {
            (Some(number), Some(entry)) => self.write(number, true, identity, entry),
            (Some(number), None) => self.free(number, true),
            (None, Some(entry)) => self.enter(identity, entry),
            (None, None) => {}
        }
        before
    }

    /// Frees what expires at or before `dead` among the next few slots, but not the entry that is written next.
    ///
    /// PERF: as long as nothing can be dead, the broom rests: it took a tenth of the gate's time on an audit of a day.
    pub(super) fn sweep(&mut self, dead: Second, written: Identity) {
        if dead < self.soonest {
            return;
        }
        for _ in 0..SWEPT.min(self.end) {
            self.broom = if self.broom + 1 < self.end { self.broom + 1 } else { 0 };
            match self.slot(self.broom) {
                Some(slot) if slot.expiry == 0 => {}
                Some(slot) if slot.expiry > dead || *slot.identity == written => {
                    self.soonest_passed = self.soonest_passed.min(slot.expiry);
                }
                _ => self.free(self.broom, true),
            }
            if self.broom == 0 {
                (self.soonest, self.soonest_passed) = (self.soonest_passed, Second::MAX);
            }
        }
    }

    /// Takes out one of the entries that were not written for longest, any but one.
    pub(super) fn give_up(&mut self, except: Option<Identity>) -> Option<(Identity, (Entry, Second))> {
        let (mut first, mut passed, mut looked_at) = (None, 0, 0);
        while passed < PASSED_MAX && looked_at < self.end {
            let number = self.hand;
            self.hand = if number + 1 < self.end { number + 1 } else { 0 };
            looked_at += 1;
            let Some(slot) = self.slot(number).filter(|slot| slot.expiry > 0) else { continue };
            if except == Some(*slot.identity) {
                continue;
            }
            passed += 1;
            let chance = slot.chance;
            first = first.or(Some(number));
            if !chance {
                first = Some(number);
                break;
            }
            self.set_chance(number, false);
        }
        let number = first?;
        let slot = self.slot(number)?;
        let given_up = (*slot.identity, self.entry(&slot)?);
        // Whoever comes here next is the newest: the hand has just passed.
        self.free(number, false);
        Some(given_up)
    }

    fn entry(&self, slot: &Slot<'_>) -> Option<(Entry, Second)> {
        Some((Entry::read(self.kind, &mut Bytes(slot.value))?, slot.expiry))
    }

    pub(super) fn hash(&self, identity: &Identity) -> u64 {
        self.keys.hash_one(u128::from_le_bytes(*identity))
    }

    fn number(&self, identity: Identity) -> Option<u32> {
        if let Some((_, number)) = self.last.get().filter(|(last, _)| *last == identity) {
            return number;
        }
        let hash = self.hash(&identity);
        let shard = self.index.get(shard_of(hash))?;
        let is_it = |number: &u32| self.slot(*number).is_some_and(|slot| *slot.identity == identity);
        let number = shard.find(hash, is_it).copied();
        self.last.set(Some((identity, number)));
        number
    }

    /// Has the place of the index fetched where the search for a hash begins.
    ///
    /// PERF: the table begins at the hash modulo its length. Should that ever change, only time is lost.
    pub(super) fn touch_index(&self, hash: u64) -> Option<u32> {
        let shard = self.index.get(shard_of(hash))?;
        let begin = hash as usize & shard.num_buckets().wrapping_sub(1);
        shard.get_bucket(begin).copied()
    }

    /// Most likely the number of the slot of an identity with this hash, if it has one; nothing is compared.
    pub(super) fn number_near(&self, hash: u64) -> Option<u32> {
        self.index.get(shard_of(hash))?.find(hash, |_| true).copied()
    }

    /// Something of the first and of the last byte of a slot.
    pub(super) fn touch(&self, number: u32) -> Option<u8> {
        let (stride, number) = (self.stride(), number as usize);
        let chunk = self.chunks.get(number / CHUNK)?;
        let at = number % CHUNK * stride;
        Some(chunk.get(at)? ^ chunk.get(at + stride - 1)?)
    }

    /// Gives a newcomer a slot.
    fn enter(&mut self, identity: Identity, entry: (Entry, Second)) {
        let (number, chance) = if let Some(number) = self.free.pop() {
            (number, self.slot(number).is_some_and(|slot| slot.chance))
        } else {
            let stride = self.stride();
            if self.end as usize == self.chunks.len() * CHUNK {
                self.chunks.push(vec![0; CHUNK * stride].into_boxed_slice());
            }
            self.end += 1;
            (self.end - 1, false)
        };
        self.write(number, chance, identity, entry);
        self.len += 1;
        self.last.set(None);
        let hash = self.hash(&identity);
        if let Some(shard) = self.index.get(shard_of(hash))
            && shard.len() == shard.capacity()
        {
            // PERF: a part that grows asks every slot for its identity. To touch them first lets the misses overlap.
            let touched = shard.iter().filter_map(|number| self.touch(*number));
            std::hint::black_box(touched.fold(0, |sum, byte| sum ^ byte));
        }
        let Self { index, chunks, keys, kind, .. } = self;
        let Some(shard) = index.get_mut(shard_of(hash)) else { return };
        shard.insert_unique(hash, number, |number| {
            let slot = slot_in(chunks, HEAD + kind.value_bytes(), *number);
            slot.map_or(0, |slot| keys.hash_one(u128::from_le_bytes(*slot.identity)))
        });
    }

    /// Frees a slot; `chance` says whether its next entry has one, because the hand may be about to come.
    fn free(&mut self, number: u32, chance: bool) {
        let Some(slot) = self.slot(number) else { return };
        let hash = self.hash(slot.identity);
        self.last.set(None);
        if let Some(shard) = self.index.get_mut(shard_of(hash))
            && let Ok(found) = shard.find_entry(hash, |other| *other == number)
        {
            found.remove();
        }
        if let Some(expiry) = self.slot_mut(number).and_then(|slot| slot.first_chunk_mut::<4>()) {
            *expiry = [0; 4];
        }
        self.set_chance(number, chance);
        self.free.push(number);
        self.len -= 1;
    }

    fn write(&mut self, number: u32, chance: bool, identity: Identity, (entry, expiry): (Entry, Second)) {
        let expiry = expiry.max(1);
        self.soonest = self.soonest.min(expiry);
        self.soonest_passed = self.soonest_passed.min(expiry);
        let mut bytes = std::mem::take(&mut self.scratch);
        bytes.clear();
        bytes.extend_from_slice(&expiry.to_le_bytes());
        bytes.push(u8::from(chance));
        bytes.extend_from_slice(&identity);
        entry.write(&mut bytes);
        if let Some(slot) = self.slot_mut(number).filter(|slot| slot.len() == bytes.len()) {
            slot.copy_from_slice(&bytes);
        }
        self.scratch = bytes;
    }

    fn set_chance(&mut self, number: u32, chance: bool) {
        if let Some(byte) = self.slot_mut(number).and_then(|slot| slot.get_mut(4)) {
            *byte = u8::from(chance);
        }
    }

    fn stride(&self) -> usize {
        HEAD + self.kind.value_bytes()
    }

    fn slot(&self, number: u32) -> Option<Slot<'_>> {
        slot_in(&self.chunks, self.stride(), number)
    }

    fn slot_mut(&mut self, number: u32) -> Option<&mut [u8]> {
        let (stride, number) = (self.stride(), number as usize);
        let at = number % CHUNK * stride;
        self.chunks.get_mut(number / CHUNK)?.get_mut(at..at + stride)
    }
}

fn slot_in(chunks: &[Box<[u8]>], stride: usize, number: u32) -> Option<Slot<'_>> {
    let at = number as usize % CHUNK * stride;
    let slot = chunks.get(number as usize / CHUNK)?.get(at..at + stride)?;
    let (expiry, rest) = slot.split_first_chunk()?;
    let (chance, rest) = rest.split_first()?;
    let (identity, value) = rest.split_first_chunk()?;
    Some(Slot { expiry: u32::from_le_bytes(*expiry), chance: *chance != 0, identity, value })
}

/// The table takes its own bits from both ends of the hash.
fn shard_of(hash: u64) -> usize {
    (hash >> 24) as usize % SHARDS
}

#[cfg(test)]
mod tests {
    use std::collections::HashMap;

    use super::*;
    use crate::credentials::digest::identity;
    use crate::state::tests::Random;

    fn id(number: u64) -> Identity {
        identity(&[&number.to_le_bytes()])
    }

    fn entry(hops: u64, expiry: Second) -> (Entry, Second) {
        (Entry::OlympusMessage { hops: Some(hops as u8 % 60) }, expiry)
    }

    #[test]
    fn it_holds_what_a_map_holds() {
        let mut random = Random::seeded("it_holds_what_a_map_holds");
        let (mut rack, mut model) = (Rack::new(Kind::OlympusMessage), HashMap::new());
        for round in 0..60_000_u64 {
            let key = id(random.below(3000));
            let value = (random.below(3) > 0).then(|| entry(round, 1 + random.below(900) as Second));
            let before = match value {
                Some(value) => model.insert(key, value),
                None => model.remove(&key),
            };
            assert_eq!(rack.put(key, value), before, "round {round}");
            if random.below(50) == 0 {
                let dead = random.below(5) as Second;
                rack.sweep(dead, id(0));
                let gone: Vec<_> = model.keys().copied().filter(|key| rack.find(*key).is_none()).collect();
                for key in gone {
                    let (_, expiry) = model.remove(&key).unwrap();
                    assert!(expiry <= dead, "only the dead are swept");
                }
            }
        }
        assert_eq!(rack.len(), model.len());
        assert_eq!(rack.iter().collect::<HashMap<_, _>>(), model);
        assert!(rack.end as usize <= 3001, "freed slots are used again: {}", rack.end);
    }

    #[test]
    fn a_look_up_is_remembered_only_as_long_as_it_is_true() {
        let mut rack = Rack::new(Kind::OlympusMessage);
        assert_eq!(rack.find(id(1)), None);
        rack.put(id(1), Some(entry(1, 5)));
        assert_eq!(rack.find(id(1)), Some(entry(1, 5)));
        rack.put(id(1), Some(entry(2, 7)));
        assert_eq!(rack.find(id(1)), Some(entry(2, 7)), "written again");
        rack.sweep(9, id(0));
        assert_eq!(rack.find(id(1)), None, "swept");
        rack.put(id(2), Some(entry(3, 20)));
        assert_eq!((rack.find(id(1)), rack.find(id(2))), (None, Some(entry(3, 20))), "its slot has another");
        assert_eq!(rack.give_up(None).map(|(gone, _)| gone), Some(id(2)));
        assert_eq!(rack.find(id(2)), None, "given up");
    }

    #[test]
    fn the_oldest_are_given_up_and_what_goes_on_stays() {
        let mut rack = Rack::new(Kind::OlympusMessage);
        for number in 0..1000 {
            rack.put(id(number), Some(entry(0, 10)));
        }
        for number in (0..1000).step_by(10) {
            rack.put(id(number), Some(entry(1, 20)));
        }
        // For everyone who comes, one goes: in the order in which they came, but for those that were written again.
        for number in 0..900 {
            rack.put(id(5000 + number), Some(entry(2, 30)));
            let (gone, _) = rack.give_up(None).unwrap();
            assert_eq!(gone, id(number / 9 * 10 + number % 9 + 1), "{number}");
        }
        assert!((0..1000).step_by(10).all(|number| rack.find(id(number)).is_some()));
        // Then the first newcomer, and of those that went on any but the one that is asked to stay.
        assert_eq!(rack.give_up(None).map(|(gone, _)| gone), Some(id(5000)));
        assert_eq!(rack.give_up(Some(id(0))).map(|(gone, _)| gone), Some(id(5001)));
    }

    #[test]
    fn the_broom_rests_only_while_nothing_is_dead() {
        let mut random = Random::seeded("the_broom_rests_only_while_nothing_is_dead");
        let mut rack = Rack::new(Kind::OlympusMessage);
        let mut dead = 0;
        for number in 0..20_000 {
            rack.put(id(number), Some(entry(0, dead + 1 + random.below(500) as Second)));
            // Time stands still for a while, and then goes on.
            dead += Second::from(number % 3000 > 1500);
            let is_dead = |rack: &Rack| rack.iter().filter(|(_, (_, expiry))| *expiry <= dead).count();
            if number % 997 == 0 {
                let rests = dead < rack.soonest;
                assert!(!rests || is_dead(&rack) == 0, "round {number}");
                // One round of the broom finds them all.
                for _ in 0..=rack.end / SWEPT {
                    rack.sweep(dead, id(u64::MAX));
                }
                assert_eq!(is_dead(&rack), 0, "round {number}");
            }
        }
    }

    #[test]
    fn entries_are_small() {
        let mut rack = Rack::new(Kind::OlympusMessage);
        for number in 0..300_000 {
            rack.put(id(number), Some(entry(0, 10)));
        }
        let each = rack.bytes() as f64 / 300_000.0;
        assert!(each < 33.0, "{each:.1} bytes");
    }
}
