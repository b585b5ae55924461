//! Streams of a user's own format, made from its JSON Schema.
//!
//! ```text
//! schema ─► draw: a document that should hold ─► the program says that it does ─► record, accept
//!                        └─► one change ─► the program finds one failure, and which ─► record, reject with its reason
//! ```
//!
//! What holds is drawn from the schema (`draw.rs`); what does not hold is one change of that (`faults.rs`). Whether a
//! document is satisfiable cannot be decided for every schema, so nothing leaves unchecked: the compiled program is asked
//! about each record, and what it does not confirm is drawn again. Unlike the built-in formats' streams, this one cannot
//! find the validator guilty; it is load, and a test of everything around the validator.

mod draw;
mod faults;
mod texts;

use std::collections::BTreeMap;

use serde_json::Value;

use super::mix::Mix;
use super::stream::Made;
use super::{PAYLOAD_BYTES_MAX, Random};
use crate::program::{AllFailures, CompileError, FirstFailure, Options, Program, Scratch};
use crate::tape::Parser;
use crate::verdict::Reason;
use draw::{Drawer, NamePatterns};
use faults::Change;

/// LIMIT: deepest nesting of a document, below the default of `limits.depth_max`.
const DEPTH_MAX: usize = 60;
/// LIMIT: documents that are drawn at the start before a schema is given up, and changes that are tried.
const DRAWS_MAX: u64 = 2_000;
/// Documents of each kind that are kept, for records whose own ones fail.
const KEPT_MAX: usize = 64;
/// LIMIT: how often a record is drawn before a kept one takes its place.
const TRIES_MAX: u64 = 4;

/// A schema that no stream can be made from.
#[derive(Debug, thiserror::Error)]
pub enum OwnError {
    /// It does not compile.
    #[error(transparent)]
    Compile(#[from] CompileError),
    /// Nothing that was drawn holds.
    #[error(
        "{file}: no document was found that holds: {DRAWS_MAX} were drawn, and the last failed at `{pointer}` for \
         `{reason}`; a schema that contradicts itself cannot be satisfied, and parts under `not`, several patterns of one \
         text or conditions that depend on each other may be out of reach"
    )]
    Unsatisfied {
        /// The schema's file.
        file: String,
        /// Where the last one failed.
        pointer: String,
        /// For which reason.
        reason: &'static str,
    },
    /// The mix wants a reason that the schema has no keyword for.
    #[error("mix: `faults.{code}`: found no document that fails for it; this schema gives: {possible}")]
    Fault {
        /// The reason's code.
        code: String,
        /// The codes that are possible.
        possible: String,
    },
}

/// A stream of documents of one schema.
pub struct Own {
    program: Program,
    documents: Vec<(String, Value)>,
    patterns: NamePatterns,
    seed: u64,
    keys: u32,
    valid: Vec<Vec<u8>>,
    /// For each reason that is played: the rising share, changes that lead to it, and documents that fail for it.
    faults: Vec<Fault>,
}

struct Fault {
    reason: Reason,
    /// Shares of this and all before it, of 1.
    edge: f64,
    changes: Vec<Change>,
    kept: Vec<Vec<u8>>,
}

impl Own {
    /// Compiles a schema and finds out what can be made from it. Of the mix, `faults` and `keys.count` count.
    pub fn new(
        (text, file): (&str, &str),
        options: &Options,
        mix: &Mix,
        seed: u64,
    ) -> Result<Self, OwnError> {
        let program = Program::compile(text, file, options)?;
        // It has compiled, so it is JSON.
        let root = serde_json::from_str(text).unwrap_or(Value::Bool(true));
        let mut documents = vec![(String::new(), root)];
        documents
            .extend(options.documents.values().map(|(uri, document)| (uri.to_owned(), document.clone())));
        let (patterns, keys) = (NamePatterns::of(&documents), mix.keys.count);
        let (valid, faults) = (Vec::new(), Vec::new());
        let mut own = Self { program, documents, patterns, seed, keys, valid, faults };
        let found = own.explore(file)?;
        own.faults = shares(mix, found)?;
        Ok(own)
    }

    /// Draws documents and changes them, to learn what there is.
    fn explore(&mut self, file: &str) -> Result<BTreeMap<Reason, Fault>, OwnError> {
        let mut check = Check::default();
        let (mut valid, mut found) = (Vec::new(), BTreeMap::<Reason, Fault>::new());
        let mut last = (String::new(), "schema");
        for number in 0..DRAWS_MAX {
            let mut random = Random::at(self.seed, number, 11);
            let document = Drawer::new(&self.documents, &self.patterns, &mut random).document();
            let text = document.to_string().into_bytes();
            if let Some(failure) = check.first(&self.program, &text) {
                last = failure;
                continue;
            }
            for _ in 0..TRIES_MAX {
                let Some((change, changed)) = Change::draw(&document, &mut random) else { break };
                let text = changed.to_string().into_bytes();
                let Some(reason) = check.only(&self.program, &text) else { continue };
                let fault = found.entry(reason).or_insert_with(|| Fault {
                    reason,
                    edge: 0.0,
                    changes: Vec::new(),
                    kept: Vec::new(),
                });
                if fault.kept.len() < KEPT_MAX {
                    fault.kept.push(text);
                    fault.changes.push(change);
                }
            }
            if valid.len() < KEPT_MAX {
                valid.push(text);
            }
        }
        if valid.is_empty() {
            let (pointer, reason) = last;
            return Err(OwnError::Unsatisfied { file: file.to_owned(), pointer, reason });
        }
        self.valid = valid;
        Ok(found)
    }

    /// A place from which records are made.
    #[must_use]
    pub fn cursor(&self) -> OwnCursor<'_> {
        OwnCursor { own: self, check: Check::default() }
    }

    /// The reasons that the stream plays.
    pub fn reasons(&self) -> impl Iterator<Item = Reason> {
        self.faults.iter().map(|fault| fault.reason)
    }
}

/// Gives each reason its share of the records, as the mix says.
fn shares(mix: &Mix, mut found: BTreeMap<Reason, Fault>) -> Result<Vec<Fault>, OwnError> {
    let possible = || found.keys().map(|reason| reason.code()).collect::<Vec<_>>().join(", ");
    let named: Vec<(Reason, f64)> = mix
        .faults
        .iter()
        .filter_map(|(code, share)| Some((Reason::from_code(code)?, *share)))
        .filter(|(_, share)| *share > 0.0)
        .collect();
    for (reason, _) in &named {
        if !found.contains_key(reason) {
            return Err(OwnError::Fault { code: reason.code().to_owned(), possible: possible() });
        }
    }
    let others = found.keys().filter(|reason| named.iter().all(|(name, _)| name != *reason)).count();
    let each = mix.faults.get("all").copied().unwrap_or_default() / others.max(1) as f64;
    let mut sum = 0.0;
    let mut faults = Vec::new();
    for (reason, mut fault) in std::mem::take(&mut found) {
        let share = named.iter().find(|(name, _)| *name == reason).map_or(each, |(_, share)| *share);
        if share > 0.0 {
            sum += share / 100.0;
            fault.edge = sum;
            faults.push(fault);
        }
    }
    Ok(faults)
}

/// Makes records of one stream, in any order.
pub struct OwnCursor<'o> {
    own: &'o Own,
    check: Check,
}

impl OwnCursor<'_> {
    /// Appends a record to `out`: it follows from seed, schema, mix and number alone.
    pub fn write(&mut self, number: u64, out: &mut Vec<u8>) -> Made {
        let Self { own, check } = self;
        let mut random = Random::at(own.seed, number, 12);
        let key = random.below(u64::from(own.keys)) as u32;
        let at = super::layout::unit(&mut random);
        let fault = own.faults.iter().find(|fault| at < fault.edge);
        let made = Made { reason: fault.map(|fault| fault.reason), key, format: 0, tombstone: false };
        for _ in 0..TRIES_MAX {
            let document = Drawer::new(&own.documents, &own.patterns, &mut random).document();
            let text = match fault {
                None => document.to_string().into_bytes(),
                Some(fault) => {
                    let pick = random.below(fault.changes.len() as u64) as usize;
                    let change = fault.changes.get(pick);
                    let Some(changed) = change.and_then(|change| change.apply(&document)) else { continue };
                    changed.to_string().into_bytes()
                }
            };
            let holds = match fault {
                None => check.first(&own.program, &text).is_none(),
                Some(fault) => check.only(&own.program, &text) == Some(fault.reason),
            };
            if holds {
                out.extend_from_slice(&text);
                return made;
            }
        }
        let kept = fault.map_or(&own.valid, |fault| &fault.kept);
        let pick = random.below(kept.len() as u64) as usize;
        out.extend_from_slice(kept.get(pick).map_or(&[], Vec::as_slice));
        made
    }
}

/// Asks the program.
struct Check {
    parser: Parser,
    scratch: Scratch,
}

impl Default for Check {
    fn default() -> Self {
        Self { parser: Parser::new(DEPTH_MAX), scratch: Scratch::default() }
    }
}

impl Check {
    /// The first failure, with its place and its reason's code.
    fn first(&mut self, program: &Program, text: &[u8]) -> Option<(String, &'static str)> {
        let Self { parser, scratch } = self;
        if text.len() > PAYLOAD_BYTES_MAX {
            return Some((String::new(), Reason::TooBig.code()));
        }
        parser.parse(text, |tape| {
            let Ok(tape) = tape else { return Some((String::new(), Reason::TooDeep.code())) };
            let mut first = FirstFailure::default();
            program.execute(tape, scratch, &mut first);
            // A number that no double holds would be refused before the schema is asked.
            let overflow = tape.first_overflow().map(|at| (tape.pointer(at), Reason::NumberRange.code()));
            first.0.map(|failure| (tape.pointer(failure.at), failure.reason.code())).or(overflow)
        })
    }

    /// The reason of the only failure; `None` if there is none, or more than one.
    fn only(&mut self, program: &Program, text: &[u8]) -> Option<Reason> {
        let Self { parser, scratch } = self;
        if text.len() > PAYLOAD_BYTES_MAX {
            return None;
        }
        parser.parse(text, |tape| {
            let tape = tape.ok()?;
            let mut all = AllFailures::default();
            program.execute(tape, scratch, &mut all);
            match all.0.as_slice() {
                [only] if tape.first_overflow().is_none() => Some(only.reason),
                _ => None,
            }
        })
    }
}

#[cfg(test)]
mod tests;
