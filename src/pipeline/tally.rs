//! Counts of verdicts: plain arrays that the gate fills.

use crate::formats::FORMATS_MAX;
use crate::verdict::{FormatId, Reason, Verdict};

/// Counts of a run or of a part of it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Tally {
    /// All records.
    pub records: u64,
    /// All payload bytes.
    pub bytes: u64,
    /// Accepted records to which a rule applied that could not be checked.
    pub unchecked: u64,
    /// Accepted records that break a rule which only warns.
    pub warned: u64,
    /// Accepted records by format.
    accepted: Vec<u64>,
    /// Rejected records by reason; index 0 is unused, reasons count from 1.
    rejected: Vec<u64>,
}

impl Default for Tally {
    fn default() -> Self {
        Self {
            records: 0,
            bytes: 0,
            accepted: vec![0; FORMATS_MAX],
            unchecked: 0,
            warned: 0,
            rejected: vec![0; Reason::ALL.len() + 1],
        }
    }
}

impl Tally {
    /// Counts one record.
    pub fn count(&mut self, verdict: Verdict, payload_bytes: usize) {
        self.records += 1;
        self.bytes += payload_bytes as u64;
        self.unchecked += u64::from(verdict.is_accept() && verdict.unchecked);
        self.warned += u64::from(verdict.is_accept() && verdict.warned.is_some());
        let cell = match (verdict.reason, verdict.format) {
            (Some(reason), _) => self.rejected.get_mut(reason as usize),
            (None, Some(format)) => self.accepted.get_mut(usize::from(format.0)),
            (None, None) => None,
        };
        if let Some(cell) = cell {
            *cell += 1;
        }
    }

    /// Accepted records of all formats.
    #[must_use]
    pub fn accepted(&self) -> u64 {
        self.accepted.iter().sum()
    }

    /// Rejected records of all reasons.
    #[must_use]
    pub fn rejected(&self) -> u64 {
        self.rejected.iter().sum()
    }

    /// Accepted records of each format that has any.
    pub fn accepted_by_format(&self) -> impl Iterator<Item = (FormatId, u64)> + '_ {
        self.accepted
            .iter()
            .enumerate()
            .filter(|(_, count)| **count > 0)
            .map(|(id, count)| (FormatId(id as u8), *count))
    }

    /// Rejected records of each reason that has any, most frequent first.
    #[must_use]
    pub fn rejected_by_reason(&self) -> Vec<(Reason, u64)> {
        let count_of = |reason: Reason| self.rejected.get(reason as usize).copied().unwrap_or_default();
        let mut counts: Vec<_> = Reason::ALL.iter().map(|reason| (*reason, count_of(*reason))).collect();
        counts.retain(|(_, count)| *count > 0);
        counts.sort_by_key(|(reason, count)| (std::cmp::Reverse(*count), *reason));
        counts
    }
}
