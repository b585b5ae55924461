//! Tollgate lets through only agent envelopes that hold: well formed, in shape, consistent, fresh, authentic, not
//! seen before.
//!
//! ```text
//!  reader ──batches──►  workers, pinned, N            ──►  gate, one thread, in order  ──►  writer
//!  kafka | files        parse → identify → shape →         window → ledger → count          accepted | rejected
//!  (bounded)            meaning → credentials                                               → commit
//!                       = verdict and facts
//! ```
//!
//! Two recipes show a record's whole way; everything else is a leaf that one opens on demand:
//!
//! 1. [`pipeline::run`] in `pipeline/mod.rs`: how a batch goes through.
//! 2. [`judge::Judge::judge`] in `judge/mod.rs`: how a payload becomes a verdict.
//!
//! The modules in reading order; each uses only those below it (a test holds that):
//!
//! - [`commands`]: one file per verb of the command line.
//! - [`cli`]: the definition of the command line.
//! - [`ops`]: the ops port: metrics, probes, live page, reload; the only place that names tokio.
//! - [`audit`]: the bulk audit: tallies, findings, the report in its forms.
//! - [`bench`](mod@bench): measurements: the judge and the pipeline, next to their floors.
//! - [`load`]: streams of envelopes whose right verdict is known.
//! - [`pipeline`]: reader, workers, gate, writer, and the ends on files and Kafka.
//! - [`kafka`]: our own client on librdkafka; the only place that names it, and the only unsafe code.
//! - [`files`]: NDJSON, arrays, gzip, zstd, directories, standard input and output.
//! - [`state`]: what was seen before: the replay window and the ledger.
//! - [`judge`]: payload in, verdict out; explanations.
//! - [`formats`]: the built-in formats and how they are told apart.
//! - [`credentials`]: canonical bytes, MACs, tokens, proofs, digests; with ring, straight from the tape.
//! - [`attachments`]: hashes of the files that envelopes refer to.
//! - [`program`]: JSON Schema as a flat program on the tape.
//! - [`histograms`]: latency of every stage.
//! - [`config`]: the configuration, every key defined once.
//! - [`verdict`]: the verdict and the closed list of reasons.
//! - [`outline`]: which names and containers stand where, recognised when they come again.
//! - [`tape`]: the parsed form of a payload; the only place that calls simd-json.
//! - [`metrics`]: the names of all metrics.
//! - [`status`]: what Kafka's side tells about itself.
//! - [`clock`][]: time.

pub mod attachments;
pub mod audit;
pub mod bench;
pub mod cli;
pub mod clock;
pub mod commands;
pub mod config;
pub mod credentials;
pub mod files;
pub mod formats;
pub mod histograms;
pub mod judge;
pub mod kafka;
pub mod load;
pub mod metrics;
pub mod ops;
pub mod outline;
pub mod pipeline;
pub mod program;
pub mod state;
pub mod status;
pub mod tape;
pub mod verdict;
