//! The window's time: how far committed records are, over the partitions that are being read.
//!
//! Each partition has the smallest time of its last commits, and the window's time is the smallest over the active
//! partitions, so that one that lags behind still finds its ids. A partition leaves when it is given away, and when it
//! had no commit among the last [`IDLE_COMMITS`] of the process: one without records must not hold the window for ever.
//! If it comes back with older times, the window's time goes back with it; what was dropped meanwhile stays dropped.

use std::collections::HashMap;

use super::window::Second;

/// Commits of a partition that are looked back on.
pub(super) const RECENT: usize = 64;
/// LIMIT: commits of the process after which a partition without any is idle; so many partitions are active at most.
pub(super) const IDLE_COMMITS: u64 = 4096;
/// LIMIT: how far one commit moves the window's time ahead. A clock that jumps for a moment empties nothing; after a
/// real gap the window catches up within a few commits.
pub(super) const ADVANCE_S_MAX: u32 = 3600;

/// The last commits of one partition.
struct Recent {
    times: [Second; RECENT],
    /// How many there were.
    count: usize,
    /// The number of the last one among all commits of the process.
    last: u64,
}

impl Recent {
    fn smallest(&self) -> Second {
        let known = self.times.get(..self.count.min(RECENT)).unwrap_or_default();
        known.iter().copied().min().unwrap_or_default()
    }
}

/// Committed time.
#[derive(Default)]
pub(super) struct Times {
    partitions: HashMap<u64, Recent>,
    commits: u64,
    time: Second,
    /// The latest that `time` ever was: the way back there is not walked step by step again.
    time_max: Second,
}

impl Times {
    /// The window's time; 0 before the first commit.
    pub(super) fn time(&self) -> Second {
        self.time
    }

    /// How many partitions are active.
    #[cfg(test)]
    pub(super) fn active(&self) -> usize {
        self.partitions.len()
    }

    /// A batch of this partition and time was committed.
    pub(super) fn commit(&mut self, partition: u64, time: Second) {
        self.commits += 1;
        let commits = self.commits;
        let recent = self.partitions.entry(partition).or_insert(Recent {
            times: [0; RECENT],
            count: 0,
            last: commits,
        });
        if let Some(place) = recent.times.get_mut(recent.count % RECENT) {
            *place = time;
        }
        recent.count += 1;
        recent.last = commits;
        self.partitions.retain(|_, recent| commits - recent.last < IDLE_COMMITS);
        self.advance();
    }

    /// A partition was given away, or has ended.
    pub(super) fn leave(&mut self, partition: u64) {
        self.partitions.remove(&partition);
    }

    /// Goes on at the time of an earlier run.
    pub(super) fn resume(&mut self, time: Second) {
        self.time_max = self.time_max.max(time);
        if self.partitions.is_empty() {
            self.time = self.time.max(time);
        }
    }

    /// The first time is taken as it is; later ones in steps. Going back is always safe.
    fn advance(&mut self) {
        let Some(smallest) = self.partitions.values().map(Recent::smallest).min() else { return };
        let step = self.time.saturating_add(ADVANCE_S_MAX).max(self.time_max);
        self.time = if self.time == 0 { smallest } else { smallest.min(step) };
        self.time_max = self.time_max.max(self.time);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const NOW: Second = 1_776_366_000;

    #[test]
    fn the_slowest_active_partition_holds_the_time_until_it_leaves() {
        let mut times = Times::default();
        for _ in 0..RECENT {
            times.commit(1, NOW);
            times.commit(2, NOW - 500);
        }
        assert_eq!(times.time(), NOW - 500);
        times.leave(2);
        times.commit(1, NOW);
        assert_eq!(times.time(), NOW);
        // It is regained, further back: the time goes back, too.
        times.commit(2, NOW - 900);
        assert_eq!(times.time(), NOW - 900);
    }

    #[test]
    fn an_idle_partition_holds_the_time_for_so_many_commits_only() {
        let mut times = Times::default();
        times.commit(7, NOW);
        for commit in 1..IDLE_COMMITS {
            times.commit(1, NOW + 60);
            assert_eq!((times.time(), times.active()), (NOW, 2), "{commit}");
        }
        times.commit(1, NOW + 60);
        assert_eq!((times.time(), times.active()), (NOW + 60, 1));
    }

    #[test]
    fn there_are_never_more_partitions_than_commits_that_are_looked_back_on() {
        let mut times = Times::default();
        for partition in 0..3 * IDLE_COMMITS {
            times.commit(partition, NOW);
            assert!(times.active() as u64 <= IDLE_COMMITS);
        }
    }

    #[test]
    fn an_earlier_run_is_gone_on_with() {
        let mut times = Times::default();
        times.resume(NOW);
        assert_eq!(times.time(), NOW);
        times.commit(1, NOW + 10 * ADVANCE_S_MAX);
        assert_eq!(times.time(), NOW + ADVANCE_S_MAX, "in steps");
        times.resume(NOW + 20 * ADVANCE_S_MAX);
        assert_eq!(times.time(), NOW + ADVANCE_S_MAX, "a partition that is read decides");
    }
}
