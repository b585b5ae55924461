//! The integration tests: one binary, so that it links once.

mod cli;
mod fixtures;
mod kafka;
mod pipeline;
mod stages;
mod tidy;
