//! JSON Schema as a precompiled program that runs on the tape.
//!
//! ```text
//!  schema text ──serde_json──► tree ──registry───► resources, anchors, references
//!                                        │
//!                                     compile      one block of ops per schema object; names, patterns, literals
//!                                        │         in side tables; references are block numbers
//!                                        ▼
//!  payload ──simd-json──► tape ──────► execute     one walk: silent and fast, or reporting to an observer
//!                                        │
//!                                        ▼
//!                               explain, listing   texts, made only where someone asks
//! ```
//!
//! Reading order: `ops` (the shapes), `compile/` (how a schema becomes ops), `execute/` (how ops run), then the
//! leaves: `places`, `looks`, `names`, `numbers`, `decimals`, `literals`, `patterns/`, `strings/`, `duplicates`. `explain` stands
//! above them all: for branches it runs their ops again.
//!
//! The order of failures is fixed and does not depend on the order of members: a duplicate name anywhere comes before
//! everything else; then, from the top down and depth first, for each value its type, `const` and `enum`, bounds,
//! then missing members in the order of `required`, unknown members by name, known members in the order of
//! `properties`, other members by name, items in their order, and last the keywords that combine schemas.
//!
//! This module does no I/O and knows neither formats nor Kafka.

mod compile;
mod decimals;
mod documents;
mod duplicates;
mod execute;
mod explain;
mod listing;
mod literals;
mod looks;
mod metaschemas;
mod names;
mod numbers;
mod ops;
mod patterns;
mod places;
mod positions;
mod registry;
mod strings;
#[cfg(test)]
mod tests;
mod uri;

use std::hash::RandomState;
use std::ops::ControlFlow;

pub(crate) use decimals::Decimal;
pub use documents::Documents;
pub use duplicates::first_duplicate;
pub use explain::{Explanation, FAILURES_MAX};
pub use listing::Size;
pub use ops::OpIndex;

use crate::tape::{NodeIndex, Outline, Tape};
use crate::verdict::Reason;
use execute::{Duty, Expectations, Outlined, Reporting, Silent, Sink, Walk};
use ops::{BlockId, Op, Tables};

/// A version of JSON Schema.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Draft {
    /// Draft 7.
    V7,
    /// Draft 2020-12.
    #[default]
    V2020,
}

impl Draft {
    /// The draft whose metaschema has this URI.
    fn of_uri(uri: &str) -> Option<Self> {
        match uri.strip_suffix('#').unwrap_or(uri) {
            "http://json-schema.org/draft-07/schema" | "https://json-schema.org/draft-07/schema" => {
                Some(Self::V7)
            }
            "https://json-schema.org/draft/2020-12/schema" => Some(Self::V2020),
            _ => None,
        }
    }
}

/// What a schema may cost, at compile time and per document.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// Deepest nesting of a schema's text.
    pub schema_depth_max: usize,
    /// Most ops of a program.
    pub ops_max: usize,
    /// Most bytes of one pattern's text.
    pub pattern_bytes_max: usize,
    /// Most bytes of one pattern's matcher.
    pub pattern_program_bytes_max: usize,
    /// Most bytes of all patterns' matchers together.
    pub patterns_program_bytes_max: usize,
    /// Most nested calls while a document is checked; a level of nesting takes one or two.
    pub call_depth_max: u32,
    /// Most steps while a document is checked; one op on one node is about one step.
    pub steps_max: u64,
}

impl Limits {
    #[inline]
    fn budget(&self) -> Budget {
        Budget { steps: self.steps_max, calls: self.call_depth_max }
    }
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            schema_depth_max: documents::SCHEMA_DEPTH_MAX,
            ops_max: 100_000,
            pattern_bytes_max: 4096,
            pattern_program_bytes_max: 1 << 20,
            patterns_program_bytes_max: 16 << 20,
            call_depth_max: 1024,
            steps_max: 20_000_000,
        }
    }
}

/// How a schema is compiled.
#[derive(Clone, Debug)]
pub struct Options {
    /// The draft of schemas that do not say `$schema`.
    pub default_draft: Draft,
    /// Whether `format` is asserted, for the formats that are implemented; otherwise it is an annotation.
    pub assert_formats: bool,
    /// What the schema may cost.
    pub limits: Limits,
    /// Other documents that references may reach.
    pub documents: Documents,
}

impl Default for Options {
    fn default() -> Self {
        Self {
            default_draft: Draft::default(),
            assert_formats: true,
            limits: Limits::default(),
            documents: Documents::default(),
        }
    }
}

/// Why a schema could not be compiled.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{file}: at `{pointer}`: {problem}")]
pub struct CompileError {
    /// The file, as the caller named it, or the URI of another document.
    pub file: String,
    /// JSON pointer of the place in it.
    pub pointer: String,
    /// What is wrong, and what is allowed.
    pub problem: String,
}

/// A compiled schema: immutable, shared by all workers.
#[derive(Debug)]
pub struct Program {
    /// Tells programs apart in a scratch memory that serves several.
    id: u64,
    root: BlockId,
    /// Stands in for the root's block on the fast path.
    root_op: Op,
    tables: Tables,
    limits: Limits,
}

/// One failed check.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Failure {
    /// The reason for a reject.
    pub reason: Reason,
    /// The node that failed; for a missing member the object that lacks it.
    pub at: NodeIndex,
    /// The check, for [`Program::explain`].
    pub op: OpIndex,
}

impl Failure {
    /// A failure that no op of a program found.
    #[must_use]
    pub fn of(reason: Reason, at: NodeIndex) -> Self {
        Self { reason, at, op: OpIndex::NONE }
    }
}

/// Is told of each failure and says whether to go on.
pub trait Observer {
    /// Called once per failure, in the documented order.
    fn failed(&mut self, failure: Failure) -> ControlFlow<()>;

    /// Whether it goes on after a failure.
    fn wants_all(&self) -> bool {
        false
    }
}

/// Keeps the first failure and stops.
#[derive(Clone, Copy, Debug, Default)]
pub struct FirstFailure(pub Option<Failure>);

impl Observer for FirstFailure {
    fn failed(&mut self, failure: Failure) -> ControlFlow<()> {
        self.0 = Some(failure);
        ControlFlow::Break(())
    }
}

/// Keeps every failure.
#[derive(Clone, Debug, Default)]
pub struct AllFailures(pub Vec<Failure>);

impl Observer for AllFailures {
    fn failed(&mut self, failure: Failure) -> ControlFlow<()> {
        self.0.push(failure);
        ControlFlow::Continue(())
    }

    fn wants_all(&self) -> bool {
        true
    }
}

/// Keeps the first [`FAILURES_MAX`] failures and counts the others.
#[derive(Clone, Debug, Default)]
pub struct FirstFailures {
    /// The failures.
    pub kept: Vec<Failure>,
    /// How many more there are.
    pub more: u64,
}

impl Observer for FirstFailures {
    fn failed(&mut self, failure: Failure) -> ControlFlow<()> {
        if self.kept.len() < FAILURES_MAX {
            self.kept.push(failure);
        } else {
            self.more += 1;
        }
        ControlFlow::Continue(())
    }

    fn wants_all(&self) -> bool {
        true
    }
}

/// What a walk may cost.
#[derive(Clone, Copy, Debug, Default)]
struct Budget {
    steps: u64,
    calls: u32,
}

impl Budget {
    /// What a walk by memory may cost, so that one without it stays within the whole: for an object that looks as expected it
    /// pays half of the steps at least, and one call for up to five objects inside each other.
    #[inline]
    fn by_memory(self) -> Self {
        Self { steps: self.steps / 4, calls: self.calls / 8 }
    }

    #[inline]
    fn without(self, other: Self) -> Self {
        Self { steps: self.steps.saturating_sub(other.steps), calls: self.calls.saturating_sub(other.calls) }
    }
}

/// How a walk went.
#[derive(Clone, Copy, Debug, Default)]
struct Walked {
    /// Whether nothing ended it.
    through: bool,
    /// The limit that ended it.
    stopped: Option<OpIndex>,
    /// How many failures were told.
    failures: u32,
}

/// A worker's memory for executing programs; grows to what is needed and is used again.
#[derive(Debug, Default)]
pub struct Scratch {
    /// By program.
    learned: Vec<Learned>,
    memory: Memory,
}

/// What a worker learned about the documents of one program.
#[derive(Debug)]
struct Learned {
    program: u64,
    /// What the next objects will look like.
    expectations: Expectations,
    /// What is left to check in documents whose outline is known.
    outlined: Outlined,
}

/// What a walk writes to; apart from the expectations, which it reads at the same time.
#[derive(Debug, Default)]
struct Memory {
    seen: duplicates::Seen,
    /// Nodes that were evaluated, for `unevaluated…`; a stack.
    marks: Vec<u32>,
    /// Which slots past 64 were seen; a stack.
    bits: Vec<u64>,
    /// Members in the order of the report; a stack.
    order: Vec<u32>,
    /// The resources on the way to the current block; a stack.
    scopes: Vec<u32>,
    /// Items by hash, for `uniqueItems`; a stack.
    hashes: Vec<(u64, u32)>,
    /// Where the document's numbers stand.
    numbers: numbers::Places,
    random: RandomState,
}

impl Memory {
    /// A walk that stopped half-way leaves its stacks behind.
    #[inline]
    fn clear(&mut self) {
        self.marks.clear();
        self.bits.clear();
        self.order.clear();
        self.scopes.clear();
        self.hashes.clear();
    }
}

impl Program {
    /// Compiles a schema. `name_of_file` stands in errors; references are resolved among `options.documents`.
    pub fn compile(schema_text: &str, name_of_file: &str, options: &Options) -> Result<Self, CompileError> {
        compile::compile(schema_text, name_of_file, options)
    }

    /// Checks a document. Valid means: no duplicate names at any depth, and the schema holds.
    ///
    /// The first walk is silent and stops at the first failure. Only a document that fails is walked again, in the
    /// order of the report, so that which failure comes first does not depend on the order of members.
    pub fn execute<O: Observer>(&self, tape: Tape<'_>, scratch: &mut Scratch, observer: &mut O) -> bool {
        let Walked { through, mut stopped, .. } = self.walk_silently(tape, scratch, Duty::DUPLICATES);
        if through {
            return true;
        }
        let duplicate = first_duplicate(tape, scratch);
        if let Some(at) = duplicate {
            let failure = Failure { reason: Reason::DuplicateKey, at, op: OpIndex::DUPLICATE };
            if observer.failed(failure).is_break() {
                return false;
            }
        }
        // A document that reached a limit is not walked again: it has cost enough.
        if stopped.is_none() {
            let root = call_of(self.root);
            let told = self.walk_plainly(&tape, scratch, Reporting(observer), |walk| {
                walk.value_at(&root, 0, Duty::default())
            });
            stopped = told.stopped;
            if told.failures == 0 && stopped.is_none() && duplicate.is_none() {
                debug_assert!(false, "the silent walk found a failure that the other one did not");
                stopped = Some(OpIndex::NONE);
            }
        }
        if let Some(op) = stopped {
            let failure = Failure { reason: Reason::Schema, at: NodeIndex(0), op };
            // The walk is over, whatever the observer says.
            let _ = observer.failed(failure);
        }
        false
    }

    /// Whether the schema holds, and nothing else: duplicate names are not looked for.
    pub fn is_valid(&self, tape: Tape<'_>, scratch: &mut Scratch) -> bool {
        self.walk_silently(tape, scratch, Duty::default()).through
    }

    /// Whether a document holds, duplicate names included, and nothing else.
    pub fn accepts(&self, tape: Tape<'_>, scratch: &mut Scratch) -> bool {
        self.walk_silently(tape, scratch, Duty::DUPLICATES).through
    }

    /// Walks once, for validity.
    ///
    /// What is remembered of earlier documents saves steps and calls, so near the limits the verdict would depend on what came
    /// before. A document that gets near them is walked again without memory, and that is what counts.
    #[inline]
    fn walk_silently(&self, tape: Tape<'_>, scratch: &mut Scratch, duty: Duty) -> Walked {
        let walked = self.walk_by_memory(tape, scratch, duty);
        if walked.stopped.is_none() {
            return walked;
        }
        self.walk_plainly(&tape, scratch, Silent, |walk| walk.document(&self.root_op, duty))
    }

    /// Walks by what is remembered of earlier documents, and only to what is left to check if the outline is known: such a
    /// document has no name twice. Stops well before the limits.
    #[inline]
    fn walk_by_memory(&self, tape: Tape<'_>, scratch: &mut Scratch, duty: Duty) -> Walked {
        let Some(outline) = tape.outline() else { return self.walk_document(tape, scratch, duty) };
        let place = self.place_in(scratch);
        let Scratch { learned, memory } = &mut *scratch;
        let Some(Learned { expectations, outlined, .. }) = learned.get(place) else {
            return Walked::default();
        };
        let known = outlined.of(outline);
        if let Some(list) = known.filter(|list| list.is_complete()) {
            let budget = self.limits.budget().without(list.saved(outline)).by_memory();
            let mut walk = self.begin(&tape, memory, expectations, Silent, budget);
            let through = walk.outlined(outlined, list).is_continue();
            let walked = Walked { through, stopped: walk.stopped, failures: 0 };
            if !through {
                memory.clear();
            }
            return walked;
        }
        let is_new = known.is_none();
        let walked = self.walk_document(tape, scratch, duty);
        if is_new && walked.through && (duty.duplicates() || first_duplicate(tape, scratch).is_none()) {
            self.learn(outline, tape, scratch);
        }
        walked
    }

    /// Learns from a document that is valid and has no name twice.
    #[cold]
    fn learn(&self, outline: Outline, tape: Tape<'_>, scratch: &mut Scratch) {
        let place = self.place_in(scratch);
        if let Some(learned) = scratch.learned.get_mut(place) {
            learned.outlined.learn(outline, &self.tables, &self.root_op, tape.nodes());
        }
    }

    /// Walks once over a whole document, in silence, and expects its objects to look like those before them.
    #[inline(always)]
    #[expect(
        clippy::inline_always,
        reason = "a call per document is not free, and its callers do little else"
    )]
    fn walk_document(&self, tape: Tape<'_>, scratch: &mut Scratch, duty: Duty) -> Walked {
        let place = self.place_in(scratch);
        let Scratch { learned, memory } = scratch;
        let Some(Learned { expectations, .. }) = learned.get_mut(place) else { return Walked::default() };
        let budget = self.limits.budget().by_memory();
        let mut walk = self.begin(&tape, memory, expectations, Silent, budget);
        let through = walk.document(&self.root_op, duty).is_continue();
        let walked = Walked { through, stopped: walk.stopped, failures: walk.failures };
        if !through {
            memory.clear();
        }
        expectations.end(&self.tables, tape.nodes(), &mut memory.seen);
        walked
    }

    /// Walks without memory: begins a walk, and ends it after `steps`.
    fn walk_plainly<S: Sink>(
        &self,
        tape: &Tape<'_>,
        scratch: &mut Scratch,
        sink: S,
        steps: impl FnOnce(&mut Walk<'_, S>) -> ControlFlow<()>,
    ) -> Walked {
        let (memory, nothing) = (&mut scratch.memory, Expectations::default());
        let mut walk = self.begin(tape, memory, &nothing, sink, self.limits.budget());
        let through = steps(&mut walk).is_continue();
        let walked = Walked { through, stopped: walk.stopped, failures: walk.failures };
        if !through {
            memory.clear();
        }
        walked
    }

    /// A walk that has not begun.
    #[inline]
    fn begin<'w, S: Sink>(
        &'w self,
        tape: &'w Tape<'w>,
        scratch: &'w mut Memory,
        expectations: &'w Expectations,
        sink: S,
        budget: Budget,
    ) -> Walk<'w, S> {
        scratch.numbers.forget();
        Walk {
            tables: &self.tables,
            nodes: tape.nodes(),
            tape,
            scratch,
            expectations,
            sink,
            steps: budget.steps,
            depth: budget.calls,
            failures: 0,
            stopped: None,
            marks_from: 0,
            dynamic: !self.tables.dynamics.is_empty(),
        }
    }

    /// Where the scratch memory has what was learned about this program's documents.
    #[inline(always)]
    #[expect(clippy::inline_always, reason = "most workers serve one program, and then it is one comparison")]
    fn place_in(&self, scratch: &mut Scratch) -> usize {
        match scratch.learned.first() {
            Some(learned) if learned.program == self.id => 0,
            _ => self.find_place_in(scratch),
        }
    }

    #[inline(never)]
    fn find_place_in(&self, scratch: &mut Scratch) -> usize {
        let known = scratch.learned.iter().position(|learned| learned.program == self.id);
        known.unwrap_or_else(|| {
            let expectations = Expectations::new(&self.tables);
            scratch.learned.push(Learned { program: self.id, expectations, outlined: Outlined::default() });
            scratch.learned.len() - 1
        })
    }
}

/// The op that runs a block.
fn call_of(block: BlockId) -> Op {
    Op::new(ops::Kind::Call(block), OpIndex::NONE)
}
