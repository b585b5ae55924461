//! Rejected payloads without credentials, for those who ask for it (`rejected.redact`).
//!
//! Only the values that must not be passed on are replaced; every other byte stays. One pass over the text, since a
//! tape does not know where in the payload its values stood. A payload that is not known to be JSON may hide a credential
//! anywhere, so only its length and its hash are told.

use std::ops::Range;

use crate::credentials::digest::{hex, sha256};
use crate::formats::Compiled;
use crate::formats::hidden::{HIDDEN, hides, is_named_value, looks_secret, names_its_value};
use crate::judge::Rules;
use crate::verdict::{Reason, Step, Verdict};

/// Whether a payload that was rejected for this reason is known to be JSON.
pub(in crate::pipeline) fn is_json(reason: Reason) -> bool {
    reason.step() != Step::Parse || matches!(reason, Reason::DuplicateKey | Reason::NotObject)
}

/// What may be passed on of a rejected payload; `None` if that is the payload itself.
pub(in crate::pipeline) fn redact(payload: &[u8], verdict: Verdict, rules: &Rules) -> Option<Vec<u8>> {
    let reason = verdict.reason.filter(|_| !payload.is_empty())?;
    if !is_json(reason) {
        return Some(withheld(payload));
    }
    let format = verdict.format.and_then(|id| rules.format(id));
    let mut scan = Scan { text: payload, at: 0, format, pointer: String::new(), found: Vec::new() };
    scan.value("");
    let mut out = Vec::with_capacity(payload.len());
    let mut from = 0;
    for value in &scan.found {
        out.extend_from_slice(payload.get(from..value.start).unwrap_or_default());
        out.extend_from_slice(format!("\"{HIDDEN}\"").as_bytes());
        from = value.end;
    }
    out.extend_from_slice(payload.get(from..).unwrap_or_default());
    (!scan.found.is_empty()).then_some(out)
}

fn withheld(payload: &[u8]) -> Vec<u8> {
    let hash = hex(&sha256(&[payload]));
    format!("{{\"redacted\":true,\"bytes\":{},\"sha256\":\"{hash}\"}}", payload.len()).into_bytes()
}

/// A walk over text that is known to be JSON, not deeper than the judge allows.
struct Scan<'a> {
    text: &'a [u8],
    at: usize,
    format: Option<&'a Compiled>,
    pointer: String,
    /// Where values stand that must not be passed on.
    found: Vec<Range<usize>>,
}

impl Scan<'_> {
    /// Passes the value that comes next and bears this name.
    fn value(&mut self, name: &str) {
        self.blanks();
        let (from, first) = (self.at, self.peek());
        let is_container = matches!(first, Some(b'{' | b'['));
        if hides(self.format, &self.pointer, name, is_container) {
            self.skip();
            self.found.push(from..self.at);
        } else if first == Some(b'{') {
            self.members();
        } else if first == Some(b'[') {
            self.items();
        } else {
            self.skip();
            if first == Some(b'"') && looks_secret(&self.unescaped(from..self.at)) {
                self.found.push(from..self.at);
            }
        }
    }

    fn members(&mut self) {
        self.at += 1;
        let (mut names_secret, mut named) = (false, None);
        loop {
            self.blanks();
            if self.peek() != Some(b'"') {
                break;
            }
            let from = self.at;
            self.skip();
            let name = self.unescaped(from..self.at);
            self.blanks();
            // The colon.
            self.at += 1;
            self.blanks();
            let from = self.at;
            self.within(&name.replace('~', "~0").replace('/', "~1"), &name);
            if is_named_value(&name) {
                named = Some(from..self.at);
            } else if self.text.get(from) == Some(&b'"') {
                names_secret |= names_its_value(&name, &self.unescaped(from..self.at));
            }
            if !self.has_next() {
                break;
            }
        }
        if let Some(value) = named.filter(|_| names_secret) {
            // What was found within it goes with it.
            self.found.retain(|found| found.end <= value.start || found.start >= value.end);
            let place = self.found.partition_point(|found| found.start < value.start);
            self.found.insert(place, value);
        }
        // The closing brace.
        self.at += 1;
    }

    fn items(&mut self) {
        self.at += 1;
        self.blanks();
        let mut index = 0_usize;
        while self.peek().is_some_and(|byte| byte != b']') {
            self.within(&index.to_string(), "");
            index += 1;
            if !self.has_next() {
                break;
            }
        }
        // The closing bracket.
        self.at += 1;
    }

    fn within(&mut self, token: &str, name: &str) {
        let before = self.pointer.len();
        self.pointer.push('/');
        self.pointer.push_str(token);
        self.value(name);
        self.pointer.truncate(before);
    }

    /// Passes the comma, if there is one.
    fn has_next(&mut self) -> bool {
        self.blanks();
        let is_comma = self.peek() == Some(b',');
        self.at += usize::from(is_comma);
        is_comma
    }

    /// Passes a whole value without looking into it.
    fn skip(&mut self) {
        let mut depth = 0_usize;
        loop {
            match self.peek() {
                Some(b'"') => self.string(),
                Some(b'{' | b'[') => {
                    depth += 1;
                    self.at += 1;
                }
                Some(b'}' | b']') if depth > 0 => {
                    depth -= 1;
                    self.at += 1;
                }
                Some(_) if depth > 0 => self.at += 1,
                // Numbers and words end before the next mark.
                Some(byte) if !matches!(byte, b',' | b'}' | b']' | b' ' | b'\t' | b'\n' | b'\r') => {
                    self.at += 1;
                    continue;
                }
                Some(_) | None => return,
            }
            if depth == 0 {
                return;
            }
        }
    }

    fn string(&mut self) {
        self.at += 1;
        loop {
            match self.peek() {
                Some(b'\\') => self.at += 2,
                Some(b'"') | None => break,
                Some(_) => self.at += 1,
            }
        }
        self.at += 1;
    }

    fn unescaped(&self, range: Range<usize>) -> String {
        let raw = self.text.get(range).unwrap_or_default();
        serde_json::from_slice(raw).unwrap_or_default()
    }

    fn blanks(&mut self) {
        while matches!(self.peek(), Some(b' ' | b'\t' | b'\n' | b'\r')) {
            self.at += 1;
        }
    }

    fn peek(&self) -> Option<u8> {
        self.text.get(self.at).copied()
    }
}

#[cfg(test)]
mod tests {
    use serde_json::Value;

    use super::*;
    use crate::config::Config;
    use crate::tape::NodeIndex;
    use crate::verdict::FormatId;

    fn redacted(format: Option<&str>, reason: Reason, payload: &str) -> Option<String> {
        let rules = Rules::compile(&Config::default()).unwrap();
        let place = format.map(|name| {
            rules.formats().iter().position(|format| format.name() == name).expect("a built-in format")
        });
        let verdict = Verdict::reject(reason, place.map(|place| FormatId(place as u8)), NodeIndex(0));
        redact(payload.as_bytes(), verdict, &rules).map(|bytes| String::from_utf8(bytes).unwrap())
    }

    #[test]
    fn only_credentials_change() {
        let payload = "{ \"envelope\" : {\"security\":{ \"auth_token\":\"a.b\\\"c\", \"tenant_id\":\"t\"}},\n\
                       \"n\": 1.50,\"list\":[1 , {\"pass\\u0077ord\" : [1,{\"x\":\"]}\"}] },\"Bearer x\", \"b\"]} ";
        let expected = "{ \"envelope\" : {\"security\":{ \"auth_token\":\"(hidden)\", \"tenant_id\":\"t\"}},\n\
                        \"n\": 1.50,\"list\":[1 , {\"pass\\u0077ord\" : \"(hidden)\" },\"(hidden)\", \"b\"]} ";
        assert_eq!(redacted(Some("alfred"), Reason::JwtExpired, payload).as_deref(), Some(expected));
    }

    #[test]
    fn named_values_go_whole() {
        let payload =
            r#"{"h":[{"value":{"pin":1},"name":"Authorization","password":2},{"name":"a","value":"b"}]}"#;
        let expected = r#"{"h":[{"value":"(hidden)","name":"Authorization","password":"(hidden)"},{"name":"a","value":"b"}]}"#;
        assert_eq!(redacted(Some("alfred"), Reason::JwtExpired, payload).as_deref(), Some(expected));
    }

    #[test]
    fn a_format_hides_what_it_says() {
        let payload = r#"{"payload":{"details":{"dump":"x"},"requested_inputs":[{"id":"a","default":"s"}]}}"#;
        let expected =
            r#"{"payload":{"details":"(hidden)","requested_inputs":[{"id":"a","default":"(hidden)"}]}}"#;
        assert_eq!(redacted(Some("bluelabel"), Reason::Stale, payload).as_deref(), Some(expected));
        assert_eq!(redacted(Some("agh"), Reason::Stale, payload), None);
    }

    #[test]
    fn what_cannot_be_read_is_withheld() {
        let told = redacted(None, Reason::JsonSyntax, "{\"auth_token\":\"abc").unwrap();
        let told: Value = serde_json::from_str(&told).unwrap();
        assert_eq!((&told["redacted"], &told["bytes"]), (&Value::Bool(true), &Value::from(18)));
        assert_eq!(redacted(None, Reason::EmptyPayload, ""), None);
    }

    /// Whatever bytes come, the walk ends and stays inside them; valid JSON stays valid.
    #[test]
    fn any_text_is_passed() {
        let texts = [
            "",
            "{",
            "{\"",
            "{\"a\"",
            "{\"a\":",
            "[",
            "[1",
            "[1,",
            "]",
            "\"\\",
            "tru",
            "{\"key\":[",
            "[[[[",
            "{]",
        ];
        for text in texts {
            let _ = redacted(None, Reason::UnknownFormat, text);
        }
        for valid in ["[]", "{}", " [ ] ", "{\"a\":{}}", "[{\"sig\":null},true,-1e5]", "\"eyJ\"", "7"] {
            let out = redacted(None, Reason::UnknownFormat, valid).unwrap_or_else(|| valid.to_owned());
            assert!(serde_json::from_str::<Value>(&out).is_ok(), "{valid} became {out}");
        }
    }
}
