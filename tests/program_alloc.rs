//! Checking a record allocates nothing once the memory is warm, whether it is accepted or rejected.
//!
//! A binary of its own, since the counting allocator serves the whole process.

#![expect(unsafe_code, reason = "a global allocator cannot be written without it")]
#![expect(clippy::unwrap_used, clippy::indexing_slicing, reason = "a test may stop")]

#[path = "../benches/corpora/mod.rs"]
mod corpora;

use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;

use tollgate::program::{FirstFailure, Options, Program, Scratch, first_duplicate};
use tollgate::tape::Parser;

thread_local! {
    /// Allocations by this thread: the test harness has threads of its own.
    static COUNT: Cell<usize> = const { Cell::new(0) };
}

struct Counting;

// SAFETY: every call is passed on unchanged to the system's allocator; counting touches no memory of the heap.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        COUNT.with(|count| count.set(count.get() + 1));
        // SAFETY: the caller's promises are those that the system's allocator asks for.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, pointer: *mut u8, layout: Layout) {
        // SAFETY: as above; the pointer came from `alloc`.
        unsafe { System.dealloc(pointer, layout) }
    }
}

#[global_allocator]
static ALLOCATOR: Counting = Counting;

/// Every shape that runs in the daemon, and one with the keywords that need notes.
const SCHEMAS: &[(&str, &str, corpora::Generator)] = &[
    ("olympus", include_str!("../configs/schemas/olympus.json"), corpora::olympus),
    ("agh", include_str!("../configs/schemas/agh.json"), corpora::envelopes::agh),
    ("alfred", include_str!("../configs/schemas/alfred.json"), corpora::envelopes::alfred),
    (
        "humaninloop-input",
        include_str!("../configs/schemas/humaninloop-input.json"),
        corpora::envelopes::humaninloop_input,
    ),
    (
        "humaninloop-output",
        include_str!("../configs/schemas/humaninloop-output.json"),
        corpora::envelopes::humaninloop_output,
    ),
    ("bluelabel", include_str!("../configs/schemas/bluelabel.json"), corpora::envelopes::bluelabel),
    ("geo", include_str!("../benches/shapes/geo.json"), corpora::large::geo),
    ("api", include_str!("../benches/shapes/api.json"), corpora::large::api),
    ("manifest", include_str!("../benches/shapes/manifest.json"), corpora::large::manifest),
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
        let before = COUNT.with(Cell::get);
        let warm = run();
        let allocations = COUNT.with(Cell::get) - before;
        assert_eq!((cold, allocations), (warm, 0), "{name}");
        assert!(warm > 0 && warm < records.len(), "{name}: both verdicts have to occur");
    }
}
