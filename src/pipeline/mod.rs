//! RECIPE 1: how a batch goes through.
//!
//! ```text
//!  reader ──batches──► workers, pinned, N ──► gate, in the reader's order ──► writer ──► commit
//!  files | kafka       judge each record      window, ledger, count, route    accepted | rejected
//! ```
//!
//! [`run`] starts one thread per stage and waits for them. Every queue is bounded, and the [`budget`] bounds records
//! and bytes between reader and commit, so a slow sink makes the reader wait and memory stays flat. A stage that
//! fails or panics stops the others; what was committed stays, and nothing behind it is lost.

pub mod batch;
pub mod budget;
pub mod edition;
pub mod file_ends;
mod gate;
mod grouping;
pub mod kafka_ends;
pub mod meters;
pub mod news;
mod reader;
pub mod route;
pub mod sample;
pub mod shadow;
mod stdin;
pub mod stop;
mod tally;
mod threads;
pub mod trace;
mod worker;
mod writer;

use std::sync::{Arc, Mutex, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use crossbeam::channel::{bounded, unbounded};

pub use edition::{Edition, Editions};
pub use meters::Meters;
pub use reader::{Intake, Read, Source, SourceError};
pub use tally::Tally;
pub use worker::workers;
pub use writer::{Receipt, Sink, SinkError, Wants};

use crate::config;
use crate::histograms::{Collector, Histograms};
use crate::state::{Notes, State, StateError};
use budget::Budget;
use stop::Stop;
use threads::{join, stage, watch};

/// LIMIT: batches that wait in front of each worker.
const QUEUED_BATCHES_PER_WORKER: usize = 2;
/// LIMIT: batches that wait for the writer, so that the gate can go on while a transaction commits.
const QUEUED_BATCHES_FOR_WRITER: usize = 256;
/// LIMIT: changes of restored state that wait for the gate.
const QUEUED_RESTORED: usize = 16;

/// Why a run ended early.
#[derive(Debug, thiserror::Error)]
pub enum PipelineError {
    /// The source failed.
    #[error("reading")]
    Source(#[from] SourceError),
    /// The sink failed.
    #[error("writing")]
    Sink(#[from] SinkError),
    /// The replay window is full, and set to stop.
    #[error(
        "the replay window is full: raise `window.memory_bytes_max`, or set `window.on_full` to \"evict_oldest\" or \"reject\""
    )]
    WindowFull,
    /// State that was written down cannot be taken back in.
    #[error("restoring state from the journal")]
    State(#[from] StateError),
    /// A thread panicked: a bug of ours.
    #[error(
        "the {thread} thread panicked: {message}; this is a bug, and nothing past the last commit was lost"
    )]
    Panicked {
        /// Which one.
        thread: String,
        /// What it said.
        message: String,
    },
    /// The stop deadline passed with records still in flight.
    #[error(
        "stopped with {records} records still in flight after the deadline of {deadline_ms} ms; they will be read again"
    )]
    Deadline {
        /// How many.
        records: u64,
        /// The configured deadline.
        deadline_ms: u32,
    },
}

/// What a run did.
pub struct Summary {
    /// Counts by verdict.
    pub tally: Tally,
    /// What the window and the ledger have to tell.
    pub notes: Notes,
    /// Wall time from the first read to the last commit.
    pub elapsed: Duration,
    /// Latency of every stage over the whole run.
    pub histograms: Histograms,
}

/// What a run needs besides its source and sink.
pub struct Setup<'a> {
    /// The rules that batches are judged by; each keeps those that were current when it was read.
    pub rules: &'a Editions,
    /// What was seen before; the gate has it while the run lasts.
    pub state: &'a Mutex<State>,
    /// Threads and queues.
    pub pipeline: &'a config::Pipeline,
    /// Asks the run to stop, from a signal or another thread.
    pub stop: &'a Stop,
    /// Progress for whoever watches.
    pub meters: &'a Meters,
}

/// Runs the pipeline until the source ends or a stop is asked for. `each_interval` gets the histograms of every
/// second or so, for logs.
pub fn run<S: Source, K: Sink>(
    setup: &Setup<'_>,
    mut source: S,
    mut sink: K,
    mut each_interval: impl FnMut(&Histograms),
) -> Result<Summary, PipelineError> {
    let Setup { rules, state, pipeline, stop, meters } = setup;
    let cores = worker::cores(pipeline);
    let budget = &Arc::new(Budget::new(pipeline.inflight_records_max, pipeline.inflight_bytes_max));
    let (mut collector, started) = (Collector::default(), Instant::now());
    let (mut given_up, mut shadow) = (0, shadow::Shadow::default());

    // LIMIT: one number for each batch that the budget lets be in flight.
    let (to_news, news) = unbounded();
    let (to_restored, restored) = bounded(QUEUED_RESTORED);
    source.attach(&to_restored);
    sink.attach(&to_news);
    let (has_journal, wants) = (sink.keeps_journal(), &sink.wants());
    let mut state = state.lock().unwrap_or_else(PoisonError::into_inner);
    let (seen, tried) = (&mut *state, &mut shadow);
    let outcome = thread::scope(|scope| {
        let (to_workers, from_reader) = bounded(cores.len() * QUEUED_BATCHES_PER_WORKER);
        let (to_gate, from_workers) = bounded(cores.len() * QUEUED_BATCHES_PER_WORKER);
        let (to_writer, from_gate) = bounded(QUEUED_BATCHES_FOR_WRITER);
        let (heard, to_news) = (gate::Heard { news: &news, restored: &restored }, &to_news);

        let reader = stage(scope, stop, "reader", move || {
            Ok(reader::run(source, rules, budget, stop, &to_workers).inspect_err(|_| stop.ask()))
        });
        let workers: Vec<_> = (cores.iter().enumerate())
            .map(|(number, core)| {
                let (from_reader, to_gate, recorder) =
                    (from_reader.clone(), to_gate.clone(), collector.recorder());
                stage(scope, stop, &format!("worker-{number}"), move || {
                    worker::run(*core, &from_reader, &to_gate, recorder, wants);
                    Ok(())
                })
            })
            .collect();
        drop((from_reader, to_gate));
        let recorder = collector.recorder();
        let gate = stage(scope, stop, "gate", move || {
            gate::run(&from_workers, &to_writer, heard, (seen, tried, has_journal), recorder, meters)
        });
        let (recorder, (runs, writer_ended)) = (collector.recorder(), bounded(0));
        let writer = stage(scope, stop, "writer", move || {
            let _runs = runs;
            Ok(writer::run(sink, &from_gate, to_news, (recorder, meters), stop)?)
        });

        let tick = || {
            meters.note_inflight(budget.used());
            each_interval(&collector.interval());
        };
        given_up = watch(pipeline, stop, budget, &writer_ended, tick);
        let mut ended = [join(reader).and_then(|ended| Ok(ended?)), join(writer)]
            .into_iter()
            .chain(workers.into_iter().map(join));
        let first_error = ended.find_map(Result::err);
        join(gate).and_then(|tally| first_error.map_or(Ok(tally), Err))
    });
    each_interval(&collector.interval());
    gate::hear(&news, (&mut state, &mut shadow, &mut 0), meters);
    let tally = outcome?;
    if stop.is_abandoned() {
        return Err(PipelineError::Deadline { records: given_up, deadline_ms: pipeline.stop_deadline_ms });
    }
    let mut histograms = Histograms::default();
    histograms.merge(collector.total());
    Ok(Summary { tally, notes: state.notes(), elapsed: started.elapsed(), histograms })
}

#[cfg(test)]
mod tests;
