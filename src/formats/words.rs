//! Fixed lists of words that a format knows, and the place of a text in one. Nothing here allocates.

use crate::outline::print;

/// Words by their place in a list.
///
/// PERF: a text is told from the words by its first and last eight bytes, two words of memory that are compared without a
/// call for each.
pub(super) struct Words<const N: usize> {
    pub(super) texts: [&'static str; N],
    prints: [(u64, u64); N],
}

impl<const N: usize> Words<N> {
    /// A list.
    pub(super) const fn new(texts: [&'static str; N]) -> Self {
        let mut prints = [(0, 0); N];
        let mut places: &mut [(u64, u64)] = &mut prints;
        let mut rest: &[&str] = &texts;
        while let ([place, others @ ..], [text, tail @ ..]) = (places, rest) {
            *place = print(text);
            (places, rest) = (others, tail);
        }
        Self { texts, prints }
    }

    /// The place of a text, if it is one of the words.
    #[inline]
    pub(super) fn place(&self, text: &str) -> Option<u8> {
        let print = print(text);
        let mut words = self.prints.iter().zip(&self.texts);
        let place = words.position(|(known, word)| {
            *known == print && word.len() == text.len() && (text.len() <= 16 || **word == *text)
        });
        place.map(|place| place as u8)
    }
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
