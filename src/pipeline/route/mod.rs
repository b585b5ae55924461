//! What a reject carries: the compact JSON note of the `tollgate.reject` header and of rejected lines in files, and
//! its payload, or what may be passed on of it.

mod redact;

pub(super) use redact::{is_json, redact};

use crate::judge::Rules;
use crate::verdict::Verdict;

/// LIMIT: longer pointers are cut; names inside a record can be as long as the record.
const POINTER_BYTES_MAX: usize = 512;

/// The version of the note's form.
const NOTE_VERSION: &str = "1";

/// Writes the note of a reject as compact JSON; `source` writes where the record came from.
pub fn write_note(
    out: &mut Vec<u8>,
    verdict: Verdict,
    pointer: &[u8],
    rules: &Rules,
    source: impl FnOnce(&mut Vec<u8>),
) {
    let Some(reason) = verdict.reason else { return };
    out.extend_from_slice(b"{\"v\":");
    out.extend_from_slice(NOTE_VERSION.as_bytes());
    out.extend_from_slice(b",\"reason\":\"");
    out.extend_from_slice(reason.code().as_bytes());
    out.push(b'"');
    if let Some(format) = verdict.format.and_then(|format| rules.format(format)) {
        out.extend_from_slice(b",\"format\":\"");
        out.extend_from_slice(format.name().as_bytes());
        out.push(b'"');
        if format.has_wire_reasons() {
            out.extend_from_slice(b",\"wire\":\"");
            out.extend_from_slice(reason.wire().as_bytes());
            out.push(b'"');
        }
    }
    out.extend_from_slice(b",\"at\":\"");
    write_escaped(out, cut(pointer));
    out.extend_from_slice(b"\",\"rules\":\"");
    out.extend_from_slice(rules.hash().as_bytes());
    out.extend_from_slice(b"\",\"src\":\"");
    let from = out.len();
    source(out);
    debug_assert!(out.get(from..).is_some_and(|text| std::str::from_utf8(text).is_ok()), "sources are text");
    out.extend_from_slice(b"\"}");
}

/// The pointer, or its beginning, cut between characters.
fn cut(pointer: &[u8]) -> &[u8] {
    if pointer.len() <= POINTER_BYTES_MAX {
        return pointer;
    }
    let is_boundary = |at: &usize| pointer.get(*at).is_none_or(|byte| byte & 0xC0 != 0x80);
    let end = (0..=POINTER_BYTES_MAX).rev().find(is_boundary).unwrap_or_default();
    pointer.get(..end).unwrap_or_default()
}

/// Writes text inside a JSON string.
pub fn write_escaped(out: &mut Vec<u8>, text: &[u8]) {
    for &byte in text {
        match byte {
            b'"' | b'\\' => out.extend_from_slice(&[b'\\', byte]),
            0..0x20 | 0x7F => {
                const HEX: &[u8; 16] = b"0123456789abcdef";
                let digit = |nibble: u8| HEX.get(usize::from(nibble)).copied().unwrap_or(b'0');
                out.extend_from_slice(&[b'\\', b'u', b'0', b'0', digit(byte >> 4), digit(byte & 15)]);
            }
            _ => out.push(byte),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tape::NodeIndex;
    use crate::verdict::{FormatId, Reason};

    fn note(pointer: &str) -> serde_json::Value {
        let mut out = Vec::new();
        let verdict = Verdict::reject(Reason::BadEnum, Some(FormatId(0)), NodeIndex(3));
        let rules = Rules::compile(&crate::config::Config::default()).unwrap();
        write_note(&mut out, verdict, pointer.as_bytes(), &rules, |out| out.extend_from_slice(b"in/3/42"));
        let text = String::from_utf8(out).unwrap().replace(rules.hash(), "abcd");
        serde_json::from_str(&text).unwrap()
    }

    #[test]
    fn the_note_has_the_documented_members() {
        let expected =
            r#"{"v":1,"reason":"bad-enum","format":"olympus","at":"/a","rules":"abcd","src":"in/3/42"}"#;
        assert_eq!(note("/a").to_string(), expected);
    }

    #[test]
    fn hostile_names_stay_inside_the_note() {
        let name = "/\"},\u{0}\n\\\u{202e}é".to_owned();
        assert_eq!(note(&name)["at"], name.as_str());
        let long = "é".repeat(5000);
        assert_eq!(note(&long)["at"].as_str().unwrap().len(), POINTER_BYTES_MAX);
    }
}
