//! humaninloop: the iterations of one feature and workflow rise one by one.
//!
//! The envelopes have no ids of runs, so this can only be a hint: a supervisor may begin anew. Several agents may be
//! asked in one iteration, so the same number again is nothing special.

use super::{Entry, Kind, Ledger, Step};
use crate::credentials::digest::Identity;
use crate::state::settings::{Mode, Settings};
use crate::state::window::Second;
use crate::verdict::Reason;

pub(super) fn judge(
    ledger: &Ledger,
    run: Identity,
    iteration: u32,
    settings: &Settings,
    now: Second,
) -> Step {
    let mode = settings.humaninloop_sequence;
    if mode == Mode::Off {
        return Step::default();
    }
    let key = (Kind::HumaninloopRun, run);
    let last = match ledger.entry(key, now) {
        Some(Entry::HumaninloopRun(last)) => last,
        _ => iteration,
    };
    let mut step = Step::write(key, Entry::HumaninloopRun(iteration));
    if iteration < last || iteration > last.saturating_add(1) {
        step.broken(mode, Reason::Inconsistent);
    }
    step
}
