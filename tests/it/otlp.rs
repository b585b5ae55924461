//! Spans of batches, as a collector sees them; compiled with the feature `otlp` alone.

use std::collections::BTreeMap;
use std::io::{BufReader, Write as _};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::process::Output;
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use tollgate::load::Stream;

use crate::cli::{TempDir, tollgate};
use crate::kafka::{Filter, PARTITIONS, brokers};
use crate::survival::Orders;

/// A collector that keeps the bodies of all requests, and answers as it is told.
struct Collector {
    address: SocketAddr,
    bodies: Arc<Mutex<Vec<Vec<u8>>>>,
}

impl Collector {
    fn start(answer: &'static str) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        let bodies = Arc::new(Mutex::new(Vec::new()));
        let kept = Arc::clone(&bodies);
        std::thread::spawn(move || {
            for stream in listener.incoming().map_while(Result::ok) {
                let kept = Arc::clone(&kept);
                std::thread::spawn(move || serve(&stream, answer, &kept));
            }
        });
        Self { address, bodies }
    }
}

fn serve(mut stream: &TcpStream, answer: &str, kept: &Mutex<Vec<Vec<u8>>>) {
    let mut reader = BufReader::new(stream);
    while let Some(body) = read_request(&mut reader) {
        kept.lock().unwrap().push(body);
        if answer.is_empty() {
            // As silent as a collector can be.
            std::thread::sleep(Duration::from_mins(1));
        }
        let _ = stream.write_all(answer.as_bytes());
    }
}

fn read_request(reader: &mut impl std::io::BufRead) -> Option<Vec<u8>> {
    let mut line = String::new();
    reader.read_line(&mut line).ok().filter(|read| *read > 0)?;
    assert!(line.starts_with("POST /v1/traces "), "{line}");
    let mut length = 0;
    loop {
        let mut line = String::new();
        reader.read_line(&mut line).ok()?;
        let (name, value) = line.split_once(':').unwrap_or((line.trim(), ""));
        match name.to_ascii_lowercase().as_str() {
            "" => break,
            "content-length" => length = value.trim().parse().unwrap(),
            "content-type" => assert_eq!(value.trim(), "application/x-protobuf"),
            _ => {}
        }
    }
    let mut body = vec![0; length];
    reader.read_exact(&mut body).ok()?;
    Some(body)
}

/// A field of a protobuf message: numbers as they stand there, all else as bytes.
#[derive(Clone, Debug)]
enum Field<'a> {
    Number(u64),
    Bytes(&'a [u8]),
}

impl Field<'_> {
    fn number(&self) -> u64 {
        match self {
            Self::Number(number) => *number,
            Self::Bytes(bytes) => panic!("{bytes:?} is no number"),
        }
    }

    fn bytes(&self) -> &[u8] {
        match self {
            Self::Number(number) => panic!("{number} is no text"),
            Self::Bytes(bytes) => bytes,
        }
    }
}

/// The fields of a protobuf message, read without any library: the other side's code is not its own judge.
fn fields(mut bytes: &[u8]) -> Vec<(u64, Field<'_>)> {
    fn varint(bytes: &mut &[u8]) -> u64 {
        let mut number = 0;
        for shift in (0..64).step_by(7) {
            let (first, rest) = bytes.split_first().unwrap();
            *bytes = rest;
            number |= u64::from(first & 0x7F) << shift;
            if first & 0x80 == 0 {
                break;
            }
        }
        number
    }
    let mut found = Vec::new();
    while !bytes.is_empty() {
        let tag = varint(&mut bytes);
        let length = match tag & 7 {
            0 => {
                found.push((tag >> 3, Field::Number(varint(&mut bytes))));
                continue;
            }
            1 => 8,
            2 => varint(&mut bytes) as usize,
            5 => 4,
            other => panic!("wire type {other}"),
        };
        let (value, rest) = bytes.split_at(length);
        bytes = rest;
        let field = match tag & 7 {
            1 => Field::Number(u64::from_le_bytes(value.try_into().unwrap())),
            5 => Field::Number(u64::from(u32::from_le_bytes(value.try_into().unwrap()))),
            _ => Field::Bytes(value),
        };
        found.push((tag >> 3, field));
    }
    found
}

fn inside(message: &[u8], number: u64) -> impl Iterator<Item = Vec<u8>> {
    fields(message)
        .into_iter()
        .filter(move |(found, _)| *found == number)
        .map(|(_, field)| field.bytes().to_vec())
}

/// Attributes as texts; whole numbers and doubles as they would be printed.
fn attributes(message: &[u8], number: u64) -> BTreeMap<String, String> {
    inside(message, number)
        .map(|pair| {
            let name = String::from_utf8(inside(&pair, 1).next().unwrap()).unwrap();
            let value = inside(&pair, 2).next().unwrap();
            let text = match fields(&value).first().unwrap() {
                (1, text) => String::from_utf8(text.bytes().to_vec()).unwrap(),
                (3, number) => number.number().to_string(),
                (4, number) => f64::from_bits(number.number()).to_string(),
                other => panic!("{other:?}"),
            };
            (name, text)
        })
        .collect()
}

struct Span {
    name: String,
    ids: (Vec<u8>, Vec<u8>),
    start_ns: u64,
    end_ns: u64,
    says: BTreeMap<String, String>,
}

impl Span {
    fn number(&self, name: &str) -> f64 {
        self.says.get(name).unwrap_or_else(|| panic!("no {name}: {:?}", self.says)).parse().unwrap()
    }
}

fn spans(bodies: &[Vec<u8>]) -> Vec<Span> {
    let mut found = Vec::new();
    for resource in bodies.iter().flat_map(|body| inside(body, 1)) {
        let about = attributes(&inside(&resource, 1).next().unwrap(), 1);
        assert_eq!(about["service.name"], "tollgate");
        assert_eq!(about["service.version"], env!("CARGO_PKG_VERSION"));
        for span in inside(&resource, 2).flat_map(|scope| inside(&scope, 2).collect::<Vec<_>>()) {
            let of = |number| fields(&span).into_iter().find(|(found, _)| *found == number).unwrap().1;
            found.push(Span {
                name: String::from_utf8(of(5).bytes().to_vec()).unwrap(),
                ids: (of(1).bytes().to_vec(), of(2).bytes().to_vec()),
                start_ns: of(7).number(),
                end_ns: of(8).number(),
                says: attributes(&span, 9),
            });
        }
    }
    found
}

fn run(dir: &TempDir, endpoint: &str, records: usize) -> (Output, String, Duration) {
    let (mut stream, mut lines) = (Stream::new(21, 100), Vec::new());
    for _ in 0..records {
        stream.write_next(&mut lines);
        lines.push(b'\n');
    }
    let input = dir.write("input.ndjson", lines);
    let config = dir.write(
        "tollgate.toml",
        format!(
            "[rules]\nclock = \"record\"\n[files]\nblock_bytes = 16384\n[traces]\nendpoint = \"{endpoint}\"\n"
        ),
    );
    let began = Instant::now();
    let output = tollgate()
        .args(["run", "--json", "--config"])
        .arg(config)
        .arg("--rejected")
        .arg(dir.path().join("r.ndjson"))
        .arg(&input)
        .output()
        .unwrap();
    (output, input.to_str().unwrap().to_owned(), began.elapsed())
}

#[test]
fn one_span_for_each_batch_with_counts_and_times() {
    let dir = TempDir::new("otlp");
    let collector = Collector::start("HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n");
    let before = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).unwrap();
    let (output, path, _) = run(&dir, &format!("http://{}/v1/traces", collector.address), 20_000);
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(output.status.success() && !said.contains("dropped"), "{said}");
    let summary: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
    let mut spans = spans(&collector.bodies.lock().unwrap());
    spans.sort_by(|left, right| left.number("tollgate.first").total_cmp(&right.number("tollgate.first")));
    assert!(spans.len() > 100, "{}", spans.len());
    let sum = |name: &str| spans.iter().map(|span| span.number(name)).sum::<f64>() as u64;
    assert_eq!(sum("messaging.batch.message_count"), 20_000);
    assert_eq!(Some(sum("tollgate.accepted")), summary["accepted"].as_u64());
    assert_eq!(sum("tollgate.accepted") + sum("tollgate.rejected"), 20_000);
    let mut next = 1.0;
    for span in &spans {
        assert_eq!(span.name, format!("process {path}"));
        assert!(
            (span.number("tollgate.first") - next).abs() < 0.5,
            "batches follow each other: {:?}",
            span.says
        );
        next = span.number("tollgate.last") + 1.0;
        let stages = ["queue", "judge", "gate", "write", "commit"];
        let sum: f64 = stages.iter().map(|stage| span.number(&format!("tollgate.{stage}_seconds"))).sum();
        let whole = (span.end_ns - span.start_ns) as f64 / 1e9;
        assert!((whole - sum).abs() < 1e-4, "{whole} s, in stages {sum} s");
        assert!(span.number("tollgate.judge_seconds") > 0.0);
        assert!(u128::from(span.start_ns) > before.as_nanos(), "times are those of the wall");
    }
    let ids: std::collections::BTreeSet<_> = spans.iter().map(|span| span.ids.clone()).collect();
    assert_eq!(ids.len(), spans.len(), "each batch has a trace of its own");
}

/// On Kafka a span names topic and partition, and comes when the batch is committed, so that each record is in one.
#[test]
fn spans_of_a_topic_name_its_partitions() {
    let Some(brokers) = brokers() else { return };
    let orders = Orders::create(brokers, "traced");
    let collector = Collector::start("HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n");
    let traces =
        format!("[traces]\nendpoint = \"http://{}/v1/traces\"\n[ops]\nlisten = \"off\"\n", collector.address);
    let config = orders.config_with_rules("one", "", &traces);
    orders.send(0..2000, 0, None);
    let filter = Filter::start(&config);
    orders.wait_committed(2000);
    filter.stop();
    let mut records = BTreeMap::new();
    for span in spans(&collector.bodies.lock().unwrap()) {
        assert_eq!(span.name, "process traced");
        assert_eq!(span.says["messaging.system"], "kafka");
        assert_eq!(span.says["messaging.destination.name"], "traced");
        let (first, last) = (span.number("tollgate.first") as u64, span.number("tollgate.last") as u64);
        let of: &mut Vec<u64> =
            records.entry(span.says["messaging.destination.partition.id"].clone()).or_default();
        of.extend(first..=last);
    }
    assert_eq!(records.len(), PARTITIONS as usize, "{:?}", records.keys());
    for (partition, mut offsets) in records {
        offsets.sort_unstable();
        assert_eq!(offsets, (0..2000 / PARTITIONS as u64).collect::<Vec<_>>(), "{partition}");
    }
}

/// Silent, rude or gone: it costs spans, never records, and the end of the run waits a few seconds at most.
#[test]
fn a_collector_in_trouble_holds_up_nothing() {
    let silent = Collector::start("").address;
    let rude = Collector::start("HTTP/1.1 400 Bad Request\r\nContent-Length: 0\r\n\r\n").address;
    let gone = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
    for address in [silent, rude, gone] {
        let dir = TempDir::new(&format!("otlp-{}", address.port()));
        let (output, _, took) = run(&dir, &format!("http://{address}/v1/traces"), 5000);
        let said = String::from_utf8_lossy(&output.stderr).into_owned();
        assert!(output.status.success(), "{said}");
        let summary: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
        assert_eq!(summary["records"], 5000);
        assert!(
            said.contains("spans of batches were dropped") && said.contains(&address.to_string()),
            "{said}"
        );
        assert!(took < Duration::from_secs(20), "{took:?}");
    }
}
