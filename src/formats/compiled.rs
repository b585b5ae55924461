//! Formats as a rule set holds them: program, members, rules that are on, and the format's own part.

use std::ops::ControlFlow;

use crate::config::{self, Config, Profile};
use crate::credentials::Scratch;
use crate::credentials::keys::{Encoding, KeyError, KeyRing, Period, SECRET_BYTES_MAX, Secret};
use crate::program::{CompileError, Documents, Draft, Limits, Observer, Options, Program};
use crate::tape::Tape;

use super::custom::Custom;
use super::fields::{FieldTable, Fields};
use super::labels::LabelPointers;
use super::record::Record;
use super::rule::{Report, Rule, RuleSet, Source};
use super::shapes::{self, Edit};
use super::{
    Binding, FORMATS, FORMATS_MAX, Facts, Format, agh, alfred, bluelabel, custom, expected, humaninloop,
    olympus,
};

/// A format that cannot be made ready.
#[derive(Debug, thiserror::Error)]
pub enum FormatError {
    /// Its schema does not compile.
    #[error("schema of {format}")]
    Schema {
        /// The format.
        format: String,
        /// Why.
        source: CompileError,
    },
    /// An edit of a built-in schema fits nowhere.
    #[error("profiles of {format}: {problem}")]
    Overlay {
        /// The format.
        format: &'static str,
        /// Which.
        problem: String,
    },
    /// A key has a value that the format cannot use.
    #[error("`{key}`: found {found}, allowed: {allowed}")]
    Key {
        /// Section and key.
        key: String,
        /// What stands there.
        found: String,
        /// What may stand there.
        allowed: String,
    },
}

/// A rule that is on in the profile, and cannot be checked because its data is not configured.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Lack {
    /// The format's section.
    pub family: String,
    /// The rule's name.
    pub rule: &'static str,
    /// What it demands.
    pub text: &'static str,
    /// The keys, one of which it needs.
    pub keys: &'static [&'static str],
}

/// What the module of a built-in format offers. Dispatch is by `match`; the trait only says what belongs together.
pub(super) trait BuiltIn: Sized {
    /// The keys of its section.
    type Keys;
    /// Makes the format ready.
    fn new(keys: &Self::Keys, profile: Profile) -> Result<Self, FormatError>;
    /// The rules whose data is not configured.
    fn lacks(&self) -> RuleSet;
    /// What its settings change in its schema, beyond the profile's overlay.
    fn edits(&self) -> Vec<Edit>;
    /// Meaning, in the order of the format.
    fn check<O: Observer>(&self, record: &Record<'_>, report: &mut Report<'_, O>) -> ControlFlow<()>;
    /// Credentials.
    fn authenticate<O: Observer>(
        &self,
        record: &Record<'_>,
        scratch: &mut Scratch,
        report: &mut Report<'_, O>,
    ) -> ControlFlow<()>;
    /// What the gate needs of a record that holds.
    fn facts(&self, record: &Record<'_>, scratch: &mut Scratch) -> Facts;
}

/// What only the format itself knows.
enum Meaning {
    Olympus(Box<olympus::Olympus>),
    Agh(Box<agh::Agh>),
    Alfred(Box<alfred::Alfred>),
    Input(Box<humaninloop::Input>),
    Output(Box<humaninloop::Output>),
    Bluelabel(Box<bluelabel::Bluelabel>),
    Custom(Box<Custom>),
}

/// Calls the same function of whichever format it is.
macro_rules! each {
    ($meaning:expr, $format:ident => $call:expr) => {
        match $meaning {
            Meaning::Olympus($format) => $call,
            Meaning::Agh($format) => $call,
            Meaning::Alfred($format) => $call,
            Meaning::Input($format) => $call,
            Meaning::Output($format) => $call,
            Meaning::Bluelabel($format) => $call,
            Meaning::Custom($format) => $call,
        }
    };
}

/// A format, ready to judge.
pub struct Compiled {
    name: Box<str>,
    family: Box<str>,
    program: Program,
    bounds_numbers: bool,
    fields: FieldTable,
    meaning: Meaning,
    rules: &'static [Rule],
    /// Rules that hold and have their data.
    on: RuleSet,
    /// Rules that hold and lack their data.
    lacking: RuleSet,
    shape_sources: Vec<(String, Source)>,
    /// JSON pointers whose values are never shown; `*` stands for any name or index.
    hidden: Vec<String>,
    claim: Claim,
    labels: Labelled,
}

/// Where the labels of a format stand.
enum Labelled {
    BuiltIn(LabelPointers<'static>),
    /// A user's format: its time, and whether it counts milliseconds.
    Time(String, bool),
}

/// How the format is recognised.
pub(super) enum Claim {
    /// By its names.
    Names(&'static Format),
    /// By a member's value.
    Member(custom::Claim),
    /// Only where a binding says so.
    Never,
}

/// What is the same for all formats: the parts that their modules give.
struct Parts {
    meaning: Meaning,
    fields: &'static [&'static str],
    rules: &'static [Rule],
    hidden: &'static [&'static str],
    lacks: RuleSet,
    rules_off: Vec<String>,
    edits: Vec<Edit>,
}

/// Compiles the built-in formats and the user's, in the order of their ids.
pub fn compile(config: &Config) -> Result<Vec<Compiled>, FormatError> {
    let limits = program_limits(&config.limits);
    let mut compiled = Vec::new();
    for format in FORMATS {
        compiled.push(compile_built_in(format, config)?);
    }
    for (name, keys) in &config.format.custom {
        compiled.push(compile_custom(name, keys, config.rules.profile, limits)?);
    }
    if compiled.len() > FORMATS_MAX {
        return Err(FormatError::Key {
            key: "format".to_owned(),
            found: format!("{} formats", compiled.len()),
            allowed: format!("{FORMATS_MAX} formats, the built-in ones included"),
        });
    }
    Ok(compiled)
}

fn compile_built_in(format: &'static Format, config: &Config) -> Result<Compiled, FormatError> {
    let profile = config.rules.profile;
    let parts = parts_of(format, config)?;
    let shape = shapes::shape_of(format.schema, format.overlay, profile, parts.edits)
        .map_err(|problem| FormatError::Overlay { format: format.name, problem })?;
    let program = Program::compile(&shape.text, format.schema_file, &Options::default())
        .map_err(|source| FormatError::Schema { format: format.name.to_owned(), source })?;
    let off = named(format, parts.rules, &parts.rules_off)?;
    let holding = RuleSet::of(parts.rules, |rule| rule.holds_in(profile)).without(off);
    Ok(Compiled {
        name: format.name.into(),
        family: format.family.into(),
        program,
        bounds_numbers: format.bounds_numbers,
        fields: FieldTable::new(parts.fields.iter().copied()),
        meaning: parts.meaning,
        rules: parts.rules,
        on: holding.without(parts.lacks),
        lacking: holding.and(parts.lacks),
        shape_sources: shape.sources,
        hidden: parts.hidden.iter().map(|&pointer| pointer.to_owned()).collect(),
        claim: Claim::Names(format),
        labels: Labelled::BuiltIn(format.labels),
    })
}

/// The one place that says which module serves which format.
fn parts_of(format: &Format, config: &Config) -> Result<Parts, FormatError> {
    let (profile, formats) = (config.rules.profile, &config.format);
    macro_rules! parts {
        ($module:ident, $Type:ident, $Meaning:ident, $keys:expr, $fields:ident, $rules:ident) => {{
            let format = $module::$Type::new($keys, profile)?;
            Parts {
                lacks: format.lacks(),
                edits: format.edits(),
                meaning: Meaning::$Meaning(Box::new(format)),
                fields: $module::$fields,
                rules: $module::$rules,
                hidden: $module::HIDDEN,
                rules_off: $keys.rules_off.clone(),
            }
        }};
    }
    Ok(match format.name {
        "olympus" => parts!(olympus, Olympus, Olympus, &formats.olympus, FIELDS, RULES),
        "agh" => parts!(agh, Agh, Agh, &formats.agh, FIELDS, RULES),
        "alfred" => parts!(alfred, Alfred, Alfred, &formats.alfred, FIELDS, RULES),
        "humaninloop-input" => {
            parts!(humaninloop, Input, Input, &formats.humaninloop, INPUT_FIELDS, RULES)
        }
        "humaninloop-output" => {
            parts!(humaninloop, Output, Output, &formats.humaninloop, OUTPUT_FIELDS, RULES)
        }
        "bluelabel" => parts!(bluelabel, Bluelabel, Bluelabel, &formats.bluelabel, FIELDS, RULES),
        other => unreachable!("{other} stands in the list of formats and has no module"),
    })
}

fn compile_custom(
    name: &str,
    custom: &config::Custom,
    profile: Profile,
    limits: Limits,
) -> Result<Compiled, FormatError> {
    let options = Options {
        default_draft: match custom.keys.draft {
            config::DraftChoice::V7 => Draft::V7,
            config::DraftChoice::V2020 => Draft::V2020,
        },
        assert_formats: custom.keys.assert_formats,
        documents: Documents::of(&custom.files, &limits),
        limits,
    };
    let program = Program::compile(&custom.files.text, &custom.files.file, &options)
        .map_err(|source| FormatError::Schema { format: name.to_owned(), source })?;
    let meaning = Custom::new(name, &custom.keys)?;
    let pointers = Custom::pointers(&custom.keys);
    Ok(Compiled {
        name: name.into(),
        family: name.into(),
        program,
        bounds_numbers: true,
        fields: FieldTable::new(pointers),
        on: RuleSet::of(custom::RULES, |rule| rule.holds_in(profile)).without(meaning.lacks()),
        meaning: Meaning::Custom(Box::new(meaning)),
        rules: custom::RULES,
        lacking: RuleSet::default(),
        shape_sources: Vec::new(),
        hidden: Some(custom.keys.signature.clone())
            .filter(|pointer| !pointer.is_empty())
            .into_iter()
            .collect(),
        claim: custom::Claim::of(name, custom)?.map_or(Claim::Never, Claim::Member),
        labels: Labelled::Time(
            custom.keys.timestamp.clone(),
            custom.keys.timestamp_form == config::TimestampForm::UnixMs,
        ),
    })
}

/// The rules that are switched off by name.
fn named(format: &Format, rules: &'static [Rule], names: &[String]) -> Result<RuleSet, FormatError> {
    // Two formats of one family share the key.
    let known: Vec<_> = rules.iter().map(|rule| rule.name).collect();
    match names.iter().find(|name| !known.contains(&name.as_str())) {
        None => Ok(RuleSet::of(rules, |rule| names.iter().any(|name| name == rule.name))),
        Some(unknown) => Err(FormatError::Key {
            key: format!("format.{}.rules_off", format.family),
            found: format!("`{unknown}`"),
            allowed: format!(
                "the rules {}{}",
                known.join(", "),
                config::did_you_mean(unknown, known.iter().copied())
            ),
        }),
    }
}

/// Configured keys as a ring that signatures are tried against.
pub(super) fn ring(key: &str, keys: &config::SecretKeys, encoding: Encoding) -> Result<KeyRing, FormatError> {
    let mut ring = KeyRing::default();
    let unfit = |error: KeyError| {
        let (found, allowed) = match error {
            KeyError::TooMany => {
                (format!("{} keys", keys.0.len()), format!("up to {} keys", KeyRing::KEYS_MAX))
            }
            KeyError::TooLong { .. } => {
                ("a longer key".to_owned(), format!("up to {SECRET_BYTES_MAX} bytes"))
            }
            other => (other.to_string(), "a key".to_owned()),
        };
        FormatError::Key { key: key.to_owned(), found, allowed }
    };
    for config::SecretKey { secret, from, until } in &keys.0 {
        let secret = Secret::from_text(secret.reveal(), encoding, key).map_err(unfit)?;
        ring.add(secret, Period { not_before: *from, not_after: *until }).map_err(unfit)?;
    }
    Ok(ring)
}

/// What a schema may cost under a configuration.
pub(crate) fn program_limits(limits: &config::Limits) -> Limits {
    Limits {
        schema_depth_max: usize::from(limits.schema_depth_max),
        ops_max: limits.schema_ops_max as usize,
        pattern_bytes_max: limits.pattern_bytes_max as usize,
        pattern_program_bytes_max: limits.pattern_program_bytes_max as usize,
        patterns_program_bytes_max: limits.patterns_program_bytes_max as usize,
        call_depth_max: limits.schema_calls_max,
        steps_max: limits.schema_steps_max,
    }
}

impl Compiled {
    /// Its name.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The name of its section, which topics are bound to.
    #[must_use]
    pub fn family(&self) -> &str {
        &self.family
    }

    /// Its shape.
    #[must_use]
    pub fn program(&self) -> &Program {
        &self.program
    }

    /// Whether numbers beyond a double's range are refused; agh carries any number.
    #[must_use]
    pub fn bounds_numbers(&self) -> bool {
        self.bounds_numbers
    }

    /// Whether the protocol has reasons of its own that go onto the wire.
    #[must_use]
    pub fn has_wire_reasons(&self) -> bool {
        matches!(self.meaning, Meaning::Agh(_))
    }

    /// Whether its own steps decide which failure of the shape comes first.
    #[must_use]
    pub fn orders_shape(&self) -> bool {
        matches!(self.meaning, Meaning::Agh(_))
    }

    /// Whether, under this binding, the last of two members with the same name counts.
    #[must_use]
    pub fn keeps_last(&self, binding: Binding) -> bool {
        let pinned = matches!(binding, Binding::Pinned(formats) if formats.single().is_some());
        matches!(&self.meaning, Meaning::Agh(agh) if pinned && agh.keeps_last())
    }

    /// All its rules.
    #[must_use]
    pub fn rules(&self) -> &'static [Rule] {
        self.rules
    }

    /// The rules that hold and have their data.
    #[must_use]
    pub fn on(&self) -> RuleSet {
        self.on
    }

    /// The rules that hold and lack their data.
    pub fn lacks(&self) -> impl Iterator<Item = Lack> + '_ {
        self.lacking.rules(self.rules).map(|rule| Lack {
            family: self.family.to_string(),
            rule: rule.name,
            text: rule.text,
            keys: rule.needs,
        })
    }

    /// Where a keyword of its schema comes from.
    #[must_use]
    pub fn shape_source(&self, keyword: &str) -> Source {
        match self.meaning {
            Meaning::Custom(_) => Source::Settings,
            _ => shapes::source_of(&self.shape_sources, keyword),
        }
    }

    /// What one of its rules expects at a JSON pointer, where that can be said in a few words; `kind` is what the envelope
    /// calls itself.
    #[must_use]
    pub fn expected(&self, rule: &Rule, at: &str, kind: Option<&str>) -> Option<&'static str> {
        expected::expected(rule, at, kind)
    }

    /// Whether the value at a pointer must not be shown.
    #[must_use]
    pub fn hides(&self, pointer: &str) -> bool {
        self.hidden.iter().any(|hidden| {
            let mut tokens = pointer.split('/');
            hidden
                .split('/')
                .all(|wanted| tokens.next().is_some_and(|token| wanted == "*" || wanted == token))
        })
    }

    /// Whether the object at a pointer is one that values which must not be shown stand in: whatever stands there instead
    /// of an object may be such a value itself.
    #[must_use]
    pub fn hides_within(&self, pointer: &str) -> bool {
        self.hidden.iter().any(|hidden| {
            let mut wanted = hidden.split('/');
            pointer
                .split('/')
                .all(|token| wanted.next().is_some_and(|wanted| wanted == "*" || wanted == token))
        })
    }

    /// Where its labels stand.
    #[must_use]
    pub fn labels(&self) -> LabelPointers<'_> {
        match &self.labels {
            Labelled::BuiltIn(pointers) => *pointers,
            Labelled::Time(time, millis) => {
                LabelPointers { time, millis: *millis, ..LabelPointers::default() }
            }
        }
    }

    pub(super) fn claim(&self) -> &Claim {
        &self.claim
    }

    /// Finds the members that its rules look at.
    pub fn find_fields(&self, tape: Tape<'_>, fields: &mut Fields) {
        self.fields.fill(tape, fields);
    }

    /// A report for its rules.
    pub fn report<'o, O: Observer>(&self, observer: &'o mut O) -> Report<'o, O> {
        Report::new(observer, self.rules, self.on, self.lacking)
    }

    /// Meaning: what the members say together.
    pub fn check<O: Observer>(&self, record: &Record<'_>, report: &mut Report<'_, O>) -> ControlFlow<()> {
        each!(&self.meaning, format => format.check(record, report))
    }

    /// Credentials: who really sent it.
    pub fn authenticate<O: Observer>(
        &self,
        record: &Record<'_>,
        scratch: &mut Scratch,
        report: &mut Report<'_, O>,
    ) -> ControlFlow<()> {
        each!(&self.meaning, format => format.authenticate(record, scratch, report))
    }

    /// What the gate needs; only for a record that holds.
    #[must_use]
    pub fn facts(&self, record: &Record<'_>, scratch: &mut Scratch) -> Facts {
        each!(&self.meaning, format => format.facts(record, scratch))
    }
}

#[cfg(test)]
mod tests {
    use super::{Limits, config, program_limits};

    /// A schema that `generate` or a test takes is one that a filter takes.
    #[test]
    fn without_a_configuration_schemas_have_the_limits_of_the_default_one() {
        assert_eq!(program_limits(&config::Config::default().limits), Limits::default());
    }
}
