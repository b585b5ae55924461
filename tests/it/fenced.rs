//! Names and who has them: processes with one name, members that were fenced by nobody, sessions that were lost. On a real
//! Apache Kafka; see `kafka.rs`.

use std::process::Stdio;
use std::time::{Duration, Instant};

use rdkafka::consumer::{BaseConsumer, Consumer as _};

use crate::cli::tollgate;
use crate::kafka::{Filter, PARTITIONS, brokers, wait_for};
use crate::survival::Orders;

/// A run whose log is kept.
pub(crate) fn start_logged(orders: &Orders, config: &str, log: &str) -> (Filter, std::path::PathBuf) {
    let log = orders.dir.path().join(log);
    let mut run = tollgate();
    run.args(["run", "--config", config]).stdout(Stdio::null()).stderr(std::fs::File::create(&log).unwrap());
    (Filter(run.spawn().unwrap()), log)
}

/// Sends a few records at a time until `is_over`; gives how many.
pub(crate) fn send_until(orders: &Orders, from: u64, mut is_over: impl FnMut() -> bool) -> u64 {
    let mut next = from;
    wait_for("what ends the stream", || {
        orders.send(next..next + 40, 0, None);
        next += 40;
        is_over()
    });
    next
}

/// Another client, a member of the filter's group.
fn member(orders: &Orders, instance: &str) -> BaseConsumer {
    let member: BaseConsumer = (orders.topics.client())
        .set("group.id", orders.topics.group())
        .set("group.instance.id", instance)
        .set("session.timeout.ms", "6000")
        .set("partition.assignment.strategy", "cooperative-sticky")
        .set("enable.auto.commit", "false")
        .create()
        .unwrap();
    member.subscribe(&[&orders.topics.input]).unwrap();
    member
}

/// Whether the older one works or has nothing to do, the newer one goes on undisturbed.
#[test]
fn of_two_processes_with_one_name_the_older_ends() {
    let Some(brokers) = brokers() else { return };
    std::thread::scope(|scope| {
        for delivery in ["exactly_once", "at_least_once"] {
            for is_idle in [false, true] {
                scope.spawn(move || older_ends(brokers, delivery, is_idle));
            }
        }
    });
}

fn older_ends(brokers: &'static str, delivery: &str, is_idle: bool) {
    let name = format!("namesake-{delivery}-{is_idle}");
    let orders = Orders::create(brokers, &name);
    orders.send(0..100, 0, None);
    let config = orders.config("one", &format!("delivery = \"{delivery}\"\ncommit_interval_ms = 100\n"));
    let (mut older, older_log) = start_logged(&orders, &config, "older");
    orders.wait_committed(100);
    let (mut newer, newer_log) = start_logged(&orders, &config, "newer");
    let said = |log: &std::path::Path| std::fs::read_to_string(log).unwrap();
    let mut ended = None;
    let mut is_over = || {
        assert_eq!(newer.0.try_wait().unwrap(), None, "{name}: {}", said(&newer_log));
        ended = older.0.try_wait().unwrap();
        ended.is_some()
    };
    let sent = if is_idle {
        wait_for("the older one's end", is_over);
        100
    } else {
        send_until(&orders, 100, &mut is_over)
    };
    assert_eq!(ended.unwrap().code(), Some(3), "{name}: {}", said(&older_log));
    assert!(said(&older_log).contains("`kafka.instance`"), "{name}: {}", said(&older_log));
    // And for longer than it takes to hear of somebody else.
    std::thread::sleep(Duration::from_secs(8));
    orders.send(sent..sent + 100, 0, None);
    orders.wait_committed(sent as i64 + 100);
    newer.stop();
    let said = said(&newer_log);
    assert!(!said.contains("fenced"), "{name}: the newer one is not disturbed: {said}");
    let (mut accepted, rejected) = orders.outcome();
    let written = accepted.len();
    accepted.dedup();
    assert_eq!(accepted, (0..sent + 100).collect::<Vec<_>>(), "{name}");
    assert!(delivery == "at_least_once" || written == accepted.len(), "{name}: nothing is doubled");
    // At least once, the older one may write a record that the newer one then reads again; it is no copy for that.
    assert_eq!(rejected, [], "{name}");
}

/// A process that was suspended for longer than its transaction may last wakes up beside the one that replaced it.
#[test]
fn a_process_that_wakes_up_beside_its_replacement_ends_and_leaves_that_alone() {
    let Some(brokers) = brokers() else { return };
    let orders = Orders::create(brokers, "zombie");
    // A transaction that stays open, so that the older one sleeps in the middle of it.
    let config = orders.config("one", "latency_goal_ms = 10000\n");
    let (mut older, older_log) = start_logged(&orders, &config, "older");
    orders.send(0..100, 0, None);
    orders.wait_committed(100);
    orders.send(100..200, 0, None);
    std::thread::sleep(Duration::from_secs(2));
    older.signal("-STOP");
    std::thread::sleep(Duration::from_secs(17));
    let (mut newer, newer_log) = start_logged(&orders, &config, "newer");
    orders.wait_committed(200);
    older.signal("-CONT");
    let said = |log: &std::path::Path| std::fs::read_to_string(log).unwrap();
    wait_for("the older one's end", || older.0.try_wait().unwrap().is_some());
    assert_eq!(older.0.wait().unwrap().code(), Some(3), "{}", said(&older_log));
    std::thread::sleep(Duration::from_secs(8));
    assert_eq!(newer.0.try_wait().unwrap(), None, "{}", said(&newer_log));
    orders.send(200..300, 0, None);
    orders.wait_committed(300);
    newer.stop();
    assert_eq!(orders.outcome(), ((0..300).collect(), Vec::new()));
}

/// The group gives our name to somebody who dies at once: as when a broker loses the answer to a member that joins.
#[test]
fn a_member_whose_name_was_given_to_nobody_goes_on() {
    let Some(brokers) = brokers() else { return };
    std::thread::scope(|scope| {
        for delivery in ["exactly_once", "at_least_once"] {
            scope.spawn(move || goes_on_after_a_ghost(brokers, delivery));
        }
    });
}

fn goes_on_after_a_ghost(brokers: &'static str, delivery: &str) {
    let orders = Orders::create(brokers, &format!("ghost-{delivery}"));
    let config = orders.config("one", &format!("delivery = \"{delivery}\"\ncommit_interval_ms = 100\n"));
    let (mut filter, log) = start_logged(&orders, &config, "log");
    let said = || std::fs::read_to_string(&log).unwrap();
    orders.send(0..40, 0, None);
    orders.wait_committed(40);
    let ghost = member(&orders, "one");
    let sent = send_until(&orders, 40, || {
        ghost.poll(Duration::ZERO);
        ghost.assignment().unwrap().count() > 0
    });
    // A member with a name does not leave: it is gone without a word.
    drop(ghost);
    let sent = send_until(&orders, sent, || {
        assert_eq!(filter.0.try_wait().unwrap(), None, "{delivery}: {}", said());
        said().contains("the consumer is made anew")
    });
    orders.wait_committed(sent as i64);
    filter.stop();
    let (mut accepted, rejected) = orders.outcome();
    let written = accepted.len();
    accepted.dedup();
    assert_eq!(accepted, (0..sent).collect::<Vec<_>>(), "{delivery}");
    assert!(delivery == "at_least_once" || written == accepted.len(), "{delivery}: nothing is doubled");
    assert_eq!(rejected, [], "{delivery}: what is read again is no copy");
}

/// A member that is suspended for longer than its session loses its partitions, and gets them back: what it had written and
/// not committed comes again, and is no copy of itself.
#[test]
fn what_comes_again_after_a_lost_session_is_no_copy() {
    let Some(brokers) = brokers() else { return };
    std::thread::scope(|scope| {
        for delivery in ["exactly_once", "at_least_once"] {
            scope.spawn(move || {
                let orders = Orders::create(brokers, &format!("session-{delivery}"));
                let more = format!("delivery = \"{delivery}\"\ncommit_interval_ms = 300\n");
                let filter = Filter::start(&orders.config("one", &more));
                let mut sent = 0;
                for _ in 0..3 {
                    let since = Instant::now();
                    sent = send_until(&orders, sent, || since.elapsed() > Duration::from_secs(4));
                    filter.signal("-STOP");
                    std::thread::sleep(Duration::from_secs(9));
                    filter.signal("-CONT");
                }
                orders.wait_committed(sent as i64);
                filter.stop();
                let (mut accepted, rejected) = orders.outcome();
                accepted.dedup();
                assert_eq!(rejected, [], "{delivery}");
                assert_eq!(accepted, (0..sent).collect::<Vec<_>>(), "{delivery}");
            });
        }
    });
}

/// An owner that is killed between the two steps of a rebalance comes back under its name: the group is at rest, and nobody
/// has the partitions that were taken from it.
#[test]
fn partitions_that_nobody_has_are_given_out_again() {
    let Some(brokers) = brokers() else { return };
    let orders = Orders::create(brokers, "orphans");
    let owner = member(&orders, "other");
    wait_for("all partitions of the other member", || {
        owner.poll(Duration::ZERO);
        owner.assignment().unwrap().count() == PARTITIONS as usize
    });
    // From here on it takes no part: what is taken from it is not given back, so it does not join again.
    let config = orders.config("one", "");
    let (filter, log) = start_logged(&orders, &config, "log");
    let watcher: BaseConsumer = orders.topics.client().create().unwrap();
    wait_for("a group at rest", || {
        let groups = watcher.fetch_group_list(Some(&orders.topics.group()), Duration::from_secs(5));
        let Ok(groups) = groups else { return false };
        groups.groups().iter().any(|group| group.state() == "Stable" && group.members().len() == 2)
    });
    // The first one dies by this, and the group keeps what it has.
    let again = member(&orders, "other");
    orders.send(0..200, 0, None);
    let said = || std::fs::read_to_string(&log).unwrap();
    wait_for("a share of the filter's own", || {
        again.poll(Duration::ZERO);
        orders.topics.committed() > 0
    });
    assert!(said().contains("but nobody has"), "{}", said());
    drop((owner, again));
    orders.wait_committed(200);
    filter.stop();
    assert_eq!(orders.outcome(), ((0..200).collect(), Vec::new()), "{}", said());
}
