//! Schemas of 64 KB whose parts multiply: compiling them takes at most a second in a release build.
//!
//! Times are printed; `cargo test --release --test program large_schemas -- --nocapture` shows them.

use crate::adversaries::{check, parts};

/// As many parts as fill `bytes`.
fn fill(bytes: usize, make: impl Fn(usize) -> String) -> String {
    let (mut text, mut number) = (String::new(), 0);
    loop {
        let part = make(number);
        if text.len() + part.len() + 1 > bytes {
            return text;
        }
        if number > 0 {
            text.push(',');
        }
        text.push_str(&part);
        number += 1;
    }
}

#[test]
fn many_branches() {
    for keyword in ["allOf", "anyOf", "oneOf"] {
        for branch in ["{}", "true", r#"{"type":"null"}"#, r#"{"const":1e400}"#, r#"{"not":{}}"#] {
            check(
                &format!("{keyword} of {branch}"),
                &format!(r#"{{"{keyword}":[{}]}}"#, fill(63_000, |_| branch.to_owned())),
                "1",
            );
        }
    }
    let prefix = fill(63_000, |_| "{}".to_owned());
    check("prefixItems", &format!(r#"{{"prefixItems":[{prefix}]}}"#), "[]");
}

#[test]
fn many_definitions_and_references() {
    let definitions = fill(63_000, |number| format!(r#""{number:x}":{{}}"#));
    check("definitions", &format!(r#"{{"$defs":{{{definitions}}}}}"#), "1");
    let chain = fill(63_000, |number| format!(r##""{number}":{{"$ref":"#/$defs/{}"}}"##, number + 1));
    let count = chain.matches("$ref").count();
    check("a chain", &format!(r##"{{"$ref":"#/$defs/0","$defs":{{{chain},"{count}":{{}}}}}}"##), "1");
    let references = fill(63_000, |_| r##"{"$ref":"#/$defs/a"}"##.to_owned());
    check("references", &format!(r#"{{"allOf":[{references}],"$defs":{{"a":{{}}}}}}"#), "1");
    let nested = fill(30_000, |number| format!(r##""{number}":{{"$ref":"#/x/a/{number}"}}"##));
    let parts = fill(30_000, |number| format!(r#""{number}":{{}}"#));
    check(
        "parts that no keyword holds",
        &format!(r#"{{"properties":{{{nested}}},"x":{{"a":{{{parts}}}}}}}"#),
        "1",
    );
}

#[test]
fn many_resources_and_anchors() {
    let resources = fill(63_000, |number| format!(r#"{{"$id":"a{number:x}"}}"#));
    check("resources", &format!(r#"{{"allOf":[{resources}]}}"#), "1");
    let resources = fill(31_000, |number| format!(r#"{{"$id":"a{number:x}"}}"#));
    let base = "x".repeat(31_000);
    check(
        "resources below a long name",
        &format!(r#"{{"$id":"http://x/{base}/","allOf":[{resources}]}}"#),
        "1",
    );
    let dynamic = fill(60_000, |number| {
        format!(r##"{{"$id":"a{number:x}","$dynamicAnchor":"n","items":{{"$dynamicRef":"#n"}}}}"##)
    });
    check("dynamic anchors", &format!(r#"{{"prefixItems":[{dynamic}]}}"#), "[[[1]]]");
    let dynamic = fill(60_000, |number| {
        format!(
            r#""{number:x}":{{"$id":"a{number:x}","$dynamicAnchor":"n","$dynamicRef":"b{number:x}#n","$defs":{{"b":{{"$id":"b{number:x}","$dynamicAnchor":"n"}}}}}}"#
        )
    });
    check("dynamic anchors in definitions", &format!(r#"{{"$defs":{{{dynamic}}}}}"#), "1");
    let drafts = fill(63_000, |number| {
        format!(r#"{{"$id":"a{number:x}","$schema":"http://json-schema.org/draft-07/schema"}}"#)
    });
    check("drafts", &format!(r#"{{"allOf":[{drafts}]}}"#), "1");
}

#[test]
fn long_names() {
    let name = "n".repeat(30_000);
    for (title, below) in [
        ("branches", format!(r#"{{"anyOf":[{}]}}"#, fill(32_000, |_| "{}".to_owned()))),
        ("types", format!(r#"{{"anyOf":[{}]}}"#, fill(32_000, |_| r#"{"type":"null"}"#.to_owned()))),
        ("numbers", format!(r#"{{"enum":[{}]}}"#, fill(32_000, |_| "1e400".to_owned()))),
        ("names", format!(r#"{{"required":[{}]}}"#, fill(32_000, |number| format!("\"{number:x}\"")))),
    ] {
        check(
            &format!("{title} below a long name"),
            &format!(r#"{{"properties":{{"{name}":{below}}}}}"#),
            "1",
        );
    }
    let mut deep = r#"{"type":"null"}"#.to_owned();
    for level in 0..60 {
        deep = format!(r#"{{"properties":{{"{}{level}":{deep}}}}}"#, "n".repeat(1000));
    }
    check("long names, deep", &deep, "1");
}

#[test]
fn many_numbers_and_literals() {
    let numbers = fill(63_000, |_| "1e400".to_owned());
    check("numbers", &format!(r#"{{"enum":[{numbers}]}}"#), "1");
    let numbers = fill(63_000, |number| format!(r#""{number:x}":1e999"#));
    check("numbers by name", &format!(r#"{{"const":{{{numbers}}}}}"#), "1");
    let bounds = fill(63_000, |_| r#"{"minimum":1e999}"#.to_owned());
    check("bounds", &format!(r#"{{"allOf":[{bounds}]}}"#), "1");
    let digits = "9".repeat(60_000);
    check("digits", &format!(r#"{{"const":{digits}.5}}"#), "1");
}

#[test]
fn many_names_and_patterns() {
    let names = fill(31_000, |number| format!(r#""{number:x}":{{}}"#));
    let patterns = fill(31_000, |number| format!(r#""a*{number:x}*":{{}}"#));
    check(
        "names and patterns",
        &format!(r#"{{"properties":{{{names}}},"patternProperties":{{{patterns}}}}}"#),
        "1",
    );
    let patterns = fill(63_000, |number| format!(r#"{{"pattern":"{number:x}"}}"#));
    check("patterns", &format!(r#"{{"allOf":[{patterns}]}}"#), "1");
    for part in [r"\\p{L}", r"\\W\\S", "(a|b|c)*d", r"[^a]{1,9}"] {
        let patterns = fill(63_000, |number| format!(r#"{{"pattern":"{part}{number:x}"}}"#));
        check(&format!("patterns of {part}"), &format!(r#"{{"allOf":[{patterns}]}}"#), "1");
    }
    let required = fill(63_000, |number| format!("\"{number:x}\""));
    check("required", &format!(r#"{{"required":[{required}]}}"#), "1");
    let dependent = fill(63_000, |number| format!(r#""{number:x}":["a"]"#));
    check("dependentRequired", &format!(r#"{{"dependentRequired":{{{dependent}}}}}"#), "1");
}

#[test]
fn deep_schemas() {
    for keyword in ["not", "items", "additionalProperties", "if", "contains", "unevaluatedItems"] {
        let deep = format!("{}{{}}{}", format!(r#"{{"{keyword}":"#).repeat(120), "}".repeat(120));
        let wide = parts(63_000 / (deep.len() + 1), |_| deep.clone());
        check(&format!("deep {keyword}"), &format!(r#"{{"allOf":[{wide}]}}"#), "1");
    }
}
