//! Olympus: work that is assigned, reported on, evaluated and approved, and what can be wrong with it.

use super::{Family, Fault, Maker, Script, Sign};
use crate::credentials::digest;
use crate::load::template::Edit::{self, Later, Remove, Set, Twice, WrongKey};
use crate::verdict::Reason;

/// Files that the kit lists, with their content.
pub(in crate::load) const FILES: [(&str, &str); 4] = [
    (".artifacts/plans/roadmap.md", "# roadmap\n"),
    ("src/gate.rs", "//! The gate.\n"),
    ("docs/guide.md", "# guide\n"),
    ("project.yaml", "conventions: {}\n"),
];

/// The personas, by their names in key derivation and in the kit's tasks.
pub(in crate::load) const PERSONAS: [&str; 7] = [
    "devops-engineer",
    "tech-lead",
    "coder",
    "tdd-tester",
    "validation-tester",
    "document-writer",
    "documentation-reviewer",
];

const ASSIGN: &str = r#"{"envelope":{"version":"1.0","message_id":"msg-<id>","timestamp":"<time>","source_agent":"tech-lead",
"target_agent":"coder","correlation_id":"issue-<scene>","session_id":"<session>"},"authentication":{"sender_persona":"tech-lead",
"sender_task_id":"task-tech-lead-<session>","parent_message_id":"","session_id":"<session>","signature":"<signature>"},
"persona":"governance/personas/agentic/coder.md","protocol_message":{"message_type":"ASSIGN","payload":{"task":"<pad>",
"context":{"issue_number":"<#number:90000>","labels":["bug","parser"],"weight":"<#weight>"},
"constraints":{"timeout_seconds":600},"priority":"P1"},"constraints":{"scope":"<words:40>"}},
"context_attachments":[{"type":"plan","path":".artifacts/plans/roadmap.md","hash":"@.artifacts/plans/roadmap.md"}]}"#;

const STATUS: &str = r#"{"envelope":{"version":"1.0","message_id":"msg-<id>","timestamp":"<time>","source_agent":"coder",
"target_agent":"tech-lead","correlation_id":"issue-<scene>","session_id":"<session>"},"authentication":{"sender_persona":"coder",
"sender_task_id":"task-coder-<session>","parent_message_id":"msg-<id:0>","session_id":"<session>","signature":"<signature>"},
"persona":"governance/personas/agentic/tech-lead.md","protocol_message":{"message_type":"STATUS","payload":{
"phase":"implementation","progress":"<pad>","percent":"<#number:101>","blockers":[]}}}"#;

const RESULT: &str = r#"{"envelope":{"version":"1.0","message_id":"msg-<id>","timestamp":"<time>","source_agent":"coder",
"target_agent":"tech-lead","correlation_id":"issue-<scene>","session_id":"<session>"},"authentication":{"sender_persona":"coder",
"sender_task_id":"task-coder-<session>","parent_message_id":"msg-<id:0>","session_id":"<session>","signature":"<signature>"},
"persona":"governance/personas/agentic/tech-lead.md","protocol_message":{"message_type":"RESULT","payload":{
"summary":"<pad>","artifacts":["src/gate.rs"],"test_results":{"passed":"<#number:500>","failed":0},
"documentation_updated":["docs/guide.md"]}},"context_attachments":[]}"#;

const ASSIGN_TESTER: &str = r#"{"envelope":{"version":"1.0","message_id":"msg-<id>","timestamp":"<time>","source_agent":"tech-lead",
"target_agent":"validation-tester","correlation_id":"issue-<scene>","session_id":"<session>"},"authentication":{
"sender_persona":"tech-lead","sender_task_id":"task-tech-lead-<session>","parent_message_id":"","session_id":"<session>",
"signature":"<signature>"},"persona":"governance/personas/agentic/validation-tester.md","protocol_message":{
"message_type":"ASSIGN","payload":{"task":"<pad>","priority":"P2"}},"context_attachments":[
{"type":"source_file","path":"src/gate.rs","hash":"@src/gate.rs"},
{"type":"config","path":"project.yaml","section":"conventions","hash":"@project.yaml"}]}"#;

const ASSIGN_REVIEWER: &str = r#"{"envelope":{"version":"1.0","message_id":"msg-<id>","timestamp":"<time>","source_agent":"tech-lead",
"target_agent":"documentation-reviewer","correlation_id":"issue-<scene>","session_id":"<session>"},"authentication":{
"sender_persona":"tech-lead","sender_task_id":"task-tech-lead-<session>","parent_message_id":"","session_id":"<session>",
"signature":"<signature>"},"persona":"governance/personas/agentic/documentation-reviewer.md","protocol_message":{
"message_type":"ASSIGN","payload":{"task":"<pad>","priority":"urgent"}}}"#;

const FEEDBACK: &str = r#"{"envelope":{"version":"1.0","message_id":"msg-<id>","timestamp":"<time>","source_agent":"validation-tester",
"target_agent":"tech-lead","correlation_id":"issue-<scene>","session_id":"<session>"},"authentication":{
"sender_persona":"validation-tester","sender_task_id":"task-validation-tester-<session>","parent_message_id":"",
"session_id":"<session>","signature":"<signature>"},"persona":"governance/personas/agentic/tech-lead.md","protocol_message":{
"message_type":"FEEDBACK","payload":{"feedback":{"cycle":1,"items":[{"priority":"must-fix","description":"<pad>",
"file":"src/gate.rs","line":"<#number:900>"}]}}}}"#;

const REVIEW: &str = r#"{"envelope":{"version":"1.0","message_id":"msg-<id>","timestamp":"<time>","source_agent":"documentation-reviewer",
"target_agent":"tech-lead","correlation_id":"issue-<scene>","session_id":"<session>"},"authentication":{
"sender_persona":"documentation-reviewer","sender_task_id":"task-documentation-reviewer-<session>","parent_message_id":"",
"session_id":"<session>","signature":"<signature>"},"persona":"governance/personas/agentic/tech-lead.md","protocol_message":{
"message_type":"FEEDBACK","payload":{"feedback":{"cycle":1,"items":[{"priority":"nice-to-have","description":"<pad>"}]}}}}"#;

const APPROVE: &str = r#"{"envelope":{"version":"1.0","message_id":"msg-<id>","timestamp":"<time>","source_agent":"validation-tester",
"target_agent":"tech-lead","correlation_id":"issue-<scene>","session_id":"<session>"},"authentication":{
"sender_persona":"validation-tester","sender_task_id":"task-validation-tester-<session>","parent_message_id":"msg-<id:3>",
"session_id":"<session>","signature":"<signature>"},"persona":"governance/personas/agentic/tech-lead.md","protocol_message":{
"message_type":"APPROVE","payload":{"test_gate_passed":true,"files_reviewed":["src/gate.rs","docs/guide.md"],
"acceptance_criteria_met":[{"criterion":"<words:40>","met":true}],"coverage_percentage":91.5,"note":"<pad>"}}}"#;

const CANCEL: &str = r#"{"envelope":{"version":"1.0","message_id":"msg-<id>","timestamp":"<time>","source_agent":"tech-lead",
"target_agent":"coder","correlation_id":"issue-<scene>","session_id":"<session>"},"authentication":{"sender_persona":"tech-lead",
"sender_task_id":"task-tech-lead-<session>","parent_message_id":"msg-<id:0>","session_id":"<session>","signature":"<signature>"},
"persona":"governance/personas/agentic/coder.md","protocol_message":{"message_type":"CANCEL","payload":{
"reason":"user_interrupt","graceful":true,"note":"<pad>"}}}"#;

const ESCALATE: &str = r#"{"envelope":{"version":"1.0","message_id":"msg-<id>","timestamp":"<time>","source_agent":"coder",
"target_agent":"tech-lead","correlation_id":"issue-<scene>","session_id":"<session>"},"authentication":{"sender_persona":"coder",
"sender_task_id":"task-coder-<session>","parent_message_id":"msg-<id:0>","session_id":"<session>","signature":"<signature>"},
"persona":"governance/personas/agentic/tech-lead.md","protocol_message":{"message_type":"ESCALATE","payload":{
"reason":"<pad>","attempts":2,"options":["wait","drop it"]}}}"#;

const MAKER: Maker = Maker { family: Family::Olympus, sign: Sign::Olympus };
const NONE: &[Edit] = &[];
const SECOND_CYCLE: &[Edit] = &[Set("/protocol_message/payload/feedback/cycle", "2")];
const THIRD_CYCLE: &[Edit] = &[Set("/protocol_message/payload/feedback/cycle", "3")];
const NOT_DONE: &[Edit] = &[Set("/protocol_message/payload/partial", "false")];

pub(super) fn scripts() -> Vec<Script> {
    let mut scripts = vec![
        MAKER.valid(&[
            (ASSIGN, NONE),
            (STATUS, NONE),
            (RESULT, NONE),
            (ASSIGN_TESTER, NONE),
            (FEEDBACK, NONE),
            (RESULT, NONE),
            (FEEDBACK, SECOND_CYCLE),
            (APPROVE, NONE),
        ]),
        MAKER.valid(&[(ASSIGN, NONE), (STATUS, NONE), (STATUS, NONE), (RESULT, NONE)]),
        MAKER.valid(&[(ASSIGN, NONE), (ESCALATE, NONE), (ASSIGN, NONE), (STATUS, NONE), (RESULT, NONE)]),
        MAKER.valid(&[(ASSIGN, NONE), (CANCEL, NONE), (STATUS, NONE)]),
        MAKER.valid(&[(ASSIGN, NONE)]),
    ];
    scripts.extend(MAKER.faults(FAULTS));
    scripts.extend(sequences());
    for script in &mut scripts {
        for step in &mut script.steps {
            for (path, content) in FILES {
                let hash = digest::hex(&digest::sha256(&[content.as_bytes()]));
                step.tree.replace_text(&format!("@{path}"), &format!("sha256:{hash}"));
            }
        }
    }
    scripts
}

/// Rules of sequence.
fn sequences() -> [Script; 9] {
    [
        MAKER.duplicate(ASSIGN),
        MAKER.sequence(
            Reason::IdConflict,
            &[(ASSIGN, NONE), (ASSIGN, &[Set("/envelope/message_id", r#""msg-<id:0>""#)])],
        ),
        MAKER.sequence(
            Reason::BadParent,
            &[(ASSIGN, NONE), (STATUS, &[Set("/authentication/parent_message_id", r#""msg-<uuid:1>""#)])],
        ),
        MAKER
            .sequence(Reason::NoAssignment, &[(STATUS, &[Set("/authentication/parent_message_id", "\"\"")])]),
        MAKER.sequence(Reason::Cancelled, &[(ASSIGN, NONE), (CANCEL, NONE), (RESULT, NOT_DONE)]),
        MAKER.sequence(Reason::Cancelled, &[(ASSIGN, NONE), (CANCEL, NONE), (ASSIGN, NONE)]),
        MAKER.sequence(
            Reason::CycleLimit,
            &[(ASSIGN_TESTER, NONE), (FEEDBACK, NONE), (FEEDBACK, SECOND_CYCLE), (FEEDBACK, THIRD_CYCLE)],
        ),
        MAKER.sequence(Reason::PayloadContract, &[(ASSIGN_TESTER, NONE), (FEEDBACK, SECOND_CYCLE)]),
        MAKER.sequence(
            Reason::CircuitOpen,
            &[
                (ASSIGN, NONE),
                (ASSIGN_TESTER, NONE),
                (ASSIGN_REVIEWER, NONE),
                (FEEDBACK, NONE),
                (FEEDBACK, SECOND_CYCLE),
                (REVIEW, NONE),
                (REVIEW, SECOND_CYCLE),
                (ESCALATE, NONE),
                (ASSIGN, NONE),
            ],
        ),
    ]
}

const DAY_S: i64 = 86_400;

/// Rules about one envelope.
const FAULTS: &[Fault] = &[
    (Reason::DuplicateKey, ASSIGN, &[Twice("/protocol_message/payload/priority", "\"P2\"")]),
    (Reason::MissingField, ASSIGN, &[Remove("/persona")]),
    (Reason::MissingField, STATUS, &[Remove("/envelope/session_id")]),
    (Reason::WrongType, STATUS, &[Set("/envelope/session_id", "7")]),
    (Reason::WrongType, RESULT, &[Set("/context_attachments", "null")]),
    (Reason::BadConst, ASSIGN, &[Set("/envelope/version", "\"1.1\"")]),
    (Reason::BadEnum, ASSIGN, &[Set("/envelope/target_agent", "\"intern\"")]),
    (Reason::BadEnum, STATUS, &[Set("/protocol_message/message_type", "\"status\"")]),
    (Reason::BadPattern, ASSIGN, &[Set("/envelope/correlation_id", "\"ticket-<scene>\"")]),
    (Reason::BadPattern, STATUS, &[Set("/envelope/message_id", "\"<id>\"")]),
    (Reason::BadFormat, ASSIGN, &[Set("/envelope/timestamp", "\"2026-02-30T10:00:00Z\"")]),
    (Reason::TooLong, ASSIGN, &[Set("/authentication/sender_task_id", "\"<words:9000>\"")]),
    (Reason::Empty, ASSIGN, &[Set("/envelope/session_id", "\"\"")]),
    (Reason::UnknownField, ASSIGN, &[Set("/protocol_message/feedback", "{}")]),
    (Reason::UnknownField, RESULT, &[Set("/note", "\"<words:20>\"")]),
    (Reason::NumberRange, ASSIGN, &[Set("/protocol_message/payload/context/weight", "\"<#raw:1e400>\"")]),
    (Reason::WrongPersona, ASSIGN, &[Set("/authentication/sender_persona", "\"coder\"")]),
    (Reason::SessionMismatch, ASSIGN, &[Set("/authentication/session_id", "\"session-other\"")]),
    (Reason::BadTransition, STATUS, &[Set("/protocol_message/message_type", "\"ASSIGN\"")]),
    (Reason::BadTransition, ASSIGN, &[Set("/envelope/target_agent", "\"tech-lead\"")]),
    (
        Reason::PmDisabled,
        STATUS,
        &[
            Set("/envelope/source_agent", "\"tech-lead\""),
            Set("/authentication/sender_persona", "\"tech-lead\""),
            Set("/envelope/target_agent", "\"project-manager\""),
        ],
    ),
    (Reason::PersonaPath, ASSIGN, &[Set("/persona", "\"governance/personas/agentic/tech-lead.md\"")]),
    (Reason::PersonaPath, ASSIGN, &[Set("/persona", "\"../personas/coder.md\"")]),
    (Reason::AttachmentNotAuthorised, ASSIGN, &[Set("/context_attachments/0/type", "\"coder_result\"")]),
    (Reason::AttachmentNotAuthorised, ASSIGN_TESTER, &[Remove("/context_attachments/1/section")]),
    (Reason::UnsafePath, ASSIGN_TESTER, &[Set("/context_attachments/0/path", "\"src/../../secret\"")]),
    (
        Reason::DuplicateItem,
        ASSIGN_TESTER,
        &[Set(
            "/context_attachments/1",
            r#"{"type":"source_file","path":"src/gate.rs","hash":"@src/gate.rs"}"#,
        )],
    ),
    (Reason::HashMissing, ASSIGN, &[Remove("/context_attachments/0/hash")]),
    (
        Reason::HashPlaceholder,
        ASSIGN,
        &[Set(
            "/context_attachments/0/hash",
            "\"sha256:0000000000000000000000000000000000000000000000000000000000000000\"",
        )],
    ),
    (
        Reason::HashMismatch,
        ASSIGN,
        &[Set(
            "/context_attachments/0/hash",
            "\"sha256:1111111111111111111111111111111111111111111111111111111111111111\"",
        )],
    ),
    (Reason::UnknownTask, ASSIGN, &[Set("/authentication/sender_task_id", "\"task-nobody\"")]),
    (Reason::UnknownTask, ASSIGN, &[Set("/authentication/sender_task_id", "\"task-coder-<session>\"")]),
    (Reason::Stale, ASSIGN, &[Later(-2 * DAY_S)]),
    (Reason::Future, ASSIGN, &[Later(3600)]),
    (Reason::PayloadContract, ASSIGN, &[Set("/protocol_message/payload/priority", "\"P9\"")]),
    (Reason::PayloadContract, APPROVE, &[Set("/protocol_message/payload/coverage_percentage", "61.5")]),
    (Reason::Unsigned, ASSIGN, &[Remove("/authentication/signature")]),
    (Reason::BadSignature, ASSIGN, &[WrongKey]),
    (
        Reason::UnknownSession,
        ASSIGN,
        &[
            Set("/envelope/session_id", "\"session-unknown\""),
            Set("/authentication/session_id", "\"session-unknown\""),
            Set("/authentication/sender_task_id", "\"task-tech-lead-unknown\""),
            // A scheme that needs the session's own secret.
            Set(
                "/authentication/signature",
                "\"5f5f5f5f5f5f5f5f5f5f5f5f5f5f5f5f5f5f5f5f5f5f5f5f5f5f5f5f5f5f5f5f\"",
            ),
        ],
    ),
];
