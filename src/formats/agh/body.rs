//! Step 5: what the body of each kind must hold.
//!
//! The contracts are the reference's; the page only says that a body fits its kind. Types of all known members come
//! first, as for a program that decodes before it looks. Texts count without surrounding white space, null means
//! absent, and members that nobody knows are ignored.

use std::ops::ControlFlow;

use super::capability;
use super::header::is_peer;
use super::members::{Envelope, Member, ROOT};
use super::{
    BODY_MISSING_FIELD, BODY_TYPE, MessageKind, PEER_CARD_ID, PEER_ID_MISMATCH, RECEIPT_REASON_CODE,
    RECEIPT_REASON_FORBIDDEN, RECEIPT_REASON_REQUIRED, RECEIPT_STATUS, REPLY_TO_REQUIRED, TRACE_STATE,
    WHOIS_REQUEST_PEER_CARD, WHOIS_TYPE,
};
use crate::config::Agh;
use crate::formats::record::Record;
use crate::formats::rule::Report;
use crate::program::Observer;
use crate::tape::NodeIndex;

/// What a member of a body must be.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Is {
    Text,
    Object,
    Array,
    /// An array of texts; null among them counts as a blank one, as the reference decodes it.
    Texts,
}

/// The members of an object that a contract knows, by their place in its list; null and absent are `None`.
///
/// Nothing comes back if one is of a wrong type: what else could be said about the object would only confuse.
pub(super) fn members<const N: usize, O: Observer>(
    record: &Record<'_>,
    object: NodeIndex,
    contract: &[(&str, Is); N],
    report: &mut Report<'_, O>,
) -> ControlFlow<(), Option<[Option<NodeIndex>; N]>> {
    let mut found = [None; N];
    for (name, at) in record.members(object) {
        let place = contract.iter().position(|(known, _)| *known == name);
        if let Some(slot) = place.and_then(|place| found.get_mut(place)) {
            *slot = Some(at).filter(|at| !record.is_null(*at));
        }
    }
    let mut holds = true;
    for (slot, (_, is)) in found.iter().zip(contract) {
        if let Some(at) = slot.and_then(|at| wrong_type(record, at, *is)) {
            holds = false;
            report.broken(BODY_TYPE, at)?;
        }
    }
    ControlFlow::Continue(holds.then_some(found))
}

fn wrong_type(record: &Record<'_>, at: NodeIndex, is: Is) -> Option<NodeIndex> {
    let holds = match is {
        Is::Text => record.text_at(at).is_some(),
        Is::Object => record.is_object(at),
        Is::Array | Is::Texts => record.is_array(at),
    };
    if !holds {
        return Some(at);
    }
    if is != Is::Texts {
        return None;
    }
    record.items(at).find(|item| record.text_at(*item).is_none() && !record.is_null(*item))
}

/// The member of an object; of a name that stands twice the last one counts.
pub(super) fn member(record: &Record<'_>, object: NodeIndex, name: &str) -> Option<NodeIndex> {
    record.members(object).filter(|(found, _)| *found == name).last().map(|(_, at)| at)
}

/// A text without its surrounding white space; `None` if nothing is left.
pub(super) fn filled<'a>(record: &Record<'a>, at: Option<NodeIndex>) -> Option<&'a str> {
    at.and_then(|at| record.text_at(at)).map(str::trim).filter(|text| !text.is_empty())
}

/// Checks the body of a kind, and what it demands of the rest of the envelope.
pub(super) fn check<O: Observer>(
    envelope: &Envelope<'_>,
    kind: MessageKind,
    knobs: &Agh,
    report: &mut Report<'_, O>,
) -> ControlFlow<()> {
    let Some(body) = envelope.object(Member::Body) else { return ControlFlow::Continue(()) };
    let record = &envelope.record;
    match kind {
        MessageKind::Greet => greet(envelope, body, knobs, report),
        MessageKind::Whois => whois(envelope, body, knobs, report),
        MessageKind::Say => say(record, body, report),
        MessageKind::Capability => capability::check(record, body, report),
        MessageKind::Receipt => receipt(record, body, report),
        MessageKind::Trace => trace(record, body, report),
    }
}

/// The peer card of a greeting or an answer.
pub(super) fn peer_card_of(envelope: &Envelope<'_>, kind: MessageKind) -> Option<NodeIndex> {
    let body = envelope.object(Member::Body)?;
    let offers = match kind {
        MessageKind::Greet => true,
        MessageKind::Whois => answers(&envelope.record, body),
        _ => false,
    };
    member(&envelope.record, body, "peer_card").filter(|_| offers)
}

/// Whether a whois is a response.
fn answers(record: &Record<'_>, body: NodeIndex) -> bool {
    filled(record, member(record, body, "type")) == Some("response")
}

fn greet<O: Observer>(
    envelope: &Envelope<'_>,
    body: NodeIndex,
    knobs: &Agh,
    report: &mut Report<'_, O>,
) -> ControlFlow<()> {
    let contract = [("peer_card", Is::Object), ("summary", Is::Text)];
    match members(&envelope.record, body, &contract, report)? {
        Some([Some(card), _]) => peer_card(envelope, card, knobs, report),
        Some([None, _]) => report.broken(BODY_MISSING_FIELD, body),
        None => ControlFlow::Continue(()),
    }
}

fn whois<O: Observer>(
    envelope: &Envelope<'_>,
    body: NodeIndex,
    knobs: &Agh,
    report: &mut Report<'_, O>,
) -> ControlFlow<()> {
    let contract = [("type", Is::Text), ("query", Is::Text), ("peer_card", Is::Object)];
    let record = &envelope.record;
    if let Some([direction, _query, card]) = members(record, body, &contract, report)? {
        match (filled(record, direction), card) {
            (Some("request"), Some(card)) => report.broken(WHOIS_REQUEST_PEER_CARD, card)?,
            (Some("request"), None) => {}
            (Some("response"), Some(card)) => peer_card(envelope, card, knobs, report)?,
            (Some("response"), None) => report.broken(BODY_MISSING_FIELD, body)?,
            _ => report.broken(WHOIS_TYPE, direction.unwrap_or(body))?,
        }
    }
    // The one thing that the page itself says about a body.
    let holds = !answers(record, body) || envelope.text(Member::ReplyTo).is_some();
    report.demand(REPLY_TO_REQUIRED, holds, ROOT)
}

const PEER_CARD: [(&str, Is); 7] = [
    ("peer_id", Is::Text),
    ("display_name", Is::Text),
    ("profiles_supported", Is::Texts),
    ("capabilities", Is::Texts),
    ("artifacts_supported", Is::Texts),
    ("trust_modes_supported", Is::Texts),
    ("ext", Is::Object),
];

/// Who the sender is and what it offers: its own id, and four lists that may be empty but not absent.
fn peer_card<O: Observer>(
    envelope: &Envelope<'_>,
    card: NodeIndex,
    knobs: &Agh,
    report: &mut Report<'_, O>,
) -> ControlFlow<()> {
    let Some([peer, _name, lists @ .., _ext]) = members(&envelope.record, card, &PEER_CARD, report)? else {
        return ControlFlow::Continue(());
    };
    let peer_at = peer.unwrap_or(card);
    let peer = filled(&envelope.record, peer);
    report.demand(BODY_MISSING_FIELD, peer.is_some(), peer_at)?;
    report.demand(PEER_CARD_ID, peer.is_none_or(|peer| is_peer(peer, knobs)), peer_at)?;
    for list in lists {
        report.demand(BODY_MISSING_FIELD, list.is_some(), card)?;
    }
    let from = envelope.text(Member::From);
    report.demand(PEER_ID_MISMATCH, peer.is_none() || from.is_none() || peer == from, peer_at)
}

fn say<O: Observer>(record: &Record<'_>, body: NodeIndex, report: &mut Report<'_, O>) -> ControlFlow<()> {
    let contract = [("text", Is::Text), ("intent", Is::Text), ("artifacts", Is::Array)];
    let Some([text, ..]) = members(record, body, &contract, report)? else {
        return ControlFlow::Continue(());
    };
    report.demand(BODY_MISSING_FIELD, filled(record, text).is_some(), text.unwrap_or(body))
}

/// What a receipt says about a message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Status {
    Accepted,
    Rejected,
    Duplicate,
    Expired,
    Unsupported,
    Canceled,
}

impl Status {
    fn named(name: &str) -> Option<Self> {
        Some(match name {
            "accepted" => Self::Accepted,
            "rejected" => Self::Rejected,
            "duplicate" => Self::Duplicate,
            "expired" => Self::Expired,
            "unsupported" => Self::Unsupported,
            "canceled" => Self::Canceled,
            _ => return None,
        })
    }

    /// The status of a receipt's body.
    pub(super) fn of(record: &Record<'_>, body: NodeIndex) -> Option<Self> {
        filled(record, member(record, body, "status")).and_then(Self::named)
    }
}

/// The codes that a receipt may give as its reason.
const REASON_CODES: [&str; 15] = [
    "malformed",
    "expired",
    "duplicate",
    "unsupported_kind",
    "unsupported_profile",
    "verification_failed",
    "not_target",
    "not_found",
    "busy",
    "internal",
    "invalid_surface",
    "conversation_not_found",
    "work_closed",
    "work_container_mismatch",
    "legacy_field_rejected",
];

fn receipt<O: Observer>(record: &Record<'_>, body: NodeIndex, report: &mut Report<'_, O>) -> ControlFlow<()> {
    let contract =
        [("for_id", Is::Text), ("status", Is::Text), ("reason_code", Is::Text), ("detail", Is::Text)];
    let Some([for_id, status, code, _detail]) = members(record, body, &contract, report)? else {
        return ControlFlow::Continue(());
    };
    report.demand(BODY_MISSING_FIELD, filled(record, for_id).is_some(), for_id.unwrap_or(body))?;
    let Some(known) = filled(record, status).and_then(Status::named) else {
        return report.broken(RECEIPT_STATUS, status.unwrap_or(body));
    };
    match (known, code) {
        (Status::Accepted, Some(code)) => report.broken(RECEIPT_REASON_FORBIDDEN, code),
        (Status::Accepted | Status::Canceled, None) => ControlFlow::Continue(()),
        (_, None) => report.broken(RECEIPT_REASON_REQUIRED, body),
        (_, Some(code)) => {
            let holds = filled(record, Some(code)).is_some_and(|code| REASON_CODES.contains(&code));
            report.demand(RECEIPT_REASON_CODE, holds, code)
        }
    }
}

/// The states that a trace may report.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum State {
    Submitted,
    Working,
    NeedsInput,
    Completed,
    Failed,
    Canceled,
}

impl State {
    fn named(name: &str) -> Option<Self> {
        Some(match name {
            "submitted" => Self::Submitted,
            "working" => Self::Working,
            "needs_input" => Self::NeedsInput,
            "completed" => Self::Completed,
            "failed" => Self::Failed,
            "canceled" => Self::Canceled,
            _ => return None,
        })
    }

    /// The state of a trace's body.
    pub(super) fn of(record: &Record<'_>, body: NodeIndex) -> Option<Self> {
        filled(record, member(record, body, "state")).and_then(Self::named)
    }
}

fn trace<O: Observer>(record: &Record<'_>, body: NodeIndex, report: &mut Report<'_, O>) -> ControlFlow<()> {
    let contract = [("state", Is::Text), ("message", Is::Text), ("artifact_refs", Is::Array)];
    let Some([state, ..]) = members(record, body, &contract, report)? else {
        return ControlFlow::Continue(());
    };
    let known = filled(record, state).and_then(State::named);
    report.demand(TRACE_STATE, known.is_some(), state.unwrap_or(body))
}
