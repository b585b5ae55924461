//! Signatures, tokens, proofs and identities allocate nothing per record once they are warm: counted, not assumed.

use serde_json::Value;
use tollgate::clock::Timestamp;
use tollgate::credentials::canonical::member;
use tollgate::credentials::jwt::{Jwks, TokenRules, Verifier};
use tollgate::credentials::keys::{Encoding, KeyRing, Secret};
use tollgate::credentials::mac::{Alfred, AlfredKeys, Olympus, OlympusKeys, verify_alfred, verify_olympus};
use tollgate::credentials::names::Names;
use tollgate::credentials::{Scratch, digest, proof};
use tollgate::tape::{Node, NodeIndex, Parser, Tape};

fn vectors(text: &str, lists: &[&str], member: &str) -> Vec<String> {
    let document: Value = serde_json::from_str(text).unwrap();
    let all = lists.iter().flat_map(|list| document[list].as_array().unwrap());
    all.map(|vector| vector[member].to_string()).collect()
}

fn at(tape: Tape<'_>, path: &[&str]) -> Option<NodeIndex> {
    path.iter().try_fold(NodeIndex(0), |node, name| member(tape, node, name))
}

fn text<'a>(tape: Tape<'a>, path: &[&str]) -> &'a str {
    match at(tape, path).and_then(|node| tape.nodes().get(node.0 as usize)) {
        Some(Node::String(text)) => text,
        _ => "",
    }
}

struct Keys {
    olympus: OlympusKeys,
    alfred: AlfredKeys,
    verifier: Verifier,
    token: String,
    names_of_run: Names,
}

/// Everything that can be checked of an envelope, whatever its format; how many checks held.
fn check_all(keys: &Keys, tape: Tape<'_>, payload: &[u8], scratch: &mut Scratch) -> u32 {
    let now = Timestamp::from_secs(1_747_146_660);
    let mut held = 0;
    if let Some(node) = at(tape, &["protocol_message", "payload"]) {
        let parts = Olympus {
            session_id: text(tape, &["envelope", "session_id"]),
            persona: text(tape, &["authentication", "sender_persona"]),
            correlation_id: text(tape, &["envelope", "correlation_id"]),
            source_agent: text(tape, &["envelope", "source_agent"]),
            target_agent: text(tape, &["envelope", "target_agent"]),
            message_type: text(tape, &["protocol_message", "message_type"]),
            payload: node,
            signature: at(tape, &["authentication", "signature"]),
        };
        let signature = text(tape, &["authentication", "signature"]);
        held +=
            u32::from(verify_olympus(&keys.olympus, tape, payload, &parts, signature, now, scratch).is_ok());
    }
    let security = ["envelope", "security"];
    if at(tape, &security).is_some() {
        let parts = Alfred {
            tenant_id: text(tape, &["envelope", "security", "tenant_id"]),
            agent_id: text(tape, &["envelope", "routing", "source", "agent_id"]),
            service_id: text(tape, &["envelope", "routing", "source", "service_id"]),
            signature: at(tape, &["envelope", "security", "signature"]),
            own: None,
        };
        let signature = text(tape, &["envelope", "security", "signature"]);
        held +=
            u32::from(verify_alfred(&keys.alfred, tape, payload, &parts, signature, now, scratch).is_ok());
    }
    let claims = keys.verifier.verify(&keys.token, now, scratch).unwrap();
    held += u32::from(claims.subject() == Some("alfred-bot") && claims.has_right(&["write:", "tasks"]));
    held += u32::from(claims.tenant() == Ok(Some("default")));
    for names in [&Names::Lasting, &keys.names_of_run] {
        let members = ["payload", "task_id", "type"];
        for name in names.document_and_members(tape, payload, &members, scratch) {
            held += u32::from(name.is_some_and(|name| name.tag() != 0));
        }
        held += u32::from(names.identity(&[payload]) != [0; 16] && names.payload_tag(payload, None) != 0);
    }
    let buffers = &mut scratch.canonical;
    held += u32::from(digest::capability_fits(tape, NodeIndex(0), "sha256:", buffers));
    held += u32::from(digest::direct_id_fits("direct_", "a", "b", "c", "d"));
    let trust = proof::verify(tape, payload, text(tape, &["from"]), at(tape, &["proof"]), buffers);
    held + u32::from(trust == proof::Trust::Verified)
}

#[test]
fn warm_checks_allocate_nothing() {
    let alfred = include_str!("../vectors/alfred-vectors.json");
    let mut records = vectors(include_str!("../vectors/olympus-vectors.json"), &["v1", "v2"], "envelope");
    records.extend(vectors(alfred, &["mac"], "message"));
    records.extend(vectors(include_str!("../vectors/identity-vectors.json"), &["vectors"], "envelope"));
    records.extend(vectors(include_str!("../vectors/agh-proofs.json"), &["vectors"], "envelope"));
    records.push(
        r#"{"id":"a ","summary":"\n<","requirements":["b","a"],"z":[1e400,{"b":1.5,"a":1E3}]}"#.to_owned(),
    );
    let secret = |text, encoding| KeyRing::of(Secret::from_text(text, encoding, "test").unwrap());
    let master = "000102030405060708090a0b0c0d0e0f101112131415161718191a1b1c1d1e1f";
    let mut olympus = OlympusKeys { masters: secret(master, Encoding::Hex), ..OlympusKeys::default() };
    olympus.sessions.insert("session-abc123".into(), secret("test-session-secret-2026", Encoding::Text));
    let other = "202122232425262728292a2b2c2d2e2f303132333435363738393a3b3c3d3e3f";
    let document: Value = serde_json::from_str(alfred).unwrap();
    let rules =
        TokenRules { issuer: None, audience: None, leeway_s: 60, lifetime_s_max: 3600, iat_required: true };
    let keys = Keys {
        olympus,
        alfred: AlfredKeys { masters: secret(other, Encoding::Hex), ..AlfredKeys::default() },
        verifier: Verifier::new(Jwks::from_value(&document["jwks"]).unwrap(), rules),
        token: document["jwt"][0]["token"].as_str().unwrap().to_owned(),
        names_of_run: Names::of_new_run(),
    };
    let (mut parser, mut scratch) = (Parser::new(64), Scratch::default());
    let mut run = || -> u32 {
        let check = |record: &String| {
            parser.parse(record.as_bytes(), |tape| {
                check_all(&keys, tape.unwrap(), record.as_bytes(), &mut scratch)
            })
        };
        records.iter().map(check).sum()
    };
    let cold = run();
    let before = crate::allocations();
    let warm = run();
    let allocations = crate::allocations() - before;
    assert_eq!(cold, warm);
    assert!(warm as usize > records.len() * 7, "checks held: {warm}");
    assert_eq!(allocations, 0, "allocations for {} records", records.len());
}
