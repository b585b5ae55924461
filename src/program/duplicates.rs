//! Duplicate member names, at every depth, also where a schema does not look.
//!
//! The tape is flat: each object on it finds its own members by stepping over their values, so every member is
//! looked at once and nothing recurses. Small and medium objects go through filters first; large ones, and those that
//! look as if they had a duplicate, go through a hash table whose key is random in each process, so nobody can aim at a
//! bucket. This file must not
//! allocate once its memory is warm, and must not know schemas.

use super::Scratch;
use super::names::{Ends, Keys};
use crate::tape::{Node, NodeIndex, Tape};

/// Objects of up to this many members go through a filter of two words …
const SMALL: usize = 8;

/// … and those of up to so many through a larger one.
const MEDIUM: usize = 128;

/// Words of one half of the larger filter.
const FILTER_WORDS: usize = 32;

/// Memory for names that are compared.
#[derive(Debug)]
pub(super) struct Seen {
    /// By the lower bits of a name's hash: its upper bits, and the node behind the name; zero is empty.
    table: Vec<(u32, u32)>,
    keys: Keys,
}

impl Default for Seen {
    fn default() -> Self {
        // Which object is suspicious first is chance; that one must not allocate.
        Self { table: vec![(0, 0); 2 * MEDIUM], keys: Keys::default() }
    }
}

/// The first member whose name stood before in the same object: its value's node.
#[must_use]
pub fn first_duplicate(tape: Tape<'_>, scratch: &mut Scratch) -> Option<NodeIndex> {
    let nodes = tape.nodes();
    first_below(nodes, 0, nodes.len(), &mut scratch.memory.seen).map(|at| NodeIndex(at as u32))
}

/// The first duplicate in any object that starts in `start..end`.
#[inline]
pub(super) fn first_below(nodes: &[Node<'_>], start: usize, end: usize, seen: &mut Seen) -> Option<usize> {
    let mut rest = nodes.get(start..end)?;
    while let [node, tail @ ..] = rest {
        if let Node::Object { len, count } = *node
            && len > 1
            && let Some(duplicate) = first_of(tail.get(..count)?, len, seen)
        {
            return Some(end - tail.len() + duplicate);
        }
        rest = tail;
    }
    None
}

/// The first duplicate among the `len` members of the object with these nodes `inside`: where among them its value is.
#[inline]
pub(super) fn first_of(inside: &[Node<'_>], len: usize, seen: &mut Seen) -> Option<usize> {
    let may_repeat =
        if len <= SMALL { small_has_likes(inside) } else { len > MEDIUM || medium_has_likes(inside) };
    if may_repeat { compared(inside, len, seen) } else { None }
}

/// The node behind the value at `at`.
#[inline]
pub(super) fn behind(nodes: &[Node<'_>], at: usize) -> usize {
    at + 1 + nodes.get(at).map_or(0, nested)
}

/// How many nodes belong to a container beside its own.
#[inline]
pub(super) fn nested(node: &Node<'_>) -> usize {
    match node {
        Node::Object { count, .. } | Node::Array { count, .. } => *count,
        Node::String(_) | Node::Static(_) => 0,
    }
}

/// Whether two names may be equal: notes two bits of a hash of each name; both were there before.
#[inline]
fn small_has_likes(inside: &[Node<'_>]) -> bool {
    let (mut first, mut second, mut alike) = (0_u64, 0_u64, 0_u64);
    let mut rest = inside;
    while let [Node::String(name), value, tail @ ..] = rest {
        let mixed = Ends::of(name).mixed();
        let (one, other) = (mixed >> 58, mixed >> 52 & 63);
        alike |= first >> one & second >> other;
        first |= 1 << one;
        second |= 1 << other;
        rest = tail.get(nested(value)..).unwrap_or_default();
    }
    alike & 1 != 0
}

/// As [`small_has_likes`], with more bits: of 57 different names, two look alike in one object of seventy.
#[inline(never)]
fn medium_has_likes(inside: &[Node<'_>]) -> bool {
    let (mut first, mut second, mut alike) = ([0_u64; FILTER_WORDS], [0_u64; FILTER_WORDS], 0_u64);
    let mut rest = inside;
    while let [Node::String(name), value, tail @ ..] = rest {
        let mixed = Ends::of(name).mixed();
        let (one, other) = (mixed >> 53 & 63, mixed >> 42 & 63);
        let places = (first.get_mut((mixed >> 59) as usize), second.get_mut((mixed >> 48 & 31) as usize));
        let (Some(first), Some(second)) = places else { return true };
        alike |= *first >> one & *second >> other;
        *first |= 1 << one;
        *second |= 1 << other;
        rest = tail.get(nested(value)..).unwrap_or_default();
    }
    alike & 1 != 0
}

/// Puts the names into a table; equal ones meet there.
#[inline(never)]
fn compared(inside: &[Node<'_>], len: usize, seen: &mut Seen) -> Option<usize> {
    let size = (len * 2).next_power_of_two();
    if seen.table.len() < size {
        seen.table.resize(size, (0, 0));
    }
    let table = seen.table.get_mut(..size)?;
    table.fill((0, 0));
    let mut name_at = 0;
    while let Some(Node::String(name)) = inside.get(name_at) {
        let hash = seen.keys.hash(name);
        let upper = (hash >> 32) as u32;
        let mut bucket = hash as usize & (size - 1);
        while let Some(entry) = table.get_mut(bucket) {
            if entry.1 == 0 {
                *entry = (upper, name_at as u32 + 1);
                break;
            }
            // PERF: names are compared only if they are equal, nearly always.
            if entry.0 == upper && inside.get(entry.1 as usize - 1) == inside.get(name_at) {
                return Some(name_at + 1);
            }
            bucket = (bucket + 1) & (size - 1);
        }
        name_at = behind(inside, name_at + 1);
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tape::Parser;

    fn first(text: &str) -> Option<String> {
        let mut scratch = Scratch::default();
        Parser::new(64).parse(text.as_bytes(), |tape| {
            let tape = tape.unwrap();
            first_duplicate(tape, &mut scratch).map(|at| tape.pointer(at))
        })
    }

    #[test]
    fn duplicates_are_found_at_every_depth_and_after_unescaping() {
        for (text, expected) in [
            (r#"{"a":1,"b":2}"#, None),
            (r#"{"a":1,"a":2}"#, Some("/a")),
            (r#"{"v\u0065rsion":1,"version":2}"#, Some("/version")),
            (r#"{"a":{"b":[1,{"c":1,"d":{"x":1},"c":2}]}}"#, Some("/a/b/1/c")),
            (r#"[{"a":{"b":1}},{"a":{"b":1}}]"#, None),
            (r#"{"a":{"a":{"a":1}}}"#, None),
            (r#"{"":1,"":2}"#, Some("/")),
            (r#""plain""#, None),
        ] {
            assert_eq!(first(text).as_deref(), expected, "{text}");
        }
    }

    #[test]
    fn large_objects_are_searched_too() {
        for len in [15, 16, 17, 40, 5000] {
            let members: Vec<_> = (0..len).map(|n| format!(r#""same-head-{n:06}-same-tail":0"#)).collect();
            assert_eq!(first(&format!("{{{}}}", members.join(","))), None, "{len}");
            let last = format!(r#"{{{},"same-head-000003-same-tail":1}}"#, members.join(","));
            assert_eq!(first(&last).as_deref(), Some("/same-head-000003-same-tail"), "{len}");
        }
    }
}
