//! What reading and sending on cost per record, for people: `cargo test kafka::tests::cost -- --ignored --nocapture`.
//! The mock cluster runs in the same process on other threads, so only this thread's own CPU time counts.

use super::*;

/// CPU time of this thread.
fn cpu() -> Duration {
    let stat = std::fs::read_to_string("/proc/thread-self/schedstat").unwrap();
    Duration::from_nanos(stat.split(' ').next().unwrap().parse().unwrap())
}

#[test]
#[ignore = "prints figures and judges nothing"]
fn cost_per_record() {
    const RECORDS: u64 = 16_000;
    let mock = cluster(1, &[("in", 4), ("out", 4)]);
    fill(&mock, "in", 4, 0..RECORDS, 1000);
    for extra in [None, Some(("tollgate.reject", [b'x'; 130].as_slice()))] {
        let mut reader = reader(&mock, "in", 4);
        let mut producer =
            producer_with(&mock, &[("linger.ms", "1000"), ("queue.buffering.max.messages", "1000000")]);
        let out = producer.topic("out").unwrap();
        producer.cluster().unwrap().partition_count("out", SOON).unwrap();
        let mut first = Vec::new();
        while first.is_empty() {
            reader.read(1, usize::MAX, TICK, &mut first).unwrap();
        }
        std::thread::sleep(Duration::from_secs(1));
        let started = cpu();
        let mut rest = Vec::new();
        reader.read(usize::MAX, usize::MAX, TICK, &mut rest).unwrap();
        let reading = cpu().saturating_sub(started);
        let all: Vec<_> = messages(first).into_iter().chain(messages(rest)).collect();
        let count = u32::try_from(all.len()).unwrap();
        let started = cpu();
        for message in all {
            producer.produce(out, Some(message.partition()), message, extra, 0).unwrap();
        }
        let producing = cpu().saturating_sub(started);
        producer.purge(false).unwrap();
        let started = cpu();
        producer.flush(SOON, &mut Vec::new()).unwrap();
        let reporting = cpu().saturating_sub(started);
        println!(
            "{count} records, header {}: read {:?}, produce {:?}, report and release {:?} per record",
            extra.is_some(),
            reading / count,
            producing / count,
            reporting / count
        );
        assert_eq!(reader.held(), 0);
    }
}
