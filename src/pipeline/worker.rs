//! A worker: judges the records of any batch, pinned to a core.

use std::num::NonZeroUsize;
use std::time::Instant;

use core_affinity::CoreId;
use crossbeam::channel::{Receiver, Sender};
use twox_hash::XxHash3_128;

use crate::config;
use crate::formats::Asked;
use crate::formats::labels::Labels;
use crate::histograms::{Recorder, Stage};
use crate::judge::{Input, Judge, NoWatch, Payload, StageWatch};

use super::batch::{Batch, Outcome};
use super::grouping::Grouping;
use super::shadow::SecondJudge;
use super::writer::Wants;

/// PERF: a clock reading per stage is tens of nanoseconds beside a judge of one or two microseconds (an estimate, not
/// measured); one record in this many is timed for all.
const TIMED_ONE_IN: usize = 16;

/// The core of each worker; `None` where it is not pinned. Only cores of the process's cpuset are used.
pub(super) fn cores(pipeline: &config::Pipeline) -> Vec<Option<CoreId>> {
    let available = std::thread::available_parallelism().map_or(1, NonZeroUsize::get);
    let workers = if pipeline.workers == 0 { available } else { usize::from(pipeline.workers) };
    let cores = if pipeline.pin { core_affinity::get_core_ids().unwrap_or_default() } else { Vec::new() };
    (0..workers).map(|worker| cores.get(worker % cores.len().max(1)).copied()).collect()
}

/// How many workers a run has.
#[must_use]
pub fn workers(pipeline: &config::Pipeline) -> usize {
    cores(pipeline).len()
}

/// Judges until the reader has ended.
pub(super) fn run(
    core: Option<CoreId>,
    from_reader: &Receiver<Batch>,
    to_gate: &Sender<Batch>,
    mut recorder: Recorder,
    wants: &Wants,
) {
    if let Some(core) = core {
        // A core that was taken from the cpuset since is no reason to stop.
        core_affinity::set_for_current(core);
    }
    let mut judge: Option<(u64, Judge)> = None;
    let (mut grouping, mut second) = (Grouping::default(), None);
    for mut batch in from_reader {
        let started = Instant::now();
        recorder.record(Stage::Queue, started - batch.since, batch.payloads.len() as u64);
        // A judge's memory is made for its rules.
        let edition = batch.rules.number;
        judge.take_if(|(of, _)| *of != edition);
        let (_, judge) = judge.get_or_insert_with(|| {
            let mut judge = Judge::new(&batch.rules);
            let sequences = batch.rules.settings.sequences();
            judge.make_facts_for(Asked { names: wants.names.clone(), sequences });
            if let Some(seed) = wants.label_seed {
                judge.make_labels(&batch.rules, seed);
            }
            (edition, judge)
        });
        if wants.label_seed.is_some() {
            batch.labels.resize(batch.payloads.len(), Labels::default());
        }
        judge_batch(judge, &mut batch, &mut grouping, &mut recorder);
        SecondJudge::run(&mut second, &mut batch);
        let now = Instant::now();
        batch.since = now;
        batch.trace.judged(started, now);
        recorder.tick(now);
        if to_gate.send(batch).is_err() {
            break;
        }
    }
}

fn judge_batch(judge: &mut Judge, batch: &mut Batch, grouping: &mut Grouping, recorder: &mut Recorder) {
    let Batch { rules, binding, payloads, key, outcomes, facts, labels, pointers, number, now, .. } = batch;
    let mut payload_bytes = 0;
    // The timed ones move from batch to batch, so that no position is favoured.
    let timed = *number as usize % TIMED_ONE_IN;
    grouping.arrange(payloads);
    outcomes.resize(payloads.len(), Outcome::NONE);
    for turn in 0..payloads.len() {
        let (Some(index), next) = (grouping.record(turn), grouping.record(turn + 1)) else { break };
        if let Some(next) = next {
            payloads.expect(next);
        }
        let payload = payloads.payload(index);
        if let Payload::Bytes(bytes) = payload {
            payload_bytes += bytes.len() as u64;
        }
        let from = pointers.len() as u32;
        let input = Input { payload, key: payloads.key(index).or(key.as_deref()), now: *now };
        let headers = payloads.headers(index);
        let verdict = if index % TIMED_ONE_IN == timed {
            let watch = &mut StageWatch::start(recorder, TIMED_ONE_IN as u64);
            judge.judge_with_headers(rules, *binding, input, headers, pointers, watch)
        } else {
            judge.judge_with_headers(rules, *binding, input, headers, pointers, &mut NoWatch)
        };
        #[cfg(test)]
        super::tests::panic_on_request(payload);
        if let Some(facts) = judge.facts().filter(|_| verdict.is_accept()) {
            grouping.keep(index, facts);
        }
        if let Some(labels) = labels.get_mut(index) {
            let content = match payload {
                Payload::Bytes(bytes) => XxHash3_128::oneshot(bytes),
                Payload::Tombstone | Payload::Oversized => 0,
            };
            *labels = Labels { content, holds: verdict.is_accept(), ..*judge.labels() };
        }
        if let Some(outcome) = outcomes.get_mut(index) {
            *outcome = Outcome { verdict, pointer: (from, pointers.len() as u32) };
        }
    }
    grouping.give(facts);
    batch.payload_bytes = payload_bytes;
}
