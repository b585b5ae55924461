//! Hashes a file as it is stored, while it is read for its records.
//!
//! The hash sits below decompression, so it is that of the file on the disk. It means something only when the file was
//! read to its end.

use std::io::{self, Read};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use ring::digest::{Context, SHA256};

use super::Stored;

/// Stored bytes that were read so far, of all files; for whoever watches.
pub type BytesRead = Arc<AtomicU64>;

/// A reader that hashes what passes.
pub(super) struct Tap<R> {
    inner: R,
    shared: SharedDigest,
    total: BytesRead,
}

/// The hash so far, shared with the one who asks for it in the end.
#[derive(Clone)]
pub(super) struct SharedDigest(Arc<Mutex<(Context, u64)>>);

impl<R: Read> Tap<R> {
    pub(super) fn new(inner: R, total: BytesRead) -> (Self, SharedDigest) {
        let shared = SharedDigest(Arc::new(Mutex::new((Context::new(&SHA256), 0))));
        (Self { inner, shared: shared.clone(), total }, shared)
    }
}

impl<R: Read> Read for Tap<R> {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        let count = self.inner.read(into)?;
        let mut shared = self.shared.0.lock().unwrap_or_else(PoisonError::into_inner);
        shared.0.update(into.get(..count).unwrap_or_default());
        shared.1 += count as u64;
        self.total.fetch_add(count as u64, Ordering::Relaxed);
        Ok(count)
    }
}

impl SharedDigest {
    /// The digest of everything that was read.
    pub(super) fn finish(&self) -> Stored {
        let (context, bytes) = {
            let shared = self.0.lock().unwrap_or_else(PoisonError::into_inner);
            (shared.0.clone(), shared.1)
        };
        let mut sha256 = [0; 32];
        sha256.copy_from_slice(context.finish().as_ref());
        Stored { bytes, sha256 }
    }
}
