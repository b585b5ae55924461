//! The files of a user's schema: its text, and the documents that it may refer to. Reads files and nothing else;
//! compiling them is the rule set's work.

use std::collections::HashSet;
use std::fs;
use std::path::{Path, PathBuf};

/// A file of a schema that cannot be used.
#[derive(Debug, thiserror::Error)]
#[error("{file}: {message}")]
pub struct SchemaFilesError {
    /// The file or directory.
    pub file: String,
    /// What is wrong with it.
    pub message: String,
}

/// A schema's text with the documents that it may refer to.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct SchemaFiles {
    /// The schema's file, as it was named.
    pub file: String,
    /// Its text.
    pub text: String,
    /// Other documents.
    pub documents: Vec<MappedFile>,
}

/// A file below a directory that stands for a URI prefix.
#[derive(Clone, Debug, PartialEq)]
pub struct MappedFile {
    /// The URI that it stands for.
    pub uri: String,
    /// Its name.
    pub file: String,
    /// Its text, or why there is none: that counts only if a schema refers to it.
    pub text: Result<String, String>,
}

impl SchemaFiles {
    /// Reads the schema, and every JSON file below the directories: each stands for the URIs that begin with its prefix.
    pub fn read<'m>(
        schema: &Path,
        map: impl IntoIterator<Item = (&'m str, &'m Path)>,
    ) -> Result<Self, SchemaFilesError> {
        let wrong = |message| SchemaFilesError { file: schema.display().to_string(), message };
        let text = text_of(schema).map_err(wrong)?;
        let mut documents = Vec::new();
        for (prefix, directory) in map {
            add_directory(&mut documents, prefix, directory)?;
        }
        Ok(Self { file: schema.display().to_string(), text, documents })
    }
}

/// Adds the JSON files below a directory, in the order of their names. A directory that links lead back to is read once.
fn add_directory(
    documents: &mut Vec<MappedFile>,
    prefix: &str,
    directory: &Path,
) -> Result<(), SchemaFilesError> {
    let mut pending = vec![directory.to_owned()];
    let mut seen = HashSet::new();
    while let Some(folder) = pending.pop() {
        let canonical = folder.canonicalize().map_err(|error| wrong(&folder, &error))?;
        if !seen.insert(canonical) {
            continue;
        }
        let mut paths: Vec<PathBuf> = Vec::new();
        for entry in fs::read_dir(&folder).map_err(|error| wrong(&folder, &error))? {
            paths.push(entry.map_err(|error| wrong(&folder, &error))?.path());
        }
        paths.sort();
        for path in paths {
            if path.is_dir() {
                pending.push(path);
            } else if path.extension().is_some_and(|extension| extension == "json") {
                let name = path.strip_prefix(directory).unwrap_or(&path).to_string_lossy().replace('\\', "/");
                documents.push(MappedFile {
                    uri: format!("{}/{name}", prefix.trim_end_matches('/')),
                    file: path.display().to_string(),
                    text: text_of(&path),
                });
            }
        }
    }
    Ok(())
}

/// The text of a file, or why it has none.
fn text_of(path: &Path) -> Result<String, String> {
    let bytes = fs::read(path).map_err(|error| error.to_string())?;
    String::from_utf8(bytes).map_err(|error| {
        format!(
            "not UTF-8: the byte at position {} belongs to no character",
            error.utf8_error().valid_up_to()
        )
    })
}

fn wrong(path: &Path, error: &impl ToString) -> SchemaFilesError {
    SchemaFilesError { file: path.display().to_string(), message: error.to_string() }
}
