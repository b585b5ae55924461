//! How a judge is made and renewed, and what it keeps of the last record for whoever wants it. Nothing here judges.

use super::known::Known;
use super::{Judge, Rules};
use crate::credentials::{self, digest::TagSecret};
use crate::formats::labels::{Labeller, Labels, Stand};
use crate::formats::{Facts, Fields};
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
            tag_secret: None,
            labeller: None,
            stands: ByOutline::new(Stand::default),
            labels: Labels::default(),
        }
    }

    /// Starts over with other rules: what was learned under the old ones goes with them.
    #[cold]
    pub(super) fn renew(&mut self, rules: &Rules) {
        let (makes_facts, tag_secret) = (self.makes_facts, self.tag_secret.take());
        let labeller = self.labeller.take();
        *self = Self { makes_facts, tag_secret, labeller, ..Self::new(rules) };
    }

    /// From now on, facts are made of records that hold.
    pub fn make_facts(&mut self) {
        self.makes_facts = true;
    }

    /// From now on, the content tags of facts are good for this run alone; all judges of it have the same secret.
    pub fn tag_within_run(&mut self, secret: TagSecret) {
        self.tag_secret = Some(secret);
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
