//! The RFC 8785 form of a document together with that of some of its members.
//!
//! In the form of the whole, the members stand ready and in order, so they are cut out of it. Only a document that has no
//! form as a whole, because of another member, has them written from the tape.

use memchr::{memchr2, memchr3};

use super::{Buffers, OnePiece, Room, Unfit, append_jcs, member, put_whole};
use crate::tape::{NodeIndex, Tape};

/// The RFC 8785 form of a document that is an object, and that of those of its `members` that are there.
///
/// `members` are names without escapes, in the order of RFC 8785.
pub fn whole_and_members<'a>(
    tape: Tape<'_>,
    payload: &'a [u8],
    members: &[&str],
    buffers: &'a mut Buffers,
) -> (OnePiece<'a>, OnePiece<'a>) {
    debug_assert!(members.is_sorted(), "{members:?}");
    let in_place = match put_whole(tape, payload, buffers) {
        Ok(in_place) => in_place,
        Err(unfit) => return (Err(unfit), written(tape, payload, members, buffers)),
    };
    let Buffers { out, cut: some, .. } = buffers;
    let whole = in_place.unwrap_or(out);
    let has_members = cut(whole, members, some).ok_or(Unfit::NoSuchNode);
    (Ok(whole), has_members.map(|()| &**some))
}

/// Copies the members out of the form of an object, which has no blanks; `None` if it is no such form.
fn cut(form: &[u8], members: &[&str], out: &mut Room) -> Option<()> {
    if form.first() != Some(&b'{') {
        return None;
    }
    out.clear();
    out.push(b'{');
    let mut at = 1;
    while form.get(at) == Some(&b'"') {
        let colon = behind_string(form, at)?;
        let end = behind_value(form, colon + 1)?;
        let name = form.get(at + 1..colon - 1)?;
        if members.iter().any(|member| member.as_bytes() == name) {
            if out.len() > 1 {
                out.push(b',');
            }
            out.extend_from_slice(form.get(at..end)?);
        }
        at = end + 1;
    }
    out.push(b'}');
    (at == form.len() || form == b"{}").then_some(())
}

/// The place behind a value.
fn behind_value(form: &[u8], at: usize) -> Option<usize> {
    let (open, close) = match form.get(at)? {
        b'"' => return behind_string(form, at),
        b'{' => (b'{', b'}'),
        b'[' => (b'[', b']'),
        _ => return Some(at + memchr2(b',', b'}', form.get(at..)?)?),
    };
    let (mut depth, mut at) = (0_usize, at);
    loop {
        at += memchr3(b'"', open, close, form.get(at..)?)?;
        match form.get(at)? {
            b'"' => at = behind_string(form, at)?,
            byte if *byte == open => (depth, at) = (depth + 1, at + 1),
            _ => {
                (depth, at) = (depth.checked_sub(1)?, at + 1);
                if depth == 0 {
                    return Some(at);
                }
            }
        }
    }
}

/// The place behind a string that begins here.
fn behind_string(form: &[u8], at: usize) -> Option<usize> {
    let mut at = at + 1;
    loop {
        at += memchr2(b'"', b'\\', form.get(at..)?)?;
        if form.get(at) == Some(&b'"') {
            return Some(at + 1);
        }
        at += 2;
    }
}

/// The form of the members, from the tape.
pub(super) fn written<'a>(
    tape: Tape<'_>,
    payload: &[u8],
    members: &[&str],
    buffers: &'a mut Buffers,
) -> OnePiece<'a> {
    buffers.out.clear();
    buffers.out.push(b'{');
    for name in members {
        let Some(value) = member(tape, NodeIndex(0), name) else { continue };
        if buffers.out.len() > 1 {
            buffers.out.push(b',');
        }
        buffers.out.push(b'"');
        buffers.out.extend_from_slice(name.as_bytes());
        buffers.out.extend_from_slice(b"\":");
        append_jcs(tape, payload, value, None, buffers)?;
    }
    buffers.out.push(b'}');
    Ok(&buffers.out)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tape::Parser;

    const MEMBERS: [&str; 6] = ["payload", "recipient_id", "sender_id", "task_id", "trace_id", "type"];

    /// Both ways to the form of the members.
    fn both(document: &str) -> (Option<String>, Option<String>) {
        let (mut one, mut other) = (Buffers::default(), Buffers::default());
        Parser::new(64).parse(document.as_bytes(), |tape| {
            let tape = tape.unwrap();
            let text = |form: &[u8]| String::from_utf8(form.to_vec()).unwrap();
            let (_, members) = whole_and_members(tape, document.as_bytes(), &MEMBERS, &mut one);
            let written = written(tape, document.as_bytes(), &MEMBERS, &mut other);
            (members.ok().map(text), written.ok().map(text))
        })
    }

    #[test]
    fn what_is_cut_out_is_what_is_written() {
        for document in [
            r"{}",
            r#"{"type":"error"}"#,
            r#"{"payload":{},"type":""}"#,
            r#"{"payload":[],"zzz":[{"payload":1}],"task_id":"x"}"#,
            r#"{"context":{"payload":{"a":"}{"}},"payload":{"a":["]","\"}",{"b":{}}],"payload":7},"trace_id":"\\"}"#,
            r#"{"trace_id":"\u0000\"\\","task_id":-1.50,"payload":null,"sender_id":true,"retry_count":3}"#,
            r#"{ "type" : "a,b}" , "recipient_id" : [ 1 , [ 2 ] , { } ] , "timestamp" : "2026" }"#,
            r#"{"payload":1,"payloa":2,"payloads":3,"\u0070ayload2":4}"#,
            r#"{"\u0074ype":"x","typ\"e":"y","p":{"q":"r\\"}}"#,
        ] {
            let (cut, written) = both(document);
            assert_eq!(cut, written, "{document}");
            assert!(written.is_some(), "{document}");
        }
    }

    #[test]
    fn a_member_that_has_no_form_spoils_no_other() {
        let (cut, _) = both(r#"{"context":{"n":9007199254740993},"type":"error","task_id":"A"}"#);
        assert_eq!(cut.as_deref(), Some(r#"{"task_id":"A","type":"error"}"#));
        assert_eq!(both(r#"{"payload":{"n":9007199254740993}}"#).0, None);
    }
}
