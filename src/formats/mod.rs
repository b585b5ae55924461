//! The formats that Tollgate knows: what a schema cannot say about them.
//!
//! A built-in format is one entry of [`FORMATS`] (name, schema, and the member names by which it is told apart) and one
//! module. The module offers `FIELDS` (the members its rules look at), `RULES` (their names, reasons, sources and
//! profiles), a type that is made from the configuration at start, and three functions on a [`Record`]: `check` (meaning,
//! in the order of the format), `authenticate` (credentials) and `facts` (what the gate needs). `custom` is the one
//! module for all formats of the user's own. Failures go to a [`Report`], so the same code serves the fast path and
//! `tollgate check`.
//!
//! Formats do no I/O and know nothing of Kafka or files; the clock is the record's `now`.

mod agh;
mod alfred;
mod bluelabel;
mod compiled;
mod custom;
mod detect;
mod expected;
mod facts;
pub(crate) mod fields;
pub mod hidden;
mod humaninloop;
pub mod labels;
mod olympus;
mod paths;
mod record;
pub(crate) mod rule;
pub mod sequence;
mod shapes;
mod unique;
mod words;

pub(crate) use compiled::program_limits;
pub use compiled::{Compiled, FormatError, Lack, compile};
pub use detect::{Claimed, Claims, Detector};
pub use facts::{
    AghMessage, AlfredMessage, Asked, Evaluator, Exchange, Facts, Lifecycle, Lineage, OlympusMessage,
    OlympusType, Sequences, WRITTEN_FILES_MAX, WorkStep, WrittenFile,
};
pub use fields::{Field, FieldTable, Fields};
pub use record::{Headers, Record};
pub use rule::{Found, Report, Rule, RuleId, RuleSet, Source};

use crate::verdict::FormatId;
use labels::LabelPointers;

/// One built-in format.
pub struct Format {
    /// Its name in headers, metrics and reports.
    pub name: &'static str,
    /// The name of its section, and that topics are bound to; two formats may share it (humaninloop has inputs and
    /// outputs).
    pub family: &'static str,
    /// Members that only this format has: any one of them claims the envelope.
    pub discriminators: &'static [&'static str],
    /// Members that every envelope of the format has.
    pub required: &'static [&'static str],
    /// Whether the format wraps its members in `envelope`, which alone decides nothing.
    pub has_envelope: bool,
    /// Whether numbers must fit a double; agh carries any number unread.
    pub bounds_numbers: bool,
    /// Its shape by the page, as JSON Schema.
    pub schema: &'static str,
    /// What the other profiles change in the schema; see `shapes.rs`.
    pub overlay: &'static str,
    /// The file that holds the schema, for errors and listings.
    pub schema_file: &'static str,
    /// What an audit tells its records apart by: sender, receiver, subject, tenant, key; and the time.
    pub labels: LabelPointers<'static>,
    /// The rules that need what came before.
    pub past: &'static [Rule],
}

macro_rules! schema_files {
    ($name:literal) => {
        (
            include_str!(concat!("../../configs/schemas/", $name, ".json")),
            include_str!(concat!("../../configs/schemas/", $name, ".profiles.json")),
            concat!("configs/schemas/", $name, ".json"),
        )
    };
}

/// The built-in formats; the first [`FormatId`]s are indexes into this list.
pub static FORMATS: &[Format] = &[
    Format {
        name: "olympus",
        family: "olympus",
        discriminators: &["protocol_message", "persona", "context_attachments", "authentication"],
        required: &["envelope", "persona", "protocol_message"],
        has_envelope: true,
        bounds_numbers: true,
        schema: schema_files!("olympus").0,
        overlay: schema_files!("olympus").1,
        schema_file: schema_files!("olympus").2,
        labels: LabelPointers {
            texts: [
                "/envelope/source_agent",
                "/envelope/target_agent",
                "/protocol_message/message_type",
                "",
                "/authentication/session_id",
            ],
            time: "/envelope/timestamp",
            millis: false,
        },
        past: sequence::OLYMPUS,
    },
    Format {
        name: "agh",
        family: "agh",
        discriminators: &["protocol", "workspace_id", "kind", "channel", "body"],
        required: &["protocol", "id", "workspace_id", "kind", "channel", "from", "ts", "body"],
        has_envelope: false,
        bounds_numbers: false,
        schema: schema_files!("agh").0,
        overlay: schema_files!("agh").1,
        schema_file: schema_files!("agh").2,
        labels: LabelPointers {
            texts: ["/from", "/to", "/kind", "/workspace_id", "/proof/key_id"],
            time: "/ts",
            millis: false,
        },
        past: sequence::AGH,
    },
    Format {
        name: "alfred",
        family: "alfred",
        discriminators: &["message"],
        required: &["envelope", "message"],
        has_envelope: true,
        bounds_numbers: true,
        schema: schema_files!("alfred").0,
        overlay: schema_files!("alfred").1,
        schema_file: schema_files!("alfred").2,
        labels: LabelPointers {
            texts: [
                "/envelope/routing/source/agent_id",
                "/envelope/routing/destination/agent_id",
                "/message/intent",
                "/envelope/security/tenant_id",
                "/envelope/security/auth_token",
            ],
            time: "/envelope/metadata/timestamp",
            millis: false,
        },
        past: sequence::ALFRED,
    },
    Format {
        name: "humaninloop-input",
        family: "humaninloop",
        discriminators: &["paths", "task", "prior_context"],
        required: &["context", "paths", "task"],
        has_envelope: false,
        bounds_numbers: true,
        schema: schema_files!("humaninloop-input").0,
        overlay: schema_files!("humaninloop-input").1,
        schema_file: schema_files!("humaninloop-input").2,
        labels: LabelPointers {
            texts: ["", "", "/task/action", "/context/feature_id", ""],
            time: "",
            millis: false,
        },
        past: sequence::HUMANINLOOP,
    },
    Format {
        name: "humaninloop-output",
        family: "humaninloop",
        discriminators: &["success", "recommendation", "artifacts"],
        required: &["success", "summary", "artifacts", "recommendation"],
        has_envelope: false,
        bounds_numbers: true,
        schema: schema_files!("humaninloop-output").0,
        overlay: schema_files!("humaninloop-output").1,
        schema_file: schema_files!("humaninloop-output").2,
        labels: LabelPointers { texts: ["", "", "/recommendation", "", ""], time: "", millis: false },
        past: sequence::HUMANINLOOP,
    },
    Format {
        name: "bluelabel",
        family: "bluelabel",
        discriminators: &["protocol_version", "sender_id", "recipient_id"],
        required: &[
            "type",
            "protocol_version",
            "sender_id",
            "recipient_id",
            "timestamp",
            "task_id",
            "payload",
        ],
        has_envelope: false,
        bounds_numbers: true,
        schema: schema_files!("bluelabel").0,
        overlay: schema_files!("bluelabel").1,
        schema_file: schema_files!("bluelabel").2,
        labels: LabelPointers {
            texts: ["/sender_id", "/recipient_id", "/type", "/context/environment", ""],
            time: "/timestamp",
            millis: false,
        },
        past: sequence::BLUELABEL,
    },
];

/// LIMIT: formats of one rule set, the user's included; a set of them is one word.
pub const FORMATS_MAX: usize = 64;

/// A set of formats, one bit each.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct FormatSet(pub(crate) u64);

impl FormatSet {
    /// The set of one format.
    #[must_use]
    pub const fn of(format: FormatId) -> Self {
        Self(1 << format.0)
    }

    /// The formats of a family, or `None` if no format has that name.
    #[must_use]
    pub fn of_family(formats: &[Compiled], family: &str) -> Option<Self> {
        let bits = formats
            .iter()
            .enumerate()
            .filter(|(_, format)| format.family() == family || format.name() == family)
            .fold(0, |bits, (index, _)| bits | 1 << index);
        (bits != 0).then_some(Self(bits))
    }

    /// The one format in the set, if it is exactly one.
    #[must_use]
    pub fn single(self) -> Option<FormatId> {
        self.0.is_power_of_two().then_some(FormatId(self.0.trailing_zeros() as u8))
    }

    /// Whether the format is in the set.
    #[must_use]
    pub const fn contains(self, format: FormatId) -> bool {
        self.0 >> format.0 & 1 == 1
    }
}

/// How the format of a record is found.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Binding {
    /// By its members.
    Auto,
    /// By its topic: only these formats.
    Pinned(FormatSet),
}
