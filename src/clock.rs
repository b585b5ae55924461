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
