//! AGH Network: work that is opened, goes on and ends, greetings and questions, and what can be wrong with them.

use super::{Family, Fault, Maker, Script, Sign};
use crate::load::template::Edit::{self, Later, Remove, Set, Twice};
use crate::verdict::Reason;

/// The peers of the kit's node.
pub(in crate::load) const PEERS: [&str; 2] = ["ops-coordinator.session-42", "patch-worker.session-19"];

const SAY: &str = r#"{"protocol":"agh-network/v0","id":"msg_<id>","workspace_id":"ws_alpha","kind":"say","channel":"builders",
"surface":"thread","thread_id":"thread_<scene>","from":"ops-coordinator.session-42","to":"patch-worker.session-19",
"work_id":"work_<scene>","trace_id":"trace-<scene>","ts":"<#unix>","body":{"text":"<pad>","intent":"handoff","artifacts":[]},
"proof":null,"ext":{"agh.hint":"<words:30>","weight":"<#weight>"}}"#;

/// The room is that of its two peers.
const DIRECT: &str = r#"{"protocol":"agh-network/v0","id":"msg_<id>","workspace_id":"ws_alpha","kind":"say","channel":"builders",
"surface":"direct","direct_id":"direct_a610973e3c0d915853982f4bfe1534e8","from":"ops-coordinator.session-42",
"to":"patch-worker.session-19","ts":"<#unix>","expires_at":"<#unix:900>","body":{"text":"<pad>"}}"#;

const ANSWER: &str = r#"{"protocol":"agh-network/v0","id":"msg_<id>","workspace_id":"ws_alpha","kind":"say","channel":"builders",
"surface":"thread","thread_id":"thread_<scene>","from":"patch-worker.session-19","to":"ops-coordinator.session-42",
"work_id":"work_<scene>","reply_to":"msg_<id:0>","ts":"<#unix>","body":{"text":"<pad>"}}"#;

const RECEIPT: &str = r#"{"protocol":"agh-network/v0","id":"msg_<id>","workspace_id":"ws_alpha","kind":"receipt","channel":"builders",
"surface":"thread","thread_id":"thread_<scene>","from":"patch-worker.session-19","to":"ops-coordinator.session-42",
"work_id":"work_<scene>","ts":"<#unix>","body":{"for_id":"msg_<id:0>","status":"accepted","detail":"<pad>"}}"#;

const TRACE: &str = r#"{"protocol":"agh-network/v0","id":"msg_<id>","workspace_id":"ws_alpha","kind":"trace","channel":"builders",
"surface":"thread","thread_id":"thread_<scene>","from":"patch-worker.session-19","to":"ops-coordinator.session-42",
"work_id":"work_<scene>","ts":"<#unix>","body":{"state":"working","message":"<pad>","artifact_refs":[]}}"#;

const GREET: &str = r#"{"protocol":"agh-network/v0","id":"msg_<id>","workspace_id":"ws_alpha","kind":"greet","channel":"builders",
"from":"patch-worker.session-19","ts":"<#unix>","body":{"peer_card":{"peer_id":"patch-worker.session-19",
"display_name":"Patch worker","profiles_supported":["agh-network/v0"],"capabilities":["review-fix"],
"artifacts_supported":[],"trust_modes_supported":[]},"summary":"<pad>"}}"#;

const WHOIS: &str = r#"{"protocol":"agh-network/v0","id":"msg_<id>","workspace_id":"ws_alpha","kind":"whois","channel":"builders",
"from":"ops-coordinator.session-42","ts":"<#unix>","body":{"type":"request","query":"<pad>"}}"#;

const WHOIS_ANSWER: &str = r#"{"protocol":"agh-network/v0","id":"msg_<id>","workspace_id":"ws_alpha","kind":"whois","channel":"builders",
"from":"patch-worker.session-19","to":"ops-coordinator.session-42","reply_to":"msg_<id:0>","ts":"<#unix>","body":{
"type":"response","peer_card":{"peer_id":"patch-worker.session-19","profiles_supported":[],"capabilities":[],
"artifacts_supported":[],"trust_modes_supported":[],"ext":{"note":"<pad>"}}}}"#;

const CAPABILITY: &str = r#"{"protocol":"agh-network/v0","id":"msg_<id>","workspace_id":"ws_alpha","kind":"capability",
"channel":"builders","surface":"thread","thread_id":"thread_<scene>","from":"ops-coordinator.session-42",
"to":"patch-worker.session-19","ts":"<#unix>","body":{"capability":{"id":"review-fix","summary":"Review Fix Flow",
"outcome":"A reusable review fix workflow.","version":"1.0.0","execution_outline":["Inspect the issue","Draft the fix"],
"requirements":["workspace-write"],
"digest":"sha256:edb42ce4ca23d905aeeba399001ca6d23420610775ba41ef66e90f47f14dba0d"},"note":"<pad>"}}"#;

const MAKER: Maker = Maker { family: Family::Agh, sign: Sign::No };
const NONE: &[Edit] = &[];
const WAITS: &[Edit] = &[Set("/body/state", "\"needs_input\"")];
const COMPLETES: &[Edit] = &[Set("/body/state", "\"completed\""), Set("/body/result", "7")];

pub(super) fn scripts() -> Vec<Script> {
    let mut scripts = vec![
        MAKER.valid(&[
            (SAY, NONE),
            (RECEIPT, NONE),
            (TRACE, NONE),
            (TRACE, WAITS),
            (SAY, NONE),
            (ANSWER, NONE),
            (TRACE, COMPLETES),
        ]),
        MAKER.valid(&[(SAY, NONE), (TRACE, COMPLETES)]),
        MAKER.valid(&[(DIRECT, NONE)]),
        MAKER.valid(&[(GREET, NONE)]),
        MAKER.valid(&[(WHOIS, NONE), (WHOIS_ANSWER, NONE)]),
        MAKER.valid(&[(CAPABILITY, NONE)]),
        MAKER.duplicate(SAY),
        // The protocol knows repetitions only, whatever they carry.
        MAKER.sequence(Reason::Duplicate, &[(DIRECT, NONE), (DIRECT, &[Set("/id", "\"msg_<id:0>\"")])]),
        MAKER.sequence(Reason::WorkClosed, &[(SAY, NONE), (TRACE, COMPLETES), (TRACE, NONE)]),
        MAKER.sequence(
            Reason::WorkContainerMismatch,
            &[(SAY, NONE), (TRACE, &[Set("/thread_id", "\"thread_other\"")])],
        ),
        MAKER.sequence(Reason::Internal, &[(SAY, NONE), (TRACE, &[Set("/body/state", "\"submitted\"")])]),
        MAKER.sequence(Reason::MissingField, &[(SAY, &[Remove("/to")])]),
    ];
    for faults in [HEADER_FAULTS, CONVERSATION_FAULTS, BODY_FAULTS] {
        scripts.extend(MAKER.faults(faults));
    }
    scripts
}

const HEADER_FAULTS: &[Fault] = &[
    (Reason::DuplicateKey, SAY, &[Twice("/kind", "\"trace\"")]),
    (Reason::LegacyField, SAY, &[Set("/interaction_id", "null")]),
    (Reason::UnknownField, SAY, &[Set("/note", "\"<words:20>\"")]),
    (Reason::FieldType, SAY, &[Set("/ts", "\"<unix>\"")]),
    (Reason::FieldType, SAY, &[Set("/ext", "[]")]),
    (Reason::NullNotAllowed, SAY, &[Set("/trace_id", "null")]),
    (Reason::FieldRange, SAY, &[Set("/ts", "-5")]),
    (Reason::MissingField, GREET, &[Remove("/channel")]),
    (Reason::Protocol, SAY, &[Set("/protocol", "\"agh-network/v1\"")]),
    (Reason::IdBlank, SAY, &[Set("/id", "\"  \"")]),
    (Reason::WorkspaceIdGrammar, SAY, &[Set("/workspace_id", "\"ws.alpha\"")]),
    (Reason::Kind, SAY, &[Set("/kind", "\"shout\"")]),
    (Reason::ChannelGrammar, SAY, &[Set("/channel", "\"Builders\"")]),
    (Reason::PeerIdGrammar, SAY, &[Set("/from", "\"Ops\"")]),
    (Reason::EmptyReference, SAY, &[Set("/trace_id", "\"\"")]),
    (Reason::TsTooFarInFuture, SAY, &[Later(3600)]),
    (Reason::ReplayAge, SAY, &[Later(-3600)]),
    (Reason::ExpiresAtPassed, DIRECT, &[Set("/expires_at", "\"<#unix:-1000>\"")]),
];

const CONVERSATION_FAULTS: &[Fault] = &[
    (Reason::Surface, SAY, &[Set("/surface", "\"room\"")]),
    (Reason::Surface, TRACE, &[Remove("/surface"), Remove("/thread_id")]),
    (Reason::ThreadIdRequired, SAY, &[Remove("/thread_id")]),
    (Reason::DirectIdRequired, DIRECT, &[Remove("/direct_id")]),
    (Reason::DirectIdGrammar, DIRECT, &[Set("/direct_id", "\"direct_A610973E\"")]),
    (Reason::ContainerConflict, SAY, &[Set("/direct_id", "\"direct_a610973e3c0d915853982f4bfe1534e8\"")]),
    (Reason::DiscoveryConversationField, GREET, &[Set("/surface", "\"thread\"")]),
    (Reason::DiscoveryConversationField, WHOIS, &[Set("/work_id", "\"work_1\"")]),
    (Reason::WorkIdRequired, RECEIPT, &[Remove("/work_id")]),
    (Reason::WorkIdGrammar, SAY, &[Set("/work_id", "\"job_<scene>\"")]),
    (Reason::NotTarget, SAY, &[Set("/to", "\"stranger.session-1\"")]),
    (Reason::NotTarget, DIRECT, &[Set("/direct_id", "\"direct_00000000000000000000000000000000\"")]),
];

const BODY_FAULTS: &[Fault] = &[
    (Reason::BodyType, SAY, &[Set("/body/text", "7")]),
    (Reason::BodyMissingField, SAY, &[Set("/body/text", "\" \"")]),
    (Reason::BodyMissingField, GREET, &[Remove("/body/peer_card/capabilities")]),
    (Reason::PeerIdMismatch, GREET, &[Set("/body/peer_card/peer_id", "\"somebody.session-1\"")]),
    (Reason::WhoisType, WHOIS, &[Set("/body/type", "\"ask\"")]),
    (
        Reason::WhoisRequestPeerCard,
        WHOIS,
        &[Set(
            "/body/peer_card",
            r#"{"peer_id":"ops-coordinator.session-42","profiles_supported":[],"capabilities":[],"artifacts_supported":[],"trust_modes_supported":[]}"#,
        )],
    ),
    (Reason::ReplyToRequired, WHOIS_ANSWER, &[Remove("/reply_to")]),
    (Reason::CapabilityUnwrapped, CAPABILITY, &[Set("/body", r#"{"id":"review-fix","note":"<pad>"}"#)]),
    (
        Reason::CapabilityRequirements,
        CAPABILITY,
        &[Set("/body/capability/requirements", r#"["workspace-write","workspace-write"]"#)],
    ),
    (Reason::CapabilityDigest, CAPABILITY, &[Set("/body/capability/version", "\"1.0.1\"")]),
    (Reason::ReceiptStatus, RECEIPT, &[Set("/body/status", "\"cancelled\"")]),
    (Reason::ReceiptReasonRequired, RECEIPT, &[Set("/body/status", "\"rejected\"")]),
    (Reason::ReceiptReasonForbidden, RECEIPT, &[Set("/body/reason_code", "\"busy\"")]),
    (
        Reason::ReceiptReasonCode,
        RECEIPT,
        &[Set("/body/status", "\"rejected\""), Set("/body/reason_code", "\"tired\"")],
    ),
    (Reason::TraceState, TRACE, &[Set("/body/state", "\"done\"")]),
    (Reason::PayloadContract, SAY, &[Set("/body/text", "\"password: hunter2\"")]),
    (Reason::Unsigned, GREET, &[Set("/body/peer_card/capabilities", r#"["task.write"]"#)]),
];
