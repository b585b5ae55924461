//! The corpus of fixture files: the file's name is the expectation.
//!
//! `tests/fixtures/<format>/valid/*.json` are accepted, `invalid/<reason>--<what>.json` are rejected for that reason;
//! `tests/fixtures/parse/invalid` holds what no format gets to see. Each file goes through the fast path and the
//! explaining path, which must agree.

use std::fs;
use std::path::{Path, PathBuf};

use tollgate::config::Config;
use tollgate::formats::Binding;
use tollgate::judge::{Judge, NoWatch, Payload, Rules, explain};
use tollgate::verdict::Reason;

struct Fixture {
    path: PathBuf,
    format: String,
    reason: Option<Reason>,
    payload: Vec<u8>,
}

fn fixtures() -> Vec<Fixture> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures");
    let mut found = Vec::new();
    for format in fs::read_dir(root).unwrap().map(|entry| entry.unwrap().path()).filter(|path| path.is_dir())
    {
        for side in ["valid", "invalid"] {
            for entry in fs::read_dir(format.join(side)).into_iter().flatten() {
                let path = entry.unwrap().path();
                let name = path.file_stem().unwrap().to_string_lossy().into_owned();
                let reason = (side == "invalid").then(|| {
                    let code = name.split("--").next().unwrap();
                    Reason::from_code(code)
                        .unwrap_or_else(|| panic!("{}: {code} is a reason", path.display()))
                });
                let format = format.file_name().unwrap().to_string_lossy().into_owned();
                found.push(Fixture { payload: fs::read(&path).unwrap(), path, format, reason });
            }
        }
    }
    found
}

#[test]
fn every_fixture_gets_the_verdict_of_its_name() {
    let rules = Rules::compile(&Config::default()).unwrap();
    let mut judge = Judge::new(&rules);
    let fixtures = fixtures();
    assert!(fixtures.len() >= 30, "the corpus is there: {}", fixtures.len());
    for fixture in fixtures {
        let payload = Payload::Bytes(&fixture.payload);
        let verdict = judge.judge(&rules, Binding::Auto, payload, &mut Vec::new(), &mut NoWatch);
        let shown = fixture.path.display();
        assert_eq!(verdict.reason, fixture.reason, "{shown}");
        if verdict.is_accept() {
            assert_eq!(rules.format_name(verdict.format.unwrap()), fixture.format, "{shown}");
        }
        let explained = explain(&mut judge, &rules, Binding::Auto, payload);
        assert_eq!(explained.verdict, verdict, "{shown}: both paths agree");
        assert_eq!(explained.findings.first().map(|finding| finding.reason), fixture.reason, "{shown}");
    }
}
