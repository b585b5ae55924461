//! Keeps journals short: deletes what lies below the committed floors, on a thread of its own.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::thread::JoinHandle;
use std::time::Duration;

use crate::kafka::PartitionOffset;
use crate::kafka::journal::JournalTopics;

use super::progress::{Key, Progress};

/// How often dead records are deleted.
const DELETE_EVERY: Duration = Duration::from_secs(10);

/// The thread; it ends when this is stopped.
pub(super) struct Keeper {
    stop: Sender<()>,
    thread: JoinHandle<()>,
}

impl Keeper {
    /// Starts the thread. `names` are the journals, by input topic.
    pub(super) fn start(
        mut journals: JournalTopics,
        progress: &Arc<Progress>,
        names: Vec<Option<String>>,
    ) -> Option<Self> {
        let progress = Arc::clone(progress);
        let (stop, stopped) = channel();
        let keep = move || keep(&mut journals, &progress, &names, &stopped);
        match std::thread::Builder::new().name("journal".into()).spawn(keep) {
            Ok(thread) => Some(Self { stop, thread }),
            Err(error) => {
                tracing::warn!("the system refuses a thread, so the journal is not trimmed: {error}");
                None
            }
        }
    }

    /// Asks the thread to end; it may be busy for a while yet.
    pub(super) fn stop(self) -> JoinHandle<()> {
        drop(self.stop);
        self.thread
    }
}

fn keep(journals: &mut JournalTopics, progress: &Progress, names: &[Option<String>], stopped: &Receiver<()>) {
    let mut deleted: BTreeMap<Key, i64> = BTreeMap::new();
    let mut is_told = false;
    while stopped.recv_timeout(DELETE_EVERY) == Err(RecvTimeoutError::Timeout) {
        let mut due = progress.floors();
        due.retain(|(key, floor)| deleted.get(key).copied().unwrap_or_default() < *floor);
        let place = |(key, floor): &(Key, i64)| {
            let name = names.get(usize::from(key.0.0))?.as_deref()?;
            Some(PartitionOffset::new(name, key.1, *floor))
        };
        let floors: Vec<_> = due.iter().filter_map(place).collect();
        if floors.is_empty() {
            continue;
        }
        match journals.delete_below(&floors) {
            Ok(()) => deleted.extend(due),
            // The journal only grows, so once is enough.
            Err(error) if !is_told => {
                tracing::warn!("{error}; the journal grows until this works");
                is_told = true;
            }
            Err(error) => tracing::debug!("{error}"),
        }
    }
}
