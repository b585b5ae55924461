//! The report: one data structure, from which text, JSON, HTML and lines of findings are made.
//!
//! `report.json` is this structure; its schema is `configs/schemas/report.schema.json`, and a test keeps the two
//! together. Everything but [`Report::run`] and [`Report::signature`] depends on the input, the rules and the clock
//! alone. Texts of records went through [`super::shown`] before they came here.

use serde::{Deserialize, Serialize};

use super::examples::Example;
use super::sign::Signature;

/// What the member `report` says.
pub const REPORT_NAME: &str = "tollgate-audit";
/// The version of the form. A member that is added keeps it; one that changes or goes raises it.
pub const REPORT_VERSION: u32 = 1;

/// LIMIT: rows of one table in a report; the tables behind it may know more.
pub const ROWS_MAX: usize = 1000;

/// The whole report.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Report {
    /// [`REPORT_NAME`].
    pub report: String,
    /// [`REPORT_VERSION`].
    pub version: u32,
    /// Name and version of the tool.
    pub tool: String,
    /// What was looked at.
    pub scope: Scope,
    /// What it was judged by.
    pub rules: RulesUsed,
    /// The inputs, in the order of reading.
    pub inputs: Vec<Input>,
    /// SHA-256 over the chains of all inputs.
    pub digest: String,
    /// Counts of everything.
    pub totals: Totals,
    /// What deserves attention, the gravest first.
    pub findings: Vec<Finding>,
    /// By format.
    pub formats: Vec<FormatRow>,
    /// Rejected records by reason, the most frequent first.
    pub reasons: Vec<ReasonRow>,
    /// Accepted records that break a rule which only warns, or one of sequence that the profile does not enforce.
    pub warnings: Vec<ReasonRow>,
    /// By sender.
    pub senders: Table,
    /// By sender and receiver.
    pub pairs: Table,
    /// By message type, intent or action.
    pub subjects: Table,
    /// By tenant or workspace.
    pub tenants: Table,
    /// Rejected records by sender and reason.
    pub sender_reasons: Table,
    /// Failed signatures and tokens by sender and key.
    pub signatures: Table,
    /// Agents that no registry knows.
    pub unknown_agents: Table,
    /// By hour of sending.
    pub hours: Hours,
    /// Payload bytes.
    pub sizes: Distribution,
    /// From sending to the log's stamp, in milliseconds; only where the log stamps records.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub latency: Option<Distribution>,
    /// Repetitions.
    pub repeats: Repeats,
    /// Senders whose clocks are off.
    pub skew: Vec<SkewRow>,
    /// Conversations that do not add up.
    pub sequences: Sequences,
    /// Members that came or went.
    pub drift: Vec<DriftRow>,
    /// What is known to be incomplete, and by how much.
    pub limits: Limits,
    /// This run: what differs from one run to the next.
    pub run: Run,
    /// The signature over everything else.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub signature: Option<Signature>,
}

/// What was looked at.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Scope {
    /// Whether every input was read to its end.
    pub complete: bool,
    /// Why not.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub incomplete_because: Option<String>,
    /// One record of so many was looked at; absent: every one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sample_one_in: Option<u64>,
    /// Whether an earlier audit's state was continued.
    pub continued: bool,
    /// Files of directories that were left out, by their names or kinds.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub left_out: u64,
}

/// What records were judged by.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct RulesUsed {
    /// Hash of the rule set.
    pub hash: String,
    /// The profile.
    pub profile: String,
    /// `auto`, or the format that all records were taken for.
    pub format: String,
    /// The clock: `record`, or the one instant that everything was judged at.
    pub clock: String,
    /// Rules that could not be checked, because their data is not configured.
    pub unchecked: Vec<String>,
}

/// One input: a file or a partition.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Input {
    /// Path, or topic and partition.
    pub name: String,
    /// `file` or `partition`.
    pub kind: String,
    /// Bytes: of the file as it is stored, or of all payloads; of an archive that was not read whole, what came out of it.
    pub bytes: u64,
    /// SHA-256: of the file as it is stored, or of the payloads, each behind its length; absent if it was not read whole.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sha256: Option<String>,
    /// The first position that was looked at: a line or an offset.
    pub first: u64,
    /// The last one.
    pub last: u64,
    /// Records.
    pub records: u64,
    /// Of them rejected.
    pub rejected: u64,
    /// The chain over position, content and verdict of each record.
    pub chain: String,
    /// Why it was not read whole.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error: Option<String>,
}

/// Counts of everything.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Totals {
    /// Records.
    pub records: u64,
    /// Payload bytes.
    pub bytes: u64,
    /// Accepted records.
    pub accepted: u64,
    /// Rejected records.
    pub rejected: u64,
    /// Accepted ones to which a rule applies that could not be checked.
    pub unchecked: u64,
    /// Accepted ones that break a rule which is not enforced.
    pub warned: u64,
    /// Accepted ones that change nothing.
    pub without_effect: u64,
    /// Records whose format is not known.
    pub unknown_format: u64,
    /// Records without a time of their own, or with one outside the years 1 to 9999.
    pub without_time: u64,
}

/// How grave a finding is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Severity {
    /// Somebody should look today.
    High,
    /// Somebody should look.
    Medium,
    /// Good to know.
    Low,
}

impl Severity {
    /// Its name.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::High => "high",
            Self::Medium => "medium",
            Self::Low => "low",
        }
    }
}

/// One thing that deserves attention.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Finding {
    /// What kind it is; stable.
    pub kind: String,
    /// How grave it is.
    pub severity: Severity,
    /// What was found, in one sentence.
    pub title: String,
    /// What it is about: a sender, a member, a key.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub subject: Option<String>,
    /// The reason, where there is one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    /// The format, where there is one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub format: Option<String>,
    /// How often.
    pub count: u64,
    /// Of all records.
    pub share: f64,
    /// What can be done.
    pub advice: String,
    /// Records that show it.
    pub examples: Vec<Example>,
}

/// Counts of one format.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct FormatRow {
    /// The format.
    pub format: String,
    /// Records.
    pub records: u64,
    /// Of them rejected.
    pub rejected: u64,
    /// Payload bytes.
    pub bytes: u64,
}

/// Counts of one reason.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ReasonRow {
    /// The reason.
    pub reason: String,
    /// The step of judging at which it arises.
    pub step: String,
    /// What it means.
    pub text: String,
    /// What a sender can do.
    pub hint: String,
    /// Records.
    pub count: u64,
    /// Of all records.
    pub share: f64,
    /// The same by format; `-` where it is not known.
    pub formats: Vec<(String, u64)>,
    /// Some of them.
    pub examples: Vec<Example>,
}

/// Counts by key.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Table {
    /// Keys that are known; all there are, if `exact`.
    pub keys: u64,
    /// Whether every key is known and every count exact.
    pub exact: bool,
    /// How often a key that is not known occurred, at most; no count is further off than that. A known one that has no
    /// row here occurred at most as often as the last one that has.
    pub error_max: u64,
    /// The most frequent keys.
    pub rows: Vec<TableRow>,
    /// Records of all other keys, at most.
    pub others: u64,
}

impl Table {
    /// How often a key occurred, at most, that is not among so many rows.
    #[must_use]
    pub fn unlisted_max(&self, rows: usize) -> u64 {
        let last = rows.min(self.rows.len()).checked_sub(1).and_then(|at| self.rows.get(at));
        let is_cut = self.keys > rows.min(self.rows.len()) as u64;
        last.filter(|_| is_cut).map_or(0, |row| row.records).max(self.error_max)
    }
}

/// One key of a table.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct TableRow {
    /// The key: one text for each of the table's columns.
    pub key: Vec<String>,
    /// Records, at most.
    pub records: u64,
    /// By how much that can be too high. If it can, all else that is told of the key is told since it has its row.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub error: u64,
    /// Of them rejected; with an error, at least.
    pub rejected: u64,
    /// Payload bytes; with an error, at least.
    pub bytes: u64,
    /// The first place; with an error, the first that is known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub first: Option<String>,
    /// The last place.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub last: Option<String>,
    /// Records that show it.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub examples: Vec<Example>,
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde asks for a reference")]
fn is_zero(number: &u64) -> bool {
    *number == 0
}

/// Counts by hour.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Hours {
    /// Hours in the order of time; those without records are left out.
    pub rows: Vec<HourRow>,
    /// Records of hours that are not listed, because there are too many.
    pub others: u64,
}

/// Counts of one hour.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct HourRow {
    /// Its begin (UTC).
    pub hour: String,
    /// Records.
    pub records: u64,
    /// Of them rejected.
    pub rejected: u64,
}

/// How values are distributed: mean and percentiles within one percent, all else exactly.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Distribution {
    /// The unit.
    pub unit: String,
    /// What they are measured from.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub basis: Option<String>,
    /// How many.
    pub count: u64,
    /// Values below zero, which are not in the rest: sent after they were logged.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub negative: u64,
    /// The smallest.
    pub min: u64,
    /// The mean.
    pub mean: u64,
    /// Percentiles: 50, 90, 99, 99.9.
    pub p50: u64,
    /// The 90th percentile.
    pub p90: u64,
    /// The 99th percentile.
    pub p99: u64,
    /// The 99.9th percentile.
    pub p999: u64,
    /// The largest.
    pub max: u64,
    /// Counts of values above the upper end before, up to this one: (0 or a power of two, count).
    pub classes: Vec<(u64, u64)>,
}

/// Repetitions.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Repeats {
    /// Records that repeat another.
    pub duplicates: u64,
    /// Records that use another's id for other content.
    pub conflicts: u64,
    /// Some of both, with both places.
    pub rows: Vec<RepeatRow>,
    /// Bursts: runs of repetitions close behind each other.
    pub bursts: u64,
    /// Repetitions in bursts.
    pub burst_repeats: u64,
    /// The largest ones.
    pub largest: Vec<BurstRow>,
}

/// One repetition.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct RepeatRow {
    /// `duplicate` or `id-conflict`.
    pub reason: String,
    /// The sender.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sender: Option<String>,
    /// The format.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub format: Option<String>,
    /// Where the id was first; absent: before this audit, or too long ago.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub first: Option<String>,
    /// Where it is again.
    pub again: String,
}

/// One burst.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct BurstRow {
    /// How many repetitions.
    pub repeats: u64,
    /// Among so many records.
    pub records: u64,
    /// The first repetition.
    pub from: String,
    /// The last one.
    pub to: String,
}

/// A sender whose clock is off.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct SkewRow {
    /// The sender.
    pub sender: String,
    /// Records that were compared.
    pub samples: u64,
    /// What is typical, in words.
    pub typical: String,
    /// The mean, in seconds; positive is ahead.
    pub mean_s: i64,
}

/// Conversations that do not add up.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Sequences {
    /// Messages that name a parent which is not known.
    pub broken_parents: u64,
    /// Messages over the limit of cycles or rounds.
    pub over_the_limit: u64,
    /// Responses that fit no request.
    pub responses_without_request: u64,
    /// Work of agh that was opened, and that was ended.
    pub work_opened: u64,
    /// Of it ended.
    pub work_closed: u64,
    /// Requests, and those that were answered.
    pub requests: u64,
    /// Of them answered.
    pub answered: u64,
    /// Work that never closed, also what an earlier audit opened.
    #[serde(default)]
    pub work_open: u64,
    /// Requests that nobody answered, also those of an earlier audit.
    #[serde(default)]
    pub requests_unanswered: u64,
    /// Where work was opened that never closed; of an earlier audit and beyond a limit that is not known.
    pub open_work: Vec<String>,
    /// Where requests stand that nobody answered.
    pub unanswered: Vec<String>,
}

/// A member that came or went.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct DriftRow {
    /// The format.
    pub format: String,
    /// The member.
    pub member: String,
    /// `appears` or `vanishes`.
    pub change: String,
    /// Records that have it.
    pub records: u64,
    /// Records of the format before it came, or after it went.
    pub without: u64,
    /// Its share while it was there.
    pub share: f64,
    /// The first record that has it, or the last one.
    pub place: String,
}

/// What is known to be incomplete.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Limits {
    /// Places of the oldest records that were forgotten: their repetitions are shown with one place or a later one, and open work and
    /// requests of that age are not listed.
    pub places_forgotten: u64,
    /// Records whose set of members was not looked at, because there are too many sets.
    pub shapes_unlisted: u64,
    /// Senders whose clocks are off and that have no row.
    #[serde(default)]
    pub skew_unlisted: u64,
    /// Members that appear or vanish and that have no row.
    #[serde(default)]
    pub drift_unlisted: u64,
    /// Ids that the full replay window gave up: copies of them passed.
    pub ids_evicted: u64,
    /// Entries that the full ledger gave up: sequences with them may be judged wrongly.
    pub ledger_evicted: u64,
    /// What all of this means, in words; empty if nothing is incomplete.
    pub notes: Vec<String>,
}

/// This run.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Run {
    /// When it began (UTC).
    pub started: String,
    /// How long it took.
    pub seconds: f64,
    /// Worker threads.
    pub workers: u64,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_has_no_row_occurred_at_most_as_often_as_the_last_row() {
        let row = |records| TableRow {
            key: Vec::new(),
            records,
            error: 0,
            rejected: 0,
            bytes: 0,
            first: None,
            last: None,
            examples: Vec::new(),
        };
        let rows = [9, 7, 5].map(row).to_vec();
        let table = Table { keys: 3, exact: true, rows, ..Table::default() };
        assert_eq!([2, 3, 500].map(|rows| table.unlisted_max(rows)), [7, 0, 0]);
        let table = Table { keys: 4, error_max: 6, exact: false, ..table };
        assert_eq!([2, 3, 500].map(|rows| table.unlisted_max(rows)), [7, 6, 6]);
        assert_eq!(Table::default().unlisted_max(1), 0);
    }
}
