//! Where the members of an Alfred envelope stand.
//!
//! The shape has been checked when this is read: what is there has its type. In the profile lenient an optional member
//! of the envelope may be null, which counts as absent.

use crate::formats::fields::{Field, fields};
use crate::formats::record::Record;
use crate::tape::NodeIndex;

fields! {
    ID "/envelope/metadata/id";
    VERSION "/envelope/metadata/version";
    TIMESTAMP "/envelope/metadata/timestamp";
    CORRELATION_ID "/envelope/metadata/correlation_id";
    TRACE_ID "/envelope/metadata/trace_id";
    SOURCE_AGENT "/envelope/routing/source/agent_id";
    SOURCE_SERVICE "/envelope/routing/source/service_id";
    DESTINATION_AGENT "/envelope/routing/destination/agent_id";
    DESTINATION_SERVICE "/envelope/routing/destination/service_id";
    REPLY_TO "/envelope/routing/reply_to";
    SECURITY "/envelope/security";
    AUTH_TOKEN "/envelope/security/auth_token";
    SIGNATURE "/envelope/security/signature";
    TENANT_ID "/envelope/security/tenant_id";
    MESSAGE "/message";
    TYPE "/message/type";
    INTENT "/message/intent";
    PAYLOAD "/message/payload";
}

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

    /// Requests, and the answers to them.
    pub(super) fn is_task(self) -> bool {
        matches!(self, Self::TaskRequest | Self::TaskResponse)
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
    pub(super) at: NodeIndex,
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
    pub(super) security_at: NodeIndex,
    pub(super) auth_token: Text<'a>,
    pub(super) signature: Option<Text<'a>>,
    /// The signature's node even where it is null: it is never among the signed bytes.
    pub(super) signature_at: Option<NodeIndex>,
    pub(super) tenant_id: Option<Text<'a>>,
    pub(super) content: NodeIndex,
    pub(super) kind: MessageType,
    pub(super) intent: Text<'a>,
    pub(super) payload: Option<NodeIndex>,
}

impl<'a> Message<'a> {
    /// Reads an envelope that has its shape; `None` if it has not.
    pub(super) fn read(record: &Record<'a>) -> Option<Self> {
        let text = |field: Field| {
            let at = record.node(field)?;
            Some(Text { text: record.text_at(at)?, at })
        };
        Some(Self {
            id: text(ID)?,
            version: text(VERSION)?,
            timestamp: text(TIMESTAMP)?,
            correlation_id: text(CORRELATION_ID),
            trace_id: text(TRACE_ID),
            source: End { agent: text(SOURCE_AGENT)?, service: text(SOURCE_SERVICE) },
            destination: End { agent: text(DESTINATION_AGENT)?, service: text(DESTINATION_SERVICE) },
            reply_to: text(REPLY_TO),
            security_at: record.node(SECURITY)?,
            auth_token: text(AUTH_TOKEN)?,
            signature: text(SIGNATURE),
            signature_at: record.node(SIGNATURE),
            tenant_id: text(TENANT_ID),
            content: record.node(MESSAGE)?,
            kind: MessageType::named(text(TYPE)?.text)?,
            intent: text(INTENT)?,
            payload: record.node(PAYLOAD),
        })
    }
}
