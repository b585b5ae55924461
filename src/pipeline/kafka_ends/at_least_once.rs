//! The sink that writes at least once: outputs acknowledged, then the journal, then the offset, up to a contiguous
//! watermark per partition.
//!
//! What fails is never skipped: a new producer goes on from the committed offsets, so that some records are written twice.

use std::collections::{BTreeMap, VecDeque};
use std::sync::Arc;
use std::time::{Duration, Instant};

use bytes::Bytes;
use crossbeam::channel::Sender;

use crate::kafka::{Class, Code, Delivery, KafkaError, Message};

use super::super::batch::{Batch, Payloads};
use super::super::budget::{Lists, Permit};
use super::super::news::News;
use super::super::stop::Stop;
use super::super::{Receipt, Sink, SinkError};
use super::outputs::{Decided, Outputs, Upcoming, journal_records};
use super::pace::Pace;
use super::progress::{Flight, Key, Progress};
use super::suspects::Suspects;
use super::vitals::Vitals;

/// How long to wait for delivery reports when librdkafka's queue is full.
const FULL_WAIT: Duration = Duration::from_millis(10);
/// How often delivery reports are taken while nothing is written.
const TEND_EVERY: Duration = Duration::from_millis(5);
/// How long to wait before a commit that failed at the end is tried again.
const COMMIT_PAUSE: Duration = Duration::from_millis(500);

/// A batch whose records were produced and not all delivered.
struct Flying {
    tag: u64,
    outstanding: usize,
    /// Source offsets, from the first up to the one behind the last.
    offsets: (i64, i64),
    /// To be written down when the outputs are acknowledged.
    journal: VecDeque<Bytes>,
    expiry_max: u32,
    /// First and last record of the journal.
    journaled: Option<(i64, i64)>,
    flight: Flight,
    /// Given back as soon as its records are delivered, even if earlier batches are not.
    permit: Option<Permit>,
    receipt: Receipt,
}

/// Why everything comes again.
struct Trouble {
    error: KafkaError,
    suspect: Option<(Key, (i64, i64))>,
}

/// The sink.
pub(super) struct AtLeastOnce {
    outputs: Outputs,
    progress: Arc<Progress>,
    /// Per partition, in order.
    flying: BTreeMap<Key, VecDeque<Flying>>,
    /// Which partition a tag belongs to, for tags that are flying.
    partition_of: BTreeMap<u64, Key>,
    next_tag: u64,
    deliveries: Vec<Delivery>,
    /// Delivered, waiting for the commit.
    delivered: Vec<Receipt>,
    trouble: Option<Trouble>,
    suspects: Suspects,
    pace: Pace,
    dead: u32,
    commit_every: Duration,
    commit_at: Instant,
}

impl AtLeastOnce {
    pub(super) fn new(outputs: Outputs, progress: Arc<Progress>, commit_every: Duration) -> Self {
        Self {
            outputs,
            progress,
            flying: BTreeMap::new(),
            partition_of: BTreeMap::new(),
            next_tag: 0,
            deliveries: Vec::new(),
            delivered: Vec::new(),
            trouble: None,
            suspects: Suspects::default(),
            pace: Pace::new(commit_every, u64::MAX),
            dead: 0,
            commit_every,
            commit_at: Instant::now() + commit_every,
        }
    }

    /// Produces one record; waits while librdkafka's queue is full.
    fn send(
        &mut self,
        input: usize,
        message: Message,
        decided: &Decided<'_>,
        (key, tag): (Key, u64),
        stop: &Stop,
    ) -> Result<(), SinkError> {
        let mut message = message;
        loop {
            match self.outputs.send(input, message, decided, tag) {
                Ok(()) => return Ok(()),
                Err((fault, back)) if fault.code == Code::QUEUE_FULL && !stop.is_abandoned() => {
                    message = back;
                    self.poll(FULL_WAIT)?;
                    if self.trouble.is_some() {
                        return Ok(());
                    }
                }
                Err((fault, back)) => {
                    let offset = back.offset();
                    drop(back);
                    let suspect = (fault.class() == Class::Reject).then_some((key, (offset, offset + 1)));
                    self.trouble.get_or_insert(Trouble { error: fault.into(), suspect });
                    return Ok(());
                }
            }
        }
    }

    /// Takes delivery reports: lands batches, raises watermarks.
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
            self.trouble.get_or_insert(Trouble { error, suspect: None });
        }
        if self.trouble.is_none() {
            self.land()?;
        }
        Ok(())
    }

    fn take_reports(&mut self, run: &[Delivery]) {
        let Some(tag) = run.first().map(|report| report.tag) else { return };
        let Some(key) = self.partition_of.get(&(tag >> 1)).copied() else { return };
        let Some(queue) = self.flying.get_mut(&key) else { return };
        let Some(batch) = queue.iter_mut().find(|batch| batch.tag == tag >> 1) else { return };
        batch.outstanding = batch.outstanding.saturating_sub(run.len());
        for report in run {
            match report.outcome {
                Ok(offset) if tag & 1 == 1 => {
                    let (first, last) = batch.journaled.unwrap_or((offset, offset));
                    batch.journaled = Some((first.min(offset), last.max(offset)));
                }
                Ok(_) => {}
                Err(code) => {
                    let error = KafkaError::undelivered(report.partition, code);
                    let is_refused = code.class() == Class::Reject && tag & 1 == 0;
                    let suspect = is_refused.then_some((key, batch.offsets));
                    self.trouble.get_or_insert(Trouble { error, suspect });
                }
            }
        }
    }

    /// Takes batches off that were delivered whole, in the order of their partition: first their journal is written, then
    /// their watermark is raised.
    fn land(&mut self) -> Result<(), SinkError> {
        for (key, queue) in &mut self.flying {
            for batch in queue.iter_mut() {
                if batch.outstanding > 0 {
                    break;
                }
                batch.permit = None;
                while let Some(record) = batch.journal.front() {
                    let input = usize::from(key.0.0);
                    match self.outputs.send_journal(input, key.1, record, batch.tag << 1 | 1) {
                        Ok(()) => batch.journal.pop_front(),
                        Err(fault) if fault.code == Code::QUEUE_FULL => break,
                        Err(fault) => return Err(KafkaError::from(fault).into()),
                    };
                    batch.outstanding += 1;
                }
            }
            let is_done = |batch: &mut Flying| batch.outstanding == 0 && batch.journal.is_empty();
            while let Some(batch) = queue.pop_front_if(is_done) {
                self.partition_of.remove(&batch.tag);
                let owner = (*key, batch.flight.epoch());
                if let Some(records) = batch.journaled {
                    self.progress.journaled(owner, records, batch.expiry_max);
                }
                self.progress.delivered(owner, batch.offsets.1);
                self.delivered.push(Receipt { written_at: Instant::now(), ..batch.receipt });
            }
        }
        Ok(())
    }

    /// Commits, and passes the receipts of what was delivered before on.
    fn commit(&mut self, receipts: &mut Vec<Receipt>) -> Result<(), SinkError> {
        self.commit_at = Instant::now() + self.commit_every;
        let before = self.delivered.len();
        match self.progress.commit(None, self.dead) {
            Ok(()) => {
                self.pace.committed(Duration::ZERO);
                receipts.extend(self.delivered.drain(..before));
                Ok(())
            }
            // What is delivered stays delivered; the commit is tried again next time.
            Err(error) if error.class() != Class::Stop => {
                tracing::warn!("offsets were not committed, trying again: {error}");
                Ok(())
            }
            Err(error) => Err(error.into()),
        }
    }

    /// Something was not delivered: a new producer, and everything from the committed offsets on again.
    fn recover(&mut self, trouble: Trouble) -> Result<(), SinkError> {
        let Trouble { error, suspect } = trouble;
        if error.class() == Class::Stop {
            return Err(error.into());
        }
        tracing::warn!("{error}; going on from the committed offsets, so some records are written twice");
        if let Some((key, range)) = suspect {
            self.suspects.suspect(key, range);
            if let Some((key, offset)) = self.suspects.found()
                && self.progress.refuse(key, offset)
            {
                return Err(KafkaError::stub_refused(key.1, offset).into());
            }
        }
        Vitals::count(&self.progress.vitals.rebuilds);
        Vitals::count(&self.progress.status.rebuilds);
        self.outputs.renew()?;
        self.deliveries.clear();
        self.flying.clear();
        self.partition_of.clear();
        self.delivered.clear();
        self.progress.tell(News::Aborted(self.progress.turn() + 1));
        self.progress.next_turn(Vec::new());
        std::thread::sleep(self.pace.aborted());
        Ok(())
    }

    fn is_idle(&self) -> bool {
        self.flying.values().all(VecDeque::is_empty)
    }

    /// Waits until everything that was sent is acknowledged, for the search for a refused record.
    fn flush(&mut self, suspect: (Key, (i64, i64)), stop: &Stop) -> Result<(), SinkError> {
        while self.outputs.producer()?.outstanding() > 0 && self.trouble.is_none() && !stop.is_abandoned() {
            drop(self.outputs.producer()?.flush(FULL_WAIT, &mut self.deliveries));
            self.poll(Duration::ZERO)?;
        }
        if let Some(trouble) = &mut self.trouble
            && trouble.suspect.is_some()
        {
            trouble.suspect = Some(suspect);
        }
        Ok(())
    }
}

impl Sink for AtLeastOnce {
    fn attach(&mut self, news: &Sender<News>) {
        self.progress.set_news(news);
    }

    fn keeps_journal(&self) -> bool {
        self.outputs.has_journal()
    }

    fn write(&mut self, batch: Batch, stop: &Stop, _: &mut Vec<Receipt>) -> Result<(), SinkError> {
        let Batch { number, payloads, rules, permit, read_at, since, told, trace, .. } = batch;
        let Batch { outcomes, facts, labels, pointers, body, .. } = batch;
        let (budget, mut lists) = (permit.budget(), Lists { outcomes, facts, labels, pointers, body });
        let Payloads::Messages { mut messages, flight } = payloads else {
            unreachable!("Kafka is read as messages")
        };
        if !self.progress.is_current(&flight) || self.trouble.is_some() {
            return Ok(());
        }
        self.dead = told.as_ref().map_or(self.dead, |told| told.dead);
        let (key, tag, records) = (flight.key(), self.next_tag, messages.len());
        let first = messages.first().map_or(0, Message::offset);
        let next = messages.last().map_or(0, |message| message.offset() + 1);
        let flying = Flying {
            tag,
            outstanding: records,
            offsets: (first, next),
            journal: told.as_ref().map(journal_records).unwrap_or_default().into(),
            expiry_max: told.as_ref().map_or(0, |told| told.expiry_max),
            journaled: None,
            flight,
            permit: Some(permit),
            receipt: Receipt {
                batch: number,
                records: records as u64,
                read_at,
                gated_at: since,
                written_at: since,
                trace,
            },
        };
        lists.body = told.map(|told| told.body).unwrap_or_default();
        self.next_tag += 1;
        self.partition_of.insert(tag, key);
        self.flying.entry(key).or_default().push_back(flying);
        let chunk_records = self.suspects.chunk_records(key, (first, next), records);
        let mut chunk = (first, 0);
        for (message, outcome) in Upcoming::new(&mut messages).zip(&lists.outcomes) {
            let pointer = lists.pointer(*outcome);
            let offset = message.offset();
            chunk = if chunk.1 == 0 { (offset, 1) } else { (chunk.0, chunk.1 + 1) };
            let decided = Decided { outcome: *outcome, pointer, rules: &rules };
            self.send(usize::from(key.0.0), message, &decided, (key, tag << 1), stop)?;
            if Some(chunk.1) == chunk_records {
                self.flush((key, (chunk.0, offset + 1)), stop)?;
                chunk.1 = 0;
            }
            if self.trouble.is_some() {
                return Ok(());
            }
        }
        self.progress.put_by(messages);
        budget.put_by(lists);
        Ok(())
    }

    fn tend(&mut self, _: &Stop, receipts: &mut Vec<Receipt>) -> Result<(), SinkError> {
        self.poll(Duration::ZERO)?;
        if let Some(trouble) = self.trouble.take() {
            return self.recover(trouble);
        }
        if self.progress.asked().is_some() {
            self.progress.answer();
        }
        if Instant::now() >= self.commit_at { self.commit(receipts) } else { Ok(()) }
    }

    fn tend_every(&self) -> Duration {
        TEND_EVERY
    }

    fn finish(&mut self, stop: &Stop, receipts: &mut Vec<Receipt>) -> Result<(), SinkError> {
        while !self.is_idle() && !stop.is_abandoned() {
            self.poll(FULL_WAIT)?;
            if let Some(trouble) = self.trouble.take() {
                return Err(trouble.error.into());
            }
        }
        while !stop.is_abandoned() {
            self.commit(receipts)?;
            if self.progress.is_committed() {
                break;
            }
            std::thread::sleep(COMMIT_PAUSE);
        }
        Ok(())
    }
}

impl Drop for AtLeastOnce {
    fn drop(&mut self) {
        self.flying.clear();
        self.progress.writer_gone();
    }
}
