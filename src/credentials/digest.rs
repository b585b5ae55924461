//! What is derived by SHA-256 alone: agh's capability digest and direct-room id, identities, content tags, file hashes.

use ring::digest::{self, Context, SHA256};

use super::canonical::{self, Buffers, Unfit, capability as capability_form};
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

/// Whether lower-case hexadecimal digits are the begin of these bytes.
pub(super) fn begins_in_hex(text: &str, bytes: &[u8]) -> bool {
    bytes.get(..text.len() / 2).is_some_and(|head| is_hex_of(text, head))
}

/// The first 128 bits of SHA-256 over the parts, each behind its length; so no two lists of parts are alike.
#[must_use]
pub fn identity(parts: &[&[u8]]) -> Identity {
    // PERF: the parts of nearly every identity fit here, and SHA-256 is then one call; lengths of four bytes let an id
    // of 40 characters and the name of its format fit into one block.
    let mut joined = [0_u8; 256];
    let hashed = if let Some(joined) = join(parts, &mut joined).and_then(|len| joined.get(..len)) {
        digest::digest(&SHA256, joined)
    } else {
        let mut context = Context::new(&SHA256);
        for part in parts {
            context.update(&length_of(part));
            context.update(part);
        }
        context.finish()
    };
    hashed.as_ref().first_chunk().copied().unwrap_or_default()
}

/// LIMIT: no part is longer than a payload, which is far below 4 GiB.
fn length_of(part: &[u8]) -> [u8; 4] {
    (part.len() as u32).to_le_bytes()
}

/// Writes the parts and their lengths; `None` if there is not enough room.
fn join(parts: &[&[u8]], room: &mut [u8]) -> Option<usize> {
    let mut at = 0;
    for part in parts {
        room.get_mut(at..at + 4)?.copy_from_slice(&length_of(part));
        room.get_mut(at + 4..at + 4 + part.len())?.copy_from_slice(part);
        at += 4 + part.len();
    }
    Some(at)
}

/// What tells two payloads with the same identity apart: 64 bits of the SHA-256 of their bytes.
///
/// A checksum would be cheaper, but whoever reuses an id could then make a conflict look like an innocent copy.
#[must_use]
pub fn content_tag(payload: &[u8]) -> u64 {
    u64::from_le_bytes(digest::digest(&SHA256, payload).as_ref().first_chunk().copied().unwrap_or_default())
}

/// SHA-256 of an envelope's RFC 8785 form: the delivery id of Bluelabel, and humaninloop's content.
pub fn delivery(tape: Tape<'_>, payload: &[u8], buffers: &mut Buffers) -> Result<Sha256, Unfit> {
    Ok(sha256(&canonical::jcs(tape, payload, NodeIndex(0), None, buffers)?.pieces()))
}

/// The members that make Bluelabel's logical id, in the order of RFC 8785.
const LOGICAL: [&str; 6] = ["payload", "recipient_id", "sender_id", "task_id", "trace_id", "type"];

/// The logical id of Bluelabel: SHA-256 of the RFC 8785 form of six members; absent ones are left out.
pub fn logical(tape: Tape<'_>, payload: &[u8], buffers: &mut Buffers) -> Result<Sha256, Unfit> {
    buffers.out.clear();
    let values = LOGICAL.map(|name| canonical::member(tape, NodeIndex(0), name));
    buffers.out.push(b'{');
    for (name, value) in LOGICAL.iter().zip(values) {
        let Some(value) = value else { continue };
        if buffers.out.len() > 1 {
            buffers.out.push(b',');
        }
        buffers.out.push(b'"');
        buffers.out.extend_from_slice(name.as_bytes());
        buffers.out.extend_from_slice(b"\":");
        canonical::append_jcs(tape, payload, value, None, buffers)?;
    }
    buffers.out.push(b'}');
    Ok(sha256(&[&buffers.out]))
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

/// The text of a file's hash, `sha256:` and 64 lower-case digits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FileHash<'a> {
    /// Not of that form.
    Malformed,
    /// All digits are zeros: there was no file when it was written.
    Placeholder,
    /// The digits.
    Digits(&'a str),
}

impl<'a> FileHash<'a> {
    /// Reads the text.
    #[must_use]
    pub fn of(text: &'a str) -> Self {
        let digits = text.strip_prefix("sha256:").filter(|digits| {
            // PERF: without an early end the compiler looks at many digits at once.
            let outside = |digit: u8| !matches!(digit, b'0'..=b'9' | b'a'..=b'f');
            digits.len() == 64 && !digits.bytes().fold(false, |bad, digit| bad | outside(digit))
        });
        match digits {
            None => Self::Malformed,
            Some(digits) if digits.bytes().all(|digit| digit == b'0') => Self::Placeholder,
            Some(digits) => Self::Digits(digits),
        }
    }

    /// Whether this is the hash of a file with that SHA-256; a placeholder is no file's.
    #[must_use]
    pub fn fits(self, file: &Sha256) -> bool {
        matches!(self, Self::Digits(digits) if is_hex_of(digits, file))
    }
}

/// Whether a node is an object; most callers ask before they hash it.
#[must_use]
pub fn is_object(tape: Tape<'_>, node: NodeIndex) -> bool {
    matches!(tape.nodes().get(node.0 as usize), Some(Node::Object { .. }))
}
