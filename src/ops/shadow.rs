//! What candidate rules would change: every record in a report file, and groups by cause for the ops port.
//!
//! Gathered on a thread of its own from lists that the gate sends per batch, each for the report of the candidate that its
//! batch was judged by: a reload that takes the candidate away cuts nothing off. Counts are exact; a group keeps a few
//! records by name, the file has them all.

use std::collections::BTreeMap;
use std::fs::File;
use std::io::{BufWriter, Write};
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use crossbeam::channel::{Receiver, bounded};
use serde_json::{Value, json};

use super::mask::cut;
use super::places::Places;
use crate::pipeline::Editions;
use crate::pipeline::shadow::{ShadowChange, ShadowChanges, ShadowSender};
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
    fn follow(&mut self, path: &Path) {
        if self.path != path {
            self.flush();
            self.file = None;
            path.clone_into(&mut self.path);
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
    pub fn channel() -> (ShadowSender, Receiver<Option<ShadowChanges>>) {
        bounded(WAITING_MAX)
    }

    /// Gathers until the run has ended. A file that cannot be written stops neither the run nor the counts; the first such
    /// error comes back at the end.
    pub fn gather(
        &self,
        from: &Receiver<Option<ShadowChanges>>,
        places: &Places,
        editions: &Editions,
        is_running: impl Fn() -> bool,
    ) -> std::io::Result<()> {
        let mut file = Report::default();
        // A candidate that would change nothing leaves an empty report.
        if let Some(candidate) = &editions.current().candidate {
            file.follow(&candidate.report);
        }
        loop {
            let changes = match from.recv_timeout(LOOK_EVERY) {
                Ok(Some(changes)) => changes,
                // What a run sent before its end is still there.
                Ok(None) | Err(_) if is_running() || !from.is_empty() => continue,
                Ok(None) | Err(_) => break,
            };
            file.follow(&changes.of.report);
            let rules = editions.current();
            for change in &changes.records {
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

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;
    use crate::config::Config;
    use crate::judge::Rules;
    use crate::pipeline::batch::Partition;
    use crate::pipeline::edition::Candidate;
    use crate::state::Settings;

    #[test]
    fn a_candidate_that_is_gone_still_gets_what_its_batches_would_change() {
        let config = Config::default();
        let rules = || Rules::compile(&config).unwrap();
        let report = std::env::temp_dir().join(format!("tollgate-shadow-{}.ndjson", std::process::id()));
        let of =
            Arc::new(Candidate { rules: rules(), settings: Settings::of(&config), report: report.clone() });
        let (to, from) = ShadowGroups::channel();
        for place in [7, 8] {
            let record = ShadowChange {
                partition: Partition(0),
                place,
                format: None,
                live: None,
                candidate: Some(Reason::TooBig),
                pointer: String::new(),
            };
            to.send(Some(ShadowChanges { of: Arc::clone(&of), records: vec![record] })).unwrap();
        }
        // By the time that somebody looks, the rules have no candidate, and the run has ended.
        let editions = Editions::new(Arc::new(rules()), Settings::of(&config), None);
        let groups = ShadowGroups::default();
        let places = Places::Files(vec!["in.ndjson".into()]);
        to.send(None).unwrap();
        groups.gather(&from, &places, &editions, || false).unwrap();
        let told = std::fs::read_to_string(&report).unwrap();
        std::fs::remove_file(&report).unwrap();
        assert_eq!(groups.pairs(), [("ok", "too-big", 2)]);
        let places: Vec<_> = told.lines().map(|line| line.contains("in.ndjson:")).collect();
        assert_eq!(places, [true, true], "{told}");
    }
}
