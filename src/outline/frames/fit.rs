//! Whether a document has a known frame, and where its values stand. Nothing here knows nodes.

use super::{Follows, Found, Frames, HEAD_BYTES, Piece, keys_of, words};
use crate::outline::{FRUITLESS_MAX, NODES_MAX, STRIDE};
use crate::tape::{self, Parser};

/// Strings are looked through by words up to here, and by the processor's widest means beyond.
const NEAR_BYTES: usize = 64;

/// For each length, the bytes of a head that belong to a piece.
const MASKS: [[u64; HEAD_BYTES / 8]; HEAD_BYTES + 1] = masks();

impl Frames {
    /// The frame that a document has, if it is known; its values are noted, and unescaped in the parser's copy.
    #[inline]
    pub(in crate::outline) fn fit(&mut self, payload: &[u8], parser: &mut Parser) -> Option<u32> {
        if self.depth_max != parser.depth_max() {
            self.clear();
            self.depth_max = parser.depth_max();
        }
        if self.is_tired() {
            return None;
        }
        self.found.clear();
        // PERF: without a backslash, one comparison less for each word, and no copy.
        if memchr::memchr(b'\\', payload).is_none() {
            self.has_escapes = false;
            return self.fit_all(payload, |start| {
                let end = start + to_quote(payload.get(start..)?)?;
                Some((end, end))
            });
        }
        // PERF: strangers differ before their first escape, more often than not.
        let mut is_copied = false;
        let frame = self.fit_all(payload, |start| {
            let at = start + to_special(payload.get(start..)?)?;
            if payload.get(at) == Some(&b'"') {
                return Some((at, at));
            }
            let copy = if is_copied { parser.copied() } else { parser.copy(payload) };
            is_copied = true;
            tape::unescape(payload, at, copy)
        });
        self.has_escapes = is_copied;
        frame
    }

    /// Notes whether a document fitted.
    #[inline]
    pub(in crate::outline) fn note(&mut self, fitted: bool) {
        self.hits = self.hits.saturating_add(u32::from(fitted));
        self.fruitless = if fitted { 0 } else { self.fruitless.wrapping_add(1) };
    }

    /// Whether a document is not looked at, since so many before it did not fit.
    #[inline]
    fn is_tired(&self) -> bool {
        self.fruitless > FRUITLESS_MAX && !self.fruitless.is_multiple_of(STRIDE)
    }

    /// As [`Self::fit`]; `text_end` says where the string ends that begins at a place, and where it does once unescaped.
    #[inline]
    fn fit_all(
        &mut self,
        payload: &[u8],
        mut text_end: impl FnMut(usize) -> Option<(usize, usize)>,
    ) -> Option<u32> {
        let mut at = 0;
        let (mut before, mut last) = (0, *self.pieces.first()?);
        loop {
            let (number, piece) = self.piece_behind(before, &last, payload.get(at..)?)?;
            (before, last) = (number, *piece);
            let start = at + piece.literal.len();
            let (end, found_end) = match piece.follows {
                Follows::Text => text_end(start)?,
                Follows::Scalar => {
                    let end = start + scalar_bytes(payload.get(start..)?)?;
                    (end, end)
                }
                Follows::End => {
                    self.found.push(Found { start: start as u32, len: 0 });
                    return Some(last.next);
                }
            };
            // LIMIT: a tree that is no longer one of documents could not go on for ever.
            if self.found.len() == NODES_MAX {
                return None;
            }
            self.found.push(Found { start: start as u32, len: (found_end - start) as u32 });
            at = end;
        }
    }

    /// The piece that a text behind a piece begins with: never more than one can.
    #[inline(always)]
    #[expect(clippy::inline_always, reason = "a call per value costs as much as the comparison itself")]
    fn piece_behind(&self, before: u32, last: &Piece, rest: &[u8]) -> Option<(u32, &Piece)> {
        let piece = self.pieces.get(last.next as usize)?;
        if last.next != 0 && self.begins_with(piece, rest) {
            return Some((last.next, piece));
        }
        if last.forks { self.piece_by_hash(before, rest) } else { None }
    }

    /// As [`Self::piece_behind`], where there are several.
    #[inline(never)]
    fn piece_by_hash(&self, before: u32, rest: &[u8]) -> Option<(u32, &Piece)> {
        keys_of(rest).find_map(|key| {
            let mut candidate = *self.buckets.get(self.bucket(before, key))?;
            loop {
                let piece = self.pieces.get(candidate as usize).filter(|_| candidate != 0)?;
                if piece.before == before && self.begins_with(piece, rest) {
                    return Some((candidate, piece));
                }
                candidate = piece.chain;
            }
        })
    }

    #[inline(always)]
    #[expect(clippy::inline_always, reason = "a call per value costs as much as the comparison itself")]
    fn begins_with(&self, piece: &Piece, rest: &[u8]) -> bool {
        let len = piece.literal.len();
        let alike = match (rest.first_chunk(), MASKS.get(len)) {
            (Some(head), Some(mask)) => differ(words(head), &piece.head, mask) == 0,
            _ => self.is_literal(piece, rest),
        };
        alike
            && match piece.follows {
                Follows::Text => true,
                Follows::Scalar => rest.get(len).is_some_and(|byte| is_of_scalar(*byte)),
                Follows::End => rest.len() == len,
            }
    }

    #[inline(never)]
    fn is_literal(&self, piece: &Piece, rest: &[u8]) -> bool {
        rest.get(..piece.literal.len()).is_some_and(|text| Some(text) == self.literals.list(piece.literal))
    }
}

/// How many bytes stand before the next quote.
#[inline]
fn to_quote(text: &[u8]) -> Option<usize> {
    to_first(text, |word| zero_bytes(word ^ QUOTES))
        .map_or_else(|far| Some(far + memchr::memchr(b'"', text.get(far..)?)?), Some)
}

/// How many bytes stand before the next quote or backslash.
#[inline]
fn to_special(text: &[u8]) -> Option<usize> {
    to_first(text, |word| zero_bytes(word ^ QUOTES) | zero_bytes(word ^ BACKSLASHES))
        .map_or_else(|far| Some(far + memchr::memchr2(b'"', b'\\', text.get(far..)?)?), Some)
}

/// How many bytes stand before the first that is wanted; an error says how many were looked at in vain.
#[inline(always)]
#[expect(clippy::inline_always, reason = "a call per value costs as much as the look itself")]
fn to_first(text: &[u8], wanted: impl Fn(u64) -> u64) -> Result<usize, usize> {
    let near = text.get(..NEAR_BYTES).unwrap_or(text);
    let mut at = 0;
    for word in near.as_chunks().0 {
        let found = wanted(u64::from_le_bytes(*word));
        if found != 0 {
            return Ok(at + found.trailing_zeros() as usize / 8);
        }
        at += 8;
    }
    Err(at)
}

const ONES: u64 = 0x0101_0101_0101_0101;
const QUOTES: u64 = ONES * b'"' as u64;
const BACKSLASHES: u64 = ONES * b'\\' as u64;

/// The high bit of the first byte that is zero; bits above it tell nothing.
#[inline]
fn zero_bytes(word: u64) -> u64 {
    word.wrapping_sub(ONES) & !word & (ONES << 7)
}

/// How many bytes a number or word has.
#[inline]
fn scalar_bytes(text: &[u8]) -> Option<usize> {
    text.iter().position(|byte| !is_of_scalar(*byte))
}

/// Whether a byte can stand in a number or word: neither white space, nor punctuation, nor a quote.
#[inline]
pub(super) fn is_of_scalar(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'+' | b'.')
}

/// What differs between two heads, within a mask.
#[inline]
fn differ(left: [u64; HEAD_BYTES / 8], right: &[u64; HEAD_BYTES / 8], mask: &[u64; HEAD_BYTES / 8]) -> u64 {
    let words = left.iter().zip(right).zip(mask);
    words.fold(0, |differ, ((left, right), mask)| differ | (left ^ right) & mask)
}

#[expect(clippy::indexing_slicing, reason = "runs while Tollgate is compiled")]
const fn masks() -> [[u64; HEAD_BYTES / 8]; HEAD_BYTES + 1] {
    let mut masks = [[0; HEAD_BYTES / 8]; HEAD_BYTES + 1];
    let mut len = 0;
    while len <= HEAD_BYTES {
        let mut byte = 0;
        while byte < len {
            masks[len][byte / 8] |= 0xFF << (8 * (byte % 8));
            byte += 1;
        }
        len += 1;
    }
    masks
}
