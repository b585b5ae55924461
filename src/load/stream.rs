//! The stream: record by number, with the verdict that it must get.
//!
//! A [`Generator`] is made once and shared; each thread has a [`Cursor`] of its own. A record follows from the seed, the
//! mix and its number, and from nothing else: not from the thread that makes it, nor from the records made before.

use std::collections::HashMap;

use super::compiled::{BEFORE_SIGNATURE, Ready, ReadyStep, Variant, prepare, signature_bytes};
use super::keys::{KeyChain, Secrets, Signer};
use super::layout::{BLOCK, Deck, Slot, lay_out, unit};
use super::mix::{Mix, MixError, Size, Style, refuse};
use super::places::{Spelling, Values};
use super::scripts::{self, Family, Script, Sign, Where};
use super::template::{Piece, Place, Spoiling};
use super::{PAYLOAD_BYTES_MAX, Random};
use crate::clock::Timestamp;
use crate::verdict::Reason;

/// LIMIT: layouts of blocks that a cursor keeps for copies.
const LAYOUTS_KEPT_MAX: usize = 64;
/// Texts that formats want not to be empty are padding, too.
const PAD_BYTES_MIN: usize = 8;
/// Records of a stream lie a microsecond apart, for so many microseconds; all later ones have the same time.
const SPAN_MICROS: u64 = 100_000_000;

/// What is the same for every record of a stream.
pub struct Generator {
    seed: u64,
    style: Style,
    size: Size,
    v2: f64,
    scripts: Vec<Ready>,
    deck: Deck,
    chain: KeyChain,
    names: Vec<String>,
}

/// Where a stream goes, which decides what can be in it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Destination {
    /// Lines of a file: no record without bytes.
    Lines,
    /// A topic.
    Topic,
}

/// A record that was made.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Made {
    /// The verdict that it must get; `None`: it must be accepted.
    pub reason: Option<Reason>,
    /// The number of its key.
    pub key: u32,
    /// The number of its format among the generator's.
    pub format: u8,
    /// It has no payload at all.
    pub tombstone: bool,
}

impl Generator {
    /// Prepares a stream. `start` is the time of its first record.
    pub fn new(
        mix: &Mix,
        seed: u64,
        secrets: &Secrets,
        start: Timestamp,
        destination: Destination,
    ) -> Result<Self, MixError> {
        mix.check()?;
        let names: Vec<String> = Family::BUILT_IN.iter().map(|(name, _)| (*name).to_owned()).collect();
        for name in mix.formats.keys() {
            if !names.contains(name) {
                return Err(refuse(&format!("formats.{name}"), name, names.join(", ")));
            }
        }
        let weight_of = |family: Family| {
            let name = names.get(number_of(family)).map(String::as_str).unwrap_or_default();
            mix.formats.get(name).copied().unwrap_or_default()
        };
        let pinned = mix.formats.values().filter(|weight| **weight > 0.0).count() == 1;
        let mut all: Vec<Script> = Vec::new();
        for (_, family) in Family::BUILT_IN {
            if weight_of(family) > 0.0 {
                all.extend(scripts::of(family));
            }
        }
        let deck = Deck::new(
            mix,
            &all,
            |script| weight_of(script.family),
            |place| match place {
                Where::Anywhere => true,
                Where::Topics => destination == Destination::Topic,
                Where::Pinned => pinned,
                Where::Mixed => !pinned,
            },
        )?;
        let tokens_from = (weight_of(Family::Alfred) > 0.0).then(|| start.secs());
        let chain = KeyChain::new(secrets, tokens_from);
        let scripts = all.iter().map(|script| prepare(script, mix.style, &chain)).collect();
        Ok(Self {
            seed,
            style: mix.style,
            size: mix.size,
            v2: mix.olympus_v2 / 100.0,
            scripts,
            deck,
            chain,
            names,
        })
    }

    /// The formats' names, by their number.
    #[must_use]
    pub fn format_name(&self, number: u8) -> &str {
        self.names.get(usize::from(number)).map_or("?", String::as_str)
    }

    /// The time of a record of a stream that begins at `start`.
    #[must_use]
    pub fn time_of(start: Timestamp, number: u64) -> i64 {
        start.micros() + number.min(SPAN_MICROS) as i64
    }

    /// A place from which records are made.
    #[must_use]
    pub fn cursor(&self) -> Cursor<'_> {
        self.cursor_from(0)
    }

    /// A place from which the records of a stream are made that begins with this number.
    #[must_use]
    pub fn cursor_from(&self, first: u64) -> Cursor<'_> {
        let (layouts, signed, signature) = (HashMap::new(), Vec::new(), Vec::new());
        Cursor { generator: self, first, layouts, signed, signature }
    }
}

fn number_of(family: Family) -> usize {
    Family::BUILT_IN.iter().position(|(_, known)| *known == family).unwrap_or_default()
}

/// Makes records of one generator, in any order; fastest in the order of their numbers.
pub struct Cursor<'g> {
    generator: &'g Generator,
    /// Nothing before this record is copied.
    first: u64,
    layouts: HashMap<u64, Vec<Slot>>,
    signed: Vec<u8>,
    signature: Vec<u8>,
}

impl Cursor<'_> {
    /// Appends a record to `out`; `time` gives the time of each record, in microseconds.
    pub fn write(&mut self, number: u64, time: impl Fn(u64) -> i64, out: &mut Vec<u8>) -> Made {
        let slot = self.slot(number);
        let (source, slot, copied) = match slot.back {
            0 => (number, slot, false),
            back => self
                .resolve(number, u64::from(back))
                .map_or((number, slot, false), |(source, slot)| (source, slot, true)),
        };
        let Some(ready) = self.generator.scripts.get(usize::from(slot.script)) else {
            unreachable!("layouts name scripts of their generator")
        };
        let Some(step) = ready.steps.get(usize::from(slot.step)) else {
            unreachable!("layouts name steps of their script")
        };
        let format = number_of(ready.family) as u8;
        let (step, source, slot, reason) =
            match step.copy_of.and_then(|copied| Some((copied, ready.steps.get(usize::from(copied))?))) {
                Some((copied, original)) => {
                    let first = source - source % BLOCK as u64 + u64::from(slot.first);
                    (original, first, Slot { step: copied, ..slot }, step.reason)
                }
                None => (step, source, slot, if copied { Some(Reason::Duplicate) } else { step.reason }),
            };
        self.render(step, &slot, time(source) + step.later, out);
        let tombstone = matches!(step.spoiling, Some(Spoiling::Nothing));
        Made { reason, key: slot.key, format, tombstone }
    }

    fn slot(&mut self, number: u64) -> Slot {
        let block = number / BLOCK as u64;
        let Self { generator, layouts, .. } = self;
        if layouts.len() > LAYOUTS_KEPT_MAX && !layouts.contains_key(&block) {
            layouts.clear();
        }
        let slots = layouts.entry(block).or_insert_with(|| lay_out(&generator.deck, generator.seed, block));
        let Some(slot) = slots.get((number % BLOCK as u64) as usize) else {
            unreachable!("a block has a slot for every record")
        };
        *slot
    }

    /// The record that a copy copies: the next one back, within its block, that is accepted and no copy itself.
    fn resolve(&mut self, number: u64, back: u64) -> Option<(u64, Slot)> {
        let from = number.checked_sub(back).filter(|from| *from >= self.first)?;
        let start = from - from % BLOCK as u64;
        (start.max(self.first)..=from).rev().find_map(|number| {
            let slot = self.slot(number);
            let step =
                self.generator.scripts.get(usize::from(slot.script))?.steps.get(usize::from(slot.step))?;
            (slot.back == 0 && step.reason.is_none()).then_some((number, slot))
        })
    }

    fn render(&mut self, step: &ReadyStep, slot: &Slot, time: i64, out: &mut Vec<u8>) {
        let Self { generator, signed, signature, .. } = self;
        let chain = &generator.chain;
        let mut random = Random::at(generator.seed, slot.scene, 2);
        let scene_seed = random.next();
        let group = random.next() as usize;
        let v2 = step.sign == Sign::Olympus && unit(&mut random) < generator.v2;
        let step_number = step.drawn_as.unwrap_or(slot.step);
        let mut random = Random::at(scene_seed, u64::from(step_number), 3);
        let Some(variant) = step.variants.get(random.below(step.variants.len() as u64) as usize) else {
            return;
        };
        let bytes = size_of_record(generator.size, &mut random);
        let values = Values {
            scene_seed,
            scene: slot.scene,
            step: step_number,
            time,
            session: chain.sessions.get(group % chain.sessions.len().max(1)).map_or("", String::as_str),
            tenant: chain.tenants.get(group % chain.tenants.len().max(1)).map_or("", String::as_str),
            tokens: chain.tokens.get(group % chain.tenants.len().max(1)).map_or(&[], Vec::as_slice),
            pad: bytes.saturating_sub(variant.bytes).max(PAD_BYTES_MIN),
        };
        let plain = generator.style != Style::Mixed;
        let start = out.len();
        let place = write_wire(variant, &values, plain, signature_bytes(step.sign, v2), out);
        if let Some(place) = place {
            let groups = if step.sign == Sign::Olympus { chain.sessions.len() } else { chain.tenants.len() };
            let signer = Signer {
                sign: step.sign,
                v2,
                wrong_key: step.wrong_key,
                group: group % groups.max(1),
                who: step.who,
            };
            let whole = step.sign != Sign::Olympus || v2;
            signature.clear();
            if variant.is_canonical && whole {
                let cut = place - BEFORE_SIGNATURE.len();
                let behind = place + signature_bytes(step.sign, v2) + 1;
                let pieces = [out.get(start..cut).unwrap_or_default(), out.get(behind..).unwrap_or_default()];
                chain.sign(signer, pieces, signature);
            } else {
                let [v1, v2] = &step.signed;
                let spelling = if whole { Spelling::Jcs { plain } } else { Spelling::Cpython { plain } };
                signed.clear();
                for piece in if whole { v2 } else { v1 } {
                    write_piece(piece, &values, spelling, signed);
                }
                chain.sign(signer, [signed, &[]], signature);
            }
            if let Some(text) = out.get_mut(place..place + signature.len()) {
                text.copy_from_slice(signature);
            }
        }
        spoil(step.spoiling, start, out);
    }
}

/// Writes a record with room for its signature; says where that is.
fn write_wire(
    variant: &Variant,
    values: &Values<'_>,
    plain: bool,
    signature_bytes: usize,
    out: &mut Vec<u8>,
) -> Option<usize> {
    let mut place = None;
    for piece in &variant.wire {
        if matches!(piece, Piece::Place(Place::Signature)) {
            place = Some(out.len());
            out.resize(out.len() + signature_bytes, b'0');
        } else {
            write_piece(piece, values, Spelling::Wire { plain }, out);
        }
    }
    place
}

fn write_piece(piece: &Piece, values: &Values<'_>, spelling: Spelling, out: &mut Vec<u8>) {
    match piece {
        Piece::Literal(text) => out.extend_from_slice(text),
        Piece::Place(place) => values.write(*place, spelling, out),
    }
}

fn spoil(spoiling: Option<Spoiling>, start: usize, out: &mut Vec<u8>) {
    let bytes = out.len() - start;
    match spoiling {
        None => {}
        Some(Spoiling::Cut) => out.truncate(start + bytes * 2 / 3),
        Some(Spoiling::NotUtf8) => {
            if let Some(byte) = out.get_mut(start + 2) {
                *byte = 0xFF;
            }
        }
        Some(Spoiling::Mark) => drop(out.splice(start..start, *b"\xEF\xBB\xBF")),
        Some(Spoiling::Swell) => {
            let blanks = (PAYLOAD_BYTES_MAX + 1).saturating_sub(bytes);
            drop(out.splice(start + 1..=start, std::iter::repeat_n(b' ', blanks)));
        }
        Some(Spoiling::Blank) => {
            out.truncate(start);
            out.extend_from_slice(b"  ");
        }
        Some(Spoiling::Nothing) => out.truncate(start),
    }
}

/// The size that a record should have.
fn size_of_record(size: Size, random: &mut Random) -> usize {
    if size.sigma == 0.0 {
        return size.bytes as usize;
    }
    // The sum of twelve even numbers is normal enough, and the same on every machine.
    let normal: f64 = (0..12).map(|_| unit(random)).sum::<f64>() - 6.0;
    let bytes = f64::from(size.bytes) * (1.0 + normal * size.sigma / 1024.0).powi(1024);
    bytes.min(f64::from(size.bytes_max)) as usize
}
