//! Ranges of topics and their ends, on the mock cluster and on a real broker, where marks of transactions stand between
//! and behind the records.

use super::*;
use crate::config::Bound;

/// All records of a range by partition, as offsets.
fn read_range(settings: ConsumerSettings, range: &str) -> Vec<Vec<i64>> {
    let mut reader = RangeReader::open(settings, &[range.parse().unwrap()]).unwrap();
    let mut seen = vec![Vec::new(); reader.stretches().len()];
    let started = Instant::now();
    let mut batches = Vec::new();
    while reader.read(500, 1 << 20, TICK, &mut batches).unwrap() || !batches.is_empty() {
        assert!(started.elapsed() < 2 * SOON, "{range} ends: {:?}", reader.stretches());
        for batch in batches.drain(..) {
            assert_eq!(batch.bytes, batch.messages.iter().map(Message::bytes).sum::<usize>());
            seen[batch.partition as usize].extend(batch.messages.iter().map(Message::offset));
        }
    }
    assert_eq!(reader.held(), 0);
    reader.close().unwrap();
    seen
}

#[test]
fn a_range_is_read_once_and_to_its_end_although_more_is_written() {
    let mock = cluster(1, &[("in", 2), ("empty", 1)]);
    fill(&mock, "in", 2, 0..200, 20);
    let settings = || consumer_settings(&mock, "nobody", &[]);
    for (range, from, until) in [
        ("in", 0, 100),
        ("in@10..20", 10, 20),
        ("in@-5..", 95, 100),
        ("in@..-95", 0, 5),
        ("in@40..1000", 40, 100),
        ("in@70..70", 0, 0),
    ] {
        let expected: Vec<i64> = (from..until).collect();
        assert_eq!(read_range(settings(), range), [expected.clone(), expected], "{range}");
    }
    assert_eq!(read_range(settings(), "empty"), [Vec::<i64>::new()]);
    let mut reader = RangeReader::open(settings(), &["in".parse().unwrap()]).unwrap();
    fill(&mock, "in", 2, 0..50, 20);
    let (mut batches, mut count) = (Vec::new(), 0);
    while reader.read(30, 1 << 20, TICK, &mut batches).unwrap() {
        count += batches.drain(..).map(|batch| batch.messages.len()).sum::<usize>();
    }
    count += batches.drain(..).map(|batch| batch.messages.len()).sum::<usize>();
    assert_eq!(count, 200, "what was written after the start is not read");
    let twice = ["in".parse().unwrap(), "in@5..".parse().unwrap()];
    assert!(matches!(RangeReader::open(settings(), &twice), Err(KafkaError::TopicTwice { .. })));
    let stored = RangeReader::open(settings(), &["in@stored..".parse().unwrap()]);
    assert!(matches!(stored, Err(KafkaError::NothingStored { .. })));
}

/// Transactions leave marks at offsets that no reader ever sees, aborted ones whole stretches; a reader that waits for
/// the last offset would wait for ever.
#[test]
fn ends_behind_marks_and_aborted_records_are_found() {
    let Some(brokers) = real::broker() else { return };
    let topic = format!("range-{}", crate::clock::wall().micros());
    let mut producer = real::transactional(&brokers, &topic);
    let out = producer.topic(&topic).unwrap();
    producer.cluster().unwrap().partition_count(&topic, SOON).ok();
    std::thread::sleep(Duration::from_secs(1));
    let mut write = |records: u64, commit: bool| {
        producer.begin_transaction().unwrap();
        for number in 0..records {
            let payload = Some(Bytes::from(number.to_le_bytes().to_vec()));
            let record = Record { payload, ..Record::default() };
            producer.produce_bytes(out, Some(1), &record, number).unwrap();
        }
        if commit {
            producer.commit_transaction(SOON).unwrap();
        } else {
            producer.flush(SOON, &mut Vec::new()).unwrap();
            real::abort(&mut producer, &brokers, &topic);
        }
    };
    write(10, true); // offsets 0 to 9, mark at 10
    write(300, false); // 11 to 310, mark at 311
    let settings = || ConsumerSettings::new(&brokers, "range-nobody", &[&topic]);
    let first: Vec<i64> = (0..10).collect();
    let seen = read_range(settings(), &topic);
    assert_eq!(seen[1], first, "{topic}");
    assert_eq!(seen.iter().map(Vec::len).sum::<usize>(), 10);
    assert_eq!(read_range(settings(), &format!("{topic}@5..11"))[1], (5..10).collect::<Vec<_>>());
    assert!(read_range(settings(), &format!("{topic}@10..")).iter().all(Vec::is_empty));

    let ends = Ends::find(&settings(), Bound::End).unwrap();
    let owned = |next| Owned {
        topic: TopicIndex(0),
        name: topic.clone(),
        partition: 1,
        epoch: 1,
        next,
        metadata: String::new(),
    };
    assert!(!ends.are_reached(&[owned(9)]) && ends.are_reached(&[owned(10)]));
    assert_eq!(ends.of_others(&[]), [PartitionOffset::new(&topic, 1, 10)]);
    assert_eq!(ends.of_others(&[owned(0)]), []);
    // No trace in the group.
    let reader = Consumer::assign(settings(), &[PartitionOffset::new(&topic, 1, 0)]).unwrap();
    let at = [PartitionOffset::new(&topic, 1, 0)];
    assert_eq!(reader.committer().committed(&at, SOON).unwrap(), [None]);
}
