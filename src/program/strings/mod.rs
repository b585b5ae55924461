//! The keyword `format`: which strings are dates, ids, addresses.
//!
//! Each format is a checker over bytes that never panics; all but `regex` allocate nothing. A format that is not
//! listed here is an annotation and always passes: `idn-hostname` is one, since it needs the tables of IDNA.

mod dates;
mod hosts;
mod pointers;
mod uris;

use super::patterns;

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
            pub(super) fn holds(self, text: &str) -> bool {
                match self {
                    $(Self::$variant => $holds(text),)*
                }
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
    let bytes = text.as_bytes();
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
