//! The formats that Tollgate knows: what a schema cannot say about them.
//!
//! A format is one entry of [`FORMATS`]: its name, its schema, and the member names by which it is told apart. A
//! further format is one schema, one entry here and one folder of fixtures. Formats do no I/O and know nothing of
//! Kafka or files.

mod detect;

pub use detect::{Claimed, Claims, Detector};

use crate::verdict::FormatId;

/// One built-in format.
pub struct Format {
    /// Its name in configuration, headers, metrics and reports.
    pub name: &'static str,
    /// The name that topics are bound to; two formats may share it (humaninloop has inputs and outputs).
    pub family: &'static str,
    /// Members that only this format has: any one of them claims the envelope.
    pub discriminators: &'static [&'static str],
    /// Members that every envelope of the format has.
    pub required: &'static [&'static str],
    /// Whether the format wraps its members in `envelope`, which alone decides nothing.
    pub has_envelope: bool,
    /// Whether numbers must fit a double; agh carries any number unread.
    pub bounds_numbers: bool,
    /// Its shape, as JSON Schema.
    pub schema: &'static str,
    /// The file that holds the schema, for errors and listings.
    pub schema_file: &'static str,
}

/// The built-in formats; a [`FormatId`] is an index into this list.
pub static FORMATS: &[Format] = &[
    Format {
        name: "olympus",
        family: "olympus",
        discriminators: &["protocol_message", "persona", "context_attachments", "authentication"],
        required: &["envelope", "persona", "protocol_message"],
        has_envelope: true,
        bounds_numbers: true,
        schema: include_str!("../../configs/schemas/olympus.json"),
        schema_file: "configs/schemas/olympus.json",
    },
    Format {
        name: "agh",
        family: "agh",
        discriminators: &["protocol", "workspace_id", "kind", "channel", "body"],
        required: &["protocol", "id", "workspace_id", "kind", "channel", "from", "ts", "body"],
        has_envelope: false,
        bounds_numbers: false,
        schema: include_str!("../../configs/schemas/agh.json"),
        schema_file: "configs/schemas/agh.json",
    },
    Format {
        name: "alfred",
        family: "alfred",
        discriminators: &["message"],
        required: &["envelope", "message"],
        has_envelope: true,
        bounds_numbers: true,
        schema: include_str!("../../configs/schemas/alfred.json"),
        schema_file: "configs/schemas/alfred.json",
    },
    Format {
        name: "humaninloop-input",
        family: "humaninloop",
        discriminators: &["paths", "task", "prior_context"],
        required: &["context", "paths", "task"],
        has_envelope: false,
        bounds_numbers: true,
        schema: include_str!("../../configs/schemas/humaninloop-input.json"),
        schema_file: "configs/schemas/humaninloop-input.json",
    },
    Format {
        name: "humaninloop-output",
        family: "humaninloop",
        discriminators: &["success", "recommendation", "artifacts"],
        required: &["success", "summary", "artifacts", "recommendation"],
        has_envelope: false,
        bounds_numbers: true,
        schema: include_str!("../../configs/schemas/humaninloop-output.json"),
        schema_file: "configs/schemas/humaninloop-output.json",
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
        schema: include_str!("../../configs/schemas/bluelabel.json"),
        schema_file: "configs/schemas/bluelabel.json",
    },
];

const _: () = assert!(FORMATS.len() <= 8, "a set of formats is one byte");

/// A set of formats, one bit each.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct FormatSet(pub(crate) u8);

impl FormatSet {
    /// The formats of a family, or `None` if no format has that name.
    #[must_use]
    pub fn of_family(family: &str) -> Option<Self> {
        let bits = FORMATS
            .iter()
            .enumerate()
            .filter(|(_, format)| format.family == family || format.name == family)
            .fold(0, |bits, (index, _)| bits | 1 << index);
        (bits != 0).then_some(Self(bits))
    }

    /// The one format in the set, if it is exactly one.
    #[must_use]
    pub fn single(self) -> Option<FormatId> {
        self.0.is_power_of_two().then_some(FormatId(self.0.trailing_zeros() as u8))
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

impl Binding {
    /// `auto`, or a format's or family's name.
    #[must_use]
    pub fn from_name(name: &str) -> Option<Self> {
        if name == "auto" { Some(Self::Auto) } else { FormatSet::of_family(name).map(Self::Pinned) }
    }

    /// What [`Self::from_name`] takes, for error texts.
    #[must_use]
    pub fn names() -> String {
        let mut names = vec!["auto"];
        for format in FORMATS {
            if !names.contains(&format.family) {
                names.push(format.family);
            }
        }
        names.join(", ")
    }
}

/// The name of a format.
#[must_use]
pub fn name(id: FormatId) -> &'static str {
    FORMATS.get(usize::from(id.0)).map_or("?", |format| format.name)
}

/// Whether numbers beyond a double's range are refused; agh carries any number.
#[must_use]
pub fn bounds_numbers(id: FormatId) -> bool {
    FORMATS.get(usize::from(id.0)).is_none_or(|format| format.bounds_numbers)
}
