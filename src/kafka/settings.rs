//! The settings of a client, and which of librdkafka's keys belong to Tollgate.
//!
//! Users may pass any key of librdkafka through, except those that decide about correctness: these are refused with a
//! reason, never overridden silently. Defaults and their reasons stand in `config/client_defaults.rs`.

use std::time::Duration;

use super::faults::KafkaError;
use super::raw::conf::{Conf, shown};
use super::raw::context::TokenSource;
use crate::config::{self, Bound, CLIENT_DEFAULTS, ClientKind};

/// Statistics cost time with every partition, so they come at most this often.
const STATISTICS_MS_MIN: u32 = 10_000;

/// What every client needs.
#[derive(Default)]
pub struct ClientSettings {
    /// Brokers to ask first, as `host:port,host:port`.
    pub brokers: String,
    /// The name in the brokers' logs.
    pub client_id: String,
    /// Keys of librdkafka passed through, in order; the last of a key wins.
    pub pass_through: Vec<(String, String)>,
    /// How often librdkafka makes statistics; off by default, at least every 10 s.
    pub statistics_ms: Option<u32>,
    /// Tokens for SASL/OAUTHBEARER.
    pub tokens: Option<TokenSource>,
    /// Keys that users can't set, for tests that provoke trouble.
    #[cfg(test)]
    pub(super) forced: Vec<(String, String)>,
}

/// What a consumer needs.
pub struct ConsumerSettings {
    /// Brokers and pass-through.
    pub client: ClientSettings,
    /// The consumer group.
    pub group: String,
    /// A name for static membership, unique in the group.
    pub instance: Option<String>,
    /// Topics to subscribe to.
    pub topics: Vec<String>,
    /// How long the broker waits before it gives a silent member's partitions away.
    pub session_timeout: Duration,
    /// Where to start in a partition without a committed offset.
    pub start: Bound,
    /// How long a newly assigned partition may take to learn its offset before the consumer counts as failed.
    pub assign_wait: Duration,
}

impl ConsumerSettings {
    /// With defaults for what is not an argument.
    #[must_use]
    pub fn new(brokers: &str, group: &str, topics: &[&str]) -> Self {
        Self {
            client: ClientSettings { brokers: brokers.to_owned(), ..ClientSettings::default() },
            group: group.to_owned(),
            instance: None,
            topics: topics.iter().map(|topic| (*topic).to_owned()).collect(),
            session_timeout: Duration::from_secs(10),
            start: Bound::Stored,
            assign_wait: Duration::from_secs(30),
        }
    }

    pub(super) fn conf(&self) -> Result<Conf, KafkaError> {
        let mut conf = Conf::new();
        let session_ms = self.session_timeout.as_millis().to_string();
        apply_defaults(&mut conf, ClientKind::Consumer)?;
        // A member that is gone is noticed soon; static membership bridges quick restarts.
        conf.set("session.timeout.ms", &session_ms)?;
        self.client.apply(&mut conf)?;
        apply(
            &mut conf,
            &[
                ("group.id", self.group.as_str()),
                ("group.protocol", "classic"),
                ("partition.assignment.strategy", "cooperative-sticky"),
                ("enable.auto.commit", "false"),
                ("enable.auto.offset.store", "false"),
                ("auto.offset.reset", "error"),
                ("isolation.level", "read_committed"),
            ],
        )?;
        if let Some(instance) = &self.instance {
            conf.set("group.instance.id", instance)?;
        }
        #[cfg(test)]
        self.client.forced.iter().try_for_each(|(key, value)| conf.set(key, value))?;
        Ok(conf)
    }
}

impl ConsumerSettings {
    /// For a reader of a journal, which takes its partitions by hand and wants to hear of their ends; or, with what is
    /// not committed too, for whoever asks where a journal really ends.
    pub(super) fn journal_conf(&self, committed: bool) -> Result<Conf, KafkaError> {
        let mut conf = self.conf()?;
        let isolation = if committed { "read_committed" } else { "read_uncommitted" };
        apply(&mut conf, &[("enable.partition.eof", "true"), ("isolation.level", isolation)])?;
        Ok(conf)
    }
}

/// What a producer needs.
#[derive(Default)]
pub struct ProducerSettings {
    /// Brokers and pass-through.
    pub client: ClientSettings,
    /// Turns transactions on; unique per process, and the same after a restart.
    pub transactional_id: Option<String>,
}

impl ProducerSettings {
    /// With defaults for what is not an argument.
    #[must_use]
    pub fn new(brokers: &str) -> Self {
        let client = ClientSettings { brokers: brokers.to_owned(), ..ClientSettings::default() };
        Self { client, transactional_id: None }
    }

    pub(super) fn conf(&self) -> Result<Conf, KafkaError> {
        let mut conf = Conf::new();
        apply_defaults(&mut conf, ClientKind::Producer)?;
        match &self.transactional_id {
            // Whoever reads committed records waits for the oldest open transaction, so keep them short.
            Some(id) => apply(&mut conf, &[("transaction.timeout.ms", "15000"), ("transactional.id", id)])?,
            // A broker that is away must hold the intake, not turn records into errors.
            None => conf.set("message.timeout.ms", "0")?,
        }
        self.client.apply(&mut conf)?;
        apply(&mut conf, &[("enable.idempotence", "true"), ("acks", "all")])?;
        #[cfg(test)]
        self.client.forced.iter().try_for_each(|(key, value)| conf.set(key, value))?;
        Ok(conf)
    }
}

impl ClientSettings {
    /// The same settings for a further client.
    #[must_use]
    pub fn again(&self) -> Self {
        Self {
            brokers: self.brokers.clone(),
            client_id: self.client_id.clone(),
            pass_through: self.pass_through.clone(),
            statistics_ms: self.statistics_ms,
            tokens: self.tokens.clone(),
            #[cfg(test)]
            forced: self.forced.clone(),
        }
    }

    pub(super) fn apply(&self, conf: &mut Conf) -> Result<(), KafkaError> {
        conf.set("bootstrap.servers", &self.brokers)?;
        if !self.client_id.is_empty() {
            conf.set("client.id", &self.client_id)?;
        }
        for (key, value) in &self.pass_through {
            if let Some((_, reason)) = config::OWNED.iter().find(|(owned, _)| owned == key) {
                return Err(KafkaError::Setting {
                    key: key.clone(),
                    value: shown(key, value).to_owned(),
                    text: format!("Tollgate owns this key: {reason}"),
                });
            }
            conf.set(key, value)?;
        }
        match self.statistics_ms {
            Some(interval) if interval < STATISTICS_MS_MIN => Err(KafkaError::Setting {
                key: "statistics.interval.ms".to_owned(),
                value: interval.to_string(),
                text: format!("at least {STATISTICS_MS_MIN}, since statistics cost throughput"),
            }),
            Some(interval) => conf.set("statistics.interval.ms", &interval.to_string()),
            None => Ok(()),
        }
    }
}

/// What Tollgate sets where the user says nothing.
fn apply_defaults(conf: &mut Conf, kind: ClientKind) -> Result<(), KafkaError> {
    let of_kind = CLIENT_DEFAULTS.iter().filter(|default| default.kind == kind);
    of_kind.into_iter().try_for_each(|default| conf.set(default.key, default.value))
}

fn apply(conf: &mut Conf, pairs: &[(&str, &str)]) -> Result<(), KafkaError> {
    pairs.iter().try_for_each(|(key, value)| conf.set(key, value))
}
