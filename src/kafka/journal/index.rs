//! Which journal records of a partition still have a live entry: pure bookkeeping, bounded whatever the journal's length.

use std::collections::VecDeque;

/// LIMIT: stretches of the journal that are told apart; then neighbours are joined, and the floor gets coarser.
const STRETCHES_MAX: usize = 4096;

/// The records of some batches in a row.
#[derive(Clone, Copy, Debug)]
struct Stretch {
    first: i64,
    /// When the last of their entries may be forgotten.
    expiry_max: u32,
}

/// The account of one partition's journal.
#[derive(Clone, Debug)]
pub struct Index {
    stretches: VecDeque<Stretch>,
    /// Batches that one stretch takes.
    stretch_batches: u32,
    /// Batches in the newest stretch.
    newest_batches: u32,
    last: Option<i64>,
}

impl Default for Index {
    fn default() -> Self {
        Self { stretches: VecDeque::new(), stretch_batches: 1, newest_batches: 0, last: None }
    }
}

impl Index {
    /// What a batch changed was written, or read, in the records from `first` to `last`.
    pub fn note(&mut self, (first, last): (i64, i64), expiry_max: u32) {
        if self.last.is_some_and(|known| last <= known) {
            return;
        }
        self.last = Some(last);
        match self.stretches.back_mut() {
            Some(newest) if self.newest_batches < self.stretch_batches => {
                newest.expiry_max = newest.expiry_max.max(expiry_max);
                self.newest_batches += 1;
            }
            _ => {
                self.stretches.push_back(Stretch { first, expiry_max });
                self.newest_batches = 1;
            }
        }
        if self.stretches.len() > STRETCHES_MAX {
            self.join_neighbours();
        }
    }

    fn join_neighbours(&mut self) {
        let mut joined = VecDeque::with_capacity(STRETCHES_MAX);
        while let Some(mut stretch) = self.stretches.pop_front() {
            if let Some(next) = self.stretches.pop_front() {
                stretch.expiry_max = stretch.expiry_max.max(next.expiry_max);
            }
            joined.push_back(stretch);
        }
        self.stretches = joined;
        self.stretch_batches = self.stretch_batches.saturating_mul(2);
        self.newest_batches = self.stretch_batches;
    }

    /// Forgets what is dead at this time; the offset of the oldest record that may have a live entry, behind the last
    /// one if none has.
    pub fn floor(&mut self, dead: u32) -> i64 {
        while self.stretches.pop_front_if(|oldest| oldest.expiry_max <= dead).is_some() {}
        match (self.stretches.front(), self.last) {
            (Some(oldest), _) => oldest.first,
            (None, Some(last)) => last + 1,
            (None, None) => 0,
        }
    }

    /// The newest record.
    #[must_use]
    pub fn last(&self) -> Option<i64> {
        self.last
    }

    /// The records past this one do not count: their transaction was aborted.
    pub fn roll_back(&mut self, last: Option<i64>) {
        while self.stretches.pop_back_if(|newest| last.is_none_or(|last| newest.first > last)).is_some() {}
        self.last = last;
        self.newest_batches = self.stretch_batches;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_floor_follows_the_dead() {
        let mut index = Index::default();
        assert_eq!((index.floor(0), index.last()), (0, None));
        for (offset, expiry) in [(10, 100), (12, 300), (15, 200), (16, 400)] {
            index.note((offset, offset), expiry);
        }
        assert_eq!((index.floor(99), index.last()), (10, Some(16)));
        assert_eq!(index.floor(100), 12);
        assert_eq!(index.floor(250), 12, "what is before a live record stays");
        assert_eq!(index.floor(300), 16);
        assert_eq!(index.floor(400), 17, "nothing lives");
    }

    #[test]
    fn what_was_aborted_does_not_count() {
        let mut index = Index::default();
        index.note((1, 1), 50);
        index.note((2, 3), 60);
        index.roll_back(Some(1));
        assert_eq!((index.floor(0), index.last()), (1, Some(1)));
        index.note((4, 5), 70);
        assert_eq!(index.floor(60), 4);
        index.roll_back(None);
        assert_eq!((index.floor(0), index.last()), (0, None));
    }

    #[test]
    fn a_long_journal_needs_no_more_room_and_the_floor_is_never_late() {
        let mut index = Index::default();
        for record in 0..100_000_i64 {
            index.note((record, record), record as u32 + 1);
        }
        assert!(index.stretches.len() <= STRETCHES_MAX);
        for dead in (0..100_000).step_by(777) {
            let floor = index.floor(dead);
            assert!(floor <= i64::from(dead), "record {dead} lives, and the floor is {floor}");
            assert!(floor + 64 > i64::from(dead), "{floor} lags far behind {dead}");
        }
    }
}
