//! How the texts of Alfred are spelled, as checks over bytes.
//!
//! Every grammar matches the whole text. This file must not know profiles, settings or members.

/// A version 4 UUID in the usual form, of either case; `text` is known to be 8-4-4-4-12 hex digits.
pub(super) fn is_uuid_v4(text: &str) -> bool {
    matches!(text.as_bytes().get(14), Some(b'4'))
        && matches!(text.as_bytes().get(19), Some(b'8' | b'9' | b'a' | b'b' | b'A' | b'B'))
}

/// Whether a date-time has a fraction of a second that microseconds cannot hold.
pub(super) fn has_finer_than_micros(date_time: &str) -> bool {
    let fraction = date_time.split_once('.').map_or("", |(_, fraction)| fraction);
    fraction.bytes().take_while(u8::is_ascii_digit).skip(6).any(|digit| digit != b'0')
}

/// Whether a version's first part is `major`. The parts are digits of any length and are never made numbers: leading
/// zeros are dropped and the digits compared.
pub(super) fn has_major(version: &str, major: u32) -> bool {
    let digits = version.split('.').next().unwrap_or_default().trim_start_matches('0');
    let mut rest = major;
    for digit in digits.bytes().rev() {
        if rest == 0 || u32::from(digit.wrapping_sub(b'0')) != rest % 10 {
            return false;
        }
        rest /= 10;
    }
    rest == 0
}

/// An intent or an error code: a capital, then capitals, digits and underscores.
pub(super) fn is_capitals(text: &str) -> bool {
    match text.as_bytes() {
        [first, rest @ ..] => {
            first.is_ascii_uppercase()
                && rest.iter().all(|byte| matches!(byte, b'A'..=b'Z' | b'0'..=b'9' | b'_'))
        }
        [] => false,
    }
}

/// LIMIT: characters of an intent.
const INTENT_LEN_MAX: usize = 128;

/// An intent: capitals, digits and underscores, at most 128.
pub(super) fn is_intent(text: &str) -> bool {
    text.len() <= INTENT_LEN_MAX && is_capitals(text)
}

/// LIMIT: characters of a reply target.
const REPLY_TO_LEN_MAX: usize = 255;

/// A reply target: `a2a` and 1 to 4 segments after dots (a topic), or 1 to 3 after colons (a channel).
///
/// The dead letter topic is none: answers there would go round for ever.
pub(super) fn is_reply_to(text: &str) -> bool {
    let Some(rest) = text.strip_prefix("a2a") else { return false };
    let (separator, segments_max) = match rest.bytes().next() {
        Some(b'.') => ('.', 4),
        Some(b':') => (':', 3),
        _ => return false,
    };
    let segments = || rest.split(separator).skip(1);
    text.len() <= REPLY_TO_LEN_MAX
        && segments().count() <= segments_max
        && segments().all(is_segment)
        && segments().next() != Some("deadletter")
}

/// A lower-case letter or digit, then more of those, `_` and `-`.
fn is_segment(text: &str) -> bool {
    let is_plain = |byte: &u8| matches!(byte, b'a'..=b'z' | b'0'..=b'9');
    match text.as_bytes() {
        [first, rest @ ..] => {
            is_plain(first) && rest.iter().all(|byte| is_plain(byte) || matches!(byte, b'_' | b'-'))
        }
        [] => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn uuids() {
        for (text, v4) in [
            ("8c0f2d1e-5b7a-4c3d-9e2f-000000000003", true),
            ("8C0F2D1E-5B7A-4C3D-BE2F-000000000003", true),
            ("8c0f2d1e-5b7a-4c3d-ae2f-000000000003", true),
            ("8c0f2d1e-5b7a-4c3d-ce2f-000000000003", false),
            ("8c0f2d1e-5b7a-4c3d-7e2f-000000000003", false),
            ("123e4567-e89b-12d3-a456-426614174000", false),
            ("00000000-0000-0000-0000-000000000000", false),
            ("8c0f2d1e-5b7a-5c3d-9e2f-000000000003", false),
        ] {
            assert_eq!(is_uuid_v4(text), v4, "{text}");
        }
    }

    #[test]
    fn versions() {
        for (version, major, holds) in [
            ("2.1.0", 2, true),
            ("02.1.0", 2, true),
            ("20.1.0", 2, false),
            ("12.1.0", 2, false),
            ("1.0.0", 2, false),
            ("0.1.0", 0, true),
            ("0.1.0", 2, false),
            ("12.0.0", 12, true),
            ("4294967295.0.0", u32::MAX, true),
            ("99999999999999999999999999999999.0.0", 2, false),
            ("2.99999999999999999999999999999999.0", 2, true),
        ] {
            assert_eq!(has_major(version, major), holds, "{version} {major}");
        }
        assert!(has_finer_than_micros("2025-05-13T14:36:00.0000001Z"));
        assert!(!has_finer_than_micros("2025-05-13T14:36:00.0000000+01:00"));
        assert!(!has_finer_than_micros("2025-05-13T14:36:00.123456Z"));
        assert!(!has_finer_than_micros("2025-05-13T14:36:00Z"));
    }

    #[test]
    fn reply_targets() {
        let longest = format!("a2a.{}", "x".repeat(251));
        for (text, holds) in [
            ("a2a.tasks", true),
            ("a2a.tasks.completed.alfred-bot", true),
            ("a2a.a.b.c.d", true),
            ("a2a.a.b.c.d.e", false),
            ("a2a:tasks", true),
            ("a2a:a:b:c", true),
            ("a2a:a:b:c:d", false),
            ("a2a.tasks:done", false),
            ("a2a:tasks.done", false),
            ("a2a", false),
            ("a2a.", false),
            ("a2a..x", false),
            ("a2a.-x", false),
            ("a2a.x_-9", true),
            ("a2a.X", false),
            ("A2A.x", false),
            ("a2ax", false),
            ("orders", false),
            ("", false),
            ("a2a.tasks\n", false),
            ("../a2a.tasks", false),
            ("https://evil.example/hook", false),
            ("a2a.deadletter", false),
            ("a2a:deadletter", false),
            ("a2a.deadletter.x", false),
            ("a2a.deadletters", true),
            ("a2a.x.deadletter", true),
            (&longest, true),
            (&format!("{longest}x"), false),
        ] {
            assert_eq!(is_reply_to(text), holds, "{text:?}");
        }
    }

    #[test]
    fn intents() {
        for (text, holds) in [
            ("PING", true),
            ("A", true),
            ("A_9", true),
            ("_A", false),
            ("9A", false),
            ("a", false),
            ("", false),
        ] {
            assert_eq!(is_intent(text), holds, "{text:?}");
        }
        assert!(!is_intent("TREND ANALYSIS"));
        assert!(!is_intent("PING\n"));
        assert!(is_intent(&"A".repeat(128)));
        assert!(!is_intent(&"A".repeat(129)));
    }
}
