//! RFC 3339 dates and times.
//!
//! `T` and `Z` in either case, any number of fraction digits, real calendar days, no year 0000, offsets up to 23:59;
//! a leap second only where the UTC instant is 23:59:60. This file must not convert: it only says yes or no.

/// `full-date T full-time`.
///
/// PERF: eight characters are looked at in one word: after the XOR with a template, digits are their values and
/// separators zero; adding what is missing to 0x80 shows bytes that are too large.
pub(super) fn is_date_time(text: &str) -> bool {
    const DIGIT: u8 = 0x76;
    const SAME: u8 = 0x7F;
    let word = |bytes: [u8; 8]| u64::from_le_bytes(bytes);
    let Some((&[y1, y2, y3, y4, dash, m1, m2, hyphen, clock @ ..], [b':', s1, s2, rest @ ..])) =
        text.as_bytes().split_first_chunk::<16>()
    else {
        return false;
    };
    let day = word([y1, y2, y3, y4, dash, m1, m2, hyphen]) ^ word(*b"0000-00-");
    // The bit that tells the cases of a letter is cleared: `T` or `t`.
    let time = (word(clock) & !(0x20 << 16)) ^ word(*b"00T00:00");
    let too_large = (day.wrapping_add(word([DIGIT, DIGIT, DIGIT, DIGIT, SAME, DIGIT, DIGIT, SAME])) | day)
        | (time.wrapping_add(word([DIGIT, DIGIT, SAME, DIGIT, DIGIT, SAME, DIGIT, DIGIT])) | time);
    let Some(second) = two(*s1, *s2).filter(|_| too_large & 0x8080_8080_8080_8080 == 0) else { return false };
    // Every byte becomes ten times its digit plus the next one.
    let (day, time) = (day * 10 + (day >> 8), time * 10 + (time >> 8));
    let byte = |word: u64, at: u32| (word >> (8 * at) & 0xFF) as u32;
    let (hour, minute) = (byte(time, 3), byte(time, 6));
    if !is_calendar_day(byte(day, 0) * 100 + byte(day, 2), byte(day, 5), byte(time, 0)) {
        return false;
    }
    // PERF: the usual endings, `Z` and milliseconds.
    let is_usual = match rest {
        [b'Z'] => true,
        [b'.', ones, two, three, b'Z'] => {
            ones.is_ascii_digit() & two.is_ascii_digit() & three.is_ascii_digit()
        }
        _ => false,
    };
    if is_usual && second < 60 { hour < 24 && minute < 60 } else { is_clock(hour, minute, second, rest) }
}

/// `yyyy-mm-dd`.
pub(super) fn is_date(text: &str) -> bool {
    is_day(text.as_bytes())
}

/// `hh:mm:ss[.fraction]` and an offset.
pub(super) fn is_time(text: &str) -> bool {
    is_clock_time(text.as_bytes())
}

/// RFC 3339, appendix A: weeks alone, or units in descending order without a gap.
pub(super) fn is_duration(text: &str) -> bool {
    let Some(rest) = text.strip_prefix('P') else { return false };
    if let Some(weeks) = rest.strip_suffix('W') {
        return is_number(weeks);
    }
    let (date, time) = rest.split_once('T').map_or((rest, None), |(date, time)| (date, Some(time)));
    let has_date = !date.is_empty();
    (has_date || time.is_some())
        && (!has_date || is_run_of_units(date, "YMD"))
        && time.is_none_or(|time| !time.is_empty() && is_run_of_units(time, "HMS"))
}

fn is_number(text: &str) -> bool {
    !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit())
}

/// Numbers with units that follow each other in `units`; the first one may be any of them.
fn is_run_of_units(mut text: &str, units: &str) -> bool {
    let mut expected = None;
    while let Some(at) = text.find(|character: char| !character.is_ascii_digit()) {
        let (number, rest) = text.split_at(at);
        let mut behind = rest.chars();
        let place = behind.next().and_then(|unit| units.find(unit));
        if !is_number(number) || place.is_none() || expected.is_some_and(|expected| place != Some(expected)) {
            return false;
        }
        expected = place.map(|place| place + 1);
        text = behind.as_str();
    }
    text.is_empty() && expected.is_some()
}

/// A day of the calendar.
fn is_day(bytes: &[u8]) -> bool {
    let &[y1, y2, y3, y4, b'-', m1, m2, b'-', d1, d2] = bytes else { return false };
    let (Some(century), Some(year), Some(month), Some(day)) =
        (two(y1, y2), two(y3, y4), two(m1, m2), two(d1, d2))
    else {
        return false;
    };
    is_calendar_day(century * 100 + year, month, day)
}

#[inline]
fn is_calendar_day(year: u32, month: u32, day: u32) -> bool {
    // PERF: every month has 28 days, so most days need not know which month or year it is.
    year != 0
        && month.wrapping_sub(1) < 12
        && (day.wrapping_sub(1) < 28 || (day > 28 && day <= days_of(year, month)))
}

/// The days of a month.
#[cold]
fn days_of(year: u32, month: u32) -> u32 {
    let leap = year.is_multiple_of(4) && (!year.is_multiple_of(100) || year.is_multiple_of(400));
    match month {
        4 | 6 | 9 | 11 => 30,
        2 => 28 + u32::from(leap),
        _ => 31,
    }
}

/// A time of day with its offset.
fn is_clock_time(bytes: &[u8]) -> bool {
    let Some((&[h1, h2, b':', m1, m2, b':', s1, s2], rest)) = bytes.split_first_chunk::<8>() else {
        return false;
    };
    let (Some(hour), Some(minute), Some(second)) = (two(h1, h2), two(m1, m2), two(s1, s2)) else {
        return false;
    };
    is_clock(hour, minute, second, rest)
}

/// A time of day; `rest` is what stands behind the seconds.
#[inline(never)]
fn is_clock(hour: u32, minute: u32, second: u32, rest: &[u8]) -> bool {
    let rest = match rest {
        [b'.', fraction @ ..] => {
            let digits = fraction.iter().take_while(|byte| byte.is_ascii_digit()).count();
            match fraction.split_at_checked(digits) {
                Some((digits, rest)) if !digits.is_empty() => rest,
                _ => return false,
            }
        }
        rest => rest,
    };
    if hour > 23 || minute > 59 || second > 60 {
        return false;
    }
    let Some(offset) = offset_minutes(rest) else { return false };
    second < 60 || (i64::from(hour * 60 + minute) - offset).rem_euclid(24 * 60) == 24 * 60 - 1
}

/// Minutes east of UTC.
#[inline]
fn offset_minutes(bytes: &[u8]) -> Option<i64> {
    match *bytes {
        [b'Z' | b'z'] => Some(0),
        [sign @ (b'+' | b'-'), h1, h2, b':', m1, m2] => {
            let (hours, minutes) = (two(h1, h2)?, two(m1, m2)?);
            let east = i64::from(hours * 60 + minutes);
            (hours <= 23 && minutes <= 59).then_some(if sign == b'+' { east } else { -east })
        }
        _ => None,
    }
}

/// The value of two decimal digits.
#[inline]
fn two(tens: u8, ones: u8) -> Option<u32> {
    let (tens, ones) = (tens.wrapping_sub(b'0'), ones.wrapping_sub(b'0'));
    (tens < 10 && ones < 10).then(|| u32::from(tens) * 10 + u32::from(ones))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn date_times() {
        for (text, valid) in [
            ("2026-05-25T00:00:00Z", true),
            ("2026-05-25t00:00:00.123456789012z", true),
            ("2026-05-25T23:59:59+23:59", true),
            ("2024-02-29T00:00:00-00:00", true),
            ("2023-02-29T00:00:00Z", false),
            ("1900-02-29T00:00:00Z", false),
            ("2000-02-29T00:00:00Z", true),
            ("0000-01-01T00:00:00Z", false),
            ("2026-13-01T00:00:00Z", false),
            ("2026-04-31T00:00:00Z", false),
            ("2026-05-25 00:00:00Z", false),
            ("2026-05-25T00:00:00", false),
            ("2026-05-25T00:00:00.Z", false),
            ("2026-05-25T24:00:00Z", false),
            ("2026-05-25T00:00:00+24:00", false),
            ("2026-05-25T00:00:00+00:60", false),
            ("2016-12-31T23:59:60Z", true),
            ("2016-12-31T15:59:60-08:00", true),
            ("2017-01-01T08:59:60.5+09:00", true),
            ("2016-12-31T23:58:60Z", false),
            ("2016-12-31T23:59:61Z", false),
            ("2026-05-25T00:00:00Z\n", false),
            ("2026-0x-25T00:00:00Z", false),
            ("2026-05-25T00:00;00Z", false),
            ("2026-05-25T00.00:00Z", false),
            ("2026-05-25\u{14}00:00:00Z", false),
            ("2026-05-25V00:00:00Z", false),
            ("2026/05-25T00:00:00Z", false),
            ("2026-05.25T00:00:00Z", false),
            ("2026-05-25T00:0:000Z", false),
            (":026-05-25T00:00:00Z", false),
            ("/026-05-25T00:00:00Z", false),
            ("2026-05-25T00:0:00:0Z", false),
            ("2026-05-2éT00:00:00Z", false),
            ("2026-05-32T00:00:00Z", false),
            ("2026-05-00T00:00:00Z", false),
            ("2026-00-01T00:00:00Z", false),
            ("2026-05-25T00:60:00Z", false),
            ("٢026-05-25T00:00:00Z", false),
            ("", false),
        ] {
            assert_eq!(is_date_time(text), valid, "{text}");
        }
    }
}
