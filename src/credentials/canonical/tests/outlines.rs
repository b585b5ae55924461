//! Documents that come again with other values, blanks and escapes: what is remembered of an outline gives the bytes of a
//! model that knows none of the ways there are, character by character.

use std::io::Write as _;
use std::process::{Command, Stdio};

use super::super::forms::{Cpython, Form, Jcs};
use super::super::{Buffers, Unfit, append_cpython, append_jcs, cpython, jcs, numbers};
use super::Random;
use super::random_documents::{NAMES, write_all};
use crate::outline::Outlines;
use crate::tape::{Node, NodeIndex, Parser, StaticNode, Tape};

/// How many outlines are tried; `TOLLGATE_LONG` multiplies them.
const OUTLINES: u64 = 300;
const DOCUMENTS: u64 = 24;

/// A value of which the outline is fixed, and nothing else.
enum Shape {
    Object(Vec<(&'static str, Shape)>),
    Array(Vec<Shape>),
    Text,
    Scalar,
}

fn shape(random: &mut Random, depth: u32) -> Shape {
    match random.below(if depth > 3 { 4 } else { 8 }) {
        0 | 1 => Shape::Text,
        2 | 3 => Shape::Scalar,
        4 => Shape::Array((0..random.below(5)).map(|_| shape(random, depth + 1)).collect()),
        _ => object(random, depth),
    }
}

fn object(random: &mut Random, depth: u32) -> Shape {
    let most = if random.below(6) == 0 { 22 } else { 7 };
    let count = random.below(most);
    let mut members: Vec<(&'static str, Shape)> = Vec::new();
    for _ in 0..count {
        let name = random.pick(NAMES);
        if random.below(300) == 0 || members.iter().all(|(other, _)| *other != name) {
            members.push((name, shape(random, depth + 1)));
        }
    }
    Shape::Object(members)
}

/// How one document is written; of each, one in so many, or none at all.
struct Style {
    blanks: u64,
    escapes: u64,
    escaped_names: u64,
    odd_numbers: u64,
}

impl Style {
    fn new(random: &mut Random) -> Self {
        Self {
            blanks: random.pick(&[0, 0, 0, 1, 4, 60]),
            escapes: random.pick(&[0, 0, 2, 20, 200]),
            escaped_names: random.pick(&[0, 0, 0, 3, 30]),
            odd_numbers: random.pick(&[0, 0, 2, 10]),
        }
    }
}

fn one_in(random: &mut Random, rarity: u64) -> bool {
    rarity > 0 && random.below(rarity) == 0
}

fn blanks(random: &mut Random, style: &Style, out: &mut String) {
    while one_in(random, style.blanks) {
        out.push(random.pick(&[' ', '\n', '\t', '\r']));
        if random.below(2) == 0 {
            break;
        }
    }
}

/// A string, escaped where it has to be, and where it need not.
fn string(random: &mut Random, text: &str, rarity: u64, out: &mut String) {
    out.push('"');
    for c in text.chars() {
        let escaped = one_in(random, rarity);
        match c {
            '"' | '\\' if !escaped => out.extend(['\\', c]),
            '/' if escaped => out.push_str("\\/"),
            '\t' if !escaped => out.push_str("\\t"),
            '\r' if !escaped => out.push_str("\\r"),
            '\u{8}' if !escaped => out.push_str("\\b"),
            '\u{c}' if !escaped => out.push_str("\\f"),
            _ if escaped || c < ' ' => {
                for unit in c.encode_utf16(&mut [0; 2]) {
                    out.push_str(&if random.below(2) == 0 {
                        format!("\\u{unit:04X}")
                    } else {
                        format!("\\u{unit:04x}")
                    });
                }
            }
            _ => out.push(c),
        }
    }
    out.push('"');
}

/// Lengths around what is copied or looked at in one go.
fn any_text(random: &mut Random) -> String {
    const SPECIAL: &[char] = &[
        '"',
        '\\',
        '/',
        '\n',
        '\t',
        '\r',
        '\u{8}',
        '\u{c}',
        '\u{0}',
        '\u{1f}',
        '\u{7f}',
        '\u{80}',
        'é',
        '€',
        '東',
        '🚀',
        '\u{ffff}',
        '\u{10ffff}',
        '\u{2028}',
        '1',
        '.',
        ',',
        ':',
        '}',
        ']',
        ' ',
    ];
    let mut text = String::new();
    if random.below(3) > 0 {
        let len = random.pick(&[0, 1, 8, 15, 16, 17, 30, 31, 32, 33, 62, 63, 64, 65, 66, 130]);
        text.extend(std::iter::repeat_n('x', len as usize));
    }
    for _ in 0..random.below(6) {
        if random.below(3) > 0 {
            text.push(random.pick(SPECIAL));
        }
        text.extend(std::iter::repeat_n('y', random.below(40) as usize));
    }
    if random.below(300) == 0 {
        text = text.repeat(100);
    }
    text
}

fn scalar(random: &mut Random, style: &Style, out: &mut String) {
    const ODD: &[&str] = &[
        "-0",
        "-0.0",
        "0.0",
        "1.0",
        "1.50",
        "1e2",
        "1E2",
        "1e21",
        "1e+21",
        "1e-7",
        "0.000001",
        "5e-324",
        "1e-400",
        "9007199254740991",
        "-9007199254740991",
        "9007199254740993",
        "18446744073709551615",
        "-9223372036854775808",
        "123456789012345678901234567890",
        "1e400",
        "0.1000",
        "100000000000000000000.0",
        "2.5e-07",
        "0e99999999999",
        "1e-99999999999",
        "0.30000000000000004",
        "0.1000000000000000055511151231257827",
    ];
    if one_in(random, style.odd_numbers) {
        out.push_str(random.pick(ODD));
        return;
    }
    match random.below(5) {
        0 => out.push_str(random.pick(&["true", "false", "null"])),
        1 | 2 => out.push_str(&(random.below(2_000_000) as i64 - 1_000_000).to_string()),
        3 => out.push_str(&(random.below(1000) as f64 / 8.0 - 10.5).to_string()),
        _ => {
            let text = numbers::ecmascript(random.double());
            out.push_str(std::str::from_utf8(text.as_bytes()).unwrap());
        }
    }
}

fn write(random: &mut Random, shape: &Shape, style: &Style, out: &mut String) {
    blanks(random, style, out);
    match shape {
        Shape::Text => {
            let text = any_text(random);
            string(random, &text, style.escapes, out);
        }
        Shape::Scalar => scalar(random, style, out),
        Shape::Array(items) => {
            out.push('[');
            for (number, item) in items.iter().enumerate() {
                out.push_str(if number > 0 { "," } else { "" });
                write(random, item, style, out);
            }
            blanks(random, style, out);
            out.push(']');
        }
        Shape::Object(members) => {
            out.push('{');
            for (number, (name, member)) in members.iter().enumerate() {
                out.push_str(if number > 0 { "," } else { "" });
                blanks(random, style, out);
                string(random, name, style.escaped_names, out);
                blanks(random, style, out);
                out.push(':');
                write(random, member, style, out);
            }
            blanks(random, style, out);
            out.push('}');
        }
    }
    blanks(random, style, out);
}

/// What tells the two forms apart, for the model.
struct Model<'t> {
    tape: Tape<'t>,
    omit: Option<NodeIndex>,
    python: bool,
}

impl Model<'_> {
    /// Writes the value at a node, and says which node is behind it.
    fn value(&self, at: usize, out: &mut String) -> Result<usize, Unfit> {
        match self.tape.nodes()[at] {
            Node::String(text) => self.string(text, out),
            Node::Static(StaticNode::Null) => out.push_str("null"),
            Node::Static(StaticNode::Bool(value)) => out.push_str(&value.to_string()),
            Node::Static(_) => self.number(at, out)?,
            Node::Array { len, .. } => {
                let mut item = at + 1;
                out.push('[');
                for number in 0..len {
                    out.push_str(if number > 0 { "," } else { "" });
                    item = self.value(item, out)?;
                }
                out.push(']');
                return Ok(item);
            }
            Node::Object { len, .. } => return self.object(at, len, out),
        }
        Ok(at + 1)
    }

    fn object(&self, at: usize, len: usize, out: &mut String) -> Result<usize, Unfit> {
        let mut members = Vec::new();
        let mut name_at = at + 1;
        for _ in 0..len {
            let Node::String(name) = self.tape.nodes()[name_at] else { panic!("a name") };
            if self.omit != Some(NodeIndex(name_at as u32 + 1)) {
                members.push((name, name_at + 1));
            }
            name_at = super::super::behind(self.tape.nodes(), name_at + 1);
        }
        if self.python {
            members.sort_by_key(|(name, _)| name.chars().collect::<Vec<_>>());
        } else {
            members.sort_by_key(|(name, _)| name.encode_utf16().collect::<Vec<_>>());
        }
        out.push('{');
        for (number, (name, value)) in members.iter().enumerate() {
            if number > 0 && members[number - 1].0 == *name {
                return Err(Unfit::DuplicateName);
            }
            out.push_str(if number > 0 { "," } else { "" });
            self.string(name, out);
            out.push(':');
            self.value(*value, out)?;
        }
        out.push('}');
        Ok(name_at)
    }

    fn number(&self, at: usize, out: &mut String) -> Result<(), Unfit> {
        let text = self.tape.number_text(NodeIndex(at as u32)).unwrap();
        if !text.contains(['.', 'e', 'E']) {
            let whole: Option<i128> = text.parse().ok();
            let in_range = whole.is_some_and(|whole| whole.unsigned_abs() < 1 << 53);
            if !self.python && !in_range {
                return Err(Unfit::NumberRange);
            }
            out.push_str(if text == "-0" { "0" } else { text });
            return Ok(());
        }
        let value: f64 = text.parse().unwrap();
        if !value.is_finite() {
            return Err(Unfit::NumberRange);
        }
        // Layouts have tests of their own.
        let text = if self.python { numbers::cpython(value) } else { numbers::ecmascript(value) };
        out.push_str(std::str::from_utf8(text.as_bytes()).unwrap());
        Ok(())
    }

    fn string(&self, text: &str, out: &mut String) {
        out.push('"');
        for c in text.chars() {
            match c {
                '"' | '\\' => out.extend(['\\', c]),
                '\n' => out.push_str("\\n"),
                '\r' => out.push_str("\\r"),
                '\t' => out.push_str("\\t"),
                '\u{8}' => out.push_str("\\b"),
                '\u{c}' => out.push_str("\\f"),
                ' '..='~' => out.push(c),
                _ if c < ' ' || self.python => {
                    for unit in c.encode_utf16(&mut [0; 2]) {
                        out.push_str(&format!("\\u{unit:04x}"));
                    }
                }
                _ => out.push(c),
            }
        }
        out.push('"');
    }
}

/// The members' values.
fn members(tape: Tape<'_>) -> Vec<NodeIndex> {
    let mut values = Vec::new();
    for (at, node) in tape.nodes().iter().enumerate() {
        let Node::Object { len, .. } = node else { continue };
        let mut name_at = at + 1;
        for _ in 0..*len {
            values.push(NodeIndex(name_at as u32 + 1));
            name_at = super::super::behind(tape.nodes(), name_at + 1);
        }
    }
    values
}

#[test]
fn forms_of_outlines_that_come_again_are_those_of_a_model() {
    let mut random = Random::seeded("forms_of_outlines_that_come_again_are_those_of_a_model");
    let times = std::env::var("TOLLGATE_LONG").ok().and_then(|times| times.parse().ok()).unwrap_or(1);
    let (mut parser, mut outlines, mut plain) = (Parser::new(64), Outlines::default(), Parser::new(64));
    let (mut buffers, mut again) = (Buffers::default(), Buffers::default());
    let (mut known, mut in_place, mut unfit, mut forms) = (0_u64, 0_u64, 0_u64, 0_u64);
    for number in 0..OUTLINES * times {
        // Whoever saw too many gets slow to learn more.
        if number.is_multiple_of(100) {
            outlines = Outlines::default();
        }
        let shape = object(&mut random, 0);
        let common = Style::new(&mut random);
        // What a format asks for is the same each time, more often than not.
        let (mut node, mut omit) =
            (random.below(3) * random.below(1000), random.below(2) * random.below(1000));
        let mut python = random.below(3) == 0;
        for _ in 0..DOCUMENTS {
            let own = Style::new(&mut random);
            let mut text = String::new();
            let style = if random.below(3) == 0 { &own } else { &common };
            write(&mut random, &shape, style, &mut text);
            if random.below(10) == 0 {
                (node, omit, python) = (random.below(1000), random.below(1000), random.below(2) == 0);
            }
            let bytes = text.as_bytes();
            outlines.parse(&mut parser, bytes, |tape| {
                let tape = tape.unwrap();
                let values = members(tape);
                let node = NodeIndex((node % tape.nodes().len() as u64) as u32);
                let omit = values.get(omit as usize % (values.len() + 1)).copied();
                let context =
                    || format!("node {node:?} omit {omit:?} python {python}: {}", text.escape_debug());
                let mut expected = String::new();
                let model = plain.parse(bytes, |tape| {
                    let model = Model { tape: tape.unwrap(), omit, python };
                    model.value(node.0 as usize, &mut expected)
                });
                again.out.clear();
                let form = if python {
                    let written = write_all::<Cpython>(tape, bytes, node, omit, &mut again);
                    assert_eq!(written.is_ok(), model.is_ok(), "{}", context());
                    check::<Cpython>(tape, bytes, (node, omit), &mut buffers)
                } else {
                    let written = write_all::<Jcs>(tape, bytes, node, omit, &mut again);
                    assert_eq!(written.is_ok(), model.is_ok(), "{}", context());
                    check::<Jcs>(tape, bytes, (node, omit), &mut buffers)
                };
                forms += 1;
                known += u64::from(tape.outline().is_some());
                match form {
                    Ok((form, is_in_place)) => {
                        assert!(model.is_ok(), "{model:?}, not {form}: {}", context());
                        assert_eq!(form, expected, "{}", context());
                        assert_eq!(*again.out, *expected.as_bytes(), "{}", context());
                        in_place += u64::from(is_in_place);
                    }
                    Err(why) => {
                        assert!(model.is_err(), "{why:?}, not {expected}: {}", context());
                        unfit += 1;
                    }
                }
            });
        }
    }
    println!("{forms} forms, {known} of known outlines, {in_place} in place, {unfit} without a form");
    assert!(known * 2 > forms && in_place * 50 > forms && unfit * 500 > forms, "{known} {in_place} {unfit}");
}

/// The form, alone and behind something else, and whether it stands in the payload.
fn check<F: Form>(
    tape: Tape<'_>,
    bytes: &[u8],
    (node, omit): (NodeIndex, Option<NodeIndex>),
    buffers: &mut Buffers,
) -> Result<(String, bool), Unfit> {
    let is_python = F::NUMBER == Cpython::NUMBER;
    let ask = if is_python { cpython } else { jcs };
    let form = ask(tape, bytes, node, omit, buffers)?;
    let (text, is_in_place) = (String::from_utf8(form.pieces().concat()).unwrap(), form.is_in_place());
    if !is_python || omit.is_none() {
        buffers.out.clear();
        buffers.out.extend_from_slice(b"before");
        if is_python {
            append_cpython(tape, bytes, node, buffers)?;
        } else {
            append_jcs(tape, bytes, node, omit, buffers)?;
        }
        assert_eq!(*buffers.out, *format!("before{text}").as_bytes());
    }
    Ok((text, is_in_place))
}

/// Python itself is asked for the forms of documents that come again.
#[test]
fn forms_of_outlines_that_come_again_are_those_of_python() {
    const SCRIPT: &str = "import sys,json\n\
        for line in sys.stdin: print(json.dumps(json.loads(json.loads(line)),sort_keys=True,separators=(',',':')))";
    let mut random = Random::seeded("forms_of_outlines_that_come_again_are_those_of_python");
    let python =
        Command::new("python3").args(["-c", SCRIPT]).stdin(Stdio::piped()).stdout(Stdio::piped()).spawn();
    let Ok(mut python) = python else {
        eprintln!("SKIPPED: python3 cannot be started, so its forms are not compared");
        return;
    };
    let (mut parser, mut outlines, mut buffers) = (Parser::new(64), Outlines::default(), Buffers::default());
    let (mut lines, mut forms) = (String::new(), Vec::new());
    for _ in 0..OUTLINES {
        let shape = object(&mut random, 0);
        for _ in 0..DOCUMENTS {
            let (style, mut text) = (Style::new(&mut random), String::new());
            write(&mut random, &shape, &style, &mut text);
            outlines.parse(&mut parser, text.as_bytes(), |tape| {
                // What has no form is none of Python's matters: names that stand twice, doubles that overflow.
                let form = cpython(tape.unwrap(), text.as_bytes(), NodeIndex(0), None, &mut buffers);
                if let Ok(form) = form {
                    forms.push((text.clone(), form.pieces().concat()));
                    lines.push_str(&serde_json::to_string(&text).unwrap());
                    lines.push('\n');
                }
            });
        }
    }
    let mut stdin = python.stdin.take().unwrap();
    let feeder = std::thread::spawn(move || stdin.write_all(lines.as_bytes()));
    let output = python.wait_with_output().unwrap();
    feeder.join().unwrap().unwrap();
    let printed = String::from_utf8(output.stdout).unwrap();
    assert_eq!(printed.lines().count(), forms.len());
    for ((text, form), expected) in forms.iter().zip(printed.lines()) {
        assert_eq!(String::from_utf8_lossy(form), expected, "{}", text.escape_debug());
    }
    println!("{} forms", forms.len());
    assert!(forms.len() as u64 > OUTLINES * DOCUMENTS / 2);
}
