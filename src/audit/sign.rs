//! The signature of a report: Ed25519 over the RFC 8785 form of the report without its member `signature`.
//!
//! Keys are PEM or DER files: a private key in PKCS #8, as `openssl genpkey -algorithm ed25519` writes it; a public key
//! as `openssl pkey -pubout` does. A report carries its public key, which proves nothing about who holds it: whoever
//! verifies names the key that they trust.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use ring::signature::{ED25519, Ed25519KeyPair, KeyPair as _, UnparsedPublicKey};
use serde::{Deserialize, Serialize};
use zeroize::Zeroizing;

use crate::credentials::canonical::{self, Buffers};
use crate::credentials::digest::{hex, sha256};
use crate::tape::{NodeIndex, Parser};

/// LIMIT: nesting of a report that is verified.
const DEPTH_MAX: usize = 32;
const PUBLIC_KEY_BYTES: usize = 32;
/// What stands before the 32 bytes of an Ed25519 key in the `SubjectPublicKeyInfo` of RFC 8410.
const SPKI_HEAD: [u8; 12] = [0x30, 0x2a, 0x30, 0x05, 0x06, 0x03, 0x2b, 0x65, 0x70, 0x03, 0x21, 0x00];

/// The signature of a report.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Signature {
    /// `Ed25519`.
    pub algorithm: String,
    /// The public key, base64.
    pub public_key: String,
    /// The signature, base64.
    pub value: String,
}

/// A key or signature that does not do.
#[derive(Debug, thiserror::Error, PartialEq, Eq)]
pub enum SignError {
    /// No key.
    #[error("found no Ed25519 key; allowed: a PKCS #8 private key or a public key, PEM or DER")]
    Key,
    /// A public key where a private one is needed.
    #[error("found a public key; signing needs the private one")]
    NotPrivate,
    /// The report is no JSON, or has no form that can be signed.
    #[error("the report cannot be brought into its signed form")]
    Form,
    /// The report is not signed.
    #[error("the report is not signed")]
    Unsigned,
    /// The signature is not of the expected form.
    #[error("the report's signature is not of its form")]
    SignatureForm,
    /// The report was signed with another key.
    #[error("the report was signed with another key: {0}")]
    OtherKey(String),
    /// The report was changed.
    #[error("the signature does not verify: the report is not as it was signed")]
    Wrong,
}

/// A key from a file.
pub enum Key {
    /// For signing.
    Private(Box<Ed25519KeyPair>),
    /// For verifying.
    Public([u8; PUBLIC_KEY_BYTES]),
}

impl Key {
    /// Reads a key.
    pub fn read(file: &[u8]) -> Result<Self, SignError> {
        let der = Zeroizing::new(from_pem(file).unwrap_or_else(|| file.to_vec()));
        if let Some(key) = der.strip_prefix(&SPKI_HEAD) {
            return key.try_into().map(Self::Public).map_err(|_| SignError::Key);
        }
        let pair = Ed25519KeyPair::from_pkcs8_maybe_unchecked(&der).map_err(|_| SignError::Key)?;
        Ok(Self::Private(Box::new(pair)))
    }

    fn public(&self) -> &[u8] {
        match self {
            Self::Private(pair) => pair.public_key().as_ref(),
            Self::Public(key) => key,
        }
    }

    /// Signs a report in JSON that carries no signature yet.
    pub fn sign(&self, report: &[u8]) -> Result<Signature, SignError> {
        let Self::Private(pair) = self else { return Err(SignError::NotPrivate) };
        Ok(Signature {
            algorithm: "Ed25519".to_owned(),
            public_key: STANDARD.encode(self.public()),
            value: STANDARD.encode(pair.sign(&signed_form(report)?)),
        })
    }
}

/// Verifies the signature of a report in JSON; gives the fingerprint of the key that made it.
pub fn verify(report: &[u8], signature: &Signature, trusted: Option<&Key>) -> Result<String, SignError> {
    let key = STANDARD.decode(&signature.public_key).map_err(|_| SignError::SignatureForm)?;
    let value = STANDARD.decode(&signature.value).map_err(|_| SignError::SignatureForm)?;
    if signature.algorithm != "Ed25519" || key.len() != PUBLIC_KEY_BYTES {
        return Err(SignError::SignatureForm);
    }
    if trusted.is_some_and(|trusted| trusted.public() != key) {
        return Err(SignError::OtherKey(fingerprint(&key)));
    }
    UnparsedPublicKey::new(&ED25519, &key)
        .verify(&signed_form(report)?, &value)
        .map_err(|_| SignError::Wrong)?;
    Ok(fingerprint(&key))
}

/// The first half of the key's SHA-256.
fn fingerprint(key: &[u8]) -> String {
    hex(sha256(&[key]).first_chunk::<16>().unwrap_or(&[0; 16]))
}

/// The bytes that are signed.
fn signed_form(report: &[u8]) -> Result<Vec<u8>, SignError> {
    Parser::new(DEPTH_MAX).parse(report, |tape| {
        let tape = tape.map_err(|_| SignError::Form)?;
        let signature = canonical::member(tape, NodeIndex(0), "signature");
        let mut buffers = Buffers::default();
        let form = canonical::jcs(tape, report, NodeIndex(0), signature, &mut buffers);
        form.map(|form| form.pieces().concat()).map_err(|_| SignError::Form)
    })
}

/// The bytes between the lines of a PEM file.
fn from_pem(file: &[u8]) -> Option<Vec<u8>> {
    let text = std::str::from_utf8(file).ok()?;
    let body = text.split_once("-----BEGIN ")?.1.split_once("-----")?.1.split_once("-----END")?.0;
    let body: Zeroizing<String> = Zeroizing::new(body.split_whitespace().collect());
    STANDARD.decode(body.as_bytes()).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pair() -> Key {
        let random = ring::rand::SystemRandom::new();
        Key::read(Ed25519KeyPair::generate_pkcs8(&random).unwrap().as_ref()).unwrap()
    }

    #[test]
    fn a_signed_report_verifies_in_any_spelling_and_not_when_it_changed() {
        let key = pair();
        let signature = key.sign(br#"{"b":1,"a":[1.5,"x"]}"#).unwrap();
        let with = |text: &str| text.replace("SIG", &serde_json::to_string(&signature).unwrap());
        for text in [
            r#"{"b":1,"a":[1.5,"x"],"signature":SIG}"#,
            "{ \"signature\" : SIG, \"a\":[15e-1,\"\\u0078\"],\n\"b\":1}",
        ] {
            assert!(verify(with(text).as_bytes(), &signature, Some(&key)).is_ok(), "{text}");
        }
        let changed = with(r#"{"b":2,"a":[1.5,"x"],"signature":SIG}"#);
        assert_eq!(verify(changed.as_bytes(), &signature, Some(&key)), Err(SignError::Wrong));
        let more = with(r#"{"b":1,"a":[1.5,"x"],"c":0,"signature":SIG}"#);
        assert_eq!(verify(more.as_bytes(), &signature, None), Err(SignError::Wrong));
        let untouched = with(r#"{"b":1,"a":[1.5,"x"],"signature":SIG}"#);
        let other = verify(untouched.as_bytes(), &signature, Some(&pair()));
        assert!(matches!(other, Err(SignError::OtherKey(_))), "{other:?}");
    }

    /// What stands before the 32 bytes of a private key in the PKCS #8 file that OpenSSL writes: version 1, no public key.
    const PKCS8_HEAD: [u8; 16] =
        [0x30, 0x2e, 0x02, 0x01, 0x00, 0x30, 0x05, 0x06, 0x03, 0x2b, 0x65, 0x70, 0x04, 0x22, 0x04, 0x20];

    fn pem(name: &str, head: &[u8], key: &[u8]) -> String {
        let body = STANDARD.encode([head, key].concat());
        format!("-----BEGIN {name} KEY-----\n{body}\n-----END {name} KEY-----\n")
    }

    #[test]
    fn keys_of_openssl_are_read() {
        let mut seed = [0; PUBLIC_KEY_BYTES];
        ring::rand::SecureRandom::fill(&ring::rand::SystemRandom::new(), &mut seed).unwrap();
        let pair = Ed25519KeyPair::from_seed_unchecked(&seed).unwrap();
        let private = Key::read(pem("PRIVATE", &PKCS8_HEAD, &seed).as_bytes()).unwrap();
        let public = Key::read(pem("PUBLIC", &SPKI_HEAD, pair.public_key().as_ref()).as_bytes()).unwrap();
        assert_eq!(private.public(), public.public());
        assert!(private.sign(b"{}").is_ok());
        assert_eq!(public.sign(b"{}"), Err(SignError::NotPrivate));
        assert!(matches!(Key::read(b"hunter2"), Err(SignError::Key)));
    }
}
