//! When a transaction is committed: early enough for the latency goal, and no more often than committing allows.

use std::time::{Duration, Instant};

/// The pause after a transaction that was aborted, at first and at most.
const PAUSE_MIN: Duration = Duration::from_millis(20);
const PAUSE_MAX: Duration = Duration::from_secs(2);
/// The shortest life of a transaction.
const LIFE_MIN: Duration = Duration::from_millis(1);

/// The pace of commits.
pub(super) struct Pace {
    goal: Duration,
    records_max: u64,
    /// What a commit takes: a moving mean.
    cost: Duration,
    pause: Duration,
}

impl Pace {
    /// Records shall be committed within `goal` after they were read, and at the latest after so many.
    pub(super) fn new(goal: Duration, records_max: u64) -> Self {
        Self { goal, records_max, cost: Duration::ZERO, pause: Duration::ZERO }
    }

    pub(super) fn records_max(&self) -> u64 {
        self.records_max
    }

    /// When a transaction whose oldest record was read then has to be committed. At least as much time goes to work as
    /// to committing, or slow brokers would see nothing but commits.
    pub(super) fn due(&self, read_at: Instant, now: Instant) -> Instant {
        let in_time = read_at + self.goal.saturating_sub(self.cost);
        in_time.max(now + self.cost.max(LIFE_MIN))
    }

    /// A commit took so long.
    pub(super) fn committed(&mut self, took: Duration) {
        self.pause = Duration::ZERO;
        self.cost = if self.cost.is_zero() { took } else { (self.cost * 7 + took) / 8 };
    }

    /// A transaction was aborted; how long to wait before the next.
    pub(super) fn aborted(&mut self) -> Duration {
        let pause = self.pause;
        self.pause = (self.pause * 2).clamp(PAUSE_MIN, PAUSE_MAX);
        pause
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: Duration = Duration::from_millis(1);

    #[test]
    fn commits_meet_the_goal_or_leave_half_of_the_time_for_work() {
        let mut pace = Pace::new(200 * MS, 1000);
        let now = Instant::now();
        assert_eq!(pace.due(now, now), now + 200 * MS);
        for _ in 0..100 {
            pace.committed(50 * MS);
        }
        let due = pace.due(now, now) - now;
        assert!((149 * MS..=151 * MS).contains(&due), "{due:?}");
        for _ in 0..100 {
            pace.committed(500 * MS);
        }
        let due = pace.due(now, now) - now;
        assert!((490 * MS..=500 * MS).contains(&due), "{due:?}");
    }

    #[test]
    fn pauses_grow_until_a_commit_succeeds() {
        let mut pace = Pace::new(200 * MS, 1000);
        assert_eq!(pace.aborted(), Duration::ZERO);
        let pauses: Vec<_> = (0..12).map(|_| pace.aborted()).collect();
        assert!(pauses.is_sorted() && pauses[0] == PAUSE_MIN && pauses[11] == PAUSE_MAX, "{pauses:?}");
        pace.committed(MS);
        assert_eq!(pace.aborted(), Duration::ZERO);
    }
}
