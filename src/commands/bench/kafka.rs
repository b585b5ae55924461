//! `tollgate bench kafka`: a run through any filter between topics, and its report.

use std::fs::{self, File};
use std::io::{BufWriter, Write};
use std::path::Path;
use std::time::Duration;

use anyhow::{Context as _, anyhow};
use serde_json::{Value, json};

use super::super::generate::read_mix;
use super::super::{Ended, Failure, usage};
use crate::bench::kafka::{self, Outcome, Plan, Route};
use crate::bench::{Machine, latency, page};
use crate::cli::BenchKafka;
use crate::clock;
use crate::load::{Destination, Generator, Mix, Random, Schedule, Secrets, kit};

/// Runs of a search after the rate was found that is too high.
const SEARCH_STEPS: u32 = 5;
/// LIMIT: times that a search doubles the rate.
const DOUBLINGS_MAX: u32 = 12;
/// A search ends below this rate.
const RATE_MIN: f64 = 1.0;

pub(super) fn run(args: &BenchKafka) -> Result<Ended, Failure> {
    let mix = read_mix(args.mix.as_deref(), args.format.as_deref())?;
    let secrets = Secrets::of(args.seed);
    let route = route(args);
    if let Some(dir) = &args.prepare {
        return prepare(dir, &mix, &secrets, &route);
    }
    let positive = args.rate > 0.0 && args.ramp_to.is_none_or(|rate| rate > 0.0);
    if !positive || args.warm_up_s >= args.seconds {
        return Err(usage(anyhow!("--rate must be above 0, and --seconds above --warm-up-s")));
    }
    let machine = Machine::here();
    let generator =
        Generator::new(&mix, args.seed, &secrets, clock::wall(), Destination::Topic).map_err(usage)?;
    let mut bench = Bench { args, route: &route, generator: &generator, first: 0, runs: Vec::new() };
    let outcome = match args.search_p99_ms {
        Some(goal) => bench.search(goal)?,
        None => bench.step(args.rate, args.ramp_to)?,
    };
    let report = Report { args, route: &route, machine, mix: &mix, runs: &bench.runs, outcome: &outcome };
    if let Some(dir) = &args.out {
        report.write(dir).with_context(|| format!("--out {}", dir.display()))?;
    }
    let mut out = std::io::stdout();
    if args.json {
        writeln!(out, "{}", report.to_json())?;
    } else {
        for (name, value) in report.head().iter().chain(&report.findings()) {
            writeln!(out, "{name:<28}{value}")?;
        }
    }
    Ok(if outcome.findings.is_clean() { Ended::Well } else { Ended::Findings })
}

fn route(args: &BenchKafka) -> Route {
    let output = |name: &Option<String>, side: &str| name.clone().unwrap_or(format!("{}.{side}", args.input));
    Route {
        brokers: args.brokers.clone(),
        input: args.input.clone(),
        accepted: output(&args.accepted, "accepted"),
        rejected: output(&args.rejected, "rejected"),
        says_reasons: !args.sides_only,
    }
}

/// Writes what the filter needs.
fn prepare(dir: &Path, mix: &Mix, secrets: &Secrets, route: &Route) -> Result<Ended, Failure> {
    kit::write(dir, mix, secrets).with_context(|| format!("--prepare {}", dir.display()))?;
    let file = dir.join(kit::CONFIG);
    let config = format!(
        "{}\n[kafka]\nbrokers = {:?}\ngroup = \"tollgate-load\"\ntopics = [{:?}]\naccepted = {:?}\nrejected = {:?}\nstart = \"beginning\"\n",
        fs::read_to_string(&file)?,
        route.brokers,
        route.input,
        route.accepted,
        route.rejected,
    );
    fs::write(&file, config)?;
    writeln!(std::io::stdout(), "start the filter: tollgate run --config {}", file.display())?;
    Ok(Ended::Well)
}

/// One rate that was tried.
struct Tried {
    rate: f64,
    ramp_to: Option<f64>,
    p50_ms: f64,
    p99_ms: f64,
    raw_p99_ms: f64,
    clean: bool,
    /// CPU seconds of the filter.
    cpu_s: Option<f64>,
    records: u64,
}

struct Bench<'b> {
    args: &'b BenchKafka,
    route: &'b Route,
    generator: &'b Generator,
    first: u64,
    runs: Vec<Tried>,
}

impl Bench<'_> {
    fn step(&mut self, rate: f64, ramp_to: Option<f64>) -> Result<Outcome, Failure> {
        let args = self.args;
        let schedule = match ramp_to {
            Some(to) => Schedule::Ramp { from: rate, to, seconds: args.seconds },
            None => Schedule::Constant(rate),
        };
        let plan = Plan {
            schedule,
            seconds: args.seconds,
            warm_up: Duration::from_secs_f64(args.warm_up_s.max(0.0)),
            patience: Duration::from_secs_f64(args.patience_s.max(0.0)),
            run: Random::new(clock::wall().micros() as u64).next(),
            first: self.first,
        };
        tracing::info!("{rate:.0} records/s for {} s", args.seconds);
        let before = args.filter_pid.and_then(cpu_seconds);
        let outcome = kafka::run(self.generator, self.route, &plan)?;
        let cpu_s = args.filter_pid.and_then(cpu_seconds).zip(before).map(|(after, before)| after - before);
        // Whole blocks, so that conversations do not go on from one run to the next.
        let block = crate::load::BLOCK_RECORDS as u64;
        self.first += outcome.findings.sent.div_ceil(block) * block;
        let quantile =
            |histogram: &hdrhistogram::Histogram<u64>, at| histogram.value_at_quantile(at) as f64 / 1e3;
        let whole = &outcome.latencies.whole;
        self.runs.push(Tried {
            rate,
            ramp_to,
            p50_ms: quantile(&whole.corrected, 0.5),
            p99_ms: quantile(&whole.corrected, 0.99),
            raw_p99_ms: quantile(&whole.raw, 0.99),
            clean: outcome.findings.is_clean(),
            cpu_s,
            records: outcome.findings.sent,
        });
        Ok(outcome)
    }

    /// Doubles the rate until the goal is missed, then halves the distance a few times. Gives the best run, or the first
    /// one that is not clean: what a wrong filter can hold is of no interest.
    fn search(&mut self, goal_ms: f64) -> Result<Outcome, Failure> {
        let (mut low, mut high, mut best) = (0.0, None, None);
        let mut rate = self.args.rate;
        for step in 0..DOUBLINGS_MAX + SEARCH_STEPS {
            let outcome = self.step(rate, None)?;
            if !outcome.findings.is_clean() {
                return Ok(outcome);
            }
            if self.runs.last().is_some_and(|run| run.p99_ms <= goal_ms) {
                low = rate;
                best = Some(outcome);
            } else {
                high = Some(rate);
                best.get_or_insert(outcome);
            }
            rate = match high {
                Some(high) => f64::midpoint(low, high),
                None => rate * 2.0,
            };
            if high.is_some_and(|high| high < RATE_MIN || (high - low) / high < 0.04)
                || (high.is_none() && step >= DOUBLINGS_MAX)
            {
                break;
            }
        }
        best.ok_or_else(|| anyhow!("no rate was tried").into())
    }
}

/// CPU seconds that a process has used, by the kernel's clock ticks of a hundredth.
fn cpu_seconds(pid: u32) -> Option<f64> {
    let stat = fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    // The name in brackets may hold blanks.
    let mut fields = stat.rsplit_once(')')?.1.split_whitespace().skip(11);
    let user: f64 = fields.next()?.parse().ok()?;
    let system: f64 = fields.next()?.parse().ok()?;
    Some((user + system) / 100.0)
}

/// What is sent, in words.
fn load(mix: &Mix, seed: u64) -> String {
    let formats: Vec<_> =
        mix.formats.iter().filter(|(_, weight)| **weight > 0.0).map(|(name, _)| name.as_str()).collect();
    let faults: f64 = mix.faults.values().sum();
    format!(
        "{}; {:?}, {} bytes (sigma {}); {faults} % of faults, {} % of replays; {} keys; seed {seed}",
        formats.join(", "),
        mix.style,
        mix.size.bytes,
        mix.size.sigma,
        mix.replays.share,
        mix.keys.count,
    )
}

/// When it is sent, in words.
fn schedule(args: &BenchKafka) -> String {
    let how = match (args.search_p99_ms, args.ramp_to) {
        (Some(goal), _) => format!("a search from {} records/s for a p99 of {goal} ms", args.rate),
        (None, Some(to)) => format!("a ramp from {} to {to} records/s", args.rate),
        (None, None) => format!("{} records/s", args.rate),
    };
    format!("{how}; {} s each, of which {} s of warm-up are left out", args.seconds, args.warm_up_s)
}

struct Report<'r> {
    args: &'r BenchKafka,
    route: &'r Route,
    machine: Machine,
    mix: &'r Mix,
    runs: &'r [Tried],
    outcome: &'r Outcome,
}

impl Report<'_> {
    fn head(&self) -> Vec<(String, String)> {
        let Self { args, route, machine, mix, runs, .. } = self;
        let mut head = vec![
            ("machine".to_owned(), machine.to_text()),
            ("client".to_owned(), format!("librdkafka {}", crate::kafka::client_version())),
            ("brokers".to_owned(), args.brokers.clone()),
            ("topics".to_owned(), format!("{} → {}, {}", route.input, route.accepted, route.rejected)),
            ("load".to_owned(), load(mix, args.seed)),
            ("schedule".to_owned(), schedule(args)),
        ];
        for run in *runs {
            let cpu = run.cpu_s.map_or(String::new(), |cpu| {
                format!(
                    ", {:.2} CPU s of the filter per million records",
                    cpu * 1e6 / run.records.max(1) as f64
                )
            });
            let clean = if run.clean { "clean" } else { "not clean, see below" };
            let ramp = run.ramp_to.map_or(String::new(), |to| format!(" to {to:.0}"));
            head.push((
                format!("{:.0}{ramp} records/s", run.rate),
                format!(
                    "p50 {:.1} ms, p99 {:.1} ms (raw {:.1} ms), {clean}{cpu}",
                    run.p50_ms, run.p99_ms, run.raw_p99_ms
                ),
            ));
        }
        head
    }

    fn findings(&self) -> Vec<(String, String)> {
        let findings = &self.outcome.findings;
        let mut rows = vec![
            ("sent".to_owned(), findings.sent.to_string()),
            ("lost".to_owned(), findings.lost.to_string()),
            ("doubled".to_owned(), findings.doubled.to_string()),
            ("on the wrong side".to_owned(), findings.misrouted.to_string()),
            ("for another reason".to_owned(), findings.misjudged_total().to_string()),
            ("reordered".to_owned(), findings.reordered.to_string()),
            ("sent late at most".to_owned(), format!("{:.1} ms", self.outcome.late_max.as_secs_f64() * 1e3)),
        ];
        for ((right, given), count) in &findings.misjudged {
            rows.push((format!("  {right}"), format!("{count} as {given}")));
        }
        rows
    }

    fn to_json(&self) -> Value {
        let Self { args, route, machine, mix, runs, outcome } = self;
        let findings = &outcome.findings;
        let quantiles = |histogram: &hdrhistogram::Histogram<u64>| {
            let at = |quantile| histogram.value_at_quantile(quantile) as f64 / 1e3;
            json!({"p50": at(0.5), "p90": at(0.9), "p99": at(0.99), "p999": at(0.999), "max": at(1.0), "count": histogram.len()})
        };
        let runs: Vec<Value> = runs
            .iter()
            .map(|run| {
                json!({
                    "rate": run.rate, "ramp_to": run.ramp_to, "p50_ms": run.p50_ms, "p99_ms": run.p99_ms, "raw_p99_ms": run.raw_p99_ms,
                    "clean": run.clean, "filter_cpu_s": run.cpu_s, "records": run.records,
                })
            })
            .collect();
        let misjudged: Vec<Value> = findings
            .misjudged
            .iter()
            .map(|((right, given), count)| json!({"right": right, "given": given, "count": count}))
            .collect();
        json!({
            "machine": machine.to_json(),
            "configuration": {
                "brokers": args.brokers, "input": route.input, "accepted": route.accepted, "rejected": route.rejected,
                "librdkafka": crate::kafka::client_version(), "seed": args.seed, "formats": mix.formats,
                "faults": mix.faults, "bytes": mix.size.bytes, "seconds": args.seconds, "warm_up_s": args.warm_up_s,
                "search_p99_ms": args.search_p99_ms,
            },
            "runs": runs,
            "findings": {
                "sent": findings.sent, "lost": findings.lost, "doubled": findings.doubled,
                "misrouted": findings.misrouted, "misjudged": misjudged, "reordered": findings.reordered,
            },
            "latency_ms": {
                "corrected": quantiles(&outcome.latencies.whole.corrected),
                "raw": quantiles(&outcome.latencies.whole.raw),
            },
            "late_max_ms": outcome.late_max.as_secs_f64() * 1e3,
            "sent_per_second": outcome.sent_per_second, "seen_per_second": outcome.seen_per_second,
        })
    }

    fn write(&self, dir: &Path) -> anyhow::Result<()> {
        fs::create_dir_all(dir)?;
        let latencies = &self.outcome.latencies;
        let mut log = BufWriter::new(File::create(dir.join("latency.hlog"))?);
        let head = self.head().iter().map(|(name, value)| format!("{name}: {value}")).collect::<Vec<_>>();
        latencies.write_hlog(self.outcome.started, &head.join("; "), &mut log)?;
        log.flush()?;
        for (name, histogram) in
            [("corrected.hgrm", &latencies.whole.corrected), ("raw.hgrm", &latencies.whole.raw)]
        {
            let mut file = BufWriter::new(File::create(dir.join(name))?);
            latency::write_hgrm(histogram, &mut file)?;
            file.flush()?;
        }
        fs::write(dir.join("report.json"), format!("{:#}\n", self.to_json()))?;
        let page = page::page("tollgate bench kafka", &self.head(), &self.findings(), latencies);
        fs::write(dir.join("report.html"), page)?;
        Ok(())
    }
}
