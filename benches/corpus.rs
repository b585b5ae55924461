//! The judge alone on a corpus of the user's: the figure that an audit of the same records is compared with.
//!
//! `TOLLGATE_CORPUS=FILE cargo bench --bench corpus`, with `TOLLGATE_CONFIG=FILE` for other rules than the defaults.
//! Records are read block by block; only judging is counted, in CPU time of the thread, and each record is judged by its
//! own time. `judge` makes verdicts; `judge and facts` also what the window and the ledger ask for, as in the pipeline.

#![expect(
    clippy::unwrap_used,
    clippy::print_stdout,
    clippy::print_stderr,
    reason = "a bench may stop, and prints its results"
)]

use std::hint::black_box;
use std::path::Path;

use tollgate::config::Config;
use tollgate::files::{Event, Input as File, ReadOptions, Reader};
use tollgate::judge::{Input, Judge, NoWatch, Payload, Rules};

// The allocator of the product.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

/// Nanoseconds that this thread has had a CPU.
fn cpu_nanos() -> u64 {
    let text = std::fs::read_to_string("/proc/thread-self/schedstat").unwrap();
    text.split(' ').next().unwrap().parse().unwrap()
}

fn main() {
    let Ok(corpus) = std::env::var("TOLLGATE_CORPUS") else {
        eprintln!("skipped: TOLLGATE_CORPUS names no corpus");
        return;
    };
    let config = std::env::var("TOLLGATE_CONFIG").ok();
    let config = config.map_or_else(Config::default, |path| Config::load(Path::new(&path)).unwrap());
    let rules = Rules::compile(&config).unwrap();
    println!("| row | records | records per CPU second |");
    println!("|---|---|---|");
    for with_facts in [false, true] {
        let mut judge = Judge::new(&rules);
        if with_facts {
            judge.make_facts();
        }
        let (records, nanos) = measure(&corpus, &rules, &mut judge);
        let row = if with_facts { "judge and facts" } else { "judge" };
        println!("| {row} | {records} | {:.0} |", records as f64 / nanos as f64 * 1e9);
    }
}

fn measure(corpus: &str, rules: &Rules, judge: &mut Judge) -> (u64, u64) {
    let reader = Reader::open(&[File::from_argument(Path::new(corpus))], &ReadOptions::default()).unwrap();
    let mut pointer = Vec::new();
    let (mut records, mut nanos) = (0, 0);
    for event in reader {
        let Event::Block(block) = event else { continue };
        let started = cpu_nanos();
        for span in &block.spans {
            pointer.clear();
            let payload = Payload::Bytes(black_box(block.payload(span)));
            let input = Input { payload, key: Some(corpus.as_bytes()), now: None };
            black_box(judge.judge(rules, rules.default_binding(), input, &mut pointer, &mut NoWatch));
        }
        nanos += cpu_nanos() - started;
        records += block.spans.len() as u64;
    }
    (records, nanos)
}
