//! How fast text is split; prints its figures, and checks only that the work was done.
//!
//! `cargo test --release --lib files::tests::speed -- --ignored --nocapture`

use std::io::Read;
use std::time::Instant;

use super::{Folder, Layout, ReadOptions};
use crate::files::{Event, Input, Reader, Rejected, Target, WriteOptions, Writer};

/// About 1 KB, with strings and nesting as envelopes have them.
fn envelope(number: usize) -> String {
    let words = "the quick brown fox jumps over \\\"the\\\" lazy dog; ".repeat(12);
    format!(
        r#"{{"id":"018f3a5e-7c1b-7000-8000-{number:012}","from":"planner","to":["worker-a","worker-b"],"body":{{"text":"{words}","n":[1,2,3],"meta":{{"priority":"high","retries":0,"tags":["x","y","z"],"ok":true}}}},"ts":"2025-01-01T00:00:00Z","correlation_id":"c-{number}","trace":{{"span":"{number:016x}","parent":null}}}}"#
    )
}

/// Runs `work`, which returns the bytes that it went through, and prints the rate of the best of many short runs: on
/// a machine that is shared, the others only add time.
fn measure(what: &str, mut work: impl FnMut() -> u64) {
    const RUNS: usize = 41;
    let rates = (0..RUNS).map(|_| {
        let begin = Instant::now();
        work() as f64 / begin.elapsed().as_secs_f64() / 1e9
    });
    println!("{what}: {:.2} GB/s", rates.fold(0.0, f64::max));
}

fn read_all(folder: &Folder, name: &str, options: &ReadOptions, expected: usize) -> u64 {
    let reader = Reader::open(&[Input::Path(folder.path(name))], options).unwrap();
    let totals = reader.filter_map(|event| match event {
        Event::Block(_) | Event::Unfinished => None,
        Event::Done { totals, .. } => Some(totals),
        Event::Failed { error, .. } => panic!("{error}"),
    });
    let totals: Vec<_> = totals.collect();
    assert_eq!(totals[0].records, expected as u64);
    totals[0].bytes
}

fn write_all(folder: &Folder, name: &str, records: &[String], is_rejected: bool) -> u64 {
    let mut writer = Writer::create(&Target::Path(folder.path(name)), &WriteOptions::default()).unwrap();
    for record in records {
        if is_rejected {
            writer.write_rejected(b"{}", Rejected::Bytes(record.as_bytes())).unwrap();
        } else {
            writer.write_record(record.as_bytes()).unwrap();
        }
    }
    writer.finish().unwrap().bytes
}

#[test]
#[ignore = "a measurement; run it in release mode"]
fn rates_of_reader_and_writer() {
    const RECORDS: usize = 10_000;
    const SHORT_RECORDS: usize = 200_000;
    let folder = Folder::new();
    let records: Vec<_> = (0..RECORDS).map(envelope).collect();
    let lines = folder.write("lines.ndjson", (records.join("\n") + "\n").as_bytes());
    let short = "{\"a\":1,\"b\":\"0123456789012345678901234567890123456789\"}\n".repeat(SHORT_RECORDS);
    folder.write("short.ndjson", short.as_bytes());
    folder.write("array.json", format!("[{}]", records.join(",\n")).as_bytes());
    for name in ["out.ndjson", "out.ndjson.zst", "out.ndjson.gz"] {
        measure(&format!("write {name}"), || write_all(&folder, name, &records, false));
    }
    measure("write rejected as base64", || write_all(&folder, "rejected.ndjson", &records, true));
    let mut buffer = vec![0; ReadOptions::default().block_bytes];
    measure("the file alone", || {
        let mut file = std::fs::File::open(&lines).unwrap();
        std::iter::from_fn(|| Some(file.read(&mut buffer).unwrap() as u64).filter(|&count| count > 0)).sum()
    });
    let options = ReadOptions::default();
    let documents = ReadOptions { layout: Layout::Documents, ..options };
    for (what, name, options, expected) in [
        ("lines of 1 KB", "lines.ndjson", &options, RECORDS),
        ("lines of 56 B", "short.ndjson", &options, SHORT_RECORDS),
        ("array", "array.json", &options, RECORDS),
        ("documents", "lines.ndjson", &documents, RECORDS),
        ("gzip", "out.ndjson.gz", &options, RECORDS),
        ("zstd", "out.ndjson.zst", &options, RECORDS),
    ] {
        measure(&format!("read {what}"), || read_all(&folder, name, options, expected));
    }
}
