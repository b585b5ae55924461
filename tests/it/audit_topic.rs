//! An audit of a topic's range on a real broker says what the audit of the same records in a file says.

use std::fs;
use std::process::Stdio;

use rdkafka::producer::{BaseProducer, BaseRecord, Producer as _};
use serde_json::{Value, json};

use crate::cli::{TempDir, tollgate};
use crate::kafka::{Topics, WAIT, brokers};

fn report(args: &[&str]) -> Value {
    let output = tollgate()
        .args(["audit", "--clock", "record", "--json"])
        .args(args)
        .stdin(Stdio::null())
        .output()
        .unwrap();
    assert!(output.status.success(), "{args:?}: {}", String::from_utf8_lossy(&output.stderr));
    serde_json::from_slice(&output.stdout).unwrap()
}

/// What must not depend on where records were read.
fn essence(report: &Value) -> Value {
    let counts = |rows: &Value, key: &str| -> Vec<Value> {
        rows.as_array()
            .unwrap()
            .iter()
            .map(|row| json!([row[key], row["records"], row["count"], row["rejected"]]))
            .collect()
    };
    json!({
        "totals": report["totals"]["records"], "accepted": report["totals"]["accepted"], "warned": report["totals"]["warned"],
        "formats": report["formats"], "sizes": report["sizes"], "hours": report["hours"],
        "reasons": counts(&report["reasons"], "reason"), "warnings": counts(&report["warnings"], "reason"),
        "senders": counts(&report["senders"]["rows"], "key"), "pairs": counts(&report["pairs"]["rows"], "key"),
        "subjects": counts(&report["subjects"]["rows"], "key"), "tenants": counts(&report["tenants"]["rows"], "key"),
        "repeats": [report["repeats"]["duplicates"], report["repeats"]["conflicts"], report["repeats"]["bursts"]],
        "requests": [report["sequences"]["requests"], report["sequences"]["answered"], report["sequences"]["work_opened"]],
        "drift": counts(&report["drift"], "member"),
    })
}

#[test]
fn a_topic_range_gives_the_findings_of_the_same_records_in_a_file() {
    let Some(brokers) = brokers() else { return };
    let dir = TempDir::new("audit-topic");
    let path = |name: &str| dir.path().join(name).to_str().unwrap().to_owned();
    let made = tollgate()
        .args(["generate", "--records", "3000", "--mix", "configs/mixes/everything.toml"])
        .args(["--out", &path("all.ndjson"), "--kit", &path("kit")])
        .output()
        .unwrap();
    assert!(made.status.success(), "{}", String::from_utf8_lossy(&made.stderr));
    let lines = fs::read(path("all.ndjson")).unwrap();
    let lines: Vec<&[u8]> =
        lines.split(|byte| *byte == b'\n').filter(|line| !line.trim_ascii().is_empty()).collect();
    // The broker holds more than the range.
    let range = 500..lines.len() - 300;
    let mut part = lines[range.clone()].join(&b'\n');
    part.push(b'\n');
    let file = dir.write("part.ndjson", part);
    let file = file.to_str().unwrap();

    let topics = Topics::create(brokers, &format!("audit-{}", std::process::id()));
    let producer: BaseProducer = topics.client().set("enable.idempotence", "true").create().unwrap();
    for line in &lines {
        // A file's records have its path as their key.
        let record = BaseRecord::to(&topics.input).partition(0).key(file).payload(*line);
        producer.send(record).unwrap();
        producer.poll(std::time::Duration::ZERO);
    }
    producer.flush(WAIT).unwrap();

    let config = path("kit/tollgate.toml");
    let of_file = report(&[file, "--config", &config]);
    let wanted = format!("{}@{}..{}", topics.input, range.start, range.end);
    let of_topic = report(&["--brokers", brokers, "--topic", &wanted, "--config", &config]);
    assert_eq!(essence(&of_topic), essence(&of_file));
    assert!(of_file["totals"]["rejected"].as_u64().unwrap() > 50);
    let input = &of_topic["inputs"][0];
    let expected =
        json!([format!("{}/0", topics.input), "partition", range.start, range.end - 1, range.len()]);
    assert_eq!(
        json!([input["name"], input["kind"], input["first"], input["last"], input["records"]]),
        expected
    );
    let place = of_topic["repeats"]["rows"][0]["again"].as_str().unwrap();
    assert!(place.starts_with(&format!("{}/0/", topics.input)), "{place}");
    assert!(of_topic["latency"]["count"].as_u64().unwrap() > 0, "records of a topic have stamps");
    // Again, with another number of workers.
    let again = report(&["--brokers", brokers, "--topic", &wanted, "--config", &config, "--workers", "3"]);
    assert_eq!(again["digest"], of_topic["digest"]);
    assert_eq!(again["inputs"], of_topic["inputs"]);
}

/// Which of two copies in two partitions is the first must not depend on what arrives first.
#[test]
fn partitions_are_read_in_one_order_however_they_are_fetched() {
    let Some(brokers) = brokers() else { return };
    let dir = TempDir::new("audit-turns");
    let stream = dir.path().join("all.ndjson");
    let (stream, kit) = (stream.to_str().unwrap(), dir.path().join("kit"));
    let made = tollgate()
        .args(["generate", "--records", "4000", "--mix", "configs/mixes/everything.toml", "--out", stream])
        .args(["--kit", kit.to_str().unwrap()])
        .output()
        .unwrap();
    assert!(made.status.success(), "{}", String::from_utf8_lossy(&made.stderr));
    let topics = Topics::create(brokers, &format!("audit-turns-{}", std::process::id()));
    let producer: BaseProducer = topics.client().create().unwrap();
    // Every record in every partition: only the order tells which copy counts.
    for line in fs::read_to_string(stream).unwrap().lines() {
        for partition in 0..3 {
            let record = BaseRecord::to(&topics.input).partition(partition).key("k").payload(line);
            producer.send(record).unwrap();
        }
        producer.poll(std::time::Duration::ZERO);
    }
    producer.flush(WAIT).unwrap();
    let kit = fs::read_to_string(kit.join("tollgate.toml")).unwrap();
    let digest = |name: &str, fetch: &str, workers: &str| {
        // The keys lie beside the kit's own configuration.
        let config = dir.write(&format!("kit/{name}.toml"), format!("{kit}\n[librdkafka]\n{fetch}"));
        let of = report(&[
            "--brokers",
            brokers,
            "--topic",
            &topics.input,
            "--config",
            config.to_str().unwrap(),
            "--workers",
            workers,
        ]);
        assert!(of["repeats"]["duplicates"].as_u64().unwrap() > 2000);
        of["digest"].clone()
    };
    let whole = digest("large", "", "1");
    assert_eq!(digest("small", "\"fetch.message.max.bytes\" = \"20000\"\n", "2"), whole);
    assert_eq!(digest("tiny", "\"fetch.message.max.bytes\" = \"2000\"\n", "3"), whole);
}
