//! What the gate needs of an agh envelope: the message's identity, and what its step means for the work.

use super::MessageKind;
use super::body::{State, Status, member};
use super::members::{Envelope, Member};
use crate::clock::Timestamp;
use crate::config::{Agh, DedupKey};
use crate::formats::facts::{AghMessage, Facts, Lifecycle, WorkStep};

/// LIMIT: nothing is remembered for longer than 7 days.
const KEEP_S_MAX: u32 = 7 * 86_400;

/// The facts of an envelope that holds.
pub(super) fn of(envelope: &Envelope<'_>, kind: Option<MessageKind>, knobs: &Agh) -> Facts {
    let text = |member| envelope.text(member).unwrap_or_default().as_bytes();
    let names = &envelope.record.asked.names;
    let message = match knobs.dedup_key {
        DedupKey::Sender => {
            names.identity(&[b"agh", text(Member::WorkspaceId), text(Member::From), text(Member::Id)])
        }
        DedupKey::Id => names.identity(&[b"agh", text(Member::Id)]),
    };
    let ts = envelope.seconds(Member::Ts).unwrap_or_default();
    // As long as a copy could still be fresh: the last second of an age is inside.
    let keep_until = envelope
        .seconds(Member::ExpiresAt)
        .unwrap_or(ts.saturating_add(i64::from(knobs.max_replay_age_s)).saturating_add(1));
    let keep_until = Timestamp::from_secs(keep_until);
    let now = envelope.record.now.unwrap_or(Timestamp::from_secs(ts));
    let keep_until_max = now.plus_secs(KEEP_S_MAX);
    let lifecycle = match kind {
        Some(MessageKind::Whois) if asks_itself(envelope) => Lifecycle::Ignored,
        Some(kind) if envelope.record.asked.sequences.agh => {
            lifecycle(envelope, kind).unwrap_or(Lifecycle::None)
        }
        _ => Lifecycle::None,
    };
    Facts {
        identity: Some(message),
        // The protocol knows repetitions only, whatever they carry.
        content: 0,
        now: Some(now),
        keep_until: keep_until.min(keep_until_max),
        capped: keep_until > keep_until_max,
        // Whatever reaches the replay set stays in it.
        burns: true,
        lifecycle,
    }
}

/// A peer that asks itself who it is gets no answer.
fn asks_itself(envelope: &Envelope<'_>) -> bool {
    let record = &envelope.record;
    let kind = envelope.object(Member::Body).and_then(|body| member(record, body, "type"));
    kind.and_then(|at| record.text_at(at)).map(str::trim) == Some("request")
        && envelope.text(Member::To).is_some_and(|to| envelope.text(Member::From) == Some(to))
}

/// What the message does to its work; nothing if it names none.
fn lifecycle(envelope: &Envelope<'_>, kind: MessageKind) -> Option<Lifecycle> {
    let text = |member| envelope.text(member).unwrap_or_default().as_bytes();
    let body = envelope.object(Member::Body)?;
    let record = &envelope.record;
    let step = match kind {
        MessageKind::Greet | MessageKind::Whois => return None,
        MessageKind::Say | MessageKind::Capability => WorkStep::Talk,
        // Where the body's contract does not hold, a message still belongs to its work.
        MessageKind::Receipt => match Status::of(record, body) {
            None => WorkStep::Unclear,
            Some(Status::Rejected) => WorkStep::Fail,
            Some(Status::Canceled) => WorkStep::Cancel,
            Some(Status::Accepted | Status::Duplicate | Status::Expired | Status::Unsupported) => {
                WorkStep::Note
            }
        },
        MessageKind::Trace => match State::of(record, body) {
            None => WorkStep::Unclear,
            Some(State::Submitted) => WorkStep::Submit,
            Some(State::Working) => WorkStep::Work,
            Some(State::NeedsInput) => WorkStep::AskInput,
            Some(State::Completed) => WorkStep::Complete,
            Some(State::Failed) => WorkStep::Fail,
            Some(State::Canceled) => WorkStep::Cancel,
        },
    };
    envelope.text(Member::WorkId)?;
    let container = match envelope.text(Member::Surface)? {
        "thread" => text(Member::ThreadId),
        _ => text(Member::DirectId),
    };
    let names = &record.asked.names;
    Some(Lifecycle::Agh(AghMessage {
        work: names.identity(&[text(Member::WorkspaceId), text(Member::WorkId)]),
        container: names.identity(&[text(Member::Channel), text(Member::Surface), container]),
        from: names.identity(&[text(Member::From)]),
        to: envelope.text(Member::To).map(|to| names.identity(&[to.as_bytes()])),
        step,
    }))
}
