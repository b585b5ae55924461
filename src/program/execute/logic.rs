//! Ops that combine blocks: references, `anyOf` and its kin, conditions, dependencies, what was not evaluated.

use std::ops::ControlFlow::{self, Continue};
use std::ops::Range;

use super::{Duty, Sink, Walk, checks};
use crate::program::ops::{BlockId, Kind, Op};
use crate::tape::Node;
use crate::verdict::Reason;

impl<S: Sink> Walk<'_, S> {
    /// Runs an op that is no leaf and neither visits members nor items by itself.
    #[inline(never)]
    pub(super) fn logic(&mut self, op: &Op, at: usize, node: &Node<'_>, duty: Duty) -> ControlFlow<()> {
        let holds = match (op.kind, node) {
            (Kind::Const(_) | Kind::Enum(_), _) => {
                self.pay(checks::literal_count(self.tables, op.kind))?;
                if checks::is_literal(self.tables, op.kind, self.nodes, at) {
                    return Continue(());
                }
                return self.fail(op.origin, at, checks::reason(op.kind));
            }
            (Kind::Call(block), _) => return self.call(block, at, Duty { duplicates: false, ..duty }),
            (Kind::Delegate(block), _) => return self.call(block, at, duty),
            (Kind::Dynamic(plan), _) => {
                let Some(block) = self.dynamic_target(plan) else { return Continue(()) };
                return self.call(block, at, Duty { duplicates: false, ..duty });
            }
            (Kind::If(plan), _) => return self.condition(plan, at, duty),
            (Kind::AnyOf(branches), _) => self.count_passing(branches, at, duty, 1)? != 0,
            (Kind::OneOf(branches), _) => self.count_passing(branches, at, duty, 2)? == 1,
            (Kind::Not(block), _) => {
                let marks = self.scratch.marks.len();
                let passed = self.passes(block, at, false)?;
                self.scratch.marks.truncate(marks);
                !passed
            }
            _ => return self.containers(op, at, node, duty),
        };
        if holds { Continue(()) } else { self.fail(op.origin, at, Reason::Schema) }
    }

    /// Ops for objects or arrays that stand beside their plans.
    fn containers(&mut self, op: &Op, at: usize, node: &Node<'_>, duty: Duty) -> ControlFlow<()> {
        match (op.kind, *node) {
            (Kind::PropertyNames(block), Node::Object { len, .. }) => self.property_names(block, at, len),
            (Kind::DependentRequired(plan), Node::Object { len, .. }) => {
                self.dependent_required(op, plan, at, len)
            }
            (Kind::DependentSchemas(plan), Node::Object { len, .. }) => {
                self.dependent_schemas(plan, at, len, duty)
            }
            (Kind::UnevaluatedProperties(block), Node::Object { len, .. }) => {
                self.unevaluated_properties(block, op, at, len, duty)
            }
            (Kind::Contains(plan), Node::Array { len, .. }) => self.contains(op, plan, at, len, duty),
            (Kind::UniqueItems, Node::Array { len, .. }) => self.unique_items(op, at, len),
            (Kind::UnevaluatedItems(block), Node::Array { len, .. }) => {
                self.unevaluated_items(block, op, at, len, duty)
            }
            _ => Continue(()),
        }
    }

    /// Runs a block in place. What a failing one evaluated does not count.
    fn call(&mut self, block: BlockId, at: usize, duty: Duty) -> ControlFlow<()> {
        let (marks, failures) = (self.scratch.marks.len(), self.failures);
        self.block(block, at, duty)?;
        if self.failures != failures {
            self.scratch.marks.truncate(marks);
        }
        Continue(())
    }

    /// The outermost resource on the way here that defines the anchor, or the one the reference itself names.
    fn dynamic_target(&self, plan: u32) -> Option<BlockId> {
        let plan = self.tables.dynamics.get(plan as usize)?;
        let defined = |scope: &u32| plan.candidates.iter().find(|(resource, _)| resource == scope);
        Some(self.scratch.scopes.iter().find_map(defined).map_or(plan.fallback, |(_, block)| *block))
    }

    /// How many branches pass; stops at `enough` unless every branch has notes to take.
    fn count_passing(
        &mut self,
        branches: u32,
        at: usize,
        duty: Duty,
        enough: usize,
    ) -> ControlFlow<(), usize> {
        let branches = self.tables.branches.get(branches as usize).map(|list| &**list).unwrap_or_default();
        let mut passing = 0;
        for branch in branches {
            passing += usize::from(self.passes(*branch, at, duty.track)?);
            if passing >= enough && !duty.track {
                break;
            }
        }
        Continue(passing)
    }

    fn condition(&mut self, plan: u32, at: usize, duty: Duty) -> ControlFlow<()> {
        let Some(plan) = self.tables.conditions.get(plan as usize) else { return Continue(()) };
        let chosen = if self.passes(plan.condition, at, duty.track)? { plan.then } else { plan.otherwise };
        match chosen {
            Some(block) => self.call(block, at, Duty { duplicates: false, ..duty }),
            None => Continue(()),
        }
    }

    fn dependent_required(&mut self, op: &Op, plan: u32, at: usize, len: usize) -> ControlFlow<()> {
        let plan = self.tables.dependent_required.get(plan as usize).map(|list| &**list).unwrap_or_default();
        for (name, needed) in plan {
            if self.member(at, len, name)?.is_none() {
                continue;
            }
            for needed in needed {
                if self.member(at, len, needed)?.is_none() {
                    self.fail(op.origin, at, Reason::MissingField)?;
                }
            }
        }
        Continue(())
    }

    fn dependent_schemas(&mut self, plan: u32, at: usize, len: usize, duty: Duty) -> ControlFlow<()> {
        let plan = self.tables.dependent_schemas.get(plan as usize).map(|list| &**list).unwrap_or_default();
        for (name, block) in plan {
            if self.member(at, len, name)?.is_some() {
                self.call(*block, at, Duty { duplicates: false, ..duty })?;
            }
        }
        Continue(())
    }

    /// Sorts the notes on what was evaluated since the current block began; returns where they are.
    pub(super) fn sort_marks(&mut self) -> Range<usize> {
        let range = self.marks_from..self.scratch.marks.len();
        if let Some(marks) = self.scratch.marks.get_mut(range.clone()) {
            marks.sort_unstable();
        }
        range
    }

    /// Whether a child is among the sorted notes.
    pub(super) fn is_marked(&self, marks: Range<usize>, at: usize) -> bool {
        self.scratch.marks.get(marks).is_some_and(|marks| marks.binary_search(&(at as u32)).is_ok())
    }

    /// Runs the block of an `unevaluated…` keyword on a child that nothing evaluated.
    pub(super) fn unevaluated(
        &mut self,
        block: BlockId,
        op: &Op,
        at: usize,
        reason: Reason,
    ) -> ControlFlow<()> {
        let never = self.tables.blocks.get(block.0 as usize).is_some_and(|block| {
            block.full.of(&self.tables.ops).first().is_some_and(|first| first.kind == Kind::Never)
        });
        if !never {
            return self.block(block, at, Duty::NONE);
        }
        self.fail(op.origin, at, reason)
    }
}
