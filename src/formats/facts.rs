//! What the gate needs to know of a record: small values of fixed size, so that the record itself stays with the worker.

use crate::clock::Timestamp;
use crate::credentials::digest::Identity;

/// What the window and the ledger need of one record.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Facts {
    /// What makes it the same message as another; `None` if nothing does.
    pub identity: Option<Identity>,
    /// What tells a repetition from another message under the same identity.
    pub content: u64,
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
        work: Identity,
        /// The message's id.
        message: Identity,
        /// The parent's id, unless it is a root.
        parent: Option<Identity>,
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
        mac: Option<Identity>,
    },
    /// agh: what a message does to the work that it names.
    Agh {
        /// Workspace and work id.
        work: Identity,
        /// Channel, surface and thread or room.
        container: Identity,
        /// Sender.
        from: Identity,
        /// Target, unless it is for everyone.
        to: Option<Identity>,
        /// What it does.
        step: WorkStep,
    },
    /// alfred: a request, or the answer to one.
    Alfred {
        /// Which of the two.
        side: Exchange,
        /// Tenant, and correlation id or, for a request without one, message id.
        request: Identity,
        /// Sender.
        source: Identity,
        /// Receiver.
        destination: Identity,
        /// The intent.
        intent: Identity,
        /// The trace id, where there is one.
        trace: Option<Identity>,
        /// When it was sent, by its own account.
        sent: Timestamp,
    },
    /// bluelabel: a retry is the same logical message with a higher count.
    Bluelabel {
        /// The logical identity.
        logical: Identity,
        /// The retry count; absent is 0.
        retry_count: u64,
    },
}

/// What a message of agh does to its work.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WorkStep {
    /// Opens, continues or resumes it (say, capability).
    Talk,
    /// Leaves it as it is (receipts that accept, or that refuse one message).
    Note,
    /// Says that it was submitted, which is never a legal step.
    Submit,
    /// Says that somebody works on it.
    Work,
    /// Asks for input.
    AskInput,
    /// Ends it well.
    Complete,
    /// Ends it badly.
    Fail,
    /// Calls it off.
    Cancel,
}

/// A side of an exchange of Alfred.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Exchange {
    /// A task request.
    Request,
    /// A task response.
    Response,
}
