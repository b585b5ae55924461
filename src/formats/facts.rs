//! What the gate needs to know of a record: small values of fixed size, so that the record itself stays with the worker.

use ring::digest::{Context, SHA256};

use crate::clock::Timestamp;

/// The first 128 bits of a SHA-256: nobody can construct two texts that share it.
pub type Digest128 = [u8; 16];

/// What the window and the ledger need of one record.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Facts {
    /// What makes it the same message as another; `None` if nothing does.
    pub identity: Option<Digest128>,
    /// What tells a repetition from another message under the same identity.
    pub content: Digest128,
    /// How long the identity must be remembered.
    pub keep_until: Timestamp,
    /// What the format's sequence rules need.
    pub lifecycle: Lifecycle,
}

/// What the sequence rules of a format need of one record.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Lifecycle {
    /// The format has no sequence rules.
    None,
    /// olympus: personas and message types by their place in the format's tables.
    Olympus {
        /// Session and correlation id: the work unit.
        work: Digest128,
        /// The message's id.
        message: Digest128,
        /// The parent's id, unless it is a root.
        parent: Option<Digest128>,
        /// Sender.
        source: u8,
        /// Receiver.
        target: u8,
        /// Message type.
        message_type: u8,
        /// `payload.feedback.cycle`, where there is one.
        cycle: Option<u8>,
        /// Whether `payload.partial` is true.
        partial: bool,
        /// The signature, if it is of scheme v1.
        mac: Option<Digest128>,
    },
    /// bluelabel: a retry is the same logical message with a higher count.
    Bluelabel {
        /// The logical identity.
        logical: Digest128,
        /// The retry count; absent is 0.
        retry_count: u64,
    },
}

/// Digests parts so that no two lists of parts share one: each part goes in with its length.
#[must_use]
pub(super) fn digest_of(parts: &[&[u8]]) -> Digest128 {
    let mut context = Context::new(&SHA256);
    for part in parts {
        context.update(&(part.len() as u64).to_be_bytes());
        context.update(part);
    }
    let mut digest = [0; 16];
    digest.iter_mut().zip(context.finish().as_ref()).for_each(|(to, from)| *to = *from);
    digest
}
