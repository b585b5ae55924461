//! What can go wrong with a file, as values with the file's name in them.
//!
//! Every text names the file, what was found and what is allowed, so that it can be printed as it is. A record that
//! is broken is no error: it is delivered, and rejected by the judge.

use std::io;
use std::path::PathBuf;

use super::target::Compression;

/// Why a file could not be read or written, or why a list of files makes no sense.
#[derive(Debug, thiserror::Error)]
pub enum FileError {
    /// The file does not exist, or may not be read.
    #[error("{}: cannot be opened for reading ({source}); expected a readable file, a directory or `-`", path.display())]
    Open {
        /// The file.
        path: PathBuf,
        /// The system's reason.
        source: io::Error,
    },
    /// A directory could not be listed.
    #[error("{}: the directory cannot be listed ({source}); its files were not read", path.display())]
    List {
        /// The directory.
        path: PathBuf,
        /// The system's reason.
        source: io::Error,
    },
    /// Reading failed on the way.
    #[error("{}: reading failed at line {line} ({source}); {lost_bytes} bytes of an incomplete record were not \
             delivered, the records before were", path.display())]
    Read {
        /// The file.
        path: PathBuf,
        /// The line that was being read.
        line: u64,
        /// Bytes of the incomplete record.
        lost_bytes: u64,
        /// The system's reason.
        source: io::Error,
    },
    /// An archive ends too early.
    #[error("{}: the {compression} data end too early, at line {line}; expected a whole archive; {lost_bytes} bytes \
             of an incomplete record were not delivered, the records before were", path.display())]
    Truncated {
        /// The file.
        path: PathBuf,
        /// What it is compressed with.
        compression: Compression,
        /// The line that was being read.
        line: u64,
        /// Bytes of the incomplete record.
        lost_bytes: u64,
    },
    /// An archive is damaged, has something behind its end, or needs more memory than is allowed.
    #[error("{}: the {compression} data are damaged at line {line} ({source}); expected a whole archive; {lost_bytes} \
             bytes of an incomplete record were not delivered, the records before were", path.display())]
    Damaged {
        /// The file.
        path: PathBuf,
        /// What it is compressed with.
        compression: Compression,
        /// The line that was being read.
        line: u64,
        /// Bytes of the incomplete record.
        lost_bytes: u64,
        /// The decoder's reason.
        source: io::Error,
    },
    /// A JSON array is not closed at the end of its file.
    #[error("{}: the array that opens at line {line} is not closed; expected `]` before the end of the file; \
             the elements that it holds were delivered", path.display())]
    OpenArray {
        /// The file.
        path: PathBuf,
        /// The line of its `[`.
        line: u64,
    },
    /// More files than a run can number.
    #[error("{found} files or more; at most {allowed} are allowed in one run")]
    TooManyFiles {
        /// How many there are at least.
        found: usize,
        /// How many may be.
        allowed: usize,
    },
    /// `-` stands twice among the inputs.
    #[error("-: standard input is named twice among the inputs; once is allowed")]
    StdinTwice,
    /// An option of the reader or writer is out of its range.
    #[error("{name} = {found}; {min} to {max} is allowed")]
    Option {
        /// The option.
        name: &'static str,
        /// Its value.
        found: i64,
        /// The smallest allowed value.
        min: i64,
        /// The largest allowed value.
        max: i64,
    },
    /// An output could not be created.
    #[error("{}: cannot be created ({source}); expected a writable path in a directory that exists", path.display())]
    Create {
        /// The output.
        path: PathBuf,
        /// The system's reason.
        source: io::Error,
    },
    /// Writing failed.
    #[error("{}: writing failed ({source}); what was written before is incomplete", path.display())]
    Write {
        /// The output.
        path: PathBuf,
        /// The system's reason.
        source: io::Error,
    },
    /// Two outputs are one file.
    #[error("{}: is the same output as {}; each output needs a path of its own", path.display(), other.display())]
    SameOutput {
        /// The later of the two.
        path: PathBuf,
        /// The earlier.
        other: PathBuf,
    },
    /// An output would overwrite an input.
    #[error("{}: is also an input ({}); an output needs a path of its own", path.display(), input.display())]
    OutputIsInput {
        /// The output.
        path: PathBuf,
        /// The input, as it was named.
        input: PathBuf,
    },
}

impl FileError {
    /// Whether the other end of a pipe has gone (`tollgate … | head`), which is a clean end and no failure.
    #[must_use]
    pub fn is_closed_pipe(&self) -> bool {
        matches!(self, Self::Write { source, .. } if source.kind() == io::ErrorKind::BrokenPipe)
    }

    /// Whether the disk, or the user's share of it, is full.
    #[must_use]
    pub fn is_disk_full(&self) -> bool {
        use io::ErrorKind::{QuotaExceeded, StorageFull};
        matches!(self, Self::Write { source, .. } if matches!(source.kind(), StorageFull | QuotaExceeded))
    }
}
