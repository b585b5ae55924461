//! What the gate learns of accepted records: which are the same, how long that matters, what they do to work and requests,
//! and that nothing is found out in vain.

use std::fs;
use std::path::Path;

use serde_json::{Value, json};
use tollgate::clock::Timestamp;
use tollgate::config::{Config, Profile};
use tollgate::formats::{
    AghMessage, AlfredMessage, Asked, Exchange, Facts, Lifecycle, OlympusMessage, Sequences, WorkStep,
};
use tollgate::judge::{Input, Judge, NoWatch, Payload, Rules};
use tollgate::state::{Mode, Settings};

const NOW: i64 = 1_776_366_100;

struct Source {
    rules: Rules,
    judge: Judge,
    format: &'static str,
}

impl Source {
    fn new(format: &'static str, profile: Profile, settings: &str) -> Self {
        let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/cases/tollgate.toml");
        let text = fs::read_to_string(&file).unwrap();
        let mut config = Config::parse(&file.to_string_lossy(), &text, &|_| None).unwrap();
        config.merge("settings", &format!("[format.{format}]\n{settings}"), &|_| None).unwrap();
        config.rules.profile = profile;
        let rules = Rules::compile(&config).unwrap();
        let mut judge = Judge::new(&rules);
        judge.make_facts();
        Self { rules, judge, format }
    }

    /// The facts of an envelope that must be accepted.
    fn facts(&mut self, envelope: &Value, now: Timestamp) -> Facts {
        let payload = envelope.to_string();
        let input = Input { payload: Payload::Bytes(payload.as_bytes()), key: None, now: Some(now) };
        let binding = self.rules.binding(self.format).unwrap();
        let verdict = self.judge.judge(&self.rules, binding, input, &mut Vec::new(), &mut NoWatch);
        assert_eq!(verdict.reason, None, "{payload}");
        *self.judge.facts().unwrap()
    }
}

fn say() -> Value {
    json!({
        "protocol": "agh-network/v0", "id": "m1", "workspace_id": "w1", "kind": "say", "channel": "c",
        "surface": "thread", "thread_id": "t", "from": "a", "to": "b", "work_id": "work_1", "ts": NOW,
        "body": {"text": "x"},
    })
}

fn with(envelope: &Value, changes: &Value) -> Value {
    let mut envelope = envelope.clone();
    for (name, value) in changes.as_object().unwrap() {
        envelope[name] = value.clone();
    }
    envelope
}

#[test]
fn an_agh_message_is_its_workspace_sender_and_id() {
    let now = Timestamp::from_secs(NOW);
    let mut source = Source::new("agh", Profile::Strict, "");
    let first = source.facts(&say(), now);
    let same = source.facts(&with(&say(), &json!({"body": {"text": "other"}, "channel": "d"})), now);
    assert_eq!(first.identity, same.identity);
    assert_eq!(first.content, same.content, "the protocol knows repetitions, not conflicts");
    for other in [json!({"workspace_id": "w2"}), json!({"from": "b", "to": "a"}), json!({"id": "m2"})] {
        assert_ne!(source.facts(&with(&say(), &other), now).identity, first.identity, "{other}");
    }
    let mut by_id = Source::new("agh", Profile::Strict, "dedup_key = \"id\"");
    let first = by_id.facts(&say(), now);
    assert_eq!(
        by_id.facts(&with(&say(), &json!({"workspace_id": "w2", "from": "x"})), now).identity,
        first.identity
    );
    let mut trimming = Source::new("agh", Profile::Strict, "trim_identifiers = true");
    let first = trimming.facts(&say(), now);
    assert_eq!(trimming.facts(&with(&say(), &json!({"id": " m1 "})), now).identity, first.identity);
}

#[test]
fn an_agh_message_is_remembered_as_long_as_it_could_be_fresh() {
    let now = Timestamp::from_secs(NOW);
    let mut source = Source::new("agh", Profile::Strict, "max_replay_age_s = 100");
    assert_eq!(source.facts(&say(), now).keep_until, Timestamp::from_secs(NOW + 101));
    let expiring = with(&say(), &json!({"expires_at": NOW + 5000}));
    assert_eq!(source.facts(&expiring, now).keep_until, Timestamp::from_secs(NOW + 5000));
    let for_ever = with(&say(), &json!({"expires_at": i64::MAX}));
    let facts = source.facts(&for_ever, now);
    assert_eq!((facts.keep_until, facts.capped), (now.plus_secs(7 * 86_400), true), "no overflow");
}

#[test]
fn an_agh_message_says_what_it_does_to_its_work() {
    let now = Timestamp::from_secs(NOW);
    let mut source = Source::new("agh", Profile::Strict, "");
    let mut lifecycle = |changes: Value| source.facts(&with(&say(), &changes), now).lifecycle;
    let Lifecycle::Agh(AghMessage { work, container, from, to, step }) = lifecycle(json!({})) else {
        panic!("work is named")
    };
    assert_eq!(step, WorkStep::Talk);
    assert_ne!(Some(from), to);
    let parts = |lifecycle| match lifecycle {
        Lifecycle::Agh(AghMessage { work, container, from, to, .. }) => (work, container, from, to),
        other => panic!("{other:?}"),
    };
    assert_eq!(
        parts(lifecycle(json!({"id": "m2", "from": "b", "to": "a"}))),
        (work, container, to.unwrap(), Some(from))
    );
    assert_eq!(parts(lifecycle(json!({"to": null}))), (work, container, from, None));
    assert_ne!(parts(lifecycle(json!({"thread_id": "u"}))).1, container);
    assert_ne!(parts(lifecycle(json!({"channel": "d"}))).1, container);
    assert_ne!(parts(lifecycle(json!({"workspace_id": "w2"}))).0, work);
    assert_eq!(lifecycle(json!({"work_id": null})), Lifecycle::None);

    let mut step = |changes: Value| match lifecycle(changes) {
        Lifecycle::Agh(AghMessage { step, .. }) => step,
        other => panic!("{other:?}"),
    };
    for (state, expected) in [
        ("submitted", WorkStep::Submit),
        ("working", WorkStep::Work),
        ("needs_input", WorkStep::AskInput),
        ("completed", WorkStep::Complete),
        ("failed", WorkStep::Fail),
        (" canceled ", WorkStep::Cancel),
    ] {
        assert_eq!(step(json!({"kind": "trace", "body": {"state": state}})), expected);
    }
    for (status, expected) in [
        ("accepted", WorkStep::Note),
        ("duplicate", WorkStep::Note),
        ("expired", WorkStep::Note),
        ("unsupported", WorkStep::Note),
        ("rejected", WorkStep::Fail),
        ("canceled", WorkStep::Cancel),
    ] {
        let reason = if status == "accepted" { Value::Null } else { json!("busy") };
        let body = json!({"for_id": "m", "status": status, "reason_code": reason});
        assert_eq!(step(json!({"kind": "receipt", "body": body})), expected);
    }
}

/// An accepted case of alfred's case file.
fn alfred_case(name: &str) -> (Value, Timestamp) {
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/cases/alfred.jsonl");
    let text = fs::read_to_string(file).unwrap();
    let cases = text.lines().map(|line| serde_json::from_str::<Value>(line).unwrap());
    let case = cases.into_iter().find(|case| case["name"] == name).unwrap();
    (case["envelope"].clone(), Timestamp::from_rfc3339(case["now"].as_str().unwrap()).unwrap())
}

#[test]
fn an_alfred_message_is_its_id_in_any_letter_case_for_two_days() {
    let mut source = Source::new("alfred", Profile::Strict, "");
    let (mut envelope, now) = alfred_case("valid-event");
    let first = source.facts(&envelope, now);
    assert_eq!(first.keep_until, now.plus_secs(48 * 3600));
    assert_eq!(first.lifecycle, Lifecycle::None, "events are no part of an exchange");
    assert_eq!(source.facts(&envelope, now), first);
    let id = envelope["envelope"]["metadata"]["id"].as_str().unwrap().to_uppercase();
    envelope["envelope"]["metadata"]["id"] = json!(id);
    let upper = source.facts(&envelope, now);
    assert_eq!(upper.identity, first.identity);
    assert_ne!(upper.content, first.content);
}

#[test]
fn an_alfred_response_meets_its_request() {
    let mut source = Source::new("alfred", Profile::Strict, "");
    let (response, now) = alfred_case("valid-response");
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/cases/alfred.jsonl");
    let text = fs::read_to_string(file).unwrap();
    let line = text.lines().find(|line| line.contains("\"valid-response\"")).unwrap();
    let request = serde_json::from_str::<Value>(line).unwrap()["prior"][0].clone();
    let Lifecycle::Alfred(AlfredMessage {
        side,
        request: key,
        source: asker,
        destination: server,
        intent,
        trace,
        sent,
    }) = source.facts(&request, now).lifecycle
    else {
        panic!("a request is part of an exchange");
    };
    assert_eq!(side, Exchange::Request);
    let answer = source.facts(&response, now).lifecycle;
    let Lifecycle::Alfred(AlfredMessage { sent: answered, .. }) = answer else { panic!("so is a response") };
    assert!(sent < answered);
    let expected = Lifecycle::Alfred(AlfredMessage {
        side: Exchange::Response,
        request: key,
        source: server,
        destination: asker,
        intent,
        trace,
        sent: answered,
    });
    assert_eq!(answer, expected);

    // The token's tenant counts where the envelope names none, and a request without a correlation id is its own.
    let mut silent = request.clone();
    silent["envelope"]["security"].as_object_mut().unwrap().remove("tenant_id");
    let key_of = |lifecycle| match lifecycle {
        Lifecycle::Alfred(AlfredMessage { request, .. }) => request,
        other => panic!("{other:?}"),
    };
    assert_eq!(key_of(source.facts(&silent, now).lifecycle), key);
    let mut own = request.clone();
    let metadata = own["envelope"]["metadata"].as_object_mut().unwrap();
    metadata.insert("id".to_owned(), request["envelope"]["metadata"]["correlation_id"].clone());
    metadata.remove("correlation_id");
    assert_eq!(key_of(source.facts(&own, now).lifecycle), key);
}

#[test]
fn a_lenient_answer_may_carry_the_suffix_of_its_producer() {
    let mut source = Source::new("alfred", Profile::Lenient, "");
    let (answer, now) = alfred_case("sem-completed-suffix-intent");
    let mut plain = answer.clone();
    plain["message"]["intent"] = json!("TREND_ANALYSIS");
    assert_eq!(source.facts(&answer, now).lifecycle, source.facts(&plain, now).lifecycle);
}

/// The facts of every fixture that holds, by format.
fn facts_of_fixtures(sequences: Sequences) -> Vec<(String, Facts)> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests");
    let mut config = Config::load(&root.join("cases/tollgate.toml")).unwrap();
    config.rules.profile = Profile::Strict;
    let rules = Rules::compile(&config).unwrap();
    let now = Timestamp::from_rfc3339("2026-03-03T12:00:00Z");
    let mut judge = Judge::new(&rules);
    judge.make_facts_for(Asked { sequences, ..Asked::default() });
    let mut found = Vec::new();
    for format in ["olympus", "agh", "humaninloop-input", "humaninloop-output", "bluelabel"] {
        let folder = root.join("fixtures").join(format).join("strict/valid");
        let mut files: Vec<_> = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).collect();
        files.sort();
        for file in files {
            let payload = fs::read(&file).unwrap();
            let input = Input { payload: Payload::Bytes(&payload), key: Some(b"key"), now };
            judge.judge(&rules, rules.default_binding(), input, &mut Vec::new(), &mut NoWatch);
            found.extend(judge.facts().map(|facts| (format.to_owned(), *facts)));
        }
    }
    found
}

#[test]
fn sequences_that_nobody_looks_at_cost_no_facts_and_change_no_others() {
    let (all, few) = (facts_of_fixtures(Sequences::default()), facts_of_fixtures(Sequences::NONE));
    assert_eq!(all.len(), few.len());
    for format in ["olympus", "agh", "humaninloop-input", "humaninloop-output", "bluelabel"] {
        let has_lifecycle =
            |(of, facts): &(String, Facts)| of == format && facts.lifecycle != Lifecycle::None;
        assert!(all.iter().any(has_lifecycle), "{format}");
        assert!(!few.iter().any(has_lifecycle), "{format}");
    }
    let mut source = Source::new("alfred", Profile::Strict, "");
    let (response, now) = alfred_case("valid-response");
    let all_of_alfred = ("alfred".to_owned(), source.facts(&response, now));
    assert_ne!(all_of_alfred.1.lifecycle, Lifecycle::None);
    source.judge.make_facts_for(Asked { sequences: Sequences::NONE, ..Asked::default() });
    let few_of_alfred = ("alfred".to_owned(), source.facts(&response, now));
    let (all, few) = ([all, vec![all_of_alfred]].concat(), [few, vec![few_of_alfred]].concat());
    for ((format, all), (_, few)) in all.iter().zip(&few) {
        // A record that changes nothing does so whatever is looked at.
        let changes_nothing = all.lifecycle == Lifecycle::Ignored;
        let lifecycle = if changes_nothing { all.lifecycle } else { Lifecycle::None };
        assert_eq!(Facts { lifecycle, ..*all }, *few, "{format}");
    }
}

/// What a family asks for is the same whatever else is asked.
#[test]
fn each_family_of_olympus_asks_for_its_own() {
    let messages = |sequences| -> Vec<OlympusMessage> {
        let facts = facts_of_fixtures(sequences).into_iter();
        let messages = facts.filter_map(|(_, facts)| match facts.lifecycle {
            Lifecycle::Olympus(message) => Some(message),
            _ => None,
        });
        messages.collect()
    };
    let all = messages(Sequences::ALL);
    assert!(all.iter().any(|message| message.mac.is_some()));
    assert!(all.iter().all(|message| message.lineage.is_some() && message.work != [0; 16]));
    let without = |message: &OlympusMessage, sequences: Sequences| OlympusMessage {
        work: if sequences.olympus_parents || sequences.olympus_sequence { message.work } else { [0; 16] },
        lineage: message.lineage.filter(|_| sequences.olympus_parents),
        mac: message.mac.filter(|_| sequences.olympus_mac),
        ..*message
    };
    for sequences in [
        Sequences { olympus_parents: true, ..Sequences::NONE },
        Sequences { olympus_sequence: true, ..Sequences::NONE },
        Sequences { olympus_mac: true, ..Sequences::NONE },
        Sequences { olympus_parents: false, ..Sequences::ALL },
    ] {
        let expected: Vec<_> = all.iter().map(|message| without(message, sequences)).collect();
        assert_eq!(messages(sequences), expected, "{sequences:?}");
    }
}

#[test]
fn a_profile_looks_at_the_sequences_that_it_has_rules_for() {
    let mut config = Config::default();
    let mut of = |profile| {
        config.rules.profile = profile;
        Settings::of(&config).sequences()
    };
    assert_eq!(of(Profile::Strict), Sequences::default());
    // Of olympus, every profile guards signatures of scheme v1.
    let guarded = Sequences { olympus_mac: true, ..Sequences::NONE };
    assert_eq!(of(Profile::Page), Sequences { agh: true, ..guarded });
    assert_eq!(of(Profile::Lenient), Sequences { agh: true, olympus_parents: true, ..guarded });
    config.rules.profile = Profile::Page;
    config.format.olympus.v1_mac_replay_guard = tollgate::config::ReplayGuard::Off;
    config.format.agh.lifecycle = tollgate::config::Enforcement::Off;
    assert_eq!(Settings::of(&config).sequences(), Sequences::NONE);
    let settings = Settings { bluelabel_retries: Mode::Warn, ..Settings::of(&config) };
    assert!(settings.sequences().bluelabel, "what only warns is looked at");
}
