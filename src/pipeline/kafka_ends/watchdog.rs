//! The watchdog: a partition that is ours and makes no progress while records pile up deserves a word.

use std::collections::BTreeMap;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

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
    pub(super) fn look(&mut self, progress: &Progress) {
        let now = Instant::now();
        if now < self.look_at {
            return;
        }
        self.look_at = now + LOOK_EVERY;
        let stuck = self.compare(now, &ends(progress));
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

/// How far each partition is committed, and where it ends. A partition that is not fetched from tells nothing by itself: its
/// end is the one that was asked for, if that is further.
fn ends(progress: &Progress) -> Vec<(Key, String, i64, i64)> {
    let known: BTreeMap<_, _> = (progress.status.partitions().into_iter())
        .map(|(topic, partition, status)| ((topic, partition), status.end))
        .collect();
    let with_end = |(key, topic, committed): (Key, String, i64)| {
        let end = known.get(&(topic.clone(), key.1)).copied().flatten();
        (key, topic, committed, end.unwrap_or(committed))
    };
    progress.committed_all().into_iter().map(with_end).collect()
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;
    use std::sync::atomic::AtomicI64;

    use super::super::limits::Limits;
    use super::*;
    use crate::kafka::{Owned, TopicIndex};
    use crate::status::{PartitionState, Status};

    /// What stands still is often what nobody fetches from.
    #[test]
    fn the_end_is_known_where_no_fetch_tells_it() {
        let (status, end) = (Arc::new(Status::default()), Arc::new(AtomicI64::new(30)));
        let asked = Arc::clone(&end);
        status.set_end_of(Box::new(move |_, _, wait| wait.map(|_| asked.load(Ordering::Relaxed))));
        let progress = Progress::new(Limits::default(), Arc::clone(&status));
        let at = Owned {
            topic: TopicIndex(0),
            name: "in".to_owned(),
            partition: 1,
            epoch: 1,
            next: 7,
            metadata: String::new(),
        };
        progress.assigned(&[at]);
        status.assigned(PartitionState::Reading, [("in", 1, 7)]);
        let key = (TopicIndex(0), 1);
        assert_eq!(ends(&progress), [(key, "in".to_owned(), 7, 7)], "nobody was asked");
        for high in [30, 40] {
            end.store(high, Ordering::Relaxed);
            status.ask_ends(1, Duration::from_millis(1));
            assert_eq!(ends(&progress), [(key, "in".to_owned(), 7, high)]);
        }
    }

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
