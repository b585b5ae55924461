//! Steps 5p, 5v and 6a: what settings ask for beyond the protocol.
//!
//! All of it is off unless it is configured: the page lets proofs be null, asks receivers to ignore extensions they do
//! not understand, and says nothing of secrets.

use std::ops::ControlFlow;

use super::body::{member, peer_card_of};
use super::members::{Envelope, Member, ROOT};
use super::{
    DIRECT_BINDING, FIELD_TYPE, MessageKind, NOT_TARGET, PROOF, PROOF_REQUIRED, SECRET_SCAN,
    TASK_WRITE_NEEDS_PROOF, secrets,
};
use crate::config::{Agh, DirectBinding, VerifyProof};
use crate::credentials::canonical::Buffers;
use crate::credentials::digest::direct_id_fits;
use crate::credentials::proof::{self, ProofError, Trust};
use crate::formats::rule::Report;
use crate::program::Observer;

/// The capability that lets a peer write tasks.
const TASK_WRITE: &str = "task.write";

/// Step 5p: privileged peers bring a proof, nobody brings secrets.
pub(super) fn gates<O: Observer>(
    envelope: &Envelope<'_>,
    kind: MessageKind,
    knobs: &Agh,
    report: &mut Report<'_, O>,
) -> ControlFlow<()> {
    let record = &envelope.record;
    let proof = envelope.object(Member::Proof);
    if knobs.task_write_needs_proof
        && let Some(card) = peer_card_of(envelope, kind)
        && let Some(capabilities) = member(record, card, "capabilities")
    {
        let is_task_write = |item| record.text_at(item).map(str::trim) == Some(TASK_WRITE);
        let has_proof = proof.is_some_and(|proof| record.members(proof).next().is_some());
        let holds = has_proof || !record.items(capabilities).any(is_task_write);
        report.demand(TASK_WRITE_NEEDS_PROOF, holds, envelope.place(Member::Proof))?;
    }
    if knobs.secret_scan && report.wants(SECRET_SCAN) {
        let body = envelope.object(Member::Body).and_then(|body| secrets::in_value(record, body));
        let others = [proof, envelope.object(Member::Ext)];
        let found = body
            .or_else(|| others.into_iter().flatten().find_map(|object| secrets::in_members(record, object)));
        report.demand(SECRET_SCAN, found.is_none(), found.unwrap_or(ROOT))?;
    }
    ControlFlow::Continue(())
}

/// Step 5v: a proof of the known profile verifies; where proofs are required there is one.
pub(super) fn verify<O: Observer>(
    envelope: &Envelope<'_>,
    knobs: &Agh,
    buffers: &mut Buffers,
    report: &mut Report<'_, O>,
) -> ControlFlow<()> {
    let Some(from) = envelope.text(Member::From).filter(|_| knobs.verify_proof != VerifyProof::Off) else {
        return ControlFlow::Continue(());
    };
    let required = knobs.verify_proof == VerifyProof::Required;
    let record = &envelope.record;
    let at = envelope.place(Member::Proof);
    match proof::verify(record.tape, record.payload, from, envelope.node(Member::Proof), buffers) {
        Trust::Verified => ControlFlow::Continue(()),
        Trust::Unverified => report.demand(PROOF_REQUIRED, !required, at),
        // Nobody here can say whether it holds. A handle promises that somebody can.
        Trust::UnknownProfile => report.demand(PROOF, !required && !from.contains('@'), at),
        Trust::NotAnObject => report.broken(FIELD_TYPE, at),
        Trust::Rejected(ProofError::Stripped) => report.broken(PROOF_REQUIRED, at),
        Trust::Rejected(_) => report.broken(PROOF, at),
    }
}

/// Step 6a: the room is that of its peers, and the target is one of ours.
pub(super) fn target<O: Observer>(
    envelope: &Envelope<'_>,
    knobs: &Agh,
    report: &mut Report<'_, O>,
) -> ControlFlow<()> {
    let to = envelope.text(Member::To);
    let (Some(workspace), Some(channel), Some(from)) =
        (envelope.text(Member::WorkspaceId), envelope.text(Member::Channel), envelope.text(Member::From))
    else {
        return ControlFlow::Continue(());
    };
    if !knobs.local_peers.is_empty()
        && let Some(to) = to
    {
        let holds = knobs.local_peers.contains(workspace, channel, to);
        report.demand(NOT_TARGET, holds, envelope.place(Member::To))?;
    }
    if knobs.direct_binding == DirectBinding::Reject
        && let Some(room) = envelope.text(Member::DirectId)
    {
        let is_room_with = |peer: &str| peer != from && direct_id_fits(room, workspace, channel, from, peer);
        let holds = match to {
            Some(to) => is_room_with(to),
            // Whoever of ours shares the room is meant; without ours nobody can say.
            None => {
                knobs.local_peers.is_empty() || knobs.local_peers.of(workspace, channel).any(is_room_with)
            }
        };
        report.demand(DIRECT_BINDING, holds, envelope.place(Member::DirectId))?;
    }
    ControlFlow::Continue(())
}
