//! agh: AGH Network envelopes, v0.
//!
//! The steps of a receiver decide about the order of reasons, not the order of members:
//!
//! | step | what | file |
//! |---|---|---|
//! | 1 – 2e | names, types, presence, protocol, id, workspace, kind, channel, peers, references | `header` |
//! | 3 | freshness | `freshness` |
//! | 4 | surface, thread, room, work | `container` |
//! | 5 | the body of the kind, then the digest of a capability | `body`, `capability` |
//! | 5p | policies that are off unless a setting asks for them | `policy`, `secrets` |
//! | 5v | the proof of the trust profile | `policy` |
//! | 6a | whether the target is one of ours | `policy` |
//!
//! The page decides where it says something; the reference implementation fills what it leaves open, and the profile
//! `page` leaves those rules out. Since types rank before presence, presence before grammar and freshness before the
//! body, the steps are code, and the schema is what an envelope without fault looks like: whatever it accepts has
//! passed steps 1 to 2e but for the rules of the reference. Numbers are carried unread: only `ts` and `expires_at` are
//! looked at.

mod body;
mod capability;
mod container;
mod facts;
mod freshness;
mod grammar;
mod header;
mod members;
mod policy;
mod secrets;

use std::ops::ControlFlow;

use super::compiled::{BuiltIn, FormatError};
use super::facts::Facts;
use super::record::Record;
use super::rule::{Report, RuleSet, rules};
use super::shapes::Edit;
use crate::config::{self, DirectBinding, DuplicateNames, Profile, VerifyProof};
use crate::credentials::Scratch;
use crate::program::Observer;
use freshness::{Stale, Times};
use members::{Envelope, Member, ROOT};

rules! {
    LEGACY_FIELD "legacy-field" LegacyField Reference [page strict lenient]
        "no member of an older protocol version (`interaction_id`)";
    UNKNOWN_FIELD "unknown-field" UnknownField Page [page strict lenient]
        "no top-level member that the format does not know (`unknown_fields`)";
    FIELD_TYPE "field-type" FieldType Page [page strict lenient]
        "every top-level member has its JSON type; times are plain integers within 64 bits";
    NULL_NOT_ALLOWED "null-not-allowed" NullNotAllowed Page [page strict lenient]
        "null only where the page types a member so (`null_optionals`)";
    FIELD_RANGE "field-range" FieldRange Page [page strict lenient] "times are not negative";
    MISSING_FIELD "missing-field" MissingField Page [page strict lenient]
        "protocol, id, workspace_id, kind, channel, from, ts and body are there";
    PROTOCOL "protocol" Protocol Page [page strict lenient] "the protocol is `agh-network/v0`";
    ID_EMPTY "id-empty" IdBlank Page [page strict lenient] "the id is not empty";
    ID_BLANK "id-blank" IdBlank Reference [strict lenient] "the id is not blank";
    WORKSPACE_ID_EMPTY "workspace-id-empty" WorkspaceIdGrammar Page [page strict lenient]
        "the workspace id is not empty";
    WORKSPACE_ID_GRAMMAR "workspace-id-grammar" WorkspaceIdGrammar Reference [strict lenient]
        "the workspace id is not blank and holds no dot, space, `*`, `>` or control character";
    KIND "kind" Kind Page [page strict lenient]
        "the kind is greet, whois, say, capability, receipt or trace";
    CHANNEL_GRAMMAR "channel-grammar" ChannelGrammar Page [page strict lenient]
        "the channel is 1 to 64 of a–z, 0–9, `_` and `-`, the first a letter or digit";
    PEER_ID_GRAMMAR "peer-id-grammar" PeerIdGrammar Page [page strict lenient]
        "peer ids are 1 to 128 of a–z, 0–9, `.`, `_` and `-`, the first a letter or digit";
    EMPTY_REFERENCE "empty-reference" EmptyReference Page [page strict lenient]
        "reply_to, trace_id and causation_id are not empty";
    TS_TOO_FAR_IN_FUTURE "ts-too-far-in-future" TsTooFarInFuture Reference [strict lenient]
        "ts lies at most `max_skew_s` ahead";
    EXPIRES_AT_PASSED "expires-at-passed" ExpiresAtPassed Page [page strict lenient] "expires_at lies ahead";
    REPLAY_AGE "replay-age" ReplayAge Page [page strict lenient]
        "without expires_at, ts is at most `max_replay_age_s` old";
    DISCOVERY "discovery-conversation-field" DiscoveryConversationField Page [page strict lenient]
        "greet and whois carry no surface, thread, room or work";
    SURFACE "surface" Surface Page [page strict lenient] "the surface of a conversation is thread or direct";
    THREAD_ID_REQUIRED "thread-id-required" ThreadIdRequired Page [page strict lenient]
        "a thread message names its thread";
    THREAD_ID_BLANK "thread-id-blank" ThreadIdRequired Reference [strict lenient] "the thread id is not blank";
    THREAD_ID_GRAMMAR "thread-id-grammar" ThreadIdRequired Reference [page strict lenient]
        "the thread id is `thread_` and 3 to 96 of a–z, 0–9, `_` and `-` (`thread_grammar`)";
    DIRECT_ID_REQUIRED "direct-id-required" DirectIdRequired Page [page strict lenient]
        "a direct message names its room";
    DIRECT_ID_GRAMMAR "direct-id-grammar" DirectIdGrammar Page [page strict lenient]
        "a room is `direct_` and 32 lower-case hex digits";
    CONTAINER_CONFLICT "container-conflict" ContainerConflict Page [page strict lenient]
        "only the container of the surface is named";
    WORK_ID_GRAMMAR "work-id-grammar" WorkIdGrammar Page [page strict lenient]
        "a work id is `work_` and 1 to 64 letters, digits, `_` and `-`";
    WORK_ID_REQUIRED "work-id-required" WorkIdRequired Page [page strict lenient]
        "receipts and traces name their work";
    BODY_TYPE "body-type" BodyType Reference [strict lenient] "members of a body have their types";
    BODY_MISSING_FIELD "body-missing-field" BodyMissingField Reference [strict lenient]
        "the body has what its kind needs, and not blank";
    PEER_CARD_ID "peer-card-id" PeerIdGrammar Reference [strict lenient] "the peer card's id is a peer id";
    PEER_ID_MISMATCH "peer-id-mismatch" PeerIdMismatch Reference [strict lenient]
        "the peer card is the sender's";
    WHOIS_TYPE "whois-type" WhoisType Reference [strict lenient] "a whois is a request or a response";
    WHOIS_REQUEST_PEER_CARD "whois-request-peer-card" WhoisRequestPeerCard Reference [strict lenient]
        "a whois request has no peer card";
    REPLY_TO_REQUIRED "reply-to-required" ReplyToRequired Page [page strict lenient]
        "a whois response names the request";
    CAPABILITY_UNWRAPPED "capability-unwrapped" CapabilityUnwrapped Reference [strict lenient]
        "a capability stands in `body.capability`";
    CAPABILITY_REQUIREMENTS "capability-requirements" CapabilityRequirements Reference [strict lenient]
        "requirements are not blank, and each stands there once";
    CAPABILITY_DIGEST "capability-digest" CapabilityDigest Reference [strict lenient]
        "the digest is that of the capability";
    RECEIPT_STATUS "receipt-status" ReceiptStatus Reference [strict lenient]
        "the status is accepted, rejected, duplicate, expired, unsupported or canceled";
    RECEIPT_REASON_REQUIRED "receipt-reason-required" ReceiptReasonRequired Reference [strict lenient]
        "a receipt of refusal names a reason";
    RECEIPT_REASON_FORBIDDEN "receipt-reason-forbidden" ReceiptReasonForbidden Reference [strict lenient]
        "an accepting receipt names no reason";
    RECEIPT_REASON_CODE "receipt-reason-code" ReceiptReasonCode Reference [strict lenient]
        "the reason code is one of the registry";
    TRACE_STATE "trace-state" TraceState Reference [strict lenient]
        "the state is submitted, working, needs_input, completed, failed or canceled";
    TASK_WRITE_NEEDS_PROOF "task-write-needs-proof" Unsigned Reference [page strict lenient]
        "a peer that offers `task.write` sends a proof (`task_write_needs_proof`)";
    SECRET_SCAN "secret-scan" PayloadContract Reference [page strict lenient]
        "body, proof and extensions hold nothing that looks like a secret (`secret_scan`)";
    PROOF_REQUIRED "proof-required" Unsigned Reference [page strict lenient]
        "a proof is there where it is required, or where the sender's handle promises one (`verify_proof`)";
    PROOF "proof" BadSignature Reference [page strict lenient]
        "a proof of the Ed25519 profile verifies (`verify_proof`)";
    DIRECT_BINDING "direct-binding" NotTarget Reference [page strict lenient]
        "the room is that of the two peers (`direct_binding`)";
    NOT_TARGET "not-target" NotTarget Page [page strict lenient]
        "the target is one of the local peers (`local_peers`)";
}

/// Values that are never shown.
pub(super) const HIDDEN: &[&str] = &[];

/// The members are found by the rules themselves, which must see unknown ones, too.
pub(super) const FIELDS: &[&str] = &[];

/// The format as it is configured.
pub(super) struct Agh {
    knobs: config::Agh,
    /// Whether a setting asks for more than the protocol does.
    has_policies: bool,
}

impl BuiltIn for Agh {
    type Keys = config::Agh;

    fn new(knobs: &config::Agh, _: Profile) -> Result<Self, FormatError> {
        let has_policies = knobs.secret_scan
            || knobs.task_write_needs_proof
            || knobs.verify_proof != VerifyProof::Off
            || knobs.direct_binding != DirectBinding::Filter
            || !knobs.local_peers.is_empty();
        check_peers(knobs)?;
        Ok(Self { knobs: knobs.clone(), has_policies })
    }

    /// None: local peers are an offer, not a demand.
    fn lacks(&self) -> RuleSet {
        RuleSet::default()
    }

    /// None: an envelope that the schema refuses goes through the steps, which know the settings.
    fn edits(&self) -> Vec<Edit> {
        Vec::new()
    }

    /// Steps 1 to 5, but for the digest of a capability.
    fn check<O: Observer>(&self, record: &Record<'_>, report: &mut Report<'_, O>) -> ControlFlow<()> {
        let (envelope, knobs) = (self.envelope(record), &self.knobs);
        let kind = if record.in_shape {
            header::check_beyond_schema(&envelope, report)?
        } else {
            header::check(&envelope, knobs, report)?
        };
        self.freshness(&envelope, report)?;
        let Some(kind) = kind else { return ControlFlow::Continue(()) };
        container::check(&envelope, kind, knobs, report)?;
        body::check(&envelope, kind, knobs, report)
    }

    /// The rest of step 5 (the digest of a capability), then 5p, 5v and 6a.
    fn authenticate<O: Observer>(
        &self,
        record: &Record<'_>,
        scratch: &mut Scratch,
        report: &mut Report<'_, O>,
    ) -> ControlFlow<()> {
        // PERF: most envelopes end here, without a second look at all their members.
        let kind = body::member(record, ROOT, "kind").and_then(|at| record.text_at(at));
        if !self.has_policies && kind.is_some_and(|kind| kind.trim() != "capability") {
            return ControlFlow::Continue(());
        }
        let envelope = self.envelope(record);
        let kind = envelope.text(Member::Kind).and_then(MessageKind::named);
        if let (Some(MessageKind::Capability), Some(body)) = (kind, envelope.object(Member::Body)) {
            capability::verify(record, body, &mut scratch.canonical, report)?;
        }
        if let Some(kind) = kind {
            policy::gates(&envelope, kind, &self.knobs, report)?;
        }
        policy::verify(&envelope, &self.knobs, &mut scratch.canonical, report)?;
        policy::target(&envelope, &self.knobs, report)
    }

    fn facts(&self, record: &Record<'_>, _: &mut Scratch) -> Facts {
        let envelope = self.envelope(record);
        let kind = envelope.text(Member::Kind).and_then(MessageKind::named);
        facts::of(&envelope, kind, &self.knobs)
    }
}

impl Agh {
    /// Whether the last of two members with the same name counts.
    pub(super) fn keeps_last(&self) -> bool {
        self.knobs.duplicate_names == DuplicateNames::LastWins
    }

    fn envelope<'a>(&self, record: &Record<'a>) -> Envelope<'a> {
        Envelope::read(*record, self.knobs.trim_identifiers)
    }

    /// Step 3; an envelope that is judged by its own time is fresh.
    fn freshness<O: Observer>(&self, envelope: &Envelope<'_>, report: &mut Report<'_, O>) -> ControlFlow<()> {
        let (Some(now), Some(ts)) = (envelope.record.now, envelope.seconds(Member::Ts)) else {
            return ControlFlow::Continue(());
        };
        let times = Times {
            ts,
            expires_at: envelope.seconds(Member::ExpiresAt),
            now: now.secs(),
            age_max: i64::from(self.knobs.max_replay_age_s),
            skew_max: report.wants(TS_TOO_FAR_IN_FUTURE).then_some(i64::from(self.knobs.max_skew_s)),
        };
        match freshness::staleness(times) {
            None => ControlFlow::Continue(()),
            Some(Stale::Ahead) => report.broken(TS_TOO_FAR_IN_FUTURE, envelope.place(Member::Ts)),
            Some(Stale::Expired) => report.broken(EXPIRES_AT_PASSED, envelope.place(Member::ExpiresAt)),
            Some(Stale::Old) => report.broken(REPLAY_AGE, envelope.place(Member::Ts)),
        }
    }
}

/// A peer that no envelope can name is a slip of the pen, and its messages would all be another node's.
fn check_peers(knobs: &config::Agh) -> Result<(), FormatError> {
    let trimmed = |text: &str| text.trim() == text;
    for (peer, workspace, channel) in knobs.local_peers.iter() {
        let wrong = if !header::is_peer(peer, knobs) {
            let handles = match knobs.verify_proof {
                VerifyProof::Off => "",
                VerifyProof::WhenPresent | VerifyProof::Required => ", or `nickname@fingerprint`",
            };
            let spelled = "peer ids of 1 to 128 of a–z, 0–9, `.`, `_` and `-`, the first a letter or digit";
            Some((peer, format!("{spelled}{handles}")))
        } else if let Some(channel) = channel.filter(|channel| !grammar::is_channel(channel)) {
            let spelled = "channels of 1 to 64 of a–z, 0–9, `_` and `-`, the first a letter or digit";
            Some((channel, spelled.to_owned()))
        } else {
            let odd = workspace.filter(|id| id.is_empty() || !trimmed(id));
            odd.map(|id| (id, "workspace ids without white space around them".to_owned()))
        };
        if let Some((found, spelled)) = wrong {
            let likely: String = found
                .trim()
                .to_lowercase()
                .chars()
                .map(|c| if c.is_ascii_alphanumeric() || matches!(c, '.' | '_' | '-') { c } else { '-' })
                .collect();
            let fits = likely != found && header::is_peer(&likely, knobs) && grammar::is_channel(&likely);
            let near = if fits { format!("; did you mean `{likely}`?") } else { String::new() };
            return Err(FormatError::Key {
                key: "format.agh.local_peers".to_owned(),
                found: format!("{found:?}"),
                allowed: format!("{spelled}{near}"),
            });
        }
    }
    Ok(())
}

/// What a message is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum MessageKind {
    Greet,
    Whois,
    Say,
    Capability,
    Receipt,
    Trace,
}

impl MessageKind {
    fn named(name: &str) -> Option<Self> {
        Some(match name {
            "greet" => Self::Greet,
            "whois" => Self::Whois,
            "say" => Self::Say,
            "capability" => Self::Capability,
            "receipt" => Self::Receipt,
            "trace" => Self::Trace,
            _ => return None,
        })
    }

    /// Peers that look for each other, outside any conversation.
    fn is_discovery(self) -> bool {
        matches!(self, Self::Greet | Self::Whois)
    }

    /// Kinds that only make sense for work that was opened before.
    fn needs_work(self) -> bool {
        matches!(self, Self::Receipt | Self::Trace)
    }
}
