//! What is counted of records that are rejected or warned of: the rare ones, which may cost a little more.

use std::sync::Arc;

use super::places::Question;
use super::shown::{NONE, kid_of, label, text_at};
use super::table::both;
use super::tally::{Kept, Repeat, Seen, Tallies, joined};
use crate::formats::labels::{Label, LabelKind};
use crate::judge::Input;
use crate::verdict::{Reason, Step};

/// LIMIT: examples of one reason and format; of rows of one table, which have one each.
const EXAMPLES_PER_REASON: u64 = 3;
const ROW_EXAMPLES_MAX: usize = 1000;
/// LIMIT: repetitions that are listed with both places.
const REPEATS_MAX: usize = 1000;
/// LIMIT: bytes of a token in which its head is looked for.
const TOKEN_BYTES_MAX: usize = 4096;

impl Tallies {
    pub(super) fn rejected(&mut self, seen: &Seen<'_>, reason: Reason, column: usize) {
        let count = counted(&mut self.reasons, reason, column);
        if matches!(reason, Reason::Duplicate | Reason::IdConflict) {
            self.repeated(seen, reason);
        }
        let example = self.keep_example(seen, reason, (0, count));
        let sender = seen.labels.text(LabelKind::Sender);
        if sender.is_there() {
            self.by_sender(seen, reason, sender, example.clone());
        }
        if reason.step() == Step::Credentials {
            self.failed_signature(seen, reason, example);
        }
        if reason == Reason::UnregisteredAgent {
            self.unknown_agent(seen);
        }
    }

    pub(super) fn warned(&mut self, seen: &Seen<'_>, reason: Reason, column: usize) {
        let count = counted(&mut self.warnings, reason, column);
        if matches!(reason, Reason::Duplicate | Reason::IdConflict) {
            self.repeated(seen, reason);
        }
        self.keep_example(seen, reason, (1, count));
    }

    fn repeated(&mut self, seen: &Seen<'_>, reason: Reason) {
        if let Some(input) = self.inputs.get_mut(seen.place.input as usize) {
            self.bursts.add(&mut input.run, input.records, seen.place);
        }
        if self.repeats.len() < REPEATS_MAX {
            let sender = seen.labels.text(LabelKind::Sender);
            let sender = sender.is_there().then(|| text_at(seen.bytes, sender.start).into_boxed_str());
            let format = seen.outcome.verdict.format.map(|format| format.0);
            let first = self.ask_first(seen);
            self.repeats.push(Repeat { reason, sender, format, first, again: seen.place });
        }
    }

    /// Asks where a record's identity was before.
    fn ask_first(&mut self, seen: &Seen<'_>) -> Option<Question> {
        seen.facts.and_then(|facts| facts.identity).map(|identity| self.places.ask(identity, seen.place))
    }

    /// The first records of each reason and format are shown; gives the example, if one was made. `count` is how many
    /// there were of them, this one among them.
    fn keep_example(&mut self, seen: &Seen<'_>, reason: Reason, (list, count): (usize, u64)) -> Option<Kept> {
        // PERF: nobody looks for the list of examples once it is full.
        if count > EXAMPLES_PER_REASON {
            return None;
        }
        let key = (reason, seen.outcome.verdict.format.map(|format| format.0));
        let example = self.example(seen);
        if let Some(list) = self.examples.get_mut(list) {
            list.entry(key).or_default().push(example.clone());
        }
        Some(example)
    }

    fn by_sender(&mut self, seen: &Seen<'_>, reason: Reason, sender: Label, made: Option<Kept>) {
        let key = both(sender.hash, reason as u64);
        let text = || joined(&[&text_at(seen.bytes, sender.start), reason.code()]);
        let row = self.sender_reasons.add(key, text);
        row.span.get_or_insert((seen.place, seen.place)).1 = seen.place;
        if row.examples.is_empty() && self.sender_examples < ROW_EXAMPLES_MAX {
            self.sender_examples += 1;
            let example = made.unwrap_or_else(|| self.example(seen));
            self.sender_reasons.more_mut(key, |row| row.examples.push(example));
        }
    }

    fn failed_signature(&mut self, seen: &Seen<'_>, reason: Reason, made: Option<Kept>) {
        let sender = seen.labels.text(LabelKind::Sender);
        let format = seen.outcome.verdict.format.and_then(|id| self.rules.format(id));
        let key_at = format
            .and_then(|format| format.labels().texts.get(LabelKind::Key as usize).copied())
            .unwrap_or_default();
        let is_token = format.is_some_and(|format| format.hides(key_at));
        // A token names its own key, not that of another credential of the record.
        let is_other = is_token && seen.batch.pointer(seen.outcome) != key_at.as_bytes();
        let key = if is_other { Label::default() } else { seen.labels.text(LabelKind::Key) };
        // Tokens are many, their keys few.
        let kid = (is_token && key.is_there())
            .then(|| kid_of(head_of_token(seen.bytes, key.start), &mut self.parser));
        let hash_of = |kid: &Option<String>| {
            kid.as_deref().unwrap_or_default().bytes().fold(1, |hash, byte| both(hash, u64::from(byte)))
        };
        let key_hash = both(kid.as_ref().map_or(key.hash, hash_of), reason as u64);
        let text = || {
            let text = |label: Label| {
                if label.is_there() { text_at(seen.bytes, label.start) } else { NONE.to_owned() }
            };
            let key_text = match &kid {
                Some(Some(kid)) => format!("kid {}", label(kid)),
                Some(None) => "token without a readable key id".to_owned(),
                None => text(key),
            };
            joined(&[&text(sender), &key_text, reason.code()])
        };
        let row_key = both(sender.hash, key_hash);
        let row = self.signatures.add(row_key, text);
        row.span.get_or_insert((seen.place, seen.place)).1 = seen.place;
        if row.examples.is_empty() && self.signature_examples < ROW_EXAMPLES_MAX {
            self.signature_examples += 1;
            let example = made.unwrap_or_else(|| self.example(seen));
            self.signatures.more_mut(row_key, |row| row.examples.push(example));
        }
    }

    /// The agent that the verdict points at: the receiver, if it stands there, else the sender.
    fn unknown_agent(&mut self, seen: &Seen<'_>) {
        let pointer = seen.batch.pointer(seen.outcome);
        let format = seen.outcome.verdict.format.and_then(|id| self.rules.format(id));
        let receiver_at = format.map_or("", |format| {
            format.labels().texts.get(LabelKind::Receiver as usize).copied().unwrap_or_default()
        });
        let is_receiver = !receiver_at.is_empty() && pointer == receiver_at.as_bytes();
        let kind = if is_receiver { LabelKind::Receiver } else { LabelKind::Sender };
        let agent = seen.labels.text(kind);
        if agent.is_there() {
            let role = if is_receiver { "receiver" } else { "sender" };
            let text = || joined(&[&text_at(seen.bytes, agent.start), role]);
            let row = self.unknown_agents.add(both(agent.hash, u64::from(is_receiver)), text);
            row.span.get_or_insert((seen.place, seen.place)).1 = seen.place;
        }
    }

    fn example(&mut self, seen: &Seen<'_>) -> Kept {
        let Seen { batch, index, payload, outcome, .. } = seen;
        let key = batch.payloads.key(*index).or(batch.key.as_deref());
        let input = Input { payload: *payload, key, now: batch.now };
        let place = self.place(seen.place);
        let rules = Arc::clone(&self.rules);
        let mut example = self.explainer.example(&rules, batch.binding, input, outcome.verdict, place);
        let sender = seen.labels.text(LabelKind::Sender);
        example.sender = sender.is_there().then(|| text_at(seen.bytes, sender.start));
        Kept { example, first: self.ask_first(seen) }
    }
}

/// One more of a reason and format; gives how many there are now.
fn counted(counts: &mut [Vec<u64>], reason: Reason, column: usize) -> u64 {
    let Some(count) = counts.get_mut(reason as usize).and_then(|row| row.get_mut(column)) else { return 0 };
    *count += 1;
    *count
}

/// A token of a payload up to its first dot, or to its closing quote; only for what is decoded, never for what is shown.
fn head_of_token(bytes: &[u8], start: u32) -> &[u8] {
    let raw = bytes.get(start as usize..).unwrap_or_default();
    let raw = raw.get(..TOKEN_BYTES_MAX).unwrap_or(raw);
    raw.get(..memchr::memchr2(b'.', b'"', raw).unwrap_or_default()).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_head_of_a_token_ends_at_a_dot_or_at_its_quote() {
        let payload = br#"{"a":"head.body.tag","b":"nodot","c":1}"#;
        assert_eq!(head_of_token(payload, 6), b"head");
        assert_eq!(head_of_token(payload, 26), b"nodot");
        assert_eq!(head_of_token(payload, 1000), b"");
        assert_eq!(head_of_token(&[b'x'; 3 * TOKEN_BYTES_MAX], 0), b"", "no end in sight");
    }

    #[test]
    fn counts_of_a_reason_are_told_from_one_on() {
        let mut counts = vec![vec![0; 2]; Reason::ALL.len() + 1];
        assert_eq!([0, 1, 1].map(|column| counted(&mut counts, Reason::Schema, column)), [1, 1, 2]);
        assert_eq!(counted(&mut counts, Reason::Schema, 2), 0, "there is no such format");
    }
}
