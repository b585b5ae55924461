//! Integration tests of the validator: the official suite, the comparison with another validator, hostile input.

#![expect(clippy::unwrap_used, clippy::indexing_slicing, reason = "a test may stop")]
#![expect(clippy::print_stderr, clippy::print_stdout, reason = "a test says what it ran and what it skipped")]

mod command;
#[path = "../../benches/corpora/mod.rs"]
mod corpora;
mod differential;
mod hostile;
mod shapes;
mod suite;
