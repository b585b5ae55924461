//! The compiled form of a schema: ops in one array, grouped into blocks, with side tables for what does not fit.
//!
//! A block is one schema object. It owns two ranges of ops: `full`, in the order in which failures are reported,
//! and `fast`, the same checks with type tests folded into their neighbours, for the silent walk. Both are run by
//! the same code. This file only defines the shapes; it must not compile or run anything.

use super::literals::Literal;
pub(super) use super::looks::{Pass, Types};
use super::names::{NameTable, Text};
use super::numbers::{Divisor, Given};
use super::patterns::Pattern;
use super::places::{Place, Places};
use super::strings::Format;
use crate::tape::Node;

/// Which check failed: an index into the program's table of origins.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct OpIndex(pub u32);

impl OpIndex {
    /// No check of a program.
    pub(crate) const NONE: Self = Self(u32::MAX);
    /// Marks rules that are no part of a schema.
    const RULES: u32 = 1 << 31;
    /// A member name that stands twice; no keyword of the schema.
    pub const DUPLICATE: Self = Self(0);
    /// The limit on steps was reached.
    pub const STEPS: Self = Self(1);
    /// The limit on nested calls was reached.
    pub const DEPTH: Self = Self(2);

    /// A rule of a format, by its place in the format's list: no check of a program, but reported like one.
    pub(crate) const fn of_rule(number: u8) -> Self {
        Self(Self::RULES | number as u32)
    }

    /// The place of the format's rule, if it is one.
    pub(crate) const fn rule(self) -> Option<u8> {
        if self.0 & !0xFF == Self::RULES { Some(self.0 as u8) } else { None }
    }
}

/// One schema object, by position in [`super::Program`]'s table of blocks.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(super) struct BlockId(pub(super) u32);

/// A range of a side table.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Span {
    pub(super) start: u32,
    pub(super) end: u32,
}

impl Span {
    #[inline]
    pub(super) fn of<T>(self, table: &[T]) -> &[T] {
        table.get(self.start as usize..self.end as usize).unwrap_or_default()
    }
}

/// What an op checks once the node's type is one of `types`. Numbers in the variants index side tables.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    /// Nothing beyond the type.
    Any,
    /// Nothing is valid.
    Never,
    /// One string, in `strings`.
    ConstString(u32),
    /// One of a set of strings, in `string_sets`.
    EnumStrings(u32),
    /// As `EnumStrings`, or null.
    EnumStringsOrNull(u32),
    Minimum(u32),
    Maximum(u32),
    ExclusiveMinimum(u32),
    ExclusiveMaximum(u32),
    MultipleOf(u32),
    MinLength(u32),
    MaxLength(u32),
    Pattern(u32),
    Format(Format),
    MinItems(u32),
    MaxItems(u32),
    MinProperties(u32),
    MaxProperties(u32),
    /// Members, in `objects`.
    Object(u32),
    /// Items by position, in `arrays`.
    Array(u32),
    /// Several checks of this node alone: the ops of a block.
    Leaves(BlockId),
    /// Bounds of a number, in `ranges`.
    Range(u32),
    // PERF: from here on ops need more than their node; the order makes `is_logic` one comparison.
    /// One literal, in `literals`.
    Const(u32),
    /// One of several literals, in `enums`.
    Enum(u32),
    UniqueItems,
    Contains(u32),
    PropertyNames(BlockId),
    DependentRequired(u32),
    DependentSchemas(u32),
    /// Another block on the same node (`$ref`, a branch of `allOf`).
    Call(BlockId),
    /// As `Call`, and the called block looks for duplicate names in our stead.
    Delegate(BlockId),
    /// A block that the dynamic scope chooses, in `dynamics`.
    Dynamic(u32),
    AnyOf(u32),
    OneOf(u32),
    Not(BlockId),
    If(u32),
    UnevaluatedItems(BlockId),
    UnevaluatedProperties(BlockId),
}

impl Kind {
    /// Whether an op of this kind needs more than its node and the plans of objects and arrays.
    #[inline]
    pub(super) fn is_logic(self) -> bool {
        !matches!(
            self,
            Self::Any
                | Self::Never
                | Self::ConstString(_)
                | Self::EnumStrings(_)
                | Self::EnumStringsOrNull(_)
                | Self::Minimum(_)
                | Self::Maximum(_)
                | Self::ExclusiveMinimum(_)
                | Self::ExclusiveMaximum(_)
                | Self::MultipleOf(_)
                | Self::MinLength(_)
                | Self::MaxLength(_)
                | Self::Pattern(_)
                | Self::Format(_)
                | Self::MinItems(_)
                | Self::MaxItems(_)
                | Self::MinProperties(_)
                | Self::MaxProperties(_)
                | Self::Object(_)
                | Self::Array(_)
                | Self::Leaves(_)
                | Self::Range(_)
        )
    }

    /// The types of which an op of this kind asks more than that they are allowed.
    pub(super) fn asks_of(self) -> Types {
        match self {
            Self::Any => Types(0),
            Self::MinLength(_) | Self::MaxLength(_) | Self::Pattern(_) | Self::Format(_) => Types::STRING,
            Self::Minimum(_)
            | Self::Maximum(_)
            | Self::ExclusiveMinimum(_)
            | Self::ExclusiveMaximum(_)
            | Self::MultipleOf(_)
            | Self::Range(_) => Types::NUMBER,
            Self::MinItems(_) | Self::MaxItems(_) | Self::Array(_) => Types::ARRAY,
            Self::MinProperties(_) | Self::MaxProperties(_) | Self::Object(_) => Types::OBJECT,
            _ => Types::ANY,
        }
    }

    /// Whether an op of this kind looks at its node and nothing else.
    pub(super) fn is_leaf(self) -> bool {
        !self.is_logic()
            && !matches!(self, Self::Object(_) | Self::Array(_) | Self::Leaves(_) | Self::Range(_))
    }
}

/// One check.
#[derive(Clone, Copy, Debug)]
pub(super) struct Op {
    /// A node of any other type fails.
    pub(super) types: Types,
    pub(super) kind: Kind,
    pub(super) origin: OpIndex,
}

const _: () = assert!(size_of::<Op>() <= 16, "four ops share a cache line");

impl Op {
    pub(super) fn new(kind: Kind, origin: OpIndex) -> Self {
        Self { types: Types::ANY, kind, origin }
    }

    /// The op that lets everything pass.
    pub(super) const OPEN: Self = Self { types: Types::ANY, kind: Kind::Any, origin: OpIndex(0) };
}

/// One schema object.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Block {
    pub(super) full: Span,
    pub(super) fast: Span,
    /// The schema resource it belongs to; counts for dynamic references only.
    pub(super) resource: u32,
    /// The types of container whose duplicate names the ops of `fast` find themselves.
    pub(super) owns: Owns,
    /// Whether its ops need to know which members and items were evaluated.
    pub(super) unevaluated: Unevaluated,
}

/// Which of a block's two lists of ops asks what was not evaluated.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Unevaluated {
    pub(super) full: bool,
    pub(super) fast: bool,
}

/// Who looks for duplicate names below a node.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Owns {
    pub(super) objects: bool,
    pub(super) arrays: bool,
}

/// How the members of an object are checked.
#[derive(Clone, Debug)]
pub(super) struct ObjectPlan {
    pub(super) names: NameTable,
    /// Known names; those that are required come first.
    pub(super) slots: Span,
    /// What the known members have to pass on the fast path, by slot; beside each other, since nothing else is read.
    pub(super) ops: Box<[Op]>,
    /// The schema's order of the known names, as slot numbers relative to `slots`.
    pub(super) order: Box<[u32]>,
    /// How many of the slots are required.
    pub(super) required: u32,
    /// One bit for each of the first 64 slots that is required.
    pub(super) required_mask: u64,
    /// Whether the known names can be told apart at a glance, no pattern matches one, and any number of members will do.
    pub(super) plain: bool,
    /// Whether there are neither known names nor patterns.
    pub(super) map: bool,
    /// How many members the fast path allows; the full list has ops for that.
    pub(super) counts: Counts,
    pub(super) patterns: Box<[(u32, BlockId, Op)]>,
    /// What a member has to pass that neither a known name nor a pattern covers.
    pub(super) others: Op,
    pub(super) others_pass: Pass,
    pub(super) others_block: Option<BlockId>,
    /// Whether such members count as evaluated (`additionalProperties` is there).
    pub(super) others_evaluated: bool,
}

/// A known member name.
#[derive(Debug)]
pub(super) struct Slot {
    /// Runs the member's schema on the fast path …
    pub(super) op: Op,
    /// … unless its value passes at a look.
    pub(super) pass: Pass,
    /// The member's schema; `None` if only `required` names it.
    pub(super) block: Option<BlockId>,
    /// Where `required` names it.
    pub(super) required: Option<OpIndex>,
    /// Whether `properties` or a pattern knows it, so that it is not an unknown name.
    pub(super) known: bool,
    /// The patterns of the same object that match the name; found once, at compile time.
    pub(super) patterns: Box<[(BlockId, Op)]>,
}

/// How the items of an array are checked.
#[derive(Debug)]
pub(super) struct ArrayPlan {
    pub(super) prefix: Box<[(BlockId, Op)]>,
    /// For the items behind the prefix; `None` leaves them open and unevaluated.
    pub(super) rest: Option<(BlockId, Op)>,
    /// What they have to pass on the fast path, and what of them passes at a look.
    pub(super) rest_op: Op,
    pub(super) rest_pass: Pass,
    /// How many items the fast path allows; the full list has ops for that.
    pub(super) counts: Counts,
}

impl ObjectPlan {
    /// Whether an object with `len` members and without known names passes since each of its values is a string that does.
    ///
    /// PERF: a call without a stack, so that the visits around it keep their registers.
    #[inline(never)]
    pub(super) fn passes_at_a_look(&self, len: usize, inside: &[Node<'_>]) -> bool {
        let mut rest = inside;
        while let [_, value, tail @ ..] = rest {
            if !self.others_pass.admits_text(value) {
                return false;
            }
            rest = tail;
        }
        self.counts.admits(len)
    }
}

impl ArrayPlan {
    /// Whether an array with `len` items passes since each of them is a string or a scalar that does.
    ///
    /// PERF: as [`ObjectPlan::passes_at_a_look`].
    #[inline(never)]
    pub(super) fn passes_at_a_look(&self, len: usize, inside: &[Node<'_>]) -> bool {
        self.prefix.is_empty() && self.counts.admits(len) && self.rest_pass.behind(inside).is_empty()
    }
}

/// A range of numbers of members or items.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Counts {
    pub(super) min: u32,
    pub(super) max: u32,
}

impl Counts {
    pub(super) const ANY: Self = Self { min: 0, max: u32::MAX };

    #[inline]
    pub(super) fn admits(self, count: usize) -> bool {
        self.min as usize <= count && count <= self.max as usize
    }
}

/// Bounds of a number.
#[derive(Debug)]
pub(super) struct RangePlan {
    /// The integers of 64 bits that pass; none do if the first is behind the last.
    pub(super) first: i64,
    pub(super) last: i64,
    /// Its ops decide about every other number.
    pub(super) block: BlockId,
}

#[derive(Debug)]
pub(super) struct ContainsPlan {
    pub(super) block: BlockId,
    pub(super) min: u32,
    pub(super) max: u32,
    /// Draft 7 does not count the items found as evaluated.
    pub(super) evaluates: bool,
}

#[derive(Debug)]
pub(super) struct IfPlan {
    pub(super) condition: BlockId,
    pub(super) then: Option<BlockId>,
    pub(super) otherwise: Option<BlockId>,
}

/// What can be told of the branches of `anyOf` and `oneOf` without running them.
#[derive(Debug)]
pub(super) struct BranchHints {
    /// The types each branch can hold for.
    pub(super) types: Box<[Types]>,
    /// A member that tells branches apart: several require it, each with strings of its own.
    pub(super) switch: Option<Switch>,
}

/// A member that several branches require to be certain strings.
#[derive(Debug)]
pub(super) struct Switch {
    pub(super) name: Box<str>,
    /// By branch: what its value has to pass, where the branch says so.
    pub(super) kinds: Box<[Option<Kind>]>,
}

/// A reference whose target depends on how we came here.
#[derive(Debug)]
pub(super) struct DynamicPlan {
    /// Resources that define the anchor, and their blocks.
    pub(super) candidates: Vec<(u32, BlockId)>,
    pub(super) fallback: BlockId,
}

/// Where a check stands in the schema, and what it asks for, in words.
#[derive(Clone, Debug)]
pub(super) struct Origin {
    pub(super) place: Place,
    pub(super) keyword: &'static str,
    pub(super) expected: String,
}

/// A member's name, and what its presence asks for.
pub(super) type Dependency<T> = (Box<str>, T);

/// Several member names.
pub(super) type Names = Box<[Box<str>]>;

/// All side tables.
#[derive(Debug, Default)]
pub(super) struct Tables {
    pub(super) ops: Vec<Op>,
    pub(super) blocks: Vec<Block>,
    pub(super) slots: Vec<Slot>,
    pub(super) objects: Vec<ObjectPlan>,
    pub(super) arrays: Vec<ArrayPlan>,
    pub(super) contains: Vec<ContainsPlan>,
    pub(super) conditions: Vec<IfPlan>,
    pub(super) dynamics: Vec<DynamicPlan>,
    pub(super) branches: Vec<Box<[BlockId]>>,
    /// By number of `branches`.
    pub(super) branch_hints: Vec<BranchHints>,
    pub(super) dependent_required: Vec<Box<[Dependency<Names>]>>,
    pub(super) dependent_schemas: Vec<Box<[Dependency<BlockId>]>>,
    pub(super) strings: Vec<Text>,
    pub(super) string_sets: Vec<NameTable>,
    pub(super) literals: Vec<Literal>,
    pub(super) enums: Vec<Box<[Literal]>>,
    pub(super) numbers: Vec<Given>,
    pub(super) divisors: Vec<Divisor>,
    pub(super) ranges: Vec<RangePlan>,
    pub(super) patterns: Vec<Pattern>,
    pub(super) origins: Vec<Origin>,
    /// Where the origins stand.
    pub(super) places: Places,
}
