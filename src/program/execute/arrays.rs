//! Items of arrays: by position, `contains`, `uniqueItems`, `unevaluatedItems`.

use std::ops::ControlFlow::{self, Continue};

use super::{Duty, Sink, Walk, sorting, weight};
use crate::program::duplicates::{behind, nested};
use crate::program::numbers::Digits;
use crate::program::ops::{ArrayPlan, BlockId, Kind, Op, OpIndex, Pass, Types};
use crate::program::{Memory, literals};
use crate::tape::Node;
use crate::verdict::Reason;

impl<S: Sink> Walk<'_, S> {
    /// Runs the plan of `prefixItems` and `items` on an array with `len` items and the nodes `inside` it.
    ///
    /// PERF: strings and scalars that pass at a look need no stack; everything else is given on.
    #[inline(never)]
    pub(super) fn array(
        &mut self,
        plan: u32,
        len: usize,
        inside: &[Node<'_>],
        duty: Duty,
    ) -> ControlFlow<()> {
        let Some(plan) = self.tables.arrays.get(plan as usize) else { return Continue(()) };
        if !S::REPORTS && !plan.counts.admits(len) {
            return self.fail(OpIndex::NONE, 0, Reason::TooFew);
        }
        self.enter(len)?;
        if S::REPORTS || duty.track() {
            return self.items_with_notes(plan, self.place_of(inside), len, duty);
        }
        if !plan.prefix.is_empty() {
            return self.items(plan, inside, duty);
        }
        let rest = plan.rest_pass.behind(inside);
        if !rest.is_empty() {
            return self.items(plan, rest, duty);
        }
        self.depth += 1;
        Continue(())
    }

    /// Items on the fast path, where nobody takes notes; gives the depth back.
    #[inline(never)]
    fn items(&mut self, plan: &ArrayPlan, items: &[Node<'_>], duty: Duty) -> ControlFlow<()> {
        let mut rest = items;
        for (_, op) in &plan.prefix {
            let [item, tail @ ..] = rest else { break };
            rest = self.visit_value(&Pass::NOTHING, op, item, tail, duty)?;
        }
        // PERF: rows of one kind are common, and the way into each of them costs as much as two values.
        rest = match plan.rest_op.kind {
            Kind::Object(rows) if plan.rest_op.types.meets(Types::OBJECT) => {
                self.object_rows(rows, rest, duty)?
            }
            Kind::Array(rows) if plan.rest_op.types.meets(Types::ARRAY) => {
                self.array_rows(rows, rest, duty)?
            }
            _ => rest,
        };
        while let [item, tail @ ..] = rest {
            if plan.rest_pass.admits_text(item) {
                rest = tail;
                continue;
            }
            rest = self.visit_value(&plan.rest_pass, &plan.rest_op, item, tail, duty)?;
        }
        self.depth += 1;
        Continue(())
    }

    /// The first items of an array, as long as they are arrays of one plan; returns the rest.
    #[inline(never)]
    fn array_rows<'n>(
        &mut self,
        number: u32,
        items: &'n [Node<'n>],
        duty: Duty,
    ) -> ControlFlow<(), &'n [Node<'n>]> {
        let Some(plan) = self.tables.arrays.get(number as usize).filter(|plan| plan.prefix.is_empty()) else {
            return Continue(items);
        };
        let mut rest = items;
        while let [Node::Array { len, count }, tail @ ..] = rest {
            let (inside, behind) = tail.split_at_checked(*count).unwrap_or_default();
            if plan.counts.admits(*len) && plan.rest_pass.behind(inside).is_empty() {
                self.pay(*len)?;
            } else {
                self.array(number, *len, inside, duty)?;
            }
            rest = behind;
        }
        Continue(rest)
    }

    /// Items where failures are reported, or notes taken on what was evaluated; gives the depth back.
    fn items_with_notes(&mut self, plan: &ArrayPlan, at: usize, len: usize, duty: Duty) -> ControlFlow<()> {
        let mut item = at + 1;
        for number in 0..len {
            let Some(node) = self.nodes.get(item) else { break };
            let known = plan.prefix.get(number).or(plan.rest.as_ref());
            match known {
                Some((block, _)) if S::REPORTS => self.block(*block, item, Duty::NONE)?,
                Some((_, op)) => self.value_at(op, item, duty.of_child())?,
                None => self.value_at(&Op::OPEN, item, duty.of_child())?,
            }
            if known.is_some() {
                self.mark(item, duty);
            }
            item += 1 + nested(node);
        }
        self.depth += 1;
        Continue(())
    }

    /// Notes that a member's value or an item was evaluated.
    #[inline]
    pub(super) fn mark(&mut self, at: usize, duty: Duty) {
        if duty.track() {
            self.scratch.marks.push(at as u32);
        }
    }

    pub(super) fn contains(
        &mut self,
        op: &Op,
        plan: u32,
        at: usize,
        len: usize,
        duty: Duty,
    ) -> ControlFlow<()> {
        let Some(plan) = self.tables.contains.get(plan as usize) else { return Continue(()) };
        let (mut found, mut item) = (0_u32, at + 1);
        for _ in 0..len {
            if self.passes(plan.block, item, false)? {
                found += 1;
                if plan.evaluates {
                    self.mark(item, duty);
                }
                // Without notes to take, the outcome is known early.
                if !duty.track() && (found > plan.max || (found >= plan.min && plan.max == u32::MAX)) {
                    break;
                }
            }
            item = behind(self.nodes, item);
        }
        if found < plan.min || found > plan.max {
            self.fail(op.origin, at, Reason::Schema)
        } else {
            Continue(())
        }
    }

    pub(super) fn unique_items(&mut self, op: &Op, at: usize, len: usize) -> ControlFlow<()> {
        // Every byte is hashed, and the hashes are sorted; of few items, every byte is compared with some others.
        let below = self.nodes.get(at..behind(self.nodes, at)).unwrap_or_default();
        self.pay(below.iter().map(weight).sum::<usize>() + sorting(len))?;
        let Memory { hashes, random, numbers, .. } = &mut *self.scratch;
        let mut digits = Digits { tape: self.tape, places: numbers, steps: &mut self.steps };
        let repeated = literals::first_repeated((at, len), hashes, random, &mut digits);
        self.pay(1)?;
        match repeated {
            Some(item) => self.fail(op.origin, item, Reason::Schema),
            None => Continue(()),
        }
    }

    pub(super) fn unevaluated_items(
        &mut self,
        block: BlockId,
        op: &Op,
        at: usize,
        len: usize,
        duty: Duty,
    ) -> ControlFlow<()> {
        let mut item = at + 1;
        self.pay(len)?;
        let mut marks = self.sort_marks()?;
        for _ in 0..len {
            if !self.is_next_mark(&mut marks, item) {
                self.unevaluated(block, op, item, Reason::Schema)?;
                self.mark(item, duty);
            }
            item = behind(self.nodes, item);
        }
        Continue(())
    }
}
