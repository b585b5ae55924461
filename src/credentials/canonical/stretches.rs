//! The form of a compact payload: stretches of the payload, in the right order, with punctuation between them.
//!
//! A compact payload (`compact.rs`) holds every token as the form writes it; only members may stand in another order. So
//! the form is a list of [`Stretch`]es, and as long as one token follows the other in the payload as in the form, they
//! belong to the same one. If all is in order there is one stretch, or two around a member that is left out, and the
//! payload's own bytes are the form.
//!
//! A list names nodes, not places. It holds for every compact payload with the same names and containers.

use std::marker::PhantomData;
use std::ops::Range;

use super::Unfit;
use super::compact;
use super::forms::Form;
use super::order::Ordered;
use super::room::{CHUNK_BYTES, Room};
use super::walk::{Emit, Lists, walk};
use crate::tape::{Node, StaticNode, Tape};

/// Neighbouring tokens, and the punctuation that follows them in the form.
#[derive(Clone, Copy, Debug)]
pub(super) struct Stretch {
    /// The name that it begins with, [`BEGIN`] or [`NOWHERE`].
    start: u32,
    /// The last string or name in it, or as `start`.
    last: u32,
    /// The last token in it: behind `last` there are only numbers, words, brackets, colons and commas.
    to: u32,
    /// How many bytes stand behind `last`, beside numbers and words.
    beyond: u32,
    /// Punctuation of the form, the first byte lowest.
    tail: u64,
    tail_len: u32,
}

/// At the begin of the value.
const BEGIN: u32 = u32::MAX;
/// Nothing of the payload, only punctuation.
const NOWHERE: u32 = u32::MAX - 1;
/// Longer punctuation takes another stretch.
const TAIL_BYTES: u32 = 8;

/// A compact payload and the place of the value in it.
#[derive(Clone, Copy)]
pub(super) struct Compact<'a, 't> {
    pub(super) tape: Tape<'t>,
    pub(super) payload: &'a [u8],
    pub(super) node: usize,
    /// Where the value begins.
    begin: usize,
}

/// What a list was made of.
pub(super) struct Listed {
    /// Whether the stretches tell the whole form.
    pub(super) whole: bool,
    /// How many bytes the form has; `None` if it carries a number not at all, or not in the payload's spelling.
    pub(super) bytes: Option<usize>,
}

/// Lists the stretches of the value at `node`, as if the payload were compact.
pub(super) fn list<F: Form>(
    ordered: Ordered<'_>,
    node: usize,
    lists: &mut Lists,
    stretches: &mut Vec<Stretch>,
) -> Result<Listed, Unfit> {
    stretches.clear();
    let nodes = ordered.tape.nodes();
    let begin = Stretch { start: BEGIN, last: BEGIN, to: node as u32, beyond: 0, tail: 0, tail_len: 0 };
    let mut builder = Builder::<F> {
        ordered,
        stretches,
        current: begin,
        expected: token_from(nodes, node),
        whole: true,
        bytes: 0,
        is_spelled: true,
        behind_double: None,
        form: PhantomData,
    };
    walk::<F, _>(ordered, node, lists, &mut builder)?;
    builder.stretches.push(builder.current);
    Ok(Listed { whole: builder.whole, bytes: builder.is_spelled.then_some(builder.bytes) })
}

/// Puts the list together while the form is walked; the current stretch's tail is what was told since its last token.
struct Builder<'a, 's, F> {
    ordered: Ordered<'a>,
    stretches: &'s mut Vec<Stretch>,
    current: Stretch,
    /// The token that follows the last one in the payload.
    expected: usize,
    /// Whether everything begins where a place is known.
    whole: bool,
    /// The bytes of the form so far.
    bytes: usize,
    /// Whether numbers stand there as the form writes them.
    is_spelled: bool,
    behind_double: Option<(usize, usize)>,
    form: PhantomData<F>,
}

impl<F: Form> Builder<'_, '_, F> {
    #[inline(always)]
    #[expect(clippy::inline_always, reason = "less than a call")]
    fn punctuation(&mut self, byte: u8) {
        if self.current.tail_len == TAIL_BYTES {
            self.stretches.push(self.current);
            self.current = Stretch { start: NOWHERE, last: NOWHERE, tail: 0, tail_len: 0, ..self.current };
        }
        self.current.tail |= u64::from(byte) << (8 * self.current.tail_len);
        self.current.tail_len += 1;
        self.bytes += 1;
    }

    /// A name, which may begin a stretch, or a string, which never does.
    #[inline(always)]
    #[expect(clippy::inline_always, reason = "less than a call")]
    fn text(&mut self, at: usize, text: &str) {
        if at != self.expected || self.current.start == NOWHERE {
            self.stretches.push(self.current);
            self.current.start = at as u32;
        }
        self.current.last = at as u32;
        self.current.beyond = 0;
        self.current.tail = 0;
        self.current.tail_len = 0;
        self.follow(at);
        self.bytes += text.len() + 2;
    }

    #[inline(always)]
    #[expect(clippy::inline_always, reason = "less than a call")]
    fn follow(&mut self, at: usize) {
        self.current.to = at as u32;
        self.expected = token_from(self.ordered.tape.nodes(), at + 1);
    }

    /// A token that cannot begin a stretch, with these bytes beside those of a number or word. It follows the one before it
    /// in the payload, unless a member was left out between them.
    #[inline]
    fn add(&mut self, at: usize, bytes: u32) {
        self.whole &= self.current.start != NOWHERE && at == self.expected;
        self.current.beyond += self.current.tail_len + bytes;
        self.current.tail = 0;
        self.current.tail_len = 0;
        self.follow(at);
        self.bytes += bytes as usize;
    }
}

impl<F: Form> Emit for Builder<'_, '_, F> {
    #[inline]
    fn open(&mut self, bracket: u8) {
        self.punctuation(bracket);
    }

    #[inline]
    fn close(&mut self, bracket: u8) {
        self.punctuation(bracket);
    }

    #[inline]
    fn comma(&mut self) {
        self.punctuation(b',');
    }

    #[inline]
    fn name(&mut self, at: usize, name: &str) {
        self.text(at, name);
        // There is room for it.
        self.current.tail = u64::from(b':');
        self.current.tail_len = 1;
        self.bytes += 1;
    }

    #[inline]
    fn string(&mut self, at: usize, text: &str) {
        self.text(at, text);
    }

    // PERF: as a name, a colon and a string, in one go.
    #[inline]
    fn text_member(&mut self, at: usize, name: &str, text: &str) {
        if at != self.expected || self.current.start == NOWHERE {
            self.stretches.push(self.current);
            self.current.start = at as u32;
        }
        let value = at as u32 + 1;
        self.current = Stretch { last: value, to: value, beyond: 0, tail: 0, tail_len: 0, ..self.current };
        self.expected = token_from(self.ordered.tape.nodes(), at + 2);
        self.bytes += name.len() + text.len() + 5;
    }

    #[inline]
    fn scalar(&mut self, at: usize, scalar: StaticNode) -> Result<(), Unfit> {
        self.add(at, 0);
        if !self.is_spelled {
            return Ok(());
        }
        let Ordered { tape, payload, .. } = self.ordered;
        match compact::scalar_bytes::<F>(tape, payload, at, scalar, &mut self.behind_double) {
            Some(bytes) => self.bytes += bytes,
            None => self.is_spelled = false,
        }
        Ok(())
    }

    #[inline]
    fn empty(&mut self, at: usize, brackets: [u8; 2]) {
        self.add(at, brackets.len() as u32);
    }
}

/// The first token at a node or behind it: a container that is not empty is none, but what is in it.
#[inline]
fn token_from(nodes: &[Node<'_>], at: usize) -> usize {
    let mut at = at;
    while let Some(Node::Object { count: 1.., .. } | Node::Array { count: 1.., .. }) = nodes.get(at) {
        at += 1;
    }
    at
}

impl<'a, 't> Compact<'a, 't> {
    /// The value at `node` of a compact payload; `None` where its place cannot be told.
    pub(super) fn new(tape: Tape<'t>, payload: &'a [u8], node: usize) -> Option<Self> {
        let begin = match node.checked_sub(1) {
            None => 0,
            Some(last) => {
                let Some(Node::String(text)) = tape.nodes().get(last) else { return None };
                let begin = tape.place(text) + text.len() + 2;
                // Behind a closing bracket the string belongs to another container.
                matches!(payload.get(begin - 1), Some(b':' | b',')).then_some(begin)?
            }
        };
        Some(Self { tape, payload, node, begin })
    }

    /// Where a stretch stands in the payload.
    #[inline]
    fn range<F: Form>(self, stretch: &Stretch) -> Option<Range<usize>> {
        let nodes = self.tape.nodes();
        match (nodes.get(stretch.start as usize), nodes.get(stretch.last as usize)) {
            // PERF: nearly all of them.
            (Some(Node::String(first)), Some(Node::String(last))) if stretch.to == stretch.last => {
                Some(self.tape.place(first) - 1..self.tape.place(last) + last.len() + 1)
            }
            _ => self.other_range::<F>(stretch),
        }
    }

    /// As [`Self::range`], for stretches that do not begin with a name, or do not end with a string.
    #[cold]
    fn other_range<F: Form>(self, stretch: &Stretch) -> Option<Range<usize>> {
        let start = match stretch.start {
            BEGIN => self.begin,
            NOWHERE => return Some(0..0),
            name => self.tape.place(self.text(name)?) - 1,
        };
        let (known, rest) = match stretch.last {
            BEGIN => (self.begin, self.node),
            last => {
                let text = self.text(last)?;
                (self.tape.place(text) + text.len() + 1, last as usize + 1)
            }
        };
        let mut end = known + stretch.beyond as usize;
        // PERF: the one value behind a name's colon need not be printed.
        if rest == stretch.to as usize && stretch.last != BEGIN && stretch.beyond == 1 {
            return Some(start..end + compact::token_bytes(self.payload, end)?);
        }
        for node in self.tape.nodes().get(rest..=stretch.to as usize).unwrap_or_default() {
            if let Node::Static(scalar) = node {
                end += compact::written_bytes::<F>(*scalar);
            }
        }
        Some(start..end)
    }

    fn text(self, at: u32) -> Option<&'t str> {
        match self.tape.nodes().get(at as usize) {
            Some(Node::String(text)) => Some(text),
            _ => None,
        }
    }

    /// The form as pieces of the payload, if it is one or two.
    pub(super) fn pieces<F: Form>(self, stretches: &[Stretch]) -> Option<[&'a [u8]; 2]> {
        let (first, second) = match stretches {
            [first] => (first, None),
            [first, second] => (first, Some(second)),
            _ => return None,
        };
        let payload = self.payload;
        let one = self.range::<F>(first)?;
        // Of the punctuation behind the first stretch, some stands behind it in the payload, too.
        let tail = first.tail();
        let follows =
            tail.as_bytes().iter().zip(payload.get(one.end..)?).take_while(|(tail, byte)| tail == byte);
        let (_, rest) = tail.as_bytes().split_at_checked(follows.count())?;
        let one = payload.get(one.start..one.end + tail.len - rest.len())?;
        // The rest stands in front of the second one, or at the end if the last member is left out.
        let (start, end) = match second {
            Some(second) => {
                let two = self.range::<F>(second)?;
                let end = two.end + second.tail_len as usize;
                if payload.get(two.end..end)? != second.tail().as_bytes() {
                    return None;
                }
                (two.start, end)
            }
            None if rest.is_empty() => return Some([one, &[]]),
            None if self.node > 0 => return None,
            None => (payload.trim_ascii_end().len(), payload.trim_ascii_end().len()),
        };
        let before = start.checked_sub(rest.len())?;
        (payload.get(before..start)? == rest).then_some([one, payload.get(before..end)?])
    }

    /// The form as pieces of the payload; `None` if it is more than two, and was appended to `out` instead.
    pub(super) fn take<F: Form>(
        self,
        stretches: &[Stretch],
        out: &mut Room,
    ) -> Result<Option<[&'a [u8]; 2]>, Unfit> {
        let pieces = self.pieces::<F>(stretches);
        if pieces.is_none() {
            self.copy::<F>(stretches, out).ok_or(Unfit::NoSuchNode)?;
        }
        Ok(pieces)
    }

    /// Appends the form to `out`.
    pub(super) fn copy<F: Form>(self, stretches: &[Stretch], out: &mut Room) -> Option<()> {
        let mut to = out.len();
        // Room for all at once, since nothing gets longer, and for what is written too far.
        out.reach(to + self.payload.len() + CHUNK_BYTES);
        for stretch in stretches {
            let Range { start, end } = self.range::<F>(stretch)?;
            let len = end.checked_sub(start)?;
            let is_copied = out.copy_to(to, self.payload.get(start..)?, len)
                && out.copy_array_to(to + len, &stretch.tail.to_le_bytes());
            to += len + stretch.tail_len as usize;
            is_copied.then_some(())?;
        }
        out.end_at(to);
        Some(())
    }
}

impl Stretch {
    fn tail(&self) -> Tail {
        Tail { bytes: self.tail.to_le_bytes(), len: self.tail_len as usize }
    }
}

/// The punctuation of a stretch as bytes.
struct Tail {
    bytes: [u8; TAIL_BYTES as usize],
    len: usize,
}

impl Tail {
    fn as_bytes(&self) -> &[u8] {
        self.bytes.get(..self.len).unwrap_or_default()
    }
}
