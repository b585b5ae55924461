//! The token vectors, and tokens that are broken in every way that has a name.

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD as BASE64URL;
use serde_json::{Value, json};

use super::claims::{StoredClaims, TenantsDiffer};
use super::{Claims, Jwks, JwtError, TokenRules, Verifier};
use crate::clock::Timestamp;
use crate::credentials::{Limits, Scratch};
use crate::tape::Parser;

fn vectors() -> Value {
    serde_json::from_str(include_str!("../../../tests/vectors/alfred-vectors.json")).unwrap()
}

/// 2025-05-13T14:31:00Z, the clock of all vectors.
const NOW: Timestamp = Timestamp::from_secs(1_747_146_660);

fn rules(iat_required: bool) -> TokenRules {
    TokenRules {
        issuer: Some("alfred-auth.example.com".into()),
        audience: Some("alfred-platform-api".into()),
        leeway_s: 60,
        lifetime_s_max: 3600,
        iat_required,
    }
}

fn verifier(iat_required: bool) -> Verifier {
    Verifier::new(Jwks::from_value(&vectors()["jwks"]).unwrap(), rules(iat_required))
}

fn token(name: &str) -> String {
    let vectors = vectors();
    let vector = vectors["jwt"].as_array().unwrap().iter().find(|vector| vector["name"] == name).unwrap();
    vector["token"].as_str().unwrap().to_owned()
}

/// Every vector, twice, so that the second time comes from the cache; with the error that it must have.
#[test]
fn the_vectors() {
    let expected = |name: &str, strict: bool| match name {
        "valid-rs256" | "expired-within-leeway" | "aud-array" => Ok(()),
        "lifetime-too-long" | "iat-future" if !strict => Ok(()),
        "expired" => Err(JwtError::Expired),
        "wrong-key" => Err(JwtError::Signature),
        "unknown-kid" => Err(JwtError::Key),
        "alg-none" | "alg-hs256-with-public-key" => Err(JwtError::Algorithm),
        "two-parts" | "page-example-literal" | "crit-header" => Err(JwtError::Malformed),
        _ => Err(JwtError::Claims),
    };
    let vectors = vectors();
    let vectors = vectors["jwt"].as_array().unwrap();
    assert_eq!(vectors.len(), 17);
    for strict in [true, false] {
        let (verifier, mut scratch) = (verifier(strict), Scratch::default());
        for vector in vectors.iter().chain(vectors) {
            let name = vector["name"].as_str().unwrap();
            assert_eq!(vector["now"], "2025-05-13T14:31:00Z");
            let outcome = verifier.verify(vector["token"].as_str().unwrap(), NOW, &mut scratch).map(drop);
            assert_eq!(outcome, expected(name, strict), "{name} strict {strict}");
            assert!(!strict || outcome.is_ok() == vector["valid"].as_bool().unwrap(), "{name}");
        }
    }
}

#[test]
fn times_are_looked_at_again_for_every_record() {
    let (verifier, mut scratch) = (verifier(true), Scratch::default());
    let token = token("valid-rs256");
    // Issued at 1747146000, expires at 1747149600, leeway 60.
    for (now, expected) in [
        (1_747_145_939, Err(JwtError::Claims)),
        (1_747_145_940, Ok(())),
        (1_747_149_659, Ok(())),
        (1_747_149_660, Err(JwtError::Expired)),
        (1_747_146_660, Ok(())),
    ] {
        assert_eq!(
            verifier.verify(&token, Timestamp::from_secs(now), &mut scratch).map(drop),
            expected,
            "{now}"
        );
    }
}

#[test]
fn a_token_remembered_by_one_verifier_means_nothing_to_another() {
    let mut scratch = Scratch::new(Limits { keys_max: 1, tokens_max: 1 });
    let token = token("valid-rs256");
    assert!(verifier(true).verify(&token, NOW, &mut scratch).is_ok());
    let other = TokenRules { audience: Some("another".into()), ..rules(true) };
    let other = Verifier::new(Jwks::from_value(&vectors()["jwks"]).unwrap(), other);
    assert_eq!(other.verify(&token, NOW, &mut scratch).map(drop), Err(JwtError::Claims));
    let mut keys = vectors()["jwks"].clone();
    keys["keys"][0]["kid"] = "rotated".into();
    let rotated = Verifier::new(Jwks::from_value(&keys).unwrap(), rules(true));
    assert_eq!(rotated.verify(&token, NOW, &mut scratch).map(drop), Err(JwtError::Key));
}

/// Whatever is changed in a token that verifies, it no longer does, also while the original is remembered.
#[test]
fn every_changed_byte_is_noticed() {
    let (verifier, mut scratch) = (verifier(true), Scratch::default());
    let token = token("valid-rs256");
    assert!(verifier.verify(&token, NOW, &mut scratch).is_ok());
    for at in (0..token.len()).step_by(7).chain([token.len() - 1]) {
        for replacement in [b'A', b'z', b'.', b'=', b'+', b' '] {
            let mut changed = token.clone().into_bytes();
            if changed[at] == replacement {
                continue;
            }
            changed[at] = replacement;
            let changed = String::from_utf8(changed).unwrap();
            assert!(verifier.verify(&changed, NOW, &mut scratch).is_err(), "{at} {replacement}");
        }
    }
}

fn unsigned(header: &str, claims: &str) -> String {
    format!("{}.{}.c2ln", BASE64URL.encode(header), BASE64URL.encode(claims))
}

#[test]
fn defects_come_in_their_order() {
    let (verifier, mut scratch) = (verifier(true), Scratch::default());
    let mut error = |token: &str| verifier.verify(token, NOW, &mut scratch).map(drop).unwrap_err();
    let header = r#"{"alg":"RS256","kid":"test-2025-05"}"#;
    assert_eq!(error(&unsigned(header, "{}")), JwtError::Signature);
    for (header, expected) in [
        (r#"{"alg":"RS256","alg":"RS256","kid":"test-2025-05"}"#, JwtError::Malformed),
        (r#"{"alg":"RS256","a\u006cg":"none"}"#, JwtError::Malformed),
        (r#"{"alg":"RS256","x":{"y":1,"y":2}}"#, JwtError::Malformed),
        (r#"["RS256"]"#, JwtError::Malformed),
        (r#"{"alg":"RS256",}"#, JwtError::Malformed),
        ("", JwtError::Malformed),
        (r#"{"kid":"test-2025-05"}"#, JwtError::Algorithm),
        (r#"{"alg":["RS256"],"kid":"test-2025-05"}"#, JwtError::Algorithm),
        (r#"{"alg":"rs256","kid":"test-2025-05"}"#, JwtError::Algorithm),
        (r#"{"alg":"NoNe","kid":"test-2025-05","crit":[]}"#, JwtError::Algorithm),
        (r#"{"alg":"RS256","kid":"nobody","crit":["b64"]}"#, JwtError::Malformed),
        (r#"{"alg":"RS256","crit":null}"#, JwtError::Malformed),
        (r#"{"alg":"RS256"}"#, JwtError::Key),
        (r#"{"alg":"RS256","kid":7}"#, JwtError::Key),
        (r#"{"alg":"RS256","kid":""}"#, JwtError::Key),
        (r#"{"alg":"RS256","kid":"test-2025-05 "}"#, JwtError::Key),
    ] {
        assert_eq!(error(&unsigned(header, "{}")), expected, "{header}");
    }
    for claims in [r#"{"sub":"a","sub":"b"}"#, "[]", "null", "", r#"{"aud":{"a":1,"a":1}}"#, &"[".repeat(100)]
    {
        assert_eq!(error(&unsigned(header, claims)), JwtError::Malformed, "{claims}");
    }
    let good = unsigned(header, "{}");
    let (head, rest) = good.split_once('.').unwrap();
    for broken in [
        String::new(),
        ".".to_owned(),
        "..".to_owned(),
        format!("Bearer {good}"),
        format!("{good}."),
        format!("{good}="),
        format!("{head}=.{rest}"),
        format!("{good}\n"),
        good.replace("c2ln", "c2l"),
        good.replace("c2ln", "c2lnA"),
        // `c2k` ends in two zero bits, `c2l` in a set one.
        format!("{head}.{}", rest.replace("c2ln", "c2+n")),
        format!("{head}.{}", rest.replace("c2ln", "é")),
    ] {
        assert_eq!(error(&broken), JwtError::Malformed, "{broken}");
    }
}

fn with_claims<R>(claims: &Value, rules: &TokenRules, then: impl FnOnce(&StoredClaims) -> R) -> R {
    let claims = claims.to_string();
    Parser::new(64).parse(claims.as_bytes(), |tape| then(&StoredClaims::read(tape.unwrap(), rules)))
}

#[test]
fn claims_are_checked_by_type_and_value() {
    let good = json!({"iss":"alfred-auth.example.com","aud":"alfred-platform-api","sub":"a","iat":1_747_146_000,"exp":1_747_149_600});
    for (name, value, expected) in [
        ("exp", json!(1_747_149_600.5), Err(JwtError::Claims)),
        ("exp", json!(1_747_149_599.5), Ok(())),
        ("exp", json!(true), Err(JwtError::Claims)),
        ("exp", json!(null), Err(JwtError::Claims)),
        ("exp", json!(-1), Err(JwtError::Expired)),
        ("exp", json!(u64::MAX), Err(JwtError::Claims)),
        ("exp", json!(1e300), Err(JwtError::Claims)),
        ("exp", json!(-1e300), Err(JwtError::Expired)),
        ("nbf", json!(1_747_146_720), Ok(())),
        ("nbf", json!(1_747_146_721), Err(JwtError::Claims)),
        ("nbf", json!("1747146720"), Err(JwtError::Claims)),
        ("nbf", json!(null), Err(JwtError::Claims)),
        ("iat", json!(null), Err(JwtError::Claims)),
        ("iat", json!("1747146000"), Err(JwtError::Claims)),
        ("iat", json!(i64::MIN), Err(JwtError::Claims)),
        ("iss", json!("alfred-auth.example.com "), Err(JwtError::Claims)),
        ("iss", json!(["alfred-auth.example.com"]), Err(JwtError::Claims)),
        ("aud", json!(["x", "alfred-platform-api"]), Ok(())),
        ("aud", json!([["alfred-platform-api"]]), Err(JwtError::Claims)),
        ("aud", json!([]), Err(JwtError::Claims)),
        ("aud", json!({"alfred-platform-api": "alfred-platform-api"}), Err(JwtError::Claims)),
        ("aud", json!(1), Err(JwtError::Claims)),
    ] {
        let mut claims = good.clone();
        claims[name] = value.clone();
        let outcome = with_claims(&claims, &rules(true), |claims| claims.check(&rules(true), NOW));
        assert_eq!(outcome, expected, "{name} {value}");
    }
    // A number beyond all doubles is no time, also where lifetimes are not limited.
    let text = r#"{"iss":"alfred-auth.example.com","aud":"alfred-platform-api","exp":1e400}"#;
    let outcome = Parser::new(64).parse(text.as_bytes(), |tape| {
        StoredClaims::read(tape.unwrap(), &rules(false)).check(&rules(false), NOW)
    });
    assert_eq!(outcome, Err(JwtError::Claims));
    // Without a demand on `iat` none is made; without an issuer or audience to compare with, any is fine.
    let open = TokenRules { issuer: None, audience: None, ..rules(false) };
    let outcome =
        with_claims(&json!({"exp": 1_747_149_600, "iat": "x"}), &open, |claims| claims.check(&open, NOW));
    assert_eq!(outcome, Ok(()));
}

#[test]
fn subject_tenant_and_rights() {
    let read = |claims: Value, then: fn(Claims<'_>)| {
        with_claims(&claims, &rules(true), |claims| then(Claims(claims)));
    };
    read(json!({"sub":"s","agent_id":"a","tenant_id":"t","tenant":"t","role":"admin"}), |claims| {
        assert_eq!((claims.subject(), claims.tenant(), claims.is_admin()), (Some("s"), Ok(Some("t")), true));
    });
    read(json!({"agent_id":"a","tenant":"t","role":"not-admin"}), |claims| {
        assert_eq!((claims.subject(), claims.tenant(), claims.is_admin()), (Some("a"), Ok(Some("t")), false));
    });
    read(json!({"sub":1,"tenant_id":null}), |claims| {
        assert_eq!((claims.subject(), claims.tenant()), (None, Ok(None)));
    });
    read(json!({"sub":1,"agent_id":"a","tenant_id":["t"],"tenant":"t"}), |claims| {
        assert_eq!((claims.subject(), claims.tenant()), (None, Err(TenantsDiffer)));
    });
    read(json!({"sub":null,"agent_id":"a","tenant_id":null,"tenant":"t"}), |claims| {
        assert_eq!((claims.subject(), claims.tenant()), (Some("a"), Ok(Some("t"))));
    });
    read(json!({"tenant_id":"t","tenant":"u"}), |claims| assert_eq!(claims.tenant(), Err(TenantsDiffer)));
    read(
        json!({"permissions":["write:tasks:a",7,["write:control"],""],"scope":"read  write:events"}),
        |claims| {
            assert!(claims.has_right(&["write:tasks:", "a"]) && claims.has_right(&["write:tasks", ":a"]));
            assert!(claims.has_right(&["write:events"]) && claims.has_right(&["read"]));
            for absent in [
                "write:tasks",
                "write:tasks:ab",
                "write:tasks:",
                "write:control",
                "7",
                "write",
                "read write:events",
            ] {
                assert!(!claims.has_right(&[absent]), "{absent}");
            }
        },
    );
}

#[test]
fn a_jwks_is_read_with_good_errors() {
    let good = vectors()["jwks"]["keys"][0].clone();
    let with = |name: &str, value: Value| {
        let mut key = good.clone();
        key[name] = value;
        json!({ "keys": [key] })
    };
    let error = |document: &Value| Jwks::from_value(document).unwrap_err().to_string();
    assert_eq!(error(&json!([])), "found no array `keys`, allowed: {\"keys\": [...]}");
    for unusable in [
        with("kty", "EC".into()),
        with("use", "enc".into()),
        with("alg", "RS512".into()),
        json!({"keys": []}),
    ] {
        assert!(error(&unusable).starts_with("found no RSA key for RS256"), "{unusable}");
    }
    assert_eq!(error(&with("kid", Value::Null)), "/keys/0/kid: found no text, allowed: a text");
    assert_eq!(error(&with("n", "AQAB".into())), "/keys/0/n: found 24 bits, allowed: 2048 to 8192 bits");
    assert!(error(&with("n", "AQ=B".into())).starts_with("/keys/0/n: found Invalid"));
    assert!(error(&with("e", "AA".into())).starts_with("/keys/0/e: found an exponent"));
    assert_eq!(
        error(&json!({"keys": [good, good]})),
        "/keys/1/kid: found `test-2025-05` a second time, allowed: a `kid` of its own"
    );
    assert!(Jwks::from_json(b"{").unwrap_err().to_string().starts_with("not JSON"));
    // Leading zeros of the modulus do not matter.
    let modulus = BASE64URL.decode(good["n"].as_str().unwrap()).unwrap();
    let padded = BASE64URL.encode([vec![0], modulus].concat());
    let verifier = Verifier::new(Jwks::from_value(&with("n", padded.into())).unwrap(), rules(true));
    assert!(verifier.verify(&token("valid-rs256"), NOW, &mut Scratch::default()).is_ok());
}
