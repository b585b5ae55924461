//! `tollgate sign`: makes and verifies the signatures and digests of envelopes.
//!
//! Keys come from files or the environment, never from the command line, where others could see them. What is printed
//! differs from the input in one member alone, and was verified once more before it is printed.

use std::collections::HashMap;
use std::io::Write;

use anyhow::{Context as _, anyhow};
use serde_json::json;
use serde_json::value::RawValue;

use super::splice::splice;
use super::{Ended, Failure, envelopes, usage};
use crate::cli::{KeyEncoding, Sign, SignScheme};
use crate::clock::Timestamp;
use crate::credentials::canonical::{Unfit, member};
use crate::credentials::keys::{Encoding, KeyRing, Secret};
use crate::credentials::mac::{
    Alfred, AlfredKeys, MacError, Olympus, OlympusKeys, OlympusScheme, sign_alfred, sign_olympus,
    verify_alfred, verify_olympus,
};
use crate::credentials::{Scratch, digest};
use crate::judge::Payload;
use crate::program::{self, first_duplicate};
use crate::tape::{Node, NodeIndex, Parser, StaticNode, Tape};

/// The nesting that is read; more than any format allows.
const DEPTH_MAX: usize = 256;
/// The bytes of a master key.
const MASTER_KEY_BYTES: usize = 32;

pub(super) fn run(args: &Sign) -> Result<Ended, Failure> {
    let mut signer = Signer::new(args)?;
    let mut out = std::io::stdout().lock();
    let mut ended = Ended::Well;
    envelopes::each(&args.paths, "sign", |envelope| {
        let outcome = match envelope.payload {
            Payload::Bytes(payload) if args.verify => signer.verify(payload).map(|()| None),
            Payload::Bytes(payload) => signer.sign(payload).map(Some),
            Payload::Oversized | Payload::Tombstone => Err(anyhow!("the envelope is too large to be read")),
        };
        if outcome.is_err() {
            ended = Ended::Findings;
        }
        report(args, &envelope.source, outcome, &mut out)
    })?;
    Ok(ended)
}

/// A signed envelope and what was put into it.
struct Signed {
    value: String,
    envelope: Vec<u8>,
}

/// Prints the outcome for one envelope; `None` is a signature that verifies.
fn report(
    args: &Sign,
    source: &str,
    outcome: anyhow::Result<Option<Signed>>,
    out: &mut impl Write,
) -> Result<(), Failure> {
    let scheme = scheme_name(args.scheme);
    if args.json {
        let mut object = json!({ "source": source, "scheme": scheme, "ok": outcome.is_ok() });
        let mut add =
            |name: &str, value| object.as_object_mut().map(|object| object.insert(name.into(), value));
        match outcome {
            Ok(None) => {}
            Ok(Some(signed)) => {
                add("value", signed.value.into());
                // The envelope goes in as it is: a JSON value would lose digits of its numbers.
                let envelope = RawValue::from_string(String::from_utf8(signed.envelope)?)?;
                let text = object.to_string();
                let open = text.strip_suffix('}').unwrap_or(&text);
                writeln!(out, "{open},\"envelope\":{}}}", one_line(envelope.get()))?;
                return Ok(());
            }
            Err(error) => {
                add("error", format!("{error:#}").into());
            }
        }
        writeln!(out, "{object}")?;
        return Ok(());
    }
    match outcome {
        Ok(None) => writeln!(out, "{source}  {scheme}  valid")?,
        Ok(Some(signed)) => {
            out.write_all(&signed.envelope)?;
            writeln!(out)?;
        }
        Err(error) if args.verify => writeln!(out, "{source}  {scheme}  invalid: {error:#}")?,
        Err(error) => tracing::error!("{source}: {error:#}"),
    }
    Ok(())
}

/// Line breaks between tokens become blanks, so that an object stays on its line; inside strings there are none.
fn one_line(json: &str) -> String {
    json.replace(['\n', '\r'], " ")
}

fn scheme_name(scheme: SignScheme) -> &'static str {
    match scheme {
        SignScheme::OlympusV1 => "olympus-v1",
        SignScheme::OlympusV2 => "olympus-v2",
        SignScheme::Alfred => "alfred",
        SignScheme::AghCapability => "agh-capability",
        SignScheme::AghDirectId => "agh-direct-id",
    }
}

/// Where the scheme puts its value.
fn path(scheme: SignScheme) -> &'static [&'static str] {
    match scheme {
        SignScheme::OlympusV1 | SignScheme::OlympusV2 => &["authentication", "signature"],
        SignScheme::Alfred => &["envelope", "security", "signature"],
        SignScheme::AghCapability => &["body", "capability", "digest"],
        SignScheme::AghDirectId => &["direct_id"],
    }
}

/// The scheme with its key, and the memory to use it.
struct Signer {
    scheme: SignScheme,
    olympus: OlympusKeys,
    alfred: AlfredKeys,
    /// A key that waits for the session of the next envelope, whose key it is; or that of every envelope's agent.
    waiting: Option<KeyRing>,
    parser: Parser,
    duplicates: program::Scratch,
    scratch: Scratch,
}

impl Signer {
    fn new(args: &Sign) -> Result<Self, Failure> {
        let mut signer = Self {
            scheme: args.scheme,
            olympus: OlympusKeys::default(),
            alfred: AlfredKeys::default(),
            waiting: None,
            parser: Parser::new(DEPTH_MAX),
            duplicates: program::Scratch::default(),
            scratch: Scratch::default(),
        };
        let ring = key(args).map_err(usage)?.map(KeyRing::of);
        match (args.scheme, ring) {
            (SignScheme::OlympusV2, Some(ring)) => signer.olympus.masters = ring,
            (SignScheme::Alfred, Some(ring)) if !args.agent_key => signer.alfred.masters = ring,
            (_, ring) => signer.waiting = ring,
        }
        Ok(signer)
    }

    fn sign(&mut self, payload: &[u8]) -> anyhow::Result<Signed> {
        let value = self.with_envelope(payload, |signer, tape| signer.make(tape, payload))?;
        let path = path(self.scheme);
        let envelope = splice(payload, path, &value).with_context(|| {
            format!("found no object around /{}, allowed: an object to put it into", path.join("/"))
        })?;
        self.verify(&envelope).context("the signed envelope does not verify; nothing was printed")?;
        Ok(Signed { value, envelope })
    }

    fn verify(&mut self, payload: &[u8]) -> anyhow::Result<()> {
        self.with_envelope(payload, |signer, tape| {
            let path = path(signer.scheme);
            let found = text(tape, path)?;
            let expected = match signer.scheme {
                SignScheme::AghCapability | SignScheme::AghDirectId => signer.make(tape, payload)?,
                _ => return signer.verify_mac(tape, payload, found),
            };
            // Receivers compare digests without the white space around them.
            let found = if signer.scheme == SignScheme::AghCapability { found.trim() } else { found };
            if found == expected {
                Ok(())
            } else {
                Err(anyhow!("found another value at /{}", path.join("/")))
            }
        })
    }

    /// Parses an envelope and refuses what no signature can mean.
    fn with_envelope<R>(
        &mut self,
        payload: &[u8],
        then: impl FnOnce(&mut Self, Tape<'_>) -> anyhow::Result<R>,
    ) -> anyhow::Result<R> {
        // The parser and this struct are borrowed apart while the tape lives.
        let mut parser = std::mem::replace(&mut self.parser, Parser::new(DEPTH_MAX));
        let outcome = parser.parse(payload, |tape| {
            let tape = tape.map_err(|malformed| anyhow!("not a JSON document: {malformed}"))?;
            if let Some(node) = first_duplicate(tape, &mut self.duplicates) {
                return Err(anyhow!("found a name twice at {}, allowed: each name once", tape.pointer(node)));
            }
            then(self, tape)
        });
        self.parser = parser;
        outcome
    }

    /// The value that belongs into the envelope.
    fn make(&mut self, tape: Tape<'_>, payload: &[u8]) -> anyhow::Result<String> {
        let now = Timestamp::default();
        let made = match self.scheme {
            SignScheme::OlympusV1 | SignScheme::OlympusV2 => {
                let parts = olympus(tape)?;
                let scheme = self.olympus_scheme(&parts);
                sign_olympus(scheme, &self.olympus, tape, payload, &parts, now, &mut self.scratch)
            }
            SignScheme::Alfred => {
                let parts = Alfred { own: self.waiting.as_ref(), ..alfred(tape)? };
                sign_alfred(&self.alfred, tape, payload, &parts, now, &mut self.scratch)
            }
            SignScheme::AghCapability => {
                let capability = find(tape, &["body", "capability"])?;
                check_capability(tape, capability)?;
                let digest = digest::capability(tape, capability, &mut self.scratch.canonical);
                Ok(format!("sha256:{}", digest::hex(&digest)))
            }
            SignScheme::AghDirectId => {
                let [workspace, channel, from, to] =
                    ["workspace_id", "channel", "from", "to"].map(|name| text(tape, &[name]));
                let (from, to) = (from?, to?);
                if from.trim() == to.trim() {
                    return Err(anyhow!(
                        "/to: found the sender, allowed: another peer, to share a room with"
                    ));
                }
                Ok(digest::direct_id(workspace?, channel?, from, to))
            }
        };
        made.map_err(explain)
    }

    fn verify_mac(&mut self, tape: Tape<'_>, payload: &[u8], found: &str) -> anyhow::Result<()> {
        let now = Timestamp::default();
        let verified = if self.scheme == SignScheme::Alfred {
            let parts = Alfred { own: self.waiting.as_ref(), ..alfred(tape)? };
            verify_alfred(&self.alfred, tape, payload, &parts, found, now, &mut self.scratch).map(drop)
        } else {
            let parts = olympus(tape)?;
            let wanted = self.olympus_scheme(&parts);
            verify_olympus(&self.olympus, tape, payload, &parts, found, now, &mut self.scratch)
                .and_then(|(scheme, _)| if scheme == wanted { Ok(()) } else { Err(MacError::Form) })
        };
        verified.map_err(explain)
    }

    /// The scheme; the session of the envelope gets the key, if it is a session's.
    fn olympus_scheme(&mut self, parts: &Olympus<'_>) -> OlympusScheme {
        let OlympusKeys { sessions, .. } = &mut self.olympus;
        rebind(sessions, &mut self.waiting, parts.session_id);
        if self.scheme == SignScheme::OlympusV1 { OlympusScheme::V1 } else { OlympusScheme::V2 }
    }
}

/// What the signature of an Alfred envelope depends on.
fn alfred(tape: Tape<'_>) -> anyhow::Result<Alfred<'_>> {
    let source = |name| text(tape, &["envelope", "routing", "source", name]);
    let security = find(tape, &["envelope", "security"])?;
    let tenant = member(tape, security, "tenant_id").and_then(|node| tape.nodes().get(node.0 as usize));
    Ok(Alfred {
        tenant_id: if let Some(Node::String(tenant)) = tenant { tenant } else { "" },
        agent_id: source("agent_id")?,
        service_id: source("service_id")?,
        signature: member(tape, security, "signature"),
        own: None,
    })
}

/// Gives the one key that there is to whom this envelope is from.
fn rebind(rings: &mut HashMap<Box<str>, KeyRing>, waiting: &mut Option<KeyRing>, name: &str) {
    if rings.contains_key(name) {
        return;
    }
    let ring = waiting.take().or_else(|| rings.drain().next().map(|(_, ring)| ring));
    if let Some(ring) = ring {
        rings.insert(name.into(), ring);
    }
}

/// The key that the arguments name, if the scheme needs one.
fn key(args: &Sign) -> anyhow::Result<Option<Secret>> {
    let scheme = scheme_name(args.scheme);
    if args.agent_key && args.scheme != SignScheme::Alfred {
        return Err(anyhow!("--agent-key: found the scheme {scheme}, allowed: alfred"));
    }
    let needs_key = !matches!(args.scheme, SignScheme::AghCapability | SignScheme::AghDirectId);
    let usual = if args.scheme == SignScheme::OlympusV1 { KeyEncoding::Text } else { KeyEncoding::Hex };
    let encoding = match args.key_encoding.unwrap_or(usual) {
        KeyEncoding::Text => Encoding::Text,
        KeyEncoding::Hex => Encoding::Hex,
    };
    let (secret, from) = match (&args.key_file, &args.key_env) {
        _ if !needs_key => return Ok(None),
        (Some(path), _) => (Secret::from_file(path, encoding)?, path.display().to_string()),
        (None, Some(name)) => (Secret::from_env(name, encoding)?, name.clone()),
        (None, None) => return Err(anyhow!("{scheme} needs a key: give --key-file FILE or --key-env NAME")),
    };
    let is_master = args.scheme != SignScheme::OlympusV1 && !args.agent_key;
    Ok(Some(if is_master { secret.of_length(MASTER_KEY_BYTES, &from)? } else { secret }))
}

fn olympus(tape: Tape<'_>) -> anyhow::Result<Olympus<'_>> {
    let envelope = |name| text(tape, &["envelope", name]);
    let authentication = find(tape, &["authentication"])?;
    Ok(Olympus {
        session_id: envelope("session_id")?,
        persona: text(tape, &["authentication", "sender_persona"])?,
        correlation_id: envelope("correlation_id")?,
        source_agent: envelope("source_agent")?,
        target_agent: envelope("target_agent")?,
        message_type: text(tape, &["protocol_message", "message_type"])?,
        payload: find(tape, &["protocol_message", "payload"])?,
        signature: member(tape, authentication, "signature"),
    })
}

/// The value at a path of names.
fn find(tape: Tape<'_>, path: &[&str]) -> anyhow::Result<NodeIndex> {
    let found = path.iter().try_fold(NodeIndex(0), |node, name| member(tape, node, name));
    found.with_context(|| format!("/{}: found nothing, allowed: a value", path.join("/")))
}

/// A digest leaves out what is of a wrong type: it would be that of another capability than a person sees.
fn check_capability(tape: Tape<'_>, capability: NodeIndex) -> anyhow::Result<()> {
    let node = |at: NodeIndex| tape.nodes().get(at.0 as usize);
    let wrong = |at: NodeIndex, allowed: &str| {
        Err(anyhow!("{}: found {}, allowed: {allowed}", tape.pointer(at), kind_of(node(at))))
    };
    if !matches!(node(capability), Some(Node::Object { .. })) {
        return wrong(capability, "an object");
    }
    for name in ["id", "summary", "outcome", "version"] {
        match member(tape, capability, name).map(|at| (at, node(at))) {
            Some((_, Some(Node::String(text)))) if !text.trim().is_empty() || name == "version" => {}
            Some((_, Some(Node::Static(StaticNode::Null)))) | None if name == "version" => {}
            Some((at, _)) => return wrong(at, "a text that is not blank"),
            None => {
                return Err(anyhow!(
                    "/body/capability/{name}: found nothing, allowed: a text that is not blank"
                ));
            }
        }
    }
    for name in LISTS {
        let Some(list) = member(tape, capability, name) else { continue };
        match node(list) {
            Some(Node::Static(StaticNode::Null)) => {}
            Some(Node::Array { count, .. }) => {
                let items = (list.0 + 1..=list.0 + *count as u32).map(NodeIndex);
                let is_text = |at: &NodeIndex| {
                    matches!(node(*at), Some(Node::String(_) | Node::Static(StaticNode::Null)))
                };
                if let Some(other) = items.into_iter().find(|at| !is_text(at)) {
                    return wrong(other, "a text");
                }
            }
            _ => return wrong(list, "an array of texts"),
        }
    }
    Ok(())
}

/// The lists of a capability.
const LISTS: [&str; 6] =
    ["context_needed", "artifacts_expected", "execution_outline", "constraints", "examples", "requirements"];

fn kind_of(node: Option<&Node<'_>>) -> &'static str {
    match node {
        None => "nothing",
        Some(Node::String(text)) if text.trim().is_empty() => "a blank text",
        Some(Node::String(_)) => "a text",
        Some(Node::Object { .. }) => "an object",
        Some(Node::Array { .. }) => "an array",
        Some(Node::Static(StaticNode::Null)) => "null",
        Some(Node::Static(StaticNode::Bool(_))) => "true or false",
        Some(Node::Static(_)) => "a number",
    }
}

/// The text at a path of names.
fn text<'a>(tape: Tape<'a>, path: &[&str]) -> anyhow::Result<&'a str> {
    match tape.nodes().get(find(tape, path)?.0 as usize) {
        Some(Node::String(text)) => Ok(text),
        _ => Err(anyhow!("/{}: found no text, allowed: a text", path.join("/"))),
    }
}

fn explain(error: MacError) -> anyhow::Error {
    match error {
        MacError::Absent => anyhow!("the signature is empty"),
        MacError::Form => anyhow!("the signature has not the form of this scheme"),
        MacError::NoKey => anyhow!("there is no key for this envelope"),
        MacError::Mismatch => anyhow!("the signature is not that of this envelope and key"),
        MacError::Unfit(Unfit::NumberRange) => {
            anyhow!("a number that cannot be signed: beyond a double, or an integer beyond ±(2^53 − 1)")
        }
        MacError::Unfit(Unfit::DuplicateName) => anyhow!("a name stands twice in one object"),
        MacError::Unfit(Unfit::NoSuchNode) => anyhow!("the envelope is incomplete"),
    }
}
