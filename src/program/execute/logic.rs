//! Ops that combine blocks: references, `anyOf` and its kin, conditions, dependencies, what was not evaluated.

use std::ops::ControlFlow::{self, Continue};
use std::ops::Range;

use super::{Duty, Sink, Walk, checks};
use crate::program::ops::{BlockId, BranchHints, Kind, Op, Tables};
use crate::tape::Node;
use crate::verdict::Reason;

impl<'w, S: Sink> Walk<'w, S> {
    /// Runs an op that is no leaf and neither visits members nor items by itself.
    #[inline(never)]
    pub(super) fn logic(&mut self, op: &Op, at: usize, node: &Node<'_>, duty: Duty) -> ControlFlow<()> {
        let holds = match (op.kind, node) {
            (Kind::Const(_) | Kind::Enum(_), _) => {
                self.pay(checks::literal_price(self.tables, op.kind, node))?;
                let tables = self.tables;
                let equal = checks::is_literal(tables, op.kind, at, &mut self.digits());
                self.pay(1)?;
                if equal {
                    return Continue(());
                }
                return self.fail(op.origin, at, checks::reason(op.kind));
            }
            (Kind::Call(block), _) => return self.call(block, at, duty.without_duplicates()),
            (Kind::Delegate(block), _) => return self.call(block, at, duty),
            (Kind::Dynamic(plan), _) => {
                self.pay(self.scratch.scopes.len())?;
                let Some(block) = self.dynamic_target(plan) else { return Continue(()) };
                return self.call(block, at, duty.without_duplicates());
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
        let defined = |scope: &u32| {
            let place = plan.candidates.binary_search_by_key(scope, |(resource, _)| *resource).ok()?;
            plan.candidates.get(place)
        };
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
        let tables = self.tables;
        let hints = tables.branch_hints.get(branches as usize);
        let branches = tables.branches.get(branches as usize).map(|list| &**list).unwrap_or_default();
        let Some(node) = self.nodes.get(at) else { return Continue(0) };
        let chosen = self.choose(hints, at, node)?;
        self.pay(branches.len())?;
        let mut passing = 0;
        for (number, branch) in branches.iter().enumerate() {
            // PERF: a branch that cannot hold is not run.
            if let Some(hints) = hints
                && (hints.types.get(number).is_some_and(|types| !types.admit(node))
                    || hints.excludes(tables, number, chosen))
            {
                continue;
            }
            passing += usize::from(self.passes(*branch, at, duty.track())?);
            if passing >= enough && !duty.track() {
                break;
            }
        }
        Continue(passing)
    }

    /// The member that tells the branches apart on this node, if one does.
    fn choose(
        &mut self,
        hints: Option<&BranchHints>,
        at: usize,
        node: &Node<'_>,
    ) -> ControlFlow<(), Choice<'w>> {
        let (Some(switch), Node::Object { len, .. }) = (hints.and_then(|hints| hints.switch.as_ref()), node)
        else {
            return Continue(Choice::None);
        };
        let value = self.member(at, *len, &switch.name)?.and_then(|value| self.nodes.get(value));
        Continue(match value {
            Some(Node::String(text)) => Choice::Text(text),
            _ => Choice::NoText,
        })
    }

    fn condition(&mut self, plan: u32, at: usize, duty: Duty) -> ControlFlow<()> {
        let Some(plan) = self.tables.conditions.get(plan as usize) else { return Continue(()) };
        let chosen = if self.passes(plan.condition, at, duty.track())? { plan.then } else { plan.otherwise };
        match chosen {
            Some(block) => self.call(block, at, duty.without_duplicates()),
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
                self.call(*block, at, duty.without_duplicates())?;
            }
        }
        Continue(())
    }

    /// Sorts the notes on what was evaluated since the current block began; returns where they are.
    pub(super) fn sort_marks(&mut self) -> ControlFlow<(), Range<usize>> {
        let range = self.marks_from..self.scratch.marks.len();
        self.pay(2 * range.len())?;
        if let Some(marks) = self.scratch.marks.get_mut(range.clone()) {
            marks.sort_unstable();
        }
        Continue(range)
    }

    /// As [`Self::is_marked`], for children that are asked for in their order; `marks` loses those that are passed.
    pub(super) fn is_next_mark(&self, marks: &mut Range<usize>, at: usize) -> bool {
        for mark in self.scratch.marks.get(marks.clone()).unwrap_or_default() {
            if *mark as usize >= at {
                return *mark as usize == at;
            }
            marks.start += 1;
        }
        false
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

/// What an object says about the branches that can hold.
#[derive(Clone, Copy)]
enum Choice<'w> {
    /// Nothing.
    None,
    /// The member that tells branches apart is missing, or no string.
    NoText,
    /// The member's text.
    Text(&'w str),
}

impl BranchHints {
    /// Whether a branch fails on an object since the member that tells branches apart is not what it asks for.
    fn excludes(&self, tables: &Tables, branch: usize, choice: Choice<'_>) -> bool {
        let kind = self.switch.as_ref().and_then(|switch| switch.kinds.get(branch).copied().flatten());
        kind.is_some_and(|kind| match choice {
            Choice::None => false,
            Choice::NoText => true,
            Choice::Text(text) => !checks::text_holds(tables, &kind, text),
        })
    }
}
