//! Gzip and Zstandard: several members or frames in one file, and files that were cut off anywhere.

use std::io::Write;

use super::{Folder, Outcome, ReadOptions, read, read_paths};
use crate::files::{Compression, FileError};

fn gzip(text: &[u8]) -> Vec<u8> {
    let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::new(6));
    encoder.write_all(text).unwrap();
    encoder.finish().unwrap()
}

fn zstd(text: &[u8]) -> Vec<u8> {
    zstd::stream::encode_all(text, 3).unwrap()
}

fn sample(first: usize) -> Vec<u8> {
    let lines =
        (first..first + 40).map(|number| format!("{{\"n\":{number},\"x\":{}}}\n", number * 7_919 % 1_000));
    lines.collect::<String>().into_bytes()
}

#[test]
fn several_members_or_frames_are_one_file_whatever_its_name() {
    let folder = Folder::new();
    let expected = read(&[sample(0), sample(40)].concat(), &ReadOptions::default()).records;
    for compress in [gzip, zstd] {
        let archive = [compress(&sample(0)), compress(b""), compress(&sample(40))].concat();
        for name in ["a.ndjson", "a.gz", "a.zst"] {
            let outcome = read_paths(&[&folder.write(name, &archive)], &ReadOptions::default());
            assert_eq!(outcome.records, expected, "{name}");
            assert!(outcome.errors.is_empty(), "{name}: {:?}", outcome.errors);
        }
        assert_eq!(read(&archive, &ReadOptions::default()).records, expected, "from standard input");
    }
    let plain = folder.write("plain.json.gz", &sample(0));
    assert_eq!(
        read_paths(&[&plain], &ReadOptions::default()).records,
        expected[..40],
        "the name does not matter"
    );
}

#[test]
fn a_record_may_begin_in_one_member_and_end_in_the_next() {
    let (head, tail) = (b"{\"a\":1}\n{\"b\"", b":2}\n");
    for archive in [[gzip(head), gzip(tail)].concat(), [zstd(head), zstd(tail)].concat()] {
        assert_eq!(read(&archive, &ReadOptions::default()).texts(), ["{\"a\":1}", "{\"b\":2}"]);
    }
    let skippable = [&[0x5a, 0x2a, 0x4d, 0x18, 2, 0, 0, 0, 9, 9][..], &zstd(b"[1,2]")].concat();
    assert_eq!(read(&skippable, &ReadOptions::default()).texts(), ["1", "2"], "a skippable frame first");
}

/// Cuts `archive` everywhere; `whole` are the lengths at which it is a whole archive.
fn cut_everywhere(name: &str, compression: Compression, archive: &[u8], whole: &[usize]) {
    let folder = Folder::new();
    let other = folder.write("other.json", b"{\"other\":1}");
    let expected = read(archive, &ReadOptions::default()).records;
    for cut in 0..archive.len() {
        let path = folder.write(name, &archive[..cut]);
        let Outcome { mut records, errors, .. } = read_paths(&[&path, &other], &ReadOptions::default());
        assert_eq!(records.pop().unwrap().1, b"{\"other\":1}", "the other file is still read");
        assert!(expected.starts_with(&records), "only whole records, cut at {cut}");
        if whole.contains(&cut) {
            assert!(errors.is_empty(), "cut at {cut}: {errors:?}");
            continue;
        }
        let [FileError::Truncated { path: named, compression: found, line, .. }] = &errors[..] else {
            panic!("cut at {cut}: {errors:?}");
        };
        assert_eq!((named, *found), (&path, compression));
        assert_eq!(*line, records.len() as u64 + 1);
    }
}

#[test]
fn a_truncated_archive_delivers_its_whole_records_and_fails_wherever_it_is_cut() {
    let (first, second) = (gzip(&sample(0)), gzip(&sample(40)));
    cut_everywhere("a.json.gz", Compression::Gzip, &[&first[..], &second].concat(), &[first.len()]);
    let (first, second) = (zstd(&sample(0)), zstd(&sample(40)));
    cut_everywhere("a.json.zst", Compression::Zstd, &[&first[..], &second].concat(), &[first.len()]);
}

#[test]
fn a_damaged_archive_fails_with_its_name() {
    let folder = Folder::new();
    let mut damaged = gzip(&sample(0));
    let checksum = damaged.len() - 8;
    damaged[checksum] ^= 1;
    let trailing = [gzip(&sample(0)), b"something else".to_vec()].concat();
    let trailing_zstd = [zstd(&sample(0)), b"something else".to_vec()].concat();
    for archive in [damaged, trailing, trailing_zstd] {
        let outcome = read_paths(&[&folder.write("a.gz", &archive)], &ReadOptions::default());
        assert_eq!(outcome.records.len(), 40, "what could be decompressed is delivered");
        assert!(matches!(outcome.errors[..], [FileError::Damaged { .. }]), "{:?}", outcome.errors);
        assert!(outcome.errors[0].to_string().contains("a.gz: the "), "{}", outcome.errors[0]);
    }
}
