//! Finding a string in a fixed set: the known names of an object, the strings of an `enum`.
//!
//! A string's *print* is its length and up to 24 of its bytes, read as three words. Two strings of at most 24 bytes
//! are equal if their prints are, so nearly every comparison is four word compares. The table's hash is one
//! multiplication of the print; the multiplier is searched at compile time until no two names collide, which makes
//! the table perfect for nearly every set. A record cannot make it slower: probes are bounded by the set itself.

/// A string's length and up to 24 of its bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Print {
    pub(super) head: u64,
    /// Bytes 8 to 15 of a string that has more than sixteen.
    pub(super) middle: u64,
    pub(super) tail: u64,
    pub(super) len: usize,
}

impl Print {
    /// Strings of up to this many bytes are equal if their prints are.
    pub(super) const EXACT_BYTES: usize = 24;

    #[inline(always)]
    #[expect(clippy::inline_always, reason = "a call per member costs more than the look itself")]
    pub(super) fn of(text: &str) -> Self {
        let bytes = text.as_bytes();
        let len = bytes.len();
        if let (Some(first), Some(last)) = (bytes.first_chunk::<8>(), bytes.last_chunk::<8>()) {
            let beyond = bytes.get(8..).filter(|_| len > 16).and_then(<[u8]>::first_chunk);
            let middle = beyond.map_or(0, |bytes| u64::from_le_bytes(*bytes));
            return Self { head: u64::from_le_bytes(*first), middle, tail: u64::from_le_bytes(*last), len };
        }
        if let (Some(first), Some(last)) = (bytes.first_chunk::<4>(), bytes.last_chunk::<4>()) {
            let head = u64::from(u32::from_le_bytes(*first)) << 32 | u64::from(u32::from_le_bytes(*last));
            return Self { head, middle: 0, tail: 0, len };
        }
        let head = match *bytes {
            [a] => u64::from(a),
            [a, b] => u64::from(a) | u64::from(b) << 8,
            [a, b, c] => u64::from(a) | u64::from(b) << 8 | u64::from(c) << 16,
            _ => 0,
        };
        Self { head, middle: 0, tail: 0, len }
    }

    /// Whether it is the print of `text`. PERF: nothing is computed that is not compared.
    #[inline(always)]
    #[expect(clippy::inline_always, reason = "a call per member costs more than the look itself")]
    pub(super) fn is_of(&self, text: &str) -> bool {
        let bytes = text.as_bytes();
        if bytes.len() != self.len {
            return false;
        }
        match (bytes.first_chunk::<8>(), bytes.last_chunk::<8>()) {
            (Some(first), Some(last)) if self.len <= 16 => {
                u64::from_le_bytes(*first) == self.head && u64::from_le_bytes(*last) == self.tail
            }
            _ => Self::of(text) == *self,
        }
    }

    /// One word, never zero, that differs for different prints nearly always.
    #[inline]
    pub(super) fn fold(self) -> u32 {
        let mixed = (self.head ^ self.tail.rotate_left(29)).wrapping_add((self.len as u64) << 56);
        (mixed.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 32) as u32 | 1
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

    /// Whether `text` is this string.
    #[inline]
    pub(super) fn is(&self, text: &str) -> bool {
        self.print.is_of(text) && (self.print.len <= Print::EXACT_BYTES || *self.text == *text)
    }

    #[inline]
    fn has_print(&self, print: Print, text: &str) -> bool {
        self.print == print && (print.len <= Print::EXACT_BYTES || *self.text == *text)
    }
}

/// A set of strings, numbered in the order in which they were given.
#[derive(Debug)]
pub(super) struct NameTable {
    entries: Box<[Text]>,
    glances: Option<Glances>,
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
        let glances = Glances::new(&entries);
        if entries.is_empty() {
            return Self { entries, glances, buckets: Box::default(), multiplier: 0, shift: 0 };
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
        Self { entries, glances, buckets, multiplier, shift }
    }

    /// The string with this number.
    pub(super) fn text(&self, number: u32) -> &str {
        self.entries.get(number as usize).map_or("", |entry| &entry.text)
    }

    /// How to tell the strings apart at a glance, if eight of their bytes do.
    #[inline]
    pub(super) fn glances(&self) -> Option<&Glances> {
        self.glances.as_ref()
    }

    /// Notes something about every string, for [`Self::glance`].
    pub(super) fn note(&mut self, note: impl Fn(usize) -> u8) {
        for known in self.glances.iter_mut().flat_map(|glances| &mut glances.buckets) {
            known.note = note(usize::from(known.number));
        }
    }

    /// The string of the set that `text` is, if it is one; `glances` are those of the set.
    #[inline(always)]
    #[expect(clippy::inline_always, reason = "a call per member costs more than the look itself")]
    pub(super) fn glance<'g>(&self, glances: &'g Glances, text: &str) -> Option<&'g Known> {
        let (words, len) = (Glances::words(text), text.len() as u32);
        let known = glances.buckets.get(glances.bucket(words, len))?;
        // PERF: one branch for all of it.
        let differ = |different, (one, other): (&u32, &u32)| different | (one ^ other);
        if known.words.iter().zip(&words).fold(known.len ^ len, differ) != 0 {
            return None;
        }
        if len > Known::EXACT_BYTES && self.text(u32::from(known.number)) != text {
            return None;
        }
        Some(known)
    }

    /// Whether `text` is in the set.
    #[inline]
    pub(super) fn contains(&self, text: &str) -> bool {
        match &self.glances {
            Some(glances) => self.glance(glances, text).is_some(),
            None => self.find(text).is_some(),
        }
    }

    /// The number of `text`, if it is in the set.
    #[inline]
    pub(super) fn find(&self, text: &str) -> Option<u32> {
        let print = Print::of(text);
        let mask = self.buckets.len().wrapping_sub(1);
        let mut at = print.slot(self.multiplier, self.shift);
        loop {
            let number = u32::from(*self.buckets.get(at)?).checked_sub(1)?;
            if self.entries.get(number as usize).is_some_and(|entry| entry.has_print(print, text)) {
                return Some(number);
            }
            at = (at + 1) & mask;
        }
    }
}

/// Tells the strings of a set apart by eight of their bytes, and compares sixteen.
///
/// PERF: a glance has hardly a branch that depends on the string, so that members in an order never seen before cost no
/// mispredicted branches.
#[derive(Debug)]
pub(super) struct Glances {
    /// By hash of the first and the last four bytes and the length.
    buckets: Box<[Known]>,
    multiplier: u32,
    shift: u32,
}

/// A string of the set, as a glance sees it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Known {
    words: [u32; 4],
    len: u32,
    pub(super) number: u16,
    /// What the owner of the set noted about the string.
    pub(super) note: u8,
}

impl Known {
    /// Has the place of a string where there is none: no string is that long.
    const NONE: Self = Self { words: [0; 4], len: u32::MAX, number: 0, note: 0 };
    /// Strings of up to this many bytes are equal if their words and lengths are.
    const EXACT_BYTES: u32 = 16;
}

impl Glances {
    /// LIMIT: larger sets are found by their prints.
    pub(super) const LEN_MAX: usize = 64;

    /// Searches for a multiplier that tells all strings apart, within bounds.
    fn new(entries: &[Text]) -> Option<Self> {
        if entries.is_empty() || entries.len() > Self::LEN_MAX {
            return None;
        }
        let bits = (entries.len() * 4).next_power_of_two().trailing_zeros();
        let mut multiplier = 0x9e37_79b1_u32;
        (0..1000).find_map(|_| {
            multiplier = multiplier.wrapping_mul(0x2c1b_3c6d).wrapping_add(0x297a_2d39) | 1;
            Self { buckets: Box::default(), multiplier, shift: 32 - bits }.filled(entries, bits)
        })
    }

    fn filled(mut self, entries: &[Text], bits: u32) -> Option<Self> {
        let mut buckets = vec![Known::NONE; 1 << bits];
        for (number, entry) in entries.iter().enumerate() {
            let words = Self::words(&entry.text);
            let bucket = buckets.get_mut(self.bucket(words, entry.text.len() as u32))?;
            if *bucket != Known::NONE {
                return None;
            }
            *bucket = Known { words, len: entry.text.len() as u32, number: number as u16, note: 0 };
        }
        self.buckets = buckets.into_boxed_slice();
        Some(self)
    }

    /// The first and the last eight bytes, which may overlap, in words; of strings below four bytes one word is all.
    #[inline(always)]
    #[expect(clippy::inline_always, reason = "a call per member costs more than the look itself")]
    fn words(text: &str) -> [u32; 4] {
        let bytes = text.as_bytes();
        let word = |at: usize| {
            let bytes = bytes.get(at..).and_then(<[u8]>::first_chunk);
            bytes.map_or(0, |bytes| u32::from_le_bytes(*bytes))
        };
        match bytes.len().checked_sub(4) {
            Some(last) => [word(0), word(last.min(4)), word(last.saturating_sub(4)), word(last)],
            None => [bytes.iter().fold(0, |word, byte| word << 8 | u32::from(*byte)), 0, 0, 0],
        }
    }

    #[inline]
    fn bucket(&self, [first, _, _, last]: [u32; 4], len: u32) -> usize {
        let glance = (first ^ last.rotate_left(13)).wrapping_add(len << 26);
        (glance.wrapping_mul(self.multiplier) >> self.shift) as usize
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
            assert_eq!(table.find(text), Some(number as u32), "{text}");
            assert!(table.contains(text), "{text}");
        }
        for text in ["b", "name-300", "name-", "same-head-and-99-same-tail", "\0", "abc\0"] {
            assert_eq!(table.find(text), None, "{text}");
            assert!(!table.contains(text), "{text}");
        }
        assert_eq!(NameTable::new([]).find("a"), None);
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
