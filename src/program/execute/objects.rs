//! Members of objects: the hottest loop of the program.
//!
//! On the fast path members are visited once, in the order of the document: a glance finds the name, a look lets most
//! values pass, and the rest run their op. `required`, duplicates and unknown names fall out of the same visit. The
//! reporting path has an order of its own, see `report`.

use std::ops::ControlFlow::{self, Continue};

use super::expect::Expectation;
use super::{BYTES_PER_STEP, Duty, Sink, Walk};
use crate::program::duplicates::{self, nested};
use crate::program::ops::{Kind, ObjectPlan, Op, OpIndex, Pass, Types};
use crate::tape::Node;
use crate::verdict::Reason;

/// Objects inside each other that are visited without a call each; deeper ones take one.
pub(super) const NESTED_MAX: usize = 4;

/// How far the visit of a plain object has come; it waits while one inside it is visited.
#[derive(Clone, Copy, Debug)]
struct Visit<'n> {
    plan: &'n ObjectPlan,
    /// What is left of its nodes.
    rest: &'n [Node<'n>],
    /// Its slots that were seen.
    seen: u64,
    /// Where its first name stands that no slot has, and how many nodes are left there; zero if there is none.
    unknown: (u32, u32),
}

impl<S: Sink> Walk<'_, S> {
    /// Runs an object's plan on an object with `len` members and the nodes `inside` it.
    ///
    /// PERF: it only chooses a way and gives everything on, so that it needs no stack of its own. Each way gives the
    /// depth back.
    #[inline(never)]
    pub(super) fn object(
        &mut self,
        number: u32,
        len: usize,
        inside: &[Node<'_>],
        duty: Duty,
    ) -> ControlFlow<()> {
        self.enter(len)?;
        // Only plain plans have expectations.
        if !S::REPORTS
            && !duty.track()
            && let Some(expectation) = self.expectations.of(number, len)
        {
            return self.visit_expected(expectation, number, inside, duty);
        }
        let Some(plan) = self.tables.objects.get(number as usize) else { return Continue(()) };
        if S::REPORTS || duty.track() || !plan.plain {
            return if plan.map && !S::REPORTS && !duty.track() {
                self.visit_map(plan, len, inside, duty)
            } else {
                self.visit_any(plan, len, inside, duty)
            };
        }
        if self.expectations.learns(number) {
            self.expectations.note_lesson(number, self.place_of(inside));
        }
        self.visit_plain(plan, inside, duty)
    }

    /// An object of which something is expected. If it is another one after all, it is visited as such.
    #[inline(never)]
    fn visit_expected(
        &mut self,
        expectation: &Expectation,
        number: u32,
        inside: &[Node<'_>],
        duty: Duty,
    ) -> ControlFlow<()> {
        if self.is_expected(expectation, inside, duty)? {
            self.depth += 1;
            return Continue(());
        }
        self.expectations.surprised(expectation);
        match self.tables.objects.get(number as usize) {
            Some(plan) => self.visit_plain(plan, inside, duty),
            None => Continue(()),
        }
    }

    /// Compares the members of an object with what is expected of them, and checks their values.
    #[inline(always)]
    #[expect(
        clippy::inline_always,
        reason = "its two callers are nothing but this loop and what is around it"
    )]
    fn is_expected(
        &mut self,
        expectation: &Expectation,
        inside: &[Node<'_>],
        duty: Duty,
    ) -> ControlFlow<(), bool> {
        self.pay(expectation.members.len())?;
        let mut rest = inside;
        for expected in &expectation.members {
            let [Node::String(name), value, tail @ ..] = rest else { return Continue(false) };
            if !expected.name.is_of(name) {
                return Continue(false);
            }
            if expected.pass.admits_text(value) {
                rest = tail;
                continue;
            }
            // What follows in the list are the members of this object: any other value is a surprise, valid or not.
            if let Some(listed) = expected.members {
                if !matches!(value, Node::Object { len, .. } if *len == listed.get() as usize) {
                    return Continue(false);
                }
                rest = tail;
                continue;
            }
            rest = self.visit_value(&expected.pass, &expected.op, value, tail, duty)?;
        }
        Continue(rest.is_empty())
    }

    /// The first items of an array, as long as they are plain objects of one plan; returns the rest.
    #[inline(never)]
    pub(super) fn object_rows<'n>(
        &mut self,
        number: u32,
        items: &'n [Node<'n>],
        duty: Duty,
    ) -> ControlFlow<(), &'n [Node<'n>]> {
        let Some(plan) = self.tables.objects.get(number as usize).filter(|plan| plan.plain) else {
            return Continue(items);
        };
        let mut rest = items;
        while let [Node::Object { len, count }, tail @ ..] = rest {
            let (inside, behind) = tail.split_at_checked(*count).unwrap_or_default();
            rest = behind;
            self.enter(*len)?;
            if let Some(expectation) = self.expectations.of(number, *len) {
                if self.is_expected(expectation, inside, duty)? {
                    self.depth += 1;
                    continue;
                }
                self.expectations.surprised(expectation);
            } else if self.expectations.learns(number) {
                self.expectations.note_lesson(number, self.place_of(inside));
            }
            self.visit_plain(plan, inside, duty)?;
        }
        Continue(rest)
    }

    /// An object that is no plain one, or in whose place more than its validity counts.
    #[inline(never)]
    fn visit_any(
        &mut self,
        plan: &ObjectPlan,
        len: usize,
        inside: &[Node<'_>],
        duty: Duty,
    ) -> ControlFlow<()> {
        if !S::REPORTS && !plan.counts.admits(len) {
            return self.fail(OpIndex::NONE, 0, Reason::TooFew);
        }
        let at = self.place_of(inside);
        if S::REPORTS {
            self.report_members(plan, at, len, duty)?;
        } else {
            self.visit_members(plan, at, len, duty)?;
        }
        self.depth += 1;
        Continue(())
    }

    /// As [`Self::visit_members`], for objects whose names can be told apart at a glance and where nobody takes notes, and
    /// for those inside them that are such objects, too; gives the depth back.
    #[inline(never)]
    fn visit_plain(&mut self, plan: &ObjectPlan, inside: &[Node<'_>], duty: Duty) -> ControlFlow<()> {
        let tables = self.tables;
        let mut waiting = [None; NESTED_MAX];
        let (mut depth, mut twice) = (0, 0);
        let mut object = Visit { plan, rest: inside, seen: 0, unknown: (0, 0) };
        loop {
            let Visit { plan, mut rest, mut seen, mut unknown } = object;
            let Some(glances) = plan.names.glances() else { return Continue(()) };
            let inner = loop {
                let [Node::String(name), value, tail @ ..] = rest else { break None };
                let Some(known) = glances.find(name, &plan.names) else {
                    if unknown.0 == 0 {
                        unknown = (self.place(value) as u32 - 1, rest.len() as u32);
                    }
                    rest = self.visit_unknown(plan, name, value, tail, duty)?;
                    continue;
                };
                twice |= seen & known.bit();
                seen |= known.bit();
                // PERF: most values are strings that pass at a look, so they come first.
                if known.pass.admits_text(value) {
                    rest = tail;
                    continue;
                }
                if let Node::Object { len, count } = value
                    && let Some(inner) = tables.objects.get(known.inner as usize)
                    && let Some(place) = waiting.get_mut(depth)
                {
                    self.pay(*len)?;
                    let (inside, behind) = tail.split_at_checked(*count).unwrap_or_default();
                    *place = Some(Visit { plan, rest: behind, seen, unknown });
                    depth += 1;
                    break Some(Visit { plan: inner, rest: inside, seen: 0, unknown: (0, 0) });
                }
                rest = self.visit_value(&known.pass, &known.op, value, tail, duty)?;
            };
            if let Some(inner) = inner {
                object = inner;
                continue;
            }
            if plan.required_mask & !seen != 0 {
                return self.fail(OpIndex::NONE, 0, Reason::MissingField);
            }
            if unknown.0 != 0 && duty.duplicates() {
                self.unique_unknown(unknown)?;
            }
            depth = depth.wrapping_sub(1);
            let Some(Some(outer)) = waiting.get(depth) else { break };
            object = *outer;
        }
        self.depth += 1;
        if twice != 0 && duty.duplicates() {
            return self.fail(OpIndex::DUPLICATE, 0, Reason::DuplicateKey);
        }
        Continue(())
    }

    /// Checks a value that is no string which passes at a look; `tail` is what stands behind its own node. Returns what
    /// stands behind all of it.
    #[inline(always)]
    #[expect(clippy::inline_always, reason = "a call per member costs more than the look itself")]
    pub(super) fn visit_value<'n>(
        &mut self,
        pass: &Pass,
        op: &Op,
        value: &Node<'_>,
        tail: &'n [Node<'n>],
        duty: Duty,
    ) -> ControlFlow<(), &'n [Node<'n>]> {
        let (below, behind) = match value {
            Node::String(_) | Node::Static(_) => (&[] as &[Node<'_>], tail),
            _ => tail.split_at_checked(nested(value)).unwrap_or_default(),
        };
        self.check_value(pass, op, value, below, duty)?;
        Continue(behind)
    }

    /// As [`Self::visit_value`], with the nodes `below` the value at hand.
    #[inline(always)]
    #[expect(clippy::inline_always, reason = "a call per member costs more than the look itself")]
    pub(super) fn check_value(
        &mut self,
        pass: &Pass,
        op: &Op,
        value: &Node<'_>,
        below: &[Node<'_>],
        duty: Duty,
    ) -> ControlFlow<()> {
        match (value, op.kind) {
            (Node::String(text), _) => self.text(op, value, text),
            (Node::Static(scalar), _) => {
                if pass.admits_scalar(*scalar) {
                    return Continue(());
                }
                self.scalar(op, value, *scalar)
            }
            // PERF: many containers are short lists of strings, and the way into one costs more than to look at them.
            (Node::Object { len, .. }, Kind::Object(number)) if op.types.meets(Types::OBJECT) => {
                if let Some(plan) = self.tables.objects.get(number as usize)
                    && plan.map
                    && duty.is_none()
                    && plan.passes_at_a_look(*len, below)
                {
                    return self.pay(*len);
                }
                self.object(number, *len, below, duty)
            }
            (Node::Array { len, .. }, Kind::Array(number)) if op.types.meets(Types::ARRAY) => {
                if let Some(plan) = self.tables.arrays.get(number as usize)
                    && plan.passes_at_a_look(*len, below)
                {
                    return self.pay(*len);
                }
                self.array(number, *len, below, duty)
            }
            _ if pass.admits(value, duty.duplicates()) => Continue(()),
            _ => self.value(op, value, below, duty),
        }
    }

    /// A member of a plain object that no slot has; `tail` is what stands behind the value's own node. Returns what
    /// stands behind the member.
    #[inline(never)]
    fn visit_unknown<'n>(
        &mut self,
        plan: &ObjectPlan,
        name: &str,
        value: &Node<'_>,
        tail: &'n [Node<'n>],
        duty: Duty,
    ) -> ControlFlow<(), &'n [Node<'n>]> {
        if !plan.patterns.is_empty() {
            self.visit_other(plan, name, self.place(value), duty)?;
            return Continue(tail.get(nested(value)..).unwrap_or_default());
        }
        if plan.others_pass.admits_text(value) {
            return Continue(tail);
        }
        self.visit_value(&plan.others_pass, &plan.others, value, tail, duty)
    }

    /// Fails if a name stands twice among some members of a plain object: those in so many nodes from a place on, with the
    /// first unknown name. No unknown name can equal a known one.
    #[inline(never)]
    fn unique_unknown(&mut self, (at, nodes): (u32, u32)) -> ControlFlow<()> {
        let members = self.nodes.get(at as usize..(at + nodes) as usize).unwrap_or_default();
        let (mut len, mut rest) = (0, members);
        while let [_, value, tail @ ..] = rest {
            len += 1;
            rest = tail.get(nested(value)..).unwrap_or_default();
        }
        if len > 1 { self.unique_names(members, len) } else { Continue(()) }
    }

    /// The members of an object without known names; gives the depth back.
    #[inline(never)]
    fn visit_map(
        &mut self,
        plan: &ObjectPlan,
        len: usize,
        inside: &[Node<'_>],
        duty: Duty,
    ) -> ControlFlow<()> {
        if !plan.counts.admits(len) {
            return self.fail(OpIndex::NONE, 0, Reason::TooFew);
        }
        let mut rest = inside;
        while let [_, value, tail @ ..] = rest {
            if plan.others_pass.admits_text(value) {
                rest = tail;
                continue;
            }
            rest = self.visit_value(&plan.others_pass, &plan.others, value, tail, duty)?;
        }
        self.depth += 1;
        if duty.duplicates() { self.unique_names(inside, len) } else { Continue(()) }
    }

    /// Fails if a name stands twice among the `len` members of an object.
    #[inline(never)]
    fn unique_names(&mut self, inside: &[Node<'_>], len: usize) -> ControlFlow<()> {
        match duplicates::first_of(inside, len, &mut self.scratch.seen) {
            Some(_) => self.fail(OpIndex::DUPLICATE, 0, Reason::DuplicateKey),
            None => Continue(()),
        }
    }

    /// The general way: any number of known names, patterns, and notes on what was evaluated.
    #[inline(never)]
    fn visit_members(&mut self, plan: &ObjectPlan, at: usize, len: usize, duty: Duty) -> ControlFlow<()> {
        let (nodes, child) = (self.nodes, duty.of_child());
        let slots = plan.slots.of(&self.tables.slots);
        let bits = self.scratch.bits.len();
        if slots.len() > 64 {
            self.scratch.bits.resize(bits + slots.len() / 64, 0);
        }
        let (mut seen, mut unknown) = (0_u64, 0_usize);
        let mut name_at = at + 1;
        for _ in 0..len {
            let value_at = name_at + 1;
            let (Some(Node::String(name)), Some(value)) = (nodes.get(name_at), nodes.get(value_at)) else {
                break;
            };
            name_at = value_at + 1 + nested(value);
            let number = plan.names.find(name).map_or(usize::MAX, |number| number as usize);
            let Some(slot) = slots.get(number) else {
                unknown += 1;
                self.visit_other(plan, name, value_at, duty)?;
                continue;
            };
            let bit = 1_u64 << (number % 64);
            let twice = if number < 64 { seen & bit != 0 } else { self.note_far(bits, number) };
            if number < 64 {
                seen |= bit;
            }
            if twice && duty.duplicates() {
                self.fail(OpIndex::DUPLICATE, value_at, Reason::DuplicateKey)?;
            }
            if !slot.pass.admits(value, child.duplicates()) {
                self.value_at(&slot.op, value_at, child)?;
            }
            for (_, op) in &slot.patterns {
                self.value_at(op, value_at, Duty::NONE)?;
            }
            if duty.track() && (slot.known || plan.others_evaluated) {
                self.mark(value_at, duty);
            }
        }
        if self.misses_required(plan, seen, bits) {
            return self.fail(OpIndex::DUPLICATE, at, Reason::MissingField);
        }
        self.scratch.bits.truncate(bits);
        // An unknown name cannot equal a known one, so one alone is no duplicate.
        if unknown > 1 && duty.duplicates() {
            return self.unique_names(nodes.get(at + 1..name_at).unwrap_or_default(), len);
        }
        Continue(())
    }

    /// Notes that a slot past 64 was seen, and says whether it had been before.
    #[inline(never)]
    fn note_far(&mut self, bits: usize, slot: usize) -> bool {
        let bit = 1_u64 << (slot % 64);
        let Some(word) = self.scratch.bits.get_mut(bits + slot / 64 - 1) else { return false };
        let before = *word & bit != 0;
        *word |= bit;
        before
    }

    #[inline]
    fn misses_required(&self, plan: &ObjectPlan, seen: u64, bits: usize) -> bool {
        if plan.required_mask & !seen != 0 {
            return true;
        }
        // Required slots come first, so the words past the first are full ones and then a rest.
        (64..plan.required).any(|slot| {
            let word = self.scratch.bits.get(bits + slot as usize / 64 - 1);
            word.is_none_or(|word| word & 1 << (slot % 64) == 0)
        })
    }

    /// A member that is no known name: patterns, then `additionalProperties`.
    #[inline(never)]
    pub(super) fn visit_other(
        &mut self,
        plan: &ObjectPlan,
        name: &str,
        value_at: usize,
        duty: Duty,
    ) -> ControlFlow<()> {
        let mut inner = duty.of_child();
        let mut matched = false;
        if !plan.patterns.is_empty() {
            self.pay(plan.patterns.len() * (1 + name.len() / BYTES_PER_STEP))?;
        }
        for (pattern, block, op) in &plan.patterns {
            if !self.name_matches(*pattern, name) {
                continue;
            }
            matched = true;
            if S::REPORTS {
                self.block(*block, value_at, Duty::NONE)?;
            } else {
                self.value_at(op, value_at, inner)?;
                inner = Duty::NONE;
            }
        }
        if matched || plan.others_evaluated {
            self.mark(value_at, duty);
        }
        if matched {
            return Continue(());
        }
        match plan.others_block {
            Some(block) if S::REPORTS => self.block(block, value_at, Duty::NONE),
            None if S::REPORTS => Continue(()),
            _ => self.value_at(&plan.others, value_at, inner),
        }
    }

    pub(super) fn name_matches(&self, pattern: u32, name: &str) -> bool {
        self.tables.patterns.get(pattern as usize).is_some_and(|pattern| pattern.is_match(name))
    }
}
