//! Measurements that take turns: tape, validators, and parsing with them, over the same set, in one process.
//!
//! Others on the machine only ever add time, and they add it to whoever runs. So everything that is compared runs within
//! the same few milliseconds, again and again until the set's time is over, and the fastest pass of each counts: ratios
//! hold on a machine that is not quiet. A set's outcome is one line of JSON. This file must not decide what is compared
//! with what; the table is made in `scripts/bench-validator`.

use std::hint::black_box;
use std::time::{Duration, Instant};

use serde_json::{Value, json};
use tollgate::outline::Outlines;
use tollgate::program::{Program, Scratch};
use tollgate::tape::Parser;

use crate::shapes::Shape;
use crate::{DOCUMENTS, corpora, recogniser, stream, takes, with_tapes};

/// Passes of one turn: the first one is not timed, since it finds the caches full of someone else's data.
const PASSES_PER_TURN: usize = 5;

/// One thing that is measured: its name, how many documents there are, and a pass over all of them.
type Contestant<'c> = (&'static str, usize, Box<dyn FnMut() + 'c>);

/// Measures one set for about `time` and returns a line of JSON: nanoseconds per document by what was measured.
pub(crate) fn measure(
    shape: &Shape,
    (bytes, mixed): (usize, bool),
    program: &Program,
    other: &jsonschema::Validator,
    time: Duration,
) -> String {
    let documents = corpora::documents(shape.generator, bytes, DOCUMENTS, mixed);
    let values: Vec<Value> = documents.iter().map(|text| serde_json::from_str(text).unwrap()).collect();
    let stream = stream(shape, (bytes, mixed));
    let mut line = String::new();
    with_tapes(&documents, recogniser(mixed).as_mut(), &[], &mut |tapes| {
        let mut scratches = [Scratch::default(), Scratch::default(), Scratch::default()];
        let [product, alone, parsing] = &mut scratches;
        let mut parsers = [Parser::new(256), Parser::new(256)];
        let ([bare, parser], mut outlines) = (&mut parsers, Outlines::default());
        let parsed = |text: &String| serde_json::from_str::<Value>(text).unwrap();
        let mut contestants: [Contestant<'_>; 7] = [
            contestant("tape", &documents, |text| {
                bare.parse(text.as_bytes(), |tape| black_box(tape).is_ok())
            }),
            contestant("tollgate", tapes, |tape| takes(program, *tape, product)),
            contestant("schema alone", tapes, |tape| program.is_valid(*tape, alone)),
            contestant("jsonschema", &values, |value| other.is_valid(value)),
            contestant("macro", &values, |value| (shape.generated)(value)),
            contestant("parse+tollgate", &stream, |text| {
                outlines
                    .parse(parser, text.as_bytes(), |tape| takes(program, black_box(tape.unwrap()), parsing))
            }),
            contestant("parse+jsonschema", &stream, |text| other.is_valid(black_box(&parsed(text)))),
        ];
        let best = take_turns(&mut contestants, time);
        let ns = contestants.iter().zip(best).map(|((name, count, _), best)| {
            ((*name).to_owned(), json!(best.as_nanos() as f64 / *count as f64))
        });
        let ns: serde_json::Map<String, Value> = ns.collect();
        let bytes_mean = documents.iter().map(String::len).sum::<usize>() / DOCUMENTS;
        let set = if mixed { "mixed" } else { "uniform" };
        line = json!({"shape": shape.name, "bytes": bytes, "bytes_mean": bytes_mean, "set": set, "ns": ns})
            .to_string();
    });
    line
}

/// A pass over all `inputs`, of which each has to hold.
fn contestant<'c, T>(
    name: &'static str,
    inputs: &'c [T],
    mut holds: impl FnMut(&'c T) -> bool + 'c,
) -> Contestant<'c> {
    (name, inputs.len(), Box::new(move || inputs.iter().for_each(|input| assert!(holds(black_box(input))))))
}

/// Lets all contestants run in turn until the time is over; the fastest pass of each.
fn take_turns(contestants: &mut [Contestant<'_>], time: Duration) -> Vec<Duration> {
    let mut best = vec![Duration::MAX; contestants.len()];
    let started = Instant::now();
    // At least twice: the first turn of a validator may still fill its memory.
    for turn in 0.. {
        if turn >= 2 && started.elapsed() >= time {
            break;
        }
        for ((_, _, pass), best) in contestants.iter_mut().zip(&mut best) {
            pass();
            for _ in 1..PASSES_PER_TURN {
                let begun = Instant::now();
                pass();
                *best = begun.elapsed().min(*best);
            }
        }
    }
    best
}
