//! olympus: work is assigned, reported on, evaluated in cycles, and cancelled; messages name their parents.

use super::{Entry, Kind, Ledger, Step, WRITES_MAX};
use crate::formats::{Evaluator, Lineage, OlympusMessage, OlympusType};
use crate::state::settings::{Mode, Settings};
use crate::state::window::Second;
use crate::verdict::Reason;

/// LIMIT: parents between a message and the assignment that it comes from.
const HOPS_MAX: u8 = 64;
/// An evaluator's feedback with this number is one too many.
const FEEDBACK_REFUSED: u8 = 3;
/// Rounds of one work unit, at which it waits for a person.
const ROUNDS_REFUSED: u8 = 5;

/// A work unit.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Work {
    /// Personas that something was assigned to, one bit each.
    pub assigned: u16,
    /// Personas whose work was cancelled.
    pub cancelled: u16,
    /// Feedback by each of the two evaluators.
    pub feedback: [u8; 2],
    /// Feedback and assignments after a block or an escalation.
    pub rounds: u8,
    /// Whether a block or an escalation came after the last assignment of the tech lead.
    pub returned: bool,
    /// Whether it went round too often.
    pub tripped: bool,
}

pub(super) fn judge(ledger: &Ledger, message: &OlympusMessage, settings: &Settings, now: Second) -> Step {
    let (parents, sequence) = (settings.olympus_parents, settings.olympus_sequence);
    let mut step = Step::default();
    let (mut as_message, mut as_work) = (None, None);
    debug_assert!(parents == Mode::Off || message.lineage.is_some(), "facts of other settings");
    if parents != Mode::Off
        && let Some(lineage) = &message.lineage
    {
        let hops = hops(ledger, lineage, now);
        if lineage.parent.is_some() && hops.is_none() {
            step.broken(parents, Reason::BadParent);
        }
        let hops = if message.message_type == OlympusType::Assign { Some(0) } else { hops };
        let key = (Kind::OlympusMessage, lineage.message);
        as_message = Some((key, Entry::OlympusMessage { hops }));
    }
    if sequence != Mode::Off {
        let key = (Kind::OlympusWork, message.work);
        let before = match ledger.entry(key, now) {
            Some(Entry::OlympusWork(work)) => work,
            _ => Work::default(),
        };
        let mut work = before;
        let broken = work.take(message);
        if let Some(reason) = broken {
            step.broken(sequence, reason);
        }
        step.ignored = work.is_repeated_cancel(&before, message);
        as_work = Some((key, Entry::OlympusWork(work)));
        // What trips the breaker is refused, and the work stays tripped.
        if step.reason == Some(Reason::CircuitOpen) {
            step.writes =
                [Some((key, Entry::OlympusWork(Work { tripped: true, ..before }))), None, None, None];
            return step;
        }
    }
    step.writes = if step.reason.is_some() { [None; WRITES_MAX] } else { [as_message, as_work, None, None] };
    step
}

/// Steps from a message to the assignment that it comes from, over its parent; `None` if there is no such way.
fn hops(ledger: &Ledger, lineage: &Lineage, now: Second) -> Option<u8> {
    let parent = lineage.parent.filter(|parent| *parent != lineage.message)?;
    match ledger.entry((Kind::OlympusMessage, parent), now)? {
        Entry::OlympusMessage { hops: Some(hops) } if hops < HOPS_MAX => Some(hops + 1),
        _ => None,
    }
}

impl Work {
    /// Takes a message; says which rule it breaks, the first in the format's order.
    fn take(&mut self, message: &OlympusMessage) -> Option<Reason> {
        let target = bit(message.target);
        let broken = self
            .cancellation(message)
            .or_else(|| self.assignment(message))
            .or_else(|| self.cycle(message))
            .or_else(|| self.circuit(message));
        match message.message_type {
            OlympusType::Assign => {
                if message.by_tech_lead && self.returned {
                    self.rounds = self.rounds.saturating_add(1);
                    self.returned = false;
                }
                self.assigned |= target;
            }
            OlympusType::Feedback => {
                if let Some(evaluator) = message.evaluator {
                    let count = self.feedback_of(evaluator);
                    *count = count.saturating_add(1);
                    self.rounds = self.rounds.saturating_add(1);
                }
            }
            OlympusType::Block | OlympusType::Escalate => self.returned = true,
            OlympusType::Cancel => self.cancelled |= target,
            OlympusType::Status | OlympusType::Result | OlympusType::Approve | OlympusType::Watch => {}
        }
        broken
    }

    /// After a cancellation nothing new begins, and results are partial.
    fn cancellation(&self, message: &OlympusMessage) -> Option<Reason> {
        let cancelled = |persona| self.cancelled & bit(persona) != 0;
        let refused = match message.message_type {
            OlympusType::Assign => cancelled(message.target),
            OlympusType::Result | OlympusType::Approve | OlympusType::Block => {
                cancelled(message.source) && !message.partial
            }
            OlympusType::Feedback => cancelled(message.source) || cancelled(message.target),
            OlympusType::Status | OlympusType::Escalate | OlympusType::Cancel | OlympusType::Watch => false,
        };
        refused.then_some(Reason::Cancelled)
    }

    /// Whoever reports was assigned something; relayed feedback is for somebody who was.
    fn assignment(&self, message: &OlympusMessage) -> Option<Reason> {
        let needed = match message.message_type {
            OlympusType::Assign | OlympusType::Cancel | OlympusType::Watch => return None,
            OlympusType::Feedback if message.evaluator.is_none() => message.target,
            _ => message.source,
        };
        (self.assigned & bit(needed) == 0).then_some(Reason::NoAssignment)
    }

    /// An evaluator counts its feedback, and blocks instead of giving it a third time.
    fn cycle(&mut self, message: &OlympusMessage) -> Option<Reason> {
        let evaluator = message.evaluator.filter(|_| message.message_type == OlympusType::Feedback)?;
        let number = self.feedback_of(evaluator).saturating_add(1);
        if message.cycle != Some(number) {
            Some(Reason::PayloadContract)
        } else if number >= FEEDBACK_REFUSED {
            Some(Reason::CycleLimit)
        } else {
            None
        }
    }

    /// Work that goes round too often waits for a person.
    fn circuit(&self, message: &OlympusMessage) -> Option<Reason> {
        let counts = match message.message_type {
            OlympusType::Assign => message.by_tech_lead && self.returned,
            OlympusType::Feedback => message.evaluator.is_some(),
            _ => return None,
        };
        let trips = counts && self.rounds.saturating_add(1) >= ROUNDS_REFUSED;
        (self.tripped || trips).then_some(Reason::CircuitOpen)
    }

    fn is_repeated_cancel(&self, before: &Self, message: &OlympusMessage) -> bool {
        message.message_type == OlympusType::Cancel && before.cancelled == self.cancelled
    }

    /// The count of one of the two evaluators.
    fn feedback_of(&mut self, evaluator: Evaluator) -> &mut u8 {
        let [tests, documents] = &mut self.feedback;
        match evaluator {
            Evaluator::Tests => tests,
            Evaluator::Documents => documents,
        }
    }
}

fn bit(persona: u8) -> u16 {
    1 << (persona & 15)
}
