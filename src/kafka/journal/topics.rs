//! The journal's topics: made where they are missing, grown with their input, cut below what is needed.
//!
//! A client of its own, off the way of records. Nothing here deletes a topic or shortens one past the floor that is
//! committed.

use std::time::Duration;

use crate::kafka::admin::Admin;
use crate::kafka::faults::{Code, KafkaError};
use crate::kafka::raw::answers::NewTopic;
use crate::kafka::raw::partitions::PartitionOffset;
use crate::kafka::settings::ClientSettings;

/// How long one request may take.
const WAIT: Duration = Duration::from_secs(30);
/// What a journal is made with: nothing of it expires by itself. Dead records go when whole segments are dead, so segments
/// are small.
pub(in crate::kafka) const SETTINGS: &[(&str, &str)] = &[
    ("cleanup.policy", "delete"),
    ("retention.ms", "-1"),
    ("retention.bytes", "-1"),
    ("segment.bytes", "67108864"),
];

/// Makes and trims journals.
pub struct JournalTopics {
    admin: Admin,
}

impl JournalTopics {
    /// With the rights of the configured user.
    pub fn connect(client: &ClientSettings) -> Result<Self, KafkaError> {
        Ok(Self { admin: Admin::connect(client)? })
    }

    /// Makes a journal with so many partitions, kept until we delete it ourselves.
    pub fn create(&self, journal: &str, partitions: i32) -> Result<(), KafkaError> {
        let topic = NewTopic { name: journal, partitions, replicas: None, settings: SETTINGS };
        // Another process of the group may have been faster.
        unless(Code::TOPIC_EXISTS, self.admin.create_topic(&topic, WAIT))
    }

    /// Gives a journal as many partitions as its input has.
    pub fn grow(&self, journal: &str, partitions: i32) -> Result<(), KafkaError> {
        let count = usize::try_from(partitions).unwrap_or_default();
        unless(Code::INVALID_PARTITIONS, self.admin.add_partitions(journal, count, WAIT))
    }

    /// Deletes what lies below these offsets.
    pub fn delete_below(&mut self, floors: &[PartitionOffset]) -> Result<(), KafkaError> {
        self.admin.delete_records(floors, WAIT)
    }
}

/// An error with this code says that it is done already.
fn unless(fine: Code, outcome: Result<(), KafkaError>) -> Result<(), KafkaError> {
    match outcome {
        Err(KafkaError::Fault(fault)) if fault.code == fine => Ok(()),
        outcome => outcome,
    }
}
