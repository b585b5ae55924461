//! The writer: bytes as they came, line breaks as spaces, rejects that can be read back, and errors of the world.

use std::fs;
use std::io::{self, Write};
use std::path::Path;
use std::sync::{Arc, Mutex};

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use proptest::prelude::{any, prop_assert_eq, proptest};
use serde_json::value::RawValue;

use super::{Folder, read, read_paths};
use crate::files::{
    Compression, FileError, Oversized, ReadOptions, Rejected, Target, WriteOptions, Writer, check_distinct,
};

/// An output that keeps what it gets, or fails after `room` bytes.
#[derive(Clone)]
struct Memory {
    bytes: Arc<Mutex<Vec<u8>>>,
    room: usize,
    kind: io::ErrorKind,
}

impl Memory {
    fn new() -> Self {
        Self { bytes: Arc::default(), room: usize::MAX, kind: io::ErrorKind::Other }
    }

    fn text(&self) -> String {
        String::from_utf8(self.bytes.lock().unwrap().clone()).unwrap()
    }

    fn writer(&self, options: &WriteOptions) -> Writer {
        Writer::over(Box::new(self.clone()), Path::new("out"), Compression::Plain, options).unwrap()
    }
}

impl Write for Memory {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let mut held = self.bytes.lock().unwrap();
        if held.len() + bytes.len() > self.room {
            return Err(self.kind.into());
        }
        held.extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

fn small() -> WriteOptions {
    WriteOptions { buffer_bytes: 4096, ..WriteOptions::default() }
}

#[test]
fn records_are_lines_and_line_breaks_between_tokens_become_spaces() {
    let memory = Memory::new();
    let mut writer = memory.writer(&small());
    writer.write_record(b"{\"a\":1}").unwrap();
    writer.write_record(b"{\r\n  \"b\":\n2}").unwrap();
    assert_eq!(memory.text(), "", "held in the buffer");
    writer.flush().unwrap();
    assert_eq!(memory.text(), "{\"a\":1}\n{    \"b\": 2}\n");
    let written = writer.finish().unwrap();
    assert_eq!((written.records, written.bytes), (2, 21));
}

#[test]
fn records_longer_than_the_buffer_pass_through() {
    let memory = Memory::new();
    let mut writer = memory.writer(&small());
    let long = format!("{{\"a\":\"{}\"}}", "x".repeat(10_000));
    for text in ["{}", &long, "{\"b\":\n1}", &long] {
        writer.write_record(text.as_bytes()).unwrap();
    }
    writer.finish().unwrap();
    assert_eq!(memory.text(), format!("{{}}\n{long}\n{{\"b\": 1}}\n{long}\n"));
}

#[test]
fn rejects_say_why_and_carry_the_record() {
    let memory = Memory::new();
    let mut writer = memory.writer(&small());
    let note = br#"{"v":1,"reason":"x"}"#;
    writer.write_rejected(note, Rejected::Json(b"{\"a\":\n1}")).unwrap();
    writer.write_rejected(note, Rejected::Bytes(b"{\"a\"")).unwrap();
    writer.write_rejected(note, Rejected::Bytes(b"")).unwrap();
    writer.write_rejected(note, Rejected::Oversized(&Oversized { bytes: 7, sha256: [0x1f; 32] })).unwrap();
    writer.finish().unwrap();
    let expected = [
        r#"{"tollgate":{"v":1,"reason":"x"},"record":{"a": 1}}"#,
        r#"{"tollgate":{"v":1,"reason":"x"},"record_b64":"eyJhIg=="}"#,
        r#"{"tollgate":{"v":1,"reason":"x"},"record_b64":""}"#,
        &format!(
            r#"{{"tollgate":{{"v":1,"reason":"x"}},"record_sha256":"{}","record_bytes":7}}"#,
            "1f".repeat(32)
        ),
    ];
    assert_eq!(memory.text().lines().collect::<Vec<_>>(), expected);
}

/// The payload that a line of rejects carries.
fn payload_of(line: &str) -> Vec<u8> {
    let members: std::collections::HashMap<String, Box<RawValue>> = serde_json::from_str(line).unwrap();
    match members.get("record") {
        Some(record) => record.get().as_bytes().to_vec(),
        None => STANDARD.decode(members["record_b64"].get().trim_matches('"')).unwrap(),
    }
}

proptest! {
    #[test]
    fn rejects_give_their_payload_back(payloads in proptest::collection::vec(proptest::collection::vec(any::<u8>(), 0..9000), 0..6)) {
        let memory = Memory::new();
        let mut writer = memory.writer(&small());
        for payload in &payloads {
            writer.write_rejected(b"{}", Rejected::Bytes(payload)).unwrap();
            let json = serde_json::to_vec(payload).unwrap();
            writer.write_rejected(b"{}", Rejected::Json(&json)).unwrap();
        }
        writer.finish().unwrap();
        let outcome = read(memory.text().as_bytes(), &ReadOptions::default());
        let back: Vec<_> = outcome.texts().into_iter().map(payload_of).collect();
        let expected: Vec<_> = payloads.iter().flat_map(|payload| [payload.clone(), serde_json::to_vec(payload).unwrap()]).collect();
        prop_assert_eq!(back, expected);
    }
}

#[test]
fn the_extension_chooses_the_compression() {
    let folder = Folder::new();
    for (name, magic) in
        [("a.ndjson", &b"{\"n"[..]), ("a.ndjson.gz", &[0x1f, 0x8b]), ("a.zst", &[0x28, 0xb5, 0x2f, 0xfd])]
    {
        let path = folder.path(name);
        let options = WriteOptions { sync: true, ..small() };
        let mut writer = Writer::create(&Target::Path(path.clone()), &options).unwrap();
        for number in 0..5000 {
            writer.write_record(format!("{{\"n\":{number}}}").as_bytes()).unwrap();
        }
        writer.finish().unwrap();
        assert!(fs::read(&path).unwrap().starts_with(magic), "{name}");
        let outcome = read_paths(&[&path], &ReadOptions::default());
        assert_eq!((outcome.records.len(), outcome.errors.len()), (5000, 0), "{name}");
        assert_eq!(outcome.texts()[4999], "{\"n\":4999}");
    }
}

#[test]
fn a_closed_pipe_and_a_full_disk_are_told_apart() {
    for compression in [Compression::Plain, Compression::Gzip, Compression::Zstd] {
        for (kind, is_pipe) in [(io::ErrorKind::BrokenPipe, true), (io::ErrorKind::StorageFull, false)] {
            let memory = Memory { room: 100, kind, ..Memory::new() };
            let mut writer = Writer::over(Box::new(memory), Path::new("out"), compression, &small()).unwrap();
            let noise = (0..200_000_u32).map(|number| number.wrapping_mul(2_654_435_761).to_string());
            let error = noise
                .map(|text| writer.write_record(text.as_bytes()))
                .find_map(Result::err)
                .unwrap_or_else(|| panic!("{compression}: no error"));
            assert_eq!((error.is_closed_pipe(), error.is_disk_full()), (is_pipe, !is_pipe), "{error}");
            assert!(error.to_string().starts_with("out: writing failed"), "{error}");
        }
    }
}

#[test]
#[cfg(target_os = "linux")]
fn a_really_full_device_fails_at_the_latest_in_finish() {
    let mut writer = Writer::create(&Target::Path("/dev/full".into()), &small()).unwrap();
    writer.write_record(b"{}").unwrap();
    assert!(writer.finish().unwrap_err().is_disk_full());
}

#[test]
fn a_directory_that_does_not_exist_is_an_error_with_the_path() {
    let folder = Folder::new();
    let error = Writer::create(&Target::Path(folder.path("none/a.ndjson")), &small()).err().unwrap();
    assert!(error.to_string().contains("none/a.ndjson: cannot be created"), "{error}");
    assert!(!error.is_closed_pipe());
}

#[test]
fn options_out_of_range_are_refused() {
    let options = WriteOptions { zstd_level: 23, ..small() };
    let error = Writer::create(&Target::Stdout, &options).err().unwrap();
    assert_eq!(error.to_string(), "zstd_level = 23; 1 to 22 is allowed");
}

#[test]
fn no_file_is_used_for_two_things() {
    let folder = Folder::new();
    let input = folder.write("in.ndjson", b"{}");
    fs::create_dir(folder.path("sub")).unwrap();
    let target = |name: &str| Target::Path(folder.path(name));
    let same = |a: &Target, b: &Target| {
        matches!(check_distinct(&[a.clone(), b.clone()], &[]), Err(FileError::SameOutput { .. }))
    };
    assert!(same(&target("new"), &target("sub/../new")));
    assert!(same(&Target::Stdout, &Target::Stdout));
    assert!(!same(&target("new"), &target("sub/new")));
    let null = Target::Path("/dev/null".into());
    assert!(!same(&null, &null), "a device holds nothing to overwrite");
    let overwrites = |name: &str| {
        matches!(
            check_distinct(&[Target::Stdout, target(name)], &[input.clone(), "-".into()]),
            Err(FileError::OutputIsInput { .. })
        )
    };
    assert!(overwrites("in.ndjson") && overwrites("sub/../in.ndjson") && !overwrites("new"));
    #[cfg(unix)]
    {
        std::os::unix::fs::symlink(&input, folder.path("link")).unwrap();
        fs::hard_link(&input, folder.path("hard")).unwrap();
        assert!(overwrites("link") && overwrites("hard"));
    }
}
