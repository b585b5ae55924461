//! Candidate rules beside the live ones on a real Apache Kafka: outputs stay as they are, and the report names exactly the
//! records that would change, each once, also when a transaction is aborted and its records come again. See `kafka.rs`.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::net::{SocketAddr, TcpListener};

use rdkafka::admin::{AdminClient, AdminOptions, AlterConfig, ResourceSpecifier};
use rdkafka::client::DefaultClientContext;
use rdkafka::message::{Header, OwnedHeaders};
use rdkafka::producer::{BaseProducer, BaseRecord, Producer as _};
use serde_json::Value;

use crate::kafka::{Filter, PARTITIONS, WAIT, block_on, brokers, wait_for};
use crate::survival::Orders;

/// Takes texts as ids, which the live rules do not, and no long padding, which they do.
const CANDIDATE: &str = r#"{"type":"object","required":["id"],
    "properties":{"id":{"type":["integer","string"]},"pad":{"maxLength":50}}}"#;
const RECORDS: u64 = 8000;
const REFUSED: u64 = 4003;

/// Payload of a record, why the live rules reject it, and why the candidate would.
fn record(number: u64) -> (String, &'static str, &'static str) {
    let pad = |bytes: usize| "x".repeat(bytes);
    match number % 40 {
        5 => (format!("{{\"id\":{number},\"pad\":\"{}\"}}", pad(60)), "ok", "too-long"),
        6 => (format!("{{\"id\":\"{number}\"}}"), "wrong-type", "ok"),
        7 => ("{\"id\":".to_owned(), "json-syntax", "json-syntax"),
        // A record of the same partition once more: the candidate only warns.
        8 if number > 48 => (format!("{{\"id\":{},\"pad\":\"\"}}", number - 48), "duplicate", "ok"),
        9 => (format!("{{\"id\":\"{number}\",\"pad\":\"{}\"}}", pad(60)), "wrong-type", "too-long"),
        // Far too long for the output's taste, which nobody knows before it refuses.
        _ if number == REFUSED => {
            (format!("{{\"id\":{number},\"pad\":\"{}\"}}", pad(5000)), "undeliverable", "-")
        }
        _ => (format!("{{\"id\":{number},\"pad\":\"\"}}"), "ok", "ok"),
    }
}

fn send(orders: &Orders, numbers: std::ops::Range<u64>) {
    let producer: BaseProducer = orders.topics.client().set("enable.idempotence", "true").create().unwrap();
    for number in numbers {
        let text = number.to_string();
        let headers = OwnedHeaders::new().insert(Header { key: "number", value: Some(&text) });
        let payload = record(number).0;
        let record = BaseRecord::<(), _>::to(&orders.topics.input).payload(&payload).headers(headers);
        producer.send(record.partition((number % PARTITIONS as u64) as i32)).unwrap();
    }
    producer.flush(WAIT).unwrap();
}

#[test]
fn candidate_rules_on_kafka_touch_no_output_and_name_each_record_once() {
    let Some(brokers) = brokers() else { return };
    for delivery in ["exactly_once", "at_least_once"] {
        let orders = Orders::create(brokers, &format!("candidate-{delivery}"));
        let admin: AdminClient<DefaultClientContext> = orders.topics.client().create().unwrap();
        let accepted = orders.topics.accepted();
        let limit = AlterConfig::new(ResourceSpecifier::Topic(&accepted)).set("max.message.bytes", "2000");
        orders.dir.write("stricter.json", CANDIDATE);
        orders.dir.write(
            "candidate.toml",
            "[rules]\nformat = \"orders\"\n[window]\nreplay = \"warn\"\n\
             [format.orders]\nschema = \"stricter.json\"\nid = \"/id\"\n",
        );
        let report = orders.dir.path().join("changes.ndjson");
        let shadow =
            format!("[shadow]\nconfig = \"candidate.toml\"\nreport = {:?}\n", report.to_str().unwrap());
        let more =
            format!("delivery = \"{delivery}\"\ntransaction_records_max = 500\ncommit_interval_ms = 100\n");
        let config = orders.config_with_rules("one", &more, &shadow);
        // Small requests, so that nothing but the long record is too long for the output.
        let small = "[librdkafka]\n\"batch.num.messages\" = 10\n[ops]\nlisten = \"off\"\n";
        fs::write(&config, fs::read_to_string(&config).unwrap() + small).unwrap();
        let filter = Filter::start(&config);
        send(&orders, 0..RECORDS / 2);
        orders.wait_committed(RECORDS as i64 / 2);
        // From now on the output refuses long records, and the gate does not know: what is sent with one comes again.
        block_on(admin.alter_configs([&limit], &AdminOptions::new())).unwrap();
        send(&orders, RECORDS / 2..RECORDS);
        orders.wait_committed(RECORDS as i64);
        filter.stop();
        check(&orders, &report, delivery);
    }
}

/// The live verdicts, as if there were no candidate, and the candidate's report, against what is known of each record.
fn check(orders: &Orders, report: &std::path::Path, delivery: &str) {
    let (accepted, rejected) = orders.outcome();
    let mut found: BTreeMap<u64, String> = BTreeMap::new();
    for (number, reason) in accepted.into_iter().map(|number| (number, "ok".to_owned())).chain(rejected) {
        // The stub of a record that the output refuses has lost its headers.
        let number = if number == u64::MAX { REFUSED } else { number };
        let before = found.insert(number, reason.clone());
        // What is written twice at least once has the same verdict twice.
        let twice = delivery == "at_least_once" && before.as_ref() == Some(&reason);
        assert!(before.is_none() || twice, "{delivery}: record {number} is {reason} and was {before:?}");
    }
    assert_eq!(found.len() as u64, RECORDS, "{delivery}: nothing is lost");
    let mut expected: BTreeMap<String, (String, String)> = BTreeMap::new();
    for number in 0..RECORDS {
        let (_, live, candidate) = record(number);
        assert_eq!(found[&number], live, "{delivery}: record {number}");
        if live != candidate && candidate != "-" {
            let (partition, offset) = (number % PARTITIONS as u64, number / PARTITIONS as u64);
            let src = format!("{}/{partition}/{offset}", orders.topics.input);
            expected.insert(src, (live.to_owned(), candidate.to_owned()));
        }
    }
    let mut told = BTreeMap::new();
    for change in fs::read_to_string(report).unwrap().lines() {
        let change: Value = serde_json::from_str(change).unwrap();
        let [src, live, candidate] =
            ["src", "live", "candidate"].map(|name| change[name].as_str().unwrap().to_owned());
        let before = told.insert(src.clone(), (live, candidate));
        assert!(before.is_none(), "{delivery}: {src} is told twice");
    }
    assert!(expected.len() > 700, "{}", expected.len());
    assert_eq!(told, expected, "{delivery}");
}

/// The partitions that a process has series of.
fn shown(port: SocketAddr) -> BTreeSet<String> {
    if std::net::TcpStream::connect(port).is_err() {
        return BTreeSet::new();
    }
    let metrics = crate::ops::fetch(&port.to_string(), "/metrics");
    let of = |name: &str| -> BTreeSet<String> {
        let series = metrics.lines().filter_map(|line| line.strip_prefix(name)?.split(' ').next());
        series.map(str::to_owned).collect()
    };
    let (ready, lag) = (of("tollgate_partition_ready{"), of("tollgate_partition_lag_records{"));
    assert!(lag.is_subset(&ready), "{metrics}");
    ready
}

/// The candidate's report follows the group: partitions that move to another process are told by one of the two. So do
/// the series of partitions: those that went are gone.
#[test]
fn candidate_reports_of_two_processes_add_up_when_partitions_move() {
    let Some(brokers) = brokers() else { return };
    let orders = Orders::create(brokers, "candidate-moving");
    orders.dir.write("stricter.json", CANDIDATE);
    orders.dir.write(
        "candidate.toml",
        "[rules]\nformat = \"orders\"\n[format.orders]\nschema = \"stricter.json\"\nid = \"/id\"\n",
    );
    let config = |instance: &str| {
        let port = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
        let report = orders.dir.path().join(format!("{instance}.ndjson"));
        let shadow = format!(
            "[shadow]\nconfig = \"candidate.toml\"\nreport = {:?}\n[ops]\nlisten = \"{port}\"\n\
             [pipeline]\nbatch_records_max = 64\ninflight_records_max = 256\n",
            report.to_str().unwrap()
        );
        (orders.config_with_rules(instance, "transaction_records_max = 100\n", &shadow), report, port)
    };
    let ((one, first, left), (two, second, right)) = (config("one"), config("two"));
    // Every record would be refused by the candidate.
    let total = 24_000;
    orders.send(0..total, 60, None);
    let leaving = Filter::start(&one);
    wait_for("the first records", || orders.topics.committed() > 500);
    assert_eq!(shown(left).len(), PARTITIONS as usize);
    let staying = Filter::start(&two);
    wait_for("each to have some", || {
        let (left, right) = (shown(left), shown(right));
        !left.is_empty()
            && !right.is_empty()
            && left.is_disjoint(&right)
            && left.len() + right.len() == PARTITIONS as usize
    });
    wait_for("some more", || orders.topics.committed() > 12_000);
    leaving.stop();
    wait_for("one to have all", || shown(right).len() == PARTITIONS as usize);
    orders.wait_committed(total as i64);
    staying.stop();
    let mut told: Vec<String> = [first, second]
        .iter()
        .map(|report| fs::read_to_string(report).unwrap())
        .flat_map(|text| text.lines().map(str::to_owned).collect::<Vec<_>>())
        .map(|line| serde_json::from_str::<Value>(&line).unwrap()["src"].as_str().unwrap().to_owned())
        .collect();
    let all = told.len();
    told.sort_unstable();
    told.dedup();
    assert_eq!((all, told.len()), (total as usize, total as usize), "each record is told once");
}
