//! Everything that an audit counts, in bounded memory, in the order of reading.
//!
//! [`Tallies::add`] takes batches as they come from the gate: one thread, in the reader's order, so that every count,
//! sketch and example is the same with any number of workers. The usual record costs a handful of look-ups by hashes that
//! its worker made; texts are made when a key is new, examples for the first few records of each kind.

use std::collections::HashMap;
use std::hash::{BuildHasher as _, RandomState};
use std::sync::Arc;

use foldhash::fast::FixedState;

use super::bursts::{Bursts, Run};
use super::drift::Shapes;
use super::evidence::Chain;
use super::examples::{Example, Explainer};
use super::places::{Place, Places, Question};
use super::shown::text_at;
use super::skew::{Deviation, Deviations, Reference};
use super::spread::Spread;
use super::table::{Table, both};
use crate::formats::labels::{Label, LabelKind, Labels};
use crate::formats::{Exchange, Facts, Lifecycle, WorkStep};
use crate::judge::{Payload, Rules};
use crate::kafka::{Message, RecordTime};
use crate::pipeline::batch::{Batch, Outcome, Partition, Payloads};
use crate::tape::Parser;
use crate::verdict::{Reason, Verdict};

/// LIMIT: keys of each table that are counted exactly; beyond it the heavy ones stay, with a stated error.
pub const KEYS_MAX: usize = 64 * 1024;
/// LIMIT: hours that are told apart, a little more than two years.
const HOURS_MAX: usize = 20_000;
/// The hours of the years 1 to 9999, those that a date-time can say.
const HOURS: std::ops::RangeInclusive<i64> = -17_259_888..=70_389_527;

/// What is counted of a key besides its records.
#[derive(Debug, Default)]
pub struct Counts {
    /// Rejected records.
    pub rejected: u64,
    /// Payload bytes.
    pub bytes: u64,
    /// First and last place.
    pub span: Option<(Place, Place)>,
}

impl Counts {
    fn add(&mut self, at: Place, bytes: u64, verdict: Verdict) {
        self.rejected += u64::from(!verdict.is_accept());
        self.bytes += bytes;
        self.span.get_or_insert((at, at)).1 = at;
    }
}

/// What is counted of a sender.
#[derive(Debug, Default)]
pub struct SenderCounts {
    /// As of any key.
    pub counts: Counts,
    /// How far its clock is off.
    pub deviations: Deviations,
}

/// What is counted of rejects with one key.
#[derive(Debug, Default)]
pub struct RejectCounts {
    /// First and last place.
    pub span: Option<(Place, Place)>,
    /// Some of them.
    pub examples: Vec<Kept>,
}

/// An example, and the question where its identity was first.
#[derive(Clone, Debug)]
pub struct Kept {
    pub(super) example: Example,
    pub(super) first: Option<Question>,
}

/// One input, as far as it has come.
pub struct InputTally {
    /// Path, or topic and partition.
    pub name: Arc<str>,
    /// Whether it is a partition.
    pub is_partition: bool,
    /// The digests.
    pub chain: Chain,
    /// Records.
    pub records: u64,
    /// Of them rejected.
    pub rejected: u64,
    /// Payload bytes.
    pub bytes: u64,
    /// First and last position.
    pub span: Option<(u64, u64)>,
    reference: Reference,
    pub(super) run: Run,
}

/// A repetition with both places.
#[derive(Clone, Debug)]
pub struct Repeat {
    /// `Duplicate` or `IdConflict`.
    pub reason: Reason,
    /// The sender.
    pub sender: Option<Box<str>>,
    /// The format.
    pub format: Option<u8>,
    /// The question where the identity was first.
    pub(super) first: Option<Question>,
    /// Where it is again.
    pub again: Place,
}

/// Examples by reason and format.
pub type ExamplesByReason = HashMap<(Reason, Option<u8>), Vec<Kept>>;

/// Records of one hour.
#[derive(Clone, Copy, Debug, Default)]
pub struct HourTally {
    /// All.
    pub records: u64,
    /// Rejected ones.
    pub rejected: u64,
}

/// Everything.
pub struct Tallies {
    pub(super) rules: Arc<Rules>,
    names: Vec<Arc<str>>,
    /// The inputs that records came from, in the order in which they began.
    pub inputs: Vec<InputTally>,
    input_of: HashMap<Partition, u32>,
    /// By verdict.
    pub verdicts: crate::pipeline::Tally,
    /// Records, rejects and bytes by format; one more for records without one.
    pub formats: Vec<[u64; 3]>,
    /// Rejects by reason, then format; the last column has no format.
    pub reasons: Vec<Vec<u64>>,
    /// Accepted records that break a rule which only warns, by reason and format.
    pub warnings: Vec<Vec<u64>>,
    /// Accepted records without effect.
    pub ignored: u64,
    /// Examples by reason; of warnings in the second list.
    pub examples: [ExamplesByReason; 2],
    /// By sender.
    pub senders: Table<SenderCounts>,
    /// By sender and receiver.
    pub pairs: Table<Counts>,
    /// By subject.
    pub subjects: Table<Counts>,
    /// By tenant.
    pub tenants: Table<Counts>,
    /// Rejects by sender and reason.
    pub sender_reasons: Table<RejectCounts>,
    /// Failed credentials by sender, key and reason.
    pub signatures: Table<RejectCounts>,
    /// Agents that no registry knows.
    pub unknown_agents: Table<RejectCounts>,
    /// Examples that rows of the tables have.
    pub(super) sender_examples: usize,
    pub(super) signature_examples: usize,
    /// By hour of sending.
    pub hours: HashMap<i64, HourTally, FixedState>,
    /// Records of hours past the limit.
    pub hours_others: u64,
    /// Records without a time, or with one that no date-time can say.
    pub without_time: u64,
    /// Payload bytes.
    pub sizes: Spread,
    /// From sending to the log's stamp, in milliseconds.
    pub latency: Spread,
    /// Records that were sent after they were logged, by their own account.
    pub latency_negative: u64,
    /// Whether stamps are the broker's, and whether any are the producer's.
    pub stamps: [bool; 2],
    /// First places of identities.
    pub places: Places,
    /// Some repetitions.
    pub repeats: Vec<Repeat>,
    /// Bursts of them.
    pub bursts: Bursts,
    /// Sets of members.
    pub shapes: Shapes,
    pub(super) parser: Parser,
    pub(super) explainer: Explainer,
}

/// What a sender's clock is compared by, in microseconds.
#[derive(Clone, Copy)]
enum Time {
    /// The log has a stamp: by so much it is off.
    Off(i64),
    /// The log has none: the time of sending, for its neighbours.
    Sent(i64),
}

/// One record on its way through the tallies.
pub(super) struct Seen<'b> {
    pub(super) batch: &'b Batch,
    pub(super) index: usize,
    pub(super) place: Place,
    pub(super) payload: Payload<'b>,
    pub(super) bytes: &'b [u8],
    pub(super) labels: &'b Labels,
    pub(super) outcome: Outcome,
    pub(super) facts: Option<&'b Facts>,
}

impl Tallies {
    /// Nothing was seen yet. `names` are those of the files, by their numbers.
    #[must_use]
    pub fn new(rules: Arc<Rules>, names: &[String]) -> Self {
        let formats = rules.formats().len() + 1;
        let by_reason = || vec![vec![0; formats]; Reason::ALL.len() + 1];
        Self {
            names: names.iter().map(|name| super::shown::shown(name, NAME_CHARS_MAX).into()).collect(),
            inputs: Vec::new(),
            input_of: HashMap::new(),
            verdicts: crate::pipeline::Tally::default(),
            formats: vec![[0; 3]; formats],
            reasons: by_reason(),
            warnings: by_reason(),
            ignored: 0,
            examples: [HashMap::new(), HashMap::new()],
            senders: Table::new(KEYS_MAX),
            pairs: Table::new(KEYS_MAX),
            subjects: Table::new(KEYS_MAX),
            tenants: Table::new(KEYS_MAX),
            sender_reasons: Table::new(KEYS_MAX),
            signatures: Table::new(KEYS_MAX),
            unknown_agents: Table::new(KEYS_MAX),
            sender_examples: 0,
            signature_examples: 0,
            hours: HashMap::with_hasher(FixedState::with_seed(RandomState::new().hash_one(0_u64))),
            hours_others: 0,
            without_time: 0,
            sizes: Spread::default(),
            latency: Spread::default(),
            latency_negative: 0,
            stamps: [false; 2],
            places: Places::default(),
            repeats: Vec::new(),
            bursts: Bursts::default(),
            shapes: Shapes::default(),
            parser: Parser::new(usize::from(rules.limits().depth_max)),
            explainer: Explainer::new(&rules),
            rules,
        }
    }

    /// Counts a batch that passed the gate.
    pub fn add(&mut self, batch: &Batch) {
        let input = self.input(batch);
        let mut facts = batch.facts.iter();
        for (index, (outcome, labels)) in batch.outcomes.iter().zip(&batch.labels).enumerate() {
            let payload = batch.payloads.payload(index);
            let bytes = match payload {
                Payload::Bytes(bytes) => bytes,
                Payload::Tombstone | Payload::Oversized => &[],
            };
            let place = Place { input, position: position(&batch.payloads, index) };
            let facts = if labels.holds { facts.next() } else { None };
            self.record(&Seen { batch, index, place, payload, bytes, labels, outcome: *outcome, facts });
        }
    }

    /// The number of a batch's input in the report.
    fn input(&mut self, batch: &Batch) -> u32 {
        let Self { inputs, input_of, names, .. } = self;
        *input_of.entry(batch.partition).or_insert_with(|| {
            let (name, is_partition): (Arc<str>, bool) = match &batch.payloads {
                Payloads::Block(_) => {
                    (names.get(batch.partition.0 as usize).cloned().unwrap_or_else(|| "?".into()), false)
                }
                payloads => {
                    let first = payloads.messages().first();
                    let name = first.map(|message| partition_name(&message.topic(), message.partition()));
                    (name.unwrap_or_default().into(), true)
                }
            };
            inputs.push(InputTally {
                name,
                is_partition,
                chain: Chain::new(is_partition),
                records: 0,
                rejected: 0,
                bytes: 0,
                span: None,
                reference: Reference::default(),
                run: Run::default(),
            });
            (inputs.len() - 1) as u32
        })
    }

    fn record(&mut self, seen: &Seen<'_>) {
        let Seen { place, labels, outcome, .. } = seen;
        let (verdict, bytes) = (outcome.verdict, seen.bytes.len() as u64);
        self.verdicts.count(verdict, seen.bytes.len());
        let rejected = u64::from(!verdict.is_accept());
        let Some(input) = self.inputs.get_mut(place.input as usize) else { return };
        input.chain.add(place.position, seen.payload, labels.content, verdict);
        input.records += 1;
        input.rejected += rejected;
        input.bytes += bytes;
        input.span.get_or_insert((place.position, 0)).1 = place.position;
        let column = verdict.format.map_or(self.formats.len() - 1, |format| usize::from(format.0));
        if let Some([records, rejects, sum]) = self.formats.get_mut(column) {
            *records += 1;
            *rejects += rejected;
            *sum += bytes;
        }
        self.sizes.add(bytes);
        let time = self.time(seen, rejected);
        self.by_label(seen, time);
        if labels.shape != 0
            && let Some(format) = verdict.format
        {
            self.shapes.add(labels.shape, format.0, *place, seen.bytes, &mut self.parser);
        }
        if let Some(facts) = seen.facts {
            self.remember(facts, *place, verdict);
        }
        self.ignored += u64::from(verdict.ignored && verdict.is_accept());
        if let Some(reason) = verdict.reason {
            self.rejected(seen, reason, column);
        } else if let Some(reason) = verdict.warned {
            self.warned(seen, reason, column);
        }
    }

    /// Hour and latency; gives what the sender's clock is to be compared by.
    fn time(&mut self, seen: &Seen<'_>, rejected: u64) -> Option<Time> {
        let stamp = seen.batch.payloads.messages().get(seen.index).map(Message::time);
        let stamp = match stamp {
            Some(RecordTime::Append(millis)) => {
                self.stamps[0] = true;
                Some(millis)
            }
            Some(RecordTime::Create(millis)) => {
                self.stamps[1] = true;
                Some(millis)
            }
            _ => None,
        };
        let sent = seen.labels.sent.map(crate::clock::Timestamp::micros);
        // The broker's stamp is no substitute: a topic's hours would differ from those of the same records in a file.
        let hour = sent.map_or(i64::MIN, |sent| sent.div_euclid(3_600_000_000));
        let Some(sent) = sent.filter(|_| HOURS.contains(&hour)) else {
            self.without_time += 1;
            return None;
        };
        if self.hours.len() < HOURS_MAX || self.hours.contains_key(&hour) {
            let tally = self.hours.entry(hour).or_default();
            tally.records += 1;
            tally.rejected += rejected;
        } else {
            self.hours_others += 1;
        }
        let Some(millis) = stamp else { return Some(Time::Sent(sent)) };
        let latency = millis.saturating_sub(sent.div_euclid(1000));
        match u64::try_from(latency) {
            Ok(latency) => self.latency.add(latency),
            Err(_) => self.latency_negative += 1,
        }
        Some(Time::Off(sent.saturating_sub(millis.saturating_mul(1000))))
    }

    fn by_label(&mut self, seen: &Seen<'_>, time: Option<Time>) {
        let Seen { place, bytes, labels, outcome, .. } = seen;
        let (verdict, len) = (outcome.verdict, bytes.len() as u64);
        let text = |label: Label| text_at(bytes, label.start).into_boxed_str();
        let (sender, receiver) = (labels.text(LabelKind::Sender), labels.text(LabelKind::Receiver));
        let mut sender_row = None;
        if sender.is_there() {
            let (number, row) = self.senders.add_at(sender.hash, || text(sender));
            sender_row = Some((number, sender.hash));
            row.counts.add(*place, len, verdict);
            if let Some(Time::Off(micros)) = time {
                row.deviations.add(micros);
            }
            if receiver.is_there() {
                let key = both(sender.hash, receiver.hash);
                let row = self.pairs.add(key, || joined(&[&text(sender), &text(receiver)]));
                row.add(*place, len, verdict);
            }
        }
        if let Some(Time::Sent(sent)) = time
            && let Some(input) = self.inputs.get_mut(place.input as usize)
            && let Some(deviations) = input.reference.add(sent, sender_row)
        {
            for Deviation { row, micros } in deviations {
                if let Some(row) = row.and_then(|(number, key)| self.senders.more_at(number, key)) {
                    row.deviations.add(micros);
                }
            }
        }
        let (subject, tenant) = (labels.text(LabelKind::Subject), labels.text(LabelKind::Tenant));
        if subject.is_there() {
            self.subjects.add(subject.hash, || text(subject)).add(*place, len, verdict);
        }
        if tenant.is_there() {
            self.tenants.add(tenant.hash, || text(tenant)).add(*place, len, verdict);
        }
    }

    /// First places: of messages, of work that is opened, of requests.
    fn remember(&mut self, facts: &Facts, place: Place, verdict: Verdict) {
        if let Some(identity) = facts.identity.filter(|_| verdict.is_accept() || facts.burns) {
            let repeats =
                |reason| matches!(reason, Reason::Duplicate | Reason::IdConflict | Reason::WindowFull);
            if verdict.reason.or(verdict.warned).is_some_and(repeats) {
                self.places.insert(identity, place);
            } else {
                // The window did not know it, or no longer: what repeats it from now on repeats this record.
                self.places.renew(identity, place);
            }
        }
        if !verdict.is_accept() {
            return;
        }
        match &facts.lifecycle {
            Lifecycle::Agh(message) if message.step == WorkStep::Talk => {
                self.places.insert(message.work, place);
            }
            Lifecycle::Alfred(message) if message.side == Exchange::Request => {
                self.places.insert(message.request, place);
            }
            _ => {}
        }
    }

    /// A place as people read it: `file:line` or `topic/partition/offset`.
    #[must_use]
    pub fn place(&self, place: Place) -> String {
        match self.inputs.get(place.input as usize) {
            Some(input) if input.is_partition => format!("{}/{}", input.name, place.position),
            Some(input) => format!("{}:{}", input.name, place.position),
            None => "?".to_owned(),
        }
    }

    /// Nothing more comes.
    pub fn end(&mut self) {
        self.places.answer();
        for input in &mut self.inputs {
            self.bursts.end(&mut input.run);
        }
    }

    /// An example with its first place.
    #[must_use]
    pub fn shown(&self, kept: &Kept) -> Example {
        Example { first_place: self.first_place(kept.first), ..kept.example.clone() }
    }

    /// Where an identity was first, if that was asked and is known.
    pub(super) fn first_place(&self, question: Option<Question>) -> Option<String> {
        self.places.answer_to(question?).map(|first| self.place(first))
    }

    /// The rules that records were judged by.
    #[must_use]
    pub fn rules(&self) -> &Rules {
        &self.rules
    }

    /// The name of a file.
    #[must_use]
    pub fn file_name(&self, file: u32) -> &str {
        self.names.get(file as usize).map_or("?", |name| name)
    }

    /// The input of a file, if a record of it was seen.
    #[must_use]
    pub fn input_of(&self, partition: Partition) -> Option<usize> {
        self.input_of.get(&partition).map(|input| *input as usize)
    }
}

/// LIMIT: characters of an input's name that are shown.
const NAME_CHARS_MAX: usize = 400;

/// Keys of several columns are one text; nothing that is shown holds this character.
pub const COLUMN: char = '\u{1f}';

pub(super) fn joined(columns: &[&str]) -> Box<str> {
    columns.join(&COLUMN.to_string()).into_boxed_str()
}

/// A partition as people read it.
pub(super) fn partition_name(topic: &str, partition: i32) -> String {
    format!("{}/{partition}", super::shown::shown(topic, NAME_CHARS_MAX))
}

fn position(payloads: &Payloads, index: usize) -> u64 {
    match payloads {
        Payloads::Block(block) => block.spans.get(index).map_or(0, |span| span.line),
        _ => payloads.offset(index).max(0).cast_unsigned(),
    }
}
