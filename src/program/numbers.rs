//! Exact comparison of JSON numbers, whatever mixture of integers and doubles they come as.
//!
//! An integral double is brought to the same form as an integer, so that `1`, `1.0` and `1e0` are one number. This
//! file must not round: where a comparison of doubles would, it compares integers or decimal digits instead.

use std::cmp::Ordering;
use std::fmt::{self, Write};
use std::hash::{Hash, Hasher};

use crate::tape::{Node, StaticNode};

/// A number in normal form: `Float` is never integral below 2^126.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Number {
    Integer(i128),
    Float(f64),
}

const INTEGER_DOUBLE_MAX: f64 = 8.5e37;

impl Number {
    #[inline]
    pub(super) fn of_node(node: &Node<'_>) -> Option<Self> {
        match *node {
            Node::Static(StaticNode::I64(value)) => Some(Self::Integer(value.into())),
            Node::Static(StaticNode::U64(value)) => Some(Self::Integer(value.into())),
            Node::Static(StaticNode::F64(value)) => Some(Self::of_double(value)),
            _ => None,
        }
    }

    pub(super) fn of_literal(value: &serde_json::Number) -> Self {
        if let Some(value) = value.as_i64() {
            Self::Integer(value.into())
        } else if let Some(value) = value.as_u64() {
            Self::Integer(value.into())
        } else {
            Self::of_double(value.as_f64().unwrap_or(f64::NAN))
        }
    }

    fn of_double(value: f64) -> Self {
        if value.fract() == 0.0 && value.abs() < INTEGER_DOUBLE_MAX {
            Self::Integer(value as i128)
        } else {
            Self::Float(value)
        }
    }

    /// The largest integer that is not above it; far ones are cut off.
    pub(super) fn floor(self) -> i128 {
        match self {
            Self::Integer(value) => value,
            Self::Float(value) => value.floor() as i128,
        }
    }

    /// The smallest integer that is not below it; far ones are cut off.
    pub(super) fn ceiling(self) -> i128 {
        match self {
            Self::Integer(value) => value,
            Self::Float(value) => value.ceil() as i128,
        }
    }

    /// Where `self` stands to `other` on the number line.
    pub(super) fn compare(self, other: Self) -> Ordering {
        match (self, other) {
            (Self::Integer(left), Self::Integer(right)) => left.cmp(&right),
            (Self::Float(left), Self::Float(right)) => left.partial_cmp(&right).unwrap_or(Ordering::Equal),
            (Self::Integer(left), Self::Float(right)) => compare_mixed(left, right),
            (Self::Float(left), Self::Integer(right)) => compare_mixed(right, left).reverse(),
        }
    }

    pub(super) fn hash_into(self, hasher: &mut impl Hasher) {
        match self {
            Self::Integer(value) => value.hash(hasher),
            Self::Float(value) => value.to_bits().hash(hasher),
        }
    }
}

/// Compares an integer with a double that is fractional or beyond every integer we hold.
fn compare_mixed(integer: i128, float: f64) -> Ordering {
    if float.abs() >= INTEGER_DOUBLE_MAX {
        return if float > 0.0 { Ordering::Less } else { Ordering::Greater };
    }
    if integer <= float.floor() as i128 { Ordering::Less } else { Ordering::Greater }
}

impl fmt::Display for Number {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Integer(value) => value.fmt(f),
            Self::Float(value) => value.fmt(f),
        }
    }
}

/// A positive decimal `digits × 10^exponent`, without trailing zeros.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Decimal {
    digits: u128,
    exponent: i32,
}

/// The value of a `multipleOf`.
#[derive(Clone, Copy, Debug)]
pub(super) struct Divisor {
    number: Number,
    decimal: Decimal,
}

impl Divisor {
    /// `None` unless `number` is above zero.
    pub(super) fn new(number: Number) -> Option<Self> {
        let decimal = decimal_of(number)?;
        (number.compare(Number::Integer(0)) == Ordering::Greater).then_some(Self { number, decimal })
    }

    /// Whether `number` is a whole multiple. The decimal digits decide, so 0.0075 is a multiple of 0.0001.
    pub(super) fn divides(&self, number: Number) -> bool {
        if let (Number::Integer(number), Number::Integer(divisor)) = (number, self.number)
            && is_exact(number)
            && is_exact(divisor)
        {
            return number.checked_rem(divisor) == Some(0);
        }
        let Some(dividend) = decimal_of(number) else { return false };
        if dividend.digits == 0 {
            return true;
        }
        let divisor = self.decimal;
        let shift = dividend.exponent - divisor.exponent;
        if shift < 0 {
            // The digits have no trailing zeros, so a power of ten can divide them only together with the divisor.
            let Some(scale) = 10_u128.checked_pow(shift.unsigned_abs()) else { return false };
            return divisor.digits.checked_mul(scale).is_some_and(|whole| dividend.digits % whole == 0);
        }
        remainder_of_shifted(dividend.digits, shift.unsigned_abs(), divisor.digits) == Some(0)
    }
}

impl fmt::Display for Divisor {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.number.fmt(f)
    }
}

/// `digits × 10^shift mod modulus`, by squaring: a far exponent must not cost a step per digit.
fn remainder_of_shifted(digits: u128, mut shift: u32, modulus: u128) -> Option<u128> {
    let mut remainder = digits.checked_rem(modulus)?;
    let mut power = 10_u128.checked_rem(modulus)?;
    while shift != 0 && remainder != 0 {
        if shift & 1 == 1 {
            remainder = multiply(remainder, power, modulus)?;
        }
        power = multiply(power, power, modulus)?;
        shift >>= 1;
    }
    Some(remainder)
}

/// `left × right mod modulus` for factors below a modulus of at most 2^127, without overflow.
fn multiply(left: u128, mut right: u128, modulus: u128) -> Option<u128> {
    if let Some(product) = left.checked_mul(right) {
        return product.checked_rem(modulus);
    }
    let (mut sum, mut addend) = (0_u128, left);
    while right != 0 {
        if right & 1 == 1 {
            sum = sum.checked_add(addend)?.checked_rem(modulus)?;
        }
        addend = addend.checked_add(addend)?.checked_rem(modulus)?;
        right >>= 1;
    }
    Some(sum)
}

/// Whether an integer has its text's digits. Beyond 64 bits it came as a double, whose last bits are not the text's:
/// `1e30` is a multiple of ten, the nearest double is not.
fn is_exact(integer: i128) -> bool {
    u64::try_from(integer.unsigned_abs()).is_ok()
}

/// The shortest decimal that stands for `number`, without its sign.
fn decimal_of(number: Number) -> Option<Decimal> {
    let (mut digits, mut exponent) = match number {
        Number::Integer(value) if is_exact(value) => (value.unsigned_abs(), 0),
        Number::Integer(value) => shortest_decimal((value as f64).abs())?,
        Number::Float(value) if value.is_finite() => shortest_decimal(value.abs())?,
        Number::Float(_) => return None,
    };
    while digits != 0 && digits % 10 == 0 {
        digits /= 10;
        exponent += 1;
    }
    Some(Decimal { digits, exponent })
}

/// Text on the stack; a double in scientific form has at most 25 characters.
#[derive(Default)]
struct Text {
    bytes: [u8; 32],
    len: usize,
}

impl Write for Text {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        let end = self.len + text.len();
        self.bytes.get_mut(self.len..end).ok_or(fmt::Error)?.copy_from_slice(text.as_bytes());
        self.len = end;
        Ok(())
    }
}

fn shortest_decimal(value: f64) -> Option<(u128, i32)> {
    let mut text = Text::default();
    write!(text, "{value:e}").ok()?;
    let text = std::str::from_utf8(text.bytes.get(..text.len)?).ok()?;
    let (mantissa, exponent) = text.split_once('e')?;
    let fraction = mantissa.split_once('.').map_or(0, |(_, fraction)| fraction.len() as i32);
    let digits =
        mantissa.bytes().filter(u8::is_ascii_digit).fold(0, |all, digit| all * 10 + u128::from(digit - b'0'));
    Some((digits, exponent.parse::<i32>().ok()? - fraction))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn number(text: &str) -> Number {
        Number::of_literal(&serde_json::from_str(text).unwrap())
    }

    #[test]
    fn comparison_is_exact_across_forms() {
        let ascending = [
            "-1e300",
            "-9223372036854775808",
            "-1.5",
            "-1",
            "-0.5",
            "0",
            "1e-300",
            "0.5",
            "1",
            "1.5",
            "9007199254740992",
            "9007199254740993",
            "18446744073709551614",
            "18446744073709551615",
            "1e20",
            "1e300",
        ];
        for (i, left) in ascending.iter().enumerate() {
            for (j, right) in ascending.iter().enumerate() {
                assert_eq!(number(left).compare(number(right)), i.cmp(&j), "{left} {right}");
            }
        }
        for (left, right) in [
            ("1", "1.0"),
            ("1e2", "100"),
            ("0", "-0.0"),
            ("18446744073709551616", "1.8446744073709551616e19"),
        ] {
            assert_eq!(number(left).compare(number(right)), Ordering::Equal);
            assert_eq!(number(left), number(right));
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
            // The modulus is so large that a product of two remainders overflows.
            ("1e300", "18446744073709551615", false),
            ("18446744073709551615", "18446744073709551615", true),
        ] {
            let divides = Divisor::new(number(divisor)).unwrap().divides(number(value));
            assert_eq!(divides, multiple, "{value} {divisor}");
        }
        assert!(Divisor::new(number("0")).is_none());
        assert!(Divisor::new(number("-1")).is_none());
    }
}
