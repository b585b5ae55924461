//! The bulk audit: the same pipeline as the filter on bounded input, and a report instead of a second topic.
//!
//! ```text
//! reader ─► workers: verdict, facts, labels ─► gate ─► sink: tallies ─► summary ─► report
//! (sampled)                                                │                       │
//!                                                          └ split, if wanted      └ text, JSON, HTML, lines
//! ```
//!
//! Workers name what records say about themselves ([`crate::formats::labels`]); the sink counts it in the reader's order
//! ([`tally`]), so a report does not depend on the number of workers; [`summary`] makes one [`Report`] of it, and
//! everything that is shown or written comes from that. Memory is bounded whatever is read: every table, list and text
//! has a limit, and the report says where one was reached. The audit must not judge: verdicts are the pipeline's.

pub mod bursts;
pub mod drift;
pub mod evidence;
pub mod examples;
pub mod findings;
pub mod html;
pub mod lines;
pub mod places;
mod rejects;
pub mod report;
pub mod sample;
pub mod shown;
pub mod sign;
pub mod sink;
pub mod skew;
pub mod spread;
pub mod summary;
pub mod table;
pub mod tally;
pub mod text;
pub mod threshold;
pub mod verify;

pub use report::Report;
pub use sample::Sampled;
pub use sink::{AuditSink, SharedTallies};
pub use tally::Tallies;

use crate::config::Config;
use crate::pipeline;
use crate::state::{Mode, Settings};

/// The least that an audit reads at once. Nobody waits for a single record of it, and fewer and larger batches mean
/// fewer threads to wake.
///
/// PERF: blocks of 512 KiB, 1 and 2 MiB took 4.88, 4.74 and 4.77 CPU seconds for a million records, with 31,700, 16,600 and
/// 16,100 changes of thread (AMD EPYC, medians of four runs in turn).
const BLOCK_BYTES_MIN: u32 = 1024 * 1024;
/// LIMIT: bytes between reader and tallies, for each worker and once more. A filter needs room for as long as a commit
/// takes; an audit has none, and what waits for a thread should still be in a cache when its turn comes.
const INFLIGHT_BYTES_PER_WORKER: u64 = 2 * 1024 * 1024;

/// A configuration as an audit runs by it: larger blocks, and fewer of them under way.
#[must_use]
pub fn in_bulk(mut config: Config) -> Config {
    let workers = pipeline::workers(&config.pipeline) as u64;
    let inflight = &mut config.pipeline.inflight_bytes_max;
    *inflight = (*inflight).min(INFLIGHT_BYTES_PER_WORKER * (workers + 1));
    config.files.block_bytes = config.files.block_bytes.max(BLOCK_BYTES_MIN);
    config
}

/// The sequence rules as an audit applies them: those that the profile leaves out are looked at all the same, and what
/// breaks them is told instead of rejected. In a sample most records lack what came before them, so nothing is said about
/// sequences there; repetitions of what is in it still are.
#[must_use]
pub fn settings(config: &Config, sample_one_in: u64) -> Settings {
    let mut settings = Settings::of(config);
    let told = |mode: Mode| if mode == Mode::Off { Mode::Warn } else { mode };
    settings.replay = told(settings.replay);
    for mode in [
        &mut settings.olympus_parents,
        &mut settings.olympus_sequence,
        &mut settings.agh_lifecycle,
        &mut settings.alfred_correlation,
        &mut settings.bluelabel_retries,
        &mut settings.humaninloop_sequence,
    ] {
        *mode = if sample_one_in > 1 { Mode::Off } else { told(*mode) };
    }
    settings
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_sample_says_nothing_about_sequences() {
        let mut config = Config::default();
        config.rules.profile = crate::config::Profile::Strict;
        let (whole, sample) = (settings(&config, 1), settings(&config, 10));
        let sequences = |settings: &Settings| {
            [
                settings.olympus_parents,
                settings.olympus_sequence,
                settings.agh_lifecycle,
                settings.alfred_correlation,
                settings.bluelabel_retries,
                settings.humaninloop_sequence,
            ]
        };
        assert!(sequences(&whole).iter().all(|mode| *mode != Mode::Off));
        assert_eq!(sequences(&sample), [Mode::Off; 6]);
        assert_eq!((whole.replay, sample.replay), (Mode::Enforce, Mode::Enforce));
    }

    #[test]
    fn an_audit_reads_much_at_once_and_holds_little() {
        let mut config = Config::default();
        config.pipeline.workers = 2;
        let bulk = in_bulk(config.clone());
        assert_eq!(bulk.files.block_bytes, BLOCK_BYTES_MIN);
        assert_eq!(bulk.pipeline.inflight_bytes_max, 3 * INFLIGHT_BYTES_PER_WORKER);
        // Whoever wants larger blocks, or holds less, has it.
        (config.files.block_bytes, config.pipeline.inflight_bytes_max) = (1 << 22, 1 << 20);
        assert_eq!(in_bulk(config.clone()), config);
    }
}
