//! URI references: splitting and resolving them against a base (RFC 3986, section 5).
//!
//! Used for `$id` and `$ref` at compile time only; nothing is fetched, and nothing here judges whether a URI is valid.

/// The five parts of a reference, without their delimiters.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Parts<'a> {
    scheme: Option<&'a str>,
    authority: Option<&'a str>,
    path: &'a str,
    query: Option<&'a str>,
}

/// Splits off the fragment; an empty or absent one is `""`.
pub(super) fn split_fragment(reference: &str) -> (&str, &str) {
    reference.split_once('#').unwrap_or((reference, ""))
}

fn split(reference: &str) -> Parts<'_> {
    let (rest, _) = split_fragment(reference);
    let (rest, query) = rest.split_once('?').map_or((rest, None), |(rest, query)| (rest, Some(query)));
    let (scheme, rest) = match rest.split_once(':') {
        Some((scheme, behind)) if is_scheme(scheme) => (Some(scheme), behind),
        _ => (None, rest),
    };
    let (authority, path) = match rest.strip_prefix("//") {
        Some(behind) => {
            let end = behind.find('/').unwrap_or(behind.len());
            let (authority, path) = behind.split_at(end);
            (Some(authority), path)
        }
        None => (None, rest),
    };
    Parts { scheme, authority, path, query }
}

fn is_scheme(text: &str) -> bool {
    text.starts_with(|first: char| first.is_ascii_alphabetic())
        && text.bytes().all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'+' | b'-' | b'.'))
}

/// `reference` seen from `base`, without its fragment.
pub(super) fn resolve(base: &str, reference: &str) -> String {
    let (reference, _) = split_fragment(reference);
    let (base, _) = split_fragment(base);
    if reference.is_empty() {
        return base.to_owned();
    }
    let (from, to) = (split(base), split(reference));
    let mut parts = to;
    let path;
    if to.scheme.is_some() {
        path = without_dots(to.path);
    } else if to.authority.is_some() {
        parts.scheme = from.scheme;
        path = without_dots(to.path);
    } else {
        parts.scheme = from.scheme;
        parts.authority = from.authority;
        path = match to.path {
            "" => {
                parts.query = to.query.or(from.query);
                from.path.to_owned()
            }
            absolute if absolute.starts_with('/') => without_dots(absolute),
            relative => {
                let directory =
                    from.path.rfind('/').map_or("", |slash| from.path.get(..=slash).unwrap_or_default());
                let directory =
                    if from.authority.is_some() && from.path.is_empty() { "/" } else { directory };
                without_dots(&format!("{directory}{relative}"))
            }
        };
    }
    join(parts, &path)
}

fn join(parts: Parts<'_>, path: &str) -> String {
    let mut text = String::new();
    for (part, before, behind) in [(parts.scheme, "", ":"), (parts.authority, "//", "")] {
        if let Some(part) = part {
            text.extend([before, part, behind]);
        }
    }
    text.push_str(path);
    if let Some(query) = parts.query {
        text.extend(["?", query]);
    }
    text
}

/// A path without its segments `.` and `..`.
fn without_dots(path: &str) -> String {
    if !path.contains('.') {
        return path.to_owned();
    }
    let mut kept: Vec<&str> = Vec::new();
    let mut segments = path.split('/').peekable();
    while let Some(segment) = segments.next() {
        let last = segments.peek().is_none();
        match segment {
            "." | ".." => {
                // The empty first segment of an absolute path stays.
                if segment == ".." && kept.len() > usize::from(path.starts_with('/')) {
                    kept.pop();
                }
                if last {
                    kept.push("");
                }
            }
            other => kept.push(other),
        }
    }
    kept.join("/")
}

/// Decodes `%xx`; what is not a valid escape stays as it is.
pub(super) fn percent_decode(text: &str) -> String {
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.as_bytes();
    while let [first, behind @ ..] = rest {
        let hex = |byte: u8| (byte as char).to_digit(16);
        match *rest {
            [b'%', high, low, ref behind @ ..] if hex(high).is_some() && hex(low).is_some() => {
                bytes.push((hex(high).unwrap_or(0) * 16 + hex(low).unwrap_or(0)) as u8);
                rest = behind;
            }
            _ => {
                bytes.push(*first);
                rest = behind;
            }
        }
    }
    String::from_utf8_lossy(&bytes).into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_examples_of_rfc_3986_resolve() {
        for (reference, expected) in [
            ("g:h", "g:h"),
            ("g", "http://a/b/c/g"),
            ("./g", "http://a/b/c/g"),
            ("g/", "http://a/b/c/g/"),
            ("/g", "http://a/g"),
            ("//g", "http://g"),
            ("?y", "http://a/b/c/d;p?y"),
            ("g?y", "http://a/b/c/g?y"),
            ("", "http://a/b/c/d;p?q"),
            (".", "http://a/b/c/"),
            ("..", "http://a/b/"),
            ("../g", "http://a/b/g"),
            ("../..", "http://a/"),
            ("../../../g", "http://a/g"),
            ("g.", "http://a/b/c/g."),
            ("..g", "http://a/b/c/..g"),
        ] {
            assert_eq!(resolve("http://a/b/c/d;p?q", reference), expected, "{reference}");
        }
        assert_eq!(resolve("urn:uuid:1", "#a"), "urn:uuid:1");
        assert_eq!(resolve("http://a", "b.json"), "http://a/b.json");
        assert_eq!(resolve("dir/a.json", "b.json"), "dir/b.json");
    }
}
