//! Charts as SVG, drawn with attributes and classes alone.

use super::super::findings::grouped;
use super::super::report::{Distribution, HourRow, Report};
use super::super::text::hour_name;
use super::esc;
use crate::clock::Timestamp;

/// The most bars of the chart of hours.
const BARS_MAX: i64 = 96;
/// The share of records that the chart shows at least; a few wrong clocks would squeeze all others into one bar.
const SHOWN_MIN: f64 = 0.99;

/// Hours, sizes, latency.
pub(super) fn all(out: &mut String, report: &Report) {
    out.push_str("<section id=\"charts\">\n<h2>Over time, and how large</h2>\n<div class=\"charts\">\n");
    hours(out, report);
    classes(out, "Payload bytes", &report.sizes);
    if let Some(latency) = &report.latency {
        classes(out, "From sending to the log, milliseconds", latency);
    }
    out.push_str("</div>\n</section>\n");
}

/// One bar of the chart of hours.
#[derive(Debug, PartialEq)]
struct Bar {
    name: String,
    records: u64,
    rejected: u64,
}

/// The chart of hours, and what it leaves out.
#[derive(Debug, Default)]
struct Timeline {
    bars: Vec<Bar>,
    hours_per_bar: i64,
    before: u64,
    after: u64,
}

fn hours(out: &mut String, report: &Report) {
    let line = timeline(&report.hours.rows);
    let bars = &line.bars;
    let most = bars.iter().map(|bar| bar.records).max().unwrap_or(0);
    if most == 0 {
        return;
    }
    let name_of = |bar: Option<&Bar>| bar.map(|bar| bar.name.clone()).unwrap_or_default();
    figure_head(out, "Records by hour of sending (UTC)");
    let wide = 600.0 / bars.len() as f64;
    for (index, bar) in bars.iter().enumerate().filter(|(_, bar)| bar.records > 0) {
        let (x, w) = (index as f64 * wide, (wide * 0.86).max(0.5));
        let (all, bad) = (height(bar.records, most), height(bar.rejected, most));
        let title =
            format!("{}: {} records, {} rejected", bar.name, grouped(bar.records), grouped(bar.rejected));
        out.push_str(&format!(
            "<g><title>{}</title><rect class=\"a\" x=\"{x:.2}\" y=\"{:.2}\" width=\"{w:.2}\" height=\"{all:.2}\"/>\
             <rect class=\"r\" x=\"{x:.2}\" y=\"{:.2}\" width=\"{w:.2}\" height=\"{bad:.2}\"/></g>",
            esc(&title),
            160.0 - all,
            160.0 - bad
        ));
    }
    figure_foot(out, &name_of(bars.first()), &name_of(bars.last()), most, true);
    caption(out, &said(&line, report.hours.others));
}

/// What a chart of hours does not show by itself.
fn said(line: &Timeline, others: u64) -> Vec<String> {
    let mut said = Vec::new();
    if line.hours_per_bar > 1 {
        said.push(format!("a bar is {} hours", grouped(line.hours_per_bar.cast_unsigned())));
    }
    let left_out = [(line.before, "before"), (line.after, "after"), (others, "in hours that are not listed")];
    let left_out = left_out.into_iter().filter(|(count, _)| *count > 0);
    said.extend(left_out.map(|(count, place)| format!("not shown: {} records {place}", grouped(count))));
    said
}

/// Bars side by side as their hours are, several hours in one where there are many.
fn timeline(rows: &[HourRow]) -> Timeline {
    let hour_of =
        |row: &HourRow| Timestamp::from_rfc3339(&row.hour).map(|begin| begin.secs().div_euclid(3600));
    let rows: Vec<(i64, &HourRow)> = rows.iter().filter_map(|row| Some((hour_of(row)?, row))).collect();
    let Some((first, last)) = window(&rows) else { return Timeline::default() };
    let records = |is: fn(&i64, &i64) -> bool, end: i64| {
        rows.iter().filter(|(hour, _)| is(hour, &end)).map(|(_, row)| row.records).sum()
    };
    let hours_per_bar = (last - first) / BARS_MAX + 1;
    let mut line = Timeline {
        bars: Vec::new(),
        hours_per_bar,
        before: records(i64::lt, first),
        after: records(i64::gt, last),
    };
    for from in (first..=last).step_by(usize::try_from(hours_per_bar).unwrap_or(1)) {
        let name = hour_name(&Timestamp::from_secs(from * 3600).to_rfc3339());
        line.bars.push(Bar { name, records: 0, rejected: 0 });
    }
    for (hour, row) in rows.iter().filter(|(hour, _)| (first..=last).contains(hour)) {
        let place = usize::try_from((hour - first) / hours_per_bar).unwrap_or(usize::MAX);
        if let Some(bar) = line.bars.get_mut(place) {
            bar.records += row.records;
            bar.rejected += row.rejected;
        }
    }
    line
}

/// The first and the last hour of the chart: those of all records, or of most of them if that takes less than half as long.
fn window(rows: &[(i64, &HourRow)]) -> Option<(i64, i64)> {
    let (first, last) = (rows.first()?.0, rows.last()?.0);
    let all: u64 = rows.iter().map(|(_, row)| row.records).sum();
    let wanted = (all as f64 * SHOWN_MIN).ceil() as u64;
    let mut shortest = (first, last);
    let mut from = rows.iter();
    let mut held = 0;
    for (to, row) in rows {
        held += row.records;
        // Hours leave at the begin as long as enough is left.
        while let Some((begin, row)) = from.as_slice().first() {
            if held < wanted {
                break;
            }
            if to - begin < shortest.1 - shortest.0 {
                shortest = (*begin, *to);
            }
            held -= row.records;
            from.next();
        }
    }
    Some(if (shortest.1 - shortest.0) * 2 < last - first { shortest } else { (first, last) })
}

fn classes(out: &mut String, title: &str, values: &Distribution) {
    let most = values.classes.iter().map(|(_, count)| *count).max().unwrap_or(0);
    if most == 0 {
        return;
    }
    figure_head(out, title);
    let wide = 600.0 / values.classes.len() as f64;
    for (index, (to, count)) in values.classes.iter().enumerate() {
        let (x, w, h) = (index as f64 * wide, wide * 0.86, height(*count, most));
        let title = format!("up to {}: {}", grouped(*to), grouped(*count));
        out.push_str(&format!(
            "<g><title>{}</title><rect class=\"a\" x=\"{x:.2}\" y=\"{:.2}\" width=\"{w:.2}\" height=\"{h:.2}\"/></g>",
            esc(&title),
            160.0 - h
        ));
    }
    let ends = |at: Option<&(u64, u64)>| at.map_or_else(String::new, |(to, _)| format!("≤ {}", grouped(*to)));
    figure_foot(out, &ends(values.classes.first()), &ends(values.classes.last()), most, false);
    let quantiles = [("median", values.p50), ("90 %", values.p90), ("99 %", values.p99), ("max", values.max)];
    let text: Vec<String> =
        quantiles.iter().map(|(name, value)| format!("{name} {}", grouped(*value))).collect();
    caption(out, &text);
}

/// Words below the figure that was just closed.
fn caption(out: &mut String, words: &[String]) {
    if !words.is_empty() {
        out.truncate(out.len() - "</figure>\n".len());
        out.push_str(&format!("<p class=\"quantiles\">{}</p></figure>\n", words.join(" · ")));
    }
}

fn figure_head(out: &mut String, title: &str) {
    out.push_str(&format!(
        "<figure><figcaption>{}</figcaption>\
         <svg viewBox=\"0 0 600 160\" preserveAspectRatio=\"none\" role=\"img\" aria-label=\"{}\">",
        esc(title),
        esc(title)
    ));
}

fn figure_foot(out: &mut String, first: &str, last: &str, most: u64, legend: bool) {
    out.push_str(&format!(
        "</svg><p class=\"axis\"><span>{}</span><span>highest bar {}</span><span>{}</span></p>",
        esc(first),
        grouped(most),
        esc(last)
    ));
    if legend {
        out.push_str(
            "<p class=\"legend\"><span class=\"key a\"></span>all <span class=\"key r\"></span>rejected</p>",
        );
    }
    out.push_str("</figure>\n");
}

/// The height of a bar; what is there at all is seen.
fn height(count: u64, most: u64) -> f64 {
    if count == 0 { 0.0 } else { (count as f64 / most as f64 * 156.0).max(1.5) }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn row(hour: &str, records: u64) -> HourRow {
        HourRow { hour: format!("2026-{hour}:00:00Z"), records, rejected: 1 }
    }

    #[test]
    fn hours_stand_where_they_are_and_what_is_left_out_is_said() {
        let rows = [row("01-01T00", 2), row("03-03T10", 5000), row("03-03T13", 5000), row("12-01T00", 3)];
        let line = timeline(&rows);
        let counts: Vec<u64> = line.bars.iter().map(|bar| bar.records).collect();
        assert_eq!(counts, [5000, 0, 0, 5000]);
        assert_eq!(line.bars[1].name, "2026-03-03 11:00");
        assert_eq!(said(&line, 7).len(), 3);
        assert_eq!((line.before, line.after), (2, 3));
    }

    #[test]
    fn many_hours_share_bars() {
        let rows = [row("01-01T00", 50), row("02-01T00", 50), row("03-01T00", 2)];
        let line = timeline(&rows);
        assert!(line.bars.len() <= 96, "{}", line.bars.len());
        assert_eq!(line.bars.iter().map(|bar| bar.records).sum::<u64>(), 102);
        assert_eq!(said(&line, 0), ["a bar is 15 hours"]);
        assert!(timeline(&[]).bars.is_empty());
    }
}
