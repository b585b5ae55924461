//! The kit: a configuration, with key files beside it, by which the stream's verdicts are right.
//!
//! `tollgate run` and `tollgate audit` take it as it is. It is the profile strict with all data that rules can need, so
//! that every rule is checked.

use std::fs;
use std::io::Write as _;
use std::path::Path;

use serde_json::{Map, Value, json};

use super::PAYLOAD_BYTES_MAX;
use super::keys::{AUDIENCE, ISSUER, Secrets, public_keys};
use super::mix::Mix;
use super::places::write_hex;
use super::scripts::olympus::{FILES, PERSONAS};
use super::scripts::{agh, alfred, bluelabel};

/// The configuration's name in its directory.
pub const CONFIG: &str = "tollgate.toml";

/// Writes the kit to a directory, which is made if it is not there.
pub fn write(dir: &Path, mix: &Mix, secrets: &Secrets) -> std::io::Result<()> {
    fs::create_dir_all(dir)?;
    let hex = |key: &[u8]| {
        let mut text = Vec::new();
        write_hex(key, &mut text);
        text.push(b'\n');
        text
    };
    let sessions: Map<String, Value> =
        secrets.sessions.iter().map(|(session, secret)| (session.clone(), secret.as_str().into())).collect();
    write_secret(&dir.join("olympus-sessions.json"), Value::from(sessions).to_string().as_bytes())?;
    write_secret(&dir.join("olympus-master.hex"), &hex(&secrets.olympus))?;
    write_secret(&dir.join("alfred-master.hex"), &hex(&secrets.alfred))?;
    fs::write(dir.join("alfred-jwks.json"), public_keys().to_string())?;
    fs::write(dir.join("alfred-registry.json"), registry().to_string())?;
    fs::write(dir.join("olympus-tasks.json"), tasks(secrets).to_string())?;
    let files: Map<String, Value> =
        FILES.iter().map(|(path, text)| ((*path).to_owned(), (*text).into())).collect();
    fs::write(dir.join("olympus-files.json"), Value::from(files).to_string())?;
    fs::write(dir.join(CONFIG), config(mix))
}

/// The name of a format that a stream was made from a schema for.
pub const OWN: &str = "own";

/// Writes the kit of a stream that was made from a schema; `section` says which, and how it is read.
pub fn write_own(dir: &Path, section: &str) -> std::io::Result<()> {
    fs::create_dir_all(dir)?;
    let config = format!(
        "# Made by `tollgate generate --schema`: the rules by which the stream's verdicts are right.\n\n\
         [rules]\nformat = \"{OWN}\"\n\n[limits]\npayload_bytes_max = {PAYLOAD_BYTES_MAX}\n\n[format.{OWN}]\n{section}"
    );
    fs::write(dir.join(CONFIG), config)
}

/// A file that only its owner may read.
fn write_secret(path: &Path, content: &[u8]) -> std::io::Result<()> {
    use std::os::unix::fs::OpenOptionsExt as _;
    let mut file = fs::OpenOptions::new().write(true).create(true).truncate(true).mode(0o600).open(path)?;
    file.write_all(content)
}

fn tasks(secrets: &Secrets) -> Value {
    let mut tasks = Map::new();
    let task = |persona: &str, session: &str| json!({"persona": persona, "session_id": session});
    for (session, _) in &secrets.sessions {
        for persona in PERSONAS {
            tasks.insert(format!("task-{persona}-{session}"), task(persona, session));
        }
    }
    // A task whose session has no secret.
    tasks.insert("task-tech-lead-unknown".to_owned(), task("tech-lead", "session-unknown"));
    tasks.into()
}

fn registry() -> Value {
    let agent = |(id, service, intents, status): &(&str, &str, &[&str], &str)| {
        ((*id).to_owned(), json!({"services": [service], "intents": intents, "status": status}))
    };
    Value::from(alfred::AGENTS.iter().map(agent).collect::<Map<_, _>>())
}

/// The format that all records are expected to be of, or `auto`.
fn expected(mix: &Mix) -> &str {
    let mut named = mix.formats.iter().filter(|(_, weight)| **weight > 0.0).map(|(name, _)| name.as_str());
    match (named.next(), named.next()) {
        (Some(one), None) => one,
        _ => "auto",
    }
}

fn config(mix: &Mix) -> String {
    let list = |names: &[&str]| names.iter().map(|name| format!("{name:?}")).collect::<Vec<_>>().join(", ");
    format!(
        r#"# Made by `tollgate generate`: the rules by which the stream's verdicts are right. The keys are for load alone.

[rules]
profile = "strict"
format = "{format}"

[limits]
payload_bytes_max = {PAYLOAD_BYTES_MAX}

[format.olympus]
use_project_manager = false
sessions = "olympus-sessions.json"
master_key_hex_file = "olympus-master.hex"
tasks = "olympus-tasks.json"
files = "olympus-files.json"

[format.agh]
direct_binding = "reject"
secret_scan = true
task_write_needs_proof = true
local_peers = [{peers}]

[format.alfred]
registry = "alfred-registry.json"
jwks = "alfred-jwks.json"
issuer = "{ISSUER}"
audience = "{AUDIENCE}"
mac_master_key_hex_file = "alfred-master.hex"
require_signature = true

[format.bluelabel]
agents = [{agents}]
"#,
        format = expected(mix),
        peers = list(&agh::PEERS),
        agents = list(&bluelabel::AGENTS),
    )
}
