//! Commits, aborts, purges, rebuilds and stops, after each of which nothing may be held. `scripts/valgrind` runs this under
//! valgrind, which sees what was freed too early or never; so every wait is generous and the load small.

use super::*;

const PATIENCE: Duration = Duration::from_mins(2);
const RECORDS: u64 = 120;

fn transactional(mock: &Mock) -> Producer {
    let mut settings = ProducerSettings::new(&mock.bootstrap_servers());
    settings.transactional_id = Some("leaks".to_owned());
    // Under valgrind a transaction takes long.
    settings.client.forced = pairs(&[("transaction.timeout.ms", "60000"), ("linger.ms", "1")]);
    let mut producer = Producer::new(settings).unwrap();
    producer.init_transactions(PATIENCE).unwrap();
    producer
}

/// Reads all records again, from the first on.
fn again(reader: &mut Consumer) -> Vec<Message> {
    for at in reader.owned() {
        reader.seek(at.topic, at.partition, 0).unwrap();
    }
    let (mut batches, started) = (Vec::new(), Instant::now());
    let count = |batches: &[PartitionBatch]| batches.iter().map(|batch| batch.messages.len()).sum::<usize>();
    while count(&batches) < RECORDS as usize && started.elapsed() < PATIENCE {
        reader.read(50, 1 << 20, TICK, &mut batches).unwrap();
    }
    assert_eq!(count(&batches) as u64, RECORDS);
    messages(batches)
}

fn settled(reader: &Consumer, producer: &Producer, what: &str) {
    assert_eq!((reader.held(), producer.outstanding()), (0, 0), "after {what} nothing is held");
}

#[test]
fn nothing_is_held_after_commits_aborts_purges_and_rebuilds() {
    let mock = cluster(1, &[("in", 2), ("out", 2)]);
    fill(&mock, "in", 2, 0..RECORDS, 200);
    let mut reader = reader(&mock, "in", 2);
    let mut producer = transactional(&mock);
    let mut reports = Vec::new();
    let header = [("tollgate.reject", b"note".as_slice())];
    for turn in 0..6 {
        let out = producer.topic("out").unwrap();
        producer.begin_transaction().unwrap();
        let all = again(&mut reader);
        assert_eq!(reader.held(), RECORDS);
        for (number, message) in all.into_iter().enumerate() {
            // Some are dropped without being sent, as records of an older epoch are.
            if number % 10 != 0 {
                let extra = header.into_iter().filter(|_| number % 3 == 0);
                producer.produce(out, Some(message.partition()), message, extra, number as u64).unwrap();
            }
        }
        match turn % 3 {
            0 => producer.commit_transaction(PATIENCE).unwrap(),
            1 => producer.abort_transaction(PATIENCE).unwrap(),
            _ => {
                producer.purge(true).unwrap();
                producer.flush(PATIENCE, &mut reports).unwrap();
                assert_eq!((reader.held(), producer.outstanding()), (0, 0), "a purge reports everything");
                // What was under way may have been written or not, so this producer's numbers have a gap.
                producer.close(PATIENCE, &mut reports).unwrap();
                producer = transactional(&mock);
            }
        }
        producer.poll(Duration::ZERO, &mut reports).unwrap();
        settled(&reader, &producer, ["a commit", "an abort", "a purge"][turn % 3]);
    }
    // A rebuild in mid-transaction, with everything under way.
    let out = producer.topic("out").unwrap();
    producer.begin_transaction().unwrap();
    for message in again(&mut reader) {
        producer.produce(out, Some(message.partition()), message, None, 0).unwrap();
    }
    producer.close(PATIENCE, &mut reports).unwrap();
    assert_eq!(reader.held(), 0, "after a rebuild nothing is held");
    let producer = transactional(&mock);
    settled(&reader, &producer, "the new producer's start");
    producer.close(PATIENCE, &mut reports).unwrap();
    reader.close(PATIENCE).unwrap();
}
