//! Produces to the accepted and rejected topics without copying, and commits what was delivered.

use std::collections::{BTreeMap, VecDeque};
use std::io::Write as _;
use std::sync::Arc;
use std::time::{Duration, Instant};

use crate::config;
use crate::judge::Rules;
use crate::kafka::{Class, Delivery, KafkaError, Message, Producer, TopicHandle};

use super::super::batch::{Batch, Outcome, Payloads};
use super::super::budget::Permit;
use super::super::route;
use super::super::stop::Stop;
use super::super::{Receipt, Sink, SinkError};
use super::progress::{Flight, Progress};

/// The header of rejected records.
const REJECT_HEADER: &str = "tollgate.reject";
/// How long to wait for delivery reports when librdkafka's queue is full.
const FULL_WAIT: Duration = Duration::from_millis(10);
/// How often delivery reports are taken while nothing is written.
const TEND_EVERY: Duration = Duration::from_millis(5);
/// How long to wait before a commit that failed at the end is tried again.
const COMMIT_PAUSE: Duration = Duration::from_millis(500);
/// How long the producer may take to close.
const CLOSE_WAIT: Duration = Duration::from_secs(10);

/// Where an input topic's records go.
struct Output {
    accepted: Destination,
    rejected: Destination,
    input: String,
}

#[derive(Clone, Copy)]
struct Destination {
    topic: TopicHandle,
    partitions: i32,
}

/// The producer and the topics it writes to, one entry per input topic in the order of the configuration.
pub(super) struct Outputs {
    producer: Producer,
    by_topic: Vec<Output>,
}

impl Outputs {
    /// Looks the output topics up; one that does not exist is an error now, not when its first record comes.
    pub(super) fn look_up(
        kafka: &config::Kafka,
        mut producer: Producer,
        wait: Duration,
    ) -> Result<Self, KafkaError> {
        let cluster = producer.cluster()?;
        let mut by_topic = Vec::new();
        for input in &kafka.topics {
            cluster.partition_count(input, wait)?;
            let mut destination = |name: &str| {
                let partitions = cluster.partition_count(name, wait)?;
                Ok::<_, KafkaError>(Destination { topic: producer.topic(name)?, partitions })
            };
            let accepted = destination(&kafka.accepted_topic(input))?;
            let rejected = destination(&kafka.rejected_topic(input))?;
            by_topic.push(Output { accepted, rejected, input: input.clone() });
        }
        Ok(Self { producer, by_topic })
    }
}

/// A batch whose records were produced and not all delivered.
struct Flying {
    tag: u64,
    outstanding: usize,
    /// The offset behind its last record.
    next: i64,
    flight: Flight,
    /// Given back as soon as its records are delivered, even if earlier batches are not.
    permit: Option<Permit>,
    receipt: Receipt,
}

/// The sink.
pub struct KafkaSink {
    /// Taken out only to be closed.
    outputs: Option<Outputs>,
    progress: Arc<Progress>,
    /// Per partition (as the pipeline numbers them), in order.
    flying: BTreeMap<u64, VecDeque<Flying>>,
    /// Which partition a tag belongs to, for tags that are flying.
    partition_of: BTreeMap<u64, u64>,
    next_tag: u64,
    deliveries: Vec<Delivery>,
    /// Delivered, waiting for the commit.
    delivered: Vec<Receipt>,
    note: Vec<u8>,
    commit_every: Duration,
    commit_at: Instant,
}

impl KafkaSink {
    pub(super) fn new(outputs: Outputs, progress: Arc<Progress>, commit_every: Duration) -> Self {
        Self {
            outputs: Some(outputs),
            progress,
            flying: BTreeMap::new(),
            partition_of: BTreeMap::new(),
            next_tag: 0,
            deliveries: Vec::new(),
            delivered: Vec::new(),
            note: Vec::new(),
            commit_every,
            commit_at: Instant::now() + commit_every,
        }
    }

    /// Produces one record; waits while librdkafka's queue is full.
    fn produce(
        &mut self,
        input: usize,
        message: Message,
        outcome: Outcome,
        pointer: &[u8],
        rules: &Rules,
        stop: &Stop,
    ) -> Result<(), SinkError> {
        let Self { outputs, note, .. } = self;
        let Some(output) = outputs.as_ref().and_then(|outputs| outputs.by_topic.get(input)) else {
            unreachable!("only configured topics are read");
        };
        let (partition, offset) = (message.partition(), message.offset());
        note.clear();
        route::write_note(note, outcome.verdict, pointer, rules, |out| {
            route::write_escaped(out, output.input.as_bytes());
            // Writing to memory cannot fail.
            let _ = write!(out, "/{partition}/{offset}");
        });
        let to = if outcome.verdict.is_accept() { output.accepted } else { output.rejected };
        let mut message = message;
        loop {
            let Some(outputs) = &mut self.outputs else { return Ok(()) };
            let extra = (!self.note.is_empty()).then_some((REJECT_HEADER, self.note.as_slice()));
            // With fewer partitions than the input has, several of them share one; the order within each stays.
            let target = Some(partition % to.partitions.max(1));
            match outputs.producer.produce(to.topic, target, message, extra, self.next_tag) {
                Ok(()) => return Ok(()),
                Err((fault, back)) if fault.class() == Class::Retry && !stop.is_abandoned() => {
                    message = back;
                    outputs.producer.poll(FULL_WAIT, &mut self.deliveries)?;
                    self.take_deliveries()?;
                }
                Err((fault, _)) => return Err(KafkaError::from(fault).into()),
            }
        }
    }

    /// Takes delivery reports: lands batches, raises watermarks.
    fn take_deliveries(&mut self) -> Result<(), SinkError> {
        let deliveries = std::mem::take(&mut self.deliveries);
        // Reports come in runs of one batch, so look each batch up once per run.
        for run in deliveries.chunk_by(|left, right| left.tag == right.tag) {
            let Some(first) = run.first() else { continue };
            if let Some((partition, code)) =
                run.iter().find_map(|report| Some((report.partition, report.outcome.err()?)))
            {
                return Err(KafkaError::undelivered(partition, code).into());
            }
            let Some(partition) = self.partition_of.get(&first.tag) else { continue };
            let Some(queue) = self.flying.get_mut(partition) else { continue };
            if let Some(batch) = queue.iter_mut().find(|batch| batch.tag == first.tag) {
                batch.outstanding = batch.outstanding.saturating_sub(run.len());
            }
        }
        self.deliveries = deliveries;
        self.deliveries.clear();
        self.land();
        Ok(())
    }

    /// Takes batches off that were delivered whole, in the order of their partition.
    fn land(&mut self) {
        for queue in self.flying.values_mut() {
            for batch in queue.iter_mut().filter(|batch| batch.outstanding == 0) {
                batch.permit = None;
            }
            while let Some(batch) = queue.pop_front_if(|batch| batch.outstanding == 0) {
                self.partition_of.remove(&batch.tag);
                self.progress.delivered(&batch.flight, batch.next);
                self.delivered.push(Receipt { written_at: Instant::now(), ..batch.receipt });
            }
        }
    }

    /// Commits, and passes the receipts of what was delivered before on.
    fn commit(&mut self, receipts: &mut Vec<Receipt>) -> Result<(), SinkError> {
        self.commit_at = Instant::now() + self.commit_every;
        let before = self.delivered.len();
        match self.progress.commit(None) {
            Ok(()) => {
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

    fn poll(&mut self, wait: Duration) -> Result<(), SinkError> {
        if let Some(outputs) = &mut self.outputs {
            outputs.producer.poll(wait, &mut self.deliveries)?;
        }
        self.take_deliveries()
    }

    fn is_idle(&self) -> bool {
        self.flying.values().all(VecDeque::is_empty)
    }
}

impl Sink for KafkaSink {
    fn write(&mut self, batch: Batch, stop: &Stop, _: &mut Vec<Receipt>) -> Result<(), SinkError> {
        let Batch { number, partition, payloads, outcomes, pointers, rules, permit, read_at, since, .. } =
            batch;
        let Payloads::Messages { messages, flight } = payloads else {
            unreachable!("Kafka is read as messages")
        };
        let input = (partition.0 >> 32) as usize;
        let next = messages.last().map_or(0, |message| message.offset() + 1);
        let tag = self.next_tag;
        let receipt = Receipt {
            batch: number,
            records: messages.len() as u64,
            read_at,
            gated_at: since,
            written_at: since,
        };
        let flying = Flying { tag, outstanding: messages.len(), next, flight, permit: Some(permit), receipt };
        self.partition_of.insert(tag, partition.0);
        self.flying.entry(partition.0).or_default().push_back(flying);
        for (message, outcome) in messages.into_iter().zip(outcomes) {
            let pointer =
                pointers.get(outcome.pointer.0 as usize..outcome.pointer.1 as usize).unwrap_or_default();
            self.produce(input, message, outcome, pointer, &rules, stop)?;
        }
        self.next_tag += 1;
        Ok(())
    }

    fn tend(&mut self, _: &Stop, receipts: &mut Vec<Receipt>) -> Result<(), SinkError> {
        self.poll(Duration::ZERO)?;
        if Instant::now() >= self.commit_at { self.commit(receipts) } else { Ok(()) }
    }

    fn tend_every(&self) -> Duration {
        TEND_EVERY
    }

    fn finish(&mut self, stop: &Stop, receipts: &mut Vec<Receipt>) -> Result<(), SinkError> {
        while !self.is_idle() && !stop.is_abandoned() {
            self.poll(FULL_WAIT)?;
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

impl Drop for KafkaSink {
    fn drop(&mut self) {
        if let Some(outputs) = self.outputs.take()
            && let Err(error) = outputs.producer.close(CLOSE_WAIT, &mut Vec::new())
        {
            tracing::warn!("{error}");
        }
    }
}
