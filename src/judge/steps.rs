//! The steps of the recipe, each as plain as its name. The order in which they run is the recipe's, in `mod.rs`.

use std::ops::ControlFlow;

use super::{Payload, Rules, Watch};
use crate::credentials;
use crate::formats::{Binding, Claimed, Compiled, Record, Report};
use crate::histograms::Stage;
use crate::program::{self, Failure, Observer, OpIndex};
use crate::tape::{Malformed, Node, NodeIndex, Tape};
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

/// Step 1, where the payload does not parse: agh tells three ways apart.
pub(super) fn syntax_reason(rules: &Rules, binding: Binding, malformed: Malformed) -> Reason {
    let finer = rules.wire_format(binding).is_some();
    match malformed {
        Malformed::TooDeep => Reason::TooDeep,
        Malformed::NotUtf8 if finer => Reason::InvalidUtf8,
        Malformed::LoneSurrogate if finer => Reason::LoneSurrogate,
        Malformed::Syntax | Malformed::NotUtf8 | Malformed::LoneSurrogate => Reason::JsonSyntax,
    }
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

/// Step 3: the compiled schema, duplicate names at every depth in the same walk, then numbers beyond any form. Says
/// whether the schema holds.
pub(super) fn shape<O: Observer>(
    format: &Compiled,
    binding: Binding,
    tape: Tape<'_>,
    scratch: &mut program::Scratch,
    observer: &mut O,
) -> ControlFlow<(), bool> {
    if format.orders_shape() {
        return ordered_shape(format, binding, tape, scratch, observer);
    }
    let in_shape = format.program().execute(tape, scratch, observer);
    if !in_shape && !observer.wants_all() {
        return ControlFlow::Break(());
    }
    if let Some(at) = tape.first_overflow().filter(|_| format.bounds_numbers()) {
        observer.failed(Failure::of(Reason::NumberRange, at))?;
    }
    ControlFlow::Continue(in_shape)
}

/// Step 3 for a format whose own steps rank the failures of its shape: the schema only tells whether there are any.
fn ordered_shape<O: Observer>(
    format: &Compiled,
    binding: Binding,
    tape: Tape<'_>,
    scratch: &mut program::Scratch,
    observer: &mut O,
) -> ControlFlow<(), bool> {
    let in_shape = format.program().accepts(tape, scratch);
    if !in_shape
        && !format.keeps_last(binding)
        && let Some(at) = program::first_duplicate(tape, scratch)
    {
        observer.failed(Failure { reason: Reason::DuplicateKey, at, op: OpIndex::DUPLICATE })?;
    }
    // Whoever wants every failure gets the verdict of the steps alone, and so finds out if the schema strays from them.
    ControlFlow::Continue(in_shape && !observer.wants_all())
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
