//! Commits, aborts, purges, rebuilds and brokers that go away, in random order, with payloads sent by reference: the
//! load to run under valgrind. Whatever happens, every message is released and every record gets its report.

use super::*;

const RECORDS: usize = 3000;

fn transactional(mock: &Mock) -> Producer {
    let mut settings = ProducerSettings::new(&mock.bootstrap_servers());
    settings.transactional_id = Some("chaos".to_owned());
    settings.client.pass_through = pairs(&[
        // Never copied, not even into the request; small socket buffers keep requests half sent.
        ("message.copy.max.bytes", "0"),
        ("socket.send.buffer.bytes", "8192"),
        ("linger.ms", "2"),
        ("retry.backoff.ms", "20"),
        ("reconnect.backoff.ms", "20"),
        ("reconnect.backoff.max.ms", "100"),
    ]);
    let mut producer = Producer::new(settings).unwrap();
    producer.init_transactions(2 * SOON).unwrap();
    producer
}

#[test]
fn whatever_happens_everything_is_released_and_reported() {
    let mock = cluster(2, &[("in", 4), ("out", 4)]);
    fill(&mock, "in", 4, 0..RECORDS as u64, 1000);
    let mut random = Random::new();
    let mut reader = reader(&mock, "in", 4);
    let mut producer = transactional(&mock);
    let (mut reports, mut sent, mut taken) = (Vec::new(), 0, 0);
    let mut ends = [0_u32; 3];
    while taken < RECORDS {
        let mut batches = Vec::new();
        reader.read(300, 1 << 20, TICK, &mut batches).unwrap();
        let messages = messages(batches);
        taken += messages.len();
        let out = producer.topic("out").unwrap();
        let down_at = (random.below(3) == 0).then(|| random.below(1 + messages.len() as u64));
        producer.begin_transaction().unwrap();
        for (index, message) in messages.into_iter().enumerate() {
            if down_at == Some(index as u64) {
                mock.broker_down(1).unwrap();
            }
            let partition = message.partition();
            let header: Option<(&str, &[u8])> = (index % 7 == 0).then_some(("tollgate.reject", b"{}"));
            sent += usize::from(producer.produce(out, Some(partition), message, header, 0).is_ok());
        }
        std::thread::sleep(Duration::from_millis(random.below(20)));
        if down_at.is_some() {
            mock.broker_up(1).unwrap();
        }
        let end = random.below(3) as usize;
        ends[end] += 1;
        match end {
            0 if producer.commit_transaction(2 * SOON).is_ok() => {}
            0 | 1 => producer.abort_transaction(2 * SOON).unwrap(),
            _ => {
                let old = std::mem::replace(&mut producer, transactional(&mock));
                old.close(SOON, &mut reports).unwrap();
            }
        }
        producer.poll(Duration::ZERO, &mut reports).unwrap();
        assert_eq!((producer.outstanding(), reader.held()), (0, 0), "after {ends:?}");
    }
    assert_eq!(reports.len(), sent, "one report for each record");
    println!("{sent} records, {ends:?} commits, aborts, rebuilds");
    producer.close(SOON, &mut reports).unwrap();
    reader.close(SOON).unwrap();
}
