//! Names of partitions and records for people: the pipeline knows numbers alone.

use crate::pipeline::batch::Partition;

/// What the numbers of partitions mean in this run.
#[derive(Clone, Debug)]
pub enum Places {
    /// Input topics, in the order of the configuration.
    Topics(Vec<String>),
    /// Files, in the order in which they are read.
    Files(Vec<String>),
}

impl Places {
    /// A partition's name: `topic/3`, or the path of a file.
    #[must_use]
    pub fn partition(&self, partition: Partition) -> String {
        match self.split(partition) {
            (topic, Some(number)) => format!("{topic}/{number}"),
            (file, None) => file.to_owned(),
        }
    }

    /// A partition's topic and number, or the path of a file.
    #[must_use]
    pub fn split(&self, partition: Partition) -> (&str, Option<u64>) {
        let (names, index, number) = match self {
            Self::Topics(topics) => (topics, partition.0 >> 32, Some(partition.0 & 0xFFFF_FFFF)),
            Self::Files(files) => (files, partition.0, None),
        };
        (names.get(index as usize).map_or("?", String::as_str), number)
    }

    /// A record's name, as rejected records carry it: `topic/3/1042`, or `path:17`.
    #[must_use]
    pub fn record(&self, partition: Partition, place: u64) -> String {
        let separator = if matches!(self, Self::Topics(_)) { '/' } else { ':' };
        format!("{}{separator}{place}", self.partition(partition))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn records_are_named_as_their_rejects_are() {
        let topics = Places::Topics(vec!["a".into(), "b".into()]);
        assert_eq!(topics.record(Partition((1 << 32) + 7), 1042), "b/7/1042");
        assert_eq!(Places::Files(vec!["in.ndjson".into()]).record(Partition(0), 17), "in.ndjson:17");
    }
}
