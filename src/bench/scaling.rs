//! How the judge scales to two cores, next to a loop that touches no memory at all: what the machine itself allows.

use std::hint::black_box;
use std::sync::Barrier;
use std::time::Instant;

use super::{CALM_SHARE, Corpus, ROUNDS, calmest, median};
use crate::clock::Timestamp;
use crate::judge::{Input, Judge, NoWatch, Payload, Rules};

/// Passes over the corpus in one run of one thread.
const PASSES: usize = 20;

/// Work of two pinned threads in the time of one; 2 is perfect. Medians over the calmest rounds.
#[derive(Clone, Copy, Debug)]
pub struct Scaling {
    /// The judge.
    pub judge: f64,
    /// The bare loop.
    pub alu: f64,
    /// The judge next to the loop: the median of each round's ratio.
    pub ratio: f64,
    /// The same over all rounds, not the calmest alone.
    pub ratio_of_all: f64,
}

/// Measures both, interleaved; `None` where the process has fewer than two cores.
#[must_use]
pub fn scaling(corpus: &Corpus, rules: &Rules, now: Timestamp) -> Option<Scaling> {
    let cores = core_affinity::get_core_ids().unwrap_or_default();
    let [first, second, ..] = cores.as_slice() else { return None };
    let judge = || {
        let mut judge = Judge::new(rules);
        judge.make_facts();
        let mut pointer = Vec::with_capacity(4096);
        move || {
            for record in &corpus.records {
                let input = Input { payload: Payload::Bytes(record), key: None, now: Some(now) };
                black_box(judge.judge(rules, rules.default_binding(), input, &mut pointer, &mut NoWatch));
            }
        }
    };
    let turns = corpus.records.len() as u64 * 4_000;
    let alu = || {
        move || {
            let mut state = black_box(1_u64);
            for _ in 0..turns / 4 {
                state = state.wrapping_mul(0x9E37_79B9_7F4A_7C15) ^ (state >> 29);
            }
            black_box(state);
        }
    };
    let (one, two) = ([*first], [*first, *second]);
    let rounds: Vec<_> = (0..ROUNDS * CALM_SHARE)
        .map(|_| [run(&one, &judge), run(&two, &judge), run(&one, &alu), run(&two, &alu)])
        .collect();
    let ratio = |[judge_one, judge_two, one, two]: &[f64; 4]| judge_one / judge_two / (one / two);
    let ratio_of_all = median(rounds.iter().map(ratio).collect());
    let rounds = calmest(rounds, |round: &[f64; 4]| round.iter().sum());
    let over_rounds = |figure: fn(&[f64; 4]) -> f64| median(rounds.iter().map(figure).collect());
    Some(Scaling {
        judge: over_rounds(|[one, two, ..]| 2.0 * one / two),
        alu: over_rounds(|[.., one, two]| 2.0 * one / two),
        ratio: over_rounds(ratio),
        ratio_of_all,
    })
}

/// Seconds until every thread, each on its core, has done the same work.
fn run<W: FnMut()>(cores: &[core_affinity::CoreId], work: &(impl Fn() -> W + Sync)) -> f64 {
    let barrier = Barrier::new(cores.len());
    std::thread::scope(|scope| {
        let threads: Vec<_> = cores
            .iter()
            .map(|core| {
                let barrier = &barrier;
                scope.spawn(move || {
                    core_affinity::set_for_current(*core);
                    let mut work = work();
                    work();
                    barrier.wait();
                    let started = Instant::now();
                    for _ in 0..PASSES {
                        work();
                    }
                    started.elapsed().as_secs_f64()
                })
            })
            .collect();
        threads.into_iter().filter_map(|thread| thread.join().ok()).fold(0.0, f64::max)
    })
}
