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
mod seal;

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::{Duration, Instant};

use bytes::Bytes;
use crossbeam::channel::Sender;

use crate::kafka::{KafkaError, Producer};

use super::super::batch::{Batch, Payloads};
use super::super::news::News;
use super::super::stop::Stop;
use super::super::{Receipt, Sink, SinkError};
use super::outputs::Outputs;
use super::pace::Pace;
use super::progress::{Ask, Due, Key, Progress};
use super::sending::{Put, REPORT_WAIT, Sending, TEND_EVERY};
use super::vitals::Vitals;
use seal::End;

/// How long one call to the coordinator may take before it is made again.
const CALL_WAIT: Duration = Duration::from_secs(5);

/// One transaction.
struct Open {
    began: Instant,
    /// When it has to be committed.
    due: Instant,
    records: u64,
    /// Those with records in it, with their epochs.
    partitions: BTreeMap<Key, u32>,
    /// Whether offsets were sent; they may not have come.
    has_offsets: bool,
    /// Whether a commit was asked for, so that its outcome may be unknown. Offsets are in it then.
    is_committing: bool,
}

/// The sink.
pub(super) struct ExactlyOnce {
    /// What it knows of belongs to the open transaction.
    sending: Sending,
    progress: Arc<Progress>,
    name: String,
    open: Option<Open>,
    /// How the last one with offsets ended, if that is known.
    ended: Option<End>,
    pace: Pace,
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
        let sending = Sending::new(outputs, &progress);
        Ok(Self { sending, progress, name, open: None, ended: None, pace, dead: 0 })
    }

    fn open(&mut self, read_at: Instant) -> Result<(), KafkaError> {
        if self.open.is_none() {
            self.sending.outputs.producer()?.begin_transaction()?;
            let now = Instant::now();
            self.open = Some(Open {
                began: now,
                due: self.pace.due(read_at, now),
                records: 0,
                partitions: BTreeMap::new(),
                has_offsets: false,
                is_committing: false,
            });
        }
        Ok(())
    }

    /// Puts a batch into the transaction. What goes wrong is noted, and the transaction aborted later.
    fn put(&mut self, batch: Batch, stop: &Stop) -> Result<(), SinkError> {
        let (Some(open), Payloads::Messages { messages, flight }) = (&mut self.open, &batch.payloads) else {
            unreachable!("a transaction was begun, and Kafka is read as messages")
        };
        open.records += messages.len() as u64;
        open.partitions.insert(flight.key(), flight.epoch());
        self.progress.opened(flight);
        let Put { number, flight, journal } = self.sending.put(batch, stop)?;
        self.write_down(number, &journal, stop)?;
        // Until here the batch counts as in flight, from here on as part of the transaction.
        drop(flight);
        Ok(())
    }

    /// Writes what the batch changed into the journal.
    fn write_down(&mut self, number: u64, journal: &[Bytes], stop: &Stop) -> Result<(), SinkError> {
        for record in journal {
            while !self.sending.send_journal(number, record) {
                if self.sending.has_trouble() || stop.is_abandoned() {
                    return Ok(());
                }
                self.sending.poll(REPORT_WAIT)?;
            }
        }
        Ok(())
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
        self.sending.flush(stop)?;
        let Some(open) = &mut self.open else { return Err(KafkaError::Closed) };
        if let Some(trouble) = self.sending.take_trouble() {
            if let Some((key, range)) = trouble.suspect {
                self.sending.suspects.suspect(key, range);
            }
            return Err(trouble.error.aborting());
        }
        if stop.is_abandoned() {
            return Err(KafkaError::Closed.aborting());
        }
        for sent in self.sending.sent() {
            let owner = (sent.key, sent.epoch);
            self.progress.delivered(owner, sent.offsets.1);
            if let Some(records) = sent.journaled {
                self.progress.journaled(owner, records, sent.expiry_max);
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
        open.has_offsets = group.is_member();
        let send = |producer: &mut Producer| producer.send_offsets(&due.offsets, &group, CALL_WAIT);
        call(self.sending.outputs.producer()?, stop, send)?;
        drop(no_change);
        if let Some(open) = &mut self.open {
            open.is_committing = true;
        }
        let producer = self.sending.outputs.producer()?;
        call(producer, stop, |producer| producer.commit_transaction(CALL_WAIT))?;
        Ok(due)
    }

    /// The transaction is committed.
    fn done(&mut self, due: &Due, receipts: &mut Vec<Receipt>) {
        self.progress.committed(due);
        Vitals::count(&self.progress.status.transactions_committed);
        self.close(End::Commit);
        receipts.extend(self.sending.sent().map(|sent| sent.receipt));
        self.sending.suspects.committed(due);
        self.take_rest();
    }

    /// The open transaction has ended.
    fn close(&mut self, end: End) {
        if let Some(open) = self.open.take().filter(|open| open.has_offsets) {
            self.ended = Some(end).filter(|_| open.is_committing);
        }
    }

    /// Reports that came with a commit or an abort.
    fn take_rest(&mut self) {
        // What is fatal shows at the next call.
        drop(self.sending.poll(Duration::ZERO));
        self.sending.forget();
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
        self.sending.outputs.has_journal()
    }

    fn write(&mut self, batch: Batch, stop: &Stop, receipts: &mut Vec<Receipt>) -> Result<(), SinkError> {
        let Payloads::Messages { flight, .. } = &batch.payloads else {
            unreachable!("Kafka is read as messages")
        };
        if self.open.is_none() {
            self.seal(stop, receipts)?;
        }
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
        self.sending.poll(Duration::ZERO)?;
        if self.open.is_none() {
            // What is fatal shows when the next transaction begins.
            self.sending.forget();
        }
        let asked = self.progress.asked();
        if asked == Some(Ask::Abort) && self.open.is_some() {
            self.sending.note(KafkaError::not_ours().aborting(), None);
        }
        let is_due = |open: &Open| {
            self.sending.has_trouble()
                || open.due <= Instant::now()
                || open.records >= self.pace.records_max()
        };
        if asked.is_some() || self.open.as_ref().is_some_and(is_due) {
            self.end(stop, receipts)?;
        }
        if asked.is_some() {
            self.progress.answer();
        }
        // One call never commits and takes back.
        if self.open.is_none() && receipts.is_empty() && asked.is_none() {
            self.seal(stop, receipts)?;
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
            && let Ok(producer) = self.sending.outputs.producer()
            && let Err(error) = producer.abort_transaction(CALL_WAIT)
        {
            tracing::warn!("{error}");
        }
        self.progress.writer_gone();
    }
}
