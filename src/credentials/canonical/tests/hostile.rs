//! Inputs that were made to hurt.

use super::super::{Buffers, Canonical, Unfit, cpython, jcs};
use super::naive;
use crate::outline::Outlines;
use crate::tape::{Malformed, Node, NodeIndex, Parser};

fn both(text: &str) -> [Result<String, Unfit>; 2] {
    let mut buffers = Buffers::default();
    Parser::new(1024).parse(text.as_bytes(), |tape| {
        let tape = tape.unwrap_or_else(|_| panic!("{text}"));
        let own = |form: Result<Canonical<'_>, Unfit>| {
            form.map(|form| String::from_utf8(form.pieces().concat()).unwrap())
        };
        let first = own(jcs(tape, text.as_bytes(), NodeIndex(0), None, &mut buffers));
        [first, own(cpython(tape, text.as_bytes(), NodeIndex(0), None, &mut buffers))]
    })
}

/// Where the outline is known, the length of the payload tells escapes and white space; a number with a shorter spelling
/// must not make up for them.
#[test]
fn a_known_outline_hides_no_escapes() {
    let (mut parser, mut outlines, mut buffers) = (Parser::new(64), Outlines::default(), Buffers::default());
    for text in [
        r#"{"s":"abc","t":["de"],"a":"f"}"#,
        r#"{"s":"a\\c","t":["de"],"a":"f"}"#,
        r#"{"s":"abc","t":["\u0064e"],"a":"f"}"#,
        r#"{"\u0073":"abc","t":["de"],"a":"\n"}"#,
        r#"{"s":"abc", "t":["de"],"a":"\/"}"#,
        r#"{"s":"abc","d":1e+21,"a":[0.5,1.25]}"#,
        r#"{"s":"abc","d":1e21,"a":[0.5,1.25]}"#,
        r#"{"s":"a\/c","d":1e21,"a":[0.5,1.25]}"#,
        r#"{"s":"abc","d":1e21, "a":[0.5,1.25]}"#,
        r#"{"s":"abc","d":1.50,"a":[0.5,1.250]}"#,
        r#"{"s":"\/:1e+21,","d":1e21,"a":[5e-1,1.25]}"#,
        r#"{"s":"\/\/\/\/:0.5,0.5,0.5","d":1e21,"a":[1e21,1e21]}"#,
    ] {
        let mut expected = String::new();
        naive(&serde_json::from_str(text).unwrap(), &mut expected);
        for _ in 0..2 {
            parser.parse(text.as_bytes(), |tape| {
                let tape = outlines.recall(tape.unwrap());
                let form = jcs(tape, text.as_bytes(), NodeIndex(0), None, &mut buffers).unwrap();
                assert_eq!(String::from_utf8(form.pieces().concat()).unwrap(), expected, "{text}");
            });
        }
    }
}

#[test]
fn hostile_numbers() {
    let range = Err(Unfit::NumberRange);
    let digits = "1234567890".repeat(40);
    for (text, by_jcs, by_cpython) in [
        ("1e400", range, range),
        ("-1e400", range, range),
        ("1e-400", Ok("0"), Ok("0.0")),
        (digits.as_str(), range, Ok(digits.as_str())),
        ("-0", Ok("0"), Ok("0")),
        ("-0.0", Ok("0"), Ok("-0.0")),
        ("-0e5", Ok("0"), Ok("-0.0")),
        ("5e-324", Ok("5e-324"), Ok("5e-324")),
        ("9007199254740991", Ok("9007199254740991"), Ok("9007199254740991")),
        ("9007199254740992", range, Ok("9007199254740992")),
        ("-9007199254740992", range, Ok("-9007199254740992")),
        ("9007199254740993.0", Ok("9007199254740992"), Ok("9007199254740992.0")),
        ("18446744073709551615", range, Ok("18446744073709551615")),
        ("18446744073709551616", range, Ok("18446744073709551616")),
        ("-9223372036854775808", range, Ok("-9223372036854775808")),
        ("-9223372036854775809", range, Ok("-9223372036854775809")),
        ("1E5", Ok("100000"), Ok("100000.0")),
        ("1.7976931348623157e308", Ok("1.7976931348623157e+308"), Ok("1.7976931348623157e+308")),
    ] {
        for (before, behind) in [("", ""), ("[", "]"), ("{\"a\":", "}"), ("[\"x\",", ",1.5]"), ("[ 1,", "]")]
        {
            let document = format!("{before}{text}{behind}");
            let around = |form: &Result<&str, Unfit>, tail: &str| {
                form.map(|form| format!("{}{form}{tail}", before.replace(' ', "")))
            };
            assert_eq!(both(&document), [around(&by_jcs, behind), around(&by_cpython, behind)], "{document}");
        }
    }
}

/// A shorter spelling of a double must not make up for white space elsewhere.
#[test]
fn lengths_that_add_up_by_chance_are_seen_through() {
    for text in [
        r#"["1e+21", 1e21]"#,
        "[1.5,    1000000,1e6]",
        "[1.5,        1000000,1e6,1e6]",
        "[1e6 ,1000000   ]",
        r#"{"a":1e20 ,"b":"                "}"#,
        "[ 1e2 ]",
        "[1e1 ]",
        "[\t1e2]",
        "[1.50]",
        "[15e-1 ]",
        "[-0 ,1]",
        r#"{"b":{ }}"#,
        "[ []]",
        "[[] ]",
        " []",
    ] {
        let [by_jcs, _] = both(text);
        let mut expected = String::new();
        naive(&serde_json::from_str(text).unwrap(), &mut expected);
        assert_eq!(by_jcs.unwrap(), expected.replace("-0", "0"), "{text}");
    }
}

#[test]
fn names_sort_by_utf16_or_by_code_points() {
    let [by_jcs, by_cpython] = both(
        "{\"\u{1f600}\":1,\"\u{fb01}\":2,\"\u{e000}\":3,\"a\":4,\"A\":5,\"\":6,\"a\u{0}\":0}"
            .replace('\0', "\\u0000")
            .as_str(),
    );
    assert_eq!(
        by_jcs.unwrap(),
        "{\"\":6,\"A\":5,\"a\":4,\"a\\u0000\":0,\"\u{1f600}\":1,\"\u{e000}\":3,\"\u{fb01}\":2}"
    );
    let expected = r#"{"":6,"A":5,"a":4,"a\u0000":0,"\ue000":3,"\ufb01":2,"\ud83d\ude00":1}"#;
    assert_eq!(by_cpython.unwrap(), expected);
    for text in [r#"{"a":1,"a":2}"#, r#"{"b":1,"a":1,"\u0062":2}"#, r#"[{"x":{"":1,"":1}}]"#] {
        assert_eq!(both(text), [Err(Unfit::DuplicateName), Err(Unfit::DuplicateName)], "{text}");
    }
}

#[test]
fn strings_are_escaped_as_little_or_as_much_as_the_form_says() {
    let text = "\"\\u0000\\u001f\\u007f\\u0080\\u2028\\u2029\\/\\b\\f\\n\\r\\t\\\"\\\\\\ud83d\\ude00<&\"";
    let [by_jcs, by_cpython] = both(text);
    assert_eq!(
        by_jcs.unwrap(),
        "\"\\u0000\\u001f\u{7f}\u{80}\u{2028}\u{2029}/\\b\\f\\n\\r\\t\\\"\\\\\u{1f600}<&\""
    );
    let expected = r#""\u0000\u001f\u007f\u0080\u2028\u2029/\b\f\n\r\t\"\\\ud83d\ude00<&""#;
    assert_eq!(by_cpython.unwrap(), expected);
    let long = format!("[\"{}\\n\"]", "x".repeat(3_000_000));
    assert_eq!(both(&long), [Ok(long.clone()), Ok(long.clone())]);
}

/// "In place" rests on this: what has to be escaped cannot stand in a payload unescaped.
#[test]
fn raw_control_characters_never_reach_the_tape() {
    for byte in 0..0x20_u8 {
        for filler in [0, 1, 30, 31, 32, 63, 64, 200] {
            let mut text = format!("[\"{}", "x".repeat(filler)).into_bytes();
            text.push(byte);
            text.extend_from_slice(b"y\"]");
            let refused = Parser::new(8).parse(&text, |tape| matches!(tape, Err(Malformed::Syntax)));
            assert!(refused, "{byte:#x} behind {filler} bytes");
        }
    }
}

#[test]
fn depth_and_width_are_no_trouble() {
    let deep = format!("{}{}{}", "[".repeat(1024), "1", "]".repeat(1024));
    assert_eq!(both(&deep), [Ok(deep.clone()), Ok(deep.clone())]);
    let spaced = deep.replace('1', " 1");
    assert_eq!(both(&spaced), [Ok(deep.clone()), Ok(deep)]);
    assert!(
        Parser::new(1024).parse("[".repeat(1025).as_bytes(), |tape| matches!(tape, Err(Malformed::TooDeep)))
    );
    // Many long names with a long common head, in falling order.
    let wide: Vec<String> =
        (0..2000).rev().map(|n| format!("\"{}{n:06}\":{n}", "same".repeat(100))).collect();
    let [form, _] = both(&format!("{{{}}}", wide.join(",")));
    let expected: Vec<String> = wide.into_iter().rev().collect();
    assert_eq!(form.unwrap(), format!("{{{}}}", expected.join(",")));
}

/// A member is left out with the right comma, wherever it stands and whatever its neighbours are.
#[test]
fn one_member_is_left_out() {
    for (text, expected) in [
        (r#"{"signature":"x"}"#, "{}"),
        (r#"{"signature":"x","t":1}"#, r#"{"t":1}"#),
        (r#"{"a":1,"signature":"x"}"#, r#"{"a":1}"#),
        (r#"{"a":1,"signature":"x","t":1}"#, r#"{"a":1,"t":1}"#),
        (r#"{"a":1,"t":1,"signature":"x"}"#, r#"{"a":1,"t":1}"#),
        (r#"{"signature":"x","a":1,"b":2}"#, r#"{"a":1,"b":2}"#),
        (r#"{"b":1,"signature":"x","a":1}"#, r#"{"a":1,"b":1}"#),
        (r#"{"a":1 ,"signature":"x"}"#, r#"{"a":1}"#),
        (r#"{"signature":{"b":1,"a":[2]},"a":1}"#, r#"{"a":1}"#),
    ] {
        for (before, behind) in [("", ""), (r#"{"m":[0],"n":"#, r#","o":1.5}"#)] {
            let text = format!("{before}{text}{behind}");
            let mut buffers = Buffers::default();
            Parser::new(64).parse(text.as_bytes(), |tape| {
                let tape = tape.unwrap();
                let is_name = |node: &Node<'_>| *node == Node::String("signature");
                let omit = NodeIndex(tape.nodes().iter().position(is_name).unwrap() as u32 + 1);
                let form = jcs(tape, text.as_bytes(), NodeIndex(0), Some(omit), &mut buffers).unwrap();
                let got = String::from_utf8(form.pieces().concat()).unwrap();
                assert_eq!(got, format!("{before}{expected}{behind}"), "{text}");
                let ordered = !text.contains(' ') && !text.contains(r#"{"b":1,"signature""#);
                assert_eq!(form.is_in_place(), ordered, "{text}");
            });
        }
    }
}

/// A number has no place of its own on the tape; where something is missing in front of it, its neighbour cannot tell.
#[test]
fn numbers_behind_what_is_left_out_are_written() {
    for (text, expected) in [
        (r#"[{},{"signature":["x"]},[1,"a",true]]"#, r#"[{},{},[1,"a",true]]"#),
        (r#"{"a":[{"signature":"x"},1]}"#, r#"{"a":[{},1]}"#),
        (r#"{"a":[{"signature":1},{},2,"b"]}"#, r#"{"a":[{},{},2,"b"]}"#),
    ] {
        let mut buffers = Buffers::default();
        Parser::new(64).parse(text.as_bytes(), |tape| {
            let tape = tape.unwrap();
            let is_name = |node: &Node<'_>| *node == Node::String("signature");
            let omit = NodeIndex(tape.nodes().iter().position(is_name).unwrap() as u32 + 1);
            let form = jcs(tape, text.as_bytes(), NodeIndex(0), Some(omit), &mut buffers).unwrap();
            assert_eq!(String::from_utf8(form.pieces().concat()).unwrap(), expected);
        });
    }
}
