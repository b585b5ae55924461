//! Journals that do not fit: with fewer partitions than their input, or with limits that a record of ours does not meet. On a
//! real Apache Kafka; see `kafka.rs`.

use std::fs;

use rdkafka::admin::{AdminClient, AdminOptions, NewPartitions, NewTopic, TopicReplication};
use rdkafka::client::DefaultClientContext;

use crate::fenced::start_logged;
use crate::kafka::{Filter, PARTITIONS, block_on, brokers, create_topics, wait_for};
use crate::survival::Orders;

/// The input is given more partitions while the filter runs; its journal gets them too.
#[test]
fn an_input_that_grows_is_followed() {
    let Some(brokers) = brokers() else { return };
    std::thread::scope(|scope| {
        for delivery in ["exactly_once", "at_least_once"] {
            scope.spawn(move || grows(brokers, delivery));
        }
    });
}

fn grows(brokers: &'static str, delivery: &str) {
    let orders = Orders::create(brokers, &format!("grows-{delivery}"));
    let config = orders.config("one", &format!("delivery = \"{delivery}\"\ncommit_interval_ms = 100\n"));
    // Or it would take five minutes to notice.
    let often = "[librdkafka]\n\"topic.metadata.refresh.interval.ms\" = 500\n";
    fs::write(&config, fs::read_to_string(&config).unwrap() + often).unwrap();
    let (mut filter, log) = start_logged(&orders, &config, "log");
    orders.send(0..100, 0, None);
    orders.wait_committed(100);
    let admin: AdminClient<DefaultClientContext> = orders.topics.client().create().unwrap();
    let more = NewPartitions::new(&orders.topics.input, PARTITIONS as usize + 2);
    block_on(admin.create_partitions([&more], &AdminOptions::new())).unwrap();
    let has = |records: usize| {
        let (accepted, rejected) = orders.outcome();
        accepted.len() + rejected.len() >= records
    };
    let newest = Some(PARTITIONS + 1);
    wait_for("the new partitions", || {
        std::thread::sleep(std::time::Duration::from_millis(200));
        assert_eq!(filter.0.try_wait().unwrap(), None, "{delivery}: {}", fs::read_to_string(&log).unwrap());
        fs::read_to_string(&log).unwrap().contains(&format!("partition={} from=0", PARTITIONS + 1))
    });
    orders.send_to(newest, 1000..1100, 0, None);
    wait_for("records of a new partition", || {
        assert_eq!(filter.0.try_wait().unwrap(), None, "{delivery}: {}", fs::read_to_string(&log).unwrap());
        has(200)
    });
    filter.stop();
    // What they remembered is in the journal.
    orders.send_to(newest, 1000..1100, 0, None);
    let filter = Filter::start(&config);
    wait_for("copies in a new partition", || has(300));
    filter.stop();
    let (accepted, rejected) = orders.outcome();
    assert_eq!(accepted, (0..200).collect::<Vec<_>>(), "{delivery}");
    assert!(rejected.iter().all(|(_, reason)| reason == "duplicate") && rejected.len() == 100, "{delivery}");
}

/// A journal that takes no record of the size that is needed would be tried for ever: the run ends, and says what to change.
#[test]
fn a_journal_that_refuses_its_records_ends_the_run() {
    let Some(brokers) = brokers() else { return };
    for delivery in ["exactly_once", "at_least_once"] {
        let orders = Orders::create(brokers, &format!("refusing-{delivery}"));
        let admin: AdminClient<DefaultClientContext> = orders.topics.client().create().unwrap();
        let name = orders.journal();
        let small =
            NewTopic::new(&name, PARTITIONS, TopicReplication::Fixed(1)).set("max.message.bytes", "1000");
        create_topics(&admin, &[small]);
        orders.topics.count(&name);
        orders.send(0..1000, 0, None);
        let config = orders.config("one", &format!("delivery = \"{delivery}\"\n"));
        let (mut filter, log) = start_logged(&orders, &config, "log");
        wait_for("the end", || filter.0.try_wait().unwrap().is_some());
        let said = fs::read_to_string(&log).unwrap();
        assert_eq!(filter.0.wait().unwrap().code(), Some(3), "{delivery}: {said}");
        assert!(said.contains(&name) && said.contains("max.message.bytes"), "{delivery}: {said}");
        assert_eq!(orders.topics.committed(), 0, "{delivery}");
    }
}
