//! Finds where records begin and end in a buffer that grows: the choice of layout, and lines.
//!
//! Splitters keep their state in a [`Cursor`] over the buffer, so that no byte is looked at twice when a record goes
//! past the end of a block: work stays linear for a record of any length. They see only the bytes that no block took
//! yet. A splitter must give the same records whatever the size of the blocks.

use memchr::{memchr, memchr_iter};

use super::is_white;
use super::nested::{Array, Documents, array_end};

/// How records are laid out in a file.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Layout {
    /// By content: an array, pretty-printed documents, or lines.
    #[default]
    Auto,
    /// As [`Self::Auto`], for records that may be arrays themselves: a first line that is a whole array, with more lines
    /// behind it, is a record like them.
    AutoOfValues,
    /// One record per line, whatever the content.
    Lines,
    /// JSON documents one after another, each over as many lines as it likes: a record begins at a byte that is not
    /// white, and goes to its closing bracket, or to the end of the line if it opens none. An unclosed document takes
    /// the rest of the file as one record.
    Documents,
}

/// How much white space is looked through for a file's first byte; behind more of it on one line, lines follow.
const DETECT_BYTES_MAX: usize = 1024 * 1024;

const BYTE_ORDER_MARK: &[u8] = b"\xef\xbb\xbf";

/// The place in the buffer; all offsets count from the buffer's first byte.
#[derive(Clone, Copy, Debug)]
pub(super) struct Cursor {
    /// The current record's first byte; everything before it is dealt with.
    pub(super) start: usize,
    /// How far the current record has been looked at.
    pub(super) scanned: usize,
    /// Up to where bytes belong to the current record whatever follows (not so: white space at its end).
    pub(super) settled: usize,
    /// The line of `start`, from 1.
    pub(super) line: u64,
}

impl Cursor {
    pub(super) const START: Self = Self { start: 0, scanned: 0, settled: 0, line: 1 };

    /// Moves to `to`, the start of something new, and counts the lines on the way.
    pub(super) fn advance(&mut self, bytes: &[u8], to: usize) {
        let passed = bytes.get(self.start..to).unwrap_or_default();
        self.line += memchr_iter(b'\n', passed).count() as u64;
        self.restart(to);
    }

    /// Moves to `to` without counting lines.
    fn restart(&mut self, to: usize) {
        self.start = to;
        self.scanned = to;
        self.settled = to;
    }

    /// The buffer lost its first `count` bytes.
    pub(super) fn shift(&mut self, count: usize) {
        self.start -= count;
        self.scanned = self.scanned.saturating_sub(count).max(self.start);
        self.settled = self.settled.saturating_sub(count).max(self.start);
    }
}

/// What a splitter found.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Step {
    /// A record from `start` to before `end`; the cursor stands behind it.
    Record { start: usize, end: usize, line: u64 },
    /// Nothing more in these bytes.
    More,
}

/// Splits one file.
pub(super) struct Splitter {
    layout: Layout,
    mode: Mode,
    /// Longer lines are no blank lines, even if they are only white: nobody has seen them whole.
    record_bytes_max: usize,
    pub(super) blank_lines: u64,
    /// The line of an array that the end of the file left open.
    pub(super) open_array: Option<u64>,
}

enum Mode {
    /// At the file's first byte.
    Start,
    /// Before the first byte that is not white; `first` until something has been found.
    Detect {
        first: bool,
    },
    Lines,
    Array(Array),
    Documents(Documents),
}

impl Splitter {
    pub(super) fn new(layout: Layout, record_bytes_max: usize) -> Self {
        Self { layout, mode: Mode::Start, record_bytes_max, blank_lines: 0, open_array: None }
    }

    /// The next record. `partial` says that the current record's beginning was already taken out of the buffer,
    /// `ended` that no bytes will follow.
    pub(super) fn next(&mut self, bytes: &[u8], cursor: &mut Cursor, partial: bool, ended: bool) -> Step {
        loop {
            match &mut self.mode {
                Mode::Start => {
                    if !skip_byte_order_mark(bytes, cursor, ended) {
                        return Step::More;
                    }
                    self.mode = first_mode(self.layout);
                }
                Mode::Detect { first } => {
                    let values = *first && self.layout == Layout::AutoOfValues;
                    match detect(bytes, cursor, (*first, values), ended, &mut self.blank_lines) {
                        Some(mode) => self.mode = mode,
                        None => return Step::More,
                    }
                }
                Mode::Lines => return self.next_line(bytes, cursor, partial, ended),
                Mode::Array(array) => match array.next(bytes, cursor, ended) {
                    Some(step) => return step,
                    None if array.is_closed() => self.mode = Mode::Detect { first: false },
                    None => {
                        self.open_array = Some(array.line());
                        return Step::More;
                    }
                },
                Mode::Documents(documents) => return documents.next(bytes, cursor, ended),
            }
        }
    }

    // PERF: one memchr per line; see `tests/speed.rs` for the rate.
    fn next_line(&mut self, bytes: &[u8], cursor: &mut Cursor, partial: bool, ended: bool) -> Step {
        loop {
            let rest = bytes.get(cursor.scanned..).unwrap_or_default();
            let (end, next) = match memchr(b'\n', rest) {
                Some(len) => (cursor.scanned + len, cursor.scanned + len + 1),
                None if ended && (cursor.start < bytes.len() || partial) => (bytes.len(), bytes.len()),
                None => {
                    cursor.scanned = bytes.len();
                    // A `\r` may yet turn out to be half of a line end.
                    cursor.settled = cursor.start + without_return(bytes, cursor.start, bytes.len());
                    return Step::More;
                }
            };
            let (start, line) = (cursor.start, cursor.line);
            let len = without_return(bytes, start, end);
            cursor.restart(next);
            cursor.line += 1;
            if !partial && len <= self.record_bytes_max && is_blank(bytes, start, start + len) {
                self.blank_lines += 1;
                continue;
            }
            return Step::Record { start, end: start + len, line };
        }
    }
}

/// The length of the text from `start` to `end` without one `\r` at its end.
fn without_return(bytes: &[u8], start: usize, end: usize) -> usize {
    let text = bytes.get(start..end).unwrap_or_default();
    text.strip_suffix(b"\r").unwrap_or(text).len()
}

fn is_blank(bytes: &[u8], start: usize, end: usize) -> bool {
    bytes.get(start..end).unwrap_or_default().iter().all(|&byte| is_white(byte))
}

fn first_mode(layout: Layout) -> Mode {
    match layout {
        Layout::Auto | Layout::AutoOfValues => Mode::Detect { first: true },
        Layout::Lines => Mode::Lines,
        Layout::Documents => Mode::Documents(Documents::default()),
    }
}

/// Whether the file's first bytes are known; a byte order mark among them is passed over.
fn skip_byte_order_mark(bytes: &[u8], cursor: &mut Cursor, ended: bool) -> bool {
    if bytes.starts_with(BYTE_ORDER_MARK) {
        cursor.restart(BYTE_ORDER_MARK.len());
        return true;
    }
    ended || !BYTE_ORDER_MARK.starts_with(bytes)
}

/// Looks for the first byte that is not white and decides what follows; `None` if it is not there yet.
fn detect(
    bytes: &[u8],
    cursor: &mut Cursor,
    (first, values): (bool, bool),
    ended: bool,
    blank_lines: &mut u64,
) -> Option<Mode> {
    let rest = bytes.get(cursor.scanned..).unwrap_or_default();
    let found = rest.iter().position(|&byte| !is_white(byte)).map(|len| cursor.scanned + len);
    let white_end = found.unwrap_or(bytes.len());
    // Whole blank lines go at once: any number of them may stand at the start of a file.
    if let Some(white) = bytes.get(cursor.start..white_end)
        && let Some(last) = memchr::memrchr(b'\n', white)
    {
        let lines_before = cursor.line;
        cursor.advance(bytes, cursor.start + last + 1);
        if first {
            *blank_lines += cursor.line - lines_before;
        }
    }
    cursor.scanned = white_end;
    if white_end - cursor.start > DETECT_BYTES_MAX {
        cursor.restart(cursor.start);
        return Some(Mode::Lines);
    }
    let opening = found?;
    match bytes.get(opening) {
        Some(b'[') if values => match is_line(bytes.get(opening..).unwrap_or_default(), ended) {
            Some(true) => {
                cursor.restart(cursor.start);
                Some(Mode::Lines)
            }
            Some(false) => Some(array(bytes, cursor, opening)),
            None => {
                cursor.scanned = opening;
                None
            }
        },
        Some(b'[') => Some(array(bytes, cursor, opening)),
        Some(b'{') if first => match is_pretty(bytes.get(opening + 1..).unwrap_or_default(), ended) {
            Some(true) => {
                cursor.restart(opening);
                Some(Mode::Documents(Documents::default()))
            }
            Some(false) => {
                cursor.restart(cursor.start);
                Some(Mode::Lines)
            }
            None => {
                cursor.scanned = opening;
                None
            }
        },
        // Behind an array, the blanks before the text are the array's, not the record's.
        _ => {
            cursor.restart(if first { cursor.start } else { opening });
            Some(Mode::Lines)
        }
    }
}

fn array(bytes: &[u8], cursor: &mut Cursor, opening: usize) -> Mode {
    let line = cursor.line;
    cursor.advance(bytes, opening + 1);
    Mode::Array(Array::new(line))
}

/// Whether an array closes on the line where it opens, with more than white space behind that line. `None` if it can't be
/// told yet.
fn is_line(text: &[u8], ended: bool) -> Option<bool> {
    let whole = ended || text.len() > DETECT_BYTES_MAX;
    let looked_at = text.get(..DETECT_BYTES_MAX).unwrap_or(text);
    let Some(len) = memchr(b'\n', looked_at) else { return whole.then_some(false) };
    let (line, behind) = looked_at.split_at(len);
    let Some(end) = array_end(line) else { return Some(false) };
    if !line.get(end..).unwrap_or_default().iter().all(|&byte| is_white(byte)) {
        return Some(false);
    }
    if behind.iter().any(|&byte| !is_white(byte)) { Some(true) } else { whole.then_some(false) }
}

/// Whether the text behind a file's first `{` shows a document over several lines: a line break, then a name or the
/// closing bracket. No line of NDJSON can look like that. `None` if it can't be told yet.
fn is_pretty(text: &[u8], ended: bool) -> Option<bool> {
    let looked_at = text.get(..DETECT_BYTES_MAX).unwrap_or(text);
    match looked_at.iter().position(|&byte| !is_white(byte)) {
        Some(len) => {
            let breaks = looked_at.get(..len).is_some_and(|white| white.contains(&b'\n'));
            Some(breaks && matches!(looked_at.get(len), Some(b'"' | b'}')))
        }
        None if ended || looked_at.len() == DETECT_BYTES_MAX => Some(false),
        None => None,
    }
}
