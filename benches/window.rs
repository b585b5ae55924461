//! The replay window beside a `HashMap` with an expiry queue, and beside a random read of the same memory.
//!
//! `cargo bench --bench window` runs a million ids; `TOLLGATE_BENCH_IDS=10000000` any other number. Each line says what
//! one look-up and insert costs at that size, the slowest of them, and the resident memory for each id.

#![expect(
    clippy::unwrap_used,
    clippy::print_stdout,
    clippy::indexing_slicing,
    reason = "a bench that cannot go on should panic, and prints its results"
)]

use std::collections::{HashMap, VecDeque};
use std::hint::black_box;
use std::time::Instant;

use hdrhistogram::Histogram;
use tollgate::config;
use tollgate::credentials::digest::Identity;
use tollgate::state::table::{MOVED_SLOTS_MAX, SLOT_BYTES};
use tollgate::state::window::{Seen, Window};

/// Operations that are timed at the full size.
const TIMED: u64 = 1_000_000;
const KEEP_S: u32 = 86_400;

/// Identities are SHA-256 in life; here a mixing of the number serves, so that making them costs little.
fn identity(number: u64) -> Identity {
    let mix = |word: u64| {
        let word = (word ^ (word >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        let word = (word ^ (word >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        word ^ (word >> 31)
    };
    (u128::from(mix(number)) << 64 | u128::from(mix(!number))).to_le_bytes()
}

fn resident_bytes() -> u64 {
    let statm = std::fs::read_to_string("/proc/self/statm").unwrap_or_default();
    statm.split(' ').nth(1).and_then(|pages| pages.parse::<u64>().ok()).unwrap_or_default() * 4096
}

/// Something that remembers ids.
trait Memory {
    /// Looks an id up and remembers it if it is new; says whether it was.
    fn see(&mut self, id: Identity, now: u32) -> bool;
    fn note(&self) -> String;
}

struct Ours(Window, Vec<tollgate::state::window::WindowChange>);

impl Memory for Ours {
    fn see(&mut self, id: Identity, now: u32) -> bool {
        let new = self.0.look_up(id, 1, now) == Seen::New;
        if new {
            self.1.clear();
            self.0.insert(id, 1, now + KEEP_S, &mut self.1).unwrap();
        }
        new
    }

    fn note(&self) -> String {
        let table = self.0.table();
        let bytes = table.bytes() as f64 / table.len() as f64;
        format!(
            "{bytes:.1} bytes by count, {} slots moved at most (limit {MOVED_SLOTS_MAX})",
            table.moved_max()
        )
    }
}

#[derive(Default)]
struct MapAndQueue {
    map: HashMap<Identity, (u32, u32)>,
    queue: VecDeque<(u32, Identity)>,
}

impl Memory for MapAndQueue {
    fn see(&mut self, id: Identity, now: u32) -> bool {
        while self.queue.front().is_some_and(|(expiry, _)| *expiry <= now) {
            let (_, old) = self.queue.pop_front().unwrap();
            self.map.remove(&old);
        }
        if self.map.get(&id).is_some_and(|(_, expiry)| *expiry > now) {
            return false;
        }
        self.map.insert(id, (1, now + KEEP_S));
        self.queue.push_back((now + KEEP_S, id));
        true
    }

    fn note(&self) -> String {
        String::new()
    }
}

fn measure(name: &str, ids: u64, memory: &mut impl Memory) {
    let before = resident_bytes();
    let mut slowest = Histogram::<u64>::new(3).unwrap();
    for number in 0..ids {
        let started = Instant::now();
        assert!(memory.see(identity(number), 1_000_000));
        slowest.record(started.elapsed().as_nanos() as u64).unwrap();
    }
    let bytes = resident_bytes().saturating_sub(before) as f64 / ids as f64;
    let started = Instant::now();
    let mut new = 0;
    for number in 0..TIMED {
        // One in two was seen, at a random place.
        let number = if number % 2 == 0 { ids + number } else { (number * 0x9E37_79B9) % ids };
        new += u64::from(memory.see(identity(number), 1_000_000));
    }
    let nanos = started.elapsed().as_nanos() as f64 / TIMED as f64;
    assert_eq!(new, TIMED / 2, "the right ones are new");
    println!(
        "| {name} | {ids} | {nanos:.0} | {} | {} | {bytes:.1} | {} |",
        slowest.value_at_quantile(0.99999),
        slowest.max(),
        memory.note()
    );
}

/// What one random read of memory of the window's size costs, with nothing else.
fn random_read(ids: u64) {
    let cells = vec![[1_u32; SLOT_BYTES / 4]; (ids as f64 / 0.85) as usize];
    let (mut at, mut sum) = (1_u64, 0_u64);
    let started = Instant::now();
    for number in 0..TIMED {
        // Each read waits for the one before, as a look-up waits for its slot.
        let word = u64::from(cells[(at % cells.len() as u64) as usize][0]);
        at = u64::from_le_bytes(identity(number ^ word)[..8].try_into().unwrap()) ^ word;
        sum += word;
    }
    let nanos = started.elapsed().as_nanos() as f64 / TIMED as f64;
    black_box(sum);
    println!("| a random read | {ids} | {nanos:.0} | | | | |");
}

fn main() {
    let ids = std::env::var("TOLLGATE_BENCH_IDS").ok().and_then(|ids| ids.parse().ok()).unwrap_or(1_000_000);
    println!(
        "| memory | ids | look-up and insert, ns | insert p99.999, ns | insert max, ns | resident bytes per id | |"
    );
    println!("|---|---|---|---|---|---|---|");
    random_read(ids);
    let settings = config::Window { memory_bytes_max: ids * 40 + (64 << 20), ..config::Window::default() };
    measure("window", ids, &mut Ours(Window::new(&settings), Vec::new()));
    measure("HashMap and queue", ids, &mut MapAndQueue::default());
}
