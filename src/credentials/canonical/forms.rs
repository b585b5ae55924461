//! What tells one canonical form from another: the order of names, how strings are escaped, how numbers are laid out.
//!
//! The walks (`write.rs`, `stretches.rs`) are written once, for any [`Form`]; a form is a type without values, so the
//! choice is made when the code is compiled. Bytes of UTF-8 compare like code points. RFC 8785 compares UTF-16 units,
//! which differ from that in one thing: code points beyond U+FFFF come before U+E000 to U+FFFF.

use std::cmp::Ordering;

use super::numbers::{self, Text};
use super::room::Room;
use crate::tape::lanes::{backslashes_and_beyond_ascii, to_special, to_special_or_beyond_ascii};
use crate::tape::{Escapes, Tape};

/// One canonical form.
pub(super) trait Form {
    /// Tells forms apart.
    const NUMBER: u8;
    /// The largest magnitude of an integer of 64 bits that the form carries.
    const INTEGER_MAX: u64;
    /// Whether integers beyond 64 bits are written, with the digits that they came with.
    const CARRIES_WIDE_INTEGERS: bool;
    /// Whether a payload of the length of its tokens, as the form writes them, holds no escapes and needs none.
    const LENGTH_TELLS_ESCAPES: bool;
    /// Outside of this part of the payload, every string stands there exactly as the form writes it.
    fn escapes(tape: Tape<'_>) -> Escapes;
    /// Whether a string that begins at a place and has so many bytes without escapes stands there exactly as the form
    /// writes it. Only strings that touch [`Self::escapes`] are asked about.
    fn stands(payload: &[u8], start: usize, len: usize) -> bool;
    /// Turns a name's first eight bytes, filled up with zeros, into a key: where two keys differ, they are in the order
    /// of their names.
    fn rank(head: u64) -> u64;
    /// The key of a name.
    #[inline]
    fn key(name: &str) -> u64 {
        Self::rank(head(name.as_bytes()))
    }
    /// The order of names.
    fn compare(left: &str, right: &str) -> Ordering;
    /// Writes what stands between the quotes.
    fn write_escaped(text: &str, out: &mut Room);
    /// The text of a finite double.
    fn double(value: f64) -> Text;
}

/// RFC 8785, the JSON Canonicalization Scheme.
pub(super) struct Jcs;

impl Form for Jcs {
    const NUMBER: u8 = 0;
    /// Up to here every integer is a double of its own.
    const INTEGER_MAX: u64 = (1 << 53) - 1;
    const CARRIES_WIDE_INTEGERS: bool = false;
    /// An escape is longer than what it stands for, and what has to be escaped cannot stand in a payload otherwise.
    const LENGTH_TELLS_ESCAPES: bool = true;

    /// Without a backslash nothing was escaped, and what has to be escaped cannot stand in a payload unescaped.
    fn escapes(tape: Tape<'_>) -> Escapes {
        tape.escapes()
    }

    /// With an escape it would be longer, and what stands behind so many bytes would be no quote, or an escaped one.
    #[inline]
    fn stands(payload: &[u8], start: usize, len: usize) -> bool {
        let before = start.wrapping_add(len).wrapping_sub(1);
        matches!(payload.get(before..), Some([last, b'"', ..]) if *last != b'\\')
    }

    #[inline]
    fn rank(head: u64) -> u64 {
        if head & HIGH_BITS == 0 { head } else { rank_beyond_ascii(head) }
    }

    fn compare(left: &str, right: &str) -> Ordering {
        let (left, right) = (left.as_bytes(), right.as_bytes());
        match mismatch(left, right) {
            Some((left, right)) => utf16_rank(left).cmp(&utf16_rank(right)),
            None => left.len().cmp(&right.len()),
        }
    }

    fn write_escaped(text: &str, out: &mut Room) {
        write_escaped(text, out, to_special, |rest, out| {
            let (byte, rest) = rest.split_first()?;
            write_short_or_hex(u16::from(*byte), out);
            Some(rest)
        });
    }

    fn double(value: f64) -> Text {
        numbers::ecmascript(value)
    }
}

/// What CPython's `json.dumps` writes with sorted names, compact separators and ASCII alone.
pub(super) struct Cpython;

impl Form for Cpython {
    const NUMBER: u8 = 1;
    const INTEGER_MAX: u64 = u64::MAX;
    const CARRIES_WIDE_INTEGERS: bool = true;
    /// What is not ASCII may stand in a payload without an escape.
    const LENGTH_TELLS_ESCAPES: bool = false;

    fn escapes(tape: Tape<'_>) -> Escapes {
        backslashes_and_beyond_ascii(tape.payload()).map_or(Escapes::NONE, Escapes::within)
    }

    /// Its length does not tell whether there is something beyond ASCII in it.
    #[inline]
    fn stands(_: &[u8], _: usize, _: usize) -> bool {
        false
    }

    #[inline]
    fn rank(head: u64) -> u64 {
        head
    }

    fn compare(left: &str, right: &str) -> Ordering {
        left.cmp(right)
    }

    fn write_escaped(text: &str, out: &mut Room) {
        write_escaped(text, out, to_special_or_beyond_ascii, |rest, out| {
            let text = std::str::from_utf8(rest.get(..first_char_bytes(rest))?).ok()?;
            for unit in text.chars().next()?.encode_utf16(&mut [0; 2]) {
                write_short_or_hex(*unit, out);
            }
            rest.get(text.len()..)
        });
    }

    fn double(value: f64) -> Text {
        numbers::cpython(value)
    }
}

const HIGH_BITS: u64 = 0x8080_8080_8080_8080;

/// The first eight bytes, filled up with zeros; the first byte counts most.
#[inline]
fn head(bytes: &[u8]) -> u64 {
    if let Some(head) = bytes.first_chunk() {
        return u64::from_be_bytes(*head);
    }
    // PERF: two overlapping loads instead of a loop over up to seven bytes.
    if let (Some(first), Some(last)) = (bytes.first_chunk(), bytes.last_chunk()) {
        let missing = 8 * (8 - bytes.len() as u32);
        let (first, last) = (u32::from_be_bytes(*first), u32::from_be_bytes(*last));
        return u64::from(first) << 32 | u64::from(last.checked_shl(missing).unwrap_or(0));
    }
    let head = match bytes {
        [one, two, three, ..] => [*one, *two, *three, 0],
        [one, two] => [*one, *two, 0, 0],
        [one] => [*one, 0, 0, 0],
        [] => [0; 4],
    };
    u64::from(u32::from_be_bytes(head)) << 32
}

#[cold]
fn rank_beyond_ascii(head: u64) -> u64 {
    u64::from_be_bytes(head.to_be_bytes().map(utf16_rank))
}

/// A byte's place in the order of UTF-16: the first bytes of code points beyond U+FFFF (0xF0 to 0xF4) come before
/// those of U+E000 to U+FFFF (0xEE, 0xEF). Two texts that differ first in such bytes differ in first bytes.
#[inline]
fn utf16_rank(byte: u8) -> u8 {
    match byte {
        0xEE | 0xEF => byte + 5,
        0xF0..=0xF4 => byte - 2,
        _ => byte,
    }
}

/// The first two bytes that differ; `None` if one text begins the other.
fn mismatch(left: &[u8], right: &[u8]) -> Option<(u8, u8)> {
    let equal =
        left.chunks_exact(16).zip(right.chunks_exact(16)).take_while(|(left, right)| left == right).count();
    let (left, right) = (left.get(equal * 16..)?, right.get(equal * 16..)?);
    left.iter().zip(right).find(|(left, right)| left != right).map(|(left, right)| (*left, *right))
}

/// Writes a text, stretches without escapes at once; `to_escape` says how long one is, `write_one` writes what one escape
/// stands for and returns the rest.
#[inline]
fn write_escaped(
    text: &str,
    out: &mut Room,
    to_escape: impl Fn(&[u8]) -> Option<usize>,
    mut write_one: impl for<'a> FnMut(&'a [u8], &mut Room) -> Option<&'a [u8]>,
) {
    let mut rest = text.as_bytes();
    while let Some((plain, escaped)) = to_escape(rest).and_then(|at| rest.split_at_checked(at)) {
        out.extend_from_first(rest, plain.len());
        let Some(behind) = write_one(escaped, out) else { return };
        rest = behind;
    }
    out.extend_from_slice(rest);
}

/// How many bytes the first code point takes.
fn first_char_bytes(bytes: &[u8]) -> usize {
    match bytes.first() {
        Some(0xF0..) => 4,
        Some(0xE0..) => 3,
        Some(0xC0..) => 2,
        _ => 1,
    }
}

/// `\n` and the like where JSON has a short form, else `\u` and four lower-case digits.
pub(super) fn write_short_or_hex(unit: u16, out: &mut Room) {
    const HEX: &[u8; 16] = b"0123456789abcdef";
    let short = match unit {
        0x08 => b'b',
        0x09 => b't',
        0x0A => b'n',
        0x0C => b'f',
        0x0D => b'r',
        0x22 => b'"',
        0x5C => b'\\',
        _ => {
            let digit = |shift: u16| HEX.get(usize::from(unit >> shift & 0xF)).copied().unwrap_or_default();
            out.extend_from_slice(&[b'\\', b'u', digit(12), digit(8), digit(4), digit(0)]);
            return;
        }
    };
    out.extend_from_slice(&[b'\\', short]);
}
