//! What the gate learns of accepted records of olympus, humaninloop, bluelabel and the user's formats: which are the same,
//! and how long that matters.

use std::fs;
use std::path::Path;

use serde_json::{Value, json};
use tollgate::clock::Timestamp;
use tollgate::config::{Config, Profile};
use tollgate::credentials::digest::content_tag;
use tollgate::credentials::keys::{Encoding, KeyRing, Secret};
use tollgate::credentials::mac::{Olympus, OlympusKeys, OlympusScheme, sign_olympus};
use tollgate::credentials::{Scratch, canonical};
use tollgate::formats::{Binding, Facts, Headers, Lifecycle};
use tollgate::judge::{Input, Judge, NoWatch, Payload, Rules};
use tollgate::tape::{NodeIndex, Parser};

struct Bench {
    rules: Rules,
    judge: Judge,
}

impl Bench {
    fn new(profile: Profile) -> Self {
        Self::of(&Self::config(profile))
    }

    fn config(profile: Profile) -> Config {
        let root = Path::new(env!("CARGO_MANIFEST_DIR"));
        let mut config = Config::load(&root.join("tests/cases/tollgate.toml")).unwrap();
        let own = "[format.orders]\nschema = \"schemas/order.json\"\nid = \"/id\"\ntimestamp = \"/sent_at\"\n\
                   detect = { member = \"kind\", equals = \"order\" }\nmax_age_s = 90\ndedup_keep_s = 60\n";
        let examples = root.join("configs/examples/none.toml");
        config.merge(examples.to_str().unwrap(), own, &|_| None).unwrap();
        config.rules.profile = profile;
        config
    }

    fn of(config: &Config) -> Self {
        let rules = Rules::compile(config).unwrap();
        let mut judge = Judge::new(&rules);
        judge.make_facts();
        Self { rules, judge }
    }

    fn facts(&mut self, envelope: &Value, key: &[u8], now: &str) -> Facts {
        self.facts_of(&envelope.to_string(), key, now)
    }

    fn facts_of(&mut self, payload: &str, key: &[u8], now: &str) -> Facts {
        let now = Timestamp::from_rfc3339(now);
        let input = Input { payload: Payload::Bytes(payload.as_bytes()), key: Some(key), now };
        let verdict = self.judge.judge(&self.rules, Binding::Auto, input, &mut Vec::new(), &mut NoWatch);
        assert_eq!(verdict.reason, None, "{payload}");
        *self.judge.facts().unwrap()
    }
}

fn fixture(path: &str) -> Value {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures");
    serde_json::from_slice(&fs::read(root.join(path)).unwrap()).unwrap()
}

fn with(envelope: &Value, pointer: &str, value: Value) -> Value {
    let mut changed = envelope.clone();
    *changed.pointer_mut(pointer).unwrap() = value;
    changed
}

fn at(text: &str) -> Timestamp {
    Timestamp::from_rfc3339(text).unwrap()
}

const NOON: &str = "2026-03-03T12:00:00Z";

#[test]
fn olympus_is_told_by_its_message_id() {
    let mut bench = Bench::new(Profile::Strict);
    let envelope = fixture("olympus/strict/valid/signed-with-plan.json");
    let first = bench.facts(&envelope, b"", NOON);
    assert!(first.identity.is_some());
    assert_eq!(bench.facts(&envelope, b"other key", NOON), first);
    assert_eq!(first.keep_until, at("2026-03-04T12:00:00Z"));
    // Scheme v1 does not sign the parent: the same id with other content.
    let parent = "msg-00000001-1111-4222-8333-000000000001";
    let other = bench.facts(&with(&envelope, "/authentication/parent_message_id", json!(parent)), b"", NOON);
    assert_eq!(other.identity, first.identity);
    assert_ne!(other.content, first.content);
    let (Lifecycle::Olympus(message), Lifecycle::Olympus(under_parent)) = (first.lifecycle, other.lifecycle)
    else {
        panic!("{first:?}");
    };
    let (lineage, under_parent) = (message.lineage.unwrap(), under_parent.lineage.unwrap());
    assert!(lineage.parent.is_none() && under_parent.parent.is_some());
    assert!(message.mac.is_some() && message.work != lineage.message);
    let id = with(&envelope, "/envelope/message_id", json!("msg-00000002-1111-4222-8333-000000000002"));
    let copy = bench.facts(&id, b"", NOON);
    assert_ne!(copy.identity, first.identity);
    let Lifecycle::Olympus(copied) = copy.lifecycle else { panic!("{copy:?}") };
    assert_eq!(copied.mac, message.mac, "a captured message under another id has the same MAC");
    // A timestamp ahead of the clock keeps the id longer: as long as a copy could be fresh.
    let ahead =
        bench.facts(&with(&envelope, "/envelope/timestamp", json!("2026-03-03T12:05:00Z")), b"", NOON);
    assert_eq!(ahead.keep_until, at("2026-03-04T12:05:00Z"));
}

/// An Olympus envelope signed by scheme v2, which covers all of it.
fn signed(mut envelope: Value) -> Value {
    let text = envelope.to_string();
    let key = "000102030405060708090a0b0c0d0e0f101112131415161718191a1b1c1d1e1f";
    let secret = Secret::from_text(key, Encoding::Hex, "test").unwrap();
    let keys = OlympusKeys { masters: KeyRing::of(secret), ..OlympusKeys::default() };
    let signature = Parser::new(64).parse(text.as_bytes(), |tape| {
        let tape = tape.unwrap();
        let node = |name: &str, under: NodeIndex| canonical::member(tape, under, name).unwrap();
        let texts = |pointer: &str| envelope.pointer(pointer).and_then(Value::as_str).unwrap();
        let parts = Olympus {
            session_id: texts("/envelope/session_id"),
            persona: texts("/authentication/sender_persona"),
            correlation_id: texts("/envelope/correlation_id"),
            source_agent: texts("/envelope/source_agent"),
            target_agent: texts("/envelope/target_agent"),
            message_type: texts("/protocol_message/message_type"),
            payload: node("payload", node("protocol_message", NodeIndex(0))),
            signature: Some(node("signature", node("authentication", NodeIndex(0)))),
        };
        let scratch = &mut Scratch::default();
        sign_olympus(OlympusScheme::V2, &keys, tape, text.as_bytes(), &parts, at(NOON), scratch).unwrap()
    });
    envelope["authentication"]["signature"] = signature.into();
    envelope
}

#[test]
fn copies_and_conflicts_are_told_apart_whether_or_not_a_signature_covers_the_envelope() {
    let envelope = signed(fixture("olympus/strict/valid/signed-with-plan.json"));
    let changed = signed(with(&envelope, "/protocol_message/payload/task", json!("another")));
    let (text, spelled) = (envelope.to_string(), serde_json::to_string_pretty(&envelope).unwrap());
    let mac = envelope.pointer("/authentication/signature").and_then(Value::as_str).unwrap();
    let mac: Vec<u8> =
        (3..67).step_by(2).map(|at| u8::from_str_radix(&mac[at..at + 2], 16).unwrap()).collect();
    let mac: [u8; 32] = mac.try_into().unwrap();
    let mut without_keys = Config::default();
    without_keys.rules.profile = Profile::Page;
    let configs = [(Bench::config(Profile::Strict), Some(&mac)), (without_keys, None)];
    for (config, mac) in configs {
        // Two workers of one configuration agree, and each with itself.
        for mut bench in [Bench::of(&config), Bench::of(&config)] {
            let first = bench.facts_of(&text, b"", NOON);
            assert_eq!(first.content, content_tag(text.as_bytes(), mac));
            assert_eq!(bench.facts_of(&text, b"", NOON), first, "a copy");
            let again = bench.facts_of(&spelled, b"", NOON);
            assert_eq!(again.identity, first.identity);
            assert_ne!(again.content, first.content, "the same in another spelling");
            let other = bench.facts(&changed, b"", NOON);
            assert_eq!(other.identity, first.identity);
            assert_ne!(other.content, first.content, "another content");
        }
    }
}

#[test]
fn humaninloop_is_told_by_content_under_its_key() {
    let mut bench = Bench::new(Profile::Strict);
    let input = fixture("humaninloop-input/strict/valid/validate.json");
    let first = bench.facts(&input, b"run-1", NOON);
    assert_eq!(
        bench.facts(&with(&input, "/context/iteration", json!(1.0)), b"run-1", NOON),
        first,
        "1 is 1.0"
    );
    assert_ne!(
        bench.facts(&with(&input, "/context/iteration", json!(2)), b"run-1", NOON).identity,
        first.identity
    );
    assert_ne!(bench.facts(&input, b"run-2", NOON).identity, first.identity);
    assert_eq!(first.keep_until, at("2026-03-04T12:00:00Z"));
    let output = fixture("humaninloop-output/strict/valid/failed-and-retries.json");
    assert_eq!(bench.facts(&output, b"run-1", NOON).keep_until, at("2026-03-03T12:10:00Z"));
}

#[test]
fn a_retry_of_bluelabel_is_the_same_message_with_a_count() {
    let mut bench = Bench::new(Profile::Strict);
    let mut envelope = fixture("bluelabel/strict/valid/result.json");
    let logical = |facts: Facts| match facts.lifecycle {
        Lifecycle::Bluelabel { logical, retry_count } => (logical, retry_count),
        other => panic!("{other:?}"),
    };
    let first = bench.facts(&envelope, b"", NOON);
    assert_eq!(logical(first).1, 0, "absent is 0");
    envelope["retry_count"] = json!(2);
    envelope["timestamp"] = json!("2026-03-03T12:01:00Z");
    let retry = bench.facts(&envelope, b"", NOON);
    assert_ne!(retry.identity, first.identity);
    assert_eq!(logical(retry), (logical(first).0, 2));
    envelope["task_id"] = json!("OTHER");
    assert_ne!(logical(bench.facts(&envelope, b"", NOON)).0, logical(first).0);
}

#[test]
fn the_users_formats_are_told_by_their_id() {
    let mut bench = Bench::new(Profile::Page);
    let order = json!({
        "kind": "order", "id": "ord-1", "sent_at": NOON, "items": [{"article": "a", "count": 1}], "signature": "",
    });
    let first = bench.facts(&order, b"", NOON);
    let other = bench.facts(&with(&order, "/items/0/count", json!(2)), b"", NOON);
    assert_eq!(other.identity, first.identity);
    assert_ne!(other.content, first.content);
    assert_ne!(bench.facts(&with(&order, "/id", json!("ord-2")), b"", NOON).identity, first.identity);
    assert_eq!(
        first.keep_until,
        at("2026-03-03T12:01:30Z"),
        "a copy is fresh for longer than ids are kept at least"
    );
}

/// Headers as a list, as a broker hands them over.
struct List(&'static [(&'static str, &'static [u8])]);

impl Headers for List {
    fn each(&self, name: &str, then: &mut dyn FnMut(&[u8])) {
        self.0.iter().filter(|(found, _)| *found == name).for_each(|(_, value)| then(value));
    }
}

#[test]
fn humaninloop_is_told_by_a_header_where_headers_are_trusted() {
    let envelope = fixture("humaninloop-input/valid/scaffold.json").to_string();
    let identity = |config: &str, headers: &'static [(&'static str, &'static [u8])], key: &[u8]| {
        let rules = Rules::compile(&Config::parse("test", config, &|_| None).unwrap()).unwrap();
        let mut judge = Judge::new(&rules);
        judge.make_facts();
        let input = Input { payload: Payload::Bytes(envelope.as_bytes()), key: Some(key), now: None };
        let headers = List(headers);
        let (mut pointer, headers) = (Vec::new(), Some(&headers as &dyn Headers));
        let verdict =
            judge.judge_with_headers(&rules, Binding::Auto, input, headers, &mut pointer, &mut NoWatch);
        assert_eq!(verdict.reason, None);
        judge.facts().unwrap().identity
    };
    let trusting = "[format.humaninloop]\ntrust_id_headers = true\n";
    let one = identity(trusting, &[("message-id", b"1")], b"a");
    assert_eq!(identity(trusting, &[("ce_id", b"2"), ("message-id", b"1")], b"b"), one, "whatever the key");
    assert_ne!(identity(trusting, &[("message-id", b"2")], b"a"), one);
    assert_eq!(identity(trusting, &[("ce_id", b"1")], b"a"), one);
    // Without a header, with an empty one, or where they are not trusted, the content tells.
    let by_content = identity(trusting, &[("other", b"1")], b"a");
    assert_ne!(by_content, one);
    assert_eq!(identity(trusting, &[("message-id", b"")], b"a"), by_content);
    assert_eq!(identity("", &[("message-id", b"1")], b"a"), by_content);
}
