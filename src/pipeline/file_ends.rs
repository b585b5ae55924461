//! Files at both ends of the pipeline.
//!
//! A file is a partition; files are read in argument order, directories by the byte order of their paths, so with a
//! fixed clock the outputs do not depend on the number of workers.

use std::io::Write as _;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use crate::clock::{Clock, Timestamp};
use crate::config::{ClockChoice, Config};
use crate::files::{
    BytesRead, Event, FileError, FileIndex, Input, Layout, ReadOptions, Reader, Rejected, Skipped, Target,
    Totals, WriteOptions, Writer,
};
use crate::formats::Binding;
use crate::judge::{Payload, Rules};

use super::batch::{Batch, Partition, Payloads};
use super::route::{self, is_json, redact};
use super::stdin::StoppableInput;
use super::{Intake, Read, Receipt, Sink, SinkError, Source, SourceError, stop::Stop};

/// Files that could not be read, or not to their end; the others were done.
#[derive(Clone, Default)]
pub struct ReadFailures(Arc<Mutex<Vec<FileError>>>);

/// Some files failed.
#[derive(Debug, thiserror::Error)]
#[error("{count} of the inputs could not be read whole (the first: {first}); everything else was done")]
pub struct FilesFailed {
    count: usize,
    first: FileError,
}

impl ReadFailures {
    fn add(&self, error: FileError) {
        tracing::error!("{error}");
        self.0.lock().unwrap_or_else(PoisonError::into_inner).push(error);
    }

    /// Whether there is none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).is_empty()
    }

    /// An error if there is any.
    pub fn into_result(self) -> Result<(), FilesFailed> {
        let mut failures = std::mem::take(&mut *self.0.lock().unwrap_or_else(PoisonError::into_inner));
        let count = failures.len();
        if count == 0 { Ok(()) } else { Err(FilesFailed { count, first: failures.swap_remove(0) }) }
    }
}

/// What became of each file that was read to its end, or not; in the order of reading.
#[derive(Clone, Default)]
pub struct FilesDone(Arc<Mutex<Vec<FileDone>>>);

/// One file.
#[derive(Clone, Debug)]
pub struct FileDone {
    /// Which.
    pub file: FileIndex,
    /// What was read of it.
    pub totals: Totals,
    /// Why it was not read whole.
    pub error: Option<String>,
}

impl FilesDone {
    fn add(&self, file: FileIndex, totals: Totals, error: Option<String>) {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).push(FileDone { file, totals, error });
    }

    /// All of them.
    #[must_use]
    pub fn take(&self) -> Vec<FileDone> {
        std::mem::take(&mut *self.0.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

/// Reads files.
pub struct FileSource {
    reader: Reader,
    /// The path of each file, as the key of its records.
    keys: Vec<Arc<[u8]>>,
    binding: Binding,
    clock: Clock,
    failures: ReadFailures,
    done: Option<FilesDone>,
    stop: Arc<Stop>,
}

impl FileSource {
    /// Opens the inputs; `now` fixes the clock, and `stop` ends the wait for standard input.
    pub fn open(
        inputs: &[Input],
        config: &Config,
        rules: &Rules,
        now: Option<Timestamp>,
        failures: ReadFailures,
        stop: &Arc<Stop>,
    ) -> Result<Self, FileError> {
        let options = ReadOptions {
            block_bytes: config.files.block_bytes as usize,
            records_max: config.pipeline.batch_records_max as usize,
            record_bytes_max: config.files.record_bytes_max as usize,
            layout: Layout::default(),
        };
        let stdin = StoppableInput::new(Box::new(std::io::stdin()), Arc::clone(stop));
        let reader = Reader::open_with_stdin(inputs, &options, Box::new(stdin))?;
        let clock = match (now, config.rules.clock) {
            (Some(now), _) => Clock::Fixed(now),
            (None, ClockChoice::Record) => Clock::Record,
            (None, ClockChoice::Auto | ClockChoice::Wall) => Clock::Wall,
        };
        let keys = reader.paths().iter().map(|path| path.as_os_str().as_encoded_bytes().into()).collect();
        let (done, stop) = (None, Arc::clone(stop));
        Ok(Self { reader, keys, binding: rules.default_binding(), clock, failures, done, stop })
    }

    /// Hashes each file as it is stored, counts the stored bytes, and tells what became of each.
    #[must_use]
    pub fn with_digests(self, count: BytesRead, done: FilesDone) -> Self {
        Self { reader: self.reader.with_digests(count), done: Some(done), ..self }
    }

    fn tell(&self, file: FileIndex, totals: Totals, error: Option<String>) {
        if let Some(done) = &self.done {
            done.add(file, totals, error);
        }
    }

    /// The files, in the order in which they are read.
    #[must_use]
    pub fn paths(&self) -> &[PathBuf] {
        self.reader.paths()
    }

    /// What directories held that is not read.
    #[must_use]
    pub fn skipped(&self) -> &Skipped {
        self.reader.skipped()
    }

    /// The names that rejected records carry as their source.
    #[must_use]
    pub fn names(&self) -> Vec<String> {
        self.paths().iter().map(|path| path.to_string_lossy().into_owned()).collect()
    }
}

impl Source for FileSource {
    fn read(&mut self) -> Result<Read, SourceError> {
        Ok(match self.reader.next() {
            None => Read::End,
            Some(Event::Unfinished) => Read::Idle,
            Some(Event::Done { file, totals }) => {
                self.tell(file, totals, None);
                Read::Idle
            }
            // Standard input that was given up is no failure.
            Some(Event::Failed { .. }) if self.stop.is_asked() => Read::End,
            Some(Event::Failed { file, totals, error }) => {
                self.tell(file, totals, Some(error.to_string()));
                self.failures.add(error);
                Read::Idle
            }
            Some(Event::Block(block)) => Read::Intake(Intake {
                partition: Partition(u64::from(block.file.0)),
                epoch: 0,
                key: self.keys.get(block.file.0 as usize).cloned(),
                binding: self.binding,
                bytes: block.bytes.len() as u64,
                payloads: Payloads::Block(block),
                clock: self.clock,
            }),
        })
    }
}

/// Writes accepted and rejected records to files.
pub struct FileSink {
    accepted: Option<Writer>,
    rejected: Option<Writer>,
    names: Vec<String>,
    note: Vec<u8>,
    /// Whether credentials are taken out of rejected records.
    redacts: bool,
    /// When what was written goes out; `None` while there is nothing new.
    flush_at: Option<Instant>,
}

/// How long a record may stay in a buffer while its input is slow.
const FLUSH_EVERY: Duration = Duration::from_secs(1);

impl FileSink {
    /// Creates the outputs; one that is absent drops its records.
    pub fn create(
        accepted: Option<&Target>,
        rejected: Option<&Target>,
        names: Vec<String>,
    ) -> Result<Self, FileError> {
        let create = |target: Option<&Target>| {
            target.map(|target| Writer::create(target, &WriteOptions::default())).transpose()
        };
        let (accepted, rejected) = (create(accepted)?, create(rejected)?);
        Ok(Self { accepted, rejected, names, note: Vec::new(), redacts: false, flush_at: None })
    }

    /// Takes credentials out of rejected records, if so configured.
    #[must_use]
    pub fn redacting(self, redacts: bool) -> Self {
        Self { redacts, ..self }
    }

    fn write_batch(&mut self, batch: &Batch) -> Result<(), FileError> {
        for (index, outcome) in batch.outcomes.iter().enumerate() {
            let payload = match batch.payloads.payload(index) {
                Payload::Bytes(bytes) => bytes,
                Payload::Tombstone | Payload::Oversized => &[],
            };
            let Some(reason) = outcome.verdict.reason else {
                if let Some(accepted) = &mut self.accepted {
                    accepted.write_record(payload)?;
                }
                continue;
            };
            let Some(rejected) = &mut self.rejected else { continue };
            self.note.clear();
            let name = self.names.get(batch.partition.0 as usize).map_or("?", String::as_str);
            let source = |out: &mut Vec<u8>| write_place(out, &batch.payloads, index, name);
            route::write_note(&mut self.note, outcome.verdict, batch.pointer(*outcome), &batch.rules, source);
            let oversized = match &batch.payloads {
                Payloads::Block(block) => block.spans.get(index).and_then(|span| span.oversized.as_deref()),
                _ => None,
            };
            let redacted = if self.redacts { redact(payload, outcome.verdict, &batch.rules) } else { None };
            let record = match oversized {
                Some(oversized) => Rejected::Oversized(oversized),
                None if redacted.is_some() => Rejected::Json(redacted.as_deref().unwrap_or_default()),
                None if is_json(reason) => Rejected::Json(payload),
                None => Rejected::Bytes(payload),
            };
            rejected.write_rejected(&self.note, record)?;
        }
        Ok(())
    }
}

/// `file:line` or `topic/partition/offset`. Writing to memory cannot fail.
fn write_place(out: &mut Vec<u8>, payloads: &Payloads, index: usize, name: &str) {
    if let Payloads::Block(block) = payloads {
        route::write_escaped(out, name.as_bytes());
        let _ = write!(out, ":{}", block.spans.get(index).map_or(0, |span| span.line));
    } else if let Some(message) = payloads.messages().get(index) {
        route::write_escaped(out, message.topic().as_bytes());
        let _ = write!(out, "/{}/{}", message.partition(), message.offset());
    }
}

impl Sink for FileSink {
    fn write(&mut self, batch: Batch, _: &Stop, receipts: &mut Vec<Receipt>) -> Result<(), SinkError> {
        self.write_batch(&batch)?;
        self.flush_at.get_or_insert_with(|| Instant::now() + FLUSH_EVERY);
        receipts.push(Receipt::of(&batch));
        batch.end();
        Ok(())
    }

    fn tend(&mut self, _: &Stop, _: &mut Vec<Receipt>) -> Result<(), SinkError> {
        if self.flush_at.take_if(|at| *at <= Instant::now()).is_some() {
            for writer in [&mut self.accepted, &mut self.rejected].into_iter().flatten() {
                writer.flush()?;
            }
        }
        Ok(())
    }

    fn tend_every(&self) -> Duration {
        FLUSH_EVERY
    }

    fn finish(&mut self, _: &Stop, _: &mut Vec<Receipt>) -> Result<(), SinkError> {
        for writer in [self.accepted.take(), self.rejected.take()].into_iter().flatten() {
            writer.finish()?;
        }
        Ok(())
    }
}
