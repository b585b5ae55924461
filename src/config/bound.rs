//! A place in a partition, in kcat's grammar: `beginning`, `end`, `stored`, an offset, `-n` for the last n, `s@ms` or
//! `e@ms` for a time. Says where reading starts or stops; what it means on a broker is `kafka/bounds.rs`.

use std::str::FromStr;

use toml::de::DeValue;

use super::read::{Place, Setting, quote};

/// A place in a partition: the first record behind it. Reading starts with that record, or stops before it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Bound {
    /// The group's committed offset; it is an error if there is none.
    #[default]
    Stored,
    /// The first record that is still there.
    Beginning,
    /// The end at the moment of asking.
    End,
    /// This offset.
    Offset(i64),
    /// So many offsets before the end (marks of transactions count), or the beginning where there are fewer.
    Last(i64),
    /// The first record at or after this time, in milliseconds since the epoch; the end where there is none.
    Time(i64),
}

/// What may stand where a bound is wanted.
const GRAMMAR: &str = "\"stored\", \"beginning\", \"end\", an offset, \"-n\" for the last n, or \"s@ms\" or \"e@ms\" for a time";

/// A text that is no bound.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
#[error("found `{0}`, allowed: {GRAMMAR}")]
pub struct NoBound(pub String);

impl FromStr for Bound {
    type Err = NoBound;

    fn from_str(text: &str) -> Result<Self, NoBound> {
        // `parse` alone would take a sign.
        let number = |digits: &str| {
            let plain = !digits.is_empty() && digits.bytes().all(|byte| byte.is_ascii_digit());
            digits.parse::<i64>().ok().filter(|_| plain)
        };
        let time = text.strip_prefix("s@").or_else(|| text.strip_prefix("e@"));
        let bound = match (text, time, text.strip_prefix('-')) {
            ("stored", ..) => Some(Self::Stored),
            ("beginning", ..) => Some(Self::Beginning),
            ("end", ..) => Some(Self::End),
            (_, Some(millis), _) => number(millis).map(Self::Time),
            (_, None, Some(count)) => number(count).map(Self::Last),
            (_, None, None) => number(text).map(Self::Offset),
        };
        bound.ok_or_else(|| NoBound(text.to_owned()))
    }
}

impl std::fmt::Display for Bound {
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

impl Setting for Bound {
    const KIND: &'static str = GRAMMAR;
    fn read(value: &DeValue<'_>, place: &mut Place<'_>) -> Option<Self> {
        place.fill_in(value.as_str()?)?.parse().ok()
    }
    fn show(&self) -> String {
        quote(&self.to_string())
    }
}

/// A bound that may be absent: the empty text.
impl Setting for Option<Bound> {
    const KIND: &'static str = "\"\" for none, \"stored\", \"beginning\", \"end\", an offset, \"-n\" for the last n, or \"s@ms\" or \"e@ms\" for a time";
    fn read(value: &DeValue<'_>, place: &mut Place<'_>) -> Option<Self> {
        match place.fill_in(value.as_str()?)?.as_str() {
            "" => Some(None),
            text => text.parse().ok().map(Some),
        }
    }
    fn show(&self) -> String {
        quote(&self.map(|bound| bound.to_string()).unwrap_or_default())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_grammar_is_that_of_kcat() {
        let cases = [
            ("stored", Bound::Stored),
            ("beginning", Bound::Beginning),
            ("end", Bound::End),
            ("0", Bound::Offset(0)),
            ("123456789012", Bound::Offset(123_456_789_012)),
            ("-10", Bound::Last(10)),
            ("s@1700000000000", Bound::Time(1_700_000_000_000)),
        ];
        for (text, bound) in cases {
            assert_eq!(text.parse(), Ok(bound), "{text}");
            assert_eq!(bound.to_string(), text);
        }
        assert_eq!("e@17".parse(), Ok(Bound::Time(17)), "a stop is written so; the place is the same");
        for text in ["", "now", "--1", "s@", "s@-1", "s@+1", "e@", "+1", "1.5", "99999999999999999999"] {
            let error = text.parse::<Bound>().unwrap_err().to_string();
            assert!(error.contains(&format!("`{text}`")) && error.contains("beginning"), "{error}");
        }
    }
}
