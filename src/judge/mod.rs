//! RECIPE 2: how a payload becomes a verdict.
//!
//! ```text
//! payload ─► parse ─► identify ─► shape ─► meaning ─► credentials ─► verdict
//! ```
//!
//! (Meaning and credentials have no rules yet; their steps come with the formats' rules.)
//!
//! [`Judge::judge`] names every step in the order in which reasons take precedence; the first failure decides. The
//! same recipe runs with an observer that wants every failure: that is `tollgate check`, which therefore cannot
//! drift from the fast path. The judge does no I/O, reads no clock and allocates nothing once warm.

mod explain;
mod rules;
mod watch;

use std::ops::ControlFlow;

pub use explain::{Explained, Finding, explain};
pub use rules::{Rules, RulesError};
pub use watch::{NoWatch, StageWatch, Watch};

use crate::formats::{self, Binding, Claimed};
use crate::histograms::Stage;
use crate::program::{self, AllFailures, Failure, FirstFailure, Observer};
use crate::tape::{Malformed, Node, NodeIndex, Parser, Tape};
use crate::verdict::{FormatId, Reason, Verdict};

/// What a record carries.
#[derive(Clone, Copy, Debug)]
pub enum Payload<'a> {
    /// Bytes.
    Bytes(&'a [u8]),
    /// Nothing: a tombstone.
    Tombstone,
    /// More than the reader keeps.
    Oversized,
}

/// One worker's judge: the rules are shared, the memory is its own.
pub struct Judge {
    parser: Parser,
    scratch: program::Scratch,
}

impl Judge {
    /// A judge with memory for documents within the rules' limits.
    #[must_use]
    pub fn new(rules: &Rules) -> Self {
        Self {
            parser: Parser::new(usize::from(rules.limits().depth_max)),
            scratch: program::Scratch::default(),
        }
    }

    /// Judges one payload. On a reject, `pointer` gets the JSON pointer of what failed.
    pub fn judge<W: Watch>(
        &mut self,
        rules: &Rules,
        binding: Binding,
        payload: Payload<'_>,
        pointer: &mut Vec<u8>,
        watch: &mut W,
    ) -> Verdict {
        let mut first = FirstFailure::default();
        let format = self.walk(rules, binding, payload, &mut first, watch, |tape, first| {
            if let Some(failure) = first.0 {
                tape.write_pointer(failure.at, pointer);
            }
        });
        match (first.0, format) {
            (Some(failure), _) => Verdict::reject(failure.reason, format, failure.at),
            (None, Some(format)) => Verdict::accept(format),
            (None, None) => Verdict::reject(Reason::UnknownFormat, None, NodeIndex(0)),
        }
    }

    /// The recipe. Gives the format if it was found; failures go to the observer, who may end the walk at any time.
    fn walk<O: Observer, W: Watch>(
        &mut self,
        rules: &Rules,
        binding: Binding,
        payload: Payload<'_>,
        observer: &mut O,
        watch: &mut W,
        with_tape: impl FnOnce(Tape<'_>, &mut O),
    ) -> Option<FormatId> {
        let Self { parser, scratch } = self;
        let payload = match admit(rules, payload) {
            Ok(payload) => payload,
            Err(reason) => return refuse(observer, reason),
        };
        parser.parse(payload, |parsed| {
            let tape = match parsed {
                Ok(tape) => tape,
                Err(Malformed::Syntax | Malformed::NotUtf8 | Malformed::LoneSurrogate) => return refuse(observer, Reason::JsonSyntax),
                Err(Malformed::TooDeep) => return refuse(observer, Reason::TooDeep),
            };
            watch.lap(Stage::Parse);
            let format = identify(rules, binding, tape, scratch, observer);
            if let Some(format) = format {
                let _ = shape(rules, format, tape, scratch, observer);
            }
            watch.lap(Stage::Shape);
            with_tape(tape, observer);
            format
        })
    }
}

/// Step 1, before parsing: a payload of the right size that is not blank.
fn admit<'p>(rules: &Rules, payload: Payload<'p>) -> Result<&'p [u8], Reason> {
    let payload = match payload {
        Payload::Bytes(bytes) => bytes,
        Payload::Tombstone => return Err(Reason::Tombstone),
        Payload::Oversized => return Err(Reason::TooBig),
    };
    if payload.len() > rules.limits().payload_bytes_max as usize {
        return Err(Reason::TooBig);
    }
    // The first byte of nearly every payload decides this.
    if payload.iter().all(|byte| matches!(byte, b' ' | b'\t' | b'\r' | b'\n')) {
        return Err(Reason::EmptyPayload);
    }
    Ok(payload)
}

/// Step 2: which format it is, by its top-level names and the topic's binding.
fn identify<O: Observer>(
    rules: &Rules,
    binding: Binding,
    tape: Tape<'_>,
    scratch: &mut program::Scratch,
    observer: &mut O,
) -> Option<FormatId> {
    let claimed = match tape.nodes().first() {
        Some(Node::Object { .. }) => {
            let claims = rules.detector().claims(tape);
            rules.detector().decide(claims, binding)
        }
        _ => Claimed::Refused(Reason::NotObject),
    };
    match claimed {
        Claimed::Format(format) => Some(format),
        // A duplicate name anywhere ranks before what the top-level names say.
        Claimed::Refused(reason) => match program::first_duplicate(tape, scratch) {
            Some(at) => fail(observer, Reason::DuplicateKey, at),
            None => fail(observer, reason, NodeIndex(0)),
        },
    }
}

/// Step 3: the compiled schema, duplicate names at every depth in the same walk, then numbers beyond any form.
fn shape<O: Observer>(
    rules: &Rules,
    format: FormatId,
    tape: Tape<'_>,
    scratch: &mut program::Scratch,
    observer: &mut O,
) -> ControlFlow<()> {
    let Some(program) = rules.program(format) else { return ControlFlow::Break(()) };
    if !program.execute(tape, scratch, observer) {
        return ControlFlow::Break(());
    }
    match tape.first_overflow() {
        Some(at) if formats::bounds_numbers(format) => observer.failed(Failure::of(Reason::NumberRange, at)),
        _ => ControlFlow::Continue(()),
    }
}

fn refuse<O: Observer>(observer: &mut O, reason: Reason) -> Option<FormatId> {
    fail(observer, reason, NodeIndex(0))
}

fn fail<O: Observer>(observer: &mut O, reason: Reason, at: NodeIndex) -> Option<FormatId> {
    // Without a format there is nothing left to observe.
    let _ = observer.failed(Failure::of(reason, at));
    None
}
