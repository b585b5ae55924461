//! The report of a run as one HTML page that needs nothing else: latency over time, percentiles, findings.

use hdrhistogram::Histogram;

use super::latency::Latencies;

const WIDTH: f64 = 880.0;
const HEIGHT: f64 = 320.0;
const LEFT: f64 = 70.0;
const BOTTOM: f64 = 40.0;
const TOP: f64 = 14.0;

/// A line of a plot: name, colour, points.
struct Line {
    name: &'static str,
    colour: &'static str,
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
        "<!DOCTYPE html>\n<html lang=\"en\"><head><meta charset=\"utf-8\"><title>{title}</title><style>\
         body{{font:15px/1.45 system-ui,sans-serif;max-width:940px;margin:2em auto;padding:0 1em;color:#1c2430}}\
         table{{border-collapse:collapse;margin:1em 0}}th{{text-align:left;font-weight:500;padding:.15em 1.5em .15em 0;color:#556}}\
         td{{font-variant-numeric:tabular-nums}}svg{{max-width:100%;height:auto;background:#fbfbfd;border:1px solid #dde}}\
         h2{{margin-top:1.8em;font-size:1.1em}}p{{color:#556}}</style></head><body><h1>{title}</h1>\n{}\n\
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
    let line = |name, colour, value: &dyn Fn(&Histogram<u64>) -> u64| Line {
        name,
        colour,
        points: latencies
            .seconds
            .iter()
            .enumerate()
            .filter(|(_, pair)| !pair.corrected.is_empty())
            .map(|(second, pair)| (second as f64, value(&pair.corrected) as f64 / 1e3))
            .collect(),
    };
    let lines = [
        line("max", "#b8bfcc", &|histogram| histogram.max()),
        line("p99", "#c2410c", &|histogram| histogram.value_at_quantile(0.99)),
        line("p50", "#1d4ed8", &|histogram| histogram.value_at_quantile(0.5)),
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
    let line = |name, colour, histogram: &Histogram<u64>| Line {
        name,
        colour,
        points: STEPS.iter().map(|at| (*at, histogram.value_at_quantile(*at) as f64 / 1e3)).collect(),
    };
    let lines = [
        line("raw", "#7c8aa5", &latencies.whole.raw),
        line("corrected", "#c2410c", &latencies.whole.corrected),
    ];
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
        format!("<svg viewBox=\"0 0 {WIDTH} {HEIGHT}\" role=\"img\" font-size=\"12\" fill=\"#556\">");
    for decade in low as i32..=high as i32 {
        let (value, at) = (10_f64.powi(decade), y(10_f64.powi(decade)));
        svg.push_str(&format!(
            "<line x1=\"{LEFT}\" x2=\"{:.1}\" y1=\"{at:.1}\" y2=\"{at:.1}\" stroke=\"#e3e6ee\"/>\
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
            "<polyline fill=\"none\" stroke=\"{colour}\" stroke-width=\"2\" points=\"{}\"/>\
             <text x=\"{:.1}\" y=\"{:.1}\" fill=\"{colour}\">{}</text>",
            points.join(" "),
            LEFT + 12.0 + 90.0 * index as f64,
            TOP + 14.0,
            line.name,
            colour = line.colour,
        ));
    }
    svg.push_str("</svg>");
    svg
}
