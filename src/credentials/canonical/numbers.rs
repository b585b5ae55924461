//! Doubles and integers as text: the shortest digits that read back as the same double, in the layout of a form.
//!
//! The digits come from `zmij` and `itoa`; only the layout is ours. Nothing here allocates.

/// The longest text of a finite double in either layout, with room to spare (`-1.7976931348623157e+308` has 24).
const TEXT_BYTES_MAX: usize = 32;
/// No double needs more digits.
const DIGITS_MAX: usize = 17;

/// A number's text, on the stack.
#[derive(Clone, Copy, Debug)]
pub(super) struct Text {
    bytes: [u8; TEXT_BYTES_MAX],
    len: usize,
}

impl Text {
    fn new() -> Self {
        Self { bytes: [0; TEXT_BYTES_MAX], len: 0 }
    }

    /// All bytes, and how many of them are the text.
    pub(super) fn parts(&self) -> (&[u8; TEXT_BYTES_MAX], usize) {
        (&self.bytes, self.len)
    }

    pub(super) fn as_bytes(&self) -> &[u8] {
        self.bytes.get(..self.len).unwrap_or_default()
    }

    fn push(&mut self, byte: u8) {
        if let Some(place) = self.bytes.get_mut(self.len) {
            *place = byte;
            self.len += 1;
        }
    }

    fn extend(&mut self, bytes: &[u8]) {
        for byte in bytes {
            self.push(*byte);
        }
    }

    fn zeros(&mut self, count: i32) {
        for _ in 0..count {
            self.push(b'0');
        }
    }
}

/// A finite double as `0.d₁d₂… × 10^point`, without leading or trailing zeros; zero has no digits.
struct Digits {
    negative: bool,
    bytes: [u8; DIGITS_MAX],
    len: usize,
    point: i32,
}

impl Digits {
    fn of(value: f64) -> Self {
        let mut buffer = zmij::Buffer::new();
        let text = buffer.format_finite(value).as_bytes();
        let mut found = Self { negative: value.is_sign_negative(), bytes: [0; DIGITS_MAX], len: 0, point: 0 };
        let (mut before_point, mut exponent, mut negative_exponent) = (true, None, false);
        for byte in text {
            match (byte, &mut exponent) {
                (b'0'..=b'9', Some(exponent)) => *exponent = *exponent * 10 + i32::from(byte - b'0'),
                (b'0'..=b'9', None) => {
                    found.point += i32::from(before_point && (found.len > 0 || *byte != b'0'));
                    found.point -= i32::from(!before_point && found.len == 0 && *byte == b'0');
                    found.push(*byte);
                }
                (b'.', None) => before_point = false,
                (b'e', None) => exponent = Some(0),
                (b'-', Some(_)) => negative_exponent = true,
                _ => {}
            }
        }
        let exponent = exponent.unwrap_or(0);
        found.point += if negative_exponent { -exponent } else { exponent };
        while found.len > 0 && found.bytes.get(found.len - 1) == Some(&b'0') {
            found.len -= 1;
        }
        found
    }

    /// Leading zeros are no digits; zeros beyond the last place of a double (`12000…0.0`) only move the point.
    fn push(&mut self, digit: u8) {
        if self.len == 0 && digit == b'0' {
            return;
        }
        if let Some(place) = self.bytes.get_mut(self.len) {
            *place = digit;
            self.len += 1;
        }
    }

    fn as_bytes(&self) -> &[u8] {
        self.bytes.get(..self.len).unwrap_or_default()
    }

    /// The digits with the point behind the first `places` of them; there are more than that.
    fn split(&self, places: i32) -> (&[u8], &[u8]) {
        self.as_bytes().split_at_checked(places.max(0) as usize).unwrap_or((self.as_bytes(), &[]))
    }
}

/// A finite double as ECMAScript's `Number::toString` writes it, which RFC 8785 takes over.
pub(super) fn ecmascript(value: f64) -> Text {
    let mut text = Text::new();
    let digits = Digits::of(value);
    if digits.len == 0 {
        text.push(b'0');
        return text;
    }
    if digits.negative {
        text.push(b'-');
    }
    let (len, point) = (digits.len as i32, digits.point);
    if (len..=21).contains(&point) {
        text.extend(digits.as_bytes());
        text.zeros(point - len);
    } else if (1..=21).contains(&point) {
        let (whole, fraction) = digits.split(point);
        text.extend(whole);
        text.push(b'.');
        text.extend(fraction);
    } else if (-5..=0).contains(&point) {
        text.extend(b"0.");
        text.zeros(-point);
        text.extend(digits.as_bytes());
    } else {
        scientific(&digits, 1, &mut text);
    }
    text
}

/// A finite double as CPython's `repr` writes it: positional with a fraction between 10^-4 and 10^16.
pub(super) fn cpython(value: f64) -> Text {
    let mut text = Text::new();
    let digits = Digits::of(value);
    if digits.negative {
        text.push(b'-');
    }
    let (len, point) = (digits.len as i32, digits.point);
    if len == 0 {
        text.extend(b"0.0");
    } else if (len..=16).contains(&point) {
        text.extend(digits.as_bytes());
        text.zeros(point - len);
        text.extend(b".0");
    } else if (1..=16).contains(&point) {
        let (whole, fraction) = digits.split(point);
        text.extend(whole);
        text.push(b'.');
        text.extend(fraction);
    } else if (-3..=0).contains(&point) {
        text.extend(b"0.");
        text.zeros(-point);
        text.extend(digits.as_bytes());
    } else {
        scientific(&digits, 2, &mut text);
    }
    text
}

/// `d.ddde±x` with at least so many digits of exponent.
fn scientific(digits: &Digits, exponent_digits_min: usize, text: &mut Text) {
    let (first, rest) = digits.split(1);
    text.extend(first);
    if !rest.is_empty() {
        text.push(b'.');
        text.extend(rest);
    }
    let exponent = digits.point - 1;
    text.extend(if exponent < 0 { b"e-" } else { b"e+" });
    let exponent = integer(u64::from(exponent.unsigned_abs()), false);
    text.zeros(exponent_digits_min.saturating_sub(exponent.len) as i32);
    text.extend(exponent.as_bytes());
}

/// An integer in decimal.
pub(super) fn integer(magnitude: u64, negative: bool) -> Text {
    let mut text = Text::new();
    if negative && magnitude > 0 {
        text.push(b'-');
    }
    text.extend(itoa::Buffer::new().format(magnitude).as_bytes());
    text
}

#[cfg(test)]
mod tests {
    use super::{cpython, ecmascript, integer};

    fn text(text: super::Text) -> String {
        String::from_utf8(text.as_bytes().to_vec()).unwrap()
    }

    #[test]
    fn the_borders_of_ecmascript_layouts() {
        for (value, expected) in [
            (0.0, "0"),
            (-0.0, "0"),
            (1.0, "1"),
            (-1.5, "-1.5"),
            (1e20, "100000000000000000000"),
            (1e21, "1e+21"),
            (123_456_789_012_345_680_000.0, "123456789012345680000"),
            (1.234_567_890_123_456_8e21, "1.2345678901234568e+21"),
            (1e-6, "0.000001"),
            (1e-7, "1e-7"),
            (1.5e-7, "1.5e-7"),
            (5e-324, "5e-324"),
            (f64::MAX, "1.7976931348623157e+308"),
            (9_007_199_254_740_992.0, "9007199254740992"),
            (333_333_333.333_333_3, "333333333.3333333"),
            (1e23, "1e+23"),
        ] {
            assert_eq!(text(ecmascript(value)), expected);
        }
    }

    #[test]
    fn the_borders_of_cpython_layouts() {
        for (value, expected) in [
            (0.0, "0.0"),
            (-0.0, "-0.0"),
            (1e15, "1000000000000000.0"),
            (9_999_999_999_999_998.0, "9999999999999998.0"),
            (1e16, "1e+16"),
            (1e-4, "0.0001"),
            (1e-5, "1e-05"),
            (-2.5e-7, "-2.5e-07"),
            (1.5e300, "1.5e+300"),
            (5e-324, "5e-324"),
        ] {
            assert_eq!(text(cpython(value)), expected);
        }
    }

    #[test]
    fn integers_have_their_digits() {
        for (magnitude, negative, expected) in
            [(0, false, "0"), (0, true, "0"), (10, true, "-10"), (u64::MAX, false, "18446744073709551615")]
        {
            assert_eq!(text(integer(magnitude, negative)), expected);
        }
    }
}
