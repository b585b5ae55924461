//! humaninloop: inputs and the outputs that follow them, and what can be wrong with both.

use super::{Family, Fault, Maker, Script, Sign};
use crate::load::template::Edit::{self, Remove, Set, Twice};
use crate::verdict::Reason;

const INPUT: &str = r#"{"context":{"feature_id":"005-user-auth","workflow":"plan","iteration":2},"paths":{"feature_root":
"specs/005-user-auth/","inputs":["specs/005-user-auth/spec.md"]},"task":{"action":"validate","params":{"run":"<id>",
"depth":"<#number:50>","weight":"<#weight>","focus":"<pad>"}},"prior_context":["<words:60>"]}"#;

const OUTPUT: &str = r#"{"success":true,"summary":"<words:60>","artifacts":[{"path":"specs/005-user-auth/plan.md",
"operation":"update","content":"<pad>"}],"notes":["run <id>"],"recommendation":"proceed"}"#;

const MAKER: Maker = Maker { family: Family::Humaninloop, sign: Sign::No };
const NONE: &[Edit] = &[];

pub(super) fn scripts() -> Vec<Script> {
    let mut scripts = vec![
        MAKER.valid(&[(INPUT, NONE), (OUTPUT, NONE)]),
        MAKER.valid(&[(
            INPUT,
            &[
                Set("/context/feature_id", "null"),
                Set("/task/action", "\"scaffold\""),
                Remove("/paths/feature_root"),
            ],
        )]),
        MAKER.valid(&[(
            OUTPUT,
            &[
                Set("/success", "false"),
                Set("/recommendation", "\"escalate\""),
                Set("/artifacts", "[]"),
                Set("/notes", r#"["run <id>: <pad>"]"#),
            ],
        )]),
        MAKER.duplicate(INPUT),
        MAKER.duplicate(OUTPUT),
    ];
    scripts.extend(MAKER.faults(FAULTS));
    scripts
}

/// Rules about one envelope.
const FAULTS: &[Fault] = &[
    (Reason::DuplicateKey, INPUT, &[Twice("/task/params/depth", "1")]),
    (Reason::MissingField, INPUT, &[Remove("/context/iteration")]),
    (Reason::MissingField, OUTPUT, &[Remove("/recommendation")]),
    (Reason::WrongType, INPUT, &[Set("/prior_context/0", r#"{"from":"x"}"#)]),
    (Reason::WrongType, OUTPUT, &[Set("/success", "\"yes\"")]),
    (Reason::BadEnum, INPUT, &[Set("/context/workflow", "\"deploy\"")]),
    (Reason::BadEnum, OUTPUT, &[Set("/recommendation", "\"stop\"")]),
    (Reason::BadEnum, OUTPUT, &[Set("/artifacts/0/operation", "\"delete\"")]),
    (Reason::BadPattern, INPUT, &[Set("/context/feature_id", "\"5-user-auth\"")]),
    (Reason::BadPattern, INPUT, &[Set("/paths/Readme", "\"specs/README.md\"")]),
    (Reason::TooSmall, INPUT, &[Set("/context/iteration", "0")]),
    (Reason::Empty, INPUT, &[Set("/paths/inputs/0", "\"\"")]),
    (Reason::Empty, OUTPUT, &[Set("/summary", "\"\"")]),
    (Reason::UnknownField, INPUT, &[Set("/context/state", "{}")]),
    (Reason::UnknownField, OUTPUT, &[Set("/state_updates", "{}")]),
    (Reason::NumberRange, INPUT, &[Set("/task/params/depth", "\"<#raw:1e400>\"")]),
    (Reason::NumberRange, INPUT, &[Set("/task/params/depth", "\"<#raw:9007199254740993>\"")]),
    (Reason::NullFeature, INPUT, &[Set("/context/feature_id", "null")]),
    (Reason::NullFeature, INPUT, &[Set("/task/action", "\"scaffold\"")]),
    (Reason::IterationLimit, INPUT, &[Set("/context/iteration", "11")]),
    (Reason::UnsafePath, INPUT, &[Set("/paths/inputs/0", "\"/etc/passwd\"")]),
    (Reason::UnsafePath, OUTPUT, &[Set("/artifacts/0/path", "\"../plan.md\"")]),
    (Reason::Inconsistent, INPUT, &[Set("/paths/feature_root", "\"specs/006-other/\"")]),
    (Reason::Inconsistent, OUTPUT, &[Set("/success", "false")]),
    (
        Reason::DuplicateItem,
        OUTPUT,
        &[Set("/artifacts/1", r#"{"path":"specs/005-user-auth/plan.md","operation":"create","content":""}"#)],
    ),
];
