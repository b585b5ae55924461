//! Records by brackets instead of lines: the elements of an array, and documents one after another.
//!
//! The scan knows strings, escapes and depth, and nothing else of JSON: `{"a":1]` counts as closed. That is enough
//! to find where a record ends; whether it is JSON is for the judge. All state is a few numbers, so a scan goes on in
//! the next block where it stopped, and depth costs no stack.

use memchr::{memchr, memchr2};

use super::is_white;
use super::split::{Cursor, Step};

/// How deep the scan is inside brackets and strings.
#[derive(Clone, Copy, Debug, Default)]
struct Nesting {
    depth: u64,
    in_string: bool,
    /// The next byte follows a backslash.
    escaped: bool,
}

impl Nesting {
    fn is_open(self) -> bool {
        self.depth > 0 || self.in_string
    }

    /// Takes one of the bytes that open something.
    fn open(&mut self, byte: u8) {
        if byte == b'"' {
            self.in_string = true;
        } else {
            self.depth += 1;
        }
    }

    /// Goes on from `at` until everything is closed; the index behind that, or `None` if the bytes end before.
    fn close(&mut self, bytes: &[u8], mut at: usize) -> Option<usize> {
        while self.is_open() {
            let rest = bytes.get(at..)?;
            if self.escaped {
                rest.first()?;
                self.escaped = false;
                at += 1;
            } else if self.in_string {
                // PERF: 1.7 GB/s on envelopes of 1 KB with many escapes, 2.8 without; a loop over bytes 0.8 and
                // 1.1; the first 16 bytes of a string one by one and memchr2 behind them 1.4 and 2.5.
                let len = memchr2(b'"', b'\\', rest)?;
                at += len + 1;
                match rest.get(len) {
                    Some(b'"') => self.in_string = false,
                    _ => self.escaped = true,
                }
            } else {
                let len = rest.iter().position(|&byte| changes_nesting(byte))?;
                at += len + 1;
                match rest.get(len) {
                    Some(b'"') => self.in_string = true,
                    Some(b'{' | b'[') => self.depth += 1,
                    _ => self.depth -= 1,
                }
            }
        }
        Some(at)
    }

    /// Goes on to where everything is closed, or to the end of the bytes; whether it is closed.
    fn follow(&mut self, bytes: &[u8], cursor: &mut Cursor) -> bool {
        let closed = self.close(bytes, cursor.scanned);
        cursor.scanned = closed.unwrap_or(bytes.len());
        cursor.settled = cursor.scanned;
        closed.is_some()
    }
}

/// The index behind the bracket that closes an array at the start of a text.
pub(super) fn array_end(text: &[u8]) -> Option<usize> {
    let mut nesting = Nesting::default();
    nesting.open(b'[');
    nesting.close(text, 1)
}

/// Whether a byte outside strings opens or closes something.
fn changes_nesting(byte: u8) -> bool {
    matches!(byte, b'"' | b'{' | b'}' | b'[' | b']')
}

/// Splits an array, from behind its `[`, into elements.
pub(super) struct Array {
    line: u64,
    nesting: Nesting,
    place: Place,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Place {
    /// Behind `[`, where `]` means that there are no elements.
    Opened,
    /// Behind a comma.
    Between,
    /// In an element.
    Within,
    /// Behind `]`.
    Closed,
    /// The file ended inside the array.
    CutOff,
}

impl Array {
    pub(super) fn new(line: u64) -> Self {
        Self { line, nesting: Nesting::default(), place: Place::Opened }
    }

    /// The line of its `[`.
    pub(super) fn line(&self) -> u64 {
        self.line
    }

    pub(super) fn is_closed(&self) -> bool {
        self.place == Place::Closed
    }

    /// The next element; `None` when the array is over: closed, or cut off by the end of the file.
    pub(super) fn next(&mut self, bytes: &[u8], cursor: &mut Cursor, ended: bool) -> Option<Step> {
        if matches!(self.place, Place::Opened | Place::Between) {
            if !skip_white(bytes, cursor) {
                return if ended { self.cut_off() } else { Some(Step::More) };
            }
            if self.place == Place::Opened && bytes.get(cursor.start) == Some(&b']') {
                cursor.advance(bytes, cursor.start + 1);
                self.place = Place::Closed;
            } else {
                self.place = Place::Within;
            }
        }
        if self.place != Place::Within {
            return None;
        }
        if let Some(end) = self.element_end(bytes, cursor) {
            let (start, line, settled) = (cursor.start, cursor.line, cursor.settled);
            self.place = if bytes.get(end) == Some(&b']') { Place::Closed } else { Place::Between };
            cursor.advance(bytes, end + 1);
            return Some(Step::Record { start, end: settled, line });
        }
        if !ended {
            return Some(Step::More);
        }
        self.place = Place::CutOff;
        Some(rest_as_record(bytes, cursor))
    }

    fn cut_off(&mut self) -> Option<Step> {
        self.place = Place::CutOff;
        None
    }

    /// The index of the comma or bracket that ends the element; the cursor's `settled` is where its text ends.
    fn element_end(&mut self, bytes: &[u8], cursor: &mut Cursor) -> Option<usize> {
        loop {
            if self.nesting.is_open() && !self.nesting.follow(bytes, cursor) {
                return None;
            }
            let byte = *bytes.get(cursor.scanned)?;
            match byte {
                b',' | b']' => return Some(cursor.scanned),
                b'"' | b'{' | b'[' => self.nesting.open(byte),
                _ if is_white(byte) => {}
                _ => cursor.settled = cursor.scanned + 1,
            }
            cursor.scanned += 1;
        }
    }
}

/// Splits documents that follow one another.
#[derive(Default)]
pub(super) struct Documents {
    nesting: Nesting,
    place: DocumentPlace,
}

#[derive(Clone, Copy, Default, PartialEq, Eq)]
enum DocumentPlace {
    #[default]
    Between,
    /// In brackets.
    Nested,
    /// In something that opens no bracket: a scalar or garbage, up to the end of the line.
    Line,
}

impl Documents {
    pub(super) fn next(&mut self, bytes: &[u8], cursor: &mut Cursor, ended: bool) -> Step {
        if self.place == DocumentPlace::Between {
            if !skip_white(bytes, cursor) {
                return Step::More;
            }
            self.place = match bytes.get(cursor.start) {
                Some(&byte @ (b'{' | b'[')) => {
                    self.nesting.open(byte);
                    cursor.scanned += 1;
                    DocumentPlace::Nested
                }
                _ => DocumentPlace::Line,
            };
        }
        let closed = match self.place {
            DocumentPlace::Nested => self.nesting.follow(bytes, cursor),
            _ => follow_line(bytes, cursor),
        };
        if closed {
            let (start, line, end) = (cursor.start, cursor.line, cursor.settled);
            cursor.advance(bytes, cursor.scanned);
            self.place = DocumentPlace::Between;
            return Step::Record { start, end, line };
        }
        if !ended {
            return Step::More;
        }
        self.place = DocumentPlace::Between;
        self.nesting = Nesting::default();
        rest_as_record(bytes, cursor)
    }
}

/// Goes on to the end of the line, if it is there; the white space at its end is not settled.
fn follow_line(bytes: &[u8], cursor: &mut Cursor) -> bool {
    let rest = bytes.get(cursor.scanned..).unwrap_or_default();
    let found = memchr(b'\n', rest);
    let text = rest.get(..found.unwrap_or(rest.len())).unwrap_or_default();
    if let Some(last) = text.iter().rposition(|&byte| !is_white(byte)) {
        cursor.settled = cursor.scanned + last + 1;
    }
    cursor.scanned += text.len();
    found.is_some()
}

/// Moves to the next byte that is not white; whether there is one.
fn skip_white(bytes: &[u8], cursor: &mut Cursor) -> bool {
    let rest = bytes.get(cursor.start..).unwrap_or_default();
    let white = rest.iter().position(|&byte| !is_white(byte));
    cursor.advance(bytes, cursor.start + white.unwrap_or(rest.len()));
    white.is_some()
}

/// What the end of the file left of a record, without white space at its end.
fn rest_as_record(bytes: &[u8], cursor: &mut Cursor) -> Step {
    let (start, line) = (cursor.start, cursor.line);
    let rest = bytes.get(start..).unwrap_or_default();
    let len = rest.iter().rposition(|&byte| !is_white(byte)).map_or(0, |last| last + 1);
    cursor.advance(bytes, bytes.len());
    Step::Record { start, end: start + len, line }
}
