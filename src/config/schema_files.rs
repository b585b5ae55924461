//! The files of a user's schema: its text, and the documents that it may refer to. Reads files and nothing else;
//! compiling them is the rule set's work.

use std::fs;
use std::path::Path;

use serde_json::Value;

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
    /// Other documents by URI.
    pub documents: Vec<(String, Value)>,
}

impl SchemaFiles {
    /// Reads the schema, and every JSON file below the directories: each stands for the URIs that begin with its prefix.
    pub fn read<'m>(
        schema: &Path,
        map: impl IntoIterator<Item = (&'m str, &'m Path)>,
    ) -> Result<Self, SchemaFilesError> {
        let text = fs::read_to_string(schema).map_err(|error| wrong(schema, &error))?;
        let mut documents = Vec::new();
        for (prefix, directory) in map {
            add_directory(&mut documents, prefix, directory)?;
        }
        Ok(Self { file: schema.display().to_string(), text, documents })
    }
}

fn add_directory(
    documents: &mut Vec<(String, Value)>,
    prefix: &str,
    directory: &Path,
) -> Result<(), SchemaFilesError> {
    let mut pending = vec![directory.to_owned()];
    while let Some(folder) = pending.pop() {
        for entry in fs::read_dir(&folder).map_err(|error| wrong(&folder, &error))? {
            let path = entry.map_err(|error| wrong(&folder, &error))?.path();
            if path.is_dir() {
                pending.push(path);
            } else if path.extension().is_some_and(|extension| extension == "json") {
                let text = fs::read(&path).map_err(|error| wrong(&path, &error))?;
                let document = serde_json::from_slice(&text).map_err(|error| wrong(&path, &error))?;
                let name = path.strip_prefix(directory).unwrap_or(&path).to_string_lossy().replace('\\', "/");
                documents.push((format!("{}/{name}", prefix.trim_end_matches('/')), document));
            }
        }
    }
    Ok(())
}

fn wrong(path: &Path, error: &impl ToString) -> SchemaFilesError {
    SchemaFilesError { file: path.display().to_string(), message: error.to_string() }
}
