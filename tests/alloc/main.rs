//! Nothing allocates per record once it is warm: counted, not assumed.
//!
//! A binary of its own, because there is one allocator per process. Allocations are counted per thread, since the test
//! harness has threads of its own.

#![expect(unsafe_code, reason = "a counting allocator implements an unsafe trait")]
#![expect(clippy::unwrap_used, clippy::indexing_slicing, reason = "a test may stop")]

#[path = "../../benches/corpora/mod.rs"]
mod corpora;
mod credentials;
mod judge;
mod program;

use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;

struct Counting;

thread_local! {
    static ALLOCATIONS: Cell<u64> = const { Cell::new(0) };
}

/// How many allocations this thread has made.
fn allocations() -> u64 {
    ALLOCATIONS.with(Cell::get)
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
