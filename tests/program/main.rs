//! Integration tests of the validator: the official suite, the comparison with another validator, hostile input.

#![expect(clippy::unwrap_used, clippy::indexing_slicing, clippy::panic, reason = "a test may stop")]
#![expect(clippy::print_stderr, clippy::print_stdout, reason = "a test says what it ran and what it skipped")]

mod adversaries;
mod attacks;
#[path = "../../benches/corpora/mod.rs"]
mod corpora;
mod differential;
mod fuzz;
mod hostile;
mod large_schemas;
mod nesting;
mod schemas;
mod shapes;
mod shrink;
mod small;
mod streams;
mod suite;
