//! Tokens: compact JWS with RS256, keys from a JWKS, claims checked against `now`.
//!
//! A token is taken apart in a fixed order, so that each defect has one reason: parts, alphabet and JSON; the algorithm,
//! before any key is looked for; `crit`; the key; the signature; then the claims. A token whose signature holds is
//! remembered by its SHA-256 digest together with its claims, so that the next record with it costs one digest and one
//! look-up; times are compared with `now` for each record again.
//!
//! This folder must not know envelopes: who the subject has to be and which right is needed is for the caller to ask.

mod cache;
mod claims;
mod jwks;
#[cfg(test)]
mod tests;

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD as BASE64URL;
use ring::digest;

pub(crate) use cache::Cache;
use claims::StoredClaims;
pub use claims::{Claims, TenantsDiffer, TimeClaim};
pub use jwks::{Jwks, JwksError};

use super::{Scratch, keys};
use crate::clock::Timestamp;
use crate::program::{self, first_duplicate};
use crate::tape::{Node, Parser, Tape};

/// Claims that take more bytes than this are checked for each record anew.
pub const CACHED_CLAIMS_BYTES_MAX: usize = 8 * 1024;
/// Header and claims are nested no deeper than this.
const DEPTH_MAX: usize = 64;

/// Why a token does not hold; in the order in which it is checked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum JwtError {
    /// Not three parts of unpadded Base64url with JSON objects in the first two, or with `crit`.
    Malformed,
    /// Another algorithm than RS256.
    Algorithm,
    /// No `kid`, or one that is not in the JWKS.
    Key,
    /// The signature does not verify.
    Signature,
    /// `exp` has passed.
    Expired,
    /// Another claim is absent, of the wrong type, or does not fit.
    Claims,
}

/// What claims have to say.
#[derive(Clone, Debug)]
pub struct TokenRules {
    /// What `iss` must be; `None` accepts any, also none.
    pub issuer: Option<Box<str>>,
    /// What `aud` must be or hold; `None` accepts any, also none.
    pub audience: Option<Box<str>>,
    /// How far clocks may differ.
    pub leeway_s: u32,
    /// How long a token may live; only asked if `iat_required`.
    pub lifetime_s_max: u32,
    /// Whether `iat` must be there, not in the future, and near enough to `exp`.
    pub iat_required: bool,
}

/// Verifies tokens.
#[derive(Debug)]
pub struct Verifier {
    /// Unique in the process, so that what another verifier remembered is not taken for this one's.
    id: u64,
    jwks: Jwks,
    rules: TokenRules,
}

/// Memory to take a token apart; only needed for one that was not seen before.
struct Workshop {
    parser: Parser,
    duplicates: program::Scratch,
    decoded: Vec<u8>,
    signature: Vec<u8>,
}

impl Default for Workshop {
    fn default() -> Self {
        Self {
            parser: Parser::new(DEPTH_MAX),
            duplicates: program::Scratch::default(),
            decoded: Vec::new(),
            signature: Vec::new(),
        }
    }
}

impl Verifier {
    /// A verifier with these keys and rules.
    #[must_use]
    pub fn new(jwks: Jwks, rules: TokenRules) -> Self {
        Self { id: keys::unique(), jwks, rules }
    }

    /// Verifies a token at `now` and hands out its claims.
    pub fn verify<'s>(
        &self,
        token: &str,
        now: Timestamp,
        scratch: &'s mut Scratch,
    ) -> Result<Claims<'s>, JwtError> {
        let claims = self.authentic(token, scratch)?;
        claims.0.check(&self.rules, now)?;
        Ok(claims)
    }

    /// Whether the token's `exp` has passed at `now`.
    #[must_use]
    pub fn has_expired(&self, claims: Claims<'_>, now: Timestamp) -> bool {
        claims.0.has_expired(&self.rules, now)
    }

    /// Whether a claim about times is as it must be at `now`; that `exp` has passed is asked apart.
    #[must_use]
    pub fn time_fits(&self, claims: Claims<'_>, claim: TimeClaim, now: Timestamp) -> bool {
        claims.0.time_fits(&self.rules, claim, now)
    }

    /// The claims of a token whose signature holds, whatever they say; the other checks are for the caller to make.
    pub fn authentic<'s>(&self, token: &str, scratch: &'s mut Scratch) -> Result<Claims<'s>, JwtError> {
        let digest = digest::digest(&digest::SHA256, token.as_bytes());
        let key = digest.as_ref().first_chunk().copied().unwrap_or_default();
        let Cache { slots, workshop } = &mut scratch.tokens;
        let slot = slots.find_or_victim(&key, self.id);
        if !slot.holds(&key, self.id) {
            let claims = self.take_apart(token, workshop)?;
            slot.store(key, self.id, claims);
        }
        Ok(Claims(slot.claims()))
    }

    /// Everything about a token that does not depend on the time.
    fn take_apart(&self, token: &str, workshop: &mut Workshop) -> Result<StoredClaims, JwtError> {
        let mut parts = token.split('.');
        let (Some(header), Some(claims), Some(signature), None) =
            (parts.next(), parts.next(), parts.next(), parts.next())
        else {
            return Err(JwtError::Malformed);
        };
        decode(signature, &mut workshop.signature)?;
        let header = with_object(header, workshop, |tape| Header::read(tape, &self.jwks))?;
        let claims = with_object(claims, workshop, |tape| StoredClaims::read(tape, &self.rules))?;
        if !header.rs256 {
            return Err(JwtError::Algorithm);
        }
        if header.critical {
            return Err(JwtError::Malformed);
        }
        let key = header.key.ok_or(JwtError::Key)?;
        let signed = token.rsplit_once('.').map_or("", |(signed, _)| signed);
        if !self.jwks.verifies(key, signed.as_bytes(), &workshop.signature) {
            return Err(JwtError::Signature);
        }
        Ok(claims)
    }
}

/// What the header says, as far as it matters.
struct Header {
    rs256: bool,
    critical: bool,
    /// The number of the key in the JWKS.
    key: Option<usize>,
}

impl Header {
    fn read(tape: Tape<'_>, jwks: &Jwks) -> Self {
        let mut header = Self { rs256: false, critical: false, key: None };
        for (name, value) in members(tape) {
            match (name, value) {
                ("alg", Node::String(text)) => header.rs256 = *text == "RS256",
                ("kid", Node::String(text)) => header.key = jwks.position(text),
                ("crit", _) => header.critical = true,
                _ => {}
            }
        }
        header
    }
}

/// The members of the document's top level: name and value.
fn members(tape: Tape<'_>) -> impl Iterator<Item = (&str, &Node<'_>)> {
    numbered_members(tape).map(|(name, value, _)| (name, value))
}

/// As [`members`], with the value's place on the tape.
fn numbered_members(tape: Tape<'_>) -> impl Iterator<Item = (&str, &Node<'_>, usize)> {
    let nodes = tape.nodes();
    let mut at = 1;
    std::iter::from_fn(move || {
        let (Node::String(name), value) = (nodes.get(at)?, nodes.get(at + 1)?) else { return None };
        let place = at + 1;
        at = match value {
            Node::Object { count, .. } | Node::Array { count, .. } => place + count + 1,
            Node::String(_) | Node::Static(_) => place + 1,
        };
        Some((*name, value, place))
    })
}

/// Decodes a part and hands its tape to `read`, if it is an object without duplicate names and numbers beyond a double.
fn with_object<R>(
    part: &str,
    workshop: &mut Workshop,
    read: impl FnOnce(Tape<'_>) -> R,
) -> Result<R, JwtError> {
    let Workshop { parser, duplicates, decoded, .. } = workshop;
    decode(part, decoded)?;
    parser.parse(decoded, |tape| {
        let tape = tape.map_err(|_| JwtError::Malformed)?;
        let is_object = matches!(tape.nodes().first(), Some(Node::Object { .. }));
        if !is_object || first_duplicate(tape, duplicates).is_some() || tape.first_overflow().is_some() {
            return Err(JwtError::Malformed);
        }
        Ok(read(tape))
    })
}

/// Strict Base64url: no padding, no other letters, no stray bits in the last one.
fn decode(part: &str, into: &mut Vec<u8>) -> Result<(), JwtError> {
    into.clear();
    BASE64URL.decode_vec(part, into).map_err(|_| JwtError::Malformed)
}
