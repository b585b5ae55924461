//! The nineteen top-level members of agh: what each must be, and where each stands in one envelope.
//!
//! One pass over the top level finds them all; the rules then ask by [`Member`]. What null, blank and surrounding white
//! space mean depends on settings and is decided here, once.

use super::grammar::is_blank;
use crate::formats::record::Record;
use crate::tape::NodeIndex;

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

macro_rules! members {
    ($($member:ident $name:literal $kind:ident $null:ident;)*) => {
        /// A known top-level member, in the order in which members are checked.
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        pub(super) enum Member {
            $($member,)*
        }

        impl Member {
            pub(super) const ALL: &'static [Self] = &[$(Self::$member,)*];

            fn named(name: &str) -> Option<Self> {
                match name {
                    $($name => Some(Self::$member),)*
                    _ => None,
                }
            }

            pub(super) fn kind(self) -> Kind {
                match self { $(Self::$member => Kind::$kind,)* }
            }

            pub(super) fn null(self) -> Null {
                match self { $(Self::$member => Null::$null,)* }
            }
        }
    };
}

members! {
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

impl Member {
    /// Whether every envelope has it.
    pub(super) fn is_required(self) -> bool {
        self.null() == Null::Refused
    }
}

/// The member of an older protocol version that is refused under any setting.
const LEGACY: &str = "interaction_id";

/// One envelope's top-level members.
#[derive(Clone, Copy)]
pub(super) struct Envelope<'a> {
    pub(super) record: Record<'a>,
    places: [Option<NodeIndex>; Member::ALL.len()],
    /// The member of an older protocol version.
    legacy: Option<NodeIndex>,
    /// Of the members that nobody knows, the one whose name sorts first.
    unknown: Option<(&'a str, NodeIndex)>,
    /// Whether identifiers count without surrounding white space, and blank optional ones as absent.
    trim: bool,
}

impl<'a> Envelope<'a> {
    /// Finds the members; of a name that stands twice the last one counts.
    pub(super) fn read(record: Record<'a>, trim: bool) -> Self {
        let mut envelope =
            Self { record, places: [None; Member::ALL.len()], legacy: None, unknown: None, trim };
        for (name, at) in record.members(ROOT) {
            match Member::named(name) {
                Some(member) => {
                    if let Some(place) = envelope.places.get_mut(member as usize) {
                        *place = Some(at);
                    }
                }
                None if name == LEGACY => envelope.legacy = Some(at),
                None if envelope.unknown.is_none_or(|(first, _)| name < first) => {
                    envelope.unknown = Some((name, at));
                }
                None => {}
            }
        }
        envelope
    }

    /// The member of an older protocol version, if it is there.
    pub(super) fn legacy(&self) -> Option<NodeIndex> {
        self.legacy
    }

    /// The first unknown member by name, so that the order of members decides nothing.
    pub(super) fn first_unknown(&self) -> Option<NodeIndex> {
        self.unknown.map(|(_, at)| at)
    }

    /// Every unknown member but the first by name, in document order.
    pub(super) fn other_unknown(&self) -> impl Iterator<Item = NodeIndex> {
        let first = self.unknown.map(|(name, _)| name);
        self.record
            .members(ROOT)
            .filter(move |(name, _)| Some(*name) != first && *name != LEGACY && Member::named(name).is_none())
            .map(|(_, at)| at)
    }

    /// The member as it stands there, null included.
    pub(super) fn node(&self, member: Member) -> Option<NodeIndex> {
        self.places.get(member as usize).copied().flatten()
    }

    /// The member unless it is absent or null.
    pub(super) fn present(&self, member: Member) -> Option<NodeIndex> {
        self.node(member).filter(|at| !self.record.is_null(*at))
    }

    /// The member if it is an object.
    pub(super) fn object(&self, member: Member) -> Option<NodeIndex> {
        self.node(member).filter(|at| self.record.is_object(*at))
    }

    /// The member's text; `None` if it is absent, null or no string.
    pub(super) fn text(&self, member: Member) -> Option<&'a str> {
        let text = self.record.text_at(self.node(member)?)?;
        if !self.trim {
            return Some(text);
        }
        // Whoever trims takes a blank optional identifier for none at all.
        if is_blank(text) && !member.is_required() { None } else { Some(text.trim()) }
    }

    /// The member's integer; `None` if it is absent, null or no plain integer.
    pub(super) fn seconds(&self, member: Member) -> Option<i64> {
        self.record.integer_at(self.node(member)?)
    }

    /// Where the member stands, or the envelope that lacks it.
    pub(super) fn place(&self, member: Member) -> NodeIndex {
        self.node(member).unwrap_or(ROOT)
    }
}

/// The document itself.
pub(super) const ROOT: NodeIndex = NodeIndex(0);
