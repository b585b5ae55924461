//! Every table of the report, in one form: a caption, columns, rows; drill-down where there are examples.

use super::super::examples::Example;
use super::super::findings::{grouped, plural};
use super::super::report::{ReasonRow, Report, Table};
use super::super::text::{bytes, hour_name};
use super::{esc, one_example};

/// LIMIT: rows of one table in the file; `report.json` has more.
const ROWS_MAX: usize = 500;

/// A cell: text, or a number that is sorted by its value.
enum Cell {
    Text(String),
    /// A text that is sorted by another one.
    Keyed(String, String),
    Number(u64),
    /// A number of seconds, ahead or behind.
    Seconds(i64),
    /// A number with a bar of its share of a largest one.
    Bar(u64, u64),
    Percent(f64),
    /// A percentage that may be higher.
    AtLeast(f64),
    Bytes(u64),
    /// A text, or a place, which a narrow page leaves out.
    Minor(String),
    Place(String),
    Examples(Vec<Example>),
}

/// A table in the making.
struct Shown<'a> {
    id: &'a str,
    title: &'a str,
    note: String,
    columns: &'a [&'a str],
    rows: Vec<Vec<Cell>>,
}

/// All tables that have rows.
pub(super) fn all(out: &mut String, report: &Report) {
    formats(out, report);
    reasons(out, "reasons", "Rejected by reason", &report.reasons);
    reasons(out, "warnings", "Accepted with a warning", &report.warnings);
    keyed(out, "senders", "Senders", &["sender"], &report.senders);
    keyed(out, "pairs", "Sender and receiver", &["sender", "receiver"], &report.pairs);
    keyed(out, "subjects", "Type, intent or action", &["type or intent"], &report.subjects);
    keyed(out, "tenants", "Tenant or workspace", &["tenant or workspace"], &report.tenants);
    hours(out, report);
    rejects(
        out,
        "sender-reasons",
        "Rejected by sender and reason",
        &["sender", "reason"],
        &report.sender_reasons,
    );
    rejects(
        out,
        "signatures",
        "Failed signatures and tokens",
        &["sender", "key", "reason"],
        &report.signatures,
    );
    rejects(out, "agents", "Agents that no registry knows", &["agent", "role"], &report.unknown_agents);
    repeats(out, report);
    clocks(out, report);
    sequences(out, report);
    drift(out, report);
    inputs(out, report);
}

fn formats(out: &mut String, report: &Report) {
    let most = report.formats.iter().map(|row| row.records).max().unwrap_or(1);
    let rows = report.formats.iter().map(|row| {
        let share = row.rejected as f64 / row.records.max(1) as f64;
        vec![
            Cell::Text(named(&row.format).to_owned()),
            Cell::Bar(row.records, most),
            Cell::Number(row.rejected),
            Cell::Percent(share),
            Cell::Bytes(row.bytes),
        ]
    });
    let columns = &["format", "records", "rejected", "share", "bytes"];
    table(
        out,
        &Shown { id: "formats", title: "Formats", note: String::new(), columns, rows: rows.collect() },
    );
}

/// The busiest hours, in the order of time.
fn hours(out: &mut String, report: &Report) {
    let all = &report.hours.rows;
    let most = all.iter().map(|row| row.records).max().unwrap_or(1);
    let mut busiest: Vec<_> = all.iter().collect();
    busiest.sort_by_key(|row| std::cmp::Reverse(row.records));
    busiest.truncate(ROWS_MAX);
    busiest.sort_by(|a, b| a.hour.cmp(&b.hour));
    let rows = busiest.iter().map(|row| {
        let share = row.rejected as f64 / row.records.max(1) as f64;
        let cells = [Cell::Bar(row.records, most), Cell::Number(row.rejected), Cell::Percent(share)];
        std::iter::once(Cell::Text(hour_name(&row.hour))).chain(cells).collect()
    });
    let mut note = "Hours without records are left out.".to_owned();
    if all.len() > ROWS_MAX {
        note.push_str(&format!(" The {ROWS_MAX} busiest of {}.", grouped(all.len() as u64)));
    }
    if report.hours.others > 0 {
        note.push_str(&format!(" {} records lie in other hours.", grouped(report.hours.others)));
    }
    let columns = &["hour (UTC)", "records", "rejected", "share"];
    table(out, &Shown { id: "hours", title: "Hour of sending", note, columns, rows: rows.collect() });
}

/// A place that every page shows.
fn place(text: &str) -> Cell {
    Cell::Keyed(text.to_owned(), place_in_order(text))
}

/// What a place is sorted by: its file or partition, then its number.
fn place_in_order(place: &str) -> String {
    let digits = place.bytes().rev().take_while(u8::is_ascii_digit).count();
    let (name, number) = place.split_at_checked(place.len() - digits).unwrap_or((place, ""));
    format!("{}{number:0>20}", name.to_lowercase())
}

/// A number as a text that sorts like it.
fn in_order(number: i64) -> String {
    format!("{:020}", i128::from(number) - i128::from(i64::MIN))
}

/// A format, or that there is none.
fn named(format: &str) -> &str {
    if format == "-" { "not known" } else { format }
}

fn reasons(out: &mut String, id: &str, title: &str, rows: &[ReasonRow]) {
    let most = rows.iter().map(|row| row.count).max().unwrap_or(1);
    let rows = rows.iter().map(|row| {
        let formats: Vec<String> =
            row.formats.iter().map(|(name, count)| format!("{} {}", named(name), grouped(*count))).collect();
        vec![
            Cell::Text(row.reason.clone()),
            Cell::Text(row.text.clone()),
            Cell::Bar(row.count, most),
            Cell::Percent(row.share),
            Cell::Minor(formats.join(", ")),
            Cell::Examples(row.examples.clone()),
        ]
    });
    let columns = &["reason", "meaning", "records", "share", "by format", "examples"];
    table(out, &Shown { id, title, note: String::new(), columns, rows: rows.collect() });
}

fn note_of(table: &Table) -> String {
    let listed = table.rows.len().min(ROWS_MAX) as u64;
    let mut note = match table.exact {
        true if listed == table.keys => String::new(),
        true => format!("The {} most frequent of {}.", grouped(listed), grouped(table.keys)),
        false => format!(
            "More than {} keys: counts are at most {} too high, and a key that is not listed occurred at most {} times.",
            grouped(table.keys),
            grouped(table.error_max),
            grouped(table.unlisted_max(ROWS_MAX))
        ),
    };
    let others = table.others + table.rows.iter().skip(ROWS_MAX).map(|row| row.records).sum::<u64>();
    if others > 0 {
        note.push_str(&format!(" {} records have other keys.", grouped(others)));
    }
    note
}

fn keyed(out: &mut String, id: &str, title: &str, keys: &[&str], shown: &Table) {
    let most = shown.rows.iter().map(|row| row.records).max().unwrap_or(1);
    let rows = shown.rows.iter().take(ROWS_MAX).map(|row| {
        let share = row.rejected as f64 / row.records.max(1) as f64;
        let mut cells: Vec<Cell> = row.key.iter().map(|key| Cell::Text(key.clone())).collect();
        cells.extend([
            Cell::Bar(row.records, most),
            Cell::Number(row.rejected),
            if row.error > 0 { Cell::AtLeast(share) } else { Cell::Percent(share) },
            Cell::Bytes(row.bytes),
            Cell::Place(row.first.clone().unwrap_or_default()),
            Cell::Place(row.last.clone().unwrap_or_default()),
        ]);
        cells
    });
    let columns = [keys, &["records", "rejected", "share", "bytes", "first", "last"]].concat();
    table(out, &Shown { id, title, note: note_of(shown), columns: &columns, rows: rows.collect() });
}

fn rejects(out: &mut String, id: &str, title: &str, keys: &[&str], shown: &Table) {
    let most = shown.rows.iter().map(|row| row.records).max().unwrap_or(1);
    let rows = shown.rows.iter().take(ROWS_MAX).map(|row| {
        let mut cells: Vec<Cell> = row.key.iter().map(|key| Cell::Text(key.clone())).collect();
        cells.extend([
            Cell::Bar(row.records, most),
            Cell::Place(row.first.clone().unwrap_or_default()),
            Cell::Place(row.last.clone().unwrap_or_default()),
            Cell::Examples(row.examples.clone()),
        ]);
        cells
    });
    let columns = [keys, &["records", "first", "last", "example"]].concat();
    table(out, &Shown { id, title, note: note_of(shown), columns: &columns, rows: rows.collect() });
}

fn repeats(out: &mut String, report: &Report) {
    let repeats = &report.repeats;
    let rows = repeats.rows.iter().take(ROWS_MAX).map(|row| {
        vec![
            Cell::Text(row.reason.clone()),
            Cell::Text(row.sender.clone().unwrap_or_default()),
            place(row.first.as_deref().unwrap_or("before this audit")),
            place(&row.again),
        ]
    });
    let mut note =
        format!("{} duplicates, {} conflicts.", grouped(repeats.duplicates), grouped(repeats.conflicts));
    let listed = repeats.rows.len().min(ROWS_MAX) as u64;
    if repeats.duplicates + repeats.conflicts > listed {
        note.push_str(&format!(" The first {} are listed.", grouped(listed)));
    }
    let columns = &["reason", "sender", "first", "again"];
    let title = "Repetitions, with both places";
    table(out, &Shown { id: "repeats", title, note, columns, rows: rows.collect() });
    let rows = repeats.largest.iter().map(|row| {
        vec![Cell::Number(row.repeats), Cell::Number(row.records), place(&row.from), place(&row.to)]
    });
    let columns = &["repetitions", "among records", "from", "to"];
    let note =
        format!("{} with {}.", plural(repeats.bursts, "burst"), plural(repeats.burst_repeats, "repetition"));
    table(out, &Shown { id: "bursts", title: "Replay bursts", note, columns, rows: rows.collect() });
}

fn clocks(out: &mut String, report: &Report) {
    let rows = report.skew.iter().take(ROWS_MAX).map(|row| {
        vec![
            Cell::Text(row.sender.clone()),
            Cell::Number(row.samples),
            Cell::Keyed(row.typical.clone(), in_order(row.mean_s)),
            Cell::Seconds(row.mean_s),
        ]
    });
    let columns = &["sender", "records", "typically", "mean"];
    table(
        out,
        &Shown {
            id: "clocks",
            title: "Clocks that are off",
            note: String::new(),
            columns,
            rows: rows.collect(),
        },
    );
}

fn sequences(out: &mut String, report: &Report) {
    let sequences = &report.sequences;
    let (open, unanswered) = (sequences.work_open, sequences.requests_unanswered);
    let of = |count: u64, all: u64, places: &[String]| {
        let others = count.saturating_sub(places.len() as u64);
        let more = if others > 0 { format!(" and {} elsewhere", grouped(others)) } else { String::new() };
        format!("of {} in this audit; {}{more}", grouped(all), places.join(", "))
    };
    let rows = [
        ("parents that are not known", sequences.broken_parents, String::new()),
        ("beyond the limit of cycles or rounds", sequences.over_the_limit, String::new()),
        ("responses without request", sequences.responses_without_request, String::new()),
        ("work that never closed", open, of(open, sequences.work_opened, &sequences.open_work)),
        ("requests without response", unanswered, of(unanswered, sequences.requests, &sequences.unanswered)),
    ];
    let rows = rows.into_iter().filter(|(_, count, _)| *count > 0);
    let rows = rows
        .map(|(what, count, more)| vec![Cell::Text(what.to_owned()), Cell::Number(count), Cell::Text(more)]);
    let columns = &["what", "how many", "where"];
    let title = "Conversations that do not add up";
    table(out, &Shown { id: "sequences", title, note: String::new(), columns, rows: rows.collect() });
}

fn drift(out: &mut String, report: &Report) {
    let rows = report.drift.iter().map(|row| {
        vec![
            Cell::Text(row.format.clone()),
            Cell::Text(row.member.clone()),
            Cell::Text(row.change.clone()),
            Cell::Number(row.records),
            Cell::Number(row.without),
            Cell::Percent(row.share),
            Cell::Place(row.place.clone()),
        ]
    });
    let columns =
        &["format", "member", "change", "records with it", "without it", "share while there", "where"];
    let title = "Members that came or went";
    table(out, &Shown { id: "drift", title, note: String::new(), columns, rows: rows.collect() });
}

fn inputs(out: &mut String, report: &Report) {
    let rows = report.inputs.iter().take(ROWS_MAX).map(|input| {
        vec![
            Cell::Text(input.name.clone()),
            Cell::Number(input.records),
            Cell::Number(input.rejected),
            Cell::Bytes(input.bytes),
            Cell::Keyed(format!("{}–{}", input.first, input.last), in_order(input.first.cast_signed())),
            Cell::Text(input.sha256.clone().unwrap_or_else(|| input.error.clone().unwrap_or_default())),
            Cell::Text(input.chain.clone()),
        ]
    });
    let mut note = format!("Digest of all chains: {}", report.digest);
    if report.inputs.len() > ROWS_MAX {
        note.push_str(&format!(". The first {ROWS_MAX} of {} inputs.", grouped(report.inputs.len() as u64)));
    }
    let columns = &["input", "records", "rejected", "bytes", "positions", "SHA-256", "chain"];
    table(
        out,
        &Shown { id: "inputs", title: "Evidence: inputs and digests", note, columns, rows: rows.collect() },
    );
}

fn table(out: &mut String, shown: &Shown<'_>) {
    if shown.rows.is_empty() {
        return;
    }
    out.push_str(&format!("<section id=\"{}\">\n<h2>{}</h2>\n", shown.id, esc(shown.title)));
    if !shown.note.is_empty() {
        out.push_str(&format!("<p class=\"sub\">{}</p>\n", esc(&shown.note)));
    }
    out.push_str("<div class=\"scroll\"><table>\n<thead><tr>");
    let first: &[Cell] = shown.rows.first().map_or(&[], Vec::as_slice);
    for (column, cell) in shown.columns.iter().zip(first) {
        out.push_str(&format!("<th scope=\"col\"{}>{}</th>", class_of(cell), esc(column)));
    }
    out.push_str("</tr></thead>\n<tbody>\n");
    for row in &shown.rows {
        out.push_str("<tr>");
        for cell in row {
            one_cell(out, cell);
        }
        out.push_str("</tr>\n");
    }
    out.push_str("</tbody></table></div>\n</section>\n");
}

fn class_of(cell: &Cell) -> &'static str {
    match cell {
        Cell::Text(_) | Cell::Keyed(..) => "",
        Cell::Number(_) | Cell::Seconds(_) | Cell::Bar(..) | Cell::Percent(_) | Cell::AtLeast(_) => {
            " class=\"n\""
        }
        Cell::Bytes(_) => " class=\"n wide\"",
        Cell::Minor(_) | Cell::Place(_) => " class=\"opt\"",
        Cell::Examples(_) => " class=\"x\"",
    }
}

fn one_cell(out: &mut String, cell: &Cell) {
    let class = class_of(cell);
    match cell {
        Cell::Text(text) | Cell::Minor(text) => out.push_str(&format!("<td{class}>{}</td>", esc(text))),
        Cell::Keyed(text, by) => {
            out.push_str(&format!("<td{class} data-v=\"{}\">{}</td>", esc(by), esc(text)));
        }
        Cell::Place(text) => {
            let by = place_in_order(text);
            out.push_str(&format!("<td{class} data-v=\"{}\">{}</td>", esc(&by), esc(text)));
        }
        Cell::Seconds(count) => {
            out.push_str(&format!("<td{class} data-v=\"{count}\">{count}\u{a0}s</td>"));
        }
        Cell::Number(count) => {
            out.push_str(&format!("<td{class} data-v=\"{count}\">{}</td>", grouped(*count)));
        }
        Cell::Percent(share) | Cell::AtLeast(share) => {
            let sign = if matches!(cell, Cell::AtLeast(_)) { "≥\u{a0}" } else { "" };
            out.push_str(&format!("<td{class} data-v=\"{share:.6}\">{sign}{:.2}\u{a0}%</td>", share * 100.0));
        }
        Cell::Bytes(count) => {
            let text = bytes(*count).replace(' ', "\u{a0}");
            out.push_str(&format!("<td{class} data-v=\"{count}\">{text}</td>"));
        }
        Cell::Bar(count, most) => {
            let wide = *count as f64 / (*most).max(1) as f64 * 100.0;
            out.push_str(&format!(
                "<td{class} data-v=\"{count}\">{}<svg class=\"bar\" viewBox=\"0 0 100 4\" preserveAspectRatio=\"none\" \
                 aria-hidden=\"true\"><rect width=\"{wide:.1}\" height=\"4\"/></svg></td>",
                grouped(*count)
            ));
        }
        Cell::Examples(examples) => {
            out.push_str(&format!("<td{class}>"));
            if !examples.is_empty() {
                out.push_str(&format!("<details><summary>{} shown</summary>", examples.len()));
                for example in examples {
                    one_example(out, example);
                }
                out.push_str("</details>");
            }
            out.push_str("</td>");
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn places_and_numbers_sort_by_what_they_mean() {
        let places = [
            "",
            "a.ndjson:9",
            "a.ndjson:100",
            "a.ndjson:1078",
            "B:1",
            "topic/0/5",
            "topic/0/10",
            "topic/1/2",
        ];
        assert!(places.map(place_in_order).is_sorted(), "{:?}", places.map(place_in_order));
        assert!([i64::MIN, -400, -9, 0, 9, 39, 197, i64::MAX].map(in_order).is_sorted());
    }
}
