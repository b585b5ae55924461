//! The readable form of a program, for people: every block with its ops, and what the program takes.
//!
//! Nothing depends on this text; it may change with any version.

use std::fmt::{self, Write};

use super::Program;
use super::ops::{BlockId, Kind, ObjectPlan, Op, Tables, Types};

/// What a program is made of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Size {
    /// Schema objects.
    pub blocks: usize,
    /// Checks, in the order of the report and for the fast path together.
    pub ops: usize,
    /// Known member names.
    pub names: usize,
    /// Patterns.
    pub patterns: usize,
    /// Bytes of the patterns' matchers, about.
    pub pattern_bytes: usize,
}

impl Program {
    /// How large the program is.
    #[must_use]
    pub fn size(&self) -> Size {
        Size {
            blocks: self.tables.blocks.len(),
            ops: self.tables.ops.len(),
            names: self.tables.slots.len(),
            patterns: self.tables.patterns.len(),
            pattern_bytes: self.tables.patterns.iter().map(super::patterns::Pattern::memory_bytes).sum(),
        }
    }

    /// The program as text: one paragraph per block, one line per op of the fast path.
    #[must_use]
    pub fn listing(&self) -> String {
        let mut text = String::new();
        // Infallible: the target is a string.
        let _ = write_program(&mut text, self);
        text
    }
}

fn write_program(out: &mut String, program: &Program) -> fmt::Result {
    let size = program.size();
    writeln!(
        out,
        "{} blocks, {} ops, {} names, {} patterns ({} bytes)",
        size.blocks, size.ops, size.names, size.patterns, size.pattern_bytes
    )?;
    for (number, block) in program.tables.blocks.iter().enumerate() {
        let start = if number == program.root.0 as usize { "  (start)" } else { "" };
        writeln!(out, "\nblock {number}{start}")?;
        for op in block.fast.of(&program.tables.ops) {
            write_op(out, &program.tables, op, "  ")?;
        }
    }
    Ok(())
}

fn write_op(out: &mut String, tables: &Tables, op: &Op, indent: &str) -> fmt::Result {
    let origin = tables.origins.get(op.origin.0 as usize);
    let (keyword, expected) = origin.map_or(("", ""), |origin| (origin.keyword, origin.expected.as_str()));
    write!(out, "{indent}{:<24}", name_of(op.kind))?;
    if op.types != Types::ANY {
        write!(out, " types {}", type_names(op.types))?;
    }
    if !expected.is_empty() {
        write!(out, " {expected}")?;
    }
    if !keyword.is_empty() && op.origin.0 > 2 {
        write!(out, "   [{}]", origin.map_or_else(String::new, |origin| tables.places.text(origin.place)))?;
    }
    writeln!(out)?;
    match op.kind {
        Kind::Object(plan) => {
            tables.objects.get(plan as usize).map_or(Ok(()), |plan| write_object(out, tables, plan))
        }
        Kind::Array(plan) => {
            let Some(plan) = tables.arrays.get(plan as usize) else { return Ok(()) };
            for (number, (block, _)) in plan.prefix.iter().enumerate() {
                writeln!(out, "    item {number} → block {}", block.0)?;
            }
            plan.rest.iter().try_for_each(|(block, _)| writeln!(out, "    items → block {}", block.0))
        }
        _ => Ok(()),
    }
}

fn write_object(out: &mut String, tables: &Tables, plan: &ObjectPlan) -> fmt::Result {
    for (number, slot) in plan.slots.of(&tables.slots).iter().enumerate() {
        let required = if slot.required.is_some() { "required" } else { "optional" };
        write!(out, "    {required} {:?}", plan.names.text(number as u32))?;
        match slot.block {
            Some(BlockId(block)) => writeln!(out, " → block {block}, {}", name_of(slot.op.kind))?,
            None => writeln!(out, " → anything")?,
        }
    }
    for (_, block, _) in &plan.patterns {
        writeln!(out, "    names by pattern → block {}", block.0)?;
    }
    match (plan.others.kind, plan.others_block) {
        (_, Some(block)) => writeln!(out, "    other names → block {}", block.0),
        (Kind::Never, None) => writeln!(out, "    no other names"),
        _ => writeln!(out, "    other names → anything"),
    }
}

/// The kind's name and the block it refers to.
fn name_of(kind: Kind) -> String {
    match kind {
        Kind::Call(BlockId(block)) | Kind::Delegate(BlockId(block)) => format!("call block {block}"),
        Kind::Not(BlockId(block)) => format!("not block {block}"),
        Kind::PropertyNames(BlockId(block)) => format!("names by block {block}"),
        Kind::UnevaluatedItems(BlockId(block)) => format!("other items by block {block}"),
        Kind::UnevaluatedProperties(BlockId(block)) => format!("other members by block {block}"),
        Kind::Any => "type".to_owned(),
        other => {
            let text = format!("{other:?}");
            text.split('(').next().unwrap_or_default().to_owned()
        }
    }
}

fn type_names(types: Types) -> String {
    let names = [
        (Types::NULL, "null"),
        (Types::BOOLEAN, "boolean"),
        (Types::OBJECT, "object"),
        (Types::ARRAY, "array"),
        (Types::STRING, "string"),
    ];
    let mut list: Vec<&str> =
        names.iter().filter(|(one, _)| types.meets(*one)).map(|(_, name)| *name).collect();
    if types.0 & Types::NUMBER.0 == Types::NUMBER.0 {
        list.push("number");
    } else if types.meets(Types::INTEGER) {
        list.push("integer");
    }
    list.join(", ")
}
