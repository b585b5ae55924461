//! Canonical forms against oracles: another printer, Python itself, a naive writer; and against hostile inputs.

use std::hash::{BuildHasher as _, RandomState};
use std::io::Write as _;
use std::process::{Command, Stdio};

use serde_json::Value;

use super::forms::{Cpython, Jcs};
use super::{Buffers, Unfit, cpython, jcs, numbers, write};
use crate::tape::{Malformed, NodeIndex, Parser};

const DOUBLES: usize = 1_000_000;
const LAYOUTS: usize = 100_000;
const DOCUMENTS: usize = 20_000;

/// A small generator; the seed comes from `TOLLGATE_SEED` or is random, and is printed.
struct Random(u64);

impl Random {
    fn seeded(test: &str) -> Self {
        let given = std::env::var("TOLLGATE_SEED").ok().and_then(|seed| seed.parse().ok());
        let seed = given.unwrap_or_else(|| RandomState::new().hash_one(test));
        println!("{test}: TOLLGATE_SEED={seed}");
        Self(seed)
    }

    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        mixed ^ (mixed >> 31)
    }

    fn below(&mut self, limit: u64) -> u64 {
        self.next() % limit
    }

    fn pick<T: Copy>(&mut self, from: &[T]) -> T {
        from[self.below(from.len() as u64) as usize]
    }

    /// All bit patterns, whole numbers, short decimals, powers of ten and their neighbours.
    fn double(&mut self) -> f64 {
        let value = match self.below(5) {
            0 => (self.next() >> (self.below(64))) as f64,
            1 => self.below(1_000_000) as f64 / 10_f64.powi(self.below(12) as i32),
            2 => {
                let power: f64 = format!("1e{}", self.below(640) as i32 - 330).parse().unwrap();
                f64::from_bits(power.to_bits().wrapping_add(self.below(3)).saturating_sub(1))
            }
            _ => f64::from_bits(self.next()),
        };
        let value = if self.below(2) == 0 { -value } else { value };
        if value.is_finite() { value } else { 0.5 }
    }
}

#[test]
fn a_million_doubles_print_as_ecmascript_says() {
    let mut random = Random::seeded("a_million_doubles_print_as_ecmascript_says");
    let mut oracle = ryu_js::Buffer::new();
    for _ in 0..DOUBLES {
        let value = random.double();
        assert_eq!(numbers::ecmascript(value).as_bytes(), oracle.format(value).as_bytes(), "{value:e}");
    }
}

#[test]
fn a_hundred_thousand_doubles_print_as_python_does() {
    let mut random = Random::seeded("a_hundred_thousand_doubles_print_as_python_does");
    let values: Vec<f64> = (0..LAYOUTS).map(|_| random.double()).collect();
    let script = "import sys,struct,json\nfor line in sys.stdin: print(json.dumps(struct.unpack('>d',bytes.fromhex(line))[0]))";
    let python =
        Command::new("python3").args(["-c", script]).stdin(Stdio::piped()).stdout(Stdio::piped()).spawn();
    let Ok(mut python) = python else {
        eprintln!("SKIPPED: python3 cannot be started, so its number layout is not compared");
        return;
    };
    let mut stdin = python.stdin.take().unwrap();
    let lines: String = values.iter().map(|value| format!("{:016x}\n", value.to_bits())).collect();
    let feeder = std::thread::spawn(move || stdin.write_all(lines.as_bytes()));
    let output = python.wait_with_output().unwrap();
    feeder.join().unwrap().unwrap();
    let printed = String::from_utf8(output.stdout).unwrap();
    assert_eq!(printed.lines().count(), LAYOUTS);
    for (value, expected) in values.iter().zip(printed.lines()) {
        assert_eq!(numbers::cpython(*value).as_bytes(), expected.as_bytes(), "{value:e}");
    }
}

/// The tape's doubles are the basis of everything here, so the parser has to round right.
#[test]
fn the_tape_reads_doubles_as_the_standard_library_does() {
    let mut random = Random::seeded("the_tape_reads_doubles_as_the_standard_library_does");
    let mut buffers = Buffers::default();
    let mut parser = Parser::new(8);
    for round in 0..LAYOUTS {
        let value = random.double();
        let text = match round % 4 {
            0 => format!("{value:e}"),
            1 => format!("{value:.25e}"),
            2 => format!(
                "{}{:05}.{}e{}",
                random.next(),
                random.below(100_000),
                random.next(),
                random.below(40)
            ),
            _ => format!("{value:?}"),
        };
        let text = if text.contains(['.', 'e']) { text } else { format!("{text}.0") };
        let expected = numbers::ecmascript(text.parse().unwrap());
        parser.parse(text.as_bytes(), |tape| {
            let form = jcs(tape.unwrap(), text.as_bytes(), NodeIndex(0), None, &mut buffers).unwrap();
            assert_eq!(form.pieces()[0], expected.as_bytes(), "{text}");
        });
    }
}

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

const NAMES: &[&str] = &[
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
            if value.abs() > 9e15 && !out.ends_with(|c: char| c == '.') && value.abs() < 1e21 {
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

/// RFC 8785 without any cleverness; `None` where there is no form.
fn naive(value: &Value, out: &mut String) {
    match value {
        Value::Object(members) => {
            let mut names: Vec<&String> = members.keys().collect();
            names.sort_by_key(|name| name.encode_utf16().collect::<Vec<_>>());
            out.push('{');
            for (number, name) in names.into_iter().enumerate() {
                out.push_str(if number > 0 { "," } else { "" });
                naive(&Value::String(name.clone()), out);
                out.push(':');
                naive(&members[name], out);
            }
            out.push('}');
        }
        Value::Array(items) => {
            out.push('[');
            for (number, item) in items.iter().enumerate() {
                out.push_str(if number > 0 { "," } else { "" });
                naive(item, out);
            }
            out.push(']');
        }
        Value::Number(number) if number.is_f64() => {
            out.push_str(ryu_js::Buffer::new().format(number.as_f64().unwrap()));
        }
        // serde_json escapes strings as RFC 8785 does: short forms, lower case, nothing more than needed.
        _ => out.push_str(&serde_json::to_string(value).unwrap()),
    }
}

/// In place or written, with or without a member: always the same bytes, and those of the naive writer.
#[test]
fn in_place_and_written_forms_agree_on_random_documents() {
    let mut random = Random::seeded("in_place_and_written_forms_agree_on_random_documents");
    let (mut buffers, mut again) = (Buffers::default(), Buffers::default());
    let mut parser = Parser::new(64);
    let (mut in_place, mut duplicates, mut cut) = (0, 0, 0);
    for _ in 0..DOCUMENTS {
        let seed = random.next();
        let mut text = String::new();
        let mut maker = Maker::new(seed);
        if random.below(8) == 0 {
            maker.value(0, &mut text)
        } else {
            maker.object(0, &mut text)
        }
        let text = text.as_bytes();
        parser.parse(text, |tape| {
            let tape = tape.unwrap_or_else(|_| panic!("{}", String::from_utf8_lossy(text)));
            let nodes = tape.nodes().len() as u64;
            let node = NodeIndex(if random.below(2) == 0 { 0 } else { random.below(nodes) as u32 });
            let omit = (0..nodes).map(|_| random.below(nodes)).find(|at| is_member_value(tape, *at as usize));
            for omit in [None, omit.map(|at| NodeIndex(at as u32))] {
                let context =
                    format!("seed {seed} node {node:?} omit {omit:?}: {}", String::from_utf8_lossy(text));
                again.out.clear();
                let written = write::append::<Jcs>(tape, text, node, omit, false, &mut again);
                let form = jcs(tape, text, node, omit, &mut buffers);
                match form {
                    Ok(form) => {
                        assert_eq!(form.pieces().concat(), again.out, "{context}");
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
                let written = write::append::<Cpython>(tape, text, node, omit, false, &mut again);
                match cpython(tape, text, node, omit, &mut buffers) {
                    Ok(form) => assert_eq!(form.pieces().concat(), again.out, "{context}"),
                    Err(error) => assert_eq!(written, Err(error), "{context}"),
                }
            }
        });
    }
    println!("{in_place} in place, {cut} of them in two pieces, {duplicates} with duplicates");
    assert!(in_place > 1000 && cut > 100 && duplicates > 10, "{in_place} {cut} {duplicates}");
}

fn is_member_value(tape: crate::tape::Tape<'_>, at: usize) -> bool {
    let pointer = tape.pointer(NodeIndex(at as u32));
    // A name has the pointer of its value; the value is the later one. Array items end in digits, which no name does.
    !pointer.is_empty()
        && !pointer.ends_with(|c: char| c.is_ascii_digit())
        && at > 0
        && tape.pointer(NodeIndex(at as u32 - 1)) == pointer
}

/// What was written is canonical, so without escapes it has to be recognised.
fn assert_canonical_text_is_left_in_place(text: &[u8]) {
    let mut buffers = Buffers::default();
    Parser::new(64).parse(text, |tape| {
        // Integral doubles beyond 2^53 print as integers that the form refuses when they are read again.
        if let Ok(form) = jcs(tape.unwrap(), text, NodeIndex(0), None, &mut buffers) {
            assert_eq!(form.is_in_place(), !text.contains(&b'\\'), "{}", String::from_utf8_lossy(text));
            assert_eq!(form.pieces().concat(), text);
        }
    });
}

fn both(text: &str) -> [Result<String, Unfit>; 2] {
    let mut buffers = Buffers::default();
    Parser::new(1024).parse(text.as_bytes(), |tape| {
        let tape = tape.unwrap_or_else(|_| panic!("{text}"));
        let own = |form: Result<super::Canonical<'_>, Unfit>| {
            form.map(|form| String::from_utf8(form.pieces().concat()).unwrap())
        };
        let first = own(jcs(tape, text.as_bytes(), NodeIndex(0), None, &mut buffers));
        [first, own(cpython(tape, text.as_bytes(), NodeIndex(0), None, &mut buffers))]
    })
}

#[test]
fn hostile_numbers() {
    let range = Err(Unfit::NumberRange);
    let digits = "1234567890".repeat(40);
    for (text, by_jcs, by_cpython) in [
        ("1e400", range.clone(), range.clone()),
        ("-1e400", range.clone(), range.clone()),
        ("1e-400", Ok("0"), Ok("0.0")),
        (digits.as_str(), range.clone(), Ok(digits.as_str())),
        ("-0", Ok("0"), Ok("0")),
        ("-0.0", Ok("0"), Ok("-0.0")),
        ("-0e5", Ok("0"), Ok("-0.0")),
        ("5e-324", Ok("5e-324"), Ok("5e-324")),
        ("9007199254740991", Ok("9007199254740991"), Ok("9007199254740991")),
        ("9007199254740992", range.clone(), Ok("9007199254740992")),
        ("-9007199254740992", range.clone(), Ok("-9007199254740992")),
        ("9007199254740993.0", Ok("9007199254740992"), Ok("9007199254740992.0")),
        ("18446744073709551615", range.clone(), Ok("18446744073709551615")),
        ("18446744073709551616", range.clone(), Ok("18446744073709551616")),
        ("-9223372036854775808", range.clone(), Ok("-9223372036854775808")),
        ("-9223372036854775809", range.clone(), Ok("-9223372036854775809")),
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

#[test]
fn depth_and_width_are_no_trouble() {
    let deep = format!("{}{}{}", "[".repeat(1024), "1", "]".repeat(1024));
    assert_eq!(both(&deep), [Ok(deep.clone()), Ok(deep.clone())]);
    let spaced = deep.replace('1', " 1");
    assert_eq!(both(&spaced), [Ok(deep.clone()), Ok(deep)]);
    assert!(
        Parser::new(1024).parse("[".repeat(1025).as_bytes(), |tape| tape.err()) == Some(Malformed::TooDeep)
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
                let is_name = |node: &crate::tape::Node<'_>| *node == crate::tape::Node::String("signature");
                let omit = NodeIndex(tape.nodes().iter().position(is_name).unwrap() as u32 + 1);
                let form = jcs(tape, text.as_bytes(), NodeIndex(0), Some(omit), &mut buffers).unwrap();
                let got = String::from_utf8(form.pieces().concat()).unwrap();
                assert_eq!(got, format!("{before}{expected}{behind}"), "{text}");
                let simple = !text.contains(' ') && !text.contains(r#""b":1"#);
                assert_eq!(form.is_in_place(), simple, "{text}");
            });
        }
    }
}
