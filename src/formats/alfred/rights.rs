//! Rules 8 and 9: what a token must grant for a message, as whole-string comparisons.

use super::message::{Message, MessageType};

/// Whether one right of a token is enough for a message.
///
/// A right is `action:resource` or `action:resource:qualifier`.
pub(super) fn grants(right: &str, message: &Message<'_>) -> bool {
    match message.message_type {
        MessageType::TaskRequest => {
            right == "write:tasks"
                || right.strip_prefix("write:tasks:") == Some(message.destination.agent.text)
                || right.strip_prefix("execute:intents:") == Some(message.intent.text)
        }
        MessageType::Event => right == "write:events",
        MessageType::Control => right == "write:control",
        MessageType::TaskResponse | MessageType::Heartbeat | MessageType::Discovery => true,
    }
}

/// Whether a message needs no right beyond a token that holds.
pub(super) fn needs_none(message: &Message<'_>) -> bool {
    matches!(
        message.message_type,
        MessageType::TaskResponse | MessageType::Heartbeat | MessageType::Discovery
    )
}
