//! Schema drift: members that appear or vanish in the course of the input.
//!
//! Records with the same set of members share a shape, which the worker names by a hash; here each shape is counted,
//! with the first and the last record of its format that had it. A member appears if it was absent from so many records
//! before its first one that this cannot be chance, given how frequent it is from then on; it vanishes the other way
//! round. Order is that of reading, counted in records of the format.

use super::places::Place;
use super::shown;
use super::table::ByHash;
use crate::formats::labels::{LEVELS_MAX, NAMES_MAX};
use crate::tape::{Node, Parser, Tape};

/// LIMIT: shapes that are told apart, and members of all of them.
pub const SHAPES_MAX: usize = 8192;
const MEMBERS_MAX: usize = 16 * 1024;
/// LIMIT: bytes of a pointer that are shown.
const POINTER_CHARS_MAX: usize = 160;
/// A change is told if chance explains it in fewer than one of a million cases: −ln(10⁻⁶).
const SURPRISE_MIN: f64 = 13.8;
/// Of members in fewer records than this nobody can say how frequent they are.
const RECORDS_MIN: u64 = 10;

/// One set of members.
struct Shape {
    count: u64,
    first: Seen,
    last: Seen,
    members: Vec<u32>,
}

/// A record of a format: its number among them, and its place.
#[derive(Clone, Copy)]
struct Seen {
    number: u64,
    place: Place,
}

/// All shapes.
#[derive(Default)]
pub struct Shapes {
    by_hash: ByHash<u32>,
    all: Vec<Shape>,
    pointers: Vec<(u8, Box<str>)>,
    by_pointer: std::collections::HashMap<(u8, Box<str>), u32>,
    /// Records of each format whose shape is listed.
    records: Vec<u64>,
    unlisted: u64,
}

/// A member that came or went.
#[derive(Clone, Debug, PartialEq)]
pub struct Change {
    /// The format, by its id.
    pub format: u8,
    /// The member.
    pub pointer: String,
    /// Whether it appeared; otherwise it vanished.
    pub appeared: bool,
    /// Records that have it.
    pub records: u64,
    /// Records of the format before its first, or after its last one.
    pub without: u64,
    /// Its share among the records of the format from its first, or up to its last one.
    pub share: f64,
    /// Its first, or its last place.
    pub place: Place,
}

impl Shapes {
    /// Counts a record; `payload` is looked at only where its shape is new.
    pub fn add(&mut self, hash: u64, format: u8, place: Place, payload: &[u8], parser: &mut Parser) {
        if self.records.len() <= usize::from(format) {
            self.records.resize(usize::from(format) + 1, 0);
        }
        let known = self.by_hash.get(&hash).copied();
        if known.is_none() && (self.all.len() == SHAPES_MAX || self.pointers.len() >= MEMBERS_MAX) {
            // Nobody looks at its members, so it must not count as one without them.
            self.unlisted += 1;
            return;
        }
        let Some(records) = self.records.get_mut(usize::from(format)) else { return };
        let seen = Seen { number: *records, place };
        *records += 1;
        if let Some(shape) = known.and_then(|at| self.all.get_mut(at as usize)) {
            shape.count += 1;
            shape.last = seen;
            return;
        }
        let mut members = Vec::new();
        parser.parse(payload, |tape| {
            if let Ok(tape) = tape {
                let mut pointer = String::new();
                let mut names = 0;
                collect(tape, 0, 1, &mut names, &mut pointer, &mut |pointer| {
                    members.push(self.member(format, pointer));
                });
            }
        });
        self.by_hash.insert(hash, self.all.len() as u32);
        self.all.push(Shape { count: 1, first: seen, last: seen, members });
    }

    fn member(&mut self, format: u8, pointer: &str) -> u32 {
        let key = (format, Box::from(pointer));
        if let Some(member) = self.by_pointer.get(&key) {
            return *member;
        }
        let member = self.pointers.len() as u32;
        self.pointers.push(key.clone());
        self.by_pointer.insert(key, member);
        member
    }

    /// Records whose shape is not listed, because there are too many.
    #[must_use]
    pub fn unlisted(&self) -> u64 {
        self.unlisted
    }

    /// How many shapes there are.
    #[must_use]
    pub fn len(&self) -> usize {
        self.all.len()
    }

    /// Whether there is none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.all.is_empty()
    }

    /// What came and what went, the most surprising first.
    #[must_use]
    pub fn changes(&self) -> Vec<Change> {
        let mut spans: Vec<Option<(u64, Seen, Seen)>> = vec![None; self.pointers.len()];
        for shape in &self.all {
            for member in &shape.members {
                let Some(span) = spans.get_mut(*member as usize) else { continue };
                let (count, first, last) = span.get_or_insert((0, shape.first, shape.last));
                *count += shape.count;
                if shape.first.number < first.number {
                    *first = shape.first;
                }
                if shape.last.number > last.number {
                    *last = shape.last;
                }
            }
        }
        let mut changes = Vec::new();
        for ((format, pointer), span) in self.pointers.iter().zip(spans) {
            let Some((count, first, last)) = span.filter(|(count, ..)| *count >= RECORDS_MIN) else {
                continue;
            };
            let records = self.records.get(usize::from(*format)).copied().unwrap_or_default();
            let mut told = |appeared: bool, without: u64, place: Place| {
                let among = (records - without).max(1);
                let share = count as f64 / among as f64;
                let surprise = -(1.0 - share.min(1.0 - 1e-9)).ln() * without as f64;
                if surprise >= SURPRISE_MIN {
                    let pointer = shown::pointer(pointer, POINTER_CHARS_MAX);
                    let change =
                        Change { format: *format, pointer, appeared, records: count, without, share, place };
                    changes.push((surprise, change));
                }
            };
            told(true, first.number, first.place);
            told(false, records - 1 - last.number, last.place);
        }
        changes.sort_by(|a, b| b.0.total_cmp(&a.0).then_with(|| a.1.pointer.cmp(&b.1.pointer)));
        let changes: Vec<Change> = changes.into_iter().map(|(_, change)| change).collect();
        // What comes or goes with the object around it needs no word of its own.
        let with_parent = |change: &&Change| {
            let parent = change.pointer.rsplit_once('/').map_or("", |(parent, _)| parent);
            changes.iter().any(|other| {
                (other.pointer.as_str(), other.format, other.appeared, other.place)
                    == (parent, change.format, change.appeared, change.place)
            })
        };
        changes.iter().filter(|change| !with_parent(change)).cloned().collect()
    }
}

/// The pointers that the worker's walk passes, in the same order and to the same limits.
fn collect(
    tape: Tape<'_>,
    at: usize,
    level: u8,
    names: &mut u16,
    pointer: &mut String,
    each: &mut impl FnMut(&str),
) {
    let nodes = tape.nodes();
    let Some(Node::Object { len, .. }) = nodes.get(at) else { return };
    let mut at = at + 1;
    for _ in 0..*len {
        let (Some(Node::String(name)), Some(value)) = (nodes.get(at), nodes.get(at + 1)) else { return };
        if *names == NAMES_MAX {
            return;
        }
        *names += 1;
        let end = pointer.len();
        pointer.push('/');
        let name: String = name.chars().take(POINTER_CHARS_MAX).collect();
        pointer.push_str(&name.replace('~', "~0").replace('/', "~1"));
        each(pointer);
        let mut nested = 0;
        if let Node::Object { count, .. } | Node::Array { count, .. } = value {
            nested = *count;
        }
        if matches!(value, Node::Object { .. }) && level < LEVELS_MAX {
            collect(tape, at + 1, level + 1, names, pointer, each);
        }
        pointer.truncate(end);
        at += 2 + nested;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(texts: impl Iterator<Item = String>) -> Vec<Change> {
        let (mut shapes, mut parser) = (Shapes::default(), Parser::new(8));
        for (number, text) in texts.enumerate() {
            // The hash only has to tell shapes apart.
            let hash = text
                .bytes()
                .filter(u8::is_ascii_alphabetic)
                .fold(7, |hash: u64, byte| (hash ^ u64::from(byte)).wrapping_mul(0x100_0000_01B3));
            let place = Place { input: 0, position: number as u64 + 1 };
            shapes.add(hash, 3, place, text.as_bytes(), &mut parser);
        }
        shapes.changes()
    }

    #[test]
    fn members_that_come_and_go_are_told() {
        let changes = read((0..1000).map(|number| match number {
            0..400 => r#"{"a":{"old":1},"b":[{"x":1}]}"#.to_owned(),
            _ => r#"{"a":{"new":1},"b":[{"y":1}]}"#.to_owned(),
        }));
        let told: Vec<_> = changes
            .iter()
            .map(|change| (change.pointer.as_str(), change.appeared, change.place.position))
            .collect();
        assert_eq!(told, [("/a/old", false, 400), ("/a/new", true, 401)]);
        assert!(changes.iter().all(|change| change.share > 0.999), "{changes:?}");
    }

    #[test]
    fn names_that_look_like_credentials_are_not_told() {
        let changes = read((0..1000).map(|number| match number {
            0..400 => r#"{"a":1}"#.to_owned(),
            _ => r#"{"a":1,"x":{"sk-live-TOPSECRET42":1,"https://u:pw@host":1}}"#.to_owned(),
        }));
        assert!(!changes.is_empty());
        assert!(
            changes.iter().all(|change| ["/x", "/x/(hidden)"].contains(&change.pointer.as_str())),
            "{changes:?}"
        );
    }

    #[test]
    fn rare_members_are_no_drift() {
        let changes = read((0..1000).map(|number| {
            if number % 97 == 50 { r#"{"a":1,"rare":1}"#.to_owned() } else { r#"{"a":1}"#.to_owned() }
        }));
        assert_eq!(changes, []);
    }

    #[test]
    fn what_stood_in_a_few_records_only_did_not_vanish() {
        let changes = read((0..1000).map(|number| {
            if number == 0 { r#"{"a":1,"once":1}"#.to_owned() } else { r#"{"a":1}"#.to_owned() }
        }));
        assert_eq!(changes, []);
    }

    #[test]
    fn records_past_the_limit_make_nothing_vanish() {
        // A name of letters for each number.
        let name = |number: usize| {
            number.to_string().bytes().map(|digit| char::from(digit - b'0' + b'a')).collect::<String>()
        };
        let records = SHAPES_MAX + 3000;
        let changes =
            read((0..records).map(|number| format!("{{\"a\":1,\"x\":{{\"{}\":1}}}}", name(number))));
        assert_eq!(changes, []);
    }
}
