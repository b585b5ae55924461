//! `tollgate check`: explains the verdict on one or more envelopes.

use std::io::Write;

use serde_json::{Value, json};

use super::{Ended, Failure, compile_rules, envelopes, load_config, usage};
use crate::cli::Check;
use crate::clock;
use crate::config::{ClockChoice, Profile};
use crate::formats::{Compiled, Rule, Source};
use crate::judge::{self, Explained, Finding, Judge, explain};
use crate::state::{Ruling, Settings, State};

pub(super) fn run(args: &Check) -> Result<Ended, Failure> {
    let mut config = load_config(args.config.as_deref())?;
    if let Some(format) = &args.format {
        config.rules.format.clone_from(format);
    }
    if let Some(profile) = args.profile {
        config.rules.profile = profile;
    }
    // A format of the command line does not stand in the file.
    let file = args.config.as_deref().filter(|_| args.format.is_none());
    let rules = compile_rules(&config, file)?;
    let mut judge = Judge::new(&rules);
    judge.make_facts();
    let mut state = State::new(Settings::of(&config)).map_err(usage)?;
    let now = args.as_of.or_else(|| (config.rules.clock != ClockChoice::Record).then(clock::wall));
    let mut out = std::io::stdout().lock();
    let mut ended = Ended::Well;
    envelopes::each(&args.paths, "check", |envelope| {
        let record = judge::Input { payload: envelope.payload, key: Some(envelope.path.as_bytes()), now };
        let mut explained = explain(&mut judge, &rules, rules.default_binding(), record);
        if let Some(facts) = judge.facts().filter(|_| explained.verdict.is_accept() && !args.apart) {
            let ruling = state.decide(facts).map_err(|_| anyhow::anyhow!("the replay window is full"))?;
            rule(&mut explained, ruling);
        }
        let format = explained.verdict.format.and_then(|format| rules.format(format));
        if !explained.verdict.is_accept() {
            ended = Ended::Findings;
        }
        let text = if args.json {
            format!("{}\n", to_json(&envelope.source, &explained, format, config.rules.profile))
        } else {
            to_text(&envelope.source, &explained, format, config.rules.profile)
        };
        Ok(out.write_all(text.as_bytes())?)
    })?;
    Ok(ended)
}

/// What was seen before has the last word.
fn rule(explained: &mut Explained, ruling: Ruling) {
    explained.verdict.ignored = ruling.ignored;
    explained.verdict.warned = ruling.warned.or(explained.verdict.warned);
    if let Some(reason) = ruling.reason {
        explained.verdict.reason = Some(reason);
        let at = String::new();
        let finding = Finding { reason, at, rule: None, source: None, expected: None, found: None };
        explained.findings.push(finding);
    }
}

fn to_text(source: &str, explained: &Explained, format: Option<&Compiled>, profile: Profile) -> String {
    let Explained { verdict, findings, more, unchecked, warnings } = explained;
    let word = match (verdict.is_accept(), verdict.ignored) {
        (true, true) => "accepted without effect",
        (true, false) => "accepted",
        (false, _) => "rejected",
    };
    let reason = verdict.reason.map(|reason| format!(": {}", reason.code())).unwrap_or_default();
    let name = format.map_or("no format", Compiled::name);
    let mut text = format!("{source}  {word}{reason}  ({name}, profile {})\n", profile.name());
    if let Some(format) = format.filter(|_| verdict.is_accept()) {
        let on = format.on().rules(format.rules());
        let broken = |rule: &Rule| unchecked.iter().chain(warnings).any(|other| other.name == rule.name);
        let held = on.filter(|rule| !broken(rule)).count();
        text.push_str(&format!("  holds: the shape and {held} rules\n"));
    }
    for (number, finding) in findings.iter().enumerate() {
        text.push_str(&finding_text(number + 1, finding));
    }
    if *more > 0 {
        text.push_str(&format!("\n  and {more} more\n"));
    }
    if let Some(format) = format.filter(|_| !unchecked.is_empty()) {
        text.push_str("\n  not checked:\n");
        for rule in unchecked {
            let keys: Vec<_> =
                rule.needs.iter().map(|key| format!("`format.{}.{key}`", format.family())).collect();
            // Data may be configured, and not cover this envelope.
            let lacks = format.lacks().any(|lack| lack.rule == rule.name);
            let why = if lacks { format!("needs {}", keys.join(" or ")) } else { "not at hand".to_owned() };
            text.push_str(&format!("     {}: {}; {why}\n", rule.name, rule.text));
        }
    }
    for rule in warnings {
        text.push_str(&format!("\n  warning: {}: {} ({})\n", rule.reason.code(), rule.text, rule.name));
    }
    if let Some(warned) = verdict.warned.filter(|_| warnings.is_empty()) {
        text.push_str(&format!("\n  warning: {}: {}\n", warned.code(), warned.text()));
    }
    if !findings.is_empty() || !unchecked.is_empty() {
        text.push('\n');
    }
    text
}

fn finding_text(number: usize, finding: &Finding) -> String {
    let Finding { reason, at, rule, source, expected, found } = finding;
    let place = if at.is_empty() { "the top level".to_owned() } else { visible(at) };
    let mut text = format!("\n  {number}. {} at {place}: {}\n", reason.code(), reason.text());
    let mut line = |label: &str, value: &str| text.push_str(&format!("     {label:<10}{}\n", visible(value)));
    if let Some(expected) = expected {
        line("expected", expected);
    }
    if let Some(found) = found {
        line("found", found);
    }
    if let Some((rule, place)) = rule {
        line("rule", &format!("{rule} ({place})"));
    }
    if let Some(source) = source {
        line("source", source.name());
    }
    line("fix", reason.hint());
    text
}

/// Control characters and text that would run backwards must not reach a terminal.
pub(super) fn visible(text: &str) -> String {
    let hidden = |c: char| {
        c.is_control()
            || matches!(c, '\u{200E}' | '\u{200F}' | '\u{202A}'..='\u{202E}' | '\u{2066}'..='\u{2069}')
    };
    text.chars().map(|c| if hidden(c) { format!("\\u{:04x}", u32::from(c)) } else { c.to_string() }).collect()
}

fn to_json(source: &str, explained: &Explained, format: Option<&Compiled>, profile: Profile) -> Value {
    let verdict = explained.verdict;
    let findings: Vec<_> = explained
        .findings
        .iter()
        .map(|finding| {
            let (keyword, schema) = finding.rule.clone().unzip();
            json!({
                "reason": finding.reason.code(), "at": finding.at, "text": finding.reason.text(),
                "hint": finding.reason.hint(), "expected": finding.expected, "found": finding.found,
                "keyword": keyword, "schema": schema, "source": finding.source.map(Source::name),
            })
        })
        .collect();
    let mut object = json!({
        "source": source,
        "verdict": if verdict.is_accept() { "accept" } else { "reject" },
        "reason": verdict.reason.map_or("ok", crate::verdict::Reason::code),
        "format": format.map(Compiled::name),
        "profile": profile.name(),
        "findings": findings,
        "unchecked": explained.unchecked.iter().map(|rule| rule.name).collect::<Vec<_>>(),
    });
    if let Some(object) = object.as_object_mut() {
        if verdict.ignored {
            object.insert("effect".into(), "ignored".into());
        }
        if let Some(warned) = verdict.warned {
            object.insert("warning".into(), warned.code().into());
        }
        if !explained.warnings.is_empty() {
            let names: Vec<_> = explained.warnings.iter().map(|rule| rule.name).collect();
            object.insert("warnings".into(), names.into());
        }
    }
    let wire = format.is_some_and(Compiled::has_wire_reasons);
    if let (Some(reason), true, Some(object)) = (verdict.reason, wire, object.as_object_mut()) {
        object.insert("wire".into(), reason.wire().into());
    }
    object
}
