//! The templates of the built-in formats, and the faults that break exactly one rule of them.
//!
//! In a template `<uuid>`, `<time>`, `<number>` and `<words:N>` vary from record to record. A fault replaces one piece
//! of the template's text.

use crate::verdict::Reason;

/// One part of a sample.
pub(super) enum Piece {
    Bytes(Vec<u8>),
    Uuid,
    Time,
    Number,
    /// Words of about so many bytes.
    Words(usize),
}

/// A template, ready to be written, with the verdict that it must get.
pub(super) struct Sample {
    pub(super) reason: Option<Reason>,
    pub(super) pieces: Vec<Piece>,
}

struct Template {
    text: &'static str,
    /// What to replace, by what, and the reason that follows.
    faults: &'static [(&'static str, &'static str, Reason)],
}

/// All valid samples, and all broken ones.
pub(super) fn all() -> (Vec<Sample>, Vec<Sample>) {
    let valid = TEMPLATES.iter().map(|template| sample(template.text, None)).collect();
    let mut broken: Vec<_> = TEMPLATES
        .iter()
        .flat_map(|template| {
            template.faults.iter().map(|(find, replace, reason)| {
                assert!(template.text.contains(find), "the fault's text {find} stands in its template");
                sample(&template.text.replacen(find, replace, 1), Some(*reason))
            })
        })
        .collect();
    broken.extend(RAW.iter().map(|(text, reason)| sample(text, Some(*reason))));
    broken.push(Sample {
        reason: Some(Reason::JsonSyntax),
        pieces: vec![Piece::Bytes(b"{\"persona\":\"\xFF\"}".to_vec())],
    });
    let deep = format!("{{\"persona\":{}{}}}", "[".repeat(70), "]".repeat(70));
    broken.push(Sample { reason: Some(Reason::TooDeep), pieces: vec![Piece::Bytes(deep.into_bytes())] });
    (valid, broken)
}

fn sample(text: &str, reason: Option<Reason>) -> Sample {
    let mut pieces = Vec::new();
    let mut rest = text;
    while let Some((before, after)) = rest.split_once('<') {
        let (place, after) = after.split_once('>').unwrap_or((after, ""));
        pieces.push(Piece::Bytes(before.as_bytes().to_vec()));
        pieces.push(match place {
            "uuid" => Piece::Uuid,
            "time" => Piece::Time,
            "number" => Piece::Number,
            words => Piece::Words(
                words.strip_prefix("words:").and_then(|bytes| bytes.parse().ok()).unwrap_or_default(),
            ),
        });
        rest = after;
    }
    pieces.push(Piece::Bytes(rest.as_bytes().to_vec()));
    Sample { reason, pieces }
}

/// Records that are no envelopes at all.
const RAW: &[(&str, Reason)] = &[
    ("[{\"persona\":\"in an array\"}]", Reason::NotObject),
    ("\"<words:40>\"", Reason::NotObject),
    ("{\"data\":{\"envelope\":{},\"message\":{}},\"note\":\"<words:60>\"}", Reason::UnknownFormat),
    (
        "{\"envelope\":{},\"persona\":\"p\",\"protocol_message\":{},\"message\":{\"type\":\"EVENT\"}}",
        Reason::AmbiguousFormat,
    ),
    ("{\"persona\":\"unfinished", Reason::JsonSyntax),
    ("{\"persona\":\"\\ud800 lone\"}", Reason::JsonSyntax),
];

const TEMPLATES: &[Template] = &[
    Template {
        text: concat!(
            r#"{"envelope":{"version":"1.0","message_id":"msg-<uuid>","timestamp":"<time>","source_agent":"tech-lead","#,
            r#""target_agent":"coder","correlation_id":"issue-<number>","session_id":"session-<number>"},"#,
            r#""authentication":{"sender_persona":"tech-lead","sender_task_id":"task-<number>","parent_message_id":"","#,
            r#""session_id":"session-1","signature":"4e22326f185cb84277bd8b524989ef8857db2a550fd5c0dd069b9f23222d45aa"},"#,
            r#""persona":"governance/personas/agentic/coder.md","protocol_message":{"message_type":"ASSIGN","payload":"#,
            r#"{"task":"<words:180>","context":{"issue_number":<number>,"labels":["bug","parser"],"weight":0.75},"#,
            r#""constraints":{"timeout_seconds":600},"priority":"P1"},"constraints":{"scope":"<words:60>"}},"#,
            r#""context_attachments":[{"type":"plan","path":".artifacts/plans/<number>-feature.md","#,
            r#""hash":"sha256:87ced60d387076d1b4516d9f7578aa79ac938b5d5205a3777d72e7cfeb873bce"}]}"#
        ),
        faults: &[
            (r#""persona":"governance/personas/agentic/coder.md","#, "", Reason::MissingField),
            (r#""session_id":"session-<number>"},"#, r#""session_id":<number>},"#, Reason::WrongType),
            (r#""version":"1.0""#, r#""version":"1.1""#, Reason::BadConst),
            (r#""target_agent":"coder""#, r#""target_agent":"intern""#, Reason::BadEnum),
            (
                r#""correlation_id":"issue-<number>""#,
                r#""correlation_id":"ticket-<number>""#,
                Reason::BadPattern,
            ),
            (r#""timestamp":"<time>""#, r#""timestamp":"2026-02-30T10:00:00Z""#, Reason::BadFormat),
            (r#""priority":"P1"},"#, r#""priority":"P1"},"feedback":{},"#, Reason::UnknownField),
            (r#""priority":"P1""#, r#""priority":"P1","prior\u0069ty":"P2""#, Reason::DuplicateKey),
            (r#""weight":0.75"#, r#""weight":1e400"#, Reason::NumberRange),
        ],
    },
    Template {
        text: concat!(
            r#"{"envelope":{"version":"1.0","message_id":"msg-<uuid>","timestamp":"<time>","source_agent":"coder","#,
            r#""target_agent":"tech-lead","correlation_id":"pr-<number>","session_id":"session-<number>"},"#,
            r#""persona":"governance/personas/agentic/tech-lead.md","protocol_message":{"message_type":"STATUS","#,
            r#""payload":{"phase":"implementation","progress":"<words:320>","blockers":[]}}}"#
        ),
        faults: &[
            (r#""message_type":"STATUS","#, "", Reason::MissingField),
            (r#""message_type":"STATUS""#, r#""message_type":"status""#, Reason::BadEnum),
            (r#""message_id":"msg-<uuid>""#, r#""message_id":"<uuid>""#, Reason::BadPattern),
        ],
    },
    Template {
        text: concat!(
            r#"{"protocol":"agh-network/v0","id":"msg_<uuid>","workspace_id":"ws_alpha","kind":"say","channel":"builders","#,
            r#""surface":"thread","thread_id":"thread_<number>","from":"ops-coordinator.session-42","#,
            r#""to":"patch-worker.session-19","work_id":"work_<uuid>","trace_id":"trace-<number>","ts":1775606<number>,"#,
            r#""body":{"text":"<words:420>","intent":"handoff","artifacts":[]},"proof":null,"ext":{"agh.hint":"<words:40>"}}"#
        ),
        faults: &[
            (r#""kind":"say""#, r#""kind":"shout""#, Reason::Kind),
            (r#""protocol":"agh-network/v0""#, r#""protocol":"agh-network/v1""#, Reason::Protocol),
            (r#""channel":"builders""#, r#""channel":"Builders""#, Reason::ChannelGrammar),
            (r#""thread_id":"thread_<number>","#, "", Reason::ThreadIdRequired),
            (r#""work_id":"work_<uuid>""#, r#""work_id":"job_<uuid>""#, Reason::WorkIdGrammar),
            (r#""ts":1775606<number>"#, r#""ts":1775606<number>.0"#, Reason::FieldType),
            (r#""proof":null"#, r#""proof":null,"interaction_id":"<uuid>""#, Reason::LegacyField),
        ],
    },
    Template {
        text: concat!(
            r#"{"envelope":{"metadata":{"id":"<uuid>","version":"2.1.0","timestamp":"<time>","correlation_id":"<uuid>","#,
            r#""trace_id":"trace-<number>"},"routing":{"source":{"agent_id":"alfred-bot","service_id":"alfred-bot-service"},"#,
            r#""destination":{"agent_id":"social-intelligence-agent","service_id":"social-intelligence-service"},"#,
            r#""reply_to":"a2a.tasks.completed"},"security":{"auth_token":"e30.e30.c2ln","tenant_id":"tenant-<number>"}},"#,
            r#""message":{"type":"TASK_REQUEST","intent":"TREND_ANALYSIS","payload":{"query":"<words:380>","limit":<number>}}}"#
        ),
        faults: &[
            (r#""version":"2.1.0""#, r#""version":"3.0.0""#, Reason::BadVersion),
            (r#""type":"TASK_REQUEST""#, r#""type":"TASK""#, Reason::BadEnum),
            (r#""id":"<uuid>""#, r#""id":"123e4567-e89b-12d3-a456-426614174000""#, Reason::NotUuidV4),
            (r#""auth_token":"e30.e30.c2ln","#, "", Reason::MissingField),
        ],
    },
    Template {
        text: concat!(
            r#"{"context":{"feature_id":"005-user-auth","workflow":"plan","iteration":2},"paths":{"feature_root":"#,
            r#""specs/005-user-auth/","inputs":["specs/005-user-auth/spec.md"]},"task":{"action":"validate","params":"#,
            r#"{"depth":<number>,"focus":"<words:240>"}},"prior_context":["<words:120>","<words:90>"]}"#
        ),
        faults: &[],
    },
    Template {
        text: concat!(
            r#"{"success":true,"summary":"<words:90>","artifacts":[{"path":"specs/005-user-auth/plan-<number>.md","#,
            r#""operation":"update","content":"<words:400>"}],"notes":["<words:60>"],"recommendation":"proceed"}"#
        ),
        faults: &[],
    },
    Template {
        text: concat!(
            r#"{"type":"task_result","protocol_version":"1.0","sender_id":"CA","recipient_id":"ARCH","timestamp":"<time>","#,
            r#""task_id":"TASK-<number>","retry_count":0,"trace_id":"trace-<number>","payload":{"status":"success","#,
            r#""result":{"output":"<words:260>","artifacts":[{"type":"file","path":"/out/<number>.json","#,
            r#""description":"<words:60>"}]},"metrics":{"duration_ms":<number>,"memory_usage_mb":256}},"#,
            r#""context":{"deployment_id":"dep-<number>","environment":"staging"}}"#
        ),
        faults: &[],
    },
];
