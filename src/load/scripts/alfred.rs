//! Alfred: requests with their answers, events and heartbeats, and what can be wrong with them.

use super::{Family, Fault, Maker, Script, Sign};
use crate::load::template::Edit::{self, Later, Remove, Set, Twice, WrongKey};
use crate::verdict::Reason;

/// Agents of the kit's registry: id, service, intents, status.
pub(in crate::load) const AGENTS: [(&str, &str, &[&str], &str); 3] = [
    ("alfred-bot", "alfred-bot-service", &["PING"], "active"),
    (
        "social-intelligence-agent",
        "social-intelligence-service",
        &["TREND_ANALYSIS", "SOCIAL_MONITOR"],
        "active",
    ),
    ("retired-agent", "retired-service", &["TREND_ANALYSIS"], "inactive"),
];

/// The tokens of a tenant, by their number in templates.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::load) enum Token {
    /// The first agent's.
    Good,
    /// The second agent's.
    OfTheOther,
    Malformed,
    Unsigned,
    UnknownKey,
    BadSignature,
    Expired,
    WrongAudience,
    /// Somebody else's.
    WrongSubject,
    WithoutRights,
    WrongTenant,
}

impl Token {
    pub(in crate::load) const ALL: [Self; 11] = [
        Self::Good,
        Self::OfTheOther,
        Self::Malformed,
        Self::Unsigned,
        Self::UnknownKey,
        Self::BadSignature,
        Self::Expired,
        Self::WrongAudience,
        Self::WrongSubject,
        Self::WithoutRights,
        Self::WrongTenant,
    ];
}

const REQUEST: &str = r#"{"envelope":{"metadata":{"id":"<id>","version":"2.1.0","timestamp":"<time>","correlation_id":"<uuid:1>",
"trace_id":"trace-<scene>"},"routing":{"source":{"agent_id":"alfred-bot","service_id":"alfred-bot-service"},
"destination":{"agent_id":"social-intelligence-agent","service_id":"social-intelligence-service"},
"reply_to":"a2a.tasks.completed"},"security":{"auth_token":"<token:0>","tenant_id":"<tenant>","signature":"<signature>"}},
"message":{"type":"TASK_REQUEST","intent":"TREND_ANALYSIS","payload":{"query":"<pad>","limit":"<#number:500>","weight":"<#weight>"}}}"#;

const RESPONSE: &str = r#"{"envelope":{"metadata":{"id":"<id>","version":"2.1.0","timestamp":"<time>","correlation_id":"<uuid:1>",
"trace_id":"trace-<scene>"},"routing":{"source":{"agent_id":"social-intelligence-agent","service_id":"social-intelligence-service"},
"destination":{"agent_id":"alfred-bot","service_id":"alfred-bot-service"}},
"security":{"auth_token":"<token:1>","tenant_id":"<tenant>","signature":"<signature>"}},
"message":{"type":"TASK_RESPONSE","intent":"TREND_ANALYSIS","payload":{"status":"SUCCESS","result":"<pad>"}}}"#;

const EVENT: &str = r#"{"envelope":{"metadata":{"id":"<id>","version":"2.1.0","timestamp":"<time>"},"routing":{
"source":{"agent_id":"alfred-bot","service_id":"alfred-bot-service"},"destination":{"agent_id":"social-intelligence-agent"}},
"security":{"auth_token":"<token:0>","tenant_id":"<tenant>","signature":"<signature>"}},
"message":{"type":"EVENT","intent":"STATUS_CHANGED","payload":{"text":"<pad>","sequence":"<#number:100000>"}}}"#;

const HEARTBEAT: &str = r#"{"envelope":{"metadata":{"id":"<id>","version":"2.1.0","timestamp":"<time>"},"routing":{
"source":{"agent_id":"social-intelligence-agent","service_id":"social-intelligence-service"},
"destination":{"agent_id":"alfred-bot"}},"security":{"auth_token":"<token:1>","tenant_id":"<tenant>","signature":"<signature>"}},
"message":{"type":"HEARTBEAT","intent":"PING","payload":{"load":"<#weight>","note":"<pad>"}}}"#;

const MAKER: Maker = Maker { family: Family::Alfred, sign: Sign::Alfred };
const NONE: &[Edit] = &[];
const FAILED: &[Edit] =
    &[Set("/message/payload", r#"{"status":"ERROR","error":{"code":"TIMEOUT","message":"<pad>"}}"#)];

pub(super) fn scripts() -> Vec<Script> {
    let mut scripts = vec![
        MAKER.valid(&[(REQUEST, NONE), (RESPONSE, NONE)]),
        MAKER.valid(&[(REQUEST, NONE), (RESPONSE, FAILED)]),
        MAKER.valid(&[(EVENT, NONE)]),
        MAKER.valid(&[(HEARTBEAT, NONE), (HEARTBEAT, NONE)]),
        MAKER.duplicate(REQUEST),
        MAKER.sequence(
            Reason::IdConflict,
            &[(EVENT, NONE), (EVENT, &[Set("/envelope/metadata/id", "\"<id:0>\"")])],
        ),
        MAKER.sequence(Reason::Correlation, &[(RESPONSE, NONE)]),
        MAKER.sequence(Reason::Correlation, &[(REQUEST, NONE), (RESPONSE, NONE), (RESPONSE, NONE)]),
        MAKER.sequence(
            Reason::Correlation,
            &[(REQUEST, NONE), (RESPONSE, &[Set("/message/intent", "\"SOCIAL_MONITOR\"")])],
        ),
    ];
    scripts.extend(MAKER.faults(FAULTS));
    scripts
}

const SIGNS_65: &str = "\"aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa\"";
const TOKEN: &str = "/envelope/security/auth_token";

/// Rules about one envelope.
const FAULTS: &[Fault] = &[
    (Reason::DuplicateKey, REQUEST, &[Twice("/envelope/metadata/id", "\"<uuid:2>\"")]),
    (Reason::MissingField, REQUEST, &[Remove("/envelope/routing/source/service_id")]),
    (Reason::MissingField, EVENT, &[Remove("/message/intent")]),
    (Reason::WrongType, REQUEST, &[Set("/message/payload", "null")]),
    (Reason::BadEnum, EVENT, &[Set("/message/type", "\"event\"")]),
    (Reason::BadPattern, REQUEST, &[Set("/envelope/metadata/version", "\"v2.1.0\"")]),
    (Reason::BadFormat, EVENT, &[Set("/envelope/metadata/timestamp", "\"2026-03-03 10:00:00Z\"")]),
    (Reason::BadFormat, EVENT, &[Set("/envelope/metadata/id", "\"no-uuid\"")]),
    (Reason::TooLong, REQUEST, &[Set("/envelope/routing/destination/agent_id", SIGNS_65)]),
    (Reason::NumberRange, REQUEST, &[Set("/message/payload/limit", "\"<#raw:-1e400>\"")]),
    (Reason::NumberRange, EVENT, &[Set("/message/payload/sequence", "\"<#raw:9007199254740993>\"")]),
    (Reason::NotUuidV4, EVENT, &[Set("/envelope/metadata/id", "\"123e4567-e89b-12d3-a456-426614174000\"")]),
    (Reason::BadVersion, REQUEST, &[Set("/envelope/metadata/version", "\"3.0.0\"")]),
    (Reason::Stale, REQUEST, &[Later(-3600)]),
    (Reason::Future, EVENT, &[Later(3600)]),
    (Reason::BadReplyTo, REQUEST, &[Set("/envelope/routing/reply_to", "\"a2a.deadletter\"")]),
    (Reason::BadReplyTo, REQUEST, &[Set("/envelope/routing/reply_to", "\"https://example.com/hook\"")]),
    (Reason::UnregisteredAgent, REQUEST, &[Set("/envelope/routing/destination/agent_id", "\"nobody\"")]),
    (
        Reason::UnregisteredAgent,
        REQUEST,
        &[Set("/envelope/routing/destination", r#"{"agent_id":"retired-agent"}"#)],
    ),
    (Reason::ServiceMismatch, EVENT, &[Set("/envelope/routing/source/service_id", "\"retired-service\"")]),
    (Reason::BadIntent, EVENT, &[Set("/message/intent", "\"status changed\"")]),
    (Reason::IntentUnsupported, REQUEST, &[Set("/message/intent", "\"PING\"")]),
    (Reason::TypeConsistency, REQUEST, &[Remove("/message/payload")]),
    (Reason::TypeConsistency, RESPONSE, &[Set("/message/payload/error", r#"{"code":"X","message":"y"}"#)]),
    (Reason::JwtMalformed, REQUEST, &[Set(TOKEN, "\"<token:2>\"")]),
    (Reason::JwtAlg, REQUEST, &[Set(TOKEN, "\"<token:3>\"")]),
    (Reason::JwtKey, REQUEST, &[Set(TOKEN, "\"<token:4>\"")]),
    (Reason::JwtSignature, REQUEST, &[Set(TOKEN, "\"<token:5>\"")]),
    (Reason::JwtExpired, REQUEST, &[Set(TOKEN, "\"<token:6>\"")]),
    (Reason::JwtClaims, REQUEST, &[Set(TOKEN, "\"<token:7>\"")]),
    (Reason::JwtSubject, REQUEST, &[Set(TOKEN, "\"<token:8>\"")]),
    (Reason::NotAuthorised, REQUEST, &[Set(TOKEN, "\"<token:9>\"")]),
    (Reason::TenantMismatch, REQUEST, &[Set(TOKEN, "\"<token:10>\"")]),
    (Reason::Unsigned, REQUEST, &[Remove("/envelope/security/signature")]),
    (Reason::BadSignature, REQUEST, &[WrongKey]),
    (Reason::BadSignature, EVENT, &[Set("/envelope/security/signature", "\"not base64\"")]),
];
