//! Bluelabel: results, errors that are retried, requests for input, and what can be wrong with them.

use super::{Family, Fault, Maker, Script, Sign};
use crate::load::template::Edit::{self, AsStep, Later, Remove, Set, Twice};
use crate::verdict::Reason;

/// Agents of the kit's registry.
pub(in crate::load) const AGENTS: [&str; 4] = ["ARCH", "CA", "CC", "HUMAN"];

const RESULT: &str = r#"{"type":"task_result","protocol_version":"1.0","sender_id":"CA","recipient_id":"ARCH","timestamp":"<time>",
"task_id":"TASK-<scene>","retry_count":0,"trace_id":"trace-<scene>","payload":{"status":"success","result":{"output":"<pad>",
"artifacts":[{"type":"file","path":"/out/<number:9000>.json","description":"<words:40>"}]},
"metrics":{"duration_ms":"<#number:60000>","memory_usage_mb":256},"success":true,"score":0.5},
"context":{"deployment_id":"dep-<number:40>","environment":"staging"}}"#;

const ERROR: &str = r#"{"type":"error","protocol_version":"1.3","sender_id":"CC","recipient_id":"ARCH","timestamp":"<time>",
"task_id":"TASK-<scene>","retry_count":0,"trace_id":"trace-<scene>","payload":{"code":"TIMEOUT","message":"<pad>",
"details":{"attempt":"<#number:9>","weight":"<#weight>"},"retryable":true,"suggested_actions":["wait"]}}"#;

const QUESTION: &str = r#"{"type":"needs_input","protocol_version":"1.0","sender_id":"CA","recipient_id":"HUMAN","timestamp":"<time>",
"task_id":"TASK-<scene>","trace_id":"trace-<scene>","payload":{"requested_inputs":[
{"id":"region","type":"enum","description":"<words:40>","required":true,"options":["eu","us"],"default":"eu"},
{"id":"password","type":"string","description":"<words:30.1>","sensitive":true}],"context":"<pad>"}}"#;

const MAKER: Maker = Maker { family: Family::Bluelabel, sign: Sign::No };
const NONE: &[Edit] = &[];
const RETRY: &[Edit] = &[AsStep(0), Set("/retry_count", "1")];
const INPUTS: &str = "/payload/requested_inputs";

pub(super) fn scripts() -> Vec<Script> {
    let mut scripts = vec![
        MAKER.valid(&[(RESULT, NONE)]),
        MAKER.valid(&[(ERROR, NONE), (ERROR, RETRY), (RESULT, NONE)]),
        MAKER.valid(&[(QUESTION, NONE), (RESULT, NONE)]),
        MAKER.duplicate(RESULT),
        MAKER.sequence(Reason::StaleRetry, &[(ERROR, NONE), (ERROR, RETRY), (ERROR, RETRY)]),
        MAKER.sequence(Reason::StaleRetry, &[(RESULT, NONE), (RESULT, &[AsStep(0)])]),
    ];
    scripts.extend(MAKER.faults(FAULTS));
    scripts
}

const DAY_S: i64 = 86_400;

/// Rules about one envelope.
const FAULTS: &[Fault] = &[
    (Reason::DuplicateKey, RESULT, &[Twice("/payload/result/output", "\"\"")]),
    (Reason::MissingField, RESULT, &[Remove("/task_id")]),
    (Reason::MissingField, RESULT, &[Remove("/payload/status")]),
    (Reason::WrongType, ERROR, &[Set("/payload/message", "7")]),
    (Reason::WrongType, ERROR, &[Set("/retry_count", "true")]),
    (Reason::BadEnum, RESULT, &[Set("/type", "\"task_assignment\"")]),
    (Reason::BadEnum, RESULT, &[Set("/payload/status", "\"done\"")]),
    (Reason::BadPattern, RESULT, &[Set("/task_id", "\"TASK+TAG\"")]),
    (Reason::BadPattern, ERROR, &[Set("/payload/code", "\"time out\"")]),
    (Reason::BadFormat, RESULT, &[Set("/timestamp", "\"yesterday\"")]),
    (
        Reason::TooLong,
        RESULT,
        &[Set("/task_id", "\"TASK-AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA\"")],
    ),
    (Reason::TooSmall, RESULT, &[Set("/payload/metrics/memory_usage_mb", "-1")]),
    (Reason::TooLarge, RESULT, &[Set("/payload/score", "1.5")]),
    (Reason::Empty, RESULT, &[Set("/trace_id", "\"\"")]),
    (Reason::Empty, QUESTION, &[Set(INPUTS, "[]")]),
    (Reason::UnknownField, RESULT, &[Set("/escalation", "{}")]),
    (
        Reason::NumberRange,
        RESULT,
        &[Set("/payload/score", "\"<#raw:1e-400>\""), Set("/context/n", "\"<#raw:1e999>\"")],
    ),
    (Reason::NumberRange, RESULT, &[Set("/context/n", "\"<#raw:9007199254740993>\"")]),
    (Reason::BadVersion, RESULT, &[Set("/protocol_version", "\"2.0\"")]),
    (Reason::UnregisteredAgent, RESULT, &[Set("/sender_id", "\"STRANGER\"")]),
    (Reason::Inconsistent, RESULT, &[Set("/payload/success", "false")]),
    (Reason::DuplicateItem, QUESTION, &[Set("/payload/requested_inputs/0/id", "\"password\"")]),
    (
        Reason::PayloadContract,
        QUESTION,
        &[Remove("/payload/requested_inputs/0/options"), Remove("/payload/requested_inputs/0/default")],
    ),
    (Reason::SensitiveDefault, QUESTION, &[Set("/payload/requested_inputs/1/default", "\"x\"")]),
    (Reason::TypeMismatch, RESULT, &[Set("/payload/type", "\"error\"")]),
    (Reason::RetryLimit, ERROR, &[Set("/retry_count", "6")]),
    (Reason::Stale, RESULT, &[Later(-2 * DAY_S)]),
    (Reason::Future, RESULT, &[Later(3600)]),
];
