//! What travels: a batch of records of one partition, and what was decided about each.

use std::ops::Range;
use std::sync::Arc;
use std::time::Instant;

use crate::clock::Timestamp;
use crate::files;
use crate::formats::labels::Labels;
use crate::formats::{Binding, Facts, Headers};
use crate::judge::Payload;
use crate::kafka;
use crate::tape::NodeIndex;
use crate::verdict::{Reason, Verdict};

use super::budget::{Lists, Permit};
use super::edition::Edition;
use super::kafka_ends::Flight;
use super::shadow::Judged;
use super::trace::Trace;

/// How many records before its payload a message's own memory is fetched.
const LINES_AHEAD: usize = 4;

/// A partition of the source: a Kafka partition or a file, numbered by the source.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Partition(pub u64);

/// The payloads of a batch, in the very memory they were received in.
pub enum Payloads {
    /// Records of a file: slices of one block.
    Block(files::Block),
    /// Records of a Kafka partition.
    Messages {
        /// In the order of their offsets; never empty.
        messages: Vec<kafka::Message>,
        /// Counts the batch as in flight.
        flight: Flight,
    },
    /// Records of a range of a Kafka partition, which nobody commits; in the order of their offsets, never empty.
    Range(Vec<kafka::Message>),
}

impl Payloads {
    /// The messages, where they come from Kafka.
    #[must_use]
    pub fn messages(&self) -> &[kafka::Message] {
        match self {
            Self::Block(_) => &[],
            Self::Messages { messages, .. } | Self::Range(messages) => messages,
        }
    }

    /// The place of record `index` in its partition.
    #[must_use]
    pub fn offset(&self, index: usize) -> i64 {
        match self {
            Self::Block(block) => (block.first_record as usize + index) as i64,
            _ => self.messages().get(index).map_or(0, kafka::Message::offset),
        }
    }

    /// The records' places in their partition: from the first up to the one behind the last.
    #[must_use]
    pub fn offsets(&self) -> Range<i64> {
        match self.len() {
            0 => 0..0,
            len => self.offset(0)..self.offset(len - 1) + 1,
        }
    }

    /// How many records there are.
    #[must_use]
    pub fn len(&self) -> usize {
        match self {
            Self::Block(block) => block.spans.len(),
            _ => self.messages().len(),
        }
    }

    /// Whether there are none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Record `next` is judged soon, and those behind it later: has their memory fetched.
    pub fn expect(&self, next: usize) {
        let messages = self.messages();
        if let Some(message) = messages.get(next + LINES_AHEAD) {
            message.expect();
        }
        if let Some(message) = messages.get(next) {
            message.expect_payload();
        }
    }

    /// Whether the outputs take every record, as far as can be told without looking at each.
    #[must_use]
    pub fn are_taken(&self, now_ms: i64) -> bool {
        match self {
            Self::Messages { flight, .. } => flight.takes_all(now_ms),
            Self::Block(_) | Self::Range(_) => true,
        }
    }

    /// Whether the output that record `place` goes to would not take it.
    #[must_use]
    pub fn is_refused(&self, place: usize, is_accept: bool, now_ms: i64) -> bool {
        let Self::Messages { messages, flight } = self else { return false };
        messages.get(place).is_some_and(|message| flight.refuses(message, is_accept, now_ms))
    }

    /// The key of record `index`, if it has one.
    #[must_use]
    pub fn key(&self, index: usize) -> Option<&[u8]> {
        self.messages().get(index).and_then(kafka::Message::key)
    }

    /// Where record `index` stands in its partition: its offset, or its line in a file.
    #[must_use]
    pub fn place(&self, index: usize) -> u64 {
        match self {
            Self::Block(block) => block.spans.get(index).map_or(0, |span| span.line),
            _ => u64::try_from(self.offset(index)).unwrap_or(0),
        }
    }

    /// The headers of record `index`, where the source has headers.
    #[must_use]
    pub fn headers(&self, index: usize) -> Option<&dyn Headers> {
        match self {
            Self::Block(_) | Self::Range(_) => None,
            Self::Messages { messages, .. } => messages.get(index).map(|message| message as &dyn Headers),
        }
    }

    /// The payload of record `index`.
    #[must_use]
    pub fn payload(&self, index: usize) -> Payload<'_> {
        match self {
            Self::Block(block) => match block.spans.get(index) {
                Some(span) if span.oversized.is_some() => Payload::Oversized,
                Some(span) => Payload::Bytes(block.payload(span)),
                None => Payload::Tombstone,
            },
            _ => self
                .messages()
                .get(index)
                .and_then(kafka::Message::payload)
                .map_or(Payload::Tombstone, Payload::Bytes),
        }
    }
}

impl Headers for kafka::Message {
    fn each(&self, name: &str, then: &mut dyn FnMut(&[u8])) {
        self.headers(|found, value| {
            if let Some(value) = value.filter(|_| found == name.as_bytes()) {
                then(value);
            }
        });
    }
}

/// What was decided about one record.
#[derive(Clone, Copy, Debug)]
pub struct Outcome {
    /// The verdict.
    pub verdict: Verdict,
    /// Where the pointer of a reject stands in the batch's `pointers`.
    pub pointer: (u32, u32),
}

impl Outcome {
    /// Nothing was decided yet.
    pub const NONE: Self = Self {
        verdict: Verdict {
            reason: Some(Reason::Internal),
            format: None,
            at: NodeIndex(0),
            unchecked: false,
            ignored: false,
            warned: None,
        },
        pointer: (0, 0),
    };
}

/// What a batch changed in the state, for the journal.
#[derive(Debug)]
pub struct Told {
    /// The entries; empty if nothing changed.
    pub body: Vec<u8>,
    /// When the last of them may be forgotten, in seconds.
    pub expiry_max: u32,
    /// Up to this second the state may forget.
    pub dead: u32,
    /// Source offsets, from the first up to the one behind the last.
    pub first: i64,
    /// The source offset behind the last record.
    pub next: i64,
}

/// A batch on its way.
pub struct Batch {
    /// Running number in the reader's order; the gate restores it.
    pub number: u64,
    /// Whose records these are.
    pub partition: Partition,
    /// The partition's epoch when they were read.
    pub epoch: u32,
    /// How their format is found.
    pub binding: Binding,
    /// What they are judged by.
    pub rules: Arc<Edition>,
    /// The time they are judged at; `None` means each envelope's own time.
    pub now: Option<Timestamp>,
    /// When they were read.
    pub read_at: Instant,
    /// When the last stage was done with them.
    pub since: Instant,
    /// The records.
    pub payloads: Payloads,
    /// Bytes of all payloads, from the worker.
    pub payload_bytes: u64,
    /// The key of records that have none of their own.
    pub key: Option<Arc<[u8]>>,
    /// One outcome per record, from the worker.
    pub outcomes: Vec<Outcome>,
    /// The facts of the records that hold, in their order, from the worker to the gate.
    pub facts: Vec<Facts>,
    /// The labels of all records, in their order, where the run wants them.
    pub labels: Vec<Labels>,
    /// JSON pointers of the rejects, one behind the other.
    pub pointers: Vec<u8>,
    /// Room for what it changes in the state.
    pub body: Vec<u8>,
    /// What it changed in the state, from the gate, where a journal is kept.
    pub told: Option<Told>,
    /// What candidate rules decided, where some are tried.
    pub judged: Option<Box<Judged>>,
    /// When each stage had it, where spans are wanted.
    pub trace: Trace,
    /// The batch's share of the budget, given back when the batch is done.
    pub permit: Permit,
}

impl Batch {
    /// How often everything had to be read again before this batch was read.
    #[must_use]
    pub fn turn(&self) -> u32 {
        match &self.payloads {
            Payloads::Block(_) | Payloads::Range(_) => 0,
            Payloads::Messages { flight, .. } => flight.turn(),
        }
    }

    /// Records that an output refuses, by their place in the batch.
    #[must_use]
    pub fn undeliverable(&self) -> &[u32] {
        match &self.payloads {
            Payloads::Block(_) | Payloads::Range(_) => &[],
            Payloads::Messages { flight, .. } => flight.undeliverable(),
        }
    }

    /// Nobody needs it any more: its lists serve the next batches.
    pub fn end(self) {
        let Self { outcomes, facts, labels, pointers, body, payloads, permit, .. } = self;
        drop(payloads);
        permit.end(Lists { outcomes, facts, labels, pointers, body });
    }

    /// The JSON pointer of a reject.
    #[must_use]
    pub fn pointer(&self, outcome: Outcome) -> &[u8] {
        self.pointers.get(outcome.pointer.0 as usize..outcome.pointer.1 as usize).unwrap_or_default()
    }
}
