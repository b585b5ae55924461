//! One record as a report shows it: what failed, where, what was expected and found, and an excerpt without secrets.
//!
//! Values that a format hides are hidden here as well, and so is whatever stands under a name that sounds like a
//! credential or looks like a token. Of a record whose format is not known, or that does not parse, no value is shown:
//! nobody knows which of its texts is a secret.

use serde::{Deserialize, Serialize};

use super::shown::{pointer, quoted, shown};
use crate::formats::hidden::{HIDDEN, hides, is_named_value, looks_secret, names_its_value};
use crate::formats::{Binding, Compiled};
use crate::judge::{Input, Judge, Payload, Rules, explain};
use crate::tape::{Node, NodeIndex, Parser, StaticNode, Tape};
use crate::verdict::Verdict;

/// LIMIT: characters of an excerpt, of a text in it, of one of its names; items of its arrays; its levels; its members.
const EXCERPT_CHARS_MAX: usize = 1600;
const TEXT_CHARS_MAX: usize = 48;
const NAME_CHARS_MAX: usize = 40;
const ITEMS_MAX: usize = 4;
const LEVELS_MAX: usize = 6;
const MEMBERS_MAX: usize = 24;
/// LIMIT: characters of what was expected, found, or of a pointer.
const FIELD_CHARS_MAX: usize = 160;

/// A record that shows a finding.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Example {
    /// `file:line` or `topic/partition/offset`.
    pub place: String,
    /// The place of the record that it repeats or conflicts with.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub first_place: Option<String>,
    /// Its format, if it is known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub format: Option<String>,
    /// Its sender.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sender: Option<String>,
    /// JSON pointer of what failed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub at: Option<String>,
    /// The rule or keyword.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rule: Option<String>,
    /// What would be right.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub expected: Option<String>,
    /// What stands there.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub found: Option<String>,
    /// The record, cut, without secrets.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub excerpt: Option<String>,
}

/// Makes examples; has memory of its own.
pub struct Explainer {
    judge: Judge,
    parser: Parser,
}

impl Explainer {
    /// For a rule set.
    #[must_use]
    pub fn new(rules: &Rules) -> Self {
        let depth = usize::from(rules.limits().depth_max);
        Self { judge: Judge::new(rules), parser: Parser::new(depth) }
    }

    /// An example of a record with this verdict.
    pub fn example(
        &mut self,
        rules: &Rules,
        binding: Binding,
        input: Input<'_>,
        verdict: Verdict,
        place: String,
    ) -> Example {
        let format = verdict.format.and_then(|id| rules.format(id));
        let mut example =
            Example { place, format: format.map(|format| format.name().to_owned()), ..Example::default() };
        let explained = explain(&mut self.judge, rules, binding, input);
        // What was seen before decides about records that hold by themselves.
        if explained.verdict.reason == verdict.reason
            && let Some(finding) = explained.findings.into_iter().next()
        {
            let cut = |text: String| {
                if looks_secret(&text) { HIDDEN.to_owned() } else { shown(&text, FIELD_CHARS_MAX) }
            };
            example.at = Some(pointer(&finding.at, FIELD_CHARS_MAX)).filter(|at| !at.is_empty());
            example.rule = finding.rule.map(|(name, _)| cut(name));
            example.expected = finding.expected.map(cut);
            example.found = finding.found.map(cut);
        }
        let bytes_max = rules.limits().payload_bytes_max as usize;
        example.excerpt = Some(self.excerpt(format, input.payload, bytes_max));
        example
    }

    fn excerpt(&mut self, format: Option<&Compiled>, payload: Payload<'_>, bytes_max: usize) -> String {
        let bytes = match payload {
            Payload::Bytes(bytes) if bytes.len() > bytes_max => return format!("{} bytes", bytes.len()),
            Payload::Bytes(bytes) => bytes,
            Payload::Tombstone => return "no payload".to_owned(),
            Payload::Oversized => return "longer than a record may be to be kept".to_owned(),
        };
        self.parser.parse(bytes, |tape| match tape {
            Ok(tape) => {
                let mut excerpt = Excerpt { tape, format, out: String::new(), pointer: String::new() };
                excerpt.value(0, 0, "");
                if excerpt.out.chars().count() > EXCERPT_CHARS_MAX {
                    shown(&excerpt.out, EXCERPT_CHARS_MAX)
                } else {
                    excerpt.out
                }
            }
            Err(why) => format!("{} bytes that are no JSON: {why}", bytes.len()),
        })
    }
}

/// An excerpt in the making.
struct Excerpt<'a> {
    tape: Tape<'a>,
    /// Without a format only names and kinds of values are shown.
    format: Option<&'a Compiled>,
    out: String,
    pointer: String,
}

impl Excerpt<'_> {
    /// Writes a value and gives the node behind it.
    fn value(&mut self, at: usize, level: usize, name: &str) -> usize {
        let nodes = self.tape.nodes();
        let end = at + self.nodes_of(at);
        if self.out.len() > EXCERPT_CHARS_MAX * 2 {
            return end;
        }
        let is_container = matches!(nodes.get(at), Some(Node::Object { .. } | Node::Array { .. }));
        match nodes.get(at) {
            _ if hides(self.format, &self.pointer, name, is_container) => self.out.push_str(HIDDEN),
            Some(Node::Object { len, .. }) => self.object(at, *len, level),
            Some(Node::Array { len, .. }) => self.array(at, *len, level),
            Some(Node::String(text)) => self.text(text),
            Some(Node::Static(value)) => self.scalar(*value, at),
            None => {}
        }
        end
    }

    fn object(&mut self, at: usize, len: usize, level: usize) {
        if level == LEVELS_MAX {
            self.out.push_str("{…}");
            return;
        }
        self.out.push('{');
        let mut at = at + 1;
        let names_secret = self.names_secret(at, len);
        for index in 0..len {
            if index == MEMBERS_MAX {
                self.out.push_str(&format!(", … {} more", len - index));
                break;
            }
            let Some(Node::String(name)) = self.tape.nodes().get(at) else { break };
            if index > 0 {
                self.out.push_str(", ");
            }
            let shown_name = if looks_secret(name) { HIDDEN } else { name };
            self.out.push_str(&format!("{}: ", quoted(shown_name, NAME_CHARS_MAX)));
            let from = self.pointer.len();
            self.pointer.push('/');
            self.pointer.push_str(&name.replace('~', "~0").replace('/', "~1"));
            if names_secret && is_named_value(name) {
                self.out.push_str(HIDDEN);
                at += 1 + self.nodes_of(at + 1);
            } else {
                at = self.value(at + 1, level + 1, name);
            }
            self.pointer.truncate(from);
        }
        self.out.push('}');
    }

    /// Whether a member says that the one beside it is a credential.
    fn names_secret(&self, from: usize, len: usize) -> bool {
        let mut at = from;
        (0..len).any(|_| {
            let pair = (self.tape.nodes().get(at), self.tape.nodes().get(at + 1));
            at += 1 + self.nodes_of(at + 1);
            matches!(pair, (Some(Node::String(name)), Some(Node::String(text))) if names_its_value(name, text))
        })
    }

    /// How many nodes a value has.
    fn nodes_of(&self, at: usize) -> usize {
        match self.tape.nodes().get(at) {
            Some(Node::Object { count, .. } | Node::Array { count, .. }) => 1 + count,
            _ => 1,
        }
    }

    fn array(&mut self, at: usize, len: usize, level: usize) {
        if level == LEVELS_MAX {
            self.out.push_str("[…]");
            return;
        }
        self.out.push('[');
        let mut at = at + 1;
        for index in 0..len.min(ITEMS_MAX) {
            if index > 0 {
                self.out.push_str(", ");
            }
            let from = self.pointer.len();
            self.pointer.push_str(&format!("/{index}"));
            at = self.value(at, level + 1, "");
            self.pointer.truncate(from);
        }
        if len > ITEMS_MAX {
            self.out.push_str(&format!(", … {} more", len - ITEMS_MAX));
        }
        self.out.push(']');
    }

    fn text(&mut self, text: &str) {
        if self.format.is_none() {
            self.out.push_str("text");
        } else if looks_secret(text) {
            self.out.push_str(HIDDEN);
        } else {
            self.out.push_str(&quoted(text, TEXT_CHARS_MAX));
        }
    }

    fn scalar(&mut self, value: StaticNode, at: usize) {
        let is_wide = self.tape.wide().iter().any(|wide| wide.node == NodeIndex(at as u32));
        match value {
            StaticNode::Null => self.out.push_str("null"),
            _ if self.format.is_none() => {
                self.out.push_str(if matches!(value, StaticNode::Bool(_)) { "flag" } else { "number" });
            }
            StaticNode::Bool(flag) => self.out.push_str(if flag { "true" } else { "false" }),
            _ if is_wide => self.out.push_str("a number beyond 64 bits"),
            StaticNode::I64(number) => self.out.push_str(&number.to_string()),
            StaticNode::U64(number) => self.out.push_str(&number.to_string()),
            StaticNode::F64(number) => self.out.push_str(&number.to_string()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::Config;

    fn excerpt(payload: &str) -> String {
        let rules = Rules::compile(&Config::default()).unwrap();
        let format = rules.formats().iter().find(|format| format.name() == "alfred");
        Explainer::new(&rules).excerpt(format, Payload::Bytes(payload.as_bytes()), 10_000)
    }

    #[test]
    fn no_text_ends_itself() {
        let text = excerpt(r#"{"note":"x\", \"verified\": true, \"y\": \"z","a\"b":"\\"}"#);
        assert_eq!(text, r#"{"note": "x\", \"verified\": true, \"y\": \"z", "a\"b": "\\"}"#);
    }

    #[test]
    fn names_and_named_values_are_hidden() {
        let text = excerpt(r#"{"sk-live-Ab12Cd34Ef":1,"x":[{"value":{"a":"S"},"name":"Authorization"},7]}"#);
        assert_eq!(text, r#"{"(hidden)": 1, "x": [{"value": (hidden), "name": "Authorization"}, 7]}"#);
        assert_eq!(excerpt(r#"{"name":"colour","value":"red"}"#), r#"{"name": "colour", "value": "red"}"#);
    }
}
