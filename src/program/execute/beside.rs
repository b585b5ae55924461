//! What stands beside the plan of an object: `propertyNames`, members that other keywords ask for by name, and
//! `unevaluatedProperties` where it takes notes.

use std::ops::ControlFlow::{self, Continue};

use super::{COMPARED_BYTES_PER_STEP, Duty, Sink, Walk};
use crate::program::duplicates::behind;
use crate::program::ops::{BlockId, Op};
use crate::tape::Node;
use crate::verdict::Reason;

impl<S: Sink> Walk<'_, S> {
    /// `propertyNames`: the block runs on the names' own nodes.
    pub(super) fn property_names(&mut self, block: BlockId, at: usize, len: usize) -> ControlFlow<()> {
        if S::REPORTS {
            let base = self.names_in_order(at, len)?;
            for number in base..base + len {
                let Some(name_at) = self.scratch.order.get(number).copied() else { break };
                self.block(block, name_at as usize, Duty::NONE)?;
            }
            self.scratch.order.truncate(base);
            return Continue(());
        }
        let mut name_at = at + 1;
        for _ in 0..len {
            self.block(block, name_at, Duty::NONE)?;
            name_at = behind(self.nodes, name_at + 1);
        }
        Continue(())
    }

    /// The value of the member `name`, if the object has it.
    pub(super) fn member(&mut self, at: usize, len: usize, name: &str) -> ControlFlow<(), Option<usize>> {
        self.pay(len * (1 + name.len() / COMPARED_BYTES_PER_STEP))?;
        let mut name_at = at + 1;
        for _ in 0..len {
            if matches!(self.nodes.get(name_at), Some(Node::String(found)) if *found == name) {
                return Continue(Some(name_at + 1));
            }
            name_at = behind(self.nodes, name_at + 1);
        }
        Continue(None)
    }

    pub(super) fn unevaluated_properties(
        &mut self,
        block: BlockId,
        op: &Op,
        at: usize,
        len: usize,
        duty: Duty,
    ) -> ControlFlow<()> {
        self.pay(len)?;
        let mut marks = self.sort_marks()?;
        if S::REPORTS {
            let base = self.names_in_order(at, len)?;
            for number in base..base + len {
                let Some(name_at) = self.scratch.order.get(number).copied() else { break };
                let value_at = name_at as usize + 1;
                if !self.is_marked(marks.clone(), value_at) {
                    self.unevaluated(block, op, value_at, Reason::UnknownField)?;
                    self.mark(value_at, duty);
                }
            }
            self.scratch.order.truncate(base);
            return Continue(());
        }
        let mut name_at = at + 1;
        for _ in 0..len {
            let value_at = name_at + 1;
            if !self.is_next_mark(&mut marks, value_at) {
                self.unevaluated(block, op, value_at, Reason::UnknownField)?;
                self.mark(value_at, duty);
            }
            name_at = behind(self.nodes, value_at);
        }
        Continue(())
    }
}
