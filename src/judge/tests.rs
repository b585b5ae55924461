//! A judge that remembers outlines and frames gives the verdicts of one that remembers nothing: reason, pointer and facts,
//! on the envelopes of the case files and on what becomes of them when bytes are changed.

use std::hash::{BuildHasher as _, RandomState};
use std::path::Path;

use serde_json::Value;

use super::{Input, Judge, NoWatch, Payload, Rules};
use crate::clock::Timestamp;
use crate::config::{Config, Profile};
use crate::formats::{Binding, Facts};
use crate::outline::Outlines;
use crate::verdict::Verdict;

/// So many envelopes of the case files are picked under each profile; `TOLLGATE_LONG` multiplies them.
const CASES: usize = 100;
/// Each comes so often as it is, so that its frame is learned, and so often changed.
const WARM: usize = 8;
const CHANGED: usize = 8;

/// A small generator; the seed comes from `TOLLGATE_SEED` or is random, and is printed.
struct Random(u64);

impl Random {
    fn seeded(test: &str) -> Self {
        let given = std::env::var("TOLLGATE_SEED").ok().and_then(|seed| seed.parse().ok());
        let seed = given.unwrap_or_else(|| RandomState::new().hash_one(test));
        println!("{test}: TOLLGATE_SEED={seed}");
        Self(seed)
    }

    fn below(&mut self, limit: usize) -> usize {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        ((self.0 >> 33) as usize) % limit
    }
}

/// An envelope of the case files, and how it is judged.
struct Case {
    envelope: Value,
    binding: Binding,
    now: Option<Timestamp>,
}

fn cases(rules: &Rules) -> Vec<Case> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/cases");
    let mut cases = Vec::new();
    for file in ["olympus", "agh", "agh-more", "alfred", "alfred-more", "humaninloop", "bluelabel", "more"] {
        let text = std::fs::read_to_string(folder.join(file).with_extension("jsonl")).unwrap();
        for line in text.lines() {
            let case: Value = serde_json::from_str(line).unwrap();
            let now = Timestamp::from_rfc3339(case["now"].as_str().unwrap_or("2026-03-03T12:00:00Z"));
            let binding = case["format"].as_str().and_then(|format| rules.binding(format));
            let envelope = case["envelope"].clone();
            if let (Some(binding), true) = (binding, envelope.is_object()) {
                cases.push(Case { envelope, binding, now });
            }
        }
    }
    cases
}

/// The envelope in one of several spellings of the same meaning.
fn spelled(envelope: &Value, style: usize) -> Vec<u8> {
    match style {
        0 => envelope.to_string(),
        1 => serde_json::to_string_pretty(envelope).unwrap(),
        2 => envelope.to_string().replace('/', "\\/").replace("-0", "\\u002d0"),
        _ => format!(" {}\n", envelope.to_string().replace("\":", "\" : ")),
    }
    .into_bytes()
}

fn change(random: &mut Random, bytes: &mut Vec<u8>) {
    let odd = b"\"\\{}[],: \n\x00\x1f\x7f\x80\xc3\xff0a1-.eutz";
    let byte = odd[random.below(odd.len())];
    if bytes.len() < 2 {
        bytes.push(byte);
        return;
    }
    let at = random.below(bytes.len());
    match random.below(8) {
        0 => drop(bytes.remove(at)),
        1 => bytes.insert(at, byte),
        2 => bytes.truncate(at.max(1)),
        3 => {
            let bits: &[&[u8]] =
                &[b"\\n", b"\\u0041", b"\\ud83d\\ude80", b"\\ud83d", b"\\u0000", b"\xc3\xa9", b"\\x"];
            let bits = bits[random.below(bits.len())];
            drop(bytes.splice(at..at, bits.iter().copied()));
        }
        4 => {
            let (end, to) = ((at + random.below(60)).min(bytes.len()), random.below(bytes.len()));
            let some = bytes[at..end].to_vec();
            drop(bytes.splice(to..to, some));
        }
        // A digit or a letter for another one keeps the frame, more often than not.
        _ => {
            let is_plain = |at: &usize| bytes[*at].is_ascii_alphanumeric();
            if let Some(at) = (at..bytes.len()).find(is_plain) {
                bytes[at] = b"0123456789abcdefEZ"[random.below(18)];
            }
        }
    }
}

/// Gives one number, boolean, null or string another value that an outline does not tell from it.
fn give_another_value(random: &mut Random, value: &mut Value) {
    match value {
        Value::Object(members) if !members.is_empty() => {
            let place = random.below(members.len());
            give_another_value(random, members.values_mut().nth(place).unwrap());
        }
        Value::Array(items) if !items.is_empty() => {
            let place = random.below(items.len());
            give_another_value(random, &mut items[place]);
        }
        Value::Object(_) | Value::Array(_) => {}
        Value::String(text) => {
            let others = ["", "0", "null", "2026-03-03T12:00:00Z", "sha256:", "\u{1f680}", "a/../b", "ä"];
            others[random.below(others.len())].clone_into(text);
        }
        Value::Null | Value::Bool(_) | Value::Number(_) => {
            let others =
                ["null", "true", "false", "0", "-1", "1.0", "1.5", "1e400", "9007199254740993", "300"];
            // What serde_json cannot hold stays as it is.
            if let Ok(other) = serde_json::from_str(others[random.below(others.len())]) {
                *value = other;
            }
        }
    }
}

struct Told {
    verdict: Verdict,
    pointer: Vec<u8>,
    facts: Option<Facts>,
}

fn told(judge: &mut Judge, rules: &Rules, case: &Case, bytes: &[u8]) -> Told {
    let input = Input { payload: Payload::Bytes(bytes), key: Some(b"key"), now: case.now };
    let mut pointer = Vec::new();
    let verdict = judge.judge(rules, case.binding, input, &mut pointer, &mut NoWatch);
    Told { verdict, pointer, facts: judge.facts().copied() }
}

/// How many records were judged, how many of them were accepted, and how many of those had been changed.
#[derive(Default)]
struct Tally {
    records: u64,
    accepted: u64,
    changed: u64,
}

/// Judges cases as they are and changed, by a judge that remembers and by one that does not.
fn compare(rules: &Rules, cases: &[Case], random: &mut Random, tally: &mut Tally) {
    let (mut warm, mut cold) = (Judge::new(rules), Judge::new(rules));
    warm.make_facts();
    cold.make_facts();
    for _ in 0..CASES {
        let case = &cases[random.below(cases.len())];
        let style = random.below(4);
        let original = spelled(&case.envelope, style);
        for number in 0..WARM + CHANGED {
            let mut bytes = original.clone();
            if number >= WARM && number % 2 == 0 {
                let mut envelope = case.envelope.clone();
                give_another_value(random, &mut envelope);
                bytes = spelled(&envelope, style);
            } else if number >= WARM {
                (0..=random.below(3)).for_each(|_| change(random, &mut bytes));
            }
            // A stranger each time.
            cold.outlines = Outlines::default();
            let found = told(&mut warm, rules, case, &bytes);
            let expected = told(&mut cold, rules, case, &bytes);
            let text = bytes.escape_ascii();
            assert_eq!(found.verdict, expected.verdict, "{text}");
            assert_eq!(found.pointer, expected.pointer, "{text}");
            assert_eq!(found.facts, expected.facts, "{text}");
            tally.records += 1;
            tally.accepted += u64::from(found.verdict.is_accept());
            tally.changed += u64::from(found.verdict.is_accept() && number >= WARM);
        }
    }
}

/// `TOLLGATE_LONG`, or once.
fn times() -> usize {
    std::env::var("TOLLGATE_LONG").ok().and_then(|times| times.parse().ok()).unwrap_or(1)
}

#[test]
fn what_is_remembered_changes_no_verdict() {
    let mut random = Random::seeded("what_is_remembered_changes_no_verdict");
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/cases/tollgate.toml");
    let mut config = Config::load(&path).unwrap();
    let mut tally = Tally::default();
    for round in 0..2 * times() {
        config.rules.profile = if round % 2 == 0 { Profile::Strict } else { Profile::Page };
        let rules = Rules::compile(&config).unwrap();
        let cases = cases(&rules);
        assert!(cases.len() > 100, "{}", cases.len());
        compare(&rules, &cases, &mut random, &mut tally);
    }
    let Tally { records, accepted, changed } = tally;
    println!("{records} records, {accepted} accepted, {changed} of them changed");
    assert!(accepted * 20 > records && changed > 0, "{accepted} {changed} of {records}");
}

/// A format of the user's own is told by a value, which an outline does not tell.
#[test]
fn what_is_remembered_changes_no_verdict_of_own_formats() {
    let mut random = Random::seeded("what_is_remembered_changes_no_verdict_of_own_formats");
    let examples = Path::new(env!("CARGO_MANIFEST_DIR")).join("configs/examples");
    let rules = Rules::compile(&Config::load(&examples.join("own-format.toml")).unwrap()).unwrap();
    let order: Value = serde_json::from_slice(&std::fs::read(examples.join("order.json")).unwrap()).unwrap();
    let with = |name: &str, value: Value| {
        let mut other = order.clone();
        other[name] = value;
        other
    };
    let envelopes = [
        order.clone(),
        with("kind", "say".into()),
        with("kind", "orders".into()),
        with("id", "ord-18".into()),
        with("persona", "artemis".into()),
        with("items", Value::Array(Vec::new())),
    ];
    let case = |envelope| Case { envelope, binding: Binding::Auto, now: None };
    let cases = envelopes.map(case);
    let mut tally = Tally::default();
    (0..times()).for_each(|_| compare(&rules, &cases, &mut random, &mut tally));
    let Tally { records, accepted, changed } = tally;
    println!("{records} records, {accepted} accepted, {changed} of them changed");
    assert!(accepted > 0, "{accepted} of {records}");
}
