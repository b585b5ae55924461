//! Members of objects in the order of the report, which does not depend on the document: missing names in the order of
//! `required`, unknown names by name, then known members in the order of `properties`, then others by name.
//!
//! Only documents that fail come here, so this may sort; all of it is paid for in steps.

use std::ops::ControlFlow::{self, Continue};

use super::{Duty, Sink, Walk, sorting};
use crate::program::duplicates::behind;
use crate::program::ops::{Kind, ObjectPlan};
use crate::tape::Node;
use crate::verdict::Reason;

/// No member has been seen for a slot.
const ABSENT: u32 = u32::MAX;

impl<S: Sink> Walk<'_, S> {
    /// Visits an object's members in an order that does not depend on theirs.
    #[inline(never)]
    pub(super) fn report_members(
        &mut self,
        plan: &ObjectPlan,
        at: usize,
        len: usize,
        duty: Duty,
    ) -> ControlFlow<()> {
        let slots = plan.slots.of(&self.tables.slots);
        // One entry per slot with its value's node, then the names of all other members.
        let base = self.scratch.order.len();
        self.pay(slots.len())?;
        self.scratch.order.resize(base + slots.len(), ABSENT);
        let mut name_at = at + 1;
        for _ in 0..len {
            let Some(Node::String(name)) = self.nodes.get(name_at) else { break };
            match plan.names.find(name) {
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
        self.sort_names(others)?;
        self.report_missing(plan, base, at)?;
        self.report_unknown(plan, base, others)?;
        self.report_known(plan, base, duty)?;
        let mut next = others;
        while let Some(name_at) = self.scratch.order.get(next).copied() {
            let value_at = name_at as usize + 1;
            if let Some(Node::String(name)) = self.nodes.get(name_at as usize) {
                self.visit_other(plan, name, value_at, duty)?;
            }
            next += 1;
        }
        self.scratch.order.truncate(base);
        Continue(())
    }

    /// Sorts the members that `order` holds from `base` on by name.
    fn sort_names(&mut self, base: usize) -> ControlFlow<()> {
        let nodes = self.nodes;
        let name_of = |at: &u32| match nodes.get(*at as usize) {
            Some(Node::String(name)) => *name,
            _ => "",
        };
        self.pay(sorting(self.scratch.order.len() - base))?;
        if let Some(names) = self.scratch.order.get_mut(base..) {
            names.sort_unstable_by(|left, right| name_of(left).cmp(name_of(right)));
        }
        Continue(())
    }

    /// Puts the names of an object on `order`, sorted; returns from where on.
    pub(super) fn names_in_order(&mut self, at: usize, len: usize) -> ControlFlow<(), usize> {
        let base = self.scratch.order.len();
        self.pay(len)?;
        let mut name_at = at + 1;
        for _ in 0..len {
            self.scratch.order.push(name_at as u32);
            name_at = behind(self.nodes, name_at + 1);
        }
        self.sort_names(base)?;
        Continue(base)
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
        for (number, _) in slots.iter().enumerate().filter(|(_, slot)| !slot.known) {
            if let Some(value) =
                self.scratch.order.get(base + number).copied().filter(|value| *value != ABSENT)
            {
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
}
