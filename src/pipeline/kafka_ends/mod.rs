//! Kafka at both ends of the pipeline, at least once.
//!
//! The source reads in a consumer group; the sink produces to the accepted and rejected topics and commits offsets up
//! to a contiguous watermark per partition, never automatically. Both share the `progress` of each partition, by
//! which a revoked partition is drained and committed before it is given away. The consumer outlives both, since it
//! cannot end while one of its messages is held: [`Connection`] closes it last.

mod progress;
mod sink;
mod source;

use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use crate::config::{Config, SecurityProtocol};
use crate::judge::Rules;
use crate::kafka::{ClientSettings, Consumer, ConsumerSettings, KafkaError, Producer, ProducerSettings};
pub use progress::Flight;
use progress::Progress;
pub use sink::KafkaSink;
pub use source::KafkaSource;

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
}

impl Connection {
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

/// Connects: looks the topics up, subscribes, and makes the producer.
pub fn connect(
    config: &Config,
    rules: &Rules,
) -> Result<(KafkaSource, KafkaSink, Connection), anyhow::Error> {
    let kafka = &config.kafka;
    let producer =
        Producer::new(ProducerSettings { client: client(config)?, ..ProducerSettings::default() })?;
    let outputs = sink::Outputs::look_up(kafka, producer, LOOK_UP_WAIT)?;

    let progress = Arc::new(Progress::default());
    let topics: Vec<_> = kafka.topics.iter().map(String::as_str).collect();
    let mut settings = ConsumerSettings::new(&kafka.brokers, &kafka.group, &topics);
    settings.client = client(config)?;
    settings
        .client
        .pass_through
        .insert(0, ("session.timeout.ms".into(), kafka.session_timeout_ms.to_string()));
    settings.start = kafka.start;
    let deadline = Duration::from_millis(u64::from(kafka.revoke_deadline_ms));
    let listener = progress::DrainOnRevoke { progress: Arc::clone(&progress), deadline };
    let consumer = Consumer::subscribe(settings, Box::new(listener))?;
    progress.set_committer(consumer.committer());

    let interval = Duration::from_millis(u64::from(kafka.commit_interval_ms));
    let sink = KafkaSink::new(outputs, Arc::clone(&progress), interval);
    let consumer = Arc::new(Mutex::new(Some(consumer)));
    let source = KafkaSource::new(Arc::clone(&consumer), progress, config, rules);
    Ok((source, sink, Connection { consumer }))
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
