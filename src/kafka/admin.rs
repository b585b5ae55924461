//! Questions and changes that belong to nobody's stream: whether the brokers can be reached, what topics take, what this
//! user may do; topics made, records deleted.
//!
//! A client of its own, used before anything runs and now and then beside it. Nothing here reads or writes records.

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use super::faults::{Class, Fault, KafkaError};
use super::group::patiently;
use super::limits::TopicLimits;
use super::raw;
use super::raw::answers::{ClusterDescription, GroupDescription, NewTopic, Settings, TopicDescription};
use super::raw::conf::Conf;
use super::raw::context::Trouble;
use super::raw::partitions::PartitionOffset;
use super::settings::ClientSettings;

/// One attempt at reaching the brokers.
const ATTEMPT_WAIT: Duration = Duration::from_secs(1);

/// An administrator, with the rights of the configured user.
pub struct Admin {
    raw: raw::producer::Producer,
}

impl Admin {
    /// A client for administration; asks no broker yet.
    pub fn connect(client: &ClientSettings) -> Result<Self, KafkaError> {
        Self::with(client, &[])
    }

    /// The same, and it listens which requests the brokers know; see [`Admin::requests`].
    pub fn connect_curious(client: &ClientSettings) -> Result<Self, KafkaError> {
        Self::with(client, &[("debug", "feature")])
    }

    fn with(client: &ClientSettings, extra: &[(&str, &str)]) -> Result<Self, KafkaError> {
        let mut conf = Conf::new();
        client.apply(&mut conf)?;
        for (key, value) in extra {
            conf.set(key, value)?;
        }
        Ok(Self { raw: raw::producer::Producer::new(conf, client.tokens.clone())? })
    }

    /// Waits until the brokers answer. A wrong certificate or password is said at once, with what to look at.
    /// Ends early when `is_asked_to_stop`.
    pub fn reach(&mut self, wait: Duration, is_asked_to_stop: impl Fn() -> bool) -> Result<(), KafkaError> {
        let deadline = Instant::now() + wait;
        loop {
            if is_asked_to_stop() {
                return Err(KafkaError::Closed);
            }
            let left = deadline.saturating_duration_since(Instant::now());
            let Err(error) = self.raw.handle()?.ping(left.min(ATTEMPT_WAIT)) else { return Ok(()) };
            self.raw.poll(Duration::ZERO, &mut Vec::new())?;
            let trouble = self.raw.handle()?.context().trouble();
            let hopeless = trouble.as_ref().is_some_and(|trouble| trouble.code.class() == Class::Stop);
            if hopeless || left.is_zero() || !error.is_retriable() {
                return Err(trouble.map_or(error, |trouble| unreachable(&trouble)));
            }
        }
    }

    /// The cluster, with what this user may do with it.
    pub fn cluster(&self, wait: Duration) -> Result<ClusterDescription, KafkaError> {
        self.raw.handle()?.describe_cluster(wait)
    }

    /// The requests that the brokers know, with their lowest and highest version.
    pub fn requests(&self) -> Result<BTreeMap<String, (i16, i16)>, KafkaError> {
        Ok(self.raw.handle()?.context().requests())
    }

    /// What these topics take, in their order; one that does not exist is an error.
    pub fn limits(&self, topics: &[&str], wait: Duration) -> Result<Vec<TopicLimits>, KafkaError> {
        TopicLimits::look_up(self.raw.handle()?, topics, wait)
    }

    /// Topics with what this user may do with them.
    pub fn topics(
        &self,
        topics: &[&str],
        wait: Duration,
    ) -> Result<Vec<Result<TopicDescription, Fault>>, KafkaError> {
        self.raw.handle()?.describe_topics(topics, wait)
    }

    /// The settings of topics.
    pub fn topic_settings(
        &self,
        topics: &[&str],
        wait: Duration,
    ) -> Result<Vec<Result<Settings, Fault>>, KafkaError> {
        self.raw.handle()?.topic_settings(topics, wait)
    }

    /// The settings of a broker.
    pub fn broker_settings(&self, broker: i32, wait: Duration) -> Result<Settings, KafkaError> {
        self.raw.handle()?.broker_settings(broker, wait)
    }

    /// A consumer group with what this user may do with it.
    pub fn group(&mut self, group: &str, wait: Duration) -> Result<GroupDescription, KafkaError> {
        self.hear()?;
        let handle = self.raw.handle()?;
        // A group's coordinator may have to be found first.
        patiently(Instant::now() + wait, |wait| handle.describe_group(group, wait))
    }

    /// Makes a topic.
    pub fn create_topic(&self, topic: &NewTopic<'_>, wait: Duration) -> Result<(), KafkaError> {
        self.raw.handle()?.create_topic(topic, false, wait)
    }

    /// Asks whether a topic could be made, and makes none.
    pub fn could_create(&self, topic: &NewTopic<'_>, wait: Duration) -> Result<(), KafkaError> {
        self.raw.handle()?.create_topic(topic, true, wait)
    }

    /// Gives a topic so many partitions in all.
    pub fn add_partitions(&self, topic: &str, partitions: usize, wait: Duration) -> Result<(), KafkaError> {
        self.raw.handle()?.add_partitions(topic, partitions, wait)
    }

    /// Deletes the records of each partition below its offset.
    pub fn delete_records(&mut self, below: &[PartitionOffset], wait: Duration) -> Result<(), KafkaError> {
        self.hear()?;
        let outcomes = self.raw.handle()?.delete_records(below, wait)?;
        match outcomes.into_iter().find(|(_, code)| !code.is_none()) {
            Some((at, code)) => {
                let fault = Fault::new("delete records", code);
                Err(fault.at(&at.topic, Some(at.partition), Some(at.offset)).into())
            }
            None => Ok(()),
        }
    }

    /// Hears what the client has to say of itself, which would pile up over months.
    fn hear(&mut self) -> Result<(), KafkaError> {
        self.raw.poll(Duration::ZERO, &mut Vec::new())
    }
}

/// What the client said last while it could not connect, with the keys to look at.
fn unreachable(trouble: &Trouble) -> KafkaError {
    let look_at = match trouble.code.name().as_str() {
        "_SSL" => "; look at `kafka.ssl_ca_file`, `ssl_certificate_file` and `ssl_key_file`",
        "_AUTHENTICATION" => {
            "; look at `kafka.sasl_mechanism`, `sasl_username` and the password, or the token"
        }
        _ => "; look at `kafka.brokers` and `kafka.security_protocol`",
    };
    let fault = Fault::new("reach the brokers", trouble.code);
    Fault { text: format!("{}{look_at}", trouble.text), ..fault }.into()
}
