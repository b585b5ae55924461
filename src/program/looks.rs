//! What a look at a node tells: its type, and whether that is all that is asked of it.
//!
//! Most values of a document pass at a look, so no op runs for them. This file must not fail anything: what does not
//! pass here may still pass its op.

use crate::tape::{Node, StaticNode};

/// A set of JSON types. Numbers are split into those that are integers and those that are not.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Types(pub(super) u8);

impl Types {
    pub(super) const NULL: Self = Self(1);
    pub(super) const BOOLEAN: Self = Self(2);
    pub(super) const OBJECT: Self = Self(4);
    pub(super) const ARRAY: Self = Self(8);
    pub(super) const STRING: Self = Self(16);
    pub(super) const INTEGER: Self = Self(32);
    /// Integers and those with a fraction.
    pub(super) const NUMBER: Self = Self(32 | 64);
    pub(super) const ANY: Self = Self(127);

    /// Whether a node is of one of these types, as far as the nearest double tells: a number that it rounds to an integer
    /// may be none.
    #[inline]
    pub(super) fn admit(self, node: &Node<'_>) -> bool {
        match node {
            Node::String(_) => self.meets(Self::STRING),
            Node::Object { .. } => self.meets(Self::OBJECT),
            Node::Array { .. } => self.meets(Self::ARRAY),
            Node::Static(StaticNode::I64(_) | StaticNode::U64(_)) => self.meets(Self::INTEGER),
            Node::Static(StaticNode::F64(value)) => match self.0 & Self::NUMBER.0 {
                0 => false,
                both if both == Self::NUMBER.0 => true,
                one => (one == Self::INTEGER.0) == is_integral(*value),
            },
            Node::Static(StaticNode::Bool(_)) => self.meets(Self::BOOLEAN),
            Node::Static(StaticNode::Null) => self.meets(Self::NULL),
        }
    }

    /// Whether integers are the only numbers among them.
    #[inline]
    pub(super) fn wants_integers(self) -> bool {
        self.0 & Self::NUMBER.0 == Self::INTEGER.0
    }

    /// The types of a node that is neither a container nor a string, as far as they can be told without looking at its
    /// value: a number with a point is no integer here, though it can be one.
    #[inline(always)]
    #[expect(clippy::inline_always, reason = "a call per member costs more than the look itself")]
    fn of_scalar(node: StaticNode) -> Self {
        match node {
            StaticNode::I64(_) | StaticNode::U64(_) => Self::INTEGER,
            StaticNode::F64(_) => Self(64),
            StaticNode::Bool(_) => Self::BOOLEAN,
            StaticNode::Null => Self::NULL,
        }
    }

    #[inline(always)]
    #[expect(clippy::inline_always, reason = "it is one instruction")]
    pub(super) fn meets(self, other: Self) -> bool {
        self.0 & other.0 != 0
    }

    pub(super) fn without(self, other: Self) -> Self {
        Self(self.0 & !other.0)
    }

    pub(super) fn with(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }
}

#[expect(clippy::float_cmp, reason = "equality is what is asked for")]
/// Whether a double is an integer. One that overflowed counts as one: it has more digits before than behind the point.
fn is_integral(value: f64) -> bool {
    // PERF: the conversion is one instruction; `fract` is a call. Doubles beyond 2^53 have no fraction.
    value.abs() >= 9_007_199_254_740_992.0 || (value as i64) as f64 == value
}

/// What passes an op at a look, without running it: everything of which no more is asked than its type, and strings by
/// their length. What does not pass here may still pass the op.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Pass {
    /// Strings of at least so many bytes …
    bytes_min: u32,
    /// … and at most so many more.
    bytes_more: u32,
    /// Other values by their type.
    types: Types,
}

impl Pass {
    /// Nothing passes at a look. LIMIT: tapes count in 32 bits, so no string has that many bytes.
    pub(super) const NOTHING: Self = Self { bytes_min: u32::MAX, bytes_more: 0, types: Types(0) };

    /// Strings with `chars_min` to `chars_max` characters, if they are allowed, and other values of `types`.
    pub(super) fn new(types: Types, strings: Option<(u32, u32)>) -> Self {
        let Some((chars_min, chars_max)) = strings.filter(|_| types.meets(Types::STRING)) else {
            return Self { types: types.without(Types::STRING), ..Self::NOTHING };
        };
        // A character has one to four bytes: so many bytes are enough, and so many not too many.
        let bytes_min = chars_min.checked_sub(1).map_or(0, |more| more.saturating_mul(4).saturating_add(1));
        match chars_max.checked_sub(bytes_min) {
            Some(bytes_more) => Self { bytes_min, bytes_more, types: types.without(Types::STRING) },
            None => Self { types: types.without(Types::STRING), ..Self::NOTHING },
        }
    }

    /// Whether a value is a string that passes at a look.
    #[inline(always)]
    #[expect(clippy::inline_always, reason = "a call per member costs more than the look itself")]
    pub(super) fn admits_text(&self, node: &Node<'_>) -> bool {
        matches!(node, Node::String(text) if (text.len() as u32).wrapping_sub(self.bytes_min) <= self.bytes_more)
    }

    /// Whether every string passes at a look.
    pub(super) fn admits_every_text(&self) -> bool {
        (self.bytes_min, self.bytes_more) == (0, u32::MAX)
    }

    /// Whether a number, boolean or null passes at a look.
    #[inline(always)]
    #[expect(clippy::inline_always, reason = "a call per member costs more than the look itself")]
    pub(super) fn admits_scalar(&self, value: StaticNode) -> bool {
        self.types.meets(Types::of_scalar(value))
    }

    /// What is left of some items behind those that are strings or scalars and pass at a look.
    #[inline(always)]
    #[expect(clippy::inline_always, reason = "it is a loop over what is inlined")]
    pub(super) fn behind<'n>(&self, items: &'n [Node<'n>]) -> &'n [Node<'n>] {
        let mut rest = items;
        while let [item, tail @ ..] = rest {
            let passes = match item {
                Node::Static(value) => self.admits_scalar(*value),
                _ => self.admits_text(item),
            };
            if !passes {
                break;
            }
            rest = tail;
        }
        rest
    }

    /// Whether a value passes at a look; with `below`, nothing does that may have duplicate names below it.
    #[inline(always)]
    #[expect(clippy::inline_always, reason = "a call per member costs more than the look itself")]
    pub(super) fn admits(&self, node: &Node<'_>, below: bool) -> bool {
        match node {
            Node::String(_) => self.admits_text(node),
            Node::Static(value) => self.admits_scalar(*value),
            Node::Object { .. } => self.types.meets(Types::OBJECT) && !below,
            Node::Array { .. } => self.types.meets(Types::ARRAY) && !below,
        }
    }
}
