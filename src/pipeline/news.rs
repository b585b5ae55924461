//! What the gate hears besides batches: what became of those that passed, and state that is restored.

use crate::kafka::journal::Changes;

/// What became of batches that passed the gate.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum News {
    /// This batch is committed: what it remembered stays.
    Committed(u64),
    /// All that is not committed comes again, in this turn: what it remembered is taken back, and batches of earlier
    /// turns do not count.
    Aborted(u32),
    /// This partition was given away: it holds the window's time no longer.
    Left(u64),
}

/// Changes of the state that an earlier owner of a partition wrote down.
pub type Restored = Changes;
