//! Formats of the user's own: any JSON Schema, through every command.

use std::fs;

use super::cli::{TempDir, tollgate};

const SCHEMA: &str = r#"{"type":"object","required":["kind","id"],
    "properties":{"kind":{"const":"order"},"id":{"$ref":"https://example.com/defs/id.json"},"body":{},"at":{},"n":{}}}"#;

fn workspace(name: &str, section: &str) -> TempDir {
    let dir = TempDir::new(name);
    fs::create_dir_all(dir.path().join("defs")).unwrap();
    dir.write("defs/id.json", r#"{"type":"string","pattern":"^o-[0-9]+$"}"#);
    dir.write("order.json", SCHEMA);
    dir.write("tollgate.toml", section);
    dir
}

const ORDERS: &str = "[format.orders]\nschema = \"order.json\"\nmap = { \"https://example.com/defs\" = \"defs\" }\n\
                      detect = { member = \"/kind\", equals = \"order\" }\nid = \"/id\"\n";

fn run(dir: &TempDir, args: &[&str]) -> (i32, String, String) {
    let output = tollgate().current_dir(dir.path()).args(args).output().unwrap();
    let text = |bytes: &[u8]| String::from_utf8(bytes.to_vec()).unwrap();
    (output.status.code().unwrap_or(-1), text(&output.stdout), text(&output.stderr))
}

/// The reason of each line, in a run of `check --json`.
fn reasons(dir: &TempDir, lines: &str, more: &[&str]) -> Vec<(String, String)> {
    dir.write("in.ndjson", lines);
    let (code, out, err) =
        run(dir, &[&["check", "--apart", "--json", "--config", "tollgate.toml", "in.ndjson"], more].concat());
    assert!(code <= 1, "{err}");
    let value = |line: &str| serde_json::from_str::<serde_json::Value>(line).unwrap();
    let text = |value: &serde_json::Value| value.as_str().unwrap_or("-").to_owned();
    out.lines().map(value).map(|line| (text(&line["reason"]), text(&line["format"]))).collect()
}

fn pairs(wanted: &[(&str, &str)]) -> Vec<(String, String)> {
    wanted.iter().map(|(reason, format)| ((*reason).to_owned(), (*format).to_owned())).collect()
}

#[test]
fn a_member_with_a_constant_tells_them_from_the_built_in_ones() {
    let dir = workspace("own-member", ORDERS);
    let lines = concat!(
        r#"{"kind":"order","id":"o-1"}"#,
        "\n",
        // `kind` and `body` claim agh, too; the user's schema speaks of them, so they are not foreign.
        r#"{"kind":"order","id":"o-1","body":{}}"#,
        "\n",
        // A built-in format's member that the user's schema does not know.
        r#"{"kind":"order","id":"o-1","persona":"x"}"#,
        "\n",
        r#"{"kind":"order","id":"x"}"#,
        "\n",
        r#"{"kind":"say","id":"o-1"}"#,
        "\n",
        r#"{"kynd":"order","id":"o-1"}"#,
        "\n",
        r#"{"kind":"order","id":"o-1","n":1e999}"#,
        "\n",
    );
    let wanted = [
        ("ok", "orders"),
        ("ok", "orders"),
        ("ambiguous-format", "-"),
        ("bad-pattern", "orders"),
        ("missing-field", "agh"),
        ("unknown-format", "-"),
        ("number-range", "orders"),
    ];
    assert_eq!(reasons(&dir, lines, &[]), pairs(&wanted));
    // Pinned, the schema alone decides.
    let lines = concat!(r#"{"kind":"order","id":"o-1","persona":"x"}"#, "\n", r#"{"id":"o-1"}"#, "\n");
    let wanted = pairs(&[("ok", "orders"), ("missing-field", "orders")]);
    assert_eq!(reasons(&dir, lines, &["--format", "orders"]), wanted);
}

#[test]
fn headers_reports_and_cases_know_them() {
    let dir = workspace("own-run", ORDERS);
    dir.write("in.ndjson", "{\"kind\":\"order\",\"id\":\"o-1\"}\n{\"kind\":\"order\",\"id\":1}\n");
    let (code, out, err) = run(
        &dir,
        &["run", "--json", "--config", "tollgate.toml", "in.ndjson", "--accepted", "a", "--rejected", "r"],
    );
    assert_eq!(code, 0, "{err}");
    let summary: serde_json::Value = serde_json::from_str(&out).unwrap();
    assert_eq!(summary["accepted_by_format"]["orders"], 1, "{out}");
    let rejected = fs::read_to_string(dir.path().join("r")).unwrap();
    assert!(rejected.contains(r#""reason":"wrong-type","format":"orders","at":"/id""#), "{rejected}");
    dir.write(
        "cases.jsonl",
        concat!(
            r#"{"format":"orders","name":"a","envelope":{"kind":"order","id":"o-1"},"expect":"accept","reason":"ok"}"#, "\n",
            r#"{"format":"orders","name":"b","envelope":{"kind":"order","at":1},"expect":"reject","reason":"missing-field"}"#, "\n",
        ),
    );
    let (code, out, err) = run(&dir, &["test", "--config", "tollgate.toml", "cases.jsonl"]);
    assert_eq!((code, out.trim()), (0, "4 passed, 0 failed, 0 skipped"), "{err}");
    let (code, out, _) = run(&dir, &["config", "--config", "tollgate.toml"]);
    assert!(code == 0 && out.contains("[format.orders]"), "{out}");
}

#[test]
fn time_and_signature_are_checked() {
    let section = "[format.orders]\nschema = \"order.json\"\nmap = { \"https://example.com/defs/\" = \"defs\" }\n\
                   timestamp = \"/at\"\ntimestamp_form = \"unix_s\"\nmax_age_s = 10\nmax_skew_s = 5\n\
                   signature = \"/body/tag\"\nsignature_key = \"${KEY:-k}\"\nsignature_encoding = \"base64\"\n";
    let dir = workspace("own-time", section);
    let case = |name: &str, envelope: &str, verdict: &str, reason: &str| {
        format!(
            r#"{{"format":"orders","name":"{name}","envelope":{envelope},"now":1000,"expect":"{verdict}","reason":"{reason}"}}"#
        )
    };
    // HMAC-SHA256 under the key "k" of {"at":1000,"body":{"x":1},"id":"o-1","kind":"order"}.
    let tag = "IIQvSAocYQAdn+rmdBwGrnt2tfQEqLTrVB9D9VA9ca8=";
    let signed = |at: i64, tag: &str| {
        format!(r#"{{"kind":"order","id":"o-1","at":{at},"body":{{"tag":"{tag}","x":1.0}}}}"#)
    };
    let cases = [
        case("good", &signed(1000, tag), "accept", "ok"),
        case("stale", &signed(989, tag), "reject", "stale"),
        case("future", &signed(1006, tag), "reject", "future"),
        case("no-time", r#"{"kind":"order","id":"o-1"}"#, "reject", "missing-field"),
        case("text-time", r#"{"kind":"order","id":"o-1","at":"1000"}"#, "reject", "bad-format"),
        case("changed", &signed(1001, tag), "reject", "bad-signature"),
        case("hex", &signed(1000, &"0".repeat(64)), "reject", "bad-signature"),
        case("empty", &signed(1000, ""), "reject", "unsigned"),
        case("unsigned", r#"{"kind":"order","id":"o-1","at":1000}"#, "reject", "unsigned"),
        case(
            "inexact",
            &format!(
                r#"{{"kind":"order","id":"o-1","at":1000,"n":9007199254740993,"body":{{"tag":"{tag}"}}}}"#
            ),
            "reject",
            "number-range",
        ),
    ];
    dir.write("cases.jsonl", cases.join("\n"));
    let (code, out, err) = run(&dir, &["test", "--config", "tollgate.toml", "cases.jsonl"]);
    assert_eq!((code, out.trim()), (0, "20 passed, 0 failed, 0 skipped"), "{err}");
}

#[test]
fn whole_numbers_count_in_any_spelling_and_days_must_be_of_the_calendar() {
    let section = "[format.numbered]\nschema = \"open.json\"\ndetect = { member = \"v\", equals = 1 }\nid = \"/id\"\n\
                   timestamp = \"/at\"\ntimestamp_form = \"unix_s\"\n\
                   [format.dated]\nschema = \"open.json\"\ndetect = { member = \"v\", equals = 2 }\ntimestamp = \"/at\"\n";
    let dir = workspace("own-numbers", section);
    dir.write("open.json", "{}");
    let lines = [
        r#"{"v":1,"id":7,"at":1772539200}"#,
        r#"{"v":1.0,"id":7.0,"at":1772539200.0}"#,
        r#"{"v":10e-1,"id":18446744073709551615,"at":1.7725392e9}"#,
        r#"{"v":1,"id":7.5,"at":1772539200}"#,
        r#"{"v":1,"id":7,"at":1772539200.5}"#,
        r#"{"v":true,"id":7,"at":1772539200}"#,
        r#"{"v":2,"at":"2026-03-03T12:00:00Z"}"#,
        r#"{"v":2,"at":"2026-02-31T12:00:00Z"}"#,
        r#"{"v":2,"at":"2026-03-03T11:59:60Z"}"#,
    ];
    let wanted = [
        ("ok", "numbered"),
        ("ok", "numbered"),
        ("ok", "numbered"),
        ("missing-field", "numbered"),
        ("bad-format", "numbered"),
        ("unknown-format", "-"),
        ("ok", "dated"),
        ("bad-format", "dated"),
        ("bad-format", "dated"),
    ];
    let clock = ["--as-of", "2026-03-03T12:00:00Z"];
    assert_eq!(reasons(&dir, &lines.join("\n"), &clock), pairs(&wanted));
}

#[test]
fn errors_name_file_key_found_and_allowed() {
    let error = |name: &str, section: &str, schema: &str| {
        let dir = workspace(name, section);
        dir.write("order.json", schema);
        let (code, _, err) = run(&dir, &["config", "--config", "tollgate.toml"]);
        assert_eq!(code, 2, "{err}");
        err
    };
    let err = error("own-e1", ORDERS, r#"{"type":"objekt"}"#);
    assert!(err.contains("order.json") && err.contains("/type") && err.contains("objekt"), "{err}");
    let err = error("own-e2", ORDERS, SCHEMA.replace("defs/id", "other/id").as_str());
    assert!(err.contains("order.json") && err.contains("other/id.json"), "{err}");
    let err = error("own-e3", "[format.orders]\nschema = \"none.json\"\n", SCHEMA);
    assert!(err.contains("format.orders.schema") && err.contains("none.json"), "{err}");
    let err = error("own-e4", &format!("{ORDERS}timestamp = \"at\"\n"), SCHEMA);
    assert!(err.contains("`format.orders.timestamp`: found \"at\", allowed: a JSON pointer"), "{err}");
    let err = error("own-e5", &ORDERS.replace("equals", "value"), SCHEMA);
    assert!(err.contains("format.orders.detect") && err.contains("`value`"), "{err}");
    let err = error("own-e6", &format!("{ORDERS}[limits]\nschema_ops_max = 1\n"), SCHEMA);
    assert!(err.contains("order.json") && err.contains('1'), "{err}");
    let err = error("own-e7", &format!("{ORDERS}[rules]\nformat = \"order\"\n"), SCHEMA);
    assert!(err.contains("tollgate.toml: `rules.format`: found `order`") && err.contains("orders"), "{err}");
    let err = error("own-e8", &format!("{ORDERS}signature = \"/body/tag\"\n"), SCHEMA);
    assert!(err.contains("`signature` together with `signature_key`"), "{err}");
    let topics = "[topic_formats]\na = \"agh\"\n[format.orders]\nschema = \"order.json\"\ndetect = { topic = \"a\" }\n\
                  map = { \"https://example.com/defs\" = \"defs\" }\n";
    let err = error("own-e9", topics, SCHEMA);
    assert!(err.contains("format.orders.detect.topics") && err.contains("agh"), "{err}");
}

#[test]
fn the_example_works() {
    let output = tollgate()
        .args(["check", "--config", "configs/examples/own-format.toml", "configs/examples/order.json"])
        .output()
        .unwrap();
    let out = String::from_utf8(output.stdout).unwrap();
    assert!(output.status.success() && out.contains("accepted  (orders, profile page)"), "{out}");
}
