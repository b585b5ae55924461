//! What proves that an audit saw what it says: a chain per input over position, content and verdict of every record.
//!
//! The chain of an input is the SHA-256 over one entry for each of its records, in their order: position (line or
//! offset) and XXH3-128 of the payload, little-endian, and the number of the reason (0: accepted). The content itself
//! is under a SHA-256 of its own: of the file as it is stored, or of a partition's payloads, each behind its length
//! (2^64−1 for a record without one). All of it depends on the records alone, so the same audit gives the same digests
//! with any number of workers.

use ring::digest::{Context, SHA256};

use crate::credentials::digest::hex;
use crate::judge::Payload;
use crate::verdict::Verdict;

/// The chain of one input.
pub struct Chain {
    entries: Context,
    /// For partitions; files are hashed by their reader.
    content: Option<Context>,
    buffer: Vec<u8>,
}

/// PERF: entries are hashed some at a time, since a call costs as much as hashing one.
const BUFFER_BYTES: usize = 25 * 64;

impl Chain {
    /// An empty chain; `of_content` if the payloads are hashed here, too.
    #[must_use]
    pub fn new(of_content: bool) -> Self {
        Self {
            entries: Context::new(&SHA256),
            content: of_content.then(|| Context::new(&SHA256)),
            buffer: Vec::with_capacity(BUFFER_BYTES),
        }
    }

    /// Adds a record.
    pub fn add(&mut self, position: u64, payload: Payload<'_>, content: u128, verdict: Verdict) {
        self.buffer.extend_from_slice(&position.to_le_bytes());
        self.buffer.extend_from_slice(&content.to_le_bytes());
        self.buffer.push(verdict.reason.map_or(0, |reason| reason as u8));
        if self.buffer.len() >= BUFFER_BYTES {
            self.entries.update(&self.buffer);
            self.buffer.clear();
        }
        if let Some(context) = &mut self.content {
            let (len, bytes) = match payload {
                Payload::Bytes(bytes) => (bytes.len() as u64, bytes),
                Payload::Tombstone | Payload::Oversized => (u64::MAX, [].as_slice()),
            };
            context.update(&len.to_le_bytes());
            context.update(bytes);
        }
    }

    /// The chain's digest, and that of the content.
    #[must_use]
    pub fn finish(&self) -> (String, Option<String>) {
        let mut entries = self.entries.clone();
        entries.update(&self.buffer);
        let content = self.content.clone().map(|context| hex(context.finish().as_ref()));
        (hex(entries.finish().as_ref()), content)
    }
}

/// One digest of all chains, in the order of the inputs.
#[must_use]
pub fn digest_of<'d>(chains: impl Iterator<Item = &'d str>) -> String {
    let mut all = Context::new(&SHA256);
    for chain in chains {
        all.update(chain.as_bytes());
        all.update(b"\n");
    }
    hex(all.finish().as_ref())
}
