//! The keys of a stream, its tokens, and its signatures.
//!
//! Keys come from the seed unless they are given, so that a seed gives one stream. Nobody should use them, nor the
//! public key pair for tokens that stands beside this file (which says why), for anything but load. Signatures are made here from what the
//! formats' documents say, not by the code that verifies them.

use base64::Engine as _;
use base64::engine::general_purpose::{STANDARD, URL_SAFE_NO_PAD};
use ring::signature::KeyPair as _;
use ring::{hkdf, hmac, rand, signature};
use serde_json::{Value, json};

use super::places::write_hex;
use super::scripts::Sign;
use super::scripts::alfred::{AGENTS, Token};
use super::scripts::olympus::PERSONAS;

/// Sessions of Olympus.
pub(super) const SESSIONS: usize = 8;
/// Tenants of Alfred.
pub(super) const TENANTS: usize = 4;
/// The issuer and the audience of tokens.
pub(super) const ISSUER: &str = "alfred-auth.example.com";
pub(super) const AUDIENCE: &str = "alfred-platform-api";
/// LIMIT: how long the tokens of a stream are good.
pub(super) const TOKEN_S: i64 = 3_500;
const KEY_ID: &str = "tollgate-load";

/// The key that tokens are signed with: public on purpose, as its file says.
const TEST_KEY: &str = include_str!("public-test-key.hex");

/// What secrets a stream is signed with.
#[derive(Clone, Debug)]
pub struct Secrets {
    /// Secret of each session (scheme v1); texts.
    pub(super) sessions: Vec<(String, String)>,
    /// Master key of Olympus (scheme v2).
    pub(super) olympus: [u8; 32],
    /// Master key of Alfred.
    pub(super) alfred: [u8; 32],
}

impl Secrets {
    /// Secrets that follow from the seed.
    #[must_use]
    pub fn of(seed: u64) -> Self {
        let root = hmac::Key::new(hmac::HMAC_SHA256, &seed.to_be_bytes());
        let draw = |what: &str| -> [u8; 32] {
            let tag = hmac::sign(&root, what.as_bytes());
            <[u8; 32]>::try_from(tag.as_ref()).unwrap_or_default()
        };
        let text = |what: &str| {
            let mut text = Vec::new();
            write_hex(&draw(what), &mut text);
            String::from_utf8(text).unwrap_or_default()
        };
        Self {
            sessions: (0..SESSIONS)
                .map(|number| (format!("session-{number}"), text(&format!("session {number}"))))
                .collect(),
            olympus: draw("olympus"),
            alfred: draw("alfred"),
        }
    }

    /// The master key of Olympus.
    #[must_use]
    pub fn olympus_master(&self) -> &[u8; 32] {
        &self.olympus
    }

    /// Other master keys, where they are given.
    #[must_use]
    pub fn with_masters(self, olympus: Option<[u8; 32]>, alfred: Option<[u8; 32]>) -> Self {
        Self { olympus: olympus.unwrap_or(self.olympus), alfred: alfred.unwrap_or(self.alfred), ..self }
    }
}

/// Secrets made ready for signing.
pub(super) struct KeyChain {
    pub(super) sessions: Vec<String>,
    pub(super) tenants: Vec<String>,
    /// By tenant, in the order of [`Token`].
    pub(super) tokens: Vec<Vec<String>>,
    /// By session and persona.
    olympus_v1: Vec<hmac::Key>,
    olympus_v2: Vec<hmac::Key>,
    /// By tenant and agent.
    alfred: Vec<hmac::Key>,
    wrong: hmac::Key,
}

/// Who signs, and in which way.
#[derive(Clone, Copy, Debug)]
pub(super) struct Signer {
    pub(super) sign: Sign,
    /// Scheme v2 of Olympus.
    pub(super) v2: bool,
    pub(super) wrong_key: bool,
    /// Session or tenant.
    pub(super) group: usize,
    /// Persona or agent.
    pub(super) who: usize,
}

impl KeyChain {
    /// Derives all keys; `now` is the time that tokens begin at, in seconds, if any are needed.
    pub(super) fn new(secrets: &Secrets, now: Option<i64>) -> Self {
        let tenants: Vec<_> = (0..TENANTS).map(|number| format!("tenant-{number}")).collect();
        let mut chain = Self {
            sessions: secrets.sessions.iter().map(|(session, _)| session.clone()).collect(),
            tokens: Vec::new(),
            olympus_v1: Vec::new(),
            olympus_v2: Vec::new(),
            alfred: Vec::new(),
            wrong: hmac::Key::new(hmac::HMAC_SHA256, b"a key that nobody knows"),
            tenants,
        };
        for (session, secret) in &secrets.sessions {
            let of_session = hmac::Key::new(hmac::HMAC_SHA256, secret.as_bytes());
            for persona in PERSONAS {
                let key = hmac::sign(&of_session, persona.as_bytes());
                chain.olympus_v1.push(hmac::Key::new(hmac::HMAC_SHA256, key.as_ref()));
                let info: [&[u8]; 2] = [b"olympus-envelope/1.0/mac/", persona.as_bytes()];
                chain.olympus_v2.push(derived(&secrets.olympus, session.as_bytes(), &info));
            }
        }
        for tenant in &chain.tenants {
            for (agent, service, ..) in AGENTS {
                let info: [&[u8]; 4] = [b"a2a-envelope/2/mac/", agent.as_bytes(), &[0], service.as_bytes()];
                chain.alfred.push(derived(&secrets.alfred, tenant.as_bytes(), &info));
            }
        }
        if let Some(now) = now {
            let minter = Minter::new();
            chain.tokens = chain.tenants.iter().map(|tenant| minter.tokens(tenant, now)).collect();
        }
        chain
    }

    /// Appends the signature of some bytes, as text.
    pub(super) fn sign(&self, signer: Signer, pieces: [&[u8]; 2], out: &mut Vec<u8>) {
        let (keys, in_group) = match signer.sign {
            Sign::No => return,
            Sign::Olympus if signer.v2 => (&self.olympus_v2, PERSONAS.len()),
            Sign::Olympus => (&self.olympus_v1, PERSONAS.len()),
            Sign::Alfred => (&self.alfred, AGENTS.len()),
        };
        let own = keys.get(signer.group * in_group + signer.who).filter(|_| !signer.wrong_key);
        let mut context = hmac::Context::with_key(own.unwrap_or(&self.wrong));
        for piece in pieces {
            context.update(piece);
        }
        let tag = context.sign();
        if signer.sign == Sign::Alfred {
            out.extend_from_slice(STANDARD.encode(tag.as_ref()).as_bytes());
            return;
        }
        if signer.v2 {
            out.extend_from_slice(b"v2:");
        }
        write_hex(tag.as_ref(), out);
    }
}

struct Length;

impl hkdf::KeyType for Length {
    fn len(&self) -> usize {
        32
    }
}

fn derived(master: &[u8], salt: &[u8], info: &[&[u8]]) -> hmac::Key {
    let mut key = [0; 32];
    let secret = hkdf::Salt::new(hkdf::HKDF_SHA256, salt).extract(master);
    if secret.expand(info, Length).and_then(|made| made.fill(&mut key)).is_err() {
        unreachable!("32 bytes are within what HKDF gives");
    }
    hmac::Key::new(hmac::HMAC_SHA256, &key)
}

/// Makes tokens.
struct Minter {
    key: signature::RsaKeyPair,
}

impl Minter {
    fn new() -> Self {
        let digits = TEST_KEY.lines().filter(|line| !line.starts_with('#')).flat_map(str::chars);
        let digits: Vec<u32> = digits.filter_map(|digit| digit.to_digit(16)).collect();
        let der: Vec<u8> = digits
            .chunks_exact(2)
            .map(|pair| pair.iter().fold(0, |byte, digit| byte << 4 | *digit as u8))
            .collect();
        let key = signature::RsaKeyPair::from_pkcs8(&der).ok();
        let Some(key) = key else { unreachable!("the test key is an RSA key, which a test holds") };
        Self { key }
    }

    fn tokens(&self, tenant: &str, now: i64) -> Vec<String> {
        let [(agent, ..), (other, ..), _] = AGENTS;
        let claims = |subject: &str| {
            json!({
                "iss": ISSUER, "aud": AUDIENCE, "sub": subject, "tenant_id": tenant,
                "iat": now - 60, "exp": now - 60 + TOKEN_S, "permissions": ["write:tasks", "write:events"],
            })
        };
        let header = json!({"alg": "RS256", "typ": "JWT", "kid": KEY_ID});
        let with = |name: &str, value: Value| {
            let mut claims = claims(agent);
            if let Some(claims) = claims.as_object_mut() {
                claims.insert(name.to_owned(), value);
            }
            self.token(&header, &claims)
        };
        let token = |token| match token {
            Token::Good => self.token(&header, &claims(agent)),
            Token::OfTheOther => self.token(&header, &claims(other)),
            Token::Malformed => format!("Bearer {}", self.token(&header, &claims(agent))),
            Token::Unsigned => self.token(&json!({"alg": "none", "kid": KEY_ID}), &claims(agent)),
            Token::UnknownKey => self.token(&json!({"alg": "RS256", "kid": "unknown"}), &claims(agent)),
            Token::BadSignature => {
                let good = self.token(&header, &claims(agent));
                let (signed, _) = good.rsplit_once('.').unwrap_or_default();
                format!("{signed}.{}", URL_SAFE_NO_PAD.encode([7; 256]))
            }
            Token::Expired => {
                let mut claims = claims(agent);
                if let Some(claims) = claims.as_object_mut() {
                    claims.insert("iat".into(), (now - 9_000).into());
                    claims.insert("exp".into(), (now - 6_000).into());
                }
                self.token(&header, &claims)
            }
            Token::WrongAudience => with("aud", "somebody-else".into()),
            Token::WrongSubject => with("sub", "somebody-else".into()),
            Token::WithoutRights => with("permissions", json!(["read:tasks"])),
            Token::WrongTenant => with("tenant_id", "another-tenant".into()),
        };
        Token::ALL.into_iter().map(token).collect()
    }

    fn token(&self, header: &Value, claims: &Value) -> String {
        let part = |value: &Value| URL_SAFE_NO_PAD.encode(value.to_string());
        let signed = format!("{}.{}", part(header), part(claims));
        let mut tag = vec![0; self.key.public().modulus_len()];
        let random = rand::SystemRandom::new();
        if self.key.sign(&signature::RSA_PKCS1_SHA256, &random, signed.as_bytes(), &mut tag).is_err() {
            unreachable!("the tag has the length of the modulus");
        }
        format!("{signed}.{}", URL_SAFE_NO_PAD.encode(tag))
    }
}

/// The public half of the test key, as a JWKS.
pub(super) fn public_keys() -> Value {
    let minter = Minter::new();
    let public: ring::rsa::PublicKeyComponents<Vec<u8>> = minter.key.public_key().into();
    json!({"keys": [{
        "kty": "RSA", "use": "sig", "alg": "RS256", "kid": KEY_ID,
        "n": URL_SAFE_NO_PAD.encode(public.n), "e": URL_SAFE_NO_PAD.encode(public.e),
    }]})
}
