//! The table and the window: growth in bounded steps, attacks on the index, clocks that jump.

use std::collections::BTreeMap;

use super::*;
use crate::state::table::MOVED_SLOTS_MAX;
use crate::state::tests::Random;
use crate::state::times::{ADVANCE_S_MAX, RECENT};

fn settings(memory_bytes_max: u64) -> Settings {
    Settings { memory_bytes_max, ..Settings::default() }
}

fn id(number: u64) -> Identity {
    crate::credentials::digest::identity(&[&number.to_le_bytes()])
}

#[test]
fn the_mixer_is_one_to_one() {
    let mixer = Mixer::random();
    for number in 0..1000 {
        assert_eq!(mixer.unmix(mixer.mix(id(number))), id(number));
    }
}

/// Random inserts, replacements and removals against an ordered map, while the table grows over several shards.
#[test]
fn the_table_is_a_map() {
    let mut random = Random::seeded("the_table_is_a_map");
    let (mut table, mut model) = (Table::new(16 << 20).unwrap(), BTreeMap::new());
    let mut keys: Vec<Key> = Vec::new();
    for _ in 0..60_000 {
        let known = keys.get(random.below(keys.len().max(1) as u64) as usize).copied();
        let key = known.filter(|_| random.below(4) == 0).unwrap_or_else(|| {
            // Some keys lie side by side, at the ends, or share their first half.
            match random.below(100) {
                0 => (u64::MAX - random.below(3), random.next()),
                1 => (random.below(2), random.below(5)),
                _ => (random.next(), random.next()),
            }
        });
        if random.below(6) == 0 {
            assert_eq!(table.remove(key), model.remove(&key));
        } else {
            let kept = Kept { tag: random.next() as u32, expiry: 1 + random.below(1 << 20) as u32 };
            assert_eq!(table.insert(key, kept, 0), model.insert(key, kept));
            keys.push(key);
        }
        assert_eq!(table.len(), model.len());
    }
    for key in keys {
        assert_eq!(table.find(key), model.get(&key).copied());
    }
    let mut all: Vec<_> = table.iter().map(|(key, _)| key).collect();
    all.sort_unstable();
    assert!(all.iter().eq(model.keys()));
}

#[test]
fn an_insert_moves_few_slots_and_an_id_takes_few_bytes() {
    let mut window = Window::new(&settings(64 << 20)).unwrap();
    let mut changes = Vec::new();
    for number in 0..200_000 {
        changes.clear();
        window.insert(id(number), 0, 1000, &mut changes).unwrap();
        let table = window.table();
        if number > 20_000 && number % 1000 == 0 {
            let bytes = table.bytes() as f64 / table.len() as f64;
            assert!(bytes <= BYTES_PER_ID_MAX as f64, "{bytes} bytes at {number}");
        }
    }
    assert!(window.table().moved_max() <= MOVED_SLOTS_MAX, "{}", window.table().moved_max());
    assert!((0..200_000).step_by(97).all(|number| window.look_up(id(number), 0, 0) == Seen::Duplicate));
    assert_eq!(window.look_up(id(200_000), 0, 0), Seen::New);
}

/// Room that is made ahead keeps what was there, is filled before the table grows, and then grows like any other.
#[test]
fn room_that_is_made_ahead_is_used() {
    for (reserved, still, memory, ids) in
        [(20, 0, 1 << 20, 2000), (30_000, 30_000, 8 << 20, 100_000), (1 << 40, 15_000, 1 << 20, 36_000)]
    {
        let mut window = Window::new(&settings(memory)).unwrap();
        let mut changes = Vec::new();
        for number in 0..ids {
            if number == 500 {
                window.reserve(reserved);
            }
            let bytes = window.table().bytes();
            window.insert(id(number), 0, 1000, &mut changes).unwrap();
            assert!(window.table().bytes() as u64 <= memory, "{reserved} of {memory} at {number}");
            if (500..still).contains(&number) {
                assert_eq!(window.table().bytes(), bytes, "{reserved} of {memory} at {number}");
            }
        }
        assert_eq!(window.table().len(), ids as usize);
        assert!((0..ids).all(|number| window.look_up(id(number), 0, 0) == Seen::Duplicate));
        assert!(window.table().moved_max() <= MOVED_SLOTS_MAX);
    }
}

/// Ids come and go: the dead make room, and the table stays as large as what lives.
#[test]
fn a_steady_stream_takes_steady_memory() {
    let mut window = Window::new(&settings(64 << 20)).unwrap();
    let mut changes = Vec::new();
    let (live, margin) = (50_000_u64, u64::from(window.margin_s));
    for number in 0..400_000_u64 {
        changes.clear();
        let second = 1_000_000 + number / 100;
        if number % 100 == 0 {
            window.advance(0, second as Second);
        }
        window.insert(id(number), 0, (second + live / 100) as Second, &mut changes).unwrap();
    }
    // What is kept: the live ones, those within the margin, and what the hand has not reached.
    let kept = live + (margin + RECENT as u64) * 100;
    let len = window.table().len() as u64;
    assert!(len >= live && len <= kept * 115 / 100, "{len} of {kept}");
    assert!(window.table().bytes() as u64 <= kept * BYTES_PER_ID_MAX);
}

/// An attacker who knows the index can aim at one shard; with the random key of the process the same ids spread.
#[test]
fn ids_that_are_chosen_against_a_known_index_spread() {
    let known = Mixer([0; 3]);
    let aimed: Vec<Identity> =
        (0..8_000_u64).map(|number| known.unmix((u64::MAX / 3 + number, number))).collect();
    let mut changes = Vec::new();
    let mut fill = |mut window: Window| {
        // A table of some size, so that there are shards to aim at.
        for identity in (0..20_000).map(id).chain(aimed.iter().copied()) {
            changes.clear();
            window.insert(identity, 0, 1000, &mut changes).unwrap();
        }
        assert!(aimed.iter().all(|identity| window.look_up(*identity, 0, 0) == Seen::Duplicate));
        window.table().spilled()
    };
    assert!(
        fill(Window::with_known_index(&settings(64 << 20)).unwrap()) > 1000,
        "the attack works on a known index"
    );
    assert_eq!(fill(Window::new(&settings(64 << 20)).unwrap()), 0);
}

#[test]
fn a_clock_that_jumps_neither_empties_nor_freezes_the_window() {
    const NOW: Second = 1_776_366_000;
    let mut window = Window::new(&settings(1 << 20)).unwrap();
    let mut changes = Vec::new();
    for _ in 0..RECENT {
        window.advance(0, NOW);
    }
    assert_eq!(window.dead(), NOW - 300);
    window.insert(id(1), 7, NOW + 86_400, &mut changes).unwrap();
    // Ahead by decades, for as many commits as are looked back on but one.
    for _ in 1..RECENT {
        window.advance(0, NOW + (1 << 30));
    }
    assert_eq!(window.dead(), NOW - 300);
    // And for longer: it moves by an hour at most with each commit.
    window.advance(0, NOW + (1 << 30));
    assert_eq!(window.dead(), NOW - 300 + ADVANCE_S_MAX);
    // Back to the right time, or far before it: at once, and new ids are remembered as ever.
    window.advance(0, NOW + 10);
    assert_eq!(window.dead(), NOW - 290);
    window.advance(0, 5);
    assert_eq!(window.dead(), 0);
    for number in 2..5000 {
        window.insert(id(number), 7, NOW + 86_400, &mut changes).unwrap();
    }
    assert!((1..5000).all(|number| window.look_up(id(number), 7, NOW + 10) == Seen::Duplicate));
    // A real gap of a day is caught up with.
    for _ in 0..=RECENT + 24 {
        window.advance(0, NOW + 86_400);
    }
    assert_eq!(window.dead(), NOW + 86_400 - 300);
}

#[test]
fn times_are_rounded_so_that_nothing_is_forgotten_early() {
    assert_eq!(
        (second_of(Timestamp::from_micros(1_999_999)), expiry_of(Timestamp::from_micros(1_000_001))),
        (1, 2)
    );
    assert_eq!(expiry_of(Timestamp::from_micros(2_000_000)), 2);
    for far in [Timestamp::from_micros(i64::MAX), Timestamp::from_secs(1 << 40)] {
        assert!(second_of(far) < expiry_of(far), "past the last second nothing expires");
    }
    assert_eq!((second_of(Timestamp::from_secs(-5)), expiry_of(Timestamp::from_secs(-5))), (1, 1));
}

#[test]
fn content_tells_a_repetition_from_a_conflict() {
    let mut window = Window::new(&settings(1 << 20)).unwrap();
    window.insert(id(1), 7, 100, &mut Vec::new()).unwrap();
    assert_eq!(window.look_up(id(1), 7, 99), Seen::Duplicate);
    assert_eq!(window.look_up(id(1), 8, 99), Seen::Conflict);
    assert_eq!(window.look_up(id(1), 8, 100), Seen::New, "forgotten at its last second");
    assert_eq!(window.look_up(id(2), 7, 99), Seen::New);
}

/// Of a table of many shards, what is given up is among the oldest hundredth; of one shard, it is the oldest.
#[test]
fn what_is_given_up_is_old() {
    let mut random = Random::seeded("what_is_given_up_is_old");
    for (bytes, allowed) in [(65_536, 0.0), (4 << 20, 0.01)] {
        let settings = Settings { on_full: OnFull::EvictOldest, ..settings(bytes) };
        let mut window = Window::new(&settings).unwrap();
        let full = window.table().len_max() as u64;
        let mut expiries = std::collections::BTreeSet::new();
        let mut worst = 0.0_f64;
        for number in 0..full + 2000 {
            let mut changes = Vec::new();
            let mut expiry = 1000 + random.below(1 << 30) as Second;
            while expiries.contains(&expiry) {
                expiry += 1;
            }
            window.insert(id(number), 0, expiry, &mut changes).unwrap();
            for given_up in changes.iter().filter(|change| change.after.is_none()) {
                let gone = given_up.before.unwrap().expiry;
                worst = worst.max(expiries.range(..gone).count() as f64 / full as f64);
                expiries.remove(&gone);
            }
            expiries.insert(expiry);
        }
        assert_eq!(window.evicted(), 2000);
        assert!(worst <= allowed, "rank {worst} of {full}");
    }
}

#[test]
fn memory_that_the_system_does_not_give_is_an_error() {
    let refused = Window::new(&settings(u64::MAX / 2)).err();
    assert_eq!(refused, Some(NoMemory { bytes: u64::MAX / 2 }));
    assert!(refused.unwrap().to_string().contains("window.memory_bytes_max"));
}

/// The memory ends just before, at and behind the steps in which the table grows: every id that fits is found.
#[test]
fn a_limit_at_any_step_of_growth_holds_what_it_says() {
    for buckets in (340..3400).step_by(97).chain([767, 768, 775, 776, 777, 824, 825, 1551, 1552, 1553]) {
        let mut window = Window::new(&settings(buckets * 192)).unwrap();
        let full = window.table().len_max() as u64;
        let mut changes = Vec::new();
        for number in 0..full {
            changes.clear();
            window.insert(id(number), 0, 1000, &mut changes).unwrap();
        }
        assert_eq!(window.insert(id(full), 0, 1000, &mut changes), Err(Full), "{buckets}");
        assert!((0..full).all(|number| window.look_up(id(number), 0, 0) == Seen::Duplicate), "{buckets}");
        let table = window.table();
        assert!(table.bytes() as u64 <= buckets * 192, "{buckets}: {}", table.bytes());
        assert!(table.moved_max() <= MOVED_SLOTS_MAX && table.spilled() == 0, "{buckets}");
    }
}
