//! The stages of the pipeline with sources and sinks that misbehave.

use std::io::Cursor;
use std::path::Path;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use tollgate::clock::Clock;
use tollgate::config::Config;
use tollgate::files::{Event, Input, ReadOptions, Reader};
use tollgate::formats::Binding;
use tollgate::judge::Rules;
use tollgate::pipeline::batch::{Batch, Partition, Payloads};
use tollgate::pipeline::stop::Stop;
use tollgate::pipeline::{
    self, Editions, Intake, Meters, PipelineError, Read, Receipt, Setup, Sink, SinkError, Source,
    SourceError, Summary,
};
use tollgate::state::{Settings, State};

/// LIMIT: no run of these tests may take longer.
const RUN_MAX: Duration = Duration::from_secs(10);
const RECORDS_PER_BATCH: u64 = 4;

/// Gives batches for ever, with a rising epoch where asked, and panics where asked.
struct Endless {
    given: u64,
    panic_at: u64,
    epoch: fn(u64) -> u32,
}

impl Endless {
    fn new() -> Self {
        Self { given: 0, panic_at: u64::MAX, epoch: |_| 0 }
    }
}

impl Source for Endless {
    fn read(&mut self) -> Result<Read, SourceError> {
        assert!(self.given < self.panic_at, "the source is broken");
        let number = self.given;
        self.given += 1;
        let line = format!("{{\"persona\":{number}}}\n").repeat(RECORDS_PER_BATCH as usize);
        let stdin = Box::new(Cursor::new(line.into_bytes()));
        let inputs = [Input::from_argument(Path::new("-"))];
        let mut reader = Reader::open_with_stdin(&inputs, &ReadOptions::default(), stdin).unwrap();
        let Some(Event::Block(block)) = reader.next() else { panic!("a block") };
        Ok(Read::Intake(Intake {
            key: None,
            partition: Partition(0),
            epoch: (self.epoch)(number),
            binding: Binding::Auto,
            bytes: block.bytes.len() as u64,
            payloads: Payloads::Block(block),
            clock: Clock::Wall,
        }))
    }
}

/// What a sink does with the batch of this number.
type Act = Box<dyn FnMut(&Batch) -> Result<(), SinkError> + Send>;

struct Custom(Act);

impl Sink for Custom {
    fn write(&mut self, batch: Batch, _: &Stop, _: &mut Vec<Receipt>) -> Result<(), SinkError> {
        (self.0)(&batch)
    }
    fn tend(&mut self, _: &Stop, _: &mut Vec<Receipt>) -> Result<(), SinkError> {
        Ok(())
    }
    fn tend_every(&self) -> Duration {
        Duration::from_millis(5)
    }
    fn finish(&mut self, _: &Stop, _: &mut Vec<Receipt>) -> Result<(), SinkError> {
        Ok(())
    }
}

fn run(stop: &Stop, source: Endless, act: Act) -> Result<Summary, PipelineError> {
    let mut config = Config::default();
    config.pipeline.workers = 3;
    config.pipeline.batch_records_max = 4;
    config.pipeline.inflight_records_max = 40;
    config.pipeline.stop_deadline_ms = 200;
    let rules = Arc::new(Rules::compile(&config).unwrap());
    let meters = Meters::default();
    let settings = Settings::of(&config);
    let state = Mutex::new(State::new(settings.clone()).unwrap());
    let rules = &Editions::new(rules, settings, None);
    let setup = Setup { rules, state: &state, pipeline: &config.pipeline, stop, meters: &meters };
    let started = Instant::now();
    let outcome = pipeline::run(&setup, source, Custom(act), |_| {});
    assert!(started.elapsed() < RUN_MAX, "{:?}", started.elapsed());
    outcome
}

#[test]
fn a_stop_that_takes_too_long_says_how_much_it_gave_up() {
    let stop = Arc::new(Stop::default());
    let asker = Arc::clone(&stop);
    let slow = Box::new(move |_: &Batch| {
        asker.ask();
        std::thread::sleep(Duration::from_millis(600));
        Ok(())
    });
    match run(&stop, Endless::new(), slow) {
        Err(PipelineError::Deadline { records, deadline_ms: 200 }) => {
            assert!((4..=40).contains(&records), "{records} records");
        }
        Err(other) => panic!("{other}"),
        Ok(_) => panic!("the deadline passed"),
    }
}

#[test]
fn a_panic_of_the_reader_or_the_writer_ends_the_run() {
    for (source, sink_panics, thread) in
        [(Endless { panic_at: 30, ..Endless::new() }, false, "reader"), (Endless::new(), true, "writer")]
    {
        let act = Box::new(move |batch: &Batch| {
            assert!(!sink_panics || batch.number < 30, "the sink is broken");
            Ok(())
        });
        match run(&Stop::default(), source, act) {
            Err(PipelineError::Panicked { thread: found, message }) => {
                assert_eq!(found, thread);
                assert!(message.contains("is broken"), "{message}");
            }
            Err(other) => panic!("{other}"),
            Ok(_) => panic!("a panic is no success"),
        }
    }
}

#[test]
fn batches_come_in_order_and_without_those_of_an_older_epoch() {
    let stop = Arc::new(Stop::default());
    let (asker, seen) = (Arc::clone(&stop), Arc::new(Mutex::new(Vec::new())));
    let (noted, records) = (Arc::clone(&seen), Arc::new(AtomicU64::new(0)));
    let counted = Arc::clone(&records);
    let act = Box::new(move |batch: &Batch| {
        noted.lock().unwrap().push((batch.number, batch.epoch));
        counted.fetch_add(batch.payloads.len() as u64, Ordering::Relaxed);
        if batch.number >= 1000 {
            asker.ask();
        }
        Ok(())
    });
    // Every tenth batch comes late, from an epoch that is over.
    let epoch = |number: u64| if number % 10 == 9 { number as u32 / 10 } else { number as u32 / 10 + 1 };
    let summary = run(&stop, Endless { epoch, ..Endless::new() }, act).unwrap();
    let seen = seen.lock().unwrap();
    assert!(seen.is_sorted(), "the reader's order");
    assert!(seen.iter().all(|(number, _)| number % 10 != 9), "older epochs are dropped");
    assert!(seen.len() > 900);
    assert_eq!(summary.tally.records, records.load(Ordering::Relaxed), "what is counted is what was written");
}
