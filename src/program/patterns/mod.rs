//! The keyword `pattern` and its kin: ECMA-262 text → tree → a matcher that needs no memory.
//!
//! Common shapes become plain byte checks (`direct`), the rest a DFA that is built ahead. Nothing here backtracks: a
//! match costs time linear in the string, whatever the pattern. What cannot be matched that way (lookaround,
//! back-references) is refused at compile time with the pattern's name.

mod direct;
mod ecma;

use direct::Direct;
use regex_automata::dfa::{Automaton, StartKind, dense};
use regex_automata::nfa::thompson;
use regex_automata::util::syntax;
use regex_automata::{Anchored, Input, MatchKind};

/// Deepest nesting of groups.
const PATTERN_NESTING_MAX: u32 = 100;

/// A compiled pattern.
#[derive(Debug)]
pub(super) struct Pattern {
    matcher: Matcher,
}

#[derive(Debug)]
enum Matcher {
    Direct(Direct),
    Dfa(Box<dense::DFA<Vec<u32>>>),
}

/// The limits of one pattern.
#[derive(Clone, Copy, Debug)]
pub(super) struct PatternLimits {
    /// Longest pattern text.
    pub(super) text_bytes_max: usize,
    /// Largest matcher.
    pub(super) program_bytes_max: usize,
}

impl Pattern {
    /// Compiles `text`; the error says what is wrong with it.
    pub(super) fn new(text: &str, limits: PatternLimits) -> Result<Self, String> {
        if text.len() > limits.text_bytes_max {
            return Err(format!(
                "the pattern has {} bytes; the limit `pattern_bytes_max` is {}",
                text.len(),
                limits.text_bytes_max
            ));
        }
        let translated = ecma::translate(text, false).map_err(|problem| with_allowed(&problem))?;
        let syntax = syntax::Config::new().unicode(true).utf8(true).nest_limit(PATTERN_NESTING_MAX);
        let direct = syntax::parse_with(&translated, &syntax).ok().and_then(|tree| Direct::new(&tree));
        let matcher = match direct {
            Some(direct) => Matcher::Direct(direct),
            None => Matcher::Dfa(Box::new(build_dfa(&translated, limits.program_bytes_max)?)),
        };
        Ok(Self { matcher })
    }

    /// How many bytes the matcher takes, about.
    pub(super) fn memory_bytes(&self) -> usize {
        match &self.matcher {
            Matcher::Direct(_) => 256,
            Matcher::Dfa(dfa) => dfa.memory_usage(),
        }
    }

    /// Whether the pattern matches somewhere in `text`.
    #[inline]
    pub(super) fn is_match(&self, text: &str) -> bool {
        match &self.matcher {
            Matcher::Direct(direct) => direct.is_match(text.as_bytes()),
            Matcher::Dfa(dfa) => is_found(dfa, text),
        }
    }
}

/// PERF: out of line, so that byte checks need no stack for the sake of the automaton.
#[inline(never)]
fn is_found(dfa: &dense::DFA<Vec<u32>>, text: &str) -> bool {
    let input = Input::new(text).earliest(true).anchored(Anchored::No);
    matches!(dfa.try_search_fwd(&input), Ok(Some(_)))
}

/// The format `regex`: whether `text` is a regular expression of ECMA-262, also one that we cannot match.
pub(super) fn is_regex(text: &str) -> bool {
    // The tree of the syntax suffices; classes are not built, so that this stays linear in the text.
    let mut parser = regex_syntax::ast::parse::ParserBuilder::new().nest_limit(PATTERN_NESTING_MAX).build();
    ecma::translate(text, true).is_ok_and(|translated| parser.parse(&translated).is_ok())
}

fn build_dfa(pattern: &str, bytes_max: usize) -> Result<dense::DFA<Vec<u32>>, String> {
    dense::Builder::new()
        .configure(
            dense::Config::new()
                .start_kind(StartKind::Unanchored)
                .match_kind(MatchKind::All)
                .dfa_size_limit(Some(bytes_max))
                .determinize_size_limit(Some(bytes_max)),
        )
        .thompson(thompson::Config::new().nfa_size_limit(Some(bytes_max)))
        .syntax(syntax::Config::new().unicode(true).utf8(true).nest_limit(PATTERN_NESTING_MAX))
        .build(pattern)
        .map_err(|error| {
            let nfa = std::error::Error::source(&error).and_then(|cause| cause.downcast_ref());
            let is_nfa_limit = nfa.is_some_and(|nfa: &thompson::BuildError| nfa.size_limit().is_some());
            if error.is_size_limit_exceeded() || is_nfa_limit {
                format!(
                    "its matcher takes more bytes than the limit `pattern_program_bytes_max` = {bytes_max}"
                )
            } else {
                with_allowed(&reason(&error))
            }
        })
}

/// What is wrong with a pattern, and what is allowed.
fn with_allowed(problem: &str) -> String {
    format!("{problem}; allowed is a regular expression of ECMA-262 without lookaround and back-references")
}

/// The innermost cause: the outer errors only say that a regex could not be built.
fn reason(error: &dense::BuildError) -> String {
    let mut cause: &dyn std::error::Error = error;
    while let Some(inner) = cause.source() {
        cause = inner;
    }
    let text = cause.to_string();
    // A syntax error is several lines with the pattern in between; its last line says what is wrong.
    let last = text.lines().last().unwrap_or_default();
    last.strip_prefix("error: ").unwrap_or(last).to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    const LIMITS: PatternLimits = PatternLimits { text_bytes_max: 4096, program_bytes_max: 1 << 20 };

    fn matches(pattern: &str, text: &str) -> bool {
        Pattern::new(pattern, LIMITS).unwrap().is_match(text)
    }

    #[test]
    fn ecma_semantics_hold() {
        for (pattern, text, expected) in [
            ("a", "xay", true),
            ("^a+$", "aaa", true),
            ("^a$", "a\n", false),
            (r"^(issue|pr)-\d+$", "issue-42", true),
            (r"^(issue|pr)-\d+$", "issue-٤٢", false),
            (r"^(issue|pr)-\d+$", "issue-42\n", false),
            (r"^\w$", "é", false),
            (r"^\W$", "é", true),
            (r"^\s$", "\u{feff}", true),
            (r"^\s$", "\u{85}", false),
            (r"^\S$", "a", true),
            (r"^.$", "\u{2028}", false),
            (r"^.$", "💥", true),
            (r"^\u{1F4A5}$", "💥", true),
            (r"^\uD83D\uDCA5$", "💥", true),
            (r"^\cA$", "\u{1}", true),
            (r"^[^]$", "\n", true),
            (r"^[\d\-x]+$", "1-x", true),
            (r"^\p{Letter}+$", "Größe", true),
            (r"^\p{Script=Greek}$", "λ", true),
            (r"^\/a\-$", "/a-", true),
            (r"a{,2}", "a{,2}", true),
            (r"[a-z]b", "Qzb", true),
            (r"\bfoo\b", "a foo b", true),
            (r"\bfoo\b", "afoo", false),
            (r"^[\w.-]+$", "a.b-c", true),
            ("^(?<year>[0-9]{4})$", "2024", true),
            (r"^[\b]$", "\u{8}", true),
            ("^[&&a]$", "&", true),
            ("^[[a]$", "[", true),
            ("^[a~~b]$", "~", true),
            (r"^\x41$", "A", true),
            (r"^a\0$", "a\0", true),
            ("", "anything", true),
        ] {
            assert_eq!(matches(pattern, text), expected, "{pattern} {text:?}");
        }
    }

    #[test]
    #[expect(clippy::too_many_lines, reason = "a table")]
    fn byte_checks_agree_with_automata() {
        let patterns = [
            ("^msg-[0-9a-f]{8}-[0-9a-f]{4}$", true),
            (r"^(issue|pr)-\d+$", true),
            ("^sha256:[0-9a-f]{4}$", true),
            ("^s:[0-9a-f]{16}x?$", true),
            ("^[a-z]{20}[a-z]$", true),
            ("^[a-z][a-z0-9_]*$", true),
            ("^[a-z0-9]+-[0-9]{2,3}$", true),
            ("^[^/]+/[^/]*$", true),
            ("^a+b?c$", true),
            ("^x-", true),
            ("^[A-Z_]{1,3}$", true),
            ("^(a|ab)c$", false),
            ("^[a-z]+z$", false),
            ("^a*$", true),
            ("^.{3}$", false),
            ("a-[0-9]", false),
            ("^a*[0-9]?a$", false),
        ];
        let texts = [
            "",
            "a",
            "ab",
            "abc",
            "ac",
            "aac",
            "aabc",
            "abbc",
            "x-",
            "x-y",
            "x",
            "msg-0123abcd-0a1b",
            "msg-0123abcg-0a1b",
            "msg-0123abcd-0a1b0",
            "issue-1",
            "issue-",
            "pr-123",
            "prx-1",
            "issue-1\n",
            "sha256:0af9",
            "s:0123456789abcdef",
            "s:0123456789abcdefx",
            "s:0123456789abcdeg",
            "s:0123456789abcde",
            "abcdefghijklmnopqrstu",
            "abcdefghijklmnopqrst{",
            "sha256:0aF9",
            "a_1",
            "1a",
            "ab1-12",
            "ab1-1",
            "ab1-1234",
            "ä/ö",
            "/",
            "a/",
            "a/b/c",
            "ABC",
            "ABCD",
            "zz",
            "abz",
            "äöü",
            "aäb",
            "a-1",
            "xa-1",
            "a1a",
            "aa",
        ];
        for (text, is_direct) in patterns {
            let pattern = Pattern::new(text, LIMITS).unwrap();
            assert_eq!(matches!(pattern.matcher, Matcher::Direct(_)), is_direct, "{text}");
            let dfa = build_dfa(&ecma::translate(text, false).unwrap(), LIMITS.program_bytes_max).unwrap();
            let automaton = Pattern { matcher: Matcher::Dfa(Box::new(dfa)) };
            for candidate in texts {
                assert_eq!(
                    pattern.is_match(candidate),
                    automaton.is_match(candidate),
                    "{text} {candidate:?}"
                );
            }
        }
    }

    #[test]
    fn what_cannot_be_matched_is_refused_by_name() {
        for (pattern, part) in [
            ("(?=a)", "lookahead"),
            ("(?!a)", "lookahead"),
            ("(?<=a)", "lookbehind"),
            (r"(a)\1", "back-reference"),
            (r"(?<x>a)\k<x>", "back-reference"),
            ("(a", "unclosed"),
            ("[a", "unclosed"),
            (r"\a", "escape"),
        ] {
            let error = Pattern::new(pattern, LIMITS).unwrap_err();
            assert!(error.contains(part), "{pattern}: {error}");
        }
        for pattern in [r"^(?!a)(?<=b)\1$", "[a-z]+", r"\p{L}[\p{N}\d.]*", "a{2,3}{", ".[^.]{,2}"] {
            assert!(is_regex(pattern), "{pattern}");
        }
        for pattern in ["(", "a)", "[z-a]", r"\p{Nothing}", r"[\p{Nothing}]", "a{3,2}", "*a", r"\"] {
            assert!(!is_regex(pattern), "{pattern}");
        }
        for pattern in ["[01]*1[01]{30}", "(a{1000}){1000}"] {
            let error = Pattern::new(pattern, LIMITS).unwrap_err();
            assert!(error.contains("`pattern_program_bytes_max` = 1048576"), "{error}");
        }
        assert!(Pattern::new(&"a".repeat(5000), LIMITS).unwrap_err().contains("pattern_bytes_max"));
    }
}
