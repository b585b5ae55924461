//! Finding a string in a fixed set: the known names of an object, the strings of an `enum`.
//!
//! A string's *print* is its length and up to 24 of its bytes, read as three words. Two strings of at most 24 bytes
//! are equal if their prints are, so nearly every comparison is four word compares. The table's hash is one
//! multiplication of the print; the multiplier is searched at compile time until no two names collide, which makes
//! the table perfect for nearly every set. Longer strings may share a print, so all of their bytes count, with a key that
//! is random in each process: neither a schema nor a record can make the table slow.

use std::hash::{BuildHasher, RandomState};

use super::ops::{Op, Pass};

/// A string's length and up to 24 of its bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Print {
    pub(super) ends: Ends,
    /// Bytes 8 to 15 of a string that has more than sixteen.
    middle: u64,
    pub(super) len: u32,
}

impl Print {
    /// Strings of up to this many bytes are equal if their prints are.
    pub(super) const EXACT_BYTES: u32 = 24;

    #[inline]
    pub(super) fn of(text: &str) -> Self {
        Self { ends: Ends::of(text), middle: middle_of(text.as_bytes()), len: text.len() as u32 }
    }

    /// Whether it is the print of `text`. PERF: nothing is computed that is not compared.
    #[inline(always)]
    #[expect(clippy::inline_always, reason = "a call per member costs more than the look itself")]
    pub(super) fn is_of(&self, text: &str) -> bool {
        if text.len() as u32 != self.len {
            return false;
        }
        let ends = Ends::of(text);
        (ends.head ^ self.ends.head) | (ends.tail ^ self.ends.tail) == 0
            && (self.len <= 16 || middle_of(text.as_bytes()) == self.middle)
    }

    /// What a string with this print is found by.
    #[inline]
    fn hash(self, text: &str, keys: &Keys) -> u64 {
        if self.len > Self::EXACT_BYTES {
            return keys.hash(text);
        }
        let Ends { head, tail } = self.ends;
        head ^ tail.rotate_left(29) ^ u64::from(self.len).wrapping_mul(0x1_0001_0001)
    }
}

/// Random in each process: whoever makes names cannot know which of them share a bucket.
#[derive(Clone, Debug)]
pub(super) struct Keys([u64; 2]);

impl Default for Keys {
    fn default() -> Self {
        let random = RandomState::new();
        Self([random.hash_one(1), random.hash_one(2) | 1])
    }
}

impl Keys {
    /// A keyed hash of a name: its print and, if it is longer, all its words, folded by wide multiplications.
    #[inline]
    pub(super) fn hash(&self, name: &str) -> u64 {
        let Self([first, second]) = *self;
        let print = Print::of(name);
        let mut hash = fold(print.ends.head ^ first, print.ends.tail ^ second ^ u64::from(print.len));
        if print.len > 16 {
            for word in name.as_bytes().chunks_exact(8) {
                let word = word.first_chunk().map_or(0, |bytes| u64::from_le_bytes(*bytes));
                hash = fold(hash ^ word, second);
            }
        }
        fold(hash ^ first, second)
    }
}

/// The two halves of a wide product, mixed.
#[inline]
fn fold(left: u64, right: u64) -> u64 {
    let product = u128::from(left) * u128::from(right);
    (product as u64) ^ (product >> 64) as u64
}

/// The bucket of a hash in a table.
#[inline]
fn bucket(hash: u64, multiplier: u64, shift: u32) -> usize {
    (hash.wrapping_mul(multiplier) >> shift) as usize
}

/// Bytes 8 to 15 of a string that has more than sixteen.
#[inline(never)]
fn middle_of(bytes: &[u8]) -> u64 {
    let middle = bytes.get(8..).filter(|_| bytes.len() > 16).and_then(<[u8]>::first_chunk);
    middle.map_or(0, |bytes| u64::from_le_bytes(*bytes))
}

/// A known string with its print.
#[derive(Clone, Debug)]
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
#[derive(Clone, Debug)]
pub(super) struct NameTable {
    entries: Box<[Text]>,
    glances: Option<Box<Glances>>,
    /// Entry number plus one by hash; zero is empty. Its length is a power of two, or zero for an empty set.
    buckets: Box<[u16]>,
    multiplier: u64,
    shift: u32,
    keys: Keys,
}

impl NameTable {
    /// More strings than this do not fit the table.
    pub(super) const LEN_MAX: usize = 20_000;

    /// LIMIT: sets of one kind that get glances, which take 8 KB each.
    const GLANCES_MAX: usize = 1024;

    /// Prepares a table; the strings have to be different from each other and at most [`Self::LEN_MAX`]. `before` says
    /// how many tables there are already.
    pub(super) fn new<'a>(texts: impl IntoIterator<Item = &'a str>, before: usize) -> Self {
        let entries: Box<[Text]> = texts.into_iter().map(Text::new).collect();
        let glances = if before < Self::GLANCES_MAX { Glances::new(&entries) } else { None };
        if entries.is_empty() {
            return Self {
                entries,
                glances,
                buckets: Box::default(),
                multiplier: 0,
                shift: 0,
                keys: Keys::default(),
            };
        }
        let keys = Keys::default();
        let hashes: Vec<u64> = entries.iter().map(|entry| entry.print.hash(&entry.text, &keys)).collect();
        let bits = (entries.len() * 3).next_power_of_two().trailing_zeros().max(2);
        let shift = 64 - bits;
        let multiplier = best_multiplier(&hashes, shift);
        let mut buckets = vec![0_u16; 1 << bits].into_boxed_slice();
        for (number, hash) in hashes.iter().enumerate() {
            let mut at = bucket(*hash, multiplier, shift);
            while let Some(bucket) = buckets.get_mut(at) {
                if *bucket == 0 {
                    *bucket = number as u16 + 1;
                    break;
                }
                at = (at + 1) & ((1 << bits) - 1);
            }
        }
        Self { entries, glances, buckets, multiplier, shift, keys }
    }

    /// The string with this number.
    pub(super) fn text(&self, number: u32) -> &str {
        self.entries.get(number as usize).map_or("", |entry| &entry.text)
    }

    /// How to tell the strings apart at a glance, if their ends do.
    #[inline]
    pub(super) fn glances(&self) -> Option<&Glances> {
        self.glances.as_deref()
    }

    /// What was noted about a name of the set.
    pub(super) fn known(&self, name: &str) -> Option<&Known> {
        self.glances.as_ref()?.find(name, self)
    }

    /// Notes the op of each name, what passes it at a look and the plan of the plain objects that it takes, for
    /// [`Glances::find`].
    pub(super) fn note(&mut self, ops: &[Op], notes: impl Fn(&Op) -> (Pass, u32)) {
        let Some(glances) = &mut self.glances else { return };
        for known in glances.buckets.iter_mut().filter(|known| known.ends != Known::NONE.ends) {
            if let Some(op) = ops.get(known.number as usize) {
                known.op = *op;
                (known.pass, known.inner) = notes(op);
            }
        }
    }

    /// Whether the string with this number is `text`.
    #[inline(never)]
    fn is_text(&self, number: u8, text: &str) -> bool {
        self.text(u32::from(number)) == text
    }

    /// Whether `text` is in the set.
    #[inline]
    pub(super) fn contains(&self, text: &str) -> bool {
        self.find(text).is_some()
    }

    /// The number of `text`, if it is in the set.
    #[inline]
    pub(super) fn find(&self, text: &str) -> Option<u32> {
        match &self.glances {
            Some(glances) => glances.find(text, self).map(|known| u32::from(known.number)),
            None => self.find_by_print(text),
        }
    }

    /// PERF: out of line, so that a glance needs no stack.
    #[inline(never)]
    fn find_by_print(&self, text: &str) -> Option<u32> {
        let print = Print::of(text);
        let mask = self.buckets.len().wrapping_sub(1);
        let mut at = bucket(print.hash(text, &self.keys), self.multiplier, self.shift);
        loop {
            let number = u32::from(*self.buckets.get(at)?).checked_sub(1)?;
            if self.entries.get(number as usize).is_some_and(|entry| entry.has_print(print, text)) {
                return Some(number);
            }
            at = (at + 1) & mask;
        }
    }
}

/// Tells the strings of a set apart by their ends: a hash without collisions, and one comparison.
///
/// PERF: apart from the class of a string's length, nothing here branches on what the string is, so members in an order
/// never seen before cost hardly more than those in a known one. The size is fixed, so that a look needs no bounds.
#[derive(Clone, Debug)]
pub(super) struct Glances {
    multiplier: u64,
    /// By hash of the ends.
    buckets: [Known; 1 << Glances::BITS],
}

/// A string of the set, as a glance sees it, and what its owner noted about it. PERF: it has a cache line of its own,
/// and where it stands is a shift.
#[derive(Clone, Copy, Debug)]
#[repr(align(64))]
pub(super) struct Known {
    ends: Ends,
    len: u32,
    pub(super) number: u8,
    /// What passes at a look under this name …
    pub(super) pass: Pass,
    /// … and what everything else has to pass.
    pub(super) op: Op,
    /// The plan of objects under this name, if they are plain ones; otherwise [`Known::NO_PLAN`].
    pub(super) inner: u32,
}

const _: () = assert!(size_of::<Known>() == 64, "a name fits a cache line");

impl Known {
    /// Has the place of a string where there is none: no text has such bytes.
    const NONE: Self = Self {
        ends: Ends { head: u64::MAX, tail: 0 },
        len: 0,
        number: 0,
        pass: Pass::NOTHING,
        op: Op::OPEN,
        inner: Self::NO_PLAN,
    };

    /// No program has so many plans.
    pub(super) const NO_PLAN: u32 = u32::MAX;

    /// One bit, by its number.
    #[inline]
    pub(super) fn bit(&self) -> u64 {
        1 << self.number
    }
}

/// The first and the last eight bytes of a string, which may overlap. Strings below eight bytes are told by the first
/// and the last four, those below four by all they have. With the length, that is all there is to a string of up to
/// sixteen bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Ends {
    pub(super) head: u64,
    pub(super) tail: u64,
}

impl Ends {
    const EXACT_BYTES: usize = 16;

    #[inline(always)]
    #[expect(clippy::inline_always, reason = "a call per member costs more than the look itself")]
    pub(super) fn of(text: &str) -> Self {
        let bytes = text.as_bytes();
        if let (Some(first), Some(last)) = (bytes.first_chunk::<8>(), bytes.last_chunk::<8>()) {
            return Self { head: u64::from_le_bytes(*first), tail: u64::from_le_bytes(*last) };
        }
        if let (Some(first), Some(last)) = (bytes.first_chunk::<4>(), bytes.last_chunk::<4>()) {
            let word = |bytes: &[u8; 4]| u64::from(u32::from_le_bytes(*bytes));
            return Self { head: word(first), tail: word(last) };
        }
        match *bytes {
            [first, second, third] => Self::of_few(first, second, third),
            [first, second] => Self::of_few(first, second, 0),
            [only] => Self::of_few(only, 0, 0),
            _ => Self::of_few(0, 0, 0),
        }
    }

    /// The ends of less than four bytes; the length tells a zero from none.
    #[inline]
    fn of_few(first: u8, second: u8, third: u8) -> Self {
        Self { head: u64::from(first) | u64::from(second) << 8, tail: u64::from(third) << 16 }
    }

    #[inline(always)]
    #[expect(clippy::inline_always, reason = "a call per member costs more than the look itself")]
    fn bucket(self, multiplier: u64) -> usize {
        (self.head.wrapping_add(self.tail).wrapping_mul(multiplier) >> (64 - Glances::BITS)) as usize
    }

    /// A word whose upper bits differ for different ends nearly always.
    #[inline(always)]
    #[expect(clippy::inline_always, reason = "a call per member costs more than the look itself")]
    pub(super) fn mixed(self) -> u64 {
        (self.head ^ self.tail.rotate_left(29)).wrapping_mul(0x9e37_79b9_7f4a_7c15)
    }
}

impl Glances {
    const BITS: u32 = 7;

    /// LIMIT: larger sets are found by their prints.
    const LEN_MAX: usize = 40;

    /// LIMIT: multipliers that are tried.
    const TRIES_MAX: usize = 4000;

    /// Searches for a multiplier that tells all strings apart, within bounds.
    fn new(entries: &[Text]) -> Option<Box<Self>> {
        if entries.is_empty() || entries.len() > Self::LEN_MAX {
            return None;
        }
        let mut multiplier = 0x9e37_79b9_7f4a_7c15_u64;
        for _ in 0..Self::TRIES_MAX {
            multiplier =
                multiplier.wrapping_mul(0xd129_0d3a_24ef_7515).wrapping_add(0x632b_e59b_d9b4_e019) | 1;
            let mut taken = 0_u128;
            let is_free = |entry: &Text| {
                let bit = 1 << entry.print.ends.bucket(multiplier);
                let free = taken & bit == 0;
                taken |= bit;
                free
            };
            if entries.iter().all(is_free) {
                return Some(Self::filled(entries, multiplier));
            }
        }
        None
    }

    fn filled(entries: &[Text], multiplier: u64) -> Box<Self> {
        let mut glances = Box::new(Self { multiplier, buckets: [Known::NONE; 1 << Self::BITS] });
        for (number, entry) in entries.iter().enumerate() {
            let ends = entry.print.ends;
            if let Some(bucket) = glances.buckets.get_mut(ends.bucket(multiplier)) {
                let (len, number) = (entry.text.len() as u32, number as u8);
                *bucket = Known { ends, len, number, ..Known::NONE };
            }
        }
        glances
    }

    /// The string that `text` is, if it is one of the set, which `names` holds.
    #[inline(always)]
    #[expect(clippy::inline_always, reason = "a call per member costs more than the look itself")]
    pub(super) fn find(&self, text: &str, names: &NameTable) -> Option<&Known> {
        let ends = Ends::of(text);
        let known = self.buckets.get(ends.bucket(self.multiplier))?;
        // PERF: one branch for all three words.
        let Ends { head, tail } = known.ends;
        let len = u64::from(known.len ^ text.len() as u32);
        if (head ^ ends.head) | (tail ^ ends.tail) | len != 0 {
            return None;
        }
        (text.len() <= Ends::EXACT_BYTES || names.is_text(known.number, text)).then_some(known)
    }
}

/// The multiplier with the fewest collisions of a bounded search.
fn best_multiplier(hashes: &[u64], shift: u32) -> u64 {
    // LIMIT: the search costs about a million steps at most, whatever the schema.
    let rounds = (1_000_000 / hashes.len()).clamp(1, 4096);
    let mut used = vec![0_u32; 1 << (64 - shift)];
    let mut best = (usize::MAX, 0);
    let mut multiplier = 0x9e37_79b9_7f4a_7c15_u64;
    for round in 1..=rounds as u32 {
        let mut collisions = 0;
        for hash in hashes {
            if let Some(bucket) = used.get_mut(bucket(*hash, multiplier, shift)) {
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
        let table = NameTable::new(texts.iter().map(String::as_str), 0);
        for (number, text) in texts.iter().enumerate() {
            assert_eq!(table.find(text), Some(number as u32), "{text}");
            assert!(table.contains(text), "{text}");
        }
        for text in ["b", "name-300", "name-", "same-head-and-99-same-tail", "\0", "abc\0"] {
            assert_eq!(table.find(text), None, "{text}");
            assert!(!table.contains(text), "{text}");
        }
        assert_eq!(NameTable::new([], 0).find("a"), None);
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
