//! What the payload of each message type must hold.

use std::cmp::Ordering;

use crate::tape::NodeIndex;

use super::super::record::Record;
use super::super::rule::RuleId;
use super::routes::{MessageType, Persona};
use super::{
    APPROVAL, APPROVED_DOCUMENTS, APPROVED_TESTS, CANCELLED, FEEDBACK, PAYLOAD_CONTEXT, PAYLOAD_FEEDBACK,
    PAYLOAD_GRACEFUL, PAYLOAD_PRIORITY, PAYLOAD_REASON, PAYLOAD_TASK, PRIORITY,
};

/// Checks the payload's contract; the first thing that is wrong, and where.
pub(super) fn check(
    record: &Record<'_>,
    payload: NodeIndex,
    source: Persona,
    message_type: MessageType,
    coverage_percent_min: u16,
) -> Option<(RuleId, NodeIndex)> {
    match message_type {
        MessageType::ASSIGN => {
            let priority = record.node(PAYLOAD_PRIORITY)?;
            let holds = matches!(record.text_at(priority), Some("P0" | "P1" | "P2" | "P3" | "P4" | "urgent"));
            (!holds).then_some((PRIORITY, priority))
        }
        MessageType::FEEDBACK if source.evaluates() => match record.node(PAYLOAD_FEEDBACK) {
            Some(feedback) => broken_feedback(record, feedback).map(|at| (FEEDBACK, at)),
            None => Some((FEEDBACK, payload)),
        },
        MessageType::BLOCK => {
            let feedback = record.node(PAYLOAD_FEEDBACK)?;
            broken_feedback(record, feedback).map(|at| (FEEDBACK, at))
        }
        MessageType::APPROVE if source == Persona::VALIDATION_TESTER => {
            broken_test_approval(record, payload, coverage_percent_min)
        }
        MessageType::APPROVE if source == Persona::DOCUMENTATION_REVIEWER => {
            broken_documentation_approval(record, payload).map(|at| (APPROVED_DOCUMENTS, at))
        }
        MessageType::CANCEL => {
            let reason = demanded(record.node(PAYLOAD_REASON), payload, |at| record.text_at(at).is_some());
            let graceful =
                || demanded(record.node(PAYLOAD_GRACEFUL), payload, |at| record.flag_at(at).is_some());
            reason.and_then(|_| graceful()).err().map(|at| (CANCELLED, at))
        }
        _ => None,
    }
}

/// Whether the payload has what its message type usually has; nobody insists on it.
pub(super) fn has_expected(record: &Record<'_>, payload: NodeIndex, message_type: MessageType) -> bool {
    let (members, lists): (&[&str], &[&str]) = match message_type {
        MessageType::ASSIGN => {
            return record.node(PAYLOAD_TASK).is_some() && record.node(PAYLOAD_CONTEXT).is_some();
        }
        MessageType::STATUS => (&["phase", "progress"], &["blockers"]),
        MessageType::RESULT => (&["summary", "test_results"], &["artifacts", "documentation_updated"]),
        MessageType::ESCALATE => (&["reason", "attempts"], &["options"]),
        MessageType::WATCH => (&["poll_timestamp"], &["issues", "groups"]),
        _ => return true,
    };
    let is_list = |name: &&str| record.member(payload, name).is_some_and(|at| record.is_array(at));
    members.iter().all(|name| record.member(payload, name).is_some()) && lists.iter().all(is_list)
}

/// A member that must be there and hold; the member, or the node to point at.
fn member(
    record: &Record<'_>,
    object: NodeIndex,
    name: &str,
    holds: impl FnOnce(NodeIndex) -> bool,
) -> Result<NodeIndex, NodeIndex> {
    demanded(record.member(object, name), object, holds)
}

/// As [`member`], for a member that is already found.
fn demanded(
    found: Option<NodeIndex>,
    object: NodeIndex,
    holds: impl FnOnce(NodeIndex) -> bool,
) -> Result<NodeIndex, NodeIndex> {
    match found {
        Some(at) if holds(at) => Ok(at),
        Some(at) => Err(at),
        None => Err(object),
    }
}

/// Feedback names its cycle, and each item its priority and a description.
fn broken_feedback(record: &Record<'_>, feedback: NodeIndex) -> Option<NodeIndex> {
    let cycle = member(record, feedback, "cycle", |at| cycle_of(record, at).is_some());
    let items = cycle.and_then(|_| member(record, feedback, "items", |at| record.is_array(at)));
    let items = match items {
        Ok(items) => items,
        Err(at) => return Some(at),
    };
    record.items(items).find_map(|item| {
        let known = ["must-fix", "should-fix", "nice-to-have"];
        let priority = member(record, item, "priority", |at| {
            record.text_at(at).is_some_and(|priority| known.contains(&priority))
        });
        let description = || member(record, item, "description", |at| record.text_at(at).is_some());
        if let Err(at) = priority.and_then(|_| description()) {
            return Some(at);
        }
        let file = record.member(item, "file").filter(|at| record.text_at(*at).is_none());
        let line = record.member(item, "line").filter(|at| {
            !(record.is_whole_at(*at) && record.compare_at(*at, 0).is_some_and(Ordering::is_ge))
        });
        file.or(line)
    })
}

/// The number of a feedback cycle, 1 to 3.
pub(super) fn cycle_of(record: &Record<'_>, at: NodeIndex) -> Option<u8> {
    let cycle = record.whole_at(at).filter(|cycle| (1..=3).contains(cycle))?;
    u8::try_from(cycle).ok()
}

fn broken_test_approval(
    record: &Record<'_>,
    payload: NodeIndex,
    coverage_percent_min: u16,
) -> Option<(RuleId, NodeIndex)> {
    let parts = || {
        let gate = member(record, payload, "test_gate_passed", |at| record.flag_at(at).is_some())?;
        member(record, payload, "files_reviewed", |at| are_texts(record, at))?;
        let criteria = member(record, payload, "acceptance_criteria_met", |at| record.is_array(at))?;
        for criterion in record.items(criteria) {
            member(record, criterion, "criterion", |at| record.text_at(at).is_some())?;
            member(record, criterion, "met", |at| record.flag_at(at).is_some())?;
        }
        let coverage = member(record, payload, "coverage_percentage", |at| {
            record.compare_at(at, 0).is_some_and(Ordering::is_ge)
                && record.compare_at(at, 100).is_some_and(Ordering::is_le)
        })?;
        Ok::<_, NodeIndex>((gate, criteria, coverage))
    };
    let (gate, criteria, coverage) = match parts() {
        Ok(parts) => parts,
        Err(at) => return Some((APPROVED_TESTS, at)),
    };
    let unmet = |criterion: &NodeIndex| {
        record.member(*criterion, "met").and_then(|at| record.flag_at(at)) == Some(false)
    };
    let failed_gate = (record.flag_at(gate) == Some(false)).then_some(gate);
    let thin = record
        .compare_at(coverage, coverage_percent_min.into())
        .is_some_and(Ordering::is_lt)
        .then_some(coverage);
    failed_gate.or_else(|| record.items(criteria).find(unmet)).or(thin).map(|at| (APPROVAL, at))
}

fn broken_documentation_approval(record: &Record<'_>, payload: NodeIndex) -> Option<NodeIndex> {
    let parts = || {
        member(record, payload, "staleness_check_passed", |at| record.flag_at(at).is_some())?;
        for name in ["files_reviewed", "documentation_categories_checked", "counts_verified"] {
            member(record, payload, name, |at| record.is_array(at))?;
        }
        Ok::<_, NodeIndex>(())
    };
    parts().err()
}

fn are_texts(record: &Record<'_>, at: NodeIndex) -> bool {
    record.is_array(at) && record.items(at).all(|item| record.text_at(item).is_some())
}
