//! Keeps journals short: deletes what lies below the committed floors.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use crate::kafka::PartitionOffset;
use crate::kafka::journal::JournalTopics;

use super::progress::{Key, Progress};

/// How often dead records are deleted.
pub(super) const DELETE_EVERY: Duration = Duration::from_secs(10);

/// Deletes now and then.
pub(super) struct Keeper {
    journals: JournalTopics,
    progress: Arc<Progress>,
    /// The journals, by input topic.
    names: Vec<Option<String>>,
    deleted: BTreeMap<Key, i64>,
    is_told: bool,
}

impl Keeper {
    pub(super) fn new(journals: JournalTopics, progress: &Arc<Progress>, names: Vec<Option<String>>) -> Self {
        Self { journals, progress: Arc::clone(progress), names, deleted: BTreeMap::new(), is_told: false }
    }

    /// Deletes what is due.
    pub(super) fn keep(&mut self) {
        let mut due = self.progress.floors();
        due.retain(|(key, floor)| self.deleted.get(key).copied().unwrap_or_default() < *floor);
        let place = |(key, floor): &(Key, i64)| {
            let name = self.names.get(usize::from(key.0.0))?.as_deref()?;
            Some(PartitionOffset::new(name, key.1, *floor))
        };
        let floors: Vec<_> = due.iter().filter_map(place).collect();
        if floors.is_empty() {
            return;
        }
        match self.journals.delete_below(&floors) {
            Ok(()) => self.deleted.extend(due),
            // The journal only grows, so once is enough.
            Err(error) if !self.is_told => {
                tracing::warn!("{error}; the journal grows until this works");
                self.is_told = true;
            }
            Err(error) => tracing::debug!("{error}"),
        }
    }
}
