//! JSON pointers.

/// RFC 6901, section 3.
pub(super) fn is_json_pointer(text: &str) -> bool {
    (text.is_empty() || text.starts_with('/')) && has_only_whole_escapes(text)
}

fn has_only_whole_escapes(text: &str) -> bool {
    text.split('~').skip(1).all(|behind| behind.starts_with(['0', '1']))
}

/// A number of levels up, then `#` or a JSON pointer.
pub(super) fn is_relative_json_pointer(text: &str) -> bool {
    let digits = text.bytes().take_while(u8::is_ascii_digit).count();
    let Some((levels, rest)) = text.split_at_checked(digits) else { return false };
    !levels.is_empty()
        && (levels == "0" || !levels.starts_with('0'))
        && (rest == "#" || is_json_pointer(rest))
}
