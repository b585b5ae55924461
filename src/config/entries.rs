//! The forms of single entries: keys, tasks, agents, public keys, iteration caps, and how a format is recognised.

use std::collections::BTreeMap;

use serde_json::Value;
use toml::de::DeValue;

use super::read::{Place, Secret, Setting, did_you_mean, quote};
use super::registry::{Entry, in_place, in_place_or_file, kind_of, read_file};
use crate::clock::Timestamp;

/// A key with the time in which it holds.
#[derive(Clone, Debug, PartialEq)]
pub struct SecretKey {
    /// The key's text.
    pub secret: Secret,
    /// It holds from here on.
    pub from: Option<Timestamp>,
    /// It holds up to here, inclusive.
    pub until: Option<Timestamp>,
}

/// The keys of one owner: usually one, several while keys are rotated.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct SecretKeys(pub Vec<SecretKey>);

const KEY_FORMS: &str = "a text, a table with `text` or `file` (and `from`, `until`), or a list of them";

impl Entry for SecretKeys {
    const SECRET: bool = true;

    fn read(value: &Value, within: &str, place: &mut Place<'_>) -> Option<Self> {
        let items = value.as_array().map_or(std::slice::from_ref(value), Vec::as_slice);
        let keys: Option<Vec<_>> = items.iter().map(|item| read_key(item, within, place)).collect();
        match keys {
            Some(keys) if keys.is_empty() => place.fail(within, "an empty list", KEY_FORMS),
            keys => keys.map(Self),
        }
    }

    fn show(&self) -> String {
        quote("(hidden)")
    }
}

impl SecretKeys {
    /// Whether nothing is set.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}

impl Setting for SecretKeys {
    const KIND: &'static str = KEY_FORMS;
    const SECRET: bool = true;

    fn read(value: &DeValue<'_>, place: &mut Place<'_>) -> Option<Self> {
        match value.as_str() {
            Some("") => Some(Self::default()),
            _ => Entry::read(&in_place(value, place)?, "", place),
        }
    }

    fn show(&self) -> String {
        quote(if self.0.is_empty() { "" } else { "(hidden)" })
    }
}

fn read_key(value: &Value, within: &str, place: &mut Place<'_>) -> Option<SecretKey> {
    let (text, from, until) = match value {
        Value::String(text) => (text.clone(), None, None),
        Value::Object(table) => {
            known_names(table, &["text", "file", "from", "until"], within, place)?;
            let text = match (table.get("text"), table.get("file")) {
                (Some(Value::String(text)), None) => text.clone(),
                (None, Some(Value::String(file))) => {
                    let path = place.path(file);
                    let text = read_file(&path, place)?;
                    text.strip_suffix('\n')
                        .map_or(text.as_str(), |text| text.trim_end_matches('\r'))
                        .to_owned()
                }
                _ => return place.fail(within, "none or both of them", "one of `text` and `file`"),
            };
            (
                text,
                read_time(table.get("from"), within, place).ok()?,
                read_time(table.get("until"), within, place).ok()?,
            )
        }
        _ => return place.fail(within, kind_of(value), KEY_FORMS),
    };
    if let (Some(from), Some(until)) = (from, until)
        && until < from
    {
        return place.fail(within, "`until` before `from`", "`from` before `until`");
    }
    if text.is_empty() {
        return place.fail(within, "an empty secret", "a secret of at least one character");
    }
    Some(SecretKey { secret: Secret::new(text), from, until })
}

/// An instant; `Err` if there is something else.
fn read_time(value: Option<&Value>, within: &str, place: &mut Place<'_>) -> Result<Option<Timestamp>, ()> {
    let Some(value) = value else { return Ok(None) };
    let time = value.as_str().and_then(Timestamp::from_rfc3339);
    if time.is_none() {
        place.fail::<()>(within, &value.to_string(), "a time by RFC 3339");
    }
    time.map(Some).ok_or(())
}

impl Entry for String {
    fn read(value: &Value, within: &str, place: &mut Place<'_>) -> Option<Self> {
        match value.as_str() {
            Some(text) => Some(text.to_owned()),
            None => place.fail(within, kind_of(value), "a text"),
        }
    }

    fn show(&self) -> String {
        quote(self)
    }
}

/// A task of the orchestrator (olympus).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TaskEntry {
    /// The persona that it is registered for.
    pub persona: String,
    /// The session that it belongs to.
    pub session_id: String,
}

impl Entry for TaskEntry {
    fn read(value: &Value, within: &str, place: &mut Place<'_>) -> Option<Self> {
        let table = table_of(value, within, "a table with `persona` and `session_id`", place)?;
        known_names(table, &["persona", "session_id"], within, place)?;
        Some(Self {
            persona: text_of(table, "persona", within, place)?,
            session_id: text_of(table, "session_id", within, place)?,
        })
    }

    fn show(&self) -> String {
        format!("{{ persona = {}, session_id = {} }}", quote(&self.persona), quote(&self.session_id))
    }
}

/// Whether an agent may be talked to (alfred).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AgentStatus {
    /// It works.
    Active,
    /// It is switched off.
    Inactive,
    /// It is being worked on.
    Maintenance,
}

/// An agent of the registry (alfred).
#[derive(Clone, Debug, PartialEq)]
pub struct AgentEntry {
    /// Its services.
    pub services: Vec<String>,
    /// The intents that it serves.
    pub intents: Vec<String>,
    /// The tenants in which it is registered; empty means all.
    pub tenants: Vec<String>,
    /// Whether it may be talked to.
    pub status: AgentStatus,
    /// Keys of its own for signatures, instead of derived ones.
    pub mac_keys: SecretKeys,
    /// Such keys that are good in one tenant alone, by tenant.
    pub tenant_mac_keys: BTreeMap<String, SecretKeys>,
}

impl Entry for AgentEntry {
    fn read(value: &Value, within: &str, place: &mut Place<'_>) -> Option<Self> {
        const KNOWN: &[&str] = &["services", "intents", "tenants", "status", "mac_key", "tenant_mac_keys"];
        let members = "a table with `services`, `intents`, `tenants`, `status`, `mac_key`, `tenant_mac_keys`";
        let table = table_of(value, within, members, place)?;
        known_names(table, KNOWN, within, place)?;
        let status = match table.get("status").map(|status| status.as_str()) {
            None | Some(Some("active")) => AgentStatus::Active,
            Some(Some("inactive")) => AgentStatus::Inactive,
            Some(Some("maintenance")) => AgentStatus::Maintenance,
            Some(other) => {
                let allowed = "\"active\", \"inactive\" or \"maintenance\"";
                return place.fail(&format!("{within}.status"), &quote(other.unwrap_or("?")), allowed);
            }
        };
        let mac_keys = match table.get("mac_key") {
            Some(key) => Entry::read(key, &format!("{within}.mac_key"), place)?,
            None => SecretKeys::default(),
        };
        let mut tenant_mac_keys = BTreeMap::new();
        if let Some(tenants) = table.get("tenant_mac_keys") {
            let within = format!("{within}.tenant_mac_keys");
            for (tenant, keys) in table_of(tenants, &within, "a table of keys by tenant", place)? {
                let within = format!("{within}.{}", quote(tenant));
                tenant_mac_keys.insert(tenant.clone(), Entry::read(keys, &within, place)?);
            }
        }
        Some(Self {
            services: texts_of(table, "services", within, place)?,
            intents: texts_of(table, "intents", within, place)?,
            tenants: texts_of(table, "tenants", within, place)?,
            status,
            mac_keys,
            tenant_mac_keys,
        })
    }

    fn show(&self) -> String {
        let status = match self.status {
            AgentStatus::Active => "active",
            AgentStatus::Inactive => "inactive",
            AgentStatus::Maintenance => "maintenance",
        };
        let key = if self.mac_keys.0.is_empty() { "" } else { ", mac_key = \"(hidden)\"" };
        let tenants: Vec<_> =
            self.tenant_mac_keys.keys().map(|tenant| format!("{} = \"(hidden)\"", quote(tenant))).collect();
        let tenants = match tenants.as_slice() {
            [] => String::new(),
            tenants => format!(", tenant_mac_keys = {{ {} }}", tenants.join(", ")),
        };
        let within = match self.tenants.as_slice() {
            [] => String::new(),
            _ => format!(", tenants = {}", self.tenants.show()),
        };
        format!(
            "{{ services = {}, intents = {}{within}, status = \"{status}\"{key}{tenants} }}",
            self.services.show(),
            self.intents.show()
        )
    }
}

/// A public key that tokens are verified with.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Jwk {
    /// By which tokens name it.
    pub kid: String,
    /// The modulus, base64url.
    pub n: String,
    /// The exponent, base64url.
    pub e: String,
}

/// A set of public keys (RFC 7517).
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Jwks {
    /// The RSA keys that may verify signatures.
    pub keys: Vec<Jwk>,
    file: Option<String>,
}

impl Setting for Jwks {
    const KIND: &'static str = "a key set with `keys`, or the name of a JSON or TOML file";

    fn read(value: &DeValue<'_>, place: &mut Place<'_>) -> Option<Self> {
        let (value, file) = in_place_or_file(value, place)?;
        let table = table_of(&value, "", Self::KIND, place)?;
        let mut keys: Vec<Jwk> = Vec::new();
        let items = match table.get("keys") {
            None if table.is_empty() => return Some(Self::default()),
            Some(Value::Array(items)) => items,
            _ => return place.fail(".keys", "no list", "a list of keys"),
        };
        for (index, item) in items.iter().enumerate() {
            let within = format!(".keys[{index}]");
            let key = table_of(item, &within, "a key by RFC 7517", place)?;
            // Sets hold keys for other purposes, too; those are not ours.
            let text = |name: &str| key.get(name).and_then(Value::as_str);
            if text("kty") != Some("RSA") || text("use").is_some_and(|purpose| purpose != "sig") {
                continue;
            }
            if text("alg").is_some_and(|algorithm| algorithm != "RS256") {
                continue;
            }
            let kid = text_of(key, "kid", &within, place)?;
            if keys.iter().any(|other| other.kid == kid) {
                return place.fail(&within, &quote(&kid), "each `kid` once");
            }
            keys.push(Jwk {
                kid,
                n: text_of(key, "n", &within, place)?,
                e: text_of(key, "e", &within, place)?,
            });
        }
        if keys.is_empty() {
            return place.fail(".keys", "no RSA key for signatures", "at least one key for RS256");
        }
        Some(Self { keys, file })
    }

    fn show(&self) -> String {
        if let Some(file) = &self.file {
            return quote(file);
        }
        let keys: Vec<_> = self
            .keys
            .iter()
            .map(|key| {
                let (kid, n, e) = (quote(&key.kid), quote(&key.n), quote(&key.e));
                format!("{{ kty = \"RSA\", kid = {kid}, n = {n}, e = {e} }}")
            })
            .collect();
        if keys.is_empty() { "{}".to_owned() } else { format!("{{ keys = [{}] }}", keys.join(", ")) }
    }
}

/// The highest iteration of each workflow (humaninloop); workflows that are not named keep their default.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Iterations(pub BTreeMap<String, u32>);

impl Default for Iterations {
    fn default() -> Self {
        Self([("specify", 10), ("plan", 10), ("tasks", 6)].map(|(name, cap)| (name.to_owned(), cap)).into())
    }
}

impl Setting for Iterations {
    const KIND: &'static str = "a table of whole numbers by workflow";

    fn read(value: &DeValue<'_>, place: &mut Place<'_>) -> Option<Self> {
        let mut caps = Self::default();
        let known = caps.0.clone();
        for (name, value) in value.as_table()? {
            let workflow = name.get_ref().as_ref();
            if !known.contains_key(workflow) {
                let names: Vec<_> = known.keys().map(String::as_str).collect();
                let near = did_you_mean(workflow, names.iter().copied());
                let allowed = format!("the workflows {}{near}", names.join(", "));
                return place.fail("", &format!("`{workflow}`"), &allowed);
            }
            let cap = u32::read(value.get_ref(), place).filter(|cap| *cap > 0);
            let Some(cap) = cap else {
                return place.fail(
                    &format!(".{}", quote(name.get_ref())),
                    "no such number",
                    "1 to 4294967295",
                );
            };
            caps.0.insert(name.get_ref().to_string(), cap);
        }
        Some(caps)
    }

    fn show(&self) -> String {
        let caps: Vec<_> = self.0.iter().map(|(name, cap)| format!("{} = {cap}", quote(name))).collect();
        format!("{{ {} }}", caps.join(", "))
    }
}

/// A constant that a member is compared with.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Constant {
    /// A text.
    Text(String),
    /// A whole number.
    Number(i64),
    /// True or false.
    Flag(bool),
}

/// How envelopes of a user's format are recognised.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Detect {
    /// Only where a binding names the format.
    #[default]
    Bound,
    /// Every record of these topics.
    Topics(Vec<String>),
    /// By a member, wherever the format is not bound.
    Member {
        /// JSON pointer of the member.
        pointer: String,
        /// What it must be.
        equals: Constant,
    },
}

impl Setting for Detect {
    const KIND: &'static str =
        "{ topic = \"…\" }, { topics = […] }, or { member = \"name or /pointer\", equals = … }";

    fn read(value: &DeValue<'_>, place: &mut Place<'_>) -> Option<Self> {
        let (Value::Object(table), _) = in_place_or_file(value, place)? else { return None };
        known_names(&table, &["topic", "topics", "member", "equals"], "", place)?;
        let texts = |value: &Value| -> Option<Vec<String>> {
            value.as_array()?.iter().map(|item| item.as_str().map(str::to_owned)).collect()
        };
        match (table.get("topic"), table.get("topics"), table.get("member"), table.get("equals")) {
            (None, None, None, None) => Some(Self::Bound),
            (Some(Value::String(topic)), None, None, None) => Some(Self::Topics(vec![topic.clone()])),
            (None, Some(topics), None, None) => {
                let topics = texts(topics).filter(|topics| !topics.is_empty());
                topics.map_or_else(
                    || place.fail(".topics", "no list of texts", "topic names"),
                    |topics| Some(Self::Topics(topics)),
                )
            }
            (None, None, Some(Value::String(member)), Some(equals)) => {
                let equals = match equals {
                    Value::String(text) => Constant::Text(text.clone()),
                    Value::Bool(flag) => Constant::Flag(*flag),
                    Value::Number(number) if number.is_i64() => Constant::Number(number.as_i64()?),
                    other => {
                        return place.fail(".equals", kind_of(other), "a text, whole number, true or false");
                    }
                };
                let pointer =
                    if member.starts_with('/') { member.clone() } else { format!("/{}", escape(member)) };
                Some(Self::Member { pointer, equals })
            }
            _ => place.fail("", "another combination", Self::KIND),
        }
    }

    fn show(&self) -> String {
        match self {
            Self::Bound => "{}".to_owned(),
            Self::Topics(topics) => format!("{{ topics = {} }}", topics.show()),
            Self::Member { pointer, equals } => {
                let equals = match equals {
                    Constant::Text(text) => quote(text),
                    Constant::Number(number) => number.to_string(),
                    Constant::Flag(flag) => flag.to_string(),
                };
                format!("{{ member = {}, equals = {equals} }}", quote(pointer))
            }
        }
    }
}

/// A name as a token of a JSON pointer.
fn escape(name: &str) -> String {
    name.replace('~', "~0").replace('/', "~1")
}

fn table_of<'v>(
    value: &'v Value,
    within: &str,
    allowed: &str,
    place: &mut Place<'_>,
) -> Option<&'v serde_json::Map<String, Value>> {
    match value {
        Value::Object(table) => Some(table),
        other => place.fail(within, kind_of(other), allowed),
    }
}

fn text_of(
    table: &serde_json::Map<String, Value>,
    name: &str,
    within: &str,
    place: &mut Place<'_>,
) -> Option<String> {
    match table.get(name) {
        Some(Value::String(text)) => Some(text.clone()),
        Some(other) => place.fail(&format!("{within}.{name}"), kind_of(other), "a text"),
        None => place.fail(&format!("{within}.{name}"), "nothing", "a text"),
    }
}

fn texts_of(
    table: &serde_json::Map<String, Value>,
    name: &str,
    within: &str,
    place: &mut Place<'_>,
) -> Option<Vec<String>> {
    let Some(value) = table.get(name) else { return Some(Vec::new()) };
    let texts: Option<Vec<_>> = value
        .as_array()
        .and_then(|items| items.iter().map(|item| item.as_str().map(str::to_owned)).collect());
    texts.map_or_else(|| place.fail(&format!("{within}.{name}"), kind_of(value), "a list of texts"), Some)
}

/// Entries are checked as keys are: a name that nobody knows is an error.
fn known_names(
    table: &serde_json::Map<String, Value>,
    known: &[&str],
    within: &str,
    place: &mut Place<'_>,
) -> Option<()> {
    match table.keys().find(|name| !known.contains(&name.as_str())) {
        Some(name) => {
            let near = did_you_mean(name, known.iter().copied());
            place.fail(within, &format!("`{name}`"), &format!("the members {}{near}", known.join(", ")))
        }
        None => Some(()),
    }
}
