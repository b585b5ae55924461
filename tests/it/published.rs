//! The examples that the formats' own pages print, judged at a time inside their window, in the three profiles.
//!
//! Nothing is configured: rules that need keys or registries are not checked, which is what a newcomer sees first. An
//! example that breaks its own page's prose is rejected for that.

use std::fs;
use std::path::Path;

use tollgate::clock::Timestamp;
use tollgate::config::{Config, Profile};
use tollgate::formats::Binding;
use tollgate::judge::{Input, Judge, NoWatch, Payload, Rules};

/// File, time, verdict in page, strict and lenient, and why.
const EXAMPLES: &[(&str, &str, [&str; 3], &str)] = &[
    ("agh-thread", "2026-04-16T19:01:00Z", ["ok", "ok", "ok"], "it keeps every rule"),
    (
        "agh-direct-room",
        "2026-04-16T19:05:00Z",
        ["ok", "ok", "ok"],
        "its room is not that of its peers, which no step before delivery may hold against it",
    ),
    (
        "alfred-task-request",
        "2025-05-13T14:30:00Z",
        ["not-uuid-v4", "not-uuid-v4", "ok"],
        "the page demands version 4 and prints version 1; the token cannot be checked without keys",
    ),
    ("alfred-task-response", "2025-05-13T14:31:15Z", ["not-uuid-v4", "not-uuid-v4", "ok"], "the same"),
    ("alfred-error-response", "2025-05-13T14:31:05Z", ["not-uuid-v4", "not-uuid-v4", "ok"], "the same"),
];

#[test]
fn published_examples_get_the_verdict_of_the_table() {
    let directory = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/published");
    for (name, now, verdicts, why) in EXAMPLES {
        let payload = fs::read(directory.join(format!("{name}.json"))).unwrap();
        for (profile, wanted) in [Profile::Page, Profile::Strict, Profile::Lenient].into_iter().zip(verdicts)
        {
            let mut config = Config::default();
            config.rules.profile = profile;
            let rules = Rules::compile(&config).unwrap();
            let now = Timestamp::from_rfc3339(now);
            let input = Input { payload: Payload::Bytes(&payload), key: None, now };
            let verdict =
                Judge::new(&rules).judge(&rules, Binding::Auto, input, &mut Vec::new(), &mut NoWatch);
            let got = verdict.reason.map_or("ok", |reason| reason.code());
            assert_eq!(got, *wanted, "{name} {}: {why}", profile.name());
            assert_eq!(
                verdict.unchecked,
                name.starts_with("alfred"),
                "{name}: keys and registries are missing"
            );
        }
    }
}

/// The examples of our own pages, `configs/schemas/NAME.md`: the word behind `json` says what each must get.
#[test]
fn our_pages_print_true_examples() {
    let directory = Path::new(env!("CARGO_MANIFEST_DIR")).join("configs/schemas");
    let mut config = Config::default();
    config.rules.profile = Profile::Strict;
    let rules = Rules::compile(&config).unwrap();
    let now = Timestamp::from_rfc3339("2026-04-16T19:01:40Z");
    let mut judged = 0;
    for name in ["agh", "alfred"] {
        let page = fs::read_to_string(directory.join(format!("{name}.md"))).unwrap();
        for block in page.split("```json ").skip(1) {
            let (wanted, rest) = block.split_once('\n').unwrap();
            let example = rest.split_once("```").unwrap().0;
            let input = Input { payload: Payload::Bytes(example.as_bytes()), key: None, now };
            let binding = rules.binding(name).unwrap();
            let verdict = Judge::new(&rules).judge(&rules, binding, input, &mut Vec::new(), &mut NoWatch);
            let got =
                verdict.reason.map_or("accept".to_owned(), |reason| format!("reject {}", reason.code()));
            assert_eq!(got, wanted, "{example}");
            judged += 1;
        }
    }
    assert!(judged >= 6, "the pages have examples: {judged}");
}
