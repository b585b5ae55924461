//! The writer: accepted records as lines, rejected records as lines that say why.
//!
//! Bytes go out as they came in. The one change: line breaks inside a record, which JSON allows between tokens, are
//! written as spaces, since a line break ends a record in NDJSON. Everything passes through one buffer, and nothing
//! is allocated per record. Output goes to the final path directly, as it comes; only [`Writer::finish`] makes it whole.
//!
//! The writer must not judge, and must not hide an error: after one, the output is incomplete and the writer spent.

use std::fs::File;
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use flate2::write::GzEncoder;
use memchr::memchr2;

use super::Oversized;
use super::failure::FileError;
use super::target::{Compression, Target};

/// How files are written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct WriteOptions {
    /// How much is collected before it is written.
    pub buffer_bytes: usize,
    /// Gzip's level, 0 to 9.
    pub gzip_level: u32,
    /// Zstandard's level, 1 to 22.
    pub zstd_level: i32,
    /// Whether [`Writer::finish`] waits until a file is on the disk.
    pub sync: bool,
}

impl Default for WriteOptions {
    fn default() -> Self {
        Self { buffer_bytes: 256 * 1024, gzip_level: 6, zstd_level: 3, sync: false }
    }
}

impl WriteOptions {
    const BUFFER_BYTES: (i64, i64) = (4096, 64 * 1024 * 1024);
    const GZIP_LEVEL: (i64, i64) = (0, 9);
    const ZSTD_LEVEL: (i64, i64) = (1, 22);

    fn check(&self) -> Result<(), FileError> {
        let options = [
            ("buffer_bytes", i64::try_from(self.buffer_bytes).unwrap_or(i64::MAX), Self::BUFFER_BYTES),
            ("gzip_level", i64::from(self.gzip_level), Self::GZIP_LEVEL),
            ("zstd_level", i64::from(self.zstd_level), Self::ZSTD_LEVEL),
        ];
        match options.into_iter().find(|(_, found, (min, max))| !(min..=max).contains(&found)) {
            Some((name, found, (min, max))) => Err(FileError::Option { name, found, min, max }),
            None => Ok(()),
        }
    }
}

/// A rejected record, by what can be written of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Rejected<'a> {
    /// JSON text in UTF-8, as the caller knows: written as it is.
    Json(&'a [u8]),
    /// Anything else: written as base64.
    Bytes(&'a [u8]),
    /// Too long to have been kept: its length and hash.
    Oversized(&'a Oversized),
}

/// What a finished writer has written.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Written {
    /// Records, accepted or rejected.
    pub records: u64,
    /// Bytes before compression.
    pub bytes: u64,
}

/// Writes records to one target.
pub struct Writer {
    path: PathBuf,
    buffer: Vec<u8>,
    sink: Sink,
    /// The file once more, where it has to be on the disk in the end.
    to_sync: Option<File>,
    written: Written,
}

type Output = Box<dyn Write + Send>;

enum Sink {
    Plain(Output),
    Gzip(GzEncoder<Output>),
    Zstd(zstd::stream::write::Encoder<'static, Output>),
}

impl Writer {
    /// Creates the output, compressed as its extension says. Directories are not created.
    pub fn create(target: &Target, options: &WriteOptions) -> Result<Self, FileError> {
        options.check()?;
        let failed = |source| FileError::Create { path: target.path().to_path_buf(), source };
        match target {
            Target::Stdout => Self::over(Box::new(io::stdout()), Path::new("-"), Compression::Plain, options),
            Target::Path(path) => {
                let file = File::create(path).map_err(failed)?;
                let to_sync = if options.sync { Some(file.try_clone().map_err(failed)?) } else { None };
                let writer = Self::over(Box::new(file), path, Compression::of_path(path), options)?;
                Ok(Self { to_sync, ..writer })
            }
        }
    }

    /// A writer over any output; `path` stands for it in errors.
    pub fn over(
        output: Box<dyn Write + Send>,
        path: &Path,
        compression: Compression,
        options: &WriteOptions,
    ) -> Result<Self, FileError> {
        options.check()?;
        let path = path.to_path_buf();
        let sink = match compression {
            Compression::Plain => Sink::Plain(output),
            Compression::Gzip => {
                Sink::Gzip(GzEncoder::new(output, flate2::Compression::new(options.gzip_level)))
            }
            Compression::Zstd => match zstd::stream::write::Encoder::new(output, options.zstd_level) {
                Ok(encoder) => Sink::Zstd(encoder),
                Err(source) => return Err(FileError::Create { path, source }),
            },
        };
        let buffer = Vec::with_capacity(options.buffer_bytes);
        Ok(Self { path, buffer, sink, to_sync: None, written: Written::default() })
    }

    /// Writes an accepted record as a line.
    pub fn write_record(&mut self, payload: &[u8]) -> Result<(), FileError> {
        self.push_on_one_line(payload)?;
        self.push(b"\n")?;
        self.written.records += 1;
        Ok(())
    }

    /// Writes records that are lines already, each with its line break and none within.
    ///
    /// PERF: more than the buffer holds goes out as it lies, without a copy and without a look at it.
    pub fn write_lines(&mut self, lines: &[u8], records: u64) -> Result<(), FileError> {
        self.push(lines)?;
        self.written.records += records;
        Ok(())
    }

    /// Writes `{"tollgate":<note>,"record":<payload>}` as a line; `note_json` is the text of a JSON object.
    ///
    /// Where the payload is not JSON its base64 stands in `record_b64`; where it was too long to be kept, its length
    /// and hash in `record_bytes` and `record_sha256`. The payload is the last member and nothing follows it but
    /// `}`, so that even white space around it can be had back.
    pub fn write_rejected(&mut self, note_json: &[u8], record: Rejected<'_>) -> Result<(), FileError> {
        self.push(b"{\"tollgate\":")?;
        self.push_on_one_line(note_json)?;
        match record {
            Rejected::Json(payload) => {
                self.push(b",\"record\":")?;
                self.push_on_one_line(payload)?;
                self.push(b"}\n")?;
            }
            Rejected::Bytes(payload) => {
                self.push(b",\"record_b64\":\"")?;
                self.push_base64(payload)?;
                self.push(b"\"}\n")?;
            }
            Rejected::Oversized(oversized) => self.push_oversized(oversized)?,
        }
        self.written.records += 1;
        Ok(())
    }

    /// Hands everything written so far to the system. A compressed output grows by this: call it rarely.
    pub fn flush(&mut self) -> Result<(), FileError> {
        self.drain()?;
        let outcome = self.sink.as_write().flush();
        outcome.map_err(|source| self.error(source))
    }

    /// Ends the output: writes what is left, ends the compressed frame, and waits for the disk where that was asked
    /// for. Without this call the output is incomplete.
    pub fn finish(mut self) -> Result<Written, FileError> {
        self.drain()?;
        let Self { path, sink, to_sync, written, .. } = self;
        let ended = match sink {
            Sink::Plain(output) => Ok(output),
            Sink::Gzip(encoder) => encoder.finish(),
            Sink::Zstd(encoder) => encoder.finish(),
        };
        let flushed = ended.and_then(|mut output| output.flush());
        match flushed.and_then(|()| to_sync.map_or(Ok(()), |file| file.sync_all())) {
            Ok(()) => Ok(written),
            Err(source) => Err(FileError::Write { path, source }),
        }
    }

    fn push(&mut self, text: &[u8]) -> Result<(), FileError> {
        if text.len() > self.buffer.capacity() - self.buffer.len() {
            self.drain()?;
        }
        self.written.bytes += text.len() as u64;
        if text.len() > self.buffer.capacity() {
            let outcome = self.sink.as_write().write_all(text);
            return outcome.map_err(|source| self.error(source));
        }
        self.buffer.extend_from_slice(text);
        Ok(())
    }

    fn push_on_one_line(&mut self, mut text: &[u8]) -> Result<(), FileError> {
        while let Some((line, rest)) = memchr2(b'\n', b'\r', text).and_then(|at| text.split_at_checked(at)) {
            self.push(line)?;
            self.push(b" ")?;
            text = rest.get(1..).unwrap_or_default();
        }
        self.push(text)
    }

    /// In pieces, so that a record of 100 MB does not become a string of 133 MB first.
    fn push_base64(&mut self, payload: &[u8]) -> Result<(), FileError> {
        const PIECE_BYTES: usize = 3 * 1024;
        let mut encoded = [0; PIECE_BYTES / 3 * 4];
        for piece in payload.chunks(PIECE_BYTES) {
            let len = STANDARD.encode_slice(piece, &mut encoded).unwrap_or_default();
            debug_assert!(len > 0, "the piece fits");
            self.push(encoded.get(..len).unwrap_or_default())?;
        }
        Ok(())
    }

    fn push_oversized(&mut self, oversized: &Oversized) -> Result<(), FileError> {
        const DIGITS: &[u8; 16] = b"0123456789abcdef";
        let mut hex = [0; 64];
        for (pair, byte) in hex.chunks_exact_mut(2).zip(oversized.sha256) {
            let digit = |value: u8| DIGITS.get(usize::from(value)).copied().unwrap_or(b'0');
            pair.copy_from_slice(&[digit(byte >> 4), digit(byte & 15)]);
        }
        self.push(b",\"record_sha256\":\"")?;
        self.push(&hex)?;
        self.push(b"\",\"record_bytes\":")?;
        self.push(oversized.bytes.to_string().as_bytes())?;
        self.push(b"}\n")
    }

    fn drain(&mut self) -> Result<(), FileError> {
        let outcome = self.sink.as_write().write_all(&self.buffer);
        self.buffer.clear();
        outcome.map_err(|source| self.error(source))
    }

    fn error(&self, source: io::Error) -> FileError {
        FileError::Write { path: self.path.clone(), source }
    }
}

impl Sink {
    fn as_write(&mut self) -> &mut dyn Write {
        match self {
            Self::Plain(output) => output,
            Self::Gzip(encoder) => encoder,
            Self::Zstd(encoder) => encoder,
        }
    }
}
