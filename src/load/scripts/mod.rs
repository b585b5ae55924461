//! Scripts: what one scene of a stream plays, step by step, with the verdict that each step must get.
//!
//! A script is a conversation that follows the rules of its format, a single envelope with one fault, or a conversation
//! whose last step breaks a rule of sequence. The verdicts are those of the profile strict with the kit's configuration,
//! taken from the formats' own documents: nothing here asks the judge.

pub(super) mod agh;
pub(super) mod alfred;
pub(super) mod bluelabel;
mod humaninloop;
pub(super) mod olympus;
mod parse;

use super::template::{Edit, Node, Spoiling};
use crate::verdict::Reason;

/// Whose envelopes a script plays.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Family {
    Olympus,
    Agh,
    Alfred,
    Humaninloop,
    Bluelabel,
}

impl Family {
    pub(super) const BUILT_IN: [(&str, Self); 5] = [
        ("olympus", Self::Olympus),
        ("agh", Self::Agh),
        ("alfred", Self::Alfred),
        ("humaninloop", Self::Humaninloop),
        ("bluelabel", Self::Bluelabel),
    ];
}

/// How a step is signed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Sign {
    No,
    /// Scheme v1 or v2, as the scene says.
    Olympus,
    Alfred,
}

/// One record of a script.
#[derive(Clone, Debug)]
pub(super) struct Step {
    pub(super) tree: Node,
    pub(super) sign: Sign,
    pub(super) reason: Option<Reason>,
    /// It is a copy of an earlier step, byte for byte.
    pub(super) copy_of: Option<u8>,
    pub(super) later_s: i64,
    /// Ids, numbers and words are those of another step.
    pub(super) drawn_as: Option<u8>,
    pub(super) wrong_key: bool,
    pub(super) spoiling: Option<Spoiling>,
}

/// Where a script can be played.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Where {
    Anywhere,
    /// Only where topics carry what lines of a file cannot.
    Topics,
    /// Only where one format is expected.
    Pinned,
    /// Only where formats are told apart.
    Mixed,
}

/// What a scene plays.
#[derive(Clone, Debug)]
pub(super) struct Script {
    pub(super) family: Family,
    /// What its last step is refused for; `None`: everything holds.
    pub(super) reason: Option<Reason>,
    pub(super) steps: Vec<Step>,
    pub(super) place: Where,
}

/// All scripts of a built-in format.
pub(super) fn of(family: Family) -> Vec<Script> {
    let mut scripts = match family {
        Family::Olympus => olympus::scripts(),
        Family::Agh => agh::scripts(),
        Family::Alfred => alfred::scripts(),
        Family::Humaninloop => humaninloop::scripts(),
        Family::Bluelabel => bluelabel::scripts(),
    };
    let plain = scripts.iter().find(|script| script.reason.is_none()).and_then(|script| script.steps.first());
    if let Some(plain) = plain.cloned() {
        scripts.extend(parse::scripts(family, &plain));
    }
    scripts
}

impl Step {
    fn new(template: &str, sign: Sign) -> Self {
        Self {
            tree: Node::parse(template),
            sign,
            reason: None,
            copy_of: None,
            later_s: 0,
            drawn_as: None,
            wrong_key: false,
            spoiling: None,
        }
    }

    fn with(mut self, edits: &[Edit]) -> Self {
        for edit in edits {
            match *edit {
                Edit::Later(seconds) => self.later_s = seconds,
                Edit::AsStep(step) => self.drawn_as = Some(step),
                Edit::WrongKey => self.wrong_key = true,
                Edit::Spoil(spoiling) => self.spoiling = Some(spoiling),
                edit => self.tree.edit(edit),
            }
        }
        self
    }
}

/// What an envelope is refused for, the envelope, and what was done to it.
type Fault = (Reason, &'static str, &'static [Edit]);

/// What all scripts of a format have in common.
#[derive(Clone, Copy)]
struct Maker {
    family: Family,
    sign: Sign,
}

impl Maker {
    /// A conversation in which everything holds.
    fn valid(self, steps: &[(&str, &[Edit])]) -> Script {
        let steps =
            steps.iter().map(|(template, edits)| Step::new(template, self.sign).with(edits)).collect();
        Script { family: self.family, reason: None, steps, place: Where::Anywhere }
    }

    /// Envelopes with one fault each.
    fn faults(self, faults: &[Fault]) -> impl Iterator<Item = Script> {
        faults.iter().map(move |(reason, template, edits)| self.sequence(*reason, &[(template, edits)]))
    }

    /// A conversation whose last step is refused.
    fn sequence(self, reason: Reason, steps: &[(&str, &[Edit])]) -> Script {
        let mut script = self.valid(steps);
        script.reason = Some(reason);
        if let Some(last) = script.steps.last_mut() {
            last.reason = Some(reason);
        }
        script
    }

    /// An envelope, and the same bytes once more.
    fn duplicate(self, template: &str) -> Script {
        let mut script = self.sequence(Reason::Duplicate, &[(template, &[]), (template, &[])]);
        if let Some(last) = script.steps.last_mut() {
            last.copy_of = Some(0);
        }
        script
    }
}
