//! The bytes that an agh capability's digest is made of: fixed members in a fixed order, escaped as Go does.
//!
//! This is no canonical form of JSON: members that the digest does not know are left out, texts are trimmed, blank
//! entries of lists disappear, and `requirements` are sorted.

use super::forms::write_short_or_hex;
use super::{Buffers, Room, behind, member};
use crate::tape::{Node, NodeIndex, Tape};

/// The texts of a capability, in the order of the digest; the first three are always written.
const TEXTS: [&str; 4] = ["id", "summary", "outcome", "version"];
/// The lists of a capability, in the order of the digest; written if something is in them.
const LISTS: [&str; 6] =
    ["context_needed", "artifacts_expected", "execution_outline", "constraints", "examples", "requirements"];
/// The first texts are written even if they are empty.
const TEXTS_ALWAYS: usize = 3;

/// Writes the form of the capability object at `node` into `buffers` and returns it.
///
/// A member of another type counts as absent: whether types are right is not asked here.
pub fn capability<'a>(tape: Tape<'_>, node: NodeIndex, buffers: &'a mut Buffers) -> &'a [u8] {
    buffers.out.clear();
    buffers.out.push(b'{');
    for (number, name) in TEXTS.into_iter().enumerate() {
        let text = match member(tape, node, name).and_then(|value| tape.nodes().get(value.0 as usize)) {
            Some(Node::String(text)) => text.trim(),
            _ => "",
        };
        if number < TEXTS_ALWAYS || !text.is_empty() {
            write_name(name, &mut buffers.out);
            write_text(text, &mut buffers.out);
        }
    }
    for name in LISTS {
        if let Some(list) = member(tape, node, name) {
            write_list(tape, name, list.0 as usize, buffers);
        }
    }
    buffers.out.push(b'}');
    &buffers.out
}

fn write_list(tape: Tape<'_>, name: &str, list: usize, buffers: &mut Buffers) {
    let Some(Node::Array { len, .. }) = tape.nodes().get(list) else { return };
    let text = |at: usize| match tape.nodes().get(at) {
        Some(Node::String(text)) => text.trim(),
        _ => "",
    };
    let Buffers { out, places, .. } = buffers;
    places.clear();
    let mut at = list + 1;
    for _ in 0..*len {
        if !text(at).is_empty() {
            places.push(at as u32);
        }
        at = behind(tape.nodes(), at);
    }
    if name == "requirements" {
        places.sort_unstable_by(|left, right| text(*left as usize).cmp(text(*right as usize)));
    }
    for (number, place) in places.iter().enumerate() {
        if number == 0 {
            write_name(name, out);
            out.push(b'[');
        } else {
            out.push(b',');
        }
        write_text(text(*place as usize), out);
    }
    if !places.is_empty() {
        out.push(b']');
    }
}

/// Writes a name and its colon, behind a comma unless it is the first.
fn write_name(name: &str, out: &mut Room) {
    if out.len() > 1 {
        out.push(b',');
    }
    write_text(name, out);
    out.push(b':');
}

/// Writes a string as Go's `encoding/json` does: HTML's special characters and two line separators are escaped too.
fn write_text(text: &str, out: &mut Room) {
    out.push(b'"');
    let mut plain_from = 0;
    for (at, char) in text.char_indices() {
        if matches!(char, '\0'..='\x1F' | '"' | '\\' | '<' | '>' | '&' | '\u{2028}' | '\u{2029}') {
            out.extend_from_slice(text.get(plain_from..at).unwrap_or_default().as_bytes());
            write_short_or_hex(char as u32 as u16, out);
            plain_from = at + char.len_utf8();
        }
    }
    out.extend_from_slice(text.get(plain_from..).unwrap_or_default().as_bytes());
    out.push(b'"');
}
