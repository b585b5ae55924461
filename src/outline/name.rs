//! Names that can be told at a glance: their first and last bytes as words. Nothing here knows where names stand.

/// A name to compare with: its length, and its first and last bytes as words.
#[derive(Clone, Debug)]
pub(crate) struct Name {
    text: Box<str>,
    print: (u64, u64),
}

impl Name {
    pub(crate) fn new(text: &str) -> Self {
        Self { text: text.into(), print: print(text) }
    }

    pub(crate) fn is(&self, text: &str) -> bool {
        self.print == print(text) && self.is_spelled(text)
    }

    /// Whether it is a text with its print.
    #[inline]
    pub(crate) fn is_spelled(&self, text: &str) -> bool {
        text.len() == self.text.len() && (text.len() <= 16 || *text == *self.text)
    }

    pub(crate) fn print(&self) -> (u64, u64) {
        self.print
    }

    pub(crate) fn text(&self) -> &str {
        &self.text
    }
}

/// The first and the last eight bytes of a text; two of the same length of up to sixteen are equal if these are.
#[inline]
pub(crate) const fn print(text: &str) -> (u64, u64) {
    let bytes = text.as_bytes();
    if let (Some(first), Some(last)) = (bytes.first_chunk(), bytes.last_chunk()) {
        return (u64::from_le_bytes(*first), u64::from_le_bytes(*last));
    }
    if let (Some(first), Some(last)) = (bytes.first_chunk(), bytes.last_chunk()) {
        return (u32::from_le_bytes(*first) as u64, u32::from_le_bytes(*last) as u64);
    }
    let head = match *bytes {
        [one] => one as u64,
        [one, two] => one as u64 | (two as u64) << 8,
        [one, two, three] => one as u64 | (two as u64) << 8 | (three as u64) << 16,
        _ => 0,
    };
    (head, 0)
}
