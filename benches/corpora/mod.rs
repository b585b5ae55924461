//! Documents for benches and tests: shapes of the built-in formats and of large real-world schemas.
//!
//! Everything is generated from a seed. In a *uniform* set every document has the same members in the same order, with
//! values of the same kind and size; only their contents differ. In a *mixed* one the order, the optional members and
//! the values vary from document to document. Every document is valid.

pub(crate) mod envelopes;
pub(crate) mod large;

use serde_json::{Map, Value, json};

/// A small generator of pseudo-random numbers (splitmix64).
pub(crate) struct Random(pub(crate) u64);

impl Random {
    /// The next number.
    pub(crate) fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mixed = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }

    /// A number below `end`.
    pub(crate) fn below(&mut self, end: usize) -> usize {
        (self.next() % end as u64) as usize
    }

    /// One of several.
    pub(crate) fn pick<'a, T>(&mut self, from: &'a [T]) -> &'a T {
        &from[self.below(from.len())]
    }

    /// `digits` lower-case hex digits.
    pub(crate) fn hex(&mut self, digits: usize) -> String {
        (0..digits).map(|_| char::from(*self.pick(b"0123456789abcdef"))).collect()
    }

    /// A number that always has `digits` digits.
    pub(crate) fn digits(&mut self, digits: u32) -> usize {
        let least = 10_usize.pow(digits - 1);
        least + self.below(9 * least)
    }

    /// Words of `bytes` bytes in all.
    pub(crate) fn words(&mut self, bytes: usize) -> String {
        const WORDS: &[&str] =
            &["plan", "review", "the", "module", "quickly", "and", "report", "übersicht", "gate", "a"];
        let mut text = String::new();
        while text.len() < bytes {
            let word = *self.pick(WORDS);
            text.push_str(word);
            text.push(' ');
        }
        let cut = (0..=bytes).rev().find(|end| text.is_char_boundary(*end)).unwrap_or_default();
        text.truncate(cut);
        text.push_str(&" ".repeat(bytes - cut));
        text
    }

    /// A version 4 UUID.
    pub(crate) fn uuid(&mut self) -> String {
        format!("{}-{}-4{}-a{}-{}", self.hex(8), self.hex(4), self.hex(3), self.hex(3), self.hex(12))
    }
}

/// Brings the members of all objects into a random order.
pub(crate) fn shuffle(value: &mut Value, random: &mut Random) {
    match value {
        Value::Object(members) => {
            let mut list: Vec<(String, Value)> = std::mem::take(members).into_iter().collect();
            for at in (1..list.len()).rev() {
                list.swap(at, random.below(at + 1));
            }
            for (_, value) in &mut list {
                shuffle(value, random);
            }
            *members = list.into_iter().collect::<Map<_, _>>();
        }
        Value::Array(items) => items.iter_mut().for_each(|item| shuffle(item, random)),
        _ => {}
    }
}

/// An Olympus envelope of about `bytes` bytes; the smallest has no signature.
pub(crate) fn olympus(random: &mut Random, bytes: usize, mixed: bool) -> Value {
    const AGENTS: &[&str] =
        &["tech-lead", "coder", "iac-engineer", "tdd-tester", "validation-tester", "devops-engineer"];
    const TYPES: &[&str] = &["ASSIGN", "STATUS", "RESULT", "FEEDBACK", "APPROVE"];
    let target = if mixed { *random.pick(AGENTS) } else { "coder" };
    let session = format!("session-{}", random.hex(8));
    let subject = if mixed { *random.pick(&["issue", "pr"]) } else { "issue" };
    let mut envelope = json!({
        "envelope": {
            "version": "1.0",
            "message_id": format!("msg-{}", random.uuid()),
            "timestamp": format!("2026-05-{:02}T12:{:02}:{:02}.{:06}+00:00", 1 + random.below(28), random.below(60), random.below(60), random.below(1_000_000)),
            "source_agent": if mixed { *random.pick(AGENTS) } else { "tech-lead" },
            "target_agent": target,
            "correlation_id": format!("{subject}-{}", random.digits(5)),
            "session_id": session
        },
        "authentication": {
            "sender_persona": "tech-lead",
            "sender_task_id": format!("task-{}", random.hex(6)),
            "parent_message_id": "",
            "session_id": session,
            "signature": random.hex(64)
        },
        "persona": format!("governance/personas/agentic/{target}.md"),
        "protocol_message": {
            "message_type": if mixed { *random.pick(TYPES) } else { "ASSIGN" },
            "payload": {"task": random.words(20), "priority": random.below(5), "labels": ["core", "gate"], "done": false}
        },
        "context_attachments": []
    });
    if mixed && random.below(2) == 0 {
        envelope["protocol_message"]["constraints"] =
            json!({"timeout_seconds": random.below(3600), "paths": ["src/"]});
    }
    if mixed && random.below(3) == 0 {
        envelope["authentication"].as_object_mut().unwrap().remove("parent_message_id");
    }
    if bytes < 600 {
        envelope.as_object_mut().unwrap().remove("authentication");
    }
    for round in 0.. {
        if envelope.to_string().len() + 160 >= bytes {
            break;
        }
        let open = if mixed { random.below(3) } else { round % 3 } == 2;
        if open {
            let name = format!("item_{}", if mixed { random.below(1000) } else { round + 100 });
            let detail = json!({"note": random.words(40), "line": random.digits(3), "ok": true});
            envelope["protocol_message"]["payload"][name] = detail;
        } else {
            envelope["context_attachments"].as_array_mut().unwrap().push(attachment(random, mixed));
        }
    }
    envelope
}

fn attachment(random: &mut Random, mixed: bool) -> Value {
    const KINDS: &[&str] = &["plan", "config", "persona_definition", "source_file", "documentation"];
    let mut attachment = json!({
        "type": if mixed { *random.pick(KINDS) } else { "source_file" },
        "path": format!("src/module_{}/file_{}.rs", random.digits(2), random.digits(2)),
        "hash": format!("sha256:{}", random.hex(64))
    });
    if mixed && random.below(2) == 0 {
        attachment["section"] = json!("conventions");
    }
    attachment
}

/// A generator of documents: its random numbers, the size in bytes, and whether documents vary.
pub(crate) type Generator = fn(&mut Random, usize, bool) -> Value;

/// `count` documents as text.
pub(crate) fn documents(generator: Generator, bytes: usize, count: usize, mixed: bool) -> Vec<String> {
    let mut random = Random(bytes as u64);
    let mut make = || {
        let mut value = generator(&mut random, bytes, mixed);
        if mixed {
            shuffle(&mut value, &mut random);
        }
        value.to_string()
    };
    (0..count).map(|_| make()).collect()
}
