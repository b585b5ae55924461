//! The configuration: one TOML file, checked completely before anything runs.
//!
//! Every key is defined once, in `keys.rs`, with its default, its comment and what it allows; `configs/default.toml`,
//! the errors and the printed effective configuration derive from there. This module reads files and the
//! environment; it must not open brokers, keys or schemas.

mod bound;
mod choices;
mod client_defaults;
mod entries;
mod error;
mod formats;
mod keys;
mod owned;
mod peers;
mod read;
mod registry;
mod schema_files;
mod unique;

use std::collections::BTreeMap;
use std::path::Path;

pub use bound::{Bound, NoBound};
pub use choices::{
    AghPreset, Correlation, DedupKey, DirectBinding, DraftChoice, DuplicateNames, Enforcement, NullOptionals,
    OnFull, PayloadShape, ReplayGuard, SignatureEncoding, ThreadGrammar, TimestampForm, UnknownFields,
    VerifyProof,
};
pub use client_defaults::{CLIENT_DEFAULTS, ClientDefault, ClientKind};
pub use entries::{
    AgentEntry, AgentStatus, Constant, Detect, Iterations, Jwk, Jwks, SecretKey, SecretKeys, TaskEntry,
};
pub use error::{ConfigError, Problem};
pub use formats::{Agh, Alfred, Bluelabel, Custom, CustomKeys, Formats, Humaninloop, Olympus};
pub use keys::{
    ClockChoice, Config, DeliveryChoice, Files, Kafka, Ledger, Limits, OPS_LISTEN, OnStateLoss, Ops,
    PartitionChoice, Pipeline, Profile, RejectHeaders, Rejected, Rules, SaslMechanism, SecurityProtocol,
    Shadow, Traces, Window,
};
pub use owned::OWNED;
pub use peers::Peers;
pub use read::{Secret, did_you_mean};
pub use registry::{Names, Registry};
pub use schema_files::{MappedFile, SchemaFiles, SchemaFilesError};

impl Config {
    /// Reads and checks a configuration file.
    pub fn load(path: &Path) -> Result<Self, ConfigError> {
        let file = path.display().to_string();
        let text = std::fs::read_to_string(path)
            .map_err(|error| ConfigError::new(&file, Problem::Unreadable { message: error.to_string() }))?;
        Self::parse(&file, &text, &|name| std::env::var(name).ok())
    }

    /// Reads and checks a configuration from text; `env` looks up environment variables.
    pub fn parse(file: &str, text: &str, env: &dyn Fn(&str) -> Option<String>) -> Result<Self, ConfigError> {
        let mut config = Self::default();
        config.merge(file, text, env)?;
        Ok(config)
    }

    /// Reads further text over what is set: keys that it does not name stay as they are.
    pub fn merge(
        &mut self,
        file: &str,
        text: &str,
        env: &dyn Fn(&str) -> Option<String>,
    ) -> Result<(), ConfigError> {
        let config = self;
        let source = read::Source { file, text, env };
        let document = toml::de::DeTable::parse(text).map_err(|error| source.syntax_error(&error))?;
        for (name, value) in document.get_ref() {
            match name.get_ref().as_ref() {
                "format" => config.format.read(&source, value)?,
                "librdkafka" => config.librdkafka = source.free_table("librdkafka", value)?,
                "topic_formats" => config.topic_formats = source.free_table("topic_formats", value)?,
                _ => config.read_section(&source, name, value)?,
            }
        }
        config.format.check(&source)?;
        config.check(&source)
    }

    /// Checks that span several keys.
    fn check(&self, source: &read::Source<'_>) -> Result<(), ConfigError> {
        let wrong = |key: &str, found: String, allowed: &str| {
            Err(ConfigError::new(
                source.file,
                Problem::Value { key: key.into(), line: None, found, allowed: allowed.into() },
            ))
        };
        for key in self.librdkafka.keys() {
            if let Some((_, reason)) = OWNED.iter().find(|(owned, _)| owned == key) {
                let allowed = format!("keys that Tollgate does not own; {reason}");
                return wrong("librdkafka", format!("`{key}`"), &allowed);
            }
        }
        let pipeline = &self.pipeline;
        if pipeline.inflight_records_max < pipeline.batch_records_max {
            return wrong(
                "pipeline.inflight_records_max",
                pipeline.inflight_records_max.to_string(),
                "at least `pipeline.batch_records_max`",
            );
        }
        if !cfg!(feature = "otlp") && !self.traces.endpoint.is_empty() {
            let allowed =
                "nothing, since this build has no traces; `cargo build --features otlp` makes one that has";
            return wrong("traces.endpoint", format!("`{}`", self.traces.endpoint), allowed);
        }
        let kafka = &self.kafka;
        if !kafka.sasl_password.is_empty() && !kafka.sasl_password_file.is_empty() {
            return wrong(
                "kafka.sasl_password_file",
                "both are set".into(),
                "one of `sasl_password` and `sasl_password_file`",
            );
        }
        for topic in &kafka.topics {
            if kafka.accepted_topic(topic) == kafka.rejected_topic(topic) {
                return wrong(
                    "kafka.rejected",
                    kafka.rejected.clone(),
                    "another topic than `kafka.accepted`",
                );
            }
            // Also those of another input: its records would be judged a second time, or for ever.
            let outputs =
                [("accepted", kafka.accepted_topic(topic)), ("rejected", kafka.rejected_topic(topic))];
            if let Some((name, output)) =
                outputs.into_iter().find(|(_, output)| kafka.topics.contains(output))
            {
                return wrong(
                    &format!("kafka.{name}"),
                    format!("`{output}` for `{topic}`"),
                    "topics that are not inputs themselves",
                );
            }
            // A record that was rejected must never stand where another input's accepted ones are.
            let rejected = kafka.rejected_topic(topic);
            if kafka.topics.iter().any(|other| kafka.accepted_topic(other) == rejected) {
                return wrong(
                    "kafka.rejected",
                    format!("`{rejected}` for `{topic}`"),
                    "a topic without accepted records",
                );
            }
        }
        self.check_bindings(source)
    }

    /// A binding that no topic has is a slip of the pen, and its topic would be judged without it.
    fn check_bindings(&self, source: &read::Source<'_>) -> Result<(), ConfigError> {
        let topics = &self.kafka.topics;
        let unknown = |topic: &String| !topics.is_empty() && !topics.contains(topic);
        let by_topic = self.topic_formats.keys().map(|topic| ("topic_formats".to_owned(), topic));
        let by_format = self.format.custom.iter().flat_map(|(name, custom)| {
            let topics = match &custom.keys.detect {
                Detect::Topics(topics) => topics.as_slice(),
                Detect::Bound | Detect::Member { .. } => &[],
            };
            topics.iter().map(move |topic| (format!("format.{name}.detect"), topic))
        });
        match by_topic.chain(by_format).find(|(_, topic)| unknown(topic)) {
            None => Ok(()),
            Some((key, topic)) => {
                let (found, allowed) = (format!("`{topic}`"), format!("the input topics {topics:?}"));
                Err(ConfigError::new(source.file, Problem::Value { key, line: None, found, allowed }))
            }
        }
    }

    /// The effective configuration as TOML, secrets hidden.
    #[must_use]
    pub fn to_toml(&self) -> String {
        let mut text = self.sections_to_toml(false);
        self.format.write(&mut text, false);
        for (name, table) in [("topic_formats", &self.topic_formats), ("librdkafka", &self.librdkafka)] {
            text.push_str(&format!("\n[{name}]\n"));
            for (key, value) in table {
                let shown = if read::looks_secret(key) { "(hidden)" } else { value };
                text.push_str(&format!("{} = {}\n", read::quote(key), read::quote(shown)));
            }
        }
        text
    }

    /// Every key with its comment and default: the text of `configs/default.toml`.
    #[must_use]
    pub fn default_toml() -> String {
        let mut text = String::from(
            "# Every key of Tollgate's configuration with its default.\n\
             # Texts may hold ${NAME} or ${NAME:-default} from the environment; $$ is a dollar sign.\n\
             # Files that [format.…] sections name are looked up from the directory of the configuration.\n",
        );
        text.push_str(&Self::default().sections_to_toml(true));
        Formats::default().write(&mut text, true);
        text.push_str(
            "\n# Binds an input topic to a format; topics that are not listed use `rules.format`.\n\
             # [topic_formats]\n# \"agents.olympus\" = \"olympus\"\n\
             \n# Passed to librdkafka as they are; keys that Tollgate owns are refused. What Tollgate sets where you say nothing,\n\
             # with CPU seconds per million records of 0.8 KB, at least once and exactly once (2 vCPU of an Intel Xeon, KVM, busy\n\
             # with other work: differences below half a second say nothing):\n\
             # [librdkafka]\n",
        );
        for default in CLIENT_DEFAULTS {
            let whom = match default.kind {
                ClientKind::Consumer => "consumers",
                ClientKind::Producer => "producers",
            };
            for line in default.reason {
                text.push_str(&format!("# # {line}\n"));
            }
            text.push_str(&format!("# \"{}\" = \"{}\"  # {whom}\n", default.key, default.value));
        }
        text
    }
}

impl Kafka {
    /// The accepted topic of an input topic.
    #[must_use]
    pub fn accepted_topic(&self, input: &str) -> String {
        self.accepted.replace("{topic}", input)
    }

    /// The journal of an input topic, if there is to be one.
    #[must_use]
    pub fn journal_topic(&self, input: &str) -> Option<String> {
        (!self.journal.is_empty())
            .then(|| self.journal.replace("{topic}", input).replace("{group}", &self.group))
    }

    /// The rejected topic of an input topic.
    #[must_use]
    pub fn rejected_topic(&self, input: &str) -> String {
        self.rejected.replace("{topic}", input)
    }
}

/// A table of free keys and texts.
type FreeTable = BTreeMap<String, String>;

#[cfg(test)]
mod tests;
