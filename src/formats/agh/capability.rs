//! Step 5 for the kind `capability`: the wrapped artefact, its requirements, then its digest.

use std::ops::ControlFlow;

use super::body::{Is, filled, member, members};
use super::{BODY_MISSING_FIELD, CAPABILITY_DIGEST, CAPABILITY_REQUIREMENTS, CAPABILITY_UNWRAPPED};
use crate::credentials::canonical::Buffers;
use crate::credentials::digest::capability_fits;
use crate::formats::record::Record;
use crate::formats::rule::Report;
use crate::formats::unique::first_repeated;
use crate::program::Observer;
use crate::tape::NodeIndex;

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

/// Checks what stands in `body.capability`, all but its digest.
pub(super) fn check<O: Observer>(
    record: &Record<'_>,
    body: NodeIndex,
    report: &mut Report<'_, O>,
) -> ControlFlow<()> {
    let wrapped = member(record, body, "capability").is_some();
    report.demand(CAPABILITY_UNWRAPPED, wrapped, body)?;
    let capability = match members(record, body, &[("capability", Is::Object)], report)? {
        Some([Some(capability)]) => capability,
        // Null is there, and holds nothing of what is needed.
        Some([None]) if wrapped => return report.broken(BODY_MISSING_FIELD, body),
        _ => return ControlFlow::Continue(()),
    };
    let Some([id, summary, outcome, digest, .., requirements]) =
        members(record, capability, &CAPABILITY, report)?
    else {
        return ControlFlow::Continue(());
    };
    for text in [id, summary, outcome, digest] {
        report.demand(BODY_MISSING_FIELD, filled(record, text).is_some(), text.unwrap_or(capability))?;
    }
    let wrong = requirements.and_then(|list| wrong_requirement(record, list));
    report.demand(CAPABILITY_REQUIREMENTS, wrong.is_none(), wrong.unwrap_or(capability))
}

/// A requirement that is blank, or that stood there before.
fn wrong_requirement(record: &Record<'_>, list: NodeIndex) -> Option<NodeIndex> {
    let items = record.items(list);
    let text = |item: NodeIndex| record.text_at(item).map_or("", str::trim);
    if let Some(blank) = items.clone().find(|item| text(*item).is_empty()) {
        return Some(blank);
    }
    let place = first_repeated(items.clone().count(), items.clone().map(text))?;
    items.clone().nth(place)
}

/// The digest; last of all, since it is worth nothing over a broken body.
pub(super) fn verify<O: Observer>(
    record: &Record<'_>,
    body: NodeIndex,
    buffers: &mut Buffers,
    report: &mut Report<'_, O>,
) -> ControlFlow<()> {
    let Some(capability) = member(record, body, "capability") else { return ControlFlow::Continue(()) };
    match member(record, capability, "digest").and_then(|at| Some((at, record.text_at(at)?))) {
        Some((at, text)) if report.wants(CAPABILITY_DIGEST) => {
            report.demand(CAPABILITY_DIGEST, capability_fits(record.tape, capability, text, buffers), at)
        }
        _ => ControlFlow::Continue(()),
    }
}
