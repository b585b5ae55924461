//! The window's table: slots of 24 bytes, sorted by key, with gaps.
//!
//! ```text
//! key ─► expected place = key × slots ─► walk right to the key, a greater one, or a gap
//!
//! shards     0        1        2   hand►  3        4        5
//!         [old layout, not yet passed ][new layout, rebuilt, the dead dropped]
//! ```
//!
//! Keys are spread evenly (the window mixes them with a random key of the process), so a key's place is proportional to
//! its value, and a table that grows keeps its order. It therefore grows in place, from the right to the left, shard by
//! shard: every insert pays for a fixed number of slots, and when a shard is paid for, the hand rebuilds it in the new
//! layout and drops what has expired. There is never a second table. Nothing is moved by an insert but the slots of the
//! shard that the hand passes and of the shard that the key falls into, at most [`MOVED_SLOTS_MAX`] together.

use std::collections::BTreeMap;

/// Bytes of one slot.
pub const SLOT_BYTES: usize = size_of::<Cell>();
/// LIMIT: slots of a shard that keys point at.
const SPAN_MAX: u64 = 6144;
/// Slots behind them, for keys that are pushed out to the right.
const PAD: u64 = 96;
/// LIMIT: slots that one insert can move: a shard that is rebuilt, and a shift within another.
pub const MOVED_SLOTS_MAX: u64 = 2 * (SPAN_MAX + PAD);
/// Slots that every insert pays for; one in this many slots can therefore be dead.
const PAID_SLOTS: u64 = 32;
/// Share of slots that are taken when a round begins, in percent. By the end of the next round it is at most six higher.
const LOAD_PERCENT: u64 = 82;
/// Share of all slots that can be taken at the limit, in percent.
const LOAD_PERCENT_MAX: u64 = 83;
/// LIMIT: the smallest table.
const SPAN_MIN: u64 = 256;

/// A slot in memory: key (four words), tag, expiry. Plain words, so that memory from the system is a row of gaps.
type Cell = [u32; 6];
const GAP: Cell = [0; 6];

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

/// How keys map to slots.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Layout {
    shards: u64,
    span: u64,
}

impl Layout {
    fn shard_slots(self) -> u64 {
        self.span + PAD
    }

    fn slots(self) -> u64 {
        self.shards * self.shard_slots()
    }

    fn shard(self, key: Key) -> u64 {
        ((u128::from(key.0) * u128::from(self.shards)) >> 64) as u64
    }

    /// The place within the shard.
    fn place(self, key: Key) -> usize {
        let rest = (u128::from(key.0) * u128::from(self.shards)) & u128::from(u64::MAX);
        ((rest * u128::from(self.span)) >> 64) as usize
    }
}

/// The table.
pub struct Table {
    cells: Vec<Cell>,
    /// Shards left of the hand.
    old: Layout,
    /// Shards from the hand on, counted in the old layout.
    new: Layout,
    hand: u64,
    paid: u64,
    len: usize,
    /// Keys whose shard has no room: rare, since keys are spread evenly.
    spilled: BTreeMap<Key, Kept>,
    scratch: Vec<(Key, Kept)>,
    moved_max: u64,
}

impl Table {
    /// A table within so many bytes. The memory is reserved and taken as the table grows.
    #[must_use]
    pub fn new(bytes_max: u64) -> Self {
        let slots_max = (bytes_max / SLOT_BYTES as u64).max(SPAN_MIN + PAD);
        let first = Layout { shards: 1, span: SPAN_MIN };
        Self {
            cells: vec![GAP; slots_max as usize],
            old: first,
            new: first,
            hand: 1,
            paid: 0,
            len: 0,
            spilled: BTreeMap::new(),
            scratch: Vec::new(),
            moved_max: 0,
        }
    }

    /// How many ids are kept, the dead ones that the hand has not reached included.
    #[must_use]
    pub fn len(&self) -> usize {
        self.len
    }

    /// Whether there is none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// How many ids fit.
    #[must_use]
    pub fn len_max(&self) -> usize {
        self.cells.len() * LOAD_PERCENT_MAX as usize / 100
    }

    /// Bytes that are in use: the slots of the layout, and what has spilled.
    #[must_use]
    pub fn bytes(&self) -> usize {
        self.new.slots().max(self.old.slots()) as usize * SLOT_BYTES
            + self.spilled.len() * (size_of::<Key>() + size_of::<Kept>()) * 2
    }

    /// The most slots that one insert has moved so far.
    #[must_use]
    pub fn moved_max(&self) -> u64 {
        self.moved_max
    }

    /// How many ids stand beside the table because their shard has no room.
    #[must_use]
    pub fn spilled(&self) -> usize {
        self.spilled.len()
    }

    /// What is kept under a key.
    #[must_use]
    pub fn find(&self, key: Key) -> Option<Kept> {
        let (shard, place) = self.shard_of(key);
        for cell in shard.get(place..).unwrap_or_default() {
            let Some((found, kept)) = read(cell) else { break };
            if found >= key {
                return (found == key).then_some(kept).or_else(|| self.find_spilled(key));
            }
        }
        self.find_spilled(key)
    }

    fn find_spilled(&self, key: Key) -> Option<Kept> {
        if self.spilled.is_empty() { None } else { self.spilled.get(&key).copied() }
    }

    /// Keeps a key that is not there, or replaces what is kept under it. Entries that expire at or before `dead` are
    /// dropped where the hand passes.
    pub fn insert(&mut self, key: Key, kept: Kept, dead: u32) {
        self.paid += PAID_SLOTS;
        let mut moved = 0;
        if self.paid >= self.old.shard_slots() {
            self.paid = 0;
            moved = self.pass(dead);
        }
        moved += self.put(key, kept);
        self.moved_max = self.moved_max.max(moved);
    }

    /// Puts a key into its place; says how many slots moved.
    fn put(&mut self, key: Key, kept: Kept) -> u64 {
        if !self.spilled.is_empty()
            && let Some(there) = self.spilled.get_mut(&key)
        {
            *there = kept;
            return 0;
        }
        let (shard, place) = self.shard_of_mut(key);
        let Some(tail) = shard.get_mut(place..) else { return 0 };
        let ahead = |cell: &Cell| read(cell).is_some_and(|(found, _)| found < key);
        let from = tail.iter().position(|cell| !ahead(cell)).unwrap_or(tail.len());
        let Some(tail) = tail.get_mut(from..) else { return 0 };
        match tail.first_mut() {
            Some(cell) if read(cell).is_some_and(|(found, _)| found == key) => {
                *cell = write(key, kept);
                return 0;
            }
            _ => {}
        }
        self.len += 1;
        // The borrow of the tail ends with the counter; take it again.
        let (shard, place) = self.shard_of_mut(key);
        let tail = shard.get_mut(place + from..).unwrap_or_default();
        let Some(gap) = tail.iter().position(|cell| *cell == GAP) else {
            self.spilled.insert(key, kept);
            return 0;
        };
        if let Some(run) = tail.get_mut(..=gap) {
            run.rotate_right(1);
            if let Some(cell) = run.first_mut() {
                *cell = write(key, kept);
            }
        }
        gap as u64
    }

    /// Forgets a key.
    pub fn remove(&mut self, key: Key) -> Option<Kept> {
        if let Some(kept) = self.spilled.remove(&key) {
            self.len -= 1;
            return Some(kept);
        }
        let layout = self.layout_of(key);
        let (shard, place) = self.shard_of_mut(key);
        let tail = shard.get_mut(place..)?;
        let at = tail.iter().position(|cell| read(cell).is_none_or(|(found, _)| found >= key))?;
        let (found, kept) = tail.get(at).and_then(read)?;
        if found != key {
            return None;
        }
        // What was pushed to the right moves back, up to the first that stands where it belongs.
        let at = place + at;
        let run = shard.get_mut(at..)?;
        let stays =
            |index: usize, cell: &Cell| read(cell).is_none_or(|(other, _)| layout.place(other) == at + index);
        let end = (run.iter().enumerate().skip(1))
            .position(|(index, cell)| stays(index, cell))
            .map_or(run.len(), |more| more + 1);
        let run = run.get_mut(..end)?;
        run.rotate_left(1);
        if let Some(last) = run.last_mut() {
            *last = GAP;
        }
        self.len -= 1;
        Some(kept)
    }

    /// Drops what is dead in the shard of a key.
    pub fn purge_around(&mut self, key: Key, dead: u32) {
        let layout = self.layout_of(key);
        let shard = layout.shard(key);
        let start = (shard * layout.shard_slots()) as usize;
        self.gather(start, layout.shard_slots() as usize, dead);
        self.spread(layout);
        let dead_spilled =
            |(found, kept): (&Key, &mut Kept)| layout.shard(*found) == shard && kept.expiry <= dead;
        let before = self.spilled.len();
        self.spilled.retain(|found, kept| !dead_spilled((found, kept)));
        self.len -= before - self.spilled.len();
    }

    /// The entry of a key's shard that expires first; of those that expire together, the one with the smallest key.
    #[must_use]
    pub fn oldest_around(&self, key: Key) -> Option<(Key, Kept)> {
        let (shard, _) = self.shard_of(key);
        shard.iter().filter_map(read).min_by_key(|(found, kept)| (kept.expiry, *found))
    }

    /// Everything that is kept, in no order that means anything.
    pub fn iter(&self) -> impl Iterator<Item = (Key, Kept)> + '_ {
        let used = self.new.slots().max(self.old.slots()) as usize;
        let cells = self.cells.get(..used).unwrap_or_default();
        cells.iter().filter_map(read).chain(self.spilled.iter().map(|(key, kept)| (*key, *kept)))
    }

    /// The hand passes the next shard; a round that has ended begins anew with the layout that is needed by now.
    fn pass(&mut self, dead: u32) -> u64 {
        if self.hand == 0 {
            self.old = self.new;
            self.new = self.grown();
            self.hand = self.old.shards;
        }
        let slots = self.old.shard_slots();
        self.hand -= 1;
        self.gather((self.hand * slots) as usize, slots as usize, dead);
        self.spread(self.new);
        if !self.spilled.is_empty() {
            self.take_back();
        }
        slots
    }

    /// The layout of the next round.
    fn grown(&self) -> Layout {
        let old = self.old;
        let needed = self.len as u64 * 100 / LOAD_PERCENT + 1;
        let mut new = old;
        if needed.div_ceil(new.shards) > SPAN_MAX {
            new.shards *= 2;
        }
        // Shards only move to the right, so none may be smaller than what it comes from.
        let least = if new.shards == old.shards { old.span } else { old.shard_slots().div_ceil(2) };
        new.span = needed.div_ceil(new.shards).clamp(least, SPAN_MAX.max(least));
        let room = self.cells.len() as u64;
        if new.slots() > room {
            new.span = (room / new.shards).saturating_sub(PAD);
        }
        if new.span >= least && new.slots() <= room { new } else { old }
    }

    /// Takes a row of slots out, the dead dropped.
    fn gather(&mut self, start: usize, slots: usize, dead: u32) {
        let cells = self.cells.get_mut(start..start + slots).unwrap_or_default();
        self.scratch.clear();
        self.scratch.extend(cells.iter().filter_map(read));
        cells.fill(GAP);
        let before = self.scratch.len();
        self.scratch.retain(|(_, kept)| kept.expiry > dead);
        self.len -= before - self.scratch.len();
    }

    /// Puts what was taken out, which is in order, into its places in a layout.
    fn spread(&mut self, layout: Layout) {
        let slots = layout.shard_slots() as usize;
        let (mut shard, mut next) = (u64::MAX, 0);
        for (key, kept) in self.scratch.drain(..) {
            let own = layout.shard(key);
            if own != shard {
                (shard, next) = (own, 0);
            }
            let at = layout.place(key).max(next);
            let cell = (at < slots).then(|| self.cells.get_mut(own as usize * slots + at)).flatten();
            match cell {
                Some(cell) => *cell = write(key, kept),
                None => {
                    self.spilled.insert(key, kept);
                }
            }
            next = at + 1;
        }
    }

    /// What has spilled tries again.
    fn take_back(&mut self) {
        let spilled = std::mem::take(&mut self.spilled);
        for (key, kept) in spilled {
            self.len -= 1;
            self.put(key, kept);
        }
    }

    fn layout_of(&self, key: Key) -> Layout {
        if self.old.shard(key) >= self.hand { self.new } else { self.old }
    }

    fn shard_of(&self, key: Key) -> (&[Cell], usize) {
        let layout = self.layout_of(key);
        let start = (layout.shard(key) * layout.shard_slots()) as usize;
        let shard = self.cells.get(start..start + layout.shard_slots() as usize);
        (shard.unwrap_or_default(), layout.place(key))
    }

    fn shard_of_mut(&mut self, key: Key) -> (&mut [Cell], usize) {
        let layout = self.layout_of(key);
        let start = (layout.shard(key) * layout.shard_slots()) as usize;
        let shard = self.cells.get_mut(start..start + layout.shard_slots() as usize);
        (shard.unwrap_or_default(), layout.place(key))
    }
}

fn read(cell: &Cell) -> Option<(Key, Kept)> {
    let [a, b, c, d, tag, expiry] = *cell;
    let join = |high: u32, low: u32| u64::from(high) << 32 | u64::from(low);
    (expiry != 0).then(|| ((join(a, b), join(c, d)), Kept { tag, expiry }))
}

fn write(key: Key, kept: Kept) -> Cell {
    let (high, low) = (|word: u64| (word >> 32) as u32, |word: u64| word as u32);
    [high(key.0), low(key.0), high(key.1), low(key.1), kept.tag, kept.expiry.max(1)]
}
