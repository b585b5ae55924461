//! TOML values into typed settings, with `${NAME}` from the environment, and errors that say where.

use std::collections::BTreeMap;
use std::ops::Range;
use std::path::{Path, PathBuf};

use toml::Spanned;
use toml::de::{DeTable, DeValue};
use zeroize::Zeroizing;

use super::{ConfigError, Problem};

/// The text that is being read, for errors and look-ups.
pub(super) struct Source<'a> {
    pub(super) file: &'a str,
    pub(super) text: &'a str,
    pub(super) env: &'a dyn Fn(&str) -> Option<String>,
}

/// The place of one key while its value is read. A reader that knows more than "not allowed" leaves its error here.
pub(super) struct Place<'a> {
    source: &'a Source<'a>,
    key: &'a str,
    span: Range<usize>,
    failed: Option<ConfigError>,
}

/// A type that a key can have.
pub(super) trait Setting: Sized {
    /// What may stand there, where the key does not say more.
    const KIND: &'static str;
    /// Whether the value must never be shown.
    const SECRET: bool = false;
    /// Reads it; `None` is an error, the place's own or the general one.
    fn read(value: &DeValue<'_>, place: &mut Place<'_>) -> Option<Self>;
    /// Shows it as TOML.
    fn show(&self) -> String;
}

impl Place<'_> {
    /// Puts the environment into a text; `None` if a variable is not set, which is then the error.
    pub(super) fn fill_in(&mut self, text: &str) -> Option<String> {
        match self.source.fill_in(self.key, text, self.span.clone()) {
            Ok(text) => Some(text),
            Err(error) => {
                self.failed.get_or_insert(error);
                None
            }
        }
    }

    /// Leaves an error about a part of the value, `within` the key.
    pub(super) fn fail<T>(&mut self, within: &str, found: &str, allowed: &str) -> Option<T> {
        let error = self.source.error(Problem::Value {
            key: format!("{}{within}", self.key),
            line: self.source.line(self.span.clone()),
            found: found.to_owned(),
            allowed: allowed.to_owned(),
        });
        self.failed.get_or_insert(error);
        None
    }

    /// The last part of the key's name.
    pub(super) fn name(&self) -> &str {
        self.key.rsplit('.').next().unwrap_or(self.key)
    }

    /// A path as the configuration names it: relative to the configuration's own directory.
    pub(super) fn path(&self, text: &str) -> PathBuf {
        self.source.path(text)
    }
}

/// A text that is never shown, and wiped when it is dropped.
#[derive(Clone, Default, PartialEq, Eq)]
pub struct Secret(Zeroizing<String>);

impl Secret {
    /// The secret itself, for the one place that needs it.
    #[must_use]
    pub fn reveal(&self) -> &str {
        &self.0
    }

    /// A secret that was read elsewhere than in the configuration.
    #[must_use]
    pub fn new(text: String) -> Self {
        Self(Zeroizing::new(text))
    }

    /// Whether nothing is set.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}

impl std::fmt::Debug for Secret {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("(hidden)")
    }
}

impl Setting for Secret {
    const KIND: &'static str = "a text";
    const SECRET: bool = true;
    fn read(value: &DeValue<'_>, place: &mut Place<'_>) -> Option<Self> {
        value.as_str().and_then(|text| place.fill_in(text)).map(Self::new)
    }
    fn show(&self) -> String {
        quote(if self.0.is_empty() { "" } else { "(hidden)" })
    }
}

impl Setting for bool {
    const KIND: &'static str = "true or false";
    fn read(value: &DeValue<'_>, _: &mut Place<'_>) -> Option<Self> {
        value.as_bool()
    }
    fn show(&self) -> String {
        self.to_string()
    }
}

impl Setting for String {
    const KIND: &'static str = "a text";
    fn read(value: &DeValue<'_>, place: &mut Place<'_>) -> Option<Self> {
        value.as_str().and_then(|text| place.fill_in(text))
    }
    fn show(&self) -> String {
        quote(self)
    }
}

impl Setting for Vec<String> {
    const KIND: &'static str = "a list of texts";
    fn read(value: &DeValue<'_>, place: &mut Place<'_>) -> Option<Self> {
        value.as_array()?.iter().map(|item| place.fill_in(item.get_ref().as_str()?)).collect()
    }
    fn show(&self) -> String {
        format!("[{}]", self.iter().map(|text| quote(text)).collect::<Vec<_>>().join(", "))
    }
}

macro_rules! whole_number {
    ($($type:ty)*) => {$(
        impl Setting for $type {
            const KIND: &'static str = "a whole number";
            fn read(value: &DeValue<'_>, _: &mut Place<'_>) -> Option<Self> {
                let number = value.as_integer()?;
                <$type>::from_str_radix(&number.as_str().replace('_', ""), number.radix()).ok()
            }
            fn show(&self) -> String {
                self.to_string()
            }
        }
    )*};
}
whole_number!(u16 u32 u64);

/// An enum whose values are written as texts; defined with its names once.
macro_rules! choice {
    ($(#[doc = $doc:literal])+ $name:ident $allowed:literal { $($(#[doc = $variant_doc:literal])+ $variant:ident = $text:literal,)* }) => {
        $(#[doc = $doc])+
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        pub enum $name { $($(#[doc = $variant_doc])+ $variant,)* }

        impl $name {
            /// As it is written.
            #[must_use]
            pub const fn name(self) -> &'static str {
                match self { $(Self::$variant => $text,)* }
            }
        }

        impl std::str::FromStr for $name {
            type Err = String;
            fn from_str(text: &str) -> Result<Self, String> {
                match text {
                    $($text => Ok(Self::$variant),)*
                    _ => Err(format!("found `{text}`, allowed: {}", $allowed)),
                }
            }
        }

        impl super::read::Setting for $name {
            const KIND: &'static str = $allowed;
            fn read(value: &toml::de::DeValue<'_>, place: &mut super::read::Place<'_>) -> Option<Self> {
                place.fill_in(value.as_str()?)?.parse().ok()
            }
            fn show(&self) -> String {
                super::read::quote(self.name())
            }
        }
    };
}
pub(super) use choice;

impl Source<'_> {
    /// One key's value, checked.
    pub(super) fn setting<T: Setting>(
        &self,
        key: &str,
        value: &Spanned<DeValue<'_>>,
        allowed: &str,
        check: impl Fn(&T) -> bool,
    ) -> Result<T, ConfigError> {
        let mut place = Place { source: self, key, span: value.span(), failed: None };
        let setting = T::read(value.get_ref(), &mut place).filter(check);
        if let Some(error) = place.failed {
            return Err(error);
        }
        setting.ok_or_else(|| {
            let found = if T::SECRET { "(hidden)" } else { self.text.get(value.span()).unwrap_or("?") };
            let allowed = if allowed.is_empty() { T::KIND } else { allowed };
            self.error(Problem::Value {
                key: key.to_owned(),
                line: self.line(value.span()),
                found: found.to_owned(),
                allowed: allowed.to_owned(),
            })
        })
    }

    /// A table whose keys are the user's.
    pub(super) fn free_table(
        &self,
        section: &str,
        value: &Spanned<DeValue<'_>>,
    ) -> Result<BTreeMap<String, String>, ConfigError> {
        let mut table = BTreeMap::new();
        for (name, value) in self.table(section, value)? {
            let key = format!("{section}.\"{}\"", name.get_ref());
            let text = match value.get_ref() {
                DeValue::Boolean(flag) => flag.to_string(),
                // In decimal, whatever it is written in: librdkafka would stop reading at the first other character.
                DeValue::Integer(number) => {
                    i64::from_str_radix(&number.as_str().replace('_', ""), number.radix())
                        .map_or_else(|_| number.as_str().to_owned(), |number| number.to_string())
                }
                _ => self.setting::<String>(&key, value, "a text, number or true/false", |_| true)?,
            };
            table.insert(name.get_ref().to_string(), text);
        }
        Ok(table)
    }

    /// The value as a table, or an error that says that it is none.
    pub(super) fn table<'v, 'i>(
        &self,
        section: &str,
        value: &'v Spanned<DeValue<'i>>,
    ) -> Result<&'v DeTable<'i>, ConfigError> {
        value.get_ref().as_table().ok_or_else(|| {
            self.error(Problem::Value {
                key: section.to_owned(),
                line: self.line(value.span()),
                found: self.text.get(value.span()).unwrap_or("?").to_owned(),
                allowed: format!("a section [{section}]"),
            })
        })
    }

    /// An unknown key or section, with the nearest known one.
    pub(super) fn unknown<'k>(
        &self,
        what: &'static str,
        prefix: &str,
        name: &Spanned<toml::de::DeString<'_>>,
        known: impl Iterator<Item = &'k str>,
    ) -> ConfigError {
        let found = name.get_ref().as_ref();
        let known: Vec<_> = known.collect();
        let advice = nearest(found, known.iter().copied()).map_or_else(
            || format!("allowed: {}", known.join(", ")),
            |near| format!("did you mean `{prefix}{near}`?"),
        );
        self.error(Problem::Unknown {
            what,
            key: format!("{prefix}{found}"),
            line: self.line(name.span()),
            advice,
        })
    }

    pub(super) fn syntax_error(&self, error: &toml::de::Error) -> ConfigError {
        let line = error.span().and_then(|span| self.line(span));
        self.error(Problem::Syntax { line, message: error.message().to_owned() })
    }

    pub(super) fn error(&self, problem: Problem) -> ConfigError {
        ConfigError::new(self.file, problem)
    }

    /// A path as the configuration names it: relative to the configuration's own directory.
    pub(super) fn path(&self, text: &str) -> PathBuf {
        Path::new(self.file).parent().unwrap_or(Path::new("")).join(text)
    }

    pub(super) fn line(&self, span: Range<usize>) -> Option<usize> {
        Some(self.text.get(..span.start)?.matches('\n').count() + 1)
    }

    /// Fills in `${NAME}` and `${NAME:-default}`; `$$` is a dollar sign.
    fn fill_in(&self, key: &str, text: &str, span: Range<usize>) -> Result<String, ConfigError> {
        let mut out = String::with_capacity(text.len());
        let mut rest = text;
        while let Some((before, after)) = rest.split_once('$') {
            out.push_str(before);
            if let Some(after) = after.strip_prefix('$') {
                out.push('$');
                rest = after;
            } else if let Some((inside, after)) =
                after.strip_prefix('{').and_then(|after| after.split_once('}'))
            {
                let (name, default) = match inside.split_once(":-") {
                    Some((name, default)) => (name, Some(default)),
                    None => (inside, None),
                };
                let value = (self.env)(name).or_else(|| default.map(str::to_owned)).ok_or_else(|| {
                    self.error(Problem::Environment {
                        key: key.to_owned(),
                        line: self.line(span.clone()),
                        name: name.to_owned(),
                    })
                })?;
                out.push_str(&value);
                rest = after;
            } else {
                out.push('$');
                rest = after;
            }
        }
        out.push_str(rest);
        Ok(out)
    }
}

/// A text as a TOML string.
pub(super) fn quote(text: &str) -> String {
    toml::Value::String(text.to_owned()).to_string()
}

/// Whether a librdkafka key holds a secret.
pub(super) fn looks_secret(key: &str) -> bool {
    ["password", "secret", "pem", "oauthbearer.config", "token"].iter().any(|word| key.contains(word))
}

/// The known name that is nearest to one that was found, if it is near at all.
pub(super) fn nearest<'k>(found: &str, known: impl Iterator<Item = &'k str>) -> Option<&'k str> {
    let (distance, known) = known.map(|known| (edit_distance(found, known), known)).min()?;
    (distance <= known.len().max(found.len()).div_ceil(2)).then_some(known)
}

/// A suggestion that ends an error: the known name that is nearest to the one that was found, or nothing.
#[must_use]
pub fn did_you_mean<'k>(found: &str, known: impl Iterator<Item = &'k str>) -> String {
    nearest(found, known).map(|near| format!("; did you mean `{near}`?")).unwrap_or_default()
}

/// Levenshtein distance, for suggestions.
fn edit_distance(left: &str, right: &str) -> usize {
    let right: Vec<char> = right.chars().collect();
    let mut row: Vec<usize> = (0..=right.len()).collect();
    for (i, from) in left.chars().enumerate() {
        let mut diagonal = i;
        let mut last = i + 1;
        for (to, cell) in right.iter().zip(row.iter_mut().skip(1)) {
            let substitute = diagonal + usize::from(from != *to);
            diagonal = *cell;
            last = substitute.min(last + 1).min(*cell + 1);
            *cell = last;
        }
        if let Some(first) = row.first_mut() {
            *first = i + 1;
        }
    }
    row.last().copied().unwrap_or_default()
}
