//! Tapes of documents that need no parser, since somebody knows where their nodes stand. Nothing here knows how.

use super::lanes::{LOOK_BYTES, plain_bytes};
use super::{Escapes, Malformed, Node, Outline, Parser, Tape, copy, escaped_unit};

/// A document whose nodes are known beforehand.
pub(crate) trait Known {
    /// Where strings have escapes; if there are some, strings stand in [`Parser::copy`] without them.
    fn escapes(&self) -> Escapes;

    /// Writes the nodes, which borrow from the text; `None` if the document is not what it seemed to be.
    fn write<'t>(&self, text: &'t str, nodes: &mut Vec<Node<'t>>) -> Option<Outline>;
}

impl Parser {
    /// A copy of a payload, in which strings may be unescaped in their places.
    pub(crate) fn copy(&mut self, payload: &[u8]) -> &mut [u8] {
        copy(payload, &mut self.scratch);
        self.scratch.truncate(payload.len());
        &mut self.scratch
    }

    /// How deep documents may be nested.
    pub(crate) fn depth_max(&self) -> usize {
        self.depth_max
    }

    /// The copy that was made last.
    pub(crate) fn copied(&mut self) -> &mut [u8] {
        &mut self.scratch
    }

    /// As [`Self::parse`], for a payload that is known. Gives `then` back if it is not what it seemed to be.
    ///
    /// Without escapes the payload is not even copied: strings are the payload's own.
    pub(crate) fn parse_known<R, T>(&mut self, payload: &[u8], known: &impl Known, then: T) -> Result<R, T>
    where
        T: FnOnce(Result<Tape<'_>, Malformed>) -> R,
    {
        let Self { scratch, nodes, .. } = self;
        let escapes = known.escapes();
        let text = if escapes.are_none() { payload } else { &**scratch };
        let Ok(text) = simdutf8::basic::from_utf8(text) else { return Err(then) };
        let mut tape = std::mem::replace(nodes, simd_json::Tape(Vec::new())).reset();
        let outline = known.write(text, &mut tape.0);
        let result = match outline {
            Some(_) => {
                let origin = text.as_ptr().addr();
                let escapes = Some(escapes);
                Ok(then(Ok(Tape { nodes: &tape.0, wide: &[], origin, payload, outline, escapes })))
            }
            None => Err(then),
        };
        *nodes = tape.reset();
        result
    }
}

/// Unescapes a string from its first backslash on into its place in a copy, with blanks behind it. Says where its quote
/// stands, and where its text ends in the copy; `None` if an escape has no meaning, a control character stands in it, or
/// it has no end.
pub(crate) fn unescape(payload: &[u8], backslash: usize, copy: &mut [u8]) -> Option<(usize, usize)> {
    let (mut from, mut to) = (backslash, backslash);
    loop {
        // PERF: many bytes at a time, of which what is too much is overwritten. What an escape stands for is shorter than it
        // is, so the copy never gets ahead, and what stands behind the string is put back at the end.
        if let Some(look) = payload.get(from..)?.first_chunk() {
            *copy.get_mut(to..)?.first_chunk_mut()? = *look;
            let plain = plain_bytes(look);
            (from, to) = (from + plain, to + plain);
            if plain == LOOK_BYTES {
                continue;
            }
        }
        let simple = match *payload.get(from)? {
            b'"' => break,
            b'\\' => match *payload.get(from + 1)? {
                kind @ (b'"' | b'\\' | b'/') => kind,
                b'b' => 0x08,
                b'f' => 0x0C,
                b'n' => b'\n',
                b'r' => b'\r',
                b't' => b'\t',
                b'u' => {
                    let (decoded, len) = escaped_char(payload, from)?;
                    let mut utf8 = [0; 4];
                    let utf8 = decoded.encode_utf8(&mut utf8).as_bytes();
                    copy.get_mut(to..to + utf8.len())?.copy_from_slice(utf8);
                    (from, to) = (from + len, to + utf8.len());
                    continue;
                }
                _ => return None,
            },
            ..0x20 => return None,
            plain => {
                *copy.get_mut(to)? = plain;
                (from, to) = (from + 1, to + 1);
                continue;
            }
        };
        *copy.get_mut(to)? = simple;
        (from, to) = (from + 2, to + 1);
    }
    match payload.get(from..)?.first_chunk::<LOOK_BYTES>() {
        Some(behind) if from - to <= LOOK_BYTES => {
            *copy.get_mut(to..)?.first_chunk_mut()? = [b' '; LOOK_BYTES];
            *copy.get_mut(from..)?.first_chunk_mut()? = *behind;
        }
        _ => {
            let behind = (to + LOOK_BYTES).min(payload.len()).max(from);
            copy.get_mut(from..behind)?.copy_from_slice(payload.get(from..behind)?);
            copy.get_mut(to..from)?.fill(b' ');
        }
    }
    Some((from, to))
}

/// The character of the `\u` escape at a place, and how long that is: two of them make one of a pair.
fn escaped_char(text: &[u8], at: usize) -> Option<(char, usize)> {
    let unit = escaped_unit(text, at)?;
    match (unit, escaped_unit(text, at + 6)) {
        (0xd800..=0xdbff, Some(low @ 0xdc00..=0xdfff)) => {
            char::from_u32(0x1_0000 + ((unit - 0xd800) << 10) + (low - 0xdc00)).map(|char| (char, 12))
        }
        _ => char::from_u32(unit).map(|char| (char, 6)),
    }
}
