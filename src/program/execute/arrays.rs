//! Items of arrays: by position, `contains`, `uniqueItems`, `unevaluatedItems`.

use std::ops::ControlFlow::{self, Continue};

use super::{Duty, Sink, Walk};
use crate::program::duplicates::behind;
use crate::program::literals;
use crate::program::ops::{BlockId, Op};
use crate::tape::Node;
use crate::verdict::Reason;

impl<S: Sink> Walk<'_, S> {
    /// Runs the plan of `prefixItems` and `items` on an array.
    #[inline(never)]
    pub(super) fn array(&mut self, plan: u32, at: usize, len: usize, duty: Duty) -> ControlFlow<()> {
        let Some(plan) = self.tables.arrays.get(plan as usize) else { return Continue(()) };
        self.enter(len)?;
        let nodes = self.nodes;
        let open = (None, Op::OPEN);
        let rest = plan.rest.as_ref().map_or(open, |(block, op)| (Some(*block), *op));
        let mut item = at + 1;
        for number in 0..len {
            let Some(node) = nodes.get(item) else { break };
            let (block, op) = match plan.prefix.get(number) {
                Some((block, op)) => (Some(*block), op),
                None => (rest.0, &rest.1),
            };
            match block {
                Some(block) if S::REPORTS => self.block(block, item, Duty::NONE)?,
                _ => self.value(op, item, node, duty.of_child())?,
            }
            if block.is_some() {
                self.mark(item, duty);
            }
            item = match node {
                Node::Object { count, .. } | Node::Array { count, .. } => item + count + 1,
                _ => item + 1,
            };
        }
        self.depth += 1;
        Continue(())
    }

    /// Notes that a member's value or an item was evaluated.
    #[inline]
    pub(super) fn mark(&mut self, at: usize, duty: Duty) {
        if duty.track {
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
                if !duty.track && (found > plan.max || (found >= plan.min && plan.max == u32::MAX)) {
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
        self.pay(behind(self.nodes, at) - at)?;
        let repeated = literals::first_repeated(self.nodes, at, len, self.scratch, &mut self.steps);
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
        let marks = self.sort_marks();
        for _ in 0..len {
            if !self.is_marked(marks.clone(), item) {
                self.unevaluated(block, op, item, Reason::Schema)?;
                self.mark(item, duty);
            }
            item = behind(self.nodes, item);
        }
        Continue(())
    }
}
