//! bluelabel: a retry is the same logical message with a count that rises.

use super::{Entry, Kind, Ledger, Step};
use crate::credentials::digest::Identity;
use crate::state::settings::{Mode, Settings};
use crate::state::window::Second;
use crate::verdict::Reason;

pub(super) fn judge(
    ledger: &Ledger,
    logical: Identity,
    retry_count: u64,
    settings: &Settings,
    now: Second,
) -> Step {
    let mode = settings.bluelabel_retries;
    if mode == Mode::Off {
        return Step::default();
    }
    let key = (Kind::BluelabelMessage, logical);
    let highest = match ledger.entry(key, now) {
        Some(Entry::BluelabelMessage(highest)) => Some(highest),
        _ => None,
    };
    let mut step = Step::write(key, Entry::BluelabelMessage(retry_count.max(highest.unwrap_or_default())));
    if highest.is_some_and(|highest| retry_count <= highest) {
        step.broken(mode, Reason::StaleRetry);
    }
    step
}
