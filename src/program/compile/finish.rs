//! The last pass: short cuts for the fast path, and the checks that need every block.
//!
//! It follows references that lead nowhere else, refuses those that loop on one value, folds type tests into the ops
//! behind them, decides who looks for duplicate names, and copies single-op blocks into the tables that call them.

use super::{Compiler, closed};
use crate::program::CompileError;
use crate::program::names::Known;
use crate::program::numbers::Given;
use crate::program::ops::{
    Block, BlockId, BranchHints, Counts, Kind, Op, Owns, Pass, RangePlan, Span, Switch, Tables, Types,
    Unevaluated,
};

/// How far a chain of references is followed.
const REFERENCES_MAX: usize = 64;

/// How many branches are asked for a member that tells them apart.
const SWITCH_TRIES_MAX: usize = 4;

impl Compiler<'_> {
    /// Finishes the tables; returns the op that stands in for the root.
    pub(super) fn finish(&mut self, root: BlockId) -> Result<Op, CompileError> {
        self.refuse_loops()?;
        for number in 0..self.tables.blocks.len() {
            let block = fast_block(&mut self.tables, number);
            if let Some(place) = self.tables.blocks.get_mut(number) {
                *place = block;
            }
        }
        let inlined: Vec<Op> = (0..self.tables.blocks.len())
            .map(|number| inline(&mut self.tables, BlockId(number as u32)))
            .collect();
        let op_of = |block: BlockId| {
            inlined.get(block.0 as usize).copied().unwrap_or(Op::new(Kind::Call(block), Op::OPEN.origin))
        };
        let (blocks, ops) = (&self.tables.blocks, &self.tables.ops);
        let pass_of = |op: &Op| pass(op, blocks, ops);
        for slot in &mut self.tables.slots {
            if let Some(block) = slot.block {
                slot.op = op_of(block);
            }
            slot.pass = pass_of(&slot.op);
            slot.patterns.iter_mut().for_each(|(block, op)| *op = op_of(*block));
        }
        for plan in &mut self.tables.objects {
            plan.patterns.iter_mut().for_each(|(_, block, op)| *op = op_of(*block));
            if let Some(block) = plan.others_block {
                plan.others = op_of(block);
            }
            plan.ops = plan.slots.of(&self.tables.slots).iter().map(|slot| slot.op).collect();
            plan.others_pass = pass_of(&plan.others);
            plan.plain &= plan.counts == Counts::ANY;
            plan.map = plan.ops.is_empty() && plan.patterns.is_empty();
        }
        let is_plain: Vec<bool> = self.tables.objects.iter().map(|plan| plan.plain).collect();
        let inner = |op: &Op| match op.kind {
            Kind::Object(plan)
                if op.types.meets(Types::OBJECT) && is_plain.get(plan as usize) == Some(&true) =>
            {
                plan
            }
            _ => Known::NO_PLAN,
        };
        for plan in &mut self.tables.objects {
            plan.names.note(&plan.ops, |op| (pass_of(op), inner(op)));
        }
        for plan in &mut self.tables.arrays {
            plan.prefix.iter_mut().chain(&mut plan.rest).for_each(|(block, op)| *op = op_of(*block));
            plan.rest_op = plan.rest.map_or(Op::OPEN, |(_, op)| op);
            plan.rest_pass = pass_of(&plan.rest_op);
        }
        for plan in &mut self.tables.dynamics {
            plan.candidates.sort_unstable();
        }
        let root_op = op_of(root);
        self.tables.branch_hints =
            self.tables.branches.iter().map(|branches| branch_hints(&self.tables, branches)).collect();
        Ok(root_op)
    }

    /// Refuses references that come back to the same schema without going down in the document: they never end.
    pub(super) fn refuse_loops(&self) -> Result<(), CompileError> {
        #[derive(Clone, Copy, PartialEq)]
        enum State {
            New,
            Open,
            Done,
        }
        let mut states = vec![State::New; self.tables.blocks.len()];
        for start in 0..self.tables.blocks.len() {
            let mut path = vec![(start, false)];
            while let Some((block, left)) = path.pop() {
                let Some(state) = states.get_mut(block) else { continue };
                if left {
                    *state = State::Done;
                    continue;
                }
                match *state {
                    State::Done => continue,
                    State::Open => {
                        let place = self.places.get(block).map(|(place, _)| *place).unwrap_or_default();
                        return Err(self.error(
                            place,
                            "a reference leads back here without going down in the document; allowed are loops that go \
                             down, such as through `items` or `properties`"
                                .into(),
                        ));
                    }
                    State::New => *state = State::Open,
                }
                path.push((block, true));
                // A block that is pending twice is not a loop: it is done when it comes up again.
                path.extend(in_place(&self.tables, block).into_iter().map(|next| (next.0 as usize, false)));
            }
        }
        Ok(())
    }
}

/// The blocks that a block runs on its own node.
pub(super) fn in_place(tables: &Tables, block: usize) -> Vec<BlockId> {
    let ops = tables.blocks.get(block).map(|block| block.full.of(&tables.ops)).unwrap_or_default();
    let mut next = Vec::new();
    for op in ops {
        match op.kind {
            Kind::Call(block) | Kind::Not(block) => next.push(block),
            Kind::AnyOf(list) | Kind::OneOf(list) => {
                next.extend(tables.branches.get(list as usize).into_iter().flatten());
            }
            Kind::If(plan) => {
                if let Some(plan) = tables.conditions.get(plan as usize) {
                    next.extend([Some(plan.condition), plan.then, plan.otherwise].into_iter().flatten());
                }
            }
            Kind::DependentSchemas(plan) => {
                next.extend(
                    tables
                        .dependent_schemas
                        .get(plan as usize)
                        .into_iter()
                        .flatten()
                        .map(|(_, block)| *block),
                );
            }
            _ => {}
        }
    }
    next
}

/// Derives the fast list of a block.
fn fast_block(tables: &mut Tables, number: usize) -> Block {
    let Some(mut block) = tables.blocks.get(number).copied() else { return Block::default() };
    let (typed, mut fast): (Vec<Op>, Vec<Op>) =
        block.full.of(&tables.ops).iter().partition(|op| op.kind == Kind::Any);
    closed::close(tables, number, &mut fast);
    fold_counts(tables, &mut fast);
    if let Some(typed) = typed.first() {
        match fast.first_mut() {
            Some(first) => first.types = typed.types,
            // A type and nothing else: the type op is the whole block.
            None => fast.push(*typed),
        }
    }
    block.owns = Owns {
        objects: fast.iter().any(|op| matches!(op.kind, Kind::Object(_))),
        arrays: fast.iter().any(|op| matches!(op.kind, Kind::Array(_))),
    };
    if !block.owns.objects
        && !block.owns.arrays
        && let Some(op) = fast.iter_mut().find(|op| matches!(op.kind, Kind::Call(_)))
        && let Kind::Call(target) = op.kind
    {
        op.kind = Kind::Delegate(target);
        block.owns = Owns { objects: true, arrays: true };
    }
    let asks = |op: &Op| matches!(op.kind, Kind::UnevaluatedItems(_) | Kind::UnevaluatedProperties(_));
    block.unevaluated =
        Unevaluated { full: block.full.of(&tables.ops).iter().any(asks), fast: fast.iter().any(asks) };
    let start = tables.ops.len() as u32;
    tables.ops.extend(fast);
    block.fast = Span { start, end: tables.ops.len() as u32 };
    block
}

/// Lets the plan of an object or array count its members or items, in place of the ops that do.
fn fold_counts(tables: &mut Tables, fast: &mut Vec<Op>) {
    let plans: Vec<Kind> = fast.iter().map(|op| op.kind).collect();
    for plan in plans {
        let counts = match plan {
            Kind::Object(plan) => tables.objects.get_mut(plan as usize).map(|plan| &mut plan.counts),
            Kind::Array(plan) => tables.arrays.get_mut(plan as usize).map(|plan| &mut plan.counts),
            _ => None,
        };
        let Some(counts) = counts else { continue };
        let of_array = matches!(plan, Kind::Array(_));
        fast.retain(|op| {
            match op.kind {
                Kind::MinItems(min) if of_array => counts.min = min,
                Kind::MaxItems(max) if of_array => counts.max = max,
                Kind::MinProperties(min) if !of_array => counts.min = min,
                Kind::MaxProperties(max) if !of_array => counts.max = max,
                _ => return true,
            }
            false
        });
    }
}

/// The op that stands in for a block: itself if it has a single simple one, else a call.
fn inline(tables: &mut Tables, mut id: BlockId) -> Op {
    // LIMIT: a chain of references is followed so far; what is behind runs through calls.
    for _ in 0..REFERENCES_MAX {
        match target(tables, id) {
            Some(next) => id = next,
            None => break,
        }
    }
    let call = Op::new(Kind::Call(id), Op::OPEN.origin);
    let Some(block) = tables.blocks.get(id.0 as usize) else { return call };
    match block.fast.of(&tables.ops) {
        [] => Op::OPEN,
        // Dynamic references need to know every resource on the way.
        [op] if tables.dynamics.is_empty() && is_simple(op.kind) && !is_bound(op.kind) => *op,
        ops if ops.iter().all(|op| is_bound(op.kind)) => {
            let types = ops.iter().fold(Types::ANY, |types, op| Types(types.0 & op.types.0));
            let (first, last) = integers_within(ops, &tables.numbers);
            tables.ranges.push(RangePlan { first, last, block: id });
            Op { types, ..Op::new(Kind::Range(tables.ranges.len() as u32 - 1), Op::OPEN.origin) }
        }
        ops if ops.iter().all(|op| op.kind.is_leaf()) => Op::new(Kind::Leaves(id), Op::OPEN.origin),
        _ => call,
    }
}

/// Whether an op of this kind is a bound of a number.
fn is_bound(kind: Kind) -> bool {
    matches!(
        kind,
        Kind::Minimum(_) | Kind::Maximum(_) | Kind::ExclusiveMinimum(_) | Kind::ExclusiveMaximum(_)
    )
}

/// The first and the last integer of 64 bits that pass these bounds; none do if they are in the wrong order.
fn integers_within(ops: &[Op], numbers: &[Given]) -> (i64, i64) {
    let (mut first, mut last) = (i128::from(i64::MIN), i128::from(i64::MAX));
    let floor = |at: u32| numbers.get(at as usize).map_or(0, Given::floor);
    let ceiling = |at: u32| numbers.get(at as usize).map_or(0, Given::ceiling);
    for op in ops {
        match op.kind {
            Kind::Minimum(at) => first = first.max(ceiling(at)),
            Kind::ExclusiveMinimum(at) => first = first.max(floor(at).saturating_add(1)),
            Kind::Maximum(at) => last = last.min(floor(at)),
            Kind::ExclusiveMaximum(at) => last = last.min(ceiling(at).saturating_sub(1)),
            _ => {}
        }
    }
    match (i64::try_from(first), i64::try_from(last)) {
        (Ok(first), Ok(last)) => (first, last),
        _ => (1, 0),
    }
}

/// What passes an op at a look.
fn pass(op: &Op, blocks: &[Block], ops: &[Op]) -> Pass {
    let leaves = match op.kind {
        Kind::Leaves(block) => {
            blocks.get(block.0 as usize).map(|block| block.fast.of(ops)).unwrap_or_default()
        }
        _ => std::slice::from_ref(op),
    };
    let (mut types, mut strings) = (op.types, Some((0, u32::MAX)));
    for leaf in leaves {
        types = Types(types.0 & leaf.types.0);
        match (leaf.kind, &mut strings) {
            (Kind::MinLength(chars), Some((min, _))) => *min = chars,
            (Kind::MaxLength(chars), Some((_, max))) => *max = chars,
            (kind, _) => {
                let asked = kind.asks_of();
                types = types.without(asked.without(Types::STRING));
                strings = strings.filter(|_| !asked.meets(Types::STRING));
            }
        }
    }
    Pass::new(types, strings)
}

/// Where a block leads that is a reference and nothing else.
fn target(tables: &Tables, id: BlockId) -> Option<BlockId> {
    match tables.blocks.get(id.0 as usize)?.fast.of(&tables.ops) {
        [Op { types: Types::ANY, kind: Kind::Delegate(target), .. }] if tables.dynamics.is_empty() => {
            Some(*target)
        }
        _ => None,
    }
}

/// What can be told of branches without running them. Needs the slots' ops.
fn branch_hints(tables: &Tables, branches: &[BlockId]) -> BranchHints {
    let ops_of = |branch: &BlockId| {
        let mut id = *branch;
        for _ in 0..REFERENCES_MAX {
            let Some(next) = target(tables, id) else { break };
            id = next;
        }
        tables.blocks.get(id.0 as usize).map(|block| block.fast.of(&tables.ops)).unwrap_or_default()
    };
    let types = branches.iter().map(|branch| ops_of(branch).first().map_or(Types::ANY, |op| op.types));
    let fixed: Vec<Vec<(&str, Kind)>> =
        branches.iter().map(|branch| fixed_members(tables, ops_of(branch))).collect();
    // The name that most branches fix; of several the first one.
    let count = |name: &str| fixed.iter().filter(|list| list.iter().any(|(other, _)| *other == name)).count();
    let mut best: Option<(&str, usize)> = None;
    // LIMIT: only a few names are tried, so that this stays linear in the schema.
    for (name, _) in fixed.iter().take(SWITCH_TRIES_MAX).filter_map(|list| list.first()) {
        let count = count(name);
        if count > 1 && best.is_none_or(|(_, most)| count > most) {
            best = Some((name, count));
        }
    }
    let switch = best.map(|(name, _)| Switch {
        name: name.into(),
        kinds: fixed
            .iter()
            .map(|list| list.iter().find(|(other, _)| *other == name).map(|(_, kind)| *kind))
            .collect(),
    });
    BranchHints { types: types.collect(), switch }
}

/// The members that a block requires to be certain strings.
fn fixed_members<'t>(tables: &'t Tables, ops: &[Op]) -> Vec<(&'t str, Kind)> {
    let mut fixed = Vec::new();
    for op in ops {
        let Kind::Object(plan) = op.kind else { continue };
        let Some(plan) = tables.objects.get(plan as usize) else { continue };
        for (number, op) in plan.ops.iter().enumerate().take(plan.required as usize) {
            if matches!(op.kind, Kind::ConstString(_) | Kind::EnumStrings(_)) {
                fixed.push((plan.names.text(number as u32), op.kind));
            }
        }
    }
    fixed
}

fn is_simple(kind: Kind) -> bool {
    !matches!(
        kind,
        Kind::Call(_)
            | Kind::Delegate(_)
            | Kind::Dynamic(_)
            | Kind::UnevaluatedItems(_)
            | Kind::UnevaluatedProperties(_)
    )
}
