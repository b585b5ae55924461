//! A tape by a frame is the parser's tape, on documents that look alike and on such as only seem to.

mod hostile;

use std::hash::{BuildHasher as _, RandomState};

use super::write::short_decimal;
use crate::outline::Outlines;
use crate::tape::{Malformed, Node, Parser, Tape};

/// A small generator; the seed comes from `TOLLGATE_SEED` or is random, and is printed.
struct Random(u64);

impl Random {
    fn seeded(test: &str) -> Self {
        let given = std::env::var("TOLLGATE_SEED").ok().and_then(|seed| seed.parse().ok());
        let seed = given.unwrap_or_else(|| RandomState::new().hash_one(test));
        println!("{test}: TOLLGATE_SEED={seed}");
        Self(seed)
    }

    fn below(&mut self, limit: usize) -> usize {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        ((self.0 >> 33) as usize) % limit
    }

    fn pick<'p>(&mut self, from: &[&'p str]) -> &'p str {
        from[self.below(from.len())]
    }
}

/// A part of a document.
#[derive(Clone)]
enum Part {
    Literal(String),
    Text,
    Scalar,
}

const NAMES: &[&str] = &["a", "id", "type", "session_id", "correlation_id", "", "größe", "in_reply_to"];
const ESCAPED_NAME: &str = "x\\u0041y";

/// Strings as they stand in a payload; the last ones have no meaning.
const TEXTS: &[&str] = &[
    "",
    "x",
    "msg-0f8fad5b-d9cb-469f-a165-70867728950e",
    "größer als 東京 🚀",
    "a line\\nand \\\"another\\\" one\\\\",
    "\\u00e9\\ud83d\\ude80\\/\\b\\f\\r\\t",
    "\\u0000\\u0041",
    "a text that is longer than the words which are looked at one by one, and still has no end for a while, but here",
    "another of them, with an escape far behind, where nobody would look for it any more at all: \\\\\\\" and more",
    "{\\\"a\\\":1}",
    "\\ud83d",
    "\\ude80\\ud83d",
    "\\u12g4",
    "\\x",
    "a\u{1}b",
    "a\nb",
];
const TEXTS_GOOD: usize = 10;

/// Numbers and words; the last ones are none, or need the parser.
const SCALARS: &[&str] = &[
    "0",
    "7",
    "-1",
    "-0",
    "18446744073709551615",
    "-9223372036854775808",
    "1.5",
    "-0.0",
    "1e2",
    "2.50E-7",
    "123456789.123456789",
    "5e-324",
    "true",
    "false",
    "null",
    "18446744073709551616",
    "1e400",
    "01",
    "1.",
    ".5",
    "+1",
    "tru",
    "-",
    "1e",
    "--1",
    "nullx",
    "NaN",
    "1 2",
];
const SCALARS_GOOD: usize = 15;

/// A random object, as parts.
fn object(random: &mut Random, depth: usize, blanks: (&str, &str), parts: &mut Vec<Part>) {
    let literal = |parts: &mut Vec<Part>, text: &str| match parts.last_mut() {
        Some(Part::Literal(last)) => last.push_str(text),
        _ => parts.push(Part::Literal(text.to_owned())),
    };
    literal(parts, "{");
    for number in 0..random.below(6) {
        if number > 0 {
            literal(parts, ",");
        }
        let name = if random.below(100) == 0 { ESCAPED_NAME } else { random.pick(NAMES) };
        let kind = random.below(8);
        literal(parts, &format!("{}\"{name}{number}\"{}:{}", blanks.0, blanks.1, blanks.1));
        match kind {
            0 | 1 if depth < 4 => object(random, depth + 1, blanks, parts),
            2 => {
                literal(parts, "[");
                for item in 0..random.below(4) {
                    literal(parts, if item > 0 { "," } else { blanks.1 });
                    match random.below(3) {
                        0 => text(parts),
                        1 => parts.push(Part::Scalar),
                        _ => object(random, depth + 1, blanks, parts),
                    }
                }
                literal(parts, "]");
            }
            3 | 4 => parts.push(Part::Scalar),
            _ => text(parts),
        }
    }
    literal(parts, blanks.0);
    literal(parts, "}");
}

fn text(parts: &mut Vec<Part>) {
    match parts.last_mut() {
        Some(Part::Literal(last)) => last.push('"'),
        _ => parts.push(Part::Literal("\"".to_owned())),
    }
    parts.push(Part::Text);
    parts.push(Part::Literal("\"".to_owned()));
}

/// One document: mostly with values that mean something, at times with one that does not, or with a byte that is wrong.
fn document(random: &mut Random, parts: &[Part]) -> Vec<u8> {
    let hostile = random.below(4) == 0;
    let mut text = String::new();
    for part in parts {
        match part {
            Part::Literal(literal) => text.push_str(literal),
            Part::Text => {
                text.push_str(random.pick(if hostile { TEXTS } else { &TEXTS[..TEXTS_GOOD] }));
            }
            Part::Scalar => {
                text.push_str(random.pick(if hostile { SCALARS } else { &SCALARS[..SCALARS_GOOD] }));
            }
        }
    }
    let mut bytes = text.into_bytes();
    if random.below(4) == 0 {
        let at = random.below(bytes.len());
        let hostile = b"\"\\{}[],: \n\t\x00\x1f\x7f\x80\xff0a-.e";
        let byte = hostile[random.below(hostile.len())];
        match random.below(3) {
            0 => bytes[at] = byte,
            1 => bytes.insert(at, byte),
            _ => drop(bytes.remove(at)),
        }
    }
    bytes
}

/// Everything that a tape tells.
fn told(tape: Result<Tape<'_>, Malformed>) -> Result<String, Malformed> {
    tape.map(|tape| {
        let place = |node: &Node<'_>| match node {
            Node::String(text) if !text.is_empty() => tape.place(text),
            _ => 0,
        };
        let places: Vec<_> = tape.nodes().iter().map(place).collect();
        format!("{:?} {places:?} {:?} {:?}", tape.nodes(), tape.wide(), tape.payload())
    })
}

#[test]
fn a_tape_by_a_frame_is_the_tape_of_the_parser() {
    let mut random = Random::seeded("a_tape_by_a_frame_is_the_tape_of_the_parser");
    let (mut parser, mut plain, mut outlines) = (Parser::new(64), Parser::new(64), Outlines::default());
    let (mut known, mut wrong) = (0, 0);
    for template in 0..1000 {
        if template % 100 == 0 {
            outlines = Outlines::default();
        }
        let blanks = [("", ""), (" ", " "), ("\n  ", " "), ("", "\t")][random.below(4)];
        let mut parts = Vec::new();
        object(&mut random, 0, blanks, &mut parts);
        for _ in 0..20 {
            let bytes = document(&mut random, &parts);
            let before = outlines.frames.hits;
            let found = outlines.parse(&mut parser, &bytes, told);
            let expected = plain.parse(&bytes, told);
            assert_eq!(found, expected, "{}", String::from_utf8_lossy(&bytes));
            known += u32::from(outlines.frames.hits > before && found.is_ok());
            wrong += u32::from(found.is_err());
        }
    }
    println!("{known} by their frames, {wrong} malformed");
    assert!(known > 3000 && wrong > 1000, "{known} {wrong}");
}

#[test]
fn an_outline_comes_with_the_frame() {
    let (mut parser, mut outlines) = (Parser::new(64), Outlines::default());
    let mut outline =
        |text: &str| outlines.parse(&mut parser, text.as_bytes(), |tape| tape.unwrap().outline());
    let texts: Vec<_> =
        (0..12).map(|n| format!(r#"{{"id":"m-{n:02}","at":{{"n":{n}}},"é":"\u00e9"}}"#)).collect();
    let outlines_of: Vec<_> = texts.iter().map(|text| outline(text)).collect();
    // A stranger, one that came back, some more, and those by its frame.
    assert_eq!(outlines_of[0], None);
    assert!(outlines_of[1].is_some());
    assert!(outlines_of[1..].iter().all(|outline| *outline == outlines_of[1]), "{outlines_of:?}");
    assert!(outlines.frames.hits >= 4);
}

#[test]
fn frames_that_do_not_fit_are_learned_anew() {
    let (mut parser, mut outlines) = (Parser::new(64), Outlines::default());
    // One outline, and more frames than there is room for: blanks differ.
    let text = |blanks: usize, n: usize| format!("{{\"a\":{}\"{n}\",\"b\":{n}}}", " ".repeat(blanks));
    for blanks in 0..3000 {
        for n in 0..3 {
            let text = text(blanks, n);
            let told_of = outlines.parse(&mut parser, text.as_bytes(), told);
            assert_eq!(told_of, Parser::new(8).parse(text.as_bytes(), told));
        }
    }
    assert!(outlines.frames.known.len() <= super::FRAMES_MAX);
    // What comes often is learned all the same.
    let before = outlines.frames.hits;
    for n in 0..5000 {
        outlines.parse(&mut parser, text(1, n).as_bytes(), |tape| assert!(tape.is_ok()));
    }
    assert!(outlines.frames.hits > before + 1000, "{} {before}", outlines.frames.hits);
}

/// What one parser takes, another one may not.
#[test]
fn frames_are_those_of_one_parser() {
    let (mut deep, mut shallow, mut outlines) = (Parser::new(64), Parser::new(2), Outlines::default());
    let text = br#"{"a":{"b":{"c":{"d":"x"}}}}"#;
    for _ in 0..20 {
        assert!(outlines.parse(&mut deep, text, |tape| tape.is_ok()));
    }
    assert!(outlines.frames.hits > 0);
    assert_eq!(outlines.parse(&mut shallow, text, told), Err(Malformed::TooDeep));
}

/// Lessons that come to nothing count as such, so that they get rarer.
#[test]
fn what_is_learned_in_vain_is_learned_less_and_less() {
    let (mut parser, mut outlines, mut random) = (Parser::new(64), Outlines::default(), Random(7));
    let mut send = |escaped: bool| {
        let blanks: String = (0..24).map(|_| random.pick(&[" ", "\t", "\n"])).collect();
        let name = if escaped { "z\\u0041" } else { "zA" };
        let text = format!("{{{blanks}\"id\":\"abc\",\"{name}\":1}}");
        outlines.parse(&mut parser, text.as_bytes(), |tape| assert!(tape.is_ok()));
    };
    (0..60_000).for_each(|number| send(number % 2 == 0));
    assert!(
        outlines.frames.patience > super::PATIENCE || outlines.frames.fruitless > 1024,
        "{:?}",
        outlines.frames.patience
    );
}

/// Formats whose first names are short, and members that many blanks stand before, are told apart.
#[test]
fn short_names_and_indented_ones_have_frames() {
    let (mut parser, mut outlines) = (Parser::new(64), Outlines::default());
    // Names of other lengths beside them: outlines are looked for by lengths.
    let texts: Vec<_> = ('a'..='p')
        .zip(1..)
        .flat_map(|(name, len)| {
            let other = "o".repeat(len);
            [
                format!("{{\"{name}\":\"k\",\"{other}\":1}}"),
                format!("{{\n        \"id\": \"1\",\n        \"{name}\": \"k\",\n        \"{other}\": 1\n}}"),
            ]
        })
        .collect();
    let mut send_all = || {
        for text in &texts {
            outlines.parse(&mut parser, text.as_bytes(), |tape| assert!(tape.is_ok()));
        }
        outlines.frames.hits
    };
    let before = (0..20).map(|_| send_all()).last().unwrap();
    assert_eq!((send_all() - before) as usize, texts.len());
}

#[test]
fn few_digits_make_the_nearest_double() {
    let mut random = Random::seeded("few_digits_make_the_nearest_double");
    let mut short = 0;
    for _ in 0..100_000 {
        let mut text = String::new();
        if random.below(4) == 0 {
            text.push('-');
        }
        let digits = 1 + random.below(17);
        let point = random.below(digits + 1);
        for at in 0..digits {
            if at == point && at > 0 {
                text.push('.');
            }
            text.push(char::from(b'0' + random.below(10) as u8));
        }
        if let Some(number) = short_decimal(text.as_bytes()) {
            short += 1;
            assert_eq!(number.to_bits(), text.parse::<f64>().unwrap().to_bits(), "{text}");
        }
    }
    assert!(short > 50_000, "{short}");
    for other in ["1", "-", "", "1e5", "1.5e1", "1.2.3", "0.1234567890123456", "+1.5", "1,5"] {
        assert_eq!(short_decimal(other.as_bytes()), None, "{other}");
    }
}
