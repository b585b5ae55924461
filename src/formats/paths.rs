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
    is_relative(path)
        && !path.contains(|c: char| c.is_control() || c == '\\')
        && path
            .split('/')
            .all(|segment| !matches!(segment, "" | "." | "..") && !segment.eq_ignore_ascii_case(".git"))
}

/// `file:`, `https:`, `C:`.
fn has_scheme(path: &str) -> bool {
    path.split_once(':').is_some_and(|(scheme, _)| {
        scheme.starts_with(|c: char| c.is_ascii_alphabetic())
            && scheme.bytes().all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'+' | b'-' | b'.'))
    })
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
