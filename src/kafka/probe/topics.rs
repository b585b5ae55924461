//! What the probe asks about topics: whether they are there, what this user may do with them, and what they take.

use super::{ASK_WAIT, Plan, Report, Standing};
use crate::kafka::admin::Admin;
use crate::kafka::faults::{Code, KafkaError};
use crate::kafka::journal::SETTINGS;
use crate::kafka::limits::TopicLimits;
use crate::kafka::raw::answers::{NewTopic, Right, TopicDescription};

/// Room that a reject's header needs beside the record.
const NOTE_BYTES: u64 = 1024;

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

pub(super) fn input(admin: &Admin, name: &str, report: &mut Report) -> Result<(), KafkaError> {
    topic(admin, name, &format!("input {name}"), &[Right::Read, Right::Describe], report).map(|_| ())
}

pub(super) fn output(admin: &Admin, name: &str, plan: &Plan, report: &mut Report) -> Result<(), KafkaError> {
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

pub(super) fn journal(admin: &Admin, input: &str, name: &str, report: &mut Report) -> Result<(), KafkaError> {
    let about = format!("journal {name}");
    let partitions = admin.topics(&[input], ASK_WAIT)?.into_iter().next().and_then(Result::ok);
    let exists = admin.topics(&[name], ASK_WAIT)?.into_iter().next().is_some_and(|topic| topic.is_ok());
    if !exists {
        let partitions = partitions.map_or(1, |topic| i32::try_from(topic.partitions).unwrap_or(1));
        let new = NewTopic { name, partitions, replicas: None, settings: SETTINGS };
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
        let counts = format!("{} partitions, and the input has {}", journal.partitions, input.partitions);
        let may_grow = journal.rights.is_none_or(|rights| rights.has(Right::Alter));
        let (good, missing) = if journal.partitions >= input.partitions {
            (counts, String::new())
        } else {
            let good = format!("{counts}; the run gives it more (right Alter)");
            (good, format!("{counts}; this user cannot give it more (right Alter)"))
        };
        report.demand(journal.partitions >= input.partitions || may_grow, &about, &good, &missing);
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
