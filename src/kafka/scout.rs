//! Looks at partitions before they are read: how many there are, where a bound lies, and which record is the last
//! before it.
//!
//! The last record is not the last offset: behind it may stand marks of transactions, aborted records, or gaps that
//! compaction left, and a reader that waits for those offsets waits for ever. So the scout reads the tail itself, on a
//! client of its own, message by message and with events for the end of a partition, which a client that is read by
//! batch must not have (librdkafka#4844). It is in no group and commits nothing.

use std::time::{Duration, Instant};

use super::faults::{Code, Fault, KafkaError};
use super::group::patiently;
use super::raw;
use super::raw::message::Message;
use super::raw::partitions::PartitionOffset;
use super::raw::rebalance::Rebalance;
use super::settings::ConsumerSettings;
use crate::config::Bound;

/// One wait for a message.
const POLL_WAIT: Duration = Duration::from_millis(100);
/// How far before the stop the search begins, and how much further back each turn goes.
const TAIL: i64 = 2;
const TAIL_GROWTH: i64 = 16;

/// The scout.
pub(super) struct Scout {
    raw: raw::consumer::Consumer,
    group: String,
    deadline: Instant,
}

/// Nobody gives partitions to a scout.
struct NoGroup;

impl Rebalance for NoGroup {
    fn assigned(&mut self, _partitions: &mut [PartitionOffset]) {}
    fn revoked(&mut self, _partitions: &[PartitionOffset], _lost: bool) {}
}

/// The search in one partition.
struct Tail {
    at: PartitionOffset,
    low: i64,
    stop: i64,
    /// Where this turn began.
    from: i64,
    /// Behind the last record before the stop, as far as it is known.
    until: i64,
    done: bool,
}

impl Scout {
    /// A scout that has the settings' time for a newly assigned partition.
    pub(super) fn open(settings: &ConsumerSettings) -> Result<Self, KafkaError> {
        let mut conf = settings.conf()?;
        for (key, value) in
            [("enable.partition.eof", "true"), ("queued.min.messages", "1"), ("fetch.wait.max.ms", "50")]
        {
            conf.set(key, value)?;
        }
        let raw = raw::consumer::Consumer::new(conf, settings.client.tokens.clone())?;
        Ok(Self { raw, group: settings.group.clone(), deadline: Instant::now() + settings.assign_wait })
    }

    /// Where the bound lies in every partition of the topic.
    pub(super) fn resolve(&self, topic: &str, bound: Bound) -> Result<Vec<PartitionOffset>, KafkaError> {
        let handle = self.raw.handle()?;
        let count = patiently(self.deadline, |wait| handle.partition_count(topic, wait))?;
        let mut partitions: Vec<_> = (0..count).map(|at| PartitionOffset::new(topic, at, 0)).collect();
        patiently(self.deadline, |wait| bound.resolve(handle, &self.group, &mut partitions, wait))?;
        Ok(partitions)
    }

    /// Turns each offset into the one behind the last record before it; where there is no such record, into 0.
    /// An offset that is still to come stays.
    pub(super) fn settle(&mut self, stops: &mut [PartitionOffset]) -> Result<(), KafkaError> {
        let mut tails = Vec::new();
        for stop in stops.iter() {
            let handle = self.raw.handle()?;
            let (topic, partition) = (&stop.topic, stop.partition);
            let range = patiently(self.deadline, |wait| handle.watermarks(topic, partition, wait))?;
            let mut tail = Tail {
                at: stop.clone(),
                low: range.low,
                stop: stop.offset,
                from: stop.offset,
                until: stop.offset,
                done: stop.offset > range.high,
            };
            tail.step_back(TAIL);
            tails.push(tail);
        }
        let mut growth = TAIL;
        while tails.iter().any(|tail| !tail.done) {
            self.turn(&mut tails)?;
            growth = growth.saturating_mul(TAIL_GROWTH);
            tails.iter_mut().filter(|tail| !tail.done).for_each(|tail| tail.step_back(growth));
        }
        stops.iter_mut().zip(tails).for_each(|(stop, tail)| stop.offset = tail.until);
        Ok(())
    }

    /// Reads every open tail from where it begins now up to its stop.
    fn turn(&mut self, tails: &mut [Tail]) -> Result<(), KafkaError> {
        let open = |tail: &&mut Tail| !tail.done;
        let mut left: Vec<&mut Tail> = tails.iter_mut().filter(open).collect();
        let list: Vec<_> =
            left.iter().map(|tail| PartitionOffset { offset: tail.from, ..tail.at.clone() }).collect();
        self.raw.assign(&list)?;
        let mut messages = Vec::new();
        while !left.is_empty() {
            if Instant::now() >= self.deadline {
                let tail = left.first().map(|tail| tail.at.clone());
                let fault = Fault::new("find the last record", Code::TIMED_OUT);
                return Err(match tail {
                    Some(at) => fault.at(&at.topic, Some(at.partition), Some(at.offset)).into(),
                    None => fault.into(),
                });
            }
            self.raw.poll(POLL_WAIT, &mut NoGroup, &mut messages)?;
            for message in messages.drain(..) {
                let ended = look_at(&message, &mut left)?;
                if let Some(index) = ended {
                    left.swap_remove(index);
                }
            }
        }
        Ok(())
    }

    pub(super) fn close(self, deadline: Duration) -> Result<(), KafkaError> {
        self.raw.close(deadline)
    }
}

/// Notes what a message says about its partition; gives the tail whose turn has ended by it.
fn look_at(message: &Message, left: &mut [&mut Tail]) -> Result<Option<usize>, KafkaError> {
    let code = message.code();
    if !code.is_none() && code != Code::PARTITION_EOF {
        let fault = message.fault("look for the last record");
        return if fault.is_retriable() { Ok(None) } else { Err(fault.into()) };
    }
    let (topic, partition) = (message.topic(), message.partition());
    let found = left.iter().position(|tail| tail.at.topic == topic && tail.at.partition == partition);
    let Some((index, tail)) = found.and_then(|index| Some((index, left.get_mut(index)?))) else {
        return Ok(None);
    };
    // What is left of an earlier turn.
    if message.offset() < tail.from {
        return Ok(None);
    }
    if code.is_none() && message.offset() < tail.stop {
        (tail.until, tail.done) = (message.offset() + 1, true);
    }
    let ended = !code.is_none() || message.offset() + 1 >= tail.stop;
    if ended && !tail.done && tail.from == tail.low {
        // Not one record before the stop.
        (tail.until, tail.done) = (0, true);
    }
    Ok(ended.then_some(index))
}

impl Tail {
    fn step_back(&mut self, by: i64) {
        self.from = self.stop.saturating_sub(by).max(self.low);
        if self.stop <= self.low {
            (self.until, self.done) = (0, true);
        }
    }
}
