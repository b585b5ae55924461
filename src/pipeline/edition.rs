//! Editions of the rule set: each batch carries the one that was current when it was read.
//!
//! A reload puts a new edition in place between two batches; batches that are under way keep theirs. So verdicts change
//! at one offset of each partition, and nothing waits. Publishing must stay free of locks on the way of a record.

use std::ops::Deref;
use std::path::PathBuf;
use std::sync::Arc;

use arc_swap::ArcSwap;

use crate::judge::Rules;
use crate::state;

/// A rule set with everything that is reloaded together with it.
pub struct Edition {
    /// Counts up from 0, the one that the run began with.
    pub number: u64,
    rules: Arc<Rules>,
    /// What the gate goes by from this edition on, and what workers find out for it.
    pub settings: state::Settings,
    /// Rules that are tried beside these.
    pub candidate: Option<Arc<Candidate>>,
}

/// Candidate rules, and what their own memory goes by.
pub struct Candidate {
    /// The rules.
    pub rules: Rules,
    /// What their window and ledger go by.
    pub settings: state::Settings,
    /// The file that gets every record which they would give another verdict; empty for none.
    pub report: PathBuf,
}

impl Deref for Edition {
    type Target = Rules;

    fn deref(&self) -> &Rules {
        &self.rules
    }
}

/// The current edition, for the reader, and for whoever replaces it.
pub struct Editions {
    current: ArcSwap<Edition>,
}

impl Editions {
    /// The first edition.
    #[must_use]
    pub fn new(rules: Arc<Rules>, settings: state::Settings, candidate: Option<Arc<Candidate>>) -> Self {
        let first = Edition { number: 0, rules, settings, candidate };
        Self { current: ArcSwap::from_pointee(first) }
    }

    /// What the next batch is judged by.
    #[must_use]
    pub fn current(&self) -> Arc<Edition> {
        self.current.load_full()
    }

    /// From the next batch on, these rules hold. One thread at a time replaces.
    pub fn replace(
        &self,
        rules: Arc<Rules>,
        settings: state::Settings,
        candidate: Option<Arc<Candidate>>,
    ) -> u64 {
        let number = self.current.load().number + 1;
        self.current.store(Arc::new(Edition { number, rules, settings, candidate }));
        number
    }
}
