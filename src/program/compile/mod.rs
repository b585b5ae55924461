//! From schema text to a [`Program`]: one block of ops per schema object that can be reached from the root.
//!
//! Schemas are compiled from a work list, each once, so recursion in the schema costs nothing and references are
//! numbers of blocks. `keywords` turns one schema object into its full list of ops, in the order of the report;
//! `finish` derives the fast lists and refuses references that loop on one value.

mod closed;
mod exact;
mod finish;
mod keywords;
mod metaschema;
mod plans;

use std::collections::{HashMap, HashSet};
use std::sync::atomic::{AtomicU64, Ordering};

use serde_json::Value;

use super::documents::{self, Dialect, Unreadable};
use super::ops::{Block, BlockId, Op, OpIndex, Origin, Span, Tables};
use super::patterns::{Pattern, PatternLimits};
use super::places::Place;
use super::registry::Registry;
use super::{CompileError, Draft, Options, Program};

/// The base of schemas without `$id`.
pub(super) const ROOT_URI: &str = "schema:/";

pub(super) fn compile(text: &str, file: &str, options: &Options) -> Result<Program, CompileError> {
    compile_text(text, file, options, true)
}

/// Compiles a schema that is known to be one: a metaschema.
fn compile_unchecked(text: &str, file: &str, options: &Options) -> Result<Program, CompileError> {
    compile_text(text, file, options, false)
}

fn compile_text(text: &str, file: &str, options: &Options, checked: bool) -> Result<Program, CompileError> {
    static NEXT_ID: AtomicU64 = AtomicU64::new(1);
    let content = documents::read(text, options.limits.schema_depth_max).map_err(
        |Unreadable { pointer, problem }| CompileError { file: file.to_owned(), pointer, problem },
    )?;
    let registry = Registry::new((&content, file), ROOT_URI, &options.documents, options.default_draft);
    let mut compiler = Compiler {
        registry,
        options,
        tables: Tables { origins: limits_origins(), ..Tables::default() },
        ids: HashMap::new(),
        places: Vec::new(),
        patterns: HashMap::new(),
        pattern_bytes: 0,
        dynamic_names: Vec::new(),
        dynamic_plans: HashMap::new(),
        copied_ops: 0,
        targets_known: (0, 0),
    };
    let root = compiler.block(Place::default(), 0);
    compiler.lower_all()?;
    let root_op = compiler.finish(root)?;
    let mut tables = std::mem::take(&mut compiler.tables);
    compiler.check_definitions(tables.blocks.len())?;
    compiler.refuse_conflicts()?;
    if checked {
        compiler.check_metaschemas()?;
    }
    tables.places = std::mem::take(&mut compiler.registry.places);
    tables.places.seal();
    let id = NEXT_ID.fetch_add(1, Ordering::Relaxed);
    Ok(Program { id, root, root_op, tables, limits: options.limits })
}

/// The origins that no keyword has, in the order of [`OpIndex`]'s constants.
fn limits_origins() -> Vec<Origin> {
    let origin =
        |keyword, expected: &str| Origin { place: Place::default(), keyword, expected: expected.to_owned() };
    vec![
        origin("duplicate-names", "each name once in an object"),
        origin("limit-steps", "a document that can be checked within the limit `schema_steps_max`"),
        origin("limit-depth", "a document that can be checked within the limit `schema_calls_max`"),
    ]
}

pub(super) struct Compiler<'a> {
    pub(super) registry: Registry<'a>,
    pub(super) options: &'a Options,
    pub(super) tables: Tables,
    ids: HashMap<Place, BlockId>,
    /// Place and resource of each block, in the order of their numbers.
    places: Vec<(Place, u32)>,
    patterns: HashMap<String, u32>,
    pattern_bytes: usize,
    /// Anchor and plan of each dynamic reference.
    pub(super) dynamic_names: Vec<(String, usize)>,
    /// The plans by anchor and fallback: references that mean the same share one.
    pub(super) dynamic_plans: HashMap<(String, BlockId), u32>,
    /// Ops that slots hold for the patterns that their names match.
    pub(super) copied_ops: usize,
    /// How many blocks and dynamic references there were when the targets of these were last collected.
    targets_known: (usize, usize),
}

/// The schema object that is being compiled.
pub(super) struct Here<'a> {
    pub(super) place: Place,
    pub(super) resource: u32,
    pub(super) dialect: Dialect,
    pub(super) schema: &'a serde_json::Map<String, Value>,
    pub(super) ops: Vec<Op>,
}

impl<'a> Compiler<'a> {
    /// The number of the block for the schema at `place`; compiles it later if it is new.
    pub(super) fn block(&mut self, place: Place, resource: u32) -> BlockId {
        if let Some(id) = self.ids.get(&place) {
            return *id;
        }
        let id = BlockId(self.places.len() as u32);
        let resource = self.registry.resource_at(place).unwrap_or(resource);
        self.ids.insert(place, id);
        self.places.push((place, resource));
        id
    }

    fn lower_all(&mut self) -> Result<(), CompileError> {
        loop {
            while let Some((place, resource)) = self.places.get(self.tables.blocks.len()).copied() {
                self.lower(place, resource)?;
            }
            // New resources can bring new targets for dynamic references, and these new blocks.
            let now = (self.places.len(), self.dynamic_names.len());
            if now == self.targets_known || self.dynamic_names.is_empty() {
                return Ok(());
            }
            self.targets_known = now;
            self.collect_dynamic_targets();
        }
    }

    /// Compiles the definitions of the schema itself that nothing refers to, and throws them away: a mistake in them is
    /// an error like elsewhere. `blocks` are compiled already.
    fn check_definitions(&mut self, blocks: usize) -> Result<(), CompileError> {
        self.tables.blocks.resize_with(blocks, Block::default);
        self.pattern_bytes = 0;
        self.copied_ops = 0;
        self.patterns.clear();
        self.dynamic_names.clear();
        self.dynamic_plans.clear();
        let mut next = 0;
        while next < self.places.len() {
            // All that are there at once: a round per level of definitions in definitions.
            let end = self.places.len();
            (next..end).for_each(|number| self.add_definitions(number));
            next = end;
            self.lower_all()?;
        }
        self.refuse_loops()
    }

    /// Adds the definitions in the schema of a block, if that is one of the schema itself.
    fn add_definitions(&mut self, number: usize) {
        let Some((place, resource)) = self.places.get(number).copied() else { return };
        let is_own = self.registry.places.document(place) == 0;
        let Some(Value::Object(schema)) = self.registry.value(place).filter(|_| is_own) else { return };
        let modern = self.dialect(resource).is_ok_and(|dialect| dialect.draft == Draft::V2020);
        let keywords: &[&str] = if modern { &["$defs", "definitions"] } else { &["definitions"] };
        for keyword in keywords {
            let Some(Value::Object(definitions)) = schema.get(*keyword) else { continue };
            let place = self.registry.child(place, keyword);
            for name in definitions.keys() {
                let definition = self.registry.child(place, name);
                self.block(definition, resource);
            }
        }
    }

    /// Refuses identifiers that stand twice in a document that is used.
    fn refuse_conflicts(&self) -> Result<(), CompileError> {
        let used: HashSet<u32> =
            self.places.iter().map(|(place, _)| self.registry.places.document(*place)).collect();
        let mut conflicts = self.registry.conflicts.iter();
        match conflicts.find(|(place, _)| used.contains(&self.registry.places.document(*place))) {
            Some((place, problem)) => Err(self.error(*place, problem.clone())),
            None => Ok(()),
        }
    }

    fn collect_dynamic_targets(&mut self) {
        // Only resources that the program can enter stand in a dynamic scope.
        let entered: HashSet<u32> = self.places.iter().map(|(_, resource)| *resource).collect();
        let mut candidates: HashMap<String, Vec<(u32, BlockId)>> = HashMap::new();
        for (name, _) in self.dynamic_names.clone() {
            if candidates.contains_key(&name) {
                continue;
            }
            let mut targets = self.registry.dynamic_anchors(&name);
            targets.retain(|(resource, _)| entered.contains(resource));
            let blocks = targets.into_iter().map(|(resource, place)| (resource, self.block(place, resource)));
            let blocks = blocks.collect();
            candidates.insert(name, blocks);
        }
        for (name, plan) in &self.dynamic_names {
            if let Some(plan) = self.tables.dynamics.get_mut(*plan) {
                plan.candidates = candidates.get(name).cloned().unwrap_or_default();
            }
        }
    }

    /// Compiles one schema into the full list of its ops.
    fn lower(&mut self, place: Place, resource: u32) -> Result<(), CompileError> {
        let start = self.tables.ops.len() as u32;
        match self.registry.value(place) {
            Some(Value::Bool(true)) => {}
            Some(Value::Bool(false)) => {
                let origin = self.origin(place, "false", "nothing is allowed here".to_owned());
                self.tables.ops.push(Op::new(super::ops::Kind::Never, origin));
            }
            Some(Value::Object(schema)) => {
                let dialect = self.dialect(resource)?;
                let mut here = Here { place, resource, dialect, schema, ops: Vec::new() };
                self.keywords(&mut here)?;
                self.tables.ops.append(&mut here.ops);
            }
            other => {
                let found = other.map_or("nothing", kind_of);
                return Err(
                    self.error(place, format!("found {found}; a schema is an object, `true` or `false`"))
                );
            }
        }
        let end = self.tables.ops.len() as u32;
        self.hold_to_limit(end as usize)?;
        self.tables.blocks.push(Block { full: Span { start, end }, resource, ..Block::default() });
        Ok(())
    }

    /// Refuses a program of more ops than are allowed.
    pub(super) fn hold_to_limit(&self, ops: usize) -> Result<(), CompileError> {
        let ops_max = self.options.limits.ops_max;
        if ops <= ops_max {
            return Ok(());
        }
        let problem = format!("the program has more ops than the limit `schema_ops_max` = {ops_max}");
        Err(self.error(Place::default(), problem))
    }

    fn dialect(&self, resource: u32) -> Result<Dialect, CompileError> {
        match self.registry.resource(resource).map(|resource| (resource.place, &resource.dialect)) {
            Some((_, Ok(dialect))) => Ok(*dialect),
            Some((place, Err(problem))) => {
                let mut error = self.error(place, problem.clone());
                error.pointer.push_str("/$schema");
                Err(error)
            }
            None => Ok(Dialect::of(self.options.default_draft)),
        }
    }

    /// Notes where a check comes from.
    pub(super) fn origin(&mut self, place: Place, keyword: &'static str, expected: String) -> OpIndex {
        let number = OpIndex(self.tables.origins.len() as u32);
        self.tables.origins.push(Origin { place, keyword, expected });
        number
    }

    pub(super) fn error(&self, place: Place, problem: String) -> CompileError {
        let file = self.registry.document(place).map(|document| document.file.clone()).unwrap_or_default();
        CompileError { file, pointer: self.registry.places.pointer(place), problem }
    }

    /// The number of a pattern; equal ones are compiled once.
    pub(super) fn pattern(&mut self, text: &str, place: Place) -> Result<u32, CompileError> {
        if let Some(number) = self.patterns.get(text) {
            return Ok(*number);
        }
        let limits = PatternLimits {
            text_bytes_max: self.options.limits.pattern_bytes_max,
            program_bytes_max: self.options.limits.pattern_program_bytes_max,
        };
        let pattern = Pattern::new(text, limits)
            .map_err(|problem| self.error(place, format!("the pattern `{}`: {problem}", shorten(text))))?;
        self.pattern_bytes += pattern.memory_bytes();
        let bytes_max = self.options.limits.patterns_program_bytes_max;
        if self.pattern_bytes > bytes_max {
            let problem = format!(
                "the patterns take more bytes than the limit `patterns_program_bytes_max` = {bytes_max}"
            );
            return Err(self.error(place, problem));
        }
        let number = self.tables.patterns.len() as u32;
        self.tables.patterns.push(pattern);
        self.patterns.insert(text.to_owned(), number);
        Ok(number)
    }

    /// The block of a schema below `here`.
    pub(super) fn child(&mut self, here: &Here<'a>, tokens: &[&str]) -> BlockId {
        let place = self.below(here, tokens);
        self.block(place, here.resource)
    }

    /// A place below `here`.
    pub(super) fn below(&mut self, here: &Here<'a>, tokens: &[&str]) -> Place {
        tokens.iter().fold(here.place, |place, token| self.registry.child(place, token))
    }
}

/// What kind of JSON value this is, in words.
pub(super) fn kind_of(value: &Value) -> &'static str {
    match value {
        Value::Null => "null",
        Value::Bool(_) => "a boolean",
        Value::Number(_) => "a number",
        Value::String(_) => "a string",
        Value::Array(_) => "an array",
        Value::Object(_) => "an object",
    }
}

/// What was found, for people.
pub(super) fn in_words(value: &Value) -> String {
    match value {
        Value::Array(items) if items.is_empty() => "an empty array".to_owned(),
        Value::Array(_) | Value::Object(_) => kind_of(value).to_owned(),
        scalar => shorten(&scalar.to_string()),
    }
}

/// A text for messages, cut to a readable length.
pub(super) fn shorten(text: &str) -> String {
    const CHARS_MAX: usize = 120;
    match text.char_indices().nth(CHARS_MAX) {
        Some((end, _)) => format!("{}…", text.get(..end).unwrap_or_default()),
        None => text.to_owned(),
    }
}
