//! The published vectors of RFC 8785, as `scripts/fetch-suites` leaves them in the cache.
//!
//! With `TOLLGATE_REQUIRE_SUITES=1` their absence fails.

use std::fs;
use std::path::{Path, PathBuf};

use tollgate::credentials::canonical::{Buffers, jcs};
use tollgate::tape::{NodeIndex, Parser};

const VERSION: &str = "0.1.4";

/// The vectors' directory; `None` says loudly that the test is skipped.
#[expect(clippy::print_stderr, reason = "what is skipped is said loudly")]
fn vectors() -> Option<PathBuf> {
    let cache = std::env::var_os("TOLLGATE_CACHE").map(PathBuf::from).or_else(|| {
        let home = std::env::var_os("HOME").map(|home| Path::new(&home).join(".cache"));
        std::env::var_os("XDG_CACHE_HOME").map(PathBuf::from).or(home).map(|cache| cache.join("tollgate"))
    })?;
    let directory = cache.join("suites").join(format!("rfc8785-{VERSION}"));
    if directory.join("output").is_dir() {
        return Some(directory);
    }
    let required = std::env::var("TOLLGATE_REQUIRE_SUITES").is_ok_and(|value| value == "1");
    assert!(
        !required,
        "the vectors of RFC 8785 are required and not at {}: run scripts/fetch-suites",
        directory.display()
    );
    eprintln!("SKIPPED: no vectors of RFC 8785 at {}: run scripts/fetch-suites", directory.display());
    None
}

#[test]
fn the_published_vectors_of_rfc_8785() {
    let Some(directory) = vectors() else { return };
    let mut buffers = Buffers::default();
    let mut passed = 0;
    for entry in fs::read_dir(directory.join("input")).unwrap() {
        let path = entry.unwrap().path();
        let input = fs::read(&path).unwrap();
        let name = path.file_name().unwrap();
        let output = fs::read(directory.join("output").join(name)).unwrap();
        let hex = fs::read_to_string(directory.join("outhex").join(name).with_extension("txt")).unwrap();
        let bytes: Vec<u8> =
            hex.split_whitespace().map(|byte| u8::from_str_radix(byte, 16).unwrap()).collect();
        Parser::new(64).parse(&input, |tape| {
            let form = jcs(tape.unwrap(), &input, NodeIndex(0), None, &mut buffers).unwrap();
            let form = form.pieces().concat();
            assert_eq!(form, bytes, "{name:?}");
            assert_eq!(String::from_utf8_lossy(&form), String::from_utf8_lossy(&output), "{name:?}");
        });
        // What is canonical stays as it is, and in place where nothing is escaped.
        Parser::new(64).parse(&output, |tape| {
            let form = jcs(tape.unwrap(), &output, NodeIndex(0), None, &mut buffers).unwrap();
            assert_eq!(form.pieces().concat(), output, "{name:?}");
            assert_eq!(form.is_in_place(), !output.contains(&b'\\'), "{name:?}");
        });
        passed += 1;
    }
    assert!(passed >= 6, "{passed} vectors");
}
