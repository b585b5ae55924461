//! Relative paths: those that stay inside a repository.

/// Whether a path begins as relative ones do: not at a root, a home, a drive or a scheme.
#[must_use]
pub(super) fn is_relative(path: &str) -> bool {
    !path.starts_with(['/', '\\', '~']) && !has_scheme(path)
}

/// What stands behind a path's last `/`.
#[must_use]
pub(super) fn file_name(path: &str) -> &str {
    let begin = memchr::memrchr(b'/', path.as_bytes()).map_or(0, |slash| slash + 1);
    path.get(begin..).unwrap_or_default()
}

/// Whether a path stays inside the repository and names a file (or, with `directory`, something that may end in `/`).
///
/// No Unicode normalisation: names are compared as bytes.
#[must_use]
pub(super) fn is_safe(path: &str, directory: bool) -> bool {
    let path = if directory { path.strip_suffix('/').unwrap_or(path) } else { path };
    // Nearly every path is told by a glance.
    looks_safe(path.as_bytes()) || is_safe_closely(path)
}

fn is_safe_closely(path: &str) -> bool {
    let harmless = !path.contains(|c: char| c.is_control() || c == '\\');
    harmless && is_relative(path) && path.as_bytes().split(|byte| *byte == b'/').all(is_safe_segment)
}

/// Whether nothing in a path needs a closer look: it is not short, has no control character, backslash or colon, no segment
/// that is empty or begins with a dot, no `~` in front. The first segment may begin with a dot if what follows cannot be
/// that of `.git`: many repositories keep their plans in such a directory.
///
/// PERF: bytes are looked at in groups, each next to the one in front of it; compilers make a few wide instructions of it.
#[expect(clippy::needless_bitwise_bool, reason = "lazy operators would be branches")]
fn looks_safe(path: &[u8]) -> bool {
    const GROUP: usize = 16;
    let is_odd =
        |byte: u8| (byte < 0x20) | (byte == b'\\') | (byte == b':') | (byte == 0x7F) | (byte == C1_LEAD);
    let any_odd = |before: &[u8; GROUP], bytes: &[u8; GROUP]| {
        before.iter().zip(bytes).fold(false, |odd, (before, byte)| {
            odd | is_odd(*byte) | ((*before == b'/') & ((*byte == b'/') | (*byte == b'.')))
        })
    };
    let ([first, bytes @ ..], [before @ .., last]) = (path, path) else { return false };
    // The last group overlaps the one before it.
    let (Some(last_before), Some(last_bytes)) = (before.last_chunk(), bytes.last_chunk()) else {
        return false;
    };
    let mut groups = before.as_chunks().0.iter().zip(bytes.as_chunks().0);
    let begins_well = match (first, bytes) {
        (b'.', [second, ..]) => !matches!(second, b'/' | b'.' | b'g' | b'G'),
        _ => !matches!(first, b'/' | b'~'),
    };
    let ends_well = begins_well && !is_odd(*first) && *last != b'/';
    ends_well && !groups.any(|(before, bytes)| any_odd(before, bytes)) && !any_odd(last_before, last_bytes)
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
        for path in [
            "a",
            "a/b.md",
            "12345678/b",
            "1234567/b",
            "a/b/c/d/e/f/g/h/i.j",
            "docs/a-b_c/file.name.md",
            ".workflow/index.md",
            ".artifacts/plans/index.md",
            ".gitlab/long/path/to/a.file",
            "a b/c",
            "é/ü",
            "a/b:c",
            "..a/b..",
            ".github/x",
            "a.git/x",
        ] {
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
            "12345678//b",
            "1234567//b",
            "12345678/./b",
            "1234567/../b",
            "12345678/.git/b",
            "12345678\\",
            "12345678\u{85}",
            "a\nb",
            "a/\u{7f}",
            "a\u{85}",
            ".git/x",
            ".git/long/path/to/a.file",
            ".GIT/long/path/to/a.file",
            "./long/path/to/a.file",
            "../long/path/to/a.file",
            "a/.GIT",
            ".Git",
        ];
        for path in unsafe_ones {
            assert!(!is_safe(path, false), "{path}");
        }
        assert!(is_safe("a/b/", true) && !is_safe("a//", true) && !is_safe("/", true) && !is_safe("", true));
    }

    #[test]
    fn a_glance_never_lets_pass_what_a_closer_look_does_not() {
        for len in 1..=70 {
            for at in 0..len {
                for odd in [
                    "/", ".", "..", "//", "/.", "/./", "~", ":", "\\", "\n", "\u{7f}", "\u{85}", "é",
                    "/.git/",
                ] {
                    let path = format!("{}{odd}{}", "a".repeat(at), "b".repeat(len - at));
                    for path in [path.as_str(), path.trim_end_matches('b')] {
                        let closely = is_safe_closely(path);
                        assert!(closely || !looks_safe(path.as_bytes()), "{path:?}");
                        assert_eq!(is_safe(path, false), closely, "{path:?}");
                    }
                }
            }
        }
    }
}
