//! Puts a text into one member of a JSON document and leaves every other byte as it is.
//!
//! The document was parsed before, so this only has to find its way: it looks at quotes, brackets and commas, and must
//! not be used on bytes that are not JSON.

use std::ops::Range;

/// `document` with the text at `path` set to `value`; `None` if an object on the way is missing.
///
/// `value` must need no escapes. The last name of the path is added at the end of its object if it is not there.
pub(super) fn splice(document: &[u8], path: &[&str], value: &str) -> Option<Vec<u8>> {
    let (last, parents) = path.split_last()?;
    let mut object = skip_white(document, 0);
    for name in parents {
        object = match find(document, object, name)? {
            Found::Value(range) => range.start,
            Found::Absent { .. } => return None,
        };
    }
    let (range, text) = match find(document, object, last)? {
        Found::Value(range) => (range, format!("\"{value}\"")),
        Found::Absent { end, is_empty } => {
            (end..end, format!("{}\"{last}\":\"{value}\"", if is_empty { "" } else { "," }))
        }
    };
    Some([document.get(..range.start)?, text.as_bytes(), document.get(range.end..)?].concat())
}

enum Found {
    Value(Range<usize>),
    /// Where the last member ends, or the opening bracket of an empty object.
    Absent {
        end: usize,
        is_empty: bool,
    },
}

/// Looks for a member of the object that opens at `object`.
fn find(document: &[u8], object: usize, name: &str) -> Option<Found> {
    if document.get(object) != Some(&b'{') {
        return None;
    }
    let (mut end, mut is_empty) = (object + 1, true);
    loop {
        let at = skip_white(document, end);
        let at = if document.get(at) == Some(&b',') { skip_white(document, at + 1) } else { at };
        if document.get(at) == Some(&b'}') {
            return Some(Found::Absent { end, is_empty });
        }
        let name_end = string_end(document, at)?;
        let found: String = serde_json::from_slice(document.get(at..name_end)?).ok()?;
        let colon = skip_white(document, name_end);
        let value = skip_white(document, colon + 1);
        end = value_end(document, value)?;
        is_empty = false;
        if found == name {
            return Some(Found::Value(value..end));
        }
    }
}

fn skip_white(document: &[u8], at: usize) -> usize {
    let rest = document.get(at..).unwrap_or_default();
    at + rest.iter().position(|byte| !matches!(byte, b' ' | b'\t' | b'\n' | b'\r')).unwrap_or(rest.len())
}

/// The place behind the string that opens at `at`.
fn string_end(document: &[u8], at: usize) -> Option<usize> {
    let mut at = at + 1;
    loop {
        match document.get(at)? {
            b'"' => return Some(at + 1),
            b'\\' => at += 2,
            _ => at += 1,
        }
    }
}

/// The place behind the value that begins at `at`.
fn value_end(document: &[u8], start: usize) -> Option<usize> {
    let (mut at, mut depth) = (start, 0_usize);
    loop {
        match document.get(at) {
            Some(b'"') => at = string_end(document, at)?,
            Some(b'{' | b'[') => (at, depth) = (at + 1, depth + 1),
            Some(b'}' | b']') if depth > 0 => (at, depth) = (at + 1, depth - 1),
            Some(b',' | b'}' | b']' | b' ' | b'\t' | b'\n' | b'\r') | None if depth == 0 => {
                return (at > start).then_some(at);
            }
            Some(_) => {
                at += 1;
                continue;
            }
            None => return None,
        }
        if depth == 0 {
            return Some(at);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::splice;

    #[test]
    fn only_the_member_changes() {
        for (document, path, expected) in [
            (r#"{"a":1}"#, vec!["s"], r#"{"a":1,"s":"X"}"#),
            ("{}", vec!["s"], r#"{"s":"X"}"#),
            ("{ }\n", vec!["s"], "{\"s\":\"X\" }\n"),
            (r#" { "a" : 1 } "#, vec!["s"], r#" { "a" : 1,"s":"X" } "#),
            (r#"{"s":"old","b":[1,{"s":2}]}"#, vec!["s"], r#"{"s":"X","b":[1,{"s":2}]}"#),
            (r#"{"b":[1,{"s":2}],"s" : null }"#, vec!["s"], r#"{"b":[1,{"s":2}],"s" : "X" }"#),
            (
                r#"{"x":"\"},","p":{"s":{"a":["]"]}},"s":1}"#,
                vec!["p", "s"],
                r#"{"x":"\"},","p":{"s":"X"},"s":1}"#,
            ),
            (r#"{"\u0073":1.50e+3,"t":1E4}"#, vec!["s"], r#"{"\u0073":"X","t":1E4}"#),
            (r#"{"a":-1,"p":{"q":{"z":[]}}}"#, vec!["p", "q", "s"], r#"{"a":-1,"p":{"q":{"z":[],"s":"X"}}}"#),
        ] {
            let got = splice(document.as_bytes(), &path, "X").map(|bytes| String::from_utf8(bytes).unwrap());
            assert_eq!(got.as_deref(), Some(expected), "{document}");
        }
        for document in [r#"{"a":1}"#, r#"{"p":[]}"#, "[]", "7"] {
            assert_eq!(splice(document.as_bytes(), &["p", "s"], "X"), None, "{document}");
        }
    }
}
