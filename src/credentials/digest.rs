//! What is derived by SHA-256 alone: agh's capability digest and direct-room id, identities and content tags that last, file
//! hashes.

use ring::digest::{Context, SHA256};
use sha2::block_api::compress256;
use twox_hash::XxHash3_64;

use super::canonical::{Buffers, capability as capability_form};
use super::mac::Mac;
use crate::tape::{Node, NodeIndex, Tape};

/// A whole SHA-256.
pub type Sha256 = [u8; 32];

/// What the replay window keeps of an identity: nobody can make two that share it.
pub type Identity = [u8; 16];

/// SHA-256 over joined pieces.
#[must_use]
pub fn sha256(pieces: &[&[u8]]) -> Sha256 {
    let mut context = Context::new(&SHA256);
    for piece in pieces {
        context.update(piece);
    }
    digest_of(context)
}

fn digest_of(context: Context) -> Sha256 {
    let mut digest = [0; 32];
    for (place, byte) in digest.iter_mut().zip(context.finish().as_ref()) {
        *place = *byte;
    }
    digest
}

/// Lower-case hexadecimal digits.
#[must_use]
pub fn hex(bytes: &[u8]) -> String {
    bytes.iter().flat_map(|byte| hex_digits(*byte)).map(char::from).collect()
}

fn hex_digits(byte: u8) -> [u8; 2] {
    [byte >> 4, byte & 0xF].map(|digit| if digit < 10 { b'0' + digit } else { b'a' + digit - 10 })
}

/// Whether a text is exactly these bytes in lower-case hexadecimal.
fn is_hex_of(text: &str, bytes: &[u8]) -> bool {
    text.len() == bytes.len() * 2 && text.bytes().eq(bytes.iter().flat_map(|byte| hex_digits(*byte)))
}

/// The 32 bytes that exactly 64 lower-case digits stand for.
///
/// PERF: two plain loops without a way out, so that both take many digits at a time.
pub(super) fn from_hex(text: &str) -> Option<Sha256> {
    let text: &[u8; 64] = text.as_bytes().try_into().ok()?;
    let (mut values, mut strays) = ([0; 64], 0);
    for (value, byte) in values.iter_mut().zip(text) {
        let (digit, letter) = (byte.wrapping_sub(b'0'), byte.wrapping_sub(b'a'));
        *value = if digit < 10 { digit } else { letter.wrapping_add(10) };
        strays |= u8::from(digit >= 10) & u8::from(letter >= 6);
    }
    let mut bytes = [0; 32];
    for (byte, [high, low]) in bytes.iter_mut().zip(values.as_chunks().0) {
        *byte = high << 4 | low;
    }
    (strays == 0).then_some(bytes)
}

/// Whether lower-case hexadecimal digits are the begin of these bytes.
pub(super) fn begins_in_hex(text: &str, bytes: &[u8]) -> bool {
    bytes.get(..text.len() / 2).is_some_and(|head| is_hex_of(text, head))
}

/// The first 128 bits of SHA-256 over the parts, each behind its length; so no two lists of parts are alike.
#[must_use]
pub fn identity(parts: &[&[u8]]) -> Identity {
    // PERF: the parts of nearly every identity fit here; lengths of four bytes let an id of 40 characters and the name of
    // its format fit into one block.
    let mut joined = [0; SHORT_ROOM];
    let hashed = join(parts, &mut joined).and_then(|len| short_sha256(joined, len)).unwrap_or_else(|| {
        let mut context = Context::new(&SHA256);
        for part in parts {
            context.update(&length_of(part));
            context.update(part);
        }
        digest_of(context)
    });
    hashed.first_chunk().copied().unwrap_or_default()
}

/// Two blocks of SHA-256.
pub(super) const SHORT_ROOM: usize = 128;

/// SHA-256 of the first bytes of a room that is zero behind them; `None` if they leave no room for the padding.
///
/// PERF: around a block or two, the calls and buffers of hash functions cost more than the blocks themselves; without
/// them, the hashes of one record overlap in the processor.
fn short_sha256(mut room: [u8; SHORT_ROOM], len: usize) -> Option<Sha256> {
    const START: [u32; 8] = [
        0x6a09_e667,
        0xbb67_ae85,
        0x3c6e_f372,
        0xa54f_f53a,
        0x510e_527f,
        0x9b05_688c,
        0x1f83_d9ab,
        0x5be0_cd19,
    ];
    const BLOCK: usize = 64;
    // FIPS 180-4, 5.1.1: a one, zeros, and the number of bits at the end of the last block.
    let end = (len + 9).next_multiple_of(BLOCK);
    *room.get_mut(..end)?.last_chunk_mut()? = (len as u64 * 8).to_be_bytes();
    *room.get_mut(len)? = 0x80;
    let mut state = START;
    compress256(&mut state, room.as_chunks().0.get(..end / BLOCK)?);
    let mut digest = [0; 32];
    for (place, word) in digest.as_chunks_mut().0.iter_mut().zip(state) {
        *place = word.to_be_bytes();
    }
    Some(digest)
}

/// LIMIT: no part is longer than a payload, which is far below 4 GiB.
fn length_of(part: &[u8]) -> [u8; 4] {
    (part.len() as u32).to_le_bytes()
}

/// Writes the parts and their lengths; `None` if there is not enough room.
pub(super) fn join(parts: &[&[u8]], room: &mut [u8]) -> Option<usize> {
    let mut at = 0;
    for part in parts {
        room.get_mut(at..at + 4)?.copy_from_slice(&length_of(part));
        room.get_mut(at + 4..at + 4 + part.len())?.copy_from_slice(part);
        at += 4 + part.len();
    }
    Some(at)
}

/// What tells two payloads with the same identity apart: 64 bits of a SHA-256. `mac` is the tag of a signature that covers
/// the whole envelope and has verified, if there is one.
///
/// Without it, the payload's bytes are hashed. A checksum would be cheaper, but whoever reuses an id could then make a
/// conflict look like an innocent copy.
///
/// PERF: with it, one block is hashed instead of a second pass over the payload: the tag, and a checksum of the payload
/// behind it. A tag is as good as a SHA-256 of the envelope's canonical form, also to those who know the key: two envelopes
/// with one tag would be a collision of SHA-256. What is left is one envelope in two spellings. The checksum tells these
/// apart, too; whoever finds two spellings with one checksum makes a copy look like a copy. The checksum is hashed with
/// the tag, not added to it: it can be steered, and could make up for the difference of two tags.
///
/// Which way is taken depends on the configuration and on nothing else that could differ between two copies: both are
/// judged by the same rules, and the tag that verified is part of the payload, not of the key that verified it.
#[must_use]
pub fn content_tag(payload: &[u8], mac: Option<&Mac>) -> u64 {
    let hashed = match mac {
        Some(mac) => {
            let checksum = XxHash3_64::oneshot(payload).to_le_bytes();
            let mut both = [0; SHORT_ROOM];
            let (tag, rest) = both.split_at_mut(mac.len());
            tag.copy_from_slice(mac);
            if let Some(place) = rest.first_chunk_mut() {
                *place = checksum;
            }
            short_sha256(both, mac.len() + checksum.len()).unwrap_or_else(|| sha256(&[mac, &checksum]))
        }
        None => sha256(&[payload]),
    };
    u64::from_le_bytes(hashed.first_chunk().copied().unwrap_or_default())
}

/// SHA-256 of an agh capability's fixed form.
#[must_use]
pub fn capability(tape: Tape<'_>, capability: NodeIndex, buffers: &mut Buffers) -> Sha256 {
    sha256(&[capability_form::capability(tape, capability, buffers)])
}

/// Whether the text of a capability's `digest`, trimmed, is `sha256:` and the digest of the capability around it.
#[must_use]
pub fn capability_fits(tape: Tape<'_>, node: NodeIndex, digest: &str, buffers: &mut Buffers) -> bool {
    digest
        .trim()
        .strip_prefix("sha256:")
        .is_some_and(|text| is_hex_of(text, &capability(tape, node, buffers)))
}

/// The first 16 bytes of the SHA-256 that names the direct room of two peers; texts are trimmed.
#[must_use]
pub fn direct_room(workspace_id: &str, channel: &str, one: &str, other: &str) -> Identity {
    let (one, other) = (one.trim().as_bytes(), other.trim().as_bytes());
    let (low, high) = if one <= other { (one, other) } else { (other, one) };
    let workspace_id = workspace_id.trim().as_bytes();
    let channel = channel.trim().as_bytes();
    let digest =
        sha256(&[b"agh-network/direct-room/v0\0", workspace_id, b"\0", channel, b"\0", low, b"\0", high]);
    digest.first_chunk().copied().unwrap_or_default()
}

/// The id of the direct room of two peers.
#[must_use]
pub fn direct_id(workspace_id: &str, channel: &str, one: &str, other: &str) -> String {
    format!("direct_{}", hex(&direct_room(workspace_id, channel, one, other)))
}

/// Whether a text is the id of that room.
#[must_use]
pub fn direct_id_fits(direct_id: &str, workspace_id: &str, channel: &str, one: &str, other: &str) -> bool {
    let room = direct_room(workspace_id, channel, one, other);
    direct_id.strip_prefix("direct_").is_some_and(|text| is_hex_of(text, &room))
}

/// A file's hash, written as `sha256:` and 64 lower-case digits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FileHash {
    /// Not of that form.
    Malformed,
    /// All digits are zeros: there was no file when it was written.
    Placeholder,
    /// What the digits say.
    Digest(Sha256),
}

impl FileHash {
    /// Whether a text is a placeholder. PERF: the last digit tells nearly all others.
    #[must_use]
    pub fn is_placeholder(text: &str) -> bool {
        text.ends_with('0')
            && text == "sha256:0000000000000000000000000000000000000000000000000000000000000000"
    }

    /// Reads the text.
    #[must_use]
    pub fn of(text: &str) -> Self {
        match text.strip_prefix("sha256:").and_then(from_hex) {
            None => Self::Malformed,
            Some(digest) if digest == [0; 32] => Self::Placeholder,
            Some(digest) => Self::Digest(digest),
        }
    }

    /// Whether this is the hash of a file with that SHA-256; a placeholder is no file's.
    #[must_use]
    pub fn fits(self, file: &Sha256) -> bool {
        matches!(self, Self::Digest(digest) if digest == *file)
    }
}

/// Whether a node is an object; most callers ask before they hash it.
#[must_use]
pub fn is_object(tape: Tape<'_>, node: NodeIndex) -> bool {
    matches!(tape.nodes().get(node.0 as usize), Some(Node::Object { .. }))
}
