//! Kafka at both ends of the pipeline.
//!
//! The source reads in a consumer group. The sink writes accepted and rejected records and the journal, either in
//! transactions together with the offsets ([`exactly_once`]) or with offsets that follow what was acknowledged
//! ([`at_least_once`]). Both ends share the [`progress`] of each partition. A partition's state is restored from the
//! journal before its first record is read, and what is in flight ends before a partition is given away
//! ([`rebalance`]). The consumer outlives both ends, since it cannot end while one of its messages is held:
//! [`Connection`] closes it last.

mod at_least_once;
mod exactly_once;
mod keeper;
mod outputs;
mod pace;
mod progress;
mod rebalance;
mod sink;
mod source;
mod suspects;
mod vitals;
mod watchdog;

use std::sync::{Arc, Mutex, OnceLock, PoisonError};
use std::time::Duration;

use crate::config::{Config, DeliveryChoice, SecurityProtocol};
use crate::judge::Rules;
use crate::kafka::journal::JournalTopics;
use crate::kafka::{ClientSettings, Consumer, ConsumerSettings, KafkaError, Producer, ProducerSettings};
use crate::status::Status;
use at_least_once::AtLeastOnce;
use exactly_once::ExactlyOnce;
use outputs::Outputs;
use pace::Pace;
pub use progress::Flight;
use progress::Progress;
use rebalance::{OnRebalance, Restorer};
pub use sink::KafkaSink;
use sink::Mode;
pub use source::KafkaSource;
pub use vitals::Vitals;

/// How long look-ups at the start may take.
const LOOK_UP_WAIT: Duration = Duration::from_secs(30);
/// How long the consumer may take to leave its group.
const CLOSE_WAIT: Duration = Duration::from_secs(10);

/// Settings of Kafka that cannot work.
#[derive(Debug, thiserror::Error)]
pub enum KafkaSettingsError {
    /// A key that has to be set.
    #[error("`{key}` is not set; Tollgate needs {needs}")]
    Missing {
        /// The key.
        key: &'static str,
        /// What it is for.
        needs: &'static str,
    },
    /// A secret file that cannot be read.
    #[error("`kafka.sasl_password_file`: {file}: {message}")]
    Secret {
        /// The file.
        file: String,
        /// The system's words.
        message: String,
    },
}

/// The consumer, shared by the source that reads and the connection that closes.
type SharedConsumer = Arc<Mutex<Option<Consumer>>>;

/// The connection to the brokers; closed when everything else has ended.
pub struct Connection {
    consumer: SharedConsumer,
    vitals: Arc<Vitals>,
}

impl Connection {
    /// Counters of the run.
    #[must_use]
    pub fn vitals(&self) -> Arc<Vitals> {
        Arc::clone(&self.vitals)
    }

    /// Leaves the group and closes the consumer; every message must have been released.
    pub fn close(self) -> Result<(), KafkaError> {
        let consumer = self.consumer.lock().unwrap_or_else(PoisonError::into_inner).take();
        consumer.map_or(Ok(()), |consumer| consumer.close(CLOSE_WAIT))
    }
}

/// Checks that the configuration can work, without asking a broker.
pub fn check(config: &Config) -> Result<(), KafkaSettingsError> {
    let kafka = &config.kafka;
    let missing = |key, needs| Err(KafkaSettingsError::Missing { key, needs });
    if kafka.brokers.is_empty() {
        return missing("kafka.brokers", "the bootstrap servers, or paths of files on the command line");
    }
    if kafka.topics.is_empty() {
        return missing("kafka.topics", "at least one input topic");
    }
    pass_through(config).map(|_| ())
}

/// Connects: looks the topics up, makes the producer, and subscribes.
pub fn connect(
    config: &Config,
    rules: &Rules,
    status: &Arc<Status>,
) -> Result<(KafkaSource, KafkaSink, Connection), anyhow::Error> {
    let kafka = &config.kafka;
    let shared = Arc::new(config.clone());
    let instance = instance(config)?;
    let is_transactional = kafka.delivery == DeliveryChoice::ExactlyOnce;
    let journals = JournalTopics::connect(&client(config)?)?;
    let make = producers(&shared, is_transactional.then(|| format!("tollgate-{}-{instance}", kafka.group)));
    let outputs = Outputs::look_up(kafka, make, &journals, LOOK_UP_WAIT)?;

    let progress = Arc::new(Progress::telling(status));
    let pace = Pace::new(millis(kafka.latency_goal_ms), u64::from(kafka.transaction_records_max));
    // The transactional id is registered before the group is joined: what an earlier process left open ends first.
    let mode = if is_transactional {
        let sink = ExactlyOnce::begin(outputs, Arc::clone(&progress), pace, instance.clone(), LOOK_UP_WAIT)?;
        Mode::ExactlyOnce(Box::new(sink))
    } else {
        let every = millis(kafka.commit_interval_ms);
        Mode::AtLeastOnce(Box::new(AtLeastOnce::new(outputs, Arc::clone(&progress), every)))
    };
    let gate = Arc::new(OnceLock::new());
    let restorer = Restorer { config: Arc::clone(&shared), progress: Arc::clone(&progress), gate };
    let listener = OnRebalance {
        progress: Arc::clone(&progress),
        deadline: millis(kafka.revoke_deadline_ms),
        is_transactional,
        restorer: restorer.clone(),
    };
    let settings = ConsumerSettings { instance: Some(instance), ..consumer_settings(config)? };
    let consumer = Consumer::subscribe(settings, Box::new(listener))?;
    progress.set_committer(consumer.committer());
    let cluster = consumer.cluster();
    status.set_end_of(Box::new(move |topic, partition, wait| match wait {
        Some(wait) => cluster.watermarks(topic, partition, wait).ok().map(|marks| marks.high),
        None => cluster.watermarks_seen(topic, partition).map(|marks| marks.high),
    }));
    if restorer.is_on() {
        let names = kafka.topics.iter().map(|topic| kafka.journal_topic(topic)).collect();
        keeper::start(journals, &progress, names);
    }
    let (consumer, vitals) = (Arc::new(Mutex::new(Some(consumer))), Arc::clone(&progress.vitals));
    let source = KafkaSource::new(Arc::clone(&consumer), restorer, config, rules);
    Ok((source, KafkaSink(mode), Connection { consumer, vitals }))
}

fn millis(ms: u32) -> Duration {
    Duration::from_millis(u64::from(ms))
}

/// Makes producers, one after the other, all with the same name.
fn producers(config: &Arc<Config>, transactional_id: Option<String>) -> outputs::Make {
    let config = Arc::clone(config);
    Box::new(move || {
        let client = client(&config)
            .map_err(|error| KafkaError::Create { kind: "producer", text: error.to_string() })?;
        Producer::new(ProducerSettings { client, transactional_id: transactional_id.clone() })
    })
}

/// A consumer of the input topics; not a named member yet.
fn consumer_settings(config: &Config) -> Result<ConsumerSettings, KafkaSettingsError> {
    let kafka = &config.kafka;
    let topics: Vec<_> = kafka.topics.iter().map(String::as_str).collect();
    let mut settings = ConsumerSettings::new(&kafka.brokers, &kafka.group, &topics);
    settings.client = client(config)?;
    let session = ("session.timeout.ms".into(), kafka.session_timeout_ms.to_string());
    settings.client.pass_through.insert(0, session);
    settings.start = kafka.start;
    Ok(settings)
}

/// The name of this process in the group.
fn instance(config: &Config) -> Result<String, KafkaSettingsError> {
    if !config.kafka.instance.is_empty() {
        return Ok(config.kafka.instance.clone());
    }
    let known = ["/proc/sys/kernel/hostname", "/etc/hostname"].into_iter().find_map(|file| {
        let name = std::fs::read_to_string(file).ok()?;
        Some(name.trim().to_owned()).filter(|name| !name.is_empty())
    });
    known.or_else(|| std::env::var("HOSTNAME").ok()).ok_or(KafkaSettingsError::Missing {
        key: "kafka.instance",
        needs: "a name for this process, since the host has none",
    })
}

fn client(config: &Config) -> Result<ClientSettings, KafkaSettingsError> {
    let mut client = ClientSettings::default();
    client.brokers.clone_from(&config.kafka.brokers);
    client.client_id.push_str("tollgate");
    client.pass_through = pass_through(config)?;
    Ok(client)
}

/// The keys of librdkafka: security from our own keys, then what the user passes through.
fn pass_through(config: &Config) -> Result<Vec<(String, String)>, KafkaSettingsError> {
    let kafka = &config.kafka;
    let mut pairs = vec![("security.protocol".to_owned(), kafka.security_protocol.name().to_owned())];
    let mut set = |key: &str, value: &str| {
        if !value.is_empty() {
            pairs.push((key.to_owned(), value.to_owned()));
        }
    };
    set("ssl.ca.location", &kafka.ssl_ca_file);
    set("ssl.certificate.location", &kafka.ssl_certificate_file);
    set("ssl.key.location", &kafka.ssl_key_file);
    set("ssl.key.password", kafka.ssl_key_password.reveal());
    if matches!(kafka.security_protocol, SecurityProtocol::SaslPlaintext | SecurityProtocol::SaslSsl) {
        set("sasl.mechanism", kafka.sasl_mechanism.name());
        set("sasl.username", &kafka.sasl_username);
        set("sasl.password", kafka.sasl_password.reveal());
        if !kafka.sasl_password_file.is_empty() {
            let file = &kafka.sasl_password_file;
            let password = std::fs::read_to_string(file).map_err(|error| KafkaSettingsError::Secret {
                file: file.clone(),
                message: error.to_string(),
            })?;
            set("sasl.password", password.trim_end_matches(['\r', '\n']));
        }
    }
    for (key, value) in &config.librdkafka {
        pairs.push((key.clone(), value.clone()));
    }
    Ok(pairs)
}
