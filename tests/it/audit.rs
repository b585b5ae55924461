//! `tollgate audit` as a user sees it: exact counts, findings, every form of the report, evidence.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::io::{BufRead as _, BufReader, Write as _};
use std::path::{Path, PathBuf};
use std::process::{Output, Stdio};
use std::time::Duration;

use ring::signature::{Ed25519KeyPair, KeyPair as _};
use serde_json::{Value, json};

use crate::cli::{TempDir, resident_bytes, signal, tollgate};

pub(super) fn audit(args: &[&str]) -> Output {
    tollgate().arg("audit").args(args).stdin(Stdio::null()).output().unwrap()
}

/// The report of an audit that ends well.
pub(super) fn report(args: &[&str]) -> Value {
    let output = audit(&[args, &["--json"]].concat());
    assert!(output.status.success(), "{args:?}: {}", String::from_utf8_lossy(&output.stderr));
    serde_json::from_slice(&output.stdout).unwrap()
}

fn findings<'r>(report: &'r Value, kind: &str) -> Vec<&'r Value> {
    report["findings"].as_array().unwrap().iter().filter(|finding| finding["kind"] == kind).collect()
}

fn agh(id: &str, from: &str, to: &str, ts: i64, more: &Value) -> Value {
    let mut value = json!({"protocol": "agh-network/v0", "id": id, "workspace_id": "ws_a", "kind": "say",
        "channel": "builders", "surface": "thread", "thread_id": "thread_abc", "from": from, "to": to, "ts": ts,
        "body": {"text": "hi"}});
    for (name, member) in more.as_object().unwrap() {
        value[name] = member.clone();
    }
    value
}

pub(super) fn alfred(number: u64, kind: &str, correlation: u64, from: &str, to: &str) -> Value {
    json!({"envelope": {"metadata": {"id": format!("{number:08x}-0000-4000-8000-000000000000"), "version": "2.1.0",
        "timestamp": "2026-03-03T12:00:00Z", "correlation_id": format!("{correlation:08x}-0000-4000-8000-000000000001")},
        "routing": {"source": {"agent_id": from, "service_id": "s"}, "destination": {"agent_id": to, "service_id": "s"}},
        "security": {"auth_token": "e30.e30.c2ln", "tenant_id": "tenant-9"}},
        "message": {"type": kind, "intent": "ANALYSE", "payload": {"a": 1}, "status": "SUCCESS"}})
}

pub(super) fn ndjson(lines: &[Value]) -> String {
    lines.iter().fold(String::new(), |text, line| text + &line.to_string() + "\n")
}

/// A generated corpus with the right verdict of every record: every count of the report is compared, with one worker
/// and with two, and the memory of the larger one is looked at.
fn corpus_is_counted_exactly(records: u64, resident_bytes_max: Option<u64>) {
    let dir = TempDir::new(&format!("audit-corpus-{records}"));
    let path = |name: &str| dir.path().join(name).to_str().unwrap().to_owned();
    let made = tollgate()
        .args(["generate", "--records", &records.to_string(), "--mix", "configs/mixes/everything.toml"])
        .args(["--out", &path("in.ndjson"), "--truth", &path("truth"), "--kit", &path("kit")])
        .output()
        .unwrap();
    assert!(made.status.success(), "{}", String::from_utf8_lossy(&made.stderr));
    let mut truth: BTreeMap<(String, String), u64> = BTreeMap::new();
    for line in BufReader::new(fs::File::open(path("truth")).unwrap()).lines() {
        let line: Value = serde_json::from_str(&line.unwrap()).unwrap();
        let text = |name: &str| line[name].as_str().unwrap_or_default().to_owned();
        *truth.entry((text("reason"), text("format"))).or_default() += 1;
    }
    let config = path("kit/tollgate.toml");
    let reports = ["1", "2"].map(|workers| audited(&path("in.ndjson"), &config, workers, resident_bytes_max));
    assert!(reports[0] == reports[1], "reports with one and with two workers differ");
    let report = &reports[0];
    assert_eq!(report["totals"]["records"], records);
    let accepted: u64 =
        truth.iter().filter(|((reason, _), _)| reason.is_empty()).map(|(_, count)| count).sum();
    assert_eq!(report["totals"]["accepted"], accepted);
    let mut by_reason: BTreeMap<&str, u64> = BTreeMap::new();
    for ((reason, _), count) in truth.iter().filter(|((reason, _), _)| !reason.is_empty()) {
        *by_reason.entry(reason).or_default() += count;
    }
    let rows = report["reasons"].as_array().unwrap().iter();
    let found: BTreeMap<&str, u64> =
        rows.map(|row| (row["reason"].as_str().unwrap(), row["count"].as_u64().unwrap())).collect();
    assert_eq!(found, by_reason);
    let mut accepted_by_format: BTreeMap<&str, u64> = BTreeMap::new();
    for ((_, format), count) in truth.iter().filter(|((reason, _), _)| reason.is_empty()) {
        *accepted_by_format.entry(format).or_default() += count;
    }
    let mut found: BTreeMap<&str, u64> = BTreeMap::new();
    for row in report["formats"].as_array().unwrap() {
        let accepted = row["records"].as_u64().unwrap() - row["rejected"].as_u64().unwrap();
        // The truth names the family of inputs and outputs.
        let format = row["format"].as_str().unwrap();
        let family = if format.starts_with("humaninloop") { "humaninloop" } else { format };
        *found.entry(family).or_default() += accepted;
    }
    found.retain(|_, accepted| *accepted > 0);
    assert_eq!(found, accepted_by_format);
    let repeats = report["repeats"]["rows"].as_array().unwrap();
    assert!(
        repeats.len() > 20 && repeats.iter().all(|row| row["first"].is_string()),
        "both places are known"
    );
    let classes = report["sizes"]["classes"].as_array().unwrap().iter();
    assert_eq!(classes.map(|class| class[1].as_u64().unwrap()).sum::<u64>(), records);
    assert_eq!(report["skew"], json!([]), "all clocks are right");
    signatures_show_themselves(report);
}

/// Each row has an example of its own, and a token's key stands only where the token fails.
fn signatures_show_themselves(report: &Value) {
    let rows = report["signatures"]["rows"].as_array().unwrap();
    assert!(rows.len() > 3, "{rows:?}");
    let mut places = BTreeSet::new();
    for row in rows {
        let example = &row["examples"][0];
        assert_eq!((&example["sender"], &example["place"]), (&row["key"][0], &row["first"]), "{row}");
        assert!(places.insert(example["place"].as_str().unwrap()), "{row} shows another's example");
        let is_token = example["at"] == "/envelope/security/auth_token";
        assert!(example["format"] != "alfred" || is_token == (row["key"][1] != "-"), "{row}");
    }
}

/// The report of an audit but for what differs from run to run; its memory is held against a limit.
fn audited(input: &str, config: &str, workers: &str, resident_bytes_max: Option<u64>) -> Value {
    let child = tollgate()
        .args(["audit", input, "--config", config, "--as-of", "2026-03-03T12:00:00Z"])
        .args(["--workers", workers, "--json"])
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    let (pid, watched) = (child.id(), resident_bytes_max.is_some());
    let watch = std::thread::spawn(move || {
        let mut most = 0;
        while watched && let Some(resident) = resident_bytes(pid) {
            most = most.max(resident);
            std::thread::sleep(Duration::from_millis(50));
        }
        most
    });
    let output = child.wait_with_output().unwrap();
    assert!(output.status.success());
    let most = watch.join().unwrap();
    if let Some(max) = resident_bytes_max {
        assert!((1..max).contains(&most), "{workers} workers: {most} bytes resident");
    }
    let mut report: Value = serde_json::from_slice(&output.stdout).unwrap();
    report["run"].take();
    report
}

#[test]
fn counts_are_exact_and_nothing_depends_on_the_number_of_workers() {
    corpus_is_counted_exactly(8_000, None);
}

/// Most records of a sample lack what came before them, which is nobody's fault.
#[test]
fn a_sample_rejects_nothing_that_the_whole_accepts() {
    let dir = TempDir::new("audit-sample");
    let path = |name: &str| dir.path().join(name).to_str().unwrap().to_owned();
    let made = tollgate()
        .args(["generate", "--records", "4000", "--mix", "configs/mixes/everything.toml"])
        .args(["--out", &path("in.ndjson"), "--kit", &path("kit")])
        .output()
        .unwrap();
    assert!(made.status.success(), "{}", String::from_utf8_lossy(&made.stderr));
    let (input, config, out) = (path("in.ndjson"), path("kit/tollgate.toml"), path("report"));
    let judged = [&input, "--config", &config, "--as-of", "2026-03-03T12:00:00Z"].map(|text| text as &str);
    let whole = report(&judged);
    let sample = report(&[&judged[..], &["--sample", "4", "--out", &out]].concat());
    let rejected: BTreeMap<_, _> = whole["reasons"].as_array().unwrap().iter().map(count_of).collect();
    for (reason, count) in sample["reasons"].as_array().unwrap().iter().map(count_of) {
        assert!(rejected.get(reason).is_some_and(|all| count <= *all), "{reason}: {count}, {rejected:?}");
    }
    assert!(
        sample["sequences"].as_object().unwrap().values().all(|value| *value == 0 || *value == json!([]))
    );
    assert!(whole["sequences"]["requests"].as_u64().unwrap() > 0);
    let said_of_sequences = ["broken-parents", "responses-without-request", "work-never-closed"];
    assert!(said_of_sequences.iter().all(|kind| findings(&sample, kind).is_empty()));
    assert!(sample["limits"]["notes"][0].as_str().unwrap().contains("sequences are not looked at"));
    let (code, text) = said(&["--config", &config, "--verify", &format!("{out}/report.json")]);
    assert_eq!(code, Some(0), "{text}");
}

fn count_of(row: &Value) -> (&str, u64) {
    (row["reason"].as_str().unwrap(), row["count"].as_u64().unwrap())
}

/// `cargo test --release --test it five_million -- --ignored --nocapture`: some minutes and 12 GB of disk.
#[test]
#[ignore = "takes minutes, and wants a release build"]
fn five_million_records_are_counted_exactly_within_512_megabytes() {
    corpus_is_counted_exactly(5_000_000, Some(512_000_000));
}

#[test]
fn the_report_fits_its_schema_and_has_four_forms() {
    let dir = TempDir::new("audit-forms");
    let input = dir.write("in.ndjson", ndjson(&[alfred(1, "TASK_REQUEST", 7, "a", "b"), json!({"x": 1})]));
    let out = dir.path().join("report");
    let output = audit(&[input.to_str().unwrap(), "--clock", "record", "--out", out.to_str().unwrap()]);
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let text = String::from_utf8(output.stdout).unwrap();
    assert!(
        text.contains("2 records") && text.contains("unknown-format") && text.contains("digest "),
        "{text}"
    );
    assert!(text.lines().all(|line| line.chars().count() <= 110), "{text}");
    let json = out.join("report.json");
    let checked = tollgate()
        .args(["schema", "check", "--schema", "configs/schemas/report.schema.json", "--document"])
        .arg(&json)
        .output()
        .unwrap();
    assert!(checked.status.success(), "{}", String::from_utf8_lossy(&checked.stdout));
    let report: Value = serde_json::from_slice(&fs::read(json).unwrap()).unwrap();
    let lines = fs::read_to_string(out.join("findings.ndjson")).unwrap();
    assert_eq!(lines.lines().count(), report["findings"].as_array().unwrap().len());
    assert!(
        lines.lines().all(|line| serde_json::from_str::<Value>(line).unwrap()["digest"] == report["digest"])
    );
    let csv = fs::read_to_string(out.join("findings.csv")).unwrap();
    assert!(csv.starts_with("kind,severity,count,share,"), "{csv}");
    let html = fs::read_to_string(out.join("report.html")).unwrap();
    assert!(html.contains("Content-Security-Policy") && html.ends_with("</html>\n"));
    assert!(!html.contains("http://") && !html.contains("https://"), "nothing refers to the network");
}

/// Every kind of finding, each from records that make it.
#[test]
fn everything_that_can_be_found_is_found() {
    let dir = TempDir::new("audit-findings");
    let mut lines = Vec::new();
    let time = |second: i64| 1_775_600_000 + second;
    // Work that closes, and work that never does; a member that appears; a clock that is off.
    for number in 0..600_i64 {
        let from = format!("peer-{}", number % 3);
        let ahead = if number % 3 == 2 { 400 } else { 0 };
        let mut more = json!({});
        if number >= 300 {
            more["ext"] = json!({"fresh": 1});
        }
        lines.push(agh(&format!("m{number}"), &from, "worker", time(number) + ahead, &more));
    }
    let work = |id: &str, work: &str, more: &Value| {
        let mut value = agh(id, "peer-0", "worker", time(700), more);
        value["work_id"] = work.into();
        value
    };
    lines.push(work("w1", "work_1", &json!({})));
    lines.push(work("w2", "work_2", &json!({})));
    let done = json!({"kind": "trace", "body": {"state": "completed"}, "from": "worker", "to": "peer-0"});
    lines.push(work("w3", "work_1", &done));
    // A request without response, one with, a response without request.
    lines.push(alfred(1, "TASK_REQUEST", 1, "asker", "server"));
    lines.push(alfred(2, "TASK_REQUEST", 2, "asker", "server"));
    lines.push(alfred(3, "TASK_RESPONSE", 2, "server", "asker"));
    lines.push(alfred(4, "TASK_RESPONSE", 99, "server", "asker"));
    // A conflict, and a burst of copies.
    let mut conflict = alfred(1, "TASK_REQUEST", 1, "asker", "server");
    conflict["message"]["payload"]["a"] = 2.into();
    lines.push(conflict);
    let copies: Vec<Value> = lines.iter().take(30).cloned().collect();
    lines.extend(copies);
    let input = dir.write("in.ndjson", ndjson(&lines));
    let report = report(&[input.to_str().unwrap(), "--clock", "record"]);

    assert_eq!(report["repeats"]["duplicates"], 30);
    assert_eq!(report["repeats"]["conflicts"], 1);
    let name = input.to_str().unwrap();
    let conflict = &report["repeats"]["rows"][0];
    assert_eq!(
        (&conflict["first"], &conflict["again"]),
        (&json!(format!("{name}:604")), &json!(format!("{name}:608")))
    );
    let first_copy = &report["repeats"]["rows"][1];
    assert_eq!(
        (&first_copy["first"], &first_copy["again"]),
        (&json!(format!("{name}:1")), &json!(format!("{name}:609")))
    );
    check_burst(&report);
    let sequences = &report["sequences"];
    assert_eq!((&sequences["work_opened"], &sequences["work_closed"]), (&json!(2), &json!(1)));
    assert_eq!(sequences["open_work"], json!([format!("{name}:602")]));
    assert_eq!((&sequences["requests"], &sequences["answered"]), (&json!(2), &json!(1)));
    assert_eq!(sequences["unanswered"], json!([format!("{name}:604")]));
    assert_eq!(sequences["responses_without_request"], 1);
    assert_eq!(report["skew"][0]["sender"], "peer-2");
    assert_eq!(report["skew"][0]["typical"], "300 to 3600 s ahead");
    let drift = &report["drift"][0];
    let appears = (&drift["member"], &drift["change"], &drift["place"]);
    assert_eq!(appears, (&json!("/ext"), &json!("appears"), &json!(format!("{name}:301"))));
    for kind in [
        "clock-skew",
        "schema-drift",
        "work-never-closed",
        "requests-without-response",
        "responses-without-request",
    ] {
        assert!(!findings(&report, kind).is_empty(), "{kind}");
    }
    let unasked = findings(&report, "responses-without-request")[0];
    assert_eq!(unasked["examples"][0]["place"], format!("{name}:607"));
    assert_eq!(report["limits"]["notes"], json!([]));
}

/// Records that try to be more than text.
#[test]
fn hostile_content_stays_text_in_every_form() {
    let dir = TempDir::new("audit-hostile");
    let hostile = [
        "<script>alert(1)</script>",
        "</script><img src=x onerror=alert(1)>",
        "\u{202e}gnitide\u{2066}",
        "\u{1b}[2J\u{1b}]0;title\u{7}",
        "=HYPERLINK(\"http://evil.example\")",
        "a\u{0}b\r\nc\u{2028}d",
        "'\"&`${x}",
    ];
    let mut lines: Vec<Value> =
        hostile.iter().enumerate().map(|(number, text)| alfred(number as u64, text, 1, text, text)).collect();
    lines.push(alfred(90, &"long".repeat(250_000), 1, &"x".repeat(500_000), "b"));
    let mut secret = alfred(91, "TASK_REQUEST", 1, "a", "b");
    secret["envelope"]["security"]["auth_token"] = "SECRETTOKEN".into();
    secret["message"]["payload"] =
        json!({"password": "SECRETWORD", "nested": [{"api_key": "SECRETKEY"}], "t": "eyJSECRETJWT"});
    secret["message"]["type"] = "NONSENSE".into();
    lines.push(secret);
    let mut text = ndjson(&lines);
    text.push_str("{\"token\":\"SECRETBROKEN\n");
    text.push_str("{\"unknown\":\"SECRETUNKNOWN\"}\n");
    text.push_str(&format!("{{\"envelope\":\"{}\"}}\n", "y".repeat(10_000_000)));
    let input = dir.write("in.ndjson", text);
    let out = dir.path().join("report");
    let output = audit(&[input.to_str().unwrap(), "--clock", "record", "--out", out.to_str().unwrap()]);
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let forms = ["report.json", "report.html", "findings.ndjson", "findings.csv"]
        .map(|name| (name, fs::read_to_string(out.join(name)).unwrap()));
    let terminal = String::from_utf8(output.stdout).unwrap();
    for (name, text) in forms.iter().chain([&("terminal", terminal)]) {
        let acts = |letter: char| {
            (letter.is_control() && !matches!(letter, '\n' | '\r'))
                || matches!(letter, '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}' | '\u{2028}')
        };
        assert!(!text.chars().any(acts), "{name} holds a character that acts");
        assert!(!text.contains("SECRET"), "{name} shows a secret");
        assert!(text.len() < 2_000_000, "{name} has {} bytes", text.len());
    }
    let html = &forms[1].1;
    assert_eq!(html.matches("<script").count(), 1, "the only script is ours");
    assert!(!html.contains("<img") && html.contains("&lt;script&gt;alert(1)"));
    let csv = &forms[3].1;
    assert!(
        !csv.lines().any(|line| line.split(',').any(|cell| cell.trim_matches('"').starts_with('='))),
        "{csv}"
    );
    assert!(serde_json::from_str::<Value>(&forms[0].1).unwrap()["totals"]["records"] == 12);
}

/// More senders than a table has rows: bounded, and the error is stated.
#[test]
fn many_senders_keep_the_heavy_ones() {
    let dir = TempDir::new("audit-many");
    let mut text = Vec::new();
    for number in 0..70_000_u32 {
        let from = if number % 10 == 0 { "heavy".to_owned() } else { format!("peer-{number}") };
        let value = json!({"protocol": "agh-network/v0", "id": number.to_string(), "workspace_id": "ws", "kind": "greet",
            "channel": "c", "from": from, "ts": 1_775_600_000, "body": {}});
        writeln!(text, "{value}").unwrap();
    }
    let copies = text.clone();
    let input = dir.write("in.ndjson", text);
    let mut more =
        String::from_utf8(copies).unwrap().replace("peer-", "other-").replace("\"id\":\"", "\"id\":\"b");
    // Somebody who comes when the table is full, and of whom nothing holds.
    for number in 0..40 {
        more += &format!(
            "{}\n",
            agh(&format!("l{number}"), "late", "b", 1_775_600_000, &json!({ "kind": "nonsense" }))
        );
    }
    let again = dir.write("again.ndjson", more);
    let report = report(&[input.to_str().unwrap(), again.to_str().unwrap(), "--clock", "record"]);
    let senders = &report["senders"];
    assert_eq!(senders["exact"], false);
    let heavy = &senders["rows"][0];
    assert_eq!((&heavy["key"], &heavy["records"]), (&json!(["heavy"]), &json!(14_000)));
    let error = senders["error_max"].as_u64().unwrap();
    assert!((1..=3).contains(&error), "{error}");
    assert!(report["limits"]["notes"][0].as_str().unwrap().contains("senders"));
    let failing = findings(&report, "failing-sender")[0];
    assert_eq!((&failing["subject"], &failing["count"]), (&json!("late"), &json!(40)));
    assert!(failing["title"].as_str().unwrap().starts_with("at least 40 of at most 4"), "{failing}");
    assert!(senders["rows"].as_array().unwrap().len() <= 1000);
}

/// A new private key, and what belongs to it in the form of `openssl pkey -pubout -outform DER`.
pub(super) fn key_pair(dir: &TempDir) -> (PathBuf, PathBuf) {
    let pkcs8 = Ed25519KeyPair::generate_pkcs8(&ring::rand::SystemRandom::new()).unwrap();
    let pair = Ed25519KeyPair::from_pkcs8(pkcs8.as_ref()).unwrap();
    let head = [0x30, 0x2a, 0x30, 0x05, 0x06, 0x03, 0x2b, 0x65, 0x70, 0x03, 0x21, 0x00];
    let public = [&head, pair.public_key().as_ref()].concat();
    (dir.write("key.der", pkcs8.as_ref()), dir.write("key.pub", public))
}

#[test]
fn a_report_is_verified_by_running_it_again() {
    let dir = TempDir::new("audit-verify");
    let lines: Vec<Value> = (0..50).map(|number| alfred(number, "TASK_REQUEST", number, "a", "b")).collect();
    let plain = dir.write("one.ndjson", ndjson(&lines[..30]));
    let mut packed = std::process::Command::new("gzip")
        .arg("-c")
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    packed.stdin.take().unwrap().write_all(ndjson(&lines[30..]).as_bytes()).unwrap();
    let packed = dir.write("two.ndjson.gz", packed.wait_with_output().unwrap().stdout);
    let (key, public) = key_pair(&dir);
    let out = dir.path().join("report");
    let text = |path: &Path| path.to_str().unwrap().to_owned();
    let made = audit(&[
        &text(dir.path()),
        "--as-of",
        "2026-03-03T12:01:00Z",
        "--out",
        &text(&out),
        "--sign-key",
        &text(&key),
    ]);
    assert!(made.status.success(), "{}", String::from_utf8_lossy(&made.stderr));
    let json = out.join("report.json");
    let report: Value = serde_json::from_slice(&fs::read(&json).unwrap()).unwrap();
    let sums = std::process::Command::new("sha256sum").args([&plain, &packed]).output().unwrap();
    let sums = String::from_utf8(sums.stdout).unwrap();
    for (input, line) in report["inputs"].as_array().unwrap().iter().zip(sums.lines()) {
        assert!(line.starts_with(input["sha256"].as_str().unwrap()), "{input} {line}");
        assert_eq!(input["bytes"], fs::metadata(input["name"].as_str().unwrap()).unwrap().len());
    }

    let verify = |more: &[&str]| {
        let output = audit(&[&["--verify", &text(&json)], more].concat());
        (
            output.status.code(),
            String::from_utf8_lossy(&output.stdout).into_owned() + &String::from_utf8_lossy(&output.stderr),
        )
    };
    let (code, said) = verify(&["--trusted-key", &text(&public)]);
    assert!(
        code == Some(0) && said.contains("the trusted key") && said.contains("the same: 50 records"),
        "{said}"
    );
    // Another byte in the input.
    let changed = fs::read_to_string(&plain).unwrap().replacen("ANALYSE", "ANALYSF", 1);
    fs::write(&plain, changed).unwrap();
    let (code, said) = verify(&[]);
    assert!(code == Some(1) && said.contains("one.ndjson: SHA-256") && said.contains("digest:"), "{said}");
    // Another number in the report.
    let forged = fs::read_to_string(&json).unwrap().replacen("\"accepted\": 50", "\"accepted\": 51", 1);
    fs::write(&json, forged).unwrap();
    let (code, said) = verify(&[]);
    assert!(code == Some(1) && said.contains("not as it was signed"), "{said}");
}

#[test]
fn limits_samples_and_partial_runs_are_said() {
    let dir = TempDir::new("audit-limits");
    let mut lines: Vec<Value> =
        (0..400).map(|number| alfred(number, "TASK_REQUEST", number, "a", "b")).collect();
    lines.push(json!({"x": 1}));
    let input = dir.write("in.ndjson", ndjson(&lines));
    let input = input.to_str().unwrap();
    for (limit, code) in [
        ("rejected=0", 1),
        ("rejected=1", 0),
        ("unknown-format=0.1%", 1),
        ("duplicate=0", 0),
        ("schema-drift=100%", 0),
        ("nonsense=1", 2),
    ] {
        let output = audit(&[input, "--clock", "record", "--fail-on", limit]);
        assert_eq!(output.status.code(), Some(code), "{limit}: {}", String::from_utf8_lossy(&output.stderr));
    }
    let sampled = report(&[input, "--clock", "record", "--sample", "4"]);
    let records = sampled["totals"]["records"].as_u64().unwrap();
    assert!((60..140).contains(&records), "{records}");
    assert_eq!(sampled["scope"]["sample_one_in"], 4);
    assert!(sampled["limits"]["notes"][0].as_str().unwrap().contains("One record of 4"));

    // Stale by the clock of today; as fresh as it was by its own, which is the default.
    assert_eq!(report(&[input, "--clock", "wall"])["reasons"][0]["reason"], "stale");
    let by_default = report(&[input]);
    assert_eq!(
        (&by_default["totals"]["rejected"], &by_default["rules"]["clock"]),
        (&json!(1), &json!("record"))
    );
    // Going on from an earlier audit: everything is a copy.
    let state = dir.path().join("state");
    let state = state.to_str().unwrap();
    assert_eq!(report(&[input, "--clock", "record", "--state", state])["repeats"]["duplicates"], 0);
    let again = report(&[input, "--clock", "record", "--state", state]);
    assert_eq!((&again["repeats"]["duplicates"], &again["scope"]["continued"]), (&json!(400), &json!(true)));

    // The first half comes, then somebody has had enough.
    let mut child = tollgate()
        .args(["audit", "-", "--clock", "record", "--json"])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    let mut stdin = child.stdin.take().unwrap();
    stdin.write_all(ndjson(&lines).as_bytes()).unwrap();
    stdin.flush().unwrap();
    std::thread::sleep(Duration::from_millis(1500));
    signal(&child, "-INT");
    let output = child.wait_with_output().unwrap();
    drop(stdin);
    let partial: Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!((&partial["scope"]["complete"], &partial["totals"]["records"]), (&json!(false), &json!(401)));
}

#[test]
fn the_split_holds_every_record_once() {
    let dir = TempDir::new("audit-split");
    let lines =
        [alfred(1, "TASK_REQUEST", 1, "a", "b"), json!({"x": 1}), alfred(1, "TASK_REQUEST", 1, "a", "b")];
    let input = dir.write("in.ndjson", ndjson(&lines));
    let (accepted, rejected) = (dir.path().join("yes.ndjson"), dir.path().join("no.ndjson"));
    report(&[
        input.to_str().unwrap(),
        "--clock",
        "record",
        "--accepted",
        accepted.to_str().unwrap(),
        "--rejected",
        rejected.to_str().unwrap(),
    ]);
    assert_eq!(fs::read_to_string(accepted).unwrap(), format!("{}\n", lines[0]));
    let rejected = fs::read_to_string(rejected).unwrap();
    let reasons: Vec<Value> = rejected
        .lines()
        .map(|line| serde_json::from_str::<Value>(line).unwrap()["tollgate"]["reason"].clone())
        .collect();
    assert_eq!(reasons, [json!("unknown-format"), json!("duplicate")]);
}

/// What comes out of an audit, both streams together, and its exit code.
pub(super) fn said(args: &[&str]) -> (Option<i32>, String) {
    let output = audit(args);
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    (output.status.code(), text(&output.stdout) + &text(&output.stderr))
}

type Edit = fn(&mut Value);

/// An unsigned report that somebody wrote into: told, wherever it is, and nothing in it acts on the terminal.
#[test]
fn what_somebody_wrote_into_a_report_is_found() {
    let dir = TempDir::new("audit-edited");
    let lines: Vec<Value> = (0..30).map(|number| alfred(number, "TASK_REQUEST", number, "a", "b")).collect();
    let input = dir.write("in.ndjson", ndjson(&lines) + "{\"x\":1}\n");
    let out = dir.path().join("report");
    let args = [input.to_str().unwrap(), "--as-of", "2026-03-03T12:01:00Z", "--out", out.to_str().unwrap()];
    assert!(audit(&args).status.success());
    let json = out.join("report.json");
    let whole: Value = serde_json::from_slice(&fs::read(&json).unwrap()).unwrap();
    let verify = |report: &Value| {
        fs::write(&json, report.to_string()).unwrap();
        said(&["--verify", json.to_str().unwrap()])
    };
    assert_eq!(verify(&whole).0, Some(0));
    let edits: [(&str, Edit); 6] = [
        ("findings", |report| report["findings"][0]["title"] = "all is well".into()),
        ("findings", |report| drop(report["findings"].as_array_mut().unwrap().remove(0))),
        ("senders", |report| report["senders"]["rows"][0]["key"][0] = "somebody else".into()),
        ("totals", |report| report["totals"]["accepted"] = 31.into()),
        ("approved", |report| report["approved"] = true.into()),
        ("tool", |report| report["tool"] = "\u{1b}[2J\u{202e}".into()),
    ];
    for (name, edit) in edits {
        let mut report = whole.clone();
        edit(&mut report);
        let (code, text) = verify(&report);
        assert!(code == Some(1) && text.contains(&format!("{name}: the report says")), "{name}: {text}");
        assert!(!text.contains(['\u{1b}', '\u{202e}']), "{name}: {text:?}");
    }
}

#[test]
fn an_audit_that_went_on_is_verified_from_where_it_began() {
    let dir = TempDir::new("audit-continued");
    let path = |name: &str| dir.path().join(name).to_str().unwrap().to_owned();
    let lines: Vec<Value> = (0..30).map(|number| alfred(number, "TASK_REQUEST", number, "a", "b")).collect();
    let first = dir.write("first.ndjson", ndjson(&lines[..20]));
    let second = dir.write("second.ndjson", ndjson(&lines[10..]));
    let clock = ["--clock", "record", "--state", &path("state")];
    report(&[&[first.to_str().unwrap()], &clock[..]].concat());
    fs::copy(path("state"), path("began")).unwrap();
    let out = path("report");
    let went_on = report(&[&[second.to_str().unwrap(), "--out", &out], &clock[..]].concat());
    assert_eq!(went_on["repeats"]["duplicates"], 10);
    let json = format!("{out}/report.json");
    let (code, text) = said(&["--verify", &json]);
    assert!(code == Some(2) && text.contains("--state"), "{text}");
    let before = fs::read(path("began")).unwrap();
    let (code, text) = said(&["--verify", &json, "--state", &path("began")]);
    assert!(code == Some(0) && text.contains("the same: 20 records"), "{text}");
    assert!(before == fs::read(path("began")).unwrap(), "whoever verifies changes nothing");
}

/// Answers to requests of an earlier audit hide none of this one's.
#[test]
fn what_an_earlier_audit_left_open_is_counted() {
    let dir = TempDir::new("audit-open");
    let request = |number: u64| alfred(number, "TASK_REQUEST", number, "asker", "server");
    let answer = |number: u64| alfred(100 + number, "TASK_RESPONSE", number, "server", "asker");
    let work = |number: u64, more: &Value| {
        let mut value = agh(&format!("w{number}-{}", more["kind"]), "a", "b", 1_775_600_000, more);
        value["work_id"] = format!("work_{number}").into();
        value
    };
    let done = json!({"kind": "trace", "body": {"state": "completed"}, "from": "b", "to": "a"});
    let first: Vec<Value> = (0..5).flat_map(|number| [request(number), work(number, &json!({}))]).collect();
    let second: Vec<Value> = (0..3)
        .flat_map(|number| [answer(number), work(number, &done)])
        .chain((10..14).flat_map(|number| [request(number), work(number, &json!({}))]))
        .collect();
    let state = dir.path().join("state");
    let audited = |name: &str, lines: &[Value]| {
        let input = dir.write(name, ndjson(lines));
        report(&[input.to_str().unwrap(), "--clock", "record", "--state", state.to_str().unwrap()])
    };
    let sequences = |report: &Value| {
        ["requests", "answered", "requests_unanswered", "work_opened", "work_closed", "work_open"]
            .map(|name| report["sequences"][name].as_u64().unwrap())
    };
    assert_eq!(sequences(&audited("first.ndjson", &first)), [5, 0, 5, 5, 0, 5]);
    let report = audited("second.ndjson", &second);
    assert_eq!(sequences(&report), [4, 3, 6, 4, 3, 6]);
    for kind in ["requests-without-response", "work-never-closed"] {
        assert_eq!(findings(&report, kind)[0]["count"], 6, "{kind}");
    }
    let notes = report["limits"]["notes"].to_string();
    assert!(notes.contains("Of 6 requests without response 4 are listed"), "{notes}");
}

/// Lists that are cut say so, and what is not listed is counted.
#[test]
fn what_is_cut_says_by_how_much() {
    let dir = TempDir::new("audit-cut");
    let mut lines: Vec<Value> = (0..1500)
        .map(|number| agh(&format!("m{number}"), &format!("peer-{number}"), "b", 1_775_600_000, &json!({})))
        .collect();
    lines.extend_from_within(..1200);
    lines.extend((0..60).map(|number| alfred(number, "TASK_REQUEST", number, "peer-0", "server")));
    let input = dir.write("in.ndjson", ndjson(&lines));
    let out = dir.path().join("report");
    let (code, text) = said(&[input.to_str().unwrap(), "--clock", "record", "--out", out.to_str().unwrap()]);
    assert!(code == Some(0) && text.contains("… 1\u{a0}490 more"), "{text}");
    for note in
        ["Of 1\u{a0}200 repetitions 1\u{a0}000 are listed", "Of 60 requests without response 50 are listed"]
    {
        assert!(text.replace("\n      ", " ").contains(note), "{text}");
    }
    let html = fs::read_to_string(out.join("report.html")).unwrap();
    // 2,760 records, of which the first 500 rows have 62 and 499 times 2.
    for note in ["1\u{a0}700 records have other keys", "The first 500 are listed", " and 10 elsewhere"] {
        assert!(html.contains(note), "{note}");
    }
}

/// The window has forgotten an id: what repeats it from then on repeats the record that used it again.
#[test]
fn a_repetition_is_shown_with_the_place_that_it_repeats() {
    let dir = TempDir::new("audit-expired");
    let at = |number: u64, a: u64, time: &str| {
        let mut value = alfred(number, "TASK_REQUEST", number, "a", "b");
        value["envelope"]["metadata"]["timestamp"] = time.into();
        value["message"]["payload"]["a"] = a.into();
        value
    };
    let again = at(1, 2, "2026-03-23T12:00:00Z");
    let lines = [at(1, 1, "2026-03-03T12:00:00Z"), at(2, 1, "2026-03-23T11:00:00Z"), again.clone(), again];
    let input = dir.write("in.ndjson", ndjson(&lines));
    let report = report(&[input.to_str().unwrap(), "--clock", "record"]);
    let name = input.to_str().unwrap();
    let rows = report["repeats"]["rows"].as_array().unwrap();
    let places: Vec<_> = rows.iter().map(|row| (&row["first"], &row["again"])).collect();
    assert_eq!(places, [(&json!(format!("{name}:3")), &json!(format!("{name}:4")))]);
    assert_eq!(report["reasons"][0]["examples"][0]["first_place"], format!("{name}:3"));
}

/// Inputs stand where they were read; times that nobody can write are none.
#[test]
fn odd_inputs_and_times_keep_their_place() {
    let dir = TempDir::new("audit-order");
    let names = ["a.ndjson", "b.ndjson", "c.ndjson"];
    let far = |id: &str, ts: i64| agh(id, "a", "b", ts, &json!({}));
    let texts =
        [ndjson(&[far("1", 1_000_000_000_000)]), String::new(), ndjson(&[far("2", -1_000_000_000_000)])];
    let paths: Vec<PathBuf> = names.iter().zip(texts).map(|(name, text)| dir.write(name, text)).collect();
    let args: Vec<&str> = paths.iter().map(|path| path.to_str().unwrap()).collect();
    let report = report(&[&args[..], &["--clock", "record"]].concat());
    let inputs: Vec<_> = report["inputs"].as_array().unwrap().iter().map(|input| &input["name"]).collect();
    assert_eq!(inputs, args);
    assert_eq!((&report["hours"]["rows"], &report["totals"]["without_time"]), (&json!([]), &json!(2)));
}

/// Before anything is read: what cannot end well.
#[test]
fn what_cannot_end_well_is_said_at_once() {
    let dir = TempDir::new("audit-early");
    let input = dir.write("in.ndjson", ndjson(&[json!({"x": 1})]));
    let input = input.to_str().unwrap();
    let nothing = dir.path().join("nothing/deeper");
    fs::create_dir_all(&nothing).unwrap();
    let (code, text) = said(&[nothing.to_str().unwrap()]);
    assert!(code == Some(2) && text.contains("found no file to audit"), "{text}");
    fs::write(nothing.join("data.log"), "{}\n").unwrap();
    let (code, text) = said(&[nothing.to_str().unwrap()]);
    assert!(code == Some(2) && text.contains("1 others") && text.contains("data.log"), "{text}");
    fs::write(nothing.join("data.json"), "{}\n").unwrap();
    let report = report(&[nothing.to_str().unwrap()]);
    assert_eq!((&report["scope"]["left_out"], &report["totals"]["records"]), (&json!(1), &json!(1)));
    assert!(report["limits"]["notes"][0].as_str().unwrap().contains("left out"));
    let (code, text) = said(&[input, "--out", input]);
    assert!(code == Some(2) && text.contains("--out"), "{text}");
    let (code, text) = said(&[input, "--state", nothing.join("none/state").to_str().unwrap()]);
    assert!(code == Some(2) && text.contains("--state"), "{text}");
}

/// Names that are no plain words, archives that end too early.
#[test]
fn odd_files_are_audited_as_far_as_they_go() {
    let dir = TempDir::new("audit-odd");
    let lines: Vec<Value> = (0..400).map(|number| alfred(number, "TASK_REQUEST", number, "a", "b")).collect();
    let odd = dir.write("odd\n\u{1b}[31m\u{202e}.ndjson", ndjson(&lines));
    let out = dir.path().join("report");
    let out = out.to_str().unwrap();
    let (code, text) = said(&[odd.to_str().unwrap(), "--as-of", "2026-03-03T12:01:00Z", "--out", out]);
    assert!(code == Some(0) && !text.contains(['\u{1b}', '\u{202e}']), "{text:?}");
    let json = format!("{out}/report.json");
    let (code, text) = said(&["--verify", &json]);
    assert!(code == Some(2) && text.contains("name the inputs"), "{text}");
    let (code, text) = said(&["--verify", &json, odd.to_str().unwrap()]);
    assert_eq!(code, Some(0), "{text}");

    for (program, name) in [("gzip", "cut.ndjson.gz"), ("zstd", "cut.ndjson.zst")] {
        let packed = std::process::Command::new(program).arg("-c").arg(&odd).output();
        let Ok(packed) = packed else {
            eprintln!("skipped: no {program} on this system");
            continue;
        };
        let cut = dir.write(name, &packed.stdout[..packed.stdout.len() * 2 / 3]);
        let (code, text) = said(&[cut.to_str().unwrap(), "--clock", "record", "--out", out]);
        assert!(code == Some(3) && text.contains("PARTIAL") && text.contains("end too early"), "{text}");
        let (code, text) = said(&["--verify", &json]);
        assert!(code == Some(2) && text.contains("partial"), "{text}");
    }
}

/// All repetitions lie in one burst, whose beginning is shown.
fn check_burst(report: &Value) {
    assert_eq!(report["repeats"]["bursts"], 1);
    let burst = findings(report, "replay-burst")[0];
    assert_eq!(burst["count"], 31);
    assert_eq!(burst["examples"][0]["place"], report["repeats"]["largest"][0]["from"]);
}

/// Limits count everything, not only what is listed as findings.
#[test]
fn limits_count_more_than_is_listed() {
    let dir = TempDir::new("audit-fail-on");
    let mut lines = Vec::new();
    for number in 0..2600_i64 {
        // One record in four has a clock that is ahead; 25 senders share them.
        let is_off = number % 4 == 3;
        let from = if is_off { format!("off-{}", number / 4 % 25) } else { "right".to_owned() };
        let ahead = if is_off { 900 } else { 0 };
        lines.push(agh(&format!("m{number}"), &from, "worker", 1_775_600_000 + number + ahead, &json!({})));
    }
    let input = dir.write("in.ndjson", ndjson(&lines));
    let input = input.to_str().unwrap();
    let report = report(&[input, "--clock", "record"]);
    let listed: u64 = findings(&report, "clock-skew").iter().map(|row| row["count"].as_u64().unwrap()).sum();
    assert_eq!((findings(&report, "clock-skew").len(), report["skew"].as_array().unwrap().len()), (20, 25));
    let skewed = findings(&report, "clock-skew")[0];
    assert!(skewed["examples"][0]["place"].as_str().unwrap().contains("in.ndjson:"), "{skewed}");
    for (limit, code) in [(listed, 1), (listed * 2, 0)] {
        let limit = format!("clock-skew={limit}");
        assert_eq!(said(&[input, "--clock", "record", "--fail-on", &limit]).0, Some(code), "{limit}");
    }
    // Thirty senders of whom nothing holds.
    let lines: Vec<Value> = (0..900_i64)
        .map(|number| {
            let from = format!("broken-{}", number % 30);
            agh(
                &format!("b{number}"),
                &from,
                "worker",
                1_775_600_000 + number,
                &json!({ "kind": "nonsense" }),
            )
        })
        .collect();
    let input = dir.write("broken.ndjson", ndjson(&lines));
    let input = input.to_str().unwrap();
    let report = crate::audit::report(&[input, "--clock", "record"]);
    assert_eq!(findings(&report, "failing-sender").len(), 20);
    for (limit, code) in [(600, 1), (899, 1), (900, 0)] {
        let limit = format!("failing-sender={limit}");
        assert_eq!(said(&[input, "--clock", "record", "--fail-on", &limit]).0, Some(code), "{limit}");
    }
    // Thirty members appear, one after the other.
    let lines: Vec<Value> = (0..3000_i64)
        .map(|number| {
            let members = (0..number / 100).map(|member| (format!("new-{member}"), json!(1)));
            let ext = Value::Object(members.collect());
            agh(&format!("d{number}"), "a", "worker", 1_775_600_000 + number, &json!({ "ext": ext }))
        })
        .collect();
    let input = dir.write("drift.ndjson", ndjson(&lines));
    let input = input.to_str().unwrap();
    let report = crate::audit::report(&[input, "--clock", "record"]);
    let listed: u64 =
        findings(&report, "schema-drift").iter().map(|row| row["count"].as_u64().unwrap()).sum();
    let all: u64 =
        report["drift"].as_array().unwrap().iter().map(|row| row["records"].as_u64().unwrap()).sum();
    assert!(findings(&report, "schema-drift").len() == 20 && all > listed, "{all} {listed}");
    for (limit, code) in [(listed, 1), (all, 0)] {
        let limit = format!("schema-drift={limit}");
        assert_eq!(said(&[input, "--clock", "record", "--fail-on", &limit]).0, Some(code), "{limit}");
    }
}

#[test]
fn what_has_no_row_is_told() {
    let dir = TempDir::new("audit-no-row");
    let members: serde_json::Map<_, _> = (0..220).map(|member| (format!("new-{member}"), json!(1))).collect();
    let lines: Vec<Value> = (0..1000_i64)
        .map(|number| {
            let ext = if number < 500 { json!({ "old": 1 }) } else { json!(members) };
            agh(&format!("e{number}"), "a", "worker", 1_775_600_000 + number, &json!({ "ext": ext }))
        })
        .collect();
    let input = dir.write("many.ndjson", ndjson(&lines));
    let report = crate::audit::report(&[input.to_str().unwrap(), "--clock", "record"]);
    assert_eq!(report["drift"].as_array().unwrap().len(), 200);
    assert_eq!(report["limits"]["drift_unlisted"], 21, "220 that appear, and one that vanishes");
    let notes = report["limits"]["notes"].to_string();
    assert!(notes.contains("Of 221 members that appear or vanish 200 are listed"), "{notes}");
}
