//! Charts as SVG, drawn with attributes and classes alone.

use super::super::findings::grouped;
use super::super::report::{Distribution, HourRow, Report};
use super::esc;

/// The most bars of the chart of hours.
const BARS_MAX: usize = 96;
/// The share of records, at either end of time, that may lie outside the chart.
const TAIL: f64 = 0.001;

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

/// One bar of the chart of hours: its name, all records, rejected ones.
type Bar = (String, u64, u64);

fn hours(out: &mut String, report: &Report) {
    let bars = bars_of(&report.hours.rows);
    let most = bars.iter().map(|(_, records, _)| *records).max().unwrap_or(0);
    if most == 0 {
        return;
    }
    let (first, last) = (name_of(bars.first()), name_of(bars.last()));
    figure_head(out, "Records by hour of sending");
    let wide = 600.0 / bars.len() as f64;
    for (index, (name, records, rejected)) in bars.iter().enumerate() {
        let (x, w) = (index as f64 * wide, (wide * 0.86).max(0.5));
        let (all, bad) = (height(*records, most), height(*rejected, most));
        let title = format!("{name}: {} records, {} rejected", grouped(*records), grouped(*rejected));
        out.push_str(&format!(
            "<g><title>{}</title><rect class=\"a\" x=\"{x:.2}\" y=\"{:.2}\" width=\"{w:.2}\" height=\"{all:.2}\"/>\
             <rect class=\"r\" x=\"{x:.2}\" y=\"{:.2}\" width=\"{w:.2}\" height=\"{bad:.2}\"/></g>",
            esc(&title),
            160.0 - all,
            160.0 - bad
        ));
    }
    figure_foot(out, &first, &last, most, true);
}

fn name_of(bar: Option<&Bar>) -> String {
    bar.map(|(name, ..)| name.clone()).unwrap_or_default()
}

/// Hours between the tails, several in one bar where there are many.
fn bars_of(rows: &[HourRow]) -> Vec<Bar> {
    let all: u64 = rows.iter().map(|row| row.records).sum();
    let tail = (all as f64 * TAIL) as u64;
    let mut below = 0;
    let inside: Vec<&HourRow> = rows
        .iter()
        .filter(|row| {
            below += row.records;
            below > tail && below - row.records < all - tail
        })
        .collect();
    let per_bar = inside.len().div_ceil(BARS_MAX).max(1);
    inside
        .chunks(per_bar)
        .map(|chunk| {
            let name = chunk.first().map_or("", |row| row.hour.get(..13).unwrap_or(&row.hour));
            let records = chunk.iter().map(|row| row.records).sum();
            (format!("{}h", name.replace('T', " ")), records, chunk.iter().map(|row| row.rejected).sum())
        })
        .collect()
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
    // The caption goes into the figure that was just closed.
    out.truncate(out.len() - "</figure>\n".len());
    out.push_str(&format!("<p class=\"quantiles\">{}</p></figure>\n", text.join(" · ")));
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
