//! A payload that may be shown: secrets hidden, texts cut, size bounded.
//!
//! A format says which of its members must not be shown. Whatever has no known format may hide a secret anywhere, so
//! only its structure is shown. Nothing else may show payloads to people.

use serde_json::{Map, Value, json};

use crate::formats::Compiled;
use crate::formats::hidden::{HIDDEN, hides, is_named_value, looks_secret, names_its_value};

/// LIMIT: characters of a text that is shown.
const TEXT_CHARS_MAX: usize = 160;
/// LIMIT: members and elements that are shown, of the whole example.
const VALUES_MAX: usize = 200;

/// The payload as JSON that may be shown; `None` if it is not JSON.
#[must_use]
pub(super) fn mask(payload: &[u8], format: Option<&Compiled>) -> Option<Value> {
    let value: Value = serde_json::from_slice(payload).ok()?;
    let mut walk = Walk { format, left: VALUES_MAX, pointer: String::new() };
    Some(walk.value(value))
}

struct Walk<'a> {
    format: Option<&'a Compiled>,
    left: usize,
    pointer: String,
}

impl Walk<'_> {
    fn value(&mut self, value: Value) -> Value {
        match value {
            Value::Object(members) => self.object(members),
            Value::Array(elements) => {
                let mut shown = Vec::new();
                for (index, element) in elements.into_iter().enumerate() {
                    if !self.take() {
                        shown.push("…".into());
                        break;
                    }
                    shown.push(self.within(&index.to_string(), element));
                }
                Value::Array(shown)
            }
            _ if self.format.is_none() => structure(&value),
            Value::String(text) if looks_secret(&text) => HIDDEN.into(),
            Value::String(text) => cut(&text).into(),
            other => other,
        }
    }

    fn object(&mut self, members: Map<String, Value>) -> Value {
        let mut shown = Map::new();
        let names_secret =
            |(name, value): (&String, &Value)| value.as_str().is_some_and(|text| names_its_value(name, text));
        let has_secret = members.iter().any(names_secret);
        for (name, value) in members {
            if !self.take() {
                shown.insert("…".into(), "…".into());
                break;
            }
            let hidden = has_secret && is_named_value(&name);
            let value = if hidden { HIDDEN.into() } else { self.within(&name, value) };
            shown.insert(if looks_secret(&name) { HIDDEN.to_owned() } else { cut(&name) }, value);
        }
        Value::Object(shown)
    }

    fn within(&mut self, name: &str, value: Value) -> Value {
        let before = self.pointer.len();
        self.pointer.push('/');
        self.pointer.push_str(&name.replace('~', "~0").replace('/', "~1"));
        let is_container = value.is_object() || value.is_array();
        let hidden = hides(self.format, &self.pointer, name, is_container);
        let shown = if hidden { HIDDEN.into() } else { self.value(value) };
        self.pointer.truncate(before);
        shown
    }

    fn take(&mut self) -> bool {
        self.left = self.left.saturating_sub(1);
        self.left > 0
    }
}

/// The kind of a value whose content nobody vouches for.
fn structure(value: &Value) -> Value {
    match value {
        Value::String(text) => json!(format!("(text of {} bytes)", text.len())),
        Value::Number(_) => json!("(number)"),
        other => other.clone(),
    }
}

/// A text, or its beginning.
pub(super) fn cut(text: &str) -> String {
    match text.char_indices().nth(TEXT_CHARS_MAX) {
        Some((end, _)) => format!("{}…", text.get(..end).unwrap_or_default()),
        None => text.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::Config;
    use crate::judge::Rules;

    fn shown(format: &str, payload: &str) -> String {
        let rules = Rules::compile(&Config::default()).unwrap();
        let format = rules.formats().iter().find(|found| found.name() == format);
        mask(payload.as_bytes(), format).unwrap().to_string()
    }

    #[test]
    fn what_the_format_hides_is_hidden() {
        let payload =
            r#"{"envelope":{"security":{"auth_token":"s3cr3t","tenant_id":"t1"}},"message":{"intent":"x"}}"#;
        let text = shown("alfred", payload);
        assert!(!text.contains("s3cr3t") && text.contains("t1") && text.contains(HIDDEN), "{text}");
    }

    #[test]
    fn of_an_unknown_format_only_the_structure_is_shown() {
        let text = shown("none", r#"{"note":"my pin is 1234","n":77,"deep":[{"password":{"x":"y1"}}]}"#);
        assert_eq!(text, r#"{"note":"(text of 14 bytes)","n":"(number)","deep":[{"password":"(hidden)"}]}"#);
    }

    #[test]
    fn named_values_are_hidden() {
        let text = shown(
            "alfred",
            r#"{"headers":[{"name":"Authorization","value":"s3cr3t"}],"sk-live-Ab12Cd34Ef":1}"#,
        );
        assert_eq!(text, r#"{"headers":[{"name":"Authorization","value":"(hidden)"}],"(hidden)":1}"#);
    }

    #[test]
    fn examples_are_bounded() {
        let payload = json!({"payload": vec!["x".repeat(5000); 5000]}).to_string();
        assert!(shown("olympus", &payload).len() < VALUES_MAX * (TEXT_CHARS_MAX + 16));
        assert_eq!(mask(b"{no json", None), None);
    }
}
