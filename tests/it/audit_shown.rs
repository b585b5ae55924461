//! What a report shows of records: no credentials, nothing forged, and lines that fit the terminal.

use std::fs;
use std::process::Stdio;

use serde_json::{Value, json};
use tollgate::audit::report::Report;
use tollgate::audit::text::{Style, render};

use crate::cli::{TempDir, tollgate};

/// Every form of the report of these records, the terminal's among them.
fn forms(name: &str, lines: &[Value]) -> Vec<(&'static str, String)> {
    let dir = TempDir::new(name);
    let input =
        dir.write("in.ndjson", lines.iter().fold(String::new(), |text, line| format!("{text}{line}\n")));
    let out = dir.path().join("report");
    let output = tollgate()
        .args(["audit", input.to_str().unwrap(), "--clock", "record", "--out", out.to_str().unwrap()])
        .stdin(Stdio::null())
        .output()
        .unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let files = ["report.json", "report.html", "findings.ndjson", "findings.csv"];
    let mut forms = files.map(|name| (name, fs::read_to_string(out.join(name)).unwrap())).to_vec();
    forms.push(("terminal", String::from_utf8(output.stdout).unwrap()));
    forms
}

fn agh(number: usize, from: &str) -> Value {
    json!({"protocol": "agh-network/v0", "id": format!("m{number}"), "workspace_id": "ws_a", "kind": "say",
        "channel": "builders", "surface": "thread", "thread_id": "thread_abc", "from": from, "to": "worker",
        "ts": 1_775_600_000 + 3600 * number, "body": {"text": "hi"}})
}

/// A credential at every place that a label, a name or a pointer is taken from.
#[test]
fn no_form_shows_a_credential_that_stands_where_a_label_does() {
    let mut lines = Vec::new();
    let mut secrets = 0;
    let mut secret = || {
        secrets += 1;
        Value::from(format!("sk-live-LEAKED{secrets:03}"))
    };
    for pointer in ["/from", "/to", "/workspace_id", "/kind", "/channel", "/id"] {
        let mut record = agh(lines.len(), "peer-1");
        *record.pointer_mut(pointer).unwrap() = secret();
        lines.push(record);
    }
    let alfred = json!({"envelope": {"metadata": {"id": "00000001-0000-4000-8000-000000000000", "version": "2.1.0",
        "timestamp": "2026-03-03T12:00:00Z"}, "security": {"auth_token": "e30.e30.c2ln", "tenant_id": "tenant-9"},
        "routing": {"source": {"agent_id": "a", "service_id": "s"}, "destination": {"agent_id": "b", "service_id": "s"}}},
        "message": {"type": "TASK_REQUEST", "intent": "ANALYSE", "payload": {"a": 1}}});
    for pointer in [
        "/envelope/routing/source/agent_id",
        "/envelope/routing/destination/agent_id",
        "/envelope/security/tenant_id",
        "/envelope/metadata/version",
        "/message/type",
        "/message/intent",
    ] {
        let mut record = alfred.clone();
        *record.pointer_mut(pointer).unwrap() = secret();
        lines.push(record);
    }
    for at in ["", "/message", "/envelope/security"] {
        let mut record = alfred.clone();
        record.pointer_mut(at).unwrap()[secret().as_str().unwrap()] =
            json!([{secret().as_str().unwrap(): 1}]);
        record["message"]["type"] = "NONSENSE".into();
        lines.push(record);
    }
    // A member that appears.
    for number in 0..100 {
        let mut record = agh(100 + number, "peer-2");
        if number >= 50 {
            record["ext"] = json!({"sk-live-LEAKEDLATE1": {"x": 1}});
        }
        lines.push(record);
    }
    for (name, text) in forms("audit-labels", &lines) {
        assert!(
            !text.contains("LEAKED"),
            "{name} shows {:?}",
            text.lines().find(|line| line.contains("LEAKED"))
        );
        assert!(name.starts_with("findings") || text.contains("peer-2"), "{name} shows ordinary names");
    }
}

#[test]
fn lines_fit_every_width_and_hours_are_told() {
    let mut lines: Vec<Value> = (0..60).map(|number| agh(number, &format!("peer-{}", number % 13))).collect();
    lines.push(agh(1, &"wide".repeat(30)));
    lines.push(json!({"x": 1}));
    let forms = forms("audit-widths", &lines);
    let report: Report = serde_json::from_str(&forms[0].1).unwrap();
    for width in 20..=120 {
        for colours in [false, true] {
            let text = render(&report, Style { width, colours });
            for line in text.lines() {
                assert!(console::measure_text_width(line) <= width, "{width}: {line}");
            }
        }
    }
    let text = render(&report, Style { width: 80, colours: false });
    assert!(text.contains("hour of sending (60)") && text.contains("2026-04-07 22:00"), "{text}");
    assert!(forms[1].1.contains("<section id=\"hours\">"));
}
