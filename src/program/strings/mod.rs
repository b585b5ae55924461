//! The keyword `format`: which strings are dates, ids, addresses.
//!
//! Each format is a checker over bytes that never panics; all but `regex` allocate nothing. A format that is not
//! listed here is an annotation and always passes: `idn-hostname` is one, since it needs the tables of IDNA.

mod dates;
mod hosts;
mod pointers;
mod uris;

use std::sync::LazyLock;

use super::patterns;
use super::positions::Positions;

macro_rules! formats {
    ($($variant:ident $name:literal $holds:expr;)*) => {
        /// A format that is asserted.
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        pub(super) enum Format {
            $($variant,)*
        }

        impl Format {
            /// The format with this name in schemas.
            pub(super) fn named(name: &str) -> Option<Self> {
                match name {
                    $($name => Some(Self::$variant),)*
                    _ => None,
                }
            }

            /// Whether `text` is of this format.
            ///
            /// PERF: through a table, so that whoever asks needs no stack for the sake of the checkers.
            #[inline]
            pub(super) fn holds(self, text: &str) -> bool {
                const CHECKERS: &[fn(&str) -> bool] = &[$($holds,)*];
                CHECKERS.get(self as usize).is_some_and(|holds| holds(text))
            }
        }
    };
}

formats! {
    DateTime "date-time" dates::is_date_time;
    Date "date" dates::is_date;
    Time "time" dates::is_time;
    Duration "duration" dates::is_duration;
    Uuid "uuid" is_uuid;
    Uri "uri" uris::is_uri;
    UriReference "uri-reference" uris::is_uri_reference;
    Iri "iri" uris::is_iri;
    IriReference "iri-reference" uris::is_iri_reference;
    UriTemplate "uri-template" uris::is_uri_template;
    Email "email" hosts::is_email;
    IdnEmail "idn-email" hosts::is_idn_email;
    Hostname "hostname" hosts::is_hostname;
    Ipv4 "ipv4" hosts::is_ipv4;
    Ipv6 "ipv6" hosts::is_ipv6;
    JsonPointer "json-pointer" pointers::is_json_pointer;
    RelativeJsonPointer "relative-json-pointer" pointers::is_relative_json_pointer;
    Regex "regex" patterns::is_regex;
}

/// RFC 4122: 8-4-4-4-12 hex digits of either case, any version.
fn is_uuid(text: &str) -> bool {
    static POSITIONS: LazyLock<Option<Positions>> = LazyLock::new(|| {
        let sets: [[bool; 256]; 36] = std::array::from_fn(|at| match at {
            8 | 13 | 18 | 23 => std::array::from_fn(|byte| byte == usize::from(b'-')),
            _ => std::array::from_fn(|byte| (byte as u8).is_ascii_hexdigit()),
        });
        Positions::new(&sets)
    });
    POSITIONS.as_ref().is_some_and(|positions| positions.fit(text.as_bytes()))
}

/// The number of Unicode code points. PERF: out of line, so that checks of lengths need no stack where bytes decide.
#[inline(never)]
pub(super) fn code_points(text: &str) -> usize {
    text.chars().count()
}
