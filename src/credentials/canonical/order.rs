//! The members of an object in the order of a form.
//!
//! What is compared is the first eight bytes of each name as one number; only names that share them are looked at closely.
//! Names that ascend strictly are in order and without duplicates: one compare shows both.

use std::cmp::Ordering;

use super::forms::Form;
use super::{Unfit, behind};
use crate::tape::{Escapes, Node, Tape};

/// Most objects have no more members than one of these; up to the last, they are put in order by counting.
const TINY: usize = 4;
const FEW: usize = 8;
const SOME: usize = 16;

/// A document whose members are wanted in order.
#[derive(Clone, Copy)]
pub(super) struct Ordered<'a> {
    pub(super) tape: Tape<'a>,
    pub(super) payload: &'a [u8],
    /// The value of the member that is left out; no node has this number if there is none.
    pub(super) omit: usize,
    /// Where strings may not stand in the payload as the form writes them.
    pub(super) escapes: Escapes,
}

impl<'a> Ordered<'a> {
    /// Lists the members of the object at `object`, which has `len` of them, in the form's order.
    #[inline]
    pub(super) fn list<F: Form>(
        self,
        object: usize,
        len: usize,
        members: &mut Vec<u32>,
    ) -> Result<(), Unfit> {
        if len <= TINY {
            self.list_up_to::<F, TINY>(object, len, members)
        } else if len <= FEW {
            self.list_up_to::<F, FEW>(object, len, members)
        } else if len <= SOME {
            self.list_up_to::<F, SOME>(object, len, members)
        } else {
            self.list_many::<F>(object, len, members)
        }
    }

    #[inline]
    fn list_up_to<F: Form, const N: usize>(
        self,
        object: usize,
        len: usize,
        members: &mut Vec<u32>,
    ) -> Result<(), Unfit> {
        let nodes = self.tape.nodes();
        // No name has such a key: it is no UTF-8.
        let (mut keys, mut names) = ([u64::MAX; N], [0_u32; N]);
        let (mut count, mut last_key, mut ascending) = (0, 0, true);
        let mut name_at = object + 1;
        for _ in 0..len {
            let name = self.name(name_at)?;
            if name_at + 1 != self.omit {
                let key = self.key::<F>(name);
                // The first key may be zero; then the look is closer than needed.
                ascending &= key > last_key;
                last_key = key;
                if let (Some(place), Some(name)) = (keys.get_mut(count), names.get_mut(count)) {
                    (*place, *name) = (key, name_at as u32);
                }
                count += 1;
            }
            name_at = behind(nodes, name_at + 1);
        }
        match if ascending { Some(names) } else { counted(&keys, &names, count) } {
            // PERF: a fixed number, of which those that are not there are dropped again.
            Some(sorted) => {
                members.extend_from_slice(&sorted);
                members.truncate(members.len() - N + count);
                Ok(())
            }
            None => self.list_many::<F>(object, len, members),
        }
    }

    /// Whether the members of the object at `object` stand in order as far as a glance tells; what is no object does.
    pub(super) fn begins_in_order<F: Form>(self, object: usize) -> bool {
        let nodes = self.tape.nodes();
        let Some(Node::Object { len, .. }) = nodes.get(object) else { return true };
        let (mut name_at, mut last_key) = (object + 1, 0);
        for _ in 0..*len {
            let Ok(name) = self.name(name_at) else { return false };
            if name_at + 1 != self.omit {
                let key = self.key::<F>(name);
                if key < last_key {
                    return false;
                }
                last_key = key;
            }
            name_at = behind(nodes, name_at + 1);
        }
        true
    }

    /// As [`Self::list`], for objects with many members, or with names that begin alike or stand twice.
    #[cold]
    fn list_many<F: Form>(self, object: usize, len: usize, members: &mut Vec<u32>) -> Result<(), Unfit> {
        let start = members.len();
        let mut name_at = object + 1;
        for _ in 0..len {
            if name_at + 1 != self.omit {
                members.push(name_at as u32);
            }
            name_at = behind(self.tape.nodes(), name_at + 1);
        }
        let listed = members.get_mut(start..).unwrap_or_default();
        let order = |left: &u32, right: &u32| {
            let name = |at: &u32| self.name(*at as usize).unwrap_or_default();
            let (left, right) = (name(left), name(right));
            self.key::<F>(left).cmp(&self.key::<F>(right)).then_with(|| F::compare(left, right))
        };
        if !listed.is_sorted_by(|left, right| order(left, right) == Ordering::Less) {
            listed.sort_unstable_by(order);
            if !listed.is_sorted_by(|left, right| order(left, right) == Ordering::Less) {
                return Err(Unfit::DuplicateName);
            }
        }
        Ok(())
    }

    /// The key of a name. PERF: loaded from the payload at once, where the name stands there, whatever its length.
    #[inline]
    fn key<F: Form>(self, name: &str) -> u64 {
        let place = self.tape.place(name);
        match self
            .payload
            .get(place..)
            .and_then(|rest| rest.first_chunk())
            .filter(|_| self.escapes.are_none())
        {
            Some(chunk) => {
                let unwanted = 64 - 8 * name.len().min(8) as u32;
                F::rank(u64::from_be_bytes(*chunk).checked_shr(unwanted).unwrap_or(0) << (unwanted & 63))
            }
            // At the payload's end there may be less than eight bytes.
            None => F::key(name),
        }
    }

    #[inline]
    pub(super) fn name(self, at: usize) -> Result<&'a str, Unfit> {
        match self.tape.nodes().get(at) {
            Some(Node::String(name)) => Ok(name),
            _ => Err(Unfit::NoSuchNode),
        }
    }
}

/// Puts a few members in order by counting for each how many come before it; `None` if two have the same key.
///
/// PERF: no branch depends on the names or on how many there are, so none is guessed wrong.
#[inline]
fn counted<const N: usize>(keys: &[u64; N], names: &[u32; N], count: usize) -> Option<[u32; N]> {
    let mut sorted = [0; N];
    let mut taken = 0_u32;
    for (key, name) in keys.iter().zip(names) {
        let rank = keys.iter().fold(0_usize, |rank, other| rank + usize::from(other < key));
        // Those that are not there all take the first place behind the others.
        *sorted.get_mut(rank)? = *name;
        taken |= 1 << rank;
    }
    // Two with one key take the same place.
    let wanted = count + usize::from(count < N);
    (taken.count_ones() as usize == wanted).then_some(sorted)
}
