//! How far a sender's clock is off: its timestamps against the time of the record's neighbours.
//!
//! Where the log stamps records (Kafka), that stamp is the reference. In files it is the median of the timestamps of the
//! records before: a few senders with wrong clocks do not move it. Each sender has a small histogram, so that what is
//! typical of it can be told from what happened once.

/// Timestamps that the reference is the median of; as many must have been seen before any is compared.
const RECENT: usize = 64;
/// How often the median is taken anew.
const RENEW_EVERY: usize = 16;

/// The upper ends of the classes, in seconds; the last one is open.
const CLASS_ENDS_S: [i64; 8] = [-3600, -300, -30, -5, 5, 30, 300, 3600];
/// How many classes there are.
const CLASSES: usize = CLASS_ENDS_S.len() + 1;
/// Deviations of so many seconds are found worth telling if they are typical of a sender.
pub const TOLD_S: i64 = 30;
/// Deviations of a sender below which nothing is told of it.
pub const SAMPLES_MIN: u64 = 20;

/// The reference of one input.
#[derive(Debug)]
pub struct Reference {
    recent: [i64; RECENT],
    seen: usize,
    median: i64,
}

impl Default for Reference {
    fn default() -> Self {
        Self { recent: [0; RECENT], seen: 0, median: 0 }
    }
}

impl Reference {
    /// The time, in microseconds, that a record sent at `sent` is compared with; then `sent` counts for the next ones.
    pub fn compare(&mut self, sent: i64) -> Option<i64> {
        let full = self.seen >= RECENT;
        if full && self.seen.is_multiple_of(RENEW_EVERY) {
            let mut sorted = self.recent;
            let (_, median, _) = sorted.select_nth_unstable(RECENT / 2);
            self.median = *median;
        }
        if let Some(cell) = self.recent.get_mut(self.seen % RECENT) {
            *cell = sent;
        }
        self.seen += 1;
        full.then_some(self.median)
    }
}

/// The deviations of one sender; positive ones are ahead.
#[derive(Clone, Debug, Default)]
pub struct Deviations {
    classes: [u32; CLASSES],
    sum_s: i64,
}

impl Deviations {
    /// Adds one, in microseconds.
    pub fn add(&mut self, micros: i64) {
        let seconds = micros / 1_000_000;
        let class = CLASS_ENDS_S.iter().position(|end| seconds < *end).unwrap_or(CLASSES - 1);
        if let Some(cell) = self.classes.get_mut(class) {
            *cell = cell.saturating_add(1);
        }
        // A day bounds what one record can do to the mean.
        self.sum_s += seconds.clamp(-86_400, 86_400);
    }

    /// How many there are.
    #[must_use]
    pub fn count(&self) -> u64 {
        self.classes.iter().map(|count| u64::from(*count)).sum()
    }

    /// The mean, in seconds; each deviation counts for a day at most.
    #[must_use]
    pub fn mean_s(&self) -> i64 {
        self.sum_s / (self.count() as i64).max(1)
    }

    /// What is typical: the bounds of the class that the median falls into, in seconds.
    #[must_use]
    pub fn typical_s(&self) -> (Option<i64>, Option<i64>) {
        let half = self.count().div_ceil(2);
        let mut below = 0;
        let class = self.classes.iter().position(|count| {
            below += u64::from(*count);
            below >= half
        });
        let class = class.unwrap_or_default();
        (class.checked_sub(1).and_then(|at| CLASS_ENDS_S.get(at)).copied(), CLASS_ENDS_S.get(class).copied())
    }

    /// Whether the sender's clock is off by as much as is told.
    #[must_use]
    pub fn is_off(&self) -> bool {
        let (from, to) = self.typical_s();
        self.count() >= SAMPLES_MIN
            && (from.is_some_and(|from| from >= TOLD_S) || to.is_some_and(|to| to <= -TOLD_S))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_clock_that_is_off_is_told_and_moves_nothing() {
        let mut reference = Reference::default();
        let mut senders: [Deviations; 3] = Default::default();
        for number in 0..3000_i64 {
            let time = number * 100_000;
            let sender = (number % 7 % 3) as usize;
            let off = [0, 400_000_000, 0][sender];
            if let Some(reference) = reference.compare(time + off) {
                senders[sender].add(time + off - reference);
            }
        }
        let [right, ahead, other] = senders;
        assert!(!right.is_off() && !other.is_off() && ahead.is_off());
        assert_eq!(ahead.typical_s(), (Some(300), Some(3600)));
        assert!((390..410).contains(&ahead.mean_s()), "{}", ahead.mean_s());
    }
}
