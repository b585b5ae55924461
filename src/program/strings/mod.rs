//! The keyword `format`: which strings are dates, ids, addresses.
//!
//! Each format is a checker over bytes that allocates nothing and never panics. A format that is not listed here is
//! an annotation and always passes.

mod dates;

/// A format that is asserted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Format {
    DateTime,
    Date,
    Time,
    Uuid,
}

impl Format {
    /// Every asserted format.
    pub(super) const ALL: &[Self] = &[Self::DateTime, Self::Date, Self::Time, Self::Uuid];

    /// The format with this name in schemas.
    pub(super) fn named(name: &str) -> Option<Self> {
        Self::ALL.iter().copied().find(|format| format.name() == name)
    }

    /// Its name in schemas.
    pub(super) fn name(self) -> &'static str {
        match self {
            Self::DateTime => "date-time",
            Self::Date => "date",
            Self::Time => "time",
            Self::Uuid => "uuid",
        }
    }

    /// Whether `text` is of this format.
    pub(super) fn holds(self, text: &str) -> bool {
        let bytes = text.as_bytes();
        match self {
            Self::DateTime => dates::is_date_time(bytes),
            Self::Date => dates::is_date(bytes),
            Self::Time => dates::is_time(bytes),
            Self::Uuid => is_uuid(bytes),
        }
    }
}

/// RFC 4122: 8-4-4-4-12 hex digits of either case, any version.
fn is_uuid(bytes: &[u8]) -> bool {
    bytes.len() == 36
        && bytes.iter().enumerate().all(|(at, byte)| match at {
            8 | 13 | 18 | 23 => *byte == b'-',
            _ => byte.is_ascii_hexdigit(),
        })
}

/// The number of Unicode code points.
#[inline]
pub(super) fn code_points(text: &str) -> usize {
    text.chars().count()
}
