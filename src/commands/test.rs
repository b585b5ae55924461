//! `tollgate test`: runs case files, envelopes with the verdict that they must get.
//!
//! One JSON object per line: `format`, `name`, `envelope` (or `raw`, `raw_b64`), `now`, `expect`, `reason`, `lenient`.
//! The envelope is fed as the raw text that stands in the file, never written anew. Strict compares verdict and
//! reason, lenient the verdict alone.

use std::io::Write;
use std::path::Path;

use anyhow::Context as _;
use base64::Engine as _;
use serde::Deserialize;
use serde_json::json;
use serde_json::value::RawValue;

use super::{Ended, Failure, load_config, usage};
use crate::cli::Test;
use crate::clock::Timestamp;
use crate::config::{Config, Profile};
use crate::formats::Compiled;
use crate::judge::{Input, Judge, NoWatch, Payload, Rules};
use crate::verdict::{Reason, Verdict};

/// A line of a case file; members that only inform are not read.
#[derive(Deserialize)]
struct Case<'a> {
    format: Option<String>,
    name: String,
    #[serde(borrow)]
    envelope: Option<&'a RawValue>,
    raw: Option<String>,
    raw_b64: Option<String>,
    #[serde(default)]
    expect: String,
    reason: Option<String>,
    lenient: Option<serde_json::Value>,
    layer: Option<String>,
    #[serde(borrow)]
    steps: Option<&'a RawValue>,
    #[serde(borrow)]
    config: Option<&'a RawValue>,
    now: Option<serde_json::Value>,
}

/// The rule sets of a run: one for each profile, and one of its own for a case that changes the configuration.
struct RuleSets<'c> {
    config: &'c Config,
    strict: Rules,
    lenient: Rules,
}

impl<'c> RuleSets<'c> {
    fn new(config: &'c Config) -> Result<Self, Failure> {
        let compile = |profile| compile(config, profile).map_err(usage);
        Ok(Self { config, strict: compile(Profile::Strict)?, lenient: compile(Profile::Lenient)? })
    }

    fn of(&self, profile: Profile) -> &Rules {
        if profile == Profile::Lenient { &self.lenient } else { &self.strict }
    }

    /// The rules with a case's settings over those of its format.
    fn with(&self, profile: Profile, format: &str, settings: &RawValue) -> anyhow::Result<Rules> {
        let settings: toml::Table = serde_json::from_str(settings.get()).context("config")?;
        let known = self.strict.formats().iter().find(|known| known.name() == format);
        let section = known.map_or(format, Compiled::family);
        let sections = toml::Table::from_iter([(section.to_owned(), toml::Value::Table(settings))]);
        let document = toml::Table::from_iter([("format".to_owned(), toml::Value::Table(sections))]);
        let mut config = self.config.clone();
        config.merge("config", &toml::to_string(&document)?, &|_| None)?;
        compile(&config, profile)
    }
}

fn compile(config: &Config, profile: Profile) -> anyhow::Result<Rules> {
    let mut config = config.clone();
    config.rules.profile = profile;
    Ok(Rules::compile(&config)?)
}

/// What is wanted of a case in one profile, or what came out.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Decision {
    verdict: String,
    /// Not compared where it is not wanted.
    reason: Option<String>,
}

impl std::fmt::Display for Decision {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}/{}", self.verdict, self.reason.as_deref().unwrap_or("-"))
    }
}

#[derive(Default)]
struct Counts {
    passed: u64,
    failed: u64,
    skipped: u64,
}

pub(super) fn run(args: &Test) -> Result<Ended, Failure> {
    let config = load_config(args.config.as_deref())?;
    let rules = RuleSets::new(&config)?;
    let profiles: &[Profile] = match args.profile.as_str() {
        "strict" => &[Profile::Strict],
        "lenient" => &[Profile::Lenient],
        _ => &[Profile::Strict, Profile::Lenient],
    };
    let mut counts = Counts::default();
    let mut out = std::io::stdout().lock();
    for file in &args.files {
        run_file(args, &rules, profiles, file, &mut counts, &mut out)?;
    }
    let Counts { passed, failed, skipped } = counts;
    if !args.json {
        writeln!(out, "{passed} passed, {failed} failed, {skipped} skipped")?;
    }
    Ok(if failed > 0 { Ended::Findings } else { Ended::Well })
}

fn run_file(
    args: &Test,
    rules: &RuleSets<'_>,
    profiles: &[Profile],
    file: &Path,
    counts: &mut Counts,
    out: &mut impl Write,
) -> Result<(), Failure> {
    let text = std::fs::read_to_string(file).with_context(|| file.display().to_string()).map_err(usage)?;
    for (number, line) in text.lines().enumerate().filter(|(_, line)| !line.trim().is_empty()) {
        let place = format!("{}:{}", file.display(), number + 1);
        let case: Case<'_> =
            serde_json::from_str(line).with_context(|| format!("{place}: not a case")).map_err(usage)?;
        let wanted_layer =
            args.layer.is_empty() || case.layer.as_ref().is_some_and(|layer| args.layer.contains(layer));
        if !wanted_layer {
            continue;
        }
        for profile in profiles {
            let want = case.wants(*profile);
            // What was seen before does not decide yet.
            let got = if case.steps.is_some() || case.layer.as_deref() == Some("state") {
                None
            } else {
                Some(case.judge(rules, *profile).with_context(|| place.clone()).map_err(usage)?)
            };
            let outcome = match &got {
                None => "skipped",
                Some(got) if got.meets(&want) => "passed",
                Some(_) => "failed",
            };
            match outcome {
                "passed" => counts.passed += 1,
                "failed" => counts.failed += 1,
                _ => counts.skipped += 1,
            }
            if args.json {
                let got = got.map(|got| json!({"verdict": got.verdict, "reason": got.reason}));
                let want = json!({"verdict": want.verdict, "reason": want.reason});
                writeln!(
                    out,
                    "{}",
                    json!({
                        "file": file.display().to_string(), "line": number + 1, "name": case.name,
                        "profile": profile.name(), "outcome": outcome, "want": want, "got": got,
                    })
                )?;
            } else if let (Some(got), "failed") = (&got, outcome) {
                writeln!(out, "{place} {} {} want {want} got {got}", case.name, profile.name())?;
            }
        }
    }
    Ok(())
}

impl Case<'_> {
    /// Strict: verdict and reason. Lenient: the verdict, which `lenient` overrides where it differs.
    fn wants(&self, profile: Profile) -> Decision {
        let lenient = self.lenient.as_ref().and_then(serde_json::Value::as_str);
        match profile {
            Profile::Lenient => {
                Decision { verdict: lenient.unwrap_or(&self.expect).to_owned(), reason: None }
            }
            Profile::Page | Profile::Strict => {
                Decision { verdict: self.expect.clone(), reason: self.reason.clone() }
            }
        }
    }

    fn judge(&self, rules: &RuleSets<'_>, profile: Profile) -> anyhow::Result<Decision> {
        let name = self.format.as_deref().unwrap_or("auto");
        let own;
        let rules = match self.config {
            None => rules.of(profile),
            Some(settings) => {
                own = rules.with(profile, name, settings)?;
                &own
            }
        };
        let binding = rules
            .binding(name)
            .with_context(|| format!("format: found `{name}`, allowed: {}", rules.binding_names()))?;
        let decoded;
        let payload = match (&self.envelope, &self.raw, &self.raw_b64) {
            (Some(envelope), None, None) => envelope.get().as_bytes(),
            (None, Some(raw), None) => raw.as_bytes(),
            (None, None, Some(base64)) => {
                decoded = base64::prelude::BASE64_STANDARD.decode(base64).context("raw_b64")?;
                &decoded
            }
            _ => anyhow::bail!("found none or several, allowed: one of envelope, raw and raw_b64"),
        };
        let input = Input { payload: Payload::Bytes(payload), key: None, now: self.now()? };
        let verdict = Judge::new(rules).judge(rules, binding, input, &mut Vec::new(), &mut NoWatch);
        Ok(if name == "auto" { Decision::of_detection(rules, verdict) } else { Decision::of(rules, verdict) })
    }

    /// The receiver's clock: a date-time, or seconds since the epoch.
    fn now(&self) -> anyhow::Result<Option<Timestamp>> {
        let Some(now) = &self.now else { return Ok(None) };
        let time = match now {
            serde_json::Value::String(text) => Timestamp::from_rfc3339(text),
            number => number.as_i64().map(Timestamp::from_secs),
        };
        time.map(Some)
            .with_context(|| format!("now: found {now}, allowed: RFC 3339, or seconds since the epoch"))
    }
}

impl Decision {
    fn of(rules: &Rules, verdict: Verdict) -> Self {
        let format = verdict.format.and_then(|format| rules.format(format));
        let wire = format.is_some_and(Compiled::has_wire_reasons);
        let reason = verdict.reason.map_or("ok", |reason| if wire { reason.wire() } else { reason.code() });
        Self {
            verdict: if verdict.is_accept() { "accept" } else { "reject" }.to_owned(),
            reason: Some(reason.to_owned()),
        }
    }

    /// In cases for detection, the verdict is the format that was found.
    fn of_detection(rules: &Rules, verdict: Verdict) -> Self {
        let found = match (verdict.reason, verdict.format) {
            (Some(Reason::UnknownFormat), _) | (None, None) => "unknown",
            (Some(Reason::AmbiguousFormat), _) => "ambiguous",
            (_, Some(format)) => rules.format_name(format),
            (Some(reason), None) => reason.code(),
        };
        Self { verdict: found.to_owned(), reason: None }
    }

    /// Whether this is what is wanted.
    fn meets(&self, want: &Self) -> bool {
        self.verdict == want.verdict && (want.reason.is_none() || self.reason == want.reason)
    }
}
