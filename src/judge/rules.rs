//! The rule set: everything that decides about a record, compiled once and shared by all workers.

use ring::digest::{Context, SHA256};

use crate::config;
use crate::formats::{Binding, Detector, FORMATS};
use crate::program::{CompileError, Options, Program};
use crate::verdict::FormatId;

/// Rules that cannot be made.
#[derive(Debug, thiserror::Error)]
pub enum RulesError {
    /// A schema does not compile.
    #[error("schema of {format}: {source}")]
    Schema {
        /// The format.
        format: &'static str,
        /// Why.
        source: CompileError,
    },
    /// A binding to a format that does not exist.
    #[error("`{key}`: found `{found}`, allowed: {}", Binding::names())]
    Format {
        /// The configuration key.
        key: String,
        /// What it names.
        found: String,
    },
}

/// A compiled rule set.
pub struct Rules {
    limits: config::Limits,
    detector: Detector,
    programs: Vec<Program>,
    binding: Binding,
    topic_bindings: Vec<(String, Binding)>,
    hash: String,
}

impl Rules {
    /// Compiles the rules of a configuration.
    pub fn compile(config: &config::Config) -> Result<Self, RulesError> {
        let binding = |key: &str, name: &str| {
            Binding::from_name(name)
                .ok_or_else(|| RulesError::Format { key: key.to_owned(), found: name.to_owned() })
        };
        let programs = FORMATS
            .iter()
            .map(|format| {
                Program::compile(format.schema, format.schema_file, &Options::default())
                    .map_err(|source| RulesError::Schema { format: format.name, source })
            })
            .collect::<Result<Vec<_>, _>>()?;
        let topic_bindings = config
            .topic_formats
            .iter()
            .map(|(topic, name)| Ok((topic.clone(), binding(&format!("topic_formats.\"{topic}\""), name)?)))
            .collect::<Result<Vec<_>, RulesError>>()?;
        Ok(Self {
            limits: config.limits.clone(),
            detector: Detector::new(config.rules.profile == config::Profile::Lenient),
            programs,
            binding: binding("rules.format", &config.rules.format)?,
            topic_bindings,
            hash: hash(config),
        })
    }

    /// The limits of every record.
    #[must_use]
    pub fn limits(&self) -> &config::Limits {
        &self.limits
    }

    /// Names the rule set in headers and reports: equal rules, equal hash.
    #[must_use]
    pub fn hash(&self) -> &str {
        &self.hash
    }

    /// How records of files, and of topics that are not bound, are told apart.
    #[must_use]
    pub fn default_binding(&self) -> Binding {
        self.binding
    }

    /// How records of a topic are told apart.
    #[must_use]
    pub fn topic_binding(&self, topic: &str) -> Binding {
        self.topic_bindings
            .iter()
            .find(|(name, _)| name == topic)
            .map_or(self.binding, |(_, binding)| *binding)
    }

    pub(super) fn detector(&self) -> &Detector {
        &self.detector
    }

    pub(super) fn program(&self, format: FormatId) -> Option<&Program> {
        self.programs.get(usize::from(format.0))
    }
}

/// SHA-256 over everything that can change a verdict, shortened to 16 hex digits.
fn hash(config: &config::Config) -> String {
    const HEX_DIGITS: usize = 16;
    let mut context = Context::new(&SHA256);
    let mut add = |text: &str| {
        context.update(&(text.len() as u64).to_be_bytes());
        context.update(text.as_bytes());
    };
    add(env!("CARGO_PKG_VERSION"));
    for format in FORMATS {
        add(format.name);
        add(format.schema);
    }
    add(config.rules.profile.name());
    add(&config.rules.format);
    for (topic, format) in &config.topic_formats {
        add(topic);
        add(format);
    }
    add(&config.limits.payload_bytes_max.to_string());
    add(&config.limits.depth_max.to_string());
    let digest = context.finish();
    let mut text = String::with_capacity(HEX_DIGITS);
    for byte in digest.as_ref().iter().take(HEX_DIGITS / 2) {
        text.push_str(&format!("{byte:02x}"));
    }
    text
}
