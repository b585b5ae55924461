//! Finding a string in a fixed set: the known names of an object, the strings of an `enum`.
//!
//! A string's *print* is its length and up to sixteen of its bytes, read as two words. Two strings of at most sixteen
//! bytes are equal if their prints are, so nearly every comparison is three word compares. The table's hash is one
//! multiplication of the print; the multiplier is searched at compile time until no two names collide, which makes
//! the table perfect for nearly every set. A record cannot make it slower: probes are bounded by the set itself.

/// A string's length and its first and last bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Print {
    pub(super) head: u64,
    pub(super) tail: u64,
    pub(super) len: usize,
}

impl Print {
    /// Strings of up to this many bytes are equal if their prints are.
    const EXACT_BYTES: usize = 16;

    #[inline]
    pub(super) fn of(text: &str) -> Self {
        let bytes = text.as_bytes();
        let len = bytes.len();
        if let (Some(first), Some(last)) = (bytes.first_chunk::<8>(), bytes.last_chunk::<8>()) {
            return Self { head: u64::from_le_bytes(*first), tail: u64::from_le_bytes(*last), len };
        }
        if let (Some(first), Some(last)) = (bytes.first_chunk::<4>(), bytes.last_chunk::<4>()) {
            let head = u64::from(u32::from_le_bytes(*first)) << 32 | u64::from(u32::from_le_bytes(*last));
            return Self { head, tail: 0, len };
        }
        let head = match *bytes {
            [a] => u64::from(a),
            [a, b] => u64::from(a) | u64::from(b) << 8,
            [a, b, c] => u64::from(a) | u64::from(b) << 8 | u64::from(c) << 16,
            _ => 0,
        };
        Self { head, tail: 0, len }
    }

    /// One word that differs for different prints nearly always.
    #[inline]
    pub(super) fn fold(self) -> u64 {
        let mixed = (self.head ^ self.tail.rotate_left(29)).wrapping_add((self.len as u64) << 56);
        mixed.wrapping_mul(0x9e37_79b9_7f4a_7c15)
    }

    #[inline]
    fn slot(self, multiplier: u64, shift: u32) -> usize {
        let mixed = self.head ^ self.tail.rotate_left(29) ^ (self.len as u64).wrapping_mul(0x1_0001_0001);
        (mixed.wrapping_mul(multiplier) >> shift) as usize
    }
}

/// A known string with its print.
#[derive(Debug)]
pub(super) struct Text {
    print: Print,
    text: Box<str>,
}

impl Text {
    pub(super) fn new(text: &str) -> Self {
        Self { print: Print::of(text), text: text.into() }
    }

    /// Whether `text`, whose print is given, is this string.
    #[inline]
    pub(super) fn is(&self, print: Print, text: &str) -> bool {
        self.print == print && (print.len <= Print::EXACT_BYTES || *self.text == *text)
    }
}

/// A set of strings, numbered in the order in which they were given.
#[derive(Debug)]
pub(super) struct NameTable {
    entries: Box<[Text]>,
    /// Entry number plus one by hash; zero is empty. Its length is a power of two, or zero for an empty set.
    buckets: Box<[u16]>,
    multiplier: u64,
    shift: u32,
}

impl NameTable {
    /// More strings than this do not fit the table.
    pub(super) const LEN_MAX: usize = 20_000;

    /// Prepares a table; the strings have to be different from each other and at most [`Self::LEN_MAX`].
    pub(super) fn new<'a>(texts: impl IntoIterator<Item = &'a str>) -> Self {
        let entries: Box<[Text]> = texts.into_iter().map(Text::new).collect();
        if entries.is_empty() {
            return Self { entries, buckets: Box::default(), multiplier: 0, shift: 0 };
        }
        let bits = (entries.len() * 3).next_power_of_two().trailing_zeros().max(2);
        let shift = 64 - bits;
        let multiplier = best_multiplier(&entries, shift);
        let mut buckets = vec![0_u16; 1 << bits].into_boxed_slice();
        for (number, entry) in entries.iter().enumerate() {
            let mut at = entry.print.slot(multiplier, shift);
            while let Some(bucket) = buckets.get_mut(at) {
                if *bucket == 0 {
                    *bucket = number as u16 + 1;
                    break;
                }
                at = (at + 1) & ((1 << bits) - 1);
            }
        }
        Self { entries, buckets, multiplier, shift }
    }

    /// The string with this number.
    pub(super) fn text(&self, number: u32) -> &str {
        self.entries.get(number as usize).map_or("", |entry| &entry.text)
    }

    /// Whether `text` is the string with this number.
    #[inline]
    pub(super) fn is(&self, number: u32, print: Print, text: &str) -> bool {
        self.entries.get(number as usize).is_some_and(|entry| entry.is(print, text))
    }

    /// The number of `text`, if it is in the set.
    #[inline]
    pub(super) fn find(&self, print: Print, text: &str) -> Option<u32> {
        let mask = self.buckets.len().wrapping_sub(1);
        let mut at = print.slot(self.multiplier, self.shift);
        loop {
            let number = u32::from(*self.buckets.get(at)?).checked_sub(1)?;
            if self.is(number, print, text) {
                return Some(number);
            }
            at = (at + 1) & mask;
        }
    }
}

/// The multiplier with the fewest collisions of a bounded search.
fn best_multiplier(entries: &[Text], shift: u32) -> u64 {
    // LIMIT: the search costs about a million steps at most, whatever the schema.
    let rounds = (1_000_000 / entries.len()).clamp(1, 4096);
    let mut used = vec![0_u32; 1 << (64 - shift)];
    let mut best = (usize::MAX, 0);
    let mut multiplier = 0x9e37_79b9_7f4a_7c15_u64;
    for round in 1..=rounds as u32 {
        let mut collisions = 0;
        for entry in entries {
            if let Some(bucket) = used.get_mut(entry.print.slot(multiplier, shift)) {
                collisions += usize::from(*bucket == round);
                *bucket = round;
            }
        }
        if collisions < best.0 {
            best = (collisions, multiplier);
        }
        if collisions == 0 {
            break;
        }
        multiplier = multiplier.wrapping_mul(0xd129_0d3a_24ef_7515).wrapping_add(0x632b_e59b_d9b4_e019) | 1;
    }
    best.1
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_string_is_found_and_no_other() {
        let mut texts: Vec<String> = (0..300).map(|n| format!("name-{n}")).collect();
        texts.extend(
            ["", "a", "ab", "abc", "abcd", "ä", "sixteen bytes ab", "seventeen bytes a"].map(String::from),
        );
        // Strings that differ in the middle only have one print.
        texts.extend((0..20).map(|n| format!("same-head-and-{n:02}-same-tail")));
        let table = NameTable::new(texts.iter().map(String::as_str));
        for (number, text) in texts.iter().enumerate() {
            assert_eq!(table.find(Print::of(text), text), Some(number as u32), "{text}");
        }
        for text in ["b", "name-300", "name-", "same-head-and-99-same-tail", "\0", "abc\0"] {
            assert_eq!(table.find(Print::of(text), text), None, "{text}");
        }
        assert_eq!(NameTable::new([]).find(Print::of("a"), "a"), None);
    }

    #[test]
    fn prints_tell_short_strings_apart() {
        let texts = ["", "\0", "a", "a\0", "aa", "aaa", "aaaa", "aaaaa", "aaaaaaaa", "aaaaaaaaa", "abaaaaaa"];
        for (i, left) in texts.iter().enumerate() {
            for (j, right) in texts.iter().enumerate() {
                assert_eq!(Print::of(left) == Print::of(right), i == j, "{left:?} {right:?}");
            }
        }
    }
}
