//! Runs a program on a tape.
//!
//! One walk serves every purpose. With the sink [`Silent`] it stops at the first failure and visits members in
//! document order: the fast path. With [`Reporting`] it visits them in the schema's order and hands every failure to
//! an observer. Both run the same checks. Nothing here allocates once the scratch memory is warm; depth and number
//! of steps are bounded, whatever the schema and the document.

mod arrays;
mod beside;
mod checks;
mod expect;
mod logic;
mod objects;
mod outlined;
mod report;

use std::ops::ControlFlow::{self, Break, Continue};

pub(super) use expect::Expectations;
pub(super) use outlined::Outlined;

use super::duplicates;
use super::numbers::Digits;
use super::ops::{BlockId, Kind, Op, OpIndex, Pass, Tables, Types};
use super::{Failure, Memory, Observer};
use crate::tape::{Node, NodeIndex, StaticNode, Tape};
use crate::verdict::Reason;

/// Checking this many bytes of a string counts as one step.
const BYTES_PER_STEP: usize = 4;

/// Comparing this many bytes of a name counts as one step.
const COMPARED_BYTES_PER_STEP: usize = 64;

/// Strings below this many bytes are paid for with the member or item that they are.
const LONG_BYTES: usize = 16;

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

/// What a block has to do beside its checks. PERF: one byte, so that it takes one register.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Duty(u8);

impl Duty {
    const NONE: Self = Self(0);
    /// Find duplicate names in everything below the node.
    pub(super) const DUPLICATES: Self = Self(1);
    /// Note which members and items were evaluated.
    const TRACK: Self = Self(2);

    #[inline]
    pub(super) fn duplicates(self) -> bool {
        self.0 & Self::DUPLICATES.0 != 0
    }

    /// Whether there is nothing to do beside the checks.
    #[inline]
    fn is_none(self) -> bool {
        self.0 == 0
    }

    #[inline]
    fn track(self) -> bool {
        self.0 & Self::TRACK.0 != 0
    }

    /// With notes to take if `track` says so.
    fn and_track(self, track: bool) -> Self {
        if track { Self(self.0 | Self::TRACK.0) } else { self }
    }

    /// Without looking for duplicate names.
    fn without_duplicates(self) -> Self {
        Self(self.0 & Self::TRACK.0)
    }

    /// What remains to do for a child: each child is evaluated for itself.
    fn of_child(self) -> Self {
        Self(self.0 & Self::DUPLICATES.0)
    }
}

/// One walk over one document.
pub(super) struct Walk<'w, S> {
    pub(super) tables: &'w Tables,
    pub(super) nodes: &'w [Node<'w>],
    /// Where the nodes are from, with the texts of their numbers.
    pub(super) tape: &'w Tape<'w>,
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

impl<'w, S: Sink> Walk<'w, S> {
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
        let asks = if S::REPORTS { block.unevaluated.full } else { block.unevaluated.fast };
        let inner = duty.and_track(asks);
        let marks_from = self.marks_from;
        if asks {
            self.marks_from = marks;
        }
        for op in ops {
            self.op(op, at, node, inner)?;
        }
        if self.dynamic {
            self.scratch.scopes.pop();
        }
        self.marks_from = marks_from;
        if asks && !duty.track() {
            self.scratch.marks.truncate(marks);
        }
        self.depth += 1;
        let owned = match node {
            Node::Object { .. } => block.owns.objects,
            Node::Array { .. } => block.owns.arrays,
            _ => true,
        };
        if duty.duplicates() && !owned { self.open(at) } else { Continue(()) }
    }

    /// Runs an op that stands in for a whole block, on the value at `at`.
    #[inline(always)]
    #[expect(clippy::inline_always, reason = "it only gives on, and a call per member is not free")]
    pub(super) fn value_at(&mut self, op: &Op, at: usize, duty: Duty) -> ControlFlow<()> {
        let Some([node, tail @ ..]) = self.nodes.get(at..) else { return Continue(()) };
        let below = tail.get(..duplicates::nested(node)).unwrap_or_default();
        self.check_value(&Pass::NOTHING, op, node, below, duty)
    }

    /// As [`Self::value_at`], for a whole document. PERF: nearly every one is an object; all else is out of line.
    #[inline(always)]
    #[expect(clippy::inline_always, reason = "it only gives on, and a call per document is not free")]
    pub(super) fn document(&mut self, op: &Op, duty: Duty) -> ControlFlow<()> {
        let [node, below @ ..] = self.nodes else { return Continue(()) };
        match (node, op.kind) {
            (Node::Object { len, .. }, Kind::Object(plan)) if op.types.meets(Types::OBJECT) => {
                self.object(plan, *len, below, duty)
            }
            _ => self.value(op, node, below, duty),
        }
    }

    /// Runs an op that stands in for a whole block, on a value and the nodes `inside` it.
    #[inline(never)]
    pub(super) fn value(
        &mut self,
        op: &Op,
        node: &Node<'_>,
        inside: &[Node<'_>],
        duty: Duty,
    ) -> ControlFlow<()> {
        let at = self.place(node);
        match (node, op.kind) {
            (_, Kind::Call(block)) => return self.block(block, at, duty),
            (Node::Object { .. }, Kind::Object(_)) | (Node::Array { .. }, Kind::Array(_)) => {
                return self.op(op, at, node, duty);
            }
            _ => self.op(op, at, node, duty)?,
        }
        if inside.is_empty() || !duty.duplicates() { Continue(()) } else { self.open(at) }
    }

    /// As [`Self::value`], for a string.
    #[inline(always)]
    #[expect(clippy::inline_always, reason = "a call per member costs more than the check itself")]
    fn text(&mut self, op: &Op, node: &Node<'_>, text: &str) -> ControlFlow<()> {
        // PERF: sets are the most common check of a string, and the way to them would take longer than the look-up.
        if let Kind::EnumStrings(set) = op.kind
            && op.types.meets(Types::STRING)
            && let Some(set) = self.tables.string_sets.get(set as usize)
        {
            return if set.contains(text) { Continue(()) } else { self.fail_leaf(op, node) };
        }
        if !op.kind.is_leaf() || !op.types.meets(Types::STRING) {
            return self.value(op, node, &[], Duty::NONE);
        }
        self.leaf_text(op, node, text)
    }

    /// Runs an op on a string of which it looks at nothing else.
    #[inline(always)]
    #[expect(clippy::inline_always, reason = "a call per member costs more than the check itself")]
    fn leaf_text(&mut self, op: &Op, node: &Node<'_>, text: &str) -> ControlFlow<()> {
        if text.len() >= LONG_BYTES {
            self.pay(checks::price(op.kind, text))?;
        }
        if checks::text_holds(self.tables, &op.kind, text) { Continue(()) } else { self.fail_leaf(op, node) }
    }

    /// As [`Self::value`], for a number, boolean or null.
    #[inline(always)]
    #[expect(clippy::inline_always, reason = "a call per member costs more than the check itself")]
    fn scalar(&mut self, op: &Op, node: &Node<'_>, value: StaticNode) -> ControlFlow<()> {
        if let Kind::Range(plan) = op.kind
            && op.types.meets(Types::INTEGER)
            && let Some(value) = integer(value)
            && let Some(plan) = self.tables.ranges.get(plan as usize)
        {
            return if plan.first <= value && value <= plan.last {
                Continue(())
            } else {
                self.fail_leaf(op, node)
            };
        }
        self.value(op, node, &[], Duty::NONE)
    }

    /// Where a node of the tape stands. PERF: cheaper than to carry it along, since few checks ask.
    fn place(&self, node: &Node<'_>) -> usize {
        let bytes = std::ptr::from_ref(node).addr().wrapping_sub(self.nodes.as_ptr().addr());
        bytes / size_of::<Node<'_>>()
    }

    /// Where the container stands that has these nodes inside it.
    fn place_of(&self, inside: &[Node<'_>]) -> usize {
        let bytes = inside.as_ptr().addr().wrapping_sub(self.nodes.as_ptr().addr());
        (bytes / size_of::<Node<'_>>()).wrapping_sub(1)
    }

    /// The nodes inside the container at `at`, which spans `count` of them.
    fn inside(&self, at: usize, count: usize) -> &'w [Node<'w>] {
        self.nodes.get(at + 1..at + 1 + count).unwrap_or_default()
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
        if !self.admits(op.types, node)? {
            return self.fail(op.origin, at, Reason::WrongType);
        }
        match (node, op.kind) {
            (_, Kind::Any) => Continue(()),
            (Node::Object { len, count }, Kind::Object(plan)) => {
                self.object(plan, *len, self.inside(at, *count), duty)
            }
            (Node::Array { len, count }, Kind::Array(plan)) => {
                self.array(plan, *len, self.inside(at, *count), duty)
            }
            (_, Kind::Leaves(block)) => self.leaves(block, at, node),
            (_, Kind::Range(plan)) => match self.tables.ranges.get(plan as usize) {
                Some(plan) => self.leaves(plan.block, at, node),
                None => Continue(()),
            },
            (_, kind) if kind.is_logic() => self.logic(op, at, node, duty),
            (Node::Static(_), _) => self.number(op, node),
            (Node::String(text), kind) if kind.is_leaf() => self.leaf_text(op, node, text),
            _ if checks::holds(self.tables, op.kind, node) => Continue(()),
            _ => self.fail_leaf(op, node),
        }
    }

    /// Runs several ops that look at nothing but their node.
    #[inline(never)]
    fn leaves(&mut self, block: BlockId, at: usize, node: &Node<'_>) -> ControlFlow<()> {
        let Some(block) = self.tables.blocks.get(block.0 as usize) else { return Continue(()) };
        let ops = block.fast.of(&self.tables.ops);
        self.pay(ops.len() * weight(node))?;
        for op in ops {
            if !self.admits(op.types, node)? {
                return self.fail(op.origin, at, Reason::WrongType);
            }
            match node {
                Node::Static(_) => self.number(op, node)?,
                Node::String(text) => self.leaf_text(op, node, text)?,
                _ if checks::holds(self.tables, op.kind, node) => {}
                _ => return self.fail_leaf(op, node),
            }
        }
        Continue(())
    }

    /// Whether a node is of one of these types. What a double tells of an integer is looked up in its digits.
    #[inline]
    fn admits(&mut self, types: Types, node: &Node<'_>) -> ControlFlow<(), bool> {
        let admitted = types.admit(node);
        if admitted && matches!(node, Node::Static(StaticNode::F64(_))) && types.wants_integers() {
            return self.is_integer(node);
        }
        Continue(admitted)
    }

    #[cold]
    fn is_integer(&mut self, node: &Node<'_>) -> ControlFlow<(), bool> {
        let is_integer = self.digits().is_integer(node);
        if self.steps == 0 {
            self.stop(OpIndex::STEPS).map_continue(|()| false)
        } else {
            Continue(is_integer)
        }
    }

    /// Runs an op on a number, boolean or null.
    fn number(&mut self, op: &Op, node: &Node<'_>) -> ControlFlow<()> {
        let tables = self.tables;
        let holds = checks::holds(tables, op.kind, node)
            && checks::number_holds(tables, op.kind, node, &mut self.digits());
        // A text that could not be paid for leaves no steps.
        if self.steps == 0 {
            return self.stop(OpIndex::STEPS);
        }
        if holds { Continue(()) } else { self.fail_leaf(op, node) }
    }

    /// The texts of the document's numbers.
    fn digits(&mut self) -> Digits<'_> {
        Digits { tape: self.tape, places: &mut self.scratch.numbers, steps: &mut self.steps }
    }

    #[cold]
    fn fail_leaf(&mut self, op: &Op, node: &Node<'_>) -> ControlFlow<()> {
        self.fail(op.origin, self.place(node), checks::reason(op.kind))
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
        // PERF: the limit shows as an overflow, which takes no comparison; the walk ends with it.
        let (left, none) = self.depth.overflowing_sub(1);
        self.depth = left;
        if none { self.stop(OpIndex::DEPTH) } else { Continue(()) }
    }

    /// Pays for `steps`.
    #[inline]
    pub(super) fn pay(&mut self, steps: usize) -> ControlFlow<()> {
        let (left, none) = self.steps.overflowing_sub(steps as u64);
        self.steps = left;
        if none { self.stop(OpIndex::STEPS) } else { Continue(()) }
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
            tape: self.tape,
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
        if self.block(id, at, Duty::NONE.and_track(track)).is_continue() {
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

/// The integer of 64 bits that a node is, if it is one.
#[inline]
fn integer(node: StaticNode) -> Option<i64> {
    match node {
        StaticNode::I64(value) => Some(value),
        StaticNode::U64(value) => i64::try_from(value).ok(),
        _ => None,
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
