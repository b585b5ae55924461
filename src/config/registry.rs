//! Registries: tables and lists that grow with the installation (sessions, tasks, agents, peers, …), written in place
//! or in a TOML or JSON file that the configuration names.
//!
//! An empty registry means that nothing is configured. This file reads forms; what the entries mean is decided by
//! the formats.

use std::collections::BTreeMap;
use std::path::Path;

use serde_json::Value;
use toml::de::{DeTable, DeValue};

use super::read::{Place, Setting, quote};
use super::unique::Unique;

/// Entries by name.
#[derive(Clone, Debug, PartialEq)]
pub struct Registry<T> {
    entries: BTreeMap<String, T>,
    /// The file that they came from, as it was named.
    file: Option<String>,
}

/// A list of names.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Names {
    names: Vec<String>,
    file: Option<String>,
}

/// One entry of a registry.
pub(super) trait Entry: Sized {
    /// Whether its value must never be shown.
    const SECRET: bool = false;
    /// Reads it; `within` names the entry for errors.
    fn read(value: &Value, within: &str, place: &mut Place<'_>) -> Option<Self>;
    /// Shows it as TOML.
    fn show(&self) -> String;
}

impl<T> Default for Registry<T> {
    fn default() -> Self {
        Self { entries: BTreeMap::new(), file: None }
    }
}

impl<T> Registry<T> {
    /// The entry of a name; allocates nothing.
    #[must_use]
    pub fn find(&self, name: &str) -> Option<&T> {
        self.entries.get(name)
    }

    /// Whether nothing is configured.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.entries.is_empty()
    }

    /// All entries, ascending by name.
    pub fn iter(&self) -> impl Iterator<Item = (&str, &T)> {
        self.entries.iter().map(|(name, entry)| (name.as_str(), entry))
    }
}

impl Names {
    /// Whether nothing is configured.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.names.is_empty()
    }

    /// All names, as they were written.
    pub fn iter(&self) -> impl Iterator<Item = &str> {
        self.names.iter().map(String::as_str)
    }
}

impl<T: Entry> Setting for Registry<T> {
    const KIND: &'static str = "a table, or the name of a TOML or JSON file";
    const SECRET: bool = T::SECRET;

    fn read(value: &DeValue<'_>, place: &mut Place<'_>) -> Option<Self> {
        let (value, file) = in_place_or_file(value, place)?;
        let Some(table) = value.as_object() else {
            return place.fail("", kind_of(&value), "a table of entries by name");
        };
        let mut entries = BTreeMap::new();
        for (name, value) in table {
            let within = format!(".{}", quote(name));
            entries.insert(name.clone(), T::read(value, &within, place)?);
        }
        Some(Self { entries, file })
    }

    fn show(&self) -> String {
        if let Some(file) = &self.file {
            return quote(file);
        }
        let entries: Vec<_> =
            self.entries.iter().map(|(name, entry)| format!("{} = {}", quote(name), entry.show())).collect();
        if entries.is_empty() { "{}".to_owned() } else { format!("{{ {} }}", entries.join(", ")) }
    }
}

impl Setting for Names {
    const KIND: &'static str = "a list of texts, or the name of a TOML or JSON file";

    fn read(value: &DeValue<'_>, place: &mut Place<'_>) -> Option<Self> {
        let (mut value, file) = in_place_or_file(value, place)?;
        // A TOML file is a table; the list stands in it under the key's own name.
        if let Some(list) = value.as_object_mut().and_then(|table| table.remove(place.name())) {
            value = list;
        }
        let Some(list) = value.as_array() else {
            return place.fail("", kind_of(&value), "a list of texts");
        };
        let names: Option<Vec<_>> = list.iter().map(|name| name.as_str().map(str::to_owned)).collect();
        match names {
            Some(names) => Some(Self { names, file }),
            None => place.fail("", "an item that is no text", "a list of texts"),
        }
    }

    fn show(&self) -> String {
        self.file.as_ref().map_or_else(|| self.names.show(), |file| quote(file))
    }
}

/// The value itself, or what the file holds that it names. Texts get the environment either way.
pub(super) fn in_place_or_file(
    value: &DeValue<'_>,
    place: &mut Place<'_>,
) -> Option<(Value, Option<String>)> {
    let Some(name) = value.as_str() else {
        return Some((in_place(value, place)?, None));
    };
    let name = place.fill_in(name)?;
    if name.is_empty() {
        return Some((Value::Object(serde_json::Map::new()), None));
    }
    let path = place.path(&name);
    let text = read_file(&path, place)?;
    let value = if path.extension().is_some_and(|extension| extension == "json") {
        match serde_json::from_str::<Unique>(&text) {
            Ok(Unique(mut value)) => fill_in_all(&mut value, place).map(|()| value),
            Err(error) => place.fail("", &format!("{}: {error}", path.display()), "a file of valid JSON"),
        }
    } else {
        match DeTable::parse(&text) {
            Ok(table) => in_place(&DeValue::Table(table.into_inner()), place),
            Err(error) => {
                let found = format!("{}: {}", path.display(), error.message());
                place.fail("", &found, "a file of valid TOML (or JSON, if its name ends in `.json`)")
            }
        }
    };
    value.map(|value| (value, Some(name)))
}

/// The text of a file that the configuration names.
pub(super) fn read_file(path: &Path, place: &mut Place<'_>) -> Option<String> {
    std::fs::read_to_string(path).map_or_else(
        |error| place.fail("", &format!("{}: {error}", path.display()), "a file that can be read"),
        Some,
    )
}

/// A TOML value as JSON, which all registries are read from.
pub(super) fn in_place(value: &DeValue<'_>, place: &mut Place<'_>) -> Option<Value> {
    Some(match value {
        DeValue::String(text) => Value::String(place.fill_in(text)?),
        DeValue::Boolean(flag) => Value::Bool(*flag),
        DeValue::Integer(number) => {
            match i64::from_str_radix(&number.as_str().replace('_', ""), number.radix()) {
                Ok(number) => Value::from(number),
                Err(_) => return place.fail("", number.as_str(), "whole numbers within 64 bits"),
            }
        }
        DeValue::Float(number) => {
            number.as_str().replace('_', "").parse::<f64>().map_or(Value::Null, Value::from)
        }
        DeValue::Datetime(time) => Value::String(time.to_string()),
        DeValue::Array(items) => {
            let items: Option<_> = items.iter().map(|item| in_place(item.get_ref(), place)).collect();
            Value::Array(items?)
        }
        DeValue::Table(table) => {
            let mut object = serde_json::Map::new();
            for (name, value) in table {
                object.insert(name.get_ref().to_string(), in_place(value.get_ref(), place)?);
            }
            Value::Object(object)
        }
    })
}

/// Puts the environment into every text of a JSON file.
fn fill_in_all(value: &mut Value, place: &mut Place<'_>) -> Option<()> {
    match value {
        Value::String(text) => *text = place.fill_in(text)?,
        Value::Array(items) => items.iter_mut().try_for_each(|item| fill_in_all(item, place))?,
        Value::Object(members) => members.values_mut().try_for_each(|value| fill_in_all(value, place))?,
        Value::Null | Value::Bool(_) | Value::Number(_) => {}
    }
    Some(())
}

/// What a value is, in words that show no secret.
pub(super) fn kind_of(value: &Value) -> &'static str {
    match value {
        Value::Null => "null",
        Value::Bool(_) => "true or false",
        Value::Number(_) => "a number",
        Value::String(_) => "a text",
        Value::Array(_) => "a list",
        Value::Object(_) => "a table",
    }
}
