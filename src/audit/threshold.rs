//! When an audit fails a build: `--fail-on NAME=LIMIT`.
//!
//! NAME is a reason, a kind of finding, or `rejected` for all rejects; LIMIT is a number of records, or a share in
//! percent. The audit fails where there are more than that.

use super::findings;
use super::report::{ReasonRow, Report};
use crate::config::did_you_mean;
use crate::verdict::Reason;

/// Kinds of findings that a limit can be set for.
pub const KINDS: [&str; 12] = [
    "input-not-read",
    "replay-burst",
    "signature-failures",
    "unknown-agent",
    "failing-sender",
    "clock-skew",
    "broken-parents",
    "over-the-limit",
    "responses-without-request",
    "work-never-closed",
    "requests-without-response",
    "schema-drift",
];

/// One limit.
#[derive(Clone, Debug, PartialEq)]
pub struct Threshold {
    /// What is counted.
    pub name: String,
    /// How much is allowed.
    pub limit: Limit,
}

/// How much is allowed.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Limit {
    /// Records, or findings of a kind.
    Count(u64),
    /// Percent of all records.
    Percent(f64),
}

impl Threshold {
    /// Reads `NAME=N` or `NAME=P%`.
    pub fn parse(text: &str) -> Result<Self, String> {
        let allowed = "allowed: a reason, `rejected` or a kind of finding, then `=` and a number or a share such as 0.5%";
        let (name, limit) = text.split_once('=').ok_or_else(|| format!("found `{text}`, {allowed}"))?;
        let known = name == "rejected" || KINDS.contains(&name) || Reason::from_code(name).is_some();
        if !known {
            let names = Reason::ALL.iter().map(|reason| reason.code()).chain(KINDS).chain(["rejected"]);
            let near = did_you_mean(name, names);
            return Err(format!("`{name}` is nothing that a limit can be set for{near}; {allowed}"));
        }
        let limit = match limit.strip_suffix('%') {
            Some(percent) => percent
                .parse()
                .ok()
                .filter(|percent: &f64| (0.0..=100.0).contains(percent))
                .map(Limit::Percent),
            None => limit.parse().ok().map(Limit::Count),
        };
        limit
            .map(|limit| Self { name: name.to_owned(), limit })
            .ok_or_else(|| format!("found `{text}`, {allowed}"))
    }

    /// What is wrong, if the report has more than is allowed.
    #[must_use]
    pub fn broken_by(&self, report: &Report) -> Option<String> {
        let count = self.count(report);
        let share = count as f64 / report.totals.records.max(1) as f64 * 100.0;
        let (broken, allowed) = match self.limit {
            Limit::Count(limit) => (count > limit, limit.to_string()),
            Limit::Percent(limit) => (share > limit, format!("{limit} %")),
        };
        broken.then(|| format!("{}: found {count} ({share:.3} %), allowed: {allowed}", self.name))
    }

    fn count(&self, report: &Report) -> u64 {
        if self.name == "rejected" {
            return report.totals.rejected;
        }
        let rejects = |is_one: fn(&ReasonRow) -> bool| {
            report.reasons.iter().filter(|row| is_one(row)).map(|row| row.count).sum()
        };
        // Of these only the first few are listed as findings.
        match self.name.as_str() {
            "input-not-read" => {
                return report.inputs.iter().filter(|input| input.error.is_some()).count() as u64;
            }
            "signature-failures" => return rejects(|row| row.step == "credentials"),
            "unknown-agent" => return rejects(|row| row.reason == Reason::UnregisteredAgent.code()),
            "failing-sender" => return findings::failing_senders(report).map(|row| row.rejected).sum(),
            "clock-skew" => return report.skew.iter().map(|row| row.samples).sum(),
            "schema-drift" => return report.drift.iter().map(|row| row.records).sum(),
            _ => {}
        }
        if KINDS.contains(&self.name.as_str()) {
            let of_kind = report.findings.iter().filter(|finding| finding.kind == self.name);
            return of_kind.map(|finding| finding.count).sum();
        }
        // Some profiles only warn of what others reject.
        let all = report.reasons.iter().chain(&report.warnings);
        all.filter(|row| row.reason == self.name).map(|row| row.count).sum()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn limits_are_read_and_others_refused() {
        assert_eq!(
            Threshold::parse("bad-signature=0"),
            Ok(Threshold { name: "bad-signature".into(), limit: Limit::Count(0) })
        );
        assert_eq!(
            Threshold::parse("rejected=0.5%"),
            Ok(Threshold { name: "rejected".into(), limit: Limit::Percent(0.5) })
        );
        for text in ["rejected", "nonsense=1", "rejected=-1", "rejected=101%", "rejected=x", "=1"] {
            assert!(Threshold::parse(text).is_err(), "{text}");
        }
    }
}
