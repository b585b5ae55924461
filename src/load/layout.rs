//! The layout of a stream: which record is which step of which scene.
//!
//! Records come in blocks. The layout of a block follows from the seed and the block's number alone, so blocks can be
//! made in any order and by any number of threads. Scenes lie within a block, interleaved; only copies reach further
//! back, and name the record that they copy by its number.

use super::Random;
use super::mix::{Mix, MixError, refuse};
use super::scripts::{Script, Where};
use crate::verdict::Reason;

/// Records of a block.
pub(super) const BLOCK: usize = 1024;
/// Scenes that are under way at one time.
const OPEN_MAX: usize = 16;

/// What one record is.
#[derive(Clone, Copy, Debug)]
pub(super) struct Slot {
    /// The scene's number.
    pub(super) scene: u64,
    /// What it plays.
    pub(super) script: u16,
    /// Which step of it.
    pub(super) step: u8,
    /// The place of the scene's first step in the block.
    pub(super) first: u16,
    /// The number of its key.
    pub(super) key: u32,
    /// How far back the record lies that this one copies; 0: it is none.
    pub(super) back: u32,
}

/// What can be drawn, and how often.
pub(super) struct Deck {
    /// Rising; the last is the sum.
    cards: Vec<(f64, Card)>,
    replay: f64,
    distance: (u32, u32),
    burst_length: u16,
    keys: u32,
    skew: u8,
    /// Rising weights of partitions; the last is the sum.
    partitions: Vec<f64>,
    lengths: Vec<u8>,
    /// A script whose first step holds by itself.
    plain: u16,
}

#[derive(Clone, Copy, Debug)]
enum Card {
    Scene(u16),
    Burst(u16),
}

impl Deck {
    /// Works out how often each script must be drawn so that records have the shares of the mix.
    pub(super) fn new(
        mix: &Mix,
        scripts: &[Script],
        weight_of: impl Fn(&Script) -> f64,
        is_played: impl Fn(Where) -> bool,
    ) -> Result<Self, MixError> {
        let played =
            || (0..).zip(scripts).filter(|(_, script)| weight_of(script) > 0.0 && is_played(script.place));
        let shares =
            fault_shares(mix, &played().filter_map(|(_, script)| script.reason).collect::<Vec<_>>())?;
        let mut rates: Vec<(f64, Card)> = Vec::new();
        let mut held = 1.0 - (mix.replays.share + mix.bursts.share) / 100.0;
        for (number, script) in played() {
            let Some(reason) = script.reason else { continue };
            let of_reason =
                |other: &Script| if other.reason == Some(reason) { weight_of(other) } else { 0.0 };
            let all: f64 = played().map(|(_, other)| of_reason(other)).sum();
            let rate = shares.get(reason as usize).copied().unwrap_or_default() * weight_of(script) / all;
            held -= rate * script.steps.len() as f64;
            rates.push((rate, Card::Scene(number)));
        }
        if held < -1e-9 {
            let found = format!("{:.1} percent of valid records too few", -held * 100.0);
            return Err(refuse(
                "faults",
                found,
                "smaller shares: the conversations that faults need fill the stream",
            ));
        }
        let valid: Vec<_> = played().filter(|(_, script)| script.reason.is_none()).collect();
        for (number, script) in &valid {
            let siblings = valid.iter().filter(|(_, other)| other.family == script.family).count() as f64;
            let weights: f64 =
                valid.iter().map(|(_, other)| weight_of(other) / siblings_of(&valid, other)).sum();
            let rate = held.max(0.0) * weight_of(script) / siblings / weights / script.steps.len() as f64;
            rates.push((rate, Card::Scene(*number)));
        }
        let single: Vec<_> =
            played().filter(|(_, script)| script.reason.is_some() && script.steps.len() == 1).collect();
        for (number, _) in &single {
            let rate = mix.bursts.share / 100.0 / single.len() as f64 / f64::from(mix.bursts.length);
            rates.push((rate, Card::Burst(*number)));
        }
        let mut sum = 0.0;
        rates.retain(|(rate, _)| *rate > 0.0);
        for (rate, _) in &mut rates {
            sum += *rate;
            *rate = sum;
        }
        Ok(Self {
            cards: rates,
            replay: mix.replays.share / 100.0,
            distance: (mix.replays.distance_min, mix.replays.distance_max),
            burst_length: mix.bursts.length,
            keys: mix.keys.count,
            skew: mix.keys.skew,
            partitions: rising(&mix.keys.partitions),
            lengths: scripts.iter().map(|script| script.steps.len() as u8).collect(),
            plain: valid.first().map_or(0, |(number, _)| *number),
        })
    }

    fn draw(&self, random: &mut Random) -> Card {
        let sum = self.cards.last().map_or(0.0, |(sum, _)| *sum);
        let at = unit(random) * sum;
        let place = self.cards.partition_point(|(edge, _)| *edge <= at);
        self.cards.get(place).or(self.cards.last()).map_or(Card::Scene(self.plain), |(_, card)| *card)
    }

    fn length(&self, script: u16) -> usize {
        self.lengths.get(usize::from(script)).copied().map_or(1, usize::from)
    }

    fn key(&self, random: &mut Random) -> u32 {
        // Each further draw pushes the key towards the low numbers.
        let mut draw = |keys: u32| {
            (0..=self.skew).map(|_| random.below(u64::from(keys)) as u32).min().unwrap_or_default()
        };
        let Some(sum) = self.partitions.last() else { return draw(self.keys) };
        // The keys of a partition are those whose number leaves its own over.
        let count = self.partitions.len() as u32;
        let number = draw(self.keys / count);
        let at = unit(random) * sum;
        let partition = self.partitions.partition_point(|edge| *edge <= at) as u32;
        number * count + partition.min(count - 1)
    }
}

fn rising(weights: &[f64]) -> Vec<f64> {
    weights
        .iter()
        .scan(0.0, |sum, weight| {
            *sum += weight;
            Some(*sum)
        })
        .collect()
}

fn siblings_of(valid: &[(u16, &Script)], script: &Script) -> f64 {
    valid.iter().filter(|(_, other)| other.family == script.family).count() as f64
}

/// A number from 0 to below 1.
pub(super) fn unit(random: &mut Random) -> f64 {
    (random.next() >> 11) as f64 / (1_u64 << 53) as f64
}

/// The share of records of each reason, by its number.
fn fault_shares(mix: &Mix, possible: &[Reason]) -> Result<Vec<f64>, MixError> {
    let mut shares = vec![0.0; Reason::ALL.len() + 1];
    let mut others: Vec<Reason> = possible.to_vec();
    others.sort_unstable();
    others.dedup();
    for (code, share) in &mix.faults {
        let Some(reason) = Reason::from_code(code) else { continue };
        if !possible.contains(&reason) && *share > 0.0 {
            let codes: Vec<_> = others.iter().map(|reason| reason.code()).collect();
            return Err(refuse(&format!("faults.{code}"), code, codes.join(", ")));
        }
        others.retain(|other| *other != reason);
        if let Some(place) = shares.get_mut(reason as usize) {
            *place = share / 100.0;
        }
    }
    let all = mix.faults.get("all").copied().unwrap_or_default();
    for reason in &others {
        if let Some(place) = shares.get_mut(*reason as usize) {
            *place = all / 100.0 / others.len() as f64;
        }
    }
    Ok(shares)
}

/// A scene that is under way.
struct Open {
    scene: u64,
    script: u16,
    next: u8,
    left: u16,
    first: u16,
    key: u32,
    /// Each record is a scene of its own, and nothing comes between.
    burst: bool,
}

/// The layout of a block.
pub(super) fn lay_out(deck: &Deck, seed: u64, block: u64) -> Vec<Slot> {
    let mut random = Random::at(seed, block, 1);
    let mut open: Vec<Open> = Vec::with_capacity(OPEN_MAX);
    let mut slots: Vec<Slot> = Vec::with_capacity(BLOCK);
    let mut scene = block * BLOCK as u64;
    let mut promised = 0;
    while slots.len() < BLOCK {
        let number = block * BLOCK as u64 + slots.len() as u64;
        let room = BLOCK - slots.len() - promised;
        let at = slots.len() as u16;
        if room > 0 && number > 0 && unit(&mut random) < deck.replay {
            let (min, max) = deck.distance;
            let back = u64::from(min) + random.below(u64::from(max - min) + 1);
            let back = if back > number { 1 + random.below(number) } else { back } as u32;
            slots.push(Slot { scene, script: deck.plain, step: 0, first: at, key: 0, back });
            scene += 1;
            continue;
        }
        let in_burst = open.iter().position(|open| open.burst);
        let which = in_burst.unwrap_or_else(|| {
            // A place that is not taken opens a new scene, if there is room for all of it.
            let which = random.below(OPEN_MAX as u64) as usize;
            if which >= open.len() && room > 0 {
                let opened = open_scene(deck, &mut random, room, at, scene);
                scene += if opened.burst { u64::from(opened.left) } else { 1 };
                promised += usize::from(opened.left);
                open.push(opened);
                open.len() - 1
            } else {
                which % open.len().max(1)
            }
        });
        let Some(playing) = open.get_mut(which) else { continue };
        slots.push(playing.step(at));
        promised -= 1;
        if playing.left == 0 {
            open.swap_remove(which);
        }
    }
    slots
}

fn open_scene(deck: &Deck, random: &mut Random, room: usize, first: u16, scene: u64) -> Open {
    let key = deck.key(random);
    let (script, left, burst) = match deck.draw(random) {
        Card::Burst(script) => (script, usize::from(deck.burst_length).min(room), true),
        Card::Scene(script) if deck.length(script) <= room => (script, deck.length(script), false),
        // The end of a block is filled with first steps, which hold by themselves.
        Card::Scene(_) => (deck.plain, 1, false),
    };
    Open { scene, script, next: 0, left: left as u16, first, key, burst }
}

impl Open {
    fn step(&mut self, at: u16) -> Slot {
        if self.next == 0 {
            self.first = at;
        }
        let slot = Slot {
            scene: self.scene,
            script: self.script,
            step: self.next,
            first: self.first,
            key: self.key,
            back: 0,
        };
        self.left -= 1;
        if self.burst {
            self.scene += 1;
        } else {
            self.next += 1;
        }
        slot
    }
}
