//! Puts the nodes of a document whose frame is known onto the tape, and says no to whatever the parser would not take.

use super::learn::controls;
use super::{Found, Frame, Frames, OF_VALUE};
use crate::tape::{self, Node, Outline, StaticNode};

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
    pub(in crate::outline) fn fitting(&mut self, frame: u32, payload: &[u8]) -> Option<Fitting<'_>> {
        let frame = *self.known.get(frame as usize)?;
        // Pieces are equal, so one that is too many stands in a value.
        (controls(payload) == frame.controls as usize).then_some(Fitting { frames: self, frame })
    }
}

impl tape::Known for Fitting<'_> {
    fn has_escapes(&self) -> bool {
        self.frames.has_escapes
    }

    #[inline]
    fn write<'t>(&self, text: &'t str, nodes: &mut Vec<Node<'t>>) -> Option<Outline> {
        let (Frames { found, texts, others, .. }, frame) = (&*self.frames, &self.frame);
        let texts = texts.list(frame.texts)?;
        let mut text_bytes = 0;
        nodes.resize(texts.len(), Node::Static(StaticNode::Null));
        // PERF: one way for all, without a jump that depends on what a node is.
        for (node, at) in nodes.iter_mut().zip(texts) {
            let value = found.get(usize::from(at.value))?;
            let start = (value.start as usize).wrapping_sub(usize::from(at.before));
            let len = if at.len == OF_VALUE { value.len as usize } else { usize::from(at.len) };
            let text = text.get(start..start.wrapping_add(len))?;
            text_bytes += len;
            *node = Node::String(text);
        }
        for other in others.list(frame.others)? {
            *nodes.get_mut(usize::from(other.node))? = match other.value {
                None => other.container,
                Some(value) => Node::Static(scalar(text_of(text, found, value)?)?),
            };
        }
        Some(Outline { text_bytes, ..frame.outline })
    }
}

#[inline]
fn text_of<'t>(text: &'t str, found: &[Found], value: u16) -> Option<&'t str> {
    let Found { start, len } = found.get(usize::from(value))?;
    text.get(*start as usize..(*start + *len) as usize)
}

/// A number or word, if it is one and 64 bits carry it.
fn scalar(text: &str) -> Option<StaticNode> {
    match text {
        "true" => return Some(StaticNode::Bool(true)),
        "false" => return Some(StaticNode::Bool(false)),
        "null" => return Some(StaticNode::Null),
        _ => {}
    }
    if !tape::is_json_number(text.as_bytes()) {
        return None;
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
