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
use crate::state::{Mode, Settings};

/// The sequence rules as an audit applies them: those that the profile leaves out are looked at all the same, and what
/// breaks them is told instead of rejected.
#[must_use]
pub fn settings(config: &Config) -> Settings {
    let mut settings = Settings::of(config);
    for mode in [
        &mut settings.replay,
        &mut settings.olympus_parents,
        &mut settings.olympus_sequence,
        &mut settings.agh_lifecycle,
        &mut settings.alfred_correlation,
        &mut settings.bluelabel_retries,
        &mut settings.humaninloop_sequence,
    ] {
        if *mode == Mode::Off {
            *mode = Mode::Warn;
        }
    }
    settings
}
