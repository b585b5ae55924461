//! The members that a format's rules look at, found once per record.
//!
//! A format lists the JSON pointers of its members with [`fields!`]; each becomes a named [`Field`]. [`FieldTable::fill`]
//! finds all of them in one pass over the objects on their way and leaves a node index for each. Rules reach members
//! only through these indexes.

use crate::outline::{Name, print};
use crate::tape::{Node, NodeIndex, Tape};

/// LIMIT: members that one format's rules can name.
pub(crate) const FIELDS_MAX: usize = 48;

/// One member that rules look at: its place in the format's list.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Field(pub(crate) u8);

/// Where the members of one record stand on its tape.
#[derive(Clone, Debug)]
pub struct Fields {
    /// Node 0 is the document itself, so it marks what is absent.
    nodes: [u32; FIELDS_MAX],
}

impl Default for Fields {
    fn default() -> Self {
        Self { nodes: [0; FIELDS_MAX] }
    }
}

impl Fields {
    /// The member's node, if it is there.
    #[inline]
    #[must_use]
    pub fn node(&self, field: Field) -> Option<NodeIndex> {
        self.nodes.get(usize::from(field.0)).filter(|node| **node != 0).map(|node| NodeIndex(*node))
    }

    fn set(&mut self, field: Field, node: usize) {
        if let Some(cell) = self.nodes.get_mut(usize::from(field.0)) {
            // A name that stands twice is rejected elsewhere; until then the first one counts.
            if *cell == 0 {
                *cell = node as u32;
            }
        }
    }
}

/// Names the members that a format's rules look at: a constant for each, and `FIELDS` with all their JSON pointers.
macro_rules! fields {
    ($($name:ident $pointer:literal;)*) => {
        /// The JSON pointers of the members that the rules look at.
        pub(crate) const FIELDS: &[&str] = &[$($pointer,)*];
        $crate::formats::fields::fields!(@count 0u8; $($name)*);
        const _: () = assert!(FIELDS.len() <= $crate::formats::fields::FIELDS_MAX);
    };
    (@count $n:expr; $name:ident $($rest:ident)*) => {
        const $name: $crate::formats::fields::Field = $crate::formats::fields::Field($n);
        $crate::formats::fields::fields!(@count $n + 1; $($rest)*);
    };
    (@count $n:expr;) => {};
}
pub(crate) use fields;

/// One name on the way to members.
#[derive(Debug)]
struct Step {
    name: Name,
    /// The same name as an index, where it can be one.
    index: Option<usize>,
    field: Option<Field>,
    /// Steps below this one.
    below: Steps,
}

/// Steps from one container.
#[derive(Debug, Default)]
struct Steps {
    steps: Vec<Step>,
    /// What their names are told by at a glance.
    prints: Vec<(u64, u64)>,
}

impl Steps {
    /// The step with this name. PERF: the order of members is not to be guessed, so all names are looked at, without a
    /// branch that depends on which it is.
    #[inline]
    fn find(&self, name: &str) -> Option<&Step> {
        let print = print(name);
        let mut found = usize::MAX;
        for (place, known) in self.prints.iter().enumerate() {
            found = if *known == print { place } else { found };
        }
        // Names of more than sixteen bytes may share what is seen at a glance.
        let step = self.steps.get(found)?;
        if step.name.is_spelled(name) { Some(step) } else { self.find_alike(name) }
    }

    #[cold]
    fn find_alike(&self, name: &str) -> Option<&Step> {
        self.steps.iter().find(|step| step.name.is(name))
    }
}

/// The pointers of a format's members as a tree of names.
#[derive(Debug, Default)]
pub struct FieldTable {
    steps: Steps,
}

impl FieldTable {
    /// Prepares the tree; the n-th pointer is [`Field`] n.
    pub fn new<'p>(pointers: impl IntoIterator<Item = &'p str>) -> Self {
        let mut table = Self::default();
        for (number, pointer) in pointers.into_iter().take(FIELDS_MAX).enumerate() {
            let mut steps = &mut table.steps;
            let mut names = pointer.split('/').skip(1).peekable();
            while let Some(token) = names.next() {
                let name = token.replace("~1", "/").replace("~0", "~");
                let at = steps.steps.iter().position(|step| step.name.is(&name)).unwrap_or_else(|| {
                    let index = name.parse().ok().filter(|index: &usize| index.to_string() == name);
                    let name = Name::new(&name);
                    steps.prints.push(name.print());
                    steps.steps.push(Step { name, index, field: None, below: Steps::default() });
                    steps.steps.len() - 1
                });
                let Some(step) = steps.steps.get_mut(at) else { break };
                if names.peek().is_none() {
                    step.field = Some(Field(number as u8));
                }
                steps = &mut step.below;
            }
        }
        table
    }

    /// Finds the members of a record.
    pub fn fill(&self, tape: Tape<'_>, fields: &mut Fields) {
        *fields = Fields::default();
        fill_below(&self.steps, tape.nodes(), 0, fields);
    }
}

/// As deep as the pointers, not as the document.
fn fill_below(steps: &Steps, nodes: &[Node<'_>], at: usize, fields: &mut Fields) {
    match nodes.get(at) {
        Some(Node::Object { len, .. }) => {
            let mut name_at = at + 1;
            for _ in 0..*len {
                let Some(Node::String(name)) = nodes.get(name_at) else { return };
                if let Some(step) = steps.find(name) {
                    found(step, nodes, name_at + 1, fields);
                }
                name_at = behind(nodes, name_at + 1);
            }
        }
        Some(Node::Array { len, .. }) => {
            let mut item_at = at + 1;
            for index in 0..*len {
                if let Some(step) = steps.steps.iter().find(|step| step.index == Some(index)) {
                    found(step, nodes, item_at, fields);
                }
                item_at = behind(nodes, item_at);
            }
        }
        _ => {}
    }
}

fn found(step: &Step, nodes: &[Node<'_>], at: usize, fields: &mut Fields) {
    if let Some(field) = step.field {
        fields.set(field, at);
    }
    if !step.below.steps.is_empty() {
        fill_below(&step.below, nodes, at, fields);
    }
}

/// The index of the node behind a value.
pub(super) fn behind(nodes: &[Node<'_>], at: usize) -> usize {
    at + 1
        + match nodes.get(at) {
            Some(Node::Object { count, .. } | Node::Array { count, .. }) => *count,
            _ => 0,
        }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tape::Parser;

    #[test]
    fn members_are_found_wherever_they_stand() {
        let table = FieldTable::new(["/a/b", "/c", "/a", "/d/1/x~1y", "/none"]);
        let text = r#"{"z":{"a":1},"d":[0,{"x/y":7}],"a":{"y":[1,2],"b":"text"},"c":null}"#;
        Parser::new(8).parse(text.as_bytes(), |tape| {
            let tape = tape.unwrap();
            let mut fields = Fields::default();
            table.fill(tape, &mut fields);
            let pointers: Vec<_> =
                (0..5).map(|n| fields.node(Field(n)).map(|node| tape.pointer(node))).collect();
            let wanted = ["/a/b", "/c", "/a", "/d/1/x~1y"].map(|pointer| Some(pointer.to_owned()));
            assert_eq!(pointers, [wanted.as_slice(), &[None]].concat());
        });
    }
}
