//! One file on its way from bytes to blocks: the buffer, what is done with a record that goes past its end, and the
//! records that are too long to keep.
//!
//! Bytes are read once into a buffer and leave it as the memory of blocks. Only what stands behind the last whole
//! record is copied, to the start of the next buffer. A buffer grows only for a record that does not
//! fit; a record past `record_bytes_max` is hashed and dropped as it comes, so memory has a bound whatever is read.

use std::collections::VecDeque;
use std::io;
use std::path::Path;

use bytes::{Buf, Bytes, BytesMut};
use ring::digest::{Context, SHA256};

use super::digest::SharedDigest;
use super::failure::FileError;
use super::reader::ReadOptions;
use super::source::Source;
use super::split::{Cursor, Splitter, Step};
use super::target::Compression;
use super::{Block, Event, FileIndex, Oversized, Span, Totals};

/// A single fill of a grown buffer reads no more than this, so that fresh bytes are split while they are in cache.
const FILL_BYTES_MAX: usize = 1024 * 1024;
/// LIMIT: fills without a record, after which whoever reads gets a word in.
const FILLS_MAX: u32 = 64;

/// LIMIT: buffers of earlier blocks that are kept until nobody needs their bytes any more.
const SPENT_MAX: usize = 32;

/// A file that is being read.
pub(super) struct Opened {
    file: FileIndex,
    source: Source,
    options: ReadOptions,
    /// What no block has taken yet.
    buffer: BytesMut,
    /// The size that `buffer` was allocated with.
    buffer_bytes: usize,
    /// Buffers of the usual size whose blocks are under way; their memory comes back when the last block is dropped.
    spent: VecDeque<BytesMut>,
    cursor: Cursor,
    splitter: Splitter,
    /// The records of the block in the making; they lie in `buffer`.
    spans: Vec<Span>,
    /// The oversized record that is being dropped.
    skim: Option<Skim>,
    totals: Totals,
    ended: bool,
    /// An error that waits until the bytes before it are dealt with.
    failure: Option<io::Error>,
}

/// An oversized record, as far as it has come.
struct Skim {
    digest: Context,
    bytes: u64,
    line: u64,
}

impl Skim {
    fn new(line: u64) -> Self {
        Self { digest: Context::new(&SHA256), bytes: 0, line }
    }

    fn add(&mut self, text: &[u8]) {
        self.digest.update(text);
        self.bytes += text.len() as u64;
    }

    fn finish(self) -> Oversized {
        let mut sha256 = [0; 32];
        sha256.copy_from_slice(self.digest.finish().as_ref());
        Oversized { bytes: self.bytes, sha256 }
    }
}

impl Opened {
    pub(super) fn new(file: FileIndex, source: Source, options: ReadOptions) -> Self {
        Self {
            file,
            source,
            options,
            buffer: BytesMut::new(),
            buffer_bytes: 0,
            spent: VecDeque::new(),
            cursor: Cursor::START,
            splitter: Splitter::new(options.layout, options.record_bytes_max),
            spans: Vec::new(),
            skim: None,
            totals: Totals::default(),
            ended: false,
            failure: None,
        }
    }

    /// The next block, or the one event that ends the file; not to be called after that.
    pub(super) fn next(&mut self, path: &Path) -> Event {
        let mut fills = 0;
        loop {
            if self.spans.len() == self.options.records_max {
                return self.cut_block();
            }
            match self.splitter.next(&self.buffer, &mut self.cursor, self.skim.is_some(), self.ended) {
                Step::Record { start, end, line } => self.take_record(start, end, line),
                Step::More if !self.spans.is_empty() => return self.cut_block(),
                Step::More if self.ended || self.failure.is_some() => return self.finish(path),
                Step::More if fills == FILLS_MAX => return Event::Unfinished,
                Step::More => {
                    self.skim_oversized();
                    self.fill();
                    fills += 1;
                }
            }
        }
    }

    fn take_record(&mut self, start: usize, end: usize, line: u64) {
        let text = self.buffer.get(start..end).unwrap_or_default();
        let skim = match self.skim.take() {
            None if text.len() > self.options.record_bytes_max => Some(Skim::new(line)),
            skim => skim,
        };
        let span = match skim {
            None => Span { start: start as u32, len: text.len() as u32, line, oversized: None },
            Some(mut skim) => {
                skim.add(text);
                self.totals.oversized += 1;
                let line = skim.line;
                Span { start: start as u32, len: 0, line, oversized: Some(Box::new(skim.finish())) }
            }
        };
        self.totals.records += 1;
        self.spans.push(span);
    }

    /// Hands out the records found so far, with the memory that they lie in.
    fn cut_block(&mut self) -> Event {
        let bytes = self.buffer.split_to(self.cursor.start).freeze();
        self.cursor.shift(self.cursor.start);
        let spans = std::mem::take(&mut self.spans);
        // The next block of a file is mostly like the last.
        self.spans.reserve_exact(spans.len());
        let first_record = self.totals.records - spans.len() as u64;
        Event::Block(Block { file: self.file, first_record, bytes, spans })
    }

    /// Starts or goes on to drop a record that is past the limit.
    fn skim_oversized(&mut self) {
        // White space that could be the end of a record is kept until more is known, but not beyond all bounds.
        if self.buffer.len() - self.cursor.settled > self.options.record_bytes_max
            && self.cursor.scanned == self.buffer.len()
        {
            self.cursor.settled = self.cursor.scanned;
        }
        let Some(text) = self.buffer.get(self.cursor.start..self.cursor.settled) else { return };
        if self.skim.is_none() && text.len() <= self.options.record_bytes_max {
            return;
        }
        let skim = self.skim.get_or_insert_with(|| Skim::new(self.cursor.line));
        skim.add(text);
        let scanned = self.cursor.scanned;
        self.cursor.advance(&self.buffer, self.cursor.settled);
        self.cursor.scanned = scanned;
    }

    /// Makes room behind the unfinished record and reads into it.
    fn fill(&mut self) {
        self.buffer.advance(self.cursor.start);
        self.cursor.shift(self.cursor.start);
        let is_new = self.renew_buffer();
        let len = self.buffer.len();
        let room = (self.buffer.capacity() - len).min(FILL_BYTES_MAX);
        let (count, outcome) = if is_new && !self.source.is_live {
            // PERF: only a `Vec` can be read into without zeroing it first, which took a tenth of a reader's time. A
            // buffer that no block has a part of goes both ways without a copy.
            let mut bytes = Vec::from(std::mem::take(&mut self.buffer));
            let read = self.source.append(&mut bytes, room);
            self.buffer = BytesMut::from(Bytes::from(bytes));
            read
        } else {
            self.buffer.resize(len + room, 0);
            let read = self.source.fill(self.buffer.get_mut(len..).unwrap_or_default());
            self.buffer.truncate(len + read.0);
            read
        };
        self.totals.bytes += count as u64;
        match outcome {
            Ok(()) => self.ended = count == 0,
            Err(error) => self.failure = Some(error),
        }
    }

    /// Moves the unfinished record to a new buffer where the old one is nearly full, or was made for a longer record
    /// whose memory nobody should hold on to; says whether it did.
    fn renew_buffer(&mut self) -> bool {
        let block_bytes = self.options.block_bytes;
        let len = self.buffer.len();
        let is_full = self.buffer.capacity() - len < (block_bytes / 4).max(1);
        let is_left_over = self.buffer_bytes > 2 * block_bytes && len <= block_bytes / 2;
        if !is_full && !is_left_over {
            return false;
        }
        let spent_bytes = self.buffer_bytes;
        self.buffer_bytes = if len <= block_bytes {
            block_bytes.max(2 * len)
        } else {
            // In large steps, since an allocator may hold on to the smaller buffers for a while; but not far past
            // the longest record that is kept.
            (4 * len).min(self.options.record_bytes_max + FILL_BYTES_MAX).max(len + block_bytes)
        };
        let mut next = self.usable_buffer();
        next.extend_from_slice(&self.buffer);
        let mut spent = std::mem::replace(&mut self.buffer, next);
        spent.clear();
        if spent_bytes == block_bytes {
            if self.spent.len() == SPENT_MAX {
                self.spent.pop_front();
            }
            self.spent.push_back(spent);
        }
        true
    }

    /// An empty buffer: one whose blocks are done, or a new one.
    ///
    /// PERF: new memory comes from the system page by page, each zeroed first: 1.3 % of a run's CPU time
    /// (`flamegraphs/files.md`).
    fn usable_buffer(&mut self) -> BytesMut {
        let wanted = self.buffer_bytes;
        let is_done = |buffer: &mut BytesMut| buffer.try_reclaim(wanted);
        let found = self.spent.iter_mut().position(is_done).and_then(|place| self.spent.remove(place));
        found.unwrap_or_else(|| BytesMut::with_capacity(wanted))
    }

    /// The event that ends the file.
    fn finish(&mut self, path: &Path) -> Event {
        self.totals.blank_lines = self.splitter.blank_lines;
        let (file, mut totals) = (self.file, self.totals);
        totals.stored =
            self.source.digest.as_ref().filter(|_| self.failure.is_none()).map(SharedDigest::finish);
        match (self.failure.take(), self.splitter.open_array) {
            (Some(source), _) => Event::Failed { file, totals, error: self.read_error(path, source) },
            (None, Some(line)) => {
                Event::Failed { file, totals, error: FileError::OpenArray { path: path.to_path_buf(), line } }
            }
            (None, None) => Event::Done { file, totals },
        }
    }

    fn read_error(&self, path: &Path, source: io::Error) -> FileError {
        let path = path.to_path_buf();
        let skimmed = self.skim.as_ref();
        let line = skimmed.map_or(self.cursor.line, |skim| skim.line);
        let lost_bytes =
            skimmed.map_or(0, |skim| skim.bytes) + (self.buffer.len() - self.cursor.start) as u64;
        match self.source.compression {
            // The decoder's own errors have no number of the system's.
            compression @ (Compression::Gzip | Compression::Zstd) if source.raw_os_error().is_none() => {
                if source.kind() == io::ErrorKind::UnexpectedEof {
                    FileError::Truncated { path, compression, line, lost_bytes }
                } else {
                    FileError::Damaged { path, compression, line, lost_bytes, source }
                }
            }
            _ => FileError::Read { path, line, lost_bytes, source },
        }
    }
}
