//! Tests of the client on librdkafka's mock cluster, where errors can be injected.
//!
//! The mock keeps about 5 MB per partition and forgets older records silently, so loads are small. What only a real
//! broker decides is tested elsewhere.

mod chaos;
mod classes;
mod commits;
mod cost;
mod faults;
mod groups;
mod journals;
mod leaks;
mod ranges;
mod real;
mod records;
mod settings;
mod transactions;

use crate::config::Bound;
use std::time::{Duration, Instant};

use bytes::Bytes;
use rdkafka::mocking::MockCluster;
use rdkafka::producer::DefaultProducerContext;

use super::*;

type Mock = MockCluster<'static, DefaultProducerContext>;

const SOON: Duration = Duration::from_secs(10);
const TICK: Duration = Duration::from_millis(50);

/// A mock cluster with these topics.
fn cluster(brokers: i32, topics: &[(&str, i32)]) -> Mock {
    let mock = MockCluster::new(brokers).unwrap();
    for (topic, partitions) in topics {
        mock.create_topic(topic, *partitions, 1).unwrap();
    }
    mock
}

fn producer_with(mock: &Mock, pass_through: &[(&str, &str)]) -> Producer {
    let mut settings = ProducerSettings::new(&mock.bootstrap_servers());
    settings.client.pass_through = pairs(pass_through);
    Producer::new(settings).unwrap()
}

fn pairs(list: &[(&str, &str)]) -> Vec<(String, String)> {
    list.iter().map(|(key, value)| ((*key).to_owned(), (*value).to_owned())).collect()
}

/// Settings with short heartbeats, so that rebalances are quick.
fn consumer_settings(mock: &Mock, group: &str, topics: &[&str]) -> ConsumerSettings {
    let mut settings = ConsumerSettings::new(&mock.bootstrap_servers(), group, topics);
    settings.start = Bound::Beginning;
    settings.client.pass_through = pairs(&[
        ("heartbeat.interval.ms", "200"),
        ("session.timeout.ms", "6000"),
        ("fetch.wait.max.ms", "10"),
    ]);
    settings
}

fn consumer(mock: &Mock, group: &str, topics: &[&str]) -> Consumer {
    Consumer::subscribe(consumer_settings(mock, group, topics), Box::new(())).unwrap()
}

/// A reader of all partitions from their beginning, without the group, which takes the mock some seconds to form.
fn reader(mock: &Mock, topic: &str, partitions: i32) -> Consumer {
    let all: Vec<_> = (0..partitions).map(|partition| PartitionOffset::new(topic, partition, 0)).collect();
    Consumer::assign(consumer_settings(mock, "by hand", &[topic]), &all).unwrap()
}

/// Writes `records` numbered payloads of `bytes` bytes over the topic's partitions, round robin.
fn fill(mock: &Mock, topic: &str, partitions: i32, numbers: std::ops::Range<u64>, bytes: usize) {
    let mut producer = producer_with(mock, &[]);
    let handle = producer.topic(topic).unwrap();
    for number in numbers {
        let mut payload = number.to_le_bytes().to_vec();
        payload.resize(bytes.max(8), b'x');
        let record = Record { payload: Some(Bytes::from(payload)), ..Record::default() };
        let partition = (number % u64::try_from(partitions).unwrap()) as i32;
        producer.produce_bytes(handle, Some(partition), &record, number).unwrap();
    }
    let mut reports = Vec::new();
    producer.flush(SOON, &mut reports).unwrap();
    assert!(reports.iter().all(|report| report.outcome.is_ok()));
    producer.close(SOON, &mut reports).unwrap();
}

/// Reads until `count` records have come, or `SOON` is over.
fn read(consumer: &mut Consumer, count: usize) -> Vec<PartitionBatch> {
    let (mut batches, mut total) = (Vec::new(), 0);
    let started = Instant::now();
    while total < count && started.elapsed() < SOON {
        let mut some = Vec::new();
        consumer.read(500, 1 << 20, TICK, &mut some).unwrap();
        total += some.iter().map(|batch| batch.messages.len()).sum::<usize>();
        batches.append(&mut some);
    }
    assert_eq!(total, count, "records within {SOON:?}");
    batches
}

/// Reads events and whatever comes for a while; returns the number of records, which are dropped.
fn read_for(consumer: &mut Consumer, time: Duration) -> usize {
    let (started, mut total) = (Instant::now(), 0);
    while started.elapsed() < time {
        let mut some = Vec::new();
        consumer.read(500, 1 << 20, TICK, &mut some).unwrap();
        total += some.iter().map(|batch| batch.messages.len()).sum::<usize>();
    }
    total
}

fn messages(batches: Vec<PartitionBatch>) -> Vec<Message> {
    batches.into_iter().flat_map(|batch| batch.messages).collect()
}

fn number(message: &Message) -> u64 {
    u64::from_le_bytes(message.payload().unwrap()[..8].try_into().unwrap())
}

/// Polls until nothing is outstanding.
fn drain(producer: &mut Producer) -> Vec<Delivery> {
    let mut reports = Vec::new();
    let started = Instant::now();
    while producer.outstanding() > 0 && started.elapsed() < SOON {
        producer.poll(TICK, &mut reports).unwrap();
    }
    assert_eq!(producer.outstanding(), 0, "everything is reported within {SOON:?}");
    reports
}

/// xorshift: enough for mixing up calls, and a seed repeats the run.
struct Random(u64);

impl Random {
    fn new() -> Self {
        let seed = std::env::var("TOLLGATE_SEED").ok().and_then(|text| text.parse().ok());
        let seed = seed.unwrap_or_else(|| crate::clock::wall().micros().unsigned_abs() | 1);
        println!("TOLLGATE_SEED={seed}");
        Self(seed)
    }

    fn below(&mut self, limit: u64) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0 % limit
    }
}
