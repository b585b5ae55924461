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
use crate::outline::print;
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
    hash: Seeded,
    formats: Vec<Wanted>,
}

/// The hashes of a run: nobody can choose names or texts that fall together without knowing its seed.
struct Seeded {
    texts: FixedState,
    seeds: [u64; 2],
}

/// The hashes of the paths that labels of a format stand at.
#[derive(Clone, Copy)]
struct Wanted {
    texts: [u64; LABELS],
    time: u64,
    /// A bit for each of them, by [`bit`].
    any: u64,
    millis: bool,
}

/// One walk.
struct Walk<'a> {
    hash: &'a Seeded,
    tape: Tape<'a>,
    wanted: Wanted,
    names: u16,
    labels: Labels,
}

impl Labeller {
    /// Knows the formats of a rule set, in the order of their ids.
    #[must_use]
    pub fn new(seed: u64, formats: &[Compiled]) -> Self {
        let texts = FixedState::with_seed(seed);
        let hash = Seeded { seeds: [0, 1].map(|number: u64| texts.hash_one(number)), texts };
        let wanted = |format: &Compiled| {
            let pointers = format.labels();
            let path = |pointer: &str| {
                let names = pointer.split('/').skip(1);
                if pointer.is_empty() { 0 } else { names.fold(1, |path, name| hash.step(path, name)) }
            };
            let (texts, time) = (pointers.texts.map(path), path(pointers.time));
            let any = texts.iter().fold(bit(time), |any, path| any | bit(*path));
            Wanted { texts, time, any, millis: pointers.millis }
        };
        Self { formats: formats.iter().map(wanted).collect(), hash }
    }

    /// The labels of a record.
    #[must_use]
    pub fn read(&self, format: FormatId, tape: Tape<'_>) -> Labels {
        let Some(wanted) = self.formats.get(usize::from(format.0)) else { return Labels::default() };
        let labels = Labels { shape: 1 + u64::from(format.0), ..Labels::default() };
        let mut walk = Walk { hash: &self.hash, tape, wanted: *wanted, names: 0, labels };
        walk.document();
        walk.labels.shape |= 1;
        walk.labels
    }
}

impl Walk<'_> {
    /// All names of objects within objects, as deep as [`LEVELS_MAX`]; what arrays hold are values.
    ///
    /// PERF: nodes stand in the order of the text, so one loop passes them all, and skips what nobody looks at.
    fn document(&mut self) {
        let nodes = self.tape.nodes();
        let Some(Node::Object { len, .. }) = nodes.first() else { return };
        // The object that is walked, and those around it: names that are left, and the path.
        let (mut left, mut path) = (*len, 1);
        let mut around = [(0, 0); LEVELS_MAX as usize];
        let (mut level, mut at) = (0, 1);
        loop {
            while left == 0 {
                if level == 0 {
                    return;
                }
                level -= 1;
                (left, path) = around.get(level).copied().unwrap_or_default();
            }
            let (Some(Node::String(name)), Some(value)) = (nodes.get(at), nodes.get(at + 1)) else { return };
            if self.names == NAMES_MAX {
                return;
            }
            self.names += 1;
            left -= 1;
            at += 2;
            let here = self.hash.step(path, name);
            // A sum, so that the order of members does not matter.
            self.labels.shape = self.labels.shape.wrapping_add(here);
            match value {
                // PERF: one bit tells of most texts that nobody wants them.
                Node::String(text) if self.wanted.any & bit(here) != 0 => self.text(here, text),
                Node::Static(number) if here == self.wanted.time => self.number(*number),
                Node::Object { len, .. } if level + 1 < LEVELS_MAX as usize => {
                    if let Some(outer) = around.get_mut(level) {
                        *outer = (left, path);
                    }
                    level += 1;
                    (left, path) = (*len, here);
                }
                Node::Object { count, .. } | Node::Array { count, .. } => at += count,
                _ => {}
            }
        }
    }

    fn text(&mut self, path: u64, text: &str) {
        if path == self.wanted.time {
            self.labels.sent = Timestamp::from_rfc3339(text);
        }
        for (label, wanted) in self.labels.texts.iter_mut().zip(self.wanted.texts) {
            if path == wanted {
                let hash = self.hash.texts.hash_one(text.as_bytes()) | 1;
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

impl Seeded {
    /// The path one name further; never 0.
    ///
    /// PERF: one multiplication for a name of up to sixteen bytes, which its ends tell whole.
    #[inline]
    fn step(&self, path: u64, name: &str) -> u64 {
        let (head, tail) = print(name);
        let tail = if name.len() <= 16 { tail } else { self.texts.hash_one(name.as_bytes()) };
        let [one, other] = self.seeds;
        // Both halves of a wide product, so that every bit of both factors counts.
        let len = (name.len() as u64).wrapping_mul(0x9E37_79B9_7F4A_7C15);
        let product = u128::from((path ^ head ^ one).wrapping_add(len)) * u128::from(tail ^ other);
        (product as u64 ^ (product >> 64) as u64) | 1
    }
}

/// One of 64 bits for a path.
fn bit(path: u64) -> u64 {
    1 << (path >> 58)
}

#[cfg(test)]
mod tests {
    use std::collections::HashMap;

    use super::*;

    #[test]
    fn names_have_paths_of_their_own() {
        let texts = FixedState::with_seed(7);
        let hash = Seeded { seeds: [0, 1].map(|number: u64| texts.hash_one(number)), texts };
        let mut known = HashMap::new();
        let mut check = |name: String| {
            let other = known.insert(hash.step(1, &name), name.clone());
            assert!(
                other.as_ref().is_none_or(|other| *other == name),
                "{other:?} and {name:?} fall together"
            );
        };
        // Every length around the borders of a print, and every single bit of a name of each.
        for len in 0..40 {
            let name = "a".repeat(len);
            for at in 0..len {
                for bit in 0..7 {
                    let mut bytes = name.clone().into_bytes();
                    bytes[at] ^= 1 << bit;
                    check(String::from_utf8(bytes).unwrap());
                }
            }
            check(name);
        }
        assert_ne!(hash.step(hash.step(1, "a"), "b"), hash.step(hash.step(1, "b"), "a"));
    }
}
