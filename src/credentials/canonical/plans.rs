//! Forms that are known beforehand: the stretches of a document with the same outline, which fit this one, too.
//!
//! An outline tells names, containers and which values are strings, so the order of members is that of the last time. What
//! it does not tell is white space and escapes; whether there are some shows in the length of the payload, as in
//! `compact.rs`.

use super::compact;
use super::forms::Form;
use super::order::Ordered;
use super::stretches::Stretch;
use crate::outline::{ByOutline, Pool, Span};
use crate::tape::{Node, StaticNode};

/// LIMIT: stretches of a form that is remembered.
const STRETCHES_MAX: usize = 192;
/// LIMIT: numbers and words of a document whose form is remembered.
const SCALARS_MAX: usize = 128;
/// LIMIT: of each kind in all forms that were written since all were forgotten; when they are more, all are learned anew.
const POOLED_MAX: usize = 1 << 15;

/// The forms of the outlines that a worker knows.
#[derive(Debug)]
pub(super) struct Plans {
    known: ByOutline<Plan>,
    scalars: Pool<u32>,
    stretches: Pool<Stretch>,
}

#[derive(Clone, Copy, Debug, Default)]
struct Plan {
    /// Which form it is, and of which value without which member.
    form: u8,
    node: usize,
    omit: usize,
    /// The bytes of a compact document beside those of strings, names, numbers and words.
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
        }
    }
}

impl Plans {
    /// The form's stretches, if it is known and the payload compact.
    #[inline]
    pub(super) fn find<F: Form>(&self, ordered: Ordered<'_>, node: usize) -> Option<&[Stretch]> {
        let outline = ordered.tape.outline()?;
        let plan = self.known.get(outline)?;
        if (plan.form, plan.node, plan.omit) != (F::NUMBER, node, ordered.omit) {
            return None;
        }
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
        let told = F::LENGTH_TELLS_ESCAPES && !scalars.iter().any(is_double);
        (told || F::escapes(payload).are_none()).then(|| self.stretches.list(plan.stretches))?
    }

    /// Remembers the stretches of a compact document's form.
    pub(super) fn learn<F: Form>(&mut self, ordered: Ordered<'_>, node: usize, stretches: &[Stretch]) {
        let is_scalar = |(at, node): (usize, &Node<'_>)| matches!(node, Node::Static(_)).then_some(at);
        let scalars = || ordered.tape.nodes().iter().enumerate().filter_map(is_scalar);
        let Some(outline) = ordered.tape.outline() else { return };
        // Of several forms of one document, the first is remembered: forms that take turns would fill the pools.
        if self.known.get(outline).is_some()
            || stretches.len() > STRETCHES_MAX
            || scalars().count() > SCALARS_MAX
        {
            return;
        }
        let Some(bytes) = scalar_bytes::<F>(ordered, scalars()) else { return };
        let payload_bytes = ordered.payload.trim_ascii_end().len();
        let Some(fixed_bytes) = payload_bytes.checked_sub(outline.text_bytes + bytes) else { return };
        if self.stretches.room() < STRETCHES_MAX || self.scalars.room() < SCALARS_MAX {
            self.known.forget();
            self.stretches.clear();
            self.scalars.clear();
        }
        let scalars = self.scalars.add(scalars().map(|at| at as u32));
        let stretches = self.stretches.add(stretches.iter().copied());
        let (Some(scalars), Some(stretches)) = (scalars, stretches) else { return };
        if let Some(plan) = self.known.learn(outline) {
            let (form, omit) = (F::NUMBER, ordered.omit);
            *plan = Plan { form, node, omit, fixed_bytes, scalars, stretches };
        }
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
