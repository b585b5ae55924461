//! The judge allocates nothing per record once it is warm, whatever the verdict: counted, not assumed.
//!
//! A binary of its own, because the allocator is one per process.
#![expect(unsafe_code, reason = "a counting allocator implements an unsafe trait")]

use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;

use tollgate::config::Config;
use tollgate::formats::Binding;
use tollgate::judge::{Judge, NoWatch, Payload, Rules};
use tollgate::load::Stream;

struct Counting;

thread_local! {
    static ALLOCATIONS: Cell<u64> = const { Cell::new(0) };
}

fn count() {
    // The thread may be ending; then nobody counts any more.
    let _ = ALLOCATIONS.try_with(|count| count.set(count.get() + 1));
}

// SAFETY: every call is passed on to the system's allocator unchanged; counting allocates nothing itself.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        count();
        // SAFETY: the caller's promise holds for the system's allocator, too.
        unsafe { System.alloc(layout) }
    }
    unsafe fn dealloc(&self, pointer: *mut u8, layout: Layout) {
        // SAFETY: as above.
        unsafe { System.dealloc(pointer, layout) }
    }
    unsafe fn realloc(&self, pointer: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        count();
        // SAFETY: as above.
        unsafe { System.realloc(pointer, layout, size) }
    }
}

#[global_allocator]
static ALLOCATOR: Counting = Counting;

#[test]
fn a_warm_judge_allocates_nothing() {
    let rules = Rules::compile(&Config::default()).unwrap();
    let mut judge = Judge::new(&rules);
    let mut stream = Stream::new(3, 500);
    let mut records: Vec<Vec<u8>> = (0..2000)
        .map(|_| {
            let mut record = Vec::new();
            stream.write_next(&mut record);
            record
        })
        .collect();
    // A pointer through arrays, which no record of the stream needs.
    records.push(br#"{"persona":[0,[0,0,0,0,0,0,0,0,0,0,0,{"a":1,"a":2}]]}"#.to_vec());
    let mut pointer = Vec::with_capacity(4096);
    let mut judge_all = || {
        let mut rejected = 0;
        for record in &records {
            pointer.clear();
            let verdict =
                judge.judge(&rules, Binding::Auto, Payload::Bytes(record), &mut pointer, &mut NoWatch);
            rejected += u64::from(!verdict.is_accept());
        }
        rejected
    };
    let cold = judge_all();
    let before = ALLOCATIONS.with(Cell::get);
    let warm = judge_all();
    let allocations = ALLOCATIONS.with(Cell::get) - before;
    assert_eq!(cold, warm);
    assert!(warm > 500, "rejects are among them: {warm}");
    assert_eq!(allocations, 0, "allocations for {} records, {warm} of them rejected", records.len());
}
