//! Steps 1 to 2e: names, types, presence, then the members that every kind has.
//!
//! The order of these steps is the order of the functions, not the order of members in the text: a wrong type anywhere
//! ranks before an unknown kind, an absent member before a bad channel.

use std::ops::ControlFlow;

use super::grammar::{is_blank, is_channel, is_handle, is_peer_id, is_workspace_id};
use super::members::{Envelope, Kind, Member, Null, ROOT};
use super::{
    CHANNEL_GRAMMAR, EMPTY_REFERENCE, FIELD_RANGE, FIELD_TYPE, ID_BLANK, ID_EMPTY, KIND, LEGACY_FIELD,
    MISSING_FIELD, MessageKind, NULL_NOT_ALLOWED, PEER_ID_GRAMMAR, PROTOCOL, UNKNOWN_FIELD,
    WORKSPACE_ID_EMPTY, WORKSPACE_ID_GRAMMAR,
};
use crate::config::{Agh, NullOptionals, UnknownFields, VerifyProof};
use crate::formats::rule::Report;
use crate::program::Observer;

const PROTOCOL_NAME: &str = "agh-network/v0";

/// What the schema cannot say for certain: times are plain integers, and what the reference asks of identifiers.
pub(super) fn check_beyond_schema<O: Observer>(
    envelope: &Envelope<'_>,
    report: &mut Report<'_, O>,
) -> ControlFlow<(), Option<MessageKind>> {
    for member in [Member::Ts, Member::ExpiresAt] {
        json_type(envelope, member, report)?;
    }
    identifiers(envelope, report)?;
    ControlFlow::Continue(envelope.text(Member::Kind).and_then(MessageKind::named))
}

/// Steps 1 to 2e in their order; gives the kind if it is a known one.
pub(super) fn check<O: Observer>(
    envelope: &Envelope<'_>,
    knobs: &Agh,
    report: &mut Report<'_, O>,
) -> ControlFlow<(), Option<MessageKind>> {
    names(envelope, knobs, report)?;
    json_types(envelope, knobs, report)?;
    presence(envelope, report)?;
    identifiers(envelope, report)?;
    let kind = kind(envelope, report)?;
    participants(envelope, knobs, report)?;
    references(envelope, report)?;
    ControlFlow::Continue(kind)
}

/// Step 1: no member of an older version, no unknown one.
fn names<O: Observer>(envelope: &Envelope<'_>, knobs: &Agh, report: &mut Report<'_, O>) -> ControlFlow<()> {
    if let Some(legacy) = envelope.legacy() {
        report.broken(LEGACY_FIELD, legacy)?;
    }
    if knobs.unknown_fields == UnknownFields::Ignore {
        return ControlFlow::Continue(());
    }
    if let Some(first) = envelope.first_unknown() {
        report.broken(UNKNOWN_FIELD, first)?;
        for other in envelope.other_unknown() {
            report.broken(UNKNOWN_FIELD, other)?;
        }
    }
    ControlFlow::Continue(())
}

/// Step 2a: the JSON type of every known member, null only where it is allowed, then the range of the times.
fn json_types<O: Observer>(
    envelope: &Envelope<'_>,
    knobs: &Agh,
    report: &mut Report<'_, O>,
) -> ControlFlow<()> {
    for member in Member::ALL {
        let Some(at) = envelope.node(*member) else { continue };
        if !envelope.record.is_null(at) {
            json_type(envelope, *member, report)?;
            continue;
        }
        let allowed = match member.null() {
            Null::Refused => false,
            Null::Absent => true,
            Null::BySetting => knobs.null_optionals == NullOptionals::AsAbsent,
        };
        report.demand(NULL_NOT_ALLOWED, allowed, at)?;
    }
    for member in [Member::Ts, Member::ExpiresAt] {
        let holds = envelope.seconds(member).is_none_or(|seconds| seconds >= 0);
        report.demand(FIELD_RANGE, holds, envelope.place(member))?;
    }
    ControlFlow::Continue(())
}

/// The JSON type of one member that is there and not null.
fn json_type<O: Observer>(
    envelope: &Envelope<'_>,
    member: Member,
    report: &mut Report<'_, O>,
) -> ControlFlow<()> {
    let Some(at) = envelope.present(member) else { return ControlFlow::Continue(()) };
    let holds = match member.kind() {
        Kind::Text => envelope.record.text_at(at).is_some(),
        // A plain integer within 64 bits: `1.0`, `1e9` and 2^63 have no such form.
        Kind::Seconds => envelope.record.integer_at(at).is_some(),
        Kind::Object => envelope.record.is_object(at),
    };
    report.demand(FIELD_TYPE, holds, at)
}

/// Step 2b: the eight members that every envelope has.
fn presence<O: Observer>(envelope: &Envelope<'_>, report: &mut Report<'_, O>) -> ControlFlow<()> {
    for member in Member::ALL {
        let holds = !member.is_required() || envelope.node(*member).is_some();
        report.demand(MISSING_FIELD, holds, ROOT)?;
    }
    ControlFlow::Continue(())
}

/// Step 2c: protocol, id, workspace. The page asks for one character; the rest is the reference's.
fn identifiers<O: Observer>(envelope: &Envelope<'_>, report: &mut Report<'_, O>) -> ControlFlow<()> {
    let protocol = envelope.text(Member::Protocol);
    report.demand(
        PROTOCOL,
        protocol.is_none_or(|protocol| protocol == PROTOCOL_NAME),
        envelope.place(Member::Protocol),
    )?;
    if let Some(id) = envelope.text(Member::Id) {
        let at = envelope.place(Member::Id);
        let rule = if id.is_empty() { ID_EMPTY } else { ID_BLANK };
        report.demand(rule, !is_blank(id), at)?;
    }
    if let Some(workspace) = envelope.text(Member::WorkspaceId) {
        let at = envelope.place(Member::WorkspaceId);
        let rule = if workspace.is_empty() { WORKSPACE_ID_EMPTY } else { WORKSPACE_ID_GRAMMAR };
        report.demand(rule, is_workspace_id(workspace), at)?;
    }
    ControlFlow::Continue(())
}

/// Step 2d: the kind.
fn kind<O: Observer>(
    envelope: &Envelope<'_>,
    report: &mut Report<'_, O>,
) -> ControlFlow<(), Option<MessageKind>> {
    let Some(name) = envelope.text(Member::Kind) else { return ControlFlow::Continue(None) };
    let kind = MessageKind::named(name);
    report.demand(KIND, kind.is_some(), envelope.place(Member::Kind))?;
    ControlFlow::Continue(kind)
}

/// Step 2e, first half: channel, sender, target.
fn participants<O: Observer>(
    envelope: &Envelope<'_>,
    knobs: &Agh,
    report: &mut Report<'_, O>,
) -> ControlFlow<()> {
    let holds = envelope.text(Member::Channel).is_none_or(is_channel);
    report.demand(CHANNEL_GRAMMAR, holds, envelope.place(Member::Channel))?;
    for member in [Member::From, Member::To] {
        let holds = envelope.text(member).is_none_or(|peer| is_peer(peer, knobs));
        report.demand(PEER_ID_GRAMMAR, holds, envelope.place(member))?;
    }
    ControlFlow::Continue(())
}

/// Step 2e, second half: references that are there are not empty.
fn references<O: Observer>(envelope: &Envelope<'_>, report: &mut Report<'_, O>) -> ControlFlow<()> {
    for member in [Member::ReplyTo, Member::TraceId, Member::CausationId] {
        let holds = envelope.text(member).is_none_or(|reference| !reference.is_empty());
        report.demand(EMPTY_REFERENCE, holds, envelope.place(member))?;
    }
    ControlFlow::Continue(())
}

/// A peer id; where proofs are verified also a handle, which carries the fingerprint of its key.
pub(super) fn is_peer(text: &str, knobs: &Agh) -> bool {
    is_peer_id(text) || (knobs.verify_proof != VerifyProof::Off && is_handle(text))
}
