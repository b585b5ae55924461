//! The rules on attachments: what the target may see, where it lies, and that it is what its hash says.

use std::borrow::Borrow;
use std::collections::HashMap;
use std::ops::ControlFlow;
use std::path::Path;

use foldhash::fast::RandomState;

use crate::attachments::Attachments;
use crate::config;
use crate::credentials::digest::{self, FileHash, Sha256};
use crate::program::Observer;
use crate::tape::NodeIndex;

use super::super::compiled::FormatError;
use super::super::paths;
use super::super::record::Record;
use super::super::rule::Report;
use super::super::unique::first_repeated;
use super::routes::{self, Persona};
use super::{
    ATTACHMENT_CONTENT, ATTACHMENT_ONCE, ATTACHMENT_RELATIVE, ATTACHMENT_SAFE, ATTACHMENT_SCOPE,
    ATTACHMENT_TYPE, ATTACHMENTS, CORRELATION, HASH_PLACEHOLDER, HASH_PRESENT,
};

/// So many attachments are kept while they are checked.
const FEW: usize = 4;

/// Where plans lie.
const PLANS: &str = ".artifacts/plans/";

/// Where the content of attachments can be looked up.
pub(super) enum Contents {
    /// Nowhere.
    None,
    /// In the configuration.
    Listed(HashMap<Box<str>, Sha256, RandomState>),
    /// In a directory.
    Directory(Attachments),
}

impl Contents {
    pub(super) fn of(keys: &config::Olympus) -> Result<Self, FormatError> {
        let wrong = |key: &str, found: String, allowed: &str| FormatError::Key {
            key: format!("format.olympus.{key}"),
            found,
            allowed: allowed.to_owned(),
        };
        match (keys.attachment_root.as_str(), keys.files.is_empty()) {
            ("", true) => Ok(Self::None),
            ("", false) => {
                let hashed =
                    keys.files.iter().map(|(path, text)| (path.into(), digest::sha256(&[text.as_bytes()])));
                Ok(Self::Listed(hashed.collect()))
            }
            (root, true) => Attachments::open(Path::new(root))
                .map(Self::Directory)
                .map_err(|error| wrong("attachment_root", format!("{root}: {error}"), "a directory")),
            (_, false) => {
                Err(wrong("files", "both are set".to_owned(), "one of `attachment_root` and `files`"))
            }
        }
    }

    pub(super) fn is_none(&self) -> bool {
        matches!(self, Self::None)
    }

    fn sha256(&self, path: &str) -> Option<Sha256> {
        match self {
            Self::None => None,
            Self::Listed(files) => files.get(path).copied(),
            // A path that is not safe is not looked up, whatever the profile says about it.
            Self::Directory(files) => paths::is_safe(path, false).then(|| files.sha256(path)).flatten(),
        }
    }
}

/// One attachment's members: their nodes, and the texts that tell it from others.
#[derive(Clone, Copy)]
struct Attachment<'a> {
    at: NodeIndex,
    kind_at: NodeIndex,
    path_at: NodeIndex,
    hash_at: Option<NodeIndex>,
    kind: Option<&'a str>,
    path: Option<&'a str>,
    section: Option<&'a str>,
}

impl<'a> Attachment<'a> {
    const NONE: Self = Self {
        at: NodeIndex(0),
        kind_at: NodeIndex(0),
        path_at: NodeIndex(0),
        hash_at: None,
        kind: None,
        path: None,
        section: None,
    };

    /// Finds the members in one pass.
    fn of(record: &Record<'a>, at: NodeIndex) -> Self {
        let mut found = Self { at, kind_at: at, path_at: at, ..Self::NONE };
        for (name, value) in record.members(at) {
            match name {
                "type" => (found.kind_at, found.kind) = (value, record.text_at(value)),
                "path" => (found.path_at, found.path) = (value, record.text_at(value)),
                "section" => found.section = record.text_at(value),
                "hash" => found.hash_at = Some(value),
                _ => {}
            }
        }
        found
    }

    /// What must not stand twice.
    #[inline]
    fn identity(&self) -> (Option<&'a str>, Option<&'a str>, Option<&'a str>) {
        (self.path, self.section, self.kind)
    }

    /// Whether the target may see this part: only its own plan, and its own section of the configuration.
    fn is_in_scope(&self, target: Persona, correlation_id: &str) -> bool {
        match (self.kind, self.path) {
            (Some("plan"), Some(path)) => {
                let Some(below) = path.strip_prefix(PLANS).filter(|below| !below.is_empty()) else {
                    return false;
                };
                let number = leading_number(paths::file_name(below));
                match correlation_id.strip_prefix("issue-") {
                    Some(issue) if !number.is_empty() => without_zeros(number) == without_zeros(issue),
                    _ => true,
                }
            }
            (Some("config"), _) => {
                routes::config_section(target).is_none_or(|section| self.section == Some(section))
            }
            _ => true,
        }
    }
}

fn leading_number(name: &str) -> &str {
    let digits = name.bytes().take_while(u8::is_ascii_digit).count();
    name.get(..digits).unwrap_or_default()
}

/// Numbers of any width are compared as digits.
fn without_zeros(digits: &str) -> &str {
    digits.trim_start_matches('0')
}

/// Rule 6 for every attachment, then rule 7 for every attachment.
pub(super) fn check<O: Observer>(
    contents: &Contents,
    target: Option<Persona>,
    record: &Record<'_>,
    report: &mut Report<'_, O>,
) -> ControlFlow<()> {
    let Some(list) = record.node(ATTACHMENTS) else { return ControlFlow::Continue(()) };
    let all = record.items(list).map(|at| Attachment::of(record, at));
    let mut few = [Attachment::NONE; FEW];
    // PERF: a few are read once; of many, each rule reads its own.
    match few.get_mut(..all.len()) {
        Some(few) => {
            for (place, attachment) in few.iter_mut().zip(all) {
                *place = attachment;
            }
            check_all(contents, few.iter(), target, record, report)
        }
        None => check_all(contents, all, target, record, report),
    }
}

fn check_all<'a, O: Observer>(
    contents: &Contents,
    all: impl Iterator<Item: Borrow<Attachment<'a>>> + Clone,
    target: Option<Persona>,
    record: &Record<'_>,
    report: &mut Report<'_, O>,
) -> ControlFlow<()> {
    for attachment in all.clone() {
        check_scope(attachment.borrow(), target, record, report)?;
    }
    if report.wants(ATTACHMENT_ONCE) {
        let identities = all.clone().map(|attachment| attachment.borrow().identity());
        let repeated = first_repeated(all.clone().count(), identities);
        if let Some(attachment) = repeated.and_then(|place| all.clone().nth(place)) {
            report.broken(ATTACHMENT_ONCE, attachment.borrow().at)?;
        }
    }
    for attachment in all {
        check_hash(contents, attachment.borrow(), record, report)?;
    }
    ControlFlow::Continue(())
}

fn check_scope<O: Observer>(
    attachment: &Attachment<'_>,
    target: Option<Persona>,
    record: &Record<'_>,
    report: &mut Report<'_, O>,
) -> ControlFlow<()> {
    if let (Some(target), Some(kind)) = (target, attachment.kind) {
        report.demand(ATTACHMENT_TYPE, routes::may_receive(target, kind), attachment.kind_at)?;
    }
    if let Some(path) = attachment.path {
        let safe = paths::is_safe(path, false);
        report.demand(ATTACHMENT_RELATIVE, safe || paths::is_relative(path), attachment.path_at)?;
        report.demand(ATTACHMENT_SAFE, safe, attachment.path_at)?;
    }
    if let (Some(target), Some(correlation_id)) = (target, record.text(CORRELATION)) {
        report.demand(ATTACHMENT_SCOPE, attachment.is_in_scope(target, correlation_id), attachment.at)?;
    }
    ControlFlow::Continue(())
}

fn check_hash<O: Observer>(
    contents: &Contents,
    attachment: &Attachment<'_>,
    record: &Record<'_>,
    report: &mut Report<'_, O>,
) -> ControlFlow<()> {
    let Some(hash_at) = attachment.hash_at else { return report.broken(HASH_PRESENT, attachment.at) };
    let (Some(hash), Some(path)) = (record.text_at(hash_at), attachment.path) else {
        return ControlFlow::Continue(());
    };
    report.demand(HASH_PLACEHOLDER, !FileHash::is_placeholder(hash), hash_at)?;
    let Some(sha256) = contents.sha256(path) else {
        report.unchecked(ATTACHMENT_CONTENT);
        return ControlFlow::Continue(());
    };
    report.demand(ATTACHMENT_CONTENT, FileHash::of(hash).fits(&sha256), hash_at)
}
