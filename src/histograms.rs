//! Latency histograms of every stage: recorded without locks, merged by whoever asks.
//!
//! Each thread owns one set and hands it over a channel now and then, at a batch's end; the collector merges the sets
//! into the running interval and the total, and writes them as `HdrHistogram` files. Recording takes no lock and
//! allocates nothing.

use std::io::Write;
use std::time::{Duration, Instant, SystemTime};

use crossbeam::channel::{Receiver, Sender, TrySendError, bounded};
use hdrhistogram::Histogram;
use hdrhistogram::serialization::V2Serializer;
use hdrhistogram::serialization::interval_log::{IntervalLogWriterBuilder, Tag};

macro_rules! stages {
    ($($(#[doc = $doc:literal])+ $name:ident $label:literal,)*) => {
        /// A part of a record's way whose time is measured.
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        #[repr(u8)]
        pub enum Stage { $($(#[doc = $doc])+ $name,)* }

        impl Stage {
            /// All stages in the order of a record's way.
            pub const ALL: &[Self] = &[$(Self::$name,)*];

            /// The name that logs, metrics and tables carry.
            #[must_use]
            pub const fn label(self) -> &'static str {
                match self { $(Self::$name => $label,)* }
            }
        }
    };
}

stages! {
    /// From the reader to a worker.
    Queue "queue",
    /// Parsing one payload, duplicate names included.
    Parse "parse",
    /// Finding the format and checking the shape.
    Shape "shape",
    /// Cross-field rules and freshness.
    Meaning "meaning",
    /// Signatures and tokens.
    Credentials "credentials",
    /// Waiting for one's turn at the gate, and passing it.
    Gate "gate",
    /// From the gate until the sink has it.
    Write "write",
    /// From the source until the record's position is committed.
    EndToEnd "end_to_end",
}

/// LIMIT: longer times are recorded as this one.
const NANOS_MAX: u64 = 3_600_000_000_000;
/// Two digits keep one set in the cache: a value is off by at most one percent.
const SIGNIFICANT_DIGITS: u8 = 2;
/// How often a thread hands over its set.
const INTERVAL: Duration = Duration::from_secs(1);
/// LIMIT: sets under way from the threads to the collector; more than there can be threads, each of which leaves one
/// behind when it ends.
const SETS_UNDER_WAY_MAX: usize = 4096;

/// One histogram per stage.
pub struct Histograms {
    stages: Vec<Histogram<u64>>,
}

impl Default for Histograms {
    fn default() -> Self {
        let empty = || {
            Histogram::new_with_bounds(1, NANOS_MAX, SIGNIFICANT_DIGITS)
                .unwrap_or_else(|_| unreachable!("the bounds are constants that a test creates"))
        };
        Self { stages: Stage::ALL.iter().map(|_| empty()).collect() }
    }
}

impl Histograms {
    /// Records `count` values of one stage.
    pub fn record(&mut self, stage: Stage, time: Duration, count: u64) {
        let nanos = u64::try_from(time.as_nanos()).unwrap_or(NANOS_MAX).clamp(1, NANOS_MAX);
        if let Some(histogram) = self.stages.get_mut(stage as usize) {
            histogram.saturating_record_n(nanos, count);
        }
    }

    /// Adds another set to this one.
    pub fn merge(&mut self, other: &Self) {
        for (into, from) in self.stages.iter_mut().zip(&other.stages) {
            // Equal bounds, so this cannot fail.
            let _ = into.add(from);
        }
    }

    /// Empties all stages.
    pub fn clear(&mut self) {
        self.stages.iter_mut().for_each(Histogram::reset);
    }

    /// The histogram of one stage.
    #[must_use]
    pub fn stage(&self, stage: Stage) -> Option<&Histogram<u64>> {
        self.stages.get(stage as usize)
    }

    /// Writes one stage as percentile text (`.hgrm`), in microseconds.
    pub fn write_hgrm(&self, stage: Stage, out: &mut impl Write) -> std::io::Result<()> {
        writeln!(
            out,
            "{:>12} {:>14} {:>10} {:>14}\n",
            "Value", "Percentile", "TotalCount", "1/(1-Percentile)"
        )?;
        let Some(histogram) = self.stage(stage) else { return Ok(()) };
        for value in histogram.iter_quantiles(5) {
            let quantile = value.quantile_iterated_to();
            let micros = value.value_iterated_to() as f64 / 1e3;
            let count = histogram.count_between(0, value.value_iterated_to());
            if quantile < 1.0 {
                writeln!(
                    out,
                    "{micros:>12.3} {quantile:>14.12} {count:>10} {:>14.2}",
                    1.0 / (1.0 - quantile)
                )?;
            } else {
                writeln!(out, "{micros:>12.3} {quantile:>14.12} {count:>10}")?;
            }
        }
        writeln!(
            out,
            "#[Mean    = {:12.3}, StdDeviation   = {:12.3}]",
            histogram.mean() / 1e3,
            histogram.stdev() / 1e3
        )?;
        writeln!(
            out,
            "#[Max     = {:12.3}, Total count    = {:12}]",
            histogram.max() as f64 / 1e3,
            histogram.len()
        )?;
        writeln!(out, "#[Buckets = {:12}, SubBuckets     = {:12}]", histogram.buckets(), 1_u32 << 8)
    }
}

/// A thread's own set, and the way to hand it over.
pub struct Recorder {
    own: Box<Histograms>,
    full: Sender<Box<Histograms>>,
    empty: Receiver<Box<Histograms>>,
    hand_over_at: Instant,
}

impl Recorder {
    /// Records `count` values of one stage.
    pub fn record(&mut self, stage: Stage, time: Duration, count: u64) {
        self.own.record(stage, time, count);
    }

    /// Hands the set over if its time has come; called between batches.
    pub fn tick(&mut self, now: Instant) {
        if now < self.hand_over_at {
            return;
        }
        self.hand_over_at = now + INTERVAL;
        let next = self.empty.try_recv().unwrap_or_default();
        let full = std::mem::replace(&mut self.own, next);
        // A collector that does not keep up must not stop the thread: keep the set and try again later.
        if let Err(TrySendError::Full(mut back)) = self.full.try_send(full) {
            back.merge(&self.own);
            self.own = back;
        }
    }
}

impl Drop for Recorder {
    fn drop(&mut self) {
        let last = std::mem::take(&mut self.own);
        let _ = self.full.try_send(last);
    }
}

/// Gathers the sets of all threads.
pub struct Collector {
    full: (Sender<Box<Histograms>>, Receiver<Box<Histograms>>),
    empty: (Sender<Box<Histograms>>, Receiver<Box<Histograms>>),
    total: Histograms,
}

impl Default for Collector {
    fn default() -> Self {
        Self {
            full: bounded(SETS_UNDER_WAY_MAX),
            empty: bounded(SETS_UNDER_WAY_MAX),
            total: Histograms::default(),
        }
    }
}

impl Collector {
    /// A recorder for one thread.
    #[must_use]
    pub fn recorder(&self) -> Recorder {
        Recorder {
            own: Box::default(),
            full: self.full.0.clone(),
            empty: self.empty.1.clone(),
            hand_over_at: Instant::now() + INTERVAL,
        }
    }

    /// Takes what the threads handed over since the last call: the interval's histograms.
    pub fn interval(&mut self) -> Histograms {
        let mut interval = Histograms::default();
        for mut set in self.full.1.try_iter() {
            interval.merge(&set);
            set.clear();
            let _ = self.empty.0.try_send(set);
        }
        self.total.merge(&interval);
        interval
    }

    /// Everything since the start.
    #[must_use]
    pub fn total(&self) -> &Histograms {
        &self.total
    }
}

/// Writes intervals as a V2 interval log (`.hlog`), one line and tag per stage; values are nanoseconds.
pub struct IntervalLog<W: Write> {
    out: W,
    started: SystemTime,
    written_until: Duration,
}

impl<W: Write> IntervalLog<W> {
    /// Begins a log at `started` with its header.
    pub fn begin(mut out: W, started: SystemTime) -> std::io::Result<Self> {
        writeln!(out, "#[Tollgate latency log, one tag per stage, values in nanoseconds]")?;
        IntervalLogWriterBuilder::new()
            .with_start_time(started)
            .with_base_time(started)
            .with_max_value_divisor(1e6)
            .begin_log_with(&mut out, &mut V2Serializer::new())?;
        Ok(Self { out, started, written_until: Duration::ZERO })
    }

    /// Appends the interval that ends now.
    pub fn append(&mut self, interval: &Histograms) -> std::io::Result<()> {
        let until = self.started.elapsed().unwrap_or_default();
        let from = std::mem::replace(&mut self.written_until, until);
        // The builder writes a header each time; only the interval lines behind it are wanted.
        let mut lines = Vec::new();
        let mut serializer = V2Serializer::new();
        let mut log = IntervalLogWriterBuilder::new()
            .with_max_value_divisor(1e6)
            .begin_log_with(&mut lines, &mut serializer)?;
        for stage in Stage::ALL {
            let Some(histogram) = interval.stage(*stage).filter(|histogram| !histogram.is_empty()) else {
                continue;
            };
            log.write_histogram(histogram, from, until.saturating_sub(from), Tag::new(stage.label()))
                .map_err(|error| std::io::Error::other(format!("latency log: {error:?}")))?;
        }
        for line in lines.split_inclusive(|byte| *byte == b'\n').filter(|line| line.starts_with(b"Tag=")) {
            self.out.write_all(line)?;
        }
        Ok(())
    }

    /// Ends the log.
    pub fn finish(mut self) -> std::io::Result<()> {
        self.out.flush()
    }
}

#[cfg(test)]
mod tests {
    use hdrhistogram::serialization::Deserializer;
    use hdrhistogram::serialization::interval_log::{IntervalLogIterator, LogEntry};

    use super::*;

    #[test]
    fn threads_record_and_the_collector_has_it_all() {
        let mut collector = Collector::default();
        std::thread::scope(|scope| {
            for _ in 0..4 {
                let mut recorder = collector.recorder();
                scope.spawn(move || {
                    for micros in 1..=1000 {
                        recorder.record(Stage::Parse, Duration::from_micros(micros), 1);
                        recorder.tick(Instant::now() + INTERVAL * u32::from(micros % 100 == 0) * 2);
                    }
                });
            }
        });
        collector.interval();
        let parse = collector.total().stage(Stage::Parse).unwrap();
        assert_eq!(parse.len(), 4000);
        assert!(
            (495_000..=505_000).contains(&parse.value_at_quantile(0.5)),
            "{}",
            parse.value_at_quantile(0.5)
        );
    }

    #[test]
    fn as_many_threads_as_there_can_be_leave_their_last_set() {
        let mut collector = Collector::default();
        for _ in 0..1024 + 2 {
            collector.recorder().record(Stage::Parse, Duration::from_micros(1), 1);
        }
        assert_eq!(collector.interval().stage(Stage::Parse).unwrap().len(), 1024 + 2);
    }

    #[test]
    fn the_log_can_be_read_back() {
        let mut bytes = Vec::new();
        let mut log = IntervalLog::begin(&mut bytes, SystemTime::now()).unwrap();
        let mut set = Histograms::default();
        set.record(Stage::Gate, Duration::from_micros(7), 3);
        set.record(Stage::Write, Duration::from_micros(9), 1);
        log.append(&set).unwrap();
        set.clear();
        set.record(Stage::Gate, Duration::from_micros(8), 2);
        log.append(&set).unwrap();
        log.finish().unwrap();

        let mut seen = Vec::new();
        for entry in IntervalLogIterator::new(&bytes) {
            if let LogEntry::Interval(interval) = entry.unwrap() {
                let tag = interval.tag().unwrap().as_str().to_owned();
                let encoded =
                    base64::Engine::decode(&base64::prelude::BASE64_STANDARD, interval.encoded_histogram());
                let histogram: Histogram<u64> =
                    Deserializer::new().deserialize(&mut encoded.unwrap().as_slice()).unwrap();
                seen.push((tag, histogram.len()));
            }
        }
        let expected = [("gate", 3), ("write", 1), ("gate", 2)].map(|(tag, count)| (tag.to_owned(), count));
        assert_eq!(seen, expected);
    }

    #[test]
    fn percentile_text_ends_with_everything() {
        let mut set = Histograms::default();
        set.record(Stage::EndToEnd, Duration::from_millis(5), 10);
        let mut text = Vec::new();
        set.write_hgrm(Stage::EndToEnd, &mut text).unwrap();
        let text = String::from_utf8(text).unwrap();
        assert!(text.contains("1.000000000000         10"), "{text}");
    }
}
