//! Canonical forms and checks next to ring's HMAC of the same bytes, in one run: nanoseconds per envelope.
//!
//! `cargo bench --bench credentials`. Each round measures every row once, over the same envelopes, and the table shows the
//! medians of all rounds: on a busy machine the rows of one run can be compared, those of two runs cannot. The checksum
//! at the end shows that an optimisation changed no byte.

#![expect(clippy::unwrap_used, clippy::print_stdout, reason = "a bench may stop, and prints its results")]

#[expect(clippy::unwrap_used, clippy::indexing_slicing, dead_code, reason = "documents are made by us")]
mod corpora;

use std::hint::black_box;
use std::time::Instant;

use ring::hmac;
use tollgate::clock::Timestamp;
use tollgate::credentials::Scratch;
use tollgate::credentials::canonical::{self, Buffers};
use tollgate::credentials::keys::{Encoding, KeyRing, Secret};
use tollgate::credentials::mac::{Olympus, OlympusKeys, OlympusScheme, sign_olympus, verify_olympus};
use tollgate::tape::{Node, NodeIndex, Parser, Tape};

const DOCUMENTS: usize = 128;
const BYTES: usize = 1000;
const ROUNDS: usize = 201;
/// Passes over all documents per measurement, so that the clock's own cost vanishes.
const PASSES: usize = 4;

/// Parses every document, each into a parser of its own, and hands all tapes over at once.
fn with_tapes(documents: &[String], tapes: &[Tape<'_>], then: &mut dyn FnMut(&[Tape<'_>])) {
    let Some((document, rest)) = documents.split_first() else { return then(tapes) };
    Parser::new(64).parse(document.as_bytes(), |tape| {
        let mut all = tapes.to_vec();
        all.push(tape.unwrap());
        with_tapes(rest, &all, then);
    });
}

/// The value of a member, by the names on the way to it.
fn find(tape: Tape<'_>, path: &[&str]) -> Option<NodeIndex> {
    let pointer = format!("/{}", path.join("/"));
    let name = (0..tape.nodes().len() as u32).find(|node| tape.pointer(NodeIndex(*node)) == pointer)?;
    Some(NodeIndex(name + 1))
}

fn text<'a>(tape: Tape<'a>, path: &[&str]) -> &'a str {
    match find(tape, path).and_then(|node| tape.nodes().get(node.0 as usize)) {
        Some(Node::String(text)) => text,
        _ => "",
    }
}

fn olympus(tape: Tape<'_>) -> Olympus<'_> {
    Olympus {
        session_id: text(tape, &["envelope", "session_id"]),
        persona: text(tape, &["envelope", "source_agent"]),
        correlation_id: text(tape, &["envelope", "correlation_id"]),
        source_agent: text(tape, &["envelope", "source_agent"]),
        target_agent: text(tape, &["envelope", "target_agent"]),
        message_type: text(tape, &["protocol_message", "message_type"]),
        payload: find(tape, &["protocol_message", "payload"]).unwrap(),
        signature: find(tape, &["authentication", "signature"]),
    }
}

fn canonical_texts(documents: &[String], python: bool) -> Vec<String> {
    let mut buffers = Buffers::default();
    let mut canonical = Vec::new();
    for document in documents {
        Parser::new(64).parse(document.as_bytes(), |tape| {
            let form = if python { canonical::cpython } else { canonical::jcs };
            let form = form(tape.unwrap(), document.as_bytes(), NodeIndex(0), None, &mut buffers).unwrap();
            canonical.push(String::from_utf8(form.pieces().concat()).unwrap());
        });
    }
    canonical
}

/// One row of the table: a name and what to do with each document.
type Row<'a> = (&'static str, Box<dyn FnMut(usize) -> usize + 'a>);

fn measure(set: &str, bytes: usize, rows: &mut [Row<'_>]) -> usize {
    let mut nanoseconds = vec![Vec::with_capacity(ROUNDS); rows.len()];
    let mut checksum = 0;
    for _ in 0..ROUNDS {
        for ((_, work), times) in rows.iter_mut().zip(&mut nanoseconds) {
            let start = Instant::now();
            for document in (0..DOCUMENTS).cycle().take(DOCUMENTS * PASSES) {
                checksum += black_box(work(document));
            }
            times.push(start.elapsed().as_nanos() as usize / (DOCUMENTS * PASSES));
        }
    }
    println!("\n{set}, {bytes} bytes on average");
    for ((name, _), times) in rows.iter().zip(&mut nanoseconds) {
        times.sort_unstable();
        println!("  {name:<34}{:>7} ns", times.get(ROUNDS / 2).unwrap());
    }
    checksum
}

fn bench_set(set: &str, documents: &[String]) -> usize {
    let mut keys = OlympusKeys {
        masters: KeyRing::of(secret("a master key of 32 bytes, or so.")),
        ..OlympusKeys::default()
    };
    let now = Timestamp::from_secs(0);
    let plain = hmac::Key::new(hmac::HMAC_SHA256, b"key");
    let bytes = documents.iter().map(String::len).sum::<usize>() / documents.len();
    let mut checksum = 0;
    with_tapes(documents, &[], &mut |tapes| {
        let parts: Vec<Olympus<'_>> = tapes.iter().map(|tape| olympus(*tape)).collect();
        for part in &parts {
            keys.sessions
                .entry(part.session_id.into())
                .or_insert_with(|| KeyRing::of(secret("session secret")));
        }
        let mut scratch = Scratch::default();
        let mut sign = |scheme| -> Vec<String> {
            let each = documents.iter().zip(tapes).zip(&parts);
            each.map(|((text, tape), part)| {
                sign_olympus(scheme, &keys, *tape, text.as_bytes(), part, now, &mut scratch).unwrap()
            })
            .collect()
        };
        let signatures = [sign(OlympusScheme::V1), sign(OlympusScheme::V2)];
        let [mut first, mut second, mut third] = [(); 3].map(|()| Buffers::default());
        let mut scratches = [(); 2].map(|()| Scratch::default());
        let [for_v1, for_v2] = &mut scratches;
        let mut parser = Parser::new(64);
        let document = |at: usize| documents.get(at).unwrap().as_bytes();
        let tape = |at: usize| *tapes.get(at).unwrap();
        let mut verify = |scheme: usize, scratch: &mut Scratch, at: usize| {
            let signature = signatures.get(scheme).and_then(|all| all.get(at)).unwrap();
            let part = parts.get(at).unwrap();
            usize::from(verify_olympus(&keys, tape(at), document(at), part, signature, now, scratch).is_ok())
        };
        let verify = std::cell::RefCell::new(&mut verify);
        let mut rows: Vec<Row<'_>> = vec![
            ("simd-json tape", Box::new(|at| parser.parse(document(at), |tape| usize::from(tape.is_ok())))),
            ("ring HMAC of the payload", Box::new(|at| hmac::sign(&plain, document(at)).as_ref().len())),
            (
                "RFC 8785",
                Box::new(|at| {
                    let form =
                        canonical::jcs(tape(at), document(at), NodeIndex(0), None, &mut first).unwrap();
                    form.pieces().iter().map(|piece| piece.len()).sum()
                }),
            ),
            (
                "RFC 8785, signature left out",
                Box::new(|at| {
                    let omit = parts.get(at).unwrap().signature;
                    let form =
                        canonical::jcs(tape(at), document(at), NodeIndex(0), omit, &mut second).unwrap();
                    form.pieces().iter().map(|piece| piece.len()).sum()
                }),
            ),
            (
                "CPython form",
                Box::new(|at| {
                    let form =
                        canonical::cpython(tape(at), document(at), NodeIndex(0), None, &mut third).unwrap();
                    form.pieces().iter().map(|piece| piece.len()).sum()
                }),
            ),
            ("verify Olympus v1", Box::new(|at| (verify.borrow_mut())(0, for_v1, at))),
            ("verify Olympus v2", Box::new(|at| (verify.borrow_mut())(1, for_v2, at))),
        ];
        checksum = measure(set, bytes, &mut rows);
    });
    checksum
}

fn secret(text: &str) -> Secret {
    Secret::from_text(text, Encoding::Text, "bench").unwrap()
}

fn main() {
    let own = corpora::documents(corpora::olympus, BYTES, DOCUMENTS, false);
    let mixed = corpora::documents(corpora::olympus, BYTES, DOCUMENTS, true);
    let ascii: Vec<String> = mixed.iter().map(|text| text.replace('ü', "u")).collect();
    let pretty: Vec<String> = mixed
        .iter()
        .map(|text| {
            serde_json::to_string_pretty(&serde_json::from_str::<serde_json::Value>(text).unwrap()).unwrap()
        })
        .collect();
    let escaped: Vec<String> = mixed.iter().map(|text| text.replace("the ", "the\\n")).collect();
    let mut checksum = 0;
    for (set, documents) in [
        ("one order of members", own),
        ("mixed", mixed.clone()),
        ("mixed, with line breaks in texts", escaped),
        ("mixed, indented", pretty),
        ("already RFC 8785", canonical_texts(&mixed, false)),
        ("already CPython's form", canonical_texts(&ascii, true)),
    ] {
        checksum += bench_set(set, &documents);
    }
    println!("\nchecksum {checksum}");
}
