//! Writing the places of templates: ids, times, numbers, words. Everything follows from the record's seed.

use super::Random;
use super::template::Place;

/// Which of three spellings of the same value is wanted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Spelling {
    /// As producers write it, in the style of the stream.
    Wire { plain: bool },
    /// By RFC 8785.
    Jcs { plain: bool },
    /// As CPython's `json` writes it, in ASCII.
    Cpython { plain: bool },
}

/// What the places of one record depend on.
#[derive(Clone, Copy, Debug)]
pub(super) struct Values<'k> {
    /// The seed of the scene.
    pub(super) scene_seed: u64,
    /// The scene's number.
    pub(super) scene: u64,
    /// Which step of the scene this is.
    pub(super) step: u8,
    /// Microseconds since the epoch.
    pub(super) time: i64,
    pub(super) session: &'k str,
    pub(super) tenant: &'k str,
    pub(super) tokens: &'k [String],
    /// Bytes of the padding.
    pub(super) pad: usize,
}

impl Values<'_> {
    /// Writes a place; the signature is the signer's.
    pub(super) fn write(&self, place: Place, spelling: Spelling, out: &mut Vec<u8>) {
        match place {
            Place::Id(step) => write_uuid(self.draw(step.unwrap_or(self.step).into()), out),
            Place::Uuid(which) => write_uuid(self.draw(0x100 + u64::from(which)), out),
            Place::Time(later) => write_time(self.time + later * 1_000_000, out),
            Place::Unix(later) => write_number(self.time.div_euclid(1_000_000) + later, out),
            Place::UnixMillis(later) => write_number(self.time.div_euclid(1_000) + later * 1_000, out),
            Place::Number(bound) => {
                let number = self.of_step(0x200 + u64::from(bound)).below(u64::from(bound));
                write_number(number as i64, out);
            }
            Place::Scene => write_number(self.scene as i64, out),
            Place::Session => out.extend_from_slice(self.session.as_bytes()),
            Place::Tenant => out.extend_from_slice(self.tenant.as_bytes()),
            Place::Words(bytes, which) => {
                let mut random = self.of_step(0x300 + u64::from(which));
                write_words(&mut random, usize::from(bytes), spelling, out);
            }
            Place::Pad => write_words(&mut self.of_step(0x400), self.pad, spelling, out),
            Place::Weight => out.extend_from_slice(weight(self.of_step(0x500).next(), spelling).as_bytes()),
            Place::Token(which) => {
                out.extend_from_slice(
                    self.tokens.get(usize::from(which)).map_or(b"", |token| token.as_bytes()),
                );
            }
            Place::Signature => {}
        }
    }

    /// Random bits that belong to the scene.
    fn draw(&self, what: u64) -> (u64, u64) {
        let mut random = Random::new(self.scene_seed ^ what.wrapping_mul(0xD6E8_FEB8_6659_FD93));
        (random.next(), random.next())
    }

    /// A generator that belongs to this step of the scene.
    fn of_step(&self, what: u64) -> Random {
        let what = what << 8 | u64::from(self.step);
        Random::new(self.scene_seed ^ what.wrapping_mul(0xA076_1D64_78BD_642F))
    }
}

/// Texts in their three spellings: as producers write them, by RFC 8785, and in ASCII.
const PHRASES: [(&str, &str, &str); 24] = {
    const fn plain(text: &'static str) -> (&'static str, &'static str, &'static str) {
        (text, text, text)
    }
    [
        plain("review the parser before the merge, "),
        plain("retry with backoff, "),
        plain("update the guide and its examples, "),
        plain("the queue has a limit of 4096 records, "),
        plain("tests pass on both branches, "),
        plain("an agent asks for the window, "),
        plain("see lines 120 to 164 of the report, "),
        plain("two workers took 0.4 s, "),
        plain("nothing else depends on it, "),
        plain("measure first, then change it, "),
        plain("keep the old name for a release, "),
        plain("the plan names three owners, "),
        plain("split the batch in two, "),
        plain("wait for the answer of the gate, "),
        plain("a sample of 1000 envelopes, "),
        plain("roll back if it fails, "),
        // From here on the spellings differ.
        ("café and naïve, ", "café and naïve, ", "caf\\u00e9 and na\\u00efve, "),
        ("first line\\nsecond line, ", "first line\\nsecond line, ", "first line\\nsecond line, "),
        ("a \\\"quoted\\\" word, ", "a \\\"quoted\\\" word, ", "a \\\"quoted\\\" word, "),
        ("path\\/to\\/file, ", "path/to/file, ", "path/to/file, "),
        ("\\u00fcbersicht, ", "übersicht, ", "\\u00fcbersicht, "),
        ("tab\\tstop, ", "tab\\tstop, ", "tab\\tstop, "),
        ("\\ud83d\\ude80 launch, ", "🚀 launch, ", "\\ud83d\\ude80 launch, "),
        ("東京 office, ", "東京 office, ", "\\u6771\\u4eac office, "),
    ]
};
/// Phrases that need no escape in any form.
const PLAIN: u64 = 16;

/// What fills up the rest, which is shorter than a phrase.
const TAIL: &[u8; 40] = b"the rest of it is for those who read on.";

/// Whole phrases, then letters, so many bytes in all on the wire.
fn write_words(random: &mut Random, bytes: usize, spelling: Spelling, out: &mut Vec<u8>) {
    let (Spelling::Wire { plain } | Spelling::Jcs { plain } | Spelling::Cpython { plain }) = spelling;
    let kinds = if plain { PLAIN } else { PHRASES.len() as u64 };
    let mut left = bytes;
    // Eight draws of a phrase from each number.
    let (mut bits, mut draws) = (0_u64, 0);
    loop {
        if draws == 0 {
            (bits, draws) = (random.next(), 8);
        }
        let kind = ((bits & 0xFF) * kinds) >> 8;
        (bits, draws) = (bits >> 8, draws - 1);
        let Some((wire, jcs, cpython)) = PHRASES.get(kind as usize) else { return };
        let Some(rest) = left.checked_sub(wire.len()) else { break };
        left = rest;
        let text = match spelling {
            Spelling::Wire { .. } => wire,
            Spelling::Jcs { .. } => jcs,
            Spelling::Cpython { .. } => cpython,
        };
        out.extend_from_slice(text.as_bytes());
    }
    out.extend_from_slice(TAIL.get(..left.min(TAIL.len())).unwrap_or_default());
}

/// A number whose canonical forms differ.
fn weight(bits: u64, spelling: Spelling) -> &'static str {
    const WEIGHTS: [(&str, &str, &str); 8] = [
        ("0.75", "0.75", "0.75"),
        ("0.5", "0.5", "0.5"),
        ("12.25", "12.25", "12.25"),
        ("3.125", "3.125", "3.125"),
        ("1.0", "1", "1.0"),
        ("1e2", "100", "100.0"),
        ("2.50", "2.5", "2.5"),
        ("1E-7", "1e-7", "1e-07"),
    ];
    let (Spelling::Wire { plain } | Spelling::Jcs { plain } | Spelling::Cpython { plain }) = spelling;
    let kinds = if plain { 4 } else { 8 };
    let (wire, jcs, cpython) = WEIGHTS.get((bits % kinds) as usize).copied().unwrap_or_default();
    match spelling {
        Spelling::Wire { .. } => wire,
        Spelling::Jcs { .. } => jcs,
        Spelling::Cpython { .. } => cpython,
    }
}

/// A version 4 UUID of 122 random bits.
fn write_uuid((high, low): (u64, u64), out: &mut Vec<u8>) {
    const VERSION: u64 = 0xFFFF_FFFF_FFFF_0FFF;
    let bytes = [(high & VERSION | 0x4000).to_be_bytes(), (low >> 2 | 1 << 63).to_be_bytes()];
    let mut text = [b'-'; 36];
    let mut places = text.iter_mut().enumerate().filter(|(at, _)| !matches!(at, 8 | 13 | 18 | 23));
    for byte in bytes.as_flattened() {
        for digit in [byte >> 4, byte & 15] {
            if let Some((_, place)) = places.next() {
                *place = HEX.get(usize::from(digit)).copied().unwrap_or(b'0');
            }
        }
    }
    out.extend_from_slice(&text);
}

const HEX: &[u8; 16] = b"0123456789abcdef";

/// Lower-case hexadecimal digits.
pub(super) fn write_hex(bytes: &[u8], out: &mut Vec<u8>) {
    for byte in bytes {
        for digit in [byte >> 4, byte & 15] {
            out.push(HEX.get(usize::from(digit)).copied().unwrap_or(b'0'));
        }
    }
}

fn write_number(number: i64, out: &mut Vec<u8>) {
    if number < 0 {
        out.push(b'-');
    }
    let (mut rest, mut digits, mut at) = (number.unsigned_abs(), [0_u8; 20], 20_usize);
    while let Some(place) = at.checked_sub(1).and_then(|before| digits.get_mut(before)) {
        (*place, rest, at) = (b'0' + (rest % 10) as u8, rest / 10, at - 1);
        if rest == 0 {
            break;
        }
    }
    out.extend_from_slice(digits.get(at..).unwrap_or_default());
}

/// A date-time by RFC 3339 with microseconds.
pub(super) fn write_time(micros: i64, out: &mut Vec<u8>) {
    let (days, of_day) = (micros.div_euclid(86_400_000_000), micros.rem_euclid(86_400_000_000));
    let (year, month, day) = civil(days);
    let seconds = of_day / 1_000_000;
    let mut text = *b"0000-00-00T00:00:00.000000Z";
    let parts = [
        (0, 4, year),
        (5, 2, month),
        (8, 2, day),
        (11, 2, seconds / 3600),
        (14, 2, seconds / 60 % 60),
        (17, 2, seconds % 60),
        (20, 6, of_day % 1_000_000),
    ];
    for (start, width, mut value) in parts {
        for place in text.iter_mut().skip(start).take(width).rev() {
            *place = b'0' + (value % 10) as u8;
            value /= 10;
        }
    }
    out.extend_from_slice(&text);
}

/// Year, month and day of a day since the epoch, in the Gregorian calendar.
fn civil(days: i64) -> (i64, i64, i64) {
    let shifted = days + 719_468;
    let (era, of_era) = (shifted.div_euclid(146_097), shifted.rem_euclid(146_097));
    let year_of_era = (of_era - of_era / 1460 + of_era / 36_524 - of_era / 146_096) / 365;
    let of_year = of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let shifted_month = (5 * of_year + 2) / 153;
    let day = of_year - (153 * shifted_month + 2) / 5 + 1;
    let month = if shifted_month < 10 { shifted_month + 3 } else { shifted_month - 9 };
    (year_of_era + era * 400 + i64::from(month <= 2), month, day)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::clock::Timestamp;

    #[test]
    fn times_are_read_back() {
        for micros in [0, 1_772_539_200_123_456, 951_782_399_999_999, 4_102_444_799_000_000, -1] {
            let mut text = Vec::new();
            write_time(micros, &mut text);
            let text = String::from_utf8(text).unwrap();
            assert_eq!(Timestamp::from_rfc3339(&text), Some(Timestamp::from_micros(micros)), "{text}");
        }
    }

    #[test]
    fn numbers_and_ids_have_their_form() {
        let text = |write: &dyn Fn(&mut Vec<u8>)| {
            let mut out = Vec::new();
            write(&mut out);
            String::from_utf8(out).unwrap()
        };
        assert_eq!(text(&|out| write_number(0, out)), "0");
        assert_eq!(text(&|out| write_number(-9_000_000_000, out)), "-9000000000");
        let id = text(&|out| write_uuid((u64::MAX, u64::MAX), out));
        assert_eq!(id, "ffffffff-ffff-4fff-bfff-ffffffffffff");
        assert_eq!(text(&|out| write_uuid((0, 0), out)), "00000000-0000-4000-8000-000000000000");
    }

    #[test]
    fn words_have_the_same_number_of_bytes_on_the_wire_and_one_meaning_in_all_forms() {
        for seed in 0..200 {
            let words = |spelling| {
                let mut out = Vec::new();
                write_words(&mut Random::new(seed), 300, spelling, &mut out);
                String::from_utf8(out).unwrap()
            };
            let wire = words(Spelling::Wire { plain: false });
            assert_eq!(wire.len(), 300, "seed {seed}");
            let read = |text: &str| serde_json::from_str::<String>(&format!("\"{text}\"")).unwrap();
            assert_eq!(read(&wire), read(&words(Spelling::Jcs { plain: false })), "seed {seed}");
            assert_eq!(read(&wire), read(&words(Spelling::Cpython { plain: false })), "seed {seed}");
        }
    }
}
