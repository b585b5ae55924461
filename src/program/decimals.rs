//! Numbers by their digits: order, equality and divisibility of number texts of any length.
//!
//! Only numbers that a double cannot tell apart come here. Nothing is computed with the value itself, so an exponent of
//! any size costs no more than its own digits. This file must not round and must not allocate.

use std::cmp::Ordering;
use std::hash::{Hash, Hasher};

/// LIMIT: exponents beyond this are cut to it; texts that need more digits than that cannot exist.
const EXPONENT_MAX: i128 = i128::MAX / 4;

/// A number text, taken apart: `± 0.d₁d₂…dₙ × 10^point`, with neither d₁ nor dₙ zero. Zero has no digits.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Decimal<'t> {
    negative: bool,
    /// The digits that stand before the text's point …
    whole: &'t [u8],
    /// … and behind it.
    fraction: &'t [u8],
    point: i128,
}

impl<'t> Decimal<'t> {
    /// Takes a number of RFC 8259 apart.
    pub(crate) fn of(text: &'t str) -> Self {
        let bytes = text.as_bytes();
        let (negative, bytes) = match bytes {
            [b'-', rest @ ..] => (true, rest),
            _ => (false, bytes),
        };
        let mantissa_len = bytes.iter().position(|byte| matches!(byte, b'e' | b'E')).unwrap_or(bytes.len());
        let (mantissa, exponent) = bytes.split_at_checked(mantissa_len).unwrap_or((bytes, &[]));
        let whole_len = mantissa.iter().position(|byte| *byte == b'.').unwrap_or(mantissa.len());
        let (whole, fraction) = mantissa.split_at_checked(whole_len).unwrap_or((mantissa, &[]));
        let fraction = fraction.strip_prefix(b".").unwrap_or(fraction);
        let point = exponent_of(exponent).saturating_add(whole.len() as i128);
        Self { negative, whole, fraction, point }.trimmed()
    }

    /// Without zeros at the ends.
    fn trimmed(mut self) -> Self {
        let zeros = |digits: &[u8]| digits.iter().take_while(|digit| **digit == b'0').count();
        let before = zeros(self.whole);
        let behind = if before == self.whole.len() { zeros(self.fraction) } else { 0 };
        self.whole = self.whole.get(before..).unwrap_or_default();
        self.fraction = self.fraction.get(behind..).unwrap_or_default();
        self.point = self.point.saturating_sub((before + behind) as i128);
        while let [rest @ .., b'0'] = self.fraction {
            self.fraction = rest;
        }
        while self.fraction.is_empty()
            && let [rest @ .., b'0'] = self.whole
        {
            self.whole = rest;
        }
        if self.is_zero() {
            (self.negative, self.point) = (false, 0);
        }
        self
    }

    fn digits(&self) -> impl Iterator<Item = u8> + 't {
        self.whole.iter().chain(self.fraction).copied()
    }

    fn len(&self) -> usize {
        self.whole.len() + self.fraction.len()
    }

    pub(super) fn is_zero(&self) -> bool {
        self.len() == 0
    }

    /// Whether it has no fraction.
    pub(crate) fn is_integer(&self) -> bool {
        self.is_zero() || self.exponent() >= 0
    }

    pub(super) fn is_negative(&self) -> bool {
        self.negative
    }

    /// Where it stands to `other` on the number line.
    pub(super) fn compare(&self, other: &Self) -> Ordering {
        match (self.sign(), other.sign()) {
            (1, 1) => self.compare_size(other),
            (-1, -1) => other.compare_size(self),
            (left, right) => left.cmp(&right),
        }
    }

    /// Where it stands to a whole number.
    pub(crate) fn compare_whole(&self, other: i64) -> Ordering {
        let other = i128::from(other);
        match (self.floor() < other, self.ceiling() > other) {
            (true, _) => Ordering::Less,
            (_, true) => Ordering::Greater,
            _ => Ordering::Equal,
        }
    }

    fn sign(&self) -> i8 {
        match (self.is_zero(), self.negative) {
            (true, _) => 0,
            (false, true) => -1,
            (false, false) => 1,
        }
    }

    /// Compares two numbers that are not zero, without their signs.
    fn compare_size(&self, other: &Self) -> Ordering {
        // The first digits are no zeros, so the one whose point is further to the right is larger.
        self.point.cmp(&other.point).then_with(|| self.digits().cmp(other.digits()))
    }

    /// Feeds what equal numbers share.
    pub(super) fn hash_into(&self, hasher: &mut impl Hasher) {
        (self.negative, self.point).hash(hasher);
        self.digits().for_each(|digit| hasher.write_u8(digit));
    }

    /// The largest integer that is not above it; far ones are cut off.
    pub(super) fn floor(&self) -> i128 {
        let (whole, rest) = self.whole_part();
        if self.negative { whole.saturating_neg().saturating_sub(i128::from(rest)) } else { whole }
    }

    /// The smallest integer that is not below it; far ones are cut off.
    pub(super) fn ceiling(&self) -> i128 {
        let (whole, rest) = self.whole_part();
        if self.negative { whole.saturating_neg() } else { whole.saturating_add(i128::from(rest)) }
    }

    /// Its integer part without the sign, and whether there is a fraction behind it.
    fn whole_part(&self) -> (i128, bool) {
        let rest = self.point < self.len() as i128;
        let digits = usize::try_from(self.point).unwrap_or(if self.point < 0 { 0 } else { usize::MAX });
        // LIMIT: an `i128` has 39 digits.
        let zeros = std::iter::repeat_n(b'0', if self.is_zero() { 0 } else { 40 });
        let digit = |digit: u8| i128::from(digit.wrapping_sub(b'0'));
        let whole = self.digits().chain(zeros).take(digits.min(40));
        (whole.fold(0_i128, |all, next| all.saturating_mul(10).saturating_add(digit(next))), rest)
    }

    /// As a positive integer and a power of ten, if it is not too long for that.
    pub(super) fn parts(&self) -> Option<(u128, i128)> {
        let digits = self.digits().try_fold(0_u128, |all, digit| {
            all.checked_mul(10)?.checked_add(u128::from(digit.wrapping_sub(b'0')))
        })?;
        (digits <= i128::MAX as u128).then(|| (digits, self.exponent()))
    }

    /// The power of ten of its last digit.
    fn exponent(&self) -> i128 {
        self.point.saturating_sub(self.len() as i128)
    }

    /// Whether it is a whole multiple of `digits × 10^exponent`; `digits` has no zero at its end and is not zero.
    pub(super) fn is_multiple_of(&self, digits: u128, exponent: i128) -> bool {
        if self.is_zero() {
            return true;
        }
        // A power of ten that is missing would have to be in the digits, and they end with no zero.
        let Ok(shift) = u128::try_from(self.exponent().saturating_sub(exponent)) else { return false };
        let remainder = self.digits().try_fold(0_u128, |all, digit| {
            let shifted = multiply(all, 10_u128.checked_rem(digits)?, digits)?;
            shifted.checked_add(u128::from(digit.wrapping_sub(b'0')))?.checked_rem(digits)
        });
        remainder.and_then(|remainder| remainder_of_shifted(remainder, shift, digits)) == Some(0)
    }
}

/// The value of `e±digits`, or zero if there is no exponent.
fn exponent_of(text: &[u8]) -> i128 {
    let [_, digits @ ..] = text else { return 0 };
    let sign = if digits.starts_with(b"-") { -1 } else { 1 };
    let digits = digits.strip_prefix(b"-").or_else(|| digits.strip_prefix(b"+")).unwrap_or(digits);
    let cut = |all: i128, digit: &u8| {
        all.saturating_mul(10).saturating_add(i128::from(digit.wrapping_sub(b'0'))).min(EXPONENT_MAX)
    };
    sign * digits.iter().fold(0, cut)
}

/// `digits × 10^shift mod modulus`, by squaring: a far exponent must not cost a step per digit.
fn remainder_of_shifted(digits: u128, mut shift: u128, modulus: u128) -> Option<u128> {
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

#[cfg(test)]
mod tests {
    use super::*;

    /// The slow and plain way: both as integers of the same scale, digit by digit.
    fn plain(left: &str, right: &str) -> Ordering {
        let scaled = |text: &str| {
            let (mantissa, exponent) = text.split_once(['e', 'E']).unwrap_or((text, "0"));
            let (whole, fraction) = mantissa.split_once('.').unwrap_or((mantissa, ""));
            let shift = 400 + exponent.parse::<i64>().unwrap() - fraction.len() as i64;
            let digits = format!("{}{fraction}{}", whole.trim_start_matches('-'), "0".repeat(shift as usize));
            (whole.starts_with('-'), format!("{digits:0>1200}"))
        };
        let ((left_negative, left), (right_negative, right)) = (scaled(left), scaled(right));
        let zero = |text: &str| text.bytes().all(|digit| digit == b'0');
        match (left_negative && !zero(&left), right_negative && !zero(&right)) {
            (false, false) => left.cmp(&right),
            (true, true) => right.cmp(&left),
            (true, false) => Ordering::Less,
            (false, true) => Ordering::Greater,
        }
    }

    #[test]
    fn order_is_that_of_the_digits() {
        let texts = [
            "0",
            "-0",
            "0.0",
            "-0e7",
            "1",
            "1.0",
            "10e-1",
            "0.1e1",
            "-1",
            "-1.00",
            "1.5",
            "15e-1",
            "0.1",
            "0.1000000000000000000000000001",
            "0.10",
            "1e400",
            "-1e400",
            "1.0e399",
            "10e399",
            "1e-350",
            "0e-350",
            "18446744073709551616",
            "18446744073709551617",
            "1.8446744073709551616e19",
            "18446744073709551616.000000000000000001",
            "-18446744073709551617",
            "9007199254740993",
            "9007199254740993.0",
            "9007199254740992.99999999999999999",
            "123456789012345678901234567890e5",
            "100",
            "1e2",
            "1E+2",
            "0.01e4",
            "0.000",
            "5e-1",
        ];
        for left in texts {
            for right in texts {
                let found = Decimal::of(left).compare(&Decimal::of(right));
                assert_eq!(found, plain(left, right), "{left} {right}");
            }
        }
    }

    #[test]
    fn far_exponents_cost_nothing() {
        let far = Decimal::of("1e999999999999999999999999999999999999999999999");
        assert_eq!(far.compare(&Decimal::of("9e999999999")), Ordering::Greater);
        assert_eq!(Decimal::of("1e-999999999").compare(&Decimal::of("0")), Ordering::Greater);
        assert!(Decimal::of("1e999999999").is_multiple_of(5, 0));
        assert!(!Decimal::of("1e999999999").is_multiple_of(7, 0));
        assert!(!Decimal::of("1e-999999999").is_multiple_of(1, 0));
        assert_eq!((far.floor(), far.ceiling()), (i128::MAX, i128::MAX));
    }

    #[test]
    fn whole_parts() {
        for (text, floor, ceiling) in [
            ("1.5", 1, 2),
            ("-1.5", -2, -1),
            ("1.00000000000000000000000000001", 1, 2),
            ("-0.5", -1, 0),
            ("1e-400", 0, 1),
            ("12e2", 1200, 1200),
            ("9007199254740993.0", 9_007_199_254_740_993, 9_007_199_254_740_993),
            ("0", 0, 0),
        ] {
            assert_eq!((Decimal::of(text).floor(), Decimal::of(text).ceiling()), (floor, ceiling), "{text}");
        }
    }

    #[test]
    fn whole_numbers_and_what_is_near_them() {
        for (text, bound, expected) in [
            ("79.9999999999999999", 80, Ordering::Less),
            ("80.0", 80, Ordering::Equal),
            ("8e1", 80, Ordering::Equal),
            ("800000e-4", 80, Ordering::Equal),
            ("0.000080000000000000000001e6", 80, Ordering::Greater),
            ("1e400", 80, Ordering::Greater),
            ("-1e99999999999999999999", 80, Ordering::Less),
            ("-0.0", 0, Ordering::Equal),
            ("-1e-400", 0, Ordering::Less),
            ("1e-400", 0, Ordering::Greater),
            ("0e999", 0, Ordering::Equal),
        ] {
            assert_eq!(Decimal::of(text).compare_whole(bound), expected, "{text} {bound}");
        }
        for text in
            ["0", "-0.0", "1.0", "10e-1", "1.5e1", "123456789012345678901234567890", "1e400", "0.0e-9"]
        {
            assert!(Decimal::of(text).is_integer(), "{text}");
        }
        for text in ["1.00000000000000000001", "0.1", "15e-2", "1e-400", "9007199254740993.5"] {
            assert!(!Decimal::of(text).is_integer(), "{text}");
        }
    }
}
