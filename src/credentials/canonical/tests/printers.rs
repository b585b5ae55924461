//! Numbers against other printers and another reader.

use std::io::Write as _;
use std::process::{Command, Stdio};

use super::super::{Buffers, jcs, numbers};
use super::Random;
use crate::tape::{NodeIndex, Parser};

const DOUBLES: usize = 1_000_000;
const LAYOUTS: usize = 100_000;

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
    let lines: Vec<String> = values.iter().map(|value| format!("{:016x}", value.to_bits())).collect();
    let feeder = std::thread::spawn(move || stdin.write_all(lines.join("\n").as_bytes()));
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
