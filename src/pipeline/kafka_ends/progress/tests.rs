//! The account of partitions: what lands late, what comes again, who is waited for.

use super::*;

const KEY: Key = (TopicIndex(0), 3);

fn owned(epoch: u32, next: i64) -> Owned {
    let (name, metadata) = ("in".to_owned(), String::new());
    Owned { topic: KEY.0, name, partition: KEY.1, epoch, next, metadata }
}

fn progress_with(epoch: u32, next: i64) -> Arc<Progress> {
    let progress = Arc::new(Progress::default());
    progress.assigned(&[owned(epoch, next)]);
    progress
}

fn take_off(progress: &Arc<Progress>, epoch: u32, turn: u32) -> Option<Flight> {
    progress.take_off(KEY, (epoch, turn), 100..110)
}

/// A rebalance in the middle of a read leaves records in the reader's hands that are not its own any more.
#[test]
fn records_of_a_partition_that_was_given_away_are_not_written() {
    let progress = progress_with(1, 100);
    assert!(take_off(&progress, 1, 0).is_some());
    progress.remove(&[KEY]);
    assert!(take_off(&progress, 1, 0).is_none());
    progress.assigned(&[owned(2, 100)]);
    assert!(take_off(&progress, 1, 0).is_none(), "of the earlier ownership");
    let flight = take_off(&progress, 2, 0).unwrap();
    progress.delivered((flight.key(), flight.epoch()), 120);
    assert!(!progress.is_committed());
}

#[test]
fn what_lands_late_does_not_move_a_newer_epoch() {
    let progress = progress_with(1, 100);
    let late = take_off(&progress, 1, 0).unwrap();
    progress.remove(&[KEY]);
    progress.assigned(&[owned(2, 100)]);
    let now = take_off(&progress, 2, 0).unwrap();
    progress.delivered((late.key(), late.epoch()), 150);
    assert!(!progress.is_current(&late) && progress.is_current(&now));
    drop(late);
    assert!(progress.is_committed(), "nothing of this epoch was delivered");
    assert!(!progress.wait_landed(&[KEY], Instant::now()), "the batch of this epoch is still under way");
    drop(now);
    assert!(progress.wait_landed(&[KEY], Instant::now()));
}

#[test]
fn a_new_turn_goes_back_to_what_is_committed() {
    let progress = progress_with(1, 100);
    let flight = take_off(&progress, 1, 0).unwrap();
    progress.journaled((KEY, 1), (7, 8), 50);
    progress.delivered((KEY, 1), 110);
    let due = progress.due(None, 0);
    assert_eq!(due.offsets[0].offset, 110);
    assert_eq!(due.offsets[0].metadata, Range { floor: 7, last: 8 }.to_string());
    assert_eq!(progress.next_turn(Vec::new()), 1);
    assert!(!progress.is_current(&flight), "it comes again");
    assert!(progress.due(None, 0).offsets.is_empty());
    let follow = progress.follow(0, 0).unwrap().unwrap();
    assert_eq!((follow.turn, follow.committed), (1, vec![(KEY, 100)]));
    assert!(progress.follow(follow.version, 1).unwrap().is_none(), "followed once");
    // The aborted record of the journal is not named by the next commit.
    progress.delivered((KEY, 1), 105);
    assert_eq!(progress.due(None, 0).offsets[0].metadata, Range { floor: 0, last: -1 }.to_string());
}

#[test]
fn refused_records_are_marked_until_they_are_committed() {
    let progress = progress_with(1, 100);
    assert!(!progress.refuse(KEY, 103));
    assert!(progress.refuse(KEY, 103), "it was known");
    assert_eq!(take_off(&progress, 1, 0).unwrap().undeliverable(), [3]);
    progress.delivered((KEY, 1), 110);
    progress.committed(&progress.due(None, 0));
    assert!(take_off(&progress, 1, 0).unwrap().undeliverable().is_empty());
}

#[test]
fn a_writer_that_is_gone_or_has_nothing_open_is_not_waited_for() {
    let progress = progress_with(1, 100);
    let soon = Instant::now() + Duration::from_millis(30);
    assert!(progress.ask(Ask::Commit, &[KEY], soon), "nothing is open");
    let flight = take_off(&progress, 1, 0).unwrap();
    progress.opened(&flight);
    assert!(!progress.ask(Ask::Commit, &[KEY], soon), "nobody answers");
    assert_eq!(progress.asked(), Some(Ask::Abort), "so it must not be committed any more");
    progress.writer_gone();
    assert!(progress.ask(Ask::Abort, &[KEY], soon + Duration::from_mins(1)));
}
