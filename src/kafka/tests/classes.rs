//! One injected error of every class, and what the client makes of it.

use rdkafka::types::{RDKafkaApiKey, RDKafkaRespErr as Broker};

use super::*;

/// A producer with one record under way, whose first request gets these errors; gives its report.
fn outcome(errors: &[Broker]) -> (Result<i64, Code>, Duration) {
    let mock = cluster(1, &[("out", 1)]);
    let mut producer = producer_with(&mock, &[("linger.ms", "0"), ("retry.backoff.ms", "50")]);
    let out = producer.topic("out").unwrap();
    // The first record brings the connection up.
    producer.produce_bytes(out, Some(0), &Record::default(), 1).unwrap();
    assert!(drain(&mut producer)[0].outcome.is_ok());
    mock.request_errors(RDKafkaApiKey::Produce, errors);
    let started = Instant::now();
    producer.produce_bytes(out, Some(0), &Record::default(), 2).unwrap();
    let mut reports = Vec::new();
    while reports.is_empty() && started.elapsed() < SOON {
        let _ = producer.poll(TICK, &mut reports);
    }
    assert_eq!((reports.len(), producer.outstanding()), (1, 0), "one report, whatever came");
    (reports[0].outcome, started.elapsed())
}

#[test]
fn retry_goes_on_by_itself() {
    let errors =
        [Broker::RD_KAFKA_RESP_ERR_NOT_LEADER_FOR_PARTITION, Broker::RD_KAFKA_RESP_ERR_REQUEST_TIMED_OUT];
    for error in errors {
        assert_eq!(Code(error as i32).class(), Class::Retry);
    }
    assert_eq!(outcome(&errors).0, Ok(1), "written in the end, once");
}

#[test]
fn pause_keeps_the_record_until_the_cluster_takes_it() {
    let error = Broker::RD_KAFKA_RESP_ERR_NOT_ENOUGH_REPLICAS;
    assert_eq!(Code(error as i32).class(), Class::Pause);
    let (outcome, took) = outcome(&[error; 5]);
    assert_eq!(outcome, Ok(1));
    assert!(took > Duration::from_millis(100), "five refusals with a pause after each took {took:?}");
}

#[test]
fn reject_concerns_the_record_alone() {
    let code = outcome(&[Broker::RD_KAFKA_RESP_ERR_INVALID_RECORD]).0.unwrap_err();
    assert_eq!((code.name().as_str(), code.class()), ("INVALID_RECORD", Class::Reject));
}

#[test]
fn rebuild_is_asked_for_when_the_producer_is_lost() {
    let mock = cluster(1, &[("out", 1)]);
    let mut settings = ProducerSettings::new(&mock.bootstrap_servers());
    settings.transactional_id = Some("t".to_owned());
    let mut producer = Producer::new(settings).unwrap();
    producer.init_transactions(SOON).unwrap();
    producer.begin_transaction().unwrap();
    let out = producer.topic("out").unwrap();
    mock.request_errors(RDKafkaApiKey::Produce, &[Broker::RD_KAFKA_RESP_ERR_OUT_OF_ORDER_SEQUENCE_NUMBER; 3]);
    producer.produce_bytes(out, Some(0), &Record::default(), 1).unwrap();
    let error = producer.commit_transaction(SOON).unwrap_err();
    let KafkaError::Fault(fault) = &error else { panic!("{error}") };
    assert!(fault.requires_abort || error.class() == Class::Rebuild, "{error}: {fault:?}");
    let code = Code(Broker::RD_KAFKA_RESP_ERR_OUT_OF_ORDER_SEQUENCE_NUMBER as i32);
    assert_eq!(code.class(), Class::Rebuild);
}

#[test]
fn stop_is_asked_for_when_a_right_is_missing() {
    let code = outcome(&[Broker::RD_KAFKA_RESP_ERR_TOPIC_AUTHORIZATION_FAILED]).0.unwrap_err();
    assert_eq!((code.name().as_str(), code.class()), ("TOPIC_AUTHORIZATION_FAILED", Class::Stop));
}
