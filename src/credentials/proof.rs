//! The proof of an agh envelope: an Ed25519 signature over the RFC 8785 form of everything but itself.

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD as BASE64URL;
use ring::signature::{ED25519, UnparsedPublicKey};

use super::canonical::{self, Buffers};
use super::digest::{self, is_object, sha256};
use crate::tape::{Node, NodeIndex, Tape};

/// The one profile that is verified.
const PROFILE: &str = "agh-network.trust.ed25519-jcs/v1";
const PUBLIC_KEY_BYTES: usize = 32;
const SIGNATURE_BYTES: usize = 64;
/// Hexadecimal digits of a fingerprint in a handle.
const FINGERPRINT_DIGITS: usize = 32;
/// The longest nickname in a handle.
const NICKNAME_BYTES_MAX: usize = 32;

/// What a proof shows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Trust {
    /// The sender holds the key that its handle names.
    Verified,
    /// There is no proof, and the sender claims none.
    Unverified,
    /// A proof of a profile that is not known here; the envelope counts as unverified.
    UnknownProfile,
    /// `proof` is neither an object nor null.
    NotAnObject,
    /// The proof does not hold.
    Rejected(ProofError),
}

/// What is wrong with a proof, in the order of the checks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ProofError {
    /// The sender's handle has a fingerprint, but there is no proof: it was stripped.
    Stripped,
    /// `profile` is absent or no text.
    Profile,
    /// `alg` is not `Ed25519`.
    Algorithm,
    /// `pubkey` is not the Base64url of 32 bytes.
    PublicKey,
    /// `key_id` is not the key's SHA-256.
    KeyId,
    /// `from` is not a nickname and a fingerprint.
    Handle,
    /// The fingerprint is another key's.
    Fingerprint,
    /// `sig` is not the Base64url of 64 bytes.
    SignatureForm,
    /// The envelope has no canonical form.
    Unfit,
    /// The signature does not verify.
    Signature,
}

/// Verifies the proof of the envelope on the tape; `from` is its sender, `proof` the node of the member's value.
#[must_use]
pub fn verify(
    tape: Tape<'_>,
    payload: &[u8],
    from: &str,
    proof: Option<NodeIndex>,
    buffers: &mut Buffers,
) -> Trust {
    let node = proof.and_then(|proof| tape.nodes().get(proof.0 as usize).map(|node| (proof, *node)));
    let proof = match node {
        None | Some((_, Node::Static(crate::tape::StaticNode::Null))) => {
            return if from.contains('@') {
                Trust::Rejected(ProofError::Stripped)
            } else {
                Trust::Unverified
            };
        }
        Some((proof, _)) if is_object(tape, proof) => proof,
        Some(_) => return Trust::NotAnObject,
    };
    match text(tape, proof, "profile") {
        None => Trust::Rejected(ProofError::Profile),
        Some((profile, _)) if profile != PROFILE => Trust::UnknownProfile,
        Some(_) => match check(tape, payload, from, proof, buffers) {
            Ok(()) => Trust::Verified,
            Err(error) => Trust::Rejected(error),
        },
    }
}

fn check(
    tape: Tape<'_>,
    payload: &[u8],
    from: &str,
    proof: NodeIndex,
    buffers: &mut Buffers,
) -> Result<(), ProofError> {
    if text(tape, proof, "alg").is_none_or(|(alg, _)| alg != "Ed25519") {
        return Err(ProofError::Algorithm);
    }
    let public_key: [u8; PUBLIC_KEY_BYTES] =
        text(tape, proof, "pubkey").and_then(|(text, _)| decode(text)).ok_or(ProofError::PublicKey)?;
    let key_digest = sha256(&[&public_key]);
    let key_id = text(tape, proof, "key_id").map(|(text, _)| digest::FileHash::of(text));
    if !key_id.is_some_and(|key_id| key_id.fits(&key_digest)) {
        return Err(ProofError::KeyId);
    }
    let (nickname, fingerprint) = from.split_once('@').ok_or(ProofError::Handle)?;
    let is_nickname = |byte: u8| matches!(byte, b'a'..=b'z' | b'0'..=b'9' | b'_' | b'-');
    if !(1..=NICKNAME_BYTES_MAX).contains(&nickname.len())
        || !nickname.bytes().all(is_nickname)
        || fingerprint.len() != FINGERPRINT_DIGITS
        || !fingerprint.bytes().all(|digit| matches!(digit, b'0'..=b'9' | b'a'..=b'f'))
    {
        return Err(ProofError::Handle);
    }
    if !digest::begins_in_hex(fingerprint, &key_digest) {
        return Err(ProofError::Fingerprint);
    }
    let (sig, sig_node) = text(tape, proof, "sig").ok_or(ProofError::SignatureForm)?;
    let signature: [u8; SIGNATURE_BYTES] = decode(sig).ok_or(ProofError::SignatureForm)?;
    // ring wants one stretch of bytes, so the form is written even where the payload has it.
    buffers.out.clear();
    canonical::append_jcs(tape, payload, NodeIndex(0), Some(sig_node), buffers)
        .map_err(|_| ProofError::Unfit)?;
    let key = UnparsedPublicKey::new(&ED25519, public_key);
    key.verify(&buffers.out, &signature).map_err(|_| ProofError::Signature)
}

/// A member of the proof that is a text, and its node.
fn text<'a>(tape: Tape<'a>, proof: NodeIndex, name: &str) -> Option<(&'a str, NodeIndex)> {
    let node = canonical::member(tape, proof, name)?;
    match tape.nodes().get(node.0 as usize)? {
        Node::String(text) => Some((text, node)),
        _ => None,
    }
}

/// Strict Base64url of exactly so many bytes.
fn decode<const BYTES: usize>(text: &str) -> Option<[u8; BYTES]> {
    if text.len() != (BYTES * 4).div_ceil(3) {
        return None;
    }
    let mut bytes = [0; BYTES];
    let len = BASE64URL.decode_slice(text, &mut bytes).ok()?;
    (len == BYTES).then_some(bytes)
}
