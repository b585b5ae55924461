//! The search for the record that an output topic refuses.
//!
//! A refused record fails all that were sent with it. So the batch comes again in smaller pieces, each delivered before
//! the next, until a piece is one record. A search costs a few transactions, and only where something is refused.

use std::collections::BTreeMap;

use super::progress::{Due, Key};

/// Pieces that a stretch under suspicion is cut into.
const PIECES: usize = 16;

/// What is under suspicion.
#[derive(Default)]
pub(super) struct Suspects {
    /// Source offsets, from the first up to the one behind the last.
    stretches: BTreeMap<Key, (i64, i64)>,
    found: Option<(Key, i64)>,
}

impl Suspects {
    /// One of these records is refused.
    pub(super) fn suspect(&mut self, key: Key, (first, next): (i64, i64)) {
        if next - first <= 1 {
            self.stretches.remove(&key);
            self.found = Some((key, first));
        } else {
            self.stretches.insert(key, (first, next));
        }
    }

    /// How many records of a batch may be sent together; `None` is all.
    pub(super) fn chunk_records(&self, key: Key, (first, next): (i64, i64), records: usize) -> Option<usize> {
        let (from, until) = *self.stretches.get(&key)?;
        let overlaps = first < until && from < next;
        let count = usize::try_from(until - from).unwrap_or(usize::MAX).min(records);
        overlaps.then_some((count / PIECES).max(1))
    }

    /// The record that was found, once.
    pub(super) fn found(&mut self) -> Option<(Key, i64)> {
        self.found.take()
    }

    /// What is committed is free of suspicion.
    pub(super) fn committed(&mut self, due: &Due) {
        for (key, offset) in due.keys.iter().zip(&due.offsets) {
            if self.stretches.get(key).is_some_and(|(_, until)| *until <= offset.offset) {
                self.stretches.remove(key);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::kafka::TopicIndex;

    const KEY: Key = (TopicIndex(0), 1);

    #[test]
    fn a_search_ends_with_the_culprit_after_a_few_rounds() {
        for culprit in [1000, 1500, 2023] {
            let mut suspects = Suspects::default();
            let mut range = (1000, 2024);
            let mut rounds = 0;
            let found = loop {
                suspects.suspect(KEY, range);
                if let Some(found) = suspects.found() {
                    break found;
                }
                let chunk = suspects.chunk_records(KEY, (1000, 2024), 1024).unwrap() as i64;
                let first = 1000 + (culprit - 1000) / chunk * chunk;
                range = (first, (first + chunk).min(2024));
                rounds += 1;
                assert!(rounds < 6);
            };
            assert_eq!(found, (KEY, culprit));
            assert_eq!(suspects.chunk_records(KEY, (1000, 2024), 1024), None, "the search is over");
        }
    }

    #[test]
    fn other_batches_are_sent_as_ever() {
        let mut suspects = Suspects::default();
        suspects.suspect(KEY, (10, 50));
        assert_eq!(suspects.chunk_records(KEY, (50, 90), 40), None);
        assert_eq!(suspects.chunk_records((TopicIndex(0), 2), (10, 50), 40), None);
        assert_eq!(suspects.chunk_records(KEY, (40, 90), 50), Some(2));
    }
}
