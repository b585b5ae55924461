//! Every single change of a valid envelope gets a verdict, by both paths alike: what keeps the meaning keeps the verdict,
//! and what changes signed bytes breaks the signature.

use std::fs;
use std::path::{Path, PathBuf};

use serde_json::{Map, Value, json};
use tollgate::clock::Timestamp;
use tollgate::config::{Config, Profile};
use tollgate::formats::Binding;
use tollgate::judge::{Input, Judge, NoWatch, Payload, Rules, explain};
use tollgate::verdict::{Reason, Verdict};

struct Bench {
    rules: Rules,
    judge: Judge,
}

impl Bench {
    fn new(profile: Profile) -> Self {
        let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/cases/tollgate.toml");
        let mut config = Config::load(&path).unwrap();
        config.rules.profile = profile;
        let rules = Rules::compile(&config).unwrap();
        let judge = Judge::new(&rules);
        Self { rules, judge }
    }

    /// The verdict, after both paths have agreed on it.
    fn verdict(&mut self, text: &str) -> Verdict {
        let now = Timestamp::from_rfc3339("2026-03-03T12:00:00Z");
        let input = Input { payload: Payload::Bytes(text.as_bytes()), key: None, now };
        let verdict = self.judge.judge(&self.rules, Binding::Auto, input, &mut Vec::new(), &mut NoWatch);
        let explained = explain(&mut self.judge, &self.rules, Binding::Auto, input);
        assert_eq!(explained.verdict, verdict, "{text}");
        assert_eq!(explained.findings.first().map(|finding| finding.reason), verdict.reason, "{text}");
        verdict
    }
}

fn valid_fixtures() -> Vec<(PathBuf, Value)> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures");
    let mut found = Vec::new();
    for format in fs::read_dir(root).unwrap() {
        for entry in fs::read_dir(format.unwrap().path().join("strict/valid")).into_iter().flatten() {
            let path = entry.unwrap().path();
            let envelope = serde_json::from_slice(&fs::read(&path).unwrap()).unwrap();
            found.push((path, envelope));
        }
    }
    assert!(found.len() >= 9, "{}", found.len());
    found
}

/// JSON pointers of every value below the top.
fn pointers(value: &Value, at: &str, out: &mut Vec<String>) {
    let children: Vec<(String, &Value)> = match value {
        Value::Object(members) => {
            members.iter().map(|(name, value)| (name.replace('~', "~0").replace('/', "~1"), value)).collect()
        }
        Value::Array(items) => items.iter().enumerate().map(|(n, value)| (n.to_string(), value)).collect(),
        _ => Vec::new(),
    };
    for (token, child) in children {
        let pointer = format!("{at}/{token}");
        out.push(pointer.clone());
        pointers(child, &pointer, out);
    }
}

/// The envelope with one value changed in each of several ways.
fn changed(envelope: &Value, pointer: &str) -> Vec<Value> {
    let old = envelope.pointer(pointer).unwrap().clone();
    let others = [
        json!(null),
        json!(7),
        json!(-1.5),
        json!(true),
        json!(""),
        json!("\u{e9}x"),
        json!([]),
        json!({}),
        json!([[1]]),
    ];
    let mut out: Vec<Value> = others
        .into_iter()
        .filter(|other| *other != old)
        .map(|other| {
            let mut changed = envelope.clone();
            *changed.pointer_mut(pointer).unwrap() = other;
            changed
        })
        .collect();
    let (parent, token) = pointer.rsplit_once('/').unwrap();
    let mut dropped = envelope.clone();
    match dropped.pointer_mut(parent).unwrap() {
        Value::Object(members) => drop(members.shift_remove(&token.replace("~1", "/").replace("~0", "~"))),
        Value::Array(items) => drop(items.remove(token.parse().unwrap())),
        _ => {}
    }
    out.push(dropped);
    if let Value::Object(members) = &old {
        let mut longer = members.clone();
        longer.insert("x_unknown".into(), json!(1));
        let mut extended = envelope.clone();
        *extended.pointer_mut(pointer).unwrap() = Value::Object(longer);
        out.push(extended);
    }
    out
}

fn reversed(value: &Value) -> Value {
    match value {
        Value::Object(members) => {
            let members: Map<_, _> =
                members.iter().rev().map(|(name, value)| (name.clone(), reversed(value))).collect();
            Value::Object(members)
        }
        Value::Array(items) => Value::Array(items.iter().map(reversed).collect()),
        other => other.clone(),
    }
}

/// The same value with every character of every text escaped.
fn respelled(value: &Value) -> String {
    let text = |text: &str| {
        let units: Vec<_> = text.encode_utf16().map(|unit| format!("\\u{unit:04X}")).collect();
        let units = units.concat();
        format!("\"{units}\"")
    };
    match value {
        Value::Object(members) => {
            let members: Vec<_> = members
                .iter()
                .map(|(name, value)| format!("{} :\n{}", text(name), respelled(value)))
                .collect();
            format!("{{ {} }}", members.join(" ,"))
        }
        Value::Array(items) => format!("[{}]", items.iter().map(respelled).collect::<Vec<_>>().join("\t,")),
        Value::String(value) => text(value),
        other => other.to_string(),
    }
}

#[test]
fn every_single_change_gets_a_verdict() {
    for profile in [Profile::Page, Profile::Strict, Profile::Lenient] {
        let mut bench = Bench::new(profile);
        for (path, envelope) in valid_fixtures() {
            let shown = path.display();
            let verdict = bench.verdict(&envelope.to_string());
            assert!(verdict.is_accept(), "{shown}: {:?} in {profile:?}", verdict.reason);
            for same in [reversed(&envelope).to_string(), respelled(&envelope), format!("{envelope:#}")] {
                assert_eq!(bench.verdict(&same).reason, None, "{shown}: {same}");
            }
            let mut places = Vec::new();
            pointers(&envelope, "", &mut places);
            for place in places {
                for other in changed(&envelope, &place) {
                    let verdict = bench.verdict(&other.to_string());
                    let signed =
                        place.starts_with("/protocol_message/payload") || place.ends_with("correlation_id");
                    if signed && envelope.pointer("/authentication/signature").is_some() {
                        assert!(!verdict.is_accept(), "{shown}: {place} is signed: {other}");
                    }
                }
            }
        }
    }
}

#[test]
fn a_member_that_stands_twice_is_found_at_every_place() {
    let mut bench = Bench::new(Profile::Page);
    for (path, envelope) in valid_fixtures() {
        let text = envelope.to_string();
        let Value::Object(_) = &envelope else { panic!("an envelope is an object") };
        // Each `"name":` inside the text, once more in front of itself.
        let names = text.match_indices("\":").map(|(end, _)| end);
        for end in names.collect::<Vec<_>>() {
            let start = text[..end].rfind('"').unwrap();
            if !text[..start].ends_with(['{', ',']) {
                continue;
            }
            let twice = format!("{}{}:0,{}", &text[..start], &text[start..=end], &text[start..]);
            assert_eq!(
                bench.verdict(&twice).reason,
                Some(Reason::DuplicateKey),
                "{}: {twice}",
                path.display()
            );
        }
    }
}
