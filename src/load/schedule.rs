//! The schedule of an open loop: when each record is due, whatever became of those before it.

/// How fast records are due.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Schedule {
    /// So many records per second.
    Constant(f64),
    /// From one rate to another within so many seconds.
    Ramp {
        /// Records per second at the start.
        from: f64,
        /// Records per second at the end.
        to: f64,
        /// How long it takes.
        seconds: f64,
    },
}

impl Schedule {
    /// When a record is due, in microseconds since the start.
    #[must_use]
    pub fn due_micros(&self, number: u64) -> u64 {
        let number = number as f64;
        let seconds = match *self {
            Self::Constant(rate) => number / rate,
            Self::Ramp { from, to, seconds } => {
                // After t seconds there were from·t + (to − from)·t²/(2·seconds) records.
                let slope = (to - from) / seconds;
                if slope.abs() < 1e-9 {
                    number / from
                } else {
                    ((from * from + 2.0 * slope * number).max(0.0).sqrt() - from) / slope
                }
            }
        };
        (seconds * 1e6) as u64
    }

    /// How many records are due within so many seconds.
    #[must_use]
    pub fn records_within(&self, limit_s: f64) -> u64 {
        match *self {
            Self::Constant(rate) => (rate * limit_s) as u64,
            Self::Ramp { from, to, seconds } => {
                let t = limit_s.min(seconds);
                (from * t + (to - from) * t * t / (2.0 * seconds) + (limit_s - t) * to) as u64
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_schedule_is_kept_in_both_directions() {
        for schedule in [
            Schedule::Constant(2_000.0),
            Schedule::Ramp { from: 100.0, to: 5_000.0, seconds: 20.0 },
            Schedule::Ramp { from: 900.0, to: 900.0, seconds: 20.0 },
            Schedule::Ramp { from: 5_000.0, to: 100.0, seconds: 20.0 },
        ] {
            let mut last = 0;
            for tenths in 1..=200_u32 {
                let records = schedule.records_within(f64::from(tenths) / 10.0);
                let due = schedule.due_micros(records);
                let expected = u64::from(tenths) * 100_000;
                assert!(
                    due.abs_diff(expected) < 15_000,
                    "{schedule:?}: {records} due at {due}, not {expected}"
                );
                assert!(due >= last, "{schedule:?} goes forward");
                last = due;
            }
        }
    }
}
