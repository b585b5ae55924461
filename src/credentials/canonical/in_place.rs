//! Looks whether a payload already holds a value in canonical form, so that its own bytes can be hashed.
//!
//! The caller has made sure that strings stand in the payload as the form writes them. Then the walk adds up where each
//! token must begin if there is no white space, and looks at one byte there: the first of a string, number, word or
//! closing bracket. Between the end of one such token and the begin of the next a payload holds only white space and
//! `[ { : ,`, none of which is the first byte of such a token; so the first white space shows at the next token, and
//! the place of everything before it is exact. Integers have one spelling (but for `-0`, which shows by its sign);
//! doubles have many, so their text is compared. What stands in front of the value is walked too, since only the walk
//! knows where it begins.
//!
//! A member that is left out may stand anywhere in its object: signatures are usually appended.

use std::cmp::Ordering;

use super::forms::Form;
use super::{is_integer, wide_text};
use crate::tape::{Node, NodeIndex, StaticNode, Tape};

/// An open container.
#[derive(Clone, Copy, Debug)]
pub(super) struct Frame {
    /// The node behind its last one.
    end: usize,
    is_object: bool,
    is_empty: bool,
    /// The last name before here and its key; 0 is no name.
    last: (u64, usize),
}

/// The walk's state.
struct Walk<'a> {
    tape: Tape<'a>,
    payload: &'a [u8],
    /// Where the next token must begin.
    position: usize,
    /// The value's nodes: within, order and numbers count.
    within: std::ops::Range<usize>,
    omit: usize,
    /// What is left out, commas included.
    cut: Option<std::ops::Range<usize>>,
}

/// The pieces of the payload that are the form of the value at `node`, without the member whose value is `omit`.
pub(super) fn find<'a, F: Form>(
    tape: Tape<'_>,
    payload: &'a [u8],
    node: NodeIndex,
    omit: Option<NodeIndex>,
    open: &mut Vec<Frame>,
) -> Option<[&'a [u8]; 2]> {
    let node = node.0 as usize;
    let within = node..super::behind(tape.nodes(), node);
    let omit = omit.map_or(usize::MAX, |omit| omit.0 as usize);
    let mut walk = Walk { tape, payload, position: 0, within, omit, cut: None };
    open.clear();
    let value = walk.run::<F>(open)?;
    match walk.cut {
        None => Some([payload.get(value)?, &[]]),
        Some(cut) => Some([payload.get(value.start..cut.start)?, payload.get(cut.end..value.end)?]),
    }
}

impl Walk<'_> {
    /// Where the value stands, if it stands there in canonical form.
    fn run<F: Form>(&mut self, open: &mut Vec<Frame>) -> Option<std::ops::Range<usize>> {
        let mut at = 0;
        // Where the value begins, and how many containers are open around it.
        let (mut start, mut around) = (0, usize::MAX);
        let mut top = Frame { end: usize::MAX, is_object: false, is_empty: true, last: (0, 0) };
        loop {
            loop {
                if at == self.within.end && open.len() == around {
                    return Some(start..self.position);
                }
                if top.end != at {
                    break;
                }
                self.expect(if top.is_object { b'}' } else { b']' })?;
                top = open.pop()?;
            }
            let comma = !top.is_empty;
            self.position += usize::from(comma);
            top.is_empty = false;
            if top.is_object {
                let Node::String(name) = *self.tape.nodes().get(at)? else { return None };
                if at + 1 == self.omit {
                    self.leave_out(name, comma, at + 2 < top.end)?;
                    at += 2;
                    continue;
                }
                self.name::<F>(at, name, &mut top)?;
                at += 1;
            }
            if at == self.within.start {
                (start, around) = (self.position, open.len());
            }
            match *self.tape.nodes().get(at)? {
                Node::String(text) => self.string(text)?,
                Node::Static(scalar) => self.scalar::<F>(at, scalar)?,
                Node::Object { count, .. } => {
                    self.position += 1;
                    open.push(top);
                    top = Frame { end: at + 1 + count, is_object: true, is_empty: true, last: (0, 0) };
                }
                Node::Array { count, .. } => {
                    self.position += 1;
                    open.push(top);
                    top = Frame { end: at + 1 + count, is_object: false, is_empty: true, last: (0, 0) };
                }
            }
            at += 1;
        }
    }
}

impl Walk<'_> {
    /// One byte that must stand at the position.
    #[inline]
    fn expect(&mut self, byte: u8) -> Option<()> {
        let found = self.payload.get(self.position) == Some(&byte);
        self.position += 1;
        found.then_some(())
    }

    #[inline]
    fn string(&mut self, text: &str) -> Option<()> {
        self.expect(b'"')?;
        self.position += text.len() + 1;
        Some(())
    }

    /// A name and its colon; inside the value it must come after the last one.
    #[inline]
    fn name<F: Form>(&mut self, at: usize, name: &str, top: &mut Frame) -> Option<()> {
        self.string(name)?;
        self.position += 1;
        if self.within.contains(&at) {
            let key = F::key(name);
            let (last_key, last) = top.last;
            if last != 0 && (last_key > key || (last_key == key && !self.comes_after::<F>(last, name))) {
                return None;
            }
            top.last = (key, at);
        }
        Some(())
    }

    fn comes_after<F: Form>(&self, last: usize, name: &str) -> bool {
        matches!(self.tape.nodes().get(last), Some(Node::String(last)) if F::compare(last, name) == Ordering::Less)
    }

    /// Remembers where the member that is left out stands, with the comma that goes with it.
    fn leave_out(&mut self, name: &str, comma_before: bool, comma_behind: bool) -> Option<()> {
        let start = self.position;
        self.string(name)?;
        self.position += 1;
        let Node::String(value) = *self.tape.nodes().get(self.omit)? else { return None };
        self.string(value)?;
        self.cut = Some(if comma_behind {
            start..self.position + 1
        } else {
            start - usize::from(comma_before)..self.position
        });
        Some(())
    }

    #[inline]
    fn scalar<F: Form>(&mut self, at: usize, scalar: StaticNode) -> Option<()> {
        let first = *self.payload.get(self.position)?;
        let len = match scalar {
            StaticNode::Null => (first == b'n').then_some(4)?,
            StaticNode::Bool(true) => (first == b't').then_some(4)?,
            StaticNode::Bool(false) => (first == b'f').then_some(5)?,
            _ if !self.within.contains(&at) => self.number_bytes(first)?,
            StaticNode::I64(value) => integer_bytes::<F>(first, value.unsigned_abs(), value < 0)?,
            StaticNode::U64(value) => integer_bytes::<F>(first, value, false)?,
            StaticNode::F64(value) => self.double_bytes::<F>(at, value)?,
        };
        self.position += len;
        Some(())
    }

    /// The length of a number in front of the value, however it is spelled.
    fn number_bytes(&self, first: u8) -> Option<usize> {
        let rest = self.payload.get(self.position..)?;
        let len =
            rest.iter().position(|byte| !matches!(byte, b'0'..=b'9' | b'+' | b'-' | b'.' | b'e' | b'E'));
        (first == b'-' || first.is_ascii_digit()).then_some(len.unwrap_or(rest.len()))
    }

    /// The length of a double that is spelled as the form does.
    fn double_bytes<F: Form>(&self, at: usize, value: f64) -> Option<usize> {
        let rest = self.payload.get(self.position..)?;
        if let Some(text) = wide_text(self.tape, self.payload, at) {
            return (F::CARRIES_WIDE_INTEGERS && is_integer(text) && rest.starts_with(text))
                .then_some(text.len());
        }
        let text = F::double(value);
        (value.is_finite() && rest.starts_with(text.as_bytes())).then_some(text.as_bytes().len())
    }
}

/// The length of an integer, which has only one spelling if its sign is right.
#[inline]
fn integer_bytes<F: Form>(first: u8, magnitude: u64, negative: bool) -> Option<usize> {
    let right_sign = if negative { first == b'-' } else { first.is_ascii_digit() };
    let digits = magnitude.checked_ilog10().unwrap_or(0) as usize + 1;
    (right_sign && magnitude <= F::INTEGER_MAX).then_some(digits + usize::from(negative))
}
