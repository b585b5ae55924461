//! humaninloop: what an agent of a workflow is asked to do, and what it answers (ADR-007).
//!
//! Inputs and outputs are two formats of one family. Neither has an id, a time or a signature: what repeats is told by
//! content, under the record's key.

use std::cmp::Ordering;
use std::collections::HashMap;
use std::ops::ControlFlow;

use crate::config::{self, Profile};
use crate::credentials::{Scratch, digest::Identity};
use crate::program::Observer;
use crate::tape::{Node, NodeIndex, StaticNode};

use super::compiled::{BuiltIn, FormatError};
use super::facts::{Facts, Lifecycle, WRITTEN_FILES_MAX, WrittenFile};
use super::fields::Field;
use super::paths;
use super::record::Record;
use super::rule::{Report, RuleSet, rules};
use super::shapes::Edit;
use super::unique::first_repeated;

/// Members that the rules on inputs look at.
pub(super) const INPUT_FIELDS: &[&str] = &[
    "/context/feature_id",
    "/context/workflow",
    "/context/iteration",
    "/paths",
    "/paths/feature_root",
    "/task/action",
];
const FEATURE: Field = Field(0);
const WORKFLOW: Field = Field(1);
const ITERATION: Field = Field(2);
const PATHS: Field = Field(3);
const FEATURE_ROOT: Field = Field(4);
const ACTION: Field = Field(5);

/// Members that the rules on outputs look at.
pub(super) const OUTPUT_FIELDS: &[&str] = &["/success", "/artifacts", "/recommendation"];
const SUCCESS: Field = Field(0);
const ARTIFACTS: Field = Field(1);
const RECOMMENDATION: Field = Field(2);

rules! {
    FEATURE_SEGMENT "feature-segment" BadPattern Reference [lenient]
        "the feature id is one safe segment of a path";
    FEATURE_NULL "null-feature" NullFeature Page [page strict]
        "the feature id is null only with the action `scaffold`";
    FEATURE_SCAFFOLD "scaffold-feature" NullFeature Reference [strict]
        "the action `scaffold` goes with a null feature id";
    ITERATIONS "iteration-limit" IterationLimit Reference [strict]
        "the iteration is at most `max_iteration` of its workflow";
    RELATIVE "path-relative" UnsafePath Page [page strict lenient]
        "paths are relative to the repository";
    SAFE "path" UnsafePath Proposed [strict lenient]
        "paths stay inside the repository";
    FEATURE_IN_ROOT "feature-root" Inconsistent Proposed [strict]
        "`paths.feature_root` has the feature id as a segment";
    SUCCEEDED "recommendation" Inconsistent Page [page strict lenient]
        "only a success recommends to proceed";
    PATHS_ONCE "artifact-once" DuplicateItem Proposed [strict]
        "no artifact's path stands twice";
    FAILED_ARTIFACTS "failure-artifacts" Inconsistent Reference [strict]
        "a failure carries no artifacts (a warning)", warns;
    IDENTIFIABLE "identity" NumberRange Proposed [strict lenient]
        "integers lie within ±(2^53−1), so that repetitions can be told";
}

/// Values that are never shown.
pub(super) const HIDDEN: &[&str] = &[];

/// Inputs as they are configured.
pub(super) struct Input {
    max_iteration: HashMap<Box<str>, u32>,
    identities: Identities,
}

/// How repetitions of one kind are told.
struct Identities {
    kind: &'static [u8],
    keep_s: u32,
    /// Whether headers are trusted to identify a record.
    by_header: bool,
}

/// Outputs as they are configured.
pub(super) struct Output {
    identities: Identities,
}

impl BuiltIn for Input {
    type Keys = config::Humaninloop;

    fn new(keys: &config::Humaninloop, _: Profile) -> Result<Self, FormatError> {
        let caps = keys.max_iteration.0.iter().map(|(workflow, cap)| (workflow.as_str().into(), *cap));
        let (kind, keep_s) = (b"humaninloop-input".as_slice(), keys.input_keep_s);
        let identities = Identities { kind, keep_s, by_header: keys.trust_id_headers };
        Ok(Self { max_iteration: caps.collect(), identities })
    }

    fn lacks(&self) -> RuleSet {
        RuleSet::default()
    }

    fn edits(&self) -> Vec<Edit> {
        Vec::new()
    }

    fn check<O: Observer>(&self, record: &Record<'_>, report: &mut Report<'_, O>) -> ControlFlow<()> {
        check_feature(record, report)?;
        let cap = record.text(WORKFLOW).and_then(|workflow| self.max_iteration.get(workflow));
        if let (Some(cap), Some(at)) = (cap, record.node(ITERATION)) {
            let holds = record.compare_at(at, *cap).is_none_or(Ordering::is_le);
            report.demand(ITERATIONS, holds, at)?;
        }
        let values = record.node(PATHS).into_iter().flat_map(|paths| record.members(paths));
        for (_, value) in values {
            check_path(record, value, true, report)?;
            for item in record.items(value) {
                check_path(record, item, true, report)?;
            }
        }
        if let (Some(feature), Some(root)) = (record.text(FEATURE), record.text(FEATURE_ROOT)) {
            let within = root.split('/').any(|segment| segment == feature);
            report.demand(FEATURE_IN_ROOT, within, record.place(FEATURE_ROOT))?;
        }
        ControlFlow::Continue(())
    }

    fn authenticate<O: Observer>(
        &self,
        record: &Record<'_>,
        _: &mut Scratch,
        report: &mut Report<'_, O>,
    ) -> ControlFlow<()> {
        check_identity(record, report)
    }

    fn facts(&self, record: &Record<'_>, scratch: &mut Scratch) -> Facts {
        let lifecycle =
            if record.asked.sequences.humaninloop { iteration_of(record) } else { Lifecycle::None };
        Facts { lifecycle, ..self.identities.facts(record, scratch) }
    }
}

/// The iteration that an input belongs to, unless its feature has no name yet.
fn iteration_of(record: &Record<'_>) -> Lifecycle {
    let iteration = record.node(ITERATION).and_then(|at| record.number_at(at));
    let Some(iteration) = iteration.filter(|number| (1.0..=f64::from(u32::MAX)).contains(number)) else {
        return Lifecycle::None;
    };
    let (Some(feature), Some(workflow)) = (record.text(FEATURE), record.text(WORKFLOW)) else {
        return Lifecycle::None;
    };
    let key = record.key.unwrap_or_default();
    let run =
        record.asked.names.identity(&[b"humaninloop-run", key, feature.as_bytes(), workflow.as_bytes()]);
    Lifecycle::Humaninloop { run, iteration: iteration as u32 }
}

impl BuiltIn for Output {
    type Keys = config::Humaninloop;

    fn new(keys: &config::Humaninloop, _: Profile) -> Result<Self, FormatError> {
        let (kind, keep_s) = (b"humaninloop-output".as_slice(), keys.output_keep_s);
        Ok(Self { identities: Identities { kind, keep_s, by_header: keys.trust_id_headers } })
    }

    fn lacks(&self) -> RuleSet {
        RuleSet::default()
    }

    fn edits(&self) -> Vec<Edit> {
        Vec::new()
    }

    fn check<O: Observer>(&self, record: &Record<'_>, report: &mut Report<'_, O>) -> ControlFlow<()> {
        let artifacts = record.node(ARTIFACTS).into_iter().flat_map(|list| record.items(list));
        let paths = artifacts.filter_map(|artifact| record.member(artifact, "path"));
        for path in paths.clone() {
            check_path(record, path, false, report)?;
        }
        let failed_at = record.node(ARTIFACTS).filter(|list| record.items(*list).next().is_some());
        let failed = record.node(SUCCESS).and_then(|at| record.flag_at(at)) == Some(false);
        let proceeds = record.text(RECOMMENDATION) == Some("proceed");
        report.demand(SUCCEEDED, !(failed && proceeds), record.place(RECOMMENDATION))?;
        if let Some(artifacts) = failed_at.filter(|_| failed) {
            report.broken(FAILED_ARTIFACTS, artifacts)?;
        }
        if report.wants(PATHS_ONCE) {
            let texts = paths.clone().map(|path| record.text_at(path));
            if let Some(place) = first_repeated(paths.clone().count(), texts) {
                report.broken(PATHS_ONCE, paths.clone().nth(place).unwrap_or_default())?;
            }
        }
        ControlFlow::Continue(())
    }

    fn authenticate<O: Observer>(
        &self,
        record: &Record<'_>,
        _: &mut Scratch,
        report: &mut Report<'_, O>,
    ) -> ControlFlow<()> {
        check_identity(record, report)
    }

    fn facts(&self, record: &Record<'_>, scratch: &mut Scratch) -> Facts {
        let lifecycle = if record.asked.sequences.humaninloop { files_of(record) } else { Lifecycle::None };
        Facts { lifecycle, ..self.identities.facts(record, scratch) }
    }
}

/// The files that an output writes, each with its content.
fn files_of(record: &Record<'_>) -> Lifecycle {
    let key = record.key.unwrap_or_default();
    let artifacts = record.node(ARTIFACTS).into_iter().flat_map(|list| record.items(list));
    let mut written = artifacts.filter_map(|artifact| {
        let path = record.member(artifact, "path").and_then(|at| record.text_at(at))?;
        let content = record.member(artifact, "content").and_then(|at| record.text_at(at))?;
        let tag = record.asked.names.payload_tag(content.as_bytes(), None) as u32;
        let file = record.asked.names.identity(&[b"humaninloop-file", key, path.as_bytes()]);
        Some(WrittenFile { file, content: tag.max(1) })
    });
    let files = std::array::from_fn(|_| written.next());
    if files == [None; WRITTEN_FILES_MAX] { Lifecycle::None } else { Lifecycle::HumaninloopFiles(files) }
}

fn check_feature<O: Observer>(record: &Record<'_>, report: &mut Report<'_, O>) -> ControlFlow<()> {
    let at = record.place(FEATURE);
    let scaffolds = record.text(ACTION) == Some("scaffold");
    match record.value(at) {
        Some(Node::Static(StaticNode::Null)) => report.demand(FEATURE_NULL, scaffolds, at),
        Some(Node::String(feature)) => {
            // Known producers leave a line break at the end, the one control character that is tolerated.
            let segment = feature.strip_suffix('\n').unwrap_or(feature);
            let is_segment = !matches!(segment, "" | "." | "..")
                && !segment.starts_with('~')
                && !segment.contains(['/', '\\', ':'])
                && !segment.contains(char::is_control)
                && !segment.eq_ignore_ascii_case(".git");
            report.demand(FEATURE_SEGMENT, is_segment, at)?;
            report.demand(FEATURE_SCAFFOLD, !scaffolds, at)
        }
        _ => ControlFlow::Continue(()),
    }
}

fn check_path<O: Observer>(
    record: &Record<'_>,
    at: NodeIndex,
    directory: bool,
    report: &mut Report<'_, O>,
) -> ControlFlow<()> {
    let Some(path) = record.text_at(at) else { return ControlFlow::Continue(()) };
    report.demand(RELATIVE, paths::is_relative(path), at)?;
    report.demand(SAFE, paths::is_safe(path, directory), at)
}

/// Content tells repetitions, and RFC 8785 must be able to carry it.
fn check_identity<O: Observer>(record: &Record<'_>, report: &mut Report<'_, O>) -> ControlFlow<()> {
    if !report.wants(IDENTIFIABLE) {
        return ControlFlow::Continue(());
    }
    match record.first_inexact_integer() {
        Some(at) => report.broken(IDENTIFIABLE, at),
        None => ControlFlow::Continue(()),
    }
}

/// Headers that may identify a record, the first one first.
const ID_HEADERS: [&str; 2] = ["message-id", "ce_id"];

impl Identities {
    fn facts(&self, record: &Record<'_>, scratch: &mut Scratch) -> Facts {
        let names = &record.asked.names;
        let content = names.document(record.tape, record.payload, scratch);
        let key = record.key.unwrap_or_default();
        let by_content = || content.map(|content| names.identity(&[self.kind, key, content.bytes()]));
        let now = record.now.unwrap_or_default();
        Facts {
            identity: self.by_header(record).or_else(by_content),
            content: content.map_or(0, |content| content.tag()),
            now: record.now,
            keep_until: now.plus_secs(self.keep_s),
            capped: false,
            burns: false,
            lifecycle: Lifecycle::None,
        }
    }

    /// The identity that a header gives, where headers are trusted; an empty one gives none.
    fn by_header(&self, record: &Record<'_>) -> Option<Identity> {
        let headers = record.headers.filter(|_| self.by_header)?;
        ID_HEADERS.iter().find_map(|name| {
            let mut identity = None;
            headers.each(name, &mut |id| {
                identity =
                    (!id.is_empty()).then(|| record.asked.names.identity(&[self.kind, b"id", id, b""]));
            });
            identity
        })
    }
}
