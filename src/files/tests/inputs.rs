//! Arguments, directories, links, standard input, and files that can't be read.

use std::fs;
use std::io::{self, Read};

use super::{Folder, ReadOptions, drain, read_paths};
use crate::files::{Event, FileError, Input, Reader};

fn listed(folder: &Folder, inputs: &[Input]) -> (Vec<String>, u64) {
    let reader = Reader::open(inputs, &ReadOptions::default()).unwrap();
    let root = folder.0.to_str().unwrap();
    let names = reader.paths().iter().map(|path| path.to_str().unwrap().replacen(root, "", 1)).collect();
    (names, reader.skipped().count)
}

#[test]
fn arguments_keep_their_order_and_directories_go_by_bytes() {
    let folder = Folder::new();
    for name in [
        "d/b.ndjson",
        "d/a/z.json",
        "d/a.json",
        "d/B.jsonl.gz",
        "d/é.json.zst",
        "d/a-/x.JSON",
        "d/a/b/c.jsonl",
    ] {
        folder.write(name, b"{}");
    }
    for name in ["d/readme.md", "d/x.gz", "d/json", "d/a/old.json.bak", "d/x.json.bz2"] {
        folder.write(name, b"{}");
    }
    folder.write("first.txt", b"{}");
    let inputs = ["first.txt", "d", "missing", "d/b.ndjson"].map(|name| Input::Path(folder.path(name)));
    let (names, skipped) = listed(&folder, &inputs);
    let expected = [
        "/first.txt",
        "/d/B.jsonl.gz",
        "/d/a-/x.JSON",
        "/d/a.json",
        "/d/a/b/c.jsonl",
        "/d/a/z.json",
        "/d/b.ndjson",
        "/d/é.json.zst",
        "/missing",
        "/d/b.ndjson",
    ];
    assert_eq!(names, expected);
    assert_eq!(skipped, 5);
    let reader = Reader::open(&inputs, &ReadOptions::default()).unwrap();
    assert!(reader.skipped().examples.contains(&folder.path("d/x.gz")));
}

#[test]
fn a_bad_file_is_reported_and_the_others_are_read() {
    let folder = Folder::new();
    let good = folder.write("good.ndjson", b"{\"a\":1}\n");
    let paths = [folder.path("missing"), good.clone(), folder.path("none/below"), good];
    let outcome = read_paths(&paths.each_ref().map(std::path::PathBuf::as_path), &ReadOptions::default());
    assert_eq!(outcome.texts(), ["{\"a\":1}", "{\"a\":1}"]);
    let [missing, below] = &outcome.errors[..] else { panic!("{:?}", outcome.errors) };
    assert!(
        missing.to_string().contains("/missing: cannot be opened for reading (No such file"),
        "{missing}"
    );
    assert!(matches!(below, FileError::Open { .. }));
}

#[test]
fn a_file_that_became_a_directory_fails_with_its_name() {
    let folder = Folder::new();
    let (path, other) = (folder.write("a.json", b"{}"), folder.write("b.json", b"{}"));
    let inputs = [Input::Path(path.clone()), Input::Path(other)];
    let options = ReadOptions::default();
    let reader = Reader::open(&inputs, &options).unwrap();
    fs::remove_file(&path).unwrap();
    fs::create_dir(&path).unwrap();
    let outcome = drain(reader, &options);
    assert_eq!(outcome.texts(), ["{}"]);
    assert!(outcome.errors[0].to_string().contains("a.json: "), "{}", outcome.errors[0]);
}

#[test]
#[cfg(unix)]
fn links_are_followed_once_and_loops_end() {
    use std::os::unix::fs::symlink;
    let folder = Folder::new();
    folder.write("d/real/a.json", b"{}");
    folder.write("elsewhere/b.json", b"{}");
    folder.write("elsewhere/single.json", b"{}");
    symlink("..", folder.path("d/real/up")).unwrap();
    symlink("real", folder.path("d/alias")).unwrap();
    symlink("real/a.json", folder.path("d/alias.json")).unwrap();
    symlink("self.json", folder.path("d/self.json")).unwrap();
    symlink("nowhere", folder.path("d/dangling.json")).unwrap();
    symlink("nowhere", folder.path("d/dangling.txt")).unwrap();
    symlink("../elsewhere/single.json", folder.path("d/z.json")).unwrap();
    symlink("../elsewhere", folder.path("d/out")).unwrap();
    let (names, skipped) = listed(&folder, &[Input::Path(folder.path("d"))]);
    let expected =
        ["/d/dangling.json", "/d/out/b.json", "/d/out/single.json", "/d/real/a.json", "/d/self.json"];
    assert_eq!(names, expected, "each file once, by its first path");
    assert_eq!(skipped, 5, "up, alias, alias.json, dangling.txt, z.json");
    let outcome = read_paths(&[&folder.path("d")], &ReadOptions::default());
    assert_eq!((outcome.records.len(), outcome.errors.len()), (3, 2), "dangling links are failures");
}

#[test]
#[cfg(unix)]
fn a_tree_of_links_does_not_multiply() {
    use std::os::unix::fs::symlink;
    let folder = Folder::new();
    for level in 0..40 {
        fs::create_dir_all(folder.path(&format!("d/{level}"))).unwrap();
        for side in ["left", "right"] {
            symlink(format!("../{}", level + 1), folder.path(&format!("d/{level}/{side}"))).unwrap();
        }
    }
    folder.write("d/40/a.json", b"{}");
    assert_eq!(listed(&folder, &[Input::Path(folder.path("d/0"))]).0.len(), 1);
}

/// Gives its parts one read at a time.
struct Live(Vec<&'static [u8]>);

impl Read for Live {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        if self.0.is_empty() {
            return Ok(0);
        }
        let part = self.0.remove(0);
        if part == b"!" {
            return Err(io::Error::from_raw_os_error(5));
        }
        let (now, later) = part.split_at(part.len().min(into.len()));
        into[..now.len()].copy_from_slice(now);
        if !later.is_empty() {
            self.0.insert(0, later);
        }
        Ok(now.len())
    }
}

#[test]
fn standard_input_is_not_held_back_until_a_block_is_full() {
    let live = Live(vec![b"{\"a\":1}\n", b"{\"b\":", b"2}\n{\"c\":3}\n", b"{}"]);
    let mut reader =
        Reader::open_with_stdin(&[Input::Stdin], &ReadOptions::default(), Box::new(live)).unwrap();
    let sizes: Vec<_> = reader
        .by_ref()
        .filter_map(|event| if let Event::Block(block) = event { Some(block.spans.len()) } else { None })
        .collect();
    assert_eq!(sizes, [1, 2, 1]);
}

#[test]
fn an_error_on_the_way_comes_after_the_records_before_it() {
    let live = Live(vec![b"{\"a\":1}\n{\"b\"", b"!", b":2}\n"]);
    let folder = Folder::new();
    let after = folder.write("after.json", b"{\"c\":3}");
    let options = ReadOptions::default();
    let inputs = [Input::from_argument("-".as_ref()), Input::from_argument(&after)];
    let outcome = drain(Reader::open_with_stdin(&inputs, &options, Box::new(live)).unwrap(), &options);
    assert_eq!(outcome.texts(), ["{\"a\":1}", "{\"c\":3}"]);
    let text = outcome.errors[0].to_string();
    assert!(text.starts_with("-: reading failed at line 2 (") && text.contains("; 4 bytes of"), "{text}");
}

#[test]
fn what_makes_no_sense_is_refused_at_once() {
    let twice = Reader::open(&[Input::Stdin, Input::Stdin], &ReadOptions::default());
    assert!(matches!(twice, Err(FileError::StdinTwice)));
    let options = ReadOptions { records_max: 0, ..ReadOptions::default() };
    let error = Reader::open(&[], &options).err().unwrap();
    assert_eq!(error.to_string(), "records_max = 0; 1 to 1048576 is allowed");
    assert!(Reader::open(&[], &ReadOptions::default()).unwrap().next().is_none());
}
