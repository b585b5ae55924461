//! Whether a payload holds its tokens just as a form writes them, without white space; only the order is left to see.
//!
//! The caller has made sure that strings stand in the payload as the form writes them. Then every token but a double has
//! exactly one spelling of the form's length, and others are longer (`-0`, white space around). So if the lengths of all
//! tokens add up to the payload's, each stands there in its one spelling. Doubles have shorter spellings, which could
//! make up for a blank elsewhere: their text is compared, where they stand. That place is known behind a string and at the
//! begin of an array that stands behind one, and can be counted from there; a double behind a closing bracket makes the
//! payload count as not compact, which costs time, not correctness. Numbers beyond 64 bits are not asked about.

use super::forms::Form;
use crate::tape::{Node, StaticNode, Tape};

/// Whether the tokens of a payload add up to its length.
pub(super) fn is_compact<F: Form>(tape: Tape<'_>, payload: &[u8]) -> bool {
    let mut sum = 0_usize;
    let mut behind_double = None;
    for (at, node) in tape.nodes().iter().enumerate() {
        // PERF: most nodes are strings, and a jump by kind is guessed wrong more often than this one.
        if let Node::String(text) = node {
            sum += text.len() + 2;
            continue;
        }
        sum += match node {
            // Brackets, a colon for each member, a comma between two.
            Node::Object { len, .. } => (2 * len + 1).max(2),
            Node::Array { len, .. } => (len + 1).max(2),
            Node::Static(scalar) => match scalar_bytes::<F>(tape, payload, at, *scalar, &mut behind_double) {
                Some(bytes) => bytes,
                None => return false,
            },
            Node::String(_) => 0,
        };
    }
    sum == payload.trim_ascii_end().len()
}

/// Whether the first member's value stands behind its colon; most payloads with white space have some there.
pub(super) fn begins_compact(tape: Tape<'_>, payload: &[u8]) -> bool {
    match tape.nodes() {
        [Node::Object { .. }, Node::String(name), ..] => {
            let behind = tape.place(name) + name.len() + 1;
            matches!(payload.get(behind..), Some([b':', first, ..]) if *first > b' ')
        }
        _ => true,
    }
}

/// The bytes that a form lacks because it leaves out the member with this value; `None` if that is no string.
pub(super) fn omitted_bytes(tape: Tape<'_>, value: usize) -> Option<usize> {
    let nodes = tape.nodes();
    let name_at = value.checked_sub(1)?;
    let (Some(Node::String(name)), Some(Node::String(text))) = (nodes.get(name_at), nodes.get(value)) else {
        return None;
    };
    let is_alone = name_at.checked_sub(1).and_then(|at| nodes.get(at));
    let commas = usize::from(!matches!(is_alone, Some(Node::Object { len: 1, .. })));
    Some(name.len() + text.len() + 5 + commas)
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
    let start = double_start::<F>(tape, payload, at, *behind)?;
    let rest = payload.get(start..)?;
    let printed = || {
        let text = F::double(value);
        rest.starts_with(text.as_bytes()).then_some(text.as_bytes().len())
    };
    let len = short_decimal(rest).or_else(printed)?;
    *behind = match rest.get(len) {
        Some(b',') => Some((at + 1, start + len + 1)),
        Some(b']' | b'}') | None => None,
        // Another digit: a longer spelling that begins like the right one; or white space.
        Some(_) => return None,
    };
    value.is_finite().then_some(len)
}

/// The length of a number that every form writes as it stands: with a point, a last digit other than zero, up to fifteen
/// digits and not too small.
///
/// PERF: so most doubles need not be printed. No other decimal of up to fifteen digits is read as the same double, so its
/// shortest digits are these.
fn short_decimal(text: &[u8]) -> Option<usize> {
    const DIGITS_MAX: usize = 15;
    const SMALL_ZEROS_MAX: usize = 3;
    let is_digit = |byte: &&u8| byte.is_ascii_digit();
    let sign = usize::from(text.first() == Some(&b'-'));
    let before = text.iter().skip(sign).take_while(is_digit).take(DIGITS_MAX + 1).count();
    let point = sign + before;
    let after = text.iter().skip(point + 1).take_while(is_digit).take(DIGITS_MAX + 1).count();
    let zeros = text.iter().skip(point + 1).take_while(|byte| **byte == b'0').count();
    let begins_well = match text.get(sign)? {
        b'0' => before == 1 && zeros <= SMALL_ZEROS_MAX,
        _ => before > 0,
    };
    let len = point + 1 + after;
    let ends_well = after > 0 && text.get(point) == Some(&b'.') && text.get(len - 1) != Some(&b'0');
    (begins_well && ends_well && before + after <= DIGITS_MAX).then_some(len)
}

/// The length of the number or word that begins at a place of a compact payload.
pub(super) fn token_bytes(payload: &[u8], start: usize) -> Option<usize> {
    let rest = payload.get(start..)?;
    Some(memchr::memchr3(b',', b']', b'}', rest).unwrap_or(rest.trim_ascii_end().len()))
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
        let Node::Static(scalar) = node else { return None };
        start += written_bytes::<F>(*scalar) + 1;
        if payload.get(start - 1) != Some(&b',') {
            return None;
        }
    }
    // Anything else in front would be a closing bracket or white space.
    (start == 0 || matches!(payload.get(start - 1), Some(b',' | b':' | b'['))).then_some(start)
}

/// The length of the number or word at a node, if the form carries it and it is spelled as the form does; longer spellings
/// of integers are not told here, but by the sum.
///
/// `behind` is the node behind the last double and where it begins if it stands in the same array.
#[inline]
pub(super) fn scalar_bytes<F: Form>(
    tape: Tape<'_>,
    payload: &[u8],
    at: usize,
    scalar: StaticNode,
    behind: &mut Option<(usize, usize)>,
) -> Option<usize> {
    let carried = match scalar {
        StaticNode::I64(value) => value.unsigned_abs() <= F::INTEGER_MAX,
        StaticNode::U64(value) => value <= F::INTEGER_MAX,
        StaticNode::F64(value) => return double_bytes::<F>(tape, payload, at, value, behind),
        StaticNode::Null | StaticNode::Bool(_) => true,
    };
    carried.then(|| written_bytes::<F>(scalar))
}

/// The length of a number or word as the form writes it; integers beyond 64 bits are not known here.
#[inline]
pub(super) fn written_bytes<F: Form>(scalar: StaticNode) -> usize {
    match scalar {
        StaticNode::Null | StaticNode::Bool(true) => 4,
        StaticNode::Bool(false) => 5,
        StaticNode::I64(value) => digits(value.unsigned_abs()) + usize::from(value < 0),
        StaticNode::U64(value) => digits(value),
        StaticNode::F64(value) => F::double(value).as_bytes().len(),
    }
}
