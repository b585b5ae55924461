//! The sink that writes exactly once: outputs, journal and offsets in one transaction.
//!
//! ```text
//! begin ─► batches ─► flush ─► offsets, with what was delivered of the journal ─► commit ─► the next
//!             └────────┴─────────┴── trouble: abort, everything comes again ──┘
//! ```
//!
//! A record counts when `commit` has returned. A commit that ran out of time is called again, never aborted. After a fatal
//! error the outcome is unknown: a new producer with the same name ends the old transaction one way or the other, and
//! the committed offsets tell which. While one transaction commits, the gate goes on; its batches wait in the queue.

mod recover;

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::{Duration, Instant};

use crossbeam::channel::Sender;

use crate::kafka::{Class, Code, Delivery, KafkaError, Producer};

use super::super::batch::{Batch, Payloads, Told};
use super::super::budget::{Lists, Permit};
use super::super::news::News;
use super::super::stop::Stop;
use super::super::{Receipt, Sink, SinkError};
use super::outputs::{Decided, Outputs, Upcoming, journal_records};
use super::pace::Pace;
use super::progress::{Ask, Due, Key, Progress};
use super::suspects::Suspects;
use super::vitals::Vitals;

/// How long one call to the coordinator may take before it is made again.
const CALL_WAIT: Duration = Duration::from_secs(5);
/// How long to wait for delivery reports when librdkafka's queue is full, or everything is to be delivered.
const REPORT_WAIT: Duration = Duration::from_millis(100);
/// How often delivery reports are taken while nothing is written.
const TEND_EVERY: Duration = Duration::from_millis(5);
/// One transaction.
struct Open {
    began: Instant,
    /// When it has to be committed.
    due: Instant,
    records: u64,
    /// By tag: number of the transaction, then the batch's place here, then whether it is the journal's record.
    batches: Vec<Written>,
    partitions: BTreeMap<Key, u32>,
    /// Why it can only be aborted.
    trouble: Option<Trouble>,
    /// Whether a commit was asked for, so that its outcome may be unknown.
    is_committing: bool,
}

/// A batch in the open transaction.
struct Written {
    receipt: Receipt,
    outstanding: usize,
    permit: Option<Permit>,
    key: Key,
    epoch: u32,
    /// Source offsets, from the first up to the one behind the last.
    offsets: (i64, i64),
    expiry_max: u32,
    /// First and last record of the journal.
    journal: Option<(i64, i64)>,
}

/// What went wrong, and with the records between which offsets.
struct Trouble {
    error: KafkaError,
    suspect: Option<(Key, (i64, i64))>,
}

/// The sink.
pub(super) struct ExactlyOnce {
    outputs: Outputs,
    progress: Arc<Progress>,
    name: String,
    open: Option<Open>,
    /// Counts transactions, so that late reports of earlier ones are told apart.
    serial: u64,
    pace: Pace,
    suspects: Suspects,
    deliveries: Vec<Delivery>,
    /// Up to this time the state may forget.
    dead: u32,
}

impl ExactlyOnce {
    /// Registers the transactional id, which ends what an earlier process with this name left open.
    pub(super) fn begin(
        mut outputs: Outputs,
        progress: Arc<Progress>,
        pace: Pace,
        name: String,
        wait: Duration,
    ) -> Result<Self, KafkaError> {
        outputs.producer()?.init_transactions(wait)?;
        Ok(Self {
            outputs,
            progress,
            name,
            open: None,
            serial: 0,
            pace,
            suspects: Suspects::default(),
            deliveries: Vec::new(),
            dead: 0,
        })
    }

    fn open(&mut self, read_at: Instant) -> Result<(), KafkaError> {
        if self.open.is_none() {
            self.outputs.producer()?.begin_transaction()?;
            self.serial += 1;
            let now = Instant::now();
            self.open = Some(Open {
                began: now,
                due: self.pace.due(read_at, now),
                records: 0,
                batches: Vec::new(),
                partitions: BTreeMap::new(),
                trouble: None,
                is_committing: false,
            });
        }
        Ok(())
    }

    fn has_trouble(&self) -> bool {
        self.open.as_ref().is_some_and(|open| open.trouble.is_some())
    }

    fn trouble(&mut self, error: KafkaError, suspect: Option<(Key, (i64, i64))>) {
        if let Some(open) = &mut self.open {
            open.trouble.get_or_insert(Trouble { error, suspect });
        }
    }

    /// Puts a batch into the transaction. What goes wrong is noted, and the transaction aborted later.
    fn put(&mut self, batch: Batch, stop: &Stop) -> Result<(), SinkError> {
        let Batch { number, payloads, rules, permit, read_at, since, told, trace, .. } = batch;
        let Batch { outcomes, facts, labels, pointers, body, .. } = batch;
        let (budget, mut lists) = (permit.budget(), Lists { outcomes, facts, labels, pointers, body });
        let Payloads::Messages { mut messages, flight } = payloads else {
            unreachable!("Kafka is read as messages")
        };
        let first = messages.first().map_or(0, crate::kafka::Message::offset);
        let next = messages.last().map_or(0, |message| message.offset() + 1);
        let key = flight.key();
        let input = usize::from(key.0.0);
        let Some(open) = &mut self.open else { return Ok(()) };
        let (place, records) = (open.batches.len() as u64, messages.len() as u64);
        open.records += records;
        open.partitions.insert(key, flight.epoch());
        open.batches.push(Written {
            receipt: Receipt { batch: number, records, read_at, gated_at: since, written_at: since, trace },
            outstanding: messages.len(),
            permit: Some(permit),
            key,
            epoch: flight.epoch(),
            offsets: (first, next),
            expiry_max: told.as_ref().map_or(0, |told| told.expiry_max),
            journal: None,
        });
        self.progress.opened(&flight);
        let tag = self.serial << 32 | place << 1;
        let chunks = self.suspects.chunk_records(key, (first, next), messages.len());
        let mut chunk = (first, 0);
        for (message, outcome) in Upcoming::new(&mut messages).zip(&lists.outcomes) {
            let pointer = lists.pointer(*outcome);
            let offset = message.offset();
            if chunk.1 == 0 {
                chunk.0 = offset;
            }
            let decided = Decided { outcome: *outcome, pointer, rules: &rules };
            self.send(input, message, &decided, tag, (key, (chunk.0, offset + 1)), stop)?;
            chunk.1 += 1;
            if Some(chunk.1) == chunks {
                self.flush((key, (chunk.0, offset + 1)), stop)?;
                chunk.1 = 0;
            }
            if self.has_trouble() {
                return Ok(());
            }
        }
        if let Some(told) = told {
            self.write_down(input, key, &told, tag | 1, place, stop)?;
            lists.body = told.body;
        }
        self.progress.put_by(messages);
        budget.put_by(lists);
        Ok(())
    }

    /// Produces one record; waits while librdkafka's queue is full.
    fn send(
        &mut self,
        input: usize,
        message: crate::kafka::Message,
        decided: &Decided<'_>,
        tag: u64,
        suspect: (Key, (i64, i64)),
        stop: &Stop,
    ) -> Result<(), SinkError> {
        let mut message = message;
        loop {
            match self.outputs.send(input, message, decided, tag) {
                Ok(()) => return Ok(()),
                Err((fault, back)) if fault.code == Code::QUEUE_FULL && !stop.is_abandoned() => {
                    message = back;
                    self.poll(REPORT_WAIT)?;
                    if self.has_trouble() {
                        return Ok(());
                    }
                }
                Err((fault, back)) => {
                    let offset = back.offset();
                    drop(back);
                    // A record that was refused before tells more than that nothing can be added any more.
                    self.poll(REPORT_WAIT)?;
                    let is_refused = fault.class() == Class::Reject;
                    let suspect = is_refused.then_some((suspect.0, (offset, offset + 1)));
                    self.trouble(fault.into(), suspect);
                    return Ok(());
                }
            }
        }
    }

    /// Writes what the batch changed into the journal.
    fn write_down(
        &mut self,
        input: usize,
        key: Key,
        told: &Told,
        tag: u64,
        place: u64,
        stop: &Stop,
    ) -> Result<(), SinkError> {
        for record in journal_records(told) {
            loop {
                match self.outputs.send_journal(input, key.1, &record, tag) {
                    Ok(()) => break,
                    Err(fault) if fault.code == Code::QUEUE_FULL && !stop.is_abandoned() => {
                        self.poll(REPORT_WAIT)?;
                    }
                    Err(fault) => {
                        self.trouble(fault.into(), None);
                        return Ok(());
                    }
                }
            }
            let open = self.open.as_mut();
            if let Some(written) = open.and_then(|open| open.batches.get_mut(place as usize)) {
                written.outstanding += 1;
            }
        }
        Ok(())
    }

    /// Waits until everything is delivered; what fails of it is put down to the records of `suspect`.
    fn flush(&mut self, suspect: (Key, (i64, i64)), stop: &Stop) -> Result<(), SinkError> {
        while self.outputs.producer()?.outstanding() > 0 && !stop.is_abandoned() {
            let flushed = self.outputs.producer()?.flush(REPORT_WAIT, &mut self.deliveries);
            // It mostly ran out of time; what is fatal shows at the poll.
            drop(flushed);
            self.poll(Duration::ZERO)?;
        }
        if let Some(trouble) = self.open.as_mut().and_then(|open| open.trouble.as_mut())
            && trouble.suspect.is_some()
        {
            trouble.suspect = Some(suspect);
        }
        Ok(())
    }

    /// Takes delivery reports.
    fn poll(&mut self, wait: Duration) -> Result<(), SinkError> {
        let mut deliveries = std::mem::take(&mut self.deliveries);
        let polled = self.outputs.producer()?.poll(wait, &mut deliveries);
        // Reports come in runs of one batch, so look each batch up once per run.
        for run in deliveries.chunk_by(|left, right| left.tag == right.tag) {
            self.take_reports(run);
        }
        deliveries.clear();
        self.deliveries = deliveries;
        if let Err(error) = polled {
            self.trouble(error, None);
        }
        Ok(())
    }

    fn take_reports(&mut self, run: &[Delivery]) {
        let Some(open) = &mut self.open else { return };
        let Some(tag) = run.first().map(|report| report.tag) else { return };
        let place = (tag & 0xFFFF_FFFF) >> 1;
        if tag >> 32 != self.serial {
            return;
        }
        let Some(written) = open.batches.get_mut(place as usize) else { return };
        written.outstanding = written.outstanding.saturating_sub(run.len());
        if written.outstanding == 0 {
            written.permit = None;
            written.receipt.written_at = Instant::now();
        }
        for report in run {
            match report.outcome {
                Ok(offset) if tag & 1 == 1 => {
                    let (first, last) = written.journal.unwrap_or((offset, offset));
                    written.journal = Some((first.min(offset), last.max(offset)));
                }
                Ok(_) => {}
                Err(code) => {
                    let suspect = (written.key, written.offsets);
                    let is_refused = code.class() == Class::Reject && tag & 1 == 0;
                    let error = KafkaError::undelivered(report.partition, code);
                    let known = open.trouble.as_ref().is_some_and(|trouble| trouble.suspect.is_some());
                    if open.trouble.is_none() || (is_refused && !known) {
                        open.trouble = Some(Trouble { error, suspect: is_refused.then_some(suspect) });
                    }
                }
            }
        }
    }

    /// Ends the open transaction: well if it can, else everything of it comes again.
    fn end(&mut self, stop: &Stop, receipts: &mut Vec<Receipt>) -> Result<(), SinkError> {
        if self.open.is_none() {
            return Ok(());
        }
        let began = Instant::now();
        match self.commit(stop) {
            Ok(due) => {
                self.pace.committed(began.elapsed());
                self.done(&due, receipts);
                Ok(())
            }
            Err(error) => self.recover(error, stop, receipts),
        }
    }

    /// Everything delivered, then offsets, then the commit.
    fn commit(&mut self, stop: &Stop) -> Result<Due, KafkaError> {
        while !self.has_trouble() && self.outputs.producer()?.outstanding() > 0 && !stop.is_abandoned() {
            drop(self.outputs.producer()?.flush(REPORT_WAIT, &mut self.deliveries));
            if let Err(SinkError::Kafka(error)) = self.poll(Duration::ZERO) {
                return Err(error);
            }
        }
        let Some(open) = &mut self.open else { return Err(KafkaError::Closed) };
        if let Some(trouble) = open.trouble.take() {
            if let Some((key, range)) = trouble.suspect {
                self.suspects.suspect(key, range);
            }
            return Err(trouble.error.aborting());
        }
        if stop.is_abandoned() {
            return Err(KafkaError::Closed.aborting());
        }
        for written in &open.batches {
            let owner = (written.key, written.epoch);
            self.progress.delivered(owner, written.offsets.1);
            if let Some(records) = written.journal {
                self.progress.journaled(owner, records, written.expiry_max);
            }
        }
        // From here on no partition is given away until the offsets are sent.
        let progress = Arc::clone(&self.progress);
        let no_change = progress.no_change();
        let keys: Vec<_> = open.partitions.keys().copied().collect();
        let is_ours = |(key, epoch): (&Key, &u32)| self.progress.committed_at(*key, *epoch).is_some();
        if !open.partitions.iter().all(is_ours) {
            return Err(KafkaError::not_ours().aborting());
        }
        let due = self.progress.due(Some(&keys), self.dead);
        let group = self.progress.committer()?.group_metadata()?;
        let send = |producer: &mut Producer| producer.send_offsets(&due.offsets, &group, CALL_WAIT);
        call(self.outputs.producer()?, stop, send)?;
        drop(no_change);
        if let Some(open) = &mut self.open {
            open.is_committing = true;
        }
        call(self.outputs.producer()?, stop, |producer| producer.commit_transaction(CALL_WAIT))?;
        Ok(due)
    }

    /// The transaction is committed.
    fn done(&mut self, due: &Due, receipts: &mut Vec<Receipt>) {
        self.progress.committed(due);
        Vitals::count(&self.progress.status.transactions_committed);
        if let Some(open) = self.open.take() {
            receipts.extend(open.batches.into_iter().map(|written| written.receipt));
        }
        self.suspects.committed(due);
        self.take_rest();
    }

    /// Reports that came with a commit or an abort.
    fn take_rest(&mut self) {
        if let Ok(producer) = self.outputs.producer() {
            // What is fatal shows at the next call.
            drop(producer.poll(Duration::ZERO, &mut self.deliveries));
        }
        self.deliveries.clear();
    }
}

/// Makes a call to the coordinator until it says yes or no, or the run is abandoned.
fn call(
    producer: &mut Producer,
    stop: &Stop,
    mut make: impl FnMut(&mut Producer) -> Result<(), KafkaError>,
) -> Result<(), KafkaError> {
    loop {
        match make(producer) {
            Err(KafkaError::Fault(fault))
                if fault.retriable && !fault.fatal && !fault.requires_abort && !stop.is_abandoned() =>
            {
                tracing::warn!("{fault}; trying again");
            }
            outcome => return outcome,
        }
    }
}

impl Sink for ExactlyOnce {
    fn attach(&mut self, news: &Sender<News>) {
        self.progress.set_news(news);
    }

    fn keeps_journal(&self) -> bool {
        self.outputs.has_journal()
    }

    fn write(&mut self, batch: Batch, stop: &Stop, receipts: &mut Vec<Receipt>) -> Result<(), SinkError> {
        let Payloads::Messages { flight, .. } = &batch.payloads else {
            unreachable!("Kafka is read as messages")
        };
        // What comes again anyway is dropped.
        if !self.progress.is_current(flight) {
            return Ok(());
        }
        self.dead = batch.told.as_ref().map_or(self.dead, |told| told.dead);
        if let Err(error) = self.open(batch.read_at) {
            return self.recover(error, stop, receipts);
        }
        self.put(batch, stop)
    }

    fn tend(&mut self, stop: &Stop, receipts: &mut Vec<Receipt>) -> Result<(), SinkError> {
        self.poll(Duration::ZERO)?;
        let asked = self.progress.asked();
        if asked == Some(Ask::Abort) && self.open.is_some() {
            self.trouble(KafkaError::not_ours().aborting(), None);
        }
        let is_due = |open: &Open| {
            open.trouble.is_some() || open.due <= Instant::now() || open.records >= self.pace.records_max()
        };
        if asked.is_some() || self.open.as_ref().is_some_and(is_due) {
            self.end(stop, receipts)?;
        }
        if asked.is_some() {
            self.progress.answer();
        }
        Ok(())
    }

    fn tend_every(&self) -> Duration {
        TEND_EVERY
    }

    fn finish(&mut self, stop: &Stop, receipts: &mut Vec<Receipt>) -> Result<(), SinkError> {
        self.end(stop, receipts)
    }
}

impl Drop for ExactlyOnce {
    fn drop(&mut self) {
        // An open transaction would hold up whoever reads committed records.
        if self.open.is_some()
            && let Ok(producer) = self.outputs.producer()
            && let Err(error) = producer.abort_transaction(CALL_WAIT)
        {
            tracing::warn!("{error}");
        }
        self.progress.writer_gone();
    }
}
