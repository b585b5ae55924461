//! The official JSON Schema test suite, as `scripts/fetch-suites` leaves it in the cache.
//!
//! Required tests run with formats as annotations; `optional/format` runs with formats asserted. What is left out
//! stands in the lists below with its reason. With `TOLLGATE_REQUIRE_SUITES=1` an absent suite fails.

use std::fs;
use std::path::{Path, PathBuf};

use serde_json::Value;
use tollgate::program::{Documents, Draft, FirstFailure, Options, Program, Scratch};
use tollgate::tape::Parser;

const VERSION: &str = "4.26.0";

/// Optional files that are not run.
const FILES_LEFT_OUT: &[(&str, &str)] = &[
    ("content.json", "optional in draft 7: `content…` keywords are annotations here, as in 2020-12"),
    ("cross-draft.json", "needs draft 2019-09, which is refused by name"),
    ("dependencies-compatibility.json", "`dependencies` is not a keyword of 2020-12"),
    ("idn-hostname.json", "not asserted: it needs the tables of IDNA"),
];

/// Single optional tests that are not run: file, description of the case, description of the test.
const TESTS_LEFT_OUT: &[(&str, &str, &str)] = &[];

/// The suite's directory; `None` says loudly that the tests are skipped.
fn suite() -> Option<PathBuf> {
    let cache = std::env::var_os("TOLLGATE_CACHE").map(PathBuf::from).or_else(|| {
        let home = std::env::var_os("HOME").map(|home| Path::new(&home).join(".cache"));
        std::env::var_os("XDG_CACHE_HOME").map(PathBuf::from).or(home).map(|cache| cache.join("tollgate"))
    })?;
    let directory = cache.join("suites").join(format!("json-schema-{VERSION}"));
    if directory.join("tests").is_dir() {
        return Some(directory);
    }
    let required = std::env::var("TOLLGATE_REQUIRE_SUITES").is_ok_and(|value| value == "1");
    assert!(
        !required,
        "the test suite is required and not at {}: run scripts/fetch-suites",
        directory.display()
    );
    eprintln!("SKIPPED: no test suite at {}: run scripts/fetch-suites", directory.display());
    None
}

fn read(path: &Path) -> Value {
    serde_json::from_slice(&fs::read(path).unwrap()).unwrap()
}

/// All files below a directory, sorted.
fn files(directory: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    let mut pending = vec![directory.to_owned()];
    while let Some(directory) = pending.pop() {
        for entry in fs::read_dir(directory).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() { pending.push(path) } else { found.push(path) }
        }
    }
    found.sort();
    found
}

/// The documents that the suite serves to references.
fn remotes(suite: &Path) -> Documents {
    let root = suite.join("remotes");
    let mut documents = Documents::default();
    for path in files(&root) {
        let name = path.strip_prefix(&root).unwrap().to_str().unwrap().to_owned();
        documents.insert(format!("http://localhost:1234/{name}"), &read(&path));
    }
    documents
}

/// What became of a set of files.
#[derive(Default)]
struct Tally {
    passed: usize,
    left_out: usize,
    failed: Vec<String>,
}

fn run_file(path: &Path, options: &Options, tally: &mut Tally) {
    let file = path.file_name().unwrap().to_str().unwrap();
    for case in read(path).as_array().unwrap() {
        let about = case["description"].as_str().unwrap();
        let program = Program::compile(&case["schema"].to_string(), file, options);
        for test in case["tests"].as_array().unwrap() {
            let what = test["description"].as_str().unwrap();
            if TESTS_LEFT_OUT.contains(&(file, about, what)) {
                tally.left_out += 1;
                continue;
            }
            let outcome = match &program {
                Ok(program) => execute(program, &test["data"].to_string()),
                Err(error) => Err(error.to_string()),
            };
            if outcome == Ok(test["valid"].as_bool().unwrap()) {
                tally.passed += 1;
            } else {
                tally.failed.push(format!("{file}: {about}: {what}: {outcome:?}"));
            }
        }
    }
}

/// Whether the document is valid; both ways to ask have to agree.
fn execute(program: &Program, document: &str) -> Result<bool, String> {
    Parser::new(256).parse(document.as_bytes(), |tape| {
        let tape = tape.map_err(|error| format!("{error:?}"))?;
        let (mut scratch, mut first) = (Scratch::default(), FirstFailure::default());
        let valid = program.execute(tape, &mut scratch, &mut first);
        if valid != first.0.is_none() {
            return Err("an invalid document has no failure to report".into());
        }
        Ok(valid)
    })
}

fn run(draft: Draft, folder: &str, assert_formats: bool, wanted: impl Fn(&Path) -> bool) {
    let Some(suite) = suite() else { return };
    let options =
        Options { default_draft: draft, assert_formats, documents: remotes(&suite), ..Options::default() };
    let mut tally = Tally::default();
    for path in files(&suite.join("tests").join(folder)).iter().filter(|path| wanted(path)) {
        let file = path.file_name().unwrap().to_str().unwrap();
        if FILES_LEFT_OUT.iter().any(|(name, _)| *name == file) {
            // A file of this name is left out only where it is optional.
            if is_optional(path) {
                tally.left_out += 1;
                continue;
            }
        }
        run_file(path, &options, &mut tally);
    }
    println!("{folder}: {} passed, {} failed, {} left out", tally.passed, tally.failed.len(), tally.left_out);
    assert!(tally.passed > 0, "no tests were found");
    assert!(tally.failed.is_empty(), "{} failed:\n{}", tally.failed.len(), tally.failed.join("\n"));
}

fn is_optional(path: &Path) -> bool {
    path.components().any(|part| part.as_os_str() == "optional")
}

fn is_format(path: &Path) -> bool {
    is_optional(path) && path.parent().is_some_and(|parent| parent.ends_with("format"))
}

#[test]
fn required_tests_of_draft_7() {
    run(Draft::V7, "draft7", false, |path| !is_optional(path));
}

#[test]
fn required_tests_of_2020_12() {
    run(Draft::V2020, "draft2020-12", false, |path| !is_optional(path));
}

#[test]
fn formats_of_draft_7() {
    run(Draft::V7, "draft7", true, is_format);
}

#[test]
fn formats_of_2020_12() {
    run(Draft::V2020, "draft2020-12", true, is_format);
}

#[test]
fn other_optional_tests_of_draft_7() {
    run(Draft::V7, "draft7", false, |path| is_optional(path) && !is_format(path));
}

#[test]
fn other_optional_tests_of_2020_12() {
    run(Draft::V2020, "draft2020-12", false, |path| is_optional(path) && !is_format(path));
}
