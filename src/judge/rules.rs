//! The rule set: everything that decides about a record, compiled once and shared by all workers.

use std::sync::atomic::{AtomicU64, Ordering};

use ring::digest::{Context, SHA256};

use crate::config;
use crate::formats::{self, Binding, Compiled, Detector, FORMATS, FormatError, FormatSet, Lack};
use crate::verdict::FormatId;

/// Rules that cannot be made.
#[derive(Debug, thiserror::Error)]
pub enum RulesError {
    /// A format cannot be made ready.
    #[error(transparent)]
    Format(#[from] FormatError),
    /// A binding to a format that does not exist.
    #[error("`{key}`: found `{found}`, allowed: {allowed}")]
    Binding {
        /// The configuration key.
        key: String,
        /// What it names.
        found: String,
        /// What it may name.
        allowed: String,
    },
}

/// A compiled rule set.
pub struct Rules {
    /// No other rule set of the process has it.
    id: u64,
    limits: config::Limits,
    detector: Detector,
    formats: Vec<Compiled>,
    binding: Binding,
    topic_bindings: Vec<(String, Binding)>,
    hash: String,
}

impl Rules {
    /// Compiles the rules of a configuration.
    pub fn compile(config: &config::Config) -> Result<Self, RulesError> {
        static NEXT: AtomicU64 = AtomicU64::new(1);
        let formats = formats::compile(config)?;
        let binding = |key: &str, name: &str| {
            binding_of(&formats, name).ok_or_else(|| RulesError::Binding {
                key: key.to_owned(),
                found: name.to_owned(),
                allowed: format!(
                    "{}{}",
                    names_of(&formats).join(", "),
                    config::did_you_mean(name, names_of(&formats).into_iter())
                ),
            })
        };
        let topic_bindings = topic_formats(config)?
            .into_iter()
            .map(|(topic, name, key)| Ok((topic.to_owned(), binding(&key, name)?)))
            .collect::<Result<Vec<_>, RulesError>>()?;
        Ok(Self {
            id: NEXT.fetch_add(1, Ordering::Relaxed),
            limits: config.limits.clone(),
            detector: Detector::new(&formats, config.rules.profile == config::Profile::Lenient),
            binding: binding("rules.format", &config.rules.format)?,
            topic_bindings,
            hash: hash(config),
            formats,
        })
    }

    pub(super) fn id(&self) -> u64 {
        self.id
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

    /// All formats, in the order of their ids.
    #[must_use]
    pub fn formats(&self) -> &[Compiled] {
        &self.formats
    }

    /// A format.
    #[must_use]
    pub fn format(&self, id: FormatId) -> Option<&Compiled> {
        self.formats.get(usize::from(id.0))
    }

    /// The name of a format.
    #[must_use]
    pub fn format_name(&self, id: FormatId) -> &str {
        self.format(id).map_or("?", Compiled::name)
    }

    /// `auto`, or a format's or family's name, as a binding.
    #[must_use]
    pub fn binding(&self, name: &str) -> Option<Binding> {
        binding_of(&self.formats, name)
    }

    /// What [`Self::binding`] takes, for error texts.
    #[must_use]
    pub fn binding_names(&self) -> String {
        names_of(&self.formats).join(", ")
    }

    /// The one format that a topic is bound to, if its protocol has reasons of its own that go onto the wire.
    pub(super) fn wire_format(&self, binding: Binding) -> Option<FormatId> {
        let Binding::Pinned(formats) = binding else { return None };
        formats.single().filter(|id| self.format(*id).is_some_and(Compiled::has_wire_reasons))
    }

    /// Rules that hold in the profile and lack their data, for the formats that can occur.
    #[must_use]
    pub fn lacks(&self) -> Vec<Lack> {
        let mut lacks: Vec<Lack> = Vec::new();
        for lack in self.occurring().flat_map(Compiled::lacks) {
            if !lacks.contains(&lack) {
                lacks.push(lack);
            }
        }
        lacks
    }

    /// The formats that can occur under the bindings.
    pub fn occurring(&self) -> impl Iterator<Item = &Compiled> {
        let bindings = || self.topic_bindings.iter().map(|(_, binding)| binding).chain([&self.binding]);
        let occurs = move |id: FormatId| {
            bindings().any(|binding| match binding {
                Binding::Auto => true,
                Binding::Pinned(formats) => formats.contains(id),
            })
        };
        self.formats
            .iter()
            .enumerate()
            .filter(move |(id, _)| occurs(FormatId(*id as u8)))
            .map(|(_, format)| format)
    }
}

fn binding_of(formats: &[Compiled], name: &str) -> Option<Binding> {
    if name == "auto" {
        Some(Binding::Auto)
    } else {
        FormatSet::of_family(formats, name).map(Binding::Pinned)
    }
}

fn names_of(formats: &[Compiled]) -> Vec<&str> {
    let mut names = vec!["auto"];
    for format in formats {
        if !names.contains(&format.family()) {
            names.push(format.family());
        }
    }
    names
}

/// Which topic is bound to which format, and by which key: `topic_formats`, and what the user's formats detect.
fn topic_formats(config: &config::Config) -> Result<Vec<(&str, &str, String)>, RulesError> {
    let mut bound: Vec<(&str, &str, String)> = config
        .topic_formats
        .iter()
        .map(|(topic, name)| (topic.as_str(), name.as_str(), format!("topic_formats.\"{topic}\"")))
        .collect();
    for (name, custom) in &config.format.custom {
        let config::Detect::Topics(topics) = &custom.keys.detect else { continue };
        for topic in topics {
            let key = format!("format.{name}.detect.topics");
            if let Some((_, other, _)) =
                bound.iter().find(|(taken, other, _)| taken == topic && other != name)
            {
                let found = format!("{topic}` for both `{name}` and `{other}");
                return Err(RulesError::Binding {
                    key,
                    found,
                    allowed: "one format for each topic".to_owned(),
                });
            }
            bound.push((topic, name, key));
        }
    }
    Ok(bound)
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
        add(format.overlay);
    }
    add(config.rules.profile.name());
    add(&config.rules.format);
    for (topic, format) in &config.topic_formats {
        add(topic);
        add(format);
    }
    add(&config.limits.payload_bytes_max.to_string());
    add(&config.limits.depth_max.to_string());
    // Settings with their secrets hidden, and the files that they name: a change of either can change a verdict.
    add(&format!("{:?}", config.format));
    let digest = context.finish();
    let mut text = String::with_capacity(HEX_DIGITS);
    for byte in digest.as_ref().iter().take(HEX_DIGITS / 2) {
        text.push_str(&format!("{byte:02x}"));
    }
    text
}
