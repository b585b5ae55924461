//! Bluelabel: task results, errors and requests for input.
//!
//! The page describes payloads by examples; their contracts come from the published schema, which hangs them one level
//! too deep, and from the reference's code. They are attached to the schema by `edits`, where the setting
//! `payload_shape` says that payloads are.

use std::cmp::Ordering;
use std::collections::HashSet;
use std::hash::{Hash, Hasher};
use std::ops::ControlFlow;

use serde_json::{Value, json};

use crate::clock::Timestamp;
use crate::config::{self, PayloadShape, Profile};
use crate::credentials::Scratch;
use crate::program::Observer;
use crate::tape::{Node, NodeIndex, StaticNode};

use super::compiled::{BuiltIn, FormatError};
use super::facts::{Asked, Facts, Lifecycle};
use super::fields::fields;
use super::record::Record;
use super::rule::{Report, RuleSet, rules};
use super::shapes::Edit;
use super::unique::first_repeated;

fields! {
    TYPE "/type";
    VERSION "/protocol_version";
    SENDER "/sender_id";
    RECIPIENT "/recipient_id";
    TIMESTAMP "/timestamp";
    RETRY_COUNT "/retry_count";
    PAYLOAD "/payload";
    PAYLOAD_TYPE "/payload/type";
}

rules! {
    MAJOR "version" BadVersion Reference [strict lenient] "the protocol's major version is 1";
    REGISTERED "registry" UnregisteredAgent Reference [strict]
        "sender and recipient are registered" needs "agents";
    STATUS "status" Inconsistent Proposed [strict] "`success` is true exactly if `status` is `success`";
    DURATION "duration" Inconsistent Proposed [strict]
        "`duration_sec` and `metrics.duration_ms` are the same time (a warning)", warns;
    INPUT_ONCE "input-once" DuplicateItem Proposed [strict] "no input is requested twice";
    OPTIONS_GIVEN "input-options" PayloadContract Proposed [strict] "an input of type `enum` has options";
    OPTIONS_ONCE "option-once" DuplicateItem Proposed [strict] "no option stands twice";
    DEFAULT_FITS "input-default" PayloadContract Proposed [strict] "a default fits its input";
    NO_SECRET_DEFAULT "sensitive-default" SensitiveDefault Proposed [strict]
        "a sensitive input has no default";
    SAME_TYPE "payload-type" TypeMismatch Reference [strict] "`payload.type` is the envelope's type";
    RETRIES "retry-limit" RetryLimit Reference [strict] "`retry_count` is at most `max_retry`";
    FUTURE "future" Future Proposed [strict] "the timestamp is at most `max_skew_s` ahead";
    STALE "stale" Stale Proposed [strict] "the timestamp is at most `max_age_s` ago";
    IDENTIFIABLE "identity" NumberRange Proposed [strict lenient]
        "integers lie within ±(2^53−1), so that repetitions can be told";
}

/// Values that are never shown: what went wrong in detail, and what is or can be put into inputs, since these may be
/// sensitive.
pub(super) const HIDDEN: &[&str] = &[
    "/payload/details",
    "/payload/payload/details",
    "/payload/requested_inputs/*/default",
    "/payload/payload/requested_inputs/*/default",
    "/payload/requested_inputs/*/options",
    "/payload/payload/requested_inputs/*/options",
];

/// What makes two envelopes one logical message, in the order of RFC 8785.
const LOGICAL: [&str; 6] = ["payload", "recipient_id", "sender_id", "task_id", "trace_id", "type"];
/// The types whose payloads have a contract in the schema.
const CONTRACTS: [&str; 3] = ["task_result", "error", "needs_input"];

/// The format as it is configured.
pub(super) struct Bluelabel {
    agents: HashSet<Box<str>>,
    max_retry: u32,
    shape: PayloadShape,
    has_contracts: bool,
    max_age_s: u32,
    max_skew_s: u32,
    keep_s: u32,
}

impl BuiltIn for Bluelabel {
    type Keys = config::Bluelabel;

    fn new(keys: &config::Bluelabel, profile: Profile) -> Result<Self, FormatError> {
        let shape = match (keys.payload_shape, profile) {
            (PayloadShape::Auto, Profile::Lenient) => PayloadShape::Either,
            (PayloadShape::Auto, Profile::Page | Profile::Strict) => PayloadShape::Flat,
            (shape, _) => shape,
        };
        Ok(Self {
            agents: keys.agents.iter().map(Into::into).collect(),
            max_retry: keys.max_retry,
            shape,
            // The page has none; whoever names a shape wants it checked.
            has_contracts: profile != Profile::Page || keys.payload_shape != PayloadShape::Auto,
            max_age_s: keys.max_age_s,
            max_skew_s: keys.max_skew_s,
            keep_s: keys.dedup_keep_s,
        })
    }

    fn lacks(&self) -> RuleSet {
        if self.agents.is_empty() { RuleSet::default().with(REGISTERED) } else { RuleSet::default() }
    }

    fn edits(&self) -> Vec<Edit> {
        if !self.has_contracts {
            return Vec::new();
        }
        let contracts = CONTRACTS.map(|name| contract(self.shape, name));
        let edit = |at: String, set: Option<Value>| Edit {
            at,
            keep: set.is_none(),
            set,
            source: "reference".to_owned(),
        };
        let mut edits = vec![edit("/allOf".to_owned(), Some(json!(contracts)))];
        edits.extend(CONTRACTS.map(|name| edit(format!("/$defs/{name}"), None)));
        edits
    }

    fn check<O: Observer>(&self, record: &Record<'_>, report: &mut Report<'_, O>) -> ControlFlow<()> {
        if let Some(version) = record.text(VERSION) {
            let major = version.split('.').next();
            report.demand(MAJOR, major == Some("1"), record.place(VERSION))?;
        }
        for agent in [SENDER, RECIPIENT] {
            if self.agents.is_empty() {
                report.unchecked(REGISTERED);
            } else if let Some(name) = record.text(agent) {
                report.demand(REGISTERED, self.agents.contains(name), record.place(agent))?;
            }
        }
        if let Some(payload) = record.node(PAYLOAD) {
            let payload = self.contract_node(record, payload);
            match record.text(TYPE) {
                Some("task_result") => check_status(record, payload, report)?,
                Some("needs_input") => check_inputs(record, payload, report)?,
                _ => {}
            }
        }
        if let (Some(own), Some(outer)) = (record.text(PAYLOAD_TYPE), record.text(TYPE)) {
            report.demand(SAME_TYPE, own == outer, record.place(PAYLOAD_TYPE))?;
        }
        let retries = record.node(RETRY_COUNT).and_then(|at| record.compare_at(at, self.max_retry));
        let fits = retries.is_none_or(Ordering::is_le);
        report.demand(RETRIES, fits, record.place(RETRY_COUNT))?;
        let text = record.text(TIMESTAMP).unwrap_or_default();
        let (Some(sent), Some(now)) = (Timestamp::from_rfc3339(text), record.now) else {
            return ControlFlow::Continue(());
        };
        let limit = now.plus_secs(self.max_skew_s);
        report.demand(FUTURE, sent.is_until(limit, text), record.place(TIMESTAMP))?;
        report.demand(STALE, sent.plus_secs(self.max_age_s) >= now, record.place(TIMESTAMP))
    }

    fn authenticate<O: Observer>(
        &self,
        record: &Record<'_>,
        _: &mut Scratch,
        report: &mut Report<'_, O>,
    ) -> ControlFlow<()> {
        if !report.wants(IDENTIFIABLE) {
            return ControlFlow::Continue(());
        }
        match record.first_inexact_integer() {
            Some(at) => report.broken(IDENTIFIABLE, at),
            None => ControlFlow::Continue(()),
        }
    }

    fn facts(&self, record: &Record<'_>, scratch: &mut Scratch) -> Facts {
        let Record { tape, payload, asked: Asked { names, sequences }, .. } = *record;
        let [delivery, logical] = if sequences.bluelabel {
            names.document_and_members(tape, payload, &LOGICAL, scratch)
        } else {
            [names.document(tape, payload, scratch), None]
        };
        let retries = record.node(RETRY_COUNT).and_then(|at| record.number_at(at)).unwrap_or_default();
        let sent = record.text(TIMESTAMP).and_then(Timestamp::from_rfc3339).unwrap_or_default();
        let now = record.now.unwrap_or(sent);
        Facts {
            identity: delivery.map(|delivery| names.identity(&[b"bluelabel", delivery.bytes()])),
            content: delivery.map_or(0, |delivery| delivery.tag()),
            now: Some(now),
            capped: false,
            burns: false,
            // At least as long as a copy could still be fresh.
            keep_until: now.plus_secs(self.keep_s).max(sent.plus_secs(self.max_age_s)),
            lifecycle: logical.map_or(Lifecycle::None, |logical| Lifecycle::Bluelabel {
                logical: names.identity(&[b"bluelabel", logical.bytes()]),
                retry_count: retries as u64,
            }),
        }
    }
}

impl Bluelabel {
    /// The object that the contract is about: the payload, or the one inside it.
    fn contract_node(&self, record: &Record<'_>, payload: NodeIndex) -> NodeIndex {
        match self.shape {
            PayloadShape::Auto | PayloadShape::Flat => payload,
            PayloadShape::Nested | PayloadShape::Either => {
                let wraps = record.members(payload).count() == 2 && record.member(payload, "type").is_some();
                record.member(payload, "payload").filter(|_| wraps).unwrap_or(payload)
            }
        }
    }
}

/// The part of the schema that ties one type's contract to the place where its payload stands.
fn contract(shape: PayloadShape, name: &str) -> Value {
    let flat = json!({ "$ref": format!("#/$defs/{name}") });
    let nested = json!({
        "required": ["type", "payload"],
        "properties": { "type": { "type": "string" }, "payload": flat },
        "maxProperties": 2,
    });
    let payload = match shape {
        PayloadShape::Auto | PayloadShape::Flat => flat,
        PayloadShape::Nested => nested,
        PayloadShape::Either => json!({
            "if": { "type": "object", "required": ["type", "payload"], "maxProperties": 2 },
            "then": nested,
            "else": flat,
        }),
    };
    json!({
        "if": { "required": ["type"], "properties": { "type": { "const": name } } },
        "then": { "properties": { "payload": payload } },
    })
}

fn check_status<O: Observer>(
    record: &Record<'_>,
    payload: NodeIndex,
    report: &mut Report<'_, O>,
) -> ControlFlow<()> {
    let status = record.member(payload, "status").and_then(|at| record.text_at(at));
    let success_at = record.member(payload, "success");
    let success = success_at.and_then(|at| record.flag_at(at));
    if let (Some(status), Some(success)) = (status, success) {
        report.demand(STATUS, success == (status == "success"), success_at.unwrap_or(payload))?;
    }
    let seconds_at = record.member(payload, "duration_sec");
    let millis_at = record.member(payload, "metrics").and_then(|at| record.member(at, "duration_ms"));
    let number = |at: Option<NodeIndex>| at.and_then(|at| record.number_at(at));
    match (number(seconds_at), number(millis_at)) {
        (Some(seconds), Some(millis)) => {
            // Producers round, to seconds at worst.
            let apart = (seconds * 1000.0 - millis).abs();
            report.demand(DURATION, apart <= millis.mul_add(0.01, 1000.0), seconds_at.unwrap_or(payload))
        }
        _ => ControlFlow::Continue(()),
    }
}

fn check_inputs<O: Observer>(
    record: &Record<'_>,
    payload: NodeIndex,
    report: &mut Report<'_, O>,
) -> ControlFlow<()> {
    let Some(list) = record.member(payload, "requested_inputs") else { return ControlFlow::Continue(()) };
    if report.wants(INPUT_ONCE) {
        let ids =
            record.items(list).map(|input| record.member(input, "id").and_then(|at| record.text_at(at)));
        if let Some(place) = first_repeated(record.items(list).count(), ids) {
            report.broken(INPUT_ONCE, record.items(list).nth(place).unwrap_or(list))?;
        }
    }
    for input in record.items(list) {
        check_input(record, input, report)?;
    }
    ControlFlow::Continue(())
}

fn check_input<O: Observer>(
    record: &Record<'_>,
    input: NodeIndex,
    report: &mut Report<'_, O>,
) -> ControlFlow<()> {
    let kind = record.member(input, "type").and_then(|at| record.text_at(at)).unwrap_or_default();
    let options = record.member(input, "options");
    let options_of = || options.into_iter().flat_map(|list| record.items(list));
    if kind == "enum" {
        report.demand(OPTIONS_GIVEN, options_of().next().is_some(), options.unwrap_or(input))?;
    }
    if report.wants(OPTIONS_ONCE) {
        let scalars = options_of().map(|option| record.value(option).map(Scalar));
        if let Some(place) = first_repeated(options_of().count(), scalars) {
            report.broken(OPTIONS_ONCE, options_of().nth(place).unwrap_or(input))?;
        }
    }
    let Some(default) = record.member(input, "default") else { return ControlFlow::Continue(()) };
    let value = record.value(default);
    let of_type = match (kind, value) {
        ("string" | "file", Some(Node::String(_))) | ("boolean", Some(Node::Static(StaticNode::Bool(_)))) => {
            true
        }
        ("number", Some(Node::Static(number))) => !matches!(number, StaticNode::Bool(_) | StaticNode::Null),
        _ => false,
    };
    let among = || options_of().any(|option| record.value(option).map(Scalar) == value.map(Scalar));
    report.demand(DEFAULT_FITS, of_type || among(), default)?;
    let sensitive = record.member(input, "sensitive").and_then(|at| record.flag_at(at)) == Some(true);
    report.demand(NO_SECRET_DEFAULT, !sensitive, default)
}

/// An option as it is compared: numbers by value, whatever their spelling; containers never.
struct Scalar<'a>(Node<'a>);

const TWO_TO_64: f64 = 18_446_744_073_709_551_616.0;

impl Scalar<'_> {
    /// A number in the one form that all spellings of it share.
    fn number(&self) -> Option<(u64, Option<u64>)> {
        let integer = |sign: u64, size: u64| Some((sign, Some(size)));
        match self.0 {
            Node::Static(StaticNode::U64(number)) => integer(0, number),
            Node::Static(StaticNode::I64(number)) => integer(u64::from(number < 0), number.unsigned_abs()),
            // Below 2^64 every whole double is an integer that the tape can carry, too.
            Node::Static(StaticNode::F64(number)) if number.fract() == 0.0 && number.abs() < TWO_TO_64 => {
                integer(u64::from(number < 0.0), number.abs() as u64)
            }
            Node::Static(StaticNode::F64(number)) => Some((number.to_bits(), None)),
            _ => None,
        }
    }
}

impl PartialEq for Scalar<'_> {
    fn eq(&self, other: &Self) -> bool {
        match (self.0, other.0) {
            (Node::String(text), Node::String(other)) => text == other,
            (Node::Static(StaticNode::Bool(flag)), Node::Static(StaticNode::Bool(other))) => flag == other,
            _ => self.number().is_some() && self.number() == other.number(),
        }
    }
}

impl Hash for Scalar<'_> {
    fn hash<H: Hasher>(&self, state: &mut H) {
        match self.0 {
            Node::String(text) => text.hash(state),
            Node::Static(StaticNode::Bool(flag)) => flag.hash(state),
            _ => self.number().hash(state),
        }
    }
}
