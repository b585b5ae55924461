//! Latencies of a run: corrected (from the time a record was due) and raw (from the time it was sent), whole and by second.

use std::io::Write;
use std::time::{Duration, SystemTime};

use hdrhistogram::Histogram;
use hdrhistogram::serialization::V2Serializer;
use hdrhistogram::serialization::interval_log::{IntervalLogWriterBuilder, Tag};

/// LIMIT: longer latencies count as this one.
const MICROS_MAX: u64 = 3_600_000_000;

/// Both latencies of one span of time, in microseconds.
#[derive(Clone)]
pub struct Pair {
    /// From the time that a record was due.
    pub corrected: Histogram<u64>,
    /// From the time that it was sent.
    pub raw: Histogram<u64>,
}

impl Default for Pair {
    fn default() -> Self {
        let empty = || {
            Histogram::new_with_bounds(1, MICROS_MAX, 3)
                .unwrap_or_else(|_| unreachable!("the bounds are constants that a test creates"))
        };
        Self { corrected: empty(), raw: empty() }
    }
}

/// The latencies of a run.
#[derive(Default)]
pub struct Latencies {
    /// All of them, without the warm-up.
    pub whole: Pair,
    /// By the second in which records were due, without the warm-up.
    pub seconds: Vec<Pair>,
}

impl Latencies {
    /// Counts a record that was due so long after the warm-up.
    pub fn record(&mut self, due: Duration, corrected: Duration, raw: Duration) {
        let second = due.as_secs() as usize;
        while self.seconds.len() <= second {
            self.seconds.push(Pair::default());
        }
        let micros = |time: Duration| (time.as_micros() as u64).clamp(1, MICROS_MAX);
        for pair in [Some(&mut self.whole), self.seconds.get_mut(second)].into_iter().flatten() {
            pair.corrected.saturating_record(micros(corrected));
            pair.raw.saturating_record(micros(raw));
        }
    }

    /// Writes the seconds as an interval log (`.hlog`), in microseconds, with the tags `corrected` and `raw`.
    pub fn write_hlog(&self, started: SystemTime, head: &str, out: &mut impl Write) -> std::io::Result<()> {
        let mut serializer = V2Serializer::new();
        let mut log = IntervalLogWriterBuilder::new()
            .add_comment(head)
            .with_start_time(started)
            .with_base_time(started)
            .begin_log_with(out, &mut serializer)
            .map_err(std::io::Error::other)?;
        let second = Duration::from_secs(1);
        for (at, pair) in (0..).zip(&self.seconds) {
            for (tag, histogram) in [("corrected", &pair.corrected), ("raw", &pair.raw)] {
                log.write_histogram(histogram, second * at, second, Tag::new(tag))
                    .map_err(|error| std::io::Error::other(format!("{error:?}")))?;
            }
        }
        Ok(())
    }
}

/// Writes percentiles as text (`.hgrm`), in milliseconds.
pub fn write_hgrm(histogram: &Histogram<u64>, out: &mut impl Write) -> std::io::Result<()> {
    writeln!(out, "{:>12} {:>14} {:>10} {:>14}\n", "Value", "Percentile", "TotalCount", "1/(1-Percentile)")?;
    for value in histogram.iter_quantiles(5) {
        let (quantile, millis) = (value.quantile_iterated_to(), value.value_iterated_to() as f64 / 1e3);
        let count = histogram.count_between(0, value.value_iterated_to());
        if quantile < 1.0 {
            writeln!(out, "{millis:>12.3} {quantile:>14.12} {count:>10} {:>14.2}", 1.0 / (1.0 - quantile))?;
        } else {
            writeln!(out, "{millis:>12.3} {quantile:>14.12} {count:>10} {:>14}", "inf")?;
        }
    }
    let (mean, deviation) = (histogram.mean() / 1e3, histogram.stdev() / 1e3);
    writeln!(out, "#[Mean    = {mean:>12.3}, StdDeviation   = {deviation:>12.3}]")?;
    writeln!(
        out,
        "#[Max     = {:>12.3}, Total count    = {:>12}]",
        histogram.max() as f64 / 1e3,
        histogram.len()
    )
}
