//! Tells formats apart by the names at the top level, in one pass.
//!
//! A format is never found by trying validators in turn: a sender who mixes members of two formats could then pick
//! the weaker check. Names are compared exactly, after unescaping.

use crate::tape::{Node, Tape};
use crate::verdict::{FormatId, Reason};

use super::{Binding, FORMATS, FormatSet};

/// What the top-level names claim.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Claims {
    /// Formats of which a discriminator is present.
    claimed: FormatSet,
    /// Formats of which every required name is present.
    complete: FormatSet,
    /// Whether `envelope` is present.
    envelope: bool,
}

/// What detection concludes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Claimed {
    /// It is this format.
    Format(FormatId),
    /// It is none, several, or another one than its topic's.
    Refused(Reason),
}

/// A name that some format knows, in the detector's table.
#[derive(Clone, Copy, Default)]
struct Known {
    name: &'static str,
    discriminates: u8,
    required_by: u8,
}

/// LIMIT: slots of the table; a power of two, well above the number of names that formats know.
const SLOTS: usize = 128;

/// The names of all formats, ready for look-up.
pub struct Detector {
    slots: [Known; SLOTS],
    required_counts: [u8; 8],
    envelope_formats: u8,
    lenient: bool,
}

impl Detector {
    /// Prepares the table; `lenient` lets the one format win of which all required names are there.
    #[must_use]
    pub fn new(lenient: bool) -> Self {
        let mut detector =
            Self { slots: [Known::default(); SLOTS], required_counts: [0; 8], envelope_formats: 0, lenient };
        for (index, format) in FORMATS.iter().enumerate() {
            let bit = 1 << index;
            if format.has_envelope {
                detector.envelope_formats |= bit;
            }
            if let Some(count) = detector.required_counts.get_mut(index) {
                *count = format.required.len() as u8;
            }
            for name in format.discriminators {
                detector.insert(name, |known| known.discriminates |= bit);
            }
            for name in format.required {
                detector.insert(name, |known| known.required_by |= bit);
            }
        }
        detector
    }

    fn insert(&mut self, name: &'static str, change: impl Fn(&mut Known)) {
        let mut at = slot_of(name);
        loop {
            let Some(known) = self.slots.get_mut(at) else { return };
            if known.name.is_empty() || known.name == name {
                known.name = name;
                return change(known);
            }
            at = (at + 1) % SLOTS;
        }
    }

    fn find(&self, name: &str) -> Option<&Known> {
        let mut at = slot_of(name);
        loop {
            let known = self.slots.get(at)?;
            if known.name.is_empty() {
                return None;
            }
            if known.name == name {
                return Some(known);
            }
            at = (at + 1) % SLOTS;
        }
    }

    /// What the names of the top-level object claim; the tape's first node must be an object.
    #[must_use]
    pub fn claims(&self, tape: Tape<'_>) -> Claims {
        let nodes = tape.nodes();
        let mut claims = Claims::default();
        let mut present = [0_u8; 8];
        let end = nodes.len();
        let mut at = 1;
        while at < end {
            let Some(Node::String(name)) = nodes.get(at) else { break };
            if let Some(known) = self.find(name) {
                claims.claimed.0 |= known.discriminates;
                for (index, count) in present.iter_mut().enumerate() {
                    // A name may stand there hundreds of times; that it does is found later.
                    *count = count.saturating_add((known.required_by >> index) & 1);
                }
                claims.envelope |= known.name == "envelope";
            }
            at += 1 + match nodes.get(at + 1) {
                Some(Node::Object { count, .. } | Node::Array { count, .. }) => count + 1,
                _ => 1,
            };
        }
        for (index, (present, needed)) in present.iter().zip(self.required_counts).enumerate() {
            if needed > 0 && *present == needed {
                claims.complete.0 |= 1 << index;
            }
        }
        claims
    }

    /// Decides by the claims and the topic's binding.
    #[must_use]
    pub fn decide(&self, claims: Claims, binding: Binding) -> Claimed {
        if self.lenient
            && let Some(format) = claims.complete.single()
            && pinned_to(binding, format)
        {
            return Claimed::Format(format);
        }
        match binding {
            Binding::Auto => self.decide_auto(claims),
            Binding::Pinned(own) => self.decide_pinned(claims, own),
        }
    }

    fn decide_auto(&self, claims: Claims) -> Claimed {
        if claims.claimed.0 == 0 {
            return Claimed::Refused(Reason::UnknownFormat);
        }
        match claims.claimed.single() {
            Some(format) if !self.has_foreign_envelope(claims) => Claimed::Format(format),
            _ => Claimed::Refused(Reason::AmbiguousFormat),
        }
    }

    fn decide_pinned(&self, claims: Claims, own: FormatSet) -> Claimed {
        let mine = FormatSet(claims.claimed.0 & own.0);
        let foreign = claims.claimed.0 & !own.0;
        match (mine.0 != 0, foreign != 0) {
            (false, true) => Claimed::Refused(Reason::WrongFormat),
            // Nothing says what it is: the schema of the one format will name what is missing.
            (false, false) => own.single().map_or(Claimed::Refused(Reason::WrongFormat), Claimed::Format),
            (true, true) => Claimed::Refused(Reason::AmbiguousFormat),
            (true, false) => match mine.single() {
                Some(format) if !self.has_foreign_envelope(claims) => Claimed::Format(format),
                _ => Claimed::Refused(Reason::AmbiguousFormat),
            },
        }
    }

    /// `envelope` beside discriminators of formats that have no such member counts as foreign.
    fn has_foreign_envelope(&self, claims: Claims) -> bool {
        claims.envelope && claims.claimed.0 & self.envelope_formats == 0
    }
}

fn pinned_to(binding: Binding, format: FormatId) -> bool {
    match binding {
        Binding::Auto => true,
        Binding::Pinned(own) => own.0 >> format.0 & 1 == 1,
    }
}

/// Length, first and last byte spread the known names well; a collision costs one more comparison.
fn slot_of(name: &str) -> usize {
    let bytes = name.as_bytes();
    let first = bytes.first().copied().unwrap_or_default();
    let last = bytes.last().copied().unwrap_or_default();
    (bytes.len() * 37 + usize::from(first) * 5 + usize::from(last) * 11) % SLOTS
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tape::Parser;

    #[test]
    fn a_name_that_stands_there_hundreds_of_times_does_no_harm() {
        let text = format!("{{{}}}", vec!["\"persona\":0"; 300].join(","));
        Parser::new(64).parse(text.as_bytes(), |tape| {
            let detector = Detector::new(true);
            let claimed = detector.decide(detector.claims(tape.unwrap()), Binding::Auto);
            assert_eq!(claimed, Claimed::Format(FormatId(0)));
        });
    }
}
