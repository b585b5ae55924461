//! Brokers that are gone for a while. On a real Apache Kafka of each test's own; see `kafka.rs`.

use std::process::Command;
use std::time::{Duration, Instant};

use rdkafka::admin::{AdminClient, NewTopic, TopicReplication};
use rdkafka::client::DefaultClientContext;
use rdkafka::consumer::{BaseConsumer, Consumer as _};

use crate::fenced::start_logged;
use crate::kafka::{PARTITIONS, WAIT, brokers, create_topics, wait_for};
use crate::survival::{Orders, duplicates};

/// A cluster of this test alone; the script's watchdog removes it at the latest when this process ends.
struct Cluster {
    name: String,
    brokers: &'static str,
}

impl Cluster {
    /// `None` where there is no Apache Kafka.
    fn start(name: &str, options: &[&str]) -> Option<Self> {
        brokers()?;
        let pid = std::process::id().to_string();
        let name = format!("{name}-{pid}");
        let up = [&["up", "--watch", &pid, "--name", &name], options].concat();
        let brokers = script(&up).trim().to_owned().leak();
        Some(Self { name, brokers })
    }

    fn broker(&self, action: &str, id: &str) {
        script(&[action, id, "--name", &self.name]);
    }
}

impl Drop for Cluster {
    fn drop(&mut self) {
        let _ = Command::new(SCRIPT).args(["down", "--name", &self.name]).output();
    }
}

const SCRIPT: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/scripts/kafka");

fn script(args: &[&str]) -> String {
    let output = Command::new(SCRIPT).args(args).output().unwrap();
    assert!(output.status.success(), "{args:?}: {}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).unwrap()
}

/// Waits until so many records are committed; what the filter said is told if it takes too long.
fn wait_committed(orders: &Orders, records: i64, log: &std::path::Path) {
    let started = Instant::now();
    loop {
        let committed = orders.topics.committed();
        if committed >= records {
            return;
        }
        let said = || std::fs::read_to_string(log).unwrap();
        assert!(started.elapsed() < WAIT * 6, "{committed} of {records} are committed: {}", said());
        std::thread::sleep(Duration::from_millis(100));
    }
}

/// The broker is gone for longer than a transaction may last and a consumer may go without polling: nothing is lost, and
/// work goes on by itself.
#[test]
fn a_broker_that_is_gone_for_a_while_only_holds_things_up() {
    let Some(cluster) = Cluster::start("gone", &[]) else { return };
    let orders = Orders::create(cluster.brokers, "gone");
    orders.send(0..2000, 200, None);
    // Little in flight, so that the reader stalls, and pauses what it may not read for so long.
    let config = std::fs::read_to_string(orders.config("one", "")).unwrap();
    let config = config + "[pipeline]\nbatch_records_max = 100\ninflight_records_max = 400\n";
    let config = config + "[librdkafka]\n\"max.poll.interval.ms\" = \"12000\"\n";
    let config = orders.dir.write("gone.toml", config);
    let (filter, log) = start_logged(&orders, config.to_str().unwrap(), "log");
    wait_committed(&orders, 2000, &log);
    orders.send(2000..40_000, 200, None);
    cluster.broker("kill-broker", "1");
    std::thread::sleep(Duration::from_secs(20));
    cluster.broker("start-broker", "1");
    wait_committed(&orders, 40_000, &log);
    filter.stop();
    assert_eq!(orders.outcome().0, (0..40_000).collect::<Vec<_>>());
    let said = std::fs::read_to_string(&log).unwrap();
    assert!(said.contains("reading is paused"), "it stalled: {said}");
}

/// KAFKA-20734: where a partition is away when a transaction ends, the brokers forget to end it there. Whoever then reads a
/// journal in that partition, the same process or the next one, would wait for ever.
#[test]
fn a_transaction_that_brokers_forget_to_end_is_ended_again() {
    // Everything is on the first broker, and the journals on the second one.
    const FIRST: [&[i32]; PARTITIONS as usize] = [&[1]; PARTITIONS as usize];
    const SECOND: [&[i32]; PARTITIONS as usize] = [&[2]; PARTITIONS as usize];
    let one_copy = [
        "default.replication.factor",
        "offsets.topic.replication.factor",
        "offsets.topic.num.partitions",
        "transaction.state.log.replication.factor",
        "transaction.state.log.num.partitions",
    ];
    let settings: Vec<_> = one_copy.iter().map(|key| format!("{key}=1")).collect();
    let settings: Vec<_> = settings.iter().flat_map(|setting| ["--set", setting]).collect();
    let options = [&["--brokers", "2"], settings.as_slice()].concat();
    let Some(cluster) = Cluster::start("forgotten", &options) else { return };
    let admin: AdminClient<DefaultClientContext> =
        rdkafka::ClientConfig::new().set("bootstrap.servers", cluster.brokers).create().unwrap();
    let inputs = ["suspended", "killed"];
    let mut topics: Vec<(String, &[&[i32]])> =
        ["__consumer_offsets", "__transaction_state"].map(|name| (name.to_owned(), &FIRST[..1])).into();
    for input in inputs {
        topics.extend(["", ".accepted", ".rejected"].map(|end| (format!("{input}{end}"), &FIRST[..])));
        topics.push((format!("{input}.{input}-group.journal"), &SECOND));
    }
    let created = topics.iter().map(|(name, copies)| {
        let topic = NewTopic::new(name, copies.len() as i32, TopicReplication::Variable(copies));
        if name.starts_with("__") { topic.set("cleanup.policy", "compact") } else { topic }
    });
    create_topics(&admin, &created.collect::<Vec<_>>());
    // Transactions that stay open for so long that the journal's broker can go meanwhile.
    let runs = inputs.map(|input| {
        let orders = Orders::create(cluster.brokers, input);
        let config = orders.config("one", "latency_goal_ms = 10000\n");
        orders.send(0..100, 0, None);
        let (filter, log) = start_logged(&orders, &config, "log");
        (orders, config, filter, log)
    });
    for (orders, ..) in &runs {
        let uncommitted: BaseConsumer =
            orders.topics.client().set("isolation.level", "read_uncommitted").create().unwrap();
        let is_there = |partition| {
            let ends = uncommitted.fetch_watermarks(&orders.journal(), partition, WAIT);
            ends.is_ok_and(|(_, end)| end > 0)
        };
        wait_for("every partition's journal", || (0..PARTITIONS).all(is_there));
    }
    // Whole, and acknowledged.
    std::thread::sleep(Duration::from_secs(1));
    cluster.broker("kill-broker", "2");
    for (orders, _, _, log) in &runs {
        wait_committed(orders, 100, log);
    }
    cluster.broker("start-broker", "2");
    let [suspended, (orders, config, killed, _)] = runs;
    killed.signal("-KILL");
    let (filter, log) = start_logged(&orders, &config, "log");
    let killed = (orders, config, filter, log);
    // For longer than its session: it takes its partitions anew.
    suspended.2.signal("-STOP");
    std::thread::sleep(Duration::from_secs(10));
    suspended.2.signal("-CONT");
    for (orders, _, filter, log) in [suspended, killed] {
        orders.send(0..200, 0, None);
        wait_committed(&orders, 300, &log);
        filter.stop();
        let (accepted, rejected) = orders.outcome();
        assert_eq!(accepted, (0..100).chain(200..300).collect::<Vec<_>>());
        assert_eq!(rejected, duplicates(100..200));
        // With the version of Kafka that `scripts/kafka` has; a later one may forget nothing.
        let said = std::fs::read_to_string(&log).unwrap();
        assert!(said.contains("if a transaction of ours was left open there, it is ended now"), "{said}");
    }
}
