//! Everything cryptographic of the formats: canonical bytes, MACs, tokens, proofs, digests and identities; with ring,
//! straight from the tape.
//!
//! | entry point | what it answers |
//! |---|---|
//! | [`mac::verify_olympus`], [`mac::sign_olympus`] | the MAC of an Olympus envelope, schemes v1 and v2 |
//! | [`mac::verify_alfred`], [`mac::sign_alfred`] | the MAC of an Alfred envelope |
//! | [`jwt::Verifier::verify`] | a compact JWS with RS256: its [`jwt::Claims`], from a cache if it was seen |
//! | [`proof::verify`] | the Ed25519 proof of an agh envelope |
//! | [`digest::capability`], [`digest::direct_id`] | what agh derives by SHA-256 |
//! | [`names::Names`] | what the replay window and the ledger keep of a record: identities and contents, for good or for one run |
//! | [`digest::FileHash`] | the text of an attachment's hash |
//! | [`canonical::jcs`], [`canonical::cpython`], [`canonical::whole`], [`canonical::whole_and_members`] | the canonical bytes themselves |
//! | [`keys::Secret`], [`keys::KeyRing`] | secrets from texts, files and the environment; several at a time |
//!
//! Functions take the tape, the payload that it was made from, nodes of it (a member is named by the node of its
//! **value**), and a [`Scratch`] that the caller keeps for all records. They allocate nothing once that is warm: a key or
//! token that was not seen before is remembered after it has verified, never before, so records cannot push others out.
//! Errors are small values; which reason they mean is for the formats to say. This module knows no configuration, no
//! format's rules beyond its signed bytes, and no Kafka.

pub mod canonical;
mod content;
pub mod digest;
pub mod jwt;
pub mod keys;
pub mod mac;
pub mod names;
pub mod proof;
#[cfg(test)]
mod tests;

pub use canonical::Unfit;

/// How much a [`Scratch`] remembers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// Derived keys, each of a few hundred bytes.
    pub keys_max: usize,
    /// Verified tokens, each of up to [`jwt::CACHED_CLAIMS_BYTES_MAX`] bytes.
    pub tokens_max: usize,
}

impl Default for Limits {
    fn default() -> Self {
        Self { keys_max: 1024, tokens_max: 1024 }
    }
}

/// Memory for all checks of this module, used again for every record; one per worker.
#[derive(Debug, Default)]
pub struct Scratch {
    /// For canonical forms.
    pub canonical: canonical::Buffers,
    pub(crate) levels: content::Levels,
    pub(crate) keys: keys::Cache,
    pub(crate) tokens: jwt::Cache,
}

impl Scratch {
    /// Scratch memory with other limits than the usual ones.
    #[must_use]
    pub fn new(limits: Limits) -> Self {
        Self {
            canonical: canonical::Buffers::default(),
            levels: content::Levels::default(),
            keys: keys::Cache::new(limits.keys_max),
            tokens: jwt::Cache::new(limits.tokens_max),
        }
    }
}
