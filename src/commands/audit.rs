//! `tollgate audit`: judges stored traffic and reports what was found.

use std::collections::HashSet;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Instant;

use anyhow::{Context as _, anyhow};

use super::audit_out::{has_records_on_stdout, show, write_out, written};
use super::audit_verify::{read_private_key, verify};
use super::signals::Signals;
use super::{
    Ended, Failure, audit_progress, compile_rules, coverage, is_closed_pipe, load_config, memory, usage,
};
use crate::audit::report::{Report, RulesUsed, Run, Scope};
use crate::audit::summary::{self, Context};
use crate::audit::{self, AuditSink, Sampled, SharedTallies, Tallies};
use crate::cli::Audit;
use crate::clock::{self, Timestamp};
use crate::config::{ClockChoice, Config};
use crate::files::{self, BytesRead, Input, Skipped, Target};
use crate::judge::Rules;
use crate::kafka::Range;
use crate::pipeline::file_ends::{FileSink, FileSource, FilesDone, ReadFailures};
use crate::pipeline::kafka_ends::RangeSource;
use crate::pipeline::stop::Stop;
use crate::pipeline::{self, Editions, Meters, Setup};
use crate::state::{Settings, State};

/// LIMIT: characters of an error that a report tells.
const ERROR_CHARS_MAX: usize = 400;

/// What an audit is asked to do: by the command line, or by a report that is verified.
pub(super) struct Task {
    pub(super) inputs: Inputs,
    /// `None`: each record's own time.
    pub(super) as_of: Option<Timestamp>,
    pub(super) sample_one_in: u64,
    /// What the report calls the files, in their order, if not by their paths.
    pub(super) names: Option<Vec<String>>,
    /// How many files the report says were left out, if not those that are found now.
    pub(super) left_out: Option<u64>,
}

/// What came of an audit.
pub(super) struct Audited {
    pub(super) report: Report,
    /// Files that were not read whole.
    pub(super) unread: ReadFailures,
    /// Why it ended before its time; the report is of what was done.
    pub(super) ended: Result<(), Failure>,
}

/// What is audited.
pub(super) enum Inputs {
    Files(Vec<PathBuf>),
    Ranges(Vec<Range>),
}

pub(super) fn run(args: &Audit) -> Result<Ended, Failure> {
    let mut config = load_config(args.config.as_deref())?;
    if let Some(format) = &args.format {
        config.rules.format.clone_from(format);
    }
    if let Some(profile) = args.profile {
        config.rules.profile = profile;
    }
    if let Some(workers) = args.workers {
        config.pipeline.workers = workers;
    }
    if let Some(brokers) = &args.brokers {
        config.kafka.brokers.clone_from(brokers);
    }
    // What the command line says does not stand in the file.
    let file = args.config.as_deref().filter(|_| args.format.is_none());
    let key = args.sign_key.as_deref().map(read_private_key).transpose()?;
    if let Some(report) = &args.verify {
        return verify(args, &mut config, file, report);
    }
    prepare(args)?;
    let as_of = as_of(args, &config);
    let task = Task {
        inputs: inputs(args)?,
        as_of,
        sample_one_in: args.sample.unwrap_or(1),
        names: None,
        left_out: None,
    };
    let rules = Arc::new(compile_rules(&config, file)?);
    coverage::tell(&rules, config.rules.profile)?;
    let Audited { mut report, unread, ended } = audit(args, &config, &rules, &task)?;
    if let Some(key) = key {
        let unsigned = serde_json::to_vec(&report)?;
        report.signature = Some(key.sign(&unsigned).map_err(usage)?);
    }
    let broken: Vec<_> = args.fail_on.iter().filter_map(|threshold| threshold.broken_by(&report)).collect();
    for text in &broken {
        tracing::error!("--fail-on {text}");
    }
    // One way that fails must not cost the others: a disk that is full, a pipe that nobody reads.
    let (written, shown) = (write_out(args, &report), show(args, &report));
    // Whoever says how many inputs may be missing has the rest decide.
    let may_lack = args.fail_on.iter().any(|threshold| threshold.name == "input-not-read");
    let read = if may_lack { Ok(()) } else { unread.into_result().map_err(Failure::from) };
    match ended.and(written).and(read).and(shown) {
        Err(failure) if broken.is_empty() || !is_closed_pipe(&failure.error) => Err(failure),
        _ if broken.is_empty() => Ok(Ended::Well),
        _ => Ok(Ended::Findings),
    }
}

/// What can be known to fail in the end is found out before hours of reading.
fn prepare(args: &Audit) -> Result<(), Failure> {
    if let Some(dir) = &args.out {
        std::fs::create_dir_all(dir).with_context(|| format!("--out {}", dir.display())).map_err(usage)?;
    }
    if args.json && has_records_on_stdout(args) {
        return Err(usage(anyhow!(
            "--json: standard output has the records; write the report with --out DIR"
        )));
    }
    let stdin = args.paths.iter().filter(|path| path.as_os_str() == "-").count();
    if stdin > 1 {
        return Err(usage(anyhow!("found `-` {stdin} times; standard input can be read once")));
    }
    let beside = args.state.as_deref().and_then(Path::parent).filter(|dir| !dir.as_os_str().is_empty());
    match beside.filter(|dir| !dir.is_dir()) {
        Some(dir) => Err(usage(anyhow!("--state: found no directory {}", dir.display()))),
        None => Ok(()),
    }
}

/// What the command line names.
pub(super) fn inputs(args: &Audit) -> Result<Inputs, Failure> {
    match (args.paths.as_slice(), args.topic.as_slice()) {
        ([], []) => Err(usage(anyhow!("say what to audit: files or directories, or --topic"))),
        ([], ranges) => Ok(Inputs::Ranges(ranges.to_vec())),
        (paths, _) => Ok(Inputs::Files(paths.to_vec())),
    }
}

/// One instant for the whole audit, to the second so that a report can say it, unless each record has its own: what is
/// stored is old, so `auto` lets it be as fresh as it was.
fn as_of(args: &Audit, config: &Config) -> Option<Timestamp> {
    let clock = args.clock.unwrap_or(config.rules.clock);
    let began = || Timestamp::from_secs(clock::wall().secs());
    args.as_of.or_else(|| (clock == ClockChoice::Wall).then(began))
}

/// Runs the audit and makes the report.
pub(super) fn audit(
    args: &Audit,
    config: &Config,
    rules: &Arc<Rules>,
    task: &Task,
) -> Result<Audited, Failure> {
    let stop = Signals::catch()?.stop_within(config.pipeline.stop_deadline_ms);
    let continued = args.state.as_deref().is_some_and(Path::exists);
    let settings = audit::settings(config, task.sample_one_in);
    let state = memory::open(args.state.as_deref(), settings.clone(), true)?;
    let (unread, done, count) = (ReadFailures::default(), FilesDone::default(), BytesRead::default());
    let mut config = audit::in_bulk(config.clone());
    if task.as_of.is_none() {
        config.rules.clock = ClockChoice::Record;
    }
    let (started, began) = (clock::wall(), Instant::now());
    let sample_one_in = task.sample_one_in;
    let outlives_run = args.state.is_some();
    let plant = Plant {
        config: &config,
        rules,
        settings: &settings,
        state: &state,
        stop: &stop,
        count: &count,
        sample_one_in,
        outlives_run,
    };
    let (mut stretches, mut left_out) = (Vec::new(), 0);
    let (tallies, ended) = match &task.inputs {
        Inputs::Files(paths) => {
            let inputs: Vec<_> = paths.iter().map(|path| Input::from_argument(path)).collect();
            let source = FileSource::open(&inputs, &config, rules, task.as_of, unread.clone(), &stop)?;
            tell_repeated(source.paths());
            left_out = source.skipped().count;
            tell_left_out(source.skipped(), source.paths())?;
            let split = split(args, source.paths(), source.names(), config.rejected.redact)?;
            let names = task.names.clone().filter(|names| names.len() == source.paths().len());
            let names = names.unwrap_or_else(|| source.names());
            let goal = audit_progress::Goal::stored(source.paths());
            let source = source.with_digests(BytesRead::clone(&count), done.clone());
            drive(&plant, Sampled::new(source, task.sample_one_in), split, &names, goal)
        }
        Inputs::Ranges(ranges) => {
            let split = split(args, &[], Vec::new(), config.rejected.redact)?;
            let (source, connection) = RangeSource::open(&config, rules, ranges, task.as_of)?;
            stretches = connection.stretches().to_vec();
            let goal = Some(audit_progress::Goal::read(&stretches)).filter(|_| task.sample_one_in == 1);
            let driven = drive(&plant, Sampled::new(source, task.sample_one_in), split, &[], goal);
            // An error of the run tells more than one of closing what it left.
            let closed = connection.close().map_err(Failure::from);
            (driven.0, driven.1.and(closed))
        }
    };
    let left_out = task.left_out.unwrap_or(left_out);
    let scope = Scope { left_out, ..scope(&stop, task, continued, &unread, &ended) };
    let ended = ended.and_then(|()| keep(args, &scope, &state));
    let context = Context {
        scope,
        rules: rules_used(&config, rules, task),
        files: done.take(),
        stretches,
        run: Run {
            started: started.to_rfc3339(),
            seconds: (began.elapsed().as_secs_f64() * 1e3).round() / 1e3,
            workers: pipeline::workers(&config.pipeline) as u64,
        },
    };
    let mut tallies = tallies.lock().unwrap_or_else(PoisonError::into_inner);
    let state = state.lock().unwrap_or_else(PoisonError::into_inner);
    Ok(Audited { report: summary::report(&mut tallies, &state, context), unread, ended })
}

/// Keeps what was seen for the next audit. After a part of the input it stays as it was: whoever reads all of it again
/// would find copies alone. Whoever verifies changes nothing.
fn keep(args: &Audit, scope: &Scope, state: &Mutex<State>) -> Result<(), Failure> {
    let Some(file) = args.state.as_deref().filter(|_| args.verify.is_none()) else { return Ok(()) };
    if scope.complete {
        return memory::save(Some(file), state);
    }
    tracing::warn!("--state {}: left as it was, since the audit is not complete", file.display());
    Ok(())
}

/// Says which files are read more than once: each of their records will be a copy.
fn tell_repeated(paths: &[PathBuf]) {
    let mut seen = HashSet::new();
    for path in paths.iter().filter(|path| path.as_os_str() != "-") {
        if path.canonicalize().is_ok_and(|file| !seen.insert(file)) {
            tracing::warn!("{} is named more than once, and read as often", path.display());
        }
    }
}

/// Says which files of directories are not read; that none is left is no audit.
fn tell_left_out(skipped: &Skipped, paths: &[PathBuf]) -> Result<(), Failure> {
    let examples: Vec<_> = skipped.examples.iter().map(|path| path.display().to_string()).collect();
    let (count, examples) = (skipped.count, examples.join(", "));
    if paths.is_empty() {
        let others = if count == 0 { String::new() } else { format!("; {count} others, such as {examples}") };
        return Err(usage(anyhow!(
            "found no file to audit{others}; allowed in a directory: names that end in .json, .ndjson or .jsonl, also \
             with .gz or .zst behind it"
        )));
    }
    if count > 0 {
        tracing::warn!("{count} files of directories are left out, by their names or kinds: {examples}");
    }
    Ok(())
}

/// What every audit runs on.
struct Plant<'a> {
    config: &'a Config,
    rules: &'a Arc<Rules>,
    settings: &'a Settings,
    state: &'a Mutex<State>,
    stop: &'a Arc<Stop>,
    count: &'a BytesRead,
    sample_one_in: u64,
    /// Whether what it remembers is for other audits, too.
    outlives_run: bool,
}

/// The pipeline, with whatever shows its progress.
fn drive<S: pipeline::Source>(
    plant: &Plant<'_>,
    source: S,
    split: Option<FileSink>,
    names: &[String],
    goal: Option<audit_progress::Goal>,
) -> (SharedTallies, Result<(), Failure>) {
    let Plant { config, rules, settings, state, stop, count, sample_one_in, outlives_run } = plant;
    let expected = goal.map_or(0, audit_progress::Goal::records) / sample_one_in.max(&1);
    state.lock().unwrap_or_else(PoisonError::into_inner).reserve(expected);
    let tallies = Arc::new(Mutex::new(Tallies::new(Arc::clone(rules), names)));
    let sink = AuditSink::new(Arc::clone(&tallies), split, *outlives_run);
    let meters = Meters::default();
    let editions = Editions::new(Arc::clone(rules), Settings::clone(settings), None);
    let setup = Setup { rules: &editions, state, pipeline: &config.pipeline, stop, meters: &meters };
    let ended = Stop::default();
    let ran = std::thread::scope(|scope| {
        let progress = scope.spawn(|| audit_progress::show(&meters, count, goal, &ended));
        let summary = pipeline::run(&setup, source, sink, |_| {});
        ended.ask();
        progress.thread().unpark();
        summary
    });
    if ran.is_err() {
        // Its sink was not brought to an end.
        tallies.lock().unwrap_or_else(PoisonError::into_inner).end();
    }
    (tallies, ran.map(drop).map_err(Failure::from))
}

/// The files that accepted and rejected records go to.
fn split(
    args: &Audit,
    inputs: &[PathBuf],
    names: Vec<String>,
    redacts: bool,
) -> Result<Option<FileSink>, Failure> {
    let accepted = args.accepted.as_deref().map(Target::from_argument);
    let rejected = args.rejected.as_deref().map(Target::from_argument);
    let split: Vec<_> = [&accepted, &rejected].into_iter().flatten().cloned().collect();
    files::check_distinct(&[split.clone(), written(args)].concat(), inputs).map_err(usage)?;
    if split.is_empty() {
        return Ok(None);
    }
    let sink = FileSink::create(accepted.as_ref(), rejected.as_ref(), names).map_err(usage)?;
    Ok(Some(sink.redacting(redacts)))
}

fn scope(
    stop: &Stop,
    task: &Task,
    continued: bool,
    unread: &ReadFailures,
    ended: &Result<(), Failure>,
) -> Scope {
    let because = if let Err(failure) = ended {
        Some(audit::shown::shown(&format!("the audit failed: {:#}", failure.error), ERROR_CHARS_MAX))
    } else if stop.is_asked() {
        Some("the audit was stopped before the end of its input".to_owned())
    } else if unread.is_empty() {
        None
    } else {
        Some("some inputs could not be read whole".to_owned())
    };
    Scope {
        complete: because.is_none(),
        incomplete_because: because,
        sample_one_in: Some(task.sample_one_in).filter(|one_in| *one_in > 1),
        continued,
        left_out: 0,
    }
}

fn rules_used(config: &Config, rules: &Rules, task: &Task) -> RulesUsed {
    let unchecked = rules.lacks().iter().map(|lack| format!("{}: {}", lack.family, lack.rule)).collect();
    RulesUsed {
        hash: rules.hash().to_owned(),
        profile: config.rules.profile.name().to_owned(),
        format: config.rules.format.clone(),
        clock: task.as_of.map_or_else(|| "record".to_owned(), Timestamp::to_rfc3339),
        unchecked,
    }
}
