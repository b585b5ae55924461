//! Copies in a stream: exactly the right ones are refused, with any number of workers and over several runs.

use std::fs::{self, File};
use std::io::{BufRead as _, BufReader, BufWriter, Write as _};
use std::path::Path;

use super::cli::{TempDir, tollgate};

const SCHEMA: &str = r#"{"type":"object","required":["id"],"properties":{"id":{"type":"integer"}}}"#;
const CONFIG: &str =
    "[format.orders]\nschema = \"orders.json\"\nid = \"/id\"\n[rules]\nformat = \"orders\"\n";

/// A stream in which one record in twenty repeats an earlier one, far back or just before.
struct Stream {
    number: u64,
    fresh: u64,
    random: u64,
}

impl Stream {
    fn new(seed: u64) -> Self {
        Self { number: 0, fresh: 0, random: seed | 1 }
    }

    /// The next record's id, and whether it is a copy.
    fn next(&mut self) -> (u64, bool) {
        self.number += 1;
        if self.number.is_multiple_of(20) {
            self.random ^= self.random << 13;
            self.random ^= self.random >> 7;
            self.random ^= self.random << 17;
            let back = if self.random & 1 == 0 { 3 } else { self.fresh };
            return (self.fresh - 1 - (self.random >> 1) % back, true);
        }
        self.fresh += 1;
        (self.fresh - 1, false)
    }
}

fn line(id: u64) -> String {
    format!("{{\"id\":{id},\"kind\":\"order\"}}\n")
}

fn prepare(dir: &TempDir, records: u64, seed: u64) {
    dir.write("orders.json", SCHEMA);
    dir.write("tollgate.toml", CONFIG);
    let mut out = BufWriter::new(File::create(dir.path().join("in.ndjson")).unwrap());
    let mut stream = Stream::new(seed);
    for _ in 0..records {
        out.write_all(line(stream.next().0).as_bytes()).unwrap();
    }
    out.flush().unwrap();
}

fn filter(dir: &Path, config: &str, input: &str, more: &[&str], to: &str) -> (Option<i32>, String) {
    let (accepted, rejected) = (format!("{to}-accepted"), format!("{to}-rejected"));
    let output = tollgate()
        .current_dir(dir)
        .args(["run", input, "--config", config, "--accepted", &accepted, "--rejected", &rejected])
        .args(more)
        .output()
        .unwrap();
    (output.status.code(), String::from_utf8(output.stderr).unwrap())
}

/// The accepted file holds the first of each id, in order; the rejected one all others, as duplicates.
fn is_right(dir: &Path, records: u64, seed: u64, to: &str) {
    let lines =
        |name: String| BufReader::new(File::open(dir.join(name)).unwrap()).lines().map(Result::unwrap);
    let mut accepted = lines(format!("{to}-accepted"));
    let mut rejected = lines(format!("{to}-rejected"));
    let mut stream = Stream::new(seed);
    for number in 1..=records {
        let (id, copy) = stream.next();
        if copy {
            let note = rejected.next().unwrap();
            assert!(
                note.contains("\"reason\":\"duplicate\"") && note.contains(&format!("in.ndjson:{number}\"")),
                "{note}"
            );
        } else {
            assert_eq!(accepted.next().unwrap(), line(id).trim_end());
        }
    }
    assert_eq!((accepted.next(), rejected.next()), (None, None));
}

fn copies_are_refused(records: u64) {
    let seed = 0x5EED_0001;
    let dir = TempDir::new(&format!("copies-{records}"));
    prepare(&dir, records, seed);
    for workers in [1, 8] {
        let config = format!("{workers}.toml");
        dir.write(&config, format!("{CONFIG}[pipeline]\nworkers = {workers}\n"));
        let (code, err) = filter(dir.path(), &config, "in.ndjson", &[], &workers.to_string());
        assert_eq!(code, Some(0), "{err}");
        is_right(dir.path(), records, seed, &workers.to_string());
    }
}

#[test]
fn exactly_the_copies_are_refused_with_one_and_with_eight_workers() {
    copies_are_refused(60_000);
}

/// `cargo test --release --test it -- --ignored ten_million`: some minutes.
#[test]
#[ignore = "long"]
fn ten_million_ids_with_copies_among_them() {
    copies_are_refused(10_000_000);
}

/// A second run goes on where the first one stopped; a file that is no state is refused before anything is written.
#[test]
fn a_state_file_carries_the_window_to_the_next_run() {
    let dir = TempDir::new("state-file");
    prepare(&dir, 1000, 1);
    let state = ["--state", "seen.state"];
    let (code, err) = filter(dir.path(), "tollgate.toml", "in.ndjson", &state, "first");
    assert_eq!(code, Some(0), "{err}");
    let (code, err) = filter(dir.path(), "tollgate.toml", "in.ndjson", &state, "second");
    assert_eq!(code, Some(0), "{err}");
    assert_eq!(fs::read_to_string(dir.path().join("second-accepted")).unwrap(), "");
    let mut saved = fs::read(dir.path().join("seen.state")).unwrap();
    let middle = saved.len() / 2;
    saved[middle] ^= 1;
    dir.write("seen.state", &saved);
    let (code, err) = filter(dir.path(), "tollgate.toml", "in.ndjson", &state, "third");
    assert_eq!(code, Some(2), "{err}");
    assert!(err.contains("seen.state") && err.contains("checksum"), "{err}");
    assert!(!dir.path().join("third-accepted").exists());
}

/// A full window stops the run, rejects, or forgets and says so.
#[test]
fn a_full_window_does_what_it_is_set_to() {
    let dir = TempDir::new("full-window");
    prepare(&dir, 20_000, 2);
    for (on_full, wanted) in [("stop", 3), ("reject", 0), ("evict_oldest", 0)] {
        let config = format!("{on_full}.toml");
        let keys = format!("{CONFIG}[window]\nmemory_bytes_max = 65536\non_full = \"{on_full}\"\n");
        dir.write(&config, keys);
        let (code, err) = filter(dir.path(), &config, "in.ndjson", &[], on_full);
        assert_eq!(code, Some(wanted), "{on_full}: {err}");
        assert_eq!(err.contains("the replay window is full"), on_full != "reject", "{err}");
        if on_full == "reject" {
            let rejected = fs::read_to_string(dir.path().join("reject-rejected")).unwrap();
            assert!(rejected.contains("\"reason\":\"window-full\""));
        }
    }
}
