//! Entries by key, and by the time at which they expire.

use std::collections::{BTreeSet, HashMap};

use super::{Entry, EntryKey, LedgerChange};
use crate::state::window::Second;

/// Dead entries that one write drops at most.
const DROPPED_MAX: usize = 2;

/// The entries of the ledger, at most so many.
pub struct Shelf {
    entries: HashMap<EntryKey, (Entry, Second)>,
    by_expiry: BTreeSet<(Second, EntryKey)>,
    entries_max: usize,
    evicted: u64,
}

impl Shelf {
    pub(super) fn new(entries_max: usize) -> Self {
        Self { entries: HashMap::new(), by_expiry: BTreeSet::new(), entries_max, evicted: 0 }
    }

    /// How many entries there are.
    #[must_use]
    pub fn len(&self) -> usize {
        self.entries.len()
    }

    /// Whether there is none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.entries.is_empty()
    }

    /// How many entries were given up because of the limit.
    #[must_use]
    pub fn evicted(&self) -> u64 {
        self.evicted
    }

    pub(super) fn find(&self, key: EntryKey) -> Option<(Entry, Second)> {
        self.entries.get(&key).copied()
    }

    /// Every entry, in the order in which they expire.
    pub fn iter(&self) -> impl Iterator<Item = (EntryKey, (Entry, Second))> + '_ {
        self.by_expiry.iter().filter_map(|(_, key)| Some((*key, self.find(*key)?)))
    }

    /// Writes an entry and tells the change; makes room where the limit is passed.
    pub(super) fn set(
        &mut self,
        key: EntryKey,
        after: Option<(Entry, Second)>,
        dead: Second,
        changes: &mut Vec<LedgerChange>,
    ) {
        for _ in 0..DROPPED_MAX {
            match self.by_expiry.first() {
                Some((expiry, oldest)) if *expiry <= dead && *oldest != key => {
                    let oldest = *oldest;
                    self.put(oldest, None);
                }
                _ => break,
            }
        }
        let before = self.put(key, after);
        changes.push(LedgerChange { key, before, after });
        if self.entries.len() > self.entries_max
            && let Some((_, oldest)) = self.by_expiry.iter().find(|(_, other)| *other != key)
        {
            let oldest = *oldest;
            let before = self.put(oldest, None);
            changes.push(LedgerChange { key: oldest, before, after: None });
            if self.evicted == 0 {
                tracing::warn!(
                    "the ledger is full and gives up its oldest entries: late messages of that work may be judged \
                     wrongly; raise `ledger.entries_max`"
                );
            }
            self.evicted += 1;
        }
    }

    /// Puts an entry, or nothing, in place; says what was there.
    pub(super) fn put(&mut self, key: EntryKey, entry: Option<(Entry, Second)>) -> Option<(Entry, Second)> {
        let before = match entry {
            Some(entry) => self.entries.insert(key, entry),
            None => self.entries.remove(&key),
        };
        if let Some((_, expiry)) = before {
            self.by_expiry.remove(&(expiry, key));
        }
        if let Some((_, expiry)) = entry {
            self.by_expiry.insert((expiry, key));
        }
        before
    }
}
