//! What is a schema and what is not: metaschemas, identifiers, the documents that references reach, and the words of errors.

use serde_json::{Value, json};
use tollgate::program::{
    AllFailures, CompileError, Documents, Draft, FirstFailures, Options, Program, Scratch,
};
use tollgate::tape::Parser;

const SIMPLE_TYPE: &str = "one of \"array\"";

fn compile(schema: &str, draft: Draft, documents: &[(&str, &str)]) -> Result<Program, CompileError> {
    let mut handed_over = Documents::default();
    for (uri, text) in documents {
        handed_over.insert_text(*uri, text);
    }
    let options = Options { default_draft: draft, documents: handed_over, ..Options::default() };
    Program::compile(schema, "test.json", &options)
}

fn holds(program: &Program, document: &str) -> bool {
    Parser::new(64).parse(document.as_bytes(), |tape| program.accepts(tape.unwrap(), &mut Scratch::default()))
}

/// Expected and found, of every failure.
fn words(schema: &str, document: &str) -> Vec<(String, String)> {
    let program = compile(schema, Draft::V2020, &[]).unwrap();
    Parser::new(64).parse(document.as_bytes(), |tape| {
        let (tape, mut scratch, mut all) = (tape.unwrap(), Scratch::default(), AllFailures::default());
        program.execute(tape, &mut scratch, &mut all);
        let words = program.explain_all(&all.0, tape, &mut scratch);
        words.into_iter().map(|words| (words.expected, words.found)).collect()
    })
}

#[test]
fn what_the_metaschema_refuses_is_refused() {
    let both = [
        (r#"{"$schema": 5}"#, "/$schema", "string"),
        (r#"{"$id": 5}"#, "/$id", "string"),
        (r#"{"definitions": 5}"#, "/definitions", "object"),
        (r#"{"then": {"type": 5}}"#, "/then/type", SIMPLE_TYPE),
        (r#"{"else": 5}"#, "/else", "object or boolean"),
        (r#"{"required": ["a", "a"]}"#, "/required/1", "differ"),
        (r#"{"title": 5}"#, "/title", "string"),
        (r#"{"readOnly": 1}"#, "/readOnly", "boolean"),
        (r#"{"examples": {}}"#, "/examples", "array"),
        (r#"{"$comment": []}"#, "/$comment", "string"),
        (
            r#"{"properties": {"a": {"items": {"description": null}}}}"#,
            "/properties/a/items/description",
            "string",
        ),
    ];
    let modern = [
        (r#"{"$anchor": 5}"#, "/$anchor", "string"),
        (r#"{"$anchor": "a b"}"#, "/$anchor", "match"),
        (r#"{"$dynamicAnchor": 5}"#, "/$dynamicAnchor", "string"),
        (r#"{"$defs": 5}"#, "/$defs", "object"),
        (r#"{"$vocabulary": {"x:y": 1}}"#, "/$vocabulary/x:y", "boolean"),
        (r#"{"minContains": -1}"#, "/minContains", "at least 0"),
        (r#"{"contentSchema": 5}"#, "/contentSchema", "object or boolean"),
        (r#"{"prefixItems": []}"#, "/prefixItems", "at least 1"),
        (r#"{"dependentRequired": {"a": ["b", "b"]}}"#, "/dependentRequired/a/1", "differ"),
        // A part that no keyword holds is a schema if a reference leads there.
        (r##"{"$ref": "#/parts/a", "parts": {"title": 5, "a": {"title": 5}}}"##, "/parts/a/title", "string"),
    ];
    let old = [
        (r#"{"additionalItems": 5}"#, "/additionalItems", "object or boolean"),
        (r#"{"items": []}"#, "/items", "at least 1"),
        (r#"{"items": [{"title": 5}]}"#, "/items/0/title", "string"),
        (r#"{"dependencies": {"a": ["b", "b"]}}"#, "/dependencies/a/1", "differ"),
    ];
    let cases = both.iter().flat_map(|case| [(Draft::V7, case), (Draft::V2020, case)]);
    let cases = cases.chain(modern.iter().map(|case| (Draft::V2020, case)));
    for (draft, (schema, pointer, part)) in cases.chain(old.iter().map(|case| (Draft::V7, case))) {
        let error = compile(schema, draft, &[]).unwrap_err();
        assert_eq!(
            (error.file.as_str(), error.pointer.as_str()),
            ("test.json", *pointer),
            "{schema}: {error}"
        );
        assert!(error.problem.contains(part) && error.problem.contains("found"), "{schema}: {error}");
    }
}

#[test]
fn each_resource_is_held_against_its_own_metaschema() {
    // A list of schemas in `items` is for draft 7 only, and the schema around it is none of its.
    let old = r#"{"$schema": "http://json-schema.org/draft-07/schema#", "$id": "http://x/old", "items": [{}], "title": TITLE}"#;
    let mixed = format!(r#"{{"$ref": "http://x/old", "$defs": {{"old": {old}}}}}"#);
    compile(&mixed.replace("TITLE", "\"t\""), Draft::V2020, &[]).unwrap();
    let error = compile(&mixed.replace("TITLE", "5"), Draft::V2020, &[]).unwrap_err();
    assert_eq!(error.pointer, "/$defs/old/title");
    // Those of a metaschema of one's own are not held against the draft's.
    let own = (
        "http://m/own",
        r#"{"$schema": "https://json-schema.org/draft/2020-12/schema", "$id": "http://m/own"}"#,
    );
    compile(r#"{"$schema": "http://m/own", "title": 5}"#, Draft::V2020, &[own]).unwrap();
    // Documents count once a reference leads to them; a document need not be a schema as a whole.
    let wrong = ("http://x/wrong.json", r#"{"title": 5, "$defs": {"a": true}}"#);
    let part = ("http://x/part.json", r#"{"title": 5, "parts": {"a": {"type": "string"}}}"#);
    compile(r#"{"$ref": "http://x/part.json#/parts/a"}"#, Draft::V2020, &[wrong, part]).unwrap();
    let error = compile(r#"{"$ref": "http://x/wrong.json#/$defs/a"}"#, Draft::V2020, &[wrong]).unwrap_err();
    assert_eq!((error.file.as_str(), error.pointer.as_str()), ("http://x/wrong.json", "/title"));
}

#[test]
fn a_vocabulary_that_is_required_must_be_known() {
    let meta = |required: bool| {
        json!({
            "$schema": "https://json-schema.org/draft/2020-12/schema",
            "$id": "http://v/meta",
            "$vocabulary": {
                "https://json-schema.org/draft/2020-12/vocab/core": true,
                "https://json-schema.org/draft/2020-12/vocab/validation": true,
                "http://example.com/vocab/unknown": required,
            }
        })
        .to_string()
    };
    let schema = r#"{"$schema": "http://v/meta", "type": "integer"}"#;
    compile(schema, Draft::V2020, &[("http://v/m.json", &meta(false))]).unwrap();
    let error = compile(schema, Draft::V2020, &[("http://v/m.json", &meta(true))]).unwrap_err();
    assert_eq!(error.pointer, "/$schema");
    assert!(error.problem.contains("http://example.com/vocab/unknown"), "{error}");
}

#[test]
fn identifiers_inside_documents_are_known_in_any_order() {
    let document =
        ("http://x/outer.json", r#"{"$defs": {"x": {"$id": "http://x/inner", "type": "integer"}}}"#);
    for references in [["outer.json#/$defs/x", "inner"], ["inner", "outer.json#/$defs/x"]] {
        let parts = references.map(|reference| json!({"$ref": format!("http://x/{reference}")}));
        let program = compile(&json!({"allOf": parts}).to_string(), Draft::V2020, &[document]).unwrap();
        assert!(holds(&program, "1") && !holds(&program, "\"a\""));
    }
}

#[test]
fn identifiers_stand_for_one_schema() {
    for (schema, pointer, other) in [
        (r#"{"$defs": {"a": {"$id": "http://x/a"}, "b": {"$id": "http://x/a"}}}"#, "/$defs/a", "/$defs/b"),
        (r#"{"$defs": {"a": {"$anchor": "n"}, "b": {"$dynamicAnchor": "n"}}}"#, "/$defs/a", "/$defs/b"),
    ] {
        let error = compile(schema, Draft::V2020, &[]).unwrap_err();
        assert_eq!(error.pointer, pointer, "{error}");
        assert!(error.problem.contains(other), "{error}");
    }
    // The same name in another resource is another anchor.
    compile(
        r#"{"$defs": {"a": {"$anchor": "n"}, "b": {"$id": "http://x/b", "$anchor": "n"}}}"#,
        Draft::V2020,
        &[],
    )
    .unwrap();
    let documents = [
        ("http://x/1.json", r#"{"$id": "http://x/same", "type": "integer"}"#),
        ("http://x/2.json", r#"{"$id": "http://x/same", "type": "string"}"#),
        ("http://x/3.json", r#"{"$id": "http://x/twin", "type": "string"}"#),
        ("http://x/4.json", r#"{"$id": "http://x/twin", "type": "string"}"#),
    ];
    compile(r#"{"$ref": "http://x/twin"}"#, Draft::V2020, &documents).unwrap();
    let error = compile(r#"{"$ref": "http://x/same"}"#, Draft::V2020, &documents).unwrap_err();
    assert!(
        error.problem.contains("http://x/1.json") && error.problem.contains("http://x/2.json"),
        "{error}"
    );
    // The schema may lie among the documents, also in another version.
    let own = r##"{"$id": "http://x/same", "$defs": {"a": {"type": "null"}}, "$ref": "#/$defs/a"}"##;
    assert!(holds(&compile(own, Draft::V2020, &documents).unwrap(), "null"));
}

#[test]
fn numbers_of_other_documents_are_exact() {
    let documents = [
        ("http://x/big.json", r#"{"const": 18446744073709551617, "$defs": {"a": {"maximum": 1e400}}}"#),
        ("http://x/unused.json", r#"{"const": 1e400}"#),
    ];
    let program = compile(r#"{"$ref": "http://x/big.json"}"#, Draft::V2020, &documents).unwrap();
    assert!(holds(&program, "18446744073709551617") && !holds(&program, "18446744073709551616"));
    let program = compile(r#"{"$ref": "http://x/big.json#/$defs/a"}"#, Draft::V2020, &documents).unwrap();
    assert!(holds(&program, "1e400") && !holds(&program, "1e401"));
}

#[test]
fn a_document_that_cannot_be_read_counts_if_it_is_referred_to() {
    let documents = [("http://x/a.json", "garbage"), ("http://x/b.json", r#"{"a": 1, "a": 2}"#)];
    compile("{}", Draft::V2020, &documents).unwrap();
    for (uri, part) in [("http://x/a.json", "not JSON"), ("http://x/b.json", "at `/a` the name stands twice")]
    {
        let error = compile(&json!({"$ref": uri}).to_string(), Draft::V2020, &documents).unwrap_err();
        assert_eq!((error.file.as_str(), error.pointer.as_str()), ("test.json", "/$ref"));
        assert!(error.problem.contains(part) && error.problem.contains(uri), "{error}");
    }
}

#[test]
fn failures_are_told_as_they_are_written() {
    let case = |schema: &str, document: &str| {
        let words = words(schema, document);
        words.iter().map(|(expected, found)| format!("{expected} | {found}")).collect::<Vec<_>>().join("\n")
    };
    for (schema, document, expected) in [
        (r#"{"const": 1e400}"#, "1.50", "1e400 | 1.50"),
        (
            r#"{"const": [1.0, {"a": 18446744073709551617}]}"#,
            "1e400",
            r#"[1.0, {"a": 18446744073709551617}] | 1e400"#,
        ),
        (
            r#"{"maximum": 0.10000000000000000000001}"#,
            "18446744073709551617",
            "at most 0.10000000000000000000001 | 18446744073709551617",
        ),
        (r#"{"enum": [null, 1.0]}"#, "2", "one of null, 1.0 | 2"),
        (r#"{"enum": []}"#, "2", "nothing: the list of what is allowed is empty | 2"),
        (
            r#"{"dependentRequired": {"a": ["b", "c", "d"], "x": ["y"]}}"#,
            r#"{"a": 1, "c": 2}"#,
            "a member `b`, since there is `a` | no such member\na member `d`, since there is `a` | no such member",
        ),
    ] {
        assert_eq!(case(schema, document), expected, "{schema}");
    }
}

#[test]
fn many_failures_are_counted_and_not_all_put_into_words() {
    let items = vec!["\"x\""; 100_000].join(",");
    let program =
        compile(r#"{"items": {"anyOf": [{"type": "integer"}, {"type": "null"}]}}"#, Draft::V2020, &[])
            .unwrap();
    Parser::new(64).parse(format!("[{items}]").as_bytes(), |tape| {
        let (tape, mut scratch, mut first) = (tape.unwrap(), Scratch::default(), FirstFailures::default());
        program.execute(tape, &mut scratch, &mut first);
        assert_eq!((first.kept.len(), first.more), (1000, 99_000));
        let words = program.explain_all(&first.kept, tape, &mut scratch);
        assert_eq!(words.len(), 1000);
        assert_eq!(words[999].instance, "/999");
        assert!(words[99].found.contains("branch 1") && !words[100].found.contains("branch"));
    });
}

#[test]
fn limits_are_named_as_in_the_configuration() {
    let problem = |schema: &Value| compile(&schema.to_string(), Draft::V2020, &[]).unwrap_err().problem;
    assert!(problem(&json!({"pattern": "(a{1000}){1000}"})).contains("`pattern_program_bytes_max`"));
    assert!(problem(&json!({"pattern": "a".repeat(5000)})).contains("`pattern_bytes_max`"));
    let many: Vec<Value> = (0..110_000).map(|_| json!({"type": "null"})).collect();
    assert!(problem(&json!({"anyOf": many})).contains("`schema_ops_max`"));
}
