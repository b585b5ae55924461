//! Settings: what is refused, what is hidden, and the callbacks that only settings turn on.

use std::sync::atomic::{AtomicU32, Ordering};

use super::*;

fn refused(pass_through: &[(&str, &str)]) -> String {
    let mut settings = ProducerSettings::new("localhost:1");
    settings.client.pass_through = pairs(pass_through);
    Producer::new(settings).err().expect("refused").to_string()
}

#[test]
fn a_wrong_setting_is_named_and_a_secret_is_not() {
    assert!(refused(&[("linger.mss", "1")]).contains("`linger.mss` = `1`"));
    assert!(refused(&[("linger.ms", "soon")]).contains("`linger.ms` = `soon`"));
    let hidden = refused(&[("security.protocol", "ssl"), ("ssl.key.pem", "my key")]);
    assert!(!hidden.contains("my key"), "{hidden}");
    for key in ["sasl.password", "ssl.key.password", "ssl.ca.pem", "sasl.oauthbearer.client.secret"] {
        assert_eq!(raw::conf::shown(key, "hush"), "(hidden)", "{key}");
    }
    assert_eq!(raw::conf::shown("sasl.username", "me"), "me");
}

#[test]
fn keys_that_decide_about_correctness_are_ours() {
    for (key, value) in
        [("acks", "1"), ("enable.auto.commit", "true"), ("isolation.level", "read_uncommitted")]
    {
        let text = refused(&[(key, value)]);
        assert!(text.contains("Tollgate owns this key"), "{text}");
    }
}

#[test]
fn statistics_are_off_unless_asked_for_and_never_too_often() {
    let mut settings = ProducerSettings::new("localhost:1");
    settings.client.statistics_ms = Some(500);
    let error = Producer::new(settings).err().expect("refused");
    assert!(error.to_string().contains("10000"), "{error}");
}

#[test]
fn tokens_are_asked_for_without_polling() {
    static ASKED: AtomicU32 = AtomicU32::new(0);
    let mut settings = ProducerSettings::new("localhost:1");
    settings.client.pass_through = pairs(&[
        ("security.protocol", "SASL_PLAINTEXT"),
        ("sasl.mechanism", "OAUTHBEARER"),
        ("log_level", "0"),
    ]);
    settings.client.tokens = Some(std::sync::Arc::new(|_| {
        ASKED.fetch_add(1, Ordering::Relaxed);
        Err("no token today".to_owned())
    }));
    let producer = Producer::new(settings).unwrap();
    let started = Instant::now();
    while ASKED.load(Ordering::Relaxed) == 0 && started.elapsed() < SOON {
        std::thread::sleep(TICK);
    }
    assert!(ASKED.load(Ordering::Relaxed) > 0);
    producer.close(SOON, &mut Vec::new()).unwrap();
}

#[test]
fn a_missing_topic_is_said_to_be_missing() {
    let mock = cluster(1, &[("in", 3)]);
    let mut settings = ProducerSettings::new(&mock.bootstrap_servers());
    settings.client.pass_through = pairs(&[("allow.auto.create.topics", "false")]);
    let producer = Producer::new(settings).unwrap();
    let cluster = producer.cluster().unwrap();
    assert_eq!(cluster.partition_count("in", SOON).unwrap(), 3);
    // The mock makes topics up when a producer asks, so only the typed path of errors is looked at here.
    let gone = producer.close(SOON, &mut Vec::new());
    gone.unwrap();
    assert!(matches!(cluster.partition_count("in", SOON), Err(KafkaError::Closed)));
}
