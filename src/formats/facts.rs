//! What the gate needs to know of a record: small values of fixed size, so that the record itself stays with the worker.

use crate::clock::Timestamp;
use crate::credentials::digest::Identity;
use crate::credentials::names::Names;

/// What is asked of a record that holds.
#[derive(Clone, Default)]
pub struct Asked {
    /// How what facts compare is named; in one run in one way.
    pub names: Names,
    /// Whose sequence rules are looked at.
    pub sequences: Sequences,
}

/// The families of sequence rules that somebody looks at: for the others, nothing is found out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[expect(clippy::struct_excessive_bools, reason = "one for each family, none of which tells of another")]
pub struct Sequences {
    /// olympus: parents.
    pub olympus_parents: bool,
    /// olympus: assignments, rounds, cancellations.
    pub olympus_sequence: bool,
    /// olympus: signatures of scheme v1 that come again.
    pub olympus_mac: bool,
    /// agh: the lifecycle of work.
    pub agh: bool,
    /// alfred: requests and responses.
    pub alfred: bool,
    /// bluelabel: retries.
    pub bluelabel: bool,
    /// humaninloop: iterations and files.
    pub humaninloop: bool,
}

impl Default for Sequences {
    fn default() -> Self {
        Self::ALL
    }
}

impl Sequences {
    /// All of them.
    pub const ALL: Self = Self {
        olympus_parents: true,
        olympus_sequence: true,
        olympus_mac: true,
        agh: true,
        alfred: true,
        bluelabel: true,
        humaninloop: true,
    };
    /// None of them.
    pub const NONE: Self = Self {
        olympus_parents: false,
        olympus_sequence: false,
        olympus_mac: false,
        agh: false,
        alfred: false,
        bluelabel: false,
        humaninloop: false,
    };
}

/// What the window and the ledger need of one record.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Facts {
    /// What makes it the same message as another; `None` if nothing does.
    pub identity: Option<Identity>,
    /// What tells a repetition from another message under the same identity.
    pub content: u64,
    /// The time that the record was judged by: the batch's, or its own; `None` if it has none either.
    pub now: Option<Timestamp>,
    /// How long the identity must be remembered; since the epoch, where there is no `now`.
    pub keep_until: Timestamp,
    /// Whether the record asked to be remembered for longer than anything is.
    pub capped: bool,
    /// Whether the identity is used up even if the sequence rules refuse the record.
    pub burns: bool,
    /// What the format's sequence rules need.
    pub lifecycle: Lifecycle,
}

/// What the sequence rules of a format need of one record.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Lifecycle {
    /// The format has no sequence rules, none for this record, or none that are asked for.
    None,
    /// The record is accepted and changes nothing.
    Ignored,
    /// olympus: a message of a work unit.
    Olympus(OlympusMessage),
    /// agh: what a message does to the work that it names.
    Agh(AghMessage),
    /// alfred: a request, or the answer to one.
    Alfred(AlfredMessage),
    /// bluelabel: a retry is the same logical message with a higher count.
    Bluelabel {
        /// The logical identity.
        logical: Identity,
        /// The retry count; absent is 0.
        retry_count: u64,
    },
    /// humaninloop: an input of one iteration.
    Humaninloop {
        /// The record's key, feature and workflow.
        run: Identity,
        /// Which iteration.
        iteration: u32,
    },
    /// humaninloop: an output writes files.
    HumaninloopFiles([Option<WrittenFile>; WRITTEN_FILES_MAX]),
}

/// LIMIT: files of one output that are looked at.
pub const WRITTEN_FILES_MAX: usize = 4;

/// A file that an output of humaninloop writes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct WrittenFile {
    /// The record's key and the path.
    pub file: Identity,
    /// What tells its contents apart; never 0.
    pub content: u32,
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
    /// Says nothing of it that is known: a receipt or trace whose status or state is absent or of nobody's list.
    Unclear,
}

/// A side of an exchange of Alfred.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Exchange {
    /// A task request.
    Request,
    /// A task response.
    Response,
}

/// A message of olympus; personas by their place in the format's tables.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct OlympusMessage {
    /// Session and correlation id: the work unit; zero where only signatures are asked for.
    pub work: Identity,
    /// Where it stands in its work, if parents are asked for.
    pub lineage: Option<Lineage>,
    /// Sender.
    pub source: u8,
    /// Receiver.
    pub target: u8,
    /// Whether the sender judges the work of others, and which of the two it is.
    pub evaluator: Option<Evaluator>,
    /// Whether the sender is the one who hands work out again.
    pub by_tech_lead: bool,
    /// Message type.
    pub message_type: OlympusType,
    /// `payload.feedback.cycle`, where there is one.
    pub cycle: Option<u8>,
    /// Whether `payload.partial` is true.
    pub partial: bool,
    /// The signature, if it is of scheme v1 and asked for.
    pub mac: Option<Identity>,
}

/// Where a message of olympus stands in its work.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Lineage {
    /// The message's name within its work.
    pub message: Identity,
    /// The parent's, unless it is a root.
    pub parent: Option<Identity>,
}

impl OlympusMessage {
    /// The name of a message within its work: a parent of another work is not found under it.
    #[must_use]
    pub fn name(names: &Names, work: Identity, message: Identity) -> Identity {
        names.identity(&[&work, &message])
    }
}

/// Those who judge the work of others (olympus).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Evaluator {
    /// The validation tester.
    Tests,
    /// The documentation reviewer.
    Documents,
}

/// The message types of olympus, in the order of its table.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OlympusType {
    /// Hands work out.
    Assign,
    /// Tells how it goes.
    Status,
    /// Hands work in.
    Result,
    /// Asks for changes.
    Feedback,
    /// Asks somebody above.
    Escalate,
    /// Lets it pass.
    Approve,
    /// Stops it.
    Block,
    /// Calls it off.
    Cancel,
    /// Looks on.
    Watch,
}

impl OlympusType {
    /// Every type.
    pub const ALL: [Self; 9] = [
        Self::Assign,
        Self::Status,
        Self::Result,
        Self::Feedback,
        Self::Escalate,
        Self::Approve,
        Self::Block,
        Self::Cancel,
        Self::Watch,
    ];
}

/// What a message of agh does to the work that it names.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct AghMessage {
    /// Workspace and work id.
    pub work: Identity,
    /// Channel, surface and thread or room.
    pub container: Identity,
    /// Sender.
    pub from: Identity,
    /// Target, unless it is for everyone.
    pub to: Option<Identity>,
    /// What it does.
    pub step: WorkStep,
}

/// A request of Alfred, or the answer to one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct AlfredMessage {
    /// Which of the two.
    pub side: Exchange,
    /// Tenant, and correlation id or, for a request without one, message id.
    pub request: Identity,
    /// Sender.
    pub source: Identity,
    /// Receiver.
    pub destination: Identity,
    /// The intent.
    pub intent: Identity,
    /// The trace id, where there is one.
    pub trace: Option<Identity>,
    /// When it was sent, by its own account.
    pub sent: Timestamp,
}
