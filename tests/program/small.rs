//! Small schemas of two or three keywords, put together in every way, on small documents: where a keyword is lost when
//! keywords meet, it shows here.
//!
//! Each schema meets all documents three times in different orders: as strangers, to learn from, and with an outline that
//! is known. Verdicts have to be those of the `jsonschema` crate, and no document with a name twice may pass. The seed is
//! printed and can be set with `TOLLGATE_PROPTEST_SEED`; `TOLLGATE_PROPTEST_SCHEMAS` asks for more schemas.

use std::panic::{AssertUnwindSafe, catch_unwind};

use tollgate::outline::Outlines;
use tollgate::program::{AllFailures, Draft, Options, Program, Scratch};
use tollgate::tape::Parser;
use tollgate::verdict::Reason;

use crate::corpora::Random;
use crate::differential::from_env;

const SCHEMAS: u64 = 1000;

const KEYWORDS: &[&str] = &[
    r#""properties":{"a":{"const":1}}"#,
    r#""properties":{"a":{"type":"integer"}}"#,
    r#""properties":{"a":{"type":"string","minLength":1}}"#,
    r#""properties":{"a":{"additionalProperties":{"type":"string"}}}"#,
    r##""properties":{"a":{"type":"integer","$ref":"#/$defs/any"},"b":true}"##,
    r#""properties":{"c":true}"#,
    r#""required":["a"]"#,
    r#""required":["c"]"#,
    r#""patternProperties":{"^a":{"const":1}}"#,
    r#""patternProperties":{"^[ab]$":true}"#,
    r#""properties":{"a":true},"patternProperties":{"^a":{"const":1}}"#,
    r#""properties":{"b":true},"patternProperties":{"^a":{"const":1}}"#,
    r#""additionalProperties":false"#,
    r#""additionalProperties":{"type":"string"}"#,
    r#""additionalProperties":{"enum":[1,"x"]}"#,
    r#""minProperties":1"#,
    r#""maxProperties":1"#,
    r#""propertyNames":{"maxLength":1}"#,
    r#""dependentRequired":{"a":["b"]}"#,
    r#""dependentSchemas":{"a":{"properties":{"b":{"const":1}}}}"#,
    r#""dependencies":{"a":{"properties":{"b":{"const":1}}}}"#,
    r#""unevaluatedProperties":false"#,
    r#""unevaluatedProperties":{"const":1}"#,
    r#""items":{"const":1}"#,
    r#""items":{"type":["integer","object"]}"#,
    r#""prefixItems":[{"const":1},{"const":2}]"#,
    r#""prefixItems":[true]"#,
    r#""contains":{"const":1}"#,
    r#""contains":{"const":1},"maxContains":1"#,
    r#""minItems":1"#,
    r#""maxItems":1"#,
    r#""uniqueItems":true"#,
    r#""unevaluatedItems":false"#,
    r#""type":"object""#,
    r#""type":["object","integer"]"#,
    r#""type":["array","string","integer"]"#,
    r#""type":"integer""#,
    r#""type":"number""#,
    r#""enum":[1,"x",{"a":1},[1]]"#,
    r#""enum":["x",null]"#,
    r#""const":{"a":1}"#,
    r#""minimum":1"#,
    r#""exclusiveMaximum":1.5"#,
    r#""multipleOf":1"#,
    r#""minLength":1"#,
    r#""maxLength":1"#,
    r#""pattern":"^x""#,
];

/// How keywords meet: `1`, `2` and `3` stand for one of them each.
const WAYS: &[&str] = &[
    "{1,2}",
    "{1,2,3}",
    "{1,2,3}",
    r##"{1,"$ref":"#/$defs/s"}"##,
    r##"{1,2,"$ref":"#/$defs/s"}"##,
    r#"{1,"allOf":[{2}]}"#,
    r#"{1,2,"allOf":[{3}]}"#,
    r#"{1,"allOf":[{2},{3}]}"#,
    r#"{"allOf":[{1,"allOf":[{2}]}],3}"#,
    r#"{1,"anyOf":[{2},{3}]}"#,
    r#"{1,"oneOf":[{2},{3}]}"#,
    r#"{"anyOf":[{1,2},{3}]}"#,
    r#"{1,"not":{2,3}}"#,
    r#"{1,2,"not":{"not":{3}}}"#,
    r#"{1,"if":{2},"then":{3}}"#,
    r#"{1,2,"if":{3},"else":false}"#,
    r#"{1,2,"dependentSchemas":{"a":{3}}}"#,
    // What is not evaluated.
    r#"{"properties":{"c":true},"unevaluatedProperties":false,"allOf":[{1}]}"#,
    r#"{"properties":{"c":true},"unevaluatedProperties":false,"anyOf":[{1},{2}]}"#,
    r#"{"properties":{"b":true},"unevaluatedProperties":false,"if":{1},"then":{2}}"#,
    r##"{"unevaluatedProperties":false,1,"$ref":"#/$defs/s"}"##,
    // Branches that a member tells apart.
    r#"{"anyOf":[{1,"required":["a"],"properties":{"a":{"const":"x"}}},{2,"required":["a"],"properties":{"a":{"enum":["","y"]}}}]}"#,
    r#"{"oneOf":[{"required":["a"],"properties":{"a":{"const":"x"}}},{2,"required":["a"],"properties":{"a":{"enum":["x","y"]}}},{3}]}"#,
];

/// Where the value stands, in the schema and in the document.
const PLACES: &[(&str, &str)] = &[
    (r#""properties":{"v":@}"#, r#"{"v":@}"#),
    (r#""properties":{"v":@},"required":["v"],"additionalProperties":false"#, r#"{"v":@}"#),
    (r#""additionalProperties":@"#, r#"{"v":@}"#),
    (r#""patternProperties":{"^v":@}"#, r#"{"v":@}"#),
    (r#""properties":{"v":{"items":@}}"#, r#"{"v":[@,@]}"#),
    (r#""properties":{"v":{"properties":{"w":@}}}"#, r#"{"v":{"w":@},"u":"x"}"#),
];

const VALUES: &[&str] = &[
    "1",
    "2",
    "1.0",
    "1.5",
    "0",
    "null",
    "true",
    r#""x""#,
    r#""""#,
    r#""xx""#,
    r#""y""#,
    "[]",
    "[1]",
    "[2]",
    "[1.5]",
    "[1,2]",
    "[1,3]",
    "[2,1]",
    "[1,1.0]",
    r#"["x"]"#,
    r#"["y","x"]"#,
    r#"[1,"x"]"#,
    r#"[{"a":1}]"#,
    r#"[{"a":2}]"#,
    "[[1]]",
    "[1,2,3]",
    "[1,2,4]",
    "{}",
    r#"{"a":1}"#,
    r#"{"a":2}"#,
    r#"{"a":1.0}"#,
    r#"{"a":1.5}"#,
    r#"{"a":"x"}"#,
    r#"{"a":""}"#,
    r#"{"a":"y"}"#,
    r#"{"b":1}"#,
    r#"{"b":2}"#,
    r#"{"b":"x"}"#,
    r#"{"c":1}"#,
    r#"{"c":2}"#,
    r#"{"a":1,"b":1}"#,
    r#"{"a":1,"b":2}"#,
    r#"{"a":2,"b":1}"#,
    r#"{"b":1,"a":1}"#,
    r#"{"b":1,"a":1.5}"#,
    r#"{"a":"x","b":"x"}"#,
    r#"{"a":"x","c":"y"}"#,
    r#"{"a":{"a":1}}"#,
    r#"{"a":{"b":"x"}}"#,
    r#"{"a":[1,2]}"#,
    r#"{"a":1,"c":1}"#,
    r#"{"a":1,"c":2}"#,
    r#"{"aa":1}"#,
    r#"{"aa":2}"#,
    r#"{"d":"x","e":"x"}"#,
];

/// A name stands twice.
const TWICE: &[&str] = &[
    r#"{"a":1,"a":1}"#,
    r#"{"a":"x","a":"x"}"#,
    r#"{"b":1,"b":1}"#,
    r#"{"c":1,"a":1,"c":1}"#,
    r#"{"aa":1,"aa":1}"#,
    r#"{"d":"x","d":"x"}"#,
    r#"{"a":1,"b":1,"b":1}"#,
    r#"{"a":{"b":"x","b":"x"}}"#,
    r#"{"b":{"a":1,"a":1}}"#,
    r#"{"a":[{"a":1,"a":1}]}"#,
    r#"{"c":{"c":{"a":1,"a":1}}}"#,
    r#"[{"a":1,"a":1}]"#,
    r#"[1,{"b":"x","b":"x"}]"#,
    r#"[[{"a":1,"a":1}]]"#,
    r#"{"aa":{"b":1,"b":1}}"#,
    r#"{"d":[1,{"d":1,"d":1}]}"#,
];

/// A schema, and the document around its values.
fn schema(random: &mut Random) -> (String, &'static str) {
    let (around, document) = *random.pick(PLACES);
    let defined = format!("{{{},{}}}", random.pick(KEYWORDS), random.pick(KEYWORDS));
    let mut way = String::new();
    for part in random.pick(WAYS).chars() {
        match part {
            '1' | '2' | '3' => way += *random.pick(KEYWORDS),
            other => way.push(other),
        }
    }
    let inner = around.replace('@', &way);
    (format!(r#"{{"$defs":{{"any":{{"minimum":-5}},"s":{defined}}},{inner}}}"#), document)
}

#[test]
fn keywords_that_meet_are_all_heard() {
    let now = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).unwrap();
    let seed = from_env("TOLLGATE_PROPTEST_SEED", now.as_nanos() as u64);
    println!("TOLLGATE_PROPTEST_SEED={seed}");
    let (mut random, mut parser) = (Random(seed), Parser::new(64));
    let (mut cases, mut valid) = (0_u64, 0_u64);
    for _ in 0..from_env("TOLLGATE_PROPTEST_SCHEMAS", SCHEMAS) {
        let (schema, around) = schema(&mut random);
        // The crate knows `dependencies` in 2020-12, too, where it is no keyword.
        let is_old = random.below(4) == 0 || schema.contains("\"dependencies\"");
        let draft = if is_old { Draft::V7 } else { Draft::V2020 };
        // A keyword may stand twice; then the last one counts, for both.
        let Ok(value) = serde_json::from_str::<serde_json::Value>(&schema) else { panic!("{schema}") };
        let options = Options { default_draft: draft, ..Options::default() };
        let program = Program::compile(&value.to_string(), "small.json", &options);
        let program = program.unwrap_or_else(|error| panic!("{error}: {schema}"));
        let other_draft =
            if draft == Draft::V7 { jsonschema::Draft::Draft7 } else { jsonschema::Draft::Draft202012 };
        let other = jsonschema::options().with_draft(other_draft).build(&value).unwrap();
        let mut documents: Vec<(String, Option<bool>)> = Vec::new();
        for text in VALUES {
            let text = around.replace('@', text);
            let document = serde_json::from_str(&text).unwrap();
            let Ok(theirs) = catch_unwind(AssertUnwindSafe(|| other.is_valid(&document))) else { continue };
            documents.push((text, Some(theirs)));
        }
        documents.extend(TWICE.iter().map(|text| (around.replace('@', text), None)));
        let (mut scratch, mut outlines) = (Scratch::default(), Outlines::default());
        for round in 0..3 {
            for place in (1..documents.len()).rev() {
                documents.swap(place, random.below(place + 1));
            }
            for (text, theirs) in &documents {
                let (accepted, told) = parser.parse(text.as_bytes(), |tape| {
                    let (tape, mut all) = (tape.unwrap(), AllFailures::default());
                    let accepted = program.accepts(outlines.recall(tape), &mut scratch);
                    if round == 0 {
                        program.execute(tape, &mut scratch, &mut all);
                    }
                    (accepted, all.0.first().map(|failure| failure.reason))
                });
                let expected = theirs.unwrap_or(false);
                assert_eq!(accepted, expected, "TOLLGATE_PROPTEST_SEED={seed} {draft:?} {value} {text}");
                if round == 0 {
                    assert_eq!(
                        told.is_none(),
                        expected,
                        "TOLLGATE_PROPTEST_SEED={seed} {draft:?} {value} {text}"
                    );
                    assert_eq!(told == Some(Reason::DuplicateKey), theirs.is_none(), "{value} {text}");
                    valid += u64::from(expected);
                    cases += 1;
                }
            }
        }
    }
    println!("{cases} pairs, {valid} valid");
    assert!(valid > cases / 10 && valid < cases - cases / 10, "{valid} of {cases} are valid");
}
