//! The filter on librdkafka's mock cluster, which answers with the errors that we want.
//!
//! The mock knows no aborted records and keeps no offsets of transactions, so what is read here may stand twice; what counts
//! is that nothing is missing, that nothing that came again was taken for a copy, and that the filter lives on.

#![expect(clippy::print_stdout, reason = "which error was not survived")]

use std::collections::BTreeSet;
use std::process::Stdio;
use std::time::Duration;

use rdkafka::config::ClientConfig;
use rdkafka::consumer::{BaseConsumer, Consumer as _};
use rdkafka::message::Message as _;
use rdkafka::mocking::MockCluster;
use rdkafka::producer::{BaseProducer, BaseRecord, DefaultProducerContext, Producer as _};
use rdkafka::types::{RDKafkaApiKey, RDKafkaRespErr};
use rdkafka::{Offset, TopicPartitionList};

use crate::cli::{TempDir, tollgate};
use crate::kafka::{Filter, WAIT, wait_for};

const SCHEMA: &str = r#"{"type":"object","required":["id"],"properties":{"id":{"type":"integer"}}}"#;

struct Mocked {
    cluster: MockCluster<'static, DefaultProducerContext>,
    dir: TempDir,
}

impl Mocked {
    fn new(name: &str) -> Self {
        let cluster = MockCluster::new(1).unwrap();
        for topic in ["in", "in.accepted", "in.rejected", "in.g.journal"] {
            cluster.create_topic(topic, 1, 1).unwrap();
        }
        let dir = TempDir::new(name);
        dir.write("orders.json", SCHEMA);
        Self { cluster, dir }
    }

    fn client(&self) -> ClientConfig {
        let mut config = ClientConfig::new();
        config.set("bootstrap.servers", self.cluster.bootstrap_servers()).set("group.id", "g");
        config
    }

    fn config(&self, delivery: &str) -> String {
        let text = format!(
            "[kafka]\nbrokers = \"{}\"\ngroup = \"g\"\ntopics = [\"in\"]\nstart = \"beginning\"\n\
             instance = \"one\"\ndelivery = \"{delivery}\"\ncommit_interval_ms = 100\n[rules]\nformat = \"orders\"\n\
             [format.orders]\nschema = \"orders.json\"\nid = \"/id\"\n",
            self.cluster.bootstrap_servers()
        );
        self.dir.write("mocked.toml", text).to_str().unwrap().to_owned()
    }

    fn send(&self, ids: std::ops::Range<u64>) {
        let producer: BaseProducer = self.client().create().unwrap();
        for id in ids {
            let payload = format!("{{\"id\":{id}}}");
            producer.send(BaseRecord::<(), _>::to("in").payload(&payload)).unwrap();
        }
        producer.flush(WAIT).unwrap();
    }

    /// Whether all ids below this one are in the accepted topic.
    fn has(&self, ids: u64) -> bool {
        self.read("in.accepted").into_iter().eq(0..ids)
    }

    /// The ids in a topic.
    fn read(&self, topic: &str) -> BTreeSet<u64> {
        let consumer: BaseConsumer = self.client().create().unwrap();
        let (_, end) = consumer.fetch_watermarks(topic, 0, WAIT).unwrap();
        let mut all = TopicPartitionList::new();
        all.add_partition_offset(topic, 0, Offset::Beginning).unwrap();
        consumer.assign(&all).unwrap();
        let mut ids = BTreeSet::new();
        let mut next = 0;
        while next < end {
            let Some(message) = consumer.poll(Duration::from_secs(5)) else {
                panic!("{topic} ends at {next}")
            };
            let message = message.unwrap();
            next = message.offset() + 1;
            let record: serde_json::Value = serde_json::from_slice(message.payload().unwrap()).unwrap();
            ids.extend(record["id"].as_u64());
        }
        ids
    }
}

/// After each of these errors, everything still gets through.
fn survives(name: &str, delivery: &str, errors: &[(RDKafkaApiKey, RDKafkaRespErr)]) {
    let mocked = Mocked::new(name);
    let filter = Filter::start(&mocked.config(delivery));
    mocked.send(0..500);
    wait_for("the first records", || mocked.has(500));
    let mut sent = 500;
    for (request, error) in errors {
        println!("{request:?}: {error:?}");
        // Asleep meanwhile, or the error would meet whoever sends.
        filter.signal("-STOP");
        mocked.send(sent..sent + 500);
        mocked.cluster.request_errors(*request, &[*error]);
        filter.signal("-CONT");
        sent += 500;
        wait_for("the records after an error", || mocked.has(sent));
    }
    filter.stop();
    assert!(mocked.has(sent), "nothing is missing");
    assert_eq!(mocked.read("in.rejected"), BTreeSet::new(), "nothing that came again was taken for a copy");
}

#[test]
fn errors_of_a_transaction_are_survived() {
    use RDKafkaApiKey as Request;
    use RDKafkaRespErr as Error;
    survives(
        "injected-transactions",
        "exactly_once",
        &[
            // Passing trouble: the same call is made again.
            (Request::EndTxn, Error::RD_KAFKA_RESP_ERR_COORDINATOR_LOAD_IN_PROGRESS),
            (Request::AddOffsetsToTxn, Error::RD_KAFKA_RESP_ERR_NOT_COORDINATOR),
            (Request::Produce, Error::RD_KAFKA_RESP_ERR_NOT_ENOUGH_REPLICAS),
            // The transaction can only be aborted, and comes again.
            (Request::TxnOffsetCommit, Error::RD_KAFKA_RESP_ERR_ILLEGAL_GENERATION),
            (Request::Produce, Error::RD_KAFKA_RESP_ERR_INVALID_TIMESTAMP),
            (Request::Produce, Error::RD_KAFKA_RESP_ERR_MSG_SIZE_TOO_LARGE),
            // Fatal, with an unknown outcome: a new producer, and the committed offsets tell.
            (Request::EndTxn, Error::RD_KAFKA_RESP_ERR_INVALID_TXN_STATE),
            (Request::EndTxn, Error::RD_KAFKA_RESP_ERR_INVALID_PRODUCER_ID_MAPPING),
            (Request::AddPartitionsToTxn, Error::RD_KAFKA_RESP_ERR_INVALID_TXN_STATE),
        ],
    );
}

#[test]
fn errors_at_least_once_are_survived() {
    use RDKafkaApiKey as Request;
    use RDKafkaRespErr as Error;
    survives(
        "injected-plain",
        "at_least_once",
        &[
            (Request::Produce, Error::RD_KAFKA_RESP_ERR_NOT_LEADER_FOR_PARTITION),
            (Request::Produce, Error::RD_KAFKA_RESP_ERR_NOT_ENOUGH_REPLICAS),
            (Request::Produce, Error::RD_KAFKA_RESP_ERR_INVALID_TIMESTAMP),
            (Request::Produce, Error::RD_KAFKA_RESP_ERR_OUT_OF_ORDER_SEQUENCE_NUMBER),
            (Request::OffsetCommit, Error::RD_KAFKA_RESP_ERR_COORDINATOR_LOAD_IN_PROGRESS),
        ],
    );
}

/// A call to the coordinator that runs out of time is made again; nothing is aborted, and nothing comes twice.
#[test]
fn a_commit_that_runs_out_of_time_is_called_again() {
    let mocked = Mocked::new("injected-slow");
    let filter = Filter::start(&mocked.config("exactly_once"));
    mocked.send(0..100);
    wait_for("the first records", || mocked.has(100));
    filter.signal("-STOP");
    mocked.send(100..200);
    mocked.cluster.broker_round_trip_time(1, Duration::from_secs(6)).unwrap();
    filter.signal("-CONT");
    std::thread::sleep(Duration::from_secs(13));
    mocked.cluster.broker_round_trip_time(1, Duration::ZERO).unwrap();
    wait_for("the slow records", || mocked.has(200));
    filter.stop();
    assert_eq!(mocked.read("in.rejected"), BTreeSet::new());
}

#[test]
fn a_producer_that_is_fenced_ends_the_filter() {
    let mocked = Mocked::new("injected-fenced");
    let mut filter = Filter::start(&mocked.config("exactly_once"));
    mocked.send(0..100);
    wait_for("the first records", || mocked.has(100));
    mocked
        .cluster
        .request_errors(RDKafkaApiKey::EndTxn, &[RDKafkaRespErr::RD_KAFKA_RESP_ERR_PRODUCER_FENCED]);
    mocked.send(100..200);
    assert_eq!(filter.0.wait().unwrap().code(), Some(3));
}

/// Starts a filter whose log can be read.
fn start_logged(mocked: &Mocked, delivery: &str) -> (Filter, std::path::PathBuf) {
    let log = mocked.dir.path().join("log");
    let mut run = tollgate();
    run.args(["run", "--config", &mocked.config(delivery)]);
    run.stdout(Stdio::null()).stderr(std::fs::File::create(&log).unwrap());
    (Filter(run.spawn().unwrap()), log)
}

/// A broker that restarts can lose its answer to a member, who then counts as fenced although nobody has its name.
#[test]
fn a_member_that_is_fenced_once_goes_on_and_one_that_is_fenced_again_ends() {
    const FENCED: RDKafkaRespErr = RDKafkaRespErr::RD_KAFKA_RESP_ERR_FENCED_INSTANCE_ID;
    for delivery in ["exactly_once", "at_least_once"] {
        let mocked = Mocked::new(&format!("injected-member-{delivery}"));
        let (mut filter, log) = start_logged(&mocked, delivery);
        let said = || std::fs::read_to_string(&log).unwrap();
        mocked.send(0..100);
        wait_for("the first records", || mocked.has(100));
        filter.signal("-STOP");
        mocked.send(100..200);
        mocked.cluster.request_errors(RDKafkaApiKey::Heartbeat, &[FENCED]);
        filter.signal("-CONT");
        wait_for("the new member", || {
            assert_eq!(filter.0.try_wait().unwrap(), None, "{delivery}: {}", said());
            said().contains("the consumer is made anew")
        });
        mocked.send(200..300);
        wait_for("the records of the new member", || mocked.has(300));
        // The mock keeps no offsets of transactions, so the new member begins at the beginning.
        let copies = mocked.read("in.rejected");
        assert!(delivery == "exactly_once" || copies.is_empty(), "{delivery}: {copies:?} are no copies");

        mocked.cluster.request_errors(RDKafkaApiKey::Heartbeat, &[FENCED]);
        let ended = filter.0.wait().unwrap().code();
        assert_eq!(ended, Some(3), "{delivery}: {}", said());
        assert!(said().contains("`kafka.instance`"), "{delivery}: {}", said());
    }
}

/// The brokers cannot say where a partition begins, for longer than one assignment waits for that.
#[test]
fn an_assignment_that_meets_no_broker_only_holds_things_up() {
    let mocked = Mocked::new("injected-assignment");
    mocked.send(0..100);
    let error = RDKafkaRespErr::RD_KAFKA_RESP_ERR_COORDINATOR_NOT_AVAILABLE;
    mocked.cluster.request_errors(RDKafkaApiKey::OffsetFetch, &vec![error; 10_000]);
    let (mut filter, log) = start_logged(&mocked, "exactly_once");
    let said = || std::fs::read_to_string(&log).unwrap();
    wait_for("a new member", || {
        assert_eq!(filter.0.try_wait().unwrap(), None, "{}", said());
        said().contains("the consumer is made anew")
    });
    mocked.cluster.clear_request_errors(RDKafkaApiKey::OffsetFetch);
    wait_for("the records", || mocked.has(100));
    filter.stop();
}

/// What only a person can change ends the run: it neither goes on without the records nor tries for ever.
#[test]
fn a_right_that_is_taken_away_ends_the_filter() {
    for delivery in ["exactly_once", "at_least_once"] {
        let mocked = Mocked::new(&format!("injected-right-{delivery}"));
        let mut filter = Filter::start(&mocked.config(delivery));
        mocked.send(0..100);
        wait_for("the first records", || mocked.has(100));
        filter.signal("-STOP");
        mocked.send(100..200);
        let error = RDKafkaRespErr::RD_KAFKA_RESP_ERR_TOPIC_AUTHORIZATION_FAILED;
        mocked.cluster.request_errors(RDKafkaApiKey::Produce, &[error; 3]);
        filter.signal("-CONT");
        assert_eq!(filter.0.wait().unwrap().code(), Some(3), "{delivery}");
    }
}
