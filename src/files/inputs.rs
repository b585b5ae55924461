//! From arguments to the list of files: directories are walked, links followed, nothing is left out unsaid.
//!
//! Arguments keep their order. In a directory, files come in the byte order of their paths, so that a run over the
//! same tree has the same outcome on every system. What a directory holds besides records is counted and named in
//! [`Skipped`]; what can't be listed becomes an entry with its error, reported when its turn comes.
//!
//! A walk ends whatever links say: within one argument, each directory is entered once and each file listed once, by
//! its real path if the walk meets that, else by the first link. Only regular files count, since a named pipe in a
//! directory would block the run.

use std::collections::HashSet;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use super::FileIndex;
use super::failure::FileError;

/// LIMIT: files in one run.
const FILES_MAX: usize = 16 * 1024 * 1024;

/// How many skipped paths are named; the others are only counted.
const SKIPPED_EXAMPLES_MAX: usize = 8;

/// What directories are searched for; each also with `.gz` or `.zst` behind it.
const EXTENSIONS: [&str; 3] = ["json", "ndjson", "jsonl"];

/// One argument.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Input {
    /// A file, or a directory that is searched for files.
    Path(PathBuf),
    /// Standard input.
    Stdin,
}

impl Input {
    /// The input that an argument names: `-` is standard input.
    #[must_use]
    pub fn from_argument(argument: &Path) -> Self {
        if argument.as_os_str() == "-" { Self::Stdin } else { Self::Path(argument.to_path_buf()) }
    }
}

/// What a walk through directories left out: other names, links to what is listed already, pipes, sockets.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Skipped {
    /// How many.
    pub count: u64,
    /// The first few of them.
    pub examples: Vec<PathBuf>,
}

impl Skipped {
    fn add(&mut self, path: PathBuf) {
        self.count += 1;
        if self.examples.len() < SKIPPED_EXAMPLES_MAX {
            self.examples.push(path);
        }
    }
}

/// The files of a run.
#[derive(Debug, Default)]
pub(super) struct Listing {
    pub(super) paths: Vec<PathBuf>,
    /// Ascending by file.
    pub(super) errors: Vec<(FileIndex, FileError)>,
    pub(super) skipped: Skipped,
    pub(super) stdin: Option<FileIndex>,
}

impl Listing {
    pub(super) fn of(inputs: &[Input]) -> Result<Self, FileError> {
        let mut listing = Self::default();
        for input in inputs {
            match input {
                Input::Stdin if listing.stdin.is_some() => return Err(FileError::StdinTwice),
                Input::Stdin => {
                    listing.stdin = Some(FileIndex(listing.paths.len() as u32));
                    listing.push(PathBuf::from("-"), None)?;
                }
                Input::Path(path) if fs::metadata(path).is_ok_and(|metadata| metadata.is_dir()) => {
                    let mut walk = Walk::default();
                    walk.run(path);
                    walk.found.sort_by(|(a, _), (b, _)| path_bytes(a).cmp(path_bytes(b)));
                    for (path, error) in walk.found {
                        listing.push(path, error)?;
                    }
                    walk.skipped.into_iter().for_each(|path| listing.skipped.add(path));
                }
                Input::Path(path) => listing.push(path.clone(), None)?,
            }
        }
        Ok(listing)
    }

    fn push(&mut self, path: PathBuf, error: Option<FileError>) -> Result<(), FileError> {
        if self.paths.len() == FILES_MAX {
            return Err(FileError::TooManyFiles { found: FILES_MAX + 1, allowed: FILES_MAX });
        }
        if let Some(error) = error {
            self.errors.push((FileIndex(self.paths.len() as u32), error));
        }
        self.paths.push(path);
        Ok(())
    }
}

fn path_bytes(path: &Path) -> &[u8] {
    path.as_os_str().as_encoded_bytes()
}

/// A walk through one directory argument.
#[derive(Default)]
struct Walk {
    found: Vec<(PathBuf, Option<FileError>)>,
    skipped: Vec<PathBuf>,
    /// Resolved paths of everything entered or listed.
    seen: HashSet<PathBuf>,
    /// Directories still to enter, the next one last.
    directories: Vec<PathBuf>,
    /// Links wait until everything that is real has been found.
    links: Vec<PathBuf>,
}

impl Walk {
    fn run(&mut self, root: &Path) {
        self.directories.push(root.to_path_buf());
        loop {
            while let Some(directory) = self.directories.pop() {
                if let Err(source) = self.enter(&directory) {
                    let error = FileError::List { path: directory.clone(), source };
                    self.found.push((directory, Some(error)));
                }
            }
            // The smallest link first, so that the outcome does not depend on the order of the system.
            self.links.sort_by(|a, b| path_bytes(b).cmp(path_bytes(a)));
            let Some(link) = self.links.pop() else { break };
            self.follow(link);
        }
        self.skipped.sort_by(|a, b| path_bytes(a).cmp(path_bytes(b)));
    }

    fn enter(&mut self, directory: &Path) -> io::Result<()> {
        let resolved = fs::canonicalize(directory)?;
        if !self.seen.insert(resolved.clone()) {
            self.skipped.push(directory.to_path_buf());
            return Ok(());
        }
        for entry in fs::read_dir(directory)? {
            let entry = entry?;
            let (path, kind) = (entry.path(), entry.file_type()?);
            if kind.is_symlink() {
                self.links.push(path);
            } else if kind.is_dir() {
                self.directories.push(path);
            } else if kind.is_file() && is_wanted(&path) {
                self.seen.insert(resolved.join(entry.file_name()));
                self.found.push((path, None));
            } else {
                self.skipped.push(path);
            }
        }
        Ok(())
    }

    /// A link counts as what it leads to. One that leads nowhere is listed if its name is that of a file with
    /// records: opening it will say what is wrong.
    fn follow(&mut self, link: PathBuf) {
        let Ok(resolved) = fs::canonicalize(&link) else {
            if is_wanted(&link) {
                self.found.push((link, None));
            } else {
                self.skipped.push(link);
            }
            return;
        };
        if resolved.is_dir() {
            self.directories.push(link);
        } else if resolved.is_file() && is_wanted(&link) && self.seen.insert(resolved) {
            self.found.push((link, None));
        } else {
            self.skipped.push(link);
        }
    }
}

/// Whether a file in a directory is taken for one with records, by its name.
fn is_wanted(path: &Path) -> bool {
    let has = |path: &Path, extensions: &[&str]| {
        path.extension()
            .is_some_and(|found| extensions.iter().any(|wanted| found.eq_ignore_ascii_case(wanted)))
    };
    match path.file_stem() {
        Some(stem) if has(path, &["gz", "zst"]) => has(Path::new(stem), &EXTENSIONS),
        _ => has(path, &EXTENSIONS),
    }
}
