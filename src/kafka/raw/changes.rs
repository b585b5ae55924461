//! What is changed in the cluster: topics made and grown, records deleted.
//!
//! Only the journals' topics are ever changed (`journal/topics.rs`); `try_only` changes nothing. How a request is made
//! is `requests.rs`.

use std::ffi::c_char;
use std::time::Duration;

use super::answers::{NewTopic, pointers};
use super::conf::{TEXT_BYTES, text_of};
use super::errors::{c_text, copy};
use super::handle::Handle;
use super::partitions::{List, PartitionOffset, entries};
use super::requests::{Call, Operation};
use super::sys;
use crate::kafka::faults::{Code, Fault, KafkaError};

impl Handle {
    /// Makes a topic; with `try_only` it is only asked whether it could be made.
    pub(crate) fn create_topic(
        &self,
        topic: &NewTopic<'_>,
        try_only: bool,
        wait: Duration,
    ) -> Result<(), KafkaError> {
        let doing = if try_only { "find out whether the topic can be made" } else { "make the topic" };
        let name = c_text(topic.name);
        let mut text: [c_char; TEXT_BYTES] = [0; TEXT_BYTES];
        // SAFETY: the name lives during the call, and the buffer has the size that is passed.
        let new = unsafe {
            let copies = topic.replicas.unwrap_or(-1);
            sys::rd_kafka_NewTopic_new(name.as_ptr(), topic.partitions, copies, text.as_mut_ptr(), TEXT_BYTES)
        };
        if new.is_null() {
            let fault = Fault::new(doing, Code::INVALID_ARGUMENT).at(topic.name, None, None);
            return Err(Fault { text: text_of(&text), ..fault }.into());
        }
        for (key, value) in topic.settings {
            let (key, value) = (c_text(key), c_text(value));
            // SAFETY: the topic is ours; both texts are copied.
            unsafe { sys::rd_kafka_NewTopic_set_config(new, key.as_ptr(), value.as_ptr()) };
        }
        // SAFETY: the topic is ours, destroyed once, after the call was started, which copies it.
        let ask = |call: &Call| unsafe {
            let mut list = [new];
            if try_only {
                call.set(|options, text| {
                    sys::rd_kafka_AdminOptions_set_validate_only(options, 1, text, TEXT_BYTES)
                });
            }
            sys::rd_kafka_CreateTopics(self.as_ptr(), list.as_mut_ptr(), 1, call.options, call.queue);
            sys::rd_kafka_NewTopic_destroy(new);
        };
        let fault = self.ask(doing, Operation::RD_KAFKA_ADMIN_OP_CREATETOPICS, wait, ask, |event| {
            let mut count = 0;
            // SAFETY: the event is of the kind that was asked for and lives until it was read; the list has `count`.
            unsafe {
                let result = sys::rd_kafka_event_CreateTopics_result(event);
                let list = sys::rd_kafka_CreateTopics_result_topics(result, &raw mut count);
                first_fault(doing, list, count)
            }
        })?;
        fault.map_or(Ok(()), |fault| Err(fault.at(topic.name, None, None).into()))
    }

    /// Gives a topic so many partitions in all.
    pub(crate) fn add_partitions(
        &self,
        topic: &str,
        partitions: usize,
        wait: Duration,
    ) -> Result<(), KafkaError> {
        let doing = "add partitions to the topic";
        let name = c_text(topic);
        let mut text: [c_char; TEXT_BYTES] = [0; TEXT_BYTES];
        // SAFETY: the name lives during the call, and the buffer has the size that is passed.
        let new = unsafe {
            sys::rd_kafka_NewPartitions_new(name.as_ptr(), partitions, text.as_mut_ptr(), TEXT_BYTES)
        };
        if new.is_null() {
            let fault = Fault::new(doing, Code::INVALID_ARGUMENT).at(topic, None, None);
            return Err(Fault { text: text_of(&text), ..fault }.into());
        }
        // SAFETY: the request is ours, destroyed once, after the call was started, which copies it.
        let ask = |call: &Call| unsafe {
            let mut list = [new];
            sys::rd_kafka_CreatePartitions(self.as_ptr(), list.as_mut_ptr(), 1, call.options, call.queue);
            sys::rd_kafka_NewPartitions_destroy(new);
        };
        let fault = self.ask(doing, Operation::RD_KAFKA_ADMIN_OP_CREATEPARTITIONS, wait, ask, |event| {
            let mut count = 0;
            // SAFETY: as in `create_topic`.
            unsafe {
                let result = sys::rd_kafka_event_CreatePartitions_result(event);
                let list = sys::rd_kafka_CreatePartitions_result_topics(result, &raw mut count);
                first_fault(doing, list, count)
            }
        })?;
        fault.map_or(Ok(()), |fault| Err(fault.at(topic, None, None).into()))
    }

    /// Deletes the records of each partition below its offset; gives each with its own outcome.
    pub(crate) fn delete_records(
        &self,
        below: &[PartitionOffset],
        wait: Duration,
    ) -> Result<Vec<(PartitionOffset, Code)>, KafkaError> {
        if below.is_empty() {
            return Ok(Vec::new());
        }
        let list = List::new(below);
        // SAFETY: the list lives during the call; the request is destroyed after it was started, which copies it.
        let ask = |call: &Call| unsafe {
            let request = sys::rd_kafka_DeleteRecords_new(list.as_ptr());
            let mut requests = [request];
            sys::rd_kafka_DeleteRecords(self.as_ptr(), requests.as_mut_ptr(), 1, call.options, call.queue);
            sys::rd_kafka_DeleteRecords_destroy(request);
        };
        self.ask("delete records", Operation::RD_KAFKA_ADMIN_OP_DELETERECORDS, wait, ask, |event| {
            // SAFETY: the event is of the kind that was asked for; its list lives until it was read.
            unsafe {
                let result = sys::rd_kafka_event_DeleteRecords_result(event);
                entries(sys::rd_kafka_DeleteRecords_result_offsets(result))
            }
        })
    }
}

/// What went wrong with the one topic that was asked for.
///
/// # Safety
/// `count` results stand at `list`, or it is null, and they are alive.
unsafe fn first_fault(
    doing: &'static str,
    list: *mut *const sys::rd_kafka_topic_result_t,
    count: usize,
) -> Option<Fault> {
    // SAFETY: see above.
    unsafe {
        let topic = pointers(list, count).first().copied()?;
        let code = Code(sys::rd_kafka_topic_result_error(topic));
        let text = copy(sys::rd_kafka_topic_result_error_string(topic));
        (!code.is_none()).then(|| Fault { text, ..Fault::new(doing, code) })
    }
}
