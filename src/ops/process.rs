//! What the system knows about this process, read from `/proc`; nothing where that is not there.

use std::fs;

/// Clock ticks in a second, which Linux fixes for programs.
const TICKS_PER_S: f64 = 100.0;
/// Bytes of a page of memory in `statm`, on the machines that Tollgate is built for.
const PAGE_BYTES: u64 = 4096;

/// Processor time so far.
pub(super) fn cpu_seconds() -> Option<f64> {
    let stat = fs::read_to_string("/proc/self/stat").ok()?;
    // The name may hold blanks; what follows its bracket does not.
    let fields: Vec<&str> = stat.rsplit(") ").next()?.split(' ').collect();
    let ticks: u64 = [11, 12].iter().map(|at| fields.get(*at)?.parse::<u64>().ok()).sum::<Option<u64>>()?;
    Some(ticks as f64 / TICKS_PER_S)
}

/// Memory that is in RAM.
pub(super) fn resident_bytes() -> Option<u64> {
    let statm = fs::read_to_string("/proc/self/statm").ok()?;
    Some(statm.split(' ').nth(1)?.parse::<u64>().ok()? * PAGE_BYTES)
}
