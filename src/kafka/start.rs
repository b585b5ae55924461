//! Where to start in a partition that has no committed offset.
//!
//! The grammar is kcat's: `beginning`, `end`, `stored`, an offset, `-n` for the last n, `s@ms` for a time. Resolving asks
//! the brokers, so that the position is a number from the start and never a guess of librdkafka's.

use std::str::FromStr;
use std::time::Duration;

use super::faults::KafkaError;
use super::raw::handle::Handle;
use super::raw::partitions::PartitionOffset;

/// What a look-up by time takes for the first offset and for the end.
const FIRST: i64 = -2;
const END: i64 = -1;

/// Where to start without a committed offset.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Start {
    /// Nowhere: it is an error if nothing is stored.
    #[default]
    Stored,
    /// The first record that is still there.
    Beginning,
    /// Records that come from now on.
    End,
    /// This offset.
    Offset(i64),
    /// So many records before the end, or all where there are fewer.
    Last(i64),
    /// The first record at or after this time, in milliseconds since the epoch; the end where there is none.
    Time(i64),
}

/// A text that says no start.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "`{0}` is no start; write `stored`, `beginning`, `end`, an offset, `-n` for the last n records, or `s@ms`"
)]
pub struct NoStart(pub String);

impl FromStr for Start {
    type Err = NoStart;

    fn from_str(text: &str) -> Result<Self, NoStart> {
        let number = |digits: &str| digits.parse::<u32>().map(i64::from).or_else(|_| digits.parse::<i64>());
        let parsed = match text {
            "stored" => Some(Self::Stored),
            "beginning" => Some(Self::Beginning),
            "end" => Some(Self::End),
            _ => match (text.strip_prefix("s@"), text.strip_prefix('-')) {
                (Some(millis), _) => number(millis).ok().map(Self::Time),
                (None, Some(count)) => number(count).ok().map(Self::Last),
                (None, None) => number(text).ok().map(Self::Offset),
            },
        };
        let valid =
            |start: &Self| !matches!(start, Self::Offset(n) | Self::Last(n) | Self::Time(n) if *n < 0);
        parsed.filter(valid).ok_or_else(|| NoStart(text.to_owned()))
    }
}

impl Start {
    /// Sets the offset of every partition, none of which has a committed one.
    pub(super) fn resolve(
        self,
        handle: &Handle,
        group: &str,
        partitions: &mut [PartitionOffset],
        wait: Duration,
    ) -> Result<(), KafkaError> {
        match self {
            Self::Stored => match partitions.first() {
                Some(first) => Err(KafkaError::NothingStored {
                    topic: first.topic.clone(),
                    partition: first.partition,
                    group: group.to_owned(),
                }),
                None => Ok(()),
            },
            Self::Beginning => look_up(handle, FIRST, partitions, wait),
            Self::End => look_up(handle, END, partitions, wait),
            Self::Offset(offset) => {
                for partition in partitions {
                    partition.offset = offset;
                }
                Ok(())
            }
            Self::Last(count) => {
                for partition in partitions {
                    let range = handle.watermarks(&partition.topic, partition.partition, wait)?;
                    partition.offset = (range.high - count).max(range.low);
                }
                Ok(())
            }
            Self::Time(millis) => {
                look_up(handle, millis, partitions, wait)?;
                let mut without: Vec<_> =
                    partitions.iter_mut().filter(|partition| partition.offset < 0).collect();
                let mut ends: Vec<_> = without.iter().map(|partition| (**partition).clone()).collect();
                look_up(handle, END, &mut ends, wait)?;
                without.iter_mut().zip(ends).for_each(|(partition, end)| partition.offset = end.offset);
                Ok(())
            }
        }
    }
}

fn look_up(
    handle: &Handle,
    time: i64,
    partitions: &mut [PartitionOffset],
    wait: Duration,
) -> Result<(), KafkaError> {
    for partition in partitions.iter_mut() {
        partition.offset = time;
    }
    let found = handle.offsets_for_times(partitions, wait)?;
    partitions.iter_mut().zip(found).for_each(|(partition, found)| partition.offset = found.offset);
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_grammar_is_that_of_kcat() {
        let cases = [
            ("stored", Start::Stored),
            ("beginning", Start::Beginning),
            ("end", Start::End),
            ("0", Start::Offset(0)),
            ("123456789012", Start::Offset(123_456_789_012)),
            ("-10", Start::Last(10)),
            ("s@1700000000000", Start::Time(1_700_000_000_000)),
        ];
        for (text, start) in cases {
            assert_eq!(text.parse(), Ok(start), "{text}");
        }
        for text in ["", "now", "--1", "s@", "s@-1", "e@1", "1.5"] {
            assert!(text.parse::<Start>().is_err(), "{text}");
        }
    }
}
