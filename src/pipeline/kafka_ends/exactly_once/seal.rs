//! The end of a transaction, once more.
//!
//! Brokers may leave a transaction open in partitions that were away when it ended, and never come back to them
//! (KAFKA-20734): then nobody reads its offsets, or what it wrote. The end of a later transaction of the same name ends it
//! there too, but whoever has to read them first begins none. So where they stay unreadable, though the brokers write there,
//! a small transaction of its own goes there and ends as the forgotten one did. What another process left open stays so.
//! Outputs are left alone: the next transaction with records to them ends it there, as itself.
//!
//! It must not be begun on a guess: an end that does not get through is an abort, also of what was committed and forgotten.

use std::time::{Duration, Instant};

use crate::kafka::KafkaError;
use crate::kafka::journal::{blank, nobodys_offset};

use super::super::super::stop::Stop;
use super::super::super::{Receipt, SinkError};
use super::super::progress::{Hidden, Key};
use super::{CALL_WAIT, ExactlyOnce, call};

/// Offsets that do not come in such a time never do: the brokers end a transaction after 15 s.
const OFFSETS_WAIT: Duration = Duration::from_secs(12);

/// How a transaction ended.
#[derive(Clone, Copy, Debug)]
pub(super) enum End {
    Commit,
    Abort,
}

impl ExactlyOnce {
    /// Ends again what hides something, one thing at a time. There must be no open transaction.
    pub(super) fn seal(&mut self, stop: &Stop, receipts: &mut Vec<Receipt>) -> Result<(), SinkError> {
        match (self.progress.next_hidden(), self.ended) {
            (Some(Hidden::Offsets), Some(end)) => {
                self.seal_one(|sink| sink.end_offsets(end, stop), stop, receipts)
            }
            (Some(Hidden::Offsets), None) => {
                tracing::warn!(
                    "how our last transaction with offsets ended is not known, so it is left as it is"
                );
                Ok(())
            }
            (Some(Hidden::Journal(key)), _) if self.progress.owns(key, u32::MAX) => {
                self.seal_one(|sink| sink.end_journal(key, stop), stop, receipts)
            }
            _ => Ok(()),
        }
    }

    fn seal_one(
        &mut self,
        end: impl FnOnce(&mut Self) -> Result<(), KafkaError>,
        stop: &Stop,
        receipts: &mut Vec<Receipt>,
    ) -> Result<(), SinkError> {
        match self.open(Instant::now()).and_then(|()| end(self)) {
            Ok(()) => {
                tracing::info!("if a transaction of ours was left open there, it is ended now");
                self.open = None;
                self.take_rest();
                Ok(())
            }
            Err(error) => self.recover(error, stop, receipts),
        }
    }

    fn end_offsets(&mut self, end: End, stop: &Stop) -> Result<(), KafkaError> {
        let outputs = &mut self.sending.outputs;
        let (offsets, group) = ([nobodys_offset(outputs.journal_name(0))], outputs.group().to_owned());
        let producer = outputs.producer()?;
        call(producer, stop, |producer| producer.send_offsets_as_stranger(&offsets, &group, OFFSETS_WAIT))?;
        match end {
            End::Commit => call(producer, stop, |producer| producer.commit_transaction(CALL_WAIT)),
            End::Abort => call(producer, stop, |producer| producer.abort_transaction(CALL_WAIT)),
        }
    }

    /// The committed offset names a record that cannot be read, so what hides it was committed; or it is one of ours that was
    /// taken back before another process's record, and comes again as it was.
    fn end_journal(&mut self, (topic, partition): Key, stop: &Stop) -> Result<(), KafkaError> {
        let outputs = &mut self.sending.outputs;
        // Nobody waits for its report: the commit fails with the record.
        outputs.send_journal(usize::from(topic.0), partition, &blank(), u64::MAX)?;
        call(outputs.producer()?, stop, |producer| producer.commit_transaction(CALL_WAIT))
    }
}
