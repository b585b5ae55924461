//! The whole judge of signed Olympus envelopes on one core, next to its floor: simd-json's tape of the same bytes, and
//! ring's HMAC-SHA256 of them.
//!
//! `cargo bench --bench judge`. Every rule of the strict profile is on, with keys and tasks configured; signatures are
//! of scheme v2, which covers the whole envelope. A worker also makes facts of what holds, for the window and the ledger;
//! so the judge is measured without and with them. Each round measures every row once over the same 128 envelopes, and
//! the table shows medians: on a busy machine the rows of one run can be compared, those of two runs cannot.
//!
//! The first three rows are Olympus envelopes in one order of members, in canonical form, and in many orders; the others
//! one built-in format each, as `tollgate generate` makes them, with the keys and registries that come with them.
//! `cargo bench --bench judge -- mixed agh` measures only these rows.

#![expect(
    clippy::unwrap_used,
    clippy::indexing_slicing,
    clippy::print_stdout,
    reason = "a bench may stop, and prints its results"
)]

#[expect(clippy::unwrap_used, clippy::indexing_slicing, dead_code, reason = "documents are made by us")]
mod corpora;

use std::hint::black_box;
use std::time::Instant;

use corpora::{Random, shuffle};
use ring::hmac;
use serde_json::{Value, json};
use tollgate::clock::Timestamp;
use tollgate::config::Config;
use tollgate::credentials::Scratch;
use tollgate::credentials::canonical::{self, Buffers};
use tollgate::credentials::keys::{Encoding, KeyRing, Secret};
use tollgate::credentials::mac::{Olympus, OlympusKeys, OlympusScheme, sign_olympus};
use tollgate::formats::Binding;
use tollgate::judge::{Input, Judge, NoWatch, Payload, Rules};
use tollgate::load::{Destination, Generator, Mix, Secrets, Size, Style, kit};
use tollgate::tape::{NodeIndex, Parser};

// The allocator of the product.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

const DOCUMENTS: usize = 128;
const DOCUMENT_BYTES: u32 = 1200;
const ROUNDS: usize = 301;
const MASTER_KEY: &str = "000102030405060708090a0b0c0d0e0f101112131415161718191a1b1c1d1e1f";
const NOW: &str = "2026-05-20T12:00:00Z";

/// An envelope that holds in every profile, once it is signed.
fn envelope(random: &mut Random, mixed: bool) -> Value {
    const TARGETS: &[&str] = &["coder", "iac-engineer", "tdd-tester", "document-writer"];
    let target = if mixed { *random.pick(TARGETS) } else { "coder" };
    let session = format!("session-{}", random.below(8));
    let message_type = if mixed { *random.pick(&["ASSIGN", "CANCEL"]) } else { "ASSIGN" };
    let payload = match message_type {
        "CANCEL" => {
            json!({"reason": "user_interrupt", "graceful": true, "context_signal": random.words(150)})
        }
        _ => {
            json!({"task": random.words(100), "context": {"notes": random.words(80), "line": random.digits(3)}, "priority": "P1"})
        }
    };
    let attachment = |random: &mut Random, number: usize| {
        let mut attachment = json!({
            "type": if number == 0 { "persona_definition" } else { "config" },
            "path": format!("configs/part_{number}/file_{}.md", random.digits(2)),
            "hash": format!("sha256:{}", random.hex(64))
        });
        if number > 0 {
            attachment["section"] = json!("conventions");
        }
        attachment
    };
    let attachments: Vec<Value> = (0..3).map(|number| attachment(random, number)).collect();
    let mut value = json!({
        "envelope": {
            "version": "1.0",
            "message_id": format!("msg-{}", random.uuid()),
            "timestamp": format!("2026-05-20T11:{:02}:{:02}.{:06}+00:00", random.below(60), random.below(60), random.below(1_000_000)),
            "source_agent": "tech-lead",
            "target_agent": target,
            "correlation_id": format!("issue-{}", random.digits(4)),
            "session_id": session
        },
        "authentication": {
            "sender_persona": "tech-lead",
            "sender_task_id": format!("task-of-{session}"),
            "parent_message_id": "",
            "session_id": session,
            "signature": ""
        },
        "persona": format!("governance/personas/agentic/{target}.md"),
        "protocol_message": {"message_type": message_type, "payload": payload},
        "context_attachments": attachments
    });
    if mixed {
        if random.below(2) == 0 {
            value["protocol_message"]["constraints"] = json!({"timeout_seconds": random.digits(3)});
        }
        if random.below(3) == 0 {
            value["authentication"].as_object_mut().unwrap().remove("parent_message_id");
        }
        shuffle(&mut value, random);
    }
    value
}

/// Signs an envelope and gives its text.
fn signed(mut envelope: Value, keys: &OlympusKeys) -> String {
    let text = envelope.to_string();
    let signature = Parser::new(64).parse(text.as_bytes(), |tape| {
        let tape = tape.unwrap();
        let node = |pointer: &str| {
            let name = (0..tape.nodes().len() as u32).find(|node| tape.pointer(NodeIndex(*node)) == pointer);
            NodeIndex(name.unwrap() + 1)
        };
        let text_of = |pointer: &str| envelope.pointer(pointer).and_then(Value::as_str).unwrap();
        let members = Olympus {
            session_id: text_of("/envelope/session_id"),
            persona: text_of("/envelope/source_agent"),
            correlation_id: text_of("/envelope/correlation_id"),
            source_agent: text_of("/envelope/source_agent"),
            target_agent: text_of("/envelope/target_agent"),
            message_type: text_of("/protocol_message/message_type"),
            payload: node("/protocol_message/payload"),
            signature: Some(node("/authentication/signature")),
        };
        let (scheme, now) = (OlympusScheme::V2, Timestamp::from_rfc3339(NOW).unwrap());
        sign_olympus(scheme, keys, tape, text.as_bytes(), &members, now, &mut Scratch::default()).unwrap()
    });
    envelope["authentication"]["signature"] = signature.into();
    envelope.to_string()
}

fn canonical(text: &str) -> String {
    Parser::new(64).parse(text.as_bytes(), |tape| {
        let mut buffers = Buffers::default();
        let form = canonical::jcs(tape.unwrap(), text.as_bytes(), NodeIndex(0), None, &mut buffers).unwrap();
        String::from_utf8(form.pieces().concat()).unwrap()
    })
}

fn rules() -> Rules {
    let tasks: Vec<String> = (0..8)
        .map(|number| format!("\"task-of-session-{number}\" = {{ persona = \"tech-lead\", session_id = \"session-{number}\" }}"))
        .collect();
    let config = format!(
        "[rules]\nprofile = \"strict\"\n[format.olympus]\nmaster_key_hex = \"{MASTER_KEY}\"\n[format.olympus.tasks]\n{}\n",
        tasks.join("\n")
    );
    Rules::compile(&Config::parse("bench", &config, &|_| None).unwrap()).unwrap()
}

/// What is judged, and when.
struct Document {
    payload: Vec<u8>,
    now: Timestamp,
}

/// Envelopes of a format that hold, and the rules that they hold by.
fn generated(format: &str) -> (Vec<Document>, Rules) {
    let secrets = Secrets::of(tollgate::bench::SEED);
    let size = Size { bytes: DOCUMENT_BYTES, ..Size::default() };
    let mut mix = Mix { style: Style::Uniform, olympus_v2: 100.0, size, ..Mix::default() }.of_format(format);
    mix.faults.clear();
    mix.replays.share = 0.0;
    mix.bursts.share = 0.0;
    let dir = std::env::temp_dir().join(format!("tollgate-bench-judge-{}", std::process::id()));
    kit::write(&dir, &mix, &secrets).unwrap();
    let rules = Rules::compile(&Config::load(&dir.join(kit::CONFIG)).unwrap()).unwrap();
    std::fs::remove_dir_all(&dir).unwrap();
    let start = Timestamp::from_rfc3339(NOW).unwrap();
    let generator = Generator::new(&mix, 11, &secrets, start, Destination::Lines).unwrap();
    let mut cursor = generator.cursor();
    let documents = (0..DOCUMENTS as u64).map(|number| {
        let mut payload = Vec::new();
        cursor.write(number, |number| Generator::time_of(start, number), &mut payload);
        Document { payload, now: start }
    });
    (documents.collect(), rules)
}

/// Prints one line of the table: medians in nanoseconds, and the judge's ratio to its floor.
fn measure(name: &str, documents: &[Document], rules: &Rules) {
    let (mut parser, mut judge, mut worker) = (Parser::new(64), Judge::new(rules), Judge::new(rules));
    worker.make_facts();
    let key = hmac::Key::new(hmac::HMAC_SHA256, &[7; 32]);
    let mut pointer = Vec::new();
    let mut times: [Vec<f64>; 4] = Default::default();
    for _ in 0..ROUNDS {
        let mut lap = |row: usize, work: &mut dyn FnMut(&[u8], Timestamp)| {
            let start = Instant::now();
            for document in documents {
                work(&document.payload, document.now);
            }
            if let Some(times) = times.get_mut(row) {
                times.push(start.elapsed().as_nanos() as f64 / documents.len() as f64);
            }
        };
        lap(0, &mut |document, _| assert!(parser.parse(document, |tape| black_box(tape).is_ok())));
        lap(1, &mut |document, _| {
            black_box(hmac::sign(&key, black_box(document)));
        });
        for (row, judge) in [(2, &mut judge), (3, &mut worker)] {
            lap(row, &mut |document, now| {
                let payload = Payload::Bytes(black_box(document));
                let input = Input { payload, key: Some(b"key"), now: Some(now) };
                let verdict = judge.judge(rules, Binding::Auto, input, &mut pointer, &mut NoWatch);
                assert!(verdict.is_accept(), "{verdict:?} {}", String::from_utf8_lossy(&pointer));
            });
        }
    }
    let [tape, mac, whole, with_facts] = times.map(|mut times| {
        times.sort_by(f64::total_cmp);
        times.get(ROUNDS / 2).copied().unwrap()
    });
    let bytes = documents.iter().map(|document| document.payload.len()).sum::<usize>() / documents.len();
    let (ratio, as_worker) = (whole / (tape + mac), with_facts / (tape + mac));
    println!(
        "| {name} | {bytes} | {tape:.0} | {mac:.0} | {whole:.0} | {ratio:.2} | {with_facts:.0} | {as_worker:.2} |"
    );
}

fn main() {
    let keys = OlympusKeys {
        masters: KeyRing::of(Secret::from_text(MASTER_KEY, Encoding::Hex, "bench").unwrap()),
        ..OlympusKeys::default()
    };
    let asked: Vec<String> = std::env::args().skip(1).filter(|argument| !argument.starts_with('-')).collect();
    let wanted = |name: &str| asked.is_empty() || asked.iter().any(|asked| asked == name);
    let documents = |mixed: bool, spell: &dyn Fn(String) -> String| -> Vec<Document> {
        let mut random = Random(11);
        let now = Timestamp::from_rfc3339(NOW).unwrap();
        let mut document = || spell(signed(envelope(&mut random, mixed), &keys)).into_bytes();
        (0..DOCUMENTS).map(|_| Document { payload: document(), now }).collect()
    };
    let rules = rules();
    println!(
        "| envelopes | bytes | tape, ns | HMAC, ns | judge, ns | / (tape + HMAC) | with facts, ns | / (tape + HMAC) |"
    );
    println!("|---|---|---|---|---|---|---|---|");
    let as_is = |text: String| text;
    if wanted("uniform") {
        measure("uniform", &documents(false, &as_is), &rules);
    }
    if wanted("canonical") {
        measure("canonical", &documents(false, &|text| canonical(&text)), &rules);
    }
    if wanted("mixed") {
        measure("mixed", &documents(true, &as_is), &rules);
    }
    for format in Mix::default().formats.keys().filter(|format| wanted(format)) {
        let (documents, rules) = generated(format);
        measure(format, &documents, &rules);
    }
}
