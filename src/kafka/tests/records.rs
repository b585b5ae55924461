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
