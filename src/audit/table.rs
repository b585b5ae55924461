//! Counts by key in bounded memory: exact up to so many keys, and beyond that the heavy ones with a known error.
//!
//! A full table gives a newcomer the row of one of the least counted keys, with that key's count as the newcomer's
//! error (the space-saving sketch of Metwally and others). So a count is never too low, too high by at most its row's
//! error, and a key that is not listed occurred at most [`Table::error_max`] times. Victims are taken from the lowest
//! eighth, found by one scan for many newcomers, in the order of rows: the outcome depends on the order of records
//! alone, never on hashes.

use std::collections::HashMap;
use std::hash::{BuildHasherDefault, Hasher};

/// One scan finds victims for this share of the rows.
const VICTIMS_SHARE: usize = 8;

/// A hasher for keys that are hashes already.
#[derive(Default)]
pub struct Prehashed(u64);

impl Hasher for Prehashed {
    fn finish(&self) -> u64 {
        self.0
    }

    fn write(&mut self, bytes: &[u8]) {
        // Only whole words are written here; anything else is still a hash, if a poor one.
        self.0 = bytes.iter().fold(self.0, |hash, byte| hash.rotate_left(8) ^ u64::from(*byte));
    }

    fn write_u64(&mut self, hash: u64) {
        self.0 = hash;
    }
}

/// A map by hashes.
pub type ByHash<V> = HashMap<u64, V, BuildHasherDefault<Prehashed>>;

/// One key.
#[derive(Debug)]
pub struct Row<R> {
    key: u64,
    /// What is shown of it.
    pub text: Box<str>,
    /// How often it occurred, at most.
    pub count: u64,
    /// By how much that can be too high.
    pub error: u64,
    /// What else is counted, since it has its row.
    pub more: R,
}

/// The table.
#[derive(Debug)]
pub struct Table<R> {
    places: ByHash<u32>,
    rows: Vec<Row<R>>,
    rows_max: usize,
    /// Rows that newcomers may take, with the count they had when they were chosen; the next one last.
    victims: Vec<(u32, u64)>,
    error_max: u64,
}

impl<R: Default> Table<R> {
    /// An empty table of at most so many rows.
    #[must_use]
    pub fn new(rows_max: usize) -> Self {
        Self { places: ByHash::default(), rows: Vec::new(), rows_max, victims: Vec::new(), error_max: 0 }
    }

    /// Counts a key; `text` is asked only where it is new.
    pub fn add(&mut self, key: u64, text: impl FnOnce() -> Box<str>) -> &mut R {
        self.add_at(key, text).1
    }

    /// The same, with the number of the key's row.
    pub fn add_at(&mut self, key: u64, text: impl FnOnce() -> Box<str>) -> (u32, &mut R) {
        let known = self.places.get(&key).copied();
        let place = known.unwrap_or_else(|| self.enter(key, text()));
        let Some(row) = self.rows.get_mut(place as usize) else { unreachable!("places point at rows") };
        row.count += 1;
        (place, &mut row.more)
    }

    /// What else is counted of a key that had this row, if it still has it.
    pub fn more_at(&mut self, place: u32, key: u64) -> Option<&mut R> {
        self.rows.get_mut(place as usize).filter(|row| row.key == key).map(|row| &mut row.more)
    }

    fn enter(&mut self, key: u64, text: Box<str>) -> u32 {
        let row = Row { key, text, count: 0, error: 0, more: R::default() };
        if self.rows.len() < self.rows_max {
            self.rows.push(row);
            let place = (self.rows.len() - 1) as u32;
            self.places.insert(key, place);
            return place;
        }
        let place = self.victim();
        if let Some(old) = self.rows.get_mut(place as usize) {
            let count = old.count;
            self.places.remove(&old.key);
            *old = Row { count, error: count, ..row };
            self.error_max = self.error_max.max(count);
        }
        self.places.insert(key, place);
        place
    }

    /// A row whose count is among the lowest.
    fn victim(&mut self) -> u32 {
        loop {
            while let Some((place, count)) = self.victims.pop() {
                if self.rows.get(place as usize).is_some_and(|row| row.count == count) {
                    return place;
                }
            }
            let wanted = (self.rows.len() / VICTIMS_SHARE).max(1);
            let mut all: Vec<(u64, u32)> =
                self.rows.iter().enumerate().map(|(place, row)| (row.count, place as u32)).collect();
            all.select_nth_unstable(wanted - 1);
            all.truncate(wanted);
            all.sort_unstable_by(|a, b| b.cmp(a));
            self.victims.extend(all.into_iter().map(|(count, place)| (place, count)));
        }
    }

    /// How many keys are listed: all there are, as long as [`Self::is_exact`].
    #[must_use]
    pub fn len(&self) -> usize {
        self.rows.len()
    }

    /// Whether there is none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.rows.is_empty()
    }

    /// Whether every count is exact and every key listed.
    #[must_use]
    pub fn is_exact(&self) -> bool {
        self.error_max == 0
    }

    /// How often a key that is not listed occurred, at most.
    #[must_use]
    pub fn error_max(&self) -> u64 {
        self.error_max
    }

    /// Changes what else is counted of a key, if it is listed.
    pub fn more_mut(&mut self, key: u64, change: impl FnOnce(&mut R)) {
        if let Some(row) = self.places.get(&key).and_then(|place| self.rows.get_mut(*place as usize)) {
            change(&mut row.more);
        }
    }

    /// All rows, in the order in which they came.
    pub fn rows(&self) -> impl Iterator<Item = &Row<R>> {
        self.rows.iter()
    }

    /// The rows by count, the largest first; equal ones by text.
    #[must_use]
    pub fn ranked(&self) -> Vec<&Row<R>> {
        let mut rows: Vec<_> = self.rows.iter().collect();
        rows.sort_by(|a, b| b.count.cmp(&a.count).then_with(|| a.text.cmp(&b.text)));
        rows
    }
}

/// One key of two.
#[must_use]
pub fn both(one: u64, other: u64) -> u64 {
    let product = u128::from(one ^ 0xA076_1D64_78BD_642F) * u128::from(other ^ 0xE703_7ED1_A0B4_28DB);
    (product as u64) ^ ((product >> 64) as u64)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::load::Random;

    fn key(number: u64) -> u64 {
        both(number + 1, 7)
    }

    #[test]
    fn few_keys_are_exact() {
        let mut table: Table<u64> = Table::new(100);
        for number in 0..1000 {
            *table.add(key(number % 100), || number.to_string().into()) += 2;
        }
        assert!(table.is_exact() && table.len() == 100);
        assert!(table.rows().all(|row| row.count == 10 && row.error == 0 && row.more == 20));
    }

    #[test]
    fn many_keys_keep_the_heavy_ones_within_the_stated_error() {
        let (keys_max, records) = (500, 200_000);
        let mut random = Random::new(11);
        let mut table: Table<()> = Table::new(keys_max);
        let mut truth = HashMap::new();
        for _ in 0..records {
            // Ten heavy keys with a half of all, a hundred thousand others.
            let number = if random.below(2) == 0 { random.below(10) } else { 10 + random.below(100_000) };
            *truth.entry(number).or_insert(0_u64) += 1;
            table.add(key(number), || number.to_string().into());
        }
        assert!(!table.is_exact());
        assert!(table.error_max() <= records * 8 / 7 / keys_max as u64 + 1, "{}", table.error_max());
        for row in table.rows() {
            let number: u64 = row.text.parse().unwrap();
            let count = truth.get(&number).copied().unwrap();
            assert!(row.count >= count && row.count - row.error <= count, "{row:?} {count}");
        }
        let ranked = table.ranked();
        assert!(ranked.iter().take(10).all(|row| row.text.len() == 1), "the ten heavy keys come first");
        assert_eq!(table.rows().map(|row| row.count).sum::<u64>(), records, "nothing is lost");
    }
}
