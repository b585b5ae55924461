//! From tallies to the report.

use super::drift::Change;
use super::evidence::digest_of;
use super::examples::Example;
use super::findings;
use super::places::Place;
use super::report::{
    BurstRow, Distribution, DriftRow, FormatRow, HourRow, Hours, Input, Limits, REPORT_NAME, REPORT_VERSION,
    ROWS_MAX, ReasonRow, RepeatRow, Repeats, Report, RulesUsed, Run, Scope, Sequences, SkewRow, Table,
    TableRow, Totals,
};
use super::spread::Spread;
use super::table;
use super::tally::{COLUMN, Counts, RejectCounts, SenderCounts, Tallies};
use crate::clock::Timestamp;
use crate::credentials::digest::hex;
use crate::kafka::Stretch;
use crate::pipeline::batch::Partition;
use crate::pipeline::file_ends::FileDone;
use crate::state::State;
use crate::state::ledger::{Entry, Kind};
use crate::verdict::{Reason, Step};

/// LIMIT: places of open work and unanswered requests that are listed; changes of members.
const OPEN_MAX: usize = 50;
const DRIFT_MAX: usize = 200;

/// The reasons of messages that name an unknown parent, go beyond a limit of rounds, or answer nothing.
pub(super) const BROKEN_PARENTS: [Reason; 1] = [Reason::BadParent];
pub(super) const OVER_THE_LIMIT: [Reason; 3] =
    [Reason::CycleLimit, Reason::CircuitOpen, Reason::IterationLimit];
pub(super) const WITHOUT_REQUEST: [Reason; 1] = [Reason::Correlation];

/// What the report says that records do not tell.
pub struct Context {
    /// What was looked at.
    pub scope: Scope,
    /// What it was judged by.
    pub rules: RulesUsed,
    /// What became of each file.
    pub files: Vec<FileDone>,
    /// What was to be read of each partition.
    pub stretches: Vec<Stretch>,
    /// This run.
    pub run: Run,
}

/// Makes the report.
#[must_use]
pub fn report(tallies: &mut Tallies, state: &State, context: Context) -> Report {
    let inputs = with_stretches(inputs(tallies, &context.files), &context.stretches);
    let repeats = repeats(tallies);
    let tallies = &*tallies;
    // A sample's gaps say nothing; nor does what an earlier audit left open, if most answers are not looked at.
    let sequences =
        if context.scope.sample_one_in.is_none() { sequences(tallies, state) } else { Sequences::default() };
    let (skew, skew_unlisted) = skew(tallies);
    let changes = tallies.shapes.changes();
    let limits = limits(tallies, state, skew_unlisted, changes.len());
    let mut report = Report {
        report: REPORT_NAME.to_owned(),
        version: REPORT_VERSION,
        tool: format!("tollgate {}", env!("CARGO_PKG_VERSION")),
        scope: context.scope,
        rules: context.rules,
        digest: digest_of(inputs.iter().map(|input| input.chain.as_str())),
        inputs,
        totals: totals(tallies),
        findings: Vec::new(),
        formats: formats(tallies),
        reasons: reasons(tallies, &tallies.reasons, 0),
        warnings: reasons(tallies, &tallies.warnings, 1),
        senders: table_of(tallies, &tallies.senders, |more: &SenderCounts| of_counts(&more.counts)),
        pairs: table_of(tallies, &tallies.pairs, of_counts),
        subjects: table_of(tallies, &tallies.subjects, of_counts),
        tenants: table_of(tallies, &tallies.tenants, of_counts),
        sender_reasons: rejects(tallies, &tallies.sender_reasons),
        signatures: rejects(tallies, &tallies.signatures),
        unknown_agents: rejects(tallies, &tallies.unknown_agents),
        hours: hours(tallies),
        sizes: distribution(&tallies.sizes, "bytes", None, 0),
        latency: latency(tallies),
        repeats,
        skew,
        sequences,
        drift: changes.iter().take(DRIFT_MAX).map(|change| drift(tallies, change)).collect(),
        limits,
        run: context.run,
        signature: None,
    };
    report.limits.notes = super::findings::limit_notes(&report);
    report.findings = findings::of(&report);
    report
}

/// Inputs in the order of reading; files without records, too. One that was not read to its end comes last.
fn inputs(tallies: &Tallies, files: &[FileDone]) -> Vec<Input> {
    let mut seen: Vec<Option<Input>> = tallies
        .inputs
        .iter()
        .map(|input| {
            let (chain, sha256) = input.chain.finish();
            let (first, last) = input.span.unwrap_or_default();
            Some(Input {
                name: input.name.to_string(),
                kind: if input.is_partition { "partition" } else { "file" }.to_owned(),
                bytes: input.bytes,
                sha256,
                first,
                last,
                records: input.records,
                rejected: input.rejected,
                chain,
                error: None,
            })
        })
        .collect();
    let empty_chain = super::evidence::Chain::new(false).finish().0;
    let mut inputs = Vec::with_capacity(seen.len());
    for done in files {
        let at = tallies.input_of(Partition(u64::from(done.file.0)));
        let input = at.and_then(|at| seen.get_mut(at)).and_then(Option::take);
        let mut input = input.unwrap_or_else(|| Input {
            name: tallies.file_name(done.file.0).to_owned(),
            kind: "file".to_owned(),
            bytes: 0,
            sha256: None,
            first: 0,
            last: 0,
            records: 0,
            rejected: 0,
            chain: empty_chain.clone(),
            error: None,
        });
        input.error = done.error.as_ref().map(|error| super::shown::shown(error, 400));
        input.bytes = done.totals.stored.map_or(done.totals.bytes, |stored| stored.bytes);
        input.sha256 = done.totals.stored.map(|stored| hex(&stored.sha256));
        inputs.push(input);
    }
    inputs.extend(seen.into_iter().flatten());
    inputs
}

/// The partitions in the order of what was asked for, those without a record among them.
fn with_stretches(mut inputs: Vec<Input>, stretches: &[Stretch]) -> Vec<Input> {
    let (chain, sha256) = super::evidence::Chain::new(true).finish();
    let ordered = stretches.iter().map(|stretch| {
        let name = super::tally::partition_name(&stretch.topic, stretch.partition);
        if let Some(at) = inputs.iter().position(|input| input.name == name) {
            return inputs.swap_remove(at);
        }
        let first = stretch.from.max(0).cast_unsigned();
        Input {
            name,
            kind: "partition".to_owned(),
            bytes: 0,
            sha256: sha256.clone(),
            first,
            last: first,
            records: 0,
            rejected: 0,
            chain: chain.clone(),
            error: None,
        }
    });
    let ordered: Vec<Input> = ordered.collect();
    ordered.into_iter().chain(inputs).collect()
}

fn totals(tallies: &Tallies) -> Totals {
    let verdicts = &tallies.verdicts;
    Totals {
        records: verdicts.records,
        bytes: verdicts.bytes,
        accepted: verdicts.accepted(),
        rejected: verdicts.rejected(),
        unchecked: verdicts.unchecked,
        warned: tallies.warnings.iter().flatten().sum(),
        without_effect: tallies.ignored,
        unknown_format: tallies.formats.last().map_or(0, |[records, ..]| *records),
        without_time: tallies.without_time,
    }
}

fn format_name(tallies: &Tallies, column: usize) -> String {
    tallies.rules().formats().get(column).map_or_else(|| "-".to_owned(), |format| format.name().to_owned())
}

fn formats(tallies: &Tallies) -> Vec<FormatRow> {
    let rows = tallies.formats.iter().enumerate().filter(|(_, [records, ..])| *records > 0);
    rows.map(|(column, [records, rejected, bytes])| FormatRow {
        format: format_name(tallies, column),
        records: *records,
        rejected: *rejected,
        bytes: *bytes,
    })
    .collect()
}

/// The step's name in reports.
fn step_name(step: Step) -> &'static str {
    match step {
        Step::Parse => "parse",
        Step::Identify => "identify",
        Step::Shape => "shape",
        Step::Meaning => "meaning",
        Step::Credentials => "credentials",
        Step::State => "state",
        Step::Deliver => "deliver",
    }
}

fn reasons(tallies: &Tallies, counts: &[Vec<u64>], list: usize) -> Vec<ReasonRow> {
    let all = tallies.verdicts.records;
    let mut rows: Vec<ReasonRow> = Reason::ALL
        .iter()
        .filter_map(|reason| {
            let row = counts.get(*reason as usize)?;
            let count: u64 = row.iter().sum();
            let formats = row
                .iter()
                .enumerate()
                .filter(|(_, count)| **count > 0)
                .map(|(column, count)| (format_name(tallies, column), *count))
                .collect();
            (count > 0).then(|| ReasonRow {
                reason: reason.code().to_owned(),
                step: step_name(reason.step()).to_owned(),
                text: reason.text().to_owned(),
                hint: reason.hint().to_owned(),
                count,
                share: share(count, all),
                formats,
                examples: examples(tallies, *reason, list),
            })
        })
        .collect();
    rows.sort_by(|a, b| b.count.cmp(&a.count).then_with(|| a.reason.cmp(&b.reason)));
    rows
}

fn examples(tallies: &Tallies, reason: Reason, list: usize) -> Vec<Example> {
    let Some(list) = tallies.examples.get(list) else { return Vec::new() };
    let mut found: Vec<_> = list.iter().filter(|((of, _), _)| *of == reason).collect();
    found.sort_by_key(|((_, format), _)| *format);
    found.into_iter().flat_map(|(_, kept)| kept).map(|kept| tallies.shown(kept)).collect()
}

/// A share of all records, to six digits.
#[must_use]
pub fn share(count: u64, of: u64) -> f64 {
    (count as f64 / of.max(1) as f64 * 1e6).round() / 1e6
}

type RowParts = (u64, u64, Option<(Place, Place)>, Vec<Example>);

fn of_counts(counts: &Counts) -> RowParts {
    (counts.rejected, counts.bytes, counts.span, Vec::new())
}

fn table_of<R: Default>(tallies: &Tallies, table: &table::Table<R>, parts: impl Fn(&R) -> RowParts) -> Table {
    let ranked = table.ranked();
    let others = ranked.iter().skip(ROWS_MAX).map(|row| row.count).sum();
    let rows = ranked.into_iter().take(ROWS_MAX).map(|row| {
        let (rejected, bytes, span, examples) = parts(&row.more);
        TableRow {
            key: row.text.split(COLUMN).map(ToOwned::to_owned).collect(),
            records: row.count,
            error: row.error,
            rejected,
            bytes,
            first: span.map(|(first, _)| tallies.place(first)),
            last: span.map(|(_, last)| tallies.place(last)),
            examples,
        }
    });
    Table {
        keys: table.len() as u64,
        exact: table.is_exact(),
        error_max: table.error_max(),
        rows: rows.collect(),
        others,
    }
}

/// A table of rejects: every record of it is one.
fn rejects(tallies: &Tallies, table: &table::Table<RejectCounts>) -> Table {
    let examples = |more: &RejectCounts| more.examples.iter().map(|kept| tallies.shown(kept)).collect();
    let mut table = table_of(tallies, table, |more| (0, 0, more.span, examples(more)));
    for row in &mut table.rows {
        row.rejected = row.records;
    }
    table
}

fn hours(tallies: &Tallies) -> Hours {
    let mut rows: Vec<_> = tallies.hours.iter().collect();
    rows.sort_by_key(|(hour, _)| **hour);
    let rows = rows.into_iter().map(|(hour, tally)| HourRow {
        hour: Timestamp::from_secs(hour * 3600).to_rfc3339(),
        records: tally.records,
        rejected: tally.rejected,
    });
    Hours { rows: rows.collect(), others: tallies.hours_others }
}

fn latency(tallies: &Tallies) -> Option<Distribution> {
    let basis = match tallies.stamps {
        [false, false] => return None,
        [true, false] => "the broker's stamp of appending",
        [false, true] => "the producer's stamp of creating",
        [true, true] => "stamps of broker and producers, mixed",
    };
    Some(distribution(&tallies.latency, "ms", Some(basis), tallies.latency_negative))
}

fn distribution(values: &Spread, unit: &str, basis: Option<&str>, negative: u64) -> Distribution {
    Distribution {
        unit: unit.to_owned(),
        basis: basis.map(ToOwned::to_owned),
        count: values.count(),
        negative,
        min: values.min(),
        mean: values.mean(),
        p50: values.quantile(0.5),
        p90: values.quantile(0.9),
        p99: values.quantile(0.99),
        p999: values.quantile(0.999),
        max: values.max(),
        classes: values.classes(),
    }
}

fn repeats(tallies: &mut Tallies) -> Repeats {
    let (bursts, burst_repeats) = tallies.bursts.totals();
    let largest = tallies.bursts.largest().to_vec();
    let tallies = &*tallies;
    let of = |reason: Reason| -> u64 {
        let count = |counts: &[Vec<u64>]| -> u64 { counts.get(reason as usize).into_iter().flatten().sum() };
        count(&tallies.reasons) + count(&tallies.warnings)
    };
    let rows = tallies.repeats.iter().map(|repeat| RepeatRow {
        reason: repeat.reason.code().to_owned(),
        sender: repeat.sender.as_deref().map(ToOwned::to_owned),
        format: repeat.format.map(|format| format_name(tallies, usize::from(format))),
        first: tallies.first_place(repeat.first),
        again: tallies.place(repeat.again),
    });
    Repeats {
        duplicates: of(Reason::Duplicate),
        conflicts: of(Reason::IdConflict),
        rows: rows.collect(),
        bursts,
        burst_repeats,
        largest: largest
            .iter()
            .map(|burst| BurstRow {
                repeats: burst.repeats,
                records: burst.records,
                from: tallies.place(burst.from),
                to: tallies.place(burst.to),
            })
            .collect(),
    }
}

/// The senders whose clocks are off, and how many more there are.
fn skew(tallies: &Tallies) -> (Vec<SkewRow>, u64) {
    let mut rows: Vec<SkewRow> = tallies
        .senders
        .rows()
        .filter(|row| row.more.deviations.is_off())
        .map(|row| {
            let deviations = &row.more.deviations;
            SkewRow {
                sender: row.text.to_string(),
                samples: deviations.count(),
                typical: typical(deviations.typical_s()),
                mean_s: deviations.mean_s(),
            }
        })
        .collect();
    rows.sort_by(|a, b| b.samples.cmp(&a.samples).then_with(|| a.sender.cmp(&b.sender)));
    let unlisted = rows.len().saturating_sub(ROWS_MAX);
    rows.truncate(ROWS_MAX);
    (rows, unlisted as u64)
}

fn typical(bounds: (Option<i64>, Option<i64>)) -> String {
    match bounds {
        (Some(from), Some(to)) if from >= 0 => format!("{from} to {to} s ahead"),
        (Some(from), Some(to)) if to <= 0 => format!("{} to {} s behind", -to, -from),
        (Some(from), None) => format!("more than {from} s ahead"),
        (None, Some(to)) => format!("more than {} s behind", -to),
        _ => "right".to_owned(),
    }
}

fn sequences(tallies: &Tallies, state: &State) -> Sequences {
    let of = |reasons: &[Reason]| -> u64 {
        let count = |reason: &Reason| -> u64 {
            [&tallies.reasons, &tallies.warnings]
                .iter()
                .filter_map(|counts| counts.get(*reason as usize))
                .flatten()
                .sum()
        };
        reasons.iter().map(count).sum()
    };
    let progress = state.ledger().progress();
    let places = |kind: Kind, wanted: fn(&Entry) -> bool| -> Vec<String> {
        let entries = state.ledger().shelf().of(kind).filter(|(_, entry)| wanted(entry));
        let oldest = tallies.places.lowest(entries.map(|(identity, _)| identity), OPEN_MAX);
        oldest.into_iter().map(|place| tallies.place(place)).collect()
    };
    Sequences {
        broken_parents: of(&BROKEN_PARENTS),
        over_the_limit: of(&OVER_THE_LIMIT),
        responses_without_request: of(&WITHOUT_REQUEST),
        work_opened: progress.work_opened,
        work_closed: progress.work_closed,
        requests: progress.requests,
        answered: progress.answered,
        work_open: progress.work_open,
        requests_unanswered: progress.unanswered,
        open_work: places(
            Kind::AghWork,
            |entry| matches!(entry, Entry::AghWork(work) if !work.state.is_terminal()),
        ),
        unanswered: places(
            Kind::AlfredRequest,
            |entry| matches!(entry, Entry::AlfredRequest(request) if !request.answered),
        ),
    }
}

fn drift(tallies: &Tallies, change: &Change) -> DriftRow {
    DriftRow {
        format: format_name(tallies, usize::from(change.format)),
        member: change.pointer.clone(),
        change: if change.appeared { "appears" } else { "vanishes" }.to_owned(),
        records: change.records,
        without: change.without,
        share: (change.share * 1e6).round() / 1e6,
        place: tallies.place(change.place),
    }
}

fn limits(tallies: &Tallies, state: &State, skew_unlisted: u64, changes: usize) -> Limits {
    let notes = state.notes();
    Limits {
        places_forgotten: tallies.places.forgotten(),
        shapes_unlisted: tallies.shapes.unlisted(),
        skew_unlisted,
        drift_unlisted: changes.saturating_sub(DRIFT_MAX) as u64,
        ids_evicted: notes.ids_evicted,
        ledger_evicted: notes.entries_evicted,
        notes: Vec::new(),
    }
}
