//! The corpus of fixture files: the file's name is the expectation.
//!
//! `tests/fixtures/<format>/valid/*.json` are accepted, `invalid/<reason>--<what>.json` are rejected for that reason, by
//! the profile page without any data; `strict/valid` and `strict/invalid` are the same for the profile strict with the
//! data of `tests/cases/tollgate.toml`, at noon of 3 March 2026. `tests/fixtures/parse/invalid` holds what no format gets
//! to see. Each file goes through the fast path and the explaining path, which must agree.

use std::fs;
use std::path::{Path, PathBuf};

use tollgate::clock::Timestamp;
use tollgate::config::{Config, Profile};
use tollgate::formats::Binding;
use tollgate::judge::{Input, Judge, NoWatch, Payload, Rules, explain};
use tollgate::verdict::Reason;

struct Fixture {
    path: PathBuf,
    format: String,
    reason: Option<Reason>,
    payload: Vec<u8>,
}

fn fixtures(sides: [&str; 2]) -> Vec<Fixture> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures");
    let mut found = Vec::new();
    for format in fs::read_dir(root).unwrap().map(|entry| entry.unwrap().path()).filter(|path| path.is_dir())
    {
        for side in sides {
            for entry in fs::read_dir(format.join(side)).into_iter().flatten() {
                let path = entry.unwrap().path();
                let name = path.file_stem().unwrap().to_string_lossy().into_owned();
                let reason = side.ends_with("invalid").then(|| {
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
    judge_all(&Config::default(), None, &fixtures(["valid", "invalid"]), 30);
}

#[test]
fn every_strict_fixture_gets_the_verdict_of_its_name() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/cases/tollgate.toml");
    let mut config = Config::load(&path).unwrap();
    config.rules.profile = Profile::Strict;
    let noon = Timestamp::from_rfc3339("2026-03-03T12:00:00Z");
    judge_all(&config, noon, &fixtures(["strict/valid", "strict/invalid"]), 50);
}

fn judge_all(config: &Config, now: Option<Timestamp>, fixtures: &[Fixture], at_least: usize) {
    let rules = Rules::compile(config).unwrap();
    let mut judge = Judge::new(&rules);
    assert!(fixtures.len() >= at_least, "the corpus is there: {}", fixtures.len());
    for fixture in fixtures {
        let input = Input { payload: Payload::Bytes(&fixture.payload), key: None, now };
        let verdict = judge.judge(&rules, Binding::Auto, input, &mut Vec::new(), &mut NoWatch);
        let shown = fixture.path.display();
        assert_eq!(verdict.reason, fixture.reason, "{shown}");
        if verdict.is_accept() {
            assert_eq!(rules.format_name(verdict.format.unwrap()), fixture.format, "{shown}");
        }
        let explained = explain(&mut judge, &rules, Binding::Auto, input);
        assert_eq!(explained.verdict, verdict, "{shown}: both paths agree");
        assert_eq!(explained.findings.first().map(|finding| finding.reason), fixture.reason, "{shown}");
    }
}
