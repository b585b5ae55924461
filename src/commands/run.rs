//! `tollgate run`: filters Kafka topics around the clock, or files once.

use std::fs::File;
use std::io::BufWriter;
use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, SystemTime};

use anyhow::{Context as _, anyhow};

use super::operate::{self, Operated, Rulebook};
use super::signals::Signals;
use super::{Ended, Failure, coverage, load_config, memory, report, usage};
use crate::cli::Run;
use crate::config::Config;
use crate::files::{self, Input, Target};
use crate::histograms::{Histograms, IntervalLog};
use crate::kafka::KafkaError;
use crate::ops::{Places, Port};
use crate::pipeline::file_ends::{FileSink, FileSource, ReadFailures};
use crate::pipeline::kafka_ends;
use crate::pipeline::stop::Stop;
use crate::pipeline::{self, Setup, Summary, Tally};
use crate::state::{Settings, State};
use crate::status::Status;

pub(super) fn run(args: &Run) -> Result<Ended, Failure> {
    let signals = Signals::catch()?;
    let mut config = load_config(args.config.as_deref())?;
    if let Some(format) = &args.format {
        config.rules.format.clone_from(format);
    }
    let port = operate::bind(args, &mut config)?;
    let rulebook = Rulebook::open(args, &config)?;
    let rules = rulebook.editions.current();
    coverage::tell(&rules, config.rules.profile)?;
    let mut log = LatencyLog::begin(args.latency_log.as_deref())?;
    let stop = signals.stop_within(config.pipeline.stop_deadline_ms);
    let state = memory::open(args.state.as_deref(), Settings::of(&config), !args.paths.is_empty())?;
    tracing::info!("{}", memory::describe(&config));
    if args.paths.is_empty() {
        let summary = run_kafka(&config, &rulebook, port, &state, &stop, &mut log)?;
        log.finish()?;
        report::print(&summary, &rules, args.json)?;
        return Ok(Ended::Well);
    }
    let failures = ReadFailures::default();
    let summary = run_files(args, &config, (&rulebook, port), &state, &stop, &mut log, &failures)?;
    log.finish()?;
    memory::save(args.state.as_deref(), &state)?;
    // With records on standard output, the summary must not stand among them.
    if !writes_to_stdout(args) {
        report::print(&summary, &rules, args.json)?;
    }
    failures.into_result()?;
    Ok(Ended::Well)
}

fn run_kafka(
    config: &Config,
    rulebook: &Rulebook,
    port: Option<Port>,
    state: &Mutex<State>,
    stop: &Arc<Stop>,
    log: &mut LatencyLog,
) -> Result<Summary, Failure> {
    kafka_ends::check(config).map_err(usage)?;
    let rules = rulebook.editions.current();
    tracing::info!(rules = rules.hash(), topics = ?config.kafka.topics, group = config.kafka.group, "starting");
    let status = Arc::new(Status::default());
    let places = Places::Topics(config.kafka.topics.clone());
    let operated = Operated::start(port, rulebook, places, Some(&status), stop)?;
    let connected = kafka_ends::connect(config, &rules, &status, stop);
    if stop.is_asked() && connected.is_err() {
        tracing::info!("stopped before the first record");
        return Ok(nothing(state));
    }
    let (source, sink, connection) = connected.map_err(|error| {
        // What librdkafka refuses stands in the configuration.
        let is_setting =
            matches!(error.downcast_ref(), Some(KafkaError::Setting { .. } | KafkaError::Create { .. }));
        if is_setting { usage(error) } else { error.into() }
    })?;
    let (rules, meters) = (&*rulebook.editions, &*operated.meters);
    let setup = Setup { rules, state, pipeline: &config.pipeline, stop, meters };
    let outcome = pipeline::run(&setup, source, sink, |interval| {
        operated.interval(interval);
        log.append(interval);
    });
    // An error of the run tells more than one of closing what it left.
    let closed = connection.close();
    let summary = outcome?;
    closed?;
    operated.finish()?;
    Ok(summary)
}

/// The summary of a run that was stopped before its first record.
fn nothing(state: &Mutex<State>) -> Summary {
    let notes = state.lock().unwrap_or_else(PoisonError::into_inner).notes();
    Summary { tally: Tally::default(), notes, elapsed: Duration::ZERO, histograms: Histograms::default() }
}

fn run_files(
    args: &Run,
    config: &Config,
    (rulebook, port): (&Rulebook, Option<Port>),
    state: &Mutex<State>,
    stop: &Arc<Stop>,
    log: &mut LatencyLog,
    failures: &ReadFailures,
) -> Result<Summary, Failure> {
    let inputs: Vec<_> = args.paths.iter().map(|path| Input::from_argument(path)).collect();
    let accepted = args.accepted.as_deref().map(Target::from_argument);
    let rejected = args.rejected.as_deref().map(Target::from_argument);
    let outputs: Vec<_> = [&accepted, &rejected].into_iter().flatten().cloned().collect();
    if outputs.is_empty() {
        return Err(usage(anyhow!(
            "with paths, say where records go: --accepted FILE, --rejected FILE, or both"
        )));
    }
    let source =
        FileSource::open(&inputs, config, &rulebook.editions.current(), args.as_of, failures.clone(), stop)?;
    files::check_distinct(&outputs, source.paths()).map_err(usage)?;
    let sink = FileSink::create(accepted.as_ref(), rejected.as_ref(), source.names())?
        .redacting(config.rejected.redact);
    let operated = Operated::start(port, rulebook, Places::Files(source.names()), None, stop)?;
    let (rules, meters) = (&*rulebook.editions, &*operated.meters);
    let setup = Setup { rules, state, pipeline: &config.pipeline, stop, meters };
    let summary = pipeline::run(&setup, source, sink, |interval| {
        operated.interval(interval);
        log.append(interval);
    })?;
    operated.finish()?;
    Ok(summary)
}

fn writes_to_stdout(args: &Run) -> bool {
    [&args.accepted, &args.rejected].into_iter().flatten().any(|path| path.as_os_str() == "-")
}

/// The latency log that the user may have asked for.
struct LatencyLog {
    log: Option<IntervalLog<BufWriter<File>>>,
    error: Option<std::io::Error>,
}

impl LatencyLog {
    fn begin(path: Option<&Path>) -> Result<Self, Failure> {
        let Some(path) = path else { return Ok(Self { log: None, error: None }) };
        let file =
            File::create(path).with_context(|| format!("--latency-log {}", path.display())).map_err(usage)?;
        Ok(Self { log: Some(IntervalLog::begin(BufWriter::new(file), SystemTime::now())?), error: None })
    }

    /// A log that cannot be written must not stop the filter; the error is said at the end.
    fn append(&mut self, interval: &Histograms) {
        if let Some(log) = &mut self.log
            && let Err(error) = log.append(interval)
        {
            self.error.get_or_insert(error);
        }
    }

    fn finish(self) -> Result<(), Failure> {
        if let Some(error) = self.error {
            return Err(error.into());
        }
        self.log.map_or(Ok(()), |log| Ok(log.finish()?))
    }
}
