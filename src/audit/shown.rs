//! Text of records as it may be shown: cut, and with everything visible that would act on a terminal or change the
//! order of what is read.
//!
//! Reports carry only texts that went through here, so that no form of them has to think of it again; HTML, JSON and
//! CSV add their own quoting.

use crate::tape::Parser;

/// LIMIT: characters of a text that are shown.
pub const CHARS_MAX: usize = 96;
/// LIMIT: bytes of a record's text that are looked at.
const RAW_BYTES_MAX: usize = 1024;

/// The text, cut, with control, format and direction characters spelled out.
#[must_use]
pub fn shown(text: &str, chars_max: usize) -> String {
    let mut out = String::with_capacity(text.len().min(chars_max + 8));
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

/// Whether a character does something instead of being seen: controls, directions, joiners, separators, tags, and
/// what has no meaning of its own.
fn acts(letter: char) -> bool {
    letter.is_control()
        || matches!(letter,
            '\u{AD}' | '\u{61C}' | '\u{180E}' | '\u{200B}'..='\u{200F}' | '\u{2028}'..='\u{202E}'
            | '\u{2060}'..='\u{206F}' | '\u{FE00}'..='\u{FE0F}' | '\u{FEFF}' | '\u{FFF9}'..='\u{FFFB}'
            | '\u{E000}'..='\u{F8FF}' | '\u{E0000}'..='\u{10FFFF}')
}

/// The string that begins at `start` in a payload, behind its quote, as it is shown.
#[must_use]
pub fn text_at(payload: &[u8], start: u32) -> String {
    let Some(raw) = payload.get(start as usize..) else { return "?".to_owned() };
    let (end, whole) = string_end(raw);
    let mut quoted = Vec::with_capacity(end + 2);
    quoted.push(b'"');
    quoted.extend_from_slice(raw.get(..end).unwrap_or_default());
    // A cut can fall into a character or an escape.
    for _ in 0..12 {
        quoted.push(b'"');
        if let Ok(text) = serde_json::from_slice::<String>(&quoted) {
            return shown(&if whole { text } else { text + "…" }, CHARS_MAX);
        }
        quoted.truncate(quoted.len().saturating_sub(2));
    }
    "?".to_owned()
}

/// Where a string ends, and whether that is its own end.
fn string_end(raw: &[u8]) -> (usize, bool) {
    let mut escaped = false;
    for (at, byte) in raw.iter().take(RAW_BYTES_MAX).enumerate() {
        match byte {
            _ if escaped => escaped = false,
            b'\\' => escaped = true,
            b'"' => return (at, true),
            _ => {}
        }
    }
    (raw.len().min(RAW_BYTES_MAX), false)
}

/// What a token's header, the part before its first dot, says of its key: the `kid`, never the token.
#[must_use]
pub fn key_of(header: &[u8], parser: &mut Parser) -> String {
    use base64::Engine as _;
    let decoded = base64::engine::general_purpose::URL_SAFE_NO_PAD.decode(header).ok();
    let kid = decoded.and_then(|header| {
        let mut kid = None;
        parser.parse(&header, |tape| {
            let nodes = tape.ok()?.nodes();
            let at = nodes.iter().position(|node| matches!(node, crate::tape::Node::String("kid")))?;
            if let Some(crate::tape::Node::String(text)) = nodes.get(at + 1) {
                kid = Some(shown(text, CHARS_MAX));
            }
            Some(())
        });
        kid
    });
    kid.map_or_else(|| "token without a readable key id".to_owned(), |kid| format!("kid {kid}"))
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
        assert!(text_at(long.as_bytes(), 6).ends_with('…'));
        let escapes = format!("{{\"a\":\"{}\"}}", "\\ud83d\\ude00".repeat(400));
        assert!(text_at(escapes.as_bytes(), 6).starts_with('😀'));
        assert_eq!(text_at(b"", 6), "?");
    }

    #[test]
    fn of_a_token_only_its_key_is_told() {
        use base64::Engine as _;
        let header = base64::engine::general_purpose::URL_SAFE_NO_PAD.encode(r#"{"alg":"RS256","kid":"k1"}"#);
        let mut parser = Parser::new(4);
        assert_eq!(key_of(header.as_bytes(), &mut parser), "kid k1");
        assert_eq!(key_of(b"secret", &mut parser), "token without a readable key id");
    }
}
