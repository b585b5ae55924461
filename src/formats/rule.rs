//! Rules: what a format demands beyond its schema, each with its name, reason, source and profiles.
//!
//! A format lists its rules with [`rules!`]; the order of the list is documentation, the order of the checks is that of
//! the format's `check`. Which rules are on is decided once, at start: by the profile, by `rules_off`, and by the data
//! that is configured. While a record is judged, rules report to a [`Report`], which knows what is on.

use std::ops::ControlFlow;

use crate::clock::Timestamp;
use crate::config::Profile;
use crate::credentials::mac::Mac;
use crate::program::{Failure, Observer, OpIndex};
use crate::tape::NodeIndex;
use crate::verdict::Reason;

/// Where a rule comes from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Source {
    /// The published page says so.
    Page,
    /// The reference implementation or its documents do so.
    Reference,
    /// Nobody does; it is Tollgate's hardening.
    Proposed,
    /// The user's configuration asks for it.
    Settings,
}

impl Source {
    /// As `check` shows it.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Page => "page",
            Self::Reference => "reference",
            Self::Proposed => "proposed",
            Self::Settings => "settings",
        }
    }

    /// By its name.
    #[must_use]
    pub fn from_name(name: &str) -> Option<Self> {
        [Self::Page, Self::Reference, Self::Proposed, Self::Settings]
            .into_iter()
            .find(|source| source.name() == name)
    }
}

/// One rule.
#[derive(Debug)]
pub struct Rule {
    /// Its name in `rules_off`, tables and explanations.
    pub name: &'static str,
    /// The reason of a reject.
    pub reason: Reason,
    /// Where it comes from.
    pub source: Source,
    /// Whether it holds in the profiles page, strict and lenient.
    pub profiles: [bool; 3],
    /// What it demands, as a clause.
    pub text: &'static str,
    /// The keys of the format's section, one of which it needs data from; empty if it needs none.
    pub needs: &'static [&'static str],
    /// Whether a record that breaks it is accepted with a warning.
    pub warns: bool,
}

impl Rule {
    /// Whether it holds in a profile.
    #[must_use]
    pub const fn holds_in(&self, profile: Profile) -> bool {
        let [page, strict, lenient] = self.profiles;
        match profile {
            Profile::Page => page,
            Profile::Strict => strict,
            Profile::Lenient => lenient,
        }
    }
}

/// A rule of the format at hand: its place in the format's list.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RuleId(pub(crate) u8);

/// LIMIT: rules of one format; a set of them is one word.
pub(crate) const RULES_MAX: usize = 64;

/// What the rules found out on their way, and facts are made of.
#[derive(Clone, Copy, Debug, Default)]
pub struct Found {
    /// The tag of a signature over the whole envelope that has verified.
    pub mac: Option<Mac>,
    /// When it was sent, by its own account, if a rule has asked.
    pub sent: Option<Timestamp>,
}

/// A set of rules of one format.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct RuleSet(u64);

impl RuleSet {
    /// The rules of a list that a test picks.
    pub fn of(rules: &[Rule], picks: impl Fn(&Rule) -> bool) -> Self {
        let picked = rules.iter().take(RULES_MAX).enumerate().filter(|(_, rule)| picks(rule));
        Self(picked.fold(0, |bits, (index, _)| bits | 1 << index))
    }

    /// Whether the rule is in the set.
    #[must_use]
    pub const fn contains(self, rule: RuleId) -> bool {
        self.0 >> rule.0 & 1 == 1
    }

    /// The set with the rule.
    #[must_use]
    pub const fn with(self, rule: RuleId) -> Self {
        Self(self.0 | 1 << rule.0)
    }

    /// What is in this set and not in the other.
    #[must_use]
    pub const fn without(self, other: Self) -> Self {
        Self(self.0 & !other.0)
    }

    /// What is in both sets.
    #[must_use]
    pub const fn and(self, other: Self) -> Self {
        Self(self.0 & other.0)
    }

    /// Whether there is none.
    #[must_use]
    pub const fn is_empty(self) -> bool {
        self.0 == 0
    }

    /// The first rule of the list that is in the set.
    #[must_use]
    pub fn first(self, list: &'static [Rule]) -> Option<&'static Rule> {
        // Of an empty set this is past every list.
        list.get(self.0.trailing_zeros() as usize)
    }

    /// The rules of the list that are in the set.
    pub fn rules(self, list: &'static [Rule]) -> impl Iterator<Item = &'static Rule> {
        list.iter().enumerate().filter(move |(index, _)| self.0 >> index & 1 == 1).map(|(_, rule)| rule)
    }
}

/// Names the rules of a format: a constant for each, and `RULES` with all of them.
///
/// `NAME "name" Reason source [profiles] "text";` with `needs "key" "key"` before the semicolon where the rule needs
/// data, and `, warns` where it only warns.
macro_rules! rules {
    ($($name:ident $label:literal $reason:ident $source:ident [$($profile:ident)*] $text:literal $(needs $($key:literal)+)? $(, $warns:ident)?;)*) => {
        /// The rules of the format.
        pub(crate) static RULES: &[$crate::formats::rule::Rule] = &[$($crate::formats::rule::Rule {
            name: $label,
            reason: $crate::verdict::Reason::$reason,
            source: $crate::formats::rule::Source::$source,
            profiles: $crate::formats::rule::profiles(&[$(stringify!($profile),)*]),
            text: $text,
            needs: &[$($($key,)+)?],
            warns: { const MARKS: &[&str] = &[$(stringify!($warns))?]; !MARKS.is_empty() },
        },)*];
        $crate::formats::rule::rules!(@count 0u8; $($name)*);
        const _: () = assert!(RULES.len() <= $crate::formats::rule::RULES_MAX);
    };
    (@count $n:expr; $name:ident $($rest:ident)*) => {
        const $name: $crate::formats::rule::RuleId = $crate::formats::rule::RuleId($n);
        $crate::formats::rule::rules!(@count $n + 1; $($rest)*);
    };
    (@count $n:expr;) => {};
}
pub(crate) use rules;

/// Reads the profiles that stand in a list of rules, while it is compiled.
#[expect(clippy::panic, reason = "runs while Tollgate is compiled")]
pub(crate) const fn profiles(names: &[&str]) -> [bool; 3] {
    let mut on = [false; 3];
    let mut rest = names;
    while let [name, tail @ ..] = rest {
        let [page, strict, lenient] = &mut on;
        match name.as_bytes() {
            b"page" => *page = true,
            b"strict" => *strict = true,
            b"lenient" => *lenient = true,
            _ => panic!("the profiles are page, strict and lenient"),
        }
        rest = tail;
    }
    on
}

/// What rules report to while a record is judged.
pub struct Report<'o, O> {
    observer: &'o mut O,
    rules: &'static [Rule],
    on: RuleSet,
    lacking: RuleSet,
    /// Rules that applied to the record and could not be checked, because their data is not configured.
    unchecked: RuleSet,
    /// Rules that the record broke, and that only warn.
    warned: RuleSet,
    found: Found,
}

impl<'o, O: Observer> Report<'o, O> {
    /// A report on one record; `on` are the rules that hold and have their data, `lacking` those that lack it.
    pub fn new(observer: &'o mut O, rules: &'static [Rule], on: RuleSet, lacking: RuleSet) -> Self {
        Self {
            observer,
            rules,
            on,
            lacking,
            unchecked: RuleSet::default(),
            warned: RuleSet::default(),
            found: Found::default(),
        }
    }

    /// Whether the rule is on. Ask before work that only this rule needs.
    #[must_use]
    pub fn wants(&self, rule: RuleId) -> bool {
        self.on.contains(rule)
    }

    /// The rule is broken at a node; nothing happens if the rule is off.
    pub fn broken(&mut self, rule: RuleId, at: NodeIndex) -> ControlFlow<()> {
        match self.rules.get(usize::from(rule.0)) {
            Some(known) if self.wants(rule) && known.warns => {
                self.warned = self.warned.with(rule);
                ControlFlow::Continue(())
            }
            Some(known) if self.wants(rule) => {
                self.observer.failed(Failure { reason: known.reason, at, op: OpIndex::of_rule(rule.0) })
            }
            _ => ControlFlow::Continue(()),
        }
    }

    /// Demands that the rule holds; what it costs to find out is up to the caller.
    pub fn demand(&mut self, rule: RuleId, holds: bool, at: NodeIndex) -> ControlFlow<()> {
        if holds { ControlFlow::Continue(()) } else { self.broken(rule, at) }
    }

    /// The rule applies to this record, and cannot be checked; nothing happens if it does not hold in the profile.
    pub fn unchecked(&mut self, rule: RuleId) {
        if self.on.contains(rule) || self.lacking.contains(rule) {
            self.unchecked = self.unchecked.with(rule);
        }
    }

    /// A signature over the whole envelope has verified.
    pub fn verified(&mut self, mac: Mac) {
        self.found.mac = Some(mac);
    }

    /// The envelope's own time was read.
    pub fn sent(&mut self, sent: Timestamp) {
        self.found.sent = Some(sent);
    }

    /// What facts are made of, beside the record.
    #[must_use]
    pub fn found(&self) -> Found {
        self.found
    }

    /// The rules that were broken so far, and only warn.
    #[must_use]
    pub fn warned_rules(&self) -> RuleSet {
        self.warned
    }

    /// The rules that could not be checked so far.
    #[must_use]
    pub fn unchecked_rules(&self) -> RuleSet {
        self.unchecked
    }
}
