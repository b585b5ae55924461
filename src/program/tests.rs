//! Tests of the whole path from schema text to a failure in words.

mod bad_schemas;

use std::ops::ControlFlow;

use serde_json::{Value, json};

use super::{AllFailures, Explanation, Failure, FirstFailure, Observer, Options, Program, Scratch};
use crate::outline::Outlines;
use crate::tape::Parser;
use crate::verdict::Reason;

fn compile(schema: &Value) -> Program {
    Program::compile(&schema.to_string(), "test.json", &Options::default()).unwrap()
}

/// The first failure, or `None` if the document is valid.
fn first(program: &Program, document: &str) -> Option<(Reason, Explanation)> {
    let mut observer = FirstFailure::default();
    Parser::new(1024).parse(document.as_bytes(), |tape| {
        let tape = tape.unwrap();
        let valid = program.execute(tape, &mut Scratch::default(), &mut observer);
        assert_eq!(valid, observer.0.is_none(), "{document}");
        observer.0.map(|failure| (failure.reason, program.explain(failure, tape)))
    })
}

fn reason(program: &Program, document: &str) -> Option<Reason> {
    first(program, document).map(|(reason, _)| reason)
}

fn all(program: &Program, document: &str) -> Vec<(Reason, String, &'static str)> {
    let mut observer = AllFailures::default();
    Parser::new(1024).parse(document.as_bytes(), |tape| {
        let tape = tape.unwrap();
        program.execute(tape, &mut Scratch::default(), &mut observer);
        let words = |failure: &Failure| {
            let explanation = program.explain(*failure, tape);
            (failure.reason, explanation.instance, explanation.keyword)
        };
        observer.0.iter().map(words).collect()
    })
}

#[test]
fn each_keyword_has_its_reason() {
    for (schema, document, expected) in [
        (json!({"type": "string"}), "1", Some(Reason::WrongType)),
        (json!({"type": ["integer", "null"]}), "1.0", None),
        (json!({"type": "integer"}), "1.5", Some(Reason::WrongType)),
        (json!({"type": "integer"}), "123456789012345678901234567890", None),
        (json!({"type": "number"}), "true", Some(Reason::WrongType)),
        (json!({"required": ["a"]}), "{}", Some(Reason::MissingField)),
        (json!({"required": ["a"]}), "[]", None),
        (json!({"const": 1}), "1.0", None),
        (json!({"const": 1}), "true", Some(Reason::BadConst)),
        (json!({"const": {"a": [1, "x"], "b": null}}), r#"{"b":null,"a":[1e0,"x"]}"#, None),
        (json!({"enum": ["a", "b"]}), r#""c""#, Some(Reason::BadEnum)),
        (json!({"enum": ["a", 1, null]}), "null", None),
        (json!({"enum": ["a", 1, null]}), "0", Some(Reason::BadEnum)),
        (json!({"pattern": "^a"}), r#""ba""#, Some(Reason::BadPattern)),
        (json!({"format": "date-time"}), r#""today""#, Some(Reason::BadFormat)),
        (json!({"format": "no-such-format"}), r#""today""#, None),
        (json!({"maxLength": 2}), r#""äöü""#, Some(Reason::TooLong)),
        (json!({"maxLength": 3}), r#""äöü""#, None),
        (json!({"minLength": 2}), r#""ä""#, Some(Reason::TooShort)),
        (json!({"minLength": 1}), r#""""#, Some(Reason::Empty)),
        (json!({"minimum": 1}), "0.5", Some(Reason::TooSmall)),
        (json!({"exclusiveMinimum": 1}), "1", Some(Reason::TooSmall)),
        (json!({"maximum": 18_446_744_073_709_551_615_u64}), "18446744073709551616", Some(Reason::TooLarge)),
        (json!({"exclusiveMaximum": 1}), "1.0", Some(Reason::TooLarge)),
        (json!({"multipleOf": 2}), "3", Some(Reason::Schema)),
        (json!({"maxItems": 1}), "[1,2]", Some(Reason::TooMany)),
        (json!({"minItems": 1}), "[]", Some(Reason::Empty)),
        (json!({"minItems": 2}), "[1]", Some(Reason::TooFew)),
        (json!({"maxProperties": 0}), r#"{"a":1}"#, Some(Reason::TooMany)),
        (json!({"minProperties": 1}), "{}", Some(Reason::Empty)),
        (json!({"uniqueItems": true}), r#"[{"a":1,"b":2},{"b":2,"a":1.0}]"#, Some(Reason::Schema)),
        (json!({"uniqueItems": true}), "[0,false,[],{},null]", None),
        (
            json!({"properties": {"a": {}}, "additionalProperties": false}),
            r#"{"b":1}"#,
            Some(Reason::UnknownField),
        ),
        (json!({"additionalProperties": {"type": "string"}}), r#"{"b":1}"#, Some(Reason::WrongType)),
        (json!({"propertyNames": {"maxLength": 1}}), r#"{"bb":1}"#, Some(Reason::TooLong)),
        (json!({"items": {"type": "string"}}), r#"["a",1]"#, Some(Reason::WrongType)),
        (json!({"not": {}}), "1", Some(Reason::Schema)),
        (json!({"anyOf": [{"type": "string"}, {"minimum": 3}]}), "2", Some(Reason::Schema)),
        (json!({"allOf": [{"type": "string"}, {"minLength": 3}]}), r#""ab""#, Some(Reason::TooShort)),
        (
            json!({"unevaluatedProperties": false, "allOf": [{"properties": {"a": {}}}]}),
            r#"{"a":1,"b":2}"#,
            Some(Reason::UnknownField),
        ),
        (json!(false), "1", Some(Reason::Schema)),
        (json!(true), "1", None),
    ] {
        assert_eq!(reason(&compile(&schema), document), expected, "{schema} {document}");
    }
}

#[test]
fn references_are_followed_also_in_circles() {
    let tree = json!({
        "$defs": {"tree": {
            "type": "object",
            "properties": {"value": {"type": "integer"}, "children": {"type": "array", "items": {"$ref": "#/$defs/tree"}}},
            "additionalProperties": false
        }},
        "$ref": "#/$defs/tree"
    });
    let program = compile(&tree);
    assert_eq!(reason(&program, r#"{"value":1,"children":[{"children":[{"value":2}]}]}"#), None);
    let (reason, words) =
        first(&program, r#"{"value":1,"children":[{"children":[{"value":"x"}]}]}"#).unwrap();
    assert_eq!(reason, Reason::WrongType);
    assert_eq!(words.instance, "/children/0/children/0/value");
    assert_eq!(words.schema, "/$defs/tree/properties/value/type");
    assert_eq!(
        (words.keyword, words.expected.as_str(), words.found.as_str()),
        ("type", "of type integer", "\"x\"")
    );
}

#[test]
fn duplicates_come_before_every_other_failure() {
    let program = compile(&json!({
        "type": "object",
        "required": ["z"],
        "properties": {"a": {"type": "integer"}, "open": {"type": "object"}, "list": {"items": {"properties": {"x": {}}}}}
    }));
    for (document, expected, at) in [
        (r#"{"a":1,"a":2,"z":0}"#, Some(Reason::DuplicateKey), "/a"),
        (r#"{"z":0,"u":1,"u":2}"#, Some(Reason::DuplicateKey), "/u"),
        (r#"{"z":0,"open":{"x":{"y":1,"q":[],"y":2}}}"#, Some(Reason::DuplicateKey), "/open/x/y"),
        (r#"{"z":0,"list":[{"x":[{"y":1,"y":2}]}]}"#, Some(Reason::DuplicateKey), "/list/0/x/0/y"),
        (r#"{"z":0,"list":{"x":1,"x":2}}"#, Some(Reason::DuplicateKey), "/list/x"),
        (r#"{"z":0,"a":{"x":1,"x":2}}"#, Some(Reason::DuplicateKey), "/a/x"),
        (r#"{"a":"wrong","open":{"y":1,"y":2}}"#, Some(Reason::DuplicateKey), "/open/y"),
        (r#"{"a":"wrong","open":{"y":1}}"#, Some(Reason::MissingField), ""),
    ] {
        let (reason, words) = first(&program, document).unzip();
        assert_eq!(reason, expected, "{document}");
        assert_eq!(words.unwrap().instance, at, "{document}");
    }
    for schema in [
        json!({}),
        json!(true),
        json!({"allOf": [{"properties": {"a": {}}}]}),
        json!({"anyOf": [{"required": ["a"]}]}),
    ] {
        let program = compile(&schema);
        assert_eq!(reason(&program, r#"{"a":{"b":1,"b":1}}"#), Some(Reason::DuplicateKey), "{schema}");
        assert_eq!(reason(&program, r#"{"a":{"b":1,"c":1}}"#), None, "{schema}");
    }
}

#[test]
fn the_order_of_members_does_not_change_the_reason() {
    let program = compile(&json!({
        "required": ["id", "kind"],
        "properties": {
            "kind": {"enum": ["a"]},
            "id": {"type": "string"},
            "body": {"required": ["x"], "properties": {"x": {"minimum": 0}}, "additionalProperties": {"maxLength": 1}}
        },
        "additionalProperties": false
    }));
    let members = [
        vec![r#""kind":"b""#, r#""id":1"#, r#""body":{}"#],
        vec![r#""kind":"b""#, r#""extra":1"#, r#""body":{}"#],
        vec![r#""kind":"b""#, r#""id":"x""#, r#""extra":1"#, r#""other":2"#],
        vec![r#""id":"x""#, r#""kind":"a""#, r#""body":{"x":1,"b":"long","a":["x"],"c":"long"}"#],
    ];
    let expected = [Reason::BadEnum, Reason::MissingField, Reason::UnknownField, Reason::TooLong];
    for (members, expected) in members.iter().zip(expected) {
        let mut places = Vec::new();
        permute(&mut members.clone(), 0, &mut |members| {
            let (reason, words) = first(&program, &format!("{{{}}}", members.join(","))).unwrap();
            assert_eq!(reason, expected, "{members:?}");
            places.push(words.instance);
        });
        places.dedup();
        assert_eq!(places.len(), 1, "{places:?}");
    }
}

fn permute<T>(items: &mut Vec<T>, from: usize, visit: &mut impl FnMut(&[T])) {
    if from == items.len() {
        visit(items);
    }
    for at in from..items.len() {
        items.swap(from, at);
        permute(items, from + 1, visit);
        items.swap(from, at);
    }
}

#[test]
fn every_failure_is_reported() {
    let program = compile(&json!({
        "required": ["a", "b"],
        "properties": {"c": {"type": "string", "minLength": 2}, "d": {"items": {"type": "integer"}}},
        "additionalProperties": false
    }));
    assert_eq!(
        all(&program, r#"{"d":[1,"x",null],"c":"x","e":1}"#),
        [
            (Reason::MissingField, String::new(), "required"),
            (Reason::MissingField, String::new(), "required"),
            (Reason::UnknownField, "/e".into(), "additionalProperties"),
            (Reason::TooShort, "/c".into(), "minLength"),
            (Reason::WrongType, "/d/1".into(), "type"),
            (Reason::WrongType, "/d/2".into(), "type"),
        ]
    );
}

#[test]
fn an_observer_can_stop_after_any_number() {
    struct Two(Vec<Reason>);
    impl Observer for Two {
        fn failed(&mut self, failure: Failure) -> ControlFlow<()> {
            self.0.push(failure.reason);
            if self.0.len() == 2 { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
        }
    }
    let program = compile(&json!({"items": {"type": "integer"}}));
    let mut observer = Two(Vec::new());
    Parser::new(64).parse(br#"["a","b","c"]"#, |tape| {
        assert!(!program.execute(tape.unwrap(), &mut Scratch::default(), &mut observer));
    });
    assert_eq!(observer.0.len(), 2);
}

#[test]
fn objects_with_many_known_names_are_checked() {
    let names: Vec<String> = (0..200).map(|n| format!("member{n}")).collect();
    let properties: serde_json::Map<_, _> =
        names.iter().map(|name| (name.clone(), json!({"type": "integer"}))).collect();
    let program =
        compile(&json!({"required": names, "properties": properties, "additionalProperties": false}));
    let document: serde_json::Map<_, _> = names.iter().map(|name| (name.clone(), json!(1))).collect();
    assert_eq!(reason(&program, &Value::Object(document.clone()).to_string()), None);
    for at in [0, 63, 64, 127, 128, 199] {
        let mut broken = document.clone();
        broken.remove(&names[at]);
        assert_eq!(reason(&program, &Value::Object(broken).to_string()), Some(Reason::MissingField), "{at}");
        let twice =
            Value::Object(document.clone()).to_string().replacen('{', &format!("{{\"member{at}\":1,"), 1);
        assert_eq!(reason(&program, &twice), Some(Reason::DuplicateKey), "{at}");
    }
}

#[test]
fn cost_is_bounded_whatever_the_schema() {
    // Each level doubles the work on one value.
    let mut definitions = serde_json::Map::new();
    for level in 0..40 {
        let next = json!({"$ref": format!("#/$defs/level{}", level + 1)});
        definitions.insert(format!("level{level}"), json!({"allOf": [next, next]}));
    }
    definitions.insert("level40".into(), json!({}));
    let program = compile(&json!({"$defs": definitions, "$ref": "#/$defs/level0"}));
    let (reason, words) = first(&program, "1").unwrap();
    assert_eq!((reason, words.keyword), (Reason::Schema, "limit-steps"));
    // A document deeper than the calls allowed.
    let limits = super::Limits { call_depth_max: 100, ..super::Limits::default() };
    let options = Options { limits, ..Options::default() };
    let program = Program::compile(r##"{"items": {"$ref": "#"}}"##, "test.json", &options).unwrap();
    let nested = |depth: usize| format!("{}{}", "[".repeat(depth), "]".repeat(depth));
    assert!(first(&program, &nested(90)).is_none());
    assert_eq!(first(&program, &nested(500)).unwrap().1.keyword, "limit-depth");
}

#[test]
fn the_olympus_schema_takes_its_envelopes() {
    let text = include_str!("../../configs/schemas/olympus.json");
    let program = Program::compile(text, "olympus.json", &Options::default()).unwrap();
    let envelope = json!({
        "envelope": {
            "version": "1.0", "message_id": "msg-00000000-0000-4000-8000-000000000000", "timestamp": "2026-05-25T00:00:00Z",
            "source_agent": "tech-lead", "target_agent": "coder", "correlation_id": "issue-42", "session_id": "s"
        },
        "persona": "governance/personas/agentic/coder.md",
        "protocol_message": {"message_type": "ASSIGN", "payload": {"task": {"a": 1}}},
        "context_attachments": [{"type": "plan", "path": "p.md"}]
    });
    assert_eq!(reason(&program, &envelope.to_string()), None);
    for (pointer, value, expected) in [
        ("/envelope/version", json!("1.1"), Reason::BadConst),
        ("/envelope/source_agent", json!("nobody"), Reason::BadEnum),
        ("/envelope/correlation_id", json!("issue-42\n"), Reason::BadPattern),
        ("/envelope/message_id", json!("msg-0000000G-0000-4000-8000-000000000000"), Reason::BadPattern),
        ("/envelope/timestamp", json!("2026-02-30T00:00:00Z"), Reason::BadFormat),
        ("/protocol_message/payload", json!([]), Reason::WrongType),
        ("/context_attachments/0", json!({"type": "plan"}), Reason::MissingField),
        ("/context_attachments/0/path", json!(null), Reason::WrongType),
    ] {
        let mut broken = envelope.clone();
        *broken.pointer_mut(pointer).unwrap() = value;
        let (reason, words) = first(&program, &broken.to_string()).unwrap();
        assert_eq!((reason, words.instance.as_str()), (expected, pointer));
    }
}

#[test]
fn failures_of_branches_are_broken_down() {
    let program = compile(&json!({
        "properties": {"a": {"anyOf": [{"type": "string"}, {"required": ["b"]}, {"properties": {"c": {"minimum": 3}}, "required": ["c"]}]}},
        "oneOf": [{"minProperties": 1}, {"required": ["a"]}, {"maxProperties": 0}]
    }));
    let found = |document: &str, keyword: &str| {
        let mut observer = AllFailures::default();
        Parser::new(16).parse(document.as_bytes(), |tape| {
            let tape = tape.unwrap();
            program.execute(tape, &mut Scratch::default(), &mut observer);
            let words = observer.0.iter().map(|failure| program.explain(*failure, tape));
            words.into_iter().find(|words| words.keyword == keyword).unwrap().found
        })
    };
    assert_eq!(
        found(r#"{"a": {"c": 1}}"#, "anyOf"),
        "an object with 1 members (branch 0 fails at `/a`: type: expected of type string, found an object with 1 members; \
         branch 1 fails at `/a`: required: expected a member `b`, found no such member; \
         branch 2 fails at `/a/c`: minimum: expected at least 3, found 1)"
    );
    let found = found(r#"{"a": "x"}"#, "oneOf");
    assert!(found.contains("branch 0 holds; branch 1 holds; branch 2 fails at ``"), "{found}");
    let many: Vec<Value> = (0..10).map(|number| json!({"const": number})).collect();
    let (_, words) = first(&compile(&json!({"anyOf": many})), "true").unwrap();
    assert!(words.found.ends_with("; and 4 more branches)"), "{}", words.found);
    // A long `enum` is cut.
    let (_, words) = first(&compile(&json!({"enum": vec!["ä".repeat(30); 30]})), "true").unwrap();
    assert!(words.expected.chars().count() <= 140, "{}", words.expected);
}

/// Numbers are compared as they are written, in the schema and in the document.
#[test]
fn numbers_are_compared_by_their_digits() {
    for (schema, document, valid) in [
        (r#"{"const": 18446744073709551616}"#, "18446744073709551616", true),
        (r#"{"const": 18446744073709551616}"#, "18446744073709551617", false),
        (r#"{"const": 18446744073709551616}"#, "1.8446744073709551616e19", true),
        (r#"{"const": 1e400}"#, "1e400", true),
        (r#"{"const": 1e400}"#, "2e400", false),
        (r#"{"const": {"a": [0.1]}}"#, r#"{"a": [0.10]}"#, true),
        (r#"{"const": {"a": [0.1]}}"#, r#"{"a": [0.1000000000000000000001]}"#, false),
        (r#"{"const": {"a": [0.1000000000000000000001]}}"#, r#"{"a": [0.1000000000000000000001]}"#, true),
        (r#"{"enum": [null, 9007199254740993.5]}"#, "9007199254740993.5", true),
        (r#"{"enum": [null, 9007199254740993.5]}"#, "9007199254740994", false),
        (r#"{"minimum": 1.00000000000000000000001}"#, "1", false),
        (r#"{"minimum": 1.00000000000000000000001}"#, "1.00000000000000000000001", true),
        (r#"{"maximum": 1}"#, "1.00000000000000000000001", false),
        (r#"{"exclusiveMinimum": 0}"#, "1e-999999999", true),
        (r#"{"exclusiveMaximum": 1e400}"#, "1e400", false),
        (r#"{"exclusiveMaximum": 1e400}"#, "9e399", true),
        (r#"{"maximum": 1e999999999}"#, "1e999999998", true),
        (r#"{"multipleOf": 3}"#, "18446744073709551618", true),
        (r#"{"multipleOf": 3}"#, "18446744073709551617", false),
        (r#"{"multipleOf": 0.1}"#, "0.30000000000000000000001", false),
        (r#"{"uniqueItems": true}"#, "[18446744073709551616, 18446744073709551617]", true),
        (r#"{"uniqueItems": true}"#, "[18446744073709551616, 18446744073709551616.0]", false),
        (r#"{"uniqueItems": true}"#, "[9007199254740993, 9007199254740993.0]", false),
        (r#"{"uniqueItems": true}"#, "[1,2,3,4,5,6,7,8,1e400,1e401,0.1,0.10000000000000000000001]", true),
        (r#"{"uniqueItems": true}"#, "[1,2,3,4,5,6,7,8,1e400,1e401,0.1,10e399]", false),
        (r#"{"minLength": 1.0}"#, r#""a""#, true),
    ] {
        let program = Program::compile(schema, "test.json", &Options::default()).unwrap();
        assert_eq!(reason(&program, document).is_none(), valid, "{schema} {document}");
    }
    for schema in [r#"{"minLength": 1.00000000000000000000001}"#, r#"{"multipleOf": 0e400}"#] {
        assert!(Program::compile(schema, "test.json", &Options::default()).is_err(), "{schema}");
    }
}

#[test]
fn lists_of_outlines_that_do_not_fit_are_learned_anew() {
    let program =
        compile(&json!({"properties": {"v": {"type": "array", "items": {"type": "integer", "maximum": 9}}}}));
    let (mut parser, mut outlines, mut scratch) = (Parser::new(64), Outlines::default(), Scratch::default());
    let mut known = 0;
    let mut accepts = |last: u32, n: usize| {
        let text = format!("{{\"v\":[{}{last}],\"{}\":0}}", "1,".repeat(120), "n".repeat(n + 1));
        parser.parse(text.as_bytes(), |tape| {
            let tape = outlines.recall(tape.unwrap());
            known += usize::from(tape.outline().is_some());
            program.accepts(tape, &mut scratch)
        })
    };
    // Two rounds of more outlines than there is room for.
    for n in (0..400).chain(0..400) {
        for last in [1, 2, 3, 10, 4, 11] {
            assert_eq!(accepts(last, n), last < 10, "{n} {last}");
        }
    }
    assert!(known > 800, "{known}");
}

#[test]
fn of_a_known_outline_only_values_are_checked_and_all_of_them() {
    let program = compile(&json!({
        "type": "object",
        "required": ["id", "kind"],
        "additionalProperties": {"type": "integer"},
        "properties": {
            "id": {"type": "string", "minLength": 2},
            "kind": {"enum": ["one", "two"]},
            "rows": {"type": "array", "items": {"type": "object", "properties": {"n": {"maximum": 9}}}},
            "any": {},
            "flag": {"type": ["boolean", "null"]},
            "if": {"if": {"const": "a"}, "then": true, "else": {"pattern": "^b"}},
        },
    }));
    let document = |id: &str, kind: &str, n: &str, flag: &str, other: &str, more: &str| {
        format!(
            r#"{{"id":"{id}","kind":"{kind}","rows":[{{"n":1}},{{"n":{n}}}],"any":{{"x":{{"y":{n}}}}},"flag":{flag},"if":"{other}","more":{more}}}"#
        )
    };
    let (mut parser, mut outlines, mut scratch) = (Parser::new(64), Outlines::default(), Scratch::default());
    let mut verdict = |text: &str| {
        parser.parse(text.as_bytes(), |tape| {
            let tape = outlines.recall(tape.unwrap());
            let mut first = FirstFailure::default();
            let valid = program.execute(tape, &mut scratch, &mut first);
            assert_eq!(valid, first.0.is_none());
            (tape.outline().map(|outline| outline.serial), first.0.map(|failure| tape.pointer(failure.at)))
        })
    };
    // An outline is remembered when it comes back.
    assert_eq!(verdict(&document("ab", "one", "9", "true", "a", "1")), (None, None));
    let (outline, valid) = verdict(&document("ab", "one", "9", "true", "a", "1"));
    assert_eq!(valid, None);
    assert!(outline.is_some());
    for (text, pointer) in [
        (document("xyz", "two", "-1.5", "null", "b", "7"), None),
        (document("ä", "two", "1", "null", "b", "7"), Some("/id")),
        (document("ab", "three", "1", "null", "b", "7"), Some("/kind")),
        (document("ab", "two", "9.5", "null", "b", "7"), Some("/rows/1/n")),
        (document("ab", "two", "1", "0", "b", "7"), Some("/flag")),
        (document("ab", "two", "1", "false", "c", "7"), Some("/if")),
        (document("ab", "two", "1", "false", "b", "null"), Some("/more")),
        (document("ab", "one", "9", "true", "a", "1.0"), None),
    ] {
        let found = verdict(&text);
        assert_eq!((found.0, found.1.as_deref()), (outline, pointer), "{text}");
    }
}

#[test]
fn what_came_before_does_not_change_a_verdict() {
    let schema = json!({
        "properties": {
            "a": {"type": ["object", "null", "string", "array"], "properties": {"b": {"type": "string"}}},
            "b": {"type": "integer"},
            "d": {},
        },
        "required": ["a", "d"],
    });
    let program = compile(&schema);
    let mut parser = Parser::new(64);
    let shape = r#"{"a":{"b":"x"},"d":1}"#;
    for (text, valid) in [
        (r#"{"a":null,"b":"x"}"#, false),
        (r#"{"a":"","b":"x"}"#, false),
        (r#"{"a":[],"b":"x"}"#, false),
        (r#"{"a":{},"b":"x"}"#, false),
        (r#"{"a":null,"b":5,"d":1}"#, true),
        (r#"{"a":null,"d":5}"#, true),
        (r#"{"a":{"b":"x"},"b":1}"#, false),
    ] {
        let mut scratch = Scratch::default();
        for (text, valid) in [(shape, true), (shape, true), (text, valid)] {
            let mut first = FirstFailure::default();
            let found = parser
                .parse(text.as_bytes(), |tape| program.execute(tape.unwrap(), &mut scratch, &mut first));
            assert_eq!((found, first.0.is_none()), (valid, valid), "{text}");
        }
    }
}

#[test]
fn integers_are_told_by_their_digits() {
    let program = compile(&json!({"type": "integer"}));
    for (text, valid) in [
        ("1", true),
        ("1.0", true),
        ("10e-1", true),
        ("1e400", true),
        ("-0.0", true),
        ("123456789012345678901234567890", true),
        ("9007199254740993.0", true),
        ("1.5", false),
        ("1e-400", false),
        ("0.99999999999999999999", false),
        ("1.0000000000000000000001", false),
        ("9007199254740993.5", false),
        ("12345678901234567890.5", false),
        ("1.5e400", true),
        ("15e-1", false),
    ] {
        assert_eq!(reason(&program, text), (!valid).then_some(Reason::WrongType), "{text}");
    }
    let listed = compile(&json!({"items": {"type": ["integer", "null"], "minimum": 1}}));
    assert_eq!(reason(&listed, "[null,3.0,1e2]"), None);
    assert_eq!(reason(&listed, "[null,3.00000000000000000000001]"), Some(Reason::WrongType));
}

#[test]
fn members_that_nothing_evaluates_are_found_with_and_without_notes() {
    let own = json!({"properties": {"a": {}, "b": {}}, "patternProperties": {"^x-": {}}});
    for (what, more, wrong) in [
        ("nothing else", json!({}), true),
        (
            "what is known anyway",
            json!({"if": {"properties": {"a": {"const": 1}}}, "then": {"required": ["b"]}}),
            true,
        ),
        ("a name behind a condition", json!({"if": {"properties": {"a": {"const": 1}, "c": {}}}}), false),
        (
            "a name in a branch",
            json!({"anyOf": [{"properties": {"a": {"const": 2}}}, {"properties": {"c": {}}}]}),
            false,
        ),
        ("a pattern", json!({"allOf": [{"patternProperties": {"c": {}}}]}), false),
        ("everything", json!({"allOf": [{"additionalProperties": true}]}), false),
        ("everything, by its own keyword", json!({"additionalProperties": true}), false),
        ("a reference", json!({"$ref": "#/$defs/c"}), false),
        ("a member that must be there", json!({"required": ["c"]}), true),
        (
            "nothing, since it fails",
            json!({"not": {"properties": {"c": {"const": 7}}, "required": ["c"]}}),
            true,
        ),
    ] {
        let mut schema = own.clone();
        for part in [more, json!({"unevaluatedProperties": false, "$defs": {"c": {"properties": {"c": {}}}}})]
        {
            schema.as_object_mut().unwrap().extend(part.as_object().unwrap().clone());
        }
        let program = compile(&schema);
        assert_eq!(
            reason(&program, r#"{"a":1,"b":2,"x-c":3}"#).is_some(),
            what == "a member that must be there",
            "{what}"
        );
        let found = all(&program, r#"{"a":1,"b":2,"x-":0,"c":3}"#);
        assert_eq!(
            found.iter().any(|(_, pointer, keyword)| pointer == "/c" && *keyword == "unevaluatedProperties"),
            wrong,
            "{what}: {found:?}"
        );
        assert_eq!(found.is_empty(), !wrong, "{what}: {found:?}");
    }
}
