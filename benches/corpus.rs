//! The judge alone on a corpus of the user's: the figure that an audit of the same records is compared with.
//!
//! `TOLLGATE_CORPUS=FILE cargo bench --bench corpus`, with `TOLLGATE_CONFIG=FILE` for other rules than the defaults.
//! Records are read block by block; only judging is counted, in CPU time of the thread, and each record is judged by its
//! own time. `judge` makes verdicts; `judge and facts` also what the window and the ledger ask for, as in the filter; the
//! last row is what a worker of an audit does: facts with names of the run, labels, and the hash of the content.

#![expect(
    clippy::unwrap_used,
    clippy::print_stdout,
    clippy::print_stderr,
    reason = "a bench may stop, and prints its results"
)]

use std::hint::black_box;
use std::path::Path;

use tollgate::audit;
use tollgate::config::Config;
use tollgate::credentials::names::Names;
use tollgate::files::{Event, Input as File, ReadOptions, Reader};
use tollgate::formats::Asked;
use tollgate::judge::{Input, Judge, NoWatch, Payload, Rules};
use tollgate::state::Settings;
use twox_hash::XxHash3_128;

// The allocator of the product.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

/// Nanoseconds that this thread has had a CPU.
fn cpu_nanos() -> u64 {
    let text = std::fs::read_to_string("/proc/thread-self/schedstat").unwrap();
    text.split(' ').next().unwrap().parse().unwrap()
}

/// What is done with a record.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Work {
    Verdict,
    Facts,
    Audit,
}

impl Work {
    fn row(self) -> &'static str {
        match self {
            Self::Verdict => "judge",
            Self::Facts => "judge and facts",
            Self::Audit => "worker of an audit",
        }
    }

    fn judge(self, config: &Config, rules: &Rules) -> Judge {
        let mut judge = Judge::new(rules);
        match self {
            Self::Verdict => {}
            Self::Facts => {
                let sequences = Settings::of(config).sequences();
                judge.make_facts_for(Asked { names: Names::Lasting, sequences });
            }
            Self::Audit => {
                let sequences = audit::settings(config, 1).sequences();
                judge.make_facts_for(Asked { names: Names::of_new_run(), sequences });
                judge.make_labels(rules, 7);
            }
        }
        judge
    }
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
    for work in [Work::Verdict, Work::Facts, Work::Audit] {
        let (records, nanos) = measure(&corpus, &config, &rules, work);
        println!("| {} | {records} | {:.0} |", work.row(), records as f64 / nanos as f64 * 1e9);
    }
}

fn measure(corpus: &str, config: &Config, rules: &Rules, work: Work) -> (u64, u64) {
    let mut judge = work.judge(config, rules);
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
            if work == Work::Audit {
                black_box((judge.facts(), judge.labels(), XxHash3_128::oneshot(block.payload(span))));
            }
        }
        nanos += cpu_nanos() - started;
        records += block.spans.len() as u64;
    }
    (records, nanos)
}
