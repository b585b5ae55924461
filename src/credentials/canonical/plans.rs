//! Forms that are known beforehand: the stretches or turns of a document with the same outline, which fit this one, too.
//!
//! An outline tells names, containers and which values are strings, so the order of members is that of the last time. What
//! it does not tell is white space and escapes; whether there are some shows in the length of the payload, as in
//! `compact.rs`. Without them stretches of the payload are the form, and with them its values take turns.

use super::compact;
use super::forms::Form;
use super::order::Ordered;
use super::stretches::Stretch;
use super::turns::{self, Turns};
use super::walk::Lists;
use crate::outline::{ByOutline, Pool, Span};
use crate::tape::{Node, StaticNode};

/// LIMIT: stretches of a form that is remembered.
const STRETCHES_MAX: usize = 192;
/// LIMIT: numbers and words of a document whose form is remembered.
const SCALARS_MAX: usize = 128;
/// LIMIT: turns of a form that is remembered: no document with more nodes has an outline.
const TURNS_MAX: usize = 512;
/// LIMIT: bytes of all turns.
const LITERALS_MAX: usize = 1 << 19;
/// LIMIT: of each kind in all forms that were written since all were forgotten; when they are more, all are learned anew.
const POOLED_MAX: usize = 1 << 15;

/// The forms of the outlines that a worker knows.
#[derive(Debug)]
pub(super) struct Plans {
    known: ByOutline<Plan>,
    scalars: Pool<u32>,
    stretches: Pool<Stretch>,
    turns: Turns,
}

/// What is known of the forms of an outline's documents: of several, that of the first which was asked for.
#[derive(Clone, Copy, Debug, Default)]
struct Plan {
    /// Which form it is, and of which value without which member.
    form: u8,
    node: usize,
    omit: usize,
    compact: Option<CompactPlan>,
    turns: KnownTurns,
}

/// What is known of a form's turns.
#[derive(Clone, Copy, Debug, Default)]
enum KnownTurns {
    /// Nobody has asked yet.
    #[default]
    Unasked,
    /// There is no form, or it is too large.
    None,
    Listed(turns::Listed),
}

/// What is known of compact documents.
#[derive(Clone, Copy, Debug)]
struct CompactPlan {
    /// The bytes of a document beside those of strings, names, numbers and words.
    fixed_bytes: usize,
    /// The nodes of numbers and words.
    scalars: Span,
    stretches: Span,
}

impl Default for Plans {
    fn default() -> Self {
        Self {
            known: ByOutline::new(Plan::default),
            scalars: Pool::new(POOLED_MAX),
            stretches: Pool::new(POOLED_MAX),
            turns: Turns::new(POOLED_MAX, LITERALS_MAX),
        }
    }
}

impl Plans {
    /// What is known of a form.
    #[inline]
    fn plan<F: Form>(&self, ordered: Ordered<'_>, node: usize) -> Option<&Plan> {
        let plan = self.known.get(ordered.tape.outline()?)?;
        ((plan.form, plan.node, plan.omit) == (F::NUMBER, node, ordered.omit)).then_some(plan)
    }

    /// Where to write down what is known of a form; `None` if that of another one is known, since forms that take turns
    /// would fill the pools.
    fn plan_mut<F: Form>(&mut self, ordered: Ordered<'_>, node: usize) -> Option<&mut Plan> {
        let outline = ordered.tape.outline()?;
        if self.known.get(outline).is_none() {
            let plan = Plan { form: F::NUMBER, node, omit: ordered.omit, ..Plan::default() };
            *self.known.learn(outline)? = plan;
        }
        self.plan::<F>(ordered, node)?;
        self.known.learn(outline)
    }

    /// Makes room by forgetting all.
    fn make_room(&mut self) {
        let (turns, literal_bytes) = self.turns.room();
        if self.stretches.room() < STRETCHES_MAX
            || self.scalars.room() < SCALARS_MAX
            || turns < TURNS_MAX
            || literal_bytes < LITERALS_MAX / 16
        {
            self.known.forget();
            self.stretches.clear();
            self.scalars.clear();
            self.turns.clear();
        }
    }

    /// The form's stretches, if it is known and the payload compact.
    #[inline]
    pub(super) fn find<F: Form>(&self, ordered: Ordered<'_>, node: usize) -> Option<&[Stretch]> {
        let outline = ordered.tape.outline()?;
        let plan = self.plan::<F>(ordered, node)?.compact?;
        let Ordered { tape, payload, .. } = ordered;
        let scalars = self.scalars.list(plan.scalars)?;
        let scalar_bytes = scalar_bytes::<F>(ordered, scalars.iter().map(|at| *at as usize))?;
        let bytes = plan.fixed_bytes + outline.text_bytes + scalar_bytes;
        if bytes != payload.trim_ascii_end().len() || !tape.wide().is_empty() {
            return None;
        }
        // PERF: the length tells escapes as well, which are longer than what they stand for, and so a look for them is
        // saved. But doubles were looked up at places that are right only without escapes.
        let is_double =
            |at: &u32| matches!(tape.nodes().get(*at as usize), Some(Node::Static(StaticNode::F64(_))));
        let told =
            F::LENGTH_TELLS_ESCAPES && (tape.is_known_without_escapes() || !scalars.iter().any(is_double));
        (told || F::escapes(tape).are_none()).then(|| self.stretches.list(plan.stretches))?
    }

    /// Remembers the stretches of a compact document's form.
    pub(super) fn learn<F: Form>(&mut self, ordered: Ordered<'_>, node: usize, stretches: &[Stretch]) {
        let is_scalar = |(at, node): (usize, &Node<'_>)| matches!(node, Node::Static(_)).then_some(at);
        let scalars = || ordered.tape.nodes().iter().enumerate().filter_map(is_scalar);
        let Some(outline) = ordered.tape.outline() else { return };
        if self.known.get(outline).is_some_and(|plan| plan.compact.is_some())
            || stretches.len() > STRETCHES_MAX
            || scalars().count() > SCALARS_MAX
        {
            return;
        }
        let Some(bytes) = scalar_bytes::<F>(ordered, scalars()) else { return };
        let payload_bytes = ordered.payload.trim_ascii_end().len();
        let Some(fixed_bytes) = payload_bytes.checked_sub(outline.text_bytes + bytes) else { return };
        self.make_room();
        if self.plan_mut::<F>(ordered, node).is_none() {
            return;
        }
        let scalars = self.scalars.add(scalars().map(|at| at as u32));
        let stretches = self.stretches.add(stretches.iter().copied());
        if let (Some(scalars), Some(stretches), Some(plan)) =
            (scalars, stretches, self.plan_mut::<F>(ordered, node))
        {
            plan.compact = Some(CompactPlan { fixed_bytes, scalars, stretches });
        }
    }

    /// The form's turns, and all that are known, if its outline is known. They are put together when they are asked for the
    /// first time.
    #[inline]
    pub(super) fn turns<F: Form>(
        &mut self,
        ordered: Ordered<'_>,
        node: usize,
        lists: &mut Lists,
    ) -> Option<(turns::Listed, &Turns)> {
        let plan = self.known.get(ordered.tape.outline()?);
        let known = match self.plan::<F>(ordered, node).map(|plan| plan.turns) {
            Some(KnownTurns::Listed(listed)) => listed,
            Some(KnownTurns::None) => return None,
            // Of several forms of one document, the first is remembered.
            None if plan.is_some() => return None,
            Some(KnownTurns::Unasked) | None => self.learn_turns::<F>(ordered, node, lists)?,
        };
        Some((known, &self.turns))
    }

    #[cold]
    fn learn_turns<F: Form>(
        &mut self,
        ordered: Ordered<'_>,
        node: usize,
        lists: &mut Lists,
    ) -> Option<turns::Listed> {
        self.make_room();
        self.plan_mut::<F>(ordered, node)?;
        let listed = turns::list::<F>(ordered, node, lists, &mut self.turns);
        self.plan_mut::<F>(ordered, node)?.turns = listed.map_or(KnownTurns::None, KnownTurns::Listed);
        listed
    }
}

/// The bytes of numbers and words; `None` if one is not spelled as the form does.
fn scalar_bytes<F: Form>(ordered: Ordered<'_>, scalars: impl Iterator<Item = usize>) -> Option<usize> {
    let mut behind_double = None;
    let mut sum = 0;
    for at in scalars {
        let Some(Node::Static(scalar)) = ordered.tape.nodes().get(at) else { return None };
        sum += compact::scalar_bytes::<F>(ordered.tape, ordered.payload, at, *scalar, &mut behind_double)?;
    }
    Some(sum)
}
