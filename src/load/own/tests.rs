//! Streams from schemas of all kinds: the program confirms them, and what cannot be made is said.

use super::*;

fn own(schema: &str, mix: &Mix) -> Result<Own, OwnError> {
    Own::new((schema, "test.json"), &Options::default(), mix, 5)
}

/// Schemas that use the keywords, one by one and together.
const SCHEMAS: &[&str] = &[
    "true",
    r#"{"type":["integer","null"]}"#,
    r#"{"type":"object","required":["id","kind"],"additionalProperties":false,"properties":{
        "id":{"type":"string","pattern":"^o-[0-9]{3,9}$"},"kind":{"enum":["a","b"]},"v":{"const":1},
        "at":{"type":"string","format":"date-time"},"n":{"type":"integer","minimum":3,"maximum":9},
        "name":{"type":"string","minLength":2,"maxLength":8}}}"#,
    r#"{"type":"array","minItems":2,"maxItems":4,"uniqueItems":true,"items":{"type":"number","multipleOf":0.25}}"#,
    r#"{"type":"array","prefixItems":[{"const":"x"},{"type":"integer"}],"items":{"type":"boolean"},"minItems":3}"#,
    r##"{"$defs":{"node":{"type":"object","properties":{"left":{"$ref":"#/$defs/node"},"right":{"$ref":"#/$defs/node"},
        "value":{"type":"integer"}},"required":["value"],"additionalProperties":false}},"$ref":"#/$defs/node"}"##,
    r#"{"oneOf":[{"type":"object","properties":{"a":{"type":"string"}},"required":["a"]},{"type":"integer"}]}"#,
    r#"{"allOf":[{"type":"object","required":["a"]},{"properties":{"a":{"type":"integer","exclusiveMinimum":4}}}]}"#,
    r#"{"type":"object","properties":{"t":{"enum":["x","y"]}},"required":["t"],
        "if":{"properties":{"t":{"const":"x"}}},"then":{"required":["n"],"properties":{"n":{"type":"integer"}}}}"#,
    r#"{"type":"object","patternProperties":{"^x-[a-z]+$":{"type":"integer"}},"additionalProperties":false,"minProperties":2}"#,
    r#"{"type":"object","propertyNames":{"pattern":"^[a-z]{3}$"},"minProperties":1,"maxProperties":3}"#,
    r#"{"type":"array","contains":{"const":7},"minContains":2,"items":{"type":"integer"}}"#,
    r#"{"type":"string","format":"uuid"}"#,
    r#"{"type":"object","dependentRequired":{"a":["b"]},"properties":{"a":{"type":"string"},"b":{"type":"string"}}}"#,
];

#[test]
fn every_record_has_the_verdict_that_the_program_gives() {
    let mix = Mix::default();
    for schema in SCHEMAS {
        let own = own(schema, &mix).unwrap_or_else(|error| panic!("{schema}: {error}"));
        let (mut cursor, mut check, mut rejects) = (own.cursor(), Check::default(), 0);
        for number in 0..2_000 {
            let mut text = Vec::new();
            let made = cursor.write(number, &mut text);
            let first = check.first(&own.program, &text);
            let shown = String::from_utf8_lossy(&text).into_owned();
            assert_eq!(made.reason.map(Reason::code), first.map(|(_, code)| code), "{schema}: {shown}");
            assert!(!text.contains(&b'\n'), "a record is a line");
            rejects += u32::from(made.reason.is_some());
        }
        let can_fail = own.reasons().next().is_some();
        assert_eq!(rejects > 0, can_fail, "{schema}: faults are played where there are any");
        assert_eq!(can_fail, *schema != "true", "{schema}: whatever refuses something has faults");
    }
}

#[test]
fn the_faults_of_a_plain_object_are_all_found() {
    let own = own(SCHEMAS.get(2).copied().unwrap_or_default(), &Mix::default()).unwrap();
    let found: Vec<_> = own.reasons().map(Reason::code).collect();
    for code in [
        "missing-field",
        "unknown-field",
        "wrong-type",
        "bad-enum",
        "bad-const",
        "bad-pattern",
        "bad-format",
        "too-long",
    ] {
        assert!(found.contains(&code), "{code} is among {found:?}");
    }
}

#[test]
fn a_record_follows_from_its_number() {
    let own = own(SCHEMAS.get(2).copied().unwrap_or_default(), &Mix::default()).unwrap();
    let (mut forth, mut back) = (own.cursor(), own.cursor());
    let record = |cursor: &mut OwnCursor<'_>, number| {
        let mut text = Vec::new();
        (cursor.write(number, &mut text), text)
    };
    let first: Vec<_> = (0..50).map(|number| record(&mut forth, number)).collect();
    let second: Vec<_> = (0..50).rev().map(|number| record(&mut back, number)).collect();
    assert!(first.iter().eq(second.iter().rev()));
}

#[test]
fn what_cannot_be_made_is_said() {
    let mix = Mix::default();
    for schema in [
        "false",
        r#"{"type":"string","minLength":9,"maxLength":2}"#,
        r#"{"allOf":[{"const":1},{"const":2}]}"#,
    ] {
        let error = own(schema, &mix).err().map(|error| error.to_string()).unwrap_or_default();
        assert!(error.starts_with("test.json: no document was found"), "{schema}: {error}");
    }
    let mix = Mix { faults: BTreeMap::from([("stale".to_owned(), 1.0)]), ..Mix::default() };
    let error = own(r#"{"type":"integer"}"#, &mix).err().map(|error| error.to_string()).unwrap_or_default();
    assert!(error.contains("`faults.stale`") && error.contains("wrong-type"), "{error}");
}
