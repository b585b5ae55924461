//! How a judge is made and renewed, and what it keeps of the last record for whoever wants it. Nothing here judges.

use super::known::Known;
use super::{Judge, Rules};
use crate::credentials;
use crate::formats::labels::{Labeller, Labels, Stand};
use crate::formats::{Asked, Facts, Fields};
use crate::outline::{ByOutline, Outlines};
use crate::program;
use crate::tape::Parser;

impl Judge {
    /// A judge with memory for documents within the rules' limits.
    #[must_use]
    pub fn new(rules: &Rules) -> Self {
        Self {
            rules: rules.id(),
            parser: Parser::new(usize::from(rules.limits().depth_max)),
            scratch: program::Scratch::default(),
            secrets: credentials::Scratch::default(),
            fields: Fields::default(),
            outlines: Outlines::default(),
            known: ByOutline::new(Known::default),
            makes_facts: false,
            facts: None,
            asked: Asked::default(),
            labeller: None,
            stands: ByOutline::new(Stand::default),
            labels: Labels::default(),
        }
    }

    /// Starts over with other rules: what was learned under the old ones goes with them.
    #[cold]
    pub(super) fn renew(&mut self, rules: &Rules) {
        let (asked, labeller) = (std::mem::take(&mut self.asked), self.labeller.take());
        *self = Self { makes_facts: self.makes_facts, asked, labeller, ..Self::new(rules) };
    }

    /// From now on, facts are made of records that hold: all that there are, with names that last.
    pub fn make_facts(&mut self) {
        self.make_facts_for(Asked::default());
    }

    /// From now on, such facts are made of records that hold; all judges of a run are asked alike.
    pub fn make_facts_for(&mut self, asked: Asked) {
        (self.makes_facts, self.asked) = (true, asked);
    }

    /// The facts of the last record, if they are made and it holds.
    #[must_use]
    pub fn facts(&self) -> Option<&Facts> {
        self.facts.as_ref()
    }

    /// From now on, labels are found in every record whose format is known; all judges of a run have the same seed.
    pub fn make_labels(&mut self, rules: &Rules, seed: u64) {
        self.labeller = Some(Labeller::new(seed, rules.formats()));
        self.stands.forget();
    }

    /// The labels of the last record.
    #[must_use]
    pub fn labels(&self) -> &Labels {
        &self.labels
    }
}
