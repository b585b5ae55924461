//! Makes a failing pair of schema and document small: parts are taken away as long as it still fails.
//!
//! Greedy and plain on purpose. It is run only when a test has already failed, so that its author reads three keywords
//! instead of three hundred.

use serde_json::Value;

/// How many candidates are tried at most; each costs a compilation.
const TRIES_MAX: usize = 20_000;

/// The smallest pair that this finds for which `fails` still holds.
pub(crate) fn minimal(
    mut schema: Value,
    mut document: Value,
    fails: &mut dyn FnMut(&Value, &Value) -> bool,
) -> (Value, Value) {
    let mut tries = 0;
    loop {
        let smaller = smaller_than(&schema).into_iter().find(|candidate| {
            tries += 1;
            tries < TRIES_MAX && fails(candidate, &document)
        });
        if let Some(candidate) = smaller {
            schema = candidate;
            continue;
        }
        let smaller = smaller_than(&document).into_iter().find(|candidate| {
            tries += 1;
            tries < TRIES_MAX && fails(&schema, candidate)
        });
        match smaller {
            Some(candidate) => document = candidate,
            None => return (schema, document),
        }
    }
}

/// All values that are one step smaller, the biggest steps first.
fn smaller_than(value: &Value) -> Vec<Value> {
    let mut smaller = Vec::new();
    match value {
        Value::Object(members) => {
            smaller.extend(members.values().cloned());
            for name in members.keys() {
                let mut without = members.clone();
                without.remove(name);
                smaller.push(without.into());
            }
            for (name, child) in members {
                for replacement in smaller_than(child) {
                    let mut with = members.clone();
                    with.insert(name.clone(), replacement);
                    smaller.push(with.into());
                }
            }
        }
        Value::Array(items) => {
            smaller.extend(items.iter().cloned());
            for at in 0..items.len() {
                let mut without = items.clone();
                without.remove(at);
                smaller.push(without.into());
            }
            for (at, child) in items.iter().enumerate() {
                for replacement in smaller_than(child) {
                    let mut with = items.clone();
                    with[at] = replacement;
                    smaller.push(with.into());
                }
            }
        }
        Value::String(text) if !text.is_empty() => smaller.push("".into()),
        Value::Number(number) if number.as_u64() != Some(0) => smaller.push(0.into()),
        _ => {}
    }
    let bytes = value.to_string().len();
    smaller.retain(|candidate| candidate.to_string().len() < bytes);
    smaller.sort_by_key(|candidate| candidate.to_string().len());
    smaller
}

#[test]
fn a_pair_shrinks_to_what_makes_it_fail() {
    let schema = serde_json::json!({
        "title": "x", "allOf": [{"minimum": 3}, {"properties": {"a": {"type": "string"}, "b": {}}}], "$defs": {"c": {}}
    });
    let document = serde_json::json!({"a": [1, 2, {"c": "text"}], "b": [true]});
    // Fails as long as somewhere `type` stands, and the document has a member `c`.
    let mut fails = |schema: &Value, document: &Value| {
        schema.to_string().contains(r#""type":"#) && document.to_string().contains(r#""c":"#)
    };
    let (schema, document) = minimal(schema, document, &mut fails);
    assert_eq!((schema.to_string(), document.to_string()), (r#"{"type":""}"#.into(), r#"{"c":""}"#.into()));
}
