//! What the gate needs of an Alfred envelope: the message's identity, and which request it makes or answers.

use super::Alfred;
use super::message::{Message, MessageType};
use super::registry::plain_intent;
use crate::clock::Timestamp;
use crate::credentials::Scratch;
use crate::formats::facts::{AlfredMessage, Asked, Exchange, Facts, Lifecycle};
use crate::formats::record::Record;

/// The facts of an envelope that holds.
pub(super) fn of(record: &Record<'_>, alfred: &Alfred, scratch: &mut Scratch) -> Facts {
    let Some(message) = Message::read(record) else {
        return Facts {
            identity: None,
            content: 0,
            now: record.now,
            keep_until: record.now.unwrap_or_default(),
            capped: false,
            burns: false,
            lifecycle: Lifecycle::None,
        };
    };
    let time = super::time_of(record, &message);
    Facts {
        // An id in other letter case is the same id, whoever sends it.
        identity: Some(record.asked.names.identity(&[&lower(message.id.text)])),
        content: record.content_tag(),
        now: Some(time),
        keep_until: time.plus_secs(alfred.knobs.dedup_keep_s),
        capped: false,
        burns: false,
        lifecycle: exchange(&message, alfred, record.asked, scratch),
    }
}

/// The request that the message makes or answers.
fn exchange(message: &Message<'_>, alfred: &Alfred, asked: &Asked, scratch: &mut Scratch) -> Lifecycle {
    if !asked.sequences.alfred {
        return Lifecycle::None;
    }
    let names = &asked.names;
    let side = match message.kind {
        MessageType::TaskRequest => Exchange::Request,
        MessageType::TaskResponse => Exchange::Response,
        _ => return Lifecycle::None,
    };
    // A request without a correlation id is answered under its own id.
    let correlation = match (message.correlation_id, side) {
        (Some(correlation), _) => correlation.text,
        (None, Exchange::Request) => message.id.text,
        (None, Exchange::Response) => return Lifecycle::None,
    };
    let intent = message.intent.text;
    let intent = if alfred.with_suffix { plain_intent(intent) } else { intent };
    let correlation = lower(correlation);
    let request = if let Some(tenant) = message.tenant_id {
        names.identity(&[tenant.text.as_bytes(), &correlation])
    } else {
        // The token's tenant is the effective one; a token that has just been verified is remembered.
        let tenant = alfred.claimed_tenant(message, scratch).unwrap_or_default();
        names.identity(&[tenant.as_bytes(), &correlation])
    };
    Lifecycle::Alfred(AlfredMessage {
        side,
        request,
        source: names.identity(&[message.source.agent.text.as_bytes()]),
        destination: names.identity(&[message.destination.agent.text.as_bytes()]),
        intent: names.identity(&[intent.as_bytes()]),
        trace: message.trace_id.map(|trace| names.identity(&[trace.text.as_bytes()])),
        sent: Timestamp::from_rfc3339(message.timestamp.text).unwrap_or_default(),
    })
}

/// A UUID in lower case.
fn lower(uuid: &str) -> [u8; 36] {
    let mut lower = [0; 36];
    for (to, from) in lower.iter_mut().zip(uuid.bytes()) {
        *to = from.to_ascii_lowercase();
    }
    lower
}
