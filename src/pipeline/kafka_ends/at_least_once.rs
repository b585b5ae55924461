//! The sink that writes at least once: outputs acknowledged, then the journal, then the offset, up to a contiguous
//! watermark per partition.
//!
//! What fails is never skipped: a new producer goes on from the committed offsets, so that some records are written twice.

use std::collections::{BTreeMap, VecDeque};
use std::sync::Arc;
use std::time::{Duration, Instant};

use bytes::Bytes;
use crossbeam::channel::Sender;

use crate::kafka::{Class, KafkaError};

use super::super::batch::{Batch, Payloads};
use super::super::news::News;
use super::super::stop::Stop;
use super::super::{Receipt, Sink, SinkError};
use super::outputs::Outputs;
use super::pace::Pace;
use super::progress::{Ask, Flight, Key, Progress};
use super::sending::{Put, REPORT_WAIT, Sending, TEND_EVERY, Trouble};
use super::vitals::Vitals;

/// How long to wait before a commit that failed at the end is tried again.
const COMMIT_PAUSE: Duration = Duration::from_millis(500);

/// A batch whose records were produced and not all acknowledged.
struct Flying {
    number: u64,
    /// To be written down when the outputs are acknowledged.
    journal: VecDeque<Bytes>,
    /// Lands when the batch has.
    flight: Flight,
}

/// The sink.
pub(super) struct AtLeastOnce {
    sending: Sending,
    progress: Arc<Progress>,
    /// Per partition, in order.
    flying: BTreeMap<Key, VecDeque<Flying>>,
    /// Delivered, waiting for the commit.
    delivered: Vec<Receipt>,
    pace: Pace,
    dead: u32,
    commit_every: Duration,
    commit_at: Instant,
}

impl AtLeastOnce {
    pub(super) fn new(outputs: Outputs, progress: Arc<Progress>, commit_every: Duration) -> Self {
        Self {
            sending: Sending::new(outputs, &progress),
            progress,
            flying: BTreeMap::new(),
            delivered: Vec::new(),
            pace: Pace::new(commit_every, u64::MAX),
            dead: 0,
            commit_every,
            commit_at: Instant::now() + commit_every,
        }
    }

    /// Takes delivery reports: lands batches, raises watermarks.
    fn poll(&mut self, wait: Duration) -> Result<(), SinkError> {
        self.sending.poll(wait)?;
        if !self.sending.has_trouble() {
            self.land();
        }
        Ok(())
    }

    /// Takes batches off that were delivered whole, in the order of their partition: first their journal is written, then
    /// their watermark is raised.
    fn land(&mut self) {
        for (key, queue) in &mut self.flying {
            for batch in &mut *queue {
                if !self.sending.is_delivered(batch.number) {
                    break;
                }
                while let Some(record) = batch.journal.front()
                    && self.sending.send_journal(batch.number, record)
                {
                    batch.journal.pop_front();
                }
            }
            let is_done =
                |batch: &mut Flying| batch.journal.is_empty() && self.sending.is_delivered(batch.number);
            let mut done = Vec::new();
            while let Some(batch) = queue.pop_front_if(is_done) {
                done.push(batch);
            }
            for sent in done.iter().filter_map(|batch| self.sending.land(batch.number)) {
                let owner = (*key, sent.epoch);
                if let Some(records) = sent.journaled {
                    self.progress.journaled(owner, records, sent.expiry_max);
                }
                self.progress.delivered(owner, sent.offsets.1);
                self.delivered.push(sent.receipt);
            }
        }
    }

    /// Commits, and passes the receipts of what was delivered before on.
    fn commit(&mut self, receipts: &mut Vec<Receipt>, is_last: bool) -> Result<(), SinkError> {
        self.commit_at = Instant::now() + self.commit_every;
        let before = self.delivered.len();
        match self.progress.commit(None, self.dead) {
            Ok(()) => {
                self.pace.committed(Duration::ZERO);
                receipts.extend(self.delivered.drain(..before));
                Ok(())
            }
            // What is delivered stays delivered; the commit is tried again next time, by a new consumer if that is what it
            // takes. At the end nobody makes one.
            Err(error) if error.class() != Class::Stop && !(is_last && error.class() == Class::Rebuild) => {
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
            self.sending.suspects.suspect(key, range);
            if let Some((key, offset)) = self.sending.suspects.found()
                && self.progress.refuse(key, offset)
            {
                return Err(KafkaError::stub_refused(key.1, offset).into());
            }
        }
        self.start_over()
    }

    /// A new producer, and everything from the committed offsets on again; nothing of what was on its way is held any more.
    fn start_over(&mut self) -> Result<(), SinkError> {
        Vitals::count(&self.progress.vitals.rebuilds);
        Vitals::count(&self.progress.status.rebuilds);
        self.sending.outputs.renew()?;
        self.sending.forget();
        self.flying.clear();
        self.delivered.clear();
        self.progress.tell(News::Aborted(self.progress.turn() + 1));
        self.progress.next_turn(Vec::new());
        std::thread::sleep(self.pace.aborted());
        Ok(())
    }

    fn is_idle(&self) -> bool {
        self.flying.values().all(VecDeque::is_empty)
    }
}

impl Sink for AtLeastOnce {
    fn attach(&mut self, news: &Sender<News>) {
        self.progress.set_news(news);
    }

    fn keeps_journal(&self) -> bool {
        self.sending.outputs.has_journal()
    }

    fn write(&mut self, batch: Batch, stop: &Stop, _: &mut Vec<Receipt>) -> Result<(), SinkError> {
        let Payloads::Messages { flight, .. } = &batch.payloads else {
            unreachable!("Kafka is read as messages")
        };
        // What comes again anyway is dropped.
        if !self.progress.is_current(flight) || self.sending.has_trouble() {
            return Ok(());
        }
        self.dead = batch.told.as_ref().map_or(self.dead, |told| told.dead);
        let Put { number, flight, journal } = self.sending.put(batch, stop)?;
        let flying = Flying { number, journal: journal.into(), flight };
        self.flying.entry(flying.flight.key()).or_default().push_back(flying);
        Ok(())
    }

    fn tend(&mut self, _: &Stop, receipts: &mut Vec<Receipt>) -> Result<(), SinkError> {
        self.poll(Duration::ZERO)?;
        if let Some(trouble) = self.sending.take_trouble() {
            return self.recover(trouble);
        }
        if let Some(asked) = self.progress.asked() {
            if asked == Ask::Abort {
                // What is acknowledged from here on belongs to others, or is read again: it must not count as seen.
                self.start_over()?;
            }
            self.progress.answer();
        }
        if Instant::now() >= self.commit_at { self.commit(receipts, false) } else { Ok(()) }
    }

    fn tend_every(&self) -> Duration {
        TEND_EVERY
    }

    fn finish(&mut self, stop: &Stop, receipts: &mut Vec<Receipt>) -> Result<(), SinkError> {
        while !self.is_idle() && !stop.is_abandoned() {
            self.poll(REPORT_WAIT)?;
            if let Some(trouble) = self.sending.take_trouble() {
                return Err(trouble.error.into());
            }
        }
        while !stop.is_abandoned() {
            self.commit(receipts, true)?;
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
