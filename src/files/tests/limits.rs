//! Long records: up to the limit they are kept, past it only their length and hash.

use std::io::{self, Read};
use std::time::Instant;

use ring::digest::{SHA256, digest};

use super::{Layout, ReadOptions, blocks, drain, read};
use crate::files::{Event, Input, Reader};

fn limited(block_bytes: usize, record_bytes_max: usize) -> ReadOptions {
    ReadOptions { record_bytes_max, ..blocks(block_bytes) }
}

#[test]
fn a_record_past_the_limit_is_a_length_and_a_hash_in_its_place() {
    let long = format!("{{\"long\":\"{}\"}}", "x".repeat(100));
    for text in
        [format!("{{\"a\":1}}\n{long}\r\n{{\"b\":2}}\n"), format!("[{{\"a\":1}}\n, {long} \n , {{\"b\":2}}]")]
    {
        for block_bytes in 1..=text.len() {
            let outcome = read(text.as_bytes(), &limited(block_bytes, 20));
            assert_eq!(outcome.texts(), ["{\"a\":1}", "{\"b\":2}"], "blocks of {block_bytes}");
            assert_eq!(outcome.lines(), [1, 3]);
            let [(2, oversized)] = outcome.oversized[..] else { panic!("{:?}", outcome.oversized) };
            assert_eq!(oversized.bytes, long.len() as u64);
            assert_eq!(oversized.sha256, digest(&SHA256, long.as_bytes()).as_ref());
            assert_eq!((outcome.totals[0].records, outcome.totals[0].oversized), (3, 1));
        }
    }
}

#[test]
fn the_limit_itself_is_allowed() {
    let text = b"1234567890\n12345678901\n";
    for block_bytes in 1..30 {
        let outcome = read(text, &limited(block_bytes, 10));
        assert_eq!(outcome.texts(), ["1234567890"]);
        assert_eq!(outcome.oversized[0].1.bytes, 11);
    }
}

#[test]
fn an_oversized_last_line_and_an_oversized_open_document_end_with_the_file() {
    for (layout, text) in
        [(Layout::Lines, "x".repeat(50)), (Layout::Documents, format!("{{\n{}", "x".repeat(50)))]
    {
        for block_bytes in [1, 7, 50, 100] {
            let outcome = read(text.as_bytes(), &ReadOptions { layout, ..limited(block_bytes, 10) });
            let [(1, oversized)] = outcome.oversized[..] else { panic!("{:?}", outcome.oversized) };
            assert_eq!(oversized.sha256, digest(&SHA256, text.as_bytes()).as_ref());
        }
    }
}

/// Text that is made as it is read: `head`, `count` times `x`, `tail`.
fn made(head: &'static str, count: u64, tail: &'static str) -> Box<dyn Read + Send> {
    Box::new(head.as_bytes().chain(io::repeat(b'x').take(count)).chain(tail.as_bytes()))
}

#[test]
fn a_line_of_100_mb_is_a_record_like_any_other() {
    const BYTES: u64 = 100_000_000;
    for (head, tail) in [("{\"a\":\"", "\"}\n{\"b\":2}\n"), ("[{\"a\":\"", "\"} , {\"b\":2}]")] {
        let begin = Instant::now();
        let options = ReadOptions::default();
        let reader = Reader::open_with_stdin(&[Input::Stdin], &options, made(head, BYTES, tail)).unwrap();
        let outcome = drain(reader, &options);
        let lens: Vec<_> = outcome.records.iter().map(|(_, payload)| payload.len() as u64).collect();
        assert_eq!(lens, [BYTES + 8, 7]);
        println!("a record of 100 MB behind {head:?}: {:?}", begin.elapsed());
    }
}

#[test]
fn records_behind_a_long_one_do_not_hold_its_memory() {
    let tail: &'static str = "{\"b\":2}\n".repeat(400_000).leak();
    let options = ReadOptions::default();
    let reader = Reader::open_with_stdin(&[Input::Stdin], &options, made("", 20_000_000, tail)).unwrap();
    let sizes = reader
        .filter_map(|event| if let Event::Block(block) = event { Some(block.bytes.len()) } else { None });
    let sizes: Vec<_> = sizes.collect();
    assert!(sizes[0] > 20_000_000 && sizes[1..].iter().all(|&bytes| bytes <= 256 * 1024), "{sizes:?}");
}

#[test]
fn memory_stays_bounded_whatever_is_read() {
    // 256 MiB of each, with a limit of 1 MiB: blocks show how far the buffer has grown.
    let options = ReadOptions { record_bytes_max: 1 << 20, ..ReadOptions::default() };
    let white = Box::new(io::repeat(b' ').take(1 << 28));
    let inputs: [Box<dyn Read + Send>; 5] = [
        made("{", 1 << 28, "}\n{}"),
        made("[{\"", 1 << 28, "\"},{}]"),
        Box::new(b"[1".chain(io::repeat(b' ').take(1 << 28)).chain(&b",2]"[..])),
        Box::new(io::repeat(b'\n').take(1 << 28).chain(&b"[1]"[..])),
        white,
    ];
    for input in inputs {
        let reader = Reader::open_with_stdin(&[Input::Stdin], &options, input).unwrap();
        let mut unfinished = 0;
        for event in reader {
            match event {
                Event::Block(block) => assert!(block.bytes.len() <= 5 << 20, "{}", block.bytes.len()),
                Event::Unfinished => unfinished += 1,
                Event::Done { totals, .. } => assert!(totals.bytes >= 1 << 28),
                Event::Failed { error, .. } => panic!("{error}"),
            }
        }
        assert!(unfinished > 2, "whoever reads can stop on the way: {unfinished}");
    }
}
