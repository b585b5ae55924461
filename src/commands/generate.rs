//! `tollgate generate`: streams with known verdicts.

use std::collections::BTreeMap;
use std::fs::{self, File};
use std::io::{BufWriter, Write};
use std::path::Path;
use std::time::Instant;

use anyhow::{Context as _, anyhow};
use serde_json::json;

use super::{Ended, Failure, usage};
use crate::cli::{Generate, SchemaOptions};
use crate::clock::{self, Timestamp};
use crate::config::SchemaFiles;
use crate::files::{Target, WriteOptions, Writer};
use crate::load::{
    self, Block, Destination, Generator, Mix, Own, PublishError, Publisher, Secrets, Style, kit, write_truth,
};
use crate::program::{Documents, Draft, Limits, Options};

/// Where files begin unless told: a time that makes the same bytes today and in ten years.
const START: Timestamp = Timestamp::from_secs(1_772_539_200);

pub(super) fn run(args: &Generate) -> Result<Ended, Failure> {
    let mix = mix(args)?;
    let secrets = Secrets::of(args.seed).with_masters(
        key(args.olympus_key_file.as_deref()).map_err(usage)?,
        key(args.alfred_key_file.as_deref()).map_err(usage)?,
    );
    // Topics forget what is old, so there a stream begins now.
    let start = args.start.unwrap_or_else(|| if args.topic.is_some() { clock::wall() } else { START });
    let destination = if args.topic.is_some() { Destination::Topic } else { Destination::Lines };
    let stream = match &args.schema {
        Some(schema) => Stream::Own(Box::new(own(args, schema, &mix)?)),
        None => Stream::BuiltIn(Box::new(
            Generator::new(&mix, args.seed, &secrets, start, destination).map_err(usage)?,
        )),
    };
    if let Some(dir) = &args.kit {
        let written = match &args.schema {
            Some(schema) => kit::write_own(dir, &own_section(schema, &args.schema_options)?),
            None => kit::write(dir, &mix, &secrets),
        };
        written.with_context(|| format!("--kit {}", dir.display()))?;
    }
    let mut out = Output::open(args, &mix)?;
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
    let take = |block: &mut Block| {
        summary.count(block);
        if let Some(truth) = &mut truth {
            lines.clear();
            write_truth(|format| stream.format_name(format), block, &mut lines);
            truth.write_all(&lines)?;
        }
        out.write(block, start)
    };
    match &stream {
        Stream::BuiltIn(generator) => load::produce(generator, args.records, start, threads, take)?,
        Stream::Own(own) => {
            let writer = || {
                let mut cursor = own.cursor();
                move |number, out: &mut Vec<u8>| cursor.write(number, out)
            };
            load::produce_with(writer, args.records, threads, take)?;
        }
    }
    out.finish()?;
    if let Some(mut truth) = truth {
        truth.flush()?;
    }
    summary.print(args, start, started.elapsed().as_secs_f64())?;
    Ok(Ended::Well)
}

/// What the records are made by.
enum Stream {
    BuiltIn(Box<Generator>),
    Own(Box<Own>),
}

impl Stream {
    fn format_name(&self, number: u8) -> &str {
        match self {
            Self::BuiltIn(generator) => generator.format_name(number),
            Self::Own(_) => kit::OWN,
        }
    }
}

/// A stream from a schema.
fn own(args: &Generate, schema: &Path, mix: &Mix) -> Result<Own, Failure> {
    let options = &args.schema_options;
    let map = options.map.iter().map(|(prefix, directory)| (prefix.as_str(), directory.as_path()));
    let files = SchemaFiles::read(schema, map).map_err(usage)?;
    let compiled = Options {
        default_draft: if options.draft == "7" { Draft::V7 } else { Draft::V2020 },
        assert_formats: !options.no_format,
        documents: Documents::of(&files, &Limits::default()),
        ..Options::default()
    };
    Own::new((&files.text, &files.file), &compiled, mix, args.seed).map_err(usage)
}

/// The section of a configuration by which the verdicts of such a stream are right.
fn own_section(schema: &Path, options: &SchemaOptions) -> anyhow::Result<String> {
    let absolute = |path: &Path| std::path::absolute(path).map(|path| path.display().to_string());
    let mut map = Vec::new();
    for (prefix, directory) in &options.map {
        map.push(format!("{prefix:?} = {:?}", absolute(directory)?));
    }
    Ok(format!(
        "schema = {:?}\ndraft = {:?}\nassert_formats = {}\nmap = {{ {} }}\n",
        absolute(schema)?,
        options.draft,
        !options.no_format,
        map.join(", ")
    ))
}

/// Where the records go.
enum Output {
    Lines(Writer),
    Topic(Publisher),
}

impl Output {
    fn open(args: &Generate, mix: &Mix) -> Result<Self, Failure> {
        let (Some(topic), Some(brokers)) = (&args.topic, &args.brokers) else {
            let target = Target::from_argument(&args.out);
            return Ok(Self::Lines(Writer::create(&target, &WriteOptions::default())?));
        };
        // The seed tells streams of one topic apart.
        match Publisher::open(brokers, topic, args.seed, mix.keys.partitions.len()) {
            Ok(publisher) => Ok(Self::Topic(publisher)),
            Err(error @ PublishError::Partitions { .. }) => Err(usage(error)),
            Err(error) => Err(anyhow::Error::from(error).into()),
        }
    }

    fn write(&mut self, block: &mut Block, start: Timestamp) -> anyhow::Result<()> {
        match self {
            Self::Lines(out) => {
                // Generated records are lines: line breaks in them are escapes.
                out.write_lines(&block.bytes, block.records.len() as u64)?;
            }
            Self::Topic(publisher) => publisher.write(block, start)?,
        }
        Ok(())
    }

    fn finish(self) -> anyhow::Result<()> {
        match self {
            Self::Lines(out) => drop(out.finish()?),
            Self::Topic(publisher) => publisher.finish()?,
        }
        Ok(())
    }
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
    fn print(&self, args: &Generate, start: Timestamp, seconds: f64) -> Result<(), Failure> {
        let to_stdout = args.topic.is_none() && args.out.as_os_str() == "-";
        let mut out: Box<dyn Write> =
            if to_stdout { Box::new(std::io::stderr()) } else { Box::new(std::io::stdout()) };
        let (per_second, mean) =
            (self.records as f64 / seconds, self.bytes as f64 / self.records.max(1) as f64);
        if args.json {
            let summary = json!({
                "records": self.records, "bytes": self.bytes, "seconds": seconds, "records_per_second": per_second,
                "seed": args.seed, "start": load::rfc3339(start), "expected": self.reasons,
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
        if let (Some(dir), false, None) = (&args.kit, to_stdout, &args.topic) {
            let start = load::rfc3339(start);
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
