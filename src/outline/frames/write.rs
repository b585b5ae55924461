//! Puts the nodes of a document whose frame is known onto the tape, and says no to whatever the parser would not take.

use super::{Found, Frame, Frames, OF_VALUE, TextAt};
use crate::tape::{self, Escapes, Node, Outline, StaticNode};

/// A document with a known frame, and its values.
pub(in crate::outline) struct Fitting<'f> {
    frames: &'f mut Frames,
    frame: Frame,
}

impl Frames {
    /// The outline of a frame.
    pub(in crate::outline) fn outline(&self, frame: u32) -> Option<Outline> {
        self.known.get(frame as usize).map(|frame| frame.outline)
    }

    /// Whether a frame has an outline.
    pub(in crate::outline) fn is_of(&self, frame: u32, outline: Outline) -> bool {
        self.outline(frame).is_some_and(|of_frame| of_frame.serial == outline.serial)
    }

    /// The document that was found to have a frame.
    #[inline]
    pub(in crate::outline) fn fitting(&mut self, frame: u32) -> Option<Fitting<'_>> {
        let frame = *self.known.get(frame as usize)?;
        Some(Fitting { frames: self, frame })
    }
}

impl tape::Known for Fitting<'_> {
    fn escapes(&self) -> Escapes {
        self.frames.escapes
    }

    #[inline]
    fn write<'t>(&self, text: &'t str, nodes: &mut Vec<Node<'t>>) -> Option<Outline> {
        let (Frames { found, values, texts, others, .. }, frame) = (&*self.frames, &self.frame);
        let found = found.get(..*values)?;
        write_texts(text, texts.list(frame.texts)?, found, nodes)?;
        let value_bytes: usize = found.iter().map(|value| value.len as usize).sum();
        let mut text_bytes = frame.name_bytes as usize + value_bytes;
        for other in others.list(frame.others)? {
            *nodes.get_mut(usize::from(other.node))? = match other.value {
                None => other.container,
                Some(value) => {
                    let text = text_of(text, found, value)?;
                    text_bytes -= text.len();
                    Node::Static(scalar(text)?)
                }
            };
        }
        Some(Outline { text_bytes, ..frame.outline })
    }
}

/// Writes all nodes, as if they were strings.
///
/// PERF: one way for all, without a jump that depends on what a node is, and a function of its own, so that what the loop
/// needs stays in registers.
#[inline(never)]
fn write_texts<'t>(
    text: &'t str,
    texts: &[TextAt],
    found: &[Found],
    nodes: &mut Vec<Node<'t>>,
) -> Option<()> {
    nodes.resize(texts.len(), Node::Static(StaticNode::Null));
    for (node, at) in nodes.iter_mut().zip(texts) {
        let value = found.get(usize::from(at.value))?;
        let start = (value.start as usize).wrapping_sub(usize::from(at.before));
        let len = if at.len == OF_VALUE { value.len as usize } else { usize::from(at.len) };
        *node = Node::String(text.get(start..start.wrapping_add(len))?);
    }
    Some(())
}

#[inline]
fn text_of<'t>(text: &'t str, found: &[Found], value: u16) -> Option<&'t str> {
    let Found { start, len } = found.get(usize::from(value))?;
    text.get(*start as usize..(*start + *len) as usize)
}

/// A number or word, if it is one and 64 bits carry it.
#[inline]
fn scalar(text: &str) -> Option<StaticNode> {
    short_whole(text.as_bytes()).map(StaticNode::U64).or_else(|| any_scalar(text))
}

/// A whole number that is neither negative nor long. PERF: most numbers are.
#[inline]
fn short_whole(text: &[u8]) -> Option<u64> {
    const DIGITS_MAX: usize = 18;
    if text.len() > DIGITS_MAX || matches!(text, [] | [b'0', _, ..]) {
        return None;
    }
    text.iter().try_fold(0, |number, byte| {
        let digit = byte.wrapping_sub(b'0');
        (digit < 10).then_some(number * 10 + u64::from(digit))
    })
}

/// A number with a point and few digits. PERF: most doubles are; a whole number below 2^53 and a power of ten up to 10^22 are
/// doubles themselves, so their quotient is the nearest one.
pub(super) fn short_decimal(text: &[u8]) -> Option<f64> {
    const DIGITS_MAX: usize = 15;
    const POWERS: [f64; DIGITS_MAX + 1] =
        [1e0, 1e1, 1e2, 1e3, 1e4, 1e5, 1e6, 1e7, 1e8, 1e9, 1e10, 1e11, 1e12, 1e13, 1e14, 1e15];
    let (sign, digits) = match text {
        [b'-', digits @ ..] => (-1.0, digits),
        _ => (1.0, text),
    };
    if digits.len() > DIGITS_MAX + 1 {
        return None;
    }
    let (mut whole, mut point) = (0_u64, None);
    for (at, byte) in digits.iter().enumerate() {
        match byte {
            b'0'..=b'9' => whole = whole * 10 + u64::from(byte - b'0'),
            b'.' if point.is_none() => point = Some(at),
            _ => return None,
        }
    }
    let behind = digits.len() - (point? + 1);
    Some(sign * (whole as f64 / POWERS.get(behind)?))
}

#[inline(never)]
fn any_scalar(text: &str) -> Option<StaticNode> {
    match text {
        "true" => return Some(StaticNode::Bool(true)),
        "false" => return Some(StaticNode::Bool(false)),
        "null" => return Some(StaticNode::Null),
        _ => {}
    }
    if !tape::is_json_number(text.as_bytes()) {
        return None;
    }
    if let Some(number) = short_decimal(text.as_bytes()) {
        return Some(StaticNode::F64(number));
    }
    if !tape::is_whole(text.as_bytes()) {
        return text.parse().ok().filter(|number: &f64| number.is_finite()).map(StaticNode::F64);
    }
    if text.starts_with('-') {
        text.parse().ok().map(StaticNode::I64)
    } else {
        text.parse().ok().map(StaticNode::U64)
    }
}
