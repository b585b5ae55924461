//! alfred: a response fits a request that was made before, and is its only answer.

use super::{Entry, Kind, Ledger, Step};
use crate::clock::Timestamp;
use crate::credentials::digest::Identity;
use crate::formats::{AlfredMessage, Exchange};
use crate::state::settings::{Mode, Settings};
use crate::state::window::Second;
use crate::verdict::Reason;

/// A request that was accepted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Request {
    /// Who asks.
    pub source: Identity,
    /// Who is asked.
    pub destination: Identity,
    /// For what.
    pub intent: Identity,
    /// The trace id, where it had one.
    pub trace: Option<Identity>,
    /// When it was sent.
    pub sent: Timestamp,
    /// Whether its final answer was accepted.
    pub answered: bool,
}

pub(super) fn judge(ledger: &Ledger, message: &AlfredMessage, settings: &Settings, now: Second) -> Step {
    let mode = settings.alfred_correlation;
    if mode == Mode::Off {
        return Step::default();
    }
    let key = (Kind::AlfredRequest, message.request);
    if message.side == Exchange::Request {
        let AlfredMessage { source, destination, intent, trace, sent, .. } = *message;
        let request = Request { source, destination, intent, trace, sent, answered: false };
        return Step::write(key, Entry::AlfredRequest(request));
    }
    match ledger.entry(key, now) {
        Some(Entry::AlfredRequest(request)) if answers(message, &request) => {
            Step::write(key, Entry::AlfredRequest(Request { answered: true, ..request }))
        }
        _ => {
            let mut step = Step::default();
            step.broken(mode, Reason::Correlation);
            step
        }
    }
}

fn answers(message: &AlfredMessage, request: &Request) -> bool {
    !request.answered
        && message.source == request.destination
        && message.destination == request.source
        && message.intent == request.intent
        && (request.trace.is_none() || message.trace == request.trace)
        && message.sent >= request.sent
}
