//! What happens when a transaction does not end well: abort, or a new producer and a look at the committed offsets.

use std::time::{Duration, Instant};

use crate::kafka::{Class, KafkaError, PartitionOffset};

use super::super::super::news::News;
use super::super::super::stop::Stop;
use super::super::super::{Receipt, SinkError};
use super::super::progress::{Due, Key};
use super::super::sending::{REPORT_WAIT, TEND_EVERY};
use super::super::vitals::Vitals;
use super::seal::End;
use super::{CALL_WAIT, ExactlyOnce, call};

/// The brokers end a transaction that is open for so long (`settings.rs`).
const TRANSACTION_TIMEOUT: Duration = Duration::from_secs(15);
/// How long the consumer may take to hear that another process has its name.
const NAMESAKE_WAIT: Duration = Duration::from_secs(7);

/// What to do about an error.
enum Next {
    Abort,
    Rebuild,
    Stop(KafkaError),
}

/// What became of a transaction.
enum Outcome {
    Committed(Due),
    /// With the partitions that others have moved on meanwhile.
    Undone(Vec<(Key, PartitionOffset)>),
    /// Nothing of it is ours any more: it comes again to others, or not at all.
    NotTold,
}

impl ExactlyOnce {
    /// The transaction did not end well.
    pub(super) fn recover(
        &mut self,
        error: KafkaError,
        stop: &Stop,
        receipts: &mut Vec<Receipt>,
    ) -> Result<(), SinkError> {
        let mut next = self.next(error);
        if let Next::Abort = next {
            let aborted = call(self.sending.outputs.producer()?, stop, |producer| {
                producer.abort_transaction(CALL_WAIT)
            });
            next = match aborted {
                Ok(()) => {
                    self.undone(Vec::new())?;
                    return Ok(());
                }
                Err(error) => self.next(error),
            };
        }
        match next {
            Next::Stop(error) => Err(error.into()),
            Next::Abort | Next::Rebuild => self.rebuild(stop, receipts),
        }
    }

    /// What to do about an error of the open transaction.
    fn next(&self, error: KafkaError) -> Next {
        let age = self.open.as_ref().map(|open| open.began.elapsed()).unwrap_or_default();
        let KafkaError::Fault(fault) = &error else {
            return if error.class() == Class::Stop { Next::Stop(error) } else { Next::Rebuild };
        };
        if fault.is_fenced() {
            // The brokers also fence whoever leaves a transaction open for too long.
            return if age < TRANSACTION_TIMEOUT {
                Next::Stop(KafkaError::Fenced { name: self.name.clone(), text: fault.text.clone() })
            } else {
                Next::Rebuild
            };
        }
        if fault.fatal {
            tracing::warn!("{error}; the producer is made anew");
            return Next::Rebuild;
        }
        if fault.class() == Class::Stop && !fault.requires_abort {
            return Next::Stop(error);
        }
        tracing::warn!("{error}; the transaction is aborted, and its records are read again");
        Next::Abort
    }

    /// Nothing of the transaction counts: its records come again.
    fn undone(&mut self, outdated: Vec<(Key, PartitionOffset)>) -> Result<(), SinkError> {
        // A seal has nothing of the stream.
        let is_seal = self.open.as_ref().is_some_and(|open| open.partitions.is_empty());
        self.close(End::Abort);
        self.take_rest();
        if is_seal {
            return Ok(());
        }
        if let Some((key, offset)) = self.sending.suspects.found()
            && self.progress.refuse(key, offset)
        {
            return Err(KafkaError::stub_refused(key.1, offset).into());
        }
        // The gate hears of it before the reader does, so before it sees a record again.
        self.progress.tell(News::Aborted(self.progress.turn() + 1));
        self.progress.next_turn(outdated);
        std::thread::sleep(self.pace.aborted());
        Ok(())
    }

    /// A new producer with the same name; then the committed offsets say what became of the transaction.
    fn rebuild(&mut self, stop: &Stop, receipts: &mut Vec<Receipt>) -> Result<(), SinkError> {
        let age = self.open.as_ref().map(|open| open.began.elapsed()).unwrap_or_default();
        if age >= TRANSACTION_TIMEOUT {
            wait_for_namesake(stop);
        }
        // A new producer would fence a namesake, who has every right to the name.
        while self.progress.is_in_doubt() && !stop.is_asked() {
            std::thread::sleep(TEND_EVERY);
        }
        if self.progress.is_in_doubt() {
            let text = "the group gave it away as well".to_owned();
            return Err(KafkaError::Fenced { name: self.name.clone(), text }.into());
        }
        self.sending.outputs.close();
        Vitals::count(&self.progress.vitals.rebuilds);
        Vitals::count(&self.progress.status.rebuilds);
        loop {
            let renewed = self.sending.outputs.renew();
            let ready = renewed.and_then(|()| self.sending.outputs.producer()?.init_transactions(CALL_WAIT));
            match ready {
                Ok(()) => break,
                Err(error) if stop.is_abandoned() => return Err(error.into()),
                Err(error) if error.class() == Class::Stop => return Err(error.into()),
                Err(error) => {
                    tracing::warn!("{error}; trying again");
                    std::thread::sleep(self.pace.aborted());
                }
            }
        }
        // Without an open transaction, a batch or a seal was in hand that could not begin one.
        if self.open.as_ref().is_none_or(|open| !open.is_committing) {
            return self.undone(Vec::new());
        }
        match self.outcome(stop)? {
            Outcome::Committed(due) => {
                tracing::info!("the transaction had been committed");
                self.done(&due, receipts);
                Ok(())
            }
            Outcome::Undone(outdated) => self.undone(outdated),
            Outcome::NotTold => {
                self.undone(Vec::new())?;
                self.ended = None;
                Ok(())
            }
        }
    }

    /// What the committed offsets say.
    fn outcome(&self, stop: &Stop) -> Result<Outcome, SinkError> {
        let due = self.progress.due(None, self.dead);
        let ours: Vec<(Key, PartitionOffset, i64)> = (due.keys.iter().zip(&due.offsets))
            .filter_map(|(key, offset)| {
                let epoch = self.open.as_ref()?.partitions.get(key)?;
                let (_, before) = self.progress.committed_at(*key, *epoch)?;
                Some((*key, offset.clone(), before))
            })
            .collect();
        if ours.is_empty() {
            return Ok(Outcome::NotTold);
        }
        let asked: Vec<_> = ours.iter().map(|(_, offset, _)| offset.clone()).collect();
        let mut is_told = false;
        let stored = loop {
            match self.progress.committer()?.committed(&asked, CALL_WAIT) {
                Ok(stored) => break stored,
                // While the consumer is made anew, there is none to ask.
                Err(error)
                    if (error.is_retriable() || matches!(error, KafkaError::Closed))
                        && !stop.is_abandoned() =>
                {
                    if !std::mem::replace(&mut is_told, true) {
                        tracing::warn!(
                            "{error}; they tell whether the last transaction was committed: asked again"
                        );
                    }
                    std::thread::sleep(REPORT_WAIT);
                }
                Err(error) => return Err(error.into()),
            }
        };
        Ok(match compare(ours, stored) {
            None => Outcome::Committed(due),
            Some(outdated) => Outcome::Undone(outdated),
        })
    }
}

/// Compares what is stored with what we sent and with what was there before. `None` if ours is there: a transaction is
/// committed for all partitions or for none. Otherwise the partitions that somebody else has moved on.
fn compare(
    ours: Vec<(Key, PartitionOffset, i64)>,
    stored: Vec<Option<PartitionOffset>>,
) -> Option<Vec<(Key, PartitionOffset)>> {
    let is_ours = |((_, sent, _), stored): (&(Key, PartitionOffset, i64), &Option<PartitionOffset>)| {
        stored.as_ref().is_some_and(|stored| stored.offset == sent.offset)
    };
    if ours.iter().zip(&stored).any(is_ours) {
        return None;
    }
    let moved = ours.into_iter().zip(stored).filter_map(|((key, _, before), stored)| {
        let stored = stored.filter(|stored| stored.offset != before)?;
        Some((key, stored))
    });
    Some(moved.collect())
}

/// A process with the same name would have taken the consumer's place as well: the reader hears of that, and ends.
fn wait_for_namesake(stop: &Stop) {
    let until = Instant::now() + NAMESAKE_WAIT;
    while Instant::now() < until && !stop.is_asked() {
        std::thread::sleep(TEND_EVERY);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::kafka::TopicIndex;

    fn sent(partition: i32, before: i64, next: i64) -> (Key, PartitionOffset, i64) {
        ((TopicIndex(0), partition), PartitionOffset::new("in", partition, next), before)
    }

    fn stored(offsets: [i64; 2]) -> Vec<Option<PartitionOffset>> {
        (0..)
            .zip(offsets)
            .map(|(partition, offset)| Some(PartitionOffset::new("in", partition, offset)))
            .collect()
    }

    #[test]
    fn the_committed_offsets_tell_what_became_of_a_transaction() {
        let ours = || vec![sent(0, 10, 20), sent(1, 5, 7)];
        assert!(compare(ours(), stored([20, 7])).is_none(), "ours: keep");
        assert!(compare(ours(), stored([20, 9])).is_none(), "ours, and others went on");
        let undone = compare(ours(), stored([10, 5]));
        assert_eq!(undone, Some(Vec::new()), "the old ones: undo");
        let nothing = compare(vec![sent(0, 0, 20)], vec![None]);
        assert_eq!(nothing, Some(Vec::new()), "nothing was ever committed: undo");
        let outdated = compare(ours(), stored([10, 6])).unwrap();
        let keys: Vec<_> = outdated.iter().map(|(key, at)| (key.1, at.offset)).collect();
        assert_eq!(keys, [(1, 6)], "anything else: restore");
    }
}
