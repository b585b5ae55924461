//! NDJSON: line ends, blank lines, the byte order mark, and records that go past the end of a block.

use proptest::prelude::{any, prop_assert_eq, proptest};

use super::{Layout, ReadOptions, blocks, layout, read};

/// The same by the simplest means: line and text of every line that is not blank.
fn naive(text: &[u8]) -> (Vec<(u64, Vec<u8>)>, u64) {
    let text = text.strip_prefix(b"\xef\xbb\xbf").unwrap_or(text);
    let mut lines: Vec<_> = text.split(|&byte| byte == b'\n').collect();
    lines.pop_if(|last| last.is_empty());
    let lines = (1..).zip(lines.into_iter().map(|line| line.strip_suffix(b"\r").unwrap_or(line)));
    let (blank, records): (Vec<_>, Vec<_>) =
        lines.partition(|(_, line)| line.iter().all(|byte| b" \t\r".contains(byte)));
    (records.into_iter().map(|(number, line)| (number, line.to_vec())).collect(), blank.len() as u64)
}

#[test]
fn the_last_line_needs_no_line_end() {
    assert_eq!(read(b"{\"a\":1}\n{\"b\":2}", &ReadOptions::default()).texts(), [r#"{"a":1}"#, r#"{"b":2}"#]);
    assert_eq!(
        read(b"{\"a\":1}\n{\"b\":2}\n", &ReadOptions::default()).texts(),
        [r#"{"a":1}"#, r#"{"b":2}"#]
    );
    assert_eq!(read(b"{\"a\":1}\r", &ReadOptions::default()).texts(), [r#"{"a":1}"#]);
}

#[test]
fn a_carriage_return_is_part_of_the_line_end_and_not_of_the_record() {
    let outcome = read(b"{\"a\":1}\r\n{\"b\":\r2}\r\r\n", &ReadOptions::default());
    assert_eq!(outcome.texts(), ["{\"a\":1}", "{\"b\":\r2}\r"], "only one, and only before the line break");
}

#[test]
fn blank_lines_are_counted_and_not_delivered() {
    let outcome = read(b"\n\r\n{\"a\":1}\n  \t \n\n {\"b\":2} \n\n", &ReadOptions::default());
    assert_eq!(outcome.texts(), [r#"{"a":1}"#, r#" {"b":2} "#], "blanks around a record are its own");
    assert_eq!(outcome.lines(), [3, 6]);
    assert_eq!(outcome.totals[0].blank_lines, 5);
    assert_eq!(outcome.totals[0].bytes, 28);
}

#[test]
fn nothing_is_no_record() {
    for text in [&b""[..], b"\n", b"  ", b"\xef\xbb\xbf", b"\xef\xbb\xbf\r\n"] {
        let outcome = read(text, &ReadOptions::default());
        assert_eq!((outcome.records.len(), outcome.errors.len()), (0, 0), "{text:?}");
    }
}

#[test]
fn a_byte_order_mark_is_passed_over_at_the_start_of_a_file_only() {
    for options in [blocks(1), blocks(2), ReadOptions::default(), layout(Layout::Lines)] {
        let outcome = read("\u{feff}{\"a\":1}\n\u{feff}{\"b\":2}".as_bytes(), &options);
        assert_eq!(outcome.texts(), ["{\"a\":1}", "\u{feff}{\"b\":2}"]);
    }
    assert_eq!(read(b"\xef\xbb{", &ReadOptions::default()).records, [(1, b"\xef\xbb{".to_vec())]);
    assert_eq!(read("\u{feff}[1]".as_bytes(), &ReadOptions::default()).texts(), ["1"]);
}

#[test]
fn bytes_that_are_not_text_are_records_too() {
    let outcome = read(b"\xff\xfe\0\n{}\n\x0c\n", &ReadOptions::default());
    assert_eq!(outcome.records, [(1, b"\xff\xfe\0".to_vec()), (2, b"{}".to_vec()), (3, b"\x0c".to_vec())]);
}

#[test]
fn every_block_size_gives_the_same_records() {
    let text = b"{\"a\":1}\r\n\n{\"long\":\"0123456789012345678901234567890123456789\"}\n{}\n \r\n{\"z\":0}";
    let (records, blank_lines) = naive(text);
    for block_bytes in 1..=text.len() + 2 {
        let outcome = read(text, &blocks(block_bytes));
        assert_eq!(outcome.records, records, "blocks of {block_bytes}");
        assert_eq!(outcome.totals[0].blank_lines, blank_lines);
    }
}

#[test]
fn a_block_carries_a_bounded_number_of_records() {
    let text = b"{}\n".repeat(5000);
    let outcome = read(&text, &ReadOptions { records_max: 1000, ..ReadOptions::default() });
    assert_eq!(outcome.totals[0].records, 5000);
    assert_eq!(outcome.lines(), (1..=5000).collect::<Vec<_>>());
}

proptest! {
    #[test]
    fn any_bytes_in_any_blocks_are_split_as_the_naive_split_does(
        picks in proptest::collection::vec((0_usize..9, any::<u8>()), 0..120),
        block_bytes in 1_usize..64,
    ) {
        // Mostly bytes that matter, some that do not.
        let text: Vec<u8> = picks.iter().map(|&(pick, any)| *b"\n\n\r \t{}a".get(pick).unwrap_or(&any)).collect();
        let (records, blank_lines) = naive(&text);
        let outcome = read(&text, &ReadOptions { layout: Layout::Lines, ..blocks(block_bytes) });
        prop_assert_eq!(outcome.records, records);
        prop_assert_eq!(outcome.totals[0].blank_lines, blank_lines);
    }
}
