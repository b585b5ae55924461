//! Frames: all of a document's text but its values.
//!
//! ```text
//! {"id":"…","at":{"n":…}}     pieces: {"id":"   ","at":{"n":   }}     values: a text, a scalar
//! ```
//!
//! PERF: a program that writes envelopes writes the same names, brackets and blanks each time, and only values differ. So
//! a document whose frame is known needs no parser: its pieces are compared, its values end where a quote or a bracket
//! says so, and all nodes follow. What is compared is exact, and everything that a value may hold is checked as the
//! parser would, so the tape is the parser's, node by node; what does not fit is left to the parser.
//!
//! All frames are one tree of pieces, since frames of one program begin alike. Nothing here allocates once made.

mod fit;
mod learn;
#[cfg(test)]
mod tests;
mod write;

use std::hash::{BuildHasher as _, RandomState};

use super::pool::{Pool, Span};
use crate::tape::lanes::LOOK_BYTES;
use crate::tape::{Escapes, Node, Outline};

/// LIMIT: frames that are known at a time.
const FRAMES_MAX: usize = 1024;
/// LIMIT: pieces of all frames.
const PIECES_MAX: usize = 1 << 14;
/// LIMIT: pieces with one hash.
const CHAIN_MAX: usize = 8;
/// Pieces by hash.
const BUCKETS: usize = 2 * PIECES_MAX;
/// LIMIT: bytes of a document whose frame is learned, and of one of its pieces.
const DOCUMENT_BYTES_MAX: usize = 1 << 16;
const PIECE_BYTES_MAX: usize = 1 << 12;
/// LIMIT: bytes of all pieces.
const LITERAL_BYTES_MAX: usize = 1 << 19;
/// LIMIT: nodes of all frames.
const POOLED_MAX: usize = 1 << 16;
/// The first bytes of a piece, which are compared at once.
const HEAD_BYTES: usize = LOOK_BYTES;
/// After all frames were forgotten for lack of room, one in so many is learned; twice as many the next time.
const PATIENCE: u32 = 16;
const PATIENCE_MAX: u32 = 1024;
/// Frames that were found so often, on average, were worth their memory.
const HITS_WORTH_IT: u32 = 16;

/// The frames that one worker knows, and the values of the document at hand.
#[derive(Debug)]
pub(super) struct Frames {
    /// The tree. Piece 0 stands before the begin of every document.
    pieces: Vec<Piece>,
    /// The first piece of each chain of pieces with one hash; 0 is none.
    buckets: Vec<u32>,
    /// Nobody can aim at a bucket.
    seed: u64,
    literals: Pool<u8>,
    known: Vec<Frame>,
    texts: Pool<TextAt>,
    others: Pool<OtherAt>,
    /// Where the values of the document at hand stand; its end is the last of them. LIMIT: room for as many as there are
    /// nodes, so a tree that is no longer one of documents could not go on for ever.
    found: Vec<Found>,
    /// How many of them there are.
    values: usize,
    /// Where its escapes stand.
    escapes: Escapes,
    /// How many documents fitted since all frames were forgotten, and how many were to be learned.
    hits: u32,
    lessons: u32,
    /// How many documents in a row did not fit.
    fruitless: u32,
    /// What is nested deeper than the parser allows has no frame, so the frames are those of one parser.
    depth_max: usize,
    /// How many documents are let pass before the next one is learned, and how many the last time.
    wait: u32,
    patience: u32,
}

/// The text between two values, and what follows it. PERF: one line of the cache.
#[derive(Clone, Copy, Debug)]
#[repr(align(64))]
struct Piece {
    /// Its first bytes, with zeros behind them.
    head: [u8; HEAD_BYTES],
    /// A bit for each byte of the head that is none of the piece.
    beyond: u32,
    /// All of it.
    literal: Span,
    follows: Follows,
    /// Which classes the pieces have that may stand behind the value, a bit for each; none if there is one at most.
    forks: u8,
    /// Its own.
    class: u8,
    /// The piece that it stands behind.
    before: u32,
    /// The next piece with its hash.
    chain: u32,
    /// The last piece that was added behind the value, or the frame that ends here; 0 is none.
    next: u32,
}

/// What follows a piece.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Follows {
    /// A string, whose opening quote is the last byte of the piece.
    Text,
    /// A number or word.
    Scalar,
    /// Nothing.
    End,
}

/// What is known of a document with one frame.
#[derive(Clone, Copy, Debug)]
struct Frame {
    outline: Outline,
    /// Bytes of its names.
    name_bytes: u32,
    /// Its nodes, as if all were strings.
    texts: Span,
    /// What those are that are none.
    others: Span,
}

/// A node that is a string, and where it begins: so far before a value.
#[derive(Clone, Copy, Debug)]
struct TextAt {
    value: u16,
    before: u16,
    /// Its length, or [`OF_VALUE`].
    len: u16,
}

/// The length of a string that is the value itself.
const OF_VALUE: u16 = u16::MAX;

/// A node that is no string.
#[derive(Clone, Copy, Debug)]
struct OtherAt {
    node: u16,
    /// The scalar that stands there, if it is one.
    value: Option<u16>,
    container: Node<'static>,
}

/// Where a value of the document at hand stands.
#[derive(Clone, Copy, Debug, Default)]
struct Found {
    start: u32,
    len: u32,
}

impl Default for Frames {
    fn default() -> Self {
        let mut frames = Self {
            pieces: Vec::with_capacity(PIECES_MAX),
            literals: Pool::new(LITERAL_BYTES_MAX),
            known: Vec::with_capacity(FRAMES_MAX),
            texts: Pool::new(POOLED_MAX),
            others: Pool::new(POOLED_MAX),
            buckets: vec![0; BUCKETS],
            seed: RandomState::new().hash_one(PIECES_MAX),
            found: vec![Found::default(); super::NODES_MAX + 1],
            values: 0,
            escapes: Escapes::NONE,
            hits: 0,
            lessons: 0,
            fruitless: 0,
            depth_max: 0,
            wait: 0,
            patience: 0,
        };
        frames.clear();
        frames
    }
}

impl Frames {
    /// Forgets all frames.
    fn clear(&mut self) {
        let none = Piece {
            head: [0; HEAD_BYTES],
            beyond: 0,
            literal: Span::default(),
            follows: Follows::Scalar,
            forks: 0,
            class: 0,
            before: 0,
            chain: 0,
            next: 0,
        };
        self.pieces.clear();
        self.pieces.push(none);
        self.literals.clear();
        self.known.clear();
        self.texts.clear();
        self.others.clear();
        self.buckets.fill(0);
        (self.hits, self.lessons) = (0, 0);
    }

    /// The bucket of pieces that stand behind a piece and have a head.
    ///
    #[inline]
    fn bucket(&self, before: u32, word: u64) -> usize {
        let mixed = (self.seed ^ u64::from(before) << 32 ^ word).wrapping_mul(0x9e37_79b9_7f4a_7c15);
        (mixed ^ mixed >> 29).wrapping_mul(0xbf58_476d_1ce4_e5b9) as usize >> 32 & (BUCKETS - 1)
    }
}

/// The bytes by which a piece is found: as many as the longest of these classes has that the piece fills. Long ones have
/// more bytes in common with what stands there than short ones.
const CLASSES: [usize; 4] = [16, 8, 4, 1];

/// The class of a piece of so many bytes.
fn class_of(len: usize) -> usize {
    CLASSES.iter().position(|bytes| *bytes <= len).unwrap_or(CLASSES.len() - 1)
}

/// The word by which a piece of a class is found, if it stands at the begin of a text; `None` if that is too short.
#[inline]
fn key_of(text: &[u8], class: usize) -> Option<u64> {
    let word = |word: &[u8; 8]| u64::from_le_bytes(*word);
    match class {
        0 => {
            let long: &[u8; 16] = text.first_chunk()?;
            let (first, last) = (word(long.first_chunk()?), word(long.last_chunk()?));
            Some(first.rotate_left(31).wrapping_mul(0x9e37_79b9_7f4a_7c15) ^ last)
        }
        1 => text.first_chunk().map(word),
        2 => text.first_chunk().map(|short: &[u8; 4]| u64::from(u32::from_le_bytes(*short))),
        _ => text.first().map(|byte| u64::from(*byte)),
    }
}

/// The first bytes of a text, with zeros behind them, and a bit for each of the zeros.
fn head_of(text: &[u8]) -> ([u8; HEAD_BYTES], u32) {
    let mut head = [0; HEAD_BYTES];
    for (place, byte) in head.iter_mut().zip(text) {
        *place = *byte;
    }
    (head, u32::MAX.unbounded_shl(text.len() as u32))
}
