//! Files as source and sink: a [`Reader`] that turns files into blocks of records, a [`Writer`] for the results.
//!
//! ```text
//! inputs ─► source ─────────► opened ──────────────────► Block ─► … ─► writer ─► path | stdout
//! (paths,   (file or stdin,   (one buffer per block,     (bytes and            (plain, .gz, .zst)
//!  dirs, -)  plain, gz, zst)   split: lines, nested)      their spans)
//! ```
//!
//! A file is a partition: [`FileIndex`] is its place in the order of processing, and each file ends with exactly one
//! [`Event::Done`] or [`Event::Failed`]. A bad file never ends the run: the next one follows.
//!
//! **What a record is.** Content decides, never the name. A file whose first byte that is not white is `[` is an array
//! and its elements are the records. A file that opens with `{`, a line break, and then a name or `}` holds
//! pretty-printed documents ([`Layout::Documents`]). Everything else is NDJSON: a record per line, without its `\n` or
//! `\r\n`; lines of only white space are counted, not delivered; the last line needs no `\n`. A UTF-8 byte order mark
//! at the start of a file is not part of the first record; anywhere else it is left in place.
//!
//! **Broken arrays lose nothing.** An element is the text between two commas of the top level, white space trimmed.
//! So a missing comma makes one record of two documents, and a superfluous one makes an empty record; both are for the
//! judge to reject, and the elements around them stand. Text behind the closing `]` is looked at like a new file:
//! another array, or lines. An array that never closes delivers what it holds, then fails.
//!
//! **Broken archives** deliver every whole record that could be decompressed, then fail; the error counts the bytes
//! of the incomplete record that was not delivered.
//!
//! This module must not parse JSON or judge: it finds where records begin and end, and never changes a byte of them
//! (the writer's one exception is in `writer.rs`).

mod digest;
mod failure;
mod inputs;
mod nested;
mod opened;
mod reader;
mod source;
mod split;
mod target;
mod writer;

#[cfg(test)]
mod tests;

use bytes::Bytes;

pub use digest::BytesRead;
pub use failure::FileError;
pub use inputs::{Input, Skipped};
pub use reader::{ReadOptions, Reader};
pub use split::Layout;
pub use target::{Compression, Target, check_distinct};
pub use writer::{Rejected, WriteOptions, Writer, Written};

/// A file's place in the order of processing, from 0; its partition number.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct FileIndex(pub u32);

/// Where one record stands in its block.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Span {
    /// The record's first byte, counted from the start of the block.
    pub start: u32,
    /// The record's length in bytes; 0 for an oversized one.
    pub len: u32,
    /// The line of the record's first byte in the (decompressed) file, from 1.
    pub line: u64,
    /// Set where the record was too long to be kept: what is known of it. Boxed, since it is rare and spans are many.
    pub oversized: Option<Box<Oversized>>,
}

/// What remains of a record longer than [`ReadOptions::record_bytes_max`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Oversized {
    /// Its whole length.
    pub bytes: u64,
    /// The SHA-256 of all of it.
    pub sha256: [u8; 32],
}

/// One batch: consecutive records of one file, and the memory that they are slices of.
#[derive(Clone, Debug)]
pub struct Block {
    /// The file.
    pub file: FileIndex,
    /// How many records of the file came before this block; the first record's offset in its partition.
    pub first_record: u64,
    /// The records' memory, with whatever stood between them.
    pub bytes: Bytes,
    /// The records, in the order of the file; never empty.
    pub spans: Vec<Span>,
}

impl Block {
    /// The bytes of the record at `span`; none for an oversized one.
    #[must_use]
    pub fn payload(&self, span: &Span) -> &[u8] {
        let start = span.start as usize;
        self.bytes.get(start..start + span.len as usize).unwrap_or_default()
    }

    /// The same bytes as a handle that keeps the block alive; nothing is copied.
    #[must_use]
    pub fn payload_shared(&self, span: &Span) -> Bytes {
        self.bytes.slice_ref(self.payload(span))
    }
}

/// What was read of one file.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Totals {
    /// Bytes after decompression.
    pub bytes: u64,
    /// Records delivered, oversized ones included.
    pub records: u64,
    /// Records delivered as [`Oversized`].
    pub oversized: u64,
    /// Lines of only white space, which are no records.
    pub blank_lines: u64,
    /// What the file is as it is stored, where [`Reader::with_digests`] asks for it and it was read to its end.
    pub stored: Option<Stored>,
}

/// A file as it is stored, compressed or not.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Stored {
    /// Its length.
    pub bytes: u64,
    /// Its SHA-256.
    pub sha256: [u8; 32],
}

/// What the reader has to say next.
#[derive(Debug)]
pub enum Event {
    /// Records.
    Block(Block),
    /// No record yet, however much was read: whoever wants to stop can do so here.
    Unfinished,
    /// The file ended as it should.
    Done {
        /// The file.
        file: FileIndex,
        /// What it held.
        totals: Totals,
    },
    /// The file could not be read, or not to its end; the other files are still read.
    Failed {
        /// The file.
        file: FileIndex,
        /// What was delivered before.
        totals: Totals,
        /// Why.
        error: FileError,
    },
}

/// White space of JSON. Other blanks (form feed, no-break space) belong to records, where they are an error.
fn is_white(byte: u8) -> bool {
    matches!(byte, b' ' | b'\t' | b'\n' | b'\r')
}
