//! Streams of objects that look alike: what an earlier document looked like must not change the verdict on a later one.
//!
//! The validator remembers what objects and outlines looked like. So each schema here is one of nested objects, each
//! stream begins with documents that fit it, and goes on with mutants of them: an object gives way to something else, members
//! move up or away, change their name, their place or their type. Every verdict has to be that of the `jsonschema` crate.
//! The seed is printed and can be set with `TOLLGATE_PROPTEST_SEED`.

use serde_json::{Map, Value, json};
use tollgate::outline::Outlines;
use tollgate::program::{Failure, FirstFailure, Limits, Options, Program, Scratch};
use tollgate::tape::Parser;

use crate::corpora::Random;
use crate::differential::from_env;

const NAMES: &[&str] = &["a", "b", "c", "d", "a name of more than sixteen bytes"];
const SCALARS: &[&str] = &["1", "0", "-3", "1.0", "1.5", "1e3", "9007199254740993", "true", "false", "null"];
/// What is asked of a scalar, one keyword at a time.
const SCALAR_SCHEMAS: &[&str] = &[
    r#"{"type":"integer"}"#,
    r#"{"type":"number"}"#,
    r#"{"type":"boolean"}"#,
    r#"{"type":"null"}"#,
    r#"{"type":["integer","null"]}"#,
    r#"{"enum":[1,null,true]}"#,
    r#"{"const":1}"#,
    r#"{"minimum":1}"#,
    r#"{"exclusiveMaximum":1.5}"#,
    r#"{"multipleOf":3}"#,
    r#"{"minLength":3}"#,
    r#"{"items":false}"#,
    r#"{"required":["a"]}"#,
];
const SCHEMAS: u64 = 4000;
const MUTANTS_PER_SCHEMA: usize = 24;

/// A schema of an object, and now and then of anything beside it.
fn object_schema(random: &mut Random, depth: usize) -> Value {
    let mut properties = Map::new();
    for name in NAMES {
        if random.below(3) != 0 {
            properties.insert((*name).to_owned(), value_schema(random, depth));
        }
    }
    let required: Vec<&str> = NAMES.iter().copied().filter(|_| random.below(4) == 0).collect();
    let mut schema = json!({"properties": properties});
    let types =
        [json!("object"), json!(["object", "null"]), json!(["object", "string", "array"]), Value::Null];
    let chosen = random.pick(&types).clone();
    if chosen != Value::Null {
        schema["type"] = chosen;
    }
    if random.below(2) == 0 {
        schema["required"] = json!(required);
    }
    match random.below(6) {
        0 => schema["additionalProperties"] = json!(false),
        1 => schema["additionalProperties"] = json!({"type": "integer"}),
        2 => schema["patternProperties"] = json!({"^a n": {"type": "string"}}),
        3 => schema["unevaluatedProperties"] = json!(false),
        _ => {}
    }
    schema
}

fn value_schema(random: &mut Random, depth: usize) -> Value {
    match random.below(if depth == 0 { 5 } else { 9 }) {
        0 => json!({"type": "string"}),
        1 => json!({"type": "integer"}),
        2 => json!({}),
        3 => json!({"enum": ["x", 1, null]}),
        4 => scalar_schema(random),
        5 => json!({"type": "array", "items": object_schema(random, depth - 1)}),
        _ => object_schema(random, depth - 1),
    }
}

/// A schema of what an outline does not tell apart, in which several keywords have a say.
fn scalar_schema(random: &mut Random) -> Value {
    let mut schema = Map::new();
    for _ in 0..=random.below(3) {
        let part: Value = random.pick(SCALAR_SCHEMAS).parse().unwrap();
        match random.below(6) {
            0 => schema.insert("allOf".into(), json!([part])),
            1 => schema.insert("anyOf".into(), json!([part, {"const": 1.5}])),
            2 => schema.insert("not".into(), json!({"not": part})),
            3 => schema.insert("if".into(), part),
            _ => {
                schema.extend(part.as_object().cloned().unwrap_or_default());
                None
            }
        };
    }
    schema.into()
}

/// A value that most likely fits a schema.
fn fitting(schema: &Value, random: &mut Random) -> Value {
    if let Some(values) = schema["enum"].as_array() {
        return random.pick(values).clone();
    }
    if let Some(properties) = schema["properties"].as_object() {
        let required: Vec<&str> =
            schema["required"].as_array().into_iter().flatten().filter_map(Value::as_str).collect();
        let mut members = Map::new();
        for (name, schema) in properties {
            if required.contains(&name.as_str()) || random.below(4) != 0 {
                members.insert(name.clone(), fitting(schema, random));
            }
        }
        for name in required {
            members.entry(name).or_insert(json!(1));
        }
        return members.into();
    }
    match schema["type"].as_str() {
        Some("string") => json!("x"),
        Some("integer") => json!(1),
        Some("array") => (0..random.below(4)).map(|_| fitting(&schema["items"], random)).collect(),
        _ => random.pick(&[json!("x"), json!(1), json!(null), json!({"a": 1})]).clone(),
    }
}

/// A document that differs from another in one or two places.
fn mutant(document: &Value, random: &mut Random) -> Value {
    match document {
        Value::Object(members) if !members.is_empty() && random.below(3) != 0 => {
            let mut list: Vec<(String, Value)> =
                members.iter().map(|(name, value)| (name.clone(), value.clone())).collect();
            let place = random.below(list.len());
            let (name, value) = list[place].clone();
            match random.below(7) {
                0 => drop(list.remove(place)),
                1 => (*random.pick(NAMES)).clone_into(&mut list[place].0),
                2 => list.swap(place, 0),
                3 => list.push(((*random.pick(NAMES)).to_owned(), json!("x"))),
                4 => {
                    // An object gives way, and its members move up.
                    let gone = random.pick(&[json!(null), json!(""), json!([]), json!({})]).clone();
                    let up = value.as_object().cloned().unwrap_or_default();
                    list.splice(place..=place, std::iter::once((name, gone)).chain(up));
                }
                _ => list[place].1 = mutant(&value, random),
            }
            Value::Object(list.into_iter().collect())
        }
        Value::Array(items) if !items.is_empty() && random.below(3) != 0 => {
            let place = random.below(items.len());
            let each = items.iter().enumerate();
            each.map(|(at, item)| if at == place { mutant(item, random) } else { item.clone() }).collect()
        }
        Value::Null | Value::Bool(_) | Value::Number(_) if random.below(3) != 0 => {
            random.pick(SCALARS).parse().unwrap()
        }
        _ => random.pick(&[json!(null), json!("x"), json!(1), json!([]), json!({}), json!(1.5)]).clone(),
    }
}

#[test]
fn an_earlier_document_does_not_change_a_later_verdict() {
    let now = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).unwrap();
    let seed = from_env("TOLLGATE_PROPTEST_SEED", now.as_nanos() as u64);
    println!("TOLLGATE_PROPTEST_SEED={seed}");
    let mut random = Random(seed);
    let mut parser = Parser::new(64);
    let (mut valid, mut all) = (0, 0);
    for _ in 0..from_env("TOLLGATE_PROPTEST_SCHEMAS", SCHEMAS) {
        let schema = object_schema(&mut random, 2);
        let program = Program::compile(&schema.to_string(), "random.json", &Options::default()).unwrap();
        let other = jsonschema::draft202012::new(&schema).unwrap();
        let (mut scratch, mut outlines) = (Scratch::default(), Outlines::default());
        let mut shape = fitting(&schema, &mut random);
        for number in 0..MUTANTS_PER_SCHEMA {
            let document = match number % 8 {
                // The same again: a stranger, then learned from, then recognised.
                0 | 1 | 4 | 5 => shape.clone(),
                _ => mutant(&shape, &mut random),
            };
            if number % 8 == 7 {
                shape = fitting(&schema, &mut random);
            }
            let (text, theirs) = (document.to_string(), other.is_valid(&document));
            let ours = parser.parse(text.as_bytes(), |tape| {
                let tape = tape.unwrap();
                let mut first = FirstFailure::default();
                let told = program.execute(tape, &mut scratch, &mut first) == first.0.is_none();
                (
                    told,
                    program.is_valid(tape, &mut scratch),
                    program.accepts(outlines.recall(tape), &mut scratch),
                )
            });
            assert_eq!(ours, (true, theirs, theirs), "TOLLGATE_PROPTEST_SEED={seed}: {schema} {text}");
            valid += u64::from(theirs);
            all += 1;
        }
    }
    assert!(valid > all / 5 && valid < all - all / 10, "{valid} of {all} are valid");
}

/// Whether a document is valid, and its first failure, to somebody who remembers and to somebody who does not.
fn warm_and_cold(
    program: &Program,
    text: &str,
    scratch: &mut Scratch,
    outlines: &mut Outlines,
) -> [(bool, Option<Failure>); 2] {
    Parser::new(64).parse(text.as_bytes(), |tape| {
        let tape = tape.unwrap();
        let told = |tape, scratch: &mut Scratch| {
            let mut first = FirstFailure::default();
            (program.execute(tape, scratch, &mut first), first.0)
        };
        [told(outlines.recall(tape), scratch), told(tape, &mut Scratch::default())]
    })
}

#[test]
fn near_the_limits_an_earlier_document_does_not_change_a_later_verdict() {
    let now = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).unwrap();
    let seed = from_env("TOLLGATE_PROPTEST_SEED", now.as_nanos() as u64);
    println!("TOLLGATE_PROPTEST_SEED={seed}");
    let mut random = Random(seed);
    let mut stopped = 0;
    for _ in 0..from_env("TOLLGATE_PROPTEST_SCHEMAS", SCHEMAS) / 4 {
        let schema = object_schema(&mut random, 3);
        let limits = Limits {
            steps_max: 1 + random.below(60) as u64,
            call_depth_max: 1 + random.below(24) as u32,
            ..Limits::default()
        };
        let options = Options { limits, ..Options::default() };
        let program = Program::compile(&schema.to_string(), "random.json", &options).unwrap();
        let unlimited = jsonschema::draft202012::new(&schema).unwrap();
        let (mut scratch, mut outlines) = (Scratch::default(), Outlines::default());
        let mut shape = fitting(&schema, &mut random);
        for number in 0..MUTANTS_PER_SCHEMA {
            let document = if number % 4 == 3 { mutant(&shape, &mut random) } else { shape.clone() };
            if number % 8 == 7 {
                shape = fitting(&schema, &mut random);
            }
            let text = document.to_string();
            let [warm, cold] = warm_and_cold(&program, &text, &mut scratch, &mut outlines);
            assert_eq!(warm, cold, "TOLLGATE_PROPTEST_SEED={seed}: {limits:?} {schema} {text}");
            stopped += u64::from(!cold.0 && unlimited.is_valid(&document));
        }
    }
    assert!(stopped > 500, "{stopped} documents reached a limit");
}

#[test]
fn what_is_remembered_saves_nothing_near_the_limits() {
    let rows = format!("{{\"r\":[{}]}}", vec![r#"{"a":1}"#; 250].join(","));
    let nested = |value: u8| format!("{{\"a\":{{\"a\":{{\"a\":{{\"a\":{{\"v\":{value}}}}}}}}}}}");
    let long = |bytes: usize| format!(r#"{{"a":"{}","b":1}}"#, "x".repeat(bytes));
    let deep = r##"{"properties":{"a":{"$ref":"#"},"v":{"anyOf":[{"const":1},{"allOf":[{"allOf":[{"allOf":[{"const":2}]}]}]}]}}}"##;
    let in_rows = r#"{"properties":{"r":{"items":{"properties":{"a":{"type":"integer"}}}}}}"#;
    let pattern = r#"{"properties":{"a":{"pattern":"^x*$"},"b":{"type":"integer"}}}"#;
    let mut cases = vec![
        (in_rows, 1000, 1024, vec![rows; 4]),
        (deep, 1000, 4, vec![nested(1), nested(1), nested(1), nested(2), nested(2)]),
    ];
    cases.extend((3960..4010).map(|bytes| (pattern, 1000, 1024, [1, 1, 1, bytes, bytes].map(long).to_vec())));
    for (schema, steps_max, call_depth_max, documents) in cases {
        let limits = Limits { steps_max, call_depth_max, ..Limits::default() };
        let options = Options { limits, ..Options::default() };
        let program = Program::compile(schema, "table.json", &options).unwrap();
        let (mut scratch, mut outlines) = (Scratch::default(), Outlines::default());
        for text in documents {
            let [warm, cold] = warm_and_cold(&program, &text, &mut scratch, &mut outlines);
            assert_eq!(warm, cold, "{schema} {}", text.len());
        }
    }
}

/// Schemas of one value that ask twice: above and below a reference, a branch or a condition.
fn asking_twice() -> Vec<String> {
    let parts = SCALAR_SCHEMAS.iter().map(|part| part.trim_start_matches('{').trim_end_matches('}'));
    let ways = |part: &str, other: &str| {
        [
            format!("{{{part},\"$ref\":\"#/$defs/any\"}}"),
            format!("{{{part},\"allOf\":[{{{other}}}]}}"),
            format!("{{{part},\"anyOf\":[{{{other}}},{{\"const\":0}}]}}"),
            format!("{{\"allOf\":[{{{part}}},{{{other}}}]}}"),
            format!("{{\"allOf\":[{{{part},\"allOf\":[{{{other}}}]}}]}}"),
            format!("{{\"not\":{{{part},\"allOf\":[{{{other}}}]}}}}"),
            format!("{{\"if\":{{{part}}},\"then\":{{{other}}}}}"),
        ]
    };
    parts.clone().flat_map(|part| parts.clone().flat_map(move |other| ways(part, other))).collect()
}

#[test]
fn a_known_outline_does_not_hide_what_a_scalar_is() {
    // Where the value stands: the schema around it, and the document around it.
    let places = [
        (r#"{"$defs":{"any":{"minimum":-5}},"properties":{"a":@}}"#, r#"{"a":@}"#),
        (r#"{"$defs":{"any":{"minimum":-5}},"additionalProperties":@}"#, r#"{"a":@}"#),
        (r#"{"$defs":{"any":{"minimum":-5}},"patternProperties":{"^a":@}}"#, r#"{"a":@}"#),
        (r#"{"$defs":{"any":{"minimum":-5}},"properties":{"a":{"items":@}}}"#, r#"{"a":[@]}"#),
        (r#"{"$defs":{"any":{"minimum":-5}},"properties":{"a":{"prefixItems":[@]}}}"#, r#"{"a":[@,1]}"#),
    ];
    let mut parser = Parser::new(64);
    for (schema_around, document_around) in places {
        for schema in asking_twice() {
            let schema = schema_around.replace('@', &schema);
            let program = Program::compile(&schema, "table.json", &Options::default()).unwrap();
            let other = jsonschema::draft202012::new(&serde_json::from_str(&schema).unwrap()).unwrap();
            let documents: Vec<(String, bool)> = SCALARS
                .iter()
                .map(|scalar| document_around.replace('@', scalar))
                .map(|text| (other.is_valid(&serde_json::from_str(&text).unwrap()), text))
                .map(|(valid, text)| (text, valid))
                .collect();
            for (known, _) in documents.iter().filter(|(_, valid)| *valid) {
                let (mut scratch, mut outlines) = (Scratch::default(), Outlines::default());
                let mut accepts = |text: &str| {
                    parser.parse(text.as_bytes(), |tape| {
                        program.accepts(outlines.recall(tape.unwrap()), &mut scratch)
                    })
                };
                assert!((0..3).all(|_| accepts(known)), "{schema} {known}");
                for (text, valid) in &documents {
                    assert_eq!(accepts(text), *valid, "{schema} {text}, after {known}");
                }
            }
        }
    }
}
