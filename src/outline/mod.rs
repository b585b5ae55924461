//! The outline of a document: which names, containers, strings and other values stand where on its tape.
//!
//! PERF: a stream of envelopes repeats itself, even where many senders and kinds of messages take turns: each program
//! that writes them has an order of its own. Documents with one outline have their members at the same nodes, are of
//! the same format and have the same order of names. So whatever depends on nothing else is found out once and remembered
//! by outline ([`ByOutline`]); to recognise an outline takes one comparison per node.
//!
//! Recognising is exact, never by a hash: a hash of the names' lengths only tells where to look. Nothing here says
//! what an outline means, and nothing allocates once made.

mod frames;
mod name;
mod pool;
mod slot;

use std::sync::atomic::{AtomicU64, Ordering};

use frames::Frames;
pub(crate) use name::{Name, print};
pub(crate) use pool::{Pool, Span};
use slot::{Pools, Slot, Unfit};

use crate::tape::{Malformed, Node, Outline, Parser, Tape};

/// Outlines with one hash share a set.
const SETS: usize = 128;
/// LIMIT: so many outlines of one set are remembered.
const WAYS: usize = 4;
/// LIMIT: nodes of a document whose outline is remembered; beyond that there is more to gain elsewhere.
const NODES_MAX: usize = 384;
/// Documents that look alike at a glance: for each look, one outline is tried before anything is hashed.
const LOOKS: usize = 64;
/// LIMIT: strangers of which the hash is kept; if it comes again while it is there, the stranger is remembered.
const STRANGERS: usize = 2048;
/// After so many documents in a row whose outline was not known, only one in [`STRIDE`] is searched for.
const FRUITLESS_MAX: u32 = 1024;
const STRIDE: u32 = 7;
/// When all outlines together were too large to remember, so many that come back are let pass in each set.
const PATIENCE_WHEN_FULL: u16 = 16;
/// LIMIT: while outlines are remembered in vain, one in so many is.
const PATIENCE_MAX: u16 = 1024;
/// An outline that came back so often was worth its memory, and its frames are worth theirs.
const HITS_WORTH_IT: u32 = 4;

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

    /// Forgets what is known for all outlines.
    pub fn forget(&mut self) {
        for (serial, _) in &mut self.known {
            *serial = 0;
        }
    }
}

/// The outlines that one worker knows.
#[derive(Debug)]
pub struct Outlines {
    slots: Vec<Slot>,
    pools: Pools,
    frames: Frames,
    /// For each look, the slot that a document with it was last found in by its hash.
    recent: [u16; LOOKS],
    /// Hashes of documents whose outline is not known, by hash.
    strangers: Vec<u32>,
    /// How many documents in a row had an outline that is not known.
    fruitless: u32,
    /// For each set, how many that came back are still let pass before one is remembered, and how many the last time.
    patience: [(u16, u16); SETS],
}

impl Default for Outlines {
    fn default() -> Self {
        Self {
            slots: vec![Slot::default(); SETS * WAYS],
            pools: Pools::default(),
            frames: Frames::default(),
            recent: [0; LOOKS],
            strangers: vec![0; STRANGERS],
            fruitless: 0,
            patience: [(0, 0); SETS],
        }
    }
}

impl Outlines {
    /// Parses a payload and hands the tape to `then`, with its outline, if that is known or is one to remember. A document
    /// whose frame is known needs no parser.
    pub fn parse<R>(
        &mut self,
        parser: &mut Parser,
        payload: &[u8],
        then: impl FnOnce(Result<Tape<'_>, Malformed>) -> R,
    ) -> R {
        let frame = self.frames.fit(payload, parser);
        let mut then = then;
        if let Some(frame) = frame
            && let Some(slot) = self.slot_of(frame)
            && let Some(fitting) = self.frames.fitting(frame)
        {
            match parser.parse_known(payload, &fitting, then) {
                Ok(result) => {
                    self.found_in(slot);
                    self.frames.note(true);
                    return result;
                }
                Err(given_back) => then = given_back,
            }
        }
        self.frames.note(false);
        parser.parse(payload, |parsed| {
            let tape = parsed.map(|tape| {
                let tape = self.recall(tape);
                // What has a frame and did not fit all the same would not fit the next time either.
                if let Some(outline) = tape.outline()
                    && self.slots.get(outline.slot).is_some_and(|slot| slot.hits >= HITS_WORTH_IT)
                    && frame.is_none_or(|frame| !self.frames.is_of(frame, outline))
                {
                    self.frames.learn(tape, outline);
                }
                tape
            });
            then(tape)
        })
    }

    /// The slot of a frame's outline, if that is still remembered.
    #[inline]
    fn slot_of(&self, frame: u32) -> Option<usize> {
        let outline = self.frames.outline(frame)?;
        self.slots.get(outline.slot).filter(|slot| slot.serial == outline.serial)?;
        Some(outline.slot)
    }

    /// Notes that a document had the outline of a slot.
    #[inline]
    fn found_in(&mut self, slot: usize) {
        if let Some(slot) = self.slots.get_mut(slot) {
            slot.hits = slot.hits.saturating_add(1);
        }
        self.fruitless = 0;
    }

    /// The tape with its outline, if that is known or is one to remember.
    pub fn recall<'t>(&mut self, tape: Tape<'t>) -> Tape<'t> {
        let nodes = tape.nodes();
        let [Node::Object { .. }, Node::String(first), ..] = nodes else { return tape };
        if nodes.len() > NODES_MAX {
            return tape;
        }
        let look = look(first, nodes.len());
        let recent = self.recent.get(look).map_or(0, |slot| usize::from(*slot));
        if let Some(known) = self.compare(recent, tape) {
            return known;
        }
        let is_tired = self.is_tired();
        self.fruitless = self.fruitless.wrapping_add(1);
        if is_tired { tape } else { self.search(tape, look) }
    }

    /// Whether a document is not searched for, since so many before it were not known.
    #[inline]
    fn is_tired(&self) -> bool {
        self.fruitless > FRUITLESS_MAX && !self.fruitless.is_multiple_of(STRIDE)
    }

    /// The tape with the outline of a slot, if it has that one.
    #[inline]
    fn compare<'t>(&mut self, slot: usize, tape: Tape<'t>) -> Option<Tape<'t>> {
        let known = self.slots.get(slot)?;
        let text_bytes = self.pools.compare(known, tape.nodes())?;
        let serial = known.serial;
        self.found_in(slot);
        Some(tape.with_outline(Outline { slot, serial, text_bytes }))
    }

    /// As [`Self::recall`], for a document that is not like the last one of its look.
    #[inline(never)]
    fn search<'t>(&mut self, tape: Tape<'t>, look: usize) -> Tape<'t> {
        let hash = hash(tape.nodes());
        let set = (hash >> 32) as usize % SETS;
        for slot in set * WAYS..(set + 1) * WAYS {
            if self.slots.get(slot).is_some_and(|known| known.hash == hash)
                && let Some(known) = self.compare(slot, tape)
            {
                if let Some(recent) = self.recent.get_mut(look) {
                    *recent = slot as u16;
                }
                return known;
            }
        }
        let Some(stranger) = self.strangers.get_mut(hash as usize % STRANGERS) else { return tape };
        // What never comes again costs no more than this.
        if std::mem::replace(stranger, (hash >> 32) as u32) != (hash >> 32) as u32 {
            return tape;
        }
        self.remember(tape, hash, set)
    }

    /// A stranger that came back: remembers its outline, unless others did so in vain.
    #[cold]
    fn remember<'t>(&mut self, tape: Tape<'t>, hash: u64, set: usize) -> Tape<'t> {
        static NEXT: AtomicU64 = AtomicU64::new(1);
        let Some((wait, last)) = self.patience.get_mut(set) else { return tape };
        if *wait > 0 {
            *wait -= 1;
            return tape;
        }
        let ways = self.slots.iter_mut().enumerate().skip(set * WAYS).take(WAYS);
        let Some((slot, weakest)) = ways.min_by_key(|(_, slot)| (slot.serial != 0, slot.hits)) else {
            return tape;
        };
        // What goes without having come back often says that what comes will not either.
        let in_vain = weakest.serial != 0 && weakest.hits < HITS_WORTH_IT;
        *last = if in_vain { (*last * 2).clamp(1, PATIENCE_MAX) } else { *last / 2 };
        *wait = *last;
        let serial = NEXT.fetch_add(1, Ordering::Relaxed);
        let text_bytes = match self.pools.learn(tape.nodes()) {
            Ok((learned, text_bytes)) => {
                *weakest = learned;
                (weakest.serial, weakest.hash) = (serial, hash);
                text_bytes
            }
            Err(Unfit::TooLarge) => return tape,
            // What comes back is remembered again, but not at once: it may be too much again.
            Err(Unfit::Full) => {
                self.pools.clear();
                self.slots.fill(Slot::default());
                for (wait, last) in &mut self.patience {
                    *last = (*last * 2).clamp(PATIENCE_WHEN_FULL, PATIENCE_MAX);
                    *wait = *last;
                }
                return tape;
            }
        };
        for slot in self.slots.iter_mut().skip(set * WAYS).take(WAYS) {
            slot.hits /= 2;
        }
        tape.with_outline(Outline { slot, serial, text_bytes })
    }
}

/// What is seen of a document at a glance: its first name, and how many nodes it has.
#[inline]
fn look(first: &str, nodes: usize) -> usize {
    let (head, _) = print(first);
    ((head.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 40) as usize ^ nodes) % LOOKS
}

/// A hash of how long names are and what kinds of values they have, object by object, and of how many nodes there are.
///
/// PERF: lengths stand on the tape, and nearly always tell two orders of the same names apart. Those that they do not tell
/// apart share a set.
fn hash(nodes: &[Node<'_>]) -> u64 {
    let mut hash = nodes.len() as u64;
    for (at, node) in nodes.iter().enumerate() {
        let Node::Object { len, .. } = node else { continue };
        hash = mix(hash, *len as u64);
        let mut rest = nodes.get(at + 1..).unwrap_or_default();
        for _ in 0..*len {
            let [Node::String(name), value, tail @ ..] = rest else { return hash };
            let (kind, below) = match value {
                Node::String(_) => (0, 0),
                Node::Static(_) => (1, 0),
                Node::Object { count, .. } => (2, *count),
                Node::Array { count, .. } => (3, *count),
            };
            hash = mix(hash, (name.len() as u64) << 2 | kind);
            rest = tail.get(below..).unwrap_or_default();
        }
    }
    hash ^ hash >> 29
}

#[inline]
fn mix(hash: u64, word: u64) -> u64 {
    (hash ^ word).wrapping_mul(0x9e37_79b9_7f4a_7c15).rotate_left(23)
}

#[cfg(test)]
mod tests {
    use super::slot::NAMES_BYTES_MAX;
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
        // A stranger is remembered when it comes back.
        assert_eq!(serial(first), None);
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
        assert_eq!(known(r#"{"a":1}"#), None);
        let first = known(r#"{"a":1}"#);
        for _ in 0..100 {
            assert_eq!(known(r#"{"a":2}"#), first);
        }
        // Strangers that never come back are not remembered.
        let name = |n: usize| "n".repeat(n + 1);
        let stranger = |n: usize| format!("{{\"a\":1,\"b{}\":2,\"c{}\":3}}", name(n % 100), name(n / 100));
        assert_eq!((0..10_000).filter(|n| known(&stranger(*n)).is_some()).count(), 0);
        // Of too many that seem to come back, since their names are of one length, few are.
        let learned = (0..10_000).filter(|n| known(&format!("{{\"a\":1,\"n{n:05}\":2}}")).is_some()).count();
        assert!(learned < 200, "{learned}");
        assert_eq!(known(r#"{"a":3}"#), first);
    }

    #[test]
    fn when_the_memory_is_full_outlines_are_learned_anew() {
        let (mut parser, mut outlines) = (Parser::new(64), Outlines::default());
        let mut known = |n: usize| {
            let text = format!("{{\"{}\":[{}]}}", "n".repeat(n + 1), vec!["1"; 300].join(","));
            parser.parse(text.as_bytes(), |tape| {
                outlines.recall(tape.unwrap()).outline().map(|known| known.serial)
            })
        };
        for n in (0..200).flat_map(|n| [n; 3]) {
            known(n);
        }
        for n in [0, 199] {
            let serial = (0..2000).find_map(|_| known(n));
            assert!(serial.is_some() && known(n) == serial, "{n}");
        }
    }
}
