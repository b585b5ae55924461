//! Everything that is wrong with one envelope, in words: the same recipe as the fast path, with an observer that
//! wants every failure.

use super::{AllFailures, Binding, Input, Judge, NoWatch, Payload, Rules};
use crate::formats::hidden::{self, HIDDEN};
use crate::formats::{Compiled, Rule, Source};
use crate::program::Failure;
use crate::tape::{Node, Tape};
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
    /// The schema's keyword and where it stands, if the shape failed; the format's rule and what it demands otherwise.
    pub rule: Option<(String, String)>,
    /// Where the rule comes from.
    pub source: Option<Source>,
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
    /// Rules that apply to the envelope and could not be checked.
    pub unchecked: Vec<&'static Rule>,
    /// Rules that the envelope breaks, and that only warn.
    pub warnings: Vec<&'static Rule>,
}

/// Judges a record and explains the verdict.
#[must_use]
pub fn explain<'p>(
    judge: &mut Judge,
    rules: &Rules,
    binding: Binding,
    input: impl Into<Input<'p>>,
) -> Explained {
    let input = input.into();
    let mut pointer = Vec::new();
    let verdict = judge.judge(rules, binding, input, &mut pointer, &mut NoWatch);
    let at = String::from_utf8_lossy(&pointer).into_owned();
    let format = verdict.format.and_then(|format| rules.format(format));
    let mut all = AllFailures::default();
    let mut findings = Vec::new();
    let walked = judge.walk(rules, binding, (input, None), &mut all, &mut NoWatch, |tape, all| {
        findings.extend(all.0.iter().take(FINDINGS_MAX).map(|failure| finding(format, *failure, tape)));
    });
    let unchecked = format.map(|format| walked.unchecked.rules(format.rules()).collect()).unwrap_or_default();
    let warnings = format.map(|format| walked.warned.rules(format.rules()).collect()).unwrap_or_default();
    let Some(reason) = verdict.reason else {
        return Explained { verdict, findings: Vec::new(), more: 0, unchecked, warnings };
    };
    let more = all.0.len().saturating_sub(findings.len().max(1));
    if findings.is_empty() {
        let found = syntax_error(reason, input.payload);
        findings.push(Finding { reason, at: at.clone(), rule: None, source: None, expected: None, found });
    }
    // The fast path's failure decides and stands first; the others keep the order in which they were found.
    if let Some(deciding) = findings.iter().position(|finding| finding.reason == reason && finding.at == at)
        && let Some(ahead) = findings.get_mut(..=deciding)
    {
        ahead.rotate_right(1);
    }
    Explained { verdict, findings, more, unchecked, warnings }
}

fn finding(format: Option<&Compiled>, failure: Failure, tape: Tape<'_>) -> Finding {
    let at = tape.pointer(failure.at);
    let mut finding =
        Finding { reason: failure.reason, at, rule: None, source: None, expected: None, found: None };
    let Some(format) = format else { return finding };
    let explanation = format.program().explain(failure, tape);
    // Of objects and arrays no content is shown.
    let node = tape.nodes().get(failure.at.0 as usize);
    let is_container = matches!(node, Some(Node::Object { .. } | Node::Array { .. }));
    let name = finding.at.rsplit('/').next().unwrap_or_default();
    // A credential is none to show where it does not belong, either.
    let hidden = hidden::hides(Some(format), &finding.at, name, is_container)
        || hidden::looks_secret(explanation.found.trim_start_matches('"'));
    let found = if hidden { HIDDEN.to_owned() } else { explanation.found };
    if let Some(rule) = failure.op.rule().and_then(|number| format.rules().get(usize::from(number))) {
        finding.rule = Some((rule.name.to_owned(), rule.text.to_owned()));
        finding.source = Some(rule.source);
        finding.found = Some(found);
    } else if !explanation.keyword.is_empty() {
        finding.source = format.shape_source(&explanation.schema);
        finding.rule = Some((explanation.keyword.to_owned(), explanation.schema));
        finding.expected = Some(explanation.expected);
        finding.found = Some(found);
    }
    finding
}

/// simd-json says little about what it refuses; a second parser knows line and column.
fn syntax_error(reason: Reason, payload: Payload<'_>) -> Option<String> {
    let Payload::Bytes(payload) = payload else { return None };
    match reason {
        Reason::JsonSyntax | Reason::InvalidUtf8 | Reason::LoneSurrogate => {
            match std::str::from_utf8(payload) {
                Err(error) => Some(format!("a byte that is not UTF-8 at position {}", error.valid_up_to())),
                Ok(text) => {
                    serde_json::from_str::<serde::de::IgnoredAny>(text).err().map(|error| error.to_string())
                }
            }
        }
        Reason::TooBig => Some(format!("{} bytes", payload.len())),
        _ => None,
    }
}
