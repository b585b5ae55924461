//! A line of a case file: what it may hold, and what is wrong with one that holds something else.
//!
//! Whoever writes cases gets an error for a slip of the pen; otherwise the case would be about less than it says, and
//! pass.

use anyhow::{Context as _, bail};
use base64::Engine as _;
use serde::Deserialize;
use serde::de::IgnoredAny;
use serde_json::value::RawValue;

use crate::clock::Timestamp;
use crate::formats::Compiled;
use crate::judge::Rules;
use crate::verdict::Reason;

/// A line of a case file; `None` stands for what only informs.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Case<'a> {
    pub(super) format: Option<String>,
    pub(super) name: String,
    #[serde(borrow)]
    envelope: Option<&'a RawValue>,
    raw: Option<String>,
    raw_b64: Option<String>,
    pub(super) expect: Option<String>,
    pub(super) reason: Option<String>,
    pub(super) lenient: Option<String>,
    pub(super) layer: Option<String>,
    #[serde(borrow)]
    pub(super) steps: Option<Vec<SequenceStep<'a>>>,
    #[serde(borrow, default)]
    pub(super) prior: Vec<&'a RawValue>,
    #[serde(borrow)]
    pub(super) local_peers: Option<&'a RawValue>,
    #[serde(borrow)]
    pub(super) config: Option<&'a RawValue>,
    now: Option<serde_json::Value>,
    #[serde(rename = "class")]
    _class: Option<IgnoredAny>,
    #[serde(rename = "schema")]
    _schema: Option<IgnoredAny>,
    #[serde(rename = "ref")]
    _ref: Option<IgnoredAny>,
    #[serde(rename = "schema_tools_differ")]
    _schema_tools_differ: Option<IgnoredAny>,
    #[serde(rename = "ambiguous")]
    _ambiguous: Option<IgnoredAny>,
    #[serde(rename = "note")]
    _note: Option<IgnoredAny>,
}

/// A step of a sequence.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct SequenceStep<'a> {
    #[serde(borrow)]
    pub(super) envelope: &'a RawValue,
    now: Option<serde_json::Value>,
    pub(super) expect: String,
    pub(super) reason: Option<String>,
    /// Compared where it stands there, also if it is null.
    #[serde(default, deserialize_with = "present")]
    pub(super) work_state: Option<serde_json::Value>,
    #[serde(rename = "deliver_to")]
    _deliver_to: Option<IgnoredAny>,
    #[serde(rename = "emit_receipt")]
    _emit_receipt: Option<IgnoredAny>,
    #[serde(rename = "class")]
    _class: Option<IgnoredAny>,
    #[serde(rename = "ref")]
    _ref: Option<IgnoredAny>,
    #[serde(rename = "note")]
    _note: Option<IgnoredAny>,
}

/// Tells null from absent.
fn present<'de, D: serde::Deserializer<'de>>(value: D) -> Result<Option<serde_json::Value>, D::Error> {
    serde_json::Value::deserialize(value).map(Some)
}

impl<'a> Case<'a> {
    /// Reads a line and checks what it wants.
    pub(super) fn read(line: &'a str, rules: &Rules) -> anyhow::Result<Self> {
        let found = match line.trim_start().as_bytes().first() {
            Some(b'{') => None,
            Some(b'[') => Some("an array"),
            Some(b'"') => Some("a text"),
            _ => Some("no JSON object"),
        };
        if let Some(found) = found {
            bail!("found {found}, allowed: one JSON object on each line");
        }
        let case: Self = serde_json::from_str(line).context("not a case")?;
        case.check(rules)?;
        Ok(case)
    }

    /// A verdict that can never come out is a slip of the pen.
    fn check(&self, rules: &Rules) -> anyhow::Result<()> {
        if let Some(steps) = &self.steps {
            for (number, step) in steps.iter().enumerate() {
                let member = format!("steps[{number}].expect");
                one_of(&member, &step.expect, &["accept", "reject", "ignore"])?;
            }
            if self.envelope.is_some() || self.raw.is_some() || self.raw_b64.is_some() {
                bail!("found `steps` beside an envelope, allowed: one of them");
            }
        } else if self.expect.is_none() {
            bail!("expect: found nothing, allowed: a verdict, or `steps` that have one each");
        }
        let detects = self.format.as_deref() == Some("auto");
        let mut allowed: Vec<&str> =
            if detects { vec!["ambiguous", "unknown"] } else { vec!["accept", "reject"] };
        if detects {
            allowed.extend(rules.formats().iter().map(Compiled::name));
        }
        for (member, verdict) in [("expect", &self.expect), ("lenient", &self.lenient)] {
            // What is no envelope at all is told by its reason.
            let is_reason = |verdict: &str| detects && Reason::from_code(verdict).is_some();
            if let Some(verdict) = verdict.as_deref().filter(|verdict| !is_reason(verdict)) {
                one_of(member, verdict, &allowed)?;
            }
        }
        Ok(())
    }

    /// The bytes of the record that the case is about.
    pub(super) fn payload(&self) -> anyhow::Result<Vec<u8>> {
        match (&self.envelope, &self.raw, &self.raw_b64) {
            (Some(envelope), None, None) => Ok(envelope.get().as_bytes().to_vec()),
            (None, Some(raw), None) => Ok(raw.as_bytes().to_vec()),
            (None, None, Some(base64)) => base64::prelude::BASE64_STANDARD.decode(base64).context("raw_b64"),
            _ => bail!("found none or several, allowed: one of envelope, raw and raw_b64"),
        }
    }

    /// The receiver's clock.
    pub(super) fn now(&self) -> anyhow::Result<Option<Timestamp>> {
        time_of(self.now.as_ref())
    }

    /// The case's own settings of its format.
    pub(super) fn settings(&self) -> anyhow::Result<toml::Table> {
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

impl SequenceStep<'_> {
    /// The receiver's clock.
    pub(super) fn now(&self) -> anyhow::Result<Option<Timestamp>> {
        time_of(self.now.as_ref())
    }

    /// The work that the envelope names, whatever else is wrong with it: workspace and work id.
    pub(super) fn work(&self) -> Option<(String, String)> {
        let envelope: serde_json::Value = serde_json::from_str(self.envelope.get()).ok()?;
        let text = |name: &str| envelope.get(name).and_then(serde_json::Value::as_str).map(str::to_owned);
        Some((text("workspace_id")?, text("work_id")?))
    }
}

fn one_of(member: &str, found: &str, allowed: &[&str]) -> anyhow::Result<()> {
    if allowed.contains(&found) {
        return Ok(());
    }
    bail!("{member}: found {found:?}, allowed: {}", allowed.join(", "))
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
