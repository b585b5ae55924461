//! Step 5p: text that looks like a secret.
//!
//! The rules are the reference's, false alarms included ("the bearer of this" counts), which is why the scan is off
//! unless a setting asks for it. White space and word characters are ASCII's. Everything is a walk over bytes with a
//! bounded look ahead; nothing is copied.

use std::sync::LazyLock;

use memchr::memmem::Finder;
use memchr::{memchr2, memchr2_iter};

use crate::formats::record::Record;
use crate::tape::{Node, NodeIndex, StaticNode};

/// The first object or array in a value that holds a secret, names of members included. Whoever reports it points at the
/// container, so that the secret itself is not shown.
pub(super) fn in_value(record: &Record<'_>, at: NodeIndex) -> Option<NodeIndex> {
    let in_item = |item: NodeIndex| {
        let secret = record.text_at(item).is_some_and(is_secret_text);
        if secret { Some(at) } else { in_value(record, item) }
    };
    let in_member = |(name, value): (&str, NodeIndex)| {
        let secret = is_secret_text(name) || (is_secret_name(name) && is_filled(record, value));
        if secret { Some(at) } else { in_item(value) }
    };
    record.members(at).find_map(in_member).or_else(|| record.items(at).find_map(in_item))
}

/// The same for the values of a proof or an extension, whose own member names are free.
pub(super) fn in_members(record: &Record<'_>, object: NodeIndex) -> Option<NodeIndex> {
    record.members(object).find_map(|(_, value)| {
        let secret = record.text_at(value).is_some_and(is_secret_text);
        if secret { Some(object) } else { in_value(record, value) }
    })
}

/// Whether a value can hold a secret at all: numbers and booleans can.
fn is_filled(record: &Record<'_>, at: NodeIndex) -> bool {
    match record.value(at) {
        Some(Node::String(text)) => !text.trim().is_empty(),
        Some(Node::Object { len, .. } | Node::Array { len, .. }) => len > 0,
        Some(Node::Static(value)) => value != StaticNode::Null,
        None => false,
    }
}

/// Names of members that carry secrets, in lower case and without separators.
const SECRET_NAMES: [&str; 15] = [
    "apikey",
    "accesstoken",
    "refreshtoken",
    "mcpauthtoken",
    "oauthcode",
    "authorizationcode",
    "codeverifier",
    "pkceverifier",
    "secretbinding",
    "clientsecret",
    "authorization",
    "password",
    "secret",
    "token",
    "claimtoken",
];

/// Whether a member's name, in lower case and without `_`, `-` and `.`, is one of those that carry secrets.
fn is_secret_name(name: &str) -> bool {
    let plain = || {
        let lower = name.trim().chars().flat_map(char::to_lowercase);
        lower.filter(|character| !matches!(character, '_' | '-' | '.'))
    };
    // PERF: most names are none by their first letter.
    plain().next().is_some_and(|first| {
        SECRET_NAMES.iter().any(|secret| secret.starts_with(first) && plain().eq(secret.chars()))
    })
}

/// Whether a text holds something that looks like a secret.
///
/// PERF: a value is announced by `:` or `=`. Most texts have neither, and then only two words count.
fn is_secret_text(text: &str) -> bool {
    static CLAIM: LazyLock<Finder<'static>> = LazyLock::new(|| Finder::new(CLAIM_TOKEN));
    let bytes = text.as_bytes();
    let from = |at: usize| bytes.get(at..).unwrap_or_default();
    if CLAIM.find_iter(bytes).any(|at| has_claim_token(from(at))) {
        return true;
    }
    if memchr2(b':', b'=', bytes).is_none() {
        return memchr2_iter(b'b', b'B', bytes).any(|at| begins_word(bytes, at) && is_bearer(from(at)));
    }
    memchr2_iter(b'"', b'\'', bytes).any(|at| has_quoted_pair(from(at))) || has_assignment(bytes)
}

const CLAIM_TOKEN: &[u8] = b"agh_claim_";

/// `agh_claim_` and at least one character of a token.
fn has_claim_token(rest: &[u8]) -> bool {
    let token = rest.strip_prefix(CLAIM_TOKEN).and_then(<[u8]>::first);
    token.is_some_and(|byte| is_word(*byte) || *byte == b'-')
}

/// Words that announce a value, as they are written; each `_` stands for `_`, `-` or nothing.
const KEYS: [&str; 19] = [
    "api_key",
    "access_token",
    "refresh_token",
    "mcp_auth_token",
    "claim_token",
    "lease_token",
    "bot_token",
    "oauth_code",
    "authorization_code",
    "oauth_client_secret",
    "client_secret",
    "webhook_secret",
    "code_verifier",
    "pkce_verifier",
    "secret_binding",
    "token",
    "secret",
    "password",
    "authorization",
];

/// What stands behind the key that `rest` starts with, for each way to read it as one.
fn keys(rest: &[u8]) -> impl Iterator<Item = &[u8]> {
    KEYS.iter().filter_map(move |key| behind_key(rest, key))
}

fn behind_key<'t>(rest: &'t [u8], key: &str) -> Option<&'t [u8]> {
    let mut rest = rest;
    for expected in key.bytes() {
        rest = match (expected, rest) {
            (b'_', [b'_' | b'-', behind @ ..]) => behind,
            (b'_', _) => rest,
            (_, [first, behind @ ..]) if first.eq_ignore_ascii_case(&expected) => behind,
            _ => return None,
        };
    }
    Some(rest)
}

/// A quoted key, a colon and a quoted value that is not redacted.
fn has_quoted_pair(rest: &[u8]) -> bool {
    let [_, key @ ..] = rest else { return false };
    keys(key).any(|behind| {
        let [b'"' | b'\'', behind @ ..] = behind else { return false };
        let [b':', behind @ ..] = skip_space(behind) else { return false };
        let [b'"' | b'\'', value @ ..] = skip_space(behind) else { return false };
        quoted_len(value).and_then(|len| value.get(..len)).is_some_and(|value| value != REDACTED)
    })
}

/// How long a quoted value is: up to the next quote that no backslash escapes.
fn quoted_len(value: &[u8]) -> Option<usize> {
    let mut at = 0;
    loop {
        match value.get(at)? {
            b'"' | b'\'' => return Some(at),
            b'\\' => at += 2,
            _ => at += 1,
        }
    }
}

const REDACTED: &[u8] = b"[REDACTED]";
const REDACTION_MARK: &[u8] = b"__AGH_REDACTED";

/// A bearer token, an authorization header, or a key with `=` or `:` and a value that is not redacted.
fn has_assignment(text: &[u8]) -> bool {
    let mut at = 0;
    while let Some(rest) = text.get(at..).filter(|rest| !rest.is_empty()) {
        if begins_word(text, at) && rest.first().is_some_and(|first| can_begin(*first)) {
            if is_bearer(rest) || is_authorization(rest) {
                return true;
            }
            if let Some(value) = keys(rest).find_map(assigned) {
                let value_len = value_len(value);
                let shown = value.get(..value_len).unwrap_or_default();
                if !contains(shown, REDACTED) && !contains(shown, REDACTION_MARK) {
                    return true;
                }
                // What stands inside a redacted value is part of it.
                at = text.len() - value.len() + value_len;
                continue;
            }
        }
        at += 1;
    }
    false
}

/// Whether no word character stands before a place.
fn begins_word(text: &[u8], at: usize) -> bool {
    at.checked_sub(1).and_then(|before| text.get(before)).is_none_or(|before| !is_word(*before))
}

/// Whether a word that counts can begin with this byte: a key, `bearer` or `proxy`.
fn can_begin(byte: u8) -> bool {
    matches!(
        byte.to_ascii_lowercase(),
        b'a' | b'b' | b'c' | b'l' | b'm' | b'o' | b'p' | b'r' | b's' | b't' | b'w'
    )
}

/// The value behind a key: `=` or `:` between blanks, then anything but a separator.
fn assigned(behind: &[u8]) -> Option<&[u8]> {
    match skip_space(behind) {
        [b'=' | b':', value @ ..] => {
            Some(skip_space(value)).filter(|value| value.first().is_some_and(|byte| !is_separator(*byte)))
        }
        _ => None,
    }
}

/// A value ends with its closing quote, or where it has none at a blank or separator.
fn value_len(value: &[u8]) -> usize {
    if let [quote @ (b'"' | b'\''), inner @ ..] = value
        && let Some(len) = inner.iter().position(|byte| byte == quote)
    {
        return len + 2;
    }
    value.iter().position(|byte| is_space(*byte) || is_separator(*byte)).unwrap_or(value.len())
}

/// `Bearer`, blanks, and a character of a token.
fn is_bearer(rest: &[u8]) -> bool {
    let Some(behind) = behind_key(rest, "bearer") else { return false };
    behind.first().is_some_and(|byte| is_space(*byte))
        && skip_space(behind).first().is_some_and(|byte| {
            byte.is_ascii_alphanumeric() || matches!(byte, b'.' | b'_' | b'~' | b'+' | b'/' | b'=' | b'-')
        })
}

/// `authorization` or `proxy-authorization`, then `=` or `:` and a value up to the end of the line or list.
fn is_authorization(rest: &[u8]) -> bool {
    let proxy = behind_key(rest, "proxy").and_then(|rest| match rest {
        [b'-' | b'_', behind @ ..] => Some(behind),
        _ => None,
    });
    let Some(behind) = behind_key(proxy.unwrap_or(rest), "authorization") else { return false };
    let [b'=' | b':', value @ ..] = skip_space(behind) else { return false };
    // Blanks may be part of the value, line breaks only stand before it.
    let begins = |byte: &u8| !matches!(byte, b'\r' | b'\n' | b',' | b';');
    value.iter().find(|byte| !matches!(byte, b'\r' | b'\n')).is_some_and(begins)
}

fn contains(text: &[u8], part: &[u8]) -> bool {
    text.windows(part.len()).any(|window| window == part)
}

fn skip_space(text: &[u8]) -> &[u8] {
    let len = text.iter().position(|byte| !is_space(*byte)).unwrap_or(text.len());
    text.get(len..).unwrap_or_default()
}

fn is_space(byte: u8) -> bool {
    matches!(byte, b'\t' | b'\n' | 0x0c | b'\r' | b' ')
}

fn is_separator(byte: u8) -> bool {
    matches!(byte, b',' | b';')
}

fn is_word(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || byte == b'_'
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::formats::facts::Asked;
    use crate::formats::fields::Fields;
    use crate::formats::rule::Found;
    use crate::tape::Parser;

    #[test]
    fn texts() {
        for (text, secret) in [
            ("hello", false),
            ("agh_claim_x", true),
            ("xagh_claim_-", true),
            ("agh_claim_", false),
            ("agh_claim_ x", false),
            ("the bearer of this", true),
            ("BEARER\t~", true),
            ("bearer", false),
            ("bearer ", false),
            ("bearer (x)", false),
            ("forbearer of", false),
            ("bearer_of x", false),
            ("token: x", true),
            ("token:x", true),
            ("TOKEN = x", true),
            ("token", false),
            ("token:", false),
            ("token: , x", false),
            ("token:;", false),
            ("tokens: x", false),
            ("my_token: x", false),
            ("my-token: x", true),
            ("api key: x", false),
            ("apikey=x", true),
            ("api-key=x", true),
            ("api_key=x", true),
            ("api__key=x", false),
            ("mcp-authtoken=x", true),
            ("oauth_client-secret: 'x y'", true),
            ("token: [REDACTED]", false),
            ("token: \"a [REDACTED] b\"", false),
            ("token: a [REDACTED]", true),
            ("token=__AGH_REDACTED_1", false),
            ("token=[REDACTED], secret=x", true),
            ("token=\"[REDACTED] bearer x\"", false),
            ("a Bearer b: c", true),
            ("authorization: x", true),
            ("Proxy-Authorization: Basic x", true),
            ("proxy_authorization = x", true),
            ("proxyauthorization: x", false),
            ("authorization: [REDACTED]", true),
            ("authorization:\r\n", false),
            ("authorization:,", false),
            ("authorization: ", true),
            ("reauthorization: x", false),
            (r#"{"password" : "x"}"#, true),
            (r#"{'password':"x"}"#, true),
            (r#"{"password":"[REDACTED]"}"#, false),
            (r#"{"password":"x"#, false),
            (r#"{"passwords":"x"}"#, false),
            (r#"{"lease-token":""}"#, true),
            ("", false),
        ] {
            assert_eq!(is_secret_text(text), secret, "{text:?}");
        }
    }

    #[test]
    fn every_word_that_counts_can_begin() {
        for word in KEYS.into_iter().chain(["bearer", "proxy"]) {
            assert!(word.bytes().next().is_some_and(can_begin), "{word}");
        }
    }

    #[test]
    fn names() {
        for (name, secret) in [
            ("password", true),
            (" Pass-word ", true),
            ("API_KEY", true),
            ("api.key", true),
            ("token_hash", false),
            ("tokens", false),
            ("", false),
            ("to ken", false),
        ] {
            assert_eq!(is_secret_name(name), secret, "{name:?}");
        }
    }

    fn finds(text: &str, scan: impl Fn(&Record<'_>, NodeIndex) -> Option<NodeIndex>) -> bool {
        let fields = Fields::default();
        Parser::new(64).parse(text.as_bytes(), |tape| {
            let tape = tape.unwrap();
            let payload = text.as_bytes();
            let record = Record {
                tape,
                payload,
                in_shape: true,
                fields: &fields,
                now: None,
                key: None,
                headers: None,
                found: Found::default(),
                asked: &Asked::default(),
            };
            scan(&record, NodeIndex(0)).is_some()
        })
    }

    #[test]
    fn values() {
        for (body, secret) in [
            (r#"{"password":"x"}"#, true),
            (r#"{"password":" "}"#, false),
            (r#"{"password":null}"#, false),
            (r#"{"password":[]}"#, false),
            (r#"{"password":{}}"#, false),
            (r#"{"password":0}"#, true),
            (r#"{"password":false}"#, true),
            (r#"{"password":[0]}"#, true),
            (r#"{"a":[{"b":[1,"Bearer x"]}]}"#, true),
            (r#"{"a":[{"Bearer x":1}]}"#, true),
            (r#"{"a":[{"b":[1,"c"]}],"d":{"e":null}}"#, false),
        ] {
            assert_eq!(finds(body, in_value), secret, "{body}");
        }
        let found = |text| finds(text, in_members);
        assert!(!found(r#"{"password":"x"}"#), "names at the first level are free");
        assert!(found(r#"{"acme":{"password":"x"}}"#));
        assert!(found(r#"{"acme":"Bearer x"}"#));
    }
}
