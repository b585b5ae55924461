//! Checking a record allocates nothing once the memory is warm, whether it is accepted or rejected.

use tollgate::program::{FirstFailure, Options, Program, Scratch, first_duplicate};
use tollgate::tape::Parser;

use crate::corpora;

/// Every shape that runs in the daemon, and one with the keywords that need notes.
const SCHEMAS: &[(&str, &str, corpora::Generator)] = &[
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

/// The documents, and each of them broken in several ways.
fn records(generator: corpora::Generator) -> Vec<String> {
    let mut records = Vec::new();
    for document in corpora::documents(generator, 1200, 20, true) {
        records.push(document.replacen(':', ":[{\"twice\":1,\"twice\":2}],\"inserted\":", 1));
        records.push(document.replacen(':', ":null,\"inserted\":", 1));
        records.push(document.replacen('"', "\"renamed-", 1));
        records.push(document);
    }
    records
}

#[test]
fn a_warm_check_allocates_nothing() {
    for (name, schema, generator) in SCHEMAS {
        let program = Program::compile(schema, name, &Options::default()).unwrap();
        let records = records(*generator);
        let (mut parser, mut scratch) = (Parser::new(64), Scratch::default());
        let mut run = || {
            let mut accepted = 0;
            for record in &records {
                parser.parse(record.as_bytes(), |tape| {
                    let tape = tape.unwrap();
                    let valid = program.execute(tape, &mut scratch, &mut FirstFailure::default());
                    let duplicate = first_duplicate(tape, &mut scratch);
                    accepted += usize::from(valid && duplicate.is_none());
                });
            }
            accepted
        };
        let cold = run();
        let before = crate::allocations();
        let warm = run();
        let allocations = crate::allocations() - before;
        assert_eq!((cold, allocations), (warm, 0), "{name}");
        assert!(warm > 0 && warm < records.len(), "{name}: both verdicts have to occur");
    }
}
