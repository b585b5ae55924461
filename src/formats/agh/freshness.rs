//! Step 3: whether the envelope is fresh.
//!
//! All times are whole seconds of Unix time, and the receiver's clock is rounded down. The differences of two values
//! between 0 and 2^63−1 fit, but the clock is ours and the settings are the user's: the arithmetic saturates.

/// What freshness looks at.
#[derive(Clone, Copy, Debug)]
pub(super) struct Times {
    pub(super) ts: i64,
    pub(super) expires_at: Option<i64>,
    pub(super) now: i64,
    pub(super) age_max: i64,
    /// How far `ts` may lie ahead; `None` where nothing bounds it.
    pub(super) skew_max: Option<i64>,
}

/// Why it is not fresh.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Stale {
    /// `ts` lies too far ahead.
    Ahead,
    /// `expires_at` has passed.
    Expired,
    /// `ts` is too old.
    Old,
}

/// Why it is not fresh, if it is not.
///
/// A `ts` too far ahead fails even with `expires_at`. Otherwise `expires_at` alone decides where it is given, and the
/// age of `ts` where it is not.
pub(super) fn staleness(times: Times) -> Option<Stale> {
    let Times { ts, expires_at, now, age_max, skew_max } = times;
    if skew_max.is_some_and(|skew_max| ts.saturating_sub(now) > skew_max) {
        return Some(Stale::Ahead);
    }
    match expires_at {
        Some(expires_at) => (expires_at <= now).then_some(Stale::Expired),
        None => (now.saturating_sub(ts) > age_max).then_some(Stale::Old),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const NOW: i64 = 1_776_366_100;

    fn stale(ts: i64, expires_at: Option<i64>) -> Option<Stale> {
        staleness(Times { ts, expires_at, now: NOW, age_max: 300, skew_max: Some(300) })
    }

    #[test]
    fn the_edges_are_inside() {
        assert_eq!(stale(NOW - 300, None), None);
        assert_eq!(stale(NOW - 301, None), Some(Stale::Old));
        assert_eq!(stale(NOW + 300, None), None);
        assert_eq!(stale(NOW + 301, None), Some(Stale::Ahead));
        assert_eq!(stale(NOW, Some(NOW + 1)), None);
        assert_eq!(stale(NOW, Some(NOW)), Some(Stale::Expired));
    }

    #[test]
    fn an_expiry_replaces_the_age_but_not_the_skew() {
        assert_eq!(stale(0, Some(NOW + 1)), None);
        assert_eq!(stale(NOW + 301, Some(i64::MAX)), Some(Stale::Ahead));
        assert_eq!(stale(NOW + 100, Some(NOW + 50)), None, "nothing relates the two");
    }

    #[test]
    fn extremes_do_not_overflow() {
        assert_eq!(stale(i64::MAX, Some(0)), Some(Stale::Ahead));
        let before = Times { ts: i64::MAX, expires_at: None, now: i64::MIN, age_max: 0, skew_max: None };
        assert_eq!(staleness(before), None);
        let after = Times { ts: 0, expires_at: None, now: i64::MAX, age_max: 300, skew_max: Some(0) };
        assert_eq!(staleness(after), Some(Stale::Old));
    }
}
