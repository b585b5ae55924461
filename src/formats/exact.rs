//! Numbers by their digits, where the nearest double would not do: 79.9999999999999999 is less than 80, and
//! 1.00000000000000000001 is no whole number, although their doubles are 80 and 1.
//!
//! Only texts are looked at, and nothing is kept; whoever has a plain integer needs none of this.

use std::cmp::Ordering;

/// A JSON number taken apart: its digits without leading zeros, and how many of them stand before the point.
struct Parts<'t> {
    negative: bool,
    /// The digits before and behind the point as written.
    digits: [&'t str; 2],
    zeros: usize,
    point: i64,
}

impl<'t> Parts<'t> {
    fn of(text: &'t str) -> Option<Self> {
        let (negative, text) = match text.strip_prefix('-') {
            Some(rest) => (true, rest),
            None => (false, text),
        };
        let (mantissa, exponent) = text.split_once(['e', 'E']).unwrap_or((text, "0"));
        let (before, behind) = mantissa.split_once('.').unwrap_or((mantissa, ""));
        let exponent: i64 = exponent.trim_start_matches('+').parse().ok()?;
        let digits = [before, behind];
        let zeros = digits.iter().flat_map(|part| part.bytes()).take_while(|digit| *digit == b'0').count();
        let point = i64::try_from(before.len()).ok()?.checked_add(exponent)? - i64::try_from(zeros).ok()?;
        Some(Self { negative, digits, zeros, point })
    }

    fn significant(&self) -> impl Iterator<Item = u8> + '_ {
        self.digits.iter().flat_map(|part| part.bytes()).skip(self.zeros).map(|digit| digit - b'0')
    }

    /// Whether a digit behind the point is not 0.
    fn has_fraction(&self) -> bool {
        let before = usize::try_from(self.point).unwrap_or(0);
        self.significant().skip(before).any(|digit| digit != 0)
    }
}

/// Whether a JSON number is whole, by its digits; `1.0` and `10e-1` are.
pub(super) fn is_whole(text: &str) -> bool {
    Parts::of(text).is_some_and(|parts| !parts.has_fraction())
}

/// How a JSON number compares with a small whole one, by its digits.
pub(super) fn compare(text: &str, bound: u32) -> Option<Ordering> {
    /// More digits before the point than any bound has.
    const POINT_MAX: i64 = 12;
    let parts = Parts::of(text)?;
    let is_zero = parts.significant().next().is_none();
    if parts.negative && !is_zero {
        return Some(Ordering::Less);
    }
    if parts.point > POINT_MAX && !is_zero {
        return Some(Ordering::Greater);
    }
    let before = usize::try_from(parts.point).unwrap_or(0);
    let padded = parts.significant().chain(std::iter::repeat(0)).take(before);
    let whole = if is_zero { 0 } else { padded.fold(0_u64, |sum, digit| sum * 10 + u64::from(digit)) };
    let fraction = if parts.has_fraction() { Ordering::Greater } else { Ordering::Equal };
    Some(whole.cmp(&u64::from(bound)).then(fraction))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn digits_decide() {
        for (text, bound, expected) in [
            ("79.9999999999999999", 80, Ordering::Less),
            ("80.0", 80, Ordering::Equal),
            ("8e1", 80, Ordering::Equal),
            ("800000e-4", 80, Ordering::Equal),
            ("0.000080000000000000000001e6", 80, Ordering::Greater),
            ("80.00000000000000000000000001", 80, Ordering::Greater),
            ("1e400", 80, Ordering::Greater),
            ("-0.0", 0, Ordering::Equal),
            ("-1e-400", 0, Ordering::Less),
            ("1e-400", 0, Ordering::Greater),
            ("0e999", 0, Ordering::Equal),
            ("4294967295", u32::MAX, Ordering::Equal),
            ("4294967296", u32::MAX, Ordering::Greater),
        ] {
            assert_eq!(compare(text, bound), Some(expected), "{text} {bound}");
        }
    }

    #[test]
    fn whole_numbers_in_any_spelling() {
        for text in
            ["0", "-0.0", "1.0", "10e-1", "1.5e1", "123456789012345678901234567890", "1e400", "0.0e-9"]
        {
            assert!(is_whole(text), "{text}");
        }
        for text in ["1.00000000000000000001", "0.1", "15e-2", "1e-400", "9007199254740993.5"] {
            assert!(!is_whole(text), "{text}");
        }
    }
}
