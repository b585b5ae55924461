//! `tollgate bench kafka` on a real broker: it finds our own filter clean, and a broken one guilty of exactly what it did.

use std::collections::HashMap;
use std::process::Stdio;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use rdkafka::consumer::{BaseConsumer, Consumer as _};
use rdkafka::message::{Header, Headers as _, Message as _, OwnedHeaders, OwnedMessage};
use rdkafka::producer::{BaseProducer, BaseRecord, Producer as _};
use rdkafka::{Offset, TopicPartitionList};
use serde_json::Value;
use tollgate::load::{Destination, Generator, Mix, Secrets};
use tollgate::verdict::Reason;

use crate::cli::{TempDir, run, tollgate};
use crate::kafka::{PARTITIONS, Topics, brokers};

const MIX: &str =
    "[formats]\nolympus = 1\nagh = 1\n[size]\nbytes = 400\n[keys]\ncount = 16\n[faults]\nall = 10\n";

fn bench(topics: &Topics, dir: &TempDir, more: &[&str]) -> (i32, Value) {
    let mix = dir.write("mix.toml", MIX);
    let out = dir.path().join("report");
    let mut arguments =
        vec!["bench", "kafka", "--brokers", topics.brokers(), "--input", topics.input(), "--json"];
    arguments.extend(["--mix", mix.to_str().unwrap(), "--out", out.to_str().unwrap(), "--patience-s", "8"]);
    arguments.extend(more);
    let (code, out, said) = run(&arguments);
    (code, serde_json::from_str(&out).unwrap_or_else(|_| panic!("exit {code}: {said}")))
}

#[test]
fn our_own_filter_is_found_clean() {
    let Some(brokers) = brokers() else { return };
    let topics = Topics::create(brokers, "bench-own");
    let dir = TempDir::new("bench-own");
    let (mix, kit) = (dir.write("mix.toml", MIX), dir.path().join("kit"));
    let (mix, kit) = (mix.to_str().unwrap(), kit.to_str().unwrap());
    let prepared = run(&[
        "bench",
        "kafka",
        "--brokers",
        brokers,
        "--input",
        "bench-own",
        "--mix",
        mix,
        "--prepare",
        kit,
    ]);
    assert_eq!(prepared.0, 0, "{}", prepared.2);
    let mut filter = tollgate();
    filter.args(["run", "--config", &format!("{kit}/tollgate.toml")]);
    let mut filter = filter.stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
    let pid = filter.id().to_string();
    let (code, report) =
        bench(&topics, &dir, &["--rate", "1500", "--seconds", "4", "--warm-up-s", "1", "--filter-pid", &pid]);
    let _ = filter.kill();
    let _ = filter.wait();
    assert_eq!(code, 0, "{report:#}");
    assert_eq!(report["findings"]["sent"], 6000);
    assert_eq!(report["latency_ms"]["corrected"]["count"], 4500, "without the warm-up: {report:#}");
    assert!(report["runs"][0]["filter_cpu_s"].as_f64().unwrap() > 0.0);
    for file in ["report.html", "report.json", "latency.hlog", "corrected.hgrm", "raw.hgrm"] {
        assert!(dir.path().join("report").join(file).metadata().unwrap().len() > 100, "{file}");
    }
}

/// One record in ten thousand is lost, doubled, put on the wrong side, and held back behind the next of its key.
#[test]
fn a_broken_filter_is_found_guilty_of_exactly_what_it_did() {
    const EACH: u64 = 10_000;
    let Some(brokers) = brokers() else { return };
    let topics = Topics::create(brokers, "bench-broken");
    let dir = TempDir::new("bench-broken");
    let stop = AtomicBool::new(false);
    let (code, report) = std::thread::scope(|scope| {
        scope.spawn(|| broken_filter(&topics, EACH, &stop));
        // Also if the bench panics: the scope waits for the filter.
        let _stopped = StopAtEnd(&stop);
        bench(&topics, &dir, &["--rate", "5000", "--seconds", "6", "--warm-up-s", "1"])
    });
    let findings = &report["findings"];
    assert_eq!(code, 1, "{report:#}");
    assert_eq!(findings["sent"], 30_000);
    for kind in ["lost", "doubled", "misrouted", "reordered"] {
        assert_eq!(findings[kind], 3, "{kind}: {report:#}");
    }
    assert_eq!(findings["misjudged"], Value::Array(Vec::new()), "{report:#}");
}

/// Says stop when it goes out of scope.
struct StopAtEnd<'s>(&'s AtomicBool);

impl Drop for StopAtEnd<'_> {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Release);
    }
}

/// Knows every verdict, and does what it should, but for four records in `each`.
fn broken_filter(topics: &Topics, each: u64, stop: &AtomicBool) {
    let mix = Mix::read(MIX, "mix").unwrap();
    let start = tollgate::clock::wall();
    let generator = Generator::new(&mix, 1, &Secrets::of(1), start, Destination::Topic).unwrap();
    let mut cursor = generator.cursor();
    let consumer: BaseConsumer = topics.client().create().unwrap();
    let producer: BaseProducer = topics.client().set("enable.idempotence", "true").create().unwrap();
    let mut all = TopicPartitionList::new();
    for partition in 0..PARTITIONS {
        all.add_partition_offset(topics.input(), partition, Offset::Beginning).unwrap();
    }
    consumer.assign(&all).unwrap();
    // Held back until the next record of their key and side has gone out.
    let mut held: HashMap<(u32, bool), (OwnedMessage, Option<Reason>)> = HashMap::new();
    let mut scratch = Vec::new();
    while !stop.load(Ordering::Acquire) {
        producer.poll(Duration::ZERO);
        let Some(message) = consumer.poll(Duration::from_millis(100)) else { continue };
        // Events such as a connection that is gone for a moment; the client goes on by itself.
        let Ok(message) = message else { continue };
        let message = message.detach();
        let mark = message.headers().unwrap().iter().find(|header| header.key == "tollgate.load").unwrap();
        let mark = std::str::from_utf8(mark.value.unwrap()).unwrap();
        let number: u64 = mark.split_once('-').unwrap().1.parse().unwrap();
        scratch.clear();
        let made = cursor.write(number, |_| 0, &mut scratch);
        let (side, reason) = ((made.key, made.reason.is_none()), made.reason);
        match number % each {
            1000 => {}
            3000 => {
                send(&producer, topics, &message, reason, reason.is_none());
                send(&producer, topics, &message, reason, reason.is_none());
            }
            5000 => send(&producer, topics, &message, reason, reason.is_some()),
            7000 => drop(held.insert(side, (message, reason))),
            _ => {
                send(&producer, topics, &message, reason, reason.is_none());
                if let Some((message, reason)) = held.remove(&side) {
                    send(&producer, topics, &message, reason, reason.is_none());
                }
            }
        }
    }
    producer.flush(Duration::from_secs(10)).unwrap();
}

fn send(
    producer: &BaseProducer,
    topics: &Topics,
    message: &OwnedMessage,
    reason: Option<Reason>,
    accept: bool,
) {
    let mut headers = OwnedHeaders::new();
    for header in message.headers().unwrap().iter() {
        headers = headers.insert(Header { key: header.key, value: header.value });
    }
    let note = reason.map(|reason| format!("{{\"reason\":\"{}\"}}", reason.code()));
    if let Some(note) = &note {
        headers = headers.insert(Header { key: "tollgate.reject", value: Some(note) });
    }
    let topic = if accept { topics.accepted() } else { topics.rejected() };
    let mut record: BaseRecord<'_, [u8], [u8]> =
        BaseRecord::to(&topic).partition(message.partition()).key(message.key().unwrap()).headers(headers);
    if let Some(payload) = message.payload() {
        record = record.payload(payload);
    }
    while let Err((_, back)) = producer.send(record) {
        record = back;
        producer.poll(Duration::from_millis(10));
    }
}
