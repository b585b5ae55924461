//! How a frame is learned from a document that was parsed. Nothing here is on the way of a document whose frame is known.

use super::fit::is_of_scalar;
use super::{
    CHAIN_MAX, DOCUMENT_BYTES_MAX, FRAMES_MAX, Follows, Frame, Frames, HITS_WORTH_IT, OF_VALUE, OtherAt,
    PATIENCE, PATIENCE_MAX, PIECE_BYTES_MAX, PIECES_MAX, Piece, TextAt, class_of, head_of, key_of,
};
use crate::outline::NODES_MAX;
use crate::outline::slot::mark_names;
use crate::tape::{Node, Outline, StaticNode, Tape};

/// What is no string, among strings.
const NOWHERE: TextAt = TextAt { value: 0, before: 0, len: 0 };

/// Why a frame is not learned.
enum Unfit {
    /// The document has none that can be known.
    Document,
    /// There is no room left.
    Full,
}

impl Frames {
    /// Learns the frame of a document whose outline is known, unless learning was of no use.
    pub(in crate::outline) fn learn(&mut self, tape: Tape<'_>, outline: Outline) {
        if self.wait > 0 {
            self.wait -= 1;
            return;
        }
        self.lessons = self.lessons.saturating_add(1);
        match self.add(tape, outline) {
            Ok(()) => self.wait = self.patience,
            Err(Unfit::Document) => self.wait = self.patience.max(PATIENCE),
            Err(Unfit::Full) => {
                let in_vain = self.hits < self.lessons.saturating_mul(HITS_WORTH_IT);
                self.patience = if in_vain { self.patience * 2 } else { self.patience / 2 };
                self.patience = self.patience.clamp(PATIENCE, PATIENCE_MAX);
                self.wait = self.patience;
                self.clear();
            }
        }
    }

    #[cold]
    fn add(&mut self, tape: Tape<'_>, outline: Outline) -> Result<(), Unfit> {
        let (nodes, payload) = (tape.nodes(), tape.payload());
        let mut is_name = [false; NODES_MAX];
        if nodes.len() > NODES_MAX || payload.len() > DOCUMENT_BYTES_MAX || !tape.wide().is_empty() {
            return Err(Unfit::Document);
        }
        for at in 0..nodes.len() {
            mark_names(nodes, at, &mut is_name).ok_or(Unfit::Document)?;
        }
        let mut names = nodes.iter().zip(is_name).filter(|(_, is_name)| *is_name).map(|(node, _)| node);
        if !names.all(|name| matches!(name, Node::String(name) if stands(tape, name))) {
            return Err(Unfit::Document);
        }
        let begun = (self.texts.begin(), self.others.begin());
        let mut lesson = Lesson::new(self, payload);
        let learned = nodes
            .iter()
            .zip(is_name)
            .enumerate()
            .try_for_each(|(at, (node, is_name))| lesson.node(at as u16, node, is_name));
        let learned = learned.and_then(|()| lesson.end(outline));
        if learned.is_err() {
            // Its pieces stay: others may begin like it does, and a tree that fills up with them is cut down.
            self.texts.undo(begun.0);
            self.others.undo(begun.1);
        }
        learned
    }
}

/// The making of a frame.
struct Lesson<'l> {
    frames: &'l mut Frames,
    payload: &'l [u8],
    frame: Frame,
    /// The piece before the current place, or none at the begin.
    piece: u32,
    /// Where the current piece begins.
    start: usize,
    /// Behind the last token.
    at: usize,
    /// How many values there were.
    values: u16,
    /// The nodes so far, of which names still have the place where they begin.
    nodes: [Listed; NODES_MAX],
    listed: usize,
    /// The first of them whose names have to be placed.
    unplaced: usize,
}

/// A node that is being listed.
#[derive(Clone, Copy)]
enum Listed {
    /// A name: where it begins, and how long it is.
    Name(usize, usize),
    At(TextAt),
}

impl<'l> Lesson<'l> {
    fn new(frames: &'l mut Frames, payload: &'l [u8]) -> Self {
        let outline = Outline { slot: 0, serial: 0, text_bytes: 0 };
        let (texts, others) = (frames.texts.begin(), frames.others.begin());
        Self {
            frames,
            payload,
            frame: Frame { outline, name_bytes: 0, texts, others },
            piece: 0,
            start: 0,
            at: 0,
            values: 0,
            nodes: [Listed::At(NOWHERE); NODES_MAX],
            listed: 0,
            unplaced: 0,
        }
    }

    fn node(&mut self, node: u16, found: &Node<'_>, is_name: bool) -> Result<(), Unfit> {
        let listed = match found {
            Node::Object { len, count } => {
                self.other(node, None, Node::Object { len: *len, count: *count })?
            }
            Node::Array { len, count } => self.other(node, None, Node::Array { len: *len, count: *count })?,
            Node::String(text) => {
                let start = self.token(b'"')? + 1;
                let end = string_end(self.payload, start).ok_or(Unfit::Document)?;
                self.at = end + 1;
                match (is_name, end - start == text.len()) {
                    (true, true) => Listed::Name(start, text.len()),
                    // A name with an escape does not stand in the payload as on the tape.
                    (true, false) => return Err(Unfit::Document),
                    (false, _) => {
                        let value = self.value(Follows::Text, start, end)?;
                        Listed::At(TextAt { value, before: 0, len: OF_VALUE })
                    }
                }
            }
            Node::Static(_) => {
                let start = self.token(b' ')?;
                let rest = self.payload.get(start..).unwrap_or_default();
                let len = rest.iter().position(|byte| !is_of_scalar(*byte)).unwrap_or(rest.len());
                self.at = start + len;
                let value = self.value(Follows::Scalar, start, self.at)?;
                self.other(node, Some(value), Node::Static(StaticNode::Null))?
            }
        };
        *self.nodes.get_mut(self.listed).ok_or(Unfit::Document)? = listed;
        self.listed += 1;
        Ok(())
    }

    /// Lists a node that is no string.
    fn other(&mut self, node: u16, value: Option<u16>, container: Node<'static>) -> Result<Listed, Unfit> {
        self.frames.others.push(OtherAt { node, value, container }).ok_or(Unfit::Full)?;
        Ok(Listed::At(NOWHERE))
    }

    /// Where the next token begins: with a quote, if one is wanted, or as a number or word does.
    fn token(&self, wanted: u8) -> Result<usize, Unfit> {
        let rest = self.payload.get(self.at..).unwrap_or_default();
        let is_token = |byte: &u8| *byte == b'"' || is_of_scalar(*byte);
        let start = rest.iter().position(is_token).ok_or(Unfit::Document)?;
        let is_wanted = rest.get(start).is_some_and(|byte| (*byte == b'"') == (wanted == b'"'));
        is_wanted.then_some(self.at + start).ok_or(Unfit::Document)
    }

    /// Ends the current piece at a value, which stands from `start` to `end`; says which it is.
    fn value(&mut self, follows: Follows, start: usize, end: usize) -> Result<u16, Unfit> {
        self.place_names(start)?;
        self.piece = self.place_piece(start, follows)?;
        self.start = end;
        let value = self.values;
        self.values += 1;
        Ok(value)
    }

    /// Tells the names of the current piece by how far before the next value they begin.
    fn place_names(&mut self, value_at: usize) -> Result<(), Unfit> {
        let unplaced = self.nodes.iter_mut().take(self.listed).skip(self.unplaced);
        for listed in unplaced {
            if let Listed::Name(start, len) = *listed {
                let (Ok(before), Ok(len)) = (u16::try_from(value_at - start), u16::try_from(len)) else {
                    return Err(Unfit::Document);
                };
                self.frame.name_bytes += u32::from(len);
                *listed = Listed::At(TextAt { value: self.values, before, len });
            }
        }
        self.unplaced = self.listed;
        Ok(())
    }

    /// The piece that ends at a place, behind the last one; made if it is not there.
    fn place_piece(&mut self, end: usize, follows: Follows) -> Result<u32, Unfit> {
        let text = self.payload.get(self.start..end).ok_or(Unfit::Document)?;
        if text.len() > PIECE_BYTES_MAX {
            return Err(Unfit::Document);
        }
        let frames = &mut *self.frames;
        let (before, (head, beyond)) = (self.piece, head_of(text));
        let class = class_of(text.len());
        let bucket = frames.bucket(before, key_of(text, class).unwrap_or_default());
        let first = frames.buckets.get(bucket).copied().unwrap_or_default();
        let (mut candidate, mut chained) = (first, 0);
        while let Some(piece) = frames.pieces.get(candidate as usize).filter(|_| candidate != 0) {
            let same = piece.before == before && piece.follows == follows;
            if same && frames.literals.list(piece.literal) == Some(text) {
                return Ok(candidate);
            }
            (candidate, chained) = (piece.chain, chained + 1);
        }
        if chained == CHAIN_MAX {
            return Err(Unfit::Document);
        }
        if frames.pieces.len() == PIECES_MAX {
            return Err(Unfit::Full);
        }
        let literal = frames.literals.add(text.iter().copied()).ok_or(Unfit::Full)?;
        let number = frames.pieces.len() as u32;
        let piece = Piece {
            head,
            beyond,
            literal,
            follows,
            forks: 0,
            class: class as u8,
            before,
            chain: first,
            next: 0,
        };
        frames.pieces.push(piece);
        if let Some(bucket) = frames.buckets.get_mut(bucket) {
            *bucket = number;
        }
        let next = frames.pieces.get(before as usize).map_or(0, |last| last.next);
        let next_class = frames.pieces.get(next as usize).map_or(0, |next| next.class);
        if let Some(last) = frames.pieces.get_mut(before as usize) {
            if next != 0 {
                last.forks |= 1 << next_class | 1 << class;
            }
            last.next = number;
        }
        Ok(number)
    }

    /// Ends the document.
    fn end(&mut self, outline: Outline) -> Result<(), Unfit> {
        let end = self.payload.len();
        self.place_names(end)?;
        let piece = self.place_piece(end, Follows::End)?;
        let frames = &mut *self.frames;
        for listed in self.nodes.iter().take(self.listed) {
            let Listed::At(text) = listed else { return Err(Unfit::Document) };
            frames.texts.push(*text).ok_or(Unfit::Full)?;
        }
        self.frame.texts = frames.texts.end(self.frame.texts);
        self.frame.others = frames.others.end(self.frame.others);
        self.frame.outline = outline;
        if frames.known.len() == FRAMES_MAX {
            return Err(Unfit::Full);
        }
        if let Some(piece) = frames.pieces.get_mut(piece as usize) {
            piece.next = frames.known.len() as u32;
        }
        frames.known.push(self.frame);
        Ok(())
    }
}

/// Whether a name stands in the payload as on the tape: without an escape.
fn stands(tape: Tape<'_>, name: &str) -> bool {
    let rest = tape.payload().get(tape.place(name)..).unwrap_or_default();
    rest.strip_prefix(name.as_bytes()).is_some_and(|rest| rest.first() == Some(&b'"'))
}

/// Where the string ends that begins at a place.
fn string_end(payload: &[u8], start: usize) -> Option<usize> {
    let mut at = start;
    loop {
        at += memchr::memchr2(b'"', b'\\', payload.get(at..)?)?;
        if payload.get(at) == Some(&b'"') {
            return Some(at);
        }
        at += 2;
    }
}
