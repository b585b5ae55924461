//! The watchdog: a partition that is ours and makes no progress while records pile up deserves a word.

use std::collections::BTreeMap;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

use crate::kafka::Consumer;

use super::progress::{Key, Progress};

/// How often it looks.
const LOOK_EVERY: Duration = Duration::from_secs(10);
/// How long a partition may stand still while its lag grows.
const STILL_MAX: Duration = Duration::from_mins(1);

/// What was seen of one partition.
struct Seen {
    committed: i64,
    /// The end of the partition when it was last committed to.
    high: i64,
    since: Instant,
    is_told: bool,
}

/// Looks after all partitions.
pub(super) struct Watchdog {
    seen: BTreeMap<Key, Seen>,
    look_at: Instant,
}

impl Default for Watchdog {
    fn default() -> Self {
        Self { seen: BTreeMap::new(), look_at: Instant::now() + LOOK_EVERY }
    }
}

impl Watchdog {
    /// Looks, if it is time.
    pub(super) fn look(&mut self, progress: &Progress, consumer: &Consumer) {
        let now = Instant::now();
        if now < self.look_at {
            return;
        }
        self.look_at = now + LOOK_EVERY;
        let cluster = consumer.cluster();
        let partitions: Vec<_> = (progress.committed_all().into_iter())
            .map(|(key, topic, committed)| {
                let high = cluster.watermarks_seen(&topic, key.1).map_or(committed, |marks| marks.high);
                (key, topic, committed, high)
            })
            .collect();
        let stuck = self.compare(now, &partitions);
        progress.vitals.stuck_partitions.store(stuck, Ordering::Relaxed);
        progress.status.partitions_stuck.store(stuck, Ordering::Relaxed);
    }

    /// Compares with what was seen before; says how many partitions are stuck.
    fn compare(&mut self, now: Instant, partitions: &[(Key, String, i64, i64)]) -> u64 {
        self.seen.retain(|key, _| partitions.iter().any(|(owned, ..)| owned == key));
        let mut stuck = 0;
        for (key, topic, committed, high) in partitions {
            let new = Seen { committed: *committed, high: *high, since: now, is_told: false };
            let seen = self.seen.entry(*key).or_insert(new);
            if seen.committed != *committed {
                *seen = Seen { committed: *committed, high: *high, since: now, is_told: false };
            } else if *high > seen.high && *high > *committed && now - seen.since >= STILL_MAX {
                stuck += 1;
                if !std::mem::replace(&mut seen.is_told, true) {
                    tracing::warn!(
                        topic,
                        partition = key.1,
                        committed,
                        end = high,
                        "no progress for {} s, and the lag grows",
                        (now - seen.since).as_secs()
                    );
                }
            }
        }
        stuck
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::kafka::TopicIndex;

    #[test]
    fn only_a_partition_that_stands_still_while_its_lag_grows_is_told() {
        let mut watchdog = Watchdog::default();
        let start = Instant::now();
        let at = |partition, committed, high| ((TopicIndex(0), partition), "in".to_owned(), committed, high);
        let minute = |minutes: u32| start + STILL_MAX * minutes;
        assert_eq!(watchdog.compare(start, &[at(0, 5, 9), at(1, 5, 5), at(2, 5, 9)]), 0);
        // The first stands still, the second has nothing to do, the third moves.
        assert_eq!(watchdog.compare(minute(1), &[at(0, 5, 12), at(1, 5, 5), at(2, 6, 12)]), 1);
        assert_eq!(watchdog.compare(minute(2), &[at(0, 6, 20), at(1, 5, 5), at(2, 7, 20)]), 0, "it moved");
        assert_eq!(watchdog.compare(minute(4), &[at(0, 6, 20)]), 0, "behind, but the lag does not grow");
        assert_eq!(watchdog.compare(minute(5), &[at(0, 6, 21)]), 1);
        assert_eq!(watchdog.compare(minute(6), &[]), 0, "not ours any more");
    }
}
