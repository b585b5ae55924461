//! URIs and IRIs, references to them, and templates (RFC 3986, RFC 3987, RFC 6570).

use super::hosts::{is_ipv4, is_ipv6};

pub(super) fn is_uri(text: &str) -> bool {
    text.is_ascii() && is_iri(text)
}

pub(super) fn is_uri_reference(text: &str) -> bool {
    text.is_ascii() && is_iri_reference(text)
}

pub(super) fn is_iri(text: &str) -> bool {
    match text.split_once(':') {
        Some((scheme, rest)) => is_scheme(scheme) && is_hierarchy(rest),
        None => false,
    }
}

pub(super) fn is_iri_reference(text: &str) -> bool {
    if is_iri(text) {
        return true;
    }
    // Without a scheme the first segment has no colon; otherwise it would be one.
    let end = text.find(['/', '?', '#']).unwrap_or(text.len());
    !text.get(..end).is_some_and(|segment| segment.contains(':')) && is_hierarchy(text)
}

fn is_scheme(text: &str) -> bool {
    text.starts_with(|first: char| first.is_ascii_alphabetic())
        && text.bytes().all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'+' | b'-' | b'.'))
}

/// What follows the scheme: authority, path, query, fragment.
fn is_hierarchy(text: &str) -> bool {
    let (rest, fragment) = text.split_once('#').unwrap_or((text, ""));
    let (rest, query) = rest.split_once('?').unwrap_or((rest, ""));
    let (authority, path) = match rest.strip_prefix("//") {
        Some(behind) => behind.split_at(behind.find('/').unwrap_or(behind.len())),
        None => ("", rest),
    };
    is_authority(authority)
        && consists_of(path, b":@/")
        && consists_of(query, b":@/?")
        && consists_of(fragment, b":@/?")
        && (text.is_ascii()
            || rest.chars().chain(fragment.chars()).all(is_international)
                && query.chars().all(|character| is_international(character) || is_private(character)))
}

/// ASCII, which is checked elsewhere, or `ucschar` of RFC 3987.
fn is_international(character: char) -> bool {
    match u32::from(character) {
        0..=0x7f | 0xa0..=0xd7ff | 0xf900..=0xfdcf | 0xfdf0..=0xffef | 0xe_1000..=0xe_fffd => true,
        // The last two code points of each plane are no characters, and the last planes are special or private.
        code @ 0x1_0000..=0xd_ffff => code & 0xffff <= 0xfffd,
        _ => false,
    }
}

/// `iprivate` of RFC 3987, which only a query may have.
fn is_private(character: char) -> bool {
    matches!(u32::from(character), 0xe000..=0xf8ff | 0xf_0000..=0xf_fffd | 0x10_0000..=0x10_fffd)
}

fn is_authority(text: &str) -> bool {
    let (user, host) = text.rsplit_once('@').unwrap_or(("", text));
    if !consists_of(user, b":") {
        return false;
    }
    let (host, port) = match host.strip_prefix('[') {
        Some(behind) => {
            let Some((address, port)) = behind.split_once(']') else { return false };
            return is_address_literal(address)
                && (port.is_empty() || port.strip_prefix(':').is_some_and(is_port));
        }
        None => host.split_once(':').unwrap_or((host, "")),
    };
    consists_of(host, b"") && is_port(port)
}

fn is_port(text: &str) -> bool {
    text.bytes().all(|byte| byte.is_ascii_digit())
}

fn is_address_literal(text: &str) -> bool {
    if is_ipv6(text) {
        return true;
    }
    let Some((version, address)) = text.strip_prefix(['v', 'V']).and_then(|rest| rest.split_once('.')) else {
        return false;
    };
    let hex = !version.is_empty() && version.bytes().all(|byte| byte.is_ascii_hexdigit());
    hex && !address.is_empty() && !is_ipv4(text) && consists_of(address, b":")
}

/// Unreserved characters, sub-delimiters, whole escapes, characters beyond ASCII, and those of `also`.
fn consists_of(text: &str, also: &[u8]) -> bool {
    let bytes = text.as_bytes();
    bytes.iter().enumerate().all(|(at, byte)| match byte {
        b'%' => bytes.get(at + 1..at + 3).is_some_and(|hex| hex.iter().all(u8::is_ascii_hexdigit)),
        b'-' | b'.' | b'_' | b'~' | b'!' | b'$' | b'&' | b'\'' | b'(' | b')' | b'*' | b'+' | b',' | b';'
        | b'=' => true,
        byte => !byte.is_ascii() || byte.is_ascii_alphanumeric() || also.contains(byte),
    })
}

/// RFC 6570: literals, and expressions in braces.
pub(super) fn is_uri_template(text: &str) -> bool {
    let mut rest = text;
    while let Some((literal, behind)) = rest.split_once('{') {
        let Some((expression, behind)) = behind.split_once('}') else { return false };
        if !is_template_literal(literal) || !is_expression(expression) {
            return false;
        }
        rest = behind;
    }
    is_template_literal(rest)
}

fn is_template_literal(text: &str) -> bool {
    let bytes = text.as_bytes();
    bytes.iter().enumerate().all(|(at, byte)| match byte {
        b'%' => bytes.get(at + 1..at + 3).is_some_and(|hex| hex.iter().all(u8::is_ascii_hexdigit)),
        b'"' | b'\'' | b'<' | b'>' | b'\\' | b'^' | b'`' | b'{' | b'|' | b'}' | b' ' => false,
        byte => !byte.is_ascii_control(),
    })
}

fn is_expression(text: &str) -> bool {
    let variables =
        text.strip_prefix(['+', '#', '.', '/', ';', '?', '&', '=', ',', '!', '@', '|']).unwrap_or(text);
    variables.split(',').all(|variable| {
        let (name, length) =
            variable.split_once(':').map_or((variable, None), |(name, length)| (name, Some(length)));
        let name = if length.is_none() { name.strip_suffix('*').unwrap_or(name) } else { name };
        let length_fits = length.is_none_or(|length| {
            (1..=4).contains(&length.len())
                && !length.starts_with('0')
                && length.bytes().all(|byte| byte.is_ascii_digit())
        });
        length_fits && name.split('.').all(|part| !part.is_empty() && is_variable(part))
    })
}

fn is_variable(text: &str) -> bool {
    let bytes = text.as_bytes();
    bytes.iter().enumerate().all(|(at, byte)| match byte {
        b'%' => bytes.get(at + 1..at + 3).is_some_and(|hex| hex.iter().all(u8::is_ascii_hexdigit)),
        byte => byte.is_ascii_alphanumeric() || *byte == b'_',
    })
}
