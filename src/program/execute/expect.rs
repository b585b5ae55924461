//! What the next object will look like: the members of the last one of its plan, with the objects inside it, as one
//! flat list.
//!
//! PERF: a stream of envelopes mostly repeats itself. An object whose names are those of the last one, in the same
//! order, lacks no required name, has no unknown one and none twice: that was found out when the list was made. What is
//! left is one comparison per name, about 20 instructions with a value that passes at a look. Plans whose objects keep
//! differing are left alone for longer and longer. This file only says what fits; it must not fail a document.

use std::cell::Cell;
use std::num::NonZeroU32;

use super::objects::NESTED_MAX;
use crate::program::duplicates::{self, Seen, nested};
use crate::program::names::Print;
use crate::program::ops::{Kind, ObjectPlan, Op, Pass, Tables, Types};
use crate::tape::Node;

/// How many documents a plan is left alone after an object that was not as expected; doubled each time, up to a limit.
const DOUBT: u32 = 8;
const DOUBT_MAX: u32 = 1024;

/// LIMIT: members of one list; larger objects are checked for themselves.
const MEMBERS_MAX: usize = 96;

/// LIMIT: plans that have a list; its memory is there from the start, so that learning does not allocate.
const PLANS_MAX: usize = 256;

/// Nothing is expected: no object has this many members.
const NOTHING: usize = usize::MAX;

/// A worker's expectations for one program, by plan.
#[derive(Debug, Default)]
pub(in crate::program) struct Expectations {
    plans: Vec<Expectation>,
    /// How many documents there were.
    documents: u32,
    /// The object that should be learned from: its plan and its place. Learning waits until the walk is over.
    lesson: Cell<Option<(u32, u32)>>,
}

/// What an object of one plan is expected to be.
#[derive(Debug)]
pub(super) struct Expectation {
    /// How many members the object itself has, or [`NOTHING`].
    len: Cell<usize>,
    /// All of them, and those of the objects inside it, in the order of the document.
    pub(super) members: Vec<Member>,
    /// The document from which on it may learn again.
    learns_at: Cell<u32>,
    /// How many documents it was left alone for the last time.
    doubt: Cell<u32>,
}

/// An expected member.
#[derive(Clone, Copy, Debug)]
pub(super) struct Member {
    pub(super) name: Print,
    /// What of its values passes at a look; nothing does if members follow.
    pub(super) pass: Pass,
    /// If it is an object whose members follow in the list: how many it has, itself. Nothing else may stand in its place.
    pub(super) members: Option<NonZeroU32>,
    /// Checks every other value.
    pub(super) op: Op,
}

const _: () = assert!(size_of::<Member>() == 64, "a member has a cache line of its own");

impl Expectations {
    /// Room for every plan of a program.
    pub(in crate::program) fn new(tables: &Tables) -> Self {
        let plans = tables.objects.iter().take(PLANS_MAX).map(|_| Expectation::nothing()).collect();
        Self { plans, documents: 0, lesson: Cell::new(None) }
    }

    /// What is expected of an object with `len` members, if anything.
    #[inline]
    pub(super) fn of(&self, plan: u32, len: usize) -> Option<&Expectation> {
        self.plans.get(plan as usize).filter(|expectation| expectation.len.get() == len)
    }

    /// Whether there is a lesson in an object of a plan that nothing, or something else, was expected of.
    #[inline]
    pub(super) fn learns(&self, plan: u32) -> bool {
        self.plans.get(plan as usize).is_some_and(|plan| self.documents >= plan.learns_at.get())
    }

    /// Notes where the object stands that should be learned from. Of several lessons in one document the first one
    /// counts: it has the largest object.
    #[cold]
    pub(super) fn note_lesson(&self, plan: u32, at: usize) {
        if self.lesson.get().is_none() {
            self.lesson.set(Some((plan, at as u32)));
        }
    }

    /// An object was not as expected.
    #[cold]
    pub(super) fn surprised(&self, expectation: &Expectation) {
        expectation.len.set(NOTHING);
        expectation.doubt.set((expectation.doubt.get() * 2).clamp(DOUBT, DOUBT_MAX));
        expectation.learns_at.set(self.documents.saturating_add(expectation.doubt.get()));
    }

    /// Ends a document; learns from one of its objects, if there is a lesson.
    #[inline]
    pub(in crate::program) fn end(&mut self, tables: &Tables, nodes: &[Node<'_>], seen: &mut Seen) {
        self.documents = self.documents.saturating_add(1);
        if let Some((plan, at)) = self.lesson.take() {
            self.learn(tables, nodes, seen, plan, at as usize);
        }
    }

    #[cold]
    fn learn(&mut self, tables: &Tables, nodes: &[Node<'_>], seen: &mut Seen, plan: u32, at: usize) {
        if self.documents == u32::MAX {
            self.documents = 0;
            self.plans.iter().for_each(|expectation| expectation.learns_at.set(0));
        }
        let (Some(expectation), Some(plan)) =
            (self.plans.get_mut(plan as usize), tables.objects.get(plan as usize))
        else {
            return;
        };
        // An object with another number of members than expected is a surprise, too.
        let doubt = if expectation.members.is_empty() { 0 } else { DOUBT };
        expectation.doubt.set((expectation.doubt.get() * 2).clamp(doubt, DOUBT_MAX));
        expectation.learns_at.set(self.documents.saturating_add(expectation.doubt.get()));
        expectation.members.clear();
        let mut lesson = Lesson { tables, nodes, seen, members: &mut expectation.members };
        expectation.len.set(lesson.object(plan, at, 0).unwrap_or(NOTHING));
    }
}

impl Expectation {
    fn nothing() -> Self {
        Self {
            len: Cell::new(NOTHING),
            members: Vec::with_capacity(MEMBERS_MAX),
            learns_at: Cell::new(0),
            doubt: Cell::new(0),
        }
    }
}

/// The making of a list.
struct Lesson<'l> {
    tables: &'l Tables,
    nodes: &'l [Node<'l>],
    seen: &'l mut Seen,
    members: &'l mut Vec<Member>,
}

impl Lesson<'_> {
    /// Adds the members of an object and says how many it has itself. `None` if an object cannot be expected to look
    /// like this one: it may be invalid, or is too large. `level` says how many listed objects it is inside.
    fn object(&mut self, plan: &ObjectPlan, at: usize, level: usize) -> Option<usize> {
        let Node::Object { len, count } = *self.nodes.get(at)? else { return None };
        let inside = self.nodes.get(at + 1..at + 1 + count)?;
        if !plan.plain || duplicates::first_of(inside, len, self.seen).is_some() {
            return None;
        }
        let mut required = 0;
        let mut name_at = at + 1;
        for _ in 0..len {
            let [Node::String(name), value, ..] = self.nodes.get(name_at..)? else { return None };
            let known = plan.names.known(name);
            if known.is_none() && !plan.patterns.is_empty() {
                return None;
            }
            required += u32::from(known.is_some_and(|known| u32::from(known.number) < plan.required));
            let (op, pass) = known.map_or((plan.others, plan.others_pass), |known| (known.op, known.pass));
            if name.len() > Print::EXACT_BYTES as usize || self.members.len() >= MEMBERS_MAX {
                return None;
            }
            let number = self.members.len();
            self.members.push(Member { name: Print::of(name), pass, members: None, op });
            if let Some(listed) = self.members_of(op, value, name_at + 1, level + 1) {
                let member = self.members.get_mut(number)?;
                (member.members, member.pass) = (Some(listed), Pass::NOTHING);
            }
            name_at += 2 + nested(value);
        }
        (required == plan.required).then_some(len)
    }

    /// Adds the members of a value, if it is an object that can be expected; says how many it has itself.
    fn members_of(&mut self, op: Op, node: &Node<'_>, at: usize, level: usize) -> Option<NonZeroU32> {
        let (Node::Object { .. }, Kind::Object(plan)) = (node, op.kind) else { return None };
        // The budget of a walk by memory counts on it: each level saves a call.
        if level > NESTED_MAX {
            return None;
        }
        let plan = self.tables.objects.get(plan as usize).filter(|_| op.types.meets(Types::OBJECT))?;
        let before = self.members.len();
        let len = self.object(plan, at, level).and_then(|len| NonZeroU32::new(len as u32));
        if len.is_none() {
            self.members.truncate(before);
        }
        len
    }
}
