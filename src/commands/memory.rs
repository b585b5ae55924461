//! What commands do around the state: say what the window costs, read it from a file, write it back.

use std::fs;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

use anyhow::Context as _;

use super::report::{bytes, grouped};
use super::{Failure, usage};
use crate::config::Config;
use crate::state::window::{expected_bytes, expected_ids};
use crate::state::{Settings, State};

/// The rate that the cost of the window is shown for.
const RECORDS_PER_S: u64 = 1000;

/// What the window costs, in one line.
pub(super) fn describe(config: &Config) -> String {
    let limit = config.window.memory_bytes_max;
    let cost = |hours: u64| bytes(expected_bytes(RECORDS_PER_S, hours * 3600) as f64);
    format!(
        "Replay window: up to {} for {} ids; {RECORDS_PER_S} records/s remembered for 24 h take {}, for 48 h {}",
        bytes(limit as f64),
        grouped(expected_ids(limit)),
        cost(24),
        cost(48)
    )
}

/// The state to begin with: empty, or what the file holds. `is_ordered` says that records come in a fixed order.
pub(super) fn open(
    file: Option<&Path>,
    settings: Settings,
    is_ordered: bool,
) -> Result<Mutex<State>, Failure> {
    let mut state = State::new(settings).map_err(usage)?;
    if is_ordered {
        state = state.following_order();
    }
    if let Some(file) = file {
        match fs::read(file) {
            Ok(saved) => {
                let context = || format!("--state {}", file.display());
                state.restore(&saved).with_context(context).map_err(usage)?;
                tracing::info!(
                    "{}: {} ids and {} entries of the ledger go on",
                    file.display(),
                    grouped(state.window().table().len() as u64),
                    grouped(state.ledger().shelf().len() as u64)
                );
            }
            Err(error) if error.kind() == ErrorKind::NotFound => {}
            Err(error) => {
                return Err(usage(anyhow::Error::new(error).context(format!("--state {}", file.display()))));
            }
        }
    }
    Ok(Mutex::new(state))
}

/// Where a state stands until it is whole.
pub(super) fn beside(file: &Path) -> PathBuf {
    let mut beside = file.as_os_str().to_owned();
    beside.push(".new");
    PathBuf::from(beside)
}

/// Writes the state back: whole or not at all.
pub(super) fn save(file: Option<&Path>, state: &Mutex<State>) -> Result<(), Failure> {
    let Some(file) = file else { return Ok(()) };
    let snapshot = state.lock().unwrap_or_else(PoisonError::into_inner).snapshot();
    let beside = beside(file);
    let written = fs::write(&beside, &snapshot).and_then(|()| fs::File::open(&beside)?.sync_all());
    written
        .and_then(|()| fs::rename(&beside, file))
        .with_context(|| format!("--state {}", file.display()))?;
    Ok(())
}
