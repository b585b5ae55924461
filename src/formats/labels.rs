//! What an audit tells records apart by: who sent to whom, what kind of message, for which tenant, when, and which
//! members it has.
//!
//! One walk over the names of the upper levels finds where it all stands, for rejected records too, as far as they parse
//! and their format is known; documents with one outline share that. A text is carried as a hash under the run's random
//! seed, and as the place where it stands in the payload: whoever meets a hash for the first time reads the text there.
//! Nothing here allocates.

use std::hash::BuildHasher as _;

use foldhash::fast::FixedState;

use super::Compiled;
use crate::clock::Timestamp;
use crate::outline::ByOutline;
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
struct Wanted {
    /// By [`LabelKind`], and the time's at [`TIME`].
    paths: [u64; LABELS + 1],
    /// A bit for each of them, at [`class`] of its hash.
    classes: [u8; CLASSES],
    millis: bool,
}

/// What the names of a document tell: where its labels stand, and which set of members it has.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Stand {
    /// The format that it was found for.
    format: Option<FormatId>,
    /// As in [`Labels`].
    shape: u64,
    /// The nodes of the values, by [`LabelKind`], and the time's at [`TIME`]; node 0 is the document, and means none.
    nodes: [u32; LABELS + 1],
}

/// Where the time stands among the paths.
const TIME: usize = LABELS;
/// Hashes are told apart by so many classes before they are compared.
const CLASSES: usize = 64;

/// One walk.
struct Walk<'a> {
    hash: &'a Seeded,
    tape: Tape<'a>,
    wanted: &'a Wanted,
    found: Stand,
}

impl Labeller {
    /// Knows the formats of a rule set, in the order of their ids.
    #[must_use]
    pub fn new(seed: u64, formats: &[Compiled]) -> Self {
        Self::of_pointers(seed, formats.iter().map(Compiled::labels))
    }

    fn of_pointers<'p>(seed: u64, formats: impl Iterator<Item = LabelPointers<'p>>) -> Self {
        let texts = FixedState::with_seed(seed);
        let hash = Seeded { seeds: [0, 1].map(|number: u64| texts.hash_one(number)), texts };
        let wanted = |pointers: LabelPointers<'_>| {
            let path = |pointer: &str| {
                let names = pointer.split('/').skip(1);
                if pointer.is_empty() { 0 } else { names.fold(1, |path, name| hash.step(path, name, None)) }
            };
            let mut paths = [path(pointers.time); LABELS + 1];
            for (place, pointer) in paths.iter_mut().zip(pointers.texts) {
                *place = path(pointer);
            }
            let mut classes = [0; CLASSES];
            for (kind, path) in paths.iter().enumerate() {
                if let Some(class) = classes.get_mut(class(*path)).filter(|_| *path != 0) {
                    *class |= 1 << kind;
                }
            }
            Wanted { paths, classes, millis: pointers.millis }
        };
        Self { formats: formats.map(wanted).collect(), hash }
    }

    /// The labels of a record. Where they stand is remembered in `known`, which belongs to this labeller.
    ///
    /// PERF: most documents have an outline that was seen before; then no name is looked at: 900 instead of 2,700
    /// instructions for a record of a mixed corpus (callgrind).
    #[must_use]
    pub fn read(&self, format: FormatId, tape: Tape<'_>, known: &mut ByOutline<Stand>) -> Labels {
        let Some(wanted) = self.formats.get(usize::from(format.0)) else { return Labels::default() };
        let outline = tape.outline();
        let seen = outline.and_then(|outline| known.get(outline)).filter(|seen| seen.format == Some(format));
        if let Some(seen) = seen {
            return self.texts(wanted, seen, tape);
        }
        let found = self.find(format, wanted, tape);
        if let Some(place) = outline.and_then(|outline| known.learn(outline)) {
            *place = found;
        }
        self.texts(wanted, &found, tape)
    }

    /// Where the labels of a document stand.
    fn find(&self, format: FormatId, wanted: &Wanted, tape: Tape<'_>) -> Stand {
        let shape = 1 + u64::from(format.0);
        let found = Stand { format: Some(format), shape, nodes: [0; LABELS + 1] };
        let mut walk = Walk { hash: &self.hash, tape, wanted, found };
        walk.document();
        walk.found.shape |= 1;
        walk.found
    }

    /// What stands there.
    fn texts(&self, wanted: &Wanted, stand: &Stand, tape: Tape<'_>) -> Labels {
        let mut labels = Labels { shape: stand.shape, ..Labels::default() };
        let [nodes @ .., time] = &stand.nodes;
        for (label, node) in labels.texts.iter_mut().zip(nodes) {
            if *node != 0
                && let Some(Node::String(text)) = tape.nodes().get(*node as usize)
            {
                let hash = self.hash.texts.hash_one(text.as_bytes()) | 1;
                *label = Label { hash, start: tape.place(text) as u32 };
            }
        }
        if *time != 0 {
            labels.sent = match tape.nodes().get(*time as usize) {
                Some(Node::String(text)) => Timestamp::from_rfc3339(text),
                Some(Node::Static(number)) => wanted.time(*number),
                _ => None,
            };
        }
        labels
    }
}

impl Walk<'_> {
    /// All names of objects within objects, as deep as [`LEVELS_MAX`]; what arrays hold are values.
    ///
    /// PERF: nodes stand in the order of the text, so one loop passes them all, and skips what nobody looks at.
    fn document(&mut self) {
        let (nodes, payload) = (self.tape.nodes(), self.tape.payload());
        let Some(Node::Object { len, .. }) = nodes.first() else { return };
        // PERF: one pass over the payload tells of nearly every record that no name of it is escaped.
        let is_plain = memchr::memchr(b'\\', payload).is_none();
        // The object that is walked, and those around it: names that are left, and the path.
        let (mut left, mut path) = (*len, 1);
        let mut around = [(0, 0); LEVELS_MAX as usize];
        let (mut level, mut at) = (0, 1);
        let mut shape = self.found.shape;
        for _ in 0..NAMES_MAX {
            while left == 0 {
                if level == 0 {
                    self.found.shape = shape;
                    return;
                }
                level -= 1;
                (left, path) = around.get(level).copied().unwrap_or_default();
            }
            let Some([Node::String(name), value, ..]) = nodes.get(at..) else { break };
            left -= 1;
            at += 2;
            let words = words_at(payload, self.tape.place(name), name, is_plain);
            let here = self.hash.step(path, name, words);
            // A sum, so that the order of members does not matter.
            shape = shape.wrapping_add(here);
            // PERF: its class tells of most names that nobody wants their value.
            let wanted = self.wanted.classes.get(class(here)).copied().unwrap_or_default();
            if wanted != 0 {
                self.note(here, wanted, value, at - 1);
            }
            match value {
                Node::Object { len, .. } if level + 1 < LEVELS_MAX as usize => {
                    if let Some(outer) = around.get_mut(level) {
                        *outer = (left, path);
                    }
                    level += 1;
                    (left, path) = (*len, here);
                }
                Node::Object { count, .. } | Node::Array { count, .. } => at += count,
                Node::String(_) | Node::Static(_) => {}
            }
        }
        self.found.shape = shape;
    }

    /// Notes the value of a name that may be one of those that are wanted; of a name that stands twice, the last one.
    fn note(&mut self, path: u64, mut wanted: u8, value: &Node<'_>, node: usize) {
        while wanted != 0 {
            let kind = wanted.trailing_zeros() as usize;
            wanted &= wanted - 1;
            let is_label = match value {
                Node::String(_) => true,
                Node::Static(_) => kind == TIME,
                Node::Object { .. } | Node::Array { .. } => false,
            };
            if is_label
                && self.wanted.paths.get(kind) == Some(&path)
                && let Some(place) = self.found.nodes.get_mut(kind)
            {
                *place = node as u32;
            }
        }
    }
}

impl Wanted {
    /// A time that is a number.
    fn time(&self, number: StaticNode) -> Option<Timestamp> {
        let number = match number {
            StaticNode::I64(number) => Some(number),
            StaticNode::U64(number) => i64::try_from(number).ok(),
            _ => None,
        };
        number.map(if self.millis { Timestamp::from_millis } else { Timestamp::from_secs })
    }
}

impl Seeded {
    /// The path one name further; never 0.
    ///
    /// PERF: one multiplication for a name of up to sixteen bytes, which its words tell whole; a longer one is hashed.
    #[inline]
    fn step(&self, path: u64, name: &str, words: Option<(u64, u64)>) -> u64 {
        let (head, tail) = match words {
            Some(words) => words,
            None if name.len() > WORDS_BYTES => (0, self.texts.hash_one(name.as_bytes())),
            None => words_of(name),
        };
        let [one, other] = self.seeds;
        // Both halves of a wide product, so that every bit of both factors counts.
        let len = (name.len() as u64).wrapping_mul(0x9E37_79B9_7F4A_7C15);
        let product = u128::from((path ^ head ^ one).wrapping_add(len)) * u128::from(tail ^ other);
        (product as u64 ^ (product >> 64) as u64) | 1
    }
}

/// Bytes of a name that two words hold.
const WORDS_BYTES: usize = 16;

/// The bytes of a name of each length among sixteen.
const MASKS: [u128; WORDS_BYTES + 1] = [
    0,
    u128::MAX >> 120,
    u128::MAX >> 112,
    u128::MAX >> 104,
    u128::MAX >> 96,
    u128::MAX >> 88,
    u128::MAX >> 80,
    u128::MAX >> 72,
    u128::MAX >> 64,
    u128::MAX >> 56,
    u128::MAX >> 48,
    u128::MAX >> 40,
    u128::MAX >> 32,
    u128::MAX >> 24,
    u128::MAX >> 16,
    u128::MAX >> 8,
    u128::MAX,
];

/// The words of a name that stands in the payload as it is; `None` if it is too long, too close to the end, or escaped.
/// `is_plain` says that nothing in the payload is.
///
/// PERF: sixteen bytes are read whatever the length, since lengths come in no order that could be foreseen.
#[inline]
fn words_at(payload: &[u8], place: usize, name: &str, is_plain: bool) -> Option<(u64, u64)> {
    let bytes = payload.get(place..).and_then(<[u8]>::first_chunk::<WORDS_BYTES>)?;
    let word = u128::from_le_bytes(*bytes) & MASKS.get(name.len())?;
    (is_plain || !has_slash(word)).then_some(halves(word))
}

/// Whether one of sixteen bytes is a backslash.
fn has_slash(word: u128) -> bool {
    const ONES: u128 = u128::MAX / 0xFF;
    // A backslash becomes a byte of 0, and the highest bit of one such byte is all that is left if there are any.
    let slashes = word ^ (ONES * u128::from(b'\\'));
    slashes.wrapping_sub(ONES) & !slashes & (ONES << 7) != 0
}

/// The same of a name that stands anywhere.
fn words_of(name: &str) -> (u64, u64) {
    let mut bytes = [0; WORDS_BYTES];
    for (to, from) in bytes.iter_mut().zip(name.as_bytes()) {
        *to = *from;
    }
    halves(u128::from_le_bytes(bytes))
}

fn halves(word: u128) -> (u64, u64) {
    (word as u64, (word >> 64) as u64)
}

/// One of [`CLASSES`] for a path.
fn class(path: u64) -> usize {
    (path >> 58) as usize
}

#[cfg(test)]
mod tests {
    use std::collections::HashMap;

    use super::*;
    use crate::outline::Outlines;
    use crate::tape::Parser;

    #[test]
    fn what_an_outline_tells_is_what_a_walk_finds() {
        let texts = ["/from", "/to/name", "/kind", "/kind", ""];
        let pointers = [LabelPointers { texts, time: "/at", millis: true }, LabelPointers::default()];
        let labeller = Labeller::of_pointers(7, pointers.into_iter());
        let (mut parser, mut outlines) = (Parser::new(8), Outlines::default());
        let (mut known, mut from_memory) = (ByOutline::new(Stand::default), 0);
        let documents = [
            r#"{"from":"a","to":{"name":"b"},"kind":"c","at":"2026-03-03T12:00:00Z","x":[{"from":"z"}]}"#,
            r#"{"from":"other","to":{"name":"\u0062"},"kind":"","at":"no time","x":[{"from":"y"}]}"#,
            r#"{"from":"a","at":1772539200000}"#,
            r#"{"from":"a","at":null}"#,
            r#"{"from":"a","\u0061t":-5}"#,
            r#"{"from":1,"kind":{"kind":"c"},"at":[]}"#,
            r#"{"from":"a","from":"b","from":3}"#,
        ];
        for number in 0..10 * documents.len() {
            let document = documents[number % documents.len()];
            parser.parse(document.as_bytes(), |tape| {
                let tape = outlines.recall(tape.unwrap());
                // Formats take turns, too: what is known of one is not true of the other.
                let format = FormatId(u8::from(number % 3 == 0));
                from_memory += usize::from(tape.outline().and_then(|outline| known.get(outline)).is_some());
                let labels = labeller.read(format, tape, &mut known);
                let walked = labeller.read(format, tape, &mut ByOutline::new(Stand::default));
                assert_eq!(labels, walked, "{document}");
                let sender = labels.text(LabelKind::Sender);
                assert_eq!(
                    sender.is_there(),
                    format.0 == 0 && !document.contains(r#""from":1"#),
                    "{document}"
                );
                let start = document.rfind(r#""from":"b""#).unwrap_or(1) + r#""from":""#.len();
                assert!(!sender.is_there() || sender.start as usize == start, "{document}");
            });
        }
        assert!(from_memory > 5 * documents.len(), "{from_memory}");
    }

    #[test]
    fn names_have_paths_of_their_own() {
        let texts = FixedState::with_seed(7);
        let hash = Seeded { seeds: [0, 1].map(|number: u64| texts.hash_one(number)), texts };
        let mut known = HashMap::new();
        let mut check = |name: String| {
            let other = known.insert(hash.step(1, &name, None), name.clone());
            assert!(
                other.as_ref().is_none_or(|other| *other == name),
                "{other:?} and {name:?} fall together"
            );
        };
        // Every length around the borders of the words, and every single bit of a name of each.
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
        let path = |names: [&str; 2]| names.iter().fold(1, |path, name| hash.step(path, name, None));
        assert_ne!(path(["a", "b"]), path(["b", "a"]));
    }

    #[test]
    fn a_name_has_the_same_words_wherever_it_stands() {
        for name in ["", "a", "abcdefg", "abcdefgh", "abcdefghijklmno", "abcdefghijklmnop", "n\u{e4}me"] {
            let payload = format!("{{\"{name}\": 1, \"and some more\": 2}}");
            for is_plain in [false, true] {
                let words = words_at(payload.as_bytes(), 2, name, is_plain);
                assert_eq!(words, Some(words_of(name)), "{name}");
            }
            assert_eq!(words_at(format!("{{\"{name}\":1}}").as_bytes(), 9, name, true), None, "past the end");
        }
        let long = "abcdefghijklmnopq";
        assert_eq!(words_at(format!("{{\"{long}\": 1}}").as_bytes(), 2, long, true), None);
        // The text of an escaped name is not what stands in the payload.
        for (name, payload) in
            [("a\"", r#"{"a\"": 1, "and some more": 2}"#), ("a", r#"{"\u0061": 1, "and more": 2}"#)]
        {
            assert_eq!(words_at(payload.as_bytes(), 2, name, false), None, "{payload}");
        }
    }
}
