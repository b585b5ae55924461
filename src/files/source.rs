//! Opens one input and gives its bytes, decompressed; what compresses them is told by their first bytes.
//!
//! Names lie (`.gz` files that a proxy unpacked, archives without an extension, standard input), so the magic number
//! decides. The name counts only where the content can't: a file called `.gz` or `.zst` that is empty, or a part of
//! a magic number, is a truncated archive and not a record.

use std::fs::File;
use std::io::{self, BufRead, BufReader, Read};
use std::path::Path;

use flate2::bufread::MultiGzDecoder;

use super::digest::{BytesRead, SharedDigest, Tap};
use super::target::Compression;

/// Compressed bytes are read in pieces of this size.
const COMPRESSED_BUFFER_BYTES: usize = 256 * 1024;

/// LIMIT: Zstandard frames may need a window of 128 MiB (2^27 bytes), the most that `zstd` makes without `--long`.
const ZSTD_WINDOW_LOG_MAX: u32 = 27;

const GZIP_MAGIC: &[u8] = &[0x1f, 0x8b];
const ZSTD_MAGIC: &[u8] = &[0x28, 0xb5, 0x2f, 0xfd];
/// The last three bytes of a skippable frame's magic number, which `pzstd` puts first; the first is 0x50 to 0x5f.
const ZSTD_SKIPPABLE_MAGIC_END: &[u8] = &[0x2a, 0x4d, 0x18];
const MAGIC_BYTES_MAX: usize = 4;

/// The bytes of one input.
pub(super) struct Source {
    bytes: Box<dyn Read + Send>,
    pub(super) compression: Compression,
    /// Whether bytes come as someone writes them; then a block is not held back until it is full.
    pub(super) is_live: bool,
    /// The hash of what is stored, where somebody wants it.
    pub(super) digest: Option<SharedDigest>,
}

impl Source {
    /// Opens the file at `path`; it is hashed if its bytes are to be counted.
    pub(super) fn open(path: &Path, count: Option<&BytesRead>) -> io::Result<Self> {
        let file = File::open(path)?;
        let is_live = !file.metadata()?.is_file();
        Self::detect(file, Compression::of_path(path), is_live, count)
    }

    /// Takes standard input, or what a test puts in its place.
    pub(super) fn stdin(stdin: Box<dyn Read + Send>, count: Option<&BytesRead>) -> io::Result<Self> {
        Self::detect(stdin, Compression::Plain, true, count)
    }

    fn detect(
        mut bytes: impl Read + Send + 'static,
        named: Compression,
        is_live: bool,
        count: Option<&BytesRead>,
    ) -> io::Result<Self> {
        let mut magic = Vec::with_capacity(MAGIC_BYTES_MAX);
        // Byte by byte, so that a live input is never waited for longer than its first byte takes to tell.
        while magic.len() < MAGIC_BYTES_MAX && may_become_archive(&magic) {
            if bytes.by_ref().take(1).read_to_end(&mut magic)? == 0 {
                break;
            }
        }
        let compression = match content_compression(&magic) {
            Compression::Plain if magic.len() < MAGIC_BYTES_MAX && may_become_archive(&magic) => named,
            compression => compression,
        };
        let bytes = io::Cursor::new(magic).chain(bytes);
        let digest = count.map(|count| SharedDigest::new(BytesRead::clone(count)));
        let bytes: Box<dyn Read + Send> = match (compression, digest.clone()) {
            (Compression::Plain, _) => Box::new(bytes),
            (_, None) => decoder(BufReader::with_capacity(COMPRESSED_BUFFER_BYTES, bytes), compression)?,
            (_, Some(digest)) => {
                let bytes = Tap::new(bytes, digest);
                decoder(BufReader::with_capacity(COMPRESSED_BUFFER_BYTES, bytes), compression)?
            }
        };
        Ok(Self { bytes, compression, is_live, digest })
    }

    /// Reads into `into` until it is full, or once if the input is live. Returns how many bytes came; an error may
    /// come with bytes that were read before it.
    pub(super) fn fill(&mut self, into: &mut [u8]) -> (usize, io::Result<()>) {
        let (filled, outcome) = self.fill_unhashed(into);
        self.hash(into.get(..filled).unwrap_or_default());
        (filled, outcome)
    }

    /// The same for input that is not live: appends up to `room` bytes, and leaves the memory for them as it is before.
    pub(super) fn append(&mut self, into: &mut Vec<u8>, room: usize) -> (usize, io::Result<()>) {
        let len = into.len();
        let outcome = self.bytes.by_ref().take(room as u64).read_to_end(into).map(|_| ());
        let appended = into.get(len..).unwrap_or_default();
        self.hash(appended);
        (appended.len(), outcome)
    }

    /// Hashes what was read of a plain file; what comes out of an archive is not what is stored.
    fn hash(&self, bytes: &[u8]) {
        if let (Compression::Plain, Some(digest)) = (self.compression, &self.digest) {
            digest.add(bytes);
        }
    }

    fn fill_unhashed(&mut self, into: &mut [u8]) -> (usize, io::Result<()>) {
        let mut filled = 0;
        while let Some(free @ [_, ..]) = into.get_mut(filled..) {
            match self.bytes.read(free) {
                Ok(0) => break,
                Ok(count) => filled += count,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return (filled, Err(error)),
            }
            if self.is_live && filled > 0 {
                break;
            }
        }
        (filled, Ok(()))
    }
}

/// What unpacks an archive.
fn decoder(
    bytes: impl BufRead + Send + 'static,
    compression: Compression,
) -> io::Result<Box<dyn Read + Send>> {
    if compression == Compression::Gzip {
        return Ok(Box::new(MultiGzDecoder::new(bytes)));
    }
    let mut decoder = zstd::stream::read::Decoder::with_buffer(bytes)?;
    decoder.window_log_max(ZSTD_WINDOW_LOG_MAX)?;
    Ok(Box::new(decoder))
}

/// What a file that begins with `magic` is compressed with.
fn content_compression(magic: &[u8]) -> Compression {
    if magic.starts_with(GZIP_MAGIC) {
        Compression::Gzip
    } else if magic.len() == MAGIC_BYTES_MAX && may_become_archive(magic) {
        Compression::Zstd
    } else {
        Compression::Plain
    }
}

/// Whether `magic` is the beginning of a magic number.
fn may_become_archive(magic: &[u8]) -> bool {
    let is_skippable = match magic {
        [] => true,
        [first, rest @ ..] => first & 0xf0 == 0x50 && ZSTD_SKIPPABLE_MAGIC_END.starts_with(rest),
    };
    is_skippable || GZIP_MAGIC.starts_with(magic) || ZSTD_MAGIC.starts_with(magic)
}
