//! How values are spread: percentiles within one percent; smallest, largest and counts by powers of two exactly.

use hdrhistogram::Histogram;

/// LIMIT: larger values count as this one, the largest that every reader of JSON tells exactly.
pub const VALUE_MAX: u64 = 1 << 53;
/// One class for 0, one for each power of two up to [`VALUE_MAX`].
const CLASSES: usize = 55;

/// Values that were seen.
pub struct Spread {
    histogram: Histogram<u64>,
    classes: [u64; CLASSES],
    min: u64,
    max: u64,
}

impl Default for Spread {
    fn default() -> Self {
        let histogram = Histogram::new_with_bounds(1, VALUE_MAX, 2)
            .unwrap_or_else(|_| unreachable!("the bounds are constants that every audit creates"));
        Self { histogram, classes: [0; CLASSES], min: u64::MAX, max: 0 }
    }
}

impl Spread {
    /// Adds one.
    pub fn add(&mut self, value: u64) {
        let value = value.min(VALUE_MAX);
        self.histogram.saturating_record(value);
        (self.min, self.max) = (self.min.min(value), self.max.max(value));
        // 0, 1, 2, 3 to 4, 5 to 8 and so on.
        let class = if value == 0 { 0 } else { u64::BITS - (value - 1).leading_zeros() + 1 };
        if let Some(count) = self.classes.get_mut(class as usize) {
            *count += 1;
        }
    }

    /// How many there are.
    #[must_use]
    pub fn count(&self) -> u64 {
        self.histogram.len()
    }

    /// The smallest; 0 if there is none.
    #[must_use]
    pub fn min(&self) -> u64 {
        self.min.min(self.max)
    }

    /// The largest.
    #[must_use]
    pub fn max(&self) -> u64 {
        self.max
    }

    /// The mean.
    #[must_use]
    pub fn mean(&self) -> u64 {
        (self.histogram.mean() as u64).clamp(self.min(), self.max)
    }

    /// The value below or at which this share of all lies.
    #[must_use]
    pub fn quantile(&self, share: f64) -> u64 {
        self.histogram.value_at_quantile(share).clamp(self.min(), self.max)
    }

    /// The classes that have values: their upper ends, 0 and powers of two, and how many lie above the end before.
    #[must_use]
    pub fn classes(&self) -> Vec<(u64, u64)> {
        let ends = (0..CLASSES).map(|class| class.checked_sub(1).map_or(0, |power| 1_u64 << power));
        ends.zip(self.classes).filter(|(_, count)| *count > 0).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_value_is_in_one_class() {
        let mut spread = Spread::default();
        assert_eq!((spread.count(), spread.min(), spread.max(), spread.quantile(0.5)), (0, 0, 0, 0));
        let mut known: Vec<u64> = (0..3000).collect();
        known.extend([65_535, 65_536, 65_537, VALUE_MAX - 1, VALUE_MAX, u64::MAX]);
        for value in &known {
            spread.add(*value);
        }
        let mut below = 0;
        for (end, count) in spread.classes() {
            below += count;
            let wanted = known.iter().filter(|value| **value.min(&&VALUE_MAX) <= end).count() as u64;
            assert_eq!(below, wanted, "up to {end}");
        }
        assert_eq!(below, known.len() as u64);
        assert_eq!((spread.count(), spread.max()), (below, VALUE_MAX));
    }

    #[test]
    fn the_ends_are_values_that_were_seen() {
        let mut spread = Spread::default();
        for value in [1001, 1003, 0] {
            spread.add(value);
        }
        assert_eq!((spread.min(), spread.max(), spread.quantile(0.999)), (0, 1003, 1003));
        assert_eq!(spread.classes(), [(0, 1), (1024, 2)]);
    }
}
