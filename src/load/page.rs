//! A small stream for the profile page: it needs no keys, no registries and no clock.
//!
//! A sample is a template with a few places that vary; a fault replaces one piece of its text. For everything else there
//! is [`Generator`](super::Generator).

use super::Random;
use super::samples::{self, Piece, Sample};
use crate::verdict::Reason;

/// The verdict that a record must get.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Truth {
    /// `None`: it must be accepted.
    pub reason: Option<Reason>,
}

/// A reproducible stream of valid and broken envelopes of all formats.
pub struct Stream {
    random: Random,
    valid: Vec<Sample>,
    broken: Vec<Sample>,
    broken_per_mille: u64,
    written: u64,
}

impl Stream {
    /// A stream that depends on nothing but the seed; so many of a thousand records are broken.
    #[must_use]
    pub fn new(seed: u64, broken_per_mille: u16) -> Self {
        let (valid, broken) = samples::all();
        Self {
            random: Random::new(seed),
            valid,
            broken,
            broken_per_mille: u64::from(broken_per_mille),
            written: 0,
        }
    }

    /// Appends the next record to `out` and says which verdict it must get.
    pub fn write_next(&mut self, out: &mut Vec<u8>) -> Truth {
        let Self { random, valid, broken, .. } = self;
        let pool = if random.below(1000) < self.broken_per_mille { broken } else { valid };
        let Some(sample) = pool.get(random.below(pool.len() as u64) as usize) else {
            unreachable!("both pools have samples");
        };
        for piece in &sample.pieces {
            piece.write(random, self.written, out);
        }
        self.written += 1;
        Truth { reason: sample.reason }
    }
}

impl Piece {
    fn write(&self, random: &mut Random, number: u64, out: &mut Vec<u8>) {
        match self {
            Self::Bytes(bytes) => out.extend_from_slice(bytes),
            Self::Uuid => write_uuid(random, number, out),
            Self::Time => write_time(number, out),
            Self::Number => out.extend_from_slice(random.below(100_000).to_string().as_bytes()),
            Self::Words(bytes) => write_words(random, *bytes, out),
        }
    }
}

/// A version 4 UUID whose first part is the record's number, so that ids never repeat within a stream.
fn write_uuid(random: &mut Random, number: u64, out: &mut Vec<u8>) {
    let bits = random.next();
    let (group, variant, tail) = (bits & 0xFFF, 0x8000 | (bits >> 12 & 0x3FFF), bits >> 16);
    let (high, low) = (number & 0xFFFF_FFFF, number >> 32 & 0xFFFF);
    out.extend_from_slice(format!("{high:08x}-{low:04x}-4{group:03x}-{variant:04x}-{tail:012x}").as_bytes());
}

/// A date-time that rises by a millisecond per record.
fn write_time(number: u64, out: &mut Vec<u8>) {
    let (seconds, millis) = (number / 1000 % 86_400, number % 1000);
    let (hour, minute, second) = (seconds / 3600, seconds / 60 % 60, seconds % 60);
    out.extend_from_slice(format!("2026-03-03T{hour:02}:{minute:02}:{second:02}.{millis:03}Z").as_bytes());
}

/// Words up to about so many bytes, with an escape and a non-ASCII letter here and there, as real texts have.
fn write_words(random: &mut Random, bytes: usize, out: &mut Vec<u8>) {
    const WORDS: &[&str] = &[
        "review",
        "the",
        "parser",
        "change",
        "before",
        "merge",
        "café",
        "retry",
        "with",
        "backoff",
        "update",
        "docs",
        "line\\nbreak",
        "queue",
        "limit",
        "\\\"quoted\\\"",
        "branch",
        "tests",
        "pass",
        "agent",
        "window",
        "naïve",
    ];
    let end = out.len() + bytes;
    loop {
        let word = WORDS.get(random.below(WORDS.len() as u64) as usize).copied().unwrap_or_default();
        out.extend_from_slice(word.as_bytes());
        if out.len() >= end {
            return;
        }
        out.push(b' ');
    }
}
