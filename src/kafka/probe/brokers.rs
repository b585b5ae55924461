//! What the probe asks about the brokers: the requests they know, the group, the right to transactions, settings, offsets.

use super::{ASK_WAIT, Plan, Report, Standing};
use crate::config::Bound;
use crate::kafka::admin::Admin;
use crate::kafka::faults::KafkaError;
use crate::kafka::producer::Producer;
use crate::kafka::raw::answers::{Right, Settings};
use crate::kafka::scout::Scout;
use crate::kafka::settings::ProducerSettings;

/// What a name beside the transactional id ends with.
const PROBE_SUFFIX: &str = ".probe";

/// Requests that the brokers must know, with the lowest version of use.
pub(super) fn requests(admin: &Admin, plan: &Plan, report: &mut Report) -> Result<(), KafkaError> {
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

/// The group; gives how many members it has, if that can be seen.
pub(super) fn group(admin: &mut Admin, plan: &Plan, report: &mut Report) -> Option<usize> {
    let about = format!("group {}", plan.consumer.group);
    match admin.group(&plan.consumer.group, ASK_WAIT) {
        Ok(group) => {
            let has = group.rights.is_none_or(|rights| rights.has(Right::Read));
            let good = format!("{} members now; right Read", group.members.len());
            report.demand(has, &about, &good, "this user lacks Read on the group");
            Some(group.members.len())
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

/// The right to use the transactional id. Registering it would fence a process of that name, so a name beside it is tried
/// first: a right on a prefix, or on all names, covers both. The name itself is tried only where that is refused and nobody
/// is in the group; a process of that name that starts at that very moment is fenced, ends with 3 and has to be started
/// again.
pub(super) fn transactions(
    plan: &Plan,
    members: Option<usize>,
    report: &mut Report,
) -> Result<(), KafkaError> {
    let Some(id) = &plan.transactional_id else { return Ok(()) };
    let about = format!("transactional id {id}");
    let Err(refused) = register(plan, format!("{id}{PROBE_SUFFIX}"))? else {
        report.add(Standing::Good, about, "rights Write, Describe");
        return Ok(());
    };
    if members != Some(0) {
        let text = format!(
            "this user may not use {id}{PROBE_SUFFIX} ({refused}); whether it may use the id itself (rights Write, Describe) \
             is not tried, since the group is at work or cannot be seen, and trying would fence a process of that name"
        );
        report.add(Standing::Note, about, text);
        return Ok(());
    }
    match register(plan, id.clone())? {
        Ok(()) => report.add(Standing::Good, about, "rights Write, Describe, on this very name"),
        Err(error) => {
            let text = format!("it cannot be used (rights Write, Describe): {error}");
            report.add(Standing::Missing, about, text);
        }
    }
    Ok(())
}

/// Registers a transactional id for a moment; nothing is written under it.
fn register(plan: &Plan, id: String) -> Result<Result<(), KafkaError>, KafkaError> {
    let client = plan.consumer.client.again();
    let mut producer = Producer::new(ProducerSettings { client, transactional_id: Some(id) })?;
    let outcome = producer.init_transactions(ASK_WAIT);
    producer.close(ASK_WAIT, &mut Vec::new())?;
    Ok(outcome)
}

/// Settings of the brokers that bound ours. Seeing them takes a right that the run itself does not need.
pub(super) fn settings(admin: &Admin, broker: i32, plan: &Plan, report: &mut Report) {
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
pub(super) fn stored(plan: &Plan, report: &mut Report) {
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
