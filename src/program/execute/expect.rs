//! What the next object will look like: the members of the last one of its plan, with the objects inside it, as one
//! flat list.
//!
//! PERF: a stream of envelopes mostly repeats itself. An object whose names are those of the last one, in the same
//! order, lacks no required name, has no unknown one and none twice: that was found out when the list was made. What
//! is left is one comparison per name and the checks of the values. Objects that keep differing are hardly
//! compared any more. This file only says what fits; it must not fail a document.

use std::cell::Cell;

use crate::program::duplicates::{self, Seen, nested};
use crate::program::names::Print;
use crate::program::ops::{Kind, ObjectPlan, Op, Tables, Types};
use crate::tape::Node;

/// How many objects of a plan are not compared after one that was not as expected; doubled each time, up to a limit.
const DOUBT: u16 = 8;
const DOUBT_MAX: u16 = 1024;

/// LIMIT: members of one list; objects beyond that are checked for themselves.
const MEMBERS_MAX: usize = 96;

/// LIMIT: plans that have a list; its memory is there from the start, so that learning does not allocate.
const PLANS_MAX: usize = 256;

/// Nothing is expected: no object has this many members.
const NOTHING: usize = usize::MAX;

/// A worker's expectations for one program, by plan.
#[derive(Debug, Default)]
pub(in crate::program) struct Expectations {
    plans: Vec<Expectation>,
    /// The last object that should be learned from: its plan and its node. Learning waits until the walk is over.
    lesson: Cell<Option<(u32, u32)>>,
}

/// What an object of one plan is expected to be.
#[derive(Debug)]
pub(super) struct Expectation {
    /// How many members the object itself has, or [`NOTHING`].
    len: usize,
    /// All of them, and those of the objects inside it, in the order of the document.
    pub(super) members: Vec<Member>,
    /// How many more objects are not compared.
    doubt: Cell<u16>,
    /// How many that were the last time; above zero, objects of which nothing is known stay out of the list.
    last_doubt: Cell<u16>,
}

/// An expected member.
#[derive(Clone, Copy, Debug)]
pub(super) struct Member {
    pub(super) print: Print,
    pub(super) value: Value,
    /// Checks the value, where that is what is expected.
    pub(super) op: Op,
}

/// What is expected of a value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Value {
    /// A string; nothing more is asked than the op's types.
    String,
    /// Anything that is neither an object nor an array; nothing more is asked than the op's types.
    Leaf,
    /// An object with so many members, which follow in the list.
    Object(u32),
    /// An object with so many members, of which only the names count. The next so many of the list are inside it.
    Open(u32, u32),
    /// Whatever the op lets pass.
    Op,
}

impl Expectations {
    /// Room for every plan of a program.
    pub(in crate::program) fn new(tables: &Tables) -> Self {
        let plans = tables.objects.iter().take(PLANS_MAX).map(|_| Expectation::nothing()).collect();
        Self { plans, lesson: Cell::new(None) }
    }

    /// What is expected of an object with `len` members, if anything.
    #[inline]
    pub(super) fn of(&self, plan: u32, len: usize, at: usize) -> Option<&Expectation> {
        let expectation = self.plans.get(plan as usize)?;
        if expectation.len == len && expectation.doubt.get() == 0 {
            return Some(expectation);
        }
        // An object that is not compared brings the next lesson nearer.
        match expectation.doubt.get() {
            // Of several lessons in one document the first one counts: it has the largest object.
            0 if self.lesson.get().is_none() => {
                if expectation.len != NOTHING {
                    expectation.surprise();
                }
                self.lesson.set(Some((plan, at as u32)));
            }
            0 => {}
            doubt => expectation.doubt.set(doubt - 1),
        }
        None
    }

    /// Learns from an object of the document that was just walked, if there is a lesson.
    #[inline]
    pub(in crate::program) fn learn(&mut self, tables: &Tables, nodes: &[Node<'_>], seen: &mut Seen) {
        if let Some((plan, at)) = self.lesson.take()
            && let Some(expectation) = self.plans.get_mut(plan as usize)
            && let Some(plan) = tables.objects.get(plan as usize)
        {
            expectation.learn(tables, plan, nodes, at as usize, seen);
        }
    }
}

impl Expectation {
    fn nothing() -> Self {
        Self {
            len: NOTHING,
            members: Vec::with_capacity(MEMBERS_MAX),
            doubt: Cell::new(0),
            last_doubt: Cell::new(0),
        }
    }

    /// An object was not as expected.
    #[cold]
    pub(super) fn surprise(&self) {
        let doubt = (self.last_doubt.get() * 2).clamp(DOUBT, DOUBT_MAX);
        self.doubt.set(doubt);
        self.last_doubt.set(doubt);
    }

    #[cold]
    fn learn(&mut self, tables: &Tables, plan: &ObjectPlan, nodes: &[Node<'_>], at: usize, seen: &mut Seen) {
        let Some(Node::Object { len, .. }) = nodes.get(at) else { return };
        self.len = *len;
        self.members.clear();
        let open = self.last_doubt.get() == 0;
        let mut lesson = Lesson { tables, nodes, seen, members: &mut self.members, open };
        if lesson.object(Some(plan), at).is_none() {
            // The next attempt is as far away as after a surprise.
            self.len = NOTHING;
            self.surprise();
        }
    }
}

/// The making of a list.
struct Lesson<'l> {
    tables: &'l Tables,
    nodes: &'l [Node<'l>],
    seen: &'l mut Seen,
    members: &'l mut Vec<Member>,
    /// Whether objects of which nothing is known go into the list.
    open: bool,
}

impl Lesson<'_> {
    /// Adds the members of an object, of which a plan or nothing is known. `None` if an object cannot be expected
    /// to look like this one: it may be invalid, or is too large.
    fn object(&mut self, plan: Option<&ObjectPlan>, at: usize) -> Option<()> {
        let Node::Object { len, .. } = *self.nodes.get(at)? else { return None };
        if plan.is_some_and(|plan| !plan.plain || !plan.counts.admits(len))
            || duplicates::first_of(self.nodes, at, len, self.seen).is_some()
        {
            return None;
        }
        let mut required = 0;
        let mut name_at = at + 1;
        for _ in 0..len {
            let [Node::String(name), value, ..] = self.nodes.get(name_at..)? else { return None };
            let slot = plan.and_then(|plan| plan.names.find(name));
            required += u32::from(plan.zip(slot).is_some_and(|(plan, slot)| slot < plan.required));
            let op = match (plan, slot) {
                (Some(plan), Some(slot)) => plan.slots.of(&self.tables.slots).get(slot as usize)?.op,
                (Some(plan), None) => plan.others,
                (None, _) => Op::OPEN,
            };
            if name.len() > Print::EXACT_BYTES || self.members.len() >= MEMBERS_MAX {
                return None;
            }
            let number = self.members.len();
            self.members.push(Member { print: Print::of(name), value: Value::Op, op });
            let expected = self.value(op, value, name_at + 1);
            self.members.get_mut(number)?.value = expected;
            name_at += 2 + nested(value);
        }
        (required == plan.map_or(0, |plan| plan.required)).then_some(())
    }

    /// What to expect of a value like this one; adds the members of an object.
    fn value(&mut self, op: Op, node: &Node<'_>, at: usize) -> Value {
        let before = self.members.len();
        let expected = match (node, op.kind) {
            (Node::String(_), Kind::Any) if op.types.meets(Types::STRING) => Some(Value::String),
            (Node::Static(_), Kind::Any) if op.types.meets(Types::of(node)) => Some(Value::Leaf),
            (Node::Object { len, .. }, Kind::Any) if self.open && op.types.meets(Types::OBJECT) => {
                self.object(None, at).map(|()| Value::Open(*len as u32, (self.members.len() - before) as u32))
            }
            (Node::Object { len, .. }, Kind::Object(plan)) if op.types.meets(Types::OBJECT) => {
                let plan = self.tables.objects.get(plan as usize);
                self.object(plan, at).filter(|()| plan.is_some()).map(|()| Value::Object(*len as u32))
            }
            _ => None,
        };
        expected.unwrap_or_else(|| {
            self.members.truncate(before);
            Value::Op
        })
    }
}
