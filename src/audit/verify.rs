//! Whether an audit that was run again says the same.

use super::report::{Input, Report};

/// What differs between a report and the audit of the same inputs now; empty: nothing.
#[must_use]
pub fn differences(before: &Report, now: &Report) -> Vec<String> {
    let mut found = Vec::new();
    let mut compare = |what: &str, before: &str, now: &str| {
        if before != now {
            found.push(format!("{what}: the report says {before}, now it is {now}"));
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
    found
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
