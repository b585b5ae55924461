//! What candidate rules would change: every record in a report file, and groups by cause for the ops port.
//!
//! Gathered on a thread of its own from lists that the gate sends per batch. Counts are exact; a group keeps a few
//! records by name, the file has them all.

use std::collections::BTreeMap;
use std::fs::File;
use std::io::{BufWriter, Write};
use std::path::PathBuf;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use crossbeam::channel::{Receiver, bounded};
use serde_json::{Value, json};

use super::mask::cut;
use super::places::Places;
use crate::pipeline::Editions;
use crate::pipeline::shadow::{ShadowChange, ShadowSender};
use crate::verdict::Reason;

/// LIMIT: batches whose changes wait to be gathered; then the gate waits, since the report is complete.
const WAITING_MAX: usize = 64;
/// LIMIT: groups that are kept; further causes are counted together.
const GROUPS_MAX: usize = 500;
/// How often a waiting thread looks whether the run has ended, if nobody tells it.
const LOOK_EVERY: Duration = Duration::from_secs(1);
/// LIMIT: records that a group names.
const EXAMPLES_MAX: usize = 5;

/// Why a verdict would change: both reasons, format and pointer.
type Cause = (&'static str, &'static str, String, String);

#[derive(Default)]
struct Group {
    count: u64,
    first: String,
    last: String,
    examples: Vec<String>,
}

/// The account.
#[derive(Default)]
pub struct ShadowGroups {
    groups: Mutex<BTreeMap<Cause, Group>>,
    pairs: Mutex<BTreeMap<(&'static str, &'static str), u64>>,
}

/// The code of a reason; `ok` if there is none.
fn code(reason: Option<Reason>) -> &'static str {
    reason.map_or("ok", Reason::code)
}

/// The report's file; another one after a reload that names another.
#[derive(Default)]
struct Report {
    path: PathBuf,
    file: Option<BufWriter<File>>,
    error: Option<std::io::Error>,
}

impl Report {
    fn follow(&mut self, path: PathBuf) {
        if self.path != path {
            self.flush();
            self.file = None;
            self.path = path;
            if !self.path.as_os_str().is_empty() {
                let created = File::create(&self.path);
                self.file = self.note(created).map(BufWriter::new);
            }
        }
    }

    fn write(&mut self, line: &Value) {
        if let Some(file) = &mut self.file {
            let written = writeln!(file, "{line}");
            self.note(written);
        }
    }

    fn flush(&mut self) {
        if let Some(file) = &mut self.file {
            let flushed = file.flush();
            self.note(flushed);
        }
    }

    /// Says what went wrong once, and writes no further.
    fn note<T>(&mut self, outcome: std::io::Result<T>) -> Option<T> {
        outcome
            .map_err(|error| {
                tracing::error!(
                    "`shadow.report`: {}: {error}; it is written no further",
                    self.path.display()
                );
                self.file = None;
                self.error.get_or_insert(error);
            })
            .ok()
    }
}

impl ShadowGroups {
    /// The way from the gate to whoever gathers.
    #[must_use]
    pub fn channel() -> (ShadowSender, Receiver<Vec<ShadowChange>>) {
        bounded(WAITING_MAX)
    }

    /// Gathers until the run has ended; `report` names the file that is wanted at the moment. A file that cannot be
    /// written stops neither the run nor the counts; the first such error comes back at the end.
    pub fn gather(
        &self,
        from: &Receiver<Vec<ShadowChange>>,
        places: &Places,
        editions: &Editions,
        report: impl Fn() -> PathBuf,
        is_running: impl Fn() -> bool,
    ) -> std::io::Result<()> {
        let mut file = Report::default();
        file.follow(report());
        loop {
            let changes = match from.recv_timeout(LOOK_EVERY) {
                Ok(changes) => changes,
                Err(_) if is_running() => continue,
                Err(_) => break,
            };
            // Nothing to tell: somebody wants to know whether the run goes on.
            if changes.is_empty() && !is_running() && from.is_empty() {
                break;
            }
            file.follow(report());
            let rules = editions.current();
            for change in &changes {
                let format = change.format.map_or("none", |format| rules.format_name(format));
                let src = places.record(change.partition, change.place);
                file.write(&json!({
                    "src": src, "format": format, "live": code(change.live),
                    "candidate": code(change.candidate), "at": change.pointer,
                }));
                self.add(change, format, src);
            }
            if from.is_empty() {
                file.flush();
            }
        }
        file.flush();
        file.error.map_or(Ok(()), Err)
    }

    fn add(&self, change: &ShadowChange, format: &str, src: String) {
        let pair = (code(change.live), code(change.candidate));
        *self.pairs.lock().unwrap_or_else(PoisonError::into_inner).entry(pair).or_default() += 1;
        let mut groups = self.groups.lock().unwrap_or_else(PoisonError::into_inner);
        let mut cause = (pair.0, pair.1, format.to_owned(), cut(&change.pointer));
        if groups.len() >= GROUPS_MAX && !groups.contains_key(&cause) {
            cause = (pair.0, pair.1, "any".to_owned(), "…".to_owned());
        }
        let group = groups.entry(cause).or_default();
        group.count += 1;
        if group.count == 1 {
            group.first.clone_from(&src);
        }
        if group.examples.len() < EXAMPLES_MAX {
            group.examples.push(src.clone());
        }
        group.last = src;
    }

    /// Changes by both reasons.
    #[must_use]
    pub fn pairs(&self) -> Vec<(&'static str, &'static str, u64)> {
        let pairs = self.pairs.lock().unwrap_or_else(PoisonError::into_inner);
        pairs.iter().map(|((live, candidate), count)| (*live, *candidate, *count)).collect()
    }

    /// All groups, the largest first.
    #[must_use]
    pub fn to_json(&self) -> Value {
        let groups = self.groups.lock().unwrap_or_else(PoisonError::into_inner);
        let mut sorted: Vec<_> = groups.iter().collect();
        sorted.sort_by_key(|(_, group)| std::cmp::Reverse(group.count));
        let shown = sorted.into_iter().map(|((live, candidate, format, at), group)| {
            json!({
                "live": live, "candidate": candidate, "format": format, "at": at, "count": group.count,
                "first": group.first, "last": group.last, "examples": group.examples,
            })
        });
        Value::Array(shown.collect())
    }
}
