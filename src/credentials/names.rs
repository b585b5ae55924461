//! Names of what is compared with what came before: identities of records and of the work they belong to, and what tells
//! two contents apart.
//!
//! Names that are kept are of SHA-256, so nobody can make two that are the same. Names that nobody reads once the run has
//! ended are XXH3 under secrets of that run, for a tenth of the time; of documents, sums of such hashes. Lists of long parts,
//! which are rare, are SHA-256 there, too. This file must not know what is named.

use std::hash::{BuildHasher as _, RandomState};

use twox_hash::XxHash3_64;

use super::canonical::{self, OnePiece};
use super::digest::{self, Identity, Sha256};
use super::mac::Mac;
use super::{Scratch, content};
use crate::tape::Tape;

/// How names are made. Only names that were made in the same way can be compared.
#[derive(Clone, Default)]
pub enum Names {
    /// They may be kept, and compared with those of other runs.
    #[default]
    Lasting,
    /// They are compared with each other, and forgotten with the run.
    OfRun(RunSecret),
}

/// The secret of one run: two, so that a name is two hashes that have nothing to do with each other.
///
/// Texts can be made of which one pair in 2^32 has one hash of 64 bits, whatever the secret, and a million texts are 2^39
/// pairs. Under two secrets it is one pair in 2^64.
///
/// PERF: a name takes 3 to 7 ns for what an identity is made of and 47 for 1.3 KB, SHA-256 52 to 73 and 626 (AMD EPYC, with
/// instructions for SHA-256).
#[derive(Clone)]
pub struct RunSecret(Box<Secrets>);

#[derive(Clone)]
struct Secrets {
    hashes: [Secret; 2],
    contents: content::Keys,
}

/// What one hash is made under.
#[derive(Clone, Copy)]
struct Secret {
    /// As long as the one that XXH3 has when it is given none.
    bytes: [u8; 192],
    /// What a text's length is multiplied by: pairs of different lengths between 4 and 8 bytes can be made of which XXH3 alone gives one
    /// hash to one in 2^25, whatever the secret.
    length: u64,
}

/// Longer texts are hashed by products of 32 bits, and so are of the kind that [`RunSecret`] tells about.
const WELL_HASHED_BYTES_MAX: usize = 240;

/// What stands for a content.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ContentName {
    /// Its SHA-256.
    Lasting(Sha256),
    /// Its name within the run.
    OfRun(Identity),
}

impl ContentName {
    /// What an identity is made of that is a content's.
    #[must_use]
    pub fn bytes(&self) -> &[u8] {
        match self {
            Self::Lasting(name) => name,
            Self::OfRun(name) => name,
        }
    }

    /// What tells the content from others under the same identity.
    #[must_use]
    pub fn tag(&self) -> u64 {
        u64::from_le_bytes(self.bytes().first_chunk().copied().unwrap_or_default())
    }
}

impl Names {
    /// Names of one run, under new secrets.
    #[must_use]
    pub fn of_new_run() -> Self {
        let random = || RandomState::new().hash_one(0_u64);
        let secret = || {
            let mut bytes = [0; 192];
            for word in bytes.as_chunks_mut().0 {
                *word = random().to_le_bytes();
            }
            Secret { bytes, length: random() }
        };
        let secrets = Secrets { hashes: [secret(), secret()], contents: content::Keys::new(random) };
        Self::OfRun(RunSecret(Box::new(secrets)))
    }

    /// The identity of what has these parts; no two lists of parts are alike.
    #[inline]
    #[must_use]
    pub fn identity(&self, parts: &[&[u8]]) -> Identity {
        let Self::OfRun(secret) = self else { return digest::identity(parts) };
        let mut joined = [0; digest::SHORT_ROOM];
        match digest::join(parts, &mut joined).and_then(|len| joined.get(..len)) {
            Some(joined) => secret.name(joined),
            None => digest::identity(parts),
        }
    }

    /// What tells two payloads with the same identity apart; see [`digest::content_tag`].
    #[must_use]
    pub fn payload_tag(&self, payload: &[u8], mac: Option<&Mac>) -> u64 {
        match self {
            Self::Lasting => digest::content_tag(payload, mac),
            Self::OfRun(secret) => secret.tag(payload),
        }
    }

    /// The name of what a document says: documents have the same name if they have the same RFC 8785 form, and none if they
    /// have none.
    #[must_use]
    pub fn document(&self, tape: Tape<'_>, payload: &[u8], scratch: &mut Scratch) -> Option<ContentName> {
        match self {
            Self::Lasting => lasting(canonical::whole(tape, payload, &mut scratch.canonical)),
            Self::OfRun(secret) => {
                let [whole, _] = content::names(tape, &[], secret, &mut scratch.levels);
                whole.map(ContentName::OfRun)
            }
        }
    }

    /// The same of a document that is an object, and of those of its `members` that are there.
    ///
    /// `members` are names without escapes, in the order of RFC 8785.
    #[must_use]
    pub fn document_and_members(
        &self,
        tape: Tape<'_>,
        payload: &[u8],
        members: &[&str],
        scratch: &mut Scratch,
    ) -> [Option<ContentName>; 2] {
        match self {
            Self::Lasting => {
                let (whole, some) =
                    canonical::whole_and_members(tape, payload, members, &mut scratch.canonical);
                [lasting(whole), lasting(some)]
            }
            Self::OfRun(secret) => {
                let names = content::names(tape, members, secret, &mut scratch.levels);
                names.map(|name| name.map(ContentName::OfRun))
            }
        }
    }
}

fn lasting(form: OnePiece<'_>) -> Option<ContentName> {
    form.ok().map(|form| ContentName::Lasting(digest::sha256(&[form])))
}

impl RunSecret {
    fn name(&self, text: &[u8]) -> Identity {
        let [high, low] = self.both(text);
        (u128::from(high) << 64 | u128::from(low)).to_le_bytes()
    }

    /// A tag is compared under one identity only, so of pairs that differ there is one for each record; the window keeps 32
    /// bits of it.
    fn tag(&self, text: &[u8]) -> u64 {
        let [secret, _] = &self.0.hashes;
        hash(secret, text)
    }

    /// Two hashes that have nothing to do with each other.
    pub(super) fn both(&self, text: &[u8]) -> [u64; 2] {
        self.0.hashes.each_ref().map(|secret| hash(secret, text))
    }

    /// One number of 64 bits, for texts that are compared with few others.
    pub(super) fn short(&self, text: &[u8]) -> u64 {
        let [one, other] = &self.0.hashes;
        if text.len() > WELL_HASHED_BYTES_MAX { hash(one, text) ^ hash(other, text) } else { hash(one, text) }
    }

    pub(super) fn keys(&self) -> &content::Keys {
        &self.0.contents
    }
}

/// The secret is long enough, so this is never SHA-256; if it were, names would still be names.
fn hash(secret: &Secret, text: &[u8]) -> u64 {
    let hash = XxHash3_64::oneshot_with_secret(&secret.bytes, text);
    let hash = hash.unwrap_or_else(|_| digest::content_tag(text, None));
    hash.wrapping_add(secret.length.wrapping_mul(text.len() as u64))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Under a secret of zeros, stripes of 64 bytes may change places.
    #[test]
    fn texts_that_agree_under_one_secret_have_two_names() {
        let Names::OfRun(RunSecret(secrets)) = Names::of_new_run() else { panic!("they are of a run") };
        let (zeros, random) = (Secret { bytes: [0; 192], length: 0 }, secrets.hashes[0]);
        let text = |stripes: [u8; 10]| stripes.map(|stripe| [stripe; 64]).concat();
        let (one, other) = (text(*b"0123456789"), text(*b"0213456789"));
        assert_eq!(hash(&zeros, &one), hash(&zeros, &other));
        assert_ne!(secrets.hashes[0].bytes, secrets.hashes[1].bytes);
        assert_ne!(secrets.hashes[0].length, secrets.hashes[1].length);
        for hashes in [[zeros, random], [random, zeros]] {
            let secret = RunSecret(Box::new(Secrets { hashes, ..(*secrets).clone() }));
            assert_ne!(secret.name(&one), secret.name(&other));
            assert_ne!(secret.short(&one), secret.short(&other));
        }
    }

    /// Of texts of 4 to 8 bytes, XXH3 alone mixes the length in so late that some of different lengths come together.
    #[test]
    fn lengths_are_told_apart_under_a_secret() {
        let Names::OfRun(RunSecret(secrets)) = Names::of_new_run() else { panic!("they are of a run") };
        let [one, _] = secrets.hashes;
        let without = Secret { length: 0, ..one };
        for len in [0, 1, 4, 5, 8, 300] {
            let text = [b'x'; 300];
            let expected = hash(&without, &text[..len]).wrapping_add(one.length.wrapping_mul(len as u64));
            assert_eq!(hash(&one, &text[..len]), expected);
        }
    }
}
