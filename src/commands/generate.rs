//! `tollgate generate`: streams with known verdicts.

use std::collections::BTreeMap;
use std::fs::{self, File};
use std::io::{BufWriter, Write};
use std::path::Path;
use std::time::Instant;

use anyhow::{Context as _, anyhow};
use serde_json::json;

use super::{Ended, Failure, usage};
use crate::cli::Generate;
use crate::files::{Target, WriteOptions, Writer};
use crate::load::{self, Block, Destination, Generator, Mix, Secrets, Style, kit, write_truth};

pub(super) fn run(args: &Generate) -> Result<Ended, Failure> {
    let mix = mix(args)?;
    let secrets = Secrets::of(args.seed).with_masters(
        key(args.olympus_key_file.as_deref()).map_err(usage)?,
        key(args.alfred_key_file.as_deref()).map_err(usage)?,
    );
    let generator =
        Generator::new(&mix, args.seed, &secrets, args.start, Destination::Lines).map_err(usage)?;
    if let Some(dir) = &args.kit {
        kit::write(dir, &mix, &secrets).with_context(|| format!("--kit {}", dir.display()))?;
    }
    let mut out = Writer::create(&Target::from_argument(&args.out), &WriteOptions::default())?;
    let mut truth = args
        .truth
        .as_deref()
        .map(|path| File::create(path).with_context(|| format!("--truth {}", path.display())))
        .transpose()
        .map_err(usage)?
        .map(|file| BufWriter::with_capacity(1 << 20, file));
    let threads = match args.threads {
        0 => std::thread::available_parallelism().map_or(1, std::num::NonZero::get),
        threads => usize::from(threads),
    };

    let started = Instant::now();
    let mut summary = Summary::default();
    let mut lines = Vec::new();
    load::produce(&generator, args.records, args.start, threads, |block: Block| {
        for (payload, _) in block.iter() {
            out.write_record(payload)?;
        }
        summary.count(&block);
        if let Some(truth) = &mut truth {
            lines.clear();
            write_truth(&generator, &block, &mut lines);
            truth.write_all(&lines)?;
        }
        Ok::<_, anyhow::Error>(())
    })?;
    out.finish()?;
    if let Some(mut truth) = truth {
        truth.flush()?;
    }
    summary.print(args, started.elapsed().as_secs_f64())?;
    Ok(Ended::Well)
}

/// The mix of a file, or the usual one; all of it or one format's part.
pub(super) fn read_mix(path: Option<&Path>, format: Option<&str>) -> Result<Mix, Failure> {
    let mix = match path {
        None => Mix::default(),
        Some(path) => {
            let file = format!("--mix {}", path.display());
            let text = fs::read_to_string(path).with_context(|| file.clone()).map_err(usage)?;
            Mix::read(&text, &file).map_err(usage)?
        }
    };
    Ok(match format {
        Some(format) => mix.of_format(format),
        None => mix,
    })
}

/// The mix of the file, changed by the other arguments.
fn mix(args: &Generate) -> Result<Mix, Failure> {
    let mut mix = read_mix(args.mix.as_deref(), args.format.as_deref())?;
    if let Some(bytes) = args.size {
        mix.size.bytes = bytes;
    }
    match args.style.as_deref() {
        Some("canonical") => mix.style = Style::Canonical,
        Some("uniform") => mix.style = Style::Uniform,
        Some(_) => mix.style = Style::Mixed,
        None => {}
    }
    if args.valid {
        mix.faults.clear();
        mix.replays.share = 0.0;
        mix.bursts.share = 0.0;
    }
    Ok(mix)
}

/// A master key: 64 hex digits.
fn key(path: Option<&Path>) -> anyhow::Result<Option<[u8; 32]>> {
    let Some(path) = path else { return Ok(None) };
    let text = fs::read_to_string(path).with_context(|| path.display().to_string())?;
    let digits = text.trim_end();
    let mut key = [0; 32];
    let pairs = digits.as_bytes().chunks(2).map(|pair| {
        let pair = std::str::from_utf8(pair).ok().filter(|pair| pair.len() == 2 && !pair.starts_with('+'))?;
        u8::from_str_radix(pair, 16).ok()
    });
    let bytes: Option<Vec<u8>> = pairs.collect();
    match bytes.filter(|bytes| bytes.len() == key.len()) {
        Some(bytes) => key.copy_from_slice(&bytes),
        // What stands there may be somebody's key.
        None => return Err(anyhow!("{}: found no key, allowed: 64 hex digits", path.display())),
    }
    Ok(Some(key))
}

/// What was made.
#[derive(Default)]
struct Summary {
    records: u64,
    bytes: u64,
    reasons: BTreeMap<&'static str, u64>,
}

impl Summary {
    fn count(&mut self, block: &Block) {
        self.records += block.records.len() as u64;
        self.bytes += (block.bytes.len() - block.records.len()) as u64;
        for (_, made) in &block.records {
            let reason = made.reason.map_or("accept", crate::verdict::Reason::code);
            *self.reasons.entry(reason).or_default() += 1;
        }
    }

    /// To standard output, or to standard error where the records are.
    fn print(&self, args: &Generate, seconds: f64) -> Result<(), Failure> {
        let mut out: Box<dyn Write> = if args.out.as_os_str() == "-" {
            Box::new(std::io::stderr())
        } else {
            Box::new(std::io::stdout())
        };
        let (per_second, mean) =
            (self.records as f64 / seconds, self.bytes as f64 / self.records.max(1) as f64);
        if args.json {
            let summary = json!({
                "records": self.records, "bytes": self.bytes, "seconds": seconds, "records_per_second": per_second,
                "seed": args.seed, "expected": self.reasons,
            });
            return Ok(writeln!(out, "{summary}")?);
        }
        let accepted = self.reasons.get("accept").copied().unwrap_or_default();
        writeln!(
            out,
            "{} records of {mean:.0} bytes on average in {seconds:.2} s ({per_second:.0}/s): {accepted} hold, {} do not, by {} reasons",
            self.records,
            self.records - accepted,
            self.reasons.len() - usize::from(accepted > 0),
        )?;
        if let (Some(dir), false) = (&args.kit, args.out.as_os_str() == "-") {
            let start = crate::load::rfc3339(args.start);
            writeln!(
                out,
                "judge it: tollgate run {} --config {} --as-of {start} --accepted accepted.ndjson --rejected rejected.ndjson",
                args.out.display(),
                dir.join(kit::CONFIG).display(),
            )?;
        }
        Ok(())
    }
}
