//! Text of records as it may be shown: without credentials, cut, and with everything visible that would act on a terminal
//! or change the order of what is read.
//!
//! Reports carry only texts that went through here, so that no form of them has to think of it again; HTML, JSON and
//! CSV add their own quoting. Labels that differ look different: a backslash of their own is doubled, what is cut says how
//! long it was and has a hash, and what would look like one of our own words has a backslash in front.

use crate::credentials::digest::{hex, sha256};
use crate::formats::hidden::{HIDDEN, looks_secret};
use crate::tape::Parser;

/// LIMIT: characters of a label that are shown.
pub const CHARS_MAX: usize = 96;
/// Bytes of the hash of a label that is cut.
const HASH_BYTES: usize = 4;
/// What is shown of a label that is there and has no characters.
const EMPTY: &str = "(empty)";
/// What is shown where a record has no label.
pub const NONE: &str = "-";

/// The text, cut, with control, format and direction characters spelled out.
#[must_use]
pub fn shown(text: &str, chars_max: usize) -> String {
    let mut out = String::with_capacity(text.len().min(chars_max.saturating_add(8)));
    for (index, letter) in text.chars().enumerate() {
        if index == chars_max {
            out.push('…');
            break;
        }
        if acts(letter) {
            out.push_str(&format!("\\u{{{:x}}}", u32::from(letter)));
        } else {
            out.push(letter);
        }
    }
    out
}

/// What names something: a sender, a type, a key. Different ones stay different, unless they look like credentials.
#[must_use]
pub fn label(text: &str) -> String {
    match text {
        "" => return EMPTY.to_owned(),
        EMPTY | HIDDEN | NONE => return format!("\\{text}"),
        text if looks_secret(text) => return HIDDEN.to_owned(),
        _ => {}
    }
    let Some((end, _)) = text.char_indices().nth(CHARS_MAX) else {
        return shown(&escaped(text), usize::MAX);
    };
    let hash = sha256(&[text.as_bytes()]);
    let hash = hex(hash.get(..HASH_BYTES).unwrap_or_default());
    let begin = shown(&escaped(text.get(..end).unwrap_or_default()), usize::MAX);
    format!("{begin}…({} characters, #{hash})", text.chars().count())
}

/// A text as JSON writes it, cut, with everything spelled out that acts: nothing in it ends it.
#[must_use]
pub fn quoted(text: &str, chars_max: usize) -> String {
    format!("\"{}\"", shown(&escaped(text), chars_max).replace('"', "\\\""))
}

/// A JSON pointer without the names in it that look like credentials.
#[must_use]
pub fn pointer(text: &str, chars_max: usize) -> String {
    let is_secret = |token: &str| looks_secret(&token.replace("~1", "/").replace("~0", "~"));
    let tokens = text.split('/').map(|token| if is_secret(token) { HIDDEN } else { token });
    shown(&escaped(&tokens.collect::<Vec<_>>().join("/")), chars_max)
}

/// Backslashes doubled, so that those which spell a character are ours.
fn escaped(text: &str) -> String {
    text.replace('\\', "\\\\")
}

/// Whether a character does something instead of being seen: controls, directions, joiners, separators, tags, and
/// what has no meaning of its own.
fn acts(letter: char) -> bool {
    letter.is_control()
        || matches!(letter,
            '\u{AD}' | '\u{61C}' | '\u{180E}' | '\u{200B}'..='\u{200F}' | '\u{2028}'..='\u{202E}'
            | '\u{2060}'..='\u{206F}' | '\u{FE00}'..='\u{FE0F}' | '\u{FEFF}' | '\u{FFF9}'..='\u{FFFB}'
            | '\u{E000}'..='\u{F8FF}' | '\u{E0000}'..='\u{10FFFF}')
}

/// The label that begins at `start` in a payload, behind its quote, as it is shown.
#[must_use]
pub fn text_at(payload: &[u8], start: u32) -> String {
    // All of it is read, since a credential may stand at its end, and its hash tells it from others.
    let quoted = (start as usize).checked_sub(1).and_then(|quote| payload.get(quote..));
    let text = quoted.map(|quoted| quoted.get(..string_len(quoted)).unwrap_or_default());
    text.and_then(|text| serde_json::from_slice::<String>(text).ok())
        .map_or_else(|| "?".to_owned(), |text| label(&text))
}

/// The length of the string that a text begins with, with both quotes.
fn string_len(text: &[u8]) -> usize {
    let mut at = 1;
    while let Some(found) = text.get(at..).and_then(|rest| memchr::memchr2(b'"', b'\\', rest)) {
        at += found;
        match text.get(at) {
            Some(b'\\') => at += 2,
            _ => return at + 1,
        }
    }
    text.len()
}

/// What a token's header, the part before its first dot, says of its key: the `kid`, never the token.
#[must_use]
pub fn kid_of(header: &[u8], parser: &mut Parser) -> Option<String> {
    use base64::Engine as _;
    let header = base64::engine::general_purpose::URL_SAFE_NO_PAD.decode(header).ok()?;
    parser.parse(&header, |tape| {
        let nodes = tape.ok()?.nodes();
        let at = nodes.iter().position(|node| matches!(node, crate::tape::Node::String("kid")))?;
        match nodes.get(at + 1) {
            Some(crate::tape::Node::String(text)) => Some((*text).to_owned()),
            _ => None,
        }
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_that_acts_is_left() {
        let hostile = "a\u{1b}[31m\u{202e}b\u{0}\r\n\u{200b}\u{feff}\u{e0041}é漢";
        let text = shown(hostile, 96);
        assert!(text.chars().all(|letter| !acts(letter)), "{text}");
        assert!(text.ends_with("é漢") && text.contains("\\u{1b}[31m\\u{202e}b"));
        assert_eq!(shown(&"x".repeat(1000), 5), "xxxxx…");
    }

    #[test]
    fn texts_are_read_where_they_stand() {
        let payload = br#"{"a":"q\"\u00e9\n","b":"plain"}"#;
        assert_eq!(text_at(payload, 6), "q\"é\\u{a}");
        assert_eq!(text_at(payload, 24), "plain");
        let long = format!("{{\"a\":\"{}\"}}", "é".repeat(4000));
        assert!(text_at(long.as_bytes(), 6).contains("é…(4000 characters, #"));
        let escapes = format!("{{\"a\":\"{}\"}}", "\\ud83d\\ude00".repeat(400));
        assert!(text_at(escapes.as_bytes(), 6).starts_with('😀'));
        assert_eq!(text_at(b"", 6), "?");
    }

    #[test]
    fn different_labels_look_different() {
        let long = "x".repeat(CHARS_MAX);
        let texts = [
            "\u{202e}",
            "\\u{202e}",
            "\\\\u{202e}",
            "",
            "\"\"",
            "-",
            "\\-",
            "(empty)",
            "(hidden)",
            "\\(hidden)",
            "sk-live-TOPSECRET42",
            &long,
            &(long.clone() + "a"),
            &(long.clone() + "b"),
            &(long.clone() + "…"),
        ];
        let shown: std::collections::BTreeSet<String> = texts.iter().map(|text| label(text)).collect();
        assert_eq!(shown.len(), texts.len(), "{shown:?}");
        assert!(!shown.contains(NONE), "a label is there");
    }

    #[test]
    fn labels_and_names_that_look_like_credentials_are_hidden() {
        let payload = br#"{"a":"sk-live-TOPSECRET42","b":"msg-3fcf9500-98d8-44f7-9f84-e25716a2a3e0"}"#;
        assert_eq!(text_at(payload, 6), HIDDEN);
        assert_eq!(text_at(payload, 32), "msg-3fcf9500-98d8-44f7-9f84-e25716a2a3e0");
        let late = format!("\"{} password=hunter2\"", "x".repeat(5000));
        assert_eq!(text_at(late.as_bytes(), 1), HIDDEN);
        assert_eq!(pointer("/a/sk-live-TOPSECRET42/https:~1~1u:pw@host/b~0", 96), "/a/(hidden)/(hidden)/b~0");
    }

    #[test]
    fn of_a_token_only_its_key_is_told() {
        use base64::Engine as _;
        let header = base64::engine::general_purpose::URL_SAFE_NO_PAD.encode(r#"{"alg":"RS256","kid":"k1"}"#);
        let mut parser = Parser::new(4);
        assert_eq!(kid_of(header.as_bytes(), &mut parser).as_deref(), Some("k1"));
        assert_eq!(kid_of(b"secret", &mut parser), None);
    }
}
