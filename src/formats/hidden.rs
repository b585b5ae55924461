//! Which values must not be shown or passed on: what a format says of its members, and what looks like a credential.
//!
//! Explanations, reports, the live page and redacted rejects all ask here, so none of them can know less than another.
//! It is about what people see; no verdict depends on it.

use super::Compiled;

/// LIMIT: characters of a name that are looked at; what stands under a longer one is hidden.
const NAME_CHARS_MAX: usize = 160;
/// Parts of names under which credentials stand, in lower case and without separators.
const NAME_PARTS: [&str; 26] = [
    "secret",
    "password",
    "passwd",
    "passphrase",
    "passcode",
    "signature",
    "credential",
    "authorization",
    "private",
    "cookie",
    "bearer",
    "apikey",
    "accesskey",
    "signingkey",
    "hmackey",
    "mackey",
    "masterkey",
    "sessionkey",
    "encryptionkey",
    "sshkey",
    "sharedkey",
    "connectionstring",
    "connstr",
    "dburl",
    "databaseurl",
    "mnemonic",
];
/// Whole names under which they stand.
const NAMES: [&str; 3] = ["proof", "key", "sig"];
/// Last words of such names: `DB_PASS` and `basicAuth`, but neither `compass` nor `passed`.
const LAST_WORDS: [&str; 14] =
    ["pass", "pwd", "auth", "jwt", "cred", "creds", "otp", "totp", "pin", "psk", "mac", "hmac", "sas", "dsn"];
/// Names with `token` in them that count tokens of a language model.
const COUNT_BEGINNINGS: [&str; 10] =
    ["max", "min", "num", "total", "prompt", "completion", "input", "output", "cached", "reasoning"];
const COUNT_ENDS: [&str; 4] = ["count", "limit", "budget", "usage"];

/// Members that name the `value` beside them.
const NAMING: [&str; 4] = ["name", "key", "header", "field"];

/// How texts begin that are nothing but a token or a key.
const BEGINNINGS: [&str; 8] = ["eyJ", "Bearer ", "Basic ", "-----BEGIN", "sk-", "ghp_", "AKIA", "xox"];
/// How tokens and keys begin anywhere in a text, where a word does.
const WORD_BEGINNINGS: [&str; 24] = [
    "eyJ",
    "sk-",
    "sk_live_",
    "sk_test_",
    "rk_live_",
    "ghp_",
    "gho_",
    "ghu_",
    "ghs_",
    "ghr_",
    "github_pat_",
    "glpat-",
    "xox",
    "AKIA",
    "ASIA",
    "AIza",
    "ya29.",
    "hf_",
    "npm_",
    "pypi-",
    "SG.",
    "dop_v1_",
    "whsec_",
    "agh_claim_",
];
/// What stands before a token in a header, in lower case.
const SCHEMES: [&str; 2] = ["bearer ", "basic "];
/// Characters of a key that have to follow how it begins, or a scheme; the fewest of a value behind `name=`.
const KEY_CHARS_MIN: usize = 8;
const VALUE_CHARS_MIN: usize = 4;
/// LIMIT: characters of a key that are looked at.
const KEY_CHARS_MAX: usize = 64;

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
#[must_use]
pub fn sounds_secret(name: &str) -> bool {
    if name.chars().nth(NAME_CHARS_MAX).is_some() {
        return true;
    }
    let plain: String =
        name.chars().filter(|letter| !is_separator(*letter)).collect::<String>().to_lowercase();
    NAME_PARTS.iter().any(|part| plain.contains(part))
        || NAMES.contains(&plain.as_str())
        || LAST_WORDS.contains(&last_word(name).to_lowercase().as_str())
        || (plain.contains("token") && !counts_tokens(&plain))
}

/// Whether a member's text says that the `value` beside it is a credential: `{"name":"Authorization","value":…}`.
#[must_use]
pub fn names_its_value(name: &str, text: &str) -> bool {
    NAMING.iter().any(|naming| name.eq_ignore_ascii_case(naming)) && sounds_secret(text)
}

/// Whether this is the member beside a name.
#[must_use]
pub fn is_named_value(name: &str) -> bool {
    name.eq_ignore_ascii_case("value")
}

fn is_separator(letter: char) -> bool {
    matches!(letter, '-' | '_' | '.' | ' ')
}

fn counts_tokens(plain: &str) -> bool {
    COUNT_ENDS.iter().any(|end| plain.ends_with(end))
        || (plain.ends_with("tokens") && COUNT_BEGINNINGS.iter().any(|begin| plain.starts_with(begin)))
}

/// What stands behind the last separator, or from the last capital after a small letter on.
fn last_word(name: &str) -> &str {
    let name = name.rsplit(is_separator).next().unwrap_or(name);
    let mut from = 0;
    let mut before = None;
    for (at, letter) in name.char_indices() {
        if letter.is_uppercase() && before.is_some_and(char::is_lowercase) {
            from = at;
        }
        before = Some(letter);
    }
    name.get(from..).unwrap_or(name)
}

/// Tokens and keys by their looks, wherever they stand: a text that is one, or that holds one somewhere.
#[must_use]
pub fn looks_secret(text: &str) -> bool {
    BEGINNINGS.iter().any(|beginning| text.starts_with(beginning))
        || text.contains("-----BEGIN")
        || has_key(text)
        || has_login(text)
        || has_assignment(text)
}

/// Whether a word of the text begins like a key and goes on like one.
fn has_key(text: &str) -> bool {
    let mut before = ' ';
    for (at, letter) in text.char_indices() {
        let begins_word = letter.is_ascii_alphabetic() && !before.is_alphanumeric();
        before = letter;
        if !begins_word {
            continue;
        }
        let word = text.get(at..).unwrap_or_default();
        let key = WORD_BEGINNINGS.iter().find_map(|beginning| word.strip_prefix(beginning));
        if key.or_else(|| behind_scheme(word)).is_some_and(looks_random) {
            return true;
        }
    }
    false
}

/// What stands behind a scheme, in whatever case that is written.
fn behind_scheme(text: &str) -> Option<&str> {
    SCHEMES.iter().find_map(|scheme| {
        let (head, key) = text.split_at_checked(scheme.len())?;
        head.eq_ignore_ascii_case(scheme).then(|| key.trim_start_matches(' '))
    })
}

/// Whether a text begins with something that is no word: long enough, with digits, or with capitals among small letters.
fn looks_random(text: &str) -> bool {
    let is_of_key = |letter: &char| letter.is_ascii_alphanumeric() || "-_.~+/=".contains(*letter);
    let letters = || text.chars().take(KEY_CHARS_MAX).take_while(is_of_key);
    let has = |is: fn(&char) -> bool| letters().skip(1).any(|letter| is(&letter));
    letters().count() >= KEY_CHARS_MIN
        && (has(char::is_ascii_digit) || (has(char::is_ascii_uppercase) && has(char::is_ascii_lowercase)))
}

/// `scheme://user:password@host`.
fn has_login(text: &str) -> bool {
    text.split("://").skip(1).any(|rest| {
        let end = rest.find(|letter: char| "/?#\"'<>".contains(letter) || letter.is_whitespace());
        let login = rest.get(..end.unwrap_or(rest.len())).unwrap_or_default().rsplit_once('@');
        login.and_then(|(login, _)| login.split_once(':')).is_some_and(|(_, password)| !password.is_empty())
    })
}

/// `name=value` or `name: value`, where a credential may stand under the name.
fn has_assignment(text: &str) -> bool {
    text.match_indices(['=', ':']).any(|(at, sign)| {
        let (name, value) =
            (name_before(text.get(..at).unwrap_or_default()), text.get(at + 1..).unwrap_or_default());
        let is_spaced = value.starts_with([' ', '"', '\'']);
        let value = value.trim_start_matches([' ', '"', '\'']);
        let is_value = if sign == "=" {
            value.chars().take(VALUE_CHARS_MIN).filter(|letter| is_of_value(*letter)).count()
                == VALUE_CHARS_MIN
        } else {
            // Prose and names have colons, too: `auth:login`, "the token: what it is".
            is_spaced && (looks_random(value) || behind_scheme(value).is_some())
        };
        // `key=value` is what people write when they mean no key in particular.
        is_value && !name.eq_ignore_ascii_case("key") && sounds_secret(name)
    })
}

fn is_of_value(letter: char) -> bool {
    !letter.is_whitespace() && !"=&;,\"'".contains(letter)
}

/// The name that a text ends with, quoted or not; empty if there is none.
fn name_before(text: &str) -> &str {
    let text = text.trim_end_matches([' ', '"', '\'']);
    let letters = text.bytes().rev().take(NAME_CHARS_MAX);
    let len = letters.take_while(|byte| byte.is_ascii_alphanumeric() || b"-_.".contains(byte)).count();
    text.get(text.len() - len..).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_credentials_are_told_from_others() {
        let secret = "api-key x-api-key,api key,access_key,accessKey,signing_key,hmac_key,master_key,session_key,\
            encryption_key,ssh_key,aws_access_key_id,passphrase,pwd,pass,DB_PASS,pass_word,Pass-Word,auth,bearer,jwt,\
            creds,otp,pin,psk,mac,hmac,connection_string,db_url,Authorization,auth_token,id_token,refreshToken,tokens,\
            proxyAuth,basic.auth,userPin,key,sig,client_secret,set-cookie";
        let open = "mapping,pinned,passed,tests_passed,authority,author,authentication,monkey,token_count,max_tokens,\
            prompt_tokens,tokenUsage,compass,machine,pinto,keys,primary_key,routing_key,session_id,sender_persona,note,\
            payload,macro,hashes,spin,bypass,public_key,";
        for name in secret.split(',') {
            assert!(sounds_secret(name), "{name}");
        }
        for name in open.split(',') {
            assert!(!sounds_secret(name), "{name}");
        }
        assert!(sounds_secret(&"x".repeat(NAME_CHARS_MAX + 1)));
    }

    #[test]
    fn credentials_are_found_anywhere_in_a_text() {
        let key = "s3kritValue99";
        for begin in [
            "bearer ",
            "Bearer ",
            "Authorization: Bearer ",
            "see BEARER ",
            "token=",
            "?access_token=",
            "X-Api-Key: ",
            "{\"password\": \"",
            "password = ",
            "ghs_",
            "gho_",
            "github_pat_",
            "glpat-",
            "AIza",
            "ASIA",
            "hf_",
            "npm_",
            "SG.",
            " sk-",
            "\"sk-",
            "please use sk-live-",
            "(xoxb-",
            "a,AKIA",
            "key:eyJ",
            "é sk_live_",
            "postgres://u:",
            "x -----BEGIN RSA PRIVATE KEY-----",
        ] {
            let text = format!("{begin}{key}{}", if begin.ends_with("u:") { "@host/" } else { "" });
            assert!(looks_secret(&text), "{text}");
        }
        assert!(looks_secret("Authorization: basic short") && looks_secret("https://u:p@host"));
    }

    #[test]
    fn ordinary_texts_stay() {
        for text in [
            "msg-3fcf9500-98d8-44f7-9f84-e25716a2a3e0",
            "social-intelligence-agent",
            "task_request",
            "disk-usage-2024",
            "task-tech-lead-session-3",
            "the bearer of this",
            "basic understanding",
            "a token: what it is",
            "auth:login",
            "token:refresh",
            "https://host:8080/a@b",
            "https://user@host",
            "mailto:a@b",
            "use sk-learn",
            "key=value",
            "npm_config_registry",
            "key: region",
            "retries=12345",
            "if token == null",
            "2026-03-03T12:00:00Z",
            "",
            "=",
            ":",
            "://",
            "://:@",
            "governance/personas/agentic/coder.md",
            "sha256:fea0e24a7d5abb7937d677fea720b8e2",
        ] {
            assert!(!looks_secret(text), "{text}");
        }
    }
}
