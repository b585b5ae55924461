//! The report as one HTML file that needs nothing else: no network, no other file, no JavaScript to be read.
//!
//! Tables and charts are written here; `page.js` only adds sorting, filters and "show all", and `page.css` the looks in
//! light, dark, on a phone and on paper. Both stand inside the file, and a content security policy with their hashes
//! forbids everything else. Every text goes through `esc`, whatever it holds.

mod charts;
mod tables;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;

use super::examples::Example;
use super::findings::grouped;
use super::report::{Finding, Report};
use super::text::bytes;
use crate::credentials::digest::sha256;

const STYLE: &str = include_str!("page.css");
const SCRIPT: &str = include_str!("page.js");

/// The file.
#[must_use]
pub fn render(report: &Report) -> String {
    let mut out = String::with_capacity(256 * 1024);
    let hash = |text: &str| STANDARD.encode(sha256(&[text.as_bytes()]));
    out.push_str(&format!(
        "<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n\
         <meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; style-src 'sha256-{}'; \
         script-src 'sha256-{}'; img-src data:; base-uri 'none'; form-action 'none'\">\n\
         <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n\
         <meta name=\"color-scheme\" content=\"light dark\">\n<meta name=\"referrer\" content=\"no-referrer\">\n\
         <title>Tollgate audit: {} records, {} rejected</title>\n<link rel=\"icon\" href=\"data:,\">\n\
         <style>{STYLE}</style>\n</head>\n<body>\n",
        hash(STYLE),
        hash(SCRIPT),
        grouped(report.totals.records),
        grouped(report.totals.rejected),
    ));
    head(&mut out, report);
    out.push_str("<main>\n");
    findings(&mut out, report);
    charts::all(&mut out, report);
    tables::all(&mut out, report);
    out.push_str("</main>\n");
    out.push_str(&format!("<footer>{} · report version {}</footer>\n", esc(&report.tool), report.version));
    out.push_str(&format!("<script>{SCRIPT}</script>\n</body>\n</html>\n"));
    out
}

/// A text that is nothing but text, in an element or an attribute.
fn esc(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for letter in text.chars() {
        match letter {
            '&' => out.push_str("&amp;"),
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '"' => out.push_str("&quot;"),
            '\'' => out.push_str("&#39;"),
            letter => out.push(letter),
        }
    }
    out
}

fn head(out: &mut String, report: &Report) {
    let totals = &report.totals;
    out.push_str("<header>\n<h1>Audit of agent traffic</h1>\n<p class=\"sub\">");
    let clock = if report.rules.clock == "record" { "each record's own time" } else { &report.rules.clock };
    out.push_str(&format!(
        "{} · rules <code>{}</code>, profile {} · judged by {}",
        esc(&report.run.started),
        esc(&report.rules.hash),
        esc(&report.rules.profile),
        esc(clock)
    ));
    out.push_str("</p>\n");
    if let Some(why) = &report.scope.incomplete_because {
        out.push_str(&format!("<p class=\"note bad\"><strong>Partial report:</strong> {}.</p>\n", esc(why)));
    }
    for note in &report.limits.notes {
        out.push_str(&format!("<p class=\"note\">{}</p>\n", esc(note)));
    }
    out.push_str("<dl class=\"tiles\">\n");
    let percent = totals.rejected as f64 / totals.records.max(1) as f64 * 100.0;
    let high = report.findings.iter().filter(|finding| finding.severity.name() == "high").count();
    let tiles = [
        ("Records", grouped(totals.records), bytes(totals.bytes)),
        ("Accepted", grouped(totals.accepted), format!("{:.2} %", 100.0 - percent)),
        ("Rejected", grouped(totals.rejected), format!("{percent:.2} %")),
        ("Findings", grouped(report.findings.len() as u64), format!("{high} high")),
        ("Inputs", grouped(report.inputs.len() as u64), "with SHA-256 and chain".to_owned()),
    ];
    for (name, value, more) in tiles {
        out.push_str(&format!("<div><dt>{name}</dt><dd>{value}<small>{}</small></dd></div>\n", esc(&more)));
    }
    out.push_str("</dl>\n</header>\n");
}

fn findings(out: &mut String, report: &Report) {
    out.push_str("<section id=\"findings\">\n<h2>Findings</h2>\n");
    if report.findings.is_empty() {
        out.push_str("<p>Nothing was found.</p>\n</section>\n");
        return;
    }
    out.push_str("<div class=\"list\" data-filter=\"findings\">\n");
    for finding in &report.findings {
        one_finding(out, finding);
    }
    out.push_str("</div>\n</section>\n");
}

fn one_finding(out: &mut String, finding: &Finding) {
    let severity = finding.severity.name();
    let reason =
        finding.reason.as_ref().map_or_else(String::new, |reason| format!(" <code>{}</code>", esc(reason)));
    out.push_str(&format!(
        "<details class=\"finding\"><summary><span class=\"badge {severity}\">{severity}</span>\
         <span class=\"what\">{}{reason}</span><span class=\"count\">{}</span></summary>\n<p>{}</p>\n",
        esc(&finding.title),
        grouped(finding.count),
        esc(&finding.advice)
    ));
    for example in &finding.examples {
        one_example(out, example);
    }
    out.push_str("</details>\n");
}

/// A record that shows something.
fn one_example(out: &mut String, example: &Example) {
    out.push_str(&format!("<div class=\"example\"><p class=\"place\">{}</p>\n<dl>", esc(&example.place)));
    let members = [
        ("first at", &example.first_place),
        ("format", &example.format),
        ("sender", &example.sender),
        ("at", &example.at),
        ("rule", &example.rule),
        ("expected", &example.expected),
        ("found", &example.found),
    ];
    for (name, value) in members {
        if let Some(value) = value {
            out.push_str(&format!("<dt>{name}</dt><dd>{}</dd>", esc(value)));
        }
    }
    out.push_str("</dl>\n");
    if let Some(excerpt) = &example.excerpt {
        out.push_str(&format!("<pre>{}</pre>\n", esc(excerpt)));
    }
    out.push_str("</div>\n");
}
