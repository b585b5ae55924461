//! Members of objects: the hottest loop of the program.
//!
//! On the fast path an object is first compared with the one that was last seen in its place (`expect`). If that
//! fails, its members are found at a glance, and their values checked in the schema's order. `required`, duplicates
//! and unknown names fall out of the same visit. The reporting path has an order of its own, see `report`.

use std::ops::ControlFlow::{self, Continue};

use super::expect::{Expectation, Value};
use super::{BYTES_PER_STEP, Duty, Sink, Walk};
use crate::program::duplicates::{self, behind, nested};
use crate::program::names::Glances;
use crate::program::ops::{BlockId, Kind, ObjectPlan, Op, OpIndex, Types};
use crate::tape::Node;
use crate::verdict::Reason;

impl<S: Sink> Walk<'_, S> {
    /// Runs an object's plan.
    #[inline(never)]
    pub(super) fn object(&mut self, plan: u32, at: usize, len: usize, duty: Duty) -> ControlFlow<()> {
        let Some(plan) = self.tables.objects.get(plan as usize) else { return Continue(()) };
        self.enter(len * (1 + plan.patterns.len()))?;
        if S::REPORTS {
            self.report_members(plan, at, len, duty)?;
        } else if !plan.counts.admits(len) {
            return self.fail(OpIndex::NONE, at, Reason::TooFew);
        } else if plan.plain && !duty.track {
            self.visit_plain(plan, at, len, duty)?;
        } else {
            self.visit_members(plan, at, len, duty)?;
        }
        self.depth += 1;
        Continue(())
    }

    /// As [`Self::visit_members`], for objects whose names can be told apart at a glance and where nobody takes notes.
    #[inline(always)]
    #[expect(clippy::inline_always, reason = "it has one caller")]
    fn visit_plain(&mut self, plan: &ObjectPlan, at: usize, len: usize, duty: Duty) -> ControlFlow<()> {
        if plan.slots.len() == 0 {
            return self.visit_map(plan, at, len, duty);
        }
        if let Some(expectation) = self.expectations.of(plan.number, len, at) {
            if self.visit_expected(expectation, at, duty)? {
                return Continue(());
            }
            expectation.surprise();
        }
        if plan.ops.len() <= FEW {
            self.visit_any_order::<FEW>(plan, at, len, duty)
        } else {
            self.visit_any_order::<{ Glances::LEN_MAX }>(plan, at, len, duty)
        }
    }

    /// Compares an object with what is expected of it, and checks its values. Says whether it was as expected.
    #[inline(always)]
    #[expect(clippy::inline_always, reason = "it has one caller")]
    fn visit_expected(&mut self, expectation: &Expectation, at: usize, duty: Duty) -> ControlFlow<(), bool> {
        self.pay(expectation.members.len())?;
        let (nodes, child) = (self.nodes, duty.of_child());
        let mut rest = nodes.get(at + 1..).unwrap_or_default();
        let mut members = expectation.members.iter();
        while let Some(expected) = members.next() {
            let [Node::String(name), value, tail @ ..] = rest else { return Continue(false) };
            if !expected.print.is_of(name) {
                return Continue(false);
            }
            rest = tail;
            // PERF: by far the most frequent case, so it does not go through the jump table.
            if matches!(expected.value, Value::String) && matches!(value, Node::String(_)) {
                continue;
            }
            let skip = match (expected.value, value) {
                (Value::String | Value::Leaf, Node::String(_) | Node::Static(_))
                    if expected.op.types.meets(Types::of(value)) =>
                {
                    continue;
                }
                (Value::Op, _) => {
                    self.value(&expected.op, nodes.len() - tail.len() - 1, value, child)?;
                    nested(value)
                }
                (Value::Object(expected), Node::Object { len, .. }) if *len == expected as usize => continue,
                (Value::Open(expected, inside), Node::Object { len, count }) => {
                    if duty.duplicates && *len == expected as usize {
                        continue;
                    }
                    if duty.duplicates {
                        return Continue(false);
                    }
                    members = members.as_slice().get(inside as usize..).unwrap_or_default().iter();
                    *count
                }
                _ => return Continue(false),
            };
            rest = tail.get(skip..).unwrap_or_default();
        }
        Continue(true)
    }

    /// Finds members and checks their values in two loops. The first has no branch that depends on names, and sees to
    /// all values of which a type is all that is asked. The second runs in the order of the slots, which is the same
    /// for every document: the processor learns it, whatever the order of members.
    #[inline(never)]
    fn visit_any_order<const SLOTS: usize>(
        &mut self,
        plan: &ObjectPlan,
        at: usize,
        len: usize,
        duty: Duty,
    ) -> ControlFlow<()> {
        let nodes = self.nodes;
        let Some(glances) = plan.names.glances() else { return Continue(()) };
        let members = nodes.get(at + 1..behind(nodes, at)).unwrap_or_default();
        let mut places = [0_u32; SLOTS];
        let found = find_members(members, plan, glances, duty, &mut places);
        if found.twice {
            return self.visit_members(plan, at, len, duty);
        }
        if plan.required_mask & !found.seen != 0 {
            return self.fail(OpIndex::NONE, at, Reason::MissingField);
        }
        let child = duty.of_child();
        let mut left = found.unchecked;
        while left != 0 {
            let number = left.trailing_zeros() as usize;
            left &= left - 1;
            let value_at = at + places.get(number % SLOTS).map_or(0, |place| *place as usize);
            let (Some(op), Some(value)) = (plan.ops.get(number), nodes.get(value_at)) else { break };
            self.value(op, value_at, value, child)?;
        }
        let open =
            !duty.duplicates && matches!(plan.others.kind, Kind::Any) && plan.others.types == Types::ANY;
        if !found.unknown || open {
            return Continue(());
        }
        self.visit_unknown(plan, glances, at, len, duty)
    }

    /// The members of a plain object that no slot has.
    #[inline(never)]
    fn visit_unknown(
        &mut self,
        plan: &ObjectPlan,
        glances: &Glances,
        at: usize,
        len: usize,
        duty: Duty,
    ) -> ControlFlow<()> {
        let mut name_at = at + 1;
        let mut unknown = 0;
        for _ in 0..len {
            let Some([Node::String(name), value, ..]) = self.nodes.get(name_at..) else { break };
            if plan.names.glance(glances, name).is_none() {
                unknown += 1;
                self.visit_other(plan, name, name_at + 1, value, duty)?;
            }
            name_at += 2 + nested(value);
        }
        // An unknown name cannot equal a known one, so one alone is no duplicate.
        if unknown > 1 { self.unique_names(at, len, duty) } else { Continue(()) }
    }

    /// The members of an object without known names.
    fn visit_map(&mut self, plan: &ObjectPlan, at: usize, len: usize, duty: Duty) -> ControlFlow<()> {
        let mut name_at = at + 1;
        let child = duty.of_child();
        for _ in 0..len {
            let Some(value) = self.nodes.get(name_at + 1) else { break };
            self.value(&plan.others, name_at + 1, value, child)?;
            name_at += 2 + nested(value);
        }
        self.unique_names(at, len, duty)
    }

    /// Fails if a name of the object stands twice and that is asked for.
    #[inline]
    fn unique_names(&mut self, at: usize, len: usize, duty: Duty) -> ControlFlow<()> {
        if duty.duplicates
            && let Some(at) = duplicates::first_of(self.nodes, at, len, &mut self.scratch.seen)
        {
            return self.fail(OpIndex::DUPLICATE, at, Reason::DuplicateKey);
        }
        Continue(())
    }

    /// The general way: any number of known names, patterns, and notes on what was evaluated.
    #[inline(never)]
    fn visit_members(&mut self, plan: &ObjectPlan, at: usize, len: usize, duty: Duty) -> ControlFlow<()> {
        let (nodes, child) = (self.nodes, duty.of_child());
        let slots = plan.slots.of(&self.tables.slots);
        let bits = self.scratch.bits.len();
        if slots.len() > 64 {
            self.scratch.bits.resize(bits + slots.len() / 64, 0);
        }
        let (mut seen, mut unknown) = (0_u64, 0_usize);
        let mut name_at = at + 1;
        for _ in 0..len {
            let value_at = name_at + 1;
            let (Some(Node::String(name)), Some(value)) = (nodes.get(name_at), nodes.get(value_at)) else {
                break;
            };
            name_at = value_at + 1 + nested(value);
            let number = plan.names.find(name).map_or(usize::MAX, |number| number as usize);
            let Some(slot) = slots.get(number) else {
                unknown += 1;
                self.visit_other(plan, name, value_at, value, duty)?;
                continue;
            };
            let bit = 1_u64 << (number % 64);
            let twice = if number < 64 { seen & bit != 0 } else { self.note_far(bits, number) };
            if number < 64 {
                seen |= bit;
            }
            if twice && duty.duplicates {
                self.fail(OpIndex::DUPLICATE, value_at, Reason::DuplicateKey)?;
            }
            self.value(&slot.op, value_at, value, child)?;
            for (_, op) in &slot.patterns {
                self.value(op, value_at, value, Duty::NONE)?;
            }
            if duty.track && (slot.known || plan.others_evaluated) {
                self.mark(value_at, duty);
            }
        }
        if self.misses_required(plan, seen, bits) {
            return self.fail(OpIndex::DUPLICATE, at, Reason::MissingField);
        }
        self.scratch.bits.truncate(bits);
        // An unknown name cannot equal a known one, so one alone is no duplicate.
        if unknown > 1 { self.unique_names(at, len, duty) } else { Continue(()) }
    }

    /// Notes that a slot past 64 was seen, and says whether it had been before.
    #[inline(never)]
    fn note_far(&mut self, bits: usize, slot: usize) -> bool {
        let bit = 1_u64 << (slot % 64);
        let Some(word) = self.scratch.bits.get_mut(bits + slot / 64 - 1) else { return false };
        let before = *word & bit != 0;
        *word |= bit;
        before
    }

    #[inline]
    fn misses_required(&self, plan: &ObjectPlan, seen: u64, bits: usize) -> bool {
        if plan.required_mask & !seen != 0 {
            return true;
        }
        // Required slots come first, so the words past the first are full ones and then a rest.
        (64..plan.required).any(|slot| {
            let word = self.scratch.bits.get(bits + slot as usize / 64 - 1);
            word.is_none_or(|word| word & 1 << (slot % 64) == 0)
        })
    }

    /// A member that is no known name: patterns, then `additionalProperties`.
    #[inline(never)]
    pub(super) fn visit_other(
        &mut self,
        plan: &ObjectPlan,
        name: &str,
        value_at: usize,
        value: &Node<'_>,
        duty: Duty,
    ) -> ControlFlow<()> {
        let mut inner = duty.of_child();
        let mut matched = false;
        if !plan.patterns.is_empty() {
            self.pay(plan.patterns.len() * (name.len() / BYTES_PER_STEP))?;
        }
        for (pattern, block, op) in &plan.patterns {
            if !self.name_matches(*pattern, name) {
                continue;
            }
            matched = true;
            if S::REPORTS {
                self.block(*block, value_at, Duty::NONE)?;
            } else {
                self.value(op, value_at, value, inner)?;
                inner.duplicates = false;
            }
        }
        if matched || plan.others_evaluated {
            self.mark(value_at, duty);
        }
        if matched {
            return Continue(());
        }
        match plan.others_block {
            Some(block) if S::REPORTS => self.block(block, value_at, Duty::NONE),
            None if S::REPORTS => Continue(()),
            _ => self.value(&plan.others, value_at, value, inner),
        }
    }

    pub(super) fn name_matches(&self, pattern: u32, name: &str) -> bool {
        self.tables.patterns.get(pattern as usize).is_some_and(|pattern| pattern.is_match(name))
    }

    /// `propertyNames`: the block runs on the names' own nodes.
    pub(super) fn property_names(&mut self, block: BlockId, at: usize, len: usize) -> ControlFlow<()> {
        if S::REPORTS {
            let base = self.names_in_order(at, len)?;
            for number in base..base + len {
                let Some(name_at) = self.scratch.order.get(number).copied() else { break };
                self.block(block, name_at as usize, Duty::NONE)?;
            }
            self.scratch.order.truncate(base);
            return Continue(());
        }
        let mut name_at = at + 1;
        for _ in 0..len {
            self.block(block, name_at, Duty::NONE)?;
            name_at = behind(self.nodes, name_at + 1);
        }
        Continue(())
    }

    /// The value of the member `name`, if the object has it.
    pub(super) fn member(&mut self, at: usize, len: usize, name: &str) -> ControlFlow<(), Option<usize>> {
        self.pay(len)?;
        let mut name_at = at + 1;
        for _ in 0..len {
            if matches!(self.nodes.get(name_at), Some(Node::String(found)) if *found == name) {
                return Continue(Some(name_at + 1));
            }
            name_at = behind(self.nodes, name_at + 1);
        }
        Continue(None)
    }

    pub(super) fn unevaluated_properties(
        &mut self,
        block: BlockId,
        op: &Op,
        at: usize,
        len: usize,
        duty: Duty,
    ) -> ControlFlow<()> {
        self.pay(len)?;
        let mut marks = self.sort_marks()?;
        if S::REPORTS {
            let base = self.names_in_order(at, len)?;
            for number in base..base + len {
                let Some(name_at) = self.scratch.order.get(number).copied() else { break };
                let value_at = name_at as usize + 1;
                if !self.is_marked(marks.clone(), value_at) {
                    self.unevaluated(block, op, value_at, Reason::UnknownField)?;
                    self.mark(value_at, duty);
                }
            }
            self.scratch.order.truncate(base);
            return Continue(());
        }
        let mut name_at = at + 1;
        for _ in 0..len {
            let value_at = name_at + 1;
            if !self.is_next_mark(&mut marks, value_at) {
                self.unevaluated(block, op, value_at, Reason::UnknownField)?;
                self.mark(value_at, duty);
            }
            name_at = behind(self.nodes, value_at);
        }
        Continue(())
    }
}

/// How many slots most plans have at most: less memory to clear.
const FEW: usize = 16;

/// What was found out about the members of an object without looking at names one by one.
struct Found {
    /// The slots that were seen, one bit each.
    seen: u64,
    /// Those of them whose values are still to be checked.
    unchecked: u64,
    /// Whether a known name stands twice.
    twice: bool,
    /// Whether there are members without a slot.
    unknown: bool,
}

/// Finds the known members; `places` gets the value's node by slot, counted from the object's.
#[inline(always)]
#[expect(clippy::inline_always, reason = "it has one caller")]
fn find_members<const SLOTS: usize>(
    members: &[Node<'_>],
    plan: &ObjectPlan,
    glances: &Glances,
    duty: Duty,
    places: &mut [u32; SLOTS],
) -> Found {
    // PERF: variables and not yet the fields of the result, so that they stay in registers.
    let (mut seen, mut unchecked, mut again, mut unknown) = (0_u64, 0_u64, 0_u64, false);
    // Duplicate names are looked for inside objects and arrays, whatever the schema asks.
    let final_types =
        if duty.duplicates { Types::ANY.without(Types::OBJECT.with(Types::ARRAY)) } else { Types::ANY };
    let mut rest = members;
    while let [Node::String(name), value, tail @ ..] = rest {
        if let Some(known) = plan.names.glance(glances, name) {
            let number = usize::from(known.number) % SLOTS;
            let passes = Types(known.note & final_types.0).meets(Types::of(value));
            again |= seen & 1 << number;
            seen |= 1 << number;
            unchecked |= u64::from(!passes) << number;
            if let Some(place) = places.get_mut(number) {
                *place = (members.len() - tail.len()) as u32;
            }
        } else {
            unknown = true;
        }
        rest = tail.get(nested(value)..).unwrap_or_default();
    }
    Found { seen, unchecked, twice: again != 0, unknown }
}
