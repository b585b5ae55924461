//! Replay bursts: stretches of one input in which repetitions come close behind each other.
//!
//! Copies carry the time of their original, so time does not tell a burst; nearness does. A burst is a run of at least
//! [`REPEATS_MIN`] repetitions with no gap of more than [`GAP_MAX`] records.

use super::places::Place;

/// Repetitions that make a burst.
pub const REPEATS_MIN: u64 = 20;
/// Records between two repetitions of a burst, at most.
pub const GAP_MAX: u64 = 50;
/// LIMIT: bursts that are kept, the largest ones.
const BURSTS_MAX: usize = 200;

/// A run of repetitions.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Burst {
    /// How many repetitions.
    pub repeats: u64,
    /// Records from the first to the last.
    pub records: u64,
    /// The first.
    pub from: Place,
    /// The last.
    pub to: Place,
}

/// The run that one input is in.
#[derive(Clone, Copy, Debug, Default)]
pub struct Run {
    open: Option<(Burst, u64)>,
}

/// The bursts of all inputs.
#[derive(Debug, Default)]
pub struct Bursts {
    found: Vec<Burst>,
    count: u64,
    repeats: u64,
}

impl Bursts {
    /// A repetition: record `number` of its input.
    pub fn add(&mut self, run: &mut Run, number: u64, place: Place) {
        match &mut run.open {
            Some((burst, last)) if number - *last <= GAP_MAX => {
                burst.repeats += 1;
                burst.records += number - *last;
                (burst.to, *last) = (place, number);
            }
            open => {
                if let Some((burst, _)) = open.take() {
                    self.close(burst);
                }
                *open = Some((Burst { repeats: 1, records: 1, from: place, to: place }, number));
            }
        }
    }

    /// An input has ended.
    pub fn end(&mut self, run: &mut Run) {
        if let Some((burst, _)) = run.open.take() {
            self.close(burst);
        }
    }

    fn close(&mut self, burst: Burst) {
        if burst.repeats < REPEATS_MIN {
            return;
        }
        self.count += 1;
        self.repeats += burst.repeats;
        self.found.push(burst);
        if self.found.len() >= 2 * BURSTS_MAX {
            self.rank();
        }
    }

    fn rank(&mut self) {
        self.found.sort_by_key(|burst| (std::cmp::Reverse(burst.repeats), burst.from));
        self.found.truncate(BURSTS_MAX);
    }

    /// How many there are, and repetitions in them.
    #[must_use]
    pub fn totals(&self) -> (u64, u64) {
        (self.count, self.repeats)
    }

    /// The largest ones, the largest first.
    pub fn largest(&mut self) -> &[Burst] {
        self.rank();
        &self.found
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn runs_are_bursts_and_single_repetitions_are_not() {
        let (mut bursts, mut run) = (Bursts::default(), Run::default());
        let numbers = (0..10_000).step_by(500).chain(20_000..20_040).chain([90_000]);
        for number in numbers {
            bursts.add(&mut run, number, Place { input: 1, position: number });
        }
        bursts.end(&mut run);
        assert_eq!(bursts.totals(), (1, 40));
        let [burst] = bursts.largest() else { panic!("one burst") };
        assert_eq!((burst.from.position, burst.to.position, burst.records), (20_000, 20_039, 40));
    }
}
