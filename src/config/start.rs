//! Where to start in a partition that has no committed offset, in kcat's grammar: `beginning`, `end`, `stored`, an
//! offset, `-n` for the last n, `s@ms` for a time. What it means on a broker is `kafka/start.rs`.

use std::str::FromStr;

use toml::de::DeValue;

use super::read::{Place, Setting, quote};

/// Where to start without a committed offset.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Start {
    /// Nowhere: it is an error if nothing is stored.
    #[default]
    Stored,
    /// The first record that is still there.
    Beginning,
    /// Records that come from now on.
    End,
    /// This offset.
    Offset(i64),
    /// So many records before the end, or all where there are fewer.
    Last(i64),
    /// The first record at or after this time, in milliseconds since the epoch; the end where there is none.
    Time(i64),
}

/// A text that says no start.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "`{0}` is no start; write `stored`, `beginning`, `end`, an offset, `-n` for the last n records, or `s@ms`"
)]
pub struct NoStart(pub String);

impl FromStr for Start {
    type Err = NoStart;

    fn from_str(text: &str) -> Result<Self, NoStart> {
        let number = |digits: &str| digits.parse::<u32>().map(i64::from).or_else(|_| digits.parse::<i64>());
        let parsed = match text {
            "stored" => Some(Self::Stored),
            "beginning" => Some(Self::Beginning),
            "end" => Some(Self::End),
            _ => match (text.strip_prefix("s@"), text.strip_prefix('-')) {
                (Some(millis), _) => number(millis).ok().map(Self::Time),
                (None, Some(count)) => number(count).ok().map(Self::Last),
                (None, None) => number(text).ok().map(Self::Offset),
            },
        };
        let valid =
            |start: &Self| !matches!(start, Self::Offset(n) | Self::Last(n) | Self::Time(n) if *n < 0);
        parsed.filter(valid).ok_or_else(|| NoStart(text.to_owned()))
    }
}

impl std::fmt::Display for Start {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Stored => f.write_str("stored"),
            Self::Beginning => f.write_str("beginning"),
            Self::End => f.write_str("end"),
            Self::Offset(offset) => write!(f, "{offset}"),
            Self::Last(count) => write!(f, "-{count}"),
            Self::Time(millis) => write!(f, "s@{millis}"),
        }
    }
}

impl Setting for Start {
    const KIND: &'static str =
        "\"stored\", \"beginning\", \"end\", an offset, \"-n\" for the last n, or \"s@ms\" for a time";
    fn read(value: &DeValue<'_>, place: &mut Place<'_>) -> Option<Self> {
        place.fill_in(value.as_str()?)?.parse().ok()
    }
    fn show(&self) -> String {
        quote(&self.to_string())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_grammar_is_that_of_kcat() {
        let cases = [
            ("stored", Start::Stored),
            ("beginning", Start::Beginning),
            ("end", Start::End),
            ("0", Start::Offset(0)),
            ("123456789012", Start::Offset(123_456_789_012)),
            ("-10", Start::Last(10)),
            ("s@1700000000000", Start::Time(1_700_000_000_000)),
        ];
        for (text, start) in cases {
            assert_eq!(text.parse(), Ok(start), "{text}");
        }
        for text in ["", "now", "--1", "s@", "s@-1", "e@1", "1.5"] {
            assert!(text.parse::<Start>().is_err(), "{text}");
        }
    }
}
