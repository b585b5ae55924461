//! How fast text is split; prints its figures, and checks only that the work was done.
//!
//! `cargo test --release --lib files::tests::speed -- --ignored --nocapture`

use std::time::Instant;

use super::{Folder, Layout, ReadOptions};
use crate::files::{Compression, Event, Input, Reader, Rejected, Target, WriteOptions, Writer};

/// About 1 KB, with strings and nesting as envelopes have them.
fn envelope(number: usize) -> String {
    let words = "the quick brown fox jumps over \\\"the\\\" lazy dog; ".repeat(12);
    format!(
        r#"{{"id":"018f3a5e-7c1b-7000-8000-{number:012}","from":"planner","to":["worker-a","worker-b"],"body":{{"text":"{words}","n":[1,2,3],"meta":{{"priority":"high","retries":0,"tags":["x","y","z"],"ok":true}}}},"ts":"2025-01-01T00:00:00Z","correlation_id":"c-{number}","trace":{{"span":"{number:016x}","parent":null}}}}"#
    )
}

fn report(what: &str, bytes: u64, begin: Instant) {
    println!("{what}: {:.2} GB/s", bytes as f64 / begin.elapsed().as_secs_f64() / 1e9);
}

fn read_all(folder: &Folder, name: &str, options: &ReadOptions) -> (u64, u64) {
    let reader = Reader::open(&[Input::Path(folder.path(name))], options).unwrap();
    reader.fold((0, 0), |sums, event| match event {
        Event::Block(_) => sums,
        Event::Done { totals, .. } => (totals.bytes, totals.records),
        Event::Failed { error, .. } => panic!("{error}"),
    })
}

#[test]
#[ignore = "a measurement; run it in release mode"]
fn rates_of_reader_and_writer() {
    const RECORDS: usize = 300_000;
    let folder = Folder::new();
    let records: Vec<_> = (0..RECORDS).map(envelope).collect();
    let lines = folder.write("lines.ndjson", (records.join("\n") + "\n").as_bytes());
    folder.write(
        "short.ndjson",
        "{\"a\":1,\"b\":\"0123456789012345678901234567890123456789\"}\n".repeat(4_000_000).as_bytes(),
    );
    folder.write("array.json", format!("[{}]", records.join(",\n")).as_bytes());
    for name in ["out.ndjson.gz", "out.ndjson.zst", "out.ndjson", "rejected.ndjson"] {
        let begin = Instant::now();
        let mut writer = Writer::create(&Target::Path(folder.path(name)), &WriteOptions::default()).unwrap();
        for record in &records {
            match name {
                "rejected.ndjson" => {
                    writer.write_rejected(b"{}", Rejected::Bytes(record.as_bytes())).unwrap()
                }
                _ => writer.write_record(record.as_bytes()).unwrap(),
            }
        }
        report(
            &format!("write {name} ({})", Compression::of_path(name.as_ref())),
            writer.finish().unwrap().bytes,
            begin,
        );
    }
    let options = ReadOptions::default();
    let documents = ReadOptions { layout: Layout::Documents, ..options };
    for round in 1..=3 {
        let begin = Instant::now();
        let bytes = std::io::copy(&mut std::fs::File::open(&lines).unwrap(), &mut std::io::sink()).unwrap();
        report(&format!("{round}: the file alone, 8 KiB at a time"), bytes, begin);
        for (what, name, options) in [
            ("lines of 1 KB", "lines.ndjson", &options),
            ("lines of 56 B", "short.ndjson", &options),
            ("array", "array.json", &options),
            ("documents", "lines.ndjson", &documents),
            ("gzip", "out.ndjson.gz", &options),
            ("zstd", "out.ndjson.zst", &options),
        ] {
            let begin = Instant::now();
            let (bytes, count) = read_all(&folder, name, options);
            assert!(count == RECORDS as u64 || count == 4_000_000);
            report(&format!("{round}: read {what}"), bytes, begin);
        }
    }
}
