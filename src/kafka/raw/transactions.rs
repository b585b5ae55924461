//! Transactions, as thin as the C calls: what to do about their errors is decided above.
//!
//! Every call has a deadline. A timed-out commit must be called again, never aborted; flags on the fault say whether
//! the transaction must be aborted or the producer made anew. Delivery reports arrive inside commit and abort.

use std::ffi::CString;
use std::ptr::NonNull;
use std::time::Duration;

use super::errors::{copy, millis, take};
use super::handle::Handle;
use super::partitions::{List, PartitionOffset};
use super::producer::Producer;
use super::sys;
use crate::kafka::faults::{Code, Fault, KafkaError};

/// Who we are in the consumer group at this moment; read anew for every transaction.
pub struct GroupMetadata(NonNull<sys::rd_kafka_consumer_group_metadata_t>);

// SAFETY: a plain object with one owner and no tie to a thread.
unsafe impl Send for GroupMetadata {}

impl GroupMetadata {
    /// The group by its name alone, as a producer that is no member has it.
    pub(crate) fn of_name(group: &str) -> Result<Self, KafkaError> {
        let refused = || Fault::new("name the group", Code::INVALID_ARGUMENT);
        let group = CString::new(group).map_err(|_| refused())?;
        // SAFETY: the name is read during the call only; the object that comes back is ours.
        let metadata = unsafe { sys::rd_kafka_consumer_group_metadata_new(group.as_ptr()) };
        Ok(NonNull::new(metadata).map(Self).ok_or_else(refused)?)
    }

    /// The generation of the group; negative while we are no member.
    #[must_use]
    pub fn generation(&self) -> i32 {
        // SAFETY: ours and alive.
        unsafe { sys::rd_kafka_consumer_group_metadata_generation_id(self.0.as_ptr()) }
    }

    /// Our member id; empty while we are no member.
    #[must_use]
    pub fn member(&self) -> String {
        // SAFETY: ours and alive.
        copy(unsafe { sys::rd_kafka_consumer_group_metadata_member_id(self.0.as_ptr()) })
    }

    /// Whether we are a member at this moment.
    #[must_use]
    pub fn is_member(&self) -> bool {
        self.generation() >= 0 && !self.member().is_empty()
    }
}

impl Drop for GroupMetadata {
    fn drop(&mut self) {
        // SAFETY: ours alone.
        unsafe { sys::rd_kafka_consumer_group_metadata_destroy(self.0.as_ptr()) }
    }
}

impl Handle {
    /// The consumer's group metadata.
    pub(crate) fn group_metadata(&self) -> Result<GroupMetadata, KafkaError> {
        // SAFETY: the handle is alive; the object that comes back is ours.
        let metadata = unsafe { sys::rd_kafka_consumer_group_metadata(self.as_ptr()) };
        let metadata = NonNull::new(metadata).map(GroupMetadata);
        metadata.ok_or_else(|| Fault::new("read the group metadata", Code::STATE).into())
    }
}

impl Producer {
    /// Registers the transactional id and fences older producers with it.
    pub(crate) fn init_transactions(&mut self, wait: Duration) -> Result<(), KafkaError> {
        // SAFETY: the handle is alive during `serve`.
        let error = self.serve(|rk| unsafe { sys::rd_kafka_init_transactions(rk, millis(wait)) })?;
        Ok(take("prepare for transactions", error)?)
    }

    /// Begins a transaction.
    pub(crate) fn begin_transaction(&mut self) -> Result<(), KafkaError> {
        // SAFETY: the handle is alive during `serve`.
        let error = self.serve(|rk| unsafe { sys::rd_kafka_begin_transaction(rk) })?;
        Ok(take("begin the transaction", error)?)
    }

    /// Makes consumer offsets part of the transaction.
    pub(crate) fn send_offsets(
        &mut self,
        offsets: &[PartitionOffset],
        group: &GroupMetadata,
        wait: Duration,
    ) -> Result<(), KafkaError> {
        let list = List::new(offsets);
        // SAFETY: handle, list and metadata are alive during the call.
        let error = self.serve(|rk| unsafe {
            sys::rd_kafka_send_offsets_to_transaction(rk, list.as_ptr(), group.0.as_ptr(), millis(wait))
        })?;
        Ok(take("send offsets to the transaction", error)?)
    }

    /// Commits; flushes first.
    pub(crate) fn commit_transaction(&mut self, wait: Duration) -> Result<(), KafkaError> {
        // SAFETY: the handle is alive during `serve`.
        let error = self.serve(|rk| unsafe { sys::rd_kafka_commit_transaction(rk, millis(wait)) })?;
        Ok(take("commit the transaction", error)?)
    }

    /// Aborts; purges first, and waits for what is under way.
    pub(crate) fn abort_transaction(&mut self, wait: Duration) -> Result<(), KafkaError> {
        // SAFETY: the handle is alive during `serve`.
        let error = self.serve(|rk| unsafe { sys::rd_kafka_abort_transaction(rk, millis(wait)) })?;
        Ok(take("abort the transaction", error)?)
    }
}
