//! The parsed form of a payload: simd-json's tape, in memory that is used again for every record.
//!
//! Only this file and its folder call simd-json. Everything above reads [`Node`]s through [`Tape`]: node 0 is the
//! document; an object is followed by name, value, name, value…; `count` of an object or array is the number of
//! nodes it spans, so `index + count + 1` is the node behind it.
//!
//! simd-json refuses numbers that fit neither 64-bit integers nor a finite double. JSON allows them, some formats
//! carry them, and canonical forms need their exact digits. So when it refuses a number the document is parsed once
//! more with each such number blanked out, and the tape gets a [`Wide`] entry that points at the digits.
//!
//! This file must not know formats, schemas or reasons beyond the syntax of JSON.

mod known;
pub(crate) mod lanes;
#[cfg(test)]
mod tests;

use std::ops::Range;

pub(crate) use known::{Known, unescape};
pub use simd_json::{Node, StaticNode};

/// Position of a node on the tape.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct NodeIndex(pub u32);

/// A number that no 64-bit form can carry; its node holds the nearest double (possibly infinite).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Wide {
    /// The number's node.
    pub node: NodeIndex,
    /// Where its text stands in the payload.
    pub start: u32,
    /// How long its text is.
    pub len: u32,
    /// Whether it is written as an integer, whose digits say all there is to it.
    pub whole: bool,
}

/// The outline of a document that was recognised: which names and containers stand where. Made in `outline/`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Outline {
    /// Its place in the memory of the worker.
    pub(crate) slot: usize,
    /// No other outline of the process has it.
    pub(crate) serial: u64,
    /// How many bytes the document's strings and names have together.
    pub(crate) text_bytes: usize,
}

/// One parsed document, borrowed from a [`Parser`].
#[derive(Clone, Copy, Debug)]
pub struct Tape<'a> {
    nodes: &'a [Node<'a>],
    wide: &'a [Wide],
    /// The address of the payload's copy, in which the strings stand.
    origin: usize,
    /// The payload itself, as it was handed over.
    payload: &'a [u8],
    outline: Option<Outline>,
    /// Where its escapes stand, if somebody has found out.
    escapes: Option<Escapes>,
}

/// The part of a payload outside of which every string stands as it is meant: from its first escape to behind its last, or
/// to the end of the string that has it.
///
/// A string that begins with an escape, or holds one, touches this part with as many bytes as it has without them: what
/// stands in front of its first escape has the same length, and an escape stands for one byte at least.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Escapes {
    pub(crate) first: usize,
    pub(crate) behind: usize,
}

impl Escapes {
    pub(crate) const NONE: Self = Self { first: usize::MAX, behind: 0 };
    /// Nothing is left as it stands.
    #[cfg(test)]
    pub(crate) const EVERYWHERE: Self = Self { first: 0, behind: usize::MAX };

    /// Those in a part of a payload.
    pub(crate) fn within(part: Range<usize>) -> Self {
        Self { first: part.start, behind: part.end }
    }

    #[inline]
    pub(crate) fn are_none(self) -> bool {
        self.first >= self.behind
    }

    /// Whether they touch so many bytes from a place on.
    #[inline]
    pub(crate) fn touch(self, start: usize, len: usize) -> bool {
        start < self.behind && self.first < start.saturating_add(len)
    }
}

impl<'a> Tape<'a> {
    /// The document's outline, if it was recognised.
    #[inline]
    #[must_use]
    pub fn outline(self) -> Option<Outline> {
        self.outline
    }

    /// The tape with what its document was recognised by.
    pub(crate) fn with_outline(self, outline: Outline) -> Self {
        Self { outline: Some(outline), ..self }
    }

    /// All nodes in document order.
    #[must_use]
    pub fn nodes(self) -> &'a [Node<'a>] {
        self.nodes
    }

    /// The payload itself, as it was handed over.
    #[inline]
    #[must_use]
    pub fn payload(self) -> &'a [u8] {
        self.payload
    }

    /// Whether it is known already that no string has an escape.
    #[inline]
    pub(crate) fn is_known_without_escapes(self) -> bool {
        self.escapes.is_some_and(Escapes::are_none)
    }

    /// Where its escapes stand.
    #[inline]
    pub(crate) fn escapes(self) -> Escapes {
        self.escapes.unwrap_or_else(|| match memchr::memchr(b'\\', self.payload) {
            Some(first) => {
                let last = memchr::memrchr(b'\\', self.payload).unwrap_or(first);
                Escapes::within(first..last + 1)
            }
            None => Escapes::NONE,
        })
    }

    /// The numbers that no 64-bit form can carry, ascending by node; nearly always empty.
    #[must_use]
    pub fn wide(self) -> &'a [Wide] {
        self.wide
    }

    /// Where a string or name of this tape begins in the payload, behind its opening quote.
    ///
    /// simd-json leaves strings where they stand, also where it unescapes them: they get shorter, but stay.
    #[inline]
    #[must_use]
    pub fn place(self, text: &str) -> usize {
        text.as_ptr().addr().wrapping_sub(self.origin)
    }

    /// The JSON pointer of a node, for people; see [`Self::write_pointer`].
    #[must_use]
    pub fn pointer(self, node: NodeIndex) -> String {
        let mut bytes = Vec::new();
        self.write_pointer(node, &mut bytes);
        String::from_utf8_lossy(&bytes).into_owned()
    }

    /// Writes the JSON pointer (RFC 6901) of a node; a member's name has the pointer of its value.
    pub fn write_pointer(self, node: NodeIndex, out: &mut Vec<u8>) {
        let target = node.0 as usize;
        let mut at = 0;
        while at < target {
            let Some(child) = self.child_towards(at, target, out) else { return };
            at = child;
        }
    }

    /// Steps from the container at `at` to its child that is or contains `target`, and writes that step.
    fn child_towards(self, at: usize, target: usize, out: &mut Vec<u8>) -> Option<usize> {
        let named = matches!(self.nodes.get(at)?, Node::Object { .. });
        let mut value = at + 1;
        for position in 0.. {
            let name = if named { Some(value) } else { None };
            value += usize::from(named);
            let end = value + 1 + nested_nodes(self.nodes.get(value)?);
            if target < end {
                out.push(b'/');
                match name.and_then(|name| self.nodes.get(name)) {
                    Some(Node::String(name)) => write_pointer_token(name, out),
                    _ => write_number(position, out),
                }
                // Whoever asks for a name gets the pointer of its value, and is there.
                return if name == Some(target) { None } else { Some(value) };
            }
            value = end;
        }
        None
    }

    /// Lists where the texts of all numbers stand: node, start and length in the payload, in their order.
    ///
    /// A node has a number's nearest double, which does not tell `0.1` from `0.10000000000000000001`. Few ask for more,
    /// so the texts are searched for only then, in one pass over the payload.
    pub(crate) fn find_numbers(self, places: &mut Vec<(NodeIndex, u32, u32)>) {
        places.clear();
        let nodes = self.nodes.iter().enumerate().filter(|(_, node)| is_number(node));
        places.extend(
            nodes
                .zip(number_ranges(self.payload))
                .map(|((node, _), range)| (NodeIndex(node as u32), range.start as u32, range.len() as u32)),
        );
    }

    /// A number's text as it stands in the payload. Searched for from the last string before it, whose place is known: a
    /// member's is found at once, whatever the size of the payload.
    pub(crate) fn number_text(self, node: NodeIndex) -> Option<&'a str> {
        let target = node.0 as usize;
        self.nodes.get(target).filter(|node| is_number(node))?;
        let mut before = 0;
        let mut start = 0;
        for node in self.nodes.get(..target)?.iter().rev() {
            if let Node::String(text) = node {
                start = string_end(self.payload, self.place(text).checked_sub(1)?)?;
                break;
            }
            before += usize::from(is_number(node));
        }
        let rest = self.payload.get(start..)?;
        std::str::from_utf8(rest.get(number_ranges(rest).nth(before)?)?).ok()
    }

    /// The payload's text at a place that [`Self::find_numbers`] listed.
    pub(crate) fn text_at(self, start: usize, len: usize) -> Option<&'a str> {
        std::str::from_utf8(self.payload.get(start..start + len)?).ok()
    }

    /// The first number that nothing can carry: a double that overflows (`1e400`). Integers have no such bound: their
    /// digits are exact, however many.
    #[must_use]
    pub fn first_overflow(self) -> Option<NodeIndex> {
        self.wide.iter().find(|wide| !wide.whole).map(|wide| wide.node)
    }
}

/// Why a payload is not one JSON document.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Malformed {
    /// Not JSON.
    #[error("its syntax is wrong")]
    Syntax,
    /// Not UTF-8.
    #[error("it is not UTF-8")]
    NotUtf8,
    /// JSON but for an escape that names half a surrogate pair, which no UTF-8 can hold.
    #[error("an escape names half a surrogate pair")]
    LoneSurrogate,
    /// Nested deeper than the parser's limit.
    #[error("it is nested too deeply")]
    TooDeep,
}

/// Parses payloads into tapes; owns all the memory that this takes.
pub struct Parser {
    /// The payload's copy, with room behind it: simd-json unescapes strings in place, and reads past their ends.
    scratch: Vec<u8>,
    buffers: simd_json::Buffers,
    /// The nodes between two documents: empty, but with their memory.
    nodes: simd_json::Tape<'static>,
    wide: Vec<Wide>,
    depth_max: usize,
}

impl Parser {
    /// A parser that refuses documents nested deeper than `depth_max` (the top level is depth 1).
    #[must_use]
    pub fn new(depth_max: usize) -> Self {
        const PAYLOAD_BYTES_TYPICAL: usize = 16 * 1024;
        Self {
            scratch: Vec::with_capacity(PAYLOAD_BYTES_TYPICAL + simd_json::INPUT_PADDING),
            buffers: simd_json::Buffers::with_max_depth(PAYLOAD_BYTES_TYPICAL, depth_max),
            nodes: simd_json::Tape(Vec::with_capacity(1024)),
            wide: Vec::new(),
            depth_max,
        }
    }

    /// Parses `payload` and hands the tape to `then`; the tape ends with it.
    pub fn parse<R>(&mut self, payload: &[u8], then: impl FnOnce(Result<Tape<'_>, Malformed>) -> R) -> R {
        let Self { scratch, buffers, nodes, wide, .. } = self;
        let mut tape = std::mem::replace(nodes, simd_json::Tape(Vec::new())).reset();
        wide.clear();
        // With its room made, the copy's memory stays where it is.
        scratch.clear();
        scratch.reserve(payload.len() + simd_json::INPUT_PADDING);
        let origin = scratch.as_ptr().addr();
        let outcome = match refill(scratch, payload, buffers, &mut tape) {
            Err(simd_json::ErrorType::InvalidNumber) => {
                // The first tape borrows `scratch`; start over with a fresh borrow of both.
                let mut again = tape.reset();
                if let Err(why) = parse_wide(scratch, payload, buffers, &mut again, wide) {
                    let mut last = again.reset();
                    let why = match why {
                        Malformed::TooDeep => why,
                        _ => why_malformed(scratch, payload, buffers, &mut last, wide),
                    };
                    let result = then(Err(why));
                    *nodes = last.reset();
                    return result;
                }
                let result =
                    then(Ok(Tape { nodes: &again.0, wide, origin, payload, outline: None, escapes: None }));
                *nodes = again.reset();
                return result;
            }
            Err(simd_json::ErrorType::DepthLimitExceeded) => Err(Malformed::TooDeep),
            Err(_) => {
                let mut again = tape.reset();
                let why = why_malformed(scratch, payload, buffers, &mut again, wide);
                let result = then(Err(why));
                *nodes = again.reset();
                return result;
            }
            Ok(()) => Ok(()),
        };
        let result = then(outcome.map(|()| Tape {
            nodes: &tape.0,
            wide,
            origin,
            payload,
            outline: None,
            escapes: None,
        }));
        *nodes = tape.reset();
        result
    }
}

/// Copies the payload into `scratch` and parses it there.
fn refill<'a>(
    scratch: &'a mut Vec<u8>,
    payload: &[u8],
    buffers: &mut simd_json::Buffers,
    tape: &mut simd_json::Tape<'a>,
) -> Result<(), simd_json::ErrorType> {
    copy(payload, scratch);
    fill(scratch, payload.len(), buffers, tape)
}

/// Copies the payload into `scratch`, with room behind it.
fn copy(payload: &[u8], scratch: &mut Vec<u8>) {
    scratch.clear();
    scratch.extend_from_slice(payload);
    scratch.extend_from_slice(&[b' '; simd_json::INPUT_PADDING]);
}

/// Parses the first `len` bytes of a copy that has room behind them.
///
/// PERF: without that room simd-json makes a second copy of its own.
fn fill<'a>(
    copy: &'a mut [u8],
    len: usize,
    buffers: &mut simd_json::Buffers,
    tape: &mut simd_json::Tape<'a>,
) -> Result<(), simd_json::ErrorType> {
    simd_json::fill_tape_padded(copy, len, buffers, tape).map_err(|error| kind(&error))
}

/// The error's kind; simd-json's own type cannot be copied out, and only these two matter.
fn kind(error: &simd_json::Error) -> simd_json::ErrorType {
    match error.error() {
        simd_json::ErrorType::InvalidNumber => simd_json::ErrorType::InvalidNumber,
        simd_json::ErrorType::DepthLimitExceeded => simd_json::ErrorType::DepthLimitExceeded,
        _ => simd_json::ErrorType::Syntax,
    }
}

/// Parses a document that may hold numbers beyond 64 bits: they are replaced by `0` and blanks of the same length
/// for simd-json, then put onto the tape as their nearest double with their place in the payload.
fn parse_wide<'a>(
    scratch: &'a mut Vec<u8>,
    payload: &[u8],
    buffers: &mut simd_json::Buffers,
    tape: &mut simd_json::Tape<'a>,
    wide: &mut Vec<Wide>,
) -> Result<(), Malformed> {
    copy(payload, scratch);
    blank_wide_numbers(payload, scratch, wide)?;
    match fill(scratch, payload.len(), buffers, tape) {
        Ok(()) => {}
        Err(simd_json::ErrorType::DepthLimitExceeded) => return Err(Malformed::TooDeep),
        Err(_) => return Err(Malformed::Syntax),
    }
    // `wide[k].node` holds the ordinal among the document's numbers so far; turn it into the node's index.
    let mut pending = wide.iter_mut().peekable();
    let numbers = tape.0.iter_mut().enumerate().filter(|(_, node)| is_number(node));
    for (ordinal, (index, node)) in numbers.enumerate() {
        if let Some(entry) = pending.next_if(|entry| entry.node.0 as usize == ordinal) {
            entry.node = NodeIndex(index as u32);
            *node = Node::Static(StaticNode::F64(nearest_double(payload, *entry)));
        }
    }
    Ok(())
}

/// Why a payload that does not parse is no JSON; only such payloads are looked at a second time.
fn why_malformed<'a>(
    scratch: &'a mut Vec<u8>,
    payload: &[u8],
    buffers: &mut simd_json::Buffers,
    tape: &mut simd_json::Tape<'a>,
    wide: &mut Vec<Wide>,
) -> Malformed {
    if std::str::from_utf8(payload).is_err() {
        return Malformed::NotUtf8;
    }
    copy(payload, scratch);
    if !replace_lone_surrogates(scratch) {
        return Malformed::Syntax;
    }
    // Escapes keep their length, so numbers stand where they stood.
    wide.clear();
    let holds = blank_wide_numbers(payload, scratch, wide).is_ok()
        && fill(scratch, payload.len(), buffers, tape).is_ok();
    if holds { Malformed::LoneSurrogate } else { Malformed::Syntax }
}

/// Turns each escape of half a surrogate pair into one of the replacement character; says whether there was one.
fn replace_lone_surrogates(text: &mut [u8]) -> bool {
    let mut replaced = false;
    let mut at = 0;
    while let Some(found) = memchr::memchr(b'\\', text.get(at..).unwrap_or_default()) {
        at += found;
        match escaped_unit(text, at) {
            Some(0xd800..=0xdbff) if matches!(escaped_unit(text, at + 6), Some(0xdc00..=0xdfff)) => at += 12,
            Some(0xd800..=0xdfff) => {
                if let Some(digits) = text.get_mut(at + 2..at + 6) {
                    digits.copy_from_slice(b"fffd");
                    replaced = true;
                }
                at += 6;
            }
            Some(_) => at += 6,
            None => at += 2,
        }
    }
    replaced
}

/// The UTF-16 code unit of the escape at `at`, if one stands there.
fn escaped_unit(text: &[u8], at: usize) -> Option<u32> {
    let [b'\\', b'u', digits @ ..] = text.get(at..at + 6)? else { return None };
    digits.iter().try_fold(0, |unit, digit| Some(unit * 16 + char::from(*digit).to_digit(16)?))
}

/// How many nodes follow that belong to this one.
fn nested_nodes(node: &Node<'_>) -> usize {
    match node {
        Node::Object { count, .. } | Node::Array { count, .. } => *count,
        Node::String(_) | Node::Static(_) => 0,
    }
}

/// Writes an index in decimal, without the `String` that formatting would make.
fn write_number(number: usize, out: &mut Vec<u8>) {
    let from = out.len();
    let mut rest = number;
    loop {
        out.push(b'0' + (rest % 10) as u8);
        rest /= 10;
        if rest == 0 {
            break;
        }
    }
    if let Some(digits) = out.get_mut(from..) {
        digits.reverse();
    }
}

fn write_pointer_token(name: &str, out: &mut Vec<u8>) {
    for byte in name.bytes() {
        match byte {
            b'~' => out.extend_from_slice(b"~0"),
            b'/' => out.extend_from_slice(b"~1"),
            _ => out.push(byte),
        }
    }
}

fn nearest_double(payload: &[u8], wide: Wide) -> f64 {
    let text = payload.get(wide.start as usize..(wide.start + wide.len) as usize).unwrap_or_default();
    std::str::from_utf8(text).ok().and_then(|text| text.parse().ok()).unwrap_or(f64::NAN)
}

fn is_number(node: &Node<'_>) -> bool {
    matches!(node, Node::Static(StaticNode::I64(_) | StaticNode::U64(_) | StaticNode::F64(_)))
}

/// Finds the numbers outside strings, checks their grammar, and blanks those that 64 bits cannot carry.
fn blank_wide_numbers(payload: &[u8], scratch: &mut [u8], wide: &mut Vec<Wide>) -> Result<(), Malformed> {
    for (ordinal, range) in number_ranges(payload).enumerate() {
        let text = payload.get(range.clone()).filter(|text| is_json_number(text)).ok_or(Malformed::Syntax)?;
        if !fits_64_bits(text) {
            let (node, start, len) = (NodeIndex(ordinal as u32), range.start as u32, range.len() as u32);
            wide.push(Wide { node, start, len, whole: is_whole(text) });
            blank(scratch, range);
        }
    }
    Ok(())
}

/// Where the numbers outside strings stand; a string that never closes ends them.
fn number_ranges(payload: &[u8]) -> impl Iterator<Item = Range<usize>> {
    let mut at = 0;
    std::iter::from_fn(move || {
        loop {
            match *payload.get(at)? {
                b'"' => at = string_end(payload, at)?,
                b'-' | b'0'..=b'9' => {
                    let start = at;
                    at = number_end(payload, start);
                    return Some(start..at);
                }
                _ => at += 1,
            }
        }
    })
}

/// The index behind the string that opens at `start`, or `None` if it never closes.
fn string_end(payload: &[u8], start: usize) -> Option<usize> {
    let mut at = start + 1;
    loop {
        match payload.get(at)? {
            b'"' => return Some(at + 1),
            b'\\' => at += 2,
            _ => at += 1,
        }
    }
}

/// The index behind the bytes that can belong to the number which starts at `start`.
fn number_end(payload: &[u8], start: usize) -> usize {
    let rest = payload.get(start..).unwrap_or_default();
    let len = rest.iter().position(|byte| !matches!(byte, b'0'..=b'9' | b'+' | b'-' | b'.' | b'e' | b'E'));
    start + len.unwrap_or(rest.len())
}

/// Whether `text` is a number by RFC 8259, section 6.
pub(crate) fn is_json_number(text: &[u8]) -> bool {
    let text = text.strip_prefix(b"-").unwrap_or(text);
    let (integer, rest) = split_digits(text);
    if integer.is_empty() || (integer.len() > 1 && integer.first() == Some(&b'0')) {
        return false;
    }
    let rest = match rest.strip_prefix(b".") {
        Some(rest) => match split_digits(rest) {
            ([], _) => return false,
            (_, rest) => rest,
        },
        None => rest,
    };
    let Some(exponent) = rest.strip_prefix(b"e").or_else(|| rest.strip_prefix(b"E")) else {
        return rest.is_empty();
    };
    let exponent = exponent.strip_prefix(b"+").or_else(|| exponent.strip_prefix(b"-")).unwrap_or(exponent);
    let (digits, rest) = split_digits(exponent);
    !digits.is_empty() && rest.is_empty()
}

fn split_digits(text: &[u8]) -> (&[u8], &[u8]) {
    text.split_at(text.iter().position(|byte| !byte.is_ascii_digit()).unwrap_or(text.len()))
}

fn fits_64_bits(number: &[u8]) -> bool {
    let Ok(text) = std::str::from_utf8(number) else { return false };
    if !is_whole(number) {
        return text.parse::<f64>().is_ok_and(f64::is_finite);
    }
    text.parse::<i64>().is_ok() || text.parse::<u64>().is_ok()
}

/// Whether a number is written as an integer.
pub(crate) fn is_whole(number: &[u8]) -> bool {
    !number.iter().any(|byte| matches!(byte, b'.' | b'e' | b'E'))
}

fn blank(scratch: &mut [u8], range: Range<usize>) {
    if let Some([first, rest @ ..]) = scratch.get_mut(range) {
        *first = b'0';
        rest.fill(b' ');
    }
}
