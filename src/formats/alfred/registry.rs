//! Rules 4 and 5: who the ends of a message are, and whether they serve its intent.

use super::message::{Message, MessageType};
use crate::config::{AgentEntry, AgentStatus, Registry};
use crate::tape::NodeIndex;
use crate::verdict::Reason;

/// What is wrong with the ends: an agent nobody knows, a service of another agent, an agent that is not active.
///
/// `with_status` asks for the last of these. A source that is not active may still announce itself.
pub(super) fn wrong_end(
    message: &Message<'_>,
    registry: &Registry<AgentEntry>,
    with_status: bool,
) -> Option<(Reason, NodeIndex)> {
    let unregistered = |at: NodeIndex| Some((Reason::UnregisteredAgent, at));
    let Some(source) = registry.find(message.source.agent.text) else {
        return unregistered(message.source.agent.value.at());
    };
    let Some(destination) = registry.find(message.destination.agent.text) else {
        return unregistered(message.destination.agent.value.at());
    };
    for (end, agent) in [(message.source, source), (message.destination, destination)] {
        if let Some(service) = end.service
            && !agent.services.iter().any(|own| own == service.text)
        {
            return Some((Reason::ServiceMismatch, service.value.at()));
        }
    }
    if !with_status {
        return None;
    }
    if source.status != AgentStatus::Active && !message.message_type.announces() {
        return unregistered(message.source.agent.value.at());
    }
    if destination.status != AgentStatus::Active {
        return unregistered(message.destination.agent.value.at());
    }
    None
}

/// What producers of the reference append to the intent of an answer.
const COMPLETED: &str = "_COMPLETED";

/// Whether the agent that serves the intent offers it: the destination of a request, the source of a response.
pub(super) fn serves_intent(
    message: &Message<'_>,
    registry: &Registry<AgentEntry>,
    with_suffix: bool,
) -> bool {
    let intent = message.intent.text;
    let (server, suffix) = match message.message_type {
        MessageType::TaskRequest => (message.destination, None),
        MessageType::TaskResponse => {
            (message.source, intent.strip_suffix(COMPLETED).filter(|_| with_suffix))
        }
        _ => return true,
    };
    registry.find(server.agent.text).is_none_or(|agent| {
        agent.intents.iter().any(|offered| offered == intent || Some(offered.as_str()) == suffix)
    })
}
