//! The crash test: a stream with known verdicts through a real Apache Kafka, while filters are killed and brokers restart.
//!
//! Afterwards another client reads what was committed: every acceptable record exactly once in the accepted topic, every
//! other one exactly once in the rejected topic with the right reason, in the order of its partition. The short run is
//! part of the tests; `scripts/soak` makes the long one. Both print their seed; `TOLLGATE_SEED` repeats the choices,
//! if not the moments.

#![expect(clippy::print_stdout, reason = "seed and counts are what the run is for")]

use std::collections::HashMap;
use std::io::Write as _;
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use rdkafka::admin::{AdminClient, NewTopic, TopicReplication};
use rdkafka::client::DefaultClientContext;
use rdkafka::config::ClientConfig;
use rdkafka::consumer::{BaseConsumer, Consumer as _};
use rdkafka::error::{KafkaError, RDKafkaErrorCode};
use rdkafka::message::{Headers as _, Message as _};
use rdkafka::producer::{BaseProducer, BaseRecord, Producer as _};
use rdkafka::{Offset, TopicPartitionList};
use tollgate::load::Random;

use crate::cli::{TempDir, tollgate};
use crate::kafka::create_topics;
use crate::pipeline::wait_until_caught;

const PARTITIONS: i32 = 8;
const INPUT: &str = "soak";
const GROUP: &str = "soak-group";
const WAIT: Duration = Duration::from_secs(20);
const SCHEMA: &str = r#"{"type":"object","required":["id"],"properties":{"id":{"type":"integer"}}}"#;

/// What a record must become.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Truth {
    Accept,
    Reject(&'static str),
}

/// One partition's records: the same seed gives the same ones.
struct Records {
    random: Random,
    partition: i32,
    /// Ids that were accepted, in order.
    fresh: u64,
}

impl Records {
    fn new(seed: u64, partition: i32) -> Self {
        Self { random: Random::new(seed ^ (u64::from(partition.cast_unsigned()) << 48)), partition, fresh: 0 }
    }

    fn envelope(&self, number: u64, text: &str) -> String {
        let id = i64::from(self.partition) * 1_000_000_000 + number as i64;
        format!(r#"{{"id":{id},"text":"{text}","filler":"{:0>150}"}}"#, number * 7919)
    }

    /// The next record and its truth. Copies are of records just before, or of any before.
    fn next(&mut self) -> (String, Truth) {
        let dice = self.random.below(100);
        let back = if dice.is_multiple_of(2) { 20.min(self.fresh.max(1)) } else { self.fresh.max(1) };
        let old = self.fresh.saturating_sub(1 + self.random.below(back));
        match dice {
            0..8 if self.fresh > 0 => (self.envelope(old, "first"), Truth::Reject("duplicate")),
            8..10 if self.fresh > 0 => (self.envelope(old, "other"), Truth::Reject("id-conflict")),
            10..14 => {
                (format!(r#"{{"identity":{}}}"#, self.random.below(1000)), Truth::Reject("missing-field"))
            }
            14..16 => ("{\"id\":1,".to_owned(), Truth::Reject("json-syntax")),
            _ => {
                self.fresh += 1;
                (self.envelope(self.fresh - 1, "first"), Truth::Accept)
            }
        }
    }
}

/// How much, and how rough.
struct Plan {
    records: u64,
    kills: u32,
    brokers: u32,
    /// Seconds that the first filter is suspended, each once: longer than its session, longer than a transaction.
    naps_s: &'static [u64],
    seed: u64,
}

/// The cluster of this test; its watchdog stops it when this process ends.
struct Cluster {
    name: String,
    brokers: String,
}

fn script(args: &[&str]) -> std::process::Output {
    Command::new(concat!(env!("CARGO_MANIFEST_DIR"), "/scripts/kafka")).args(args).output().unwrap()
}

impl Cluster {
    fn start(brokers: u32) -> Option<Self> {
        let pid = std::process::id().to_string();
        let name = format!("soak-{pid}");
        let count = brokers.to_string();
        let output = script(&["up", "--watch", &pid, "--name", &name, "--brokers", &count]);
        let said = String::from_utf8_lossy(&output.stderr).into_owned();
        if output.status.success() {
            let brokers = String::from_utf8(output.stdout).unwrap().trim().to_owned();
            return Some(Self { name, brokers });
        }
        let required = std::env::var_os("TOLLGATE_REQUIRE_KAFKA").is_some_and(|value| value == "1");
        assert!(!required && output.status.code() == Some(4), "no Apache Kafka: {said}");
        let _ = writeln!(std::io::stderr(), "\n*** SKIPPED: the crash test on a real Apache Kafka. {said}");
        None
    }

    fn client(&self) -> ClientConfig {
        let mut config = ClientConfig::new();
        config.set("bootstrap.servers", &self.brokers).set("group.id", "the-other-client");
        config
    }

    fn create_topics(&self) {
        let admin: AdminClient<DefaultClientContext> = self.client().create().unwrap();
        let names = [INPUT.to_owned(), format!("{INPUT}.accepted"), format!("{INPUT}.rejected")];
        let new: Vec<_> =
            names.iter().map(|name| NewTopic::new(name, PARTITIONS, TopicReplication::Fixed(-1))).collect();
        create_topics(&admin, &new);
    }

    /// Writes all records, one partition after the other in small steps, as fast as `pace` allows.
    fn fill(&self, plan: &Plan, per_second: u64, is_over: &AtomicBool) {
        let producer: BaseProducer = self
            .client()
            .set("enable.idempotence", "true")
            .set("linger.ms", "20")
            .set("delivery.timeout.ms", "600000")
            .create()
            .unwrap();
        let mut partitions: Vec<_> =
            (0..PARTITIONS).map(|partition| Records::new(plan.seed, partition)).collect();
        let started = Instant::now();
        for number in 0..plan.records {
            let partition = (number % PARTITIONS as u64) as i32;
            let (payload, _) = partitions[partition as usize].next();
            let key = (number / PARTITIONS as u64).to_string();
            let mut record = BaseRecord::to(INPUT).partition(partition).key(&key).payload(&payload);
            while let Err((error, back)) = producer.send(record) {
                assert_eq!(error.rdkafka_error_code(), Some(RDKafkaErrorCode::QueueFull), "{error}");
                record = back;
                producer.poll(Duration::from_millis(50));
            }
            if number.is_multiple_of(1000) {
                producer.poll(Duration::ZERO);
                let due = Duration::from_millis(number * 1000 / per_second);
                std::thread::sleep(due.saturating_sub(started.elapsed()));
            }
            if is_over.load(Ordering::Relaxed) {
                return;
            }
        }
        producer.flush(WAIT * 6).unwrap();
    }

    /// Whether the group has committed everything; if not, what it has.
    fn is_done(&self, plan: &Plan) -> Result<(), String> {
        let consumer: BaseConsumer = self.client().set("group.id", GROUP).create().unwrap();
        let mut all = TopicPartitionList::new();
        all.add_partition_range(INPUT, 0, PARTITIONS - 1);
        let committed = consumer.committed_offsets(all, WAIT).map_err(|error| error.to_string())?;
        let state: Vec<_> = (committed.elements().iter())
            .map(|at| (at.partition(), at.offset(), records_of(plan, at.partition()) as i64))
            .collect();
        if state.iter().all(|(_, at, records)| *at == Offset::Offset(*records)) {
            return Ok(());
        }
        let ends = |partition| consumer.fetch_watermarks(INPUT, partition, WAIT);
        let ends: Vec<_> = (0..PARTITIONS).map(ends).collect();
        Err(format!("partition, committed, expected: {state:?}; ends: {ends:?}"))
    }

    /// Everything committed in a topic, per partition in order: key and reason.
    fn read(&self, topic: &str) -> Vec<Vec<(u64, Option<String>)>> {
        let consumer: BaseConsumer = self.client().set("enable.partition.eof", "true").create().unwrap();
        let mut all = TopicPartitionList::new();
        for partition in 0..PARTITIONS {
            all.add_partition_offset(topic, partition, Offset::Beginning).unwrap();
        }
        consumer.assign(&all).unwrap();
        let mut seen = vec![Vec::new(); PARTITIONS as usize];
        let mut ended = vec![false; PARTITIONS as usize];
        let started = Instant::now();
        while ended.contains(&false) {
            assert!(started.elapsed() < WAIT * 15, "{topic} cannot be read to its end");
            let message = match consumer.poll(Duration::from_millis(200)) {
                None => continue,
                Some(Err(KafkaError::PartitionEOF(partition))) => {
                    ended[partition as usize] = true;
                    continue;
                }
                Some(message) => message.unwrap(),
            };
            let number = std::str::from_utf8(message.key().unwrap()).unwrap().parse().unwrap();
            let reject = message.headers().and_then(|headers| {
                let found = headers.iter().find(|header| header.key == "tollgate.reject")?;
                let note: serde_json::Value = serde_json::from_slice(found.value?).unwrap();
                Some(note["reason"].as_str().unwrap().to_owned())
            });
            seen[message.partition() as usize].push((number, reject));
        }
        seen
    }
}

fn records_of(plan: &Plan, partition: i32) -> u64 {
    let (all, partition) = (plan.records, u64::from(partition.cast_unsigned()));
    (all + PARTITIONS as u64 - 1 - partition) / PARTITIONS as u64
}

/// A filter that can be killed and started again.
struct Filter {
    config: String,
    child: Option<Child>,
    log: std::path::PathBuf,
}

impl Filter {
    fn new(dir: &TempDir, cluster: &Cluster, instance: &str) -> Self {
        dir.write("orders.json", SCHEMA);
        // One of them has no time to finish: what it has open when partitions move is aborted.
        let revoke_ms = if instance == "first" { 5000 } else { 1 };
        let text = format!(
            "[kafka]\nbrokers = \"{}\"\ngroup = \"{GROUP}\"\ntopics = [\"{INPUT}\"]\nstart = \"beginning\"\n\
             instance = \"{instance}\"\nsession_timeout_ms = 6000\nrevoke_deadline_ms = {revoke_ms}\n[rules]\nformat = \"orders\"\n\
             [format.orders]\nschema = \"orders.json\"\nid = \"/id\"\n",
            cluster.brokers
        );
        let config = dir.write(&format!("{instance}.toml"), text).to_str().unwrap().to_owned();
        Self { config, child: None, log: dir.path().join(format!("{instance}.log")) }
    }

    fn start(&mut self) {
        if self.child.is_none() {
            let log = std::fs::OpenOptions::new().create(true).append(true).open(&self.log).unwrap();
            let mut command = tollgate();
            command.args(["run", "--config", &self.config]).stdout(Stdio::null()).stderr(log);
            self.child = Some(command.spawn().unwrap());
        }
    }

    /// Whether it runs; one that ended by itself is a failure of the test.
    fn check(&mut self) {
        if let Some(child) = &mut self.child
            && let Some(status) = child.try_wait().unwrap()
        {
            panic!("{} ended by itself with {status}:\n{}", self.config, self.said());
        }
    }

    /// The end of its log.
    fn said(&self) -> String {
        let said = std::fs::read_to_string(&self.log).unwrap_or_default();
        let tail: Vec<_> = said.lines().rev().take(30).collect();
        tail.into_iter().rev().collect::<Vec<_>>().join("\n")
    }

    fn kill(&mut self) -> bool {
        let Some(mut child) = self.child.take() else { return false };
        child.kill().unwrap();
        child.wait().unwrap();
        true
    }

    /// Suspends it, and lets it go on as if nothing had happened.
    fn nap(&self, time: Duration) {
        let Some(child) = &self.child else { return };
        let signal =
            |name: &str| Command::new("kill").args([name, &child.id().to_string()]).status().unwrap();
        assert!(signal("-STOP").success());
        std::thread::sleep(time);
        assert!(signal("-CONT").success());
    }

    fn stop(&mut self) {
        let Some(mut child) = self.child.take() else { return };
        wait_until_caught(&child);
        assert!(Command::new("kill").args(["-TERM", &child.id().to_string()]).status().unwrap().success());
        let status = child.wait().unwrap();
        let said = || std::fs::read_to_string(&self.log).unwrap_or_default();
        assert!(status.success(), "an orderly stop ends well, not with {status}:\n{}", said());
    }
}

impl Drop for Filter {
    fn drop(&mut self) {
        self.kill();
        if std::thread::panicking() && std::env::var_os("TOLLGATE_TEST_LOG").is_some() {
            let said = std::fs::read_to_string(&self.log).unwrap_or_default();
            let _ = writeln!(std::io::stderr(), "--- {}\n{said}", self.log.display());
        }
    }
}

/// Kills, stops and starts filters at random moments, and restarts a broker half way.
fn disturb(plan: &Plan, cluster: &Cluster, filters: &mut [Filter; 2], random: &mut Random) -> (u32, u32) {
    let (mut kills, mut moves) = (0, 0);
    let mut broker_is_due = true;
    let mut naps = plan.naps_s.iter();
    while kills < plan.kills {
        std::thread::sleep(Duration::from_millis(300 + random.below(2700)));
        filters.iter_mut().for_each(Filter::check);
        let [first, second] = filters;
        match random.below(6) {
            0..2 => {
                moves += 1;
                if second.child.is_some() { second.stop() } else { second.start() }
            }
            2 if second.child.is_some() => {
                kills += u32::from(second.kill());
                if random.below(2) == 0 {
                    second.start();
                }
            }
            _ => {
                kills += u32::from(first.kill());
                first.start();
            }
        }
        if kills >= plan.kills / 3
            && let Some(seconds) = naps.next()
        {
            filters[1].start();
            filters[0].nap(Duration::from_secs(*seconds));
            println!("the first filter was suspended for {seconds} s");
        }
        if broker_is_due && kills >= plan.kills / 2 {
            broker_is_due = false;
            let id = (1 + random.below(u64::from(plan.brokers))).to_string();
            for action in ["stop-broker", "start-broker"] {
                let output = script(&[action, &id, "--name", &cluster.name]);
                assert!(output.status.success(), "{action}: {}", String::from_utf8_lossy(&output.stderr));
            }
            println!("broker {id} was restarted after {kills} kills");
        }
    }
    (kills, moves)
}

/// Compares what is there with what must be there; gives how many of each verdict.
fn compare(plan: &Plan, cluster: &Cluster) -> HashMap<Option<&'static str>, u64> {
    let accepted = cluster.read(&format!("{INPUT}.accepted"));
    let rejected = cluster.read(&format!("{INPUT}.rejected"));
    let mut counts = HashMap::new();
    for partition in 0..PARTITIONS {
        let mut records = Records::new(plan.seed, partition);
        let (mut accepts, mut rejects) = (Vec::new(), Vec::new());
        for number in 0..records_of(plan, partition) {
            let truth = records.next().1;
            match truth {
                Truth::Accept => accepts.push((number, None)),
                Truth::Reject(reason) => rejects.push((number, Some(reason.to_owned()))),
            }
            let reason = if let Truth::Reject(reason) = truth { Some(reason) } else { None };
            *counts.entry(reason).or_default() += 1;
        }
        for (what, expected, found) in [
            ("accepted", accepts, &accepted[partition as usize]),
            ("rejected", rejects, &rejected[partition as usize]),
        ] {
            if expected != *found {
                let at = expected.iter().zip(found).take_while(|(left, right)| left == right).count();
                let around = |list: &[(u64, Option<String>)]| {
                    format!("{:?}", list.iter().skip(at).take(5).collect::<Vec<_>>())
                };
                panic!(
                    "{what}/{partition}, seed {}: {} records expected, {} found; they differ from place {at}: \
                     expected {}, found {}",
                    plan.seed,
                    expected.len(),
                    found.len(),
                    around(&expected),
                    around(found)
                );
            }
        }
    }
    counts
}

fn soak(plan: &Plan) {
    println!(
        "TOLLGATE_SEED={} records {} kills {} brokers {}",
        plan.seed, plan.records, plan.kills, plan.brokers
    );
    let Some(cluster) = Cluster::start(plan.brokers) else { return };
    cluster.create_topics();
    let dir = TempDir::new("soak");
    let mut filters = [Filter::new(&dir, &cluster, "first"), Filter::new(&dir, &cluster, "second")];
    let mut random = Random::new(plan.seed);
    let started = Instant::now();
    let is_over = AtomicBool::new(false);
    let (kills, moves) = std::thread::scope(|scope| {
        // A little slower than the disturbances last, so that there is always work while filters are killed.
        let per_second = plan.records / u64::from(2 * plan.kills).max(1);
        let (cluster, is_over) = (&cluster, &is_over);
        let writer = scope.spawn(move || cluster.fill(plan, per_second.max(1000), is_over));
        filters[0].start();
        let outcome = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
            disturb(plan, cluster, &mut filters, &mut random)
        }));
        is_over.store(outcome.is_err(), Ordering::Relaxed);
        writer.join().unwrap();
        outcome.unwrap_or_else(|panic| std::panic::resume_unwind(panic))
    });
    let disturbed = started.elapsed();
    while let Err(found) = cluster.is_done(plan) {
        filters.iter_mut().for_each(Filter::check);
        if started.elapsed() > disturbed + WAIT * 15 {
            let logs = filters.iter().map(Filter::said).collect::<Vec<_>>().join("\n---\n");
            panic!("the last records are not committed: {found}\n{logs}");
        }
        filters[0].start();
        std::thread::sleep(Duration::from_millis(200));
    }
    let filtered = started.elapsed();
    filters.iter_mut().for_each(Filter::stop);
    let mut counts: Vec<_> = compare(plan, &cluster).into_iter().collect();
    counts.sort_unstable();
    println!(
        "{} records, {kills} kills, {moves} starts and stops of the second filter, a broker restarted: \
         disturbed for {disturbed:.1?}, all filtered after {filtered:.1?}; lost 0, doubled 0, misjudged 0: {counts:?}",
        plan.records
    );
}

fn number(name: &str, default: u64) -> u64 {
    std::env::var(name).ok().and_then(|text| text.parse().ok()).unwrap_or(default)
}

fn seed() -> u64 {
    number("TOLLGATE_SEED", tollgate::clock::wall().micros().unsigned_abs() % 1_000_000_007)
}

#[test]
fn killed_filters_lose_double_and_misjudge_nothing() {
    soak(&Plan { records: 60_000, kills: 4, brokers: 1, naps_s: &[], seed: seed() });
}

/// The long run of `scripts/soak`.
#[test]
#[ignore = "takes minutes; run it by scripts/soak"]
fn soak_for_long() {
    soak(&Plan {
        records: number("TOLLGATE_SOAK_RECORDS", 1_000_000),
        kills: number("TOLLGATE_SOAK_KILLS", 20) as u32,
        brokers: number("TOLLGATE_SOAK_BROKERS", 3) as u32,
        naps_s: &[8, 18],
        seed: seed(),
    });
}
