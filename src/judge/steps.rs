//! The steps of the recipe, each as plain as its name. The order in which they run is the recipe's, in `mod.rs`.

use std::ops::ControlFlow;

use super::{Payload, Rules, Watch};
use crate::credentials;
use crate::formats::{Binding, Claimed, Compiled, Record, Report};
use crate::histograms::Stage;
use crate::program::{self, Failure, Observer};
use crate::tape::{Node, NodeIndex, Tape};
use crate::verdict::{FormatId, Reason};

/// Step 1, before parsing: a payload of the right size that is not blank.
pub(super) fn admit<'p>(rules: &Rules, payload: Payload<'p>) -> Result<&'p [u8], Reason> {
    let payload = match payload {
        Payload::Bytes(bytes) => bytes,
        Payload::Tombstone => return Err(Reason::Tombstone),
        Payload::Oversized => return Err(Reason::TooBig),
    };
    if payload.len() > rules.limits().payload_bytes_max as usize {
        return Err(Reason::TooBig);
    }
    // The first byte of nearly every payload decides this.
    if payload.iter().all(|byte| matches!(byte, b' ' | b'\t' | b'\r' | b'\n')) {
        return Err(Reason::EmptyPayload);
    }
    Ok(payload)
}

/// Step 2: which format it is, by its top-level names and the topic's binding.
pub(super) fn identify<O: Observer>(
    rules: &Rules,
    binding: Binding,
    tape: Tape<'_>,
    scratch: &mut program::Scratch,
    observer: &mut O,
) -> Option<FormatId> {
    let claimed = match tape.nodes().first() {
        Some(Node::Object { .. }) => {
            let claims = rules.detector().claims(rules.formats(), tape);
            rules.detector().decide(claims, binding)
        }
        _ => Claimed::Refused(Reason::NotObject),
    };
    match claimed {
        Claimed::Format(format) => Some(format),
        // A duplicate name anywhere ranks before what the top-level names say.
        Claimed::Refused(reason) => match program::first_duplicate(tape, scratch) {
            Some(at) => fail(observer, Reason::DuplicateKey, at),
            None => fail(observer, reason, NodeIndex(0)),
        },
    }
}

/// Step 3: the compiled schema, duplicate names at every depth in the same walk, then numbers beyond any form.
pub(super) fn shape<O: Observer>(
    format: &Compiled,
    tape: Tape<'_>,
    scratch: &mut program::Scratch,
    observer: &mut O,
) -> ControlFlow<()> {
    if !format.program().execute(tape, scratch, observer) && !observer.wants_all() {
        return ControlFlow::Break(());
    }
    match tape.first_overflow() {
        Some(at) if format.bounds_numbers() => observer.failed(Failure::of(Reason::NumberRange, at)),
        _ => ControlFlow::Continue(()),
    }
}

/// Step 4: what the members say together.
pub(super) fn meaning<O: Observer, W: Watch>(
    format: &Compiled,
    record: &Record<'_>,
    report: &mut Report<'_, O>,
    watch: &mut W,
) -> ControlFlow<()> {
    let held = format.check(record, report);
    watch.lap(Stage::Meaning);
    held
}

/// Step 5: who really sent it.
pub(super) fn credentials<O: Observer, W: Watch>(
    format: &Compiled,
    record: &Record<'_>,
    scratch: &mut credentials::Scratch,
    report: &mut Report<'_, O>,
    watch: &mut W,
) -> ControlFlow<()> {
    let held = format.authenticate(record, scratch, report);
    watch.lap(Stage::Credentials);
    held
}

pub(super) fn refuse<O: Observer>(observer: &mut O, reason: Reason) {
    let _ = fail(observer, reason, NodeIndex(0));
}

fn fail<O: Observer>(observer: &mut O, reason: Reason, at: NodeIndex) -> Option<FormatId> {
    // Without a format there is nothing left to observe.
    let _ = observer.failed(Failure::of(reason, at));
    None
}
