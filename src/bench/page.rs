//! The report of a run as one HTML page that needs nothing else: latency over time, percentiles, findings.

use hdrhistogram::Histogram;

use super::latency::Latencies;

const WIDTH: f64 = 880.0;
const HEIGHT: f64 = 320.0;
const LEFT: f64 = 70.0;
const BOTTOM: f64 = 40.0;
const TOP: f64 = 14.0;

/// Light or dark as the reader's system is; plots scroll within themselves where a screen is narrow.
const STYLE: &str = "\
    :root{color-scheme:light dark;--ink:#1c2430;--soft:#556;--back:#fff;--field:#fbfbfd;--line:#e3e6ee;--edge:#dde;\
    --max:#98a2b5;--p99:#c2410c;--p50:#1d4ed8;--raw:#64748b}\
    @media(prefers-color-scheme:dark){:root{--ink:#e4e8f0;--soft:#a3adbf;--back:#12161d;--field:#181d26;--line:#2a3140;\
    --edge:#2a3140;--max:#6b7690;--p99:#fb923c;--p50:#7aa2ff;--raw:#94a3b8}}\
    body{font:15px/1.45 system-ui,sans-serif;max-width:940px;margin:2em auto;padding:0 1em;color:var(--ink);background:var(--back)}\
    table{border-collapse:collapse;margin:1em 0}\
    th{text-align:left;vertical-align:top;font-weight:500;padding:.15em 1.5em .15em 0;color:var(--soft)}\
    td{font-variant-numeric:tabular-nums;overflow-wrap:anywhere}\
    .plot{overflow-x:auto}svg{width:100%;box-sizing:border-box;min-width:36em;height:auto;background:var(--field);border:1px solid var(--edge);fill:var(--soft)}\
    .grid{stroke:var(--line)}polyline{fill:none;stroke-width:2}\
    .max{stroke:var(--max)}.p99,.corrected{stroke:var(--p99)}.p50{stroke:var(--p50)}.raw{stroke:var(--raw)}\
    text.max{fill:var(--max)}text.p99,text.corrected{fill:var(--p99)}text.p50{fill:var(--p50)}text.raw{fill:var(--raw)}text{stroke:none!important}\
    h2{margin-top:1.8em;font-size:1.1em}p{color:var(--soft)}\
    @media(max-width:40em){body{margin:1em auto}h1{font-size:1.4em}table,tbody,tr,th,td{display:block}th{padding-top:.5em}}";

/// A line of a plot: name, which is its class in the style, and points.
struct Line {
    name: &'static str,
    points: Vec<(f64, f64)>,
}

/// The page; `head` and `findings` are rows of two texts each.
#[must_use]
pub fn page(
    title: &str,
    head: &[(String, String)],
    findings: &[(String, String)],
    latencies: &Latencies,
) -> String {
    let table = |rows: &[(String, String)]| {
        let mut table = String::from("<table>");
        for (name, value) in rows {
            table.push_str(&format!("<tr><th>{}</th><td>{}</td></tr>", escaped(name), escaped(value)));
        }
        table + "</table>"
    };
    let (over_time, percentiles) = (over_time(latencies), percentiles(latencies));
    format!(
        "<!DOCTYPE html>\n<html lang=\"en\"><head><meta charset=\"utf-8\">\
         <meta name=\"viewport\" content=\"width=device-width,initial-scale=1\"><title>{title}</title>\
         <style>{STYLE}</style></head><body><h1>{title}</h1>\n{}\n\
         <h2>What became of the records</h2>\n{}\n\
         <h2>Latency over time</h2><p>Milliseconds, by the second in which records were due; warm-up left out.</p>\n{over_time}\n\
         <h2>Latency by percentile</h2><p>Milliseconds. Corrected: from the time a record was due; raw: from the time it was sent.</p>\n\
         {percentiles}\n</body></html>\n",
        table(head),
        table(findings),
        title = escaped(title),
    )
}

fn escaped(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;")
}

fn over_time(latencies: &Latencies) -> String {
    let line = |name, value: &dyn Fn(&Histogram<u64>) -> u64| Line {
        name,
        points: latencies
            .seconds
            .iter()
            .enumerate()
            .filter(|(_, pair)| !pair.corrected.is_empty())
            .map(|(second, pair)| (second as f64, value(&pair.corrected) as f64 / 1e3))
            .collect(),
    };
    let lines = [
        line("max", &|histogram| histogram.max()),
        line("p99", &|histogram| histogram.value_at_quantile(0.99)),
        line("p50", &|histogram| histogram.value_at_quantile(0.5)),
    ];
    let seconds = latencies.seconds.len().max(2) as f64 - 1.0;
    let ticks: Vec<_> = (0..=5)
        .map(|tick| f64::from(tick) * seconds / 5.0)
        .map(|at| (at / seconds, format!("{at:.0} s")))
        .collect();
    plot(&lines, |second| second / seconds, &ticks)
}

fn percentiles(latencies: &Latencies) -> String {
    const STEPS: [f64; 16] = [
        0.0, 0.25, 0.5, 0.75, 0.8, 0.9, 0.95, 0.975, 0.99, 0.995, 0.999, 0.9995, 0.9999, 0.99999, 0.999_999,
        1.0,
    ];
    // Each nine is as wide as the one before.
    let place = |quantile: f64| (-(1.0 - quantile).max(1e-6).log10() / 6.0).clamp(0.0, 1.0);
    let line = |name, histogram: &Histogram<u64>| Line {
        name,
        points: STEPS.iter().map(|at| (*at, histogram.value_at_quantile(*at) as f64 / 1e3)).collect(),
    };
    let lines = [line("raw", &latencies.whole.raw), line("corrected", &latencies.whole.corrected)];
    let ticks = [
        (0.0, "0"),
        (0.9, "90 %"),
        (0.99, "99 %"),
        (0.999, "99.9 %"),
        (0.9999, "99.99 %"),
        (0.99999, "99.999 %"),
    ];
    plot(&lines, place, &ticks.map(|(at, text)| (place(at), text.to_owned())))
}

/// A plot with a logarithmic scale of milliseconds; `place` maps a point to 0..1.
fn plot(lines: &[Line], place: impl Fn(f64) -> f64, ticks: &[(f64, String)]) -> String {
    let values = || lines.iter().flat_map(|line| &line.points).map(|(_, value)| value.max(1e-3));
    let low = values().fold(f64::INFINITY, f64::min).min(1.0).log10().floor();
    let high = values().fold(1.0, f64::max).log10().ceil().max(low + 1.0);
    let x = |at: f64| LEFT + at * (WIDTH - LEFT - 20.0);
    let y = |value: f64| TOP + (high - value.max(1e-3).log10()) / (high - low) * (HEIGHT - BOTTOM - TOP);
    let mut svg =
        format!("<div class=\"plot\"><svg viewBox=\"0 0 {WIDTH} {HEIGHT}\" role=\"img\" font-size=\"12\">");
    for decade in low as i32..=high as i32 {
        let (value, at) = (10_f64.powi(decade), y(10_f64.powi(decade)));
        svg.push_str(&format!(
            "<line x1=\"{LEFT}\" x2=\"{:.1}\" y1=\"{at:.1}\" y2=\"{at:.1}\" class=\"grid\"/>\
             <text x=\"{:.1}\" y=\"{:.1}\" text-anchor=\"end\">{value} ms</text>",
            x(1.0),
            LEFT - 8.0,
            at + 4.0
        ));
    }
    for (at, text) in ticks {
        svg.push_str(&format!(
            "<text x=\"{:.1}\" y=\"{:.1}\" text-anchor=\"middle\">{text}</text>",
            x(*at),
            HEIGHT - BOTTOM + 22.0
        ));
    }
    for (index, line) in lines.iter().enumerate() {
        let points: Vec<_> =
            line.points.iter().map(|(at, value)| format!("{:.1},{:.1}", x(place(*at)), y(*value))).collect();
        svg.push_str(&format!(
            "<polyline class=\"{name}\" points=\"{}\"/><text x=\"{:.1}\" y=\"{:.1}\" class=\"{name}\">{name}</text>",
            points.join(" "),
            LEFT + 12.0 + 90.0 * index as f64,
            TOP + 14.0,
            name = line.name,
        ));
    }
    svg.push_str("</svg></div>");
    svg
}
