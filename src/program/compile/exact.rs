//! Numbers of a schema as they are written: in comparisons and in words.

use serde_json::{Number, Value};

use super::{Compiler, Here};
use crate::program::literals::Literal;
use crate::program::numbers::Given;
use crate::program::places::Place;

impl<'a> Compiler<'a> {
    /// The text of a keyword's number.
    pub(super) fn number_text(&mut self, here: &Here<'a>, keyword: &str, number: &Number) -> String {
        let place = self.below(here, &[keyword]);
        self.registry.text(place).map_or_else(|| number.to_string(), ToOwned::to_owned)
    }

    /// The value at a place, for comparisons.
    pub(super) fn literal(&mut self, place: Place, value: &Value) -> Literal {
        match value {
            Value::Null => Literal::Null,
            Value::Bool(value) => Literal::Bool(*value),
            Value::Number(number) => {
                let text = self.registry.text(place);
                Literal::Number(Given::new(text.unwrap_or(&number.to_string())))
            }
            Value::String(text) => Literal::Text(text.as_str().into()),
            Value::Array(items) => {
                let item = |(number, item): (usize, &Value)| {
                    let place = self.part(place, &number.to_string());
                    self.literal(place, item)
                };
                Literal::Array(items.iter().enumerate().map(item).collect())
            }
            Value::Object(members) => {
                let member = |(name, value): (&String, &Value)| {
                    let place = self.part(place, name);
                    (name.as_str().into(), self.literal(place, value))
                };
                Literal::Object(members.iter().map(member).collect())
            }
        }
    }

    /// The value at a place in words: JSON, with its numbers as they are written.
    pub(super) fn written(&mut self, place: Place, value: &Value) -> String {
        match value {
            Value::Number(number) => {
                self.registry.text(place).map_or_else(|| number.to_string(), ToOwned::to_owned)
            }
            Value::Array(items) => {
                let item = |(number, item): (usize, &Value)| {
                    let place = self.part(place, &number.to_string());
                    self.written(place, item)
                };
                format!("[{}]", items.iter().enumerate().map(item).collect::<Vec<_>>().join(", "))
            }
            Value::Object(members) => {
                let member = |(name, value): (&String, &Value)| {
                    let place = self.part(place, name);
                    format!("{}: {}", Value::from(name.as_str()), self.written(place, value))
                };
                format!("{{{}}}", members.iter().map(member).collect::<Vec<_>>().join(", "))
            }
            other => other.to_string(),
        }
    }

    /// A part of a literal; where all numbers are exact, nobody asks for its place.
    fn part(&mut self, place: Place, token: &str) -> Place {
        if self.registry.is_exact() { place } else { self.registry.child(place, token) }
    }
}
