//! Documents made to tell the two ways apart: values of random bytes and escapes around the borders of what is looked at
//! in one go, numbers in every spelling, frames that are learned from broken-looking documents, families of frames that
//! begin alike, and bytes that are changed, cut off or put in anywhere.

use super::{Random, object, text};
use crate::outline::Outlines;
use crate::tape::{Malformed, Node, Parser, StaticNode, Tape};

use super::Part;

/// How many templates are tried; `TOLLGATE_LONG` multiplies them.
const TEMPLATES: usize = 400;
/// So many documents have values that mean something, so that the frame is learned; so many more do not care.
const WARM: usize = 8;
const HOSTILE: usize = 24;

/// What a string is put together from, as it stands in a payload.
const BITS: &[&[u8]] = &[
    b"a",
    b"plain text of some length, ",
    b"0123456789abcdef0123456789abcde",
    b"\\n",
    b"\\\"",
    b"\\\\",
    b"\\/",
    b"\\u0041",
    b"\\u00E9",
    b"\\u20aC",
    b"\\uD83D\\uDE80",
    b"\\u0000",
    b"\\u001f",
    b"\\u007f",
    b"\\uFFFF",
    b"\xc3\xa9",
    b"\xe6\x9d\xb1",
    b"\xf0\x9f\x9a\x80",
    b"\x7f",
    b"'{}[],: ",
];
/// As [`BITS`], for what no string may hold.
const BROKEN: &[&[u8]] = &[
    b"\\",
    b"\"",
    b"\\u",
    b"\\u12",
    b"\\u12g4",
    b"\\x",
    b"\\U0041",
    b"\\ud83d",
    b"\\udE80",
    b"\\ud83d\\u0041",
    b"\\ud83d\\ud83d\\ude80",
    b"\\u+041",
    b"\\u 041",
    b"\x00",
    b"\x01",
    b"\x1f",
    b"\n",
    b"\t",
    b"\xff",
    b"\x80",
    b"\xc3",
    b"\xc0\xaf",
    b"\xe6\x9d",
    b"\xed\xa0\x80",
    b"\xf4\x90\x80\x80",
    b"\xf0\x9f\x9a",
    b"\",\"",
    b"\":\"",
    b"\xef\xbb\xbf",
];

/// A string as it stands in a payload, without its quotes.
fn string(random: &mut Random, broken: bool, out: &mut Vec<u8>) {
    if random.below(8) == 0 {
        // Something special at any distance from the begin and from the end.
        out.extend(std::iter::repeat_n(b'x', random.below(70)));
        out.extend_from_slice(BITS[random.below(BITS.len())]);
        out.extend(std::iter::repeat_n(b'y', random.below(70)));
    }
    for _ in 0..random.below(8) {
        let from = if broken && random.below(12) == 0 { BROKEN } else { BITS };
        out.extend_from_slice(from[random.below(from.len())]);
    }
    if random.below(500) == 0 {
        let long = b"a long text ".repeat(random.below(8000));
        out.extend_from_slice(&long);
    }
}

fn digits(random: &mut Random, len: usize, out: &mut Vec<u8>) {
    let digit = random.below(12);
    for _ in 0..len {
        out.push(b'0' + if digit < 10 { digit as u8 } else { random.below(10) as u8 });
    }
}

/// A number or word in any spelling.
fn scalar(random: &mut Random, broken: bool, out: &mut Vec<u8>) {
    if random.below(4) == 0 {
        out.extend_from_slice(
            random.pick(&["true", "false", "null", "0", "-0", "1", "0.0", "-0.0"]).as_bytes(),
        );
        return;
    }
    let start = out.len();
    if random.below(3) == 0 {
        out.push(b'-');
    }
    if random.below(4) == 0 {
        out.push(b'0');
    } else {
        out.push(b'1' + random.below(9) as u8);
        let len = [0, 2, 8, 16, 17, 18, 19, 20, 40][random.below(9)];
        let len = random.below(len + 1);
        digits(random, len, out);
    }
    if random.below(2) == 0 {
        out.push(b'.');
        let len = [1, 3, 9, 17, 20, 30, 400][random.below(7)];
        let len = 1 + random.below(len);
        digits(random, len, out);
    }
    if random.below(2) == 0 {
        out.extend_from_slice(random.pick(&["e", "E", "e+", "e-", "E-"]).as_bytes());
        if random.below(4) == 0 {
            let len = 1 + random.below(25);
            digits(random, len, out);
        } else {
            out.extend_from_slice(random.below(345).to_string().as_bytes());
        }
    }
    if broken && random.below(4) == 0 {
        let at = start + random.below(out.len() - start + 1);
        let bytes = b"0.eE+-xXn_ 1\x00\x0b\x0c\xa0";
        out.insert(at, bytes[random.below(bytes.len())]);
    }
}

/// One document.
fn document(random: &mut Random, parts: &[Part], hostile: bool, out: &mut Vec<u8>) {
    out.clear();
    let broken = hostile && random.below(4) == 0;
    for part in parts {
        match part {
            Part::Literal(literal) => out.extend_from_slice(literal.as_bytes()),
            Part::Text => string(random, broken, out),
            Part::Scalar => scalar(random, broken, out),
        }
    }
    if hostile && random.below(3) == 0 {
        for _ in 0..=random.below(2) {
            change(random, out);
        }
    }
}

/// Changes a byte or some of them.
fn change(random: &mut Random, bytes: &mut Vec<u8>) {
    let odd = b"\"\"\\\\{}[],:: \n\r\t\x00\x0b\x0c\x1f\x7f\x80\xbf\xc3\xff0a-.eut";
    let byte = if random.below(4) == 0 { random.below(256) as u8 } else { odd[random.below(odd.len())] };
    // Near the end as often as anywhere.
    let len = bytes.len();
    let at =
        if random.below(3) == 0 { len.saturating_sub(1 + random.below(40)) } else { random.below(len + 1) };
    match random.below(8) {
        0 => bytes.truncate(at),
        1 => {
            bytes.extend_from_slice(random.pick(&[" ", "\n", "\r\n", "\0", "x", "{}", "\t\t \n"]).as_bytes());
        }
        2 if at < len => drop(bytes.remove(at)),
        3 => drop(bytes.splice(0..0, *b"\xef\xbb\xbf")),
        4 => {
            let (end, to) = ((at + random.below(40)).min(len), random.below(len + 1));
            let some = bytes[at.min(end)..end].to_vec();
            drop(bytes.splice(to..to, some));
        }
        5 | 6 if at < len => bytes[at] = byte,
        _ => bytes.insert(at, byte),
    }
}

/// Changes a literal of a template, or makes its tail another one, so that the two begin alike.
fn vary(random: &mut Random, parts: &mut Vec<Part>) {
    if random.below(2) == 0 {
        let at = random.below(parts.len());
        if let Part::Literal(literal) = &mut parts[at] {
            let mut bytes = std::mem::take(literal).into_bytes();
            match random.below(4) {
                0 => drop(bytes.splice(0..0, std::iter::repeat_n(b' ', random.below(70)))),
                1 => bytes.extend(std::iter::repeat_n(b'\n', random.below(40))),
                _ => change(random, &mut bytes),
            }
            *literal = String::from_utf8(bytes).unwrap_or_else(|_| " ".to_owned());
        }
        return;
    }
    parts.truncate(random.below(parts.len()) + 1);
    let mut tail = Vec::new();
    match random.below(4) {
        0 => text(&mut tail),
        1 => tail.push(Part::Scalar),
        2 => object(random, 2, ("", ""), &mut tail),
        _ => tail.push(Part::Literal("\"".to_owned())),
    }
    parts.append(&mut tail);
    // Closing brackets for whatever is open, more or less.
    let mut open = Vec::new();
    for part in parts.iter() {
        if let Part::Literal(literal) = part {
            for bracket in literal.bytes() {
                match bracket {
                    b'{' => open.push('}'),
                    b'[' => open.push(']'),
                    b'}' | b']' => drop(open.pop()),
                    _ => {}
                }
            }
        }
    }
    parts.push(Part::Literal(open.into_iter().rev().collect()));
}

fn same_node(left: &Node<'_>, right: &Node<'_>) -> bool {
    match (left, right) {
        (Node::Static(StaticNode::F64(left)), Node::Static(StaticNode::F64(right))) => {
            left.to_bits() == right.to_bits()
        }
        _ => left == right,
    }
}

/// Everything that two tapes tell.
fn assert_same(found: Result<Tape<'_>, Malformed>, expected: Result<Tape<'_>, Malformed>, bytes: &[u8]) {
    let context = || format!("{:?}", bytes.escape_ascii().to_string());
    let (found, expected) = match (found, expected) {
        (Ok(found), Ok(expected)) => (found, expected),
        (found, expected) => {
            assert_eq!(found.err(), expected.err(), "{}", context());
            return;
        }
    };
    assert_eq!(found.nodes().len(), expected.nodes().len(), "{}", context());
    let mut text_bytes = 0;
    for (at, (left, right)) in found.nodes().iter().zip(expected.nodes()).enumerate() {
        assert!(same_node(left, right), "node {at}: {left:?}, not {right:?}: {}", context());
        if let (Node::String(left), Node::String(right)) = (left, right) {
            assert_eq!(found.place(left), expected.place(right), "place of node {at}: {}", context());
            text_bytes += left.len();
        }
    }
    assert_eq!(found.wide(), expected.wide(), "{}", context());
    assert_eq!(found.payload(), expected.payload());
    if let Some(outline) = found.outline() {
        assert_eq!(outline.text_bytes, text_bytes, "{}", context());
    }
}

#[test]
fn hostile_documents_have_the_tape_of_the_parser() {
    let mut random = Random::seeded("hostile_documents_have_the_tape_of_the_parser");
    let times = std::env::var("TOLLGATE_LONG").ok().and_then(|times| times.parse().ok()).unwrap_or(1_usize);
    let (mut parser, mut plain, mut outlines) = (Parser::new(16), Parser::new(16), Outlines::default());
    let (mut documents, mut known, mut wrong, mut odd) = (0_u64, 0_u64, 0_u64, 0_u64);
    let (mut base, mut bytes) = (Vec::new(), Vec::new());
    for template in 0..TEMPLATES * times {
        if template % 64 == 0 {
            outlines = Outlines::default();
        }
        if template % 8 == 0 {
            base.clear();
            let blanks =
                [("", ""), (" ", " "), ("\n                                  ", " "), ("\r\n", "\t")];
            let blanks = blanks[random.below(blanks.len())];
            object(&mut random, 0, blanks, &mut base);
        }
        let mut parts = base.clone();
        if template % 8 > 0 {
            vary(&mut random, &mut parts);
        }
        for number in 0..WARM + HOSTILE {
            document(&mut random, &parts, number >= WARM, &mut bytes);
            let before = outlines.frames.hits;
            let is_ok = outlines.parse(&mut parser, &bytes, |found| {
                plain.parse(&bytes, |expected| {
                    assert_same(found, expected, &bytes);
                    expected.is_ok()
                })
            });
            let fitted = outlines.frames.hits > before;
            documents += 1;
            known += u64::from(fitted);
            odd += u64::from(fitted && number >= WARM);
            wrong += u64::from(!is_ok);
        }
    }
    println!("{documents} documents, {known} by their frames ({odd} of them hostile), {wrong} malformed");
    assert!(known * 20 > documents && wrong * 20 > documents, "{known} {wrong} of {documents}");
}

/// At the borders of what is remembered: many nodes, long documents, and a value behind either.
#[test]
fn documents_at_the_limits_have_the_tape_of_the_parser() {
    let (mut parser, mut plain, mut outlines) = (Parser::new(16), Parser::new(16), Outlines::default());
    let mut check = |text: &str| {
        let before = outlines.frames.hits;
        outlines.parse(&mut parser, text.as_bytes(), |found| {
            plain.parse(text.as_bytes(), |expected| assert_same(found, expected, text.as_bytes()));
        });
        outlines.frames.hits > before
    };
    for (items, fits) in [(379, true), (380, true), (381, true), (382, false), (400, false)] {
        let text = |item: &str| format!("{{\"a\":[{}]}}", vec![item; items].join(","));
        let known = [1, 2, 3, 4, 5, 6, 7, 8].map(|n| check(&text(&n.to_string())));
        assert_eq!(known[7], fits, "{items}");
        for item in ["-0.5e1", "\"x\"", "1e400", "01", "{}", "", "1\u{1}"] {
            check(&text(item));
        }
    }
    // A frame of a short document fits a long one.
    let text = |long: &str| format!("{{\"long\":\"{long}\",\"n\":1,\"behind\":\"\\u0041\"}}");
    assert!((0..20).map(|n| check(&text(&n.to_string()))).last().unwrap());
    for bytes in [65_000, 65_535, 65_536, 200_000] {
        for odd in ["", "\\n", "\\ud83d", "\u{1}", "\""] {
            let is_known = check(&text(&("x".repeat(bytes) + odd)));
            assert_eq!(is_known, odd.is_empty() || odd == "\\n", "{bytes} {odd:?}");
        }
    }
    // Names of any length, up to what a piece may have and beyond.
    for bytes in [31, 32, 33, 4000, 4088, 4090, 4096, 5000] {
        for n in 0..12 {
            check(&format!("{{\"{}\":\"{n}\",\"b\":{n}}}", "n".repeat(bytes)));
        }
    }
}
