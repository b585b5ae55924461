//! Trouble: error events, brokers that go away, refused records, purges. Nothing may be lost or repeated.

use rdkafka::types::{RDKafkaApiKey, RDKafkaRespErr};

use super::*;

/// librdkafka#4844: with the batch call an event moves the position, and a later resume skips a record. The easiest
/// event to provoke is "end of partition", which users can't turn on.
#[test]
fn error_events_pauses_and_resumes_lose_nothing() {
    let mock = cluster(1, &[("in", 1)]);
    let mut random = Random::new();
    let mut settings = consumer_settings(&mock, "by hand", &["in"]);
    settings.client.forced = pairs(&[("enable.partition.eof", "true")]);
    let mut reader = Consumer::assign(settings, &[PartitionOffset::new("in", 0, 0)]).unwrap();
    let (mut seen, mut next) = (Vec::new(), 0);
    let partition = [(TopicIndex(0), 0)];
    for _ in 0..15 {
        fill(&mock, "in", 1, next..next + 50, 20);
        next += 50;
        // Time for the event to line up behind the records that were fetched.
        std::thread::sleep(Duration::from_millis(random.below(100)));
        let mut batches = Vec::new();
        reader.read(1 + random.below(200) as usize, 1 << 20, TICK, &mut batches).unwrap();
        if random.below(2) == 0 {
            reader.pause(&partition).unwrap();
            reader.read(100, 1 << 20, TICK, &mut batches).unwrap();
            reader.resume(&partition).unwrap();
        }
        seen.extend(messages(batches).iter().map(number));
    }
    let missing = next as usize - seen.len();
    seen.extend(messages(read(&mut reader, missing)).iter().map(number));
    assert_eq!(seen, (0..next).collect::<Vec<_>>(), "all of them, in order, once");
    assert_eq!(reader.owned()[0].epoch, 1, "passing trouble does not make earlier batches void");
    assert!(reader.events() > 0, "there was trouble");
    println!("{} events", reader.events());
}

#[test]
fn a_seek_repeats_from_there_under_a_new_epoch() {
    let mock = cluster(1, &[("in", 1)]);
    fill(&mock, "in", 1, 0..300, 20);
    let mut reader = reader(&mock, "in", 1);
    let mut random = Random::new();
    drop(read(&mut reader, 300));
    for epoch in 2..8 {
        let from = random.below(300);
        reader.seek(TopicIndex(0), 0, from as i64).unwrap();
        let batches = read(&mut reader, 300 - from as usize);
        assert!(batches.iter().all(|batch| batch.epoch == epoch));
        let numbers: Vec<_> = messages(batches).iter().map(number).collect();
        assert_eq!(numbers, (from..300).collect::<Vec<_>>());
    }
    assert!(matches!(reader.seek(TopicIndex(0), 5, 0), Err(KafkaError::NotAssigned { partition: 5, .. })));
}

#[test]
fn an_offset_that_is_gone_stops_with_its_place() {
    let mock = cluster(1, &[("in", 1)]);
    fill(&mock, "in", 1, 0..10, 20);
    let far = [PartitionOffset::new("in", 0, 5000)];
    let mut reader = Consumer::assign(consumer_settings(&mock, "g", &["in"]), &far).unwrap();
    let started = Instant::now();
    let error = loop {
        match reader.read(10, 1000, TICK, &mut Vec::new()) {
            Ok(()) => assert!(started.elapsed() < SOON),
            Err(error) => break error,
        }
    };
    assert_eq!(error.class(), Class::Stop);
    assert!(error.to_string().contains("in/0"), "{error}");
}

#[test]
fn a_broker_that_goes_and_comes_back_costs_nothing() {
    let mock = cluster(1, &[("in", 1), ("out", 1)]);
    fill(&mock, "in", 1, 0..200, 100);
    let mut reader = reader(&mock, "in", 1);
    let quick =
        [("reconnect.backoff.ms", "20"), ("reconnect.backoff.max.ms", "100"), ("retry.backoff.ms", "20")];
    let mut producer = producer_with(&mock, &quick);
    let out = producer.topic("out").unwrap();
    let mut reports = Vec::new();
    for (tag, message) in messages(read(&mut reader, 200)).into_iter().enumerate() {
        if tag == 100 {
            producer.flush(SOON, &mut reports).unwrap();
            mock.broker_down(1).unwrap();
        }
        producer.produce(out, Some(0), message, None, tag as u64).unwrap();
    }
    producer.poll(Duration::from_millis(500), &mut reports).unwrap();
    assert_eq!((reports.len(), reader.held()), (100, 100), "what can't be delivered is kept");
    mock.broker_up(1).unwrap();
    reports.extend(drain(&mut producer));
    assert!(reports.iter().all(|report| report.outcome.is_ok()));
    assert_eq!(reader.held(), 0);
    let copied: Vec<_> =
        messages(read(&mut super::reader(&mock, "out", 1), 200)).iter().map(number).collect();
    assert_eq!(copied, (0..200).collect::<Vec<_>>());
}

#[test]
fn a_refused_record_is_reported_with_its_tag() {
    let mock = cluster(1, &[("in", 1), ("out", 1)]);
    fill(&mock, "in", 1, 0..3, 100);
    let mut reader = reader(&mock, "in", 1);
    let mut producer = producer_with(&mock, &[("linger.ms", "0")]);
    let out = producer.topic("out").unwrap();
    let mut messages = messages(read(&mut reader, 3)).into_iter();
    producer.produce(out, Some(0), messages.next().unwrap(), None, 10).unwrap();
    let first = drain(&mut producer);
    assert_eq!(first, [Delivery { tag: 10, partition: 0, outcome: Ok(0) }]);
    mock.request_errors(RDKafkaApiKey::Produce, &[RDKafkaRespErr::RD_KAFKA_RESP_ERR_INVALID_TIMESTAMP]);
    producer.produce(out, Some(0), messages.next().unwrap(), None, 11).unwrap();
    let mut reports = Vec::new();
    let started = Instant::now();
    while reports.is_empty() && started.elapsed() < SOON {
        let _ = producer.poll(TICK, &mut reports);
    }
    assert_eq!(reports[0].tag, 11);
    let code = reports[0].outcome.unwrap_err();
    assert_eq!((code.name().as_str(), code.class()), ("INVALID_TIMESTAMP", Class::Reject));
    assert_eq!(reader.held(), 1, "also a failed record is released");
    producer.produce(out, Some(0), messages.next().unwrap(), None, 13).unwrap();
    assert!(drain(&mut producer)[0].outcome.is_ok(), "others are not concerned");
    assert_eq!(reader.held(), 0);

    let refused = producer.produce_bytes(out, Some(99), &Record::default(), 12);
    assert_eq!(refused.unwrap_err().place.unwrap().partition, Some(99));
}

#[test]
fn a_purge_reports_everything_and_the_close_releases_it() {
    let mock = cluster(1, &[("in", 1), ("out", 1)]);
    fill(&mock, "in", 1, 0..300, 100);
    let mut reader = reader(&mock, "in", 1);
    let mut producer = producer_with(&mock, &[("linger.ms", "5000")]);
    let out = producer.topic("out").unwrap();
    let mut messages = messages(read(&mut reader, 300)).into_iter();
    for (tag, message) in messages.by_ref().take(100).enumerate() {
        producer.produce(out, Some(0), message, None, tag as u64).unwrap();
    }
    producer.purge(true).unwrap();
    let mut reports = Vec::new();
    producer.flush(SOON, &mut reports).unwrap();
    assert_eq!(reports.len(), 100);
    assert!(reports.iter().all(|report| report.outcome == Err(Code::PURGED_QUEUE)), "{:?}", reports[0]);
    assert_eq!((producer.outstanding(), reader.held()), (0, 200));

    // In flight when the producer ends: the broker answers late.
    mock.broker_round_trip_time(1, Duration::from_millis(800)).unwrap();
    for message in messages {
        producer.produce(out, Some(0), message, None, 7).unwrap();
    }
    let _ = producer.flush(Duration::from_millis(200), &mut reports);
    reports.clear();
    let started = Instant::now();
    producer.close(SOON, &mut reports).unwrap();
    assert_eq!(reports.len(), 200, "each has its report");
    assert!(reports.iter().all(|report| report.outcome.is_err()));
    assert_eq!(reader.held(), 0);
    println!("closed in {:?}", started.elapsed());
    mock.broker_round_trip_time(1, Duration::ZERO).unwrap();
    reader.close(SOON).unwrap();
}
