//! How far an audit is: a bar on a terminal, a line now and then elsewhere; both on standard error.

use std::io::IsTerminal as _;
use std::path::PathBuf;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

use indicatif::{ProgressBar, ProgressStyle};

use super::report::{bytes, grouped};
use crate::files::BytesRead;
use crate::pipeline::Meters;
use crate::pipeline::stop::Stop;

/// How often the bar moves, and how often a line is written.
const BAR_EVERY: Duration = Duration::from_millis(100);
const LINE_EVERY: Duration = Duration::from_secs(10);

/// The bytes of all files as they are stored; `None` if one of them has no known length.
pub(super) fn stored_bytes(paths: &[PathBuf]) -> Option<u64> {
    paths
        .iter()
        .map(|path| std::fs::metadata(path).ok().filter(std::fs::Metadata::is_file).map(|file| file.len()))
        .sum()
}

/// Shows progress until the audit has ended.
pub(super) fn show(meters: &Meters, count: &BytesRead, bytes_total: Option<u64>, ended: &Stop) {
    let is_terminal = std::io::stderr().is_terminal();
    let bar = is_terminal.then(|| new_bar(bytes_total));
    let (began, mut line_at) = (Instant::now(), Instant::now() + LINE_EVERY);
    while !ended.is_asked() {
        std::thread::sleep(BAR_EVERY);
        let (records, read) = (meters.records.load(Ordering::Relaxed), count.load(Ordering::Relaxed));
        if let Some(bar) = &bar {
            bar.set_position(read);
            bar.set_message(format!("{} records", grouped(records)));
        } else if Instant::now() >= line_at {
            line_at += LINE_EVERY;
            tracing::info!("{}", line(records, read, bytes_total, began.elapsed()));
        }
    }
    if let Some(bar) = bar {
        bar.finish_and_clear();
    }
}

fn new_bar(bytes_total: Option<u64>) -> ProgressBar {
    let template = if bytes_total.is_some() {
        "{bar:30} {percent} %  {bytes}/{total_bytes}, {bytes_per_sec}, {msg}, {eta} left"
    } else {
        "{spinner} {bytes}, {bytes_per_sec}, {msg}"
    };
    let style = ProgressStyle::with_template(template).unwrap_or_else(|_| ProgressStyle::default_bar());
    bytes_total.map_or_else(ProgressBar::new_spinner, ProgressBar::new).with_style(style)
}

/// Rate, share done and time left, in words.
fn line(records: u64, read: u64, bytes_total: Option<u64>, elapsed: Duration) -> String {
    let seconds = elapsed.as_secs_f64().max(1e-3);
    let rate = grouped((records as f64 / seconds) as u64);
    let mut line = format!("{} records, {}, {rate} records/s", grouped(records), bytes(read as f64));
    if let Some(total) = bytes_total.filter(|total| *total > 0) {
        let share = read as f64 / total as f64;
        let left = seconds * (1.0 - share).max(0.0) / share.max(1e-6);
        line.push_str(&format!(", {:.0} % done, about {left:.0} s left", share * 100.0));
    }
    line
}
