//! From schema text to a [`Program`]: one block of ops per schema object that can be reached from the root.
//!
//! Schemas are compiled from a work list, each once, so recursion in the schema costs nothing and references are
//! numbers of blocks. `keywords` turns one schema object into its full list of ops, in the order of the report;
//! `finish` derives the fast lists and refuses references that loop on one value.

mod closed;
mod exact;
mod finish;
mod keywords;
mod plans;

use std::collections::{HashMap, HashSet};
use std::sync::atomic::{AtomicU64, Ordering};

use serde_json::Value;

use super::documents::{Dialect, Place, Registry, push_token};
use super::ops::{Block, BlockId, Op, OpIndex, Origin, Span, Tables};
use super::patterns::{Pattern, PatternLimits};
use super::{CompileError, Draft, Options, Program};

/// The base of schemas without `$id`.
pub(super) const ROOT_URI: &str = "schema:/";

pub(super) fn compile(text: &str, file: &str, options: &Options) -> Result<Program, CompileError> {
    static NEXT_ID: AtomicU64 = AtomicU64::new(1);
    let at_root = |problem| CompileError { file: file.to_owned(), pointer: String::new(), problem };
    let (readable, texts) = exact::texts_of(text);
    let root: Value =
        serde_json::from_str(&readable).map_err(|error| at_root(format!("not JSON: {error}")))?;
    let registry = Registry::new(&root, ROOT_URI, &options.documents, options.default_draft);
    let mut compiler = Compiler {
        registry,
        options,
        file,
        texts,
        tables: Tables { origins: limits_origins(), ..Tables::default() },
        ids: HashMap::new(),
        places: Vec::new(),
        patterns: HashMap::new(),
        pattern_bytes: 0,
        dynamic_names: Vec::new(),
    };
    let root = compiler.block(Place { document: 0, pointer: String::new() }, 0);
    compiler.lower_all()?;
    let root_op = compiler.finish(root)?;
    let tables = std::mem::take(&mut compiler.tables);
    compiler.check_definitions(tables.blocks.len())?;
    let id = NEXT_ID.fetch_add(1, Ordering::Relaxed);
    Ok(Program { id, root, root_op, tables, limits: options.limits })
}

/// The origins that no keyword has, in the order of [`OpIndex`]'s constants.
fn limits_origins() -> Vec<Origin> {
    let origin =
        |keyword, expected: &str| Origin { pointer: String::new(), keyword, expected: expected.to_owned() };
    vec![
        origin("duplicate-names", "each name once in an object"),
        origin("limit-steps", "a document that can be checked within `steps_max`"),
        origin("limit-depth", "a document that can be checked within `call_depth_max`"),
    ]
}

pub(super) struct Compiler<'a> {
    pub(super) registry: Registry<'a>,
    pub(super) options: &'a Options,
    file: &'a str,
    /// The texts of numbers in the schema that a value does not have exactly, by pointer.
    texts: HashMap<String, String>,
    pub(super) tables: Tables,
    ids: HashMap<Place, BlockId>,
    /// Place and resource of each block, in the order of their numbers.
    places: Vec<(Place, u32)>,
    patterns: HashMap<String, u32>,
    pattern_bytes: usize,
    /// Anchor and plan of each dynamic reference.
    pub(super) dynamic_names: Vec<(String, usize)>,
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
        let resource = self.registry.resource_at(&place).unwrap_or(resource);
        self.ids.insert(place.clone(), id);
        self.places.push((place, resource));
        id
    }

    fn lower_all(&mut self) -> Result<(), CompileError> {
        let mut dynamic_targets = (0, 0);
        loop {
            while let Some((place, resource)) = self.places.get(self.tables.blocks.len()).cloned() {
                self.lower(place, resource)?;
            }
            // New resources can bring new targets for dynamic references, and these new blocks.
            let now = (self.places.len(), self.dynamic_names.len());
            if now == dynamic_targets {
                return Ok(());
            }
            dynamic_targets = now;
            self.collect_dynamic_targets();
        }
    }

    /// Compiles the definitions of the schema itself that nothing refers to, and throws them away: a mistake in them is
    /// an error like elsewhere. `blocks` are compiled already.
    fn check_definitions(&mut self, blocks: usize) -> Result<(), CompileError> {
        self.tables.blocks.resize_with(blocks, Block::default);
        self.pattern_bytes = 0;
        self.patterns.clear();
        self.dynamic_names.clear();
        let mut next = 0;
        while let Some((place, resource)) = self.places.get(next).cloned() {
            next += 1;
            let Some(Value::Object(schema)) = self.registry.value(&place).filter(|_| place.document == 0)
            else {
                continue;
            };
            let modern = self.dialect(resource).is_ok_and(|dialect| dialect.draft == Draft::V2020);
            let keywords: &[&str] = if modern { &["$defs", "definitions"] } else { &["definitions"] };
            for keyword in keywords {
                let Some(Value::Object(definitions)) = schema.get(*keyword) else { continue };
                for name in definitions.keys() {
                    self.block(place.child(keyword).child(name), resource);
                }
            }
            self.lower_all()?;
        }
        self.refuse_loops()
    }

    fn collect_dynamic_targets(&mut self) {
        // Only resources that the program can enter stand in a dynamic scope.
        let entered: HashSet<u32> = self.places.iter().map(|(_, resource)| *resource).collect();
        for (name, plan) in self.dynamic_names.clone() {
            let mut targets = self.registry.dynamic_anchors(&name);
            targets.retain(|(resource, _)| entered.contains(resource));
            let candidates = targets
                .into_iter()
                .map(|(resource, place)| (resource, self.block(place, resource)))
                .collect();
            if let Some(plan) = self.tables.dynamics.get_mut(plan) {
                plan.candidates = candidates;
            }
        }
    }

    /// Compiles one schema into the full list of its ops.
    fn lower(&mut self, place: Place, resource: u32) -> Result<(), CompileError> {
        let start = self.tables.ops.len() as u32;
        match self.registry.value(&place) {
            Some(Value::Bool(true)) => {}
            Some(Value::Bool(false)) => {
                let origin = self.origin(&place, "false", "nothing is allowed here".to_owned());
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
                    self.error(&place, format!("found {found}; a schema is an object, `true` or `false`"))
                );
            }
        }
        let end = self.tables.ops.len() as u32;
        if end as usize > self.options.limits.ops_max {
            let problem = format!(
                "the program has more ops than the limit `ops_max` = {}",
                self.options.limits.ops_max
            );
            let place = Place { document: 0, pointer: String::new() };
            return Err(self.error(&place, problem));
        }
        self.tables.blocks.push(Block { full: Span { start, end }, resource, ..Block::default() });
        Ok(())
    }

    fn dialect(&self, resource: u32) -> Result<Dialect, CompileError> {
        match self.registry.resource(resource).map(|resource| (&resource.place, &resource.dialect)) {
            Some((_, Ok(dialect))) => Ok(*dialect),
            Some((place, Err(problem))) => Err(self.error(&place.child("$schema"), problem.clone())),
            None => Ok(Dialect::of(self.options.default_draft)),
        }
    }

    /// Notes where a check comes from.
    pub(super) fn origin(&mut self, place: &Place, keyword: &'static str, expected: String) -> OpIndex {
        let number = OpIndex(self.tables.origins.len() as u32);
        let pointer = self.display(place);
        self.tables.origins.push(Origin { pointer, keyword, expected });
        number
    }

    fn display(&self, place: &Place) -> String {
        match place.document {
            0 => place.pointer.clone(),
            document => {
                let root = Place { document, pointer: String::new() };
                let resource =
                    self.registry.resource_at(&root).and_then(|number| self.registry.resource(number));
                format!("{}#{}", resource.map_or("", |resource| &resource.uri), place.pointer)
            }
        }
    }

    pub(super) fn error(&self, place: &Place, problem: String) -> CompileError {
        let pointer = self.display(place);
        match pointer.split_once('#').filter(|_| place.document != 0) {
            Some((uri, pointer)) => {
                CompileError { file: uri.to_owned(), pointer: pointer.to_owned(), problem }
            }
            None => CompileError { file: self.file.to_owned(), pointer, problem },
        }
    }

    /// The number of a pattern; equal ones are compiled once.
    pub(super) fn pattern(&mut self, text: &str, place: &Place) -> Result<u32, CompileError> {
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
        let mut place = here.place.clone();
        for token in tokens {
            push_token(&mut place.pointer, token);
        }
        self.block(place, here.resource)
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

/// A text for messages, cut to a readable length.
pub(super) fn shorten(text: &str) -> String {
    const CHARS_MAX: usize = 120;
    match text.char_indices().nth(CHARS_MAX) {
        Some((end, _)) => format!("{}…", text.get(..end).unwrap_or_default()),
        None => text.to_owned(),
    }
}
