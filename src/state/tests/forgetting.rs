//! What is forgotten, and when: by the order of records where that is fixed, and never before a partition behind has
//! asked for it.

use std::collections::BTreeMap;

use super::{Random, facts, id, of, strict, window_of};
use crate::config::{self, OnFull};
use crate::state::State;
use crate::state::window::{Second, Seen};
use crate::verdict::Reason;

/// Two states with other random keys and other commits, and a model that drops nothing.
#[test]
fn no_verdict_depends_on_commits_where_the_order_is_fixed() {
    let mut random = Random::seeded("fixed order");
    let window = config::Window { memory_bytes_max: 4 << 20, margin_s: 300, ..config::Window::default() };
    let new = || State::new(strict(window.clone())).unwrap().following_order();
    let (mut eager, mut late) = (new(), new());
    let mut model: BTreeMap<u64, (u64, i64)> = BTreeMap::new();
    let (mut clock, mut dropped, mut refused) = (1_000_000_i64, false, 0);
    for number in 0..250_000_u64 {
        if number % 1000 == 0 {
            eager.begin(number, of(0));
            late.begin(number, of(0));
            eager.commit(number.wrapping_sub(1000));
        }
        // A file that is older than the last one, and after a while one of the present.
        clock += i64::from(number % 20 == 0) + if number == 150_000 { -50_000 } else { 0 };
        let now = match random.below(10) {
            0 => clock - 40_000,
            1 => clock + 1_000_000,
            _ => clock,
        };
        // Copies of what came a while ago, at their old time or at another.
        let identity =
            if random.below(5) == 0 { number - random.below(20_000.min(number + 1)) } else { number };
        let (content, keep_s) = (random.below(20) / 19, 301);
        let asked = facts(identity, content, now, now + keep_s);
        let ruling = eager.decide(&asked).unwrap();
        assert_eq!(ruling, late.decide(&asked).unwrap(), "record {number}");
        let judged_at = now.max(i64::from(eager.window().dead()));
        let live = model.get(&identity).filter(|(_, expiry)| *expiry > judged_at);
        let expected =
            live.map(|(same, _)| if *same == content { Reason::Duplicate } else { Reason::IdConflict });
        assert_eq!(ruling.reason, expected, "record {number}");
        if expected.is_none() {
            model.insert(identity, (content, judged_at + keep_s));
        }
        refused += u64::from(expected.is_some());
        dropped |= eager.window().table().len() < model.len();
    }
    assert!(dropped && refused > 10_000, "{dropped}, {refused}");
}

/// A partition that is two hours behind comes to a process whose other partition is in the present: what its journal tells
/// holds the window's time back, so its copies are still found.
#[test]
fn what_is_restored_of_a_partition_behind_is_not_dropped() {
    let now = 1_000_000_i64;
    let settings = || strict(window_of(OnFull::Stop, 300));
    let mut before = State::new(settings()).unwrap();
    for batch in 1..=70 {
        before.begin(batch, of(2));
        before.decide(&facts(batch, 0, now - 7200, now - 7200 + 301)).unwrap();
        if batch < 70 {
            before.commit(batch);
        }
    }
    let body = before.body_of(70).unwrap();
    let mut state = State::new(settings()).unwrap();
    for batch in 1..=70 {
        state.begin(batch, of(1));
        state.decide(&facts(1000 + batch, 0, now, now + 301)).unwrap();
        state.commit(batch);
    }
    assert_eq!(i64::from(state.window().time()), now);
    state.restore_body(2, 2, &body.bytes, (0, 1)).unwrap();
    // More than fit: what may be dropped, is.
    let fits = state.window().table().len_max() as u64;
    let mut copy_found = false;
    for number in 0..fits * 2 {
        let batch = 100 + number;
        state.begin(batch, of(1));
        if state.decide(&facts(10_000 + number, 0, now, now + 301)).is_err() {
            break;
        }
        state.commit(batch);
        copy_found = state.window().look_up(id(70), 0, (now - 7200) as Second) == Seen::Duplicate;
        if !copy_found {
            break;
        }
    }
    assert!(copy_found);
}
