//! The pipeline as a process: memory that stays flat, and stops that are orderly.

use std::fs;
use std::io::{Read as _, Write as _};
use std::process::Stdio;
use std::time::{Duration, Instant};

use crate::cli::{TempDir, resident_bytes, signal, tollgate};

/// A record that holds, as a line.
fn line() -> String {
    [fs::read_to_string("tests/fixtures/olympus/valid/escaped-names.json").unwrap().trim(), "\n"].concat()
}

/// A reader of our output that takes its time: the whole chain waits, and memory stays flat.
#[test]
fn a_slow_sink_makes_the_reader_wait() {
    const INPUT_BYTES: usize = 1 << 30;
    const RESIDENT_BYTES_MAX: u64 = 200 << 20;
    let line = line();
    let chunk = line.repeat((1 << 20) / line.len());
    let mut child = tollgate()
        .args(["run", "-", "--config", "tests/cases/repeats.toml", "--accepted", "-"])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    let mut stdin = child.stdin.take().unwrap();
    let chunks = INPUT_BYTES / chunk.len();
    let expected = chunks * chunk.len();
    let feeder = std::thread::spawn(move || {
        for _ in 0..chunks {
            stdin.write_all(chunk.as_bytes()).unwrap();
        }
    });
    let mut stdout = child.stdout.take().unwrap();
    let mut buffer = vec![0; 8 << 20];
    let (mut read, mut resident_max, mut naps) = (0, 0, 0);
    loop {
        let bytes = stdout.read(&mut buffer).unwrap();
        if bytes == 0 {
            break;
        }
        read += bytes;
        // Slow where the queues should fill up; the rest would only make the test long.
        if naps < 400 {
            naps += 1;
            std::thread::sleep(Duration::from_millis(5));
            resident_max = resident_max.max(resident_bytes(child.id()).unwrap_or_default());
        } else if read % 64 == 0 {
            resident_max = resident_max.max(resident_bytes(child.id()).unwrap_or_default());
        }
    }
    feeder.join().unwrap();
    assert!(child.wait().unwrap().success());
    assert_eq!(read, expected, "every record came through");
    assert!(resident_max > 1 << 20, "the memory was really looked at: {resident_max}");
    assert!(resident_max < RESIDENT_BYTES_MAX, "resident at most {} MB", resident_max >> 20);
}

/// SIGTERM in the middle of an endless input: what was read is written whole, and the process ends well.
#[test]
fn a_signal_ends_the_run_in_order() {
    let dir = TempDir::new("signal");
    let accepted = dir.path().join("accepted.ndjson");
    let line = line();
    let mut child = tollgate()
        .args(["run", "-", "--config", "tests/cases/repeats.toml", "--accepted", accepted.to_str().unwrap()])
        .stdin(Stdio::piped())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    let mut stdin = child.stdin.take().unwrap();
    let feeder = std::thread::spawn(move || {
        let started = Instant::now();
        while started.elapsed() < Duration::from_secs(20) && stdin.write_all(line.as_bytes()).is_ok() {}
    });
    std::thread::sleep(Duration::from_millis(500));
    signal(&child, "-TERM");
    let status = child.wait().unwrap();
    feeder.join().unwrap();
    assert_eq!(status.code(), Some(0));
    let text = fs::read_to_string(accepted).unwrap();
    assert!(text.ends_with("}\n") && text.lines().count() > 100, "whole records: {} bytes", text.len());
}

fn terminate(child: &mut std::process::Child) -> (Option<i32>, Duration) {
    let asked = Instant::now();
    signal(child, "-TERM");
    while asked.elapsed() < Duration::from_secs(20) {
        if let Some(status) = child.try_wait().unwrap() {
            return (status.code(), asked.elapsed());
        }
        std::thread::sleep(Duration::from_millis(10));
    }
    child.kill().unwrap();
    panic!("still there after 20 s");
}

/// Waits until a process catches SIGTERM: before its first line runs, the system's own way holds.
pub(crate) fn wait_until_caught(child: &std::process::Child) {
    const SIGTERM: u32 = 15;
    let status = format!("/proc/{}/status", child.id());
    let is_caught = || {
        let text = fs::read_to_string(&status).unwrap_or_default();
        let mask = text.lines().find_map(|line| line.strip_prefix("SigCgt:"));
        let mask = mask.and_then(|mask| u64::from_str_radix(mask.trim(), 16).ok());
        mask.is_some_and(|mask| mask >> (SIGTERM - 1) & 1 == 1)
    };
    let started = Instant::now();
    while !is_caught() {
        assert!(started.elapsed() < Duration::from_secs(20), "SIGTERM is never caught");
        std::thread::sleep(Duration::from_millis(2));
    }
}

/// A stop while the configuration is still being read, and one while no broker answers.
#[test]
fn a_signal_at_the_start_ends_the_run_in_order() {
    let dir = TempDir::new("early");
    let pipe = dir.path().join("tollgate.toml");
    assert!(std::process::Command::new("mkfifo").arg(&pipe).status().unwrap().success());
    for is_read in [false, true] {
        let mut child = tollgate()
            .args(["run", "--json", "--config", pipe.to_str().unwrap()])
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        wait_until_caught(&child);
        let mut signal = std::process::Command::new("kill");
        signal.args(["-TERM", &child.id().to_string()]);
        if !is_read {
            assert!(signal.status().unwrap().success());
        }
        // Nobody listens there.
        let config = "[kafka]\nbrokers = \"127.0.0.1:1\"\ntopics = [\"in\"]\n[ops]\nlisten = \"off\"\n";
        fs::write(&pipe, config).unwrap();
        let asked = Instant::now();
        if is_read {
            std::thread::sleep(Duration::from_millis(300));
            assert!(signal.status().unwrap().success());
        }
        let mut said = String::new();
        child.stdout.take().unwrap().read_to_string(&mut said).unwrap();
        assert_eq!(child.wait().unwrap().code(), Some(0), "read: {is_read}");
        assert!(asked.elapsed() < Duration::from_secs(10), "{:?}", asked.elapsed());
        let summary: serde_json::Value = serde_json::from_str(&said).unwrap();
        assert_eq!(summary["records"], 0);
    }
}

/// Nobody types: the wait for standard input must not hold the stop up, and what came is written.
#[test]
fn a_signal_ends_the_wait_for_input() {
    let dir = TempDir::new("idle");
    let accepted = dir.path().join("accepted.ndjson");
    let rejected = dir.path().join("rejected.ndjson");
    let line = line();
    let mut child = tollgate()
        .args(["run", "-", "--config", "tests/cases/repeats.toml", "--accepted", accepted.to_str().unwrap()])
        .args(["--rejected", rejected.to_str().unwrap()])
        .stdin(Stdio::piped())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    let mut stdin = child.stdin.take().unwrap();
    stdin.write_all(line.as_bytes()).unwrap();
    stdin.write_all(&line.as_bytes()[..20]).unwrap();
    // What comes is written while the input pauses; a stop before that would leave it unread.
    let started = Instant::now();
    while fs::metadata(&accepted).map_or(0, |file| file.len()) < line.len() as u64 {
        assert!(started.elapsed() < Duration::from_secs(20), "the first record is never written");
        std::thread::sleep(Duration::from_millis(20));
    }
    let (code, took) = terminate(&mut child);
    assert_eq!(code, Some(0));
    assert!(took < Duration::from_secs(5), "{took:?}");
    assert_eq!(fs::read_to_string(accepted).unwrap(), line);
    assert_eq!(fs::read_to_string(rejected).unwrap(), "", "half a record is no record");
}

/// Nobody reads our output: the process ends without its writer, soon after the deadline.
#[test]
fn a_blocked_output_does_not_outlast_the_deadline() {
    let dir = TempDir::new("blocked");
    let config = dir.write("t.toml", "[pipeline]\nstop_deadline_ms = 100\n[window]\nreplay = \"off\"\n");
    let line = line();
    let input = dir.write("in.ndjson", line.repeat(5000));
    let mut child = tollgate()
        .args(["run", input.to_str().unwrap(), "--config", config.to_str().unwrap(), "--accepted", "-"])
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    std::thread::sleep(Duration::from_millis(500));
    let (code, took) = terminate(&mut child);
    assert_eq!(code, Some(3), "not everything was written");
    assert!(took < Duration::from_secs(10), "{took:?}");
}

/// An input that pauses: what came is not kept back until a buffer is full.
#[test]
fn a_record_comes_out_while_the_input_pauses() {
    let line = line();
    let mut child = tollgate()
        .args(["run", "-", "--accepted", "-"])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    let mut stdin = child.stdin.take().unwrap();
    stdin.write_all(line.as_bytes()).unwrap();
    let mut stdout = child.stdout.take().unwrap();
    let (to_test, from_reader) = std::sync::mpsc::channel();
    let expected = line.len();
    std::thread::spawn(move || {
        let mut text = vec![0; expected];
        let _ = to_test.send(stdout.read_exact(&mut text).map(|()| text));
    });
    let came = from_reader.recv_timeout(Duration::from_secs(10));
    drop(stdin);
    child.wait().unwrap();
    assert_eq!(came.unwrap().unwrap(), line.as_bytes());
}

/// `rejected.redact` holds for files as it does for topics.
#[test]
fn rejected_lines_can_be_redacted() {
    let dir = TempDir::new("redact");
    let config = dir.write("redact.toml", "[rejected]\nredact = true\n");
    let input = dir.write("in.ndjson", "{\"password\":\"s3cr3t\",\"x\":1}\n{\"password\":\"s3cr3t\n");
    let rejected = dir.path().join("rejected.ndjson");
    let status = tollgate()
        .args(["run", input.to_str().unwrap(), "--config", config.to_str().unwrap()])
        .args(["--rejected", rejected.to_str().unwrap()])
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .status()
        .unwrap();
    assert_eq!(status.code(), Some(0));
    let text = fs::read_to_string(rejected).unwrap();
    assert!(!text.contains("s3cr3t") && !text.contains("czNjcjN0"), "{text}");
    let lines: Vec<_> = text.lines().collect();
    assert!(lines[0].ends_with("\"record\":{\"password\":\"(hidden)\",\"x\":1}}"), "{text}");
    assert!(lines[1].contains("\"record\":{\"redacted\":true,\"bytes\":19,"), "{text}");
}
