//! Reading journals back.

use super::*;
use crate::kafka::journal::{Plan, Range, Restore, blank, split};

/// A process that ends a transaction of its own again writes into a journal that may be another one's by then.
#[test]
fn blank_records_are_passed_over_also_between_the_parts_of_a_batch() {
    let mock = cluster(1, &[("journal", 1)]);
    let body: Vec<u8> = (0..200).collect();
    let mut records = vec![blank()];
    for part in split(&body, (7, 9), 5, 128) {
        records.extend([part, blank()]);
    }
    let last = records.len() as i64 - 2;
    let mut producer = producer_with(&mock, &[]);
    let journal = producer.topic("journal").unwrap();
    for payload in records {
        let record = Record { payload: Some(payload), ..Record::default() };
        producer.produce_bytes(journal, Some(0), &record, 0).unwrap();
    }
    drain(&mut producer);
    let plan = Plan {
        source: 3,
        journal: "journal".to_owned(),
        partition: 0,
        before: 9,
        range: Some(Range { floor: 0, last }),
    };
    let mut changes = Vec::new();
    let restore = Restore {
        settings: consumer_settings(&mock, "g", &[]),
        continue_on_loss: false,
        is_off: &|| false,
        on_silence: &|plan| panic!("nothing is hidden in {plan:?}"),
    };
    let indexes = restore.run(&[plan], |change| changes.push((change.source, change.first, change.body)));
    assert_eq!(changes, [(3, 7, body)]);
    assert_eq!(indexes.unwrap()[0].last(), Some(last));
}
