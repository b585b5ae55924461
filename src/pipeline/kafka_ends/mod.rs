//! Kafka at both ends of the pipeline.
//!
//! The source reads in a consumer group. The sink writes accepted and rejected records and the journal, either in
//! transactions together with the offsets (`exactly_once`) or with offsets that follow what was acknowledged
//! (`at_least_once.rs`). Both ends share the `progress` of each partition. A partition's state is restored from the
//! journal before its first record is read, and what is in flight ends before a partition is given away
//! (`rebalance.rs`). The consumer outlives both ends, since it cannot end while one of its messages is held:
//! [`Connection`] closes it last.

mod at_least_once;
mod bounded;
mod exactly_once;
mod keeper;
mod limits;
mod orphans;
mod outputs;
mod pace;
mod progress;
mod range;
mod rebalance;
mod renewal;
mod rounds;
mod sending;
mod sink;
mod source;
mod suspects;
mod vitals;
mod watchdog;

use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use crate::config::{Config, DeliveryChoice};
use crate::judge::Rules;
use crate::kafka::journal::JournalTopics;
use crate::kafka::{
    Admin, ClientSettings, Consumer, ConsumerSettings, KafkaError, KafkaSettingsError, Producer,
    ProducerSettings,
};
use crate::status::Status;

use super::stop::Stop;
use at_least_once::AtLeastOnce;
use bounded::Bounded;
use exactly_once::ExactlyOnce;
use keeper::Keeper;
use limits::Limits;
use orphans::Orphans;
use outputs::Outputs;
use pace::Pace;
pub use progress::Flight;
use progress::Progress;
pub use range::{RangeConnection, RangeSource};
use rebalance::{OnRebalance, Restorer};
use renewal::Renewal;
use rounds::Rounds;
pub use sink::KafkaSink;
use sink::Mode;
pub use source::KafkaSource;
pub use vitals::Vitals;

/// How long look-ups at the start may take.
const LOOK_UP_WAIT: Duration = Duration::from_secs(30);
/// librdkafka's own limit for a batch of several records.
const BATCH_BYTES: u64 = 1_000_000;
/// How long the consumer may take to leave its group.
const CLOSE_WAIT: Duration = Duration::from_secs(10);
/// How often it is looked whether threads have ended.
const CLOSE_LOOK: Duration = Duration::from_millis(2);

/// The consumer, shared by the source that reads and the connection that closes.
type SharedConsumer = Arc<Mutex<Option<Consumer>>>;

/// The connection to the brokers; closed when everything else has ended.
pub struct Connection {
    consumer: SharedConsumer,
    vitals: Arc<Vitals>,
    rounds: Vec<Rounds>,
    restorer: Restorer,
}

impl Connection {
    /// Counters of the run.
    #[must_use]
    pub fn vitals(&self) -> Arc<Vitals> {
        Arc::clone(&self.vitals)
    }

    /// Leaves the group and closes the consumer; every message must have been released. Waits for all threads, since a
    /// process must not end while clients of librdkafka are at work.
    pub fn close(self) -> Result<(), KafkaError> {
        let threads: Vec<_> =
            self.rounds.into_iter().map(Rounds::stop).chain(self.restorer.threads()).collect();
        let consumer = self.consumer.lock().unwrap_or_else(PoisonError::into_inner).take();
        let closed = consumer.map_or(Ok(()), |consumer| consumer.close(CLOSE_WAIT));
        let deadline = Instant::now() + CLOSE_WAIT;
        while threads.iter().any(|thread| !thread.is_finished()) && Instant::now() < deadline {
            std::thread::sleep(CLOSE_LOOK);
        }
        closed
    }
}

/// Checks that the configuration can work, without asking a broker.
pub fn check(config: &Config) -> Result<(), KafkaSettingsError> {
    ClientSettings::from_config(config)?;
    if config.kafka.topics.is_empty() {
        let needs = "at least one input topic";
        return Err(KafkaSettingsError::Missing { key: "kafka.topics", needs });
    }
    Ok(())
}

/// Connects: looks the topics up, makes the producer, and subscribes. A stop that is asked for meanwhile is an error here.
pub fn connect(
    config: &Config,
    rules: &Rules,
    status: &Arc<Status>,
    stop: &Stop,
) -> Result<(KafkaSource, KafkaSink, Connection), anyhow::Error> {
    let kafka = &config.kafka;
    // What is wrong with certificates, passwords or brokers is said here, once and clearly.
    let mut admin = Admin::connect(&ClientSettings::from_config(config)?)?;
    admin.reach(LOOK_UP_WAIT, || stop.is_asked())?;
    let limits = Limits::look_up(&admin, config, LOOK_UP_WAIT);
    let shared = Arc::new(config.clone());
    let instance = instance(config)?;
    let is_transactional = kafka.delivery == DeliveryChoice::ExactlyOnce;
    let journals = JournalTopics::connect(&ClientSettings::from_config(config)?)?;
    let make = producers(&shared, transactional_id(config)?, limits.batch_bytes_max());
    let outputs = Outputs::look_up(config, make, &journals, LOOK_UP_WAIT)?;

    let progress = Arc::new(Progress::new(limits, Arc::clone(status)));
    let pace = Pace::new(millis(kafka.latency_goal_ms), u64::from(kafka.transaction_records_max));
    // The transactional id is registered before the group is joined: what an earlier process left open ends first.
    let mode = if is_transactional {
        let sink = ExactlyOnce::begin(outputs, Arc::clone(&progress), pace, instance.clone(), LOOK_UP_WAIT)?;
        Mode::ExactlyOnce(Box::new(sink))
    } else {
        let every = millis(kafka.commit_interval_ms);
        Mode::AtLeastOnce(Box::new(AtLeastOnce::new(outputs, Arc::clone(&progress), every)))
    };
    let restorer = Restorer::new(Arc::clone(&shared), Arc::clone(&progress));
    let listener = OnRebalance {
        progress: Arc::clone(&progress),
        deadline: millis(kafka.revoke_deadline_ms),
        is_transactional,
        restorer: restorer.clone(),
        unread: 0,
    };
    let mut orphans = Orphans::new(admin, config, instance.clone(), &progress);
    let renewal = Renewal::new(shared, instance, Arc::clone(&progress));
    let bounded = Bounded::look_up(config, &ConsumerSettings::from_config(config)?)?;
    let consumer = Consumer::subscribe(renewal.settings()?, Box::new(listener))?;
    progress.set_committer(consumer.committer());
    let cluster = consumer.cluster();
    status.set_end_of(Box::new(move |topic, partition, wait| match wait {
        Some(wait) => cluster.watermarks(topic, partition, wait).ok().map(|marks| marks.high),
        None => cluster.watermarks_seen(topic, partition).map(|marks| marks.high),
    }));
    let names = kafka.topics.iter().map(|topic| kafka.journal_topic(topic)).collect();
    let mut keeper = Keeper::new(journals, &progress, names);
    let keep =
        restorer.is_on().then(|| Rounds::start("journal", keeper::DELETE_EVERY, move || keeper.keep()));
    let look = Rounds::start("group", orphans::LOOK_EVERY, move || orphans.look());
    let rounds = keep.flatten().into_iter().chain(look).collect();
    let (consumer, vitals) = (Arc::new(Mutex::new(Some(consumer))), Arc::clone(&progress.vitals));
    let source = KafkaSource::new(Arc::clone(&consumer), (restorer.clone(), renewal), config, rules, bounded);
    Ok((source, KafkaSink(mode), Connection { consumer, vitals, rounds, restorer }))
}

fn millis(ms: u32) -> Duration {
    Duration::from_millis(u64::from(ms))
}

/// Makes producers, one after the other, all with the same name.
fn producers(config: &Arc<Config>, transactional_id: Option<String>, batch_bytes_max: u64) -> outputs::Make {
    let config = Arc::clone(config);
    Box::new(move || {
        let mut client = ClientSettings::from_config(&config)
            .map_err(|error| KafkaError::Create { kind: "producer", text: error.to_string() })?;
        if batch_bytes_max < BATCH_BYTES {
            // librdkafka fills batches without regard to the topic's limit, which holds for the whole batch.
            client.pass_through.insert(0, ("batch.size".to_owned(), batch_bytes_max.max(1).to_string()));
        }
        Producer::new(ProducerSettings { client, transactional_id: transactional_id.clone() })
    })
}

/// The name for transactions, if there are to be any.
pub fn transactional_id(config: &Config) -> Result<Option<String>, KafkaSettingsError> {
    let instance = instance(config)?;
    let is_transactional = config.kafka.delivery == DeliveryChoice::ExactlyOnce;
    Ok(is_transactional.then(|| format!("tollgate-{}-{instance}", config.kafka.group)))
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
