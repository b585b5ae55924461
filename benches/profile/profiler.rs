//! Samples the judge in-process and writes a flamegraph: for `scripts/flamegraph` where perf does not work.
//!
//! `cargo run --release --manifest-path benches/profile/Cargo.toml -- OUT.svg OUT.folded`; without these arguments it only
//! runs briefly.
#![expect(clippy::expect_used, reason = "a bench that cannot start should say why and end")]

use std::fs::File;
use std::io::Write as _;
use std::time::{Duration, Instant};

use tollgate::config::Config;
use tollgate::formats::Binding;
use tollgate::judge::{Judge, NoWatch, Payload, Rules};
use tollgate::load::Stream;

const RECORDS: usize = 4096;
const SAMPLES_PER_SECOND: i32 = 999;

fn main() {
    let outputs: Vec<_> = std::env::args().skip(1).filter(|argument| !argument.starts_with("--")).collect();
    let rules = Rules::compile(&Config::default()).expect("the built-in rules compile");
    let mut judge = Judge::new(&rules);
    let mut stream = Stream::new(7, 100);
    let mut record = || {
        let mut record = Vec::new();
        stream.write_next(&mut record);
        record
    };
    let records: Vec<_> = (0..RECORDS).map(|_| record()).collect();
    let guard = pprof::ProfilerGuard::new(SAMPLES_PER_SECOND).expect("the profiler starts");
    let (started, mut judged, mut pointer) = (Instant::now(), 0, Vec::new());
    let time = Duration::from_secs(if outputs.is_empty() { 1 } else { 10 });
    while started.elapsed() < time {
        for record in &records {
            pointer.clear();
            judge.judge(&rules, Binding::Auto, Payload::Bytes(record), &mut pointer, &mut NoWatch);
        }
        judged += records.len();
    }
    let per_second = judged as f64 / started.elapsed().as_secs_f64();
    let _ = writeln!(std::io::stdout(), "{judged} records judged on one core, {per_second:.0} records/s");
    let report = guard.report().build().expect("the samples can be gathered");
    if let [svg, folded] = outputs.as_slice() {
        report.flamegraph(File::create(svg).expect("the SVG can be made")).expect("the SVG can be written");
        let mut folded = File::create(folded).expect("the folded stacks can be made");
        for (frames, count) in &report.data {
            let names: Vec<_> = frames.frames.iter().rev().flatten().map(ToString::to_string).collect();
            let _ = writeln!(folded, "{} {count}", names.join(";"));
        }
    }
}
