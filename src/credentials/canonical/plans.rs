//! Forms that are known beforehand: the stretches of a document with the same outline, which fit this one, too.
//!
//! An outline tells names, containers and which values are strings, so the order of members is that of the last time. What
//! it does not tell is white space and escapes; whether there are some shows in the length of the payload, as in
//! `compact.rs`.

use super::compact;
use super::forms::Form;
use super::order::Ordered;
use super::stretches::Stretch;
use crate::outline::ByOutline;
use crate::tape::{Node, StaticNode};

/// LIMIT: stretches of a form that is remembered.
const STRETCHES_MAX: usize = 192;
/// LIMIT: numbers and words of a document whose form is remembered.
const SCALARS_MAX: usize = 128;

/// The forms of the outlines that a worker knows.
#[derive(Debug)]
pub(super) struct Plans(ByOutline<Plan>);

#[derive(Debug)]
struct Plan {
    /// Which form it is, and of which value without which member.
    form: u8,
    node: usize,
    omit: usize,
    /// The bytes of a compact document beside those of strings, names, numbers and words.
    fixed_bytes: usize,
    /// The nodes of numbers and words.
    scalars: Vec<u32>,
    stretches: Vec<Stretch>,
}

impl Default for Plans {
    fn default() -> Self {
        Self(ByOutline::new(|| Plan {
            form: 0,
            node: 0,
            omit: 0,
            fixed_bytes: 0,
            scalars: Vec::with_capacity(SCALARS_MAX),
            stretches: Vec::with_capacity(STRETCHES_MAX),
        }))
    }
}

impl Plans {
    /// The form's stretches, if it is known and the payload compact.
    #[inline]
    pub(super) fn find<F: Form>(&self, ordered: Ordered<'_>, node: usize) -> Option<&[Stretch]> {
        let outline = ordered.tape.outline()?;
        let plan = self.0.get(outline)?;
        if (plan.form, plan.node, plan.omit) != (F::NUMBER, node, ordered.omit) {
            return None;
        }
        let Ordered { tape, payload, .. } = ordered;
        let scalars = scalar_bytes::<F>(ordered, plan.scalars.iter().map(|at| *at as usize))?;
        let bytes = plan.fixed_bytes + outline.text_bytes + scalars;
        if bytes != payload.trim_ascii_end().len() || !tape.wide().is_empty() {
            return None;
        }
        // PERF: the length tells escapes as well, which are longer than what they stand for, and so a look for them is
        // saved. But doubles were looked up at places that are right only without escapes.
        let is_double =
            |at: &u32| matches!(tape.nodes().get(*at as usize), Some(Node::Static(StaticNode::F64(_))));
        let told = F::LENGTH_TELLS_ESCAPES && !plan.scalars.iter().any(is_double);
        (told || F::escapes(payload).are_none()).then_some(&plan.stretches)
    }

    /// Remembers the stretches of a compact document's form.
    pub(super) fn learn<F: Form>(&mut self, ordered: Ordered<'_>, node: usize, stretches: &[Stretch]) {
        let is_scalar = |(at, node): (usize, &Node<'_>)| matches!(node, Node::Static(_)).then_some(at);
        let scalars = || ordered.tape.nodes().iter().enumerate().filter_map(is_scalar);
        let Some(outline) = ordered.tape.outline() else { return };
        if stretches.len() > STRETCHES_MAX || scalars().count() > SCALARS_MAX {
            return;
        }
        let Some(bytes) = scalar_bytes::<F>(ordered, scalars()) else { return };
        let payload_bytes = ordered.payload.trim_ascii_end().len();
        let Some(fixed_bytes) = payload_bytes.checked_sub(outline.text_bytes + bytes) else { return };
        let Some(plan) = self.0.learn(outline) else { return };
        (plan.form, plan.node, plan.omit, plan.fixed_bytes) = (F::NUMBER, node, ordered.omit, fixed_bytes);
        plan.scalars.clear();
        plan.scalars.extend(scalars().map(|at| at as u32));
        plan.stretches.clear();
        plan.stretches.extend_from_slice(stretches);
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
