//! What survives: duplicates over restarts and rebalances, lost journals, offsets that a tool moved, records that an output
//! refuses. On a real Apache Kafka; see `kafka.rs`.

use std::process::Stdio;
use std::time::Duration;

use rdkafka::admin::{AdminClient, AdminOptions, AlterConfig, ResourceSpecifier};
use rdkafka::client::DefaultClientContext;
use rdkafka::consumer::{BaseConsumer, CommitMode, Consumer as _};
use rdkafka::message::{Header, OwnedHeaders};
use rdkafka::producer::{BaseProducer, BaseRecord, Producer as _};
use rdkafka::{Offset, TopicPartitionList};

use crate::cli::{TempDir, tollgate};
use crate::kafka::{Filter, PARTITIONS, Topics, WAIT, block_on, brokers, wait_for};

const SCHEMA: &str = r#"{"type":"object","required":["id"],"properties":{"id":{"type":"integer"}}}"#;

/// Topics whose records are plain numbered envelopes.
pub(crate) struct Orders {
    pub(crate) topics: Topics,
    pub(crate) dir: TempDir,
    sent: std::cell::Cell<u64>,
}

impl Orders {
    pub(crate) fn create(brokers: &'static str, input: &str) -> Self {
        let (topics, dir) = (Topics::create(brokers, input), TempDir::new(input));
        dir.write("orders.json", SCHEMA);
        Self { topics, dir, sent: std::cell::Cell::default() }
    }

    pub(crate) fn config(&self, instance: &str, more: &str) -> String {
        self.config_with_rules(instance, more, "")
    }

    pub(crate) fn config_with_rules(&self, instance: &str, more: &str, rules: &str) -> String {
        let text = format!(
            "[kafka]\nbrokers = \"{}\"\ngroup = \"{}\"\ntopics = [\"{}\"]\nstart = \"beginning\"\n\
             instance = \"{instance}\"\nsession_timeout_ms = 6000\n{more}[rules]\nformat = \"orders\"\n{rules}\
             [format.orders]\nschema = \"orders.json\"\nid = \"/id\"\n",
            self.topics.brokers,
            self.topics.group(),
            self.topics.input
        );
        self.dir.write(&format!("{instance}.toml"), text).to_str().unwrap().to_owned()
    }

    /// Sends envelopes with these ids, each to the partition of its id; `pad` makes them long.
    pub(crate) fn send(&self, ids: impl IntoIterator<Item = u64>, pad: usize, time_ms: Option<i64>) {
        self.send_to(None, ids, pad, time_ms);
    }

    /// The same, all to one partition.
    pub(crate) fn send_to(
        &self,
        partition: Option<i32>,
        ids: impl IntoIterator<Item = u64>,
        pad: usize,
        time_ms: Option<i64>,
    ) {
        let producer: BaseProducer = (self.topics.client())
            .set("message.max.bytes", "4000000")
            .set("enable.idempotence", "true")
            .create()
            .unwrap();
        for id in ids {
            let number = self.sent.replace(self.sent.get() + 1).to_string();
            let payload = format!("{{\"id\":{id},\"pad\":\"{:x>pad$}\"}}", "");
            let partition = partition.unwrap_or((id % PARTITIONS as u64) as i32);
            let headers = OwnedHeaders::new().insert(Header { key: "number", value: Some(&number) });
            let mut record = BaseRecord::<(), _>::to(&self.topics.input).payload(&payload).headers(headers);
            record.timestamp = time_ms;
            producer.send(record.partition(partition)).unwrap();
        }
        producer.flush(WAIT).unwrap();
    }

    /// How many records are in accepted, and the reasons of those in rejected, each with its number.
    pub(crate) fn outcome(&self) -> (Vec<u64>, Vec<(u64, String)>) {
        let mut accepted: Vec<_> = self
            .topics
            .read(&self.topics.accepted())
            .into_values()
            .flatten()
            .map(|seen| seen.number)
            .collect();
        accepted.sort_unstable();
        let rejected = self.topics.read(&self.topics.rejected()).into_values().flatten();
        let mut rejected: Vec<_> = rejected
            .map(|seen| {
                let note: serde_json::Value = serde_json::from_str(seen.reject.as_deref().unwrap()).unwrap();
                (seen.number, note["reason"].as_str().unwrap().to_owned())
            })
            .collect();
        rejected.sort_unstable();
        (accepted, rejected)
    }

    pub(crate) fn wait_committed(&self, records: i64) {
        wait_for("the records to be committed", || self.topics.committed() >= records);
    }

    /// Four hundred records that a filter has committed; it has stopped.
    fn filtered(brokers: &'static str, input: &str) -> Self {
        let orders = Self::create(brokers, input);
        orders.send(0..400, 0, None);
        let filter = Filter::start(&orders.config("one", ""));
        orders.wait_committed(400);
        filter.stop();
        orders
    }

    /// Another client commits in the filter's group, once nobody is in it.
    fn commit_elsewhere(&self, offsets: &TopicPartitionList) {
        let consumer: BaseConsumer =
            self.topics.client().set("group.id", self.topics.group()).create().unwrap();
        wait_for("the group to be empty", || consumer.commit(offsets, CommitMode::Sync).is_ok());
    }

    pub(crate) fn journal(&self) -> String {
        format!("{}.{}.journal", self.topics.input, self.topics.group())
    }
}

/// Runs until it ends by itself; its exit code and what it said.
fn run_to_end(config: &str) -> (Option<i32>, String) {
    let output = tollgate().args(["run", "--config", config]).stdin(Stdio::null()).output().unwrap();
    (output.status.code(), String::from_utf8_lossy(&output.stderr).into_owned())
}

pub(crate) fn duplicates(numbers: impl IntoIterator<Item = u64>) -> Vec<(u64, String)> {
    numbers.into_iter().map(|number| (number, "duplicate".to_owned())).collect()
}

#[test]
fn duplicates_over_a_restart_or_a_rebalance_are_rejected_and_redelivered_records_are_not() {
    let Some(brokers) = brokers() else { return };
    for delivery in ["exactly_once", "at_least_once"] {
        let orders = Orders::create(brokers, &format!("straddle-{delivery}"));
        let more = format!("delivery = \"{delivery}\"\ncommit_interval_ms = 100\n");
        orders.send(0..1000, 0, None);
        let first = Filter::start(&orders.config("one", &more));
        orders.wait_committed(1000);
        // A restart without a word of farewell.
        first.signal("-KILL");
        drop(first);
        orders.send(0..500, 0, None);
        let first = Filter::start(&orders.config("one", &more));
        orders.wait_committed(1500);
        // Another process takes some partitions over, with their state.
        let second = Filter::start(&orders.config("two", &more));
        orders.send(1000..1200, 0, None);
        std::thread::sleep(Duration::from_secs(5));
        orders.send((500..1000).chain(1000..1200), 0, None);
        orders.wait_committed(2400);
        first.stop();
        second.stop();
        let (accepted, rejected) = orders.outcome();
        assert_eq!(accepted, (0..1000).chain(1500..1700).collect::<Vec<_>>(), "{delivery}");
        assert_eq!(rejected, duplicates((1000..1500).chain(1700..2400)), "{delivery}");
    }
}

#[test]
fn a_lost_journal_stops_the_filter_or_is_said_loudly() {
    let Some(brokers) = brokers() else { return };
    let orders = Orders::filtered(brokers, "lost");
    let admin: AdminClient<DefaultClientContext> = orders.topics.client().create().unwrap();
    // Cut short first: some records below what is needed go.
    let mut cut = TopicPartitionList::new();
    for partition in 0..PARTITIONS {
        cut.add_partition_offset(&orders.journal(), partition, Offset::End).unwrap();
    }
    block_on(admin.delete_records(&cut, &AdminOptions::new())).unwrap();
    orders.send(0..40, 0, None);
    let (code, said) = run_to_end(&orders.config("one", ""));
    assert_eq!(code, Some(3), "{said}");
    assert!(said.contains("state is lost") && said.contains("on_state_loss"), "{said}");
    // Then deleted altogether.
    block_on(admin.delete_topics(&[&orders.journal()], &AdminOptions::new())).unwrap();
    std::thread::sleep(Duration::from_secs(1));
    let (code, said) = run_to_end(&orders.config("one", ""));
    assert_eq!(code, Some(3), "{said}");
    assert!(said.contains("state is lost"), "{said}");
    // And told to go on, it goes on with what is left: nothing.
    let filter = Filter::start(&orders.config("one", "on_state_loss = \"continue\"\n"));
    orders.wait_committed(440);
    filter.stop();
    assert_eq!(orders.outcome().0.len(), 440);
}

/// The newest record that an offset names may be gone though records lie behind it.
#[test]
fn a_journal_that_lacks_the_record_an_offset_names_is_lost_whatever_lies_behind() {
    let Some(brokers) = brokers() else { return };
    let orders = Orders::filtered(brokers, "lacking");
    // The end of a transaction lies at the end of each journal: an offset that no record has.
    let consumer: BaseConsumer = orders.topics.client().create().unwrap();
    let (_, end) = consumer.fetch_watermarks(&orders.journal(), 0, WAIT).unwrap();
    let mut named = TopicPartitionList::new();
    named.add_partition_offset(&orders.topics.input, 0, Offset::Offset(100)).unwrap();
    let text = format!("tollgate/1 floor=0 last={}", end - 1);
    named.find_partition(&orders.topics.input, 0).unwrap().set_metadata(text);
    orders.commit_elsewhere(&named);
    let producer: BaseProducer = orders.topics.client().create().unwrap();
    let blank = tollgate::kafka::journal::blank();
    producer.send(BaseRecord::<(), _>::to(&orders.journal()).partition(0).payload(&blank[..])).unwrap();
    producer.flush(WAIT).unwrap();
    let (code, said) = run_to_end(&orders.config("one", ""));
    assert_eq!(code, Some(3), "{said}");
    assert!(said.contains("state is lost") && said.contains("is not there any more"), "{said}");
}

#[test]
fn offsets_that_a_tool_moved_are_followed() {
    let Some(brokers) = brokers() else { return };
    let orders = Orders::filtered(brokers, "reset");
    // Back by ten in each partition, by another client, and without our text.
    let mut back = TopicPartitionList::new();
    for partition in 0..PARTITIONS {
        back.add_partition_offset(&orders.topics.input, partition, Offset::Offset(90)).unwrap();
    }
    orders.commit_elsewhere(&back);
    orders.send(0..40, 0, None);
    let filter = Filter::start(&orders.config("one", ""));
    orders.wait_committed(440);
    filter.stop();
    let (accepted, rejected) = orders.outcome();
    // The last ten of each partition are no duplicates of themselves; what is before them is remembered.
    let again = 90 * PARTITIONS as u64..400;
    let mut expected: Vec<_> = (0..400).chain(again).collect();
    expected.sort_unstable();
    assert_eq!(accepted, expected);
    assert_eq!(rejected, duplicates(400..440));
}

#[test]
fn a_record_that_the_output_refuses_becomes_a_stub_and_stops_nothing() {
    let Some(brokers) = brokers() else { return };
    for delivery in ["exactly_once", "at_least_once"] {
        let orders = Orders::create(brokers, &format!("refused-{delivery}"));
        let admin: AdminClient<DefaultClientContext> = orders.topics.client().create().unwrap();
        let (accepted, more) = (orders.topics.accepted(), format!("delivery = \"{delivery}\"\n"));
        let limit = AlterConfig::new(ResourceSpecifier::Topic(&accepted)).set("max.message.bytes", "2000");
        block_on(admin.alter_configs([&limit], &AdminOptions::new())).unwrap();
        let small = "[librdkafka]\n\"batch.num.messages\" = 10\n";
        orders.send(0..100, 0, None);
        orders.send([100], 5000, None);
        orders.send(101..200, 0, None);
        let config = orders.config("one", &more);
        let text = std::fs::read_to_string(&config).unwrap() + small;
        let filter = Filter::start(orders.dir.write("small.toml", text).to_str().unwrap());
        orders.wait_committed(200);
        filter.stop();
        let (mut accepted, _) = orders.outcome();
        accepted.dedup();
        assert_eq!(accepted, (0..100).chain(101..200).collect::<Vec<_>>(), "{delivery}");
        let rejected: Vec<_> =
            orders.topics.read(&orders.topics.rejected()).into_values().flatten().collect();
        assert!(!rejected.is_empty(), "{delivery}");
        for stub in rejected {
            let note: serde_json::Value = serde_json::from_str(stub.reject.as_deref().unwrap()).unwrap();
            assert_eq!(note["reason"], "undeliverable");
            let payload: serde_json::Value = serde_json::from_slice(&stub.payload.unwrap()).unwrap();
            assert_eq!(payload["tollgate"], note);
            assert_eq!(payload["sha256"].as_str().unwrap().len(), 64);
            assert!(payload["bytes"].as_u64().unwrap() > 5000);
        }
    }
}

/// With the records' own clock, an outage is no time at all: what was seen before it is still known after it.
#[test]
fn an_outage_longer_than_the_window_forgets_nothing_by_the_records_clock() {
    let Some(brokers) = brokers() else { return };
    let orders = Orders::create(brokers, "outage");
    let two_days_ago = tollgate::clock::wall().micros() / 1000 - 2 * 86_400_000;
    orders.send(0..100, 0, Some(two_days_ago));
    let config = orders.config_with_rules("one", "", "clock = \"record\"\n");
    let filter = Filter::start(&config);
    orders.wait_committed(100);
    filter.stop();
    orders.send(0..100, 0, Some(two_days_ago + 3_600_000));
    let filter = Filter::start(&config);
    orders.wait_committed(200);
    // Longer after the first than ids are kept: by that clock they may pass again.
    orders.send(0..100, 0, Some(two_days_ago + 90_000_000));
    orders.wait_committed(300);
    filter.stop();
    let (accepted, rejected) = orders.outcome();
    assert_eq!(accepted, (0..100).chain(200..300).collect::<Vec<_>>());
    assert_eq!(rejected, duplicates(100..200));
}

/// What is forgotten leaves the journal too.
#[test]
fn the_journal_is_kept_short() {
    let Some(brokers) = brokers() else { return };
    let orders = Orders::create(brokers, "short");
    let config = std::fs::read_to_string(orders.config("one", "")).unwrap();
    let config = config + "dedup_keep_s = 1\n[window]\nmargin_s = 0\n";
    let filter = Filter::start(orders.dir.write("short.toml", config).to_str().unwrap());
    let consumer: BaseConsumer = orders.topics.client().create().unwrap();
    let first = |partition| consumer.fetch_watermarks(&orders.journal(), partition, WAIT).unwrap().0;
    let mut sent = 0;
    wait_for("the journal to be trimmed", || {
        orders.send(sent..sent + PARTITIONS as u64, 0, None);
        sent += PARTITIONS as u64;
        std::thread::sleep(Duration::from_millis(50));
        sent > 100 * PARTITIONS as u64 && (0..PARTITIONS).all(|partition| first(partition) > 0)
    });
    orders.wait_committed(sent as i64);
    filter.stop();
    // And what is left is enough to go on with.
    let filter = Filter::start(orders.dir.path().join("short.toml").to_str().unwrap());
    orders.send([sent], 0, None);
    orders.wait_committed(sent as i64 + 1);
    filter.stop();
    assert_eq!(orders.outcome().0.len() as u64, sent + 1);
}
