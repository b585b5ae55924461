//! The writer: hands batches to the sink in order, and notes when they are committed.

use std::time::{Duration, Instant};

use crossbeam::channel::{Receiver, RecvTimeoutError, Sender};

use crate::credentials::names::Names;
use crate::histograms::{Recorder, Stage};

use super::batch::Batch;
use super::meters::Meters;
use super::news::News;
use super::stop::Stop;
use super::trace::Trace;

/// A sink that failed; what was committed before stays.
#[derive(Debug, thiserror::Error)]
pub enum SinkError {
    /// An output file.
    #[error(transparent)]
    Files(#[from] crate::files::FileError),
    /// An output topic, or the commit of an offset.
    #[error(transparent)]
    Kafka(#[from] crate::kafka::KafkaError),
}

/// A batch that is committed.
#[derive(Clone, Copy, Debug)]
pub struct Receipt {
    /// The batch's number.
    pub batch: u64,
    /// How many records.
    pub records: u64,
    /// When they were read.
    pub read_at: Instant,
    /// When they passed the gate.
    pub gated_at: Instant,
    /// When the sink had them for good.
    pub written_at: Instant,
    /// When each stage had them, where spans are wanted.
    pub trace: Trace,
}

impl Receipt {
    /// Of a batch that the sink has for good now.
    #[must_use]
    pub fn of(batch: &Batch) -> Self {
        Self {
            batch: batch.number,
            records: batch.payloads.len() as u64,
            read_at: batch.read_at,
            gated_at: batch.since,
            written_at: Instant::now(),
            trace: batch.trace,
        }
    }
}

/// What a sink wants of the workers besides verdicts and facts.
#[derive(Clone, Default)]
pub struct Wants {
    /// The seed of the labels that batches are to carry.
    pub label_seed: Option<u64>,
    /// How what facts compare is named: names of the run where nobody compares them once it has ended.
    pub names: Names,
}

/// Where records go.
pub trait Sink: Send {
    /// Gets the way by which the gate hears of batches that come again, before the first write.
    fn attach(&mut self, _news: &Sender<News>) {}

    /// Whether it wants to know what each batch changed in the state.
    fn keeps_journal(&self) -> bool {
        false
    }

    /// What it wants of the workers besides verdicts and facts.
    fn wants(&self) -> Wants {
        Wants::default()
    }

    /// Takes a batch; committed ones are added to `receipts`, now or later. One call never commits and takes back.
    fn write(&mut self, batch: Batch, stop: &Stop, receipts: &mut Vec<Receipt>) -> Result<(), SinkError>;

    /// Does what has to be done from time to time: delivery reports, commits.
    fn tend(&mut self, stop: &Stop, receipts: &mut Vec<Receipt>) -> Result<(), SinkError>;

    /// How long the sink can go without being tended while nothing is written.
    fn tend_every(&self) -> Duration;

    /// Writes out and commits everything, unless the run is abandoned meanwhile.
    fn finish(&mut self, stop: &Stop, receipts: &mut Vec<Receipt>) -> Result<(), SinkError>;
}

/// Writes until the gate has ended.
pub(super) fn run<K: Sink>(
    mut sink: K,
    from_gate: &Receiver<Batch>,
    news: &Sender<News>,
    (mut recorder, meters): (Recorder, &Meters),
    stop: &Stop,
) -> Result<(), SinkError> {
    let mut receipts = Vec::new();
    loop {
        match from_gate.recv_timeout(sink.tend_every()) {
            Ok(_) if stop.is_abandoned() => return Ok(()),
            Ok(batch) => sink.write(batch, stop, &mut receipts)?,
            Err(RecvTimeoutError::Timeout) => {}
            Err(RecvTimeoutError::Disconnected) => break,
        }
        sink.tend(stop, &mut receipts)?;
        record(&mut receipts, news, &mut recorder, meters);
    }
    if !stop.is_abandoned() {
        sink.finish(stop, &mut receipts)?;
        record(&mut receipts, news, &mut recorder, meters);
    }
    Ok(())
}

fn record(receipts: &mut Vec<Receipt>, news: &Sender<News>, recorder: &mut Recorder, meters: &Meters) {
    let now = Instant::now();
    for receipt in receipts.drain(..) {
        // A gate that has ended needs no word; the run takes the last ones itself.
        let _ = news.send(News::Committed(receipt.batch));
        meters.spans.tell(&receipt, now);
        recorder.record(Stage::Write, receipt.written_at - receipt.gated_at, receipt.records);
        recorder.record(Stage::EndToEnd, now - receipt.read_at, receipt.records);
    }
    recorder.tick(now);
}
