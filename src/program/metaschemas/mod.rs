//! The metaschemas of both drafts, embedded, so that a schema may refer to them.
//!
//! The files beside this one are our own short form: the structure that the specifications define, without prose.

use std::sync::OnceLock;

use serde_json::Value;

/// URI and text of each metaschema.
const TEXTS: &[(&str, &str)] = &[
    ("http://json-schema.org/draft-07/schema", include_str!("draft-07.json")),
    ("https://json-schema.org/draft/2020-12/schema", include_str!("schema.json")),
    ("https://json-schema.org/draft/2020-12/meta/core", include_str!("core.json")),
    ("https://json-schema.org/draft/2020-12/meta/applicator", include_str!("applicator.json")),
    ("https://json-schema.org/draft/2020-12/meta/unevaluated", include_str!("unevaluated.json")),
    ("https://json-schema.org/draft/2020-12/meta/validation", include_str!("validation.json")),
    ("https://json-schema.org/draft/2020-12/meta/meta-data", include_str!("meta-data.json")),
    ("https://json-schema.org/draft/2020-12/meta/format-annotation", include_str!("format-annotation.json")),
    ("https://json-schema.org/draft/2020-12/meta/format-assertion", include_str!("format-assertion.json")),
    ("https://json-schema.org/draft/2020-12/meta/content", include_str!("content.json")),
];

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

/// Its text.
pub(super) fn text(uri: &str) -> Option<&'static str> {
    TEXTS.iter().find(|(name, _)| *name == uri).map(|(_, text)| *text)
}

/// Whether this URI is a metaschema's.
pub(super) fn is_builtin(uri: &str) -> bool {
    TEXTS.iter().any(|(name, _)| *name == uri)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::program::{Options, Program};

    #[test]
    fn every_metaschema_compiles() {
        for (uri, text) in TEXTS {
            assert!(all().iter().any(|(name, document)| name == uri && document.is_object()), "{uri}");
            Program::compile(text, uri, &Options::default()).unwrap();
        }
    }
}
