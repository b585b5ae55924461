//! One record as rules see it: its tape, the members they asked for, and the time. Nothing here allocates.

use std::cmp::Ordering;

use crate::clock::Timestamp;
use crate::program::Decimal;
use crate::tape::{Node, NodeIndex, StaticNode, Tape};

use super::facts::Asked;
use super::fields::{Field, Fields, behind};
use super::rule::Found;

/// The headers of a record, looked at only by rules that ask for one.
pub trait Headers {
    /// Hands the value of each header with this name to `then`, in their order.
    fn each(&self, name: &str, then: &mut dyn FnMut(&[u8]));
}

/// A record that is being judged.
#[derive(Clone, Copy)]
pub struct Record<'a> {
    /// The parsed payload.
    pub tape: Tape<'a>,
    /// The payload as it was received.
    pub payload: &'a [u8],
    /// Whether the schema holds. Only formats whose own steps decide about the shape are asked about records out of it.
    pub in_shape: bool,
    /// The members that the format's rules look at.
    pub fields: &'a Fields,
    /// The time to judge by; `None` means the envelope's own time, by which it is always fresh.
    pub now: Option<Timestamp>,
    /// The record's key, where the source has keys.
    pub key: Option<&'a [u8]>,
    /// Its headers, where the source has headers.
    pub headers: Option<&'a dyn Headers>,
    /// What the rules have found out, once they have run.
    pub found: Found,
    /// What its facts are to hold.
    pub asked: &'a Asked,
}

impl<'a> Record<'a> {
    /// The member's node, if it is there.
    #[inline]
    #[must_use]
    pub fn node(&self, field: Field) -> Option<NodeIndex> {
        self.fields.node(field)
    }

    /// Where to point at for a member: its node, or the document if it is absent.
    #[inline]
    #[must_use]
    pub fn place(&self, field: Field) -> NodeIndex {
        self.node(field).unwrap_or_default()
    }

    /// The member's text, if it is there and a text.
    #[inline]
    #[must_use]
    pub fn text(&self, field: Field) -> Option<&'a str> {
        self.text_at(self.node(field)?)
    }

    /// What tells the record from others with the same identity.
    #[must_use]
    pub fn content_tag(&self) -> u64 {
        self.asked.names.payload_tag(self.payload, self.found.mac.as_ref())
    }

    /// A node.
    #[inline]
    #[must_use]
    pub fn value(&self, at: NodeIndex) -> Option<Node<'a>> {
        self.tape.nodes().get(at.0 as usize).copied()
    }

    /// A node's text, if it is one.
    #[inline]
    #[must_use]
    pub fn text_at(&self, at: NodeIndex) -> Option<&'a str> {
        match self.value(at)? {
            Node::String(text) => Some(text),
            _ => None,
        }
    }

    /// A node's number, if it is written as an integer within 64 bits and a sign: `1.0`, `1e3` and longer integers are
    /// doubles on the tape.
    #[must_use]
    pub fn integer_at(&self, at: NodeIndex) -> Option<i64> {
        match self.value(at)? {
            Node::Static(StaticNode::I64(number)) => Some(number),
            Node::Static(StaticNode::U64(number)) => i64::try_from(number).ok(),
            _ => None,
        }
    }

    /// A node's whole number, in any spelling of it: `1`, `1.0` and `1e0` are the same. Doubles count as far as they
    /// tell integers apart.
    #[must_use]
    pub fn whole_at(&self, at: NodeIndex) -> Option<i64> {
        whole(self.tape, at)
    }

    /// Whether a node is a whole number of any size, in any spelling of it.
    #[must_use]
    pub fn is_whole_at(&self, at: NodeIndex) -> bool {
        match self.value(at) {
            Some(Node::Static(StaticNode::I64(_) | StaticNode::U64(_))) => true,
            Some(Node::Static(StaticNode::F64(_))) => self.tape.number_text(at).is_some_and(is_integer),
            _ => false,
        }
    }

    /// How a number compares with a small whole one, by its digits; `None` if it is no number.
    #[must_use]
    pub fn compare_at(&self, at: NodeIndex, bound: u32) -> Option<Ordering> {
        match self.value(at)? {
            Node::Static(StaticNode::I64(number)) => Some(number.cmp(&i64::from(bound))),
            Node::Static(StaticNode::U64(number)) => Some(number.cmp(&u64::from(bound))),
            // The digits have the word only where the nearest double is the bound itself.
            Node::Static(StaticNode::F64(number)) => match number.partial_cmp(&f64::from(bound))? {
                Ordering::Equal => Some(Decimal::of(self.tape.number_text(at)?).compare_whole(bound.into())),
                other => Some(other),
            },
            _ => None,
        }
    }

    /// Whether a node is null.
    #[must_use]
    pub fn is_null(&self, at: NodeIndex) -> bool {
        matches!(self.value(at), Some(Node::Static(StaticNode::Null)))
    }

    /// Whether a node is an object.
    #[must_use]
    pub fn is_object(&self, at: NodeIndex) -> bool {
        matches!(self.value(at), Some(Node::Object { .. }))
    }

    /// Whether a node is an array.
    #[must_use]
    pub fn is_array(&self, at: NodeIndex) -> bool {
        matches!(self.value(at), Some(Node::Array { .. }))
    }

    /// Whether a node is true or false, if it is either.
    #[must_use]
    pub fn flag_at(&self, at: NodeIndex) -> Option<bool> {
        match self.value(at)? {
            Node::Static(StaticNode::Bool(flag)) => Some(flag),
            _ => None,
        }
    }

    /// A number, if it is one; beyond 53 bits it is the nearest double, which is enough to compare with small bounds.
    #[must_use]
    pub fn number_at(&self, at: NodeIndex) -> Option<f64> {
        match self.value(at)? {
            Node::Static(StaticNode::I64(number)) => Some(number as f64),
            Node::Static(StaticNode::U64(number)) => Some(number as f64),
            Node::Static(StaticNode::F64(number)) => Some(number),
            _ => None,
        }
    }

    /// The member of an object, if both are there.
    #[must_use]
    pub fn member(&self, object: NodeIndex, name: &str) -> Option<NodeIndex> {
        self.members(object).find(|(found, _)| *found == name).map(|(_, value)| value)
    }

    /// The members of an object; none if it is no object.
    pub fn members(&self, object: NodeIndex) -> impl Iterator<Item = (&'a str, NodeIndex)> + use<'a> {
        let nodes = self.tape.nodes();
        let (len, mut at) = match nodes.get(object.0 as usize) {
            Some(Node::Object { len, .. }) => (*len, object.0 as usize + 1),
            _ => (0, 0),
        };
        (0..len).map_while(move |_| {
            let Some(Node::String(name)) = nodes.get(at) else { return None };
            let value = at + 1;
            at = behind(nodes, value);
            Some((*name, NodeIndex(value as u32)))
        })
    }

    /// The items of an array; none if it is no array.
    #[must_use]
    pub fn items(&self, array: NodeIndex) -> impl ExactSizeIterator<Item = NodeIndex> + Clone + use<'a> {
        let nodes = self.tape.nodes();
        let (len, mut at) = match nodes.get(array.0 as usize) {
            Some(Node::Array { len, .. }) => (*len, array.0 as usize + 1),
            _ => (0, 0),
        };
        (0..len).map(move |_| {
            let item = at;
            at = behind(nodes, item);
            NodeIndex(item as u32)
        })
    }

    /// The first integer beyond ±(2^53−1), which RFC 8785 cannot carry.
    #[must_use]
    pub fn first_inexact_integer(&self) -> Option<NodeIndex> {
        const SAFE_MAX: u64 = (1 << 53) - 1;
        let wide_integer =
            |at: usize| self.tape.wide().iter().any(|wide| wide.whole && wide.node.0 as usize == at);
        let inexact = self.tape.nodes().iter().enumerate().position(|(at, node)| match node {
            Node::Static(StaticNode::I64(number)) => number.unsigned_abs() > SAFE_MAX,
            Node::Static(StaticNode::U64(number)) => *number > SAFE_MAX,
            Node::Static(StaticNode::F64(_)) => !self.tape.wide().is_empty() && wide_integer(at),
            _ => false,
        });
        inexact.map(|at| NodeIndex(at as u32))
    }
}

/// Whether a number has no fraction, by its digits.
fn is_integer(text: &str) -> bool {
    Decimal::of(text).is_integer()
}

/// A node's whole number, in any spelling of it.
#[must_use]
pub(super) fn whole(tape: Tape<'_>, at: NodeIndex) -> Option<i64> {
    const EXACT_MAX: f64 = 9_007_199_254_740_991.0;
    match tape.nodes().get(at.0 as usize)? {
        Node::Static(StaticNode::I64(number)) => Some(*number),
        Node::Static(StaticNode::U64(number)) => i64::try_from(*number).ok(),
        Node::Static(StaticNode::F64(number)) if number.fract() == 0.0 && number.abs() <= EXACT_MAX => {
            is_integer(tape.number_text(at)?).then_some(*number as i64)
        }
        _ => None,
    }
}
