//! MACs and their keys: the vectors, rotation, forms, the cache.

use std::collections::HashMap;

use ring::hmac;
use serde::Deserialize;
use serde_json::value::RawValue;

use super::{as_is_and_compact, at, text};
use crate::clock::Timestamp;
use crate::credentials::canonical::{self, Buffers};
use crate::credentials::keys::{Derivation, Encoding, KeyRing, Period, Secret};
use crate::credentials::mac::{
    AgentKeys, Alfred, AlfredKeys, MacError, Olympus, OlympusKeys, OlympusScheme, sign_alfred, sign_olympus,
    verify_alfred, verify_olympus,
};
use crate::credentials::{Limits, Scratch, Unfit};
use crate::tape::{NodeIndex, Parser, Tape};

const OLYMPUS: &str = include_str!("../../../tests/vectors/olympus-vectors.json");
const ALFRED: &str = include_str!("../../../tests/vectors/alfred-vectors.json");
const NOW: Timestamp = Timestamp::from_secs(1_772_539_200);

#[derive(Deserialize)]
struct OlympusVectors {
    persona_keys_hex: PersonaKeys,
    #[serde(borrow)]
    v1: Vec<OlympusVector<'static>>,
    #[serde(borrow)]
    v2: Vec<OlympusVector<'static>>,
    float_layout: Vec<Layout>,
}

#[derive(Deserialize)]
struct PersonaKeys {
    session_secret_utf8: String,
    keys: HashMap<String, String>,
}

#[derive(Deserialize)]
struct Layout {
    f64_hex: String,
    text: String,
}

#[derive(Deserialize)]
struct OlympusVector<'a> {
    name: String,
    session_secret_utf8: Option<String>,
    master_key_hex: Option<String>,
    key_hex: Option<String>,
    persona: String,
    canonical: String,
    /// What signing gives: for valid vectors one of the first two, else one of the others.
    mac_hex: Option<String>,
    signature: Option<String>,
    expected_mac_hex: Option<String>,
    expected: Option<String>,
    presented: Option<String>,
    #[serde(borrow)]
    envelope: &'a RawValue,
    verifies: bool,
}

#[derive(Deserialize)]
struct AlfredVectors {
    #[serde(borrow)]
    mac: Vec<AlfredVector<'static>>,
}

#[derive(Deserialize)]
struct AlfredVector<'a> {
    name: String,
    master_key_hex: String,
    key_hex: String,
    canonical: String,
    mac_base64: String,
    presented: String,
    #[serde(borrow)]
    message: &'a RawValue,
    verifies: bool,
}

fn secret(text: &str, encoding: Encoding) -> Secret {
    Secret::from_text(text, encoding, "test").unwrap()
}

fn olympus(tape: Tape<'_>) -> Olympus<'_> {
    Olympus {
        session_id: text(tape, "/envelope/session_id"),
        persona: text(tape, "/authentication/sender_persona"),
        correlation_id: text(tape, "/envelope/correlation_id"),
        source_agent: text(tape, "/envelope/source_agent"),
        target_agent: text(tape, "/envelope/target_agent"),
        message_type: text(tape, "/protocol_message/message_type"),
        payload: at(tape, "/protocol_message/payload").unwrap(),
        signature: at(tape, "/authentication/signature"),
    }
}

fn alfred(tape: Tape<'_>) -> Alfred<'_> {
    Alfred {
        tenant_id: text(tape, "/envelope/security/tenant_id"),
        agent_id: text(tape, "/envelope/routing/source/agent_id"),
        service_id: text(tape, "/envelope/routing/source/service_id"),
        signature: at(tape, "/envelope/security/signature"),
        own: None,
    }
}

fn olympus_vectors() -> OlympusVectors {
    serde_json::from_str(OLYMPUS).unwrap()
}

#[test]
fn olympus_vectors_sign_and_verify() {
    let vectors = olympus_vectors();
    assert_eq!((vectors.v1.len(), vectors.v2.len()), (29, 7));
    let mut scratch = Scratch::default();
    for (scheme, vector) in vectors
        .v1
        .iter()
        .map(|vector| (OlympusScheme::V1, vector))
        .chain(vectors.v2.iter().map(|vector| (OlympusScheme::V2, vector)))
    {
        let mut keys = OlympusKeys::default();
        for envelope in as_is_and_compact(vector.envelope) {
            Parser::new(64).parse(envelope.as_bytes(), |tape| {
                let tape = tape.unwrap();
                let parts = Olympus { persona: &vector.persona, ..olympus(tape) };
                if let Some(text) = &vector.session_secret_utf8 {
                    let ring = KeyRing::of(secret(text, Encoding::Text));
                    keys.sessions.insert(parts.session_id.into(), ring);
                }
                if let Some(hex) = &vector.master_key_hex {
                    keys.masters = KeyRing::of(secret(hex, Encoding::Hex));
                }
                let signed =
                    sign_olympus(scheme, &keys, tape, envelope.as_bytes(), &parts, NOW, &mut scratch);
                let expected = vector.mac_hex.as_ref().or(vector.signature.as_ref());
                let expected =
                    expected.or(vector.expected_mac_hex.as_ref()).or(vector.expected.as_ref()).unwrap();
                assert_eq!(signed.as_ref(), Ok(expected), "{}", vector.name);
                let presented =
                    vector.presented.as_deref().unwrap_or(text(tape, "/authentication/signature"));
                for _ in 0..2 {
                    let outcome = verify_olympus(
                        &keys,
                        tape,
                        envelope.as_bytes(),
                        &parts,
                        presented,
                        NOW,
                        &mut scratch,
                    );
                    assert_eq!(outcome.is_ok(), vector.verifies, "{}: {outcome:?}", vector.name);
                    assert!(outcome.is_err() || outcome.is_ok_and(|(verified, _)| verified == scheme));
                }
                if scheme == OlympusScheme::V2 {
                    let mut buffers = Buffers::default();
                    let form = canonical::jcs(
                        tape,
                        envelope.as_bytes(),
                        NodeIndex(0),
                        parts.signature,
                        &mut buffers,
                    );
                    assert_eq!(
                        form.unwrap().pieces().concat(),
                        vector.canonical.as_bytes(),
                        "{}",
                        vector.name
                    );
                }
            });
        }
    }
}

#[test]
fn keys_are_derived_as_the_vectors_say() {
    let tag = |key: &hmac::Key| hmac::sign(key, b"any text").as_ref().to_vec();
    let plain = |hex: &str| Derivation::Plain.derive(&secret(hex, Encoding::Hex)).unwrap();
    let vectors = olympus_vectors();
    let session = secret(&vectors.persona_keys_hex.session_secret_utf8, Encoding::Text);
    for (persona, hex) in &vectors.persona_keys_hex.keys {
        let derived = Derivation::Hmac(persona.as_bytes()).derive(&session).unwrap();
        assert_eq!(tag(&derived), tag(&plain(hex)), "{persona}");
    }
    for vector in &vectors.v2 {
        let master = secret(vector.master_key_hex.as_ref().unwrap(), Encoding::Hex);
        let info: [&[u8]; 4] = [b"olympus-envelope/1.0/mac/", vector.persona.as_bytes(), b"", b""];
        let derived = Derivation::Hkdf { salt: b"session-abc123", info }.derive(&master).unwrap();
        assert_eq!(tag(&derived), tag(&plain(vector.key_hex.as_ref().unwrap())), "{}", vector.name);
    }
    for vector in serde_json::from_str::<AlfredVectors>(ALFRED).unwrap().mac {
        Parser::new(64).parse(vector.message.get().as_bytes(), |tape| {
            let keys = AlfredKeys {
                masters: KeyRing::of(secret(&vector.master_key_hex, Encoding::Hex)),
                ..AlfredKeys::default()
            };
            let (ring, derivation) = alfred(tape.unwrap()).ring(&keys).unwrap();
            assert_eq!(
                tag(&ring.signing_key(NOW, derivation).unwrap()),
                tag(&plain(&vector.key_hex)),
                "{}",
                vector.name
            );
        });
    }
}

#[test]
fn float_layouts_of_the_vectors() {
    for Layout { f64_hex, text } in olympus_vectors().float_layout {
        let value = from_hex_float(&f64_hex);
        let document = format!("{value:e}");
        let mut buffers = Buffers::default();
        Parser::new(4).parse(document.as_bytes(), |tape| {
            let form =
                canonical::cpython(tape.unwrap(), document.as_bytes(), NodeIndex(0), None, &mut buffers);
            assert_eq!(form.unwrap().pieces().concat(), text.as_bytes(), "{f64_hex} {document}");
        });
    }
}

/// Reads C's notation, `-0x1.8p+3`.
fn from_hex_float(text: &str) -> f64 {
    let (negative, text) = text.strip_prefix('-').map_or((false, text), |rest| (true, rest));
    let (mantissa, exponent) = text.strip_prefix("0x").unwrap().split_once('p').unwrap();
    let (whole, fraction) = mantissa.split_once('.').unwrap();
    let digits = u64::from_str_radix(&format!("{whole}{fraction}"), 16).unwrap();
    let mut exponent = exponent.parse::<i32>().unwrap() - 4 * fraction.len() as i32;
    let mut value = digits as f64;
    // Steps of two are exact, but for a last one into the subnormal numbers, which rounds nothing away here.
    while exponent != 0 {
        value = if exponent > 0 { value * 2.0 } else { value / 2.0 };
        exponent -= exponent.signum();
    }
    if negative { -value } else { value }
}

#[test]
fn alfred_vectors_sign_and_verify() {
    let vectors: AlfredVectors = serde_json::from_str(ALFRED).unwrap();
    assert_eq!(vectors.mac.len(), 11);
    let mut scratch = Scratch::default();
    for vector in vectors.mac {
        let masters = KeyRing::of(secret(&vector.master_key_hex, Encoding::Hex));
        let keys = AlfredKeys { masters, agents: HashMap::new() };
        for message in as_is_and_compact(vector.message) {
            Parser::new(64).parse(message.as_bytes(), |tape| {
                let tape = tape.unwrap();
                let parts = alfred(tape);
                let signed = sign_alfred(&keys, tape, message.as_bytes(), &parts, NOW, &mut scratch);
                assert_eq!(signed.as_ref(), Ok(&vector.mac_base64), "{}", vector.name);
                let outcome = verify_alfred(
                    &keys,
                    tape,
                    message.as_bytes(),
                    &parts,
                    &vector.presented,
                    NOW,
                    &mut scratch,
                );
                assert_eq!(outcome.is_ok(), vector.verifies, "{}: {outcome:?}", vector.name);
                let mut buffers = Buffers::default();
                let form =
                    canonical::jcs(tape, message.as_bytes(), NodeIndex(0), parts.signature, &mut buffers);
                assert_eq!(form.unwrap().pieces().concat(), vector.canonical.as_bytes(), "{}", vector.name);
            });
        }
    }
}

/// A small signed envelope and its parts, for what follows.
const SMALL: &str = r#"{"envelope":{"session_id":"s","correlation_id":"issue-1","source_agent":"coder","target_agent":"tech-lead"},"authentication":{"sender_persona":"coder"},"protocol_message":{"message_type":"STATUS","payload":{"n":1}}}"#;

fn verify_small(
    keys: &OlympusKeys,
    signature: &str,
    now: Timestamp,
    scratch: &mut Scratch,
) -> Result<OlympusScheme, MacError> {
    Parser::new(64)
        .parse(SMALL.as_bytes(), |tape| {
            let tape = tape.unwrap();
            verify_olympus(keys, tape, SMALL.as_bytes(), &olympus(tape), signature, now, scratch)
        })
        .map(|(scheme, _)| scheme)
}

fn sign_small(scheme: OlympusScheme, keys: &OlympusKeys, now: Timestamp) -> Result<String, MacError> {
    Parser::new(64).parse(SMALL.as_bytes(), |tape| {
        let tape = tape.unwrap();
        sign_olympus(scheme, keys, tape, SMALL.as_bytes(), &olympus(tape), now, &mut Scratch::default())
    })
}

fn day(number: i64) -> Timestamp {
    Timestamp::from_secs(number * 86_400)
}

#[test]
fn keys_rotate() {
    let mut keys = OlympusKeys::default();
    let period = |first, last| Period { not_before: Some(day(first)), not_after: Some(day(last)) };
    let old = || secret("old", Encoding::Text);
    keys.masters.add(old(), period(0, 10)).unwrap();
    let before = sign_small(OlympusScheme::V2, &keys, day(5)).unwrap();
    keys.masters.add(secret("new", Encoding::Text), period(9, 20)).unwrap();
    let mut scratch = Scratch::default();
    // In the overlap both are good, afterwards only the new one, and the ring signs with what is good.
    let after = sign_small(OlympusScheme::V2, &keys, day(11)).unwrap();
    assert_ne!(before, after);
    for (signature, on, expected) in [
        (&before, 5, Ok(OlympusScheme::V2)),
        (&before, 10, Ok(OlympusScheme::V2)),
        (&after, 10, Ok(OlympusScheme::V2)),
        (&after, 8, Err(MacError::Mismatch)),
        (&before, 11, Err(MacError::Mismatch)),
        (&after, 20, Ok(OlympusScheme::V2)),
        (&after, 21, Err(MacError::NoKey)),
    ] {
        assert_eq!(verify_small(&keys, signature, day(on), &mut scratch), expected, "day {on}");
    }
    for _ in 2..KeyRing::KEYS_MAX {
        keys.masters.add(old(), Period::default()).unwrap();
    }
    assert!(keys.masters.add(old(), Period::default()).is_err());
}

#[test]
fn a_signature_must_have_its_form_and_its_key() {
    let mut keys = OlympusKeys::default();
    let mut scratch = Scratch::default();
    let zeros = "0".repeat(64);
    assert_eq!(verify_small(&keys, "", NOW, &mut scratch), Err(MacError::Absent));
    assert_eq!(verify_small(&keys, &zeros, NOW, &mut scratch), Err(MacError::NoKey));
    assert_eq!(verify_small(&keys, &format!("v2:{zeros}"), NOW, &mut scratch), Err(MacError::NoKey));
    keys.sessions.insert("s".into(), KeyRing::of(secret("secret", Encoding::Text)));
    keys.masters = KeyRing::of(secret("master", Encoding::Text));
    assert_eq!(verify_small(&keys, &zeros, NOW, &mut scratch), Err(MacError::Mismatch));
    let good = sign_small(OlympusScheme::V1, &keys, NOW).unwrap();
    assert_eq!(verify_small(&keys, &good, NOW, &mut scratch), Ok(OlympusScheme::V1));
    for broken in [
        good.to_uppercase(),
        format!("{good}0"),
        good[1..].to_owned(),
        format!("v1:{good}"),
        format!("V2:{good}"),
        format!(" {good}"),
        format!("{good}\n"),
        "é".repeat(32),
        "v2:".to_owned(),
    ] {
        assert_eq!(verify_small(&keys, &broken, NOW, &mut scratch), Err(MacError::Form), "{broken}");
    }
    // A tag of one scheme is none of the other.
    assert_eq!(verify_small(&keys, &format!("v2:{good}"), NOW, &mut scratch), Err(MacError::Mismatch));
}

#[test]
fn integers_that_rfc_8785_cannot_carry_are_named_under_v2_and_fine_under_v1() {
    let mut keys =
        OlympusKeys { masters: KeyRing::of(secret("master", Encoding::Text)), ..OlympusKeys::default() };
    keys.sessions.insert("s".into(), KeyRing::of(secret("secret", Encoding::Text)));
    let payload = SMALL.replace("\"n\":1", "\"n\":123456789012345678901234567890");
    Parser::new(64).parse(payload.as_bytes(), |tape| {
        let (tape, mut scratch) = (tape.unwrap(), Scratch::default());
        let sign = |scheme, scratch: &mut Scratch| {
            sign_olympus(scheme, &keys, tape, payload.as_bytes(), &olympus(tape), NOW, scratch)
        };
        assert_eq!(sign(OlympusScheme::V2, &mut scratch), Err(MacError::Unfit(Unfit::NumberRange)));
        assert!(sign(OlympusScheme::V1, &mut scratch).is_ok());
    });
}

/// Anybody can name new sessions; whoever has verified stays remembered, and the memory does not grow.
#[test]
fn the_cache_of_keys_is_bounded_and_right() {
    let masters = KeyRing::of(secret("master", Encoding::Text));
    let keys = AlfredKeys { masters, agents: HashMap::new() };
    let mut scratch = Scratch::new(Limits { keys_max: 16, tokens_max: 16 });
    let document = r#"{"a":1}"#;
    Parser::new(4).parse(document.as_bytes(), |tape| {
        let tape = tape.unwrap();
        for round in 0..3 {
            for tenant in 0..200 {
                let tenant = format!("tenant {tenant} {}", "x".repeat(tenant * 20));
                let parts =
                    Alfred { tenant_id: &tenant, agent_id: "a", service_id: "b", signature: None, own: None };
                let good = sign_alfred(&keys, tape, document.as_bytes(), &parts, NOW, &mut scratch).unwrap();
                let verify = |parts: &Alfred<'_>, scratch: &mut Scratch| {
                    verify_alfred(&keys, tape, document.as_bytes(), parts, &good, NOW, scratch).map(drop)
                };
                assert_eq!(verify(&parts, &mut scratch), Ok(()), "{round} {tenant}");
                let other = Alfred { agent_id: "ab", service_id: "", ..parts };
                assert_eq!(verify(&other, &mut scratch), Err(MacError::Mismatch));
            }
        }
    });
    assert_eq!(scratch.keys.slots(), 16);
}

#[test]
fn an_agents_own_key_replaces_the_master() {
    let ring = |text| KeyRing::of(secret(text, Encoding::Text));
    let mut keys = AlfredKeys { masters: ring("master"), agents: HashMap::new() };
    let document = r#"{"a":1}"#;
    Parser::new(4).parse(document.as_bytes(), |tape| {
        let (tape, mut scratch) = (tape.unwrap(), Scratch::default());
        let mut sign = |keys: &AlfredKeys, tenant| {
            let own = keys.own("a", tenant);
            let parts = Alfred { tenant_id: "", agent_id: "a", service_id: "b", signature: None, own };
            sign_alfred(keys, tape, document.as_bytes(), &parts, NOW, &mut scratch).unwrap()
        };
        let by_master = sign(&keys, "t");
        let tenants = HashMap::from([("u".into(), ring("of u"))]);
        keys.agents.insert("a".into(), AgentKeys { others: ring("own"), tenants });
        let (own, of_u) = (sign(&keys, "t"), sign(&keys, "u"));
        let mut verify = |keys: &AlfredKeys, tenant, signature: &str| {
            let own = keys.own("a", tenant);
            let parts = Alfred { tenant_id: "", agent_id: "a", service_id: "b", signature: None, own };
            verify_alfred(keys, tape, document.as_bytes(), &parts, signature, NOW, &mut scratch).map(drop)
        };
        assert_eq!(verify(&keys, "t", &own), Ok(()));
        assert_eq!(verify(&keys, "t", &by_master), Err(MacError::Mismatch));
        // A tenant's key is good in that tenant alone, and no other is good there.
        assert_eq!(verify(&keys, "u", &of_u), Ok(()));
        assert_eq!(verify(&keys, "u", &own), Err(MacError::Mismatch));
        assert_eq!(verify(&keys, "u", &by_master), Err(MacError::Mismatch));
        for tenant in ["t", "", "U"] {
            assert_eq!(verify(&keys, tenant, &of_u), Err(MacError::Mismatch), "{tenant}");
        }
        // Without a key for all tenants the others are derived; without a master there is none.
        keys.agents.get_mut("a").unwrap().others = KeyRing::default();
        assert_eq!(verify(&keys, "t", &by_master), Ok(()));
        assert_eq!(verify(&keys, "u", &by_master), Err(MacError::Mismatch));
        keys.masters = KeyRing::default();
        assert_eq!(verify(&keys, "t", &of_u), Err(MacError::NoKey));
        // Stray bits in the last character would decode to the same tag.
        let stray = "AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAB=";
        assert_eq!(verify(&keys, "u", stray), Err(MacError::Form));
    });
}
