//! Writes a canonical form from the tape, token by token, whatever the payload looks like.
//!
//! Strings without escapes are copied from where they stand in the payload, quotes included; those that may hold some are
//! made anew, and so are numbers, words and punctuation.
//!
//! PERF: names and texts are short, and of lengths that nobody can guess. So a copy is a fixed number of bytes, of which
//! the next copy overwrites what was too many; only long texts are copied by their length.

use std::marker::PhantomData;

use super::forms::Form;
use super::numbers::{self, Text};
use super::order::Ordered;
use super::walk::{Emit, Lists, walk};
use super::{Unfit, is_integer, wide_text};
use crate::tape::StaticNode;

/// So many bytes are copied at once; most members have no more.
const CHUNK_BYTES: usize = 64;

/// Appends the form of the value at `node` to `out`.
pub(super) fn append<F: Form>(
    ordered: Ordered<'_>,
    node: usize,
    lists: &mut Lists,
    out: &mut Vec<u8>,
) -> Result<(), Unfit> {
    let mut writer = Writer::<F>::new(ordered, 0, out);
    let walked = walk::<F, _>(ordered, node, lists, &mut writer);
    walked.and(writer.end())
}

/// Writes what it is told into room that is there.
pub(super) struct Writer<'a, 'o, F> {
    ordered: Ordered<'a>,
    out: &'o mut Vec<u8>,
    /// Where the next token goes.
    to: usize,
    /// Whether there was room for all, and everything stood in the payload.
    is_whole: bool,
    form: PhantomData<F>,
}

impl<'a, 'o, F: Form> Writer<'a, 'o, F> {
    /// A writer behind what stands in `out`, for a form with so many bytes that do not come from the payload.
    pub(super) fn new(ordered: Ordered<'a>, other_bytes: usize, out: &'o mut Vec<u8>) -> Self {
        let to = out.len();
        // What is copied takes no more room than it does in the payload; what is made anew makes its own.
        out.resize(to + ordered.payload.len() + other_bytes + CHUNK_BYTES, 0);
        Self { ordered, out, to, is_whole: true, form: PhantomData }
    }

    /// Ends the form.
    pub(super) fn end(self) -> Result<(), Unfit> {
        self.out.truncate(self.to);
        if self.is_whole { Ok(()) } else { Err(Unfit::NoSuchNode) }
    }

    /// Writes the first bytes of some that were made ready before.
    #[inline(always)]
    #[expect(clippy::inline_always, reason = "less than a call")]
    pub(super) fn literal(&mut self, bytes: &[u8], len: usize) {
        self.is_whole &= copy_into(self.out, self.to, bytes, len);
        self.to += len;
    }

    /// Writes a string without its quotes.
    #[inline(always)]
    #[expect(clippy::inline_always, reason = "less than a call")]
    pub(super) fn text(&mut self, text: &str) {
        let start = self.ordered.tape.place(text);
        if self.stands(start, text) {
            self.copy(start, text.len());
        } else {
            self.put_escaped(text);
        }
    }

    /// Whether a string stands in the payload, from a place on, as the form writes it.
    #[inline(always)]
    #[expect(clippy::inline_always, reason = "less than a call")]
    fn stands(&self, start: usize, text: &str) -> bool {
        !self.ordered.escapes.touch(start, text.len()) || F::stands(self.ordered.payload, start, text.len())
    }

    #[inline(always)]
    #[expect(clippy::inline_always, reason = "less than a call")]
    fn byte(&mut self, byte: u8) {
        match self.out.get_mut(self.to) {
            Some(place) => *place = byte,
            None => self.is_whole = false,
        }
        self.to += 1;
    }

    /// Copies a stretch of the payload.
    #[inline(always)]
    #[expect(clippy::inline_always, reason = "less than a call")]
    fn copy(&mut self, start: usize, len: usize) {
        let rest = self.ordered.payload.get(start..).unwrap_or_default();
        self.is_whole &= copy_into(self.out, self.to, rest, len);
        self.to += len;
    }

    /// Writes bytes that do not come from the payload.
    fn put(&mut self, bytes: &[u8]) {
        self.out.resize(self.out.len() + bytes.len(), 0);
        match self.out.get_mut(self.to..self.to + bytes.len()) {
            Some(room) => room.copy_from_slice(bytes),
            None => self.is_whole = false,
        }
        self.to += bytes.len();
    }

    /// Writes a string that may hold escapes, without its quotes.
    #[inline(never)]
    fn put_escaped(&mut self, text: &str) {
        // It is made behind all room, and what it takes more than it did in the payload is added to the room.
        let room = self.out.len();
        F::write_escaped(text, self.out);
        let len = self.out.len() - room;
        self.is_whole &= self.to + len <= room + len.saturating_sub(text.len());
        if self.is_whole {
            self.out.copy_within(room.., self.to);
        }
        self.out.truncate(room + len.saturating_sub(text.len()));
        self.to += len;
    }
}

impl<F: Form> Emit for Writer<'_, '_, F> {
    #[inline]
    fn open(&mut self, bracket: u8) {
        self.byte(bracket);
    }

    #[inline]
    fn close(&mut self, bracket: u8) {
        self.byte(bracket);
    }

    #[inline]
    fn comma(&mut self) {
        self.byte(b',');
    }

    #[inline]
    fn name(&mut self, at: usize, name: &str) {
        self.string(at, name);
        self.byte(b':');
    }

    #[inline]
    fn string(&mut self, _: usize, text: &str) {
        let start = self.ordered.tape.place(text);
        if self.stands(start, text) {
            self.copy(start.wrapping_sub(1), text.len() + 2);
        } else {
            self.byte(b'"');
            self.put_escaped(text);
            self.byte(b'"');
        }
    }

    #[inline]
    fn text_member(&mut self, at: usize, name: &str, text: &str) {
        let start = self.ordered.tape.place(name);
        let len = name.len() + 3 + text.len();
        // PERF: without white space around the colon, name and text are one stretch.
        let text_start = self.ordered.tape.place(text);
        if text_start.wrapping_sub(start) == name.len() + 3
            && self.stands(start, name)
            && self.stands(text_start, text)
        {
            self.copy(start.wrapping_sub(1), len + 2);
        } else {
            self.name(at, name);
            self.string(at + 1, text);
        }
    }

    #[inline]
    fn scalar(&mut self, at: usize, scalar: StaticNode) -> Result<(), Unfit> {
        let text: Text = match scalar {
            StaticNode::Null => {
                self.put(b"null");
                return Ok(());
            }
            StaticNode::Bool(value) => {
                self.put(if value { b"true" } else { b"false" });
                return Ok(());
            }
            StaticNode::I64(value) => integer::<F>(value.unsigned_abs(), value < 0)?,
            StaticNode::U64(value) => integer::<F>(value, false)?,
            StaticNode::F64(value) => {
                if let Some(text) = wide_text(self.ordered.tape, self.ordered.payload, at) {
                    if !F::CARRIES_WIDE_INTEGERS || !is_integer(text) {
                        return Err(Unfit::NumberRange);
                    }
                    self.put(text);
                    return Ok(());
                }
                if !value.is_finite() {
                    return Err(Unfit::NumberRange);
                }
                F::double(value)
            }
        };
        self.put(text.as_bytes());
        Ok(())
    }

    #[inline]
    fn empty(&mut self, _: usize, brackets: [u8; 2]) {
        let [open, close] = brackets;
        self.byte(open);
        self.byte(close);
    }
}

/// Copies the first bytes of some to a place where there is room; more than that many, where they are few.
#[inline(always)]
#[expect(clippy::inline_always, reason = "less than a call")]
fn copy_into(out: &mut [u8], to: usize, bytes: &[u8], len: usize) -> bool {
    let room = out.get_mut(to..).unwrap_or_default();
    match (bytes.first_chunk::<CHUNK_BYTES>(), room.first_chunk_mut()) {
        (Some(chunk), Some(place)) if len <= CHUNK_BYTES => *place = *chunk,
        _ => match (bytes.get(..len), room.get_mut(..len)) {
            (Some(bytes), Some(room)) => room.copy_from_slice(bytes),
            _ => return false,
        },
    }
    true
}

#[inline]
fn integer<F: Form>(magnitude: u64, negative: bool) -> Result<Text, Unfit> {
    if magnitude > F::INTEGER_MAX {
        Err(Unfit::NumberRange)
    } else {
        Ok(numbers::integer(magnitude, negative))
    }
}
