//! How the identifiers of agh are spelled, as checks over bytes.
//!
//! Every grammar matches the whole text: a trailing line break is one character too many. This file must not know
//! which member carries which identifier, nor any setting.

/// A channel: 1 to 64 of `a`–`z`, `0`–`9`, `_` and `-`, the first a letter or digit.
pub(super) fn is_channel(text: &str) -> bool {
    starts_plain(text, 64, |byte| matches!(byte, b'_' | b'-'))
}

/// A peer id: 1 to 128 of `a`–`z`, `0`–`9`, `.`, `_` and `-`, the first a letter or digit.
pub(super) fn is_peer_id(text: &str) -> bool {
    starts_plain(text, 128, |byte| matches!(byte, b'.' | b'_' | b'-'))
}

/// A verified handle of the trust profile: `nickname@fingerprint`.
pub(super) fn is_handle(text: &str) -> bool {
    let Some((nickname, fingerprint)) = text.split_once('@') else { return false };
    (1..=32).contains(&nickname.len())
        && nickname.bytes().all(|byte| is_plain(byte) || matches!(byte, b'_' | b'-'))
        && is_lower_hex(fingerprint, 32)
}

/// A direct room: `direct_` and 32 lower-case hex digits.
pub(super) fn is_direct_id(text: &str) -> bool {
    text.strip_prefix("direct_").is_some_and(|hex| is_lower_hex(hex, 32))
}

/// A thread as the reference spells it: `thread_`, a letter or digit, then 2 to 95 of those, `_` and `-`.
pub(super) fn is_reference_thread_id(text: &str) -> bool {
    text.strip_prefix("thread_")
        .is_some_and(|rest| rest.len() >= 3 && starts_plain(rest, 96, |byte| matches!(byte, b'_' | b'-')))
}

/// A work id: `work_` and 1 to 64 ASCII letters, digits, `_` and `-`.
pub(super) fn is_work_id(text: &str) -> bool {
    text.strip_prefix("work_").is_some_and(|rest| {
        (1..=64).contains(&rest.len())
            && rest.bytes().all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-'))
    })
}

/// A workspace id: not blank, and fit to be one token of a transport subject and one part of a hashed tuple.
pub(super) fn is_workspace_id(text: &str) -> bool {
    !is_blank(text) && text.bytes().all(|byte| !matches!(byte, 0..=0x1f | 0x7f | b'.' | b' ' | b'*' | b'>'))
}

/// Empty, or white space only (Unicode's, as `trim` knows it).
pub(super) fn is_blank(text: &str) -> bool {
    text.trim_start().is_empty()
}

/// A letter or digit, then more of those or of `others`; at most `len_max` bytes.
fn starts_plain(text: &str, len_max: usize, others: impl Fn(u8) -> bool) -> bool {
    match text.as_bytes() {
        [first, rest @ ..] => {
            is_plain(*first)
                && rest.len() < len_max
                && rest.iter().all(|byte| is_plain(*byte) || others(*byte))
        }
        [] => false,
    }
}

fn is_plain(byte: u8) -> bool {
    matches!(byte, b'a'..=b'z' | b'0'..=b'9')
}

fn is_lower_hex(text: &str, digits: usize) -> bool {
    text.len() == digits && text.bytes().all(|byte| matches!(byte, b'0'..=b'9' | b'a'..=b'f'))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn channels_and_peers() {
        let (longest_channel, longest_peer) = ("a".repeat(64), "a".repeat(128));
        for (text, channel, peer) in [
            ("0", true, true),
            ("a_b-c", true, true),
            ("a.b", false, true),
            ("a..", false, true),
            ("", false, false),
            ("-a", false, false),
            ("_a", false, false),
            (".a", false, false),
            ("A", false, false),
            ("a\n", false, false),
            ("a b", false, false),
            ("bü", false, false),
            ("a@b", false, false),
            (&longest_channel, true, true),
            (&longest_peer, false, true),
            (&format!("{longest_peer}a"), false, false),
        ] {
            assert_eq!((is_channel(text), is_peer_id(text)), (channel, peer), "{text:?}");
        }
    }

    #[test]
    fn handles() {
        let fingerprint = "39f713d0a644253f04529421b9f51b9b";
        for (nickname, holds) in
            [("alice", true), ("_", true), ("-a", true), ("", false), ("a.b", false), ("A", false)]
        {
            assert_eq!(is_handle(&format!("{nickname}@{fingerprint}")), holds, "{nickname:?}");
        }
        assert!(is_handle(&format!("{}@{fingerprint}", "n".repeat(32))));
        assert!(!is_handle(&format!("{}@{fingerprint}", "n".repeat(33))));
        assert!(!is_handle(&format!("alice@{}", &fingerprint[1..])));
        assert!(!is_handle(&format!("alice@{fingerprint}0")));
        assert!(!is_handle(&format!("alice@{}", fingerprint.to_uppercase())));
        assert!(!is_handle(&format!("alice@x@{fingerprint}")));
        assert!(!is_handle("alice"));
    }

    #[test]
    fn rooms_threads_and_work() {
        let hex = "a610973e3c0d915853982f4bfe1534e8";
        assert!(is_direct_id(&format!("direct_{hex}")));
        for wrong in [hex.to_owned(), format!("direct_{hex}0"), format!("direct_{}", hex.to_uppercase())] {
            assert!(!is_direct_id(&wrong), "{wrong}");
        }
        assert!(!is_direct_id(&format!("direct_{hex}\n")));
        for (thread, holds) in [
            ("thread_abc", true),
            ("thread_0__", true),
            ("thread_ab", false),
            ("thread__bc", false),
            ("thread_Abc", false),
            ("t1", false),
        ] {
            assert_eq!(is_reference_thread_id(thread), holds, "{thread}");
        }
        assert!(is_reference_thread_id(&format!("thread_{}", "a".repeat(96))));
        assert!(!is_reference_thread_id(&format!("thread_{}", "a".repeat(97))));
        for (work, holds) in
            [("work_-", true), ("work_aZ9", true), ("work_", false), ("work_a.b", false), ("WORK_a", false)]
        {
            assert_eq!(is_work_id(work), holds, "{work}");
        }
        assert!(is_work_id(&format!("work_{}", "a".repeat(64))));
        assert!(!is_work_id(&format!("work_{}", "a".repeat(65))));
    }

    #[test]
    fn workspaces() {
        for (text, holds) in [
            ("ws_alpha", true),
            ("рабочая", true),
            ("a\u{a0}b", true),
            ("a/b:c", true),
            ("", false),
            ("\u{a0}\u{3000}", false),
            ("a.b", false),
            ("a b", false),
            ("a*", false),
            (">", false),
            ("a\u{0}b", false),
            ("a\u{1f}", false),
            ("a\u{7f}", false),
        ] {
            assert_eq!(is_workspace_id(text), holds, "{text:?}");
        }
        assert!(is_blank(" \t\u{85}\u{2028}"));
        assert!(!is_blank("\u{200b}"), "a zero-width space is no white space");
    }
}
