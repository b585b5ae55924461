//! The order of members in a compact payload: if it is right, the payload's own bytes are the form.
//!
//! Names that ascend strictly are in order and without duplicates: one compare shows both. What is compared is the first
//! eight bytes of each name, loaded from where it stands in the payload; only equal ones are looked at closely.
//!
//! A member that is left out may stand anywhere in its object: signatures are usually appended.

use std::cmp::Ordering;
use std::ops::Range;

use super::forms::Form;
use super::{Unfit, behind};
use crate::tape::{Node, Tape};

/// A compact payload and what is wanted of it.
#[derive(Clone, Copy)]
pub(super) struct Compact<'a, 'b, 't> {
    pub(super) tape: Tape<'t>,
    pub(super) payload: &'a [u8],
    /// The sums of `compact.rs`.
    pub(super) before: &'b [u32],
    /// The value of the member that is left out; no node has this number if there is none.
    pub(super) omit: usize,
}

/// A member of an object: its name's node and the key that stands for it.
#[derive(Clone, Copy, Debug)]
pub(super) struct Member {
    pub(super) key: u64,
    pub(super) name: u32,
}

impl<'a, 't> Compact<'a, '_, 't> {
    /// Where the value at `node` stands; `None` where the place cannot be told.
    pub(super) fn range(self, node: usize) -> Option<Range<usize>> {
        let start = match node.checked_sub(1) {
            None => 0,
            Some(last) => {
                let Some(Node::String(text)) = self.tape.nodes().get(last) else { return None };
                let start = self.tape.place(text) + text.len() + 2;
                // Behind a closing bracket the string belongs to another container.
                matches!(self.payload.get(start - 1), Some(b':' | b',')).then_some(start)?
            }
        };
        Some(start..start + self.bytes(node, behind(self.tape.nodes(), node)))
    }

    /// How many bytes the nodes from `start` to `end` take, which are one value or neighbours.
    #[inline]
    pub(super) fn bytes(self, start: usize, end: usize) -> usize {
        match (self.before.get(start), self.before.get(end)) {
            (Some(start), Some(end)) => end.saturating_sub(*start) as usize,
            _ => 0,
        }
    }

    /// Keeps of the `objects` those within `nodes` whose members are not in order; returns the one that has to lose a
    /// member, if it is in order otherwise.
    pub(super) fn keep_disordered<F: Form>(
        self,
        nodes: &Range<usize>,
        objects: &mut Vec<u32>,
    ) -> Option<u32> {
        let mut loses = None;
        objects.retain(|object| {
            let at = *object as usize;
            let Some(Node::Object { len, .. }) = self.tape.nodes().get(at) else { return false };
            if !nodes.contains(&at) || (*len < 2 && at + 2 != self.omit) {
                return false;
            }
            let ordered = self.is_ordered::<F>(at, *len);
            if ordered == Some(true) {
                loses = Some(*object);
            }
            ordered.is_none()
        });
        loses
    }

    /// `None` if an object's members are not in order, else whether one of them is left out.
    #[inline]
    fn is_ordered<F: Form>(self, object: usize, len: usize) -> Option<bool> {
        let mut name_at = object + 1;
        let (mut last_key, mut last_name) = (0, None);
        let mut loses = false;
        for _ in 0..len {
            let name = self.name(name_at).ok()?;
            if name_at + 1 == self.omit {
                loses = true;
            } else {
                let key = self.key::<F>(name);
                if key <= last_key
                    && let Some(last_name) = last_name
                    && (key < last_key || F::compare(last_name, name) != Ordering::Less)
                {
                    return None;
                }
                (last_key, last_name) = (key, Some(name));
            }
            name_at = behind(self.tape.nodes(), name_at + 1);
        }
        Some(loses)
    }

    /// The key of a name, loaded from the payload.
    #[inline]
    fn key<F: Form>(self, name: &str) -> u64 {
        let place = self.tape.place(name);
        match self.payload.get(place..).and_then(|rest| rest.first_chunk()) {
            Some(chunk) => {
                let unwanted = 64 - 8 * name.len().min(8) as u32;
                F::rank(u64::from_be_bytes(*chunk).checked_shr(unwanted).unwrap_or(0) << (unwanted & 63))
            }
            // At the payload's end there may be less than eight bytes.
            None => F::key(name),
        }
    }

    /// Lists the members of an object in the form's order, without the one that is left out.
    pub(super) fn list_members<F: Form>(self, object: usize, members: &mut Vec<Member>) -> Result<(), Unfit> {
        let Some(Node::Object { len, .. }) = self.tape.nodes().get(object) else {
            return Err(Unfit::NoSuchNode);
        };
        let start = members.len();
        let mut name_at = object + 1;
        for _ in 0..*len {
            let name = self.name(name_at)?;
            if name_at + 1 != self.omit {
                members.push(Member { key: self.key::<F>(name), name: name_at as u32 });
            }
            name_at = behind(self.tape.nodes(), name_at + 1);
        }
        let listed = members.get_mut(start..).unwrap_or_default();
        listed.sort_unstable_by(|left, right| self.order::<F>(*left, *right));
        let strictly = listed.is_sorted_by(|left, right| self.order::<F>(*left, *right) == Ordering::Less);
        if strictly { Ok(()) } else { Err(Unfit::DuplicateName) }
    }

    #[inline]
    fn order<F: Form>(self, left: Member, right: Member) -> Ordering {
        left.key.cmp(&right.key).then_with(|| {
            let name = |member: Member| self.name(member.name as usize).unwrap_or_default();
            F::compare(name(left), name(right))
        })
    }

    #[inline]
    pub(super) fn name(self, at: usize) -> Result<&'t str, Unfit> {
        match self.tape.nodes().get(at) {
            Some(Node::String(name)) => Ok(name),
            _ => Err(Unfit::NoSuchNode),
        }
    }

    /// Where the member with the name at `name_at` stands, from its opening quote to the end of its value.
    #[inline]
    pub(super) fn member_range(self, name_at: usize) -> Result<Range<usize>, Unfit> {
        let name = self.name(name_at)?;
        let start = self.tape.place(name) - 1;
        Ok(start..start + name.len() + 3 + self.bytes(name_at + 1, behind(self.tape.nodes(), name_at + 1)))
    }

    /// The bytes of `value` in the payload; around the member that is left out, if it loses one, and its comma.
    pub(super) fn pieces(self, value: Range<usize>, loses: bool) -> Option<[&'a [u8]; 2]> {
        if !loses {
            return Some([self.payload.get(value)?, &[]]);
        }
        let Range { mut start, mut end } = self.member_range(self.omit - 1).ok()?;
        if self.payload.get(end) == Some(&b',') {
            end += 1;
        } else if self.payload.get(start - 1) == Some(&b',') {
            start -= 1;
        }
        Some([self.payload.get(value.start..start)?, self.payload.get(end..value.end)?])
    }
}
