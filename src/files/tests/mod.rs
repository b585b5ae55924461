//! Tests of the files side, one file per theme, and what they share: bytes in, records out, a directory that goes away.

mod archives;
mod arrays;
mod inputs;
mod limits;
mod lines;
mod speed;
mod writer;

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU32, Ordering};

use super::{Event, FileError, Input, Layout, Oversized, ReadOptions, Reader, Totals};

/// A directory of its own for one test.
struct Folder(PathBuf);

impl Folder {
    fn new() -> Self {
        static COUNT: AtomicU32 = AtomicU32::new(0);
        let number = COUNT.fetch_add(1, Ordering::Relaxed);
        let path = std::env::temp_dir().join(format!("tollgate-files-{}-{number}", std::process::id()));
        fs::create_dir_all(&path).unwrap();
        Self(path)
    }

    fn path(&self, name: &str) -> PathBuf {
        self.0.join(name)
    }

    fn write(&self, name: &str, content: &[u8]) -> PathBuf {
        let path = self.path(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(&path, content).unwrap();
        path
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        fs::remove_dir_all(&self.0).unwrap();
    }
}

/// What reading one or more files gave.
#[derive(Debug, Default)]
struct Outcome {
    /// Line and payload, by order of delivery.
    records: Vec<(u64, Vec<u8>)>,
    oversized: Vec<(u64, Oversized)>,
    totals: Vec<Totals>,
    errors: Vec<FileError>,
}

impl Outcome {
    fn texts(&self) -> Vec<&str> {
        self.records.iter().map(|(_, payload)| std::str::from_utf8(payload).unwrap()).collect()
    }

    fn lines(&self) -> Vec<u64> {
        self.records.iter().map(|(line, _)| *line).collect()
    }

    /// The outcome as one text, to compare two of them.
    fn summary(&self) -> String {
        let errors: Vec<_> = self.errors.iter().map(ToString::to_string).collect();
        let records: Vec<_> =
            self.records.iter().map(|(line, text)| (line, String::from_utf8_lossy(text))).collect();
        format!("{records:?} {:?} {:?} {errors:?}", self.oversized, self.totals)
    }
}

/// Runs a reader to its end, and checks on the way what holds for every run.
fn drain(reader: Reader, options: &ReadOptions) -> Outcome {
    let mut outcome = Outcome::default();
    let mut delivered = 0;
    let mut current = 0;
    let files = reader.paths().len();
    for event in reader {
        match event {
            Event::Block(block) => {
                assert_eq!(block.file.0, current, "files come one after another");
                assert_eq!(block.first_record, delivered, "records are numbered without gaps");
                assert!((1..=options.records_max).contains(&block.spans.len()));
                delivered += block.spans.len() as u64;
                for span in &block.spans {
                    assert_eq!(block.payload_shared(span), block.payload(span));
                    match &span.oversized {
                        Some(oversized) => outcome.oversized.push((span.line, **oversized)),
                        None => outcome.records.push((span.line, block.payload(span).to_vec())),
                    }
                }
            }
            Event::Unfinished => {}
            Event::Done { file, totals } => {
                assert_eq!((file.0, totals.records), (current, delivered));
                outcome.totals.push(totals);
                (current, delivered) = (current + 1, 0);
            }
            Event::Failed { file, totals, error } => {
                assert_eq!((file.0, totals.records), (current, delivered));
                outcome.totals.push(totals);
                outcome.errors.push(error);
                (current, delivered) = (current + 1, 0);
            }
        }
    }
    assert_eq!(current as usize, files, "every file ends with one event");
    outcome
}

fn read_paths(paths: &[&Path], options: &ReadOptions) -> Outcome {
    let inputs: Vec<_> = paths.iter().map(|path| Input::Path(path.to_path_buf())).collect();
    drain(Reader::open(&inputs, options).unwrap(), options)
}

/// Reads `text` as standard input.
fn read(text: &[u8], options: &ReadOptions) -> Outcome {
    let stdin = Box::new(std::io::Cursor::new(text.to_vec()));
    drain(Reader::open_with_stdin(&[Input::Stdin], options, stdin).unwrap(), options)
}

/// Options with blocks of `block_bytes` and three records per block.
fn blocks(block_bytes: usize) -> ReadOptions {
    ReadOptions { block_bytes, records_max: 3, ..ReadOptions::default() }
}

fn layout(layout: Layout) -> ReadOptions {
    ReadOptions { layout, ..ReadOptions::default() }
}

/// Reader and writer each move to a thread of their own.
#[test]
fn reader_and_writer_can_change_threads() {
    fn assert_send<T: Send + 'static>() {}
    assert_send::<Reader>();
    assert_send::<super::Writer>();
    assert_send::<Event>();
}
