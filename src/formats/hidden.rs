//! Which values must not be shown or passed on: what a format says of its members, and what looks like a credential.
//!
//! Explanations, reports, the live page and redacted rejects all ask here, so none of them can know less than another.

use super::Compiled;

/// LIMIT: characters of a name that are looked at.
const NAME_CHARS_MAX: usize = 160;
/// Parts of names under which credentials stand.
const NAME_PARTS: [&str; 11] = [
    "token",
    "secret",
    "password",
    "passwd",
    "signature",
    "credential",
    "authorization",
    "api_key",
    "apikey",
    "private",
    "cookie",
];
/// Whole names under which they stand.
const NAMES: [&str; 3] = ["proof", "key", "sig"];
/// How tokens and keys begin.
const BEGINNINGS: [&str; 8] = ["eyJ", "Bearer ", "Basic ", "-----BEGIN", "sk-", "ghp_", "AKIA", "xox"];

/// What stands in place of a value.
pub const HIDDEN: &str = "(hidden)";

/// Whether the value at a pointer must not be shown: a format hides it, or its own name sounds like a credential's.
/// `is_container` says that it is an object or an array.
#[must_use]
pub fn hides(format: Option<&Compiled>, pointer: &str, name: &str, is_container: bool) -> bool {
    sounds_secret(name)
        || format
            .is_some_and(|format| format.hides(pointer) || (!is_container && format.hides_within(pointer)))
}

/// Whether a credential may stand under this name.
fn sounds_secret(name: &str) -> bool {
    let name: String = name.chars().take(NAME_CHARS_MAX).collect::<String>().to_lowercase();
    NAME_PARTS.iter().any(|part| name.contains(part)) || NAMES.contains(&name.as_str())
}

/// Tokens and keys by their looks, wherever they stand.
#[must_use]
pub fn looks_secret(text: &str) -> bool {
    BEGINNINGS.iter().any(|beginning| text.starts_with(beginning))
}
