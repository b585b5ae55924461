//! The integration tests: one binary, so that it links once.

#![expect(
    clippy::unwrap_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "a test that cannot go on should panic, and say where"
)]

mod audit;
mod audit_ends;
mod audit_shown;
mod audit_topic;
mod bench_kafka;
mod blocked;
mod browser;
mod candidate;
mod cases;
mod causes;
mod changes;
mod cli;
mod facts;
mod fenced;
mod fixtures;
mod generate;
mod identities;
mod injected;
mod journal;
mod kafka;
mod mutations;
mod ops;
#[cfg(feature = "otlp")]
mod otlp;
mod outages;
mod own_formats;
mod pages;
mod pipeline;
mod published;
mod replay;
mod rfc8785;
mod security;
mod sign;
mod slips;
mod soak;
mod stages;
mod survival;
mod tidy;
mod topics;
