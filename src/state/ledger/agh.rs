//! agh: work is opened, goes on, and ends; it belongs to one conversation and two participants.

use super::{Entry, Kind, Ledger, Step};
use crate::credentials::digest::Identity;
use crate::formats::{AghMessage, WorkStep};
use crate::state::settings::{Mode, Settings};
use crate::state::window::Second;
use crate::verdict::Reason;

/// How far work is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum WorkState {
    /// Opened.
    Submitted = 0,
    /// Somebody works on it.
    Working = 1,
    /// It waits for input.
    NeedsInput = 2,
    /// It ended well.
    Completed = 3,
    /// It ended badly.
    Failed = 4,
    /// It was called off.
    Canceled = 5,
}

impl WorkState {
    /// Every state, by its number.
    pub const ALL: [Self; 6] =
        [Self::Submitted, Self::Working, Self::NeedsInput, Self::Completed, Self::Failed, Self::Canceled];

    /// The protocol's name of it.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Submitted => "submitted",
            Self::Working => "working",
            Self::NeedsInput => "needs_input",
            Self::Completed => "completed",
            Self::Failed => "failed",
            Self::Canceled => "canceled",
        }
    }

    /// Whether it has ended.
    #[must_use]
    pub fn is_terminal(self) -> bool {
        matches!(self, Self::Completed | Self::Failed | Self::Canceled)
    }

    /// The state after a step of active work; `None` if the step is not legal, or nobody knows what it is.
    fn after(self, step: WorkStep) -> Option<Self> {
        Some(match (self, step) {
            // Talk resumes work that waited.
            (Self::NeedsInput, WorkStep::Talk) | (_, WorkStep::Work) => Self::Working,
            (state, WorkStep::Talk | WorkStep::Note) => state,
            (_, WorkStep::AskInput) => Self::NeedsInput,
            (_, WorkStep::Complete) => Self::Completed,
            (_, WorkStep::Fail) => Self::Failed,
            (_, WorkStep::Cancel) => Self::Canceled,
            (_, WorkStep::Submit | WorkStep::Unclear) => return None,
        })
    }
}

/// Work.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Work {
    /// The conversation that opened it.
    pub container: Identity,
    /// Who opened it.
    pub initiator: Identity,
    /// For whom.
    pub target: Identity,
    /// How far it is.
    pub state: WorkState,
}

pub(super) fn judge(ledger: &Ledger, message: &AghMessage, settings: &Settings, now: Second) -> Step {
    if settings.agh_lifecycle == Mode::Off {
        return Step::default();
    }
    let key = (Kind::AghWork, message.work);
    let mut step = match ledger.entry(key, now) {
        Some(Entry::AghWork(work)) => go_on(work, message, settings),
        _ => open(message, settings),
    };
    if let (Some(reason), Mode::Warn) = (step.reason, settings.agh_lifecycle) {
        step = Step { warned: Some(reason), ..Step::default() };
    }
    step
}

/// Work that is not known is opened by talk that names its target; anything else about it has no effect.
fn open(message: &AghMessage, settings: &Settings) -> Step {
    match (message.step, message.to) {
        (WorkStep::Talk, Some(target)) => {
            let (container, initiator) = (message.container, message.from);
            let work = Work { container, initiator, target, state: WorkState::Submitted };
            Step::write((Kind::AghWork, message.work), Entry::AghWork(work))
        }
        (WorkStep::Talk, None) => without_target(settings),
        _ => Step::ignore(),
    }
}

fn go_on(work: Work, message: &AghMessage, settings: &Settings) -> Step {
    if work.container != message.container {
        return Step::refuse(Reason::WorkContainerMismatch);
    }
    let other = if message.from == work.initiator {
        work.target
    } else if message.from == work.target {
        work.initiator
    } else {
        return Step::ignore();
    };
    if message.step == WorkStep::Talk {
        match message.to {
            None => return without_target(settings),
            Some(to) if to != other => return Step::ignore(),
            Some(_) => {}
        }
    }
    if work.state.is_terminal() {
        return Step::refuse(Reason::WorkClosed);
    }
    match work.state.after(message.step) {
        None if message.step == WorkStep::Unclear => Step::ignore(),
        None => Step::refuse(Reason::Internal),
        Some(state) => Step::write((Kind::AghWork, message.work), Entry::AghWork(Work { state, ..work })),
    }
}

/// Talk about work is for somebody. The page leaves that open.
fn without_target(settings: &Settings) -> Step {
    if settings.agh_target_needed { Step::refuse(Reason::MissingField) } else { Step::ignore() }
}
