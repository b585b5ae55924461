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
    // PERF: nearly every path is told by a glance at eight bytes at a time.
    if looks_safe(bytes) {
        return true;
    }
    let harmless = !path.contains(|c: char| c.is_control() || c == '\\');
    harmless && is_relative(path) && bytes.split(|byte| *byte == b'/').all(is_safe_segment)
}

/// Whether nothing in a path needs a closer look: no control character, backslash or colon, no segment that is empty or
/// begins with a dot, no `~` in front.
fn looks_safe(path: &[u8]) -> bool {
    const ONES: u64 = 0x0101_0101_0101_0101;
    const HIGH: u64 = 0x8080_8080_8080_8080;
    // The high bit of each byte that is zero; exact for the first such byte, and others only add to what is looked at.
    let zeros = |word: u64| word.wrapping_sub(ONES) & !word & HIGH;
    let is = |word: u64, byte: u8| zeros(word ^ (ONES * u64::from(byte)));
    let odd = |word: u64| {
        (word.wrapping_sub(ONES * 0x20) & !word & HIGH)
            | is(word, 0x7F)
            | is(word, b'\\')
            | is(word, b':')
            | is(word, C1_LEAD)
    };
    // What stands in front of the path counts as a slash.
    let mut slash_before = 0x80;
    let mut clean = |word: u64| {
        let slashes = is(word, b'/');
        let begins = slashes << 8 | slash_before;
        slash_before = slashes >> 56;
        odd(word) == 0 && begins & (slashes | is(word, b'.')) == 0
    };
    let (words, rest) = path.as_chunks();
    // The last bytes are filled up with letters.
    let mut last = [b'a'; 8];
    for (place, byte) in last.iter_mut().zip(rest) {
        *place = *byte;
    }
    !matches!(path, [] | [b'~', ..] | [.., b'/'])
        && words.iter().all(|word| clean(u64::from_le_bytes(*word)))
        && clean(u64::from_le_bytes(last))
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
            "a/.GIT",
            ".Git",
        ];
        for path in unsafe_ones {
            assert!(!is_safe(path, false), "{path}");
        }
        assert!(is_safe("a/b/", true) && !is_safe("a//", true) && !is_safe("/", true) && !is_safe("", true));
    }
}
