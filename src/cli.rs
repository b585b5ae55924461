//! The command line: one definition, from which help, parsing and completion derive.

use std::path::PathBuf;

use clap::{Args, Parser, Subcommand, ValueEnum};
use clap_complete::Shell;

use crate::audit::threshold::Threshold;
use crate::clock::Timestamp;
use crate::config::{ClockChoice, OPS_LISTEN, Profile};
use crate::kafka::Range;

/// Lets through only agent envelopes that hold.
///
/// Reads JSON envelopes from Kafka or files, judges each by the rules of its format, and writes accepted and rejected
/// ones, unchanged, to separate places.
#[derive(Debug, Parser)]
#[command(name = "tollgate", version, max_term_width = 110)]
pub struct Cli {
    /// What to do.
    #[command(subcommand)]
    pub command: Command,
    /// Log level: error, warn, info, debug, trace, or a filter such as `tollgate=debug`.
    #[arg(long, global = true, env = "TOLLGATE_LOG", default_value = "info", value_name = "LEVEL")]
    pub log: String,
    /// Log lines as JSON.
    #[arg(long, global = true)]
    pub log_json: bool,
}

/// The verbs.
#[derive(Debug, Subcommand)]
pub enum Command {
    /// Show the whole thing at work: a generated stream through the real pipeline, no broker needed.
    Demo(Demo),
    /// Filter a Kafka topic around the clock, or files once.
    Run(Run),
    /// Audit stored traffic: files, directories or a topic's range, and a report of what was found.
    Audit(Audit),
    /// Explain the verdict on one or more envelopes: every failure, where, expected, found, and the fix.
    #[command(visible_alias = "explain")]
    Check(Check),
    /// Run case files: envelopes with the verdict that they must get.
    Test(Test),
    /// Sign envelopes, or verify their signatures; the rest of each envelope stays byte for byte.
    Sign(Sign),
    /// Make a stream of envelopes whose right verdict is known, signed, from a seed.
    #[command(visible_alias = "gen")]
    Generate(Generate),
    /// Measure: the judge and the pipeline without a broker, or any filter between topics.
    #[command(subcommand)]
    Bench(Bench),
    /// Compile a JSON Schema and show its program, or check documents against it.
    #[command(subcommand)]
    Schema(Schema),
    /// Show a running filter live in the terminal, over its ops port.
    Top(Top),
    /// Stream a sample of verdicts with their reasons from a running filter, over its ops port.
    Tap(Tap),
    /// Check a configuration and print the effective one, secrets hidden.
    Config(ConfigArgs),
}

/// `tollgate demo`
#[derive(Debug, Args)]
pub struct Demo {
    /// How many records to make.
    #[arg(long, default_value_t = 200_000, value_parser = clap::value_parser!(u64).range(1..=1_000_000_000))]
    pub records: u64,
    /// Worker threads; 0 means one per available core.
    #[arg(long, default_value_t = 0, value_parser = clap::value_parser!(u16).range(0..=1024))]
    pub workers: u16,
    /// Where to write the files; made if it does not exist. [default: tollgate-demo in the temporary directory]
    #[arg(long, value_name = "DIR")]
    pub out: Option<PathBuf>,
    /// The seed of the stream: the same seed makes the same stream.
    #[arg(long, default_value_t = 1)]
    pub seed: u64,
    /// Print the summary as JSON.
    #[arg(long)]
    pub json: bool,
}

/// `tollgate run`
#[derive(Debug, Args)]
pub struct Run {
    /// Files or directories to filter instead of Kafka; `-` is standard input.
    pub paths: Vec<PathBuf>,
    /// Configuration file.
    #[arg(long, short, value_name = "FILE")]
    pub config: Option<PathBuf>,
    /// With paths: file for accepted records, `-` for standard output; `.gz` and `.zst` compress.
    #[arg(long, value_name = "FILE", requires = "paths")]
    pub accepted: Option<PathBuf>,
    /// With paths: file for rejected records, `-` for standard output.
    #[arg(long, value_name = "FILE", requires = "paths")]
    pub rejected: Option<PathBuf>,
    /// Format of the records: `auto`, or a format's name. [default: `rules.format` of the configuration]
    #[arg(long, value_name = "NAME")]
    pub format: Option<String>,
    /// With paths: the time to judge by, instead of the configuration's clock (RFC 3339).
    #[arg(long, value_name = "TIME", requires = "paths", value_parser = time)]
    pub as_of: Option<Timestamp>,
    /// With paths: file that holds what was seen before; read at the start if it is there, written at the end.
    #[arg(long, value_name = "FILE", requires = "paths")]
    pub state: Option<PathBuf>,
    /// Address and port of the ops port, or `off`. [default: `ops.listen` with Kafka, off with paths]
    #[arg(long, value_name = "ADDRESS")]
    pub ops: Option<String>,
    /// Latency log to write (`.hlog`).
    #[arg(long, value_name = "FILE")]
    pub latency_log: Option<PathBuf>,
    /// Print the summary as JSON.
    #[arg(long)]
    pub json: bool,
}

/// `tollgate audit`
#[derive(Debug, Args)]
pub struct Audit {
    /// Files or directories to audit; `-` is standard input.
    #[arg(conflicts_with = "topic")]
    pub paths: Vec<PathBuf>,
    /// A topic, or a range of it, to audit instead of files: FROM and TO are offsets, `-N` from the end, `beginning`,
    /// `end`, or `s@MILLIS`; both may be left out. Nothing is committed, and it ends at what was there at the start.
    /// May be given several times.
    #[arg(long, value_name = "TOPIC[@FROM..TO]", value_parser = topic_range)]
    pub topic: Vec<Range>,
    /// With `--topic`: the brokers. [default: `kafka.brokers` of the configuration]
    #[arg(long, value_name = "HOST:PORT,…", requires = "topic", conflicts_with = "paths")]
    pub brokers: Option<String>,
    /// Configuration file.
    #[arg(long, short, value_name = "FILE")]
    pub config: Option<PathBuf>,
    /// Directory for report.json, report.html, findings.ndjson and findings.csv; made if it does not exist.
    #[arg(long, value_name = "DIR")]
    pub out: Option<PathBuf>,
    /// File for accepted records, `-` for standard output; `.gz` and `.zst` compress.
    #[arg(long, value_name = "FILE")]
    pub accepted: Option<PathBuf>,
    /// File for rejected records, `-` for standard output.
    #[arg(long, value_name = "FILE")]
    pub rejected: Option<PathBuf>,
    /// Format of the records: `auto`, or a format's name. [default: `rules.format` of the configuration]
    #[arg(long, value_name = "NAME")]
    pub format: Option<String>,
    /// Profile of the rules: page, strict or lenient. [default: `rules.profile` of the configuration]
    #[arg(long, value_name = "PROFILE")]
    pub profile: Option<Profile>,
    /// The time to judge by (RFC 3339), instead of a clock.
    #[arg(long, value_name = "TIME", value_parser = time, conflicts_with = "clock")]
    pub as_of: Option<Timestamp>,
    /// The clock: `record` judges each record by its own time, so that old traffic is not stale; `wall` by the time when
    /// the audit began; `auto` is `record`. [default: `rules.clock` of the configuration]
    #[arg(long, value_name = "CLOCK")]
    pub clock: Option<ClockChoice>,
    /// File that holds what was seen before; read at the start if it is there, written at the end.
    #[arg(long, value_name = "FILE")]
    pub state: Option<PathBuf>,
    /// Look at one record of N only; the report says so.
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..=1_000_000_000))]
    pub sample: Option<u64>,
    /// Worker threads; 0 means one per available core. [default: `pipeline.workers` of the configuration]
    #[arg(long, value_parser = clap::value_parser!(u16).range(0..=1024))]
    pub workers: Option<u16>,
    /// Exit 1 if there is more than that: `NAME=N` or `NAME=P%`, NAME a reason (warnings count), `rejected` or a kind of
    /// finding. May be given several times.
    #[arg(long, value_name = "NAME=LIMIT", value_parser = Threshold::parse)]
    pub fail_on: Vec<Threshold>,
    /// Sign the report with this Ed25519 key (PKCS #8, PEM or DER).
    #[arg(long, value_name = "FILE", conflicts_with = "verify")]
    pub sign_key: Option<PathBuf>,
    /// Run the audit of this report again and compare; exit 1 if anything differs. Without paths, those of the report.
    #[arg(long, value_name = "REPORT", conflicts_with_all = ["out", "accepted", "rejected", "sample", "as_of", "clock", "fail_on", "json"])]
    pub verify: Option<PathBuf>,
    /// With `--verify`: the key that the report must be signed with, public or private.
    #[arg(long, value_name = "FILE", requires = "verify")]
    pub trusted_key: Option<PathBuf>,
    /// Print the report as JSON.
    #[arg(long)]
    pub json: bool,
}

/// `tollgate check`
#[derive(Debug, Args)]
pub struct Check {
    /// Files with envelopes (one document, NDJSON or an array); `-` or nothing is standard input.
    pub paths: Vec<PathBuf>,
    /// Configuration file.
    #[arg(long, short, value_name = "FILE")]
    pub config: Option<PathBuf>,
    /// Format of the envelopes: `auto`, or a format's name.
    #[arg(long, value_name = "NAME")]
    pub format: Option<String>,
    /// Profile of the rules: page, strict or lenient.
    #[arg(long, value_name = "PROFILE")]
    pub profile: Option<Profile>,
    /// The time to judge by, instead of the configuration's clock (RFC 3339).
    #[arg(long, value_name = "TIME", value_parser = time)]
    pub as_of: Option<Timestamp>,
    /// Judge each envelope by itself; otherwise several are a sequence, and the second copy of one is a duplicate.
    #[arg(long)]
    pub apart: bool,
    /// One JSON object per envelope.
    #[arg(long)]
    pub json: bool,
}

/// `tollgate test`
#[derive(Debug, Args)]
pub struct Test {
    /// Case files, one JSON object per line.
    #[arg(required = true)]
    pub files: Vec<PathBuf>,
    /// Configuration file.
    #[arg(long, short, value_name = "FILE")]
    pub config: Option<PathBuf>,
    /// Profiles to run: strict, lenient or both.
    #[arg(long, default_value = "both", value_parser = ["strict", "lenient", "both"])]
    pub profile: String,
    /// Only cases of these layers: parse, schema, semantic, state, detect.
    #[arg(long, value_delimiter = ',', value_name = "LAYER", value_parser = ["parse", "schema", "semantic", "state", "detect"])]
    pub layer: Vec<String>,
    /// One JSON object per case and profile.
    #[arg(long)]
    pub json: bool,
}

/// `tollgate sign`
#[derive(Debug, Args)]
pub struct Sign {
    /// What to make.
    #[arg(value_enum)]
    pub scheme: SignScheme,
    /// Files with envelopes (one document, NDJSON or an array); `-` or nothing is standard input.
    pub paths: Vec<PathBuf>,
    /// File that holds the key; a line break at its end does not belong to it.
    #[arg(long, value_name = "FILE", group = "key")]
    pub key_file: Option<PathBuf>,
    /// Environment variable that holds the key.
    #[arg(long, value_name = "NAME", group = "key")]
    pub key_env: Option<String>,
    /// How the key is written. [default: text for olympus-v1, hex for olympus-v2 and alfred]
    #[arg(long, value_enum, value_name = "ENCODING", requires = "key")]
    pub key_encoding: Option<KeyEncoding>,
    /// With alfred: the key is the agent's own, not the master key.
    #[arg(long, requires = "key")]
    pub agent_key: bool,
    /// Verify what stands in the envelopes instead; exit 1 if any is wrong.
    #[arg(long)]
    pub verify: bool,
    /// One JSON object per envelope.
    #[arg(long)]
    pub json: bool,
}

/// What `tollgate sign` can make.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum SignScheme {
    /// `authentication.signature` under the session's secret: five members.
    OlympusV1,
    /// `authentication.signature` under the master key: the whole envelope.
    OlympusV2,
    /// `envelope.security.signature`: the whole envelope.
    Alfred,
    /// `body.capability.digest`; needs no key.
    AghCapability,
    /// `direct_id` of the room of `from` and `to`; needs no key.
    AghDirectId,
}

/// How a key is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum KeyEncoding {
    /// The text's bytes are the key.
    Text,
    /// Pairs of hexadecimal digits.
    Hex,
}

/// `tollgate generate`
#[derive(Debug, Args)]
pub struct Generate {
    /// How many records to make.
    #[arg(long, short = 'n', default_value_t = 100_000, value_parser = clap::value_parser!(u64).range(1..=100_000_000_000))]
    pub records: u64,
    /// The seed: the same seed, mix and start make the same bytes, whatever the number of threads.
    #[arg(long, default_value_t = 1)]
    pub seed: u64,
    /// Mix of formats, faults, repetitions, sizes and keys (TOML). [default: all formats, 5 percent of faults]
    #[arg(long, value_name = "FILE")]
    pub mix: Option<PathBuf>,
    /// One format instead of the mix's; `all` for all built-in ones.
    #[arg(long, value_name = "NAME")]
    pub format: Option<String>,
    /// Make documents of this JSON Schema instead, with single faults that it finds; of the mix, faults and the number of
    /// keys count.
    #[arg(long, value_name = "FILE", conflicts_with_all = ["format", "size", "style"])]
    pub schema: Option<PathBuf>,
    /// How the schema is read.
    #[command(flatten)]
    pub schema_options: SchemaOptions,
    /// Size of records in bytes, instead of the mix's.
    #[arg(long, value_name = "BYTES")]
    pub size: Option<u32>,
    /// How envelopes are written, instead of the mix's word: canonical, uniform or mixed.
    #[arg(long, value_name = "STYLE", value_parser = ["canonical", "uniform", "mixed"])]
    pub style: Option<String>,
    /// Only records that hold.
    #[arg(long)]
    pub valid: bool,
    /// Where the records go: a file (`.gz` and `.zst` compress), or `-` for standard output.
    #[arg(long, short, value_name = "FILE", default_value = "-")]
    pub out: PathBuf,
    /// Topic that the records go to instead; it must exist. The verdicts are then right by the records' own times.
    #[arg(long, value_name = "TOPIC", requires = "brokers", conflicts_with = "out")]
    pub topic: Option<String>,
    /// Bootstrap servers of that topic, `host:port` separated by commas.
    #[arg(long, value_name = "SERVERS", requires = "topic")]
    pub brokers: Option<String>,
    /// Where the right verdicts go, one JSON object per record.
    #[arg(long, value_name = "FILE")]
    pub truth: Option<PathBuf>,
    /// Directory for a configuration, with keys and registries, by which the verdicts are right.
    #[arg(long, value_name = "DIR")]
    pub kit: Option<PathBuf>,
    /// File that holds the master key of Olympus signatures (64 hex digits). [default: from the seed]
    #[arg(long, value_name = "FILE")]
    pub olympus_key_file: Option<PathBuf>,
    /// File that holds the master key of Alfred signatures (64 hex digits). [default: from the seed]
    #[arg(long, value_name = "FILE")]
    pub alfred_key_file: Option<PathBuf>,
    /// Time of the first record (RFC 3339): the verdicts are right by this clock. [default: 2026-03-03T12:00:00Z, for a topic now]
    #[arg(long, value_name = "TIME", value_parser = time)]
    pub start: Option<Timestamp>,
    /// Threads; 0 means one per available core.
    #[arg(long, default_value_t = 0, value_parser = clap::value_parser!(u16).range(0..=1024))]
    pub threads: u16,
    /// Print the summary as JSON.
    #[arg(long)]
    pub json: bool,
}

/// `tollgate bench`
#[derive(Debug, Subcommand)]
pub enum Bench {
    /// The judge next to its floors, and the pipeline from a file to nowhere.
    Core(BenchCore),
    /// Any filter between an input topic and its outputs: an open loop that accounts for every record.
    Kafka(Box<BenchKafka>),
}

/// `tollgate bench core`
#[derive(Debug, Args)]
pub struct BenchCore {
    /// Records that go through the pipeline.
    #[arg(long, default_value_t = 200_000, value_parser = clap::value_parser!(u64).range(1..=1_000_000_000))]
    pub records: u64,
    /// Print the report as JSON.
    #[arg(long)]
    pub json: bool,
}

/// `tollgate bench kafka`
#[derive(Debug, Args)]
pub struct BenchKafka {
    /// Bootstrap servers, `host:port` separated by commas.
    #[arg(long, value_name = "SERVERS")]
    pub brokers: String,
    /// The filter's input topic.
    #[arg(long, value_name = "TOPIC")]
    pub input: String,
    /// The filter's topic for accepted records. [default: INPUT.accepted]
    #[arg(long, value_name = "TOPIC")]
    pub accepted: Option<String>,
    /// The filter's topic for rejected records. [default: INPUT.rejected]
    #[arg(long, value_name = "TOPIC")]
    pub rejected: Option<String>,
    /// Records per second.
    #[arg(long, default_value_t = 1_000.0)]
    pub rate: f64,
    /// Rise to this rate during the run.
    #[arg(long, value_name = "RATE")]
    pub ramp_to: Option<f64>,
    /// Search the highest rate at which 99 of 100 records take at most so many milliseconds; starts at `--rate`.
    #[arg(long, value_name = "MS", conflicts_with = "ramp_to")]
    pub search_p99_ms: Option<f64>,
    /// How long records are sent; with a search, in each of its runs.
    #[arg(long, default_value_t = 30.0)]
    pub seconds: f64,
    /// Of these, how long latencies are not counted.
    #[arg(long, default_value_t = 5.0)]
    pub warm_up_s: f64,
    /// How long to wait for missing records while none comes.
    #[arg(long, default_value_t = 10.0)]
    pub patience_s: f64,
    /// The seed of stream and keys. A filter that remembers ids takes the same stream for copies: give a second run another
    /// seed, and the filter the keys that `--prepare` makes for it.
    #[arg(long, default_value_t = 1)]
    pub seed: u64,
    /// Mix of formats, faults, repetitions, sizes and keys (TOML).
    #[arg(long, value_name = "FILE")]
    pub mix: Option<PathBuf>,
    /// One format instead of the mix's.
    #[arg(long, value_name = "NAME")]
    pub format: Option<String>,
    /// The filter says no reasons: only sides are compared.
    #[arg(long)]
    pub sides_only: bool,
    /// The filter's process, whose CPU time is told.
    #[arg(long, value_name = "PID")]
    pub filter_pid: Option<u32>,
    /// Only write the configuration and keys for the filter to this directory, and end.
    #[arg(long, value_name = "DIR")]
    pub prepare: Option<PathBuf>,
    /// Directory for the report: HTML, JSON, `.hlog`, `.hgrm`.
    #[arg(long, value_name = "DIR")]
    pub out: Option<PathBuf>,
    /// Print the report as JSON.
    #[arg(long)]
    pub json: bool,
}

/// Where a running filter is.
#[derive(Debug, Args)]
pub struct OpsPort {
    /// Its ops port.
    #[arg(default_value = OPS_LISTEN, value_name = "HOST:PORT")]
    pub address: String,
    /// File that holds the port's token. [default: the variable `TOLLGATE_OPS_TOKEN`]
    #[arg(long, value_name = "FILE")]
    pub token_file: Option<PathBuf>,
}

/// `tollgate top`
#[derive(Debug, Args)]
pub struct Top {
    /// Where the filter is.
    #[command(flatten)]
    pub port: OpsPort,
    /// Draw one picture as text and end.
    #[arg(long)]
    pub once: bool,
}

/// `tollgate tap`
#[derive(Debug, Args)]
pub struct Tap {
    /// Where the filter is.
    #[command(flatten)]
    pub port: OpsPort,
    /// Verdicts a second at most.
    #[arg(long, default_value_t = 20, value_name = "COUNT", value_parser = clap::value_parser!(u32).range(1..=1000))]
    pub per_s: u32,
    /// End after so many verdicts.
    #[arg(long, value_name = "COUNT")]
    pub count: Option<u64>,
    /// Only rejected records.
    #[arg(long)]
    pub rejected: bool,
    /// Only these reasons.
    #[arg(long, value_delimiter = ',', value_name = "REASON")]
    pub reason: Vec<String>,
    /// One JSON object per verdict.
    #[arg(long)]
    pub json: bool,
}

/// `tollgate config`
#[derive(Debug, Args)]
#[expect(clippy::struct_excessive_bools, reason = "each is a flag of the command line")]
pub struct ConfigArgs {
    /// Configuration file; without it, the defaults.
    #[arg(long, short, value_name = "FILE")]
    pub config: Option<PathBuf>,
    /// Ask the brokers whether a run could work: what they support, which topics, rights and settings are missing.
    /// Changes nothing; registers the transactional id NAME.probe, and NAME itself only where the right is on that very
    /// name and the group is empty.
    #[arg(long, requires = "config")]
    pub probe: bool,
    /// With --probe: one JSON object per answer.
    #[arg(long, requires = "probe")]
    pub json: bool,
    /// Print every key with its default and comment instead.
    #[arg(long, conflicts_with = "config")]
    pub default: bool,
    /// Print the rules of every format instead, with reason, source and profiles.
    #[arg(long, conflicts_with_all = ["config", "default"])]
    pub rules: bool,
    /// Print the table of metrics instead.
    #[arg(long, conflicts_with_all = ["config", "default", "rules"])]
    pub metrics: bool,
    /// Print the Grafana dashboard instead.
    #[arg(long, conflicts_with_all = ["config", "default", "rules", "metrics"])]
    pub dashboard: bool,
    /// Print the completions of a shell instead.
    #[arg(long, value_name = "SHELL", conflicts_with_all = ["config", "default", "rules", "metrics", "dashboard"])]
    pub completions: Option<Shell>,
    /// Write the manual pages into a directory instead.
    #[arg(long, value_name = "DIR", conflicts_with_all = ["config", "default", "rules", "metrics", "dashboard", "completions"])]
    pub man: Option<PathBuf>,
}

/// `tollgate schema`
#[derive(Debug, Subcommand)]
pub enum Schema {
    /// Print the readable listing of a schema's program, and its size.
    Compile(SchemaCompile),
    /// Check documents; exit 1 if any is invalid.
    Check(SchemaCheck),
}

/// `tollgate schema compile`
#[derive(Debug, Args)]
pub struct SchemaCompile {
    /// The schema.
    pub file: PathBuf,
    /// How it is compiled.
    #[command(flatten)]
    pub options: SchemaOptions,
    /// Configuration whose `[limits]` hold for the schema. [default: the default limits]
    #[arg(long, short, value_name = "FILE")]
    pub config: Option<PathBuf>,
}

/// `tollgate schema check`
#[derive(Debug, Args)]
pub struct SchemaCheck {
    /// The schema.
    #[arg(long, value_name = "FILE")]
    pub schema: PathBuf,
    /// Files of documents: NDJSON, or a file that is one array, whose items are the documents; `-` or nothing is standard input.
    pub documents: Vec<PathBuf>,
    /// A file that is one document as a whole; may be given several times, beside other files or without.
    #[arg(long, value_name = "FILE")]
    pub document: Vec<PathBuf>,
    /// One JSON object per document: index, valid, errors; `more` counts failures beyond the first 1000, which are not put into words.
    #[arg(long)]
    pub json: bool,
    /// How the schema is compiled.
    #[command(flatten)]
    pub options: SchemaOptions,
    /// Configuration whose `[limits]` hold for the schema and the depth of documents. [default: the default limits, and
    /// documents of 512 levels]
    #[arg(long, short, value_name = "FILE")]
    pub config: Option<PathBuf>,
}

/// How a schema is compiled.
#[derive(Debug, Args)]
pub struct SchemaOptions {
    /// The draft of schemas that do not name one.
    #[arg(long, default_value = "2020-12", value_parser = ["7", "2020-12"])]
    pub draft: String,
    /// Take `format` for an annotation that refuses nothing.
    #[arg(long)]
    pub no_format: bool,
    /// Where referenced documents are: those below a URI prefix in a directory. May be given several times.
    #[arg(long, value_name = "URI-PREFIX=DIR", value_parser = prefix_and_directory)]
    pub map: Vec<(String, PathBuf)>,
}

fn time(text: &str) -> Result<Timestamp, String> {
    Timestamp::from_rfc3339(text)
        .ok_or_else(|| "allowed: a time by RFC 3339, such as 2026-03-01T12:00:00Z".to_owned())
}

fn topic_range(text: &str) -> Result<Range, String> {
    text.parse::<Range>().map_err(|error| match std::error::Error::source(&error) {
        Some(cause) => format!("{error}: {cause}"),
        None => error.to_string(),
    })
}

fn prefix_and_directory(text: &str) -> Result<(String, PathBuf), String> {
    // A URI may hold `=`; directories seldom do.
    let (prefix, directory) = text.rsplit_once('=').ok_or("found no `=`, allowed: URI-PREFIX=DIR")?;
    Ok((prefix.to_owned(), PathBuf::from(directory)))
}
