//! Files that envelopes refer to, below one root directory: their SHA-256, and nothing else of them.
//!
//! This is the only I/O of the judge, and it happens only where a root is configured and an envelope names a file with a
//! hash. Nothing outside the root is read, wherever symbolic links lead. A file is read again only after its size or
//! time of change has changed.

use std::collections::HashMap;
use std::fs::{self, File};
use std::io::{self, Read as _};
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};
use std::time::SystemTime;

use ring::digest::{Context, SHA256};

/// LIMIT: larger files are not read; their hash counts as not known.
const FILE_BYTES_MAX: u64 = 64 << 20;
/// LIMIT: files whose hash is remembered; past it, all are forgotten.
const FILES_MAX: usize = 65_536;

/// A directory of attachments.
#[derive(Debug)]
pub struct Attachments {
    root: PathBuf,
    known: Mutex<HashMap<Box<str>, Known>>,
}

#[derive(Debug)]
struct Known {
    path: PathBuf,
    bytes: u64,
    changed: SystemTime,
    sha256: [u8; 32],
}

impl Attachments {
    /// The directory must be there.
    pub fn open(root: &Path) -> io::Result<Self> {
        let root = root.canonicalize()?;
        if !root.is_dir() {
            return Err(io::Error::other("not a directory"));
        }
        Ok(Self { root, known: Mutex::default() })
    }

    /// The SHA-256 of a file below the root; `None` if it is not there, no file, too large, or leads outside.
    pub fn sha256(&self, path: &str) -> Option<[u8; 32]> {
        let mut known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(sha256) = remembered(&known, path) {
            return Some(sha256);
        }
        // All links are resolved first, so that the place that is read is the place that was compared. What is
        // remembered is that place: a link may lead elsewhere next time, and must not cost a reading each time.
        let real = self.root.join(path).canonicalize().ok()?;
        let name = real.strip_prefix(&self.root).ok()?.to_str()?;
        if let Some(sha256) = remembered(&known, name) {
            return Some(sha256);
        }
        let file = read(&real)?;
        let sha256 = file.sha256;
        if known.len() >= FILES_MAX {
            known.clear();
        }
        known.insert(name.into(), file);
        Some(sha256)
    }
}

/// The hash of a file that has not changed since it was read.
fn remembered(known: &HashMap<Box<str>, Known>, name: &str) -> Option<[u8; 32]> {
    let file = known.get(name)?;
    let now = fs::symlink_metadata(&file.path).ok().and_then(|metadata| stamp(&metadata));
    (now == Some((file.bytes, file.changed))).then_some(file.sha256)
}

fn read(path: &Path) -> Option<Known> {
    // Opening a pipe would wait for whoever writes to it.
    stamp(&fs::metadata(path).ok()?)?;
    let mut file = File::open(path).ok()?;
    let (bytes, changed) = stamp(&file.metadata().ok()?)?;
    let mut context = Context::new(&SHA256);
    let mut block = [0; 16 * 1024];
    let mut left = FILE_BYTES_MAX;
    loop {
        let read = file.read(&mut block).ok()?;
        if read == 0 {
            break;
        }
        left = left.checked_sub(read as u64)?;
        context.update(block.get(..read)?);
    }
    let sha256 = context.finish().as_ref().try_into().ok()?;
    Some(Known { path: path.to_owned(), bytes, changed, sha256 })
}

/// What changes when a file does; `None` if it is no file, or too large.
fn stamp(metadata: &fs::Metadata) -> Option<(u64, SystemTime)> {
    let fits = metadata.is_file() && metadata.len() <= FILE_BYTES_MAX;
    fits.then(|| metadata.modified().ok().map(|changed| (metadata.len(), changed))).flatten()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sha256(text: &str) -> [u8; 32] {
        ring::digest::digest(&SHA256, text.as_bytes()).as_ref().try_into().unwrap()
    }

    #[test]
    fn nothing_outside_the_root_is_read() {
        let folder = std::env::temp_dir().join(format!("tollgate-attachments-{}", std::process::id()));
        let root = folder.join("root");
        fs::create_dir_all(root.join("docs")).unwrap();
        fs::write(folder.join("secret"), "s").unwrap();
        fs::write(root.join("docs/a.md"), "a").unwrap();
        std::os::unix::fs::symlink(folder.join("secret"), root.join("link")).unwrap();
        std::os::unix::fs::symlink(&folder, root.join("up")).unwrap();
        std::os::unix::fs::symlink(root.join("docs"), root.join("within")).unwrap();
        let attachments = Attachments::open(&root).unwrap();
        assert_eq!(attachments.sha256("within/a.md"), Some(sha256("a")));
        assert!(attachments.known.lock().unwrap().contains_key("docs/a.md"), "a link is not read each time");
        assert_eq!(attachments.sha256("within/a.md"), Some(sha256("a")));
        assert_eq!(attachments.sha256("docs/a.md"), Some(sha256("a")));
        for path in ["link", "up/secret", "../secret", "docs", "none", "/etc/hostname"] {
            assert_eq!(attachments.sha256(path), None, "{path}");
        }
        fs::write(root.join("docs/a.md"), "changed").unwrap();
        assert_eq!(attachments.sha256("docs/a.md"), Some(sha256("changed")));
        fs::remove_file(root.join("docs/a.md")).unwrap();
        assert_eq!(attachments.sha256("docs/a.md"), None);
        assert!(Attachments::open(&root.join("none")).is_err());
        fs::remove_dir_all(&folder).unwrap();
    }
}
