//! Writes a canonical form from the tape, token by token, whatever the payload looks like.
//!
//! Strings without escapes are copied from where they stand in the payload, quotes included; those that may hold some are
//! made anew, and so are numbers, words and punctuation.
//!
//! PERF: names and texts are short, and of lengths that nobody can guess. So a copy is a fixed number of bytes, and only
//! long texts are copied by their length.

use std::marker::PhantomData;

use super::forms::Form;
use super::numbers::{self, Text};
use super::order::Ordered;
use super::room::{CHUNK_BYTES, Room};
use super::walk::{Emit, Lists, walk};
use super::{Unfit, is_integer, wide_text};
use crate::tape::StaticNode;

/// Appends the form of the value at `node` to `out`.
pub(super) fn append<F: Form>(
    ordered: Ordered<'_>,
    node: usize,
    lists: &mut Lists,
    out: &mut Room,
) -> Result<(), Unfit> {
    let mut writer = Writer::<F>::new(ordered, 0, out);
    let walked = walk::<F, _>(ordered, node, lists, &mut writer);
    walked.and(writer.end())
}

/// Writes what it is told into room that is there.
pub(super) struct Writer<'a, 'o, F> {
    ordered: Ordered<'a>,
    out: &'o mut Room,
    /// Where the next token goes.
    to: usize,
    /// So far there has to be room. What is copied takes no more than it does in the payload; what is made anew takes its
    /// own.
    needed: usize,
    /// Whether there was room for all, and everything stood in the payload.
    is_whole: bool,
    form: PhantomData<F>,
}

impl<'a, 'o, F: Form> Writer<'a, 'o, F> {
    /// A writer behind what stands in `out`, for a form with so many bytes that do not come from the payload.
    pub(super) fn new(ordered: Ordered<'a>, other_bytes: usize, out: &'o mut Room) -> Self {
        let to = out.len();
        let needed = to + ordered.payload.len() + other_bytes + CHUNK_BYTES;
        out.reach(needed);
        Self { ordered, out, to, needed, is_whole: true, form: PhantomData }
    }

    /// Ends the form.
    pub(super) fn end(self) -> Result<(), Unfit> {
        self.out.end_at(self.to);
        if self.is_whole { Ok(()) } else { Err(Unfit::NoSuchNode) }
    }

    /// Writes the first bytes of some that were made ready before.
    #[inline(always)]
    #[expect(clippy::inline_always, reason = "less than a call")]
    pub(super) fn literal(&mut self, bytes: &[u8], len: usize) {
        self.is_whole &= self.out.copy_to(self.to, bytes, len);
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
        self.is_whole &= self.out.set(self.to, byte);
        self.to += 1;
    }

    /// Copies a stretch of the payload.
    #[inline(always)]
    #[expect(clippy::inline_always, reason = "less than a call")]
    fn copy(&mut self, start: usize, len: usize) {
        self.literal(self.ordered.payload.get(start..).unwrap_or_default(), len);
    }

    /// Writes bytes that do not come from the payload.
    fn put(&mut self, bytes: &[u8]) {
        self.need(bytes.len());
        self.literal(bytes, bytes.len());
    }

    /// Writes a number.
    fn number(&mut self, text: &Text) {
        let (bytes, len) = text.parts();
        self.need(len);
        self.is_whole &= self.out.copy_array_to(self.to, bytes);
        self.to += len;
    }

    /// Writes a string that may hold escapes, without its quotes.
    #[inline(never)]
    fn put_escaped(&mut self, text: &str) {
        self.out.end_at(self.to);
        F::write_escaped(text, self.out);
        let len = self.out.len() - self.to;
        self.need(len.saturating_sub(text.len()));
        self.to += len;
    }

    /// Makes room for bytes that do not come from the payload.
    #[inline]
    fn need(&mut self, bytes: usize) {
        self.needed += bytes;
        self.out.reach(self.needed);
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
        self.number(&text);
        Ok(())
    }

    #[inline]
    fn empty(&mut self, _: usize, brackets: [u8; 2]) {
        let [open, close] = brackets;
        self.byte(open);
        self.byte(close);
    }
}

#[inline]
fn integer<F: Form>(magnitude: u64, negative: bool) -> Result<Text, Unfit> {
    if magnitude > F::INTEGER_MAX {
        Err(Unfit::NumberRange)
    } else {
        Ok(numbers::integer(magnitude, negative))
    }
}
