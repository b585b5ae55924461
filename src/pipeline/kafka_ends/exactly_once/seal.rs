//! The end of a transaction, once more.
//!
//! Brokers may leave a transaction open in partitions that were away when it ended, and never come back to them
//! (KAFKA-20734): then nobody reads its offsets, or what it wrote. The end of a later transaction of the same name ends it
//! there too, but none begins before offsets and journals are read. So when those stay unreadable, a small transaction goes where
//! they are, and ends as the forgotten one did. Outputs are left alone: the next records to them do the same. If nothing was
//! left open, it changes nothing.

use std::time::Instant;

use crate::kafka::journal::blank;
use crate::kafka::{KafkaError, PartitionOffset};

use super::super::super::stop::Stop;
use super::super::super::{Receipt, SinkError};
use super::super::progress::Key;
use super::{CALL_WAIT, ExactlyOnce, call};

/// A transaction that ended.
pub(super) struct Ended {
    pub(super) is_committed: bool,
    pub(super) partitions: Vec<Key>,
    /// Whether offsets were part of it.
    pub(super) has_offsets: bool,
}

impl ExactlyOnce {
    /// Ends again what still holds offsets or journals that cannot be read.
    pub(super) fn seal(&mut self, stop: &Stop, receipts: &mut Vec<Receipt>) -> Result<(), SinkError> {
        let held = self.progress.take_held();
        if held.offsets {
            if let Some(ended) = self.ended.take().filter(|_| self.sending.outputs.has_journal()) {
                self.end_again(&ended, stop, receipts)?;
                self.ended = Some(ended);
            } else {
                tracing::warn!(
                    "the group's offsets cannot be read: if this goes on while the brokers answer, they keep a \
                     transaction open that was ended (`kafka-transactions.sh find-hanging` shows it, `abort` ends it); \
                     how it ended is not known here, so it is left alone"
                );
            }
        }
        if !held.journals.is_empty() {
            // The committed offsets name what is to be read there, so it was committed.
            let partitions = held.journals.into_iter().collect();
            let ended = Ended { is_committed: true, partitions, has_offsets: false };
            self.end_again(&ended, stop, receipts)?;
        }
        Ok(())
    }

    fn end_again(
        &mut self,
        ended: &Ended,
        stop: &Stop,
        receipts: &mut Vec<Receipt>,
    ) -> Result<(), SinkError> {
        match self.try_end_again(ended, stop) {
            Ok(()) => {
                tracing::info!(
                    "the end of the last transaction was written again, in case the brokers forgot it"
                );
                self.open = None;
                self.take_rest();
                Ok(())
            }
            Err(error) => self.recover(error, stop, receipts),
        }
    }

    fn try_end_again(&mut self, ended: &Ended, stop: &Stop) -> Result<(), KafkaError> {
        self.open(Instant::now())?;
        let outputs = &mut self.sending.outputs;
        let mut offsets = Vec::new();
        for (topic, partition) in &ended.partitions {
            let input = usize::from(topic.0);
            // Nobody waits for the report: the end fails with the record.
            outputs.send_journal(input, *partition, &blank(), u64::MAX)?;
            // An offset that nobody reads by.
            offsets.push(PartitionOffset::new(outputs.journal_name(input), *partition, 0));
        }
        let group = outputs.group().to_owned();
        let producer = outputs.producer()?;
        if ended.has_offsets {
            call(producer, stop, |producer| producer.send_offsets_as_stranger(&offsets, &group, CALL_WAIT))?;
        }
        if ended.is_committed {
            call(producer, stop, |producer| producer.commit_transaction(CALL_WAIT))
        } else {
            call(producer, stop, |producer| producer.abort_transaction(CALL_WAIT))
        }
    }
}
