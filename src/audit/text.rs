//! The report on a terminal: tables and small bars, as wide as there is room.

use std::ffi::OsString;

use super::findings::{grouped, plural};
use super::report::{Distribution, Hours, Report, Severity, Table, TableRow};

/// Rows that each part shows; the other forms of the report have all.
const ROWS: usize = 10;
const FINDINGS: usize = 15;
/// The narrowest and the widest line, and the narrowest one with columns.
const WIDTH_MIN: usize = 20;
const WIDTH_MAX: usize = 120;
const COLUMNS_WIDTH_MIN: usize = 40;

/// How the text is shown.
#[derive(Clone, Copy, Debug)]
pub struct Style {
    /// Columns of the terminal.
    pub width: usize,
    /// Whether colours are wanted.
    pub colours: bool,
}

/// Whether a terminal gets colours: `NO_COLOR` forbids them unless it is empty (no-color.org), a dumb one knows none.
#[must_use]
pub fn wants_colours(no_color: Option<OsString>, term: Option<OsString>) -> bool {
    no_color.is_none_or(|value| value.is_empty()) && term.is_none_or(|term| term != "dumb")
}

/// The report as text.
#[must_use]
pub fn render(report: &Report, style: Style) -> String {
    let width = style.width.clamp(WIDTH_MIN, WIDTH_MAX);
    let mut page = Page { out: String::new(), width, colours: style.colours };
    page.head(report);
    page.findings(report);
    let all = report.totals.records;
    let rejected: Vec<_> = report.reasons.iter().map(|row| (row.reason.as_str(), row.count)).collect();
    page.bars("rejected by reason", &rejected, all);
    let formats: Vec<_> = report.formats.iter().map(|row| (row.format.as_str(), row.records)).collect();
    page.bars("records by format", &formats, all);
    page.table("senders", &report.senders);
    page.table("sender → receiver", &report.pairs);
    page.table("type or intent", &report.subjects);
    page.table("tenant or workspace", &report.tenants);
    page.table("hour of sending", &busiest(&report.hours));
    page.distribution("size", &report.sizes);
    if let Some(latency) = &report.latency {
        page.distribution("sent → logged", latency);
    }
    page.foot(report);
    page.out
}

/// The hours as a table like the others: the most frequent first.
fn busiest(hours: &Hours) -> Table {
    let mut rows: Vec<_> = hours.rows.iter().collect();
    rows.sort_by_key(|row| std::cmp::Reverse(row.records));
    let row = |row: &super::report::HourRow| TableRow {
        key: vec![hour_name(&row.hour)],
        records: row.records,
        error: 0,
        rejected: row.rejected,
        bytes: 0,
        first: None,
        last: None,
        examples: Vec::new(),
    };
    Table {
        keys: hours.rows.len() as u64,
        exact: hours.others == 0,
        error_max: 0,
        rows: rows.into_iter().map(row).collect(),
        others: hours.others,
    }
}

/// The begin of an hour, without what all of them have.
#[must_use]
pub fn hour_name(hour: &str) -> String {
    hour.get(..16).unwrap_or(hour).replace('T', " ")
}

struct Page {
    out: String,
    width: usize,
    colours: bool,
}

impl Page {
    fn line(&mut self, text: &str) {
        self.out.push_str(text.trim_end());
        self.out.push('\n');
    }

    fn title(&mut self, text: &str) {
        self.out.push('\n');
        let start = self.out.len();
        self.wrapped("", text);
        if self.colours {
            let text = self.out.split_off(start);
            self.out.push_str(&format!("\u{1b}[1m{}\u{1b}[0m\n", text.trim_end()));
        }
    }

    fn head(&mut self, report: &Report) {
        let totals = &report.totals;
        let seconds = report.run.seconds.max(1e-9);
        self.wrapped(
            "",
            &format!(
                "{} records, {} in {}: {} accepted, {} rejected ({:.2} %)",
                grouped(totals.records),
                bytes(totals.bytes),
                plural(report.inputs.len() as u64, "input"),
                grouped(totals.accepted),
                grouped(totals.rejected),
                totals.rejected as f64 / totals.records.max(1) as f64 * 100.0
            ),
        );
        self.wrapped(
            "",
            &format!(
                "rules {} ({}), clock {}; {:.1} s, {} records/s",
                report.rules.hash,
                report.rules.profile,
                report.rules.clock,
                report.run.seconds,
                grouped((totals.records as f64 / seconds) as u64)
            ),
        );
        if let Some(why) = &report.scope.incomplete_because {
            self.wrapped("PARTIAL: ", why);
        }
        for note in &report.limits.notes {
            self.wrapped("note: ", note);
        }
    }

    fn findings(&mut self, report: &Report) {
        if report.findings.is_empty() {
            self.title("nothing was found");
            return;
        }
        self.title(&format!("findings ({})", report.findings.len()));
        for finding in report.findings.iter().take(FINDINGS) {
            let (mark, colour) = match finding.severity {
                Severity::High => ("HIGH ", "31"),
                Severity::Medium => ("medium ", "33"),
                Severity::Low => ("low ", "2"),
            };
            let start = self.out.len();
            let reason = finding.reason.as_ref().map_or_else(String::new, |reason| format!(" [{reason}]"));
            self.wrapped(&format!("  {mark:<7}"), &format!("{}{reason}", finding.title));
            if self.colours {
                let text = self.out.split_off(start);
                let coloured = text.replacen(mark, &format!("\u{1b}[{colour}m{mark}\u{1b}[0m"), 1);
                self.out.push_str(&coloured);
            }
            if let Some(example) = finding.examples.first() {
                let first = example
                    .first_place
                    .as_ref()
                    .map_or_else(String::new, |place| format!(" (first at {place})"));
                let at = example.at.as_ref().map_or_else(String::new, |at| format!(" {at}"));
                self.wrapped("         ", &format!("{}{at}{first}", example.place));
            }
        }
        let more = report.findings.len().saturating_sub(FINDINGS);
        if more > 0 {
            self.line(&format!("  … {more} more"));
        }
    }

    fn bars(&mut self, title: &str, rows: &[(&str, u64)], of: u64) {
        if rows.is_empty() {
            return;
        }
        self.title(title);
        if self.width < COLUMNS_WIDTH_MIN {
            for (label, count) in rows.iter().take(ROWS) {
                let share = *count as f64 / of.max(1) as f64 * 100.0;
                self.wrapped("  ", &format!("{label}: {}, {share:.2} %", grouped(*count)));
            }
            return self.more(rows.len() as u64, "");
        }
        let label_width =
            rows.iter().take(ROWS).map(|(label, _)| wide(label)).max().unwrap_or(0).min(self.width / 3);
        let bar_width = self.width.saturating_sub(label_width + 28).min(40);
        let most = rows.iter().map(|(_, count)| *count).max().unwrap_or(1).max(1);
        for (label, count) in rows.iter().take(ROWS) {
            let share = *count as f64 / of.max(1) as f64 * 100.0;
            let bar = bar(*count as f64 / most as f64, bar_width);
            self.line(&format!(
                "  {} {:>13} {share:>6.2} %  {bar}",
                padded(label, label_width),
                grouped(*count)
            ));
        }
        self.more(rows.len() as u64, "");
    }

    fn table(&mut self, title: &str, table: &Table) {
        if table.rows.is_empty() {
            return;
        }
        let shown =
            if table.exact { grouped(table.keys) } else { format!("more than {}", grouped(table.keys)) };
        self.title(&format!("{title} ({shown})"));
        let label = |row: &TableRow| row.key.join(" → ");
        let error = |row: &TableRow| match row.error {
            0 => String::new(),
            error => format!(" ±{}", grouped(error)),
        };
        let rows = || table.rows.iter().take(ROWS);
        let than = if table.exact { "" } else { "more than " };
        let errors_width = rows().map(|row| wide(&error(row))).max().unwrap_or(0);
        if self.width < COLUMNS_WIDTH_MIN + errors_width {
            for row in rows() {
                let (records, rejected) = (grouped(row.records), grouped(row.rejected));
                let text = format!("{}: {records}{} records, {rejected} rejected", label(row), error(row));
                self.wrapped("  ", &text);
            }
            return self.more(table.keys, than);
        }
        let widest = rows().map(|row| wide(&label(row))).max().unwrap_or(0);
        let label_width = widest.clamp(8, self.width.saturating_sub(32 + errors_width).max(8));
        self.line(&format!("  {} {:>13} {:>13}", padded("", label_width), "records", "rejected"));
        for row in rows() {
            self.line(&format!(
                "  {} {:>13} {:>13}{}",
                padded(&label(row), label_width),
                grouped(row.records),
                grouped(row.rejected),
                error(row)
            ));
        }
        self.more(table.keys, than);
    }

    fn more(&mut self, rows: u64, than: &str) {
        let more = rows.saturating_sub(ROWS as u64);
        if more > 0 {
            self.line(&format!("  … {than}{} more", grouped(more)));
        }
    }

    fn distribution(&mut self, title: &str, values: &Distribution) {
        if values.count == 0 {
            return;
        }
        let text = format!(
            "{title} ({}): min {}, median {}, 90 % {}, 99 % {}, 99.9 % {}, max {}",
            values.unit,
            grouped(values.min),
            grouped(values.p50),
            grouped(values.p90),
            grouped(values.p99),
            grouped(values.p999),
            grouped(values.max)
        );
        self.out.push('\n');
        self.wrapped("", &text);
    }

    fn foot(&mut self, report: &Report) {
        self.out.push('\n');
        self.wrapped("", &format!("digest {}", report.digest));
        if let Some(signature) = &report.signature {
            self.wrapped("", &format!("signed with {}", signature.public_key));
        }
    }

    /// Text in lines of the page's width; those behind the first are indented like it.
    fn wrapped(&mut self, head: &str, text: &str) {
        let indent = " ".repeat(wide(head));
        let mut line = head.to_owned();
        let mut empty = true;
        for word in text.split(' ') {
            if !empty && wide(&line) + 1 + wide(word) > self.width {
                self.line(&line);
                line.clone_from(&indent);
                empty = true;
            }
            if !empty {
                line.push(' ');
            }
            // A word that is wider than the page is broken.
            for letter in word.chars() {
                if wide(&line) >= self.width {
                    self.line(&line);
                    line.clone_from(&indent);
                }
                line.push(letter);
            }
            empty = false;
        }
        self.line(&line);
    }
}

fn wide(text: &str) -> usize {
    console::measure_text_width(text)
}

/// A text of exactly this width, cut or filled up.
fn padded(text: &str, width: usize) -> String {
    let text = console::truncate_str(text, width, "…");
    let fill = width.saturating_sub(wide(&text));
    format!("{text}{}", " ".repeat(fill))
}

/// A bar of eighths.
fn bar(share: f64, width: usize) -> String {
    const EIGHTHS: [&str; 8] = ["", "▏", "▎", "▍", "▌", "▋", "▊", "▉"];
    // What is there at all is seen, where there is room.
    let eighths = ((share * width as f64 * 8.0).round() as usize).max(1).min(width * 8);
    format!("{}{}", "█".repeat(eighths / 8), EIGHTHS.get(eighths % 8).unwrap_or(&""))
}

/// Bytes with a decimal unit.
#[must_use]
pub fn bytes(count: u64) -> String {
    let units = ["B", "kB", "MB", "GB", "TB", "PB"];
    let (mut value, mut unit) = (count as f64, 0);
    while value >= 1000.0 && unit + 1 < units.len() {
        value /= 1000.0;
        unit += 1;
    }
    let digits = usize::from(unit > 0);
    format!("{value:.digits$} {}", units.get(unit).unwrap_or(&"?"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bars_are_no_wider_than_their_room() {
        assert_eq!([bar(1.0, 0), bar(0.001, 2), bar(1.0, 2)], ["", "▏", "██"]);
    }

    #[test]
    fn an_empty_no_color_forbids_nothing() {
        let wants = |no_color: Option<&str>, term: Option<&str>| {
            wants_colours(no_color.map(Into::into), term.map(Into::into))
        };
        assert!(wants(None, None) && wants(Some(""), Some("xterm")));
        assert!(!wants(Some("1"), Some("xterm")) && !wants(None, Some("dumb")));
    }
}
