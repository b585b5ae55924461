//! The shapes that are measured: a schema, its documents, the other validator's compiled form, and proofs of meaning.
//!
//! Each shape names changes that make a document invalid. Every validator has to refuse them before anything is
//! measured, so that none is fast because it skips a check, `format` above all.

use serde_json::Value;

use crate::corpora::{Generator, envelopes, large, olympus};

/// One shape.
pub(crate) struct Shape {
    pub(crate) name: &'static str,
    pub(crate) schema: &'static str,
    pub(crate) generator: Generator,
    pub(crate) bytes: &'static [usize],
    /// `is_valid` of the `jsonschema` crate's compile-time macro.
    pub(crate) generated: fn(&Value) -> bool,
    /// Where to put which value, as JSON, to make a uniform document invalid.
    pub(crate) wrong: &'static [(&'static str, &'static str)],
}

impl Shape {
    /// The schema for the other validators. Draft 7 has no `uuid`, so where a schema of that draft asserts it they get
    /// the same keywords under the newer draft, or they would do less.
    pub(crate) fn schema_of_others(&self) -> String {
        const OLD: &str = "http://json-schema.org/draft-07/schema#";
        if !self.schema.contains("\"uuid\"") {
            return self.schema.to_owned();
        }
        self.schema.replace(OLD, "https://json-schema.org/draft/2020-12/schema")
    }
}

macro_rules! generated {
    ($($name:ident $path:literal;)*) => {
        $(
            #[jsonschema::validator(
                path = $path,
                validate_formats = true,
                methods = { is_valid = true, validate = false, iter_errors = false }
            )]
            struct $name;
        )*
    };
}

generated! {
    Olympus "configs/schemas/olympus.json";
    Agh "configs/schemas/agh.json";
    HumaninloopInput "configs/schemas/humaninloop-input.json";
    HumaninloopOutput "configs/schemas/humaninloop-output.json";
    Bluelabel "configs/schemas/bluelabel.json";
    Geo "benches/shapes/geo.json";
    Api "benches/shapes/api.json";
    Manifest "benches/shapes/manifest.json";
}

#[jsonschema::validator(
    path = "configs/schemas/alfred.json",
    draft = Draft202012,
    validate_formats = true,
    methods = { is_valid = true, validate = false, iter_errors = false }
)]
struct Alfred;

/// Sizes of envelopes: small ones, usual ones, and large ones.
const ENVELOPES: &[usize] = &[300, 1200, 4000];
const LARGE: &[usize] = &[20_000];

pub(crate) const SHAPES: &[Shape] = &[
    Shape {
        name: "olympus",
        schema: include_str!("../../configs/schemas/olympus.json"),
        generator: olympus,
        bytes: ENVELOPES,
        generated: Olympus::is_valid,
        wrong: &[
            ("/envelope/timestamp", r#""2026-05-32T12:00:00Z""#),
            ("/envelope/message_id", r#""msg-1""#),
            ("/envelope/correlation_id", r#""issue-""#),
            ("/envelope/source_agent", r#""nobody""#),
            ("/protocol_message", r#"{"message_type": "ASSIGN", "payload": {}, "other": 1}"#),
            ("/context_attachments", r#"[{"type": "plan"}]"#),
        ],
    },
    Shape {
        name: "agh",
        schema: include_str!("../../configs/schemas/agh.json"),
        generator: envelopes::agh,
        bytes: ENVELOPES,
        generated: Agh::is_valid,
        wrong: &[
            ("/protocol", r#""other""#),
            ("/from", r#""-a""#),
            ("/ts", "-1"),
            ("/ts", "1.5"),
            ("/id", r#""""#),
            ("/proof", "1"),
        ],
    },
    Shape {
        name: "alfred",
        schema: include_str!("../../configs/schemas/alfred.json"),
        generator: envelopes::alfred,
        bytes: ENVELOPES,
        generated: Alfred::is_valid,
        wrong: &[
            ("/envelope/metadata/id", r#""1""#),
            ("/envelope/metadata/timestamp", r#""today""#),
            ("/envelope/metadata/version", r#""2.1""#),
            ("/message/type", r#""OTHER""#),
            ("/envelope/security", "{}"),
        ],
    },
    Shape {
        name: "humaninloop-input",
        schema: include_str!("../../configs/schemas/humaninloop-input.json"),
        generator: envelopes::humaninloop_input,
        bytes: ENVELOPES,
        generated: HumaninloopInput::is_valid,
        wrong: &[
            ("/context/iteration", "0"),
            ("/paths/spec", "1"),
            ("/task/action", r#""""#),
            ("/prior_context", "[1]"),
        ],
    },
    Shape {
        name: "humaninloop-output",
        schema: include_str!("../../configs/schemas/humaninloop-output.json"),
        generator: envelopes::humaninloop_output,
        bytes: ENVELOPES,
        generated: HumaninloopOutput::is_valid,
        wrong: &[("/success", "1"), ("/recommendation", r#""stop""#), ("/artifacts", r#"[{"path": "a"}]"#)],
    },
    Shape {
        name: "bluelabel",
        schema: include_str!("../../configs/schemas/bluelabel.json"),
        generator: envelopes::bluelabel,
        bytes: ENVELOPES,
        generated: Bluelabel::is_valid,
        wrong: &[
            ("/type", r#""other""#),
            ("/timestamp", r#""2026-05-01""#),
            ("/retry_count", "-1"),
            ("/payload", "[]"),
        ],
    },
    Shape {
        name: "geo",
        schema: include_str!("../shapes/geo.json"),
        generator: large::geo,
        bytes: LARGE,
        generated: Geo::is_valid,
        wrong: &[
            ("/features/0/geometry/coordinates/0/7", "[1]"),
            ("/features/3/geometry/type", r#""Point""#),
            ("/features/4/type", r#""Other""#),
        ],
    },
    Shape {
        name: "api",
        schema: include_str!("../shapes/api.json"),
        generator: large::api,
        bytes: LARGE,
        generated: Api::is_valid,
        wrong: &[
            ("/openapi", r#""3.0.1""#),
            ("/servers/0/url", r#""https://a b""#),
            ("/info", r#"{"title": "a", "version": "1", "other": 1}"#),
            ("/paths", r#"{"/a": {"get": {"responses": {}}}}"#),
            ("/paths", r#"{"/a": {"parameters": [{"name": "a", "in": "path"}]}}"#),
            ("/paths", r#"{"/a": {"parameters": [{"name": "a", "in": "query", "other": 1}]}}"#),
        ],
    },
    Shape {
        name: "manifest",
        schema: include_str!("../shapes/manifest.json"),
        generator: large::manifest,
        bytes: LARGE,
        generated: Manifest::is_valid,
        wrong: &[
            ("/name", r#""A B""#),
            ("/homepage", r#""no uri""#),
            ("/author/email", r#""nobody""#),
            ("/dependencies", r#"{"a": ""}"#),
        ],
    },
];
