//! One change at a time to the accepted cases of agh and alfred: a verdict for each, the same from both paths and in any
//! order of members; changes that keep the meaning keep the verdict.

use std::fs;
use std::path::Path;

use serde_json::{Map, Value, json};
use tollgate::clock::Timestamp;
use tollgate::config::{Config, Profile};
use tollgate::judge::{Input, Judge, NoWatch, Payload, Rules, explain};
use tollgate::verdict::{Reason, Verdict};

/// An envelope that holds in the profile strict, at its time.
struct Valid {
    format: String,
    name: String,
    envelope: Value,
    now: Option<Timestamp>,
}

/// The accepted cases that need no settings of their own and nothing before them.
fn valid() -> Vec<Valid> {
    let directory = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/cases");
    let mut found = Vec::new();
    for file in ["agh", "alfred"] {
        let text = fs::read_to_string(directory.join(format!("{file}.jsonl"))).unwrap();
        for line in text.lines() {
            let case: Value = serde_json::from_str(line).unwrap();
            let plain = case["config"].is_null() && case["prior"].is_null() && case["layer"] != "state";
            if case["expect"] == "accept" && case["envelope"].is_object() && plain {
                let now = match &case["now"] {
                    Value::String(text) => Timestamp::from_rfc3339(text),
                    number => number.as_i64().map(Timestamp::from_secs),
                };
                let text = |member: &str| case[member].as_str().unwrap().to_owned();
                let envelope = case["envelope"].clone();
                found.push(Valid { format: text("format"), name: text("name"), envelope, now });
            }
        }
    }
    assert!(found.len() > 40, "the cases are there: {}", found.len());
    found
}

struct Court {
    rules: Rules,
    judge: Judge,
}

impl Court {
    fn new() -> Self {
        let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/cases/tollgate.toml");
        let text = fs::read_to_string(&file).unwrap();
        let mut config = Config::parse(&file.to_string_lossy(), &text, &|_| None).unwrap();
        config.rules.profile = Profile::Strict;
        let rules = Rules::compile(&config).unwrap();
        Self { judge: Judge::new(&rules), rules }
    }

    /// The verdict of the fast path, which must be that of the explaining path.
    fn judge(&mut self, valid: &Valid, text: &str) -> Verdict {
        let input = Input { payload: Payload::Bytes(text.as_bytes()), key: None, now: valid.now };
        let binding = self.rules.binding(&valid.format).unwrap();
        let verdict = self.judge.judge(&self.rules, binding, input, &mut Vec::new(), &mut NoWatch);
        let explained = explain(&mut self.judge, &self.rules, binding, input);
        assert_eq!(explained.verdict, verdict, "{}: {text}", valid.name);
        let first = explained.findings.first().map(|finding| finding.reason);
        assert_eq!(first, verdict.reason, "{}: {text}", valid.name);
        verdict
    }
}

/// The JSON pointers of all members, at every depth.
fn members(value: &Value, at: &str, found: &mut Vec<String>) {
    if let Value::Object(object) = value {
        for (name, value) in object {
            let at = format!("{at}/{name}");
            members(value, &at, found);
            found.push(at);
        }
    }
}

fn parent<'v>(envelope: &'v mut Value, pointer: &str) -> (&'v mut Map<String, Value>, String) {
    let (at, name) = pointer.rsplit_once('/').unwrap();
    (envelope.pointer_mut(at).unwrap().as_object_mut().unwrap(), name.to_owned())
}

/// The same document with the members of every object the other way round.
fn reversed(value: &Value) -> Value {
    match value {
        Value::Object(object) => {
            object.iter().rev().map(|(name, value)| (name.clone(), reversed(value))).collect()
        }
        Value::Array(items) => items.iter().map(reversed).collect(),
        other => other.clone(),
    }
}

/// The same document with every letter of its texts escaped.
fn respelled(text: &str) -> String {
    let mut out = String::new();
    let (mut inside, mut escaped) = (false, false);
    for c in text.chars() {
        match c {
            _ if escaped => {
                escaped = false;
                out.push(c);
            }
            '\\' => {
                escaped = true;
                out.push(c);
            }
            '"' => {
                inside = !inside;
                out.push(c);
            }
            c if inside && c.is_ascii_lowercase() => out.push_str(&format!("\\u{:04X}", c as u32)),
            c => out.push(c),
        }
    }
    out
}

#[test]
fn what_keeps_the_meaning_keeps_the_verdict() {
    let mut court = Court::new();
    for valid in valid() {
        let text = valid.envelope.to_string();
        let pretty = serde_json::to_string_pretty(&valid.envelope).unwrap();
        // A `\u` escape holds letters of its own; only texts without any are spelled anew.
        let respelled = if text.contains("\\u") { text.clone() } else { respelled(&text) };
        for same in [text.clone(), reversed(&valid.envelope).to_string(), pretty, respelled] {
            let verdict = court.judge(&valid, &same);
            assert_eq!(verdict.reason, None, "{}: {same}", valid.name);
        }
    }
}

#[test]
fn every_change_of_one_member_gets_one_verdict_in_any_order_of_members() {
    let mut court = Court::new();
    let mut rejected = 0;
    for valid in valid() {
        let mut pointers = Vec::new();
        members(&valid.envelope, "", &mut pointers);
        for pointer in pointers {
            let replacements = [
                None,
                Some(Value::Null),
                Some(json!(7)),
                Some(json!("~ \n")),
                Some(json!([])),
                Some(json!({})),
            ];
            for replacement in replacements {
                let mut changed = valid.envelope.clone();
                let (object, name) = parent(&mut changed, &pointer);
                match replacement {
                    None => object.shift_remove(&name),
                    Some(value) => object.insert(name, value),
                };
                let verdict = court.judge(&valid, &changed.to_string());
                let backwards = court.judge(&valid, &reversed(&changed).to_string());
                assert_eq!(backwards.reason, verdict.reason, "{}: {changed}", valid.name);
                rejected += u32::from(verdict.reason.is_some());
            }
        }
    }
    assert!(rejected > 1000, "most changes matter: {rejected}");
}

#[test]
fn a_member_that_stands_twice_is_refused_at_every_depth() {
    let mut court = Court::new();
    for valid in valid() {
        let mut pointers = vec![String::new()];
        members(&valid.envelope, "", &mut pointers);
        for pointer in pointers {
            if !valid.envelope.pointer(&pointer).unwrap().is_object() {
                continue;
            }
            let mut changed = valid.envelope.clone();
            let object = changed.pointer_mut(&pointer).unwrap().as_object_mut().unwrap();
            object.insert("twice-1".to_owned(), json!(1));
            object.insert("twice-2".to_owned(), json!(2));
            let text = changed.to_string().replace("twice-1", "twice").replace("twice-2", "tw\\u0069ce");
            let verdict = court.judge(&valid, &text);
            assert_eq!(verdict.reason, Some(Reason::DuplicateKey), "{}: {text}", valid.name);
        }
    }
}

/// Every member of a signed envelope is among the signed bytes.
#[test]
fn whatever_changes_in_a_signed_envelope_breaks_the_signature_or_an_earlier_rule() {
    let mut court = Court::new();
    let signed: Vec<_> = valid().into_iter().filter(|valid| valid.name == "valid-signature").collect();
    assert_eq!(signed.len(), 1);
    for valid in signed {
        let mut pointers = vec![String::new()];
        members(&valid.envelope, "", &mut pointers);
        for pointer in pointers {
            let Some(object) = valid.envelope.pointer(&pointer).filter(|value| value.is_object()) else {
                continue;
            };
            let mut changed = valid.envelope.clone();
            let mut object = object.clone();
            object["unknown"] = json!("more");
            *changed.pointer_mut(&pointer).unwrap() = object;
            let verdict = court.judge(&valid, &changed.to_string());
            assert_eq!(verdict.reason, Some(Reason::BadSignature), "{changed}");
        }
    }
}
