//! Step 5 for the kind `capability`: the wrapped artefact, its requirements, then its digest.

use std::ops::ControlFlow;

use super::body::{Is, filled, has_blank, members};
use super::fail;
use crate::formats::values::Value;
use crate::program::Observer;
use crate::tape::NodeIndex;
use crate::verdict::Reason;

/// Memory for comparing requirements; grows to what is needed and is used again.
#[derive(Debug, Default)]
pub(super) struct Scratch {
    /// Nodes of the requirements in byte order of their texts.
    sorted: Vec<NodeIndex>,
}

const CAPABILITY: [(&str, Is); 11] = [
    ("id", Is::Text),
    ("summary", Is::Text),
    ("outcome", Is::Text),
    ("digest", Is::Text),
    ("version", Is::Text),
    ("context_needed", Is::Texts),
    ("artifacts_expected", Is::Texts),
    ("execution_outline", Is::Texts),
    ("constraints", Is::Texts),
    ("examples", Is::Texts),
    ("requirements", Is::Texts),
];

/// Checks what stands in `body.capability`.
pub(super) fn check<O: Observer>(
    body: Value<'_>,
    scratch: &mut Scratch,
    observer: &mut O,
) -> ControlFlow<()> {
    if body.member("capability").is_none() {
        return fail(observer, Reason::CapabilityUnwrapped, body.at());
    }
    let Some([capability]) = members(body, &[("capability", Is::Object)], observer)? else { return ControlFlow::Continue(()) };
    let Some(capability) = capability else {
        return fail(observer, Reason::BodyMissingField, body.at());
    };
    let Some([id, summary, outcome, digest, .., requirements]) = members(capability, &CAPABILITY, observer)? else { return ControlFlow::Continue(()) };
    for text in [id, summary, outcome, digest] {
        if filled(text).is_none() {
            fail(observer, Reason::BodyMissingField, text.unwrap_or(capability).at())?;
        }
    }
    if let Some(requirements) = requirements
        && let Some(at) = wrong_requirement(requirements, scratch)
    {
        fail(observer, Reason::CapabilityRequirements, at)?;
    }
    ControlFlow::Continue(())
}

/// A requirement that is blank, or that stands there twice.
fn wrong_requirement(requirements: Value<'_>, scratch: &mut Scratch) -> Option<NodeIndex> {
    if let Some(blank) = has_blank(requirements) {
        return Some(blank);
    }
    // Sorting bounds the work on a list that fills a whole payload; comparing each with each would not.
    let text = |at: NodeIndex| Value::new(requirements.tape(), at).text().map_or("", str::trim);
    let sorted = &mut scratch.sorted;
    sorted.clear();
    sorted.extend(requirements.items().map(Value::at));
    sorted.sort_unstable_by(|left, right| text(*left).cmp(text(*right)).then(left.cmp(right)));
    sorted.windows(2).find_map(|pair| match pair {
        [left, right] if text(*left) == text(*right) => Some(*right),
        _ => None,
    })
}
