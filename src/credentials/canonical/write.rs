//! Writes a canonical form from the tape, whatever the payload looks like.
//!
//! Each object's members are listed with a key of their names' first bytes, and sorted only if they do not ascend
//! already. Names that ascend strictly are in order and without duplicates: one compare shows both.

use std::cmp::Ordering;

use super::forms::Form;
use super::in_place::Member;
use super::numbers::{self, Text};
use super::{Buffers, Unfit, behind, is_integer, wide_text};
use crate::tape::{Node, NodeIndex, StaticNode, Tape};

/// An open container: an array's places are nodes, an object's are places in the list of members.
#[derive(Clone, Copy, Debug)]
pub(super) struct Frame {
    start: usize,
    next: usize,
    end: usize,
    is_object: bool,
}

/// What all steps of one writing need.
struct Writer<'a> {
    tape: Tape<'a>,
    payload: &'a [u8],
    omit: Option<usize>,
    /// Whether strings need no look at their bytes.
    plain: bool,
}

/// Appends the form of the value at `node` to `buffers.out`.
pub(super) fn append<F: Form>(
    tape: Tape<'_>,
    payload: &[u8],
    node: NodeIndex,
    omit: Option<NodeIndex>,
    plain: bool,
    buffers: &mut Buffers,
) -> Result<(), Unfit> {
    let writer = Writer { tape, payload, omit: omit.map(|node| node.0 as usize), plain };
    buffers.open.clear();
    buffers.members.clear();
    // PERF: one reserve; only numbers and, in ASCII, other letters can be longer than they came.
    buffers.out.reserve(payload.len() + 64);
    writer.begin::<F>(node.0 as usize, buffers)?;
    while let Some(frame) = buffers.open.last_mut() {
        let Frame { start, next, end, is_object } = *frame;
        if next == end {
            buffers.out.push(if is_object { b'}' } else { b']' });
            if is_object {
                buffers.members.truncate(start);
            }
            buffers.open.pop();
            continue;
        }
        if next > start {
            buffers.out.push(b',');
        }
        let value = if is_object {
            frame.next = next + 1;
            let name = buffers.members.get(next).ok_or(Unfit::NoSuchNode)?.name as usize;
            writer.string::<F>(writer.name(name)?, &mut buffers.out);
            buffers.out.push(b':');
            name + 1
        } else {
            frame.next = behind(tape.nodes(), next);
            next
        };
        writer.begin::<F>(value, buffers)?;
    }
    Ok(())
}

impl Writer<'_> {
    /// Writes a scalar, or opens a container.
    #[inline]
    fn begin<F: Form>(&self, at: usize, buffers: &mut Buffers) -> Result<(), Unfit> {
        match *self.tape.nodes().get(at).ok_or(Unfit::NoSuchNode)? {
            Node::String(text) => self.string::<F>(text, &mut buffers.out),
            Node::Array { count, .. } => {
                buffers.out.push(b'[');
                let start = at + 1;
                buffers.open.push(Frame { start, next: start, end: start + count, is_object: false });
            }
            Node::Object { len, .. } => {
                buffers.out.push(b'{');
                let start = buffers.members.len();
                self.list::<F>(at, len, &mut buffers.members)?;
                let end = buffers.members.len();
                buffers.open.push(Frame { start, next: start, end, is_object: true });
            }
            Node::Static(scalar) => self.scalar::<F>(at, scalar, &mut buffers.out)?,
        }
        Ok(())
    }

    /// Lists the members of the object at `at` in the form's order.
    fn list<F: Form>(&self, at: usize, len: usize, members: &mut Vec<Member>) -> Result<(), Unfit> {
        let nodes = self.tape.nodes();
        let start = members.len();
        let mut name = at + 1;
        let mut last: Option<Member> = None;
        let mut ascending = true;
        for _ in 0..len {
            let value = name + 1;
            if self.omit != Some(value) {
                let member = Member { key: F::key(self.name(name)?), name: name as u32 };
                if let Some(last) = last {
                    ascending = ascending && self.order::<F>(last, member) == Ordering::Less;
                }
                members.push(member);
                last = Some(member);
            }
            name = behind(nodes, value);
        }
        if ascending {
            return Ok(());
        }
        let listed = members.get_mut(start..).unwrap_or_default();
        listed.sort_unstable_by(|left, right| self.order::<F>(*left, *right));
        let strictly = listed.is_sorted_by(|left, right| self.order::<F>(*left, *right) == Ordering::Less);
        if strictly { Ok(()) } else { Err(Unfit::DuplicateName) }
    }

    #[inline]
    fn order<F: Form>(&self, left: Member, right: Member) -> Ordering {
        left.key.cmp(&right.key).then_with(|| {
            let name = |member: Member| self.name(member.name as usize).unwrap_or_default();
            F::compare(name(left), name(right))
        })
    }

    #[inline]
    fn name(&self, at: usize) -> Result<&str, Unfit> {
        match self.tape.nodes().get(at) {
            Some(Node::String(name)) => Ok(name),
            _ => Err(Unfit::NoSuchNode),
        }
    }

    #[inline]
    fn string<F: Form>(&self, text: &str, out: &mut Vec<u8>) {
        out.push(b'"');
        if self.plain {
            out.extend_from_slice(text.as_bytes());
        } else {
            F::write_escaped(text, out);
        }
        out.push(b'"');
    }

    #[inline]
    fn scalar<F: Form>(&self, at: usize, scalar: StaticNode, out: &mut Vec<u8>) -> Result<(), Unfit> {
        let text: Text = match scalar {
            StaticNode::Null => {
                out.extend_from_slice(b"null");
                return Ok(());
            }
            StaticNode::Bool(value) => {
                out.extend_from_slice(if value { b"true" } else { b"false" });
                return Ok(());
            }
            StaticNode::I64(value) => integer::<F>(value.unsigned_abs(), value < 0)?,
            StaticNode::U64(value) => integer::<F>(value, false)?,
            StaticNode::F64(value) => {
                if let Some(text) = wide_text(self.tape, self.payload, at) {
                    if !F::CARRIES_WIDE_INTEGERS || !is_integer(text) {
                        return Err(Unfit::NumberRange);
                    }
                    out.extend_from_slice(text);
                    return Ok(());
                }
                if !value.is_finite() {
                    return Err(Unfit::NumberRange);
                }
                F::double(value)
            }
        };
        out.extend_from_slice(text.as_bytes());
        Ok(())
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
