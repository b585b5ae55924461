//! The journal's topics: made where they are missing, grown with their input, cut below what is needed.
//!
//! By the admin client of rust-rdkafka, off the way of records. Nothing here deletes a topic or shortens one past the
//! floor that is committed.

use std::time::Duration;

use rdkafka::admin::{AdminClient, AdminOptions, NewPartitions, NewTopic, TopicReplication, TopicResult};
use rdkafka::client::DefaultClientContext;
use rdkafka::config::ClientConfig;
use rdkafka::types::RDKafkaErrorCode;
use rdkafka::{Offset, TopicPartitionList};

use crate::kafka::faults::{Code, Fault, KafkaError};
use crate::kafka::raw::partitions::PartitionOffset;
use crate::kafka::settings::ClientSettings;

/// How long one request may take.
const WAIT: Duration = Duration::from_secs(30);
/// How often the outcome of a request is looked for.
const LOOK_EVERY: Duration = Duration::from_millis(5);
/// Dead records go when whole segments are dead, so segments are small.
const SEGMENT_BYTES: &str = "67108864";

/// Makes and trims journals.
pub struct JournalTopics {
    admin: AdminClient<DefaultClientContext>,
}

impl JournalTopics {
    /// A client of its own.
    pub fn connect(client: &ClientSettings) -> Result<Self, KafkaError> {
        let mut config = ClientConfig::new();
        config.set("bootstrap.servers", &client.brokers).set("client.id", &client.client_id);
        for (key, value) in &client.pass_through {
            config.set(key, value);
        }
        let admin = config.create().map_err(|error: rdkafka::error::KafkaError| KafkaError::Create {
            kind: "admin client",
            text: error.to_string(),
        })?;
        Ok(Self { admin })
    }

    /// Makes a journal with so many partitions, kept until we delete it ourselves.
    pub fn create(&self, journal: &str, partitions: i32) -> Result<(), KafkaError> {
        let topic = NewTopic::new(journal, partitions, TopicReplication::Fixed(-1))
            .set("cleanup.policy", "delete")
            .set("retention.ms", "-1")
            .set("retention.bytes", "-1")
            .set("segment.bytes", SEGMENT_BYTES);
        let made = wait_for(self.admin.create_topics([&topic], &options()));
        outcome("create the journal", journal, made, RDKafkaErrorCode::TopicAlreadyExists)
    }

    /// Gives a journal as many partitions as its input has.
    pub fn grow(&self, journal: &str, partitions: i32) -> Result<(), KafkaError> {
        let count = usize::try_from(partitions).unwrap_or_default();
        let grown = wait_for(self.admin.create_partitions([&NewPartitions::new(journal, count)], &options()));
        outcome("add partitions to the journal", journal, grown, RDKafkaErrorCode::InvalidPartitions)
    }

    /// Deletes what lies below these offsets.
    pub fn delete_below(&self, floors: &[PartitionOffset]) -> Result<(), KafkaError> {
        let doing = "delete the dead part of the journal";
        let mut list = TopicPartitionList::new();
        for floor in floors {
            // An offset that is not negative is always taken.
            let _ = list.add_partition_offset(&floor.topic, floor.partition, Offset::Offset(floor.offset));
        }
        let deleted = wait_for(self.admin.delete_records(&list, &options()));
        let deleted = deleted.map_err(|error| fault(doing, "journal", &error))?;
        let failed = deleted.elements().into_iter().find_map(|at| {
            let error = at.error().err()?;
            Some(fault(doing, at.topic(), &error))
        });
        failed.map_or(Ok(()), |fault| Err(fault.into()))
    }
}

fn options() -> AdminOptions {
    AdminOptions::new().request_timeout(Some(WAIT)).operation_timeout(Some(WAIT))
}

fn outcome(
    doing: &'static str,
    topic: &str,
    answers: Result<Vec<TopicResult>, rdkafka::error::KafkaError>,
    is_fine: RDKafkaErrorCode,
) -> Result<(), KafkaError> {
    let answers = answers.map_err(|error| fault(doing, topic, &error))?;
    for answer in answers {
        if let Err((name, code)) = answer
            && code != is_fine
        {
            return Err(Fault::new(doing, Code(code as i32)).at(&name, None, None).into());
        }
    }
    Ok(())
}

fn fault(doing: &'static str, topic: &str, error: &rdkafka::error::KafkaError) -> Fault {
    let code = error.rdkafka_error_code().map_or(Code::TIMED_OUT, |code| Code(code as i32));
    Fault { text: error.to_string(), ..Fault::new(doing, code) }.at(topic, None, None)
}

/// Waits for what a thread of librdkafka completes.
fn wait_for<F: Future>(future: F) -> F::Output {
    let mut future = std::pin::pin!(future);
    let mut context = std::task::Context::from_waker(std::task::Waker::noop());
    loop {
        if let std::task::Poll::Ready(output) = future.as_mut().poll(&mut context) {
            return output;
        }
        std::thread::sleep(LOOK_EVERY);
    }
}
