//! Against a real Apache Kafka, which `scripts/kafka` fetches and starts for this process alone.
//!
//! Where it cannot be had, the tests say so and pass; with `TOLLGATE_REQUIRE_KAFKA=1` they fail. The judge of what
//! Tollgate did is another client (rust-rdkafka's), not our own.

use std::collections::BTreeMap;
use std::fs;
use std::io::Write as _;
use std::process::{Child, Command, Stdio};
use std::sync::OnceLock;
use std::time::{Duration, Instant};

use rdkafka::admin::{AdminClient, AdminOptions, NewTopic, TopicReplication, TopicResult};
use rdkafka::client::DefaultClientContext;
use rdkafka::config::ClientConfig;
use rdkafka::consumer::{BaseConsumer, Consumer as _};
use rdkafka::error::KafkaError;
use rdkafka::message::{Header, Headers as _, Message as _, OwnedHeaders};
use rdkafka::producer::{BaseProducer, BaseRecord, Producer as _};
use rdkafka::types::RDKafkaErrorCode;
use rdkafka::{Offset, TopicPartitionList};
use tollgate::load::Stream;
use tollgate::verdict::Reason;

use crate::cli::{TempDir, tollgate};

pub(crate) const WAIT: Duration = Duration::from_secs(20);
pub(crate) const PARTITIONS: i32 = 4;

/// When the records were created: an hour ago, because retention may delete older ones under our hands.
fn created_at_ms(number: u64) -> i64 {
    static START: OnceLock<i64> = OnceLock::new();
    *START.get_or_init(|| tollgate::clock::wall().micros() / 1000 - 3_600_000) + number as i64
}

/// The brokers of this process, or `None` with the reason printed. The script's watchdog stops them when we end.
pub(crate) fn brokers() -> Option<&'static str> {
    static BROKERS: OnceLock<Option<String>> = OnceLock::new();
    BROKERS
        .get_or_init(|| {
            let pid = std::process::id().to_string();
            let script = concat!(env!("CARGO_MANIFEST_DIR"), "/scripts/kafka");
            let output = Command::new(script).args(["up", "--watch", &pid]).output().unwrap();
            let said = String::from_utf8_lossy(&output.stderr).into_owned();
            if output.status.success() {
                return Some(String::from_utf8(output.stdout).unwrap().trim().to_owned());
            }
            let required = std::env::var_os("TOLLGATE_REQUIRE_KAFKA").is_some_and(|value| value == "1");
            assert!(!required && output.status.code() == Some(4), "no Apache Kafka: {said}");
            // Not by `eprintln!`, which the test runner would keep to itself.
            let _ =
                writeln!(std::io::stderr(), "\n*** SKIPPED: the tests against a real Apache Kafka. {said}");
            None
        })
        .as_deref()
}

/// One input topic of a test with its outputs.
pub(crate) struct Topics {
    pub(crate) brokers: &'static str,
    pub(crate) input: String,
}

/// A record as the other client sees it.
#[derive(Debug)]
pub(crate) struct Seen {
    pub(crate) number: u64,
    key: Option<Vec<u8>>,
    pub(crate) payload: Option<Vec<u8>>,
    timestamp: Option<i64>,
    pub(crate) reject: Option<String>,
    headers: usize,
}

impl Topics {
    pub(crate) fn create(brokers: &'static str, input: &str) -> Self {
        let topics = Self { brokers, input: input.to_owned() };
        let admin: AdminClient<DefaultClientContext> = topics.client().create().unwrap();
        let names = [topics.input.clone(), topics.accepted(), topics.rejected()];
        // The records' time is fixed and long past; the broker must not delete them for their age during the test.
        let topic =
            |name| NewTopic::new(name, PARTITIONS, TopicReplication::Fixed(1)).set("retention.ms", "-1");
        let new: Vec<_> = names.iter().map(|name| topic(name)).collect();
        create_topics(&admin, &new);
        // A filter that starts before every topic can be seen would rightly end.
        for name in &names {
            topics.count(name);
        }
        topics
    }

    pub(crate) fn brokers(&self) -> &'static str {
        self.brokers
    }

    pub(crate) fn input(&self) -> &str {
        &self.input
    }

    pub(crate) fn accepted(&self) -> String {
        format!("{}.accepted", self.input)
    }

    pub(crate) fn rejected(&self) -> String {
        format!("{}.rejected", self.input)
    }

    pub(crate) fn client(&self) -> ClientConfig {
        let mut config = ClientConfig::new();
        config.set("bootstrap.servers", self.brokers).set("group.id", "the-other-client");
        config
    }

    /// Writes records with known verdicts, round robin over the partitions; gives payload and truth of each.
    fn fill(&self, records: u64, seed: u64) -> Vec<(Vec<u8>, Option<Reason>)> {
        self.fill_slowly(records, seed, Duration::ZERO)
    }

    /// The same, with a pause after each thousand.
    fn fill_slowly(&self, records: u64, seed: u64, pause: Duration) -> Vec<(Vec<u8>, Option<Reason>)> {
        let producer: BaseProducer = self
            .client()
            .set("queue.buffering.max.messages", "1000000")
            .set("linger.ms", "20")
            // A retry must not change the order that the tests expect.
            .set("enable.idempotence", "true")
            .create()
            .unwrap();
        let mut stream = Stream::new(seed, 100);
        let mut sent = Vec::new();
        for number in 0..records {
            let mut payload = Vec::new();
            let truth = stream.write_next(&mut payload);
            let (key, text) = (format!("key-{number}"), number.to_string());
            let headers = OwnedHeaders::new()
                .insert(Header { key: "number", value: Some(&text) })
                .insert(Header { key: "empty", value: None::<&str> });
            let record = BaseRecord::to(&self.input)
                .partition((number % PARTITIONS as u64) as i32)
                .key(&key)
                .payload(&payload)
                .timestamp(created_at_ms(number))
                .headers(headers);
            producer.send(record).unwrap();
            sent.push((payload, truth.reason));
            if number % 1000 == 999 {
                std::thread::sleep(pause);
            }
        }
        producer.flush(WAIT * 3).unwrap();
        sent
    }

    /// How many offsets a topic has; markers of transactions count too.
    pub(crate) fn count(&self, topic: &str) -> i64 {
        let consumer: BaseConsumer = self.client().create().unwrap();
        let started = Instant::now();
        let end = |partition| loop {
            match consumer.fetch_watermarks(topic, partition, WAIT) {
                Ok((_, end)) => break end,
                // A topic that was made just now may have no leader yet.
                Err(problem) => assert!(started.elapsed() < WAIT, "{topic}/{partition}: {problem}"),
            }
            std::thread::sleep(Duration::from_millis(100));
        };
        (0..PARTITIONS).map(end).sum()
    }

    /// How many records of the input the group has committed.
    pub(crate) fn committed(&self) -> i64 {
        let consumer: BaseConsumer = self.client().set("group.id", self.group()).create().unwrap();
        let mut all = TopicPartitionList::new();
        all.add_partition_range(&self.input, 0, PARTITIONS - 1);
        // A broker that has just come back does not know yet.
        let Ok(committed) = consumer.committed_offsets(all, WAIT) else { return 0 };
        committed.elements().iter().map(|at| at.offset().to_raw().unwrap_or(0).max(0)).sum()
    }

    pub(crate) fn group(&self) -> String {
        format!("{}-group", self.input)
    }

    /// Everything that is committed in a topic, per partition in order.
    pub(crate) fn read(&self, topic: &str) -> BTreeMap<i32, Vec<Seen>> {
        let consumer: BaseConsumer = self.client().set("enable.partition.eof", "true").create().unwrap();
        let mut all = TopicPartitionList::new();
        for partition in 0..PARTITIONS {
            all.add_partition_offset(topic, partition, Offset::Beginning).unwrap();
        }
        consumer.assign(&all).unwrap();
        let mut seen: BTreeMap<i32, Vec<Seen>> = BTreeMap::new();
        let mut ended = [false; PARTITIONS as usize];
        let started = Instant::now();
        while ended.contains(&false) {
            assert!(started.elapsed() < WAIT * 3, "{topic} cannot be read to its end");
            let message = match consumer.poll(Duration::from_millis(200)) {
                None => continue,
                Some(Err(KafkaError::PartitionEOF(partition))) => {
                    ended[partition as usize] = true;
                    continue;
                }
                Some(message) => message.unwrap(),
            };
            let header = |name: &str| {
                let headers = message.headers()?;
                let found = headers.iter().find(|header| header.key == name)?;
                Some(String::from_utf8(found.value?.to_vec()).unwrap())
            };
            seen.entry(message.partition()).or_default().push(Seen {
                number: header("number").map_or(u64::MAX, |text| text.parse().unwrap()),
                key: message.key().map(<[u8]>::to_vec),
                payload: message.payload().map(<[u8]>::to_vec),
                timestamp: message.timestamp().to_millis(),
                reject: header("tollgate.reject"),
                headers: message.headers().map_or(0, rdkafka::message::Headers::count),
            });
        }
        seen
    }

    fn config(&self, dir: &TempDir, start: &str) -> String {
        self.config_of(dir, start, "one", "")
    }

    /// A configuration for one of several filters, with further keys of `[kafka]`.
    pub(crate) fn config_of(&self, dir: &TempDir, start: &str, instance: &str, more: &str) -> String {
        // The stream's times are fixed, so that a seed gives one stream; the broker's clock is not.
        const OLD_SAMPLES: &str =
            "[format.agh]\nrules_off = [\"replay-age\"]\n[format.alfred]\nrules_off = [\"stale\"]\n";
        let text = format!(
            "[kafka]\nbrokers = \"{}\"\ngroup = \"{}\"\ntopics = [\"{}\"]\nstart = \"{start}\"\n\
             instance = \"{instance}\"\ncommit_interval_ms = 200\nsession_timeout_ms = 6000\n{more}{OLD_SAMPLES}",
            self.brokers,
            self.group(),
            self.input
        );
        dir.write(&format!("{instance}.toml"), text).to_str().unwrap().to_owned()
    }
}

/// A running filter, ended when the test ends, however it ends.
pub(crate) struct Filter(pub(crate) Child);

impl Filter {
    pub(crate) fn start(config: &str) -> Self {
        let log = std::env::var("TOLLGATE_TEST_LOG").is_ok();
        let stderr = if log { Stdio::inherit() } else { Stdio::null() };
        let child = tollgate().args(["run", "--config", config]).stdout(Stdio::null()).stderr(stderr).spawn();
        Self(child.unwrap())
    }

    pub(crate) fn signal(&self, name: &str) {
        assert!(Command::new("kill").args([name, &self.0.id().to_string()]).status().unwrap().success());
    }

    /// SIGTERM, and a clean end.
    pub(crate) fn stop(mut self) {
        self.signal("-TERM");
        assert_eq!(self.0.wait().unwrap().code(), Some(0), "an orderly stop ends well");
    }
}

impl Drop for Filter {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

pub(crate) fn wait_for(what: &str, mut done: impl FnMut() -> bool) {
    let started = Instant::now();
    while !done() {
        assert!(started.elapsed() < WAIT * 6, "waited too long for {what}");
        std::thread::sleep(Duration::from_millis(20));
    }
}

/// Makes topics. A broker that has just started, or is busy, refuses for a while: it knows of too few brokers, or takes its time.
pub(crate) fn create_topics(admin: &AdminClient<DefaultClientContext>, new: &[NewTopic<'_>]) {
    let mut last = String::new();
    let started = Instant::now();
    while started.elapsed() < WAIT * 3 {
        match block_on(admin.create_topics(new, &AdminOptions::new())) {
            Ok(made) => {
                let is_there = |made: &TopicResult| {
                    matches!(made, Ok(_) | Err((_, RDKafkaErrorCode::TopicAlreadyExists)))
                };
                if made.iter().all(is_there) {
                    return;
                }
                last = format!("{made:?}");
            }
            Err(error) => last = error.to_string(),
        }
        std::thread::sleep(Duration::from_millis(200));
    }
    panic!("topics cannot be made: {last}");
}

/// The one future of these tests; another thread of librdkafka completes it.
pub(crate) fn block_on<F: Future>(future: F) -> F::Output {
    let mut future = std::pin::pin!(future);
    let mut context = std::task::Context::from_waker(std::task::Waker::noop());
    loop {
        if let std::task::Poll::Ready(output) = future.as_mut().poll(&mut context) {
            return output;
        }
        std::thread::sleep(Duration::from_millis(5));
    }
}

/// Every record in the right topic, unchanged, in the order of its partition; gives how often each was seen.
fn check_outputs(topics: &Topics, sent: &[(Vec<u8>, Option<Reason>)]) -> Vec<u32> {
    let mut times = vec![0; sent.len()];
    for (topic, accepts) in [(topics.accepted(), true), (topics.rejected(), false)] {
        for (partition, records) in topics.read(&topic) {
            let order: Vec<u64> = records.iter().map(|seen| seen.number).collect();
            let mut highest = None;
            for (index, seen) in records.into_iter().enumerate() {
                let (payload, truth) = &sent[seen.number as usize];
                assert_eq!(
                    truth.is_none(),
                    accepts,
                    "record {} is in {topic}, truth {truth:?}: {:?}",
                    seen.number,
                    seen.reject
                );
                assert_eq!(seen.payload.as_ref(), Some(payload), "record {}", seen.number);
                assert_eq!(seen.key, Some(format!("key-{}", seen.number).into_bytes()));
                assert_eq!(seen.timestamp, Some(created_at_ms(seen.number)));
                assert_eq!(
                    i64::from(partition),
                    seen.number as i64 % i64::from(PARTITIONS),
                    "partitions are kept"
                );
                assert_eq!(seen.headers, if accepts { 2 } else { 3 }, "the record's own headers stay");
                if let Some(reason) = truth {
                    let note: serde_json::Value =
                        serde_json::from_str(seen.reject.as_deref().unwrap()).unwrap();
                    assert_eq!(note["reason"], reason.code(), "record {}", seen.number);
                    let offset = seen.number / PARTITIONS as u64;
                    assert_eq!(note["src"], format!("{}/{partition}/{offset}", topics.input));
                } else {
                    assert_eq!(seen.reject, None);
                }
                // A second copy may only be a step back after a crash, never a swap.
                if times[seen.number as usize] == 0 {
                    let around = &order[index.saturating_sub(8)..(index + 8).min(order.len())];
                    assert!(
                        highest < Some(seen.number),
                        "{topic}/{partition}: {} is out of order: {around:?}, first {:?}",
                        seen.number,
                        &order[..8]
                    );
                    highest = Some(seen.number);
                }
                times[seen.number as usize] += 1;
            }
        }
    }
    times
}

#[test]
fn a_stop_and_a_restart_lose_and_double_nothing() {
    let Some(brokers) = brokers() else { return };
    let topics = Topics::create(brokers, "restart");
    let sent = topics.fill(100_000, 11);
    let dir = TempDir::new("kafka-restart");
    // Small transactions, or a fast machine is through before it can be stopped.
    let config = topics.config_of(&dir, "beginning", "one", "transaction_records_max = 200\n");
    let done = || topics.committed();

    let filter = Filter::start(&config);
    wait_for("the first records", || done() > 2_000);
    filter.stop();
    let halfway = done();
    assert!((2_000..100_000).contains(&halfway), "stopped in the middle: {halfway}");

    let filter = Filter::start(&config);
    wait_for("the last record", || done() >= 100_000);
    filter.stop();
    let times = check_outputs(&topics, &sent);
    assert!(times.iter().all(|times| *times == 1), "every record exactly once");
}

#[test]
fn a_killed_filter_loses_nothing_at_least_once() {
    let Some(brokers) = brokers() else { return };
    let topics = Topics::create(brokers, "killed");
    let sent = topics.fill(40_000, 12);
    let dir = TempDir::new("kafka-killed");
    let config = topics.config_of(&dir, "beginning", "one", "delivery = \"at_least_once\"\n");
    let filter = Filter::start(&config);
    wait_for("the first records", || topics.committed() > 5_000);
    filter.signal("-KILL");
    drop(filter);
    let filter = Filter::start(&config);
    wait_for("the last records", || topics.committed() >= 40_000);
    filter.stop();
    let times = check_outputs(&topics, &sent);
    assert!(times.iter().all(|times| *times >= 1), "every record at least once");
}

#[test]
fn what_is_missing_is_said_before_anything_runs() {
    let Some(brokers) = brokers() else { return };
    let topics = Topics::create(brokers, "missing");
    topics.fill(10, 13);
    let dir = TempDir::new("kafka-missing");
    let run = |config: &str| {
        let output = tollgate().args(["run", "--config", config]).output().unwrap();
        (output.status.code(), String::from_utf8_lossy(&output.stderr).into_owned())
    };
    let (code, said) = run(&topics.config(&dir, "stored"));
    assert_eq!(code, Some(3), "{said}");
    assert!(
        said.contains("missing-group")
            && said.contains("no committed offset")
            && said.contains("`kafka.start`"),
        "{said}"
    );

    let nowhere = Topics { brokers, input: "nowhere".into() };
    let (code, said) = run(&nowhere.config(&dir, "beginning"));
    assert_eq!(code, Some(3), "{said}");
    assert!(said.contains("`nowhere` does not exist"), "{said}");
}

/// Records as large as the broker takes them: the outputs have the same limit, so they must take them too.
#[test]
fn the_largest_record_comes_through() {
    let Some(brokers) = brokers() else { return };
    let topics = Topics::create(brokers, "largest");
    let producer: BaseProducer = topics.client().set("message.max.bytes", "2000000").create().unwrap();
    // Just below the broker's default limit of 1048588, with room for the reject's header.
    let payloads = [vec![b'x'; 1_048_000], vec![b'y'; 10], vec![b'z'; 1_047_999]];
    for (number, payload) in payloads.iter().enumerate() {
        let text = number.to_string();
        let headers = OwnedHeaders::new().insert(Header { key: "number", value: Some(&text) });
        let record = BaseRecord::<(), _>::to(&topics.input).partition(0).payload(payload).headers(headers);
        producer.send(record).unwrap();
    }
    producer.flush(WAIT).unwrap();
    assert_eq!(topics.count(&topics.input), payloads.len() as i64);
    let dir = TempDir::new("kafka-largest");
    let filter = Filter::start(&topics.config(&dir, "beginning"));
    wait_for("the last record", || topics.committed() >= payloads.len() as i64);
    filter.stop();
}

/// A member that comes and one that goes: partitions move drained and committed, so that nothing is lost or doubled.
#[test]
fn partitions_move_between_members_without_loss_or_double() {
    let Some(brokers) = brokers() else { return };
    let topics = Topics::create(brokers, "moving");
    let dir = TempDir::new("kafka-moving");
    // Slow enough that there is work left when the group has settled.
    let slow =
        "[pipeline]\nbatch_records_max = 128\ninflight_records_max = 512\n[librdkafka]\n\"linger.ms\" = 50\n";
    let slow_config = |instance: &str| {
        let config = fs::read_to_string(topics.config_of(&dir, "beginning", instance, "")).unwrap() + slow;
        dir.write(&format!("slow-{instance}.toml"), config).to_str().unwrap().to_owned()
    };
    let sent = topics.fill(120_000, 14);
    let done = || topics.committed();
    let first = Filter::start(&slow_config("one"));
    wait_for("the first records", || done() > 2_000);
    let second = Filter::start(&slow_config("two"));
    wait_for("some more", || done() > 80_000);
    first.stop();
    wait_for("the last record", || done() >= 120_000);
    second.stop();
    let times = check_outputs(&topics, &sent);
    assert!(times.iter().all(|times| *times >= 1), "every record");
    let doubled = times.iter().filter(|times| **times > 1).count();
    assert_eq!(doubled, 0, "records that were written twice");
}

/// Records come on and on while the rules are replaced: up to one offset of each partition the old ones decide, from
/// there on the new ones, and every record comes out once. The ops port shows the partitions meanwhile.
#[test]
fn a_reload_changes_verdicts_at_one_offset_of_each_partition() {
    let Some(brokers) = brokers() else { return };
    let dir = TempDir::new("kafka-reload");
    let topics = Topics::create(brokers, "reload");
    let port = std::net::TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
    let config = topics.config(&dir, "beginning");
    let before = format!("{}[ops]\nlisten = \"{port}\"\n", fs::read_to_string(&config).unwrap());
    fs::write(&config, &before).unwrap();
    let filter = Filter::start(&config);
    let sent = std::thread::scope(|scope| {
        let sender = scope.spawn(|| topics.fill_slowly(20_000, 31, Duration::from_millis(200)));
        wait_for("the ops port", || std::net::TcpStream::connect(port).is_ok());
        let passed =
            |now: &str| serde_json::from_str::<serde_json::Value>(now).unwrap()["total"]["records"].as_u64();
        wait_for("the first verdicts", || passed(&crate::ops::fetch(&port.to_string(), "/now")) > Some(2000));
        let metrics = crate::ops::fetch(&port.to_string(), "/metrics");
        for partition in 0..PARTITIONS {
            let labels = format!("{{topic=\"reload\",partition=\"{partition}\"}} ");
            for metric in [
                "tollgate_partition_ready",
                "tollgate_partition_lag_records",
                "tollgate_partition_lag_seconds",
            ] {
                assert!(metrics.contains(&format!("{metric}{labels}")), "{metric}{labels}\n{metrics}");
            }
        }
        assert!(metrics.contains("tollgate_rebalances_total{event=\"assigned\"} 1\n"), "{metrics}");
        assert!(crate::ops::fetch(&port.to_string(), "/readyz").starts_with("running"));
        fs::write(&config, format!("{before}[limits]\npayload_bytes_max = 10\n")).unwrap();
        filter.signal("-HUP");
        sender.join().unwrap()
    });
    wait_for("all verdicts", || {
        topics.count(&topics.accepted()) + topics.count(&topics.rejected()) >= sent.len() as i64
    });
    let shown = crate::ops::fetch(&port.to_string(), "/config");
    filter.stop();
    let (accepted, rejected) = (topics.read(&topics.accepted()), topics.read(&topics.rejected()));
    for partition in 0..PARTITIONS {
        let mut verdicts = BTreeMap::new();
        for seen in accepted.get(&partition).into_iter().chain(rejected.get(&partition)).flatten() {
            assert!(
                verdicts.insert(seen.number, seen.reject.clone()).is_none(),
                "record {} came twice",
                seen.number
            );
        }
        assert_eq!(verdicts.len(), sent.len() / PARTITIONS as usize, "nothing is lost");
        let is_new = |note: &Option<String>| note.as_ref().is_some_and(|note| note.contains("\"too-big\""));
        let old = verdicts.values().take_while(|note| !is_new(note)).count();
        assert!(verdicts.values().skip(old).all(is_new), "from one offset on, the new rules decide");
        assert!(
            old > 100 && old < verdicts.len() - 100,
            "the change lies in the middle: {old} of {}",
            verdicts.len()
        );
        for (number, note) in verdicts.iter().take(old) {
            let truth = sent[*number as usize].1;
            assert_eq!(note.is_some(), truth.is_some(), "record {number}: {note:?} instead of {truth:?}");
        }
        assert!(
            shown.contains(&format!(" from reload/{partition}/{old}\n")),
            "{partition} at {old}:\n{shown}"
        );
    }
}
