//! The replay window beside a `HashMap` with an expiry queue, and beside random reads of memory of the same size.
//!
//! `cargo bench --bench window` runs a million ids; `TOLLGATE_BENCH_IDS=10000000` any other number. Each line says what
//! one look-up and insert costs at that size, the slowest of them, and the resident memory for each id.
//! `scripts/bench-window` runs all sizes, with memories of other crates beside it.

#![expect(
    clippy::unwrap_used,
    clippy::print_stdout,
    clippy::indexing_slicing,
    reason = "a bench that cannot go on should panic, and prints its results"
)]

mod measure;

use measure::{MapAndQueue, compare, fill, ids, window};

fn main() {
    let ids = ids();
    let mut all = vec![fill("window, one id after the other", ids, window(ids))];
    if std::env::var_os("TOLLGATE_BENCH_ALONE").is_none() {
        all.push(fill("HashMap and queue", ids, Box::<MapAndQueue>::default()));
    }
    compare(ids, all);
}
