//! Names and addresses of hosts, and mail addresses.

use std::net::{Ipv4Addr, Ipv6Addr};

/// Four decimal numbers without leading zeros.
pub(super) fn is_ipv4(text: &str) -> bool {
    text.parse::<Ipv4Addr>().is_ok()
}

/// RFC 4291, section 2.2, without a zone.
pub(super) fn is_ipv6(text: &str) -> bool {
    text.parse::<Ipv6Addr>().is_ok()
}

/// RFC 1123, section 2.1: labels of up to 63 letters, digits and hyphens, 253 in all; A-labels have to decode.
pub(super) fn is_hostname(text: &str) -> bool {
    !text.is_empty() && text.len() <= 253 && text.split('.').all(is_label)
}

fn is_label(label: &str) -> bool {
    let bytes = label.as_bytes();
    let (Some(first), Some(last)) = (bytes.first(), bytes.last()) else { return false };
    let letters = bytes.iter().all(|byte| byte.is_ascii_alphanumeric() || *byte == b'-');
    if !letters || bytes.len() > 63 || *first == b'-' || *last == b'-' {
        return false;
    }
    match bytes.get(2..4) {
        Some(b"--") => match (bytes.get(..2), label.get(4..)) {
            (Some(prefix), Some(encoded)) => prefix.eq_ignore_ascii_case(b"xn") && is_a_label(encoded),
            _ => false,
        },
        _ => true,
    }
}

/// Whether the part behind `xn--` decodes to characters that RFC 5892 allows where they stand.
fn is_a_label(encoded: &str) -> bool {
    let mut decoded = ['\0'; 64];
    let Some(len) = punycode(encoded, &mut decoded) else { return false };
    let Some(label) = decoded.get(..len) else { return false };
    !label.is_empty() && !label.iter().all(char::is_ascii) && allowed_in_context(label)
}

/// The rules for characters that are allowed only beside certain others (RFC 5892, appendix A), and the hyphens and
/// leading marks of RFC 5891, section 4.2.3. The tables of all other characters are left to a registry.
fn allowed_in_context(label: &[char]) -> bool {
    let hyphens =
        label.first() != Some(&'-') && label.last() != Some(&'-') && label.get(2..4) != Some(&['-', '-']);
    let near = |at: usize, step: isize| at.checked_add_signed(step).and_then(|at| label.get(at)).copied();
    let script = |range: std::ops::RangeInclusive<char>| label.iter().any(|other| range.contains(other));
    let arabic = script('\u{660}'..='\u{669}');
    let extended = script('\u{6F0}'..='\u{6F9}');
    let kana = label.iter().any(|other| {
        matches!(other, '\u{3041}'..='\u{309F}' | '\u{30A1}'..='\u{30FA}' | '\u{30FC}'..='\u{30FF}' | '\u{4E00}'..='\u{9FFF}' | '\u{3400}'..='\u{4DBF}' | '\u{3005}' | '\u{3007}')
    });
    let virama = |other: Option<char>| {
        matches!(
            other,
            Some(
                '\u{94D}'
                    | '\u{9CD}'
                    | '\u{A4D}'
                    | '\u{ACD}'
                    | '\u{B4D}'
                    | '\u{BCD}'
                    | '\u{C4D}'
                    | '\u{CCD}'
                    | '\u{D4D}'
            )
        )
    };
    let fits = |(at, character): (usize, &char)| match character {
        '\u{B7}' => near(at, -1) == Some('l') && near(at, 1) == Some('l'),
        '\u{375}' => near(at, 1).is_some_and(|next| ('\u{370}'..='\u{3FF}').contains(&next)),
        '\u{5F3}' | '\u{5F4}' => near(at, -1).is_some_and(|before| ('\u{590}'..='\u{5FF}').contains(&before)),
        '\u{30FB}' => kana,
        '\u{660}'..='\u{669}' => !extended,
        '\u{6F0}'..='\u{6F9}' => !arabic,
        '\u{200D}' => virama(near(at, -1)),
        '\u{200C}' => {
            virama(near(at, -1))
                || near(at, -1).is_some_and(|before| ('\u{620}'..='\u{6FF}').contains(&before))
        }
        // Marks that are disallowed outright, and ones that may not come first.
        '\u{302E}' | '\u{302F}' | '\u{640}' | '\u{7FA}' | '\u{3031}'..='\u{3035}' | '\u{303B}' => false,
        '\u{300}'..='\u{36F}' | '\u{903}' => at != 0,
        _ => true,
    };
    hyphens && label.iter().enumerate().all(fits)
}

/// RFC 3492, section 6.2, into a fixed buffer.
fn punycode(encoded: &str, decoded: &mut [char; 64]) -> Option<usize> {
    let (basic, extended) = encoded.rsplit_once('-').unwrap_or(("", encoded));
    let mut len = 0;
    for character in basic.chars() {
        *decoded.get_mut(len)? = character;
        len += 1;
    }
    let (mut n, mut i, mut bias) = (128_u32, 0_u32, 72_u32);
    let mut digits = extended.bytes();
    while let Some(first) = digits.next() {
        let before = i;
        let (mut weight, mut k, mut byte) = (1_u32, 36_u32, first);
        loop {
            let digit = match byte {
                b'a'..=b'z' => u32::from(byte - b'a'),
                b'A'..=b'Z' => u32::from(byte - b'A'),
                b'0'..=b'9' => u32::from(byte - b'0') + 26,
                _ => return None,
            };
            i = i.checked_add(digit.checked_mul(weight)?)?;
            let threshold = k.saturating_sub(bias).clamp(1, 26);
            if digit < threshold {
                break;
            }
            weight = weight.checked_mul(36 - threshold)?;
            k += 36;
            byte = digits.next()?;
        }
        let count = len as u32 + 1;
        bias = adapt(i - before, count, before == 0);
        n = n.checked_add(i / count)?;
        i %= count;
        let at = i as usize;
        decoded.get_mut(at..=len)?.rotate_right(1);
        *decoded.get_mut(at)? = char::from_u32(n)?;
        len += 1;
        i += 1;
    }
    Some(len)
}

fn adapt(delta: u32, count: u32, first: bool) -> u32 {
    let mut delta = if first { delta / 700 } else { delta / 2 };
    delta += delta / count;
    let mut k = 0;
    while delta > 455 {
        delta /= 35;
        k += 36;
    }
    k + 36 * delta / (delta + 38)
}

/// RFC 5321, section 4.1.2, in ASCII.
pub(super) fn is_email(text: &str) -> bool {
    text.is_ascii() && is_idn_email(text)
}

/// RFC 6531: as [`is_email`], and characters beyond ASCII count as letters.
pub(super) fn is_idn_email(text: &str) -> bool {
    let Some((local, domain)) = text.rsplit_once('@') else { return false };
    is_local_part(local) && is_mail_domain(domain)
}

fn is_local_part(local: &str) -> bool {
    if let Some(inner) = local.strip_prefix('"').and_then(|rest| rest.strip_suffix('"')) {
        let mut escaped = false;
        let plain = inner.chars().all(|character| {
            let fits = escaped || (character != '"' && !character.is_control());
            escaped = !escaped && character == '\\';
            fits
        });
        return plain && !escaped && local.len() > 1;
    }
    local.split('.').all(|atom| {
        !atom.is_empty()
            && atom.bytes().all(|byte| {
                byte.is_ascii_alphanumeric() || !byte.is_ascii() || b"!#$%&'*+-/=?^_`{|}~".contains(&byte)
            })
    })
}

fn is_mail_domain(domain: &str) -> bool {
    if let Some(literal) = domain.strip_prefix('[').and_then(|rest| rest.strip_suffix(']')) {
        return match literal.strip_prefix("IPv6:") {
            Some(address) => is_ipv6(address),
            None => is_ipv4(literal),
        };
    }
    if domain.is_ascii() {
        return is_hostname(domain);
    }
    domain.split('.').all(|label| {
        !label.is_empty()
            && !label.starts_with('-')
            && !label.ends_with('-')
            && label.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'-' || !byte.is_ascii())
    })
}
