//! The producer and the topics it writes to: accepted, rejected and journal of each input topic.
//!
//! Records are produced from the memory they were received in. What becomes of a transaction or an offset is decided
//! by the sinks; here it is only said which record goes where, and in which form.

use std::io::Write as _;
use std::time::{Duration, Instant};

use bytes::Bytes;

use crate::config::{self, Config, RejectHeaders};
use crate::credentials::digest::{hex, sha256};
use crate::judge::Rules;
use crate::kafka::journal::{self, JournalTopics};
use crate::kafka::{Cluster, Code, Fault, KafkaError, Message, Producer, Record, TopicHandle};
use crate::verdict::Reason;

use super::super::batch::Outcome;
use super::super::route::{self, redact};

/// The header of rejected records.
const REJECT_HEADER: &str = "tollgate.reject";
/// Headers that dead-letter queues of Kafka itself have.
const TOPIC_HEADER: &str = "__dlq.errors.topic";
const PARTITION_HEADER: &str = "__dlq.errors.partition";
const OFFSET_HEADER: &str = "__dlq.errors.offset";
const GROUP_HEADER: &str = "__dlq.errors.group";
const MESSAGE_HEADER: &str = "__dlq.errors.message";
/// LIMIT: a stub keeps the record's key up to this size, since a topic that is compacted needs one.
const STUB_KEY_BYTES_MAX: usize = 4096;
/// How long the producer may take to close.
const CLOSE_WAIT: Duration = Duration::from_secs(10);
/// How long a journal that was just made may take to be known to the brokers, and how often that is looked at.
const CREATED_WAIT: Duration = Duration::from_secs(30);
const CREATED_LOOK: Duration = Duration::from_millis(100);
/// How long it may take to look whether a journal has grown.
const GROWN_WAIT: Duration = Duration::from_secs(5);

/// Makes a producer; a new one takes the place of one that is broken.
pub(super) type Make = Box<dyn Fn() -> Result<Producer, KafkaError> + Send>;

/// Where an input topic's records go.
struct Output {
    input: String,
    accepted: Destination,
    rejected: Destination,
    journal: Option<Destination>,
}

struct Destination {
    name: String,
    topic: TopicHandle,
    partitions: i32,
}

impl Destination {
    /// With fewer partitions than the input has, several of them share one; the order within each stays.
    fn partition(&self, of: i32) -> i32 {
        of % self.partitions.max(1)
    }
}

/// The producer and its topics, one entry per input topic in the order of the configuration.
pub(super) struct Outputs {
    make: Make,
    /// `None` only while a new one is made.
    producer: Option<Producer>,
    by_topic: Vec<Output>,
    /// Records go by their key, instead of keeping their partition.
    by_key: bool,
    group: String,
    /// What rejected records carry.
    form: config::Rejected,
    note: Vec<u8>,
}

/// Messages that are sent one after the other, each with its memory fetched some time before its turn.
///
/// PERF: workers on other cores had them last; the writer would wait for each one, three times.
pub(super) struct Upcoming<'a>(std::vec::Drain<'a, Message>);

/// How many records before its turn a message's memory is fetched, and that around its payload.
const MESSAGE_AHEAD: usize = 12;
const EDGES_AHEAD: usize = 6;

impl<'a> Upcoming<'a> {
    pub(super) fn new(messages: &'a mut Vec<Message>) -> Self {
        messages.iter().take(MESSAGE_AHEAD).for_each(Message::expect);
        Self(messages.drain(..))
    }
}

impl Iterator for Upcoming<'_> {
    type Item = Message;

    fn next(&mut self) -> Option<Message> {
        let message = self.0.next();
        let coming = self.0.as_slice();
        if let Some(later) = coming.get(MESSAGE_AHEAD) {
            later.expect();
        }
        if let Some(later) = coming.get(EDGES_AHEAD) {
            later.expect_edges();
        }
        message
    }
}

/// A record and what was decided about it.
pub(super) struct Decided<'a> {
    pub(super) outcome: Outcome,
    pub(super) pointer: &'a [u8],
    pub(super) rules: &'a Rules,
}

impl Outputs {
    /// Looks the topics up; one that does not exist is an error now, not when its first record comes. Only journals are
    /// made where they are missing.
    pub(super) fn look_up(
        config: &Config,
        make: Make,
        journals: &JournalTopics,
        wait: Duration,
    ) -> Result<Self, KafkaError> {
        let kafka = &config.kafka;
        let mut producer = make()?;
        let cluster = producer.cluster()?;
        let mut by_topic = Vec::new();
        for input in &kafka.topics {
            let input_partitions = cluster.partition_count(input, wait)?;
            let mut destination = |name: String| {
                let partitions = cluster.partition_count(&name, wait)?;
                let topic = producer.topic(&name)?;
                Ok::<_, KafkaError>(Destination { name, topic, partitions })
            };
            let accepted = destination(kafka.accepted_topic(input))?;
            let rejected = destination(kafka.rejected_topic(input))?;
            let journal = match kafka.journal_topic(input) {
                Some(name) => {
                    prepare_journal(journals, &cluster, &name, input_partitions, wait)?;
                    Some(destination(name)?)
                }
                None => None,
            };
            by_topic.push(Output { input: input.clone(), accepted, rejected, journal });
        }
        let by_key = kafka.partition == config::PartitionChoice::Key;
        let (group, form) = (kafka.group.clone(), config.rejected.clone());
        Ok(Self { make, producer: Some(producer), by_topic, by_key, group, form, note: Vec::new() })
    }

    /// The producer.
    pub(super) fn producer(&mut self) -> Result<&mut Producer, KafkaError> {
        self.producer.as_mut().ok_or(KafkaError::Closed)
    }

    /// Whether changes of the state are written down.
    pub(super) fn has_journal(&self) -> bool {
        self.by_topic.iter().any(|output| output.journal.is_some())
    }

    /// Sends a record on; where it cannot be queued it comes back.
    pub(super) fn send(
        &mut self,
        input: usize,
        mut message: Message,
        decided: &Decided<'_>,
        tag: u64,
    ) -> Result<(), (Fault, Message)> {
        let Self { producer: Some(producer), by_topic, by_key, group, form, note, .. } = self else {
            return Err((Fault::closed(), message));
        };
        let Some(output) = by_topic.get(input) else {
            unreachable!("only configured topics are read");
        };
        let (partition, offset) = (message.partition(), message.offset());
        note.clear();
        route::write_note(note, decided.outcome.verdict, decided.pointer, decided.rules, |out| {
            route::write_escaped(out, output.input.as_bytes());
            // Writing to memory cannot fail.
            let _ = write!(out, "/{partition}/{offset}");
        });
        let verdict = decided.outcome.verdict;
        let to = if verdict.is_accept() { &output.accepted } else { &output.rejected };
        if verdict.reason == Some(Reason::Undeliverable) {
            return send_stub(producer, to, note, &message, tag).map_err(|fault| (fault, message));
        }
        let target = (!*by_key).then(|| to.partition(partition));
        let Some(reason) = verdict.reason else {
            return producer.produce(to.topic, target, message, None, tag);
        };
        if form.redact
            && let Some(redacted) = redact(message.payload().unwrap_or_default(), verdict, decided.rules)
        {
            message.replace_payload(redacted.into());
        }
        let note = (REJECT_HEADER, note.as_slice());
        if form.headers == RejectHeaders::Note {
            return producer.produce(to.topic, target, message, Some(note), tag);
        }
        let (partition, offset) = (partition.to_string(), offset.to_string());
        let headers = [
            note,
            (TOPIC_HEADER, output.input.as_bytes()),
            (PARTITION_HEADER, partition.as_bytes()),
            (OFFSET_HEADER, offset.as_bytes()),
            (GROUP_HEADER, group.as_bytes()),
            (MESSAGE_HEADER, reason.text().as_bytes()),
        ];
        producer.produce(to.topic, target, message, headers, tag)
    }

    /// Writes one record of the journal.
    pub(super) fn send_journal(
        &mut self,
        input: usize,
        partition: i32,
        record: &Bytes,
        tag: u64,
    ) -> Result<(), Fault> {
        let Self { producer: Some(producer), by_topic, .. } = self else { return Err(Fault::closed()) };
        let Some(to) = by_topic.get(input).and_then(|output| output.journal.as_ref()) else { return Ok(()) };
        let record = Record { payload: Some(record.clone()), ..Record::default() };
        match producer.produce_bytes(to.topic, Some(partition), &record, tag) {
            // The journal has grown with its input since this producer last looked.
            Err(fault) if fault.code == Code::UNKNOWN_PARTITION && has(producer, &to.name, partition) => {
                producer.produce_bytes(to.topic, Some(partition), &record, tag)
            }
            outcome => outcome,
        }
    }

    /// The journal of an input.
    pub(super) fn journal_name(&self, input: usize) -> &str {
        let journal = self.by_topic.get(input).and_then(|output| output.journal.as_ref());
        journal.map_or("", |journal| &journal.name)
    }

    /// The consumer group.
    pub(super) fn group(&self) -> &str {
        &self.group
    }

    /// Ends the producer, and releases everything that it holds.
    pub(super) fn close(&mut self) {
        if let Some(producer) = self.producer.take()
            && let Err(error) = producer.close(CLOSE_WAIT, &mut Vec::new())
        {
            tracing::warn!("{error}");
        }
    }

    /// A new producer in the old one's place, which is closed first.
    pub(super) fn renew(&mut self) -> Result<(), KafkaError> {
        self.close();
        let mut producer = (self.make)()?;
        for output in &mut self.by_topic {
            let all = [&mut output.accepted, &mut output.rejected].into_iter().chain(&mut output.journal);
            for destination in all {
                destination.topic = producer.topic(&destination.name)?;
            }
        }
        self.producer = Some(producer);
        Ok(())
    }
}

impl Drop for Outputs {
    fn drop(&mut self) {
        self.close();
    }
}

/// Whether a topic has this partition; the producer knows it from then on.
fn has(producer: &Producer, topic: &str, partition: i32) -> bool {
    let count = producer.cluster().and_then(|cluster| cluster.partition_count(topic, GROWN_WAIT));
    count.is_ok_and(|count| count > partition)
}

/// Makes the journal where it is missing, with the input's partitions.
fn prepare_journal(
    journals: &JournalTopics,
    cluster: &Cluster,
    name: &str,
    partitions: i32,
    wait: Duration,
) -> Result<(), KafkaError> {
    match cluster.partition_count(name, wait) {
        Ok(count) if count >= partitions => return Ok(()),
        Ok(_) => journals.grow(name, partitions)?,
        Err(KafkaError::NoTopic { .. }) => {
            tracing::info!(topic = name, partitions, "the journal does not exist yet and is created");
            journals.create(name, partitions)?;
        }
        Err(error) => return Err(error),
    }
    let deadline = Instant::now() + CREATED_WAIT;
    loop {
        match cluster.partition_count(name, wait) {
            Ok(count) if count >= partitions => return Ok(()),
            Ok(_) | Err(KafkaError::NoTopic { .. }) if Instant::now() < deadline => {
                std::thread::sleep(CREATED_LOOK);
            }
            outcome => return outcome.map(|_| ()),
        }
    }
}

/// What stands for a record that the output topic refuses: where it is, and its hash.
fn send_stub(
    producer: &mut Producer,
    to: &Destination,
    note: &[u8],
    message: &Message,
    tag: u64,
) -> Result<(), Fault> {
    let payload = message.payload().unwrap_or_default();
    let mut stub = b"{\"tollgate\":".to_vec();
    stub.extend_from_slice(note);
    // Writing to memory cannot fail.
    let _ = write!(stub, ",\"sha256\":\"{}\",\"bytes\":{}}}", hex(&sha256(&[payload])), payload.len());
    let record = Record {
        payload: Some(stub.into()),
        key: message.key().filter(|key| key.len() <= STUB_KEY_BYTES_MAX),
        // Its own time may be what was refused.
        time_ms: None,
        headers: &[(REJECT_HEADER, note)],
    };
    producer.produce_bytes(to.topic, Some(to.partition(message.partition())), &record, tag)
}

/// What a batch changed, as the records of the journal.
pub(super) fn journal_records(changes: &super::super::batch::Told) -> Vec<Bytes> {
    journal::split(
        &changes.body,
        (changes.first, changes.next),
        changes.expiry_max,
        journal::RECORD_BYTES_MAX,
    )
    .collect()
}
