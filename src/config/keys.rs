//! The table of keys: section, key, type, default, comment, and what is allowed. The only place that defines them.
//!
//! Units stand at the end of a key's name. A key's comment is what `configs/default.toml` shows.

use toml::Spanned;
use toml::de::{DeString, DeValue};

use super::bound::Bound;
use super::choices::{OnFull, ReplayGuard};
use super::read::{Secret, Setting as _, Source, choice};
use super::{ConfigError, Formats, FreeTable};

choice! {
    /// How strict the rules of the formats are.
    Profile "\"page\", \"strict\" or \"lenient\"" {
        /// What the published page says, nothing more.
        Page = "page",
        /// The page, the reference's rules and the proposed hardening.
        Strict = "strict",
        /// Tolerates what known producers emit.
        Lenient = "lenient",
    }
}

choice! {
    /// Which time freshness is judged by.
    ClockChoice "\"auto\", \"record\" or \"wall\"" {
        /// The record's time where the topic stamps it on append, otherwise wall-clock time; in an audit, the record's time.
        Auto = "auto",
        /// The record's time.
        Record = "record",
        /// Wall-clock time.
        Wall = "wall",
    }
}

choice! {
    /// How often a record may be written.
    DeliveryChoice "\"exactly_once\" or \"at_least_once\"" {
        /// Once, by transactions; readers must read committed records.
        ExactlyOnce = "exactly_once",
        /// Once, and again after a crash.
        AtLeastOnce = "at_least_once",
    }
}

choice! {
    /// Which partition of an output a record goes to.
    PartitionChoice "\"keep\" or \"key\"" {
        /// That of the input, modulo the partitions that the output has.
        Keep = "keep",
        /// By its key, as the Java client would; without a key, any.
        Key = "key",
    }
}

choice! {
    /// Which headers a rejected record gains.
    RejectHeaders "\"note\" or \"full\"" {
        /// One, with the whole note.
        Note = "note",
        /// Also those that dead-letter queues of Kafka itself have.
        Full = "full",
    }
}

choice! {
    /// What happens when part of the journal is gone.
    OnStateLoss "\"stop\" or \"continue\"" {
        /// The run stops.
        Stop = "stop",
        /// It is said loudly, and the run goes on without what is gone.
        Continue = "continue",
    }
}

choice! {
    /// How to talk to the brokers.
    SecurityProtocol "\"plaintext\", \"ssl\", \"sasl_plaintext\" or \"sasl_ssl\"" {
        /// No encryption, no log-in.
        Plaintext = "plaintext",
        /// TLS.
        Ssl = "ssl",
        /// Log-in without encryption.
        SaslPlaintext = "sasl_plaintext",
        /// TLS and log-in.
        SaslSsl = "sasl_ssl",
    }
}

choice! {
    /// How to log in.
    SaslMechanism "\"PLAIN\", \"SCRAM-SHA-256\", \"SCRAM-SHA-512\" or \"OAUTHBEARER\"" {
        /// User and password.
        Plain = "PLAIN",
        /// Salted challenge, SHA-256.
        ScramSha256 = "SCRAM-SHA-256",
        /// Salted challenge, SHA-512.
        ScramSha512 = "SCRAM-SHA-512",
        /// A bearer token.
        Oauthbearer = "OAUTHBEARER",
    }
}

/// One section: its keys with type, default, comment and what is allowed, as a struct that reads and writes itself.
macro_rules! section {
    (
        $(#[doc = $section_doc:literal])+
        $Section:ident {
            $($(#[doc = $doc:literal])+ $key:ident: $type:ty = $default:expr, $allowed:literal, $check:expr;)*
        }
    ) => {
        $(#[doc = $section_doc])+
        #[derive(Clone, Debug, PartialEq)]
        pub struct $Section { $($(#[doc = $doc])+ pub $key: $type,)* }

        impl Default for $Section {
            fn default() -> Self {
                Self { $($key: $default,)* }
            }
        }

        impl $Section {
            const KEYS: &'static [&'static str] = &[$(stringify!($key),)*];

            /// Reads the keys that stand there over those that are set; `section` is the section's name.
            pub(super) fn read(
                &mut self,
                source: &Source<'_>,
                section: &str,
                value: &Spanned<DeValue<'_>>,
            ) -> Result<(), ConfigError> {
                for (name, value) in source.table(section, value)? {
                    let key = format!("{section}.{}", name.get_ref());
                    match name.get_ref().as_ref() {
                        $(stringify!($key) => {
                            self.$key = source.setting::<$type>(&key, value, $allowed, $check)?;
                        })*
                        _ => {
                            let prefix = format!("{section}.");
                            return Err(source.unknown("key", &prefix, name, Self::KEYS.iter().copied()));
                        }
                    }
                }
                Ok(())
            }

            pub(super) fn write(&self, out: &mut String, section: &str, comments: bool) {
                if comments {
                    out.push('\n');
                    out.push_str(concat!($("#", $section_doc, "\n"),+));
                } else {
                    out.push('\n');
                }
                out.push_str(&format!("[{section}]\n"));
                $(
                    if comments {
                        out.push_str(concat!($("#", $doc, "\n"),+));
                    }
                    out.push_str(&format!("{} = {}\n", stringify!($key), self.$key.show()));
                )*
            }
        }
    };
}
pub(super) use section;

macro_rules! sections {
    ($(
        #[doc = $section_doc:literal]
        $section:ident $Section:ident { $($keys:tt)* }
    )*) => {
        $(section! { #[doc = $section_doc] $Section { $($keys)* } })*

        /// The whole configuration.
        #[derive(Clone, Debug, Default, PartialEq)]
        pub struct Config {
            $(#[doc = $section_doc] pub $section: $Section,)*
            /// What the formats are judged by, built-in ones and the user's.
            pub format: Formats,
            /// Formats that input topics are bound to.
            pub topic_formats: FreeTable,
            /// Passed to librdkafka as they are.
            pub librdkafka: FreeTable,
        }

        impl Config {
            pub(super) fn read_section(
                &mut self,
                source: &Source<'_>,
                name: &Spanned<DeString<'_>>,
                value: &Spanned<DeValue<'_>>,
            ) -> Result<(), ConfigError> {
                match name.get_ref().as_ref() {
                    $(stringify!($section) => self.$section.read(source, stringify!($section), value),)*
                    _ => {
                        let known = [$(stringify!($section),)* "format", "topic_formats", "librdkafka"];
                        Err(source.unknown("section", "", name, known.into_iter()))
                    }
                }
            }

            pub(super) fn sections_to_toml(&self, comments: bool) -> String {
                let mut out = String::new();
                $(self.$section.write(&mut out, stringify!($section), comments);)*
                out
            }
        }
    };
}

/// Where the ops port listens by default.
pub const OPS_LISTEN: &str = "127.0.0.1:9464";

sections! {
    /// What is checked, and how strictly.
    rules Rules {
        /// Profile of the formats' rules: "page", "strict" or "lenient".
        profile: Profile = Profile::Page, "", |_| true;
        /// Format of the records: "auto", or a format's name.
        format: String = "auto".into(), "", |_| true;
        /// Time that freshness is judged by: "auto", "record" or "wall".
        clock: ClockChoice = ClockChoice::Auto, "", |_| true;
    }
    /// Limits that hold for every record, in every format.
    limits Limits {
        /// Larger payloads are rejected as `too-big` before they are parsed.
        payload_bytes_max: u32 = 1_048_576, "2 to 1073741824", |bytes| (2..=1 << 30).contains(bytes);
        /// Deeper nesting is rejected as `too-deep`; the envelope itself is depth 1.
        depth_max: u16 = 64, "1 to 1024", |depth| (1..=1024).contains(depth);
        /// Deepest nesting of the text of a schema of your own.
        schema_depth_max: u16 = 127, "1 to 127", |depth| (1..=127).contains(depth);
        /// Most operations that a schema of your own may compile to.
        schema_ops_max: u32 = 100_000, "1 to 10000000", |ops| (1..=10_000_000).contains(ops);
        /// Most nested calls while a record is checked against a schema of your own; a level of nesting takes one or two.
        schema_calls_max: u32 = 1024, "16 to 4096", |calls| (16..=4096).contains(calls);
        /// Most steps while a record is checked against a schema of your own; more are rejected as `schema`.
        schema_steps_max: u64 = 20_000_000, "1000 or more", |steps| *steps >= 1000;
        /// Most bytes of one pattern's text in a schema.
        pattern_bytes_max: u32 = 4096, "1 to 1048576", |bytes| (1..=1 << 20).contains(bytes);
        /// Most bytes of one pattern's automaton.
        pattern_program_bytes_max: u32 = 1_048_576, "1024 to 1073741824", |bytes| (1024..=1 << 30).contains(bytes);
        /// Most bytes of all automata of a schema together.
        patterns_program_bytes_max: u32 = 16_777_216, "1024 to 1073741824", |bytes| (1024..=1 << 30).contains(bytes);
    }
    /// The replay window: which messages were seen before.
    window Window {
        /// Messages that were seen before: "off" (not looked at), "warn" (counted and accepted) or "enforce".
        replay: ReplayGuard = ReplayGuard::Enforce, "", |_| true;
        /// Most memory that it takes, about 32 bytes for each id; the memory is reserved at start and used as ids come.
        memory_bytes_max: u64 = 1 << 30, "65536 to 1099511627776", |bytes| (65_536..=1 << 40).contains(bytes);
        /// When it is full: `stop` the run, `evict_oldest` (copies of those ids pass), or `reject` new ids.
        on_full: OnFull = OnFull::Stop, "", |_| true;
        /// Ids are dropped so long after the time of committed records has passed their end.
        margin_s: u32 = 300, "0 to 1000000000", |s| *s <= 1_000_000_000;
    }
    /// The ledger: where work stands that several messages belong to.
    ledger Ledger {
        /// Most entries (work, messages that may be parents, open requests, retries); then the oldest are given up.
        /// Each takes 30 to 105 bytes of memory.
        entries_max: u32 = 4_000_000, "1 to 1000000000", |entries| (1..=1_000_000_000).contains(entries);
    }
    /// What rejected records carry, in topics and in files.
    rejected Rejected {
        /// Replace credentials in them: what a format hides (tokens, signatures, sensitive inputs), and what looks like
        /// a credential. Of a record that cannot be read, length and SHA-256 are all that is written.
        redact: bool = false, "", |_| true;
        /// In topics: "note" (the header `tollgate.reject`), or "full" (also `__dlq.errors.topic`, `.partition`, `.offset`,
        /// `.group` and `.message`, as Kafka's own dead-letter queues have them).
        headers: RejectHeaders = RejectHeaders::Note, "", |_| true;
    }
    /// Threads and queues.
    pipeline Pipeline {
        /// Worker threads; 0 means one per available core.
        workers: u16 = 0, "0 to 1024", |workers| *workers <= 1024;
        /// Pin each worker to a core of the process's cpuset.
        pin: bool = true, "", |_| true;
        /// Records in one batch at most.
        batch_records_max: u32 = 1024, "1 to 65536", |records| (1..=65_536).contains(records);
        /// Records between reader and commit at most; the reader waits when they are reached.
        inflight_records_max: u32 = 65_536, "1 to 16777216", |records| (1..=1 << 24).contains(records);
        /// Bytes between reader and commit at most; one batch may exceed it when nothing else is in flight.
        inflight_bytes_max: u64 = 67_108_864, "65536 or more", |bytes| *bytes >= 65_536;
        /// How long an orderly stop may take before what is in flight is given up.
        stop_deadline_ms: u32 = 30_000, "0 to 3600000", |ms| *ms <= 3_600_000;
    }
    /// Files as source and sink.
    files Files {
        /// How much is read at once.
        block_bytes: u32 = 262_144, "4096 to 67108864", |bytes| (4096..=1 << 26).contains(bytes);
        /// Longer records are not kept in memory: they are rejected with their length and SHA-256 alone.
        record_bytes_max: u32 = 134_217_728, "1024 to 1073741824", |bytes| (1024..=1 << 30).contains(bytes);
    }
    /// Kafka as source and sink.
    kafka Kafka {
        /// Bootstrap servers, `host:port` separated by commas.
        brokers: String = String::new(), "", |_| true;
        /// Consumer group.
        group: String = "tollgate".into(), "a name", |group: &String| !group.is_empty();
        /// Input topics.
        topics: Vec<String> = Vec::new(), "a list of topic names", |topics: &Vec<String>| topics.iter().all(|topic| !topic.is_empty());
        /// Topic for accepted records; `{topic}` stands for the input topic.
        accepted: String = "{topic}.accepted".into(), "a topic name or template", |topic: &String| !topic.is_empty();
        /// Topic for rejected records; `{topic}` stands for the input topic.
        rejected: String = "{topic}.rejected".into(), "a topic name or template", |topic: &String| !topic.is_empty();
        /// Partition of the outputs: "keep" (the input's, so that the order stays) or "key" (by the record's key).
        partition: PartitionChoice = PartitionChoice::Keep, "", |_| true;
        /// Where a partition without committed offset starts: "stored" (an error), "beginning", "end",
        /// an offset, "-n" for the last n records, or "s@ms" for the first at or after a time.
        start: Bound = Bound::Stored, "", |_| true;
        /// Where the run stops in every partition, as in `start`, looked up once at the start: "end" filters what is
        /// there, "e@ms" stops before the first record at or after a time. Empty: never.
        stop: Option<Bound> = None, "", |_| true;
        /// `exactly_once`: outputs, journal and offsets in one transaction, and readers of the outputs must use
        /// `read_committed`; `at_least_once`: cheaper, and some records are written twice after a crash.
        delivery: DeliveryChoice = DeliveryChoice::ExactlyOnce, "", |_| true;
        /// Name of this process, unique in the group and the same after a restart; empty: the host's name.
        instance: String = String::new(), "", |_| true;
        /// Topic that the state's changes are written to, made where it is missing; `{topic}` stands for the input topic,
        /// `{group}` for the group. Empty: none, and after a restart nothing is remembered.
        journal: String = "{topic}.{group}.journal".into(), "", |_| true;
        /// When part of the journal is gone: "stop", or "continue" without it.
        on_state_loss: OnStateLoss = OnStateLoss::Stop, "", |_| true;
        /// With `exactly_once`: how long after it was read a record shall be committed. Commits that are slow come less often.
        latency_goal_ms: u32 = 200, "1 to 10000", |ms| (1..=10_000).contains(ms);
        /// With `exactly_once`: a transaction is committed at the latest after so many records.
        transaction_records_max: u32 = 50_000, "1 to 10000000", |records| (1..=10_000_000).contains(records);
        /// With `at_least_once`: how often offsets are committed.
        commit_interval_ms: u32 = 1_000, "1 to 60000", |ms| (1..=60_000).contains(ms);
        /// How long the broker waits before it gives a silent member's partitions away.
        session_timeout_ms: u32 = 10_000, "1000 to 300000", |ms| (1_000..=300_000).contains(ms);
        /// How long a revoked partition's records may take to be written and committed.
        revoke_deadline_ms: u32 = 5_000, "0 to 60000", |ms| *ms <= 60_000;
        /// `plaintext`, `ssl`, `sasl_plaintext` or `sasl_ssl`.
        security_protocol: SecurityProtocol = SecurityProtocol::Plaintext, "", |_| true;
        /// "PLAIN", "SCRAM-SHA-256", "SCRAM-SHA-512" or "OAUTHBEARER"; used with a sasl_… protocol.
        sasl_mechanism: SaslMechanism = SaslMechanism::ScramSha512, "", |_| true;
        /// User for PLAIN and SCRAM.
        sasl_username: String = String::new(), "", |_| true;
        /// Password for PLAIN and SCRAM; better "${NAME}" or a file than the text itself.
        sasl_password: Secret = Secret::default(), "", |_| true;
        /// File that holds the password; a trailing line break is ignored.
        sasl_password_file: String = String::new(), "", |_| true;
        /// With OAUTHBEARER: file that holds a token, read again whenever a new one is due.
        sasl_token_file: String = String::new(), "", |_| true;
        /// With OAUTHBEARER: program and arguments that print a token, run whenever a new one is due.
        sasl_token_command: Vec<String> = Vec::new(), "a list of words", |_| true;
        /// CA certificates (PEM) that the brokers' certificates are checked against; empty: the system's.
        ssl_ca_file: String = String::new(), "", |_| true;
        /// Own certificate (PEM) for mutual TLS.
        ssl_certificate_file: String = String::new(), "", |_| true;
        /// Own key (PEM) for mutual TLS.
        ssl_key_file: String = String::new(), "", |_| true;
        /// Password of the own key.
        ssl_key_password: Secret = Secret::default(), "", |_| true;
    }
    /// The ops port: metrics, probes, the live page. Opened when Kafka is read; with files, by `--ops`.
    ops Ops {
        /// Address and port, or "off". Beyond loopback a token is required.
        listen: String = OPS_LISTEN.into(), "`address:port` or \"off\"", |listen: &String| listen == "off" || listen.parse::<std::net::SocketAddr>().is_ok();
        /// Token that requests for anything but the page itself and the probes must carry (`Authorization: Bearer …`).
        token: Secret = Secret::default(), "", |_| true;
        /// File that holds the token; a trailing line break is ignored.
        token_file: String = String::new(), "", |_| true;
        /// Rejected records that are looked at more closely each second, for the groups of `/rejects`.
        rejects_per_s: u32 = 50, "0 to 10000", |rejects| *rejects <= 10_000;
        /// Groups of rejects that are kept; then the one that was not seen for longest is given up.
        reject_groups_max: u32 = 200, "1 to 10000", |groups| (1..=10_000).contains(groups);
    }
    /// Spans of batches, for a collector of traces. A build with the feature `otlp` can send them, others refuse the key.
    traces Traces {
        /// Where they go, by OTLP over HTTP, as in `http://127.0.0.1:4318/v1/traces`: one span for each batch that is
        /// committed, with counts and the time in each stage. What a slow collector does not take is dropped. Empty: nowhere.
        endpoint: String = String::new(), "a URL that begins with http://", |url: &String| url.is_empty() || url.starts_with("http://");
    }
    /// Candidate rules that are tried beside the live ones, without any effect on outputs.
    shadow Shadow {
        /// A configuration, from the directory of this one; of it, what decides about records is used. Empty: none.
        config: String = String::new(), "", |_| true;
        /// File that gets a line of JSON for each record that the candidate would give another verdict. Empty: none.
        report: String = String::new(), "", |_| true;
    }
}
