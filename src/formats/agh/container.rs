//! Step 4: surface, thread, room and work against the kind.

use std::ops::ControlFlow;

use super::fields::{Envelope, Field};
use super::grammar::{is_blank, is_direct_id, is_reference_thread_id, is_work_id};
use super::settings::{Settings, ThreadGrammar};
use super::{MessageKind, fail};
use crate::program::Observer;
use crate::verdict::Reason;

/// Discovery stands outside conversations; every other kind names exactly one container.
pub(super) fn check<O: Observer>(
    envelope: &Envelope<'_>,
    kind: MessageKind,
    settings: &Settings,
    observer: &mut O,
) -> ControlFlow<()> {
    if kind.is_discovery() {
        return discovery(envelope, observer);
    }
    surface(envelope, settings, observer)?;
    match envelope.text(Field::WorkId) {
        Some(work) if !is_work_id(work) => {
            fail(observer, Reason::WorkIdGrammar, envelope.place(Field::WorkId))
        }
        None if kind.needs_work() => fail(observer, Reason::WorkIdRequired, envelope.root().at()),
        _ => ControlFlow::Continue(()),
    }
}

/// Greetings and look-ups carry no member of a conversation, not even an empty one.
fn discovery<O: Observer>(envelope: &Envelope<'_>, observer: &mut O) -> ControlFlow<()> {
    for field in [Field::Surface, Field::ThreadId, Field::DirectId, Field::WorkId] {
        if envelope.text(field).is_some() {
            fail(observer, Reason::DiscoveryConversationField, envelope.place(field))?;
        }
    }
    ControlFlow::Continue(())
}

/// The surface names the container that must be there, and the other one must not.
fn surface<O: Observer>(envelope: &Envelope<'_>, settings: &Settings, observer: &mut O) -> ControlFlow<()> {
    let other = match envelope.text(Field::Surface) {
        Some("thread") => {
            match envelope.text(Field::ThreadId) {
                Some(thread) if is_thread_id(thread, settings) => {}
                _ => fail(observer, Reason::ThreadIdRequired, envelope.place(Field::ThreadId))?,
            }
            Field::DirectId
        }
        Some("direct") => {
            match envelope.text(Field::DirectId) {
                Some(room) if is_direct_id(room) => {}
                Some(_) => fail(observer, Reason::DirectIdGrammar, envelope.place(Field::DirectId))?,
                None => fail(observer, Reason::DirectIdRequired, envelope.root().at())?,
            }
            Field::ThreadId
        }
        _ => return fail(observer, Reason::Surface, envelope.place(Field::Surface)),
    };
    if envelope.text(other).is_some() {
        fail(observer, Reason::ContainerConflict, envelope.place(other))?;
    }
    ControlFlow::Continue(())
}

/// The page asks for one character, the reference's default for one that is not blank, its own code for a pattern.
fn is_thread_id(thread: &str, settings: &Settings) -> bool {
    match settings.thread_grammar {
        ThreadGrammar::Reference => is_reference_thread_id(thread),
        ThreadGrammar::Any if settings.reference => !is_blank(thread),
        ThreadGrammar::Any => !thread.is_empty(),
    }
}
