//! The checks that look at one node and nothing below it, and the reason each gives when it fails.

use std::cmp::Ordering;

use super::BYTES_PER_STEP;
use crate::program::duplicates::nested;
use crate::program::literals;
use crate::program::numbers::Digits;
use crate::program::ops::{Kind, Tables};
use crate::program::strings::{Format, code_points};
use crate::tape::{Node, StaticNode};
use crate::verdict::Reason;

/// Whether a node passes a check that looks at nothing else; a keyword for another type always does.
#[inline]
pub(super) fn holds(tables: &Tables, kind: Kind, node: &Node<'_>) -> bool {
    match *node {
        Node::String(text) => text_holds(tables, &kind, text),
        Node::Object { len, .. } => object_holds(kind, len),
        Node::Array { len, .. } => array_holds(kind, len),
        Node::Static(value) => static_holds(kind, value),
    }
}

/// Whether a string passes.
#[inline(never)]
#[expect(
    clippy::trivially_copy_pass_by_ref,
    reason = "it is in memory; to put its parts together takes longer"
)]
pub(super) fn text_holds(tables: &Tables, kind: &Kind, text: &str) -> bool {
    match *kind {
        Kind::Never => false,
        Kind::ConstString(number) => tables.strings.get(number as usize).is_some_and(|known| known.is(text)),
        Kind::EnumStrings(number) | Kind::EnumStringsOrNull(number) => {
            tables.string_sets.get(number as usize).is_some_and(|set| set.contains(text))
        }
        Kind::Pattern(number) => matches(tables, number, text),
        Kind::Format(format) => format.holds(text),
        // A code point has one to four bytes, so most lengths are decided without counting.
        Kind::MinLength(min) => {
            let min = min as usize;
            text.len() >= min && (text.len() / 4 >= min || code_points(text) >= min)
        }
        Kind::MaxLength(max) => {
            let max = max as usize;
            text.len() <= max || (text.len() / 4 <= max && code_points(text) <= max)
        }
        _ => true,
    }
}

/// PERF: out of line, so that the checks beside it need not save registers.
#[inline(never)]
fn matches(tables: &Tables, pattern: u32, text: &str) -> bool {
    tables.patterns.get(pattern as usize).is_none_or(|pattern| pattern.is_match(text))
}

/// Whether an array with `len` items passes.
fn array_holds(kind: Kind, len: usize) -> bool {
    match kind {
        Kind::Never | Kind::ConstString(_) | Kind::EnumStrings(_) | Kind::EnumStringsOrNull(_) => false,
        Kind::MinItems(min) => len >= min as usize,
        Kind::MaxItems(max) => len <= max as usize,
        _ => true,
    }
}

/// Whether an object with `len` members passes.
fn object_holds(kind: Kind, len: usize) -> bool {
    match kind {
        Kind::Never | Kind::ConstString(_) | Kind::EnumStrings(_) | Kind::EnumStringsOrNull(_) => false,
        Kind::MinProperties(min) => len >= min as usize,
        Kind::MaxProperties(max) => len <= max as usize,
        _ => true,
    }
}

/// Whether a number, boolean or null passes; what asks for the size of a number is left to [`number_holds`].
fn static_holds(kind: Kind, value: StaticNode) -> bool {
    match kind {
        Kind::Never | Kind::ConstString(_) | Kind::EnumStrings(_) => false,
        Kind::EnumStringsOrNull(_) => value == StaticNode::Null,
        _ => true,
    }
}

/// Whether a node is no number or passes a check of its size.
#[inline(never)]
pub(super) fn number_holds(tables: &Tables, kind: Kind, node: &Node<'_>, digits: &mut Digits<'_>) -> bool {
    let mut against = |bound: u32| tables.numbers.get(bound as usize)?.compared(node, digits);
    match kind {
        Kind::Minimum(bound) => against(bound) != Some(Ordering::Less),
        Kind::Maximum(bound) => against(bound) != Some(Ordering::Greater),
        Kind::ExclusiveMinimum(bound) => matches!(against(bound), Some(Ordering::Greater) | None),
        Kind::ExclusiveMaximum(bound) => matches!(against(bound), Some(Ordering::Less) | None),
        Kind::MultipleOf(divisor) => {
            !is_number(node)
                || tables.divisors.get(divisor as usize).is_none_or(|divisor| divisor.divides(node, digits))
        }
        _ => true,
    }
}

fn is_number(node: &Node<'_>) -> bool {
    matches!(node, Node::Static(StaticNode::I64(_) | StaticNode::U64(_) | StaticNode::F64(_)))
}

/// How many steps it counts for to check a string.
#[inline]
pub(super) fn price(kind: Kind, text: &str) -> usize {
    match kind {
        // Whoever reads an expression builds a tree of it.
        Kind::Format(Format::Regex) => text.len() * 8,
        Kind::Any | Kind::ConstString(_) | Kind::EnumStrings(_) | Kind::EnumStringsOrNull(_) => 1,
        _ => text.len() / BYTES_PER_STEP,
    }
}

/// How many steps it counts for to compare a node with literals: each may be as large as the node itself.
pub(super) fn literal_price(tables: &Tables, kind: Kind, node: &Node<'_>) -> usize {
    let count = match kind {
        Kind::Enum(number) => tables.enums.get(number as usize).map_or(1, |values| values.len()),
        _ => 1,
    };
    count * (1 + nested(node))
}

/// Whether a node equals a literal, or one of several.
pub(super) fn is_literal(tables: &Tables, kind: Kind, at: usize, digits: &mut Digits<'_>) -> bool {
    match kind {
        Kind::Const(number) => {
            tables.literals.get(number as usize).is_some_and(|value| literals::equals(at, value, digits))
        }
        Kind::Enum(number) => {
            let values = tables.enums.get(number as usize).map(|values| &**values).unwrap_or_default();
            values.iter().any(|value| literals::equals(at, value, digits))
        }
        _ => true,
    }
}

/// The reason for a reject when an op of this kind fails.
pub(super) fn reason(kind: Kind) -> Reason {
    match kind {
        Kind::Const(_) | Kind::ConstString(_) => Reason::BadConst,
        Kind::Enum(_) | Kind::EnumStrings(_) | Kind::EnumStringsOrNull(_) => Reason::BadEnum,
        Kind::Minimum(_) | Kind::ExclusiveMinimum(_) => Reason::TooSmall,
        Kind::Maximum(_) | Kind::ExclusiveMaximum(_) => Reason::TooLarge,
        Kind::MaxLength(_) => Reason::TooLong,
        Kind::Pattern(_) => Reason::BadPattern,
        Kind::Format(_) => Reason::BadFormat,
        Kind::MinLength(1) | Kind::MinItems(1) | Kind::MinProperties(1) => Reason::Empty,
        Kind::MinLength(_) => Reason::TooShort,
        Kind::MinItems(_) | Kind::MinProperties(_) => Reason::TooFew,
        Kind::MaxItems(_) | Kind::MaxProperties(_) => Reason::TooMany,
        Kind::Any => Reason::WrongType,
        _ => Reason::Schema,
    }
}
