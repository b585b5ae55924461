//! The order in which a form takes the values of a document: what stands before each, and which it is.
//!
//! An outline tells all names and containers, so what stands between the values of a form is the same for every document
//! that has it, whatever its white space and escapes. It is put together once; then a form is written by taking turns: some
//! bytes that are known, and the next value.

use std::marker::PhantomData;

use super::Unfit;
use super::forms::Form;
use super::order::Ordered;
use super::room::Room;
use super::walk::{Emit, Lists, walk};
use super::write::Writer;
use crate::outline::{Pool, Span};
use crate::tape::{Node, StaticNode};

/// Some bytes of a form, and the value behind them.
#[derive(Clone, Copy, Debug)]
pub(super) struct Turn {
    literal: Span,
    /// The value's node, or [`END`].
    node: u32,
}

/// The turns of one form.
#[derive(Clone, Copy, Debug)]
pub(super) struct Listed {
    turns: Span,
    /// How many bytes are known of all.
    literal_bytes: usize,
}

/// The turns of all forms that are known.
#[derive(Debug)]
pub(super) struct Turns {
    list: Pool<Turn>,
    literals: Pool<u8>,
    /// A name as the form writes it, while turns are put together.
    name: Room,
}

impl Turns {
    /// Room for so many turns, with so many bytes.
    pub(super) fn new(turns_max: usize, bytes_max: usize) -> Self {
        Self { list: Pool::new(turns_max), literals: Pool::new(bytes_max), name: Room::default() }
    }

    /// How many turns, and how many of their bytes, still fit.
    pub(super) fn room(&self) -> (usize, usize) {
        (self.list.room(), self.literals.room())
    }

    /// Forgets all.
    pub(super) fn clear(&mut self) {
        self.list.clear();
        self.literals.clear();
    }
}

/// Behind the last value there is nothing but punctuation.
const END: u32 = u32::MAX;

/// Lists the turns of the value at `node`; `None` if there is no room for them, or no form.
pub(super) fn list<F: Form>(
    ordered: Ordered<'_>,
    node: usize,
    lists: &mut Lists,
    known: &mut Turns,
) -> Option<Listed> {
    let Turns { list: turns, literals, name } = known;
    let (begun, literal) = (turns.begin(), literals.begin());
    let mut recorder = Recorder::<F> { turns, literals, name, literal, has_room: true, form: PhantomData };
    let walked = walk::<F, _>(ordered, node, lists, &mut recorder);
    recorder.turn(END);
    let complete = walked.is_ok() && recorder.has_room;
    if !complete {
        turns.undo(begun);
        literals.undo(literal);
    }
    complete.then(|| Listed { turns: turns.end(begun), literal_bytes: literals.end(literal).len() })
}

/// Writes a form by its turns.
pub(super) fn write<F: Form>(
    ordered: Ordered<'_>,
    listed: Listed,
    known: &Turns,
    out: &mut Room,
) -> Result<(), Unfit> {
    let mut writer = Writer::<F>::new(ordered, listed.literal_bytes, out);
    for Turn { literal, node } in known.list.list(listed.turns).unwrap_or_default() {
        writer.literal(known.literals.from(*literal), literal.len());
        match ordered.tape.nodes().get(*node as usize) {
            Some(Node::String(text)) => writer.text(text),
            Some(Node::Static(scalar)) => writer.scalar(*node as usize, *scalar)?,
            _ => break,
        }
    }
    writer.end()
}

/// Puts turns together while a form is walked.
struct Recorder<'r, F> {
    turns: &'r mut Pool<Turn>,
    literals: &'r mut Pool<u8>,
    name: &'r mut Room,
    /// The bytes since the last value.
    literal: Span,
    has_room: bool,
    form: PhantomData<F>,
}

impl<F: Form> Recorder<'_, F> {
    fn byte(&mut self, byte: u8) {
        self.has_room &= self.literals.push(byte).is_some();
    }

    fn turn(&mut self, node: u32) {
        let literal = self.literals.end(self.literal);
        self.has_room &= self.turns.push(Turn { literal, node }).is_some();
        self.literal = self.literals.begin();
    }
}

impl<F: Form> Emit for Recorder<'_, F> {
    fn open(&mut self, bracket: u8) {
        self.byte(bracket);
    }

    fn close(&mut self, bracket: u8) {
        self.byte(bracket);
    }

    fn comma(&mut self) {
        self.byte(b',');
    }

    fn name(&mut self, _: usize, name: &str) {
        self.name.clear();
        self.name.push(b'"');
        F::write_escaped(name, self.name);
        self.name.extend_from_slice(b"\":");
        self.has_room &= self.name.iter().all(|byte| self.literals.push(*byte).is_some());
    }

    /// Its quotes belong to what is known.
    fn string(&mut self, at: usize, _: &str) {
        self.byte(b'"');
        self.turn(at as u32);
        self.byte(b'"');
    }

    fn scalar(&mut self, at: usize, _: StaticNode) -> Result<(), Unfit> {
        self.turn(at as u32);
        Ok(())
    }

    fn empty(&mut self, _: usize, brackets: [u8; 2]) {
        for bracket in brackets {
            self.byte(bracket);
        }
    }
}
