//! Findings for other tools: one JSON object per line, or a table of comma-separated values.

use super::report::{Finding, Report};

/// The columns of the CSV form.
const COLUMNS: [&str; 12] = [
    "kind",
    "severity",
    "count",
    "share",
    "reason",
    "format",
    "subject",
    "title",
    "advice",
    "example",
    "at",
    "first_place",
];

/// One JSON object per finding; the report's digest ties each line to its report.
#[must_use]
pub fn ndjson(report: &Report) -> String {
    let mut out = String::new();
    for finding in &report.findings {
        let mut value = serde_json::to_value(finding).unwrap_or_default();
        if let Some(members) = value.as_object_mut() {
            members.insert("digest".to_owned(), report.digest.clone().into());
        }
        out.push_str(&value.to_string());
        out.push('\n');
    }
    out
}

/// RFC 4180, with a header; the first example of each finding.
#[must_use]
pub fn csv(report: &Report) -> String {
    let mut out = COLUMNS.join(",");
    out.push_str("\r\n");
    for finding in &report.findings {
        let cells = cells(finding);
        out.push_str(&cells.map(|cell| quoted(&cell)).join(","));
        out.push_str("\r\n");
    }
    out
}

fn cells(finding: &Finding) -> [String; 12] {
    let text = |text: &Option<String>| text.clone().unwrap_or_default();
    let example = finding.examples.first().cloned().unwrap_or_default();
    [
        finding.kind.clone(),
        finding.severity.name().to_owned(),
        finding.count.to_string(),
        finding.share.to_string(),
        text(&finding.reason),
        text(&finding.format),
        text(&finding.subject),
        finding.title.replace('\u{a0}', " "),
        finding.advice.clone(),
        example.place.clone(),
        text(&example.at),
        text(&example.first_place),
    ]
}

/// A cell. What a spreadsheet would take for a formula gets an apostrophe in front.
fn quoted(cell: &str) -> String {
    let formula = cell.starts_with(['=', '+', '-', '@', '\t', '\r']) && cell.parse::<f64>().is_err();
    let cell = if formula { format!("'{cell}") } else { cell.to_owned() };
    if cell.contains([',', '"', '\n', '\r', '\'']) {
        format!("\"{}\"", cell.replace('"', "\"\""))
    } else {
        cell
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cells_are_no_formulas_and_stay_cells() {
        assert_eq!(quoted("=HYPERLINK(\"http://x\")"), "\"'=HYPERLINK(\"\"http://x\"\")\"");
        assert_eq!(quoted("@SUM(A1)"), "\"'@SUM(A1)\"");
        assert_eq!(quoted("-1.5"), "-1.5");
        assert_eq!(quoted("a,\"b\"\r\n"), "\"a,\"\"b\"\"\r\n\"");
        assert_eq!(quoted("plain"), "plain");
    }
}
