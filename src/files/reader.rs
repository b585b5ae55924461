//! The reader: many inputs, one after another, as one sequence of events.
//!
//! The list of files is made at the start and fixed then, so that a file's number means the same for the whole run
//! and outputs that appear meanwhile are not read. One file is open at a time. The reader must not stop for a bad
//! file, and must not decide what a run does about one: it reports [`Event::Failed`] and goes on.

use std::io::{self, Read};
use std::path::PathBuf;

use super::digest::BytesRead;
use super::failure::FileError;
use super::inputs::{Input, Listing, Skipped};
use super::opened::Opened;
use super::source::Source;
use super::split::Layout;
use super::{Event, FileIndex, Totals};

/// How files are read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ReadOptions {
    /// The size of the buffers that blocks are cut from.
    pub block_bytes: usize,
    /// How many records a block carries at most.
    pub records_max: usize,
    /// Longer records are delivered as [`super::Oversized`].
    pub record_bytes_max: usize,
    /// How records are laid out.
    pub layout: Layout,
}

impl Default for ReadOptions {
    fn default() -> Self {
        Self {
            block_bytes: 256 * 1024,
            records_max: 1024,
            record_bytes_max: 128 * 1024 * 1024,
            layout: Layout::Auto,
        }
    }
}

impl ReadOptions {
    const BLOCK_BYTES_MAX: usize = 64 * 1024 * 1024;
    const RECORDS_MAX: usize = 1024 * 1024;
    /// Offsets in a block are 32 bits wide, and a buffer can be twice as long as the longest record.
    const RECORD_BYTES_MAX: usize = 1024 * 1024 * 1024;

    fn check(&self) -> Result<(), FileError> {
        check_range("block_bytes", self.block_bytes, Self::BLOCK_BYTES_MAX)?;
        check_range("records_max", self.records_max, Self::RECORDS_MAX)?;
        check_range("record_bytes_max", self.record_bytes_max, Self::RECORD_BYTES_MAX)
    }
}

fn check_range(name: &'static str, found: usize, max: usize) -> Result<(), FileError> {
    if (1..=max).contains(&found) {
        return Ok(());
    }
    Err(FileError::Option { name, found: i64::try_from(found).unwrap_or(i64::MAX), min: 1, max: max as i64 })
}

/// Reads files in order; an iterator of [`Event`]s.
pub struct Reader {
    options: ReadOptions,
    paths: Vec<PathBuf>,
    /// What was wrong with a path when the list was made, by file; ascending.
    list_errors: std::iter::Peekable<std::vec::IntoIter<(FileIndex, FileError)>>,
    skipped: Skipped,
    stdin: Option<Box<dyn Read + Send>>,
    stdin_index: Option<FileIndex>,
    next_file: u32,
    current: Option<Opened>,
    /// Counts stored bytes, where files are hashed.
    count: Option<BytesRead>,
}

impl Reader {
    /// Lists the inputs; nothing is read yet, and a path that does not exist is no error here.
    pub fn open(inputs: &[Input], options: &ReadOptions) -> Result<Self, FileError> {
        Self::open_with_stdin(inputs, options, Box::new(io::stdin()))
    }

    /// The same with something else in the place of standard input.
    pub fn open_with_stdin(
        inputs: &[Input],
        options: &ReadOptions,
        stdin: Box<dyn Read + Send>,
    ) -> Result<Self, FileError> {
        options.check()?;
        let listing = Listing::of(inputs)?;
        Ok(Self {
            options: *options,
            paths: listing.paths,
            list_errors: listing.errors.into_iter().peekable(),
            skipped: listing.skipped,
            stdin: Some(stdin),
            stdin_index: listing.stdin,
            next_file: 0,
            current: None,
            count: None,
        })
    }

    /// Hashes every file as it is stored, and counts the stored bytes that were read.
    #[must_use]
    pub fn with_digests(self, count: BytesRead) -> Self {
        Self { count: Some(count), ..self }
    }

    /// The files by [`FileIndex`]; `-` is standard input.
    #[must_use]
    pub fn paths(&self) -> &[PathBuf] {
        &self.paths
    }

    /// What directories held that is not read.
    #[must_use]
    pub fn skipped(&self) -> &Skipped {
        &self.skipped
    }

    /// Opens the next file; `Err` is the event that says why it can't be read.
    fn open_next(&mut self, file: FileIndex) -> Result<Opened, Box<Event>> {
        let path = self.paths.get(file.0 as usize).cloned().unwrap_or_default();
        let failed = |error| Box::new(Event::Failed { file, totals: Totals::default(), error });
        if let Some((_, error)) = self.list_errors.next_if(|(failed, _)| *failed == file) {
            return Err(failed(error));
        }
        let source = match self.stdin.take_if(|_| self.stdin_index == Some(file)) {
            Some(stdin) => Source::stdin(stdin, self.count.as_ref()),
            None => Source::open(&path, self.count.as_ref()),
        };
        match source {
            Ok(source) => Ok(Opened::new(file, source, self.options)),
            Err(source) => Err(failed(FileError::Open { path, source })),
        }
    }
}

impl Iterator for Reader {
    type Item = Event;

    /// The next event; `None` when every file is done.
    fn next(&mut self) -> Option<Event> {
        let file = FileIndex(self.next_file);
        let path = self.paths.get(file.0 as usize)?;
        let event = match &mut self.current {
            Some(opened) => opened.next(path),
            None => match self.open_next(file) {
                Ok(opened) => {
                    self.current = Some(opened);
                    return self.next();
                }
                Err(failed) => *failed,
            },
        };
        if !matches!(event, Event::Block(_) | Event::Unfinished) {
            self.current = None;
            self.next_file += 1;
        }
        Some(event)
    }
}
