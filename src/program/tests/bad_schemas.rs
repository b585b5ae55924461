//! Bad schemas: each is refused with the place of what is wrong, and with what is allowed there.

use serde_json::json;

use crate::program::{Options, Program};

#[test]
fn bad_schemas_are_refused_with_place_and_remedy() {
    for (schema, pointer, part) in [
        (json!({"properties": {"a": {"type": "strin"}}}), "/properties/a/type", "integer"),
        (json!({"minLength": -1}), "/minLength", "integer from 0"),
        (json!({"pattern": "(?=a)"}), "/pattern", "(?=a)"),
        (json!({"$ref": "#/$defs/none"}), "/$ref", "/$defs/none"),
        (json!({"$ref": "other.json"}), "/$ref", "network"),
        (json!({"$schema": "https://example.com/x"}), "/$schema", "draft-07"),
        (json!({"allOf": []}), "/allOf", "at least one"),
        (json!({"items": [{}]}), "/items", "prefixItems"),
        (json!({"additionalProperties": 1}), "/additionalProperties", "a schema is an object"),
        (json!({"$ref": "#"}), "", "leads back"),
        (
            json!({"$defs": {"a": {"anyOf": [{"$ref": "#/$defs/a"}]}}, "items": {"$ref": "#/$defs/a"}}),
            "/$defs/a",
            "leads back",
        ),
        (json!(3), "", "a number"),
        // Nothing refers to these.
        (json!({"$defs": {"a": {"type": "strin"}}}), "/$defs/a/type", "integer"),
        (
            json!({"$defs": {"a": {"items": {"$defs": {"b": {"minLength": "1"}}}}}}),
            "/$defs/a/items/$defs/b/minLength",
            "from 0",
        ),
        (
            json!({"$defs": {"a": {"$ref": "#/$defs/b"}, "b": {"$ref": "#/$defs/a"}}}),
            "/$defs/a",
            "leads back",
        ),
        // Each says what is allowed, and where exactly.
        (json!({"$ref": "#"}), "", "allowed are loops that go down"),
        (json!({"$ref": "#none"}), "/$ref", "leads to a schema that is there"),
        (json!({"allOf": []}), "/allOf", "is an empty array; allowed is an array of at least one"),
        (json!({"required": ["a", 1]}), "/required/1", "found 1; allowed is a string"),
        (json!({"dependentRequired": {"a": "b"}}), "/dependentRequired/a", "allowed is an array of strings"),
        (json!({"dependentRequired": {"a": ["b", {}]}}), "/dependentRequired/a/1", "allowed is a string"),
        (json!({"pattern": "("}), "/pattern", "unclosed group; allowed is a regular expression of ECMA-262"),
        (json!({"pattern": "(?=a)"}), "/pattern", "allowed is a regular expression of ECMA-262"),
    ] {
        let error = Program::compile(&schema.to_string(), "test.json", &Options::default()).unwrap_err();
        assert_eq!(error.file, "test.json");
        assert_eq!(error.pointer, pointer, "{schema}: {error}");
        assert!(error.problem.contains(part), "{schema}: {error}");
    }
}
