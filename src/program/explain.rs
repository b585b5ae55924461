//! Words for a failure: where in the document, where in the schema, what was expected, what was found.
//!
//! Made only where someone asks; nothing here is called for a record that merely gets routed.

use std::collections::{HashMap, HashSet};

use super::duplicates::nested;
use super::execute::{Duty, Reporting};
use super::ops::{BlockId, Kind, OpIndex, Tables};
use super::{Failure, FirstFailure, Program, Scratch, call_of};
use crate::tape::{Node, NodeIndex, StaticNode, Tape};
use crate::verdict::Reason;

/// LIMIT: so many failures of one document are put into words; the others are counted.
pub const FAILURES_MAX: usize = 1000;

/// LIMIT: so many failures of `anyOf` and `oneOf` in one document are broken down by branch.
const BREAK_DOWNS_MAX: usize = 100;

/// Values longer than this are cut in texts.
const FOUND_CHARS_MAX: usize = 60;

/// So many branches of `anyOf` and `oneOf` are explained one by one.
const BRANCHES_MAX: usize = 6;

/// One failure in words.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Explanation {
    /// JSON pointer into the document.
    pub instance: String,
    /// JSON pointer into the schema; with the document's URI in front if it is not the root document.
    pub schema: String,
    /// The keyword that failed.
    pub keyword: &'static str,
    /// What the schema asks for.
    pub expected: String,
    /// What the document has.
    pub found: String,
}

impl Program {
    /// The other half of [`Self::execute`]: the words for a failure. Of `anyOf` and `oneOf` it says what each branch
    /// lacks, or which ones hold.
    #[must_use]
    pub fn explain(&self, failure: Failure, tape: Tape<'_>) -> Explanation {
        let mut explainer = Explainer::new(self, tape);
        explainer.explain(failure, 0, &mut Scratch::default())
    }

    /// The words for several failures of one document, in their order; cheaper than one by one.
    #[must_use]
    pub fn explain_all(
        &self,
        failures: &[Failure],
        tape: Tape<'_>,
        scratch: &mut Scratch,
    ) -> Vec<Explanation> {
        let mut explainer = Explainer::new(self, tape);
        // How often the same check failed at the same node before: each time it is about another member.
        let mut before: HashMap<(u32, u32), usize> = HashMap::new();
        let mut numbered: Vec<(usize, Failure, usize)> = Vec::with_capacity(failures.len());
        for (number, failure) in failures.iter().enumerate() {
            let count = before.entry((failure.op.0, failure.at.0)).or_default();
            numbered.push((number, *failure, *count));
            *count += 1;
        }
        // PERF: in the order of the document the way to a node goes on from the one before.
        numbered.sort_by_key(|(_, failure, _)| failure.at.0);
        let mut words: Vec<(usize, Explanation)> = numbered
            .into_iter()
            .map(|(number, failure, count)| (number, explainer.explain(failure, count, scratch)))
            .collect();
        words.sort_by_key(|(number, _)| *number);
        words.into_iter().map(|(_, explanation)| explanation).collect()
    }

    /// Follows a failure of `anyOf` to the branch that was meant: the one that fails furthest down, or that has the right
    /// type.
    pub(super) fn innermost(&self, mut failure: Failure, tape: Tape<'_>, scratch: &mut Scratch) -> Failure {
        let keyword_of = |failure: &Failure| {
            self.tables.origins.get(failure.op.0 as usize).map_or("", |origin| origin.keyword)
        };
        loop {
            let branches = branches_of(&self.tables, failure.op, keyword_of(&failure));
            let inner =
                branches.iter().filter_map(|branch| self.first_failure(*branch, failure.at, tape, scratch));
            let rank = |inner: &Failure| (inner.at.0, keyword_of(inner) != "type");
            match inner.max_by_key(rank) {
                Some(inner) if rank(&inner) > (failure.at.0, false) => failure = inner,
                _ => return failure,
            }
        }
    }

    /// The first failure of one block on one node.
    fn first_failure(
        &self,
        block: BlockId,
        at: NodeIndex,
        tape: Tape<'_>,
        scratch: &mut Scratch,
    ) -> Option<Failure> {
        let mut first = FirstFailure::default();
        let sink = Reporting(&mut first);
        let call = call_of(block);
        let walked = self
            .walk_plainly(&tape, scratch, sink, |walk| walk.value_at(&call, at.0 as usize, Duty::default()));
        first.0.or(walked.stopped.map(|op| Failure { reason: Reason::Schema, at, op }))
    }
}

/// Puts the failures of one document into words.
struct Explainer<'e> {
    program: &'e Program,
    tape: Tape<'e>,
    trail: Trail,
    /// Where the texts of numbers stand, once someone asked.
    numbers: Option<Vec<(NodeIndex, u32, u32)>>,
    /// How many failures may still be broken down by branch.
    break_downs: usize,
}

impl<'e> Explainer<'e> {
    fn new(program: &'e Program, tape: Tape<'e>) -> Self {
        Self { program, tape, trail: Trail::default(), numbers: None, break_downs: BREAK_DOWNS_MAX }
    }

    fn explain(&mut self, failure: Failure, before: usize, scratch: &mut Scratch) -> Explanation {
        let mut explanation = self.words(failure, before);
        let branches = branches_of(&self.program.tables, failure.op, explanation.keyword);
        if !branches.is_empty() && self.break_downs > 0 {
            self.break_downs -= 1;
            let text = self.break_down(branches, failure.at, scratch);
            explanation.found.push_str(&text);
        }
        explanation
    }

    fn words(&mut self, failure: Failure, before: usize) -> Explanation {
        let tables = &self.program.tables;
        let origin = tables.origins.get(failure.op.0 as usize);
        let keyword = origin.map_or("", |origin| origin.keyword);
        let mut expected = origin.map(|origin| origin.expected.clone()).unwrap_or_default();
        let at = failure.at.0 as usize;
        let found = match keyword {
            "required" => "no such member".to_owned(),
            "dependentRequired" | "dependencies" => {
                if let Some(lacking) = lacking_member(tables, failure, before, self.tape) {
                    expected = lacking;
                }
                "no such member".to_owned()
            }
            "additionalProperties" | "unevaluatedProperties" => {
                format!("a member with {}", self.describe(at))
            }
            _ => self.describe(at),
        };
        Explanation {
            instance: self.trail.pointer(self.tape, at),
            schema: origin.map(|origin| tables.places.text(origin.place)).unwrap_or_default(),
            keyword,
            expected,
            found,
        }
    }

    /// What became of each branch, in words: its first failure, or that it holds.
    fn break_down(&mut self, branches: &[BlockId], at: NodeIndex, scratch: &mut Scratch) -> String {
        let mut text = String::new();
        for (number, branch) in branches.iter().take(BRANCHES_MAX).enumerate() {
            text.push_str(if number == 0 { " (" } else { "; " });
            text.push_str(&format!("branch {number} "));
            let Some(failure) = self.program.first_failure(*branch, at, self.tape, scratch) else {
                text.push_str("holds");
                continue;
            };
            let Explanation { instance, keyword, expected, found, .. } = self.words(failure, 0);
            text.push_str(&format!("fails at `{instance}`: {keyword}: expected {expected}, found {found}"));
        }
        if branches.len() > BRANCHES_MAX {
            text.push_str(&format!("; and {} more branches", branches.len() - BRANCHES_MAX));
        }
        text.push(')');
        text
    }

    /// A value in a few words; numbers as they are written.
    fn describe(&mut self, at: usize) -> String {
        match self.tape.nodes().get(at) {
            Some(Node::String(text)) => {
                let quoted = serde_json::Value::from(*text).to_string();
                match quoted.char_indices().nth(FOUND_CHARS_MAX) {
                    Some((end, _)) => {
                        format!(
                            "a string of {} characters: {}…",
                            text.chars().count(),
                            quoted.get(..end).unwrap_or_default()
                        )
                    }
                    None => quoted,
                }
            }
            Some(Node::Object { len, .. }) => format!("an object with {len} members"),
            Some(Node::Array { len, .. }) => format!("an array of {len} items"),
            Some(Node::Static(StaticNode::Null)) => "null".to_owned(),
            Some(Node::Static(StaticNode::Bool(value))) => value.to_string(),
            Some(Node::Static(StaticNode::I64(value))) => value.to_string(),
            Some(Node::Static(StaticNode::U64(value))) => value.to_string(),
            Some(Node::Static(StaticNode::F64(nearest))) => {
                self.written(at).unwrap_or_else(|| nearest.to_string())
            }
            None => "nothing".to_owned(),
        }
    }

    /// The text of a number.
    fn written(&mut self, at: usize) -> Option<String> {
        let tape = self.tape;
        let numbers = self.numbers.get_or_insert_with(|| {
            let mut numbers = Vec::new();
            tape.find_numbers(&mut numbers);
            numbers
        });
        let found = numbers.binary_search_by_key(&at, |(node, ..)| node.0 as usize).ok()?;
        let (_, start, len) = numbers.get(found)?;
        let text = tape.text_at(*start as usize, *len as usize)?;
        Some(match text.get(..FOUND_CHARS_MAX).filter(|_| text.len() > FOUND_CHARS_MAX) {
            Some(cut) => format!("a number of {} characters: {cut}…", text.len()),
            None => text.to_owned(),
        })
    }
}

/// The member that a failed `dependentRequired` asks for: the first that lacks, or one further on.
fn lacking_member(tables: &Tables, failure: Failure, before: usize, tape: Tape<'_>) -> Option<String> {
    let plan = tables.ops.iter().find_map(|op| match op.kind {
        Kind::DependentRequired(plan) if op.origin == failure.op => Some(plan),
        _ => None,
    })?;
    let plan = tables.dependent_required.get(plan as usize)?;
    let names: HashSet<&str> = names_of(tape, failure.at.0 as usize);
    let here = plan.iter().filter(|(name, _)| names.contains(&**name));
    let lacking: Vec<(&str, &str)> = here
        .flat_map(|(name, needed)| needed.iter().map(move |needed| (&**name, &**needed)))
        .filter(|(_, needed)| !names.contains(needed))
        .collect();
    let (name, needed) = lacking.get(before.checked_rem(lacking.len())?)?;
    Some(format!("a member `{needed}`, since there is `{name}`"))
}

/// The names of an object's members.
fn names_of(tape: Tape<'_>, at: usize) -> HashSet<&str> {
    let Some(Node::Object { len, .. }) = tape.nodes().get(at) else { return HashSet::new() };
    let (mut names, mut next) = (HashSet::with_capacity(*len), at + 1);
    for _ in 0..*len {
        if let Some(Node::String(name)) = tape.nodes().get(next) {
            names.insert(*name);
        }
        next += 2 + inside(tape, next + 1);
    }
    names
}

/// How many nodes stand inside a node.
fn inside(tape: Tape<'_>, at: usize) -> usize {
    tape.nodes().get(at).map_or(0, nested)
}

/// The way to the node that was last asked for.
///
/// PERF: a pointer is found from the root, and a document of many items that all fail would be walked once for each. Asked
/// for in the order of the document, all pointers together take one walk.
#[derive(Default)]
struct Trail {
    levels: Vec<Level>,
}

/// A container on the way, and the child that the way goes through.
struct Level {
    container: usize,
    position: usize,
    /// The child's name, if the container is an object; else the same as `value`.
    name: usize,
    value: usize,
}

impl Trail {
    /// The JSON pointer of a node; a member's name has the pointer of its value.
    fn pointer(&mut self, tape: Tape<'_>, target: usize) -> String {
        let holds = |container: usize| container < target && target <= container + inside(tape, container);
        while self.levels.last().is_some_and(|level| !holds(level.container)) {
            self.levels.pop();
        }
        if let Some(level) = self.levels.last_mut().filter(|level| target < level.name) {
            *level = Level::first(tape, level.container);
        }
        if self.levels.is_empty() && holds(0) {
            self.levels.push(Level::first(tape, 0));
        }
        while let Some(level) = self.levels.last_mut() {
            while level.value + inside(tape, level.value) < target {
                level.step(tape);
            }
            if level.value >= target {
                break;
            }
            let container = level.value;
            self.levels.push(Level::first(tape, container));
        }
        let mut pointer = String::new();
        for level in &self.levels {
            pointer.push('/');
            match tape.nodes().get(level.name) {
                Some(Node::String(name)) if level.name != level.value => {
                    pointer.push_str(&name.replace('~', "~0").replace('/', "~1"));
                }
                _ => pointer.push_str(&level.position.to_string()),
            }
        }
        pointer
    }
}

impl Level {
    fn first(tape: Tape<'_>, container: usize) -> Self {
        let named = matches!(tape.nodes().get(container), Some(Node::Object { .. }));
        Self { container, position: 0, name: container + 1, value: container + 1 + usize::from(named) }
    }

    /// Goes on to the next child.
    fn step(&mut self, tape: Tape<'_>) {
        let named = usize::from(self.name != self.value);
        self.position += 1;
        self.name = self.value + 1 + inside(tape, self.value);
        self.value = self.name + named;
    }
}

/// The branches of the `anyOf` or `oneOf` that failed; none for other keywords.
fn branches_of<'t>(tables: &'t Tables, op: OpIndex, keyword: &str) -> &'t [BlockId] {
    if !matches!(keyword, "anyOf" | "oneOf") {
        return &[];
    }
    let list = tables.ops.iter().filter(|candidate| candidate.origin == op).find_map(|op| match op.kind {
        Kind::AnyOf(list) | Kind::OneOf(list) => tables.branches.get(list as usize),
        _ => None,
    });
    list.map(|list| &**list).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tape::Parser;

    #[test]
    fn the_way_to_a_node_is_found_in_any_order() {
        let text = r#"{"a":[1,[2,{"x/y":[],"~":{"":0}}],3],"b":{},"c":[[[]],4]}"#;
        Parser::new(16).parse(text.as_bytes(), |tape| {
            let tape = tape.unwrap();
            let count = tape.nodes().len();
            for step in [1, 2, 3, 5, 7, 11] {
                let mut trail = Trail::default();
                for number in 0..count * step {
                    let node = number * step % count;
                    assert_eq!(trail.pointer(tape, node), tape.pointer(NodeIndex(node as u32)), "{node}");
                }
            }
        });
        Parser::new(16).parse(b"1", |tape| assert_eq!(Trail::default().pointer(tape.unwrap(), 0), ""));
    }
}
