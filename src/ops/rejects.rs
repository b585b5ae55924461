//! Groups of recent rejects: by reason, pointer and sender, each with one masked and explained example.
//!
//! Fed with a bounded sample, so its counts tell proportions; the exact counts are in the metrics. Bounded in groups:
//! the one that was not seen for longest is given up. Payloads leave this place masked only.

use std::collections::HashMap;

use serde_json::{Value, json};

use super::mask::{cut, mask};
use super::places::Places;
use crate::clock;
use crate::formats::hidden::{HIDDEN, looks_secret};
use crate::formats::labels::LabelKind;
use crate::formats::{Compiled, Source};
use crate::judge::{Explained, Input, Judge, Payload, explain};
use crate::pipeline::sample::Sample;
use crate::verdict::Reason;

/// LIMIT: findings of an example that are told.
const FINDINGS_MAX: usize = 10;

/// What makes rejects alike.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
struct Key {
    reason: Reason,
    format: String,
    pointer: String,
    sender: String,
}

/// Alike rejects.
struct Group {
    count: u64,
    first_ms: i64,
    last_ms: i64,
    /// The record that is shown, and why it was rejected.
    example: Value,
}

/// The groups.
pub struct RejectGroups {
    groups: HashMap<Key, Group>,
    groups_max: usize,
    judge: Option<(u64, Judge)>,
}

impl RejectGroups {
    /// Room for so many groups.
    #[must_use]
    pub fn new(groups_max: usize) -> Self {
        Self { groups: HashMap::new(), groups_max: groups_max.max(1), judge: None }
    }

    /// Adds a reject.
    pub fn add(&mut self, sample: &Sample, places: &Places) {
        let Some(reason) = sample.verdict.reason else { return };
        let format = sample.verdict.format.and_then(|format| sample.rules.format(format));
        let key = Key {
            reason,
            format: format.map_or("none", Compiled::name).to_owned(),
            pointer: any_index(&sample.pointer),
            sender: sender_of(sample, format),
        };
        let now_ms = clock::wall().micros() / 1000;
        if let Some(group) = self.groups.get_mut(&key) {
            group.count += 1;
            group.last_ms = now_ms;
            return;
        }
        if self.groups.len() >= self.groups_max
            && let Some(oldest) =
                self.groups.iter().min_by_key(|(_, group)| group.last_ms).map(|(key, _)| key.clone())
        {
            self.groups.remove(&oldest);
        }
        let example = self.example(sample, format, places);
        self.groups.insert(key, Group { count: 1, first_ms: now_ms, last_ms: now_ms, example });
    }

    /// The record, masked, with every finding.
    fn example(&mut self, sample: &Sample, format: Option<&Compiled>, places: &Places) -> Value {
        let payload = sample.payload.as_deref();
        self.judge.take_if(|(of, _)| *of != sample.rules.number);
        let (_, judge) = self.judge.get_or_insert_with(|| (sample.rules.number, Judge::new(&sample.rules)));
        let findings = payload.map_or_else(Vec::new, |payload| {
            let input =
                Input { payload: Payload::Bytes(payload), key: sample.key.as_deref(), now: sample.now };
            findings(&explain(judge, &sample.rules, sample.binding, input))
        });
        json!({
            "src": places.record(sample.partition, sample.place),
            "at": cut(&sample.pointer),
            "bytes": payload.map(<[u8]>::len),
            "record": payload.and_then(|payload| mask(payload, format)),
            "findings": findings,
        })
    }

    /// All groups, those that were seen last first.
    #[must_use]
    pub fn to_json(&self) -> Value {
        let mut groups: Vec<_> = self.groups.iter().collect();
        groups.sort_by_key(|(key, group)| {
            (std::cmp::Reverse(group.last_ms / 10_000), std::cmp::Reverse(group.count), key.reason.code())
        });
        let shown = groups.into_iter().map(|(key, group)| {
            json!({
                "reason": key.reason.code(), "text": key.reason.text(), "hint": key.reason.hint(),
                "format": key.format, "at": cut(&key.pointer), "sender": key.sender,
                "sampled": group.count, "first_ms": group.first_ms, "last_ms": group.last_ms,
                "example": group.example,
            })
        });
        Value::Array(shown.collect())
    }
}

fn findings(explained: &Explained) -> Vec<Value> {
    let shown = explained.findings.iter().take(FINDINGS_MAX).map(|finding| {
        json!({
            "reason": finding.reason.code(), "text": finding.reason.text(), "hint": finding.reason.hint(),
            "at": cut(&finding.at), "expected": finding.expected.as_deref().map(cut),
            "found": finding.found.as_deref().map(cut), "rule": finding.rule.as_ref().map(|(rule, _)| rule),
            "source": finding.source.map(Source::name),
        })
    });
    shown.collect()
}

/// Failures at different elements of one array are alike.
fn any_index(pointer: &str) -> String {
    let alike = |token: &str| {
        if !token.is_empty() && token.bytes().all(|b| b.is_ascii_digit()) { "*" } else { token }.to_owned()
    };
    pointer.split('/').map(alike).collect::<Vec<_>>().join("/")
}

/// Who sent a record, by its own account.
fn sender_of(sample: &Sample, format: Option<&Compiled>) -> String {
    let pointer = format
        .map_or("", |format| format.labels().texts.get(LabelKind::Sender as usize).copied().unwrap_or(""));
    let value = sample.payload.as_deref().filter(|_| !pointer.is_empty());
    let value: Option<Value> = value.and_then(|payload| serde_json::from_slice(payload).ok());
    let sender = value.as_ref().and_then(|value| value.pointer(pointer)).and_then(Value::as_str);
    sender
        .map_or_else(String::new, |sender| if looks_secret(sender) { HIDDEN.to_owned() } else { cut(sender) })
}
