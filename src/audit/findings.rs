//! What deserves attention, from the tables of a report: the list that people read first and programs act on.
//!
//! A finding is one sentence with a count, what can be done, and records that show it. Kinds are stable names; each is
//! made in one function below, and all of them from the report alone.

use super::examples::Example;
use super::report::{Finding, ReasonRow, Report, Severity, Table, TableRow};
use super::shown::NONE;
use super::summary::{self, share};
use crate::verdict::Reason;

/// LIMIT: findings of one kind that are listed one by one; the tables tell the rest.
const PER_KIND_MAX: usize = 20;
/// LIMIT: examples of a finding that has none of its own.
const EXAMPLES_MAX: usize = 3;

/// All findings, the gravest first, then by count.
#[must_use]
pub fn of(report: &Report) -> Vec<Finding> {
    let mut findings = Vec::new();
    unread(report, &mut findings);
    rejects(report, &mut findings);
    repeats(report, &mut findings);
    signatures(report, &mut findings);
    agents(report, &mut findings);
    senders(report, &mut findings);
    clocks(report, &mut findings);
    sequences(report, &mut findings);
    drift(report, &mut findings);
    let rank = |kind: &str| usize::from(kind != "input-not-read");
    findings.sort_by(|a, b| {
        (a.severity, rank(&a.kind), std::cmp::Reverse(a.count)).cmp(&(
            b.severity,
            rank(&b.kind),
            std::cmp::Reverse(b.count),
        ))
    });
    findings
}

fn finding(
    report: &Report,
    kind: &str,
    severity: Severity,
    count: u64,
    title: String,
    advice: &str,
) -> Finding {
    Finding {
        kind: kind.to_owned(),
        severity,
        title,
        subject: None,
        reason: None,
        format: None,
        count,
        share: share(count, report.totals.records),
        advice: advice.to_owned(),
        examples: Vec::new(),
    }
}

/// Counts in sentences: 1 234 567.
#[must_use]
pub fn grouped(count: u64) -> String {
    let digits = count.to_string();
    let mut out = String::new();
    for (index, digit) in digits.chars().enumerate() {
        if index > 0 && (digits.len() - index).is_multiple_of(3) {
            out.push('\u{a0}');
        }
        out.push(digit);
    }
    out
}

/// A count of things in a sentence: 1 record, 1 234 records.
#[must_use]
pub fn plural(count: u64, what: &str) -> String {
    format!("{} {what}{}", grouped(count), if count == 1 { "" } else { "s" })
}

fn unread(report: &Report, findings: &mut Vec<Finding>) {
    for input in report.inputs.iter().filter(|input| input.error.is_some()).take(PER_KIND_MAX) {
        let error = input.error.as_deref().unwrap_or_default();
        let title = format!("An input was not read whole: {error}");
        let advice = "Repair or fetch the file again; everything before the damage was audited.";
        let mut finding = finding(report, "input-not-read", Severity::High, 1, title, advice);
        finding.subject = Some(input.name.clone());
        findings.push(finding);
    }
}

/// Reasons whose records somebody forged, or whose keys are wrong.
fn is_grave(row: &ReasonRow) -> bool {
    row.step == "credentials"
        || matches!(row.reason.as_str(), "id-conflict" | "unregistered-agent" | "unsafe-path")
}

fn rejects(report: &Report, findings: &mut Vec<Finding>) {
    for row in &report.reasons {
        let severity = match row {
            row if is_grave(row) => Severity::High,
            row if row.share >= 0.01 => Severity::Medium,
            _ => Severity::Low,
        };
        let title = format!("{} rejected: {}", plural(row.count, "record"), row.text);
        let mut finding = finding(report, "rejects", severity, row.count, title, &row.hint);
        finding.reason = Some(row.reason.clone());
        finding.format = match row.formats.as_slice() {
            [(format, _)] if format != "-" => Some(format.clone()),
            _ => None,
        };
        finding.examples.clone_from(&row.examples);
        findings.push(finding);
    }
    for row in &report.warnings {
        let title = format!("{} accepted with a warning: {}", plural(row.count, "record"), row.text);
        let mut finding = finding(report, "warnings", Severity::Low, row.count, title, &row.hint);
        finding.reason = Some(row.reason.clone());
        finding.examples.clone_from(&row.examples);
        findings.push(finding);
    }
}

fn repeats(report: &Report, findings: &mut Vec<Finding>) {
    let repeats = &report.repeats;
    if repeats.bursts == 0 {
        return;
    }
    let title = format!(
        "{} with {} close behind each other",
        plural(repeats.bursts, "burst"),
        plural(repeats.burst_repeats, "repetition")
    );
    let advice =
        "A producer that was restarted from an old position, or somebody who plays recorded traffic back.";
    let mut burst = finding(report, "replay-burst", Severity::High, repeats.burst_repeats, title, advice);
    burst.subject = repeats.largest.first().map(|largest| format!("{} … {}", largest.from, largest.to));
    let begins: Vec<_> = repeats.largest.iter().map(|burst| burst.from.clone()).collect();
    burst.examples = at_places(&begins);
    findings.push(burst);
}

fn signatures(report: &Report, findings: &mut Vec<Finding>) {
    for row in report.signatures.rows.iter().take(PER_KIND_MAX) {
        let [sender, key, reason] = row.key.as_slice() else { continue };
        let under = if key == NONE { String::new() } else { format!(" under {key}") };
        let title = format!("Credentials of {sender} fail{under}: {reason}, {}", plural(row.records, "time"));
        let advice = "A key that was rotated on one side, or a sender that is not who it says.";
        let mut finding = finding(report, "signature-failures", Severity::High, row.records, title, advice);
        finding.subject = Some(sender.clone());
        finding.reason = Some(reason.clone());
        finding.examples =
            if row.examples.is_empty() { at_places(row.first.as_slice()) } else { row.examples.clone() };
        findings.push(finding);
    }
}

fn agents(report: &Report, findings: &mut Vec<Finding>) {
    for row in report.unknown_agents.rows.iter().take(PER_KIND_MAX) {
        let [agent, role] = row.key.as_slice() else { continue };
        let title = format!("{agent} is in no registry, and {role} of {}", plural(row.records, "record"));
        let mut finding = finding(
            report,
            "unknown-agent",
            Severity::High,
            row.records,
            title,
            "Register the agent, or find out who uses its name.",
        );
        finding.subject = Some(agent.clone());
        finding.examples = at_places(row.first.as_slice());
        findings.push(finding);
    }
}

/// Senders most of whose records are rejected, as far as the table lists them. Where a row has an error, it has at most
/// so many records, and at least so many of them are rejected.
pub(super) fn failing_senders(report: &Report) -> impl Iterator<Item = &TableRow> {
    const RECORDS_MIN: u64 = 20;
    let rows = report.senders.rows.iter();
    rows.filter(|row| row.records >= RECORDS_MIN && row.rejected * 2 > row.records)
}

fn senders(report: &Report, findings: &mut Vec<Finding>) {
    for row in failing_senders(report).take(PER_KIND_MAX) {
        let Some(sender) = row.key.first() else { continue };
        let (least, most) = if row.error > 0 { ("at least ", "at most ") } else { ("", "") };
        let title = format!(
            "{least}{} of {most}{} records of {sender} are rejected",
            grouped(row.rejected),
            grouped(row.records)
        );
        let advice = "One broken sender; the table of senders and reasons says what it does wrong.";
        let mut finding = finding(report, "failing-sender", Severity::Medium, row.rejected, title, advice);
        finding.subject = Some(sender.clone());
        let rows = report.sender_reasons.rows.iter();
        let of_sender =
            rows.filter(|row| row.key.first() == Some(sender)).flat_map(|row| row.examples.clone());
        finding.examples = of_sender.take(3).collect();
        findings.push(finding);
    }
}

fn clocks(report: &Report, findings: &mut Vec<Finding>) {
    for row in report.skew.iter().take(PER_KIND_MAX) {
        let title = format!("The clock of {} is off: typically {}", row.sender, row.typical);
        let advice = "Set the sender's clock; its messages turn stale or lie in the future.";
        let mut finding = finding(report, "clock-skew", Severity::Medium, row.samples, title, advice);
        finding.subject = Some(row.sender.clone());
        finding.examples = of_sender(report, &row.sender);
        findings.push(finding);
    }
}

fn sequences(report: &Report, findings: &mut Vec<Finding>) {
    let sequences = &report.sequences;
    let kinds = [
        (
            "broken-parents",
            Severity::Medium,
            sequences.broken_parents,
            summary::BROKEN_PARENTS.as_slice(),
            "messages name a parent that is not known",
            "Messages were lost or reordered, or a sender makes its parents up.",
        ),
        (
            "over-the-limit",
            Severity::Medium,
            sequences.over_the_limit,
            summary::OVER_THE_LIMIT.as_slice(),
            "messages go beyond the limit of cycles or rounds",
            "Agents that go round in circles; a person has to decide.",
        ),
        (
            "responses-without-request",
            Severity::Medium,
            sequences.responses_without_request,
            summary::WITHOUT_REQUEST.as_slice(),
            "responses fit no request",
            "Requests were lost, or somebody answers what nobody asked.",
        ),
        (
            "work-never-closed",
            Severity::Low,
            sequences.work_open,
            &[],
            "pieces of work were opened and never closed",
            "Work that is still under way at the end of the input, or that was forgotten.",
        ),
        (
            "requests-without-response",
            Severity::Low,
            sequences.requests_unanswered,
            &[],
            "requests were never answered",
            "Agents that are down, or answers that were lost.",
        ),
    ];
    for (kind, severity, count, reasons, text, advice) in kinds {
        if count > 0 {
            let mut finding =
                finding(report, kind, severity, count, format!("{} {text}", grouped(count)), advice);
            finding.examples = match kind {
                "work-never-closed" => at_places(&sequences.open_work),
                "requests-without-response" => at_places(&sequences.unanswered),
                _ => of_reasons(report, reasons),
            };
            findings.push(finding);
        }
    }
}

/// Records of which only the place is known.
fn at_places(places: &[String]) -> Vec<Example> {
    let example = |place: &String| Example { place: place.clone(), ..Example::default() };
    places.iter().take(EXAMPLES_MAX).map(example).collect()
}

/// Where a sender is first and last seen.
fn of_sender(report: &Report, sender: &str) -> Vec<Example> {
    let row = report.senders.rows.iter().find(|row| row.key.first().is_some_and(|key| key == sender));
    let places = row.map_or([const { &None }; 2], |row| [&row.first, &row.last]).into_iter().flatten();
    places.map(|place| Example { place: place.clone(), ..Example::default() }).collect()
}

/// The examples of reasons, of rejected records before those that were only warned of.
fn of_reasons(report: &Report, reasons: &[Reason]) -> Vec<Example> {
    let rows = report.reasons.iter().chain(&report.warnings);
    let rows = rows.filter(|row| reasons.iter().any(|reason| reason.code() == row.reason));
    rows.flat_map(|row| row.examples.iter().cloned()).take(EXAMPLES_MAX).collect()
}

fn drift(report: &Report, findings: &mut Vec<Finding>) {
    for row in report.drift.iter().take(PER_KIND_MAX) {
        let title = if row.change == "appears" {
            format!(
                "{} appears in {}, after {} records without it",
                row.member,
                row.format,
                grouped(row.without)
            )
        } else {
            format!(
                "{} vanishes from {}: {} records without it follow",
                row.member,
                row.format,
                grouped(row.without)
            )
        };
        let advice = "Somebody changed what they send; check that both sides know.";
        let mut finding = finding(report, "schema-drift", Severity::Low, row.records, title, advice);
        finding.subject = Some(row.member.clone());
        finding.format = Some(row.format.clone());
        finding.examples = vec![Example { place: row.place.clone(), ..Default::default() }];
        findings.push(finding);
    }
}

/// What is incomplete, in words.
#[must_use]
pub fn limit_notes(report: &Report) -> Vec<String> {
    let mut notes = Vec::new();
    if let Some(one_in) = report.scope.sample_one_in {
        notes.push(format!(
            "One record of {} was looked at: counts are those of the sample, repetitions are found only where both \
             records are in it, and sequences are not looked at.",
            grouped(one_in)
        ));
    }
    let tables: [(&str, &Table); 7] = [
        ("senders", &report.senders),
        ("pairs", &report.pairs),
        ("subjects", &report.subjects),
        ("tenants", &report.tenants),
        ("senders and reasons", &report.sender_reasons),
        ("signatures", &report.signatures),
        ("unknown agents", &report.unknown_agents),
    ];
    for (name, table) in tables.iter().filter(|(_, table)| !table.exact) {
        notes.push(format!(
            "More than {} {name}: their counts are at most {} too high, and one that is not listed occurred at most {} \
             times.",
            grouped(table.keys),
            grouped(table.error_max),
            grouped(table.unlisted_max(table.rows.len()))
        ));
    }
    let (limits, skewed, drift) = (&report.limits, &report.skew, &report.drift);
    let (repeats, sequences) = (&report.repeats, &report.sequences);
    let lists = [
        (repeats.duplicates + repeats.conflicts, repeats.rows.len(), "repetitions"),
        (repeats.bursts, repeats.largest.len(), "replay bursts"),
        (skewed.len() as u64 + limits.skew_unlisted, skewed.len(), "senders with a clock that is off"),
        (drift.len() as u64 + limits.drift_unlisted, drift.len(), "members that appear or vanish"),
        (sequences.work_open, sequences.open_work.len(), "pieces of work that never closed"),
        (sequences.requests_unanswered, sequences.unanswered.len(), "requests without response"),
    ];
    for (count, listed, what) in lists {
        if count > listed as u64 {
            notes.push(format!("Of {} {what} {} are listed.", grouped(count), grouped(listed as u64)));
        }
    }
    let counts = [
        (
            limits.places_forgotten,
            "places of the oldest records were forgotten: their repetitions may be shown with one place or a later one, and the \
             oldest open work and requests may be missing from their lists",
        ),
        (
            limits.shapes_unlisted,
            "records have a set of members that was not followed, because there are too many sets",
        ),
        (limits.ids_evicted, "ids were given up by the full replay window: copies of them passed as new"),
        (
            limits.ledger_evicted,
            "entries were given up by the full ledger: sequences with them may be judged wrongly",
        ),
        (report.scope.left_out, "files of directories were left out, by their names or kinds"),
        (report.hours.others, "records lie in hours that are not listed, because there are too many"),
    ];
    notes.extend(
        counts
            .iter()
            .filter(|(count, _)| *count > 0)
            .map(|(count, text)| format!("{} {text}.", grouped(*count))),
    );
    notes
}
