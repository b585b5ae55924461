//! Looks at many bytes of a text at a time. Nothing here knows what the text is.
//!
//! PERF: the strings of envelopes are short, and a call of `memchr` for each costs more than the search; these are inlined.

use std::ops::Range;

use wide::u8x16;

/// As many bytes as are looked at in one go.
pub(crate) const LOOK_BYTES: usize = 32;
const LANE_BYTES: usize = 16;
const _: () = assert!(LOOK_BYTES == 2 * LANE_BYTES);

/// How many bytes stand before the next that no JSON string holds as it is: a quote, a backslash or a control character.
#[inline]
pub(crate) fn to_special(text: &[u8]) -> Option<usize> {
    to_first(text, specials, is_special)
}

/// As [`to_special`], for what is not printable ASCII as well.
#[inline]
pub(crate) fn to_special_or_beyond_ascii(text: &[u8]) -> Option<usize> {
    to_first(text, |lane| specials(lane) | beyond_ascii(lane), |byte| is_special(byte) || byte >= 0x7F)
}

/// From the first to the last backslash of a text, or byte that is not printable ASCII; `None` if there is none.
pub(crate) fn backslashes_and_beyond_ascii(text: &[u8]) -> Option<Range<usize>> {
    let mark = |lane: u8x16| lane.simd_eq(u8x16::splat(b'\\')) | beyond_ascii(lane);
    let is_marked = |byte: u8| byte == b'\\' || byte >= 0x7F;
    let first = to_first(text, mark, is_marked)?;
    let (head, looks) = text.as_rchunks();
    let mut behind = text.len();
    for look in looks.iter().rev() {
        let marks = marks(look, mark);
        if marks != 0 {
            return Some(first..behind - marks.leading_zeros() as usize);
        }
        behind -= LOOK_BYTES;
    }
    head.iter().rposition(|byte| is_marked(*byte)).map(|last| first..last + 1)
}

/// How many of some bytes stand before the first that [`to_special`] finds.
#[inline]
pub(crate) fn plain_bytes(look: &[u8; LOOK_BYTES]) -> usize {
    marks(look, specials).trailing_zeros() as usize
}

/// A bit for each byte that two texts have in common, the first byte's lowest.
#[inline]
pub(crate) fn common(left: &[u8; LOOK_BYTES], right: &[u8; LOOK_BYTES]) -> u32 {
    let ([left, left_high], [right, right_high]) = (left.as_chunks().0, right.as_chunks().0) else {
        return 0;
    };
    let common = |left: &[u8; LANE_BYTES], right: &[u8; LANE_BYTES]| {
        u8x16::new(*left).simd_eq(u8x16::new(*right)).to_bitmask()
    };
    common(left, right) | common(left_high, right_high) << LANE_BYTES
}

/// How many bytes stand before the first that is marked.
#[inline(always)]
#[expect(clippy::inline_always, reason = "a call per value costs as much as the look itself")]
fn to_first(
    text: &[u8],
    mark: impl Fn(u8x16) -> u8x16 + Copy,
    is_marked: impl Fn(u8) -> bool,
) -> Option<usize> {
    let (mut looked, mut rest) = (0, text);
    while let Some((look, tail)) = rest.split_first_chunk() {
        let marks = marks(look, mark);
        if marks != 0 {
            return Some(looked + marks.trailing_zeros() as usize);
        }
        looked += LOOK_BYTES;
        rest = tail;
    }
    rest.iter().position(|byte| is_marked(*byte)).map(|found| looked + found)
}

/// A bit for each byte that is marked, the first byte's lowest.
#[inline(always)]
#[expect(clippy::inline_always, reason = "a call per value costs as much as the look itself")]
fn marks(look: &[u8; LOOK_BYTES], mark: impl Fn(u8x16) -> u8x16) -> u32 {
    let [low, high] = look.as_chunks::<LANE_BYTES>().0 else { return 0 };
    mark(u8x16::new(*low)).to_bitmask() | mark(u8x16::new(*high)).to_bitmask() << LANE_BYTES
}

#[inline]
fn specials(lane: u8x16) -> u8x16 {
    let is = |byte| lane.simd_eq(u8x16::splat(byte));
    is(b'"') | is(b'\\') | lane.min(u8x16::splat(0x1F)).simd_eq(lane)
}

/// DEL counts as such.
#[inline]
fn beyond_ascii(lane: u8x16) -> u8x16 {
    lane.max(u8x16::splat(0x7F)).simd_eq(lane)
}

fn is_special(byte: u8) -> bool {
    byte < 0x20 || matches!(byte, b'"' | b'\\')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_is_found_wherever_it_stands() {
        for byte in [0, 0x1F, b' ', b'!', b'"', b'#', b'[', b'\\', b']', 0x7E, 0x7F, 0x80, 0xFF] {
            let wanted = byte < 0x20 || byte == b'"' || byte == b'\\';
            for len in 1..100 {
                for at in 0..len {
                    let mut text = vec![b'x'; len];
                    text[at] = byte;
                    let found = Some(at).filter(|_| wanted);
                    let beyond = Some(at).filter(|_| wanted || byte >= 0x7F);
                    assert_eq!(to_special(&text), found, "{byte} {len} {at}");
                    assert_eq!(to_special_or_beyond_ascii(&text), beyond, "{byte} {len} {at}");
                    if let Some(look) = text.first_chunk() {
                        let plain = found.map_or(LOOK_BYTES, |found| found.min(LOOK_BYTES));
                        assert_eq!(plain_bytes(look), plain, "{byte} {len} {at}");
                    }
                }
            }
        }
        assert_eq!((to_special(b""), to_special_or_beyond_ascii(b"")), (None, None));
    }

    #[test]
    fn the_last_is_found_wherever_it_stands() {
        for byte in [b'\\', 0x7F, 0x80, 0xFF] {
            for len in 1..100 {
                for (first, last) in (0..len).flat_map(|last| [(0, last), (last / 2, last), (last, last)]) {
                    let mut text = vec![b'"'; len];
                    (text[first], text[last]) = (byte, byte);
                    let found = backslashes_and_beyond_ascii(&text);
                    assert_eq!(found, Some(first..last + 1), "{byte} {len} {first} {last}");
                }
            }
        }
        assert_eq!(backslashes_and_beyond_ascii(&[b'~'; 70]), None);
        assert_eq!(backslashes_and_beyond_ascii(b"\n"), None);
    }

    #[test]
    fn every_byte_counts() {
        let text: [u8; LOOK_BYTES] = std::array::from_fn(|at| at as u8);
        assert_eq!(common(&text, &text), u32::MAX);
        for at in 0..LOOK_BYTES {
            let mut other = text;
            other[at] ^= 0x80;
            assert_eq!(common(&text, &other), !(1 << at));
        }
    }
}
