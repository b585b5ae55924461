//! RECIPE 2: how a payload becomes a verdict.
//!
//! ```text
//! payload ─► parse ─► identify ─► shape ─► meaning ─► credentials ─► verdict and facts
//! ```
//!
//! [`Judge::judge`] names every step in the order in which reasons take precedence; the first failure decides. The
//! same recipe runs with an observer that wants every failure: that is `tollgate check`, which therefore cannot
//! drift from the fast path. The judge does no I/O, reads no clock and allocates nothing once warm.

mod explain;
mod input;
mod known;
mod memory;
mod rules;
mod steps;
#[cfg(test)]
mod tests;
mod watch;

use std::ops::ControlFlow;

pub use explain::{Explained, Finding, explain};
pub use input::{Input, Payload};
pub use rules::{Rules, RulesError};
pub use watch::{NoWatch, StageWatch, Watch};

use crate::credentials;
use crate::formats::labels::{Labeller, Labels, Stand};
use crate::formats::{Asked, Binding, Compiled, Facts, Fields, Found, Headers, Record, RuleSet};
use crate::histograms::Stage;
use crate::outline::{ByOutline, Outlines};
use crate::program::{self, AllFailures, FirstFailure, Observer};
use crate::tape::{NodeIndex, Parser, Tape};
use crate::verdict::{FormatId, Reason, Verdict};
use known::Known;
use steps::{admit, identify, meaning, refuse, shape, syntax_reason};

/// One worker's judge: the rules are shared, the memory is its own.
pub struct Judge {
    /// The rule set that it was made for.
    rules: u64,
    parser: Parser,
    scratch: program::Scratch,
    secrets: credentials::Scratch,
    fields: Fields,
    outlines: Outlines,
    known: ByOutline<Known>,
    /// Whether facts are made of records that hold.
    makes_facts: bool,
    /// Those of the last record, if it holds.
    facts: Option<Facts>,
    /// What they are to hold.
    asked: Asked,
    /// Finds labels, where somebody wants them.
    labeller: Option<Labeller>,
    /// Where they stand, by outline.
    stands: ByOutline<Stand>,
    /// Those of the last record.
    labels: Labels,
}

/// What the recipe found out beside failures.
#[derive(Default)]
struct Walked {
    format: Option<FormatId>,
    /// Whether every step was taken and held.
    held: bool,
    unchecked: RuleSet,
    warned: RuleSet,
}

impl Judge {
    /// Judges one record. On a reject, `pointer` gets the JSON pointer of what failed.
    pub fn judge<'p, W: Watch>(
        &mut self,
        rules: &Rules,
        binding: Binding,
        input: impl Into<Input<'p>>,
        pointer: &mut Vec<u8>,
        watch: &mut W,
    ) -> Verdict {
        self.judge_with_headers(rules, binding, input, None, pointer, watch)
    }

    /// As [`Self::judge`], for a record that has headers.
    pub fn judge_with_headers<'p, W: Watch>(
        &mut self,
        rules: &Rules,
        binding: Binding,
        input: impl Into<Input<'p>>,
        headers: Option<&dyn Headers>,
        pointer: &mut Vec<u8>,
        watch: &mut W,
    ) -> Verdict {
        let mut first = FirstFailure::default();
        let walked = self.walk(rules, binding, (input.into(), headers), &mut first, watch, |tape, first| {
            if let Some(failure) = first.0 {
                tape.write_pointer(failure.at, pointer);
            }
        });
        let verdict = match (first.0, walked.format) {
            (Some(failure), format) => Verdict::reject(failure.reason, format, failure.at),
            (None, Some(format)) if walked.held => Verdict::accept(format),
            // A step that did not hold tells why; if it ever does not, nothing passes for that.
            (None, Some(format)) => Verdict::reject(Reason::Schema, Some(format), NodeIndex(0)),
            (None, None) => Verdict::reject(Reason::UnknownFormat, None, NodeIndex(0)),
        };
        // Rules stand in the order of the format; the first warning is told.
        let rules = walked.format.and_then(|format| rules.format(format)).map_or(&[][..], Compiled::rules);
        let warned = walked.warned.first(rules).filter(|_| verdict.is_accept());
        Verdict { unchecked: !walked.unchecked.is_empty(), warned: warned.map(|rule| rule.reason), ..verdict }
    }

    /// The recipe. Failures go to the observer, who may end the walk at any time.
    fn walk<O: Observer, W: Watch>(
        &mut self,
        rules: &Rules,
        binding: Binding,
        (input, headers): (Input<'_>, Option<&dyn Headers>),
        observer: &mut O,
        watch: &mut W,
        with_tape: impl FnOnce(Tape<'_>, &mut O),
    ) -> Walked {
        if self.rules != rules.id() {
            self.renew(rules);
        }
        let Self { parser, scratch, secrets, fields, makes_facts, outlines, known, facts, asked, .. } = self;
        let (labeller, stands, labels) = (&self.labeller, &mut self.stands, &mut self.labels);
        *facts = None;
        if labeller.is_some() {
            *labels = Labels::default();
        }
        // A protocol with reasons of its own has them for what is no envelope, too.
        let format = rules.wire_format(binding);
        let mut walked = Walked { format, ..Walked::default() };
        let payload = match admit(rules, input.payload) {
            Ok(payload) => payload,
            Err(reason) => {
                refuse(observer, reason);
                return walked;
            }
        };
        outlines.parse(parser, payload, |parsed| {
            let tape = match parsed {
                Ok(tape) => tape,
                Err(malformed) => return refuse(observer, syntax_reason(rules, binding, malformed)),
            };
            watch.lap(Stage::Parse);
            let seen = Known::of(known, rules, binding, tape);
            let found = match seen {
                Some(seen) => seen.format,
                None => identify(rules, binding, tape, scratch, observer),
            };
            walked.format = found.or(walked.format);
            if let (Some(labeller), Some(format)) = (labeller, found) {
                *labels = labeller.read(format, tape, stands);
            }
            if let Some(format) = found.and_then(|id| rules.format(id)) {
                let shaped = shape(format, binding, tape, scratch, observer);
                watch.lap(Stage::Shape);
                if let ControlFlow::Continue(in_shape) = shaped {
                    let fields = if let Some(seen) = seen {
                        &seen.fields
                    } else {
                        format.find_fields(tape, fields);
                        Known::learn(known, rules, binding, tape, found, fields);
                        fields
                    };
                    let (Input { now, key, .. }, found) = (input, Found::default());
                    let record = Record { tape, payload, in_shape, fields, now, key, headers, found, asked };
                    let mut report = format.report(observer);
                    let mut held = meaning(format, &record, &mut report, watch);
                    if held.is_continue() {
                        held = steps::credentials(format, &record, secrets, &mut report, watch);
                    }
                    walked.held = held.is_continue();
                    (walked.unchecked, walked.warned) = (report.unchecked_rules(), report.warned_rules());
                    if *makes_facts && walked.held {
                        let record = Record { found: report.found(), ..record };
                        *facts = Some(format.facts(&record, secrets));
                    }
                }
            }
            with_tape(tape, observer);
        });
        walked
    }
}
