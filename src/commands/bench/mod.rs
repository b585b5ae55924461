//! `tollgate bench`: measures the judge and the pipeline, or any filter between topics.

pub(super) mod core;
mod kafka;

use super::{Ended, Failure};
use crate::bench::Extras;
use crate::cli::Bench;

pub(super) fn run(bench: &Bench) -> Result<Ended, Failure> {
    match bench {
        Bench::Core(args) => core::run(args, &mut Extras::default()),
        Bench::Kafka(args) => kafka::run(args),
    }
}
