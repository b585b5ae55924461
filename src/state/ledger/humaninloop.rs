//! humaninloop: the iterations of one feature and workflow rise one by one, and no file goes back to what it was.
//!
//! The envelopes have no ids of runs, so these can only be hints: a supervisor may begin anew, and a change may be taken
//! back on purpose. Several agents may be asked in one iteration, so the same number again is nothing special.

use super::{Entry, Kind, Ledger, Step};
use crate::credentials::digest::Identity;
use crate::formats::{WRITTEN_FILES_MAX, WrittenFile};
use crate::state::settings::{Mode, Settings};
use crate::state::window::Second;
use crate::verdict::Reason;

/// LIMIT: contents of a file that are looked back on.
pub(super) const CONTENTS: usize = 4;

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

/// An output that comes late, behind a newer one, would write an older content over it.
pub(super) fn judge_files(
    ledger: &Ledger,
    files: &[Option<WrittenFile>; WRITTEN_FILES_MAX],
    settings: &Settings,
    now: Second,
) -> Step {
    let mode = settings.humaninloop_sequence;
    let mut step = Step::default();
    if mode == Mode::Off {
        return step;
    }
    let mut goes_back = false;
    for (write, WrittenFile { file, content }) in step.writes.iter_mut().zip(files.iter().flatten()) {
        let key = (Kind::HumaninloopFile, *file);
        let [newest, older @ ..] = match ledger.entry(key, now) {
            Some(Entry::HumaninloopFile(contents)) => contents,
            _ => [0; CONTENTS],
        };
        if newest == *content {
            continue;
        }
        goes_back |= older.contains(content);
        let [second, third, _] = older;
        *write = Some((key, Entry::HumaninloopFile([*content, newest, second, third])));
    }
    if goes_back {
        step.broken(mode, Reason::Inconsistent);
    }
    step
}
