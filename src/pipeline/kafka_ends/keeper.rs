//! Keeps journals short: deletes what lies below the committed floors, on a thread of its own.

use std::collections::BTreeMap;
use std::sync::{Arc, Weak};
use std::time::{Duration, Instant};

use crate::kafka::PartitionOffset;
use crate::kafka::journal::JournalTopics;

use super::progress::{Key, Progress};

/// How often dead records are deleted, and how often the thread looks whether it is still needed.
const DELETE_EVERY: Duration = Duration::from_secs(10);
const LOOK_EVERY: Duration = Duration::from_millis(200);

/// Starts the thread; it ends when nobody else has the progress any more. `names` are the journals, by input topic.
pub(super) fn start(journals: JournalTopics, progress: &Arc<Progress>, names: Vec<Option<String>>) {
    let progress = Arc::downgrade(progress);
    let keep = move || keep(&journals, &progress, &names);
    if let Err(error) = std::thread::Builder::new().name("journal".into()).spawn(keep) {
        tracing::warn!("the system refuses a thread, so the journal is not trimmed: {error}");
    }
}

fn keep(journals: &JournalTopics, progress: &Weak<Progress>, names: &[Option<String>]) {
    let mut deleted: BTreeMap<Key, i64> = BTreeMap::new();
    let mut delete_at = Instant::now() + DELETE_EVERY;
    let mut is_told = false;
    loop {
        std::thread::sleep(LOOK_EVERY);
        let Some(progress) = progress.upgrade() else { return };
        if Instant::now() < delete_at {
            continue;
        }
        delete_at = Instant::now() + DELETE_EVERY;
        let mut due = progress.floors();
        due.retain(|(key, floor)| deleted.get(key).copied().unwrap_or_default() < *floor);
        let place = |(key, floor): &(Key, i64)| {
            let name = names.get(usize::from(key.0.0))?.as_deref()?;
            Some(PartitionOffset::new(name, key.1, *floor))
        };
        let floors: Vec<_> = due.iter().filter_map(place).collect();
        drop(progress);
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
