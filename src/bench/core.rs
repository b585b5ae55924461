//! The judge on one core, next to what it cannot be faster than: memory, simd-json's tape, ring's HMAC.

use std::hint::black_box;
use std::time::Instant;

use ring::hmac;
use serde_json::Value;

use super::{CALM_SHARE, ROUNDS, calmest, median};
use crate::clock::Timestamp;
use crate::histograms::Stage;
use crate::judge::{Input, Judge, NoWatch, Payload, Rules, Watch};
use crate::load::{Destination, Generator, Mix, MixError, Random, Secrets, Size, Style};
use crate::tape::Parser;

/// Records of a corpus: many times what a predictor remembers, and still in the cache.
const RECORDS: usize = 512;
/// Passes over a corpus in one round, of which the fastest counts; one that has more records is passed less often.
const PASSES: usize = 7;
/// LIMIT: records that are looked through for a corpus.
const SEARCH_MAX: u64 = 1_000_000;

/// Orders that each record of the corpus of strangers is written in; with them it has more outlines than a judge keeps.
const ORDERS: usize = 16;

/// The size of the envelopes.
const RECORD_BYTES: u32 = 1200;

/// Signed Olympus envelopes of one size that all hold.
pub struct Corpus {
    /// `uniform`, `canonical`, `mixed` or `strange`.
    pub name: &'static str,
    /// The envelopes.
    pub records: Vec<Vec<u8>>,
}

/// The corpora of a seed: one order of members; in canonical form; kinds of messages, orders of members and spacings that
/// take turns, as where many senders write to one topic; and the records of that one, none in an order that another has.
pub fn corpora(seed: u64, secrets: &Secrets, start: Timestamp) -> Result<Vec<Corpus>, MixError> {
    let mut corpora = generated(seed, secrets, start)?;
    if let Some(mixed) = corpora.last() {
        let records = strange(&mixed.records, seed);
        corpora.push(Corpus { name: "strange", records });
    }
    Ok(corpora)
}

fn generated(seed: u64, secrets: &Secrets, start: Timestamp) -> Result<Vec<Corpus>, MixError> {
    [("uniform", Style::Uniform), ("canonical", Style::Canonical), ("mixed", Style::Mixed)]
        .into_iter()
        .map(|(name, style)| {
            let size = Size { bytes: RECORD_BYTES, ..Size::default() };
            let mut mix = Mix { style, olympus_v2: 100.0, size, ..Mix::default() }.of_format("olympus");
            mix.faults.clear();
            mix.replays.share = 0.0;
            let generator = Generator::new(&mix, seed, secrets, start, Destination::Lines)?;
            let mut cursor = generator.cursor();
            let mut records = Vec::new();
            for number in 0..SEARCH_MAX {
                let mut record = Vec::new();
                cursor.write(number, |number| Generator::time_of(start, number), &mut record);
                // Documents of one shape, unless shapes are to differ.
                let fits = |text: &[u8]| memchr::memmem::find(&record, text).is_some();
                if style == Style::Mixed || (fits(b"\"ASSIGN\"") && fits(b"agentic/coder.md")) {
                    records.push(record);
                }
                if records.len() == RECORDS {
                    break;
                }
            }
            Ok(Corpus { name, records })
        })
        .collect()
}

/// The records with their members in random orders. Signatures hold: they are made of the canonical form.
fn strange(records: &[Vec<u8>], seed: u64) -> Vec<Vec<u8>> {
    let mut random = Random::new(seed);
    let values: Vec<Value> =
        records.iter().filter_map(|record| serde_json::from_slice(record).ok()).collect();
    let all = (0..ORDERS).flat_map(|_| &values);
    all.map(|value| shuffled(value, &mut random).to_string().into_bytes()).collect()
}

fn shuffled(value: &Value, random: &mut Random) -> Value {
    match value {
        Value::Array(items) => items.iter().map(|item| shuffled(item, random)).collect(),
        Value::Object(members) => {
            let mut members: Vec<_> = members.iter().collect();
            let mut mixed = serde_json::Map::new();
            while !members.is_empty() {
                let (name, value) = members.swap_remove(random.below(members.len() as u64) as usize);
                mixed.insert(name.clone(), shuffled(value, random));
            }
            Value::Object(mixed)
        }
        scalar => scalar.clone(),
    }
}

/// A program that says whether a record holds.
pub type Program<'p> = dyn FnMut(&[u8]) -> bool + Send + 'p;

/// What only some builds can measure.
#[derive(Default)]
pub struct Extras<'e> {
    /// The program that a user would write instead. What it says is not compared: sorting a value and printing it is
    /// not RFC 8785 (`1e2` becomes `100.0`), so it refuses some envelopes of the mixed corpus.
    pub user: Option<&'e mut Program<'e>>,
    /// How many allocations this thread has made so far.
    pub allocations: Option<&'e (dyn Fn() -> u64 + Sync)>,
}

/// One line of a report.
#[derive(Clone, Debug)]
pub struct Row {
    /// What was measured.
    pub name: &'static str,
    /// Median nanoseconds per record.
    pub nanos: f64,
}

/// What was measured on one corpus.
#[derive(Clone, Debug)]
pub struct CorpusReport {
    /// The corpus.
    pub name: &'static str,
    /// Mean bytes of a record.
    pub bytes: f64,
    /// memcpy, tape, HMAC, judge, judge with facts, and the user's program where there is one.
    pub rows: Vec<Row>,
    /// The judge, from payload to verdict, next to tape and HMAC: the median of the calmest rounds' ratios.
    pub ratio: f64,
    /// The median of all rounds' ratios.
    pub ratio_of_all: f64,
    /// The same with the facts that a worker makes for the gate of what holds.
    pub ratio_with_facts: f64,
    /// The user's program, which makes no facts, next to the judge.
    pub user_ratio: Option<f64>,
    /// The judge's stages, in nanoseconds per record, with the cost of looking at the clock.
    pub stages: Vec<Row>,
    /// Allocations for each record of two warm judges, one of which makes facts.
    pub allocations: Option<f64>,
}

/// The nanoseconds per record of one round: those of [`CorpusReport::rows`].
type Round = [f64; 6];

/// Measures corpora, of which every record must be accepted. Their rounds take turns, each on the next core, so that what
/// disturbs the machine for a while, or one of its cores, disturbs some rounds of each; only the calmest count.
pub fn measure(
    corpora: &[Corpus],
    rules: &Rules,
    now: Timestamp,
    extras: &mut Extras<'_>,
) -> Vec<CorpusReport> {
    // A thread of its own, since it is pinned.
    let measured =
        std::thread::scope(|scope| scope.spawn(|| measure_in_turns(corpora, rules, now, extras)).join());
    measured.unwrap_or_else(|panic| std::panic::resume_unwind(panic))
}

fn measure_in_turns(
    corpora: &[Corpus],
    rules: &Rules,
    now: Timestamp,
    extras: &mut Extras<'_>,
) -> Vec<CorpusReport> {
    let cores = core_affinity::get_core_ids().unwrap_or_default();
    let mut cores = cores.iter().cycle();
    let mut benches: Vec<_> =
        corpora.iter().map(|corpus| (Bench::new(corpus, rules, now), Vec::new())).collect();
    for _ in 0..ROUNDS * CALM_SHARE {
        if let Some(core) = cores.next() {
            core_affinity::set_for_current(*core);
        }
        for (bench, rounds) in &mut benches {
            rounds.push(bench.round(extras));
        }
    }
    benches.into_iter().map(|(bench, rounds)| bench.report(rounds, extras)).collect()
}

/// What a round took, but for the user's program, which takes as long as all else.
fn nanos([rows @ .., _user]: &Round) -> f64 {
    rows.iter().sum()
}

/// Nanoseconds per record of the fastest pass.
fn fastest(corpus: &Corpus, mut work: impl FnMut(&[u8])) -> f64 {
    let mut best = f64::INFINITY;
    for _ in 0..(RECORDS * PASSES / corpus.records.len().max(1)).max(1) {
        let started = Instant::now();
        for record in &corpus.records {
            work(black_box(record));
        }
        best = best.min(started.elapsed().as_nanos() as f64);
    }
    best / corpus.records.len().max(1) as f64
}

/// Whether facts are made of what holds.
#[derive(Clone, Copy)]
enum Facts {
    No,
    Yes,
}

struct Bench<'b> {
    corpus: &'b Corpus,
    rules: &'b Rules,
    now: Timestamp,
    judge: Judge,
    /// As in the pipeline, where it makes facts for window and ledger.
    worker: Judge,
    parser: Parser,
    key: hmac::Key,
    copy: Vec<u8>,
    pointer: Vec<u8>,
}

impl<'b> Bench<'b> {
    fn new(corpus: &'b Corpus, rules: &'b Rules, now: Timestamp) -> Self {
        let mut worker = Judge::new(rules);
        worker.make_facts();
        let mut bench = Self {
            corpus,
            rules,
            now,
            judge: Judge::new(rules),
            worker,
            parser: Parser::new(usize::from(rules.limits().depth_max)),
            key: hmac::Key::new(hmac::HMAC_SHA256, &[7; 32]),
            copy: Vec::with_capacity(1 << 16),
            pointer: Vec::with_capacity(1 << 12),
        };
        bench.judge_all();
        bench
    }

    fn round(&mut self, extras: &mut Extras<'_>) -> Round {
        let user = extras.user.as_mut().map(|user| {
            fastest(self.corpus, |record| {
                black_box(user(record));
            })
        });
        [
            self.memcpy(),
            self.tape(),
            self.hmac(),
            self.judge(Facts::No),
            self.judge(Facts::Yes),
            user.unwrap_or_default(),
        ]
    }

    fn report(mut self, rounds: Vec<Round>, extras: &Extras<'_>) -> CorpusReport {
        let ratio = |[_, tape, mac, judge, ..]: &Round| judge / (tape + mac);
        let ratio_of_all = median(rounds.iter().map(ratio).collect());
        let rounds = calmest(rounds, nanos);
        let names = [
            "memcpy",
            "simd-json tape",
            "ring HMAC-SHA256",
            "judge",
            "judge and facts",
            "serde_json + jsonschema + ring",
        ];
        let over_rounds = |figure: &dyn Fn(&Round) -> f64| median(rounds.iter().map(figure).collect());
        let row =
            |(row, name)| Row { name, nanos: over_rounds(&|round| round.get(row).copied().unwrap_or(0.0)) };
        let mut rows: Vec<_> = names.into_iter().enumerate().map(row).collect();
        if extras.user.is_none() {
            rows.truncate(names.len() - 1);
        }
        let ratio = over_rounds(&ratio);
        let ratio_with_facts = over_rounds(&|[_, tape, mac, _, with_facts, _]| with_facts / (tape + mac));
        let user_ratio = extras.user.is_some().then(|| over_rounds(&|[.., judge, _, user]| user / judge));
        let records = &self.corpus.records;
        let bytes = records.iter().map(Vec::len).sum::<usize>() as f64 / records.len().max(1) as f64;
        let allocations = extras.allocations.map(|count| {
            let before = count();
            self.judge_all();
            (count() - before) as f64 / records.len().max(1) as f64
        });
        let stages = self.stages();
        let name = self.corpus.name;
        CorpusReport {
            name,
            bytes,
            rows,
            ratio,
            ratio_of_all,
            ratio_with_facts,
            user_ratio,
            stages,
            allocations,
        }
    }

    fn memcpy(&mut self) -> f64 {
        let copy = &mut self.copy;
        fastest(self.corpus, |record| {
            copy.clear();
            copy.extend_from_slice(record);
            black_box(&copy);
        })
    }

    fn tape(&mut self) -> f64 {
        let parser = &mut self.parser;
        fastest(self.corpus, |record| {
            assert!(parser.parse(record, |tape| black_box(tape).is_ok()), "envelopes that hold are JSON");
        })
    }

    fn hmac(&mut self) -> f64 {
        let key = &self.key;
        fastest(self.corpus, |record| {
            black_box(hmac::sign(key, record));
        })
    }

    fn judge(&mut self, facts: Facts) -> f64 {
        let Self { corpus, rules, now, judge, worker, pointer, .. } = self;
        let judge = match facts {
            Facts::No => judge,
            Facts::Yes => worker,
        };
        fastest(corpus, |record| {
            let input = Input { payload: Payload::Bytes(record), key: None, now: Some(*now) };
            let verdict = judge.judge(rules, rules.default_binding(), input, pointer, &mut NoWatch);
            assert!(verdict.is_accept(), "every envelope of the corpus holds: {verdict:?}");
        })
    }

    fn judge_all(&mut self) {
        let Self { corpus, rules, now, judge, worker, pointer, .. } = self;
        for record in &corpus.records {
            for judge in [&mut *judge, &mut *worker] {
                let input = Input { payload: Payload::Bytes(record), key: None, now: Some(*now) };
                black_box(judge.judge(rules, rules.default_binding(), input, pointer, &mut NoWatch));
            }
        }
    }

    /// Median over the passes of the mean of each stage.
    fn stages(&mut self) -> Vec<Row> {
        let Self { corpus, rules, now, judge, pointer, .. } = self;
        let judged = [Stage::Parse, Stage::Shape, Stage::Meaning, Stage::Credentials];
        let mut passes: [Vec<f64>; 4] = Default::default();
        for _ in 0..ROUNDS {
            let mut laps = Laps { since: Instant::now(), sums: [0; 4] };
            for record in &corpus.records {
                let input = Input { payload: Payload::Bytes(record), key: None, now: Some(*now) };
                laps.since = Instant::now();
                black_box(judge.judge(rules, rules.default_binding(), input, pointer, &mut laps));
            }
            for (pass, sum) in passes.iter_mut().zip(laps.sums) {
                pass.push(sum as f64 / corpus.records.len().max(1) as f64);
            }
        }
        judged
            .iter()
            .zip(passes)
            .map(|(stage, pass)| Row { name: stage.label(), nanos: median(pass) })
            .collect()
    }
}

/// Adds up the time of each stage.
struct Laps {
    since: Instant,
    sums: [u64; 4],
}

impl Watch for Laps {
    fn lap(&mut self, stage: Stage) {
        let now = Instant::now();
        let place = match stage {
            Stage::Parse => 0,
            Stage::Shape => 1,
            Stage::Meaning => 2,
            _ => 3,
        };
        if let Some(sum) = self.sums.get_mut(place) {
            *sum += (now - self.since).as_nanos() as u64;
        }
        self.since = now;
    }
}

#[cfg(test)]
mod tests {
    use super::super::SEED;
    use super::*;
    use crate::outline::Outlines;

    #[test]
    fn outlines_come_back_in_all_corpora_but_that_of_strangers() {
        let start = Timestamp::from_rfc3339("2026-03-03T12:00:00Z").unwrap();
        for Corpus { name, records } in corpora(SEED, &Secrets::of(SEED), start).unwrap() {
            let (mut parser, mut outlines) = (Parser::new(64), Outlines::default());
            let mut recognised = |record: &Vec<u8>| {
                outlines.parse(&mut parser, record, |tape| tape.unwrap().outline().is_some())
            };
            let passes: Vec<_> = (0..8)
                .map(|_| {
                    let known = records.iter().filter(|record| recognised(record)).count();
                    known as f64 / records.len() as f64
                })
                .collect();
            let share = passes.last().copied().unwrap_or_default();
            assert_eq!(share > 0.9, name != "strange", "{name}: {passes:?}");
        }
    }
}
