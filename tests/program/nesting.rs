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
