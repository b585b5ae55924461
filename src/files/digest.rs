//! Hashes a file as it is stored, while it is read for its records.
//!
//! The hash is that of the file on the disk: an archive's bytes pass a [`Tap`] on their way to the decoder, and those of
//! a plain file are hashed where they were read to. It means something only when the file was read to its end.

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
}

/// The hash so far, shared with the one who asks for it in the end.
#[derive(Clone)]
pub(super) struct SharedDigest {
    hashed: Arc<Mutex<(Context, u64)>>,
    total: BytesRead,
}

impl<R: Read> Tap<R> {
    pub(super) fn new(inner: R, shared: SharedDigest) -> Self {
        Self { inner, shared }
    }
}

impl<R: Read> Read for Tap<R> {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        let count = self.inner.read(into)?;
        self.shared.add(into.get(..count).unwrap_or_default());
        Ok(count)
    }
}

impl SharedDigest {
    /// Of nothing yet; `total` counts along.
    pub(super) fn new(total: BytesRead) -> Self {
        Self { hashed: Arc::new(Mutex::new((Context::new(&SHA256), 0))), total }
    }

    /// These bytes were read.
    pub(super) fn add(&self, bytes: &[u8]) {
        let mut hashed = self.hashed.lock().unwrap_or_else(PoisonError::into_inner);
        hashed.0.update(bytes);
        hashed.1 += bytes.len() as u64;
        self.total.fetch_add(bytes.len() as u64, Ordering::Relaxed);
    }

    /// The digest of everything that was read.
    pub(super) fn finish(&self) -> Stored {
        let (context, bytes) = {
            let hashed = self.hashed.lock().unwrap_or_else(PoisonError::into_inner);
            (hashed.0.clone(), hashed.1)
        };
        let mut sha256 = [0; 32];
        sha256.copy_from_slice(context.finish().as_ref());
        Stored { bytes, sha256 }
    }
}
