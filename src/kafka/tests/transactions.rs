//! The thin transaction calls: commit, abort, offsets inside, and what must be refused.

use rdkafka::types::{RDKafkaApiKey, RDKafkaRespErr};

use super::*;

fn transactional(mock: &Mock, id: &str) -> Producer {
    let mut settings = ProducerSettings::new(&mock.bootstrap_servers());
    settings.transactional_id = Some(id.to_owned());
    let mut producer = Producer::new(settings).unwrap();
    producer.init_transactions(SOON).unwrap();
    producer
}

#[test]
fn commit_and_abort_release_everything_and_carry_offsets() {
    let mock = cluster(1, &[("in", 1), ("out", 1)]);
    fill(&mock, "in", 1, 0..300, 100);
    let mut reader = consumer(&mock, "g", &["in"]);
    let mut producer = transactional(&mock, "t");
    let out = producer.topic("out").unwrap();
    let mut messages = messages(read(&mut reader, 300)).into_iter();
    let mut reports = Vec::new();

    producer.begin_transaction().unwrap();
    for message in messages.by_ref().take(100) {
        producer.produce(out, Some(0), message, None, 1).unwrap();
    }
    let group = reader.committer().group_metadata().unwrap();
    assert!(group.generation() >= 0 && !group.member().is_empty());
    producer.send_offsets(&[PartitionOffset::new("in", 0, 100)], &group, SOON).unwrap();
    producer.commit_transaction(SOON).unwrap();
    producer.poll(Duration::ZERO, &mut reports).unwrap();
    assert_eq!(reports.iter().filter(|report| report.outcome.is_ok()).count(), 100);
    assert_eq!(reader.held(), 200);

    producer.begin_transaction().unwrap();
    for message in messages.by_ref().take(100) {
        producer.produce(out, Some(0), message, [("h", b"v".as_slice()), ("i", b"w")], 2).unwrap();
    }
    producer.abort_transaction(SOON).unwrap();
    producer.poll(Duration::ZERO, &mut reports).unwrap();
    assert_eq!((reports.len(), producer.outstanding(), reader.held()), (200, 0, 100));

    // A refused batch: the transaction can only be aborted, and the next one works.
    producer.begin_transaction().unwrap();
    mock.request_errors(RDKafkaApiKey::Produce, &[RDKafkaRespErr::RD_KAFKA_RESP_ERR_INVALID_TIMESTAMP]);
    for message in messages {
        // The refusal may arrive while we still produce.
        if let Err((fault, message)) = producer.produce(out, Some(0), message, None, 3) {
            assert!(fault.place.is_some() && !fault.fatal, "{fault:?}");
            drop(message);
        }
    }
    let error = producer.commit_transaction(SOON).unwrap_err();
    let KafkaError::Fault(fault) = &error else { panic!("{error}") };
    assert!(fault.requires_abort && !fault.fatal, "{fault:?}");
    producer.abort_transaction(SOON).unwrap();
    assert_eq!(reader.held(), 0);
    producer.begin_transaction().unwrap();
    producer.abort_transaction(SOON).unwrap();
    producer.close(SOON, &mut reports).unwrap();
    reader.close(SOON).unwrap();
}

#[test]
fn offsets_of_a_non_member_are_refused() {
    let mock = cluster(1, &[("in", 1)]);
    let mut producer = transactional(&mock, "t");
    producer.begin_transaction().unwrap();
    let settings = consumer_settings(&mock, "g", &["in"]);
    let stranger = Consumer::assign(settings, &[PartitionOffset::new("in", 0, 0)]).unwrap();
    let group = stranger.committer().group_metadata().unwrap();
    let error = producer.send_offsets(&[PartitionOffset::new("in", 0, 5)], &group, SOON).unwrap_err();
    assert!(error.to_string().contains("no member"), "{error}");
    producer.abort_transaction(SOON).unwrap();
}

#[test]
fn a_call_in_the_wrong_state_says_so() {
    let mock = cluster(1, &[]);
    let mut producer = transactional(&mock, "t");
    let error = producer.commit_transaction(SOON).unwrap_err();
    assert!(error.to_string().starts_with("could not commit the transaction: "), "{error}");
}
