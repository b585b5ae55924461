//! The validator against others, on uniform and on mixed documents. See `../README.md` for how to run it, and results.
//!
//! With `TOLLGATE_BENCH_DOCUMENTS=DIRECTORY` it measures nothing and writes the schemas and the documents there, for
//! validators that are programs of their own. With `TOLLGATE_BENCH_TURNS_MS=NUMBER` validators take turns on each set
//! for so long, see `turns.rs`; with a `TOLLGATE_BENCH_SET` on the sets only whose names begin with it. With
//! `TOLLGATE_BENCH_PASSES=NUMBER` and `TOLLGATE_BENCH_SET=SET` it only passes over one set that often, for instruction
//! counts. `scripts/bench-validator` does all of it. Without any of these criterion measures one thing after the other.

#![expect(clippy::unwrap_used, clippy::indexing_slicing, reason = "a bench may stop")]

#[path = "../corpora/mod.rs"]
mod corpora;
mod shapes;
mod turns;

use std::hint::black_box;
use std::path::Path;
use std::time::Duration;

use criterion::{Criterion, SamplingMode, Throughput};
use serde_json::Value;
use tollgate::outline::Outlines;
use tollgate::program::{FirstFailure, Options, Program, Scratch};
use tollgate::tape::{Parser, Tape};

use shapes::{SHAPES, Shape};

// The allocator of the product; validators that parse into values of their own gain most from it.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

/// Documents per set: more than a branch predictor learns by heart.
const DOCUMENTS: usize = 128;

/// Documents that are parsed in turn where their orders of members must not come back: more than a worker remembers. Large
/// documents have no outline that is remembered, so there are no more of them than of others.
const STREAM: usize = 2048;
const STREAM_BYTES_MAX: usize = 4096;

/// The documents that are parsed before they are validated.
fn stream(shape: &Shape, (bytes, mixed): (usize, bool)) -> Vec<String> {
    let count = if mixed && bytes <= STREAM_BYTES_MAX { STREAM } else { DOCUMENTS };
    corpora::documents(shape.generator, bytes, count, mixed)
}

fn main() {
    if let Ok(directory) = std::env::var("TOLLGATE_BENCH_DOCUMENTS") {
        return write_documents(Path::new(&directory));
    }
    if let (Ok(passes), Ok(set)) =
        (std::env::var("TOLLGATE_BENCH_PASSES"), std::env::var("TOLLGATE_BENCH_SET"))
    {
        return pass_over(&set, passes.parse().unwrap());
    }
    if let Ok(ms) = std::env::var("TOLLGATE_BENCH_TURNS_MS") {
        let prefix = std::env::var("TOLLGATE_BENCH_SET").unwrap_or_default();
        return take_turns(&prefix, Duration::from_millis(ms.parse().unwrap()));
    }
    // Short on purpose: 42 sets times seven measurements. Longer with criterion's own options.
    let mut criterion = Criterion::default()
        .without_plots()
        .sample_size(20)
        .warm_up_time(Duration::from_millis(200))
        .measurement_time(Duration::from_millis(500))
        .configure_from_args();
    for shape in SHAPES {
        let program = Program::compile(shape.schema, shape.name, &Options::default()).unwrap();
        let other = other_validator(shape);
        check_meaning(shape, &program, &other);
        for bytes in shape.bytes {
            for mixed in [false, true] {
                bench_set(&mut criterion, shape, (*bytes, mixed), &program, &other);
            }
        }
    }
    criterion.final_summary();
}

/// Measures every set whose name begins with `prefix`, and prints a line for each.
#[expect(clippy::print_stdout, reason = "it is the result")]
fn take_turns(prefix: &str, time: Duration) {
    for shape in SHAPES {
        let program = Program::compile(shape.schema, shape.name, &Options::default()).unwrap();
        let other = other_validator(shape);
        check_meaning(shape, &program, &other);
        for (bytes, mixed) in shape.bytes.iter().flat_map(|bytes| [(*bytes, false), (*bytes, true)]) {
            if format!("{}/{}", shape.name, name_of(bytes, mixed)).starts_with(prefix) {
                println!("{}", turns::measure(shape, (bytes, mixed), &program, &other, time));
            }
        }
    }
}

fn other_validator(shape: &Shape) -> jsonschema::Validator {
    let schema: Value = serde_json::from_str(&shape.schema_of_others()).unwrap();
    jsonschema::options().should_validate_formats(true).build(&schema).unwrap()
}

fn name_of(bytes: usize, mixed: bool) -> String {
    format!("{bytes}/{}", if mixed { "mixed" } else { "uniform" })
}

/// A uniform document of a shape for each of the changes that make it invalid.
fn wrong_documents(shape: &Shape) -> Vec<String> {
    let document = &corpora::documents(shape.generator, shape.bytes[0].max(1200), 1, false)[0];
    let document: Value = serde_json::from_str(document).unwrap();
    let change = |(pointer, value): &(&str, &str)| {
        let mut changed = document.clone();
        let place = changed.pointer_mut(pointer).unwrap();
        *place = serde_json::from_str(value).unwrap();
        changed.to_string()
    };
    shape.wrong.iter().map(change).collect()
}

/// Stops if a validator takes an invalid document: a comparison of unequal work would be worth nothing.
fn check_meaning(shape: &Shape, program: &Program, other: &jsonschema::Validator) {
    let (mut parser, mut scratch) = (Parser::new(256), Scratch::default());
    for document in wrong_documents(shape) {
        let value: Value = serde_json::from_str(&document).unwrap();
        let ours = parser.parse(document.as_bytes(), |tape| program.is_valid(tape.unwrap(), &mut scratch));
        assert!(!ours, "{}: tollgate takes {document}", shape.name);
        assert!(!other.is_valid(&value), "{}: jsonschema takes {document}", shape.name);
        assert!(!(shape.generated)(&value), "{}: the macro takes {document}", shape.name);
    }
}

/// Parses every document, each into a parser of its own, and hands all tapes over at once; with their outlines, if they
/// are to be recognised.
fn with_tapes(
    documents: &[String],
    recognised: Option<&mut Outlines>,
    tapes: &[Tape<'_>],
    then: &mut dyn FnMut(&[Tape<'_>]),
) {
    let Some((document, rest)) = documents.split_first() else { return then(tapes) };
    Parser::new(256).parse(document.as_bytes(), |tape| {
        let (tape, mut recognised, mut all) = (tape.unwrap(), recognised, tapes.to_vec());
        // A stranger is remembered when it comes back.
        all.push((0..2).fold(tape, |tape, _| match &mut recognised {
            Some(outlines) => outlines.recall(tape),
            None => tape,
        }));
        with_tapes(rest, recognised, &all, then);
    });
}

/// What recognises the documents of a set: uniform ones come back, and mixed ones stand for those that never do.
fn recogniser(mixed: bool) -> Option<Outlines> {
    (!mixed).then(Outlines::default)
}

/// What the product does: the schema, and duplicate names at every depth.
fn takes(program: &Program, tape: Tape<'_>, scratch: &mut Scratch) -> bool {
    program.execute(tape, scratch, &mut FirstFailure::default())
}

/// Measures one set. One iteration is a pass over all of its documents, so the same one never comes twice in a row.
fn bench_set(
    criterion: &mut Criterion,
    shape: &Shape,
    (bytes, mixed): (usize, bool),
    program: &Program,
    other: &jsonschema::Validator,
) {
    let documents = corpora::documents(shape.generator, bytes, DOCUMENTS, mixed);
    let values: Vec<Value> = documents.iter().map(|text| serde_json::from_str(text).unwrap()).collect();
    let mut group = criterion.benchmark_group(format!("{}/{}", shape.name, name_of(bytes, mixed)));
    group.throughput(Throughput::Elements(DOCUMENTS as u64)).sampling_mode(SamplingMode::Flat);
    let (stream, mut outlines) = (stream(shape, (bytes, mixed)), Outlines::default());
    let (mut parser, mut scratch) = (Parser::new(256), Scratch::default());
    group.bench_function("tape", |bencher| {
        bencher.iter(|| {
            for document in &documents {
                assert!(parser.parse(document.as_bytes(), |tape| black_box(tape).is_ok()));
            }
        });
    });
    with_tapes(&documents, recogniser(mixed).as_mut(), &[], &mut |tapes| {
        assert_eq!(tapes.len(), DOCUMENTS);
        group.bench_function("tollgate", |bencher| {
            bencher.iter(|| {
                for tape in tapes {
                    assert!(takes(program, *black_box(tape), &mut scratch));
                }
            });
        });
        group.bench_function("schema alone", |bencher| {
            bencher.iter(|| {
                for tape in tapes {
                    assert!(program.is_valid(*black_box(tape), &mut scratch));
                }
            });
        });
    });
    group.bench_function("jsonschema", |bencher| {
        bencher.iter(|| values.iter().for_each(|value| assert!(other.is_valid(black_box(value)))));
    });
    group.bench_function("macro", |bencher| {
        bencher.iter(|| values.iter().for_each(|value| assert!((shape.generated)(black_box(value)))));
    });
    group.throughput(Throughput::Elements(stream.len() as u64));
    group.bench_function("parse+tollgate", |bencher| {
        bencher.iter(|| {
            for document in &stream {
                let valid = outlines.parse(&mut parser, document.as_bytes(), |tape| {
                    takes(program, black_box(tape.unwrap()), &mut scratch)
                });
                assert!(valid);
            }
        });
    });
    group.bench_function("parse+jsonschema", |bencher| {
        bencher.iter(|| {
            for document in &stream {
                let value: Value = serde_json::from_str(document).unwrap();
                assert!(other.is_valid(black_box(&value)));
            }
        });
    });
    group.finish();
}

/// Checks every document of one set `passes` times and does nothing else that depends on `passes`.
fn pass_over(set: &str, passes: usize) {
    let mut parts = set.splitn(3, '/');
    let mut part = || parts.next().unwrap();
    let (name, bytes, mixed) = (part(), part().parse().unwrap(), part() == "mixed");
    let shape = SHAPES.iter().find(|shape| shape.name == name).unwrap();
    let documents = corpora::documents(shape.generator, bytes, DOCUMENTS, mixed);
    let program = Program::compile(shape.schema, shape.name, &Options::default()).unwrap();
    let mut scratch = Scratch::default();
    let alone = std::env::var_os("TOLLGATE_BENCH_ALONE").is_some();
    with_tapes(&documents, recogniser(mixed).as_mut(), &[], &mut |tapes| {
        for tape in tapes.iter().cycle().take(passes * DOCUMENTS) {
            let tape = *black_box(tape);
            assert!(if alone {
                program.is_valid(tape, &mut scratch)
            } else {
                takes(&program, tape, &mut scratch)
            });
        }
    });
}

/// Writes, for each shape, the schema, the documents that are wrong and every set of documents as JSON lines.
fn write_documents(directory: &Path) {
    for shape in SHAPES {
        let directory = directory.join(shape.name);
        std::fs::create_dir_all(&directory).unwrap();
        std::fs::write(directory.join("schema.json"), shape.schema_of_others()).unwrap();
        for (number, document) in wrong_documents(shape).iter().enumerate() {
            std::fs::write(directory.join(format!("wrong-{number}.json")), document).unwrap();
        }
        for bytes in shape.bytes {
            for mixed in [false, true] {
                let documents = corpora::documents(shape.generator, *bytes, DOCUMENTS, mixed);
                let file = name_of(*bytes, mixed).replace('/', "-") + ".jsonl";
                std::fs::write(directory.join(file), documents.join("\n") + "\n").unwrap();
            }
        }
    }
}
