//! Step 4: surface, thread, room and work against the kind.

use std::ops::ControlFlow;

use super::grammar::{is_blank, is_direct_id, is_reference_thread_id, is_work_id};
use super::members::{Envelope, Member};
use super::{
    CONTAINER_CONFLICT, DIRECT_ID_GRAMMAR, DIRECT_ID_REQUIRED, DISCOVERY, MessageKind, SURFACE,
    THREAD_ID_BLANK, THREAD_ID_GRAMMAR, THREAD_ID_REQUIRED, WORK_ID_GRAMMAR, WORK_ID_REQUIRED,
};
use crate::config::{Agh, ThreadGrammar};
use crate::formats::rule::Report;
use crate::program::Observer;

/// Discovery stands outside conversations; every other kind names exactly one container.
pub(super) fn check<O: Observer>(
    envelope: &Envelope<'_>,
    kind: MessageKind,
    knobs: &Agh,
    report: &mut Report<'_, O>,
) -> ControlFlow<()> {
    if kind.is_discovery() {
        return discovery(envelope, report);
    }
    surface(envelope, knobs, report)?;
    let at = envelope.place(Member::WorkId);
    if let Some(work) = envelope.text(Member::WorkId) {
        return report.demand(WORK_ID_GRAMMAR, is_work_id(work), at);
    }
    report.demand(WORK_ID_REQUIRED, !kind.needs_work(), at)
}

/// Greetings and look-ups carry no member of a conversation, not even an empty one.
fn discovery<O: Observer>(envelope: &Envelope<'_>, report: &mut Report<'_, O>) -> ControlFlow<()> {
    for member in [Member::Surface, Member::ThreadId, Member::DirectId, Member::WorkId] {
        report.demand(DISCOVERY, envelope.text(member).is_none(), envelope.place(member))?;
    }
    ControlFlow::Continue(())
}

/// The surface names the container that must be there, and the other one must not.
fn surface<O: Observer>(envelope: &Envelope<'_>, knobs: &Agh, report: &mut Report<'_, O>) -> ControlFlow<()> {
    let other = match envelope.text(Member::Surface) {
        Some("thread") => {
            thread(envelope, knobs, report)?;
            Member::DirectId
        }
        Some("direct") => {
            let at = envelope.place(Member::DirectId);
            match envelope.text(Member::DirectId) {
                Some(room) => report.demand(DIRECT_ID_GRAMMAR, is_direct_id(room), at)?,
                None => report.broken(DIRECT_ID_REQUIRED, at)?,
            }
            Member::ThreadId
        }
        _ => return report.broken(SURFACE, envelope.place(Member::Surface)),
    };
    report.demand(CONTAINER_CONFLICT, envelope.text(other).is_none(), envelope.place(other))
}

/// The page asks for one character, the reference for one that is not blank, and its code for a pattern.
fn thread<O: Observer>(envelope: &Envelope<'_>, knobs: &Agh, report: &mut Report<'_, O>) -> ControlFlow<()> {
    let at = envelope.place(Member::ThreadId);
    let thread = envelope.text(Member::ThreadId).unwrap_or_default();
    if thread.is_empty() {
        return report.broken(THREAD_ID_REQUIRED, at);
    }
    report.demand(THREAD_ID_BLANK, !is_blank(thread), at)?;
    let holds = knobs.thread_grammar == ThreadGrammar::Any || is_reference_thread_id(thread);
    report.demand(THREAD_ID_GRAMMAR, holds, at)
}
