//! Comparison of JSON numbers as they are written, whatever mixture of integers, doubles and long texts they come as.
//!
//! Two integers of 64 bits are compared as such. Otherwise the nearest doubles decide, since rounding keeps the order; only
//! where they are equal do the digits of both texts decide, which have to be looked up in the payload. So `1`, `1.0` and
//! `1e0` are one number, and `0.1` and `0.10000000000000000001` are two. This file must not round.

use std::cmp::Ordering;
use std::fmt::{self, Write};
use std::hash::Hasher;

use super::decimals::Decimal;
use crate::tape::{Node, NodeIndex, StaticNode, Tape};

/// Comparing this many bytes of a number's text counts as one step.
const BYTES_PER_STEP: usize = 4;

/// Dividing one digit counts as so many.
const STEPS_PER_DIVIDED_DIGIT: usize = 8;

/// A number of a schema.
#[derive(Clone, Debug)]
pub(super) struct Given {
    /// Its value, if it is written as an integer of 64 bits.
    integer: Option<i128>,
    /// The nearest double; infinite if it is further out than any.
    nearest: f64,
    text: Box<str>,
}

impl Given {
    /// The number with this text, which has to be one of RFC 8259.
    pub(super) fn new(text: &str) -> Self {
        let integer =
            text.parse::<i64>().map(i128::from).or_else(|_| text.parse::<u64>().map(i128::from)).ok();
        Self { integer, nearest: text.parse().unwrap_or(f64::NAN), text: text.into() }
    }

    fn decimal(&self) -> Decimal<'_> {
        Decimal::of(&self.text)
    }

    /// The largest integer that is not above it; far ones are cut off.
    pub(super) fn floor(&self) -> i128 {
        self.decimal().floor()
    }

    /// The smallest integer that is not below it; far ones are cut off.
    pub(super) fn ceiling(&self) -> i128 {
        self.decimal().ceiling()
    }

    /// Where the number at a node stands to it on the number line; `None` if the node is no number.
    pub(super) fn compared(&self, node: &Node<'_>, digits: &mut Digits<'_>) -> Option<Ordering> {
        let (integer, nearest) = taken(node)?;
        if let (Some(left), Some(right)) = (integer, self.integer) {
            return Some(left.cmp(&right));
        }
        match nearest.partial_cmp(&self.nearest)? {
            Ordering::Equal => {
                let mut text = Text::default();
                digits.pay(self.text.len() / BYTES_PER_STEP);
                Some(Decimal::of(digits.text(node, &mut text)?).compare(&self.decimal()))
            }
            decided => Some(decided),
        }
    }
}

impl fmt::Display for Given {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

/// Whether two nodes are the same number.
pub(super) fn same(left: &Node<'_>, right: &Node<'_>, digits: &mut Digits<'_>) -> bool {
    let (Some((left_integer, left_nearest)), Some((right_integer, right_nearest))) =
        (taken(left), taken(right))
    else {
        return false;
    };
    if let (Some(left), Some(right)) = (left_integer, right_integer) {
        return left == right;
    }
    if left_nearest.partial_cmp(&right_nearest) != Some(Ordering::Equal) {
        return false;
    }
    let mut texts = (Text::default(), Text::default());
    let (Some(left), Some(right)) = (digits.text(left, &mut texts.0), digits.text(right, &mut texts.1))
    else {
        return false;
    };
    Decimal::of(left).compare(&Decimal::of(right)) == Ordering::Equal
}

/// Feeds what equal numbers share.
pub(super) fn hash_into(node: &Node<'_>, digits: &mut Digits<'_>, hasher: &mut impl Hasher) {
    let mut text = Text::default();
    if let Some(text) = digits.text(node, &mut text) {
        Decimal::of(text).hash_into(hasher);
    }
}

/// The value of a number's node if it is an integer of 64 bits, and the nearest double.
fn taken(node: &Node<'_>) -> Option<(Option<i128>, f64)> {
    match *node {
        Node::Static(StaticNode::I64(value)) => Some((Some(value.into()), value as f64)),
        Node::Static(StaticNode::U64(value)) => Some((Some(value.into()), value as f64)),
        Node::Static(StaticNode::F64(value)) => Some((None, value)),
        _ => None,
    }
}

/// The texts of a document's numbers.
pub(super) struct Digits<'d> {
    pub(super) tape: &'d Tape<'d>,
    /// Where they stand; found when somebody asks for the first one.
    pub(super) places: &'d mut Places,
    /// What is left of the walk's steps; none are left if a text could not be had for that reason.
    pub(super) steps: &'d mut u64,
}

/// Where the numbers of one document stand: node and place in the payload, in their order.
#[derive(Debug, Default)]
pub(super) struct Places {
    list: Vec<(NodeIndex, u32, u32)>,
    known: bool,
}

impl Places {
    /// Another document comes.
    #[inline]
    pub(super) fn forget(&mut self) {
        self.known = false;
    }
}

impl<'d> Digits<'d> {
    /// The text of the number at a node, which is paid for; integers of 64 bits are written to `text`.
    fn text<'t>(&mut self, node: &Node<'_>, text: &'t mut Text) -> Option<&'t str>
    where
        'd: 't,
    {
        match *node {
            Node::Static(StaticNode::I64(value)) => write!(text, "{value}").ok()?,
            Node::Static(StaticNode::U64(value)) => write!(text, "{value}").ok()?,
            _ => {
                let found = self.find(node)?;
                self.pay(1 + found.len() / BYTES_PER_STEP);
                return (*self.steps != 0).then_some(found);
            }
        }
        text.as_str()
    }

    /// Whether a number has no fraction, by its digits.
    pub(super) fn is_integer(&mut self, node: &Node<'_>) -> bool {
        let mut text = Text::default();
        self.text(node, &mut text).is_some_and(|text| Decimal::of(text).is_integer())
    }

    /// Pays for a work that is no reading of a text; without steps left the walk ends as stopped.
    fn pay(&mut self, steps: usize) {
        *self.steps = self.steps.saturating_sub(steps as u64);
    }

    fn find(&mut self, node: &Node<'_>) -> Option<&'d str> {
        if !self.places.known {
            self.tape.find_numbers(&mut self.places.list);
            self.places.known = true;
        }
        let offset = std::ptr::from_ref(node).addr().wrapping_sub(self.tape.nodes().as_ptr().addr());
        let node = NodeIndex((offset / size_of::<Node<'_>>()) as u32);
        let place = self.places.list.binary_search_by_key(&node, |(node, ..)| *node).ok()?;
        let (_, start, len) = *self.places.list.get(place)?;
        self.tape.text_at(start as usize, len as usize)
    }
}

/// The value of a `multipleOf`.
#[derive(Clone, Debug)]
pub(super) struct Divisor {
    text: Box<str>,
    /// Its digits, without zeros at the end …
    digits: u128,
    /// … and the power of ten of the last one.
    exponent: i128,
    /// Its value, if it is an integer of 64 bits.
    integer: Option<u64>,
}

impl Divisor {
    /// `None` unless the number is above zero and has at most 38 digits.
    pub(super) fn new(text: &str) -> Option<Self> {
        let decimal = Decimal::of(text);
        let (digits, exponent) = decimal.parts().filter(|_| !decimal.is_zero() && !decimal.is_negative())?;
        let power = u32::try_from(exponent).ok().and_then(|exponent| 10_u64.checked_pow(exponent));
        let integer = power.and_then(|power| u64::try_from(digits).ok()?.checked_mul(power));
        Some(Self { text: text.into(), digits, exponent, integer })
    }

    /// Whether the number at a node is a whole multiple. The decimal digits decide, so 0.0075 is a multiple of 0.0001.
    pub(super) fn divides(&self, node: &Node<'_>, digits: &mut Digits<'_>) -> bool {
        if let (Some((Some(number), _)), Some(divisor)) = (taken(node), self.integer) {
            return number.checked_rem(divisor.into()) == Some(0);
        }
        let mut text = Text::default();
        let Some(text) = digits.text(node, &mut text) else { return false };
        digits.pay(text.len() * STEPS_PER_DIVIDED_DIGIT);
        *digits.steps != 0 && Decimal::of(text).is_multiple_of(self.digits, self.exponent)
    }
}

impl fmt::Display for Divisor {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

/// Text on the stack; an integer of 64 bits has at most 20 characters.
#[derive(Default)]
struct Text {
    bytes: [u8; 24],
    len: usize,
}

impl Text {
    fn as_str(&self) -> Option<&str> {
        std::str::from_utf8(self.bytes.get(..self.len)?).ok()
    }
}

impl Write for Text {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        let end = self.len + text.len();
        self.bytes.get_mut(self.len..end).ok_or(fmt::Error)?.copy_from_slice(text.as_bytes());
        self.len = end;
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tape::Parser;

    /// Runs something on the number `text` as it comes from a document.
    fn on<R>(text: &str, then: impl FnOnce(&Node<'_>, &mut Digits<'_>) -> R) -> R {
        Parser::new(8).parse(text.as_bytes(), |tape| {
            let tape = tape.unwrap();
            let digits = &mut Digits { tape: &tape, places: &mut Places::default(), steps: &mut 1_000_000 };
            then(&tape.nodes()[0], digits)
        })
    }

    #[test]
    fn comparison_is_exact_across_forms() {
        let ascending = [
            "-1e400",
            "-1e300",
            "-9223372036854775809",
            "-9223372036854775808",
            "-1.5",
            "-1",
            "-0.5",
            "0",
            "1e-400",
            "1e-300",
            "0.1",
            "0.1000000000000000000000001",
            "0.5",
            "1",
            "1.000000000000000000000001",
            "1.5",
            "9007199254740992",
            "9007199254740992.5",
            "9007199254740993",
            "18446744073709551614",
            "18446744073709551615",
            "18446744073709551616",
            "18446744073709551617",
            "1e20",
            "100000000000000000001",
            "1e300",
            "1e400",
            "2e400",
        ];
        for (i, left) in ascending.iter().enumerate() {
            for (j, right) in ascending.iter().enumerate() {
                let found = on(left, |node, digits| Given::new(right).compared(node, digits));
                assert_eq!(found, Some(i.cmp(&j)), "{left} {right}");
            }
        }
        for (left, right) in [
            ("1", "1.0"),
            ("1e2", "100"),
            ("0", "-0.0"),
            ("18446744073709551616", "1.8446744073709551616e19"),
            ("1e400", "10e399"),
            ("9007199254740993", "9007199254740993.0"),
        ] {
            let found = on(left, |node, digits| Given::new(right).compared(node, digits));
            assert_eq!(found, Some(Ordering::Equal), "{left} {right}");
        }
    }

    #[test]
    fn multiples_are_decimal() {
        for (value, divisor, multiple) in [
            ("10", "2", true),
            ("7", "2", false),
            ("0", "0.01", true),
            ("4.5", "1.5", true),
            ("35", "1.5", false),
            ("0.0075", "0.0001", true),
            ("0.00751", "0.0001", false),
            ("0.0075000000000000000000001", "0.0001", false),
            ("1e308", "0.5", true),
            ("1e308", "0.123456789", false),
            ("12391239123", "1e-8", true),
            ("0.1", "0.3", false),
            ("-0.9", "0.3", true),
            ("1e-300", "1e300", false),
            ("7e300", "7", true),
            ("1e300", "7", false),
            ("1e300", "16777216", true),
            ("1e300", "9007199254740993", false),
            ("1e300", "3e-300", false),
            ("3e300", "3e-300", true),
            ("1e300", "7.5e37", false),
            ("1e300", "5e37", true),
            ("1e30", "10", true),
            ("1e30", "7", false),
            ("3e30", "1e10", true),
            ("18446744073709551618", "2", true),
            ("18446744073709551617", "2", false),
            ("6e400", "3", true),
            ("7e999999999", "3", false),
            // The modulus is so large that a product of two remainders overflows.
            ("1e300", "18446744073709551615", false),
            ("18446744073709551615", "18446744073709551615", true),
            ("340282366920938463463374607431768211456", "18446744073709551616", true),
            ("340282366920938463463374607431768211457", "18446744073709551616", false),
        ] {
            let divisor = Divisor::new(divisor).unwrap();
            let divides = on(value, |node, digits| divisor.divides(node, digits));
            assert_eq!(divides, multiple, "{value} {divisor}");
        }
        for text in ["0", "-1", "0e5", "123456789012345678901234567890123456789012"] {
            assert!(Divisor::new(text).is_none(), "{text}");
        }
    }
}
