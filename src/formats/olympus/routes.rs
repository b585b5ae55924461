//! Who may send what to whom, and which attachments a persona may see: the tables of Olympus.

use super::super::words::Words;

/// The personas, by their place in this list.
pub(super) static PERSONAS: Words<9> = Words::new([
    "project-manager",
    "devops-engineer",
    "tech-lead",
    "coder",
    "iac-engineer",
    "tdd-tester",
    "validation-tester",
    "document-writer",
    "documentation-reviewer",
]);

/// The message types, by their place in this list.
static MESSAGE_TYPES: Words<9> =
    Words::new(["ASSIGN", "STATUS", "RESULT", "FEEDBACK", "ESCALATE", "APPROVE", "BLOCK", "CANCEL", "WATCH"]);

/// The types of attachments, by their place in this list.
static ATTACHMENT_TYPES: Words<7> = Words::new([
    "plan",
    "config",
    "persona_definition",
    "source_file",
    "documentation",
    "coder_result",
    "checkpoint",
]);

/// A persona.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Persona(pub(super) u8);

impl Persona {
    pub(super) const PROJECT_MANAGER: Self = Self(0);
    pub(super) const DEVOPS_ENGINEER: Self = Self(1);
    pub(super) const TECH_LEAD: Self = Self(2);
    pub(super) const VALIDATION_TESTER: Self = Self(6);
    pub(super) const DOCUMENTATION_REVIEWER: Self = Self(8);

    /// By its name on the page.
    pub(super) fn of(name: &str) -> Option<Self> {
        PERSONAS.place(name).map(Self)
    }

    /// Whether it judges the work of others.
    pub(super) fn evaluates(self) -> bool {
        matches!(self, Self::VALIDATION_TESTER | Self::DOCUMENTATION_REVIEWER)
    }
}

/// A message type.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct MessageType(pub(super) u8);

impl MessageType {
    pub(super) const ASSIGN: Self = Self(0);
    pub(super) const STATUS: Self = Self(1);
    pub(super) const RESULT: Self = Self(2);
    pub(super) const FEEDBACK: Self = Self(3);
    pub(super) const ESCALATE: Self = Self(4);
    pub(super) const APPROVE: Self = Self(5);
    pub(super) const BLOCK: Self = Self(6);
    pub(super) const CANCEL: Self = Self(7);
    pub(super) const WATCH: Self = Self(8);

    pub(super) fn of(name: &str) -> Option<Self> {
        MESSAGE_TYPES.place(name).map(Self)
    }

    const fn bit(self) -> u16 {
        1 << self.0
    }
}

const fn bits(types: &[MessageType]) -> u16 {
    let mut bits = 0;
    let mut rest = types;
    while let [first, tail @ ..] = rest {
        bits |= first.bit();
        rest = tail;
    }
    bits
}

const DOWN: u16 = bits(&[MessageType::ASSIGN, MessageType::CANCEL]);
const DOWN_WITH_FEEDBACK: u16 = DOWN | MessageType::FEEDBACK.bit();
const UP: u16 = bits(&[MessageType::STATUS, MessageType::RESULT, MessageType::ESCALATE]);
const UP_WITH_WATCH: u16 = UP | MessageType::WATCH.bit();
const EVALUATION: u16 =
    bits(&[MessageType::FEEDBACK, MessageType::APPROVE, MessageType::BLOCK, MessageType::ESCALATE]);

/// Message types by source (row) and target (column), in the order of [`PERSONAS`].
#[rustfmt::skip]
const ROUTES: [[u16; 9]; 9] = {
    const D: u16 = DOWN;
    const F: u16 = DOWN_WITH_FEEDBACK;
    const U: u16 = UP;
    const W: u16 = UP_WITH_WATCH;
    const E: u16 = EVALUATION;
    [
        // PM DE TL  co  ia  td  va  dw  dr
        [0, D, D, 0, 0, 0, 0, 0, 0], // project-manager
        [W, 0, D, 0, 0, 0, 0, 0, 0], // devops-engineer
        [U, U, 0, F, F, F, D, F, D], // tech-lead
        [0, 0, U, 0, 0, 0, 0, 0, 0], // coder
        [0, 0, U, 0, 0, 0, 0, 0, 0], // iac-engineer
        [0, 0, U, 0, 0, 0, 0, 0, 0], // tdd-tester
        [0, 0, E, 0, 0, 0, 0, 0, 0], // validation-tester
        [0, 0, U, 0, 0, 0, 0, 0, 0], // document-writer
        [0, 0, E, 0, 0, 0, 0, 0, 0], // documentation-reviewer
    ]
};

/// Whether a source may send this type to a target.
pub(super) fn is_route(source: Persona, target: Persona, message_type: MessageType) -> bool {
    let types = ROUTES.get(usize::from(source.0)).and_then(|row| row.get(usize::from(target.0)));
    types.is_some_and(|types| types & message_type.bit() != 0)
}

/// Whether a target may receive attachments of this type.
pub(super) fn may_receive(target: Persona, attachment_type: &str) -> bool {
    const PLAN: u8 = 1;
    const CONFIG: u8 = 2;
    const PERSONA: u8 = 4;
    const SOURCE: u8 = 8;
    const DOCUMENTATION: u8 = 16;
    const CODER_RESULT: u8 = 32;
    const CHECKPOINT: u8 = 64;
    const ALLOWED: [u8; 9] = [
        PERSONA | CONFIG | CHECKPOINT,
        PERSONA | CONFIG | CHECKPOINT,
        PERSONA | PLAN | CONFIG,
        PERSONA | PLAN | SOURCE | CONFIG,
        PERSONA | PLAN | SOURCE | CONFIG,
        PERSONA | CODER_RESULT | SOURCE | CONFIG,
        PERSONA | CODER_RESULT | SOURCE | CONFIG,
        PERSONA | SOURCE | DOCUMENTATION | CONFIG,
        PERSONA | DOCUMENTATION | CONFIG,
    ];
    let place = ATTACHMENT_TYPES.place(attachment_type);
    let allowed = ALLOWED.get(usize::from(target.0)).copied().unwrap_or_default();
    place.is_some_and(|place| allowed >> place & 1 == 1)
}

/// The section that a configuration must be cut down to for a target; `None` where any will do.
pub(super) fn config_section(target: Persona) -> Option<&'static str> {
    match target {
        Persona::PROJECT_MANAGER => Some("governance"),
        Persona::DEVOPS_ENGINEER | Persona::TECH_LEAD => None,
        _ => Some("conventions"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_route_table_is_that_of_the_format() {
        let count: u32 = ROUTES.iter().flatten().map(|types| types.count_ones()).sum();
        // PM 2×2; DE 4+2; TL 2×3 + 4×3 + 2×2; four workers ×3; two evaluators ×4.
        assert_eq!(count, 4 + 6 + 6 + 12 + 4 + 12 + 8);
        for (place, name) in PERSONAS.texts.iter().enumerate() {
            let persona = Persona::of(name).unwrap();
            assert_eq!(usize::from(persona.0), place);
            for message_type in MESSAGE_TYPES.texts {
                assert!(!is_route(persona, persona, MessageType::of(message_type).unwrap()));
            }
        }
        let route = |source, target, message_type| {
            let persona = |name| Persona::of(name).unwrap();
            is_route(persona(source), persona(target), MessageType::of(message_type).unwrap())
        };
        assert!(route("devops-engineer", "project-manager", "WATCH"));
        assert!(
            route("tech-lead", "coder", "FEEDBACK") && !route("tech-lead", "validation-tester", "FEEDBACK")
        );
        assert!(route("validation-tester", "tech-lead", "BLOCK") && !route("tech-lead", "coder", "BLOCK"));
        assert!(!route("coder", "tech-lead", "CANCEL") && !route("devops-engineer", "coder", "ASSIGN"));
    }
}
