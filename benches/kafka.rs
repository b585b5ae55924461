//! What Kafka itself costs: the bare loop that Tollgate is measured against, and the load for it.
//!
//! `scripts/bench-kafka` and `scripts/steady` run this beside `tollgate run`; by hand:
//!
//! ```text
//! kafka fill  BROKERS TOPIC RECORDS            writes records with known verdicts
//! kafka pace  BROKERS TOPIC RATE SECONDS       writes so many each second, on a fixed schedule
//! kafka floor BROKERS IN OUT RECORDS MODE      reads and sends on without looking; MODE exactly_once or at_least_once
//! kafka judge RECORDS                          judges the same records on one thread, without Kafka
//! ```
//!
//! `floor` and `judge` print CPU seconds per million records of this process, all threads. The floor uses the very client
//! that Tollgate uses: batches, no copy, one delivery report for each record, offsets committed behind them.

#![expect(
    clippy::unwrap_used,
    clippy::indexing_slicing,
    clippy::print_stdout,
    reason = "a bench may stop, and prints its results"
)]

use std::fs;
use std::hint::black_box;
use std::time::{Duration, Instant};

use bytes::Bytes;
use tollgate::clock;
use tollgate::config::{Bound, Config};
use tollgate::formats::{Asked, Binding};
use tollgate::judge::{Input, Judge, NoWatch, Payload, Rules};
use tollgate::kafka::{
    Code, Consumer, ConsumerSettings, Delivery, PartitionOffset, Producer, ProducerSettings, Record,
    TopicHandle,
};
use tollgate::load::Stream;
use tollgate::state::Settings;

// The allocator of the product.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

const WAIT: Duration = Duration::from_secs(30);
const SEED: u64 = 42;
const BROKEN_PER_MILLE: u16 = 100;
/// As Tollgate's own.
const COMMIT_EVERY: Duration = Duration::from_secs(1);
const TRANSACTION_EVERY: Duration = Duration::from_millis(200);
/// How many records may wait for their report.
const OUTSTANDING_MAX: usize = 65_536;

fn main() {
    let words: Vec<String> = std::env::args().skip(1).filter(|word| word != "--bench").collect();
    let words: Vec<&str> = words.iter().map(String::as_str).collect();
    match words.as_slice() {
        ["fill", brokers, topic, records] => fill(brokers, topic, records.parse().unwrap()),
        ["pace", brokers, topic, rate, seconds] => {
            pace(brokers, topic, rate.parse().unwrap(), seconds.parse().unwrap());
        }
        ["floor", brokers, from, to, records, mode] => {
            floor(brokers, from, to, records.parse().unwrap(), *mode == "exactly_once");
        }
        ["judge", records] => judge(records.parse().unwrap()),
        [] => println!("needs a broker: see scripts/bench-kafka"),
        _ => println!("usage: kafka fill|pace|floor|judge …; see the head of benches/kafka.rs"),
    }
}

/// CPU time of this process so far, in seconds.
fn cpu_s() -> f64 {
    let stat = fs::read_to_string("/proc/self/stat").unwrap();
    let fields: Vec<&str> = stat.rsplit(") ").next().unwrap().split(' ').collect();
    let ticks: f64 = fields[11].parse::<f64>().unwrap() + fields[12].parse::<f64>().unwrap();
    ticks / 100.0
}

fn report(what: &str, records: u64, cpu: f64, wall: Duration) {
    let million = records as f64 / 1e6;
    println!(
        "{{\"what\":\"{what}\",\"records\":{records},\"cpu_s_per_million\":{:.3},\"records_per_s\":{:.0}}}",
        cpu / million,
        records as f64 / wall.as_secs_f64()
    );
}

/// Sends one record of the stream, waiting while the queue is full.
fn send(
    producer: &mut Producer,
    topic: TopicHandle,
    stream: &mut Stream,
    number: u64,
    reports: &mut Vec<Delivery>,
) {
    let mut payload = Vec::with_capacity(1024);
    stream.write_next(&mut payload);
    let key = number.to_le_bytes();
    let record = Record { payload: Some(Bytes::from(payload)), key: Some(&key), ..Record::default() };
    while let Err(fault) = producer.produce_bytes(topic, None, &record, number) {
        assert_eq!(fault.code, Code::QUEUE_FULL, "{fault}");
        producer.poll(Duration::from_millis(10), reports).unwrap();
        check(reports);
    }
}

fn check(reports: &mut Vec<Delivery>) {
    assert!(reports.iter().all(|report| report.outcome.is_ok()), "every record is delivered");
    reports.clear();
}

fn fill(brokers: &str, topic: &str, records: u64) {
    let mut producer = Producer::new(ProducerSettings::new(brokers)).unwrap();
    let handle = producer.topic(topic).unwrap();
    let (mut stream, mut reports) = (Stream::new(SEED, BROKEN_PER_MILLE), Vec::new());
    for number in 0..records {
        send(&mut producer, handle, &mut stream, number, &mut reports);
    }
    producer.flush(10 * WAIT, &mut reports).unwrap();
    check(&mut reports);
    producer.close(WAIT, &mut reports).unwrap();
}

/// An open loop: what is late is sent at once, and the schedule stays.
fn pace(brokers: &str, topic: &str, rate: u64, seconds: u64) {
    let mut producer = Producer::new(ProducerSettings::new(brokers)).unwrap();
    let handle = producer.topic(topic).unwrap();
    let (mut stream, mut reports) = (Stream::new(SEED, BROKEN_PER_MILLE), Vec::new());
    let (started, mut sent, mut latest) = (Instant::now(), 0, Duration::ZERO);
    while sent < rate * seconds {
        let due = (started.elapsed().as_micros() * u128::from(rate) / 1_000_000) as u64;
        while sent < due.min(rate * seconds) {
            send(&mut producer, handle, &mut stream, sent, &mut reports);
            sent += 1;
        }
        let intended = Duration::from_micros(sent * 1_000_000 / rate);
        latest = latest.max(started.elapsed().saturating_sub(intended));
        producer.poll(Duration::from_millis(1), &mut reports).unwrap();
        check(&mut reports);
    }
    producer.flush(10 * WAIT, &mut reports).unwrap();
    check(&mut reports);
    producer.close(WAIT, &mut reports).unwrap();
    println!("{{\"sent\":{sent},\"rate\":{rate},\"behind_max_ms\":{}}}", latest.as_millis());
}

/// Reads and sends on. Everything that a filter must do at least, and nothing more.
fn floor(brokers: &str, from: &str, to: &str, records: u64, is_transactional: bool) {
    let group = format!("floor-{}", clock::wall().micros());
    let mut settings = ConsumerSettings::new(brokers, &group, &[from]);
    settings.start = Bound::Beginning;
    let mut consumer = Consumer::subscribe(settings, Box::new(())).unwrap();
    let transactional_id = is_transactional.then(|| group.clone());
    let mut producer =
        Producer::new(ProducerSettings { transactional_id, ..ProducerSettings::new(brokers) }).unwrap();
    let handle = producer.topic(to).unwrap();
    if is_transactional {
        producer.init_transactions(WAIT).unwrap();
        producer.begin_transaction().unwrap();
    }
    let every = if is_transactional { TRANSACTION_EVERY } else { COMMIT_EVERY };
    let (mut batches, mut reports) = (Vec::new(), Vec::new());
    let (mut done, mut began, mut started, mut cpu) = (0, Instant::now(), Instant::now(), cpu_s());
    while done < records {
        consumer.read(1024, 4 << 20, Duration::from_millis(100), &mut batches).unwrap();
        if done == 0 && !batches.is_empty() {
            // Joining the group is no part of the loop.
            (started, cpu) = (Instant::now(), cpu_s());
        }
        for batch in batches.drain(..) {
            for message in batch.messages {
                let partition = Some(message.partition());
                let mut message = message;
                while let Err((fault, back)) = producer.produce(handle, partition, message, None, 0) {
                    assert!(fault.is_retriable(), "{fault}");
                    message = back;
                    producer.poll(Duration::from_millis(10), &mut reports).unwrap();
                }
                done += 1;
            }
        }
        producer.poll(Duration::ZERO, &mut reports).unwrap();
        while producer.outstanding() > OUTSTANDING_MAX {
            producer.poll(Duration::from_millis(5), &mut reports).unwrap();
        }
        check(&mut reports);
        if began.elapsed() > every || done >= records {
            commit(&consumer, &mut producer, is_transactional, done < records);
            began = Instant::now();
        }
    }
    let mode = if is_transactional { "floor exactly_once" } else { "floor at_least_once" };
    report(mode, done, cpu_s() - cpu, started.elapsed());
    producer.close(WAIT, &mut reports).unwrap();
    consumer.close(WAIT).unwrap();
}

fn commit(consumer: &Consumer, producer: &mut Producer, is_transactional: bool, is_more: bool) {
    let owned = consumer.owned();
    let offsets: Vec<_> =
        owned.iter().map(|at| PartitionOffset::new(&at.name, at.partition, at.next)).collect();
    if offsets.is_empty() {
        return;
    }
    if is_transactional {
        let member = consumer.committer().group_metadata().unwrap();
        producer.send_offsets(&offsets, &member, WAIT).unwrap();
        producer.commit_transaction(WAIT).unwrap();
        if is_more {
            producer.begin_transaction().unwrap();
        }
    } else {
        producer.flush(WAIT, &mut Vec::new()).unwrap();
        consumer.committer().commit(&offsets, WAIT).unwrap();
    }
}

/// What judging alone costs, on the records that `fill` writes: their keys too, and facts, which a worker makes for the gate.
fn judge(records: u64) {
    let config = Config::default();
    let rules = Rules::compile(&config).unwrap();
    let mut judge = Judge::new(&rules);
    judge.make_facts_for(Asked { sequences: Settings::of(&config).sequences(), ..Asked::default() });
    let mut stream = Stream::new(SEED, BROKEN_PER_MILLE);
    let (mut pointer, mut cpu, mut accepted, mut number) = (Vec::new(), 0.0, 0_u64, 0_u64);
    let (now, started) = (Some(clock::wall()), Instant::now());
    let mut left = records;
    while left > 0 {
        let payloads: Vec<Vec<u8>> = (0..left.min(100_000))
            .map(|_| {
                let mut payload = Vec::new();
                stream.write_next(&mut payload);
                payload
            })
            .collect();
        let before = cpu_s();
        for payload in &payloads {
            pointer.clear();
            let key = number.to_le_bytes();
            let input = Input { payload: Payload::Bytes(payload), key: Some(&key), now };
            let verdict = judge.judge(&rules, Binding::Auto, input, &mut pointer, &mut NoWatch);
            accepted += u64::from(verdict.is_accept());
            black_box(judge.facts());
            number += 1;
        }
        cpu += cpu_s() - before;
        left -= payloads.len() as u64;
    }
    assert!(accepted > 0, "most of the records hold");
    report("judge", records, cpu, started.elapsed());
}
