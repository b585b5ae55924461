//! Candidate rules beside the live ones: judged by the same workers, remembered in a window of their own, and compared
//! at the gate.
//!
//! They decide nothing: outputs, window and ledger of the live rules are untouched. Without a candidate, a batch
//! carries an empty option and no more. Which records would change is told completely and once, so the list is waited for,
//! and a batch's part of it is kept until the batch is committed: one that comes again is compared again.

use std::collections::VecDeque;
use std::sync::Arc;
use std::sync::atomic::Ordering;

use crossbeam::channel::Sender;

use crate::formats::{Asked, Facts};
use crate::judge::{Input, Judge, NoWatch};
use crate::state::{Origin, State};
use crate::verdict::{FormatId, Reason};

use super::batch::{Batch, Outcome, Partition};
use super::edition::{Candidate, Edition};
use super::gate::decide;
use super::meters::Meters;

/// What the candidate decided about a batch.
pub struct Judged {
    outcomes: Vec<Outcome>,
    facts: Vec<Facts>,
    pointers: Vec<u8>,
}

/// A record that the candidate would give another verdict.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ShadowChange {
    /// Its partition, as the source numbers it.
    pub partition: Partition,
    /// Its offset, or its line in a file.
    pub place: u64,
    /// Its format, as either of the two sees it.
    pub format: Option<FormatId>,
    /// Why the live rules reject it; `None` if they accept it.
    pub live: Option<Reason>,
    /// Why the candidate would reject it.
    pub candidate: Option<Reason>,
    /// Where it fails: by the candidate if that rejects it, else by the live rules.
    pub pointer: String,
}

/// What a candidate would change of one batch.
pub struct ShadowChanges {
    /// The candidate that the batch was judged by, which a reload may have taken away since.
    pub of: Arc<Candidate>,
    /// The records, in order.
    pub records: Vec<ShadowChange>,
}

/// A worker's judge of candidate rules.
pub(super) struct SecondJudge {
    of: Arc<Candidate>,
    judge: Judge,
}

impl SecondJudge {
    /// Judges a batch by its edition's candidate, if it has one.
    pub(super) fn run(kept: &mut Option<Self>, batch: &mut Batch) {
        let Some(candidate) = &batch.rules.candidate else { return };
        if kept.as_ref().is_none_or(|kept| !Arc::ptr_eq(&kept.of, candidate)) {
            let mut judge = Judge::new(&candidate.rules);
            let sequences = candidate.settings.sequences();
            judge.make_facts_for(Asked { sequences, ..Asked::default() });
            *kept = Some(Self { of: Arc::clone(candidate), judge });
        }
        let Some(Self { judge, .. }) = kept else { return };
        let count = batch.payloads.len();
        let mut judged =
            Judged { outcomes: Vec::with_capacity(count), facts: Vec::new(), pointers: Vec::new() };
        for index in 0..count {
            let key = batch.payloads.key(index).or(batch.key.as_deref());
            let input = Input { payload: batch.payloads.payload(index), key, now: batch.now };
            let from = judged.pointers.len() as u32;
            let (headers, pointers) = (batch.payloads.headers(index), &mut judged.pointers);
            let (rules, binding) = (&candidate.rules, batch.binding);
            let verdict = judge.judge_with_headers(rules, binding, input, headers, pointers, &mut NoWatch);
            judged.facts.extend(judge.facts().filter(|_| verdict.is_accept()));
            judged.outcomes.push(Outcome { verdict, pointer: (from, judged.pointers.len() as u32) });
        }
        batch.judged = Some(Box::new(judged));
    }
}

/// What was compared of a batch that is not committed yet.
struct Compared {
    batch: u64,
    origin: Origin,
    records: u64,
    changes: ShadowChanges,
}

/// The gate's side: the candidate's own memory.
#[derive(Default)]
pub(super) struct Shadow {
    state: Option<State>,
    edition: u64,
    /// In the reader's order. LIMIT: as many as there are open batches.
    compared: VecDeque<Compared>,
}

impl Shadow {
    /// Decides and compares a batch; `live` is what the live rules remembered before it.
    pub(super) fn prepare(&mut self, edition: &Edition, live: &State) {
        let Some(candidate) = &edition.candidate else {
            self.state = None;
            return;
        };
        if let Some(state) = &mut self.state {
            if self.edition != edition.number {
                state.adopt(candidate.settings.clone());
            }
        } else {
            // Both begin with the same memory, or the candidate would miss every repetition from before.
            self.state = live
                .copy(candidate.settings.clone())
                .inspect_err(|error| tracing::warn!("the candidate is not compared: {error}"))
                .ok();
        }
        self.edition = edition.number;
    }

    /// Compares a batch that both have decided about.
    pub(super) fn compare(&mut self, batch: &mut Batch) {
        let (Some(state), Some(mut judged)) = (&mut self.state, batch.judged.take()) else { return };
        let Some(of) = batch.rules.candidate.clone() else { return };
        if decide(state, batch, &mut judged.outcomes, &judged.facts).is_err() {
            tracing::warn!("the candidate's window is full: it is compared no further");
            self.state = None;
            return;
        }
        let mut changes = Vec::new();
        for (index, (live, candidate)) in batch.outcomes.iter().zip(&judged.outcomes).enumerate() {
            if live.verdict.reason == candidate.verdict.reason {
                continue;
            }
            let (from, to) = (candidate.pointer.0 as usize, candidate.pointer.1 as usize);
            let pointer = match candidate.verdict.reason {
                Some(_) => judged.pointers.get(from..to).unwrap_or_default(),
                None => batch.pointer(*live),
            };
            changes.push(ShadowChange {
                partition: batch.partition,
                place: batch.payloads.place(index),
                format: live.verdict.format.or(candidate.verdict.format),
                live: live.verdict.reason,
                candidate: candidate.verdict.reason,
                pointer: String::from_utf8_lossy(pointer).into_owned(),
            });
        }
        let origin =
            Origin { partition: batch.partition.0, epoch: batch.epoch, offsets: batch.payloads.offsets() };
        let records = batch.outcomes.len() as u64;
        let changes = ShadowChanges { of, records: changes };
        self.compared.push_back(Compared { batch: batch.number, origin, records, changes });
    }

    /// A batch is committed: what the candidate would change of it is told.
    pub(super) fn commit(&mut self, batch: u64, meters: &Meters) {
        self.each(|state| state.commit(batch));
        if let Some(at) = self.compared.iter().position(|compared| compared.batch == batch) {
            tell(self.compared.remove(at), meters);
        }
    }

    /// Everything that is not committed will come again.
    pub(super) fn undo_all(&mut self) {
        self.each(State::undo_all);
        self.compared.clear();
    }

    /// A partition is read anew from `offset` on: what ends before is committed, the rest of it comes again.
    pub(super) fn reread(&mut self, partition: u64, epoch: u32, offset: i64, meters: &Meters) {
        self.each(|state| state.reread(partition, epoch, offset));
        let earlier = |it: &Compared| it.origin.partition == partition && it.origin.epoch < epoch;
        let done = |it: &Compared| earlier(it) && it.origin.offsets.end <= offset;
        while let Some(at) = self.compared.iter().position(done) {
            tell(self.compared.remove(at), meters);
        }
        self.compared.retain(|it| !earlier(it));
    }

    /// Does to the candidate's memory what was done to the live one.
    pub(super) fn each(&mut self, change: impl FnOnce(&mut State)) {
        if let Some(state) = &mut self.state {
            change(state);
        }
    }
}

/// Tells what the candidate would change of a batch that is committed.
fn tell(compared: Option<Compared>, meters: &Meters) {
    let Some(Compared { records, changes, .. }) = compared else { return };
    meters.shadow_records.fetch_add(records, Ordering::Relaxed);
    if let Some(to) = meters.shadow.as_ref().filter(|_| !changes.records.is_empty()) {
        // Whoever gathers them may have ended before the run.
        let _ = to.send(Some(changes));
    }
}

/// Where changes go, batch by batch. Nothing instead of a batch wakes whoever gathers them.
pub type ShadowSender = Sender<Option<ShadowChanges>>;
