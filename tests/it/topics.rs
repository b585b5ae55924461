//! Several inputs on one cluster, bounded runs, partitions by key, and outputs that do not take everything; on a real
//! Apache Kafka.

use std::collections::{BTreeMap, BTreeSet};
use std::time::{Duration, Instant};

use rdkafka::admin::{AdminClient, NewTopic, TopicReplication};
use rdkafka::client::DefaultClientContext;
use rdkafka::config::ClientConfig;
use rdkafka::consumer::{BaseConsumer, Consumer as _};
use rdkafka::message::{Headers as _, Message as _};
use rdkafka::producer::{BaseProducer, BaseRecord, Producer as _};
use rdkafka::{Offset, TopicPartitionList};

use crate::cli::{TempDir, tollgate};
use crate::kafka::{brokers, create_topics};

const WAIT: Duration = Duration::from_secs(20);
const PARTITIONS: i32 = 3;

fn client(brokers: &str) -> ClientConfig {
    let mut config = ClientConfig::new();
    config.set("bootstrap.servers", brokers).set("group.id", "the-other-client");
    config
}

fn make(brokers: &str, topics: &[(&str, &[(&str, &str)])]) {
    let admin: AdminClient<DefaultClientContext> = client(brokers).create().unwrap();
    for (name, settings) in topics {
        let mut new = NewTopic::new(name, PARTITIONS, TopicReplication::Fixed(1));
        for (key, value) in *settings {
            new = new.set(key, value);
        }
        create_topics(&admin, &[new]);
    }
}

/// Key, partition, payload bytes and reason of every record.
pub(crate) type Seen = Vec<(Vec<u8>, i32, usize, Option<String>)>;

/// Everything committed in a topic; ends when nothing more comes.
pub(crate) fn read(brokers: &str, topic: &str, partitions: i32, at_least: usize) -> Seen {
    let consumer: BaseConsumer = client(brokers).set("enable.partition.eof", "true").create().unwrap();
    let mut all = TopicPartitionList::new();
    for partition in 0..partitions {
        all.add_partition_offset(topic, partition, Offset::Beginning).unwrap();
    }
    consumer.assign(&all).unwrap();
    let (mut seen, mut ended, started) = (Vec::new(), BTreeSet::new(), Instant::now());
    while ended.len() < partitions as usize || seen.len() < at_least {
        assert!(started.elapsed() < WAIT, "{} records of {topic}", seen.len());
        match consumer.poll(Duration::from_millis(100)) {
            None => {}
            Some(Err(rdkafka::error::KafkaError::PartitionEOF(partition))) => {
                ended.insert(partition);
            }
            Some(message) => {
                let message = message.unwrap();
                let note = message.headers().and_then(|headers| {
                    let found = headers.iter().find(|header| header.key == "tollgate.reject")?;
                    serde_json::from_slice::<serde_json::Value>(found.value?).ok()
                });
                let reason = note.and_then(|note| Some(note["reason"].as_str()?.to_owned()));
                let key = message.key().unwrap_or_default().to_vec();
                seen.push((key, message.partition(), message.payload().map_or(0, <[u8]>::len), reason));
            }
        }
    }
    seen
}

fn run(dir: &TempDir, brokers: &str, keys: &str) -> (Option<i32>, String) {
    let config = dir.write("topics.toml", format!("[kafka]\nbrokers = \"{brokers}\"\n{keys}"));
    let output = tollgate().args(["run", "--json", "--config"]).arg(&config).output().unwrap();
    (output.status.code(), String::from_utf8_lossy(&output.stderr).into_owned())
}

fn agent(number: u32) -> String {
    format!("{{\"id\":\"{number}\"}}")
}

#[test]
fn several_inputs_have_their_own_formats_outputs_and_ends() {
    let Some(brokers) = brokers() else { return };
    let names =
        ["multi.a", "multi.a.good", "multi.a.bad", "multi.b", "multi.b.good", "multi.b.bad", "multi.key"];
    make(brokers, &names.map(|name| (name, &[] as &[_])));
    let dir = TempDir::new("kafka-topics");
    dir.write("own.json", "{\"type\":\"object\",\"required\":[\"id\"]}");
    let producer: BaseProducer = client(brokers).set("partitioner", "murmur2_random").create().unwrap();
    for number in 0..60 {
        let (key, payload) = (format!("key-{}", number % 7), agent(number));
        // The same payload in both: one topic is bound to the user's own format, the other to olympus.
        for topic in ["multi.a", "multi.b"] {
            let record =
                BaseRecord::to(topic).partition(number as i32 % PARTITIONS).key(&key).payload(&payload);
            producer.send(record).unwrap();
        }
        producer.send(BaseRecord::to("multi.key").key(&key).payload(&payload)).unwrap();
    }
    producer.flush(WAIT).unwrap();
    let keys = |more: &str| {
        format!(
            "topics = [\"multi.a\", \"multi.b\"]\ngroup = \"multi\"\naccepted = \"{{topic}}.good\"\nrejected = \"{{topic}}.bad\"\n\
             partition = \"key\"\n{more}\n[topic_formats]\n\"multi.b\" = \"olympus\"\n\
             [format.own]\nschema = \"own.json\"\ndetect = {{ topics = [\"multi.a\"] }}\n"
        )
    };
    // First the records up to offset 10 of each partition, then the rest from where the group is.
    let (code, said) = run(&dir, brokers, &keys("start = \"beginning\"\nstop = \"10\""));
    assert_eq!(code, Some(0), "{said}");
    assert_eq!(read(brokers, "multi.a.good", PARTITIONS, 30).len(), 30);
    let (code, said) = run(&dir, brokers, &keys("start = \"stored\"\nstop = \"end\""));
    assert_eq!(code, Some(0), "{said}");
    let good = read(brokers, "multi.a.good", PARTITIONS, 60);
    assert_eq!(good.len(), 60);
    assert!(
        read(brokers, "multi.a.bad", PARTITIONS, 0).is_empty()
            && read(brokers, "multi.b.good", PARTITIONS, 0).is_empty()
    );
    let bad = read(brokers, "multi.b.bad", PARTITIONS, 60);
    assert!(bad.iter().all(|(.., reason)| reason.is_some()) && bad.len() == 60);
    let by_key = |seen: &Seen| -> BTreeMap<Vec<u8>, BTreeSet<i32>> {
        let mut partitions: BTreeMap<_, BTreeSet<i32>> = BTreeMap::new();
        for (key, partition, ..) in seen {
            partitions.entry(key.clone()).or_default().insert(*partition);
        }
        partitions
    };
    let expected = by_key(&read(brokers, "multi.key", PARTITIONS, 60));
    assert_eq!(by_key(&good), expected, "keys go where the Java client's partitioner puts them");
    assert_eq!(by_key(&bad), expected);
    // Nothing is left, so a further run ends at once.
    let (code, said) = run(&dir, brokers, &keys("start = \"stored\"\nstop = \"end\""));
    assert_eq!(code, Some(0), "{said}");
    assert_eq!(read(brokers, "multi.a.good", PARTITIONS, 60).len(), 60);
}

/// `start` and `stop` by time and by count; a time that no record has reached is the end.
#[test]
fn runs_are_bounded_by_times_and_counts() {
    let Some(brokers) = brokers() else { return };
    make(brokers, &["timed", "timed.accepted", "timed.rejected"].map(|name| (name, &[] as &[_])));
    let dir = TempDir::new("kafka-timed");
    let producer: BaseProducer = client(brokers).create().unwrap();
    // 20 records in each partition, a second apart.
    let began = tollgate::clock::wall().micros() / 1000 - 60_000;
    for number in 0..60 {
        let (payload, second) = (agent(number), i64::from(number) / i64::from(PARTITIONS));
        let record = BaseRecord::<(), _>::to("timed").partition(number as i32 % PARTITIONS).payload(&payload);
        producer.send(record.timestamp(began + second * 1000)).unwrap();
    }
    producer.flush(WAIT).unwrap();
    let at = |second: i64| began + second * 1000;
    let mut so_far = 0;
    for (name, start, stop, per_partition) in [
        ("times", format!("s@{}", at(5)), format!("e@{}", at(8)), 3),
        ("between", format!("s@{}", at(5) + 1), format!("e@{}", at(8) + 1), 3),
        ("time-to-end", format!("s@{}", at(15)), "end".into(), 5),
        ("past-all", format!("s@{}", at(30)), "end".into(), 0),
        ("last", "-4".into(), "end".into(), 4),
        ("offsets", "2".into(), "-15".into(), 3),
    ] {
        let keys = format!(
            "topics = [\"timed\"]\ngroup = \"timed-{name}\"\nstart = \"{start}\"\nstop = \"{stop}\"\n"
        );
        let (code, said) = run(&dir, brokers, &keys);
        assert_eq!(code, Some(0), "{name}: {said}");
        so_far += per_partition * PARTITIONS as usize;
        // None of them is of any format, which does not matter here.
        let seen = read(brokers, "timed.rejected", PARTITIONS, so_far);
        assert_eq!(seen.len(), so_far, "{name}: {start} to {stop}");
    }
}

/// A topic's limits are known before the first record, so those that it would refuse become stubs and the rest goes on.
#[test]
fn what_an_output_does_not_take_becomes_a_stub() {
    let Some(brokers) = brokers() else { return };
    let small: &[(&str, &str)] = &[("max.message.bytes", "4000")];
    let keyed: &[(&str, &str)] = &[("cleanup.policy", "compact")];
    make(brokers, &[("tight", &[]), ("tight.accepted", small), ("tight.rejected", &[])]);
    make(brokers, &[("keyed", &[]), ("keyed.accepted", keyed), ("keyed.rejected", &[])]);
    let dir = TempDir::new("kafka-limits");
    dir.write("own.json", "{\"type\":\"object\",\"required\":[\"id\"]}");
    let producer: BaseProducer = client(brokers).create().unwrap();
    for number in 0..30_u32 {
        let long = "x".repeat(if number % 10 == 0 { 5000 } else { 10 });
        let payload = format!("{{\"id\":\"{number}\",\"text\":\"{long}\"}}");
        let partition = number as i32 % PARTITIONS;
        producer.send(BaseRecord::to("tight").partition(partition).key("k").payload(&payload)).unwrap();
        let key = format!("key-{number}");
        let record = BaseRecord::to("keyed").partition(partition).payload(&payload);
        producer.send(if number % 10 == 0 { record } else { record.key(&key) }).unwrap();
    }
    producer.flush(WAIT).unwrap();
    for (topic, delivery) in [("tight", "exactly_once"), ("keyed", "at_least_once")] {
        let keys = format!(
            "topics = [\"{topic}\"]\ngroup = \"{topic}\"\nstart = \"beginning\"\nstop = \"end\"\ndelivery = \"{delivery}\"\n\
             [rules]\nformat = \"own\"\n[format.own]\nschema = \"own.json\"\n"
        );
        let (code, said) = run(&dir, brokers, &keys);
        assert_eq!(code, Some(0), "{topic}: {said}");
        assert_eq!(read(brokers, &format!("{topic}.accepted"), PARTITIONS, 27).len(), 27, "{topic}");
        let stubs = read(brokers, &format!("{topic}.rejected"), PARTITIONS, 3);
        assert_eq!(stubs.len(), 3, "{topic}");
        for (_, _, bytes, reason) in stubs {
            assert_eq!(reason.as_deref(), Some("undeliverable"));
            assert!(bytes < 1000, "a stub, not the record: {bytes}");
        }
    }
}

/// Rejects without credentials, and with the headers of Kafka's own dead-letter queues.
#[test]
fn rejects_can_be_redacted_and_carry_more_headers() {
    let Some(brokers) = brokers() else { return };
    make(brokers, &[("veiled", &[]), ("veiled.accepted", &[]), ("veiled.rejected", &[])]);
    let dir = TempDir::new("kafka-redact");
    let producer: BaseProducer = client(brokers).create().unwrap();
    let own = rdkafka::message::OwnedHeaders::new()
        .insert(rdkafka::message::Header { key: "own", value: Some("kept") });
    for payload in [r#"{"password" : "s3cr3t", "x":1}"#, r#"{"password":"s3cr3t"#] {
        let record = BaseRecord::to("veiled").partition(0).key("k").payload(payload).headers(own.clone());
        producer.send(record).unwrap();
    }
    producer.flush(WAIT).unwrap();
    let (code, said) = run(
        &dir,
        brokers,
        "topics = [\"veiled\"]\ngroup = \"veiled\"\nstart = \"beginning\"\nstop = \"end\"\n\
         [rejected]\nredact = true\nheaders = \"full\"\n",
    );
    assert_eq!(code, Some(0), "{said}");
    let consumer: BaseConsumer = client(brokers).create().unwrap();
    let mut from = TopicPartitionList::new();
    from.add_partition_offset("veiled.rejected", 0, Offset::Beginning).unwrap();
    consumer.assign(&from).unwrap();
    let mut payloads = Vec::new();
    for offset in ["0", "1"] {
        let message = consumer.poll(WAIT).expect("a record").unwrap();
        assert_eq!(message.key(), Some(b"k".as_slice()));
        payloads.push(String::from_utf8(message.payload().unwrap().to_vec()).unwrap());
        let headers = message.headers().unwrap();
        let header = |name: &str| {
            let found = headers.iter().find(|header| header.key == name);
            String::from_utf8_lossy(found.and_then(|found| found.value).unwrap_or_default()).into_owned()
        };
        assert_eq!(header("own"), "kept");
        assert_eq!(header("__dlq.errors.topic"), "veiled");
        assert_eq!(header("__dlq.errors.partition"), "0");
        assert_eq!(header("__dlq.errors.offset"), offset);
        assert_eq!(header("__dlq.errors.group"), "veiled");
        assert!(
            !header("__dlq.errors.message").is_empty() && header("tollgate.reject").contains("\"reason\"")
        );
    }
    assert_eq!(payloads[0], r#"{"password" : "(hidden)", "x":1}"#);
    assert!(payloads[1].starts_with(r#"{"redacted":true,"bytes":19,"sha256":""#), "{}", payloads[1]);
}
