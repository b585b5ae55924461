//! The verdict on a record, and the closed list of reasons for a reject.
//!
//! The table below is the only place where a reason is defined: headers, metric labels, documents and the texts of
//! `tollgate check` derive from it. Codes and numbers are stable: never renamed, never used again for something else.
//! A verdict is a small value; pointers and texts are made later, and only where someone asks for them.

use crate::tape::NodeIndex;

/// The step of judging at which a reason arises, in the order in which reasons take precedence.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Step {
    /// Size, UTF-8, syntax, duplicate names, depth.
    Parse,
    /// Which format the envelope claims to be.
    Identify,
    /// The structural schema.
    Shape,
    /// Cross-field rules, versions, paths, freshness.
    Meaning,
    /// Signatures and tokens.
    Credentials,
    /// What was seen before: replay and lifecycle.
    State,
    /// What the output topic refuses.
    Deliver,
}

macro_rules! reasons {
    ($($number:literal $name:ident $code:literal $step:ident $wire:literal $text:literal, $hint:literal;)*) => {
        /// Why a record was rejected.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
        #[repr(u8)]
        pub enum Reason {
            $(#[doc = concat!("`", $code, "`: ", $text, ".")] $name = $number,)*
        }

        impl Reason {
            /// Every reason, ascending by number.
            pub const ALL: &[Self] = &[$(Self::$name,)*];

            /// The stable code that headers, metrics and reports carry.
            #[must_use]
            pub const fn code(self) -> &'static str {
                match self { $(Self::$name => $code,)* }
            }

            /// The step at which it arises.
            #[must_use]
            pub const fn step(self) -> Step {
                match self { $(Self::$name => Step::$step,)* }
            }

            /// What it means, for people; a clause without a full stop.
            #[must_use]
            pub const fn text(self) -> &'static str {
                match self { $(Self::$name => $text,)* }
            }

            /// What a sender can do about it; a sentence.
            #[must_use]
            pub const fn hint(self) -> &'static str {
                match self { $(Self::$name => $hint,)* }
            }

            /// What the agh protocol calls it on the wire.
            #[must_use]
            pub const fn wire(self) -> &'static str {
                match self { $(Self::$name => $wire,)* }
            }
        }
    };
}

reasons! {
    1 Tombstone "tombstone" Parse "malformed" "the record has no payload",
        "Send an envelope, or keep tombstones off this topic.";
    2 EmptyPayload "empty-payload" Parse "malformed" "the payload has no bytes, or only white space",
        "Send one JSON object per record.";
    3 TooBig "too-big" Parse "malformed" "the payload is larger than the limit",
        "Send less, or raise `limits.payload_bytes_max`.";
    4 JsonSyntax "json-syntax" Parse "malformed" "the payload is not one JSON document in UTF-8",
        "Serialise with a JSON library; no BOM, no trailing data, no lone surrogates.";
    5 DuplicateKey "duplicate-key" Parse "malformed" "a member name stands twice in one object",
        "Keep one of the two; names are compared after unescaping.";
    6 TooDeep "too-deep" Parse "malformed" "objects and arrays are nested deeper than the limit",
        "Flatten the payload, or raise `limits.depth_max`.";
    7 NotObject "not-object" Parse "malformed" "the top level is not an object",
        "Send the envelope itself, not an array or a bare value.";
    8 UnknownFormat "unknown-format" Identify "malformed" "no format claims this envelope",
        "Bind the topic to a format, or send one of the known formats.";
    9 AmbiguousFormat "ambiguous-format" Identify "malformed" "members of several formats stand side by side",
        "Send the members of one format only.";
    10 WrongFormat "wrong-format" Identify "malformed" "the envelope is of another format than its topic",
        "Send it to the topic of its own format.";
    11 WrongType "wrong-type" Shape "malformed" "a value has the wrong JSON type",
        "Use the type that the schema names.";
    12 MissingField "missing-field" Shape "malformed" "a required member is absent",
        "Add the member.";
    13 BadConst "bad-const" Shape "malformed" "a value differs from the only one allowed",
        "Use the value that the schema names.";
    14 BadEnum "bad-enum" Shape "malformed" "a value is not in the list of allowed ones",
        "Use one of the listed values; case matters.";
    15 BadPattern "bad-pattern" Shape "malformed" "a text does not match its pattern",
        "Follow the pattern; it must match the whole text where it is anchored.";
    16 BadFormat "bad-format" Shape "malformed" "a text is not of its format (date-time, uuid, …)",
        "Write date-times by RFC 3339, UUIDs as 8-4-4-4-12 hex digits.";
    17 TooLong "too-long" Shape "malformed" "a text has more characters than allowed",
        "Shorten it; Unicode code points are counted.";
    18 TooShort "too-short" Shape "malformed" "a text has fewer characters than required",
        "Fill it in.";
    19 TooSmall "too-small" Shape "malformed" "a number is below its minimum",
        "Use a larger number.";
    20 TooLarge "too-large" Shape "malformed" "a number is above its maximum",
        "Use a smaller number.";
    21 TooMany "too-many" Shape "malformed" "an array or object has more entries than allowed",
        "Send fewer entries.";
    22 TooFew "too-few" Shape "malformed" "an array or object has fewer entries than required",
        "Send more entries.";
    23 Empty "empty" Shape "malformed" "a value is empty that must not be",
        "Fill it in.";
    24 UnknownField "unknown-field" Shape "malformed" "a member that the format does not know",
        "Remove the member, or put it where the format is open.";
    25 Schema "schema" Shape "malformed" "the schema refuses the envelope",
        "See the failing keyword.";
    26 NumberRange "number-range" Shape "malformed" "a number that cannot be represented",
        "Keep numbers within double range, and integers within ±(2^53−1) where they are signed.";
    27 Stale "stale" Meaning "expired" "the timestamp is too old",
        "Send it fresh, or judge stored traffic with `--as-of` or the record's clock.";
    28 Future "future" Meaning "expired" "the timestamp lies in the future",
        "Set the sender's clock.";
    29 WrongPersona "wrong-persona" Meaning "malformed" "the signing persona is not the source agent",
        "Set `authentication.sender_persona` to `envelope.source_agent`.";
    30 SessionMismatch "session-mismatch" Meaning "malformed" "the two session ids differ",
        "Use one session id in `envelope` and `authentication`.";
    31 BadTransition "bad-transition" Meaning "malformed" "this source may not send this type to this target",
        "Follow the route table of the format.";
    32 PmDisabled "pm-disabled" Meaning "malformed" "routes of the project manager are switched off",
        "Set `use_project_manager = true`, or route through the tech lead.";
    33 PersonaPath "persona-path" Meaning "malformed" "the persona path is not the target's file",
        "Point `persona` at `<target_agent>.md`.";
    34 AttachmentNotAuthorised "attachment-not-authorised" Meaning "malformed"
        "the target may not receive this attachment", "Leave it out, or send it to a persona that may have it.";
    35 HashMissing "hash-missing" Meaning "malformed" "an attachment has no hash",
        "Add `hash` with the SHA-256 of the file.";
    36 HashPlaceholder "hash-placeholder" Meaning "malformed" "an attachment's hash is all zeros",
        "Hash the file; zeros mean that it did not exist.";
    37 HashMismatch "hash-mismatch" Meaning "malformed" "an attachment's hash is not that of the file",
        "Hash the file's raw bytes again.";
    38 UnknownTask "unknown-task" Meaning "malformed" "the sender's task is not registered for it",
        "Register the task for this persona and session.";
    39 PayloadContract "payload-contract" Meaning "malformed" "the payload breaks the contract of its message type",
        "See the contract of the message type.";
    40 UnsafePath "unsafe-path" Meaning "malformed" "a path that can leave the repository",
        "Use a plain relative path without `..`, backslashes or control characters.";
    41 DuplicateItem "duplicate-item" Meaning "malformed" "an item stands twice where items are unique",
        "Keep one of them.";
    42 NotUuidV4 "not-uuid-v4" Meaning "malformed" "an id is not a version 4 UUID",
        "Generate ids as random (version 4) UUIDs.";
    43 BadVersion "bad-version" Meaning "malformed" "the protocol version is not supported",
        "Send the supported major version.";
    44 BadReplyTo "bad-reply-to" Meaning "malformed" "the reply target is not a reply channel",
        "Use `a2a.type.subtype` or `a2a:type:subtype`.";
    45 UnregisteredAgent "unregistered-agent" Meaning "malformed" "an agent is not in the registry, or not active",
        "Register the agent.";
    46 ServiceMismatch "service-mismatch" Meaning "malformed" "a service does not belong to its agent",
        "Register the service for the agent.";
    47 BadIntent "bad-intent" Meaning "malformed" "the intent is not spelled as intents are",
        "Write intents in capitals, digits and underscores.";
    48 IntentUnsupported "intent-unsupported" Meaning "malformed" "the agent does not offer this intent",
        "Register the intent for the agent that serves it.";
    49 TypeConsistency "type-consistency" Meaning "malformed" "members do not fit the message type",
        "See what the message type requires.";
    50 NullFeature "null-feature" Meaning "malformed" "the feature id is null where it must not be",
        "A null feature id goes with the action `scaffold` only.";
    51 IterationLimit "iteration-limit" Meaning "malformed" "the iteration is above the workflow's limit",
        "Escalate instead of iterating on.";
    52 Inconsistent "inconsistent" Meaning "malformed" "two members contradict each other",
        "Make them agree.";
    53 RetryLimit "retry-limit" Meaning "malformed" "the message was retried too often",
        "Give up, or raise `max_retry`.";
    54 TypeMismatch "type-mismatch" Meaning "malformed" "the payload's type is not the envelope's",
        "Send the payload under its own type.";
    55 SensitiveDefault "sensitive-default" Meaning "malformed" "a sensitive input carries a default value",
        "Never send a default for a sensitive input.";
    56 Unsigned "unsigned" Credentials "verification_failed" "the signature is absent",
        "Sign the envelope (`tollgate sign` shows how).";
    57 BadSignature "bad-signature" Credentials "verification_failed" "the signature does not verify",
        "Sign the canonical form with the sender's current key.";
    58 UnknownSession "unknown-session" Credentials "verification_failed" "no key is configured for the session",
        "Add the session's secret to the configuration.";
    59 JwtMalformed "jwt-malformed" Credentials "verification_failed" "the token is not a compact JWS",
        "Send three unpadded base64url parts, without `Bearer`.";
    60 JwtAlg "jwt-alg" Credentials "verification_failed" "the token's algorithm is not allowed",
        "Sign tokens with RS256.";
    61 JwtKey "jwt-key" Credentials "verification_failed" "the token names no known key",
        "Set `kid` to a key of the configured JWKS.";
    62 JwtSignature "jwt-signature" Credentials "verification_failed" "the token's signature does not verify",
        "Sign the token with the key that `kid` names.";
    63 JwtExpired "jwt-expired" Credentials "verification_failed" "the token has expired",
        "Fetch a new token.";
    64 JwtClaims "jwt-claims" Credentials "verification_failed" "a claim of the token is absent or wrong",
        "Check issuer, audience, lifetime and not-before.";
    65 JwtSubject "jwt-subject" Credentials "verification_failed" "the token belongs to another agent",
        "Use the token of the source agent.";
    66 NotAuthorised "not-authorised" Credentials "verification_failed" "the token does not grant this",
        "Ask for the right that the message type needs.";
    67 TenantMismatch "tenant-mismatch" Credentials "verification_failed" "the tenants of token and envelope differ",
        "Use a token of the envelope's tenant.";
    68 Duplicate "duplicate" State "duplicate" "the same message was seen before",
        "Nothing to do if it was a retry.";
    69 IdConflict "id-conflict" State "duplicate" "the id was seen before with other content",
        "Give every message an id of its own.";
    70 StaleRetry "stale-retry" State "duplicate" "a retry whose count does not rise",
        "Raise `retry_count` with every retry.";
    71 BadParent "bad-parent" State "malformed" "the parent is not a known message of this work",
        "Refer to an accepted message of the same session and correlation.";
    72 Cancelled "cancelled" State "malformed" "the work was cancelled",
        "Stop, or send the partial result marked as such.";
    73 NoAssignment "no-assignment" State "malformed" "nothing was assigned to this persona",
        "Assign the work first.";
    74 CycleLimit "cycle-limit" State "malformed" "an evaluator gave feedback too often",
        "Block instead of giving feedback again.";
    75 CircuitOpen "circuit-open" State "malformed" "the work went round too often and waits for a person",
        "A person has to decide.";
    76 Correlation "correlation" State "malformed" "a response that fits no request",
        "Echo the request's correlation id, intent and trace id.";
    77 Undeliverable "undeliverable" Deliver "internal" "the output topic refuses the record",
        "Raise the topic's limits, or send smaller records with a key and a valid timestamp.";
    78 WindowFull "window-full" State "internal" "the replay window is full and set to reject",
        "Raise `window.memory_bytes_max`.";
    79 InvalidUtf8 "invalid-utf8" Parse "malformed" "the payload is not UTF-8",
        "Encode as UTF-8.";
    80 LoneSurrogate "lone-surrogate" Parse "malformed" "an escape names half a surrogate pair",
        "Escape the whole pair, or write the character itself.";
    81 LegacyField "legacy-field" Shape "malformed" "a member of an older protocol version",
        "Remove `interaction_id`.";
    82 FieldType "field-type" Shape "malformed" "a member has the wrong JSON type",
        "Use the type that the format names.";
    83 NullNotAllowed "null-not-allowed" Shape "malformed" "a member is null that must not be",
        "Leave the member out.";
    84 FieldRange "field-range" Shape "malformed" "a number is out of its range",
        "Keep it within 0 and 2^63−1.";
    85 Protocol "protocol" Shape "malformed" "the protocol is not the supported one",
        "Send `agh-network/v0`.";
    86 IdBlank "id-blank" Shape "malformed" "the id is blank",
        "Give the message an id.";
    87 WorkspaceIdGrammar "workspace-id-grammar" Shape "malformed" "the workspace id has characters that it may not have",
        "Avoid dots, blanks, `*`, `>` and control characters.";
    88 Kind "kind" Shape "unsupported_kind" "the kind is not a known one",
        "Use greet, whois, say, capability, receipt or trace.";
    89 ChannelGrammar "channel-grammar" Shape "malformed" "the channel is not spelled as channels are",
        "Use 1 to 64 of a–z, 0–9, `_` and `-`.";
    90 PeerIdGrammar "peer-id-grammar" Shape "malformed" "a peer id is not spelled as peer ids are",
        "Use 1 to 128 of a–z, 0–9, `.`, `_` and `-`.";
    91 EmptyReference "empty-reference" Shape "malformed" "a reference to another message is empty",
        "Leave the member out.";
    92 ExpiresAtPassed "expires-at-passed" Meaning "expired" "the envelope has expired",
        "Send it again with a later `expires_at`.";
    93 ReplayAge "replay-age" Meaning "expired" "the timestamp is older than the replay age",
        "Send it fresh, or set `expires_at`.";
    94 TsTooFarInFuture "ts-too-far-in-future" Meaning "expired" "the timestamp lies in the future",
        "Set the sender's clock.";
    95 Surface "surface" Meaning "malformed" "the surface is absent or not a known one",
        "Use `thread` or `direct` on conversation kinds.";
    96 ThreadIdRequired "thread-id-required" Meaning "malformed" "a thread message names no thread",
        "Set `thread_id`.";
    97 DirectIdRequired "direct-id-required" Meaning "malformed" "a direct message names no room",
        "Set `direct_id` (`tollgate sign` derives it).";
    98 DirectIdGrammar "direct-id-grammar" Meaning "malformed" "the room id is not spelled as room ids are",
        "Use `direct_` and 32 lower-case hex digits.";
    99 ContainerConflict "container-conflict" Meaning "malformed" "surface and container id do not fit",
        "Name the container of the surface, and only that one.";
    100 DiscoveryConversationField "discovery-conversation-field" Meaning "malformed"
        "a discovery message carries conversation members", "Leave surface, container and work out.";
    101 WorkIdRequired "work-id-required" Meaning "malformed" "the kind needs a work id",
        "Set `work_id`.";
    102 WorkIdGrammar "work-id-grammar" Meaning "malformed" "the work id is not spelled as work ids are",
        "Use `work_` and 1 to 64 letters, digits, `_` or `-`.";
    103 BodyType "body-type" Meaning "malformed" "a member of the body has the wrong type",
        "See the body of this kind.";
    104 BodyMissingField "body-missing-field" Meaning "malformed" "the body lacks a member that its kind needs",
        "See the body of this kind.";
    105 PeerIdMismatch "peer-id-mismatch" Meaning "malformed" "the peer card is not the sender's",
        "Set `peer_card.peer_id` to `from`.";
    106 WhoisType "whois-type" Meaning "malformed" "a whois is neither request nor response",
        "Set `body.type` to `request` or `response`.";
    107 WhoisRequestPeerCard "whois-request-peer-card" Meaning "malformed" "a whois request carries a peer card",
        "Leave `peer_card` out of requests.";
    108 ReplyToRequired "reply-to-required" Meaning "malformed" "a response names no request",
        "Set `reply_to`.";
    109 CapabilityUnwrapped "capability-unwrapped" Meaning "malformed" "the body has no member `capability`",
        "Wrap the capability in `body.capability`.";
    110 CapabilityRequirements "capability-requirements" Meaning "malformed" "requirements are blank or not unique",
        "List each requirement once.";
    111 CapabilityDigest "capability-digest" Meaning "verification_failed" "the capability's digest does not match",
        "Compute it again (`tollgate sign`).";
    112 ReceiptStatus "receipt-status" Meaning "malformed" "the receipt's status is not a known one",
        "Use accepted, rejected, duplicate, expired, unsupported or canceled.";
    113 ReceiptReasonRequired "receipt-reason-required" Meaning "malformed" "the receipt's status needs a reason code",
        "Set `reason_code`.";
    114 ReceiptReasonForbidden "receipt-reason-forbidden" Meaning "malformed" "an accepting receipt carries a reason code",
        "Leave `reason_code` out.";
    115 ReceiptReasonCode "receipt-reason-code" Meaning "malformed" "the reason code is not a known one",
        "Use a code of the protocol's registry.";
    116 TraceState "trace-state" Meaning "malformed" "the trace's state is not a known one",
        "Use working, needs_input, completed, failed or canceled.";
    117 NotTarget "not-target" State "not_target" "the target is not one of the local peers",
        "Send it to the node that hosts the peer.";
    118 WorkContainerMismatch "work-container-mismatch" State "work_container_mismatch"
        "the work belongs to another conversation", "Stay in the conversation that opened the work.";
    119 WorkClosed "work-closed" State "work_closed" "the work is closed",
        "Open new work.";
    120 Internal "internal" State "internal" "the message makes no legal step of the work",
        "Follow the lifecycle of the format.";
}

impl Reason {
    /// The reason with this code.
    #[must_use]
    pub fn from_code(code: &str) -> Option<Self> {
        Self::ALL.iter().copied().find(|reason| reason.code() == code)
    }
}

/// Which of the rule set's formats an envelope was judged by.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct FormatId(pub u8);

/// What was decided about one record: small, `Copy`, and enough to explain it later.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Verdict {
    /// `None` accepts.
    pub reason: Option<Reason>,
    /// The format, as soon as it was known.
    pub format: Option<FormatId>,
    /// The node that failed; node 0 where there is none.
    pub at: NodeIndex,
    /// Whether a rule applied that could not be checked, because its data is not configured.
    pub unchecked: bool,
    /// Whether it is accepted and changes nothing.
    pub ignored: bool,
    /// A sequence rule that is broken and only warns.
    pub warned: Option<Reason>,
}

const _: () = assert!(size_of::<Verdict>() <= 16, "a verdict stays small");

impl Verdict {
    /// An accept under `format`.
    #[must_use]
    pub fn accept(format: FormatId) -> Self {
        Self {
            reason: None,
            format: Some(format),
            at: NodeIndex(0),
            unchecked: false,
            ignored: false,
            warned: None,
        }
    }

    /// A reject, before or after the format was known.
    #[must_use]
    pub fn reject(reason: Reason, format: Option<FormatId>, at: NodeIndex) -> Self {
        Self { reason: Some(reason), format, at, unchecked: false, ignored: false, warned: None }
    }

    /// Whether the record goes to the accepted side.
    #[must_use]
    pub fn is_accept(self) -> bool {
        self.reason.is_none()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_and_codes_are_unique_and_dense() {
        for (index, reason) in Reason::ALL.iter().enumerate() {
            assert_eq!(*reason as usize, index + 1, "numbers are dense, so a counter per reason is an array");
            assert_eq!(Reason::from_code(reason.code()), Some(*reason), "codes are unique");
        }
    }

    #[test]
    fn texts_read_well() {
        for reason in Reason::ALL {
            assert!(!reason.text().ends_with('.'), "{}: a clause", reason.code());
            assert!(reason.hint().ends_with('.'), "{}: a sentence", reason.code());
            assert!(
                reason
                    .code()
                    .bytes()
                    .all(|byte| byte.is_ascii_lowercase() || byte == b'-' || byte.is_ascii_digit())
            );
        }
    }
}
