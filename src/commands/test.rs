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
use crate::config::{Config, Profile};
use crate::formats::{self, Binding};
use crate::judge::{Judge, NoWatch, Payload, Rules};
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
    prior: Option<&'a RawValue>,
    #[serde(borrow)]
    steps: Option<&'a RawValue>,
    #[serde(borrow)]
    config: Option<&'a RawValue>,
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
    let profiles: &[Profile] = match args.profile.as_str() {
        "strict" => &[Profile::Strict],
        "lenient" => &[Profile::Lenient],
        _ => &[Profile::Strict, Profile::Lenient],
    };
    let mut counts = Counts::default();
    let mut out = std::io::stdout().lock();
    for file in &args.files {
        run_file(args, &config, profiles, file, &mut counts, &mut out)?;
    }
    let Counts { passed, failed, skipped } = counts;
    if !args.json {
        writeln!(out, "{passed} passed, {failed} failed, {skipped} skipped")?;
    }
    Ok(if failed > 0 { Ended::Findings } else { Ended::Well })
}

fn run_file(
    args: &Test,
    config: &Config,
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
            // Sequences and settings of single formats belong to rules that are not there yet.
            let got = if case.prior.is_some() || case.steps.is_some() || case.config.is_some() {
                None
            } else {
                Some(case.judge(config, *profile).with_context(|| place.clone()).map_err(usage)?)
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

    fn judge(&self, config: &Config, profile: Profile) -> anyhow::Result<Decision> {
        let mut config = config.clone();
        config.rules.profile = profile;
        let rules = Rules::compile(&config)?;
        let name = self.format.as_deref().unwrap_or("auto");
        let binding = Binding::from_name(name)
            .with_context(|| format!("format: found `{name}`, allowed: {}", Binding::names()))?;
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
        let verdict =
            Judge::new(&rules).judge(&rules, binding, Payload::Bytes(payload), &mut Vec::new(), &mut NoWatch);
        Ok(if name == "auto" { Decision::of_detection(verdict) } else { Decision::of(verdict, name) })
    }
}

impl Decision {
    fn of(verdict: Verdict, format: &str) -> Self {
        let reason =
            verdict.reason.map_or("ok", |reason| if format == "agh" { reason.wire() } else { reason.code() });
        Self {
            verdict: if verdict.is_accept() { "accept" } else { "reject" }.to_owned(),
            reason: Some(reason.to_owned()),
        }
    }

    /// In cases for detection, the verdict is the format that was found.
    fn of_detection(verdict: Verdict) -> Self {
        let found = match (verdict.reason, verdict.format) {
            (Some(Reason::UnknownFormat), _) | (None, None) => "unknown",
            (Some(Reason::AmbiguousFormat), _) => "ambiguous",
            (_, Some(format)) => formats::name(format),
            (Some(reason), None) => reason.code(),
        };
        Self { verdict: found.to_owned(), reason: None }
    }

    /// Whether this is what is wanted.
    fn meets(&self, want: &Self) -> bool {
        self.verdict == want.verdict && (want.reason.is_none() || self.reason == want.reason)
    }
}
