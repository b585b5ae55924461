//! Latency as metrics and the live page want it: cumulative buckets since the start, and percentiles of each second.
//!
//! Fed once a second from the interval's histograms; nothing here runs on the way of a record.

use crate::histograms::{Histograms, Stage};

/// Upper bounds of the buckets in seconds: from a microsecond, where one stage of one record lies, to a minute.
pub(super) const BOUNDS: &[f64] = &[
    0.000_001,
    0.000_002_5,
    0.000_005,
    0.000_01,
    0.000_025,
    0.000_1,
    0.000_25,
    0.001,
    0.002_5,
    0.005,
    0.01,
    0.025,
    0.05,
    0.1,
    0.25,
    0.5,
    1.0,
    2.5,
    5.0,
    10.0,
    60.0,
];

/// The percentiles that the page and `top` show.
pub(super) const QUANTILES: [f64; 4] = [0.5, 0.9, 0.99, 0.999];

/// One stage since the start.
#[derive(Clone, Debug, Default)]
pub struct Buckets {
    /// Values up to each bound and above the one before; the last: above all.
    pub counts: Vec<u64>,
    /// All values.
    pub count: u64,
    /// Their sum in seconds.
    pub sum: f64,
}

/// All stages since the start, and the percentiles of the last second.
#[derive(Clone, Debug)]
pub struct Latency {
    stages: Vec<Buckets>,
    last: Vec<Option<[u64; 5]>>,
}

impl Default for Latency {
    fn default() -> Self {
        let empty = || Buckets { counts: vec![0; BOUNDS.len() + 1], ..Buckets::default() };
        Self { stages: Stage::ALL.iter().map(|_| empty()).collect(), last: vec![None; Stage::ALL.len()] }
    }
}

impl Latency {
    /// Adds a second's histograms.
    pub fn add(&mut self, interval: &Histograms) {
        for (stage, (buckets, last)) in Stage::ALL.iter().zip(self.stages.iter_mut().zip(&mut self.last)) {
            *last = None;
            let Some(histogram) = interval.stage(*stage).filter(|histogram| !histogram.is_empty()) else {
                continue;
            };
            let mut bucket = 0;
            for value in histogram.iter_recorded() {
                let seconds = value.value_iterated_to() as f64 / 1e9;
                while BOUNDS.get(bucket).is_some_and(|bound| seconds > *bound) {
                    bucket += 1;
                }
                let count = value.count_at_value();
                if let Some(cell) = buckets.counts.get_mut(bucket) {
                    *cell += count;
                }
                buckets.count += count;
                buckets.sum += seconds * count as f64;
            }
            let [p50, p90, p99, p999] = QUANTILES.map(|quantile| histogram.value_at_quantile(quantile));
            *last = Some([p50, p90, p99, p999, histogram.max()]);
        }
    }

    /// A stage since the start.
    #[must_use]
    pub fn stage(&self, stage: Stage) -> Option<&Buckets> {
        self.stages.get(stage as usize)
    }

    /// Percentiles and maximum of a stage in the last second, in nanoseconds; `None` if nothing passed it.
    #[must_use]
    pub fn last(&self, stage: Stage) -> Option<[u64; 5]> {
        self.last.get(stage as usize).copied().flatten()
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    #[test]
    fn buckets_add_up_over_intervals_and_percentiles_are_the_last_ones() {
        let mut latency = Latency::default();
        let mut interval = Histograms::default();
        interval.record(Stage::Gate, Duration::from_micros(3), 10);
        interval.record(Stage::Gate, Duration::from_mins(2), 1);
        latency.add(&interval);
        latency.add(&interval);
        let gate = latency.stage(Stage::Gate).unwrap();
        assert_eq!((gate.count, gate.counts[2], gate.counts[BOUNDS.len()]), (22, 20, 2));
        assert!((gate.sum - 240.0).abs() < 3.0, "{}", gate.sum);
        assert!(latency.last(Stage::Gate).unwrap()[0].abs_diff(3000) < 60);
        latency.add(&Histograms::default());
        assert_eq!(latency.last(Stage::Gate), None);
        assert_eq!(latency.stage(Stage::Gate).unwrap().count, 22);
    }
}
