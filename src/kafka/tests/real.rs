//! The same client on a real broker, which `scripts/kafka` fetches and starts for this process alone. Where it cannot be
//! had the test says so and passes; with `TOLLGATE_REQUIRE_KAFKA=1` it fails.

use std::collections::HashSet;
use std::io::Write as _;

use super::*;

const RECORDS: u64 = 20_000;

fn produce_numbers(brokers: &str, topic: &str, time_ms: i64) {
    let mut producer = Producer::new(ProducerSettings::new(brokers)).unwrap();
    let handle = producer.topic(topic).unwrap();
    for number in 0..RECORDS {
        let mut payload = number.to_le_bytes().to_vec();
        payload.resize(1000, b'x');
        let key = number.to_le_bytes();
        let record =
            Record { payload: Some(payload.into()), key: Some(&key), time_ms: Some(time_ms), headers: &[] };
        producer.produce_bytes(handle, None, &record, number).unwrap();
    }
    assert!(drain(&mut producer).iter().all(|report| report.outcome.is_ok()));
    producer.close(SOON, &mut Vec::new()).unwrap();
}

fn settings(brokers: &str, group: &str, topic: &str, start: Bound) -> ConsumerSettings {
    ConsumerSettings { start, ..ConsumerSettings::new(brokers, group, &[topic]) }
}

pub(super) fn transactional(brokers: &str, run: &str) -> Producer {
    let mut writer = ProducerSettings::new(brokers);
    writer.transactional_id = Some(format!("raw-{run}"));
    let mut producer = Producer::new(writer).unwrap();
    producer.init_transactions(SOON).unwrap();
    producer
}

/// Aborts. Seen with Kafka 4.3: an abort soon after a commit is refused at times (the broker seems not to have heard of
/// the new transaction), which librdkafka takes for fatal. A new producer with the same id has the same effect.
pub(super) fn abort(producer: &mut Producer, brokers: &str, run: &str) {
    if let Err(error) = producer.abort_transaction(SOON) {
        assert_eq!(error.class(), Class::Rebuild, "{error}");
        println!("rebuild: {error}");
        let old = std::mem::replace(producer, transactional(brokers, run));
        old.close(SOON, &mut Vec::new()).unwrap();
    }
}

/// A broker that makes topics on first use; its watchdog stops it when this process ends.
pub(super) fn broker() -> Option<String> {
    static BROKER: std::sync::OnceLock<Option<String>> = std::sync::OnceLock::new();
    BROKER.get_or_init(start_broker).clone()
}

fn start_broker() -> Option<String> {
    let pid = std::process::id().to_string();
    let script = concat!(env!("CARGO_MANIFEST_DIR"), "/scripts/kafka");
    let set = ["--set", "auto.create.topics.enable=true", "--set", "num.partitions=4"];
    let output = std::process::Command::new(script).args(["up", "--watch", &pid]).args(set).output().unwrap();
    if output.status.success() {
        return Some(String::from_utf8(output.stdout).unwrap().trim().to_owned());
    }
    let said = String::from_utf8_lossy(&output.stderr);
    let required = std::env::var_os("TOLLGATE_REQUIRE_KAFKA").is_some_and(|value| value == "1");
    assert!(!required && output.status.code() == Some(4), "no Apache Kafka: {said}");
    let _ = writeln!(std::io::stderr(), "\n*** SKIPPED: the client on a real Apache Kafka. {said}");
    None
}

#[test]
fn a_topic_is_filtered_exactly_once_over_a_restart() {
    let Some(brokers) = broker() else { return };
    let run = crate::clock::wall().secs().to_string();
    println!("run {run}");
    let (input, output, group) = (format!("raw-in-{run}"), format!("raw-out-{run}"), format!("raw-{run}"));
    // Of an hour ago: older than that, and retention may delete them under our hands.
    let time_ms = crate::clock::wall().micros() / 1000 - 3_600_000;
    produce_numbers(&brokers, &input, time_ms);
    let (mut sent, mut turn) = (0, 0);
    for (life, start) in [Bound::Beginning, Bound::Stored].into_iter().enumerate() {
        let mut reader =
            Consumer::subscribe(settings(&brokers, &group, &input, start), Box::new(())).unwrap();
        let mut producer = transactional(&brokers, &run);
        let until = if life == 0 { RECORDS / 2 } else { RECORDS };
        let started = Instant::now();
        while sent < until && started.elapsed() < 4 * SOON {
            let mut batches = Vec::new();
            reader.read(1000, 1 << 20, TICK, &mut batches).unwrap();
            if batches.is_empty() {
                continue;
            }
            let out = producer.topic(&output).unwrap();
            producer.begin_transaction().unwrap();
            let messages = messages(batches);
            let count = messages.len() as u64;
            for message in messages {
                producer.produce(out, None, message, [("h", b"v".as_slice())], 0).unwrap();
            }
            let owned = reader.owned();
            let offsets: Vec<_> =
                owned.iter().map(|at| PartitionOffset::new(&at.name, at.partition, at.next)).collect();
            // Every third transaction is aborted, and its records are read again.
            turn += 1;
            if turn % 3 == 0 {
                abort(&mut producer, &brokers, &run);
                let stored = reader.committer().committed(&offsets, SOON).unwrap();
                for (at, stored) in owned.iter().zip(stored) {
                    let back = stored.map_or(0, |stored| stored.offset);
                    reader.seek(at.topic, at.partition, back).unwrap();
                }
                continue;
            }
            let member = reader.committer().group_metadata().unwrap();
            producer.send_offsets(&offsets, &member, SOON).unwrap();
            producer.commit_transaction(SOON).unwrap();
            sent += count;
        }
        producer.close(SOON, &mut Vec::new()).unwrap();
        assert_eq!(reader.held(), 0);
        reader.close(SOON).unwrap();
        println!("life {life}: {sent} sent in {:?}", started.elapsed());
    }
    let mut check = Consumer::subscribe(
        settings(&brokers, &format!("raw-check-{run}"), &output, Bound::Beginning),
        Box::new(()),
    )
    .unwrap();
    let all = messages(read(&mut check, RECORDS as usize));
    assert!(all.iter().all(|message| message.time() == RecordTime::Create(time_ms)));
    assert_eq!(all.iter().map(number).collect::<HashSet<_>>().len() as u64, RECORDS, "each once");
    drop(all);
    assert_eq!(read_for(&mut check, Duration::from_secs(1)), 0, "and no more than once");
}
