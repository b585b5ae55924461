//! Objects inside objects: one visit takes several of them, and each has to be checked as if it were alone.

use serde_json::{Value, json};
use tollgate::program::{FirstFailure, Options, Program, Scratch};
use tollgate::tape::Parser;
use tollgate::verdict::Reason;

#[test]
fn objects_inside_each_other_are_checked_at_every_depth() {
    // More of them than one visit takes, each with a value that is checked behind the object inside it.
    let depth = 9;
    let level = |inner: Value| {
        json!({
            "type": "object", "required": ["last"], "properties": {"inner": inner, "last": {"maxLength": 3}},
        })
    };
    let schema = (0..depth).fold(level(json!({"type": "object"})), |inner, _| level(inner));
    let program = Program::compile(&schema.to_string(), "nested.json", &Options::default()).unwrap();
    let document = |at: usize, members: &str| {
        (0..=depth).rev().fold("{}".to_owned(), |inner, level| {
            let members = if level == at { members } else { "\"last\":\"abc\",\"other\":1" };
            format!("{{\"more\":2,\"inner\":{inner},{members}}}")
        })
    };
    let reason = |document: &str| {
        let mut observer = FirstFailure::default();
        Parser::new(1024).parse(document.as_bytes(), |tape| {
            program.execute(tape.unwrap(), &mut Scratch::default(), &mut observer)
        });
        observer.0.map(|failure| failure.reason)
    };
    for at in 0..=depth {
        for (members, expected) in [
            ("\"last\":\"abc\"", None),
            ("\"other\":\"abc\"", Some(Reason::MissingField)),
            ("\"last\":\"abcd\"", Some(Reason::TooLong)),
            ("\"last\":\"abc\",\"last\":\"abc\"", Some(Reason::DuplicateKey)),
            ("\"last\":\"abc\",\"inner\":{}", Some(Reason::DuplicateKey)),
            ("\"last\":\"abc\",\"more\":2", Some(Reason::DuplicateKey)),
            ("\"last\":\"abc\",\"x\":{\"y\":1,\"y\":1}", Some(Reason::DuplicateKey)),
        ] {
            assert_eq!(reason(&document(at, members)), expected, "{at}: {members}");
        }
    }
}

#[test]
fn lists_and_maps_are_checked_to_the_last_value_in_any_order_of_documents() {
    let text = json!({"type": "string", "maxLength": 3});
    let schema = json!({
        "type": "object", "required": ["kind"], "additionalProperties": false,
        "properties": {
            "kind": {"type": "string", "enum": ["one", "other", "longer than sixteen bytes"]},
            "list": {"type": "array", "items": text, "minItems": 1, "maxItems": 3},
            "map": {"type": "object", "additionalProperties": text, "minProperties": 1, "maxProperties": 3},
            "either": {"type": ["string", "array"], "items": text},
            "rows": {"type": "array", "items": {"type": "object", "required": ["list"], "properties": {"list": {"items": text}}}},
        },
    });
    let program = Program::compile(&schema.to_string(), "lists.json", &Options::default()).unwrap();
    let cases = [
        (r#""kind":"one","list":["a","b","abc"],"map":{"a":"a","b":"abc"},"rows":[{"list":["a"]}]"#, None),
        (r#""kind":"longer than sixteen bytes","either":"abcd","rows":[]"#, None),
        (r#""either":["a",""],"kind":"other","rows":[{"list":[]},{"x":1,"list":["a"]}]"#, None),
        (r#""kind":"onf","list":["a"]"#, Some(Reason::BadEnum)),
        (r#""kind":"longer than sixteen byteS""#, Some(Reason::BadEnum)),
        (r#""kind":["one"]"#, Some(Reason::WrongType)),
        (r#""list":["a"]"#, Some(Reason::MissingField)),
        (r#""kind":"one","list":[]"#, Some(Reason::Empty)),
        (r#""kind":"one","list":["a","b","c","d"]"#, Some(Reason::TooMany)),
        (r#""kind":"one","list":["a","b","abcd"]"#, Some(Reason::TooLong)),
        (r#""kind":"one","list":["a",1]"#, Some(Reason::WrongType)),
        (r#""kind":"one","list":["a",["b"]]"#, Some(Reason::WrongType)),
        (r#""kind":"one","list":{"a":"b"}"#, Some(Reason::WrongType)),
        (r#""kind":"one","map":{}"#, Some(Reason::Empty)),
        (r#""kind":"one","map":{"a":"","b":"","c":"","d":""}"#, Some(Reason::TooMany)),
        (r#""kind":"one","map":{"a":"a","b":"abcd"}"#, Some(Reason::TooLong)),
        (r#""kind":"one","map":{"a":"a","b":null}"#, Some(Reason::WrongType)),
        (r#""kind":"one","map":{"a":"a","b":{"c":"d"}}"#, Some(Reason::WrongType)),
        (r#""kind":"one","map":["a"]"#, Some(Reason::WrongType)),
        (r#""kind":"one","either":["abcd"]"#, Some(Reason::TooLong)),
        (r#""kind":"one","either":{"a":"b"}"#, Some(Reason::WrongType)),
        (r#""kind":"one","rows":[{"list":["a"]},{}]"#, Some(Reason::MissingField)),
        (r#""kind":"one","rows":[{"list":["a"]},{"list":["a","abcd"]}]"#, Some(Reason::TooLong)),
        (r#""kind":"one","rows":[{"list":["a"]},["a"]]"#, Some(Reason::WrongType)),
        (r#""kind":"one","map":{"a":"a","a":"a"}"#, Some(Reason::DuplicateKey)),
        (r#""kind":"one","rows":[{"list":["a"],"list":["a"]}]"#, Some(Reason::DuplicateKey)),
        (r#""kind":"one","more":"a""#, Some(Reason::UnknownField)),
    ];
    let (mut parser, mut scratch) = (Parser::new(64), Scratch::default());
    // Every case after every other one, with all that was learned from it.
    for before in cases {
        for case in cases {
            for (members, expected) in [before, case] {
                let document = format!("{{{members}}}");
                let (mut observer, is_duplicate) =
                    (FirstFailure::default(), expected == Some(Reason::DuplicateKey));
                parser.parse(document.as_bytes(), |tape| {
                    let tape = tape.unwrap();
                    assert_eq!(
                        program.is_valid(tape, &mut scratch),
                        expected.is_none() || is_duplicate,
                        "{document}"
                    );
                    assert_eq!(
                        program.execute(tape, &mut scratch, &mut observer),
                        expected.is_none(),
                        "{document}"
                    );
                });
                assert_eq!(observer.0.map(|failure| failure.reason), expected, "{document}");
            }
        }
    }
}
