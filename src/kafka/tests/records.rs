//! What a record is made of survives being sent on, and its memory is never copied nor lost.

use super::*;

#[test]
fn records_are_sent_on_without_a_copy_and_released() {
    let mock = cluster(1, &[("in", 4), ("out", 4)]);
    fill(&mock, "in", 4, 0..1000, 100);
    let mut consumer = consumer(&mock, "g", &["in"]);
    let batches = read(&mut consumer, 1000);
    for batch in &batches {
        let offsets: Vec<_> = batch.messages.iter().map(Message::offset).collect();
        assert!(offsets.is_sorted() && !offsets.is_empty());
        assert_eq!(batch.bytes, batch.messages.len() * 100);
        assert_eq!(batch.epoch, 1);
        assert_eq!(consumer.topic_name(batch.topic), "in");
    }
    assert_eq!(consumer.held(), 1000);

    let mut producer = producer_with(&mock, &[]);
    let out = producer.topic("out").unwrap();
    for (tag, message) in messages(batches).into_iter().enumerate() {
        let partition = message.partition();
        producer.produce(out, Some(partition), message, None, tag as u64).unwrap();
    }
    let reports = drain(&mut producer);
    let mut tags: Vec<_> = reports.iter().map(|report| report.tag).collect();
    tags.sort_unstable();
    assert_eq!(tags, (0..1000).collect::<Vec<_>>(), "one report for each tag");
    assert!(reports.iter().all(|report| report.outcome.is_ok()));
    assert_eq!(consumer.held(), 0, "the reports released the messages");
    producer.close(SOON, &mut Vec::new()).unwrap();
    consumer.close(SOON).unwrap();
}

/// Key, payload, time, headers of one record.
type Parts = (Option<Vec<u8>>, Option<Vec<u8>>, Option<i64>, Vec<(Vec<u8>, Option<Vec<u8>>)>);

fn parts(message: &Message) -> Parts {
    let mut headers = Vec::new();
    message.headers(|name, value| headers.push((name.to_vec(), value.map(<[u8]>::to_vec))));
    (
        message.key().map(<[u8]>::to_vec),
        message.payload().map(<[u8]>::to_vec),
        message.time().millis(),
        headers,
    )
}

/// One record of each kind: nulls, empty texts, old times, headers that stand twice.
fn fill_odd_ones(mock: &Mock) {
    let mut producer = producer_with(mock, &[]);
    let topic = producer.topic("in").unwrap();
    let headers: &[(&str, &[u8])] =
        &[("a", b"1"), ("tollgate.reject", b"earlier"), ("a", b""), ("b", &[0, 255])];
    let records = [
        Record { payload: None, key: Some(b"k"), time_ms: Some(1), headers: &[] },
        Record {
            payload: Some(Bytes::from_static(b"{}")),
            key: None,
            time_ms: Some(1_700_000_000_123),
            headers,
        },
        Record { payload: Some(Bytes::new()), key: Some(b""), time_ms: Some(5), headers: &[] },
        Record {
            payload: Some(Bytes::from(vec![7; 70_000])),
            key: Some(&[0, 1, 2]),
            time_ms: Some(9),
            headers,
        },
    ];
    for record in &records {
        producer.produce_bytes(topic, Some(0), record, 0).unwrap();
    }
    assert!(drain(&mut producer).iter().all(|report| report.outcome.is_ok()));
}

#[test]
fn key_payload_time_and_headers_survive() {
    let mock = cluster(1, &[("in", 1), ("out", 1)]);
    fill_odd_ones(&mock);
    let mut reader = super::reader(&mock, "in", 1);
    let originals = messages(read(&mut reader, 4));
    let before: Vec<_> = originals.iter().map(parts).collect();
    assert_eq!(before[0].1, None, "a tombstone");
    assert_eq!(before[1].0, None, "no key");
    assert_eq!((&before[2].0, &before[2].1), (&Some(Vec::new()), &Some(Vec::new())), "empty is not null");
    assert_eq!(before[1].3.len(), 4);

    let mut producer = producer_with(&mock, &[]);
    let out = producer.topic("out").unwrap();
    for (tag, message) in originals.into_iter().enumerate() {
        let extra: Option<(&str, &[u8])> = (tag >= 2).then_some(("tollgate.reject", b"{}"));
        producer.produce(out, Some(0), message, extra, tag as u64).unwrap();
    }
    drain(&mut producer);
    let mut check = super::reader(&mock, "out", 1);
    let after: Vec<_> = messages(read(&mut check, 4)).iter().map(parts).collect();
    for (tag, (mut before, after)) in before.into_iter().zip(after).enumerate() {
        if tag >= 2 {
            before.3.push((b"tollgate.reject".to_vec(), Some(b"{}".to_vec())));
        }
        assert_eq!(before, after, "record {tag}");
    }
    assert_eq!((reader.held(), check.held()), (0, 0));
}

#[test]
fn a_full_queue_gives_the_message_back_unchanged() {
    let mock = cluster(1, &[("in", 1), ("out", 1)]);
    fill_odd_ones(&mock);
    fill(&mock, "in", 1, 0..20, 100);
    let mut reader = reader(&mock, "in", 1);
    let mut producer = producer_with(&mock, &[("queue.buffering.max.messages", "5"), ("linger.ms", "1000")]);
    let out = producer.topic("out").unwrap();
    let (mut full, mut reports) = (0, Vec::new());
    for (tag, mut message) in messages(read(&mut reader, 24)).into_iter().rev().enumerate() {
        let before = (parts(&message), message.payload().map(<[u8]>::as_ptr));
        loop {
            match producer.produce(
                out,
                None,
                message,
                Some(("tollgate.reject", b"{}".as_slice())),
                tag as u64,
            ) {
                Ok(()) => break,
                Err((fault, back)) => {
                    assert_eq!(fault.code, Code::QUEUE_FULL);
                    assert_eq!(fault.class(), Class::Pause);
                    assert_eq!((parts(&back), back.payload().map(<[u8]>::as_ptr)), before);
                    full += 1;
                    message = back;
                    producer.flush(SOON, &mut reports).unwrap();
                }
            }
        }
    }
    reports.extend(drain(&mut producer));
    assert!(full > 0, "the queue was full at times");
    assert_eq!(reports.len(), 24);
    assert_eq!(reader.held(), 0);
}

#[test]
fn a_batch_respects_its_limits() {
    let mock = cluster(1, &[("in", 1)]);
    fill(&mock, "in", 1, 0..2000, 1000);
    let mut reader = reader(&mock, "in", 1);
    let mut first = Vec::new();
    while first.is_empty() {
        reader.read(10, usize::MAX, TICK, &mut first).unwrap();
    }
    assert!(first[0].messages.len() <= 10);
    std::thread::sleep(Duration::from_millis(300));
    let mut second = Vec::new();
    reader.read(usize::MAX, 50_000, TICK, &mut second).unwrap();
    let bytes: usize = second.iter().map(|batch| batch.bytes).sum();
    assert!((1..=51_000).contains(&bytes), "{bytes}");
    let so_far = first[0].messages.len() + second.iter().map(|batch| batch.messages.len()).sum::<usize>();
    let rest = messages(read(&mut reader, 2000 - so_far));
    assert_eq!(number(&rest[0]) as usize, so_far, "and nothing is skipped");
}
