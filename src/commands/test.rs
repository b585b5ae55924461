//! `tollgate test`: runs case files, envelopes with the verdict that they must get.
//!
//! One JSON object per line: `format`, `name`, `envelope` (or `raw`, `raw_b64`), `now`, `expect`, `reason`, `lenient`;
//! `prior` are envelopes that come first and are accepted. A sequence has `steps` instead, each an envelope with its own
//! `now`, `expect`, `reason` and `work_state`. Envelopes are fed as the raw text that stands in the file, never written
//! anew, through the judge, the window and the ledger that a run has. Strict compares verdict and reason, lenient the
//! verdict alone.

use std::collections::HashMap;
use std::io::Write;
use std::path::Path;

use anyhow::Context as _;
use serde_json::json;

use super::case::{Case, SequenceStep};
use super::{Ended, Failure, load_config, usage, visible};
use crate::cli::Test;
use crate::clock::Timestamp;
use crate::config::{Config, Profile};
use crate::formats::{Binding, Compiled, Facts};
use crate::judge::{Input, Judge, NoWatch, Payload, Rules};
use crate::state::ledger::WorkState;
use crate::state::{Origin, Settings, State};
use crate::verdict::{Reason, Verdict};

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
    /// The rules of both profiles; `file` is where their keys stand.
    fn new(config: &'c Config, file: Option<&Path>) -> Result<Self, Failure> {
        let compile = |profile| {
            compile(config, profile).map_err(|error| match file {
                Some(file) => usage(error.context(file.display().to_string())),
                None => usage(error),
            })
        };
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
    /// The last message of each work that reached the ledger, by workspace and work id.
    works: HashMap<(String, String), Facts>,
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
            works: HashMap::new(),
        })
    }

    /// Each envelope is a batch of its own that is committed at once.
    fn judge(&mut self, payload: &[u8], now: Option<Timestamp>) -> anyhow::Result<Verdict> {
        let input = Input { payload: Payload::Bytes(payload), key: None, now };
        let rules = &self.court.rules;
        let mut verdict = self.judge.judge(rules, self.binding, input, &mut Vec::new(), &mut NoWatch);
        if let Some(facts) = self.judge.facts().filter(|_| verdict.is_accept() && self.asks_state) {
            self.batch += 1;
            self.state.begin(self.batch, Origin::default());
            let ruling = self.state.decide(facts).map_err(|_| anyhow::anyhow!("the window is full"))?;
            self.state.commit(self.batch);
            verdict = Verdict { reason: ruling.reason, ignored: ruling.ignored, ..verdict };
        }
        Ok(verdict)
    }

    /// How far the work is that a step names, after it was judged: also where the step never came to the ledger.
    fn work_state(&mut self, step: &SequenceStep<'_>) -> Option<&'static str> {
        let work = step.work();
        if let Some(facts) = self.judge.facts() {
            if let Some(work) = work {
                self.works.insert(work, *facts);
            }
            return self.state.work_state(facts).map(WorkState::name);
        }
        self.state.work_state(self.works.get(&work?)?).map(WorkState::name)
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
    let rules = RuleSets::new(&config, args.config.as_deref())?;
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
    let name = file.display();
    let bytes = std::fs::read(file).map_err(|error| {
        anyhow::anyhow!("{name}: cannot be opened for reading ({error}); expected a readable file")
    })?;
    let text = String::from_utf8(bytes).with_context(|| name.to_string()).map_err(usage)?;
    if text.trim().is_empty() {
        return Err(usage(anyhow::anyhow!("{name}: found no case, allowed: one JSON object on each line")));
    }
    for (number, line) in text.lines().enumerate().filter(|(_, line)| !line.trim().is_empty()) {
        let place = format!("{}:{}", file.display(), number + 1);
        let case = Case::read(line, &rules.strict.rules).with_context(|| place.clone()).map_err(usage)?;
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
                let line = format!("{place} {} {} want {want} got {got}", case.name, profile.name());
                writeln!(out, "{}", visible(&line))?;
            }
        }
    }
    Ok(())
}

impl Case<'_> {
    /// Strict: verdict and reason. Lenient: the verdict, which `lenient` overrides where it differs.
    fn wants(&self, profile: Profile) -> Decision {
        let strict = self.expect.as_deref().unwrap_or_default();
        match profile {
            Profile::Lenient => {
                Decision { verdict: self.lenient.as_deref().unwrap_or(strict).to_owned(), reason: None }
            }
            Profile::Page | Profile::Strict => {
                Decision { verdict: strict.to_owned(), reason: self.reason.clone() }
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
        let now = self.now()?;
        for (number, prior) in self.prior.iter().enumerate() {
            let verdict = sequence.judge(prior.get().as_bytes(), now)?;
            if !verdict.is_accept() {
                let mut got = Decision::of(&court.rules, verdict);
                got.verdict = format!("prior-{}-{}", number + 1, got.verdict);
                return Ok((want, got));
            }
        }
        // A single envelope of agh is judged by the protocol's steps up to its work, which a sequence is about.
        sequence.asks_state = name != "agh" || !self.prior.is_empty();
        let verdict = sequence.judge(&self.payload()?, now)?;
        let rules = &court.rules;
        let got = if name == "auto" {
            Decision::of_detection(rules, verdict)
        } else {
            Decision::of(rules, verdict)
        };
        Ok((want, got))
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
        let verdict = sequence.judge(step.envelope.get().as_bytes(), step.now()?)?;
        let stands = sequence.work_state(step);
        let mut got = Decision::of(&sequence.court.rules, verdict);
        if verdict.ignored && verdict.is_accept() {
            "ignore".clone_into(&mut got.verdict);
        }
        let reason = step.reason.clone().filter(|_| profile != Profile::Lenient);
        let mut want = Decision { verdict: step.expect.clone(), reason };
        if let Some(work_state) = &step.work_state {
            let shown = |state: Option<&str>| state.unwrap_or("none").to_owned();
            want.verdict = format!("{}+{}", want.verdict, shown(work_state.as_str()));
            got.verdict = format!("{}+{}", got.verdict, shown(stands));
        }
        if !got.meets(&want) {
            want.verdict = format!("step-{}-{}", number + 1, want.verdict);
            return Ok((want, got));
        }
        last = Some((want, got));
    }
    last.context("steps: found none, allowed: at least one")
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
