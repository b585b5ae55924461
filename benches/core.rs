//! `tollgate bench core` with two rows more: allocations, and the program that a user would write instead.
//!
//! `cargo bench --bench core [-- --json]`. A binary of its own, because the command must not carry a counting allocator
//! (which is unsafe code) nor the `jsonschema` crate. The user's program is what the libraries' documents lead to:
//! `serde_json` to a value, the `jsonschema` validator with formats asserted, the canonical bytes by sorting the value,
//! and ring's HMAC with the derived key remembered. It checks the shape and the signature, and none of the format's other rules.

#![expect(unsafe_code, reason = "a counting allocator implements an unsafe trait")]
#![expect(clippy::unwrap_used, clippy::indexing_slicing, reason = "a bench may stop")]

use std::alloc::{GlobalAlloc, Layout};
use std::cell::Cell;
use std::collections::HashMap;
use std::process::ExitCode;

use ring::{hkdf, hmac};
use serde_json::Value;
use tollgate::bench::{Extras, SEED};
use tollgate::cli::BenchCore;
use tollgate::load::Secrets;

/// Counts, and passes on to the allocator of the product.
struct Counting;

static PRODUCT: mimalloc::MiMalloc = mimalloc::MiMalloc;

thread_local! {
    static ALLOCATIONS: Cell<u64> = const { Cell::new(0) };
}

fn count() {
    // The thread may be ending; then nobody counts any more.
    let _ = ALLOCATIONS.try_with(|count| count.set(count.get() + 1));
}

// SAFETY: every call is passed on unchanged; counting allocates nothing itself.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        count();
        // SAFETY: the caller's promise holds for the product's allocator, too.
        unsafe { PRODUCT.alloc(layout) }
    }
    unsafe fn dealloc(&self, pointer: *mut u8, layout: Layout) {
        // SAFETY: as above.
        unsafe { PRODUCT.dealloc(pointer, layout) }
    }
    unsafe fn realloc(&self, pointer: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        count();
        // SAFETY: as above.
        unsafe { PRODUCT.realloc(pointer, layout, size) }
    }
}

#[global_allocator]
static ALLOCATOR: Counting = Counting;

struct Length;

impl hkdf::KeyType for Length {
    fn len(&self) -> usize {
        32
    }
}

/// Shape and signature of an Olympus envelope, as one would write it with these libraries.
struct UserProgram {
    schema: jsonschema::Validator,
    master: [u8; 32],
    keys: HashMap<String, hmac::Key>,
}

impl UserProgram {
    fn new(master: [u8; 32]) -> Self {
        let schema: Value = serde_json::from_str(include_str!("../configs/schemas/olympus.json")).unwrap();
        let schema = jsonschema::options().should_validate_formats(true).build(&schema).unwrap();
        Self { schema, master, keys: HashMap::new() }
    }

    fn holds(&mut self, payload: &[u8]) -> bool {
        let Ok(mut envelope) = serde_json::from_slice::<Value>(payload) else { return false };
        if !self.schema.is_valid(&envelope) {
            return false;
        }
        let Some(Value::String(signature)) =
            envelope["authentication"].as_object_mut().unwrap().remove("signature")
        else {
            return false;
        };
        let (session, persona) = (
            envelope["envelope"]["session_id"].as_str(),
            envelope["authentication"]["sender_persona"].as_str(),
        );
        let (Some(session), Some(persona)) = (session, persona) else { return false };
        let name = format!("{session}/{persona}");
        if !self.keys.contains_key(&name) {
            let mut key = [0; 32];
            let info: [&[u8]; 2] = [b"olympus-envelope/1.0/mac/", persona.as_bytes()];
            let secret = hkdf::Salt::new(hkdf::HKDF_SHA256, session.as_bytes()).extract(&self.master);
            secret.expand(&info, Length).unwrap().fill(&mut key).unwrap();
            self.keys.insert(name.clone(), hmac::Key::new(hmac::HMAC_SHA256, &key));
        }
        envelope.sort_all_objects();
        let canonical = serde_json::to_vec(&envelope).unwrap();
        let tag: Option<Vec<u8>> = signature.strip_prefix("v2:").and_then(|hex| {
            (0..hex.len()).step_by(2).map(|at| u8::from_str_radix(hex.get(at..at + 2)?, 16).ok()).collect()
        });
        tag.is_some_and(|tag| hmac::verify(&self.keys[&name], &canonical, &tag).is_ok())
    }
}

fn main() -> ExitCode {
    let json = std::env::args().any(|argument| argument == "--json");
    let mut program = UserProgram::new(*Secrets::of(SEED).olympus_master());
    let mut user = |record: &[u8]| program.holds(record);
    let count = || ALLOCATIONS.with(Cell::get);
    let mut extras = Extras { user: Some(&mut user), allocations: Some(&count) };
    tollgate::commands::bench_core(&BenchCore { records: 200_000, json }, &mut extras)
}
