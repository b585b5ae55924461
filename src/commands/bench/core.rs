//! `tollgate bench core`: the judge and the pipeline without a broker.

use std::io::Write;
use std::path::Path;
use std::sync::{Arc, Mutex};

use anyhow::Context as _;
use serde_json::{Value, json};

use super::super::signals::Signals;
use super::super::{Ended, Failure};
use crate::bench::{self, CorpusReport, Extras, Machine, Scaling};
use crate::cli::BenchCore;
use crate::clock::Timestamp;
use crate::config::Config;
use crate::files::{Input, Target};
use crate::judge::Rules;
use crate::load::{self, Block, Destination, Generator, Mix, Secrets, kit};
use crate::pipeline::file_ends::{FileSink, FileSource, ReadFailures};
use crate::pipeline::{self, Editions, Meters, Setup};
use crate::state::{Settings, State};

/// The time of the streams, by which they are judged.
const START: Timestamp = Timestamp::from_secs(1_772_539_200);
/// The seed of what is measured.
const SEED: u64 = bench::SEED;

/// Measures and prints; builds with more in them measure more.
pub(in crate::commands) fn run(args: &BenchCore, extras: &mut Extras<'_>) -> Result<Ended, Failure> {
    let dir = std::env::temp_dir().join(format!("tollgate-bench-{}", std::process::id()));
    let outcome = measure(args, extras, &dir);
    // Nothing but the kit and the stream is in there.
    let _ = std::fs::remove_dir_all(&dir);
    let report = outcome?;
    let mut out = std::io::stdout();
    if args.json {
        writeln!(out, "{}", report.to_json())?;
    } else {
        write!(out, "{}", report.to_text())?;
    }
    Ok(Ended::Well)
}

/// Everything that was measured.
struct Report {
    machine: Machine,
    corpora: Vec<CorpusReport>,
    scaling: Option<Scaling>,
    /// By the number of workers.
    pipeline: Vec<PipelineRow>,
}

struct PipelineRow {
    workers: u16,
    records_per_second: f64,
    bytes_per_second: f64,
}

fn measure(args: &BenchCore, extras: &mut Extras<'_>, dir: &Path) -> Result<Report, Failure> {
    let machine = Machine::here();
    let secrets = Secrets::of(SEED);
    let of_olympus = Mix::default().of_format("olympus");
    kit::write(dir, &of_olympus, &secrets).with_context(|| dir.display().to_string())?;
    let config = Config::load(&dir.join(kit::CONFIG))?;
    let rules = Rules::compile(&config)?;
    let corpora = bench::corpora(SEED, &secrets, START)?;
    let reports = bench::measure(&corpora, &rules, START, extras);
    let uniform = corpora.iter().find(|corpus| corpus.name == "uniform");
    let scaling = uniform.and_then(|corpus| bench::scaling(corpus, &rules, START));
    Ok(Report { scaling, corpora: reports, pipeline: run_pipeline(args, &machine, dir)?, machine })
}

/// Runs the usual mix through the pipeline, from a file to nowhere, with one worker and more.
fn run_pipeline(args: &BenchCore, machine: &Machine, dir: &Path) -> Result<Vec<PipelineRow>, Failure> {
    let (mix, secrets, input) = (Mix::default(), Secrets::of(SEED), dir.join("stream.ndjson"));
    kit::write(dir, &mix, &secrets)?;
    let generator = Generator::new(&mix, SEED, &secrets, START, Destination::Lines)?;
    let mut out = std::fs::File::create(&input).with_context(|| input.display().to_string())?;
    load::produce(&generator, args.records, START, machine.cores, |block: &mut Block| {
        out.write_all(&block.bytes)
    })?;
    let mut config = Config::load(&dir.join(kit::CONFIG))?;
    let stop = Signals::catch()?.stop_within(config.pipeline.stop_deadline_ms);
    let mut rows = Vec::new();
    for workers in
        (0..).map(|power| 1_u16 << power).take_while(|workers| usize::from(*workers) <= machine.cores)
    {
        config.pipeline.workers = workers;
        let rules = Arc::new(Rules::compile(&config)?);
        let inputs = [Input::from_argument(&input)];
        let source = FileSource::open(&inputs, &config, &rules, Some(START), ReadFailures::default(), &stop)?;
        let nowhere = Target::from_argument(Path::new("/dev/null"));
        let sink = FileSink::create(Some(&nowhere), Some(&nowhere), source.names())?;
        let (meters, settings) = (Meters::default(), Settings::of(&config));
        let editions = Editions::new(rules, settings.clone(), None);
        let state = Mutex::new(State::new(settings)?.following_order());
        let setup = Setup {
            rules: &editions,
            state: &state,
            pipeline: &config.pipeline,
            stop: &stop,
            meters: &meters,
        };
        let summary = pipeline::run(&setup, source, sink, |_| ())?;
        let seconds = summary.elapsed.as_secs_f64();
        rows.push(PipelineRow {
            workers,
            records_per_second: summary.tally.records as f64 / seconds,
            bytes_per_second: summary.tally.bytes as f64 / seconds,
        });
    }
    Ok(rows)
}

impl Report {
    fn to_text(&self) -> String {
        let mut text = format!("{}\n\n", self.machine.to_text());
        text.push_str("signed Olympus envelopes, profile strict, one core, ns per record (medians of the calmest eighth of the rounds)\n\n");
        for report in &self.corpora {
            text.push_str(&format!("{} ({:.0} bytes)\n", report.name, report.bytes));
            for row in &report.rows {
                let gigabytes = report.bytes / row.nanos;
                let per_second = 1e9 / row.nanos;
                text.push_str(&format!(
                    "  {:<32}{:>8.0} ns {per_second:>12.0}/s {gigabytes:>8.2} GB/s\n",
                    row.name, row.nanos
                ));
            }
            let stages: Vec<_> =
                report.stages.iter().map(|row| format!("{} {:.0}", row.name, row.nanos)).collect();
            text.push_str(&format!(
                "  judge / (tape + HMAC)           {:>8.2}    {:.2} over all rounds\n",
                report.ratio, report.ratio_of_all
            ));
            text.push_str(&format!("  judge and facts / (tape + HMAC) {:>8.2}\n", report.ratio_with_facts));
            if let Some(ratio) = report.user_ratio {
                text.push_str(&format!("  user's program / judge          {ratio:>8.2}\n"));
            }
            if let Some(allocations) = report.allocations {
                text.push_str(&format!("  allocations per record          {allocations:>8.2}\n"));
            }
            text.push_str(&format!("  stages, with the clock's own cost: {} ns\n\n", stages.join(", ")));
        }
        if let Some(Scaling { judge, alu, ratio, ratio_of_all }) = self.scaling {
            text.push_str(&format!(
                "two pinned workers: judge {judge:.2} ×, bare ALU loop {alu:.2} ×, judge next to the loop {ratio:.2} ({ratio_of_all:.2} over all rounds)\n\n"
            ));
        }
        text.push_str("whole pipeline, all formats, 5 % of faults, from a file to nowhere\n");
        for row in &self.pipeline {
            text.push_str(&format!(
                "  {:>3} workers {:>12.0} records/s {:>8.2} GB/s\n",
                row.workers,
                row.records_per_second,
                row.bytes_per_second / 1e9
            ));
        }
        text
    }

    fn to_json(&self) -> Value {
        let rows = |rows: &[bench::Row]| -> Value {
            rows.iter()
                .map(|row| (row.name.to_owned(), row.nanos.into()))
                .collect::<serde_json::Map<_, _>>()
                .into()
        };
        let corpora: Vec<Value> = self
            .corpora
            .iter()
            .map(|report| {
                json!({
                    "corpus": report.name, "bytes": report.bytes, "ns_per_record": rows(&report.rows),
                    "judge_to_floor": report.ratio, "judge_to_floor_all_rounds": report.ratio_of_all,
                    "judge_and_facts_to_floor": report.ratio_with_facts,
                    "user_to_judge": report.user_ratio,
                    "stages_ns": rows(&report.stages), "allocations_per_record": report.allocations,
                })
            })
            .collect();
        let pipeline: Vec<Value> = self
            .pipeline
            .iter()
            .map(|row| {
                json!({
                    "workers": row.workers, "records_per_second": row.records_per_second,
                    "bytes_per_second": row.bytes_per_second,
                })
            })
            .collect();
        let scaling = self
            .scaling
            .map(|Scaling { judge, alu, ratio, ratio_of_all }| json!({"judge": judge, "alu": alu, "ratio": ratio, "ratio_all_rounds": ratio_of_all}));
        json!({
            "machine": self.machine.to_json(), "seed": SEED, "rounds": bench::ROUNDS, "corpora": corpora,
            "two_workers": scaling, "pipeline": pipeline,
        })
    }
}
