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

/// One outline. PERF: what stands at the nodes is listed by kind, so that comparing takes a plain loop for each kind, and no
/// jump that depends on a node.
#[derive(Debug)]
struct Slot {
    serial: u64,
    /// How many nodes it has; none has the outline of nothing.
    nodes: usize,
    containers: Vec<Container>,
    /// Names of 8 to 16 bytes, of 4 to 7, and all others.
    words: Vec<NameAt<8>>,
    short_words: Vec<NameAt<4>>,
    other_names: Vec<OtherName>,
    /// Strings that are no names.
    texts: Vec<u32>,
    /// Numbers and words.
    scalars: Vec<u32>,
    /// The texts of `other_names`.
    spelled: Vec<u8>,
    /// The bytes of all names.
    name_bytes: usize,
    hits: u32,
}

/// An object or array, and where.
#[derive(Clone, Copy, Debug)]
struct Container {
    at: u32,
    is_object: bool,
    len: usize,
    count: usize,
}

/// A name of N to 2N bytes: its begin and its end are all of it.
#[derive(Clone, Copy, Debug)]
struct NameAt<const N: usize> {
    at: u32,
    len: u32,
    head: [u8; N],
    tail: [u8; N],
}

/// A name of any length.
#[derive(Clone, Copy, Debug)]
struct OtherName {
    at: u32,
    /// Where its text begins.
    start: u32,
    len: u32,
}

impl Default for Outlines {
    fn default() -> Self {
        Self { slots: (0..SETS * WAYS).map(|_| Slot::nothing()).collect(), patience: [(0, 0); SETS] }
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
    /// The outline of nothing, with memory for any.
    fn nothing() -> Self {
        Self {
            serial: 0,
            nodes: 0,
            containers: Vec::with_capacity(NODES_MAX),
            words: Vec::with_capacity(NODES_MAX),
            short_words: Vec::with_capacity(NODES_MAX),
            other_names: Vec::with_capacity(NODES_MAX),
            texts: Vec::with_capacity(NODES_MAX),
            scalars: Vec::with_capacity(NODES_MAX),
            spelled: Vec::with_capacity(NAMES_BYTES_MAX),
            name_bytes: 0,
            hits: 0,
        }
    }

    /// The bytes of all strings, if these nodes have this outline. Every node stands in one of the lists.
    #[inline]
    fn compare(&self, nodes: &[Node<'_>]) -> Option<usize> {
        // Containers tell most strangers.
        let alike = self.nodes == nodes.len()
            && self.containers.iter().all(|known| known.stands_in(nodes))
            && self.words.iter().all(|known| known.stands_in(nodes))
            && self.short_words.iter().all(|known| known.stands_in(nodes))
            && self.other_names.iter().all(|known| text_at(nodes, known.at) == Some(self.spelling(*known)))
            && self.scalars.iter().all(|at| matches!(nodes.get(*at as usize), Some(Node::Static(_))));
        if !alike {
            return None;
        }
        self.texts.iter().try_fold(self.name_bytes, |sum, at| Some(sum + text_at(nodes, *at)?.len()))
    }

    fn spelling(&self, name: OtherName) -> &[u8] {
        let text = self.spelled.get(name.start as usize..).and_then(|rest| rest.get(..name.len as usize));
        text.unwrap_or_default()
    }

    /// Becomes the outline of these nodes; `None`, and the outline of nothing, if they are too many.
    fn learn(&mut self, nodes: &[Node<'_>]) -> Option<usize> {
        static NEXT: AtomicU64 = AtomicU64::new(1);
        self.forget();
        self.serial = NEXT.fetch_add(1, Ordering::Relaxed);
        let text_bytes = if nodes.len() > NODES_MAX { None } else { self.list(nodes) };
        match text_bytes {
            Some(_) => self.nodes = nodes.len(),
            None => self.forget(),
        }
        text_bytes
    }

    /// Lists the nodes by kind; the bytes of all strings, or `None` if names are too long.
    fn list(&mut self, nodes: &[Node<'_>]) -> Option<usize> {
        let mut is_name = [false; NODES_MAX];
        for at in 0..nodes.len() {
            mark_names(nodes, at, &mut is_name)?;
        }
        let mut text_bytes = 0;
        for (at, (node, is_name)) in (0..).zip(nodes.iter().zip(is_name)) {
            match node {
                Node::Object { len, count } => {
                    self.containers.push(Container { at, is_object: true, len: *len, count: *count });
                }
                Node::Array { len, count } => {
                    self.containers.push(Container { at, is_object: false, len: *len, count: *count });
                }
                Node::Static(_) => self.scalars.push(at),
                Node::String(name) if is_name => self.list_name(at, name)?,
                Node::String(text) => {
                    self.texts.push(at);
                    text_bytes += text.len();
                }
            }
        }
        Some(self.name_bytes + text_bytes)
    }

    fn list_name(&mut self, at: u32, name: &str) -> Option<()> {
        self.name_bytes += name.len();
        if let Some(word) = NameAt::<8>::of(at, name) {
            self.words.push(word);
        } else if let Some(word) = NameAt::<4>::of(at, name) {
            self.short_words.push(word);
        } else {
            let start = self.spelled.len() as u32;
            self.other_names.push(OtherName { at, start, len: name.len() as u32 });
            self.spelled.extend_from_slice(name.as_bytes());
        }
        (self.name_bytes <= NAMES_BYTES_MAX).then_some(())
    }

    fn forget(&mut self) {
        self.nodes = 0;
        self.containers.clear();
        self.words.clear();
        self.short_words.clear();
        self.other_names.clear();
        self.texts.clear();
        self.scalars.clear();
        self.spelled.clear();
        self.name_bytes = 0;
        self.hits = 0;
    }
}

impl Container {
    #[inline]
    fn stands_in(&self, nodes: &[Node<'_>]) -> bool {
        match nodes.get(self.at as usize) {
            Some(Node::Object { len, count }) => self.is_object && (*len, *count) == (self.len, self.count),
            Some(Node::Array { len, count }) => !self.is_object && (*len, *count) == (self.len, self.count),
            _ => false,
        }
    }
}

impl<const N: usize> NameAt<N> {
    fn of(at: u32, name: &str) -> Option<Self> {
        let bytes = name.as_bytes();
        let (head, tail) = (*bytes.first_chunk()?, *bytes.last_chunk()?);
        (bytes.len() <= 2 * N).then_some(Self { at, len: bytes.len() as u32, head, tail })
    }

    #[inline]
    fn stands_in(&self, nodes: &[Node<'_>]) -> bool {
        let Some(name) = text_at(nodes, self.at) else { return false };
        name.len() == self.len as usize
            && name.first_chunk() == Some(&self.head)
            && name.last_chunk() == Some(&self.tail)
    }
}

/// Marks the names of the object at a node, if it is one; `None` if the nodes are no tape.
fn mark_names(nodes: &[Node<'_>], at: usize, is_name: &mut [bool; NODES_MAX]) -> Option<()> {
    let Some(Node::Object { len, .. }) = nodes.get(at) else { return Some(()) };
    let mut name_at = at + 1;
    for _ in 0..*len {
        let Some([Node::String(_), value, ..]) = nodes.get(name_at..) else { return None };
        *is_name.get_mut(name_at)? = true;
        name_at += 2 + match value {
            Node::Object { count, .. } | Node::Array { count, .. } => *count,
            Node::String(_) | Node::Static(_) => 0,
        };
    }
    Some(())
}

#[inline]
fn text_at<'n>(nodes: &'n [Node<'_>], at: u32) -> Option<&'n [u8]> {
    match nodes.get(at as usize) {
        Some(Node::String(text)) => Some(text.as_bytes()),
        _ => None,
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
