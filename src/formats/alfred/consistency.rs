//! What a message's members must be for its type.

use super::grammar::is_capitals;
use super::message::{Message, MessageType};
use crate::formats::record::Record;
use crate::tape::NodeIndex;

/// Where the message does not fit its type: the object that lacks something, or the member that is wrong.
pub(super) fn misfit(record: &Record<'_>, message: &Message<'_>) -> Option<NodeIndex> {
    match message.kind {
        MessageType::TaskRequest if message.payload.is_none() => Some(message.content),
        MessageType::TaskResponse => match (message.correlation_id, message.payload) {
            (Some(_), Some(payload)) => response_misfit(record, payload),
            _ => Some(message.content),
        },
        // The answer of the registry lists agents; other messages of discovery are free.
        MessageType::Discovery if message.intent.text == "REGISTRY_RESPONSE" => {
            let agents = message.payload.and_then(|payload| record.member(payload, "agents"));
            match agents {
                Some(agents) if record.is_array(agents) => None,
                _ => Some(agents.or(message.payload).unwrap_or(message.content)),
            }
        }
        _ => None,
    }
}

/// A response succeeds without an error, or fails with one.
fn response_misfit(record: &Record<'_>, payload: NodeIndex) -> Option<NodeIndex> {
    let status = record.member(payload, "status");
    let error = record.member(payload, "error");
    match status.and_then(|at| record.text_at(at)) {
        Some("SUCCESS") => error,
        Some("ERROR") => match error {
            Some(error) => error_misfit(record, error),
            None => Some(payload),
        },
        _ => Some(status.unwrap_or(payload)),
    }
}

/// An error has a code and a message; the list of codes is open, their spelling is not.
fn error_misfit(record: &Record<'_>, error: NodeIndex) -> Option<NodeIndex> {
    let text = |at: Option<NodeIndex>| at.and_then(|at| record.text_at(at));
    let code = record.member(error, "code");
    if !text(code).is_some_and(is_capitals) {
        return Some(code.unwrap_or(error));
    }
    let message = record.member(error, "message");
    if text(message).is_none() {
        return Some(message.unwrap_or(error));
    }
    record.member(error, "details").filter(|details| !record.is_object(*details))
}
