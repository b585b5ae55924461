//! The window's table: slots of 24 bytes in buckets of eight, the buckets in the order of the keys.
//!
//! ```text
//! key ─► shard, bucket = key × buckets ─► the key, or a bucket that is not full; else the next bucket
//!
//! shards     0        1        2   hand►  3        4        5
//!         [old layout, not yet passed ][new layout, rebuilt, the dead dropped]
//! ```
//!
//! Keys are spread evenly (the window mixes them with a random key of the process), so a key's bucket is proportional to
//! its value, and a table that grows keeps its order. It therefore grows in place, in rounds: when `FILLED_PERCENT` of
//! the slots are taken, every insert pays for a few buckets, first to add some at the right end, then for the hand that
//! goes from the right to the left, shard by shard, puts each into the new layout and drops what has expired. Then the
//! hand rests. There is never a second table. An insert moves nothing but the shard that the hand passes, at most
//! [`MOVED_SLOTS_MAX`] slots.

mod bucket;

use std::collections::{BTreeMap, TryReserveError};

use bucket::{Bucket, EMPTY, Entry, SLOTS};
pub use bucket::{Kept, Key};

/// Bytes of one slot.
pub const SLOT_BYTES: usize = size_of::<Bucket>() / SLOTS;
/// LIMIT: buckets of a shard that keys point at; a sixteenth more where the memory ends just there.
const SPAN_MAX: u64 = 768;
/// Buckets behind them, for keys whose own bucket is full.
const PAD: u64 = 8;
/// LIMIT: buckets of a shard.
const SHARD_MAX: u64 = SPAN_MAX + SPAN_MAX / 16 + PAD;
/// LIMIT: keys without room that one insert puts into their shard again.
const TAKEN_BACK_MAX: usize = 64;
/// LIMIT: slots that one insert can move: those of the shard that is rebuilt.
pub const MOVED_SLOTS_MAX: u64 = SHARD_MAX * SLOTS as u64 + TAKEN_BACK_MAX as u64;
/// Buckets that an insert pays for during a round, which therefore ends before the table is fuller by 1 in 32.
const PAID: u64 = 4;
/// Share of slots that are taken when a table has grown, in percent; the buckets behind each shard are not counted.
const ROOMY_PERCENT: u64 = 80;
/// Share of slots that are taken when a round begins.
const FILLED_PERCENT: u64 = 84;
/// A round grows the table if the live take more than this share; otherwise dropping the dead will do.
const GROWING_PERCENT: u64 = 83;
/// Share of all slots that can be taken at the limit.
pub const FULL_PERCENT: u64 = 85;
/// LIMIT: the smallest table.
const SPAN_MIN: u64 = 32;

/// How keys map to buckets.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Layout {
    shards: u64,
    span: u64,
}

impl Layout {
    fn shard_buckets(self) -> usize {
        (self.span + PAD) as usize
    }

    fn buckets(self) -> usize {
        self.shards as usize * self.shard_buckets()
    }

    fn slots(self) -> u64 {
        self.shards * self.span * SLOTS as u64
    }

    fn shard(self, key: Key) -> usize {
        ((u128::from(key.0) * u128::from(self.shards)) >> 64) as usize
    }

    /// The bucket within the shard.
    fn place(self, key: Key) -> usize {
        let rest = key.0.wrapping_mul(self.shards);
        ((u128::from(rest) * u128::from(self.span)) >> 64) as usize
    }
}

/// The table.
pub struct Table {
    /// The buckets in use; memory for `buckets_max` is reserved.
    buckets: Vec<Bucket>,
    buckets_max: u64,
    /// Shards left of the hand.
    old: Layout,
    /// Shards from the hand on, counted in the old layout.
    new: Layout,
    /// 0: it rests.
    hand: usize,
    paid: u64,
    len: usize,
    /// The number of ids at which the next round begins.
    filled: usize,
    /// Keys whose shard has no room: rare, since keys are spread evenly; and those that begin with 0.
    spilled: BTreeMap<Key, Kept>,
    scratch: Vec<Entry>,
    /// How many slots are taken in each bucket that is rebuilt.
    taken: Vec<u8>,
    moved_max: u64,
}

impl Table {
    /// A table within so many bytes, which are reserved; the system gives the memory as the table grows.
    pub fn new(bytes_max: u64) -> Result<Self, TryReserveError> {
        let buckets_max = (bytes_max / size_of::<Bucket>() as u64).max(SPAN_MIN + PAD);
        let first = Layout { shards: 1, span: SPAN_MIN };
        let mut buckets = Vec::new();
        buckets.try_reserve_exact(usize::try_from(buckets_max).unwrap_or(usize::MAX))?;
        buckets.resize(first.buckets(), EMPTY);
        Ok(Self {
            buckets,
            buckets_max,
            old: first,
            new: first,
            hand: 0,
            paid: 0,
            len: 0,
            filled: filled(first),
            spilled: BTreeMap::new(),
            scratch: Vec::new(),
            taken: Vec::new(),
            moved_max: 0,
        })
    }

    /// Makes room for so many ids at once, as far as the memory goes. Moves everything, so it is for the start of a run.
    pub fn reserve(&mut self, ids: u64) {
        // At the limit it shall grow as any other.
        let wanted =
            (ids.saturating_mul(100) / ROOMY_PERCENT).div_ceil(SLOTS as u64).min(self.buckets_max / 2);
        let shards = wanted.div_ceil(SPAN_MAX).max(1).next_power_of_two();
        let layout = Layout { shards, span: wanted.div_ceil(shards) };
        if layout.span < SPAN_MIN || layout.buckets() <= self.buckets.len() {
            return;
        }
        let all: Vec<Entry> = self.iter().collect();
        self.buckets.clear();
        self.buckets.resize(layout.buckets(), EMPTY);
        self.spilled.clear();
        (self.old, self.new, self.filled) = (layout, layout, filled(layout));
        (self.hand, self.paid, self.len) = (0, 0, 0);
        for (key, kept) in all {
            self.put(key, kept);
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
        (self.buckets_max * SLOTS as u64 * FULL_PERCENT / 100) as usize
    }

    /// Bytes that are in use: the buckets, and what has spilled.
    #[must_use]
    pub fn bytes(&self) -> usize {
        self.buckets.len() * size_of::<Bucket>() + self.spilled.len() * size_of::<Entry>() * 2
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

    /// The number of a key's bucket, for [`Self::touch`].
    #[must_use]
    pub fn place(&self, key: Key) -> usize {
        let layout = self.layout_of(key);
        layout.shard(key) * layout.shard_buckets() + layout.place(key)
    }

    /// Reads these buckets for nothing but to have them near.
    ///
    /// PERF: the reads do not wait for each other, so a dozen misses take the time of one or two.
    pub fn touch(&self, places: &[usize]) {
        let words = places.iter().filter_map(|place| self.buckets.get(*place)).map(Bucket::touch);
        std::hint::black_box(words.fold(0, |sum, word| sum ^ word));
    }

    /// What is kept under a key.
    #[must_use]
    pub fn find(&self, key: Key) -> Option<Kept> {
        for bucket in self.home(key) {
            if let Some(slot) = bucket.find(key) {
                return Some(bucket.kept(slot));
            }
            if !bucket.is_full() {
                break;
            }
        }
        if self.spilled.is_empty() { None } else { self.spilled.get(&key).copied() }
    }

    /// Keeps a key, and says what was kept under it before. Entries that expire at or before `dead` are dropped where
    /// the hand passes.
    pub fn insert(&mut self, key: Key, kept: Kept, dead: u32) -> Option<Kept> {
        if self.hand > 0 || self.len >= self.filled {
            let moved = self.pay(dead);
            self.moved_max = self.moved_max.max(moved);
        }
        self.put(key, kept)
    }

    fn put(&mut self, key: Key, kept: Kept) -> Option<Kept> {
        if !self.spilled.is_empty()
            && let Some(there) = self.spilled.get_mut(&key)
        {
            return Some(std::mem::replace(there, kept));
        }
        for bucket in self.home_mut(key) {
            if let Some(slot) = bucket.find(key) {
                let before = bucket.kept(slot);
                bucket.set(slot, (key, kept));
                return Some(before);
            }
            if !bucket.is_full() {
                bucket.set(bucket.taken(), (key, kept));
                self.len += 1;
                return None;
            }
        }
        self.len += 1;
        self.spilled.insert(key, kept);
        None
    }

    /// Forgets a key.
    pub fn remove(&mut self, key: Key) -> Option<Kept> {
        if let Some(kept) = self.spilled.remove(&key) {
            self.len -= 1;
            return Some(kept);
        }
        let layout = self.layout_of(key);
        let first = layout.place(key);
        let home = self.home_mut(key);
        // The key is in the first bucket that is not full, or in one before it.
        let end = home.iter().position(|bucket| !bucket.is_full()).map_or(home.len(), |end| end + 1);
        let (mut gap, slot) =
            (home.iter().take(end).enumerate()).find_map(|(at, bucket)| Some((at, bucket.find(key)?)))?;
        let kept = home.get(gap)?.kept(slot);
        let mut was_full = home.get(gap)?.is_full();
        home.get_mut(gap)?.free(slot);
        // What had to go further because this bucket was full comes back; what it leaves is filled the same way.
        let mut next = gap + 1;
        while was_full && let Some(bucket) = home.get(next) {
            let pushed = bucket.entries().position(|(other, _)| layout.place(other) <= first + gap);
            if let Some((slot, entry)) = pushed.and_then(|slot| Some((slot, bucket.entry(slot)?))) {
                was_full = bucket.is_full();
                home.get_mut(next)?.free(slot);
                let place = home.get_mut(gap)?;
                place.set(place.taken(), entry);
                gap = next;
            } else {
                was_full = bucket.is_full();
            }
            next += 1;
        }
        self.len -= 1;
        Some(kept)
    }

    /// Drops what is dead in the shard of a key.
    pub fn purge_around(&mut self, key: Key, dead: u32) {
        let layout = self.layout_of(key);
        let shard = layout.shard(key);
        self.gather(shard, layout, dead);
        self.spread(layout, shard, 1);
        let before = self.spilled.len();
        self.spilled.retain(|found, kept| layout.shard(*found) != shard || kept.expiry > dead);
        self.len -= before - self.spilled.len();
    }

    /// The entry of a key's shard that expires first.
    #[must_use]
    pub fn oldest_around(&self, key: Key) -> Option<(Key, Kept)> {
        let layout = self.layout_of(key);
        let start = layout.shard(key) * layout.shard_buckets();
        let shard = self.buckets.get(start..start + layout.shard_buckets()).unwrap_or_default();
        shard.iter().flat_map(Bucket::entries).min_by_key(|(_, kept)| kept.expiry)
    }

    /// Everything that is kept, in no order that means anything.
    pub fn iter(&self) -> impl Iterator<Item = (Key, Kept)> + '_ {
        let kept = self.buckets.iter().flat_map(Bucket::entries);
        kept.chain(self.spilled.iter().map(|(key, kept)| (*key, *kept)))
    }

    /// An insert's share of a round: the round begins, the table becomes longer, or the hand passes a shard once it is
    /// paid for. Says how many slots moved.
    fn pay(&mut self, dead: u32) -> u64 {
        if self.hand == 0 {
            self.old = self.new;
            self.new = self.grown(dead);
            self.hand = self.old.shards as usize;
            self.paid = 0;
        }
        let wanted = self.new.buckets();
        if self.buckets.len() < wanted {
            self.buckets.resize(wanted.min(self.buckets.len() + PAID as usize), EMPTY);
            return 0;
        }
        self.paid += PAID;
        if self.paid < self.old.shard_buckets() as u64 {
            return 0;
        }
        self.paid = 0;
        self.hand -= 1;
        self.gather(self.hand, self.old, dead);
        self.take_back(self.hand);
        let moved = self.scratch.len() as u64;
        let shards = (self.new.shards / self.old.shards) as usize;
        self.spread(self.new, self.hand * shards, shards);
        if self.hand == 0 {
            self.filled = filled(self.new);
        }
        moved
    }

    /// The layout of the round that begins. The shard that comes first tells how much is dead.
    fn grown(&self, dead: u32) -> Layout {
        let old = self.old;
        let start = (old.shards as usize - 1) * old.shard_buckets();
        let sample = self.buckets.get(start..).unwrap_or_default().iter().flat_map(Bucket::entries);
        let (alive, all) = sample
            .fold((0_u64, 0_u64), |(alive, all), (_, kept)| (alive + u64::from(kept.expiry > dead), all + 1));
        let live = (u128::from(self.len as u64) * u128::from(alive) / u128::from(all.max(1))) as u64;
        if live * 100 < old.slots() * GROWING_PERCENT {
            return old;
        }
        // By the end of the round there will be more.
        let live = live + old.slots() / (PAID * SLOTS as u64);
        let wanted = (live * 100 / ROOMY_PERCENT).div_ceil(SLOTS as u64);
        let with = |shards: u64| {
            // Shards only move to the right, so none may be smaller than what it comes from.
            let least = if shards == old.shards { old.span } else { (old.span + PAD).div_ceil(2) };
            let most = (self.buckets_max / shards).saturating_sub(PAD);
            let span = wanted.div_ceil(shards).max(least).min(most);
            (span >= least).then_some(Layout { shards, span })
        };
        let doubled = if wanted.div_ceil(old.shards) > SPAN_MAX { with(old.shards * 2) } else { None };
        // Where the memory ends too soon for twice the shards, they become a little longer.
        let longer = |new: Layout| Layout { span: new.span.min(SHARD_MAX - PAD).max(old.span), ..new };
        doubled.or_else(|| with(old.shards).map(longer)).unwrap_or(old)
    }

    /// Takes a shard's entries out, the dead dropped.
    fn gather(&mut self, shard: usize, layout: Layout, dead: u32) {
        let start = shard * layout.shard_buckets();
        let buckets = self.buckets.get_mut(start..start + layout.shard_buckets()).unwrap_or_default();
        let all: usize = buckets.iter().map(Bucket::taken).sum();
        self.scratch.clear();
        self.scratch.extend(buckets.iter().flat_map(Bucket::entries).filter(|(_, kept)| kept.expiry > dead));
        buckets.fill(EMPTY);
        self.len -= all - self.scratch.len();
    }

    /// What has spilled of a shard that was taken out joins it.
    fn take_back(&mut self, shard: usize) {
        let old = self.old;
        let belongs = |key: &&Key| key.0 != 0 && old.shard(**key) == shard;
        let keys: Vec<Key> = self.spilled.keys().filter(belongs).take(TAKEN_BACK_MAX).copied().collect();
        for key in keys {
            self.scratch.extend(self.spilled.remove_entry(&key));
        }
    }

    /// Puts what was taken out into its places in a layout: one shard or several, from `first` on, which are empty.
    fn spread(&mut self, layout: Layout, first: usize, shards: usize) {
        let buckets = layout.shard_buckets();
        let start = first * buckets;
        let area = self.buckets.get_mut(start..start + shards * buckets).unwrap_or_default();
        self.taken.clear();
        self.taken.resize(area.len(), 0);
        for (key, kept) in self.scratch.drain(..) {
            let end = (layout.shard(key) - first + 1) * buckets;
            let home = end - buckets + layout.place(key);
            let rest = self.taken.get_mut(home..end).unwrap_or_default();
            let free = rest.iter_mut().enumerate().find(|(_, taken)| usize::from(**taken) < SLOTS);
            if let Some((more, taken)) = free
                && let Some(bucket) = area.get_mut(home + more)
            {
                bucket.set(usize::from(*taken), (key, kept));
                *taken += 1;
            } else {
                self.spilled.insert(key, kept);
            }
        }
    }

    fn layout_of(&self, key: Key) -> Layout {
        if self.hand == 0 || self.old.shard(key) >= self.hand { self.new } else { self.old }
    }

    /// Where a key belongs, to the end of its shard; nowhere if it begins with 0.
    fn home(&self, key: Key) -> &[Bucket] {
        let layout = self.layout_of(key);
        let start = layout.shard(key) * layout.shard_buckets();
        let home = self.buckets.get(start + layout.place(key)..start + layout.shard_buckets());
        home.filter(|_| key.0 != 0).unwrap_or_default()
    }

    fn home_mut(&mut self, key: Key) -> &mut [Bucket] {
        let layout = self.layout_of(key);
        let start = layout.shard(key) * layout.shard_buckets();
        let home = self.buckets.get_mut(start + layout.place(key)..start + layout.shard_buckets());
        home.filter(|_| key.0 != 0).unwrap_or_default()
    }
}

fn filled(layout: Layout) -> usize {
    (layout.slots() * FILLED_PERCENT / 100) as usize
}
