//! How audits begin and end: what they may write over, what is left when they are cut off, what a report is held to.

use std::fs;
use std::io::Read as _;
use std::process::Stdio;
use std::time::Duration;

use serde_json::{Value, json};

use super::audit::{alfred, audit, key_pair, ndjson, report, said};
use crate::cli::{TempDir, signal, tollgate};

fn requests(numbers: std::ops::Range<u64>) -> String {
    ndjson(&numbers.map(|number| alfred(number, "TASK_REQUEST", number, "a", "b")).collect::<Vec<_>>())
}

/// An output that is an input, or another output, is refused before anything is read.
#[test]
fn nothing_is_written_over() {
    let dir = TempDir::new("audit-over");
    let path = |name: &str| dir.path().join(name).to_str().unwrap().to_owned();
    let (input, out) = (path("in.ndjson"), path("out"));
    fs::create_dir(&out).unwrap();
    for name in ["in.ndjson", "state.new", "out/report.json"] {
        dir.write(name, requests(0..3));
    }
    let cases: [&[&str]; 5] = [
        &[&path("out/report.json"), "--out", &out],
        &[&out, "--out", &out],
        &[&path("state.new"), "--state", &path("state")],
        &[&input, "--out", &out, "--accepted", &path("out/report.html")],
        &[&input, "--state", &path("same"), "--rejected", &path("same")],
    ];
    for args in cases {
        assert_eq!(said(args).0, Some(2), "{args:?}: {}", said(args).1);
    }
    for name in ["in.ndjson", "state.new", "out/report.json"] {
        assert_eq!(fs::read_to_string(path(name)).unwrap(), requests(0..3), "{name}");
    }
    let (code, text) = said(&[&input, &input, "--clock", "record"]);
    assert!(code == Some(0) && text.contains("named more than once"), "{text}");
}

#[test]
fn what_makes_no_sense_is_refused() {
    let dir = TempDir::new("audit-senseless");
    let input = dir.write("in.ndjson", requests(0..3));
    let input = input.to_str().unwrap();
    let (_, public) = key_pair(&dir);
    let cases: [(&[&str], &str); 7] = [
        (&[input, "--sign-key", public.to_str().unwrap()], "found a public key"),
        (&["-", "-"], "standard input"),
        (&[input, "--accepted", "-", "--json"], "--json"),
        (&[input, "--accepted", "/nowhere/yes.ndjson"], "/nowhere"),
        (&[input, "--brokers", "localhost:1"], "--brokers"),
        (&[input, "--fail-on", "bad-signatur=1"], "did you mean `bad-signature`?"),
        (&["--verify", input, "--fail-on", "rejected=1"], "--fail-on"),
    ];
    for (args, said_so) in cases {
        let (code, text) = said(args);
        assert!(code == Some(2) && text.contains(said_so), "{args:?}: {text}");
    }
}

/// One way that fails costs no other: limits decide with a closed pipe, and a full disk leaves a report.
#[test]
fn one_failure_costs_nothing_else() {
    let dir = TempDir::new("audit-failing");
    let input = dir.write("in.ndjson", requests(0..50) + "{\"x\":1}\n");
    let input = input.to_str().unwrap();
    let mut child = tollgate()
        .args(["audit", input, "--json", "--fail-on", "rejected=0"])
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    drop(child.stdout.take());
    let mut text = String::new();
    child.stderr.take().unwrap().read_to_string(&mut text).unwrap();
    assert_eq!(child.wait().unwrap().code(), Some(1), "{text}");
    assert!(text.contains("--fail-on rejected: found 1"), "{text}");

    let out = dir.path().join("out");
    let args = [input, "--accepted", "/dev/full", "--out", out.to_str().unwrap()];
    let (code, text) = said(&args);
    assert_eq!(code, Some(3), "{text}");
    let left: Value = serde_json::from_slice(&fs::read(out.join("report.json")).unwrap()).unwrap();
    let because = left["scope"]["incomplete_because"].as_str().unwrap();
    assert!(left["scope"]["complete"] == false && because.contains("/dev/full"), "{because}");

    // A warning of this profile is a reject of another.
    let copies = dir.write("copies.ndjson", requests(0..2) + &requests(0..1));
    let config = dir.write("warn.toml", "[window]\nreplay = \"warn\"\n");
    let args = ["--config", config.to_str().unwrap(), "--fail-on", "duplicate=0"];
    let (code, text) = said(&[&[copies.to_str().unwrap()], &args[..]].concat());
    assert!(code == Some(1) && text.contains("duplicate: found 1"), "{text}");

    // What may be missing is for the user to say.
    let cut = dir.write("cut.ndjson.gz", b"\x1f\x8b\x08\x00".as_slice());
    let unread = [input, cut.to_str().unwrap()];
    assert_eq!(said(&unread).0, Some(3));
    assert_eq!(said(&[&unread[..], &["--fail-on", "input-not-read=1"]].concat()).0, Some(0));
    assert_eq!(said(&[&unread[..], &["--fail-on", "input-not-read=0"]].concat()).0, Some(1));
}

/// A line without end must not keep anybody from stopping.
#[test]
fn an_endless_line_can_be_stopped() {
    let child = tollgate()
        .args(["audit", "/dev/zero", "--json"])
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    std::thread::sleep(Duration::from_millis(1500));
    signal(&child, "-INT");
    let report: Value = serde_json::from_slice(&child.wait_with_output().unwrap().stdout).unwrap();
    assert_eq!((&report["scope"]["complete"], &report["totals"]["records"]), (&json!(false), &json!(0)));
}

/// A state goes on only from a whole audit: whoever reads a part again would find copies alone.
#[test]
fn a_part_of_an_audit_leaves_the_state_as_it_was() {
    let dir = TempDir::new("audit-part");
    let input = dir.write("in.ndjson", requests(0..5));
    let cut = dir.write("cut.ndjson.gz", b"\x1f\x8b\x08\x00".as_slice());
    let state = dir.path().join("state");
    let args = [input.to_str().unwrap(), cut.to_str().unwrap(), "--state", state.to_str().unwrap()];
    let (code, text) = said(&args);
    assert!(code == Some(3) && text.contains("left as it was"), "{text}");
    assert!(!state.exists());
}

/// Every member is held to what the audit finds now, wherever the files lie.
#[test]
fn a_report_is_held_to_all_that_it_says() {
    let dir = TempDir::new("audit-held");
    let text = |path: std::path::PathBuf| path.to_str().unwrap().to_owned();
    let input = text(dir.write("in.ndjson", requests(0..20) + "{\"x\":1}\n"));
    let out = text(dir.path().join("out"));
    assert!(audit(&[&input, "--profile", "lenient", "--out", &out]).status.success());
    let json = format!("{out}/report.json");
    let whole: Value = serde_json::from_slice(&fs::read(&json).unwrap()).unwrap();
    let verify = |report: &Value, more: &[&str]| {
        fs::write(&json, report.to_string()).unwrap();
        said(&[&["--verify", &json], more].concat())
    };
    // The profile is the report's.
    assert_eq!(verify(&whole, &[]).0, Some(0), "{}", verify(&whole, &[]).1);
    let edits: [(&str, Value); 7] = [
        ("/inputs/0/rejected", json!(7)),
        ("/inputs/0/last", json!(7)),
        ("/inputs/0/kind", json!("partition of nothing")),
        ("/rules/unchecked", json!(["everything"])),
        ("/limits/notes", json!(["all is exact"])),
        ("/limits/ids_evicted", json!(3)),
        ("/scope/sample_one_in", json!(0)),
    ];
    for (pointer, value) in edits {
        let mut report = whole.clone();
        match report.pointer_mut(pointer) {
            Some(place) => *place = value,
            None => report["scope"]["sample_one_in"] = value,
        }
        let (code, text) = verify(&report, &[]);
        assert!(code == Some(1), "{pointer}: {text}");
    }
    let moved = text(dir.write("moved.ndjson", fs::read(&input).unwrap()));
    fs::remove_file(&input).unwrap();
    let (code, text) = verify(&whole, &[&moved]);
    assert!(code == Some(0) && text.contains("the same: 21 records"), "{text}");
    let (code, text) = verify(&whole, &[&moved, "--state", "nowhere"]);
    assert!(code == Some(2) && text.contains("nowhere"), "{text}");
    assert_eq!(report(&[&moved])["totals"]["records"], 21);
}

/// Within one run contents are compared by a hash of its own: what is a copy and what a conflict stays the same.
#[test]
fn copies_and_conflicts_are_told_apart_with_and_without_a_state() {
    let dir = TempDir::new("audit-tags");
    let state = dir.path().join("state");
    let conflict = alfred(3, "TASK_REQUEST", 3, "a", "somebody else");
    let input = dir.write("in.ndjson", requests(0..20) + &requests(5..10) + &ndjson(&[conflict]));
    let input = input.to_str().unwrap();
    for more in [&[][..], &["--state", state.to_str().unwrap()]] {
        let found = report(&[&[input], more].concat());
        let repeats = (&found["repeats"]["duplicates"], &found["repeats"]["conflicts"]);
        assert_eq!(repeats, (&json!(5), &json!(1)), "{more:?}");
    }
}
