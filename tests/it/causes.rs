//! The case files once more: the finer causes of agh, and that both paths of the judge agree on every case.

use std::collections::HashMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use base64::Engine as _;
use serde::Deserialize;
use serde_json::value::RawValue;
use tollgate::clock::Timestamp;
use tollgate::config::{Config, Profile};
use tollgate::judge::{Input, Judge, NoWatch, Payload, Rules, explain};

fn directory() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/cases")
}

fn files() -> Vec<PathBuf> {
    let entries = fs::read_dir(directory()).unwrap().map(|entry| entry.unwrap().path());
    let mut files: Vec<_> =
        entries.filter(|path| path.extension().is_some_and(|extension| extension == "jsonl")).collect();
    files.sort();
    files
}

/// A case, as far as these tests look at it.
#[derive(Deserialize)]
struct Case<'a> {
    format: Option<String>,
    name: String,
    class: Option<String>,
    #[serde(borrow)]
    envelope: Option<&'a RawValue>,
    raw: Option<String>,
    raw_b64: Option<String>,
    now: Option<serde_json::Value>,
    config: Option<serde_json::Value>,
}

impl Case<'_> {
    fn payload(&self) -> Option<Vec<u8>> {
        let decode = |text: &String| base64::prelude::BASE64_STANDARD.decode(text).unwrap();
        let raw = self.raw.as_ref().map(|raw| raw.clone().into_bytes());
        let envelope = self.envelope.map(|envelope| envelope.get().as_bytes().to_vec());
        envelope.or(raw).or_else(|| self.raw_b64.as_ref().map(decode))
    }

    fn now(&self) -> Option<Timestamp> {
        match self.now.as_ref()? {
            serde_json::Value::String(text) => Timestamp::from_rfc3339(text),
            number => number.as_i64().map(Timestamp::from_secs),
        }
    }
}

/// The rules of the case files' configuration, with a case's own settings over them; each compiled once.
#[derive(Default)]
struct RuleSets(HashMap<String, Rules>);

impl RuleSets {
    fn of(&mut self, case: &Case<'_>, profile: Profile) -> &Rules {
        let settings = case.config.as_ref().zip(case.format.as_ref());
        let own = settings.map(|(settings, format)| {
            let document = serde_json::json!({"format": {format: settings}});
            toml::to_string(&toml::Table::try_from(document).unwrap()).unwrap()
        });
        let own = own.unwrap_or_default();
        self.0.entry(format!("{}\n{own}", profile.name())).or_insert_with(|| {
            let file = directory().join("tollgate.toml");
            let text = fs::read_to_string(&file).unwrap();
            let mut config = Config::parse(&file.to_string_lossy(), &text, &|_| None).unwrap();
            config.merge("config", &own, &|_| None).unwrap();
            config.rules.profile = profile;
            Rules::compile(&config).unwrap()
        })
    }
}

#[test]
fn every_case_of_agh_and_alfred_gets_its_verdict_strict_and_lenient() {
    let own = |path: &PathBuf| {
        let name = path.file_name().unwrap().to_string_lossy();
        name.starts_with("agh") || name.starts_with("alfred")
    };
    let files: Vec<_> = files().into_iter().filter(own).collect();
    assert!(files.len() >= 4);
    let output = Command::new(env!("CARGO_BIN_EXE_tollgate"))
        .args(["test", "--config"])
        .arg(directory().join("tollgate.toml"))
        .args(files)
        .output()
        .unwrap();
    let text = String::from_utf8_lossy(&output.stdout);
    let last = text.lines().last().unwrap_or_default();
    assert!(
        output.status.success() && last.contains(" 0 failed"),
        "{text}{}",
        String::from_utf8_lossy(&output.stderr)
    );
}

/// The wire knows few reasons; the cause is finer, and each agh case names it.
#[test]
fn the_causes_of_agh_are_the_classes_of_its_cases() {
    let mut compared = 0;
    let mut sets = RuleSets::default();
    for file in files() {
        let text = fs::read_to_string(&file).unwrap();
        for line in text.lines() {
            let Ok(case) = serde_json::from_str::<Case<'_>>(line) else { continue };
            let (Some("agh"), Some(class), Some(payload)) =
                (case.format.as_deref(), case.class.as_deref(), case.payload())
            else {
                continue;
            };
            let rules = sets.of(&case, Profile::Strict);
            let input = Input { payload: Payload::Bytes(&payload), key: None, now: case.now() };
            let binding = rules.binding("agh").unwrap();
            let verdict = Judge::new(rules).judge(rules, binding, input, &mut Vec::new(), &mut NoWatch);
            let code = verdict.reason.map_or("ok", |reason| reason.code());
            assert_eq!(code, class.replace('_', "-"), "{}: {}", file.display(), case.name);
            compared += 1;
        }
    }
    assert!(compared > 300, "the cases are there: {compared}");
}

/// `check` explains what the fast path decided, in every profile.
#[test]
fn fast_and_explaining_path_agree_on_every_case() {
    let mut sets = RuleSets::default();
    for file in files() {
        let text = fs::read_to_string(&file).unwrap();
        for line in text.lines() {
            let Ok(case) = serde_json::from_str::<Case<'_>>(line) else { continue };
            let Some(payload) = case.payload() else { continue };
            for profile in [Profile::Page, Profile::Strict, Profile::Lenient] {
                let rules = sets.of(&case, profile);
                let binding = rules.binding(case.format.as_deref().unwrap_or("auto")).unwrap();
                let input = Input { payload: Payload::Bytes(&payload), key: None, now: case.now() };
                let mut judge = Judge::new(rules);
                let verdict = judge.judge(rules, binding, input, &mut Vec::new(), &mut NoWatch);
                let explained = explain(&mut judge, rules, binding, input);
                let shown = format!("{}: {} {}", file.display(), case.name, profile.name());
                assert_eq!(explained.verdict, verdict, "{shown}");
                let first = explained.findings.first().map(|finding| finding.reason);
                assert_eq!(first, verdict.reason, "{shown}");
            }
        }
    }
}
