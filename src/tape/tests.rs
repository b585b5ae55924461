//! Tests of the tape: wide numbers, pointers, what is malformed and why.

use super::*;

fn parse(text: &str) -> Result<(String, Vec<Wide>), Malformed> {
    Parser::new(64)
        .parse(text.as_bytes(), |tape| tape.map(|tape| (format!("{:?}", tape.nodes()), tape.wide().to_vec())))
}

#[test]
fn a_number_beyond_64_bits_keeps_its_place_in_the_payload() {
    let text = r#"{"a":1,"b":["7",123456789012345678901234567890,2],"c":-9223372036854775809}"#;
    let (nodes, wide) = parse(text).unwrap();
    let digits: Vec<_> =
        wide.iter().map(|wide| &text[wide.start as usize..(wide.start + wide.len) as usize]).collect();
    assert_eq!(digits, ["123456789012345678901234567890", "-9223372036854775809"]);
    assert_eq!(wide.iter().map(|wide| wide.node.0).collect::<Vec<_>>(), [6, 9]);
    assert!(nodes.contains("1.2345678901234568e29"), "{nodes}");
}

#[test]
fn strings_know_their_place_in_the_payload() {
    let long = "x".repeat(200);
    for text in [
        format!(r#"{{"a":"bc", "d\n" : ["x\u00e9y","z", "\"q","{long}\t{long}"],"":""}}"#),
        format!(r#"{{"n":123456789012345678901234567890,"a":"bc","\u0041":"{long}"}}"#),
    ] {
        let mut parser = Parser::new(64);
        // A warm parser, too.
        for _ in 0..2 {
            parser.parse(text.as_bytes(), |tape| {
                let tape = tape.unwrap();
                let mut places = tape.nodes().iter().filter_map(|node| match node {
                    Node::String(string) => Some((tape.place(string), *string)),
                    _ => None,
                });
                let mut at = 0;
                while let Some(quote) = text[at..].find('"') {
                    let start = at + quote;
                    let end = string_end(text.as_bytes(), start).unwrap();
                    let (place, string) = places.next().unwrap();
                    assert_eq!(place, start + 1);
                    assert_eq!(serde_json::from_str::<String>(&text[start..end]).unwrap(), string);
                    at = end;
                }
                assert_eq!(places.next(), None);
            });
        }
    }
}

#[test]
fn what_ends_at_the_end_of_the_payload_is_read_to_its_end_and_no_further() {
    let mut parser = Parser::new(64);
    // Each after a longer one, whose bytes are still in the memory behind it.
    for (text, node) in [
        ("1234", Some("Static(U64(1234))")),
        ("12", Some("Static(U64(12))")),
        ("-1.5", Some("Static(F64(-1.5))")),
        ("true", Some("Static(Bool(true))")),
        ("tru", None),
        ("nul", None),
        ("\"a", None),
        ("\"a\\", None),
        ("\"a\\u00", None),
        ("1e", None),
        ("[1", None),
        ("{\"a\"", None),
        ("", None),
        (" ", None),
        ("\"\\u0041\"", Some("String(\"A\")")),
    ] {
        for before in ["[123456789, true, \"abcdefgh\", null]", "\"\\u0041\\u0041\\u0041\""] {
            parser.parse(before.as_bytes(), |tape| assert!(tape.is_ok()));
            let found =
                parser.parse(text.as_bytes(), |tape| tape.ok().map(|tape| format!("{:?}", tape.nodes()[0])));
            assert_eq!(found.as_deref(), node, "{text}");
        }
    }
}

#[test]
fn an_overflowing_double_is_found() {
    Parser::new(64).parse(br#"{"a":1e400}"#, |tape| {
        assert_eq!(tape.unwrap().first_overflow(), Some(NodeIndex(2)));
    });
    Parser::new(64).parse(br#"{"a":123456789012345678901234567890}"#, |tape| {
        assert_eq!(tape.unwrap().first_overflow(), None);
    });
    let long = format!("[{},-1e999]", "9".repeat(400));
    Parser::new(64).parse(long.as_bytes(), |tape| {
        assert_eq!(tape.unwrap().first_overflow(), Some(NodeIndex(2)));
    });
}

#[test]
fn what_is_no_json_is_told_apart() {
    let why = |payload: &[u8]| Parser::new(64).parse(payload, |tape| tape.map(|_| ()).err());
    assert_eq!(why(b"{\"a\":\"\xff\"}"), Some(Malformed::NotUtf8));
    assert_eq!(why(b"{\"a\":\"\xff\""), Some(Malformed::NotUtf8), "the encoding comes first");
    assert_eq!(why(b"{\"a\":\"\xed\xa0\x80\"}"), Some(Malformed::NotUtf8), "surrogates are no UTF-8");
    for (text, expected) in [
        (r#"{"a":"\ud800"}"#, Some(Malformed::LoneSurrogate)),
        (r#"{"a":"\udc00\ud800"}"#, Some(Malformed::LoneSurrogate)),
        (r#"{"a":"\uD800\uD800\uDC00"}"#, Some(Malformed::LoneSurrogate)),
        (r#"{"\udfff":1}"#, Some(Malformed::LoneSurrogate)),
        (r#"{"a":"\ud800","n":1e400}"#, Some(Malformed::LoneSurrogate)),
        (r#"{"n":123456789012345678901234567890,"a":"\ud800"}"#, Some(Malformed::LoneSurrogate)),
        (r#"{"a":"\ud800"}x"#, Some(Malformed::Syntax)),
        (r#"{"a":"\ud800","n":1e400,}"#, Some(Malformed::Syntax)),
        (r#"{"a":"\u12"}"#, Some(Malformed::Syntax)),
        (r#"{"a":"\x41"}"#, Some(Malformed::Syntax)),
        (r#"{"a":"\\ud800"}"#, None),
        (r#"{"a":"\ud83d\ude00"}"#, None),
    ] {
        assert_eq!(why(text.as_bytes()), expected, "{text}");
    }
}

#[test]
fn pointers_name_every_node() {
    let text = r#"{"a":{"b/c":[1,{"~":2}]},"":3}"#;
    let pointers: Vec<String> = Parser::new(64).parse(text.as_bytes(), |tape| {
        let tape = tape.unwrap();
        let pointer = |node| {
            let mut out = Vec::new();
            tape.write_pointer(NodeIndex(node), &mut out);
            String::from_utf8(out).unwrap()
        };
        (0..tape.nodes().len() as u32).map(pointer).collect()
    });
    let expected = [
        "",
        "/a",
        "/a",
        "/a/b~1c",
        "/a/b~1c",
        "/a/b~1c/0",
        "/a/b~1c/1",
        "/a/b~1c/1/~0",
        "/a/b~1c/1/~0",
        "/",
        "/",
    ];
    assert_eq!(pointers, expected);
}

#[test]
fn broken_numbers_stay_broken_beside_wide_ones() {
    for broken in ["01", "1.", "-", "1e", "1e+", "1.e5", "0x10", "1-2", "--1", "1e5.5"] {
        let text = format!(r#"{{"a":123456789012345678901234567890,"b":{broken}}}"#);
        assert_eq!(parse(&text).unwrap_err(), Malformed::Syntax, "{text}");
    }
}

#[test]
fn depth_is_counted_from_the_top_level() {
    let nested = |depth: usize| format!("{}{}", "[".repeat(depth), "]".repeat(depth));
    assert!(parse(&nested(64)).is_ok());
    assert_eq!(parse(&nested(65)).unwrap_err(), Malformed::TooDeep);
    // The limit holds on the way for wide numbers, too.
    let wide = format!("[123456789012345678901234567890,{}]", nested(64));
    assert_eq!(parse(&wide).unwrap_err(), Malformed::TooDeep);
}

#[test]
fn the_text_of_a_number_is_found_wherever_it_stands() {
    for text in [
        r#"{"a":1.50,"b\"1":[2e1,"3",-4.0,[],{"":5,"x\\":6.10}],"c":123456789012345678901234567890,"d":[[7,8],9]}"#,
        "[1, 2.0 ,3]",
        "-0.0",
        r#"["1",{"2":"3"},4]"#,
    ] {
        Parser::new(64).parse(text.as_bytes(), |tape| {
            let tape = tape.unwrap();
            let mut places = Vec::new();
            tape.find_numbers(&mut places);
            assert!(!places.is_empty(), "{text}");
            for (node, start, len) in places {
                assert_eq!(tape.number_text(node), tape.text_at(start as usize, len as usize), "{text}");
            }
            assert_eq!(tape.number_text(NodeIndex(u32::MAX)), None);
        });
    }
}
