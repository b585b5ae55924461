//! The validator against others, on uniform and on mixed documents. See `README.md` here for results.

#[expect(clippy::unwrap_used, clippy::indexing_slicing, reason = "documents are made by us")]
mod corpora;

use std::hint::black_box;

use criterion::{Criterion, Throughput, criterion_group, criterion_main};
use serde_json::Value;
use tollgate::program::{FirstFailure, Options, Program, Scratch};
use tollgate::tape::{Parser, Tape};

/// Documents per set: more than a branch predictor learns by heart.
const DOCUMENTS: usize = 128;

struct Shape {
    name: &'static str,
    schema: &'static str,
    generator: corpora::Generator,
    bytes: &'static [usize],
}

/// Sizes of envelopes: small ones, usual ones, and large ones.
const ENVELOPES: &[usize] = &[300, 1200, 4000];

const SHAPES: &[Shape] = &[
    Shape {
        name: "olympus",
        schema: include_str!("../configs/schemas/olympus.json"),
        generator: corpora::olympus,
        bytes: ENVELOPES,
    },
    Shape {
        name: "agh",
        schema: include_str!("../configs/schemas/agh.json"),
        generator: corpora::envelopes::agh,
        bytes: ENVELOPES,
    },
    Shape {
        name: "alfred",
        schema: include_str!("../configs/schemas/alfred.json"),
        generator: corpora::envelopes::alfred,
        bytes: ENVELOPES,
    },
    Shape {
        name: "humaninloop-input",
        schema: include_str!("../configs/schemas/humaninloop-input.json"),
        generator: corpora::envelopes::humaninloop_input,
        bytes: ENVELOPES,
    },
    Shape {
        name: "humaninloop-output",
        schema: include_str!("../configs/schemas/humaninloop-output.json"),
        generator: corpora::envelopes::humaninloop_output,
        bytes: ENVELOPES,
    },
    Shape {
        name: "bluelabel",
        schema: include_str!("../configs/schemas/bluelabel.json"),
        generator: corpora::envelopes::bluelabel,
        bytes: ENVELOPES,
    },
    Shape {
        name: "geo",
        schema: include_str!("shapes/geo.json"),
        generator: corpora::large::geo,
        bytes: &[20_000],
    },
    Shape {
        name: "api",
        schema: include_str!("shapes/api.json"),
        generator: corpora::large::api,
        bytes: &[20_000],
    },
    Shape {
        name: "manifest",
        schema: include_str!("shapes/manifest.json"),
        generator: corpora::large::manifest,
        bytes: &[20_000],
    },
];

/// Parses every document, each into a parser of its own, and hands all tapes over at once.
fn with_tapes(documents: &[String], tapes: &[Tape<'_>], then: &mut dyn FnMut(&[Tape<'_>])) {
    let Some((document, rest)) = documents.split_first() else { return then(tapes) };
    Parser::new(256).parse(document.as_bytes(), |tape| {
        let mut all = tapes.to_vec();
        all.extend(tape.ok());
        with_tapes(rest, &all, then);
    });
}

#[expect(clippy::unwrap_used, reason = "a bench may stop")]
fn bench_set(criterion: &mut Criterion, shape: &Shape, bytes: usize, mixed: bool) {
    let documents = corpora::documents(shape.generator, bytes, DOCUMENTS, mixed);
    let program = Program::compile(shape.schema, shape.name, &Options::default()).unwrap();
    let schema: Value = serde_json::from_str(shape.schema).unwrap();
    let other = jsonschema::options().should_validate_formats(true).build(&schema).unwrap();
    let values: Vec<Value> = documents.iter().map(|text| serde_json::from_str(text).unwrap()).collect();
    let set = if mixed { "mixed" } else { "uniform" };
    let mut group = criterion.benchmark_group(format!("{}/{bytes}/{set}", shape.name));
    group.throughput(Throughput::Elements(DOCUMENTS as u64));
    let mut parser = Parser::new(256);
    group.bench_function("tape", |bencher| {
        bencher.iter(|| {
            for document in &documents {
                parser.parse(document.as_bytes(), |tape| black_box(tape.is_ok()));
            }
        });
    });
    let mut scratch = Scratch::default();
    with_tapes(&documents, &[], &mut |tapes| {
        group.bench_function("tollgate", |bencher| {
            bencher.iter(|| {
                for tape in tapes {
                    assert!(program.execute(*tape, &mut scratch, &mut FirstFailure::default()));
                }
            });
        });
    });
    group.bench_function("jsonschema", |bencher| {
        bencher.iter(|| {
            for value in &values {
                assert!(other.is_valid(black_box(value)));
            }
        });
    });
    group.bench_function("parse and tollgate", |bencher| {
        bencher.iter(|| {
            for document in &documents {
                parser.parse(document.as_bytes(), |tape| {
                    assert!(program.execute(tape.unwrap(), &mut scratch, &mut FirstFailure::default()));
                });
            }
        });
    });
    group.bench_function("serde_json and jsonschema", |bencher| {
        bencher.iter(|| {
            for document in &documents {
                let value: Value = serde_json::from_str(document).unwrap();
                assert!(other.is_valid(&value));
            }
        });
    });
    group.finish();
}

fn validators(criterion: &mut Criterion) {
    for shape in SHAPES {
        for bytes in shape.bytes {
            for mixed in [false, true] {
                bench_set(criterion, shape, *bytes, mixed);
            }
        }
    }
}

criterion_group!(benches, validators);
criterion_main!(benches);
