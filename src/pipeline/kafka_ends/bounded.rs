//! A run that stops by itself: `kafka.stop`, the same in every partition and for every member of the group.
//!
//! The ends are looked up once, at the start. What lies behind them is dropped when it is read. The run is over when the
//! group has committed up to the end of every partition, not when the last record was read: a transaction may still be
//! aborted, and its records are then read again.

use std::collections::HashSet;
use std::time::{Duration, Instant};

use crate::config::Config;
use crate::kafka::{
    Consumer, ConsumerSettings, Ends, KafkaError, PartitionBatch, PartitionOffset, TopicIndex,
};

/// How often the group's offsets are asked for while nothing is left to read, and how long that may take.
const ASK_EVERY: Duration = Duration::from_millis(200);
const ASK_WAIT: Duration = Duration::from_secs(5);

/// Where to stop, and whether it was reached.
pub(super) struct Bounded {
    ends: Ends,
    /// Partitions of which this process has read something.
    touched: HashSet<(TopicIndex, i32)>,
    asked_at: Instant,
}

impl Bounded {
    /// `None` where the run has no end.
    pub(super) fn look_up(config: &Config, settings: &ConsumerSettings) -> Result<Option<Self>, KafkaError> {
        let Some(stop) = config.kafka.stop else { return Ok(None) };
        let ends = Ends::find(settings, stop)?;
        tracing::info!(%stop, "the run ends where `kafka.stop` says");
        Ok(Some(Self { ends, touched: HashSet::new(), asked_at: Instant::now() }))
    }

    /// Drops what lies behind the ends.
    pub(super) fn cut(&mut self, batches: &mut Vec<PartitionBatch>) {
        for batch in batches.iter_mut() {
            self.ends.cut(batch);
        }
        batches.retain(|batch| !batch.messages.is_empty());
        self.touched.extend(batches.iter().map(|batch| (batch.topic, batch.partition)));
    }

    /// Whether the group is through.
    pub(super) fn is_over(&mut self, consumer: &Consumer) -> Result<bool, KafkaError> {
        let owned = consumer.owned();
        if owned.is_empty() || !self.ends.are_reached(&owned) || self.asked_at.elapsed() < ASK_EVERY {
            return Ok(false);
        }
        self.asked_at = Instant::now();
        // Of what was behind its end from the start, nothing will ever be committed.
        let passed: Vec<_> =
            owned.into_iter().filter(|at| !self.touched.contains(&(at.topic, at.partition))).collect();
        let open = self.ends.of_others(&passed);
        let committed = match consumer.committer().committed(&open, ASK_WAIT) {
            Err(error) if error.is_retriable() => return Ok(false),
            committed => committed?,
        };
        let is_there = |end: &PartitionOffset, committed: Option<PartitionOffset>| {
            committed.is_some_and(|committed| committed.offset >= end.offset)
        };
        Ok(open.iter().zip(committed).all(|(end, committed)| is_there(end, committed)))
    }
}
