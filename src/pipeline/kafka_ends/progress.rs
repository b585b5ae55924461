//! How far each partition is: what is in flight, what was delivered, what was committed. Reader and writer meet here.
//!
//! The reader counts batches that take off, and follows when everything has to be read again (a new *turn*) or when a
//! partition's state is restored. The writer raises offsets, and does what a rebalance asks of it. A partition that was
//! given away is forgotten, and a forgotten one is never committed again, whatever arrives late.

mod flight;

use std::collections::{BTreeMap, BTreeSet};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, OnceLock, PoisonError};
use std::time::{Duration, Instant};

use crossbeam::channel::Sender;

use crate::kafka::journal::{Index, Range};
use crate::kafka::{Committer, KafkaError, Message, Owned, PartitionOffset, TopicIndex};
use crate::status::Status;

use super::super::batch::Partition;
use super::super::news::News;
use super::limits::Limits;
use super::vitals::Vitals;
pub use flight::Flight;

/// LIMIT: emptied lists of messages that are kept.
const SPARE_MAX: usize = 64;
/// How long one commit of offsets may take.
const COMMIT_WAIT: Duration = Duration::from_secs(10);

/// A topic's partition.
pub(super) type Key = (TopicIndex, i32);

/// The number of a partition in the pipeline.
pub(super) fn partition_of((topic, partition): Key) -> Partition {
    Partition(u64::from(topic.0) << 32 | u64::from(partition.cast_unsigned()))
}

/// What a rebalance asks of the writer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Ask {
    /// End the open transaction well.
    Commit,
    /// End it, and let everything come again.
    Abort,
}

/// The shared state.
#[derive(Default)]
pub(super) struct Progress {
    shared: Mutex<Shared>,
    changed: Condvar,
    /// Rises with everything that the reader has to follow.
    version: AtomicU64,
    /// Whether another process may have our name.
    doubt: AtomicBool,
    /// Whether the reader is to leave the group for a while.
    leaving: AtomicBool,
    hidden: Mutex<BTreeSet<Hidden>>,
    /// One commit at a time, and no partition is given away during one.
    committing: Mutex<()>,
    committer: OnceLock<Committer>,
    /// How the gate hears of things; known once the run has begun.
    news: OnceLock<Sender<News>>,
    pub(super) vitals: Arc<Vitals>,
    /// Emptied lists of messages, for the batches to come.
    spare: Mutex<Vec<Vec<Message>>>,
    /// What the output topics take.
    limits: Limits,
    /// Tells whoever watches.
    pub(super) status: Arc<Status>,
}

#[derive(Default)]
struct Shared {
    partitions: BTreeMap<Key, State>,
    turn: u32,
    ask: Option<Ask>,
    /// Whether nobody answers any more.
    is_writer_gone: bool,
    restored: Vec<(Key, u32)>,
    /// To be restored again, since others went on with them.
    outdated: Vec<(Key, PartitionOffset)>,
    failure: Option<KafkaError>,
    /// Records that an output topic refuses.
    undeliverable: BTreeMap<Key, BTreeSet<i64>>,
}

struct State {
    topic: String,
    epoch: u32,
    /// Batches that were read and not written.
    in_flight: usize,
    /// Whether the open transaction has records of it.
    is_open: bool,
    /// Everything below was delivered.
    delivered: i64,
    /// Everything below was committed.
    committed: i64,
    journal: Index,
    /// What is committed of the journal.
    journal_last: Option<i64>,
    journal_floor: i64,
}

/// What an open transaction hides.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Hidden {
    /// The group's offsets.
    Offsets,
    /// A partition's journal.
    Journal(Key),
}

/// What the reader has to follow.
#[derive(Default)]
pub(super) struct Follow {
    pub(super) version: u64,
    pub(super) turn: u32,
    /// Where each partition goes on, if the turn is new.
    pub(super) committed: Vec<(Key, i64)>,
    /// Their state is there: read them.
    pub(super) restored: Vec<Key>,
    /// Restore these again.
    pub(super) outdated: Vec<(Key, PartitionOffset)>,
}

/// Offsets to commit.
pub(super) struct Due {
    pub(super) keys: Vec<Key>,
    pub(super) offsets: Vec<PartitionOffset>,
}

impl Progress {
    pub(super) fn new(limits: Limits, status: Arc<Status>) -> Self {
        Self { limits, status, ..Self::default() }
    }

    pub(super) fn set_committer(&self, committer: Committer) {
        let _ = self.committer.set(committer);
    }

    pub(super) fn set_news(&self, news: &Sender<News>) {
        let _ = self.news.set(news.clone());
    }

    /// Keeps a list of messages that were sent on.
    ///
    /// PERF: as with the lists of `budget.rs`, what one thread allocates and another frees is fresh memory each time.
    pub(super) fn put_by(&self, mut messages: Vec<Message>) {
        messages.clear();
        let mut spare = self.spare.lock().unwrap_or_else(PoisonError::into_inner);
        if spare.len() < SPARE_MAX {
            spare.push(messages);
        }
    }

    /// All emptied lists.
    pub(super) fn spare(&self) -> Vec<Vec<Message>> {
        std::mem::take(&mut *self.spare.lock().unwrap_or_else(PoisonError::into_inner))
    }

    /// Tells the gate.
    pub(super) fn tell(&self, news: News) {
        if let Some(sender) = self.news.get() {
            // A gate that has ended needs no word.
            let _ = sender.send(news);
        }
    }

    pub(super) fn committer(&self) -> Result<&Committer, KafkaError> {
        self.committer.get().ok_or(KafkaError::Closed)
    }

    /// Partitions are ours, to be read once their state is there.
    pub(super) fn assigned(&self, owned: &[Owned]) {
        let mut shared = self.lock();
        for at in owned {
            let state = State {
                topic: at.name.clone(),
                epoch: at.epoch,
                in_flight: 0,
                is_open: false,
                delivered: at.next,
                committed: at.next,
                journal: Index::default(),
                journal_last: None,
                journal_floor: 0,
            };
            shared.partitions.insert((at.topic, at.partition), state);
        }
    }

    /// Forgets partitions, but never while offsets are on their way.
    pub(super) fn remove(&self, keys: &[Key]) {
        let _no_commit = self.committing.lock().unwrap_or_else(PoisonError::into_inner);
        let mut shared = self.lock();
        for key in keys {
            shared.partitions.remove(key);
            shared.undeliverable.remove(key);
            self.tell(News::Left(partition_of(*key).0));
        }
    }

    /// Counts a batch that was read; `None` if its partition was given away since, or is of a newer epoch. Such
    /// records are read again, by whoever has the partition now. `offsets` are those of its records.
    pub(super) fn take_off(
        self: &Arc<Self>,
        key: Key,
        (epoch, turn): (u32, u32),
        offsets: impl Iterator<Item = i64>,
    ) -> Option<Flight> {
        let mut shared = self.lock();
        let refused = shared.undeliverable.get(&key);
        let undeliverable = refused.map_or_else(Vec::new, |refused| {
            let places = (0..).zip(offsets).filter(|(_, offset)| refused.contains(offset));
            places.map(|(place, _)| place).collect()
        });
        let state = shared.partitions.get_mut(&key).filter(|state| state.epoch <= epoch)?;
        // A rewind makes a new epoch without a new assignment.
        if state.epoch != epoch {
            state.epoch = epoch;
            state.in_flight = 0;
        }
        state.in_flight += 1;
        drop(shared);
        Some(Flight::new(Arc::clone(self), key, (epoch, turn), undeliverable))
    }

    /// Whether a batch still counts: its partition is ours, and nothing made it come again.
    pub(super) fn is_current(&self, flight: &Flight) -> bool {
        let shared = self.lock();
        shared.turn == flight.turn()
            && shared.partitions.get(&flight.key()).is_some_and(|state| state.epoch == flight.epoch())
    }

    /// Whether a partition is still ours, in this epoch or an earlier one, and somebody writes.
    pub(super) fn owns(&self, key: Key, epoch: u32) -> bool {
        let shared = self.lock();
        !shared.is_writer_gone && shared.partitions.get(&key).is_some_and(|state| state.epoch <= epoch)
    }

    /// A batch is in the open transaction.
    pub(super) fn opened(&self, flight: &Flight) {
        if let Some(state) = self.lock().partitions.get_mut(&flight.key()) {
            state.is_open = true;
        }
    }

    /// Everything of this epoch below `next` was delivered.
    pub(super) fn delivered(&self, (key, epoch): (Key, u32), next: i64) {
        if let Some(state) = self.lock().partitions.get_mut(&key).filter(|state| state.epoch == epoch) {
            state.delivered = state.delivered.max(next);
        }
    }

    /// What a batch changed stands in these records of the journal.
    pub(super) fn journaled(&self, (key, epoch): (Key, u32), records: (i64, i64), expiry_max: u32) {
        if let Some(state) = self.lock().partitions.get_mut(&key).filter(|state| state.epoch == epoch) {
            state.journal.note(records, expiry_max);
        }
    }

    /// What was delivered and not committed, of the given partitions or of all, with the journal's range.
    pub(super) fn due(&self, only: Option<&[Key]>, dead: u32) -> Due {
        let mut due = Due { keys: Vec::new(), offsets: Vec::new() };
        for (key, state) in &mut self.lock().partitions {
            if state.delivered > state.committed && only.is_none_or(|only| only.contains(key)) {
                let range =
                    Range { floor: state.journal.floor(dead), last: state.journal.last().unwrap_or(-1) };
                let metadata = range.to_string();
                due.keys.push(*key);
                let offset = PartitionOffset::new(&state.topic, key.1, state.delivered);
                due.offsets.push(PartitionOffset { metadata, ..offset });
            }
        }
        due
    }

    /// These offsets are committed.
    pub(super) fn committed(&self, due: &Due) {
        let mut shared = self.lock();
        for (key, offset) in due.keys.iter().zip(&due.offsets) {
            let Shared { partitions, undeliverable, .. } = &mut *shared;
            let Some(state) = partitions.get_mut(key) else { continue };
            state.committed = state.committed.max(offset.offset);
            self.status.committed(&offset.topic, offset.partition, offset.offset);
            state.is_open = false;
            if let Ok(range) = offset.metadata.parse::<Range>() {
                state.journal_floor = range.floor;
                state.journal_last = Some(range.last).filter(|last| *last >= 0);
            }
            if let Some(refused) = undeliverable.get_mut(key) {
                *refused = refused.split_off(&offset.offset);
            }
        }
        drop(shared);
        self.changed.notify_all();
    }

    /// Commits by the consumer what was delivered and not committed, of the given partitions or of all.
    pub(super) fn commit(&self, only: Option<&[Key]>, dead: u32) -> Result<(), KafkaError> {
        let _one_at_a_time = self.no_change();
        let due = self.due(only, dead);
        if due.offsets.is_empty() {
            return Ok(());
        }
        if let Err(error) = self.committer()?.commit(&due.offsets, COMMIT_WAIT) {
            Vitals::count(&self.status.commit_failures);
            return Err(error);
        }
        self.committed(&due);
        Ok(())
    }

    /// While this is held, no partition is given away.
    pub(super) fn no_change(&self) -> MutexGuard<'_, ()> {
        self.committing.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Whether everything that was delivered is committed.
    pub(super) fn is_committed(&self) -> bool {
        self.lock().partitions.values().all(|state| state.delivered <= state.committed)
    }

    /// Where a partition was committed last, if it is ours in this epoch.
    pub(super) fn committed_at(&self, key: Key, epoch: u32) -> Option<(String, i64)> {
        let shared = self.lock();
        let state = shared.partitions.get(&key).filter(|state| state.epoch == epoch)?;
        Some((state.topic.clone(), state.committed))
    }

    /// What was not committed comes again, from the committed offsets; gives the new turn. `outdated` partitions were
    /// moved on by others: they go on from there, with their state restored.
    pub(super) fn next_turn(&self, outdated: Vec<(Key, PartitionOffset)>) -> u32 {
        Vitals::count(&self.vitals.aborts);
        Vitals::count(&self.status.transactions_aborted);
        let mut shared = self.lock();
        shared.turn += 1;
        let turn = shared.turn;
        for (key, offset) in &outdated {
            if let Some(state) = shared.partitions.get_mut(key) {
                state.committed = offset.offset;
                self.status.outdated(&offset.topic, offset.partition, offset.offset);
            }
        }
        for state in shared.partitions.values_mut() {
            state.is_open = false;
            state.delivered = state.committed;
            state.journal.roll_back(state.journal_last);
        }
        shared.outdated.extend(outdated);
        drop(shared);
        self.version.fetch_add(1, Ordering::Release);
        self.changed.notify_all();
        turn
    }

    /// The turn at this moment.
    pub(super) fn turn(&self) -> u32 {
        self.lock().turn
    }

    /// An output topic refuses this record; says whether that was known.
    pub(super) fn refuse(&self, key: Key, offset: i64) -> bool {
        let is_new = self.lock().undeliverable.entry(key).or_default().insert(offset);
        if is_new {
            Vitals::count(&self.vitals.undeliverable);
        }
        !is_new
    }

    /// What changed for the reader since `version`; `None`, without a lock, if nothing did.
    pub(super) fn follow(&self, version: u64, turn: u32) -> Result<Option<Follow>, KafkaError> {
        let now = self.version.load(Ordering::Acquire);
        if now == version {
            return Ok(None);
        }
        let mut shared = self.lock();
        if let Some(failure) = shared.failure.take() {
            return Err(failure);
        }
        let mut follow = Follow { version: now, turn: shared.turn, ..Follow::default() };
        if shared.turn != turn {
            follow.committed = shared.partitions.iter().map(|(key, state)| (*key, state.committed)).collect();
        }
        let restored = std::mem::take(&mut shared.restored);
        let ours = |key: &Key, epoch| shared.partitions.get(key).is_some_and(|state| state.epoch <= epoch);
        follow.restored =
            restored.into_iter().filter(|(key, epoch)| ours(key, *epoch)).map(|at| at.0).collect();
        follow.outdated = std::mem::take(&mut shared.outdated);
        Ok(Some(follow))
    }

    /// A partition's state is there.
    pub(super) fn restored(&self, key: Key, epoch: u32, journal: Index) {
        let mut shared = self.lock();
        if let Some(state) = shared.partitions.get_mut(&key).filter(|state| state.epoch <= epoch) {
            state.journal_last = journal.last();
            state.journal = journal;
            self.status.restored(&state.topic, key.1);
            shared.restored.push((key, epoch));
        }
        drop(shared);
        self.version.fetch_add(1, Ordering::Release);
    }

    /// Something that the reader has to end with.
    pub(super) fn fail(&self, error: KafkaError) {
        self.lock().failure.get_or_insert(error);
        self.version.fetch_add(1, Ordering::Release);
    }

    /// Whether another process may have our name: the reader finds out, and until then no producer takes that name.
    pub(super) fn set_doubt(&self, doubt: bool) {
        self.doubt.store(doubt, Ordering::Release);
    }

    /// Whether another process may have our name.
    pub(super) fn is_in_doubt(&self) -> bool {
        self.doubt.load(Ordering::Acquire)
    }

    /// Whether the reader is to leave the group until it has noticed.
    pub(super) fn set_leaving(&self, leaving: bool) {
        self.leaving.store(leaving, Ordering::Release);
    }

    /// Whether the reader is to leave the group.
    pub(super) fn is_leaving(&self) -> bool {
        self.leaving.load(Ordering::Acquire)
    }

    /// This cannot be read, though the brokers write there.
    pub(super) fn hide(&self, hidden: Hidden) {
        self.hidden.lock().unwrap_or_else(PoisonError::into_inner).insert(hidden);
    }

    /// One of what cannot be read, once.
    pub(super) fn next_hidden(&self) -> Option<Hidden> {
        self.hidden.lock().unwrap_or_else(PoisonError::into_inner).pop_first()
    }

    /// The journals' committed floors.
    pub(super) fn floors(&self) -> Vec<(Key, i64)> {
        self.lock().partitions.iter().map(|(key, state)| (*key, state.journal_floor)).collect()
    }

    /// How far each partition is committed.
    pub(super) fn committed_all(&self) -> Vec<(Key, String, i64)> {
        let shared = self.lock();
        shared.partitions.iter().map(|(key, state)| (*key, state.topic.clone(), state.committed)).collect()
    }

    /// Asks the writer, and waits for its answer if any of these partitions needs one.
    pub(super) fn ask(&self, ask: Ask, keys: &[Key], deadline: Instant) -> bool {
        let mut shared = self.lock();
        let concerns = |shared: &Shared| {
            keys.iter().any(|key| shared.partitions.get(key).is_some_and(|state| state.is_open))
        };
        if shared.is_writer_gone || !(concerns(&shared) || ask == Ask::Abort) {
            return true;
        }
        shared.ask = Some(ask);
        while shared.ask.is_some() && !shared.is_writer_gone {
            let left = deadline.saturating_duration_since(Instant::now());
            if left.is_zero() {
                // It stays asked for: what was begun must not end with offsets of others.
                shared.ask = Some(Ask::Abort);
                return false;
            }
            shared = self.changed.wait_timeout(shared, left).unwrap_or_else(PoisonError::into_inner).0;
        }
        true
    }

    /// What is asked of the writer.
    pub(super) fn asked(&self) -> Option<Ask> {
        self.lock().ask
    }

    /// What was asked for is done.
    pub(super) fn answer(&self) {
        self.lock().ask = None;
        self.changed.notify_all();
    }

    /// Whether nobody writes any more.
    pub(super) fn is_writer_gone(&self) -> bool {
        self.lock().is_writer_gone
    }

    /// Nobody writes any more.
    pub(super) fn writer_gone(&self) {
        self.lock().is_writer_gone = true;
        self.changed.notify_all();
    }

    /// Waits until no batch of these partitions is in flight.
    pub(super) fn wait_landed(&self, keys: &[Key], deadline: Instant) -> bool {
        let mut shared = self.lock();
        loop {
            let is_busy = |key| shared.partitions.get(key).is_some_and(|state: &State| state.in_flight > 0);
            let busy = keys.iter().any(is_busy);
            let left = deadline.saturating_duration_since(Instant::now());
            if !busy || left.is_zero() {
                return !busy;
            }
            shared = self.changed.wait_timeout(shared, left).unwrap_or_else(PoisonError::into_inner).0;
        }
    }

    fn lock(&self) -> MutexGuard<'_, Shared> {
        self.shared.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests;
