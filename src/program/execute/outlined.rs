//! What is left to check in a document whose outline was seen before.
//!
//! PERF: documents with one outline have the same names, containers and kinds of values at the same nodes. So if one of
//! them is valid, none of the others lacks a member, has an unknown one or one twice, or has a container in the place of
//! something else. What depends on values is left: a flat list of nodes, each with its op. This file only makes the list
//! and runs it; why a document does not pass is for the reporting walk to say.

use std::ops::ControlFlow::{self, Break, Continue};

use super::{BYTES_PER_STEP, Duty, Sink, Walk};
use crate::outline::{ByOutline, Pool, Span};
use crate::program::Budget;
use crate::program::duplicates::nested;
use crate::program::looks::Pass;
use crate::program::ops::{BlockId, Kind, ObjectPlan, Op, Tables};
use crate::tape::{Node, Outline};

/// LIMIT: values of one document that are left to check; a document with more is walked.
const CHECKS_MAX: usize = 128;
/// LIMIT: values of all lists that were written since all were forgotten; when they are more, all are learned anew.
const POOLED_MAX: usize = 1 << 15;

/// A worker's lists for one program.
#[derive(Debug)]
pub(in crate::program) struct Outlined {
    lists: ByOutline<List>,
    checks: Pool<Check>,
}

/// All that is left to check in documents of one outline.
#[derive(Clone, Copy, Debug, Default)]
pub(in crate::program) struct List {
    checks: Span,
    /// Whether that is all; otherwise documents of this outline are walked.
    complete: bool,
    saved: Saved,
}

/// What a walk would cost that visits what a list leaves out, or more.
#[derive(Clone, Copy, Debug, Default)]
struct Saved {
    steps: u64,
    /// Ops that pay by the length of a string.
    text_ops: u64,
    calls: u32,
}

/// One value that is left to check.
#[derive(Clone, Copy, Debug)]
struct Check {
    at: u32,
    /// What passes at a look …
    pass: Pass,
    /// … and what everything else has to pass.
    op: Op,
}

impl Default for Outlined {
    fn default() -> Self {
        Self { lists: ByOutline::new(List::default), checks: Pool::new(POOLED_MAX) }
    }
}

impl Outlined {
    /// What is left to check in a document with this outline, if a valid one was seen.
    #[inline]
    pub(in crate::program) fn of(&self, outline: Outline) -> Option<List> {
        self.lists.get(outline).copied()
    }

    /// Learns from a document that is valid, duplicate names included.
    #[cold]
    pub(in crate::program) fn learn(
        &mut self,
        outline: Outline,
        tables: &Tables,
        root: &Op,
        nodes: &[Node<'_>],
    ) {
        let Self { lists, checks } = self;
        if checks.room() < CHECKS_MAX {
            checks.clear();
            lists.forget();
        }
        let Some(list) = lists.learn(outline) else { return };
        let begun = checks.begin();
        let mut lesson = Lesson { tables, nodes, checks, begun, calls: 0, saved: Saved::default() };
        // Where the dynamic scope counts, an op cannot be run for itself.
        let complete = tables.dynamics.is_empty() && lesson.value(root, Pass::NOTHING, 0).is_some();
        let saved = lesson.saved;
        if !complete {
            checks.undo(begun);
        }
        *list = List { checks: checks.end(begun), complete, saved };
    }
}

impl List {
    /// Whether the list says all; otherwise documents of its outline are walked.
    #[inline]
    pub(in crate::program) fn is_complete(self) -> bool {
        self.complete
    }

    /// What it saves at most in a document with this outline.
    #[inline]
    pub(in crate::program) fn saved(self, outline: Outline) -> Budget {
        let Saved { steps, text_ops, calls } = self.saved;
        let text_steps = text_ops.saturating_mul(1 + (outline.text_bytes / BYTES_PER_STEP) as u64);
        Budget { steps: steps.saturating_add(text_steps), calls }
    }
}

impl<S: Sink> Walk<'_, S> {
    /// Checks what is left of a document whose outline is known.
    pub(in crate::program) fn outlined(&mut self, known: &Outlined, list: List) -> ControlFlow<()> {
        let nodes = self.nodes;
        let Some(checks) = known.checks.list(list.checks) else { return Break(()) };
        for Check { at, pass, op } in checks {
            let at = *at as usize;
            let Some(node) = nodes.get(at) else { return Break(()) };
            if pass.admits_text(node) {
                continue;
            }
            self.check_value(pass, op, node, self.inside(at, nested(node)), Duty::NONE)?;
        }
        Continue(())
    }
}

/// The making of a list. `None` stands for a list that is too long.
struct Lesson<'l> {
    tables: &'l Tables,
    nodes: &'l [Node<'l>],
    checks: &'l mut Pool<Check>,
    /// Where the list begins.
    begun: Span,
    /// How many calls the way to the current node takes.
    calls: u32,
    saved: Saved,
}

impl Lesson<'_> {
    /// Adds what is left to check of the value at a node, which passes an op.
    fn value(&mut self, op: &Op, pass: Pass, at: usize) -> Option<()> {
        self.calls += 1;
        self.saved.calls = self.saved.calls.max(self.calls);
        let added = self.value_within(op, pass, at);
        self.calls -= 1;
        added
    }

    fn value_within(&mut self, op: &Op, pass: Pass, at: usize) -> Option<()> {
        match (self.nodes.get(at)?, op.kind) {
            // The outline does not tell one scalar from another: all of the op is left, its types included.
            (Node::Static(_), _) => self.push(op, pass, at),
            (Node::Object { len, .. }, Kind::Object(plan)) => {
                match self.tables.objects.get(plan as usize).filter(|plan| plan.plain || plan.map) {
                    Some(plan) => self.members(plan, op, at, *len),
                    None => self.push(op, pass, at),
                }
            }
            (Node::Array { len, .. }, Kind::Array(plan)) => {
                let plan = self.tables.arrays.get(plan as usize)?;
                self.saved.steps += *len as u64 + 1;
                let mut item_at = at + 1;
                for number in 0..*len {
                    let (op, pass) = match plan.prefix.get(number) {
                        Some((_, op)) => (op, Pass::NOTHING),
                        None => (&plan.rest_op, plan.rest_pass),
                    };
                    self.value(op, pass, item_at)?;
                    item_at += 1 + nested(self.nodes.get(item_at)?);
                }
                Some(())
            }
            (_, Kind::Call(block) | Kind::Delegate(block)) => self.block(block, op, at),
            (_, Kind::Any) => Some(()),
            _ => self.push(op, pass, at),
        }
    }

    /// As [`Self::value`], for all ops of a block.
    fn block(&mut self, block: BlockId, call: &Op, at: usize) -> Option<()> {
        let block = self.tables.blocks.get(block.0 as usize)?;
        if block.unevaluated.fast {
            return self.push(call, Pass::NOTHING, at);
        }
        let ops = block.fast.of(&self.tables.ops);
        self.saved.steps += 1;
        match self.nodes.get(at)? {
            Node::String(_) => self.saved.text_ops += ops.len() as u64,
            _ => self.saved.steps += ops.len() as u64,
        }
        ops.iter().try_for_each(|op| self.value(op, Pass::NOTHING, at))
    }

    fn members(&mut self, plan: &ObjectPlan, op: &Op, at: usize, len: usize) -> Option<()> {
        let before = self.checks.begin();
        self.saved.steps += len as u64 + 1;
        let mut name_at = at + 1;
        for _ in 0..len {
            let [Node::String(name), value, ..] = self.nodes.get(name_at..)? else { return None };
            match plan.names.known(name) {
                Some(known) => self.value(&known.op, known.pass, name_at + 1)?,
                None if plan.patterns.is_empty() => {
                    self.value(&plan.others, plan.others_pass, name_at + 1)?;
                }
                // Patterns decide about this name: the object is checked as a whole.
                None => {
                    self.checks.undo(before);
                    return self.push(op, Pass::NOTHING, at);
                }
            }
            name_at += 2 + nested(value);
        }
        Some(())
    }

    fn push(&mut self, op: &Op, pass: Pass, at: usize) -> Option<()> {
        let open = matches!(self.nodes.get(at)?, Node::String(_)) && pass.admits_every_text();
        if !open {
            if self.checks.end(self.begun).len() == CHECKS_MAX {
                return None;
            }
            self.checks.push(Check { at: at as u32, pass, op: *op })?;
        }
        Some(())
    }
}
