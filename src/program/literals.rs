//! Equality of JSON values: nodes against the schema's literals, and items of an array against each other.
//!
//! Equality is that of JSON Schema: numbers by value, objects without regard to order, strings by code points.
//! Recursion is bounded by the parser's depth limit, and comparing large objects is paid for in steps.

use std::hash::{BuildHasher, Hash, Hasher};

use serde_json::Value;

use super::Memory;
use super::duplicates::behind;
use super::numbers::Number;
use crate::tape::{Node, StaticNode};

/// So many items are compared with each other; more are sorted by hash first.
const FEW: usize = 8;

/// Whether the value at `at` equals `literal`.
pub(super) fn equals(nodes: &[Node<'_>], at: usize, literal: &Value) -> bool {
    let Some(node) = nodes.get(at) else { return false };
    match (node, literal) {
        (Node::Static(StaticNode::Null), Value::Null) => true,
        (Node::Static(StaticNode::Bool(left)), Value::Bool(right)) => left == right,
        (Node::String(left), Value::String(right)) => left == right,
        (Node::Static(_), Value::Number(right)) => {
            Number::of_node(node).is_some_and(|left| left == Number::of_literal(right))
        }
        (Node::Array { len, .. }, Value::Array(items)) => {
            let mut item = at + 1;
            *len == items.len()
                && items.iter().all(|literal| {
                    let here = item;
                    item = behind(nodes, here);
                    equals(nodes, here, literal)
                })
        }
        (Node::Object { len, .. }, Value::Object(members)) => {
            let mut name_at = at + 1;
            *len == members.len()
                && (0..*len).all(|_| {
                    let here = name_at;
                    name_at = behind(nodes, here + 1);
                    let Some(Node::String(name)) = nodes.get(here) else { return false };
                    members.get(*name).is_some_and(|literal| equals(nodes, here + 1, literal))
                })
        }
        _ => false,
    }
}

/// The first item that equals an earlier one: items are sorted by a keyed hash, and equal hashes are compared.
pub(super) fn first_repeated(
    nodes: &[Node<'_>],
    at: usize,
    len: usize,
    scratch: &mut Memory,
    steps: &mut u64,
) -> Option<usize> {
    if len < 2 {
        return None;
    }
    if len <= FEW {
        return first_repeated_of_few(nodes, at, len, steps);
    }
    let base = scratch.hashes.len();
    let mut item = at + 1;
    for _ in 0..len {
        let hash = hash_of(nodes, item, &scratch.random);
        scratch.hashes.push((hash, item as u32));
        item = behind(nodes, item);
    }
    let mut first = None;
    if let Some(hashes) = scratch.hashes.get_mut(base..) {
        hashes.sort_unstable();
        for pair in hashes.windows(2) {
            let &[(left_hash, left), (right_hash, right)] = pair else { continue };
            if left_hash == right_hash && same(nodes, left as usize, right as usize, steps) {
                first = first.map_or(Some(right as usize), |first: usize| Some(first.min(right as usize)));
            }
        }
    }
    scratch.hashes.truncate(base);
    first
}

/// As [`first_repeated`], by comparing each item with all before it.
fn first_repeated_of_few(nodes: &[Node<'_>], at: usize, len: usize, steps: &mut u64) -> Option<usize> {
    let mut item = at + 1;
    for number in 0..len {
        let mut earlier = at + 1;
        for _ in 0..number {
            if same(nodes, earlier, item, steps) {
                return Some(item);
            }
            earlier = behind(nodes, earlier);
        }
        item = behind(nodes, item);
    }
    None
}

/// A hash that is equal for equal values; the members of an object are summed, so their order does not count.
fn hash_of(nodes: &[Node<'_>], at: usize, random: &impl BuildHasher) -> u64 {
    let mut hasher = random.build_hasher();
    match nodes.get(at) {
        Some(Node::String(text)) => (1_u8, text).hash(&mut hasher),
        Some(Node::Static(StaticNode::Null)) | None => 2_u8.hash(&mut hasher),
        Some(Node::Static(StaticNode::Bool(value))) => (3_u8, value).hash(&mut hasher),
        Some(node @ Node::Static(_)) => {
            4_u8.hash(&mut hasher);
            if let Some(number) = Number::of_node(node) {
                number.hash_into(&mut hasher);
            }
        }
        Some(Node::Array { len, .. }) => {
            5_u8.hash(&mut hasher);
            let mut item = at + 1;
            for _ in 0..*len {
                hash_of(nodes, item, random).hash(&mut hasher);
                item = behind(nodes, item);
            }
        }
        Some(Node::Object { len, .. }) => {
            6_u8.hash(&mut hasher);
            let (mut sum, mut name_at) = (0_u64, at + 1);
            for _ in 0..*len {
                let member = (hash_of(nodes, name_at, random), hash_of(nodes, name_at + 1, random));
                sum = sum.wrapping_add(random.hash_one(member));
                name_at = behind(nodes, name_at + 1);
            }
            sum.hash(&mut hasher);
        }
    }
    hasher.finish()
}

/// Whether two values on the tape are equal.
fn same(nodes: &[Node<'_>], left: usize, right: usize, steps: &mut u64) -> bool {
    let (Some(left_node), Some(right_node)) = (nodes.get(left), nodes.get(right)) else { return false };
    match (left_node, right_node) {
        (Node::Array { len, .. }, Node::Array { len: other, .. }) => {
            let (mut left, mut right) = (left + 1, right + 1);
            len == other
                && (0..*len).all(|_| {
                    let equal = same(nodes, left, right, steps);
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
                    member(nodes, right, *len, here, steps)
                        .is_some_and(|there| same(nodes, here + 1, there, steps))
                })
        }
        (Node::Static(_), Node::Static(_)) => match (Number::of_node(left_node), Number::of_node(right_node))
        {
            (Some(left), Some(right)) => left == right,
            (None, None) => left_node == right_node,
            _ => false,
        },
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
