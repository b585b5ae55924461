//! What an audit tells records apart by: who sent to whom, what kind of message, for which tenant, when, and which
//! members it has.
//!
//! One walk over the names of the upper levels finds it all, for rejected records too, as far as they parse and their
//! format is known. A text is carried as a hash under the run's random seed, and as the place where it stands in the
//! payload: whoever meets a hash for the first time reads the text there. Nothing here allocates.

use std::hash::BuildHasher as _;

use foldhash::fast::FixedState;

use super::Compiled;
use crate::clock::Timestamp;
use crate::tape::{Node, StaticNode, Tape};
use crate::verdict::FormatId;

/// LIMIT: levels of names that are looked at; deeper ones are values.
pub const LEVELS_MAX: u8 = 4;
/// LIMIT: names that are looked at in one record.
pub const NAMES_MAX: u16 = 512;

/// Something that a record says about itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum LabelKind {
    /// Who sent it.
    Sender,
    /// Whom it is for.
    Receiver,
    /// Its message type, intent or action.
    Subject,
    /// Its tenant or workspace.
    Tenant,
    /// What names the key of its signature; of a token only the header may be shown.
    Key,
}

/// How many kinds of labels there are.
pub const LABELS: usize = 5;

/// Where the labels of a format stand, as JSON pointers; an empty one stands nowhere.
#[derive(Clone, Copy, Debug, Default)]
pub struct LabelPointers<'a> {
    /// By [`LabelKind`].
    pub texts: [&'a str; LABELS],
    /// The time of sending: a date-time by RFC 3339, or a number.
    pub time: &'a str,
    /// Whether a number counts milliseconds.
    pub millis: bool,
}

/// A text of a record.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Label {
    /// Its hash; 0 if it is absent.
    pub hash: u64,
    /// Where it begins in the payload, behind its quote.
    pub start: u32,
}

impl Label {
    /// Whether the record has it.
    #[must_use]
    pub fn is_there(self) -> bool {
        self.hash != 0
    }
}

/// What an audit needs of one record.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Labels {
    /// By [`LabelKind`].
    pub texts: [Label; LABELS],
    /// When it was sent, by its own account.
    pub sent: Option<Timestamp>,
    /// Names its set of members: equal sets of one format, equal values; 0 if the format is not known.
    pub shape: u64,
    /// XXH3 of the payload, 128 bits.
    pub content: u128,
    /// Whether it holds as far as it is judged without what was seen before.
    pub holds: bool,
}

impl Labels {
    /// A text.
    #[must_use]
    pub fn text(&self, kind: LabelKind) -> Label {
        self.texts.get(kind as usize).copied().unwrap_or_default()
    }
}

/// Finds labels; one per worker, all with the same seed.
pub struct Labeller {
    hasher: FixedState,
    formats: Vec<Wanted>,
}

/// The hashes of the paths that labels of a format stand at.
#[derive(Clone, Copy)]
struct Wanted {
    texts: [u64; LABELS],
    time: u64,
    millis: bool,
}

/// One walk.
struct Walk<'a> {
    hasher: &'a FixedState,
    tape: Tape<'a>,
    wanted: Wanted,
    names: u16,
    labels: Labels,
}

impl Labeller {
    /// Knows the formats of a rule set, in the order of their ids.
    #[must_use]
    pub fn new(seed: u64, formats: &[Compiled]) -> Self {
        let hasher = FixedState::with_seed(seed);
        let wanted = |format: &Compiled| {
            let pointers = format.labels();
            let path = |pointer: &str| {
                let names = pointer.split('/').skip(1);
                if pointer.is_empty() { 0 } else { names.fold(1, |path, name| step(&hasher, path, name)) }
            };
            Wanted { texts: pointers.texts.map(path), time: path(pointers.time), millis: pointers.millis }
        };
        Self { formats: formats.iter().map(wanted).collect(), hasher }
    }

    /// The labels of a record.
    #[must_use]
    pub fn read(&self, format: FormatId, tape: Tape<'_>) -> Labels {
        let Some(wanted) = self.formats.get(usize::from(format.0)) else { return Labels::default() };
        let labels = Labels { shape: 1 + u64::from(format.0), ..Labels::default() };
        let mut walk = Walk { hasher: &self.hasher, tape, wanted: *wanted, names: 0, labels };
        walk.object(0, 1, 1);
        walk.labels.shape |= 1;
        walk.labels
    }
}

impl Walk<'_> {
    /// As deep as [`LEVELS_MAX`]; what arrays hold are values.
    fn object(&mut self, at: usize, path: u64, level: u8) {
        let nodes = self.tape.nodes();
        let Some(Node::Object { len, .. }) = nodes.get(at) else { return };
        let mut at = at + 1;
        for _ in 0..*len {
            let (Some(Node::String(name)), Some(value)) = (nodes.get(at), nodes.get(at + 1)) else { return };
            if self.names == NAMES_MAX {
                return;
            }
            self.names += 1;
            let path = step(self.hasher, path, name);
            // A sum, so that the order of members does not matter.
            self.labels.shape = self.labels.shape.wrapping_add(fold(path, 0x9E37_79B9_7F4A_7C15));
            match value {
                Node::String(text) => self.text(path, text),
                Node::Static(number) if path == self.wanted.time => self.number(*number),
                Node::Object { .. } if level < LEVELS_MAX => self.object(at + 1, path, level + 1),
                _ => {}
            }
            at = super::fields::behind(nodes, at + 1);
        }
    }

    fn text(&mut self, path: u64, text: &str) {
        if path == self.wanted.time {
            self.labels.sent = Timestamp::from_rfc3339(text);
        }
        for (label, wanted) in self.labels.texts.iter_mut().zip(self.wanted.texts) {
            if path == wanted {
                let hash = self.hasher.hash_one(text.as_bytes()) | 1;
                *label = Label { hash, start: self.tape.place(text) as u32 };
            }
        }
    }

    fn number(&mut self, number: StaticNode) {
        let number = match number {
            StaticNode::I64(number) => Some(number),
            StaticNode::U64(number) => i64::try_from(number).ok(),
            _ => None,
        };
        let time = if self.wanted.millis { Timestamp::from_millis } else { Timestamp::from_secs };
        self.labels.sent = number.map(time);
    }
}

/// The path one name further; never 0.
fn step(hasher: &FixedState, path: u64, name: &str) -> u64 {
    fold(path, hasher.hash_one(name.as_bytes())) | 1
}

/// Both halves of a wide product, so that every bit of both counts.
fn fold(one: u64, other: u64) -> u64 {
    let product = u128::from(one ^ 0x2545_F491_4F6C_DD1D) * u128::from(other | 1);
    (product as u64) ^ ((product >> 64) as u64)
}
