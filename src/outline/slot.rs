//! The outlines themselves, and how a document is compared with one.
//!
//! PERF: what stands at the nodes is listed by kind, so that comparing takes a plain loop for each kind, and no jump that
//! depends on a node. This file must not decide which outlines are worth remembering.

use super::NODES_MAX;
use super::pool::{Pool, Span};
use crate::tape::Node;

/// LIMIT: bytes of all names of an outline.
pub(super) const NAMES_BYTES_MAX: usize = 4096;
/// LIMIT: nodes of each kind in all outlines that were written since the pools were cleared; enough for hundreds of
/// envelopes of a hundred members.
const POOLED_MAX: usize = 1 << 15;

/// One outline: where its nodes stand in the [`Pools`].
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Slot {
    /// No other outline of the process has it; zero is that of nothing.
    pub(super) serial: u64,
    /// The hash of its documents.
    pub(super) hash: u64,
    /// How many documents had it lately.
    pub(super) hits: u32,
    /// How many nodes it has; none has the outline of nothing.
    nodes: u32,
    /// The bytes of all names.
    name_bytes: u32,
    containers: Span,
    /// Names of 8 to 16 bytes, of 4 to 7, and all others.
    words: Span,
    short_words: Span,
    other_names: Span,
    /// Strings that are no names.
    texts: Span,
    /// Numbers and words.
    scalars: Span,
}

/// The nodes of all outlines, by kind.
#[derive(Debug)]
pub(super) struct Pools {
    containers: Pool<Container>,
    words: Pool<NameAt<8>>,
    short_words: Pool<NameAt<4>>,
    other_names: Pool<OtherName>,
    texts: Pool<u32>,
    scalars: Pool<u32>,
    /// The texts of `other_names`.
    spelled: Pool<u8>,
}

/// Why an outline is not remembered.
pub(super) enum Unfit {
    /// It has too many nodes, or too long names.
    TooLarge,
    /// There is no room left for it.
    Full,
}

/// An object or array, and where.
#[derive(Clone, Copy, Debug)]
struct Container {
    at: u32,
    is_object: bool,
    len: u32,
    count: u32,
}

/// A name of N to 2N bytes: its begin and its end are all of it.
#[derive(Clone, Copy, Debug)]
struct NameAt<const N: usize> {
    at: u32,
    len: u32,
    head: [u8; N],
    tail: [u8; N],
}

/// A name that is shorter or longer than those.
#[derive(Clone, Copy, Debug)]
struct OtherName {
    at: u32,
    text: Span,
}

impl Default for Pools {
    fn default() -> Self {
        Self {
            containers: Pool::new(POOLED_MAX),
            words: Pool::new(POOLED_MAX),
            short_words: Pool::new(POOLED_MAX),
            other_names: Pool::new(POOLED_MAX),
            texts: Pool::new(POOLED_MAX),
            scalars: Pool::new(POOLED_MAX),
            spelled: Pool::new(16 * POOLED_MAX),
        }
    }
}

impl Pools {
    /// Forgets all outlines.
    pub(super) fn clear(&mut self) {
        self.containers.clear();
        self.words.clear();
        self.short_words.clear();
        self.other_names.clear();
        self.texts.clear();
        self.scalars.clear();
        self.spelled.clear();
    }

    /// The bytes of all strings, if these nodes have the outline of a slot. Every node stands in one of its lists.
    #[inline]
    pub(super) fn compare(&self, slot: &Slot, nodes: &[Node<'_>]) -> Option<usize> {
        // Containers tell most strangers.
        let alike = slot.nodes as usize == nodes.len()
            && self.containers.list(slot.containers)?.iter().all(|known| known.stands_in(nodes))
            && self.words.list(slot.words)?.iter().all(|known| known.stands_in(nodes))
            && self.short_words.list(slot.short_words)?.iter().all(|known| known.stands_in(nodes))
            && self.other_names.list(slot.other_names)?.iter().all(|known| self.is_spelled(known, nodes))
            && self.scalars.list(slot.scalars)?.iter().all(|at| is_scalar(nodes, *at));
        if !alike {
            return None;
        }
        let mut texts = self.texts.list(slot.texts)?.iter();
        texts.try_fold(slot.name_bytes as usize, |sum, at| Some(sum + text_at(nodes, *at)?.len()))
    }

    fn is_spelled(&self, name: &OtherName, nodes: &[Node<'_>]) -> bool {
        let (found, spelled) = (text_at(nodes, name.at), self.spelled.list(name.text));
        found.is_some() && found == spelled
    }

    /// The outline of some nodes, and the bytes of all their strings. If there is no room, all has to be cleared.
    pub(super) fn learn(&mut self, nodes: &[Node<'_>]) -> Result<(Slot, usize), Unfit> {
        let mut is_name = [false; NODES_MAX];
        if nodes.len() > NODES_MAX {
            return Err(Unfit::TooLarge);
        }
        let mut name_bytes = 0;
        for at in 0..nodes.len() {
            name_bytes += mark_names(nodes, at, &mut is_name).ok_or(Unfit::TooLarge)?;
        }
        if name_bytes > NAMES_BYTES_MAX {
            return Err(Unfit::TooLarge);
        }
        let begun = self.begin();
        let mut text_bytes = 0;
        for (at, (node, is_name)) in (0..).zip(nodes.iter().zip(is_name)) {
            if let (Node::String(text), false) = (node, is_name) {
                text_bytes += text.len();
            }
            self.list(at, node, is_name).ok_or(Unfit::Full)?;
        }
        let (nodes, name_bytes) = (nodes.len() as u32, name_bytes as u32);
        let slot = Slot { nodes, name_bytes, ..self.end(begun) };
        Ok((slot, name_bytes as usize + text_bytes))
    }

    fn begin(&self) -> Slot {
        Slot {
            containers: self.containers.begin(),
            words: self.words.begin(),
            short_words: self.short_words.begin(),
            other_names: self.other_names.begin(),
            texts: self.texts.begin(),
            scalars: self.scalars.begin(),
            ..Slot::default()
        }
    }

    fn end(&self, begun: Slot) -> Slot {
        Slot {
            containers: self.containers.end(begun.containers),
            words: self.words.end(begun.words),
            short_words: self.short_words.end(begun.short_words),
            other_names: self.other_names.end(begun.other_names),
            texts: self.texts.end(begun.texts),
            scalars: self.scalars.end(begun.scalars),
            ..begun
        }
    }

    /// Lists a node by its kind; `None` if there is no room.
    fn list(&mut self, at: u32, node: &Node<'_>, is_name: bool) -> Option<()> {
        let container = |is_object, len: &usize, count: &usize| {
            let (len, count) = (*len as u32, *count as u32);
            Container { at, is_object, len, count }
        };
        match node {
            Node::Object { len, count } => self.containers.push(container(true, len, count)),
            Node::Array { len, count } => self.containers.push(container(false, len, count)),
            Node::Static(_) => self.scalars.push(at),
            Node::String(_) if !is_name => self.texts.push(at),
            Node::String(name) => {
                if let Some(word) = NameAt::of(at, name) {
                    return self.words.push(word);
                }
                if let Some(word) = NameAt::of(at, name) {
                    return self.short_words.push(word);
                }
                let text = self.spelled.add(name.bytes())?;
                self.other_names.push(OtherName { at, text })
            }
        }
    }
}

impl Container {
    #[inline]
    fn stands_in(&self, nodes: &[Node<'_>]) -> bool {
        let known = (self.len as usize, self.count as usize);
        match nodes.get(self.at as usize) {
            Some(Node::Object { len, count }) => self.is_object && (*len, *count) == known,
            Some(Node::Array { len, count }) => !self.is_object && (*len, *count) == known,
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
        let (Some(head), Some(tail)) = (name.first_chunk::<N>(), name.last_chunk::<N>()) else {
            return false;
        };
        // PERF: one branch for all three.
        #[expect(clippy::needless_bitwise_bool, reason = "lazy operators would be branches")]
        let is_it = (name.len() == self.len as usize) & (*head == self.head) & (*tail == self.tail);
        is_it
    }
}

/// Marks the names of the object at a node, if it is one, and adds up their bytes; `None` if the nodes are no tape.
pub(super) fn mark_names(nodes: &[Node<'_>], at: usize, is_name: &mut [bool; NODES_MAX]) -> Option<usize> {
    let Some(Node::Object { len, .. }) = nodes.get(at) else { return Some(0) };
    let (mut name_at, mut bytes) = (at + 1, 0);
    for _ in 0..*len {
        let Some([Node::String(name), value, ..]) = nodes.get(name_at..) else { return None };
        *is_name.get_mut(name_at)? = true;
        bytes += name.len();
        name_at += 2 + match value {
            Node::Object { count, .. } | Node::Array { count, .. } => *count,
            Node::String(_) | Node::Static(_) => 0,
        };
    }
    Some(bytes)
}

#[inline]
fn text_at<'n>(nodes: &'n [Node<'_>], at: u32) -> Option<&'n [u8]> {
    match nodes.get(at as usize) {
        Some(Node::String(text)) => Some(text.as_bytes()),
        _ => None,
    }
}

#[inline]
fn is_scalar(nodes: &[Node<'_>], at: u32) -> bool {
    matches!(nodes.get(at as usize), Some(Node::Static(_)))
}
