//! Commits, what is read back, and where a consumer starts.

use super::*;
use crate::config::Bound;

#[test]
fn what_is_committed_is_read_back_with_its_text() {
    let mock = cluster(1, &[("in", 2)]);
    fill(&mock, "in", 2, 0..100, 20);
    let mut first = consumer(&mock, "g", &["in"]);
    drop(read(&mut first, 100));
    let committer = first.committer();
    let at = |partition, offset, text: &str| {
        let metadata = text.to_owned();
        PartitionOffset { metadata, ..PartitionOffset::new("in", partition, offset) }
    };
    committer.commit(&[at(0, 10, "floor=3,last=9"), at(1, 20, "")], SOON).unwrap();
    let ask = [at(1, 0, ""), at(0, 0, "")];
    let stored = committer.committed(&ask, SOON).unwrap();
    assert_eq!(stored, [Some(at(1, 20, "")), Some(at(0, 10, "floor=3,last=9"))]);
    committer.commit(&[], SOON).unwrap();

    // Without waiting: the outcome is there soon.
    committer.commit_async(&[at(1, 30, "x")]).unwrap();
    let started = Instant::now();
    while committer.committed(&ask[..1], SOON).unwrap() != [Some(at(1, 30, "x"))] && started.elapsed() < SOON
    {
        read_for(&mut first, TICK);
    }
    assert_eq!(committer.committed(&ask[..1], SOON).unwrap(), [Some(at(1, 30, "x"))]);
    assert!(committer.failure().is_none());
    first.close(SOON).unwrap();
    assert!(
        matches!(committer.commit(&ask, SOON), Err(KafkaError::Closed)),
        "it outlives the consumer harmlessly"
    );

    // A successor goes on from there, and its listener sees the texts.
    let (sender, assigned) = std::sync::mpsc::channel();
    let mut settings = consumer_settings(&mock, "g", &["in"]);
    settings.start = Bound::Stored;
    let mut second = Consumer::subscribe(settings, Box::new(groups::Recorder::new(sender))).unwrap();
    let batches = read(&mut second, 100 - 10 - 30);
    let mut seen: Vec<_> = assigned.try_iter().flat_map(|event| event.partitions).collect();
    seen.sort_by_key(|owned| owned.partition);
    let seen: Vec<_> = seen.iter().map(|owned| (owned.next, owned.metadata.as_str())).collect();
    assert_eq!(seen, [(10, "floor=3,last=9"), (30, "x")]);
    let firsts = |partition| {
        let of_partition = batches.iter().filter(|batch| batch.partition == partition);
        of_partition.map(|batch| batch.messages[0].offset()).min()
    };
    assert_eq!((firsts(0), firsts(1)), (Some(10), Some(30)));
}

#[test]
fn stored_without_a_commit_is_a_clear_error() {
    let mock = cluster(1, &[("in", 1)]);
    fill(&mock, "in", 1, 0..10, 20);
    let mut settings = consumer_settings(&mock, "g", &["in"]);
    settings.start = Bound::Stored;
    let mut reader = Consumer::subscribe(settings, Box::new(())).unwrap();
    let started = Instant::now();
    let mut batches = Vec::new();
    let error = loop {
        match reader.read(100, 1 << 20, TICK, &mut batches) {
            Ok(()) => assert!(started.elapsed() < SOON),
            Err(error) => break error,
        }
    };
    assert!(
        matches!(&error, KafkaError::NothingStored { topic, partition: 0, group } if topic == "in" && group == "g")
    );
    assert_eq!(error.class(), Class::Stop);
    assert!(error.to_string().contains("set `kafka.start`"), "{error}");
    assert!(matches!(
        reader.read(1, 1, TICK, &mut batches),
        Err(KafkaError::Failed { class: Class::Stop, .. })
    ));
    assert!(batches.is_empty(), "never a silent jump");
    reader.close(SOON).unwrap();
}

#[test]
fn a_start_is_resolved_to_offsets() {
    let mock = cluster(1, &[("in", 2), ("empty", 1)]);
    fill(&mock, "in", 2, 0..100, 20);
    for (start, expected) in [
        (Bound::Beginning, 0),
        (Bound::End, 50),
        (Bound::Offset(7), 7),
        (Bound::Last(5), 45),
        (Bound::Last(500), 0),
    ] {
        let (sender, assigned) = std::sync::mpsc::channel();
        let mut settings = consumer_settings(&mock, &format!("g{start:?}"), &["in"]);
        settings.start = start;
        let mut reader = Consumer::subscribe(settings, Box::new(groups::Recorder::new(sender))).unwrap();
        drop(read(&mut reader, 2 * (50 - expected as usize)));
        let started = Instant::now();
        let event = loop {
            if let Ok(event) = assigned.try_recv() {
                break event;
            }
            assert!(started.elapsed() < SOON);
            read_for(&mut reader, TICK);
        };
        assert!(event.partitions.iter().all(|owned| owned.next == expected), "{start:?}: {event:?}");
    }
}

#[test]
fn partitions_are_read_by_hand_and_questions_answered() {
    let mock = cluster(1, &[("in", 2)]);
    fill(&mock, "in", 2, 0..100, 20);
    let settings = consumer_settings(&mock, "g", &[]);
    let mut reader = Consumer::assign(settings, &[PartitionOffset::new("in", 1, 40)]).unwrap();
    let batches = messages(read(&mut reader, 10));
    assert_eq!(batches.iter().map(Message::offset).collect::<Vec<_>>(), (40..50).collect::<Vec<_>>());
    let cluster = reader.cluster();
    assert_eq!(cluster.partition_count("in", SOON).unwrap(), 2);
    assert_eq!(cluster.watermarks("in", 1, SOON).unwrap(), Watermarks { low: 0, high: 50 });
    assert_eq!(cluster.watermarks_seen("in", 1).unwrap().high, 50);
    assert!(matches!(
        Consumer::assign(consumer_settings(&mock, "g", &[]), &[]),
        Err(KafkaError::EmptyList { .. })
    ));
}
