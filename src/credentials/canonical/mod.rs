//! Canonical forms of JSON, straight from the tape: the bytes that signatures and identities are made of.
//!
//! [`jcs`] is RFC 8785; [`cpython`] is what Python's `json.dumps` makes of sorted names in ASCII. There are four ways:
//!
//! 1. The payload has the form already: it is compact (`compact.rs`) and its members are in order. Then the answer is a
//!    piece of the payload, or two around a member that is left out, and nothing is written.
//! 2. It is compact, members are not in order, and its outline is known: stretches of the payload are copied in the right
//!    order (`stretches.rs`, `plans.rs`).
//! 3. It is not compact, or has escapes, and its outline is known: values are written in the right order, with what is
//!    known to stand between them (`turns.rs`, `plans.rs`).
//! 4. Otherwise the form is written from the tape, token by token (`write.rs`).
//!
//! All of them give the same bytes; a test with random documents holds that.
//!
//! Nothing here recurses, and nothing allocates once the memory is warm. This folder must not know formats or keys.

pub mod capability;
mod compact;
mod forms;
mod members;
mod numbers;
mod order;
mod plans;
mod room;
mod stretches;
#[cfg(test)]
pub(super) mod tests;
mod turns;
mod walk;
mod write;

use forms::{Cpython, Form, Jcs};
pub use members::whole_and_members;
use order::Ordered;
use plans::Plans;
pub(super) use room::Room;
use stretches::{Compact, Stretch};
use walk::Lists;

use crate::tape::{Escapes, Node, NodeIndex, Tape};

/// Why a value has no canonical form.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Unfit {
    /// A number that the form cannot carry: beyond a double, or under RFC 8785 an integer beyond ±(2^53 − 1).
    NumberRange,
    /// A name stands twice in one object.
    DuplicateName,
    /// The node is not on the tape, or the tape is not whole.
    NoSuchNode,
}

/// Memory for canonical forms, used again for every record.
#[derive(Debug, Default)]
pub struct Buffers {
    /// Forms of documents whose outline is known.
    plans: Plans,
    /// What was written.
    pub(super) out: Room,
    /// What was cut out of it.
    cut: Room,
    lists: Lists,
    /// Entries of a list that is sorted.
    places: Vec<u32>,
    /// The form as stretches of a compact payload.
    stretches: Vec<Stretch>,
}

/// A canonical form in one piece.
pub type OnePiece<'a> = Result<&'a [u8], Unfit>;

/// A value in canonical form: its bytes are the first piece, followed by the second.
#[derive(Clone, Copy, Debug)]
pub struct Canonical<'a> {
    pieces: [&'a [u8]; 2],
    in_place: bool,
}

impl<'a> Canonical<'a> {
    /// The bytes, in two pieces of which the second is usually empty.
    #[must_use]
    pub fn pieces(self) -> [&'a [u8]; 2] {
        self.pieces
    }

    /// Whether the pieces are the payload's own bytes.
    #[must_use]
    pub fn is_in_place(self) -> bool {
        self.in_place
    }
}

/// The RFC 8785 form of the value at `node`, without the member whose value is the node `omit`.
///
/// `payload` has to be what `tape` was made from.
pub fn jcs<'a>(
    tape: Tape<'_>,
    payload: &'a [u8],
    node: NodeIndex,
    omit: Option<NodeIndex>,
    buffers: &'a mut Buffers,
) -> Result<Canonical<'a>, Unfit> {
    canonical::<Jcs>(tape, payload, node, omit, buffers)
}

/// The form of CPython's `json.dumps(value, sort_keys=True, separators=(",", ":"))` of the value at `node`, without the
/// member whose value is the node `omit`; integers have the digits that they came with.
pub fn cpython<'a>(
    tape: Tape<'_>,
    payload: &'a [u8],
    node: NodeIndex,
    omit: Option<NodeIndex>,
    buffers: &'a mut Buffers,
) -> Result<Canonical<'a>, Unfit> {
    canonical::<Cpython>(tape, payload, node, omit, buffers)
}

/// The RFC 8785 form of a whole document, in one piece.
pub fn whole<'a>(tape: Tape<'_>, payload: &'a [u8], buffers: &'a mut Buffers) -> OnePiece<'a> {
    let in_place = put_whole(tape, payload, buffers)?;
    Ok(in_place.unwrap_or(&buffers.out))
}

/// The payload, if it is the form itself; `None` if the form was written to `buffers` instead.
fn put_whole<'a>(
    tape: Tape<'_>,
    payload: &'a [u8],
    buffers: &mut Buffers,
) -> Result<Option<&'a [u8]>, Unfit> {
    buffers.out.clear();
    match append::<Jcs>(tape, payload, NodeIndex(0), None, buffers)? {
        Some([whole, []]) => return Ok(Some(whole)),
        Some(pieces) => pieces.iter().for_each(|piece| buffers.out.extend_from_slice(piece)),
        None => {}
    }
    Ok(None)
}

/// Appends the RFC 8785 form to `buffers`, also where the payload has it.
pub(super) fn append_jcs(
    tape: Tape<'_>,
    payload: &[u8],
    node: NodeIndex,
    omit: Option<NodeIndex>,
    buffers: &mut Buffers,
) -> Result<(), Unfit> {
    for piece in append::<Jcs>(tape, payload, node, omit, buffers)?.into_iter().flatten() {
        buffers.out.extend_from_slice(piece);
    }
    Ok(())
}

/// Appends the CPython form to `buffers`, also where the payload has it.
pub(super) fn append_cpython(
    tape: Tape<'_>,
    payload: &[u8],
    node: NodeIndex,
    buffers: &mut Buffers,
) -> Result<(), Unfit> {
    for piece in append::<Cpython>(tape, payload, node, None, buffers)?.into_iter().flatten() {
        buffers.out.extend_from_slice(piece);
    }
    Ok(())
}

/// Appends a string with its quotes as CPython writes it.
pub(super) fn append_cpython_string(text: &str, out: &mut Room) {
    out.push(b'"');
    Cpython::write_escaped(text, out);
    out.push(b'"');
}

fn canonical<'a, F: Form>(
    tape: Tape<'_>,
    payload: &'a [u8],
    node: NodeIndex,
    omit: Option<NodeIndex>,
    buffers: &'a mut Buffers,
) -> Result<Canonical<'a>, Unfit> {
    buffers.out.clear();
    Ok(match append::<F>(tape, payload, node, omit, buffers)? {
        Some(pieces) => Canonical { pieces, in_place: true },
        None => Canonical { pieces: [&buffers.out, &[]], in_place: false },
    })
}

/// The pieces of the payload that are the form; `None` if the form was appended to the buffer instead.
fn append<'a, F: Form>(
    tape: Tape<'_>,
    payload: &'a [u8],
    node: NodeIndex,
    omit: Option<NodeIndex>,
    buffers: &mut Buffers,
) -> Result<Option<[&'a [u8]; 2]>, Unfit> {
    let Buffers { out, lists, stretches, plans, .. } = buffers;
    let mut ordered = Ordered {
        tape,
        payload,
        omit: omit.map_or(usize::MAX, |omit| omit.0 as usize),
        escapes: Escapes::NONE,
    };
    let node = node.0 as usize;
    let compact = Compact::new(tape, payload, node);
    if let (Some(compact), Some(stretches)) = (compact, plans.find::<F>(ordered, node)) {
        return compact.take::<F>(stretches, out);
    }
    ordered.escapes = F::escapes(tape);
    if let Some(compact) = compact
        && ordered.escapes.are_none()
        && tape.wide().is_empty()
        && compact::begins_compact(tape, payload)
        // PERF: of a form that will not be known the next time either, a list is good only if all is in order.
        && (tape.outline().is_some() || ordered.begins_in_order::<F>(node))
        && is_listed::<F>(ordered, node, lists, stretches)
    {
        plans.learn::<F>(ordered, node, stretches);
        return compact.take::<F>(stretches, out);
    }
    match plans.turns::<F>(ordered, node, lists) {
        Some((listed, known)) => turns::write::<F>(ordered, listed, known, out)?,
        None => write::append::<F>(ordered, node, lists, out)?,
    }
    Ok(None)
}

/// Lists the form's stretches; `false` if the payload is not compact, or has no form.
fn is_listed<F: Form>(
    ordered: Ordered<'_>,
    node: usize,
    lists: &mut Lists,
    stretches: &mut Vec<Stretch>,
) -> bool {
    stretches::list::<F>(ordered, node, lists, stretches)
        .is_ok_and(|listed| listed.whole && is_compact::<F>(ordered, node, listed.bytes))
}

/// Whether the payload holds its tokens as the form writes them; `bytes` is the length of the value's form.
fn is_compact<F: Form>(ordered: Ordered<'_>, node: usize, bytes: Option<usize>) -> bool {
    let Ordered { tape, payload, omit, .. } = ordered;
    let omitted = if omit == usize::MAX { Some(0) } else { compact::omitted_bytes(tape, omit) };
    match (omitted.filter(|_| node == 0), bytes) {
        (_, None) => false,
        (Some(omitted), Some(bytes)) => bytes + omitted == payload.trim_ascii_end().len(),
        (None, _) => compact::is_compact::<F>(tape, payload),
    }
}

/// The value of a member of the object at `node`, the last one where a name stands twice; `None` also where that is no
/// object.
#[must_use]
pub fn member(tape: Tape<'_>, node: NodeIndex, name: &str) -> Option<NodeIndex> {
    let nodes = tape.nodes();
    let Some(Node::Object { len, .. }) = nodes.get(node.0 as usize) else { return None };
    let mut at = node.0 as usize + 1;
    let mut last = None;
    for _ in 0..*len {
        if matches!(nodes.get(at), Some(Node::String(found)) if *found == name) {
            last = Some(NodeIndex(at as u32 + 1));
        }
        at = behind(nodes, at + 1);
    }
    last
}

/// The node behind the value at `at`.
#[inline]
fn behind(nodes: &[Node<'_>], at: usize) -> usize {
    match nodes.get(at) {
        Some(Node::Object { count, .. } | Node::Array { count, .. }) => at + count + 1,
        _ => at + 1,
    }
}

/// The text of a number that no 64-bit form can carry.
fn wide_text<'a>(tape: Tape<'_>, payload: &'a [u8], at: usize) -> Option<&'a [u8]> {
    let wide = tape.wide();
    let found = wide.binary_search_by_key(&at, |wide| wide.node.0 as usize).ok()?;
    let wide = wide.get(found)?;
    payload.get(wide.start as usize..wide.start as usize + wide.len as usize)
}

/// Whether a number's text makes it an integer.
fn is_integer(text: &[u8]) -> bool {
    !text.iter().any(|byte| matches!(byte, b'.' | b'e' | b'E'))
}
