//! Measurements: the judge and the pipeline without a broker, next to their floors.
//!
//! Everything that is compared is measured in one process, interleaved, on the same bytes: on a machine with other work
//! the rows of one run can be compared, those of two runs cannot. What a row shows is a median over rounds, of each the
//! fastest pass.

mod core;
pub mod kafka;
pub mod latency;
mod machine;
pub mod page;
mod scaling;

pub use core::{Corpus, CorpusReport, Extras, Program, Row, corpora, measure};
pub use machine::Machine;
pub use scaling::{Scaling, scaling};

/// The seed of what is measured; also that of its keys.
pub const SEED: u64 = 8;
/// Rounds of every comparison that count.
pub const ROUNDS: usize = 9;
/// So many times more are made, and the calmest count: other work of the machine slows everything down, but not alike.
const CALM_SHARE: usize = 8;

/// The rounds that took the least time.
fn calmest<R>(mut rounds: Vec<R>, time: impl Fn(&R) -> f64) -> Vec<R> {
    rounds.sort_by(|left, right| time(left).total_cmp(&time(right)));
    rounds.truncate(ROUNDS);
    rounds
}

/// The median; 0 of nothing.
#[must_use]
pub fn median(mut values: Vec<f64>) -> f64 {
    values.sort_by(f64::total_cmp);
    values.get(values.len() / 2).copied().unwrap_or_default()
}
