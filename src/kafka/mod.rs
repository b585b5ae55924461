//! Kafka: reading batches in a consumer group, and writing the very same memory to other topics.
//!
//! Our own thin client over librdkafka, because what Tollgate needs can't be had together elsewhere: batches, sending on
//! without a copy, exact accounts of the messages held, and positions that are ours. Read [`consumer`], then [`producer`];
//! [`faults`] says what can go wrong and what to do about it. Nothing outside this folder names librdkafka's crate,
//! and nothing outside `raw/` is unsafe.
//!
//! Stop in this order: drain and commit, close the producer, close the consumer. A consumer can't end while a message
//! of it is held, and the producer holds messages until their delivery reports.

mod classes;
pub mod committer;
pub mod consumer;
pub mod faults;
pub mod group;
pub mod journal;
mod positions;
pub mod producer;
mod raw;
pub mod settings;
mod start;

#[cfg(test)]
mod tests;

pub use committer::{Cluster, Committer};
pub use consumer::Consumer;
pub use faults::{Class, Code, Fault, KafkaError, Place};
pub use group::Listener;
pub use positions::{Owned, PartitionBatch, TopicIndex};
pub use producer::Producer;
pub use raw::cluster::Watermarks;
pub use raw::context::{Token, TokenSource};
pub use raw::in_flight::Delivery;
pub use raw::message::{Message, RecordTime};
pub use raw::partitions::PartitionOffset;
pub use raw::producer::{Record, TopicHandle};
pub use raw::transactions::GroupMetadata;
pub use settings::{ClientSettings, ConsumerSettings, ProducerSettings};
