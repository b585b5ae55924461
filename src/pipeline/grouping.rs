//! In which order the records of a batch are judged: those that begin alike one after the other.
//!
//! What begins alike is mostly of one format and one writer, so it takes the same branches and the same memory. Verdicts do
//! not depend on the order, and what was found out is put back into that of the records. It must not look at more than a
//! payload's head.
//!
//! PERF: a corpus of five formats in mixed orders of members, sorted in this way 840 records at a time before the bench, took the
//! judge 2.63 instead of 2.90 µs for a record (AMD EPYC, means of two runs of each in turn); whole audits, with the sorting, 4.44 instead
//! of 4.57 (medians of three).

use super::batch::Payloads;
use crate::formats::Facts;

/// Bytes of a payload that are looked at: brace, white space, and most of the first name.
const HEAD_BYTES: usize = 16;
/// LIMIT: records of a batch that are grouped.
const RECORDS_MAX: usize = 1 << INDEX_BITS;
const INDEX_BITS: u32 = 24;

/// The order of one batch, and memory for all.
#[derive(Default)]
pub(super) struct Grouping {
    /// What each record begins with, and its number in the lowest bits.
    order: Vec<u64>,
    /// Facts in this order.
    facts: Vec<Facts>,
    /// By record: one more than the place of its facts, if it has any; empty where the order is that of the records.
    places: Vec<u32>,
}

impl Grouping {
    /// Orders a batch. Messages stay in their own order, in which their memory is fetched ahead.
    pub(super) fn arrange(&mut self, payloads: &Payloads) {
        let len = payloads.len();
        self.order.clear();
        self.facts.clear();
        self.places.clear();
        match payloads {
            Payloads::Block(block) if len <= RECORDS_MAX => {
                let heads = block.spans.iter().map(|span| head(block.payload(span)));
                self.order.extend(heads.zip(0..).map(|(head, index)| head << INDEX_BITS | index));
                self.order.sort_unstable();
                self.places.resize(len, 0);
            }
            _ => self.order.extend(0..len as u64),
        }
    }

    /// The number of the record whose turn it is.
    pub(super) fn record(&self, turn: usize) -> Option<usize> {
        self.order.get(turn).map(|entry| (entry & (RECORDS_MAX as u64 - 1)) as usize)
    }

    /// Keeps the facts of a record.
    pub(super) fn keep(&mut self, record: usize, facts: &Facts) {
        self.facts.push(*facts);
        if let Some(place) = self.places.get_mut(record) {
            *place = self.facts.len() as u32;
        }
    }

    /// Gives all facts in the order of the records, to a list that is empty.
    pub(super) fn give(&mut self, into: &mut Vec<Facts>) {
        if self.places.is_empty() {
            return std::mem::swap(into, &mut self.facts);
        }
        let kept = self.places.iter().filter(|place| **place > 0);
        into.extend(kept.filter_map(|place| self.facts.get(*place as usize - 1)));
    }
}

/// A number for what a payload begins with, in all bits but the highest [`INDEX_BITS`].
fn head(payload: &[u8]) -> u64 {
    let mut head = [0; HEAD_BYTES];
    let len = payload.len().min(HEAD_BYTES);
    if let (Some(to), Some(from)) = (head.get_mut(..len), payload.get(..len)) {
        to.copy_from_slice(from);
    }
    let (words, _) = head.as_chunks();
    let mixed = words.iter().fold(0, |mixed: u64, word| {
        (mixed ^ u64::from_le_bytes(*word)).wrapping_mul(0x9E37_79B9_7F4A_7C15).rotate_left(29)
    });
    mixed >> INDEX_BITS
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::clock::Timestamp;
    use crate::files::{Block, FileIndex, Span};
    use crate::formats::Lifecycle;

    /// A block of these records.
    fn block(records: &[String]) -> Payloads {
        let mut spans = Vec::new();
        let mut start = 0;
        for (line, record) in (1..).zip(records) {
            let len = record.len() as u32;
            spans.push(Span { start, len, line, oversized: None });
            start += len;
        }
        let bytes = records.concat().into_bytes().into();
        Payloads::Block(Block { file: FileIndex(0), first_record: 0, bytes, spans })
    }

    #[test]
    fn every_record_has_its_turn_and_facts_come_back_in_order() {
        let heads = [r#"{"message_id":""#, r#"{"context":{"abc""#, "{", "", r#"{ "message_id":"#];
        let mut grouping = Grouping::default();
        for records in [1, 700, 3, 0] {
            let texts: Vec<_> = (0..records).map(|number| format!("{}{number}", heads[number % 5])).collect();
            grouping.arrange(&block(&texts));
            let turns: Vec<_> = (0..).map_while(|turn| grouping.record(turn)).collect();
            // Those with one long beginning stand together, in their order.
            let alike: Vec<_> = turns.iter().filter(|index| **index % 5 == 1).collect();
            assert!(alike.is_sorted() && alike.len() == (records + 3) / 5);
            let first = turns.iter().position(|index| index % 5 == 1).unwrap_or_default();
            assert!(turns[first..].iter().take(alike.len()).eq(alike));
            for index in &turns {
                let facts = Facts {
                    identity: None,
                    content: *index as u64,
                    now: None,
                    keep_until: Timestamp::from_secs(0),
                    capped: false,
                    burns: false,
                    lifecycle: Lifecycle::None,
                };
                if index % 3 != 0 {
                    grouping.keep(*index, &facts);
                }
            }
            let mut sorted = turns.clone();
            sorted.sort_unstable();
            assert!(sorted.into_iter().eq(0..records));
            let mut facts = Vec::new();
            grouping.give(&mut facts);
            let kept = (0..records as u64).filter(|index| index % 3 != 0);
            assert!(facts.iter().map(|facts| facts.content).eq(kept));
        }
    }

    #[test]
    fn what_begins_alike_has_one_number() {
        let of = |text: &str| head(text.as_bytes());
        assert_eq!(of(r#"{"message_id":"a","x":1}"#), of(r#"{"message_id":"ab"}"#));
        let others = [r#"{ "message_id":"a"}"#, r#"{"context":{}}"#, "", "{", "[]", r#"{"message_it":"a"}"#];
        let mut numbers: Vec<_> =
            others.iter().map(|text| of(text)).chain([of(r#"{"message_id":"a"}"#)]).collect();
        assert!(numbers.iter().all(|number| number >> (64 - INDEX_BITS) == 0));
        numbers.sort_unstable();
        numbers.dedup();
        assert_eq!(numbers.len(), others.len() + 1);
    }
}
