//! Numbers of a schema as they are written.
//!
//! The schema is read into values, whose numbers are 64-bit integers or doubles. Where that is not what the text says, the
//! text is kept here, by pointer. Only the schema itself is treated so; other documents are handed over as values.

use std::borrow::Cow;
use std::cmp::Ordering;
use std::collections::HashMap;

use serde_json::Value;

use super::Compiler;
use crate::program::decimals::Decimal;
use crate::program::documents::Place;
use crate::program::literals::Literal;
use crate::program::numbers::Given;
use crate::tape::{Node, Parser, StaticNode};

/// LIMIT: deeper schemas are refused by whoever reads them into values.
const NESTING_MAX: usize = 256;

/// The schema's text with numbers that no double reaches replaced by zero, and the texts of all numbers that a value does
/// not have exactly. A text that is no JSON comes back as it is.
pub(super) fn texts_of(schema: &str) -> (Cow<'_, str>, HashMap<String, String>) {
    let mut texts = HashMap::new();
    let mut readable = Cow::Borrowed(schema);
    Parser::new(NESTING_MAX).parse(schema.as_bytes(), |tape| {
        let Ok(tape) = tape else { return };
        let mut places = Vec::new();
        tape.find_numbers(&mut places);
        for (node, start, len) in places {
            let (start, len) = (start as usize, len as usize);
            let Some(Node::Static(StaticNode::F64(nearest))) = tape.nodes().get(node.0 as usize) else {
                continue;
            };
            let Some(text) = tape.text_at(start, len) else { continue };
            if !nearest.is_finite() {
                readable.to_mut().replace_range(start..start + len, &format!("{:<len$}", 0));
            }
            let short = serde_json::Number::from_f64(*nearest).map(|number| number.to_string());
            let is_exact =
                short.is_some_and(|short| Decimal::of(&short).compare(&Decimal::of(text)) == Ordering::Equal);
            if !is_exact {
                texts.insert(tape.pointer(node), text.to_owned());
            }
        }
    });
    (readable, texts)
}

impl Compiler<'_> {
    /// The text of the number at a place.
    pub(super) fn number_text(&self, place: &Place, number: &serde_json::Number) -> String {
        let text = self.texts.get(&place.pointer).filter(|_| place.document == 0);
        text.cloned().unwrap_or_else(|| number.to_string())
    }

    /// The value at a place, for comparisons.
    pub(super) fn literal(&self, place: &Place, value: &Value) -> Literal {
        match value {
            Value::Null => Literal::Null,
            Value::Bool(value) => Literal::Bool(*value),
            Value::Number(number) => Literal::Number(Given::new(&self.number_text(place, number))),
            Value::String(text) => Literal::Text(text.as_str().into()),
            Value::Array(items) => {
                let item =
                    |(number, item): (usize, &Value)| self.literal(&place.child(&number.to_string()), item);
                Literal::Array(items.iter().enumerate().map(item).collect())
            }
            Value::Object(members) => {
                let member = |(name, value): (&String, &Value)| {
                    (name.as_str().into(), self.literal(&place.child(name), value))
                };
                Literal::Object(members.iter().map(member).collect())
            }
        }
    }
}
