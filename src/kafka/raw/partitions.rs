//! Lists of topic partitions with offset and metadata text, to and from C.
//!
//! Entries are copied to [`PartitionOffset`] and back; lists are short, and nothing of C escapes.

use std::ptr::NonNull;

use super::errors::{c_text, copy};
use super::sys;
use crate::kafka::faults::{Code, Fault};

/// A partition with an offset and what belongs to it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PartitionOffset {
    /// The topic.
    pub topic: String,
    /// The partition.
    pub partition: i32,
    /// The offset: for a commit, of the next record to read.
    pub offset: i64,
    /// The text that is committed with the offset.
    pub metadata: String,
}

impl PartitionOffset {
    /// Without metadata.
    #[must_use]
    pub fn new(topic: &str, partition: i32, offset: i64) -> Self {
        Self { topic: topic.to_owned(), partition, offset, metadata: String::new() }
    }
}

/// A list that we own.
pub(crate) struct List(NonNull<sys::rd_kafka_topic_partition_list_t>);

impl List {
    pub(crate) fn new<'a>(entries: impl IntoIterator<Item = &'a PartitionOffset>) -> Self {
        let mut list = Self::empty();
        for entry in entries {
            list.add(entry);
        }
        list
    }

    /// Topics to subscribe to.
    pub(crate) fn of_topics(topics: &[String]) -> Self {
        let mut list = Self::empty();
        for topic in topics {
            list.add(&PartitionOffset::new(topic, -1, i64::from(sys::RD_KAFKA_OFFSET_INVALID)));
        }
        list
    }

    fn empty() -> Self {
        // SAFETY: returns a new list (librdkafka aborts when memory runs out).
        let list = unsafe { sys::rd_kafka_topic_partition_list_new(8) };
        Self(NonNull::new(list).unwrap_or_else(|| unreachable!("librdkafka never returns a null list")))
    }

    fn add(&mut self, entry: &PartitionOffset) {
        let topic = c_text(&entry.topic);
        // SAFETY: the list is ours and the topic is copied. The entry that comes back is valid until the next `add`.
        // Its metadata belongs to the list, which frees it with C's allocator, hence the copy made by librdkafka's.
        unsafe {
            let added =
                sys::rd_kafka_topic_partition_list_add(self.0.as_ptr(), topic.as_ptr(), entry.partition);
            (*added).offset = entry.offset;
            if !entry.metadata.is_empty() {
                let bytes = entry.metadata.as_bytes();
                let copy = sys::rd_kafka_mem_malloc(std::ptr::null_mut(), bytes.len());
                std::ptr::copy_nonoverlapping(bytes.as_ptr(), copy.cast::<u8>(), bytes.len());
                (*added).metadata = copy;
                (*added).metadata_size = bytes.len();
            }
        }
    }

    pub(crate) fn as_ptr(&self) -> *mut sys::rd_kafka_topic_partition_list_t {
        self.0.as_ptr()
    }

    /// All entries, each with its own error code.
    pub(crate) fn entries(&self) -> Vec<(PartitionOffset, Code)> {
        // SAFETY: the list is ours and alive.
        unsafe { entries(self.0.as_ptr()) }
    }

    /// The first entry with an error, as a fault.
    pub(crate) fn first_fault(&self, doing: &'static str) -> Option<Fault> {
        let failed = self.entries().into_iter().find(|(_, code)| !code.is_none())?;
        let (at, code) = failed;
        Some(Fault::new(doing, code).at(&at.topic, Some(at.partition), Some(at.offset)))
    }
}

impl Drop for List {
    fn drop(&mut self) {
        // SAFETY: ours alone; frees entries, topics and metadata.
        unsafe { sys::rd_kafka_topic_partition_list_destroy(self.0.as_ptr()) }
    }
}

/// Copies the entries of a list.
///
/// # Safety
/// `list` is null or a valid list, and nobody changes it meanwhile.
pub(crate) unsafe fn entries(
    list: *const sys::rd_kafka_topic_partition_list_t,
) -> Vec<(PartitionOffset, Code)> {
    if list.is_null() {
        return Vec::new();
    }
    // SAFETY: `cnt` entries stand at `elems`. The code is read as an integer, since it may be none of the enum's.
    unsafe {
        let count = usize::try_from((*list).cnt).unwrap_or(0);
        (0..count)
            .map(|index| {
                let entry = (*list).elems.add(index);
                let metadata = if (*entry).metadata.is_null() {
                    String::new()
                } else {
                    let bytes =
                        std::slice::from_raw_parts((*entry).metadata.cast::<u8>(), (*entry).metadata_size);
                    String::from_utf8_lossy(bytes).into_owned()
                };
                let code = (&raw const (*entry).err).cast::<i32>().read();
                let topic = copy((*entry).topic);
                let (partition, offset) = ((*entry).partition, (*entry).offset);
                (PartitionOffset { topic, partition, offset, metadata }, Code(code))
            })
            .collect()
    }
}
