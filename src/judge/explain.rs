//! Everything that is wrong with one envelope, in words: the same recipe as the fast path, with an observer that
//! wants every failure.

use super::{AllFailures, Binding, Input, Judge, NoWatch, Payload, Rules};
use crate::formats::hidden::{self, HIDDEN};
use crate::formats::{Compiled, Rule, Source};
use crate::program::Failure;
use crate::tape::{Node, NodeIndex, StaticNode, Tape};
use crate::verdict::{Reason, Verdict};

/// LIMIT: failures that are listed; a hostile envelope can have one per byte.
const FINDINGS_MAX: usize = 100;
/// LIMIT: characters of a number that are shown.
const NUMBER_CHARS_MAX: usize = 60;

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
        let listed = all.0.iter().take(FINDINGS_MAX);
        findings.extend(listed.map(|failure| finding(rules, format, *failure, tape)));
    });
    let unchecked = format.map(|format| walked.unchecked.rules(format.rules()).collect()).unwrap_or_default();
    let warnings = format.map(|format| walked.warned.rules(format.rules()).collect()).unwrap_or_default();
    let Some(reason) = verdict.reason else {
        return Explained { verdict, findings: Vec::new(), more: 0, unchecked, warnings };
    };
    let more = all.0.len().saturating_sub(findings.len().max(1));
    if findings.is_empty() {
        let mut finding = Finding::of(reason, at.clone());
        finding.found = syntax_error(reason, input.payload);
        finding.ground(rules);
        findings.push(finding);
    }
    // The fast path's failure decides and stands first; the others keep the order in which they were found.
    if let Some(deciding) = findings.iter().position(|finding| finding.reason == reason && finding.at == at)
        && let Some(ahead) = findings.get_mut(..=deciding)
    {
        ahead.rotate_right(1);
    }
    Explained { verdict, findings, more, unchecked, warnings }
}

impl Finding {
    fn of(reason: Reason, at: String) -> Self {
        Self { reason, at, rule: None, source: None, expected: None, found: None }
    }

    /// A finding that what came before an envelope decides.
    #[must_use]
    pub fn by_past(reason: Reason, rule: Option<&Rule>) -> Self {
        let mut finding = Self::of(reason, String::new());
        finding.name(rule);
        finding
    }

    fn name(&mut self, rule: Option<&Rule>) {
        if let Some(rule) = rule {
            self.rule = Some((rule.name.to_owned(), rule.text.to_owned()));
            self.source = Some(rule.source);
        }
    }

    /// What no schema and no format says: how payloads are read, and how formats are told apart.
    fn ground(&mut self, rules: &Rules) {
        let (name, text, source) = match self.reason {
            Reason::Tombstone | Reason::EmptyPayload => {
                ("payload", "a record carries an envelope", Source::Page)
            }
            Reason::TooBig => {
                self.expected = Some(format!("at most {} bytes", rules.limits().payload_bytes_max));
                ("limits.payload_bytes_max", "a payload is not larger than the limit", Source::Proposed)
            }
            Reason::JsonSyntax | Reason::InvalidUtf8 | Reason::LoneSurrogate => {
                ("json", "a payload is one JSON document (RFC 8259) in UTF-8", Source::Page)
            }
            Reason::TooDeep => {
                self.expected = Some(format!("at most {} levels", rules.limits().depth_max));
                ("limits.depth_max", "nothing is nested deeper than the limit", Source::Proposed)
            }
            Reason::NotObject => ("json", "an envelope is a JSON object", Source::Page),
            Reason::DuplicateKey => {
                ("duplicate-names", "a name stands once in an object, at every depth", Source::Proposed)
            }
            Reason::UnknownFormat => ("format", "members of one format are there", Source::Proposed),
            Reason::AmbiguousFormat => {
                ("format", "the members that tell formats apart are those of one", Source::Proposed)
            }
            Reason::WrongFormat => {
                ("format", "the envelope is of the format that it must have", Source::Settings)
            }
            Reason::NumberRange => ("numbers", "every number fits a double", Source::Proposed),
            _ => return,
        };
        self.rule = Some((name.to_owned(), text.to_owned()));
        self.source = Some(source);
    }
}

fn finding(rules: &Rules, format: Option<&Compiled>, failure: Failure, tape: Tape<'_>) -> Finding {
    let mut finding = Finding::of(failure.reason, tape.pointer(failure.at));
    let by_names = matches!(
        failure.reason,
        Reason::UnknownFormat | Reason::AmbiguousFormat | Reason::WrongFormat | Reason::NotObject
    );
    let Some(format) = format.filter(|_| !by_names) else {
        finding.ground(rules);
        if failure.reason != Reason::NotObject && by_names {
            let told = rules.detector().telling(rules.formats(), tape);
            let none = "no member that tells a format".to_owned();
            finding.found = Some(if told.is_empty() { none } else { told.join(", ") });
        }
        return finding;
    };
    let explanation = format.program().explain(failure, tape);
    // Of objects and arrays no content is shown.
    let node = tape.nodes().get(failure.at.0 as usize);
    let is_container = matches!(node, Some(Node::Object { .. } | Node::Array { .. }));
    let name = finding.at.rsplit('/').next().unwrap_or_default();
    // A credential is none to show where it does not belong, either.
    let hidden = hidden::hides(Some(format), &finding.at, name, is_container)
        || matches!(node, Some(Node::String(text)) if hidden::looks_secret(text))
        || hidden::looks_secret(explanation.found.trim_start_matches('"'));
    let found = if hidden { HIDDEN.to_owned() } else { as_written(explanation.found, failure.at, tape) };
    let rule = failure.op.rule().and_then(|number| format.rules().get(usize::from(number)));
    if let Some(rule) = rule {
        finding.name(Some(rule));
        finding.expected = format.expected(rule, &finding.at, kind_of(tape)).map(str::to_owned);
    } else if explanation.keyword.is_empty() || failure.reason == Reason::DuplicateKey {
        finding.ground(rules);
    } else {
        finding.source = Some(format.shape_source(&explanation.schema));
        finding.rule = Some((explanation.keyword.to_owned(), explanation.schema));
    }
    if rule.is_none() && !explanation.expected.is_empty() {
        finding.expected = Some(explanation.expected);
    }
    finding.found = Some(found);
    finding
}

/// What was found, with a number as it stands in the record: its double may look like another number.
fn as_written(found: String, at: NodeIndex, tape: Tape<'_>) -> String {
    let number = match tape.nodes().get(at.0 as usize) {
        Some(Node::Static(StaticNode::I64(_) | StaticNode::U64(_) | StaticNode::F64(_))) => {
            tape.number_text(at)
        }
        _ => None,
    };
    let Some(number) = number else { return found };
    if found == "no such member" {
        return found;
    }
    let with = if found.starts_with("a member with ") { "a member with " } else { "" };
    match number.char_indices().nth(NUMBER_CHARS_MAX) {
        Some((end, _)) => {
            let begin = number.get(..end).unwrap_or_default();
            format!("{with}a number of {} characters: {begin}…", number.len())
        }
        None => format!("{with}{number}"),
    }
}

/// What an envelope calls itself, where it does.
fn kind_of(tape: Tape<'_>) -> Option<&str> {
    let kind = crate::credentials::canonical::member(tape, NodeIndex(0), "kind")?;
    match tape.nodes().get(kind.0 as usize) {
        Some(Node::String(kind)) => Some(kind),
        _ => None,
    }
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
