//! All entries, a rack for each kind, within one limit.

use super::rack::Rack;
use super::{Entry, EntryKey, Kind, LedgerChange};
use crate::credentials::digest::Identity;
use crate::state::window::Second;

/// Entries that [`Shelf::expect`] handles at once.
const EXPECTED: usize = 64;

/// The entries of the ledger, at most so many.
pub struct Shelf {
    /// By [`Kind::place`].
    racks: [Rack; Kind::ALL.len()],
    entries_max: usize,
    evicted: u64,
}

impl Shelf {
    pub(super) fn new(entries_max: usize) -> Self {
        Self { racks: Kind::ALL.map(Rack::new), entries_max, evicted: 0 }
    }

    /// How many entries there are.
    #[must_use]
    pub fn len(&self) -> usize {
        self.racks.iter().map(Rack::len).sum()
    }

    /// Whether there is none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Bytes that they take.
    #[must_use]
    pub fn bytes(&self) -> usize {
        self.racks.iter().map(Rack::bytes).sum()
    }

    /// How many entries were given up because of the limit.
    #[must_use]
    pub fn evicted(&self) -> u64 {
        self.evicted
    }

    pub(super) fn find(&self, (kind, identity): EntryKey) -> Option<(Entry, Second)> {
        self.racks.get(kind.place())?.find(identity)
    }

    /// Has these entries, as far as they are there, fetched from memory.
    ///
    /// PERF: an entry lies anywhere, so each look-up waits for memory. So nothing is decided by what has just been asked
    /// for: first the index is touched for all of them, then their numbers are read, then their slots are touched. Each is
    /// a loop of few instructions, or the processor would not look far enough ahead to wait for more than a few at once.
    pub(super) fn expect(&self, mut keys: impl Iterator<Item = EntryKey>) {
        let mut expected = [(0, 0); EXPECTED];
        loop {
            let mut count = 0;
            for (place, (kind, identity)) in expected.iter_mut().zip(keys.by_ref()) {
                let Some(rack) = self.racks.get(kind.place()) else { continue };
                *place = (kind.place(), rack.hash(&identity));
                count += 1;
            }
            let touched = expected
                .iter()
                .take(count)
                .filter_map(|(rack, hash)| self.racks.get(*rack)?.touch_index(*hash));
            std::hint::black_box(touched.fold(0, |sum, number| sum ^ number));
            let mut numbers = [u32::MAX; EXPECTED];
            for (number, (rack, hash)) in numbers.iter_mut().zip(expected.iter().take(count)) {
                let near = self.racks.get(*rack).and_then(|rack| rack.number_near(*hash));
                *number = near.unwrap_or(u32::MAX);
            }
            let slots = numbers.iter().zip(&expected).take(count);
            let touched = slots.filter_map(|(number, (rack, _))| self.racks.get(*rack)?.touch(*number));
            std::hint::black_box(touched.fold(0, |sum, byte| sum ^ byte));
            if count < EXPECTED {
                return;
            }
        }
    }

    /// Every entry of one kind, in the order of its rack.
    pub fn of(&self, kind: Kind) -> impl Iterator<Item = (Identity, Entry)> + '_ {
        self.racks
            .get(kind.place())
            .into_iter()
            .flat_map(Rack::iter)
            .map(|(identity, (entry, _))| (identity, entry))
    }

    /// Every entry; the order depends on the order of writes alone.
    pub fn iter(&self) -> impl Iterator<Item = (EntryKey, (Entry, Second))> + '_ {
        self.racks.iter().flat_map(|rack| {
            let kind = rack.kind();
            rack.iter().map(move |(identity, entry)| ((kind, identity), entry))
        })
    }

    /// Writes an entry, and says what was there; makes room where the limit is passed. Tells the changes to whoever
    /// wants them.
    pub(super) fn set(
        &mut self,
        key: EntryKey,
        after: Option<(Entry, Second)>,
        dead: Second,
        mut changes: Option<&mut Vec<LedgerChange>>,
    ) -> Option<(Entry, Second)> {
        if let Some(rack) = self.rack_mut(key.0) {
            rack.sweep(dead, key.1);
        }
        let before = self.put(key, after);
        if let Some(changes) = &mut changes {
            changes.push(LedgerChange { key, before, after });
        }
        if self.len() > self.entries_max {
            self.make_room(key, changes);
        }
        before
    }

    /// The kind with the most entries gives one up, so that a flood of one kind costs that kind.
    fn make_room(&mut self, (kind, identity): EntryKey, changes: Option<&mut Vec<LedgerChange>>) {
        let Some(rack) = self.racks.iter_mut().max_by_key(|rack| rack.len()) else { return };
        let except = (rack.kind() == kind).then_some(identity);
        let Some((identity, before)) = rack.give_up(except) else { return };
        let key = (rack.kind(), identity);
        if let Some(changes) = changes {
            changes.push(LedgerChange { key, before: Some(before), after: None });
        }
        if self.evicted == 0 {
            tracing::warn!(
                "the ledger is full and gives up its oldest entries: late messages of that work may be judged \
                 wrongly; raise `ledger.entries_max`"
            );
        }
        self.evicted += 1;
    }

    /// Puts an entry, or nothing, in place; says what was there.
    pub(super) fn put(
        &mut self,
        (kind, identity): EntryKey,
        entry: Option<(Entry, Second)>,
    ) -> Option<(Entry, Second)> {
        self.rack_mut(kind)?.put(identity, entry)
    }

    fn rack_mut(&mut self, kind: Kind) -> Option<&mut Rack> {
        self.racks.get_mut(kind.place())
    }
}
