//! How far a sender's clock is off: its timestamps against the time of the record's neighbours.
//!
//! Where the log stamps records (Kafka), that stamp is the reference. In files a record was written after those before it
//! and before those behind it, so a time between the medians of both is right, however slow the log is. One outside of
//! them is off by its distance from their middle; but where it is near to one of them, the other one is wrong. As long as
//! most neighbours have right clocks and stand in the order of time, nobody else is told. What cannot be told apart from
//! a right clock is what is off by less than some 16 records take. Each sender has a small histogram, so that what is
//! typical of it can be told from what happened once.

/// Records before another, and behind it, that it is compared with; as many must be there on either side. More of them
/// would bear longer runs of a sender whose clock is wrong, and find less in a slow log or in a sample.
const NEIGHBOURS: usize = 16;
/// Records that are compared at once, with one median before them and one behind them.
///
/// PERF: with its classes 44 ns for a record; the median of 64 for every sixteenth took 49 ns (busy machine).
const STEP: usize = 8;
/// Medians from the one that ends before the records that are compared to the one that begins behind them.
const MEDIANS: usize = NEIGHBOURS / STEP + 2;

/// The upper ends of the classes, in seconds; the last one is open.
const CLASS_ENDS_S: [i64; 8] = [-3600, -300, -30, -5, 5, 30, 300, 3600];
/// How many classes there are.
const CLASSES: usize = CLASS_ENDS_S.len() + 1;
/// Deviations of so many seconds are found worth telling if they are typical of a sender.
pub const TOLD_S: i64 = 30;
/// Deviations of a sender below which nothing is told of it.
pub const SAMPLES_MIN: u64 = 20;

/// Who sent a record: its row among the senders, and the key that the row had then.
pub type SenderRow = Option<(u32, u64)>;

/// A sender's deviation, in microseconds; positive ones are ahead.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Deviation {
    /// Whose.
    pub row: SenderRow,
    /// How much.
    pub micros: i64,
}

/// The reference of one input: its last records, and the medians of those before.
#[derive(Debug)]
pub struct Reference {
    recent: [(i64, SenderRow); NEIGHBOURS + STEP],
    /// The two times in the middle of [`NEIGHBOURS`] records, the latest last.
    medians: [(i64, i64); MEDIANS],
    seen: usize,
}

impl Default for Reference {
    fn default() -> Self {
        Self { recent: [(0, None); NEIGHBOURS + STEP], medians: [(0, 0); MEDIANS], seen: 0 }
    }
}

impl Reference {
    /// A record was sent at `sent`, in microseconds. Gives the deviations of some earlier ones whenever enough came
    /// behind them.
    #[inline]
    pub fn add(&mut self, sent: i64, row: SenderRow) -> Option<[Deviation; STEP]> {
        if let Some(cell) = self.recent.get_mut(self.seen % (NEIGHBOURS + STEP)) {
            *cell = (sent, row);
        }
        self.seen += 1;
        if self.seen.is_multiple_of(STEP) { self.step() } else { None }
    }

    fn step(&mut self) -> Option<[Deviation; STEP]> {
        // The oldest STEP of the records are compared, the others are those behind them.
        let oldest = self.seen % (NEIGHBOURS + STEP);
        let (young, old) = self.recent.split_at_checked(oldest)?;
        let mut recent = old.iter().chain(young);
        let mut compared = [Deviation { row: None, micros: 0 }; STEP];
        for (to, (sent, row)) in compared.iter_mut().zip(recent.by_ref()) {
            *to = Deviation { row: *row, micros: *sent };
        }
        let mut behind = [0; NEIGHBOURS];
        for (to, (sent, _)) in behind.iter_mut().zip(recent) {
            *to = *sent;
        }
        let (earlier, median, _) = behind.select_nth_unstable(NEIGHBOURS / 2);
        // Of the two in the middle each side has the one that leaves more room.
        let (early, late) = (earlier.iter().max().copied().unwrap_or(*median), *median);
        self.medians.rotate_left(1);
        let [(before, _), .., behind] = &mut self.medians;
        *behind = (early, late);
        let (from, to) = (late.min(*before), late.max(*before));
        for deviation in &mut compared {
            deviation.micros = outside(deviation.micros, from, to);
        }
        (self.seen >= 2 * NEIGHBOURS + STEP).then_some(compared)
    }
}

/// How far a time is off from what lies between two others.
fn outside(sent: i64, from: i64, to: i64) -> i64 {
    let nearest = sent.saturating_sub(sent.clamp(from, to));
    if nearest.unsigned_abs() < TOLD_S.unsigned_abs() * 1_000_000 {
        nearest
    } else {
        sent.saturating_sub(from.midpoint(to))
    }
}

/// The deviations of one sender; positive ones are ahead.
#[derive(Clone, Debug, Default)]
pub struct Deviations {
    classes: [u32; CLASSES],
    sum_s: i64,
}

impl Deviations {
    /// Adds one, in microseconds.
    pub fn add(&mut self, micros: i64) {
        let seconds = micros / 1_000_000;
        let class = CLASS_ENDS_S.iter().position(|end| seconds < *end).unwrap_or(CLASSES - 1);
        if let Some(cell) = self.classes.get_mut(class) {
            *cell = cell.saturating_add(1);
        }
        // A day bounds what one record can do to the mean.
        self.sum_s += seconds.clamp(-86_400, 86_400);
    }

    /// How many there are.
    #[must_use]
    pub fn count(&self) -> u64 {
        self.classes.iter().map(|count| u64::from(*count)).sum()
    }

    /// The mean, in seconds; each deviation counts for a day at most.
    #[must_use]
    pub fn mean_s(&self) -> i64 {
        self.sum_s / (self.count() as i64).max(1)
    }

    /// What is typical: the bounds of the class that the median falls into, in seconds.
    #[must_use]
    pub fn typical_s(&self) -> (Option<i64>, Option<i64>) {
        let half = self.count().div_ceil(2);
        let mut below = 0;
        let class = self.classes.iter().position(|count| {
            below += u64::from(*count);
            below >= half
        });
        let class = class.unwrap_or_default();
        (class.checked_sub(1).and_then(|at| CLASS_ENDS_S.get(at)).copied(), CLASS_ENDS_S.get(class).copied())
    }

    /// Whether the sender's clock is off by as much as is told.
    #[must_use]
    pub fn is_off(&self) -> bool {
        let (from, to) = self.typical_s();
        self.count() >= SAMPLES_MIN
            && (from.is_some_and(|from| from >= TOLD_S) || to.is_some_and(|to| to <= -TOLD_S))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::load::Random;

    /// Deviations of senders who take turns, or come as chance has it; each with how far its clock is off. Records are
    /// `apart_ms` apart on average.
    fn deviations(offs_s: &[i64], apart_ms: i64, chance: Option<u64>) -> Vec<Deviations> {
        let (mut reference, mut time) = (Reference::default(), 1_772_539_200_000_000);
        let mut senders = vec![Deviations::default(); offs_s.len()];
        let mut random = Random::new(chance.unwrap_or_default());
        for number in 0..900_usize {
            let (sender, apart) = match chance {
                // Mostly short, sometimes long pauses.
                Some(_) => {
                    (random.below(offs_s.len() as u64) as usize, apart_ms * random.below(4).pow(2) as i64 / 4)
                }
                None => (number % offs_s.len(), apart_ms),
            };
            time += apart * 1000;
            let sent = time + offs_s[sender] * 1_000_000;
            for Deviation { row, micros } in
                reference.add(sent, Some((sender as u32, 0))).into_iter().flatten()
            {
                senders[row.unwrap().0 as usize].add(micros);
            }
        }
        senders
    }

    fn off(offs_s: &[i64], apart_ms: i64, chance: Option<u64>) -> Vec<bool> {
        deviations(offs_s, apart_ms, chance).iter().map(Deviations::is_off).collect()
    }

    #[test]
    fn a_clock_that_is_off_is_told_and_moves_nothing() {
        let senders = deviations(&[0, 400, 0], 100, None);
        assert!(!senders[0].is_off() && !senders[2].is_off() && senders[1].is_off());
        assert_eq!(senders[1].typical_s(), (Some(300), Some(3600)));
        assert!((390..410).contains(&senders[1].mean_s()), "{}", senders[1].mean_s());
        assert!((270..300).contains(&senders[1].count()), "all but those at both ends");
    }

    #[test]
    fn a_slow_log_with_right_clocks_tells_of_nobody() {
        for apart_ms in [10, 770, 1000, 2500, 10_000, 60_000, 3_600_000] {
            for senders in 1..40 {
                let right = vec![0; senders];
                assert_eq!(
                    off(&right, apart_ms, None),
                    vec![false; senders],
                    "{senders} senders, {apart_ms} ms"
                );
                assert_eq!(
                    off(&right, apart_ms, Some(7)),
                    vec![false; senders],
                    "{senders} senders by chance"
                );
            }
        }
    }

    #[test]
    fn a_wrong_clock_is_found_at_any_pace() {
        for apart_ms in [1, 100, 1000, 5000, 10_000] {
            for chance in [None, Some(3), Some(4)] {
                for wrong in [300, -300, 7200] {
                    let found = off(&[0, wrong, 0, 0], apart_ms, chance);
                    assert_eq!(
                        found,
                        [false, true, false, false],
                        "{wrong} s, {apart_ms} ms apart, {chance:?}"
                    );
                }
            }
        }
    }

    #[test]
    fn senders_that_come_in_runs_are_told_apart() {
        for run in 1..16 {
            let (mut reference, mut senders) = (Reference::default(), vec![Deviations::default(); 4]);
            for number in 0..6000_i64 {
                let sender = (number / run % 4) as usize;
                let sent = number * 1_000_000 + if sender == 1 { 600_000_000 } else { 0 };
                for Deviation { row, micros } in
                    reference.add(sent, Some((sender as u32, 0))).into_iter().flatten()
                {
                    senders[row.unwrap().0 as usize].add(micros);
                }
            }
            let found: Vec<bool> = senders.iter().map(Deviations::is_off).collect();
            assert_eq!(found, [false, true, false, false], "runs of {run}");
        }
    }

    #[test]
    fn a_log_that_begins_with_the_newest_record_tells_of_nobody() {
        assert_eq!(off(&[0, 0, 0], -1000, None), [false; 3]);
    }
}
