//! alfred: A2A envelopes of the Alfred agent platform, protocol 2.
//!
//! The rules in their order: the version of ids, the major version, the time window, the reply target, the registry, the
//! intent, what the type demands; then the token with its subject, rights and tenant; then the signature. Unknown
//! members are welcome everywhere.

mod consistency;
mod facts;
mod grammar;
mod keys;
mod message;
mod registry;

use std::ops::ControlFlow;

use super::compiled::{BuiltIn, FormatError};
use super::facts::Facts;
use super::record::Record;
use super::rule::{Report, RuleId, RuleSet, rules};
use super::shapes::Edit;
use crate::clock::Timestamp;
use crate::config::{self, Profile};
use crate::credentials::Scratch;
use crate::credentials::jwt::{Claims, JwtError, TimeClaim, Verifier};
use crate::credentials::mac::{self, AlfredKeys, MacError};
use crate::program::Observer;
use grammar::{has_finer_than_micros, has_major, is_intent, is_reply_to, is_uuid_v4};
pub(super) use message::FIELDS;
use message::{Message, MessageType};

rules! {
    UUID_V4 "uuid-v4" NotUuidV4 Page [page strict]
        "the ids of message and correlation are version 4 UUIDs";
    VERSION "version" BadVersion Page [page strict lenient] "the major version is the supported one (`major`)";
    STALE "stale" Stale Page [page strict] "the timestamp is at most `window_s` old";
    FUTURE "future" Future Page [page strict] "the timestamp is at most `window_s` ahead";
    REPLY_TO "reply-to" BadReplyTo Reference [strict lenient]
        "answers go to a topic `a2a.…` or a channel `a2a:…`, and not to the dead letters";
    REGISTERED "registered" UnregisteredAgent Page [page strict lenient]
        "both agents are registered, in the message's tenant where they are bound to some" needs "registry";
    SERVICE "service" ServiceMismatch Page [page strict lenient]
        "each service belongs to its agent" needs "registry";
    ACTIVE "active" UnregisteredAgent Reference [strict]
        "both agents are active, except for a source that announces itself" needs "registry";
    INTENT "intent" BadIntent Proposed [strict lenient]
        "the intent is 1 to 128 of A–Z, 0–9 and `_`, the first a letter";
    INTENT_SERVED "intent-served" IntentUnsupported Page [page strict lenient]
        "the destination of a request, the source of a response serves the intent" needs "registry";
    TYPE_CONSISTENCY "type-consistency" TypeConsistency Reference [strict]
        "requests have a payload; responses a correlation id, a status, and an error if they fail";
    TOKEN "token" JwtMalformed Page [page strict lenient]
        "the token is a compact JWS without critical headers" needs "jwks";
    TOKEN_ALGORITHM "token-algorithm" JwtAlg Page [page strict lenient]
        "the token is signed with RS256" needs "jwks";
    TOKEN_KEY "token-key" JwtKey Page [page strict lenient] "the token names a known key" needs "jwks";
    TOKEN_SIGNATURE "token-signature" JwtSignature Page [page strict lenient]
        "the token's signature verifies" needs "jwks";
    TOKEN_EXPIRED "token-expired" JwtExpired Page [page strict lenient]
        "the token has not expired (`leeway_s`)" needs "jwks";
    TOKEN_CLAIMS "token-claims" JwtClaims Reference [page strict lenient]
        "the claim `exp` is there, and a number" needs "jwks";
    TOKEN_NOT_BEFORE "token-not-before" JwtClaims Reference [page strict lenient]
        "the claim `nbf`, if it is there, is a number that has come (`leeway_s`)" needs "jwks";
    TOKEN_ISSUED "token-issued" JwtClaims Reference [strict]
        "the claim `iat` is there, a number, and not ahead (`leeway_s`)" needs "jwks";
    TOKEN_LIFETIME "token-lifetime" JwtClaims Reference [strict]
        "the claim `exp` is at most `max_lifetime_s` behind `iat`" needs "jwks";
    TOKEN_ISSUER "token-issuer" JwtClaims Reference [page strict lenient]
        "the claim `iss` is the `issuer`" needs "issuer";
    TOKEN_AUDIENCE "token-audience" JwtClaims Reference [page strict lenient]
        "the claim `aud` is or holds the `audience`" needs "audience";
    TOKEN_SUBJECT "token-subject" JwtSubject Page [page strict lenient]
        "the token is the source agent's" needs "jwks";
    RIGHTS "rights" NotAuthorised Proposed [strict lenient]
        "the token grants what the type needs" needs "jwks";
    TENANT "tenant" TenantMismatch Reference [strict lenient]
        "envelope and token name one tenant" needs "jwks";
    TENANT_NAMED "tenant-named" TenantMismatch Proposed [strict]
        "envelope or token name a tenant" needs "jwks";
    SIGNED "signed" Unsigned Proposed [page strict lenient]
        "a signature is there (`require_signature`)";
    SIGNED_NUMBERS "signed-numbers" NumberRange Proposed [page strict lenient]
        "what is signed holds no integer beyond ±(2^53−1), which RFC 8785 cannot carry";
    SIGNATURE_FORM "signature-form" BadSignature Proposed [page strict lenient]
        "a signature is 44 characters of standard Base64, the last one `=`"
        needs "mac_master_key_hex" "mac_master_key_hex_file";
    SIGNATURE "signature" BadSignature Page [page strict lenient]
        "a signature that is there verifies" needs "mac_master_key_hex" "mac_master_key_hex_file";
}

/// Values that are never shown.
pub(super) const HIDDEN: &[&str] = &["/envelope/security/auth_token", "/envelope/security/signature"];

/// Rules about whose a token is.
const SIGNED_RULES: [RuleId; 4] = [TOKEN, TOKEN_ALGORITHM, TOKEN_KEY, TOKEN_SIGNATURE];

/// Rules about what a token says, once its signature holds.
const CLAIM_RULES: [RuleId; 11] = [
    TOKEN_EXPIRED,
    TOKEN_CLAIMS,
    TOKEN_NOT_BEFORE,
    TOKEN_ISSUED,
    TOKEN_LIFETIME,
    TOKEN_ISSUER,
    TOKEN_AUDIENCE,
    TOKEN_SUBJECT,
    RIGHTS,
    TENANT,
    TENANT_NAMED,
];

/// All rules that need the public keys of tokens.
fn token_rules() -> impl Iterator<Item = RuleId> {
    SIGNED_RULES.into_iter().chain(CLAIM_RULES)
}

/// Rules that need the registry.
const REGISTRY_RULES: [RuleId; 4] = [REGISTERED, SERVICE, ACTIVE, INTENT_SERVED];

/// The format as it is configured.
pub(super) struct Alfred {
    knobs: config::Alfred,
    verifier: Option<Verifier>,
    keys: AlfredKeys,
    /// Whether any signature can be verified.
    has_keys: bool,
    /// Whether answers may carry the suffix that producers of the reference append.
    with_suffix: bool,
}

impl BuiltIn for Alfred {
    type Keys = config::Alfred;

    fn new(knobs: &config::Alfred, profile: Profile) -> Result<Self, FormatError> {
        let keys = keys::mac_keys(knobs)?;
        Ok(Self {
            verifier: keys::verifier(knobs, profile)?,
            has_keys: !keys.masters.is_empty() || !keys.agents.is_empty(),
            keys,
            with_suffix: profile == Profile::Lenient,
            knobs: knobs.clone(),
        })
    }

    fn lacks(&self) -> RuleSet {
        let mut lacks = RuleSet::default();
        if self.knobs.registry.is_empty() {
            lacks = REGISTRY_RULES.into_iter().fold(lacks, RuleSet::with);
        }
        if self.verifier.is_none() {
            lacks = token_rules().fold(lacks, RuleSet::with);
        }
        // Any issuer and any audience would do; nobody should have that without knowing.
        if self.knobs.issuer.is_empty() {
            lacks = lacks.with(TOKEN_ISSUER);
        }
        if self.knobs.audience.is_empty() {
            lacks = lacks.with(TOKEN_AUDIENCE);
        }
        if self.has_keys { lacks } else { lacks.with(SIGNATURE_FORM).with(SIGNATURE) }
    }

    fn edits(&self) -> Vec<Edit> {
        Vec::new()
    }

    /// Meaning: version, time, ends, intent, type.
    fn check<O: Observer>(&self, record: &Record<'_>, report: &mut Report<'_, O>) -> ControlFlow<()> {
        let Some(message) = Message::read(record) else { return ControlFlow::Continue(()) };
        for id in [Some(message.id), message.correlation_id].into_iter().flatten() {
            report.demand(UUID_V4, is_uuid_v4(id.text), id.at)?;
        }
        let version = message.version;
        report.demand(VERSION, has_major(version.text, self.knobs.major), version.at)?;
        self.window(record, &message, report)?;
        if let Some(reply_to) = message.reply_to {
            report.demand(REPLY_TO, is_reply_to(reply_to.text), reply_to.at)?;
        }
        self.ends(&message, report)?;
        let misfit = consistency::misfit(record, &message);
        report.demand(TYPE_CONSISTENCY, misfit.is_none(), misfit.unwrap_or_default())
    }

    /// Credentials: the token and what it grants, then the signature.
    fn authenticate<O: Observer>(
        &self,
        record: &Record<'_>,
        scratch: &mut Scratch,
        report: &mut Report<'_, O>,
    ) -> ControlFlow<()> {
        let Some(message) = Message::read(record) else { return ControlFlow::Continue(()) };
        self.token(record, &message, scratch, report)?;
        self.signature(record, &message, scratch, report)
    }

    fn facts(&self, record: &Record<'_>, scratch: &mut Scratch) -> Facts {
        facts::of(record, self, scratch)
    }
}

impl Alfred {
    /// The timestamp lies within the window, both edges included.
    fn window<O: Observer>(
        &self,
        record: &Record<'_>,
        message: &Message<'_>,
        report: &mut Report<'_, O>,
    ) -> ControlFlow<()> {
        let (Some(now), Some(sent)) = (record.now, Timestamp::from_rfc3339(message.timestamp.text)) else {
            return ControlFlow::Continue(());
        };
        let at = message.timestamp.at;
        report.demand(STALE, sent.plus_secs(self.knobs.window_s) >= now, at)?;
        // Digits past the microsecond are cut off, and still count.
        let latest = now.plus_secs(self.knobs.window_s);
        let holds = sent < latest || (sent == latest && !has_finer_than_micros(message.timestamp.text));
        report.demand(FUTURE, holds, at)
    }

    /// Registry and intent.
    fn ends<O: Observer>(&self, message: &Message<'_>, report: &mut Report<'_, O>) -> ControlFlow<()> {
        let intent = message.intent;
        if self.knobs.registry.is_empty() {
            for rule in REGISTRY_RULES {
                // Only tasks have an intent that somebody must serve.
                if rule != INTENT_SERVED || message.kind.is_task() {
                    report.unchecked(rule);
                }
            }
            return report.demand(INTENT, is_intent(intent.text), intent.at);
        }
        registry::wrong_ends(message, &self.knobs.registry, |rule, at| report.broken(rule, at))?;
        report.demand(INTENT, is_intent(intent.text), intent.at)?;
        let served = registry::serves_intent(message, &self.knobs.registry, self.with_suffix);
        report.demand(INTENT_SERVED, served, intent.at)
    }

    fn token<O: Observer>(
        &self,
        record: &Record<'_>,
        message: &Message<'_>,
        scratch: &mut Scratch,
        report: &mut Report<'_, O>,
    ) -> ControlFlow<()> {
        let Some(verifier) = &self.verifier else {
            for rule in token_rules() {
                report.unchecked(rule);
            }
            return ControlFlow::Continue(());
        };
        let token = message.auth_token;
        let claims = match verifier.authentic(token.text, scratch) {
            Ok(claims) => claims,
            Err(error) => {
                let rule = match error {
                    JwtError::Malformed => TOKEN,
                    JwtError::Algorithm => TOKEN_ALGORITHM,
                    JwtError::Key => TOKEN_KEY,
                    JwtError::Signature | JwtError::Expired | JwtError::Claims => TOKEN_SIGNATURE,
                };
                if !report.wants(rule) {
                    // Whoever lets tokens pass that nobody signed knows nothing of what they say.
                    for rule in CLAIM_RULES {
                        report.unchecked(rule);
                    }
                }
                return report.broken(rule, token.at);
            }
        };
        // Where these are switched off, the token is still somebody's, and for nobody else to use.
        let now = time_of(record, message);
        report.demand(TOKEN_EXPIRED, !verifier.has_expired(claims, now), token.at)?;
        for (rule, claim) in [
            (TOKEN_CLAIMS, TimeClaim::Expires),
            (TOKEN_NOT_BEFORE, TimeClaim::NotBefore),
            (TOKEN_ISSUED, TimeClaim::Issued),
            (TOKEN_LIFETIME, TimeClaim::Lifetime),
        ] {
            report.demand(rule, verifier.time_fits(claims, claim, now), token.at)?;
        }
        for (rule, wanted, fits) in [
            (TOKEN_ISSUER, &self.knobs.issuer, claims.issuer_fits()),
            (TOKEN_AUDIENCE, &self.knobs.audience, claims.audience_fits()),
        ] {
            if wanted.is_empty() {
                report.unchecked(rule);
            } else {
                report.demand(rule, fits, token.at)?;
            }
        }
        granted(message, claims, report)?;
        let outside = match (message.tenant_id, claims.tenant()) {
            (None, Ok(Some(tenant))) if !self.knobs.registry.is_empty() => {
                registry::end_outside(message, &self.knobs.registry, tenant)
            }
            _ => None,
        };
        report.demand(REGISTERED, outside.is_none(), outside.unwrap_or_default())
    }

    /// The tenant that the token names, if its signature holds; a token that was verified before is remembered.
    fn claimed_tenant<'s>(&self, message: &Message<'_>, scratch: &'s mut Scratch) -> Option<&'s str> {
        let claims = self.verifier.as_ref()?.authentic(message.auth_token.text, scratch).ok()?;
        claims.tenant().ok().flatten()
    }

    fn signature<O: Observer>(
        &self,
        record: &Record<'_>,
        message: &Message<'_>,
        scratch: &mut Scratch,
        report: &mut Report<'_, O>,
    ) -> ControlFlow<()> {
        let Some(signature) = message.signature else {
            return report.demand(SIGNED, !self.knobs.require_signature, message.security_at);
        };
        if !self.has_keys {
            report.unchecked(SIGNATURE_FORM);
            report.unchecked(SIGNATURE);
            return ControlFlow::Continue(());
        }
        let now = time_of(record, message);
        let agent_id = message.source.agent.text;
        let own = match message.tenant_id {
            // A key of one tenant goes by the effective tenant.
            None if self.keys.depend_on_tenant(agent_id) => {
                self.keys.own(agent_id, self.claimed_tenant(message, scratch).unwrap_or_default())
            }
            tenant => self.keys.own(agent_id, tenant.map_or("", |tenant| tenant.text)),
        };
        let envelope = mac::Alfred {
            tenant_id: message.tenant_id.map_or("", |tenant| tenant.text),
            agent_id,
            service_id: message.source.service.map_or("", |service| service.text),
            signature: message.signature_at,
            own,
        };
        match mac::verify_alfred(
            &self.keys,
            record.tape,
            record.payload,
            &envelope,
            signature.text,
            now,
            scratch,
        ) {
            Ok(mac) => {
                report.verified(mac);
                ControlFlow::Continue(())
            }
            Err(MacError::Unfit(_)) => {
                report.broken(SIGNED_NUMBERS, record.first_inexact_integer().unwrap_or(signature.at))
            }
            Err(MacError::Form) if report.wants(SIGNATURE) && report.wants(SIGNATURE_FORM) => {
                report.broken(SIGNATURE_FORM, signature.at)
            }
            Err(_) => report.broken(SIGNATURE, signature.at),
        }
    }
}

/// What a token that holds must say for the message: whose it is, what it grants, for which tenant.
fn granted<O: Observer>(
    message: &Message<'_>,
    claims: Claims<'_>,
    report: &mut Report<'_, O>,
) -> ControlFlow<()> {
    let at = message.auth_token.at;
    report.demand(TOKEN_SUBJECT, claims.subject() == Some(message.source.agent.text), at)?;
    let may = claims.is_admin()
        || match message.kind {
            MessageType::TaskRequest => {
                claims.has_right(&["write:tasks"])
                    || claims.has_right(&["write:tasks:", message.destination.agent.text])
                    || claims.has_right(&["execute:intents:", message.intent.text])
            }
            MessageType::Event => claims.has_right(&["write:events"]),
            MessageType::Control => claims.has_right(&["write:control"]),
            MessageType::TaskResponse | MessageType::Heartbeat | MessageType::Discovery => true,
        };
    report.demand(RIGHTS, may, at)?;
    let (agree, named) = match (message.tenant_id, claims.tenant()) {
        (_, Err(_)) => (false, true),
        (Some(tenant), Ok(claimed)) => (claimed == Some(tenant.text), true),
        (None, Ok(claimed)) => (true, claimed.is_some()),
    };
    let at = message.tenant_id.map_or(at, |tenant| tenant.at);
    report.demand(TENANT, agree, at)?;
    report.demand(TENANT_NAMED, named, at)
}

/// The time to judge by: the clock's, or the envelope's own.
fn time_of(record: &Record<'_>, message: &Message<'_>) -> Timestamp {
    record.now.or_else(|| Timestamp::from_rfc3339(message.timestamp.text)).unwrap_or_default()
}
