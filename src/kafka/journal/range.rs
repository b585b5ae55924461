//! The text of a committed offset: which part of the journal belongs to it.

use std::fmt;
use std::str::FromStr;

use crate::kafka::raw::partitions::PartitionOffset;

/// The journal records to read for a committed offset. Both ends are journal offsets.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Range {
    /// The oldest record with a live entry.
    pub floor: i64,
    /// The newest record; −1 if there is none.
    pub last: i64,
}

const FORM: &str = "tollgate/1";

/// An offset of the group that nobody reads by: its journal's. It shows whether the group takes offsets, and a transaction
/// that has it ends where the group's offsets are.
#[must_use]
pub fn nobodys_offset(journal: &str) -> PartitionOffset {
    PartitionOffset { metadata: format!("{FORM} read by nobody"), ..PartitionOffset::new(journal, 0, 0) }
}

impl fmt::Display for Range {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "{FORM} floor={} last={}", self.floor, self.last)
    }
}

/// A text that was not written by Tollgate.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NoRange;

impl FromStr for Range {
    type Err = NoRange;

    fn from_str(text: &str) -> Result<Self, NoRange> {
        let mut words = text.split(' ');
        let form = words.next() == Some(FORM);
        let mut number = |name: &str| words.next()?.strip_prefix(name)?.strip_prefix('=')?.parse().ok();
        match (form, number("floor"), number("last")) {
            (true, Some(floor), Some(last)) => Ok(Self { floor, last }),
            _ => Err(NoRange),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_range_is_read_as_it_was_written_and_other_texts_are_none() {
        let range = Range { floor: 12, last: -1 };
        assert_eq!(range.to_string(), "tollgate/1 floor=12 last=-1");
        assert_eq!(range.to_string().parse(), Ok(range));
        for text in ["", "tollgate/1", "tollgate/2 floor=1 last=2", "tollgate/1 last=1 floor=2", "x"] {
            assert_eq!(text.parse::<Range>(), Err(NoRange), "{text}");
        }
    }
}
