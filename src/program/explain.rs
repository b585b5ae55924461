//! Words for a failure: where in the document, where in the schema, what was expected, what was found.
//!
//! Made only where someone asks; nothing here is called for a record that merely gets routed.

use super::Failure;
use super::ops::{BlockId, Kind, OpIndex, Origin, Tables};
use crate::tape::{Node, StaticNode, Tape};

/// Values longer than this are cut in texts.
const FOUND_CHARS_MAX: usize = 60;

/// So many branches of `anyOf` and `oneOf` are explained one by one.
pub(super) const BRANCHES_MAX: usize = 6;

/// One failure in words.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Explanation {
    /// JSON pointer into the document.
    pub instance: String,
    /// JSON pointer into the schema; with the document's URI in front if it is not the root document.
    pub schema: String,
    /// The keyword that failed.
    pub keyword: &'static str,
    /// What the schema asks for.
    pub expected: String,
    /// What the document has.
    pub found: String,
}

pub(super) fn explain(tables: &Tables, failure: Failure, tape: Tape<'_>) -> Explanation {
    let unknown = Origin { pointer: String::new(), keyword: "", expected: String::new() };
    let origin = tables.origins.get(failure.op.0 as usize).unwrap_or(&unknown);
    let at = failure.at.0 as usize;
    let found = match origin.keyword {
        "required" | "dependentRequired" | "dependencies" => "no such member".to_owned(),
        "additionalProperties" | "unevaluatedProperties" => {
            format!("a member with {}", describe(tape.nodes(), at))
        }
        _ => describe(tape.nodes(), at),
    };
    Explanation {
        instance: tape.pointer(failure.at),
        schema: origin.pointer.clone(),
        keyword: origin.keyword,
        expected: origin.expected.clone(),
        found,
    }
}

/// The branches of the `anyOf` or `oneOf` that failed; none for other keywords.
pub(super) fn branches_of<'t>(tables: &'t Tables, op: OpIndex, keyword: &str) -> &'t [BlockId] {
    if !matches!(keyword, "anyOf" | "oneOf") {
        return &[];
    }
    let list = tables.ops.iter().filter(|candidate| candidate.origin == op).find_map(|op| match op.kind {
        Kind::AnyOf(list) | Kind::OneOf(list) => tables.branches.get(list as usize),
        _ => None,
    });
    list.map(|list| &**list).unwrap_or_default()
}

/// What became of each branch, in words: its first failure, or that it holds.
pub(super) fn break_down(
    tables: &Tables,
    outcomes: &[Option<Failure>],
    hidden: usize,
    tape: Tape<'_>,
) -> String {
    let mut text = String::new();
    for (number, outcome) in outcomes.iter().enumerate() {
        text.push_str(if number == 0 { " (" } else { "; " });
        text.push_str(&format!("branch {number} "));
        let Some(failure) = outcome else {
            text.push_str("holds");
            continue;
        };
        let Explanation { instance, keyword, expected, found, .. } = explain(tables, *failure, tape);
        text.push_str(&format!("fails at `{instance}`: {keyword}: expected {expected}, found {found}"));
    }
    if hidden != 0 {
        text.push_str(&format!("; and {hidden} more branches"));
    }
    text.push(')');
    text
}

/// A value in a few words.
fn describe(nodes: &[Node<'_>], at: usize) -> String {
    match nodes.get(at) {
        Some(Node::String(text)) => {
            let quoted = serde_json::Value::from(*text).to_string();
            match quoted.char_indices().nth(FOUND_CHARS_MAX) {
                Some((end, _)) => {
                    format!(
                        "a string of {} characters: {}…",
                        text.chars().count(),
                        quoted.get(..end).unwrap_or_default()
                    )
                }
                None => quoted,
            }
        }
        Some(Node::Object { len, .. }) => format!("an object with {len} members"),
        Some(Node::Array { len, .. }) => format!("an array of {len} items"),
        Some(Node::Static(StaticNode::Null)) => "null".to_owned(),
        Some(Node::Static(StaticNode::Bool(value))) => value.to_string(),
        Some(Node::Static(StaticNode::I64(value))) => value.to_string(),
        Some(Node::Static(StaticNode::U64(value))) => value.to_string(),
        Some(Node::Static(StaticNode::F64(value))) => value.to_string(),
        None => "nothing".to_owned(),
    }
}
