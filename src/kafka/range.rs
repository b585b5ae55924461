//! A range of a topic as a user writes it: `TOPIC[@FROM..TO]`, both ends in kcat's grammar and both optional.
//!
//! Only the text: what the ends mean on a broker is `bounds.rs`, reading the range is `range_reader.rs`.

use std::fmt;
use std::str::FromStr;

use crate::config::{Bound, NoBound};

/// LIMIT: Kafka's own, for the name of a topic.
const NAME_BYTES_MAX: usize = 249;

/// All partitions of a topic, from one bound up to, and without, another.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Range {
    /// The topic.
    pub topic: String,
    /// The first record of each partition.
    pub from: Bound,
    /// The record of each partition before which reading stops.
    pub to: Bound,
}

/// A text that is no range.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
pub enum NoRange {
    /// The topic's name is none.
    #[error("found topic `{0}`, allowed: up to {NAME_BYTES_MAX} letters, digits, `.`, `_` and `-`")]
    Topic(String),
    /// There is something behind the topic that has no two dots.
    #[error("found `{0}`, allowed: TOPIC or TOPIC@FROM..TO, where FROM and TO may be left out")]
    Dots(String),
    /// It ends before it begins.
    #[error("found `{0}`, allowed: an end that is not before the beginning")]
    Backwards(String),
    /// One end is no bound.
    #[error("in `{text}`")]
    Bound {
        /// The whole text.
        text: String,
        /// What is wrong with the end.
        #[source]
        cause: NoBound,
    },
}

impl FromStr for Range {
    type Err = NoRange;

    fn from_str(text: &str) -> Result<Self, NoRange> {
        let (topic, ends) = match text.split_once('@') {
            None => (text, ".."),
            Some((topic, ends)) => (topic, ends),
        };
        let is_name = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'.' | b'_' | b'-');
        let named = (1..=NAME_BYTES_MAX).contains(&topic.len()) && topic.bytes().all(is_name);
        if !named || topic == "." || topic == ".." {
            return Err(NoRange::Topic(topic.to_owned()));
        }
        let (from, to) = ends.split_once("..").ok_or_else(|| NoRange::Dots(text.to_owned()))?;
        let bound = |end: &str, otherwise: Bound| {
            let cause = |cause| NoRange::Bound { text: text.to_owned(), cause };
            if end.is_empty() { Ok(otherwise) } else { end.parse().map_err(cause) }
        };
        let (from, to) = (bound(from, Bound::Beginning)?, bound(to, Bound::End)?);
        let is_empty = match (from, to) {
            (Bound::Offset(from), Bound::Offset(to)) | (Bound::Time(from), Bound::Time(to)) => from > to,
            _ => false,
        };
        if is_empty {
            return Err(NoRange::Backwards(text.to_owned()));
        }
        Ok(Self { topic: topic.to_owned(), from, to })
    }
}

impl fmt::Display for Range {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "{}@{}..{}", self.topic, self.from, self.to)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_range_is_a_topic_with_two_ends_at_most() {
        let cases = [
            ("agents", "agents@beginning..end"),
            ("a.b-c_1@..", "a.b-c_1@beginning..end"),
            ("agents@100..", "agents@100..end"),
            ("agents@..-5", "agents@beginning..-5"),
            ("agents@s@17..e@18", "agents@s@17..s@18"),
            ("agents@stored..end", "agents@stored..end"),
        ];
        for (text, shown) in cases {
            assert_eq!(text.parse::<Range>().unwrap().to_string(), shown, "{text}");
        }
        for text in ["", "@0..1", "a b", "..", "topic@5", "topic@", "topic@now..", "topic@1..2..3"] {
            let error = text.parse::<Range>().unwrap_err();
            assert!(!error.to_string().is_empty(), "{text}");
        }
        assert!(matches!("t@5..2".parse::<Range>(), Err(NoRange::Backwards(_))));
        assert!(matches!("t@5".parse::<Range>(), Err(NoRange::Dots(_))));
        assert!(matches!("t@x..".parse::<Range>(), Err(NoRange::Bound { .. })));
    }
}
