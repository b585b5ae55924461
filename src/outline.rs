//! The outline of a document: which names, containers, strings and other values stand where on its tape.
//!
//! PERF: a stream of envelopes mostly repeats itself. Documents with one outline have their members at the same nodes, are of
//! the same format and have the same order of names. So whatever depends on nothing else is found out once and remembered
//! by outline ([`ByOutline`]); to recognise an outline takes one comparison per node.
//!
//! Recognising is exact, never by a hash. Nothing here allocates once made, and nothing says what an outline means.

use std::sync::atomic::{AtomicU64, Ordering};

use crate::tape::{Node, Outline, Tape};

/// Outlines share a set if they look alike at a glance.
const SETS: usize = 8;
/// So many outlines of one set are remembered.
const WAYS: usize = 2;
/// LIMIT: nodes of a document whose outline is remembered; beyond that there is more to gain elsewhere.
const NODES_MAX: usize = 384;
/// LIMIT: bytes of all its names.
const NAMES_BYTES_MAX: usize = 4096;
/// LIMIT: of outlines that never came back, one in so many is remembered instead of another.
const PATIENCE_MAX: u16 = 1024;

/// What is remembered for each outline.
#[derive(Debug)]
pub struct ByOutline<T> {
    known: Vec<(u64, T)>,
}

impl<T> ByOutline<T> {
    /// Memory for one value per outline.
    pub fn new(mut make: impl FnMut() -> T) -> Self {
        Self { known: (0..SETS * WAYS).map(|_| (0, make())).collect() }
    }

    /// What is known for an outline.
    #[inline]
    #[must_use]
    pub fn get(&self, outline: Outline) -> Option<&T> {
        self.known.get(outline.slot).filter(|(serial, _)| *serial == outline.serial).map(|(_, known)| known)
    }

    /// Where to write down what is known for an outline; what stands there belongs to another one.
    pub fn learn(&mut self, outline: Outline) -> Option<&mut T> {
        let (serial, known) = self.known.get_mut(outline.slot)?;
        *serial = outline.serial;
        Some(known)
    }
}

/// An outline that came back so often was worth its memory.
const HITS_WORTH_IT: u32 = 4;

/// The outlines that one worker knows.
#[derive(Debug)]
pub struct Outlines {
    slots: Vec<Slot>,
    /// For each set, how many strange documents are still let pass before one is remembered, and how many the last time.
    patience: [(u16, u16); SETS],
}

#[derive(Debug)]
struct Slot {
    serial: u64,
    parts: Vec<Part>,
    names: Vec<u8>,
    hits: u32,
}

/// What stands at a node.
#[derive(Clone, Copy, Debug)]
struct Part {
    kind: Kind,
    /// The length of a name or container.
    len: u32,
    /// Where a name's text begins.
    start: u32,
    /// The nodes of a container, or the first eight bytes of a name (or all of it, if it is shorter).
    head: u64,
    /// The last eight bytes of a name.
    tail: u64,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    Name,
    Object,
    Array,
    /// A string that is no name.
    Text,
    /// A number or word.
    Scalar,
}

impl Default for Outlines {
    fn default() -> Self {
        let slot = || Slot {
            serial: 0,
            parts: Vec::with_capacity(NODES_MAX),
            names: Vec::with_capacity(NAMES_BYTES_MAX),
            hits: 0,
        };
        Self { slots: (0..SETS * WAYS).map(|_| slot()).collect(), patience: [(0, 0); SETS] }
    }
}

impl Outlines {
    /// The tape with its outline, if that is known or is one to remember.
    pub fn recall<'t>(&mut self, tape: Tape<'t>) -> Tape<'t> {
        let nodes = tape.nodes();
        let [Node::Object { .. }, Node::String(first), ..] = nodes else { return tape };
        let (first, _) = print(first);
        let set = (first.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 40) as usize ^ nodes.len();
        let set = set % SETS;
        let ways = set * WAYS..(set + 1) * WAYS;
        for (slot, known) in ways.clone().zip(self.slots.get_mut(ways.clone()).unwrap_or_default()) {
            if let Some(text_bytes) = known.compare(nodes) {
                known.hits = known.hits.saturating_add(1);
                return tape.with_outline(Outline { slot, serial: known.serial, text_bytes });
            }
        }
        self.remember(tape, set)
    }

    /// A strange document: remembers its outline, unless strange ones keep coming.
    #[cold]
    fn remember<'t>(&mut self, tape: Tape<'t>, set: usize) -> Tape<'t> {
        let Some((wait, last)) = self.patience.get_mut(set) else { return tape };
        if *wait > 0 {
            *wait -= 1;
            return tape;
        }
        let ways = self.slots.iter_mut().enumerate().skip(set * WAYS).take(WAYS);
        let Some((slot, weakest)) = ways.min_by_key(|(_, slot)| slot.hits) else { return tape };
        // What goes without having come back often says that what comes will not either.
        let in_vain = weakest.serial != 0 && weakest.hits < HITS_WORTH_IT;
        *last = if in_vain { (*last * 2).clamp(1, PATIENCE_MAX) } else { *last / 2 };
        *wait = *last;
        let learned = weakest.learn(tape.nodes());
        let serial = weakest.serial;
        for slot in self.slots.iter_mut().skip(set * WAYS).take(WAYS) {
            slot.hits /= 2;
        }
        match learned {
            Some(text_bytes) => tape.with_outline(Outline { slot, serial, text_bytes }),
            None => tape,
        }
    }
}

impl Slot {
    /// The bytes of all strings, if these nodes have this outline.
    #[inline]
    fn compare(&self, nodes: &[Node<'_>]) -> Option<usize> {
        if self.parts.len() != nodes.len() {
            return None;
        }
        let mut text_bytes = 0;
        for (node, part) in nodes.iter().zip(&self.parts) {
            match node {
                Node::String(text) => {
                    text_bytes += text.len();
                    let same =
                        part.kind == Kind::Text || (part.kind == Kind::Name && self.is_name(part, text));
                    if !same {
                        return None;
                    }
                }
                Node::Static(_) if part.kind == Kind::Scalar => {}
                Node::Object { len, count } if part.is_container(Kind::Object, *len, *count) => {}
                Node::Array { len, count } if part.is_container(Kind::Array, *len, *count) => {}
                _ => return None,
            }
        }
        Some(text_bytes)
    }

    #[inline]
    fn is_name(&self, part: &Part, text: &str) -> bool {
        let bytes = text.as_bytes();
        if bytes.len() != part.len as usize {
            return false;
        }
        // PERF: most names are of this length, and then two words are all there is to compare.
        if let (Some(first), Some(last), ..=16) = (bytes.first_chunk(), bytes.last_chunk(), bytes.len()) {
            return u64::from_le_bytes(*first) == part.head && u64::from_le_bytes(*last) == part.tail;
        }
        self.is_short_or_long_name(part, text)
    }

    fn is_short_or_long_name(&self, part: &Part, text: &str) -> bool {
        let known = || self.names.get(part.start as usize..).and_then(|names| names.get(..text.len()));
        print(text) == (part.head, part.tail) && (text.len() <= 16 || known() == Some(text.as_bytes()))
    }

    /// Becomes the outline of these nodes; `None`, and the outline of nothing, if they are too many.
    fn learn(&mut self, nodes: &[Node<'_>]) -> Option<usize> {
        static NEXT: AtomicU64 = AtomicU64::new(1);
        self.parts.clear();
        self.names.clear();
        self.hits = 0;
        self.serial = NEXT.fetch_add(1, Ordering::Relaxed);
        if nodes.len() > NODES_MAX {
            return None;
        }
        let mut text_bytes = 0;
        for node in nodes {
            let (kind, len, head) = match node {
                Node::Object { len, count } => (Kind::Object, *len as u32, *count as u64),
                Node::Array { len, count } => (Kind::Array, *len as u32, *count as u64),
                Node::String(text) => {
                    text_bytes += text.len();
                    (Kind::Text, 0, 0)
                }
                Node::Static(_) => (Kind::Scalar, 0, 0),
            };
            self.parts.push(Part { kind, len, start: 0, head, tail: 0 });
        }
        let named = (0..nodes.len()).try_for_each(|at| self.learn_names(nodes, at));
        if named.is_none() {
            self.parts.clear();
        }
        named.map(|()| text_bytes)
    }

    /// Marks the names of an object; `None` if they are too long.
    fn learn_names(&mut self, nodes: &[Node<'_>], at: usize) -> Option<()> {
        let Some(Node::Object { len, .. }) = nodes.get(at) else { return Some(()) };
        let mut name_at = at + 1;
        for _ in 0..*len {
            let Some([Node::String(name), value, ..]) = nodes.get(name_at..) else { return None };
            let start = self.names.len();
            if start + name.len() > NAMES_BYTES_MAX {
                return None;
            }
            self.names.extend_from_slice(name.as_bytes());
            let (head, tail) = print(name);
            *self.parts.get_mut(name_at)? =
                Part { kind: Kind::Name, len: name.len() as u32, start: start as u32, head, tail };
            name_at += 2 + match value {
                Node::Object { count, .. } | Node::Array { count, .. } => *count,
                Node::String(_) | Node::Static(_) => 0,
            };
        }
        Some(())
    }
}

impl Part {
    #[inline]
    fn is_container(&self, kind: Kind, len: usize, count: usize) -> bool {
        self.kind == kind && self.len as usize == len && self.head == count as u64
    }
}

/// A name to compare with: its length, and its first and last bytes as words.
#[derive(Clone, Debug)]
pub(crate) struct Name {
    text: Box<str>,
    print: (u64, u64),
}

impl Name {
    pub(crate) fn new(text: &str) -> Self {
        Self { text: text.into(), print: print(text) }
    }

    pub(crate) fn is(&self, text: &str) -> bool {
        self.print == print(text) && self.is_spelled(text)
    }

    /// Whether it is a text with its print.
    #[inline]
    pub(crate) fn is_spelled(&self, text: &str) -> bool {
        text.len() == self.text.len() && (text.len() <= 16 || *text == *self.text)
    }

    pub(crate) fn print(&self) -> (u64, u64) {
        self.print
    }

    pub(crate) fn text(&self) -> &str {
        &self.text
    }
}

/// The first and the last eight bytes of a text; two of the same length of up to sixteen are equal if these are.
#[inline]
pub(crate) const fn print(text: &str) -> (u64, u64) {
    let bytes = text.as_bytes();
    if let (Some(first), Some(last)) = (bytes.first_chunk(), bytes.last_chunk()) {
        return (u64::from_le_bytes(*first), u64::from_le_bytes(*last));
    }
    if let (Some(first), Some(last)) = (bytes.first_chunk(), bytes.last_chunk()) {
        return (u32::from_le_bytes(*first) as u64, u32::from_le_bytes(*last) as u64);
    }
    let head = match *bytes {
        [one] => one as u64,
        [one, two] => one as u64 | (two as u64) << 8,
        [one, two, three] => one as u64 | (two as u64) << 8 | (three as u64) << 16,
        _ => 0,
    };
    (head, 0)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tape::Parser;

    /// Whether the second document has the outline of the first.
    fn alike(first: &str, second: &str) -> bool {
        let (mut parser, mut outlines) = (Parser::new(64), Outlines::default());
        let mut serial = |text: &str| {
            parser.parse(text.as_bytes(), |tape| {
                outlines.recall(tape.unwrap()).outline().map(|known| known.serial)
            })
        };
        let first = serial(first);
        first.is_some() && serial(second) == first
    }

    #[test]
    fn outlines_are_told_by_names_containers_and_kinds() {
        let base = r#"{"a":"x","long-name-of-a-member-1":[1,{"b":null}],"c":{}}"#;
        assert!(alike(base, r#"{ "a" : "other" , "long-name-of-a-member-1":[-2.5,{"b":true}],"c":{} }"#));
        assert!(alike(base, r#"{"\u0061":"","long-name-of-a-member-1":[0,{"b":0}],"c":{}}"#));
        for other in [
            r#"{"a":"x","long-name-of-b-member-1":[1,{"b":null}],"c":{}}"#,
            r#"{"a":"x","long-name-of-a-member-2":[1,{"b":null}],"c":{}}"#,
            r#"{"a":1,"long-name-of-a-member-1":[1,{"b":null}],"c":{}}"#,
            r#"{"a":"x","long-name-of-a-member-1":[1,["b",null]],"c":{}}"#,
            r#"{"a":"x","long-name-of-a-member-1":[1,{"b":null}],"c":[]}"#,
            r#"{"a":"x","long-name-of-a-member-1":[1,{"b":null},"c"],"d":{}}"#,
            r#"{"a":"x","c":{},"long-name-of-a-member-1":[1,{"b":null}]}"#,
            r#"{"a":"x","long-name-of-a-member-1":[1,{"b":null}],"c":{},"d":1}"#,
        ] {
            assert!(!alike(base, other), "{other}");
        }
    }

    #[test]
    fn what_is_large_is_not_remembered_and_strangers_do_not_take_every_place() {
        let large = format!("{{\"a\":[{}]}}", vec!["1"; NODES_MAX].join(","));
        assert!(!alike(&large, &large));
        let long = format!("{{\"{}\":1}}", "n".repeat(NAMES_BYTES_MAX + 1));
        assert!(!alike(&long, &long));
        let (mut parser, mut outlines) = (Parser::new(64), Outlines::default());
        let mut known = |text: &str| {
            parser.parse(text.as_bytes(), |tape| {
                outlines.recall(tape.unwrap()).outline().map(|known| known.serial)
            })
        };
        let first = known(r#"{"a":1}"#);
        for _ in 0..100 {
            assert_eq!(known(r#"{"a":2}"#), first);
        }
        let learned = (0..10_000).filter(|n| known(&format!("{{\"a\":1,\"n{n}\":2}}")).is_some()).count();
        assert!(learned < 200, "{learned}");
        assert_eq!(known(r#"{"a":3}"#), first);
    }
}
