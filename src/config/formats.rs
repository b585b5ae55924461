//! The keys of `[format.NAME]`: one section for each built-in format family, and the form of the user's own ones.
//!
//! What is configured here decides which rules can be checked; what the rules are stands in `formats/`.

use std::collections::BTreeMap;

use toml::Spanned;
use toml::de::DeValue;

use super::choices::{
    AghPreset, Correlation, DedupKey, DirectBinding, DraftChoice, DuplicateNames, Enforcement, NullOptionals,
    PayloadShape, ReplayGuard, SignatureEncoding, ThreadGrammar, TimestampForm, UnknownFields, VerifyProof,
};
use super::entries::{AgentEntry, Detect, Iterations, Jwks, SecretKey, SecretKeys, TaskEntry};
use super::keys::section;
use super::peers::Peers;
use super::read::{Secret, Setting as _, Source, nearest};
use super::registry::{Names, Registry};
use super::schema_files::SchemaFiles;
use super::{ConfigError, Problem};

/// Seconds that arithmetic on times can carry without care.
const SECONDS_MAX: u32 = 1_000_000_000;

macro_rules! formats {
    ($($(#[doc = $doc:literal])+ $name:ident $Section:ident { $($keys:tt)* })*) => {
        $(section! { $(#[doc = $doc])+ $Section { $($keys)* } })*

        /// The sections `[format.…]`.
        #[derive(Clone, Debug, Default, PartialEq)]
        pub struct Formats {
            $($(#[doc = $doc])+ pub $name: $Section,)*
            /// The user's own formats by name.
            pub custom: BTreeMap<String, Custom>,
        }

        impl Formats {
            /// The families that are built in.
            pub const BUILT_IN: &'static [&'static str] = &[$(stringify!($name),)*];

            pub(super) fn read(
                &mut self,
                source: &Source<'_>,
                value: &Spanned<DeValue<'_>>,
            ) -> Result<(), ConfigError> {
                for (name, value) in source.table("format", value)? {
                    let section = format!("format.{}", name.get_ref());
                    match name.get_ref().as_ref() {
                        "agh" if runs_as_reference(value.get_ref()) => {
                            self.agh = Agh::runtime();
                            self.agh.read(source, &section, value)?;
                        }
                        $(stringify!($name) => self.$name.read(source, &section, value)?,)*
                        own => {
                            check_name(source, own, value)?;
                            if !self.custom.contains_key(own) && is_slip(own, value.get_ref()) {
                                let built_in = Self::BUILT_IN.iter().copied();
                                return Err(source.unknown("section", "format.", name, built_in));
                            }
                            let custom = self.custom.entry(own.to_owned()).or_default();
                            custom.read(source, &section, value)?;
                            custom.load(source, &section, value)?;
                        }
                    }
                }
                Ok(())
            }

            pub(super) fn write(&self, out: &mut String, comments: bool) {
                $(self.$name.write(out, concat!("format.", stringify!($name)), comments);)*
                for (name, custom) in &self.custom {
                    custom.write(out, &format!("format.{name}"), comments);
                }
                if comments {
                    write_example(out);
                }
            }
        }
    };
}

formats! {
    /// Olympus agent envelopes. An empty table means that nothing is configured.
    olympus Olympus {
        /// Whether routes from and to the project manager are active.
        use_project_manager: bool = true, "", |_| true;
        /// Secret of each session, by session id, for signatures of scheme v1: a text, { file = "…" }, or a list of
        /// { text = "…", from = "…", until = "…" } while keys are rotated; or the name of a TOML or JSON file.
        sessions: Registry<SecretKeys> = Registry::default(), "", |_| true;
        /// Master key for signatures of scheme v2: 64 hex digits, or a list as for sessions.
        master_key_hex: SecretKeys = SecretKeys::default(), "64 hex digits", are_keys;
        /// File that holds the master key.
        master_key_hex_file: String = String::new(), "", |_| true;
        /// Task registry: `persona` and `session_id` by task id; or a file.
        tasks: Registry<TaskEntry> = Registry::default(), "", |_| true;
        /// Directory that attachments are read from to compare their hashes; never read outside of it.
        attachment_root: String = String::new(), "", |_| true;
        /// Attachments by path, in place of a directory; or a file.
        files: Registry<String> = Registry::default(), "", |_| true;
        /// Other names of personas, old to new; keys are derived from the name as it is written.
        persona_aliases: Registry<String> = Registry::default(), "", |_| true;
        /// What happens to a second message with the same v1 signature: "off", "warn" or "enforce".
        v1_mac_replay_guard: ReplayGuard = ReplayGuard::Warn, "", |_| true;
        /// Parents that are no known message of the same work: "auto" (enforce but in the profile page), "off", "warn"
        /// or "enforce".
        parents: Enforcement = Enforcement::Auto, "", |_| true;
        /// Assignments, feedback cycles, the circuit breaker and cancellation: "auto" (enforce in the profile strict),
        /// "off", "warn" or "enforce".
        sequence: Enforcement = Enforcement::Auto, "", |_| true;
        /// Coverage that an approval needs, in percent (profile strict).
        coverage_percent_min: u16 = 80, "0 to 100", |percent| *percent <= 100;
        /// Older envelopes are `stale` (profile strict).
        max_age_s: u32 = 86_400, "1 to 1000000000", |s| is_seconds(*s);
        /// Envelopes from further in the future are `future` (profile strict).
        max_skew_s: u32 = 300, "0 to 1000000000", |s| *s <= SECONDS_MAX;
        /// How long message ids are remembered.
        dedup_keep_s: u32 = 86_400, "1 to 1000000000", |s| is_seconds(*s);
        /// Rules that are switched off, by name (`tollgate check` names them).
        rules_off: Vec<String> = Vec::new(), "", |_| true;
    }
    /// AGH Network envelopes, v0.
    agh Agh {
        /// Where the knobs below start from: "default", or "agh-runtime" for the reference implementation.
        preset: AghPreset = AghPreset::Default, "", |_| true;
        /// Age that an envelope without `expires_at` may have.
        max_replay_age_s: u32 = 300, "1 to 1000000000", |s| is_seconds(*s);
        /// How far in the future `ts` may lie.
        max_skew_s: u32 = 300, "0 to 1000000000", |s| *s <= SECONDS_MAX;
        /// Spelling of thread ids: "any" or "ref".
        thread_grammar: ThreadGrammar = ThreadGrammar::Any, "", |_| true;
        /// Unknown top-level members: "reject" or "ignore".
        unknown_fields: UnknownFields = UnknownFields::Reject, "", |_| true;
        /// Null in optional members: `reject` or `as_absent`.
        null_optionals: NullOptionals = NullOptionals::Reject, "", |_| true;
        /// Whether identifiers are trimmed before they are checked.
        trim_identifiers: bool = false, "", |_| true;
        /// What makes two messages the same: "sender" (workspace, sender, id) or "id".
        dedup_key: DedupKey = DedupKey::Sender, "", |_| true;
        /// Direct messages in a room that is not their peers': "filter" or "reject".
        direct_binding: DirectBinding = DirectBinding::Filter, "", |_| true;
        /// Names that stand twice in an object: `reject`, or `last_wins` on topics that are bound to agh.
        duplicate_names: DuplicateNames = DuplicateNames::Reject, "", |_| true;
        /// Whether bodies, proofs and extensions are searched for secrets.
        secret_scan: bool = false, "", |_| true;
        /// Whether peers that offer `task.write` must send a proof.
        task_write_needs_proof: bool = false, "", |_| true;
        /// Proofs of the trust profile: `off`, `when_present` or `required`.
        verify_proof: VerifyProof = VerifyProof::Off, "", |_| true;
        /// Peers of this node: ids, or tables with `peer_id`, `workspace_id` and `channel`; or a file. Messages that are
        /// directed to others are `not-target`. Empty: not checked.
        local_peers: Peers = Peers::default(), "", |_| true;
        /// The lifecycle of work: "auto" (enforce), "off", "warn" or "enforce".
        lifecycle: Enforcement = Enforcement::Auto, "", |_| true;
        /// Rules that are switched off, by name.
        rules_off: Vec<String> = Vec::new(), "", |_| true;
    }
    /// Alfred A2A envelopes.
    alfred Alfred {
        /// Agents with their services, intents and status; or a TOML or JSON file.
        registry: Registry<AgentEntry> = Registry::default(), "", |_| true;
        /// Public keys that tokens are verified with (RFC 7517); or a JSON file.
        jwks: Jwks = Jwks::default(), "", |_| true;
        /// Issuer that tokens must name.
        issuer: String = String::new(), "", |_| true;
        /// Audience that tokens must name.
        audience: String = String::new(), "", |_| true;
        /// Clock difference that tokens are granted.
        leeway_s: u32 = 60, "0 to 3600", |s| *s <= 3600;
        /// Longest life of a token.
        max_lifetime_s: u32 = 3600, "1 to 1000000000", |s| is_seconds(*s);
        /// Major protocol version that is supported.
        major: u32 = 2, "", |_| true;
        /// Master key of signatures: 64 hex digits, or a list of { text = "…", from = "…", until = "…" }.
        mac_master_key_hex: SecretKeys = SecretKeys::default(), "64 hex digits", are_keys;
        /// File that holds the master key.
        mac_master_key_hex_file: String = String::new(), "", |_| true;
        /// Whether every envelope needs a signature.
        require_signature: bool = false, "", |_| true;
        /// How far timestamps may be off, either way.
        window_s: u32 = 300, "1 to 1000000000", |s| is_seconds(*s);
        /// Responses without their request: "auto" (by the profile), "off", "warn" or "enforce".
        correlation: Correlation = Correlation::Auto, "", |_| true;
        /// How long message ids are remembered.
        dedup_keep_s: u32 = 172_800, "1 to 1000000000", |s| is_seconds(*s);
        /// Rules that are switched off, by name.
        rules_off: Vec<String> = Vec::new(), "", |_| true;
    }
    /// humaninloop envelopes, inputs and outputs (ADR-007).
    humaninloop Humaninloop {
        /// Highest iteration of each workflow (profile strict).
        max_iteration: Iterations = Iterations::default(), "", |_| true;
        /// Whether the headers `message-id` and `ce_id` are trusted to identify a record.
        trust_id_headers: bool = false, "", |_| true;
        /// Iterations of a feature and workflow that go back or leave one out, and files that go back to an older content:
        /// "auto" (warn in the profile strict), "off", "warn" or "enforce".
        sequence: Enforcement = Enforcement::Auto, "", |_| true;
        /// How long inputs are remembered.
        input_keep_s: u32 = 86_400, "1 to 1000000000", |s| is_seconds(*s);
        /// How long outputs are remembered.
        output_keep_s: u32 = 600, "1 to 1000000000", |s| is_seconds(*s);
        /// Rules that are switched off, by name.
        rules_off: Vec<String> = Vec::new(), "", |_| true;
    }
    /// Bluelabel envelopes.
    bluelabel Bluelabel {
        /// Agents that may send and receive; or a file. Empty: not checked.
        agents: Names = Names::default(), "", |_| true;
        /// Highest retry count (profile strict).
        max_retry: u32 = 5, "", |_| true;
        /// Retries whose count does not rise: "auto" (enforce in the profile strict), "off", "warn" or "enforce".
        retries: Enforcement = Enforcement::Auto, "", |_| true;
        /// Where a payload's members stand: "auto" (by the profile), "flat", "nested" or "either".
        payload_shape: PayloadShape = PayloadShape::Auto, "", |_| true;
        /// Older envelopes are `stale` (profile strict).
        max_age_s: u32 = 86_400, "1 to 1000000000", |s| is_seconds(*s);
        /// Envelopes from further in the future are `future` (profile strict).
        max_skew_s: u32 = 300, "0 to 1000000000", |s| *s <= SECONDS_MAX;
        /// How long messages are remembered.
        dedup_keep_s: u32 = 86_400, "1 to 1000000000", |s| is_seconds(*s);
        /// Rules that are switched off, by name.
        rules_off: Vec<String> = Vec::new(), "", |_| true;
    }
}

section! {
    /// A format of your own: any JSON Schema.
    CustomKeys {
        /// The schema's file.
        schema: String = String::new(), "the name of a JSON Schema file", |schema: &String| !schema.is_empty();
        /// Directories of documents that the schema refers to, by prefix of their URIs.
        map: Registry<String> = Registry::default(), "", |_| true;
        /// Version of schemas that do not say `$schema`: "7" or "2020-12".
        draft: DraftChoice = DraftChoice::V2020, "", |_| true;
        /// Whether `format` is asserted, or only an annotation.
        assert_formats: bool = true, "", |_| true;
        /// How envelopes are recognised: `{ topics = ["…"] }`, or `{ member = "name or /pointer", equals = … }`;
        /// empty: only where `rules.format` or `topic_formats` names the format.
        detect: Detect = Detect::Bound, "", |_| true;
        /// JSON pointer of the message id; empty: none.
        id: String = String::new(), "a JSON pointer, such as \"/id\"", |pointer: &String| is_pointer(pointer);
        /// JSON pointer of the time of sending; empty: none.
        timestamp: String = String::new(), "a JSON pointer, such as \"/sent_at\"", |pointer: &String| is_pointer(pointer);
        /// How the time is written: `rfc3339`, `unix_s` or `unix_ms`.
        timestamp_form: TimestampForm = TimestampForm::Rfc3339, "", |_| true;
        /// Older envelopes are `stale`; 0: not checked.
        max_age_s: u32 = 86_400, "0 to 1000000000", |s| *s <= SECONDS_MAX;
        /// Envelopes from further in the future are `future`.
        max_skew_s: u32 = 300, "0 to 1000000000", |s| *s <= SECONDS_MAX;
        /// JSON pointer of the signature: HMAC-SHA256 over the RFC 8785 form without this member; empty: none.
        signature: String = String::new(), "a JSON pointer, such as \"/signature\"", |pointer: &String| is_pointer(pointer);
        /// How the signature is written: "hex" or "base64".
        signature_encoding: SignatureEncoding = SignatureEncoding::Hex, "", |_| true;
        /// Key of the signature, used as its bytes; or a list of { text = "…", from = "…", until = "…" }.
        signature_key: SecretKeys = SecretKeys::default(), "", |_| true;
        /// File that holds the key; a trailing line break is ignored.
        signature_key_file: String = String::new(), "", |_| true;
        /// Whether every envelope needs a signature, or only those that have one are verified.
        signature_required: bool = true, "", |_| true;
        /// How long message ids are remembered.
        dedup_keep_s: u32 = 86_400, "1 to 1000000000", |s| is_seconds(*s);
    }
}

/// A user's format: its keys, and what their files hold.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Custom {
    /// The keys.
    pub keys: CustomKeys,
    /// The schema and the documents that it may refer to.
    pub files: SchemaFiles,
}

impl Custom {
    fn read(
        &mut self,
        source: &Source<'_>,
        section: &str,
        value: &Spanned<DeValue<'_>>,
    ) -> Result<(), ConfigError> {
        self.keys.read(source, section, value)
    }

    fn write(&self, out: &mut String, section: &str, comments: bool) {
        self.keys.write(out, section, comments);
    }

    /// Reads the schema's files.
    fn load(
        &mut self,
        source: &Source<'_>,
        section: &str,
        value: &Spanned<DeValue<'_>>,
    ) -> Result<(), ConfigError> {
        let wrong = |key: &str, found: &str, allowed: &str| {
            source.error(Problem::Value {
                key: format!("{section}.{key}"),
                line: source.line(value.span()),
                found: found.to_owned(),
                allowed: allowed.to_owned(),
            })
        };
        let keys = &self.keys;
        if keys.schema.is_empty() {
            let allowed = format!(
                "the name of a JSON Schema file; the built-in formats are {}",
                Formats::BUILT_IN.join(", ")
            );
            return Err(wrong("schema", "nothing", &allowed));
        }
        if keys.signature.is_empty() != (keys.signature_key.is_empty() && keys.signature_key_file.is_empty())
        {
            return Err(wrong(
                "signature",
                "only one of pointer and key",
                "`signature` together with `signature_key`",
            ));
        }
        let directories: Vec<_> =
            keys.map.iter().map(|(prefix, directory)| (prefix, source.path(directory))).collect();
        let map = directories.iter().map(|(prefix, directory)| (*prefix, directory.as_path()));
        self.files = SchemaFiles::read(&source.path(&keys.schema), map)
            .map_err(|error| wrong("schema", &error.to_string(), "files that can be read"))?;
        Ok(())
    }
}

impl Agh {
    /// Every knob as the reference implementation has it.
    fn runtime() -> Self {
        Self {
            preset: AghPreset::Runtime,
            thread_grammar: ThreadGrammar::Ref,
            unknown_fields: UnknownFields::Ignore,
            null_optionals: NullOptionals::AsAbsent,
            trim_identifiers: true,
            dedup_key: DedupKey::Id,
            duplicate_names: DuplicateNames::LastWins,
            secret_scan: true,
            task_write_needs_proof: true,
            ..Self::default()
        }
    }
}

impl Formats {
    /// Reads the files of secrets, and checks what spans several keys.
    pub(super) fn check(&mut self, source: &Source<'_>) -> Result<(), ConfigError> {
        let secrets = [
            (
                "format.olympus.master_key_hex",
                &mut self.olympus.master_key_hex,
                &mut self.olympus.master_key_hex_file,
            ),
            (
                "format.alfred.mac_master_key_hex",
                &mut self.alfred.mac_master_key_hex,
                &mut self.alfred.mac_master_key_hex_file,
            ),
        ];
        for (key, secret, file) in secrets {
            let from = if file.is_empty() { key.to_owned() } else { format!("{key}_file") };
            load_secret(source, key, secret, file)?;
            if !are_keys(secret) {
                return Err(value_error(source, &from, "(hidden)", "64 hex digits"));
            }
        }
        let root = &mut self.olympus.attachment_root;
        if !root.is_empty() {
            *root = source.path(root).display().to_string();
        }
        for (name, custom) in &mut self.custom {
            let key = format!("format.{name}.signature_key");
            load_secret(source, &key, &mut custom.keys.signature_key, &mut custom.keys.signature_key_file)?;
        }
        Ok(())
    }
}

/// Reads a secret from the file that is named beside it; from then on only the secret is set.
fn load_secret(
    source: &Source<'_>,
    key: &str,
    secret: &mut SecretKeys,
    file: &mut String,
) -> Result<(), ConfigError> {
    if file.is_empty() {
        return Ok(());
    }
    let file_key = format!("{key}_file");
    if !secret.is_empty() {
        return Err(value_error(
            source,
            &file_key,
            "both are set",
            &format!("one of `{key}` and `{file_key}`"),
        ));
    }
    let path = source.path(file);
    let text = std::fs::read_to_string(&path).map_err(|error| {
        value_error(source, &file_key, &format!("{}: {error}", path.display()), "a file that can be read")
    })?;
    let text = Secret::new(text.trim_end_matches(['\r', '\n']).to_owned());
    secret.0.push(SecretKey { secret: text, from: None, until: None });
    file.clear();
    Ok(())
}

fn value_error(source: &Source<'_>, key: &str, found: &str, allowed: &str) -> ConfigError {
    source.error(Problem::Value {
        key: key.to_owned(),
        line: None,
        found: found.to_owned(),
        allowed: allowed.to_owned(),
    })
}

fn runs_as_reference(section: &DeValue<'_>) -> bool {
    let preset = section.as_table().and_then(|table| table.get("preset"));
    preset.and_then(|preset| preset.get_ref().as_str()) == Some(AghPreset::Runtime.name())
}

/// Whether a section is a built-in format's with a slip of the pen, rather than a format of the user's own.
fn is_slip(name: &str, section: &DeValue<'_>) -> bool {
    let has_schema = section.as_table().is_some_and(|table| table.contains_key("schema"));
    !has_schema && nearest(name, Formats::BUILT_IN.iter().copied()).is_some()
}

/// A name that headers, metrics and file names can carry.
fn check_name(source: &Source<'_>, name: &str, value: &Spanned<DeValue<'_>>) -> Result<(), ConfigError> {
    const NAME_BYTES_MAX: usize = 64;
    let spelled = name.len() <= NAME_BYTES_MAX
        && name.starts_with(|c: char| c.is_ascii_lowercase())
        && name
            .bytes()
            .all(|byte| byte.is_ascii_lowercase() || byte.is_ascii_digit() || matches!(byte, b'-' | b'_'));
    if spelled && !matches!(name, "auto" | "humaninloop-input" | "humaninloop-output") {
        return Ok(());
    }
    Err(source.error(Problem::Value {
        key: "format".to_owned(),
        line: source.line(value.span()),
        found: format!("`{name}`"),
        allowed: "names of 1 to 64 of a–z, 0–9, `-` and `_` that begin with a letter and are not taken"
            .to_owned(),
    }))
}

fn write_example(out: &mut String) {
    out.push_str(
        "\n# A format of your own: any JSON Schema. `schema` is required, the other keys have these defaults.\n\
         # [format.NAME]\n",
    );
    let mut text = String::new();
    CustomKeys::default().write(&mut text, "format.NAME", true);
    let keys = text.lines().skip_while(|line| !line.starts_with('[')).skip(1);
    for line in keys {
        out.push_str(if line.starts_with('#') { "" } else { "# " });
        out.push_str(line);
        out.push('\n');
    }
}

fn is_seconds(seconds: u32) -> bool {
    (1..=SECONDS_MAX).contains(&seconds)
}

/// Keys of 32 bytes in hex.
fn are_keys(keys: &SecretKeys) -> bool {
    let texts = keys.0.iter().map(|key| key.secret.reveal());
    texts.into_iter().all(|text| text.len() == 64 && text.bytes().all(|byte| byte.is_ascii_hexdigit()))
}

/// Nothing, or a JSON pointer (RFC 6901) to a member.
fn is_pointer(pointer: &str) -> bool {
    let escapes = |token: &str| {
        let mut rest = token.split('~').skip(1);
        rest.all(|after| after.starts_with(['0', '1']))
    };
    pointer.is_empty() || (pointer.starts_with('/') && pointer.split('/').all(escapes))
}
