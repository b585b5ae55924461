//! The pipeline with sources and sinks made for the occasion: panics, failures, order, and the budget.

use std::sync::Mutex;

use bytes::Bytes;

use super::batch::{Batch, Partition, Payloads};
use super::*;
use crate::clock::Clock;
use crate::config::Config;
use crate::files::{Block, FileIndex, Span};
use crate::formats::Binding;
use crate::judge::{Payload, Rules};

/// A record that makes the worker panic, in tests only: nothing that a record contains may do so.
const PANIC: &[u8] = b"\"panic, please\"";

pub(super) fn panic_on_request(payload: Payload<'_>) {
    assert!(!matches!(payload, Payload::Bytes(PANIC)), "a record asked for it");
}

/// Gives so many batches of one record each; record `panic_at` makes its worker panic.
struct Numbers {
    next: u64,
    end: u64,
    panic_at: Option<u64>,
    fail_at: Option<u64>,
}

impl Source for Numbers {
    fn read(&mut self) -> Result<Read, SourceError> {
        if self.fail_at == Some(self.next) {
            return Err(crate::kafka::KafkaError::Closed.into());
        }
        if self.next == self.end {
            return Ok(Read::End);
        }
        let text = if self.panic_at == Some(self.next) {
            PANIC.to_vec()
        } else {
            self.next.to_string().into_bytes()
        };
        let span = Span { start: 0, len: text.len() as u32, line: self.next, oversized: None };
        let block = Block {
            file: FileIndex(0),
            first_record: self.next,
            bytes: Bytes::from(text),
            spans: vec![span],
        };
        self.next += 1;
        Ok(Read::Intake(Intake {
            partition: Partition(0),
            epoch: 0,
            binding: Binding::Auto,
            key: None,
            bytes: block.bytes.len() as u64,
            payloads: Payloads::Block(block),
            clock: Clock::Wall,
        }))
    }
}

/// Keeps the line numbers that it was given; panics or fails at one of them.
struct Keep<'a> {
    lines: &'a Mutex<Vec<u64>>,
    panic_at: Option<u64>,
    fail_at: Option<u64>,
    finished: &'a Mutex<bool>,
}

impl Sink for Keep<'_> {
    fn write(&mut self, batch: Batch, _: &Stop, receipts: &mut Vec<Receipt>) -> Result<(), SinkError> {
        let Payloads::Block(block) = &batch.payloads else { unreachable!() };
        let line = block.spans[0].line;
        assert!(self.panic_at != Some(line), "the sink panics");
        if self.fail_at == Some(line) {
            return Err(crate::kafka::KafkaError::Closed.into());
        }
        self.lines.lock().unwrap().push(line);
        receipts.push(Receipt::of(&batch));
        Ok(())
    }

    fn tend(&mut self, _: &Stop, _: &mut Vec<Receipt>) -> Result<(), SinkError> {
        Ok(())
    }

    fn tend_every(&self) -> Duration {
        Duration::from_millis(10)
    }

    fn finish(&mut self, _: &Stop, _: &mut Vec<Receipt>) -> Result<(), SinkError> {
        *self.finished.lock().unwrap() = true;
        Ok(())
    }
}

#[derive(Default)]
struct Trouble {
    source: Option<u64>,
    worker: Option<u64>,
    sink: Option<u64>,
    failure: Option<u64>,
}

/// Runs 10,000 batches on 4 workers with trouble at some record: the outcome, what was written, whether it finished.
fn run_with(trouble: &Trouble) -> (Result<Summary, PipelineError>, Vec<u64>, bool) {
    let mut config = Config::default();
    config.pipeline.workers = 4;
    config.pipeline.inflight_records_max = 64;
    config.pipeline.batch_records_max = 1;
    let (stop, meters, lines, finished) =
        (Stop::default(), Meters::default(), Mutex::default(), Mutex::default());
    let settings = crate::state::Settings::of(&config);
    let rules = Editions::new(Arc::new(Rules::compile(&config).unwrap()), settings.clone(), None);
    let state = Mutex::new(State::new(settings).unwrap());
    let setup =
        Setup { rules: &rules, state: &state, pipeline: &config.pipeline, stop: &stop, meters: &meters };
    let source = Numbers { next: 0, end: 10_000, panic_at: trouble.worker, fail_at: trouble.source };
    let sink = Keep { lines: &lines, panic_at: trouble.sink, fail_at: trouble.failure, finished: &finished };
    let outcome = run(&setup, source, sink, |_| {});
    let written = lines.into_inner().unwrap();
    assert!(written.iter().copied().eq(0..written.len() as u64), "in order, without a gap");
    (outcome, written, finished.into_inner().unwrap())
}

#[test]
fn batches_come_out_in_order() {
    let (outcome, written, finished) = run_with(&Trouble::default());
    let summary = outcome.unwrap();
    assert_eq!((summary.tally.records, written.len(), finished), (10_000, 10_000, true));
    assert_eq!(summary.histograms.stage(crate::histograms::Stage::EndToEnd).unwrap().len(), 10_000);
}

#[test]
fn a_worker_that_panics_ends_the_run_and_nothing_behind_it_is_committed() {
    let (outcome, written, finished) = run_with(&Trouble { worker: Some(5_000), ..Trouble::default() });
    let error = outcome.err().unwrap().to_string();
    assert!(error.contains("worker-") && error.contains("a record asked for it"), "{error}");
    assert!(written.len() <= 5_000, "nothing behind the gap was written: {}", written.len());
    assert!(!finished, "nothing was committed after the panic");
}

#[test]
fn a_source_that_fails_ends_the_run_after_what_it_gave_is_done() {
    let (outcome, written, finished) = run_with(&Trouble { source: Some(3_000), ..Trouble::default() });
    assert!(matches!(outcome, Err(PipelineError::Source(_))));
    assert_eq!((written.len(), finished), (3_000, true));
}

#[test]
fn a_sink_that_panics_or_fails_ends_the_run() {
    let (outcome, written, finished) = run_with(&Trouble { sink: Some(777), ..Trouble::default() });
    assert!(matches!(outcome, Err(PipelineError::Panicked { .. })));
    assert_eq!((written.len(), finished), (777, false));
    let (outcome, written, finished) = run_with(&Trouble { failure: Some(888), ..Trouble::default() });
    assert!(matches!(outcome, Err(PipelineError::Sink(_))));
    assert_eq!((written.len(), finished), (888, false));
}
