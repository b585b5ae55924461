//! Runs a program on a tape.
//!
//! One walk serves every purpose. With the sink [`Silent`] it stops at the first failure and visits members in
//! document order: the fast path. With [`Reporting`] it visits them in the schema's order and hands every failure to
//! an observer. Both run the same checks. Nothing here allocates once the scratch memory is warm; depth and number
//! of steps are bounded, whatever the schema and the document.

mod arrays;
mod checks;
mod expect;
mod logic;
mod objects;
mod report;

use std::ops::ControlFlow::{self, Break, Continue};

pub(super) use expect::Expectations;

use super::duplicates;
use super::ops::{BlockId, Kind, Op, OpIndex, Tables, Types};
use super::{Failure, Memory, Observer};
use crate::tape::{Node, NodeIndex};
use crate::verdict::Reason;

/// Checking this many bytes of a string counts as one step.
const BYTES_PER_STEP: usize = 4;

/// A failure that is reported counts as so many steps: there can be one per op and node, and someone keeps them.
const FAILURE_STEPS: usize = 4;

/// What happens with a failure.
pub(super) trait Sink {
    /// Whether failures are reported, in the schema's order.
    const REPORTS: bool;
    fn failed(&mut self, failure: Failure) -> ControlFlow<()>;
}

/// Stops at the first failure and says nothing.
pub(super) struct Silent;

impl Sink for Silent {
    const REPORTS: bool = false;
    fn failed(&mut self, _: Failure) -> ControlFlow<()> {
        Break(())
    }
}

/// Hands failures to an observer.
pub(super) struct Reporting<'o, O>(pub(super) &'o mut O);

impl<O: Observer> Sink for Reporting<'_, O> {
    const REPORTS: bool = true;
    fn failed(&mut self, failure: Failure) -> ControlFlow<()> {
        self.0.failed(failure)
    }
}

/// What a block has to do beside its checks.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Duty {
    /// Find duplicate names in everything below the node.
    pub(super) duplicates: bool,
    /// Note which members and items were evaluated.
    pub(super) track: bool,
}

impl Duty {
    /// What remains to do for a child: each child is evaluated for itself.
    fn of_child(self) -> Self {
        Self { duplicates: self.duplicates, track: false }
    }

    const NONE: Self = Self { duplicates: false, track: false };
}

/// One walk over one document.
pub(super) struct Walk<'w, S> {
    pub(super) tables: &'w Tables,
    pub(super) nodes: &'w [Node<'w>],
    pub(super) scratch: &'w mut Memory,
    /// What the next objects will look like; empty means that nothing is expected.
    pub(super) expectations: &'w Expectations,
    pub(super) sink: S,
    /// How many steps are left.
    pub(super) steps: u64,
    /// How many nested calls are left.
    pub(super) depth: u32,
    /// How many failures were seen.
    pub(super) failures: u32,
    /// The limit that ended the walk.
    pub(super) stopped: Option<OpIndex>,
    /// Where the notes of the innermost block begin that asks what was not evaluated.
    pub(super) marks_from: usize,
    /// Whether the program has dynamic references.
    pub(super) dynamic: bool,
}

impl<S: Sink> Walk<'_, S> {
    /// Runs a block on the node at `at`.
    #[inline(never)]
    pub(super) fn block(&mut self, id: BlockId, at: usize, duty: Duty) -> ControlFlow<()> {
        let tables = self.tables;
        let (Some(block), Some(node)) = (tables.blocks.get(id.0 as usize), self.nodes.get(at)) else {
            return Continue(());
        };
        let ops = if S::REPORTS { block.full } else { block.fast }.of(&tables.ops);
        self.enter(ops.len() * weight(node))?;
        let marks = self.scratch.marks.len();
        if self.dynamic {
            self.scratch.scopes.push(block.resource);
        }
        let inner = Duty { track: duty.track || block.unevaluated, ..duty };
        let marks_from = self.marks_from;
        if block.unevaluated {
            self.marks_from = marks;
        }
        for op in ops {
            self.op(op, at, node, inner)?;
        }
        if self.dynamic {
            self.scratch.scopes.pop();
        }
        self.marks_from = marks_from;
        if block.unevaluated && !duty.track {
            self.scratch.marks.truncate(marks);
        }
        self.depth += 1;
        let owned = match node {
            Node::Object { .. } => block.owns.objects,
            Node::Array { .. } => block.owns.arrays,
            _ => true,
        };
        if duty.duplicates && !owned { self.open(at) } else { Continue(()) }
    }

    /// Runs an op that stands in for a whole block.
    #[inline(always)]
    #[expect(clippy::inline_always, reason = "a call per member costs more than the check itself")]
    pub(super) fn value(&mut self, op: &Op, at: usize, node: &Node<'_>, duty: Duty) -> ControlFlow<()> {
        // PERF: most values are strings that pass; everything else is a call away.
        if let Node::String(text) = node
            && op.types.meets(Types::STRING)
            && (matches!(op.kind, Kind::Any)
                || (op.kind.is_leaf() && checks::text_holds(self.tables, op.kind, text)))
        {
            return Continue(());
        }
        if let (Node::Object { len, .. }, Kind::Object(plan)) = (node, op.kind)
            && op.types.meets(Types::OBJECT)
        {
            return self.object(plan, at, *len, duty);
        }
        self.any_value(op, at, node, duty)
    }

    #[inline(never)]
    fn any_value(&mut self, op: &Op, at: usize, node: &Node<'_>, duty: Duty) -> ControlFlow<()> {
        if let Kind::Call(block) = op.kind {
            return self.block(block, at, duty);
        }
        self.op(op, at, node, duty)?;
        match (node, op.kind) {
            (Node::Object { .. }, Kind::Object(_)) | (Node::Array { .. }, Kind::Array(_)) => Continue(()),
            (Node::Object { .. } | Node::Array { .. }, _) if duty.duplicates => self.open(at),
            _ => Continue(()),
        }
    }

    /// Looks for duplicate names in a part of the document that no op visits.
    #[inline(never)]
    fn open(&mut self, at: usize) -> ControlFlow<()> {
        let end = duplicates::behind(self.nodes, at);
        match duplicates::first_below(self.nodes, at, end, &mut self.scratch.seen) {
            Some(at) => self.fail(OpIndex::DUPLICATE, at, Reason::DuplicateKey),
            None => Continue(()),
        }
    }

    /// Runs one op. PERF: strings are most of what there is, so their way has the fewest branches.
    #[inline(always)]
    #[expect(clippy::inline_always, reason = "a call per member costs more than the check itself")]
    fn op(&mut self, op: &Op, at: usize, node: &Node<'_>, duty: Duty) -> ControlFlow<()> {
        if !op.types.admit(node) {
            return self.fail(op.origin, at, Reason::WrongType);
        }
        match (node, op.kind) {
            (_, Kind::Any) => Continue(()),
            (Node::Object { len, .. }, Kind::Object(plan)) => self.object(plan, at, *len, duty),
            (Node::Array { len, .. }, Kind::Array(plan)) => self.array(plan, at, *len, duty),
            (_, Kind::Leaves(block)) => self.leaves(block, at, node),
            (_, kind) if kind.is_logic() => self.logic(op, at, node, duty),
            _ if checks::holds(self.tables, op.kind, node) => Continue(()),
            _ => self.fail_leaf(op, at),
        }
    }

    /// Runs several ops that look at nothing but their node.
    #[inline(never)]
    fn leaves(&mut self, block: BlockId, at: usize, node: &Node<'_>) -> ControlFlow<()> {
        let Some(block) = self.tables.blocks.get(block.0 as usize) else { return Continue(()) };
        let ops = block.fast.of(&self.tables.ops);
        self.pay(ops.len() * weight(node))?;
        for op in ops {
            if !op.types.admit(node) {
                return self.fail(op.origin, at, Reason::WrongType);
            }
            if !checks::holds(self.tables, op.kind, node) {
                return self.fail_leaf(op, at);
            }
        }
        Continue(())
    }

    #[cold]
    fn fail_leaf(&mut self, op: &Op, at: usize) -> ControlFlow<()> {
        self.fail(op.origin, at, checks::reason(op.kind))
    }

    #[inline]
    pub(super) fn fail(&mut self, op: OpIndex, at: usize, reason: Reason) -> ControlFlow<()> {
        if !S::REPORTS {
            return Break(());
        }
        self.failures += 1;
        self.pay(FAILURE_STEPS)?;
        self.sink.failed(Failure { reason, at: NodeIndex(at as u32), op })
    }

    /// Pays for `steps` and one more nested call; whoever calls this gives the depth back.
    #[inline]
    fn enter(&mut self, steps: usize) -> ControlFlow<()> {
        self.pay(steps + 1)?;
        let Some(depth) = self.depth.checked_sub(1) else { return self.stop(OpIndex::DEPTH) };
        self.depth = depth;
        Continue(())
    }

    /// Pays for `steps`.
    #[inline]
    pub(super) fn pay(&mut self, steps: usize) -> ControlFlow<()> {
        let Some(left) = self.steps.checked_sub(steps as u64) else { return self.stop(OpIndex::STEPS) };
        self.steps = left;
        Continue(())
    }

    #[cold]
    fn stop(&mut self, limit: OpIndex) -> ControlFlow<()> {
        self.stopped = Some(limit);
        Break(())
    }

    /// Whether a block holds, without a report. Breaks only if a limit was reached.
    pub(super) fn passes(&mut self, id: BlockId, at: usize, track: bool) -> ControlFlow<(), bool> {
        if !S::REPORTS {
            return self.attempt(id, at, track);
        }
        let mut inner = Walk {
            tables: self.tables,
            nodes: self.nodes,
            scratch: &mut *self.scratch,
            expectations: self.expectations,
            sink: Silent,
            steps: self.steps,
            depth: self.depth,
            failures: 0,
            stopped: None,
            marks_from: self.marks_from,
            dynamic: self.dynamic,
        };
        let passed = inner.attempt(id, at, track);
        self.steps = inner.steps;
        self.stopped = inner.stopped;
        passed
    }

    /// Runs a block whose failure is no failure of the walk, which has to be silent.
    fn attempt(&mut self, id: BlockId, at: usize, track: bool) -> ControlFlow<(), bool> {
        let (marks, scopes) = (self.scratch.marks.len(), self.scratch.scopes.len());
        let (bits, depth, marks_from) = (self.scratch.bits.len(), self.depth, self.marks_from);
        if self.block(id, at, Duty { duplicates: false, track }).is_continue() {
            return Continue(true);
        }
        if self.stopped.is_some() {
            return Break(());
        }
        // A walk that stops half-way leaves its notes behind.
        self.scratch.marks.truncate(marks);
        self.scratch.scopes.truncate(scopes);
        self.scratch.bits.truncate(bits);
        self.depth = depth;
        self.marks_from = marks_from;
        Continue(false)
    }
}

/// How many steps it counts for to sort so many things.
fn sorting(len: usize) -> usize {
    len * len.checked_ilog2().unwrap_or(0) as usize
}

/// How many steps a check of this node counts for.
#[inline]
fn weight(node: &Node<'_>) -> usize {
    match node {
        Node::String(text) => 1 + text.len() / BYTES_PER_STEP,
        _ => 1,
    }
}
