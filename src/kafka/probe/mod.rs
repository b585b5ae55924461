//! Asks the brokers whether a run could work, before anything runs: what they support, which topics, rights and settings
//! are missing.
//!
//! Every question is harmless: nothing is made, written, committed or deleted, and no group is joined. `topics.rs` asks
//! about topics, `brokers.rs` about everything else; what could disturb a process at work is said there.

mod brokers;
mod topics;

use std::time::Duration;

use super::admin::Admin;
use super::faults::KafkaError;
use super::raw::conf::features;
use super::settings::ConsumerSettings;
use crate::config::Bound;

/// How long the brokers may take to answer at all, and for each further question.
const REACH_WAIT: Duration = Duration::from_secs(15);
const ASK_WAIT: Duration = Duration::from_secs(10);

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
    let shown: Vec<_> = cluster.brokers.iter().map(|(id, at)| format!("{id} at {at}")).collect();
    report.add(Standing::Good, "cluster", format!("{} with {}", cluster.id, shown.join(", ")));
    brokers::requests(&admin, plan, &mut report)?;
    for topic in &plan.consumer.topics {
        topics::input(&admin, topic, &mut report)?;
    }
    for topic in &plan.outputs {
        topics::output(&admin, topic, plan, &mut report)?;
    }
    for (input, journal) in &plan.journals {
        topics::journal(&admin, input, journal, &mut report)?;
    }
    let members = brokers::group(&mut admin, plan, &mut report);
    brokers::transactions(plan, members, &mut report)?;
    if let Some((broker, _)) = cluster.brokers.first() {
        brokers::settings(&admin, *broker, plan, &mut report);
    }
    if plan.consumer.start == Bound::Stored {
        brokers::stored(plan, &mut report);
    }
    Ok(report)
}
