//! How far an audit is: a bar on a terminal, a line now and then elsewhere; both on standard error.

use std::io::IsTerminal as _;
use std::path::PathBuf;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

use indicatif::{ProgressBar, ProgressStyle};

use super::report::{bytes, grouped};
use crate::files::BytesRead;
use crate::kafka::Stretch;
use crate::pipeline::Meters;
use crate::pipeline::stop::Stop;

/// How often the bar moves, and how often a line is written.
const BAR_EVERY: Duration = Duration::from_millis(100);
const LINE_EVERY: Duration = Duration::from_secs(10);

/// How long a record is, for want of anything better. What is made for so many records only saves that it grows.
const RECORD_BYTES_TYPICAL: u64 = 1024;

/// What an audit has to get through.
#[derive(Clone, Copy)]
pub(super) enum Goal {
    /// Bytes, as they are stored.
    Bytes(u64),
    /// Offsets of partitions; some may have no record.
    Offsets(u64),
}

impl Goal {
    /// All files; `None` if one of them has no known length.
    pub(super) fn stored(paths: &[PathBuf]) -> Option<Self> {
        let length = |path: &PathBuf| std::fs::metadata(path).ok().filter(std::fs::Metadata::is_file);
        paths.iter().map(|path| length(path).map(|file| file.len())).sum::<Option<u64>>().map(Self::Bytes)
    }

    /// What is read of each partition.
    pub(super) fn read(stretches: &[Stretch]) -> Self {
        Self::Offsets(stretches.iter().map(|stretch| stretch.until.abs_diff(stretch.from)).sum())
    }

    /// How many records that will be, or about so many.
    pub(super) fn records(self) -> u64 {
        match self {
            Self::Bytes(total) => total / RECORD_BYTES_TYPICAL,
            Self::Offsets(total) => total,
        }
    }

    /// How far it is, and how far it has to get.
    fn reached(self, records: u64, bytes: u64) -> (u64, u64) {
        match self {
            Self::Bytes(total) => (bytes, total),
            Self::Offsets(total) => (records, total),
        }
    }
}

/// Shows progress until the audit has ended.
pub(super) fn show(meters: &Meters, count: &BytesRead, goal: Option<Goal>, ended: &Stop) {
    let is_terminal = std::io::stderr().is_terminal();
    let bar = is_terminal.then(|| new_bar(goal));
    let (began, mut line_at) = (Instant::now(), Instant::now() + LINE_EVERY);
    while !ended.is_asked() {
        // Whoever asks for the end wakes this thread, so that nobody waits for it.
        std::thread::park_timeout(BAR_EVERY);
        let (records, payloads) =
            (meters.records.load(Ordering::Relaxed), meters.bytes.load(Ordering::Relaxed));
        let read = match goal {
            Some(Goal::Offsets(_)) => payloads,
            _ => count.load(Ordering::Relaxed),
        };
        let reached = goal.map(|goal| goal.reached(records, read));
        if let Some(bar) = &bar {
            bar.set_position(reached.map_or(read, |(reached, _)| reached));
            bar.set_message(shown(records, read, began.elapsed()));
        } else if Instant::now() >= line_at {
            line_at += LINE_EVERY;
            tracing::info!("{}", line(shown(records, read, began.elapsed()), reached, began.elapsed()));
        }
    }
    if let Some(bar) = bar {
        bar.finish_and_clear();
    }
}

fn new_bar(goal: Option<Goal>) -> ProgressBar {
    let template =
        if goal.is_some() { "{percent:>3} % {wide_bar} {msg}, {eta} left" } else { "{spinner} {msg}" };
    let style = ProgressStyle::with_template(template).unwrap_or_else(|_| ProgressStyle::default_bar());
    let total = goal.map(|goal| goal.reached(0, 0).1);
    total.map_or_else(ProgressBar::new_spinner, ProgressBar::new).with_style(style)
}

/// What was read, and how fast.
fn shown(records: u64, read: u64, elapsed: Duration) -> String {
    let rate = grouped((records as f64 / elapsed.as_secs_f64().max(1e-3)) as u64);
    format!("{} records, {}, {rate} records/s", grouped(records), bytes(read as f64))
}

/// The same with share done and time left, in words.
fn line(mut shown: String, reached: Option<(u64, u64)>, elapsed: Duration) -> String {
    if let Some((reached, total)) = reached.filter(|(_, total)| *total > 0) {
        let share = reached as f64 / total as f64;
        let left = elapsed.as_secs_f64() * (1.0 - share).max(0.0) / share.max(1e-6);
        shown.push_str(&format!(", {:.0} % done, about {left:.0} s left", share * 100.0));
    }
    shown
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_are_measured_in_bytes_and_topics_in_offsets() {
        let stretch = |from, until| Stretch { topic: "t".to_owned(), partition: 0, from, until };
        let goal = Goal::read(&[stretch(10, 110), stretch(5, 5), stretch(0, 100)]);
        let reached = goal.reached(50, 999_999);
        assert_eq!(reached, (50, 200));
        let said = line(String::new(), Some(reached), Duration::from_secs(10));
        assert_eq!(said, ", 25 % done, about 30 s left");
        assert_eq!(Goal::Bytes(400).reached(7, 100), (100, 400));
        assert_eq!(line("x".to_owned(), Some((0, 0)), Duration::from_secs(1)), "x", "nothing to read");
        assert!(Goal::stored(&[PathBuf::from("/no/such/file")]).is_none());
    }
}
