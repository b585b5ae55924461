//! Equality of JSON values: nodes against the schema's literals, and items of an array against each other.
//!
//! Equality is that of JSON Schema: numbers by value, objects without regard to order, strings by code points.
//! Recursion is bounded by the parser's depth limit, and comparing large objects is paid for in steps.

use std::cmp::Ordering;
use std::collections::HashMap;
use std::hash::{BuildHasher, Hash, Hasher};

use super::duplicates::behind;
use super::numbers::{self, Digits, Given};
use crate::tape::{Node, StaticNode};

/// So many items are compared with each other; more are sorted by hash first.
const FEW: usize = 8;

/// A value of a schema that documents are compared with; its numbers are those that are written there.
#[derive(Debug)]
pub(super) enum Literal {
    Null,
    Bool(bool),
    Number(Given),
    Text(Box<str>),
    Array(Box<[Self]>),
    Object(HashMap<Box<str>, Self>),
}

/// Whether the value at `at` equals `literal`.
pub(super) fn equals(at: usize, literal: &Literal, digits: &mut Digits<'_>) -> bool {
    let nodes = digits.tape.nodes();
    let Some(node) = nodes.get(at) else { return false };
    match (node, literal) {
        (Node::Static(StaticNode::Null), Literal::Null) => true,
        (Node::Static(StaticNode::Bool(left)), Literal::Bool(right)) => left == right,
        (Node::String(left), Literal::Text(right)) => **left == **right,
        (Node::Static(_), Literal::Number(right)) => right.compared(node, digits) == Some(Ordering::Equal),
        (Node::Array { len, .. }, Literal::Array(items)) => {
            let mut item = at + 1;
            *len == items.len()
                && items.iter().all(|literal| {
                    let here = item;
                    item = behind(nodes, here);
                    equals(here, literal, digits)
                })
        }
        (Node::Object { len, .. }, Literal::Object(members)) => {
            let mut name_at = at + 1;
            *len == members.len()
                && (0..*len).all(|_| {
                    let here = name_at;
                    name_at = behind(nodes, here + 1);
                    let Some(Node::String(name)) = nodes.get(here) else { return false };
                    members.get(*name).is_some_and(|literal| equals(here + 1, literal, digits))
                })
        }
        _ => false,
    }
}

/// The first item that equals an earlier one: items are sorted by a keyed hash, and equal hashes are compared.
pub(super) fn first_repeated(
    (at, len): (usize, usize),
    all_hashes: &mut Vec<(u64, u32)>,
    random: &impl BuildHasher,
    digits: &mut Digits<'_>,
) -> Option<usize> {
    if len < 2 {
        return None;
    }
    if len <= FEW {
        return first_repeated_of_few(at, len, digits);
    }
    let base = all_hashes.len();
    let mut item = at + 1;
    for _ in 0..len {
        let hash = hash_of(item, random, digits);
        all_hashes.push((hash, item as u32));
        item = behind(digits.tape.nodes(), item);
    }
    let mut first = None;
    if let Some(hashes) = all_hashes.get_mut(base..) {
        hashes.sort_unstable();
        for pair in hashes.windows(2) {
            let &[(left_hash, left), (right_hash, right)] = pair else { continue };
            if left_hash == right_hash && same(left as usize, right as usize, digits) {
                first = first.map_or(Some(right as usize), |first: usize| Some(first.min(right as usize)));
            }
        }
    }
    all_hashes.truncate(base);
    first
}

/// As [`first_repeated`], by comparing each item with all before it.
fn first_repeated_of_few(at: usize, len: usize, digits: &mut Digits<'_>) -> Option<usize> {
    let nodes = digits.tape.nodes();
    let mut item = at + 1;
    for number in 0..len {
        let mut earlier = at + 1;
        for _ in 0..number {
            if same(earlier, item, digits) {
                return Some(item);
            }
            earlier = behind(nodes, earlier);
        }
        item = behind(nodes, item);
    }
    None
}

/// A hash that is equal for equal values; the members of an object are summed, so their order does not count.
fn hash_of(at: usize, random: &impl BuildHasher, digits: &mut Digits<'_>) -> u64 {
    let nodes = digits.tape.nodes();
    let mut hasher = random.build_hasher();
    match nodes.get(at) {
        Some(Node::String(text)) => (1_u8, text).hash(&mut hasher),
        Some(Node::Static(StaticNode::Null)) | None => 2_u8.hash(&mut hasher),
        Some(Node::Static(StaticNode::Bool(value))) => (3_u8, value).hash(&mut hasher),
        Some(node @ Node::Static(_)) => {
            4_u8.hash(&mut hasher);
            numbers::hash_into(node, digits, &mut hasher);
        }
        Some(Node::Array { len, .. }) => {
            5_u8.hash(&mut hasher);
            let mut item = at + 1;
            for _ in 0..*len {
                hash_of(item, random, digits).hash(&mut hasher);
                item = behind(nodes, item);
            }
        }
        Some(Node::Object { len, .. }) => {
            6_u8.hash(&mut hasher);
            let (mut sum, mut name_at) = (0_u64, at + 1);
            for _ in 0..*len {
                let member = (hash_of(name_at, random, digits), hash_of(name_at + 1, random, digits));
                sum = sum.wrapping_add(random.hash_one(member));
                name_at = behind(nodes, name_at + 1);
            }
            sum.hash(&mut hasher);
        }
    }
    hasher.finish()
}

/// Whether two values on the tape are equal.
fn same(left: usize, right: usize, digits: &mut Digits<'_>) -> bool {
    let nodes = digits.tape.nodes();
    let (Some(left_node), Some(right_node)) = (nodes.get(left), nodes.get(right)) else { return false };
    match (left_node, right_node) {
        (Node::Array { len, .. }, Node::Array { len: other, .. }) => {
            let (mut left, mut right) = (left + 1, right + 1);
            len == other
                && (0..*len).all(|_| {
                    let equal = same(left, right, digits);
                    (left, right) = (behind(nodes, left), behind(nodes, right));
                    equal
                })
        }
        (Node::Object { len, .. }, Node::Object { len: other, .. }) => {
            let mut name_at = left + 1;
            len == other
                && (0..*len).all(|_| {
                    let here = name_at;
                    name_at = behind(nodes, here + 1);
                    member(nodes, right, *len, here, digits.steps)
                        .is_some_and(|there| same(here + 1, there, digits))
                })
        }
        (
            Node::Static(StaticNode::I64(_) | StaticNode::U64(_) | StaticNode::F64(_)),
            Node::Static(StaticNode::I64(_) | StaticNode::U64(_) | StaticNode::F64(_)),
        ) => numbers::same(left_node, right_node, digits),
        _ => left_node == right_node,
    }
}

/// The value in the object at `object` whose name equals the one at `name_at`.
fn member(nodes: &[Node<'_>], object: usize, len: usize, name_at: usize, steps: &mut u64) -> Option<usize> {
    let mut at = object + 1;
    for _ in 0..len {
        // Without steps left the walk ends as stopped, so the answer does not matter.
        *steps = steps.saturating_sub(1);
        if *steps == 0 {
            return None;
        }
        if nodes.get(at) == nodes.get(name_at) {
            return Some(at + 1);
        }
        at = behind(nodes, at + 1);
    }
    None
}
