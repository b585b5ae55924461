//! Where the members of an Alfred envelope stand.
//!
//! The shape has been checked when this is read: what is there has its type. In the profile lenient an optional member
//! of the envelope may be null, which counts as absent.

use crate::formats::values::Value;

/// What a message is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum MessageType {
    TaskRequest,
    TaskResponse,
    Event,
    Heartbeat,
    Discovery,
    Control,
}

impl MessageType {
    fn named(name: &str) -> Option<Self> {
        Some(match name {
            "TASK_REQUEST" => Self::TaskRequest,
            "TASK_RESPONSE" => Self::TaskResponse,
            "EVENT" => Self::Event,
            "HEARTBEAT" => Self::Heartbeat,
            "DISCOVERY" => Self::Discovery,
            "CONTROL" => Self::Control,
            _ => return None,
        })
    }

    /// Types by which an agent that is not active may announce itself.
    pub(super) fn announces(self) -> bool {
        matches!(self, Self::Heartbeat | Self::Discovery)
    }
}

/// A text with its place.
#[derive(Clone, Copy, Debug)]
pub(super) struct Text<'a> {
    pub(super) text: &'a str,
    pub(super) value: Value<'a>,
}

/// One end of a message.
#[derive(Clone, Copy, Debug)]
pub(super) struct End<'a> {
    pub(super) agent: Text<'a>,
    pub(super) service: Option<Text<'a>>,
}

/// The members that rules look at.
#[derive(Clone, Copy, Debug)]
pub(super) struct Message<'a> {
    pub(super) id: Text<'a>,
    pub(super) version: Text<'a>,
    pub(super) timestamp: Text<'a>,
    pub(super) correlation_id: Option<Text<'a>>,
    pub(super) trace_id: Option<Text<'a>>,
    pub(super) source: End<'a>,
    pub(super) destination: End<'a>,
    pub(super) reply_to: Option<Text<'a>>,
    pub(super) auth_token: Text<'a>,
    pub(super) signature: Option<Text<'a>>,
    pub(super) tenant_id: Option<Text<'a>>,
    pub(super) message: Value<'a>,
    pub(super) message_type: MessageType,
    pub(super) intent: Text<'a>,
    pub(super) payload: Option<Value<'a>>,
}

impl<'a> Message<'a> {
    /// Reads an envelope that has its shape; `None` if it has not.
    pub(super) fn read(root: Value<'a>) -> Option<Self> {
        let envelope = root.member("envelope")?;
        let metadata = envelope.member("metadata")?;
        let routing = envelope.member("routing")?;
        let security = envelope.member("security")?;
        let message = root.member("message")?;
        let end = |name| {
            let end = routing.member(name)?;
            Some(End { agent: text(end, "agent_id")?, service: text(end, "service_id") })
        };
        Some(Self {
            id: text(metadata, "id")?,
            version: text(metadata, "version")?,
            timestamp: text(metadata, "timestamp")?,
            correlation_id: text(metadata, "correlation_id"),
            trace_id: text(metadata, "trace_id"),
            source: end("source")?,
            destination: end("destination")?,
            reply_to: text(routing, "reply_to"),
            auth_token: text(security, "auth_token")?,
            signature: text(security, "signature"),
            tenant_id: text(security, "tenant_id"),
            message,
            message_type: MessageType::named(text(message, "type")?.text)?,
            intent: text(message, "intent")?,
            payload: message.member("payload"),
        })
    }
}

fn text<'a>(object: Value<'a>, name: &str) -> Option<Text<'a>> {
    let value = object.member(name)?;
    Some(Text { text: value.text()?, value })
}
