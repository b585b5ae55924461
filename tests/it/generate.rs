//! Generated streams: the same bytes from the same seed, and `tollgate` agrees with every verdict they carry.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::Path;

use serde_json::Value;
use tollgate::clock::Timestamp;
use tollgate::config::Config;
use tollgate::judge::{Input, Judge, NoWatch, Payload, Rules};
use tollgate::load::{Destination, Generator, Mix, Secrets, Style, kit};
use tollgate::state::{Settings, State};
use tollgate::verdict::Reason;

use crate::cli::{TempDir, run};

const START: &str = "2026-03-03T12:00:00Z";

/// Judges a stream record by record, as the pipeline does, and compares. Gives the reasons that occurred.
fn agrees(mix: &Mix, seed: u64, records: u64) -> BTreeSet<&'static str> {
    let dir = TempDir::new("kit");
    let (secrets, start) = (Secrets::of(seed), Timestamp::from_rfc3339(START).unwrap());
    kit::write(dir.path(), mix, &secrets).unwrap();
    let config = Config::load(&dir.path().join(kit::CONFIG)).unwrap();
    let rules = Rules::compile(&config).unwrap();
    assert!(rules.lacks().is_empty(), "the kit has the data of every rule");
    let mut judge = Judge::new(&rules);
    judge.make_facts();
    let mut state = State::new(Settings::of(&config)).unwrap();
    let generator = Generator::new(mix, seed, &secrets, start, Destination::Topic).unwrap();
    let mut cursor = generator.cursor();
    let (mut record, mut reasons, mut wrong) = (Vec::new(), BTreeSet::new(), BTreeMap::new());
    for number in 0..records {
        record.clear();
        let made = cursor.write(number, |number| Generator::time_of(start, number), &mut record);
        let key = made.key.to_be_bytes();
        let payload = if made.tombstone { Payload::Tombstone } else { Payload::Bytes(&record) };
        let input = Input { payload, key: Some(&key), now: Some(start) };
        let verdict = judge.judge(&rules, rules.default_binding(), input, &mut Vec::new(), &mut NoWatch);
        let reason = match judge.facts().filter(|_| verdict.is_accept()) {
            Some(facts) => state.decide(facts).unwrap().reason,
            None => verdict.reason,
        };
        let codes = (reason.map(Reason::code), made.reason.map(Reason::code));
        let format = generator.format_name(made.format);
        if codes.0 != codes.1 {
            let text = || String::from_utf8_lossy(&record).into_owned();
            wrong.entry((format, codes)).or_insert_with(|| (number, text()));
        }
        reasons.insert(codes.1.unwrap_or("accept"));
    }
    assert!(wrong.is_empty(), "the judge and the truth differ (judge first), seed {seed}: {wrong:#?}");
    reasons
}

fn with_faults(percent: f64) -> Mix {
    let mut mix = Mix::default();
    mix.faults.insert("all".to_owned(), percent);
    mix.bursts.share = 3.0;
    mix.replays.share = 3.0;
    mix.size.bytes = 700;
    mix.size.sigma = 0.5;
    mix
}

#[test]
fn the_judge_agrees_with_every_verdict_of_every_reason() {
    let mut reasons = agrees(&with_faults(30.0), 1, 8_000);
    for style in [Style::Canonical, Style::Uniform] {
        reasons.extend(agrees(&Mix { style, ..with_faults(30.0) }, 2, 2_000));
    }
    for format in ["olympus", "agh", "alfred", "humaninloop", "bluelabel"] {
        reasons.extend(agrees(&with_faults(35.0).of_format(format), 3, 3_000));
    }
    // What a record alone cannot cause, or only under settings that the kit does not have.
    let elsewhere = [
        Reason::Undeliverable, // the output topic decides
        Reason::WindowFull,    // needs a full window
        Reason::TooShort,      // no built-in format has a least length above one
        Reason::TooMany,       // nor a largest number of items
        Reason::TooFew,        // nor a smallest one above one
        Reason::Schema,        // users' schemas
    ];
    let missing: Vec<_> = Reason::ALL
        .iter()
        .filter(|reason| !reasons.contains(reason.code()) && !elsewhere.contains(reason))
        .map(|reason| reason.code())
        .collect();
    assert!(missing.is_empty(), "reasons that no stream had: {missing:?}");
}

#[test]
fn the_mix_with_every_key_can_be_made() {
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("configs/mixes/everything.toml");
    let mix = Mix::read(&fs::read_to_string(file).unwrap(), "everything.toml").unwrap();
    agrees(&mix, 4, 3_000);
    assert!(Mix::read("styl = 1", "m").is_err());
    assert!(Mix::read("[faults]\nno-such-reason = 1", "m").is_err());
}

#[test]
fn a_seed_makes_one_stream_whatever_the_number_of_threads() {
    let dir = TempDir::new("generate");
    let make = |name: &str, threads: &str, seed: &str| {
        let (out, truth) = (dir.path().join(name), dir.path().join(format!("{name}.truth")));
        let arguments = [
            "generate",
            "-n",
            "5000",
            "--seed",
            seed,
            "--threads",
            threads,
            "--out",
            out.to_str().unwrap(),
            "--truth",
            truth.to_str().unwrap(),
        ];
        assert_eq!(run(&arguments).0, 0);
        (fs::read(out).unwrap(), fs::read(truth).unwrap())
    };
    let one = make("one", "1", "9");
    assert!(one == make("three", "3", "9"), "bytes and verdicts are the same");
    assert!(one.0 != make("other", "1", "10").0, "another seed makes another stream");
}

/// A line of the rejected records; the record itself may hold numbers that no value can.
#[derive(serde::Deserialize)]
struct Rejected {
    tollgate: Value,
}

/// The command line as a user has it: the stream, its truth and its kit; `run` must agree line by line.
#[test]
fn run_agrees_with_the_truth_file() {
    let dir = TempDir::new("generate-run");
    let path = |name: &str| dir.path().join(name).to_str().unwrap().to_owned();
    let (stream, truth, kit) = (path("s.ndjson"), path("t.ndjson"), path("kit"));
    let made = run(&[
        "generate", "-n", "4000", "--out", &stream, "--truth", &truth, "--kit", &kit, "--start", START,
        "--json",
    ]);
    assert_eq!(made.0, 0, "{}", made.2);
    let config = format!("{kit}/tollgate.toml");
    let (accepted, rejected) = (path("a.ndjson"), path("r.ndjson"));
    let ended = run(&[
        "run",
        &stream,
        "--config",
        &config,
        "--as-of",
        START,
        "--accepted",
        &accepted,
        "--rejected",
        &rejected,
    ]);
    assert_eq!(ended.0, 0, "{}", ended.2);
    let lines = |name: &str| fs::read_to_string(Path::new(name)).unwrap();
    let expected: Vec<Value> =
        lines(&truth).lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let wanted: Vec<_> = expected.iter().filter_map(|line| line["reason"].as_str()).collect();
    let found = lines(&rejected);
    let notes: Vec<Rejected> = found.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let found: Vec<_> = notes.iter().map(|line| line.tollgate["reason"].as_str().unwrap()).collect();
    assert_eq!(found, wanted);
    assert_eq!(lines(&accepted).lines().count(), expected.len() - wanted.len());
}
