//! Hostile schemas and documents: nothing panics, nothing overflows the stack, nothing takes long.

use std::fmt::Write;
use std::time::{Duration, Instant};

use serde_json::{Value, json};
use tollgate::program::{AllFailures, FirstFailure, Options, Program, Scratch, first_duplicate};
use tollgate::tape::Parser;

use crate::corpora::Random;

/// What a schema of 64 KB on a document of 1 MB may take. A build without optimisation is given more.
const TIME_MAX: Duration =
    if cfg!(debug_assertions) { Duration::from_secs(20) } else { Duration::from_secs(1) };

/// The stack of a thread that nobody configured.
const STACK_BYTES: usize = if cfg!(debug_assertions) { 16 << 20 } else { 2 << 20 };

fn compile(schema: &str) -> Program {
    Program::compile(schema, "hostile.json", &Options::default()).unwrap()
}

/// Checks within the time and on the stack that a worker has; returns whether the document is valid.
fn check(schema: &str, document: &str) -> bool {
    let (schema, document) = (schema.to_owned(), document.to_owned());
    let run = move || {
        let program = compile(&schema);
        let start = Instant::now();
        let valid = Parser::new(1024).parse(document.as_bytes(), |tape| {
            program.execute(tape.unwrap(), &mut Scratch::default(), &mut FirstFailure::default())
        });
        let taken = start.elapsed();
        assert!(taken < TIME_MAX, "{taken:?} for {}", schema.chars().take(200).collect::<String>());
        valid
    };
    std::thread::Builder::new().stack_size(STACK_BYTES).spawn(run).unwrap().join().unwrap()
}

fn nested(depth: usize, open: &str, close: &str) -> String {
    format!("{}{}", open.repeat(depth), close.repeat(depth))
}

#[test]
fn deep_documents_end_in_a_verdict() {
    let tree = r##"{"properties":{"a":{"$ref":"#"}},"items":{"allOf":[{"$ref":"#"}]},"additionalProperties":false}"##;
    for document in [nested(1000, "[", "]"), format!("{}1{}", r#"{"a":"#.repeat(1000), "}".repeat(1000))] {
        for schema in [
            tree,
            r##"{"items":{"$ref":"#"},"additionalProperties":{"$ref":"#"}}"##,
            "{}",
            r#"{"uniqueItems":true}"#,
        ] {
            check(schema, &document);
        }
        // Each level looks twice, silently and then for the report.
        check(r##"{"anyOf":[{"items":{"$ref":"#"},"additionalProperties":{"$ref":"#"}}]}"##, &document);
        check(r##"{"items":{"not":{"$ref":"#"}},"additionalProperties":{"not":{"$ref":"#"}}}"##, &document);
    }
    assert!(check("{}", &nested(1000, "[", "]")));
}

#[test]
fn large_objects_with_names_made_to_collide_are_searched_fast() {
    let mut document = String::from("{");
    for number in 0..100_000 {
        let _ = write!(document, r#""head-of-name-{number:06}-tail-of-name":0,"#);
    }
    document.push_str(r#""last":0}"#);
    let start = Instant::now();
    Parser::new(64).parse(document.as_bytes(), |tape| {
        assert_eq!(first_duplicate(tape.unwrap(), &mut Scratch::default()), None);
    });
    assert!(start.elapsed() < TIME_MAX);
    assert!(check(r#"{"properties":{"last":{"type":"integer"}}}"#, &document));
    assert!(!check(r#"{"unevaluatedProperties":false,"allOf":[{"properties":{"last":{}}}]}"#, &document));
    assert!(check(
        r#"{"unevaluatedProperties":false,"allOf":[{"patternProperties":{"^(head|last)":{}}}]}"#,
        &document
    ));
    assert!(check(r#"{"propertyNames":{"maxLength":40},"dependentRequired":{"last":["last"]}}"#, &document));
}

#[test]
fn expensive_schemas_are_stopped() {
    let numbers = format!("[{}1]", "1,".repeat(500_000));
    let all_of = vec!["{}"; 20_000].join(",");
    check(&format!(r#"{{"items":{{"allOf":[{all_of}]}}}}"#), &numbers);
    let any_of = vec![r#"{"type":"string"}"#; 3500].join(",");
    check(&format!(r#"{{"items":{{"anyOf":[{any_of}]}}}}"#), &numbers);
    let enumeration = (0..9000).map(|number| format!("{number}.5")).collect::<Vec<_>>().join(",");
    check(&format!(r#"{{"items":{{"enum":[{enumeration}]}}}}"#), &numbers);
    let patterns =
        (0..2500).map(|number| format!(r#"{{"pattern":"x{number}$"}}"#)).collect::<Vec<_>>().join(",");
    // Without optimisation an automaton is some fifty times slower.
    let bytes = if cfg!(debug_assertions) { 20_000 } else { 1_000_000 };
    check(&format!(r#"{{"anyOf":[{patterns}]}}"#), &format!("\"{}\"", "x".repeat(bytes)));
    let objects = format!("[{}{{}}]", r#"{"a":1,"b":2,"c":3,"d":4},"#.repeat(30_000));
    check(r#"{"uniqueItems":true}"#, &objects);
    check(r#"{"contains":{"contains":{}},"minContains":100000}"#, &objects);
    let required = (0..4000).map(|number| format!(r#""n{number}""#)).collect::<Vec<_>>().join(",");
    check(&format!(r#"{{"items":{{"dependentRequired":{{"a":[{required}]}}}}}}"#), &objects);
}

#[test]
fn two_large_equal_objects_are_compared_within_the_steps() {
    let members: Vec<String> = (0..20_000).map(|number| format!(r#""name{number}":{number}"#)).collect();
    let reversed: Vec<String> = members.iter().rev().cloned().collect();
    let document = format!("[{{{}}},{{{}}}]", members.join(","), reversed.join(","));
    assert!(!check(r#"{"uniqueItems":true}"#, &document));
}

#[test]
fn expensive_patterns_are_refused_or_fast() {
    for pattern in [
        "(a*)*$",
        "(a|a)*$",
        "([a-z]+)*[0-9]$",
        "(x+x+)+y",
        "^(([a-z])+.)+[A-Z]([a-z])+$",
        "(.*)(.*)(.*)(.*)[^a]$",
    ] {
        let schema = json!({"pattern": pattern}).to_string();
        check(&schema, &format!("\"{}\"", "a".repeat(200_000)));
    }
    for pattern in ["(a{1000}){1000}", "[ab]*a[ab]{25}$", r"\p{L}{500}", "((((((a{9}){9}){9}){9}){9}){9}){9}"]
    {
        let start = Instant::now();
        let _ =
            Program::compile(&json!({"pattern": pattern}).to_string(), "pattern.json", &Options::default());
        assert!(start.elapsed() < TIME_MAX, "{pattern}");
    }
}

/// Random bytes and random damage to good schemas and documents: no panic.
#[test]
fn damaged_schemas_and_documents_do_no_harm() {
    let schemas = [
        include_str!("../../configs/schemas/olympus.json"),
        include_str!("../../benches/shapes/api.json"),
        include_str!("../../benches/shapes/manifest.json"),
        r##"{"$dynamicAnchor":"n","$dynamicRef":"#n","$id":"http://x/","$defs":{"a":{"$anchor":"b"}},"if":{},"then":{"not":{}}}"##,
    ];
    let seed = std::env::var("TOLLGATE_PROPTEST_SEED").ok().and_then(|seed| seed.parse().ok()).unwrap_or(3);
    let mut random = Random(seed);
    println!("TOLLGATE_PROPTEST_SEED={seed}");
    let pieces: Vec<Value> = [
        "{}",
        "[]",
        "true",
        "-1",
        "1e999",
        "\"#\"",
        "\"a\"",
        "null",
        "[{}]",
        "{\"a\":false}",
        "\"#/$defs/a\"",
    ]
    .iter()
    .filter_map(|text| serde_json::from_str(text).ok())
    .collect();
    for round in 0..3000 {
        let mut schema: Value = serde_json::from_str(schemas[round % schemas.len()]).unwrap();
        for _ in 0..=random.below(3) {
            damage(&mut schema, &mut random, &pieces);
        }
        let Ok(program) = Program::compile(&schema.to_string(), "damaged.json", &Options::default()) else {
            continue;
        };
        let mut document = schema.clone();
        damage(&mut document, &mut random, &pieces);
        let mut bytes = document.to_string().into_bytes();
        if random.below(2) == 0 {
            let at = random.below(bytes.len());
            bytes[at] = random.next() as u8;
        }
        Parser::new(128).parse(&bytes, |tape| {
            let Ok(tape) = tape else { return };
            let (mut scratch, mut all) = (Scratch::default(), AllFailures::default());
            let valid = program.execute(tape, &mut scratch, &mut all);
            assert_eq!(valid, all.0.is_empty(), "seed {seed}: {schema} {document}");
            for failure in all.0.iter().take(20) {
                let _ = program.explain(*failure, tape);
            }
        });
    }
}

/// Replaces a random part.
fn damage(value: &mut Value, random: &mut Random, pieces: &[Value]) {
    match value {
        Value::Object(members) if !members.is_empty() && random.below(6) != 0 => {
            let name = members.keys().nth(random.below(members.len())).unwrap().clone();
            damage(&mut members[&name], random, pieces);
        }
        Value::Array(items) if !items.is_empty() && random.below(6) != 0 => {
            let at = random.below(items.len());
            damage(&mut items[at], random, pieces);
        }
        other => *other = random.pick(pieces).clone(),
    }
}
