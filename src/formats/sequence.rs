//! The rules that need what came before a record: their names, demands and sources, for explanations.
//!
//! The window and the ledger decide by them; here stands only what a person is told. A rule bears the name of the key
//! that governs it.

use super::FORMATS;
use super::rule::{Rule, Source};
use crate::verdict::Reason;

const fn past(name: &'static str, reason: Reason, source: Source, text: &'static str) -> Rule {
    Rule { name, reason, source, profiles: [true; 3], text, needs: &[], warns: false }
}

const REPLAY: &str = "window.replay";
const ONCE: &str = "no message comes twice";
const OWN_ID: &str = "every message has an id of its own";

pub(super) const OLYMPUS: &[Rule] = &[
    past(REPLAY, Reason::Duplicate, Source::Page, ONCE),
    past(REPLAY, Reason::IdConflict, Source::Page, OWN_ID),
    past(
        "parents",
        Reason::BadParent,
        Source::Proposed,
        "the parent is an accepted message of the same session and correlation, and leads to an assignment",
    ),
    past(
        "sequence",
        Reason::Cancelled,
        Source::Reference,
        "after a cancellation nothing is assigned, no feedback is given, and results are marked `partial`",
    ),
    past(
        "sequence",
        Reason::NoAssignment,
        Source::Reference,
        "whoever reports, evaluates or gets feedback was assigned something before",
    ),
    past(
        "sequence",
        Reason::PayloadContract,
        Source::Reference,
        "an evaluator's `feedback.cycle` counts its feedback on this work",
    ),
    past(
        "sequence",
        Reason::CycleLimit,
        Source::Reference,
        "an evaluator gives feedback twice, and blocks instead of a third time",
    ),
    past(
        "sequence",
        Reason::CircuitOpen,
        Source::Reference,
        "feedback, and assignments after a block or an escalation, stay below 5 in one work",
    ),
];

pub(super) const AGH: &[Rule] = &[
    past(REPLAY, Reason::Duplicate, Source::Page, "an id comes once from its sender"),
    past(
        "lifecycle",
        Reason::WorkContainerMismatch,
        Source::Page,
        "work stays in the conversation that opened it",
    ),
    past("lifecycle", Reason::WorkClosed, Source::Page, "nothing follows after work has ended"),
    past("lifecycle", Reason::Internal, Source::Page, "a trace reports a step that work can make"),
    past(
        "lifecycle",
        Reason::MissingField,
        Source::Reference,
        "`to` names for whom work is opened or continued",
    ),
];

pub(super) const ALFRED: &[Rule] = &[
    past(REPLAY, Reason::Duplicate, Source::Page, ONCE),
    past(REPLAY, Reason::IdConflict, Source::Page, OWN_ID),
    past(
        "correlation",
        Reason::Correlation,
        Source::Reference,
        "a response is the only answer to a request, from its destination to its source, with its intent and trace",
    ),
];

pub(super) const HUMANINLOOP: &[Rule] = &[
    past(REPLAY, Reason::Duplicate, Source::Proposed, "no content comes twice under one key"),
    past(REPLAY, Reason::IdConflict, Source::Proposed, OWN_ID),
    past(
        "sequence",
        Reason::Inconsistent,
        Source::Reference,
        "iterations rise one by one, and files do not go back to an older content",
    ),
];

pub(super) const BLUELABEL: &[Rule] = &[
    past(REPLAY, Reason::Duplicate, Source::Proposed, "no envelope comes twice"),
    past(REPLAY, Reason::IdConflict, Source::Proposed, OWN_ID),
    past("retries", Reason::StaleRetry, Source::Proposed, "`retry_count` rises with every retry"),
];

static CUSTOM: &[Rule] = &[
    past(REPLAY, Reason::Duplicate, Source::Settings, ONCE),
    past(REPLAY, Reason::IdConflict, Source::Settings, OWN_ID),
];

static FULL: Rule =
    past("window.on_full", Reason::WindowFull, Source::Settings, "the replay window has room for the id");

/// The rule of a format's family that a ruling by what came before names.
#[must_use]
pub fn rule_of(family: &str, reason: Reason) -> Option<&'static Rule> {
    let format = FORMATS.iter().find(|format| format.family == family);
    format.map_or(CUSTOM, |format| format.past).iter().chain([&FULL]).find(|rule| rule.reason == reason)
}
