//! `tollgate demo`: a generated stream through the real pipeline, with everything a person wants to see.

use std::fs::File;
use std::io::{BufWriter, Write};
use std::path::{Path, PathBuf};
use std::sync::atomic::Ordering;
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant, SystemTime};

use anyhow::{Context as _, anyhow};
use indicatif::{ProgressBar, ProgressStyle};

use super::signals::Signals;
use super::{Ended, Failure, report};
use crate::cli::Demo;
use crate::config::{ClockChoice, Config};
use crate::files::{Event, Input, ReadOptions, Reader, Target};
use crate::histograms::{IntervalLog, Stage};
use crate::judge::Rules;
use crate::load::Stream;
use crate::pipeline::file_ends::{FileSink, FileSource, ReadFailures};
use crate::pipeline::stop::Stop;
use crate::pipeline::{self, Editions, Meters, Setup, Summary, Tally};
use crate::state::{Settings, State};
use crate::tape::Parser;
use crate::verdict::{FormatId, Reason, Verdict};

/// Broken records among a thousand.
const BROKEN_PER_MILLE: u16 = 100;

/// The files of the demo.
struct Files {
    input: PathBuf,
    accepted: PathBuf,
    rejected: PathBuf,
    latency: PathBuf,
    percentiles: PathBuf,
    summary: PathBuf,
}

pub(super) fn run(args: &Demo) -> Result<Ended, Failure> {
    let stop = Signals::catch()?.stop_within(Config::default().pipeline.stop_deadline_ms);
    let dir = args.out.clone().unwrap_or_else(|| std::env::temp_dir().join("tollgate-demo"));
    std::fs::create_dir_all(&dir).with_context(|| format!("--out {}", dir.display()))?;
    let files = Files::in_dir(&dir);

    let expected = generate(args, &files.input)?;
    let mut config = Config::default();
    config.pipeline.workers = args.workers;
    // Each record is judged by its own time, so that a seed gives one outcome for ever.
    config.rules.clock = ClockChoice::Record;
    let rules = Arc::new(Rules::compile(&config)?);
    let summary = filter(args, &config, &rules, &files, &stop)?;
    if stop.is_asked() {
        return Err(anyhow!("stopped before the end; the files in {} are incomplete", dir.display()).into());
    }
    let floor = parse_alone(&files.input)?;
    let misjudged = check_truth(&expected, &summary.tally);

    let mut details = report::to_json(&summary, &rules);
    let wall = summary.elapsed.as_nanos() as f64 / summary.tally.records.max(1) as f64;
    let parse = floor.as_nanos() as f64 / summary.tally.records.max(1) as f64;
    if let Some(details) = details.as_object_mut() {
        details.insert("seed".into(), args.seed.into());
        details.insert("wall_ns_per_record".into(), wall.into());
        details.insert("simd_json_tape_ns_per_record".into(), parse.into());
        details.insert("ratio".into(), (wall / parse).into());
        details.insert("misjudged".into(), misjudged.into());
    }
    std::fs::write(&files.summary, format!("{details:#}\n"))?;
    let mut out = std::io::stdout();
    if args.json {
        writeln!(out, "{details}")?;
    } else {
        write!(out, "{}", report::to_text(&summary, &rules))?;
        writeln!(out, "\nwall time per record        {wall:>8.0} ns")?;
        writeln!(out, "simd-json tape, one core    {parse:>8.0} ns   ratio {:.2}", wall / parse)?;
        writeln!(out, "\nThe right number of every verdict is known: {misjudged} misjudged.\n")?;
        files.list(&mut out)?;
    }
    if misjudged > 0 {
        return Err(anyhow!("{misjudged} records got another verdict than they must: this is a bug").into());
    }
    Ok(Ended::Well)
}

/// Writes the input and counts what must come out.
fn generate(args: &Demo, path: &Path) -> Result<Tally, Failure> {
    const CHUNK_BYTES: usize = 1 << 20;
    let mut out = File::create(path).with_context(|| path.display().to_string())?;
    let mut stream = Stream::new(args.seed, BROKEN_PER_MILLE);
    let mut expected = Tally::default();
    let mut chunk = Vec::with_capacity(CHUNK_BYTES + 65_536);
    for _ in 0..args.records {
        let start = chunk.len();
        let truth = stream.write_next(&mut chunk);
        let verdict = Verdict { reason: truth.reason, ..Verdict::accept(FormatId(0)) };
        expected.count(verdict, chunk.len() - start);
        chunk.push(b'\n');
        if chunk.len() >= CHUNK_BYTES {
            out.write_all(&chunk)?;
            chunk.clear();
        }
    }
    out.write_all(&chunk)?;
    Ok(expected)
}

/// Sends the input through the pipeline.
fn filter(
    args: &Demo,
    config: &Config,
    rules: &Arc<Rules>,
    files: &Files,
    stop: &Arc<Stop>,
) -> Result<Summary, Failure> {
    let failures = ReadFailures::default();
    let inputs = [Input::from_argument(&files.input)];
    let source = FileSource::open(&inputs, config, rules, None, failures.clone(), stop)?;
    // The directory is the user's choice; records carry the file's name alone, so that outputs can be compared.
    let names = vec!["input.ndjson".to_owned()];
    let (accepted, rejected) =
        (Target::from_argument(&files.accepted), Target::from_argument(&files.rejected));
    let sink = FileSink::create(Some(&accepted), Some(&rejected), names)?;
    let mut log = IntervalLog::begin(BufWriter::new(File::create(&files.latency)?), SystemTime::now())?;
    let mut log_error = None;

    let meters = Meters::default();
    let settings = Settings::of(config);
    let editions = Editions::new(Arc::clone(rules), settings.clone(), None);
    let state = Mutex::new(State::new(settings)?.following_order());
    let setup = Setup { rules: &editions, state: &state, pipeline: &config.pipeline, stop, meters: &meters };
    let done = Stop::default();
    let summary = std::thread::scope(|scope| {
        scope.spawn(|| show_progress(args, &meters, &done));
        let summary = pipeline::run(&setup, source, sink, |interval| {
            if let Err(error) = log.append(interval) {
                log_error.get_or_insert(error);
            }
        });
        done.ask();
        summary
    })?;
    log.finish()?;
    if let Some(error) = log_error {
        return Err(error.into());
    }
    let mut percentiles = BufWriter::new(File::create(&files.percentiles)?);
    summary.histograms.write_hgrm(Stage::EndToEnd, &mut percentiles)?;
    percentiles.flush()?;
    failures.into_result()?;
    Ok(summary)
}

/// A bar on a terminal; indicatif shows nothing elsewhere.
fn show_progress(args: &Demo, meters: &Meters, done: &Stop) {
    let style = ProgressStyle::with_template("{bar:40} {human_pos}/{human_len} records, {per_sec}")
        .unwrap_or_else(|_| ProgressStyle::default_bar());
    let bar = ProgressBar::new(args.records).with_style(style);
    while !done.is_asked() {
        bar.set_position(meters.records.load(Ordering::Relaxed));
        std::thread::sleep(Duration::from_millis(20));
    }
    bar.finish_and_clear();
}

/// The floor: simd-json's tape of the same bytes, on one core, without reading or writing.
fn parse_alone(input: &Path) -> Result<Duration, Failure> {
    let reader = Reader::open(&[Input::from_argument(input)], &ReadOptions::default())?;
    let mut parser = Parser::new(usize::from(Config::default().limits.depth_max));
    let mut spent = Duration::ZERO;
    for event in reader {
        let Event::Block(block) = event else { continue };
        let started = Instant::now();
        for span in &block.spans {
            parser.parse(block.payload(span), |tape| std::hint::black_box(tape.is_ok()));
        }
        spent += started.elapsed();
    }
    Ok(spent)
}

/// How many records got another verdict than they must, by the counts of each reason.
fn check_truth(expected: &Tally, got: &Tally) -> u64 {
    let count = |tally: &Tally, reason: Reason| {
        tally.rejected_by_reason().iter().find(|(found, _)| *found == reason).map_or(0, |(_, count)| *count)
    };
    let rejected: u64 =
        Reason::ALL.iter().map(|reason| count(expected, *reason).abs_diff(count(got, *reason))).sum();
    rejected.max(expected.accepted().abs_diff(got.accepted()))
}

impl Files {
    fn in_dir(dir: &Path) -> Self {
        Self {
            input: dir.join("input.ndjson"),
            accepted: dir.join("accepted.ndjson"),
            rejected: dir.join("rejected.ndjson"),
            latency: dir.join("latency.hlog"),
            percentiles: dir.join("latency.hgrm"),
            summary: dir.join("summary.json"),
        }
    }

    fn list(&self, out: &mut impl Write) -> std::io::Result<()> {
        let files = [
            (&self.input, "the stream"),
            (&self.accepted, "what passed, byte for byte"),
            (&self.rejected, "what did not, each with its reason"),
            (&self.latency, "latency log, one tag per stage (HdrHistogram)"),
            (&self.percentiles, "end-to-end percentiles (HdrHistogram)"),
            (&self.summary, "all of the above as JSON"),
        ];
        for (path, what) in files {
            writeln!(out, "{}  {what}", path.display())?;
        }
        Ok(())
    }
}
