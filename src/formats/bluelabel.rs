//! Bluelabel: task results, errors and requests for input.

use std::ops::ControlFlow;

use crate::config::{self, Profile};
use crate::credentials::{Scratch, digest};
use crate::program::Observer;

use super::compiled::{BuiltIn, FormatError};
use super::facts::{Facts, Lifecycle};
use super::fields::fields;
use super::record::Record;
use super::rule::{Report, RuleSet, rules};
use super::shapes::Edit;

fields! {}

rules! {}

/// Values that are never shown.
pub(super) const HIDDEN: &[&str] = &[];

/// The format as it is configured.
pub(super) struct Bluelabel;

impl BuiltIn for Bluelabel {
    type Keys = config::Bluelabel;

    fn new(_: &config::Bluelabel, _: Profile) -> Result<Self, FormatError> {
        Ok(Self)
    }

    fn lacks(&self) -> RuleSet {
        RuleSet::default()
    }

    fn edits(&self) -> Vec<Edit> {
        Vec::new()
    }

    fn check<O: Observer>(&self, _: &Record<'_>, _: &mut Report<'_, O>) -> ControlFlow<()> {
        ControlFlow::Continue(())
    }

    fn authenticate<O: Observer>(
        &self,
        _: &Record<'_>,
        _: &mut Scratch,
        _: &mut Report<'_, O>,
    ) -> ControlFlow<()> {
        ControlFlow::Continue(())
    }

    fn facts(&self, record: &Record<'_>, _: &mut Scratch) -> Facts {
        Facts {
            identity: None,
            content: digest::content_tag(record.payload),
            keep_until: record.now.unwrap_or_default(),
            lifecycle: Lifecycle::None,
        }
    }
}
