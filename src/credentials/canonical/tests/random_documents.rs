//! Random documents in many styles: in place or written, the bytes are the same.

use serde_json::Value;

use super::super::forms::{Cpython, Form, Jcs};
use super::super::order::Ordered;
use super::super::{Buffers, Unfit, behind, cpython, jcs, members, numbers, whole_and_members, write};
use super::{Random, naive};
use crate::outline::Outlines;
use crate::tape::{Escapes, Node, NodeIndex, Parser, StaticNode, Tape};

const DOCUMENTS: usize = 20_000;

/// A random document as text, in one of many styles.
struct Maker {
    random: Random,
    /// One in so many places gets white space; 0 for none.
    white: u64,
    /// One in so many characters is escaped without need; 0 for none.
    escapes: u64,
    /// Whether members stand in the order of RFC 8785.
    sorted: bool,
    /// Whether floats may stand in any spelling.
    odd_numbers: bool,
}

pub(super) const NAMES: &[&str] = &[
    "",
    "a",
    "aa",
    "b",
    "signature",
    "A",
    "\u{e9}",
    "\u{fb01}",
    "\u{e000}",
    "\u{ffff}",
    "\u{1f600}",
    "\u{10ffff}",
    "\u{7f}",
    "correlation_id",
    "correlation_ie",
    "same-first-eight-1",
    "same-first-eight-2",
    "a\u{1f600}",
    "a\u{fb01}",
    "\u{d7ff}",
    "\u{80}",
    "\n",
    "\"",
    "\\",
    "\u{2028}",
    "a\u{0}",
    "a\u{0}\u{0}",
];
const NUMBERS: &[&str] = &[
    "0",
    "-0",
    "-0.0",
    "1",
    "-1",
    "1.0",
    "1.50",
    "1.5",
    "100",
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
    "123456789.25",
    "1e20",
    "100000000000000000000.0",
    "94.5",
    "2.5e-07",
    "12",
    "1.5e300",
];

impl Maker {
    fn new(seed: u64) -> Self {
        let mut random = Random(seed);
        let white = random.pick(&[0, 0, 0, 1, 3, 40]);
        let escapes = random.pick(&[0, 0, 0, 2, 30]);
        let (sorted, odd_numbers) = (random.below(3) > 0, random.below(2) == 0);
        Self { random, white, escapes, sorted, odd_numbers }
    }

    fn white(&mut self, out: &mut String) {
        while self.white > 0 && self.random.below(self.white) == 0 {
            out.push(self.random.pick(&[' ', '\n', '\t', '\r']));
            if self.white == 1 && self.random.below(2) == 0 {
                break;
            }
        }
    }

    fn string(&mut self, text: &str, out: &mut String) {
        out.push('"');
        for c in text.chars() {
            let forced = c < ' ' || c == '"' || c == '\\';
            let wanted = self.escapes > 0 && self.random.below(self.escapes) == 0;
            match c {
                '\n' if !wanted => out.push_str("\\n"),
                '"' | '\\' if !wanted => out.extend(['\\', c]),
                _ if forced || wanted => {
                    for unit in c.encode_utf16(&mut [0; 2]) {
                        let upper = self.random.below(2) == 0;
                        out.push_str(&if upper {
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

    fn number(&mut self, out: &mut String) {
        if self.odd_numbers {
            out.push_str(self.random.pick(NUMBERS));
        } else if self.random.below(2) == 0 {
            out.push_str(&(self.random.below(2000) as i64 - 1000).to_string());
        } else {
            let value = self.random.double();
            out.push_str(std::str::from_utf8(numbers::ecmascript(value).as_bytes()).unwrap());
            // `1e+21` stays as it is; what looks like an integer must be one that RFC 8785 carries.
            if value.abs() > 9e15 && value.abs() < 1e21 {
                out.push_str(".0");
            }
        }
    }

    fn value(&mut self, depth: u32, out: &mut String) {
        self.white(out);
        match self.random.below(if depth > 4 { 4 } else { 7 }) {
            0 => self.number(out),
            1 => out.push_str(self.random.pick(&["true", "false", "null"])),
            2 | 3 => {
                let text = self.random.pick(NAMES);
                self.string(text, out);
            }
            4 => self.array(depth, out),
            _ => self.object(depth, out),
        }
        self.white(out);
    }

    fn array(&mut self, depth: u32, out: &mut String) {
        out.push('[');
        self.white(out);
        for number in 0..self.random.below(5) {
            if number > 0 {
                out.push(',');
            }
            self.value(depth + 1, out);
        }
        out.push(']');
    }

    fn object(&mut self, depth: u32, out: &mut String) {
        let wanted = self.random.below(8) as usize;
        let mut names: Vec<&str> = Vec::new();
        while names.len() < wanted {
            let name = self.random.pick(NAMES);
            // Now and then a duplicate.
            if !names.contains(&name) || self.random.below(500) == 0 {
                names.push(name);
            }
        }
        if self.sorted {
            names.sort_by_key(|name| name.encode_utf16().collect::<Vec<_>>());
        }
        out.push('{');
        self.white(out);
        for (number, name) in names.into_iter().enumerate() {
            if number > 0 {
                out.push(',');
                self.white(out);
            }
            self.string(name, out);
            self.white(out);
            out.push(':');
            self.value(depth + 1, out);
        }
        out.push('}');
    }
}

/// In place or written, with or without a member: always the same bytes, and those of the naive writer.
#[test]
fn in_place_and_written_forms_agree_on_random_documents() {
    let mut random = Random::seeded("in_place_and_written_forms_agree_on_random_documents");
    let (mut buffers, mut again) = (Buffers::default(), Buffers::default());
    let (mut parser, mut outlines) = (Parser::new(64), Outlines::default());
    let (mut in_place, mut duplicates, mut cut, mut with_members) = (0, 0, 0, 0);
    for _ in 0..DOCUMENTS {
        let seed = random.next();
        let mut text = String::new();
        let mut maker = Maker::new(seed);
        if random.below(8) == 0 {
            maker.value(0, &mut text);
        } else {
            maker.object(0, &mut text);
        }
        let text = text.as_bytes();
        parser.parse(text, |tape| {
            let tape = tape.unwrap_or_else(|_| panic!("{}", String::from_utf8_lossy(text)));
            // What is known of an outline must fit the next document that has it.
            // It is remembered when it comes back.
            let again_and_again =
                |outlines: &mut Outlines| (0..2).fold(tape, |tape, _| outlines.recall(tape));
            let tape = if random.below(2) == 0 { again_and_again(&mut outlines) } else { tape };
            let nodes = tape.nodes().len() as u64;
            let node = NodeIndex(if random.below(2) == 0 { 0 } else { random.below(nodes) as u32 });
            let omit = (0..nodes).map(|_| random.below(nodes)).find(|at| is_member_value(tape, *at as usize));
            // The first form is remembered, and recalled at the end.
            for omit in [None, omit.map(|at| NodeIndex(at as u32)), None] {
                let context =
                    format!("seed {seed} node {node:?} omit {omit:?}: {}", String::from_utf8_lossy(text));
                again.out.clear();
                let written = write_all::<Jcs>(tape, text, node, omit, &mut again);
                let form = jcs(tape, text, node, omit, &mut buffers);
                match form {
                    Ok(form) => {
                        assert_eq!(form.pieces().concat(), *again.out, "{context}");
                        in_place += u32::from(form.is_in_place());
                        cut += u32::from(form.is_in_place() && !form.pieces()[1].is_empty());
                        if node == NodeIndex(0) && omit.is_none() {
                            let mut expected = String::new();
                            naive(&serde_json::from_slice(text).unwrap(), &mut expected);
                            assert_eq!(String::from_utf8_lossy(&again.out), expected, "{context}");
                            assert_canonical_text_is_left_in_place(&again.out);
                        }
                    }
                    Err(error) => {
                        assert_eq!(written, Err(error), "{context}");
                        duplicates += u32::from(error == Unfit::DuplicateName);
                    }
                }
                again.out.clear();
                let written = write_all::<Cpython>(tape, text, node, omit, &mut again);
                match cpython(tape, text, node, omit, &mut buffers) {
                    Ok(form) => assert_eq!(form.pieces().concat(), *again.out, "{context}"),
                    Err(error) => assert_eq!(written, Err(error), "{context}"),
                }
            }
            let mut names = plain_names(tape);
            names.retain(|_| random.below(2) == 0);
            with_members += u32::from(members_are_cut(tape, text, &names, [&mut buffers, &mut again]));
        });
    }
    println!("{in_place} in place, {cut} of them in two pieces, {duplicates} with duplicates");
    assert!(with_members > 1000, "{with_members}");
    assert!(in_place > 1000 && cut > 100 && duplicates > 10, "{in_place} {cut} {duplicates}");
}

/// Holds the form of some members, and of the whole, against those that are made alone; whether there was anything to cut.
fn members_are_cut(tape: Tape<'_>, text: &[u8], names: &[&str], [one, other]: [&mut Buffers; 2]) -> bool {
    if !matches!(tape.nodes().first(), Some(Node::Object { .. })) {
        return false;
    }
    let context = format!("{names:?}: {}", String::from_utf8_lossy(text));
    let (whole, some) = whole_and_members(tape, text, names, one);
    assert_eq!(some, members::written(tape, text, names, other), "{context}");
    let expected = jcs(tape, text, NodeIndex(0), None, other);
    assert_eq!(whole.map(<[u8]>::to_vec), expected.map(|form| form.pieces().concat()), "{context}");
    whole.is_ok() && !names.is_empty()
}

/// Names of the document's members that are written as they are, in order.
fn plain_names(tape: Tape<'_>) -> Vec<&str> {
    let Some(Node::Object { len, .. }) = tape.nodes().first() else { return Vec::new() };
    let mut at = 1;
    let mut names = Vec::new();
    for _ in 0..*len {
        let Some(Node::String(name)) = tape.nodes().get(at) else { break };
        names.extend(name.bytes().all(|byte| byte.is_ascii_alphanumeric()).then_some(*name));
        at = behind(tape.nodes(), at + 1);
    }
    names.sort_unstable();
    names.dedup();
    names
}

/// What is known of an outline fits every document that has it, whatever its values, blanks and escapes.
#[test]
fn forms_of_known_outlines_are_those_of_the_document_at_hand() {
    let mut random = Random::seeded("forms_of_known_outlines_are_those_of_the_document_at_hand");
    let (mut parser, mut outlines) = (Parser::new(64), Outlines::default());
    let (mut buffers, mut again) = (Buffers::default(), Buffers::default());
    let (mut known, mut written) = (0, 0);
    for _ in 0..DOCUMENTS / 64 {
        let mut text = String::new();
        Maker::new(random.next()).object(0, &mut text);
        let Ok(value) = serde_json::from_str::<Value>(&text) else { continue };
        for _ in 0..6 {
            let mut other = value.clone();
            change_values(&mut other, &mut random);
            let pretty = serde_json::to_string_pretty(&other).unwrap();
            let text = if random.below(3) == 0 { pretty } else { other.to_string() };
            let text = if random.below(3) == 0 { text.replace('/', "\\/") } else { text };
            outlines.parse(&mut parser, text.as_bytes(), |tape| {
                let tape = tape.unwrap();
                known += u32::from(tape.outline().is_some());
                let Ok(form) = jcs(tape, text.as_bytes(), NodeIndex(0), None, &mut buffers) else { return };
                let mut expected = String::new();
                naive(&other, &mut expected);
                assert_eq!(String::from_utf8_lossy(&form.pieces().concat()), expected, "{text}");
                written += u32::from(tape.outline().is_some() && !form.is_in_place());
                again.out.clear();
                if write_all::<Cpython>(tape, text.as_bytes(), NodeIndex(0), None, &mut again).is_ok() {
                    let form = cpython(tape, text.as_bytes(), NodeIndex(0), None, &mut buffers).unwrap();
                    assert_eq!(form.pieces().concat(), *again.out, "{text}");
                }
            });
        }
    }
    println!("{known} of known outlines, {written} of them written");
    assert!(known > 300 && written > 200, "{known} {written}");
}

/// Other values of the same kinds.
fn change_values(value: &mut Value, random: &mut Random) {
    const TEXTS: &[&str] =
        &["", "x", "a/b", "\"quoted\"", "line\n", "\u{1}\u{7f}", "größe", "🚀 東京", "back\\slash\\"];
    match value {
        Value::String(text) => *text = random.pick(TEXTS).repeat(random.below(12) as usize),
        Value::Number(_) | Value::Bool(_) | Value::Null => {
            *value = match random.below(6) {
                0 => Value::from(random.below(1000)),
                1 => Value::from(-1.5),
                2 => Value::from(random.below(100) as f64 / 8.0),
                3 => Value::Bool(true),
                4 => Value::Null,
                _ => Value::from(1e21),
            }
        }
        Value::Array(items) => items.iter_mut().for_each(|item| change_values(item, random)),
        Value::Object(members) => members.values_mut().for_each(|member| change_values(member, random)),
    }
}

/// Writes a form token by token, whatever the payload looks like.
pub(super) fn write_all<F: Form>(
    tape: Tape<'_>,
    payload: &[u8],
    node: NodeIndex,
    omit: Option<NodeIndex>,
    buffers: &mut Buffers,
) -> Result<(), Unfit> {
    let omit = omit.map_or(usize::MAX, |omit| omit.0 as usize);
    let ordered = Ordered { tape, payload, omit, escapes: Escapes::EVERYWHERE };
    write::append::<F>(ordered, node.0 as usize, &mut buffers.lists, &mut buffers.out)
}

fn is_member_value(tape: Tape<'_>, at: usize) -> bool {
    let pointer = tape.pointer(NodeIndex(at as u32));
    // A name has the pointer of its value; the value is the later one. Array items end in digits, which no name does.
    !pointer.is_empty()
        && !pointer.ends_with(|c: char| c.is_ascii_digit())
        && at > 0
        && tape.pointer(NodeIndex(at as u32 - 1)) == pointer
}

/// What was written is canonical, so without escapes and doubles it has to be recognised.
fn assert_canonical_text_is_left_in_place(text: &[u8]) {
    let mut buffers = Buffers::default();
    Parser::new(64).parse(text, |tape| {
        let tape = tape.unwrap();
        let is_double = |node: &Node<'_>| matches!(node, Node::Static(StaticNode::F64(_)));
        let doubles = tape.nodes().iter().any(is_double);
        // Integral doubles beyond 2^53 print as integers that the form refuses when they are read again.
        if let Ok(form) = jcs(tape, text, NodeIndex(0), None, &mut buffers) {
            // The place of a double behind a closing bracket is not known, which costs time alone.
            let expected = !text.contains(&b'\\') && (!doubles || form.is_in_place());
            assert_eq!(form.is_in_place(), expected, "{}", String::from_utf8_lossy(text));
            assert_eq!(form.pieces().concat(), text);
        }
    });
}

#[test]
fn forms_that_do_not_fit_are_learned_anew() {
    let (mut parser, mut outlines) = (Parser::new(64), Outlines::default());
    let (mut buffers, mut again) = (Buffers::default(), Buffers::default());
    let mut known = 0;
    // Two rounds of more forms than there is room for, each with many members that are not in order.
    for n in (0..400).chain(0..400).flat_map(|n| [n; 3]) {
        let members: Vec<_> = (0..150).rev().map(|place| format!("\"m{place:03}\":\"v{n}\"")).collect();
        let text = format!("{{{},\"{}\":{n}}}", members.join(","), "n".repeat(n + 1));
        parser.parse(text.as_bytes(), |tape| {
            let tape = outlines.recall(tape.unwrap());
            known += usize::from(tape.outline().is_some());
            again.out.clear();
            write_all::<Jcs>(tape, text.as_bytes(), NodeIndex(0), None, &mut again).unwrap();
            let form = jcs(tape, text.as_bytes(), NodeIndex(0), None, &mut buffers).unwrap();
            assert!(form.pieces().concat() == *again.out, "{text}");
        });
    }
    assert!(known > 200, "{known}");
}
