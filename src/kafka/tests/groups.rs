//! Partitions that come and go, and consumers that end.

use std::collections::HashSet;
use std::sync::mpsc::{Receiver, Sender, channel};

use super::*;

/// What a listener was told.
#[derive(Debug)]
pub(super) struct Event {
    pub(super) partitions: Vec<Owned>,
    pub(super) revoked: bool,
    /// Whether a commit was tried and refused.
    refused: bool,
}

/// A listener that passes on what it is told, and commits `next` of what it loses if it may.
pub(super) struct Recorder {
    sender: Sender<Event>,
    committer: Option<Receiver<Committer>>,
}

impl Recorder {
    pub(super) fn new(sender: Sender<Event>) -> Self {
        Self { sender, committer: None }
    }
}

impl Listener for Recorder {
    fn assigned(&mut self, partitions: &[Owned]) {
        let _ = self.sender.send(Event { partitions: partitions.to_vec(), revoked: false, refused: false });
    }

    fn revoked(&mut self, partitions: &[Owned], lost: bool) {
        let mut refused = false;
        if let Some(committer) = self.committer.as_ref().and_then(|receiver| receiver.recv().ok()) {
            assert!(!lost);
            let offsets: Vec<_> =
                partitions.iter().map(|at| PartitionOffset::new(&at.name, at.partition, at.next)).collect();
            // The mock refuses commits while yet another rebalance goes on; then these records come twice.
            if let Err(error) = committer.commit(&offsets, SOON) {
                assert!(error.to_string().contains("REBALANCE_IN_PROGRESS"), "{error}");
                refused = true;
            }
        }
        let _ = self.sender.send(Event { partitions: partitions.to_vec(), revoked: true, refused });
    }
}

#[test]
fn a_second_member_takes_over_in_mid_stream_without_loss_or_repetition() {
    let mock = cluster(1, &[("in", 4)]);
    let (sender, events) = channel();
    let (give, committer) = channel();
    let recorder = Recorder { sender, committer: Some(committer) };
    let mut first = Consumer::subscribe(consumer_settings(&mock, "g", &["in"]), Box::new(recorder)).unwrap();
    fill(&mock, "in", 4, 0..400, 20);
    let mut seen: Vec<u64> = messages(read(&mut first, 400)).iter().map(number).collect();
    assert_eq!(first.owned().len(), 4);
    give.send(first.committer()).unwrap();

    let mut second = consumer(&mock, "g", &["in"]);
    let (started, mut next) = (Instant::now(), 400);
    let mut got_by_second = 0;
    while seen.iter().collect::<HashSet<_>>().len() < 2000 && started.elapsed() < Duration::from_secs(30) {
        if next < 2000 {
            fill(&mock, "in", 4, next..next + 50, 20);
            next += 50;
        }
        for (index, member) in [&mut first, &mut second].into_iter().enumerate() {
            let mut batches = Vec::new();
            member.read(500, 1 << 20, TICK, &mut batches).unwrap();
            let numbers: Vec<_> = messages(batches).iter().map(number).collect();
            got_by_second += if index == 1 { numbers.len() } else { 0 };
            seen.extend(numbers);
        }
    }
    assert!(got_by_second > 0, "the second member got work");
    assert_eq!(seen.iter().collect::<HashSet<_>>().len(), 2000, "nothing is lost");
    assert_eq!(first.owned().len(), 2);
    let revoked: Vec<_> = events.try_iter().filter(|event| event.revoked).collect();
    assert_eq!(
        revoked.iter().map(|event| event.partitions.len()).sum::<usize>(),
        2,
        "only what moves is revoked"
    );
    if revoked.iter().all(|event| !event.refused) {
        assert_eq!(seen.len(), 2000, "and nothing is repeated where the commit was accepted");
    }
    drop(give);
    second.close(SOON).unwrap();
    first.close(SOON).unwrap();
}

struct Panics;

impl Listener for Panics {
    fn assigned(&mut self, _partitions: &[Owned]) {
        panic!("on purpose");
    }
    fn revoked(&mut self, _partitions: &[Owned], _lost: bool) {}
}

#[test]
fn a_panic_in_the_listener_reaches_the_reader_and_nothing_hangs() {
    let mock = cluster(1, &[("in", 1)]);
    let mut reader = Consumer::subscribe(consumer_settings(&mock, "g", &["in"]), Box::new(Panics)).unwrap();
    let outcome = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| read_for(&mut reader, SOON)));
    let payload = outcome.unwrap_err();
    assert_eq!(payload.downcast_ref::<&str>(), Some(&"on purpose"));
    reader.close(SOON).unwrap();
}

#[test]
fn closing_with_a_message_held_fails_at_the_deadline_and_ends_when_it_is_released() {
    let mock = cluster(1, &[("in", 1)]);
    fill(&mock, "in", 1, 0..10, 20);
    let mut reader = consumer(&mock, "g", &["in"]);
    let mut held = messages(read(&mut reader, 10));
    held.truncate(1);
    let started = Instant::now();
    let error = reader.close(Duration::from_millis(1500)).unwrap_err();
    assert!(started.elapsed() < Duration::from_secs(5));
    assert!(matches!(error, KafkaError::CloseTimeout { held: 1, .. }), "{error}");
    assert_eq!(number(&held[0]), 0, "its memory is still there");
    drop(held);
}

#[test]
fn dropping_everything_in_any_order_does_not_hang() {
    let mock = cluster(1, &[("in", 1), ("out", 1)]);
    fill(&mock, "in", 1, 0..200, 100);
    let started = Instant::now();
    let mut reader = reader(&mock, "in", 1);
    let mut producer = producer_with(&mock, &[("linger.ms", "1000")]);
    let out = producer.topic("out").unwrap();
    for message in messages(read(&mut reader, 200)) {
        producer.produce(out, Some(0), message, None, 0).unwrap();
    }
    assert_eq!(reader.held(), 200);
    drop(producer);
    assert_eq!(reader.held(), 0, "an undelivered record is released with its producer");
    drop(reader);
    assert!(started.elapsed() < 2 * SOON);
}

#[test]
fn a_consumer_that_is_made_anew_goes_on_in_new_epochs_and_its_committer_follows() {
    let mock = cluster(1, &[("in", 1)]);
    fill(&mock, "in", 1, 0..100, 20);
    let (sender, events) = channel();
    let mut reader =
        Consumer::subscribe(consumer_settings(&mock, "g", &["in"]), Box::new(Recorder::new(sender))).unwrap();
    let committer = reader.committer();
    let mut held = messages(read(&mut reader, 100));
    committer.commit(&[PartitionOffset::new("in", 0, 60)], SOON).unwrap();
    held.truncate(1);

    let started = Instant::now();
    reader.give_up(Duration::from_millis(500));
    assert!(started.elapsed() < SOON / 2, "a message that is held does not hold up the rest");
    let told: Vec<_> = events.try_iter().map(|event| (event.partitions.len(), event.revoked)).collect();
    assert_eq!((told, reader.owned()), (vec![(1, false), (1, true)], vec![]));
    assert!(matches!(reader.read(1, 1, TICK, &mut Vec::new()), Err(KafkaError::Closed)));
    assert!(matches!(
        committer.committed(&[PartitionOffset::new("in", 0, 0)], SOON),
        Err(KafkaError::Closed)
    ));

    reader.rejoin(consumer_settings(&mock, "g", &["in"])).unwrap();
    // The mock waits for the old member until its session is over.
    let started = Instant::now();
    let mut batches = Vec::new();
    while batches.is_empty() && started.elapsed() < 3 * SOON {
        reader.read(500, 1 << 20, TICK, &mut batches).unwrap();
    }
    assert!(batches.iter().all(|batch| batch.epoch == 2), "what the old one read can be told");
    assert_eq!(messages(batches).iter().map(number).collect::<Vec<_>>(), (60..100).collect::<Vec<_>>());
    committer.commit(&[PartitionOffset::new("in", 0, 100)], SOON).unwrap();
    assert_eq!(number(&held[0]), 0, "its memory is still there");
    drop(held);
    reader.close(SOON).unwrap();
}

#[test]
fn an_empty_subscription_is_refused() {
    let mock = cluster(1, &[]);
    let refused = Consumer::subscribe(consumer_settings(&mock, "g", &[]), Box::new(()));
    assert!(matches!(refused, Err(KafkaError::EmptyList { .. })));
}
