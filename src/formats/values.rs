//! Values on the tape as formats read them: a node with its tape, and the few questions that rules ask.
//!
//! Everything here is `Copy`, borrows from the tape and allocates nothing. Where a name stands twice in one object the
//! last one counts; formats that refuse duplicates never get here with one.

use crate::tape::{Node, NodeIndex, StaticNode, Tape};

/// One value of a document.
#[derive(Clone, Copy, Debug)]
pub(super) struct Value<'a> {
    tape: Tape<'a>,
    at: NodeIndex,
}

impl<'a> Value<'a> {
    /// The document itself.
    pub(super) fn root(tape: Tape<'a>) -> Self {
        Self::new(tape, NodeIndex(0))
    }

    /// The value at a node.
    pub(super) fn new(tape: Tape<'a>, at: NodeIndex) -> Self {
        Self { tape, at }
    }

    /// Where it stands.
    pub(super) fn at(self) -> NodeIndex {
        self.at
    }

    /// Its tape.
    pub(super) fn tape(self) -> Tape<'a> {
        self.tape
    }

    fn node(self) -> Option<&'a Node<'a>> {
        self.tape.nodes().get(self.at.0 as usize)
    }

    /// Its text, if it is a string.
    pub(super) fn text(self) -> Option<&'a str> {
        match self.node()? {
            Node::String(text) => Some(text),
            _ => None,
        }
    }

    /// Its value, if it is written as an integer within 64 bits and a sign.
    ///
    /// `1.0`, `1e3` and longer integers are doubles on the tape, and therefore no integers here.
    pub(super) fn integer(self) -> Option<i64> {
        match self.node()? {
            Node::Static(StaticNode::I64(number)) => Some(*number),
            Node::Static(StaticNode::U64(number)) => i64::try_from(*number).ok(),
            _ => None,
        }
    }

    pub(super) fn is_null(self) -> bool {
        matches!(self.node(), Some(Node::Static(StaticNode::Null)))
    }

    pub(super) fn is_object(self) -> bool {
        matches!(self.node(), Some(Node::Object { .. }))
    }

    pub(super) fn is_array(self) -> bool {
        matches!(self.node(), Some(Node::Array { .. }))
    }

    /// How many members or items it has; none for what is no container.
    pub(super) fn len(self) -> usize {
        match self.node() {
            Some(Node::Object { len, .. } | Node::Array { len, .. }) => *len,
            _ => 0,
        }
    }

    /// The members of an object in document order; nothing for other values.
    pub(super) fn members(self) -> impl Iterator<Item = (&'a str, Value<'a>)> {
        let len = if self.is_object() { self.len() } else { 0 };
        let mut at = self.at.0 + 1;
        (0..len).map_while(move |_| {
            let name = Self::new(self.tape, NodeIndex(at)).text()?;
            let value = Self::new(self.tape, NodeIndex(at + 1));
            at = value.end();
            Some((name, value))
        })
    }

    /// The items of an array; nothing for other values.
    pub(super) fn items(self) -> impl Iterator<Item = Value<'a>> {
        let len = if self.is_array() { self.len() } else { 0 };
        let mut at = self.at.0 + 1;
        (0..len).map(move |_| {
            let item = Self::new(self.tape, NodeIndex(at));
            at = item.end();
            item
        })
    }

    /// The member of this name, if this is an object that has one.
    pub(super) fn member(self, name: &str) -> Option<Value<'a>> {
        self.members().filter(|(known, _)| *known == name).last().map(|(_, value)| value)
    }

    /// The node behind this value and all that it contains.
    fn end(self) -> u32 {
        let nested = match self.node() {
            Some(Node::Object { count, .. } | Node::Array { count, .. }) => *count as u32,
            _ => 0,
        };
        self.at.0 + 1 + nested
    }
}
