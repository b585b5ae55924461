//! Rule 6: what a message's members must be for its type.

use super::grammar::is_capitals;
use super::message::{Message, MessageType};
use crate::formats::values::Value;
use crate::tape::NodeIndex;

/// Where the message does not fit its type; the object that lacks something, or the member that is wrong.
pub(super) fn misfit(message: &Message<'_>) -> Option<NodeIndex> {
    match message.message_type {
        MessageType::TaskRequest if message.payload.is_none() => Some(message.message.at()),
        MessageType::TaskResponse => match (message.correlation_id, message.payload) {
            (Some(_), Some(payload)) => response_misfit(payload),
            _ => Some(message.message.at()),
        },
        // The answer of the registry lists agents; other messages of discovery are free.
        MessageType::Discovery if message.intent.text == "REGISTRY_RESPONSE" => {
            let agents = message.payload.and_then(|payload| payload.member("agents"));
            match agents {
                Some(agents) if agents.is_array() => None,
                _ => Some(agents.or(message.payload).unwrap_or(message.message).at()),
            }
        }
        _ => None,
    }
}

/// A response succeeds without an error, or fails with one.
fn response_misfit(payload: Value<'_>) -> Option<NodeIndex> {
    let status = payload.member("status");
    let error = payload.member("error");
    match status.and_then(Value::text) {
        Some("SUCCESS") => error.map(Value::at),
        Some("ERROR") => match error {
            Some(error) => error_misfit(error),
            None => Some(payload.at()),
        },
        _ => Some(status.unwrap_or(payload).at()),
    }
}

/// An error has a code and a message; the list of codes is open, their spelling is not.
fn error_misfit(error: Value<'_>) -> Option<NodeIndex> {
    let code = error.member("code");
    if !code.and_then(Value::text).is_some_and(is_capitals) {
        return Some(code.unwrap_or(error).at());
    }
    let message = error.member("message");
    if message.and_then(Value::text).is_none() {
        return Some(message.unwrap_or(error).at());
    }
    error.member("details").filter(|details| !details.is_object()).map(Value::at)
}
