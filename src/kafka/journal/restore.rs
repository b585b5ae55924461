//! Reading the journal back, on a consumer of its own.
//!
//! Where a committed offset names its range, reading begins at the floor and ends when the record `last` was delivered.
//! Without it the whole journal is read, up to the end that the partition had when we began. Neither an end-of-partition
//! event nor time ends it: a transaction that is still open hides what lies behind it, so the event only counts once it
//! is past what we want; the caller is told where nothing comes for long. Lost or cut journals are told loudly, and end the
//! run unless the settings say otherwise.

use std::time::{Duration, Instant};

use super::record::Header;
use super::{Index, Range};
use crate::kafka::faults::{Class, Code, Fault, KafkaError};
use crate::kafka::raw;
use crate::kafka::raw::handle::Handle;
use crate::kafka::raw::message::Message;
use crate::kafka::raw::partitions::PartitionOffset;
use crate::kafka::raw::rebalance::Rebalance;
use crate::kafka::settings::ConsumerSettings;

/// How long one poll waits, and so how late a stop is noticed.
const POLL_WAIT: Duration = Duration::from_millis(100);
/// One attempt at asking for first and last offsets, and all of them together.
const ASK_WAIT: Duration = Duration::from_secs(5);
const ASK_WAIT_ALL: Duration = Duration::from_mins(1);
/// How often progress is told.
const TELL_EVERY: Duration = Duration::from_secs(5);
/// Nothing coming for so long is told: the brokers are away, or a transaction is open before what is to be read.
const SILENCE: Duration = Duration::from_secs(20);
/// How long the end of the client may take.
const CLOSE_WAIT: Duration = Duration::from_secs(5);

/// What to read for one partition.
#[derive(Clone, Debug)]
pub struct Plan {
    /// The partition whose state it is, as the run numbers it.
    pub source: u64,
    /// The journal's topic.
    pub journal: String,
    /// The partition, of input and journal alike.
    pub partition: i32,
    /// The committed source offset: entries at or past it belong to records that will come again.
    pub before: i64,
    /// What the committed offset says of the journal.
    pub range: Option<Range>,
}

/// What one batch changed.
#[derive(Clone, Debug)]
pub struct Changes {
    /// Whose records it had, as the plan numbers it.
    pub source: u64,
    /// The version of the form.
    pub version: u8,
    /// The source offset that entries count from.
    pub first: i64,
    /// Entries at or past this source offset do not count.
    pub before: i64,
    /// The entries.
    pub body: Vec<u8>,
}

/// How to read journals.
pub struct Restore<'a> {
    /// Brokers and security.
    pub settings: ConsumerSettings,
    /// Goes on without what is lost.
    pub continue_on_loss: bool,
    /// Whether nobody needs the outcome any more.
    pub is_off: &'a dyn Fn() -> bool,
    /// Told of a plan that is not read to its end, while nothing comes.
    pub on_silence: &'a dyn Fn(&Plan),
}

/// One partition that is being read.
struct Reading<'a> {
    plan: &'a Plan,
    /// Reading ends when this offset was passed.
    last: i64,
    index: Index,
    records: u64,
    /// Parts of a batch that is not whole yet.
    body: Vec<u8>,
    parts: Option<Header>,
    /// The journal offset of the first of them.
    parts_from: i64,
    is_done: bool,
}

/// Nobody gives partitions to a reader that takes them by hand.
struct NoGroup;

impl Rebalance for NoGroup {
    fn assigned(&mut self, _partitions: &mut [PartitionOffset]) {}
    fn revoked(&mut self, _partitions: &[PartitionOffset], _lost: bool) {}
}

impl Restore<'_> {
    /// Reads all plans and hands every batch's changes to `each`, in the journal's order. Gives each plan's index.
    pub fn run(mut self, plans: &[Plan], mut each: impl FnMut(Changes)) -> Result<Vec<Index>, KafkaError> {
        let started = Instant::now();
        let (mut readings, starts) = self.begin(plans)?;
        let mut bytes = 0;
        if !starts.is_empty() {
            let conf = self.settings.journal_conf(true)?;
            let mut consumer = raw::consumer::Consumer::new(conf, self.settings.client.tokens.take())?;
            consumer.assign(&starts)?;
            let read = self.read(&mut consumer, &mut readings, &mut each, &mut bytes);
            // What was read is in the state; a client that ends badly changes nothing about that.
            if let Err(error) = consumer.close(CLOSE_WAIT) {
                tracing::warn!(target: "tollgate::kafka", "{error}");
            }
            read?;
        }
        let records: u64 = readings.iter().map(|reading| reading.records).sum();
        tracing::info!(
            partitions = plans.len(),
            records,
            bytes,
            ms = started.elapsed().as_millis() as u64,
            "state restored from the journal"
        );
        Ok(readings.into_iter().map(|reading| reading.index).collect())
    }

    /// Looks where each journal begins and ends, and what of it is to be read from where.
    fn begin<'p>(
        &mut self,
        plans: &'p [Plan],
    ) -> Result<(Vec<Reading<'p>>, Vec<PartitionOffset>), KafkaError> {
        // Ends are asked for with open transactions counted, or a journal would seem cut while one is open.
        let consumer = raw::consumer::Consumer::new(
            self.settings.journal_conf(false)?,
            self.settings.client.tokens.clone(),
        )?;
        let (mut readings, mut starts) = (Vec::new(), Vec::new());
        for plan in plans {
            let ends = self.ends(consumer.handle()?, plan)?;
            let (mut from, last) = match plan.range {
                Some(range) => (range.floor, range.last),
                None => (ends.low, ends.high - 1),
            };
            if last >= from && (ends.low > from || ends.high <= last) {
                let text = format!(
                    "the journal is needed from {from} to {last}, and it has {} to {}",
                    ends.low,
                    ends.high - 1
                );
                self.lose(plan, text)?;
                from = from.max(ends.low);
            }
            let last = last.min(ends.high - 1);
            let is_done = last < from;
            if !is_done {
                starts.push(PartitionOffset::new(&plan.journal, plan.partition, from));
            }
            let mut index = Index::default();
            if is_done && let Some(range) = plan.range.filter(|range| range.last >= 0) {
                index.note((range.last, range.last), 0);
            }
            let (body, parts) = (Vec::new(), None);
            readings.push(Reading { plan, last, index, records: 0, body, parts, parts_from: from, is_done });
        }
        if let Err(error) = consumer.close(CLOSE_WAIT) {
            tracing::warn!(target: "tollgate::kafka", "{error}");
        }
        Ok((readings, starts))
    }

    fn ends(&self, handle: &Handle, plan: &Plan) -> Result<raw::cluster::Watermarks, KafkaError> {
        let deadline = Instant::now() + ASK_WAIT_ALL;
        loop {
            match handle.watermarks(&plan.journal, plan.partition, ASK_WAIT) {
                Err(error) if error.is_retriable() && Instant::now() < deadline && !(self.is_off)() => {
                    std::thread::sleep(POLL_WAIT);
                }
                outcome => return outcome,
            }
        }
    }

    fn read(
        &self,
        consumer: &mut raw::consumer::Consumer,
        readings: &mut [Reading<'_>],
        each: &mut impl FnMut(Changes),
        bytes: &mut u64,
    ) -> Result<(), KafkaError> {
        let mut scratch = Vec::new();
        let mut tell_at = Instant::now() + TELL_EVERY;
        let mut heard_at = Instant::now();
        while readings.iter().any(|reading| !reading.is_done) {
            if (self.is_off)() {
                return Err(KafkaError::Closed);
            }
            consumer.poll(POLL_WAIT, &mut NoGroup, &mut scratch)?;
            for message in scratch.drain(..) {
                *bytes += message.bytes() as u64;
                self.take(&message, readings, each)?;
                // The end of what can be read is no news.
                if message.code().is_none() {
                    heard_at = Instant::now();
                }
            }
            if Instant::now() >= tell_at {
                tell_at += TELL_EVERY;
                tell(readings, *bytes);
            }
            if heard_at.elapsed() >= SILENCE {
                heard_at = Instant::now();
                let hidden = readings.iter().filter(|reading| !reading.is_done);
                hidden.for_each(|reading| (self.on_silence)(reading.plan));
            }
        }
        Ok(())
    }

    fn take(
        &self,
        message: &Message,
        readings: &mut [Reading<'_>],
        each: &mut impl FnMut(Changes),
    ) -> Result<(), KafkaError> {
        let (topic, code) = (message.topic(), message.code());
        let wanted = |reading: &&mut Reading<'_>| {
            reading.plan.partition == message.partition() && reading.plan.journal == topic
        };
        let Some(reading) = readings.iter_mut().find(wanted) else {
            return if code.is_none() || code.class().is_passing() {
                Ok(())
            } else {
                Err(message.fault("read the journal").into())
            };
        };
        if code.is_none() {
            return self.take_record(reading, message, each);
        }
        if code == Code::PARTITION_EOF {
            let is_passed = !reading.is_done && message.offset() > reading.last;
            return if is_passed { self.pass(reading) } else { Ok(()) };
        }
        let fault: Fault = message.fault("read the journal");
        match fault.class() {
            Class::Retry | Class::Pause => {
                tracing::warn!(target: "tollgate::kafka", "{fault}");
                Ok(())
            }
            _ => Err(fault.into()),
        }
    }

    fn take_record(
        &self,
        reading: &mut Reading<'_>,
        message: &Message,
        each: &mut impl FnMut(Changes),
    ) -> Result<(), KafkaError> {
        if reading.is_done {
            return Ok(());
        }
        if message.offset() > reading.last {
            return self.pass(reading);
        }
        reading.is_done = message.offset() >= reading.last;
        reading.records += 1;
        let (header, body) = match Header::read(message.payload().unwrap_or_default()) {
            Ok(read) => read,
            Err(error) => {
                return self.lose(reading.plan, format!("offset {}: {error}", message.offset()));
            }
        };
        if header.is_blank() {
            return Ok(());
        }
        let follows = match reading.parts {
            None => header.part == 0,
            Some(before) => {
                (header.part, header.parts, header.first) == (before.part + 1, before.parts, before.first)
            }
        };
        if !follows {
            // A batch whose last parts were never written: its offset was not committed either.
            reading.body.clear();
            reading.parts = None;
            if header.part != 0 {
                return Ok(());
            }
        }
        if header.part == 0 {
            reading.parts_from = message.offset();
        }
        reading.body.extend_from_slice(body);
        reading.parts = Some(header);
        if header.part + 1 == header.parts {
            reading.parts = None;
            reading.index.note((reading.parts_from, message.offset()), header.expiry_max);
            let body = std::mem::take(&mut reading.body);
            let before = reading.plan.before;
            if header.first < before {
                let (source, version, first) = (reading.plan.source, header.version, header.first);
                each(Changes { source, version, first, before, body });
            }
        }
        Ok(())
    }

    /// The last record that is wanted did not come before what lies behind it.
    fn pass(&self, reading: &mut Reading<'_>) -> Result<(), KafkaError> {
        reading.is_done = true;
        match reading.plan.range {
            Some(range) => {
                self.lose(reading.plan, format!("record {} of the journal is not there any more", range.last))
            }
            // Then the end was any offset, most likely that of a transaction's marker.
            None => Ok(()),
        }
    }

    /// Something of the journal is gone.
    fn lose(&self, plan: &Plan, text: String) -> Result<(), KafkaError> {
        let lost = KafkaError::StateLost { topic: plan.journal.clone(), partition: plan.partition, text };
        if self.continue_on_loss {
            tracing::error!("{lost}; going on without it: copies of older messages may pass");
            return Ok(());
        }
        Err(lost)
    }
}

fn tell(readings: &[Reading<'_>], bytes: u64) {
    let left = readings.iter().filter(|reading| !reading.is_done).count();
    let records: u64 = readings.iter().map(|reading| reading.records).sum();
    tracing::info!(records, bytes, partitions_left = left, "restoring state from the journal");
}
