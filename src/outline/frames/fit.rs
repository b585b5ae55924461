//! Whether a document has a known frame, and where its values stand. Nothing here knows nodes.

use super::{Follows, Found, Frames, HEAD_BYTES, Piece, key_of};
use crate::outline::{FRUITLESS_MAX, STRIDE};
use crate::tape::lanes::{common, to_special};
use crate::tape::{self, Escapes, Parser};

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
        // PERF: strangers differ before their first escape, more often than not, and most documents have none.
        let mut escapes = Escapes::NONE;
        let frame = self.fit_all(payload, |start| {
            let at = start + to_special(payload.get(start..)?)?;
            match payload.get(at)? {
                b'"' => return Some((at, at)),
                b'\\' => {}
                // A control character.
                _ => return None,
            }
            let copy = if escapes.are_none() {
                escapes.first = at;
                parser.copy(payload)
            } else {
                parser.copied()
            };
            let (end, unescaped_end) = tape::unescape(payload, at, copy)?;
            escapes.behind = end;
            Some((end, unescaped_end))
        });
        self.escapes = escapes;
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
        // The values are written while the tree is read.
        let mut found = std::mem::take(&mut self.found);
        let followed = self.follow(payload, &mut found, &mut text_end);
        self.found = found;
        let (frame, values) = followed?;
        self.values = values;
        Some(frame)
    }

    /// The frame at the end of the pieces that a document has, and how many values it has, its end included.
    #[inline]
    fn follow(
        &self,
        payload: &[u8],
        found: &mut [Found],
        text_end: &mut impl FnMut(usize) -> Option<(usize, usize)>,
    ) -> Option<(u32, usize)> {
        let mut at = 0;
        let (mut before, mut last) = (0, self.pieces.first()?);
        for (values, found) in found.iter_mut().enumerate() {
            let (number, piece) = self.piece_behind(before, last, payload.get(at..)?)?;
            (before, last) = (number, piece);
            let start = at + piece.literal.len();
            let (end, found_end) = match piece.follows {
                Follows::Text => text_end(start)?,
                Follows::Scalar => {
                    let end = start + scalar_bytes(payload.get(start..)?)?;
                    (end, end)
                }
                Follows::End => {
                    *found = Found { start: start as u32, len: 0 };
                    return Some((last.next, values + 1));
                }
            };
            *found = Found { start: start as u32, len: (found_end - start) as u32 };
            at = end;
        }
        None
    }

    /// The piece that a text behind a piece begins with: never more than one can.
    #[inline(always)]
    #[expect(clippy::inline_always, reason = "a call per value costs as much as the comparison itself")]
    fn piece_behind(&self, before: u32, last: &Piece, rest: &[u8]) -> Option<(u32, &Piece)> {
        let piece = self.pieces.get(last.next as usize)?;
        if last.next != 0 && self.begins_with(piece, rest) {
            return Some((last.next, piece));
        }
        if last.forks == 0 { None } else { self.piece_by_hash(before, last.forks, rest) }
    }

    /// As [`Self::piece_behind`], where there are several.
    #[inline(never)]
    fn piece_by_hash(&self, before: u32, forks: u8, rest: &[u8]) -> Option<(u32, &Piece)> {
        let mut classes = forks;
        while classes != 0 {
            let key = key_of(rest, classes.trailing_zeros() as usize);
            classes &= classes - 1;
            let Some(key) = key else { continue };
            let mut candidate = *self.buckets.get(self.bucket(before, key))?;
            while let Some(piece) = self.pieces.get(candidate as usize).filter(|_| candidate != 0) {
                if piece.before == before && self.begins_with(piece, rest) {
                    return Some((candidate, piece));
                }
                candidate = piece.chain;
            }
        }
        None
    }

    #[inline(always)]
    #[expect(clippy::inline_always, reason = "a call per value costs as much as the comparison itself")]
    fn begins_with(&self, piece: &Piece, rest: &[u8]) -> bool {
        let len = piece.literal.len();
        let alike = match rest.first_chunk() {
            Some(head) => {
                common(head, &piece.head) | piece.beyond == u32::MAX
                    && (len <= HEAD_BYTES || self.is_literal(piece, rest))
            }
            None => self.is_literal(piece, rest),
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
        let (Some(literal), Some(text)) =
            (self.literals.list(piece.literal), rest.get(..piece.literal.len()))
        else {
            return false;
        };
        // PERF: most have no more bytes than these two, which may overlap; for so few, a call costs as much as it does.
        match (text.first_chunk(), text.last_chunk(), literal.first_chunk(), literal.last_chunk()) {
            (Some(first), Some(last), Some(known_first), Some(known_last))
                if text.len() <= 2 * HEAD_BYTES =>
            {
                common(first, known_first) & common(last, known_last) == u32::MAX
            }
            _ => text == literal,
        }
    }
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
