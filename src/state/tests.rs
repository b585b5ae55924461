//! The state against a plain model, and against itself: undone, replayed, damaged.

mod forgetting;

use std::collections::{BTreeMap, BTreeSet};

use super::*;
use crate::config::{self, Config};
use crate::credentials::digest::Identity;
use crate::credentials::names::Names;
use crate::formats::{
    AghMessage, AlfredMessage, Evaluator, Exchange, Lineage, OlympusMessage, OlympusType, WorkStep,
};

/// Numbers from a seed that is printed where a test fails.
pub(super) struct Random(u64);

impl Random {
    /// A new seed each time, or that of `TOLLGATE_SEED`.
    pub(super) fn seeded(test: &str) -> Self {
        let given = std::env::var("TOLLGATE_SEED").ok().and_then(|seed| seed.parse().ok());
        let seed = given.unwrap_or_else(|| crate::clock::wall().micros().unsigned_abs());
        eprintln!("{test}: TOLLGATE_SEED={seed}");
        Self(seed)
    }

    pub(super) fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut word = self.0;
        word = (word ^ (word >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        word = (word ^ (word >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        word ^ (word >> 31)
    }

    pub(super) fn below(&mut self, end: u64) -> u64 {
        self.next() % end.max(1)
    }

    fn flip(&mut self) -> bool {
        self.below(2) == 0
    }

    fn pick<T: Copy>(&mut self, from: &[T]) -> T {
        from[self.below(from.len() as u64) as usize]
    }
}

/// A batch of a partition's first epoch.
fn of(partition: u64) -> Origin {
    Origin { partition, ..Origin::default() }
}

fn id(number: u64) -> Identity {
    u128::from(number).to_le_bytes()
}

fn facts(identity: u64, content: u64, now: i64, keep_until: i64) -> Facts {
    Facts {
        identity: Some(id(identity)),
        content,
        now: Some(Timestamp::from_secs(now)),
        keep_until: Timestamp::from_secs(keep_until),
        capped: false,
        burns: false,
        lifecycle: Lifecycle::None,
    }
}

fn strict(window: config::Window) -> Settings {
    let mut config = Config { window, ..Config::default() };
    config.rules.profile = config::Profile::Strict;
    Settings::of(&config)
}

fn window_of(on_full: OnFull, margin_s: u32) -> config::Window {
    config::Window { memory_bytes_max: 65_536, on_full, margin_s, ..config::Window::default() }
}

/// What the window should be: ordered maps, whole copies for undoing, and a list of times.
#[derive(Clone, Default)]
struct Model {
    ids: BTreeMap<u64, (u64, i64)>,
    times: Vec<i64>,
    time: i64,
    time_max: i64,
}

impl Model {
    fn dead(&self, margin: i64) -> i64 {
        (self.time - margin).max(0)
    }

    fn commit(&mut self, time: i64) {
        self.times.push(time);
        let smallest = *self.times.iter().rev().take(64).min().unwrap();
        let step = (self.time + 3600).max(self.time_max);
        self.time = if self.time == 0 { smallest } else { smallest.min(step) };
        self.time_max = self.time_max.max(self.time);
    }

    fn decide(
        &mut self,
        (identity, content, now, keep_until): (u64, u64, i64, i64),
        on_full: OnFull,
        ids_max: usize,
        dead: i64,
    ) -> Option<Reason> {
        match self.ids.get(&identity) {
            Some((same, expiry)) if *expiry > now && *same == content => return Some(Reason::Duplicate),
            Some((_, expiry)) if *expiry > now => return Some(Reason::IdConflict),
            _ => {}
        }
        let live = |(id, (_, expiry)): (&u64, &(u64, i64))| *expiry > dead && *id != identity;
        if self.ids.iter().filter(|entry| live(*entry)).count() >= ids_max {
            match on_full {
                OnFull::EvictOldest => {
                    let oldest =
                        self.ids.iter().filter(|entry| live(*entry)).min_by_key(|(_, (_, expiry))| *expiry);
                    let oldest = *oldest.unwrap().0;
                    self.ids.remove(&oldest);
                }
                OnFull::Reject | OnFull::Stop => return Some(Reason::WindowFull),
            }
        }
        self.ids.insert(identity, (content, keep_until));
        None
    }
}

/// Random records, commits, undone batches and jumping clocks, at the limit and below it.
fn compare_with_model(on_full: OnFull, identities: u64, random: &mut Random) {
    const MARGIN_S: u32 = 300;
    let mut state = State::new(strict(window_of(on_full, MARGIN_S))).unwrap();
    let ids_max = state.window().table().len_max();
    let mut model = Model::default();
    let mut open: Vec<(u64, Model, i64)> = Vec::new();
    let (mut clock, mut expiries, mut dead_max) = (1_000_000_i64, BTreeSet::new(), 0);
    for batch in 1..600_u64 {
        clock += match random.below(40) {
            0 => 4_000_000,
            1 => -(random.below(2000) as i64),
            2 => -3_000_000,
            _ => random.below(20) as i64,
        };
        clock = clock.clamp(1_000_000, 1 << 31);
        state.begin(batch, of(0));
        open.push((batch, model.clone(), clock));
        for _ in 0..random.below(60) {
            let mut keep_until = clock + 1 + random.below(40_000) as i64;
            while !expiries.insert(keep_until) {
                keep_until += 1;
            }
            let record = (random.below(identities), random.below(20) / 19, clock, keep_until);
            let dead = model.dead(i64::from(MARGIN_S));
            dead_max = dead_max.max(dead);
            let ruling = state.decide(&facts(record.0, record.1, record.2, record.3));
            let got = ruling.map_or(Some(Reason::WindowFull), |ruling| ruling.reason);
            // An entry that was dead once may be gone for a clock that went far back, or not.
            let unsure =
                model.ids.get(&record.0).is_some_and(|(_, expiry)| *expiry > clock && *expiry <= dead_max);
            if unsure && got.is_none_or(|reason| reason == Reason::WindowFull) {
                model.ids.remove(&record.0);
            }
            let want = model.decide(record, on_full, ids_max, dead);
            assert_eq!(got, want, "batch {batch} {record:?} {on_full:?}");
        }
        while open.len() > 3 || (!open.is_empty() && random.flip()) {
            if random.below(4) == 0 {
                let (batch, before, _) = open.pop().unwrap();
                state.undo(batch);
                model.ids = before.ids;
            } else {
                let (batch, _, time) = open.remove(0);
                let had_records = state.open.iter().any(|changes| changes.batch == batch && changes.time > 0);
                state.commit(batch);
                if had_records {
                    model.commit(time);
                }
            }
        }
    }
}

#[test]
fn the_window_is_what_the_model_says() {
    let mut random = Random::seeded("the_window_is_what_the_model_says");
    compare_with_model(OnFull::Stop, 1500, &mut random);
    compare_with_model(OnFull::Reject, 1500, &mut random);
    compare_with_model(OnFull::EvictOldest, 1500, &mut random);
}

/// At the limit, with a clock that only goes ahead: who is refused or given up is exact.
#[test]
fn a_full_window_does_what_its_setting_says() {
    for on_full in [OnFull::Stop, OnFull::Reject, OnFull::EvictOldest] {
        let mut random = Random::seeded("a_full_window_does_what_its_setting_says");
        let mut state = State::new(strict(window_of(on_full, 60))).unwrap();
        let ids_max = state.window().table().len_max();
        let mut model = Model::default();
        let (mut full, mut clock) = (0, 1_000_000);
        let mut expiries = BTreeSet::new();
        for batch in 1..250_u64 {
            clock += random.below(30) as i64;
            state.begin(batch, of(0));
            let before = model.clone();
            for _ in 0..20 {
                let mut keep_until = clock + 3000 + random.below(6000) as i64;
                while !expiries.insert(keep_until) {
                    keep_until += 1;
                }
                let record = (random.below(1 << 40), 0, clock, keep_until);
                let dead = model.dead(60);
                let ruling = state.decide(&facts(record.0, record.1, record.2, record.3));
                let got = ruling.map_or(Some(Reason::WindowFull), |ruling| ruling.reason);
                assert_eq!(got, model.decide(record, on_full, ids_max, dead), "{on_full:?} {batch}");
                full += u64::from(got == Some(Reason::WindowFull));
            }
            if random.below(5) == 0 {
                state.undo(batch);
                model.ids = before.ids;
            } else {
                state.commit(batch);
                model.commit(clock);
            }
        }
        let evicted = state.notes().ids_evicted;
        assert_eq!((full > 0, evicted > 0), (on_full != OnFull::EvictOldest, on_full == OnFull::EvictOldest));
    }
}

/// A record of any format with sequence rules, of few enough names that they meet.
fn random_facts(random: &mut Random, now: i64) -> Facts {
    let name = |random: &mut Random| id(random.below(6));
    let lifecycle = match random.below(5) {
        0 => Lifecycle::Bluelabel { logical: id(100 + random.below(20)), retry_count: random.below(4) },
        1 => Lifecycle::Alfred(AlfredMessage {
            side: if random.flip() { Exchange::Request } else { Exchange::Response },
            request: id(200 + random.below(20)),
            source: name(random),
            destination: name(random),
            intent: id(1),
            trace: random.flip().then_some(id(2)),
            sent: Timestamp::from_secs(now),
        }),
        2 => Lifecycle::Agh(AghMessage {
            work: id(300 + random.below(20)),
            container: id(random.below(2)),
            from: name(random),
            to: (random.below(5) > 0).then(|| name(random)),
            step: random.pick(&[
                WorkStep::Talk,
                WorkStep::Note,
                WorkStep::Submit,
                WorkStep::Work,
                WorkStep::AskInput,
                WorkStep::Complete,
                WorkStep::Cancel,
                WorkStep::Unclear,
            ]),
        }),
        _ => {
            let evaluator = random.pick(&[None, Some(Evaluator::Tests), Some(Evaluator::Documents)]);
            Lifecycle::Olympus(OlympusMessage {
                work: id(400 + random.below(10)),
                lineage: Some(Lineage {
                    message: id(1000 + random.below(400)),
                    parent: random.flip().then(|| id(1000 + random.below(400))),
                }),
                source: random.below(9) as u8,
                target: random.below(9) as u8,
                evaluator,
                by_tech_lead: random.flip(),
                message_type: random.pick(&OlympusType::ALL),
                cycle: Some(1 + random.below(3) as u8),
                partial: random.flip(),
                mac: random.flip().then(|| id(5000 + random.below(400))),
            })
        }
    };
    let burns = matches!(lifecycle, Lifecycle::Agh(_));
    Facts { burns, lifecycle, ..facts(10_000 + random.below(3000), random.below(2), now, now + 900) }
}

type Everything = (Vec<(Identity, u32, Second)>, Vec<(ledger::EntryKey, (ledger::Entry, Second))>);

/// Everything that is remembered and not dead, in order.
fn everything(state: &State, dead: Second) -> Everything {
    let mut ids: Vec<_> = state.window().iter().filter(|(_, _, expiry)| *expiry > dead).collect();
    ids.sort_unstable();
    let entries = state.ledger().shelf().iter().filter(|(_, (_, expiry))| *expiry > dead);
    let mut entries: Vec<_> = entries.collect();
    entries.sort_unstable_by_key(|(key, _)| *key);
    (ids, entries)
}

#[test]
fn what_is_undone_never_was() {
    let mut random = Random::seeded("what_is_undone_never_was");
    let mut settings = strict(config::Window { memory_bytes_max: 65_536, ..config::Window::default() });
    settings.ledger_entries_max = 60;
    settings.window.on_full = OnFull::EvictOldest;
    let mut state = State::new(settings).unwrap();
    let (mut now, mut number) = (1_000_000, 0);
    let mut accepted = 0;
    for _ in 0..200 {
        now += random.below(30) as i64;
        let before = everything(&state, state.window().dead());
        let first = number + 1;
        for _ in 0..=random.below(3) {
            number += 1;
            state.begin(number, of(0));
            for _ in 0..random.below(40) {
                let ruling = state.decide(&random_facts(&mut random, now)).unwrap();
                accepted += u64::from(ruling.reason.is_none());
            }
        }
        if random.flip() {
            (first..=number).for_each(|batch| state.commit(batch));
        } else {
            let dead = state.window().dead();
            (first..=number).rev().for_each(|batch| state.undo(batch));
            assert!(everything(&state, dead) == before, "batch {first}");
        }
    }
    assert!(accepted > 1000 && state.notes().entries_evicted > 0, "{accepted} {:?}", state.notes());
}

#[test]
fn a_replayed_journal_and_a_snapshot_make_the_same_state() {
    let mut random = Random::seeded("a_replayed_journal_and_a_snapshot_make_the_same_state");
    let settings = strict(config::Window { memory_bytes_max: 1 << 20, ..config::Window::default() });
    let mut live = State::new(settings.clone()).unwrap();
    let mut replayed = State::new(settings.clone()).unwrap();
    let mut now = 1_000_000;
    for batch in 1..300 {
        now += random.below(60) as i64;
        live.begin(batch, of(0));
        for _ in 0..random.below(40) {
            live.decide(&random_facts(&mut random, now)).unwrap();
        }
        if random.below(5) == 0 {
            live.undo(batch);
        } else {
            let body = live.body_of(batch).unwrap().bytes;
            assert!(body.is_empty() || replayed.restore_body(0, 2, &body, (0, 1)).is_ok());
            live.commit(batch);
        }
    }
    let dead = live.window().dead();
    let want = everything(&live, dead);
    assert!(want.0.len() > 100 && want.1.len() > 50);
    assert!(everything(&replayed, dead) == want, "by the journal");
    let mut restored = State::new(settings.clone()).unwrap();
    restored.restore(&live.snapshot()).unwrap();
    assert!(everything(&restored, dead) == want, "by the snapshot");
    // And they go on alike.
    for batch in 300..400 {
        live.begin(batch, of(0));
        restored.begin(batch, of(0));
        for _ in 0..30 {
            let facts = random_facts(&mut random, now);
            assert_eq!(live.decide(&facts), restored.decide(&facts));
        }
    }
}

#[test]
fn a_journal_tells_each_record_apart_and_its_older_form_is_read() {
    let settings = strict(config::Window::default());
    let mut live = State::new(settings.clone()).unwrap();
    live.begin(1, of(0));
    for place in 0..10_u32 {
        live.at(place * 2);
        live.decide(&facts(u64::from(place), 7, 1_000_000, 1_086_400 + i64::from(place))).unwrap();
    }
    let body = live.body_of(1).unwrap();
    assert_eq!(body.expiry_max, 1_086_409);
    let ids_before = |offset: i64| {
        let mut restored = State::new(settings.clone()).unwrap();
        restored.restore_body(0, 2, &body.bytes, (500, offset)).unwrap();
        restored.window().table().len()
    };
    assert_eq!([ids_before(500), ids_before(501), ids_before(508), ids_before(519)], [0, 1, 4, 10]);
    // The form before had no distances, so a batch counts as a whole.
    let mut older = body.bytes[..8].to_vec();
    for entry in body.bytes[8..].chunks(4 + 25) {
        older.extend_from_slice(&entry[4..]);
    }
    let mut restored = State::new(settings.clone()).unwrap();
    restored.restore_body(0, 1, &older, (500, 501)).unwrap();
    assert_eq!(restored.window().table().len(), 10);
    let mut untouched = State::new(settings).unwrap();
    for end in [0, 7, 9, body.bytes.len() - 1] {
        assert_eq!(untouched.restore_body(0, 2, &body.bytes[..end], (0, 100)), Err(StateError::Damaged));
    }
    assert!(untouched.window().table().is_empty());
}

#[test]
fn damaged_bytes_are_an_error_and_change_nothing() {
    let mut random = Random::seeded("damaged_bytes_are_an_error_and_change_nothing");
    let settings = strict(config::Window { memory_bytes_max: 65_536, ..config::Window::default() });
    let mut live = State::new(settings.clone()).unwrap();
    for _ in 0..60 {
        live.decide(&random_facts(&mut random, 1_000_000)).unwrap();
    }
    let whole = live.snapshot();
    let mut fresh = State::new(settings).unwrap();
    for end in 0..whole.len() {
        assert_eq!(fresh.restore(&whole[..end]), Err(StateError::Damaged));
    }
    for at in 0..whole.len() {
        let mut changed = whole.clone();
        changed[at] ^= 1 << random.below(8);
        assert_eq!(fresh.restore(&changed), Err(StateError::Damaged), "byte {at}");
    }
    assert!(fresh.window().table().is_empty() && fresh.ledger().shelf().is_empty());
    assert_eq!(fresh.restore(&whole), Ok(()));
}

#[test]
fn copies_are_caught_in_the_same_batch_and_in_the_next_and_across_partitions() {
    let mut state = State::new(strict(config::Window::default())).unwrap();
    let record = facts(1, 7, 1_000_000, 1_086_400);
    let decide = |state: &mut State| state.decide(&record).unwrap().reason;
    state.begin(1, of(0));
    assert_eq!(decide(&mut state), None);
    assert_eq!(decide(&mut state), Some(Reason::Duplicate), "in the same batch");
    state.begin(2, of(1));
    assert_eq!(
        decide(&mut state),
        Some(Reason::Duplicate),
        "in the next, of another partition, before the commit"
    );
    state.undo(2);
    assert_eq!(decide(&mut state), Some(Reason::Duplicate));
    state.reread(0, 1, -1);
    state.begin(3, of(0));
    assert_eq!(decide(&mut state), None, "what was undone comes again");
    state.commit(3);
    state.undo(3);
    assert_eq!(decide(&mut state), Some(Reason::Duplicate), "what is committed stays");
}

/// A state of another version is refused as such, with its checksum right.
#[test]
fn another_version_is_refused_by_its_number() {
    let mut state = State::new(strict(window_of(OnFull::Stop, 60))).unwrap();
    let mut bytes = state.snapshot();
    for found in [0, 3, 255] {
        bytes.truncate(bytes.len() - 32);
        bytes[4] = found;
        let checksum = crate::credentials::digest::sha256(&[&bytes]);
        bytes.extend_from_slice(&checksum);
        assert_eq!(state.restore(&bytes), Err(StateError::Version { found }));
    }
}

/// What stands in snapshots and journals keeps its meaning.
#[test]
fn a_message_keeps_its_name_within_its_work() {
    // SHA-256 of both, each behind its length in four bytes.
    let name =
        [0x1e, 0x21, 0x1b, 0xa4, 0x91, 0x4f, 0x28, 0x8f, 0x5f, 0x65, 0x28, 0x85, 0x7a, 0x50, 0x9d, 0x19];
    assert_eq!(OlympusMessage::name(&Names::Lasting, [1; 16], [2; 16]), name);
}

/// Version 1 kept messages of olympus under their ids alone, with their work beside them.
#[test]
fn a_snapshot_of_the_version_before_is_read() {
    let (work, parent, now) = (id(1), id(2), 1_000_000);
    let mut bytes = b"TGST\x01\x01".to_vec();
    bytes.extend_from_slice(&[0; 8]);
    bytes.extend_from_slice(&[3, 2]);
    bytes.extend_from_slice(&parent);
    bytes.extend_from_slice(&(now as u32 + 900).to_le_bytes());
    bytes.extend_from_slice(&work);
    bytes.push(0);
    // A removal of that form is read, too; under what name the message is kept now it does not say.
    bytes.extend_from_slice(&[4, 2]);
    bytes.extend_from_slice(&id(3));
    bytes.extend_from_slice(&crate::credentials::digest::sha256(&[&bytes]));
    let child = |work: Identity, message: Identity| {
        let within = |message| OlympusMessage::name(&Names::Lasting, work, message);
        Facts {
            lifecycle: Lifecycle::Olympus(olympus_watch(work, within(message), Some(within(parent)))),
            ..facts(u64::from(message[0]) + 50, 0, now, now + 900)
        }
    };
    let mut state = State::new(strict(window_of(OnFull::Stop, 60))).unwrap();
    state.restore(&bytes).unwrap();
    assert_eq!(state.decide(&child(work, id(4))).unwrap().reason, None);
    assert_eq!(state.decide(&child(id(9), id(5))).unwrap().reason, Some(Reason::BadParent));
}

fn olympus_watch(work: Identity, message: Identity, parent: Option<Identity>) -> OlympusMessage {
    OlympusMessage {
        work,
        lineage: Some(Lineage { message, parent }),
        source: 1,
        target: 2,
        evaluator: None,
        by_tech_lead: true,
        message_type: OlympusType::Watch,
        cycle: None,
        partial: false,
        mac: None,
    }
}

/// A partition is lost after its batches were committed and comes back before the gate has heard of the commit: what is
/// committed stays, what is read again is taken back, and late word of either changes nothing.
#[test]
fn a_partition_that_is_lost_and_regained_keeps_what_is_committed() {
    let mut state = State::new(strict(config::Window::default())).unwrap();
    let origin = |epoch, offsets| Origin { partition: 3, epoch, offsets };
    let record = |number| facts(number, 7, 1_000_000, 1_086_400);
    for (batch, offsets) in [(1, 0..10), (2, 10..20), (3, 20..30)] {
        state.begin(batch, origin(1, offsets));
        assert_eq!(state.decide(&record(batch)).unwrap().reason, None);
    }
    state.begin(4, Origin { partition: 5, epoch: 1, offsets: 0..10 });
    assert_eq!(state.decide(&record(4)).unwrap().reason, None);
    // Reading goes on at 20, so everything below is committed.
    state.reread(3, 2, 20);
    state.begin(5, origin(2, 20..30));
    let reason = |state: &mut State, number| state.decide(&record(number)).unwrap().reason;
    assert_eq!(reason(&mut state, 1), Some(Reason::Duplicate), "committed");
    assert_eq!(reason(&mut state, 2), Some(Reason::Duplicate), "committed");
    assert_eq!(reason(&mut state, 4), Some(Reason::Duplicate), "of another partition");
    assert_eq!(reason(&mut state, 3), None, "comes again");
    // Word about batches of the earlier epoch comes late; another new epoch finds the batch of the second one open.
    (1..=3).for_each(|batch| state.undo(batch));
    state.commit(3);
    assert_eq!(reason(&mut state, 1), Some(Reason::Duplicate));
    state.reread(3, 2, 20);
    assert_eq!(reason(&mut state, 3), Some(Reason::Duplicate), "the same epoch takes nothing back");
    state.reread(3, 3, 20);
    state.begin(6, origin(3, 20..30));
    assert_eq!(reason(&mut state, 3), None);
}

/// Clocks at the ends of time, before 1970 and far ahead: copies are caught, and nothing of the others is forgotten.
#[test]
fn clocks_at_the_ends_of_time_do_no_harm() {
    let mut state = State::new(strict(config::Window::default())).unwrap();
    let now = 1_776_366_000;
    state.begin(1, of(0));
    assert_eq!(state.decide(&facts(1, 7, now, now + 86_400)).unwrap().reason, None);
    state.commit(1);
    let mut batch = 1;
    for micros in [i64::MIN, i64::MIN + 1, -1, 0, 1, i64::MAX - 1, i64::MAX] {
        let time = Timestamp::from_micros(micros);
        for (number, keep_until) in [(2, i64::MAX), (3, i64::MIN), (4, 0)] {
            batch += 1;
            state.begin(batch, of(0));
            let at = Facts {
                now: Some(time),
                keep_until: Timestamp::from_micros(keep_until),
                ..facts(0, 1, 0, 0)
            };
            let record = Facts { identity: Some(id(1000 * batch + number)), ..at };
            assert_eq!(state.decide(&record).unwrap().reason, None);
            let again = state.decide(&record).unwrap().reason;
            let kept = expiry_of(record.keep_until) > second_of(time);
            assert_eq!(again, kept.then_some(Reason::Duplicate), "{micros} {keep_until}");
            state.commit(batch);
        }
    }
    let again = state.decide(&facts(1, 7, now + 10, now + 86_400)).unwrap().reason;
    assert_eq!(again, Some(Reason::Duplicate), "of the right time");
}
