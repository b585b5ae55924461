//! Questions to the cluster: topics and their partitions, first and last offsets, offsets by time.
//!
//! Any client may ask. All calls block up to their timeout; none belongs on the way of a record.

use std::time::Duration;

use super::errors::{c_text, check, millis};
use super::handle::Handle;
use super::partitions::{List, PartitionOffset};
use super::sys;
use crate::kafka::faults::{Code, Fault, KafkaError};

/// The offsets that a partition has: from `low` up to, but not including, `high`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Watermarks {
    /// The first offset that is still there.
    pub low: i64,
    /// The offset of the next record (readers of committed records: of the first open transaction).
    pub high: i64,
}

impl Handle {
    /// Asks any broker for the cluster's metadata: whether one answers.
    pub(crate) fn ping(&self, wait: Duration) -> Result<(), KafkaError> {
        let mut metadata = std::ptr::null();
        // SAFETY: the handle is alive; a null topic asks for no topic that the client does not know.
        let code = unsafe {
            sys::rd_kafka_metadata(self.as_ptr(), 0, std::ptr::null_mut(), &raw mut metadata, millis(wait))
        };
        if code != 0 {
            return Err(Fault::new("reach the brokers", Code(code)).into());
        }
        // SAFETY: on success the metadata is ours to destroy, and it is not used any more.
        unsafe { sys::rd_kafka_metadata_destroy(metadata) };
        Ok(())
    }

    /// How many partitions a topic has; `NoTopic` where it does not exist.
    pub(crate) fn partition_count(&self, topic: &str, wait: Duration) -> Result<i32, KafkaError> {
        let doing = "read the topic's metadata";
        let name = c_text(topic);
        let mut metadata = std::ptr::null();
        // SAFETY: handle and name are alive; the topic object is given back in any case.
        let code = unsafe {
            let object = sys::rd_kafka_topic_new(self.as_ptr(), name.as_ptr(), std::ptr::null_mut());
            if object.is_null() {
                sys::rd_kafka_last_error()
            } else {
                let code = sys::rd_kafka_metadata(self.as_ptr(), 0, object, &raw mut metadata, millis(wait));
                sys::rd_kafka_topic_destroy(object);
                code
            }
        };
        if code != 0 {
            return Err(Fault::new(doing, Code(code)).at(topic, None, None).into());
        }
        // SAFETY: on success the metadata is ours to read and destroy; it has `topic_cnt` topics, here one.
        let (code, count) = unsafe {
            let found = if (*metadata).topic_cnt == 1 {
                let entry = (*metadata).topics;
                ((&raw const (*entry).err).cast::<i32>().read(), (*entry).partition_cnt)
            } else {
                (0, 0)
            };
            sys::rd_kafka_metadata_destroy(metadata);
            found
        };
        match (Code(code), count) {
            (Code::NONE, 1..) => Ok(count),
            (Code::NONE | Code::UNKNOWN_TOPIC, _) => Err(KafkaError::NoTopic { topic: topic.to_owned() }),
            (code, _) => Err(Fault::new(doing, code).at(topic, None, None).into()),
        }
    }

    /// The first and the last offset of a partition.
    pub(crate) fn watermarks(
        &self,
        topic: &str,
        partition: i32,
        wait: Duration,
    ) -> Result<Watermarks, KafkaError> {
        let name = c_text(topic);
        let (mut low, mut high) = (0, 0);
        // SAFETY: handle and name are alive, and both offsets are valid for the write.
        let code = unsafe {
            sys::rd_kafka_query_watermark_offsets(
                self.as_ptr(),
                name.as_ptr(),
                partition,
                &raw mut low,
                &raw mut high,
                millis(wait),
            )
        };
        if code == 0 {
            return Ok(Watermarks { low, high });
        }
        Err(Fault::new("read first and last offset", Code(code)).at(topic, Some(partition), None).into())
    }

    /// What the newest fetch said about a partition, without asking anyone; `None` before the first fetch.
    pub(crate) fn watermarks_seen(&self, topic: &str, partition: i32) -> Option<Watermarks> {
        let name = c_text(topic);
        let (mut low, mut high) = (-1, -1);
        // SAFETY: handle and name are alive, and both offsets are valid for the write.
        let code = unsafe {
            sys::rd_kafka_get_watermark_offsets(
                self.as_ptr(),
                name.as_ptr(),
                partition,
                &raw mut low,
                &raw mut high,
            )
        };
        // Only fetches bring `high`; librdkafka learns `low` by statistics, so it may be unknown for long.
        (code == 0 && high >= 0).then_some(Watermarks { low: low.max(0), high })
    }

    /// For each entry, whose `offset` is a time in milliseconds, the offset of the first record at or after it; -1
    /// where there is none. The times −2 and −1 stand for the first offset and for the end.
    pub(crate) fn offsets_for_times(
        &self,
        times: &[PartitionOffset],
        wait: Duration,
    ) -> Result<Vec<PartitionOffset>, KafkaError> {
        let doing = "look up offsets by time";
        if times.is_empty() {
            return Ok(Vec::new());
        }
        let list = List::new(times);
        // SAFETY: handle and list are alive.
        check(doing, unsafe { sys::rd_kafka_offsets_for_times(self.as_ptr(), list.as_ptr(), millis(wait)) })?;
        if let Some(fault) = list.first_fault(doing) {
            return Err(fault.into());
        }
        Ok(list.entries().into_iter().map(|(entry, _)| entry).collect())
    }
}
