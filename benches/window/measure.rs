//! Memories of ids side by side: filled, timed in turns, and shown as one table. Shared by the bench of this package
//! and by that of `window-peers`, which adds memories of other crates.
//!
//! All of them take turns in short pieces, and the median piece counts, since other work on the machine disturbs long
//! ones. The window is asked in both ways: one id after the other, beside reads each of which waits for the one before;
//! and in batches of 1024 that are announced by `expect`, as the gate does it, beside reads of 1024 known places.

use std::collections::{HashMap, VecDeque};
use std::hint::black_box;
use std::time::Instant;

use hdrhistogram::Histogram;
use tollgate::config;
use tollgate::credentials::digest::Identity;
use tollgate::state::table::{MOVED_SLOTS_MAX, SLOT_BYTES};
use tollgate::state::window::{Seen, Window};

/// Ids of one piece of the measurement, as many as a batch of the gate has.
const PIECE: u64 = 1024;
/// Pieces of each kind.
const PIECES: u64 = 1000;
/// The time of all records.
const NOW: u32 = 1_000_000;
pub(crate) const KEEP_S: u32 = 86_400;

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
pub(crate) trait Memory {
    /// Looks an id up and remembers it if it is new; says whether it was.
    fn see(&mut self, id: Identity, now: u32) -> bool;
    /// These ids come next.
    fn expect(&self, _: &[Identity]) {}
    /// What it says about itself.
    fn note(&self) -> String {
        String::new()
    }
}

pub(crate) struct Ours(Window, Vec<tollgate::state::window::WindowChange>);

impl Memory for Ours {
    fn see(&mut self, id: Identity, now: u32) -> bool {
        let new = self.0.look_up(id, 1, now) == Seen::New;
        if new {
            self.1.clear();
            self.0.insert(id, 1, now + KEEP_S, &mut self.1).unwrap();
        }
        new
    }

    fn expect(&self, ids: &[Identity]) {
        self.0.expect(ids.iter().copied());
    }

    fn note(&self) -> String {
        let table = self.0.table();
        let bytes = table.bytes() as f64 / table.len() as f64;
        format!("({bytes:.1} by count), {} slots moved at most (limit {MOVED_SLOTS_MAX})", table.moved_max())
    }
}

#[derive(Default)]
pub(crate) struct MapAndQueue {
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
}

/// What filling a memory showed.
pub(crate) struct Filled {
    name: &'static str,
    memory: Box<dyn Memory>,
    mean_ns: f64,
    bytes: f64,
    pieces: Vec<f64>,
}

/// Fills a memory; prints the slowest inserts and the resident bytes for each id.
pub(crate) fn fill(name: &'static str, ids: u64, mut memory: Box<dyn Memory>) -> Filled {
    let before = resident_bytes();
    let mut slowest = Histogram::<u64>::new(3).unwrap();
    for number in 0..ids {
        let started = Instant::now();
        assert!(memory.see(identity(number), NOW));
        slowest.record(started.elapsed().as_nanos() as u64).unwrap();
    }
    let bytes = resident_bytes().saturating_sub(before) as f64 / ids as f64;
    println!(
        "{name}: insert mean {:.0} ns, p99.999 {} ns, max {} ns; {bytes:.1} resident bytes per id {}",
        slowest.mean(),
        slowest.value_at_quantile(0.99999),
        slowest.max(),
        memory.note()
    );
    Filled { name, memory, mean_ns: slowest.mean(), bytes, pieces: Vec::new() }
}

/// One piece of the measurement: half of the ids were seen, at random places.
fn piece(ids: u64, number: u64) -> Vec<Identity> {
    let first = ids + number * PIECE;
    let random = |number: u64| u64::from_le_bytes(identity(!number)[..8].try_into().unwrap());
    (first..first + PIECE)
        .map(|number| identity(if number % 2 == 0 { number } else { random(number) % ids }))
        .collect()
}

/// Nanoseconds for each id of a piece.
fn timed(memory: &mut dyn Memory, piece: &[Identity], announced: bool) -> f64 {
    let started = Instant::now();
    if announced {
        memory.expect(piece);
    }
    let new: u64 = piece.iter().map(|id| u64::from(memory.see(*id, NOW))).sum();
    let nanos = started.elapsed().as_nanos() as f64 / PIECE as f64;
    assert_eq!(new, PIECE / 2, "the right ones are new");
    nanos
}

/// Reads of random places, each of which waits for the one before, as a look-up waits for its slot.
fn waiting_reads(cells: &[[u64; SLOT_BYTES / 8]], piece: &[Identity]) -> f64 {
    let started = Instant::now();
    let mut word = 0;
    for id in piece {
        let at = (u64::from_le_bytes(id[..8].try_into().unwrap()) ^ word) % cells.len() as u64;
        word = cells[at as usize][0];
    }
    black_box(word);
    started.elapsed().as_nanos() as f64 / PIECE as f64
}

/// Reads of places that are all known ahead.
fn known_reads(cells: &[[u64; SLOT_BYTES / 8]], piece: &[Identity]) -> f64 {
    let started = Instant::now();
    let mut sum = 0;
    for id in piece {
        let at = u64::from_le_bytes(id[..8].try_into().unwrap()) % cells.len() as u64;
        sum ^= cells[at as usize][0];
    }
    black_box(sum);
    started.elapsed().as_nanos() as f64 / PIECE as f64
}

/// The number of ids that is asked for.
pub(crate) fn ids() -> u64 {
    std::env::var("TOLLGATE_BENCH_IDS").ok().and_then(|ids| ids.parse().ok()).unwrap_or(1_000_000)
}

/// A window with room for so many ids.
pub(crate) fn window(ids: u64) -> Box<dyn Memory> {
    let settings = config::Window {
        memory_bytes_max: (ids + 4 * PIECES * PIECE) * 40 + (64 << 20),
        ..config::Window::default()
    };
    Box::new(Ours(Window::new(&settings).unwrap(), Vec::new()))
}

/// The window, and others, in turns; the window comes first.
pub(crate) fn compare(ids: u64, mut all: Vec<Filled>) {
    let cells = vec![[1_u64; SLOT_BYTES / 8]; (ids as f64 / 0.82) as usize];
    let (mut waiting, mut known, mut batches) = (Vec::new(), Vec::new(), Vec::new());
    for number in 0..PIECES {
        let (single, announced) = (piece(ids, 2 * number), piece(ids, 2 * number + 1));
        waiting.push(waiting_reads(&cells, &single));
        for filled in &mut all {
            filled.pieces.push(timed(filled.memory.as_mut(), &single, false));
        }
        known.push(known_reads(&cells, &announced));
        if let Some(window) = all.first_mut() {
            batches.push(timed(window.memory.as_mut(), &announced, true));
        }
    }
    println!(
        "\n| {ids} ids | median ns | mean ns | of the read that waits | of the read known ahead | insert while it grows, mean ns | resident bytes per id |\n|---|---|---|---|---|---|---|"
    );
    let (read, ahead) = (shown(&waiting), shown(&known));
    let row = |name: &str, pieces: &[f64], more: &str| {
        let (median, mean) = shown(pieces);
        println!(
            "| {name} | {median:.0} | {mean:.0} | {:.2} (mean {:.2}) | {:.2} (mean {:.2}) | {more} |",
            median / read.0,
            mean / read.1,
            median / ahead.0,
            mean / ahead.1
        );
    };
    row("a read that waits for the one before", &waiting, "| ");
    row("a read of a place known ahead", &known, "| ");
    row("window, batches of 1024 that are announced", &batches, "| ");
    for filled in &all {
        row(filled.name, &filled.pieces, &format!("{:.0} | {:.1}", filled.mean_ns, filled.bytes));
    }
}

/// Median and mean.
fn shown(of: &[f64]) -> (f64, f64) {
    let mut sorted = of.to_vec();
    sorted.sort_unstable_by(f64::total_cmp);
    let mean = of.iter().sum::<f64>() / of.len().max(1) as f64;
    (sorted.get(sorted.len() / 2).copied().unwrap_or_default(), mean)
}
