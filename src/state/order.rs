//! The window's time where the order of records is fixed: files, and ranges of topics. It depends on that order alone.
//!
//! Records come with times of their own, and some are far off. So the time follows the median of samples of the last
//! records, in steps: single clocks that jump do not move it, and after a real gap it catches up. It never goes back, or
//! what was dropped meanwhile would have to be known again. Where the records themselves go back for good (an older
//! file behind a newer one), it goes on by what they advance, so that things are forgotten there as well.

use super::window::Second;

/// One record in so many is a sample.
const SAMPLE_ONE_IN: u32 = 256;
/// Samples that are looked back on, and how many it takes to begin.
const SAMPLES: usize = 64;
const SAMPLES_MIN: usize = 16;
/// LIMIT: how far one sample moves the time.
const STEP_S_MAX: Second = 3600;
/// Records that lie further back than this have gone back for good.
const BEHIND_S: Second = 3600;

/// The time by the order of records.
pub(super) struct Order {
    samples: [Second; SAMPLES],
    count: usize,
    /// Records until the next sample.
    until_next: u32,
    median: Second,
    time: Second,
}

impl Default for Order {
    fn default() -> Self {
        Self { samples: [0; SAMPLES], count: 0, until_next: 0, median: 0, time: 0 }
    }
}

impl Order {
    /// The time; 0 until there are samples enough.
    pub(super) fn time(&self) -> Second {
        self.time
    }

    /// Goes on at the time of an earlier run.
    pub(super) fn resume(&mut self, time: Second) {
        self.time = self.time.max(time);
    }

    /// The next record has this time.
    pub(super) fn see(&mut self, time: Second) {
        if self.until_next > 0 {
            self.until_next -= 1;
            return;
        }
        self.until_next = SAMPLE_ONE_IN - 1;
        if let Some(sample) = self.samples.get_mut(self.count % SAMPLES) {
            *sample = time;
        }
        self.count += 1;
        if self.count >= SAMPLES_MIN {
            self.advance();
        }
    }

    fn advance(&mut self) {
        let mut sorted = self.samples;
        let known = sorted.get_mut(..self.count.min(SAMPLES)).unwrap_or_default();
        let middle = known.len() / 2;
        let (_, median, _) = known.select_nth_unstable(middle);
        let (median, before) = (*median, self.median);
        self.median = median;
        self.time = if self.time == 0 {
            median
        } else if median > self.time {
            median.min(self.time.saturating_add(STEP_S_MAX))
        } else if before > 0 && median.saturating_add(BEHIND_S) < self.time {
            self.time.saturating_add(median.saturating_sub(before).min(STEP_S_MAX))
        } else {
            self.time
        };
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const NOW: Second = 1_776_366_000;

    /// The time after so many records, each a second after the last, one in five of them off by `off`.
    fn after(order: &mut Order, from: Second, records: u32, off: i64) -> Second {
        for record in 0..records {
            let time = from + record;
            let is_off = record.wrapping_mul(2_654_435_761) >> 8 & 7 < 2;
            order.see(if is_off { (i64::from(time) + off) as Second } else { time });
        }
        order.time()
    }

    #[test]
    fn it_follows_most_records_whatever_the_others_say() {
        for off in [0, 1_000_000_000, -1_000_000_000] {
            let time = after(&mut Order::default(), NOW, 200_000, off);
            let end = NOW + 200_000;
            // The middle of the samples is half of them old.
            assert!(
                time <= end && end - time < SAMPLE_ONE_IN * SAMPLES as u32,
                "off by {off}: {}",
                end - time
            );
        }
    }

    #[test]
    fn few_records_have_no_time() {
        assert_eq!(after(&mut Order::default(), NOW, SAMPLE_ONE_IN * (SAMPLES_MIN as u32 - 1), 0), 0);
    }

    #[test]
    fn an_older_file_neither_turns_it_back_nor_stops_it() {
        let mut order = Order::default();
        let before = after(&mut order, NOW, 100_000, 0);
        let behind = after(&mut order, NOW - 50_000_000, 100_000, 0);
        assert!((before + 60_000..=before + 100_000).contains(&behind), "{}", behind - before);
        // Back in the present it catches up.
        assert!(after(&mut order, NOW + 10_000_000, 1_000_000, 0) > NOW + 10_000_000);
    }
}
