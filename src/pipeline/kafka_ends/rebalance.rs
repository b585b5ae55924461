//! Partitions that come and go: what is in flight ends before a partition is given away, and state comes before records.
//!
//! This runs inside the reader's poll, while the group waits, so everything here has a deadline.

use std::collections::BTreeMap;
use std::sync::atomic::Ordering;
use std::sync::{Arc, Mutex, OnceLock, PoisonError};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use crossbeam::channel::Sender;

use crate::config::{Config, OnStateLoss};
use crate::kafka::journal::{JournalTopics, Plan, Restore, blank, nobodys_offset};
use crate::kafka::{
    Class, ClientSettings, Code, ConsumerSettings, KafkaError, KafkaSettingsError, Listener, Owned,
    PartitionOffset, Producer, ProducerSettings, Record,
};
use crate::status::PartitionState;

use super::super::news::Restored;
use super::progress::{Ask, Hidden, Key, Progress, partition_of};
use super::vitals::Vitals;

/// How long to wait before a restore that met trouble begins anew.
const RESTORE_PAUSE: Duration = Duration::from_secs(1);
/// How long a journal that was given more partitions may take to have them.
const GROW_WAIT: Duration = Duration::from_secs(30);
/// So often in a row offsets cannot be read, some 10 s each, before that is more than a transaction that goes on.
const UNREAD: u32 = 2;
/// How long the brokers may take to write something, so that they are known to write.
const PROOF_WAIT: Duration = Duration::from_secs(2);
/// What to do about it if nobody else does.
const HANGING: &str = "a transaction that stays open is shown by `kafka-transactions.sh find-hanging`";
/// How often a restore looks whether an abort that it must not overtake is done.
const SETTLE_LOOK: Duration = Duration::from_millis(5);

/// Answers the group.
pub(super) struct OnRebalance {
    pub(super) progress: Arc<Progress>,
    pub(super) deadline: Duration,
    pub(super) is_transactional: bool,
    pub(super) restorer: Restorer,
    /// How often in a row offsets could not be read.
    pub(super) unread: u32,
}

impl Listener for OnRebalance {
    fn holds(&self) -> bool {
        self.restorer.is_on()
    }

    fn assigned(&mut self, owned: &[Owned]) {
        if !owned.is_empty() {
            self.unread = 0;
        }
        self.progress.assigned(owned);
        let state = if self.holds() { PartitionState::Restoring } else { PartitionState::Reading };
        let told = owned.iter().map(|at| (at.name.as_str(), at.partition, at.next));
        self.progress.status.assigned(state, told);
        let at = |at: &Owned| {
            let offset = PartitionOffset::new(&at.name, at.partition, at.next);
            ((at.topic, at.partition), at.epoch, PartitionOffset { metadata: at.metadata.clone(), ..offset })
        };
        self.restorer.start(owned.iter().map(at).collect());
    }

    fn unread(&mut self) {
        self.unread += 1;
        if self.unread >= UNREAD && self.restorer.are_offsets_hidden() {
            tracing::warn!("the brokers keep the group's offsets for a transaction that is open; {HANGING}");
            self.progress.hide(Hidden::Offsets);
        }
    }

    fn revoked(&mut self, owned: &[Owned], lost: bool) {
        let keys: Vec<_> = owned.iter().map(|at| (at.topic, at.partition)).collect();
        let deadline = Instant::now() + self.deadline;
        if lost {
            tracing::warn!(
                "partitions are lost: what they had in flight is given up, and nothing of it committed"
            );
            self.progress.ask(Ask::Abort, &keys, deadline);
        } else {
            self.drain(&keys, deadline);
        }
        self.progress.remove(&keys);
        self.progress.status.revoked(lost, owned.iter().map(|at| (at.name.as_str(), at.partition)));
    }
}

impl OnRebalance {
    /// Lets batches in flight land, then commits.
    fn drain(&self, keys: &[Key], deadline: Instant) {
        let landed = self.progress.wait_landed(keys, deadline);
        if !landed {
            tracing::warn!(
                "revoked partitions were not drained within {} ms; their last records are read again",
                self.deadline.as_millis()
            );
        }
        let mut ask = if landed { Ask::Commit } else { Ask::Abort };
        if !self.is_transactional {
            match self.progress.commit(Some(keys), 0) {
                Ok(()) if landed => return,
                Ok(()) => {}
                Err(error) => {
                    tracing::warn!("offsets of revoked partitions were not committed: {error}");
                    ask = Ask::Abort;
                }
            }
        }
        if !self.progress.ask(ask, keys, deadline.max(Instant::now() + self.deadline / 2)) {
            tracing::warn!("what was on its way did not end in time; it is given up");
        }
    }
}

/// Reads journals back, each time on a thread of its own.
#[derive(Clone)]
pub(super) struct Restorer {
    config: Arc<Config>,
    pub(super) progress: Arc<Progress>,
    /// Where the changes go; known once the run has begun.
    gate: Arc<OnceLock<Sender<Restored>>>,
    threads: Arc<Mutex<Vec<JoinHandle<()>>>>,
}

impl Restorer {
    pub(super) fn new(config: Arc<Config>, progress: Arc<Progress>) -> Self {
        Self { config, progress, gate: Arc::default(), threads: Arc::default() }
    }

    /// Where changes go from now on.
    pub(super) fn attach(&self, gate: &Sender<Restored>) {
        let _ = self.gate.set(gate.clone());
    }

    /// The threads that are at work; they end when nobody writes any more.
    pub(super) fn threads(&self) -> Vec<JoinHandle<()>> {
        std::mem::take(&mut *self.threads.lock().unwrap_or_else(PoisonError::into_inner))
    }

    /// Whether the group takes offsets, though it tells none.
    fn are_offsets_hidden(&self) -> bool {
        let journal =
            self.config.kafka.topics.first().and_then(|topic| self.config.kafka.journal_topic(topic));
        let committer = self.progress.committer();
        let taken = journal
            .zip(committer.ok())
            .map(|(journal, committer)| committer.commit(&[nobodys_offset(&journal)], PROOF_WAIT));
        taken.is_some_and(|taken| taken.is_ok())
    }

    /// Whether a journal takes records, though it gives none: a blank one is written.
    fn is_journal_hidden(&self, plan: &Plan) -> Result<bool, KafkaError> {
        let refused =
            |error: KafkaSettingsError| KafkaError::Create { kind: "producer", text: error.to_string() };
        let client = ClientSettings::from_config(&self.config).map_err(refused)?;
        let mut producer = Producer::new(ProducerSettings { client, transactional_id: None })?;
        let topic = producer.topic(&plan.journal)?;
        let record = Record { payload: Some(blank()), ..Record::default() };
        producer.produce_bytes(topic, Some(plan.partition), &record, 0)?;
        let mut reports = Vec::new();
        let flushed = producer.flush(PROOF_WAIT, &mut reports);
        let is_written = flushed.is_ok() && reports.iter().all(|report| report.outcome.is_ok());
        producer.close(PROOF_WAIT, &mut reports)?;
        Ok(is_written)
    }

    pub(super) fn is_on(&self) -> bool {
        !self.config.kafka.journal.is_empty()
    }

    /// Restores the state of partitions, given with epoch and committed offset.
    pub(super) fn start(&self, partitions: Vec<(Key, u32, PartitionOffset)>) {
        if !self.is_on() || partitions.is_empty() {
            return;
        }
        let restorer = self.clone();
        let spawned =
            std::thread::Builder::new().name("restore".into()).spawn(move || restorer.run(&partitions));
        match spawned {
            Ok(thread) => {
                let mut threads = self.threads.lock().unwrap_or_else(PoisonError::into_inner);
                threads.retain(|thread| !thread.is_finished());
                threads.push(thread);
            }
            Err(error) => unreachable!("the system refuses a thread: {error}"),
        }
    }

    fn run(&self, partitions: &[(Key, u32, PartitionOffset)]) {
        // What an abort takes back must be gone before the same entries are put in place for good.
        while self.progress.asked().is_some() && !self.progress.is_writer_gone() {
            std::thread::sleep(SETTLE_LOOK);
        }
        let plans: Vec<_> = (partitions.iter())
            .filter_map(|(key, _, at)| {
                Some(Plan {
                    source: partition_of(*key).0,
                    journal: self.config.kafka.journal_topic(&at.topic)?,
                    partition: at.partition,
                    before: at.offset,
                    range: at.metadata.parse().ok(),
                })
            })
            .collect();
        let is_off = || !partitions.iter().any(|(key, epoch, _)| self.progress.owns(*key, *epoch));
        let on_silence = |plan: &Plan| {
            let (journal, partition) = (&plan.journal, plan.partition);
            tracing::warn!(
                "nothing comes of the journal {journal}/{partition}; if the brokers answer, {HANGING}"
            );
            let key = partitions.iter().map(|(key, ..)| *key).find(|key| partition_of(*key).0 == plan.source);
            // Where no offset names what is wanted, it may be something that was taken back.
            if let (Some(key), Some(_)) = (key, plan.range)
                && self.is_journal_hidden(plan).unwrap_or_default()
            {
                self.progress.hide(Hidden::Journal(key));
            }
        };
        let began = Instant::now();
        while !is_off() {
            match self.restore(&plans, &is_off, &on_silence) {
                Ok(indexes) => {
                    let vitals = &self.progress.vitals;
                    vitals.restore_ms.store(began.elapsed().as_millis() as u64, Ordering::Relaxed);
                    Vitals::count(&vitals.restores);
                    let took = vitals.restore_ms.load(Ordering::Relaxed);
                    self.progress.status.journal_restore_ms.store(took, Ordering::Relaxed);
                    for ((key, epoch, _), index) in partitions.iter().zip(indexes) {
                        self.progress.restored(*key, *epoch, index);
                    }
                    return;
                }
                Err(_) if is_off() => return,
                Err(KafkaError::Fault(fault))
                    if fault.code == Code::UNKNOWN_PARTITION && began.elapsed() < GROW_WAIT =>
                {
                    if let Err(error) = self.grow(&plans) {
                        return self.progress.fail(error);
                    }
                    std::thread::sleep(RESTORE_PAUSE);
                }
                // It is read by a new consumer each time.
                Err(error) if error.is_retriable() || error.class() == Class::Rebuild => {
                    tracing::warn!("{error}; the journal is read again");
                    std::thread::sleep(RESTORE_PAUSE);
                }
                Err(error) => return self.progress.fail(error),
            }
        }
    }

    /// The input was given more partitions while we run: so are its journals.
    fn grow(&self, plans: &[Plan]) -> Result<(), KafkaError> {
        let client = ClientSettings::from_config(&self.config)
            .map_err(|error| KafkaError::Create { kind: "admin", text: error.to_string() })?;
        let journals = JournalTopics::connect(&client)?;
        let mut needed: BTreeMap<&str, i32> = BTreeMap::new();
        for plan in plans {
            let count = needed.entry(&plan.journal).or_default();
            *count = (*count).max(plan.partition + 1);
        }
        // Other processes may do the same, and a journal that has enough stays as it is.
        needed.into_iter().try_for_each(|(journal, partitions)| {
            tracing::info!(topic = journal, partitions, "the journal is given the partitions of its input");
            journals.grow(journal, partitions)
        })
    }

    fn restore(
        &self,
        plans: &[Plan],
        is_off: &dyn Fn() -> bool,
        on_silence: &dyn Fn(&Plan),
    ) -> Result<Vec<crate::kafka::journal::Index>, KafkaError> {
        let Some(gate) = self.gate.get() else { return Err(KafkaError::Closed) };
        let settings = ConsumerSettings::from_config(&self.config)
            .map_err(|error| KafkaError::Create { kind: "consumer", text: error.to_string() })?;
        let continue_on_loss = self.config.kafka.on_state_loss == OnStateLoss::Continue;
        let restore = Restore { settings, continue_on_loss, is_off, on_silence };
        // A gate that has ended needs no state.
        restore.run(plans, |changes| {
            Vitals::count(&self.progress.status.journal_restored);
            drop(gate.send(changes));
        })
    }
}
