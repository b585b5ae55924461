//! Tokens for SASL/OAUTHBEARER: from a file that something else renews, or from a command that prints one.
//!
//! librdkafka asks for a new token when four fifths of the old one's life are over, on a thread of its own. A token is
//! passed on, not verified: that is the broker's part. Only its end and its subject are looked at. Never shown.

use std::io::Read as _;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;

use super::raw::context::Token;
use crate::clock;
use crate::config::Kafka;

/// How long a command may take.
const COMMAND_WAIT: Duration = Duration::from_secs(30);
const COMMAND_CHECK: Duration = Duration::from_millis(20);
/// How long a token is used that does not say when it ends.
const LIFETIME_MS: i64 = 300_000;
/// LIMIT: bytes of a token.
const TOKEN_BYTES_MAX: u64 = 1 << 20;

/// Where tokens come from.
pub(super) enum Tokens {
    /// This file, read anew each time.
    File(String),
    /// This command's standard output.
    Command(Vec<String>),
}

impl Tokens {
    /// The configuration's source of tokens, if it has one.
    pub(super) fn from_config(kafka: &Kafka) -> Option<Self> {
        if !kafka.sasl_token_file.is_empty() {
            return Some(Self::File(kafka.sasl_token_file.clone()));
        }
        (!kafka.sasl_token_command.is_empty()).then(|| Self::Command(kafka.sasl_token_command.clone()))
    }

    /// A token that is good now; the error has no part of it.
    pub(super) fn next(&self) -> Result<Token, String> {
        let text = match self {
            Self::File(file) => std::fs::read_to_string(file)
                .map_err(|error| format!("`kafka.sasl_token_file`: {file}: {error}"))?,
            Self::Command(words) => {
                run(words).map_err(|error| format!("`kafka.sasl_token_command`: {error}"))?
            }
        };
        let text = text.trim();
        if text.is_empty() {
            return Err("the token is empty".to_owned());
        }
        Ok(token(text, clock::wall().micros() / 1000))
    }
}

/// A token with its end and subject, where it is a JWT that says them.
fn token(text: &str, now_ms: i64) -> Token {
    let claims = text.split('.').nth(1).and_then(|part| URL_SAFE_NO_PAD.decode(part).ok());
    let claims = claims.and_then(|bytes| serde_json::from_slice::<serde_json::Value>(&bytes).ok());
    let claim = |name: &str| claims.as_ref().and_then(|claims| claims.get(name));
    let ends_ms = claim("exp").and_then(serde_json::Value::as_f64).map(|seconds| (seconds * 1000.0) as i64);
    Token {
        value: text.to_owned(),
        lifetime_ms: ends_ms.unwrap_or(now_ms + LIFETIME_MS),
        principal: claim("sub").and_then(serde_json::Value::as_str).unwrap_or("tollgate").to_owned(),
    }
}

/// Runs a command, at most for a while; its error output goes where ours goes.
fn run(words: &[String]) -> Result<String, String> {
    let (program, rest) = words.split_first().ok_or("it has no words")?;
    let mut child = Command::new(program)
        .args(rest)
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .spawn()
        .map_err(|error| format!("{program}: {error}"))?;
    let mut stdout = child.stdout.take().ok_or("it has no output")?;
    let reader = std::thread::spawn(move || {
        let mut text = String::new();
        stdout.by_ref().take(TOKEN_BYTES_MAX).read_to_string(&mut text).map(|_| text)
    });
    let started = Instant::now();
    let status = loop {
        match child.try_wait().map_err(|error| error.to_string())? {
            Some(status) => break status,
            None if started.elapsed() > COMMAND_WAIT => {
                let _ = child.kill();
                let _ = child.wait();
                return Err(format!("{program} did not end within {} s", COMMAND_WAIT.as_secs()));
            }
            None => std::thread::sleep(COMMAND_CHECK),
        }
    };
    if !status.success() {
        return Err(format!("{program} failed: {status}"));
    }
    let text = reader.join().map_err(|_| "its output could not be read")?;
    text.map_err(|error| format!("{program}: {error}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_token_says_its_end_and_subject_or_gets_some() {
        let claims = URL_SAFE_NO_PAD.encode(br#"{"sub":"alice","exp":1700000000.5}"#);
        let jwt = token(&format!("x.{claims}."), 0);
        assert_eq!((jwt.lifetime_ms, jwt.principal.as_str()), (1_700_000_000_500, "alice"));
        let opaque = token("no-jwt", 1000);
        assert_eq!((opaque.lifetime_ms, opaque.principal.as_str()), (1000 + LIFETIME_MS, "tollgate"));
    }

    #[test]
    fn commands_print_tokens_or_say_why_not() {
        let words = |words: &[&str]| Tokens::Command(words.iter().map(|word| (*word).to_owned()).collect());
        assert_eq!(words(&["echo", "secret"]).next().map(|token| token.value), Ok("secret".to_owned()));
        let error = words(&["sh", "-c", "echo secret; exit 3"]).next().err().unwrap();
        assert!(
            error.contains("`kafka.sasl_token_command`: sh failed") && !error.contains("secret"),
            "{error}"
        );
        assert!(words(&["/no/such/program"]).next().is_err());
        assert!(words(&["true"]).next().is_err(), "an empty token is none");
        assert!(Tokens::File("/no/such/file".into()).next().err().unwrap().contains("/no/such/file"));
    }
}
