//! `unevaluatedProperties` that needs no notes on the fast path.
//!
//! PERF: what is evaluated depends on the document only if something in place can evaluate members that the object's own
//! `properties` and patterns do not know. In most schemas nothing can; then the keyword is what `additionalProperties` would
//! be, and falls out of the visit of the members. The reporting path keeps the keyword as it is written.

use super::finish::in_place;
use crate::program::ops::{BlockId, Kind, ObjectPlan, Op, Tables};

/// Takes `unevaluatedProperties` off the fast ops of block `number`, if its object plan can do the same.
pub(super) fn close(tables: &mut Tables, number: usize, fast: &mut Vec<Op>) {
    let unevaluated = fast.iter().find_map(|op| match op.kind {
        Kind::UnevaluatedProperties(block) => Some(block),
        _ => None,
    });
    let (Some(unevaluated), Some(object)) =
        (unevaluated, fast.iter_mut().find(|op| matches!(op.kind, Kind::Object(_))))
    else {
        return;
    };
    let Some(plan) = closed_plan(tables, number, object.kind, unevaluated) else { return };
    object.kind = Kind::Object(tables.objects.len() as u32);
    tables.objects.push(plan);
    fast.retain(|op| !matches!(op.kind, Kind::UnevaluatedProperties(_)));
}

/// The plan of an object with `unevaluated` for all members that it does not know.
fn closed_plan(tables: &Tables, number: usize, object: Kind, unevaluated: BlockId) -> Option<ObjectPlan> {
    let plan = plan_of(tables, object)?;
    let knows_all = plan.slots.of(&tables.slots).iter().all(|slot| slot.known);
    let known = !plan.others_evaluated && knows_all && tables.dynamics.is_empty();
    if !known || !adds_nothing(tables, number, plan) {
        return None;
    }
    Some(ObjectPlan { others_block: Some(unevaluated), others_evaluated: true, ..plan.clone() })
}

/// Whether whatever a block runs in place evaluates only members that `plan` knows by name.
fn adds_nothing(tables: &Tables, number: usize, plan: &ObjectPlan) -> bool {
    let mut seen = vec![false; tables.blocks.len()];
    let mut pending = in_place(tables, number);
    while let Some(block) = pending.pop() {
        let block = block.0 as usize;
        if seen.get_mut(block).is_none_or(|seen| std::mem::replace(seen, true)) {
            continue;
        }
        let ops = tables.blocks.get(block).map(|block| block.full.of(&tables.ops)).unwrap_or_default();
        let within = |op: &Op| match op.kind {
            Kind::UnevaluatedProperties(_) | Kind::Dynamic(_) => false,
            Kind::Object(_) => plan_of(tables, op.kind).is_some_and(|other| {
                let names = 0..other.slots.end - other.slots.start;
                !other.others_evaluated
                    && other.patterns.is_empty()
                    && names.into_iter().all(|name| plan.names.contains(other.names.text(name)))
            }),
            _ => true,
        };
        if !ops.iter().all(within) {
            return false;
        }
        pending.extend(in_place(tables, block));
    }
    true
}

fn plan_of(tables: &Tables, kind: Kind) -> Option<&ObjectPlan> {
    match kind {
        Kind::Object(plan) => tables.objects.get(plan as usize),
        _ => None,
    }
}
