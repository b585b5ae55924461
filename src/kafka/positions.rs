//! Our own account of every partition: who owns it, which offset comes next, and its epoch.
//!
//! librdkafka's positions are not relied on (librdkafka#4844). Pure bookkeeping: no call to Kafka happens here.
//! The epoch of a partition only ever rises, also over revoke and assign, so that work of an earlier ownership or
//! from before a seek can be told and dropped.

use std::collections::HashMap;

use super::raw::message::Message;
use super::raw::partitions::PartitionOffset;

/// A topic, by its place in the consumer's list.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct TopicIndex(pub u16);

/// Records of one partition, in the order of their offsets.
#[derive(Debug)]
pub struct PartitionBatch {
    /// The topic.
    pub topic: TopicIndex,
    /// The partition.
    pub partition: i32,
    /// The partition's epoch when they were read.
    pub epoch: u32,
    /// The records; never empty.
    pub messages: Vec<Message>,
    /// Bytes of their keys and payloads.
    pub bytes: usize,
}

/// A partition that this consumer owns.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Owned {
    /// The topic.
    pub topic: TopicIndex,
    /// Its name.
    pub name: String,
    /// The partition.
    pub partition: i32,
    /// Its epoch.
    pub epoch: u32,
    /// The offset that is read next.
    pub next: i64,
    /// The text that was committed with the offset; only known at the assignment.
    pub metadata: String,
}

#[derive(Debug)]
struct Position {
    topic: TopicIndex,
    partition: i32,
    next: i64,
    epoch: u32,
    owned: bool,
    /// A seek to `next` is due; what arrives until it is done may skip records, so it is dropped.
    seek_due: bool,
    hold: Hold,
    /// Assigned during the call to librdkafka that runs at this moment.
    fresh: bool,
}

/// Whether a partition is not to be read yet: what arrives of it is dropped.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Hold {
    No,
    /// And fetching has to be paused.
    PauseDue,
    Paused,
}

/// The account of all partitions that were ever ours.
#[derive(Debug, Default)]
pub(super) struct Positions {
    topics: Vec<String>,
    list: Vec<Position>,
    index: HashMap<(TopicIndex, i32), usize>,
    /// Emptied lists for the next batches.
    spare: Vec<Vec<Message>>,
}

impl Positions {
    pub(super) fn has_spare(&self) -> bool {
        !self.spare.is_empty()
    }

    pub(super) fn reuse(&mut self, lists: Vec<Vec<Message>>) {
        self.spare = lists;
    }

    pub(super) fn new(topics: &[String]) -> Self {
        Self { topics: topics.to_vec(), ..Self::default() }
    }

    pub(super) fn topic_name(&self, topic: TopicIndex) -> &str {
        self.topics.get(usize::from(topic.0)).map_or("", String::as_str)
    }

    /// The topic's index; a name that is new (a pattern matched it) gets the next one.
    pub(super) fn topic_index(&mut self, name: &str) -> TopicIndex {
        let found = self.topics.iter().position(|topic| topic == name);
        let index = found.unwrap_or_else(|| {
            self.topics.push(name.to_owned());
            self.topics.len() - 1
        });
        TopicIndex(u16::try_from(index).unwrap_or(u16::MAX))
    }

    /// Takes a partition over, with a new epoch.
    pub(super) fn assign(&mut self, at: &PartitionOffset) -> Owned {
        let topic = self.topic_index(&at.topic);
        let place = *self.index.entry((topic, at.partition)).or_insert_with(|| {
            let (partition, next) = (at.partition, at.offset);
            let new = Position {
                topic,
                partition,
                next,
                epoch: 0,
                owned: false,
                seek_due: false,
                hold: Hold::No,
                fresh: true,
            };
            self.list.push(new);
            self.list.len() - 1
        });
        if let Some(position) = self.list.get_mut(place) {
            position.next = at.offset;
            position.epoch += 1;
            position.owned = true;
            position.seek_due = false;
            position.hold = Hold::No;
            position.fresh = true;
        }
        let epoch = self.list.get(place).map_or(0, |position| position.epoch);
        Owned {
            topic,
            name: at.topic.clone(),
            partition: at.partition,
            epoch,
            next: at.offset,
            metadata: at.metadata.clone(),
        }
    }

    /// Lets a partition go.
    pub(super) fn release(&mut self, topic: &str, partition: i32) {
        let topic = self.topic_index(topic);
        if let Some(position) = self.get_mut(topic, partition) {
            position.owned = false;
        }
    }

    /// Goes to another offset, with a new epoch.
    pub(super) fn rewind(&mut self, topic: TopicIndex, partition: i32, offset: i64) -> bool {
        let Some(position) = self.get_mut(topic, partition).filter(|position| position.owned) else {
            return false;
        };
        position.next = offset;
        position.epoch += 1;
        position.seek_due = true;
        true
    }

    /// Does not read a partition until it is let go.
    pub(super) fn hold(&mut self, topic: TopicIndex, partition: i32) {
        if let Some(position) = self.get_mut(topic, partition).filter(|position| position.owned) {
            position.hold = Hold::PauseDue;
        }
    }

    /// Reads a partition that was held, from where we are; says whether it was.
    pub(super) fn let_go(&mut self, topic: TopicIndex, partition: i32) -> bool {
        let Some(position) =
            self.get_mut(topic, partition).filter(|position| position.owned && position.hold != Hold::No)
        else {
            return false;
        };
        position.hold = Hold::No;
        position.seek_due = true;
        true
    }

    /// Whether a partition is held.
    pub(super) fn is_held(&self, topic: TopicIndex, partition: i32) -> bool {
        let place = self.index.get(&(topic, partition));
        place.and_then(|place| self.list.get(*place)).is_some_and(|position| position.hold != Hold::No)
    }

    /// Partitions whose fetching has to be paused, once.
    pub(super) fn pauses_due(&mut self) -> Vec<(TopicIndex, i32)> {
        let due = self.list.iter_mut().filter(|position| position.owned && position.hold == Hold::PauseDue);
        due.map(|position| {
            position.hold = Hold::Paused;
            (position.topic, position.partition)
        })
        .collect()
    }

    /// Wants a seek to where we are: nothing is lost or read twice, so the epoch stays.
    pub(super) fn want_seek(&mut self, topic: TopicIndex, partition: i32) {
        if let Some(position) = self.get_mut(topic, partition).filter(|position| position.owned) {
            position.seek_due = true;
        }
    }

    /// The seeks that are due.
    pub(super) fn seeks_due(&self) -> Vec<PartitionOffset> {
        let due = self
            .list
            .iter()
            .filter(|position| position.owned && position.seek_due && position.hold == Hold::No);
        due.map(|at| PartitionOffset::new(self.topic_name(at.topic), at.partition, at.next)).collect()
    }

    /// A seek that was due is done.
    pub(super) fn seek_done(&mut self, topic: &str, partition: i32) {
        let topic = self.topic_index(topic);
        if let Some(position) = self.get_mut(topic, partition) {
            position.seek_due = false;
        }
    }

    /// All partitions that are ours.
    pub(super) fn owned(&self) -> Vec<Owned> {
        let owned = self.list.iter().filter(|position| position.owned);
        owned.map(|position| self.describe(position)).collect()
    }

    /// One partition, if it is ours.
    pub(super) fn find(&self, topic: TopicIndex, partition: i32) -> Option<Owned> {
        let place = *self.index.get(&(topic, partition))?;
        self.list.get(place).filter(|position| position.owned).map(|position| self.describe(position))
    }

    fn describe(&self, position: &Position) -> Owned {
        Owned {
            topic: position.topic,
            name: self.topic_name(position.topic).to_owned(),
            partition: position.partition,
            epoch: position.epoch,
            next: position.next,
            metadata: String::new(),
        }
    }

    fn get_mut(&mut self, topic: TopicIndex, partition: i32) -> Option<&mut Position> {
        let place = *self.index.get(&(topic, partition))?;
        self.list.get_mut(place)
    }

    /// A call to librdkafka has returned and its messages are sorted: nothing is fresh any more.
    pub(super) fn settle(&mut self) {
        self.list.iter_mut().for_each(|position| position.fresh = false);
    }

    /// Puts messages into batches and moves the positions on. Dropped are messages of partitions that are not ours,
    /// below our next offset, or of doubtful age: before a due seek, or (where `in_batch`) taken in the same call
    /// in which the partition was assigned, since they may be left from an earlier ownership.
    pub(super) fn sort(
        &mut self,
        messages: impl Iterator<Item = Message>,
        in_batch: bool,
        into: &mut Vec<PartitionBatch>,
    ) -> Sorted {
        let mut sorted = Sorted::default();
        let mut run = Run { topic_key: 0, partition: -1, place: usize::MAX, batch: usize::MAX };
        for message in messages {
            // PERF: messages come in runs of one partition, so names and tables are looked at once per run.
            if message.topic_key() != run.topic_key || message.partition() != run.partition {
                run = self.start_run(&message, into);
            }
            let Some(position) = self.list.get_mut(run.place).filter(|position| position.owned) else {
                sorted.dropped += 1;
                continue;
            };
            if in_batch && position.fresh {
                position.seek_due = true;
            }
            if position.hold != Hold::No || position.seek_due || message.offset() < position.next {
                sorted.dropped += 1;
                continue;
            }
            position.next = message.offset() + 1;
            sorted.records += 1;
            sorted.bytes += message.bytes();
            put(message, position, &mut run, &mut self.spare, into);
        }
        sorted
    }

    fn start_run(&mut self, message: &Message, batches: &[PartitionBatch]) -> Run {
        let (topic_key, partition) = (message.topic_key(), message.partition());
        let topic = self.topic_index(&message.topic());
        let place = self.index.get(&(topic, partition)).copied().unwrap_or(usize::MAX);
        let epoch = self.list.get(place).map_or(0, |position| position.epoch);
        let same =
            |batch: &PartitionBatch| (batch.topic, batch.partition, batch.epoch) == (topic, partition, epoch);
        let batch = batches.iter().position(same).unwrap_or(usize::MAX);
        Run { topic_key, partition, place, batch }
    }
}

/// What became of messages.
#[derive(Debug, Default)]
pub(super) struct Sorted {
    pub(super) records: usize,
    pub(super) bytes: usize,
    pub(super) dropped: usize,
}

/// Consecutive messages of one partition: its place in the account, and in the list of batches.
struct Run {
    topic_key: usize,
    partition: i32,
    place: usize,
    batch: usize,
}

fn put(
    message: Message,
    position: &Position,
    run: &mut Run,
    spare: &mut Vec<Vec<Message>>,
    into: &mut Vec<PartitionBatch>,
) {
    let bytes = message.bytes();
    if let Some(batch) = into.get_mut(run.batch) {
        batch.messages.push(message);
        batch.bytes += bytes;
        return;
    }
    run.batch = into.len();
    let (topic, partition, epoch) = (position.topic, position.partition, position.epoch);
    let mut messages = spare.pop().unwrap_or_default();
    messages.push(message);
    into.push(PartitionBatch { topic, partition, epoch, messages, bytes });
}
