//! What both sinks do alike: records and journal are given to the producer, and delivery reports taken back.
//!
//! Each batch has a number that never comes again, so a late report of a batch that is no longer known counts for nothing.
//! What goes wrong is noted, not acted on: whether it takes an abort, a new producer or the end is the sink's to decide.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::{Duration, Instant};

use bytes::Bytes;

use crate::judge::Rules;
use crate::kafka::{Class, Code, Delivery, KafkaError, Message};

use super::super::Receipt;
use super::super::batch::{Batch, Payloads};
use super::super::budget::{Lists, Permit};
use super::super::stop::Stop;
use super::outputs::{Decided, Outputs, Upcoming, journal_records};
use super::progress::{Flight, Key, Progress};
use super::suspects::Suspects;

/// How long to wait for delivery reports when librdkafka's queue is full, or everything is to be delivered.
pub(super) const REPORT_WAIT: Duration = Duration::from_millis(100);
/// How often delivery reports are taken while nothing is written.
pub(super) const TEND_EVERY: Duration = Duration::from_millis(5);

/// LIMIT: how often in a row a journal may refuse what a partition writes down, each time so soon after the last, before that
/// is for good.
const REFUSALS_MAX: u32 = 5;
const REFUSALS_WITHIN: Duration = Duration::from_secs(30);

/// What journals refused.
#[derive(Default)]
struct Refusals(BTreeMap<Key, (Instant, u32)>);

impl Refusals {
    /// Counts one; says whether there is no hope.
    fn is_hopeless(&mut self, key: Key, now: Instant) -> bool {
        let (last, count) = self.0.entry(key).or_insert((now, 0));
        *count = if now - *last < REFUSALS_WITHIN { *count + 1 } else { 1 };
        *last = now;
        *count >= REFUSALS_MAX
    }
}

/// A batch that was given to the producer.
pub(super) struct Sent {
    pub(super) key: Key,
    pub(super) epoch: u32,
    /// Source offsets, from the first up to the one behind the last.
    pub(super) offsets: (i64, i64),
    /// Records that are not acknowledged, the journal's among them.
    pub(super) outstanding: usize,
    pub(super) expiry_max: u32,
    /// First and last record of the journal.
    pub(super) journaled: Option<(i64, i64)>,
    /// Given back as soon as the records are acknowledged, whatever becomes of earlier batches.
    permit: Option<Permit>,
    pub(super) receipt: Receipt,
}

/// What went wrong, and with the records between which offsets.
pub(super) struct Trouble {
    pub(super) error: KafkaError,
    pub(super) suspect: Option<(Key, (i64, i64))>,
}

/// A batch whose records are on their way.
pub(super) struct Put {
    pub(super) number: u64,
    pub(super) flight: Flight,
    /// What is to be written down; nothing after trouble.
    pub(super) journal: Vec<Bytes>,
}

/// The outputs, and what is on its way to them.
pub(super) struct Sending {
    pub(super) outputs: Outputs,
    pub(super) suspects: Suspects,
    /// Takes emptied lists back.
    progress: Arc<Progress>,
    /// By number, so in the order of writing.
    sent: BTreeMap<u64, Sent>,
    next_number: u64,
    trouble: Option<Trouble>,
    refusals: Refusals,
    deliveries: Vec<Delivery>,
}

impl Sending {
    pub(super) fn new(outputs: Outputs, progress: &Arc<Progress>) -> Self {
        Self {
            outputs,
            suspects: Suspects::default(),
            progress: Arc::clone(progress),
            sent: BTreeMap::new(),
            next_number: 0,
            trouble: None,
            refusals: Refusals::default(),
            deliveries: Vec::new(),
        }
    }

    /// Sends a batch's records. After trouble the rest is left out: it comes again.
    pub(super) fn put(&mut self, batch: Batch, stop: &Stop) -> Result<Put, KafkaError> {
        let Batch { number: batch_number, payloads, rules, permit, read_at, since, told, trace, .. } = batch;
        let Batch { outcomes, facts, labels, pointers, body, .. } = batch;
        let (budget, mut lists) = (permit.budget(), Lists { outcomes, facts, labels, pointers, body });
        let Payloads::Messages { mut messages, flight } = payloads else {
            unreachable!("Kafka is read as messages")
        };
        let number = self.next_number;
        self.next_number += 1;
        let records = messages.len() as u64;
        let sent = Sent {
            key: flight.key(),
            epoch: flight.epoch(),
            offsets: (
                messages.first().map_or(0, Message::offset),
                messages.last().map_or(0, |message| message.offset() + 1),
            ),
            outstanding: messages.len(),
            expiry_max: told.as_ref().map_or(0, |told| told.expiry_max),
            journaled: None,
            permit: Some(permit),
            receipt: Receipt {
                batch: batch_number,
                records,
                read_at,
                gated_at: since,
                written_at: since,
                trace,
            },
        };
        let whole = (sent.key, sent.offsets);
        self.sent.insert(number, sent);
        self.send_all(number, whole, &mut messages, &lists, &rules, stop)?;
        let mut journal = Vec::new();
        if let Some(told) = told {
            if self.trouble.is_none() {
                journal = journal_records(&told);
            }
            lists.body = told.body;
        }
        self.progress.put_by(messages);
        budget.put_by(lists);
        Ok(Put { number, flight, journal })
    }

    /// Sends records one after the other; where one of them is suspected, each piece is delivered before the next.
    fn send_all(
        &mut self,
        number: u64,
        (key, offsets): (Key, (i64, i64)),
        messages: &mut Vec<Message>,
        lists: &Lists,
        rules: &Rules,
        stop: &Stop,
    ) -> Result<(), KafkaError> {
        let chunk_records = self.suspects.chunk_records(key, offsets, messages.len());
        let mut chunk = (offsets.0, 0);
        for (message, outcome) in Upcoming::new(messages).zip(&lists.outcomes) {
            let pointer = lists.pointer(*outcome);
            let offset = message.offset();
            chunk = if chunk.1 == 0 { (offset, 1) } else { (chunk.0, chunk.1 + 1) };
            let decided = Decided { outcome: *outcome, pointer, rules };
            self.send(key, message, &decided, number << 1, stop)?;
            if Some(chunk.1) == chunk_records {
                self.flush_until(Self::is_lost, stop)?;
                self.narrow((key, (chunk.0, offset + 1)));
                chunk.1 = 0;
            }
            if self.trouble.is_some() {
                break;
            }
        }
        Ok(())
    }

    /// Produces one record; waits while librdkafka's queue is full.
    fn send(
        &mut self,
        key: Key,
        mut message: Message,
        decided: &Decided<'_>,
        tag: u64,
        stop: &Stop,
    ) -> Result<(), KafkaError> {
        loop {
            match self.outputs.send(usize::from(key.0.0), message, decided, tag) {
                Ok(()) => return Ok(()),
                Err((fault, back)) if fault.code == Code::QUEUE_FULL && !stop.is_abandoned() => {
                    message = back;
                    self.poll(REPORT_WAIT)?;
                    if self.trouble.is_some() {
                        return Ok(());
                    }
                }
                Err((fault, back)) => {
                    let offset = back.offset();
                    drop(back);
                    // A record that was refused before tells more than that nothing can be added any more.
                    self.poll(REPORT_WAIT)?;
                    let suspect = (fault.class() == Class::Reject).then_some((key, (offset, offset + 1)));
                    self.note(fault.into(), suspect);
                    return Ok(());
                }
            }
        }
    }

    /// Writes one record of a batch's journal; `false` if there is no room now, or trouble.
    pub(super) fn send_journal(&mut self, number: u64, record: &Bytes) -> bool {
        let Some(sent) = self.sent.get_mut(&number) else { return false };
        match self.outputs.send_journal(usize::from(sent.key.0.0), sent.key.1, record, number << 1 | 1) {
            Ok(()) => {
                sent.outstanding += 1;
                true
            }
            Err(fault) if fault.code == Code::QUEUE_FULL => false,
            Err(fault) => {
                let (input, partition) = (usize::from(sent.key.0.0), sent.key.1);
                let is_refused = fault.class() == Class::Reject && self.trouble.is_none();
                let error = if is_refused && self.refusals.is_hopeless(sent.key, Instant::now()) {
                    // Unlike an envelope, what the state needs cannot be put aside.
                    KafkaError::journal_refused(self.outputs.journal_name(input), partition, fault.code)
                } else {
                    fault.into()
                };
                self.note(error, None);
                false
            }
        }
    }

    /// Waits until everything is acknowledged, or there is trouble.
    pub(super) fn flush(&mut self, stop: &Stop) -> Result<(), KafkaError> {
        self.flush_until(Self::has_trouble, stop)
    }

    fn flush_until(&mut self, is_over: fn(&Self) -> bool, stop: &Stop) -> Result<(), KafkaError> {
        while self.outputs.producer()?.outstanding() > 0 && !is_over(self) && !stop.is_abandoned() {
            // It mostly runs out of time; what is fatal shows at the poll.
            drop(self.outputs.producer()?.flush(REPORT_WAIT, &mut self.deliveries));
            self.poll(Duration::ZERO)?;
        }
        Ok(())
    }

    /// Takes delivery reports.
    pub(super) fn poll(&mut self, wait: Duration) -> Result<(), KafkaError> {
        let mut deliveries = std::mem::take(&mut self.deliveries);
        let polled = self.outputs.producer()?.poll(wait, &mut deliveries);
        // Reports come in runs of one batch, so look each batch up once per run.
        for run in deliveries.chunk_by(|left, right| left.tag == right.tag) {
            self.take_reports(run);
        }
        deliveries.clear();
        self.deliveries = deliveries;
        if let Err(error) = polled {
            self.note(error, None);
        }
        Ok(())
    }

    fn take_reports(&mut self, run: &[Delivery]) {
        let Some(tag) = run.first().map(|report| report.tag) else { return };
        let (number, is_journal) = (tag >> 1, tag & 1 == 1);
        let Some(sent) = self.sent.get_mut(&number) else { return };
        sent.outstanding = sent.outstanding.saturating_sub(run.len());
        if sent.outstanding == 0 {
            sent.permit = None;
            sent.receipt.written_at = Instant::now();
        }
        for report in run {
            match report.outcome {
                Ok(offset) if is_journal => {
                    let (first, last) = sent.journaled.unwrap_or((offset, offset));
                    sent.journaled = Some((first.min(offset), last.max(offset)));
                }
                Ok(_) => {}
                Err(code) => {
                    let is_refused = code.class() == Class::Reject;
                    let suspect = (is_refused && !is_journal).then_some((sent.key, sent.offsets));
                    // A refused record is the cause of what fails with it, whichever report comes first.
                    let known = self.trouble.as_ref().is_some_and(|trouble| trouble.suspect.is_some());
                    if self.trouble.is_none() || (suspect.is_some() && !known) {
                        let error = if is_refused
                            && is_journal
                            && self.refusals.is_hopeless(sent.key, Instant::now())
                        {
                            let name = self.outputs.journal_name(usize::from(sent.key.0.0));
                            KafkaError::journal_refused(name, report.partition, code)
                        } else {
                            KafkaError::undelivered(report.partition, code)
                        };
                        self.trouble = Some(Trouble { error, suspect });
                    }
                }
            }
        }
    }

    /// What went wrong, unless something did before.
    pub(super) fn note(&mut self, error: KafkaError, suspect: Option<(Key, (i64, i64))>) {
        self.trouble.get_or_insert(Trouble { error, suspect });
    }

    /// If a record was refused, it is one of these.
    fn narrow(&mut self, suspect: (Key, (i64, i64))) {
        if let Some(found) = self.trouble.as_mut().and_then(|trouble| trouble.suspect.as_mut()) {
            *found = suspect;
        }
    }

    pub(super) fn has_trouble(&self) -> bool {
        self.trouble.is_some()
    }

    pub(super) fn take_trouble(&mut self) -> Option<Trouble> {
        self.trouble.take()
    }

    /// Whether there is nothing to wait for: a record is refused, or the producer is broken.
    fn is_lost(&self) -> bool {
        let is_fatal = |error: &KafkaError| matches!(error, KafkaError::Fault(fault) if fault.fatal);
        self.trouble.as_ref().is_some_and(|trouble| trouble.suspect.is_some() || is_fatal(&trouble.error))
    }

    /// All batches that are known, in the order of writing.
    pub(super) fn sent(&self) -> impl Iterator<Item = &Sent> {
        self.sent.values()
    }

    /// Whether a batch is acknowledged, as far as it was sent.
    pub(super) fn is_delivered(&self, number: u64) -> bool {
        self.sent.get(&number).is_some_and(|sent| sent.outstanding == 0)
    }

    /// Takes a batch that is done out.
    pub(super) fn land(&mut self, number: u64) -> Option<Sent> {
        self.sent.remove(&number)
    }

    /// Forgets everything that is on its way, and what went wrong with it.
    pub(super) fn forget(&mut self) {
        self.sent.clear();
        self.deliveries.clear();
        self.trouble = None;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::kafka::TopicIndex;

    #[test]
    fn a_journal_that_refuses_once_is_tried_again() {
        let (mut refusals, now, second) = (Refusals::default(), Instant::now(), Duration::from_secs(1));
        let (one, other) = ((TopicIndex(0), 1), (TopicIndex(0), 2));
        assert!((0..4).all(|at| !refusals.is_hopeless(one, now + second * at)));
        assert!(!refusals.is_hopeless(other, now), "each partition by itself");
        assert!(!refusals.is_hopeless(one, now + second * 60), "long after");
        assert!((61..64).all(|at| !refusals.is_hopeless(one, now + second * at)));
        assert!(refusals.is_hopeless(one, now + second * 64));
    }
}
