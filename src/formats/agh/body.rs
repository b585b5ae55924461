//! Step 5: what the body of each kind must hold.
//!
//! The contracts are the reference's; the page only says that a body fits its kind. Types of all known members come
//! first, as for a program that decodes before it looks. Texts count without surrounding white space, null means
//! absent, and members that nobody knows are ignored.

use std::ops::ControlFlow;

use super::capability;
use super::fields::{Envelope, Field};
use super::grammar::is_blank;
use super::header::is_peer;
use super::settings::Settings;
use super::{MessageKind, fail};
use crate::formats::values::Value;
use crate::program::Observer;
use crate::tape::NodeIndex;
use crate::verdict::Reason;

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
pub(super) fn members<'a, const N: usize, O: Observer>(
    object: Value<'a>,
    contract: &[(&str, Is); N],
    observer: &mut O,
) -> ControlFlow<(), Option<[Option<Value<'a>>; N]>> {
    let mut found = [None; N];
    for (name, value) in object.members() {
        let place = contract.iter().position(|(known, _)| *known == name);
        if let Some(slot) = place.and_then(|place| found.get_mut(place)) {
            *slot = Some(value).filter(|value| !value.is_null());
        }
    }
    let mut holds = true;
    for (slot, (_, is)) in found.iter().zip(contract) {
        if let Some(at) = slot.and_then(|value| wrong_type(value, *is)) {
            holds = false;
            fail(observer, Reason::BodyType, at)?;
        }
    }
    ControlFlow::Continue(holds.then_some(found))
}

fn wrong_type(value: Value<'_>, is: Is) -> Option<NodeIndex> {
    let holds = match is {
        Is::Text => value.text().is_some(),
        Is::Object => value.is_object(),
        Is::Array | Is::Texts => value.is_array(),
    };
    if !holds {
        return Some(value.at());
    }
    if is != Is::Texts {
        return None;
    }
    value.items().find(|item| item.text().is_none() && !item.is_null()).map(Value::at)
}

/// A text without its surrounding white space; `None` if nothing is left.
pub(super) fn filled(value: Option<Value<'_>>) -> Option<&str> {
    value.and_then(Value::text).map(str::trim).filter(|text| !text.is_empty())
}

/// Checks the body of a kind, and what it demands of the rest of the envelope.
pub(super) fn check<O: Observer>(
    envelope: &Envelope<'_>,
    kind: MessageKind,
    settings: &Settings,
    scratch: &mut capability::Scratch,
    observer: &mut O,
) -> ControlFlow<()> {
    let Some(body) = envelope.present(Field::Body).filter(|body| body.is_object()) else {
        return ControlFlow::Continue(());
    };
    match kind {
        MessageKind::Greet => greet(envelope, body, settings, observer),
        MessageKind::Whois => whois(envelope, body, settings, observer),
        MessageKind::Say => say(body, observer),
        MessageKind::Capability => capability::check(body, scratch, observer),
        MessageKind::Receipt => receipt(body, observer),
        MessageKind::Trace => trace(body, observer),
    }
}

/// The one thing that the page itself says about a body: a whois response answers an envelope.
pub(super) fn check_page<O: Observer>(
    envelope: &Envelope<'_>,
    kind: MessageKind,
    observer: &mut O,
) -> ControlFlow<()> {
    let answers = kind == MessageKind::Whois
        && envelope.present(Field::Body).and_then(|body| body.member("type")).and_then(Value::text)
            == Some("response");
    reply_to(envelope, answers, observer)
}

fn reply_to<O: Observer>(envelope: &Envelope<'_>, answers: bool, observer: &mut O) -> ControlFlow<()> {
    if answers && envelope.text(Field::ReplyTo).is_none() {
        fail(observer, Reason::ReplyToRequired, envelope.root().at())?;
    }
    ControlFlow::Continue(())
}

fn greet<O: Observer>(
    envelope: &Envelope<'_>,
    body: Value<'_>,
    settings: &Settings,
    observer: &mut O,
) -> ControlFlow<()> {
    let Some([card, _summary]) = members(body, &[("peer_card", Is::Object), ("summary", Is::Text)], observer)? else { return ControlFlow::Continue(()) };
    match card {
        Some(card) => peer_card(envelope, card, settings, observer),
        None => fail(observer, Reason::BodyMissingField, body.at()),
    }
}

fn whois<O: Observer>(
    envelope: &Envelope<'_>,
    body: Value<'_>,
    settings: &Settings,
    observer: &mut O,
) -> ControlFlow<()> {
    let contract = [("type", Is::Text), ("query", Is::Text), ("peer_card", Is::Object)];
    let Some([direction, _query, card]) = members(body, &contract, observer)? else { return ControlFlow::Continue(()) };
    let at = direction.unwrap_or(body).at();
    match filled(direction) {
        Some("request") => match card {
            Some(card) => fail(observer, Reason::WhoisRequestPeerCard, card.at()),
            None => ControlFlow::Continue(()),
        },
        Some("response") => {
            match card {
                Some(card) => peer_card(envelope, card, settings, observer)?,
                None => fail(observer, Reason::BodyMissingField, body.at())?,
            }
            reply_to(envelope, true, observer)
        }
        _ => fail(observer, Reason::WhoisType, at),
    }
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
    card: Value<'_>,
    settings: &Settings,
    observer: &mut O,
) -> ControlFlow<()> {
    let Some([peer, _name, profiles, capabilities, artifacts, trust_modes, _ext]) = members(card, &PEER_CARD, observer)? else { return ControlFlow::Continue(()) };
    let peer_at = peer.unwrap_or(card).at();
    let peer = filled(peer);
    match peer {
        None => fail(observer, Reason::BodyMissingField, peer_at)?,
        Some(peer) if !is_peer(peer, settings) => fail(observer, Reason::PeerIdGrammar, peer_at)?,
        Some(_) => {}
    }
    for list in [profiles, capabilities, artifacts, trust_modes] {
        if list.is_none() {
            fail(observer, Reason::BodyMissingField, card.at())?;
        }
    }
    match (peer, envelope.text(Field::From)) {
        (Some(peer), Some(from)) if peer != from => fail(observer, Reason::PeerIdMismatch, peer_at),
        _ => ControlFlow::Continue(()),
    }
}

fn say<O: Observer>(body: Value<'_>, observer: &mut O) -> ControlFlow<()> {
    let contract = [("text", Is::Text), ("intent", Is::Text), ("artifacts", Is::Array)];
    let Some([text, _intent, _artifacts]) = members(body, &contract, observer)? else { return ControlFlow::Continue(()) };
    if filled(text).is_none() {
        fail(observer, Reason::BodyMissingField, text.unwrap_or(body).at())?;
    }
    ControlFlow::Continue(())
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
    pub(super) fn of(body: Value<'_>) -> Option<Self> {
        filled(body.member("status")).and_then(Self::named)
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

fn receipt<O: Observer>(body: Value<'_>, observer: &mut O) -> ControlFlow<()> {
    let contract =
        [("for_id", Is::Text), ("status", Is::Text), ("reason_code", Is::Text), ("detail", Is::Text)];
    let Some([for_id, status, code, _detail]) = members(body, &contract, observer)? else { return ControlFlow::Continue(()) };
    if filled(for_id).is_none() {
        fail(observer, Reason::BodyMissingField, for_id.unwrap_or(body).at())?;
    }
    let status_at = status.unwrap_or(body).at();
    let Some(status) = filled(status).and_then(Status::named) else {
        return fail(observer, Reason::ReceiptStatus, status_at);
    };
    match (status, code) {
        (Status::Accepted, Some(code)) => fail(observer, Reason::ReceiptReasonForbidden, code.at()),
        (Status::Accepted | Status::Canceled, None) => ControlFlow::Continue(()),
        (_, None) => fail(observer, Reason::ReceiptReasonRequired, body.at()),
        (_, Some(code)) => match filled(Some(code)) {
            Some(known) if REASON_CODES.contains(&known) => ControlFlow::Continue(()),
            _ => fail(observer, Reason::ReceiptReasonCode, code.at()),
        },
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
    pub(super) fn of(body: Value<'_>) -> Option<Self> {
        filled(body.member("state")).and_then(Self::named)
    }
}

fn trace<O: Observer>(body: Value<'_>, observer: &mut O) -> ControlFlow<()> {
    let contract = [("state", Is::Text), ("message", Is::Text), ("artifact_refs", Is::Array)];
    let Some([state, _message, _artifacts]) = members(body, &contract, observer)? else { return ControlFlow::Continue(()) };
    if filled(state).and_then(State::named).is_none() {
        fail(observer, Reason::TraceState, state.unwrap_or(body).at())?;
    }
    ControlFlow::Continue(())
}

/// Whether a blank text stands among the items, or null, which counts as one.
pub(super) fn has_blank(list: Value<'_>) -> Option<NodeIndex> {
    list.items().find(|item| item.text().is_none_or(is_blank)).map(Value::at)
}
