//! Whether an audit that was run again says the same.

use std::collections::BTreeSet;

use serde_json::{Map, Value};

use super::report::{Input, Report};
use super::shown::shown;

/// LIMIT: characters of a name or value that are shown.
const CHARS_MAX: usize = 400;
/// What is compared in words, or differs from run to run.
const NOT_COMPARED_WHOLE: [&str; 5] = ["tool", "scope", "digest", "run", "signature"];

/// What differs between a report, whose text is `bytes`, and the audit of the same inputs now; empty: nothing.
#[must_use]
pub fn differences(bytes: &[u8], before: &Report, now: &Report) -> Vec<String> {
    let mut found = Vec::new();
    // A report that somebody wrote into is shown as carefully as a record.
    let text = |text: &str| shown(text, CHARS_MAX);
    let mut compare = |what: &str, before: &str, now: &str| {
        if before != now {
            found.push(format!("{}: the report says {}, now it is {}", text(what), text(before), text(now)));
        }
    };
    compare("rules", &before.rules.hash, &now.rules.hash);
    compare("profile", &before.rules.profile, &now.rules.profile);
    compare("tool", &before.tool, &now.tool);
    compare("inputs", &before.inputs.len().to_string(), &now.inputs.len().to_string());
    compare("records", &before.totals.records.to_string(), &now.totals.records.to_string());
    compare("rejected", &before.totals.rejected.to_string(), &now.totals.rejected.to_string());
    for row in &before.reasons {
        let count =
            now.reasons.iter().find(|other| other.reason == row.reason).map_or(0, |other| other.count);
        compare(&row.reason, &row.count.to_string(), &count.to_string());
    }
    for row in now.reasons.iter().filter(|row| before.reasons.iter().all(|other| other.reason != row.reason))
    {
        compare(&row.reason, "0", &row.count.to_string());
    }
    for (before, now) in before.inputs.iter().zip(&now.inputs) {
        differing_input(before, now, &mut compare);
    }
    compare("digest", &before.digest, &now.digest);
    let sampled = |report: &Report| report.scope.sample_one_in.unwrap_or(1).to_string();
    compare("scope: sample", &sampled(before), &sampled(now));
    found.extend(changed_members(bytes, now));
    found
}

/// Members of the report that are not what the audit finds now: somebody wrote into them.
fn changed_members(bytes: &[u8], now: &Report) -> Vec<String> {
    let members = |bytes: &[u8]| serde_json::from_slice::<Map<String, Value>>(bytes).unwrap_or_default();
    // Both go through text, so that numbers are compared as they are read.
    let (before, now) = (members(bytes), members(&serde_json::to_vec(now).unwrap_or_default()));
    let names: BTreeSet<_> = before.keys().chain(now.keys()).collect();
    let differs = |name: &&&String| before.get(**name) != now.get(**name);
    let compared = |name: &&&String| !NOT_COMPARED_WHOLE.contains(&name.as_str());
    let changed = names.iter().filter(compared).filter(differs);
    changed
        .map(|name| format!("{}: the report says something else than the audit now", shown(name, CHARS_MAX)))
        .collect()
}

fn differing_input(before: &Input, now: &Input, compare: &mut impl FnMut(&str, &str, &str)) {
    let name = &before.name;
    let text = |text: &Option<String>| text.clone().unwrap_or_else(|| "none".to_owned());
    compare(&format!("{name}: name"), &before.name, &now.name);
    compare(&format!("{name}: bytes"), &before.bytes.to_string(), &now.bytes.to_string());
    compare(&format!("{name}: SHA-256"), &text(&before.sha256), &text(&now.sha256));
    compare(&format!("{name}: records"), &before.records.to_string(), &now.records.to_string());
    compare(&format!("{name}: chain"), &before.chain, &now.chain);
}
