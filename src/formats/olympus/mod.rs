//! Olympus: personas that send each other work, by fixed routes, with attachments and signatures.
//!
//! The order of the checks is that of the format: sender, session, route, project manager, persona file, attachments,
//! hashes, task, time, the payload's contract, and last the signature.

mod attachments;
mod contracts;
mod routes;

use std::collections::HashMap;
use std::ops::ControlFlow;

use foldhash::fast::RandomState;

use crate::clock::Timestamp;
use crate::config::{self, Profile};
use crate::credentials::digest::Identity;
use crate::credentials::keys::Encoding;
use crate::credentials::mac::{self, MacError, OlympusKeys, OlympusScheme};
use crate::credentials::{Scratch, Unfit};
use crate::program::Observer;

use super::compiled::{BuiltIn, FormatError, ring};
use super::facts::{Asked, Evaluator, Facts, Lifecycle, Lineage, OlympusMessage, OlympusType, Sequences};
use super::fields::fields;
use super::paths;
use super::record::Record;
use super::rule::{Report, RuleSet, rules};
use super::shapes::Edit;
use attachments::Contents;
use routes::{MessageType, PERSONAS, Persona};

fields! {
    MESSAGE_ID "/envelope/message_id";
    TIMESTAMP "/envelope/timestamp";
    SOURCE_AGENT "/envelope/source_agent";
    TARGET_AGENT "/envelope/target_agent";
    CORRELATION "/envelope/correlation_id";
    SESSION "/envelope/session_id";
    AUTHENTICATION "/authentication";
    SENDER_PERSONA "/authentication/sender_persona";
    SENDER_TASK "/authentication/sender_task_id";
    PARENT "/authentication/parent_message_id";
    SENDER_SESSION "/authentication/session_id";
    SIGNATURE "/authentication/signature";
    PERSONA "/persona";
    MESSAGE_TYPE "/protocol_message/message_type";
    PAYLOAD "/protocol_message/payload";
    PAYLOAD_TASK "/protocol_message/payload/task";
    PAYLOAD_CONTEXT "/protocol_message/payload/context";
    PAYLOAD_PRIORITY "/protocol_message/payload/priority";
    PAYLOAD_REASON "/protocol_message/payload/reason";
    PAYLOAD_GRACEFUL "/protocol_message/payload/graceful";
    PAYLOAD_FEEDBACK "/protocol_message/payload/feedback";
    PAYLOAD_CYCLE "/protocol_message/payload/feedback/cycle";
    PAYLOAD_PARTIAL "/protocol_message/payload/partial";
    ATTACHMENTS "/context_attachments";
}

rules! {
    SENDER "sender-persona" WrongPersona Page [page strict lenient]
        "`authentication.sender_persona` is `envelope.source_agent`";
    SAME_SESSION "session" SessionMismatch Proposed [strict lenient]
        "`authentication.session_id` is `envelope.session_id`";
    ROUTE "route" BadTransition Reference [strict lenient]
        "the source may send this type to the target";
    PROJECT_MANAGER "project-manager" PmDisabled Reference [strict lenient]
        "routes of the project manager are used only where `use_project_manager` is on";
    MANAGED "reports-to-manager" BadTransition Reference [strict lenient]
        "with `use_project_manager`, the tech lead reports to the project manager (a warning)", warns;
    PERSONA_FILE "persona-path" PersonaPath Reference [strict]
        "`persona` is a safe path to the target's file";
    ATTACHMENT_TYPE "attachment-type" AttachmentNotAuthorised Reference [strict lenient]
        "the target may receive attachments of this type";
    ATTACHMENT_RELATIVE "attachment-relative" UnsafePath Page [page strict lenient]
        "attachments are named relative to the repository";
    ATTACHMENT_SAFE "attachment-path" UnsafePath Proposed [strict lenient]
        "attachments stay inside the repository";
    ATTACHMENT_SCOPE "attachment-scope" AttachmentNotAuthorised Reference [strict]
        "plans are those of the issue, and configurations the target's section";
    ATTACHMENT_ONCE "attachment-once" DuplicateItem Proposed [strict]
        "no attachment stands twice";
    HASH_PRESENT "attachment-hash" HashMissing Reference [strict]
        "every attachment has a hash";
    HASH_PLACEHOLDER "attachment-placeholder" HashPlaceholder Reference [strict lenient]
        "no hash is all zeros";
    ATTACHMENT_CONTENT "attachment-content" HashMismatch Page [page strict lenient]
        "hashes are those of the files" needs "attachment_root" "files";
    TASK "task" UnknownTask Reference [strict]
        "the sender's task is registered for its persona and session" needs "tasks";
    FUTURE "future" Future Proposed [strict] "the timestamp is at most `max_skew_s` ahead";
    STALE "stale" Stale Proposed [strict] "the timestamp is at most `max_age_s` ago";
    PRIORITY "assign-priority" PayloadContract Reference [strict lenient]
        "an assignment's `priority` is P0 to P4, or `urgent`";
    FEEDBACK "feedback" PayloadContract Reference [strict lenient]
        "`feedback` has a `cycle` of 1 to 3, and `items`, each with `priority` (must-fix, should-fix, nice-to-have) and `description`";
    APPROVED_TESTS "approval-of-tests" PayloadContract Reference [strict lenient]
        "an approval has `test_gate_passed`, `files_reviewed`, `acceptance_criteria_met` (`criterion`, `met`) and `coverage_percentage` (0 to 100)";
    APPROVED_DOCUMENTS "approval-of-documents" PayloadContract Reference [strict lenient]
        "an approval has `staleness_check_passed`, `files_reviewed`, `documentation_categories_checked` and `counts_verified`";
    CANCELLED "cancel" PayloadContract Reference [strict lenient]
        "a cancellation has a `reason`, and `graceful` is true or false";
    APPROVAL "approval" PayloadContract Reference [strict]
        "an approval attests a passed gate, met criteria and enough coverage";
    EXPECTED "payload-members" PayloadContract Reference [strict lenient]
        "a payload has the members of its message type (a warning)", warns;
    SIGNED "signed" Unsigned Reference [strict] "the envelope is signed";
    SIGNATURE_FORM "signature-form" BadSignature Reference [strict lenient]
        "a signature is 64 lower-case hex digits (scheme v1), or `v2:` and 64 of them (scheme v2)";
    KNOWN_SESSION "session-key" UnknownSession Page [page strict lenient]
        "a key is configured for the signature's session and scheme";
    SIGNABLE "signable" NumberRange Proposed [page strict lenient]
        "integers of an envelope that is signed by scheme v2 lie within ±(2^53−1)";
    VERIFIED "signature" BadSignature Page [page strict lenient]
        "the signature verifies" needs "sessions" "master_key_hex";
}

/// Values that are never shown.
pub(super) const HIDDEN: &[&str] = &["/authentication/signature"];

/// Persona and session by task id.
type Tasks = HashMap<Box<str>, (Box<str>, Box<str>), RandomState>;

/// The format as it is configured.
pub(super) struct Olympus {
    use_project_manager: bool,
    aliases: HashMap<Box<str>, Persona>,
    contents: Contents,
    tasks: Tasks,
    keys: Option<OlympusKeys>,
    coverage_percent_min: u16,
    max_age_s: u32,
    max_skew_s: u32,
    keep_s: u32,
}

impl BuiltIn for Olympus {
    type Keys = config::Olympus;

    fn new(keys: &config::Olympus, _: Profile) -> Result<Self, FormatError> {
        let aliases = aliases_of(keys)?;
        Ok(Self {
            use_project_manager: keys.use_project_manager,
            contents: Contents::of(keys)?,
            tasks: tasks_of(keys, &aliases)?,
            aliases,
            keys: keys_of(keys)?,
            coverage_percent_min: keys.coverage_percent_min,
            max_age_s: keys.max_age_s,
            max_skew_s: keys.max_skew_s,
            keep_s: keys.dedup_keep_s,
        })
    }

    fn lacks(&self) -> RuleSet {
        let mut lacks = RuleSet::default();
        if self.contents.is_none() {
            lacks = lacks.with(ATTACHMENT_CONTENT);
        }
        if self.tasks.is_empty() {
            lacks = lacks.with(TASK);
        }
        if self.keys.is_none() {
            lacks = lacks.with(VERIFIED);
        }
        lacks
    }

    /// Other names of personas are allowed where the names of the page are.
    fn edits(&self) -> Vec<Edit> {
        if self.aliases.is_empty() {
            return Vec::new();
        }
        let mut names: Vec<_> = PERSONAS.texts.iter().map(|name| serde_json::Value::from(*name)).collect();
        let mut aliases: Vec<_> = self.aliases.keys().map(|name| serde_json::Value::from(&**name)).collect();
        aliases.sort_by_key(ToString::to_string);
        names.extend(aliases);
        vec![Edit {
            at: "/$defs/persona_name/enum".to_owned(),
            set: Some(names.into()),
            keep: false,
            source: "page".to_owned(),
        }]
    }

    fn check<O: Observer>(&self, record: &Record<'_>, report: &mut Report<'_, O>) -> ControlFlow<()> {
        let source = record.text(SOURCE_AGENT).and_then(|name| self.persona(name));
        let target = record.text(TARGET_AGENT).and_then(|name| self.persona(name));
        let message_type = record.text(MESSAGE_TYPE).and_then(MessageType::of);
        check_sender(record, report)?;
        if let (Some(source), Some(target), Some(message_type)) = (source, target, message_type) {
            let known = routes::is_route(source, target, message_type);
            report.demand(ROUTE, known, record.place(MESSAGE_TYPE))?;
            let manages = source == Persona::PROJECT_MANAGER || target == Persona::PROJECT_MANAGER;
            let active = self.use_project_manager || !manages;
            report.demand(PROJECT_MANAGER, active, record.place(TARGET_AGENT))?;
            let past_manager = source == Persona::TECH_LEAD && target == Persona::DEVOPS_ENGINEER;
            report.demand(
                MANAGED,
                !(past_manager && self.use_project_manager),
                record.place(TARGET_AGENT),
            )?;
        }
        if let (Some(target), Some(persona)) = (target, record.text(PERSONA)) {
            report.demand(PERSONA_FILE, self.is_file_of(persona, target), record.place(PERSONA))?;
        }
        attachments::check(&self.contents, target, record, report)?;
        self.check_task(record, report)?;
        self.check_time(record, report)?;
        match (record.node(PAYLOAD), source, message_type) {
            (Some(payload), Some(source), Some(message_type)) => {
                if let Some((rule, at)) =
                    contracts::check(record, payload, source, message_type, self.coverage_percent_min)
                {
                    report.broken(rule, at)?;
                }
                let expected =
                    !report.wants(EXPECTED) || contracts::has_expected(record, payload, message_type);
                report.demand(EXPECTED, expected, payload)
            }
            _ => ControlFlow::Continue(()),
        }
    }

    fn authenticate<O: Observer>(
        &self,
        record: &Record<'_>,
        scratch: &mut Scratch,
        report: &mut Report<'_, O>,
    ) -> ControlFlow<()> {
        let at = record.node(SIGNATURE).unwrap_or_else(|| record.place(AUTHENTICATION));
        let Some(signature) = record.text(SIGNATURE).filter(|signature| !signature.is_empty()) else {
            return report.broken(SIGNED, at);
        };
        let (Some(keys), true, Some(signed)) = (&self.keys, report.wants(VERIFIED), signed_members(record))
        else {
            if report.wants(SIGNATURE_FORM) && !mac::has_olympus_form(signature) {
                return report.broken(SIGNATURE_FORM, at);
            }
            if self.keys.is_none() {
                report.unchecked(VERIFIED);
            }
            return ControlFlow::Continue(());
        };
        let now = now(record);
        match mac::verify_olympus(keys, record.tape, record.payload, &signed, signature, now, scratch) {
            Ok((scheme, mac)) => {
                if scheme == OlympusScheme::V2 {
                    report.verified(mac);
                }
                ControlFlow::Continue(())
            }
            Err(MacError::Form) if report.wants(SIGNATURE_FORM) => report.broken(SIGNATURE_FORM, at),
            Err(MacError::NoKey) => report.broken(KNOWN_SESSION, at),
            Err(MacError::Unfit(Unfit::NumberRange)) => report.broken(SIGNABLE, at),
            Err(_) => report.broken(VERIFIED, at),
        }
    }

    fn facts(&self, record: &Record<'_>, _: &mut Scratch) -> Facts {
        let identity = record.text(MESSAGE_ID).map(|id| identity_of(record, id));
        let sent = record.found.sent.unwrap_or_default();
        let now = record.now.unwrap_or(sent);
        // At least as long as a copy could still be fresh.
        let keep_until = now.plus_secs(self.keep_s).max(sent.plus_secs(self.max_age_s));
        let lifecycle = self.message(record, identity.unwrap_or_default());
        let lifecycle = lifecycle.map_or(Lifecycle::None, Lifecycle::Olympus);
        let content = record.content_tag();
        Facts { identity, content, now: Some(now), keep_until, capped: false, burns: false, lifecycle }
    }
}

/// The identity of a message, by its id.
fn identity_of(record: &Record<'_>, id: &str) -> Identity {
    record.asked.names.identity(&[b"olympus", id.as_bytes()])
}

impl Olympus {
    /// What the sequence rules need of a record, if somebody looks at them.
    fn message(&self, record: &Record<'_>, identity: Identity) -> Option<OlympusMessage> {
        let text = |field| record.text(field).unwrap_or_default();
        let Asked { names, sequences } = record.asked;
        let Sequences { olympus_parents, olympus_sequence, olympus_mac, .. } = *sequences;
        let asks_for_work = olympus_parents || olympus_sequence;
        if !asks_for_work && !olympus_mac {
            return None;
        }
        let work = if asks_for_work {
            names.identity(&[text(SESSION).as_bytes(), text(CORRELATION).as_bytes()])
        } else {
            Identity::default()
        };
        let within = |message| OlympusMessage::name(names, work, message);
        let parent = record.text(PARENT).filter(|parent| !parent.is_empty());
        let lineage = olympus_parents.then(|| Lineage {
            message: within(identity),
            parent: parent.map(|parent| within(identity_of(record, parent))),
        });
        let persona = |field| record.text(field).and_then(|name| self.persona(name)).unwrap_or(Persona(0));
        let source = persona(SOURCE_AGENT);
        let message_type = MessageType::of(text(MESSAGE_TYPE))
            .and_then(|message_type| OlympusType::ALL.get(usize::from(message_type.0)));
        let cycle = record.node(PAYLOAD_CYCLE);
        let partial = record.node(PAYLOAD_PARTIAL).and_then(|at| record.flag_at(at));
        let v1 = record.text(SIGNATURE).filter(|signature| olympus_mac && signature.len() == 64);
        Some(OlympusMessage {
            work,
            lineage,
            source: source.0,
            target: persona(TARGET_AGENT).0,
            evaluator: match source {
                Persona::VALIDATION_TESTER => Some(Evaluator::Tests),
                Persona::DOCUMENTATION_REVIEWER => Some(Evaluator::Documents),
                _ => None,
            },
            by_tech_lead: source == Persona::TECH_LEAD,
            message_type: message_type.copied().unwrap_or(OlympusType::Watch),
            cycle: cycle.and_then(|at| contracts::cycle_of(record, at)),
            partial: partial == Some(true),
            mac: v1
                .map(|mac| names.identity(&[b"olympus", b"mac", text(SESSION).as_bytes(), mac.as_bytes()])),
        })
    }

    /// A persona by the name that stands in an envelope.
    fn persona(&self, name: &str) -> Option<Persona> {
        Persona::of(name).or_else(|| self.aliases.get(name).copied())
    }

    /// Whether a safe path ends in the file of the target, under any of its names.
    fn is_file_of(&self, path: &str, target: Persona) -> bool {
        let name = paths::file_name(path).strip_suffix(".md");
        paths::is_safe(path, false) && name.and_then(|name| self.persona(name)) == Some(target)
    }

    fn check_task<O: Observer>(&self, record: &Record<'_>, report: &mut Report<'_, O>) -> ControlFlow<()> {
        let Some(id) = record.text(SENDER_TASK) else { return ControlFlow::Continue(()) };
        if self.tasks.is_empty() {
            report.unchecked(TASK);
            return ControlFlow::Continue(());
        }
        let sender = record.text(SENDER_PERSONA).unwrap_or_default();
        let session = record.text(SENDER_SESSION).unwrap_or_default();
        let fits = self.tasks.get(id).is_some_and(|(persona, of_session)| {
            let same = **persona == *sender
                || self.persona(sender).is_some_and(|sender| self.persona(persona) == Some(sender));
            same && **of_session == *session
        });
        report.demand(TASK, fits, record.place(SENDER_TASK))
    }

    fn check_time<O: Observer>(&self, record: &Record<'_>, report: &mut Report<'_, O>) -> ControlFlow<()> {
        let text = record.text(TIMESTAMP).unwrap_or_default();
        let Some(sent) = Timestamp::from_rfc3339(text) else { return ControlFlow::Continue(()) };
        report.sent(sent);
        let Some(now) = record.now else { return ControlFlow::Continue(()) };
        let limit = now.plus_secs(self.max_skew_s);
        report.demand(FUTURE, sent.is_until(limit, text), record.place(TIMESTAMP))?;
        report.demand(STALE, sent.plus_secs(self.max_age_s) >= now, record.place(TIMESTAMP))
    }
}

/// Rules 1 and 2; an envelope without `authentication` is the signature's matter.
fn check_sender<O: Observer>(record: &Record<'_>, report: &mut Report<'_, O>) -> ControlFlow<()> {
    let differ = |left, right| matches!((record.text(left), record.text(right)), (Some(left), Some(right)) if left != right);
    report.demand(SENDER, !differ(SENDER_PERSONA, SOURCE_AGENT), record.place(SENDER_PERSONA))?;
    report.demand(SAME_SESSION, !differ(SENDER_SESSION, SESSION), record.place(SENDER_SESSION))
}

/// The time of judging, or the envelope's own.
fn now(record: &Record<'_>) -> Timestamp {
    let sent = || record.text(TIMESTAMP).and_then(Timestamp::from_rfc3339);
    record.now.or_else(sent).unwrap_or_default()
}

fn signed_members<'a>(record: &Record<'a>) -> Option<mac::Olympus<'a>> {
    Some(mac::Olympus {
        session_id: record.text(SESSION)?,
        persona: record.text(SENDER_PERSONA)?,
        correlation_id: record.text(CORRELATION)?,
        source_agent: record.text(SOURCE_AGENT)?,
        target_agent: record.text(TARGET_AGENT)?,
        message_type: record.text(MESSAGE_TYPE)?,
        payload: record.node(PAYLOAD)?,
        signature: record.node(SIGNATURE),
    })
}

fn aliases_of(keys: &config::Olympus) -> Result<HashMap<Box<str>, Persona>, FormatError> {
    let mut aliases = HashMap::new();
    for (old, new) in keys.persona_aliases.iter() {
        let persona = Persona::of(new).filter(|_| Persona::of(old).is_none());
        let Some(persona) = persona else {
            let near = config::did_you_mean(new, PERSONAS.texts.iter().copied().filter(|name| name != new));
            return Err(FormatError::Key {
                key: format!("format.olympus.persona_aliases.\"{old}\""),
                found: format!("`{new}`"),
                allowed: format!("a new name for one of the personas {}{near}", PERSONAS.texts.join(", ")),
            });
        };
        aliases.insert(old.into(), persona);
    }
    Ok(aliases)
}

/// The tasks; a persona that nobody has is a slip of the pen, and its task would fit no message.
fn tasks_of(keys: &config::Olympus, aliases: &HashMap<Box<str>, Persona>) -> Result<Tasks, FormatError> {
    let mut tasks = Tasks::default();
    for (id, task) in keys.tasks.iter() {
        // The reference's registry writes personas with underscores.
        let persona = task.persona.replace('_', "-");
        if Persona::of(&persona).is_none() && !aliases.contains_key(persona.as_str()) {
            let mut names = PERSONAS.texts.to_vec();
            names.extend(aliases.keys().map(|alias| &**alias));
            names.sort_unstable();
            let near = config::did_you_mean(&persona, names.iter().copied());
            return Err(FormatError::Key {
                key: format!("format.olympus.tasks.\"{id}\".persona"),
                found: format!("`{}`", task.persona),
                allowed: format!("the personas {}{near}", names.join(", ")),
            });
        }
        tasks.insert(id.into(), (persona.into(), task.session_id.as_str().into()));
    }
    Ok(tasks)
}

fn keys_of(keys: &config::Olympus) -> Result<Option<OlympusKeys>, FormatError> {
    if keys.sessions.is_empty() && keys.master_key_hex.is_empty() {
        return Ok(None);
    }
    let mut sessions = HashMap::new();
    for (session, secrets) in keys.sessions.iter() {
        let key = format!("format.olympus.sessions.\"{session}\"");
        sessions.insert(session.into(), ring(&key, secrets, Encoding::Text)?);
    }
    let masters = ring("format.olympus.master_key_hex", &keys.master_key_hex, Encoding::Hex)?;
    Ok(Some(OlympusKeys { sessions, masters }))
}
