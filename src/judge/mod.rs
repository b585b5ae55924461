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
mod rules;
mod steps;
mod watch;

use std::ops::ControlFlow;

pub use explain::{Explained, Finding, explain};
pub use input::{Input, Payload};
pub use rules::{Rules, RulesError};
pub use watch::{NoWatch, StageWatch, Watch};

use crate::credentials;
use crate::formats::labels::{Labeller, Labels};
use crate::formats::{Binding, Facts, Fields, Record, RuleSet};
use crate::histograms::Stage;
use crate::program::{self, AllFailures, FirstFailure, Observer};
use crate::tape::{NodeIndex, Parser, Tape};
use crate::verdict::{FormatId, Reason, Verdict};
use steps::{admit, identify, meaning, refuse, shape, syntax_reason};

/// One worker's judge: the rules are shared, the memory is its own.
pub struct Judge {
    parser: Parser,
    scratch: program::Scratch,
    secrets: credentials::Scratch,
    fields: Fields,
    /// Whether facts are made of records that hold.
    makes_facts: bool,
    /// Those of the last record, if it holds.
    facts: Option<Facts>,
    /// Finds labels, where somebody wants them.
    labeller: Option<Labeller>,
    /// Those of the last record.
    labels: Labels,
}

/// What the recipe found out beside failures.
struct Walked {
    format: Option<FormatId>,
    unchecked: RuleSet,
    facts: Option<Facts>,
}

impl Judge {
    /// A judge with memory for documents within the rules' limits.
    #[must_use]
    pub fn new(rules: &Rules) -> Self {
        Self {
            parser: Parser::new(usize::from(rules.limits().depth_max)),
            scratch: program::Scratch::default(),
            secrets: credentials::Scratch::default(),
            fields: Fields::default(),
            makes_facts: false,
            facts: None,
            labeller: None,
            labels: Labels::default(),
        }
    }

    /// From now on, facts are made of records that hold.
    pub fn make_facts(&mut self) {
        self.makes_facts = true;
    }

    /// The facts of the last record, if they are made and it holds.
    #[must_use]
    pub fn facts(&self) -> Option<&Facts> {
        self.facts.as_ref()
    }

    /// From now on, labels are found in every record whose format is known; all judges of a run have the same seed.
    pub fn make_labels(&mut self, rules: &Rules, seed: u64) {
        self.labeller = Some(Labeller::new(seed, rules.formats()));
    }

    /// The labels of the last record.
    #[must_use]
    pub fn labels(&self) -> &Labels {
        &self.labels
    }

    /// Judges one record. On a reject, `pointer` gets the JSON pointer of what failed.
    pub fn judge<'p, W: Watch>(
        &mut self,
        rules: &Rules,
        binding: Binding,
        input: impl Into<Input<'p>>,
        pointer: &mut Vec<u8>,
        watch: &mut W,
    ) -> Verdict {
        let mut first = FirstFailure::default();
        let walked = self.walk(rules, binding, input.into(), &mut first, watch, |tape, first| {
            if let Some(failure) = first.0 {
                tape.write_pointer(failure.at, pointer);
            }
        });
        self.facts = walked.facts;
        let verdict = match (first.0, walked.format) {
            (Some(failure), format) => Verdict::reject(failure.reason, format, failure.at),
            (None, Some(format)) => Verdict::accept(format),
            (None, None) => Verdict::reject(Reason::UnknownFormat, None, NodeIndex(0)),
        };
        Verdict { unchecked: !walked.unchecked.is_empty(), ..verdict }
    }

    /// The recipe. Failures go to the observer, who may end the walk at any time.
    fn walk<O: Observer, W: Watch>(
        &mut self,
        rules: &Rules,
        binding: Binding,
        input: Input<'_>,
        observer: &mut O,
        watch: &mut W,
        with_tape: impl FnOnce(Tape<'_>, &mut O),
    ) -> Walked {
        let Self { parser, scratch, secrets, fields, makes_facts, labeller, labels, .. } = self;
        *labels = Labels::default();
        // A protocol with reasons of its own has them for what is no envelope, too.
        let format = rules.wire_format(binding);
        let mut walked = Walked { format, unchecked: RuleSet::default(), facts: None };
        let payload = match admit(rules, input.payload) {
            Ok(payload) => payload,
            Err(reason) => {
                refuse(observer, reason);
                return walked;
            }
        };
        parser.parse(payload, |parsed| {
            let tape = match parsed {
                Ok(tape) => tape,
                Err(malformed) => return refuse(observer, syntax_reason(rules, binding, malformed)),
            };
            watch.lap(Stage::Parse);
            let found = identify(rules, binding, tape, scratch, observer);
            walked.format = found.or(walked.format);
            if let (Some(labeller), Some(format)) = (labeller, found) {
                *labels = labeller.read(format, tape);
            }
            if let Some(format) = found.and_then(|id| rules.format(id)) {
                let shaped = shape(format, binding, tape, scratch, observer);
                watch.lap(Stage::Shape);
                if let ControlFlow::Continue(in_shape) = shaped {
                    format.find_fields(tape, fields);
                    let record = Record { tape, payload, in_shape, fields, now: input.now, key: input.key };
                    let mut report = format.report(observer);
                    let mut held = meaning(format, &record, &mut report, watch);
                    if held.is_continue() {
                        held = steps::credentials(format, &record, secrets, &mut report, watch);
                    }
                    walked.unchecked = report.unchecked_rules();
                    walked.facts =
                        (*makes_facts && held.is_continue()).then(|| format.facts(&record, secrets));
                }
            }
            with_tape(tape, observer);
        });
        walked
    }
}
