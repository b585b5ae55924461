//! The replay window: which messages were seen, each in one slot of fixed size.
//!
//! An identity is 128 bits of SHA-256, or of hashes under secrets of the run, so nobody can make another message with a
//! victim's identity; where it stands in the table depends on a random key of the process, so nobody can aim at a place.
//! Whether an entry still counts is decided by the time of the record that asks, never by whether the table has got round
//! to dropping it; entries are dropped by the window's time less a margin, so that a copy that is fresh for anyone finds
//! its id. That time is the time of what is committed, or, where records have a fixed order, the time by that order: then
//! no verdict depends on when something was committed.

use std::hash::{BuildHasher as _, RandomState};

use super::order::Order;
use super::table::{FULL_PERCENT, Kept, Key, SLOT_BYTES, Table};
use super::times::Times;
use crate::clock::Timestamp;
use crate::config::{OnFull, Window as Settings};
use crate::credentials::digest::Identity;

/// Most bytes that a live id costs once the table has grown past its first few shards.
pub const BYTES_PER_ID_MAX: u64 = 32;
/// Identities that [`Window::expect`] handles at once.
const EXPECTED: usize = 64;

/// LIMIT: identities that room is made for ahead, 150 MB of them: an input's size does not tell how long they are kept.
const RESERVED_MAX: u64 = 5_000_000;

/// A second of the Unix epoch in a slot: 1 to the year 2106.
pub type Second = u32;
/// Past the year 2105 time stands still and nothing is forgotten.
const SECOND_MAX: Second = Second::MAX - 1;

/// What is known of an identity.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Seen {
    /// Nothing.
    New,
    /// The same message.
    Duplicate,
    /// Another message with the same identity.
    Conflict,
}

/// One change, with what is needed to take it back.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct WindowChange {
    key: Key,
    before: Option<Kept>,
    after: Option<Kept>,
}

/// The window has no room, and its setting forbids to make some.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Full;

/// The system does not give the memory that the window may take.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("`window.memory_bytes_max`: found {bytes}, allowed: what the system gives; it refused that much")]
pub struct NoMemory {
    /// How much was asked for.
    pub bytes: u64,
}

/// The replay window.
pub struct Window {
    table: Table,
    mixer: Mixer,
    on_full: OnFull,
    margin_s: u32,
    times: WindowTime,
    evicted: u64,
}

/// What moves the window's time.
enum WindowTime {
    /// Commits.
    Committed(Times),
    /// The order of records.
    Ordered(Box<Order>),
}

impl Window {
    /// An empty window.
    pub fn new(settings: &Settings) -> Result<Self, NoMemory> {
        Self::with_mixer(settings, Mixer::random())
    }

    fn with_mixer(settings: &Settings, mixer: Mixer) -> Result<Self, NoMemory> {
        let bytes = settings.memory_bytes_max;
        Ok(Self {
            table: Table::new(bytes).map_err(|_| NoMemory { bytes })?,
            mixer,
            on_full: settings.on_full,
            margin_s: settings.margin_s,
            times: WindowTime::Committed(Times::default()),
            evicted: 0,
        })
    }

    /// Makes room for so many identities at once; only at the start.
    ///
    /// PERF: the table grows by a twentieth at a time, so that it is never much larger than it must be: whoever knows how
    /// much will come saves moving every entry a dozen times.
    pub fn reserve(&mut self, ids: u64) {
        self.table.reserve(ids.min(RESERVED_MAX));
    }

    /// From now on the order of records moves its time, instead of commits.
    pub fn follow_order(&mut self) {
        self.times = WindowTime::Ordered(Box::default());
    }

    /// Whether the order of records moves its time.
    #[must_use]
    pub fn follows_order(&self) -> bool {
        matches!(self.times, WindowTime::Ordered(_))
    }

    /// A record of this time comes next; the time that it is judged by. Where the order moves the window's time, that
    /// is never so early that something may have been dropped which would still count.
    pub fn see(&mut self, time: Second) -> Second {
        let WindowTime::Ordered(order) = &mut self.times else { return time };
        order.see(time);
        time.max(self.dead())
    }

    /// A window whose index anybody can compute, to show in tests what the random key is for.
    #[cfg(test)]
    pub(super) fn with_known_index(settings: &Settings) -> Result<Self, NoMemory> {
        Self::with_mixer(settings, Mixer([0; 3]))
    }

    /// The table, for tests and benches.
    #[must_use]
    pub fn table(&self) -> &Table {
        &self.table
    }

    /// How many ids were given up for newer ones because the window was full.
    #[must_use]
    pub fn evicted(&self) -> u64 {
        self.evicted
    }

    /// These identities will be looked up next: fetches their places from memory, all at once.
    ///
    /// PERF: of the misses of a batch a dozen overlap; `cargo bench --bench window` has both ways.
    pub fn expect(&self, identities: impl Iterator<Item = Identity>) {
        let mut identities = identities.peekable();
        let mut places = [0; EXPECTED];
        while identities.peek().is_some() {
            let mut count = 0;
            for (place, identity) in places.iter_mut().zip(identities.by_ref()) {
                *place = self.table.place(self.mixer.mix(identity));
                count += 1;
            }
            self.table.touch(places.get(..count).unwrap_or_default());
        }
    }

    /// What is known of an identity at a time.
    #[must_use]
    pub fn look_up(&self, identity: Identity, content: u64, now: Second) -> Seen {
        match self.table.find(self.mixer.mix(identity)) {
            Some(kept) if kept.expiry > now && kept.tag == tag_of(content) => Seen::Duplicate,
            Some(kept) if kept.expiry > now => Seen::Conflict,
            _ => Seen::New,
        }
    }

    /// Remembers an identity that [`Self::look_up`] did not know.
    pub fn insert(
        &mut self,
        identity: Identity,
        content: u64,
        keep_until: Second,
        changes: &mut Vec<WindowChange>,
    ) -> Result<(), Full> {
        let key = self.mixer.mix(identity);
        if self.table.len() >= self.table.len_max() && self.table.find(key).is_none() {
            self.make_room(key, changes)?;
        }
        let kept = Kept { tag: tag_of(content), expiry: keep_until.max(1) };
        let before = self.table.insert(key, kept, self.dead());
        changes.push(WindowChange { key, before, after: Some(kept) });
        Ok(())
    }

    /// First what is dead goes; then, where the setting says so, what would die first. Of a large table only the shard
    /// that the key falls into is looked at, a sample of more than 2,000 ids that no one can choose: with one shard the
    /// oldest id of all is given up, with more one of the oldest hundredth (but for once in ten million times).
    fn make_room(&mut self, key: Key, changes: &mut Vec<WindowChange>) -> Result<(), Full> {
        let dead = self.dead();
        let oldest = self.table.oldest_around(key);
        if oldest.is_some_and(|(_, kept)| kept.expiry <= dead) {
            self.table.purge_around(key, dead);
            return Ok(());
        }
        if self.on_full != OnFull::EvictOldest {
            return Err(Full);
        }
        if let Some((oldest, _)) = oldest {
            let before = self.table.remove(oldest);
            changes.push(WindowChange { key: oldest, before, after: None });
            if self.evicted == 0 {
                tracing::warn!(
                    "the replay window is full and gives up its oldest ids: copies of them will pass; \
                     raise `window.memory_bytes_max`"
                );
            }
            self.evicted += 1;
        }
        Ok(())
    }

    /// Takes a change back, unless a later one has replaced it.
    pub fn undo(&mut self, change: &WindowChange) {
        if self.table.find(change.key) != change.after {
            return;
        }
        match change.before {
            Some(before) => self.table.insert(change.key, before, 0),
            None => self.table.remove(change.key),
        };
    }

    /// A batch of this partition and time was committed.
    pub fn advance(&mut self, partition: u64, now: Second) {
        if let WindowTime::Committed(times) = &mut self.times {
            times.commit(partition, now);
        }
    }

    /// A partition was given away, or has ended: it holds the window's time no longer.
    pub fn leave(&mut self, partition: u64) {
        if let WindowTime::Committed(times) = &mut self.times {
            times.leave(partition);
        }
    }

    /// Goes on at the time of an earlier run.
    pub fn resume(&mut self, time: Second) {
        match &mut self.times {
            WindowTime::Committed(times) => times.resume(time),
            WindowTime::Ordered(order) => order.resume(time),
        }
    }

    /// The window's time.
    #[must_use]
    pub fn time(&self) -> Second {
        match &self.times {
            WindowTime::Committed(times) => times.time(),
            WindowTime::Ordered(order) => order.time(),
        }
    }

    /// Entries that expire here or before may be dropped.
    #[must_use]
    pub fn dead(&self) -> Second {
        self.time().saturating_sub(self.margin_s)
    }

    /// Every entry that is not dead: identity, tag and expiry.
    pub fn iter(&self) -> impl Iterator<Item = (Identity, u32, Second)> + '_ {
        let dead = self.dead();
        let live = self.table.iter().filter(move |(_, kept)| kept.expiry > dead);
        live.map(|(key, kept)| (self.mixer.unmix(key), kept.tag, kept.expiry))
    }

    /// What a change means for whoever keeps a journal: the identity, and what is kept of it from now on.
    #[must_use]
    pub fn told(&self, change: &WindowChange) -> (Identity, Option<(u32, Second)>) {
        (self.mixer.unmix(change.key), change.after.map(|kept| (kept.tag, kept.expiry)))
    }

    /// Puts an entry in place that was told before; `false` if there is no room.
    pub fn restore(&mut self, identity: Identity, entry: Option<(u32, Second)>) -> bool {
        let key = self.mixer.mix(identity);
        let Some((tag, expiry)) = entry else {
            self.table.remove(key);
            return true;
        };
        let has_room = self.table.len() < self.table.len_max() || self.table.find(key).is_some();
        if has_room {
            self.table.insert(key, Kept { tag, expiry: expiry.max(1) }, 0);
        }
        has_room
    }
}

/// Bytes that a window needs for a steady rate of records that are remembered so long.
#[must_use]
pub fn expected_bytes(records_per_s: u64, keep_s: u64) -> u64 {
    records_per_s.saturating_mul(keep_s).saturating_mul(BYTES_PER_ID_MAX)
}

/// Ids that fit into so many bytes.
#[must_use]
pub fn expected_ids(bytes: u64) -> u64 {
    bytes / SLOT_BYTES as u64 * FULL_PERCENT / 100
}

/// An instant in whole seconds; before 1970 counts as its first second.
#[must_use]
pub fn second_of(time: Timestamp) -> Second {
    time.secs().clamp(1, i64::from(SECOND_MAX - 1)) as Second
}

/// The second from which on something that is kept until `time` may be forgotten: rounded up, never early.
#[must_use]
pub fn expiry_of(time: Timestamp) -> Second {
    let whole = time.micros().saturating_add(999_999).div_euclid(1_000_000);
    whole.clamp(1, i64::from(SECOND_MAX)) as Second
}

/// 32 bits tell a repetition from a conflict; both are refused, so nothing hangs on a collision.
fn tag_of(content: u64) -> u32 {
    (content ^ (content >> 32)) as u32
}

/// Spreads identities over the keys, one to one, by secret words.
#[derive(Clone, Copy)]
struct Mixer([u64; 3]);

impl Mixer {
    fn random() -> Self {
        Self([1u8, 2, 3].map(|word| RandomState::new().hash_one(word)))
    }

    /// Three rounds of a Feistel network: what goes in cannot be aimed without the words, and comes out again.
    fn mix(self, identity: Identity) -> Key {
        let Self([first, second, third]) = self;
        let whole = u128::from_le_bytes(identity);
        let (mut left, mut right) = ((whole >> 64) as u64, whole as u64);
        left ^= fold(right, first);
        right ^= fold(left, second);
        left ^= fold(right, third);
        (left, right)
    }

    fn unmix(self, key: Key) -> Identity {
        let Self([first, second, third]) = self;
        let (mut left, mut right) = key;
        left ^= fold(right, third);
        right ^= fold(left, second);
        left ^= fold(right, first);
        (u128::from(left) << 64 | u128::from(right)).to_le_bytes()
    }
}

/// Both halves of a product with a secret, folded.
fn fold(word: u64, secret: u64) -> u64 {
    const ODD: u64 = 0x9E37_79B9_7F4A_7C15;
    let product = u128::from(word ^ secret) * u128::from(secret.rotate_left(32) ^ ODD);
    (product >> 64) as u64 ^ product as u64
}

#[cfg(test)]
mod tests;
