//! The documents that references may reach, as the caller hands them over, and how the text of one is read.
//!
//! A document that cannot be read is kept with the reason: it is an error only for a schema that refers to it. Numbers are
//! kept as they are written: values have 64-bit integers or doubles, and where that is not what the text says, the
//! text stands beside the value. This file must not read files and never asks the network.

use std::borrow::Cow;
use std::cmp::Ordering;
use std::collections::HashMap;

use serde_json::Value;

use super::decimals::Decimal;
use super::duplicates::first_duplicate;
use super::{Draft, Limits, Scratch};
use crate::config::SchemaFiles;
use crate::tape::{Malformed, Node, Parser, StaticNode, Tape};

/// LIMIT: no schema's text may be nested deeper, whatever is configured; it is read recursively.
pub(crate) const SCHEMA_DEPTH_MAX: usize = 127;

/// Schemas that the caller hands over for references to reach, each under a URI.
#[derive(Clone, Debug, Default)]
pub struct Documents {
    entries: Vec<Document>,
}

/// One document.
#[derive(Clone, Debug)]
pub(super) struct Document {
    pub(super) uri: String,
    /// The file's name, for messages; the URI if there is none.
    pub(super) file: String,
    pub(super) content: Result<Content, Unreadable>,
}

/// What a document says.
#[derive(Clone, Debug)]
pub(super) struct Content {
    pub(super) text: String,
    pub(super) value: Value,
    /// The texts of numbers that the value does not have exactly, by how many numbers stand before them.
    pub(super) numbers: HashMap<u32, String>,
}

/// Why a text is no schema document.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Unreadable {
    pub(super) pointer: String,
    pub(super) problem: String,
}

impl Documents {
    /// The documents that belong to a schema's files.
    #[must_use]
    pub fn of(files: &SchemaFiles, limits: &Limits) -> Self {
        let entries = files.documents.iter().map(|mapped| {
            let unreadable =
                |problem: &String| Unreadable { pointer: String::new(), problem: problem.clone() };
            let content =
                mapped.text.as_ref().map_err(unreadable).and_then(|text| read(text, limits.schema_depth_max));
            Document { uri: mapped.uri.clone(), file: mapped.file.clone(), content }
        });
        Self { entries: entries.collect() }
    }

    /// Adds a document; a later one under the same URI counts.
    pub fn insert(&mut self, uri: impl Into<String>, document: &Value) {
        self.insert_text(uri, &document.to_string());
    }

    /// Adds a document as text, whose numbers count as they are written.
    pub fn insert_text(&mut self, uri: impl Into<String>, text: &str) {
        let uri = uri.into();
        self.entries.push(Document { file: uri.clone(), uri, content: read(text, SCHEMA_DEPTH_MAX) });
    }

    /// URI and value of each document that can be read.
    pub fn values(&self) -> impl Iterator<Item = (&str, &Value)> {
        self.entries.iter().filter_map(|document| {
            let value = document.content.as_ref().ok().map(|content| &content.value)?;
            Some((document.uri.as_str(), value))
        })
    }

    pub(super) fn entries(&self) -> &[Document] {
        &self.entries
    }
}

/// Which keywords a resource's schemas have.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[expect(clippy::struct_excessive_bools, reason = "each vocabulary is there or not, whatever the others are")]
pub(super) struct Dialect {
    pub(super) draft: Draft,
    /// Whether the draft's own metaschema describes it.
    pub(super) standard: bool,
    /// Whether keywords of the vocabularies for assertions count; a metaschema can leave them out.
    pub(super) validation: bool,
    pub(super) applicator: bool,
    pub(super) unevaluated: bool,
    /// Whether the metaschema itself asks for `format` to be asserted.
    pub(super) format_assertion: bool,
}

/// Where the vocabularies of 2020-12 are.
const VOCABULARIES: &str = "https://json-schema.org/draft/2020-12/vocab/";

const KNOWN_VOCABULARIES: [&str; 8] = [
    "core",
    "applicator",
    "unevaluated",
    "validation",
    "meta-data",
    "format-annotation",
    "format-assertion",
    "content",
];

impl Dialect {
    pub(super) fn of(draft: Draft) -> Self {
        let unevaluated = draft == Draft::V2020;
        Self {
            draft,
            standard: true,
            validation: true,
            applicator: true,
            unevaluated,
            format_assertion: false,
        }
    }

    /// The dialect that a metaschema other than the drafts' own describes.
    pub(super) fn of_metaschema(
        name: &str,
        metaschema: &Value,
        default_draft: Draft,
    ) -> Result<Self, String> {
        let basis = metaschema.get("$schema").and_then(Value::as_str).and_then(Draft::of_uri);
        let draft = basis.unwrap_or(default_draft);
        let mut dialect = Self { standard: false, ..Self::of(draft) };
        let vocabularies = metaschema.get("$vocabulary").and_then(Value::as_object);
        let Some(vocabularies) = vocabularies.filter(|_| draft == Draft::V2020) else { return Ok(dialect) };
        let is = |uri: &str, name: &str| uri.strip_prefix(VOCABULARIES) == Some(name);
        let is_known = |uri: &str| KNOWN_VOCABULARIES.iter().any(|name| is(uri, name));
        let demanded = |(uri, required): &(&String, &Value)| **required == true && !is_known(uri);
        if let Some((uri, _)) = vocabularies.iter().find(demanded) {
            return Err(format!(
                "the metaschema `{name}` requires the vocabulary `{uri}`; known are {} under {VOCABULARIES}",
                KNOWN_VOCABULARIES.join(", ")
            ));
        }
        let has = |name: &str| vocabularies.keys().any(|uri| is(uri, name));
        dialect.validation = has("validation");
        dialect.applicator = has("applicator");
        dialect.unevaluated = has("unevaluated");
        dialect.format_assertion = has("format-assertion");
        Ok(dialect)
    }
}

/// Reads a schema document. A byte order mark at its start is not part of it.
pub(super) fn read(text: &str, depth_max: usize) -> Result<Content, Unreadable> {
    let depth_max = depth_max.min(SCHEMA_DEPTH_MAX);
    let text = text.strip_prefix('\u{feff}').unwrap_or(text);
    let at_root = |problem| Unreadable { pointer: String::new(), problem };
    let mut readable = Cow::Borrowed(text.as_bytes());
    let mut numbers = HashMap::new();
    Parser::new(depth_max).parse(text.as_bytes(), |tape| match tape {
        Ok(tape) => {
            numbers = inexact_numbers(tape, &mut readable);
            let Some(at) = first_duplicate(tape, &mut Scratch::default()) else { return Ok(()) };
            let problem = "the name stands twice in one object; allowed is once".to_owned();
            Err(Unreadable { pointer: tape.pointer(at), problem })
        }
        Err(Malformed::TooDeep) => Err(at_root(format!(
            "nested deeper than {depth_max} levels (`schema_depth_max`); allowed are that many"
        ))),
        Err(Malformed::LoneSurrogate) => {
            Err(at_root("not JSON: an escape names half a surrogate pair".to_owned()))
        }
        // The other parser says what is wrong, and where.
        Err(_) => Ok(()),
    })?;
    let value = serde_json::from_slice(&readable).map_err(|error| at_root(format!("not JSON: {error}")))?;
    Ok(Content { text: text.to_owned(), value, numbers })
}

/// The texts of all numbers that a value does not have exactly, by how many numbers stand before them; in `readable`,
/// those that no double reaches become 1.
fn inexact_numbers(tape: Tape<'_>, readable: &mut Cow<'_, [u8]>) -> HashMap<u32, String> {
    let (mut places, mut texts) = (Vec::new(), HashMap::new());
    tape.find_numbers(&mut places);
    for (number, (node, start, len)) in places.into_iter().enumerate() {
        let (start, len) = (start as usize, len as usize);
        let Some(Node::Static(StaticNode::F64(nearest))) = tape.nodes().get(node.0 as usize) else {
            continue;
        };
        let Some(text) = tape.text_at(start, len) else { continue };
        if !nearest.is_finite()
            && let Some([first, rest @ ..]) = readable.to_mut().get_mut(start..start + len)
        {
            *first = b'1';
            rest.fill(b' ');
        }
        let short = serde_json::Number::from_f64(*nearest).map(|number| number.to_string());
        let is_exact =
            short.is_some_and(|short| Decimal::of(&short).compare(&Decimal::of(text)) == Ordering::Equal);
        if !is_exact {
            texts.insert(number as u32, text.to_owned());
        }
    }
    texts
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_document_is_read_exactly_or_refused_in_words() {
        let read = |text: &str| read(text, SCHEMA_DEPTH_MAX);
        let content = read("\u{feff}{\"a\":[1,1e400,{\"b\":0.10000000000000000000001}],\"c\":2}").unwrap();
        assert_eq!(content.value["c"], 2);
        assert_eq!(content.numbers.get(&1).map(String::as_str), Some("1e400"));
        assert_eq!(content.numbers.get(&2).map(String::as_str), Some("0.10000000000000000000001"));
        assert_eq!(content.numbers.len(), 2);
        let deep = format!("{}{}", "[".repeat(128), "]".repeat(128));
        for (text, pointer, part) in [
            (r#"{"a":{"b":1,"c":2,"b":3}}"#, "/a/b", "twice"),
            (&deep, "", "127 levels"),
            (r#"{"a":"\ud800"}"#, "", "surrogate"),
            ("{\"a\":", "", "line 1 column 5"),
            ("", "", "not JSON"),
        ] {
            let Unreadable { pointer: found, problem } = read(text).unwrap_err();
            assert!(found == pointer && problem.contains(part), "{text}: {found}: {problem}");
        }
        assert!(read(&deep[1..255]).is_ok());
        assert!(super::read("{\"a\":{}}", 2).is_ok());
        assert!(super::read("{\"a\":{}}", 1).unwrap_err().problem.contains("deeper than 1 levels"));
    }
}
