//! Envelopes from files or standard input, one by one, for commands that look at each by itself.
//!
//! A file that cannot be read does not keep the others from being read; it is the command's failure at the end.

use std::path::{Path, PathBuf};

use super::{Failure, usage};
use crate::files::{Event, Input, ReadOptions, Reader};
use crate::judge::Payload;

/// One envelope and where it stands.
pub(super) struct Envelope<'a> {
    /// `path:line`.
    pub(super) source: String,
    /// The file's path.
    pub(super) path: &'a str,
    /// What it holds.
    pub(super) payload: Payload<'a>,
}

/// Hands every envelope of `paths` to `then`; no path means standard input. `purpose` says in an error what for.
pub(super) fn each(
    paths: &[PathBuf],
    purpose: &str,
    mut then: impl FnMut(Envelope<'_>) -> Result<(), Failure>,
) -> Result<(), Failure> {
    let inputs = match paths {
        [] => vec![Input::from_argument(Path::new("-"))],
        paths => paths.iter().map(|path| Input::from_argument(path)).collect(),
    };
    let mut reader = Reader::open(&inputs, &ReadOptions::default())?;
    let (mut failed, mut seen) = (None, false);
    while let Some(event) = reader.next() {
        let block = match event {
            Event::Block(block) => block,
            Event::Failed { error, .. } => {
                // The first one ends the command, and is told then.
                match failed {
                    Some(_) => tracing::error!("{error}"),
                    None => failed = Some(error),
                }
                continue;
            }
            Event::Done { .. } | Event::Unfinished => continue,
        };
        seen = true;
        let path = reader.paths().get(block.file.0 as usize).map(|path| path.display().to_string());
        let path = path.as_deref().unwrap_or("-");
        for span in &block.spans {
            let payload = match span.oversized {
                Some(_) => Payload::Oversized,
                None => Payload::Bytes(block.payload(span)),
            };
            then(Envelope { source: format!("{path}:{}", span.line), path, payload })?;
        }
    }
    match failed {
        // Its text names the cause, too.
        Some(error) => Err(anyhow::anyhow!("{error}").into()),
        None if !seen => Err(usage(anyhow::anyhow!("no envelope to {purpose}: the input is empty"))),
        None => Ok(()),
    }
}
