//! The end of a transaction, once more.
//!
//! Brokers may leave a transaction open in partitions that were away when it ended, and never come back to them
//! (KAFKA-20734): then nobody reads its offsets and what it wrote. The end of a later transaction of the same name ends it there
//! too, but none begins while the offsets that reading starts from cannot be read. So when those, or a journal, stay
//! unreadable, a small transaction goes where the last one with offsets was, and ends as that one did. Outputs are left
//! alone: the next records to them do the same. If nothing was left open, it changes nothing.

use std::time::Instant;

use crate::kafka::journal::blank;
use crate::kafka::{KafkaError, PartitionOffset};

use super::super::super::stop::Stop;
use super::super::super::{Receipt, SinkError};
use super::super::progress::Key;
use super::{CALL_WAIT, ExactlyOnce, call};

/// How the last transaction with offsets ended.
pub(super) struct Ended {
    pub(super) is_committed: bool,
    pub(super) partitions: Vec<Key>,
}

impl ExactlyOnce {
    /// Ends the last transaction again.
    pub(super) fn seal(&mut self, stop: &Stop, receipts: &mut Vec<Receipt>) -> Result<(), SinkError> {
        if self.ended.is_none() || !self.sending.outputs.has_journal() {
            tracing::warn!(
                "if this goes on while the brokers answer, they keep a transaction open that was ended: \
                 `kafka-transactions.sh find-hanging` shows it, `abort` ends it; it is left alone here, since how it \
                 ended is not known"
            );
            return Ok(());
        }
        match self.try_seal(stop) {
            Ok(()) => {
                tracing::info!(
                    "the end of the last transaction was written again, in case brokers forgot it"
                );
                self.open = None;
                self.take_rest();
                Ok(())
            }
            Err(error) => self.recover(error, stop, receipts),
        }
    }

    fn try_seal(&mut self, stop: &Stop) -> Result<(), KafkaError> {
        self.open(Instant::now())?;
        let Self { sending, ended: Some(ended), .. } = self else { return Ok(()) };
        let outputs = &mut sending.outputs;
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
        call(producer, stop, |producer| producer.send_offsets_as_stranger(&offsets, &group, CALL_WAIT))?;
        if ended.is_committed {
            call(producer, stop, |producer| producer.commit_transaction(CALL_WAIT))
        } else {
            call(producer, stop, |producer| producer.abort_transaction(CALL_WAIT))
        }
    }
}
