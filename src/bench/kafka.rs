//! A run through any filter between topics: an open loop sends, and what comes out is accounted for.
//!
//! ```text
//! maker ──blocks──► sender ──► input topic ──► the filter ──► accepted, rejected ──► reader: account, latencies
//! ```
//!
//! A record is due at a time that its schedule says, whatever became of those before it, and its latency counts from
//! then: a filter that stalls cannot slow down the load that measures it. Records are told by the header
//! [`HEADER`], which the filter must keep.

use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::time::{Duration, Instant, SystemTime};

use bytes::Bytes;
use crossbeam::channel::{Receiver, Sender, bounded};

use super::latency::Latencies;
use crate::clock;
use crate::kafka::{
    Code, Consumer, ConsumerSettings, KafkaError, Message, PartitionOffset, Producer, ProducerSettings,
    Record,
};
use crate::load::{
    Account, BLOCK_RECORDS, Block, Findings, Generator, HEADER, Made, Schedule, Side, mark, partition_of,
    read_mark,
};
use crate::verdict::Reason;

/// LIMIT: blocks that are made ahead of the sender.
const AHEAD_MAX: usize = 32;
/// How long brokers may take to answer.
const ANSWER_MAX: Duration = Duration::from_secs(20);
/// Records and bytes of one read.
const READ_MAX: (usize, usize) = (4096, 8 << 20);

/// Where and how to run.
pub struct Route {
    /// Brokers.
    pub brokers: String,
    /// The filter's input.
    pub input: String,
    /// The filter's outputs.
    pub accepted: String,
    /// The filter's outputs.
    pub rejected: String,
    /// The filter says its reasons in the header `tollgate.reject`.
    pub says_reasons: bool,
}

/// One run.
pub struct Plan {
    /// When records are due.
    pub schedule: Schedule,
    /// How long records are sent.
    pub seconds: f64,
    /// Of these, how long latencies are not counted.
    pub warm_up: Duration,
    /// How long to wait, once everything was sent, while nothing comes out.
    pub patience: Duration,
    /// Tells this run's records from those of others.
    pub run: u64,
    /// The number of its first record in the generator's stream.
    pub first: u64,
}

/// What a run showed.
pub struct Outcome {
    /// What was wrong.
    pub findings: Findings,
    /// The latencies.
    pub latencies: Latencies,
    /// When it began.
    pub started: SystemTime,
    /// Records per second that were really sent, and that came out, without the warm-up.
    pub sent_per_second: f64,
    /// The same of what came out.
    pub seen_per_second: f64,
    /// The longest time that a record was sent after it was due.
    pub late_max: Duration,
}

/// A run that could not be made.
#[derive(Debug, thiserror::Error)]
pub enum RunError {
    /// Kafka.
    #[error(transparent)]
    Kafka(#[from] KafkaError),
    /// A record that the input topic refuses.
    #[error("the input topic refuses a record: {0}")]
    Refused(String),
}

/// Sends and accounts for one run.
pub fn run(generator: &Generator, route: &Route, plan: &Plan) -> Result<Outcome, RunError> {
    let records = plan.schedule.records_within(plan.seconds);
    let mut consumer = reader(route)?;
    let start = Instant::now() + Duration::from_millis(200);
    let (started, wall) = (SystemTime::now(), clock::wall().micros() + 200_000);
    // The stream's numbers go on from run to run, so that ids never repeat; the schedule begins anew.
    let time = |number: u64| wall + due(plan, number).as_micros() as i64;
    let late: Vec<AtomicU32> = (0..records).map(|_| AtomicU32::new(0)).collect();
    let (blocks_in, blocks) = bounded::<Block>(AHEAD_MAX);
    let (sent_in, sent) = bounded::<Vec<Made>>(AHEAD_MAX * 4);
    let done = AtomicBool::new(false);
    let outcome = std::thread::scope(|scope| {
        scope.spawn(move || make(generator, plan, records, time, &blocks_in));
        let (late, done) = (&late, &done);
        let sender = scope.spawn(move || {
            let sent = send(route, plan, start, late, &blocks, &sent_in);
            done.store(true, Ordering::Release);
            sent
        });
        let read = read(&mut consumer, route, plan, start, late, &sent, done);
        let sent = sender.join().unwrap_or_else(|_| unreachable!("a sender does not panic"));
        sent.and(read)
    });
    consumer.close(ANSWER_MAX)?;
    let (account, latencies, last_seen) = outcome?;
    let warm_up = plan.schedule.records_within(plan.warm_up.as_secs_f64());
    let counted = records.saturating_sub(warm_up) as f64;
    let late_max = late.iter().map(|late| late.load(Ordering::Relaxed)).max().unwrap_or_default();
    let seen_seconds = (last_seen.saturating_duration_since(start + plan.warm_up)).as_secs_f64();
    Ok(Outcome {
        findings: account.close(),
        latencies,
        started,
        sent_per_second: counted / (plan.seconds - plan.warm_up.as_secs_f64()).max(1e-9),
        seen_per_second: counted / seen_seconds.max(1e-9),
        late_max: Duration::from_micros(u64::from(late_max)),
    })
}

/// When a record of the stream is due, after the run's start.
fn due(plan: &Plan, number: u64) -> Duration {
    Duration::from_micros(plan.schedule.due_micros(number.saturating_sub(plan.first)))
}

/// A reader of everything that the outputs get from now on.
fn reader(route: &Route) -> Result<Consumer, KafkaError> {
    let producer = Producer::new(ProducerSettings::new(&route.brokers))?;
    let cluster = producer.cluster()?;
    let mut partitions = Vec::new();
    for topic in [&route.accepted, &route.rejected] {
        for partition in 0..cluster.partition_count(topic, ANSWER_MAX)? {
            let offset = cluster.watermarks(topic, partition, ANSWER_MAX)?.high;
            partitions.push(PartitionOffset::new(topic, partition, offset));
        }
    }
    cluster.partition_count(&route.input, ANSWER_MAX)?;
    producer.close(ANSWER_MAX, &mut Vec::new())?;
    let topics = [route.accepted.as_str(), route.rejected.as_str()];
    Consumer::assign(ConsumerSettings::new(&route.brokers, "tollgate-bench", &topics), &partitions)
}

fn make(generator: &Generator, plan: &Plan, records: u64, time: impl Fn(u64) -> i64, blocks: &Sender<Block>) {
    // What an earlier run sent was sent at other times: no copy reaches back to it.
    let mut cursor = generator.cursor_from(plan.first);
    for first in (plan.first..plan.first + records).step_by(BLOCK_RECORDS) {
        let block = Block::make(first, plan.first + records, |number, out| cursor.write(number, &time, out));
        if blocks.send(block).is_err() {
            return;
        }
    }
}

fn send(
    route: &Route,
    plan: &Plan,
    start: Instant,
    late: &[AtomicU32],
    blocks: &Receiver<Block>,
    sent: &Sender<Vec<Made>>,
) -> Result<(), RunError> {
    let mut settings = ProducerSettings::new(&route.brokers);
    // The load must not wait for company: what the filter adds is to be seen.
    settings.client.pass_through = [("linger.ms", "1"), ("queue.buffering.max.messages", "2000000")]
        .map(|(key, value)| (key.to_owned(), value.to_owned()))
        .into();
    let mut producer = Producer::new(settings)?;
    let topic = producer.topic(&route.input)?;
    let partitions = producer.cluster()?.partition_count(&route.input, ANSWER_MAX)?.max(1);
    let mut reports = Vec::new();
    for block in blocks {
        // The account knows a record before the filter can.
        let _ = sent.send(block.records.iter().map(|(_, made)| *made).collect());
        let bytes = Bytes::from(block.bytes);
        let mut from = 0;
        for (number, (end, made)) in (block.first..).zip(&block.records) {
            let payload = (!made.tombstone).then(|| bytes.slice(from..*end as usize));
            from = *end as usize + 1;
            let due_at = start + due(plan, number);
            wait_until(due_at, &mut producer, &mut reports)?;
            let (key, mark) = (format!("k{}", made.key), mark(plan.run, number - plan.first));
            let headers = [(HEADER, mark.as_bytes())];
            let record = Record { payload, key: Some(key.as_bytes()), time_ms: None, headers: &headers };
            let partition = Some(partition_of(made.key, partitions));
            while let Err(fault) = producer.produce_bytes(topic, partition, &record, 0) {
                if fault.code != Code::QUEUE_FULL {
                    return Err(RunError::Refused(fault.to_string()));
                }
                producer.poll(Duration::from_millis(1), &mut reports)?;
                reports.clear();
            }
            if let Some(late) = late.get((number - plan.first) as usize) {
                let micros = Instant::now().saturating_duration_since(due_at).as_micros();
                late.store(micros.min(u128::from(u32::MAX)) as u32, Ordering::Release);
            }
        }
    }
    producer.flush(ANSWER_MAX * 3, &mut reports)?;
    if let Some(code) = reports.iter().find_map(|report| report.outcome.as_ref().err()) {
        return Err(RunError::Refused(format!("{code:?}")));
    }
    Ok(producer.close(ANSWER_MAX, &mut reports)?)
}

/// Sleeps, and serves the client's reports meanwhile; the last stretch is not slept away.
fn wait_until(
    at: Instant,
    producer: &mut Producer,
    reports: &mut Vec<crate::kafka::Delivery>,
) -> Result<(), RunError> {
    const SLEPT_MIN: Duration = Duration::from_micros(1_500);
    loop {
        let left = at.saturating_duration_since(Instant::now());
        if left.is_zero() {
            return Ok(());
        }
        if left > SLEPT_MIN {
            producer.poll(Duration::ZERO, reports)?;
            if let Some(code) = reports.iter().find_map(|report| report.outcome.as_ref().err()) {
                return Err(RunError::Refused(format!("{code:?}")));
            }
            reports.clear();
            std::thread::sleep(left.saturating_sub(SLEPT_MIN / 2).min(Duration::from_millis(20)));
        } else if left > Duration::from_micros(100) {
            std::thread::sleep(left / 2);
        } else {
            std::hint::spin_loop();
        }
    }
}

type Read = (Account, Latencies, Instant);

fn read(
    consumer: &mut Consumer,
    route: &Route,
    plan: &Plan,
    start: Instant,
    late: &[AtomicU32],
    sent: &Receiver<Vec<Made>>,
    done: &AtomicBool,
) -> Result<Read, RunError> {
    let (mut account, mut latencies) = (Account::new(route.says_reasons), Latencies::default());
    let (mut batches, mut progress) = (Vec::new(), Instant::now());
    loop {
        let ended = done.load(Ordering::Acquire);
        consumer.read(READ_MAX.0, READ_MAX.1, Duration::from_millis(50), &mut batches)?;
        let now = Instant::now();
        // Whatever came out was sent before, so its entry is in the channel by now.
        for made in sent.try_iter().flatten() {
            account.sent(made);
        }
        for batch in batches.drain(..) {
            let accepted = consumer.topic_name(batch.topic) == route.accepted;
            for message in &batch.messages {
                let Some(number) = number_of(message, plan.run) else { continue };
                let side = if accepted { Side::Accepted } else { Side::Rejected(reason_of(message)) };
                progress = now;
                if account.seen(number, side) {
                    let due = due(plan, number + plan.first);
                    let Some(due) = due.checked_sub(plan.warm_up) else { continue };
                    let due_at = start + plan.warm_up + due;
                    let late = late.get(number as usize).map_or(0, |late| late.load(Ordering::Acquire));
                    let corrected = now.saturating_duration_since(due_at);
                    let raw = corrected.saturating_sub(Duration::from_micros(u64::from(late)));
                    latencies.record(due, corrected, raw);
                }
            }
        }
        if ended && (account.missing() == 0 || progress.elapsed() > plan.patience) {
            // What is doubled comes late.
            if account.missing() > 0 || progress.elapsed() > Duration::from_secs(1) {
                return Ok((account, latencies, progress));
            }
        }
    }
}

/// The number of a record of this run.
fn number_of(message: &Message, run: u64) -> Option<u64> {
    let mut number = None;
    message.headers(|name, value| {
        if name == HEADER.as_bytes() {
            number = value.and_then(read_mark).filter(|(of_run, _)| *of_run == run).map(|(_, number)| number);
        }
    });
    number
}

/// The reason in the header that Tollgate writes.
fn reason_of(message: &Message) -> Option<Reason> {
    let mut reason = None;
    message.headers(|name, value| {
        if name == b"tollgate.reject" {
            let note = value.and_then(|value| serde_json::from_slice::<serde_json::Value>(value).ok());
            reason = note.as_ref().and_then(|note| note.get("reason")?.as_str()).and_then(Reason::from_code);
        }
    });
    reason
}
