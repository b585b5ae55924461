//! Kafka: reading batches in a consumer group, and writing the very same memory to other topics.
//!
//! Our own thin client over librdkafka, because what Tollgate needs can't be had together elsewhere: batches, sending on
//! without a copy, exact accounts of the messages held, and positions that are ours. Read [`consumer`], then [`producer`];
//! [`faults`] says what can go wrong and what to do about it. Nothing outside this folder names librdkafka's crate,
//! and nothing outside `raw/` is unsafe.
//!
//! Stop in this order: drain and commit, close the producer, close the consumer. A consumer can't end while a message
//! of it is held, and the producer holds messages until their delivery reports.

pub mod admin;
mod bounds;
mod classes;
pub mod committer;
pub mod consumer;
pub mod ends;
pub mod faults;
pub mod group;
pub mod journal;
pub mod limits;
mod positions;
pub mod probe;
pub mod producer;
pub mod range;
pub mod range_reader;
mod raw;
mod scout;
pub mod security;
pub mod settings;
mod tokens;
mod turns;

#[cfg(test)]
mod tests;

pub use admin::Admin;
pub use committer::{Cluster, Committer};
pub use consumer::Consumer;
pub use ends::Ends;
pub use faults::{Class, Code, Fault, KafkaError, Place};
pub use group::Listener;
pub use limits::{Measure, Refusal, Times, TopicLimits};
pub use positions::{Owned, PartitionBatch, TopicIndex};
pub use producer::Producer;
pub use range::{NoRange, Range};
pub use range_reader::{RangeReader, Stretch};
pub use raw::answers::{
    ClusterDescription, GroupDescription, GroupMember, NewTopic, Right, Rights, Settings, TopicDescription,
};
pub use raw::cluster::Watermarks;
pub use raw::context::{Token, TokenSource};
pub use raw::in_flight::Delivery;
pub use raw::message::{Message, RecordTime};
pub use raw::partitions::PartitionOffset;
pub use raw::producer::{Record, TopicHandle};
pub use raw::transactions::GroupMetadata;
pub use security::KafkaSettingsError;
pub use settings::{ClientSettings, ConsumerSettings, ProducerSettings};

/// The version of the client library, for reports.
#[must_use]
pub fn client_version() -> String {
    rdkafka::util::get_rdkafka_version().1
}
