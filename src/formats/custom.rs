//! Formats of the user's own: a schema, and pointers to id, time and signature.

use std::ops::ControlFlow;

use serde_json::Value;

use crate::clock::Timestamp;
use crate::config::{self, Constant, CustomKeys, Detect, SignatureEncoding, TimestampForm};
use crate::credentials::keys::{Encoding, KeyRing};
use crate::credentials::mac::{self, MacError, TagText};
use crate::credentials::{Scratch, Unfit};
use crate::program::Observer;
use crate::tape::{Node, NodeIndex, StaticNode, Tape};

use super::compiled::{FormatError, ring};
use super::facts::{Facts, Lifecycle};
use super::fields::{Field, behind};
use super::record::{Record, whole};
use super::rule::{Report, RuleSet, rules};

const ID: Field = Field(0);
const TIMESTAMP: Field = Field(1);
const SIGNATURE: Field = Field(2);

rules! {
    ID_PRESENT "id" MissingField Settings [page strict lenient] "the id is there, and a text or whole number";
    TIME_PRESENT "timestamp" MissingField Settings [page strict lenient] "the time of sending is there";
    TIME_FORM "timestamp-form" BadFormat Settings [page strict lenient] "the time is written as `timestamp_form` says";
    FUTURE "future" Future Settings [page strict lenient] "the time is at most `max_skew_s` ahead";
    STALE "stale" Stale Settings [page strict lenient] "the time is at most `max_age_s` ago";
    SIGNED "signed" Unsigned Settings [page strict lenient] "the envelope is signed";
    SIGNABLE "signable" NumberRange Settings [page strict lenient] "integers of a signed envelope lie within ±(2^53−1)";
    SIGNATURE_HOLDS "signature" BadSignature Settings [page strict lenient] "the signature verifies";
}

/// A user's format as it is configured.
pub(super) struct Custom {
    name: Box<str>,
    has_id: bool,
    has_timestamp: bool,
    timestamp_form: TimestampForm,
    max_age_s: u32,
    max_skew_s: u32,
    keep_s: u32,
    signature: Option<Signature>,
    signature_required: bool,
}

/// How signatures are verified.
struct Signature {
    keys: KeyRing,
    written: TagText,
}

impl Custom {
    /// Makes the format ready.
    pub(super) fn new(name: &str, keys: &CustomKeys) -> Result<Self, FormatError> {
        Ok(Self {
            name: name.into(),
            has_id: !keys.id.is_empty(),
            has_timestamp: !keys.timestamp.is_empty(),
            timestamp_form: keys.timestamp_form,
            max_age_s: keys.max_age_s,
            max_skew_s: keys.max_skew_s,
            keep_s: keys.dedup_keep_s,
            signature: signature_of(name, keys)?,
            signature_required: keys.signature_required,
        })
    }

    /// The members that its rules look at; an empty pointer finds nothing.
    pub(super) fn pointers(keys: &CustomKeys) -> [&str; 3] {
        [&keys.id, &keys.timestamp, &keys.signature]
    }

    /// The rules that nothing is configured for.
    pub(super) fn lacks(&self) -> RuleSet {
        let mut lacks = RuleSet::default();
        if !self.has_id {
            lacks = lacks.with(ID_PRESENT);
        }
        if !self.has_timestamp {
            lacks = lacks.with(TIME_PRESENT).with(TIME_FORM).with(FUTURE).with(STALE);
        }
        if self.max_age_s == 0 {
            lacks = lacks.with(STALE);
        }
        if !self.signature_required {
            lacks = lacks.with(SIGNED);
        }
        lacks
    }

    /// Id and time.
    pub(super) fn check<O: Observer>(
        &self,
        record: &Record<'_>,
        report: &mut Report<'_, O>,
    ) -> ControlFlow<()> {
        let id = record.node(ID).and_then(|node| record.value(node));
        let is_id = matches!(id, Some(Node::String(_) | Node::Static(StaticNode::U64(_))))
            || record.node(ID).and_then(|node| record.whole_at(node)).is_some();
        report.demand(ID_PRESENT, is_id, record.place(ID))?;
        if !self.has_timestamp {
            return ControlFlow::Continue(());
        }
        let Some(at) = record.node(TIMESTAMP) else {
            return report.broken(TIME_PRESENT, NodeIndex(0));
        };
        let Some(sent) = self.time(record, at) else {
            return report.broken(TIME_FORM, at);
        };
        let now = record.now.unwrap_or(sent);
        let limit = now.plus_secs(self.max_skew_s);
        // With the envelope's own time as the clock, nothing is ahead of it.
        let text = record.now.and_then(|_| record.text_at(at)).unwrap_or_default();
        report.demand(FUTURE, sent.is_until(limit, text), at)?;
        report.demand(STALE, sent.plus_secs(self.max_age_s) >= now, at)
    }

    fn time(&self, record: &Record<'_>, at: NodeIndex) -> Option<Timestamp> {
        match self.timestamp_form {
            TimestampForm::Rfc3339 => Timestamp::from_rfc3339(record.text_at(at)?),
            TimestampForm::UnixS => record.whole_at(at).map(Timestamp::from_secs),
            TimestampForm::UnixMs => record.whole_at(at).map(Timestamp::from_millis),
        }
    }

    /// The signature.
    pub(super) fn authenticate<O: Observer>(
        &self,
        record: &Record<'_>,
        scratch: &mut Scratch,
        report: &mut Report<'_, O>,
    ) -> ControlFlow<()> {
        let Some(signature) = &self.signature else { return ControlFlow::Continue(()) };
        let Some(at) = record.node(SIGNATURE) else { return report.broken(SIGNED, NodeIndex(0)) };
        let Some(text) = record.text_at(at) else { return report.broken(SIGNATURE_HOLDS, at) };
        let Signature { keys, written } = signature;
        let Record { tape, payload, .. } = *record;
        match mac::verify_plain(keys, tape, payload, at, text, *written, self.now(record), scratch) {
            Ok(mac) => {
                report.verified(mac);
                ControlFlow::Continue(())
            }
            Err(MacError::Absent) => report.broken(SIGNED, at),
            Err(MacError::Unfit(Unfit::NumberRange)) => report.broken(SIGNABLE, at),
            Err(_) => report.broken(SIGNATURE_HOLDS, at),
        }
    }

    fn now(&self, record: &Record<'_>) -> Timestamp {
        let sent = || record.node(TIMESTAMP).and_then(|at| self.time(record, at));
        record.now.or_else(sent).unwrap_or_default()
    }

    /// Identity by the id.
    pub(super) fn facts(&self, record: &Record<'_>, _: &mut Scratch) -> Facts {
        let sent = record.node(TIMESTAMP).and_then(|at| self.time(record, at)).unwrap_or_default();
        let id = record.node(ID).and_then(|node| record.value(node));
        let names = &record.asked.names;
        let by_number = |id: i128| names.identity(&[self.name.as_bytes(), b"number", &id.to_be_bytes()]);
        let identity = match id {
            Some(Node::String(id)) => Some(names.identity(&[self.name.as_bytes(), b"text", id.as_bytes()])),
            Some(Node::Static(StaticNode::U64(id))) => Some(by_number(id.into())),
            _ => record.node(ID).and_then(|node| record.whole_at(node)).map(|id| by_number(id.into())),
        };
        Facts {
            identity,
            content: record.content_tag(),
            now: Some(self.now(record)),
            // At least as long as a copy could still be fresh.
            keep_until: self.now(record).plus_secs(self.keep_s).max(sent.plus_secs(self.max_age_s)),
            capped: false,
            burns: false,
            lifecycle: Lifecycle::None,
        }
    }
}

fn signature_of(name: &str, keys: &CustomKeys) -> Result<Option<Signature>, FormatError> {
    if keys.signature.is_empty() {
        return Ok(None);
    }
    let key = format!("format.{name}.signature_key");
    Ok(Some(Signature {
        keys: ring(&key, &keys.signature_key, Encoding::Text)?,
        written: match keys.signature_encoding {
            SignatureEncoding::Hex => TagText::Hex,
            SignatureEncoding::Base64 => TagText::Base64,
        },
    }))
}

/// How envelopes of a user's format are recognised by a member.
pub(super) struct Claim {
    tokens: Vec<String>,
    equals: Constant,
    /// Top-level names that the format's own schema speaks of: they are not foreign to it.
    names: Vec<String>,
}

impl Claim {
    /// The claim of a format, if it has one.
    pub(super) fn of(name: &str, custom: &config::Custom) -> Result<Option<Self>, FormatError> {
        let Detect::Member { pointer, equals } = &custom.keys.detect else { return Ok(None) };
        let escapes = pointer.split('~').skip(1).all(|after| after.starts_with(['0', '1']));
        if !escapes {
            return Err(FormatError::Key {
                key: format!("format.{name}.detect.member"),
                found: format!("`{pointer}`"),
                allowed: "a name, or a JSON pointer such as \"/header/kind\"".to_owned(),
            });
        }
        let tokens: Vec<_> =
            pointer.split('/').skip(1).map(|token| token.replace("~1", "/").replace("~0", "~")).collect();
        let schema: Value = serde_json::from_str(&custom.files.text).unwrap_or_default();
        let mut names: Vec<String> = tokens.first().cloned().into_iter().collect();
        if let Some(properties) = schema.get("properties").and_then(Value::as_object) {
            names.extend(properties.keys().cloned());
        }
        let required = schema.get("required").and_then(Value::as_array).into_iter().flatten();
        names.extend(required.filter_map(Value::as_str).map(str::to_owned));
        Ok(Some(Self { tokens, equals: equals.clone(), names }))
    }

    /// Top-level names that the format's own schema speaks of.
    pub(super) fn names(&self) -> &[String] {
        &self.names
    }

    /// Whether the member is there and has its value.
    pub(super) fn holds(&self, tape: Tape<'_>) -> bool {
        let nodes = tape.nodes();
        let mut at = 0;
        for token in &self.tokens {
            let Some(below) = child(nodes, at, token) else { return false };
            at = below;
        }
        match (nodes.get(at), &self.equals) {
            (Some(Node::String(text)), Constant::Text(wanted)) => text == wanted,
            (Some(Node::Static(StaticNode::Bool(flag))), Constant::Flag(wanted)) => flag == wanted,
            (Some(_), Constant::Number(wanted)) => whole(tape, NodeIndex(at as u32)) == Some(*wanted),
            _ => false,
        }
    }
}

/// The member or item of a container.
fn child(nodes: &[Node<'_>], at: usize, token: &str) -> Option<usize> {
    match nodes.get(at)? {
        Node::Object { len, .. } => {
            let mut name = at + 1;
            for _ in 0..*len {
                if matches!(nodes.get(name), Some(Node::String(found)) if *found == token) {
                    return Some(name + 1);
                }
                name = behind(nodes, name + 1);
            }
            None
        }
        Node::Array { len, .. } => {
            let index: usize = token.parse().ok()?;
            let mut item = at + 1;
            for _ in 0..index.min(*len) {
                item = behind(nodes, item);
            }
            (index < *len).then_some(item)
        }
        _ => None,
    }
}
