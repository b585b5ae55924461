//! Relative paths: those that stay inside a repository.

/// Whether a path begins as relative ones do: not at a root, a home, a drive or a scheme.
#[must_use]
pub(super) fn is_relative(path: &str) -> bool {
    !path.starts_with(['/', '\\', '~']) && !has_scheme(path)
}

/// Whether a path stays inside the repository and names a file (or, with `directory`, something that may end in `/`).
///
/// No Unicode normalisation: names are compared as bytes.
#[must_use]
pub(super) fn is_safe(path: &str, directory: bool) -> bool {
    let path = if directory { path.strip_suffix('/').unwrap_or(path) } else { path };
    let bytes = path.as_bytes();
    let is_odd = |byte: &u8| byte.is_ascii_control() || matches!(*byte, b'\\' | C1_LEAD);
    // PERF: nearly every path is told by its bytes alone, many at once.
    let harmless = !bytes.iter().fold(false, |odd, byte| odd | is_odd(byte))
        || !path.contains(|c: char| c.is_control() || c == '\\');
    harmless && is_relative(path) && bytes.split(|byte| *byte == b'/').all(is_safe_segment)
}

/// What control characters beyond ASCII begin with in UTF-8.
const C1_LEAD: u8 = 0xC2;

fn is_safe_segment(segment: &[u8]) -> bool {
    match segment {
        [] => false,
        [b'.', rest @ ..] => !matches!(rest, [] | [b'.']) && !rest.eq_ignore_ascii_case(b"git"),
        _ => true,
    }
}

/// `file:`, `https:`, `C:`.
fn has_scheme(path: &str) -> bool {
    let is_part = |byte: &u8| byte.is_ascii_alphanumeric() || matches!(byte, b'+' | b'-' | b'.');
    let bytes = path.as_bytes();
    let len = bytes.iter().take_while(|byte| is_part(byte)).count();
    bytes.get(len) == Some(&b':') && bytes.first().is_some_and(u8::is_ascii_alphabetic)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_that_leave_the_repository_are_told() {
        for path in
            ["a", "a/b.md", ".workflow/index.md", "a b/c", "é/ü", "a/b:c", "..a/b..", ".github/x", "a.git/x"]
        {
            assert!(is_safe(path, false), "{path}");
        }
        let unsafe_ones = [
            "",
            "/",
            "/a",
            "~",
            "~/a",
            "~user/a",
            "C:",
            "C:/a",
            "file:///a",
            "http:a",
            "a//b",
            "a/",
            "a/./b",
            "./a",
            "a/..",
            "../a",
            "a\\b",
            "\\a",
            "a\0",
            "a\nb",
            "a/\u{7f}",
            "a\u{85}",
            ".git/x",
            "a/.GIT",
            ".Git",
        ];
        for path in unsafe_ones {
            assert!(!is_safe(path, false), "{path}");
        }
        assert!(is_safe("a/b/", true) && !is_safe("a//", true) && !is_safe("/", true) && !is_safe("", true));
    }
}
