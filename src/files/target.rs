//! Where output goes, how it is compressed, and the check that no file is used for two things.
//!
//! Writing into a file that is being read, or two writers in one file, destroys data without an error from the
//! system. So [`check_distinct`] compares files, not spellings: links and `..` are resolved first.

use std::fmt;
use std::fs;
use std::path::{Path, PathBuf};

use super::failure::FileError;

/// How bytes are compressed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Compression {
    /// Not at all.
    Plain,
    /// Gzip, RFC 1952.
    Gzip,
    /// Zstandard, RFC 8878.
    Zstd,
}

impl Compression {
    /// What the path's extension asks for: `.gz`, `.zst`, else nothing. The reader looks at content instead.
    #[must_use]
    pub fn of_path(path: &Path) -> Self {
        match path.extension() {
            Some(extension) if extension.eq_ignore_ascii_case("gz") => Self::Gzip,
            Some(extension) if extension.eq_ignore_ascii_case("zst") => Self::Zstd,
            _ => Self::Plain,
        }
    }
}

impl fmt::Display for Compression {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(match self {
            Self::Plain => "plain",
            Self::Gzip => "gzip",
            Self::Zstd => "zstd",
        })
    }
}

/// Where a writer writes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Target {
    /// A file; what it held before is lost.
    Path(PathBuf),
    /// Standard output, never compressed.
    Stdout,
}

impl Target {
    /// The target that an argument names: `-` is standard output.
    #[must_use]
    pub fn from_argument(argument: &Path) -> Self {
        if argument.as_os_str() == "-" { Self::Stdout } else { Self::Path(argument.to_path_buf()) }
    }

    /// The path, or `-`.
    #[must_use]
    pub fn path(&self) -> &Path {
        match self {
            Self::Path(path) => path,
            Self::Stdout => Path::new("-"),
        }
    }
}

/// Refuses outputs that are one file, and outputs that are also inputs ([`super::Reader::paths`]).
///
/// Devices and pipes (`/dev/null`) may be named more than once: they hold nothing that could be overwritten.
pub fn check_distinct(outputs: &[Target], inputs: &[PathBuf]) -> Result<(), FileError> {
    let mut seen: Vec<(Identity, &Target)> = Vec::with_capacity(outputs.len());
    for output in outputs {
        let Some(identity) = Identity::of_output(output) else { continue };
        if let Some((_, other)) = seen.iter().find(|(other, _)| identity.is(other)) {
            return Err(FileError::SameOutput {
                path: output.path().to_path_buf(),
                other: other.path().to_path_buf(),
            });
        }
        seen.push((identity, output));
    }
    for input in inputs.iter().filter(|input| input.as_os_str() != "-") {
        let Some(identity) = Identity::of_path(input) else { continue };
        if let Some((_, output)) = seen.iter().find(|(output, _)| identity.is(output)) {
            let path = output.path().to_path_buf();
            return Err(FileError::OutputIsInput { path, input: input.clone() });
        }
    }
    Ok(())
}

/// What makes two paths one file: the resolved path, or (hard links) device and inode.
struct Identity {
    resolved: PathBuf,
    inode: Option<(u64, u64)>,
}

impl Identity {
    fn of_output(target: &Target) -> Option<Self> {
        match target {
            Target::Stdout => Some(Self { resolved: PathBuf::from("-"), inode: None }),
            Target::Path(path) => Self::of_path(path),
        }
    }

    /// `None` for what exists and is not a regular file.
    fn of_path(path: &Path) -> Option<Self> {
        match fs::metadata(path) {
            Ok(metadata) if !metadata.is_file() => None,
            Ok(metadata) => {
                let resolved = fs::canonicalize(path).unwrap_or_else(|_| path.to_path_buf());
                Some(Self { resolved, inode: inode(&metadata) })
            }
            Err(_) => Some(Self { resolved: resolve_new(path), inode: None }),
        }
    }

    fn is(&self, other: &Self) -> bool {
        self.resolved == other.resolved || (self.inode.is_some() && self.inode == other.inode)
    }
}

/// The path that a file would get which does not exist yet: its directory resolved, its name kept.
fn resolve_new(path: &Path) -> PathBuf {
    let directory = match path.parent() {
        Some(parent) if !parent.as_os_str().is_empty() => parent,
        _ => Path::new("."),
    };
    match (fs::canonicalize(directory), path.file_name()) {
        (Ok(directory), Some(name)) => directory.join(name),
        _ => path.to_path_buf(),
    }
}

#[cfg(unix)]
#[expect(clippy::unnecessary_wraps, reason = "other systems have no such number")]
fn inode(metadata: &fs::Metadata) -> Option<(u64, u64)> {
    use std::os::unix::fs::MetadataExt;
    Some((metadata.dev(), metadata.ino()))
}

#[cfg(not(unix))]
fn inode(_: &fs::Metadata) -> Option<(u64, u64)> {
    None
}
