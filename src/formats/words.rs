//! Fixed lists of words that a format knows, and the place of a text in one. Nothing here allocates.

use crate::outline::print;

/// Words by their place in a list.
///
/// PERF: a text is told by its first and last eight bytes, which lead to one place of a table without collisions. So a
/// look-up takes one comparison, and but for classes of lengths no branch depends on which word it is.
pub(super) struct Words<const N: usize> {
    pub(super) texts: [&'static str; N],
    prints: [(u64, u64); N],
    multiplier: u64,
    /// The place of a word and one more, by the hash of its print; zero is none.
    places: [u8; 1 << HASH_BITS],
}

const HASH_BITS: u32 = 6;

impl<const N: usize> Words<N> {
    /// A list; made when the program is compiled.
    #[expect(clippy::indexing_slicing, clippy::panic, reason = "a list that does not fit is not compiled")]
    pub(super) const fn new(texts: [&'static str; N]) -> Self {
        const TRIES_MAX: u32 = 1000;
        let mut prints = [(0, 0); N];
        let mut place = 0;
        while place < N {
            prints[place] = print(texts[place]);
            place += 1;
        }
        let (mut multiplier, mut tries) = (0x9e37_79b9_7f4a_7c15_u64, 0);
        while tries < TRIES_MAX {
            let (mut places, mut place) = ([0_u8; 1 << HASH_BITS], 0);
            while place < N && places[bucket(prints[place], multiplier)] == 0 {
                places[bucket(prints[place], multiplier)] = place as u8 + 1;
                place += 1;
            }
            if place == N {
                return Self { texts, prints, multiplier, places };
            }
            multiplier =
                multiplier.wrapping_mul(0xd129_0d3a_24ef_7515).wrapping_add(0x632b_e59b_d9b4_e019) | 1;
            tries += 1;
        }
        panic!("two words begin and end alike, or there are too many")
    }

    /// The place of a text, if it is one of the words.
    #[inline]
    pub(super) fn place(&self, text: &str) -> Option<u8> {
        let print = print(text);
        let place = self.places.get(bucket(print, self.multiplier))?.checked_sub(1)?;
        let (known, word) = (self.prints.get(usize::from(place))?, self.texts.get(usize::from(place))?);
        let is_it = *known == print && word.len() == text.len() && (text.len() <= 16 || **word == *text);
        is_it.then_some(place)
    }
}

#[inline]
const fn bucket((head, tail): (u64, u64), multiplier: u64) -> usize {
    (head.wrapping_add(tail.rotate_left(17)).wrapping_mul(multiplier) >> (64 - HASH_BITS)) as usize
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_word_has_its_place_and_others_have_none() {
        static WORDS: Words<8> = Words::new([
            "",
            "a",
            "ab",
            "four",
            "eight-88",
            "sixteen-16161616",
            "longer-than-sixteen-bytes",
            "longer-but-sixteen-bytes!",
        ]);
        for (place, word) in WORDS.texts.iter().enumerate() {
            assert_eq!(WORDS.place(word), Some(place as u8), "{word}");
            assert_eq!(WORDS.place(&format!("{word}-")), None, "{word}");
        }
        // Beginning and end alone do not make a word.
        for other in ["b", "\0", "fouf", "longer-t___-sixteen-bytes", "longer-than-than-sixteen-bytes"] {
            assert_eq!(WORDS.place(other), None, "{other}");
        }
    }
}
