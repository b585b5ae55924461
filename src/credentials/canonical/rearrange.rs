//! The form of a compact payload whose members are not in order: stretches of the payload, copied in the right order.
//!
//! Where everything below a value is in order, the value is one stretch. So a stretch ends only where an object that is
//! not in order begins; its members follow one by one, each a stretch again.

use std::ops::Range;

use super::forms::Form;
use super::in_place::{Compact, Member};
use super::{Unfit, behind};
use crate::tape::Node;

/// Neighbouring nodes, and where they stand in the payload.
#[derive(Clone, Debug)]
pub(super) struct Segment {
    pub(super) nodes: Range<usize>,
    pub(super) bytes: Range<usize>,
}

/// What is still to do.
#[derive(Clone, Debug)]
pub(super) enum Frame {
    /// Nodes to copy, some of which may have to be put in order.
    Copy(Segment),
    /// Members of an open object: places in the list.
    Members { start: usize, next: usize },
}

/// Appends a segment to `out`, with the members of the `disordered` objects (ascending by node) in order.
pub(super) fn append<F: Form>(
    compact: Compact<'_, '_, '_>,
    segment: Segment,
    disordered: &[u32],
    members: &mut Vec<Member>,
    frames: &mut Vec<Frame>,
    out: &mut Vec<u8>,
) -> Result<(), Unfit> {
    frames.clear();
    members.clear();
    // PERF: one reserve, since nothing gets longer.
    out.reserve(segment.bytes.len());
    frames.push(Frame::Copy(segment));
    while let Some(frame) = frames.pop() {
        match frame {
            Frame::Copy(segment) => copy::<F>(compact, segment, disordered, members, frames, out)?,
            Frame::Members { start, next } => write_members(compact, start, next, members, frames, out)?,
        }
    }
    Ok(())
}

/// Copies a segment up to the first object that is not in order, and opens that.
fn copy<F: Form>(
    compact: Compact<'_, '_, '_>,
    segment: Segment,
    disordered: &[u32],
    members: &mut Vec<Member>,
    frames: &mut Vec<Frame>,
    out: &mut Vec<u8>,
) -> Result<(), Unfit> {
    let Segment { nodes, bytes } = segment;
    let first = disordered.partition_point(|object| (*object as usize) < nodes.start);
    let Some(object) =
        disordered.get(first).map(|object| *object as usize).filter(|object| *object < nodes.end)
    else {
        out.extend_from_slice(compact.payload.get(bytes).ok_or(Unfit::NoSuchNode)?);
        return Ok(());
    };
    // An object that is not in order, or loses a member, has one: its first name stands behind `{"`.
    let open = compact.tape.place(compact.name(object + 1)?) - 2;
    let end = behind(compact.tape.nodes(), object);
    out.extend_from_slice(compact.payload.get(bytes.start..=open).ok_or(Unfit::NoSuchNode)?);
    let rest = open + compact.bytes(object, end)..bytes.end;
    frames.push(Frame::Copy(Segment { nodes: end..nodes.end, bytes: rest }));
    let start = members.len();
    compact.list_members::<F>(object, members)?;
    frames.push(Frame::Members { start, next: start });
    Ok(())
}

/// Writes members until one holds something that may have to be put in order itself.
fn write_members(
    compact: Compact<'_, '_, '_>,
    start: usize,
    next: usize,
    members: &mut Vec<Member>,
    frames: &mut Vec<Frame>,
    out: &mut Vec<u8>,
) -> Result<(), Unfit> {
    let mut next = next;
    while let Some(member) = members.get(next) {
        if next > start {
            out.push(b',');
        }
        next += 1;
        let name = member.name as usize;
        let bytes = compact.member_range(name)?;
        if let Some(Node::Object { count, .. } | Node::Array { count, .. }) =
            compact.tape.nodes().get(name + 1)
            && *count > 0
        {
            frames.push(Frame::Members { start, next });
            frames.push(Frame::Copy(Segment { nodes: name + 1..name + 2 + count, bytes }));
            return Ok(());
        }
        out.extend_from_slice(compact.payload.get(bytes).ok_or(Unfit::NoSuchNode)?);
    }
    out.push(b'}');
    members.truncate(start);
    Ok(())
}
