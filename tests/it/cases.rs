//! The case files under `tests/cases`: every verdict, strict and lenient, and the sequences.

use std::fs;
use std::path::Path;
use std::process::Output;

use super::cli::{TempDir, tollgate};

fn run(args: &[&str]) -> (Option<i32>, String, String) {
    let Output { status, stdout, stderr } = tollgate().args(args).output().unwrap();
    (status.code(), String::from_utf8(stdout).unwrap(), String::from_utf8(stderr).unwrap())
}

/// Runs a case file; all must pass.
fn passes(file: &str, at_least: usize) {
    let (code, out, err) =
        run(&["test", "--config", "tests/cases/tollgate.toml", &format!("tests/cases/{file}")]);
    let last = out.lines().last().unwrap_or_default();
    assert_eq!(code, Some(0), "{file}: {err}\n{out}");
    let passed: usize = last.split(' ').next().unwrap().parse().unwrap();
    assert!(passed >= at_least && last.ends_with(" 0 failed, 0 skipped"), "{file}: {last}");
}

#[test]
fn olympus_cases_pass() {
    passes("olympus.jsonl", 206);
}

#[test]
fn humaninloop_cases_pass() {
    passes("humaninloop.jsonl", 168);
}

#[test]
fn bluelabel_cases_pass() {
    passes("bluelabel.jsonl", 172);
}

#[test]
fn sequences_of_agh_pass() {
    passes("agh-sequences.jsonl", 82);
}

#[test]
fn detection_cases_pass() {
    passes("detect.jsonl", 50);
}

#[test]
fn agh_cases_pass() {
    passes("agh.jsonl", 362);
    passes("agh-more.jsonl", 424);
}

#[test]
fn alfred_cases_pass() {
    passes("alfred.jsonl", 202);
    passes("alfred-more.jsonl", 338);
}

#[test]
fn our_own_cases_pass() {
    passes("more.jsonl", 630);
}

/// A case file that no test runs proves nothing.
#[test]
fn every_case_file_is_run() {
    let this = fs::read_to_string("tests/it/cases.rs").unwrap();
    for entry in fs::read_dir("tests/cases").unwrap() {
        let path = entry.unwrap().path();
        let name = path.file_name().unwrap().to_string_lossy();
        if path.extension().is_some_and(|extension| extension == "jsonl") {
            assert!(this.contains(&format!("passes(\"{name}\"")), "{name}");
        }
    }
}

/// The page says nothing of bodies: a message about work belongs to it, also if its state or status is not a known one.
#[test]
fn unclear_steps_of_work_stay_in_its_conversation_and_its_life() {
    let dir = TempDir::new("unclear");
    let mut id = 0;
    let mut line = |kind: &str, thread: &str, from: &str, body: &str| {
        id += 1;
        format!(
            r#"{{"protocol":"agh-network/v0","id":"{id}","workspace_id":"w","kind":"{kind}","channel":"c","from":"{from}","to":"b","ts":1747857600,"surface":"thread","thread_id":"{thread}","work_id":"work_1","body":{body}}}"#
        )
    };
    let (mut lines, mut wanted) = (Vec::new(), Vec::new());
    for (kind, thread, from, body, reason, ignored) in [
        ("trace", "t", "a", r#"{"state":"zzz"}"#, "ok", true),
        ("say", "t", "a", r#"{"text":"x"}"#, "ok", false),
        ("trace", "t2", "a", r#"{"state":"zzz"}"#, "work-container-mismatch", false),
        ("receipt", "t2", "a", "{}", "work-container-mismatch", false),
        ("trace", "t", "a", r#"{"state":7}"#, "ok", true),
        ("receipt", "t", "a", r#"{"status":"zzz"}"#, "ok", true),
        ("trace", "t", "a", r#"{"state":"completed"}"#, "ok", false),
        ("trace", "t", "a", r#"{"state":"zzz"}"#, "work-closed", false),
        ("receipt", "t", "b", "{}", "work-closed", false),
        ("trace", "t", "z", "{}", "ok", true),
    ] {
        lines.push(line(kind, thread, from, body));
        wanted.push((reason.to_owned(), ignored));
    }
    let file = dir.write("work.ndjson", lines.join("\n"));
    let (_, out, err) = run(&["check", "--json", "--as-of", "2025-05-21T20:00:00Z", file.to_str().unwrap()]);
    let told: Vec<(String, bool)> = out
        .lines()
        .map(|line| serde_json::from_str::<serde_json::Value>(line).unwrap())
        .map(|line| (line["reason"].as_str().unwrap().to_owned(), line["effect"] == "ignored"))
        .collect();
    assert_eq!(told, wanted, "{err}");
}

/// A case that is wrong fails, and its settings hold for it alone.
#[test]
fn a_wrong_case_fails() {
    let dir = TempDir::new("wrong-case");
    let case = |name: &str, config: &str, expect: &str| {
        format!(
            r#"{{"format":"bluelabel","name":"{name}",{config}"envelope":{{"type":"error","protocol_version":"1.0","sender_id":"CA","recipient_id":"XX","timestamp":"2025-05-21T20:00:00Z","task_id":"T","payload":{{"code":"A","message":"m"}}}},"now":"2025-05-21T20:00:00Z","expect":"{expect}","lenient":"accept"}}"#
        )
    };
    let own = r#""config":{"agents":["CA","XX"]},"#;
    let file = dir.write(
        "c.jsonl",
        [case("a", own, "accept"), case("b", "", "reject"), case("c", "", "accept")].join("\n"),
    );
    let file = file.to_str().unwrap();
    let (code, out, _) = run(&["test", "--config", "tests/cases/tollgate.toml", file]);
    assert_eq!(code, Some(1));
    assert!(out.contains("c.jsonl:3 c strict want accept/- got reject/unregistered-agent"), "{out}");
    assert!(out.ends_with("5 passed, 1 failed, 0 skipped\n"), "{out}");
}

#[test]
fn the_table_of_rules_is_true() {
    let (_, out, _) = run(&["config", "--rules"]);
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("configs/RULES.md");
    if std::env::var_os("TOLLGATE_BLESS").is_some() {
        fs::write(&file, &out).unwrap();
    }
    let wanted = fs::read_to_string(&file).unwrap();
    assert!(out == wanted, "run: cargo run -- config --rules > configs/RULES.md");
}

/// Strict refuses to start without its data, and names the keys; other profiles tell what is not checked.
#[test]
fn missing_data_is_told_before_a_run() {
    let dir = TempDir::new("lacks");
    let input = dir.write("in.ndjson", fs::read("tests/fixtures/olympus/valid/full.json").unwrap());
    let input = input.to_str().unwrap();
    let out = dir.path().join("out").to_str().unwrap().to_owned();
    let strict = dir.write("strict.toml", "[rules]\nprofile = \"strict\"\nformat = \"olympus\"\n");
    let (code, _, err) = run(&["run", "--config", strict.to_str().unwrap(), input, "--accepted", &out]);
    assert_eq!(code, Some(2), "{err}");
    for part in [
        "`format.olympus.sessions` or `format.olympus.master_key_hex`",
        "`format.olympus.tasks`",
        "`format.olympus.rules_off = [\"task\"]`",
        "`format.olympus.attachment_root` or `format.olympus.files`",
    ] {
        assert!(err.contains(part), "{part}: {err}");
    }
    let off = dir.write(
        "off.toml",
        "[rules]\nprofile = \"strict\"\nformat = \"olympus\"\n[format.olympus]\n\
         rules_off = [\"task\", \"signature\", \"attachment-content\"]\n",
    );
    let (code, _, err) = run(&["run", "--config", off.to_str().unwrap(), input, "--accepted", &out]);
    assert_eq!(code, Some(0), "{err}");
    let page = dir.write("page.toml", "[rules]\nformat = \"olympus\"\n");
    let (code, json, err) =
        run(&["run", "--json", "--config", page.to_str().unwrap(), input, "--accepted", &out]);
    assert_eq!(code, Some(0), "{err}");
    assert!(
        err.contains("not checked: attachment-content (set attachment_root or files), signature"),
        "{err}"
    );
    let summary: serde_json::Value = serde_json::from_str(&json).unwrap();
    assert_eq!((&summary["accepted"], &summary["unchecked"]), (&1.into(), &1.into()), "{summary}");
    let wrong = dir.write("wrong.toml", "[format.olympus]\nrules_off = [\"tasks\"]\n");
    let (code, _, err) = run(&["config", "--config", wrong.to_str().unwrap()]);
    assert!(code == Some(2) && err.contains("`format.olympus.rules_off`: found `tasks`"), "{err}");
}

/// `check` goes on without data, says what it could not check, and never shows a credential.
#[test]
fn check_says_what_it_did_not_check() {
    let envelope = fs::read_to_string("tests/fixtures/olympus/valid/full.json").unwrap();
    assert!(envelope.contains("\"signature\""), "the fixture is signed");
    let (code, out, _) = run(&["check", "tests/fixtures/olympus/valid/full.json"]);
    assert_eq!(code, Some(0), "{out}");
    assert!(out.contains("not checked:") && out.contains("`format.olympus.sessions`"), "{out}");
    let (code, out, _) = run(&[
        "check",
        "--profile",
        "strict",
        "--as-of",
        "2026-03-03T12:00:00Z",
        "--config",
        "tests/cases/tollgate.toml",
        "tests/fixtures/olympus/valid/full.json",
    ]);
    assert_eq!(code, Some(1), "{out}");
    assert!(out.contains("(hidden)") && !out.contains("f00d"), "{out}");
    assert!(out.contains("source    reference") || out.contains("source    proposed"), "{out}");
}

/// What can be put into inputs, and a text in the place of an object that holds a credential, are not shown either.
#[test]
fn check_shows_no_value_that_may_be_secret() {
    let dir = TempDir::new("check-secrets");
    let asks = |input: &str| {
        format!(
            r#"{{"type":"needs_input","protocol_version":"1.0","sender_id":"CA","recipient_id":"ARCH","timestamp":"2026-03-03T12:00:00Z","task_id":"T","payload":{{"requested_inputs":[{{"id":"a","description":"d","sensitive":true,{input}}}]}}}}"#
        )
    };
    let lines = [
        asks(r#""type":"enum","options":["f00d","f00d"]"#),
        asks(r#""type":"enum","options":"f00d""#),
        asks(r#""type":"string","default":"f00d""#),
        asks(r#""type":"number","default":["f00d"]"#),
        r#"{"persona":"p","protocol_message":{},"envelope":{},"authentication":"f00d"}"#.to_owned(),
        r#"{"sender_id":"CA","payload":"f00d"}"#.to_owned(),
    ];
    dir.write("in.ndjson", lines.join("\n"));
    let input = dir.path().join("in.ndjson").to_string_lossy().into_owned();
    for profile in ["page", "strict", "lenient"] {
        for form in [&[][..], &["--json"]] {
            let (_, out, err) = run(&[&["check", "--profile", profile, &input], form].concat());
            assert!(out.contains("(hidden)") && !out.contains("f00d") && !err.contains("f00d"), "{out}{err}");
        }
    }
}

/// Tokens of any issuer, for any audience, are nothing that strict has without being told.
#[test]
fn strict_wants_an_issuer_and_an_audience() {
    let dir = TempDir::new("issuer");
    let input = dir.write("in.ndjson", fs::read("tests/fixtures/olympus/valid/full.json").unwrap());
    let out = dir.path().join("out").to_str().unwrap().to_owned();
    let config = fs::read_to_string("tests/cases/tollgate.toml").unwrap();
    let head = "[rules]\nprofile = \"strict\"\nformat = \"alfred\"\n";
    let start = |config: &str| {
        let config = dir.write("tollgate.toml", format!("{head}{config}"));
        run(&["run", "--config", config.to_str().unwrap(), input.to_str().unwrap(), "--accepted", &out])
    };
    let (code, _, err) = start(&config);
    assert_ne!(code, Some(2), "{err}");
    for (key, line) in [
        ("issuer", "issuer = \"alfred-auth.example.com\"\n"),
        ("audience", "audience = \"alfred-platform-api\"\n"),
    ] {
        assert!(config.contains(line), "{key}");
        let (code, _, err) = start(&config.replace(line, ""));
        assert_eq!(code, Some(2), "{err}");
        assert!(err.contains(&format!("`format.alfred.{key}`")), "{err}");
    }
}

/// What stands in the place of an object with credentials may be one; it is not shown either.
#[test]
fn check_shows_nothing_where_credentials_should_be() {
    let dir = TempDir::new("credentials");
    for security in [r#""s3cret""#, r#"["s3cret"]"#, r#"{"auth_token":["s3cret"]}"#] {
        let envelope = format!(r#"{{"envelope":{{"security":{security}}},"message":{{}}}}"#);
        let envelope = dir.write("envelope.json", envelope);
        let (code, out, _) = run(&["check", "--format", "alfred", envelope.to_str().unwrap()]);
        assert_eq!(code, Some(1), "{out}");
        assert!(out.contains("/envelope/security"), "{out}");
        assert!(!out.contains("s3cret"), "{out}");
    }
}

/// Attachments are compared with the files below a directory, and nothing outside of it is read.
#[test]
fn attachments_are_looked_up_below_their_root() {
    let dir = TempDir::new("attachments");
    let config = fs::read_to_string("tests/cases/tollgate.toml").unwrap();
    let (before, after) = config.split_once("[format.olympus.files]").unwrap();
    let after = &after[after.find("\n[").unwrap()..];
    let before = before.replace("[format.olympus]\n", "[format.olympus]\nattachment_root = \"root\"\n");
    let config = dir.write("tollgate.toml", format!("{before}{after}"));
    let root = dir.path().join("root");
    fs::create_dir_all(root.join(".artifacts/plans")).unwrap();
    let envelope = "tests/fixtures/olympus/strict/valid/signed-with-plan.json";
    let check = || {
        let config = config.to_str().unwrap();
        let options =
            ["check", "--json", "--profile", "strict", "--as-of", "2026-03-03T12:00:00Z", "--config", config];
        let (_, out, err) = run(&[&options[..], &[envelope]].concat());
        let line: serde_json::Value = serde_json::from_str(&out).unwrap_or_else(|_| panic!("{err}"));
        (line["reason"].as_str().unwrap().to_owned(), line["unchecked"].to_string())
    };
    let unchecked = "[\"attachment-content\"]";
    assert_eq!(check(), ("ok".to_owned(), unchecked.to_owned()), "no such file");
    let plan = root.join(".artifacts/plans/42-feature.md");
    fs::write(&plan, "# plan 42\n").unwrap();
    assert_eq!(check(), ("ok".to_owned(), "[]".to_owned()));
    fs::write(&plan, "# plan 43\n").unwrap();
    assert_eq!(check().0, "hash-mismatch");
    fs::remove_file(&plan).unwrap();
    std::os::unix::fs::symlink(dir.write("outside.md", "# plan 43\n"), &plan).unwrap();
    assert_eq!(check(), ("ok".to_owned(), unchecked.to_owned()), "a link that leads outside is not followed");
}
