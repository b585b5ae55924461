//! The vectors of `tests/vectors`: MACs, identities, digests and proofs; and what goes wrong beside them.

mod digests;
mod macs;
mod naming;

use serde_json::value::RawValue;

use crate::tape::{Node, NodeIndex, Tape};

/// The value at a pointer.
fn at(tape: Tape<'_>, pointer: &str) -> Option<NodeIndex> {
    let found = (0..tape.nodes().len() as u32).find(|node| tape.pointer(NodeIndex(*node)) == pointer)?;
    Some(NodeIndex(found + 1))
}

fn text<'a>(tape: Tape<'a>, pointer: &str) -> &'a str {
    match at(tape, pointer).map(|node| &tape.nodes()[node.0 as usize]) {
        Some(Node::String(text)) => text,
        _ => "",
    }
}

/// The text as it stands, and without its white space outside strings: an input that may be canonical in place.
fn as_is_and_compact(raw: &RawValue) -> [String; 2] {
    let (mut compact, mut in_string, mut escaped) = (String::new(), false, false);
    for c in raw.get().chars() {
        if in_string || !c.is_ascii_whitespace() {
            compact.push(c);
        }
        in_string ^= c == '"' && !escaped;
        escaped = in_string && c == '\\' && !escaped;
    }
    [raw.get().to_owned(), compact]
}
