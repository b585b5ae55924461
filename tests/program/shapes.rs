//! The schemas of the built-in formats and of the benches take the documents made for them, whatever the order.

use tollgate::program::{Failure, FirstFailure, Options, Program, Scratch};
use tollgate::tape::Parser;

use crate::corpora::{self, Generator};

const SHAPES: &[(&str, &str, Generator)] = &[
    ("olympus", include_str!("../../configs/schemas/olympus.json"), corpora::olympus),
    ("agh", include_str!("../../configs/schemas/agh.json"), corpora::envelopes::agh),
    ("alfred", include_str!("../../configs/schemas/alfred.json"), corpora::envelopes::alfred),
    (
        "humaninloop-input",
        include_str!("../../configs/schemas/humaninloop-input.json"),
        corpora::envelopes::humaninloop_input,
    ),
    (
        "humaninloop-output",
        include_str!("../../configs/schemas/humaninloop-output.json"),
        corpora::envelopes::humaninloop_output,
    ),
    ("bluelabel", include_str!("../../configs/schemas/bluelabel.json"), corpora::envelopes::bluelabel),
    ("geo", include_str!("../../benches/shapes/geo.json"), corpora::large::geo),
    ("api", include_str!("../../benches/shapes/api.json"), corpora::large::api),
    ("manifest", include_str!("../../benches/shapes/manifest.json"), corpora::large::manifest),
];

#[test]
fn every_shape_takes_its_documents() {
    for (name, schema, generator) in SHAPES {
        let program = Program::compile(schema, name, &Options::default()).unwrap();
        let mut scratch = Scratch::default();
        for mixed in [false, true] {
            for document in corpora::documents(*generator, 1200, 50, mixed) {
                let mut first = FirstFailure::default();
                Parser::new(64).parse(document.as_bytes(), |tape| {
                    let tape = tape.unwrap();
                    program.execute(tape, &mut scratch, &mut first);
                    let words = first.0.map(|failure| program.explain(failure, tape));
                    assert!(words.is_none(), "{name}: {words:?}: {document}");
                });
            }
        }
    }
}

#[test]
fn mutations_are_refused_as_by_another_validator() {
    // Draft 7 has no `uuid`, so the other validator does not assert it in Alfred's envelopes.
    for (name, schema, generator) in SHAPES.iter().filter(|(name, ..)| *name != "alfred") {
        let program = Program::compile(schema, name, &Options::default()).unwrap();
        let other = jsonschema::options()
            .should_validate_formats(true)
            .build(&serde_json::from_str(schema).unwrap())
            .unwrap();
        let mut random = corpora::Random(7);
        let mut scratch = Scratch::default();
        for document in corpora::documents(*generator, 600, 40, true) {
            for _ in 0..20 {
                let mut value: serde_json::Value = serde_json::from_str(&document).unwrap();
                mutate(&mut value, &mut random);
                let valid = Parser::new(64).parse(value.to_string().as_bytes(), |tape| {
                    program.execute(tape.unwrap(), &mut scratch, &mut FirstFailure::default())
                });
                assert_eq!(valid, other.is_valid(&value), "{name}: {value}");
            }
        }
    }
}

/// What a scratch memory has seen must not change a verdict: each document comes after others of its set, intact ones
/// and changed ones, and is judged with a fresh memory too.
#[test]
fn warm_memory_changes_no_verdict() {
    let now = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).unwrap();
    let seed = std::env::var("TOLLGATE_PROPTEST_SEED").ok().and_then(|seed| seed.parse().ok());
    let seed = seed.unwrap_or(now.as_nanos() as u64);
    println!("TOLLGATE_PROPTEST_SEED={seed}");
    let mut random = corpora::Random(seed);
    let (mut warm, mut refused) = (Scratch::default(), 0);
    for (name, schema, generator) in SHAPES {
        let program = Program::compile(schema, name, &Options::default()).unwrap();
        let sets = [false, true].map(|mixed| corpora::documents(*generator, 600, 30, mixed));
        for document in sets.concat() {
            // The intact one is learned from, so that the changed ones differ from it in one place.
            let changed = (0..8).map(|_| rewrite(&document, &mut random)).collect::<Vec<_>>();
            for text in std::iter::once(&document).chain(&changed) {
                let used = outcome(&program, text, &mut warm);
                let fresh = outcome(&program, text, &mut Scratch::default());
                assert_eq!(used, fresh, "seed {seed}: {name}: {text}");
                refused += usize::from(!used.0);
            }
        }
    }
    assert!(refused > 1000, "the changes change too little: {refused} refused");
}

/// Whether a document is taken, whether its schema alone takes it, and the first failure.
fn outcome(program: &Program, text: &str, scratch: &mut Scratch) -> (bool, bool, Option<Failure>) {
    Parser::new(64).parse(text.as_bytes(), |tape| {
        let (tape, mut first) = (tape.unwrap(), FirstFailure::default());
        let alone = program.is_valid(tape, scratch);
        (program.execute(tape, scratch, &mut first), alone, first.0)
    })
}

/// The text of a document after one change somewhere: a member dropped, renamed, moved or doubled, or a value of another
/// type. A member that stands twice cannot be had as a value, so its name is changed in the text.
fn rewrite(document: &str, random: &mut corpora::Random) -> String {
    const TWIN: &str = "its own name stands here";
    let mut value: serde_json::Value = serde_json::from_str(document).unwrap();
    let mut twin = None;
    rewrite_one(&mut value, random, TWIN, &mut twin);
    let text = value.to_string();
    match twin {
        Some(name) => text.replace(&format!("\"{TWIN}\""), &serde_json::Value::from(name).to_string()),
        None => text,
    }
}

fn rewrite_one(
    value: &mut serde_json::Value,
    random: &mut corpora::Random,
    twin: &str,
    doubled: &mut Option<String>,
) {
    match value {
        serde_json::Value::Object(members) if !members.is_empty() => {
            let name = members.keys().nth(random.below(members.len())).unwrap().clone();
            match random.below(8) {
                0 => drop(members.shift_remove(&name)),
                1 => {
                    let value = members.shift_remove(&name).unwrap();
                    members.insert(format!("{name}x"), value);
                }
                2 => {
                    let value = members.shift_remove(&name).unwrap();
                    members.insert(name, value);
                }
                3 => {
                    members.insert(twin.to_owned(), members[&name].clone());
                    *doubled = Some(name);
                }
                4 => mutate(&mut members[&name], random),
                _ => rewrite_one(&mut members[&name], random, twin, doubled),
            }
        }
        serde_json::Value::Array(items) if !items.is_empty() => {
            let at = random.below(items.len());
            rewrite_one(&mut items[at], random, twin, doubled);
        }
        other => mutate(other, random),
    }
}

/// Changes one place: drops a member, adds one, or replaces a value.
fn mutate(value: &mut serde_json::Value, random: &mut corpora::Random) {
    let go_down = random.below(4) != 0;
    match value {
        serde_json::Value::Object(members) if !members.is_empty() => {
            let name = members.keys().nth(random.below(members.len())).unwrap().clone();
            if go_down {
                return mutate(&mut members[&name], random);
            }
            if random.below(2) == 0 {
                members.remove(&name)
            } else {
                members.insert("unknown".into(), 1.into())
            };
        }
        serde_json::Value::Array(items) if !items.is_empty() && go_down => {
            let at = random.below(items.len());
            mutate(&mut items[at], random);
        }
        other => {
            *other = match random.below(6) {
                0 => serde_json::Value::Null,
                1 => 7.into(),
                2 => "".into(),
                3 => serde_json::json!([]),
                4 => serde_json::json!({}),
                _ => "2026-05-01T00:00:00Z".into(),
            }
        }
    }
}
