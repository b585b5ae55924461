//! The judge allocates nothing per record once it is warm, whatever the verdict: counted, not assumed.

use tollgate::clock::Timestamp;
use tollgate::config::{Config, Profile};
use tollgate::formats::Binding;
use tollgate::judge::{Input, Judge, NoWatch, Payload, Rules};
use tollgate::load::Stream;

#[test]
fn a_warm_judge_allocates_nothing() {
    let rules = Rules::compile(&Config::default()).unwrap();
    let mut judge = Judge::new(&rules);
    let mut stream = Stream::new(3, 500);
    let mut records: Vec<Vec<u8>> = (0..2000)
        .map(|_| {
            let mut record = Vec::new();
            stream.write_next(&mut record);
            record
        })
        .collect();
    // A pointer through arrays, which no record of the stream needs.
    records.push(br#"{"persona":[0,[0,0,0,0,0,0,0,0,0,0,0,{"a":1,"a":2}]]}"#.to_vec());
    let mut pointer = Vec::with_capacity(4096);
    let mut judge_all = || {
        let mut rejected = 0;
        for record in &records {
            pointer.clear();
            let verdict =
                judge.judge(&rules, Binding::Auto, Payload::Bytes(record), &mut pointer, &mut NoWatch);
            rejected += u64::from(!verdict.is_accept());
        }
        rejected
    };
    let cold = judge_all();
    let before = crate::allocations();
    let warm = judge_all();
    let allocations = crate::allocations() - before;
    assert_eq!(cold, warm);
    assert!(warm > 500, "rejects are among them: {warm}");
    assert_eq!(allocations, 0, "allocations for {} records, {warm} of them rejected", records.len());
}

/// The rules of the formats, signatures and facts included: every envelope of the case files, strict.
#[test]
fn rules_and_credentials_allocate_nothing() {
    let folder = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/cases");
    let mut config = Config::load(&folder.join("tollgate.toml")).unwrap();
    config.rules.profile = Profile::Strict;
    let rules = Rules::compile(&config).unwrap();
    let mut judge = Judge::new(&rules);
    judge.make_facts();
    let mut records = Vec::new();
    for file in ["olympus.jsonl", "humaninloop.jsonl", "bluelabel.jsonl", "more.jsonl"] {
        for line in std::fs::read_to_string(folder.join(file)).unwrap().lines() {
            let case: serde_json::Value = serde_json::from_str(line).unwrap();
            let now = Timestamp::from_rfc3339(case["now"].as_str().unwrap_or("2026-03-03T12:00:00Z"));
            let binding = rules.binding(case["format"].as_str().unwrap()).unwrap();
            if case["envelope"].is_object() {
                records.push((case["envelope"].to_string().into_bytes(), binding, now));
            }
        }
    }
    let mut pointer = Vec::with_capacity(4096);
    let mut judge_all = || {
        let (mut accepted, mut facts) = (0, 0);
        for (record, binding, now) in &records {
            pointer.clear();
            let input = Input { payload: Payload::Bytes(record), key: Some(b"key"), now: *now };
            let verdict = judge.judge(&rules, *binding, input, &mut pointer, &mut NoWatch);
            accepted += u64::from(verdict.is_accept());
            facts += u64::from(judge.facts().is_some());
        }
        (accepted, facts)
    };
    let cold = judge_all();
    let before = crate::allocations();
    let warm = judge_all();
    let allocations = crate::allocations() - before;
    assert_eq!(cold, warm);
    assert!(warm.0 > 100 && warm.0 == warm.1, "accepted ones have facts: {warm:?}");
    assert_eq!(allocations, 0, "allocations for {} records", records.len());
}

/// The same for agh and alfred, one case at a time.
#[test]
fn rules_of_agh_and_alfred_allocate_nothing() {
    let directory = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/cases");
    let file = directory.join("tollgate.toml");
    let text = std::fs::read_to_string(&file).unwrap();
    let mut config = Config::parse(&file.to_string_lossy(), &text, &|_| None).unwrap();
    config.rules.profile = Profile::Strict;
    let rules = Rules::compile(&config).unwrap();
    let mut judge = Judge::new(&rules);
    judge.make_facts();
    let mut pointer = Vec::with_capacity(4096);
    let mut judged = 0;
    for format in ["agh", "alfred"] {
        let binding = rules.binding(format).unwrap();
        for line in std::fs::read_to_string(directory.join(format!("{format}.jsonl"))).unwrap().lines() {
            let case: serde_json::Value = serde_json::from_str(line).unwrap();
            let now = case["now"].as_i64().map(Timestamp::from_secs);
            let now = now.or_else(|| case["now"].as_str().and_then(Timestamp::from_rfc3339));
            // A token that does not verify is taken apart each time; only those that do are remembered.
            let token = case["reason"].as_str().is_some_and(|reason| reason.starts_with("jwt-"));
            if !case["envelope"].is_object() || !case["config"].is_null() || token {
                continue;
            }
            let payload = case["envelope"].to_string();
            let input = Input { payload: Payload::Bytes(payload.as_bytes()), key: None, now };
            let mut count = || {
                pointer.clear();
                let before = crate::allocations();
                let _ = judge.judge(&rules, binding, input, &mut pointer, &mut NoWatch);
                crate::allocations() - before
            };
            // Once to warm up, once to count.
            count();
            assert_eq!(count(), 0, "{}", case["name"]);
            judged += 1;
        }
    }
    assert!(judged > 200, "the cases are there: {judged}");
}
