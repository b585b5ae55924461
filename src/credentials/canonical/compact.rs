//! Whether a payload holds its tokens just as a form writes them, without white space; only the order is left to see.
//!
//! The caller has made sure that strings stand in the payload as the form writes them. Then every token but a double has
//! exactly one spelling of the form's length, and others are longer (`-0`, white space around). So if the lengths of all
//! tokens add up to the payload's, each stands there in its one spelling. Doubles have shorter spellings, which could
//! make up for a blank elsewhere: their text is compared, where they stand. That place is known behind a string and at the
//! begin of an array that stands behind one, and can be counted from there; a double behind a closing bracket makes the
//! payload count as not compact, which costs time, not correctness.

use super::forms::Form;
use super::{is_integer, wide_text};
use crate::tape::{Node, StaticNode, Tape};

/// Adds up the tokens of a compact payload; `false` if it is not compact.
///
/// `before` gets the sum in front of each node, and the whole sum at last: so the difference of two places is the length
/// of what stands between them, brackets, colons and commas of its own included. `objects` gets the nodes of all objects.
pub(super) fn add_up<F: Form>(
    tape: Tape<'_>,
    payload: &[u8],
    before: &mut Vec<u32>,
    objects: &mut Vec<u32>,
) -> bool {
    before.clear();
    objects.clear();
    before.reserve(tape.nodes().len() + 1);
    let mut sum = 0_usize;
    let mut behind_double = None;
    for (at, node) in tape.nodes().iter().enumerate() {
        before.push(sum as u32);
        // PERF: most nodes are strings, and a jump by kind is guessed wrong more often than this one.
        if let Node::String(text) = node {
            sum += text.len() + 2;
            continue;
        }
        sum += match node {
            // Brackets, a colon for each member, a comma between two.
            Node::Object { len, .. } => {
                objects.push(at as u32);
                (2 * len + 1).max(2)
            }
            Node::Array { len, .. } => (len + 1).max(2),
            Node::Static(StaticNode::F64(value)) => {
                let bytes = double_bytes::<F>(tape, payload, at, *value, &mut behind_double);
                let Some(bytes) = bytes else { return false };
                bytes
            }
            _ => match scalar_bytes::<F>(node) {
                Some(bytes) => bytes,
                None => return false,
            },
        };
    }
    before.push(sum as u32);
    sum == payload.trim_ascii_end().len()
}

#[inline]
fn digits(magnitude: u64) -> usize {
    magnitude.checked_ilog10().unwrap_or(0) as usize + 1
}

/// The length of the double at a node, if it is spelled as the form does.
///
/// `behind` is the node behind the last double and where it begins if it stands in the same array.
#[cold]
fn double_bytes<F: Form>(
    tape: Tape<'_>,
    payload: &[u8],
    at: usize,
    value: f64,
    behind: &mut Option<(usize, usize)>,
) -> Option<usize> {
    if let Some(text) = wide_text(tape, payload, at) {
        return (F::CARRIES_WIDE_INTEGERS && is_integer(text)).then_some(text.len());
    }
    let start = double_start::<F>(tape, payload, at, *behind)?;
    let text = F::double(value);
    let rest = payload.get(start..)?.strip_prefix(text.as_bytes())?;
    *behind = match rest.first() {
        Some(b',') => Some((at + 1, start + text.as_bytes().len() + 1)),
        Some(b']' | b'}') | None => None,
        // Another digit: a longer spelling that begins like the right one; or white space.
        Some(_) => return None,
    };
    value.is_finite().then_some(text.as_bytes().len())
}

/// Where the double at a node begins: counted from the last place that is known, over integers and words alone.
fn double_start<F: Form>(
    tape: Tape<'_>,
    payload: &[u8],
    at: usize,
    behind: Option<(usize, usize)>,
) -> Option<usize> {
    let nodes = tape.nodes();
    let is_behind = |at: usize| behind.is_some_and(|(node, _)| node == at);
    let mut first = at;
    while first > 0 && !is_behind(first) && matches!(nodes.get(first - 1), Some(Node::Static(_))) {
        first -= 1;
    }
    // Behind a string there is its quote, then a colon or a comma.
    let behind_string = |node: &Node<'_>| match node {
        Node::String(text) => Some(tape.place(text) + text.len() + 2),
        _ => None,
    };
    let mut start = match (behind, nodes.get(..first)?) {
        (Some((_, start)), _) if is_behind(first) => start,
        (_, []) => 0,
        (_, [Node::Array { .. }]) => 1,
        (_, [.., before, Node::Array { .. }]) => behind_string(before)? + 1,
        (_, [.., last]) => behind_string(last)?,
    };
    for node in nodes.get(first..at)? {
        start += scalar_bytes::<F>(node)? + 1;
        if payload.get(start - 1) != Some(&b',') {
            return None;
        }
    }
    // Anything else in front would be a closing bracket or white space.
    (start == 0 || matches!(payload.get(start - 1), Some(b',' | b':' | b'['))).then_some(start)
}

/// The length of an integer that the form carries, or of a word.
fn scalar_bytes<F: Form>(node: &Node<'_>) -> Option<usize> {
    let integer = |magnitude: u64| (magnitude <= F::INTEGER_MAX).then(|| digits(magnitude));
    match node {
        Node::Static(StaticNode::Null | StaticNode::Bool(true)) => Some(4),
        Node::Static(StaticNode::Bool(false)) => Some(5),
        Node::Static(StaticNode::I64(value)) => {
            Some(integer(value.unsigned_abs())? + usize::from(*value < 0))
        }
        Node::Static(StaticNode::U64(value)) => integer(*value),
        _ => None,
    }
}
