//! What a run shows at its end: counts, reasons, latency. Text for people, JSON for programs, from the same summary.

use std::io::Write;

use serde_json::{Value, json};

use super::Failure;
use crate::histograms::{Histograms, Stage};
use crate::judge::Rules;
use crate::pipeline::Summary;
use crate::state::Notes;

/// The percentiles that tables show.
const QUANTILES: [(&str, f64); 4] = [("p50", 0.5), ("p90", 0.9), ("p99", 0.99), ("p99.9", 0.999)];
/// The widest bar of a table.
const BAR_WIDTH: f64 = 24.0;

/// Prints a summary to standard output.
pub(super) fn print(summary: &Summary, rules: &Rules, as_json: bool) -> Result<(), Failure> {
    let text = if as_json { format!("{}\n", to_json(summary, rules)) } else { to_text(summary, rules) };
    std::io::stdout().write_all(text.as_bytes())?;
    Ok(())
}

/// The summary as text.
pub(super) fn to_text(summary: &Summary, rules: &Rules) -> String {
    let tally = &summary.tally;
    let seconds = summary.elapsed.as_secs_f64().max(1e-9);
    let mut out = String::new();
    let mut line = |text: String| {
        out.push_str(&text);
        out.push('\n');
    };
    line(format!(
        "{} records, {} in {:.2} s: {} records/s, {}/s",
        grouped(tally.records),
        bytes(tally.bytes as f64),
        seconds,
        grouped((tally.records as f64 / seconds) as u64),
        bytes(tally.bytes as f64 / seconds)
    ));
    line(String::new());
    line(row("accepted", tally.accepted(), tally.records));
    for (format, count) in tally.accepted_by_format() {
        line(row(&format!("  {}", rules.format_name(format)), count, tally.records));
    }
    if tally.unchecked > 0 {
        line(row("  of them not all checked", tally.unchecked, tally.records));
    }
    for (label, count) in notes(summary) {
        line(row(&format!("  {label}"), count, tally.records));
    }
    line(row("rejected", tally.rejected(), tally.records));
    for (reason, count) in tally.rejected_by_reason() {
        line(row(&format!("  {}", reason.code()), count, tally.records));
    }
    line(String::new());
    line(latency_table(&summary.histograms));
    out
}

/// What the window and the ledger have to tell, where there is anything.
fn notes(summary: &Summary) -> impl Iterator<Item = (&'static str, u64)> {
    let Notes { ignored, capped, ids_evicted, entries_evicted, unrestored, .. } = summary.notes;
    let notes = [
        ("without effect", ignored),
        ("with a warning", summary.tally.warned),
        ("remembered for less", capped),
        ("ids given up", ids_evicted),
        ("ledger entries given up", entries_evicted),
        ("ids not restored", unrestored),
    ];
    notes.into_iter().filter(|(_, count)| *count > 0)
}

fn row(label: &str, count: u64, of: u64) -> String {
    let share = count as f64 / of.max(1) as f64;
    let bar = "█".repeat((share * BAR_WIDTH).ceil() as usize);
    format!("{label:<24} {:>14} {:>7.2} %  {bar}", grouped(count), share * 100.0).trim_end().to_owned()
}

fn latency_table(histograms: &Histograms) -> String {
    let mut out = format!("{:<14}", "latency");
    for (name, _) in QUANTILES {
        out.push_str(&format!("{name:>12}"));
    }
    out.push_str(&format!("{:>12}", "max"));
    for stage in Stage::ALL {
        let Some(histogram) = histograms.stage(*stage).filter(|histogram| !histogram.is_empty()) else {
            continue;
        };
        out.push_str(&format!("\n{:<14}", stage.label()));
        for (_, quantile) in QUANTILES {
            out.push_str(&format!("{:>12}", time(histogram.value_at_quantile(quantile))));
        }
        out.push_str(&format!("{:>12}", time(histogram.max())));
    }
    out
}

/// The summary as JSON.
pub(super) fn to_json(summary: &Summary, rules: &Rules) -> Value {
    let tally = &summary.tally;
    let seconds = summary.elapsed.as_secs_f64();
    let by_format: serde_json::Map<_, _> = tally
        .accepted_by_format()
        .map(|(id, count)| (rules.format_name(id).to_owned(), json!(count)))
        .collect();
    let by_reason: serde_json::Map<_, _> = tally
        .rejected_by_reason()
        .into_iter()
        .map(|(reason, count)| (reason.code().to_owned(), json!(count)))
        .collect();
    let mut latency = serde_json::Map::new();
    for stage in Stage::ALL {
        let Some(histogram) = summary.histograms.stage(*stage).filter(|histogram| !histogram.is_empty())
        else {
            continue;
        };
        let mut values: serde_json::Map<_, _> = QUANTILES
            .iter()
            .map(|(name, quantile)| ((*name).to_owned(), json!(histogram.value_at_quantile(*quantile))))
            .collect();
        values.insert("max".into(), json!(histogram.max()));
        values.insert("count".into(), json!(histogram.len()));
        latency.insert(stage.label().into(), Value::Object(values));
    }
    json!({
        "records": tally.records,
        "bytes": tally.bytes,
        "seconds": seconds,
        "accepted": tally.accepted(),
        "rejected": tally.rejected(),
        "unchecked": tally.unchecked,
        "ignored": summary.notes.ignored,
        "warned": tally.warned,
        "capped": summary.notes.capped,
        "ids_evicted": summary.notes.ids_evicted,
        "entries_evicted": summary.notes.entries_evicted,
        "ids_unrestored": summary.notes.unrestored,
        "accepted_by_format": by_format,
        "rejected_by_reason": by_reason,
        "latency_ns": latency,
    })
}

/// A count with thin groups: 1 234 567.
pub(super) fn grouped(count: u64) -> String {
    let digits = count.to_string();
    let mut out = String::new();
    for (index, digit) in digits.chars().enumerate() {
        if index > 0 && (digits.len() - index).is_multiple_of(3) {
            out.push(' ');
        }
        out.push(digit);
    }
    out
}

/// Bytes with a decimal unit.
pub(super) fn bytes(count: f64) -> String {
    let units = ["B", "kB", "MB", "GB", "TB", "PB"];
    let (mut value, mut unit) = (count, 0);
    while value >= 1000.0 && unit + 1 < units.len() {
        value /= 1000.0;
        unit += 1;
    }
    format!("{value:.1} {}", units.get(unit).unwrap_or(&"?"))
}

/// Nanoseconds with a fitting unit, in eight characters up to a quarter of an hour.
pub(super) fn time(nanos: u64) -> String {
    match nanos {
        0..10_000 => format!("{nanos} ns"),
        10_000..1_000_000 => format!("{:.1} µs", nanos as f64 / 1e3),
        1_000_000..1_000_000_000 => format!("{:.1} ms", nanos as f64 / 1e6),
        _ => format!("{:.1} s", nanos as f64 / 1e9),
    }
}
