//! humaninloop: inputs of agents, and their outputs.

use std::ops::ControlFlow;

use crate::config::{self, Profile};
use crate::credentials::{Scratch, digest};
use crate::program::Observer;

use super::compiled::{BuiltIn, FormatError};
use super::facts::{Facts, Lifecycle};
use super::record::Record;
use super::rule::{Report, RuleSet, rules};
use super::shapes::Edit;

pub(super) const INPUT_FIELDS: &[&str] = &[];
pub(super) const OUTPUT_FIELDS: &[&str] = &[];

rules! {}

/// Values that are never shown.
pub(super) const HIDDEN: &[&str] = &[];

/// The format as it is configured.
pub(super) struct Input;

impl BuiltIn for Input {
    type Keys = config::Humaninloop;

    fn new(_: &config::Humaninloop, _: Profile) -> Result<Self, FormatError> {
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

/// The format as it is configured.
pub(super) struct Output;

impl BuiltIn for Output {
    type Keys = config::Humaninloop;

    fn new(_: &config::Humaninloop, _: Profile) -> Result<Self, FormatError> {
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
