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
    let to = out.len();
    // What is copied takes no more room than it does in the payload; what is made anew makes its own.
    out.resize(to + ordered.payload.len() + CHUNK_BYTES, 0);
    let mut writer = Writer::<F> { ordered, out, to, is_whole: true, form: PhantomData };
    let walked = walk::<F, _>(ordered, node, lists, &mut writer);
    let Writer { to, is_whole, .. } = writer;
    out.truncate(to);
    walked.and(if is_whole { Ok(()) } else { Err(Unfit::NoSuchNode) })
}

/// Writes what it is told into room that is there.
struct Writer<'a, F> {
    ordered: Ordered<'a>,
    out: &'a mut Vec<u8>,
    /// Where the next token goes.
    to: usize,
    /// Whether there was room for all, and everything stood in the payload.
    is_whole: bool,
    form: PhantomData<F>,
}

impl<F: Form> Writer<'_, F> {
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
        let room = self.out.get_mut(self.to..).unwrap_or_default();
        self.to += len;
        match (rest.first_chunk::<CHUNK_BYTES>(), room.first_chunk_mut()) {
            (Some(chunk), Some(place)) if len <= CHUNK_BYTES => *place = *chunk,
            _ => match (rest.get(..len), room.get_mut(..len)) {
                (Some(rest), Some(room)) => room.copy_from_slice(rest),
                _ => self.is_whole = false,
            },
        }
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

    /// Writes a string that may hold escapes.
    #[cold]
    fn put_escaped(&mut self, text: &str) {
        let room = self.out.len().saturating_sub(self.to);
        self.out.truncate(self.to);
        self.out.push(b'"');
        F::write_escaped(text, self.out);
        self.out.push(b'"');
        self.to = self.out.len();
        self.out.resize(self.to + room, 0);
    }
}

impl<F: Form> Emit for Writer<'_, F> {
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
        if self.ordered.escapes.touch(start, text.len()) {
            self.put_escaped(text);
        } else {
            self.copy(start.wrapping_sub(1), text.len() + 2);
        }
    }

    #[inline]
    fn text_member(&mut self, at: usize, name: &str, text: &str) {
        let start = self.ordered.tape.place(name);
        let len = name.len() + 3 + text.len();
        // PERF: without white space around the colon, name and text are one stretch.
        if self.ordered.tape.place(text).wrapping_sub(start) == name.len() + 3
            && !self.ordered.escapes.touch(start, len)
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

#[inline]
fn integer<F: Form>(magnitude: u64, negative: bool) -> Result<Text, Unfit> {
    if magnitude > F::INTEGER_MAX {
        Err(Unfit::NumberRange)
    } else {
        Ok(numbers::integer(magnitude, negative))
    }
}
