//! Walks a value in the order of a form: members sorted, everything else as it stands.
//!
//! The walk names every token and every piece of punctuation in the order in which the form writes them; what becomes of
//! them is up to an [`Emit`]. It does not recurse.

use super::forms::Form;
use super::order::Ordered;
use super::{Unfit, behind};
use crate::tape::{Node, StaticNode};

/// What is told of a form, token by token.
pub(super) trait Emit {
    /// An opening bracket.
    fn open(&mut self, bracket: u8);
    /// A closing bracket.
    fn close(&mut self, bracket: u8);
    /// A comma.
    fn comma(&mut self);
    /// The name at a node, and its colon.
    fn name(&mut self, at: usize, name: &str);
    /// The string at a node.
    fn string(&mut self, at: usize, text: &str);
    /// A member whose value is a string; its name stands at the node.
    #[inline]
    fn text_member(&mut self, at: usize, name: &str, text: &str) {
        self.name(at, name);
        self.string(at + 1, text);
    }
    /// The number or word at a node.
    fn scalar(&mut self, at: usize, scalar: StaticNode) -> Result<(), Unfit>;
    /// The empty object or array at a node.
    fn empty(&mut self, at: usize, brackets: [u8; 2]);
}

/// An open container: an array's places are nodes, an object's are places in the list of members.
#[derive(Clone, Copy, Debug)]
pub(super) struct Frame {
    start: usize,
    next: usize,
    end: usize,
    is_object: bool,
}

/// Memory of the walk.
#[derive(Debug, Default)]
pub(super) struct Lists {
    /// Containers around the one that is walked.
    open: Vec<Frame>,
    /// Members of open objects, in the form's order.
    members: Vec<u32>,
}

/// Walks the value at `node`.
pub(super) fn walk<F: Form, E: Emit>(
    ordered: Ordered<'_>,
    node: usize,
    lists: &mut Lists,
    emit: &mut E,
) -> Result<(), Unfit> {
    let Lists { open, members } = lists;
    open.clear();
    members.clear();
    let Some(mut frame) = begin::<F, E>(ordered, node, members, emit)? else { return Ok(()) };
    loop {
        // PERF: members whose values have no parts stay in this loop.
        let inner = if frame.is_object {
            members_until::<F, E>(ordered, &mut frame, members, emit)?
        } else {
            items_until::<F, E>(ordered, &mut frame, members, emit)?
        };
        if let Some(inner) = inner {
            open.push(frame);
            frame = inner;
            continue;
        }
        emit.close(if frame.is_object { b'}' } else { b']' });
        if frame.is_object {
            members.truncate(frame.start);
        }
        match open.pop() {
            Some(outer) => frame = outer,
            None => return Ok(()),
        }
    }
}

/// Emits members of an object until one is a container that is not empty.
#[inline]
fn members_until<F: Form, E: Emit>(
    ordered: Ordered<'_>,
    frame: &mut Frame,
    members: &mut Vec<u32>,
    emit: &mut E,
) -> Result<Option<Frame>, Unfit> {
    while frame.next < frame.end {
        if frame.next > frame.start {
            emit.comma();
        }
        let name_at = *members.get(frame.next).ok_or(Unfit::NoSuchNode)? as usize;
        frame.next += 1;
        let Some([Node::String(name), value, ..]) = ordered.tape.nodes().get(name_at..) else {
            return Err(Unfit::NoSuchNode);
        };
        if let Node::String(text) = value {
            emit.text_member(name_at, name, text);
            continue;
        }
        emit.name(name_at, name);
        if let Some(inner) = begin::<F, E>(ordered, name_at + 1, members, emit)? {
            return Ok(Some(inner));
        }
    }
    Ok(None)
}

/// Emits items of an array until one is a container that is not empty.
#[inline]
fn items_until<F: Form, E: Emit>(
    ordered: Ordered<'_>,
    frame: &mut Frame,
    members: &mut Vec<u32>,
    emit: &mut E,
) -> Result<Option<Frame>, Unfit> {
    while frame.next < frame.end {
        if frame.next > frame.start {
            emit.comma();
        }
        let item = frame.next;
        frame.next = behind(ordered.tape.nodes(), item);
        if let Some(inner) = begin::<F, E>(ordered, item, members, emit)? {
            return Ok(Some(inner));
        }
    }
    Ok(None)
}

/// Emits a value without parts, or opens a container.
#[inline]
fn begin<F: Form, E: Emit>(
    ordered: Ordered<'_>,
    at: usize,
    members: &mut Vec<u32>,
    emit: &mut E,
) -> Result<Option<Frame>, Unfit> {
    match *ordered.tape.nodes().get(at).ok_or(Unfit::NoSuchNode)? {
        Node::String(text) => emit.string(at, text),
        Node::Static(scalar) => emit.scalar(at, scalar)?,
        Node::Array { count: 0, .. } => emit.empty(at, *b"[]"),
        Node::Object { count: 0, .. } => emit.empty(at, *b"{}"),
        Node::Array { count, .. } => {
            emit.open(b'[');
            let start = at + 1;
            return Ok(Some(Frame { start, next: start, end: start + count, is_object: false }));
        }
        Node::Object { len, .. } => {
            emit.open(b'{');
            let start = members.len();
            ordered.list::<F>(at, len, members)?;
            return Ok(Some(Frame { start, next: start, end: members.len(), is_object: true }));
        }
    }
    Ok(None)
}
