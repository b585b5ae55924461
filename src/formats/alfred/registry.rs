//! Who the ends of a message are, and whether they serve its intent.

use std::ops::ControlFlow;

use super::message::{Message, MessageType};
use super::{ACTIVE, REGISTERED, SERVICE};
use crate::config::{AgentEntry, AgentStatus, Registry};
use crate::formats::rule::RuleId;
use crate::tape::NodeIndex;

/// The first rule that the ends break: an agent nobody knows, a service of another agent, an agent that is not active.
pub(super) fn wrong_ends(
    message: &Message<'_>,
    registry: &Registry<AgentEntry>,
    mut each: impl FnMut(RuleId, NodeIndex) -> ControlFlow<()>,
) -> ControlFlow<()> {
    let ends = [message.source, message.destination];
    let tenant = message.tenant_id.map(|tenant| tenant.text);
    let agents = ends.map(|end| find(registry, end.agent.text, tenant));
    for (end, agent) in ends.iter().zip(agents) {
        if agent.is_none() {
            each(REGISTERED, end.agent.at)?;
        }
    }
    for (end, agent) in ends.iter().zip(agents) {
        if let (Some(service), Some(agent)) = (end.service, agent)
            && !agent.services.iter().any(|own| own == service.text)
        {
            each(SERVICE, service.at)?;
        }
    }
    // A source that is not active may still announce itself.
    let may_rest = [message.kind.announces(), false];
    for ((end, agent), may_rest) in ends.iter().zip(agents).zip(may_rest) {
        if agent.is_some_and(|agent| agent.status != AgentStatus::Active) && !may_rest {
            each(ACTIVE, end.agent.at)?;
        }
    }
    ControlFlow::Continue(())
}

/// An agent as it is registered in a tenant; without one, in any.
fn find<'r>(
    registry: &'r Registry<AgentEntry>,
    agent_id: &str,
    tenant: Option<&str>,
) -> Option<&'r AgentEntry> {
    let is_in = |tenant: &str, agent: &AgentEntry| {
        agent.tenants.is_empty() || agent.tenants.iter().any(|own| own == tenant)
    };
    registry.find(agent_id).filter(|agent| tenant.is_none_or(|tenant| is_in(tenant, agent)))
}

/// The first end that is not registered in the tenant that the token names; the envelope names none.
pub(super) fn end_outside(
    message: &Message<'_>,
    registry: &Registry<AgentEntry>,
    tenant: &str,
) -> Option<NodeIndex> {
    let ends = [message.source, message.destination];
    ends.iter().find(|end| find(registry, end.agent.text, Some(tenant)).is_none()).map(|end| end.agent.at)
}

/// What producers of the reference append to the intent of an answer.
const COMPLETED: &str = "_COMPLETED";

/// The intent without the suffix that some producers append to it.
pub(super) fn plain_intent(intent: &str) -> &str {
    intent.strip_suffix(COMPLETED).unwrap_or(intent)
}

/// Whether the agent that serves the intent offers it: the destination of a request, the source of a response.
pub(super) fn serves_intent(
    message: &Message<'_>,
    registry: &Registry<AgentEntry>,
    with_suffix: bool,
) -> bool {
    let intent = message.intent.text;
    let (server, plain) = match message.kind {
        MessageType::TaskRequest => (message.destination, intent),
        MessageType::TaskResponse if with_suffix => (message.source, plain_intent(intent)),
        MessageType::TaskResponse => (message.source, intent),
        _ => return true,
    };
    // An agent that nobody knows has been found out before.
    registry
        .find(server.agent.text)
        .is_none_or(|agent| agent.intents.iter().any(|offered| offered == intent || offered == plain))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::Config;

    #[test]
    fn an_agent_is_known_in_its_tenants_alone() {
        let text = "[format.alfred.registry.bound]\nservices = [\"s\"]\ntenants = [\"one\", \"two\"]\n\
                    [format.alfred.registry.free]\nservices = [\"s\"]\n";
        let config = Config::parse("test", text, &|_| None).unwrap();
        let registry = &config.format.alfred.registry;
        let known = |agent, tenant| find(registry, agent, tenant).is_some();
        assert!(known("bound", Some("one")) && known("bound", Some("two")) && known("bound", None));
        assert!(!known("bound", Some("three")) && !known("bound", Some("")) && !known("none", None));
        assert!(known("free", Some("three")) && known("free", None));
    }
}
