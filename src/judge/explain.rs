//! Everything that is wrong with one envelope, in words: the same recipe as the fast path, with an observer that
//! wants every failure.

use super::{AllFailures, Binding, Judge, NoWatch, Payload, Rules};
use crate::program::Explanation;
use crate::verdict::{Reason, Verdict};

/// LIMIT: failures that are listed; a hostile envelope can have one per byte.
const FINDINGS_MAX: usize = 100;

/// One thing that is wrong.
#[derive(Clone, Debug)]
pub struct Finding {
    /// The reason.
    pub reason: Reason,
    /// JSON pointer of what failed.
    pub at: String,
    /// The schema's keyword and where it stands, if the shape failed.
    pub keyword: Option<(String, String)>,
    /// What would be right.
    pub expected: Option<String>,
    /// What stands there.
    pub found: Option<String>,
}

/// The verdict on an envelope with all its findings, the deciding one first.
#[derive(Clone, Debug)]
pub struct Explained {
    /// The fast path's verdict.
    pub verdict: Verdict,
    /// Everything that is wrong; empty if it is accepted.
    pub findings: Vec<Finding>,
    /// How many more there are than are listed.
    pub more: usize,
}

/// Judges a payload and explains the verdict.
#[must_use]
pub fn explain(judge: &mut Judge, rules: &Rules, binding: Binding, payload: Payload<'_>) -> Explained {
    let mut pointer = Vec::new();
    let verdict = judge.judge(rules, binding, payload, &mut pointer, &mut NoWatch);
    let Some(reason) = verdict.reason else { return Explained { verdict, findings: Vec::new(), more: 0 } };

    let at = String::from_utf8_lossy(&pointer).into_owned();
    let mut all = AllFailures::default();
    let mut findings = Vec::new();
    judge.walk(rules, binding, payload, &mut all, &mut NoWatch, |tape, all| {
        let program = verdict.format.and_then(|format| rules.program(format));
        for failure in all.0.iter().take(FINDINGS_MAX) {
            let explanation = program
                .map(|program| program.explain(*failure, tape))
                .filter(|explanation| !explanation.keyword.is_empty());
            findings.push(finding(failure.reason, tape.pointer(failure.at), explanation));
        }
    });
    let more = all.0.len().saturating_sub(findings.len().max(1));
    if findings.is_empty() {
        findings.push(Finding { found: syntax_error(reason, payload), ..finding(reason, at.clone(), None) });
    }
    // The fast path's failure decides and stands first; the others keep the order in which they were found.
    if let Some(deciding) = findings.iter().position(|finding| finding.reason == reason && finding.at == at)
        && let Some(ahead) = findings.get_mut(..=deciding)
    {
        ahead.rotate_right(1);
    }
    Explained { verdict, findings, more }
}

fn finding(reason: Reason, at: String, explanation: Option<Explanation>) -> Finding {
    match explanation {
        Some(Explanation { schema, keyword, expected, found, .. }) => Finding {
            reason,
            at,
            keyword: Some((keyword.to_owned(), schema)),
            expected: Some(expected),
            found: Some(found),
        },
        None => Finding { reason, at, keyword: None, expected: None, found: None },
    }
}

/// simd-json says little about what it refuses; a second parser knows line and column.
fn syntax_error(reason: Reason, payload: Payload<'_>) -> Option<String> {
    let Payload::Bytes(payload) = payload else { return None };
    match reason {
        Reason::JsonSyntax => match std::str::from_utf8(payload) {
            Err(error) => Some(format!("a byte that is not UTF-8 at position {}", error.valid_up_to())),
            Ok(text) => {
                serde_json::from_str::<serde::de::IgnoredAny>(text).err().map(|error| error.to_string())
            }
        },
        Reason::TooBig => Some(format!("{} bytes", payload.len())),
        _ => None,
    }
}
