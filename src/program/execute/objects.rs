//! Members of objects: the hottest loop of the program.
//!
//! On the fast path each member is visited once, in document order. The slot that followed the last one when it was
//! seen before is tried first; a hit saves the look-up. `required`, duplicates and unknown names fall out of the
//! same visit. The reporting path visits in an order that does not depend on the document: missing names in the
//! order of `required`, unknown names by name, then known members in the order of `properties`, then others by name.

use std::ops::ControlFlow::{self, Continue};

use super::{BYTES_PER_STEP, Duty, Sink, Walk};
use crate::program::duplicates::{self, behind};
use crate::program::names::Print;
use crate::program::ops::{BlockId, Kind, ObjectPlan, Op, OpIndex, Slot, Types};
use crate::tape::Node;
use crate::verdict::Reason;

/// No member has been seen for a slot.
const ABSENT: u32 = u32::MAX;

impl<S: Sink> Walk<'_, S> {
    /// Runs an object's plan. PERF: kept out of line, so that leaves do not pay for its frame.
    #[inline(never)]
    pub(super) fn object(&mut self, plan: u32, at: usize, len: usize, duty: Duty) -> ControlFlow<()> {
        let Some(plan) = self.tables.objects.get(plan as usize) else { return Continue(()) };
        self.enter(len * (1 + plan.patterns.len()))?;
        if S::REPORTS {
            self.report_members(plan, at, len, duty)?;
        } else if plan.plain && !duty.track {
            self.visit_plain(plan, at, len, duty)?;
        } else {
            self.visit_members(plan, at, len, duty)?;
        }
        self.depth += 1;
        Continue(())
    }

    /// As [`Self::visit_members`], for objects with at most 64 known names and no patterns, where nobody takes notes.
    ///
    /// PERF: duplicates fall out of a count at the end, and the loop keeps so little that it stays in registers.
    fn visit_plain(&mut self, plan: &ObjectPlan, at: usize, len: usize, duty: Duty) -> ControlFlow<()> {
        let slots = plan.slots.of(&self.tables.slots);
        let end = behind(self.nodes, at);
        let mut rest = self.nodes.get(at + 1..end).unwrap_or_default();
        let (mut seen, mut unknown, mut hint_at) = (0_u64, 0_usize, plan.hints as usize);
        while let [Node::String(name), value, tail @ ..] = rest {
            let value_at = end - tail.len() - 1;
            rest = match value {
                Node::Object { count, .. } | Node::Array { count, .. } => {
                    tail.get(*count..).unwrap_or_default()
                }
                _ => tail,
            };
            let Some((number, slot)) = self.find_slot(plan, slots, hint_at, name) else {
                unknown += 1;
                self.visit_other(plan, name, value_at, value, duty)?;
                continue;
            };
            hint_at = plan.hints as usize + number + 1;
            seen |= 1 << (number % 64);
            // A string of which only the type counts is done here; everything else is a call away.
            if let Node::String(_) = value
                && let Kind::Any = slot.op.kind
                && slot.op.types.meets(Types::STRING)
            {
                continue;
            }
            self.member_value(&slot.op, value_at, value, duty)?;
        }
        if self.misses_required(plan, seen, 0) {
            return self.fail(OpIndex::DUPLICATE, at, Reason::MissingField);
        }
        // Known names that were seen more often than there are bits, or several unknown ones, which cannot be known.
        let twice = seen.count_ones() as usize + unknown != len;
        if duty.duplicates
            && (twice || unknown > 1)
            && let Some(at) = duplicates::first_of(self.nodes, at, len, &mut self.scratch.seen)
        {
            return self.fail(OpIndex::DUPLICATE, at, Reason::DuplicateKey);
        }
        Continue(())
    }

    #[inline(never)]
    fn member_value(&mut self, op: &Op, at: usize, node: &Node<'_>, duty: Duty) -> ControlFlow<()> {
        self.value(op, at, node, duty)
    }

    fn visit_members(&mut self, plan: &ObjectPlan, at: usize, len: usize, duty: Duty) -> ControlFlow<()> {
        let (nodes, child, base) = (self.nodes, duty.of_child(), plan.hints as usize);
        let slots = plan.slots.of(&self.tables.slots);
        let bits = self.scratch.bits.len();
        if slots.len() > 64 {
            self.scratch.bits.resize(bits + slots.len() / 64, 0);
        }
        let (mut seen, mut unknown, mut hint_at) = (0_u64, 0_usize, base);
        let mut name_at = at + 1;
        for _ in 0..len {
            let value_at = name_at + 1;
            let (Some(Node::String(name)), Some(value)) = (nodes.get(name_at), nodes.get(value_at)) else {
                break;
            };
            name_at = match value {
                Node::Object { count, .. } | Node::Array { count, .. } => value_at + count + 1,
                _ => value_at + 1,
            };
            let Some((number, slot)) = self.find_slot(plan, slots, hint_at, name) else {
                unknown += 1;
                self.visit_other(plan, name, value_at, value, duty)?;
                continue;
            };
            hint_at = base + number + 1;
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
        if unknown > 1
            && duty.duplicates
            && let Some(at) = duplicates::first_of(self.nodes, at, len, &mut self.scratch.seen)
        {
            return self.fail(OpIndex::DUPLICATE, at, Reason::DuplicateKey);
        }
        Continue(())
    }

    /// The slot of `name`: the one that followed last time, or by hash.
    #[inline(always)]
    #[expect(clippy::inline_always, reason = "a call per member costs more than the check itself")]
    fn find_slot<'s>(
        &mut self,
        plan: &ObjectPlan,
        slots: &'s [Slot],
        hint_at: usize,
        name: &str,
    ) -> Option<(usize, &'s Slot)> {
        // Maps without known names need no look-up at all.
        if slots.is_empty() {
            return None;
        }
        let print = Print::of(name);
        let hint = self.hints.get(hint_at).map_or(0, |hint| usize::from(*hint));
        match slots.get(hint) {
            Some(slot) if slot.name.is(print, name) => Some((hint, slot)),
            _ => {
                let number = plan.names.find(print, name)?;
                if let Some(hint) = self.hints.get_mut(hint_at) {
                    *hint = number as u16;
                }
                slots.get(number as usize).map(|slot| (number as usize, slot))
            }
        }
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
        let first = plan.required.min(64);
        let mask = if first == 64 { u64::MAX } else { (1 << first) - 1 };
        if seen & mask != mask {
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
    fn visit_other(
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

    fn name_matches(&self, pattern: u32, name: &str) -> bool {
        self.tables.patterns.get(pattern as usize).is_some_and(|pattern| pattern.is_match(name))
    }

    /// Visits an object's members in an order that does not depend on theirs.
    #[inline(never)]
    fn report_members(&mut self, plan: &ObjectPlan, at: usize, len: usize, duty: Duty) -> ControlFlow<()> {
        let slots = plan.slots.of(&self.tables.slots);
        // One entry per slot with its value's node, then the names of all other members.
        let base = self.scratch.order.len();
        self.scratch.order.resize(base + slots.len(), ABSENT);
        let mut name_at = at + 1;
        for _ in 0..len {
            let Some(Node::String(name)) = self.nodes.get(name_at) else { break };
            match plan.names.find(Print::of(name), name) {
                Some(slot) => {
                    if let Some(place) = self.scratch.order.get_mut(base + slot as usize) {
                        *place = name_at as u32 + 1;
                    }
                }
                None => self.scratch.order.push(name_at as u32),
            }
            name_at = behind(self.nodes, name_at + 1);
        }
        let others = base + slots.len();
        let nodes = self.nodes;
        let name_of = |at: &u32| match nodes.get(*at as usize) {
            Some(Node::String(name)) => *name,
            _ => "",
        };
        if let Some(others) = self.scratch.order.get_mut(others..) {
            others.sort_unstable_by(|left, right| name_of(left).cmp(name_of(right)));
        }
        self.report_missing(plan, base, at)?;
        self.report_unknown(plan, base, others)?;
        self.report_known(plan, base, duty)?;
        let mut next = others;
        while let Some(name_at) = self.scratch.order.get(next).copied() {
            let value_at = name_at as usize + 1;
            if let Some(value) = nodes.get(value_at) {
                self.visit_other(plan, name_of(&name_at), value_at, value, duty)?;
            }
            next += 1;
        }
        self.scratch.order.truncate(base);
        Continue(())
    }

    fn report_missing(&mut self, plan: &ObjectPlan, base: usize, at: usize) -> ControlFlow<()> {
        let slots = plan.slots.of(&self.tables.slots);
        for (number, slot) in slots.iter().enumerate().take(plan.required as usize) {
            if self.scratch.order.get(base + number) == Some(&ABSENT)
                && let Some(origin) = slot.required
            {
                self.fail(origin, at, Reason::MissingField)?;
            }
        }
        Continue(())
    }

    fn report_unknown(&mut self, plan: &ObjectPlan, base: usize, others: usize) -> ControlFlow<()> {
        if !matches!(plan.others.kind, Kind::Never) || plan.others_block.is_some() {
            return Continue(());
        }
        let slots = plan.slots.of(&self.tables.slots);
        for (number, slot) in slots.iter().enumerate().filter(|(_, slot)| !slot.known) {
            if let Some(value) =
                self.scratch.order.get(base + number).copied().filter(|value| *value != ABSENT)
            {
                let _ = slot;
                self.fail(plan.others.origin, value as usize, Reason::UnknownField)?;
            }
        }
        let mut next = others;
        while let Some(name_at) = self.scratch.order.get(next).copied() {
            next += 1;
            let Some(Node::String(name)) = self.nodes.get(name_at as usize) else { continue };
            if !plan.patterns.iter().any(|(pattern, _, _)| self.name_matches(*pattern, name)) {
                self.fail(plan.others.origin, name_at as usize + 1, Reason::UnknownField)?;
            }
        }
        Continue(())
    }

    fn report_known(&mut self, plan: &ObjectPlan, base: usize, duty: Duty) -> ControlFlow<()> {
        let slots = plan.slots.of(&self.tables.slots);
        for number in &plan.order {
            let Some(slot) = slots.get(*number as usize) else { continue };
            let Some(value) = self.scratch.order.get(base + *number as usize).copied() else { continue };
            if value == ABSENT {
                continue;
            }
            if let Some(block) = slot.block {
                self.block(block, value as usize, Duty::NONE)?;
            }
            for (block, _) in &slot.patterns {
                self.block(*block, value as usize, Duty::NONE)?;
            }
            if slot.known || plan.others_evaluated {
                self.mark(value as usize, duty);
            }
        }
        Continue(())
    }

    /// `propertyNames`: the block runs on the names' own nodes.
    pub(super) fn property_names(&mut self, block: BlockId, at: usize, len: usize) -> ControlFlow<()> {
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
        let marks = self.sort_marks();
        let mut name_at = at + 1;
        for _ in 0..len {
            let value_at = name_at + 1;
            if !self.is_marked(marks.clone(), value_at) {
                self.unevaluated(block, op, value_at, Reason::UnknownField)?;
                self.mark(value_at, duty);
            }
            name_at = behind(self.nodes, value_at);
        }
        Continue(())
    }
}
