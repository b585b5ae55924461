//! Arrays and pretty-printed documents: against `serde_json` where the text is JSON, by definition where it is not.

use proptest::prelude::{Just, Strategy, any, prop_assert_eq, prop_oneof, proptest};
use serde_json::value::RawValue;

use super::{Layout, ReadOptions, blocks, layout, read};

fn elements(text: &str) -> Vec<String> {
    let elements: Vec<Box<RawValue>> = serde_json::from_str(text).unwrap();
    elements.into_iter().map(|element| element.get().to_string()).collect()
}

fn documents(text: &str) -> Vec<String> {
    let documents = serde_json::Deserializer::from_str(text).into_iter::<Box<RawValue>>();
    documents.map(|document| document.unwrap().get().to_string()).collect()
}

const TRICKY: &str = r#" [ {"a":[1,{"b":"]"}],"c":"\"},{\\"} ,
  "x,y]", "\\" ,[],[[]], {} , -1.5e3,true,null ,{"deep":[[[[{"e":"\\\""}]]]]}
 ]
"#;

#[test]
fn elements_are_the_records_at_every_block_size() {
    let expected = elements(TRICKY);
    for block_bytes in 1..=TRICKY.len() + 1 {
        let outcome = read(TRICKY.as_bytes(), &blocks(block_bytes));
        assert_eq!(outcome.texts(), expected, "blocks of {block_bytes}");
        assert_eq!(outcome.lines(), [1, 2, 2, 2, 2, 2, 2, 2, 2, 2]);
        assert!(outcome.errors.is_empty());
    }
}

#[test]
fn an_empty_array_has_no_records() {
    for text in ["[]", " [ \n ] \n", "\n\n[]"] {
        let outcome = read(text.as_bytes(), &ReadOptions::default());
        assert_eq!((outcome.records.len(), outcome.errors.len()), (0, 0), "{text}");
    }
}

#[test]
fn broken_separators_make_records_to_reject_and_lose_nothing() {
    for (text, expected) in [
        ("[{\"a\":1} {\"b\":2}, 3]", vec!["{\"a\":1} {\"b\":2}", "3"]),
        ("[1,,2]", vec!["1", "", "2"]),
        ("[1,]", vec!["1", ""]),
        ("[,1]", vec!["", "1"]),
        ("[{\"a\":1]}, 2]", vec!["{\"a\":1]}", "2"]),
        ("[{\"a\":1}}, 2]", vec!["{\"a\":1}}", "2"]),
        ("[1:2, x]", vec!["1:2", "x"]),
    ] {
        for block_bytes in [1, 2, 3, 1024] {
            let outcome = read(text.as_bytes(), &blocks(block_bytes));
            assert_eq!(outcome.texts(), expected, "{text}");
            assert!(outcome.errors.is_empty(), "{text}");
        }
    }
}

#[test]
fn text_behind_an_array_is_looked_at_like_a_new_file() {
    for (text, expected, lines) in [
        ("[1,\n2]\n[3]", vec!["1", "2", "3"], vec![1, 2, 3]),
        ("[1] garbage\n{\"a\":2}\n", vec!["1", "garbage", "{\"a\":2}"], vec![1, 1, 2]),
        ("[1]]\n", vec!["1", "]"], vec![1, 1]),
        ("[1]\n\n{\"a\":2}\n\n{\"b\":3}", vec!["1", "{\"a\":2}", "{\"b\":3}"], vec![1, 3, 5]),
    ] {
        for block_bytes in [1, 2, 3, 1024] {
            let outcome = read(text.as_bytes(), &blocks(block_bytes));
            assert_eq!(outcome.texts(), expected, "{text}");
            assert_eq!(outcome.lines(), lines, "{text}");
        }
    }
}

#[test]
fn an_array_that_never_closes_delivers_what_it_holds_and_fails() {
    for (text, expected) in [
        ("\n[", vec![]),
        ("\n[1, {\"a\":2}\n", vec!["1", "{\"a\":2}"]),
        ("\n[1,", vec!["1"]),
        ("\n[1, {\"a\": [2, ", vec!["1", "{\"a\": [2,"]),
        ("\n[1, \"a]", vec!["1", "\"a]"]),
    ] {
        for block_bytes in [1, 2, 3, 1024] {
            let outcome = read(text.as_bytes(), &blocks(block_bytes));
            assert_eq!(outcome.texts(), expected, "{text}");
            let [error] = &outcome.errors[..] else { panic!("one error: {:?}", outcome.errors) };
            assert!(
                error.to_string().starts_with("-: the array that opens at line 2 is not closed"),
                "{error}"
            );
        }
    }
}

#[test]
fn a_pretty_printed_document_is_one_record() {
    let text = "{\n  \"a\": {\"b\": \"}\\\"\"},\n  \"c\": []\n}\n{\n}\n{\"d\":1} {\"e\":2}\nnull\n";
    for block_bytes in 1..=text.len() {
        let outcome = read(text.as_bytes(), &blocks(block_bytes));
        assert_eq!(outcome.texts(), documents(text), "blocks of {block_bytes}");
        assert_eq!(outcome.lines(), [1, 5, 7, 7, 8]);
    }
}

#[test]
fn lines_stay_lines_where_a_first_line_is_broken() {
    for text in ["{\n{\"a\":1}\n", "{\n", "{", "{ \n[1]\n"] {
        let outcome = read(text.as_bytes(), &blocks(1));
        let lines: Vec<_> = text.lines().collect();
        assert_eq!(outcome.texts(), lines, "{text:?}");
    }
}

#[test]
fn the_layout_can_be_set() {
    assert_eq!(read(b"[1,\n2]", &layout(Layout::Lines)).texts(), ["[1,", "2]"]);
    assert_eq!(
        read(b"[1,\n2] [3]\nx y \n{\"a\":\n", &layout(Layout::Documents)).texts(),
        ["[1,\n2]", "[3]", "x y", "{\"a\":"]
    );
}

#[test]
fn arrays_in_lines_are_records_where_records_may_be_arrays() {
    for (text, expected) in [
        ("[1]\n[2]\n", vec!["[1]", "[2]"]),
        ("\n [\"]\\\"\"] \r\n\n{}", vec![" [\"]\\\"\"] ", "{}"]),
        ("[1]\nx\n", vec!["[1]", "x"]),
        ("[1,2]", vec!["1", "2"]),
        ("[1,2]\n", vec!["1", "2"]),
        ("[1,2] \n \n", vec!["1", "2"]),
        ("[1,\n2]\n[3]\n", vec!["1", "2", "3"]),
        ("[[1],\n[2]]", vec!["[1]", "[2]"]),
        ("{\"a\":1}\n[2]\n", vec!["{\"a\":1}", "[2]"]),
    ] {
        for block_bytes in 1..=text.len() {
            let values = ReadOptions { layout: Layout::AutoOfValues, ..blocks(block_bytes) };
            let outcome = read(text.as_bytes(), &values);
            assert_eq!(outcome.texts(), expected, "{text:?}, blocks of {block_bytes}");
        }
    }
    assert_eq!(read(b"[1]\n[2]\n", &layout(Layout::Auto)).texts(), ["1", "2"]);
}

/// JSON with brackets, quotes, backslashes and white space in all the wrong places.
fn json() -> impl Strategy<Value = String> {
    let text = proptest::collection::vec(
        prop_oneof![
            Just("["),
            Just("]"),
            Just("{"),
            Just("}"),
            Just(","),
            Just("\\\""),
            Just("\\\\"),
            Just("é"),
            Just("\\n")
        ],
        0..6,
    );
    let text = text.prop_map(|parts| format!("\"{}\"", parts.concat())).boxed();
    let white = prop_oneof![Just(""), Just(" "), Just("\n"), Just("\r\n\t")];
    let leaf = prop_oneof![
        text.clone(),
        any::<i16>().prop_map(|number| number.to_string()),
        Just("null".to_string())
    ];
    leaf.prop_recursive(4, 24, 5, move |inner| {
        let padded = (white.clone(), inner, white.clone()).prop_map(|(a, b, c)| format!("{a}{b}{c}")).boxed();
        let member = (text.clone(), padded.clone()).prop_map(|(name, value)| format!("{name}:{value}"));
        prop_oneof![
            proptest::collection::vec(padded, 0..5).prop_map(|items| format!("[{}]", items.join(","))),
            proptest::collection::vec(member, 0..5).prop_map(|items| format!("{{{}}}", items.join(","))),
        ]
    })
}

proptest! {
    #[test]
    fn any_array_in_any_blocks_is_split_as_serde_json_does(
        items in proptest::collection::vec(json(), 0..8),
        block_bytes in 1_usize..80,
    ) {
        let text = format!("[{}]\n", items.join(" ,\n"));
        let outcome = read(text.as_bytes(), &blocks(block_bytes));
        prop_assert_eq!(outcome.texts(), elements(&text));
        prop_assert_eq!(outcome.errors.len(), 0);
    }

    #[test]
    fn any_documents_in_any_blocks_are_split_as_serde_json_does(
        items in proptest::collection::vec(json(), 0..8),
        block_bytes in 1_usize..80,
    ) {
        let text = items.join("\n");
        let outcome = read(text.as_bytes(), &ReadOptions { layout: Layout::Documents, ..blocks(block_bytes) });
        prop_assert_eq!(outcome.texts(), documents(&text));
    }

    #[test]
    fn any_garbage_gives_the_same_in_any_blocks(
        picks in proptest::collection::vec(0_usize..12, 0..100),
        block_bytes in 1_usize..64,
        record_bytes_max in 1_usize..40,
        documents in any::<bool>(),
    ) {
        let text: Vec<u8> = picks.iter().map(|&pick| b"[]{},\"\\ \n\ra1"[pick]).collect();
        let layout = if documents { Layout::Documents } else { Layout::Auto };
        let small = ReadOptions { layout, ..blocks(block_bytes) };
        prop_assert_eq!(read(&text, &small).summary(), read(&text, &ReadOptions { block_bytes: 4096, ..small }).summary());
        // With a limit on records too, lines have one outcome.
        let lines = ReadOptions { layout: Layout::Lines, record_bytes_max, ..small };
        prop_assert_eq!(read(&text, &lines).summary(), read(&text, &ReadOptions { block_bytes: 4096, ..lines }).summary());
    }
}
