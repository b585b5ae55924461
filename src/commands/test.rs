//! `tollgate test`: runs case files, envelopes with the verdict that they must get.
//!
//! One JSON object per line: `format`, `name`, `envelope` (or `raw`, `raw_b64`), `now`, `expect`, `reason`, `lenient`;
//! `prior` are envelopes that come first and are accepted. A sequence has `steps` instead, each an envelope with its own
//! `now`, `expect`, `reason` and `work_state`. Envelopes are fed as the raw text that stands in the file, never written
//! anew, through the judge, the window and the ledger that a run has. Strict compares verdict and reason, lenient the
//! verdict alone.

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
use crate::formats::{Binding, Compiled};
use crate::judge::{Input, Judge, NoWatch, Payload, Rules};
use crate::state::ledger::WorkState;
use crate::state::{Origin, Settings, State};
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
    steps: Option<Vec<SequenceStep<'a>>>,
    #[serde(borrow, default)]
    prior: Vec<&'a RawValue>,
    #[serde(borrow)]
    local_peers: Option<&'a RawValue>,
    #[serde(borrow)]
    config: Option<&'a RawValue>,
    now: Option<serde_json::Value>,
}

/// A step of a sequence.
#[derive(Deserialize)]
struct SequenceStep<'a> {
    #[serde(borrow)]
    envelope: &'a RawValue,
    now: Option<serde_json::Value>,
    expect: String,
    reason: Option<String>,
    /// Compared where it stands there, also if it is null.
    #[serde(default, deserialize_with = "present")]
    work_state: Option<serde_json::Value>,
}

/// Tells null from absent.
fn present<'de, D: serde::Deserializer<'de>>(value: D) -> Result<Option<serde_json::Value>, D::Error> {
    serde_json::Value::deserialize(value).map(Some)
}

/// LIMIT: a case needs little memory.
const WINDOW_BYTES: u64 = 1 << 20;

/// What one profile judges by.
struct Court {
    rules: Rules,
    settings: Settings,
}

/// The rule sets of a run: one for each profile, and one of its own for a case that changes the configuration.
struct RuleSets<'c> {
    config: &'c Config,
    strict: Court,
    lenient: Court,
}

impl<'c> RuleSets<'c> {
    fn new(config: &'c Config) -> Result<Self, Failure> {
        let compile = |profile| compile(config, profile).map_err(usage);
        Ok(Self { config, strict: compile(Profile::Strict)?, lenient: compile(Profile::Lenient)? })
    }

    fn of(&self, profile: Profile) -> &Court {
        if profile == Profile::Lenient { &self.lenient } else { &self.strict }
    }

    /// The rules with a case's settings over those of its format.
    fn with(&self, profile: Profile, format: &str, settings: toml::Table) -> anyhow::Result<Court> {
        let known = self.strict.rules.formats().iter().find(|known| known.name() == format);
        let section = known.map_or(format, Compiled::family);
        let sections = toml::Table::from_iter([(section.to_owned(), toml::Value::Table(settings))]);
        let document = toml::Table::from_iter([("format".to_owned(), toml::Value::Table(sections))]);
        let mut config = self.config.clone();
        config.merge("config", &toml::to_string(&document)?, &|_| None)?;
        compile(&config, profile)
    }
}

fn compile(config: &Config, profile: Profile) -> anyhow::Result<Court> {
    let mut config = config.clone();
    config.rules.profile = profile;
    config.window.memory_bytes_max = config.window.memory_bytes_max.min(WINDOW_BYTES);
    Ok(Court { rules: Rules::compile(&config)?, settings: Settings::of(&config) })
}

/// Judges the envelopes of one case, one after the other.
struct Sequence<'c> {
    court: &'c Court,
    binding: Binding,
    judge: Judge,
    state: State,
    asks_state: bool,
    batch: u64,
}

/// What came out of one envelope.
struct Judged {
    verdict: Verdict,
    work_state: Option<&'static str>,
}

impl<'c> Sequence<'c> {
    fn new(court: &'c Court, format: &str) -> anyhow::Result<Self> {
        let rules = &court.rules;
        let binding = rules
            .binding(format)
            .with_context(|| format!("format: found `{format}`, allowed: {}", rules.binding_names()))?;
        let mut judge = Judge::new(rules);
        judge.make_facts();
        Ok(Self {
            court,
            binding,
            judge,
            state: State::new(court.settings.clone())?,
            asks_state: true,
            batch: 0,
        })
    }

    /// Each envelope is a batch of its own that is committed at once.
    fn judge(&mut self, payload: &[u8], now: Option<Timestamp>) -> anyhow::Result<Judged> {
        let input = Input { payload: Payload::Bytes(payload), key: None, now };
        let rules = &self.court.rules;
        let mut verdict = self.judge.judge(rules, self.binding, input, &mut Vec::new(), &mut NoWatch);
        let mut work_state = None;
        if let Some(facts) = self.judge.facts().filter(|_| verdict.is_accept() && self.asks_state) {
            self.batch += 1;
            self.state.begin(self.batch, Origin::default());
            let ruling = self.state.decide(facts).map_err(|_| anyhow::anyhow!("the window is full"))?;
            self.state.commit(self.batch);
            verdict = Verdict { reason: ruling.reason, ignored: ruling.ignored, ..verdict };
            work_state = self.state.work_state(facts).map(WorkState::name);
        }
        Ok(Judged { verdict, work_state })
    }
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
    let Counts { passed, failed } = counts;
    if !args.json {
        writeln!(out, "{passed} passed, {failed} failed, 0 skipped")?;
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
            let (want, got) =
                case.judge(rules, *profile, want).with_context(|| place.clone()).map_err(usage)?;
            let passed = got.meets(&want);
            *(if passed { &mut counts.passed } else { &mut counts.failed }) += 1;
            let outcome = if passed { "passed" } else { "failed" };
            if args.json {
                let got = json!({"verdict": got.verdict, "reason": got.reason});
                let want = json!({"verdict": want.verdict, "reason": want.reason});
                writeln!(
                    out,
                    "{}",
                    json!({
                        "file": file.display().to_string(), "line": number + 1, "name": case.name,
                        "profile": profile.name(), "outcome": outcome, "want": want, "got": got,
                    })
                )?;
            } else if !passed {
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

    /// What is wanted and what came out; of a sequence, at the first step where they differ.
    fn judge(
        &self,
        rules: &RuleSets<'_>,
        profile: Profile,
        want: Decision,
    ) -> anyhow::Result<(Decision, Decision)> {
        let name = self.format.as_deref().unwrap_or("auto");
        let own;
        let court = if self.config.is_none() && self.local_peers.is_none() {
            rules.of(profile)
        } else {
            own = rules.with(profile, name, self.settings()?)?;
            &own
        };
        let mut sequence = Sequence::new(court, name)?;
        if let Some(steps) = &self.steps {
            return run_steps(&mut sequence, steps, profile);
        }
        let now = time_of(self.now.as_ref())?;
        for (number, prior) in self.prior.iter().enumerate() {
            let verdict = sequence.judge(prior.get().as_bytes(), now)?.verdict;
            if !verdict.is_accept() {
                let mut got = Decision::of(&court.rules, verdict);
                got.verdict = format!("prior-{}-{}", number + 1, got.verdict);
                return Ok((want, got));
            }
        }
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
        // A single envelope of agh is judged by the protocol's steps up to its work, which a sequence is about.
        sequence.asks_state = name != "agh" || !self.prior.is_empty();
        let verdict = sequence.judge(payload, now)?.verdict;
        let rules = &court.rules;
        let got = if name == "auto" {
            Decision::of_detection(rules, verdict)
        } else {
            Decision::of(rules, verdict)
        };
        Ok((want, got))
    }

    /// The case's own settings of its format.
    fn settings(&self) -> anyhow::Result<toml::Table> {
        let mut settings: toml::Table = match self.config {
            Some(config) => serde_json::from_str(config.get()).context("config")?,
            None => toml::Table::new(),
        };
        if let Some(peers) = self.local_peers {
            settings
                .insert("local_peers".to_owned(), serde_json::from_str(peers.get()).context("local_peers")?);
        }
        Ok(settings)
    }
}

/// Both profiles want the same of a sequence; lenient compares the verdicts alone.
fn run_steps(
    sequence: &mut Sequence<'_>,
    steps: &[SequenceStep<'_>],
    profile: Profile,
) -> anyhow::Result<(Decision, Decision)> {
    let mut last = None;
    for (number, step) in steps.iter().enumerate() {
        let judged = sequence.judge(step.envelope.get().as_bytes(), time_of(step.now.as_ref())?)?;
        let mut got = Decision::of(&sequence.court.rules, judged.verdict);
        if judged.verdict.ignored && judged.verdict.is_accept() {
            "ignore".clone_into(&mut got.verdict);
        }
        let reason = step.reason.clone().filter(|_| profile != Profile::Lenient);
        let mut want = Decision { verdict: step.expect.clone(), reason };
        if let Some(work_state) = &step.work_state {
            let shown = |state: Option<&str>| state.unwrap_or("none").to_owned();
            want.verdict = format!("{}+{}", want.verdict, shown(work_state.as_str()));
            got.verdict = format!("{}+{}", got.verdict, shown(judged.work_state));
        }
        if !got.meets(&want) {
            want.verdict = format!("step-{}-{}", number + 1, want.verdict);
            return Ok((want, got));
        }
        last = Some((want, got));
    }
    last.context("steps: found none, allowed: at least one")
}

/// The receiver's clock: a date-time, or seconds since the epoch.
fn time_of(now: Option<&serde_json::Value>) -> anyhow::Result<Option<Timestamp>> {
    let Some(now) = now else { return Ok(None) };
    let time = match now {
        serde_json::Value::String(text) => Timestamp::from_rfc3339(text),
        number => number.as_i64().map(Timestamp::from_secs),
    };
    time.map(Some).with_context(|| format!("now: found {now}, allowed: RFC 3339, or seconds since the epoch"))
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
