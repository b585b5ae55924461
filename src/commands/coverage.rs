//! What a rule set checks and what it cannot, told before a run begins.
//!
//! A rule whose data is not configured is off. In the profile strict that is refused: the operator asked for everything.
//! In the others the run begins, with a table of what is not checked.

use anyhow::anyhow;

use super::{Failure, usage};
use crate::config::Profile;
use crate::formats::{Compiled, Lack};
use crate::judge::Rules;

/// Logs the table; in the profile strict, an error if a rule lacks its data.
pub(super) fn tell(rules: &Rules, profile: Profile) -> Result<(), Failure> {
    let lacks = rules.lacks();
    if profile == Profile::Strict && !lacks.is_empty() {
        return Err(usage(anyhow!("{}", refusal(&lacks))));
    }
    for line in table(rules.occurring()) {
        tracing::info!("{line}");
    }
    Ok(())
}

fn refusal(lacks: &[Lack]) -> String {
    let mut text = String::from("the profile strict checks everything, and these rules lack their data:");
    for Lack { family, rule, text: demand, keys } in lacks {
        let keys: Vec<_> = keys.iter().map(|key| format!("`format.{family}.{key}`")).collect();
        text.push_str(&format!(
            "\n  {family}: {demand}\n    set {}, or switch the rule off: `format.{family}.rules_off = [\"{rule}\"]`",
            keys.join(" or ")
        ));
    }
    text.push_str(
        "\nFormats that do not occur need no data: name yours in `rules.format` or `topic_formats`.",
    );
    text
}

/// One line for each format: how many rules are on, and which lack their data.
fn table<'r>(formats: impl Iterator<Item = &'r Compiled>) -> Vec<String> {
    formats
        .map(|format| {
            let on = format.on().rules(format.rules()).count();
            let lacks: Vec<_> = format
                .lacks()
                .map(|lack| format!("{} (set {})", lack.rule, lack.keys.join(" or ")))
                .collect();
            let missing = if lacks.is_empty() { "nothing".to_owned() } else { lacks.join(", ") };
            format!("{}: shape and {on} rules are checked; not checked: {missing}", format.name())
        })
        .collect()
}
