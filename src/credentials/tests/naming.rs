//! Names for good, and names of one run.

use std::collections::{HashMap, HashSet};

use crate::credentials::canonical::tests::Random;
use crate::credentials::names::{ContentName, Names};
use crate::credentials::{Scratch, digest};
use crate::tape::Parser;

/// Lengths at which XXH3 takes another way, and at which the room for parts ends.
const LENGTHS: [usize; 16] = [0, 1, 3, 8, 16, 17, 64, 120, 123, 124, 125, 128, 129, 240, 241, 1300];

#[test]
fn lasting_names_are_sha256() {
    let text = [b'x'; 300];
    for len in [0, 1, 64, 128, 300] {
        let part = &text[..len];
        assert_eq!(Names::Lasting.identity(&[part, b"y"]), digest::identity(&[part, b"y"]));
        assert_eq!(Names::Lasting.payload_tag(part, None), digest::content_tag(part, None));
        assert_eq!(
            Names::Lasting.payload_tag(part, Some(&[7; 32])),
            digest::content_tag(part, Some(&[7; 32]))
        );
    }
}

#[test]
fn names_of_a_run_depend_on_every_byte_and_on_the_secret() {
    let (run, other) = (Names::of_new_run(), Names::of_new_run());
    let named = |names: &Names, text: &[u8]| {
        let payload = [b"[\"", text, b"\"]"].concat();
        let content = document(names, &payload, &[])[0].unwrap();
        (names.identity(&[text]), names.payload_tag(text, None), content)
    };
    for len in LENGTHS {
        let text = vec![b'x'; len];
        let (identity, tag, content) = named(&run, &text);
        assert_eq!(named(&run.clone(), &text), (identity, tag, content));
        let (other_identity, other_tag, other_content) = named(&other, &text);
        // Longer ones are of SHA-256 in any run.
        assert_eq!(other_identity == identity, len > 124, "{len}");
        assert_eq!(digest::identity(&[&text]) == identity, len > 124, "{len}");
        assert_ne!(other_tag, tag, "{len}");
        assert_ne!(other_content, content, "{len}");
        for at in 0..len {
            let mut changed = text.clone();
            changed[at] ^= 1; // Still a letter.
            let (changed_identity, changed_tag, changed_content) = named(&run, &changed);
            assert_ne!(changed_identity, identity, "{len} {at}");
            assert_ne!(changed_tag, tag, "{len} {at}");
            assert_ne!(changed_content, content, "{len} {at}");
            assert_ne!(changed_content.tag(), content.tag(), "{len} {at}");
        }
    }
}

#[test]
fn parts_do_not_run_into_each_other() {
    for names in [Names::Lasting, Names::of_new_run()] {
        for len in LENGTHS {
            let text = vec![b'x'; len];
            let whole = names.identity(&[&text]);
            assert_eq!(whole, names.identity(&[&text]));
            assert_ne!(whole, names.identity(&[&text, b""]), "{len}");
            assert_ne!(whole, names.identity(&[b"", &text]), "{len}");
            for at in 1..len {
                let (left, right) = text.split_at(at);
                assert_ne!(names.identity(&[left, right]), whole, "{len} {at}");
                assert_ne!(
                    names.identity(&[left, right]),
                    names.identity(&[&text[..at - 1], &text[at - 1..]])
                );
            }
        }
    }
}

/// The names of a document and of its members.
fn document(names: &Names, payload: &[u8], members: &[&str]) -> [Option<ContentName>; 2] {
    let mut scratch = Scratch::default();
    Parser::new(64).parse(payload, |tape| {
        let both = names.document_and_members(tape.unwrap(), payload, members, &mut scratch);
        assert_eq!(names.document(tape.unwrap(), payload, &mut scratch), both[0]);
        both
    })
}

/// Values of which many are the same, and some have no form.
fn value(random: &mut Random, depth: u32) -> String {
    const SCALARS: [&str; 24] = [
        "null",
        "true",
        "false",
        "0",
        "-0",
        "0.0",
        "-0.0e5",
        "1",
        "1.0",
        "10e-1",
        "-1",
        "0.1",
        "1e300",
        "9007199254740991",
        "9007199254740991.0",
        "9007199254740992",
        "1e400",
        "123456789012345678901234567890",
        r#""""#,
        r#""a""#,
        r#""\u0061""#,
        r#""0""#,
        "[]",
        "{ }",
    ];
    match random.below(if depth == 0 { 6 } else { 10 }) {
        0..6 => SCALARS[random.below(SCALARS.len() as u64) as usize].to_owned(),
        6..8 => {
            let items: Vec<_> = (0..random.below(3)).map(|_| value(random, depth - 1)).collect();
            format!("[{}]", items.join(" , "))
        }
        _ => object(random, depth - 1),
    }
}

fn object(random: &mut Random, depth: u32) -> String {
    let mut members: Vec<String> = Vec::new();
    for name in ["a", r"\u0062", "c", "0", ""] {
        if random.below(3) == 0 {
            let member = format!("\"{name}\" :{}", value(random, depth));
            members.insert(random.below(members.len() as u64 + 1) as usize, member);
        }
    }
    format!("{{{}}}", members.join(","))
}

/// Names of a run tell documents apart as the digests of their forms do.
#[test]
fn documents_have_one_name_if_they_have_one_form() {
    let mut random = Random::seeded("documents_have_one_name_if_they_have_one_form");
    let run = Names::of_new_run();
    let mut known = [HashMap::new(), HashMap::new()];
    let (mut again, mut unfit) = (0, 0);
    for _ in 0..60_000 {
        let depth = random.below(4) as u32;
        let text = object(&mut random, depth);
        let lasting = document(&Names::Lasting, text.as_bytes(), &["", "a", "b"]);
        let of_run = document(&run, text.as_bytes(), &["", "a", "b"]);
        for (known, (lasting, of_run)) in known.iter_mut().zip(lasting.into_iter().zip(of_run)) {
            assert_eq!(lasting.is_none(), of_run.is_none(), "{text}");
            let (Some(lasting), Some(of_run)) = (lasting, of_run) else {
                unfit += 1;
                continue;
            };
            // Neither kind of name tells less than the other.
            for (key, other) in [(lasting.bytes(), of_run.bytes()), (of_run.bytes(), lasting.bytes())] {
                let (first, partner): &mut (String, Vec<u8>) =
                    known.entry(key.to_vec()).or_insert_with(|| (text.clone(), other.to_vec()));
                assert_eq!(partner, other, "{first}\n{text}");
                again += u32::from(*first != text);
            }
        }
    }
    println!("{again} of one form in other texts, {unfit} without a form");
    assert!(again > 10_000 && unfit > 10_000, "{again} {unfit}");
}

#[test]
fn what_stands_elsewhere_or_is_of_another_kind_has_another_name() {
    let run = Names::of_new_run();
    let texts = [
        r"{}",
        r"[]",
        r"null",
        r"0",
        r#""""#,
        r#"{"":""}"#,
        r#"{"a":{}}"#,
        r#"{"a":[]}"#,
        r#"{"a":null}"#,
        r#"{"a":[null]}"#,
        r#"{"a":[[null]]}"#,
        r#"{"a":[null,null]}"#,
        r#"{"a":[[],null]}"#,
        r#"{"a":[null,[]]}"#,
        r#"{"a":1,"b":2}"#,
        r#"{"a":2,"b":1}"#,
        r#"{"a":[1,2]}"#,
        r#"{"a":[2,1]}"#,
        r#"{"a":{"b":1}}"#,
        r#"{"b":{"a":1}}"#,
        r#"{"ab":1}"#,
        r#"{"a":{"1":1}}"#,
        r#"{"a":"1"}"#,
        r#"{"a":true}"#,
        r#"{"a":false}"#,
        r#"{"a":"true"}"#,
        r#"{"a":{"b":1},"c":2}"#,
        r#"{"a":{"b":1,"c":2}}"#,
        r#"{"a":[{"b":1},{"c":2}]}"#,
        r#"{"a":[{"b":1,"c":2}]}"#,
        r#"{"a":[{"c":2},{"b":1}]}"#,
    ];
    let names: HashSet<_> =
        texts.iter().map(|text| document(&run, text.as_bytes(), &[])[0].unwrap().bytes().to_vec()).collect();
    assert_eq!(names.len(), texts.len());
    let long = |byte| format!("{{\"{0}\":1,\"x\":\"{0}\"}}", char::from(byte).to_string().repeat(1000));
    let of_long = |byte| document(&run, long(byte).as_bytes(), &["x"]);
    assert_eq!(of_long(b'y'), of_long(b'y'));
    for (one, other) in of_long(b'y').into_iter().zip(of_long(b'z')) {
        assert_ne!(one.unwrap(), other.unwrap());
    }
}
