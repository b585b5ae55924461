//! The rules on attachments: what the target may see, where it lies, and that it is what its hash says.

use std::collections::HashMap;
use std::ops::ControlFlow;
use std::path::Path;

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

/// Where plans lie.
const PLANS: &str = ".artifacts/plans/";

/// Where the content of attachments can be looked up.
pub(super) enum Contents {
    /// Nowhere.
    None,
    /// In the configuration.
    Listed(HashMap<Box<str>, Sha256>),
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

/// One attachment's members.
#[derive(Clone, Copy, PartialEq, Hash)]
struct Attachment<'a> {
    kind: Option<&'a str>,
    path: Option<&'a str>,
    section: Option<&'a str>,
}

impl<'a> Attachment<'a> {
    fn of(record: &Record<'a>, at: NodeIndex) -> Self {
        let text = |name| record.member(at, name).and_then(|at| record.text_at(at));
        Self { kind: text("type"), path: text("path"), section: text("section") }
    }

    /// Whether the target may see this part: only its own plan, and its own section of the configuration.
    fn is_in_scope(&self, target: Persona, correlation_id: &str) -> bool {
        match (self.kind, self.path) {
            (Some("plan"), Some(path)) => {
                let Some(below) = path.strip_prefix(PLANS).filter(|below| !below.is_empty()) else {
                    return false;
                };
                let name = below.rsplit('/').next().unwrap_or(below);
                let number = leading_number(name);
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
    for at in record.items(list) {
        let attachment = Attachment::of(record, at);
        let place = |name: &str| record.member(at, name).unwrap_or(at);
        if let (Some(target), Some(kind)) = (target, attachment.kind) {
            report.demand(ATTACHMENT_TYPE, routes::may_receive(target, kind), place("type"))?;
        }
        if let Some(path) = attachment.path {
            report.demand(ATTACHMENT_RELATIVE, paths::is_relative(path), place("path"))?;
            report.demand(ATTACHMENT_SAFE, paths::is_safe(path, false), place("path"))?;
        }
        if let (Some(target), Some(correlation_id)) = (target, record.text(CORRELATION)) {
            report.demand(ATTACHMENT_SCOPE, attachment.is_in_scope(target, correlation_id), at)?;
        }
    }
    if report.wants(ATTACHMENT_ONCE) {
        let attachments = record.items(list).map(|at| Attachment::of(record, at));
        if let Some(place) = first_repeated(record.items(list).count(), attachments) {
            report.broken(ATTACHMENT_ONCE, record.items(list).nth(place).unwrap_or(list))?;
        }
    }
    for at in record.items(list) {
        check_hash(contents, at, record, report)?;
    }
    ControlFlow::Continue(())
}

fn check_hash<O: Observer>(
    contents: &Contents,
    at: NodeIndex,
    record: &Record<'_>,
    report: &mut Report<'_, O>,
) -> ControlFlow<()> {
    let Some(hash_at) = record.member(at, "hash") else { return report.broken(HASH_PRESENT, at) };
    let path = record.member(at, "path").and_then(|path| record.text_at(path));
    let (Some(hash), Some(path)) = (record.text_at(hash_at), path) else { return ControlFlow::Continue(()) };
    let hash = FileHash::of(hash);
    report.demand(HASH_PLACEHOLDER, hash != FileHash::Placeholder, hash_at)?;
    if let Some(sha256) = contents.sha256(path) {
        return report.demand(ATTACHMENT_CONTENT, hash.fits(&sha256), hash_at);
    }
    report.unchecked(ATTACHMENT_CONTENT);
    ControlFlow::Continue(())
}
