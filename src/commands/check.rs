//! `tollgate check`: explains the verdict on one or more envelopes.

use std::io::Write;

use serde_json::{Value, json};

use super::{Ended, Failure, compile_rules, envelopes, load_config, usage, visible};
use crate::cli::Check;
use crate::clock;
use crate::config::{ClockChoice, Profile, did_you_mean};
use crate::formats::{Compiled, Rule, Source, sequence};
use crate::judge::{self, Explained, Finding, Judge, Rules, explain};
use crate::state::{Ruling, Settings, State};
use crate::verdict::Reason;

pub(super) fn run(args: &Check) -> Result<Ended, Failure> {
    let mut config = load_config(args.config.as_deref())?;
    if args.format.is_some() {
        // Not the file's: the command line names the format.
        "auto".clone_into(&mut config.rules.format);
    }
    if let Some(profile) = args.profile {
        config.rules.profile = profile;
    }
    let rules = compile_rules(&config, args.config.as_deref())?;
    let binding = match &args.format {
        None => rules.default_binding(),
        Some(name) => rules.binding(name).ok_or_else(|| {
            let allowed = rules.binding_names();
            let near = did_you_mean(name, allowed.split(", "));
            usage(anyhow::anyhow!("--format: found `{name}`, allowed: {allowed}{near}"))
        })?,
    };
    let mut judge = Judge::new(&rules);
    judge.make_facts();
    let mut state = State::new(Settings::of(&config)).map_err(usage)?;
    let now = args.as_of.or_else(|| (config.rules.clock != ClockChoice::Record).then(clock::wall));
    let mut printer = Printer { args, rules: &rules, profile: config.rules.profile, ended: Ended::Well };
    // The first envelope waits until it is known whether it is the only one.
    let (mut first, mut count) = (None, 0_u64);
    envelopes::each(&args.paths, "check", |envelope| {
        count += 1;
        let record = judge::Input { payload: envelope.payload, key: Some(envelope.path.as_bytes()), now };
        let explained = explain(&mut judge, &rules, binding, record);
        let ruling = match judge.facts().filter(|_| explained.verdict.is_accept() && !args.apart) {
            Some(facts) => {
                Some(state.decide(facts).map_err(|_| anyhow::anyhow!("the replay window is full"))?)
            }
            None => None,
        };
        let checked = Checked { source: envelope.source, explained, ruling };
        if count == 1 {
            first = Some(checked);
            return Ok(());
        }
        if let Some(first) = first.take() {
            printer.print(first, false)?;
        }
        printer.print(checked, false)
    })
    .or_else(|failure| match first.take() {
        // A file that cannot be read does not keep the others from being told.
        Some(first) => printer.print(first, true).and(Err(failure)),
        None => Err(failure),
    })?;
    if let Some(only) = first {
        printer.print(only, true)?;
    }
    Ok(printer.ended)
}

/// An envelope that was judged, and what the ones before it say.
struct Checked {
    source: String,
    explained: Explained,
    ruling: Option<Ruling>,
}

/// Prints envelopes, and remembers whether one was rejected.
struct Printer<'a> {
    args: &'a Check,
    rules: &'a Rules,
    profile: Profile,
    ended: Ended,
}

impl Printer<'_> {
    fn print(&mut self, checked: Checked, alone: bool) -> Result<(), Failure> {
        let Checked { source, mut explained, ruling } = checked;
        let format = explained.verdict.format.and_then(|format| self.rules.format(format));
        if let Some(ruling) = ruling {
            rule(&mut explained, ruling, format.map_or("", Compiled::family), alone);
        }
        if !explained.verdict.is_accept() {
            self.ended = Ended::Findings;
        }
        let text = if self.args.json {
            format!("{}\n", to_json(&source, &explained, format, self.profile))
        } else {
            to_text(&source, &explained, format, self.profile)
        };
        Ok(std::io::stdout().lock().write_all(text.as_bytes())?)
    }
}

/// What was seen before has the last word; of an envelope that stands alone, nobody knows what came before.
fn rule(explained: &mut Explained, ruling: Ruling, family: &str, alone: bool) {
    let by_past = |reason: &Reason| {
        matches!(
            reason,
            Reason::NoAssignment
                | Reason::BadParent
                | Reason::Correlation
                | Reason::PayloadContract
                | Reason::Inconsistent
        )
    };
    explained.verdict.ignored = ruling.ignored;
    if alone && let Some(reason) = ruling.reason.or(ruling.warned).filter(by_past) {
        explained.unchecked.extend(sequence::rule_of(family, reason));
        return;
    }
    explained.verdict.warned = ruling.warned.or(explained.verdict.warned);
    if let Some(reason) = ruling.reason {
        explained.verdict.reason = Some(reason);
        explained.findings.push(Finding::by_past(reason, sequence::rule_of(family, reason)));
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
            let why = if lacks {
                format!("needs {}", keys.join(" or "))
            } else if rule.needs.is_empty() {
                "needs the envelopes before it".to_owned()
            } else {
                "not at hand".to_owned()
            };
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
        "reason": verdict.reason.map_or("ok", Reason::code),
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
