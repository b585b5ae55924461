//! `tollgate schema`: compile a schema and show its program, or check documents against it.
//!
//! The arguments come checked; this file reads the files they name and writes results. What a document that is not
//! JSON, or a schema that does not compile, means for the exit code is decided here: 1 for findings, an error else.

use std::fs;
use std::io::{self, BufRead, Write};
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};
use serde_json::{Value, json};

use crate::program::{AllFailures, Documents, Draft, Failure, Options, Program, Scratch};
use crate::tape::{Parser, Tape};

/// Deepest nesting of a document.
const DEPTH_MAX: usize = 512;

/// What both verbs take.
#[derive(Clone, Debug, Default)]
pub struct SchemaArguments {
    /// The schema's file.
    pub schema: PathBuf,
    /// The dialect of schemas that do not name one.
    pub draft: Draft,
    /// Whether `format` is only an annotation.
    pub no_format: bool,
    /// URI prefixes, and the directories whose documents stand below them.
    pub maps: Vec<(String, PathBuf)>,
}

/// What `check` takes beside that.
#[derive(Clone, Debug, Default)]
pub struct CheckArguments {
    /// The schema.
    pub schema: SchemaArguments,
    /// Files of documents, one per line or as an array; `-` is standard input; none means standard input, too.
    pub documents: Vec<PathBuf>,
    /// Files that are one document each.
    pub whole_documents: Vec<PathBuf>,
    /// Whether results are lines of JSON.
    pub json: bool,
}

/// Prints the program of a schema.
pub fn compile(arguments: &SchemaArguments, out: &mut impl Write) -> Result<()> {
    let program = load(arguments)?;
    out.write_all(program.listing().as_bytes())?;
    Ok(())
}

/// Checks documents; returns whether all of them are valid.
pub fn check(arguments: &CheckArguments, out: &mut impl Write) -> Result<bool> {
    let program = load(&arguments.schema)?;
    let mut check = Check {
        program: &program,
        json: arguments.json,
        parser: Parser::new(DEPTH_MAX),
        scratch: Scratch::default(),
        index: 0,
        all_valid: true,
    };
    let stdin = [PathBuf::from("-")];
    let none = arguments.documents.is_empty() && arguments.whole_documents.is_empty();
    for path in if none { &stdin } else { arguments.documents.as_slice() } {
        if path.as_os_str() == "-" {
            check.stream(io::stdin().lock(), out).context("standard input")?;
        } else {
            let file = fs::File::open(path).with_context(|| path.display().to_string())?;
            check.stream(io::BufReader::new(file), out).with_context(|| path.display().to_string())?;
        }
    }
    for path in &arguments.whole_documents {
        let document = fs::read(path).with_context(|| path.display().to_string())?;
        check.document(&document, out)?;
    }
    Ok(check.all_valid)
}

/// Reads and compiles the schema, with the documents it may refer to.
fn load(arguments: &SchemaArguments) -> Result<Program> {
    let name = arguments.schema.display().to_string();
    let text = fs::read_to_string(&arguments.schema).with_context(|| name.clone())?;
    let mut documents = Documents::default();
    for (prefix, directory) in &arguments.maps {
        add_directory(&mut documents, prefix, directory)?;
    }
    let options = Options {
        default_draft: arguments.draft,
        assert_formats: !arguments.no_format,
        documents,
        ..Options::default()
    };
    Ok(Program::compile(&text, &name, &options)?)
}

/// Takes in every JSON file below a directory, under the prefix and its path in the directory.
fn add_directory(documents: &mut Documents, prefix: &str, directory: &Path) -> Result<()> {
    let mut pending = vec![directory.to_owned()];
    while let Some(folder) = pending.pop() {
        let entries = fs::read_dir(&folder).with_context(|| folder.display().to_string())?;
        for entry in entries {
            let path = entry?.path();
            if path.is_dir() {
                pending.push(path);
            } else if path.extension().is_some_and(|extension| extension == "json") {
                let text = fs::read(&path).with_context(|| path.display().to_string())?;
                let document: Value =
                    serde_json::from_slice(&text).with_context(|| path.display().to_string())?;
                let name = path.strip_prefix(directory).unwrap_or(&path).to_string_lossy().replace('\\', "/");
                documents.insert(format!("{}/{name}", prefix.trim_end_matches('/')), document);
            }
        }
    }
    Ok(())
}

struct Check<'a> {
    program: &'a Program,
    json: bool,
    parser: Parser,
    scratch: Scratch,
    index: usize,
    all_valid: bool,
}

impl Check<'_> {
    /// Lines of documents, or one array of them if the first character that counts is a bracket.
    fn stream(&mut self, mut input: impl BufRead, out: &mut impl Write) -> Result<()> {
        let mut line = Vec::new();
        let mut first = true;
        while input.read_until(b'\n', &mut line)? > 0 {
            let text = line.trim_ascii();
            if first && text.starts_with(b"[") {
                input.read_to_end(&mut line)?;
                return self.array(&line, out);
            }
            if !text.is_empty() {
                first = false;
                self.document(text, out)?;
            }
            line.clear();
        }
        Ok(())
    }

    /// The items of an array; what is no array after all is a document that is not JSON, or lines of arrays.
    fn array(&mut self, text: &[u8], out: &mut impl Write) -> Result<()> {
        if let Ok(items) = serde_json::from_slice::<Vec<Box<serde_json::value::RawValue>>>(text) {
            return items.iter().try_for_each(|item| self.document(item.get().as_bytes(), out));
        }
        let mut lines =
            text.split(|byte| *byte == b'\n').map(<[u8]>::trim_ascii).filter(|line| !line.is_empty());
        lines.try_for_each(|line| self.document(line, out))
    }

    fn document(&mut self, text: &[u8], out: &mut impl Write) -> Result<()> {
        let Self { program, parser, scratch, .. } = self;
        let errors = parser.parse(text, |tape| match tape {
            Err(error) => vec![json!({"instance": "", "schema": "", "keyword": "json-syntax", "message": format!("not JSON: {error:?}")})],
            Ok(tape) => {
                let mut all = AllFailures::default();
                program.execute(tape, scratch, &mut all);
                all.0.iter().map(|failure| describe(program, *failure, tape)).collect()
            }
        });
        self.all_valid &= errors.is_empty();
        self.write(&errors, out)?;
        self.index += 1;
        Ok(())
    }

    fn write(&self, errors: &[Value], out: &mut impl Write) -> Result<()> {
        if self.json {
            writeln!(out, "{}", json!({"index": self.index, "valid": errors.is_empty(), "errors": errors}))?;
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
        }
        Ok(())
    }
}

fn describe(program: &Program, failure: Failure, tape: Tape<'_>) -> Value {
    let words = program.explain(failure, tape);
    let message = format!("{}: expected {}, found {}", words.keyword, words.expected, words.found);
    json!({"instance": words.instance, "schema": words.schema, "keyword": words.keyword, "message": message})
}
