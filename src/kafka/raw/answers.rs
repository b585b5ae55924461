//! What administration answers: rights, topics, the cluster, groups, settings; copied out of C.
//!
//! The questions are `questions.rs`.

use std::collections::BTreeMap;

use super::errors::copy;
use super::sys;
use crate::kafka::faults::{Code, Fault};

/// What a user may do with a topic, a group or the cluster; `None` where the broker did not say.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Rights(u32);

/// One right; the numbers are Kafka's.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u32)]
pub enum Right {
    /// Read records, or join the group.
    Read = 3,
    /// Write records.
    Write = 4,
    /// Make topics.
    Create = 5,
    /// Delete the topic, or records of it.
    Delete = 6,
    /// Change the topic: give it more partitions.
    Alter = 7,
    /// See that it exists.
    Describe = 8,
    /// See its settings.
    DescribeConfigs = 10,
}

impl Right {
    /// The name that Kafka's tools have for it.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Read => "Read",
            Self::Write => "Write",
            Self::Create => "Create",
            Self::Delete => "Delete",
            Self::Alter => "Alter",
            Self::Describe => "Describe",
            Self::DescribeConfigs => "DescribeConfigs",
        }
    }
}

impl Rights {
    /// Whether this one is among them.
    #[must_use]
    pub const fn has(self, right: Right) -> bool {
        self.0 & (1 << right as u32) != 0
    }

    /// # Safety
    /// `count` operations stand at `list`, or it is null.
    pub(super) unsafe fn read(list: *const sys::rd_kafka_AclOperation_t, count: usize) -> Option<Self> {
        if list.is_null() {
            return None;
        }
        // A newer broker may send an operation that the enum lacks, so they are read as numbers.
        // SAFETY: see above.
        let numbers = unsafe { std::slice::from_raw_parts(list.cast::<u32>(), count) };
        let known = numbers.iter().filter(|number| **number < u32::BITS);
        Some(Self(known.fold(0, |bits, number| bits | 1 << number)))
    }
}

/// A topic as an administrator sees it.
#[derive(Clone, Debug)]
pub struct TopicDescription {
    /// Its name.
    pub name: String,
    /// How many partitions it has.
    pub partitions: usize,
    /// The fewest copies that one of them has, and has in step.
    pub replicas: usize,
    /// The fewest copies in step.
    pub in_sync: usize,
    /// What this user may do with it.
    pub rights: Option<Rights>,
}

/// The cluster.
#[derive(Clone, Debug)]
pub struct ClusterDescription {
    /// Its id.
    pub id: String,
    /// Its brokers: number, host and port.
    pub brokers: Vec<(i32, String)>,
    /// What this user may do with it.
    pub rights: Option<Rights>,
}

/// A consumer group.
#[derive(Clone, Debug)]
pub struct GroupDescription {
    /// Who is in it now.
    pub members: Vec<GroupMember>,
    /// Whether all of them have their partitions, and nobody waits for others.
    pub is_stable: bool,
    /// What this user may do with it.
    pub rights: Option<Rights>,
}

/// A member of a consumer group.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct GroupMember {
    /// The name of its process; empty if it has none.
    pub instance: String,
    /// Topic and number of its partitions.
    pub partitions: Vec<(String, i32)>,
}

/// A topic to be made.
#[derive(Clone, Debug)]
pub struct NewTopic<'a> {
    /// Its name.
    pub name: &'a str,
    /// How many partitions it gets.
    pub partitions: i32,
    /// How many copies of each; `None` is the broker's default.
    pub replicas: Option<i32>,
    /// Its settings.
    pub settings: &'a [(&'a str, &'a str)],
}

/// The settings of a topic or broker by name.
pub type Settings = BTreeMap<String, String>;

/// # Safety
/// `count` pointers stand at `list`, or it is null, and they stay for `'a`.
pub(super) unsafe fn pointers<'a, T>(list: *mut *const T, count: usize) -> &'a [*const T] {
    if list.is_null() {
        return &[];
    }
    // SAFETY: see above.
    unsafe { std::slice::from_raw_parts(list, count) }
}

/// A fault out of an error that stays librdkafka's; `None` where it is none.
///
/// # Safety
/// `error` is null or alive.
pub(super) unsafe fn fault_of(doing: &'static str, error: *const sys::rd_kafka_error_t) -> Option<Fault> {
    if error.is_null() {
        return None;
    }
    // SAFETY: see above.
    let (code, text) =
        unsafe { (Code(sys::rd_kafka_error_code(error)), copy(sys::rd_kafka_error_string(error))) };
    (!code.is_none()).then(|| Fault { text, ..Fault::new(doing, code) })
}

/// # Safety
/// `event` is the answer to `DescribeConfigs`.
pub(super) unsafe fn read_settings(
    doing: &'static str,
    event: *mut sys::rd_kafka_event_t,
) -> Vec<(String, Result<Settings, Fault>)> {
    // SAFETY: lists have the lengths that are given with them, and live as long as the event.
    unsafe {
        let result = sys::rd_kafka_event_DescribeConfigs_result(event);
        let mut count = 0;
        let list = sys::rd_kafka_DescribeConfigs_result_resources(result, &raw mut count);
        let read = |resource: &*const sys::rd_kafka_ConfigResource_t| {
            let name = copy(sys::rd_kafka_ConfigResource_name(*resource));
            let code = Code(sys::rd_kafka_ConfigResource_error(*resource));
            if !code.is_none() {
                let text = copy(sys::rd_kafka_ConfigResource_error_string(*resource));
                let fault = Fault { text, ..Fault::new(doing, code) }.at(&name, None, None);
                return (name, Err(fault));
            }
            let mut count = 0;
            let list = sys::rd_kafka_ConfigResource_configs(*resource, &raw mut count);
            let pair = |entry: &*const sys::rd_kafka_ConfigEntry_t| {
                let value = copy(sys::rd_kafka_ConfigEntry_value(*entry));
                (copy(sys::rd_kafka_ConfigEntry_name(*entry)), value)
            };
            (name, Ok(pointers(list, count).iter().map(pair).collect()))
        };
        pointers(list, count).iter().map(read).collect()
    }
}

/// # Safety
/// `event` is the answer to `DescribeTopics`.
pub(super) unsafe fn read_topics(
    doing: &'static str,
    event: *mut sys::rd_kafka_event_t,
) -> Vec<(String, Result<TopicDescription, Fault>)> {
    // SAFETY: lists have the lengths that are given with them, and live as long as the event.
    unsafe {
        let result = sys::rd_kafka_event_DescribeTopics_result(event);
        let mut count = 0;
        let list = sys::rd_kafka_DescribeTopics_result_topics(result, &raw mut count);
        let read = |topic: &*const sys::rd_kafka_TopicDescription_t| {
            let name = copy(sys::rd_kafka_TopicDescription_name(*topic));
            if let Some(fault) = fault_of(doing, sys::rd_kafka_TopicDescription_error(*topic)) {
                let fault = fault.at(&name, None, None);
                return (name, Err(fault));
            }
            let (mut partitions, mut rights) = (0, 0);
            let list = sys::rd_kafka_TopicDescription_partitions(*topic, &raw mut partitions);
            let (mut replicas, mut in_sync) = (usize::MAX, usize::MAX);
            for partition in pointers(list, partitions) {
                let mut count = 0;
                sys::rd_kafka_TopicPartitionInfo_replicas(*partition, &raw mut count);
                replicas = replicas.min(count);
                sys::rd_kafka_TopicPartitionInfo_isr(*partition, &raw mut count);
                in_sync = in_sync.min(count);
            }
            let allowed = sys::rd_kafka_TopicDescription_authorized_operations(*topic, &raw mut rights);
            let rights = Rights::read(allowed, rights);
            (name.clone(), Ok(TopicDescription { name, partitions, replicas, in_sync, rights }))
        };
        pointers(list, count).iter().map(read).collect()
    }
}
