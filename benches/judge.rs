//! Parse and judge on one core: what a record costs, next to the floor of simd-json's tape alone.
//!
//! `cargo bench --bench judge`. The records are those of `tollgate demo`, streamed, so that branches are not learned by
//! heart; throughput is in records.

#![expect(clippy::expect_used, reason = "a bench that cannot start should say why and end")]

use criterion::{Criterion, Throughput, criterion_group, criterion_main};
use tollgate::config::Config;
use tollgate::formats::Binding;
use tollgate::judge::{Judge, NoWatch, Payload, Rules};
use tollgate::load::Stream;
use tollgate::tape::Parser;

const RECORDS: usize = 4096;

fn records(broken_per_mille: u16) -> Vec<Vec<u8>> {
    let mut stream = Stream::new(7, broken_per_mille);
    let next = |_| {
        let mut record = Vec::new();
        stream.write_next(&mut record);
        record
    };
    (0..RECORDS).map(next).collect()
}

fn bench(c: &mut Criterion) {
    let rules = Rules::compile(&Config::default()).expect("the built-in rules compile");
    for (name, broken_per_mille) in [("valid", 0), ("one in ten broken", 100)] {
        let records = records(broken_per_mille);
        let bytes: usize = records.iter().map(Vec::len).sum();
        let mut group = c.benchmark_group(format!("{name}, {} bytes on average", bytes / RECORDS));
        group.throughput(Throughput::Elements(RECORDS as u64));
        let mut parser = Parser::new(64);
        group.bench_function("simd-json tape", |b| {
            b.iter(|| records.iter().filter(|record| parser.parse(record, |tape| tape.is_ok())).count());
        });
        let mut judge = Judge::new(&rules);
        let mut pointer = Vec::new();
        group.bench_function("judge", |b| {
            b.iter(|| {
                let accepted = |record: &&Vec<u8>| {
                    pointer.clear();
                    judge
                        .judge(&rules, Binding::Auto, Payload::Bytes(record), &mut pointer, &mut NoWatch)
                        .is_accept()
                };
                records.iter().filter(accepted).count()
            });
        });
        group.finish();
    }
}

criterion_group!(benches, bench);
criterion_main!(benches);
