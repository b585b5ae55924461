//! The end of a transaction, once more.
//!
//! Brokers may leave a transaction open in partitions that were away when it ended, and never come back to them
//! (KAFKA-20734): then nobody reads its offsets, or what it wrote. The end of a later transaction of the same name ends it
//! there too, but none begins before offsets and journals are read. So where those stay unreadable, though the brokers
//! answer, a small transaction goes there and ends as the forgotten one did. What is held by another process's transaction
//! stays so. Outputs are left alone: the next records to them do the same.
//!
//! It must not be begun on a guess: an end that does not get through is an abort, also of what was committed and forgotten.

use std::time::{Duration, Instant};

use crate::kafka::journal::blank;
use crate::kafka::{KafkaError, PartitionOffset};

use super::super::super::stop::Stop;
use super::super::super::{Receipt, SinkError};
use super::super::progress::Key;
use super::{CALL_WAIT, ExactlyOnce, call};

/// How long a journal's leader may take to answer before nothing is begun there.
const ANSWER_WAIT: Duration = Duration::from_secs(2);
/// Offsets that do not come in such a time never do: the brokers end a transaction after 15 s.
const OFFSETS_WAIT: Duration = Duration::from_secs(12);
/// The text of an offset that nobody reads by.
const SEAL: &str = "tollgate/1 seal";

/// How a transaction ended.
#[derive(Clone, Copy, Debug)]
pub(super) enum End {
    Commit,
    Abort,
}

impl ExactlyOnce {
    /// Ends again what holds offsets or journals that cannot be read. There must be no open transaction.
    pub(super) fn seal(&mut self, stop: &Stop, receipts: &mut Vec<Receipt>) -> Result<(), SinkError> {
        let held = self.progress.take_held();
        if held.offsets {
            if let Some(end) = self.ended.filter(|_| self.sending.outputs.has_journal()) {
                self.seal_one("the group's offsets", |sink| sink.end_offsets(end, stop), stop, receipts)?;
            } else {
                tracing::warn!(
                    "our last transaction is not ended again: how it ended is not known, or there is no journal"
                );
            }
        }
        // Each by itself: where one does not get through, the others do.
        for key in held.journals {
            let journal = format!("{}/{}", self.sending.outputs.journal_name(usize::from(key.0.0)), key.1);
            if self.progress.owns(key, u32::MAX) && self.answers(key) {
                self.seal_one(&journal, |sink| sink.end_journal(key, stop), stop, receipts)?;
            }
        }
        Ok(())
    }

    fn seal_one(
        &mut self,
        what: &str,
        end: impl FnOnce(&mut Self) -> Result<(), KafkaError>,
        stop: &Stop,
        receipts: &mut Vec<Receipt>,
    ) -> Result<(), SinkError> {
        match self.open(Instant::now()).and_then(|()| end(self)) {
            Ok(()) => {
                tracing::info!("{what}: if our last transaction there was left open, it is ended now");
                self.open = None;
                self.take_rest();
                Ok(())
            }
            Err(error) => self.recover(error, stop, receipts),
        }
    }

    /// Whether a journal's leader answers.
    fn answers(&mut self, (topic, partition): Key) -> bool {
        let journal = self.sending.outputs.journal_name(usize::from(topic.0)).to_owned();
        let cluster = self.sending.outputs.producer().and_then(|producer| producer.cluster());
        cluster.and_then(|cluster| cluster.watermarks(&journal, partition, ANSWER_WAIT)).is_ok()
    }

    fn end_offsets(&mut self, end: End, stop: &Stop) -> Result<(), KafkaError> {
        let outputs = &mut self.sending.outputs;
        let offset = PartitionOffset {
            metadata: SEAL.to_owned(),
            ..PartitionOffset::new(outputs.journal_name(0), 0, 0)
        };
        let group = outputs.group().to_owned();
        let producer = outputs.producer()?;
        let offsets = [offset];
        call(producer, stop, |producer| producer.send_offsets_as_stranger(&offsets, &group, OFFSETS_WAIT))?;
        match end {
            End::Commit => call(producer, stop, |producer| producer.commit_transaction(CALL_WAIT)),
            End::Abort => call(producer, stop, |producer| producer.abort_transaction(CALL_WAIT)),
        }
    }

    /// The committed offset names a record there that cannot be read, so the transaction that holds it was committed.
    fn end_journal(&mut self, (topic, partition): Key, stop: &Stop) -> Result<(), KafkaError> {
        let outputs = &mut self.sending.outputs;
        // Nobody waits for its report: the commit fails with the record.
        outputs.send_journal(usize::from(topic.0), partition, &blank(), u64::MAX)?;
        call(outputs.producer()?, stop, |producer| producer.commit_transaction(CALL_WAIT))
    }
}
