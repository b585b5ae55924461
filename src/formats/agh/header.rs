//! Steps 1 to 2e: names, types, presence, then the members that every kind has.
//!
//! The order of these steps is the order of the functions, not the order of members in the text: a wrong type anywhere
//! ranks before an unknown kind, an absent member before a bad channel.

use std::ops::ControlFlow;

use super::fields::{Envelope, Field, Kind, Null};
use super::grammar::{is_blank, is_channel, is_handle, is_peer_id, is_workspace_id};
use super::settings::{Settings, VerifyProof};
use super::{MessageKind, fail};
use crate::program::Observer;
use crate::verdict::Reason;

const PROTOCOL: &str = "agh-network/v0";

/// Steps 1 to 2e in their order; gives the kind if it is a known one.
pub(super) fn check<O: Observer>(
    envelope: &Envelope<'_>,
    settings: &Settings,
    observer: &mut O,
) -> ControlFlow<(), Option<MessageKind>> {
    names(envelope, settings, observer)?;
    json_types(envelope, settings, observer)?;
    presence(envelope, observer)?;
    identifiers(envelope, settings, observer)?;
    let kind = kind(envelope, observer)?;
    participants(envelope, settings, observer)?;
    references(envelope, observer)?;
    ControlFlow::Continue(kind)
}

/// Step 1: no member of an older version, no unknown one.
fn names<O: Observer>(envelope: &Envelope<'_>, settings: &Settings, observer: &mut O) -> ControlFlow<()> {
    if let Some(legacy) = envelope.legacy() {
        fail(observer, Reason::LegacyField, legacy.at())?;
    }
    if settings.ignore_unknown {
        return ControlFlow::Continue(());
    }
    if let Some(first) = envelope.first_unknown() {
        fail(observer, Reason::UnknownField, first.at())?;
        for other in envelope.other_unknown() {
            fail(observer, Reason::UnknownField, other.at())?;
        }
    }
    ControlFlow::Continue(())
}

/// Step 2a: the JSON type of every known member, null only where it is allowed, then the range of the times.
fn json_types<O: Observer>(
    envelope: &Envelope<'_>,
    settings: &Settings,
    observer: &mut O,
) -> ControlFlow<()> {
    for field in Field::ALL {
        let Some(value) = envelope.raw(*field) else { continue };
        if value.is_null() {
            let allowed = match field.null() {
                Null::Refused => false,
                Null::Absent => true,
                Null::BySetting => settings.null_as_absent,
            };
            if !allowed {
                fail(observer, Reason::NullNotAllowed, value.at())?;
            }
            continue;
        }
        let holds = match field.kind() {
            Kind::Text => value.text().is_some(),
            // A plain integer within 64 bits: `1.0`, `1e9` and 2^63 have no such form.
            Kind::Seconds => value.integer().is_some(),
            Kind::Object => value.is_object(),
        };
        if !holds {
            fail(observer, Reason::FieldType, value.at())?;
        }
    }
    for field in [Field::Ts, Field::ExpiresAt] {
        if envelope.seconds(field).is_some_and(|seconds| seconds < 0) {
            fail(observer, Reason::FieldRange, envelope.place(field))?;
        }
    }
    ControlFlow::Continue(())
}

/// Step 2b: the eight members that every envelope has.
fn presence<O: Observer>(envelope: &Envelope<'_>, observer: &mut O) -> ControlFlow<()> {
    for field in Field::ALL {
        if field.is_required() && envelope.raw(*field).is_none() {
            fail(observer, Reason::MissingField, envelope.root().at())?;
        }
    }
    ControlFlow::Continue(())
}

/// Step 2c: protocol, id, workspace. The page asks for one character; the rest is the reference's.
fn identifiers<O: Observer>(
    envelope: &Envelope<'_>,
    settings: &Settings,
    observer: &mut O,
) -> ControlFlow<()> {
    if envelope.text(Field::Protocol).is_some_and(|protocol| protocol != PROTOCOL) {
        fail(observer, Reason::Protocol, envelope.place(Field::Protocol))?;
    }
    let is_id = |id: &str| if settings.reference { !is_blank(id) } else { !id.is_empty() };
    if envelope.text(Field::Id).is_some_and(|id| !is_id(id)) {
        fail(observer, Reason::IdBlank, envelope.place(Field::Id))?;
    }
    let is_workspace =
        |workspace: &str| if settings.reference { is_workspace_id(workspace) } else { !workspace.is_empty() };
    if envelope.text(Field::WorkspaceId).is_some_and(|workspace| !is_workspace(workspace)) {
        fail(observer, Reason::WorkspaceIdGrammar, envelope.place(Field::WorkspaceId))?;
    }
    ControlFlow::Continue(())
}

/// Step 2d: the kind.
fn kind<O: Observer>(envelope: &Envelope<'_>, observer: &mut O) -> ControlFlow<(), Option<MessageKind>> {
    let Some(name) = envelope.text(Field::Kind) else { return ControlFlow::Continue(None) };
    let kind = MessageKind::named(name);
    if kind.is_none() {
        fail(observer, Reason::Kind, envelope.place(Field::Kind))?;
    }
    ControlFlow::Continue(kind)
}

/// Step 2e, first half: channel, sender, target.
fn participants<O: Observer>(
    envelope: &Envelope<'_>,
    settings: &Settings,
    observer: &mut O,
) -> ControlFlow<()> {
    if envelope.text(Field::Channel).is_some_and(|channel| !is_channel(channel)) {
        fail(observer, Reason::ChannelGrammar, envelope.place(Field::Channel))?;
    }
    for field in [Field::From, Field::To] {
        if envelope.text(field).is_some_and(|peer| !is_peer(peer, settings)) {
            fail(observer, Reason::PeerIdGrammar, envelope.place(field))?;
        }
    }
    ControlFlow::Continue(())
}

/// Step 2e, second half: references that are there are not empty.
fn references<O: Observer>(envelope: &Envelope<'_>, observer: &mut O) -> ControlFlow<()> {
    for field in [Field::ReplyTo, Field::TraceId, Field::CausationId] {
        if envelope.text(field).is_some_and(str::is_empty) {
            fail(observer, Reason::EmptyReference, envelope.place(field))?;
        }
    }
    ControlFlow::Continue(())
}

/// A peer id; where proofs are verified also a handle, which carries the fingerprint of its key.
pub(super) fn is_peer(text: &str, settings: &Settings) -> bool {
    is_peer_id(text) || (settings.verify_proof != VerifyProof::Off && is_handle(text))
}
