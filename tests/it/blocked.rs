//! An output that takes nothing while the group lives: heartbeats and fetches come through, records that are written do not.
//!
//! A proxy in front of a real Apache Kafka (see `kafka.rs`) holds back every produce request, as a network that is half
//! broken would, for longer than the consumer may go without a poll and than a transaction may stay open, and then lets
//! all of them through, late as they are. Intake must pause, memory stay bounded, the member stay in its group, and
//! everything come out once as soon as the outputs are back.

use std::fs;
use std::io::{Read as _, Write as _};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant};

use crate::kafka::{Filter, brokers, wait_for};
use crate::survival::Orders;

/// Longer than `POLL_INTERVAL_MS` and than the 15 s that a transaction may stay open.
const BLOCKED: Duration = Duration::from_secs(22);
const POLL_INTERVAL_MS: u32 = 8000;
const PAD: usize = 4000;
const BEFORE: u64 = 2000;
/// Some 48 MB: far more than may be in memory.
const MEANWHILE: u64 = 12_000;
const INFLIGHT_BYTES_MAX: u64 = 4 << 20;
/// What a blocked filter may take more than one at work: what is in flight, what was fetched ahead, and slack of allocators.
const GROWTH_MAX_KB: u64 = 32_000;

/// Stands between the filter and the broker, and lets produce requests through only while it is told to.
struct Proxy {
    address: SocketAddr,
    is_shut: Arc<AtomicBool>,
    held: Arc<AtomicU64>,
}

impl Proxy {
    fn start(broker: &str) -> Self {
        let broker: SocketAddr = broker.parse().unwrap();
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        let (is_shut, held) = (Arc::new(AtomicBool::new(false)), Arc::new(AtomicU64::new(0)));
        let (shut, count) = (Arc::clone(&is_shut), Arc::clone(&held));
        std::thread::spawn(move || {
            for client in listener.incoming().map_while(Result::ok) {
                let Ok(server) = TcpStream::connect(broker) else { continue };
                let up = (client.try_clone().unwrap(), server.try_clone().unwrap());
                let (shut, count) = (Arc::clone(&shut), Arc::clone(&count));
                std::thread::spawn(move || pass(up.0, up.1, |frame| hold_produce(frame, &shut, &count)));
                let names =
                    [broker, address].map(|at| [b"127.0.0.1\0\0", &at.port().to_be_bytes()[..]].concat());
                std::thread::spawn(move || {
                    // The broker names its own port; whoever follows that would go round the proxy.
                    pass(server, client, |frame| replace(frame, &names[0], &names[1]));
                });
            }
        });
        Self { address, is_shut, held }
    }
}

/// Holds a request back as long as it is one to produce and the proxy is shut.
fn hold_produce(frame: &[u8], is_shut: &AtomicBool, held: &AtomicU64) {
    // The first two bytes are the kind of request.
    let holds = || frame.starts_with(&[0, 0]) && is_shut.load(Ordering::Relaxed);
    held.fetch_add(u64::from(holds()), Ordering::Relaxed);
    while holds() {
        std::thread::sleep(Duration::from_millis(10));
    }
}

/// Passes frames on, each after a look at it, until one side closes.
fn pass(mut from: TcpStream, mut to: TcpStream, mut look: impl FnMut(&mut [u8])) {
    let mut length = [0; 4];
    let mut frame = Vec::new();
    while from.read_exact(&mut length).is_ok() {
        frame.resize(u32::from_be_bytes(length) as usize, 0);
        if from.read_exact(&mut frame).is_err() {
            break;
        }
        look(&mut frame);
        if to.write_all(&[&length[..], &frame].concat()).is_err() {
            break;
        }
    }
    let _ = to.shutdown(std::net::Shutdown::Both);
}

fn replace(frame: &mut [u8], old: &[u8], new: &[u8]) {
    let places: Vec<usize> =
        frame.windows(old.len()).enumerate().filter(|(_, at)| *at == old).map(|at| at.0).collect();
    for place in places {
        frame[place..place + new.len()].copy_from_slice(new);
    }
}

fn resident_kb(filter: &Filter) -> u64 {
    let status = fs::read_to_string(format!("/proc/{}/status", filter.0.id())).unwrap();
    let line = status.lines().find(|line| line.starts_with("VmRSS:")).unwrap();
    line.split_whitespace().nth(1).unwrap().parse().unwrap()
}

fn metric(port: SocketAddr, series: &str) -> u64 {
    let metrics = crate::ops::fetch(&port.to_string(), "/metrics");
    let line =
        metrics.lines().find(|line| line.strip_prefix(series).is_some_and(|rest| rest.starts_with(' ')));
    line.unwrap_or_else(|| panic!("{series}:\n{metrics}")).rsplit(' ').next().unwrap().parse::<f64>().unwrap()
        as u64
}

fn run(brokers: &'static str, delivery: &str) {
    let name = format!("blocked-{delivery}");
    let orders = Orders::create(brokers, &name);
    let proxy = Proxy::start(brokers);
    let port = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
    let more =
        format!("delivery = \"{delivery}\"\ncommit_interval_ms = 200\ntransaction_records_max = 1000\n");
    let rest = format!(
        "[librdkafka]\n\"max.poll.interval.ms\" = {POLL_INTERVAL_MS}\n\"queued.max.messages.kbytes\" = 1024\n\
         [ops]\nlisten = \"{port}\"\n\
         [pipeline]\nbatch_records_max = 256\ninflight_records_max = 4096\ninflight_bytes_max = {INFLIGHT_BYTES_MAX}\n"
    );
    let config = orders.config("one", &more);
    let text = fs::read_to_string(&config).unwrap() + &rest;
    fs::write(&config, text.replace(brokers, &proxy.address.to_string())).unwrap();
    let filter = Filter::start(&config);
    orders.send(0..BEFORE, PAD, None);
    orders.wait_committed(BEFORE as i64);

    proxy.is_shut.store(true, Ordering::Relaxed);
    let (since, resident) = (Instant::now(), resident_kb(&filter));
    orders.send(BEFORE..BEFORE + MEANWHILE, PAD, None);
    let mut highest = 0;
    while since.elapsed() < BLOCKED {
        highest = highest.max(resident_kb(&filter));
        std::thread::sleep(Duration::from_millis(200));
    }
    assert!(proxy.held.load(Ordering::Relaxed) > 0, "{name}: requests were held back");
    assert_eq!(orders.topics.committed(), BEFORE as i64, "{name}: nothing is committed that is not written");
    let inflight = metric(port, "tollgate_inflight_records");
    assert!(inflight <= 4096, "{name}: {inflight} records in flight");
    assert!(highest < resident + GROWTH_MAX_KB, "{name}: from {resident} kB to {highest} kB");
    proxy.is_shut.store(false, Ordering::Relaxed);
    let back = Instant::now();
    orders.wait_committed((BEFORE + MEANWHILE) as i64);
    let took = back.elapsed();

    // One assignment, and no other event of the group: the member was there all the time.
    let rebalances = ["assigned", "revoked", "lost"]
        .map(|event| metric(port, &format!("tollgate_rebalances_total{{event=\"{event}\"}}")));
    assert_eq!(rebalances, [1, 0, 0], "{name}");
    assert!(crate::ops::fetch(&port.to_string(), "/readyz").starts_with("running"), "{name}");
    filter.stop();
    let (mut accepted, rejected) = orders.outcome();
    let written = accepted.len();
    accepted.dedup();
    assert_eq!(accepted, (0..BEFORE + MEANWHILE).collect::<Vec<_>>(), "{name}: nothing is lost");
    assert_eq!(rejected, [], "{name}: what comes again is no duplicate");
    assert!(delivery == "at_least_once" || written == accepted.len(), "{name}: nothing is doubled");
    let _ = writeln!(
        std::io::stderr(),
        "{name}: {resident} kB, at most {highest} kB while blocked; all done {took:?} after; {} written twice",
        written - accepted.len()
    );
}

#[test]
fn an_output_that_blocks_pauses_the_intake_and_costs_neither_membership_nor_records() {
    let Some(brokers) = brokers() else { return };
    std::thread::scope(|scope| {
        let runs =
            ["exactly_once", "at_least_once"].map(|delivery| scope.spawn(move || run(brokers, delivery)));
        for run in runs {
            wait_for("a run", || run.is_finished());
            run.join().unwrap();
        }
    });
}
