//! What a bound means on the brokers: an offset for every partition.
//!
//! Resolving asks the brokers, so that the position is a number from the start and never a guess of librdkafka's.

use std::time::Duration;

use super::faults::KafkaError;
use super::raw::handle::Handle;
use super::raw::partitions::PartitionOffset;
use crate::config::Bound;

/// What a look-up by time takes for the first offset and for the end.
const FIRST: i64 = -2;
const END: i64 = -1;

impl Bound {
    /// Sets the offset of every partition to where the bound lies in it.
    pub(super) fn resolve(
        self,
        handle: &Handle,
        group: &str,
        partitions: &mut [PartitionOffset],
        wait: Duration,
    ) -> Result<(), KafkaError> {
        match self {
            Self::Stored => stored(handle, group, partitions, wait),
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

/// The group's committed offsets; a partition without one is an error, never a guess.
fn stored(
    handle: &Handle,
    group: &str,
    partitions: &mut [PartitionOffset],
    wait: Duration,
) -> Result<(), KafkaError> {
    if partitions.is_empty() {
        return Ok(());
    }
    let committed = handle.committed(partitions, wait)?;
    for (partition, committed) in partitions.iter_mut().zip(committed) {
        *partition = committed.ok_or_else(|| KafkaError::NothingStored {
            topic: partition.topic.clone(),
            partition: partition.partition,
            group: group.to_owned(),
        })?;
    }
    Ok(())
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
