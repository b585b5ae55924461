//! Reload: reads the configuration again with its keys, registries, schemas and thresholds, checks it completely, and
//! puts the new rules in place between two batches.
//!
//! A configuration that does not hold changes nothing and says why. What a running process cannot change is refused
//! (the formats and their topics, since batches under way count by them) or named as waiting for a restart.

use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use crate::clock;
use crate::config::{Config, ConfigError, Profile};
use crate::judge::{Rules, RulesError};
use crate::pipeline::edition::{Candidate, Editions};
use crate::state;

/// Why a reload changes nothing.
#[derive(Debug, thiserror::Error)]
pub enum ReloadError {
    /// There is no file to read again.
    #[error("the process was started without a configuration file: there is nothing to read again")]
    NoFile,
    /// The configuration does not hold.
    #[error(transparent)]
    Config(#[from] ConfigError),
    /// The rules cannot be made.
    #[error("{file}")]
    Rules {
        /// Where their keys stand.
        file: String,
        /// Why.
        #[source]
        source: RulesError,
    },
    /// The profile strict checks everything, and has not the data for it.
    #[error("{file}: the profile strict checks everything, and these rules lack their data: {rules}")]
    Lacks {
        /// The file.
        file: String,
        /// The rules.
        rules: String,
    },
    /// Something that only a restart can change.
    #[error("{file}: {what}; this takes a restart")]
    Restart {
        /// The file.
        file: String,
        /// What differs.
        what: String,
    },
}

/// What a reload did.
#[derive(Clone, Debug)]
pub struct Reloaded {
    /// The rule set before.
    pub before: String,
    /// The rule set from the next batch on.
    pub after: String,
    /// The edition's number; the old one if nothing changed.
    pub edition: u64,
    /// Sections that differ and take a restart.
    pub waiting: Vec<&'static str>,
}

/// Reads the configuration again.
pub struct Reloader {
    file: Option<PathBuf>,
    /// What the command line sets over the file.
    format: Option<String>,
    editions: Arc<Editions>,
    config: Mutex<Arc<Config>>,
    applied: AtomicU64,
    unchanged: AtomicU64,
    refused: AtomicU64,
    changed_ms: AtomicU64,
}

/// The rules of a configuration with their candidate, if it names one.
pub fn compile(
    config: &Config,
    file: Option<&Path>,
) -> Result<(Arc<Rules>, Option<Arc<Candidate>>), ReloadError> {
    let rules = Arc::new(compile_rules(config, file)?);
    if config.shadow.config.is_empty() {
        return Ok((rules, None));
    }
    let directory = file.and_then(Path::parent).unwrap_or(Path::new(""));
    let candidate_file = directory.join(&config.shadow.config);
    let mut candidate = Config::load(&candidate_file)?;
    // Records are told apart in one way; the candidate judges them otherwise.
    candidate.kafka.topics.clone_from(&config.kafka.topics);
    let candidate_rules = compile_rules(&candidate, Some(&candidate_file))?;
    check_same_formats(config, &rules, &candidate, &candidate_rules, &candidate_file)?;
    let candidate = Candidate {
        rules: candidate_rules,
        settings: state::Settings::of(&candidate),
        report: PathBuf::from(&config.shadow.report),
    };
    Ok((rules, Some(Arc::new(candidate))))
}

fn compile_rules(config: &Config, file: Option<&Path>) -> Result<Rules, ReloadError> {
    let file = file.map_or_else(|| "the defaults".to_owned(), |file| file.display().to_string());
    Rules::compile(config).map_err(|source| ReloadError::Rules { file, source })
}

/// Batches carry formats and bindings as numbers, which must mean the same before and after.
fn check_same_formats(
    config: &Config,
    rules: &Rules,
    other: &Config,
    other_rules: &Rules,
    file: &Path,
) -> Result<(), ReloadError> {
    let names =
        |rules: &Rules| rules.formats().iter().map(|format| format.name().to_owned()).collect::<Vec<_>>();
    let bindings = |rules: &Rules| {
        let topics = config.kafka.topics.iter().map(|topic| rules.topic_binding(topic));
        topics.chain([rules.default_binding()]).collect::<Vec<_>>()
    };
    let what = if names(rules) != names(other_rules) {
        format!("its formats are {:?} instead of {:?}", names(other_rules), names(rules))
    } else if bindings(rules) != bindings(other_rules) {
        "topics are bound to other formats".to_owned()
    } else if config.rules.clock != other.rules.clock {
        format!("`rules.clock` is {:?} instead of {:?}", other.rules.clock.name(), config.rules.clock.name())
    } else {
        return Ok(());
    };
    Err(ReloadError::Restart { file: file.display().to_string(), what })
}

impl Reloader {
    /// Remembers what the run was started with.
    #[must_use]
    pub fn new(file: Option<&Path>, format: Option<&str>, config: Config, editions: Arc<Editions>) -> Self {
        Self {
            file: file.map(Path::to_owned),
            format: format.map(str::to_owned),
            editions,
            config: Mutex::new(Arc::new(config)),
            applied: AtomicU64::new(0),
            unchanged: AtomicU64::new(0),
            refused: AtomicU64::new(0),
            changed_ms: AtomicU64::new(now_ms()),
        }
    }

    /// Reads, checks and swaps; says in the log what happened.
    pub fn reload(&self) -> Result<Reloaded, ReloadError> {
        let outcome = self.try_reload();
        match &outcome {
            Ok(done) if done.before == done.after => {
                self.unchanged.fetch_add(1, Ordering::Relaxed);
                tracing::info!(rules = done.after, "reloaded: the rules are the same");
            }
            Ok(done) => {
                self.applied.fetch_add(1, Ordering::Relaxed);
                tracing::info!(before = done.before, after = done.after, edition = done.edition, "reloaded");
            }
            Err(error) => {
                self.refused.fetch_add(1, Ordering::Relaxed);
                tracing::error!("nothing was reloaded: {}", chain(error));
            }
        }
        if let Ok(done) = &outcome
            && !done.waiting.is_empty()
        {
            tracing::warn!("these sections changed and wait for a restart: {}", done.waiting.join(", "));
        }
        outcome
    }

    fn try_reload(&self) -> Result<Reloaded, ReloadError> {
        let file = self.file.as_deref().ok_or(ReloadError::NoFile)?;
        // One at a time, from reading to replacing.
        let mut config = self.lock();
        let mut new = Config::load(file)?;
        if let Some(format) = &self.format {
            new.rules.format.clone_from(format);
        }
        let (rules, candidate) = compile(&new, Some(file))?;
        let lacks = rules.lacks();
        if new.rules.profile == Profile::Strict && !lacks.is_empty() {
            let rules: Vec<_> =
                lacks.iter().map(|lack| format!("{} of {}", lack.rule, lack.family)).collect();
            return Err(ReloadError::Lacks { file: file.display().to_string(), rules: rules.join(", ") });
        }
        let current = self.editions.current();
        check_same_formats(&config, &current, &new, &rules, file)?;
        let (before, after) = (current.hash().to_owned(), rules.hash().to_owned());
        let waiting = waiting_for_restart(&config, &new);
        // Equal hashes can still hide other secrets, so the new rules are taken in any case.
        let edition = self.editions.replace(rules, state::Settings::of(&new), candidate);
        self.changed_ms.store(now_ms(), Ordering::Relaxed);
        *config = Arc::new(new);
        Ok(Reloaded { before, after, edition, waiting })
    }

    /// The configuration that is in force.
    #[must_use]
    pub fn config(&self) -> Arc<Config> {
        Arc::clone(&self.lock())
    }

    /// Reloads by how they ended, with the names that metrics carry.
    #[must_use]
    pub fn counts(&self) -> [(&'static str, u64); 3] {
        [("applied", &self.applied), ("unchanged", &self.unchanged), ("refused", &self.refused)]
            .map(|(name, count)| (name, count.load(Ordering::Relaxed)))
    }

    /// When the rules were taken into use, in milliseconds since 1970.
    #[must_use]
    pub fn changed_ms(&self) -> u64 {
        self.changed_ms.load(Ordering::Relaxed)
    }

    fn lock(&self) -> MutexGuard<'_, Arc<Config>> {
        self.config.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Sections that a running process does not take over.
fn waiting_for_restart(old: &Config, new: &Config) -> Vec<&'static str> {
    let sections = [
        ("pipeline", old.pipeline != new.pipeline),
        ("files", old.files != new.files),
        ("rejected", old.rejected != new.rejected),
        ("kafka", old.kafka != new.kafka),
        ("librdkafka", old.librdkafka != new.librdkafka),
        ("ops", old.ops != new.ops),
        ("traces", old.traces != new.traces),
        ("ledger", old.ledger != new.ledger),
        ("window.memory_bytes_max", old.window.memory_bytes_max != new.window.memory_bytes_max),
    ];
    sections.into_iter().filter(|(_, differs)| *differs).map(|(name, _)| name).collect()
}

/// An error with its causes, in one line.
pub(super) fn chain(error: &dyn std::error::Error) -> String {
    let mut text = error.to_string();
    let mut cause = error.source();
    while let Some(error) = cause {
        text.push_str(&format!(": {error}"));
        cause = error.source();
    }
    text
}

fn now_ms() -> u64 {
    u64::try_from(clock::wall().micros() / 1000).unwrap_or(0)
}
