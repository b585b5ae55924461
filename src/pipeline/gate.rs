//! The gate: the one thread that decides in order.
//!
//! It takes batches back in the reader's order, drops those of an older epoch, asks the replay window and the ledger
//! about every record that holds, and counts. Both must see records in order, so this is one thread; what they remember
//! of a batch is tentative until the writer says that the batch is committed.

use std::collections::{BTreeMap, HashMap};
use std::sync::atomic::Ordering;
use std::time::Instant;

use crossbeam::channel::{Receiver, Sender};
use crossbeam::select;

use crate::clock;
use crate::formats::Facts;
use crate::histograms::{Recorder, Stage};
use crate::state::{Origin, State};
use crate::tape::NodeIndex;
use crate::verdict::{Reason, Verdict};

use super::PipelineError;
use super::batch::{Batch, Outcome, Partition, Told};
use super::edition::Edition;
use super::meters::{Meters, RuleChange};
use super::news::{News, Restored};
use super::sample::Allowance;
use super::shadow::Shadow;
use super::tally::Tally;

/// So many records are decided about after what is known of them was fetched from memory together.
const EXPECTED: usize = 32;

/// What the gate hears besides batches.
#[derive(Clone, Copy)]
pub(super) struct Heard<'a> {
    /// What became of batches that passed.
    pub(super) news: &'a Receiver<News>,
    /// State that an earlier owner of a partition wrote down.
    pub(super) restored: &'a Receiver<Restored>,
}

/// The gate's own account.
#[derive(Default)]
struct Order {
    epochs: HashMap<Partition, u32>,
    /// LIMIT: as many batches as the budget lets be in flight.
    early: BTreeMap<u64, Batch>,
    next: u64,
    /// Batches of an earlier turn come again.
    turn: u32,
}

/// Passes batches on in order until the workers have ended. Where a journal is kept, each batch gets what it changed.
pub(super) fn run(
    from_workers: &Receiver<Batch>,
    to_writer: &Sender<Batch>,
    heard: Heard<'_>,
    (state, shadow, has_journal): (&mut State, &mut Shadow, bool),
    mut recorder: Recorder,
    meters: &Meters,
) -> Result<Tally, PipelineError> {
    let mut tally = Tally::default();
    let (mut order, mut editions) = (Order::default(), Followed::default());
    let mut allowance = Allowance::default();
    loop {
        let received = select! {
            recv(from_workers) -> batch => batch,
            recv(heard.news) -> news => {
                settle(news.ok(), (state, shadow, &mut order.turn), meters);
                continue;
            }
            recv(heard.restored) -> changes => {
                hear(heard.news, (state, shadow, &mut order.turn), meters);
                if let Ok(changes) = changes {
                    restore(&changes, state, shadow)?;
                }
                continue;
            }
        };
        let Ok(batch) = received else { return Ok(tally) };
        order.early.insert(batch.number, batch);
        while let Some(mut batch) = order.early.remove(&order.next) {
            order.next += 1;
            // State was restored before the first record of its partition was read, so it is here.
            for changes in heard.restored.try_iter() {
                restore(&changes, state, shadow)?;
            }
            hear(heard.news, (state, shadow, &mut order.turn), meters);
            if batch.turn() < order.turn {
                continue;
            }
            match epoch_of(&mut order.epochs, batch.partition, batch.epoch) {
                Epoch::Older => continue,
                // What the partition had in flight and was not committed is read again.
                Epoch::Newer => {
                    let from = batch.payloads.offsets().start;
                    state.reread(batch.partition.0, batch.epoch, from);
                    shadow.reread(batch.partition.0, batch.epoch, from, meters);
                }
                Epoch::Same => {}
            }
            let began = Instant::now();
            editions.follow(&batch, state, shadow, meters);
            let mut outcomes = std::mem::take(&mut batch.outcomes);
            decide(state, &batch, &mut outcomes, &batch.facts)?;
            batch.outcomes = outcomes;
            batch.told = has_journal.then(|| tell(&mut batch, state));
            shadow.compare(&mut batch);
            count(&batch, &mut tally, meters);
            meters.spans.note(&mut batch);
            meters.note_state(state);
            let now = Instant::now();
            if let Some(sampler) = &meters.sampler {
                sampler.take(&batch, &mut allowance, now);
            }
            meters.gate_busy_ns.fetch_add((now - began).as_nanos() as u64, Ordering::Relaxed);
            recorder.record(Stage::Gate, now - batch.since, batch.payloads.len() as u64);
            batch.since = now;
            recorder.tick(now);
            if to_writer.send(batch).is_err() {
                return Ok(tally);
            }
        }
    }
}

/// The live memory, the candidate's, and the turn.
type Memory<'a> = (&'a mut State, &'a mut Shadow, &'a mut u32);

/// Takes in all that became of earlier batches.
pub(super) fn hear(news: &Receiver<News>, (state, shadow, turn): Memory<'_>, meters: &Meters) {
    for news in news.try_iter() {
        settle(Some(news), (state, shadow, turn), meters);
    }
}

fn settle(news: Option<News>, (state, shadow, turn): Memory<'_>, meters: &Meters) {
    match news {
        Some(News::Committed(batch)) => {
            state.commit(batch);
            shadow.commit(batch, meters);
        }
        Some(News::Aborted(new)) => {
            state.undo_all();
            shadow.undo_all();
            *turn = new;
        }
        Some(News::Left(partition)) => {
            state.leave(partition);
            shadow.each(|state| state.leave(partition));
        }
        None => {}
    }
}

fn restore(changes: &Restored, state: &mut State, shadow: &mut Shadow) -> Result<(), PipelineError> {
    let (source, range) = (changes.source, (changes.first, changes.before));
    // What the live rules remembered, the candidate would have: it has no journal of its own.
    shadow.each(|state| {
        let _ = state.restore_body(source, changes.version, &changes.body, range);
    });
    Ok(state.restore_body(source, changes.version, &changes.body, range)?)
}

/// What a batch changed, for the journal.
fn tell(batch: &mut Batch, state: &State) -> Told {
    let body = state.body_into(std::mem::take(&mut batch.body), batch.number).unwrap_or_default();
    let records = batch.payloads.len();
    Told {
        body: body.bytes,
        expiry_max: body.expiry_max,
        dead: state.window().dead(),
        first: batch.payloads.offset(0),
        next: batch.payloads.offset(records.saturating_sub(1)) + 1,
    }
}

/// A batch's epoch, compared with the newest of its partition.
enum Epoch {
    Older,
    Same,
    Newer,
}

/// Batches arrive here in the order in which they were read.
fn epoch_of(epochs: &mut HashMap<Partition, u32>, partition: Partition, epoch: u32) -> Epoch {
    let newest = epochs.entry(partition).or_insert(epoch);
    let known = std::mem::replace(newest, epoch.max(*newest));
    match epoch.cmp(&known) {
        std::cmp::Ordering::Less => Epoch::Older,
        std::cmp::Ordering::Equal => Epoch::Same,
        std::cmp::Ordering::Greater => Epoch::Newer,
    }
}

/// Which edition of the rules each partition's last batch had, and the place from which on it holds, if another held before.
#[derive(Default)]
struct Followed {
    newest: Option<u64>,
    of_partition: HashMap<Partition, (u64, Option<u64>)>,
}

impl Followed {
    /// Goes over to a batch's edition, and notes where its partition did. Editions only rise, in the reader's order.
    fn follow(&mut self, batch: &Batch, state: &mut State, shadow: &mut Shadow, meters: &Meters) {
        let edition: &Edition = &batch.rules;
        shadow.prepare(edition, state);
        let (partition, place) = (batch.partition, batch.payloads.place(0));
        if self.is_change(partition, edition.number, place) {
            tracing::info!(rules = edition.hash(), partition = partition.0, place, "rules changed");
            let hash = edition.hash().to_owned();
            meters.note_change(RuleChange { edition: edition.number, hash, partition, place });
        }
        if self.newest.is_none_or(|newest| edition.number > newest) {
            self.newest = Some(edition.number);
            state.adopt(edition.settings.clone());
        }
    }

    /// Whether an edition holds from this place on, as far as is known now.
    fn is_change(&mut self, partition: Partition, edition: u64, place: u64) -> bool {
        let (known, from) = self.of_partition.entry(partition).or_insert((edition, None));
        // What comes again after an abort is judged by the newest rules: then they hold from further back.
        let is_change = *known != edition || from.is_some_and(|from| place < from);
        if is_change {
            (*known, *from) = (edition, Some(place));
        }
        is_change
    }
}

/// Asks what was seen before about every record that holds: window, then ledger.
pub(super) fn decide(
    state: &mut State,
    batch: &Batch,
    outcomes: &mut [Outcome],
    facts: &[Facts],
) -> Result<(), PipelineError> {
    let (partition, epoch, offsets) = (batch.partition.0, batch.epoch, batch.payloads.offsets());
    let first = offsets.start;
    // PERF: where no offset is left out, a record's place tells its offset, and the gate need not look at messages.
    let is_dense = offsets.end - first == outcomes.len() as i64;
    state.begin(batch.number, Origin { partition, epoch, offsets });
    let undeliverable = batch.undeliverable();
    // What the broker will compare with, or nearly so; the time that records are judged by may be long past.
    let now_ms = clock::wall().micros() / 1000;
    let are_taken = undeliverable.is_empty() && batch.payloads.are_taken(now_ms);
    let mut facts = facts.iter();
    let mut expected = 0;
    for (place, outcome) in outcomes.iter_mut().enumerate() {
        if expected == 0 && facts.len() > 0 {
            let next = facts.as_slice();
            expected = next.len().min(EXPECTED);
            state.expect(next.get(..expected).unwrap_or_default());
        }
        let facts = if outcome.verdict.is_accept() { facts.next() } else { None };
        expected -= usize::from(facts.is_some());
        let is_accept = outcome.verdict.is_accept();
        if !are_taken
            && (undeliverable.iter().any(|refused| *refused as usize == place)
                || batch.payloads.is_refused(place, is_accept, now_ms))
        {
            outcome.verdict = Verdict::reject(Reason::Undeliverable, outcome.verdict.format, NodeIndex(0));
            continue;
        }
        let Some(facts) = facts else { continue };
        let distance = if is_dense { place as i64 } else { batch.payloads.offset(place) - first };
        state.at(u32::try_from(distance).unwrap_or(u32::MAX));
        let ruling = state.decide(facts).map_err(|_| PipelineError::WindowFull)?;
        let verdict = &mut outcome.verdict;
        *verdict = match ruling.reason {
            Some(reason) => Verdict::reject(reason, verdict.format, NodeIndex(0)),
            None => Verdict { ignored: ruling.ignored, warned: ruling.warned.or(verdict.warned), ..*verdict },
        };
    }
    Ok(())
}

fn count(batch: &Batch, tally: &mut Tally, meters: &Meters) {
    let (rejected, unchecked, warned) = (tally.rejected(), tally.unchecked, tally.warned);
    tally.bytes += batch.payload_bytes;
    for outcome in &batch.outcomes {
        tally.count(outcome.verdict, 0);
        meters.count(outcome.verdict);
    }
    meters.add(batch.outcomes.len() as u64, batch.payload_bytes, tally.rejected() - rejected);
    meters.unchecked.fetch_add(tally.unchecked - unchecked, Ordering::Relaxed);
    meters.warned.fetch_add(tally.warned - warned, Ordering::Relaxed);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rules_change_where_the_first_record_is_that_they_decide_about() {
        let mut followed = Followed::default();
        let mut at = |edition, place| followed.is_change(Partition(3), edition, place);
        assert!(!at(0, 100) && !at(0, 50), "the first rules are no change");
        assert!(at(1, 200), "new rules");
        assert!(!at(1, 300) && !at(1, 200));
        assert!(at(1, 150), "read again after an abort, with the new rules from here on");
        assert!(!at(1, 160) && at(2, 400));
        assert!(!followed.is_change(Partition(4), 2, 7), "a partition that was never judged otherwise");
    }
}
