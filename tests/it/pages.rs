//! The examples on our own pages of the formats, `configs/schemas/NAME.md`: the words behind `json` say what each must get.

use std::fs;
use std::path::Path;

use tollgate::clock::Timestamp;
use tollgate::config::{Config, Profile};
use tollgate::judge::{Input, Judge, NoWatch, Payload, Rules};

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
