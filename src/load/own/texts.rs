//! Texts that a schema asks for: by pattern, by format, by length.
//!
//! A pattern is read as a tree and followed from left to right; what it says about places (word boundaries, ends in the
//! middle) is passed over. That is enough for the patterns that schemas have, and the program has the last word.

use regex_syntax::hir::{Class, Hir, HirKind};

use crate::load::Random;

/// LIMIT: times that an open repetition is drawn beyond its least.
const MORE_MAX: u64 = 4;
/// LIMIT: characters of a class that are chosen from, so that texts stay readable.
const CLASS_MAX: u64 = 64;

const WORDS: [&str; 12] = [
    "review", "the", "queue", "limit", "agent", "window", "café", "retry", "branch", "tests", "naïve", "plan",
];

/// A text that matches a pattern as a whole, if the pattern can be read.
pub(super) fn matching(pattern: &str, random: &mut Random) -> Option<String> {
    let tree = regex_syntax::Parser::new().parse(&translated(pattern)).ok()?;
    let mut text = String::new();
    follow(&tree, random, &mut text);
    Some(text)
}

/// A pattern in the words of our library: ECMA's `\d` is ASCII. What else differs is left to the check.
pub(super) fn translated(pattern: &str) -> String {
    pattern.replace("\\d", "[0-9]").replace("\\/", "/")
}

fn follow(tree: &Hir, random: &mut Random, text: &mut String) {
    match tree.kind() {
        HirKind::Empty | HirKind::Look(_) => {}
        HirKind::Literal(literal) => text.push_str(&String::from_utf8_lossy(&literal.0)),
        HirKind::Class(class) => text.extend(of_class(class, random)),
        HirKind::Repetition(repetition) => {
            let least = u64::from(repetition.min);
            let most = repetition.max.map_or(least + MORE_MAX, |max| u64::from(max).min(least + MORE_MAX));
            for _ in 0..least + random.below(most - least + 1) {
                follow(&repetition.sub, random, text);
            }
        }
        HirKind::Capture(capture) => follow(&capture.sub, random, text),
        HirKind::Concat(parts) => parts.iter().for_each(|part| follow(part, random, text)),
        HirKind::Alternation(parts) => {
            if let Some(part) = parts.get(random.below(parts.len() as u64) as usize) {
                follow(part, random, text);
            }
        }
    }
}

/// A character of a class: of its visible ASCII if it has any.
fn of_class(class: &Class, random: &mut Random) -> Option<char> {
    let Class::Unicode(class) = class else { return None };
    let visible = |(from, to): (u32, u32)| (from.max(0x21), to.min(0x7E));
    let ranges: Vec<(u32, u32)> =
        class.ranges().iter().map(|range| (u32::from(range.start()), u32::from(range.end()))).collect();
    let ascii: Vec<_> = ranges.iter().copied().map(visible).filter(|(from, to)| from <= to).collect();
    let ranges = if ascii.is_empty() { ranges } else { ascii };
    let (from, to) = ranges.get(random.below(ranges.len() as u64) as usize).copied()?;
    char::from_u32(from + random.below(u64::from(to - from + 1).min(CLASS_MAX)) as u32)
}

/// A text of a format, if it is one that is known here.
pub(super) fn of_format(format: &str, random: &mut Random) -> Option<String> {
    let mut number = |bound: u64| random.below(bound);
    Some(match format {
        "date-time" => format!(
            "2026-{:02}-{:02}T{:02}:{:02}:{:02}.{:03}Z",
            1 + number(12),
            1 + number(28),
            number(24),
            number(60),
            number(60),
            number(1000)
        ),
        "date" => format!("2026-{:02}-{:02}", 1 + number(12), 1 + number(28)),
        "time" => format!("{:02}:{:02}:{:02}Z", number(24), number(60), number(60)),
        "duration" => format!("P{}DT{}H", 1 + number(30), 1 + number(23)),
        "email" | "idn-email" => format!("agent{}@example.com", number(100_000)),
        "hostname" | "idn-hostname" => format!("host{}.example.com", number(100_000)),
        "ipv4" => format!("192.0.2.{}", number(256)),
        "ipv6" => format!("2001:db8::{:x}", number(65_536)),
        "uri" | "iri" => format!("https://example.com/{}", number(1_000_000)),
        "uri-reference" | "iri-reference" => format!("/items/{}", number(1_000_000)),
        "uri-template" => format!("/items/{{id}}/{}", number(1_000)),
        "uuid" => {
            let (high, low) = (number(u64::MAX), number(u64::MAX));
            let (a, b, c) = (high >> 32, high >> 16 & 0xFFFF, high & 0xFFF);
            format!("{a:08x}-{b:04x}-4{c:03x}-{:04x}-{:012x}", 0x8000 | (low >> 50), low & 0xFFFF_FFFF_FFFF)
        }
        "json-pointer" => format!("/items/{}", number(1_000)),
        "relative-json-pointer" => format!("{}/items", number(10)),
        "regex" => format!("^[a-z]{{{}}}$", 1 + number(9)),
        _ => return None,
    })
}

/// Words of a length in characters within bounds.
pub(super) fn words(least: u64, most: u64, random: &mut Random) -> String {
    let wanted = (least + random.below(most.saturating_sub(least).min(24) + 1)) as usize;
    let mut text = String::new();
    while text.chars().count() < wanted {
        text.push_str(WORDS.get(random.below(WORDS.len() as u64) as usize).copied().unwrap_or_default());
        text.push(' ');
    }
    text.chars().take(wanted).collect()
}
