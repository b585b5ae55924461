//! A JWKS: public RSA keys by their `kid`.

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD as BASE64URL;
use ring::signature::{RSA_PKCS1_2048_8192_SHA256, RsaPublicKeyComponents};
use serde_json::Value;

/// Moduli that ring accepts, in bytes.
const MODULUS_BYTES: std::ops::RangeInclusive<usize> = 256..=1024;
/// Public keys for RS256.
#[derive(Debug, Default)]
pub struct Jwks {
    keys: Vec<Key>,
}

#[derive(Debug)]
struct Key {
    id: Box<str>,
    modulus: Box<[u8]>,
    exponent: Box<[u8]>,
}

/// Why a JWKS cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum JwksError {
    /// Not JSON.
    #[error("not JSON: {0}")]
    Syntax(#[from] serde_json::Error),
    /// No array `keys`.
    #[error("found no array `keys`, allowed: {{\"keys\": [...]}}")]
    NoKeys,
    /// A key that is not as it must be.
    #[error("/keys/{number}{member}: found {found}, allowed: {allowed}")]
    Key {
        /// Its place.
        number: usize,
        /// The member, as the end of a pointer.
        member: &'static str,
        /// What is there.
        found: String,
        /// What should be.
        allowed: &'static str,
    },
    /// Nothing in it can verify RS256.
    #[error("found no RSA key for RS256 among {0} keys, allowed: at least one with `kty` RSA and a `kid`")]
    NoUsableKey(usize),
    /// Too many keys.
    #[error("found {0} keys, allowed: at most {max}", max = Jwks::KEYS_MAX)]
    TooMany(usize),
}

impl Jwks {
    /// LIMIT: more keys than this are no rotation.
    pub const KEYS_MAX: usize = 64;

    /// Reads a JWKS. Keys of other types, for other uses or other algorithms are left out.
    pub fn from_json(json: &[u8]) -> Result<Self, JwksError> {
        let document: Value = serde_json::from_slice(json)?;
        Self::from_value(&document)
    }

    /// As [`Self::from_json`], from JSON that was read already.
    pub fn from_value(document: &Value) -> Result<Self, JwksError> {
        let entries = document.get("keys").and_then(Value::as_array).ok_or(JwksError::NoKeys)?;
        if entries.len() > Self::KEYS_MAX {
            return Err(JwksError::TooMany(entries.len()));
        }
        let mut keys: Vec<Key> = Vec::new();
        for (number, entry) in entries.iter().enumerate() {
            let is = |name: &str, wanted: &str| entry.get(name).is_none_or(|value| value == wanted);
            if entry.get("kty").is_none_or(|value| value != "RSA") || !is("use", "sig") || !is("alg", "RS256")
            {
                continue;
            }
            let key = Key::read(number, entry)?;
            if keys.iter().any(|other| other.id == key.id) {
                let found = format!("`{}` a second time", key.id);
                return Err(JwksError::Key { number, member: "/kid", found, allowed: "a `kid` of its own" });
            }
            keys.push(key);
        }
        if keys.is_empty() { Err(JwksError::NoUsableKey(entries.len())) } else { Ok(Self { keys }) }
    }

    /// The number of the key with this `kid`.
    pub(super) fn position(&self, id: &str) -> Option<usize> {
        self.keys.iter().position(|key| *key.id == *id)
    }

    /// Whether `signature` over `signed` is the key's.
    pub(super) fn verifies(&self, key: usize, signed: &[u8], signature: &[u8]) -> bool {
        self.keys.get(key).is_some_and(|key| {
            let key = RsaPublicKeyComponents { n: &key.modulus, e: &key.exponent };
            key.verify(&RSA_PKCS1_2048_8192_SHA256, signed, signature).is_ok()
        })
    }
}

impl Key {
    fn read(number: usize, entry: &Value) -> Result<Self, JwksError> {
        let wrong = |member, found: String, allowed| JwksError::Key { number, member, found, allowed };
        let text = |member: &'static str| {
            let value = entry.get(member.trim_start_matches('/'));
            let absent =
                || wrong(member, if value.is_some() { "no text" } else { "nothing" }.to_owned(), "a text");
            value.and_then(Value::as_str).ok_or_else(absent)
        };
        let bytes = |member: &'static str| {
            let decoded = BASE64URL.decode(text(member)?);
            let decoded =
                decoded.map_err(|error| wrong(member, error.to_string(), "Base64url without padding"))?;
            // ring wants numbers without leading zeros; some libraries write them.
            let start = decoded.iter().position(|byte| *byte != 0).unwrap_or(decoded.len());
            Ok::<Box<[u8]>, JwksError>(decoded.get(start..).unwrap_or_default().into())
        };
        let (modulus, exponent) = (bytes("/n")?, bytes("/e")?);
        if !MODULUS_BYTES.contains(&modulus.len()) {
            return Err(wrong("/n", format!("{} bits", modulus.len() * 8), "2048 to 8192 bits"));
        }
        if exponent.is_empty() || exponent.len() > 4 || exponent.last().is_some_and(|last| last % 2 == 0) {
            return Err(wrong(
                "/e",
                "an exponent that is even or too long".to_owned(),
                "an odd number of at most 32 bits",
            ));
        }
        Ok(Self { id: text("/kid")?.into(), modulus, exponent })
    }
}
