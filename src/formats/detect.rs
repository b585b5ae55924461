//! Tells formats apart by the names at the top level, in one pass.
//!
//! A format is never found by trying validators in turn: a sender who mixes members of two formats could then pick
//! the weaker check. Names are compared exactly, after unescaping.

use crate::outline::Name;
use crate::tape::{Node, Tape};
use crate::verdict::{FormatId, Reason};

use super::compiled::Claim;
use super::fields::behind;
use super::{Binding, Compiled, FORMATS, FORMATS_MAX, FormatSet};

/// What the top-level names claim.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Claims {
    /// Formats of which a discriminator is present.
    claimed: FormatSet,
    /// Formats of which every required name is present.
    complete: FormatSet,
    /// Whether `envelope` is present.
    envelope: bool,
    /// The user's formats whose member has its value.
    by_member: FormatSet,
    /// The user's formats that a built-in format's discriminator is foreign to.
    foreign_to: FormatSet,
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
#[derive(Clone, Debug)]
struct Known {
    name: Name,
    /// Built-in formats that it claims.
    discriminates: u64,
    /// For each built-in format, 1 if it requires it.
    required_by: [u8; BUILT_IN_MAX],
    /// The user's formats whose schema speaks of it.
    in_schema_of: u64,
}

impl Known {
    fn require(&mut self, format: usize) {
        if let Some(required) = self.required_by.get_mut(format) {
            *required = 1;
        }
    }
}

impl Default for Known {
    fn default() -> Self {
        Self { name: Name::new(""), discriminates: 0, required_by: [0; BUILT_IN_MAX], in_schema_of: 0 }
    }
}

/// The names of all formats, ready for look-up.
pub struct Detector {
    /// A power of two, well above the number of names.
    slots: Vec<Known>,
    required_counts: [u8; BUILT_IN_MAX],
    envelope_formats: u64,
    /// The user's formats that are recognised by a member.
    member_formats: u64,
    /// The user's formats: where a topic is bound to one, names do not matter.
    own_formats: u64,
    lenient: bool,
}

/// LIMIT: built-in formats, whose names are counted.
const BUILT_IN_MAX: usize = 8;
const _: () = assert!(FORMATS.len() <= BUILT_IN_MAX && FORMATS_MAX <= 64);

impl Detector {
    /// Prepares the table; `lenient` lets the one format win of which all required names are there.
    #[must_use]
    pub fn new(formats: &[Compiled], lenient: bool) -> Self {
        let names: usize = formats
            .iter()
            .map(|format| match format.claim() {
                Claim::Names(format) => format.discriminators.len() + format.required.len(),
                Claim::Member(claim) => claim.names().len(),
                Claim::Never => 0,
            })
            .sum();
        let mut detector = Self {
            slots: vec![Known::default(); (names * 2).next_power_of_two().max(128)],
            required_counts: [0; BUILT_IN_MAX],
            envelope_formats: 0,
            member_formats: 0,
            own_formats: 0,
            lenient,
        };
        for (index, compiled) in formats.iter().enumerate() {
            let bit = 1 << index;
            match compiled.claim() {
                Claim::Names(format) => {
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
                        detector.insert(name, |known| known.require(index));
                    }
                }
                Claim::Member(claim) => {
                    detector.member_formats |= bit;
                    detector.own_formats |= bit;
                    for name in claim.names() {
                        detector.insert(name, |known| known.in_schema_of |= bit);
                    }
                }
                Claim::Never => detector.own_formats |= bit,
            }
        }
        detector
    }

    fn insert(&mut self, name: &str, change: impl Fn(&mut Known)) {
        let mut at = slot_of(name, self.slots.len());
        loop {
            let slots = self.slots.len();
            let Some(known) = self.slots.get_mut(at) else { return };
            if known.name.text().is_empty() || known.name.is(name) {
                known.name = Name::new(name);
                return change(known);
            }
            at = (at + 1) % slots;
        }
    }

    fn find(&self, name: &str) -> Option<&Known> {
        let mut at = slot_of(name, self.slots.len());
        loop {
            let known = self.slots.get(at)?;
            if known.name.text().is_empty() {
                return None;
            }
            if known.name.is(name) {
                return Some(known);
            }
            at = (at + 1) % self.slots.len();
        }
    }

    /// Whether a member's value can decide, and not names alone.
    #[must_use]
    pub fn looks_at_values(&self) -> bool {
        self.member_formats != 0
    }

    /// What the names of the top-level object claim; the tape's first node must be an object.
    #[must_use]
    pub fn claims(&self, formats: &[Compiled], tape: Tape<'_>) -> Claims {
        let nodes = tape.nodes();
        let mut claims = Claims::default();
        let mut present = [0_u8; BUILT_IN_MAX];
        let end = nodes.len();
        let mut at = 1;
        while at < end {
            let Some(Node::String(name)) = nodes.get(at) else { break };
            if let Some(known) = self.find(name) {
                claims.claimed.0 |= known.discriminates;
                if known.discriminates != 0 {
                    claims.foreign_to.0 |= self.member_formats & !known.in_schema_of;
                }
                for (count, required) in present.iter_mut().zip(known.required_by) {
                    // A name may stand there hundreds of times; that it does is found later.
                    *count = count.saturating_add(required);
                }
                claims.envelope |= known.name.text() == "envelope";
            }
            at = behind(nodes, at + 1);
        }
        for (index, (present, needed)) in present.iter().zip(self.required_counts).enumerate() {
            if needed > 0 && *present == needed {
                claims.complete.0 |= 1 << index;
            }
        }
        let mut pending = self.member_formats;
        while pending != 0 {
            let index = pending.trailing_zeros();
            pending &= pending - 1;
            if let Some(Claim::Member(claim)) = formats.get(index as usize).map(Compiled::claim)
                && claim.holds(tape)
            {
                claims.by_member.0 |= 1 << index;
            }
        }
        claims
    }

    /// Decides by the claims and the topic's binding.
    #[must_use]
    pub fn decide(&self, claims: Claims, binding: Binding) -> Claimed {
        // A topic that is bound to the user's format holds that format: its schema says which members it has.
        if let Binding::Pinned(own) = binding
            && own.0 & self.own_formats != 0
        {
            return own.single().map_or(Claimed::Refused(Reason::WrongFormat), Claimed::Format);
        }
        if self.lenient
            && claims.by_member.0 == 0
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
        // The user's rule names a member and its value. Members of a built-in format beside it are foreign, unless the
        // user's schema speaks of them itself.
        if claims.by_member.0 != 0 {
            return match claims.by_member.single() {
                Some(format) if !claims.foreign_to.contains(format) => Claimed::Format(format),
                _ => Claimed::Refused(Reason::AmbiguousFormat),
            };
        }
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

    /// The members at the top level that tell formats apart, each with the formats that it speaks for, in words.
    #[must_use]
    pub fn telling(&self, formats: &[Compiled], tape: Tape<'_>) -> Vec<String> {
        let names_of = |set: u64| {
            let named = formats.iter().enumerate().filter(|(index, _)| set >> index & 1 == 1);
            named.map(|(_, format)| format.name()).collect::<Vec<_>>().join(" or ")
        };
        let claims = self.claims(formats, tape);
        let foreign = claims.claimed.0 != 0 && self.has_foreign_envelope(claims);
        let mut told: Vec<String> = Vec::new();
        let mut at = 1;
        while let Some(Node::String(name)) = tape.nodes().get(at) {
            let speaks_for = match self.find(name) {
                Some(_) if *name == "envelope" && foreign => self.envelope_formats,
                Some(known) => known.discriminates,
                None => 0,
            };
            let line = format!("`{name}` of {}", names_of(speaks_for));
            if speaks_for != 0 && !told.contains(&line) {
                told.push(line);
            }
            at = behind(tape.nodes(), at + 1);
        }
        if claims.by_member.0 != 0 {
            told.push(format!("a value that only {} has", names_of(claims.by_member.0)));
        }
        told
    }

    /// `envelope` beside discriminators of formats that have no such member counts as foreign.
    fn has_foreign_envelope(&self, claims: Claims) -> bool {
        claims.envelope && claims.claimed.0 & self.envelope_formats == 0
    }
}

fn pinned_to(binding: Binding, format: FormatId) -> bool {
    match binding {
        Binding::Auto => true,
        Binding::Pinned(own) => own.contains(format),
    }
}

/// Length, first and last byte spread the known names well; a collision costs one more comparison.
fn slot_of(name: &str, slots: usize) -> usize {
    let bytes = name.as_bytes();
    let first = bytes.first().copied().unwrap_or_default();
    let last = bytes.last().copied().unwrap_or_default();
    (bytes.len() * 37 + usize::from(first) * 5 + usize::from(last) * 11) % slots
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tape::Parser;

    #[test]
    fn a_name_that_stands_there_hundreds_of_times_does_no_harm() {
        let text = format!("{{{}}}", vec!["\"persona\":0"; 300].join(","));
        Parser::new(64).parse(text.as_bytes(), |tape| {
            let formats = super::super::compile(&crate::config::Config::default()).unwrap();
            let detector = Detector::new(&formats, true);
            let claimed = detector.decide(detector.claims(&formats, tape.unwrap()), Binding::Auto);
            assert_eq!(claimed, Claimed::Format(FormatId(0)));
        });
    }
}
