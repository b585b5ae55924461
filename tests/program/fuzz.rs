//! Arbitrary bytes, damaged real schemas and documents, and random schemas over all keywords: no panic, no disagreement
//! among our own walks, and nothing takes long.
//!
//! This stands in for a coverage-guided fuzzer, which needs a nightly compiler. `TOLLGATE_FUZZ_CASES` sets the cases of
//! each property (a long run: 1000000). proptest writes the seed of a failure to `fuzz.regressions.txt`, which is
//! committed and tried first; a failure that was understood becomes a file in `tests/fixtures/program/`.

use std::ops::ControlFlow;
use std::time::{Duration, Instant};

use proptest::collection::vec;
use proptest::prelude::{ProptestConfig, Strategy, any, prop};
use proptest::test_runner::{FileFailurePersistence, TestCaseError, TestRunner};
use serde_json::{Value, json};
use tollgate::program::{
    AllFailures, Draft, Failure, FirstFailure, Observer, OpIndex, Options, Program, Scratch,
};
use tollgate::tape::{Parser, Tape};

use crate::corpora::{self, Random};
use crate::{differential, shrink};

/// What one case may take: much less than the second that the largest may.
const TIME_MAX: Duration = Duration::from_secs(if cfg!(debug_assertions) { 20 } else { 1 });

const SCHEMAS: &[&str] = &[
    include_str!("../../configs/schemas/olympus.json"),
    include_str!("../../configs/schemas/agh.json"),
    include_str!("../../configs/schemas/alfred.json"),
    include_str!("../../configs/schemas/humaninloop-input.json"),
    include_str!("../../benches/shapes/api.json"),
    include_str!("../../benches/shapes/geo.json"),
    include_str!("../../benches/shapes/manifest.json"),
    include_str!("../../src/program/metaschemas/schema.json"),
    include_str!("../../src/program/metaschemas/applicator.json"),
    include_str!("../../src/program/metaschemas/draft-07.json"),
];

/// Runs `property` on values of `strategy`; a failure ends the test with its seed on file.
fn run<S: Strategy>(cases: u32, strategy: &S, property: impl Fn(S::Value) -> Result<(), TestCaseError>) {
    let asked = std::env::var("TOLLGATE_FUZZ_CASES").ok().and_then(|cases| cases.parse().ok());
    let regressions = FileFailurePersistence::Direct("tests/program/fuzz.regressions.txt");
    let config = ProptestConfig {
        cases: asked.unwrap_or(cases),
        failure_persistence: Some(Box::new(regressions)),
        ..ProptestConfig::default()
    };
    if let Err(failure) = TestRunner::new(config).run(strategy, property) {
        panic!("{failure}");
    }
}

/// What must hold of every schema text and every document; the error says what does not.
pub(crate) fn examine(schema: &str, document: &[u8], options: &Options) -> Result<(), String> {
    let start = Instant::now();
    let Ok(program) = Program::compile(schema, "fuzz.json", options) else {
        return within(start, "refusing the schema");
    };
    within(start, "compiling")?;
    let (listing, size) = (program.listing(), program.size());
    if listing.is_empty() {
        return Err(format!("no listing of {size:?}"));
    }
    Parser::new(128).parse(document, |tape| tape.map_or(Ok(()), |tape| examine_tape(&program, tape)))?;
    within(start, "compiling and checking")
}

fn within(start: Instant, what: &str) -> Result<(), String> {
    let taken = start.elapsed();
    if taken < TIME_MAX { Ok(()) } else { Err(format!("{what} took {taken:?}")) }
}

/// Stops after some failures, as the command line does.
struct Some100(Vec<Failure>);

impl Observer for Some100 {
    fn failed(&mut self, failure: Failure) -> ControlFlow<()> {
        self.0.push(failure);
        if self.0.len() < 100 { ControlFlow::Continue(()) } else { ControlFlow::Break(()) }
    }
}

/// Every way to ask gives the same answer, and every failure can be put into words.
fn examine_tape(program: &Program, tape: Tape<'_>) -> Result<(), String> {
    let (mut scratch, mut first, mut all) =
        (Scratch::default(), FirstFailure::default(), AllFailures::default());
    let valid = program.accepts(tape, &mut scratch);
    let by_first = program.execute(tape, &mut scratch, &mut first);
    let by_all = program.execute(tape, &mut scratch, &mut all);
    if (valid, valid) != (by_first, by_all) {
        return Err(format!("accepts {valid}, first failure {by_first}, all failures {by_all}"));
    }
    // The schema alone does not look for names that stand twice.
    let twice = first.0.is_some_and(|failure| failure.op == OpIndex::DUPLICATE);
    if program.is_valid(tape, &mut scratch) != valid && !twice {
        return Err(format!("accepts {valid}, but the schema alone says otherwise"));
    }
    if by_all != all.0.is_empty() || first.0 != all.0.first().copied() {
        return Err(format!("valid {valid}, first failure {:?}, all failures {:?}", first.0, all.0));
    }
    let mut some = Some100(Vec::new());
    program.execute(tape, &mut scratch, &mut some);
    if !all.0.starts_with(&some.0) {
        return Err(format!("stopping changes the failures: {:?}, {:?}", some.0, all.0));
    }
    for failure in &some.0 {
        let words = program.explain(*failure, tape);
        if words.keyword.is_empty() || words.expected.is_empty() {
            return Err(format!("no words for {failure:?}: {words:?}"));
        }
    }
    Ok(())
}

/// As [`examine`]; a failure is shrunk first, if both are JSON.
fn examine_or_shrink(schema: &str, document: &[u8], options: &Options) -> Result<(), TestCaseError> {
    let Err(problem) = examine(schema, document, options) else { return Ok(()) };
    let text = String::from_utf8_lossy(document).into_owned();
    let (small, tiny) = match (serde_json::from_str(schema), serde_json::from_slice(document)) {
        (Ok(schema), Ok(document)) => shrink::minimal(schema, document, &mut |schema, document| {
            examine(&schema.to_string(), document.to_string().as_bytes(), options).is_err()
        }),
        _ => (schema.into(), text.into()),
    };
    Err(TestCaseError::fail(format!("{problem}\nschema {small}\ndocument {tiny}")))
}

#[test]
fn arbitrary_bytes() {
    let text = "[\\[\\]{}\",:0-9a-z$#/\\\\.+eE -]{0,120}";
    let bytes = vec(any::<u8>(), 0..200);
    run(2000, &(text, bytes, text), |(schema, bytes, document)| {
        let options = Options::default();
        let lossy = String::from_utf8_lossy(&bytes);
        examine_or_shrink(&schema, &bytes, &options)?;
        examine_or_shrink(&lossy, document.as_bytes(), &options)?;
        // A text in the place of a keyword's value: patterns, references, formats.
        for keyword in ["pattern", "$ref", "$id", "$dynamicRef", "format", "$schema", "$anchor"] {
            examine_or_shrink(&json!({keyword: schema}).to_string(), &bytes, &options)?;
        }
        let pattern = json!({"patternProperties": {schema.as_str(): {"pattern": lossy}}});
        examine_or_shrink(&pattern.to_string(), json!({document: schema}).to_string().as_bytes(), &options)
    });
}

#[test]
fn texts_in_every_format() {
    const FORMATS: &[&str] = &[
        "date-time",
        "date",
        "time",
        "duration",
        "uuid",
        "uri",
        "uri-reference",
        "iri",
        "iri-reference",
        "uri-template",
        "email",
        "idn-email",
        "hostname",
        "idn-hostname",
        "ipv4",
        "ipv6",
        "json-pointer",
        "relative-json-pointer",
        "regex",
    ];
    let schema = json!({"properties": FORMATS.iter().map(|name| ((*name).to_owned(), json!({"format": name}))).collect::<serde_json::Map<_, _>>()});
    let program = Program::compile(&schema.to_string(), "formats.json", &Options::default()).unwrap();
    let text = prop::sample::select(vec![
        "[ -~]{0,40}",
        "\\PC{0,20}",
        "[0-9TtZz:.+-]{0,35}",
        "[a-zA-Z0-9@.:/?#%\\[\\]-]{0,40}",
        "[(){}|*+?^$.a\\\\dwpu0-9,-]{0,30}",
    ]);
    run(4000, &text.prop_flat_map(|text| text), |text| {
        let document: Value = FORMATS
            .iter()
            .map(|name| ((*name).to_owned(), json!(text)))
            .collect::<serde_json::Map<_, _>>()
            .into();
        Parser::new(8).parse(document.to_string().as_bytes(), |tape| {
            examine_tape(&program, tape.unwrap()).map_err(TestCaseError::fail)
        })
    });
}

#[test]
fn damaged_bytes_of_real_schemas_and_documents() {
    let edits = || vec((any::<prop::sample::Index>(), any::<u8>(), 0..6_u8), 0..4);
    let strategy = (0..SCHEMAS.len(), 0..SCHEMAS.len(), edits(), edits());
    run(3000, &strategy, |(schema, document, schema_edits, document_edits)| {
        let mut schema = SCHEMAS[schema].as_bytes().to_vec();
        let mut document = SCHEMAS[document].as_bytes().to_vec();
        edit(&mut schema, &schema_edits);
        edit(&mut document, &document_edits);
        examine_or_shrink(&String::from_utf8_lossy(&schema), &document, &Options::default())
    });
}

/// Damages bytes: replaces, removes, doubles, moves digits, swaps names.
fn edit(bytes: &mut Vec<u8>, edits: &[(prop::sample::Index, u8, u8)]) {
    for (index, byte, kind) in edits {
        if bytes.is_empty() {
            return;
        }
        let at = index.index(bytes.len());
        let end = bytes.len().min(at + usize::from(*byte));
        match kind {
            0 => bytes[at] = *byte,
            1 => drop(bytes.drain(at..end)),
            2 => {
                let copy = bytes[at..end].to_vec();
                drop(bytes.splice(at..at, copy));
            }
            3 => bytes[at] = bytes[at].wrapping_add(1),
            4 => bytes.insert(at, b"{}[]\",:019-e.#/$~\\"[usize::from(*byte) % 18]),
            // Values of the wrong kind in well-formed text.
            _ => {
                let values: [&[u8]; 6] = [b"null", b"-1", b"1e400", b"[]", b"{}", b"\"#\""];
                if let Some(colon) = bytes[at..].iter().position(|byte| *byte == b':') {
                    let start = at + colon + 1;
                    let stop = bytes[start..].iter().position(|byte| matches!(byte, b',' | b'}'));
                    let stop = start + stop.unwrap_or(0);
                    drop(bytes.splice(start..stop, values[usize::from(*byte) % 6].iter().copied()));
                }
            }
        }
    }
}

#[test]
fn random_schemas_over_all_keywords() {
    run(1500, &any::<u64>(), |seed| {
        let mut random = Random(seed);
        let draft = if random.below(3) == 0 { Draft::V7 } else { Draft::V2020 };
        let mut schema = differential::Schemas { random: &mut random, draft }.root();
        decorate(&mut schema, &mut random);
        let options = Options { default_draft: draft, ..Options::default() };
        for _ in 0..4 {
            let document = differential::document(&mut random, 4);
            examine_or_shrink(&schema.to_string(), document.to_string().as_bytes(), &options)?;
            order_does_not_matter(&schema, &document, &options, &mut random)?;
        }
        Ok(())
    });
}

/// Adds what the comparison with another validator leaves out: formats, identifiers, annotations, misused keywords.
fn decorate(schema: &mut Value, random: &mut Random) {
    const EXTRA: &[(&str, &str)] = &[
        ("format", r#""date-time""#),
        ("format", r#""regex""#),
        ("format", r#""unknown""#),
        ("$id", r#""http://example.com/a""#),
        ("$id", r#""b""#),
        ("$anchor", r#""here""#),
        ("$dynamicAnchor", r#""node""#),
        ("$dynamicRef", r##""#here""##),
        ("$ref", r#""b""#),
        ("$ref", r##""#here""##),
        ("$comment", "1"),
        ("contentMediaType", r#""application/json""#),
        ("contentSchema", r#"{"type": "string"}"#),
        ("default", "[]"),
        ("minimum", r#""1""#),
        ("type", r#""any""#),
        ("required", r#"["a", "a"]"#),
        ("dependentRequired", r#"{"a": ["b"]}"#),
        ("maxItems", "1.0"),
        ("minLength", "-1"),
        ("if", "true"),
        ("then", "false"),
        ("unevaluatedItems", "false"),
        ("unevaluatedProperties", "false"),
    ];
    match value_at_random(schema, random) {
        Value::Object(members) => {
            for _ in 0..=random.below(2) {
                let (keyword, value) = random.pick(EXTRA);
                members.insert((*keyword).to_owned(), serde_json::from_str(value).unwrap());
            }
        }
        other => *other = json!({"not": {}}),
    }
}

fn value_at_random<'v>(value: &'v mut Value, random: &mut Random) -> &'v mut Value {
    let children = match value {
        Value::Object(members) => members.len(),
        Value::Array(items) => items.len(),
        _ => 0,
    };
    if children == 0 || random.below(3) == 0 {
        return value;
    }
    let at = random.below(children);
    match value {
        Value::Object(members) => value_at_random(members.values_mut().nth(at).unwrap(), random),
        Value::Array(items) => value_at_random(&mut items[at], random),
        _ => value,
    }
}

/// The failures of a document are the same, in the same order, whatever the order of its members.
fn order_does_not_matter(
    schema: &Value,
    document: &Value,
    options: &Options,
    random: &mut Random,
) -> Result<(), TestCaseError> {
    let text = schema.to_string();
    let Ok(program) = Program::compile(&text, "fuzz.json", options) else { return Ok(()) };
    let mut shuffled = document.clone();
    corpora::shuffle(&mut shuffled, random);
    let failures = |document: &Value| {
        Parser::new(64).parse(document.to_string().as_bytes(), |tape| {
            let (tape, mut all) = (tape.unwrap(), AllFailures::default());
            program.execute(tape, &mut Scratch::default(), &mut all);
            let place = |failure: &Failure| (tape.pointer(failure.at), failure.op, failure.reason);
            all.0.iter().map(place).collect::<Vec<_>>()
        })
    };
    let (one, other) = (failures(document), failures(&shuffled));
    if one == other {
        return Ok(());
    }
    Err(TestCaseError::fail(format!(
        "{one:?}\n{other:?}\nschema {schema}\ndocument {document}\nor {shuffled}"
    )))
}

#[test]
fn order_does_not_matter_to_names_and_unevaluated() {
    let document = json!({"b": 1, "a": 2, "c": 3});
    for schema in [
        json!({"unevaluatedProperties": {"type": "string"}}),
        json!({"unevaluatedProperties": false}),
        json!({"propertyNames": {"minLength": 2}}),
    ] {
        let program = Program::compile(&schema.to_string(), "order.json", &Options::default()).unwrap();
        let places = Parser::new(8).parse(document.to_string().as_bytes(), |tape| {
            let (tape, mut all) = (tape.unwrap(), AllFailures::default());
            program.execute(tape, &mut Scratch::default(), &mut all);
            all.0.iter().map(|failure| tape.pointer(failure.at)).collect::<Vec<_>>()
        });
        assert_eq!(places, ["/a", "/b", "/c"], "{schema}");
    }
}

/// What was found once: every file of `tests/fixtures/program/` holds a schema and a document.
#[test]
fn fixtures_hold() {
    let directory = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/fixtures/program");
    let mut count = 0;
    for entry in std::fs::read_dir(directory).unwrap() {
        let path = entry.unwrap().path();
        let fixture: Value = serde_json::from_slice(&std::fs::read(&path).unwrap()).unwrap();
        let options = Options::default();
        let (schema, document) = (fixture["schema"].to_string(), fixture["document"].to_string());
        assert_eq!(examine(&schema, document.as_bytes(), &options), Ok(()), "{}", path.display());
        let program = Program::compile(&schema, "fixture.json", &options);
        let valid = program.ok().map(|program| {
            Parser::new(128)
                .parse(document.as_bytes(), |tape| program.accepts(tape.unwrap(), &mut Scratch::default()))
        });
        // `null`: the schema is refused.
        assert_eq!(json!(valid), fixture["valid"], "{}", path.display());
        count += 1;
    }
    assert_ne!(count, 0);
}
