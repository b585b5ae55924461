//! Message authentication codes: Olympus schemes v1 and v2, and Alfred's; verified and made.
//!
//! A signature's text is decoded strictly (lower-case hexadecimal, standard padded Base64), and the tags are compared as
//! bytes in constant time. What is signed comes from `canonical/`, in place where the payload allows it.

use std::collections::HashMap;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD as BASE64;
use ring::hmac;
use subtle::ConstantTimeEq as _;

use super::digest::from_hex;
use super::keys::{Cache, Derivation, KeyRing};
use super::{Scratch, Unfit, canonical};
use crate::clock::Timestamp;
use crate::tape::{NodeIndex, Tape};

/// The bytes of an HMAC-SHA256 tag.
const TAG_BYTES: usize = 32;

/// The tag of a signature that has verified.
pub type Mac = [u8; TAG_BYTES];
/// What an Olympus signature of scheme v2 begins with.
const V2_PREFIX: &str = "v2:";

/// Why a signature does not hold.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MacError {
    /// The text is empty.
    Absent,
    /// The text has no form that a signature can have.
    Form,
    /// No key is known for this session or agent, or none is good at this time.
    NoKey,
    /// The tag is another one.
    Mismatch,
    /// The signed bytes do not exist.
    Unfit(Unfit),
}

impl From<Unfit> for MacError {
    fn from(unfit: Unfit) -> Self {
        Self::Unfit(unfit)
    }
}

/// A way to sign Olympus envelopes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OlympusScheme {
    /// Five members in CPython's form, under a secret of the session.
    V1,
    /// The whole envelope by RFC 8785, under the master key.
    V2,
}

/// The keys of Olympus.
#[derive(Debug, Default)]
pub struct OlympusKeys {
    /// Secrets of scheme v1 by session id.
    pub sessions: HashMap<Box<str>, KeyRing>,
    /// Master keys of scheme v2.
    pub masters: KeyRing,
}

/// What the signatures of an Olympus envelope depend on; the texts are as they stand in the envelope.
#[derive(Clone, Copy, Debug)]
pub struct Olympus<'a> {
    /// `envelope.session_id`.
    pub session_id: &'a str,
    /// `authentication.sender_persona`: whose key it is.
    pub persona: &'a str,
    /// `envelope.correlation_id`.
    pub correlation_id: &'a str,
    /// `envelope.source_agent`.
    pub source_agent: &'a str,
    /// `envelope.target_agent`.
    pub target_agent: &'a str,
    /// `protocol_message.message_type`.
    pub message_type: &'a str,
    /// The value of `protocol_message.payload`.
    pub payload: NodeIndex,
    /// The value of `authentication.signature`, where there is one.
    pub signature: Option<NodeIndex>,
}

/// Verifies an Olympus signature of either scheme; says which it was, and its tag. Only that of scheme v2 covers the
/// whole envelope.
pub fn verify_olympus(
    keys: &OlympusKeys,
    tape: Tape<'_>,
    payload: &[u8],
    envelope: &Olympus<'_>,
    signature: &str,
    now: Timestamp,
    scratch: &mut Scratch,
) -> Result<(OlympusScheme, Mac), MacError> {
    let (scheme, hex) = match signature.strip_prefix(V2_PREFIX) {
        _ if signature.is_empty() => return Err(MacError::Absent),
        Some(hex) => (OlympusScheme::V2, hex),
        None => (OlympusScheme::V1, signature),
    };
    let tag = from_hex(hex).ok_or(MacError::Form)?;
    let ring = olympus_ring(keys, scheme, envelope.session_id)?;
    let Scratch { canonical, keys: cache, .. } = scratch;
    let pieces = olympus_bytes(scheme, tape, payload, envelope, canonical)?;
    verify(ring, cache, now, envelope.derivation(scheme), &pieces, &tag)?;
    Ok((scheme, tag))
}

/// Signs an Olympus envelope: the text for `authentication.signature`.
pub fn sign_olympus(
    scheme: OlympusScheme,
    keys: &OlympusKeys,
    tape: Tape<'_>,
    payload: &[u8],
    envelope: &Olympus<'_>,
    now: Timestamp,
    scratch: &mut Scratch,
) -> Result<String, MacError> {
    let ring = olympus_ring(keys, scheme, envelope.session_id)?;
    let key = ring.signing_key(now, envelope.derivation(scheme)).ok_or(MacError::NoKey)?;
    let pieces = olympus_bytes(scheme, tape, payload, envelope, &mut scratch.canonical)?;
    let prefix = if scheme == OlympusScheme::V2 { V2_PREFIX } else { "" };
    Ok(format!("{prefix}{}", super::digest::hex(tag_of(&key, &pieces).as_ref())))
}

fn olympus_ring<'k>(
    keys: &'k OlympusKeys,
    scheme: OlympusScheme,
    session_id: &str,
) -> Result<&'k KeyRing, MacError> {
    let ring = match scheme {
        OlympusScheme::V1 => keys.sessions.get(session_id).ok_or(MacError::NoKey)?,
        OlympusScheme::V2 => &keys.masters,
    };
    if ring.is_empty() { Err(MacError::NoKey) } else { Ok(ring) }
}

impl<'a> Olympus<'a> {
    fn derivation(&self, scheme: OlympusScheme) -> Derivation<'a> {
        match scheme {
            OlympusScheme::V1 => Derivation::Hmac(self.persona.as_bytes()),
            OlympusScheme::V2 => Derivation::Hkdf {
                salt: self.session_id.as_bytes(),
                info: [b"olympus-envelope/1.0/mac/", self.persona.as_bytes(), b"", b""],
            },
        }
    }
}

/// The signed bytes, in pieces.
fn olympus_bytes<'a>(
    scheme: OlympusScheme,
    tape: Tape<'_>,
    payload: &'a [u8],
    envelope: &Olympus<'_>,
    buffers: &'a mut canonical::Buffers,
) -> Result<[&'a [u8]; 2], Unfit> {
    if scheme == OlympusScheme::V2 {
        return Ok(canonical::jcs(tape, payload, NodeIndex(0), envelope.signature, buffers)?.pieces());
    }
    // The names of the five members are in order already, so the wrapper is written around the payload's form.
    buffers.out.clear();
    let text = |name: &[u8], text: &str, out: &mut canonical::Room| {
        out.extend_from_slice(name);
        canonical::append_cpython_string(text, out);
    };
    text(b"{\"correlation_id\":", envelope.correlation_id, &mut buffers.out);
    text(b",\"message_type\":", envelope.message_type, &mut buffers.out);
    buffers.out.extend_from_slice(b",\"payload\":");
    canonical::append_cpython(tape, payload, envelope.payload, buffers)?;
    text(b",\"source_agent\":", envelope.source_agent, &mut buffers.out);
    text(b",\"target_agent\":", envelope.target_agent, &mut buffers.out);
    buffers.out.push(b'}');
    Ok([&buffers.out, &[]])
}

/// The keys of Alfred.
#[derive(Debug, Default)]
pub struct AlfredKeys {
    /// Master keys, from which each agent's key is derived.
    pub masters: KeyRing,
    /// Agents that have keys of their own, by `agent_id`; these are used as they are, instead of the masters.
    pub agents: HashMap<Box<str>, AgentKeys>,
}

/// The keys that an agent has of its own.
#[derive(Debug, Default)]
pub struct AgentKeys {
    /// Keys for all tenants that have none of their own; may be empty.
    pub others: KeyRing,
    /// Keys that are good in one tenant alone: agents of two tenants may share a name.
    pub tenants: HashMap<Box<str>, KeyRing>,
}

impl AlfredKeys {
    /// The keys that an agent has of its own in a tenant: the effective one, which is the token's where the envelope
    /// names none. Nothing means that its key is derived from the masters.
    #[must_use]
    pub fn own(&self, agent_id: &str, tenant: &str) -> Option<&KeyRing> {
        let agent = self.agents.get(agent_id)?;
        let others = Some(&agent.others).filter(|others| !others.is_empty());
        agent.tenants.get(tenant).or(others)
    }

    /// Whether an agent has keys that depend on the tenant.
    #[must_use]
    pub fn depend_on_tenant(&self, agent_id: &str) -> bool {
        self.agents.get(agent_id).is_some_and(|agent| !agent.tenants.is_empty())
    }
}

/// What the signature of an Alfred envelope depends on; the texts are as they stand in the envelope.
#[derive(Clone, Copy, Debug)]
pub struct Alfred<'a> {
    /// `envelope.security.tenant_id`, empty where it is absent; never the token's.
    pub tenant_id: &'a str,
    /// `envelope.routing.source.agent_id`.
    pub agent_id: &'a str,
    /// `envelope.routing.source.service_id`.
    pub service_id: &'a str,
    /// The value of `envelope.security.signature`, where there is one.
    pub signature: Option<NodeIndex>,
    /// What [`AlfredKeys::own`] gave for the agent.
    pub own: Option<&'a KeyRing>,
}

/// Verifies an Alfred signature; its tag covers the whole envelope.
pub fn verify_alfred(
    keys: &AlfredKeys,
    tape: Tape<'_>,
    payload: &[u8],
    envelope: &Alfred<'_>,
    signature: &str,
    now: Timestamp,
    scratch: &mut Scratch,
) -> Result<Mac, MacError> {
    if signature.is_empty() {
        return Err(MacError::Absent);
    }
    let tag = tag_from_base64(signature).ok_or(MacError::Form)?;
    let (ring, derivation) = envelope.ring(keys)?;
    let Scratch { canonical, keys: cache, .. } = scratch;
    let form = canonical::jcs(tape, payload, NodeIndex(0), envelope.signature, canonical)?;
    verify(ring, cache, now, derivation, &form.pieces(), &tag)?;
    Ok(tag)
}

/// Signs an Alfred envelope: the text for `envelope.security.signature`.
pub fn sign_alfred(
    keys: &AlfredKeys,
    tape: Tape<'_>,
    payload: &[u8],
    envelope: &Alfred<'_>,
    now: Timestamp,
    scratch: &mut Scratch,
) -> Result<String, MacError> {
    let (ring, derivation) = envelope.ring(keys)?;
    let key = ring.signing_key(now, derivation).ok_or(MacError::NoKey)?;
    let form = canonical::jcs(tape, payload, NodeIndex(0), envelope.signature, &mut scratch.canonical)?;
    Ok(BASE64.encode(tag_of(&key, &form.pieces())))
}

impl<'a> Alfred<'a> {
    pub(super) fn ring<'k>(&self, keys: &'k AlfredKeys) -> Result<(&'k KeyRing, Derivation<'a>), MacError>
    where
        'a: 'k,
    {
        if let Some(ring) = self.own {
            return Ok((ring, Derivation::Plain));
        }
        let info: [&[u8]; 4] =
            [b"a2a-envelope/2/mac/", self.agent_id.as_bytes(), b"\0", self.service_id.as_bytes()];
        let derivation = Derivation::Hkdf { salt: self.tenant_id.as_bytes(), info };
        if keys.masters.is_empty() { Err(MacError::NoKey) } else { Ok((&keys.masters, derivation)) }
    }
}

/// How the tag of a plain signature is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TagText {
    /// 64 lower-case hexadecimal digits.
    Hex,
    /// 44 characters of standard Base64.
    Base64,
}

/// Verifies the signature of a format of the user's own: HMAC-SHA256 over the RFC 8785 form without the signature. Its tag
/// covers the whole envelope.
#[expect(
    clippy::too_many_arguments,
    reason = "as its neighbours; a format of the user's has nothing to bundle"
)]
pub fn verify_plain(
    keys: &KeyRing,
    tape: Tape<'_>,
    payload: &[u8],
    at: NodeIndex,
    signature: &str,
    written: TagText,
    now: Timestamp,
    scratch: &mut Scratch,
) -> Result<Mac, MacError> {
    if signature.is_empty() {
        return Err(MacError::Absent);
    }
    let tag = match written {
        TagText::Hex => from_hex(signature),
        TagText::Base64 => tag_from_base64(signature),
    };
    let tag = tag.ok_or(MacError::Form)?;
    let Scratch { canonical, keys: cache, .. } = scratch;
    let form = canonical::jcs(tape, payload, NodeIndex(0), Some(at), canonical)?;
    verify(keys, cache, now, Derivation::Plain, &form.pieces(), &tag)?;
    Ok(tag)
}

fn verify(
    ring: &KeyRing,
    cache: &mut Cache,
    now: Timestamp,
    derivation: Derivation<'_>,
    pieces: &[&[u8]],
    tag: &[u8; TAG_BYTES],
) -> Result<(), MacError> {
    let verifies = |key: &hmac::Key| is_tag(tag_of(key, pieces).as_ref(), tag);
    match cache.any_verifies(ring, now, derivation, verifies) {
        Some(true) => Ok(()),
        Some(false) => Err(MacError::Mismatch),
        None => Err(MacError::NoKey),
    }
}

/// Compares tags in a time that does not depend on them. PERF: in words, of which there are four.
fn is_tag(made: &[u8], given: &[u8; TAG_BYTES]) -> bool {
    let Some(made) = made.first_chunk::<TAG_BYTES>().filter(|_| made.len() == TAG_BYTES) else {
        return false;
    };
    let words = made.as_chunks().0.iter().zip(given.as_chunks().0);
    let differ = words
        .fold(0, |differ, (made, given)| differ | (u64::from_le_bytes(*made) ^ u64::from_le_bytes(*given)));
    bool::from(differ.ct_eq(&0))
}

fn tag_of(key: &hmac::Key, pieces: &[&[u8]]) -> hmac::Tag {
    let mut context = hmac::Context::with_key(key);
    for piece in pieces {
        context.update(piece);
    }
    context.sign()
}

/// Whether a signature of Olympus is of scheme v1 or v2 in form: 64 lower-case digits, with `v2:` in front or without.
#[must_use]
pub fn has_olympus_form(signature: &str) -> bool {
    from_hex(signature.strip_prefix(V2_PREFIX).unwrap_or(signature)).is_some()
}

/// Exactly 44 characters of standard Base64 with padding, and no stray bits in the last one.
fn tag_from_base64(text: &str) -> Option<[u8; TAG_BYTES]> {
    let mut tag = [0; TAG_BYTES + 2];
    let len = BASE64.decode_slice(text.get(..44).filter(|_| text.len() == 44)?, &mut tag).ok()?;
    if len == TAG_BYTES { tag.first_chunk().copied() } else { None }
}
