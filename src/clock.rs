//! Time: the one place that reads the system clock, and the one type for instants.
//!
//! A batch carries its `now`; everything that judges a record uses that value, so that a run over files with a fixed
//! clock has one outcome. Nothing else in the crate may call `SystemTime::now`.

use std::time::{SystemTime, UNIX_EPOCH};

/// An instant as microseconds since the Unix epoch (UTC, leap seconds not counted).
///
/// Microseconds in an `i64` reach past the year 9999 in both directions, so every RFC 3339 date fits.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Timestamp(i64);

impl Timestamp {
    /// From microseconds since the epoch.
    #[must_use]
    pub const fn from_micros(micros: i64) -> Self {
        Self(micros)
    }

    /// From milliseconds since the epoch (Kafka's unit), saturating.
    #[must_use]
    pub const fn from_millis(millis: i64) -> Self {
        Self(millis.saturating_mul(1_000))
    }

    /// From whole seconds since the epoch, saturating.
    #[must_use]
    pub const fn from_secs(secs: i64) -> Self {
        Self(secs.saturating_mul(1_000_000))
    }

    /// From a date-time by RFC 3339: a day of the calendar after the year 0, leap seconds only where UTC has them. Digits
    /// past the microsecond are cut off.
    #[must_use]
    pub fn from_rfc3339(text: &str) -> Option<Self> {
        let bytes = text.as_bytes();
        let (
            &[y1, y2, y3, y4, b'-', m1, m2, b'-', d1, d2, b'T' | b't', h1, h2, b':', i1, i2, b':', s1, s2],
            rest,
        ) = bytes.split_first_chunk::<19>()?
        else {
            return None;
        };
        let (year, month, day) = (two(y1, y2)? * 100 + two(y3, y4)?, two(m1, m2)?, two(d1, d2)?);
        let (hour, minute, second) = (two(h1, h2)?, two(i1, i2)?, two(s1, s2)?);
        let in_range = year > 0
            && (1..=12).contains(&month)
            && (1..=days_of(year, month)).contains(&day)
            && hour < 24
            && minute < 60
            && second <= 60;
        let (micros, rest) = fraction_micros(rest)?;
        let east_minutes = match *rest {
            [b'Z' | b'z'] => 0,
            [sign @ (b'+' | b'-'), h1, h2, b':', m1, m2] => {
                let (hours, minutes) = (two(h1, h2)?, two(m1, m2)?);
                let minutes = if hours < 24 && minutes < 60 { hours * 60 + minutes } else { return None };
                if sign == b'+' { minutes } else { -minutes }
            }
            _ => return None,
        };
        let minutes = (days_since_epoch(year, month, day) * 24 + hour) * 60 + minute - east_minutes;
        let leaps_well = second < 60 || minutes.rem_euclid(DAY_MINUTES) == DAY_MINUTES - 1;
        (in_range && leaps_well).then_some(Self((minutes * 60 + second) * 1_000_000 + micros))
    }

    /// Whether an instant is not after `limit`; `text` is the date-time that it was read from, whose digits past the
    /// microsecond count here.
    #[must_use]
    pub fn is_until(self, limit: Self, text: &str) -> bool {
        let is_cut_off_zero = || {
            let fraction = text.split_once('.').map_or("", |(_, fraction)| fraction);
            fraction.bytes().take_while(u8::is_ascii_digit).skip(6).all(|digit| digit == b'0')
        };
        self < limit || (self == limit && is_cut_off_zero())
    }

    /// So many seconds later, saturating.
    #[must_use]
    pub const fn plus_secs(self, secs: u32) -> Self {
        Self(self.0.saturating_add(secs as i64 * 1_000_000))
    }

    /// The date-time by RFC 3339 in UTC, to the second; years that it cannot say are cut off at its bounds.
    #[must_use]
    pub fn to_rfc3339(self) -> String {
        const FIRST_S: i64 = -62_135_596_800;
        const LAST_S: i64 = 253_402_300_799;
        let secs = self.secs().clamp(FIRST_S, LAST_S);
        let (days, second) = (secs.div_euclid(86_400), secs.rem_euclid(86_400));
        let (year, month, day) = date_of(days);
        let (hour, minute, second) = (second / 3600, second / 60 % 60, second % 60);
        format!("{year:04}-{month:02}-{day:02}T{hour:02}:{minute:02}:{second:02}Z")
    }

    /// Microseconds since the epoch.
    #[must_use]
    pub const fn micros(self) -> i64 {
        self.0
    }

    /// Whole seconds since the epoch, rounded down.
    #[must_use]
    pub const fn secs(self) -> i64 {
        self.0.div_euclid(1_000_000)
    }
}

const DAY_MINUTES: i64 = 24 * 60;

/// How many days a month has.
const fn days_of(year: i64, month: i64) -> i64 {
    match month {
        4 | 6 | 9 | 11 => 30,
        2 if year % 4 == 0 && (year % 100 != 0 || year % 400 == 0) => 29,
        2 => 28,
        _ => 31,
    }
}

fn two(tens: u8, ones: u8) -> Option<i64> {
    let digit = |byte: u8| byte.is_ascii_digit().then(|| i64::from(byte - b'0'));
    Some(digit(tens)? * 10 + digit(ones)?)
}

/// A fraction of a second at the front of `bytes`, and what follows it.
fn fraction_micros(bytes: &[u8]) -> Option<(i64, &[u8])> {
    let [b'.', fraction @ ..] = bytes else { return Some((0, bytes)) };
    let (digits, rest) =
        fraction.split_at_checked(fraction.iter().take_while(|byte| byte.is_ascii_digit()).count())?;
    let mut micros = 0;
    for place in 0..6 {
        micros = micros * 10 + digits.get(place).map_or(0, |digit| i64::from(digit - b'0'));
    }
    (!digits.is_empty()).then_some((micros, rest))
}

/// Days between 1970-01-01 and a day of the Gregorian calendar: years count from March, so that leap days come last.
fn days_since_epoch(year: i64, month: i64, day: i64) -> i64 {
    let year = year - i64::from(month <= 2);
    let (era, year_of_era) = (year.div_euclid(400), year.rem_euclid(400));
    let day_of_year = (153 * ((month + 9) % 12) + 2) / 5 + day - 1;
    let day_of_era = year_of_era * 365 + year_of_era / 4 - year_of_era / 100 + day_of_year;
    era * 146_097 + day_of_era - 719_468
}

/// Year, month and day of a day since the epoch: the way back of [`days_since_epoch`].
fn date_of(days: i64) -> (i64, i64, i64) {
    let days = days + 719_468;
    let (era, day_of_era) = (days.div_euclid(146_097), days.rem_euclid(146_097));
    let year_of_era = (day_of_era - day_of_era / 1460 + day_of_era / 36_524 - day_of_era / 146_096) / 365;
    let day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let month = (5 * day_of_year + 2) / 153;
    let day = day_of_year - (153 * month + 2) / 5 + 1;
    let month = if month < 10 { month + 3 } else { month - 9 };
    (era * 400 + year_of_era + i64::from(month <= 2), month, day)
}

/// The system's wall clock, now.
#[must_use]
pub fn wall() -> Timestamp {
    let micros = match SystemTime::now().duration_since(UNIX_EPOCH) {
        Ok(since) => i64::try_from(since.as_micros()).unwrap_or(i64::MAX),
        Err(before) => i64::try_from(before.duration().as_micros()).map_or(i64::MIN, |micros| -micros),
    };
    Timestamp(micros)
}

/// Where a batch's `now` comes from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Clock {
    /// The system's clock when the batch was read.
    Wall,
    /// The record's own time: the broker's append time on Kafka, the envelope's timestamp in files.
    Record,
    /// One instant for the whole run (`--as-of`).
    Fixed(Timestamp),
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_nanosecond_past_the_limit_is_past_it() {
        let limit = Timestamp::from_secs(0);
        for (text, holds) in [
            ("1970-01-01T00:00:00Z", true),
            ("1970-01-01T00:00:00.000000000Z", true),
            ("1970-01-01T00:00:00.000000001Z", false),
            ("1970-01-01T00:00:00.000001Z", false),
            ("1969-12-31T23:59:59.9999999Z", true),
        ] {
            assert_eq!(Timestamp::from_rfc3339(text).unwrap().is_until(limit, text), holds, "{text}");
        }
    }

    #[test]
    fn instants_become_date_times() {
        for text in
            ["1970-01-01T00:00:00Z", "2026-03-01T12:34:56Z", "2000-02-29T23:59:59Z", "0001-01-01T00:00:00Z"]
        {
            assert_eq!(Timestamp::from_rfc3339(text).unwrap().to_rfc3339(), text);
        }
        for day in (-700_000..2_900_000).step_by(97) {
            let time = Timestamp::from_secs(day * 86_400 + 86_399);
            assert_eq!(Timestamp::from_rfc3339(&time.to_rfc3339()), Some(time), "{day}");
        }
        assert_eq!(Timestamp::from_micros(i64::MAX).to_rfc3339(), "9999-12-31T23:59:59Z");
        assert_eq!(Timestamp::from_micros(i64::MIN).to_rfc3339(), "0001-01-01T00:00:00Z");
    }

    #[test]
    fn date_times_become_instants() {
        let cases = [
            ("1970-01-01T00:00:00Z", 0),
            ("2026-03-01T12:00:00.5+02:00", 1_772_359_200_500_000),
            ("2000-02-29t23:59:60z", 951_868_800_000_000),
            ("2000-03-01T00:59:60+01:00", 951_868_800_000_000),
            ("1969-12-31T23:59:59.999999999Z", -1),
            ("9999-12-31T23:59:59-23:59", 253_402_387_139_000_000),
        ];
        for (text, micros) in cases {
            assert_eq!(Timestamp::from_rfc3339(text).map(Timestamp::micros), Some(micros), "{text}");
        }
        for text in [
            "",
            "2026-03-01",
            "2026-03-01 12:00:00Z",
            "2026-13-01T00:00:00Z",
            "2026-03-01T00:00:00.Z",
            "2026-03-01T00:00:00",
            "2026-02-29T00:00:00Z",
            "2026-04-31T00:00:00Z",
            "1900-02-29T00:00:00Z",
            "2026-03-00T00:00:00Z",
            "0000-03-01T00:00:00Z",
            "2026-03-01T12:00:60Z",
            "2026-03-01T23:59:60+01:00",
        ] {
            assert_eq!(Timestamp::from_rfc3339(text), None, "{text}");
        }
    }
}
