//! The nineteen top-level members of agh: what each must be, and where each stands in one envelope.
//!
//! One pass over the top level finds them all; the rules then ask by [`Field`]. What null, blank and surrounding white
//! space mean depends on settings and is decided here, once.

use super::grammar::is_blank;
use crate::formats::values::Value;

/// What a member must be.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    Text,
    Seconds,
    Object,
}

/// What null means.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Null {
    /// The member is required: null is a wrong type.
    Refused,
    /// The page types it "or null": null means absent.
    Absent,
    /// Optional, but the page's type has no null; RFC 003 senders use it, so that a setting decides.
    BySetting,
}

macro_rules! fields {
    ($($field:ident $name:literal $kind:ident $null:ident;)*) => {
        /// A known top-level member, in the order in which members are checked.
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        pub(super) enum Field {
            $($field,)*
        }

        impl Field {
            pub(super) const ALL: &'static [Self] = &[$(Self::$field,)*];

            fn named(name: &str) -> Option<Self> {
                match name {
                    $($name => Some(Self::$field),)*
                    _ => None,
                }
            }

            pub(super) fn kind(self) -> Kind {
                match self { $(Self::$field => Kind::$kind,)* }
            }

            pub(super) fn null(self) -> Null {
                match self { $(Self::$field => Null::$null,)* }
            }
        }
    };
}

fields! {
    Protocol "protocol" Text Refused;
    Id "id" Text Refused;
    WorkspaceId "workspace_id" Text Refused;
    Kind "kind" Text Refused;
    Channel "channel" Text Refused;
    Surface "surface" Text Absent;
    ThreadId "thread_id" Text Absent;
    DirectId "direct_id" Text Absent;
    From "from" Text Refused;
    To "to" Text Absent;
    WorkId "work_id" Text Absent;
    ReplyTo "reply_to" Text BySetting;
    TraceId "trace_id" Text BySetting;
    CausationId "causation_id" Text BySetting;
    Ts "ts" Seconds Refused;
    ExpiresAt "expires_at" Seconds BySetting;
    Body "body" Object Refused;
    Proof "proof" Object Absent;
    Ext "ext" Object BySetting;
}

impl Field {
    /// Whether every envelope has it.
    pub(super) fn is_required(self) -> bool {
        self.null() == Null::Refused
    }
}

/// The member of an older protocol version that is refused under any setting.
const LEGACY: &str = "interaction_id";

/// One envelope's top-level members.
#[derive(Clone, Copy, Debug)]
pub(super) struct Envelope<'a> {
    root: Value<'a>,
    values: [Option<Value<'a>>; Field::ALL.len()],
    /// The member of an older protocol version.
    legacy: Option<Value<'a>>,
    /// Of the members that nobody knows, the one whose name sorts first.
    unknown: Option<(&'a str, Value<'a>)>,
    /// Whether identifiers count without surrounding white space, and blank optional ones as absent.
    trim: bool,
}

impl<'a> Envelope<'a> {
    /// Finds the members; of a name that stands twice the last one counts.
    pub(super) fn read(root: Value<'a>, trim: bool) -> Self {
        let mut envelope =
            Self { root, values: [None; Field::ALL.len()], legacy: None, unknown: None, trim };
        for (name, value) in root.members() {
            match Field::named(name) {
                Some(field) => {
                    if let Some(slot) = envelope.values.get_mut(field as usize) {
                        *slot = Some(value);
                    }
                }
                None if name == LEGACY => envelope.legacy = Some(value),
                None => {
                    if envelope.unknown.is_none_or(|(first, _)| name < first) {
                        envelope.unknown = Some((name, value));
                    }
                }
            }
        }
        envelope
    }

    /// The whole document.
    pub(super) fn root(&self) -> Value<'a> {
        self.root
    }

    /// The member of an older protocol version, if it is there.
    pub(super) fn legacy(&self) -> Option<Value<'a>> {
        self.legacy
    }

    /// The first unknown member by name, so that the order of members decides nothing.
    pub(super) fn first_unknown(&self) -> Option<Value<'a>> {
        self.unknown.map(|(_, value)| value)
    }

    /// Every unknown member but the first by name, in document order.
    pub(super) fn other_unknown(&self) -> impl Iterator<Item = Value<'a>> {
        let first = self.unknown.map(|(name, _)| name);
        self.root
            .members()
            .filter(move |(name, _)| {
                Some(*name) != first && *name != LEGACY && Field::named(name).is_none()
            })
            .map(|(_, value)| value)
    }

    /// The member as it stands there, null included.
    pub(super) fn raw(&self, field: Field) -> Option<Value<'a>> {
        self.values.get(field as usize).copied().flatten()
    }

    /// The member unless it is absent or null.
    pub(super) fn present(&self, field: Field) -> Option<Value<'a>> {
        self.raw(field).filter(|value| !value.is_null())
    }

    /// The member's text; `None` if it is absent, null or no string.
    pub(super) fn text(&self, field: Field) -> Option<&'a str> {
        let text = self.present(field)?.text()?;
        if !self.trim {
            return Some(text);
        }
        // Whoever trims takes a blank optional identifier for none at all.
        if is_blank(text) && !field.is_required() { None } else { Some(text.trim()) }
    }

    /// The member's integer; `None` if it is absent, null or no plain integer.
    pub(super) fn seconds(&self, field: Field) -> Option<i64> {
        self.present(field)?.integer()
    }

    /// Where the member stands, or the envelope that lacks it.
    pub(super) fn place(&self, field: Field) -> crate::tape::NodeIndex {
        self.raw(field).unwrap_or(self.root).at()
    }
}
