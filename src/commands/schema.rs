//! `tollgate schema`: compile a schema and show its program, or check documents against it.
//!
//! A schema that does not compile is wrong usage; a document that is invalid, or no JSON at all, is a finding, and the
//! others are still checked.

use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};
use serde_json::{Value, json};

use super::{Ended, Failure, load_config, usage};
use crate::cli::{Schema, SchemaCheck, SchemaOptions};
use crate::config::{Limits, SchemaFiles};
use crate::files::{Event, Input, Layout, ReadOptions, Reader};
use crate::formats::program_limits;
use crate::program::{Documents, Draft, Explanation, FirstFailures, Options, Program, Scratch};
use crate::tape::{Malformed, Parser};

/// LIMIT: deepest nesting of a document, where no configuration says another one.
const DEPTH_MAX: usize = 512;

pub(super) fn run(args: &Schema) -> Result<Ended, Failure> {
    let mut out = std::io::stdout().lock();
    match args {
        Schema::Compile(args) => {
            let limits = load_config(args.config.as_deref())?.limits;
            let program = load(&args.file, &args.options, &limits).map_err(usage)?;
            out.write_all(program.listing().as_bytes())?;
            Ok(Ended::Well)
        }
        Schema::Check(args) => {
            let limits = load_config(args.config.as_deref())?.limits;
            let program = load(&args.schema, &args.options, &limits).map_err(usage)?;
            let depth_max = args.config.as_ref().map_or(DEPTH_MAX, |_| usize::from(limits.depth_max));
            check(args, &program, depth_max, &mut out)
        }
    }
}

fn check(
    args: &SchemaCheck,
    program: &Program,
    depth_max: usize,
    out: &mut impl Write,
) -> Result<Ended, Failure> {
    let mut check = Check {
        program,
        json: args.json,
        depth_max,
        parser: Parser::new(depth_max),
        scratch: Scratch::default(),
        index: 0,
        all_valid: true,
    };
    let stdin = [PathBuf::from("-")];
    let none = args.documents.is_empty() && args.document.is_empty();
    let paths = if none { &stdin } else { args.documents.as_slice() };
    let inputs: Vec<_> = paths.iter().map(|path| Input::from_argument(path)).collect();
    let options = ReadOptions { layout: Layout::AutoOfValues, ..ReadOptions::default() };
    let mut failed = None;
    for event in Reader::open(&inputs, &options)? {
        match event {
            Event::Block(block) => {
                block.spans.iter().try_for_each(|span| check.document(block.payload(span), out))?;
            }
            Event::Failed { error, .. } => {
                tracing::error!("{error}");
                failed.get_or_insert(error);
            }
            Event::Done { .. } | Event::Unfinished => {}
        }
    }
    for path in &args.document {
        let document = fs::read(path).with_context(|| path.display().to_string())?;
        // As at the start of every file, a byte order mark is not part of the document.
        check.document(document.strip_prefix(b"\xef\xbb\xbf").unwrap_or(&document), out)?;
    }
    match failed {
        Some(error) => Err(error.into()),
        None if check.all_valid => Ok(Ended::Well),
        None => Ok(Ended::Findings),
    }
}

/// Reads and compiles the schema, with the documents it may refer to.
fn load(schema: &Path, arguments: &SchemaOptions, limits: &Limits) -> Result<Program> {
    let map = arguments.map.iter().map(|(prefix, directory)| (prefix.as_str(), directory.as_path()));
    let files = SchemaFiles::read(schema, map)?;
    let limits = program_limits(limits);
    let options = Options {
        default_draft: if arguments.draft == "7" { Draft::V7 } else { Draft::V2020 },
        assert_formats: !arguments.no_format,
        documents: Documents::of(&files, &limits),
        limits,
    };
    Ok(Program::compile(&files.text, &files.file, &options)?)
}

struct Check<'a> {
    program: &'a Program,
    json: bool,
    depth_max: usize,
    parser: Parser,
    scratch: Scratch,
    index: usize,
    all_valid: bool,
}

impl Check<'_> {
    fn document(&mut self, text: &[u8], out: &mut impl Write) -> Result<()> {
        let Self { program, parser, scratch, depth_max, .. } = self;
        let (errors, more) = parser.parse(text, |tape| match tape {
            Err(error) => {
                let message = syntax_message(error, text, *depth_max);
                let error =
                    json!({"instance": "", "schema": "", "keyword": "json-syntax", "message": message});
                (vec![error], 0)
            }
            Ok(tape) => {
                let mut first = FirstFailures::default();
                program.execute(tape, scratch, &mut first);
                let words = program.explain_all(&first.kept, tape, scratch);
                (words.iter().map(describe).collect(), first.more)
            }
        });
        self.all_valid &= errors.is_empty();
        self.write(&errors, more, out)?;
        self.index += 1;
        Ok(())
    }

    /// One document's outcome. Of more failures than are put into words there is only the number.
    fn write(&self, errors: &[Value], more: u64, out: &mut impl Write) -> Result<()> {
        if self.json {
            let (index, valid) = (self.index, errors.is_empty());
            let line = match more {
                0 => json!({"index": index, "valid": valid, "errors": errors}),
                more => json!({"index": index, "valid": valid, "errors": errors, "more": more}),
            };
            writeln!(out, "{line}")?;
        } else if errors.is_empty() {
            writeln!(out, "{}: valid", self.index)?;
        } else {
            writeln!(out, "{}: invalid", self.index)?;
            for error in errors {
                let text = |name: &str| error.get(name).and_then(Value::as_str).unwrap_or_default();
                writeln!(
                    out,
                    "  at {:?}: {} (schema {:?})",
                    text("instance"),
                    text("message"),
                    text("schema")
                )?;
            }
            if more > 0 {
                writeln!(out, "  and {more} more")?;
            }
        }
        Ok(())
    }
}

/// simd-json says little about what it refuses; a second parser knows line and column.
fn syntax_message(error: Malformed, text: &[u8], depth_max: usize) -> String {
    match error {
        Malformed::TooDeep => format!("nested deeper than {depth_max} levels, the limit `depth_max`"),
        Malformed::LoneSurrogate => "not JSON: an escape names half a surrogate pair".to_owned(),
        Malformed::NotUtf8 => {
            let valid = std::str::from_utf8(text).map_or_else(|error| error.valid_up_to(), str::len);
            format!("not UTF-8: the byte at position {valid} belongs to no character")
        }
        Malformed::Syntax => {
            let error = serde_json::from_slice::<serde::de::IgnoredAny>(text).err();
            error.map_or_else(|| "not JSON".to_owned(), |error| format!("not JSON: {error}"))
        }
    }
}

fn describe(words: &Explanation) -> Value {
    let Explanation { instance, schema, keyword, expected, found } = words;
    let message = format!("{keyword}: expected {expected}, found {found}");
    json!({"instance": instance, "schema": schema, "keyword": keyword, "message": message})
}
