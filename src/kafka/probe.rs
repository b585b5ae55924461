//! Asks the brokers whether a run could work, before anything runs: what they support, which topics, rights and settings
//! are missing.
//!
//! Every question is harmless: nothing is made, written, committed or deleted, and no group is joined. The transactional
//! id is registered for a moment, which would fence a running process of that name, so only while the group is empty.

use std::time::Duration;

use super::admin::Admin;
use super::faults::{Code, KafkaError};
use super::limits::TopicLimits;
use super::producer::Producer;
use super::raw::answers::{NewTopic, Right, Settings, TopicDescription};
use super::raw::conf::features;
use super::scout::Scout;
use super::settings::{ConsumerSettings, ProducerSettings};
use crate::config::Bound;

/// How long the brokers may take to answer at all, and for each further question.
const REACH_WAIT: Duration = Duration::from_secs(15);
const ASK_WAIT: Duration = Duration::from_secs(10);
/// Room that a reject's header needs beside the record.
const NOTE_BYTES: u64 = 1024;

/// What a run needs.
pub struct Plan {
    /// The consumer, with its group and topics.
    pub consumer: ConsumerSettings,
    /// Accepted and rejected topic of each input.
    pub outputs: Vec<String>,
    /// The journal of each input, with the input; made by the run where it is missing.
    pub journals: Vec<(String, String)>,
    /// The name for transactions, if there are any.
    pub transactional_id: Option<String>,
    /// The longest transaction.
    pub transaction_ms: i64,
    /// The largest payload that is let in.
    pub payload_bytes_max: u64,
    /// The group's session timeout.
    pub session_timeout_ms: i64,
}

/// How something stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Standing {
    /// As it should be.
    Good,
    /// Worth knowing.
    Note,
    /// A run would fail, or lose what it promises.
    Missing,
}

/// One answer.
#[derive(Clone, Debug)]
pub struct Line {
    /// How it stands.
    pub standing: Standing,
    /// What it is about, as in `topic in`.
    pub about: String,
    /// A clause: what is, or what to do.
    pub text: String,
}

/// All answers.
#[derive(Debug, Default)]
pub struct Report {
    /// In the order of asking.
    pub lines: Vec<Line>,
}

impl Report {
    /// Whether something is missing.
    #[must_use]
    pub fn is_missing(&self) -> bool {
        self.lines.iter().any(|line| line.standing == Standing::Missing)
    }

    fn add(&mut self, standing: Standing, about: impl Into<String>, text: impl Into<String>) {
        self.lines.push(Line { standing, about: about.into(), text: text.into() });
    }

    /// `Good` if it holds, else `Missing` with what to do.
    fn demand(&mut self, holds: bool, about: &str, good: &str, missing: &str) {
        let (standing, text) = if holds { (Standing::Good, good) } else { (Standing::Missing, missing) };
        self.add(standing, about, text);
    }
}

/// Asks everything. An error means that the brokers could not be asked at all.
pub fn probe(plan: &Plan) -> Result<Report, KafkaError> {
    let mut report = Report::default();
    report.add(Standing::Good, "client", format!("librdkafka with {}", features()));
    let mut admin = Admin::connect_curious(&plan.consumer.client)?;
    admin.reach(REACH_WAIT, || false)?;
    let cluster = admin.cluster(REACH_WAIT)?;
    let brokers: Vec<_> = cluster.brokers.iter().map(|(id, at)| format!("{id} at {at}")).collect();
    report.add(Standing::Good, "cluster", format!("{} with {}", cluster.id, brokers.join(", ")));
    requests(&admin, plan, &mut report)?;
    for topic in &plan.consumer.topics {
        input(&admin, topic, &mut report)?;
    }
    for topic in &plan.outputs {
        output(&admin, topic, plan, &mut report)?;
    }
    for (input, journal) in &plan.journals {
        self::journal(&admin, input, journal, &mut report)?;
    }
    let members = group(&admin, plan, &mut report);
    transactions(plan, members, &mut report)?;
    if let Some((broker, _)) = cluster.brokers.first() {
        broker_settings(&admin, *broker, plan, &mut report);
    }
    if plan.consumer.start == Bound::Stored {
        stored(plan, &mut report);
    }
    Ok(report)
}

/// Requests that the brokers must know, with the lowest version of use.
fn requests(admin: &Admin, plan: &Plan, report: &mut Report) -> Result<(), KafkaError> {
    let known = admin.requests()?;
    let mut needed = vec![("Produce", 3), ("Fetch", 4), ("OffsetFetch", 7), ("JoinGroup", 5)];
    if plan.transactional_id.is_some() {
        // Offsets with the group's metadata, so that the broker fences what is outdated.
        needed.extend([
            ("InitProducerId", 3),
            ("AddPartitionsToTxn", 0),
            ("EndTxn", 1),
            ("TxnOffsetCommit", 3),
        ]);
    }
    if !plan.journals.is_empty() {
        needed.extend([("DeleteRecords", 0), ("CreateTopics", 4)]);
    }
    let lacks = |(name, version): &&(&str, i16)| known.get(*name).is_none_or(|(_, high)| high < version);
    let lacking: Vec<_> =
        needed.iter().filter(lacks).map(|(name, version)| format!("{name} {version}")).collect();
    let missing = format!("the brokers are too old; they lack {}", lacking.join(", "));
    let shown: Vec<_> = needed
        .iter()
        .filter_map(|(name, _)| known.get(*name).map(|(low, high)| format!("{name} {low}–{high}")))
        .collect();
    report.demand(lacking.is_empty(), "broker requests", &shown.join(", "), &missing);
    Ok(())
}

/// Looks at a topic that must be there, and at the rights on it; `None` where it is not.
fn topic(
    admin: &Admin,
    name: &str,
    about: &str,
    rights: &[Right],
    report: &mut Report,
) -> Result<Option<TopicDescription>, KafkaError> {
    let found = admin.topics(&[name], ASK_WAIT)?.into_iter().next();
    let Some(Ok(topic)) = found else {
        let text = match found {
            Some(Err(fault)) if fault.code != Code::UNKNOWN_TOPIC => fault.text,
            _ => "it does not exist, or this user may not see it (right Describe)".to_owned(),
        };
        report.add(Standing::Missing, about, text);
        return Ok(None);
    };
    report.add(Standing::Good, about, format!("{} partitions, {} copies", topic.partitions, topic.replicas));
    if let Some(granted) = topic.rights {
        let names: Vec<_> = rights.iter().map(|right| right.name()).collect();
        let lacking: Vec<_> =
            rights.iter().filter(|right| !granted.has(**right)).map(|right| right.name()).collect();
        let missing = format!("this user lacks {} on the topic", lacking.join(", "));
        report.demand(lacking.is_empty(), about, &format!("rights {}", names.join(", ")), &missing);
    }
    Ok(Some(topic))
}

fn input(admin: &Admin, name: &str, report: &mut Report) -> Result<(), KafkaError> {
    topic(admin, name, &format!("input {name}"), &[Right::Read, Right::Describe], report).map(|_| ())
}

fn output(admin: &Admin, name: &str, plan: &Plan, report: &mut Report) -> Result<(), KafkaError> {
    let about = format!("output {name}");
    let rights = [Right::Write, Right::Describe, Right::DescribeConfigs];
    let Some(described) = topic(admin, name, &about, &rights, report)? else { return Ok(()) };
    let Some(Ok(settings)) = admin.topic_settings(&[name], ASK_WAIT)?.into_iter().next() else {
        report.add(Standing::Missing, about, "its settings cannot be read (right DescribeConfigs)");
        return Ok(());
    };
    let limits = TopicLimits::new(&described, &settings);
    let copies = format!("min.insync.replicas {}, in step {}", limits.in_sync_min, limits.in_sync);
    let missing = format!("{copies}: nothing can be written");
    report.demand(limits.in_sync >= limits.in_sync_min as usize, &about, &copies, &missing);
    if limits.batch_bytes_max < plan.payload_bytes_max + NOTE_BYTES {
        let text = format!(
            "max.message.bytes {} is below `limits.payload_bytes_max` {} and a header: larger records become stubs",
            limits.batch_bytes_max, plan.payload_bytes_max
        );
        report.add(Standing::Note, &about, text);
    }
    if limits.needs_key {
        report.add(
            Standing::Note,
            &about,
            "it is compacted: records without a key become stubs, equal keys are lost",
        );
    }
    if let Some(times) = limits.times.filter(|times| times.before_max_ms < i64::MAX) {
        let text = format!("records older than {} ms become stubs", times.before_max_ms);
        report.add(Standing::Note, &about, text);
    }
    Ok(())
}

fn journal(admin: &Admin, input: &str, name: &str, report: &mut Report) -> Result<(), KafkaError> {
    let about = format!("journal {name}");
    let partitions = admin.topics(&[input], ASK_WAIT)?.into_iter().next().and_then(Result::ok);
    let exists = admin.topics(&[name], ASK_WAIT)?.into_iter().next().is_some_and(|topic| topic.is_ok());
    if !exists {
        let partitions = partitions.map_or(1, |topic| i32::try_from(topic.partitions).unwrap_or(1));
        let new = NewTopic { name, partitions, replicas: None, settings: &[("retention.ms", "-1")] };
        match admin.could_create(&new, ASK_WAIT) {
            Ok(()) => report.add(Standing::Good, about, "it does not exist, and the run may make it"),
            Err(error) => {
                let text = format!("it does not exist, and this user cannot make it (right Create): {error}");
                report.add(Standing::Missing, about, text);
            }
        }
        return Ok(());
    }
    // Delete is for records below the floor.
    let rights = [Right::Read, Right::Write, Right::Describe, Right::Delete];
    let found = topic(admin, name, &about, &rights, report)?;
    if let (Some(journal), Some(input)) = (found, partitions) {
        let text = format!("as many partitions as the input has, {}", input.partitions);
        let missing = format!("{} partitions, and the input has {}", journal.partitions, input.partitions);
        report.demand(journal.partitions == input.partitions, &about, &text, &missing);
    }
    if let Some(Ok(settings)) = admin.topic_settings(&[name], ASK_WAIT)?.into_iter().next() {
        let is = |key: &str, value: &str| settings.get(key).is_some_and(|found| found == value);
        let kept = is("retention.ms", "-1") && is("retention.bytes", "-1") && is("cleanup.policy", "delete");
        report.demand(
            kept,
            &about,
            "nothing of it expires by itself",
            "set retention.ms and retention.bytes to -1 and cleanup.policy to delete: state would be lost",
        );
    }
    Ok(())
}

/// The group; gives how many members it has, if that can be seen.
fn group(admin: &Admin, plan: &Plan, report: &mut Report) -> Option<usize> {
    let about = format!("group {}", plan.consumer.group);
    match admin.group(&plan.consumer.group, ASK_WAIT) {
        Ok(group) => {
            let has = group.rights.is_none_or(|rights| rights.has(Right::Read));
            let good = format!("{} members now; right Read", group.members);
            report.demand(has, &about, &good, "this user lacks Read on the group");
            Some(group.members)
        }
        Err(error) => {
            report.add(
                Standing::Missing,
                about,
                format!("it cannot be seen (rights Read, Describe): {error}"),
            );
            None
        }
    }
}

fn transactions(plan: &Plan, members: Option<usize>, report: &mut Report) -> Result<(), KafkaError> {
    let Some(id) = &plan.transactional_id else { return Ok(()) };
    let about = format!("transactional id {id}");
    if members != Some(0) {
        report.add(Standing::Note, about, "not tried, since the group is at work or cannot be seen: trying would fence a process of that name");
        return Ok(());
    }
    let client = plan.consumer.client.again();
    let mut producer = Producer::new(ProducerSettings { client, transactional_id: Some(id.clone()) })?;
    match producer.init_transactions(ASK_WAIT) {
        Ok(()) => report.add(Standing::Good, about, "rights Write, Describe"),
        Err(error) => {
            report.add(
                Standing::Missing,
                about,
                format!("it cannot be used (rights Write, Describe): {error}"),
            );
        }
    }
    producer.close(ASK_WAIT, &mut Vec::new())
}

/// Settings of the brokers that bound ours. Seeing them takes a right that the run itself does not need.
fn broker_settings(admin: &Admin, broker: i32, plan: &Plan, report: &mut Report) {
    let about = format!("broker {broker}");
    let settings = match admin.broker_settings(broker, ASK_WAIT) {
        Ok(settings) => settings,
        Err(error) => {
            return report.add(Standing::Note, about, format!("its settings cannot be seen: {error}"));
        }
    };
    let number = |settings: &Settings, key: &str| settings.get(key).and_then(|text| text.parse::<i64>().ok());
    let longest = number(&settings, "transaction.max.timeout.ms").unwrap_or(i64::MAX);
    if plan.transactional_id.is_some() {
        let missing = format!("transaction.max.timeout.ms {longest} is below {}", plan.transaction_ms);
        report.demand(
            longest >= plan.transaction_ms,
            &about,
            "its transactions may last long enough",
            &missing,
        );
    }
    let low = number(&settings, "group.min.session.timeout.ms").unwrap_or(0);
    let high = number(&settings, "group.max.session.timeout.ms").unwrap_or(i64::MAX);
    let missing = format!("`kafka.session_timeout_ms` must be {low} to {high}");
    let fits = (low..=high).contains(&plan.session_timeout_ms);
    report.demand(fits, &about, "its groups take the session timeout", &missing);
}

/// Whether every partition has a committed offset, which `start = "stored"` wants.
fn stored(plan: &Plan, report: &mut Report) {
    let about = format!("offsets of group {}", plan.consumer.group);
    let looked = Scout::open(&plan.consumer).and_then(|scout| {
        let found =
            plan.consumer.topics.iter().try_for_each(|topic| scout.resolve(topic, Bound::Stored).map(|_| ()));
        scout.close(ASK_WAIT)?;
        found
    });
    match looked {
        Ok(()) => report.add(Standing::Good, about, "every partition has one"),
        Err(error) => report.add(Standing::Missing, about, error.to_string()),
    }
}
