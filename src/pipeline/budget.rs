//! Bounds what is between reader and commit, in records and in bytes.

use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use super::batch::Outcome;
use super::stop::Stop;
use crate::formats::Facts;
use crate::formats::labels::Labels;

/// How often a waiting reader looks whether the run is being stopped.
const STOP_CHECK: Duration = Duration::from_millis(20);

/// The shared bound.
pub struct Budget {
    used: Mutex<Used>,
    freed: Condvar,
    records_max: u64,
    bytes_max: u64,
}

/// LIMIT: lists of ended batches that are kept for the next ones.
const SPARE_MAX: usize = 64;

#[derive(Default)]
struct Used {
    records: u64,
    bytes: u64,
    spare: Vec<Lists>,
}

/// The lists that a batch carries beside its payloads.
#[derive(Default)]
pub struct Lists {
    /// One outcome per record.
    pub outcomes: Vec<Outcome>,
    /// The facts of records that hold.
    pub facts: Vec<Facts>,
    /// The labels of all records.
    pub labels: Vec<Labels>,
    /// JSON pointers of the rejects.
    pub pointers: Vec<u8>,
    /// What it changed in the state, in bytes.
    pub body: Vec<u8>,
}

impl Lists {
    /// The JSON pointer of a reject.
    #[must_use]
    pub fn pointer(&self, outcome: Outcome) -> &[u8] {
        self.pointers.get(outcome.pointer.0 as usize..outcome.pointer.1 as usize).unwrap_or_default()
    }
}

/// A batch's share; dropping it gives the share back.
pub struct Permit {
    budget: Arc<Budget>,
    records: u64,
    bytes: u64,
}

impl Budget {
    /// A budget of so many records and bytes.
    #[must_use]
    pub fn new(records_max: u32, bytes_max: u64) -> Self {
        Self { used: Mutex::default(), freed: Condvar::new(), records_max: u64::from(records_max), bytes_max }
    }

    /// Waits until the share fits, at most for `wait`, or until the run is abandoned. A share that alone exceeds the budget passes when
    /// nothing else is in flight: one large record must not stop the rest.
    pub fn acquire(
        self: &Arc<Self>,
        (records, bytes): (u64, u64),
        wait: Duration,
        stop: &Stop,
    ) -> Option<Permit> {
        let deadline = Instant::now() + wait;
        let mut used = self.lock();
        while used.records > 0
            && (used.records + records > self.records_max || used.bytes + bytes > self.bytes_max)
        {
            if stop.is_abandoned() || Instant::now() >= deadline {
                return None;
            }
            used = self.freed.wait_timeout(used, STOP_CHECK).unwrap_or_else(PoisonError::into_inner).0;
        }
        used.records += records;
        used.bytes += bytes;
        drop(used);
        Some(Permit { budget: Arc::clone(self), records, bytes })
    }

    /// Empty lists: those of an ended batch, if there are any.
    ///
    /// PERF: a thread that allocates what another one frees gets fresh memory most of the time, and the system clears it.
    #[must_use]
    pub fn lists(&self) -> Lists {
        self.lock().spare.pop().unwrap_or_default()
    }

    /// Leaves the lists of a batch that needs them no more to the next ones.
    pub fn put_by(&self, mut lists: Lists) {
        lists.outcomes.clear();
        lists.facts.clear();
        lists.labels.clear();
        lists.pointers.clear();
        lists.body.clear();
        let mut used = self.lock();
        if used.spare.len() < SPARE_MAX {
            used.spare.push(lists);
        }
    }

    /// Records and bytes in flight now.
    #[must_use]
    pub fn used(&self) -> (u64, u64) {
        let used = self.lock();
        (used.records, used.bytes)
    }

    fn lock(&self) -> MutexGuard<'_, Used> {
        self.used.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Permit {
    /// Ends the share, and leaves the batch's lists to the next ones.
    pub fn end(self, lists: Lists) {
        self.budget.put_by(lists);
    }

    /// The budget that this is a share of.
    #[must_use]
    pub fn budget(&self) -> Arc<Budget> {
        Arc::clone(&self.budget)
    }
}

impl Drop for Permit {
    fn drop(&mut self) {
        let mut used = self.budget.lock();
        used.records -= self.records;
        used.bytes -= self.bytes;
        drop(used);
        self.budget.freed.notify_all();
    }
}
