//! `tollgate config --probe`: asks the brokers whether a run with this configuration could work.

use std::io::Write as _;

use serde_json::json;

use super::{Ended, Failure, usage};
use crate::config::Config;
use crate::kafka::ConsumerSettings;
use crate::kafka::probe::{Plan, Report, Standing, probe};
use crate::pipeline::kafka_ends;

/// The longest transaction that a run may have open, as its producer sets it.
const TRANSACTION_MS: i64 = 15_000;

pub(super) fn run(config: &Config, as_json: bool) -> Result<Ended, Failure> {
    kafka_ends::check(config).map_err(usage)?;
    let report = probe(&plan(config)?)?;
    std::io::stdout().write_all(text_of(&report, as_json).as_bytes())?;
    Ok(if report.is_missing() { Ended::Findings } else { Ended::Well })
}

fn plan(config: &Config) -> Result<Plan, Failure> {
    let kafka = &config.kafka;
    let mut outputs: Vec<_> = (kafka.topics.iter())
        .flat_map(|input| [kafka.accepted_topic(input), kafka.rejected_topic(input)])
        .collect();
    outputs.sort_unstable();
    outputs.dedup();
    Ok(Plan {
        consumer: ConsumerSettings::from_config(config).map_err(usage)?,
        outputs,
        journals: (kafka.topics.iter())
            .filter_map(|input| Some((input.clone(), kafka.journal_topic(input)?)))
            .collect(),
        transactional_id: kafka_ends::transactional_id(config).map_err(usage)?,
        transaction_ms: TRANSACTION_MS,
        payload_bytes_max: u64::from(config.limits.payload_bytes_max),
        session_timeout_ms: i64::from(kafka.session_timeout_ms),
    })
}

fn text_of(report: &Report, as_json: bool) -> String {
    let mut text = String::new();
    for line in &report.lines {
        let word = match line.standing {
            Standing::Good => "ok",
            Standing::Note => "note",
            Standing::Missing => "MISSING",
        };
        if as_json {
            text.push_str(&format!(
                "{}\n",
                json!({ "standing": word.to_lowercase(), "about": line.about, "text": line.text })
            ));
        } else {
            text.push_str(&format!("{word:<8}{}: {}\n", line.about, line.text));
        }
    }
    if !as_json {
        text.push_str(if report.is_missing() { "\nA run would fail.\n" } else { "\nA run can start.\n" });
    }
    text
}
