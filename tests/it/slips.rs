//! Slips of the pen, as a user sees them: in configurations, in case files, in names of files; and what `check` tells of
//! every finding.

use std::fs;

use serde_json::{Value, json};

use super::cli::{TempDir, run};

/// The one message of a failure, without the program's name.
fn message(err: &str) -> &str {
    assert_eq!(err.lines().count(), 1, "one message: {err}");
    err.trim().strip_prefix("tollgate: ").unwrap_or(err)
}

/// Every verb that reads the configuration names file, key, what was found and what is allowed.
#[test]
fn slips_in_a_configuration_are_named_with_their_file() {
    let dir = TempDir::new("slips");
    let case = dir.write("case.jsonl", r#"{"format":"bluelabel","name":"a","expect":"reject","raw":"{}"}"#);
    let envelope = dir.write("in.json", "{}");
    for (text, parts) in [
        (
            "[format.humaninloop]\nmax_iteration = { specfy = 3 }\n",
            ["`format.humaninloop.max_iteration`: found `specfy`", "did you mean `specify`?"],
        ),
        (
            "[format.olympus.tasks]\nt = { persona = \"kuder\", session_id = \"s\" }\n",
            ["`format.olympus.tasks.\"t\".persona`: found `kuder`", "did you mean `coder`?"],
        ),
        (
            "[format.agh]\nlocal_peers = [\"A B\"]\n",
            ["`format.agh.local_peers`: found \"A B\"", "1 to 128 of a–z"],
        ),
        (
            "[format.agh]\nlocal_peers = [{ peer_id = \"a\", channel = \"C\" }]\n",
            ["`format.agh.local_peers`: found \"C\"", "did you mean `c`?"],
        ),
        (
            "[format.olympus.sessions]\ns = [\"1\", \"2\", \"3\", \"4\", \"5\", \"6\", \"7\", \"8\", \"9\"]\n",
            ["`format.olympus.sessions.\"s\"`: found 9 keys", "up to 8 keys"],
        ),
        (
            "[format.olympus]\nattachment_root = \"nowhere\"\n",
            ["`format.olympus.attachment_root`: found", "allowed: a directory"],
        ),
        (
            "[format.olympus]\nrules_off = [\"tasks\"]\n",
            ["`format.olympus.rules_off`: found `tasks`", "did you mean `task`?"],
        ),
        (
            "[format.olympus.persona_aliases]\nx = \"kuder\"\n",
            ["`format.olympus.persona_aliases.\"x\"`: found `kuder`", "did you mean `coder`?"],
        ),
        (
            "[[format.alfred.jwks.keys]]\nkty = \"RSA\"\nkid = \"k\"\nn = \"abcd\"\ne = \"AQAB\"\n",
            ["`format.alfred.jwks.keys[kid = \"k\"].n`: found 24 bits", "allowed: 2048 to 8192 bits"],
        ),
        (
            "[topic_formats]\nt = \"olympos\"\n",
            ["`topic_formats.\"t\"`: found `olympos`", "did you mean `olympus`?"],
        ),
    ] {
        let file = dir.write("t.toml", text);
        let [file, case, envelope] = [&file, &case, &envelope].map(|path| path.to_str().unwrap());
        for args in [
            &["config", "--config", file][..],
            &["test", "--config", file, case],
            &["check", "--config", file, envelope],
            &["check", "--format", "agh", "--config", file, envelope],
        ] {
            let (code, _, err) = run(args);
            assert_eq!(code, 2, "{args:?}: {err}");
            let told = message(&err);
            assert!(told.starts_with(file), "{args:?}: {told}");
            assert!(parts.iter().all(|part| told.contains(part)), "{args:?}: {told}");
            assert_eq!(told.matches("allowed:").count(), 1, "{told}");
        }
    }
    let (code, _, err) = run(&["check", "--format", "agg", envelope.to_str().unwrap()]);
    assert_eq!(code, 2);
    assert!(err.contains("--format: found `agg`") && err.contains("did you mean `agh`?"), "{err}");
}

/// A persona under another name that the configuration knows is none; neither are the reference's underscores.
#[test]
fn tasks_may_name_personas_as_their_registry_does() {
    let dir = TempDir::new("personas");
    let text = "[format.olympus]\npersona_aliases = { \"test-writer\" = \"tdd-tester\" }\n[format.olympus.tasks]\n\
                a = { persona = \"test_writer\", session_id = \"s\" }\nb = { persona = \"tech_lead\", session_id = \"s\" }\n";
    let (code, _, err) = run(&["config", "--config", dir.write("t.toml", text).to_str().unwrap()]);
    assert_eq!(code, 0, "{err}");
}

#[test]
fn a_missing_file_is_one_mistake_for_every_verb() {
    for args in [
        &["check", "/no/such.json"][..],
        &["sign", "agh-capability", "/no/such.json"],
        &["test", "/no/such.json"],
    ] {
        let (code, out, err) = run(args);
        assert_eq!((code, out.as_str()), (3, ""), "{args:?}: {err}");
        assert!(message(&err).starts_with("/no/such.json: cannot be opened for reading"), "{args:?}: {err}");
        assert_eq!(err.matches("No such file").count(), 1, "{err}");
    }
}

#[test]
fn slips_in_a_case_file_are_errors() {
    let dir = TempDir::new("case-slips");
    for (text, part) in [
        ("", "found no case"),
        ("\n \n", "found no case"),
        (r#"[{"format":"agh"}]"#, ":1: found an array, allowed: one JSON object on each line"),
        (
            r#"{"format":"bluelabel","name":"a","expect":"maybe","raw":"{}"}"#,
            r#":1: expect: found "maybe", allowed: accept, reject"#,
        ),
        (
            r#"{"format":"bluelabel","name":"a","expect":"reject","lenient":"acept","raw":"{}"}"#,
            r#"lenient: found "acept""#,
        ),
        (r#"{"format":"auto","name":"a","expect":"olympos","raw":"{}"}"#, "expect: found \"olympos\""),
        (r#"{"format":"bluelabel","name":"a","raw":"{}"}"#, "expect: found nothing"),
        (
            r#"{"format":"bluelabel","name":"a","expect":"reject","resaon":"x","raw":"{}"}"#,
            "unknown field `resaon`",
        ),
        (
            r#"{"format":"agh","name":"a","steps":[{"envelope":{},"expect":"ignored"}]}"#,
            "steps[0].expect: found \"ignored\", allowed: accept, reject, ignore",
        ),
    ] {
        let file = dir.write("c.jsonl", text);
        let (code, out, err) = run(&["test", file.to_str().unwrap()]);
        assert_eq!((code, out.as_str()), (2, ""), "{text}: {err}");
        assert!(message(&err).contains(part), "{text}: {err}");
    }
}

#[test]
fn names_of_cases_do_not_reach_a_terminal_raw() {
    let dir = TempDir::new("case-names");
    let case =
        json!({"format": "bluelabel", "name": "a\u{1b}[31m\u{202e}b", "expect": "accept", "raw": "{}"});
    let (code, out, _) = run(&["test", dir.write("c.jsonl", case.to_string()).to_str().unwrap()]);
    assert_eq!(code, 1);
    assert!(out.contains(r"a\u001b[31m\u202eb strict want accept/-"), "{out}");
}

/// What `check` says of envelopes that are no envelopes, or of no one format, or came before: rule, source and more.
#[test]
fn every_finding_names_its_rule_and_source() {
    let dir = TempDir::new("findings");
    let say = |id: &str, body: &str| {
        format!(
            r#"{{"protocol":"agh-network/v0","id":"{id}","workspace_id":"w","kind":"say","channel":"c","from":"a","ts":1772539230,"surface":"thread","thread_id":"t","body":{body}}}"#
        )
    };
    let error = |retries: &str, payload: &str| {
        format!(
            r#"{{"type":"error","protocol_version":"1.0","sender_id":"CA","recipient_id":"ARCH","timestamp":"2026-03-03T12:00:00Z","task_id":"T","retry_count":{retries},"payload":{payload}}}"#
        )
    };
    let fine = r#"{"code":"A","message":"m"}"#;
    let deep = format!("{{\"a\":{}1{}}}", "[".repeat(70), "]".repeat(70));
    let cases = [
        (
            r#"{"persona":"x","kind":"say"}"#.to_owned(),
            "ambiguous-format",
            "proposed",
            "`persona` of olympus, `kind` of agh",
        ),
        (r#"{"x":1}"#.to_owned(), "unknown-format", "proposed", "no member"),
        (r#"{"a":"#.to_owned(), "json-syntax", "page", "column"),
        (deep, "too-deep", "proposed", ""),
        (r#"{"persona":1,"persona":2}"#.to_owned(), "duplicate-key", "proposed", "2"),
        (error("0", r#"{"code":"A","message":"m","x":1e400}"#), "number-range", "proposed", "1e400"),
        (error("50.00e1", fine), "retry-limit", "reference", "50.00e1"),
        (error("0", fine), "ok", "", ""),
        (error("0", fine), "duplicate", "proposed", ""),
        (say("1", r#"{"text":7}"#), "body-type", "reference", "7"),
        (say("2", "{}"), "body-missing-field", "reference", "an object"),
    ];
    let lines: Vec<_> = cases.iter().map(|(line, ..)| line.as_str()).collect();
    let input = dir.write("in.ndjson", lines.join("\n"));
    let args =
        ["--profile", "strict", "--config", "tests/cases/tollgate.toml", "--as-of", "2026-03-03T12:00:30Z"];
    let (_, out, err) = run(&[&["check", "--json", input.to_str().unwrap()][..], &args].concat());
    let told: Vec<Value> = out.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    assert_eq!(told.len(), cases.len(), "{err}");
    for (told, (line, reason, source, found)) in told.iter().zip(&cases) {
        assert_eq!(told["reason"], *reason, "{line}");
        for finding in told["findings"].as_array().unwrap() {
            assert!(finding["keyword"].is_string() && finding["source"].is_string(), "{finding}");
        }
        if *reason != "ok" {
            let first = &told["findings"][0];
            assert_eq!(first["source"], *source, "{first}");
            assert!(first["found"].as_str().unwrap_or_default().contains(found), "{first}");
        }
    }
    assert_eq!(told[3]["findings"][0]["expected"], "at most 64 levels");
    assert_eq!(told[9]["findings"][0]["expected"], "a text");
    assert_eq!(told[10]["findings"][0]["expected"], "`text` that is not blank");
}

/// A token's wrong claim is named, and the form that a signature must have.
#[test]
fn claims_and_forms_are_named() {
    let dir = TempDir::new("claims");
    let cases = fs::read_to_string("tests/cases/alfred.jsonl").unwrap();
    for (name, rule, part) in [
        ("jwt-no-exp", "token-claims", "`exp`"),
        ("jwt-wrong-aud", "token-audience", "`aud`"),
        ("jwt-lifetime-24h", "token-lifetime", "`max_lifetime_s`"),
        ("jwt-iat-future", "token-issued", "`iat`"),
        ("sig-hex", "signature-form", "44 characters of standard Base64"),
    ] {
        let case = cases
            .lines()
            .map(|line| serde_json::from_str::<Value>(line).unwrap())
            .find(|case| case["name"] == name)
            .unwrap();
        let file = dir.write("in.json", case["envelope"].to_string());
        let now = case["now"].as_str().unwrap();
        let (_, out, err) = run(&[
            "check",
            "--json",
            "--profile",
            "strict",
            "--config",
            "tests/cases/tollgate.toml",
            "--as-of",
            now,
            file.to_str().unwrap(),
        ]);
        let told: Value = serde_json::from_str(&out).unwrap_or_else(|_| panic!("{err}"));
        let first = &told["findings"][0];
        assert_eq!(first["keyword"], rule, "{name}: {first}");
        assert!(first["expected"].as_str().unwrap().contains(part), "{name}: {first}");
    }
}

/// A digest that leaves out what is of a wrong type would be that of another capability.
#[test]
fn sign_refuses_capabilities_that_no_receiver_takes() {
    let dir = TempDir::new("capability");
    for (changed, part) in [
        (json!({"id": 7}), "/body/capability/id: found a number, allowed: a text that is not blank"),
        (json!({"outcome": " "}), "/body/capability/outcome: found a blank text"),
        (json!({"examples": "x"}), "/body/capability/examples: found a text, allowed: an array of texts"),
        (json!({"examples": ["a", [1]]}), "/body/capability/examples/1: found an array, allowed: a text"),
        (json!({"version": null, "examples": ["a", null]}), ""),
    ] {
        let mut capability = json!({"id": "i", "summary": "s", "outcome": "o"});
        capability.as_object_mut().unwrap().extend(changed.as_object().unwrap().clone());
        let file = dir.write("in.json", json!({"body": {"capability": capability}}).to_string());
        let (code, out, _) = run(&["sign", "agh-capability", "--json", file.to_str().unwrap()]);
        assert_eq!(code, i32::from(!part.is_empty()), "{out}");
        assert!(out.contains(part), "{out}");
    }
}

/// Of one envelope nobody knows what came before it; of several, the ones before are all there is.
#[test]
fn an_envelope_alone_is_not_judged_by_its_past() {
    let dir = TempDir::new("alone");
    let cases = fs::read_to_string("tests/cases/olympus.jsonl").unwrap();
    let case = cases
        .lines()
        .map(|line| serde_json::from_str::<Value>(line).unwrap())
        .find(|case| case["reason"] == "no-assignment")
        .unwrap();
    let envelope = case["envelope"].to_string();
    let now = case["now"].as_str().unwrap();
    let config = ["--profile", "strict", "--config", "tests/cases/tollgate.toml", "--as-of", now];
    let alone = dir.write("one.json", &envelope);
    let (code, out, _) = run(&[&["check", alone.to_str().unwrap()][..], &config].concat());
    assert_eq!(code, 0, "{out}");
    assert!(
        out.contains("sequence: whoever reports") && out.contains("needs the envelopes before it"),
        "{out}"
    );
    let other = dir.write("two.json", format!("{envelope}\n{{}}"));
    let (code, out, _) = run(&[&["check", other.to_str().unwrap()][..], &config].concat());
    assert_eq!(code, 1);
    assert!(out.contains("rejected: no-assignment") && out.contains("source    reference"), "{out}");
}

/// The digits of a number are looked up in the payload; whoever sends many must not have it searched as often.
#[test]
fn a_record_full_of_numbers_is_judged_at_once() {
    let dir = TempDir::new("numbers");
    let item = r#"{"priority":"must-fix","description":"d","line":1.0}"#;
    let items = vec![item; 10_000].join(",");
    let payload = format!(
        r#"{{"persona":"p.md","envelope":{{"message_id":"0190b3c0-0000-7000-8000-000000000001","timestamp":"2026-03-03T12:00:00Z","source_agent":"validation-tester","target_agent":"coder","correlation_id":"issue-1","session_id":"s"}},"protocol_message":{{"message_type":"FEEDBACK","payload":{{"feedback":{{"cycle":1,"items":[{items}]}}}}}},"context_attachments":[],"authentication":{{"sender_persona":"validation-tester","sender_task_id":"t","session_id":"s"}}}}"#
    );
    let input = dir.write("in.json", payload);
    let began = std::time::Instant::now();
    let (_, out, err) = run(&["check", "--profile", "lenient", input.to_str().unwrap()]);
    let taken = began.elapsed();
    assert!(out.contains("(olympus, profile lenient)") && !out.contains("payload-contract"), "{out}{err}");
    assert!(taken.as_secs() < 10, "{taken:?}");
}
