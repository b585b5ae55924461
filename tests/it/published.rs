//! The examples that the formats' pages print: `tests/published/README.md` is the table of their verdicts.

use std::fs;
use std::path::Path;

use tollgate::clock::Timestamp;
use tollgate::config::{Config, Profile};
use tollgate::formats::Binding;
use tollgate::judge::{Input, Judge, Payload, Rules, explain};

#[test]
fn published_examples_get_the_verdicts_of_their_table() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests");
    let mut config = Config::load(&root.join("cases/tollgate.toml")).unwrap();
    let rules = [Profile::Page, Profile::Strict, Profile::Lenient].map(|profile| {
        config.rules.profile = profile;
        Rules::compile(&config).unwrap()
    });
    let table = fs::read_to_string(root.join("published/README.md")).unwrap();
    let rows: Vec<Vec<&str>> = table
        .lines()
        .filter(|line| line.contains(".json |"))
        .map(|line| line.trim_matches('|').split('|').map(str::trim).collect())
        .collect();
    let files = fs::read_dir(root.join("published")).unwrap().count() - 1;
    assert_eq!(rows.len(), files, "every example stands in the table once");
    for row in rows {
        let payload = fs::read(root.join("published").join(row[0])).unwrap();
        let now = Timestamp::from_rfc3339(row[1]);
        assert!(now.is_some(), "{row:?}");
        for (rules, wanted) in rules.iter().zip(&row[2..5]) {
            let input = Input { payload: Payload::Bytes(&payload), key: None, now };
            let explained = explain(&mut Judge::new(rules), rules, Binding::Auto, input);
            let got = explained.verdict.reason.map_or("accept", tollgate::verdict::Reason::code);
            assert_eq!(got, *wanted, "{}: {:?}", row[0], explained.findings);
        }
        assert!(!row[5].is_empty(), "{row:?} says why");
    }
}
